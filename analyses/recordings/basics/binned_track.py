"""A track or an arena in bins: positions on it, distances along free space, and a track on a line.

A track graph is the usual description of a maze (see :mod:`replay.worlds.tracks`): an undirected
networkx graph whose nodes have `pos` (cm). The animal moves along straight edges. Each edge is
divided into bins of equal length, so that decoding and distances follow the corridors and never
cut across the space between them.

If an animal is recorded on several tracks, one graph has them all, and its connected components are
the tracks. There is no path between components: their distance is infinite.

An arena is a graph as well (see :mod:`analyses.recordings.basics.arena`), whose nodes are the
centres of the square bins that are inside, and whose edges join a bin with up to eight neighbours.
Its bins are these nodes.

Decoded places are drawn along a line. A graph may define the order in which its edges are laid end
to end, and the gaps between them, as in track_linearization (`edge_order`, `edge_spacing`).
Otherwise each corridor begins, wherever the track allows it, where the one before ends, and
elsewhere after a gap; separate tracks follow one another.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, shortest_path
from scipy.spatial import KDTree

from analyses.recordings.basics.settings import Settings
from replay.checks import (
    check_array,
    check_bin_size,
    check_choice,
    check_fits,
    check_list,
    check_number,
    shown,
)
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.worlds.track_drawing import check_drawing

_COPIES = 4  # of the distances between nodes, while they are computed
_LONGEST = 10_000.0  # cm; the distances between bins of 1 cm take 1 GB
_MOST_SQUARES = 6400  # an arena of 4 m x 4 m in bins of 5 cm; the distances take 330 MB
_GAP = 0.07  # of the length of the track: wide enough to be seen in a figure


class BinnedTrack(NamedTuple):
    """A track graph divided into bins, edge by edge in the order of the graph."""

    nodes: tuple[Hashable, ...]  # the nodes of the graph
    node_position: Floats  # (n_nodes, 2): their positions, in cm
    edges: Int32s  # (n_edges, 2): the two nodes of each edge, as indices into `nodes`
    length: Floats  # (n_edges,): the length of each edge, in cm
    # (n_nodes, n_nodes): the shortest distance between two nodes along the track, in cm; infinite
    # between components
    node_distance: Floats
    edge: Int32s  # (n_bins,): the edge of each bin
    # (n_bins,): the distance of each bin's centre from the first node of its edge, in cm
    offset: Floats
    position: Floats  # (n_bins, 2): the centre of each bin, in cm
    width: Floats  # (n_bins,): the length of each bin, in cm
    # (n_bins, n_bins): the shortest distance between the centres of two bins along the track, in
    # cm; infinite between components
    distance: Floats
    # (n_bins,): the connected component of each bin, from 0, in the order of the graph's nodes
    component: Int32s
    # (n_edges, 2): the edges in the order in which the graph's `edge_order` lays them end to end,
    # each as two indices into `nodes`, from its beginning to its end; empty if the graph has no
    # order
    edge_order: Int32s
    # (n_edges - 1,): the gaps between these edges by the graph's `edge_spacing`, in cm; empty
    # without an order
    edge_spacing: Floats
    # the side of the square bins of an arena, in cm; 0 on a track. In an arena each bin is a node,
    # and `edge` and `offset` are those of one of its edges; distances are straight where nothing is
    # in the way
    square: float = 0.0
    whole: BinnedTrack | None = None  # the track with the bins that `only` left out, if it did
    # (n_bins,): the numbers of the bins there
    kept: Ints = np.empty(0, dtype=np.int64)

    def only(self, bins: ArrayLike) -> BinnedTrack:
        """Leave out all but some bins of a track; places in others belong to the nearest of these.

        Examples
        --------
        >>> from replay.worlds.tracks import make_linear_track
        >>> track = cut_track(make_linear_track(20.0), bin_size=5.0).only([1, 2])
        >>> track.n_bins, project(track, [(1.0, 0.0), (8.0, 0.0), (19.0, 0.0)]).bin.tolist()
        (2, [0, 0, 1])
        """
        kept = np.asarray(bins, dtype=np.int64)
        return self._replace(
            edge=self.edge[kept], offset=self.offset[kept], position=self.position[kept],
            width=self.width[kept], distance=self.distance[np.ix_(kept, kept)],
            component=np.unique(self.component[kept], return_inverse=True)[1].astype(np.int32),
            whole=self, kept=kept,
        )  # fmt: skip

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.edge)

    @property
    def is_arena(self) -> bool:
        """Whether the animal moves in two dimensions."""
        return self.square > 0

    @property
    def n_components(self) -> int:
        """Number of connected components, that is, of separate tracks."""
        return int(self.component.max()) + 1


class Projection(NamedTuple):
    """Positions projected to the nearest point of a track."""

    # (n_samples,): the edge of the nearest point; -1 if the position is unknown
    edge: Int32s
    # (n_samples,): the distance of that point from the first node of the edge, in cm; NaN if
    # unknown
    offset: Floats
    # (n_samples,): the distance of the position from the track, in cm; NaN if unknown
    away: Floats
    bin: Int32s  # (n_samples,): the bin that contains the point; -1 if unknown


def cut_track(graph: nx.Graph, bin_size: float = Settings().bin_size) -> BinnedTrack:
    """Divide a track graph into bins; those of an arena are its nodes, whatever the `bin_size`."""
    size = check_number("bin_size", bin_size, at_least=1e-6, hint="It is a length in cm.")
    nodes, node_position, edges = _read_graph(graph)
    if "arena" in graph.graph:
        return _cut_arena(graph.graph["arena"], nodes, node_position, edges)
    along = node_position[edges[:, 1]] - node_position[edges[:, 0]]
    length = np.hypot(*along.T)
    for (one, other), straight in zip(edges.tolist(), length.tolist(), strict=True):
        names = f"from {nodes[one]!r} to {nodes[other]!r}"
        if straight <= 0:
            raise ValueError(
                f"The edge {names} of the track graph has length 0: both nodes have one position."
            )
        given = graph.edges[nodes[one], nodes[other]].get("distance", straight)
        given = check_number(f"The distance of the edge {names}, in cm,", given)
        if not abs(given - straight) <= 1e-3 * straight + 1e-6:
            raise ValueError(
                f"The edge {names} is {straight:g} cm long by the positions of its nodes, but its "
                f"distance is {given!r}. Give both in cm; draw a bent corridor as several edges."
            )
    if length.sum() > _LONGEST:
        raise ValueError(
            f"The track is {length.sum() / 100:,.0f} m long in all, and at most "
            f"{_LONGEST / 100:.0f} m can be analysed. Its nodes have positions in cm: convert "
            "other units, such as mm or pixels."
        )
    # Rounding must not add a bin to an edge that is a whole number of bins long.
    n_pieces = np.maximum(np.ceil(length / size - 1e-9).astype(int), 1)
    check_bin_size(size, int(n_pieces.sum()))
    edge = np.repeat(np.arange(len(edges)), n_pieces).astype(np.int32)
    number = np.arange(len(edge)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    width = (length / n_pieces)[edge]
    offset = (number + 0.5) * width
    position = node_position[edges[edge, 0]] + along[edge] * (offset / length[edge])[:, None]
    check_fits(_COPIES * 8 * len(nodes) ** 2, f"the distances between {len(nodes):,} nodes")
    weights = np.full((len(nodes), len(nodes)), np.inf)
    for (one, other), distance in zip(edges.tolist(), length.tolist(), strict=True):
        weights[one, other] = weights[other, one] = distance
    node_distance = shortest_path(weights, directed=False)
    _, part = connected_components(np.isfinite(weights), directed=False)
    # From bin to bin the way leads through either end of each edge, or along one edge.
    to_end = np.stack([offset, length[edge] - offset], axis=1)
    along_edge = np.abs(offset[:, None] - offset[None, :])
    distance = np.where(edge[:, None] == edge[None, :], along_edge, np.inf)
    for one, other in product(range(2), range(2)):
        ends = edges[edge, one][:, None], edges[edge, other][None, :]
        through = to_end[:, one][:, None] + node_distance[ends] + to_end[:, other][None, :]
        distance = np.minimum(distance, through)
    edge_order, edge_spacing = _laid_out(graph, nodes)
    return BinnedTrack(
        nodes=nodes, node_position=node_position, edges=edges, length=length,
        node_distance=node_distance, edge=edge, offset=offset, position=position, width=width,
        distance=distance, component=part[edges[edge, 0]].astype(np.int32), edge_order=edge_order,
        edge_spacing=edge_spacing,
    )  # fmt: skip


def _read_graph(graph: nx.Graph) -> tuple[tuple[Hashable, ...], Floats, Int32s]:
    if not isinstance(graph, nx.Graph) or graph.is_directed() or graph.is_multigraph():
        raise TypeError(
            f"A track graph must be an undirected networkx.Graph, got {type(graph).__name__}: the "
            "animal moves along its edges in both directions."
        )
    nodes = tuple(graph.nodes)
    place = {node: number for number, node in enumerate(nodes)}
    position = np.empty((len(nodes), 2))
    for number, node in enumerate(nodes):
        try:
            given = np.asarray(graph.nodes[node].get("pos"), dtype=float)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape != (2,) or not np.isfinite(given).all():
            raise ValueError(
                f"The node {node!r} of the track graph needs a position, pos=(x, y) in cm; got "
                f"{shown(graph.nodes[node].get('pos'))}."
            )
        position[number] = given
    edges = [(place[one], place[other]) for one, other in graph.edges]
    if not edges:
        raise ValueError(
            "The track graph has no edge: add one for each corridor along which the animal runs."
        )
    alone = sorted(set(range(len(nodes))) - {place for edge in edges for place in edge})
    if alone:
        raise ValueError(
            f"The node {nodes[alone[0]]!r} of the track graph has no edge: connect it to its "
            "neighbours, or leave it out."
        )
    check_drawing(
        graph, {node: (x, y) for node, (x, y) in zip(nodes, position.tolist(), strict=True)}
    )
    return nodes, position, np.array(edges, dtype=np.int32)


def _laid_out(graph: nx.Graph, nodes: Sequence[Hashable]) -> tuple[Int32s, Floats]:
    """Read the linearisation of the graph, if it includes all edges."""
    name = "The edge_order of the track graph"
    order = [check_list(name, edge) for edge in check_list(name, graph.graph.get("edge_order", ()))]
    for edge in order:
        if len(edge) != 2 or not graph.has_edge(*edge):
            raise ValueError(
                f"{name} has {shown(edge)}, which is not an edge of the "
                "graph: list pairs of nodes with an edge between them."
            )
    if {frozenset(edge) for edge in order} != {frozenset(edge) for edge in graph.edges}:
        return np.empty((0, 2), dtype=np.int32), np.empty(0)
    place = {node: number for number, node in enumerate(nodes)}
    given = check_array(
        graph.graph.get("edge_spacing", 0), "The edge_spacing of the track graph", kind="number",
        at_least=0, n_dims=None,
    )  # fmt: skip
    if given.size not in (1, len(order) - 1):
        raise ValueError(
            f"The edge_spacing of the track graph must be one number, or {len(order) - 1} between "
            f"its {len(order)} edges, got {given.size}."
        )
    pairs = np.array([[place[one], place[other]] for one, other in order], dtype=np.int32)
    return pairs, np.broadcast_to(given.ravel(), (len(order) - 1,)).astype(np.float64)


def _cut_arena(
    size: object, nodes: tuple[Hashable, ...], position: Floats, edges: Int32s
) -> BinnedTrack:
    square = check_number("The size of the bins of an arena, in cm,", size, at_least=1e-6)
    n_bins = len(nodes)
    if n_bins > _MOST_SQUARES:
        raise ValueError(
            f"The arena has {n_bins:,} bins of {square:g} cm, and at most {_MOST_SQUARES:,} can be "
            "analysed: choose larger bins (bin_size). Are positions in cm?"
        )
    length = np.hypot(*(position[edges[:, 1]] - position[edges[:, 0]]).T)
    distance = _through_free_space(position.tobytes(), edges.tobytes(), square)
    bins, first = np.unique(edges.T.ravel(), return_index=True)
    edge = np.empty(n_bins, dtype=np.int32)
    edge[bins] = first % len(edges)
    offset = np.where(edges[edge, 0] == np.arange(n_bins), 0.0, length[edge])
    _, part = connected_components(np.isfinite(distance), directed=False)
    return BinnedTrack(
        nodes=nodes, node_position=position, edges=edges, length=length, node_distance=distance,
        edge=edge, offset=offset, position=position, width=np.full(n_bins, square),
        distance=distance, component=part.astype(np.int32),
        edge_order=np.empty((0, 2), dtype=np.int32), edge_spacing=np.empty(0), square=square,
    )  # fmt: skip


@lru_cache(maxsize=4)  # an arena is cut again and again, and this takes seconds
def _through_free_space(centres: bytes, pairs: bytes, square: float) -> Floats:
    """Compute the distances between the bins of an arena.

    Where a shortest path over neighbours is as short as without any wall, nothing is in the way,
    and the distance is straight.
    """
    position = np.frombuffer(centres).reshape(-1, 2)
    one, other = np.frombuffer(pairs, dtype=np.int32).reshape(-1, 2).T
    length = np.hypot(*(position[one] - position[other]).T)
    joined = csr_array((length, (one, other)), shape=(len(position), len(position)))
    found: Floats = dijkstra(joined, directed=False)
    for row, here in zip(found, position, strict=True):
        along = np.abs(position - here)
        # As far as over straight and diagonal neighbours, if all of these are inside.
        unhindered = along.max(axis=1) + (np.sqrt(2) - 1) * along.min(axis=1)
        is_free = row <= unhindered + 1e-6 * square
        row[is_free] = np.hypot(*along[is_free].T)
    found.flags.writeable = False
    return found


def project(track: BinnedTrack, position: ArrayLike) -> Projection:
    """Project positions to the nearest point of a track.

    Examples
    --------
    >>> graph = nx.Graph([("left", "right")])
    >>> nx.set_node_attributes(graph, {"left": (0, 0), "right": (10, 0)}, "pos")
    >>> found = project(cut_track(graph), [(7.0, 3.0), (np.nan, 0.0)])
    >>> found.offset.tolist(), found.away.tolist(), found.bin.tolist()
    ([7.0, nan], [3.0, nan], [1, -1])
    """
    if track.whole is not None:
        found = project(track.whole, position)
        nearest = track.whole.distance[:, track.kept].argmin(axis=1)
        return found._replace(bin=np.where(found.bin < 0, -1, nearest[found.bin]).astype(np.int32))
    xy = np.asarray(position, dtype=float)
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise ValueError(
            f"Positions must be pairs (x, y) in cm, of shape (n_samples, 2), got shape {xy.shape}."
        )
    if track.is_arena:
        known = np.isfinite(xy).all(axis=1)
        away, bins = np.full(len(xy), np.nan), np.full(len(xy), -1, dtype=np.int32)
        away[known], bins[known] = KDTree(track.position).query(xy[known])
        return Projection(
            np.where(known, track.edge[bins], -1).astype(np.int32),
            np.where(known, track.offset[bins], np.nan), away, bins,
        )  # fmt: skip
    best = np.full(len(xy), np.inf)
    edge, offset = np.full(len(xy), -1, dtype=np.int32), np.full(len(xy), np.nan)
    for number, (one, other) in enumerate(track.edges.tolist()):
        begin, length = track.node_position[one], track.length[number]
        unit = (track.node_position[other] - begin) / length
        along = np.clip((xy - begin) @ unit, 0.0, length)
        away = np.hypot(*(xy - begin - along[:, None] * unit).T)
        nearer = away < best
        best[nearer], edge[nearer], offset[nearer] = away[nearer], number, along[nearer]
    known = edge >= 0
    first = np.searchsorted(track.edge, np.arange(len(track.edges)))
    n_pieces = np.bincount(track.edge, minlength=len(track.edges))
    bins = np.full(len(xy), -1, dtype=np.int32)
    width = track.width[first[edge[known]]]
    # The end of an edge belongs to its last bin.
    number_in_edge = np.minimum((offset[known] / width).astype(int), n_pieces[edge[known]] - 1)
    bins[known] = first[edge[known]] + number_in_edge
    return Projection(edge, offset, np.where(known, best, np.nan), bins)


def bins_between(track: BinnedTrack, nodes: Sequence[str]) -> Bools:
    """Find the bins on the edges between the given nodes of a track."""
    names = [str(node) for node in track.nodes]
    chosen = {names.index(check_choice("node of the track", str(node), names)) for node in nodes}
    edges = np.isin(track.edges, list(chosen)).sum(axis=1) == 2
    inside: Bools = edges[track.edge]
    if not inside.any():
        why = "that the animal ever ran " if edges.any() else ""
        raise ValueError(
            f"The track has no edge {why}between any of the nodes {', '.join(nodes)}: name the "
            "nodes at both ends of each corridor."
        )
    return inside


def bins_on_way(track: BinnedTrack, begin: int, end: int) -> Ints:
    """List the bins on the shortest way from one bin to another, in order.

    Where there are several such ways along a track, their bins are listed together; in an arena the
    way is as straight as free space allows.
    """
    away = track.distance[begin]
    if not track.is_arena:
        between = np.flatnonzero(away + track.distance[end] <= away[end] + 1e-6)
        return between[np.argsort(away[between], kind="stable")]
    way = [begin]
    while way[-1] != end:
        here = way[-1]
        near = np.flatnonzero(track.distance[here] <= 1.5 * track.square)  # diagonal ones as well
        ahead = near[track.distance[near, end] < track.distance[here, end] - 1e-6]
        x, y = (track.position[ahead] - track.position[begin]).T
        along, across = track.position[end] - track.position[begin]
        off_line = np.abs(x * across - y * along)
        detour = track.distance[here, ahead] + track.distance[ahead, end]
        way.append(int(ahead[np.lexsort((off_line, np.round(detour / track.square)))[0]]))
    return np.array(way, dtype=np.int64)


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
