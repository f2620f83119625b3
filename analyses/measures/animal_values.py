"""The value of a statistic for each animal: rows of its table, shares, differences, log rates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import AWAKE, Replays, is_one_of, own_code

__all__ = ["count_in_cells", "difference", "log_rates", "log_ratio", "rows", "share"]

_HALF = 0.5


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


def difference(replays: Replays, one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Subtract the values of a table of `rows` from those of another; the null is 0."""
    return rows(replays.animals, one["value"] - other["value"], 0.0, one["n"] + other["n"])


def count_in_cells(
    replays: Replays, table: pd.DataFrame, cells: NDArray[np.int64], n_cells: int
) -> NDArray[np.int64]:
    """Count each animal's sequences (or pauses) in cells, separately before and after laps.

    A cell is, for example, an end of the track in a block. `cells` has the number of each row's
    cell, or of each arm's at each row, -1 for none. The counts have the shape (n_animals, n_cells,
    2): pauses before a lap, and after one.
    """
    animals = replays.animals
    code, phase = own_code(animals, table), (~is_one_of(table["phase"], AWAKE[:1])).astype(int)
    shape = len(animals), n_cells, len(AWAKE)
    row = np.nonzero(cells >= 0)
    at = np.ravel_multi_index((code[row[0]], cells[row], phase[row[0]]), shape)
    return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)


def log_rates(n_sequences: NDArray[np.int64], n_pauses: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log of the number of sequences per stop in each cell.

    A stop has a pause after a lap and one before the next; its rate is the sum of the rates of both
    kinds of pause. Cells with fewer pauses of one kind therefore remain comparable (the first lap
    has no pause before it). The rate of half a sequence in an average cell is added to each rate,
    so that a rate of zero has a logarithm, too.

    Takes counts as `count_in_cells` returns them; the shape is (n_animals, n_cells). NaN for a cell
    without pauses of a kind that the animal's other cells have, and for animals without any
    sequence.

    Examples
    --------
    One animal with nine sequences in ten pauses and in twenty, all after laps; another with none:

    >>> n_sequences = np.array([[[0, 9], [0, 9]], [[0, 0], [0, 0]]])
    >>> n_pauses = np.array([[[0, 10], [0, 20]], [[0, 10], [0, 20]]])
    >>> log_rates(n_sequences, n_pauses).round(2).tolist()
    [[-0.07, -0.73], [nan, nan]]
    """
    has_kind = n_pauses.any(axis=1, keepdims=True)
    rate = n_sequences / np.where(n_pauses > 0, n_pauses, np.where(has_kind, np.nan, 1))
    n_stops = n_pauses.mean(axis=1).max(axis=-1)
    half = _HALF / np.where(n_stops > 0, n_stops, np.nan)
    rates = np.log(rate.sum(axis=-1) + half[:, None])
    return np.where(n_sequences.sum(axis=(1, 2))[:, None] > 0, rates, np.nan)


def log_ratio(
    replays: Replays, n_sequences: NDArray[np.int64], n_pauses: NDArray[np.int64]
) -> pd.DataFrame:
    """Return the `log_rates` in the second of two cells minus those in the first; the null is 0."""
    rate = log_rates(n_sequences, n_pauses)
    return rows(replays.animals, rate[:, 1] - rate[:, 0], 0.0, n_sequences.sum(axis=(1, 2)))
