"""Headings: a track that is run both ways has a state for each bin and heading along its edge.

A heading is the direction of running, from the first node of an edge to the second or back. It is
carried on where a path goes from one edge to another: who heads for a junction heads away from it
afterwards. The field of a cell is estimated for each heading, and shared by both headings unless
two fields predict its spikes in held-out runs better than one [1]_ [2]_.

References
----------
.. [1] McNaughton, Barnes & O'Keefe (1983). https://doi.org/10.1007/BF00237147
.. [2] Davidson, Kloosterman & Wilson (2009). https://doi.org/10.1016/j.neuron.2009.07.027
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.basics.observed import Seen
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.place_fields import place_fields, sums_by
from replay.checks.arrays import Bools, Floats, Ints

LEAST_DIFFERENT = 6
"""The least number of cells that differ between headings, with which one can be told: with fewer,
more than one in 20 random exchanges of their fields agree with an event."""

_N_PARTS = 5
_PART = 5.0  # s; successive parts of the recording are held out in turn
_LEAST_GAIN = 2.0  # of the held-out log-likelihood with two fields instead of one
_PRIOR = 0.5  # s of running at the shared rate, so that rarely run headings share the field
_LEAST_BOTH = 0.2  # share of running in bins that are run both ways
_LEAST_CERTAIN = 0.95  # of a heading that another program decoded


class HeadedFields(NamedTuple):
    """Place fields for each heading."""

    # (n_cells, 2 * n_bins): rates in Hz: in all bins when heading for the second node of their
    # edge, then for the first
    rates: Floats
    differs: Bools  # (n_cells,): whether a cell has two fields; others share one

    @property
    def and_without(self) -> Floats:
        """The rates in both headings, and their mean for none, shape (n_cells, 3 * n_bins)."""
        return with_unknown(self.rates)


def with_unknown(rates: Floats) -> Floats:
    """Add to rates in both headings, (n_cells, 2 * n_bins), their mean, where none is known."""
    ahead, back = np.split(rates, 2, axis=1)
    return np.hstack([ahead, back, (ahead + back) / 2])


def with_headings(track: BinnedTrack, between: Floats) -> Floats:
    """Extend weights between bins, shape (n_bins, n_bins), to bins with headings, twice as many."""
    ends = track.edges[track.edge]
    to_end = np.stack([track.offset, track.length[track.edge] - track.offset], axis=1)
    routes = [
        to_end[:, [leave]]
        + track.node_distance[ends[:, leave][:, None], ends[:, enter][None, :]]
        + to_end[:, enter][None, :]
        for leave in range(2)
        for enter in range(2)
    ]
    # Leaving by the second node and entering by the first, or the reverse, keeps the sign.
    keeps = np.isin(np.argmin(routes, axis=0), (1, 2))
    straight = np.abs(track.offset[:, None] - track.offset[None, :])
    keeps |= (track.edge[:, None] == track.edge) & (straight <= np.min(routes, axis=0))
    same, other = np.where(keeps, between, 0.0), np.where(keeps, 0.0, between)
    return np.block([[same, other], [other, same]])


def is_run_both_ways(place: NDArray[np.integer], ahead: NDArray[np.integer], n_bins: int) -> bool:
    """Whether an animal runs a considerable part of a track both ways; `place` -1: not running."""
    runs = (place >= 0) & (ahead != 0)
    time = np.bincount(place[runs] + n_bins * (ahead[runs] < 0), minlength=2 * n_bins)
    both = 2 * time.reshape(2, n_bins).min(axis=0).sum()
    return bool(both >= _LEAST_BOTH * max(time.sum(), 1))


def headed_fields(
    track: BinnedTrack,
    place: NDArray[np.integer],
    ahead: NDArray[np.integer],
    counts: NDArray[np.integer] | csr_array,
    seconds: float,
    settings: Settings,
    seen: Seen,
) -> HeadedFields:
    """Estimate the fields of each heading.

    `place` and `ahead`, shape (n_time,), are the bin in which the animal runs (-1: it does not) and
    the sign of its heading; `counts`, shape (n_time, n_cells), are spikes in bins of `seconds`, and
    `seen` the cells that were observed.
    """
    n_bins, n_cells = track.n_bins, counts.shape[1]
    runs = np.flatnonzero((place >= 0) & (ahead != 0))
    state = place[runs] + n_bins * (ahead[runs] < 0)
    # By short parts in turn, so that each heading and place is in all of the fifths.
    part = (runs * seconds / _PART).astype(np.int64) % _N_PARTS
    cell = part * 2 * n_bins + state
    shape = _N_PARTS, 2 * n_bins
    sums = seen._replace(number=seen.number[runs]).sums(cell, shape[0] * shape[1])
    time = sums.reshape(-1, *shape) * seconds  # in which each set of cells was observed
    spikes = sums_by(cell, counts[runs], shape[0] * shape[1]).T.reshape(n_cells, *shape)
    gain = np.zeros(n_cells)
    for held in range(_N_PARTS):
        others = np.arange(_N_PARTS) != held
        known = spikes[:, others].sum(axis=1), time[:, others].sum(axis=1)
        two, one = _fields(track, *known, settings, seen)
        own = seen.of_cells(time[:, held])
        for rates, sign in ((two, 1), (one, -1)):
            gain += sign * (spikes[:, held] * np.log(rates) - rates * own).sum(axis=1)
    differs = gain > _LEAST_GAIN
    two, _ = _fields(track, spikes.sum(axis=1), time.sum(axis=1), settings, seen)
    one = place_fields(
        track, place, counts, seconds,
        smoothing=settings.smoothing, lowest_rate=settings.lowest_rate, seen=seen,
    )  # fmt: skip
    return HeadedFields(np.where(differs[:, None], two, np.tile(one, (1, 2))), differs)


def _fields(
    track: BinnedTrack, spikes: Floats, time: Floats, settings: Settings, seen: Seen
) -> tuple[Floats, Floats]:
    """Estimate rates by heading, and shared ones, both of shape (n_cells, 2 * n_bins).

    `time`, shape (n_sets, 2 * n_bins), is that in which each set of cells was observed.
    """
    near = np.exp(-0.5 * (track.distance / max(settings.smoothing, 1e-3)) ** 2)
    headed = with_headings(track, near)
    n_bins = track.n_bins
    shared_spikes = (spikes[:, :n_bins] + spikes[:, n_bins:]) @ near
    shared_time, headed_time = (
        seen.of_cells(np.stack(each))
        for each in (
            [near @ (own[:n_bins] + own[n_bins:]) for own in time],
            [headed @ own for own in time],
        )
    )
    floor = max(settings.lowest_rate, 1e-3)
    one = np.tile(np.maximum(shared_spikes / np.maximum(shared_time, 1e-9), floor), (1, 2))
    two = np.maximum((spikes @ headed + _PRIOR * one) / (headed_time + _PRIOR), floor)
    return two, one


def travel(track: BinnedTrack, bins: NDArray[np.integer], window: int = 4) -> NDArray[np.int8]:
    """Find the direction of travel along the edge of each place of a path, shape (n_time,).

    It is 1 towards the second node of the edge, -1 towards the first, and 0 for a path that stays:
    by the places `window` time bins before and after, so that a step back does not count.
    """
    n = len(bins)
    if not n:
        return np.empty(0, dtype=np.int8)
    before = bins[np.maximum(np.arange(n) - window, 0)]
    after = bins[np.minimum(np.arange(n) + window, n - 1)]
    return heading_between(track, before, bins, after)


def heading_between(
    track: BinnedTrack,
    before: NDArray[np.integer],
    bins: NDArray[np.integer],
    after: NDArray[np.integer],
) -> NDArray[np.int8]:
    """Find the direction along the edges of `bins` of the ways from other bins to others."""
    nodes = track.edges[track.edge[bins]]
    ahead = []  # how much nearer to the second of these nodes than to the first, in cm
    for each in (before, after):
        ends, offset = track.edges[track.edge[each]], track.offset[each]
        left = np.stack([offset, track.length[track.edge[each]] - offset], axis=1)
        to_first, to_second = (
            np.min(track.node_distance[ends, nodes[:, [end]]] + left, axis=1) for end in range(2)
        )
        ahead.append(to_first - to_second)
    with np.errstate(invalid="ignore"):  # infinity less infinity, between separate tracks
        change = np.nan_to_num(ahead[1] - ahead[0])
    return np.asarray(np.sign(np.round(change, 6)).astype(np.int8))


def heading_of_ways(along: NDArray[np.int8], visits: NDArray[np.integer]) -> Ints:
    """Return the heading of the way to each visit of a path: that of most time bins on it.

    `along`, shape (n_time,), is that of each time bin; `visits` are the time bins of the visits.
    """
    total = np.append(0, np.cumsum(along.astype(np.int64)))
    end = visits + 1
    begin = np.append(0, end[:-1])[: len(end)]
    return np.asarray(np.sign(total[end] - total[begin]))


def outward_along(
    track: BinnedTrack, bins: NDArray[np.integer], outward: Floats
) -> NDArray[np.int8]:
    """Compare the headings that another program decoded with the direction of travel.

    `outward`, shape (n_time,), is the probability of running along the track as its `edge_order`
    lays it out; a heading that is not certain is 0.
    """
    laid_out = {tuple(edge) for edge in track.edge_order.tolist()}
    sign = np.array([1 if tuple(edge) in laid_out else -1 for edge in track.edges.tolist()])
    certain = (outward >= _LEAST_CERTAIN).astype(int) - (outward <= 1 - _LEAST_CERTAIN)
    found: NDArray[np.int8] = travel(track, bins) * sign[track.edge[bins]] * certain
    return found.astype(np.int8)
