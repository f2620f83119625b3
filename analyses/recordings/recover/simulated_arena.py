"""A simulated recording in an arena, with known replay, for trying out the analyses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from analyses.recordings.basics.arena import find_arena
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Settings
from analyses.recordings.recover.cells import by_cell, poisson_spikes
from replay.checks import check_number, check_whole
from replay.checks.arrays import Floats

_SAMPLE, _FINE = 0.02, 0.001  # s: between positions, and between places of replay
_SPEED, _REPLAY_SPEED = 25.0, 400.0  # cm/s
_TURNING = 0.7  # rad per square root of a second
_MARGIN = 5.0  # cm, between the walls and the animal's head
_WIDTH, _BACKGROUND, _GAIN = 18.0, 0.1, 2.9  # cm, Hz
_LENGTHS = 80.0, 160.0  # cm
_REST = 1.0  # s, between the run and events


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
