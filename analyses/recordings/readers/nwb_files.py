"""Recordings in NWB files: position, units, and tables of events and epochs.

A file needs a ``SpatialSeries`` of pairs (x, y), or a table of units with their spike times, or
both. The table of events is a ``TimeIntervals`` anywhere in the file; so is that of epochs, whose
column `label` or `tags` marks those in which the animal ran.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.readers.hdf5_files import check_hdf5
from analyses.recordings.readers.track_graphs import epochs_of, read_track
from analyses.recordings.readers.units import count_text, to_cm
from analyses.recordings.recording import FieldPotential, Recording
from replay.checks import shown, unknown_name
from replay.files import check_file

if TYPE_CHECKING:
    from pynwb import NWBHDF5IO, NWBFile

__all__ = ["FIND_RIPPLES", "read_nwb"]

FIND_RIPPLES = "find_ripples"
"""Instead of the name of a table of events: detect events in the field potential."""
_LOWEST_RATE, _HIGHEST_RATE = 500.0, 5000.0
_EVENT_NAMES = ("ripple", "swr", "sharp_wave", "mua", "hse", "candidate", "replay_events")
_RUNNING = ("run", "running", "track", "maze", "task", "behavior", "behaviour")


def read_nwb(
    path: str | Path,
    graph: nx.Graph | None = None,
    *,
    events: str | None = None,
    most_unknown: float = 0.2,
) -> Recording:
    """Read an NWB file.

    Parameters
    ----------
    path : path
        The file.
    graph : networkx.Graph, optional
        The track; by default, the JSON text `track_graph` in the file's scratch space.
    events : str, optional
        The name of the table of candidate events; by default the first table with a suitable name
        (for instance ripples), if there is one. ``"find_ripples"`` reads the field potential
        instead, for the detection of ripples.
    most_unknown : float, default 0.2
        The largest share of positions on the track that may be unknown.

    Returns
    -------
    Recording
        The recording.

    Raises
    ------
    FileNotFoundError
        If the file is missing.
    ImportError
        If pynwb is not installed.
    ValueError
        If the file is damaged, lacks required data, or has implausible data.
    """
    name = Path(path).name
    check_file(path)
    try:
        from pynwb import NWBHDF5IO
    except ImportError:
        raise ImportError(
            "NWB files need pynwb: pip install 'hippocampal-replay[recordings]'."
        ) from None
    try:
        check_hdf5(path)
        with NWBHDF5IO(str(path), "r") as file:
            return _of_file(_content(file), name, graph, events, most_unknown)
    except ValueError:
        raise
    except Exception as error:  # a damaged file may raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{name} cannot be read as an NWB file: it is truncated, damaged or of another format "
            f"({reason[:120]}). Copy it again from its source, or export it again."
        ) from error


def _content(file: NWBHDF5IO) -> NWBFile:
    try:
        return file.read()
    except ValueError as error:
        raise OSError(str(error)) from error


def _of_file(
    file: NWBFile, name: str, graph: nx.Graph | None, events: str | None, most_unknown: float
) -> Recording:
    if graph is None:
        graph = _graph_of(file)
    time, position, text = _position_of(file, name, graph)
    spikes = _spikes_of(file, name)
    if not spikes:
        text += "; no units"
    else:
        n_spikes = sum(map(len, spikes))
        text += f"; {count_text(len(spikes), 'unit')} with {count_text(n_spikes, 'spike')}"
    tables = dict(_tables_of(file))
    found, field_potential, chosen = None, None, None
    if events == FIND_RIPPLES:
        field_potential, how = _field_potential_of(file, name)
        text += f"; {how}"
    else:
        chosen = _choose_events(tables, name, events)
    if chosen is not None:
        found = _intervals(tables[chosen], f"The table {chosen!r} of {name}")
        text += f"; {count_text(len(found), 'event')} from the table {chosen!r}"
    if not spikes and not len(time) and found is None:
        raise ValueError(
            f"{name} has no units with spike times, no SpatialSeries of pairs (x, y), and no table "
            "of events. Export sorted units and the tracked position to the NWB file."
        )
    on_track = _running(tables)
    on_track = on_track if len(on_track) else epochs_of(graph)
    if len(on_track):
        text += f"; {count_text(len(on_track), 'epoch')} on the track"
    return Recording(
        name,
        graph,
        time,
        position,
        spikes=spikes,
        events=found,
        field_potential=field_potential,
        on_track=on_track,
        origin=_origin(file),
        notes=(f"{name}: NWB; {text}.",),
        most_unknown=most_unknown,
    )


def _origin(file: NWBFile) -> dict[str, str]:
    origin = {"identifier": str(file.identifier)}
    start = file.session_start_time
    if isinstance(start, datetime):
        origin["session_start_time"] = start.isoformat()
    if file.subject is not None and file.subject.subject_id:
        origin["subject"] = str(file.subject.subject_id)
        for name in ("species", "sex"):
            if getattr(file.subject, name):
                origin[name] = str(getattr(file.subject, name))
    return origin


def _graph_of(file: NWBFile) -> nx.Graph | None:
    """Read the track graph from JSON in the file's scratch space, if it is there."""
    if not file.scratch or "track_graph" not in file.scratch:
        return None
    text = np.asarray(file.get_scratch("track_graph")).item()
    try:
        return read_track(json.loads(text))
    except (TypeError, json.JSONDecodeError):
        return None


def _position_of(
    file: NWBFile, name: str, graph: nx.Graph | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    from pynwb.behavior import SpatialSeries

    found = [
        each
        for each in file.objects.values()
        if isinstance(each, SpatialSeries) and np.ndim(each.data) == 2 and each.data.shape[1] == 2
    ]
    if not found:
        return np.empty(0), np.empty((0, 2)), "no position"
    found.sort(key=lambda each: (str(each.parent.name) != "Position", str(each.name)))
    series = found[0]
    data = np.asarray(series.data[:], dtype=float) * float(series.conversion or 1.0)
    data += float(series.offset or 0.0)
    if series.timestamps is not None:
        time = np.asarray(series.timestamps[:], dtype=float)
    else:
        time = float(series.starting_time) + np.arange(len(data)) / float(series.rate)
    position, scaled = to_cm(data, str(series.unit), graph, name)
    others = f" (of {len(found)} such series)" if len(found) > 1 else ""
    rate = (len(time) - 1) / (time[-1] - time[0]) if len(time) > 1 else np.nan
    text = f"position {series.name!r}{others}, {len(time):,} samples at {rate:.3g} Hz"
    return time, position, text + (f" ({scaled})" if scaled else "")


def _spikes_of(file: NWBFile, name: str) -> tuple[NDArray[np.float64], ...]:
    units = file.units
    if units is None or not len(units):
        return ()
    if "spike_times" not in units.colnames:
        raise ValueError(
            f"The units of {name} have no spike_times, only {shown(list(units.colnames))}. Export "
            "the spike times of sorted units, in s."
        )
    return tuple(
        np.asarray(units.get_unit_spike_times(row), dtype=float) for row in range(len(units))
    )


def _field_potential_of(file: NWBFile, name: str) -> tuple[FieldPotential, str]:
    from pynwb.ecephys import ElectricalSeries

    found = []
    for each in file.objects.values():
        if isinstance(each, ElectricalSeries) and np.ndim(each.data):
            times = each.timestamps
            rate = float(each.rate) if each.rate else 1.0 / float(np.median(np.diff(times[:1000])))
            found.append((rate, str(each.name), each))
    slow = [each for each in found if _LOWEST_RATE < each[0] <= _HIGHEST_RATE]
    if not slow:
        rates = ", ".join(f"{rate:g}" for rate, _, _ in found) or "none"
        raise ValueError(
            f"The detection of ripples in {name} needs an ElectricalSeries at {_LOWEST_RATE:g} to "
            f"{_HIGHEST_RATE:g} Hz; got {rates}. Filter and downsample the field potential, or "
            "detect events by the rate of all cells."
        )
    rate, series_name, series = min(slow, key=lambda each: each[:2])
    values = np.asarray(series.data[:], dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    start = float(series.starting_time if series.rate else series.timestamps[0])
    channels = count_text(values.shape[1], "channel")
    how = f"field potential {series_name!r}, {channels} at {rate:g} Hz"
    return FieldPotential(start, rate, values), how


def _tables_of(file: NWBFile) -> Iterator[tuple[str, Any]]:
    from pynwb.epoch import TimeIntervals

    for each in file.objects.values():
        if isinstance(each, TimeIntervals):
            yield str(each.name), each


def _choose_events(tables: dict[str, Any], name: str, events: str | None) -> str | None:
    if events is not None:
        if events not in tables:
            raise unknown_name(f"table of events of {name}", events, tables)
        return events
    for part in _EVENT_NAMES:
        for table in tables:
            if part in table.lower():
                return table
    return None


def _intervals(table: Any, what: str) -> pd.DataFrame:
    found = table.to_dataframe()
    start, end = (found[column].to_numpy(dtype=float) for column in ("start_time", "stop_time"))
    return pd.DataFrame({"start_time": start, "end_time": end})


def _running(tables: dict[str, Any]) -> NDArray[np.float64]:
    """Find the epochs with a label of running."""
    for table in tables.values():
        label = next((each for each in ("label", "tags") if each in table.colnames), None)
        if label is None:
            continue
        epochs = table.to_dataframe()
        is_run = [_says_running(each) for each in epochs[label]]
        if any(is_run):
            kept = epochs.loc[is_run, ["start_time", "stop_time"]]
            return np.asarray(kept, dtype=float)
    return np.empty((0, 2))


def _says_running(label: object) -> bool:
    words = [label] if isinstance(label, str) else list(np.atleast_1d(np.asarray(label)))
    return any(str(word).strip().lower() in _RUNNING for word in words)
