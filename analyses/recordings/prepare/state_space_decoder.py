"""The state-space decoder, a hidden Markov model of place and kind of movement [1]_.

The hidden state is a place and a kind of movement, which stays the same from one time bin to the
next with a probability of .98. *Stationary* movement stays in its bin, *continuous* movement makes
a step of a random walk along the track or in the arena, and *fragmented* movement continues
anywhere with equal probability; the same holds for transitions into and out of it.

References
----------
.. [1] Denovellis et al. (2021). https://doi.org/10.7554/eLife.64505
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.prepare.headings import with_headings
from analyses.recordings.prepare.likelihood import check_likelihoods
from replay.checks.arrays import Floats, Int32s
from replay.jit import kernel

STATIONARY, CONTINUOUS, FRAGMENTED = range(3)
"""The kinds of movement of the state-space decoder, in the order of its posterior."""

Walk: TypeAlias = "Floats | csr_array"
"""The transitions of continuous movement: a matrix, sparse if there are many states."""

_GOES_ON = 0.98  # the probability of the same movement in the next time bin
_MOVEMENTS = np.where(np.eye(3) > 0, _GOES_ON, (1.0 - _GOES_ON) / 2.0)
_MANY_STATES = 128  # from which on a sparse walk is faster
_FARTHEST_STEP = 4.0  # standard deviations, in an arena: beyond are 3 in 10,000 steps


class _Transitions(NamedTuple):
    """Weights into each bin: `dense`, or those from the bins `source[begin[b]:begin[b + 1]]`."""

    dense: Floats
    begin: Int32s
    source: Int32s
    weight: Floats


def walk_transitions(track: BinnedTrack, variance: float) -> Walk:
    """Compute the probability of each step of a random walk along the track, (n_bins, n_bins).

    `variance` is that of one step along the track, or in each direction of an arena, in cm^2; steps
    never leave a connected component. For an arena the matrix is sparse.
    """
    if track.is_arena:
        reach = max(_FARTHEST_STEP * np.sqrt(variance), 1.5 * track.square)
        here, there = np.nonzero(track.distance <= reach)
        near = np.exp(-0.5 * track.distance[here, there] ** 2 / variance)
        near /= np.bincount(here, near)[here]
        return csr_array((near, (here, there)), shape=track.distance.shape)
    # The distance between separate tracks is infinite, and such a step has a weight of 0.
    weights = np.exp(-0.5 * track.distance**2 / variance)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


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


def state_posterior(log_likelihoods: ArrayLike, walk: ArrayLike | Walk) -> tuple[Floats, float]:
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
    given = check_likelihoods(log_likelihoods)
    n_time, n_bins = given.shape
    steps: Walk = walk if isinstance(walk, csr_array) else np.ascontiguousarray(walk, dtype=float)
    if steps.shape != (n_bins, n_bins):
        raise ValueError(f"walk must have shape {(n_bins, n_bins)}; got {steps.shape}.")
    weights = steps.data if isinstance(steps, csr_array) else steps
    if not (weights >= 0).all() or np.abs(steps.sum(axis=1) - 1.0).max(initial=0.0) > 1e-9:
        raise ValueError("Each row of walk must hold probabilities that sum to 1.")
    # Scaled in each time bin, which changes no posterior, and is added to the evidence at the end.
    highest = given.max(axis=1) if n_time else np.zeros(0)
    likelihood = np.exp(given - highest[:, None])
    posterior = np.empty((n_time, 3, n_bins))
    predicted = np.empty((n_time, 3, n_bins))
    log_evidence = _filter(likelihood, _MOVEMENTS, _transitions(steps), predicted, posterior)
    _smooth(_MOVEMENTS, _transitions(steps.T), predicted, posterior)
    return posterior, float(log_evidence + highest.sum())


def _transitions(steps: Walk) -> _Transitions:
    """Prepare weights into each bin for the kernels."""
    if isinstance(steps, np.ndarray):
        none = np.empty(0, dtype=np.int32)
        return _Transitions(np.ascontiguousarray(steps), none, none, np.empty(0))
    into = steps.tocsc()
    return _Transitions(np.empty((0, 0)), into.indptr, into.indices, into.data)


@kernel
def _stepped(weights: Floats, into: _Transitions) -> Floats:
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
def _filter(
    likelihood: Floats, movements: Floats, into: _Transitions, predicted: Floats, filtered: Floats
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
def _smooth(movements: Floats, back: _Transitions, predicted: Floats, states: Floats) -> None:
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
