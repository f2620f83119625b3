"""The experience of a recorded animal, as moves between the states of a world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyses.recordings.experience.visits import experience, find_visits
from analyses.recordings.recording import Recording
from replay.checks import check_choice
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
        Largest distance between neighbouring states, in cm.
    lap_ends : sequence of str, optional
        The names of nodes of the track at which laps end; by default its dead ends. On a track
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
    nodes = [str(node) for node in recording.graph or ()]
    for name in lap_ends:
        check_choice("node of the track", name, nodes)
    ends = [nodes.index(name) for name in lap_ends] or None  # nodes are the first states
    world = MDP.from_networkx(recording.graph, bin_size=state_size)
    epochs = recording.on_track
    if not len(epochs):
        epochs = np.array([[recording.time[0], recording.time[-1]]])
    parts = []
    for begin, end in epochs:
        own = (recording.time >= begin) & (recording.time <= end)
        if not own.any():
            continue
        visits = find_visits(
            recording.time[own], recording.position[own], recording.graph, world, most_unknown=1.0
        )
        steps = experience(visits, world, ends=ends).columns("steps")
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
    return world, EventLog({"steps": steps}, mdp=world)


def describe_experience(
    recording: Recording, state_size: float, lap_ends: Sequence[str] = ()
) -> str:
    """Describe the animal's experience in a sentence.

    Examples
    --------
    >>> from analyses.recordings.observation.simulated_recording import simulated_recording
    >>> describe_experience(simulated_recording(4), 15.0)
    "The animal's experience is 52 moves in 4 laps between 22 states, at most 15 cm apart."
    """
    world, log = experience_of(recording, state_size, lap_ends)
    n_laps = log.steps["episode"].nunique()
    text = (
        f"The animal's experience is {len(log.steps):,} moves in {n_laps} lap{'s' * (n_laps != 1)} "
        f"between {world.n_states} states, at most {state_size:g} cm apart."
    )
    has_ends = any(degree == 1 for _, degree in recording.graph.degree) if recording.graph else True
    if n_laps > 1 or lap_ends or has_ends:
        return text
    return (
        f"{text} The track has no dead ends, so this counts as one lap: name the nodes where laps "
        "end (lap_ends; on the command line, --lap-end)."
    )
