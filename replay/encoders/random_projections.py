"""Random projections: on which side of some random planes an observation lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replay.checks import check_whole
from replay.encoders.contract import Walk

__all__ = ["RandomProjections"]


@dataclass(frozen=True)
class RandomProjections:
    """Locality-sensitive hashing by random projections (SimHash) [1]_.

    Parameters
    ----------
    n_bits : int, default 10
        Number of planes; there are 2 to this power codes.
    n_before : int, default 1000
        Number of observations of the random walk by which features are centred and scaled.

    References
    ----------
    .. [1] Charikar (2002), Similarity estimation techniques from rounding algorithms.
       https://doi.org/10.1145/509907.509965

    Examples
    --------
    >>> RandomProjections(12)
    RandomProjections(n_bits=12, n_before=1000)
    """

    n_bits: int = 10
    n_before: int = 1000

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_whole("n_bits", self.n_bits, at_least=1, at_most=20)
        check_whole("n_before", self.n_before, at_least=1)

    @property
    def refit_at(self) -> tuple[int, ...]:
        """Never."""
        return ()

    def prepare(self, walk: Walk, rng: np.random.Generator, previous: object = None) -> _Planes:
        """Draw the planes."""
        seen = walk.observations
        spread = seen.std(axis=0)
        weight = rng.normal(size=(self.n_bits, seen.shape[1])) / np.where(spread > 0, spread, 1.0)
        return _Planes(seen.mean(axis=0), weight)


class _Planes:
    def __init__(self, offset: NDArray[np.float64], weight: NDArray[np.float64]) -> None:
        self.n_codes = 2 ** len(weight)
        self._weight, self._threshold = weight, weight @ offset
        self._powers = 2 ** np.arange(len(weight))

    def begin(self, observation: NDArray[np.float64]) -> int:
        return int(self._powers @ (self._weight @ observation > self._threshold))

    def encode(self, observation: NDArray[np.float64], action: int) -> int:
        return self.begin(observation)
