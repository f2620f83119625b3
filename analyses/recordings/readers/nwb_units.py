"""Spikes of NWB files: units that are chosen by their table, or spikes that were not sorted.

Units are chosen by an expression over the columns of their table, which is read as a syntax tree
and never run.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.marks import MarkClasses, classes_of_marks, describe_classes
from analyses.recordings.basics.observed import check_digits
from analyses.recordings.readers.nwb_data import by_name, not_read, plain, split_choice
from analyses.recordings.readers.track_graphs import count_text
from replay.checks import check_text, shown, unknown_name
from replay.checks.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from pynwb import NWBFile


_MARKS = "marks"  # instead of an expression: read spikes that were not sorted
_AT_ONCE = 20_000  # waveforms
_NO_CELLS = {"mua", "multi", "multiunit", "noise", "artifact", "artefact", "bad"}
_CELLS = {"good", "single", "singleunit", "sua"}  # columns in which 0 or False marks the others
_HIPPOCAMPUS = "CA[1-4]|hippoc|HPC|dentate"
_MOST_REGIONS = 6
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_EXAMPLE = "\"location == 'CA1' and cell_type == 'pyramidal'\""


class Spikes(NamedTuple):
    """The spikes of each cell or class of marks, as `Recording` has them, and a phrase on them.

    `intervals` say when each cell was observed; they are empty if nothing does.
    """

    text: str
    spikes: tuple[Floats, ...] = ()
    electrode: Ints | None = None
    units: tuple[str, ...] = ()
    intervals: tuple[Floats, ...] = ()


def read_spikes(file: NWBFile, name: str, choice: str | None) -> Spikes:
    """Read the units that are chosen, or marks if these are chosen, or if there are no units."""
    known, marks = units_of(file), marks_of(file)
    if choice == _MARKS or (marks and not known):
        classes = _read_marks(marks, name)
        return Spikes(describe_classes(*classes), *classes)
    beside = f" (spikes that were not sorted are not read; choose by units: {_MARKS!r})"
    beside = beside if marks else ""
    if not known:
        return Spikes("no units")
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
    counted = f"{count_text(len(given), 'unit')} with {count_text(sum(map(len, given)), 'spike')}"
    return Spikes(
        f"{counted}{text}{beside}",
        tuple(times.astype(float) for times in given),
        units=tuple(map(str, np.asarray(units.id[:])[rows])),
        intervals=intervals_of_units(units, rows),
    )


def units_of(file: NWBFile) -> dict[str, Any]:
    """Return the tables of units by name: those with spikes first, of them the file's own."""
    from pynwb.misc import Units

    found = by_name(each for each in file.objects.values() if isinstance(each, Units) and len(each))

    def rank(name: str) -> tuple[bool, bool, str]:
        return "spike_times" not in found[name].colnames, found[name] is not file.units, name

    return {name: found[name] for name in sorted(found, key=rank)}


def intervals_of_units(units: Any, rows: NDArray[np.integer]) -> tuple[Floats, ...]:
    """Read the ``obs_intervals`` of some units; empty if none has any."""
    if "obs_intervals" not in units.colnames:
        return ()
    found = [np.asarray(units.get_unit_obs_intervals(int(row)), dtype=float) for row in rows]
    if not any(map(len, found)):
        return ()
    return tuple(each if len(each) else np.array([[-np.inf, np.inf]]) for each in found)


def unit_columns(units: Any) -> dict[str, NDArray[Any]]:
    """Read the columns of units with one value for each; and `location`, from electrodes."""
    found: dict[str, NDArray[Any]] = {}
    for column in units.columns:
        values = column.data
        if np.ndim(values) == 1 and len(values) == len(units) and column.name in units.colnames:
            listed = [plain(each) for each in values[:]]
            if all(isinstance(each, str | bool | int | float) for each in listed):
                found[str(column.name)] = np.asarray(listed)
    if "location" in found:
        return found
    electrodes = units.get_ancestor("NWBFile").electrodes
    if "electrodes" in units.colnames and electrodes is not None:
        if "location" in electrodes.colnames:
            place = [str(plain(each)) for each in electrodes["location"].data[:]]
            index = units["electrodes"]
            rows = index.data[:]
            if hasattr(index, "target"):  # of several electrodes, the first counts
                ends = index.data[:]
                firsts, rows = np.append(0, ends[:-1]), index.target.data[:]
                rows = [rows[first] if last > first else None
                        for first, last in zip(firsts, ends, strict=True)]  # fmt: skip
            found["location"] = np.asarray(
                ["unknown" if row is None else place[int(row)] for row in rows]
            )
    elif "electrode_group" in units.colnames:
        groups = units["electrode_group"].data[:]
        found["location"] = np.asarray([str(group.location) for group in groups])
    return found


def hippocampal(regions: NDArray[Any]) -> str:
    """Return the region of most units, of those in the hippocampus if there are any."""
    known, counts = np.unique(regions, return_counts=True)
    is_there = [bool(re.search(_HIPPOCAMPUS, str(each), re.IGNORECASE)) for each in known]
    return str(known[np.lexsort((-counts, np.logical_not(is_there)))[0]])


def without_noise(columns: Mapping[str, NDArray[Any]]) -> tuple[str, str]:
    """Say how many units are marked as no single cells, and the expression that leaves them out.

    Examples
    --------
    >>> without_noise({"KSLabel": np.array(["good", "mua", "mua"])})
    ('KSLabel: 2 of mua', "KSLabel != 'mua'")
    >>> without_noise({"is_noise": np.array([False, True, True])})
    ('is_noise: 2 of True', 'is_noise != True')
    """
    told, left = [], []
    for column, values in columns.items():
        if not column.isidentifier():
            continue
        known, counts = np.unique(values, return_counts=True)
        name = re.sub("[^a-z]", "", column.lower()).removeprefix("is")
        marks = [value for value in known.tolist() if isinstance(value, str)
                 and re.sub("[^a-z]", "", value.lower()) in _NO_CELLS]  # fmt: skip
        # Other numbers are a measure, such as a level of noise, of which nobody knows a limit here.
        if name in _NO_CELLS | _CELLS and set(known.tolist()) <= {0, 1}:
            marks = [value for value in known.tolist() if bool(value) == (name in _NO_CELLS)]
        marked = {
            value: n
            for value, n in zip(known.tolist(), counts.tolist(), strict=True)
            if value in marks
        }
        if marked:
            told.append(f"{column}: {', '.join(f'{n} of {each}' for each, n in marked.items())}")
            one, *others = marked
            left.append(f"{column} not in {tuple(marked)!r}" if others else f"{column} != {one!r}")
    return "; ".join(told), " and ".join(left)


def marks_of(file: NWBFile) -> dict[str, Any]:
    """Return the tables of spikes that were not sorted, by name; features before waveforms."""
    from pynwb.ecephys import FeatureExtraction, SpikeEventSeries

    for kind in (FeatureExtraction, SpikeEventSeries):
        found = by_name(each for each in file.objects.values() if isinstance(each, kind))
        if found:
            return dict(sorted(found.items()))
    return {}


def _read_marks(known: Mapping[str, Any], name: str) -> MarkClasses:
    """Read the spikes of each electrode, and divide them into classes of marks."""
    if not known:
        raise ValueError(
            f"{name} has no spikes that were not sorted (SpikeEventSeries or FeatureExtraction): "
            "choose units, or add the waveforms or features of spikes."
        )
    times, marks = [], []
    for each in known.values():
        is_waveform = not hasattr(each, "features")
        times.append((each.timestamps if is_waveform else each.times)[:])
        values = each.data if is_waveform else each.features
        found = []
        # Waveforms may not fit into memory, and only their largest amplitudes are needed.
        for begin in range(0, len(values), _AT_ONCE):
            part = np.asarray(values[begin : begin + _AT_ONCE], dtype=float)
            part = np.abs(part).max(axis=-1) if is_waveform else part
            found.append(part.reshape(len(part), -1))
        marks.append(np.concatenate([*found, np.empty((0, found[0].shape[1] if found else 1))]))
    return classes_of_marks(times, marks)


def choose_units(expression: str, columns: Mapping[str, NDArray[Any]], name: str) -> Bools:
    """Find the units for which an expression is true, shape (n_units,); `name` is that of the file.

    Columns are texts, numbers or truth values. A ValueError says what of an expression is not
    understood, or which values there are if it chooses no unit.
    """
    text = check_text("units", expression)
    if not columns:
        raise ValueError(
            f"The units of {name} have no column to choose by, such as a region or a type of cell: "
            "leave units out, which takes all of them."
        )
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        chosen = np.asarray(_truth(tree, columns, name), dtype=bool)
    except (SyntaxError, RecursionError, MemoryError):  # the latter two: nested too deeply
        raise ValueError(f"units must be an expression such as {_EXAMPLE}; got {text!r}.") from None
    if not chosen.any():
        told = "; ".join(
            f"{key}: {', '.join(map(str, np.unique(values)[:8]))}"
            for key, values in columns.items()
            if key in text
        )
        raise ValueError(f"No unit of {name} has {text}. Values in the file: {told}.")
    return chosen


def _truth(node: ast.expr, columns: Mapping[str, NDArray[Any]], name: str) -> Bools:
    """Compute where a part of the expression is true."""
    if isinstance(node, ast.BoolOp):
        parts = [_truth(each, columns, name) for each in node.values]
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return np.asarray(combine.reduce(parts))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_truth(node.operand, columns, name)
    if isinstance(node, ast.Name):
        values: NDArray[Any] = _value(node, columns, name)
        if values.dtype == bool:
            return values
        raise ValueError(
            f"The column {node.id!r} of the units of {name} is not true or false: compare it, such "
            f"as {node.id} == {values[0].item()!r}."
        )
    if not isinstance(node, ast.Compare):
        raise ValueError(
            f"units may have columns, values, comparisons, in, and, or, not, and nothing like "
            f"{ast.unparse(node)!r}. For instance: {_EXAMPLE}."
        )
    found = np.ones(len(next(iter(columns.values()))), dtype=bool)
    sides = [node.left, *node.comparators]
    for one, comparison, other in zip(sides, node.ops, sides[1:], strict=False):
        found &= _compared(comparison, _value(one, columns, name), _value(other, columns, name))
    return found


def _compared(comparison: ast.cmpop, one: Any, other: Any) -> Bools:
    if isinstance(comparison, ast.In | ast.NotIn):
        choices = list(other) if isinstance(other, tuple) else [other]
        found = np.any([_compared(ast.Eq(), one, each) for each in choices], axis=0)
        return np.asarray(~found if isinstance(comparison, ast.NotIn) else found, dtype=bool)
    if type(comparison) not in _COMPARISONS:
        raise ValueError("units may compare by ==, !=, <, <=, >, >= and in.")
    if isinstance(one, tuple) or isinstance(other, tuple):
        raise ValueError(
            f"units compares with several values by 'in' only. For instance: {_EXAMPLE}."
        )
    is_text, is_other = (np.asarray(each).dtype.kind in "US" for each in (one, other))
    if is_text != is_other:
        text, number = (one, other) if is_text else (other, one)
        raise ValueError(
            f"units compares a text with a number: {np.ravel(text)[0]!s} and "
            f"{np.ravel(number)[0]!s}. Write texts in quotes, and numbers without."
        )
    return np.asarray(_COMPARISONS[type(comparison)](one, other))


def _value(node: ast.expr, columns: Mapping[str, NDArray[Any]], name: str) -> Any:
    """Read a column or a constant."""
    if isinstance(node, ast.Name):
        if node.id not in columns:
            raise unknown_name(f"column of the units of {name}", node.id, columns)
        return columns[node.id]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return tuple(_value(each, columns, name) for each in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, columns, name)
        if np.asarray(value).dtype.kind in "iuf":
            return -value
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return node.value
    raise ValueError(
        f"units may compare columns with texts and numbers, not {ast.unparse(node)!r}. For "
        f"instance: {_EXAMPLE}."
    )
