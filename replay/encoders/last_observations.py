"""The last few codes of another encoder as one code: a window of history."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from replay.checks import MOST_STATES, check_whole
from replay.encoders.contract import Coder, Encoder, Walk, check_encoder, prepared
from replay.encoders.vectors import Bins

__all__ = ["LastObservations"]


@dataclass(frozen=True)
class LastObservations:
    """A window of history [1]_: the code is what was observed, and done, in the last few steps.

    Where one observation does not tell the state, several in a row may.

    Parameters
    ----------
    n_last : int, default 2
        Number of observations in the window; the actions between them belong to it.
    of : Encoder, optional
        Encodes the single observations; by default, `Bins`.
    most_codes : int, default 10000
        Number of different windows for which there is room.

    References
    ----------
    .. [1] McCallum (1996), Learning to use selective attention and short-term memory in sequential
       tasks. From Animals to Animats 4, 315-324.

    Examples
    --------
    >>> LastObservations(3).n_before
    1000
    """

    n_last: int = 2
    of: Encoder = field(default_factory=Bins)
    most_codes: int = 10_000

    def __post_init__(self) -> None:
        """Check the numbers, and the encoder of single observations."""
        check_encoder("of", self.of)
        check_whole("n_last", self.n_last, at_least=1, at_most=1000)
        check_whole("most_codes", self.most_codes, at_least=1, at_most=MOST_STATES)

    @property
    def n_before(self) -> int:
        """As many as the encoder of single observations needs."""
        return self.of.n_before

    @property
    def refit_at(self) -> Sequence[int]:
        """The steps at which the encoder of single observations is fitted again."""
        return self.of.refit_at

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: _Windows | None = None
    ) -> _Windows:
        """Begin with no window."""
        single = prepared(self.of, walk, rng, None if previous is None else previous.single)
        return _Windows(single, self.n_last, self.most_codes)


class _Windows:
    def __init__(self, single: Coder, n_last: int, most_codes: int) -> None:
        self.n_codes, self.single = most_codes, single
        self._number: dict[tuple[int, ...], int] = {}
        self._window: deque[int] = deque(maxlen=2 * n_last - 1)

    def begin(self, observation: NDArray[np.float64]) -> int:
        self._window.clear()
        self._window.append(self.single.begin(observation))
        return self._code()

    def encode(self, observation: NDArray[np.float64], action: int) -> int:
        self._window.extend((action, self.single.encode(observation, action)))
        return self._code()

    def _code(self) -> int:
        code = self._number.setdefault(tuple(self._window), len(self._number))
        if code >= self.n_codes:
            raise ValueError(
                f"More than {self.n_codes} different windows of observations were met: make "
                "most_codes larger, or n_last smaller."
            )
        return code
