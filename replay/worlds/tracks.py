"""Tracks of maze experiments as graphs, in the form that decoders of place cells use.

A track graph is an undirected `networkx.Graph`: nodes 0, 1, ... have `pos` (x, y) in cm, edges have
`distance` in cm and `edge_id`. Format and function names are those of the package
track_linearization. `MDP.from_networkx(track, bin_size=...)` makes a world of a track. Coordinates
are in cm, y upwards.

Edges meet in nodes only. One that passes over others has the attribute `bridge` (True).
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from replay.checks import check_array, check_list, check_number, check_whole, shown
from replay.checks.arrays import Floats
from replay.worlds.transitions import NOT_TOO_LARGE

_MOST_SEGMENTS = 1_000_000


def make_track_graph(node_positions: ArrayLike, edges: object) -> nx.Graph:
    """Make a track graph of places and the straight paths between them.

    Positions (n_nodes, 2) are in cm.

    Examples
    --------
    >>> track = make_track_graph([(0, 0), (30, 40), (60, 40)], [(0, 1), (1, 2)])
    >>> track.edges[0, 1]["distance"]
    50.0
    """
    what = "node_positions, a pair (x, y) in cm for each node,"
    positions = check_array(node_positions, what, **NOT_TOO_LARGE, n_dims=2)
    if positions.shape[1] != 2:
        raise ValueError(f"node_positions must have shape (n_nodes, 2); got {positions.shape}.")
    graph = nx.Graph()
    graph.add_nodes_from((n, {"pos": (float(x), float(y))}) for n, (x, y) in enumerate(positions))
    for edge in check_list("edges", edges):
        if not isinstance(edge, Iterable) or len(check_list("each edge", edge)) != 2:
            raise ValueError(f"edges must list pairs of nodes; got {shown(edge)}.")
        ends = [
            node
            for node in edge
            if isinstance(node, int | np.integer) and not isinstance(node, bool) and node in graph
        ]
        if len(ends) < 2 or ends[0] == ends[1]:
            raise ValueError(
                f"edges must join two of the nodes 0 to {len(positions) - 1}; got {shown(edge)}."
            )
        u, v = map(int, ends)
        graph.add_edge(u, v, distance=float(np.linalg.norm(positions[u] - positions[v])))
    nx.set_edge_attributes(graph, {edge: i for i, edge in enumerate(graph.edges)}, "edge_id")
    return graph


def make_linear_track(length: float = 150.0) -> nx.Graph:
    """Make a straight track: node 0 at its left end, 1 at its right end.

    Lengths are in cm.

    Examples
    --------
    >>> make_linear_track(50).edges[0, 1]["distance"]
    50.0
    """
    length = _length("length", length)
    return make_track_graph([(0, 0), (length, 0)], [(0, 1)])


def make_circular_track(radius: float = 30.0, n_segments: int = 24) -> nx.Graph:
    """Make a ring of straight segments around the origin: node 0 on the right, then anticlockwise.

    Lengths are in cm.

    Examples
    --------
    >>> len(make_circular_track(n_segments=4).edges)
    4
    """
    radius = _length("radius", radius)
    return make_track_graph(radius * _circle(n_segments), nx.cycle_graph(n_segments).edges)


def make_tmaze_track(stem_length: float = 80.0, arm_length: float = 50.0) -> nx.Graph:
    """Make a T-maze: node 0 at the start of the stem, 1 the junction, 2 and 3 the arms' ends.

    Lengths are in cm.

    Examples
    --------
    >>> list(make_tmaze_track().adj[1])
    [0, 2, 3]
    """
    stem_length = _length("stem_length", stem_length)
    arm_length = _length("arm_length", arm_length)
    positions = [(0, 0), (0, stem_length), (-arm_length, stem_length), (arm_length, stem_length)]
    return make_track_graph(positions, [(0, 1), (1, 2), (1, 3)])


def make_ymaze_track(arm_length: float = 50.0) -> nx.Graph:
    """Make a Y-maze: node 0 in the middle, 1 to 3 the ends of its arms, the first on the right.

    Lengths are in cm.

    Examples
    --------
    >>> list(make_ymaze_track().adj[0])
    [1, 2, 3]
    """
    arm_length = _length("arm_length", arm_length)
    positions = np.vstack(([(0, 0)], arm_length * _circle(3)))
    return make_track_graph(positions, [(0, 1), (0, 2), (0, 3)])


def make_plus_maze_track(arm_length: float = 50.0) -> nx.Graph:
    """Make a plus maze: node 0 in the middle, then the north, east, south and west ends.

    Lengths are in cm.

    Examples
    --------
    >>> make_plus_maze_track(50).nodes[1]["pos"]
    (0.0, 50.0)
    """
    arm_length = _length("arm_length", arm_length)
    directions = np.array([(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)])
    return make_track_graph(arm_length * directions, [(0, 1), (0, 2), (0, 3), (0, 4)])


def make_wtrack(width: float = 80.0, height: float = 80.0) -> nx.Graph:
    """Make a W-track with arms that point upwards.

    Nodes 0, 1 and 2 are the left corner, the choice point and the right corner at the bottom, 3, 4
    and 5 the ends of the left, central and right arm. Lengths are in cm.

    Examples
    --------
    >>> list(make_wtrack().adj[1])
    [0, 2, 4]
    """
    width, height = _length("width", width), _length("height", height)
    corners = [(0.0, 0.0), (width / 2, 0.0), (width, 0.0)]
    positions = np.array([*corners, *((x, height) for x, _ in corners)])
    return make_track_graph(positions, [(0, 1), (1, 2), (0, 3), (1, 4), (2, 5)])


def make_figure8_track(loop_radius: float = 30.0, n_segments: int = 12) -> nx.Graph:
    """Make two rings that touch in node 0, at the origin; the right one has the smaller numbers.

    Lengths are in cm.

    Examples
    --------
    >>> len(make_figure8_track(n_segments=4))
    7
    """
    loop_radius = _length("loop_radius", loop_radius)
    right = _circle(n_segments)[1:] * (-1, 1) + (1, 0)
    positions = loop_radius * np.vstack(([(0, 0)], right, -right))
    loops = [[0, *range(k, k + n_segments - 1)] for k in (1, n_segments)]
    return make_track_graph(positions, [e for loop in loops for e in nx.cycle_graph(loop).edges])


def _length(name: str, value: float) -> float:
    """Check a length in cm."""
    return check_number(name, value, at_least=0.1, at_most=1e7, hint="It is in cm.")


def _circle(n_points: int) -> Floats:
    """Return points on the unit circle, anticlockwise from the right."""
    n_points = check_whole("n_segments", n_points, at_least=3, at_most=_MOST_SEGMENTS)
    angle = 2 * np.pi * np.arange(n_points) / n_points
    return np.column_stack((np.cos(angle), np.sin(angle)))
