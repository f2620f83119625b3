"""When spikes were observed, as files tell it: the intervals of each unit, and invalid times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.observed import Observed, common, joined, within
from analyses.recordings.readers.units import count_text

__all__ = ["intervals_of_units", "outside_of", "with_spikes"]

_MOST_OUTSIDE = 0.5  # of the spikes: otherwise intervals are on another clock


def intervals_of_units(units: Any, rows: NDArray[np.integer]) -> list[NDArray[np.float64]]:
    """Read the ``obs_intervals`` of some units of an NWB file; empty if none has any."""
    if "obs_intervals" not in units.colnames:
        return []
    found = [np.asarray(units.get_unit_obs_intervals(int(row)), dtype=float) for row in rows]
    if not any(map(len, found)):
        return []
    return [each if len(each) else np.array([[-np.inf, np.inf]]) for each in found]


def outside_of(intervals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all times outside of some intervals, as intervals.

    Examples
    --------
    >>> outside_of(np.array([[2.0, 3.0], [7.0, 9.0]])).tolist()
    [[-inf, 2.0], [3.0, 7.0], [9.0, inf]]
    """
    return np.concatenate([[-np.inf], joined(intervals).ravel(), [np.inf]]).reshape(-1, 2)


def with_spikes(
    spikes: Sequence[NDArray[np.float64]],
    valid: NDArray[np.float64],
    intervals: Sequence[NDArray[np.float64]],
) -> tuple[Observed, tuple[NDArray[np.float64], ...], str]:
    """Return when spikes were observed, those that lie there, and a phrase on the others.

    `valid` are the intervals of all data, and `intervals` those of each cell, if there are any.
    """
    told = []
    if intervals:
        n_outside = sum(
            int((~within(joined(each), own)).sum())
            for each, own in zip(intervals, spikes, strict=True)
        )
        if n_outside > _MOST_OUTSIDE * sum(map(len, spikes)):
            told.append(
                "the intervals in which cells were observed do not fit their spikes, of which "
                f"{n_outside:,} lie outside, and are not used: are both in s, on one clock?"
            )
            intervals = []
    alike = all(np.array_equal(each, intervals[0]) for each in intervals)
    if intervals and alike:
        observed = Observed(common(joined(intervals[0]), joined(valid)))
    else:
        observed = Observed(valid, tuple(intervals))
    kept = tuple(
        own[within(each, own)]
        for each, own in zip(observed.of_cells(len(spikes)), spikes, strict=True)
    )
    n_lost = sum(map(len, spikes)) - sum(map(len, kept))
    if n_lost:
        told.append(
            f"{count_text(n_lost, 'spike')} outside of the times in which "
            f"{'its cell was' if n_lost == 1 else 'their cells were'} observed "
            f"{'is' if n_lost == 1 else 'are'} left out"
        )
    return observed, kept, "; ".join(told)
