"""Recordings of simulated rats that share no code with the analyses or with their correction.

A rat runs a W-track, from the foot of the middle arm to the end of either outer arm, and is carried
back. Then it rests at the foot and replays stretches of these routes, forward or in reverse, and
stretches of the way from one outer arm to the other, which it never ran. Times of events are not in
the recording. Cells may have several fields, fire in bursts and drift; positions may be noisy and
drop out; fields may remap before the replay; events may merge.
"""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from analyses.recordings.basics.recording import Recording
from replay.worlds.tracks import make_wtrack

FOOT, LEFT, RIGHT = (40.0, 80.0), (0.0, 80.0), (80.0, 80.0)
CORNERS = {"left": [FOOT, (40.0, 0.0), (0.0, 0.0), LEFT]}
CORNERS["right"] = [FOOT, (40.0, 0.0), (80.0, 0.0), RIGHT]
CORNERS["across"] = [LEFT, (0.0, 0.0), (80.0, 0.0), RIGHT]
KINDS = ("forward_episode", "reverse_episode", "novel_path")
RUNNING = 30.0  # cm/s


class Rat(NamedTuple):
    """What a simulated rat is like.

    `speed` is in multiples of running speed, `noise` (cm) and `dropouts` (share) of positions,
    `bursts` the probability that a spike is followed by another, `drift` the standard deviation of
    the log of a cell's rate over the session, `merged` the share of events followed at once by
    another, `remapped` the share of cells with other fields during rest.
    """

    cells: int = 50
    n_fields: int = 1
    speed: float = 20.0
    gain: float = 2.9
    noise: float = 0.0
    dropouts: float = 0.0
    bursts: float = 0.0
    drift: float = 0.0
    merged: float = 0.0
    remapped: float = 0.0
    n_laps: int = 30
    n_events: int = 60
    shares: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)


class Simulated(NamedTuple):
    """A recording without times of events, and its true replay: `start_time, end_time, kind`."""

    recording: Recording
    truth: pd.DataFrame


def route(name: str) -> np.ndarray:
    """List points 1 cm apart along a route, shape (n, 2)."""
    parts = [np.zeros((0, 2))]
    corners = np.array(CORNERS[name])
    for one, other in pairwise(corners):
        n = round(float(np.hypot(*(other - one))))
        parts.append(one + (other - one) * np.arange(n)[:, None] / n)
    return np.concatenate([*parts, corners[-1:]])


def between(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distances along the W between points, shape (n, m)."""
    junction = np.array([40.0, 0.0])

    def arm(points: np.ndarray) -> np.ndarray:
        on_top = points[:, 1] == 0
        side = np.sign(points[:, 0] - 40.0)
        return np.where(on_top & (points[:, 0] == 40), 0, np.where(side == 0, 3, side))

    def away(points: np.ndarray) -> np.ndarray:
        return np.abs(points - junction).sum(axis=1)

    arms, others = arm(one)[:, None], arm(other)[None, :]
    same = (arms == others) | (arms == 0) | (others == 0)
    far = away(one)[:, None] + away(other)[None, :]
    return np.where(same, np.abs(away(one)[:, None] - away(other)[None, :]), far)


def fields(rat: Rat, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Centres of fields (n_cells, n_fields, 2) and their peaks in Hz, 0 where there is none."""
    points = np.concatenate([route("left"), route("across")])
    centre = points[rng.integers(len(points), size=(rat.cells, rat.n_fields))]
    peak = 10.0 * np.exp(0.6 * rng.standard_normal((rat.cells, rat.n_fields)))
    has = np.arange(rat.n_fields) <= rng.integers(rat.n_fields, size=(rat.cells, 1))
    return centre, np.where(has, peak, 0.0)


def rates(centre: np.ndarray, peak: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Rates in Hz at points of the track, shape (n_cells, n_points)."""
    away = between(centre.reshape(-1, 2), points).reshape(*peak.shape, len(points))
    return 0.1 + (peak[..., None] * np.exp(-0.5 * (away / 12.0) ** 2)).sum(axis=1)


def simulate_rat(rat: Rat, seed: int) -> Simulated:
    """Simulate a recording."""
    rng = np.random.default_rng(seed)
    own = fields(rat, rng)
    other = fields(rat, rng)
    moves = rng.random((rat.cells, 1)) < rat.remapped
    resting = (np.where(moves[..., None], other[0], own[0]), np.where(moves, other[1], own[1]))
    time, places, spikes, clock = [], [], [[] for _ in range(rat.cells)], 0.0

    def fire(hertz: np.ndarray, step: float, begin: float) -> None:
        for cell, row in enumerate(hertz):
            number = rng.poisson(row * step)
            at = np.repeat(begin + step * np.arange(len(row)), number)
            at = at + step * rng.random(len(at))
            while len(at):
                spikes[cell].extend(at.tolist())
                at = at[rng.random(len(at)) < rat.bursts] + rng.normal(0.004, 0.0005)

    factor = np.zeros(rat.cells)
    rest = np.full((rat.cells, 1), 0.1)
    for lap in range(rat.n_laps):
        way = route(("left", "right")[lap % 2])
        factor += rat.drift / np.sqrt(rat.n_laps) * rng.standard_normal(rat.cells)
        time.append(clock + np.arange(len(way)) / RUNNING)
        places.append(way)
        fire(rates(*own, way) * np.exp(factor)[:, None], 1 / RUNNING, clock)
        clock += len(way) / RUNNING
        still = np.arange(0, 2.0, 0.03)
        time.append(clock + still)
        places.append(np.tile(way[-1], (len(still), 1)))
        fire(np.repeat(rest, 100, axis=1), 0.02, clock)
        clock += 10.0
    truth, begin = [], clock
    left = rat.n_events
    while left:
        gap = 0.5 + rng.exponential(1.0)
        fire(np.repeat(rest, 50, axis=1), gap / 50, clock)
        clock += gap
        for _ in range(min(left, 1 + int(rng.random() < rat.merged))):
            kind = KINDS[rng.choice(3, p=rat.shares)]
            way = route("across" if kind == "novel_path" else ("left", "right")[rng.integers(2)])
            if kind == "novel_path":
                length = int(rng.integers(120, 200))
                first = int(rng.integers(max(130 - length, 0), min(len(way) - length, 110)))
                turn = rng.choice((-1, 1))
            else:
                length = int(rng.integers(80, 190))
                first = int(rng.integers(0, len(way) - length))
                turn = 1 if kind == "forward_episode" else -1
            stretch = way[first : first + length][::turn]
            each = 1 / (rat.speed * RUNNING * np.exp(0.2 * rng.standard_normal()))
            hertz = rat.gain * rates(*resting, stretch) * np.exp(factor)[:, None]
            fire(hertz, each, clock)
            truth.append((clock, clock + each * length, kind))
            clock += each * length
            left -= 1
    fire(np.repeat(rest, 50, axis=1), 0.02, clock)
    clock += 1.0
    still = np.arange(begin, clock, 0.03)
    time.append(still)
    places.append(np.tile(FOOT, (len(still), 1)))
    t, xy = np.concatenate(time), np.concatenate(places)
    xy = xy + rat.noise * rng.standard_normal(xy.shape)
    lost = rng.random(len(t)) < rat.dropouts
    xy[lost] = np.nan
    recording = Recording(
        f"rat {seed}", make_wtrack(), t, xy, tuple(np.sort(each) for each in spikes)
    )
    return Simulated(recording, pd.DataFrame(truth, columns=["start_time", "end_time", "kind"]))


def with_events(simulated: Simulated) -> Recording:
    """Add the true times of events to a recording."""
    return replace(simulated.recording, events=simulated.truth[["start_time", "end_time"]])


def overlap(truth: pd.DataFrame, events: pd.DataFrame) -> list[int]:
    """For each true event, the row of the event that covers most of it, at least half; or -1."""
    found = []
    for begin, end in truth[["start_time", "end_time"]].to_numpy():
        common = np.minimum(events["end_time"], end) - np.maximum(events["start_time"], begin)
        best = int(np.argmax(common)) if len(common) else -1
        found.append(best if best >= 0 and common.iloc[best] >= 0.5 * (end - begin) else -1)
    return found
