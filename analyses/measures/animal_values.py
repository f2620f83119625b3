"""The value of a statistic for each animal, with its chance level and number of sequences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import Replays

__all__ = ["own_code", "rows", "share"]


def own_code(animals: pd.Index[int], table: pd.DataFrame) -> NDArray[np.int64]:
    """Return the position in `animals`, which is sorted, of the animal of each row of a table."""
    return np.searchsorted(animals.to_numpy(), table["animal"].to_numpy())


def rows(
    animals: pd.Index[int] | pd.Series[int],
    value: npt.ArrayLike,
    null: npt.ArrayLike,
    n: npt.ArrayLike,
) -> pd.DataFrame:
    """Build the table of a statistic, one row per animal; the null is NaN where the value is."""
    value = np.broadcast_to(np.asarray(value, dtype=float), len(animals))
    null = np.where(np.isnan(value), np.nan, null)
    n = np.broadcast_to(np.asarray(n), len(animals)).astype(np.int64)
    return pd.DataFrame({"animal": animals, "value": value, "null": null, "n": n})


def share(
    replays: Replays, table: pd.DataFrame, hits: npt.ArrayLike, null: npt.ArrayLike = np.nan
) -> pd.DataFrame:
    """Average a property of sequences, and the value expected by chance, over those of each animal.

    `hits` and `null` have one entry per row of `table`; a null may also be the same for all.
    """
    animals = replays.animals
    code = own_code(animals, table)
    n = np.bincount(code, minlength=len(animals))
    expected = np.broadcast_to(np.asarray(null, dtype=float), len(table))
    sums = (
        np.bincount(code, np.asarray(what, dtype=float), minlength=len(animals))
        for what in (hits, expected)
    )
    value, chance = (total / np.where(n > 0, n, np.nan) for total in sums)
    return rows(animals, value, chance, n)
