"""Recordings in NWB files: position, units, and tables of events and epochs.

A file needs a ``SpatialSeries`` of positions, or a table of units with their spike times, or both.
The table of events is a ``TimeIntervals`` anywhere in the file; so is that of epochs, whose labels,
or else the positions, tell those in which the animal ran on the track. Nothing else is loaded: of
the field potential only what is asked for.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.clocks import check_digits, check_times
from analyses.recordings.basics.marks import describe_classes
from analyses.recordings.basics.observed import within
from analyses.recordings.basics.recording import FieldPotential, Recording, sampled_at
from analyses.recordings.basics.settings import FIND_RIPPLES, MOST_UNKNOWN
from analyses.recordings.readers.hdf5_files import check_contents, check_hdf5
from analyses.recordings.readers.nwb_marks import MARKS, has_marks, read_marks
from analyses.recordings.readers.nwb_positions import read_positions
from analyses.recordings.readers.nwb_tables import (
    by_name,
    choose_events,
    hippocampal,
    intervals_of,
    labelled_epochs,
    not_read,
    running_epochs,
    split_choice,
    tables_of,
    unit_columns,
    units_of,
    without_noise,
)
from analyses.recordings.readers.observed_times import (
    intervals_of_units,
    outside_of,
    with_spikes,
)
from analyses.recordings.readers.remote_files import Remote, kept_folder, opened_remote
from analyses.recordings.readers.table_files import bounds_of
from analyses.recordings.readers.track_graphs import epochs_of, read_track
from analyses.recordings.readers.unit_choice import choose_units
from analyses.recordings.readers.units import count_text
from replay.checks import check_fits, check_whole, shown, unknown_name
from replay.files import check_file

if TYPE_CHECKING:
    from pynwb import NWBHDF5IO, NWBFile

__all__ = ["HIGHEST_RATE", "LOWEST_RATE", "Choices", "field_potentials_of", "open_nwb", "read_nwb"]

LOWEST_RATE, HIGHEST_RATE = 500.0, 5000.0
"""In Hz, of a field potential in which ripples are detected."""
_MOST_REGIONS = 6
_COPIES = 5  # of the field potential, while ripples are detected


class Choices(NamedTuple):
    """What to read of an NWB file that has several of a kind.

    Attributes
    ----------
    position : str or None
        The name of the series of positions; several are joined by commas. By default the first in
        the plane.
    units : str or None
        An expression over the columns of units (`unit_choice`), after the name of their table if
        there are several (``TABLE:EXPRESSION``); by default all units of the first are read.
        ``"marks"`` reads the spikes that were not sorted instead.
    channel : int, str or None
        The channel of the field potential, from 0, which is read also if events are given; its
        series (``SERIES``), or both (``SERIES:CHANNEL``). By default all channels of the first are
        read where ripples are detected in them, and else none.
    """

    position: str | None = None
    units: str | None = None
    channel: int | str | None = None


def read_nwb(
    path: str | Path | Remote,
    graph: nx.Graph | None = None,
    *,
    events: str | None = None,
    choices: Choices = Choices(),  # noqa: B008 (immutable)
    most_unknown: float = MOST_UNKNOWN,
) -> Recording:
    """Read an NWB file.

    Parameters
    ----------
    path : path or Remote
        The file, or where it is.
    graph : networkx.Graph, optional
        The track; by default, the JSON text `track_graph` in the file's scratch space.
    events : str, optional
        The name of the table of candidate events; by default the first table with a suitable name
        (for instance ripples), if there is one. ``"find_ripples"`` reads the field potential
        instead, for the detection of ripples.
    choices : Choices, optional
        What to read where the file has several of a kind.
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
    name = path.name if isinstance(path, Remote) else Path(path).name
    with open_nwb(path) as file:
        return _of_file(file, name, graph, events, choices, most_unknown)


@contextmanager
def open_nwb(path: str | Path | Remote) -> Iterator[NWBFile]:
    """Open an NWB file whose data are read as they are asked for; see `read_nwb` for errors."""
    name = path.name if isinstance(path, Remote) else check_file(path).name
    try:
        from pynwb import NWBHDF5IO
    except ImportError:
        raise ImportError(
            "NWB files need pynwb: pip install 'hippocampal-replay[recordings]'."
        ) from None
    try:
        with ExitStack() as stack:
            file = stack.enter_context(_opened(path, stack, NWBHDF5IO))
            with warnings.catch_warnings():  # published files have more columns than NWB suggests
                warnings.filterwarnings("ignore", "SpatialSeries .* data shape")
                content = _content(file)
            yield content
    except (ValueError, ImportError):
        raise
    except Exception as error:  # a damaged file may raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        if isinstance(path, Remote):
            raise OSError(
                f"Reading {name} broke off: the network failed, the file was changed meanwhile, or "
                f"it is damaged ({reason[:120]}). Run the same again: what has arrived before the "
                f"network failed is kept in {kept_folder(path)}. Remove that folder to begin anew."
            ) from error
        raise ValueError(
            f"{name} cannot be read as an NWB file: it is truncated, damaged or of another format "
            f"({reason[:120]}). Copy it again from its source, or export it again."
        ) from error


def _opened(path: Any, stack: ExitStack, reader: type[NWBHDF5IO]) -> NWBHDF5IO:
    if not isinstance(path, Remote):
        check_hdf5(path)
        return reader(str(path), "r")
    import h5py

    file = stack.enter_context(h5py.File(stack.enter_context(opened_remote(path)), "r"))
    if check_contents(file, path.name):
        raise ValueError(
            f"{path.name} leads to other files, which are not read over the network: download all "
            "of them, and name the file instead."
        )
    return reader(file=file, mode="r")


def _content(file: NWBHDF5IO) -> NWBFile:
    try:
        return file.read()
    except ValueError as error:
        raise OSError(str(error)) from error


def _of_file(
    file: NWBFile,
    name: str,
    graph: nx.Graph | None,
    events: str | None,
    choices: Choices,
    most_unknown: float,
) -> Recording:
    if graph is None:
        graph = _graph_of(file)
    time, position, text = read_positions(file, name, graph, choices.position)
    electrode = None
    unit: tuple[str, ...] = ()
    intervals: list[NDArray[np.float64]] = []
    if choices.units == MARKS or (not units_of(file) and has_marks(file)):
        spikes, electrode = read_marks(file, name)
        how = describe_classes(spikes, electrode)
    else:
        spikes, unit, intervals, how = _spikes_of(file, name, choices.units)
        if has_marks(file):
            how += f" (spikes that were not sorted are not read; choose by units: {MARKS!r})"
    text += f"; {how}"
    invalid = np.empty((0, 2))
    if file.invalid_times is not None:
        invalid = intervals_of(file.invalid_times).to_numpy()
        text += f"; {count_text(len(invalid), 'invalid time')} left out"
    valid = outside_of(invalid)
    position[~within(valid, time)] = np.nan
    observed, spikes, how = with_spikes(spikes, valid, intervals)
    text += f"; {how}" if how else ""
    tables = tables_of(file)
    for key, table in tables.items():
        n_open = len(table) - len(intervals_of(table))
        if n_open:
            text += f"; {n_open} of {count_text(len(table), 'row')} of {key!r} without a begin or "
            text += "an end are left out"
    found, field_potential = None, None
    if events == FIND_RIPPLES or choices.channel is not None:
        field_potential, how = _field_potential_of(file, name, choices.channel)
        text += f"; {how}"
    suitable = () if events == FIND_RIPPLES else choose_events(tables, name, events)
    if suitable:
        chosen = suitable[0]
        for column in bounds_of(tables[chosen].colnames) or ():
            check_digits(tables[chosen][column].data[:], f"Times of the table {chosen!r}")
        found = intervals_of(tables[chosen]).reset_index(drop=True)
        text += f"; {count_text(len(found), 'event')} from the table {chosen!r}"
        text += not_read(suitable[1:], "events")
    if not spikes and not len(time) and found is None:
        raise ValueError(
            f"{name} has no units with spike times, no SpatialSeries of positions, and no table "
            "of events. Export sorted units and the tracked position to the NWB file."
        )
    epochs, twice = labelled_epochs(tables)
    on_track, how = running_epochs(tables, time, position, graph)
    of_graph = epochs_of(graph)
    if not len(on_track):
        on_track, how = of_graph, "of the track graph"
    elif len(of_graph) and not np.array_equal(on_track, of_graph):
        how += "; not those of the track graph: choose by epochs, with their times"
    if len(on_track):
        text += f"; {count_text(len(on_track), 'epoch')} on the track ({how})"
    text += f"; {twice}" if twice else ""
    return Recording(
        name,
        graph,
        time,
        position,
        spikes=spikes,
        electrode=electrode,
        units=unit,
        observed=observed,
        events=found,
        field_potential=field_potential,
        on_track=on_track,
        epochs=epochs,
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
        for name in ("species", "sex", "age"):
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


def _spikes_of(
    file: NWBFile, name: str, choice: str | None
) -> tuple[tuple[NDArray[np.float64], ...], tuple[str, ...], list[NDArray[np.float64]], str]:
    """Read the spikes of the units that are chosen, their ids, and when each was observed.

    The last is empty if it is not told. Also say which units these are.
    """
    known = units_of(file)
    if not known:
        return (), (), [], "no units"
    table, expression = split_choice(choice or "", known)
    units = known[table]
    if "spike_times" not in units.colnames:
        raise ValueError(
            f"The units of {name} have no spike_times, only {shown(list(units.colnames))}. Export "
            "the spike times of sorted units, in s."
        )
    columns = unit_columns(units)
    rows, text = np.arange(len(units)), ""
    if expression:
        rows = np.flatnonzero(choose_units(expression, columns, name))
        text = f" (of {len(units)}, with {expression})"
    elif "location" in columns:
        regions, counts = np.unique(columns["location"], return_counts=True)
        if 1 < len(regions) <= _MOST_REGIONS:
            listed = ", ".join(f"{n} of {each}" for each, n in zip(regions, counts, strict=True))
            chosen = hippocampal(columns["location"])
            text = f" ({listed}; choose by units, such as \"location == '{chosen}'\")"
    noise, without = without_noise({key: values[rows] for key, values in columns.items()})
    if noise:
        both = f"({expression}) and {without}" if expression else without
        both = both if units is next(iter(known.values())) else f"{table}:{both}"
        text += f" ({noise}; these are decoded as cells, unless units={both!r})"
    text += not_read([each for each in known if each != table], "units, such as {}:")
    given = [np.asarray(units.get_unit_spike_times(int(row))) for row in rows]
    for row, times in zip(rows, given, strict=True):
        check_digits(times, f"The spike times of unit {row} of {name}")
    spikes = tuple(times.astype(float) for times in given)
    n_spikes = sum(map(len, spikes))
    ids = tuple(map(str, np.asarray(units.id[:])[rows]))
    how = f"{count_text(len(spikes), 'unit')} with {count_text(n_spikes, 'spike')}{text}"
    return spikes, ids, intervals_of_units(units, rows), how


def field_potentials_of(file: NWBFile) -> list[tuple[float, str, Any]]:
    """List the electrical series of a file: sampling rate (Hz), name, and the series."""
    from pynwb.ecephys import ElectricalSeries

    known = by_name(each for each in file.objects.values() if isinstance(each, ElectricalSeries))
    found = []
    for key, each in known.items():
        if np.ndim(each.data):
            times = each.timestamps
            rate = float(each.rate or 0.0)
            if times is not None:
                usual = float(np.median(np.diff(times[:1000]))) if len(times) > 1 else 0.0
                rate = 1.0 / usual if usual > 0 else 0.0
            found.append((rate, key, each))
    return sorted(found, key=lambda each: each[:2])


def _field_potential_of(
    file: NWBFile, name: str, choice: int | str | None
) -> tuple[FieldPotential, str]:
    found = field_potentials_of(file)
    slow = {key: (rate, each) for rate, key, each in found if LOWEST_RATE < rate <= HIGHEST_RATE}
    if not slow:
        rates = ", ".join(f"{rate:g}" for rate, _, _ in found) or "none"
        raise ValueError(
            f"The detection of ripples in {name} needs an ElectricalSeries at {LOWEST_RATE:g} to "
            f"{HIGHEST_RATE:g} Hz; got {rates}. Filter and downsample the field potential, or "
            "detect events by the rate of all cells."
        )
    series_name, number = split_choice("" if choice is None else str(choice), slow)
    rate, series = slow[series_name]
    n_channels = 1 if np.ndim(series.data) == 1 else int(series.data.shape[1])
    n_samples = len(series.data)
    if number:
        if not number.removeprefix("-").isdecimal():
            raise unknown_name(f"field potential of {name}", choice, slow)
        channel = check_whole("channel", int(number), at_least=0, at_most=n_channels - 1)
        how = f"channel {channel} of {n_channels} at {rate:g} Hz"
        values = series.data[:] if np.ndim(series.data) == 1 else series.data[:, channel]
    else:
        how = f"{count_text(n_channels, 'channel')} at {rate:g} Hz"
        if n_channels > 1:
            check_fits(
                _COPIES * 8 * n_samples * n_channels,
                f"the {n_channels} channels of the field potential of {name} (choose one by "
                "channel)",
            )
        values = series.data[:]
    signal = np.asarray(values, dtype=float).reshape(n_samples, -1)
    how += not_read([each for each in slow if each != series_name], "channel, such as {}:0")
    text = f"field potential {series_name!r}, {how}"
    if series.timestamps is not None:
        what = f"The timestamps of {series_name!r} of {name}"
        return sampled_at(check_times(series.timestamps[:], what), signal, what), text
    return FieldPotential(float(series.starting_time), rate, signal), text
