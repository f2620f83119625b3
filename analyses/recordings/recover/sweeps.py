"""Sweeps of replay from state to state along the bins of a track."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, project
from replay.log.event_log import EventLog

__all__ = ["Sweep", "TrackPaths", "bins_of_states"]

_MOST_AWAY = 5.0  # cm, of a state from the track


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
