"""Plain tables: decoded places by event, candidate events, and positions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from analyses.recordings.basics.observed import check_digits
from analyses.recordings.basics.recording import Recording, check_events
from analyses.recordings.basics.settings import MOST_UNKNOWN
from analyses.recordings.readers.track_graphs import IncompleteError, epochs_of, linear_to_plane
from replay import files
from replay.checks import check_all, check_column, check_table, shown, typed

_STARTS = ("start_time", "start", "start_s")
_ENDS = ("end_time", "stop_time", "end", "stop", "end_s", "stop_s")
_WHOSE = ("animal", "subject", "rat", "session")
READ = ("event", "time", "x", "y", "linear_position", *_WHOSE)
"""The columns that are read of decoded places or positions."""


def open_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV or parquet file.

    Rows of a CSV file have the numbers of their lines, for messages: usually the first is row 2.
    """
    try:
        table = files.read_table(path, _WHOSE)
    except ValueError as error:
        raise ValueError(
            f"{error} Write it again as CSV, with the names of columns in the first line."
        ) from None
    if Path(path).suffix == ".parquet":
        return table
    with files.opened(path) as file:
        lines = [number for number, line in enumerate(file, start=1) if line.strip()][1:]
    # A quoted cell may have several lines.
    return table.set_axis(pd.Index(lines) if len(lines) == len(table) else table.index + 2)


@typed
def read_table(
    source: str | Path | pd.DataFrame, graph: nx.Graph | None, *, most_unknown: float = MOST_UNKNOWN
) -> Recording:
    """Read decoded places, or the positions of an animal, from a table or a CSV or parquet file.

    It has `time` (s), and `x, y` or `linear_position` (cm), in any order; and `event`, unless these
    are the positions of the animal.
    """
    name = "the table" if isinstance(source, pd.DataFrame) else Path(source).name
    table = source if isinstance(source, pd.DataFrame) else open_table(source)
    has_places = {"x", "y"} <= {*table} or "linear_position" in table
    check_table(table, ["time"] if has_places else ["time", "x", "y"], name)
    for column in _WHOSE:
        if column in table and len(table[column].unique()) > 1:
            several = shown(sorted(map(str, table[column].unique())))
            raise ValueError(
                f"{name} has more than one {column}: {several}. Their experience differs, so give "
                "a separate file for each."
            )
    axes = ["x", "y"] if "x" in table and "y" in table else ["linear_position"]
    if axes[0] not in table or (len(axes) == 1 and graph is None):
        error = IncompleteError if "linear_position" in table else ValueError
        raise error(
            f"{name} must have the columns x and y, or linear_position and a track graph (track); "
            f"it has {shown(list(table.columns))}."
        )
    kinds: dict[str, dict[str, Any]] = {"time": {"kind": "number"}}
    kinds |= {key: {"kind": "number", "missing": True} for key in axes}
    kinds |= {"event": {"kind": "whole"}} if "event" in table else {}
    checks = (partial(check_column, table, column, name, **kinds[column]) for column in kinds)
    time, *places = check_all(checks)
    check_digits(table["time"], f"The times of {name}")
    if graph is not None and len(axes) == 1:
        xy = linear_to_plane(graph, places[0], f"Places of {name}")
    else:
        xy = np.stack(places[:2], axis=1)
    if "event" not in table:
        note = f"{name}: a table of {len(table):,} positions."
        on_track = epochs_of(graph)
        return Recording(
            name, graph, time, xy, on_track=on_track, notes=(note,), most_unknown=most_unknown
        )
    event = places[-1]
    decoded = pd.DataFrame({"event": event, "time": time, "x": xy[:, 0], "y": xy[:, 1]})
    spans = decoded.groupby("event", sort=False)["time"].agg(["min", "max"])
    events = pd.DataFrame({"start_time": spans["min"], "end_time": spans["max"]})
    events = events.reset_index(drop=True)
    events.loc[events["end_time"] <= events["start_time"], "end_time"] += 1e-3
    note = f"{name}: a table of {len(table):,} decoded places in {len(events)} events."
    return Recording(
        name, graph, decoded=decoded, events=events, notes=(note,), most_unknown=most_unknown
    )


def bounds_of(columns: Iterable[object]) -> tuple[str, str] | None:
    """Find the columns of begin and end of intervals, in s; None unless there are both."""
    names = set(columns)
    start = next((name for name in _STARTS if name in names), None)
    end = next((name for name in _ENDS if name in names), None)
    return None if start is None or end is None else (start, end)


def read_events(source: str | Path | pd.DataFrame | object) -> pd.DataFrame:
    """Read candidate events from a table, a CSV or parquet file, or an IntervalSet, in order.

    It has `start_time` and `end_time` in s, also under the names that other programs use, such as
    `start`, `end` and `stop_time`.
    """
    if hasattr(source, "as_dataframe"):
        table = source.as_dataframe()
    else:
        table = open_table(source) if isinstance(source, str | Path) else source
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"Events must be a table; got {shown(table)}.")
    whose = Path(source).name if isinstance(source, str | Path) else "the events"
    for names in (_STARTS, _ENDS):
        same = [name for name in names if name in table]
        if any(not table[name].equals(table[same[0]]) for name in same[1:]):
            raise ValueError(
                f"The columns {' and '.join(same)} of {whose} differ, perhaps in their unit: keep "
                "one of them, in s."
            )
    bounds = bounds_of(table)
    if bounds is None:
        raise ValueError(
            "Events need the columns start_time and end_time (s); got "
            f"{shown(list(table.columns))}."
        )
    start, end = check_events(table, whose, bounds)
    found = pd.DataFrame({"start_time": start, "end_time": end})
    return found.sort_values(["start_time", "end_time"], ignore_index=True)
