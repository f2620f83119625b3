"""The three tables of an event log: their columns, and how derived columns are added.

The simulator provides only columns that cannot be derived. `complete` adds the rest (numbers of
episodes, replay events, locations, and empty columns for what a learner or a recording lacks).
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from replay.checks import MOST_STATES, check_all, check_array, check_seconds, check_text, shown
from replay.checks.arrays import Bools, Int32s, Ints
from replay.jit import kernel
from replay.log.backups import PHASES, START, STEP, uninitialised

Columns = dict[str, NDArray[Any]]
"""The columns of one table, each of shape (n_rows,); `phase` as an index of ``PHASES``."""

_ROWS_IN_CACHE = 1 << 13  # of structured arrays that are split into columns


class _Column(NamedTuple):
    """A column: its type on disk, its value if it is unknown, and the numbers that it may hold.

    Without a `default` it is derived, or must be given.
    """

    type: pa.DataType
    default: Any = None
    limits: tuple[int, int] | None = None


_PHASE = pa.dictionary(pa.int8(), pa.string())
_TEXT = _Column(pa.string(), "")
_FLAG = _Column(pa.bool_(), False)
_QUANTITY = _Column(pa.float64(), np.nan)
_RUN = _Column(pa.int32(), 0, (0, 2**31 - 1))
_NUMBER = _RUN._replace(default=None)
_STATE = _Column(pa.int32(), None, (0, MOST_STATES - 1))
_ACTION = _Column(pa.int32(), None, (-1, 2**15 - 1))
_PLACE_IN_RUN = _Column(pa.int64(), None, (-1, 2**62))

_COLUMNS = {
    "runs": {
        "run": _RUN,
        "experiment": _TEXT,
        "learner": _TEXT,
        "mdp": _TEXT,
        "seed": _Column(pa.int64(), -1),
        "parameters": _Column(pa.string(), "{}"),
    },
    "steps": {
        "run": _RUN,
        "episode": _NUMBER,
        "step": _Column(pa.int64(), None, (0, 2**62)),
        "time": _QUANTITY,
        "state": _STATE,
        "action": _ACTION._replace(default=-1),
        "reward": _QUANTITY,
        "next_state": _STATE,
        "terminated": _FLAG,
        "truncated": _FLAG,
    },
    "backups": {
        "run": _RUN,
        "episode": _Column(pa.int32(), None, (-1, 2**31 - 1)),
        "step": _PLACE_IN_RUN,
        "time": _Column(pa.float64()),
        "phase": _Column(_PHASE),
        "event": _PLACE_IN_RUN,
        "index": _NUMBER,
        "pop": _NUMBER._replace(default=0),
        "location": _Column(pa.int32(), None, (-1, MOST_STATES - 1)),
        "state": _STATE,
        "action": _ACTION,
        "next_state": _STATE,
        "reward": _QUANTITY,
        "priority": _QUANTITY,
        "gain": _QUANTITY,
        "need": _QUANTITY,
        "q_before": _QUANTITY,
        "q_after": _QUANTITY,
        "cause": _PLACE_IN_RUN._replace(default=-1),
    },
}
# Learners whose model is emptied at the end of each episode, and runs whose demands were counted.
_IN_SOME_LOGS = {
    "runs": {"forgets_at_end": pa.bool_()},
    "steps": {
        "words": pa.float64(),
        "backups": pa.int64(),
        "queue_operations": pa.int64(),
        "comparisons": pa.int64(),
    },
    "backups": {},
}
_ASCENDING = {"steps": ("episode", "step", "time"), "backups": ("step", "time")}

SCHEMA = {
    name: pa.schema([pa.field(key, each.type, nullable=False) for key, each in columns.items()])
    for name, columns in _COLUMNS.items()
}
"""Table -> its columns and their types on disk."""


class Excerpt(NamedTuple):
    """The position of an excerpt in its run."""

    n_steps: int = 0  # numbers of steps, completed episodes and replay events before it
    n_episodes: int = 0
    n_events: int = 0
    next_state: int = -1  # the state of the agent after it; -1 if nothing follows


WHOLE_RUN = Excerpt()
"""The whole run."""


class Rows(NamedTuple):
    """A table as the simulator wrote it, buffer by buffer; `complete` makes columns of it.

    Each buffer is a tuple of structured arrays whose fields belong together; `beside` has columns
    that are no part of the buffers.
    """

    buffers: list[tuple[NDArray[np.void], ...]]
    beside: Columns | None = None

    def columns(self, name: str) -> Columns:
        """Split the rows into columns, in the schema's type if all numbers of their type fit."""
        columns = dict(self.beside or {})
        for tables in zip(*self.buffers, strict=True):
            n_rows, dtype = sum(map(len, tables)), tables[0].dtype
            for column in dtype.names or ():
                wide = dtype[column]
                if column in SCHEMA[name].names and SCHEMA[name].field(column).type != _PHASE:
                    wide = np.dtype(SCHEMA[name].field(column).type.to_pandas_dtype())
                fits = np.can_cast(dtype[column], wide)
                columns[column] = uninitialised(n_rows, wide if fits else dtype[column])
            n_done = 0
            for table in tables:
                for begin in range(0, len(table), _ROWS_IN_CACHE):
                    rows = table[begin : begin + _ROWS_IN_CACHE]
                    for column in dtype.names or ():
                        columns[column][n_done : n_done + len(rows)] = rows[column]
                    n_done += len(rows)
        return columns


def schema_of(name: str, columns: Iterable[str]) -> pa.Schema:
    """Return the schema of a table, including columns that only some logs have.

    In `runs` that is `forgets_at_end`, in `steps` the demands of :mod:`replay.demands`.
    """
    present = set(columns)
    more = ((key, kind) for key, kind in _IN_SOME_LOGS[name].items() if key in present)
    return pa.schema([*SCHEMA[name], *(pa.field(*each, nullable=False) for each in more)])


def complete(
    name: str, table: Any, steps: Columns | None = None, excerpt: Excerpt = WHOLE_RUN
) -> Columns:
    """Convert a table to its schema and derive the columns that it lacks."""
    if isinstance(table, Rows):
        table = table.columns(name)
    if not isinstance(table, Mapping | pd.DataFrame):
        raise TypeError(
            f"The table {name!r} must be a DataFrame or a dict of columns, got "
            f"{type(table).__name__}."
        )
    given = {str(column): table[column] for column in table}
    if len(given) < len(list(table)):
        raise ValueError(f"The table {name!r} has a column twice: {shown(list(table))}.")
    schema = schema_of(name, given)
    for column in given:
        if column not in schema.names:
            raise ValueError(
                f"The table {name!r} has no column {column!r}. Its columns: "
                f"{', '.join(schema.names)}."
            )
    if not given and name != "runs":
        given = dict.fromkeys(schema.names, ())
    lengths = {column: len(values) for column, values in given.items() if _is_column(values)}
    first, n_rows = next(iter(lengths.items()), ("", int(name == "runs")))
    for column, length in lengths.items():
        if length != n_rows:
            raise ValueError(
                f"The columns of {name!r} must be of one length: {first!r} has {n_rows} rows, "
                f"{column!r} has {length}."
            )
    defaults = {key: each.default for key, each in _COLUMNS[name].items()}
    filled = {key: value for key, value in defaults.items() if value is not None} | given
    casts = (
        partial(_cast, name, schema.field(column), values, n_rows)
        for column, values in filled.items()
    )
    columns = dict(zip(filled, check_all(casts), strict=True))
    several = n_rows > 0 and name != "runs" and bool((columns["run"] != columns["run"][0]).any())
    if not several:  # numbers restart in each run, so they are derived for one run at a time
        if name == "steps":
            ended = columns["terminated"] | columns["truncated"]
            n_ended: Ints = np.cumsum(ended) - ended
            episode = (n_ended + excerpt.n_episodes).astype(np.int32)
            step = np.arange(excerpt.n_steps, excerpt.n_steps + n_rows)
            columns = {"step": step, "episode": episode} | columns
        elif name == "backups" and {"step", "phase"} <= columns.keys():
            columns = _derived_backups(columns, steps, excerpt) | columns
    lacking = [repr(column) for column in schema.names if column not in columns]
    if lacking:
        raise ValueError(
            f"The table {name!r} lacks the column{'s' * (len(lacking) > 1)} {', '.join(lacking)}. "
            f"Its columns: {', '.join(schema.names)}."
        )
    return {column: columns[column] for column in schema.names}


def check_values(
    name: str, columns: Columns, runs: Columns | None = None, excerpt: Excerpt = WHOLE_RUN
) -> None:
    """Check that numbers are in range, time does not decrease, and causes join."""
    for column, (_, _, limits) in _COLUMNS[name].items():
        values = columns[column]
        if limits and values.size and (values.min() < limits[0] or values.max() > limits[1]):
            row = int(np.flatnonzero((values < limits[0]) | (values > limits[1]))[0])
            raise ValueError(
                f"The column {column!r} of {name!r} must lie between {limits[0]} and {limits[1]}; "
                f"row {row} has {values[row]}."
            )
    run = columns["run"]
    if name == "runs":
        if (np.diff(run) <= 0).any():
            raise ValueError("The column 'run' of 'runs' must ascend: one row per run, in order.")
        for row, text in enumerate(columns["parameters"]):
            parameters: object = None
            with suppress(ValueError, RecursionError):
                parameters = json.loads(text)
            if not isinstance(parameters, dict):
                raise ValueError(
                    "The column 'parameters' of 'runs' must hold JSON objects; row "
                    f"{row} has {shown(text)}."
                )
        return
    for row in np.flatnonzero(np.diff(run) < 0)[:1] + 1:
        raise ValueError(f"The column 'run' of {name!r} must not descend; row {row} does.")
    if runs is not None and not np.isin(run[np.diff(run, prepend=-1) > 0], runs["run"]).all():
        row = int(np.flatnonzero(~np.isin(run, runs["run"]))[0])
        raise ValueError(f"The table 'runs' lacks run {run[row]}, which row {row} of {name!r} has.")
    for column in _ASCENDING[name]:
        _check_order(name, column, columns[column], run)
    reward = columns["reward"]
    wrong = np.isinf(reward)
    if name == "steps":  # of a recording nobody may know what was paid, but then in no step
        unknown = np.isnan(reward)
        wrong |= unknown & np.isin(run, np.unique(run[~unknown]) if unknown.any() else run[:0])
        check_seconds(columns["time"], "The column 'time' of 'steps'")
    for row in np.flatnonzero(wrong)[:1]:
        raise ValueError(
            f"The column 'reward' of {name!r} must be finite, or NaN in all steps of a run where "
            f"it is unknown; row {row} has {reward[row]}."
        )
    if name == "backups" and excerpt == WHOLE_RUN:
        first, cause = np.searchsorted(run, run), columns["cause"]
        for row in np.flatnonzero(cause >= np.arange(len(run)) - first)[:1]:
            raise ValueError(
                "The column 'cause' of 'backups' must be the number of an earlier row of the same "
                f"run, or -1; row {row} has {cause[row]}."
            )
        later = np.flatnonzero(cause >= 0)
        for row in later[~join(columns, later, (first + cause)[later])][:1]:
            named = first[row] + cause[row]
            ways = [f"{columns['state'][k]} to {columns['next_state'][k]}" for k in (row, named)]
            raise ValueError(
                f"Row {row} of 'backups' leads from state {ways[0]}, and its cause, row "
                f"{named}, from state {ways[1]}: a cause must begin where the backup leads, or "
                "end where it begins. Write -1 where none does."
            )


def join(backups: Any, rows: Ints, causes: Ints, goes_forward: bool = True) -> Bools:
    """Tell which backups, given by their rows, are joined by those that they name as causes."""
    state, next_state = backups["state"], backups["next_state"]
    joined: Bools = state[causes] == next_state[rows]
    return joined | (next_state[causes] == state[rows]) if goes_forward else joined


def _check_order(name: str, column: str, values: NDArray[Any], run: NDArray[Any]) -> None:
    """Check that numbers do not decrease within a run; NaN is ignored."""
    rows = np.arange(len(values))
    if values.dtype.kind == "f":
        rows = np.flatnonzero(~np.isnan(values))
        for row in np.flatnonzero(np.isinf(values))[:1]:
            raise ValueError(f"The column {column!r} of {name!r} must be finite; row {row} is not.")
        values, run = values[rows], run[rows]
    strictly = name == "steps" and column == "step"
    falls = values[1:] <= values[:-1] if strictly else values[1:] < values[:-1]
    for row in np.flatnonzero(falls & (run[1:] == run[:-1]))[:1] + 1:
        how = "ascend" if strictly else "not descend"
        raise ValueError(
            f"The column {column!r} of {name!r} must {how} within a run; row {rows[row]} has "
            f"{values[row]} after {values[row - 1]}."
        )


def to_frame(columns: Columns) -> pd.DataFrame:
    """Make a DataFrame of a complete table without copying it."""
    if "phase" in columns:
        phase = pd.Categorical.from_codes(columns["phase"], categories=pd.Index(PHASES))
        return pd.DataFrame({**columns, "phase": phase}, copy=False)
    return pd.DataFrame(columns, copy=False)


def _is_column(values: Any) -> bool:
    is_list = pd.api.types.is_list_like(values) and hasattr(values, "__len__")
    return is_list and not isinstance(values, Mapping)


def _cast(name: str, field: pa.Field, values: Any, n_rows: int) -> NDArray[Any]:
    """Convert a column to its type, if all its values fit; one value stands for all rows."""
    what = f"The column {field.name!r} of {name!r}"
    is_column = _is_column(values)
    if field.type == pa.string():
        texts = list(values) if is_column else [values] * n_rows
        if field.name == "parameters":
            try:
                texts = [json.dumps(each) if isinstance(each, Mapping) else each for each in texts]
            except (TypeError, ValueError, RecursionError) as error:
                raise ValueError(f"{what} cannot be written as JSON: {error}.") from error
        return np.array([check_text(what, text) for text in texts], dtype=object)
    if field.name == "seed" and values is None:
        values = -1
    numbers = _numbers(what, field.type, values if is_column else [values])
    return np.ascontiguousarray(numbers) if is_column else np.broadcast_to(numbers, (n_rows,))


def _numbers(what: str, kind: pa.DataType, values: Any) -> NDArray[Any]:
    if isinstance(values, pd.Series) and isinstance(values.dtype, np.dtype):
        values = values.to_numpy()
    if kind == _PHASE:
        numbers: NDArray[Any] = np.full(1, -1)
        with suppress(ValueError, TypeError):  # what cannot be a name is unknown, too
            given = np.asarray(values)
            if given.ndim == 1:
                is_number = given.dtype.kind in "iu"
                numbers = given if is_number else pd.Index(PHASES).get_indexer(pd.Index(given))
        if numbers.size and (numbers.min() < 0 or numbers.max() >= len(PHASES)):
            raise ValueError(
                f"Unknown phase in the table 'backups': {shown(values)}. Choose from: "
                f"{', '.join(PHASES)}."
            )
        return numbers.astype(np.int8, copy=False)
    dtype = np.dtype(kind.to_pandas_dtype())
    if isinstance(values, np.ndarray) and values.ndim == 1 and np.can_cast(values.dtype, dtype):
        if values.dtype == dtype:
            return values
        if values.dtype.kind != "b":  # flags are no numbers
            wider = uninitialised(len(values), dtype)
            wider[:] = values
            return wider
    if dtype.kind == "b":
        return check_array(values, what, kind="flag")
    if dtype.kind == "f":
        return check_array(values, what, kind="number", missing=True)
    limits = np.iinfo(dtype)
    whole = check_array(values, what, kind="whole", at_least=limits.min, at_most=limits.max)
    return whole.astype(dtype, copy=False)


def _derived_backups(columns: Columns, steps: Columns | None, excerpt: Excerpt) -> Columns:
    """Count the replay events, and look up time and location of the agent."""
    step, phase = columns["step"], columns["phase"]
    event, index = uninitialised(len(step), np.int64), uninitialised(len(step), np.int32)
    _number_events(step, phase, excerpt.n_events, event, index)
    derived = {"event": event, "index": index}
    if steps is None:
        return derived

    n_early = int(np.count_nonzero(step < 0))  # at rest before the first step
    made_at, known = step[n_early:], steps["step"]
    if len(known) and known[-1] - known[0] == len(known) - 1:  # ascending, so without gaps
        found = made_at - known[0]
        inside = (found >= 0) & (found < len(known))
    else:
        found = np.searchsorted(known, made_at)
        inside = found < len(known)
        inside[inside] = known[found[inside]] == made_at[inside]
    for early in made_at[~inside][:1]:
        raise ValueError(f"A backup was made at step {early}, which the table 'steps' lacks.")
    row = np.append(np.zeros(n_early, dtype=np.intp), found)
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
    step: Ints, phase: NDArray[np.int8], n_events: int, event: Ints, index: Int32s
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
