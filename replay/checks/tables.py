"""Checks of tables, columns and arrays."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replay.checks.arrays import Bools, Floats
from replay.checks.values import limits_in_words, shown

_NUMBER = (bool, int, float, np.bool_, np.integer, np.floating)
_LONGEST_STEP = 60.0  # seconds; animals change their place more often
_MOST_NAMED = 20  # columns in a message
_MOST_TOLD = 5  # things that are wrong at once

_Value = TypeVar("_Value")


def check_all(checks: Iterable[Callable[[], _Value]]) -> list[_Value]:
    """Make several checks and return their results; what is wrong is said at once."""
    found, wrong = [], []
    for check in checks:
        try:
            found.append(check())
        except (ValueError, TypeError) as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        texts = list(dict.fromkeys(map(str, wrong)))
        more = f" And {len(texts) - _MOST_TOLD} more." if len(texts) > _MOST_TOLD else ""
        raise ValueError(" ".join(texts[:_MOST_TOLD]) + more)
    return found


def check_table(
    table: object, columns: Iterable[str], name: str, *, empty: bool = True
) -> pd.DataFrame:
    """Check that an object is a table that has certain columns, each once.

    It is returned unchanged.
    """
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"{name} must be a DataFrame, got {type(table).__name__}.")
    needed = list(columns)
    missing = [column for column in needed if column not in table]
    if missing:
        raise ValueError(
            f"{name} lacks the columns {missing[:_MOST_NAMED]}: it needs "
            f"{needed[:_MOST_NAMED]} and has "
            f"{', '.join(map(shown, table.columns[:_MOST_NAMED])) or 'none'}."
        )
    if not table.columns.is_unique:
        twice = [column for column in needed if (table.columns == column).sum() > 1]
        if twice:
            raise ValueError(f"{name} has the column {twice[0]!r} more than once: keep one.")
    if not empty and not len(table):
        raise ValueError(f"{name} has no rows: give at least one.")
    return table


_PLAIN = {"string", "integer", "floating", "mixed-integer-float", "boolean", "empty", "categorical"}


def check_cells(table: pd.DataFrame, name: str, *, lists: bool = True) -> None:
    """Check that each column holds numbers only, texts only, or, if allowed, lists only."""
    for place, column in enumerate(table.columns if len(table) else ()):
        cells = table.iloc[:, place]
        kind = pd.api.types.infer_dtype(cells, skipna=True)
        if kind in _PLAIN or kind.startswith("datetime"):
            continue
        types = [(bool, np.bool_), _NUMBER, (str,), (list, tuple, np.ndarray) if lists else ()]
        # Row of a cell -> which of these types it is of; None for another type.
        kinds: dict[int, int | None] = {}
        for row, (cell, present) in enumerate(zip(cells, cells.notna(), strict=True)):
            if present:
                fitting = (n for n, each in enumerate(types) if isinstance(cell, each))
                kinds[row] = next(fitting, None)
        first = next(iter(kinds), 0)
        odd = [row for row in kinds if kinds[row] is None or kinds[row] != kinds[first]]
        if not odd:  # lists
            continue
        beside = (
            f"row {first} has {shown(cells.iloc[first])}, " if kinds[odd[0]] is not None else ""
        )
        raise ValueError(
            f"The column {column!r} of {name} must hold numbers only, texts only"
            f"{' or lists only' * lists}; {beside}row {odd[0]} has {shown(cells.iloc[odd[0]])}."
        )


def check_column(table: pd.DataFrame, column: str, name: str, **limits: Any) -> NDArray[Any]:
    """Check one column of a table, within the limits that `check_array` takes.

    The message names the row as the table's index does.
    """
    return check_array(table[column], f"The column {column!r} of {name}", **limits)


def check_seconds(time: Floats, what: str) -> None:
    """Warn if steps are so far apart that their times can hardly be in seconds.

    `what` is the subject of the message; times may be NaN.
    """
    gaps = np.diff(time[~np.isnan(time)])
    usual = float(np.median(gaps)) if len(gaps) else 0.0
    if usual > _LONGEST_STEP:
        warnings.warn(
            f"{what} is in seconds, but successive steps are {usual:g} apart: divide milliseconds "
            "by 1000.",
            stacklevel=3,
        )


_KINDS = {"whole": "whole numbers", "number": "finite numbers", "flag": "True and False only"}


def check_array(
    values: object,
    what: str,
    *,
    kind: str,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    missing: bool = False,
    n_dims: int | None = 1,
    hint: str = "",
) -> NDArray[Any]:
    """Check an array of values, and convert it to the dtype of its kind.

    `what` is the subject of the message. `kind` is "whole" (also as floats or objects), "number"
    (finite) or "flag" (also as 1 and 0); numbers that are `missing` are NaN. The limits are
    included; with `n_dims` None any number of dimensions will do.
    """
    expected = _KINDS[kind] + limits_in_words(at_least, at_most)
    given = _array(values)
    if given is None or n_dims not in (None, given.ndim):
        form = "a list of" if n_dims == 1 else "an array of"
        dims = f" in {n_dims} dimensions" if (n_dims or 1) > 1 else ""
        rows = " and rows of one length" if given is None and isinstance(values, list) else ""
        raise ValueError(f"{what} must be {form} {expected}{dims}{rows}, got {shown(values)}.")
    flat = given.ravel()
    numbers, fits = _numbers(flat)
    if kind == "flag":
        fits &= (numbers == 0) | (numbers == 1)
    else:
        exact = flat if flat.dtype.kind in "iu" else numbers  # floats are inexact above 2 ** 53
        limited = np.isfinite(numbers) & (exact >= at_least) & (exact <= at_most)
        if kind == "whole":
            limited &= (numbers == np.floor(numbers)) & ~_are_flags(flat)
            # Larger ones would overflow when they become int64.
            limited &= (np.abs(numbers) < 2.0**63) | (flat.dtype.kind == "i")
        fits &= limited | (np.isnan(numbers) if missing and kind == "number" else False)
    if not fits.all():
        wrong = np.flatnonzero(~fits).tolist()
        # One bad cell of a file makes text of its whole column, also of the numbers.
        row = next((row for row in wrong if not _is_written(flat[row])), wrong[0])
        place = [int(index) for index in np.unravel_index(row, given.shape)]
        names = values.index.tolist() if isinstance(values, pd.Series) else range(len(flat))
        where = f"row {shown(names[row])} has" if given.ndim == 1 else f"entry {place} has"
        value = shown(flat[row])
        raise ValueError(
            f"{what} must hold {expected}; {where if place else 'got'} {value}."
            f"{' ' * bool(hint)}{hint}"
        )
    if kind == "flag":
        return numbers.astype(bool).reshape(given.shape)
    if kind == "number":
        return numbers.reshape(given.shape)
    if given.dtype.kind == "O":
        return np.array([int(value) for value in flat], dtype=np.int64).reshape(given.shape)
    return exact.astype(np.int64).reshape(given.shape)


def _array(values: object) -> NDArray[Any] | None:
    """Make an array of the user's input; None if that fails, as with rows of different lengths."""
    try:
        given = np.asarray(values)
        if isinstance(values, list | tuple) and given.dtype.kind in "USiuf":
            # numpy turns [1, "a"] into ["1", "a"], and [2, True] into [2, 1].
            as_given = np.asarray(values, dtype=object)
            if given.dtype.kind in "US" or _are_flags(as_given.ravel()).any():
                given = as_given
        if isinstance(values, np.ma.MaskedArray):
            given = given.astype(object)
            given[np.ma.getmaskarray(values)] = None
        return given
    except (TypeError, ValueError):
        return None


def _are_flags(values: NDArray[Any]) -> Bools:
    if values.dtype.kind == "O":
        return np.array([isinstance(value, bool | np.bool_) for value in values], dtype=bool)
    return np.full(len(values), values.dtype.kind == "b")


def _is_written(value: object) -> bool:
    """Whether a value is a finite number or a flag in text."""
    if not isinstance(value, str):
        return False
    with contextlib.suppress(ValueError):
        return math.isfinite(float(value))
    return value.lower() in ("true", "false")


def _numbers(given: NDArray[Any]) -> tuple[Floats, Bools]:
    """Convert values to floats, and mark those that are numbers, NaN or None (as NaN)."""
    if given.dtype.kind in "iufb":
        return given.astype(np.float64), np.ones(len(given), dtype=bool)
    numbers, fits = np.full(len(given), np.nan), np.zeros(len(given), dtype=bool)
    if given.dtype.kind != "O":
        return numbers, fits
    for place, value in enumerate(given):
        if isinstance(value, _NUMBER):
            with contextlib.suppress(OverflowError):
                numbers[place], fits[place] = float(value), True
        elif value is None or value is pd.NA:
            fits[place] = True
    return numbers, fits
