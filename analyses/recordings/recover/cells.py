"""Place cells, their firing rates along a track, and their spikes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack
from replay.checks import check_array, check_number

_LOWER = 0.1  # the rate in the other heading


class Cells(NamedTuple):
    """Place cells, with their firing rates along a track during running.

    Attributes
    ----------
    track : BinnedTrack
        The track.
    rates : ndarray of float64, shape (n_cells, n_bins) or (n_cells, 2 * n_bins)
        Rates in Hz; if they depend on the heading, in all bins when running towards the second node
        of their edge, then towards the first.
    background : float
        The rate of each cell while the animal is still and nothing is replayed, in Hz.
    """

    track: BinnedTrack
    rates: NDArray[np.float64]
    background: float = 0.1


def draw_cells(
    track: BinnedTrack,
    n_cells: int = 70,
    *,
    median_peak: float = 10.0,
    spread: float = 0.6,
    width: float = 12.0,
    background: float = 0.1,
    common: float = 0.5,
    directional: float = 0.0,
    weaker: float | None = None,
    seed: int | np.random.Generator = 0,
) -> Cells:
    """Draw place cells with uniformly distributed fields and log-normal peak rates.

    A share `directional` of them distinguishes headings: in one, the rate is `weaker` times that in
    the other, or, by default, either a tenth of it or that of another field.
    """
    rng = np.random.default_rng(seed)
    centre = rng.choice(track.n_bins, n_cells, p=track.width / track.width.sum())
    peak = median_peak * np.exp(spread * rng.standard_normal(n_cells))
    shape = np.exp(-0.5 * (track.distance[centre] / width) ** 2)
    rates = background + peak[:, None] * shape
    for part in range(track.n_components if track.n_components > 1 else 0):
        own = np.flatnonzero(track.component == part)
        centre_here = rng.choice(own, n_cells, p=track.width[own] / track.width[own].sum())
        peak = median_peak * np.exp(spread * rng.standard_normal(n_cells))
        has = (track.component[centre] != part) & (rng.random(n_cells) < common)
        shape = np.exp(-0.5 * (track.distance[centre_here] / width) ** 2)
        rates += np.where(has, peak, 0.0)[:, None] * shape
    if directional > 0:  # give cells other rates in one heading, which is drawn for each
        factor = _LOWER if weaker is None else weaker
        other = background + factor * (rates - background)
        if weaker is None:
            centre = rng.choice(track.n_bins, n_cells, p=track.width / track.width.sum())
            peak = median_peak * np.exp(spread * rng.standard_normal(n_cells))
            shape = np.exp(-0.5 * (track.distance[centre] / width) ** 2)
            moved = background + peak[:, None] * shape
            other = np.where(rng.random((n_cells, 1)) < 0.5, moved, other)
        other = np.where(rng.random((n_cells, 1)) < directional, other, rates)
        swaps = rng.random((n_cells, 1)) < 0.5
        rates = np.hstack([np.where(swaps, other, rates), np.where(swaps, rates, other)])
    return Cells(track, rates, float(background))


def check_cells(cells: Cells) -> None:
    """Check the rates of cells."""
    rates = check_array(cells.rates, "The rates of cells", kind="number", at_least=0, n_dims=2)
    n_bins = cells.track.n_bins
    if rates.shape[1] not in (n_bins, 2 * n_bins) or not len(rates):
        raise ValueError(
            f"The rates of cells must have the shape (n_cells, {n_bins}) on their track, or twice "
            f"as many columns, one for each heading; got {rates.shape}."
        )
    check_number("The background of cells", cells.background, at_least=0.0)


class Spikes(NamedTuple):
    """Spikes of several cells, in any order."""

    time: NDArray[np.float64]  # (n_spikes,): times in s
    cell: NDArray[np.int64]  # (n_spikes,): the cell of each spike


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


def by_cell(parts: Sequence[Spikes], n_cells: int) -> tuple[NDArray[np.float64], ...]:
    """Join spikes, and divide them by cell, those of each in order."""
    time = np.concatenate([part.time for part in parts])
    cell = np.concatenate([part.cell for part in parts])
    order = np.lexsort((time, cell))
    return tuple(np.split(time[order], np.searchsorted(cell[order], np.arange(1, n_cells))))
