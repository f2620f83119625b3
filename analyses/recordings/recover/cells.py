"""Place cells and their spikes; sweeps of replay along a track, and the course of an animal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, project
from analyses.recordings.prepare.headings import heading_between, travel
from replay.checks import check_array, check_number
from replay.checks.arrays import Floats, Int32s, Ints
from replay.log.event_log import EventLog

_LOWER = 0.1  # the rate in the other heading
SAMPLE = 0.02
"""The time between two positions, in s, as from a camera."""
_MOST_AWAY = 5.0  # cm, of a state from the track
_LEAD = 0.5  # s of stillness before and after each event
_PAUSE = 2.0  # s of stillness after each lap
_CARRIED = 10.0  # s without position between two laps that do not join


class Cells(NamedTuple):
    """Place cells, with their firing rates along a track during running.

    Attributes
    ----------
    track : BinnedTrack
        The track.
    rates : ndarray of float64, shape (n_cells, n_bins) or (n_cells, 2 * n_bins)
        Rates in Hz; if they depend on the heading, in all bins when running towards the second node
        of their edge, then towards the first.
    background : float
        The rate of each cell while the animal is still and nothing is replayed, in Hz.
    """

    track: BinnedTrack
    rates: Floats
    background: float = 0.1


def draw_cells(
    track: BinnedTrack,
    n_cells: int = 70,
    *,
    median_peak: float = 10.0,
    spread: float = 0.6,
    width: float = 12.0,
    background: float = 0.1,
    common: float = 0.5,
    directional: float = 0.0,
    weaker: float | None = None,
    seed: int | np.random.Generator = 0,
) -> Cells:
    """Draw place cells with uniformly distributed fields and log-normal peak rates.

    A share `directional` of them distinguishes headings: in one, the rate is `weaker` times that in
    the other, or, by default, either a tenth of it or that of another field.
    """
    rng = np.random.default_rng(seed)

    def fields(bins: Ints) -> tuple[Ints, Floats]:
        """Draw a field of each cell: its centre, and its rate in each bin of the track."""
        share = track.width[bins] / track.width[bins].sum()
        centre = rng.choice(bins, n_cells, p=share)
        peak = median_peak * np.exp(spread * rng.standard_normal(n_cells))
        return centre, peak[:, None] * np.exp(-0.5 * (track.distance[centre] / width) ** 2)

    anywhere = np.arange(track.n_bins)
    centre, rates = fields(anywhere)
    rates += background
    for part in range(track.n_components if track.n_components > 1 else 0):
        _, more = fields(np.flatnonzero(track.component == part))
        has = (track.component[centre] != part) & (rng.random(n_cells) < common)
        rates += np.where(has[:, None], more, 0.0)
    if directional > 0:  # give cells other rates in one heading, which is drawn for each
        factor = _LOWER if weaker is None else weaker
        other = background + factor * (rates - background)
        if weaker is None:
            _, moved = fields(anywhere)
            other = np.where(rng.random((n_cells, 1)) < 0.5, background + moved, other)
        other = np.where(rng.random((n_cells, 1)) < directional, other, rates)
        swaps = rng.random((n_cells, 1)) < 0.5
        rates = np.hstack([np.where(swaps, other, rates), np.where(swaps, rates, other)])
    return Cells(track, rates, float(background))


def check_cells(cells: Cells) -> None:
    """Check the rates of cells."""
    rates = check_array(cells.rates, "The rates of cells", kind="number", at_least=0, n_dims=2)
    n_bins = cells.track.n_bins
    if rates.shape[1] not in (n_bins, 2 * n_bins) or not len(rates):
        raise ValueError(
            f"The rates of cells must have the shape (n_cells, {n_bins}) on their track, or twice "
            f"as many columns, one for each heading; got {rates.shape}."
        )
    check_number("The background of cells", cells.background, at_least=0.0)


class Spikes(NamedTuple):
    """Spikes of several cells, in any order."""

    time: Floats  # (n_spikes,): times in s
    cell: Ints  # (n_spikes,): the cell of each spike


def poisson_spikes(
    rates: Floats,
    bins: NDArray[np.integer],
    start: Floats,
    lasts: Floats | float,
    rng: np.random.Generator,
) -> Spikes:
    """Draw the spikes of all cells in stretches of time with a constant place bin."""
    total = rates.sum(axis=0)
    each = np.broadcast_to(lasts, start.shape)
    stretch = np.repeat(np.arange(len(start)), rng.poisson(total[bins] * each))
    time = start[stretch] + rng.random(len(stretch)) * each[stretch]
    # One search in the cumulative rates of all bins: those of bin b lie between b and b + 1.
    cumulative = np.cumsum(rates, axis=0) / np.where(total > 0, total, 1.0)
    cumulative[-1] = 1.0  # but for rounding
    n_cells, n_bins = rates.shape
    table = (cumulative + np.arange(n_bins)).T.ravel()
    found = np.searchsorted(table, bins[stretch] + rng.random(len(stretch)), side="right")
    return Spikes(time, np.minimum(found - bins[stretch] * n_cells, n_cells - 1))


def by_cell(parts: Sequence[Spikes], n_cells: int) -> tuple[Floats, ...]:
    """Join spikes, and divide them by cell, those of each in order."""
    time = np.concatenate([part.time for part in parts])
    cell = np.concatenate([part.cell for part in parts])
    order = np.lexsort((time, cell))
    return tuple(np.split(time[order], np.searchsorted(cell[order], np.arange(1, n_cells))))


class Sweep(NamedTuple):
    """The bins through which an event sweeps."""

    bins: Ints  # (n_bins_of_sweep,): the bins, in order
    # (n_bins_of_sweep,): the distance of each bin from the one before, in cm; 0 after a jump
    ahead: Floats
    # (n_bins_of_sweep,): whether the heading that is represented is the direction of travel (1),
    # the opposite (-1) or unknown (0)
    along: NDArray[np.int8]

    def dwell(self, speed: float) -> Floats:
        """Return the time in each bin, in s: half of the time to each of its neighbours."""
        return np.asarray((self.ahead + np.append(self.ahead[1:], 0)) / (2 * speed))


def headed_bins(
    track: BinnedTrack, rates: Floats, bins: Ints, heading: NDArray[np.integer]
) -> Ints:
    """Find the columns of rates in bins and headings: ahead (1), back (-1) and unknown (0).

    Rates are as `with_unknown` returns them, or the same in all headings.
    """
    block = np.array([2, 0, 1])[heading]
    return np.asarray((bins + track.n_bins * block) % rates.shape[1])


def swept_spikes(
    track: BinnedTrack,
    rates: Floats,
    sweeps: Sequence[Sweep],
    dwell: Sequence[Floats],
    start: Floats,
    rng: np.random.Generator,
) -> Spikes:
    """Draw the spikes of all cells in sweeps that start at some times, as they dwell in bins."""
    columns, begin = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for sweep, each, first in zip(sweeps, dwell, start, strict=True):
        heading = travel(track, sweep.bins, 1) * sweep.along
        columns.append(headed_bins(track, rates, sweep.bins, heading))
        begin.append(first + np.cumsum(each) - each)
    lasts = np.concatenate([*dwell, np.empty(0)])
    return poisson_spikes(rates, np.concatenate(columns), np.concatenate(begin), lasts, rng)


class _TrackPath(NamedTuple):
    """The bins of a path without the first, and their distances from the first, in cm."""

    bins: Ints
    along: Floats


class TrackPaths:
    """Shortest paths along the bins of a track, between states whose bins are given."""

    def __init__(self, track: BinnedTrack, bin_of_state: Int32s) -> None:
        self.track = track
        self._bin_of_state = bin_of_state
        self._known: dict[tuple[int, int], _TrackPath] = {}

    def at(self, state: int) -> int:
        """Return the bin of a state."""
        return int(self._bin_of_state[state])

    def between(self, state: int, next_state: int) -> _TrackPath:
        """Find the shortest path between two states."""
        if (state, next_state) in self._known:
            return self._known[state, next_state]
        first, last = self.at(state), self.at(next_state)
        begin = self.track.distance[first]
        detour = begin + self.track.distance[:, last] - begin[last]
        on_way = np.flatnonzero(np.abs(detour) < 1e-6)
        way = [first]
        for place in on_way[np.argsort(begin[on_way], kind="stable")].tolist():
            ahead = begin[place] - begin[way[-1]]
            # If two paths have the same length, stay on the one that was begun.
            if ahead > 1e-6 and abs(self.track.distance[way[-1], place] - ahead) < 1e-6:
                way.append(place)
        found = _TrackPath(np.array(way[1:], dtype=np.int64), begin[way[1:]])
        self._known[state, next_state] = found
        return found

    def sweep_along(
        self, places: Sequence[int], joined: nx.Graph, along: Sequence[int] | None = None
    ) -> Sweep:
        """Sweep from place to place, and jump between successive places that are not neighbours."""
        bins, ahead = [np.array([self.at(places[0])])], [np.zeros(1)]
        for here, there in pairwise(places):
            if joined.has_edge(here, there):
                way = self.between(here, there)
                bins.append(way.bins)
                ahead.append(np.diff(way.along, prepend=0.0))
            else:
                bins.append(np.array([self.at(there)]))
                ahead.append(np.zeros(1))
        headings = np.repeat(
            np.zeros(len(bins)) if along is None else along, [len(each) for each in bins]
        )
        return Sweep(
            np.concatenate(bins).astype(np.int64), np.concatenate(ahead), headings.astype(np.int8)
        )


def bins_of_states(log: EventLog, track: BinnedTrack) -> Int32s:
    """Find the bin of each state of the log's world."""
    if not isinstance(log, EventLog):
        raise TypeError(f"log must be an EventLog, got {type(log).__name__}.")
    if log.mdp is None or log.mdp.position is None:
        raise ValueError(
            "The world of the log has no positions: make it from the track graph with "
            "MDP.from_networkx, or add it to the log (EventLog(..., mdp=world))."
        )
    found = project(track, log.mdp.position)
    if found.away.max(initial=0.0) > _MOST_AWAY:
        state = int(np.argmax(found.away))
        raise ValueError(
            f"State {state} of the log's world is {found.away[state]:.3g} cm from the track: are "
            "the world and the graph of the same maze, both in cm?"
        )
    return found.bin


class Course(NamedTuple):
    """The animal's position in each sample, and whether it moved."""

    time: Floats  # (n_samples,): times in s
    bins: Ints  # (n_samples,): the nearest bin of the track
    position: Floats  # (n_samples, 2): positions in cm
    # (n_samples,): the direction in which it moved along the edge: 1 towards its second node, -1
    # towards its first, 0 if it did not move
    heading: NDArray[np.int8]


def run_course(
    log: EventLog, track_paths: TrackPaths, speed: float, event_step: Ints, lasts: Floats
) -> tuple[Course, Floats]:
    """Let the animal run its laps, and stay still after each lap and around events."""
    steps = log.columns("steps")
    if not len(steps["state"]):
        raise ValueError("The log has no steps, so the animal never runs: log steps too.")
    n_before = np.searchsorted(steps["step"], event_step, side="right")
    due = np.searchsorted(n_before, np.arange(len(steps["step"]) + 2))
    start = np.empty(len(lasts))
    time, bins, carried = [0.0], [track_paths.at(steps["state"][0])], []

    def rest(seconds: float) -> None:
        time.append(time[-1] + seconds)
        bins.append(bins[-1])

    def replay(n_steps: int) -> None:
        for event in range(due[n_steps], due[n_steps + 1]):
            rest(_LEAD)
            start[event] = time[-1]
            rest(lasts[event] + _LEAD)

    replay(0)
    moves = zip(steps["state"].tolist(), steps["next_state"].tolist(), strict=True)
    ends = steps["terminated"] | steps["truncated"]
    for number, (state, next_state) in enumerate(moves):
        if track_paths.at(state) != bins[-1]:
            carried.append(len(time) - 1)
            time.append(time[-1] + _CARRIED)
            bins.append(track_paths.at(state))
        way, along = track_paths.between(state, next_state)
        time.extend((time[-1] + along / speed).tolist())
        bins.extend(way.tolist())
        replay(number + 1)
        if ends[number]:
            rest(_PAUSE)
    # Positions are interpolated between these knots, with none while the animal is carried.
    knots, places, track = np.array(time), np.array(bins), track_paths.track
    sampled = np.arange(0.0, knots[-1], SAMPLE)
    knot = np.searchsorted(knots[1:-1], sampled, side="right")
    seen = ~np.isin(knot, np.array(carried, dtype=int))
    sampled, knot = sampled[seen], knot[seen]
    share = (sampled - knots[knot]) / (knots[knot + 1] - knots[knot])
    one, other = places[knot], places[knot + 1]
    begin, end = track.position[one], track.position[other]
    nearest = np.where(share < 0.5, one, other)
    position = begin + share[:, None] * (end - begin)
    heading = heading_between(track, one, nearest, other)
    return Course(sampled, nearest, position, heading), start
