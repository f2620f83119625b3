"""Significance: whether an event is replay, or what the same spikes would give by chance.

Each event gets a score, and the same score is computed many times from shuffled data. Its p value
is (k + 1) / (n + 1), with the number k of n shuffles that score at least as high [1]_. On a track
that branches a line is fitted to each route between two ends of the track, and the best one counts;
so it does in each shuffle.

A shuffle destroys what it shuffles and nothing else. Shuffles of *time bins* or of the *posterior*
keep the drift that any place code has from one bin to the next: of events whose cells were assigned
at random, they call about half significant. At least one shuffle of *cells* is therefore required,
and `calibrate` chooses the threshold so that events of randomised cells pass it as often as they
should [2]_.

References
----------
.. [1] Phipson & Smyth (2010), Permutation p-values should never be zero.
   https://doi.org/10.2202/1544-6115.1585
.. [2] Takigawa et al. (2024), Evaluating hippocampal replay without a ground truth.
   https://doi.org/10.7554/eLife.85635
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.decoder import (
    CONTINUOUS,
    bayesian_posterior,
    log_likelihood,
    random_walk,
    state_posterior,
)
from analyses.recordings.track import Track
from replay.checks import check_choice, check_number, check_whole

__all__ = ["SCORES", "SHUFFLES", "Calibration", "Route", "calibrate", "find_routes", "line_fit"]
__all__ += [
    "check_shuffles",
    "choose_threshold",
    "log_odds",
    "significance",
    "weighted_correlation",
]

CELL_SHUFFLES = ("cell_identity", "circular_fields")
BIN_SHUFFLES = ("time_bins", "circular_posterior")
SHUFFLES = CELL_SHUFFLES + BIN_SHUFFLES
"""``cell_identity``: which cell has which place field. ``circular_fields``: each place field moved
along the track by a distance of its own. ``time_bins``: their order. ``circular_posterior``: the
posterior of each time bin moved along the track by a distance of its own."""


class Route(NamedTuple):
    """A way along the track from one of its ends to another.

    Attributes
    ----------
    bins : ndarray of int64, shape (n_bins_of_route,)
        The bins that it passes, in order.
    distance : ndarray of float64, shape (n_bins_of_route,)
        How far each of them is from its beginning, in cm.
    """

    bins: NDArray[np.int64]
    distance: NDArray[np.float64]


def find_routes(track: Track) -> list[Route]:
    """List the routes of a track: from each of its ends to each other, without a place twice.

    Parameters
    ----------
    track : Track
        The track. If it has fewer than two ends, as a ring, routes lead from each node to each
        other.

    Returns
    -------
    list of Route
        Each route in one of its two directions; of routes with the same bins, one.

    Examples
    --------
    >>> from analyses.recordings.track import cut_track
    >>> from replay.worlds.tracks import make_wtrack
    >>> len(find_routes(cut_track(make_wtrack(), bin_size=10.0)))
    3
    """
    graph = nx.Graph()
    for number, (one, other) in enumerate(track.edges.tolist()):
        graph.add_edge(one, other, number=number)
    ends = [node for node, degree in graph.degree if degree == 1]
    if len(ends) < 2:
        ends = list(graph)
    found: dict[frozenset[int], Route] = {}
    for one, other in combinations(ends, 2):
        for nodes in nx.all_simple_paths(graph, one, other):
            bins: list[NDArray[np.int64]] = []
            distances: list[NDArray[np.float64]] = []
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
    return [
        route
        for route in found.values()
        if not any(set(route.bins.tolist()) < set(other.bins.tolist()) for other in found.values())
    ]


def weighted_correlation(posterior: ArrayLike, routes: Iterable[Route]) -> float:
    """Correlate time and place, each pair weighted by its probability; on the best route.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, n_bins)
        Probability of each place in each time bin.
    routes : iterable of Route
        As `find_routes` gives them.

    Returns
    -------
    float
        The largest absolute correlation over all routes, each weighted with the share of the
        posterior that lies on it; between 0 and 1.

    References
    ----------
    Wu & Foster (2014), Hippocampal replay captures the unique topological structure of a novel
    environment. https://doi.org/10.1523/JNEUROSCI.3414-13.2014

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
    """Find the straight line through time and place that holds most of the posterior.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, n_bins)
        Probability of each place in each time bin.
    routes : iterable of Route
        As `find_routes` gives them.
    width : float, default 15.0
        How far from the line a place may be, in cm.
    n_lines : int, default 40
        How many places at the beginning and at the end of the event are joined by lines, each with
        each.

    Returns
    -------
    float
        The mean probability, over time bins, within the width of the best line of the best route;
        between 0 and 1.

    References
    ----------
    Davidson, Kloosterman & Wilson (2009), Hippocampal replay of extended experience.
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


class _Event(NamedTuple):
    """One event, and what its score may need."""

    counts: NDArray[np.float64]
    rates: NDArray[np.float64]
    dt: float
    walk: NDArray[np.float64]
    routes: list[Route]


def _continuous(event: _Event, likelihoods: NDArray[np.float64]) -> float:
    posterior, _ = state_posterior(likelihoods, event.walk)
    return float(posterior[:, CONTINUOUS].sum(axis=1).mean())


def _correlation(event: _Event, likelihoods: NDArray[np.float64]) -> float:
    return weighted_correlation(bayesian_posterior(likelihoods), event.routes)


def _line(event: _Event, likelihoods: NDArray[np.float64]) -> float:
    return line_fit(bayesian_posterior(likelihoods), event.routes)


SCORES: dict[str, Callable[[_Event, NDArray[np.float64]], float]] = {
    "continuous": _continuous,
    "weighted_correlation": _correlation,
    "line_fit": _line,
}
"""``continuous``: the mean probability of continuous movement in the state-space decoder.
``weighted_correlation`` and ``line_fit``: of the posterior of the Bayesian decoder."""


def _shuffled(shuffle: str, event: _Event, rng: np.random.Generator) -> NDArray[np.float64]:
    """Give the likelihoods of an event after one shuffle."""
    rates = event.rates
    if shuffle == "cell_identity":
        rates = rates[rng.permutation(len(rates))]
    elif shuffle == "circular_fields":
        rates = _rolled(rates, rng)
    likelihoods = log_likelihood(event.counts, rates, event.dt)
    if shuffle == "time_bins":
        likelihoods = likelihoods[rng.permutation(len(likelihoods))]
    elif shuffle == "circular_posterior":
        likelihoods = _rolled(likelihoods, rng)
    return likelihoods


def _rolled(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Move each row along the track by a distance of its own; what leaves it at its end returns."""
    n_rows, n_bins = values.shape
    shift = rng.integers(1, max(n_bins, 2), (n_rows, 1))
    return np.take_along_axis(values, (np.arange(n_bins) - shift) % n_bins, axis=1)


def check_shuffles(shuffles: Sequence[str]) -> list[str]:
    """Check what is to be shuffled.

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
            f"Shuffles of {' and '.join(BIN_SHUFFLES)} alone call about half of the events "
            "significant whose cells were assigned at random: add cell_identity or circular_fields."
        )
    return chosen


def significance(
    events: Sequence[ArrayLike],
    rates: ArrayLike,
    track: Track,
    *,
    dt: float,
    score: str = "continuous",
    shuffles: Sequence[str] = ("cell_identity", "circular_fields"),
    n_shuffles: int = 200,
    variance: float = 15.0,
    least_active: int = 4,
    seed: int = 0,
) -> pd.DataFrame:
    """Test whether events are replay.

    Parameters
    ----------
    events : sequence of array_like of int, each of shape (n_time, n_cells)
        Spikes of each cell in each time bin of each event.
    rates : array_like of float, shape (n_cells, n_bins)
        Place fields in Hz.
    track : Track
        The track that is cut into these bins.
    dt : float
        Length of a time bin, in s.
    score : {"continuous", "weighted_correlation", "line_fit"}, default "continuous"
        What is computed of each event, as ``SCORES`` describes it.
    shuffles : sequence of str
        What is shuffled, each on its own, as ``SHUFFLES`` describes it; at least one of cells.
    n_shuffles : int, default 200
        How often.
    variance : float, default 15.0
        Of a step of continuous movement in a time bin, in cm^2.
    least_active : int, default 4
        Events with fewer active cells are not tested.
    seed : int, default 0
        Seed of the shuffles; those of an event don't depend on the other events.

    Returns
    -------
    pandas.DataFrame
        One row an event: `event`, `n_active` (cells), `score`, a column ``p_SHUFFLE`` for each
        shuffle, and `p`, the largest of them. Not tested: NaN.

    Raises
    ------
    ValueError
        If no shuffle of cells is asked for, a name is unknown, or shapes disagree.

    Examples
    --------
    >>> from analyses.recordings.track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = cut_track(make_linear_track(100.0), bin_size=5.0)
    >>> rates = 30.0 * np.exp(-0.5 * ((np.arange(20) - np.arange(20)[:, None]) / 1.5) ** 2) + 0.1
    >>> sweep = np.random.default_rng(0).poisson(rates.T * 0.1)
    >>> tested = significance([sweep], rates, track, dt=0.1, n_shuffles=39)
    >>> bool(tested.loc[0, "p"] < 0.05)
    True
    """
    chosen = check_shuffles(shuffles)
    rule = SCORES[check_choice("score", score, SCORES)]
    n = check_whole("n_shuffles", n_shuffles, at_least=1)
    least = check_whole("least_active", least_active)
    hertz = np.asarray(rates, dtype=float)
    if hertz.ndim != 2 or hertz.shape[1] != track.n_bins:
        raise ValueError(
            f"rates must have the shape (n_cells, {track.n_bins}) on this track, got {hertz.shape}."
        )
    walk, routes = random_walk(track, variance), find_routes(track)
    children = np.random.SeedSequence(check_whole("seed", seed)).spawn(len(events))
    rows = []
    for number, (given, child) in enumerate(zip(events, children, strict=True)):
        counts = np.asarray(given, dtype=float)
        if counts.ndim != 2 or counts.shape[1] != len(hertz):
            raise ValueError(
                f"Event {number} must have the shape (n_time, {len(hertz)}), got {counts.shape}."
            )
        event = _Event(counts, hertz, dt, walk, routes)
        n_active = int(np.count_nonzero(counts.sum(axis=0)))
        row: dict[str, float] = {"event": number, "n_active": n_active, "score": np.nan}
        row |= dict.fromkeys([f"p_{name}" for name in chosen], np.nan)
        if n_active >= least and len(counts) > 1:
            row["score"] = rule(event, log_likelihood(counts, hertz, dt))
            for name, own in zip(chosen, child.spawn(len(chosen)), strict=True):
                rng = np.random.default_rng(own)
                by_chance = [rule(event, _shuffled(name, event, rng)) for _ in range(n)]
                n_above = np.count_nonzero(np.array(by_chance) >= row["score"] - 1e-12)
                row[f"p_{name}"] = (n_above + 1) / (n + 1)
        row["p"] = max(row[f"p_{name}"] for name in chosen)
        rows.append(row)
    columns = ["event", "n_active", "score", *(f"p_{name}" for name in chosen), "p"]
    return pd.DataFrame(rows, columns=columns).astype({"event": int, "n_active": int})


class Calibration(NamedTuple):
    """The threshold of p at which events of randomised cells pass as often as they should.

    Attributes
    ----------
    threshold : float
        Events with a `p` of at most this are replay; 0 if none may be.
    false_positive_rate : float
        The share of events with randomised cells that pass it.
    at_nominal : float
        The share of them that would pass the nominal level itself.
    n_events : int
        How many events with randomised cells were tested.
    """

    threshold: float
    false_positive_rate: float
    at_nominal: float
    n_events: int


def calibrate(
    events: Sequence[ArrayLike],
    rates: ArrayLike,
    track: Track,
    *,
    dt: float,
    level: float = 0.05,
    n_repeats: int = 1,
    seed: int = 0,
    **options: object,
) -> Calibration:
    """Choose the threshold by events whose cells are randomised: their true rate of replay is 0.

    Parameters
    ----------
    events, rates, track, dt
        As for `significance`.
    level : float, default 0.05
        How many of them may pass.
    n_repeats : int, default 1
        How often each event is randomised.
    seed : int, default 0
        Seed of the randomised cells and of their shuffles.
    **options
        What `significance` is told besides.

    Returns
    -------
    Calibration
        The largest threshold at which no more than `level` pass, and what it was measured on.

    Raises
    ------
    ValueError
        As `significance`; or if no event can be tested.

    Examples
    --------
    >>> from analyses.recordings.track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = cut_track(make_linear_track(50.0), bin_size=5.0)
    >>> rng = np.random.default_rng(0)
    >>> rates, events = rng.gamma(2, 5, (10, 10)), [rng.poisson(1, (5, 10)) for _ in range(20)]
    >>> found = calibrate(events, rates, track, dt=0.02, n_shuffles=19)
    >>> found.n_events, bool(found.false_positive_rate <= 0.05)
    (20, True)
    """
    nominal = check_number("level", level, at_least=0.0, at_most=1.0)
    repeats = check_whole("n_repeats", n_repeats, at_least=1)
    own, others = np.random.SeedSequence([check_whole("seed", seed), 1]).spawn(2)
    rng = np.random.default_rng(own)
    counts = [np.asarray(event, dtype=float) for event in events for _ in range(repeats)]
    randomised = [each[:, rng.permutation(each.shape[1])] for each in counts]
    inner_seed = int(others.generate_state(1)[0])
    tested = significance(randomised, rates, track, dt=dt, seed=inner_seed, **options)  # type: ignore[arg-type]
    return choose_threshold(tested["p"], nominal)


def choose_threshold(p_by_chance: ArrayLike, level: float = 0.05) -> Calibration:
    """Choose the threshold of p at which no more than `level` of events pass by chance.

    Parameters
    ----------
    p_by_chance : array_like of float, shape (n_events,)
        The `p` of events whose cells were randomised; NaN of those not tested.
    level : float, default 0.05
        How many of them may pass.

    Returns
    -------
    Calibration
        The largest such threshold that is not above `level`.

    Raises
    ------
    ValueError
        If no event was tested.

    Examples
    --------
    >>> choose_threshold([0.01, 0.2, 0.02, 0.03], level=0.25).threshold
    0.01
    """
    nominal = check_number("level", level, at_least=0.0, at_most=1.0)
    p = np.asarray(p_by_chance, dtype=float)
    p = np.sort(p[~np.isnan(p)])
    if not len(p):
        raise ValueError(
            "No event has enough active cells to be tested, so no threshold can be chosen."
        )
    threshold = nominal
    if np.mean(p <= nominal) > nominal:
        candidates = [value for value in np.unique(p) if np.mean(p <= value) <= nominal]
        threshold = candidates[-1] if candidates else 0.0
    return Calibration(
        float(threshold), float(np.mean(p <= threshold)), float(np.mean(p <= nominal)), len(p)
    )


def log_odds(posterior: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """Compare how much of the posterior of an event lies on each of two tracks.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, n_bins)
        Over the bins of both tracks, decoded with cells that have a field on both.
    first, second : array_like of bool, shape (n_bins,)
        Which bins belong to which track.

    Returns
    -------
    float
        The natural logarithm of the ratio of the sums. The posterior is normalised over both tracks
        together, in each time bin, for both sums alike.

    Raises
    ------
    ValueError
        If the tracks share a bin, or shapes disagree.

    References
    ----------
    Takigawa et al. (2024), https://doi.org/10.7554/eLife.85635

    Examples
    --------
    >>> round(log_odds([[0.6, 0.2, 0.2]], [True, False, False], [False, True, True]), 3)
    0.405
    """
    weights = np.asarray(posterior, dtype=float)
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if weights.ndim != 2 or {one.shape, other.shape} != {weights.shape[1:]}:
        raise ValueError(
            f"Each track must say for each of the posterior's bins whether it is its own; got "
            f"shapes {weights.shape}, {one.shape} and {other.shape}."
        )
    if (one & other).any():
        raise ValueError(f"Bin {int(np.flatnonzero(one & other)[0])} belongs to both tracks.")
    both = weights[:, one | other]
    normalised = both / both.sum(axis=1, keepdims=True)
    on_first = normalised[:, one[one | other]].sum()
    return float(np.log(on_first) - np.log(len(weights) - on_first))
