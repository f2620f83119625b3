"""Travel: a hidden Markov model of what the spikes of an event represent, moment by moment.

A burst of spikes is not one path. Replay is a stretch within it, with other places, silence or
another stretch around it. So in each time bin the population is in one of three classes:

- *fragmented*: a place is drawn anew in each time bin;
- *dwelling*: a place is held for 20, 40, 80 or 500 ms on average, and then another one is drawn,
  from everywhere or, in half of the cases, with the same heading; or a place is held for 200 ms,
  and those of single time bins are drawn around it, within 10 cm; or a place drifts by 15 cm in
  100 ms. The three are equally likely;
- *travelling*: a place moves along the track in one direction at 1, 2, 4, 8 or 16 m/s, by a Poisson
  number of bins in each time bin. At a junction it may go on into any other edge, and at a dead end
  it stops. Where cells have headings, these are those of the travel (*forward*), the opposite ones
  (*reverse*), or the cells fire as if there were none. In an arena, whose places are squares of
  some 10 cm here, a place moves straight on, and turns by 30 degrees six times a second.

Direction, sense and speed stay as they are while it travels. A class is kept with a probability of
.98 from one time bin of 5 ms to the next; otherwise another one is entered, anywhere.

The *evidence* for travel is the logarithm of the probability of the spikes under all three classes,
less that under the first two. Stretches of travel, their sense and their places are posteriors of
the same model. It extends the state-space decoders of Denovellis et al. [1]_ and Krause and
Drugowitsch [2]_ by senses and by places that are held.

References
----------
.. [1] Denovellis et al. (2021), Hippocampal replay of experience at real-world speeds.
   https://doi.org/10.7554/eLife.64505
.. [2] Krause & Drugowitsch (2022), A large majority of awake hippocampal sharp-wave ripples feature
   spatial trajectories with momentum. https://doi.org/10.1016/j.neuron.2021.10.014
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize, stats
from scipy.sparse import block_diag, csr_array, diags_array, eye_array, kron
from scipy.sparse.csgraph import connected_components

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.prepare.headings import with_headings
from analyses.recordings.prepare.likelihood import check_likelihoods
from analyses.recordings.prepare.state_space_decoder import walk_transitions
from replay.checks import check_number
from replay.checks.arrays import Bools, Floats, Ints
from replay.jit import kernel

SPEEDS = (100.0, 200.0, 400.0, 800.0, 1600.0)  # cm/s
_HELD = (0.02, 0.04, 0.08, 0.5)  # s
_AROUND, _HELD_AROUND = 10.0, 0.2  # cm, s
_DRIFT = 15.0**2 / 0.1  # cm^2/s
_KEPT, _KEPT_FOR = 0.98, 0.005  # the probability of the same class after so many s
_SQUARE, _N_DIRECTIONS, _TURNS = 10.0, 12, 6.0  # in an arena: cm, and turns per s
_LEAST_STEP = 1e-6  # less probable numbers of bins are not distinguished from smaller ones
_CERTAIN = 0.5  # travel is more probable than not
_FAR = 1e4  # cm, in the place of an infinite distance, of which no mean could be computed
_SMALLEST = 1e-100  # a likelihood
_AT_ONCE = 32  # events, which share the walk through the steps of the model


class Steps(NamedTuple):
    """Steps into each state, or out of it, of each of some kinds of movement.

    Those of a state are `other` and `weight` of `begin[kind, state]` to `begin[kind, state + 1]`:
    where they come from or lead to, and with what probability.
    """

    begin: Ints
    other: Ints
    weight: Floats

    @staticmethod
    def of(matrices: Sequence[csr_array], into: bool) -> Steps:
        """Collect the entries of matrices, from rows to columns."""
        each = [matrix.tocsc() if into else matrix for matrix in matrices]
        offset = np.cumsum([0, *(matrix.nnz for matrix in each)])[:-1, None]
        return Steps(
            np.stack([matrix.indptr for matrix in each]).astype(np.int64) + offset,
            np.concatenate([matrix.indices for matrix in each]).astype(np.int64),
            np.concatenate([matrix.data for matrix in each]).astype(np.float64),
        )


class Travel(NamedTuple):
    """The model on one track, for time bins of one length.

    A *state* is a column of the likelihoods: a bin, or a bin with one of the two headings along its
    edge, or without. In an arena it is a square of several bins. A *way* is a bin, or a square,
    with a direction of travel.
    """

    square: Ints  # (n_columns,): the state of each column
    kept: float  # the probability of the same class in the next time bin
    # (n_kinds,): of each kind of dwelling, the probability of the same place in the next time bin
    stay: Floats
    keeps: Bools  # (n_kinds,): whether a place that is drawn anew has the same heading
    drifts: Bools  # (n_kinds,): whether a place drifts while it is held
    often: Floats  # (n_kinds,): how often each kind is entered, relative to the mean of all
    # (n_kinds,): the likelihood that it has: that of the place (0), or that around it (1)
    emits: Ints
    # (n_states,): the heading of each state; headings that may follow each other at a junction are
    # one
    group: Ints
    size: Floats  # (n_groups,): the number of states of each such group
    around: Floats  # (n_states, n_states): the probability of each state around each
    # (n_senses, n_ways): the state of each way: forward, in reverse, and without a heading; the
    # last alone if states have none
    state: Ints
    # the steps of each speed into each way, and out of it
    into: Steps
    out: Steps
    # the steps of places that drift, between states
    drift_into: Steps
    drift_out: Steps
    # (n_speeds, n_ways): the probability of running over an end of the track
    lost: Floats
    # (n_ways, n_ways): the distances between ways, in cm, which are far if their directions are
    # opposite; in an arena those between bins
    apart: Floats


class Evidence(NamedTuple):
    """The evidence in the spikes of events, in nats, of shape (n_events,) each."""

    travel: Floats  # for travel, against places that are held or drawn anew
    # for travel or places that are held, against places that are drawn anew in each time bin
    content: Floats


class TravelPosterior(NamedTuple):
    """What an event represents in each time bin, given all its spikes."""

    travels: Floats  # (n_time,): the probability of travel
    enters: Floats  # (n_time,): the probability that travel begins in this time bin
    # (n_time, n_senses, n_ways): the probability of each way in each sense; their sum is that of
    # travel. In an arena ways are those of bins, to which squares are divided as they are likely
    way: Floats
    speed: Floats  # (n_time, n_speeds): the probability of each speed of travel


class Stretch(NamedTuple):
    """A stretch of travel within an event."""

    # its time bins; `last` is the one after it
    first: int
    last: int
    # (last - first,): its course: the way in each time bin with the least expected distance from
    # where the event is, among those courses that do not turn back (in an arena, the bins)
    ways: Ints
    # the probabilities that cells head with the travel, and against it; 0 without headings
    forward: float
    reverse: float
    speed: float  # the mean speed of travel, in cm/s


def travel_model(track: BinnedTrack, time_bin: float, n_states: int) -> Travel:
    """Prepare the model for a track or an arena.

    Likelihoods have `n_states` columns: `track.n_bins`, or three times as many with headings, for
    the second node of their edge, for the first, and without.
    """
    dt = check_number("time_bin", time_bin, at_least=1e-9, hint="It is in s.")
    apart, square, spread = track.distance, np.arange(n_states), _DRIFT * dt
    if track.is_arena:
        track, square = _squares(track)
        n_states, spread = track.n_bins, _spread(spread, track.square)
    near = np.exp(-0.5 * (track.distance / _AROUND) ** 2)
    drift = walk_transitions(track, spread)
    along = _arena_steps(track, dt) if track.is_arena else _track_steps(track, dt)
    n_ways = along[0].shape[0]
    bins = np.arange(n_ways) % track.n_bins
    state, group = bins[None, :], np.zeros(n_states, dtype=np.int64)
    if n_states > track.n_bins:
        near = linalg.block_diag(with_headings(track, near), near)
        drift = linalg.block_diag(with_headings(track, drift), drift)
        back = (np.arange(n_ways) + track.n_bins) % n_ways
        state = np.stack([np.arange(n_ways), back, n_ways + bins])
        n_groups, group = connected_components(sum(along[1:], along[0]), directed=False)
        group = np.append(group, np.full(track.n_bins, n_groups))
    # Between separate tracks, and between opposite directions of travel.
    apart = np.where(np.isfinite(apart), apart, _FAR)
    if not track.is_arena:
        is_same = with_headings(track, np.ones_like(track.distance)) > 0
        apart = np.where(is_same, np.tile(apart, (2, 2)), _FAR)
        drift = np.where(drift > _LEAST_STEP, drift, 0.0)
        drift = csr_array(drift / drift.sum(axis=1, keepdims=True))
    # Places that are held, those among them that keep their heading, those around, and those that
    # drift.
    held = [*_HELD, *(_HELD if n_states > track.n_bins else ()), _HELD_AROUND, _HELD[-1]]
    number = np.arange(len(held))
    return Travel(
        square=square.astype(np.int64),
        kept=float(_KEPT ** (dt / _KEPT_FOR)),
        stay=np.exp(-dt / np.array(held)),
        keeps=(number >= len(_HELD)) & (number < len(held) - 2),
        drifts=number == len(held) - 1,
        # What is held, around a place, or drifts is equally likely. If each kind were, drift would
        # be one of ten, and local walks would pass for travel.
        often=len(held) / 3 / np.array([len(held) - 2] * (len(held) - 2) + [1, 1]),
        emits=(number == len(held) - 2).astype(np.int64),
        group=group.astype(np.int64),
        size=np.bincount(group).astype(float),
        around=near / near.sum(axis=1, keepdims=True),
        state=state.astype(np.int64),
        into=Steps.of(along, into=True),
        out=Steps.of(along, into=False),
        drift_into=Steps.of([drift], into=True),
        drift_out=Steps.of([drift], into=False),
        lost=np.stack([np.maximum(1.0 - each.sum(axis=1), 0.0) for each in along]),
        apart=apart,
    )


def _squares(track: BinnedTrack) -> tuple[BinnedTrack, Ints]:
    """Cut an arena into larger squares, in which travel is found as well, and several times faster.

    Also returns the square of each bin.
    """
    n = max(round(_SQUARE / track.square), 1)
    corner = track.position.min(axis=0)
    place = np.round((track.position - corner) / track.square) // n
    _, square = np.unique(place, axis=0, return_inverse=True)
    middle = corner + (n * place + (n - 1) / 2) * track.square
    # The bin nearest to its middle stands for a square, so that walls lie between these as well.
    nearest = np.lexsort((np.hypot(*(track.position - middle).T), square.ravel()))
    bins = nearest[np.unique(square.ravel()[nearest], return_index=True)[1]]
    larger = track.only(bins)._replace(position=middle[bins], square=n * track.square)
    return larger, square.ravel()


def _spread(variance: float, side: float) -> float:
    """Return the variance of a normal distribution whose values on a grid have this variance."""
    steps = side * np.arange(-50, 51)

    def excess(spread: float) -> float:
        weight = np.exp(-0.5 * steps**2 / spread)
        return float((weight * steps**2).sum() / weight.sum()) - variance

    return float(optimize.brentq(excess, 0.5 * variance, 2 * variance + side**2))


def _track_steps(track: BinnedTrack, dt: float) -> list[csr_array]:
    """Compute the steps of each speed between ways: all bins towards the second node, then back."""
    n_bins, n_edges = track.n_bins, len(track.edges)
    order = np.lexsort((track.offset, track.edge))
    gap = np.diff(track.offset[order])
    follows = (np.diff(track.edge[order]) == 0) & (gap <= 1.5 * track.width[order[1:]])
    one, other = order[:-1][follows], order[1:][follows]
    # Where an edge is left and where it is entered, unless these bins are left out.
    to_second = track.length[track.edge] - track.offset
    ends = [(track.offset, 0), (to_second, 1)]
    at_node: list[list[tuple[int, int]]] = [[] for _ in track.nodes]
    for away, end in ends:
        for edge in range(n_edges):
            own = np.flatnonzero((track.edge == edge) & (away <= track.width))
            if len(own):
                at_node[track.edges[edge, end]].append((int(own[away[own].argmin()]), end))
    source, target = [one, other + n_bins], [other, one + n_bins]
    weight = [np.ones(2 * len(one))]
    for bins in at_node:
        for leave, end in bins:
            for enter, begin in bins:
                if (enter, begin) != (leave, end):
                    source.append(np.array([leave if end == 1 else leave + n_bins]))
                    target.append(np.array([enter if begin == 0 else enter + n_bins]))
                    weight.append(np.array([1.0 / (len(bins) - 1)]))
    shape = 2 * n_bins, 2 * n_bins
    where = np.concatenate(source), np.concatenate(target)
    step = csr_array((np.concatenate(weight), where), shape=shape)
    width = np.tile(track.width, 2)
    found = []
    for speed in SPEEDS:
        expected = speed * dt / width
        most = int(stats.poisson.isf(_LEAST_STEP, expected.max()))
        power, total = eye_array(2 * n_bins, format="csr"), csr_array(shape)
        for number in range(most + 1):
            # The last number stands for all larger ones.
            share = stats.poisson.pmf(number, expected)
            if number == most:
                share = stats.poisson.sf(number - 1, expected)
            total = total + diags_array(share) @ power
            power = power @ step
        found.append(csr_array(total))
    return found


def _arena_steps(track: BinnedTrack, dt: float) -> list[csr_array]:
    """Compute the same in an arena: all bins in the first of the directions, then in the next."""
    place = np.round((track.position - track.position.min(axis=0)) / track.square).astype(int)
    bin_at = np.full(place.max(axis=0) + 2, -1)
    bin_at[tuple(place.T)] = np.arange(track.n_bins)
    turns = 1.0 - np.exp(-_TURNS * dt)
    turn = np.roll(np.eye(_N_DIRECTIONS), 1, axis=1)
    turn = (1 - turns) * np.eye(_N_DIRECTIONS) + turns * (turn + turn.T) / 2
    turned = csr_array(kron(csr_array(turn), eye_array(track.n_bins)))
    found = []
    for speed in SPEEDS[1:]:
        blocks = []
        for angle in 2 * np.pi * np.arange(_N_DIRECTIONS) / _N_DIRECTIONS:
            ahead = place + speed * dt / track.square * np.array([np.cos(angle), np.sin(angle)])
            low = np.floor(ahead).astype(int)
            rows, columns, weights = [], [], []
            for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
                square = low + corner
                share = np.prod(1.0 - np.abs(ahead - square), axis=1)
                inside = ((square >= 0) & (square < np.array(bin_at.shape) - 1)).all(axis=1)
                there = np.where(inside, bin_at[tuple(np.where(inside[:, None], square, -1).T)], -1)
                # Nothing passes through a wall, around which the way is longer.
                straight = track.square * np.hypot(*(square - place).T)
                free = track.distance[np.arange(track.n_bins), there] <= straight + track.square
                kept = (there >= 0) & free & (share > 0)
                rows.append(np.flatnonzero(kept))
                columns.append(there[kept])
                weights.append(share[kept])
            where = np.concatenate(rows), np.concatenate(columns)
            shape = track.n_bins, track.n_bins
            blocks.append(csr_array((np.concatenate(weights), where), shape=shape))
        found.append(csr_array(block_diag(blocks, format="csr") @ turned))
    return found


def travel_evidence(log_likelihoods: ArrayLike, model: Travel) -> Evidence:
    """Compute the evidence in events of the same length.

    Likelihoods are (n_events, n_time, n_states).

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> model = travel_model(cut_track(make_linear_track(100.0)), 0.005, 20)
    >>> moves = np.log(np.where(np.eye(20) > 0, 0.9, 0.1 / 19))
    >>> found = travel_evidence([moves, moves[[3] * 20]], model)
    >>> found.travel.round().tolist(), found.content.round().tolist()
    ([10.0, -0.0], [32.0, 51.0])
    """
    given = np.asarray(log_likelihoods, dtype=float)
    check_likelihoods(given.reshape(-1, given.shape[-1]))
    parts = [np.empty((2, 0))]
    for first in range(0, len(given), _AT_ONCE):
        emission = _emissions(given[first : first + _AT_ONCE], model)
        with_travel = _log_probability(emission, model, True)
        without = _log_probability(emission, model, False)
        anew = np.log(emission[0].mean(axis=1)).sum(axis=0)
        parts.append(np.stack([with_travel - without, with_travel - anew]))
    return Evidence(*np.concatenate(parts, axis=1))


def travel_posterior(log_likelihoods: ArrayLike, model: Travel) -> TravelPosterior:
    """Decode an event; likelihoods are (n_time, n_states)."""
    given = check_likelihoods(log_likelihoods)
    emission = _emissions(given[None], model)
    n_time, (n_senses, n_ways), n_speeds = emission.shape[1], model.state.shape, len(model.lost)
    enters, way = np.zeros(n_time), np.zeros((n_time, n_senses, n_ways))
    speed = np.zeros((n_time, n_speeds))
    _smooth(emission, model, enters, way, speed)
    if len(model.square) > len(model.group):
        likely = np.exp(given - given.max(axis=1, keepdims=True))
        total = (np.bincount(model.square) * emission[0, :, :, 0])[:, model.square]
        by_square = way.reshape(n_time, -1, len(model.group))[:, :, model.square]
        way = (by_square * (likely / total)[:, None]).reshape(n_time, n_senses, -1)
    return TravelPosterior(way.sum(axis=(1, 2)), enters, way, speed)


def stretches_of(found: TravelPosterior, model: Travel) -> list[Stretch]:
    """Find the stretches in which travel is more probable than not.

    A stretch ends where travel is likely to have begun anew, so that there and back are two.
    """
    is_travel = found.travels > _CERTAIN
    edges = np.flatnonzero(np.diff(is_travel, prepend=False, append=False))
    speeds = np.array(SPEEDS[-found.speed.shape[1] :])
    stretches, n_apart = [], len(model.apart)
    for begin, end in edges.reshape(-1, 2).tolist():
        # How often travel has begun until each time bin.
        begun = found.travels[begin] + np.append(0, np.cumsum(found.enters[begin + 1 : end]))
        number = np.floor(begun - _CERTAIN).astype(int)
        for part in np.unique(number):
            own = begin + np.flatnonzero(number == part)
            first, last = int(own[0]), int(own[-1]) + 1
            total = found.way[first:last].sum()
            sense = found.way[first:last].sum(axis=(0, 2)) / total
            probability = found.way[first:last].sum(axis=1).reshape(last - first, -1, n_apart)
            expected = probability.sum(axis=1) @ model.apart
            # In an arena it may turn; otherwise any way within reach of the fastest may follow.
            is_arena = probability.shape[1] > 1
            ways = expected.argmin(axis=1) if is_arena else _course(expected, model)
            stretches.append(
                Stretch(
                    first, last, ways, float(sense[0]) if len(sense) == 3 else 0.0,
                    float(sense[1]) if len(sense) == 3 else 0.0,
                    float((found.speed[first:last].sum(axis=0) @ speeds) / total),
                )
            )  # fmt: skip
    return stretches


def _emissions(log_likelihoods: Floats, model: Travel) -> Floats:
    """Compute likelihoods of places, and around them, up to a factor for each time bin.

    `log_likelihoods` is (n_events, n_time, n_states), the result (2, n_time, n_states, n_events):
    events beside each other are computed at once.
    """
    if log_likelihoods.shape[2] != len(model.square):
        raise ValueError(
            f"The likelihoods must have {len(model.square)} columns; got "
            f"{log_likelihoods.shape[2]}."
        )
    n_events, n_time, _ = log_likelihoods.shape
    emission = np.empty((2, n_time, len(model.group), n_events))
    place, around = emission
    if len(model.square) > len(model.group):
        likely = np.exp(log_likelihoods - log_likelihoods.max(axis=2, keepdims=True))
        order, number = np.argsort(model.square, kind="stable"), np.bincount(model.square)
        total = np.add.reduceat(likely[:, :, order], np.cumsum(number) - number, axis=2)
        place[:] = (total / number).transpose(1, 2, 0)
    else:
        place[:] = log_likelihoods.transpose(1, 2, 0)
        place -= place.max(axis=1, keepdims=True)
        np.exp(place, out=place)
    np.matmul(model.around, place, out=around)
    # What is too small to matter would slow the processor down.
    return np.maximum(emission, _SMALLEST, out=emission)


@kernel
def _dwell(
    before: Floats,
    after: Floats,
    drawn: Floats,
    scale: Floats,
    entering: Floats,
    emission: Floats,
    t: int,
    model: Travel,
    total: Floats,
) -> None:
    """Let places be held or drawn anew for one time bin; write their total weight.

    `drawn`, shape (n_kinds, n_groups, n_events), is the weight of each group before, and after;
    `scale` are factors of all weights before.
    """
    # Loops over single numbers, here and below: expressions of arrays take seconds to compile.
    n_kinds, n_states, n_events = before.shape
    n_groups = len(model.size)
    anew, drifted = np.zeros((n_groups, n_events)), np.zeros(n_events)
    for e in range(n_events):
        total[e] = 0.0
    for k in range(n_kinds):
        stay, leave = model.stay[k] * model.kept, (1.0 - model.stay[k]) * model.kept
        for e in range(n_events):
            everywhere = 0.0
            for g in range(n_groups):
                everywhere += drawn[k, g, e]
            for g in range(n_groups):
                here = drawn[k, g, e] / model.size[g] if model.keeps[k] else everywhere / n_states
                anew[g, e] = leave * here * scale[e] + entering[e] * model.often[k]
                drawn[k, g, e] = 0.0
        emits = model.emits[k]
        for x in range(n_states):
            g = model.group[x]
            if model.drifts[k]:
                for e in range(n_events):
                    drifted[e] = 0.0
                for i in range(model.drift_into.begin[0, x], model.drift_into.begin[0, x + 1]):
                    source, share = model.drift_into.other[i], model.drift_into.weight[i]
                    for e in range(n_events):
                        drifted[e] += before[k, source, e] * share
            else:
                for e in range(n_events):
                    drifted[e] = before[k, x, e]
            for e in range(n_events):
                weight = stay * drifted[e] * scale[e] + anew[g, e]
                weight *= emission[emits, t, x, e]
                after[k, x, e] = weight
                drawn[k, g, e] += weight
        for g in range(n_groups):
            for e in range(n_events):
                total[e] += drawn[k, g, e]


@kernel
def _move(
    before: Floats,
    after: Floats,
    scale: Floats,
    entering: Floats,
    emission: Floats,
    t: int,
    model: Travel,
    total: Floats,
) -> None:
    """Let places travel for one time bin; write their total weight. `scale` is as for `_dwell`."""
    n_speeds, n_senses, n_ways, n_events = before.shape
    moved = np.zeros(n_events)
    for e in range(n_events):
        total[e] = 0.0
    for v in range(n_speeds):
        for s in range(n_senses):
            for y in range(n_ways):
                for e in range(n_events):
                    moved[e] = 0.0
                for i in range(model.into.begin[v, y], model.into.begin[v, y + 1]):
                    source, weight = model.into.other[i], model.into.weight[i] * model.kept
                    for e in range(n_events):
                        moved[e] += before[v, s, source, e] * weight
                state = model.state[s, y]
                for e in range(n_events):
                    weight = (moved[e] * scale[e] + entering[e]) * emission[0, t, state, e]
                    after[v, s, y, e] = weight
                    total[e] += weight


@kernel
def _enter(
    weight: Floats, moving: Floats, scale: Floats, n_classes: int, model: Travel, entering: Floats
) -> None:
    """Write the weight with which the classes are entered: all that jumps, and each other state.

    Weights of the classes are (3, n_events), for places that jump, are held, and travel. What
    travels over an end of the track jumps.
    """
    n_speeds, n_senses, n_ways, n_events = moving.shape
    leave = (1.0 - model.kept) / (n_classes - 1)
    n_held = len(model.stay) * len(model.group)
    n_moving = len(model.lost) * model.state.size
    for e in range(n_events):
        jumps, holds, travels = weight[0, e], weight[1, e], weight[2, e]
        entering[0, e] = model.kept * jumps + leave * (holds + travels)
        entering[1, e] = leave * (jumps + travels) / n_held
        entering[2, e] = leave * (jumps + holds) / n_moving
    for v in range(n_speeds):
        for y in range(n_ways):
            lost = model.lost[v, y] * model.kept
            if lost > 0.0:
                for s in range(n_senses):
                    for e in range(n_events):
                        entering[0, e] += moving[v, s, y, e] * lost * scale[e]


@kernel
def _start(n_classes: int, model: Travel, entering: Floats) -> None:
    """Write the weight with which the classes begin."""
    n_held = len(model.stay) * len(model.group)
    n_moving = len(model.lost) * model.state.size
    for e in range(entering.shape[1]):
        entering[0, e] = 1.0 / n_classes
        entering[1, e] = 1.0 / n_classes / n_held
        entering[2, e] = 1.0 / n_classes / n_moving


@kernel
def _log_probability(emission: Floats, model: Travel, with_travel: bool) -> Floats:
    """Compute the log-probability of the spikes of each event by the forward algorithm."""
    _, n_time, n_states, n_events = emission.shape
    n_senses, n_ways = model.state.shape
    n_kinds, n_speeds = len(model.stay), len(model.lost) if with_travel else 0
    n_classes = 3 if with_travel else 2
    held = np.zeros((n_kinds, n_states, n_events))
    held_after = np.zeros((n_kinds, n_states, n_events))
    moving = np.zeros((n_speeds, n_senses, n_ways, n_events))
    moving_after = np.zeros((n_speeds, n_senses, n_ways, n_events))
    weight, entering = np.zeros((3, n_events)), np.zeros((3, n_events))
    drawn = np.zeros((n_kinds, len(model.size), n_events))
    scale, log_probability = np.ones(n_events), np.zeros(n_events)
    for t in range(n_time):
        if t == 0:
            _start(n_classes, model, entering)
        else:
            _enter(weight, moving, scale, n_classes, model, entering)
        for e in range(n_events):
            anywhere = 0.0
            for x in range(n_states):
                anywhere += emission[0, t, x, e]
            weight[0, e] = entering[0, e] * (anywhere / n_states)
        _dwell(held, held_after, drawn, scale, entering[1], emission, t, model, weight[1])
        _move(moving, moving_after, scale, entering[2], emission, t, model, weight[2])
        for e in range(n_events):
            total = weight[0, e] + weight[1, e] + weight[2, e]
            log_probability[e] += np.log(total)
            scale[e] = 1.0 / total
            for each in range(3):
                weight[each, e] *= scale[e]
        held, held_after = held_after, held
        moving, moving_after = moving_after, moving
    return log_probability


@kernel
def _smooth(emission: Floats, model: Travel, enters: Floats, way: Floats, speed: Floats) -> None:
    """Write the posterior of travel in one event by the forward-backward algorithm."""
    _, n_time, n_states, _ = emission.shape
    n_senses, n_ways = model.state.shape
    n_speeds, n_kinds, n_groups = len(model.lost), len(model.stay), len(model.size)
    n_held, n_moving = n_kinds * n_states, n_speeds * n_senses * n_ways
    leave = (1.0 - model.kept) / 2
    # As in `_log_probability`, but all weights of travel are kept, each with its scale.
    held, held_after = np.zeros((n_kinds, n_states, 1)), np.zeros((n_kinds, n_states, 1))
    moving = np.zeros((n_time + 1, n_speeds, n_senses, n_ways, 1))
    weight, entering = np.zeros((3, 1)), np.zeros((3, 1))
    drawn = np.zeros((n_kinds, n_groups, 1))
    scale, outside = np.ones((n_time + 1, 1)), np.zeros(n_time)
    anywhere = np.zeros(n_time)
    for t in range(n_time):
        if t == 0:
            _start(3, model, entering)
        else:
            _enter(weight, moving[t], scale[t], 3, model, entering)
        outside[t] = entering[2, 0]
        for x in range(n_states):
            anywhere[t] += emission[0, t, x, 0]
        anywhere[t] /= n_states
        weight[0, 0] = entering[0, 0] * anywhere[t]
        _dwell(held, held_after, drawn, scale[t], entering[1], emission, t, model, weight[1])
        _move(moving[t], moving[t + 1], scale[t], entering[2], emission, t, model, weight[2])
        scale[t + 1, 0] = 1.0 / (weight[0, 0] + weight[1, 0] + weight[2, 0])
        for each in range(3):
            weight[each, 0] *= scale[t + 1, 0]
        held, held_after = held_after, held
    # Backwards: the probability of all that follows, given each state.
    jumping = 1.0
    onward = np.ones((n_speeds, n_senses, n_ways))
    next_onward = np.ones((n_speeds, n_senses, n_ways))
    kept_places, here = np.ones((n_kinds, n_states)), np.zeros(n_states)
    in_group = np.zeros(n_groups)
    for t in range(n_time - 1, -1, -1):
        rescale, enter_held, enter_moving = scale[t + 1, 0], 0.0, 0.0
        for v in range(n_speeds):
            for s in range(n_senses):
                for y in range(n_ways):
                    now = moving[t + 1, v, s, y, 0] * rescale * onward[v, s, y]
                    way[t, s, y] += now
                    speed[t, v] += now
                    onward[v, s, y] *= emission[0, t, model.state[s, y], 0] * rescale
                    enters[t] += outside[t] * onward[v, s, y]
                    enter_moving += onward[v, s, y]
        jumping *= anywhere[t] * rescale
        for k in range(n_kinds):
            for x in range(n_states):
                kept_places[k, x] *= emission[model.emits[k], t, x, 0] * rescale
                enter_held += model.often[k] * kept_places[k, x]
        enter_held, enter_moving = enter_held / n_held, enter_moving / n_moving
        for v in range(n_speeds):
            for s in range(n_senses):
                for y in range(n_ways):
                    total = model.lost[v, y] * jumping
                    for i in range(model.out.begin[v, y], model.out.begin[v, y + 1]):
                        total += model.out.weight[i] * onward[v, s, model.out.other[i]]
                    next_onward[v, s, y] = model.kept * total + leave * (jumping + enter_held)
        for k in range(n_kinds):
            everywhere = 0.0
            for g in range(n_groups):
                in_group[g] = 0.0
            for x in range(n_states):
                in_group[model.group[x]] += kept_places[k, x]
                everywhere += kept_places[k, x]
            everywhere /= n_states
            for x in range(n_states):
                here[x] = kept_places[k, x]
                if model.drifts[k]:
                    here[x] = 0.0
                    for i in range(model.drift_out.begin[0, x], model.drift_out.begin[0, x + 1]):
                        there = kept_places[k, model.drift_out.other[i]]
                        here[x] += model.drift_out.weight[i] * there
            for x in range(n_states):
                g = model.group[x]
                anew = in_group[g] / model.size[g] if model.keeps[k] else everywhere
                goes_on = model.stay[k] * here[x] + (1.0 - model.stay[k]) * anew
                kept_places[k, x] = model.kept * goes_on + leave * (jumping + enter_moving)
        jumping = model.kept * jumping + leave * (enter_held + enter_moving)
        onward, next_onward = next_onward, onward


@kernel
def _course(expected: Floats, model: Travel) -> Ints:
    """Find the course with the least sum of expected distances, shape (n_time, n_ways)."""
    n_time, n_ways = expected.shape
    fastest = len(model.into.begin) - 1
    total = np.zeros((n_time, n_ways))
    source = np.zeros((n_time, n_ways), dtype=np.int64)
    for t in range(n_time):
        for y in range(n_ways):
            least, come_from = (0.0, y) if t == 0 else (np.inf, y)
            if t > 0:
                for i in range(model.into.begin[fastest, y], model.into.begin[fastest, y + 1]):
                    source_of = model.into.other[i]
                    if total[t - 1, source_of] < least:
                        least, come_from = total[t - 1, source_of], source_of
            total[t, y] = least + expected[t, y]
            source[t, y] = come_from
    course = np.zeros(n_time, dtype=np.int64)
    here = total[n_time - 1].argmin()
    for t in range(n_time - 1, -1, -1):
        course[t] = here
        here = source[t, here]
    return course
