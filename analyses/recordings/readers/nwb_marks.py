"""Spikes of NWB files that were not sorted: waveforms or their features, by electrode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.marks import MarkClasses, classes_of_marks
from analyses.recordings.readers.nwb_tables import by_name

if TYPE_CHECKING:
    from pynwb import NWBFile

__all__ = ["MARKS", "has_marks", "marks_of", "read_marks"]

MARKS = "marks"
"""Instead of an expression over units: read spikes that were not sorted."""
_AT_ONCE = 20_000  # waveforms


def marks_of(file: NWBFile) -> dict[str, Any]:
    """Return the tables of spikes that were not sorted, by name; features before waveforms."""
    from pynwb.ecephys import FeatureExtraction, SpikeEventSeries

    for kind in (FeatureExtraction, SpikeEventSeries):
        found = by_name(each for each in file.objects.values() if isinstance(each, kind))
        if found:
            return dict(sorted(found.items()))
    return {}


def has_marks(file: NWBFile) -> bool:
    """Whether a file has spikes that were not sorted."""
    return bool(marks_of(file))


def read_marks(file: NWBFile, name: str) -> MarkClasses:
    """Read the spikes of each electrode, and divide them into classes of marks."""
    known = marks_of(file)
    if not known:
        raise ValueError(
            f"{name} has no spikes that were not sorted (SpikeEventSeries or FeatureExtraction): "
            "choose units, or add the waveforms or features of spikes."
        )
    times, marks = [], []
    for each in known.values():
        stamps, values = (
            (each.times, each.features)
            if hasattr(each, "features")
            else (each.timestamps, each.data)
        )
        times.append(stamps[:])
        marks.append(_features(values, is_waveform=not hasattr(each, "features")))
    return classes_of_marks(times, marks)


def _features(values: Any, *, is_waveform: bool) -> NDArray[np.float64]:
    """Read features, or the largest amplitude of waveforms on each channel, a part at a time."""
    found = []
    for begin in range(0, len(values), _AT_ONCE):
        part = np.asarray(values[begin : begin + _AT_ONCE], dtype=float)
        if is_waveform:
            part = np.abs(part).max(axis=-1)
        found.append(part.reshape(len(part), -1))
    return np.concatenate([*found, np.empty((0, found[0].shape[1] if found else 1))])
