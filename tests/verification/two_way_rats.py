"""Simulated rats that run a track both ways, with cells that prefer a heading.

They share no code with the analyses. A rat runs from the first end of a track to each other end and
back, and rests there. Then it replays stretches of these runs: in the heading that its cells
represent (*forward*), or against it (*reverse*). Seven in ten cells fire a tenth as much in one
heading, away from the first end or towards it. Replay may represent no heading: each cell then
fires at its mean rate. Other places may be held before and after a path, in the same burst.
"""

from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.recordings.basics.recording import Recording
from replay.worlds.tracks import make_linear_track, make_plus_maze_track, make_wtrack

RUNNING = 30.0  # cm/s
TRACKS = {
    "linear": (make_linear_track(160.0), (0.0, 0.0)),
    "w": (make_wtrack(), (40.0, 80.0)),
    "plus": (make_plus_maze_track(60.0), (60.0, 0.0)),
}
"""Name -> the track, and the position of its first end."""


class TwoWayRat(NamedTuple):
    """A recording, and its true replay: `start_time, end_time, direction`.

    `burst_start` and `burst_end` are those of a path with what surrounds it. The fields of its
    cells are `rates`, shape (2, n_cells, n_points) in Hz: away from the first end, and towards it.
    """

    recording: Recording
    truth: pd.DataFrame
    points: np.ndarray  # (n_points, 2), in cm
    rates: np.ndarray


def points_of(graph: nx.Graph) -> tuple[nx.Graph, np.ndarray]:
    """Cut a track into points 1 cm apart: their graph, and their positions."""
    fine, xy = nx.Graph(), [graph.nodes[node]["pos"] for node in graph]
    number = {node: place for place, node in enumerate(graph)}
    for one, other in graph.edges:
        begin, end = (np.array(graph.nodes[node]["pos"], dtype=float) for node in (one, other))
        n = round(float(np.hypot(*(end - begin))))
        inner = list(range(len(xy), len(xy) + n - 1))
        xy += [tuple(begin + (end - begin) * k / n) for k in range(1, n)]
        nx.add_path(fine, [number[one], *inner, number[other]])
    return fine, np.array(xy, dtype=float)


def simulate_two_way_rat(
    name: str,
    speed: float,
    seed: int,
    *,
    n_cells: int = 50,
    directional: float = 0.7,
    with_heading: float = 1.0,
    n_laps: int = 24,
    n_events: int = 60,
    gain: float = 2.9,
    around: tuple[float, float] | None = None,
) -> TwoWayRat:
    """Simulate a recording; `speed` of replay is in multiples of that of running.

    `around` are the least and the longest time (s) for which another place is held at .6 of the
    gain before each path, and again after it.
    """
    rng = np.random.default_rng(seed)
    graph, first = TRACKS[name]
    fine, xy = points_of(graph)
    between = np.array([[away[k] for k in range(len(xy))] for _, away in
                        sorted(nx.all_pairs_shortest_path_length(fine))], dtype=float)  # fmt: skip
    root = int(np.hypot(*(xy - first).T).argmin())
    ends = [k for k in fine if fine.degree[k] == 1 and k != root]
    routes = [nx.shortest_path(fine, root, end) for end in ends]
    centre = rng.integers(len(xy), size=n_cells)
    peak = 10.0 * np.exp(0.6 * rng.standard_normal(n_cells))
    place = peak[:, None] * np.exp(-0.5 * (between[centre] / 12.0) ** 2)
    prefers = np.where(rng.random(n_cells) < directional, rng.integers(2, size=n_cells), -1)
    rates = [0.1 + place * np.where((prefers < 0) | (prefers == heading), 1.0, 0.1)[:, None]
             for heading in range(2)]  # fmt: skip
    spikes: list[list[float]] = [[] for _ in range(n_cells)]
    time, places, truth, clock = [], [], [], 0.0

    def fire(hertz: np.ndarray, step: float) -> None:
        for cell, row in enumerate(hertz):
            at = np.repeat(clock + step * np.arange(len(row)), rng.poisson(row * step))
            spikes[cell] += (at + step * rng.random(len(at))).tolist()

    def rest(seconds: float, where: int) -> float:
        fire(np.full((n_cells, 50), 0.1), seconds / 50)
        still = np.arange(0.0, seconds, 0.03)
        time.append(clock + still)
        places.append(np.repeat(xy[[where]], len(still), axis=0))
        return clock + seconds

    def hold(end: int) -> tuple[float, float]:
        """Hold another place; return the time, and how far (cm) it is from an end of the path."""
        if around is None:
            return clock, np.nan
        seconds, other = rng.uniform(*around), rng.integers(len(xy))
        fire(0.6 * gain * rates[rng.integers(2)][:, [other] * 10], seconds / 10)
        return clock + seconds, between[other, end]

    for lap in range(n_laps):
        heading, route = lap % 2, routes[lap // 2 % len(routes)]
        way = route[:: 1 - 2 * heading]
        time.append(clock + np.arange(len(way)) / RUNNING)
        places.append(xy[way])
        fire(rates[heading][:, way], 1 / RUNNING)
        clock += len(way) / RUNNING
        clock = rest(5.0, way[-1])
    for event in range(n_events):
        clock = rest(0.5 + rng.exponential(1.0), root)
        heading, is_forward = event % 2, event // 2 % 2 == 0
        route = routes[rng.integers(len(routes))]
        length = int(rng.integers(80, min(160, len(route))))
        begin = int(rng.integers(len(route) - length))
        away = heading == 0 if is_forward else heading == 1
        way = route[begin : begin + length][:: 1 if away else -1]
        each = 1 / (speed * RUNNING)
        direction = "forward" if is_forward else "reverse"
        fired = rates[heading]
        if with_heading < 1 and rng.random() >= with_heading:
            direction, fired = "none", (rates[0] + rates[1]) / 2
        burst = clock
        clock, before = hold(way[0])
        begin = clock
        fire(gain * fired[:, way], each)
        clock = end = clock + each * length
        clock, after = hold(way[-1])
        truth.append((begin, end, direction, burst, clock, before, after))
    rest(1.0, root)
    t, where = np.concatenate(time), np.concatenate(places)
    recording = Recording(
        f"{name} {seed}", graph, t, where, tuple(np.sort(np.array(each)) for each in spikes)
    )
    columns = ["start_time", "end_time", "direction", "burst_start", "burst_end", "before", "after"]
    return TwoWayRat(recording, pd.DataFrame(truth, columns=columns), xy, np.array(rates))
