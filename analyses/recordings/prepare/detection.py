"""Candidate events in signals: bursts of population activity, or of power in the ripple band.

A signal (the smoothed rate of all cells, or ripple power) is measured in standard deviations from
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
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import ndimage, signal

from analyses.recordings.basics.observed import Observed, joined, stretches
from analyses.recordings.basics.settings import Criteria
from analyses.recordings.basics.signals import FieldPotential
from replay.checks.arrays import Bools, Floats

_RIPPLE_BAND = (150.0, 250.0)  # Hz
_MS, _RATE_SD, _POWER_SD = 0.001, 0.015, 0.004  # s: of the rate, and of smoothing
_LOST = 2.5  # sampling intervals; times that were rounded to ms are two apart at up to 2 kHz
_SHORTEST_STRETCH = 0.1  # s that the filter needs
_PAUSE = 0.015  # s: the shortest ripple; an event goes on where fewer samples are missing
_SHORTEST = 0.001  # s, of a stretch: a value
_ROUNDED = 1e-6  # s: a duration of times on a grid may be the shortest one but for its last digits


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
