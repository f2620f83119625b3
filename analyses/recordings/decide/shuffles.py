"""Shuffles of events, for tests against chance.

A shuffle destroys only the structure that it shuffles. Under shuffles of *time bins* or of the
*posterior*, about half of all events with randomly assigned cells are significant, because any
population code changes gradually from one time bin to the next. At least one shuffle of *cells* is
therefore required.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.marks import exchanged
from analyses.recordings.decide.scores import TestedEvent
from analyses.recordings.prepare.likelihood import log_likelihood

__all__ = ["shuffled_likelihoods"]


def shuffled_likelihoods(
    shuffle: str, event: TestedEvent, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Compute the likelihoods of an event after one shuffle."""
    rates = event.rates
    if shuffle == "cell_identity":
        rates = rates[exchanged(event.electrode, rng)]
    elif shuffle == "circular_fields":
        rates = _rolled(rates, event.component, rng, event.electrode)
    likelihoods = log_likelihood(event.counts, rates, event.dt)
    if shuffle == "time_bins":
        likelihoods = likelihoods[rng.permutation(len(likelihoods))]
    elif shuffle == "circular_posterior":
        likelihoods = _rolled(likelihoods, event.component, rng)
    return likelihoods


def _rolled(
    values: NDArray[np.float64],
    component: NDArray[np.int32],
    rng: np.random.Generator,
    together: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Shift each row circularly along each track by an independent distance, in both headings.

    Rows with the same number in `together` are shifted by the same distance.
    """
    n_groups, group = len(values), np.arange(len(values))
    if together is not None:
        numbers, group = np.unique(together, return_inverse=True)
        n_groups = len(numbers)
    by_heading = values.reshape(len(values), -1, len(component))
    moved = np.empty_like(by_heading)
    for part in range(int(component.max()) + 1):
        bins = np.flatnonzero(component == part)
        shift = rng.integers(1, max(len(bins), 2), (n_groups, 1))[group]
        from_bin = bins[(np.arange(len(bins)) - shift) % len(bins)]
        moved[:, :, bins] = np.take_along_axis(by_heading, from_bin[:, None, :], axis=2)
    return moved.reshape(values.shape)
