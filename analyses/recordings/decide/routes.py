"""Routes along a track: the paths from one of its ends to another."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack

__all__ = ["Route", "find_routes"]


class Route(NamedTuple):
    """A path along the track from one of its ends to another.

    Attributes
    ----------
    bins : ndarray of int64, shape (n_bins_of_route,)
        Its bins, in order.
    distance : ndarray of float64, shape (n_bins_of_route,)
        The distance of each bin from the beginning of the route, in cm.
    """

    bins: NDArray[np.int64]
    distance: NDArray[np.float64]


def find_routes(track: BinnedTrack) -> list[Route]:
    """List the routes of a track: from each of its ends to each other, without repeated places.

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from replay.worlds.tracks import make_wtrack
    >>> len(find_routes(cut_track(make_wtrack(), bin_size=10.0)))
    3
    """
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
    return [route for own, route in found.items() if not any(own < other for other in found)]
