"""The experience of a recorded animal, as moves between the states of a world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.arena import world_of
from analyses.recordings.basics.recording import Recording
from analyses.recordings.prepare.lap_ends import LapEnd, find_lap_ends, steady_positions
from analyses.recordings.prepare.visits import experience, find_visits
from analyses.sequences.track import graph_of_log
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

__all__ = ["describe_experience", "experience_of"]


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
        without dead ends, all moves until the animal leaves it are one lap.

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
    _join_excursions(steps, world, ends)
    return world, EventLog({"steps": steps}, mdp=world)


def _join_excursions(steps: dict[str, NDArray[Any]], world: MDP, ends: Sequence[LapEnd]) -> None:
    """Let laps go on that are only short excursions from an end of the track and back."""
    joined = graph_of_log(EventLog({}, mdp=world))
    away = {
        end.state: nx.single_source_dijkstra_path_length(joined, end.state, weight="distance")
        for end in ends
    }
    excursion = {end.state: end.excursion for end in ends}
    first = 0
    for row in np.flatnonzero(steps["terminated"] | steps["truncated"]).tolist():
        end, states = int(steps["next_state"][row]), steps["state"][first : row + 1].tolist()
        is_back = steps["terminated"][row] and states[0] == end
        if is_back and max(away[end][state] for state in states) < excursion[end]:
            steps["terminated"][row] = False
        else:
            first = row + 1


def describe_experience(
    recording: Recording, state_size: float, lap_ends: Sequence[str] = ()
) -> str:
    """Describe the animal's experience in a sentence.

    Examples
    --------
    >>> from analyses.recordings.recover.simulated_recording import simulated_recording
    >>> describe_experience(simulated_recording(4), 15.0)
    "The animal's experience is 52 moves in 4 laps between 22 states, at most 16 cm apart."
    """
    world, log = experience_of(recording, state_size, lap_ends)
    n_laps = log.steps["episode"].nunique()
    lengths = graph_of_log(EventLog({}, mdp=world)).edges(data="distance")
    farthest = max(length for _, _, length in lengths)
    text = (
        f"The animal's experience is {len(log.steps):,} moves in {n_laps} lap{'s' * (n_laps != 1)} "
        f"between {world.n_states} states, at most {farthest:.3g} cm apart."
    )
    if recording.graph is not None and "arena" in recording.graph.graph:
        return f"{text} Laps do not end in an arena: each stretch on it counts as one lap."
    ends = find_lap_ends(recording, lap_ends)
    if not ends:
        return (
            f"{text} The track has no dead ends, so this counts as one lap: name the nodes where "
            "laps end (lap_ends; on the command line, --lap-end)."
        )
    before = max((end.reach for end in ends if end.turns <= end.reach), default=0.0)
    if before > state_size:
        text += (
            f" The animal turns up to {before:.0f} cm before the ends of the track; this counts "
            "as reaching them."
        )
    nodes = [str(node) for node in recording.graph or ()]
    return text + "".join(_unreached(end, nodes[end.state]) for end in ends)


def _unreached(end: LapEnd, name: str) -> str:
    """Say where an animal turns too far from an end of the track for having reached it."""
    if end.turns <= end.reach:
        return ""
    told = (
        f"turns up to {end.turns:.0f} cm before the node {name}, and has reached it only within "
        f"{end.reach:.0f} cm, a quarter of the arm"
        if np.isfinite(end.turns)
        else f"never comes near the node {name}"
    )
    return (
        f" The animal {told}, so that laps may be missing: draw the end of the track where it "
        "turns, and leave out arms that it never runs."
    )
