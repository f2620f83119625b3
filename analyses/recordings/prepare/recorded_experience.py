"""The experience of a recorded animal, as moves between the states of a world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np

from analyses.recordings.basics.arena import world_of
from analyses.recordings.basics.recording import Recording
from analyses.recordings.prepare.lap_ends import LapEnd, find_lap_ends, steady_positions
from analyses.recordings.prepare.visits import experience, find_visits
from analyses.sequences.track import graph_of_log
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

__all__ = ["Experienced", "count_experience", "experience_of"]


def experience_of(
    recording: Recording, state_size: float, lap_ends: Sequence[str] = ()
) -> tuple[MDP, EventLog]:
    """Convert the animal's runs to moves between states.

    Parameters
    ----------
    recording : Recording
        With a track and positions.
    state_size : float
        Distance between neighbouring states, in cm, as nearly as edges can be divided evenly.
    lap_ends : sequence of str, optional
        The names of nodes of the track at which laps end; by default its dead ends, or where the
        animal turns before them (see :mod:`analyses.recordings.prepare.lap_ends`). On a track
        without dead ends, all moves until the animal leaves it are one lap; `prepare` proposes
        ends there.

    Returns
    -------
    world : MDP
        The track as a world.
    log : EventLog
        The moves, lap by lap; a lap is truncated when the animal leaves the track.

    Raises
    ------
    ValueError
        If the animal never moved from one state to another, or there is no such node.
    """
    ends = find_lap_ends(recording, lap_ends)
    reach = {end.state: end.reach for end in ends}
    skipped = max([3, *(int(near / state_size) + 1 for near in reach.values())])
    world = world_of(recording.graph, state_size)
    epochs = recording.on_track
    if not len(epochs):
        epochs = np.array([[recording.time[0], recording.time[-1]]])
    parts, position = [], steady_positions(recording)
    for begin, end in epochs:
        own = (recording.time >= begin) & (recording.time <= end)
        if not own.any():
            continue
        visits = find_visits(
            recording.time[own], position[own], recording.graph, world, reach=reach,
            most_unknown=1.0,
        )  # fmt: skip
        stops = [end.state for end in ends if end.is_end]
        steps = experience(visits, world, ends=stops, most_skipped=skipped).columns("steps")
        names = ("state", "next_state", "time", "action", "terminated", "truncated")
        part = {name: np.array(steps[name]) for name in names}
        if len(part["state"]):
            part["truncated"][-1] = not part["terminated"][-1]
            parts.append(part)
    if not parts:
        raise ValueError(
            f"The animal of {recording.name} never moved from one state of the track to another. "
            "Are positions and graph in cm on the same axes?"
        )
    steps = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    # Laps go on that are only short excursions from an end of the track and back.
    joined = graph_of_log(EventLog({}, mdp=world))
    away = {
        end.state: nx.single_source_dijkstra_path_length(joined, end.state, weight="distance")
        for end in ends
    }
    excursion = {end.state: end.excursion for end in ends}
    first = 0
    for row in np.flatnonzero(steps["terminated"] | steps["truncated"]).tolist():
        last, states = int(steps["next_state"][row]), steps["state"][first : row + 1].tolist()
        is_back = steps["terminated"][row] and states[0] == last
        if is_back and max(away[last][state] for state in states) < excursion[last]:
            steps["terminated"][row] = False
        else:
            first = row + 1
    return world, EventLog({"steps": steps}, mdp=world)


class Experienced(NamedTuple):
    """The animal's experience in numbers, with the longest move, and the ends of laps."""

    n_moves: int
    n_laps: int
    n_states: int
    farthest: float  # cm
    ends: list[LapEnd]


def count_experience(
    recording: Recording, state_size: float, lap_ends: Sequence[str] = ()
) -> Experienced:
    """Count the moves and laps of `experience_of`."""
    world, log = experience_of(recording, state_size, lap_ends)
    lengths = graph_of_log(EventLog({}, mdp=world)).edges(data="distance")
    farthest = max(length for _, _, length in lengths)
    n_laps = log.steps["episode"].nunique()
    ends = find_lap_ends(recording, lap_ends)
    return Experienced(len(log.steps), n_laps, world.n_states, farthest, ends)
