"""Known replay, put into the rest of a recording, and found again as its own events are.

Simulated events are added to spikes from quiet times of the recording, in which the animal is still
and nothing bursts. They are detected with the mean and the standard deviation of the recording's
own rate, split, decoded and tested as its candidate events are, so that what is not found of them
is what the recording misses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.decide.calibration import Calibration
from analyses.recordings.decide.heading import HeadingLevels
from analyses.recordings.decide.order import order_of, ordered_paths
from analyses.recordings.decide.p_values import significance
from analyses.recordings.prepare.change_points import split_at, split_events
from analyses.recordings.prepare.detection import (
    find_events,
    find_in,
    multiunit_rate,
    signals_of_rate,
)
from analyses.recordings.prepare.headings import travel
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.running import running
from analyses.recordings.prepare.session import Session
from analyses.recordings.prepare.spike_counts import count_spikes
from analyses.recordings.prepare.state_space_decoder import continuous_path
from analyses.recordings.recover.poisson_spikes import poisson_spikes
from analyses.recordings.recover.recover import candidates_of, found_sequences, told_headings
from analyses.recordings.recover.sweeps import Sweep, TrackPaths, bins_of_states
from analyses.sequences.track import graph_of_log
from replay.log.event_log import EventLog

__all__ = ["Rest", "inject", "is_split", "quiet_rest"]

_PIECE = 0.25  # s
_AWAY = 0.1  # s, from the next burst
_BETWEEN = 0.5  # s, before and after each simulated event
_BLOCK = np.array([2, 0, 1])  # of rates: heading unknown (0), ahead (1), back (-1)
_FIRST = 2.0  # shuffles, in units of those that the threshold of p needs at least
_CLEARLY = 3.0  # times the threshold: events with such a p after the first shuffles do not pass


class Rest(NamedTuple):
    """Quiet times of a recording.

    Attributes
    ----------
    begin : ndarray of float64, shape (n_pieces,)
        When pieces of .25 s begin, in s.
    scale : tuple of float
        Mean and standard deviation of the rate of all cells whenever all were observed, in Hz.
    bursting : float
        The share of spikes that are followed by another of the same cell at once.
    others : ndarray of float64, shape (n_cells of the recording,)
        By how much more the cells that are not decoded fire in candidate events than in rest, in
        Hz, and 0 for the others.
    """

    begin: NDArray[np.float64]
    scale: tuple[float, float]
    bursting: float
    others: NDArray[np.float64]


def quiet_rest(session: Session) -> Rest:
    """Find the times in which the animal is still and nothing bursts; there may be none.

    All cells were observed then; a ValueError says that they never were.
    """
    recording, criteria = session.recording, session.settings.criteria
    signals = [
        signal
        for cells, own in signals_of_rate(recording.spikes, recording.observed)
        if cells.all()
        for signal in own
    ]
    if not signals:
        raise ValueError("There is no time at which all cells were observed.")
    bursts = find_in(
        signals, None, criteria._replace(shortest=0.0, longest=np.inf, merged_within=0.0)
    )
    moved = running(recording)
    begin = np.concatenate(
        [np.arange(each.time[0], each.time[-1] - _PIECE, _PIECE) for each in signals]
    )
    before = np.searchsorted(bursts["start_time"] - _AWAY, begin + _PIECE)
    ended = np.append(-np.inf, np.maximum.accumulate(bursts["end_time"]))[before] + _AWAY
    is_fast = moved.speed_at(begin + _PIECE / 2) > criteria.largest_speed
    begin = begin[~is_fast & (ended <= begin)]
    ends = session.events[["start_time", "end_time"]].to_numpy(dtype=float)
    whole = recording.observed.throughout(len(recording.spikes), *ends.T).all(axis=1)
    in_events = _rates(recording.spikes, *ends[whole].T)
    others = np.maximum(in_events - _rates(recording.spikes, begin, begin + _PIECE), 0.0)
    others[session.cells] = 0.0
    return Rest(begin, signals[0].scale, _bursting(recording.spikes), others)


def _rates(
    spikes: tuple[NDArray[np.float64], ...], begin: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the rate of each cell in some stretches of time, in Hz; 0 if there is none."""
    number = [np.searchsorted(each, end) - np.searchsorted(each, begin) for each in spikes]
    found: NDArray[np.float64] = np.sum(number, axis=1) / max(float((end - begin).sum()), 1e-9)
    return found


def _bursting(spikes: tuple[NDArray[np.float64], ...]) -> float:
    """Estimate the share of spikes that another one of the same cell follows at once.

    There are more pairs of spikes within 10 ms than within 10 to 20 ms, where they arise by chance:
    if the share is b, about b + b^2 for each spike.
    """
    n_soon, n_later = (
        sum(np.searchsorted(each, each + lag).sum() - len(each) * (len(each) + 1) / 2
            for each in spikes)
        for lag in (0.01, 0.02)
    )  # fmt: skip
    number = sum(map(len, spikes))
    excess = max(2 * n_soon - n_later, 0.0) / max(number, 1)
    return float((np.sqrt(1 + 4 * excess) - 1) / 2)


def inject(
    session: Session,
    log: EventLog,
    calibration: Calibration,
    paths: pd.DataFrame,
    gain: float,
    merged: float,
    rest: Rest,
    seed: int,
) -> pd.DataFrame:
    """Put paths into quiet rest, and find them as the recording's own events are found.

    `paths` are `states, along, kind, speed`; replay is not tied to the centres of states, so that
    they are cut to a `length` (cm), at the beginning by `cut` (cm), if their first and last moves
    are as long. The share `merged` of them follows another at once. Returns `true_kind, true_lasts`
    (s) of each; and, of the candidate event with which it has most time in common, `kind` and
    `distance` (cm) of the longest sequence, `lasts`, `n_spikes`, how many are `expected` along the
    decoded path during running, and whether it was split from another (`is_split`).
    """
    rng = np.random.default_rng([seed, 0])
    track, rates = session.track, _before_smoothing(session)
    bins = TrackPaths(track, bins_of_states(log, track))
    joined = graph_of_log(log)
    sweeps = [
        _shortened(bins, states, bins.sweep_along(states, joined, along), cut, length)
        for states, along, cut, length in paths[["states", "along", "cut", "length"]].to_numpy()
    ]
    dwell = [sweep.dwell(speed) for sweep, speed in zip(sweeps, paths["speed"], strict=True)]
    lasts = np.array([each.sum() for each in dwell])
    end = _ends(lasts, merged, rng)
    true = pd.DataFrame({"start_time": end - lasts, "end_time": end})
    spikes = _background(session, rest, float(end.max() + _BETWEEN), rng)
    headed = rates
    if session.headings is not None:
        headed = np.hstack([rates, (rates[:, : track.n_bins] + rates[:, track.n_bins :]) / 2])
    places = [
        sweep.bins + track.n_bins * _BLOCK[travel(track, sweep.bins, 1) * sweep.along]
        for sweep in sweeps
    ]
    begin = [
        first + np.cumsum(each) - each
        for first, each in zip(true["start_time"], dwell, strict=True)
    ]
    fired = poisson_spikes(
        gain * headed * (1 - rest.bursting), np.concatenate(places) % headed.shape[1],
        np.concatenate(begin), np.concatenate(dwell), rng,
    )  # fmt: skip
    time, cell = _with_bursts(fired.time, session.cells[fired.cell], rest.bursting, rng)
    anywhere = np.zeros(len(true), dtype=np.int64)
    also = poisson_spikes(rest.others[:, None], anywhere, end - lasts, lasts, rng)
    time, cell = np.append(time, also.time), np.append(cell, also.cell)
    for number, own in enumerate(spikes):
        spikes[number] = np.sort(np.append(own, time[cell == number]))
    events = _detect(session, spikes, true, rest)
    at = candidates_of(true, events)
    own_cells = [spikes[number] for number in session.cells]
    of_cells = count_spikes(own_cells, events["start_time"], events["end_time"], session.time_bin)
    nothing = np.empty((0, len(session.cells)), dtype=np.int64)
    counts = [of_cells[row] if row >= 0 else nothing for row in at]
    decoded, headings = _decoded(session, calibration, counts, seed)
    longest = found_sequences(session, log, decoded, headings)
    total = session.rates.sum(axis=0)
    seconds = np.append(events["end_time"] - events["start_time"], np.nan)
    of_split = np.append(is_split(events), False)
    return pd.DataFrame(
        {
            "true_kind": paths["kind"].to_numpy(),
            "kind": longest["kind"].to_numpy(),
            "distance": longest["distance"].to_numpy(dtype=float),
            "true_lasts": lasts,
            "lasts": seconds[at],  # the last one for those without a candidate
            "n_spikes": [int(each.sum()) for each in counts],
            "expected": [session.time_bin * total[each].sum() for each in decoded],
            "is_split": of_split[at],
        }
    )


def _ends(
    lasts: NDArray[np.float64], merged: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw when events end, in s, of which a share follows another, in pairs in random order."""
    order, drawn = rng.permutation(len(lasts)), rng.random(len(lasts))
    follows = np.zeros(len(lasts), dtype=bool)
    for row in range(1, len(lasts)):
        follows[row] = not follows[row - 1] and drawn[row] < merged / (1 - merged)
    between = np.where(follows, 0.0, 2 * _BETWEEN)
    between[0] = _BETWEEN
    end = np.empty(len(lasts))
    end[order] = np.cumsum(lasts[order] + between)
    return end


def is_split(events: pd.DataFrame) -> NDArray[np.bool_]:
    """Find the events that begin where the one before ends, from which they were split."""
    begin, end = (events[name].to_numpy(dtype=float) for name in ("start_time", "end_time"))
    before = np.append(np.nan, end[:-1])[: len(begin)]
    found: NDArray[np.bool_] = np.isclose(begin, before, rtol=0.0, atol=1e-9)
    return found


def _shortened(
    bins: TrackPaths, states: Sequence[int], sweep: Sweep, cut: float, length: float
) -> Sweep:
    """Cut a sweep along states to a length, in its first and last moves only."""
    moves = (bins.between(*ends) for ends in (states[:2], states[-2:]))
    first, last = (move.along.max(initial=0.0) for move in moves)
    at = np.cumsum(sweep.ahead)
    longer = min(max(at[-1] - length, 0.0), first + last)
    from_first = np.clip(cut, max(longer - last, 0.0), min(longer, first))
    begin = int(np.abs(at - from_first).argmin())
    end = int(np.abs(at - (at[begin] + at[-1] - longer)).argmin()) + 1
    ahead = sweep.ahead[begin:end].copy()
    ahead[0] = 0.0
    return Sweep(sweep.bins[begin:end], ahead, sweep.along[begin:end])


def _before_smoothing(session: Session) -> NDArray[np.float64]:
    """Undo most of the smoothing of place fields, which are narrower than their estimates [1]_.

    What another smoothing takes away from an estimate is added to it.

    References
    ----------
    .. [1] Tukey (1977), Exploratory data analysis, chapter 16 (twicing).
    """
    track, settings = session.track, session.settings
    weights = np.exp(-0.5 * (track.distance / max(settings.smoothing, 1e-9)) ** 2)
    weights /= weights.sum(axis=0)
    rates = session.decoded_rates.reshape(-1, track.n_bins)
    narrow = np.maximum(2 * rates - rates @ weights, settings.lowest_rate)
    found: NDArray[np.float64] = narrow.reshape(session.decoded_rates.shape)
    return found


def _background(
    session: Session, rest: Rest, seconds: float, rng: np.random.Generator
) -> list[NDArray[np.float64]]:
    """Join randomly drawn pieces of quiet rest; return the spikes of each cell."""
    recording = session.recording
    if not len(rest.begin):
        return [np.empty(0) for _ in recording.spikes]
    n_pieces = int(np.ceil(seconds / _PIECE))
    begin = rng.choice(rest.begin, n_pieces)
    found = []
    for each in recording.spikes:
        first, last = np.searchsorted(each, begin), np.searchsorted(each, begin + _PIECE)
        piece = np.repeat(np.arange(n_pieces), last - first)
        place = np.arange(len(piece)) - np.repeat(np.cumsum(last - first) - last, last - first)
        found.append(each[place] - begin[piece] + _PIECE * piece)
    return found


def _with_bursts(
    time: NDArray[np.float64], cell: NDArray[np.int64], bursting: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Let spikes be followed by others of the same cell after 4 ms."""
    times, cells = [time], [cell]
    while len(time):
        goes_on = rng.random(len(time)) < bursting
        time, cell = time[goes_on] + 0.004, cell[goes_on]
        times.append(time)
        cells.append(cell)
    return np.concatenate(times), np.concatenate(cells)


def _detect(
    session: Session, spikes: list[NDArray[np.float64]], true: pd.DataFrame, rest: Rest
) -> pd.DataFrame:
    """Detect and split candidate events; where the recording's were given, all are candidates."""
    events = true
    if session.is_detected_in_spikes:
        time, height = multiunit_rate(spikes, 0.0, float(true["end_time"].max() + _BETWEEN))
        events = find_events(time, height, None, session.settings.criteria, scale=rest.scale)
    if not len(events) or np.isinf(session.split_above):
        return events
    own = [spikes[number] for number in session.cells]
    counts = count_spikes(own, events["start_time"], events["end_time"], session.time_bin)
    shortest = max(round(session.settings.criteria.shortest / session.time_bin), 1)
    at = split_at(
        counts, session.decoded_rates, session.walk(), session.time_bin, shortest,
        session.split_above,
    )  # fmt: skip
    return split_events(events, at, session.time_bin)


def _decoded(
    session: Session, calibration: Calibration, counts: list[NDArray[np.int64]], seed: int
) -> tuple[list[NDArray[np.int32]], list[NDArray[np.int8]]]:
    """Decode and test events; return their bins and headings, none if they do not pass."""
    n_states = session.decoded_rates.shape[1]
    walks, along = session.walks(), ordered_paths(session.track, session.time_bin, n_states)
    paths = [np.empty(0, dtype=np.int32) for _ in counts]
    may_pass = []
    for row, each in enumerate(counts):
        if len(each) < 2:
            continue
        likelihoods = log_likelihood(each, session.decoded_rates, session.time_bin)
        states = continuous_path(likelihoods, walks)
        if order_of(likelihoods, states % session.track.n_bins, along) >= calibration.least_order:
            may_pass.append(row)
            paths[row] = states
    passes = _passes(session, calibration.threshold, [counts[row] for row in may_pass], seed)
    for row, passed in zip(may_pass, passes, strict=True):
        if not passed:
            paths[row] = paths[row][:0]
    levels = HeadingLevels(calibration.heading_p, calibration.heading_evidence)
    headings = told_headings(session, counts, paths, [seed, 1], levels)
    return [(states % session.track.n_bins).astype(np.int32) for states in paths], headings


def _passes(
    session: Session, threshold: float, counts: list[NDArray[np.int64]], seed: int
) -> NDArray[np.bool_]:
    """Test events, with all shuffles only where few leave it open whether they pass."""
    judgement = session.judgement

    def tested(events: list[NDArray[np.int64]], n_shuffles: int) -> pd.DataFrame:
        return significance(
            events, session.decoded_rates, session.track, dt=session.time_bin,
            score=judgement.score, shuffles=judgement.shuffles, n_shuffles=n_shuffles,
            variance=session.variance, least_active=judgement.least_active,
            electrode=session.electrode, seed=seed,
        )  # fmt: skip

    n_first = min(judgement.n_shuffles, round(_FIRST / max(threshold, 1e-3)))
    first = tested(counts, n_first)
    is_high = (first["score"] >= judgement.least_score).to_numpy()
    p = first["p"].to_numpy()
    is_open = is_high & (p > 1 / (n_first + 1)) & (p < _CLEARLY * threshold)
    passes = is_high & ~is_open & (p <= threshold)
    rows = np.flatnonzero(is_open)
    if len(rows):
        p_again = tested([counts[row] for row in rows], judgement.n_shuffles)["p"]
        passes[rows] = p_again.to_numpy() <= threshold
    return np.asarray(passes)
