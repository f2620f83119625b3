"""The experience of a recorded animal, as moves between the states of a world, lap by lap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np

from analyses.recordings.basics.arena import world_of
from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.basics.recording import Recording
from analyses.recordings.prepare.lap_ends import LapEnd, find_lap_ends, steady_positions
from analyses.recordings.prepare.visits import experience, find_visits
from analyses.sequences.track import graph_of_log
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP


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
        animal turns before them (as `find_lap_ends` finds). On a track without dead ends, all moves
        until the animal leaves it are one lap; `prepare` proposes ends there.

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
    # An end that is reached from far away is entered without the states before it.
    skipped = max([3, *(int(near / state_size) + 1 for near in reach.values())])
    world = world_of(recording.graph, state_size)
    epochs = recording.on_track
    if not len(epochs):
        epochs = np.array([[recording.time[0], recording.time[-1]]])
    stops = [end.state for end in ends if end.is_end]
    parts, position = [], steady_positions(recording)
    for begin, end in epochs:
        own = (recording.time >= begin) & (recording.time <= end)
        if not own.any():
            continue
        visits = find_visits(
            recording.time[own], position[own], recording.graph, world, reach=reach,
            most_unknown=1.0,
        )  # fmt: skip
        moves = experience(visits, world, ends=stops, most_skipped=skipped).columns("steps")
        names = ("state", "next_state", "time", "action", "terminated", "truncated")
        part = {name: np.array(moves[name]) for name in names}
        if len(part["state"]):
            part["truncated"][-1] = not part["terminated"][-1]  # the animal leaves the track
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
    first, n_steps = 0, len(steps["state"])
    for row in np.flatnonzero(steps["terminated"] | steps["truncated"]).tolist():
        last, states = int(steps["next_state"][row]), steps["state"][first : row + 1].tolist()
        is_back = steps["terminated"][row] and states[0] == last
        if is_back and max(away[last][state] for state in states) < excursion[last]:
            steps["terminated"][row] = False
            # It does not go on if the animal was lost here, and is then found elsewhere.
            steps["truncated"][row] = row + 1 < n_steps and steps["state"][row + 1] != last
        if steps["terminated"][row] or steps["truncated"][row]:
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


def check_state_size(size: float, track: BinnedTrack) -> None:
    """Check that states are not larger than the arms of a track."""
    if track.is_arena:
        extent = float(np.ptp(track.position, axis=0).max()) + track.square
        if size > extent / 2:
            raise ValueError(
                f"state_size must be at most {extent / 2:.4g} cm, half of the arena; got {size:g}. "
                "States must be much smaller than paths, such as 25 cm."
            )
        return
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        (one, other, length)
        for (one, other), length in zip(track.edges.tolist(), track.length.tolist(), strict=True)
    )
    passed = {node for node, degree in graph.degree if degree == 2}
    joined = nx.connected_components(graph.subgraph(passed))
    arms = [[*graph.edges(part, data="weight")] for part in joined]
    arms += [[edge] for edge in graph.edges(data="weight") if not passed & {*edge[:2]}]
    longest = max(sum(length for _, _, length in arm) for arm in arms)
    if size > longest:
        raise ValueError(
            f"state_size must be at most {longest:.4g} cm, the length of the longest arm of the "
            f"track; got {size:g}. States must be much smaller than paths, such as 15 cm."
        )
