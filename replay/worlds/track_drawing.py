"""Edges of a track graph meet in nodes only; one that passes over others is a bridge."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from numbers import Real

import networkx as nx
import numpy as np

from replay.checks import check_flag
from replay.checks.arrays import Floats

_TOUCHING = 0.01  # of the shortest edge that ends there: what is nearer is meant to be one place
_BENT = 1.001  # of the straight way


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
