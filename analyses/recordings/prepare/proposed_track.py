"""A first proposal of a track graph, from the positions of an animal alone.

Where the animal went on several runs is thinned to a line one bin wide, by hit-or-miss transforms.
Its ends and branchings are nodes; so are the corners that remain when ways between them are
straightened. A person checks the proposal: what an animal never visits is not in it, and where it
cuts a corner, so does the graph.
"""

from __future__ import annotations

import math
from itertools import pairwise

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from replay.checks import check_array
from replay.checks.arrays import Bools, Floats

_N_BINS = 110  # along the diagonal of all positions: a bin of some 2 cm in most mazes
_LEAST_VISITS = 0.18  # of the median, so that single strays make no corridor
_LEAST_PART = 0.15  # of the diagonal; a smaller separate part, such as a box for rest, is no track
_STEP, _JUMP = 5, 8  # bins: farther than the noise of a resting animal, and than it runs in a frame
_STRAIGHT = 0.94  # the cosine of the turn at a node, 20 degrees, that is no corner
_HOOK = 0.2  # of the diagonal, the longest one at an end
_SHORTEST_ARM = 0.1  # of the diagonal; shorter ones are fringes of the shape
_CORNERS = tuple(
    np.rot90(corner, turn)
    for turn in range(4)
    for corner in (
        np.array([[0, 0, 0], [-1, 1, -1], [1, 1, 1]]),
        np.array([[-1, 0, 0], [1, 1, 0], [-1, 1, -1]]),
    )
)  # 1 is a bin of the shape, 0 one outside of it, and -1 either


def proposed_track(position: object) -> nx.Graph:
    """Propose a track graph for the positions of an animal.

    Parameters
    ----------
    position : array_like of float, shape (n_samples, 2)
        Positions in the order of time, in any unit; NaN where unknown.

    Returns
    -------
    networkx.Graph
        Nodes with `pos` in the unit of the positions, numbered from 0; edges with `distance`.

    Raises
    ------
    ValueError
        If the positions form no track.

    Examples
    --------
    >>> to_and_fro = 50 - 50 * np.cos(np.arange(0, 100, 0.1))
    >>> track = proposed_track(np.column_stack([to_and_fro, 0 * to_and_fro]))
    >>> sorted(np.round(pos).tolist() for _, pos in track.nodes(data="pos"))
    [[0.0, 0.0], [100.0, 0.0]]
    """
    xy = check_array(position, "position", kind="number", missing=True, n_dims=2)
    if xy.shape[1] != 2:
        raise ValueError(f"position must have two columns, x and y; got {xy.shape[1]}.")
    known = xy[~np.isnan(xy).any(axis=1)]
    low, high = np.percentile(known, [0.1, 99.9], axis=0) if len(known) else np.zeros((2, 2))
    diagonal = float(np.hypot(*(high - low)))
    if not 0 < diagonal < np.inf:
        raise ValueError("position must have places that differ, got one place or none.")
    size = diagonal / _N_BINS
    begin = low - 6 * size  # a margin, in which smoothing and thinning find no border
    shape = np.ceil((high - low) / size).astype(int) + 12
    visits = _visits(xy, begin, size, shape)
    if not visits.any():
        raise ValueError("The positions form no track: the animal stays where it is, or jumps.")
    smooth = ndimage.gaussian_filter(visits, 1.0)
    # Of visits, not of bins, of which most may be strays.
    typical = float(np.median(np.repeat(smooth, visits.astype(int).ravel())))
    ran = smooth > _LEAST_VISITS * typical
    # Holes that are smaller than what a corridor could surround are none.
    holes, n_holes = ndimage.label(~ran)
    sizes = ndimage.sum_labels(~ran, holes, np.arange(n_holes + 1))
    ran |= (sizes < 0.02 * _N_BINS**2)[holes] & ~ran
    width = ndimage.distance_transform_edt(ran)
    graph = _skeleton(ran)
    _prune(graph, width)
    for part in list(nx.connected_components(graph)):
        extent = np.ptp(np.array(sorted(part)), axis=0)
        if np.hypot(*extent) < _LEAST_PART * _N_BINS:
            graph.remove_nodes_from(part)
    if not graph.number_of_edges():
        raise ValueError("The positions form no track: the animal ran along no corridor.")
    half = float(np.median([width[node] for node in graph]))
    drawn = _straightened(graph, tolerance=max(half, 1.5))
    _contract(drawn, least=2 * half + 2)
    _keep_what_was_run(drawn, (known - begin) / size - 0.5, reach=half + 3)
    for node in list(drawn):
        # At an end animals turn round and look about: a short hook there is no way.
        end = node
        while end in drawn and drawn.degree[end] == 1 and len(drawn) > 2:
            [before] = drawn[end]
            if drawn.degree[before] != 2 or np.hypot(*np.subtract(node, before)) > _HOOK * _N_BINS:
                break
            drawn.remove_node(end)
            end = before
    centre = {node: begin + (np.array(node) + 0.5) * size for node in drawn}
    places = begin + (np.argwhere(smooth > typical / 2) + 0.5) * size
    # Only on fitted edges can it be seen which nodes are no corner; without these, they fit anew.
    _fit(drawn, centre, places, reach=(half + 3) * size)
    _without_straight_nodes(drawn, centre)
    _fit(drawn, centre, places, reach=(half + 3) * size)
    # What was cut as a hook may have been the end of a way; strays beyond it are none.
    bins = np.floor((known - begin) / size).astype(np.int64).clip(0, np.array(shape) - 1)
    on_ways = known[ndimage.binary_dilation(ran)[tuple(bins.T)]]
    _reach_ends(drawn, centre, on_ways, reach=(half + 3) * size, farthest=_HOOK * diagonal)
    order = {node: number for number, node in enumerate(sorted(drawn))}
    track = nx.Graph()
    for node, number in order.items():
        track.add_node(number, pos=tuple(np.round(centre[node], 2).tolist()))
    for one, other in drawn.edges:
        apart = float(np.hypot(*(centre[one] - centre[other])))
        track.add_edge(order[one], order[other], distance=apart)
    return track


def _visits(xy: Floats, begin: Floats, size: float, shape: NDArray[np.integer]) -> Floats:
    """Count how often the animal enters each bin on its way.

    Its way goes from each place to the first one that is some bins away, so that an animal that
    rests, but whose position is noisy, goes nowhere.
    """
    points: list[list[float]] = xy[~np.isnan(xy).any(axis=1)].tolist()
    steps: list[tuple[list[float], list[float]]] = []
    anchor = last = points[0]
    for point in points:
        if math.dist(last, point) > _JUMP * size:
            anchor = point  # the animal was carried, or not tracked for a while
        elif math.dist(anchor, point) >= _STEP * size:
            steps.append((anchor, point))
            anchor = point
        last = point
    ends = np.array(steps, dtype=float).reshape(-1, 2, 2)
    share = np.arange(0, 1, 1 / 16)[:, None]
    way = (ends[:, :1] + share * (ends[:, 1:] - ends[:, :1])).reshape(-1, 2)
    bins = np.floor((way - begin) / size).astype(np.int64)
    bins = bins[((bins >= 0) & (bins < shape)).all(axis=1)]
    entered = bins[np.append(True, (np.diff(bins, axis=0) != 0).any(axis=1))] if len(bins) else bins
    counts = np.zeros(shape)
    np.add.at(counts, tuple(entered.T), 1.0)
    return counts


def _skeleton(shape: Bools) -> nx.Graph:
    """Thin a shape to lines one bin wide that are connected as it is, and join their bins."""
    thin, before = shape.copy(), None
    while before is None or (thin != before).any():
        before = thin.copy()
        for corner in _CORNERS:
            thin &= ~ndimage.binary_hit_or_miss(thin, corner == 1, corner == 0)
    graph = nx.Graph()
    bins = set(map(tuple, np.argwhere(thin).tolist()))
    graph.add_nodes_from(bins)
    for i, j in bins:
        for other in ((i + 1, j), (i, j + 1)):
            if other in bins:
                graph.add_edge((i, j), other)
        # Diagonal neighbours are joined unless a way along sides joins them.
        for down, corners in (((i + 1, j + 1), ((i + 1, j), (i, j + 1))),
                              ((i + 1, j - 1), ((i + 1, j), (i, j - 1)))):  # fmt: skip
            if down in bins and not bins.intersection(corners):
                graph.add_edge((i, j), down)
    return graph


def _chains(graph: nx.Graph) -> list[list[tuple[int, int]]]:
    """List the ways between ends and branchings; a ring without any is one that returns."""
    nodes = {node for node, degree in graph.degree if degree != 2}
    for part in nx.connected_components(graph):
        if not nodes & part:
            nodes.add(min(part))
    chains: list[list[tuple[int, int]]] = []
    seen: set[tuple[tuple[int, int], tuple[int, int]]] = set()
    for node in sorted(nodes):
        for after in sorted(graph[node]):
            if (node, after) in seen:
                continue
            chain = [node, after]
            while chain[-1] not in nodes:
                chain.append(next(each for each in graph[chain[-1]] if each != chain[-2]))
            seen |= {(chain[0], chain[1]), (chain[-1], chain[-2])}
            chains.append(chain)
    return chains


def _prune(graph: nx.Graph, width: Floats) -> None:
    """Remove spurs that reach from a branching no farther than the side of its corridor."""
    while True:
        for chain in sorted(_chains(graph), key=len):
            way = chain if graph.degree[chain[0]] == 1 else chain[::-1]
            is_spur = graph.degree[way[0]] == 1 and graph.degree[way[-1]] > 2
            if is_spur and len(way) < max(2 * width[way[-1]] + 4, _SHORTEST_ARM * _N_BINS):
                graph.remove_nodes_from(way[:-1])
                break
        else:
            return


def _straightened(graph: nx.Graph, tolerance: float) -> nx.Graph:
    """Keep ends, branchings and the corners of ways that are no straight line."""
    drawn = nx.Graph()
    for chain in _chains(graph):
        is_ring = chain[0] == chain[-1]
        middle = [0, len(chain) // 3, 2 * len(chain) // 3, len(chain) - 1] if is_ring else []
        ends = middle or [0, len(chain) - 1]
        kept = [*ends]
        for first, last in pairwise(ends):
            kept += _corners(np.array(chain, dtype=float), first, last, tolerance)
        way = [chain[place] for place in sorted(set(kept))]
        if drawn.has_edge(way[0], way[-1]) and len(way) == 2:  # a second way between two nodes
            way.insert(1, chain[len(chain) // 2])
        drawn.add_edges_from(pairwise(way))
    return drawn


def _corners(way: Floats, first: int, last: int, tolerance: float) -> list[int]:
    """Find the corners of a way, by the rule of Douglas and Peucker."""
    if last - first < 2:
        return []
    along = way[last] - way[first]
    away = way[first + 1 : last] - way[first]
    length = np.hypot(*along)
    far = np.abs(away @ np.array([-along[1], along[0]])) / length if length else np.hypot(*away.T)
    at = first + 1 + int(np.argmax(far))
    if far.max() <= tolerance:
        return []
    return [*_corners(way, first, at, tolerance), at, *_corners(way, at, last, tolerance)]


def _contract(drawn: nx.Graph, least: float) -> None:
    """Make one node of two branchings that are nearer than corridors are wide, or of two corners.

    A node that is merged moves to the middle, unless the other one is an end.
    """
    while True:
        close = [
            (float(np.hypot(*np.subtract(one, other))), one, other)
            for one, other in drawn.edges
            if min(drawn.degree[one], drawn.degree[other]) > 1
        ]
        if not close or min(close)[0] >= least or len(drawn) <= 3:
            return
        _, one, other = min(close)
        # A corner beside a branching is part of it; a branching stays where it is.
        is_branching = drawn.degree[one] > 2, drawn.degree[other] > 2
        kept = tuple(np.add(one, other) / 2)
        if is_branching[0] != is_branching[1]:
            kept = one if is_branching[0] else other
        around = (set(drawn[one]) | set(drawn[other])) - {one, other}
        drawn.remove_nodes_from([one, other])
        drawn.add_node(kept)
        drawn.add_edges_from((kept, each) for each in around)


def _keep_what_was_run(drawn: nx.Graph, known: Floats, reach: float) -> None:
    """Remove edges that the animal hardly ever ran along, such as one between two ends.

    At ends, animals turn and look about, and where they do so may touch.
    """
    edges = list(drawn.edges)
    begin, end = np.moveaxis(np.array(edges, dtype=float), 1, 0)
    share, away = _nearest_on_edges(known, begin, end)
    nearest = np.where(away.min(axis=1) < reach, away.argmin(axis=1), -1)
    # A run along an edge passes its first and its last third without another edge in between.
    third = np.minimum(3 * share[np.arange(len(known)), nearest], 2).astype(int)
    runs = np.zeros(len(edges), dtype=int)
    at = np.flatnonzero((nearest >= 0) & (third != 1))
    same = nearest[at][1:] == nearest[at][:-1]
    turned = third[at][1:] != third[at][:-1]
    np.add.at(runs, nearest[at][1:][same & turned], 1)
    drawn.remove_edges_from(
        edge for edge, n in zip(edges, runs, strict=True) if n < _LEAST_VISITS * np.median(runs)
    )
    drawn.remove_nodes_from(list(nx.isolates(drawn)))


def _nearest_on_edges(places: Floats, begin: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Find for each place and each edge how far along it the place is, and how far away."""
    share, away = np.empty((2, len(places), len(begin)))
    for edge, along in enumerate(end - begin):  # one at a time: sessions have millions of places
        from_begin = places - begin[edge]
        share[:, edge] = (from_begin @ along / (along @ along)).clip(0, 1)
        away[:, edge] = np.hypot(*(from_begin - share[:, [edge]] * along).T)
    return share, away


def _fit(
    drawn: nx.Graph, centre: dict[tuple[int, int], Floats], places: Floats, reach: float
) -> None:
    """Move nodes so that edges run through the middle of places, by least squares."""
    row = {node: number for number, node in enumerate(drawn)}
    for _ in range(3):
        nodes = np.array([centre[node] for node in drawn])
        edges = np.array([(row[one], row[other]) for one, other in drawn.edges])
        share, away = _nearest_on_edges(places, nodes[edges[:, 0]], nodes[edges[:, 1]])
        nearest = away.argmin(axis=1)
        own = np.flatnonzero(away.min(axis=1) < reach)
        share, edge = share[own, nearest[own]], edges[nearest[own]]
        weight = np.zeros((len(own), len(nodes)))
        weight[np.arange(len(own)), edge[:, 0]] = 1 - share
        weight[np.arange(len(own)), edge[:, 1]] += share
        # What is on no edge holds the nodes where they are.
        held = np.eye(len(nodes))
        moved, *_ = np.linalg.lstsq(
            np.concatenate([weight, held]), np.concatenate([places[own], nodes]), rcond=None
        )
        centre |= dict(zip(drawn, moved, strict=True))


def _without_straight_nodes(drawn: nx.Graph, centre: dict[tuple[int, int], Floats]) -> None:
    """Remove nodes at which two edges form nearly a straight line."""
    for node in list(drawn):
        if drawn.degree[node] != 2:
            continue
        one, other = drawn[node]
        before, after = centre[node] - centre[one], centre[other] - centre[node]
        cosine = before @ after / (np.hypot(*before) * np.hypot(*after))
        if cosine > _STRAIGHT and not drawn.has_edge(one, other):
            drawn.remove_node(node)
            drawn.add_edge(one, other)


def _reach_ends(
    drawn: nx.Graph,
    centre: dict[tuple[int, int], Floats],
    known: Floats,
    reach: float,
    farthest: float,
) -> None:
    """Move each dead end along its edge to where the animal turned."""
    for node, degree in list(drawn.degree):
        if degree != 1:
            continue
        [before] = drawn[node]
        along = centre[node] - centre[before]
        along /= np.hypot(*along)
        away = known - centre[node]
        near = np.abs(away @ np.array([-along[1], along[0]])) < reach
        ahead = (away @ along)[near]
        ahead = ahead[(ahead > -2 * reach) & (ahead < farthest)]
        if len(ahead):
            centre[node] = centre[node] + np.percentile(ahead, 95) * along
