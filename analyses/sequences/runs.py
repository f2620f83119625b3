"""The runs of a log, one at a time, and the columns that are read of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray

from replay.checks import MOST_STATES, check_array, check_column, shown
from replay.log.event_log import EventLog

__all__ = ["Columns", "Logged", "log_of", "of_run", "rows_by_run", "runs_of", "whole_columns"]

Columns = Mapping[str, NDArray[Any]]
"""The columns of one table, each of shape (n_rows,); `phase` as its number in ``PHASES``."""


class Logged(Protocol):
    """What has a log: the result of `replay.simulate`, or of `replay.run_task`."""

    @property
    def log(self) -> EventLog:
        """The log."""


def log_of(given: EventLog | Logged) -> EventLog:
    """Take a log, or what has one.

    Parameters
    ----------
    given : EventLog, Run or TaskRun
        What the user gave.

    Returns
    -------
    EventLog
        The log.

    Raises
    ------
    TypeError
        If there is none.
    ValueError
        If nothing was kept in it.

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
    """List the runs of a log.

    Parameters
    ----------
    log : EventLog
        The log.

    Returns
    -------
    list of int
        The number of each run that any table has, ascending; run 0 if none has a row.

    Raises
    ------
    TypeError
        If it is no event log.
    ValueError
        If the log's tables hold what they must not.
    """
    if not isinstance(log, EventLog):
        raise TypeError(f"log must be an EventLog, got {shown(log)}.")
    numbers = [log.columns(name)["run"] for name in log.tables]
    return np.unique(np.concatenate(numbers)).tolist() or [0]


def of_run(log: EventLog, name: str, run: int) -> dict[str, NDArray[Any]]:
    """Give the rows of one run.

    Parameters
    ----------
    log : EventLog
        The log; its runs ascend.
    name : {"steps", "backups"}
        Which table.
    run : int
        Which run.

    Returns
    -------
    dict of ndarray
        All columns of the table; views.
    """
    columns = log.columns(name)
    first, stop = np.searchsorted(columns["run"], [run, run + 1])
    return {column: values[first:stop] for column, values in columns.items()}


def rows_by_run(log: EventLog, table: pd.DataFrame) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Find the rows of a table that belong to each run of a log.

    Parameters
    ----------
    log : EventLog
        The log.
    table : DataFrame
        May have a column `run`; without it, all rows belong to run 0.

    Yields
    ------
    run : int
        Each run of the log.
    rows : ndarray of int64
        The rows, by place, in their order.

    Raises
    ------
    ValueError
        If the log lacks a run that the table has.
    """
    runs = runs_of(log)
    number: NDArray[np.int64] = np.zeros(len(table), dtype=np.int64)
    if "run" in table:
        number = check_column(table, "run", "paths", kind="whole")
    unknown = number[~np.isin(number, runs)]
    if len(unknown):
        raise ValueError(
            f"The log has no run {unknown[0]}, which paths has; its runs are {shown(runs)}."
        )
    for run in runs:
        yield run, np.flatnonzero(number == run)


def whole_columns(
    table: Any, names: Iterable[str], what: str, dtypes: Mapping[str, DTypeLike] | None = None
) -> list[NDArray[Any]]:
    """Check columns of whole numbers, and give them as they are used.

    Parameters
    ----------
    table : DataFrame or mapping of array_like
        The table.
    names : iterable of str
        The columns; `state` and `next_state` must be states.
    what : str
        What the table is called in a message.
    dtypes : mapping of str to dtype, optional
        The type of a column, if it is not int32.

    Returns
    -------
    list of ndarray, each of shape (n_rows,)
        The columns, without a copy where they have the type.

    Raises
    ------
    TypeError
        If it is no table.
    ValueError
        If a column is missing, is of another length, or holds anything else.
    """
    if not isinstance(table, Mapping | pd.DataFrame):
        raise TypeError(
            f"{what} must be a DataFrame or a mapping of columns, got {type(table).__name__}."
        )
    wanted = list(names)
    missing = [name for name in wanted if name not in table]
    if missing:
        raise ValueError(f"The {what} lack the column {missing[0]!r}; they need {wanted}.")
    columns = []
    for name in wanted:
        dtype = np.dtype((dtypes or {}).get(name, np.int32))
        limits = np.iinfo(dtype)
        least, most = int(limits.min), int(limits.max)
        if name in ("state", "next_state"):
            least, most = 0, MOST_STATES - 1
        values: Any = table[name]
        if not _fits(values, dtype, least, most):
            title = f"The column {name!r} of {what}"
            values = check_array(values, title, kind="whole", at_least=least, at_most=most)
        columns.append(values.astype(dtype, copy=False))
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"The columns of {what} must be of one length.")
    return columns


def _fits(values: Any, dtype: np.dtype[Any], least: int, most: int) -> bool:
    """Tell fast whether a column needs no further check, as those of a simulator don't."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu" or values.ndim != 1:
        return False
    if not len(values) or (values.dtype == dtype and most == np.iinfo(dtype).max):
        return True
    return bool(values.min() >= least and values.max() <= most)
