"""Observation: what a recording would see of a model's replay, as spikes of place cells.

Each cell has one place field, a Gaussian of the distance along the track, with a peak rate from a
log-normal distribution [1]_, and fires as a Poisson process. While the animal runs, which it does
along the laps of the log, cells fire by its place; while it is still, at their background rate; in
a replay event by the place that is replayed, faster than in running [2]_, as the event sweeps along
the track at the speed of ripples [3]_. A model has no seconds: how fast it replays is a parameter
of the observer.

What comes out is what a laboratory has: positions, and spike times of each cell. It goes the way
that a recording goes (fields are estimated, events decoded), and the truth is known
(:mod:`analyses.recordings.recovery`). Cells have no bursts, no drift from lap to lap and no
preferred direction, and all share one gain, so real recordings show less.

References
----------
.. [1] Mizuseki & Buzsaki (2013), Preconfigured, skewed distribution of firing rates in the
   hippocampus and entorhinal cortex. https://doi.org/10.1016/j.celrep.2013.07.039
.. [2] Krause & Drugowitsch (2022), A large majority of awake hippocampal sharp-wave ripples feature
   spatial trajectories with momentum. https://doi.org/10.1016/j.neuron.2021.11.014
.. [3] Davidson, Kloosterman & Wilson (2009), Hippocampal replay of extended experience.
   https://doi.org/10.1016/j.neuron.2009.07.027
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.recording import Recording
from analyses.recordings.track import Track, cut_track, project
from analyses.sequences.reactivations import reactivations
from analyses.sequences.runs import runs_of
from analyses.sequences.track import graph_of_log
from replay.checks import check_array, check_number, check_seed, check_whole
from replay.log.event_log import EventLog

__all__ = ["Cells", "Observation", "count_spikes", "draw_cells", "observe"]

_SAMPLE = 0.02  # s between two positions, as of a camera
_LEAD = 0.5  # s of stillness before and after each event
_PAUSE = 2.0  # s of stillness after each lap
_MOST_AWAY = 5.0  # cm, of a state from the track
_CARRIED = 10.0  # s without position between two laps that don't join


class Cells(NamedTuple):
    """Place cells: how fast each one fires where, in running.

    Attributes
    ----------
    track : Track
        The track.
    rates : ndarray of float64, shape (n_cells, n_bins)
        In Hz.
    background : float
        The rate of each cell when nothing moves, in Hz.
    """

    track: Track
    rates: NDArray[np.float64]
    background: float = 0.1


class Observation(NamedTuple):
    """What was recorded of an animal that runs and replays as a log says, and the truth about it.

    Attributes
    ----------
    recording : Recording
        Positions (50 a second, none while the animal is carried), spikes, and events. Events have
        two more columns: `event`, their number in the log or their row of the given paths, and
        `step`, that of the log at which they are.
    replayed : tuple of ndarray of int64, length n_events
        The bins of `cells.track` through which each event sweeps, about 1 cm apart.
    cells : Cells
        The cells.
    speed, gain : float
        As they were given to `observe`.
    """

    recording: Recording
    replayed: tuple[NDArray[np.int64], ...]
    cells: Cells
    speed: float
    gain: float


def draw_cells(
    track: Track,
    n_cells: int = 70,
    *,
    median_peak: float = 10.0,
    spread: float = 0.6,
    width: float = 12.0,
    background: float = 0.1,
    seed: int | np.random.Generator = 0,
) -> Cells:
    """Draw place cells: fields anywhere on the track, peak rates log-normal.

    Parameters
    ----------
    track : Track
        The track; in fine bins, of about 1 cm.
    n_cells : int, default 70
        How many. About 70 a session were recorded by Gupta et al. (2010).
    median_peak : float, default 10.0
        Median of the peak rates, in Hz.
    spread : float, default 0.6
        Standard deviation of the logarithm of the peak rates.
    width : float, default 12.0
        Standard deviation of a field, in cm.
    background : float, default 0.1
        Rate everywhere else, in Hz.
    seed : int or numpy.random.Generator, default 0
        Of fields and peaks.

    Returns
    -------
    Cells
        The cells.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from replay.worlds.tracks import make_linear_track
    >>> cells = draw_cells(cut_track(make_linear_track(100.0), 1.0), n_cells=3, spread=0.0)
    >>> cells.rates.shape, cells.rates.max().round(1)
    ((3, 100), np.float64(10.1))
    """
    number = check_whole("n_cells", n_cells, at_least=1)
    median = check_number("median_peak", median_peak, at_least=0.0)
    sigma = check_number("spread", spread, at_least=0.0)
    reach = check_number("width", width, at_least=1e-6)
    floor = check_number("background", background, at_least=0.0)
    rng = np.random.default_rng(check_seed(seed))
    centre = rng.choice(track.n_bins, number, p=track.width / track.width.sum())
    peak = median * np.exp(sigma * rng.standard_normal(number))
    shape = np.exp(-0.5 * (track.distance[centre] / reach) ** 2)
    return Cells(track, floor + peak[:, None] * shape, floor)


def observe(
    log: EventLog,
    graph: nx.Graph,
    paths: pd.DataFrame | None = None,
    *,
    cells: Cells | int = 70,
    speed: float = 800.0,
    gain: float = 2.9,
    running_speed: float = 30.0,
    seed: int = 0,
) -> Observation:
    """Record what a model runs and replays, with place cells.

    The animal runs along the laps of the log, and is still wherever something is replayed. Laps
    that don't begin where the one before ended have a time without positions between them, as if
    the animal was carried.

    Parameters
    ----------
    log : EventLog
        One run, with its steps; its world has positions on the track.
    graph : networkx.Graph
        The track, nodes with `pos` in cm.
    paths : DataFrame, optional
        What is replayed, instead of the log's backups, as
        :func:`analyses.sequences.reactivations.reactivations` takes it: `states` of each event, and
        `step` or `time`.
    cells : Cells or int, default 70
        The cells, or how many are drawn by `draw_cells`.
    speed : float, default 800.0
        How fast an event sweeps along the track, in cm/s: 8 m/s, by Davidson et al. (2009). Where
        two places in a row are no neighbours, it jumps.
    gain : float, default 2.9
        How many times faster than in running cells fire in events: 2.9 in the recordings of Krause
        & Drugowitsch (2022), 1.4 on a linear track.
    running_speed : float, default 30.0
        In cm/s.
    seed : int, default 0
        Seed of cells and spikes.

    Returns
    -------
    Observation
        Positions, spikes, and events with what was truly replayed.

    Raises
    ------
    TypeError
        If `log` is no log.
    ValueError
        If it has several runs or no steps, its world no positions on the track, or a number is out
        of range.

    Examples
    --------
    >>> from replay import MDP, simulate
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = make_linear_track(100.0)
    >>> world = MDP.from_networkx(track, rewards={1: 1.0}, terminal=1, start=0, bin_size=10.0)
    >>> log = simulate(world, "prioritized_sweeping", n_steps=200, seed=1).log
    >>> recording = observe(log, track, cells=20).recording
    >>> len(recording.spikes), bool(recording.events["end_time"].max() < recording.time[-1])
    (20, True)
    """
    velocity = check_number("speed", speed, at_least=1e-6, hint="It is in cm/s.")
    factor = check_number("gain", gain, at_least=0.0)
    running = check_number("running_speed", running_speed, at_least=1e-6, hint="It is in cm/s.")
    cell_rng, rng = (
        np.random.default_rng(child)
        for child in np.random.SeedSequence(check_whole("seed", seed)).spawn(2)
    )
    if not isinstance(cells, Cells):
        number = check_whole("cells", cells, at_least=1, hint="Or give Cells.")
        cells = draw_cells(cut_track(graph, 1.0), number, seed=cell_rng)
    _check_cells(cells)
    ways = _Ways(cells.track, _bins_of_states(log, cells.track))
    events, sweeps = _events(log, paths, ways)
    dwell = [sweep.dwell(velocity) for sweep in sweeps]
    lasts = np.array([each.sum() for each in dwell])
    course, start = _course(log, ways, running, events["step"].to_numpy(), lasts)
    events["start_time"], events["end_time"] = start, start + lasts

    moves = course.is_moving
    moved = _poisson(cells.rates, course.bins[moves], course.time[moves], _SAMPLE, rng)
    at_rest = np.full((len(cells.rates), 1), cells.background)
    nowhere = np.zeros(np.count_nonzero(~moves), dtype=np.int64)
    still = _poisson(at_rest, nowhere, course.time[~moves], _SAMPLE, rng)
    event = np.searchsorted(start, still.time, side="right") - 1
    between = still.time >= np.append(start + lasts, -np.inf)[event]
    begin = [first + np.cumsum(each) - each for first, each in zip(start, dwell, strict=True)]
    swept = _poisson(
        factor * cells.rates,
        np.concatenate([*(sweep.bins for sweep in sweeps), np.empty(0, dtype=np.int64)]),
        np.concatenate([*begin, np.empty(0)]),
        np.concatenate([*dwell, np.empty(0)]),
        rng,
    )
    fired = np.concatenate([moved.time, still.time[between], swept.time])
    cell = np.concatenate([moved.cell, still.cell[between], swept.cell])
    order = np.lexsort((fired, cell))
    bounds = np.searchsorted(cell[order], np.arange(1, len(cells.rates)))
    spikes = tuple(np.split(fired[order], bounds))
    replayed = tuple(sweep.bins for sweep in sweeps)
    name = f"the observation of {log.mdp.name}" if log.mdp else "the observation"
    recording = Recording(name, graph, course.time, course.position, spikes, events=events)
    return Observation(recording, replayed, cells, velocity, factor)


def count_spikes(
    spikes: Sequence[ArrayLike], start: ArrayLike, end: ArrayLike, dt: float
) -> list[NDArray[np.int64]]:
    """Count the spikes of each cell in the time bins of each event.

    Parameters
    ----------
    spikes : sequence of array_like of float
        When each cell fired, in s, ascending.
    start, end : array_like of float, shape (n_events,)
        When events begin and end, in s. What is left at the end, less than a bin, is left out.
    dt : float
        Length of a time bin, in s.

    Returns
    -------
    list of ndarray of int64, each of shape (n_time, n_cells)
        The counts of each event.

    Raises
    ------
    ValueError
        If `dt` is not positive, or an event ends before it begins.

    Examples
    --------
    >>> [counts.tolist() for counts in count_spikes([[0.01, 0.05], [0.03]], [0.0], [0.06], 0.02)]
    [[[1, 0], [0, 1], [1, 0]]]
    """
    width = check_number("dt", dt, at_least=1e-9, hint="It is the length of a time bin in s.")
    first, last = (
        check_array(each, name, kind="number") for each, name in ((start, "start"), (end, "end"))
    )
    if len(first) != len(last) or (last < first).any():
        raise ValueError("Each event must have one start and one end, not before its start.")
    n_bins = np.floor((last - first) / width + 1e-9).astype(np.int64)
    offset = np.append(0, np.cumsum(n_bins + 1))
    number = np.arange(offset[-1]) - np.repeat(offset[:-1], n_bins + 1)
    edges = np.repeat(first, n_bins + 1) + number * width
    below = np.stack([np.searchsorted(np.asarray(each, dtype=float), edges) for each in spikes], 1)
    return [np.diff(part, axis=0) for part in np.split(below, offset[1:-1])]


class _Spikes(NamedTuple):
    time: NDArray[np.float64]
    cell: NDArray[np.int64]


def _poisson(
    rates: NDArray[np.float64],
    bins: NDArray[Any],
    start: NDArray[np.float64],
    lasts: NDArray[np.float64] | float,
    rng: np.random.Generator,
) -> _Spikes:
    """Draw the spikes of all cells in stretches of time, in each of which the place is one bin."""
    total = rates.sum(axis=0)
    each = np.broadcast_to(lasts, start.shape)
    stretch = np.repeat(np.arange(len(start)), rng.poisson(total[bins] * each))
    time = start[stretch] + rng.random(len(stretch)) * each[stretch]
    # One search in the cumulative rates of all bins: those of bin b lie between b and b + 1.
    cumulative = np.cumsum(rates, axis=0) / np.where(total > 0, total, 1.0)
    cumulative[-1] = 1.0
    n_cells, n_bins = rates.shape
    table = (cumulative + np.arange(n_bins)).T.ravel()
    found = np.searchsorted(table, bins[stretch] + rng.random(len(stretch)), side="right")
    return _Spikes(time, np.minimum(found - bins[stretch] * n_cells, n_cells - 1))


class _Sweep(NamedTuple):
    """The bins through which an event sweeps, each so far from the one before; 0 after a jump."""

    bins: NDArray[np.int64]
    ahead: NDArray[np.float64]

    def dwell(self, speed: float) -> NDArray[np.float64]:
        """Give the time in each bin: half of the way to its neighbours."""
        seconds: NDArray[np.float64] = (self.ahead + np.append(self.ahead[1:], 0)) / (2 * speed)
        return seconds


class _Way(NamedTuple):
    """The bins on a way, but for the first one, from which each is so far."""

    bins: NDArray[np.int64]
    along: NDArray[np.float64]


class _Ways:
    """Ways between states along the bins of a track."""

    def __init__(self, track: Track, bin_of_state: NDArray[np.int32]) -> None:
        self.position = track.position
        self._distance = track.distance
        self._bin_of_state = bin_of_state
        self._known: dict[tuple[int, int], _Way] = {}

    def at(self, state: int) -> int:
        """Give the bin of a state."""
        return int(self._bin_of_state[state])

    def way(self, state: int, next_state: int) -> _Way:
        """Give the bins on the shortest way from one state to another, and how far each is."""
        if (state, next_state) not in self._known:
            self._known[state, next_state] = self._find(self.at(state), self.at(next_state))
        return self._known[state, next_state]

    def _find(self, first: int, last: int) -> _Way:
        begin = self._distance[first]
        detour = begin + self._distance[:, last] - begin[last]
        on_way = np.flatnonzero(np.abs(detour) < 1e-6)
        way = [first]
        for place in on_way[np.argsort(begin[on_way], kind="stable")].tolist():
            ahead = begin[place] - begin[way[-1]]
            # Of two ways that are equally long, the one that was begun.
            if ahead > 1e-6 and abs(self._distance[way[-1], place] - ahead) < 1e-6:
                way.append(place)
        return _Way(np.array(way[1:], dtype=np.int64), begin[way[1:]])

    def sweep(self, places: Sequence[int], joined: nx.Graph) -> _Sweep:
        """Sweep from place to place, and jump where two in a row are not joined."""
        bins, ahead = [np.array([self.at(places[0])])], [np.zeros(1)]
        for here, there in pairwise(places):
            if joined.has_edge(here, there):
                way = self.way(here, there)
                bins.append(way.bins)
                ahead.append(np.diff(way.along, prepend=0.0))
            else:
                bins.append(np.array([self.at(there)]))
                ahead.append(np.zeros(1))
        return _Sweep(np.concatenate(bins).astype(np.int64), np.concatenate(ahead))


def _check_cells(cells: Cells) -> None:
    rates = check_array(cells.rates, "The rates of cells", kind="number", at_least=0, n_dims=2)
    if rates.shape[1] != cells.track.n_bins or not len(rates):
        raise ValueError(
            f"The rates of cells must have the shape (n_cells, {cells.track.n_bins}) on their "
            f"track, got {rates.shape}."
        )
    check_number("The background of cells", cells.background, at_least=0.0)


def _bins_of_states(log: EventLog, track: Track) -> NDArray[np.int32]:
    """Find the bin of each state of the log's world."""
    if not isinstance(log, EventLog):
        raise TypeError(f"log must be an EventLog, got {type(log).__name__}.")
    if log.mdp is None or log.mdp.position is None:
        raise ValueError(
            "The world of the log has no positions: make it from the track graph, with "
            "MDP.from_networkx, or give the log its world (EventLog(..., mdp=world))."
        )
    found = project(track, log.mdp.position)
    if found.away.max(initial=0.0) > _MOST_AWAY:
        state = int(np.argmax(found.away))
        raise ValueError(
            f"State {state} of the log's world is {found.away[state]:.3g} cm from the track: are "
            "the world and the graph of the same maze, both in cm?"
        )
    return found.bin


def _events(
    log: EventLog, paths: pd.DataFrame | None, ways: _Ways
) -> tuple[pd.DataFrame, list[_Sweep]]:
    """List the events in order of time, and the sweep of each; those that stay in a place are none.

    A world's state may have a heading, so that two states are in one place.
    """
    found = reactivations(log, paths)
    if len(runs_of(log)) > 1:
        raise ValueError("The log has several runs: observe each of them on its own.")
    joined = graph_of_log(log)
    rows, sweeps = [], []
    for _, own in found.sort_values(["step", "event", "index"]).groupby("event", sort=False):
        sweep = ways.sweep(own["place"].tolist(), joined)
        if sweep.ahead.any():
            rows.append(tuple(own[["event", "step"]].iloc[0].tolist()))
            sweeps.append(sweep)
    return pd.DataFrame(rows, columns=["event", "step"], dtype=np.int64), sweeps


class _Course(NamedTuple):
    """Where the animal was in each sample, and whether it moved."""

    time: NDArray[np.float64]
    bins: NDArray[np.int64]
    position: NDArray[np.float64]
    is_moving: NDArray[np.bool_]


def _course(
    log: EventLog,
    ways: _Ways,
    speed: float,
    event_step: NDArray[np.int64],
    lasts: NDArray[np.float64],
) -> tuple[_Course, NDArray[np.float64]]:
    """Let the animal run its laps, and be still after each and around events.

    Gives its course, and when each event begins.
    """
    steps = log.columns("steps")
    if not len(steps["state"]):
        raise ValueError("The log has no steps, so the animal never runs: keep its steps.")
    n_before = np.searchsorted(steps["step"], event_step, side="right")
    due = np.searchsorted(n_before, np.arange(len(steps["step"]) + 2))
    start = np.empty(len(lasts))
    time, bins, carried = [0.0], [ways.at(steps["state"][0])], []

    def rest(seconds: float) -> None:
        time.append(time[-1] + seconds)
        bins.append(bins[-1])

    def replay(n_steps: int) -> None:
        for event in range(due[n_steps], due[n_steps + 1]):
            rest(_LEAD)
            start[event] = time[-1]
            rest(lasts[event] + _LEAD)

    replay(0)
    moves = zip(steps["state"].tolist(), steps["next_state"].tolist(), strict=True)
    ends = steps["terminated"] | steps["truncated"]
    for number, (state, next_state) in enumerate(moves):
        if ways.at(state) != bins[-1]:
            carried.append(len(time) - 1)
            time.append(time[-1] + _CARRIED)
            bins.append(ways.at(state))
        way, along = ways.way(state, next_state)
        time.extend((time[-1] + along / speed).tolist())
        bins.extend(way.tolist())
        replay(number + 1)
        if ends[number]:
            rest(_PAUSE)
    return _sampled(np.array(time), np.array(bins), np.array(carried, dtype=int), ways), start


def _sampled(
    knots: NDArray[np.float64], bins: NDArray[np.int64], carried: NDArray[np.int64], ways: _Ways
) -> _Course:
    """Take positions between knots, but none while the animal is carried."""
    time = np.arange(0.0, knots[-1], _SAMPLE)
    knot = np.searchsorted(knots[1:-1], time, side="right")
    seen = ~np.isin(knot, carried)
    time, knot = time[seen], knot[seen]
    share = (time - knots[knot]) / (knots[knot + 1] - knots[knot])
    begin, end = ways.position[bins[knot]], ways.position[bins[knot + 1]]
    nearest = np.where(share < 0.5, bins[knot], bins[knot + 1])
    position = begin + share[:, None] * (end - begin)
    return _Course(time, nearest, position, bins[knot] != bins[knot + 1])
