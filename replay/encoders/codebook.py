"""A codebook: points among which the nearest one to an observation is its code."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import cdist

from replay.checks import check_fits, check_number
from replay.checks.arrays import Floats, Int32s, Ints
from replay.jit import kernel

FEW = 0.5  # of the mean number of observations of a centre
_MOST_PER_CODE = 50  # observations; more make k-means slower, not better
_N_ITERATIONS = 10
_FIRST_REFIT, _LAST_REFIT = 500, 10**9  # steps


@dataclass(frozen=True)
class Codebook:
    """Centres, shape (n_codes, n_used), in the space that a linear map leads to.

    The map subtracts `offset`, shape (n_features,), and multiplies by `weight`, shape (n_used,
    n_features). `typical`, shape (n_codes, n_features), is the mean observation of each centre;
    centres that are not used yet are infinitely far away.
    """

    offset: Floats
    weight: Floats
    centres: Floats
    typical: Floats

    @property
    def n_codes(self) -> int:
        """Number of centres."""
        return len(self.centres)

    def begin(self, observation: Floats) -> int:
        """Return the code of an observation."""
        return _nearest(self.offset, *self._by_column, observation)

    def neighbours(self) -> Int32s:
        """List all codes from the nearest to the farthest, for each; shape (n_codes, n_codes)."""
        check_fits(20 * self.n_codes**2, f"the distances between {self.n_codes} codes")
        away = np.nan_to_num(cdist(self.centres, self.centres), nan=np.inf)
        return np.argsort(away, axis=1, kind="stable").astype(np.int32)

    def encode(self, observation: Floats, action: int) -> int:
        """Return the code of an observation; the action does not matter."""
        return _nearest(self.offset, *self._by_column, observation)

    @cached_property
    def _by_column(self) -> tuple[Floats, Floats]:
        return np.ascontiguousarray(self.weight.T), np.ascontiguousarray(self.centres.T)


def codebook(
    observations: Floats,
    offset: Floats,
    weight: Floats,
    n_codes: int,
    rng: np.random.Generator,
    previous: Codebook | None,
) -> Codebook:
    """Place centres by k-means, from where they were before; those with few points are moved.

    Few different observations have a centre each, in the order in which they were first met.
    """
    _, first = np.unique(observations, axis=0, return_index=True)
    if len(first) <= n_codes:
        typical = np.full((n_codes, observations.shape[1]), np.inf)
        typical[: len(first)] = observations[np.sort(first)]
        centres = np.full((n_codes, len(weight)), np.inf)
        centres[: len(first)] = (typical[: len(first)] - offset) @ weight.T
        return Codebook(offset, weight, centres, typical)
    fitted = sample(observations, _MOST_PER_CODE * n_codes, rng)
    points = (fitted - offset) @ weight.T
    if previous is None:
        centres, label = _placed(points, n_codes, rng)
    else:
        used = np.isfinite(previous.typical).all(axis=1)
        centres = np.repeat(points[:1], n_codes, axis=0)
        centres[used] = (previous.typical[used] - offset) @ weight.T
        centres, label = _placed(points, centres, rng)
        few = np.bincount(label, minlength=n_codes) < FEW * len(points) / n_codes
        distance = ((points - centres[label]) ** 2).sum(axis=1)
        if few.any() and np.count_nonzero(distance) >= few.sum():
            chosen = rng.choice(len(points), few.sum(), replace=False, p=distance / distance.sum())
            centres[few] = points[chosen]
            centres, label = _placed(points, centres, rng)
    typical = means(fitted, label, n_codes)
    return Codebook(offset, weight, centres, typical)


def sample(observations: Floats, most: int, rng: np.random.Generator) -> Floats:
    """Draw some observations if there are too many; their order is kept."""
    if len(observations) <= most:
        return observations
    return observations[np.sort(rng.choice(len(observations), most, replace=False))]


def means(observations: Floats, label: Ints, n_codes: int) -> Floats:
    """Return the mean observation of each code; infinite for none."""
    n_points = np.bincount(label, minlength=n_codes)
    typical = np.zeros((n_codes, observations.shape[1]))
    np.add.at(typical, label, observations)
    typical[n_points > 0] /= n_points[n_points > 0, None]
    typical[n_points == 0] = np.inf
    return typical


def refit_steps(factor: float) -> tuple[int, ...]:
    """Return the numbers of steps at which a run has become longer by a factor, from 500 on."""
    check_number("refit_factor", factor, at_least=1.01, finite=False)
    steps = [_FIRST_REFIT]
    while math.isfinite(factor) and steps[-1] < _LAST_REFIT:
        steps.append(math.ceil(min(steps[-1] * factor, _LAST_REFIT)))
    return tuple(steps) if math.isfinite(factor) else ()


def _placed(points: Floats, start: int | Floats, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Place so many centres by k-means, or move those given; return them and each point's."""
    begin = "++" if isinstance(start, int) else "matrix"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a centre without points stays as it is
        centres, label = kmeans2(points, start, iter=_N_ITERATIONS, minit=begin, rng=rng)
    return centres, label.astype(np.int64)


@kernel
def _nearest(offset: Floats, weight: Floats, centres: Floats, observation: Floats) -> int:
    """Return the nearest centre, given the map and the centres by column: both loops are fast."""
    n_features, n_used = weight.shape
    point = np.zeros(n_used)
    for column in range(n_features):
        away = observation[column] - offset[column]
        for row in range(n_used):
            point[row] += weight[column, row] * away
    distance = np.zeros(centres.shape[1])
    for row in range(n_used):
        for number in range(len(distance)):
            difference = point[row] - centres[row, number]
            distance[number] += difference * difference
    return int(np.argmin(distance))
