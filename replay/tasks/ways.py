"""Ways through a maze: the shortest one, or one that is found by chance."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
import numpy as np

__all__ = ["both_ways", "random_way", "shortest_way", "without"]


def shortest_way(graph: nx.Graph, start: str, end: str, rng: np.random.Generator) -> list[str]:
    """Give a shortest way; of several, one at random, each step drawn alike.

    Parameters
    ----------
    graph : networkx.Graph or DiGraph
        The maze.
    start, end : str
        Nodes.
    rng : numpy.random.Generator

    Returns
    -------
    list of str
        The nodes, both ends included.

    Examples
    --------
    >>> shortest_way(nx.path_graph(["a", "b", "c"]), "c", "a", np.random.default_rng(0))
    ['c', 'b', 'a']
    """
    backwards = graph.reverse(copy=False) if graph.is_directed() else graph
    steps = nx.single_source_shortest_path_length(backwards, end)
    if start not in steps:
        raise ValueError(f"There is no way from {start!r} to {end!r}: every way is closed.")
    way = [start]
    while way[-1] != end:
        nearer = [node for node in graph.adj[way[-1]] if steps.get(node, -1) == steps[way[-1]] - 1]
        way.append(nearer[rng.integers(len(nearer))])
    return way


def random_way(graph: nx.Graph, start: str, end: str, rng: np.random.Generator) -> list[str]:
    """Give the way of an animal that wanders until it meets the end, and turns in dead ends only.

    Parameters
    ----------
    graph : networkx.Graph or DiGraph
        The maze.
    start, end : str
        Nodes.
    rng : numpy.random.Generator

    Returns
    -------
    list of str
        The nodes, both ends included.

    Examples
    --------
    >>> random_way(nx.path_graph(["a", "b", "c"]), "b", "a", np.random.default_rng(0))
    ['b', 'c', 'b', 'a']
    """
    if not nx.has_path(graph, start, end):
        raise ValueError(f"There is no way from {start!r} to {end!r}: every way is closed.")
    way = [start]
    while way[-1] != end:
        ahead = [node for node in graph.adj[way[-1]] if node not in way[-2:]]
        choices = ahead or list(graph.adj[way[-1]])
        way.append(choices[rng.integers(len(choices))])
    return way


def without(graph: nx.Graph, closed: Iterable[tuple[str, str]]) -> nx.Graph:
    """Give a maze whose closed ways are taken out.

    Parameters
    ----------
    graph : networkx.Graph or DiGraph
        The maze.
    closed : iterable of (str, str)
        Edges.

    Returns
    -------
    networkx.Graph or DiGraph
        A copy.

    Examples
    --------
    >>> list(without(nx.path_graph(["a", "b", "c"]), [("c", "b")]).edges)
    [('a', 'b')]
    """
    remaining = graph.copy()
    remaining.remove_edges_from(closed)
    return remaining


def both_ways(edges: Iterable[Iterable[str]]) -> tuple[tuple[str, str], ...]:
    """List edges in both directions, as `Block.closed` wants them.

    Parameters
    ----------
    edges : iterable of (str, str)

    Returns
    -------
    tuple of (str, str)

    Examples
    --------
    >>> both_ways([("a", "b")])
    (('a', 'b'), ('b', 'a'))
    """
    return tuple(move for here, there in edges for move in ((here, there), (there, here)))
