"""Place cells and their firing rates along a track."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.binned_track import BinnedTrack
from replay.checks import check_array, check_number, check_seed, check_whole

__all__ = ["Cells", "check_cells", "draw_cells"]


class Cells(NamedTuple):
    """Place cells, with their firing rates along a track during running.

    Attributes
    ----------
    track : BinnedTrack
        The track.
    rates : ndarray of float64, shape (n_cells, n_bins)
        Rates in Hz.
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
    seed: int | np.random.Generator = 0,
) -> Cells:
    """Draw place cells with uniformly distributed fields and log-normal peak rates.

    Parameters
    ----------
    track : BinnedTrack
        The track, in fine bins of about 1 cm.
    n_cells : int, default 70
        Number of cells; Gupta et al. (2010) recorded about 70 per session.
    median_peak : float, default 10.0
        Median of the peak rates, in Hz.
    spread : float, default 0.6
        Standard deviation of the logarithm of the peak rates.
    width : float, default 12.0
        Standard deviation of a field, in cm.
    background : float, default 0.1
        Rate everywhere else, in Hz.
    common : float, default 0.5
        On separate tracks: the probability that a cell with a field on one of them has one on each
        other, with an independent position and peak.
    seed : int or numpy.random.Generator, default 0
        Seed of fields and peak rates.

    Returns
    -------
    Cells
        The cells.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from analyses.recordings.binned_track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> cells = draw_cells(cut_track(make_linear_track(100.0), 1.0), n_cells=3, spread=0.0)
    >>> cells.rates.shape, cells.rates.max().round(1)
    ((3, 100), np.float64(10.1))
    """
    number = check_whole("n_cells", n_cells, at_least=1)
    median = check_number("median_peak", median_peak, at_least=0.0)
    sigma = check_number("spread", spread, at_least=0.0)
    reach = check_number("width", width, at_least=1e-6)
    floor = check_number("background", background, at_least=0.0)
    shared = check_number("common", common, at_least=0.0, at_most=1.0)
    rng = np.random.default_rng(check_seed(seed))
    centre = rng.choice(track.n_bins, number, p=track.width / track.width.sum())
    peak = median * np.exp(sigma * rng.standard_normal(number))
    shape = np.exp(-0.5 * (track.distance[centre] / reach) ** 2)
    rates = floor + peak[:, None] * shape
    for part in range(track.n_components if track.n_components > 1 else 0):
        own = np.flatnonzero(track.component == part)
        centre_here = rng.choice(own, number, p=track.width[own] / track.width[own].sum())
        peak = median * np.exp(sigma * rng.standard_normal(number))
        has = (track.component[centre] != part) & (rng.random(number) < shared)
        shape = np.exp(-0.5 * (track.distance[centre_here] / reach) ** 2)
        rates += np.where(has, peak, 0.0)[:, None] * shape
    return Cells(track, rates, floor)


def check_cells(cells: Cells) -> None:
    """Check the rates of cells.

    Parameters
    ----------
    cells : Cells
        The user's cells.

    Raises
    ------
    ValueError
        If there is no cell, rates do not match the bins of the track, or a rate is negative.
    """
    rates = check_array(cells.rates, "The rates of cells", kind="number", at_least=0, n_dims=2)
    if rates.shape[1] != cells.track.n_bins or not len(rates):
        raise ValueError(
            f"The rates of cells must have the shape (n_cells, {cells.track.n_bins}) on their "
            f"track; got {rates.shape}."
        )
    check_number("The background of cells", cells.background, at_least=0.0)
