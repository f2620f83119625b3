"""The three tables of an event log: their columns, and how derived columns are added.

The simulator provides only columns that cannot be derived. `complete` adds the rest (numbers of
episodes, replay events, locations, and empty columns for what a learner or a recording lacks).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from replay.checks import MOST_STATES, check_all, check_array, check_seconds, check_text, shown
from replay.jit import kernel
from replay.log.arrays import uninitialised
from replay.log.backups import PHASES, START, STEP

__all__ = ["SCHEMA", "WHOLE_RUN", "Columns", "Excerpt", "check_values", "complete", "schema_of"]
__all__ += ["to_frame"]

Columns = dict[str, NDArray[Any]]
"""The columns of one table, each of shape (n_rows,); `phase` as an index of ``PHASES``."""

_PHASE = pa.dictionary(pa.int8(), pa.string())
_ROWS_IN_CACHE = 1 << 13  # of structured arrays that are split into columns


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
"""Table -> its columns and their types on disk."""

_MORE = {
    "runs": _schema(forgets_at_end=pa.bool_()),
    "steps": _schema(
        words=pa.float64(), backups=pa.int64(), queue_operations=pa.int64(), comparisons=pa.int64()
    ),
    "backups": _schema(),
}
"""Columns that only some logs have: those of learners whose model is emptied at the end of each
episode, and of runs whose demands were counted."""

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
    """The position of an excerpt in its run.

    Attributes
    ----------
    n_steps, n_episodes, n_events : int
        Numbers of steps, completed episodes and replay events before it.
    next_state : int
        The state of the agent after it; -1 if nothing follows.
    """

    n_steps: int = 0
    n_episodes: int = 0
    n_events: int = 0
    next_state: int = -1


WHOLE_RUN = Excerpt()
"""The whole run."""


def schema_of(name: str, columns: Iterable[str]) -> pa.Schema:
    """Return the schema of a table, including columns that only some logs have.

    In `runs` that is `forgets_at_end`, in `steps` the demands of :mod:`replay.demands`.

    Examples
    --------
    >>> schema_of("steps", ["state", "words"]).names[-2:]
    ['truncated', 'words']
    """
    present = set(columns)
    return pa.schema([*SCHEMA[name], *(field for field in _MORE[name] if field.name in present)])


def complete(
    name: str, table: Any, steps: Columns | None = None, excerpt: Excerpt = WHOLE_RUN
) -> Columns:
    """Convert a table to its schema and derive the columns that it lacks.

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
    filled = _DEFAULTS[name] | given
    casts = (partial(_cast, name, column, values, n_rows) for column, values in filled.items())
    columns = dict(zip(filled, check_all(casts), strict=True))
    several = n_rows > 0 and name != "runs" and bool((columns["run"] != columns["run"][0]).any())
    if not several:  # numbers restart in each run, so they are derived for one run at a time
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
        raise ValueError("The column 'run' of 'runs' must ascend: one row per run, in order.")
    return {column: columns[column] for column in names}


_LIMITS: dict[str, dict[str, tuple[int, int]]] = {
    "runs": {"run": (0, 2**31 - 1)},
    "steps": {
        "run": (0, 2**31 - 1),
        "episode": (0, 2**31 - 1),
        "step": (0, 2**62),
        "state": (0, MOST_STATES - 1),
        "action": (-1, 2**15 - 1),
        "next_state": (0, MOST_STATES - 1),
    },
    "backups": {
        "run": (0, 2**31 - 1),
        "episode": (-1, 2**31 - 1),
        "step": (-1, 2**62),
        "event": (-1, 2**62),
        "index": (0, 2**31 - 1),
        "pop": (0, 2**31 - 1),
        "location": (-1, MOST_STATES - 1),
        "state": (0, MOST_STATES - 1),
        "action": (-1, 2**15 - 1),
        "next_state": (0, MOST_STATES - 1),
        "cause": (-1, 2**62),
    },
}
_ASCENDING = {
    "runs": (),
    "steps": ("episode", "step", "time"),
    "backups": ("step", "time"),
}


def check_values(
    name: str, columns: Columns, runs: Columns | None = None, excerpt: Excerpt = WHOLE_RUN
) -> None:
    """Check that numbers are in range and time does not decrease.

    Examples
    --------
    >>> check_values("steps", complete("steps", {"state": [0, 1], "next_state": [1, -2]}))
    Traceback (most recent call last):
    ValueError: The column 'next_state' of 'steps' must lie between 0 and 9999999; row 1 has -2.
    """
    for column, (least, most) in _LIMITS[name].items():
        values = columns[column]
        if values.size and (values.min() < least or values.max() > most):
            row = int(np.flatnonzero((values < least) | (values > most))[0])
            raise ValueError(
                f"The column {column!r} of {name!r} must lie between {least} and {most}; row {row} "
                f"has {values[row]}."
            )
    if name == "runs":
        for row, text in enumerate(columns["parameters"]):
            if not _is_json_object(text):
                raise ValueError(
                    "The column 'parameters' of 'runs' must hold JSON objects; row "
                    f"{row} has {shown(text)}."
                )
        return
    run = columns["run"]
    for row in np.flatnonzero(np.diff(run) < 0)[:1] + 1:
        raise ValueError(f"The column 'run' of {name!r} must not descend; row {row} does.")
    if runs is not None and not np.isin(run[np.diff(run, prepend=-1) > 0], runs["run"]).all():
        row = int(np.flatnonzero(~np.isin(run, runs["run"]))[0])
        raise ValueError(f"The table 'runs' lacks run {run[row]}, which row {row} of {name!r} has.")
    for column in _ASCENDING[name]:
        _check_order(name, column, columns[column], run)
    _check_rewards(name, columns["reward"], run)
    if name == "steps":
        check_seconds(columns["time"], "The column 'time' of 'steps'")
    if name == "backups" and excerpt == WHOLE_RUN:
        within = np.arange(len(run)) - np.searchsorted(run, run)
        for row in np.flatnonzero(columns["cause"] >= within)[:1]:
            raise ValueError(
                "The column 'cause' of 'backups' must be the number of an earlier row of the same "
                f"run, or -1; row {row} has {columns['cause'][row]}."
            )


def _check_rewards(name: str, reward: NDArray[np.float64], run: NDArray[Any]) -> None:
    """Check that rewards are finite; those of a run's steps may only be unknown all together."""
    wrong = np.isinf(reward)
    if name == "steps":
        unknown = np.isnan(reward)
        known = np.unique(run[~unknown]) if unknown.any() else run[:0]
        wrong |= unknown & np.isin(run, known)
    for row in np.flatnonzero(wrong)[:1]:
        raise ValueError(
            f"The column 'reward' of {name!r} must be finite, or NaN in all steps of a run where "
            f"it is unknown; row {row} has {reward[row]}."
        )


def _check_order(name: str, column: str, values: NDArray[Any], run: NDArray[Any]) -> None:
    """Check that numbers do not decrease within a run; NaN is ignored."""
    rows = np.flatnonzero(~np.isnan(values)) if values.dtype.kind == "f" else None
    if rows is not None:
        values, run = values[rows], run[rows]
        if np.isinf(values).any():
            place = rows[np.flatnonzero(np.isinf(values))[0]]
            raise ValueError(
                f"The column {column!r} of {name!r} must be finite; row {place} is not."
            )
    strictly = name == "steps" and column == "step"
    falls = values[1:] <= values[:-1] if strictly else values[1:] < values[:-1]
    for row in np.flatnonzero(falls & (run[1:] == run[:-1]))[:1] + 1:
        place = row if rows is None else rows[row]
        how = "ascend" if strictly else "not descend"
        raise ValueError(
            f"The column {column!r} of {name!r} must {how} within a run; row {place} has "
            f"{values[row]} after {values[row - 1]}."
        )


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def to_frame(columns: Columns) -> pd.DataFrame:
    """Make a DataFrame of a complete table without copying it.

    Examples
    --------
    >>> to_frame(complete("steps", {"state": [0, 1], "next_state": [1, 2]})).shape
    (2, 10)
    """
    if "phase" in columns:
        phase = pd.Categorical.from_codes(columns["phase"], categories=pd.Index(PHASES))
        return pd.DataFrame({**columns, "phase": phase}, copy=False)
    return pd.DataFrame(columns, copy=False)


def _given(name: str, table: Any) -> dict[str, Any]:
    if isinstance(table, np.ndarray) and table.dtype.names:
        table = [table]
    if isinstance(table, list) and all(map(_is_structured, table)):
        pieces = [rows if isinstance(rows, tuple) else (rows,) for rows in table]
        given: dict[str, Any] = {}
        for tables in zip(*pieces, strict=True):
            given |= _columns_of(name, tables)
        return given
    if isinstance(table, Mapping | pd.DataFrame):
        given = {str(column): table[column] for column in table}
        if len(given) < len(list(table)):
            raise ValueError(f"The table {name!r} has a column twice: {shown(list(table))}.")
        return given
    raise TypeError(
        f"The table {name!r} must be a DataFrame, a structured array or a dict of columns, "
        f"got {type(table).__name__}."
    )


def _is_structured(rows: object) -> bool:
    beside = rows if isinstance(rows, tuple) and rows else (rows,)
    return all(isinstance(each, np.ndarray) and each.dtype.names for each in beside)


def _columns_of(name: str, tables: Sequence[NDArray[np.void]]) -> Columns:
    """Concatenate structured arrays, and split them into columns."""
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


def _wide(name: str, column: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the schema's type of a column if all its numbers fit, else its own type."""
    if column in SCHEMA[name].names and SCHEMA[name].field(column).type != _PHASE:
        wide: np.dtype[Any] = np.dtype(SCHEMA[name].field(column).type.to_pandas_dtype())
        if np.can_cast(dtype[column], wide):
            return wide
    narrow: np.dtype[Any] = dtype[column]
    return narrow


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
    if isinstance(values, str | bytes | Mapping):
        return False
    return isinstance(values, Sequence | pd.api.extensions.ExtensionArray) or (
        getattr(values, "ndim", 0) == 1
    )


def _cast(name: str, column: str, values: Any, n_rows: int) -> NDArray[Any]:
    kind = _type_of(name, column)
    what = f"The column {column!r} of {name!r}"
    if kind == pa.string():
        texts = list(values) if _is_column(values) else [values] * n_rows
        return np.array([_text(what, column, text) for text in texts], dtype=object)
    if column == "seed" and values is None:
        values = -1
    if not _is_column(values):
        values = [values]
        return np.broadcast_to(_numbers(what, kind, values), (n_rows,))
    return np.ascontiguousarray(_numbers(what, kind, values))


@cache
def _type_of(name: str, column: str) -> pa.DataType:
    return schema_of(name, [column]).field(column).type


def _text(what: str, column: str, value: Any) -> str:
    if column == "parameters" and isinstance(value, Mapping):
        try:
            return json.dumps(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{what} cannot be written as JSON: {error}.") from error
    return check_text(what, value)


def _numbers(what: str, kind: pa.DataType, values: Any) -> NDArray[Any]:
    """Convert a column to its type, if all its values fit."""
    if kind == _PHASE:
        return _phase_numbers(values).astype(np.int8, copy=False)
    dtype = np.dtype(kind.to_pandas_dtype())
    array = values if isinstance(values, np.ndarray) else None
    if isinstance(values, pd.Series) and isinstance(values.dtype, np.dtype):
        array = values.to_numpy()
    if array is not None and array.ndim == 1 and array.dtype == dtype:
        return array
    is_flag = array is not None and array.dtype.kind == "b"
    if array is not None and array.ndim == 1 and np.can_cast(array.dtype, dtype) and not is_flag:
        wider = uninitialised(len(array), dtype)
        wider[:] = array
        return wider
    if dtype.kind == "b":
        return check_array(values, what, kind="flag")
    if dtype.kind == "f":
        return check_array(values, what, kind="number", missing=True)
    limits = np.iinfo(dtype)
    whole = check_array(values, what, kind="whole", at_least=limits.min, at_most=limits.max)
    return whole.astype(dtype, copy=False)


def _phase_numbers(values: Any) -> NDArray[Any]:
    numbers: NDArray[Any] = np.full(1, -1)
    with suppress(ValueError, TypeError):
        given = np.asarray(values)
        if given.ndim == 1 and given.dtype.kind in "iu":
            numbers = given
        elif given.ndim == 1:
            numbers = pd.Index(PHASES).get_indexer(pd.Index(given))
    if numbers.size and (numbers.min() < 0 or numbers.max() >= len(PHASES)):
        raise ValueError(
            f"Unknown phase in the table 'backups': {shown(values)}. Choose from: "
            f"{', '.join(PHASES)}."
        )
    return numbers


def _derived_steps(columns: Columns, n_rows: int, excerpt: Excerpt) -> Columns:
    ended = columns["terminated"] | columns["truncated"]
    n_ended: NDArray[np.int64] = np.cumsum(ended) - ended
    return {
        "step": np.arange(excerpt.n_steps, excerpt.n_steps + n_rows),
        "episode": (n_ended + excerpt.n_episodes).astype(np.int32),
    }


def _derived_backups(columns: Columns, steps: Columns | None, excerpt: Excerpt) -> Columns:
    """Count the replay events, and look up time and location of the agent."""
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
    if len(starts):  # the agent has then left the state in which the last episode ended
        following = np.append(steps["state"], np.int32(excerpt.next_state))
        location[starts] = following[row[starts] + 1]
        episode[starts] += 1
    return derived | {"episode": episode, "time": time, "location": location}


@kernel
def _number_events(
    step: NDArray[np.int64],
    phase: NDArray[np.int8],
    n_events: int,
    event: NDArray[np.int64],
    index: NDArray[np.int32],
) -> None:
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


def _rows_of(step: NDArray[Any], steps: NDArray[Any]) -> NDArray[Any]:
    """Return the row of each step in `steps`."""
    if len(steps) and steps[-1] - steps[0] == len(steps) - 1:  # ascending, so without gaps
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
    found: NDArray[np.intp] = row
    return found
