"""Predictive states: observations after which the same is expected have one code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.cluster.vq import vq
from scipy.linalg import solve
from scipy.special import log_ndtr

from replay.checks import MOST_STATES, check_whole
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.encoders.contract import Walk
from replay.encoders.vectors import FEW, Codebook, Refitted, means, refit_steps, sample

_CRITICAL = 1.8692  # of the Anderson-Darling statistic, for one of 10,000 normal samples
_FEWEST = 20  # observations that can show that they are not normally distributed
_MOST_PER_CODE = 500  # observations; rare places must be among them
_MOST_FEATURES = 2000  # the regression takes time with their third power
_N_ITERATIONS = 10


@dataclass(frozen=True)
class PredictiveStates(Refitted):
    """What is expected to be observed after each action, in as many codes as can be told apart.

    Observations are alike if the same is expected after them [1]_: the next observation is
    predicted linearly, for each action, and distances are those between the predictions. What
    tells nothing of the future, such as units that flicker, does not count. A centre is split
    while its observations are not normally distributed about it [2]_, so that places that are
    seen through noise have one code each, and what varies continuously is divided into as many
    codes as there may be.

    Parameters
    ----------
    n_codes : int, default 300
        Largest number of codes.
    n_before : int, default 10000
        Number of observations of the random walk on which it is fitted.
    refit_factor : float, default 1.4
        It is fitted again whenever the run has become longer by this factor, from 500 steps on;
        infinite: never.

    References
    ----------
    .. [1] Littman, Sutton & Singh (2001), Predictive representations of state.
       https://papers.nips.cc/paper/1983-predictive-representations-of-state
    .. [2] Hamerly & Elkan (2003), Learning the k in k-means.
       https://papers.nips.cc/paper/2526-learning-the-k-in-k-means

    Examples
    --------
    >>> PredictiveStates(100)
    PredictiveStates(n_codes=100, n_before=10000, refit_factor=1.4)
    """

    n_codes: int = 300
    n_before: int = 10_000
    refit_factor: float = 1.4

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_whole("n_codes", self.n_codes, at_least=1, at_most=MOST_STATES)
        check_whole("n_before", self.n_before, at_least=2)
        refit_steps(self.refit_factor)

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: Codebook | None = None
    ) -> Codebook:
        """Predict what comes next, and place the centres."""
        seen = walk.observations
        if seen.shape[1] > _MOST_FEATURES:
            raise ValueError(
                f"PredictiveStates predicts at most {_MOST_FEATURES:,} features, and observations "
                f"have {seen.shape[1]:,}: make images smaller, as by "
                "gymnasium.wrappers.ResizeObservation."
            )
        offset, weight = seen.mean(axis=0), _prediction(walk)
        fitted = seen
        centres = np.full((self.n_codes, len(weight)), np.inf)
        if previous is not None:
            used = np.isfinite(previous.typical).all(axis=1)
            centres[used] = (previous.typical[used] - offset) @ weight.T
            if used.all():  # codes are scarce, and go where the run is rather than the walk
                fitted = seen[max(2 * self.n_before - len(seen), 0) :]
        fitted = sample(fitted, _MOST_PER_CODE * self.n_codes, rng)
        label = _place((fitted - offset) @ weight.T, centres)
        typical = means(fitted, label, self.n_codes)
        if previous is not None:
            gone = np.isfinite(centres).all(axis=1) & ~np.isfinite(typical).all(axis=1)
            typical[gone] = previous.typical[gone]
        return Codebook(offset, weight, centres, typical)


def _prediction(walk: Walk) -> Floats:
    """Return the map, shape (n_used, n_features), to what is expected next after each action.

    It is rotated, and without the directions in which chance alone would predict as much: the
    largest singular value of a matrix of independent errors.
    """
    seen = walk.observations
    spread = seen.std(axis=0)
    scaled = (seen - seen.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    within = ~walk.is_first[1:]
    n_features, n_steps = seen.shape[1], max(int(np.count_nonzero(within)), 1)
    maps = []
    for action in np.unique(walk.action[1:][within]):
        taken = within & (walk.action[1:] == action)
        now, later = scaled[:-1][taken], scaled[1:][taken]
        # Ridge regression, since features may depend on one another.
        fit = solve(now.T @ now + np.eye(n_features), now.T @ later, assume_a="pos")
        maps.append(fit.T * np.sqrt(len(now) / n_steps))
    together = np.vstack([np.zeros((1, n_features)), *maps])
    _, size, direction = np.linalg.svd(together, full_matrices=False)
    chance = (np.sqrt(len(maps) * n_features) + np.sqrt(n_features)) / np.sqrt(n_steps)
    n_used = max(int(np.count_nonzero(size > chance)), 1)
    return np.asarray(size[:n_used, None] * direction[:n_used] / np.where(spread > 0, spread, 1.0))


def _place(points: Floats, centres: Floats) -> Ints:
    """Move the centres, and split those whose points are not normally distributed.

    Those not used are infinitely far away. Where all are, those with few points are used anew.
    Returns the centre of each point.
    """
    used = np.isfinite(centres[:, 0])
    if not used.any():
        centres[0], used[0] = points.mean(axis=0), True
    label = _move(points, centres, used)
    if used.all() and len(used) > 1:
        few = np.bincount(label, minlength=len(used)) < FEW * len(points) / len(used)
        centres[few], used[few] = np.inf, False
        label = _move(points, centres, used)
    while not used.all():
        splits = [
            (gain, code, halves)
            for code in np.flatnonzero(used)
            for gain, halves in _halves(points[label == code])
        ]
        if not splits:
            break
        splits.sort(key=lambda split: -split[0])  # where codes are scarce, the most useful first
        for (_, code, halves), free in zip(splits, np.flatnonzero(~used), strict=False):
            centres[code], centres[free] = halves
            used[free] = True
        label = _move(points, centres, used)
    return label


def _move(points: Floats, centres: Floats, used: Bools) -> Ints:
    """Move the centres that are used by k-means; return the one of each point."""
    centres[used], label = _k_means(points, centres[used])
    return np.flatnonzero(used)[label]


def _halves(points: Floats) -> Iterator[tuple[float, Floats]]:
    """Give, if they are not normally distributed, two centres and how much nearer these are."""
    middle = points.mean(axis=0) if len(points) else points
    if len(points) < _FEWEST or (points == points[0]).all():
        return
    variance, direction = np.linalg.eigh(np.atleast_2d(np.cov(points, rowvar=False)))
    step = direction[:, -1] * np.sqrt(2 * variance[-1] / np.pi)
    centres, label = _k_means(points, np.array([middle + step, middle - step]))
    along = points @ (centres[0] - centres[1])
    if along.std() > 0 and _anderson_darling(along) > _CRITICAL:
        order = np.argsort(-np.bincount(label, minlength=2), kind="stable")
        nearer = ((points - middle) ** 2).sum() - ((points - centres[label]) ** 2).sum()
        yield float(nearer), centres[order]


def _anderson_darling(values: Floats) -> float:
    """Return how far values are from a normal distribution of their mean and variance."""
    n = len(values)
    z = np.sort((values - values.mean()) / values.std(ddof=1))
    odd = 2 * np.arange(n) + 1
    found = -n - float(np.mean(odd * (log_ndtr(z) + log_ndtr(-z[::-1]))))
    return found * (1 + 4 / n - 25 / n**2)


def _k_means(points: Floats, centres: Floats) -> tuple[Floats, Int32s]:
    """Move centres to the means of their points until none changes, or for some iterations."""
    label = vq(points, centres)[0]
    for _ in range(_N_ITERATIONS):
        mean = means(points, label, len(centres))
        centres = np.where(np.isfinite(mean), mean, centres)  # one without points stays
        before, label = label, vq(points, centres)[0]
        if np.array_equal(label, before):
            break
    return centres, label
