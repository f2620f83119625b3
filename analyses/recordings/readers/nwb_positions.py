"""Positions in NWB files, as `SpatialSeries` with one or more columns.

Two or more columns are x, y, and others that are not read (z, or the velocity). One column is a
position along the track, which the track's linearisation maps to the plane. Two rows are x and y,
as files have them that were written from MATLAB.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.observed import check_times
from analyses.recordings.readers.nwb_tables import by_name
from analyses.recordings.readers.track_graphs import count_text, to_cm, to_plane
from replay.checks import unknown_name

if TYPE_CHECKING:
    from pynwb import NWBFile

__all__ = ["angles_of", "default_series", "read_positions", "series_of"]

_Positions = tuple[NDArray[np.float64], NDArray[np.float64], str]
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
