"""Bins: a grid of equal cells over the range of each feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.checks import MOST_STATES, check_whole
from replay.encoders.contract import Walk

__all__ = ["Bins"]


@dataclass(frozen=True)
class Bins:
    """A grid over the range of each feature that was seen before the run.

    Parameters
    ----------
    n_bins : int, default 10
        Number of bins of each feature. What lies outside the range belongs to the outermost bins.
    n_before : int, default 1000
        Number of observations of the random walk by which the range is known.

    Examples
    --------
    >>> Bins(6)
    Bins(n_bins=6, n_before=1000)
    """

    n_bins: int = 10
    n_before: int = 1000

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_whole("n_bins", self.n_bins, at_least=1, at_most=MOST_STATES)
        check_whole("n_before", self.n_before, at_least=1)

    @property
    def refit_at(self) -> tuple[int, ...]:
        """Never."""
        return ()

    def prepare(self, walk: Walk, rng: np.random.Generator, previous: object = None) -> _Grid:
        """Lay the grid."""
        n_features = walk.observations.shape[1]
        if self.n_bins**n_features > MOST_STATES:
            raise ValueError(
                f"{self.n_bins} bins of each of {n_features} features are more than "
                f"{MOST_STATES:,} codes: use fewer bins, or KMeans."
            )
        return _Grid(walk.observations.min(axis=0), walk.observations.max(axis=0), self.n_bins)


class _Grid:
    def __init__(self, low: NDArray[np.float64], high: NDArray[np.float64], n_bins: int) -> None:
        self.n_codes = n_bins ** len(low)
        self._low, self._most = low, n_bins - 1
        self._scale = n_bins / np.where(high > low, high - low, 1.0)
        self._powers = n_bins ** np.arange(len(low))

    def begin(self, observation: NDArray[np.float64]) -> int:
        place = np.clip((observation - self._low) * self._scale, 0, self._most)
        return int(self._powers @ place.astype(np.int64))

    def encode(self, observation: NDArray[np.float64], action: int) -> int:
        return self.begin(observation)
