"""Recordings in files of MATLAB, as arrays with the names that `array_files` lists.

A variable, or a field of a structure at any depth, is read by its name, such as `position_time`,
`session.position_time` or `session.position.time`. Structures of CellExplorer [1]_ are read as they
are, from one file or from the folder of a session, whose files are named
``BASENAME.NAME.KIND.mat``:

- ``spikes.times`` (a cell array); `unit` is ``spikes.UID``, or the number of the cell from 1;
- `timestamps` with `position.x` and `.y`, or else `position.linearized`, in a structure of any
  name, such as `behavior` or `lineartrack`;
- ``ripples.timestamps``, or the `timestamps` in the file ``BASENAME.NAME.events.mat``;
- ``SleepState.ints.NREMstate`` and the like, which become epochs.

Files of version 7.3 are HDF5; older ones are read by scipy. Neither reads an object of MATLAB, such
as a string, a table or a datetime: these are named, and the other variables are read.

References
----------
.. [1] Petersen et al. (2021). https://doi.org/10.1016/j.neuron.2021.09.002
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.observed import check_digits
from analyses.recordings.readers.claims import check_claim, check_hdf5, damage_told
from analyses.recordings.readers.npz_files import ARRAYS
from analyses.recordings.readers.nwb_data import choose_events
from analyses.recordings.readers.track_graphs import in_pairs, to_cm
from replay.checks import shown, unknown_name
from replay.checks.arrays import Floats
from replay.files import check_file, opened

_HDF5 = b"\x89HDF\r\n\x1a\n"
_HDF5_AT = 512  # after the header of MATLAB
_OF_CELLEXPLORER = ("times", "timestamps", "x", "y", "linearized")
_KINDS = ("behavior", "events", "states")  # files of a session, beside spikes.cellinfo
_DEEPEST = 8  # structures within one another
_CONVERT = "save it in MATLAB as numbers (seconds(t), table2struct(t, 'ToScalar', true))."
_HEADER, _COMPRESSED = 128, 15  # of files of version 5 to 7.2
_PART = 1 << 20  # bytes


class _Object(NamedTuple):
    """An object of MATLAB, which only MATLAB reads."""

    kind: str

    def __str__(self) -> str:
        return f"an object of MATLAB ({self.kind})"


def files_of(path: Path) -> list[Path]:
    """List the files of the session of CellExplorer in a folder; of a file, only itself."""
    if not path.is_dir():
        return [path]
    found = {}
    for each in sorted(path.glob("*.mat")):
        basename, *parts, kind, _ = ["", *each.name.split(".")]
        if parts and (kind in _KINDS or (parts[-1], kind) == ("spikes", "cellinfo")):
            found[each] = ".".join([basename, *parts[:-1]])
    if len(set(found.values())) != 1:
        what = "several sessions" if found else "no session"
        raise ValueError(
            f"The folder {path.name} has files of {what} of CellExplorer, named "
            "BASENAME.spikes.cellinfo.mat, BASENAME.NAME.behavior.mat, .events.mat and "
            f".states.mat: {', '.join(each.name for each in found) or 'none'}. Name one file, or "
            "a folder with the files of one session."
        )
    return list(found)


def load_mat(path: Path, position: str | None = None) -> dict[str, NDArray[Any]]:
    """Read a file of MATLAB: arrays by the names of `array_files`, and others that it has.

    What cannot be read is a text that says what it is. `path` may be the folder of a session of
    CellExplorer; `position` is the structure of positions, if there are several.
    """
    tree: dict[str, Any] = {}
    for each in files_of(path):
        own = _tree_of(each)
        structures = [value for value in own.values() if isinstance(value, Mapping)]
        if not path.is_dir() or len(structures) != 1:
            tree.update(own)
            continue
        # In a folder, a structure is known by its file: its own name may be that of another one.
        *_, key, kind, _ = each.name.split(".")
        tree[key if key not in tree else f"{key}.{kind}"] = structures[0]
    found: dict[str, NDArray[Any]] = {}
    others: dict[str, NDArray[Any]] = {}
    for within, name, value in _leaves(tree):
        parent = within.rpartition(".")[2]
        known = next((each for each in (name, f"{parent}_{name}") if each in ARRAYS), None)
        if known and isinstance(value, _Object):
            raise _only_matlab(f"{known} of {path.name}", value)
        if known in found and _is_numeric(value):
            others[f"{within}.{name}"] = np.asarray(value)  # the note says that it is not read
        elif known and _is_numeric(value):
            found[known] = np.atleast_1d(np.asarray(value))
        elif isinstance(value, _Object):
            others.setdefault(name, np.asarray(str(value)))
        elif _is_numeric(value) and np.size(value) > 1 and name not in _OF_CELLEXPLORER:
            others.setdefault(name, np.asarray(value))
    found = {**_of_cellexplorer(tree, path.name, position), **found}
    if not found:
        listed = [name for _, name, _ in _leaves(tree)]
        objects = [f"{name} is {value}" for _, name, value in _leaves(tree)
                   if isinstance(value, _Object)]  # fmt: skip
        raise ValueError(
            f"{path.name} has no variable or field named {', '.join(ARRAYS[:2])}, spike_time and "
            f"the like, and no structure spikes or behavior of CellExplorer; it has "
            f"{shown(listed)}. "
            + (f"{'; '.join(objects)}: {_CONVERT} " if objects else "")
            + "Rename them, as help(analyses.recordings.readers.array_files) lists."
        )
    return {**found, **others}


def _tree_of(path: Path) -> dict[str, Any]:
    """Read a file of any version as nested dictionaries, arrays and lists."""
    check_file(path)
    with damage_told(path, "a file of MATLAB", "Copy it again, or save it again (save -v7)."):
        with opened(path) as file:
            file.seek(_HDF5_AT)
            is_hdf5 = file.read(len(_HDF5)) == _HDF5
        if not is_hdf5:
            return _of_older(path)
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


def _leaves(
    tree: Any, within: str = "", name: str = "", depth: int = 0
) -> Iterator[tuple[str, str, Any]]:
    """Iterate over what is no structure: its structures, its own name, and it; outermost first."""
    if not isinstance(tree, Mapping):
        yield within, name, tree
    elif depth < _DEEPEST:
        # Own fields come before those of structures within, of which several may have one name.
        for key, value in sorted(tree.items(), key=lambda item: isinstance(item[1], Mapping)):
            if not str(key).startswith(("_", "#")):
                yield from _leaves(value, f"{within}.{name}".strip("."), str(key), depth + 1)


def _is_numeric(value: Any) -> bool:
    return not isinstance(value, list) and np.asarray(value).dtype.kind in "buif"


def _of_cellexplorer(
    tree: Mapping[str, Any], name: str, position: str | None
) -> dict[str, NDArray[Any]]:
    """Read spikes, positions, events and states as CellExplorer stores them."""
    found: dict[str, NDArray[Any]] = {}
    times = _field(tree, "spikes", "times")
    if times is not None:
        is_list = isinstance(times, list) or np.asarray(times).dtype.kind == "O"
        each = [_times(cell, f"spikes.times of {name}") for cell in (times if is_list else [times])]
        found["spike_time"] = np.concatenate([*each, np.empty(0)])
        ids = np.ravel(np.asarray(_field(tree, "spikes", "UID")))
        if ids.dtype.kind not in "iuf" or len(np.unique(ids)) != len(each):
            ids = np.arange(1, len(each) + 1)  # as MATLAB counts
        found["spike_unit"] = np.repeat(ids, [len(cell) for cell in each])
    stamped = {key: each for key, each in tree.items() if _field(each, "timestamps") is not None}
    tracked = [key for key in stamped if isinstance(_field(stamped, key, "position"), Mapping)]
    if tracked:
        found |= _positions(stamped, tracked, name, position)
    events = {key: each for key, each in stamped.items() if key not in tracked}
    is_named = name.endswith(".events.mat") and len(events) == 1
    chosen = tuple(events) if is_named else choose_events(events, name, None)
    if chosen:
        what = f"{chosen[0]}.timestamps of {name}"
        found["event_start"], found["event_end"] = _intervals(events[chosen[0]]["timestamps"], what)
        # The note says that the others are not read.
        found |= {f"{key}.timestamps": np.asarray(events[key]["timestamps"]) for key in chosen[1:]}
    states = [
        (label, key, _intervals(times, f"{key}.ints.{label} of {name}"))
        for key, each in tree.items()
        if isinstance(_field(each, "ints"), Mapping)
        for label, times in each["ints"].items()
    ]
    if states:
        labels = [label for label, _, _ in states]
        found["epoch_start"], found["epoch_end"] = np.hstack([each for _, _, each in states])
        found["epoch_label"] = np.repeat(
            [label if labels.count(label) == 1 else f"{key}.{label}" for label, key, _ in states],
            [each.shape[1] for _, _, each in states],
        )
    return found


def _times(value: Any, what: str) -> Floats:
    found = _vector(value, what)
    check_digits(value, what)
    return found


def _positions(
    stamped: Mapping[str, Any], tracked: list[str], name: str, position: str | None
) -> dict[str, NDArray[Any]]:
    """Read the positions in the structure that is named, or else the only one."""
    if position is not None and position not in tracked:
        raise unknown_name(f"structure of positions of {name}", position, tracked)
    if position is None and len(tracked) > 1:
        raise ValueError(
            f"{name} has several structures of positions, perhaps on several clocks: choose one "
            f"of {', '.join(tracked)} (position)."
        )
    key = tracked[0] if position is None else position
    place = stamped[key]["position"]
    axes = {axis: _vector(place[axis], f"{key}.position.{axis} of {name}")
            for axis in ("x", "y", "linearized") if axis in place}  # fmt: skip
    found = {"position_time": _times(stamped[key]["timestamps"], f"{key}.timestamps of {name}")}
    unit = place.get("units")
    unit = unit if isinstance(unit, str) and unit else "cm"
    x, y = axes.get("x", np.empty(0)), axes.get("y", np.empty(0))
    if len(x) and len(x) == len(y):
        xy = np.stack([x, y], axis=1)
        if unit.startswith("pixel"):  # the track graph may have their size
            return found | {"position_xy_px": xy}
        return found | {"position_xy": to_cm(xy, unit, None, name)[0]}
    if len(axes.get("linearized", ())) and not (len(x) and len(y)):
        if unit.startswith("pixel"):
            return found | {"position_linear_px": axes["linearized"]}
        return found | {"position_linear": to_cm(axes["linearized"], unit, None, name)[0]}
    raise ValueError(
        f"{key}.position of {name} must have as many x as y, or linearized; got {len(x)} and "
        f"{len(y)}."
    )


def _intervals(value: Any, what: str) -> Floats:
    """Read intervals, n x 2 or 2 x n; the result is 2 x n."""
    if isinstance(value, _Object):
        raise _only_matlab(what, value)
    return np.stack([_times(each, what) for each in in_pairs(value, what).T])


def _only_matlab(what: str, value: _Object) -> ValueError:
    return ValueError(f"{what} is {value}, which only MATLAB reads: {_CONVERT}")


def _vector(value: Any, what: str) -> Floats:
    if isinstance(value, _Object):
        raise _only_matlab(what, value)
    try:
        found = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, got {shown(value)}.") from None
    if found.ndim > 1 and found.size:
        raise ValueError(f"{what} must be one row or column of numbers; got {found.shape}.")
    return found.ravel()


def _field(tree: Any, *keys: str) -> Any:
    """Return a field of nested structures; None if there is none."""
    for key in keys:
        if not isinstance(tree, Mapping) or key not in tree:
            return None
        tree = tree[key]
    return tree


def _of_older(path: Path) -> dict[str, Any]:
    """Read a file of version 4 to 7.2."""
    from scipy import io

    tree: dict[str, Any] = {}
    claimed = 0
    with opened(path) as file:
        is_oldest = io.matlab.matfile_version(file)[0] == 0
        if not is_oldest:  # version 4 has no structures
            # Shapes do not tell what all variables hold: count their bytes, and keep none.
            file.seek(_HEADER - 2)
            numbers = struct.Struct("<II" if file.read(2) == b"IM" else ">II")
            n_bytes, stored = 0, path.stat().st_size
            while len(tag := file.read(8)) == 8:
                kind, length = numbers.unpack(tag)
                end = file.tell() + length
                if kind == _COMPRESSED:
                    stream, left = zlib.decompressobj(), b""
                    while (left or file.tell() < end) and not stream.eof:
                        packed = left or file.read(min(_PART, end - file.tell()))
                        if not packed:
                            break
                        n_bytes += len(stream.decompress(packed, _PART))
                        left = stream.unconsumed_tail
                        check_claim(n_bytes, stored, f"the variables of {path.name}")
                file.seek(end)
        file.seek(0)
        # Variables one by one, as scipy lists none of a file with an object, and names none itself.
        for name, part in [("", file)] if is_oldest else io.matlab.varmats_from_mat(file):
            if name == "__function_workspace__":  # what objects hold
                continue
            with suppress(TypeError):  # an object has no shape
                claimed += sum(8 * abs(math.prod(shape)) for _, shape, _ in io.whosmat(part))
            check_claim(claimed, path.stat().st_size, f"the variables of {path.name}")
            part.seek(0)
            tree.update(_named(io.loadmat(part, simplify_cells=True)))
    return tree


def _named(value: Any) -> Any:
    """Replace what scipy reads of an object of MATLAB by its class, and tell its name."""
    from scipy.io.matlab import MatlabOpaque

    if isinstance(value, dict):
        pairs = ((key, each, _named(each)) for key, each in value.items())
        return {
            each[0]["s0"].decode() if key == "None" and isinstance(new, _Object) else key: new
            for key, each, new in pairs
        }
    if isinstance(value, list):
        return [_named(each) for each in value]
    return _Object(value[0]["s2"].decode()) if isinstance(value, MatlabOpaque) else value


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
        kind = item.attrs.get("MATLAB_class", b"")
        if "MATLAB_object_decode" in item.attrs:
            return _Object(bytes(kind).decode())
        self.claimed += item.size * item.dtype.itemsize
        check_claim(self.claimed, self.stored, f"the variables of {self.name}")
        is_empty = bool(item.attrs.get("MATLAB_empty", 0))
        values = np.empty(0) if is_empty else np.squeeze(np.asarray(item[()]).T)
        if values.dtype.kind == "O":
            return [self.plain(self.file[each], depth + 1) for each in np.ravel(values)]
        if kind == b"char":
            return "".join(map(chr, np.ravel(values).astype(int)))
        return values
