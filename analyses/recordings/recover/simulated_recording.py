"""Simulated recordings and laps with known replay, for trying out the analyses.

On a figure of eight, an animal runs 30 laps on rails of 90 and 50 cm, left and right in turn. Then
it replays, 15 times each, a stretch of a lap over four corners, forward; such a stretch in reverse
(190 or 230 cm); and a path across the top from one side to the other that was never run, its first
half backwards and its second half forward (220 cm), like the shortcuts that Gupta et al. (2010)
[1]_ saw.

References
----------
.. [1] Gupta, van der Meer, Touretzky & Redish (2010), Hippocampal replay is not a simple function
   of experience. https://doi.org/10.1016/j.neuron.2010.01.034
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.recordings.basics.recording import Recording
from analyses.recordings.recover.observe import Observation, observe
from analyses.sequences.track import graph_of_log
from replay.checks import check_whole, typed
from replay.checks.arrays import Ints
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_linear_track, make_track_graph, make_wtrack

_CORNERS = ((60, 5), (60, 95), (10, 95), (10, 5), (110, 95), (110, 5))
_RAILS = ((0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 0))
_LAPS = ((0, 1, 2, 3, 0), (0, 1, 4, 5, 0))
_ACROSS, _LEFT_OUT = (3, 2, 1, 4, 5), 2
_STATE_SIZE = 15.0  # cm
_N_LAPS = 30

N_EACH = 15
"""Number of paths of each kind that are replayed."""


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


class KnownReplay(NamedTuple):
    """A session of laps, and the paths that are replayed after them."""

    log: EventLog  # the laps
    graph: nx.Graph  # the track
    # the paths that are replayed after the last lap: `step, states`, and `along`, the headings that
    # they represent, if the track was run both ways
    paths: pd.DataFrame


@typed
def draw_session(rng: np.random.Generator) -> KnownReplay:
    """Draw a session on the figure of eight.

    Parameters
    ----------
    rng : numpy.random.Generator
        Generator of the replayed paths.

    Returns
    -------
    KnownReplay
        Laps, which are always the same, and replayed paths.

    Examples
    --------
    >>> from analyses import place_sequences
    >>> session = draw_session(np.random.default_rng(0))
    >>> found = place_sequences(session.log, session.paths)
    >>> found["novelty"].value_counts().loc[["experienced", "composed_mixed"]].tolist()
    [30, 15]
    """
    graph = make_track_graph(_CORNERS, _RAILS)
    world = MDP.from_networkx(graph, bin_size=_STATE_SIZE, name="figure_of_eight")
    joined = graph_of_log(EventLog({}, mdp=world))

    def way(*corners: int) -> list[int]:
        rails = [nx.shortest_path(joined, *pair)[1:] for pair in pairwise(corners)]
        return [corners[0], *(state for rail in rails for state in rail)]

    laps = [way(*_LAPS[number % 2]) for number in range(_N_LAPS)]
    log, stops = _run(laps, world)
    stretches = [way(*lap[begin : begin + 4]) for lap in _LAPS for begin in range(2)]
    drawn = [stretches[number] for number in rng.integers(len(stretches), size=2 * N_EACH)]
    across = way(*_ACROSS)[_LEFT_OUT:-_LEFT_OUT]
    paths = drawn[:N_EACH] + [path[::-1] for path in drawn[N_EACH:]]
    paths += [across[::turn] for turn in rng.choice((-1, 1), N_EACH).tolist()]
    return KnownReplay(log, graph, pd.DataFrame({"step": stops[-1], "states": paths}))


def draw_two_way_session(rng: np.random.Generator) -> KnownReplay:
    """Draw a session of 24 laps there and back on a linear track of 160 cm.

    Afterwards, runs are replayed in either direction, half of them in the heading that the cells
    represent and half against it.
    """
    graph = make_linear_track(160.0)
    world = MDP.from_networkx(graph, bin_size=_STATE_SIZE, name="linear_track")
    way = nx.shortest_path(graph_of_log(EventLog({}, mdp=world)), 0, 1)
    log, stops = _run([way, way[::-1]] * 12, world)
    states = [way[::turn] for turn in rng.choice((-1, 1), 2 * N_EACH).tolist()]
    along = [[1 if number < N_EACH else -1] * len(way) for number in range(2 * N_EACH)]
    paths = pd.DataFrame({"step": stops[-1], "states": states, "along": along})
    return KnownReplay(log, graph, paths)


def _run(laps: list[list[int]], world: MDP) -> tuple[EventLog, Ints]:
    """Make a log of laps; also return the step at which each ends."""
    moves = [move for lap in laps for move in pairwise(lap)]
    ends = np.cumsum([len(lap) - 1 for lap in laps]) - 1
    steps = {
        "state": [here for here, _ in moves],
        "next_state": [there for _, there in moves],
        "terminated": np.isin(np.arange(len(moves)), ends),
    }
    return EventLog({"steps": steps}, mdp=world), ends
