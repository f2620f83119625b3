"""Simulated recordings with known replay, for trying out the analyses."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.recording import Recording
from analyses.recordings.recover.observe import Observation, observe
from analyses.sequences.track import graph_of_log
from replay.checks import check_whole
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_track_graph, make_wtrack

__all__ = ["simulated_recording", "simulated_two_tracks"]


def simulated_recording(n_laps: int = 20, seed: int = 0) -> Recording:
    """Simulate an animal that runs a W-track, and replays laps, laps in reverse, and a novel path.

    Laps lead from the middle arm to an outer one, left and right in turn. At the end of each lap,
    one of these is replayed: this lap, this lap in reverse, or the path from one outer arm to the
    other, which is never run.

    Parameters
    ----------
    n_laps : int, default 20
        Number of laps.
    seed : int, default 0
        Seed of cells and spikes.

    Returns
    -------
    Recording
        Positions, spikes of 60 cells, and the times of events.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> len(simulated_recording(2).events)
    2
    """
    number = check_whole("n_laps", n_laps, at_least=2)
    graph = make_wtrack()
    middle, outer = 4, (3, 5)
    world = MDP.from_networkx(graph, bin_size=15.0)
    ways = graph_of_log(EventLog({}, mdp=world))
    laps = [nx.shortest_path(ways, middle, outer[lap % 2]) for lap in range(number)]
    log, ends = _run(laps, world)
    replayed = []
    for lap, way in enumerate(laps):
        novel = nx.shortest_path(ways, outer[lap % 2], outer[1 - lap % 2])
        replayed.append((way, way[::-1], novel)[lap % 3])
    paths = pd.DataFrame({"step": ends, "states": replayed})
    recording = observe(log, graph, paths, cells=60, speed=400.0, seed=seed).recording
    return replace(
        recording,
        name="a simulated animal",
        origin={"simulated": f"{number} laps on a W-track, seed {seed}"},
        notes=("A simulated animal on a W-track: 60 cells, and the true times of events.",),
    )


def simulated_two_tracks(n_laps: int = 20, seed: int = 0) -> Observation:
    """Simulate an animal that runs on two separate tracks, and then replays laps of both.

    It runs along the first track from end to end, lap after lap, is carried to the second one, and
    runs along that. Then it replays as many laps as it ran: in turn, forward on the first track,
    forward on the second, and the same backwards. Half of the cells with a field on one track also
    have one on the other.

    Parameters
    ----------
    n_laps : int, default 20
        Number of laps, half of them on each track.
    seed : int, default 0
        Seed of cells and spikes.

    Returns
    -------
    Observation
        Positions, spikes of 80 cells, the times of events, and their true replay.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> seen = simulated_two_tracks(4)
    >>> [int(seen.cells.track.component[bins[0]]) for bins in seen.replayed]
    [0, 1, 0, 1]
    """
    number = check_whole("n_laps", n_laps, at_least=2)
    corners = [(0.0, 0.0), (160.0, 0.0), (0.0, 80.0), (160.0, 80.0)]
    graph = make_track_graph(corners, [(0, 1), (2, 3)])
    world = MDP.from_networkx(graph, bin_size=15.0)
    joined = graph_of_log(EventLog({}, mdp=world))
    ways = [nx.shortest_path(joined, *ends) for ends in graph.edges]
    log, ends = _run([ways[2 * lap // number] for lap in range(number)], world)
    turns = [(ways[event % 2], -1 if event % 4 > 1 else 1) for event in range(number)]
    paths = pd.DataFrame({"step": ends[-1], "states": [way[::turn] for way, turn in turns]})
    return observe(log, graph, paths, cells=80, speed=400.0, seed=seed)


def _run(laps: list[list[int]], world: MDP) -> tuple[EventLog, NDArray[np.int64]]:
    """Make a log of laps; also return the step at which each ends."""
    moves = [move for lap in laps for move in pairwise(lap)]
    ends = np.cumsum([len(lap) - 1 for lap in laps]) - 1
    steps = {
        "state": [here for here, _ in moves],
        "next_state": [there for _, there in moves],
        "terminated": np.isin(np.arange(len(moves)), ends),
    }
    return EventLog({"steps": steps}, mdp=world), ends
