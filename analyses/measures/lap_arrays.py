"""The laps of animals as arrays, with checks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.runs import Columns
from replay.checks import check_column, check_table

__all__ = ["WHOLE_COLUMNS", "LapArrays", "second_places"]

_MOST_PAUSES = 1_000_000

_COLUMNS = ("episode", "block", "lap", "start", "end", "n_rest")

WHOLE_COLUMNS = ("episode", "start", "end", "n_rest")
"""Columns that hold whole numbers."""


class LapArrays(NamedTuple):
    """The laps of one animal, or of several one after the other, in arrays.

    Attributes
    ----------
    whole : dict of ndarray of int64, each of shape (n_laps,)
        `episode, start, end, n_rest`.
    names : dict of ndarray of object, each of shape (n_laps,)
        `block, lap`.
    others : dict of ndarray, each of shape (n_laps,)
        The other columns.
    second : ndarray of int64, shape (n_laps,)
        The place entered first.
    begin : ndarray of int64, shape (n_animals + 1,)
        The row at which the laps of each animal begin, and their total number.
    table : DataFrame or None
        The table from which they were made.
    """

    whole: dict[str, NDArray[np.int64]]
    names: dict[str, NDArray[np.object_]]
    others: dict[str, NDArray[Any]]
    second: NDArray[np.int64]
    begin: NDArray[np.int64]
    table: pd.DataFrame | None = None

    @classmethod
    def of(cls, laps: pd.DataFrame, n_places: int) -> LapArrays:
        """Check the laps of one animal."""
        check_table(laps, list(_COLUMNS), "laps")
        whole = {
            place: check_column(laps, place, "laps", kind="whole", at_least=0, at_most=n_places - 1)
            for place in ("start", "end")
        }
        whole["n_rest"] = check_column(
            laps, "n_rest", "laps", kind="whole", at_least=0, at_most=_MOST_PAUSES
        )
        episode = check_column(laps, "episode", "laps", kind="whole", at_least=0)
        descends = np.flatnonzero(np.diff(episode) <= 0)
        if len(descends):
            row = int(descends[0]) + 1
            raise ValueError(
                f"The column 'episode' of laps must ascend, with one row per lap; row {row} has "
                f"{episode[row]} after {episode[row - 1]}."
            )
        whole["episode"] = episode
        return cls(
            {name: values.astype(np.int64) for name, values in whole.items()},
            {name: laps[name].astype(str).to_numpy(object) for name in ("block", "lap")},
            {str(name): laps[name].to_numpy() for name in laps if name not in _COLUMNS},
            np.full(len(laps), -1),
            np.array([0, len(laps)]),
            laps,
        )

    @classmethod
    def concat(cls, parts: list[LapArrays], second: list[NDArray[np.int64]]) -> LapArrays:
        """Concatenate the laps of several animals.

        `second` holds, for each animal, the place entered first in each lap. All laps must have the
        same columns.
        """
        for part in parts[1:]:
            if part.others.keys() != parts[0].others.keys():
                columns = [list(each.others) for each in (parts[0], part)]
                raise ValueError(
                    f"The laps of all animals must have the same columns; got {columns[0]} and "
                    f"{columns[1]}."
                )
        n = [len(part.second) for part in parts]
        return cls(
            _concatenated([part.whole for part in parts]),
            _concatenated([part.names for part in parts]),
            _concatenated([part.others for part in parts]),
            np.concatenate(second),
            np.append(0, np.cumsum(n)),
        )


def _concatenated(parts: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def second_places(steps: Columns, episode: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place entered first in each lap; -1 for a lap without steps in the log."""
    begins = np.flatnonzero(np.diff(steps["episode"], prepend=-1))
    if not len(begins):
        return np.full(len(episode), -1)
    known = steps["episode"][begins]
    found = np.minimum(np.searchsorted(known, episode), len(known) - 1)
    return np.where(known[found] == episode, steps["next_state"][begins[found]], -1)
