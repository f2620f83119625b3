"""Rates of replay: counts of sequences and pauses in cells, and the log of their ratio."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import own_code
from analyses.measures.replays import AWAKE, Replays, is_one_of

__all__ = ["count_in_cells", "log_rates"]

_HALF = 0.5


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
