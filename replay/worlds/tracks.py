"""Tracks of maze experiments as graphs, in the form that decoders of place cells use.

A track graph is an undirected `networkx.Graph`: nodes 0, 1, ... have `pos` (x, y) in cm, edges have
`distance` in cm and `edge_id`, as in the package track_linearization, whose names the builders
bear. `MDP.from_networkx(track, bin_size=...)` makes a task of it. Coordinates are in cm, y upwards.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "make_circular_track",
    "make_figure8_track",
    "make_linear_track",
    "make_plus_maze_track",
    "make_tmaze_track",
    "make_track_graph",
    "make_wtrack",
    "make_ymaze_track",
]


def make_track_graph(node_positions: ArrayLike, edges: Iterable[tuple[int, int]]) -> nx.Graph:
    """Make a track graph of places and the straight paths between them.

    Parameters
    ----------
    node_positions : array_like of float, shape (n_nodes, 2)
        In cm.
    edges : iterable of (int, int)
        Pairs of nodes. `edge_id` counts edges as `graph.edges` lists them, which need not be this
        order.

    Returns
    -------
    networkx.Graph

    Examples
    --------
    >>> track = make_track_graph([(0, 0), (30, 40), (60, 40)], [(0, 1), (1, 2)])
    >>> track.edges[0, 1]["distance"]
    50.0
    """
    positions = np.asarray(node_positions, dtype=float)
    if positions.ndim != 2 or positions.shape[1] != 2:
        raise ValueError(f"node_positions must have shape (n_nodes, 2); got {positions.shape}.")
    graph = nx.Graph()
    graph.add_nodes_from((n, {"pos": (float(x), float(y))}) for n, (x, y) in enumerate(positions))
    for u, v in edges:
        if u not in graph or v not in graph:
            raise ValueError(f"edges must join nodes 0 to {len(positions) - 1}; got ({u}, {v}).")
        graph.add_edge(u, v, distance=float(np.linalg.norm(positions[u] - positions[v])))
    nx.set_edge_attributes(graph, {edge: i for i, edge in enumerate(graph.edges)}, "edge_id")
    return graph


def make_linear_track(length: float = 150.0) -> nx.Graph:
    """Straight track: node 0 at its left end, 1 at its right end."""
    return make_track_graph([(0, 0), (length, 0)], [(0, 1)])


def make_circular_track(radius: float = 30.0, n_segments: int = 24) -> nx.Graph:
    """Ring of straight segments around the origin: node 0 is on the right, then anticlockwise."""
    return make_track_graph(radius * _circle(n_segments), nx.cycle_graph(n_segments).edges)


def make_tmaze_track(stem_length: float = 80.0, arm_length: float = 50.0) -> nx.Graph:
    """T-maze: node 0 at the start of the stem, 1 the junction, 2 and 3 the ends of the arms."""
    positions = [(0, 0), (0, stem_length), (-arm_length, stem_length), (arm_length, stem_length)]
    return make_track_graph(positions, [(0, 1), (1, 2), (1, 3)])


def make_ymaze_track(arm_length: float = 50.0) -> nx.Graph:
    """Y-maze: node 0 in the middle, 1 to 3 the ends of its arms, the first one on the right."""
    positions = np.vstack(([(0, 0)], arm_length * _circle(3)))
    return make_track_graph(positions, [(0, 1), (0, 2), (0, 3)])


def make_plus_maze_track(arm_length: float = 50.0) -> nx.Graph:
    """Plus maze: node 0 in the middle, then the north, east, south and west ends."""
    directions = np.array([(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)])
    return make_track_graph(arm_length * directions, [(0, 1), (0, 2), (0, 3), (0, 4)])


def make_wtrack(width: float = 80.0, height: float = 80.0) -> nx.Graph:
    """W-track with arms that point upwards.

    Nodes 0, 1 and 2 are the left corner, the choice point and the right corner at the bottom,
    3, 4 and 5 the ends of the left, central and right arm.
    """
    corners = [(0.0, 0.0), (width / 2, 0.0), (width, 0.0)]
    positions = np.array([*corners, *((x, height) for x, _ in corners)])
    return make_track_graph(positions, [(0, 1), (1, 2), (0, 3), (1, 4), (2, 5)])


def make_figure8_track(loop_radius: float = 30.0, n_segments: int = 12) -> nx.Graph:
    """Two rings that touch in node 0, at the origin; the right ring has the smaller numbers."""
    right = _circle(n_segments)[1:] * (-1, 1) + (1, 0)
    positions = loop_radius * np.vstack(([(0, 0)], right, -right))
    loops = [[0, *range(k, k + n_segments - 1)] for k in (1, n_segments)]
    return make_track_graph(positions, [e for loop in loops for e in nx.cycle_graph(loop).edges])


def _circle(n_points: int) -> NDArray[np.float64]:
    """Points on the unit circle, anticlockwise from the right."""
    if n_points < 3:
        raise ValueError(f"A ring needs at least 3 segments; got {n_points}.")
    angle = 2 * np.pi * np.arange(n_points) / n_points
    return np.column_stack((np.cos(angle), np.sin(angle)))
