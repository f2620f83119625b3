"""Predictive states: what actions change, in as many codes as can be told apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.cluster.vq import vq
from scipy.linalg import solve
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import log_ndtr

from replay.checks import MOST_STATES, check_whole
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.encoders.contract import Walk
from replay.encoders.levels import LevelCodebook, find_levels
from replay.encoders.vectors import FEW, Codebook, Refitted, means, refit_steps, sample

_CRITICAL = 1.8692  # of the Anderson-Darling statistic, for one of 10,000 normal samples
_FEWEST = 20  # observations that can show that they are not normally distributed
_MOST_PER_CODE = 500  # observations; rare places must be among them
_MOST_FEATURES = 2000  # the regression takes time with their third power
_N_ITERATIONS = 10
_N_ROUNDS = 2  # of splitting and joining
_LEAST_ERROR = 1e-3  # of the variance of a feature: without noise there are no errors
_SURE = 5.0  # standard deviations beyond chance
_RARE = 3.0  # standard errors beyond chance, as some moments say how uncertain a sum of them is
_APART = 3.0  # standard deviations between two places
_SELECTED = 3.0  # standard deviations beyond chance, as halves are those that are far apart
_MEDIAN = 0.6745  # of the absolute value of a standard normal variable


@dataclass(frozen=True)
class PredictiveStates(Refitted):
    """What actions change, in as many codes as can be told apart.

    A feature counts if what is expected of it next depends on the action [1]_, or on features that
    count; and if the reward depends on it beside these. Units that flicker or drift by themselves
    do not count. A feature of three values or more, with gaps between them, becomes as many: each
    says whether it has this value, such as the brightness of one of two animals.

    Features are measured in units of their noise. A centre is split while its observations are not
    normally distributed about it [2]_, and two are joined that are no further apart than noise
    takes them, so that places have one code each, and what varies continuously is divided into as
    many codes as there may be.

    Each observation has to tell the place; where several look alike, `StateMerging` with this
    encoder in `of` finds the states.

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
        self, walk: Walk, rng: np.random.Generator, previous: LevelCodebook | None = None
    ) -> LevelCodebook:
        """Find what actions change, and place the centres."""
        n_features = walk.observations.shape[1]
        if n_features > _MOST_FEATURES:
            raise ValueError(
                f"PredictiveStates predicts at most {_MOST_FEATURES:,} features, and observations "
                f"have {n_features:,}: make images smaller, as by "
                "gymnasium.wrappers.ResizeObservation."
            )
        levels = find_levels(
            walk.observations, _MOST_FEATURES, None if previous is None else previous.levels
        )
        seen = levels.of(walk.observations)
        counts, unit = _features(walk._replace(observations=seen), len(levels.owner))
        offset, spread, fitted = seen.mean(axis=0), seen.std(axis=0), walk.observations
        typical = np.full((self.n_codes, n_features), np.inf)
        is_scarce = False
        if previous is not None:
            typical = previous.of.typical
            is_scarce = bool(np.isfinite(typical).all())
            if is_scarce:  # codes go where the run is rather than the walk
                fitted = fitted[max(2 * self.n_before - len(seen), 0) :]
        fitted = sample(fitted, _MOST_PER_CODE * self.n_codes, rng)
        own = levels.of(fitted)
        for number in range(_N_ROUNDS):
            weight = np.diag(1 / np.where(counts, unit, np.inf))[counts]
            centres = np.full((self.n_codes, len(weight)), np.inf)
            used = np.isfinite(typical).all(axis=1)
            centres[used] = (levels.of(typical[used]) - offset) @ weight.T
            points = (own - offset) @ weight.T
            label = _place(points, centres)
            if number > 0 and not is_scarce:  # by then, the errors within codes are known
                label = _join(points, centres, label)
            typical = means(fitted, label, self.n_codes)
            # What cannot be predicted linearly is no noise if codes tell it.
            within = np.sqrt(((own - means(own, label, self.n_codes)[label]) ** 2).mean(axis=0))
            least = np.sqrt(_LEAST_ERROR) * spread
            unit = np.where(least > 0, np.minimum(unit, np.maximum(within, least)), unit)
        if previous is not None:
            gone = np.isfinite(centres).all(axis=1) & ~np.isfinite(typical).all(axis=1)
            typical[gone] = previous.of.typical[gone]
            # A code should mean what it meant.
            known = np.isfinite(previous.of.centres).all(axis=1)
            before = vq(previous.points(fitted), previous.of.centres[known])[0]
            agree = np.zeros((self.n_codes, self.n_codes))
            np.add.at(agree, (np.flatnonzero(known)[before], label), 1)
            same = linear_sum_assignment(agree, maximize=True)[1]
            centres, typical = centres[same], typical[same]
        return LevelCodebook(levels, Codebook(offset, weight, centres, typical))


def _features(walk: Walk, n_levels: int) -> tuple[Bools, Floats]:
    """Return which features count, and the standard deviation of the errors of their prediction.

    What counts is predicted better if the action is known, or with features that count; and what
    the reward depends on beside these. Where actions change nothing, it is what can be predicted.
    """
    spread = walk.observations.std(axis=0)
    scaled = (walk.observations - walk.observations.mean(axis=0)) / np.where(spread > 0, spread, 1)
    within = ~walk.is_first[1:]
    now, later = scaled[:-1][within], scaled[1:][within]
    action, reward = walk.action[1:][within], walk.reward[1:][within]
    taken = [action == each for each in np.unique(action)]
    is_level = np.arange(len(spread)) >= len(spread) - n_levels
    if len(now) <= len(taken) * (now.shape[1] + 1):
        return spread >= 0, np.where(spread > 0, spread, 1.0)
    error = _errors(now, later, taken)
    unknown = _errors(now, later, [action >= 0]) if len(taken) > 1 else later
    counts = _is_better(unknown, error, max(len(taken) - 1, 1) * (now.shape[1] + 1), is_level)
    changes = counts
    while changes.any():
        # Where one is does not depend on the action, but on a speed that does.
        without = _errors(now[:, ~counts], later, taken)
        changes = ~counts & _is_better(without, error, len(taken) * int(counts.sum()), is_level)
        counts = counts | changes
    if counts.any():
        # Per action: what turns a reward from one end of a track to the other has no mean effect.
        rest = _errors(now[:, counts], np.column_stack([now, reward / (reward.std() or 1)]), taken)
        for rows in taken:
            size = np.maximum(rest[rows].std(axis=0), np.sqrt(_LEAST_ERROR))
            shared = rest[rows, :-1] * rest[rows, -1:] / (size[:-1] * size[-1])
            # One moment, such as the first at which either was seen, is no evidence.
            least = np.abs(shared.sum(axis=0)) - np.abs(shared).max(axis=0)
            counts = counts | (least > _SURE * np.sqrt(len(shared)))
    else:
        counts = spread >= 0
    errors = np.median(np.abs(error), axis=0) / _MEDIAN
    return counts, np.where(spread > 0, spread, 1.0) * np.maximum(errors, np.sqrt(_LEAST_ERROR))


def _errors(now: Floats, later: Floats, taken: list[Bools]) -> Floats:
    """Return the errors of a linear prediction, made for each set of moments by itself."""
    errors = np.empty_like(later)
    for rows in taken:
        known = np.column_stack([now[rows], np.ones(np.count_nonzero(rows))])
        # Ridge regression, since features may depend on one another.
        together = known.T @ known + np.eye(known.shape[1])
        errors[rows] = later[rows] - known @ solve(together, known.T @ later[rows], assume_a="pos")
    return errors


def _is_better(without: Floats, known: Floats, n_more: int, is_level: Bools) -> Bools:
    """Return whether features are predicted better than more parameters do by chance."""
    gained, error, n = without**2 - known**2, (known**2).sum(axis=0), len(known)
    beyond = gained.sum(axis=0) - n_more / n * error
    by_chance = _SURE * np.sqrt(2 * n_more) / n * error + _LEAST_ERROR
    # Levels are seen at few moments, with errors far from normal: chance is larger.
    uncertain = np.where(is_level, np.sqrt(n) * gained.std(axis=0), 0.0)
    return np.asarray(beyond > np.maximum(by_chance, _RARE * uncertain))


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


def _join(points: Floats, centres: Floats, label: Ints) -> Ints:
    """Join centres between which noise divides one place; return the one of each point."""
    used = np.isfinite(centres[:, 0])
    while used.sum() > 1:
        codes = np.flatnonzero(used)
        away = cdist(centres[codes], centres[codes])
        np.fill_diagonal(away, np.inf)
        joined = np.zeros(len(used), dtype=np.bool_)
        for code, other in zip(codes, codes[away.argmin(axis=1)], strict=True):
            first, second = points[label == code], points[label == other]
            if not (joined[code] or joined[other] or _are_apart(first, second)):
                joined[code if len(first) < len(second) else other] = True
        if not joined.any():
            break
        centres[joined], used[joined] = np.inf, False
        label = _move(points, centres, used)
    return label


def _move(points: Floats, centres: Floats, used: Bools) -> Ints:
    """Move the centres that are used by k-means; return the one of each point."""
    centres[used], label = _k_means(points, centres[used])
    return np.flatnonzero(used)[label]


def _halves(points: Floats) -> Iterator[tuple[float, Floats]]:
    """Give, if they are not those of one place, two centres and how much nearer these are."""
    middle = points.mean(axis=0) if len(points) else points
    if len(points) < 2 or (points == points[0]).all():
        return
    variance, direction = np.linalg.eigh(np.atleast_2d(np.cov(points, rowvar=False)))
    step = direction[:, -1] * np.sqrt(2 * variance[-1] / np.pi)
    centres, label = _k_means(points, np.array([middle + step, middle - step]))
    # The direction is that of every other point: in many dimensions its own points seem to be two.
    fitted = _k_means(points[::2], centres)[0]
    along = points[1::2] @ (fitted[0] - fitted[1])
    many = len(along) >= _FEWEST and along.std() > 0 and _anderson_darling(along) > _CRITICAL
    if many or _are_apart(points[label == 0], points[label == 1]):
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


def _are_apart(first: Floats, second: Floats) -> bool:
    """Return whether two sets of points are further apart than halves of one place, and chance."""
    if min(len(first), len(second)) == 0:
        return False
    away = ((first.mean(axis=0) - second.mean(axis=0)) ** 2).sum()
    n = first.shape[1]
    by_chance = (n + _SELECTED * np.sqrt(2 * n)) * (1 / len(first) + 1 / len(second))
    return bool(away > _APART**2 + by_chance)


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
