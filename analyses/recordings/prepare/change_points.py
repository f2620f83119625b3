"""Change points: whether an event is one path along the track, or two that follow each other.

An event is split where two independent paths of continuous movement explain its spikes best, if
they do so much better than one path. How much better is chosen so that 1 % of simulated events that
are one path would be split; other simulated events tell the rate that is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, bins_on_way
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.state_space_decoder import CONTINUOUS, Walk, state_posterior

__all__ = ["MOST_SPLIT", "ChangePoints", "change_point", "find_change_points", "split_at"]
__all__ += ["split_events"]

_N_SIMULATED = 400
MOST_SPLIT = 0.01
"""The share of single events that may be split."""
_LEAST_CONTINUOUS = 0.5  # of each part, so that bursts that are no replay are not cut to pieces
_SEED = 20070604


class ChangePoints(NamedTuple):
    """Where events are split.

    Attributes
    ----------
    at : list of list of int
        The time bins of each event at which another path begins.
    rate : float
        The share of simulated events of one path that would be split.
    least : float
        How much better two paths must be, in nats.
    """

    at: list[list[int]]
    rate: float
    least: float


def find_change_points(
    counts: Sequence[NDArray[np.integer]],
    rates: NDArray[np.float64],
    walk: Walk,
    track: BinnedTrack,
    dt: float,
    shortest: int,
    seen: NDArray[np.bool_] | None = None,
) -> ChangePoints:
    """Find the time bins at which events are split, into parts of at least `shortest` time bins.

    `seen`, shape (n_events, n_cells), are the cells that were observed in each; by default all.
    """
    fired = _observed(counts, rates, seen)
    long_enough = [each for each in fired if len(each[0]) >= 2 * shortest]
    if not long_enough:
        return ChangePoints([[] for _ in counts], 0.0, np.inf)
    rng = np.random.default_rng(_SEED)
    simulated = [
        change_point(log_likelihood(_one_path(each, own, track, rng), own, dt), walk, shortest)
        for each, own in (long_enough[row % len(long_enough)] for row in range(_N_SIMULATED))
    ]
    gains = np.array([gain for _, gain in simulated])
    chosen, others = np.split(gains, 2)  # each in turn like every event
    least = max(float(np.quantile(chosen, 1 - MOST_SPLIT)), np.log(walk.shape[0]))
    at = split_at(counts, rates, walk, dt, shortest, least, seen)
    return ChangePoints(at, float((others > least).mean()), least)


def split_at(
    counts: Sequence[NDArray[np.integer]],
    rates: NDArray[np.float64],
    walk: Walk,
    dt: float,
    shortest: int,
    least: float,
    seen: NDArray[np.bool_] | None = None,
) -> list[list[int]]:
    """Find the time bins of events at which two paths are at least so much better than one."""
    return [
        _splits(log_likelihood(each, own, dt), walk, shortest, least)
        for each, own in _observed(counts, rates, seen)
    ]


def _observed(
    counts: Sequence[NDArray[np.integer]],
    rates: NDArray[np.float64],
    seen: NDArray[np.bool_] | None,
) -> list[tuple[NDArray[np.integer], NDArray[np.float64]]]:
    """Return counts and rates of the cells that were observed in each event."""
    if seen is None or seen.all():
        return [(each, rates) for each in counts]
    return [(each[:, own], rates[own]) for each, own in zip(counts, seen, strict=True)]


def split_events(events: pd.DataFrame, at: Sequence[Sequence[int]], dt: float) -> pd.DataFrame:
    """Split events before time bins of `dt` s.

    Examples
    --------
    >>> events = pd.DataFrame({"start_time": [0.0, 5.0], "end_time": [1.0, 6.0]})
    >>> split_events(events, [[], [40]], 0.01).to_numpy().tolist()
    [[0.0, 1.0], [5.0, 5.4], [5.4, 6.0]]
    """
    number = [len(bins) + 1 for bins in at]
    found = events.loc[events.index.repeat(number)].reset_index(drop=True)
    for row, bins in zip(np.cumsum(number) - number, at, strict=True):
        begin = float(found.loc[row, "start_time"])
        for later, bin_ in enumerate(bins, start=int(row) + 1):
            found.loc[[later - 1], "end_time"] = begin + bin_ * dt
            found.loc[[later], "start_time"] = begin + bin_ * dt
    return found


def _splits(
    log_likelihoods: NDArray[np.float64], walk: Walk, shortest: int, least: float
) -> list[int]:
    """Split an event, and its parts again."""
    at, gain = change_point(log_likelihoods, walk, shortest)
    if not gain > least:
        return []
    parts = log_likelihoods[:at], log_likelihoods[at:]
    for part in parts:
        if state_posterior(part, walk)[0][:, CONTINUOUS].sum(axis=1).mean() < _LEAST_CONTINUOUS:
            return []
    first, second = (_splits(part, walk, shortest, least) for part in parts)
    return [*first, at, *(at + later for later in second)]


def _one_path(
    counts: NDArray[np.integer],
    rates: NDArray[np.float64],
    track: BinnedTrack,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Simulate an event as long and with as many spikes, along one path at constant speed."""
    begin = rng.integers(track.n_bins)
    away = track.distance[begin]
    end = rng.choice(np.flatnonzero(np.isfinite(away)))
    way = bins_on_way(track, int(begin), int(end))
    heading = track.n_bins * rng.integers(rates.shape[1] // track.n_bins)
    places = way[np.linspace(0, len(way) - 1, len(counts)).round().astype(int)] + heading
    expected = rates[:, places].T
    found: NDArray[np.int64] = rng.poisson(expected * counts.sum() / expected.sum())
    return found


def change_point(
    log_likelihoods: NDArray[np.float64], walk: Walk, shortest: int
) -> tuple[int, float]:
    """Find the time bin at which a second path begins, and how much better two paths are, in nats.

    Each path has at least `shortest` time bins; without room for two, returns 0 and -inf.

    Examples
    --------
    >>> jump = np.full((8, 5), -50.0)
    >>> jump[:4, 0], jump[4:, 4] = 0.0, 0.0
    >>> walk = np.eye(5) + np.eye(5, k=1) + np.eye(5, k=-1)
    >>> at, gain = change_point(jump, walk / walk.sum(axis=1, keepdims=True), 2)
    >>> at, gain > 10
    (4, True)
    """
    n_time = len(log_likelihoods)
    if n_time < 2 * shortest:
        return 0, -np.inf
    until = _log_evidence(log_likelihoods, walk)
    since = _log_evidence(log_likelihoods[::-1], walk.T)[::-1]
    at = np.arange(shortest, n_time - shortest + 1)
    gains = until[at - 1] + since[at] - until[-1]
    best = int(gains.argmax())
    return int(at[best]), float(gains[best])


def _log_evidence(log_likelihoods: NDArray[np.float64], walk: Walk) -> NDArray[np.float64]:
    """Compute the log evidence of the first time bins of a path that begins anywhere, for each."""
    found = np.empty(len(log_likelihoods))
    probability, total = np.full(walk.shape[0], 1 / walk.shape[0]), 0.0
    for time, row in enumerate(log_likelihoods):
        highest = row.max()
        probability = (probability if time == 0 else probability @ walk) * np.exp(row - highest)
        scale = probability.sum()
        total += np.log(scale) + highest
        probability /= scale
        found[time] = total
    return found
