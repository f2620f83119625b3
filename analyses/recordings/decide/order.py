"""Order: whether an event moves along the track, and not only from one place to another.

Shuffles of cells ask whether an event represents places. Events that hold a few random places in no
order do so, too, and many of them pass. So the evidence for ordered movement is compared with that
for held places:

- *ordered*: a path at constant speed along a route of the track, or along a straight line through
  an arena, of 45 cm or more, all of which are equally likely; or a random walk, if the decoded path
  extends over 50 cm or more;
- *held*: places that are held for 20, 40 or 80 ms on average (the most likely of these counts), and
  are drawn anew from the whole track.

Where cells have a field for each heading, both are compared with headings, too: ordered movement
has one, which is carried on from edge to edge, and held places have another one each time. The
comparison, with or without headings, that is more in favour of order counts.

On simulated W-tracks with 10, 15, 20 and 50 cells, the least difference of 1.5 kept .20 of .23, .54
of .58, .73 of .74 and .98 of .98 of replay that passed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.intervals import wilson_interval
from analyses.recordings.basics.binned_track import BinnedTrack, bins_on_way
from analyses.recordings.decide.routes import find_routes
from analyses.recordings.prepare.headings import travel
from analyses.recordings.prepare.state_space_decoder import Walk, walk_of_states

__all__ = ["HELD", "LEAST_ORDER", "UNORDERED", "OrderedPaths", "order_of", "ordered_paths"]
__all__ += ["order_threshold", "unordered_places"]

LEAST_ORDER = 1.5
"""Least difference of the logarithms of the evidence for ordered movement and for held places."""
HELD = (0.02, 0.04, 0.08)  # s

UNORDERED = {
    "held_20_ms": "random places, each held for 20 ms",
    "held_40_ms": "random places, each held for 40 ms",
    "held_80_ms": "random places, each held for 80 ms",
    "two_places": "two random places, one after the other",
    "hovering": "one random place",
    "sweeps": "sweeps of 30 cm, ten a second",
}
"""The kinds of events that represent places, but no replay: name -> what they are."""

_LEAST_PATH, _LEAST_EXTENT = 45.0, 50.0  # cm
_MOST_LOOPS = 4
_N_ENDS = 30  # of lines on each route
_BETWEEN_ENDS = 20.0  # cm, of lines through an arena
_WANDERS = 60.0 / 0.005  # cm^2/s: the mean squared displacement of the random walk
_SWEEP, _PERIOD = 30.0, 0.1  # cm, s


class OrderedPaths(NamedTuple):
    """The movements that order is compared with.

    Attributes
    ----------
    routes : list of ndarray of int64, each of shape (n_bins_of_route,)
        The states along each route: bins, or bins in each of the two headings.
    distance : list of ndarray of float64
        Their distances from the beginning of the route, in cm.
    least : float
        Least length of a path along a route, in cm: 45, or half of the longest if that is less.
    walk : ndarray of float64, shape (n_states, n_states)
        Transitions of the random walk in a time bin.
    between : ndarray of float64, shape (n_bins, n_bins)
        Distances along the track, in cm.
    time_bin : float
        Length of a time bin, in s.
    lines : ndarray of float64, shape (n_lines, 2, 2)
        Both ends of each straight line through an arena, in bins from its corner; none on a track.
    bin_at : ndarray of int64, shape (n_columns, n_rows)
        The bin of an arena in each square of its grid, and -1 outside.
    """

    routes: list[NDArray[np.int64]]
    distance: list[NDArray[np.float64]]
    least: float
    walk: Walk
    between: NDArray[np.float64]
    time_bin: float
    lines: NDArray[np.float64]
    bin_at: NDArray[np.int64]


def ordered_paths(track: BinnedTrack, time_bin: float, n_states: int) -> list[OrderedPaths]:
    """Prepare the movements along a track, and those with headings if states have these.

    A track with many loops has too many routes to list.
    """
    n_loops = len(track.edges) - len(track.nodes) + (track.whole or track).n_components
    routes = find_routes(track) if n_loops <= _MOST_LOOPS else []
    longest = max((float(each.distance[-1] - each.distance[0]) for each in routes), default=np.inf)
    variance = _WANDERS * time_bin / (2 if track.is_arena else 1)
    lines, bin_at = _lines_through(track)
    along = [each.bins for each in routes]
    distance = [each.distance for each in routes]
    found = []
    for number in range(track.n_bins, n_states + 1, track.n_bins):
        if number > track.n_bins:
            away = [track.n_bins * (travel(track, bins, 1) < 0) for bins in along]
            back = [track.n_bins - each for each in away]
            along = [
                bins + each for ways in (away, back) for bins, each in zip(along, ways, strict=True)
            ]
            distance = distance * 2
        found.append(
            OrderedPaths(
                along, distance, min(_LEAST_PATH, longest / 2),
                walk_of_states(track, variance, number), track.distance, time_bin, lines, bin_at,
            )
        )  # fmt: skip
    return found


def _lines_through(track: BinnedTrack) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """List the straight lines between bins of an arena that lead through free space."""
    if not track.is_arena:
        return np.empty((0, 2, 2)), np.empty((0, 0), dtype=np.int64)
    square = np.round((track.position - track.position.min(axis=0)) / track.square).astype(np.int64)
    bin_at = np.full(square.max(axis=0) + 1, -1)
    bin_at[tuple(square.T)] = np.arange(track.n_bins)
    every = max(round(_BETWEEN_ENDS / track.square), 1)
    ends = np.flatnonzero((square % every == every // 2).all(axis=1))
    between = track.distance[np.ix_(ends, ends)]
    straight = np.hypot(*(track.position[ends][:, None] - track.position[ends]).T)
    one, other = np.nonzero((between >= _LEAST_PATH) & (between <= straight + 1e-6))
    return np.stack([square[ends[one]], square[ends[other]]], axis=1).astype(float), bin_at


def order_of(
    log_likelihoods: NDArray[np.float64],
    path: NDArray[np.integer],
    movements: Sequence[OrderedPaths],
) -> float:
    """Compare the evidence for ordered movement with that for held places.

    Likelihoods are (n_time, n_states), of bins or of bins in each heading, which is averaged over
    for movements without one; `path`, shape (n_time,), are the bins of the decoded path.
    """
    n_time = len(log_likelihoods)
    if n_time < 2:
        return -np.inf
    found = []
    for paths in movements:
        by_heading = log_likelihoods.reshape(n_time, -1, paths.walk.shape[0])
        likely = np.logaddexp.reduce(by_heading, axis=1) - np.log(by_heading.shape[1])
        ordered = _along_routes(likely, paths)
        if paths.between[np.ix_(path, path)].max() >= _LEAST_EXTENT:
            ordered = max(ordered, _evidence(likely, partial(_moved, walk=paths.walk)))
        stays = [float(np.exp(-paths.time_bin / seconds)) for seconds in HELD]
        held = [_evidence(likely, partial(_held, stays=p)) for p in stays]
        found.append(float(ordered - max(held)))
    return max(found)


def _along_routes(likely: NDArray[np.float64], paths: OrderedPaths) -> float:
    """Compute the log evidence of paths at constant speed, averaged over all of them."""
    moments = np.linspace(0.0, 1.0, len(likely))[:, None]
    rows = np.arange(len(likely))[:, None]
    found = [np.empty(0)]
    if len(paths.lines):
        first, last = np.moveaxis(paths.lines, 1, 0)
        line = first + (last - first) * moments[:, :, None]
        bins = paths.bin_at[tuple(np.round(line).astype(np.int64).T)].T
        is_inside = (bins >= 0).all(axis=0)
        found.append(likely[rows, bins[:, is_inside]].sum(axis=0))
    for bins, distance in zip(paths.routes, paths.distance, strict=True):
        ends = np.linspace(distance[0], distance[-1], _N_ENDS)
        first, last = (each.ravel() for each in np.meshgrid(ends, ends))
        is_long = np.abs(first - last) >= paths.least
        line = first[is_long] * (1.0 - moments) + last[is_long] * moments
        nearest = np.searchsorted((distance[1:] + distance[:-1]) / 2, line)
        found.append(likely[rows, bins[nearest]].sum(axis=0))
    each = np.concatenate(found)
    return float(np.logaddexp.reduce(each) - np.log(len(each))) if len(each) else -np.inf


def _moved(place: NDArray[np.float64], walk: Walk) -> NDArray[np.float64]:
    moved: NDArray[np.float64] = place @ walk
    return moved


def _held(place: NDArray[np.float64], stays: float) -> NDArray[np.float64]:
    return stays * place + (1 - stays) / len(place)


def _evidence(
    likely: NDArray[np.float64], step: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> float:
    """Compute the log evidence of places whose probabilities change as given in each time bin."""
    highest = likely.max(axis=1)
    likelihood = np.exp(likely - highest[:, None])
    place = np.full(likely.shape[1], 1.0 / likely.shape[1])
    total = float(highest.sum())
    for number, row in enumerate(likelihood):
        place = (step(place) if number else place) * row
        size = float(place.sum())
        total += np.log(size)
        place /= size
    return total


def unordered_places(
    kind: str, n_time: int, track: BinnedTrack, time_bin: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the bins that an event of an unordered kind represents, shape (n_time,)."""

    def somewhere(n: int = 1) -> NDArray[np.int64]:
        return rng.choice(track.n_bins, n, p=track.width / track.width.sum())

    if kind == "hovering":
        return np.repeat(somewhere(), n_time)
    if kind == "two_places":
        change = int(rng.integers(n_time // 4, max(3 * n_time // 4, n_time // 4 + 1)))
        return np.repeat(somewhere(2), [change, n_time - change])
    if kind == "sweeps":
        begin = somewhere()[0]
        far = np.abs(track.distance[begin] - _SWEEP)
        end = rng.choice(np.flatnonzero(far <= far.min() + 1e-6))
        way = bins_on_way(track, begin, end)
        period = max(round(_PERIOD / time_bin), 1)
        found: NDArray[np.int64] = way[np.arange(n_time) % period * len(way) // period]
        return found
    held = max(round(float(kind.split("_")[1]) / 1000 / time_bin), 1)
    return np.repeat(somewhere(-(-n_time // held)), held)[:n_time]


def order_threshold(
    unordered: pd.DataFrame, threshold: float, level: float
) -> tuple[float, pd.DataFrame]:
    """Choose the least order with which each kind of unordered event passes at the nominal rate.

    Returns it, and for each kind `null, n, rate`: the share that pass a least order that was chosen
    from the other half of them, with its 95 % interval `ci_low, ci_high`. `threshold` is that of p.

    Examples
    --------
    >>> table = pd.DataFrame({"event": range(4), "null": "sweeps", "order": 3.0, "p": 1.0})
    >>> least, rates = order_threshold(table, 0.05, 0.05)
    >>> least, rates["rate"].tolist()
    (1.5, [0.0])
    """
    order = unordered["order"].where(unordered["p"] <= threshold, -np.inf)
    half = unordered["event"] % 2 == 0
    least = {True: LEAST_ORDER, False: LEAST_ORDER}
    for is_even in (True, False):
        for _, own in order[half == is_even].groupby(unordered["null"]):
            least[is_even] = max(least[is_even], _least(own.to_numpy(), level))
    passes = order >= half.map({True: least[False], False: least[True]}).astype(float)
    rates = passes.groupby(unordered["null"]).agg(["size", "mean"]).reindex([*UNORDERED])
    rates = rates.dropna().rename(columns={"size": "n", "mean": "rate"}).rename_axis("null")
    low, high = wilson_interval(rates["rate"], rates["n"])
    rates = rates.assign(ci_low=low, ci_high=high)
    whole = max((_least(own.to_numpy(), level) for _, own in order.groupby(unordered["null"])),
                default=LEAST_ORDER)  # fmt: skip
    return whole, rates.astype({"n": int}).reset_index()


def _least(order: NDArray[np.float64], level: float) -> float:
    """Return the least order of at least `LEAST_ORDER` that at most the share `level` reach.

    One may always do: of fewer than 20, one is no evidence for a rate of more than .05.
    """
    most = max(level * len(order), 1)
    if np.count_nonzero(order >= LEAST_ORDER) <= most:
        return LEAST_ORDER
    tried = np.nextafter(np.unique(order[order >= LEAST_ORDER]), np.inf)
    return float(next(each for each in tried if np.count_nonzero(order >= each) <= most))
