"""Arrays in files of `numpy.savez`, and the objects of pynapple, which saves them so.

=============  ===============================================================================
`TsGroup`      the spikes of each unit, and in its `time_support` when they were observed
`TsdFrame`     positions, in the columns `x` and `y` (cm); or a decoded posterior, whose columns
               are places along the track (cm)
`Tsd`          positions along the linearised track (cm)
`IntervalSet`  candidate events
=============  ===============================================================================

They are recognised by their attributes, and their files by the names of arrays: pynapple itself is
not needed. Times are in s. Arrays get the names of `array_files`.
"""

from __future__ import annotations

import math
import pickletools
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.readers.claims import ClaimError, check_claim
from replay.checks import shown
from replay.files import check_file, opened

ARRAYS = (
    "position_time", "position_t_ticks", "position_xy", "position_xy_px", "position_linear",
    "position_linear_px", "clock_hz", "spike_time", "spike_t_ticks", "spike_unit", "mark_time",
    "mark_electrode", "mark_features", "event_start", "event_end", "epoch_start", "epoch_end",
    "epoch_label", "field_potential", "field_potential_start", "field_potential_rate",
    "field_potential_time", "on_track_start", "on_track_end", "observed_start", "observed_end",
    "observed_unit",
    "posterior", "posterior_time", "posterior_xy",
)  # fmt: skip
"""The names of arrays that are read."""
_KINDS = {
    "TsGroup": ("t", "index", "start", "end"), "TsdFrame": ("t", "d", "columns"),
    "Tsd": ("t", "d"), "Ts": ("t",), "IntervalSet": ("start", "end"),
}  # fmt: skip
"""The arrays that are read of each kind of object of pynapple."""
_ROUNDING = 1e-3  # of the sums of a posterior
_LONGEST = 10**6  # bytes, of the pickled names of columns


def load_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file by name."""
    check_file(path)
    try:
        with (
            opened(path) as file,
            zipfile.ZipFile(file) as archive,
            np.load(file, allow_pickle=False) as stored,
        ):
            kind = kind_of(stored.files)
            names = _KINDS[kind] if kind else tuple(stored.files)  # others of pynapple are pickled
            claimed = 0
            for key in names:
                with archive.open(f"{key}.npy") as member:
                    shape, dtype = _header(member)
                    claimed += abs(math.prod(shape)) * int(dtype.itemsize)  # none offsets others
            check_claim(claimed, path.stat().st_size, f"the arrays of {path.name}")
            found: dict[str, NDArray[Any]] = {}
            for key in names:
                with archive.open(f"{key}.npy") as member:
                    if key == "columns" and _header(member)[1].hasobject:
                        # The texts in a pickle are found by taking it apart; it is never run.
                        codes = pickletools.genops(member.read(_LONGEST))
                        texts = [
                            text for code, text, _ in codes if code.name.endswith("BINUNICODE")
                        ]
                        found[key] = np.array(texts)[-found["d"].shape[-1] :]
                        continue
                found[key] = stored[key]
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


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read shape and dtype of a stored array, and not the array."""
    read = np.lib.format.read_array_header_1_0
    if np.lib.format.read_magic(member) != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(member)
    return shape, dtype


def stored_form(source: object) -> dict[str, Any] | None:
    """Return the arrays under which pynapple would save one of its objects; None of another."""
    given: Any = source
    if isinstance(source, Mapping):
        times: list[Any] = [getattr(each, "t", None) for each in source.values()]
        if not hasattr(source, "time_support") or any(each is None for each in times):
            return None
        index = np.repeat(np.array(list(source), dtype=int), list(map(len, times)))
        support = given.time_support
        spikes = {"t": np.concatenate([*times, np.empty(0)]), "index": index}
        return spikes | {"start": support.start, "end": support.end}
    if hasattr(source, "t"):
        names = {"d": "values", "columns": "columns"}
        stored = {key: getattr(given, name) for key, name in names.items() if hasattr(given, name)}
        return {"t": given.t, **stored}
    if hasattr(source, "start") and hasattr(source, "end"):
        return {"start": given.start, "end": given.end}
    return None


def kind_of(names: Collection[str]) -> str | None:
    """Return the kind of object that is stored in arrays of these names, if pynapple stored it.

    Examples
    --------
    >>> kind_of({"t", "d", "start", "end", "type"})
    'Tsd'
    """
    if set(names) & set(ARRAYS):
        return None
    return next((kind for kind, own in _KINDS.items() if set(own) <= set(names)), None)


def to_arrays(
    stored: Mapping[str, NDArray[Any]], name: str
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Translate the names of arrays; also return what must be said of it.

    A posterior is returned as it is: it has `columns`.
    """
    if "index" in stored:
        spikes = {"spike_time": stored["t"], "spike_unit": stored["index"]}
        return spikes | {"observed_start": stored["start"], "observed_end": stored["end"]}, []
    if "start" in stored and "t" not in stored:
        return {"event_start": stored["start"], "event_end": stored["end"]}, []
    time, values = stored["t"], stored.get("d", np.empty(0))
    if "columns" in stored:
        columns = np.ravel(stored["columns"]).tolist()
        if {"x", "y"} <= set(columns):
            xy = values[:, [columns.index("x"), columns.index("y")]]
            others = [str(each) for each in columns if each not in ("x", "y")]
            remarks = [f"columns that are not read: {', '.join(others)}"] if others else []
            return {"position_time": time, "position_xy": xy}, remarks
        if columns == [0, 1] and not np.allclose(np.nansum(values, axis=1), 1.0, atol=_ROUNDING):
            remark = "its two columns have no names, and are taken to be x and y"
            return {"position_time": time, "position_xy": values}, [remark]
        if any(isinstance(each, str) for each in columns):
            raise ValueError(
                f"The columns of {name} must be x and y (cm), or places along the track (cm) if it "
                f"is a posterior; got {shown(columns)}. Rename them."
            )
        return dict(stored), []
    if values.ndim == 1 and "d" in stored:
        return {"position_time": time, "position_linear": values}, []
    raise ValueError(
        f"{name} must be a TsGroup (spikes), a TsdFrame with the columns x and y (positions), a "
        "Tsd (positions along the track) or an IntervalSet; got "
        + (f"times with values of shape {values.shape}." if "d" in stored else "times alone.")
        + " A posterior in two dimensions lacks the positions of its bins: give arrays posterior "
        "(n_time, n_bins), posterior_time and posterior_xy."
    )
