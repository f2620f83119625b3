"""Recordings in files of MATLAB, as arrays with the names that `array_files` lists.

A variable, or a field of a structure at any depth, is read by its name, such as `position_time`,
`session.position_time` or `session.position.time`. Structures of CellExplorer [1]_ are read as they
are: ``spikes.times`` (a cell array), ``behavior.timestamps`` with ``behavior.position.x`` and
``.y``, and ``ripples.timestamps``. Files of version 7.3 are HDF5; older ones are read by scipy.

References
----------
.. [1] Petersen, Siegle, Steinmetz, Mahallati and Buzsaki (2021), CellExplorer: a framework for
   visualizing and characterizing single neurons. https://doi.org/10.1016/j.neuron.2021.09.002
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.readers.claims import ClaimError, check_claim
from analyses.recordings.readers.hdf5_files import check_hdf5
from analyses.recordings.readers.units import to_cm
from replay.checks import shown
from replay.files import check_file, opened

__all__ = ["ARRAYS", "load_mat"]

_HDF5 = b"\x89HDF\r\n\x1a\n"
_HDF5_AT = 512  # after the header of MATLAB
_IN_PAIRS = ("position_xy", "position_xy_px", "posterior_xy")
ARRAYS = (
    "position_time", "position_t_ticks", *_IN_PAIRS, "clock_hz", "spike_time", "spike_t_ticks",
    "spike_unit", "mark_time", "mark_electrode", "mark_features", "event_start", "event_end",
    "field_potential", "field_potential_start", "field_potential_rate", "on_track_start",
    "on_track_end", "observed_start", "observed_end", "observed_unit", "posterior",
    "posterior_time",
)  # fmt: skip
"""The names of arrays that are read."""
_OF_CELLEXPLORER = ("times", "timestamps", "x", "y")
_DEEPEST = 8


def load_mat(path: Path) -> dict[str, NDArray[Any]]:
    """Read a file of MATLAB: arrays by the names of `array_files`, and others that it has."""
    check_file(path)
    try:
        with opened(path) as file:
            file.seek(_HDF5_AT)
            is_hdf5 = file.read(len(_HDF5)) == _HDF5
        tree = _of_hdf5(path) if is_hdf5 else _of_older(path)
    except (ClaimError, ImportError):
        raise
    except Exception as error:  # a damaged file may raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{path.name} cannot be read as a file of MATLAB: it is truncated, damaged or of "
            f"another format ({reason[:120]}). Copy it again, or save it again (save -v7)."
        ) from error
    found: dict[str, NDArray[Any]] = {}
    others: dict[str, NDArray[Any]] = {}
    for within, name, value in _leaves(tree):
        known = next((each for each in (name, f"{within}_{name}") if each in ARRAYS), None)
        if known and _is_numeric(value):
            array = np.atleast_1d(np.asarray(value, dtype=float))
            found.setdefault(known, array.reshape(-1, 2) if known in _IN_PAIRS else array)
        elif _is_numeric(value) and np.size(value) > 1 and name not in _OF_CELLEXPLORER:
            others.setdefault(name, np.asarray(value))
    found = {**_of_cellexplorer(tree, path.name), **found}
    if not found:
        listed = [name for _, name, _ in _leaves(tree)]
        raise ValueError(
            f"{path.name} has no variable or field named {', '.join(ARRAYS[:2])}, spike_time and "
            f"the like, and no structure spikes or behavior of CellExplorer; it has "
            f"{shown(listed)}. Rename them, as help(analyses.recordings.readers.array_files) lists."
        )
    return {**found, **others}


def _leaves(
    tree: Any, within: str = "", name: str = "", depth: int = 0
) -> Iterator[tuple[str, str, Any]]:
    """Iterate over what is no structure: its structure, its own name, and it; outermost first."""
    if not isinstance(tree, Mapping):
        yield within, name, tree
    elif depth < _DEEPEST:
        for key, value in sorted(tree.items(), key=lambda item: isinstance(item[1], Mapping)):
            if not str(key).startswith(("_", "#")):
                yield from _leaves(value, name, str(key), depth + 1)


def _is_numeric(value: Any) -> bool:
    return not isinstance(value, list) and np.asarray(value).dtype.kind in "buif"


def _of_cellexplorer(tree: Mapping[str, Any], name: str) -> dict[str, NDArray[Any]]:
    """Read the structures `spikes`, `behavior` and `ripples` of CellExplorer."""
    found: dict[str, NDArray[Any]] = {}
    times = _field(tree, "spikes", "times")
    if times is not None:
        is_list = isinstance(times, list) or np.asarray(times).dtype.kind == "O"
        each = [
            _vector(cell, f"spikes.times of {name}") for cell in (times if is_list else [times])
        ]
        found["spike_time"] = np.concatenate([*each, np.empty(0)])
        found["spike_unit"] = np.repeat(np.arange(len(each)), [len(cell) for cell in each])
    stamps, x, y = (
        _field(tree, "behavior", *keys)
        for keys in (("timestamps",), ("position", "x"), ("position", "y"))
    )
    if stamps is not None and x is not None and y is not None:
        unit = _field(tree, "behavior", "position", "units")
        unit = unit if isinstance(unit, str) else "cm"
        axes = [_vector(each, f"behavior.position of {name}") for each in (x, y)]
        if len(axes[0]) != len(axes[1]):
            raise ValueError(
                f"behavior.position of {name} must have as many x as y; got {len(axes[0])} and "
                f"{len(axes[1])}."
            )
        xy = np.stack(axes, axis=1)
        found["position_time"] = _vector(stamps, f"behavior.timestamps of {name}")
        if unit.startswith("pixel"):  # the track graph may have their size
            found["position_xy_px"] = xy
        else:
            found["position_xy"], _ = to_cm(xy, unit, None, name)
    ripples = _field(tree, "ripples", "timestamps")
    if ripples is not None:
        flat = _vector(ripples, f"ripples.timestamps of {name}")
        if len(flat) % 2:
            raise ValueError(f"ripples.timestamps of {name} must have two columns: begin and end.")
        found["event_start"], found["event_end"] = flat.reshape(-1, 2).T
    return found


def _vector(value: Any, what: str) -> NDArray[np.float64]:
    try:
        return np.ravel(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, got {shown(value)}.") from None


def _field(tree: Any, *keys: str) -> Any:
    """Return a field of nested structures; None if there is none."""
    for key in keys:
        if not isinstance(tree, Mapping) or key not in tree:
            return None
        tree = tree[key]
    return tree


def _of_older(path: Path) -> dict[str, Any]:
    """Read a file of version 4 to 7.2, as nested dictionaries, arrays and lists."""
    from scipy import io

    with opened(path) as file:
        claimed = sum(8 * abs(math.prod(shape)) for _, shape, _ in io.whosmat(file))
        check_claim(claimed, path.stat().st_size, f"the variables of {path.name}")
        file.seek(0)
        return dict(io.loadmat(file, simplify_cells=True))


def _of_hdf5(path: Path) -> dict[str, Any]:
    """Read a file of version 7.3, in the same form."""
    try:
        import h5py
    except ImportError:
        raise ImportError(
            f"{path.name} is a file of MATLAB 7.3, which needs h5py: pip install "
            "'hippocampal-replay[recordings]'; or save it with save -v7."
        ) from None
    check_hdf5(path)
    with h5py.File(path, "r") as file:
        tree: dict[str, Any] = _Reading(file, path).plain(file, 0)
        return tree


class _Reading:
    """The reading of a file of version 7.3, whose cells may lead to one another in circles."""

    def __init__(self, file: Any, path: Path) -> None:
        self.file, self.name, self.stored = file, path.name, path.stat().st_size
        self.claimed, self.met = 0, set[Any]()

    def plain(self, item: Any, depth: int) -> Any:
        """Convert a group to a dictionary, and a data set to an array, a text or a list.

        What holds others is converted once; MATLAB refers to it once.
        """
        from h5py import h5o

        is_group = hasattr(item, "items")
        if is_group or item.dtype.kind == "O":
            address = h5o.get_info(item.id).addr
            if depth > _DEEPEST or address in self.met:
                return None
            self.met.add(address)
        if is_group:
            return {key: self.plain(each, depth + 1) for key, each in item.items() if key[0] != "#"}
        self.claimed += item.size * item.dtype.itemsize
        check_claim(self.claimed, self.stored, f"the variables of {self.name}")
        is_empty = bool(item.attrs.get("MATLAB_empty", 0))
        values = np.empty(0) if is_empty else np.squeeze(np.asarray(item[()]).T)
        if values.dtype.kind == "O":
            return [self.plain(self.file[each], depth + 1) for each in np.ravel(values)]
        if item.attrs.get("MATLAB_class", b"") == b"char":
            return "".join(map(chr, np.ravel(values).astype(int)))
        return values
