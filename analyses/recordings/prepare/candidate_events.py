"""The candidate events of a recording: those of the file, or those that are detected."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Criteria, Settings
from analyses.recordings.basics.signals import Posterior
from analyses.recordings.prepare.detection import (
    find_in,
    ripple_power_of,
    signals_of_rate,
    signals_within,
)
from analyses.recordings.prepare.place_fields import Running
from replay.checks.arrays import Bools

_LONGEST = 10.0  # s
_LONG = 2.0  # s: of bursts that may be replay; those of running along the track last longer
PAUSE = 1.0
"""The length of a gap in the field potential that is a pause, in s."""
LOW_THRESHOLD = 2.0
"""A lower threshold, in standard deviations, with which detection is compared."""


class Detected(NamedTuple):
    """Where candidate events come from, and how many others there are."""

    # ``given``; ``activity`` or ``ripples``, in which they were detected; ``decoded``, stretches of
    # a posterior without gaps; or ``posterior``, travel in all quiet time
    how: str
    n: int  # number of candidate events
    # given events that overlap an earlier one, or begin while the animal is fast
    n_overlap: int = 0
    n_fast: int = 0
    # bursts at any speed; slow ones that are too short, or too long, or reach only a lower
    # threshold; and pauses of the field potential
    n_bursts: int = 0
    n_short: int = 0
    n_long: int = 0
    n_low: int = 0
    n_pauses: int = 0
    longest: float = 0.0  # the longest burst that is counted
    # quiet time in which travel was searched, and what is found there after an exchange of cells
    minutes: float = 0.0
    by_chance: float = 0.0


def candidate_events(
    recording: Recording, moved: Running, settings: Settings
) -> tuple[pd.DataFrame, Detected]:
    """Return the events of the file, or detect them; and say how in numbers."""
    if recording.events is not None:
        return _given(recording, recording.events, moved, settings.criteria)
    n_pauses = 0
    criteria = settings.criteria
    is_rest = partial(moved.is_rest, largest=criteria.largest_speed)
    if recording.field_potential is not None:
        how, what = "ripples", "the power in the ripple band"
        time, height = ripple_power_of(recording.field_potential)
        n_pauses = int((np.diff(time) > PAUSE).sum())
        signals = signals_within(time, height, recording.observed.spikes, is_rest)
    elif recording.spikes:
        how, what = "activity", "the rate of all cells"
        of_sets = signals_of_rate(recording.spikes, recording.observed, is_rest)
        signals = [signal for _, own in of_sets for signal in own]
    elif recording.posterior is not None:
        return _stretches(recording.posterior, recording.name)
    else:
        raise ValueError(
            f"{recording.name} has neither spikes nor a field potential to detect events in: give "
            "a table of candidate events."
        )
    events = find_in(signals, moved.speed_at, criteria)
    n_bursts = len(find_in(signals, None, criteria))
    n_refused = n_bursts - len(events)
    most = max(_LONG, criteria.longest)
    # How many events other durations would give, for the report.
    others = find_in(signals, moved.speed_at, criteria._replace(shortest=0.0, longest=most))
    lasts = (others["end_time"] - others["start_time"]).to_numpy()
    n_short, n_long = int((lasts < criteria.shortest).sum()), int((lasts > criteria.longest).sum())
    if not len(events):
        raise ValueError(
            f"{recording.name} has no candidate event: {what} never exceeds "
            f"{criteria.threshold:g} standard deviations for {criteria.shortest:g} to "
            f"{criteria.longest:g} s while the animal is slow; {n_refused} of {n_bursts} bursts "
            f"were refused for its speed. While it was slow, there were {n_short} shorter and "
            f"{n_long} longer ones, of up to {most:g} s. Lower the threshold, allow more speed or "
            "other durations (--threshold, --largest-speed, --shortest, --longest), or give events."
        )
    n_low = 0
    if criteria.threshold > LOW_THRESHOLD:
        lower = criteria._replace(threshold=LOW_THRESHOLD)
        n_low = max(len(find_in(signals, moved.speed_at, lower)) - len(events), 0)
    return events, Detected(
        how, len(events), n_bursts=n_bursts, n_short=n_short, n_long=n_long, n_low=n_low,
        n_pauses=n_pauses, longest=most,
    )  # fmt: skip


def _given(
    recording: Recording, events: pd.DataFrame, moved: Running, criteria: Criteria
) -> tuple[pd.DataFrame, Detected]:
    """Check the events of the file, which may be another table than one of events."""
    if not len(events):
        raise ValueError(f"The table of events of {recording.name} is empty: give events.")
    events = events[["start_time", "end_time"]].reset_index(drop=True)
    lasts = (events["end_time"] - events["start_time"]).to_numpy(dtype=float)
    if (lasts > _LONGEST).any():
        row = int(np.flatnonzero(lasts > _LONGEST)[0])
        raise ValueError(
            f"{(lasts > _LONGEST).sum()} of {len(events)} candidate events of {recording.name} "
            f"last longer than {_LONGEST:g} s; row {row} lasts {lasts[row]:,.6g} s. Replay "
            "lasts a fraction of a second: are these epochs of rest, or times in ms? Give "
            "events in s, or detect them (find)."
        )
    begin, end = events.to_numpy(dtype=float).T
    n_overlap = int((begin[1:] < np.maximum.accumulate(end)[:-1]).sum())
    n_fast = int((moved.speed_at(begin) > criteria.largest_speed).sum())
    return events, Detected("given", len(events), n_overlap=n_overlap, n_fast=n_fast)


def is_covered(recording: Recording, events: pd.DataFrame) -> Bools:
    """Find the events for which another program's decoded positions are available."""
    if recording.decoded is not None:
        time = np.sort(recording.decoded["time"].to_numpy(dtype=float))
    elif recording.posterior is not None:
        time = recording.posterior.time[~np.isnan(recording.posterior.probability).any(axis=1)]
    else:
        return np.ones(len(events), dtype=bool)
    first = np.searchsorted(time, events["start_time"], side="left")
    last = np.searchsorted(time, events["end_time"], side="right")
    if not (last > first).any():
        raise ValueError(
            f"No decoded position of {recording.name} lies within one of its {len(events)} events. "
            "Are both in s, on the same clock?"
        )
    return np.asarray(last > first)


def _stretches(posterior: Posterior, name: str) -> tuple[pd.DataFrame, Detected]:
    """Treat stretches of a posterior without gaps as events, if it was decoded event by event."""
    known = posterior.time[~np.isnan(posterior.probability).any(axis=1)]
    width = float(np.median(np.diff(known))) if len(known) > 1 else 0.0
    # Some time bins may be missing: single ones are no gap between events.
    begins = np.flatnonzero(np.diff(known, prepend=-np.inf) > 3 * width)
    ends = np.append(begins[1:], len(known)) - 1
    events = pd.DataFrame({"start_time": known[begins], "end_time": known[ends] + width})
    usual = float((events["end_time"] - events["start_time"]).median())
    if usual > _LONG:
        raise ValueError(
            f"The posterior of {name} has stretches without a gap that typically last "
            f"{usual:.0f} s, so events cannot be read from it: give a table of candidate events."
        )
    return events, Detected("decoded", len(events))
