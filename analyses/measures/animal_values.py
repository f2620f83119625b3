"""The value of a statistic for each animal, with its chance level and number of sequences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import Replays

__all__ = ["own_code", "rows", "share"]


def own_code(animals: pd.Index[int], table: pd.DataFrame) -> NDArray[np.int64]:
    """Return the position of each row's animal in a sorted list.

    Parameters
    ----------
    animals : Index, shape (n_animals,)
        All animals of the table, sorted, as ``Replays.animals``.
    table : DataFrame
        With a column `animal`.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Positions in `animals`.
    """
    return np.searchsorted(animals.to_numpy(), table["animal"].to_numpy())


def rows(
    animals: pd.Index[int] | pd.Series[int],
    value: npt.ArrayLike,
    null: npt.ArrayLike,
    n: npt.ArrayLike,
) -> pd.DataFrame:
    """Build the table of a statistic, with one row per animal.

    Parameters
    ----------
    animals : Index or Series, shape (n_animals,)
        The animals.
    value, null, n : array_like, shape (n_animals,) or scalar
        The value, the value expected by chance, and the number of sequences.

    Returns
    -------
    DataFrame
        Columns `animal, value, null, n`; the null is NaN where the value is.
    """
    value = np.broadcast_to(np.asarray(value, dtype=float), len(animals))
    null = np.where(np.isnan(value), np.nan, null)
    n = np.broadcast_to(np.asarray(n), len(animals)).astype(np.int64)
    return pd.DataFrame({"animal": animals, "value": value, "null": null, "n": n})


def share(
    replays: Replays, table: pd.DataFrame, hits: npt.ArrayLike, null: npt.ArrayLike = np.nan
) -> pd.DataFrame:
    """Average a property of sequences over those of each animal.

    Parameters
    ----------
    replays : Replays
        The tables.
    table : DataFrame
        The sequences that count.
    hits : array_like of bool or float, shape (n_sequences,)
        The property to average.
    null : array_like of float, shape (n_sequences,) or scalar
        Its value expected by chance for each sequence; averaged in the same way.

    Returns
    -------
    DataFrame
        One row per animal: `animal, value, null, n`.
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
