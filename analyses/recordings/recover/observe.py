"""Observation: a model's replay as a recording would show it, in spikes of place cells.

Each cell has one place field, a Gaussian of the distance along the track, with a peak rate from a
log-normal distribution [1]_, and fires as a Poisson process. While the animal runs along the laps
of the log, cells fire according to its place; while it is still, at their background rate; and in a
replay event, according to the replayed place, at higher rates than during running [2]_, while the
event sweeps along the track at the speed of replay in ripples [3]_. The steps of a model have no
duration in seconds, so the speed of replay is a parameter of the observation.

The result has the form of laboratory data, positions and spike times of each cell, and is analysed
like a recording (fields are estimated, events decoded), but what was replayed is known
(:mod:`analyses.recordings.recover`). Cells have no bursts, no drift from lap to lap and no
preferred direction, and all have the same gain, so real recordings show less.

References
----------
.. [1] Mizuseki & Buzsaki (2013). https://doi.org/10.1016/j.celrep.2013.07.039
.. [2] Krause & Drugowitsch (2022). https://doi.org/10.1016/j.neuron.2021.11.014
.. [3] Davidson, Kloosterman & Wilson (2009). https://doi.org/10.1016/j.neuron.2009.07.027
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.recording import Recording
from analyses.recordings.prepare.headings import with_unknown
from analyses.recordings.recover.cells import (
    SAMPLE,
    Cells,
    Spikes,
    Sweep,
    TrackPaths,
    bins_of_states,
    by_cell,
    check_cells,
    draw_cells,
    headed_bins,
    poisson_spikes,
    run_course,
    swept_spikes,
)
from analyses.sequences.logs import runs_of
from analyses.sequences.reactivations import reactivations
from analyses.sequences.track import graph_of_log
from replay.checks import check_number, check_whole
from replay.checks.arrays import Ints
from replay.log.event_log import EventLog


class Observation(NamedTuple):
    """A simulated recording of an animal that runs and replays as in a log, and the true replay.

    Attributes
    ----------
    recording : Recording
        Positions (50 per second, none while the animal is carried), spikes, and events. Events have
        two more columns: `event`, their number in the log or their row in the given paths, and
        `step`, the step of the log at which they occur.
    replayed : tuple of ndarray of int64, length n_events
        The bins of `cells.track` through which each event sweeps, about 1 cm apart.
    along : tuple of ndarray of int8, length n_events
        Whether the heading that is represented in each bin is the direction of travel (1), the
        opposite (-1), or neither (0).
    cells : Cells
        The cells.
    speed, gain : float
        Speed of replay in cm/s, and gain, as given to `observe`.
    """

    recording: Recording
    replayed: tuple[Ints, ...]
    along: tuple[NDArray[np.int8], ...]
    cells: Cells
    speed: float
    gain: float


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
    """Simulate a recording, with place cells, of a model's runs and replay.

    The animal runs along the laps of the log, and stays still while something is replayed. If a lap
    does not begin where the previous one ended, there is a time without positions between them, as
    if the animal were carried.

    Parameters
    ----------
    log : EventLog
        A single run, with its steps; its world must have positions on the track.
    graph : networkx.Graph
        The track; nodes have `pos` in cm.
    paths : DataFrame, optional
        Replayed paths, instead of the log's backups, as for
        :func:`analyses.sequences.reactivations.reactivations`: `states` of each event, `step` or
        `time`, and optionally `along`, the headings that they represent. By default, that is the
        heading of the moves of the world, if each leads in one direction only.
    cells : Cells or int, default 70
        The cells, or the number of cells to be drawn by `draw_cells`.
    speed : float, default 800.0
        Speed of replay along the track, in cm/s: 8 m/s, by Davidson et al. (2009). Between
        successive places that are not neighbours, replay jumps.
    gain : float, default 2.9
        Firing rates in events relative to running: 2.9 in the recordings of Krause & Drugowitsch
        (2022), 1.4 on a linear track.
    running_speed : float, default 30.0
        Running speed, in cm/s.
    seed : int, default 0
        Seed of cells and spikes.

    Returns
    -------
    Observation
        Positions, spikes, and events with their true replay.

    Raises
    ------
    TypeError
        If `log` is not a log.
    ValueError
        If the log has several runs or no steps, its world has no positions on the track, or a
        number is out of range.

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
    factor = check_number("gain", gain, at_least=0.0, at_most=1e4)
    running = check_number("running_speed", running_speed, at_least=1e-6, hint="It is in cm/s.")
    cell_rng, rng = (
        np.random.default_rng(child)
        for child in np.random.SeedSequence(check_whole("seed", seed)).spawn(2)
    )
    if not isinstance(cells, Cells):
        number = check_whole("cells", cells, at_least=1, hint="Or give Cells.")
        cells = draw_cells(cut_track(graph, 1.0), number, seed=cell_rng)
    check_cells(cells)
    track_paths = TrackPaths(cells.track, bins_of_states(log, cells.track))
    events, sweeps = _events(log, paths, track_paths)
    dwell = [sweep.dwell(velocity) for sweep in sweeps]
    lasts = np.array([each.sum() for each in dwell])
    course, start = run_course(log, track_paths, running, events["step"].to_numpy(), lasts)
    events["start_time"], events["end_time"] = start, start + lasts

    moves = course.heading != 0
    track, rates = cells.track, cells.rates
    rates = rates if rates.shape[1] == track.n_bins else with_unknown(rates)
    ran = headed_bins(track, rates, course.bins[moves], course.heading[moves])
    moved = poisson_spikes(rates, ran, course.time[moves], SAMPLE, rng)
    at_rest = np.full((len(cells.rates), 1), cells.background)
    nowhere = np.zeros(np.count_nonzero(~moves), dtype=np.int64)
    still = poisson_spikes(at_rest, nowhere, course.time[~moves], SAMPLE, rng)
    # Within an event cells do not also fire at their background rate.
    event = np.searchsorted(start, still.time, side="right") - 1
    between = still.time >= np.append(start + lasts, -np.inf)[event]
    swept = swept_spikes(track, factor * rates, sweeps, dwell, start, rng)
    rest = Spikes(still.time[between], still.cell[between])
    spikes = by_cell([moved, rest, swept], len(cells.rates))
    name = f"the observation of {log.mdp.name}" if log.mdp else "the observation"
    recording = Recording(name, graph, course.time, course.position, spikes, events=events)
    return Observation(
        recording, tuple(sweep.bins for sweep in sweeps), tuple(sweep.along for sweep in sweeps),
        cells, velocity, factor,
    )  # fmt: skip


def _events(
    log: EventLog, paths: pd.DataFrame | None, track_paths: TrackPaths
) -> tuple[pd.DataFrame, list[Sweep]]:
    """List the events that move, in temporal order, and the sweep of each.

    States of a world may have a heading, so that two of them are at the same place.
    """
    found = reactivations(log, paths)
    if len(runs_of(log)) > 1:
        raise ValueError("The log has several runs: observe each of them separately.")
    joined, moves = graph_of_log(log), set[tuple[int, int]]()
    if log.mdp is not None:  # its moves may lead in one direction only, which is the heading
        states = (log.mdp.transition_rows() // log.mdp.n_actions).tolist()
        moves = set(zip(states, log.mdp.successor.tolist(), strict=True))
    rows, sweeps = [], []
    for _, own in found.sort_values(["step", "event", "index"]).groupby("event", sort=False):
        along = own["along"].tolist() if "along" in own else [0] * len(own)
        if "along" not in own and log.mdp is not None:
            path = own["place"].tolist()
            steps = [(move in moves) - (move[::-1] in moves) for move in pairwise(path)]
            along = [*steps[:1], *steps] if steps else [0]
        sweep = track_paths.sweep_along(own["place"].tolist(), joined, along)
        if sweep.ahead.any():
            rows.append(tuple(own[["event", "step"]].iloc[0].tolist()))
            sweeps.append(sweep)
    return pd.DataFrame(rows, columns=["event", "step"], dtype=np.int64), sweeps
