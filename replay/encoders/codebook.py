"""A codebook: points among which the nearest one to an observation is its code."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from replay.jit import kernel

__all__ = ["Codebook", "codebook"]


@dataclass(frozen=True)
class Codebook:
    """Centres, shape (n_codes, n_used), in the space that a linear map leads to.

    The map subtracts `offset`, shape (n_features,), and multiplies by `weight`, shape (n_used,
    n_features).
    """

    offset: NDArray[np.float64]
    weight: NDArray[np.float64]
    centres: NDArray[np.float64]

    @property
    def n_codes(self) -> int:
        """Number of centres."""
        return len(self.centres)

    def begin(self, observation: NDArray[np.float64]) -> int:
        """Return the code of an observation."""
        return int(_nearest(self.offset, self.weight, self.centres, observation))

    def encode(self, observation: NDArray[np.float64], action: int) -> int:
        """Return the code of an observation; the action does not matter."""
        return int(_nearest(self.offset, self.weight, self.centres, observation))


def codebook(
    observations: NDArray[np.float64],
    offset: NDArray[np.float64],
    weight: NDArray[np.float64],
    n_codes: int,
    rng: np.random.Generator,
) -> Codebook:
    """Place centres by k-means; as many as there are different observations, if these are few."""
    points = (observations - offset) @ weight.T
    different = np.unique(points, axis=0)
    if len(different) <= n_codes:
        return Codebook(offset, weight, different)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a centre without points stays as it is
        centres, _ = kmeans2(points, n_codes, minit="++", rng=rng)
    return Codebook(offset, weight, np.ascontiguousarray(centres))


@kernel
def _nearest(
    offset: NDArray[np.float64],
    weight: NDArray[np.float64],
    centres: NDArray[np.float64],
    observation: NDArray[np.float64],
) -> int:
    n_used, n_features = weight.shape
    point = np.empty(n_used)
    for row in range(n_used):
        total = 0.0
        for column in range(n_features):
            total += weight[row, column] * (observation[column] - offset[column])
        point[row] = total
    code, least = 0, np.inf
    for number in range(len(centres)):
        distance = 0.0
        for row in range(n_used):
            difference = point[row] - centres[number, row]
            distance += difference * difference
        if distance < least:
            code, least = number, distance
    return code
