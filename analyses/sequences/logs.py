"""Runs of a log one at a time, as plain arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray

from replay.checks import MOST_STATES, check_array, check_column, shown
from replay.checks.arrays import Ints
from replay.log.event_log import EventLog

SHARED = "codes_of_several_states"
"""In the provenance of a log whose states an encoder made."""

Columns = Mapping[str, NDArray[Any]]
"""The columns of one table, each of shape (n_rows,); `phase` as its index in ``PHASES``."""


class Logged(Protocol):
    """An object with a log: the result of `replay.simulate` or `replay.run_task`."""

    @property
    def log(self) -> EventLog:
        """The log."""


def log_of(given: EventLog | Logged) -> EventLog:
    """Return the log of a run, or a log as it is.

    Examples
    --------
    >>> log_of("my_log")
    Traceback (most recent call last):
    TypeError: log must be an EventLog or a Run, got 'my_log'. EventLog.load(folder) reads one.
    """
    log = getattr(given, "log", given)
    if not isinstance(log, EventLog):
        hint = " EventLog.load(folder) reads one." if isinstance(given, str | PathLike) else ""
        raise TypeError(f"log must be an EventLog or a Run, got {shown(given)}.{hint}")
    if log.provenance.get("log") == "none":
        raise ValueError("Nothing was logged (log='none'): simulate with log='replay' or 'all'.")
    return log


def runs_of(log: EventLog) -> list[int]:
    """List the runs in any table of a log, ascending; run 0 if all tables are empty."""
    if not isinstance(log, EventLog):
        raise TypeError(f"log must be an EventLog, got {shown(log)}.")
    numbers = [log.columns(name)["run"] for name in log.tables]
    return np.unique(np.concatenate(numbers)).tolist() or [0]


def of_run(log: EventLog, name: str, run: int) -> dict[str, NDArray[Any]]:
    """Return the rows of one run, as views; the log's runs must ascend."""
    columns = log.columns(name)
    first, stop = np.searchsorted(columns["run"], [run, run + 1])
    return {column: values[first:stop] for column, values in columns.items()}


def rows_by_run(log: EventLog, table: pd.DataFrame) -> Iterator[tuple[int, Ints]]:
    """Find the rows of a table that belong to each run of a log; without a column `run`, run 0."""
    runs = runs_of(log)
    number: Ints = np.zeros(len(table), dtype=np.int64)
    if "run" in table:
        number = check_column(table, "run", "paths", kind="whole")
    unknown = number[~np.isin(number, runs)]
    if len(unknown):
        raise ValueError(
            f"paths has run {unknown[0]}, but the log does not; its runs are {shown(runs)}."
        )
    for run in runs:
        yield run, np.flatnonzero(number == run)


def whole_columns(
    table: Any, names: Iterable[str], what: str, dtypes: Mapping[str, DTypeLike] | None = None
) -> list[NDArray[Any]]:
    """Check columns of whole numbers, and convert them to int32, or else to `dtypes`.

    `state` and `next_state` must be states. Columns of the right type are not copied.
    """
    if not isinstance(table, Mapping | pd.DataFrame):
        raise TypeError(
            f"{what} must be a DataFrame or a mapping of columns, got {type(table).__name__}."
        )
    wanted = list(names)
    missing = [name for name in wanted if name not in table]
    if missing:
        raise ValueError(f"The column {missing[0]!r} of {what} is missing; {wanted} are needed.")
    columns = []
    for name in wanted:
        dtype = np.dtype((dtypes or {}).get(name, np.int32))
        limits = np.iinfo(dtype)
        least, most = int(limits.min), int(limits.max)
        if name in ("state", "next_state"):
            least, most = 0, MOST_STATES - 1
        values: Any = table[name]
        # A fast test, which simulated logs pass: whole numbers of a range that the type has.
        fits = isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.ndim == 1
        if fits and len(values) and (values.dtype != dtype or most < limits.max):
            fits = bool(values.min() >= least and values.max() <= most)
        if not fits:
            title = f"The column {name!r} of {what}"
            values = check_array(values, title, kind="whole", at_least=least, at_most=most)
        columns.append(values.astype(dtype, copy=False))
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"The columns of {what} must all have the same length.")
    return columns
