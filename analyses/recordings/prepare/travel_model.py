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

It extends the state-space decoders of Denovellis et al. [1]_ and Krause and Drugowitsch [2]_ by
senses and by places that are held.

References
----------
.. [1] Denovellis et al. (2021). https://doi.org/10.7554/eLife.64505
.. [2] Krause & Drugowitsch (2022). https://doi.org/10.1016/j.neuron.2021.10.014
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize, stats
from scipy.sparse import block_diag, csr_array, diags_array, eye_array, kron
from scipy.sparse.csgraph import connected_components

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.prepare.headings import with_headings
from analyses.recordings.prepare.state_space_decoder import walk_transitions
from replay.checks import check_number
from replay.checks.arrays import Bools, Floats, Ints

SPEEDS = (100.0, 200.0, 400.0, 800.0, 1600.0)  # cm/s
_HELD = (0.02, 0.04, 0.08, 0.5)  # s
_AROUND, _HELD_AROUND = 10.0, 0.2  # cm, s
_DRIFT = 15.0**2 / 0.1  # cm^2/s
_KEPT, _KEPT_FOR = 0.98, 0.005  # the probability of the same class after so many s
_SQUARE, _N_DIRECTIONS, _TURNS = 10.0, 12, 6.0  # in an arena: cm, and turns per s
_LEAST_STEP = 1e-6  # less probable numbers of bins are not distinguished from smaller ones
_FAR = 1e4  # cm, in the place of an infinite distance, of which no mean could be computed


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
