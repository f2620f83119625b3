"""Tables of NWB files: units and what is known of each, candidate events, and epochs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import cut_track, project
from analyses.recordings.basics.settings import FARTHEST
from replay.checks import unknown_name

if TYPE_CHECKING:
    from pynwb import NWBFile

__all__ = ["choose_events", "intervals_of", "labelled_epochs", "labels_of", "running_epochs"]
__all__ += ["hippocampal", "tables_of", "unit_columns"]

_EVENT_NAMES = ("ripple", "swr", "sharp_wave", "mua", "hse", "candidate", "replay_events")
_LABELS = ("label", "tags", "epoch_name", "epoch_type", "task", "environment", "state")
_RUNNING = {"run", "running", "track", "maze", "task", "behavior", "behaviour"}
_RESTING = {"rest", "sleep", "box", "home", "pre", "post", "off", "cage"}
_HIPPOCAMPUS = "CA[1-4]|hippoc|HPC|dentate"
_LEAST_ON_TRACK, _LEAST_EXTENT = 0.8, 0.5  # shares of samples, and of the extent of the track


def tables_of(file: NWBFile) -> Iterator[tuple[str, Any]]:
    """Iterate over the tables of intervals of a file, by name."""
    from pynwb.epoch import TimeIntervals

    for each in file.objects.values():
        if isinstance(each, TimeIntervals):
            yield str(each.name), each


def choose_events(tables: Mapping[str, Any], name: str, events: str | None) -> str | None:
    """Return the table of events that is named, or else the first with a suitable name."""
    if events is not None:
        if events not in tables:
            raise unknown_name(f"table of events of {name}", events, tables)
        return events
    for part in _EVENT_NAMES:
        for table in tables:
            if part in table.lower():
                return table
    return None


def intervals_of(table: Any) -> pd.DataFrame:
    """Read begin and end of each row, and nothing else."""
    start, end = (
        np.asarray(table[column].data[:], dtype=float) for column in ("start_time", "stop_time")
    )
    return pd.DataFrame({"start_time": start, "end_time": end})


def unit_columns(file: NWBFile) -> dict[str, NDArray[Any]]:
    """Read the columns of the units with one value for each; and `location`, from electrodes."""
    units = file.units
    found: dict[str, NDArray[Any]] = {}
    for column in units.columns:
        values = column.data
        if np.ndim(values) == 1 and len(values) == len(units) and column.name in units.colnames:
            listed = [_plain(each) for each in values[:]]
            if all(isinstance(each, str | bool | int | float) for each in listed):
                found[str(column.name)] = np.asarray(listed)
    if "location" not in found:
        places = _locations(file)
        if places is not None:
            found["location"] = np.asarray(places)
    return found


def hippocampal(regions: NDArray[Any]) -> str:
    """Return the region of most units, of those in the hippocampus if there are any.

    Examples
    --------
    >>> hippocampal(np.array(["PFC", "PFC", "left CA1"]))
    'left CA1'
    """
    known, counts = np.unique(regions, return_counts=True)
    is_there = [bool(re.search(_HIPPOCAMPUS, str(each), re.IGNORECASE)) for each in known]
    return str(known[np.lexsort((-counts, np.logical_not(is_there)))[0]])


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.item() if isinstance(value, np.generic) else value


def _locations(file: NWBFile) -> list[str] | None:
    """Find the region of each unit, by its first electrode or its electrode group."""
    units = file.units
    if "electrodes" in units.colnames and file.electrodes is not None:
        if "location" not in file.electrodes.colnames:
            return None
        place = [str(_plain(each)) for each in file.electrodes["location"].data[:]]
        index = units["electrodes"]
        if hasattr(index, "target"):
            rows, ends = index.target.data[:], index.data[:]
            firsts = np.append(0, ends[:-1])
            return [
                place[int(rows[first])] if last > first else "unknown"
                for first, last in zip(firsts, ends, strict=True)
            ]
        return [place[int(row)] for row in index.data[:]]
    if "electrode_group" in units.colnames:
        return [str(group.location) for group in units["electrode_group"].data[:]]
    return None


def labelled_epochs(tables: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Collect begin and end of intervals by their label, from all tables that have labels."""
    found: dict[str, NDArray[np.float64]] = {}
    for table in tables.values():
        labels = labels_of(table)
        if labels is None:
            continue
        times = intervals_of(table).to_numpy()
        for label in dict.fromkeys(labels):
            found.setdefault(label, times[[each == label for each in labels]])
    return found


def running_epochs(
    tables: Mapping[str, Any],
    time: NDArray[np.float64],
    position: NDArray[np.float64],
    graph: nx.Graph | None,
) -> tuple[NDArray[np.float64], str]:
    """Find the epochs in which the animal was on the track, and say how.

    These are the epochs with a label of running; or, in a table of epochs without such labels,
    those in which positions are on the track and go along much of it.
    """
    for table in tables.values():
        labels = labels_of(table)
        is_run = [] if labels is None else [_says_running(each) for each in labels]
        if any(is_run):
            epochs = intervals_of(table).to_numpy()[is_run]
            return epochs, f"of {len(is_run)} in {table.name!r}, by their labels"
    for table in tables.values():
        if "epoch" not in str(table.name).lower() or graph is None or not len(time):
            continue
        epochs = intervals_of(table).to_numpy()
        kept = [_is_on_track(time, position, graph, begin, end) for begin, end in epochs]
        if any(kept):
            return epochs[kept], f"of {len(kept)} in {table.name!r}, by the positions"
    return np.empty((0, 2)), ""


def labels_of(table: Any) -> list[str] | None:
    """Read the labels of the rows of a table, if it has any."""
    column = next((each for each in _LABELS if each in table.colnames), None)
    if column is None:
        return None
    labels = []
    for row in range(len(table)):
        value = table[column][row]
        words = [value] if isinstance(value, str | bytes) else np.ravel(np.asarray(value))
        labels.append(" ".join(str(_plain(word)) for word in words).strip())
    return labels


def _says_running(label: str) -> bool:
    """Look for words of running, and none of rest; `MazeEpoch` has the words maze and epoch."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", label)
    words = {part.lower() for part in parts}
    return bool(words & _RUNNING) and not words & _RESTING


def _is_on_track(
    time: NDArray[np.float64],
    position: NDArray[np.float64],
    graph: nx.Graph,
    begin: float,
    end: float,
) -> bool:
    there = position[(time >= begin) & (time <= end)]
    there = there[~np.isnan(there).any(axis=1)]
    if len(there) < 2:
        return False
    track = cut_track(graph, bin_size=10.0)
    is_near = project(track, there).away <= FARTHEST
    if is_near.mean() < _LEAST_ON_TRACK:
        return False
    extent = np.ptp(there[is_near], axis=0).max()
    return bool(extent >= _LEAST_EXTENT * np.ptp(track.node_position, axis=0).max())
