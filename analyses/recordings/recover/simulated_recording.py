"""Simulated recordings and laps with known replay, for trying out the analyses.

On a figure of eight, an animal runs 30 laps on rails of 90 and 50 cm, left and right in turn. Then
it replays, 15 times each, a stretch of a lap over four corners, forward; such a stretch in reverse
(190 or 230 cm); and a path across the top from one side to the other that was never run, its first
half backwards and its second half forward (220 cm), like the shortcuts that Gupta et al. (2010)
[1]_ saw.

References
----------
.. [1] Gupta, van der Meer, Touretzky & Redish (2010). https://doi.org/10.1016/j.neuron.2010.01.034
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.recordings.basics.arena import find_arena
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Settings
from analyses.recordings.recover.cells import by_cell, poisson_spikes
from analyses.recordings.recover.observe import Observation, observe
from analyses.sequences.track import graph_of_log
from replay.checks import check_number, check_whole, typed
from replay.checks.arrays import Floats, Ints
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
_SAMPLE, _FINE = 0.02, 0.001  # s: between positions, and between places of replay
_SPEED, _REPLAY_SPEED = 25.0, 400.0  # cm/s
_TURNING = 0.7  # rad per square root of a second
_MARGIN = 5.0  # cm, between the walls and the animal's head
_WIDTH, _BACKGROUND, _GAIN = 18.0, 0.1, 2.9  # cm, Hz
_LENGTHS = 80.0, 160.0  # cm
_REST = 1.0  # s, between the run and events


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


class SimulatedArena(NamedTuple):
    """A simulated recording in an arena.

    Attributes
    ----------
    recording : Recording
        Positions, spikes and the times of events.
    paths : DataFrame
        The true place in each ms of each event: `event, time` (s), `x, y` (cm).
    kind : tuple of str
        The kind of each event: ``forward`` or ``reverse``, a stretch that the animal ran; or
        ``straight``, a straight line in any direction.
    """

    recording: Recording
    paths: pd.DataFrame
    kind: tuple[str, ...]


def simulated_arena(
    n_events: int = 30,
    *,
    n_cells: int = 60,
    size: float = 200.0,
    minutes: float = 20.0,
    bin_size: float = Settings().bin_size,
    seed: int = 0,
) -> SimulatedArena:
    """Simulate an animal that forages in a square arena, and then replays at rest.

    It wanders at 25 cm/s. Afterwards it replays, at 4 m/s and in turn, stretches of its run
    forward, in reverse, and straight lines. Each cell has a Gaussian field with a standard
    deviation of 18 cm, and fires 2.9 times as fast in replay.

    Parameters
    ----------
    n_events : int, default 30
        Number of events.
    n_cells : int, default 60
        Number of cells.
    size : float, default 200.0
        Side of the arena, in cm.
    minutes : float, default 20.0
        Duration of the run, in minutes.
    bin_size : float, default 5.0
        Side of the bins in which the arena is analysed, in cm.
    seed : int, default 0
        Seed of the run, cells and spikes.

    Returns
    -------
    SimulatedArena
        The recording and its true replay.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> seen = simulated_arena(3, minutes=2.0)
    >>> seen.kind, len(seen.recording.events)
    (('forward', 'reverse', 'straight'), 3)
    """
    number = check_whole("n_events", n_events, at_least=1)
    cells = check_whole("n_cells", n_cells, at_least=2)
    side = check_number("size", size, at_least=100.0, at_most=1000.0, hint="It is in cm.")
    lasts = 60.0 * check_number("minutes", minutes, at_least=1.0, at_most=600.0)
    run_rng, cell_rng, rng = (
        np.random.default_rng(child)
        for child in np.random.SeedSequence(check_whole("seed", seed)).spawn(3)
    )
    ran = _forage(round(lasts / _SAMPLE), side, run_rng)
    centre = cell_rng.uniform(0.0, side, (cells, 2))
    peak = 10.0 * np.exp(0.6 * cell_rng.standard_normal(cells))

    kinds = tuple(("forward", "reverse", "straight")[event % 3] for event in range(number))
    replayed = [_replayed(kind, ran, side, rng) for kind in kinds]
    start, begin = [], lasts + _REST
    for path in replayed:
        start.append(begin)
        begin += len(path) * _FINE + _REST
    end = [first + len(path) * _FINE for first, path in zip(start, replayed, strict=True)]

    times = [
        first + _FINE * np.arange(len(path)) for first, path in zip(start, replayed, strict=True)
    ]
    moments = np.concatenate([np.arange(len(ran)) * _SAMPLE, *times])
    places = np.concatenate([ran, *replayed])
    away = ((places[None] - centre[:, None]) ** 2).sum(axis=2)
    rates = _BACKGROUND + peak[:, None] * np.exp(-0.5 * away / _WIDTH**2)
    rates[:, len(ran) :] *= _GAIN
    seconds = np.repeat([_SAMPLE, _FINE], [len(ran), len(places) - len(ran)])
    fired = poisson_spikes(rates, np.arange(len(places)), moments, seconds, rng)
    rest = np.array([lasts, *end]), np.array([*start, begin])
    at_rest = poisson_spikes(
        np.full((cells, 1), _BACKGROUND), np.zeros(number + 1, dtype=np.int64), rest[0],
        rest[1] - rest[0], rng,
    )  # fmt: skip

    n_still = round((begin - lasts) / _SAMPLE)
    position = np.concatenate([ran, np.repeat(ran[-1:], n_still, axis=0)])
    recording = Recording(
        "a simulated animal in an arena",
        find_arena(ran, bin_size),
        np.arange(len(position), dtype=np.float64) * _SAMPLE,
        position,
        by_cell([fired, at_rest], cells),
        events=pd.DataFrame({"start_time": start, "end_time": end}),
        origin={"simulated": f"{number} events in an arena, seed {seed}"},
        notes=(f"A simulated animal in an arena: {cells} cells, and the true times of events.",),
    )
    paths = [
        pd.DataFrame({"event": event, "time": time, "x": path[:, 0], "y": path[:, 1]})
        for event, (time, path) in enumerate(zip(times, replayed, strict=True))
    ]
    return SimulatedArena(recording, pd.concat(paths, ignore_index=True), kinds)


def _forage(n_samples: int, side: float, rng: np.random.Generator) -> Floats:
    """Let an animal wander; it is reflected at the walls."""
    heading = np.cumsum(_TURNING * np.sqrt(_SAMPLE) * rng.standard_normal(n_samples))
    steps = _SPEED * _SAMPLE * np.column_stack([np.cos(heading), np.sin(heading)])
    room = side - 2 * _MARGIN
    unfolded = np.mod(rng.uniform(0, room, 2) + np.cumsum(steps, axis=0), 2 * room)
    return _MARGIN + room - np.abs(room - unfolded)


def _replayed(kind: str, ran: Floats, side: float, rng: np.random.Generator) -> Floats:
    """Draw the places of an event, one for each ms."""
    length = rng.uniform(*_LENGTHS)
    if kind == "straight":
        while True:
            angle, begin = rng.uniform(0, 2 * np.pi), rng.uniform(_MARGIN, side - _MARGIN, 2)
            end = begin + length * np.array([np.cos(angle), np.sin(angle)])
            if (np.abs(end - side / 2) <= side / 2 - _MARGIN).all():
                break
        path = np.array([begin, end])
    else:
        n_steps = round(length / _SPEED / _SAMPLE)
        first = int(rng.integers(len(ran) - n_steps))
        path = ran[first : first + n_steps + 1][:: -1 if kind == "reverse" else 1]
    along = np.append(0.0, np.cumsum(np.hypot(*np.diff(path, axis=0).T)))
    at = np.arange(0.0, along[-1], _REPLAY_SPEED * _FINE)
    return np.column_stack([np.interp(at, along, path[:, axis]) for axis in range(2)])
