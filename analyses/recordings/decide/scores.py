"""Scores of an event: how closely its spikes resemble a movement along the track.

On a track with branches, ``weighted_correlation`` and ``line_fit`` are computed for each route
between two ends of the track, and the best route counts; the same holds for each shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.decide.routes import Route, find_routes
from analyses.recordings.prepare.bayesian_decoder import bayesian_posterior
from analyses.recordings.prepare.state_space_decoder import (
    CONTINUOUS,
    Walk,
    state_posterior,
    walk_evidence,
)
from replay.checks import check_number
from replay.jit import kernel

__all__ = [
    "SCORES",
    "Score",
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
    weights = np.ascontiguousarray(posterior, dtype=float)
    best = 0.0
    for route in routes:
        best = max(best, _correlation_on(weights, route.bins, route.distance))
    return min(best / max(float(weights.sum()), 1e-300), 1.0)


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
    all_weights = np.ascontiguousarray(posterior, dtype=float)
    n_time = len(all_weights)
    reach = check_number("width", width, at_least=0.0)
    best = 0.0
    for route in routes:
        near, last = _lines_on(route.distance.tobytes(), n_time, n_lines, reach)
        best = _best_line(all_weights, route.bins, near, last, best)
    return min(best / max(n_time, 1), 1.0)


@lru_cache(maxsize=128)  # a track has the same routes for each shuffle of an event
def _lines_on(
    distances: bytes, n_time: int, n_lines: int, reach: float
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """List the bins within reach of each line on a route, and the last within twice of each bin.

    The former, shape (n_lines ** 2, n_time, 2), are the first bin and the one after the last.
    """
    distance = np.frombuffer(distances)
    moments = np.linspace(0.0, 1.0, n_time) if n_time > 1 else np.zeros(n_time)
    ends = np.linspace(distance[0], distance[-1], n_lines)
    begin, end = (each.ravel()[:, None] for each in np.meshgrid(ends, ends))
    line = begin * (1.0 - moments) + end * moments
    below = np.searchsorted(distance, line - reach - 1e-9, side="left")
    above = np.searchsorted(distance, line + reach + 1e-9, side="right")
    last = np.searchsorted(distance, distance + 2 * reach + 2e-9, side="right")
    return np.stack([below, above], axis=2).astype(np.uint16), last.astype(np.uint16)


@kernel
def _best_line(
    weights: NDArray[np.float64],
    bins: NDArray[np.int64],
    near: NDArray[np.uint16],
    last: NDArray[np.uint16],
    best: float,
) -> float:
    """Find the largest sum of weights within reach of a line, if it is larger than `best`.

    Time bins with the highest peaks come first, and a line is left as soon as the peaks of the
    others would not suffice.
    """
    n_time, n_bins = len(weights), len(bins)
    sums = np.zeros((n_time, n_bins + 1))
    peak = np.zeros(n_time)
    for t in range(n_time):
        for b in range(n_bins):
            sums[t, b + 1] = sums[t, b] + weights[t, bins[b]]
        for b in range(n_bins):
            peak[t] = max(peak[t], sums[t, last[b]] - sums[t, b])
    order = np.argsort(-peak)
    rest = np.zeros(n_time + 1)
    for k in range(n_time - 1, -1, -1):
        rest[k] = rest[k + 1] + peak[order[k]]
    if rest[0] <= best:
        return best
    for line in range(len(near)):
        total, k = 0.0, 0
        while k < n_time and total + rest[k] > best:
            t = order[k]
            total += sums[t, near[line, t, 1]] - sums[t, near[line, t, 0]]
            k += 1
        if k == n_time and total > best:
            best = total
    return best


@kernel
def _correlation_on(
    weights: NDArray[np.float64], bins: NDArray[np.int64], distance: NDArray[np.float64]
) -> float:
    """Compute the absolute weighted correlation on a route, times the weight on it."""
    total, time, place = 0.0, 0.0, 0.0
    for t in range(len(weights)):
        for b in range(len(bins)):
            weight = weights[t, bins[b]]
            total += weight
            time += weight * t
            place += weight * distance[b]
    if total <= 0:
        return 0.0
    time, place = time / total, place / total
    of_time, of_place, of_both = 0.0, 0.0, 0.0
    for t in range(len(weights)):
        for b in range(len(bins)):
            weight = weights[t, bins[b]]
            of_time += weight * (t - time) ** 2
            of_place += weight * (distance[b] - place) ** 2
            of_both += weight * (t - time) * (distance[b] - place)
    spread = of_time * of_place
    return abs(of_both) / np.sqrt(spread) * total if spread > 0 else 0.0


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
    electrode : ndarray of int64, shape (n_cells,)
        The electrode of each cell, between which shuffles exchange fields.
    """

    counts: NDArray[np.float64]
    rates: NDArray[np.float64]
    dt: float
    walk: Walk
    routes: list[Route]
    component: NDArray[np.int32]
    electrode: NDArray[np.int64]


def _continuous(event: TestedEvent, likelihoods: NDArray[np.float64]) -> float:
    posterior, _ = state_posterior(likelihoods, event.walk)
    return float(posterior[:, CONTINUOUS].sum(axis=1).mean())


def _evidence(event: TestedEvent, likelihoods: NDArray[np.float64]) -> float:
    return walk_evidence(likelihoods, event.walk)


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


class Score(NamedTuple):
    """A score of events.

    Attributes
    ----------
    label : str
        A short description.
    of : callable
        ``of(event, likelihoods)`` returns the score.
    compared : callable
        The same for the quantity by which an event is compared with its shuffles.
    """

    label: str
    of: Callable[[TestedEvent, NDArray[np.float64]], float]
    compared: Callable[[TestedEvent, NDArray[np.float64]], float]


SCORES = {
    "continuous": Score("mean probability of continuous movement", _continuous, _evidence),
    "weighted_correlation": Score(
        "weighted correlation of time and place", _correlation, _correlation
    ),
    "line_fit": Score("mean probability near the best line", _line, _line),
}
"""``continuous``: the mean probability of continuous movement in the state-space decoder; shuffles
are compared by the evidence for such movement throughout, which tells fast replay of few spikes
from chance more often. ``weighted_correlation`` and ``line_fit``: those of the posterior of the
Bayesian decoder."""
