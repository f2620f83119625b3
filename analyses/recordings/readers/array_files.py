"""Recordings as arrays: a mapping of names to arrays, or a file of `numpy.savez`.

=========================================  ======================================================
``position_time``, ``position_xy``         s and cm (n x 2 or 2 x n); or ``position_t_ticks`` with
                                           ``clock_hz``, and ``position_xy_px``, with the scale in
                                           the graph
``position_linear``                        instead of x and y: along the linearised track, cm; or
                                           ``position_linear_px``, with the scale in the graph
``spike_time``, ``spike_unit``             s, and the number or name of the cell, or its numbers
                                           such as tetrode and cluster, (n_spikes, 2); or
                                           ``spike_t_ticks``
``mark_time``, ``mark_electrode``,         spikes that were not sorted, instead: s, the number of
``mark_features``                          their electrode, and (n_spikes, n_features) of waveforms
``event_start``, ``event_end``             candidate events, s; optional
``field_potential``,                       (n_time, n_channels), for the detection of ripples;
``field_potential_start``,                 its start (s) and its sampling rate (Hz), or, if it has
``field_potential_rate``,                  pauses, the times of its samples (s); optional
``field_potential_time``
``on_track_start``, ``on_track_end``       when the animal was on the track, s; optional
``epoch_start``, ``epoch_end``,            epochs by which replay can be compared, s, and the label
``epoch_label``                            of each; optional
``observed_start``, ``observed_end``,      when spikes were observed, s, by default always; and
``observed_unit``                          the cell of each such interval, by default all cells
``posterior``, ``posterior_time``,         of another decoder: (n_time, n_bins), s, and the centres
``posterior_xy``                           of its bins in cm; optional
=========================================  ======================================================

In a file of MATLAB (``.mat``), these are variables or fields of structures; see `mat_files`.
Objects of pynapple and its files have other names, which `pynapple_objects` translates.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.clocks import check_digits, check_times
from analyses.recordings.basics.marks import MarkClasses, classes_of_marks, describe_classes
from analyses.recordings.basics.recording import (
    FieldPotential,
    Posterior,
    Recording,
    sampled_at,
)
from analyses.recordings.basics.settings import MOST_UNKNOWN
from analyses.recordings.readers.claims import ClaimError, check_claim
from analyses.recordings.readers.mat_files import ARRAYS, load_mat
from analyses.recordings.readers.observed_times import outside_of, with_spikes
from analyses.recordings.readers.posteriors import along_track
from analyses.recordings.readers.pynapple_objects import KINDS, kind_of, text_in_pickle, to_arrays
from analyses.recordings.readers.table_files import read_events
from analyses.recordings.readers.track_graphs import IncompleteError, epochs_of, linear_to_plane
from analyses.recordings.readers.units import count_text, in_pairs, to_cm
from replay.checks import check_array, check_number, shown, typed
from replay.files import check_file, opened

__all__ = ["is_remark", "load_arrays", "read_arrays", "read_intervals"]

_LOWEST_CLOCK = 0.1  # Hz


@typed
def read_arrays(
    source: str | Path | Mapping[str, object],
    graph: nx.Graph | None = None,
    *,
    position: str | None = None,
    name: str = "the arrays",
    most_unknown: float = MOST_UNKNOWN,
) -> Recording:
    """Read spikes and positions from arrays.

    Parameters
    ----------
    source : path or mapping of str to array_like
        An ``.npz`` or ``.mat`` file, a folder of CellExplorer, or the arrays themselves; names are
        those of the module's table.
    graph : networkx.Graph, optional
        The track.
    position : str, optional
        The structure of positions of CellExplorer, if there are several.
    name : str, optional
        The name of the arrays in messages; a file has its own.
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
    ValueError
        If arrays are missing, have different lengths, or are pickled objects.

    Examples
    --------
    >>> arrays = {"position_time": [0.0, 1.0], "position_xy": [[0, 0], [5, 0]],
    ...           "spike_time": [0.5, 0.7, 0.9], "spike_unit": [1, 0, 1]}
    >>> [spikes.tolist() for spikes in read_arrays(arrays).spikes]
    [[0.7], [0.5, 0.9]]
    """
    if isinstance(source, Mapping):
        arrays = {key: _array(f"{key} of {name}", value) for key, value in source.items()}
    else:
        name, arrays = Path(source).name, load_arrays(Path(source), position)
    remarks: list[str] = []
    if kind_of(arrays):
        arrays, remarks = to_arrays(arrays, name)
    if "columns" in arrays:
        return along_track(arrays["t"], arrays["d"], arrays["columns"], graph, name)
    clock = arrays.get("clock_hz")
    if clock is not None and clock.size != 1:
        raise ValueError(f"clock_hz of {name} must be one number (Hz), got {shown(clock)}.")
    hertz = (
        None
        if clock is None
        else check_number(f"clock_hz of {name}", clock.item(), at_least=_LOWEST_CLOCK)
    )
    contents = []
    position_time = _times(arrays, "position", hertz, name)
    place = np.empty((0, 2))
    if position_time is not None:
        place, scaled = _positions(arrays, graph, name)
        contents.append(
            count_text(len(position_time), "position") + (f" ({scaled})" if scaled else "")
        )
    spike_time = _times(arrays, "spike", hertz, name)
    spikes: tuple[NDArray[np.float64], ...] = ()
    units: tuple[str, ...] = ()
    if spike_time is not None:
        spikes, units = _by_cell(arrays, spike_time, name)
        contents.append(
            f"{count_text(len(spikes), 'cell')} with {count_text(len(spike_time), 'spike')}"
        )
    electrode = None
    if "mark_time" in arrays and not spikes:
        spikes, electrode = _by_class(arrays, name)
        contents.append(describe_classes(spikes, electrode))
    elif "mark_time" in arrays:
        contents.append("marks are not read, as there are cells")
    observed, spikes, told = with_spikes(spikes, *_observed(arrays, units, name))
    contents += [told] if told else []
    posterior = _posterior(arrays, name)
    if posterior is not None:
        contents.append(
            f"a posterior of {len(posterior.time):,} times and {len(posterior.position)} bins"
        )
    field_potential = _field_potential(arrays, name)
    if field_potential is not None:
        n_channels = field_potential.signal.shape[1]
        contents.append(f"field potential of {count_text(n_channels, 'channel')}")
    events = _pairs(arrays, "event", name)
    if len(events):
        contents.append(count_text(len(events), "event"))
    epochs = _epochs(arrays, name)
    if epochs:
        contents.append(f"epochs {', '.join(epochs)}")
    if not contents:
        raise ValueError(
            f"{name} must have the arrays position_time, position_xy, spike_time and spike_unit; "
            f"it has {shown(sorted(arrays))}. Rename them."
        )
    on_track, of_graph = _pairs(arrays, "on_track", name), epochs_of(graph)
    if len(on_track) and len(of_graph) and not np.array_equal(on_track, of_graph):
        contents.append("the epochs on the track are its own, not those of the track graph")
    on_track = on_track if len(on_track) else of_graph
    if hertz is not None:
        contents.append(f"ticks of {hertz:g} Hz")
    others = sorted(set(arrays) - set(ARRAYS))
    others += [
        other
        for one, other in (
            ("position_time", "position_t_ticks"),
            ("position_xy", "position_xy_px"),
            ("position_linear", "position_linear_px"),
            ("spike_time", "spike_t_ticks"),
        )
        if one in arrays and other in arrays
    ]
    if others:
        named = [
            repr(key) + (f", {arrays[key]}" if is_remark(arrays[key]) else "") for key in others
        ]
        contents.append(f"not read: {', '.join(named)}")
    return Recording(
        name,
        graph,
        np.empty(0) if position_time is None else position_time,
        place,
        spikes=spikes,
        electrode=electrode,
        units=units,
        observed=observed,
        posterior=posterior,
        events=pd.DataFrame(events, columns=["start_time", "end_time"]) if len(events) else None,
        field_potential=field_potential,
        on_track=on_track,
        epochs=epochs,
        notes=(f"{name}: arrays; {'; '.join(contents + remarks)}.",),
        most_unknown=most_unknown,
    )


@typed
def read_intervals(source: object) -> pd.DataFrame:
    """Read candidate events or an epoch from a table, an IntervalSet, arrays, or a file of these.

    Examples
    --------
    >>> read_intervals([[600.0, 1500.0]]).to_numpy().tolist()
    [[600.0, 1500.0]]
    """
    if isinstance(source, str | Path) and Path(source).suffix.lower() in (".npz", ".mat"):
        events = read_arrays(source).events
        if events is None:
            raise ValueError(
                f"{Path(source).name} has no intervals: event_start and event_end (s)."
            )
        return events
    if isinstance(source, str | Path | pd.DataFrame) or hasattr(source, "as_dataframe"):
        return read_events(source)
    what = "Intervals (begin and end in s)"
    pairs = in_pairs(check_array(source, what, kind="number", n_dims=None), what)
    return read_events(pd.DataFrame(pairs, columns=["start_time", "end_time"]))


def is_remark(values: NDArray[np.generic]) -> bool:
    """Whether a text stands where a file has what cannot be read."""
    return values.ndim == 0 and values.dtype.kind == "U"


def load_arrays(path: Path, position: str | None = None) -> dict[str, NDArray[np.generic]]:
    """Read the arrays of an ``.npz`` file, or of one of MATLAB (``.mat``), by name."""
    if path.suffix.lower() != ".npz":  # a file of MATLAB, or a folder
        return load_mat(path, position)
    check_file(path)
    try:
        with (
            opened(path) as file,
            zipfile.ZipFile(file) as archive,
            np.load(file, allow_pickle=False) as stored,
        ):
            kind = kind_of(stored.files)
            names = KINDS[kind] if kind else tuple(stored.files)  # others of pynapple are pickled
            claimed = [_claimed(archive, f"{key}.npy") for key in names]
            check_claim(sum(claimed), path.stat().st_size, f"the arrays of {path.name}")
            found: dict[str, NDArray[Any]] = {}
            for key in names:
                with archive.open(f"{key}.npy") as member:
                    texts = text_in_pickle(member) if key == "columns" else None
                found[key] = stored[key] if texts is None else texts[-found["d"].shape[-1] :]
            return found
    except ClaimError:
        raise
    except ValueError as error:
        if "pickle" in str(error).lower():
            raise ValueError(
                f"{path.name} has pickled objects, which are not read because they can run any "
                "code, and other versions cannot read them. Save plain arrays of numbers."
            ) from None
        reason = str(error).rstrip(".")
        raise ValueError(f"{path.name} cannot be read as arrays ({reason}).") from None
    except Exception as error:  # a damaged file may raise anything
        raise ValueError(
            f"{path.name} must be a file of numpy.savez, but is truncated, damaged or of another "
            f"format ({error}). Copy it again."
        ) from None


def _claimed(archive: zipfile.ZipFile, name: str) -> int:
    """Return the size in bytes that the header of an array claims, without reading the array."""
    with archive.open(name) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
        return abs(math.prod(shape)) * int(dtype.itemsize)  # less than none would offset others


def _times(
    arrays: Mapping[str, NDArray[np.generic]], what: str, hertz: float | None, name: str
) -> NDArray[np.float64] | None:
    if f"{what}_time" in arrays:
        return check_times(arrays[f"{what}_time"], f"{what}_time of {name}")
    if f"{what}_t_ticks" not in arrays:
        return None
    if hertz is None:
        raise ValueError(
            f"{name} has {what}_t_ticks, but no clock_hz, the number of ticks per second."
        )
    given: NDArray[Any] = arrays[f"{what}_t_ticks"]
    ticks = check_array(given, f"{what}_t_ticks of {name}", kind="number")
    check_digits(given / hertz, f"{what}_t_ticks of {name}")
    return np.asarray(ticks / hertz)


def _positions(
    arrays: Mapping[str, NDArray[np.generic]], graph: nx.Graph | None, name: str
) -> tuple[NDArray[np.float64], str]:
    for key, unit in (("position_xy", "cm"), ("position_xy_px", "pixels")):
        if key in arrays:
            what = f"{key} of {name}"
            pairs = in_pairs(arrays[key], what)
            xy = check_array(pairs, what, kind="number", missing=True, n_dims=2)
            return to_cm(xy, unit, graph, name)
    for key, unit in (("position_linear", "cm"), ("position_linear_px", "pixels")):
        if key not in arrays:
            continue
        if graph is None:
            scale = "" if unit == "cm" else ", and with pixels_per_cm, as they are in pixels"
            raise IncompleteError(
                f"The positions of {name} are linearised: give the track graph with its "
                f"linear_edge_order and linear_edge_spacing (track){scale}; or positions (x, y)."
            )
        values = check_array(arrays[key], f"{key} of {name}", kind="number", missing=True)
        along, scaled = to_cm(values, unit, graph, name)
        place = linear_to_plane(graph, along, f"The positions of {name}")
        return place, f"linearised, {scaled}" if scaled else "linearised"
    raise ValueError(
        f"{name} has times of positions, but neither position_xy (cm) nor position_xy_px (pixels) "
        "nor position_linear (cm along the track)."
    )


def _array(what: str, value: object) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except Exception as error:  # objects may raise anything here
        raise ValueError(
            f"{what} must be an array, with rows of one length, got {shown(value)}."
        ) from error


def _by_cell(
    arrays: Mapping[str, NDArray[np.generic]], time: NDArray[np.float64], name: str
) -> tuple[tuple[NDArray[np.float64], ...], tuple[str, ...]]:
    """Divide spikes by cell; also return the unit of each cell."""
    if "spike_unit" not in arrays:
        raise ValueError(f"{name} has spike times, but no spike_unit, the cell of each spike.")
    unit = _cells(arrays["spike_unit"], f"spike_unit of {name}")
    if len(unit) != len(time):
        raise ValueError(
            f"{name} must have a unit for each spike; got {len(time)} times and {len(unit)} units."
        )
    cells, of_spike = np.unique(unit, axis=0, return_inverse=True)
    of_spike = of_spike.ravel()  # numpy 2.0 keeps the dimensions
    return (
        tuple(time[of_spike == cell] for cell in range(len(cells))),
        tuple(map(_id, cells)),
    )


def _cells(values: NDArray[np.generic], what: str) -> NDArray[np.generic]:
    """Check cells: a name or number of each, or its numbers such as tetrode and cluster."""
    if values.dtype.kind in "US":
        return values
    return check_array(values, what, kind="whole", at_least=0, n_dims=2 if values.ndim == 2 else 1)


def _id(cell: NDArray[np.generic]) -> str:
    return "-".join(map(str, np.ravel(cell)))


def _observed(
    arrays: Mapping[str, NDArray[np.generic]], units: tuple[str, ...], name: str
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Read the intervals in which all spikes were observed, or else those of each cell."""
    pairs, always = _pairs(arrays, "observed", name), outside_of(np.empty((0, 2)))
    if "observed_unit" not in arrays:
        return (pairs if len(pairs) else always), []
    given = list(map(_id, _cells(arrays["observed_unit"], f"observed_unit of {name}")))
    if len(given) != len(pairs) or set(given) != set(units):
        raise ValueError(
            f"observed_unit of {name} must name the cell of each interval from observed_start to "
            "observed_end, and each cell of spike_unit at least once."
        )
    return always, [pairs[[each == unit for each in given]] for unit in units]


def _by_class(arrays: Mapping[str, NDArray[np.generic]], name: str) -> MarkClasses:
    """Divide the marks of each electrode into classes."""
    for key in ("mark_electrode", "mark_features"):
        if key not in arrays:
            raise ValueError(f"{name} has mark_time, but no {key} of these spikes.")
    time = check_times(arrays["mark_time"], f"mark_time of {name}")
    number = check_array(arrays["mark_electrode"], f"mark_electrode of {name}", kind="whole")
    marks = check_array(
        arrays["mark_features"], f"mark_features of {name}", kind="number", n_dims=2
    )
    if not len(time) == len(number) == len(marks):
        raise ValueError(
            f"{name} must have an electrode and a row of features for each mark; got {len(time)} "
            f"times, {len(number)} electrodes and {len(marks)} rows."
        )
    own = [np.flatnonzero(number == each) for each in np.unique(number)]
    return classes_of_marks([time[each] for each in own], [marks[each] for each in own])


def _posterior(arrays: Mapping[str, NDArray[np.generic]], name: str) -> Posterior | None:
    if "posterior" not in arrays:
        return None
    missing = [key for key in ("posterior_time", "posterior_xy") if key not in arrays]
    if missing:
        raise ValueError(
            f"The posterior of {name} is without {' and '.join(missing)}: it needs the times of "
            "its rows (s) and the centres of its bins (x, y in cm)."
        )
    if arrays["posterior"].ndim > 2:
        raise ValueError(
            f"The posterior of {name} must have a row for each time and a column for each bin; got "
            f"the shape {arrays['posterior'].shape}. In two dimensions, reshape it to (times, "
            "bins), and give the centre of each bin in posterior_xy."
        )
    time = check_times(arrays["posterior_time"], f"posterior_time of {name}")
    what = f"posterior_xy of {name}"
    probability, xy = (
        check_array(values, what, kind="number", missing=True, n_dims=2)
        for values, what in (
            (arrays["posterior"], f"posterior of {name}"),
            (in_pairs(arrays["posterior_xy"], what), what),
        )
    )
    return Posterior(time, probability, xy, {})


def _field_potential(arrays: Mapping[str, NDArray[np.generic]], name: str) -> FieldPotential | None:
    if "field_potential" not in arrays:
        return None
    values = check_array(
        arrays["field_potential"],
        f"field_potential of {name}",
        kind="number",
        missing=True,
        n_dims=None,
    )
    if values.ndim not in (1, 2):
        raise ValueError(
            f"field_potential of {name} must have the shape (n_time,) or (n_time, n_channels); got "
            f"{values.shape}."
        )
    signal = values if values.ndim == 2 else values[:, None]
    if "field_potential_time" in arrays:
        what = f"field_potential_time of {name}"
        return sampled_at(check_times(arrays["field_potential_time"], what), signal, what)
    numbers = []
    for key in ("field_potential_start", "field_potential_rate"):
        if key not in arrays or arrays[key].size != 1:
            raise ValueError(
                f"{name} has a field potential, but no {key}: one number (s or Hz), or else "
                "field_potential_time (s)."
            )
        numbers.append(check_number(f"{key} of {name}", arrays[key].item()))
    return FieldPotential(numbers[0], numbers[1], signal)


def _pairs(arrays: Mapping[str, NDArray[np.generic]], what: str, name: str) -> NDArray[np.float64]:
    keys = f"{what}_start", f"{what}_end"
    if not set(keys) & set(arrays):
        return np.empty((0, 2))
    if not set(keys) <= set(arrays):
        raise ValueError(f"{name} must have both {keys[0]} and {keys[1]}, or neither.")
    start, end = (check_times(arrays[key], f"{key} of {name}") for key in keys)
    if len(start) != len(end):
        raise ValueError(f"{keys[0]} and {keys[1]} of {name} must have the same length.")
    return np.stack([start, end], axis=1)


def _epochs(arrays: Mapping[str, NDArray[np.generic]], name: str) -> dict[str, NDArray[np.float64]]:
    pairs = _pairs(arrays, "epoch", name)
    labels = np.ravel(arrays.get("epoch_label", np.empty(0))).astype(str)
    if len(labels) != len(pairs):
        raise ValueError(
            f"{name} must have a label for each epoch, in epoch_label; got {len(pairs)} epochs and "
            f"{len(labels)} labels."
        )
    return {label: pairs[labels == label] for label in dict.fromkeys(labels.tolist())}
