"""Positions, candidate events and epochs, as NWB files have them.

Positions are a `SpatialSeries` with one or more columns. Two or more columns are x, y, and others
that are not read (z, or the velocity). One column is a position along the track, which the track's
linearisation maps to the plane. Two rows are x and y, as files have them that were written from
MATLAB.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd

from analyses.recordings.basics.binned_track import cut_track, project
from analyses.recordings.basics.observed import check_times
from analyses.recordings.basics.settings import FARTHEST, RUN
from analyses.recordings.readers.track_graphs import count_text, epochs_of, to_cm, to_plane
from replay.checks import unknown_name
from replay.checks.arrays import Floats

if TYPE_CHECKING:
    from pynwb import NWBFile


_EVENT_NAMES = ("ripple", "swr", "sharp_wave", "mua", "hse", "candidate", "replay_events")
STARTS = ("start_time", "start", "start_s")
"""The names of columns of begins, in s, as several programs have them."""
ENDS = ("end_time", "stop_time", "end", "stop", "end_s", "stop_s")
"""The names of columns of ends."""
_LABELS = ("label", "tags", "epoch_name", "epoch_type", "task", "environment", "state")
_RUNNING = {"run", "running", "track", "maze", "task", "behavior", "behaviour"}
_RESTING = {"rest", "sleep", "box", "home", "pre", "post", "off", "cage"}
# An animal that is carried over the track, or rests at one of its ends, does not run on it.
_LEAST_ON_TRACK, _LEAST_EXTENT = 0.8, 0.5  # shares of samples, and of the extent of the track


def by_name(objects: Iterable[Any]) -> dict[str, Any]:
    """Name objects of a file, each with as much of its path as tells it from the others."""
    found = list(objects)
    ends = []
    for each in found:
        name, own = "", []
        while each is not None:
            name = f"{each.name}/{name}".rstrip("/")
            own.append(name)
            each = each.parent
        ends.append(own)
    count = Counter(name for own in ends for name in own)
    names = [next(name for name in own if count[name] == 1) for own in ends]
    return dict(zip(names, found, strict=True))


def split_choice(text: str, known: Mapping[str, Any]) -> tuple[str, str]:
    """Divide ``NAME:REST``, or ``NAME``, if it is known; else take the first, and all as the rest.

    Examples
    --------
    >>> split_choice("probe2:3", {"probe1": 0, "probe2": 1})
    ('probe2', '3')
    >>> split_choice("3", {"probe1": 0, "probe2": 1})
    ('probe1', '3')
    """
    name, _, rest = text.partition(":")
    return (name.strip(), rest.strip()) if name.strip() in known else (next(iter(known)), text)


def not_read(names: Sequence[str], option: str) -> str:
    """Say what was left out where there are several of a kind, and the option that takes it.

    Examples
    --------
    >>> not_read(["probe2"], "channel, such as {}:0")
    " (not read: 'probe2'; choose by channel, such as probe2:0)"
    """
    if not names:
        return ""
    listed = ", ".join(map(repr, names))
    return f" (not read: {listed}; choose by {option.format(names[0])})"


def bounds_of(columns: Iterable[object]) -> tuple[str, str] | None:
    """Find the columns of begin and end of intervals, in s; None unless there are both."""
    names = set(columns)
    start = next((name for name in STARTS if name in names), None)
    end = next((name for name in ENDS if name in names), None)
    return None if start is None or end is None else (start, end)


def tables_of(file: NWBFile) -> dict[str, Any]:
    """Return the tables with begins and ends, by name: those of epochs first, of trials last."""
    from hdmf.common import DynamicTable

    found = by_name(
        each
        for each in file.objects.values()
        if isinstance(each, DynamicTable)
        and (bounds := bounds_of(each.colnames))
        # Columns of these names may also hold texts, or references to other tables.
        and all(np.asarray(each[name].data[:1]).dtype.kind in "iuf" for name in bounds)
    )

    def rank(name: str) -> tuple[bool, bool, bool, str]:
        own = name.rpartition("/")[2].lower()
        return "trial" in own, "epoch" not in own, own != "epochs", name

    return {name: found[name] for name in sorted(found, key=rank)}


def choose_events(tables: Mapping[str, Any], name: str, events: str | None) -> tuple[str, ...]:
    """Return the table of events that is named; or else all with suitable names, best first."""
    if events is not None:
        if events not in tables:
            raise unknown_name(f"table of events of {name}", events, tables)
        return (events,)
    suitable = [table for part in _EVENT_NAMES for table in tables if part in table.lower()]
    return tuple(dict.fromkeys(suitable))


def intervals_of(table: Any) -> pd.DataFrame:
    """Read begin and end of each row that has both; the index has the numbers of these rows."""
    columns = zip(("start_time", "end_time"), bounds_of(table.colnames) or (), strict=True)
    return pd.DataFrame(
        {name: np.asarray(table[column].data[:], dtype=float) for name, column in columns}
    ).dropna()


def plain(value: Any) -> Any:
    """Convert a cell of a table to a text, number or truth value of Python."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.item() if isinstance(value, np.generic) else value


def labelled_epochs(tables: Mapping[str, Any]) -> tuple[dict[str, Floats], list[str]]:
    """Collect begin and end of intervals by their label; also say which are in several tables.

    A label has the times of the first table that has it, and ``TABLE:LABEL`` those of each.
    """
    first: dict[str, tuple[str, Floats]] = {}
    each: dict[str, Floats] = {}
    others: dict[tuple[str, str], list[str]] = {}
    for table, labels, times in _labelled(tables):
        for label in dict.fromkeys(labels):
            own = times[[one == label for one in labels]]
            each[f"{table}:{label}"] = own
            taken, known = first.setdefault(label, (table, own))
            if not np.array_equal(own, known):
                others.setdefault((taken, table), []).append(label)
    told = [
        f"times of {', '.join(map(repr, labels))} are those in {taken!r}, not in {table!r}: choose "
        f"by epochs, such as '{RUN}={table}:{labels[0]}'"
        for (taken, table), labels in others.items()
    ]
    return {label: times for label, (_, times) in first.items()} | each, told


def _labelled(tables: Mapping[str, Any]) -> Iterator[tuple[str, list[str], Floats]]:
    """Iterate over columns of labels: table (and column, after the first), labels, times."""
    for name, table in tables.items():
        for number, (column, labels) in enumerate(labels_of(table).items()):
            times = intervals_of(table)
            kept = [row for row in times.index if labels[row]]
            yield (
                f"{name}.{column}" if number else name,
                [labels[row] for row in kept],
                times.loc[kept].to_numpy(),
            )


def labels_of(table: Any) -> dict[str, list[str]]:
    """Read the labels of the rows of a table, by the column that has them."""
    found: dict[str, list[str]] = {}
    for column in (each for each in _LABELS if each in table.colnames):
        found[column] = []
        for row in range(len(table)):
            value = table[column][row]
            words = [value] if isinstance(value, str | bytes) else np.ravel(np.asarray(value))
            found[column].append(" ".join(str(plain(word)) for word in words).strip())
    return found


def running_epochs(
    tables: Mapping[str, Any], time: Floats, position: Floats, graph: nx.Graph | None
) -> tuple[Floats, str]:
    """Find the epochs in which the animal was on the track, and say how, and which were left out.

    These are the epochs with a label of running; or, in a table of epochs without such labels,
    those in which positions are on the track and go along much of it. The first table counts, and
    without any the epochs of the track graph.
    """
    found = []
    for name, table in tables.items():
        for source, labels, times in _labelled({name: table}):
            is_run = []
            for label in labels:  # `MazeEpoch` has the words maze and epoch
                parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", label)
                words = {part.lower() for part in parts}
                is_run.append(bool(words & _RUNNING) and not words & _RESTING)
            if any(is_run):
                how = f"of {len(table)} in {source!r}, by their labels"
                found.append((times[is_run], how, f"{source}:{labels[is_run.index(True)]}"))
        if not found and "epoch" in name.lower() and graph and len(time):
            times, track = intervals_of(table).to_numpy(), cut_track(graph, bin_size=10.0)
            known = ~np.isnan(position).any(axis=1)
            is_near = project(track, position).away <= FARTHEST  # not where it is unknown
            extent = np.ptp(track.node_position, axis=0).max()
            kept = []
            for begin, end in times:
                own = known & (time >= begin) & (time <= end)
                near = position[own & is_near]
                kept.append(
                    own.sum() > 1
                    and len(near) / own.sum() >= _LEAST_ON_TRACK
                    and np.ptp(near, axis=0).max() >= _LEAST_EXTENT * extent
                )
            if any(kept):
                found.append((times[kept], f"of {len(kept)} in {name!r}, by the positions", ""))
    of_graph = epochs_of(graph)
    if not found:
        return of_graph, "of the track graph"
    (taken, how, _), *others = found
    left = [choice for times, _, choice in others if not np.array_equal(times, taken)]
    if left:
        how += f"; not {', '.join(map(repr, left))}: choose by epochs, such as '{RUN}={left[0]}'"
    if len(of_graph) and not np.array_equal(taken, of_graph):
        how += "; not those of the track graph: choose by epochs, with their times"
    return taken, how


_Positions = tuple[Floats, Floats, str]
"""Times (s), positions (cm), and a phrase on what was read."""

_ANGLES = ("rad", "deg")
_MOST_COLUMNS = 8  # of a series of few samples


def series_of(file: NWBFile) -> dict[str, Any]:
    """Return the series of positions by name, in the order in which they are preferred.

    Series of the same name are told apart by their container: ``Position/xy``. Series of positions
    in the plane come before those along the track.
    """
    found = [each for each in _spatial(file, angles=False) if np.ndim(each.data) in (1, 2)]
    found.sort(key=lambda each: (_width(each) < 2, str(each.parent.name) != "Position", each.name))
    return by_name(found)


def angles_of(file: NWBFile) -> dict[str, Any]:
    """Return the series of angles, such as the head direction, by name; nothing reads them."""
    return by_name(_spatial(file, angles=True))


def _spatial(file: NWBFile, *, angles: bool) -> list[Any]:
    from pynwb.behavior import SpatialSeries

    found = []
    for each in file.objects.values():
        if isinstance(each, SpatialSeries):
            in_angles = str(each.unit).lower().startswith(_ANGLES)
            if angles == (in_angles or type(each.parent).__name__ == "CompassDirection"):
                found.append(each)
    return found


def default_series(known: dict[str, Any]) -> list[str]:
    """Choose the first series, and those of its container that follow one another.

    Files with a series for each epoch have them in one container.
    """
    first, *others = known
    chosen, like = [first], known[first]
    spans = [_span(like)]
    for name in others:
        each = known[name]
        is_alike = each.parent is like.parent and str(each.unit) == str(like.unit)
        if is_alike and _width(each) == _width(like):
            begin, end = _span(each)
            if all(end <= one or other <= begin for one, other in spans):
                chosen.append(name)
                spans.append((begin, end))
    return chosen


def _span(series: Any) -> tuple[float, float]:
    n_times = np.shape(series.data)[1 if _is_turned(series) else 0]
    if not n_times:
        return np.inf, np.inf
    if series.timestamps is not None:
        return float(series.timestamps[0]), float(series.timestamps[n_times - 1])
    begin = float(series.starting_time)
    return begin, begin + (n_times - 1) / float(series.rate)


def read_positions(
    file: NWBFile, name: str, graph: nx.Graph | None, position: str | None
) -> _Positions:
    """Read the series that is named (several joined by commas), or else the default.

    Without a track, only the first is read: an arena is found from all positions.
    """
    known = series_of(file)
    if not known:
        return np.empty(0), np.empty((0, 2)), "no position"
    if position is not None:
        chosen = [each.strip() for each in position.split(",") if each.strip()]
        for each in chosen:
            if each not in known:
                raise unknown_name(f"series of positions of {name}", each, known)
    else:
        chosen = default_series(known) if graph is not None else [next(iter(known))]
    parts = [_read(known[each], each, name, graph) for each in chosen]
    parts.sort(key=lambda part: part[0].min(initial=np.inf))
    time = np.concatenate([part[0] for part in parts])
    filled = [part[0] for part in parts if len(part[0])]
    if any(later.min() < one.max() for one, later in pairwise(filled)):
        raise ValueError(
            f"The series of positions {', '.join(chosen)} of {name} are of the same times: choose "
            "one of them (position)."
        )
    place = np.concatenate([part[1] for part in parts])
    others = [each for each in known if each not in chosen]
    rate = 1.0 / float(np.median(np.diff(np.sort(time)))) if len(time) > 1 else np.nan
    text = f"position {', '.join(map(repr, chosen))}, {len(time):,} samples at {rate:.3g} Hz"
    notes = list(dict.fromkeys(part[2] for part in parts if part[2]))
    if others:
        notes.append(f"not read: {', '.join(map(repr, others))}; choose by position")
    angles = angles_of(file)
    if angles:
        notes.append(f"angles are not used: {', '.join(map(repr, angles))}")
    return time, place, text + (f" ({'; '.join(notes)})" if notes else "")


def _width(series: Any) -> int:
    if _is_turned(series):
        return 2
    return 1 if np.ndim(series.data) == 1 else int(np.shape(series.data)[1])


def _is_turned(series: Any) -> bool:
    """Whether a series is 2 x n: one column for each time."""
    n_rows, n_columns = (*np.shape(series.data), 1)[:2]
    if n_rows != 2 or n_columns == 2:  # two places are two rows
        return False
    has_times = series.timestamps is not None
    return bool(n_columns == len(series.timestamps) if has_times else n_columns > _MOST_COLUMNS)


def _read(series: Any, label: str, name: str, graph: nx.Graph | None) -> _Positions:
    data = np.asarray(series.data[:], dtype=float)
    data = data.T if _is_turned(series) else data.reshape(len(data), -1)
    width = data.shape[1]
    if width > max(len(data), _MOST_COLUMNS):
        raise ValueError(
            f"The positions {label!r} of {name} have {len(data)} rows and {width:,} columns. In "
            "NWB each time has a row, n x 2; two rows, 2 x n, are read as well: transpose them."
        )
    data = data[:, :2] * float(series.conversion or 1.0) + float(series.offset or 0.0)
    if series.timestamps is not None:
        time = check_times(series.timestamps[:], f"The timestamps of {label!r} of {name}")
    else:
        time = float(series.starting_time) + np.arange(len(data)) / float(series.rate)
    unit, what = str(series.unit), f"The positions {label!r} of {name}"
    if width == 1:
        place, scaled = to_plane(data[:, 0], unit, graph, name, what)
    else:
        place, scaled = to_cm(data, unit, graph, name)
    notes = [scaled] if scaled else []
    if width == 1:
        notes.append("linearised")
    elif width > 2:
        notes.append(f"x and y are the first of its {count_text(width, 'column')}")
    return time, place, "; ".join(notes)
