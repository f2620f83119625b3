"""K-means: an observation's code is the nearest of some centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replay.checks import MOST_STATES, check_whole
from replay.encoders.codebook import Codebook, codebook, refit_steps
from replay.encoders.contract import Walk

__all__ = ["KMeans"]


@dataclass(frozen=True)
class KMeans:
    """K-means [1]_ on features that are scaled to equal variance.

    Parameters
    ----------
    n_codes : int, default 300
        Number of centres.
    n_before : int, default 1000
        Number of observations of the random walk on which they are placed.
    refit_factor : float, default 1.4
        The centres move, and those with few observations go where they are needed, whenever the
        run has become longer by this factor, from 500 steps on; infinite: never.

    References
    ----------
    .. [1] Arthur & Vassilvitskii (2007), k-means++: the advantages of careful seeding.
       https://dl.acm.org/doi/10.5555/1283383.1283494

    Examples
    --------
    >>> KMeans(100)
    KMeans(n_codes=100, n_before=1000, refit_factor=1.4)
    """

    n_codes: int = 300
    n_before: int = 1000
    refit_factor: float = 1.4

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_whole("n_codes", self.n_codes, at_least=1, at_most=MOST_STATES)
        check_whole("n_before", self.n_before, at_least=1)
        refit_steps(self.refit_factor)

    @property
    def refit_at(self) -> tuple[int, ...]:
        """Numbers of steps after which the centres move."""
        return refit_steps(self.refit_factor)

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: Codebook | None = None
    ) -> Codebook:
        """Place the centres."""
        seen = walk.observations
        spread = seen.std(axis=0)
        weight = np.diag(1 / np.where(spread > 0, spread, 1.0))
        return codebook(seen, seen.mean(axis=0), weight, self.n_codes, rng, previous)
