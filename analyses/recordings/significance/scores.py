"""Scores of an event: how closely its spikes resemble a movement along the track.

On a track with branches, ``weighted_correlation`` and ``line_fit`` are computed for each route
between two ends of the track, and the best route counts; the same holds for each shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.binned_track import BinnedTrack
from analyses.recordings.decoding.bayesian_decoder import bayesian_posterior
from analyses.recordings.decoding.state_space_decoder import (
    CONTINUOUS,
    Walk,
    state_posterior,
)
from analyses.recordings.significance.routes import Route, find_routes
from replay.checks import check_number

__all__ = [
    "SCORES",
    "SCORE_LABELS",
    "TestedEvent",
    "line_fit",
    "routes_for",
    "weighted_correlation",
]


def weighted_correlation(posterior: ArrayLike, routes: Iterable[Route]) -> float:
    """Compute the correlation of time and place, weighted by probability, on the best route [1]_.

    The posterior is (n_time, n_bins); the absolute correlation is multiplied by the share of the
    posterior on the route, so that a short route with little of it does not win.

    References
    ----------
    .. [1] Wu & Foster (2014), Hippocampal replay captures the unique topological structure of a
       novel environment. https://doi.org/10.1523/JNEUROSCI.3414-13.2014

    Examples
    --------
    >>> weighted_correlation(np.eye(3), [Route(np.arange(3), np.arange(3.0))])
    1.0
    """
    all_weights = np.asarray(posterior, dtype=float)
    best = 0.0
    for route in routes:
        weights = all_weights[:, route.bins]
        total = weights.sum()
        if total <= 0:
            continue
        time = np.arange(len(weights)) - weights.sum(axis=1) @ np.arange(len(weights)) / total
        place = route.distance - weights.sum(axis=0) @ route.distance / total
        spread = (weights.sum(axis=1) @ time**2) * (weights.sum(axis=0) @ place**2)
        if spread > 0:
            correlation = abs(time @ weights @ place) / np.sqrt(spread)
            best = max(best, float(correlation * total / all_weights.sum()))
    return min(best, 1.0)


def line_fit(
    posterior: ArrayLike, routes: Iterable[Route], *, width: float = 15.0, n_lines: int = 40
) -> float:
    """Fit the straight line through time and place that covers most of the posterior [1]_.

    Returns the mean probability within `width` cm of the best of ``n_lines ** 2`` lines.

    References
    ----------
    .. [1] Davidson, Kloosterman & Wilson (2009), Hippocampal replay of extended experience.
       https://doi.org/10.1016/j.neuron.2009.07.027

    Examples
    --------
    >>> line_fit(np.eye(3), [Route(np.arange(3), 10.0 * np.arange(3))], width=5.0)
    1.0
    """
    all_weights = np.asarray(posterior, dtype=float)
    n_time = len(all_weights)
    reach = check_number("width", width, at_least=0.0)
    moments = np.linspace(0.0, 1.0, n_time)[:, None] if n_time > 1 else np.zeros((n_time, 1))
    best = 0.0
    for route in routes:
        sums = np.zeros((n_time, len(route.bins) + 1))
        np.cumsum(all_weights[:, route.bins], axis=1, out=sums[:, 1:])
        ends = np.linspace(route.distance[0], route.distance[-1], n_lines)
        first, last = (each.ravel() for each in np.meshgrid(ends, ends))
        line = first[None, :] * (1.0 - moments) + last[None, :] * moments
        below = np.searchsorted(route.distance, line - reach - 1e-9, side="left")
        above = np.searchsorted(route.distance, line + reach + 1e-9, side="right")
        rows = np.arange(n_time)[:, None]
        best = max(best, float((sums[rows, above] - sums[rows, below]).mean(axis=0).max()))
    return min(best, 1.0)


class TestedEvent(NamedTuple):
    """An event, with the data for its score.

    Attributes
    ----------
    counts : ndarray of float64, shape (n_time, n_cells)
        Spikes of each cell in each time bin.
    rates : ndarray of float64, shape (n_cells, n_states)
        Place fields in Hz, in bins, or in bins of each heading.
    dt : float
        Length of a time bin, in s.
    walk : ndarray or csr_array of float64, shape (n_states, n_states)
        Transition probabilities of continuous movement.
    routes : list of Route
        The routes of the track.
    component : ndarray of int32, shape (n_bins,)
        The component of the track of each bin.
    """

    counts: NDArray[np.float64]
    rates: NDArray[np.float64]
    dt: float
    walk: Walk
    routes: list[Route]
    component: NDArray[np.int32]


def _continuous(event: TestedEvent, likelihoods: NDArray[np.float64]) -> float:
    posterior, _ = state_posterior(likelihoods, event.walk)
    return float(posterior[:, CONTINUOUS].sum(axis=1).mean())


def _correlation(event: TestedEvent, likelihoods: NDArray[np.float64]) -> float:
    return weighted_correlation(_places(event, likelihoods), event.routes)


def _line(event: TestedEvent, likelihoods: NDArray[np.float64]) -> float:
    return line_fit(_places(event, likelihoods), event.routes)


def _places(event: TestedEvent, likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the posterior of places, whatever the heading."""
    posterior = bayesian_posterior(likelihoods)
    by_heading = posterior.reshape(len(posterior), -1, len(event.component))
    places: NDArray[np.float64] = by_heading.sum(axis=1)
    return places


def routes_for(score: str, track: BinnedTrack) -> list[Route]:
    """List the routes of a track, of which there may be many, if the score needs them."""
    return [] if score == "continuous" else find_routes(track)


SCORES: dict[str, Callable[[TestedEvent, NDArray[np.float64]], float]] = {
    "continuous": _continuous,
    "weighted_correlation": _correlation,
    "line_fit": _line,
}
"""``continuous``: the mean probability of continuous movement in the state-space decoder.
``weighted_correlation`` and ``line_fit``: those of the posterior of the Bayesian decoder."""

SCORE_LABELS = {
    "continuous": "mean probability of continuous movement",
    "weighted_correlation": "weighted correlation of time and place",
    "line_fit": "mean probability near the best line",
}
"""Short descriptions of the scores."""
