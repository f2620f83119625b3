"""The track of place sequences: which places are neighbours, and how far apart they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from analyses.sequences.sequences import Lists
from replay.checks import MOST_STATES, check_choice, check_flag, check_number, check_whole
from replay.checks.arrays import Bools, Floats, Ints
from replay.jit import kernel
from replay.log.event_log import EventLog

if TYPE_CHECKING:
    from replay.tasks import Task

_TINY = np.finfo(np.float64).tiny
_ROWS = 256  # of distances between all places, computed at a time


def graph_of_log(log: EventLog) -> nx.Graph:
    """Build the track of a log from the moves of its world, or else from those in the log.

    Edges have a `distance` (cm) if the world has positions.
    """
    mdp = log.mdp
    if mdp is None:
        steps = log.columns("steps")
        state, next_state = steps["state"], steps["next_state"]
    else:
        state, next_state = mdp.transition_rows() // mdp.n_actions, mdp.successor
    moves = np.unique(np.sort(np.column_stack((state, next_state)), axis=1), axis=0)
    moves = moves[moves[:, 0] < moves[:, 1]]
    graph = nx.Graph(moves.tolist())
    if mdp is not None and mdp.position is not None:
        distance = np.hypot(*(mdp.position[moves[:, 0]] - mdp.position[moves[:, 1]]).T)
        edges = map(tuple, moves.tolist())
        nx.set_edge_attributes(graph, dict(zip(edges, distance.tolist(), strict=True)), "distance")
    return graph


def graph_of_task(task: Task, block: str | None = None) -> nx.Graph:
    """Build the track of a task, with its shortcuts and impossible edges.

    Landmarks whose names begin with ``shortcut`` are shortcuts. Edges that are closed in both
    directions in this block, or by default in every block that has laps, are impossible.
    """
    graph = graph_of_log(EventLog({}, mdp=task.world))
    for name, nodes in task.landmarks.items():
        if name.startswith("shortcut"):
            pairs = {frozenset(pair) for pair in pairwise(nodes)}
            for here, there, data in graph.edges(data=True):
                if frozenset((task.node[here], task.node[there])) in pairs:
                    data["shortcut"] = name
    closed = closed_edges(task)
    if block is not None:
        walls = closed[check_choice("block", block, closed)]
    else:
        with_laps = [closed[each.name] for each in task.blocks if each.n_laps]
        walls = frozenset.intersection(*with_laps) if with_laps else frozenset()
    for here, there, data in graph.edges(data=True):
        if frozenset((task.node[here], task.node[there])) in walls:
            data["impossible"] = True
    return graph


def closed_edges(task: Task) -> dict[str, frozenset[frozenset[str]]]:
    """List the edges that are closed in both directions in each block of a task.

    If several blocks share a name, those that are closed in all of them.

    Examples
    --------
    >>> from replay.tasks.published import TASKS
    >>> {len(walls) for walls in closed_edges(TASKS["barrier_arena"].build()).values()}
    {0, 6}
    """
    closed: dict[str, frozenset[frozenset[str]]] = {}
    for block in task.blocks:
        moves = set(block.closed)
        walls = frozenset(frozenset(move) for move in moves if move[::-1] in moves)
        closed[block.name] = walls & closed.get(block.name, walls)
    return closed


@dataclass(frozen=True, eq=False)
class Track:
    """A track graph in arrays."""

    graph: nx.Graph  # undirected; nodes are places, numbered from 0
    # (n_moves,): each move from a place to a neighbour, in both directions, as ``place *
    # MOST_STATES + neighbour``, ascending
    key: Ints
    edge: Ints  # (n_moves,): the number of each move's edge
    # (n_moves,): the length of each move in cm; NaN if the graph has no distances
    distance: Floats
    # the edges of each shortcut; None if the graph marks none
    shortcuts: list[Ints] | None
    # (n_edges,): whether each edge is impossible to move along; None if the graph marks none
    impossible: Bools | None

    @classmethod
    def of(cls, graph: nx.Graph) -> Track:
        """Check a graph, and convert it to arrays.

        Two places with an edge between them, in either direction, are neighbours.
        """
        if not isinstance(graph, nx.Graph):
            raise TypeError(f"graph must be a networkx.Graph, got {type(graph).__name__}.")
        hint = "Number places like the states of the log."
        for node in graph:
            check_whole("A node of the graph", node, at_most=MOST_STATES - 1, hint=hint)
        plain = nx.Graph()
        plain.add_nodes_from(graph)
        plain.add_edges_from((u, v, data) for u, v, data in graph.edges(data=True) if u != v)
        n_edges = plain.number_of_edges()
        ends = np.array([[u, v] for u, v in plain.edges], dtype=np.int64).reshape(-1, 2)
        distance = np.full(n_edges, np.nan)
        connections: dict[str | int, list[int]] = {}
        impossible = np.zeros(n_edges, dtype=np.bool_)
        for number, (u, v, data) in enumerate(plain.edges(data=True)):
            if "distance" in data:
                what = f"The 'distance' of the edge from {u} to {v}"
                distance[number] = check_number(what, data["distance"], at_least=0)
            name = data.get("shortcut", False)
            if isinstance(name, str):
                connections.setdefault(name, []).append(number)
            elif check_flag(f"'shortcut', unless a name, of the edge from {u} to {v}", name):
                connections[number] = [number]
            what = f"'impossible' of the edge from {u} to {v}"
            impossible[number] = check_flag(what, data.get("impossible", False))
        here, there = ends.T
        key = np.concatenate((here * MOST_STATES + there, there * MOST_STATES + here))
        order = np.argsort(key)
        return cls(
            graph=plain,
            key=key[order],
            edge=np.tile(np.arange(n_edges), 2)[order],
            distance=np.tile(distance, 2)[order],
            shortcuts=[np.array(edges) for edges in connections.values()] if connections else None,
            impossible=impossible if impossible.any() else None,
        )

    def move(self, place: NDArray[np.integer], next_place: NDArray[np.integer]) -> Ints:
        """Find the numbers of moves between places; -1 if these are not neighbours."""
        wanted = np.asarray(place, dtype=np.int64) * MOST_STATES + next_place
        at = np.searchsorted(self.key, wanted)
        return np.where(np.append(self.key, -1)[at] == wanted, at, -1)

    def between(self, place: int, next_place: int, at_most: int) -> list[int]:
        """List the places between two others, on the only shortest path of at most `at_most` moves.

        None if there is no such path, or several.
        """
        if place not in self.graph or next_place not in self.graph:
            return []
        before = _predecessors(self, place, at_most)
        way, here = [], next_place
        while here != place:
            if len(before.get(here, [])) != 1:
                return []
            [here] = before[here]
            way.append(here)
        return way[-2::-1]

    def extent(self, states: Lists) -> tuple[Floats, Floats]:
        """Measure how far sequences reach along the track, and how steadily they progress.

        The extent is the largest distance (cm) between two of a sequence's places; the correlation
        is Pearson's, of the order of places and their distance from the first, NaN if that is the
        same for all.
        """
        extent, correlation = np.empty(len(states.length)), np.empty(len(states.length))
        visited, number = np.unique(states.flat, return_inverse=True)
        # The ways between all places, infinite where there is none.
        here, there = np.divmod(self.key, MOST_STATES)
        nodes = np.unique(np.concatenate((here, there, visited)))
        # An edge of unknown length counts 1; the smallest positive number stands for a length of
        # zero, which a sparse matrix cannot hold.
        length = np.where(np.isnan(self.distance), 1.0, np.maximum(self.distance, _TINY))
        at = np.searchsorted(nodes, here), np.searchsorted(nodes, there)
        edges = sparse.csr_array((length, at), shape=(len(nodes), len(nodes)))
        own = np.searchsorted(nodes, visited)
        ways: Floats = np.empty((len(visited), len(visited)))
        for first in range(0, len(visited), _ROWS):  # not all rows at once, to save memory
            rows = slice(first, first + _ROWS)
            ways[rows] = csgraph.dijkstra(edges, indices=own[rows])[:, own]
        _measure(number, states.begin, ways, extent, correlation)
        return extent, correlation

    def crossed_shortcuts(self, move_number: Ints, of_move: Ints, novel: Bools) -> NDArray[np.int8]:
        """Find the novel sequences that run along the whole of a shortcut, without turning on it.

        `move_number` has all moves as `move` numbers them, `of_move` names the sequence of each.
        Returns 1 or 0 for each sequence; -1 if the track has no shortcut.
        """
        if self.shortcuts is None:
            return np.full(len(novel), -1, dtype=np.int8)
        shortcut = np.full(self.graph.number_of_edges() + 1, -1)
        for number, edges in enumerate(self.shortcuts):
            shortcut[edges] = number
        edge = np.where(move_number < 0, len(shortcut) - 1, self.edge[move_number])
        n_edges = np.array([len(edges) for edges in self.shortcuts])
        crosses = np.zeros(len(novel), dtype=np.int8)
        _cross(edge, of_move, shortcut, n_edges, crosses)
        return np.where(novel, crosses, 0).astype(np.int8)

    def require_distances(self) -> None:
        """Check that the graph has the length of each edge."""
        unknown = np.flatnonzero(np.isnan(self.distance))
        if len(unknown):
            here, there = divmod(int(self.key[unknown[0]]), MOST_STATES)
            raise ValueError(
                f"Criteria in cm need the 'distance' of each edge of the graph; the edge from "
                f"{here} to {there} has none."
            )


# The same jumps occur again and again in a recording.
@lru_cache(maxsize=4096)
def _predecessors(track: Track, place: int, at_most: int) -> dict[int, list[int]]:
    """List the last but one places on the shortest paths from a place to each place near it."""
    before: dict[int, list[int]] = nx.predecessor(track.graph, place, cutoff=at_most)
    return before


@kernel
def _measure(place: Ints, begin: Ints, way: Floats, extent: Floats, correlation: Floats) -> None:
    """Measure the extent and the correlation of each sequence; `place` is a row of `way`."""
    last_in = np.full(len(way), -1)
    visited = np.empty(len(way), dtype=np.int64)
    for sequence in range(len(extent)):
        first, stop = begin[sequence], begin[sequence + 1]
        n, n_visited, farthest = stop - first, 0, 0.0
        mean = 0.0
        for i in range(first, stop):
            mean += way[place[first], place[i]] / n
            if last_in[place[i]] != sequence:
                last_in[place[i]] = sequence
                for j in range(n_visited):
                    farthest = max(farthest, way[visited[j], place[i]])
                visited[n_visited] = place[i]
                n_visited += 1
        extent[sequence] = farthest
        product, square, order = 0.0, 0.0, 0.0
        for i in range(first, stop):
            later, away = i - first - (n - 1) / 2, way[place[first], place[i]] - mean
            product += later * away
            square += away * away
            order += later * later
        constant = True
        for i in range(first, stop):
            constant &= way[place[first], place[i]] == way[place[first], place[first]]
        correlation[sequence] = np.nan if constant else product / np.sqrt(square * order)


@kernel
def _cross(
    edge: Ints, of_move: Ints, shortcut: Ints, n_edges: Ints, crosses: NDArray[np.int8]
) -> None:
    """Mark the sequences with as many successive edges of a shortcut as it has."""
    n = 0
    for i in range(len(edge)):
        number = shortcut[edge[i]]
        goes_on = i > 0 and of_move[i] == of_move[i - 1] and edge[i] != edge[i - 1]
        n = n + 1 if goes_on and number == shortcut[edge[i - 1]] else 1
        if number >= 0 and n >= n_edges[number]:
            crosses[of_move[i]] = 1
