"""Replay sequences in arrays, with the states of all in one.

Classifiers return `Sequences`, and code that needs the states of all sequences, or a few columns,
reads these arrays directly. The table that a user sees, with one row per sequence and a list of
states in each, is made from them once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from replay.checks.arrays import Bools, Int32s, Ints
from replay.jit import kernel

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
        begin = _begins([len(each) for each in arrays])
        return cls(np.concatenate([np.empty(0, dtype=np.int32), *arrays]), begin)

    @classmethod
    def joined(cls, parts: Sequence[Lists]) -> Lists:
        """Take several lists of lists together, one after the other."""
        length = np.concatenate([each.length for each in parts])
        flat = np.concatenate([each.flat for each in parts])
        return cls(flat, _begins(length))

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
        return self.take(np.flatnonzero(kept))

    def take(self, numbers: Ints) -> Lists:
        """Select lists by their numbers, in any order and possibly repeated."""
        length = self.length[numbers]
        begin = _begins(length)
        at = np.arange(begin[-1]) + np.repeat(self.begin[numbers] - begin[:-1], length)
        return Lists(self.flat[at], begin)

    def arrays(self) -> NDArray[np.object_]:
        """Convert to an array of arrays, shape (n_lists,), as read from parquet files."""
        ends = zip(self.begin[:-1].tolist(), self.begin[1:].tolist(), strict=True)
        pieces = (self.flat[first:stop] for first, stop in ends)
        return np.fromiter(pieces, dtype=object, count=len(self.begin) - 1)


def _begins(length: ArrayLike) -> Ints:
    """Compute where each list begins among the values of all, and where the last one ends."""
    return np.append(0, np.cumsum(length, dtype=np.int64))


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
                joined[name] = Lists.joined(own)
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
    splices = _begins(np.maximum(n_pieces - 1, 0))
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
