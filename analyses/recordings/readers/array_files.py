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
Objects of pynapple and its files have other names, which `npz_files` translates.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.marks import MarkClasses, classes_of_marks, describe_classes
from analyses.recordings.basics.observed import check_digits, check_times, outside_of, with_spikes
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import MOST_UNKNOWN
from analyses.recordings.basics.signals import FieldPotential, Posterior, sampled_at
from analyses.recordings.readers.decoded import along_track
from analyses.recordings.readers.mat_files import load_mat
from analyses.recordings.readers.npz_files import ARRAYS, kind_of, load_npz, to_arrays
from analyses.recordings.readers.track_graphs import (
    count_text,
    epochs_of,
    in_pairs,
    to_cm,
    to_plane,
)
from replay.checks import check_array, check_number, shown, typed
from replay.checks.arrays import Floats

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
    """Read spikes and positions from a file, a folder of CellExplorer, or a mapping of arrays.

    Names are those of the module's table. `position` is the structure of positions of CellExplorer,
    if there are several; `name` is that of the arrays in messages, a file has its own.
    """
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(source, Mapping):
        for key, value in source.items():
            try:
                arrays[key] = np.asarray(value)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{key} of {name} must be an array, with rows of one length, got "
                    f"{shown(value)}."
                ) from None
    else:
        name, arrays = Path(source).name, load_arrays(Path(source), position)
    remarks: list[str] = []
    if kind_of(arrays):
        arrays, remarks = to_arrays(arrays, name)
    if "columns" in arrays:
        return along_track(arrays["t"], arrays["d"], arrays["columns"], graph, name)
    found, told = _Arrays(arrays, name).read(graph)
    if not told:
        raise ValueError(
            f"{name} must have the arrays position_time, position_xy, spike_time and spike_unit; "
            f"it has {shown(sorted(arrays))}. Rename them."
        )
    others = sorted(set(arrays) - set(ARRAYS))
    # Of two forms of the same, the first is read.
    for what in ("position_time", "position_xy", "position_linear", "spike_time"):
        other = what.replace("_time", "_t_ticks") if what.endswith("_time") else f"{what}_px"
        others += [other] if what in arrays and other in arrays else []
    if others:
        told.append(
            "not read: "
            + ", ".join(repr(key) + f", {arrays[key]}" * is_remark(arrays[key]) for key in others)
        )
    note = f"{name}: arrays; {'; '.join(told + remarks)}."
    return Recording(name, graph, **found, notes=(note,), most_unknown=most_unknown)


def is_remark(values: NDArray[np.generic]) -> bool:
    """Whether a text stands where a file has what cannot be read."""
    return values.ndim == 0 and values.dtype.kind == "U"


def load_arrays(path: Path, position: str | None = None) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file, of one of MATLAB, or of a folder, by name."""
    return load_npz(path) if path.suffix.lower() == ".npz" else load_mat(path, position)


class _Arrays(NamedTuple):
    """Arrays by name, which are checked as they are read; `name` is that of all in messages."""

    arrays: Mapping[str, NDArray[Any]]
    name: str

    def read(self, graph: nx.Graph | None) -> tuple[dict[str, Any], list[str]]:
        """Return the parts of a `Recording` that there are, and a phrase on each."""
        found: dict[str, Any] = {}
        told: list[str] = []
        time = self.times("position")
        if time is not None:
            found["position"], scaled = self.positions(graph)
            found["time"] = time
            told.append(count_text(len(time), "position") + (f" ({scaled})" if scaled else ""))
        time = self.times("spike")
        spikes: tuple[Floats, ...] = ()
        units: tuple[str, ...] = ()
        if time is not None:
            spikes, units = self.cells(time)
            n_cells, n_spikes = count_text(len(spikes), "cell"), count_text(len(time), "spike")
            told.append(f"{n_cells} with {n_spikes}")
        if "mark_time" in self.arrays and not spikes:
            spikes, found["electrode"] = self.classes()
            told.append(describe_classes(spikes, found["electrode"]))
        elif "mark_time" in self.arrays:
            told.append("marks are not read, as there are cells")
        observed, found["spikes"], lost = with_spikes(spikes, *self.observed(units))
        found |= {"units": units, "observed": observed}
        told += lost
        if "posterior" in self.arrays:
            found["posterior"] = posterior = self.posterior()
            n_times, n_bins = len(posterior.time), len(posterior.position)
            told.append(f"a posterior of {n_times:,} times and {n_bins} bins")
        if "field_potential" in self.arrays:
            found["field_potential"] = potential = self.field_potential()
            told.append(f"field potential of {count_text(potential.signal.shape[1], 'channel')}")
        events = self.pairs("event")
        if len(events):
            found["events"] = pd.DataFrame(events, columns=["start_time", "end_time"])
            told.append(count_text(len(events), "event"))
        found["epochs"] = self.epochs()
        if found["epochs"]:
            told.append(f"epochs {', '.join(found['epochs'])}")
        if not told:
            return found, told
        on_track, of_graph = self.pairs("on_track"), epochs_of(graph)
        if len(on_track) and len(of_graph) and not np.array_equal(on_track, of_graph):
            told.append("the epochs on the track are its own, not those of the track graph")
        found["on_track"] = on_track if len(on_track) else of_graph
        if "clock_hz" in self.arrays:
            told.append(f"ticks of {self.number('clock_hz', _LOWEST_CLOCK):g} Hz")
        return found, told

    def numbers(self, key: str, **options: Any) -> NDArray[Any]:
        options = {"kind": "number", **options}
        return check_array(self.arrays[key], f"{key} of {self.name}", **options)

    def number(self, key: str, at_least: float = -np.inf) -> float:
        given = self.arrays[key]
        value = given.item() if given.size == 1 else given
        return check_number(f"{key} of {self.name}", value, at_least=at_least)

    def times(self, what: str) -> Floats | None:
        """Read times in s, or in ticks of a clock; None if there are none."""
        if f"{what}_time" in self.arrays:
            return check_times(self.arrays[f"{what}_time"], f"{what}_time of {self.name}")
        key = f"{what}_t_ticks"
        if key not in self.arrays:
            return None
        self.check_beside(key, clock_hz="the number of ticks per second")
        hertz = self.number("clock_hz", _LOWEST_CLOCK)
        ticks = self.numbers(key)
        check_digits(self.arrays[key] / hertz, f"{key} of {self.name}")
        return np.asarray(ticks / hertz)

    def pairs(self, what: str) -> Floats:
        """Read begin and end of each interval of a kind; empty if there is none."""
        keys = f"{what}_start", f"{what}_end"
        if not set(keys) & set(self.arrays):
            return np.empty((0, 2))
        for one, other in (keys, keys[::-1]):
            self.check_beside(one, **{other: "the other end of each interval"})
        ends = {key: check_times(self.arrays[key], f"{key} of {self.name}") for key in keys}
        self.check_lengths(**ends)
        return np.stack([*ends.values()], axis=1)

    def check_beside(self, key: str, **needed: str) -> None:
        """Check that beside an array there are those that it needs, which are described."""
        lacking = [f"{each}, {what}" for each, what in needed.items() if each not in self.arrays]
        if key in self.arrays and lacking:
            raise ValueError(f"{self.name} has {key}, but no {' and no '.join(lacking)}.")

    def check_lengths(self, **parts: NDArray[Any]) -> None:
        """Check that arrays whose rows belong together have as many."""
        if len({len(part) for part in parts.values()}) > 1:
            counts = ", ".join(f"{len(part):,} of {key}" for key, part in parts.items())
            raise ValueError(
                f"{' and '.join(parts)} of {self.name} must have the same length; got {counts}."
            )

    def positions(self, graph: nx.Graph | None) -> tuple[Floats, str]:
        """Read positions, n x 2, and say in which form they were."""
        for key, unit in (("position_xy", "cm"), ("position_xy_px", "pixels")):
            if key in self.arrays:
                what = f"{key} of {self.name}"
                pairs = in_pairs(self.arrays[key], what)
                xy = check_array(pairs, what, kind="number", missing=True, n_dims=2)
                return to_cm(xy, unit, graph, self.name)
        for key, unit in (("position_linear", "cm"), ("position_linear_px", "pixels")):
            if key in self.arrays:
                what, values = f"The positions of {self.name}", self.numbers(key, missing=True)
                place, scaled = to_plane(values, unit, graph, self.name, what)
                return place, f"linearised, {scaled}" if scaled else "linearised"
        raise ValueError(
            f"{self.name} has times of positions, but neither position_xy (cm) nor position_xy_px "
            "(pixels) nor position_linear (cm along the track)."
        )

    def ids(self, key: str) -> NDArray[np.generic]:
        """Read cells: a name or number of each, or its numbers such as tetrode and cluster."""
        values: NDArray[np.generic] = self.arrays[key]
        if values.dtype.kind in "US":
            return values
        return self.numbers(key, kind="whole", at_least=0, n_dims=2 if values.ndim == 2 else 1)

    def cells(self, time: Floats) -> tuple[tuple[Floats, ...], tuple[str, ...]]:
        """Divide spikes by cell; also return the id of each cell."""
        for key in ("spike_time", "spike_t_ticks"):
            self.check_beside(key, spike_unit="the cell of each spike")
        unit = self.ids("spike_unit")
        self.check_lengths(spike_time=time, spike_unit=unit)
        cells, of_spike = np.unique(unit, axis=0, return_inverse=True)
        of_spike = of_spike.ravel()  # numpy 2.0 keeps the dimensions
        spikes = tuple(time[of_spike == cell] for cell in range(len(cells)))
        return spikes, tuple("-".join(map(str, np.ravel(cell))) for cell in cells)

    def observed(self, units: tuple[str, ...]) -> tuple[Floats, list[Floats]]:
        """Read the intervals in which all spikes were observed, or else those of each cell."""
        pairs, always = self.pairs("observed"), outside_of([])
        if "observed_unit" not in self.arrays:
            return (pairs if len(pairs) else always), []
        given = ["-".join(map(str, np.ravel(cell))) for cell in self.ids("observed_unit")]
        if len(given) != len(pairs) or set(given) != set(units):
            raise ValueError(
                f"observed_unit of {self.name} must name the cell of each interval from "
                "observed_start to observed_end, and each cell of spike_unit at least once."
            )
        return always, [pairs[[each == unit for each in given]] for unit in units]

    def classes(self) -> MarkClasses:
        """Divide the marks of each electrode into classes."""
        self.check_beside(
            "mark_time",
            mark_electrode="the electrode of each spike",
            mark_features="a row of features for each spike",
        )
        time = check_times(self.arrays["mark_time"], f"mark_time of {self.name}")
        number = self.numbers("mark_electrode", kind="whole")
        marks = self.numbers("mark_features", n_dims=2)
        self.check_lengths(mark_time=time, mark_electrode=number, mark_features=marks)
        own = [np.flatnonzero(number == each) for each in np.unique(number)]
        return classes_of_marks([time[each] for each in own], [marks[each] for each in own])

    def posterior(self) -> Posterior:
        self.check_beside(
            "posterior",
            posterior_time="the times of its rows (s)",
            posterior_xy="the centres of its bins (x, y in cm)",
        )
        if self.arrays["posterior"].ndim > 2:
            raise ValueError(
                f"The posterior of {self.name} must have a row for each time and a column for each "
                f"bin; got the shape {self.arrays['posterior'].shape}. In two dimensions, reshape "
                "it to (times, bins), and give the centre of each bin in posterior_xy."
            )
        time = check_times(self.arrays["posterior_time"], f"posterior_time of {self.name}")
        probability = self.numbers("posterior", missing=True, n_dims=2)
        what = f"posterior_xy of {self.name}"
        pairs = in_pairs(self.arrays["posterior_xy"], what)
        xy = check_array(pairs, what, kind="number", missing=True, n_dims=2)
        return Posterior(time, probability, xy, {})

    def field_potential(self) -> FieldPotential:
        values = self.numbers("field_potential", missing=True, n_dims=None)
        if values.ndim not in (1, 2):
            raise ValueError(
                f"field_potential of {self.name} must have the shape (n_time,) or (n_time, "
                f"n_channels); got {values.shape}."
            )
        signal = values if values.ndim == 2 else values[:, None]
        if "field_potential_time" in self.arrays:
            what = f"field_potential_time of {self.name}"
            return sampled_at(check_times(self.arrays["field_potential_time"], what), signal, what)
        self.check_beside(
            "field_potential",
            field_potential_start="its first time (s), or else field_potential_time of all samples",
            field_potential_rate="its sampling rate (Hz)",
        )
        start, rate = self.number("field_potential_start"), self.number("field_potential_rate")
        return FieldPotential(start, rate, signal)

    def epochs(self) -> dict[str, Floats]:
        pairs = self.pairs("epoch")
        labels = np.ravel(self.arrays.get("epoch_label", np.empty(0))).astype(str)
        self.check_lengths(epoch_start=pairs, epoch_label=labels)
        return {label: pairs[labels == label] for label in dict.fromkeys(labels.tolist())}
