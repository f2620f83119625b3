"""Shuffles of events, for tests against chance.

A shuffle destroys only the structure that it shuffles. Under shuffles of *time bins* or of the
*posterior*, about half of all events with randomly assigned cells are significant, because any
population code changes gradually from one time bin to the next. At least one shuffle of *cells* is
therefore required.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.decoding.likelihood import log_likelihood
from analyses.recordings.significance.scores import TestedEvent
from replay.checks import check_choice

__all__ = ["BIN_SHUFFLES", "CELL_SHUFFLES", "SHUFFLES", "check_shuffles", "shuffled_likelihoods"]

CELL_SHUFFLES = ("cell_identity", "circular_fields")
BIN_SHUFFLES = ("time_bins", "circular_posterior")
SHUFFLES = CELL_SHUFFLES + BIN_SHUFFLES
"""``cell_identity``: place fields are permuted among cells. ``circular_fields``: each place field
is shifted along the track by an independent distance. ``time_bins``: the order of time bins is
permuted. ``circular_posterior``: the posterior of each time bin is shifted along the track by an
independent distance. Shifts are separate for each track."""


def shuffled_likelihoods(
    shuffle: str, event: TestedEvent, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Compute the likelihoods of an event after one shuffle.

    Parameters
    ----------
    shuffle : str
        One of ``SHUFFLES``.
    event : TestedEvent
        The event.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of float64, shape (n_time, n_bins)
        The log-likelihoods.
    """
    rates = event.rates
    if shuffle == "cell_identity":
        rates = rates[rng.permutation(len(rates))]
    elif shuffle == "circular_fields":
        rates = _rolled(rates, event.component, rng)
    likelihoods = log_likelihood(event.counts, rates, event.dt)
    if shuffle == "time_bins":
        likelihoods = likelihoods[rng.permutation(len(likelihoods))]
    elif shuffle == "circular_posterior":
        likelihoods = _rolled(likelihoods, event.component, rng)
    return likelihoods


def _rolled(
    values: NDArray[np.float64], component: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Shift each row circularly along each track by an independent distance."""
    moved = np.empty_like(values)
    for part in range(int(component.max()) + 1):
        bins = np.flatnonzero(component == part)
        shift = rng.integers(1, max(len(bins), 2), (len(values), 1))
        from_bin = bins[(np.arange(len(bins)) - shift) % len(bins)]
        moved[:, bins] = np.take_along_axis(values, from_bin, axis=1)
    return moved


def check_shuffles(shuffles: Sequence[str]) -> list[str]:
    """Check the names of shuffles.

    Parameters
    ----------
    shuffles : sequence of str
        Names in ``SHUFFLES``.

    Returns
    -------
    list of str
        The names.

    Raises
    ------
    ValueError
        If a name is unknown, or none is a shuffle of cells.
    """
    chosen = [check_choice("shuffle", name, SHUFFLES) for name in shuffles]
    if not set(chosen) & set(CELL_SHUFFLES):
        raise ValueError(
            f"Under shuffles of {' and '.join(BIN_SHUFFLES)} alone, about half of all events with "
            "randomly assigned cells are significant: add cell_identity or circular_fields."
        )
    return chosen
