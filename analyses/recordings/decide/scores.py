"""Usual scores of replay, for comparison with the literature; nothing is decided by them.

On a track with branches they are computed for each route between two ends of the track, and the
best route counts.

Track log odds: which of two tracks an event represents, whatever the order of its places.

The published code divides a sum that is not normalised by one that is; here the posterior is
normalised over both tracks for both sums, and decoded with the cells that have fields on both [1]_.
In shuffles, the fields of each cell on the two tracks are swapped with probability 1/2.

References
----------
.. [1] Takigawa et al. (2024). https://doi.org/10.7554/eLife.85635
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, bins_between
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.likelihood import bayesian_posterior, log_likelihood
from replay.checks import check_number
from replay.checks.arrays import Bools, Floats, Ints
from replay.jit import kernel

USUAL_SCORES = ("weighted_correlation", "line_fit")
_MOST_LOOPS = 4  # a track with more has too many routes to list


class Route(NamedTuple):
    """A path along the track from one of its ends to another."""

    bins: Ints  # (n_bins_of_route,): its bins, in order
    # (n_bins_of_route,): the distance of each bin from the beginning of the route, in cm
    distance: Floats


def find_routes(track: BinnedTrack) -> list[Route]:
    """List the routes of a track: from each of its ends to each other, without repeated places."""
    graph = nx.Graph()
    for number, (one, other) in enumerate(track.edges.tolist()):
        graph.add_edge(one, other, number=number)
    pairs: list[tuple[int, int]] = []
    for part in nx.connected_components(graph):
        nodes = [node for node in graph if node in part]
        ends = [node for node in nodes if graph.degree(node) == 1]
        pairs += combinations(ends if len(ends) > 1 else nodes, 2)
    found: dict[frozenset[int], Route] = {}
    for one, other in pairs:
        for nodes in nx.all_simple_paths(graph, one, other):
            bins: list[Ints] = []
            distances: list[Floats] = []
            begin = 0.0
            for here, there in pairwise(nodes):
                number = graph.edges[here, there]["number"]
                own = np.flatnonzero(track.edge == number)
                along = track.offset[own]
                if track.edges[number, 0] != here:
                    own, along = own[::-1], (track.length[number] - along)[::-1]
                bins.append(own)
                distances.append(begin + along)
                begin += float(track.length[number])
            route = Route(np.concatenate(bins), np.concatenate(distances))
            found.setdefault(frozenset(route.bins.tolist()), route)
    return [route for own, route in found.items() if not any(own < other for other in found)]


def usual_routes(track: BinnedTrack) -> list[Route]:
    """List the routes on which scores are computed; none in an arena, or with many loops."""
    n_loops = len(track.edges) - len(track.nodes) + (track.whole or track).n_components
    return [] if track.is_arena or n_loops > _MOST_LOOPS else find_routes(track)


def usual_scores(posterior: Floats, routes: list[Route]) -> dict[str, float]:
    """Compute the scores of a posterior, shape (n_time, n_bins); NaN without routes."""
    if not routes:
        return dict.fromkeys(USUAL_SCORES, np.nan)
    return {
        "weighted_correlation": weighted_correlation(posterior, routes),
        "line_fit": line_fit(posterior, routes),
    }


def weighted_correlation(posterior: ArrayLike, routes: Iterable[Route]) -> float:
    """Compute the correlation of time and place, weighted by probability, on the best route [1]_.

    The posterior is (n_time, n_bins); the absolute correlation is multiplied by the share of the
    posterior on the route, so that a short route with little of it does not win.

    References
    ----------
    .. [1] Wu & Foster (2014). https://doi.org/10.1523/JNEUROSCI.3414-13.2014
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
    .. [1] Davidson, Kloosterman & Wilson (2009). https://doi.org/10.1016/j.neuron.2009.07.027
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
    weights: Floats, bins: Ints, near: NDArray[np.uint16], last: NDArray[np.uint16], best: float
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
def _correlation_on(weights: Floats, bins: Ints, distance: Floats) -> float:
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


_LEAST_PEAK = Settings().least_peak  # Hz, on both tracks


def log_odds(posterior: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """Compute the log odds of two tracks from the posterior of an event, shape (n_time, n_bins).

    `first` and `second` mark the bins of the tracks. The natural logarithm of the sum of the
    posterior over the first divided by that over the second; for both, it is normalised over both
    tracks together in each time bin.
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    both = np.asarray(posterior, dtype=float)[:, one | other]
    normalised = both / both.sum(axis=1, keepdims=True)
    sums = (normalised[:, each[one | other]].sum() for each in (one, other))
    on_first, on_second = (max(float(each), 1e-300) for each in sums)
    return float(np.log(on_first) - np.log(on_second))


def tracks_to_compare(
    track: BinnedTrack, rates: ArrayLike, named: Sequence[Sequence[str]] = ()
) -> tuple[Bools, Bools] | None:
    """Find the bins of the two tracks to be compared by track log odds."""
    if named:
        first, second = (bins_between(track, nodes) for nodes in named)
        return first, second
    if track.n_components != 2:
        return None
    first, second = track.component == 0, track.component == 1
    return (first, second) if common_cells(rates, first, second).sum() > 1 else None


def common_cells(rates: ArrayLike, first: ArrayLike, second: ArrayLike) -> Bools:
    """Find the cells with a field on each of two tracks."""
    hertz = np.asarray(rates, dtype=float)
    peaks = [hertz[:, np.asarray(each, dtype=bool)].max(axis=1) for each in (first, second)]
    return np.asarray(np.min(peaks, axis=0) >= _LEAST_PEAK)


def track_log_odds(
    events: Sequence[ArrayLike],
    rates: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    dt: float,
    n_shuffles: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Compute the track log odds of each event, and compare them with chance.

    Events are (n_time, n_cells) spikes; `first` and `second` mark the bins of the tracks. Cells
    with a field on both count. Returns `log_odds` and `log_odds_z`.
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    hertz = np.asarray(rates, dtype=float)
    chosen = common_cells(hertz, one, other)
    if np.count_nonzero(chosen) < 2:
        raise ValueError(
            f"{np.count_nonzero(chosen)} of {len(hertz)} cells have a field on both tracks (at "
            f"least {_LEAST_PEAK:g} Hz): too few for a comparison."
        )
    own = hertz[chosen]
    swapped = own.copy()
    for here, there in ((one, other), (other, one)):
        along = np.linspace(0, np.count_nonzero(there) - 1, np.count_nonzero(here))
        swapped[:, here] = own[:, there][:, np.round(along).astype(int)]
    children = np.random.SeedSequence(seed).spawn(len(events))

    def odds(counts: Floats, fields: Floats) -> float:
        likelihoods = log_likelihood(counts, fields, dt)[:, one | other]
        return log_odds(bayesian_posterior(likelihoods), one[one | other], other[one | other])

    rows = []
    for given, child in zip(events, children, strict=True):
        counts = np.asarray(given, dtype=float)[:, chosen]
        row = {"log_odds": np.nan, "log_odds_z": np.nan}
        if counts.any():
            rng = np.random.default_rng(child)
            by_chance = [
                odds(counts, np.where(rng.random((len(own), 1)) < 0.5, own, swapped))
                for _ in range(n_shuffles)
            ]
            row["log_odds"] = odds(counts, own)
            spread = float(np.std(by_chance))
            if spread > 0:
                row["log_odds_z"] = (row["log_odds"] - float(np.mean(by_chance))) / spread
        rows.append(row)
    return pd.DataFrame(rows, columns=["log_odds", "log_odds_z"])
