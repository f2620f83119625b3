"""Sweeps of replay along the bins of a track, and the course of an animal that runs its laps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, project
from analyses.recordings.prepare.headings import heading_between
from replay.log.event_log import EventLog

__all__ = ["SAMPLE", "Course", "Sweep", "TrackPaths", "bins_of_states", "run_course"]

SAMPLE = 0.02
"""The time between two positions, in s, as from a camera."""

_MOST_AWAY = 5.0  # cm, of a state from the track
_LEAD = 0.5  # s of stillness before and after each event
_PAUSE = 2.0  # s of stillness after each lap
_CARRIED = 10.0  # s without position between two laps that do not join


class Sweep(NamedTuple):
    """The bins through which an event sweeps.

    Attributes
    ----------
    bins : ndarray of int64, shape (n_bins_of_sweep,)
        The bins, in order.
    ahead : ndarray of float64, shape (n_bins_of_sweep,)
        The distance of each bin from the one before, in cm; 0 after a jump.
    along : ndarray of int8, shape (n_bins_of_sweep,)
        Whether the heading that is represented is the direction of travel (1), the opposite (-1) or
        unknown (0).
    """

    bins: NDArray[np.int64]
    ahead: NDArray[np.float64]
    along: NDArray[np.int8]

    def dwell(self, speed: float) -> NDArray[np.float64]:
        """Return the time in each bin, in s: half of the time to each of its neighbours."""
        seconds: NDArray[np.float64] = (self.ahead + np.append(self.ahead[1:], 0)) / (2 * speed)
        return seconds


class _TrackPath(NamedTuple):
    """The bins of a path without the first, and their distances from the first, in cm."""

    bins: NDArray[np.int64]
    along: NDArray[np.float64]


class TrackPaths:
    """Shortest paths between states along the bins of a track.

    Parameters
    ----------
    track : BinnedTrack
        The track.
    bin_of_state : ndarray of int32, shape (n_states,)
        The bin of each state.
    """

    def __init__(self, track: BinnedTrack, bin_of_state: NDArray[np.int32]) -> None:
        self.track = track
        self.position = track.position
        self._distance = track.distance
        self._bin_of_state = bin_of_state
        self._known: dict[tuple[int, int], _TrackPath] = {}

    def at(self, state: int) -> int:
        """Return the bin of a state."""
        return int(self._bin_of_state[state])

    def between(self, state: int, next_state: int) -> _TrackPath:
        """Find the shortest path between two states."""
        if (state, next_state) not in self._known:
            self._known[state, next_state] = self._find(self.at(state), self.at(next_state))
        return self._known[state, next_state]

    def _find(self, first: int, last: int) -> _TrackPath:
        begin = self._distance[first]
        detour = begin + self._distance[:, last] - begin[last]
        on_way = np.flatnonzero(np.abs(detour) < 1e-6)
        way = [first]
        for place in on_way[np.argsort(begin[on_way], kind="stable")].tolist():
            ahead = begin[place] - begin[way[-1]]
            # If two paths have the same length, stay on the one that was begun.
            if ahead > 1e-6 and abs(self._distance[way[-1], place] - ahead) < 1e-6:
                way.append(place)
        return _TrackPath(np.array(way[1:], dtype=np.int64), begin[way[1:]])

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


def bins_of_states(log: EventLog, track: BinnedTrack) -> NDArray[np.int32]:
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
    """The animal's position in each sample, and whether it moved.

    Attributes
    ----------
    time : ndarray of float64, shape (n_samples,)
        Times in s.
    bins : ndarray of int64, shape (n_samples,)
        The nearest bin of the track.
    position : ndarray of float64, shape (n_samples, 2)
        Positions in cm.
    heading : ndarray of int8, shape (n_samples,)
        The direction in which it moved along the edge: 1 towards its second node, -1 towards its
        first, 0 if it did not move.
    """

    time: NDArray[np.float64]
    bins: NDArray[np.int64]
    position: NDArray[np.float64]
    heading: NDArray[np.int8]


def run_course(
    log: EventLog,
    track_paths: TrackPaths,
    speed: float,
    event_step: NDArray[np.int64],
    lasts: NDArray[np.float64],
) -> tuple[Course, NDArray[np.float64]]:
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
    return _sampled(
        np.array(time), np.array(bins), np.array(carried, dtype=int), track_paths
    ), start


def _sampled(
    knots: NDArray[np.float64],
    bins: NDArray[np.int64],
    carried: NDArray[np.int64],
    track_paths: TrackPaths,
) -> Course:
    """Interpolate positions between knots, with none while the animal is carried."""
    time = np.arange(0.0, knots[-1], SAMPLE)
    knot = np.searchsorted(knots[1:-1], time, side="right")
    seen = ~np.isin(knot, carried)
    time, knot = time[seen], knot[seen]
    share = (time - knots[knot]) / (knots[knot + 1] - knots[knot])
    begin, end = track_paths.position[bins[knot]], track_paths.position[bins[knot + 1]]
    nearest = np.where(share < 0.5, bins[knot], bins[knot + 1])
    position = begin + share[:, None] * (end - begin)
    heading = heading_between(track_paths.track, bins[knot], nearest, bins[knot + 1])
    return Course(time, nearest, position, heading)
