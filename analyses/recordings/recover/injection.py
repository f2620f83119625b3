"""Known replay, put into the rest of a recording, and found again as its own events are.

Simulated events are added to spikes from quiet times of the recording, in which the animal is still
and nothing bursts. They are detected with the mean and the standard deviation of the recording's
own rate, and decoded as its candidate events are, so that what is not found of them is what the
recording misses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from analyses.recordings.basics.binned_track import project
from analyses.recordings.basics.observed import Observed
from analyses.recordings.decide.conclusions import Conclusions, replayed_sequences
from analyses.recordings.decide.controls import Calibration
from analyses.recordings.decide.scoring import Scored, score_all
from analyses.recordings.prepare.detection import (
    find_events,
    find_in,
    multiunit_rate,
    signals_of_rate,
)
from analyses.recordings.prepare.headings import with_unknown
from analyses.recordings.prepare.likelihood import count_spikes
from analyses.recordings.prepare.place_fields import running
from analyses.recordings.prepare.session import Session
from analyses.recordings.prepare.travel_events import travel_events
from analyses.recordings.prepare.travel_model import travel_model
from analyses.recordings.recover.cells import (
    Sweep,
    TrackPaths,
    bins_of_states,
    poisson_spikes,
    swept_spikes,
)
from analyses.recordings.recover.recover import candidates_of
from analyses.recordings.recover.unfolding import MISSED
from analyses.sequences.track import graph_of_log
from replay.checks.arrays import Floats, Ints
from replay.log.event_log import EventLog

_PIECE = 0.25  # s
_AWAY = 0.1  # s, from the next burst
_BETWEEN = 0.5  # s, before and after each simulated event


class Rest(NamedTuple):
    """Quiet times of a recording."""

    begin: Floats  # (n_pieces,): when pieces of .25 s begin, in s
    # mean and standard deviation of the rate of all cells in rest whenever all were observed, Hz
    scale: tuple[float, float]
    bursting: float  # the share of spikes that are followed by another of the same cell at once
    # (n_cells of the recording,): by how much more the cells that are not decoded fire in candidate
    # events than in rest, in Hz, and 0 for the others
    others: Floats


def quiet_rest(session: Session) -> Rest:
    """Find the times in which the animal is still and nothing bursts; there may be none.

    All cells were observed then; a ValueError says that they never were.
    """
    recording, criteria = session.recording, session.settings.criteria
    moved = running(recording)
    is_rest = partial(moved.is_rest, largest=criteria.largest_speed)
    signals = [
        signal
        for cells, own in signals_of_rate(recording.spikes, recording.observed, is_rest)
        if cells.all()
        for signal in own
    ]
    if not signals:
        raise ValueError("There is no time at which all cells were observed.")
    bursts = find_in(
        signals, None, criteria._replace(shortest=0.0, longest=np.inf, merged_within=0.0)
    )
    begin = np.concatenate(
        [np.arange(each.time[0], each.time[-1] - _PIECE, _PIECE) for each in signals]
    )
    before = np.searchsorted(bursts["start_time"] - _AWAY, begin + _PIECE)
    ended = np.append(-np.inf, np.maximum.accumulate(bursts["end_time"]))[before] + _AWAY
    begin = begin[is_rest(begin + _PIECE / 2) & (ended <= begin)]
    ends = session.events[["start_time", "end_time"]].to_numpy(dtype=float)
    whole = recording.observed.throughout(len(recording.spikes), *ends.T).all(axis=1)
    in_events = _rates(recording.spikes, *ends[whole].T)
    others = np.maximum(in_events - _rates(recording.spikes, begin, begin + _PIECE), 0.0)
    others[session.cells] = 0.0
    # More pairs of spikes of a cell lie within 10 ms than within 10 to 20 ms, where they arise by
    # chance: if the share of spikes that another follows is b, about b + b^2 for each spike.
    n_soon, n_later = (
        sum(np.searchsorted(each, each + lag).sum() - len(each) * (len(each) + 1) / 2
            for each in recording.spikes)
        for lag in (0.01, 0.02)
    )  # fmt: skip
    excess = max(2 * n_soon - n_later, 0.0) / max(sum(map(len, recording.spikes)), 1)
    bursting = float((np.sqrt(1 + 4 * excess) - 1) / 2)
    return Rest(begin, signals[0].scale, bursting, others)


def _rates(spikes: tuple[Floats, ...], begin: Floats, end: Floats) -> Floats:
    """Return the rate of each cell in some stretches of time, in Hz; 0 if there is none."""
    number = [np.searchsorted(each, end) - np.searchsorted(each, begin) for each in spikes]
    return np.asarray(np.sum(number, axis=1) / max(float((end - begin).sum()), 1e-9))


class Injected(NamedTuple):
    """Known paths, and what is found of them."""

    paths: pd.DataFrame
    lasts: Floats  # (n_paths,): how long each path lasts, in s
    # (n_paths,): the candidate event with which each path has most time in common, -1 if none has
    event: Ints
    session: Session  # the recording with candidate events of the simulated spikes instead
    scored: Scored
    sequences: pd.DataFrame  # that were found in these

    def facts(self) -> pd.DataFrame:
        """Return `true_kind, true_lasts` of each path, and the columns of `facts_of` its event."""
        found = facts_of(self.session, self.sequences, self.scored).reindex(self.event)
        found["kind"] = found["kind"].astype(object).where(found["kind"].notna(), MISSED)
        true_kind = self.paths["kind"].to_numpy()
        return found.reset_index(drop=True).assign(true_kind=true_kind, true_lasts=self.lasts)


def inject(
    session: Session,
    log: EventLog,
    calibration: Calibration,
    paths: pd.DataFrame,
    gain: float,
    rest: Rest,
    seed: int,
) -> Injected:
    """Put paths into quiet rest, and find them as the recording's own events are found.

    `paths` are `states, along, speed`; replay is not tied to the centres of states, so that they
    are cut to a `length` (cm), at the beginning by `cut` (cm), if their first and last moves are as
    long.
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
    end = np.cumsum(lasts + 2 * _BETWEEN)
    true = pd.DataFrame({"start_time": end - lasts, "end_time": end})
    spikes = _background(session, rest, float(end.max() + _BETWEEN), rng)
    rates = rates if session.headings is None else with_unknown(rates)
    fired = swept_spikes(track, gain * rates * (1 - rest.bursting), sweeps, dwell, end - lasts, rng)
    times, cells = [fired.time], [session.cells[fired.cell]]
    while len(times[-1]):  # in bursts, another spike of the same cell follows after 4 ms
        goes_on = rng.random(len(times[-1])) < rest.bursting
        times.append(times[-1][goes_on] + 0.004)
        cells.append(cells[-1][goes_on])
    anywhere = np.zeros(len(true), dtype=np.int64)
    also = poisson_spikes(rest.others[:, None], anywhere, end - lasts, lasts, rng)
    time, cell = np.concatenate([*times, also.time]), np.concatenate([*cells, also.cell])
    for number, own in enumerate(spikes):
        spikes[number] = np.sort(np.append(own, time[cell == number]))
    events, counts = _detect(session, spikes, true, rest)
    # After all experience of the animal.
    events = events + session.recording.time[-1] + 1.0
    session = session._replace(
        recording=replace(session.recording, observed=Observed()),
        events=events, counts=counts, chance_counts=None,
        judgement=session.judgement._replace(n_shuffles=0, n_controls=0),
    )  # fmt: skip
    scored = score_all(session, seed)
    passes = scored.events["evidence"] >= calibration.least_evidence
    if log.mdp is None:
        raise ValueError("The experience of a recording has a world.")
    sequences, _ = replayed_sequences(
        session, log.mdp, log, scored.events.assign(is_replay=passes), scored.paths
    )
    at = candidates_of(true + session.recording.time[-1] + 1.0, events)
    return Injected(paths, lasts, at, session, scored, sequences)


def facts_of(
    session: Session, sequences: pd.DataFrame, found: Scored | Conclusions
) -> pd.DataFrame:
    """Describe the longest sequence of each event, with the stretch of travel in which it is.

    Returns `kind`, `distance` (cm), how long the stretch `lasts` (s), its `n_spikes` and how many
    are `expected` along its course during running, by event.
    """
    longest = sequences.sort_values("distance", ascending=False, kind="stable")
    own = longest.drop_duplicates("event")[["event", "stretch", "kind", "distance"]]
    own = own.merge(found.stretches[["event", "stretch", "start_time", "end_time"]])
    bins = project(session.track, found.paths[["x", "y"]].to_numpy(dtype=float)).bin
    sets, number = np.unique(session.seen, axis=0, return_inverse=True)
    total = np.reshape(
        [session.rates[each].sum(axis=0) for each in sets], (-1, session.track.n_bins)
    )
    of_event = number.reshape(-1)[found.paths["event"].to_numpy(dtype=int)]
    expected = pd.Series(session.time_bin * total[of_event, bins], dtype=float)
    by_stretch = expected.groupby([found.paths["event"], found.paths["stretch"]]).sum()
    keys = pd.MultiIndex.from_frame(own[["event", "stretch"]])
    begin = session.events["start_time"].to_numpy(dtype=float)[own["event"].astype(int)]
    first, last = (
        np.round((own[name].to_numpy(dtype=float) - begin) / session.time_bin).astype(int)
        for name in ("start_time", "end_time")
    )
    spikes = [
        int(session.counts[event][one:other, sets[number.reshape(-1)[event]]].sum())
        for event, one, other in zip(own["event"].tolist(), first, last, strict=True)
    ]
    return pd.DataFrame(
        {
            "kind": own["kind"].to_numpy(dtype=object),
            "distance": own["distance"].to_numpy(dtype=float),
            "lasts": (own["end_time"] - own["start_time"]).to_numpy(dtype=float),
            "n_spikes": np.array(spikes, dtype=float),
            "expected": by_stretch.reindex(keys).to_numpy(dtype=float),
        },
        index=own["event"].to_numpy(dtype=np.int64),
    )


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


def _before_smoothing(session: Session) -> Floats:
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
    return np.asarray(narrow.reshape(session.decoded_rates.shape))


def _background(
    session: Session, rest: Rest, seconds: float, rng: np.random.Generator
) -> list[Floats]:
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


def _detect(
    session: Session, spikes: list[Floats], true: pd.DataFrame, rest: Rest
) -> tuple[pd.DataFrame, list[Ints]]:
    """Detect candidate events, and count the spikes in them; given events are all candidates."""
    events, last = true, float(true["end_time"].max() + _BETWEEN)
    own = [spikes[number] for number in session.cells]
    if session.is_detected_in_spikes:
        time, height = multiunit_rate(spikes, 0.0, last)
        events = find_events(time, height, None, session.settings.criteria, scale=rest.scale)
    elif session.chance_counts is not None:
        rates = session.travel_rates
        model = travel_model(session.track, session.time_bin, rates.shape[1])
        events = travel_events(own, rates, model, np.array([[0.0, last]]), session.settings)
    events = events[["start_time", "end_time"]]
    return events, count_spikes(own, events["start_time"], events["end_time"], session.time_bin)
