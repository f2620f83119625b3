"""Variants of a task: what an experiment leaves open is drawn for each animal.

The builders of published tasks have an optional parameter `rng`, a `numpy.random.Generator`.
Without it the task is as documented, the same for all animals. With it, everything that the papers
leave open is drawn for each animal, so that no statistic can agree with a finding because of a
single modelling choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from replay.checks import typed

__all__ = ["DRAWN", "Variant"]

_T = TypeVar("_T")

_FINEST, _COARSEST = 19 / 9, 7 / 9  # 20 and 8 places on the linear track, which has 10
_FEWEST_PAUSES, _USUAL_PAUSES, _MOST_PAUSES = 5, 10, 20
_USUAL_REWARD_SD, _MOST_REWARD_SD = 0.1, 0.2

DRAWN = (
    "Also drawn for each animal: 5 to 20 pauses of rest, since how often an animal replays at rest "
    "depends on how long it rests; and the standard deviation of rewards, from 0 to a fifth of "
    "their mean, since no study reports it."
)
"""What is drawn in all tasks whose rewards vary."""


class Variant:
    """Draws what an experiment leaves open, or returns the documented values.

    Parameters
    ----------
    rng : numpy.random.Generator or None
        Without it every method returns the documented value.

    Attributes
    ----------
    n_rest : int
        Pauses of rest before, after and between sessions: 10, or drawn from 5 to 20.
    reward_sd : float
        Standard deviation of a reward as a share of its mean: 0.1, or drawn from 0 to 0.2.

    Examples
    --------
    >>> usual, own = Variant(None), Variant(np.random.default_rng(1))
    >>> usual.whole(34, 30, 40), own.whole(34, 30, 40)
    (34, 35)
    """

    @typed
    def __init__(self, rng: np.random.Generator | None) -> None:
        self.rng = rng
        self.n_rest = self.whole(_USUAL_PAUSES, _FEWEST_PAUSES, _MOST_PAUSES)
        self.reward_sd = self.share(_USUAL_REWARD_SD, 0.0, _MOST_REWARD_SD)

    def whole(self, usual: int, least: int, most: int, given: int | None = None) -> int:
        """Return the user's number, or else the documented one or a random one.

        Random ones are from `least` to `most`, both included.
        """
        if given is not None:
            return given
        return usual if self.rng is None else int(self.rng.integers(least, most + 1))

    def share(self, usual: float, least: float, most: float) -> float:
        """Return the documented number, or a random one."""
        return usual if self.rng is None else float(self.rng.uniform(least, most))

    def choice(self, options: Sequence[_T]) -> _T:
        """Return the first of some options, or a random one."""
        return options[0 if self.rng is None else int(self.rng.integers(len(options)))]

    def order(self, options: Sequence[_T]) -> tuple[_T, ...]:
        """Return options in their documented order, or in random order."""
        if self.rng is None:
            return tuple(options)
        return tuple(options[place] for place in self.rng.permutation(len(options)))

    def density(self) -> float:
        """Return the number of places per metre, as a multiple of that of the documented maze."""
        if self.rng is None:
            return 1.0
        return float(np.exp(self.rng.uniform(np.log(_COARSEST), np.log(_FINEST))))
