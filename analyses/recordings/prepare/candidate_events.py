"""The candidate events of a recording: those of the file, or those that are detected.

What is detected are bursts of population activity, or of power in the ripple band. A signal (the
smoothed rate of all cells, or the power in the ripple band) is measured in standard deviations from
its mean. An event is a period in which it exceeds a threshold, extended to where it exceeds its
mean, if the animal is slow and the event neither too short nor too long. The defaults are those of
Takigawa et al. [1]_; the rate is smoothed as by Davidson et al. [2]_ and in ripple_detection, and
ripple power as by Kay et al. [3]_.

References
----------
.. [1] Takigawa et al. (2024). https://doi.org/10.7554/eLife.85635
.. [2] Davidson, Kloosterman & Wilson (2009). https://doi.org/10.1016/j.neuron.2009.07.027
.. [3] Kay et al. (2016). https://doi.org/10.1038/nature17144
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import ndimage, signal

from analyses.recordings.basics.observed import Observed, joined, stretches
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Criteria, Settings
from analyses.recordings.basics.signals import FieldPotential, Posterior
from analyses.recordings.prepare.place_fields import Running
from replay.checks import check_number
from replay.checks.arrays import Bools, Floats

_LONGEST = 10.0  # s
_LONG = 2.0  # s: of bursts that may be replay; those of running along the track last longer
PAUSE = 1.0
"""The length of a gap in the field potential that is a pause, in s."""
LOW_THRESHOLD = 2.0
"""A lower threshold, in standard deviations, with which detection is compared."""
_RIPPLE_BAND = (150.0, 250.0)  # Hz
_MS, _RATE_SD, _POWER_SD = 0.001, 0.015, 0.004  # s: of the rate, and of smoothing
_LOST = 2.5  # sampling intervals; times that were rounded to ms are two apart at up to 2 kHz
_SHORTEST_STRETCH = 0.1  # s that the filter needs
_PAUSE = 0.015  # s: the shortest ripple; an event goes on where fewer samples are missing
_SHORTEST = 0.001  # s, of a stretch: a value
_ROUNDED = 1e-6  # s: a duration of times on a grid may be the shortest one but for its last digits


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


class Signal(NamedTuple):
    """A stretch of a signal, with the times of its values, and the mean and SD to compare it with.

    All cells whose rates it sums were observed throughout. Mean and SD are those of rest: where an
    animal runs much, its running would raise the threshold of bursts in rest.
    """

    time: Floats
    height: Floats
    scale: tuple[float, float]


def signals_of_rate(
    spikes: Sequence[Floats], observed: Observed, is_rest: Callable[[Floats], Bools]
) -> list[tuple[Bools, list[Signal]]]:
    """Compute the smoothed rate of all cells that are observed at a time, for each set of cells.

    A rate is compared with that of the same cells whenever all of them, be it with others, were
    observed: a sum over more cells is larger, and varies more.
    """
    every = np.concatenate([np.empty(0), *spikes])
    first, last = float(every.min()), float(every.max())
    periods, seen = observed.stretches(len(spikes))
    periods = np.clip(periods, first, last)
    is_long = periods[:, 1] - periods[:, 0] >= _SHORTEST
    found = []
    for number, cells in enumerate(seen.cells):
        contains = (seen.cells | ~cells).all(axis=1)  # the sets with all of these cells
        # Of others that were observed as well, spikes do not count: the sum is of the same cells.
        own = [each for each, is_seen in zip(spikes, cells, strict=True) if is_seen]
        parts = [
            multiunit_rate(own, begin, end)
            for begin, end in joined(periods[contains[seen.number] & is_long]).tolist()
        ]
        if not parts:
            continue
        time, height = (np.concatenate(each) for each in zip(*parts, strict=True))
        exactly = periods[(seen.number == number) & is_long]
        found.append((cells, signals_within(time, height, exactly, is_rest, height)))
    return found


def signals_within(
    time: Floats,
    height: Floats,
    intervals: Floats,
    is_rest: Callable[[Floats], Bools],
    compared: Floats | None = None,
) -> list[Signal]:
    """Cut a signal to intervals; it is compared with its values in rest, by default there."""
    parts = [slice(*np.searchsorted(time, ends)) for ends in intervals]
    rest = is_rest(time)
    if compared is None:
        compared, rest = (
            np.concatenate([each[:0], *(each[part] for part in parts)]) for each in (height, rest)
        )
    compared = compared[rest] if rest.any() else compared
    scale = (float(compared.mean()), float(compared.std())) if len(compared) else (0.0, 0.0)
    return [Signal(time[part], height[part], scale) for part in parts if len(time[part])]


def find_in(
    signals: Sequence[Signal], speed_at: Callable[[Floats], Floats] | None, criteria: Criteria
) -> pd.DataFrame:
    """Find candidate events in each stretch of a signal, as `find_events` does, in order."""
    # Constant stretches are left out; if all are, finding events in one says so.
    varying = [each for each in signals if each.scale[1] > 0] or signals
    found = [pd.DataFrame({name: [] for name in ("start_time", "end_time", "peak")}, dtype=float)]
    found += [
        find_events(time, height, speed_at and speed_at(time), criteria, scale=scale)
        for time, height, scale in varying
    ]
    return pd.concat(found, ignore_index=True).sort_values("start_time", ignore_index=True)


def multiunit_rate(spikes: Sequence[ArrayLike], begin: float, end: float) -> tuple[Floats, Floats]:
    """Compute the smoothed rate of all cells together in each ms: times in s, and rates in Hz."""
    n_time = int((end - begin) / _MS + 1e-6)
    n_spikes = np.zeros(n_time)
    for each in spikes:
        bins = np.floor((np.asarray(each, dtype=float) - begin) / _MS + 1e-9)
        inside = (bins >= 0) & (bins < n_time)
        n_spikes += np.bincount(bins[inside].astype(np.int64), minlength=n_time)
    rate = ndimage.gaussian_filter1d(n_spikes / _MS, _RATE_SD / _MS, mode="constant")
    middle = begin + (np.arange(n_time) + 0.5) * _MS
    return np.asarray(middle, dtype=float), np.asarray(rate, dtype=float)


def ripple_power(channels: Floats, rate: float) -> Floats:
    """Compute the amplitude in the ripple band over all channels, (n_time, n_channels).

    Each channel is filtered; the squared envelopes are summed over channels and smoothed.
    """
    low, high = _RIPPLE_BAND
    if not high < rate / 2:
        raise ValueError(
            f"A band from {low:g} to {high:g} Hz needs a sampling rate above {2 * high:g} Hz; got "
            f"{rate:g}."
        )
    sections = signal.butter(4, (low, high), btype="bandpass", fs=rate, output="sos")
    filtered = signal.sosfiltfilt(sections, channels, axis=0)
    squares = np.abs(signal.hilbert(filtered, axis=0)) ** 2
    smooth = ndimage.gaussian_filter1d(squares.sum(axis=1), _POWER_SD * rate)
    return np.asarray(np.sqrt(smooth), dtype=float)


def ripple_power_of(potential: FieldPotential) -> tuple[Floats, Floats]:
    """Compute the times in s and the `ripple_power` of a field potential that may have pauses.

    Each stretch without missing samples is filtered by itself; those shorter than 0.1 s are left
    out.

    Examples
    --------
    >>> time = np.append(np.arange(1000), np.arange(9000, 10000)) / 1000
    >>> wave = np.sin(2 * np.pi * 200 * time)[:, None]
    >>> found, power = ripple_power_of(FieldPotential(0.0, 1000.0, wave, time))
    >>> len(found), found[999:1001].tolist()
    (2000, [0.999, 9.0])
    """
    time, channels = potential.time, potential.signal
    is_known = ~np.isnan(channels).any(axis=1)
    time = time[is_known]
    channels = channels if is_known.all() else channels[is_known]
    power = np.full(len(time), np.nan)
    for first, last in zip(*stretches(time, _LOST / potential.rate), strict=True):
        if last - first >= _SHORTEST_STRETCH * potential.rate:
            power[first:last] = ripple_power(channels[first:last], potential.rate)
    is_known = ~np.isnan(power)
    if not is_known.any():
        raise ValueError(
            f"No stretch of the field potential lasts {_SHORTEST_STRETCH:g} s without missing "
            "samples, so no ripple can be found in it. Are its times in s?"
        )
    return time[is_known], power[is_known]


def find_events(
    time: Floats,
    height: Floats,
    speed: Floats | None = None,
    criteria: Criteria = Criteria(),  # noqa: B008 (immutable)
    *,
    scale: tuple[float, float] | None = None,
) -> pd.DataFrame:
    """Find candidate events in a signal: `start_time, end_time` (s), and `peak` (in SD).

    `speed` (cm/s, NaN if unknown) is that of the animal at the same times; `scale` are mean and
    standard deviation of the signal, by default those of these values. An event ends before a pause
    between the times of more than 15 ms.
    """
    mean, spread = scale or ((height.mean(), height.std()) if len(height) else (0.0, 0.0))
    if not spread > 0:
        raise ValueError("The signal is constant, so no event can be found in it.")
    score = (height - mean) / spread
    step = np.diff(time)
    is_pause = step > max(_PAUSE, _LOST * float(np.median(step))) if len(step) else step > 0
    # A run is above the mean, without a pause before its next value: first and last of each.
    is_high = score > 0
    apart = np.ones(len(is_high) + 1, dtype=bool)
    apart[1:-1] = is_pause | (is_high[1:] != is_high[:-1])
    start, end = np.flatnonzero(is_high & apart[:-1]), np.flatnonzero(is_high & apart[1:])
    # Between runs the signal is below its mean, so this adds no higher value.
    peak = np.maximum.reduceat(score, start) if len(start) else np.empty(0)
    kept = peak >= criteria.threshold
    begin, stop, peak = time[start[kept]], time[end[kept]], peak[kept]
    if len(begin):
        is_new = np.append(True, begin[1:] - stop[:-1] >= criteria.merged_within - _ROUNDED)
        first = np.flatnonzero(is_new)
        last = np.append(first[1:], len(begin)) - 1
        begin, stop, peak = begin[first], stop[last], np.maximum.reduceat(peak, first)
    duration = stop - begin
    kept = (duration >= criteria.shortest - _ROUNDED) & (duration > 0)
    kept &= duration <= criteria.longest + _ROUNDED
    if speed is not None:
        for moment in (begin, stop):
            kept &= ~(speed[np.searchsorted(time, moment)] > criteria.largest_speed)
    return pd.DataFrame(
        {"start_time": begin[kept], "end_time": stop[kept], "peak": peak[kept].round(3)}
    )


def check_criteria(criteria: Criteria) -> None:
    """Check the criteria of candidate events."""
    if not isinstance(criteria, Criteria):
        raise TypeError(f"criteria must be Criteria, got {type(criteria).__name__}.")
    if check_number("threshold", criteria.threshold, at_least=0.0) == 0:
        raise ValueError(
            "threshold must be above 0 standard deviations, got 0: every fluctuation above the "
            "mean would be an event. Thresholds of 2 to 4 are usual."
        )
    check_number("shortest", criteria.shortest, at_least=0.0)
    check_number("longest", criteria.longest, at_least=criteria.shortest, finite=False)
    check_number("merged_within", criteria.merged_within, at_least=0.0)
    check_number("largest_speed", criteria.largest_speed, at_least=0.0, finite=False)
