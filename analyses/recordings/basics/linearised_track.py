"""A track laid out on a line, along which decoded places can be drawn.

A graph may define the order in which its edges are laid end to end, and the gaps between them, as
in track_linearization (`edge_order`, `edge_spacing`). Otherwise each corridor begins, wherever the
track allows it, where the one before ends, and elsewhere after a gap; separate tracks follow one
another.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from analyses.recordings.basics.binned_track import BinnedTrack
from replay.checks.arrays import Floats

_GAP = 0.07  # of the length of the track: wide enough to be seen in a figure


class LinearisedTrack(NamedTuple):
    """A track laid out on a line."""

    low: Floats  # (n_bins,): the limits of each bin of the track along the line, in cm
    high: Floats  # (n_bins,)
    # the positions at which the line passes a node of the graph, in cm, and the node's name
    nodes: tuple[tuple[float, str], ...]
    # the limits of each gap between two separate tracks, in cm
    gaps: tuple[tuple[float, float], ...]
    length: float  # the length of the line with its gaps, in cm

    @property
    def centre(self) -> Floats:
        """The centre of each bin along the line, in cm."""
        return (self.low + self.high) / 2


def linearise(track: BinnedTrack) -> LinearisedTrack:
    """Lay the corridors of a track end to end.

    Order and gaps are those of the graph, if it defines them. Otherwise the line starts at an end
    of the track and follows corridors that are not drawn yet, straight on where possible, until
    there is none; then it begins again after a gap.
    """
    if track.whole is not None:
        line = linearise(track.whole)
        return line._replace(low=line.low[track.kept], high=line.high[track.kept])
    number = {frozenset(pair): edge for edge, pair in enumerate(track.edges.tolist())}
    named = [(number[frozenset(pair)], *pair) for pair in track.edge_order.tolist()]
    order = named or _own_order(track)
    spacing = track.edge_spacing
    if not named:
        joins = [one[2] == other[1] for one, other in pairwise(order)]
        spacing = np.where(joins, 0.0, _GAP * float(track.length.sum()))
    low, high = np.empty(track.n_bins), np.empty(track.n_bins)
    nodes: list[tuple[float, str]] = []
    gaps: list[tuple[float, float]] = []
    at, before = 0.0, -1
    for place, (edge, begin, end) in enumerate(order):
        bins = np.flatnonzero(track.edge == edge)
        if place:
            gap = float(spacing[place - 1])
            if track.component[bins[0]] != track.component[track.edge == before][0]:
                gaps.append((at, at + gap))
            at += gap
        nodes.append((at, str(track.nodes[begin])))
        length = float(track.length[edge])
        centre = (
            track.offset[bins] if begin == track.edges[edge, 0] else length - track.offset[bins]
        )
        low[bins] = at + centre - track.width[bins] / 2
        high[bins] = at + centre + track.width[bins] / 2
        at, before = at + length, edge
        nodes.append((at, str(track.nodes[end])))
    return LinearisedTrack(low, high, tuple(dict.fromkeys(nodes)), tuple(gaps), at)


def _own_order(track: BinnedTrack) -> list[tuple[int, int, int]]:
    """Order the corridors, one component after the other: edge, begin and end of each."""
    order: list[tuple[int, int, int]] = []
    component = track.component[np.searchsorted(track.edge, np.arange(len(track.edges)))]
    for part in range(track.n_components):
        left = set(np.flatnonzero(component == part).tolist())
        while left:
            # A line begins at an end, or else at an odd junction, of the corridors that are left.
            degree = np.bincount(track.edges[sorted(left)].ravel(), minlength=len(track.nodes))
            choices = (degree == 1, degree % 2 == 1, degree > 0)
            suits = next(each for each in choices if each.any())
            here, heading = int(np.flatnonzero(suits)[0]), np.zeros(2)
            while ways := [edge for edge in sorted(left) if here in track.edges[edge]]:
                others = track.edges[ways].sum(axis=1) - here
                ahead = track.node_position[others] - track.node_position[here]
                straight = ahead @ heading / np.hypot(*ahead.T)
                # Rounding must not decide between corridors that go on equally straight.
                best = int(np.argmax(straight > straight.max() - 1e-9))
                left.remove(ways[best])
                order.append((ways[best], here, int(others[best])))
                here, heading = int(others[best]), ahead[best]
    return order
