"""Paths through a maze: shortest paths and random walks."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
import numpy as np

from replay.checks import check_list, shown, typed

__all__ = ["both_directions", "random_walk", "shortest_path", "without_edges"]


@typed
def shortest_path(graph: nx.Graph, start: str, end: str, rng: np.random.Generator) -> list[str]:
    """Find a shortest path; where several steps lead along one, each is equally probable.

    Parameters
    ----------
    graph : networkx.Graph or DiGraph
        The maze.
    start, end : str
        Nodes.
    rng : numpy.random.Generator

    Examples
    --------
    >>> shortest_path(nx.path_graph(["a", "b", "c"]), "c", "a", np.random.default_rng(0))
    ['c', 'b', 'a']
    """
    steps = _steps_to(graph, start, end)
    beside = dict(graph.adjacency())
    path = [start]
    while path[-1] != end:
        here = path[-1]
        nearer = [node for node in beside[here] if steps.get(node, -1) == steps[here] - 1]
        path.append(nearer[rng.integers(len(nearer)) if len(nearer) > 1 else 0])
    return path


def _steps_to(graph: nx.Graph, start: str, end: str) -> dict[str, int]:
    """Count the steps from each node to `end`; faster than networkx, as laps need many searches."""
    for node in (start, end):
        if node not in graph:
            raise ValueError(f"The maze has no node {shown(node)}; it has {shown(list(graph))}.")
    into = dict(graph.pred.items() if graph.is_directed() else graph.adjacency())
    steps, waiting = {end: 0}, [end]
    for node in waiting:  # the list grows meanwhile
        for before in into[node]:
            if before not in steps:
                steps[before] = steps[node] + 1
                waiting.append(before)
    if start not in steps:
        raise ValueError(f"There is no path from {start!r} to {end!r}: open a move that is closed.")
    return steps


@typed
def random_walk(graph: nx.Graph, start: str, end: str, rng: np.random.Generator) -> list[str]:
    """Walk at random until the end is reached, turning back in dead ends only.

    Parameters and errors are those of `shortest_path`.

    Examples
    --------
    >>> random_walk(nx.path_graph(["a", "b", "c"]), "b", "a", np.random.default_rng(0))
    ['b', 'c', 'b', 'a']
    """
    _steps_to(graph, start, end)  # there is a path
    beside = dict(graph.adjacency())
    path = [start]
    while path[-1] != end:
        ahead = [node for node in beside[path[-1]] if node not in path[-2:]]
        choices = ahead or list(beside[path[-1]])
        path.append(choices[rng.integers(len(choices))])
    return path


@typed
def without_edges(graph: nx.Graph, closed: Iterable[tuple[str, str]]) -> nx.Graph:
    """Return a maze in which some edges are closed.

    Parameters
    ----------
    graph : networkx.Graph or DiGraph
        The maze.
    closed : iterable of (str, str)

    Examples
    --------
    >>> list(without_edges(nx.path_graph(["a", "b", "c"]), [("c", "b")]).edges)
    [('a', 'b')]
    """
    remaining, pairs = graph.copy(), _pairs("closed", closed)
    for here, there in pairs:
        if not (graph.has_edge(here, there) or graph.has_edge(there, here)):
            raise ValueError(f"closed names {shown((here, there))}, which is no edge of the maze.")
    remaining.remove_edges_from(pairs)
    return remaining


@typed
def both_directions(edges: Iterable[Iterable[str]]) -> tuple[tuple[str, str], ...]:
    """List edges in both directions, as `Block.closed` needs them.

    Parameters
    ----------
    edges : iterable of (str, str)
        Edges of an undirected maze.

    Examples
    --------
    >>> both_directions([("a", "b")])
    (('a', 'b'), ('b', 'a'))
    """
    pairs = _pairs("edges", edges)
    return tuple(move for here, there in pairs for move in ((here, there), (there, here)))


def _pairs(name: str, edges: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    pairs = [check_list("each edge", edge) for edge in check_list(name, edges)]
    for edge in pairs:
        if len(edge) != 2:
            raise ValueError(f"{name} must list pairs of nodes, got {shown(edge)}.")
    return pairs
