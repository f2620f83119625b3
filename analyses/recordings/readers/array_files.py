"""Recordings as arrays: a mapping of names to arrays, or a file of `numpy.savez`.

=========================================  ======================================================
``position_time``, ``position_xy``         s and cm; or ``position_t_ticks`` with ``clock_hz``,
                                           and ``position_xy_px``, with the scale in the graph
``spike_time``, ``spike_unit``             s, and the number of the cell; or ``spike_t_ticks``
``mark_time``, ``mark_electrode``,         spikes that were not sorted, instead: s, the number of
``mark_features``                          their electrode, and (n_spikes, n_features) of waveforms
``event_start``, ``event_end``             candidate events, s; optional
``field_potential``,                       (n_time, n_channels), for the detection of ripples;
``field_potential_start``,                 its start (s); and its sampling rate (Hz);
``field_potential_rate``                   optional
``on_track_start``, ``on_track_end``       when the animal was on the track, s; optional
``observed_start``, ``observed_end``,      when spikes were observed, s, by default always; and
``observed_unit``                          the cell of each such interval, by default all cells
``posterior``, ``posterior_time``,         of another decoder: (n_time, n_bins), s, and the centres
``posterior_xy``                           of its bins in cm; optional
=========================================  ======================================================

In a file of MATLAB (``.mat``), these are variables or fields of structures; see `mat_files`. A
saved `TsdFrame` of pynapple is read as a decoded posterior along the track.
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

from analyses.recordings.basics.marks import MarkClasses, classes_of_marks, describe_classes
from analyses.recordings.basics.recording import FieldPotential, Posterior, Recording
from analyses.recordings.basics.settings import MOST_UNKNOWN
from analyses.recordings.readers.claims import ClaimError, check_claim
from analyses.recordings.readers.mat_files import ARRAYS, load_mat
from analyses.recordings.readers.observed_times import outside_of, with_spikes
from analyses.recordings.readers.posteriors import along_track
from analyses.recordings.readers.track_graphs import epochs_of
from analyses.recordings.readers.units import count_text, to_cm
from replay.checks import check_array, check_number, shown, typed
from replay.files import check_file, opened

__all__ = ["load_arrays", "read_arrays"]

_LOWEST_CLOCK = 0.1  # Hz
_PYNAPPLE = ("t", "d", "columns")


@typed
def read_arrays(
    source: str | Path | Mapping[str, object],
    graph: nx.Graph | None = None,
    *,
    most_unknown: float = MOST_UNKNOWN,
) -> Recording:
    """Read spikes and positions from arrays.

    Parameters
    ----------
    source : path or mapping of str to array_like
        An ``.npz`` or ``.mat`` file, or the arrays themselves; names are those of the module's
        table.
    graph : networkx.Graph, optional
        The track.
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
        name = "the arrays"
        arrays = {key: _array(f"{key} of {name}", value) for key, value in source.items()}
    else:
        name, arrays = Path(source).name, load_arrays(Path(source))
    if set(_PYNAPPLE) <= set(arrays):
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
    position = np.empty((0, 2))
    if position_time is not None:
        position, scaled = _positions(arrays, graph, name)
        contents.append(
            count_text(len(position_time), "position") + (f" ({scaled})" if scaled else "")
        )
    spike_time = _times(arrays, "spike", hertz, name)
    spikes: tuple[NDArray[np.float64], ...] = ()
    if spike_time is not None:
        spikes = _by_cell(arrays, spike_time, name)
        contents.append(
            f"{count_text(len(spikes), 'cell')} with {count_text(len(spike_time), 'spike')}"
        )
    electrode = None
    if "mark_time" in arrays and not spikes:
        spikes, electrode = _by_class(arrays, name)
        contents.append(describe_classes(spikes, electrode))
    elif "mark_time" in arrays:
        contents.append("marks are not read, as there are cells")
    observed, spikes, told = with_spikes(spikes, *_observed(arrays, spikes, name))
    contents += [told] if told else []
    posterior = _posterior(arrays, name)
    if posterior is not None:
        contents.append(
            f"a posterior of {len(posterior.time):,} times and {len(posterior.position)} bins"
        )
    if not contents:
        raise ValueError(
            f"{name} must have the arrays position_time, position_xy, spike_time and spike_unit; "
            f"it has {shown(sorted(arrays))}. Rename them."
        )
    field_potential = _field_potential(arrays, name)
    if field_potential is not None:
        n_channels = field_potential.signal.shape[1]
        contents.append(f"field potential of {count_text(n_channels, 'channel')}")
    events = _pairs(arrays, "event", name)
    if len(events):
        contents.append(count_text(len(events), "event"))
    on_track = _pairs(arrays, "on_track", name)
    on_track = on_track if len(on_track) else epochs_of(graph)
    if hertz is not None:
        contents.append(f"ticks of {hertz:g} Hz")
    others = sorted(set(arrays) - set(ARRAYS))
    if others:
        contents.append(f"not read: {', '.join(map(repr, others))}")
    return Recording(
        name,
        graph,
        np.empty(0) if position_time is None else position_time,
        position,
        spikes=spikes,
        electrode=electrode,
        observed=observed,
        posterior=posterior,
        events=pd.DataFrame(events, columns=["start_time", "end_time"]) if len(events) else None,
        field_potential=field_potential,
        on_track=on_track,
        notes=(f"{name}: arrays; {'; '.join(contents)}.",),
        most_unknown=most_unknown,
    )


def load_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """Read the arrays of an ``.npz`` file, or of one of MATLAB (``.mat``), by name."""
    if path.suffix.lower() == ".mat":
        return load_mat(path)
    check_file(path)
    try:
        with (
            opened(path) as file,
            zipfile.ZipFile(file) as archive,
            np.load(file, allow_pickle=False) as stored,
        ):
            is_pynapple = set(_PYNAPPLE) <= set(stored.files)  # its other arrays are pickled
            names = _PYNAPPLE if is_pynapple else tuple(stored.files)
            claimed = [_claimed(archive, f"{key}.npy") for key in names]
            check_claim(sum(claimed), path.stat().st_size, f"the arrays of {path.name}")
            return {key: stored[key] for key in names}
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
        return check_array(arrays[f"{what}_time"], f"{what}_time of {name}", kind="number")
    if f"{what}_t_ticks" not in arrays:
        return None
    if hertz is None:
        raise ValueError(
            f"{name} has {what}_t_ticks, but no clock_hz, the number of ticks per second."
        )
    ticks = check_array(arrays[f"{what}_t_ticks"], f"{what}_t_ticks of {name}", kind="number")
    return np.asarray(ticks / hertz)


def _positions(
    arrays: Mapping[str, NDArray[np.generic]], graph: nx.Graph | None, name: str
) -> tuple[NDArray[np.float64], str]:
    for key, unit in (("position_xy", "cm"), ("position_xy_px", "pixels")):
        if key in arrays:
            xy = check_array(arrays[key], f"{key} of {name}", kind="number", missing=True, n_dims=2)
            return to_cm(xy, unit, graph, name)
    raise ValueError(
        f"{name} has times of positions, but neither position_xy (cm) nor position_xy_px (pixels)."
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
) -> tuple[NDArray[np.float64], ...]:
    if "spike_unit" not in arrays:
        raise ValueError(f"{name} has spike times, but no spike_unit, the cell of each spike.")
    unit = check_array(arrays["spike_unit"], f"spike_unit of {name}", kind="whole", at_least=0)
    if len(unit) != len(time):
        raise ValueError(
            f"{name} must have a unit for each spike; got {len(time)} times and {len(unit)} units."
        )
    return tuple(np.sort(time[unit == cell]) for cell in np.unique(unit))


def _observed(
    arrays: Mapping[str, NDArray[np.generic]], spikes: tuple[NDArray[np.float64], ...], name: str
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Read the intervals in which all spikes were observed, or else those of each cell."""
    pairs, always = _pairs(arrays, "observed", name), outside_of(np.empty((0, 2)))
    if "observed_unit" not in arrays:
        return (pairs if len(pairs) else always), []
    unit = check_array(arrays["observed_unit"], f"observed_unit of {name}", kind="whole")
    cells = np.unique(arrays.get("spike_unit", np.empty(0)))
    if len(unit) != len(pairs) or len(cells) != len(spikes) or set(unit) != set(cells):
        raise ValueError(
            f"observed_unit of {name} must name the cell of each interval from observed_start to "
            "observed_end, and each cell of spike_unit at least once."
        )
    return always, [pairs[unit == cell] for cell in cells]


def _by_class(arrays: Mapping[str, NDArray[np.generic]], name: str) -> MarkClasses:
    """Divide the marks of each electrode into classes."""
    for key in ("mark_electrode", "mark_features"):
        if key not in arrays:
            raise ValueError(f"{name} has mark_time, but no {key} of these spikes.")
    time = check_array(arrays["mark_time"], f"mark_time of {name}", kind="number")
    number = check_array(arrays["mark_electrode"], f"mark_electrode of {name}", kind="whole")
    marks = check_array(
        arrays["mark_features"], f"mark_features of {name}", kind="number", n_dims=2
    )
    if not len(time) == len(number) == len(marks):
        raise ValueError(
            f"{name} must have an electrode and a row of features for each mark; got {len(time)} "
            f"times, {len(number)} electrodes and {len(marks)} rows."
        )
    order = np.argsort(time, kind="stable")
    own = [order[number[order] == each] for each in np.unique(number)]
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
    probability, time, xy = (
        check_array(arrays[key], f"{key} of {name}", kind="number", missing=True, n_dims=n_dims)
        for key, n_dims in (("posterior", 2), ("posterior_time", 1), ("posterior_xy", 2))
    )
    return Posterior(time, probability, xy, {})


def _field_potential(arrays: Mapping[str, NDArray[np.generic]], name: str) -> FieldPotential | None:
    if "field_potential" not in arrays:
        return None
    numbers = []
    for key in ("field_potential_start", "field_potential_rate"):
        if key not in arrays or arrays[key].size != 1:
            raise ValueError(f"{name} has a field potential, but no {key}: one number (s or Hz).")
        numbers.append(check_number(f"{key} of {name}", arrays[key].item()))
    values = check_array(
        arrays["field_potential"], f"field_potential of {name}", kind="number", n_dims=None
    )
    return FieldPotential(numbers[0], numbers[1], values.reshape(len(values), -1))


def _pairs(arrays: Mapping[str, NDArray[np.generic]], what: str, name: str) -> NDArray[np.float64]:
    keys = f"{what}_start", f"{what}_end"
    if not set(keys) & set(arrays):
        return np.empty((0, 2))
    if not set(keys) <= set(arrays):
        raise ValueError(f"{name} must have both {keys[0]} and {keys[1]}, or neither.")
    start, end = (check_array(arrays[key], f"{key} of {name}", kind="number") for key in keys)
    if len(start) != len(end):
        raise ValueError(f"{keys[0]} and {keys[1]} of {name} must have the same length.")
    return np.stack([start, end], axis=1)
