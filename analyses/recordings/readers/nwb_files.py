"""Recordings in NWB files: position, units, and tables of events and epochs.

A file needs a ``SpatialSeries`` of positions, or a table of units with their spike times, or both.
The table of events is a ``TimeIntervals`` anywhere in the file; so is that of epochs, whose labels,
or else the positions, tell those in which the animal ran on the track. Nothing else is loaded: of
the field potential only what is asked for.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.recordings.basics.observed import (
    check_digits,
    check_times,
    outside_of,
    with_spikes,
    within,
)
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import FIND_RIPPLES, MOST_UNKNOWN
from analyses.recordings.basics.signals import FieldPotential, sampled_at
from analyses.recordings.readers.claims import check_contents, check_hdf5
from analyses.recordings.readers.nwb_data import (
    bounds_of,
    by_name,
    choose_events,
    intervals_of,
    labelled_epochs,
    not_read,
    read_positions,
    running_epochs,
    split_choice,
    tables_of,
)
from analyses.recordings.readers.nwb_units import read_spikes
from analyses.recordings.readers.remote_files import Remote, kept_folder, opened_remote
from analyses.recordings.readers.track_graphs import count_text, read_track
from replay.checks import check_fits, check_whole, unknown_name
from replay.files import check_file

if TYPE_CHECKING:
    from pynwb import NWBFile


LOWEST_RATE, HIGHEST_RATE = 500.0, 5000.0
"""In Hz, of a field potential in which ripples are detected."""
_COPIES = 5  # of the field potential, while ripples are detected


class Choices(NamedTuple):
    """What to read where a file has several of a kind, as `read_recording` describes it."""

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
    """Read an NWB file, or one at an address; arguments are those of `read_recording`.

    `events` names a table, or is ``"find_ripples"``, which reads the field potential instead.
    """
    name = path.name if isinstance(path, Remote) else Path(path).name
    with open_nwb(path) as file:
        if graph is None and file.scratch and "track_graph" in file.scratch:
            scratch = np.asarray(file.get_scratch("track_graph"))
            if scratch.size == 1:
                with suppress(TypeError, json.JSONDecodeError):  # something else has this name
                    graph = read_track(json.loads(scratch.item()))
        time, position, position_text = read_positions(file, name, graph, choices.position)
        found = read_spikes(file, name, choices.units)
        told = [position_text, found.text]
        invalid = np.empty((0, 2))
        if file.invalid_times is not None:
            invalid = intervals_of(file.invalid_times).to_numpy()
            told.append(f"{count_text(len(invalid), 'invalid time')} left out")
        valid = outside_of(invalid)
        position[~within(valid, time)] = np.nan
        observed, spikes, lost = with_spikes(found.spikes, valid, found.intervals)
        told += lost
        tables = tables_of(file)
        n_open = {key: len(table) - len(intervals_of(table)) for key, table in tables.items()}
        told += [
            f"{n} of {count_text(len(tables[key]), 'row')} of {key!r} without a begin or an end "
            "are left out"
            for key, n in n_open.items()
            if n
        ]
        candidates: pd.DataFrame | None = None
        field_potential = None
        if events == FIND_RIPPLES or choices.channel is not None:
            field_potential, potential_text = _field_potential_of(file, name, choices.channel)
            told.append(potential_text)
        if events != FIND_RIPPLES:
            candidates, counted = _events_of(tables, name, events)
            told += counted
        if not spikes and not len(time) and candidates is None:
            raise ValueError(
                f"{name} has no units with spike times, no SpatialSeries of positions, and no "
                "table of events. Export sorted units and the tracked position to the NWB file."
            )
        epochs, twice = labelled_epochs(tables)
        on_track, chosen_by = running_epochs(tables, time, position, graph)
        if len(on_track):
            told.append(f"{count_text(len(on_track), 'epoch')} on the track ({chosen_by})")
        told += twice
        return Recording(
            name, graph, time, position, spikes, found.electrode, found.units, observed,
            events=candidates, field_potential=field_potential, on_track=on_track, epochs=epochs,
            origin=_origin_of(file), notes=(f"{name}: NWB; {'; '.join(told)}.",),
            most_unknown=most_unknown,
        )  # fmt: skip


@contextmanager
def open_nwb(path: str | Path | Remote) -> Iterator[NWBFile]:
    """Open an NWB file whose data are read as they are asked for."""
    name = path.name if isinstance(path, Remote) else check_file(path).name
    try:
        from pynwb import NWBHDF5IO
    except ImportError:
        raise ImportError(
            "NWB files need pynwb: pip install 'hippocampal-replay[recordings]'."
        ) from None
    try:
        with ExitStack() as stack:
            if isinstance(path, Remote):
                import h5py

                there = stack.enter_context(opened_remote(path))
                stored = stack.enter_context(h5py.File(there, "r"))
                if check_contents(stored, name):
                    raise ValueError(
                        f"{name} leads to other files, which are not read over the network: "
                        "download all of them, and name the file instead."
                    )
                file = stack.enter_context(NWBHDF5IO(file=stored, mode="r"))
            else:
                check_hdf5(path)
                file = stack.enter_context(NWBHDF5IO(str(path), "r"))
            with warnings.catch_warnings():  # published files have more columns than NWB suggests
                warnings.filterwarnings("ignore", "SpatialSeries .* data shape")
                try:
                    content = file.read()
                except ValueError as error:  # one of pynwb's, which tells no user what to do
                    raise OSError(str(error)) from error
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


def _events_of(
    tables: Mapping[str, Any], name: str, events: str | None
) -> tuple[pd.DataFrame | None, list[str]]:
    """Read the candidate events that are named, or in the first suitable table, and say which."""
    suitable = choose_events(tables, name, events)
    if not suitable:
        return None, []
    chosen = tables[suitable[0]]
    for column in bounds_of(chosen.colnames) or ():
        check_digits(chosen[column].data[:], f"Times of the table {suitable[0]!r}")
    found = intervals_of(chosen).reset_index(drop=True)
    counted = f"{count_text(len(found), 'event')} from the table {suitable[0]!r}"
    return found, [counted + not_read(suitable[1:], "events")]


def _origin_of(file: NWBFile) -> dict[str, str]:
    origin = {"identifier": str(file.identifier)}
    if isinstance(file.session_start_time, datetime):
        origin["session_start_time"] = file.session_start_time.isoformat()
    if file.subject is not None and file.subject.subject_id:
        origin["subject"] = str(file.subject.subject_id)
        facts = {key: getattr(file.subject, key) for key in ("species", "sex", "age")}
        origin |= {key: str(fact) for key, fact in facts.items() if fact}
    return origin


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
    """Read the field potential that is chosen, or all channels of that of the lowest rate."""
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
