"""Headings along decoded paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.prepare.headings import travel

__all__ = ["heading_of_ways", "outward_along"]

_LEAST_CERTAIN = 0.95


def heading_of_ways(along: NDArray[np.int8], visits: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the heading of the way to each visit of a path: that of most time bins on it.

    `along`, shape (n_time,), is that of each time bin; `visits` are the time bins of the visits.
    """
    total = np.append(0, np.cumsum(along.astype(np.int64)))
    end = visits + 1
    begin = np.append(0, end[:-1])[: len(end)]
    found: NDArray[np.int64] = np.sign(total[end] - total[begin])
    return found


def outward_along(
    track: BinnedTrack, bins: NDArray[np.integer], outward: NDArray[np.float64]
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
