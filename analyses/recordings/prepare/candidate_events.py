"""The candidate events of a recording: those of the file, or those that are detected."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.recording import Posterior, Recording
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.detection import (
    find_in,
    ripple_power_of,
    signals_of_rate,
    signals_within,
)
from analyses.recordings.prepare.running import Running

__all__ = ["candidate_events", "count_candidates", "is_covered"]

_LONGEST = 10.0  # s
_LONG = 2.0  # s: of bursts that may be replay; those of running along the track last longer
_PAUSE = 1.0  # s
_LOW = 2.0  # standard deviations
_MANY_LONG = 0.2  # of the number of candidate events


def candidate_events(
    recording: Recording, moved: Running, settings: Settings
) -> tuple[pd.DataFrame, str]:
    """Return the events of the file, or detect them."""
    if recording.events is not None:
        if not len(recording.events):
            raise ValueError(f"The table of events of {recording.name} is empty: give events.")
        events = recording.events[["start_time", "end_time"]].reset_index(drop=True)
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
        how = f"{count_candidates(len(events))} given."
        if n_overlap:
            how += (
                f" {n_overlap} of them overlap{'s' * (n_overlap == 1)} an earlier one, so that "
                "what they share is counted twice: intervals are too narrow. Join such events, or "
                "leave one out."
            )
        return events, how + _begin_running(events, moved, settings.criteria.largest_speed)
    n_pauses = 0
    criteria = settings.criteria
    is_rest = partial(moved.is_rest, largest=criteria.largest_speed)
    if recording.field_potential is not None:
        what = "the power in the ripple band"
        time, height = ripple_power_of(recording.field_potential)
        n_pauses = int((np.diff(time) > _PAUSE).sum())
        signals = signals_within(time, height, recording.observed.spikes, is_rest)
    elif recording.spikes:
        what = "the rate of all cells"
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
    others = find_in(signals, moved.speed_at, criteria._replace(shortest=0.0, longest=most))
    lasts = (others["end_time"] - others["start_time"]).to_numpy()
    n_short, n_long = (lasts < criteria.shortest).sum(), (lasts > criteria.longest).sum()
    others_told = (
        f" While it was slow, {n_short} more {'was' if n_short == 1 else 'were'} shorter, and "
        f"{n_long} longer, of up to {most:g} s."
        if n_short or n_long
        else ""
    )
    if not len(events):
        raise ValueError(
            f"{recording.name} has no candidate event: {what} never exceeds "
            f"{criteria.threshold:g} standard deviations for {criteria.shortest:g} to "
            f"{criteria.longest:g} s while the animal is slow; {n_refused} of {n_bursts} bursts "
            f"were refused for its speed.{others_told} Lower the threshold, allow more speed or "
            "other durations (--threshold, --speed, --shortest, --longest), or give events."
        )
    how = (
        f"{count_candidates(len(events))} found in which {what} reaches "
        f"{criteria.threshold:g} standard deviations above its mean in rest; they last "
        f"{criteria.shortest:g} to {criteria.longest:g} s, and the animal is slower than "
        f"{criteria.largest_speed:g} cm/s."
    )
    if n_refused:
        how += (
            f" Of {n_bursts} such bursts, {n_refused} ({n_refused / n_bursts:.0%}) "
            f"{'was' if n_refused == 1 else 'were'} refused because the animal was faster as they "
            "began or ended."
        )
    how += others_told
    if criteria.threshold > _LOW:
        n_low = len(find_in(signals, moved.speed_at, criteria._replace(threshold=_LOW)))
        how += (
            f" {max(n_low - len(events), 0)} more reach only {_LOW:g} to {criteria.threshold:g} "
            "standard deviations (--threshold)."
        )
    if n_pauses:
        how += (
            f" The field potential has {n_pauses} pause{'s' * (n_pauses != 1)} of more than "
            f"{_PAUSE:g} s, in which nothing can be found."
        )
    if n_long > _MANY_LONG * len(events):
        how += (
            f" Replay that lasts so long is missed: allow it (--longest {most:g}; in Python, "
            f"settings_for(recording, longest={most:g}))."
        )
    return events, how


def _begin_running(events: pd.DataFrame, moved: Running, largest_speed: float) -> str:
    """Say how many given events begin while the animal runs."""
    speed = moved.speed_at(events["start_time"].to_numpy(dtype=float))
    n_fast = int((speed > largest_speed).sum())
    if not n_fast:
        return ""
    return (
        f" {n_fast} of {len(events)} begin{'s' * (n_fast == 1)} while the animal is faster than "
        f"{largest_speed:g} cm/s: then cells represent where it runs, in theta sequences, which "
        "look like replay. Leave such events out, or check that events and positions have one "
        "clock."
    )


def count_candidates(n: int) -> str:
    """Begin a sentence with their number.

    Examples
    --------
    >>> count_candidates(1), count_candidates(12)
    ('1 candidate event was', '12 candidate events were')
    """
    return f"{n} candidate event{'s were' if n != 1 else ' was'}"


def is_covered(recording: Recording, events: pd.DataFrame) -> NDArray[np.bool_]:
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


def _stretches(posterior: Posterior, name: str) -> tuple[pd.DataFrame, str]:
    """Treat stretches of a posterior without gaps as events, if it was decoded event by event."""
    known = posterior.time[~np.isnan(posterior.probability).any(axis=1)]
    width = float(np.median(np.diff(known))) if len(known) > 1 else 0.0
    begins = np.flatnonzero(np.diff(known, prepend=-np.inf) > 3 * width)
    ends = np.append(begins[1:], len(known)) - 1
    events = pd.DataFrame({"start_time": known[begins], "end_time": known[ends] + width})
    longest = float((events["end_time"] - events["start_time"]).median())
    if longest > 2.0:
        raise ValueError(
            f"The posterior of {name} has stretches of up to {longest:.0f} s without a gap, so "
            "events cannot be read from it: give a table of candidate events."
        )
    return events, f"{len(events)} candidate events: stretches that were decoded without a gap."
