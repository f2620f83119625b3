"""Tracks of maze experiments as graphs, in the form that decoders of place cells use.

A track graph is an undirected `networkx.Graph`: nodes 0, 1, ... have `pos` (x, y) in cm, edges have
`distance` in cm and `edge_id`. Format and function names are those of the package
track_linearization. `MDP.from_networkx(track, bin_size=...)` makes a world of a track. Coordinates
are in cm, y upwards.

Edges meet in nodes only. One that passes over others has the attribute `bridge` (True).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from numbers import Real

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from replay.checks import check_array, check_flag, check_list, check_number, check_whole, shown
from replay.checks.arrays import Floats
from replay.worlds.transitions import NOT_TOO_LARGE

_MOST_SEGMENTS = 1_000_000
_TOUCHING = 0.01  # of the shortest edge that ends there: what is nearer is meant to be one place
_BENT = 1.001  # of the straight way


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


def check_drawing(graph: nx.Graph, positions: Mapping[Hashable, tuple[float, float]]) -> None:
    """Refuse a track graph whose edges meet where no node joins them.

    Two nodes at one place, a node on an edge that does not end there, and edges that cross would
    cut a track in parts as if they were separate tracks. An edge with the attribute `bridge` may
    pass over anything, and one that is longer than the straight way is bent: where, nobody knows.

    Examples
    --------
    >>> places = {"N": (0, 1), "S": (0, -1), "W": (-1, 0), "E": (1, 0)}
    >>> cross = nx.Graph([("N", "S"), ("W", "E")])
    >>> check_drawing(cross, places)
    Traceback (most recent call last):
    ValueError: The edges from 'N' to 'S' and from 'W' to 'E' of the track graph cross without a \
node: add one where they cross, and let them end there. If one passes over the other, mark it: \
graph.edges['W', 'E']['bridge'] = True.
    >>> cross.edges["W", "E"]["bridge"] = True
    >>> check_drawing(cross, places)
    """
    if "arena" in graph.graph:  # its edges go through free space
        return
    lines: list[tuple[Hashable, Hashable]] = []
    shortest = dict.fromkeys(positions, math.inf)
    bridges: set[Hashable] = set()
    level: set[Hashable] = set()
    for one, other, data in graph.edges(data=True):
        is_bridge = check_flag(f"'bridge' of the edge {(one, other)!r}", data.get("bridge", False))
        (bridges if is_bridge else level).update((one, other))
        if one == other or one not in positions or other not in positions:
            continue
        straight, given = math.dist(positions[one], positions[other]), data.get("distance")
        for node in (one, other):
            shortest[node] = min(shortest[node], straight)
        if not is_bridge and not (isinstance(given, Real) and float(given) > _BENT * straight):
            lines.append((one, other))
    # Nodes are lines without length. A node that only bridges meet lies above the track.
    lines += [(node, node) for node in positions if node in level or node not in bridges]
    if not lines:
        return
    ends = np.array([[positions[node] for node in line] for line in lines], dtype=float)
    reach = _TOUCHING * np.array([min(shortest[node] for node in line) for line in lines])
    margin = np.where(np.isinf(reach), 0.0, reach)[:, None]
    low, high = ends.min(axis=1) - margin, ends.max(axis=1) + margin
    order = np.argsort(low[:, 0], kind="stable")  # only lines whose boxes overlap are compared
    stops = np.searchsorted(low[order, 0], high[order, 0], side="right")
    for place, (number, stop) in enumerate(zip(order.tolist(), stops.tolist(), strict=True)):
        near = order[place + 1 : stop]
        near = near[(low[near, 1] <= high[number, 1]) & (high[near, 1] >= low[number, 1])]
        for one, other in ((min(pair), max(pair)) for pair in ((number, k) for k in near.tolist())):
            least = min(reach[one], reach[other])
            close = 0.0 if math.isinf(least) else float(least)
            _check_apart(graph, lines[one], lines[other], ends[one], ends[other], close)


def _check_apart(
    graph: nx.Graph,
    line: tuple[Hashable, Hashable],
    other: tuple[Hashable, Hashable],
    ends: Floats,
    others: Floats,
    close: float,
) -> None:
    """Refuse two lines that meet in no common node; one without length is a node, listed last."""
    if set(line) & set(other):
        return
    (a, b), (c, d) = ends.tolist(), others.tolist()
    here, there = (f"from {ends[0]!r} to {ends[1]!r}" for ends in (line, other))
    if line[0] == line[1]:
        node, twin = line[0], other[0]
        is_joined = graph.has_edge(node, twin) or graph.has_edge(twin, node)
        if math.dist(a, c) <= close and not is_joined:
            raise ValueError(
                f"The nodes {node!r} and {twin!r} of the track graph lie at one place, "
                f"({a[0]:g}, {a[1]:g}), but no edge joins them: give the place one name. If one "
                "lies above the other, mark each edge that ends in it with 'bridge': True."
            )
    elif other[0] == other[1]:
        along = np.subtract(b, a)
        share = float(np.dot(np.subtract(c, a), along) / max(np.dot(along, along), 1e-300))
        is_on = math.dist(c, np.add(a, share * along)) <= close and 0 < share < 1
        if is_on and min(math.dist(c, a), math.dist(c, b)) > close:
            raise ValueError(
                f"The node {other[0]!r} of the track graph lies on the edge {here}, which does not "
                f"end there: divide the edge at {other[0]!r}. If the edge passes over it, mark it: "
                f"graph.edges[{line[0]!r}, {line[1]!r}]['bridge'] = True."
            )
    elif _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0:
        raise ValueError(
            f"The edges {here} and {there} of the track graph cross without a node: add one where "
            "they cross, and let them end there. If one passes over the other, mark it: "
            f"graph.edges[{other[0]!r}, {other[1]!r}]['bridge'] = True."
        )


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    """Tell on which side of the line from a to b the point c lies."""
    return float(np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])))


def _length(name: str, value: float) -> float:
    """Check a length in cm."""
    return check_number(name, value, at_least=0.1, at_most=1e7, hint="It is in cm.")


def _circle(n_points: int) -> Floats:
    """Return points on the unit circle, anticlockwise from the right."""
    n_points = check_whole("n_segments", n_points, at_least=3, at_most=_MOST_SEGMENTS)
    angle = 2 * np.pi * np.arange(n_points) / n_points
    return np.column_stack((np.cos(angle), np.sin(angle)))
