"""The candidate events of a recording: those of the file, or those that are found."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.events import find_events, multiunit_rate, ripple_power
from analyses.recordings.recording import Posterior, Recording
from analyses.recordings.running import Running
from analyses.recordings.settings import Settings

__all__ = ["candidate_events", "is_covered"]


def candidate_events(
    recording: Recording, moved: Running, settings: Settings
) -> tuple[pd.DataFrame, str]:
    """Take the events of the file, or find them.

    Parameters
    ----------
    recording : Recording
        With events, a field potential, spikes or a posterior; the first of these counts.
    moved : Running
        How fast the animal was.
    settings : Settings
        With the criteria of events that are found.

    Returns
    -------
    events : DataFrame
        `start_time` and `end_time`, in s.
    how : str
        How many, and where they are from: a sentence.

    Raises
    ------
    ValueError
        If there is no event.
    """
    if recording.events is not None:
        if not len(recording.events):
            raise ValueError(f"The table of events of {recording.name} is empty: give events.")
        events = recording.events[["start_time", "end_time"]].reset_index(drop=True)
        return events, f"{len(events)} candidate events were given."
    if recording.field_potential is not None:
        what = "the power in the ripple band"
        start, hertz, signal = recording.field_potential
        time, height = start + np.arange(len(signal)) / hertz, ripple_power(signal, hertz)
    elif recording.spikes:
        what = "the rate of all cells"
        spikes = np.concatenate(recording.spikes)
        time, height = multiunit_rate(recording.spikes, float(spikes.min()), float(spikes.max()))
    elif recording.posterior is not None:
        return _stretches(recording.posterior, recording.name)
    else:
        raise ValueError(f"{recording.name} has nothing in which events can be found: give events.")
    known = ~np.isnan(moved.speed)
    speed = np.interp(time, moved.time[known], moved.speed[known], left=np.nan, right=np.nan)
    criteria = settings.criteria
    events = find_events(time, height, speed, criteria)
    if not len(events):
        raise ValueError(
            f"{recording.name} has no candidate event: {what} never exceeds "
            f"{criteria.threshold:g} standard deviations for {criteria.shortest:g} to "
            f"{criteria.longest:g} s while the animal is slow. Lower the threshold, or give events."
        )
    how = (
        f"{len(events)} candidate events were found where {what} reaches "
        f"{criteria.threshold:g} standard deviations above its mean, {criteria.shortest:g} to "
        f"{criteria.longest:g} s long, while the animal is slower than "
        f"{criteria.largest_speed:g} cm/s."
    )
    return events, how


def is_covered(recording: Recording, events: pd.DataFrame) -> NDArray[np.bool_]:
    """Tell in which events anything was decoded, if others decoded it.

    Parameters
    ----------
    recording : Recording
        Perhaps with a posterior or decoded places.
    events : DataFrame
        `start_time` and `end_time`, in s.

    Returns
    -------
    ndarray of bool, shape (n_events,)
        True in all, if nothing was decoded by others.

    Raises
    ------
    ValueError
        If nothing that was decoded lies within an event.
    """
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
            f"Nothing of what was decoded in {recording.name} lies within one of its "
            f"{len(events)} events. Are both in s on one clock?"
        )
    return np.asarray(last > first)


def _stretches(posterior: Posterior, name: str) -> tuple[pd.DataFrame, str]:
    """Take stretches of a posterior without a gap for events, if it was decoded event by event."""
    known = posterior.time[~np.isnan(posterior.probability).any(axis=1)]
    width = float(np.median(np.diff(known))) if len(known) > 1 else 0.0
    begins = np.flatnonzero(np.diff(known, prepend=-np.inf) > 3 * width)
    ends = np.append(begins[1:], len(known)) - 1
    events = pd.DataFrame({"start_time": known[begins], "end_time": known[ends] + width})
    longest = float((events["end_time"] - events["start_time"]).median())
    if longest > 2.0:
        raise ValueError(
            f"The posterior of {name} goes on for {longest:.0f} s at a time, so it doesn't tell "
            "which part is an event: give a table of candidate events."
        )
    return events, f"{len(events)} candidate events: what was decoded without a gap."
