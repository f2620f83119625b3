"""Runs of a log one at a time; and replay sequences in arrays, with the states of all in one.

Classifiers return `Sequences`, and code that needs the states of all sequences, or a few columns,
reads these arrays directly. The table that a user sees, with one row per sequence and a list of
states in each, is made from them once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray

from replay.checks import MOST_STATES, check_array, check_column, shown
from replay.checks.arrays import Bools, Int32s, Ints
from replay.jit import kernel
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


_WHOLE = ("composition_order", "n_episodes", "episode_matched", "episode_lag")
_FLAGS = ("from_current_episode", "shortcut", "impossible")
_DENSE = 1 << 20  # numbers, of which an array may hold one each


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of numbers, concatenated in one array."""

    flat: NDArray[Any]  # (n_values,): the numbers of all lists
    # (n_lists + 1,): the position in `flat` at which each list begins; the last entry is `n_values`
    begin: Ints

    @classmethod
    def of(cls, lists: Iterable[Iterable[int]]) -> Lists:
        """Concatenate lists of int, as an array of int32."""
        arrays = [np.asarray(each, dtype=np.int32) for each in lists]
        begin = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(each) for each in arrays], out=begin[1:])
        return cls(np.concatenate([np.empty(0, dtype=np.int32), *arrays]), begin)

    @classmethod
    def joined(cls, parts: Sequence[Lists]) -> Lists:
        """Take several lists of lists together, one after the other."""
        length = np.concatenate([each.length for each in parts])
        flat = np.concatenate([each.flat for each in parts])
        return cls(flat, np.append(0, np.cumsum(length)))

    @property
    def length(self) -> Ints:
        """Number of values of each list, shape (n_lists,)."""
        return np.diff(self.begin)

    @property
    def owner(self) -> Ints:
        """The list to which each value belongs, shape (n_values,)."""
        return np.repeat(np.arange(len(self.begin) - 1), self.length)

    @property
    def first(self) -> NDArray[Any]:
        """The first value of each list, of which none is empty, shape (n_lists,)."""
        return self.flat[self.begin[:-1]]

    @property
    def last(self) -> NDArray[Any]:
        """The last value of each list, of which none is empty, shape (n_lists,)."""
        return self.flat[self.begin[1:] - 1]

    @property
    def n_different(self) -> Int32s:
        """Number of different values of each list, shape (n_lists,)."""
        return count_different(self.owner, self.flat, len(self.begin) - 1)

    def select(self, kept: Bools) -> Lists:
        """Select the lists for which `kept`, shape (n_lists,), is true."""
        length = self.length
        begin = np.zeros(1 + int(np.count_nonzero(kept)), dtype=np.int64)
        np.cumsum(length[kept], out=begin[1:])
        return Lists(self.flat[np.repeat(kept, length)], begin)

    def take(self, numbers: Ints) -> Lists:
        """Select lists by their numbers, in any order and possibly repeated."""
        length = self.length[numbers]
        begin = np.zeros(len(numbers) + 1, dtype=np.int64)
        np.cumsum(length, out=begin[1:])
        at = np.arange(begin[-1]) + np.repeat(self.begin[numbers] - begin[:-1], length)
        return Lists(self.flat[at], begin)

    def arrays(self) -> NDArray[np.object_]:
        """Convert to an array of arrays, shape (n_lists,), as read from parquet files."""
        ends = zip(self.begin[:-1].tolist(), self.begin[1:].tolist(), strict=True)
        pieces = (self.flat[first:stop] for first, stop in ends)
        return np.fromiter(pieces, dtype=object, count=len(self.begin) - 1)


@dataclass(frozen=True, eq=False)
class Sequences:
    """Classified replay sequences."""

    # (n_sequences,): the columns of the table, in its order. Categories are numbers; -1 is null
    columns: Mapping[str, NDArray[Any] | Lists]
    # the category names of each column with categories, by number
    categories: Mapping[str, Sequence[str]]

    @classmethod
    def concat(cls, parts: Sequence[Sequences]) -> Sequences:
        """Concatenate sequences with the same columns and categories, at least one part."""
        first = parts[0]
        if len(parts) == 1:
            return first
        joined: dict[str, NDArray[Any] | Lists] = {}
        for name, column in first.columns.items():
            own: list[Any] = [part.columns[name] for part in parts]
            if isinstance(column, Lists):
                begin = np.append(0, np.cumsum(np.concatenate([each.length for each in own])))
                joined[name] = Lists(np.concatenate([each.flat for each in own]), begin)
            else:
                joined[name] = np.concatenate(own)
        return cls(joined, first.categories)

    def __getitem__(self, name: str) -> Any:
        """Return a column: an array, or `Lists` if the table has a list in each row."""
        return self.columns[name]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per sequence: categories by name, lists as arrays, and missing values as null."""
        columns: dict[str, Any] = {}
        for name, values in self.columns.items():
            if isinstance(values, Lists) and name in self.categories:
                names = np.array(self.categories[name], dtype=object)
                columns[name] = Lists(names[values.flat], values.begin).arrays()
            elif isinstance(values, Lists):
                columns[name] = values.arrays()
            elif name in self.categories:
                categories = pd.Index(self.categories[name])
                columns[name] = pd.Categorical.from_codes(values, categories=categories)
            elif name in _WHOLE:
                columns[name] = pd.arrays.IntegerArray(values, values < 0)
            elif name in _FLAGS:
                columns[name] = pd.arrays.BooleanArray(values > 0, values < 0)
            else:
                columns[name] = values
        return pd.DataFrame(columns, copy=False)


def count_different(owner: Ints, value: NDArray[np.integer], n: int) -> Int32s:
    """Count the different values of each of `n` owners; `owner` ascends."""
    n_different: Int32s = np.zeros(n, dtype=np.int32)
    if len(value):
        lowest, highest = int(value.min()), int(value.max())
        if highest - lowest > max(len(value), _DENSE):  # an array over the range would be too long
            value = np.unique(value, return_inverse=True)[1]
            lowest, highest = 0, len(value)
        latest = np.full(highest - lowest + 1, -1, dtype=np.int64)
        _count_different(owner, value, lowest, latest, n_different)
    return n_different


def composition_columns(
    n_pieces: Int32s, piece_episode: Int32s, piece_end: Int32s, episode: Int32s
) -> dict[str, NDArray[Any] | Lists]:
    """Make the columns about the experienced pieces of which each sequence is composed.

    `n_pieces` is 0 where a move was never made. Of all pieces, one sequence after the other:
    `piece_episode`, the latest episode that contains it, and `piece_end`, the state where it ends.
    `episode` is that of each sequence.
    """
    n = len(n_pieces)
    owner = np.repeat(np.arange(n), n_pieces)
    is_last = np.diff(owner, append=n) > 0
    whole, never = n_pieces == 1, n_pieces == 0
    matched = np.full(n, -1, dtype=np.int32)
    matched[whole] = piece_episode[whole[owner]]
    lag = np.where(whole, episode - matched, np.int32(-1))
    n_episodes = count_different(owner, piece_episode, n)
    splices = np.append(0, np.cumsum(np.maximum(n_pieces - 1, 0)))
    return {
        "composition_order": np.where(never, np.int32(-1), n_pieces),
        "n_episodes": np.where(never, np.int32(-1), n_episodes),
        "splice_states": Lists(piece_end[~is_last], splices),
        "episode_matched": matched,
        "episode_lag": lag,
        "from_current_episode": np.where(whole, lag == 0, -1),
    }


@kernel
def _count_different(
    owner: Ints, value: NDArray[np.integer], lowest: int, latest: Ints, n_different: Int32s
) -> None:
    for row in range(len(value)):
        place = value[row] - lowest
        if latest[place] != owner[row]:
            latest[place] = owner[row]
            n_different[owner[row]] += 1
