"""Experience: conversion of an animal's positions to moves from state to state, lap by lap.

The states are those of a world made from the track graph, with `MDP.from_networkx(track,
bin_size=...)`, so that learners can act in it and be fed with the same moves. An animal enters a
state when it comes near the state's centre, and stays in it until it comes near another one. The
states of an arena cover it: an animal stays in one until it is half as far from another one.
Without this hysteresis, fluctuations at the border of two states would count as moves back and
forth, and almost every move would be experienced in both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analyses.recordings.basics.binned_track import BinnedTrack, cut_track, project
from analyses.recordings.basics.observed import LONGEST_LOST
from analyses.recordings.basics.settings import FARTHEST, MOST_UNKNOWN
from replay.checks import check_array, check_list, check_number, check_table, check_whole, typed
from replay.checks.arrays import Floats, Int32s, Ints
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

# Of the distance between states: from half of it on, one would end where another begins.
_NEAR = 0.4
_NEARER = 0.5  # of the distance to the state that is left, in an arena


@typed
def find_visits(
    time: ArrayLike,
    position: ArrayLike,
    graph: nx.Graph | BinnedTrack,
    world: MDP,
    *,
    radius: float | None = None,
    reach: Mapping[int, float] | None = None,
    most_unknown: float = MOST_UNKNOWN,
) -> pd.DataFrame:
    """Find the times at which an animal was in each state.

    Parameters
    ----------
    time : array_like of float, shape (n_samples,)
        Times in s, ascending.
    position : array_like of float, shape (n_samples, 2)
        Positions in cm, in the coordinates of the track graph; NaN if unknown, which is the same as
        no sample.
    graph : networkx.Graph or BinnedTrack
        The track; nodes have `pos` in cm. For many paths, cut it once, into bins of 1 cm.
    world : MDP
        A world made from this graph: `MDP.from_networkx(graph, bin_size=...)`.
    radius : float, optional
        Distance from the centre of a state within which the animal enters it, in cm along the
        track; by default .4 times the smallest distance between two states. Above half of that
        distance there would be no hysteresis. In an arena, which states cover, it is not used: the
        animal stays in a state until it is half as far from another one.
    reach : mapping of int to float, optional
        States that are entered farther from their centre, whatever other state is nearer, and this
        distance in cm: the ends of a track, at which an animal turns before it comes there.
    most_unknown : float, default 0.2
        The largest share of samples that may be unknown.

    Returns
    -------
    pandas.DataFrame
        One row per visit: `state`, `start_time` (s; when it was entered) and `end_time` (s; the
        last known sample before the next state was entered). After more than 5 s without a known
        sample, a state is entered anew.

    Raises
    ------
    ValueError
        If times do not ascend, too many positions are unknown, the states do not lie on the track,
        the radius is too large, or `reach` names no state.

    Examples
    --------
    Fluctuations at the border of two states are not moves:

    >>> from replay.worlds.tracks import make_linear_track
    >>> track = make_linear_track(30.0)
    >>> world = MDP.from_networkx(track, bin_size=10.0)
    >>> x = [0.0, 4.9, 5.1, 4.9, 5.1, 9.0, 14.9, 15.1, 20.0]
    >>> visits = find_visits(range(9), [(each, 0.0) for each in x], track, world)
    >>> world.position[visits["state"], 0].tolist(), visits["start_time"].tolist()
    ([0.0, 10.0, 20.0], [0.0, 5.0, 8.0])
    """
    seconds = check_array(time, "time", kind="number")
    back = np.flatnonzero(np.diff(seconds) < 0)
    if len(back):
        row = int(back[0]) + 1
        raise ValueError(
            f"time must ascend; row {row} has {seconds[row]:.12g} s after {seconds[row - 1]:.12g}."
        )
    track = graph if isinstance(graph, BinnedTrack) else cut_track(graph, bin_size=1.0)
    found = project(track, position)
    if len(found.bin) != len(seconds):
        raise ValueError(
            f"time and position must have the same length; got {len(seconds)} and {len(found.bin)}."
        )
    known = found.away <= FARTHEST
    n_unknown = int(np.count_nonzero(~known))
    if n_unknown > check_number("most_unknown", most_unknown, at_least=0, at_most=1) * len(seconds):
        raise ValueError(
            f"{n_unknown} of {len(seconds)} positions are unknown or more than {FARTHEST:g} cm "
            "from the track. Are positions and graph both in cm, with the same origin and y "
            "upwards? Otherwise allow a larger share with most_unknown."
        )
    centres = _centres(track, world)
    between = track.distance[np.ix_(centres, centres)]
    np.fill_diagonal(between, np.inf)
    least = float(between.min(initial=np.inf))
    near = _NEAR * least if radius is None else check_number("radius", radius, at_least=0.0)
    if radius is not None and near >= least / 2:
        raise ValueError(
            f"radius must be less than half the distance between two states, which is {least:g} "
            f"cm; got {near:g}. Otherwise fluctuations at their border count as moves."
        )
    last = len(centres) - 1
    reached = {
        check_whole("Each state of reach", state, at_most=last): check_number(
            f"The reach of state {state}", distance, at_least=0.0
        )
        for state, distance in (reach or {}).items()
    }
    given = ~np.isnan(found.away)
    seconds, bins = seconds[given], np.where(known, found.bin, -1)[given]
    entered = np.full(len(seconds), -1, dtype=np.int32)
    for own in np.split(
        np.arange(len(seconds)), np.flatnonzero(np.diff(seconds) > LONGEST_LOST) + 1
    ):
        entered[own] = _entered(track, centres, bins[own], near, reached)
    starts = np.flatnonzero(entered >= 0)
    ends = np.append(starts, len(seconds))[1:] - 1
    return pd.DataFrame(
        {"state": entered[starts], "start_time": seconds[starts], "end_time": seconds[ends]}
    )


def nearest_states(
    position: ArrayLike, track: BinnedTrack, world: MDP, reach: Mapping[int, float]
) -> Int32s:
    """Find the state at which each position is, with `reach` as in `find_visits`; -1 if unknown.

    Examples
    --------
    >>> from replay.worlds.tracks import make_linear_track
    >>> graph = make_linear_track(30.0)
    >>> world, track = MDP.from_networkx(graph, bin_size=10.0), cut_track(graph, bin_size=1.0)
    >>> found = nearest_states([(9, 2), (21, 0), (np.nan, 0), (9, 50)], track, world, {1: 12.0})
    >>> world.position[found[:2], 0].tolist(), found[2:].tolist()
    ([10.0, 30.0], [-1, -1])
    """
    found = project(track, position)
    nearest, _ = _nearest(track, _centres(track, world), reach)
    return np.where(found.away <= FARTHEST, nearest[found.bin], -1).astype(np.int32)


def _centres(track: BinnedTrack, world: MDP) -> Int32s:
    """Find the bin of each state; raises an error if the world was not made from this track."""
    if world.position is None:
        raise ValueError(
            "The world has no positions: make it from the track graph with MDP.from_networkx."
        )
    found = project(track, world.position)
    if found.away.max(initial=0.0) > 1e-3:
        state = int(np.argmax(found.away))
        raise ValueError(
            f"State {state} of the world is {found.away[state]:.3g} cm from the track: make the "
            "world from this graph with MDP.from_networkx."
        )
    return found.bin


def _entered(
    track: BinnedTrack, centres: Int32s, bins: Int32s, radius: float, reach: Mapping[int, float]
) -> Int32s:
    """Return the state that is entered with each sample, and -1 where none is."""
    if track.is_arena and len(centres) > 1:
        # States cover an arena: the animal leaves one once it is half as far from another.
        distance = track.distance[centres]
        nearest = distance.argmin(axis=0).tolist()
        found, here = np.full(len(bins), -1, dtype=np.int32), -1
        known = np.flatnonzero(bins >= 0)
        moved = known[np.diff(bins[known], prepend=-1) != 0]
        for sample, place in zip(moved.tolist(), bins[moved].tolist(), strict=True):
            there = nearest[place]
            is_near = here < 0 or distance[there, place] <= _NEARER * distance[here, place]
            if is_near and there != here:
                found[sample] = here = there
        return found
    nearest, away = _nearest(track, centres, reach)
    inside = away <= radius
    found = np.full(len(bins), -1, dtype=np.int32)
    at = np.flatnonzero((bins >= 0) & inside[bins])
    states = nearest[bins[at]]
    is_new = np.diff(states, prepend=-1) != 0
    found[at[is_new]] = states[is_new]
    return found


def _nearest(
    track: BinnedTrack, centres: Int32s, reach: Mapping[int, float]
) -> tuple[Ints, Floats]:
    """Return the nearest state to each bin, and how far it is; 0 where one is reached."""
    distance = track.distance[centres]
    nearest, away = distance.argmin(axis=0), distance.min(axis=0)
    for state, near in reach.items():
        is_reached = distance[state] <= near
        nearest[is_reached], away[is_reached] = state, 0.0
    return nearest, away


@typed
def experience(
    visits: pd.DataFrame, world: MDP, *, ends: Iterable[int] | None = None, most_skipped: int = 3
) -> EventLog:
    """Convert visits to steps: the moves from state to state, divided into laps.

    Parameters
    ----------
    visits : DataFrame
        One row per visit: `state`, `start_time` and `end_time` (s), as `find_visits` returns it.
    world : MDP
        The world of these states.
    ends : iterable of int, optional
        States at which a lap ends when the animal enters them; by default those with one neighbour,
        the ends of the track.
    most_skipped : int, default 3
        Largest number of states in between that may be missing: the move is completed along the
        shortest path. If more are missing, the lap is truncated.

    Returns
    -------
    EventLog
        Its steps have `time` (s), at which the next state was entered; `terminated` at the end of a
        lap; `truncated` where a lap was truncated; and `action`, the action of the world that leads
        there.

    Raises
    ------
    ValueError
        If a state is not one of the world's, or times do not ascend.

    Examples
    --------
    >>> from replay.worlds.tracks import make_linear_track
    >>> world = MDP.from_networkx(make_linear_track(20.0), bin_size=10.0)
    >>> visits = pd.DataFrame({"state": [0, 2, 1], "start_time": [0.0, 1.0, 2.0],
    ...                        "end_time": [1.0, 2.0, 9.0]})
    >>> log = experience(visits, world)
    >>> log.steps[["state", "next_state", "time", "terminated"]].values.tolist()
    [[0, 2, 1.0, False], [2, 1, 2.0, True]]
    """
    check_table(visits, ["state", "start_time", "end_time"], "visits")
    states = check_array(
        visits["state"], "The column 'state' of visits", kind="whole", at_least=0,
        at_most=world.n_states - 1,
    )  # fmt: skip
    start, end = (
        check_array(visits[name], f"The column {name!r} of visits", kind="number")
        for name in ("start_time", "end_time")
    )
    if (np.diff(start) < 0).any():
        late = int(np.flatnonzero(np.diff(start) < 0)[0]) + 1
        raise ValueError(
            f"The start times of visits must ascend; row {late} begins before {late - 1}."
        )
    skipped = check_whole("most_skipped", most_skipped)
    # The first action that leads from a state to each neighbour.
    actions: dict[tuple[int, int], int] = {}
    rows_of_world = world.transition_rows()
    for row, successor in zip(rows_of_world.tolist(), world.successor.tolist(), strict=True):
        state, action = divmod(row, world.n_actions)
        if state != successor:
            actions.setdefault((state, successor), action)
    graph = nx.DiGraph(list(actions))
    neighbours = {state: set(graph.successors(state)) for state in graph}
    laps_end = (
        {state for state, others in neighbours.items() if len(others) == 1}
        if ends is None
        else {
            check_whole("ends", state, at_most=world.n_states - 1)
            for state in check_list("ends", ends)
        }
    )
    rows: list[tuple[int, int, float, int, bool, bool]] = []
    for visit in range(1, len(states)):
        one, other = int(states[visit - 1]), int(states[visit])
        is_lost = start[visit] - end[visit - 1] > LONGEST_LOST
        if one == other and not is_lost:
            continue
        way: list[int] = []
        if not is_lost:
            with suppress(nx.NetworkXException):  # two states may have no path between them
                way = nx.shortest_path(graph, one, other)
        if not way or len(way) - 2 > skipped:
            if rows and not rows[-1][4]:
                rows[-1] = (*rows[-1][:5], True)
            continue
        # States that were missed were passed at equal times, between leaving one and entering one.
        times = np.linspace(end[visit - 1], start[visit], len(way))[1:]
        for place, when in enumerate(times.tolist()):
            move = way[place], way[place + 1]
            rows.append((*move, when, actions[move], move[1] in laps_end, False))
    kinds = [("state", "i4"), ("next_state", "i4"), ("time", "f8"), ("action", "i4")]
    steps = np.array(rows, dtype=[*kinds, ("terminated", "?"), ("truncated", "?")])
    return EventLog({"steps": pd.DataFrame(steps)}, mdp=world)
