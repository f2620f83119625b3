"""What each animal has to say: one row of value, chance and number of sequences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import Replays

__all__ = ["own_code", "rows", "share"]


def own_code(animals: pd.Index[int], table: pd.DataFrame) -> NDArray[np.int64]:
    """Give the place in a list of the animal of each row.

    Parameters
    ----------
    animals : Index, shape (n_animals,)
        The list: all animals of the table, sorted, as ``Replays.animals``.
    table : DataFrame
        Has a column `animal`.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Places in the list.
    """
    return np.searchsorted(animals.to_numpy(), table["animal"].to_numpy())


def rows(
    animals: pd.Index[int] | pd.Series[int],
    value: npt.ArrayLike,
    null: npt.ArrayLike,
    n: npt.ArrayLike,
) -> pd.DataFrame:
    """Write what each animal has to say as one row.

    Parameters
    ----------
    animals : Index or Series, shape (n_animals,)
        The animals.
    value, null, n : array_like, shape (n_animals,) or scalar
        The value, what to expect by chance, and how many sequences there were.

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
    """Average what is true of an animal's sequences.

    Parameters
    ----------
    replays : Replays
        The tables.
    table : DataFrame
        The sequences that count.
    hits : array_like of bool or float, shape (n_sequences,)
        What is averaged.
    null : array_like of float, shape (n_sequences,) or scalar
        What to expect of each by chance; it is averaged too.

    Returns
    -------
    DataFrame
        One row an animal: `animal, value, null, n`.
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
