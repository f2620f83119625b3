"""Readers of recordings, which go by the content of a file, not by the program that wrote it.

No program of another lab is imported, and no pickle is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd

from analyses.recordings.basics.arena import describe_arena, find_arena, is_open
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import FIND, FIND_RIPPLES, MOST_UNKNOWN, Settings
from analyses.recordings.readers.array_files import read_arrays
from analyses.recordings.readers.decoded import NETCDF, read_posterior, read_table
from analyses.recordings.readers.intervals import read_intervals, with_epochs
from analyses.recordings.readers.mat_files import files_of
from analyses.recordings.readers.npz_files import kind_of, stored_form
from analyses.recordings.readers.nwb_files import Choices, read_nwb
from analyses.recordings.readers.remote_files import find_remote, is_address, name_of
from analyses.recordings.readers.track_graphs import IncompleteError, ScaleError, read_track
from replay.checks import check_number, check_text, check_whole, known_arguments, shown
from replay.files import opened

_PICKLES = (".pkl", ".pickle", ".joblib")


@known_arguments
def read_recording(
    source: object,
    track: object = None,
    *,
    session: object = None,
    events: object = None,
    bins: object = None,
    position: str | None = None,
    units: str | None = None,
    channel: int | str | None = None,
    epochs: str | Mapping[str, object] | None = None,
    most_unknown: float = MOST_UNKNOWN,
    bin_size: float = Settings().bin_size,
) -> Recording:
    """Read a recording from a file or an object.

    Parameters
    ----------
    source : path, address or object
        A file: NWB (``.nwb``), decoded posterior (``.nc``), arrays (``.npz``, ``.mat``), or a table
        of decoded places (``.csv``, ``.parquet``); or a folder of CellExplorer. Or the address of
        an NWB file, of which only what is needed is read: ``"https://..."``, or
        ``"dandi:000978/sub-1/sub-1.nwb"`` in the DANDI archive. Or the object itself: a Dataset
        or DataArray of xarray, an object of pynapple (`TsGroup`, `TsdFrame`, `Tsd`, or the result
        of its `decode_bayes`), a mapping of names to arrays, or a DataFrame. The modules of the
        readers list the fields.
    track : networkx.Graph, mapping or path of a JSON file, optional
        The track graph, unless it is in the file.
    session : path or object, optional
        A source of data that `source` lacks (spikes, the animal's positions, events), read in the
        same way.
    events : DataFrame, IntervalSet, array_like, path or str, optional
        Candidate events, instead of those in the file: begin and end of each, also in a file
        (``.csv``, ``.parquet``, ``.npz``, ``.mat``); for NWB also the name of the table.
        ``"find"`` ignores the events of the file and detects events as bursts of population
        activity; ``"find_ripples"``, as high power in the ripple band of the field potential.
    bins : DataFrame or path of a CSV file, optional
        The positions of the bins of a posterior: `linear_position, x_position, y_position` (cm).
    position : str, optional
        For NWB, the name of the series of positions; several that follow one another are joined by
        commas. By default the first with two or more columns, and, on a track, those of the same
        container that follow one another. For CellExplorer, the structure of positions, which must
        be named if there are several.
    units : str, optional
        For NWB, which units are read: an expression over the columns of their table, such as
        ``"location == 'CA1' and cell_type == 'pyramidal'"``. It is read, and never run.
        ``"marks"`` reads spikes that were not sorted, by the amplitudes or features of their
        waveforms (`SpikeEventSeries` or `FeatureExtraction`), which is the default without units.
        Of several tables of units, ``"TABLE:EXPRESSION"`` chooses one; by default the first.
    channel : int or str, optional
        For NWB, the channel of the field potential (from 0) in which ripples are detected, or which
        is shown beside events that are given; only this one is read. By default all are read for
        the detection of ripples, and none otherwise. ``"SERIES"`` or ``"SERIES:CHANNEL"`` chooses
        one of several field potentials; by default that with the lowest rate.
    epochs : str or mapping of str to IntervalSet or array_like, optional
        The epochs in which replay is compared, by their times in s, by labels of the file or by
        files with intervals, such as ``"before=0:600,run=run.csv,after=NREM"``; or each as a table
        of begin and end. A name may be given several times, for an epoch in parts; place fields are
        estimated in `run`. By default nothing is compared. A label that several tables have is that
        of the first; ``TABLE:LABEL`` chooses another.
    most_unknown : float, default 0.2
        The largest share of positions on the track that may be unknown.
    bin_size : float, default 5.0
        Without a track graph, the animal is taken to move in an arena, which is found from its
        positions: the side of its square bins, in cm.

    Returns
    -------
    Recording
        The recording; `notes` describes what was read.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ImportError
        If a file needs a package that is not installed.
    TypeError, ValueError
        If data cannot be read or are implausible; the message says what to do.

    Examples
    --------
    >>> arrays = {"position_time": [0.0, 1.0], "position_xy": [[0, 0], [5, 0]],
    ...           "spike_time": [0.5, 0.7, 0.9], "spike_unit": [1, 0, 1]}
    >>> recording = read_recording(arrays, {"node_positions": [[0, 0], [50, 0]], "edges": [[0, 1]]})
    >>> recording.notes
    ('the arrays: arrays; 2 positions; 2 cells with 3 spikes.', 'Track: 2 nodes, 1 edge, 50 cm.')
    """
    graph = None if track is None else read_track(track)
    check_number("bin_size", bin_size, at_least=0.1, hint="It is a length in cm.")
    # A file has an ending; without one it is the name of a table, or a word such as "find".
    is_name = isinstance(events, str) and events != FIND and Path(events).suffix == ""
    wanted = str(events) if is_name else None
    for key, text in (("position", position), ("units", units)):
        if text is not None:
            check_text(key, text)
    if channel is not None and not isinstance(channel, str):
        channel = check_whole("channel", channel)
    choices = Choices(position, units, channel)
    endings = {_ending(source), _ending(session)}
    if is_name and wanted != FIND_RIPPLES and ".nwb" not in endings:
        raise ValueError(
            f"events is the name of a table in an NWB file, {shown(events)}, but no file here is "
            f"one: give a table (.csv, .parquet), {FIND!r} or {FIND_RIPPLES!r}."
        )
    _check_choices(choices, endings)
    # Where the animal is off the track in some epochs, positions are checked after these are known.
    allowed = most_unknown if epochs is None else 1.0
    found = _read(source, graph, wanted, bins, choices, allowed)
    if bins is not None and found.posterior is None:
        raise ValueError(
            f"bins are positions of a posterior, and {found.name} has none: leave them out."
        )
    if session is not None:
        found = _completed(found, _read(session, found.graph, wanted, None, choices, allowed))
    if isinstance(events, str) and events in (FIND, FIND_RIPPLES):
        potential = None if events == FIND else found.field_potential
        if events == FIND_RIPPLES and potential is None:
            raise ValueError(f"{found.name} has no field potential to detect ripples in.")
        found = replace(found, events=None, field_potential=potential)
    elif events is not None and not is_name:
        found = replace(found, events=read_intervals(events))
    if channel is not None and found.events is None and events != FIND_RIPPLES:
        raise ValueError(
            "channel chooses the field potential in which ripples are detected, or which is shown "
            f"beside events that are given: add events, {FIND_RIPPLES!r} or a table."
        )
    found = _with_track(found, bin_size)
    return found if epochs is None else with_epochs(found, epochs, most_unknown)


def read_positions(source: object, position: str | None = None) -> tuple[Recording, str]:
    """Read where an animal was, which needs no track: a recording, and the unit of its positions.

    The unit is cm, unless the file has another one whose size it does not tell, such as pixels.
    """
    choices = Choices(position, None, None)
    _check_choices(choices, {_ending(source)})
    unit = "cm"
    try:
        found = _read(source, None, None, None, choices, 1.0)
    except ScaleError as error:
        unit = error.unit
        found = _read(source, nx.Graph(pixels_per_cm=1.0), None, None, choices, 1.0)
    if not len(found.time):
        raise ValueError(
            f"{found.name} has no positions of the animal: name the file that has them."
        )
    return found, unit


def _check_choices(choices: Choices, endings: set[str]) -> None:
    """Check that there are files of which something can be chosen; all that is wrong is said."""
    wrong = []
    for key, value in choices._asdict().items():
        fitting = {".nwb", ".mat"} if key == "position" else {".nwb"}
        if value is not None and not fitting & endings:
            where = "an NWB file or one of MATLAB" if key == "position" else "an NWB file"
            wrong.append(f"{key} chooses from {where}, but no file here is one: leave it out.")
    if wrong:
        raise ValueError(" ".join(wrong))


def _ending(source: object) -> str:
    """Return the ending of a file by which its format is known, that of MATLAB for a folder."""
    if not isinstance(source, str | Path):
        return ""
    if is_address(source):
        return Path(name_of(str(source))).suffix.lower()
    ending = Path(source).suffix.lower()
    is_file = ending in (".nwb", *NETCDF, ".npz", ".csv", ".parquet")
    return ".mat" if not is_file and Path(source).is_dir() else ending


def _read(
    source: object,
    graph: nx.Graph | None,
    events: str | None,
    bins: object,
    choices: Choices,
    most_unknown: float,
) -> Recording:
    if is_address(source):
        remote = find_remote(str(source))
        found = read_nwb(remote, graph, events=events, choices=choices, most_unknown=most_unknown)
        return replace(found, origin={"file": remote.name, **remote.origin, **found.origin})
    if isinstance(source, Recording):
        return source if graph is None else replace(source, graph=graph)
    if isinstance(source, pd.DataFrame):
        return read_table(source, graph, most_unknown=most_unknown)
    if hasattr(source, "data_vars"):
        return read_posterior(source, graph, bins=bins)
    if hasattr(source, "to_dataset"):  # one array of the Dataset of a decoder
        named = source.to_dataset(name="acausal_posterior")
        return read_posterior(named, graph, bins=bins)
    stored = stored_form(source[-1] if isinstance(source, tuple) and len(source) == 2 else source)
    if stored is not None:  # an object of pynapple
        name = f"the {kind_of(stored)}"
        return read_arrays(stored, graph, name=name, most_unknown=most_unknown)
    if isinstance(source, Mapping):
        return read_arrays(source, graph, most_unknown=most_unknown)
    if not isinstance(source, str | Path):
        raise TypeError(
            "A recording must be a file, a Dataset of xarray, a TsGroup, Tsd or "
            f"TsdFrame, a mapping of names to arrays, or a DataFrame; got {shown(source)}."
        )
    path, ending = Path(source), _ending(source)
    if ending == ".nwb":
        found = read_nwb(path, graph, events=events, choices=choices, most_unknown=most_unknown)
    elif ending in NETCDF:
        found = read_posterior(path, graph, bins=bins)
    elif ending in (".npz", ".mat"):
        found = read_arrays(path, graph, position=choices.position, most_unknown=most_unknown)
    elif ending in (".csv", ".parquet"):
        found = read_table(path, graph, most_unknown=most_unknown)
    elif ending in _PICKLES:
        raise ValueError(
            f"{path.name} is a pickle. Pickles are not read, because they can run any code, and "
            "other versions cannot read them. Save the Dataset with to_netcdf, or arrays with "
            "numpy.savez."
        )
    else:
        raise ValueError(
            "Recordings are read from .nwb, .nc, .npz, .mat, .csv and .parquet; got "
            f"{shown(path.name)}. Export it as one of these."
        )
    # A folder of several files has one digest, of the digests of all.
    digests = []
    for each in files_of(path):
        with opened(each) as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    first, *others = digests
    digest = hashlib.sha256("".join(digests).encode()).hexdigest() if others else first
    return replace(found, origin={"file": path.name, "sha256": digest, **found.origin})


def _with_track(found: Recording, bin_size: float) -> Recording:
    """Complete a recording without a track by its arena, and describe the track of others."""
    is_decoded = found.posterior is not None or found.decoded is not None
    if found.graph is None and (found.spikes or is_decoded) and len(found.time) > 1:
        arena = find_arena(found.position[found.during], bin_size)
        if is_open(arena):
            return replace(found, graph=arena, notes=(*found.notes, describe_arena(arena)))
    has_positions = bool(len(found.time))
    session_too = {} if has_positions else {"session": "positions.npz"}
    if found.graph is None:
        raise IncompleteError(
            f"{found.name} has no track graph: give one with nodes and edges in cm, as JSON or "
            "networkx.Graph (track); replay track draws one. "
            + (
                "Where the animal went is no open field, which needs none."
                if has_positions
                else "An open field needs none, but the animal's positions (session)."
            ),
            track="track.json",
            **session_too,
        )
    if not has_positions:
        raise IncompleteError(
            f"{found.name} has no positions of the animal, so replay cannot be compared with its "
            "experience: name a file with positions (session).",
            **session_too,
        )
    track = cut_track(found.graph, bin_size=10.0)  # whose lengths do not depend on the bins
    n_edges, n_parts = len(track.edges), track.n_components
    note = (
        f"Track: {len(track.nodes)} nodes, {n_edges} edge{'s' * (n_edges != 1)}, "
        f"{track.length.sum():.0f} cm" + (f", in {n_parts} separate parts." if n_parts > 1 else ".")
    )
    return replace(found, notes=(*found.notes, note))


def _completed(found: Recording, session: Recording) -> Recording:
    """Add data of the session that the recording lacks."""
    for key, what in (("subject", "animals"), ("session_start_time", "sessions")):
        one, other = found.origin.get(key), session.origin.get(key)
        if one is None or other is None or one == other:
            continue
        if key == "session_start_time":  # one moment may be written in two time zones
            moments = [datetime.fromisoformat(each).timestamp() for each in (one, other)]
            if moments[0] == moments[1]:
                continue
        raise ValueError(
            f"{found.name} and {session.name} are of different {what}, {one} and {other}: name "
            f"a file of the same session, or correct the {key} of the wrong one."
        )
    origin = {f"session_{key}": value for key, value in session.origin.items()}
    notes = (*found.notes, *session.notes)
    kinds = ("position", "spikes", "posterior", "decoded", "events", "field_potential", "epochs")
    both = [(key, getattr(found, key), getattr(session, key)) for key in kinds]
    twice = [
        key.replace("_", " ")
        for key, one, other in both
        if one is not None and other is not None and len(one) and len(other)
    ]
    if twice:
        notes += (
            f"Both files have {', '.join(twice)}: those of {found.name} are taken. Exchange the "
            f"files to take those of {session.name}.",
        )
    # What describes the same is taken from one file: never positions of one with times of another.
    together: dict[str, tuple[str, ...]]
    together = {key: (key,) for key in ("graph", "posterior", "decoded", "events")}
    together |= {key: (key,) for key in ("field_potential", "on_track", "epochs")}
    together["time"] = ("time", "position")
    together["spikes"] = ("spikes", "electrode", "units", "observed")
    lacking: dict[str, Any] = {}
    for key, names in together.items():
        own = getattr(found, key)
        # A table without rows is there: it says that there was no event.
        if own is None or (not isinstance(own, pd.DataFrame) and not len(own)):
            lacking |= {name: getattr(session, name) for name in names}
    return replace(found, **lacking, origin={**origin, **found.origin}, notes=notes)
