"""Spikes of cells that fire as Poisson processes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spikes", "poisson_spikes"]


class Spikes(NamedTuple):
    """Spikes of several cells, in any order.

    Attributes
    ----------
    time : ndarray of float64, shape (n_spikes,)
        Times in s.
    cell : ndarray of int64, shape (n_spikes,)
        The cell of each spike.
    """

    time: NDArray[np.float64]
    cell: NDArray[np.int64]


def poisson_spikes(
    rates: NDArray[np.float64],
    bins: NDArray[np.integer],
    start: NDArray[np.float64],
    lasts: NDArray[np.float64] | float,
    rng: np.random.Generator,
) -> Spikes:
    """Draw the spikes of all cells in stretches of time with a constant place bin."""
    total = rates.sum(axis=0)
    each = np.broadcast_to(lasts, start.shape)
    stretch = np.repeat(np.arange(len(start)), rng.poisson(total[bins] * each))
    time = start[stretch] + rng.random(len(stretch)) * each[stretch]
    # One search in the cumulative rates of all bins: those of bin b lie between b and b + 1.
    cumulative = np.cumsum(rates, axis=0) / np.where(total > 0, total, 1.0)
    cumulative[-1] = 1.0
    n_cells, n_bins = rates.shape
    table = (cumulative + np.arange(n_bins)).T.ravel()
    found = np.searchsorted(table, bins[stretch] + rng.random(len(stretch)), side="right")
    return Spikes(time, np.minimum(found - bins[stretch] * n_cells, n_cells - 1))
