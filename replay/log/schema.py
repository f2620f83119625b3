"""The three tables of an event log: their columns, and how what can be derived is filled in.

The simulator hands over the columns that it cannot do without. `complete` adds the rest (episode
numbers, replay events, locations, and empty columns for what a learner or a recording lacks).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from replay.arrays import uninitialised
from replay.jit import kernel
from replay.log.backups import PHASES, START, STEP

__all__ = ["SCHEMA", "WHOLE_RUN", "Columns", "Excerpt", "complete", "schema_of", "to_frame"]

Columns = dict[str, np.ndarray]
"""The columns of one table, each of shape (n_rows,); `phase` as its number in ``PHASES``."""

_PHASE = pa.dictionary(pa.int8(), pa.string())
_ROWS_IN_CACHE = 1 << 13  # of structured arrays that are taken apart column by column


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


SCHEMA = {
    "runs": _schema(
        run=pa.int32(),
        experiment=pa.string(),
        learner=pa.string(),
        mdp=pa.string(),
        seed=pa.int64(),
        parameters=pa.string(),
    ),
    "steps": _schema(
        run=pa.int32(),
        episode=pa.int32(),
        step=pa.int64(),
        time=pa.float64(),
        state=pa.int32(),
        action=pa.int32(),
        reward=pa.float64(),
        next_state=pa.int32(),
        terminated=pa.bool_(),
        truncated=pa.bool_(),
    ),
    "backups": _schema(
        run=pa.int32(),
        episode=pa.int32(),
        step=pa.int64(),
        time=pa.float64(),
        phase=_PHASE,
        event=pa.int64(),
        index=pa.int32(),
        pop=pa.int32(),
        location=pa.int32(),
        state=pa.int32(),
        action=pa.int32(),
        next_state=pa.int32(),
        reward=pa.float64(),
        priority=pa.float64(),
        gain=pa.float64(),
        need=pa.float64(),
        q_before=pa.float64(),
        q_after=pa.float64(),
        cause=pa.int64(),
    ),
}
"""Table -> its columns and their types, as they are on disk."""

_COUNTED = _schema(
    words=pa.float64(), backups=pa.int64(), queue_operations=pa.int64(), comparisons=pa.int64()
)
"""More columns of `steps`, in the log of a run whose demands were counted."""

_DEFAULTS: dict[str, dict[str, Any]] = {
    "runs": {
        "run": 0,
        "experiment": "",
        "learner": "",
        "mdp": "",
        "seed": -1,
        "parameters": "{}",
    },
    "steps": {
        "run": 0,
        "time": np.nan,
        "action": -1,
        "reward": np.nan,
        "terminated": False,
        "truncated": False,
    },
    "backups": {
        "run": 0,
        "pop": 0,
        "reward": np.nan,
        "priority": np.nan,
        "gain": np.nan,
        "need": np.nan,
        "q_before": np.nan,
        "q_after": np.nan,
        "cause": -1,
    },
}


class Excerpt(NamedTuple):
    """Where an excerpt of a run lies in it.

    Attributes
    ----------
    n_steps, n_episodes, n_events : int
        What came before: steps, episodes that ended, replay events.
    next_state : int
        Where the agent is afterwards; -1 if nothing follows.
    """

    n_steps: int = 0
    n_episodes: int = 0
    n_events: int = 0
    next_state: int = -1


WHOLE_RUN = Excerpt()
"""All of a run."""


def schema_of(name: str, columns: Iterable[str]) -> pa.Schema:
    """Give the schema of a table, with those columns that only some logs have.

    Parameters
    ----------
    name : {"runs", "steps", "backups"}
        Which table.
    columns : iterable of str
        The columns that it has, or will have.

    Returns
    -------
    pyarrow.Schema
        That in ``SCHEMA``; in `steps` also the columns `words, backups, queue_operations,
        comparisons` of :func:`replay.demands.count_demands`, if they are among `columns`.

    Examples
    --------
    >>> schema_of("steps", ["state", "words"]).names[-2:]
    ['truncated', 'words']
    """
    present = set(columns)
    counted = [field for field in _COUNTED if name == "steps" and field.name in present]
    return pa.schema([*SCHEMA[name], *counted])


def complete(
    name: str, table: Any, steps: Columns | None = None, excerpt: Excerpt = WHOLE_RUN
) -> Columns:
    """Bring a table into its schema and derive the columns that it lacks.

    Parameters
    ----------
    name : {"runs", "steps", "backups"}
        Which table.
    table : mapping, DataFrame, structured ndarray or list of these
        Its columns; a scalar in a mapping holds for all rows. Of a list of structured arrays the
        rows are joined; each may be a tuple of arrays, whose columns stand beside one another.
    steps : dict of ndarray, optional
        The complete steps, from which columns of `backups` are derived.
    excerpt : Excerpt, optional
        Which part of its run the table holds; without it, all.

    Returns
    -------
    dict of ndarray
        All columns of the schema, in its order.

    Raises
    ------
    ValueError
        If a column is missing, unknown, of another length or type.

    Examples
    --------
    >>> complete("steps", {"state": [0, 1], "next_state": [1, 2]})["step"]
    array([0, 1])
    """
    given = _given(name, table)
    names = schema_of(name, given).names
    unknown = [column for column in given if column not in names]
    if unknown:
        raise ValueError(
            f"The table {name!r} has no column {unknown[0]!r}. Its columns: {', '.join(names)}."
        )
    if not given and name != "runs":
        given = dict.fromkeys(names, ())
    n_rows = _n_rows(name, given)
    columns = {
        column: _cast(name, column, values, n_rows)
        for column, values in (_DEFAULTS[name] | given).items()
    }
    several = n_rows > 0 and name != "runs" and bool((columns["run"] != columns["run"][0]).any())
    if not several:  # numbers start anew in each run, so they are derived for one run at a time
        if name == "steps":
            columns = _derived_steps(columns, n_rows, excerpt) | columns
        elif name == "backups" and {"step", "phase"} <= columns.keys():
            columns = _derived_backups(columns, steps, excerpt) | columns
    missing = [column for column in names if column not in columns]
    if missing:
        raise ValueError(
            f"The table {name!r} lacks the column {missing[0]!r}. Its columns: {', '.join(names)}."
        )
    if name == "runs" and (np.diff(columns["run"]) <= 0).any():
        raise ValueError("The column 'run' of 'runs' must ascend: one row a run, in order.")
    return {column: columns[column] for column in names}


def to_frame(columns: Columns) -> pd.DataFrame:
    """Make a DataFrame of a complete table without copying it; `phase` is a category."""
    if "phase" in columns:
        phase = pd.Categorical.from_codes(columns["phase"], categories=pd.Index(PHASES))
        return pd.DataFrame({**columns, "phase": phase}, copy=False)
    return pd.DataFrame(columns, copy=False)


def _given(name: str, table: Any) -> dict[str, Any]:
    if isinstance(table, np.ndarray) and table.dtype.names:
        table = [table]
    if isinstance(table, list):
        pieces = [rows if isinstance(rows, tuple) else (rows,) for rows in table]
        given: dict[str, Any] = {}
        for tables in zip(*pieces, strict=True):
            given |= _columns_of(name, tables)
        return given
    if isinstance(table, Mapping | pd.DataFrame):
        return {str(column): table[column] for column in table}
    raise TypeError(
        f"The table {name!r} must be a DataFrame, a structured array or a dict of columns, "
        f"got {type(table).__name__}."
    )


def _columns_of(name: str, tables: Sequence[np.ndarray]) -> Columns:
    """Take structured arrays, one after the other, apart into columns."""
    n_rows, dtype = sum(map(len, tables)), tables[0].dtype
    names = dtype.names or ()
    columns = {column: uninitialised(n_rows, _wide(name, column, dtype)) for column in names}
    n_done = 0
    for table in tables:
        for begin in range(0, len(table), _ROWS_IN_CACHE):
            rows = table[begin : begin + _ROWS_IN_CACHE]
            for column, values in columns.items():
                values[n_done : n_done + len(rows)] = rows[column]
            n_done += len(rows)
    return columns


def _wide(name: str, column: str, dtype: np.dtype) -> np.dtype:
    """Give the type of a column in the schema if it holds all numbers of its own type."""
    if column in SCHEMA[name].names and SCHEMA[name].field(column).type != _PHASE:
        wide = np.dtype(SCHEMA[name].field(column).type.to_pandas_dtype())
        if np.can_cast(dtype[column], wide):
            return wide
    return dtype[column]


def _n_rows(name: str, given: dict[str, Any]) -> int:
    lengths = {column: len(values) for column, values in given.items() if _is_column(values)}
    if not lengths:
        return 1 if name == "runs" else 0
    first, n_rows = next(iter(lengths.items()))
    for column, length in lengths.items():
        if length != n_rows:
            raise ValueError(
                f"The columns of {name!r} must be of one length: {first!r} has {n_rows} rows, "
                f"{column!r} has {length}."
            )
    return n_rows


def _is_column(values: Any) -> bool:
    return not isinstance(values, str | Mapping) and np.ndim(values) > 0


def _cast(name: str, column: str, values: Any, n_rows: int) -> np.ndarray:
    kind = schema_of(name, [column]).field(column).type
    if kind == pa.string():
        texts = list(values) if _is_column(values) else [values] * n_rows
        return np.array([_text(text) for text in texts], dtype=object)
    if column == "seed" and values is None:
        values = -1
    if kind == _PHASE:
        dtype, array = np.dtype(np.int8), _phase_numbers(values)
    else:
        dtype, array = np.dtype(kind.to_pandas_dtype()), np.asarray(values)
    if array.dtype != dtype:
        array = _converted(name, column, array, dtype)
    if array.ndim == 0:
        return np.broadcast_to(array, (n_rows,))
    return np.ascontiguousarray(array)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _phase_numbers(values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        numbers = pd.Index(PHASES).get_indexer(pd.Index(np.atleast_1d(array)))
        array = numbers if array.ndim else numbers[0]
    if np.size(array) and (np.min(array) < 0 or np.max(array) >= len(PHASES)):
        raise ValueError(f"Unknown phase in the table 'backups'. Choose from: {', '.join(PHASES)}.")
    return np.asarray(array)


def _converted(name: str, column: str, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if array.ndim == 1 and np.can_cast(array.dtype, dtype):
        wider = uninitialised(len(array), dtype)
        wider[:] = array
        return wider
    try:
        with np.errstate(invalid="ignore"):
            result = array.astype(dtype)
        same = np.array_equal(result, array, equal_nan=dtype.kind == "f")
    except (TypeError, ValueError):
        same = False
    if not same:
        raise ValueError(
            f"The column {column!r} of {name!r} must hold {dtype.name} values, "
            f"got {array.dtype.name} values that are not."
        )
    return result


def _derived_steps(columns: Columns, n_rows: int, excerpt: Excerpt) -> Columns:
    ended = columns["terminated"] | columns["truncated"]
    n_ended: np.ndarray = np.cumsum(ended) - ended
    return {
        "step": np.arange(excerpt.n_steps, excerpt.n_steps + n_rows),
        "episode": (n_ended + excerpt.n_episodes).astype(np.int32),
    }


def _derived_backups(columns: Columns, steps: Columns | None, excerpt: Excerpt) -> Columns:
    """Count the replay events, and look up when and where the agent was."""
    step, phase = columns["step"], columns["phase"]
    event, index = uninitialised(len(step), np.int64), uninitialised(len(step), np.int32)
    _number_events(step, phase, excerpt.n_events, event, index)
    derived = {"event": event, "index": index}
    if steps is None:
        return derived

    n_early = int(np.count_nonzero(step < 0))  # at rest before the first step
    row = np.append(np.zeros(n_early, dtype=np.intp), _rows_of(step[n_early:], steps["step"]))
    episode, location = steps["episode"][row], steps["next_state"][row]
    time = steps["time"][row]
    episode[:n_early], location[:n_early], time[:n_early] = -1, steps["state"][:1], np.nan
    starts = np.flatnonzero(phase == START)
    if len(starts):  # by then the agent has left the place where the last episode ended
        following = np.append(steps["state"], np.int32(excerpt.next_state))
        location[starts] = following[row[starts] + 1]
        episode[starts] += 1
    return derived | {"episode": episode, "time": time, "location": location}


@kernel
def _number_events(step, phase, n_events, event, index):
    n_before = 0
    for row in range(len(step)):
        replayed = phase[row] >= STEP
        begins = row == 0 or step[row] != step[row - 1]
        begins = begins or (replayed and phase[row] != phase[row - 1])
        begins = begins or replayed != (phase[row - 1] >= STEP)
        if begins:
            n_before = 0
            n_events += replayed
        event[row] = n_events - 1 if replayed else -1
        index[row] = n_before
        n_before += 1


def _rows_of(step: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Find the row of `steps` in which each step is."""
    if len(steps) and steps[-1] - steps[0] == len(steps) - 1:  # steps ascend: none is left out
        row = step - steps[0]
        inside = (row >= 0) & (row < len(steps))
    else:
        row = np.searchsorted(steps, step)
        inside = row < len(steps)
        inside[inside] = steps[row[inside]] == step[inside]
    if not inside.all():
        raise ValueError(
            f"A backup was made at step {step[~inside][0]}, which the table 'steps' lacks."
        )
    return row
