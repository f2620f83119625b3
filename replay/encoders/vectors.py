"""Encoders that look at one observation at a time, a vector of features.

Most of them place a codebook: points among which the nearest one to an observation is its code.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from replay.checks import MOST_STATES, check_fits, check_number, check_whole
from replay.checks.arrays import Floats, Int32s, Ints
from replay.encoders.contract import Walk
from replay.jit import kernel

FEW = 0.5  # of the mean number of observations of a centre
_MOST_PER_CODE = 50  # observations; more make k-means slower, not better
_N_ITERATIONS = 10
_FIRST_REFIT, _LAST_REFIT = 500, 10**9  # steps
_LEAST_VARIANCE = 1e-9  # of the largest; directions with less are noise of rounding


class Refitted:
    """An encoder that is fitted again whenever the run has become longer by its `refit_factor`."""

    refit_factor: float = math.inf

    @property
    def refit_at(self) -> tuple[int, ...]:
        """Numbers of steps after which it is fitted again."""
        return refit_steps(self.refit_factor)


class OfOne(ABC):
    """A coder that looks at one observation, whatever the action that led to it."""

    def encode(self, observation: Floats, action: int) -> int:
        """Return the code of an observation; the action does not matter."""
        return self.begin(observation)

    @abstractmethod
    def begin(self, observation: Floats) -> int:
        """Return the code of an observation."""


@dataclass(frozen=True)
class Bins(Refitted):
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

    def prepare(self, walk: Walk, rng: np.random.Generator, previous: object = None) -> _Grid:
        """Lay the grid."""
        n_features = walk.observations.shape[1]
        if self.n_bins**n_features > MOST_STATES:
            raise ValueError(
                f"{self.n_bins} bins of each of {n_features} features are more than "
                f"{MOST_STATES:,} codes: use fewer bins, or KMeans."
            )
        return _Grid(walk.observations.min(axis=0), walk.observations.max(axis=0), self.n_bins)


class _Grid(OfOne):
    def __init__(self, low: Floats, high: Floats, n_bins: int) -> None:
        self.n_codes = n_bins ** len(low)
        self._low, self._most = low, n_bins - 1
        self._scale = n_bins / np.where(high > low, high - low, 1.0)
        self._powers = n_bins ** np.arange(len(low))

    def begin(self, observation: Floats) -> int:
        place = np.clip((observation - self._low) * self._scale, 0, self._most)
        return int(self._powers @ place.astype(np.int64))


@dataclass(frozen=True)
class RandomProjections(Refitted):
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

    def prepare(self, walk: Walk, rng: np.random.Generator, previous: object = None) -> _Planes:
        """Draw the planes."""
        seen = walk.observations
        spread = seen.std(axis=0)
        weight = rng.normal(size=(self.n_bits, seen.shape[1])) / np.where(spread > 0, spread, 1.0)
        return _Planes(seen.mean(axis=0), weight)


class _Planes(OfOne):
    def __init__(self, offset: Floats, weight: Floats) -> None:
        self.n_codes = 2 ** len(weight)
        self._weight, self._threshold = weight, weight @ offset
        self._powers = 2 ** np.arange(len(weight))

    def begin(self, observation: Floats) -> int:
        return int(self._powers @ (self._weight @ observation > self._threshold))


@dataclass(frozen=True)
class KMeans(Refitted):
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

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: Codebook | None = None
    ) -> Codebook:
        """Place the centres."""
        seen = walk.observations
        spread = seen.std(axis=0)
        weight = np.diag(1 / np.where(spread > 0, spread, 1.0))
        return codebook(seen, seen.mean(axis=0), weight, self.n_codes, rng, previous)


@dataclass(frozen=True)
class SlowFeatures(Refitted):
    """Linear slow feature analysis [1]_, then k-means.

    Of all linear features of unit variance, uncorrelated with one another, the slowest change
    least from one step to the next. What flickers independently of where the animal is changes
    fast, and is left out.

    Parameters
    ----------
    n_features : int, default 8
        Number of slow features.
    n_codes : int, default 300
        Number of centres.
    n_before : int, default 20000
        Number of observations of the random walk on which both are fitted.
    refit_factor : float, default inf
        Both are fitted again whenever the run has become longer by this factor, from 500 steps on;
        infinite: never.

    References
    ----------
    .. [1] Wiskott & Sejnowski (2002), Slow feature analysis.
       https://doi.org/10.1162/089976602317318938

    Examples
    --------
    >>> SlowFeatures(n_features=4)
    SlowFeatures(n_features=4, n_codes=300, n_before=20000, refit_factor=inf)
    """

    n_features: int = 8
    n_codes: int = 300
    n_before: int = 20_000
    refit_factor: float = math.inf

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_whole("n_features", self.n_features, at_least=1, at_most=10_000)
        check_whole("n_codes", self.n_codes, at_least=1, at_most=MOST_STATES)
        check_whole("n_before", self.n_before, at_least=2)
        refit_steps(self.refit_factor)

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: Codebook | None = None
    ) -> Codebook:
        """Find the slow features, and place the centres."""
        seen = walk.observations
        mean = seen.mean(axis=0)
        variance, directions = eigh(np.atleast_2d(np.cov(seen, rowvar=False)))
        known = variance > _LEAST_VARIANCE * max(variance.max(), 1e-300)
        whiten = (directions[:, known] / np.sqrt(variance[known])).T
        change = np.diff(seen, axis=0)[~walk.is_first[1:]] @ whiten.T
        _, slowest = eigh(change.T @ change)  # in ascending order
        weight = slowest[:, : self.n_features].T @ whiten
        return codebook(seen, mean, weight, self.n_codes, rng, previous)


@dataclass(frozen=True)
class Codebook(OfOne):
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
        centres = np.repeat(points[:1], n_codes, axis=0)  # those not used yet are moved below
        centres[used] = (previous.typical[used] - offset) @ weight.T
        centres, label = _placed(points, centres, rng)
        few = np.bincount(label, minlength=n_codes) < FEW * len(points) / n_codes
        distance = ((points - centres[label]) ** 2).sum(axis=1)
        if few.any() and np.count_nonzero(distance) >= few.sum():
            # Far observations are likelier, as in k-means++ [1]_ of `KMeans`.
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
    is_of = csr_array((np.ones(len(label)), (label, np.arange(len(label)))), (n_codes, len(label)))
    typical = np.asarray(is_of @ observations)
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
