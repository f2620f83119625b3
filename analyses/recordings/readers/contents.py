"""What a file holds: what could be chosen in it, and the command that would analyse it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.readers.array_files import load_arrays
from analyses.recordings.readers.nwb_files import field_potentials_of, open_nwb
from analyses.recordings.readers.nwb_marks import marks_of
from analyses.recordings.readers.nwb_positions import angles_of, default_series, series_of
from analyses.recordings.readers.nwb_tables import (
    choose_events,
    hippocampal,
    intervals_of,
    labels_of,
    tables_of,
    unit_columns,
    units_of,
    without_noise,
)
from analyses.recordings.readers.posteriors import NETCDF, open_posterior
from analyses.recordings.readers.remote_files import find_remote, is_address
from analyses.recordings.readers.table_files import open_table
from analyses.recordings.readers.units import count_text
from replay.checks import known_arguments
from replay.files import check_path

if TYPE_CHECKING:
    from pynwb import NWBFile

__all__ = ["describe_file"]

_MOST_VALUES = 8
_NO_TRACK = "It holds no track graph: name one (--track), or none for an open field."


@known_arguments
def describe_file(path: str | Path) -> list[str]:
    """Say what a file of a recording holds, and the command that would analyse it.

    Parameters
    ----------
    path : path or address
        NWB (``.nwb``, also at an address), a decoded posterior (``.nc``), arrays (``.npz``,
        ``.mat``) or a table (``.csv``, ``.parquet``).

    Returns
    -------
    list of str
        One sentence for each series, table or array, with the names that `read_recording` takes for
        `position`, `units`, `channel` and `events`; the last is the command.

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        If the file is damaged, or has another format.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "mine.npz", spike_time=[0.5, 0.7])
    ...     describe_file(Path(folder) / "mine.npz")[0]
    'Array spike_time: 2 numbers.'
    """
    options: list[str] = []
    if is_address(path):
        remote = find_remote(str(path))
        with open_nwb(remote) as file:
            lines, options = _of_nwb(file, remote.name)
        return [*lines, _to_analyse(path, options)]
    found = check_path("path", path)
    ending = found.suffix.lower()
    if ending == ".nwb":
        with open_nwb(found) as file:
            lines, options = _of_nwb(file, found.name)
    elif ending in (".npz", ".mat"):
        lines = [f"Array {key}: {_size(values)}." for key, values in load_arrays(found).items()]
        lines.append(_NO_TRACK)
    elif ending in NETCDF:
        lines = [
            f"Variable {key}: {_size(each)} ({', '.join(map(str, each.dims))})."
            for key, each in open_posterior(found).data_vars.items()
        ]
        lines += [_NO_TRACK, "It holds no positions of the animal: name a file that does."]
        options = ["--track", "track.json", "--session", "positions.npz"]
    elif ending in (".csv", ".parquet"):
        table = open_table(found)
        lines = [f"A table of {count_text(len(table), 'row')}: {', '.join(map(str, table))}."]
    else:
        raise ValueError(
            f"{found.name} cannot be described: .nwb, .nc, .npz, .mat, .csv and .parquet files can."
        )
    return [*lines, _to_analyse(found, options or ["--track", "track.json"])]


def _to_analyse(path: str | Path, options: list[str]) -> str:
    return f"To analyse it: {shlex.join(['replay', 'recording', str(path), *options])}"


def _of_nwb(file: NWBFile, name: str) -> tuple[list[str], list[str]]:
    """Describe an NWB file; also return the options of the command."""
    has_track = bool(file.scratch) and "track_graph" in file.scratch
    options = [] if has_track else ["--track", "track.json"]
    series = series_of(file)
    lines = [f"Position {key}: {_size(each.data)}, {each.unit}." for key, each in series.items()]
    if len(series) > 1:
        options += ["--position", ",".join(default_series(series))]
    lines += [
        f"Angles {key}: {_size(each.data)}, {each.unit}; they are not used."
        for key, each in angles_of(file).items()
    ]
    lines += _of_units(file)
    units = units_of(file)
    columns = unit_columns(next(iter(units.values()))) if units else {}
    wanted = [without_noise(columns)[1]]
    regions = columns.get("location")
    if regions is not None and len(np.unique(regions)) > 1:
        wanted.insert(0, f'location == "{hippocampal(regions)}"')
    if any(wanted):
        options += ["--units", " and ".join(filter(None, wanted))]
    marks = marks_of(file)
    if marks:
        how = "--units marks decodes them" if file.units is not None else "they are decoded so"
        lines.append(f"Spikes that were not sorted: {', '.join(marks)}; {how}.")
    tables = tables_of(file)
    lines += [_of_table(key, table) for key, table in tables.items()]
    events = choose_events(tables, name, None)
    if events:
        options += ["--events", events[0]]
    for rate, key, each in field_potentials_of(file):
        lines.append(f"Electrical series {key}: {_size(each.data)} at {rate:g} Hz.")
    lines.append("The track graph is in the file." if has_track else _NO_TRACK)
    return lines, options


def _of_units(file: NWBFile) -> Iterator[str]:
    known = units_of(file)
    if not known:
        yield "No units."
    for name, units in known.items():
        of = f" of {name}" if len(known) > 1 else ""
        yield f"Units{of}: {len(units)}, with the columns {', '.join(units.colnames)}."
        for key, values in unit_columns(units).items():
            each, counts = np.unique(values, return_counts=True)
            if values.dtype.kind in "USb" and len(each) <= _MOST_VALUES:
                listed = ", ".join(f"{n} of {one}" for one, n in zip(each, counts, strict=True))
                yield f"Units{of} by {key}: {listed}."


def _of_table(name: str, table: Any) -> str:
    times = intervals_of(table)
    text = f"Intervals {name}: {count_text(len(times), 'row')}"
    labels = [each for each in dict.fromkeys(chain(*labels_of(table).values())) if each]
    if len(times):
        text += f", {times['start_time'].min():g} to {times['end_time'].max():g} s"
    if labels:
        shown = ", ".join(labels[:_MOST_VALUES]) + (" ..." if len(labels) > _MOST_VALUES else "")
        text += f"; labels: {shown}"
    return f"{text}."


def _size(values: NDArray[Any]) -> str:
    shape = np.shape(values)
    return " x ".join(f"{n:,}" for n in shape) + " numbers" if shape else "one number"
