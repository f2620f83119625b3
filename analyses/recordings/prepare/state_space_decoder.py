"""The state-space decoder, a hidden Markov model of place and kind of movement [1]_.

The hidden state is a place and a kind of movement, which stays the same from one time bin to the
next with a probability of .98. *Stationary* movement stays in its bin, *continuous* movement makes
a step of a random walk along the track or in the arena, and *fragmented* movement continues
anywhere with equal probability; the same holds for transitions into and out of it.

References
----------
.. [1] Denovellis et al. (2021), Hippocampal replay of experience at real-world speeds.
   https://doi.org/10.7554/eLife.64505
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import uniform_filter1d
from scipy.sparse import csr_array

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.prepare.headings import with_headings
from analyses.recordings.prepare.likelihood import check_likelihoods
from replay.checks import check_number
from replay.jit import kernel

__all__ = [
    "CONTINUOUS",
    "FRAGMENTED",
    "SPEEDS",
    "STATIONARY",
    "Walk",
    "Walks",
    "averaged_bins",
    "continuous_path",
    "state_posterior",
    "walk_evidence",
    "walk_of_states",
    "walk_transitions",
    "walks_of_states",
    "with_far",
]

STATIONARY, CONTINUOUS, FRAGMENTED = range(3)
"""The kinds of movement of the state-space decoder, in the order of its posterior."""

SPEEDS = (1.0, 2.0)
"""The variances of the walks that a path may follow, in multiples of the decoder's. With
faster walks it comes nearer to the ends of an event, but goes to and fro more often."""

Walk: TypeAlias = "NDArray[np.float64] | csr_array"
"""The transitions of continuous movement: a matrix, sparse if there are many states."""

_GOES_ON = 0.98  # the probability of the same movement in the next time bin
_MOVEMENTS = np.where(np.eye(3) > 0, _GOES_ON, (1.0 - _GOES_ON) / 2.0)
_MANY_STATES = 128  # from which on a sparse walk is faster
_AVERAGED = 0.025  # s, of which the path is free of to and fro
_USUAL_ERROR = 1.5  # times the median of an event, up to which a place is certain
_SMALL_ERROR = 5.0  # cm, up to which it always is
_APPROACH = 15.0  # cm from the last certain place, where a path came from
_FAR = 1e6  # cm, between parts of a track that are not joined
_FARTHEST_STEP = 4.0  # standard deviations, in an arena: beyond are 3 in 10,000 steps


class _Transitions(NamedTuple):
    """Weights into each bin: `dense`, or those from the bins `source[begin[b]:begin[b + 1]]`."""

    dense: NDArray[np.float64]
    begin: NDArray[np.int32]
    source: NDArray[np.int32]
    weight: NDArray[np.float64]


class Walks(NamedTuple):
    """Random walks of different speeds between the same places.

    Attributes
    ----------
    steps : tuple of Walk
        The transitions of each.
    distance : ndarray of float64, shape (n_bins, n_bins)
        Distances between the bins along the track, around walls, in cm; finite.
    width : int
        Number of time bins over which the probability of a place is averaged, about 25 ms.
    """

    steps: tuple[Walk, ...]
    distance: NDArray[np.float64]
    width: int = 1


def walk_transitions(track: BinnedTrack, variance: float) -> Walk:
    """Compute the probability of each step of a random walk along the track, (n_bins, n_bins).

    `variance` is that of one step along the track, or in each direction of an arena, in cm^2; steps
    never leave a connected component. For an arena the matrix is sparse.

    Examples
    --------
    >>> import networkx as nx
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> graph = nx.Graph([("left", "right")])
    >>> nx.set_node_attributes(graph, {"left": (0, 0), "right": (10, 0)}, "pos")
    >>> walk_transitions(cut_track(graph), 15.0).round(2).tolist()
    [[0.7, 0.3], [0.3, 0.7]]
    """
    spread = check_number("variance", variance, at_least=1e-12)
    if track.is_arena:
        reach = max(_FARTHEST_STEP * np.sqrt(spread), 1.5 * track.square)
        here, there = np.nonzero(track.distance <= reach)
        near = np.exp(-0.5 * track.distance[here, there] ** 2 / spread)
        near /= np.bincount(here, near)[here]
        return csr_array((near, (here, there)), shape=track.distance.shape)
    weights = np.exp(-0.5 * track.distance**2 / spread)
    steps: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return steps


def walk_of_states(track: BinnedTrack, variance: float, n_states: int) -> Walk:
    """Compute the same for states with or without a heading, which the walk carries on.

    Where there are many states, the matrix is sparse: steps less probable than 1e-16 change no
    digit of a posterior, and without them the cost does not grow with the square of the states.
    """
    steps = walk_transitions(track, variance)
    if isinstance(steps, csr_array):
        return steps
    if n_states > track.n_bins:
        steps = with_headings(track, steps)
    if n_states < _MANY_STATES:
        return steps
    return csr_array(np.where(steps > np.finfo(float).eps / 2, steps, 0.0))


def walks_of_states(track: BinnedTrack, variance: float, n_states: int, dt: float) -> Walks:
    """Compute walks whose steps in `dt` s have this variance or a multiple of it, in cm^2."""
    steps = tuple(walk_of_states(track, variance * speed, n_states) for speed in SPEEDS)
    return Walks(steps, with_far(track.distance), averaged_bins(dt))


def with_far(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make places in parts of a track that are not joined far from each other, but not infinitely.

    The more probable part then has the nearer places.
    """
    return np.where(np.isfinite(distance), distance, _FAR)


def averaged_bins(dt: float) -> int:
    """Return the number of time bins of `dt` s that `Walks` average over.

    Examples
    --------
    >>> averaged_bins(0.005), averaged_bins(0.02)
    (5, 1)
    """
    return max(round(_AVERAGED / dt), 1)


def state_posterior(
    log_likelihoods: ArrayLike, walk: ArrayLike | Walk
) -> tuple[NDArray[np.float64], float]:
    """Decode an event with the state-space decoder.

    Likelihoods are (n_time, n_bins), `walk` (n_bins, n_bins) with rows that sum to 1. Returns the
    probability of each movement and place in each time bin, given all spikes, shape (n_time, 3,
    n_bins), and the log-probability of all spikes, up to the constant of the likelihood.

    Examples
    --------
    Two time bins, in which first one and then the other of two places is likely:

    >>> posterior, _ = state_posterior(np.log([[0.9, 0.1], [0.1, 0.9]]), np.full((2, 2), 0.5))
    >>> posterior.sum(axis=1).argmax(axis=1).tolist(), bool(posterior[1, CONTINUOUS].sum() > 0.33)
    ([0, 1], True)
    """
    return _posterior(*_checked(log_likelihoods, walk), _MOVEMENTS)


def walk_evidence(log_likelihoods: ArrayLike, walk: ArrayLike | Walk) -> float:
    """Compare the evidence for a random walk with that for places drawn anew in each time bin.

    Returns the difference of the log-probabilities of all spikes; see `state_posterior`.

    Examples
    --------
    >>> walk_evidence(np.log([[0.9, 0.1], [0.9, 0.1]]), np.eye(2)) > 0
    True
    """
    given, steps = _checked(log_likelihoods, walk)
    if not len(given):
        return 0.0
    likelihood = np.exp(given - given.max(axis=1)[:, None])
    return float(_walk_evidence(likelihood, _transitions(steps)))


def continuous_path(log_likelihoods: ArrayLike, walks: Walks) -> NDArray[np.int32]:
    """Find the path of an event under continuous movement throughout.

    In each time bin it is at the place with the least expected distance from where the event is
    around then, given all spikes, and it has the more probable of two headings. The expectation is
    also over `walks`, which are equally likely before. The single most probable path is shorter and
    farther away, since it lingers where spikes are few. The path is continuous whatever the spikes:
    a test must decide whether there is one at all. At the beginning and end of an event, where few
    spikes are left, places nearer to all others would be the best guess, as if the path came back:
    where it is less certain than usual in the event, it goes on or stays, but does not come back.

    Examples
    --------
    >>> walk = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]])
    >>> likely = [[0.8, 0.1, 0.1], [0.3, 0.3, 0.4], [0.1, 0.1, 0.8]]
    >>> distance = np.array([[0.0, 5.0, 10.0], [5.0, 0.0, 5.0], [10.0, 5.0, 0.0]])
    >>> continuous_path(np.log(likely), Walks((walk,), distance)).tolist()
    [0, 1, 2]
    """
    movements = np.zeros((3, 3))
    movements[CONTINUOUS, CONTINUOUS] = 1.0
    posteriors, evidence = [], []
    for walk in walks.steps:
        given, steps = _checked(log_likelihoods, walk)
        if not len(given):
            return np.empty(0, dtype=np.int32)
        posterior, log_evidence = _posterior(given, steps, movements)
        posteriors.append(posterior[:, CONTINUOUS])
        evidence.append(log_evidence)
    weights = np.exp(np.array(evidence) - max(evidence))
    n_bins = len(walks.distance)
    probability = np.tensordot(weights, posteriors, 1).reshape(len(posteriors[0]), -1, n_bins)
    probability = uniform_filter1d(probability, walks.width, axis=0, mode="nearest")
    expected = probability.sum(axis=1) @ walks.distance
    path: NDArray[np.int32] = expected.argmin(axis=1).astype(np.int32)
    error = expected.min(axis=1)
    certain = np.flatnonzero(error <= max(_USUAL_ERROR * np.median(error), _SMALL_ERROR))
    if len(certain):
        _go_on(path, int(certain[-1]), walks.distance)
        _go_on(path[::-1], len(path) - 1 - int(certain[0]), walks.distance)
    if probability.shape[1] == 2:
        path += n_bins * _headings(probability, path, walks.steps[0])
    return path


def _go_on(path: NDArray[np.int32], last: int, distance: NDArray[np.float64]) -> None:
    """Let a path go on in place after its `last` certain place, but never back.

    It stays unless it moves on, away from where it came from.
    """
    before = np.flatnonzero(distance[path[:last], path[last]] >= _APPROACH)
    if not len(before):
        path[last:] = path[last]
        return
    away = distance[path[before[-1]], path[last:]]
    moves_on = np.diff(np.maximum.accumulate(away), prepend=0.0) > 0
    path[last:] = path[last + np.maximum.accumulate(np.where(moves_on, np.arange(len(away)), 0))]


def _headings(
    probability: NDArray[np.float64], place: NDArray[np.int32], steps: Walk
) -> NDArray[np.int32]:
    """Choose the more probable heading of a path, which changes its number only where steps do.

    A step aside, into a third arm of a junction and out again, does not count.
    """
    n_bins = probability.shape[2]

    def changes(one: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.bool_]:
        if not len(one):  # of nothing, a sparse matrix gives no array
            return np.zeros(0, dtype=bool)
        same, opposite = (
            np.asarray(steps[one, other + n_bins * number]).ravel() for number in range(2)
        )
        found: NDArray[np.bool_] = (same == 0) & (opposite > 0)
        return found

    begins = np.flatnonzero(np.diff(place, prepend=-1))
    stays = place[begins]
    change = changes(stays[:-1], stays[1:])
    aside = np.zeros(len(stays), dtype=bool)
    aside[1:-1] = change[:-1] ^ change[1:] ^ changes(stays[:-2], stays[2:])
    # Of what follows it, the next change counts from the place before it.
    change[1:] ^= aside[1:-1]
    number = np.append(0, np.cumsum(change) % 2)
    number = np.repeat(number, np.diff(begins, append=len(place)))
    moments = np.arange(len(place))
    either = [probability[moments, heading, place].sum() for heading in (number, 1 - number)]
    chosen: NDArray[np.int32] = (number if either[0] >= either[1] else 1 - number).astype(np.int32)
    return chosen


def _checked(
    log_likelihoods: ArrayLike, walk: ArrayLike | Walk
) -> tuple[NDArray[np.float64], Walk]:
    """Check likelihoods and steps, and convert them."""
    given = check_likelihoods(log_likelihoods)
    n_bins = given.shape[1]
    steps: Walk = walk if isinstance(walk, csr_array) else np.ascontiguousarray(walk, dtype=float)
    if steps.shape != (n_bins, n_bins):
        raise ValueError(f"walk must have shape {(n_bins, n_bins)}; got {steps.shape}.")
    weights = steps.data if isinstance(steps, csr_array) else steps
    if not (weights >= 0).all() or np.abs(steps.sum(axis=1) - 1.0).max(initial=0.0) > 1e-9:
        raise ValueError("Each row of walk must hold probabilities that sum to 1.")
    return given, steps


def _transitions(steps: Walk) -> _Transitions:
    """Prepare weights into each bin for the kernels."""
    if isinstance(steps, np.ndarray):
        none = np.empty(0, dtype=np.int32)
        return _Transitions(np.ascontiguousarray(steps), none, none, np.empty(0))
    into = steps.tocsc()
    return _Transitions(np.empty((0, 0)), into.indptr, into.indices, into.data)


def _posterior(
    given: NDArray[np.float64], steps: Walk, movements: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    n_time, n_bins = given.shape
    highest = given.max(axis=1) if n_time else np.zeros(0)
    likelihood = np.exp(given - highest[:, None])
    posterior = np.empty((n_time, 3, n_bins))
    predicted = np.empty((n_time, 3, n_bins))
    log_evidence = _filter(likelihood, movements, _transitions(steps), predicted, posterior)
    log_evidence += highest.sum()
    _smooth(movements, _transitions(steps.T), predicted, posterior)
    return posterior, float(log_evidence)


@kernel
def _stepped(weights: NDArray[np.float64], into: _Transitions) -> NDArray[np.float64]:
    """Move weights of bins by one step."""
    if into.dense.size > 0:
        return np.dot(weights, into.dense)  # type: ignore[no-any-return]
    found = np.zeros(len(weights))
    for b in range(len(weights)):
        total = 0.0
        for k in range(into.begin[b], into.begin[b + 1]):
            total += weights[into.source[k]] * into.weight[k]
        found[b] = total
    return found


@kernel
def _walk_evidence(likelihood: NDArray[np.float64], into: _Transitions) -> float:
    n_time, n_bins = likelihood.shape
    evidence = 0.0
    place = np.full(n_bins, 1.0 / n_bins)
    for t in range(n_time):
        if t > 0:
            place = _stepped(place, into)
        total, anywhere = 0.0, 0.0
        for b in range(n_bins):
            place[b] *= likelihood[t, b]
            total += place[b]
            anywhere += likelihood[t, b]
        if total <= 0.0:  # no walk leads there
            return -np.inf
        place /= total
        evidence += np.log(total * n_bins / anywhere)
    return evidence


@kernel
def _filter(
    likelihood: NDArray[np.float64],
    movements: NDArray[np.float64],
    into: _Transitions,
    predicted: NDArray[np.float64],
    filtered: NDArray[np.float64],
) -> float:
    """Write the predicted state for each time bin, and the state given the spikes up to it.

    Transitions into and out of fragmented movement lead anywhere with equal probability.
    """
    n_time, n_bins = likelihood.shape
    log_evidence = 0.0
    moving = np.empty(n_bins)
    for t in range(n_time):
        if t == 0:  # any movement, anywhere
            predicted[0] = 1.0 / (3 * n_bins)
        else:
            # How probable each movement was, and what goes on walking from each place.
            before = filtered[t - 1]
            still, walking, jumping = 0.0, 0.0, 0.0
            for b in range(n_bins):
                still += before[STATIONARY, b]
                walking += before[CONTINUOUS, b]
                jumping += before[FRAGMENTED, b]
                moving[b] = (
                    movements[STATIONARY, CONTINUOUS] * before[STATIONARY, b]
                    + movements[CONTINUOUS, CONTINUOUS] * before[CONTINUOUS, b]
                )
            walked = _stepped(moving, into)
            # What jumps, and what has jumped, may be anywhere: the same number for all places.
            anywhere = (
                movements[STATIONARY, FRAGMENTED] * still
                + movements[CONTINUOUS, FRAGMENTED] * walking
                + movements[FRAGMENTED, FRAGMENTED] * jumping
            ) / n_bins
            arriving = jumping / n_bins
            # Who stays or begins to stay is where they were before; who walks has moved.
            for b in range(n_bins):
                predicted[t, STATIONARY, b] = (
                    movements[STATIONARY, STATIONARY] * before[STATIONARY, b]
                    + movements[CONTINUOUS, STATIONARY] * before[CONTINUOUS, b]
                    + movements[FRAGMENTED, STATIONARY] * arriving
                )
                predicted[t, CONTINUOUS, b] = (
                    walked[b] + movements[FRAGMENTED, CONTINUOUS] * arriving
                )
                predicted[t, FRAGMENTED, b] = anywhere
        # Bayes' rule; the sum is the evidence of this time bin, given those before it.
        total = 0.0
        for z in range(3):
            for b in range(n_bins):
                filtered[t, z, b] = predicted[t, z, b] * likelihood[t, b]
                total += filtered[t, z, b]
        filtered[t] /= total
        log_evidence += np.log(total)
    return log_evidence


@kernel
def _smooth(
    movements: NDArray[np.float64],
    back: _Transitions,
    predicted: NDArray[np.float64],
    states: NDArray[np.float64],
) -> None:
    """Smooth backwards: replace states given the spikes so far by states given all spikes."""
    n_time, _, n_bins = states.shape
    ratio = np.zeros((3, n_bins))
    for t in range(n_time - 2, -1, -1):
        mean = np.zeros(3)
        for z in range(3):
            for b in range(n_bins):
                expected = predicted[t + 1, z, b]
                ratio[z, b] = states[t + 1, z, b] / expected if expected > 0.0 else 0.0
                mean[z] += ratio[z, b] / n_bins
        walked = _stepped(ratio[CONTINUOUS], back)
        total = 0.0
        for z in range(3):
            for b in range(n_bins):
                if z == FRAGMENTED:
                    onwards = movements[z, STATIONARY] * mean[STATIONARY]
                    onwards += movements[z, CONTINUOUS] * mean[CONTINUOUS]
                else:
                    onwards = movements[z, STATIONARY] * ratio[STATIONARY, b]
                    onwards += movements[z, CONTINUOUS] * walked[b]
                onwards += movements[z, FRAGMENTED] * mean[FRAGMENTED]
                states[t, z, b] *= onwards
                total += states[t, z, b]
        states[t] /= total
