"""What a file holds: what could be chosen in it, and the command that would analyse it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.observed import joined
from analyses.recordings.basics.recording_checks import describe_still
from analyses.recordings.basics.settings import FIND, FIND_DECODED
from analyses.recordings.readers import read_positions, read_recording
from analyses.recordings.readers.array_files import is_remark, load_arrays
from analyses.recordings.readers.decoded import NETCDF, READ, open_posterior, open_table
from analyses.recordings.readers.npz_files import ARRAYS, kind_of
from analyses.recordings.readers.nwb_data import (
    angles_of,
    choose_events,
    default_series,
    intervals_of,
    labels_of,
    series_of,
    tables_of,
)
from analyses.recordings.readers.nwb_files import (
    HIGHEST_RATE,
    LOWEST_RATE,
    field_potentials_of,
    open_nwb,
)
from analyses.recordings.readers.nwb_units import (
    hippocampal,
    intervals_of_units,
    marks_of,
    unit_columns,
    units_of,
    without_noise,
)
from analyses.recordings.readers.remote_files import find_remote, is_address
from analyses.recordings.readers.track_graphs import IncompleteError, count_text
from replay.checks import known_arguments, typed
from replay.files import check_path

if TYPE_CHECKING:
    from pynwb import NWBFile


_MOST_VALUES = 8
_OFTEN, _FAR = 0.01, 0.2  # of positions; of the extent of all others
_RATES = f"{LOWEST_RATE:g} to {HIGHEST_RATE:g} Hz"


@known_arguments
@typed
def describe_file(
    path: str | Path, options: Mapping[str, str | int | Path | None] | None = None
) -> list[str]:
    """Say what a file of a recording holds, and the command that would analyse it.

    The command is tried: the recording is read with its options. If more is needed, such as a track
    graph, the file that must be added is `track.json` or the like; if nothing that could be chosen
    can be read, the last line says why.

    Parameters
    ----------
    path : path or address
        NWB (``.nwb``, also at an address), a decoded posterior (``.nc``), arrays (``.npz``,
        ``.mat``), a folder of CellExplorer, or a table (``.csv``, ``.parquet``).
    options : mapping of str to str, int or path, optional
        What is chosen already, by the names of the options of `read_recording`: `track`, `session`,
        `events` and the like.

    Returns
    -------
    list of str
        One sentence for each series, table or array, with the names that `read_recording` takes for
        `position`, `units`, `channel` and `events`, or why it is not used; the last is the command.

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
    ...     np.savez(Path(folder) / "mine.npz", spike_time=[0.5, 0.7], spike_unit=[0, 0])
    ...     describe_file(Path(folder) / "mine.npz")[0]
    'Array spike_time: 2 numbers.'
    """
    given = {key: each for key, each in (options or {}).items() if each is not None}
    # What could be chosen, the best first: each is tried until one can be read.
    lines: list[str] = []
    choices: list[dict[str, str]] = [{}]
    lacks: dict[str, str] = {}
    where: Any = find_remote(str(path)) if is_address(path) else check_path("path", path)
    ending = ".nwb" if is_address(path) else where.suffix.lower()
    if ending == ".nwb":
        with open_nwb(where) as file:
            lines, choices = _of_nwb(file, where.name)
        lines += _still(path, given.get("position"))
    elif ending in (".npz", ".mat") or where.is_dir():
        position = given.get("position")
        arrays = load_arrays(where, None if position is None else str(position))
        known = tuple(arrays) if kind_of(arrays) else ARRAYS
        for key, each in arrays.items():
            what = f"not read, {each}" if is_remark(each) else _size(each)
            is_told = key in known or is_remark(each)
            lines.append(f"Array {key}: {what}" + ("." if is_told else "; it is not used."))
            if key in ("position_xy", "position_xy_px"):
                lines += _lost(each)
        lines += _still(path, position)
    elif ending in NETCDF:
        lines = [
            f"Variable {key}: {_size(each)} ({', '.join(map(str, each.dims))})."
            for key, each in open_posterior(where).data_vars.items()
        ]
        lines.append("It holds no positions of the animal: name a file that does.")
        lacks = {"session": "positions.npz"}
    elif ending in (".csv", ".parquet"):
        table = open_table(where)
        lines = [f"A table of {count_text(len(table), 'row')}: {', '.join(map(str, table))}."]
        others = [str(each) for each in table if each not in READ]
        lines += [f"Columns that are not used: {', '.join(others)}."] if others else []
    else:
        raise ValueError(
            f"{where.name} cannot be described: .nwb, .nc, .npz, .mat, .csv and .parquet files can."
        )
    return [*lines, *_to_analyse(path, given, choices, lacks)]


def _to_analyse(
    path: str | Path,
    given: Mapping[str, str | int | Path],
    choices: list[dict[str, str]],
    lacks: Mapping[str, str],
) -> list[str]:
    """Return the command with the first choice with which the recording can be read."""
    reasons = []
    for choice in choices:
        chosen: dict[str, Any] = {**choice, **given}
        events = FIND if chosen.get("events") == FIND_DECODED else chosen.get("events")
        missing: Mapping[str, str] = {}
        try:
            found = read_recording(path, **chosen | {"events": events})
        except IncompleteError as error:  # with another file, this choice could be read
            reasons, missing = [str(error)], {**error.missing, **lacks}
        except (ValueError, TypeError, OSError, ImportError) as error:
            reasons.append(str(error))
            continue
        else:
            if not found.spikes and found.posterior is None and found.decoded is None:
                reasons, missing = [f"{found.name} has no spikes."], {"session": "spikes.npz"}
        options = {**missing, **chosen}
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        command = shlex.join(["replay", "recording", str(path), *words])
        if missing:
            return [*reasons, f"To analyse it, add what it lacks: {command}"]
        others = [f"Otherwise it cannot be read: {reasons[0]}"] if reasons else []
        return [*others, f"To analyse it: {command}"]
    return [f"It cannot be analysed as it is: {reasons[0]}"]


def _of_nwb(file: NWBFile, name: str) -> tuple[list[str], list[dict[str, str]]]:
    """Describe an NWB file; also return what could be chosen, the best first."""
    choice = {}
    series = series_of(file)
    lines = []
    for key, each in series.items():
        lines.append(f"Position {key}: {_size(each.data)}, {each.unit}.")
        lines += _lost(each.data)
    if len(series) > 1:
        choice["position"] = ",".join(default_series(series))
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
        choice["units"] = " and ".join(filter(None, wanted))
    marks = marks_of(file)
    if marks:
        how = "--units marks decodes them" if file.units is not None else "they are decoded so"
        lines.append(f"Spikes that were not sorted: {', '.join(marks)}; {how}.")
    tables = tables_of(file)
    for key, table in tables.items():
        times = intervals_of(table)
        text = f"Intervals {key}: {count_text(len(times), 'row')}"
        if len(times):
            text += f", {times['start_time'].min():g} to {times['end_time'].max():g} s"
        labels = [each for each in dict.fromkeys(chain(*labels_of(table).values())) if each]
        if labels:
            listed = ", ".join(labels[:_MOST_VALUES])
            text += f"; labels: {listed}" + " ..." * (len(labels) > _MOST_VALUES)
        lines.append(f"{text}.")
    events = choose_events(tables, name, None)
    if events:
        choice["events"] = events[0]
    potentials = field_potentials_of(file)
    for rate, key, each in potentials:
        why = "" if LOWEST_RATE < rate <= HIGHEST_RATE else f"; not used, as it is not at {_RATES}"
        lines.append(f"Electrical series {key}: {_size(each.data)} at {rate:g} Hz{why}.")
    read = [*series.values(), *angles_of(file).values(), *units.values(), *marks.values()]
    read += [*tables.values(), *(each for _, _, each in potentials), file.units, file.electrodes]
    lines += _not_used(file, {id(each) for each in read})
    if file.scratch and "track_graph" in file.scratch:
        lines.append("The track graph is in the file.")
    return lines, [choice, *({**choice, "position": key} for key in series), {}]


def _not_used(file: NWBFile, used: set[int]) -> Iterator[str]:
    """Name the series and tables that nothing reads, and say why."""
    from pynwb import TimeSeries
    from pynwb.core import DynamicTable

    for each in file.objects.values():
        if id(each) in used:
            continue
        if isinstance(each, TimeSeries):
            yield (
                f"Series {each.name} ({type(each).__name__}): {_size(each.data)}; not used, as it "
                "is neither positions of one or more columns, nor spikes, nor a field potential."
            )
        elif isinstance(each, DynamicTable):
            yield (
                f"Table {each.name}: {count_text(len(each), 'row')} with the columns "
                f"{', '.join(each.colnames)}; not used, as it has no start and end of intervals."
            )


def _of_units(file: NWBFile) -> Iterator[str]:
    known = units_of(file)
    if not known:
        yield "No units."
    for name, units in known.items():
        of = f" of {name}" if len(known) > 1 else ""
        yield f"Units{of}: {len(units)}, with the columns {', '.join(units.colnames)}."
        seen = intervals_of_units(units, np.arange(len(units)))
        if seen:  # cells that were lost, or found later
            whole = joined(np.concatenate(seen))
            n_less = sum(not np.array_equal(joined(each), whole) for each in seen)
            yield (
                f"Units{of} by obs_intervals: observed from {whole[0, 0]:g} to {whole[-1, 1]:g} s, "
                f"{n_less} of {len(units)} in a part of it; only what was observed counts."
            )
        for key, values in unit_columns(units).items():
            each, counts = np.unique(values, return_counts=True)
            if values.dtype.kind in "USb" and len(each) <= _MOST_VALUES:
                listed = ", ".join(f"{n} of {one}" for one, n in zip(each, counts, strict=True))
                yield f"Units{of} by {key}: {listed}."


def _lost(values: Any) -> Iterator[str]:
    """Name a place at which the animal is often, but only by jumps: its tracking was lost there."""
    places = np.asarray(values)
    if places.ndim != 2 or places.dtype.kind not in "fiu":
        return
    known = places[np.isfinite(places).all(axis=1)].astype(float)
    each, counts = np.unique(known, axis=0, return_counts=True)
    if len(each) == 0:
        return
    place = each[counts.argmax()]
    is_there = (known == place).all(axis=1)
    before = np.flatnonzero(is_there[1:] & ~is_there[:-1])
    if is_there.mean() < _OFTEN or not len(before):
        return
    extent = np.ptp(known[~is_there], axis=0).max()
    if np.median(np.linalg.norm(known[before] - place, axis=1)) > _FAR * extent:
        yield (
            f"{is_there.mean():.0%} of these positions are ({', '.join(f'{x:g}' for x in place)}), "
            "to which the animal jumps: its tracking was lost there. Leave these rows out."
        )


def _still(path: str | Path, position: object) -> list[str]:
    """Say when the position never changes; what is chosen must be there."""
    try:
        found, _ = read_positions(path, None if position is None else str(position))
    except ValueError:
        if position is not None:
            raise
        return []
    return [each for each in [describe_still(found.time, found.position)] if each]


def _size(values: NDArray[Any]) -> str:
    shape = np.shape(values)
    return " x ".join(f"{n:,}" for n in shape) + " numbers" if shape else "one number"
