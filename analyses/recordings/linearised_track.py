"""A track as one line, along which decoded places can be drawn.

Corridor follows corridor, each beginning where the one before ends wherever the track allows it,
with a gap where it doesn't.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.binned_track import BinnedTrack

__all__ = ["LinearisedTrack", "linearise"]

_GAP = 0.07


class LinearisedTrack(NamedTuple):
    """A track as one line.

    Attributes
    ----------
    low, high : ndarray of float64, shape (n_bins,)
        From where to where each bin of the track is drawn, in cm along the line.
    nodes : tuple of (float, str)
        Where the line passes a node of the graph, and its name.
    length : float
        Of the line with its gaps, in cm.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    nodes: tuple[tuple[float, str], ...]
    length: float

    @property
    def centre(self) -> NDArray[np.float64]:
        """Where the centre of each bin is drawn, in cm."""
        return (self.low + self.high) / 2


def linearise(track: BinnedTrack) -> LinearisedTrack:
    """Lay the corridors of a track end to end.

    From an end of the track, the line follows corridors that are not drawn yet, straight on where
    it can, until there is none; then it begins again, after a gap.

    Parameters
    ----------
    track : BinnedTrack
        The track.

    Returns
    -------
    LinearisedTrack
        Where each bin and node is drawn.

    Examples
    --------
    >>> from analyses.recordings.binned_track import cut_track
    >>> from replay.worlds.tracks import make_tmaze_track
    >>> line = linearise(cut_track(make_tmaze_track(), 10.0))
    >>> [name for _, name in line.nodes]
    ['0', '1', '2', '1', '3']
    """
    left = set(range(len(track.edges)))
    low, high = np.empty(track.n_bins), np.empty(track.n_bins)
    nodes: list[tuple[float, str]] = []
    gap, at = _GAP * float(track.length.sum()), 0.0
    while left:
        here = _beginning(track, left)
        at += gap if nodes else 0.0
        nodes.append((at, str(track.nodes[here])))
        heading = np.zeros(2)
        while (edge := _onwards(track, left, here, heading)) is not None:
            left.remove(edge)
            one, other = track.edges[edge]
            bins = np.flatnonzero(track.edge == edge)
            length = float(track.length[edge])
            centre = track.offset[bins] if one == here else length - track.offset[bins]
            low[bins] = at + centre - track.width[bins] / 2
            high[bins] = at + centre + track.width[bins] / 2
            there = int(other if one == here else one)
            heading = track.node_position[there] - track.node_position[here]
            here, at = there, at + length
            nodes.append((at, str(track.nodes[here])))
    return LinearisedTrack(low, high, tuple(nodes), at)


def _beginning(track: BinnedTrack, left: set[int]) -> int:
    """Choose where a line begins: an end of what is left, or where its corridors don't pair up."""
    degree = np.bincount(track.edges[sorted(left)].ravel(), minlength=len(track.nodes))
    for suits in (degree == 1, degree % 2 == 1, degree > 0):
        if suits.any():
            return int(np.flatnonzero(suits)[0])
    raise ValueError("There is no corridor left.")


def _onwards(
    track: BinnedTrack, left: set[int], here: int, heading: NDArray[np.float64]
) -> int | None:
    """Choose the corridor that leads on most nearly straight."""
    best, found = -np.inf, None
    for edge in sorted(left):
        if here in track.edges[edge]:
            there = int(track.edges[edge].sum()) - here
            ahead = track.node_position[there] - track.node_position[here]
            straight = float(ahead @ heading) / float(np.hypot(*ahead))
            if straight > best + 1e-9:
                best, found = straight, edge
    return found
