"""The mazes of the experiments, as graphs of places: `data/mazes.json`.

What is known of a maze, and what was chosen for it, is told with each; positions are always ours.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import networkx as nx

from analyses.tables import data_file
from replay.names import unknown_name

__all__ = ["find_maze", "landmarks", "maze_graph", "maze_remark"]


@cache
def _mazes() -> dict[str, Any]:
    return json.loads(data_file("mazes.json").read_text(encoding="utf-8"))


def find_maze(name: str) -> dict[str, Any]:
    """Look up a maze.

    Parameters
    ----------
    name : str
        A name in ``data/mazes.json``.

    Returns
    -------
    dict
        ``what`` it is, its ``source`` (DOIs), ``nodes`` (name -> x, y in cm), ``edges``, whether
        they are ``directed``, ``landmarks`` (name -> nodes), what is ``known``, what is ``chosen``,
        and what only this maze has.

    Raises
    ------
    ValueError
        If there is none of that name; the message lists the choices.

    Examples
    --------
    >>> find_maze("w_track")["landmarks"]["choice"]
    ['X']
    """
    if name not in _mazes():
        raise unknown_name("maze", name, _mazes())
    return _mazes()[name]


def maze_graph(name: str) -> nx.Graph:
    """Make the graph of a maze.

    Parameters
    ----------
    name : str
        A name in ``data/mazes.json``.

    Returns
    -------
    networkx.Graph or DiGraph
        Nodes have `pos` (x, y) in cm.

    Examples
    --------
    >>> len(maze_graph("gupta_2t").edges)
    38
    """
    maze = find_maze(name)
    graph = nx.DiGraph() if maze["directed"] else nx.Graph()
    graph.add_nodes_from((node, {"pos": tuple(pos)}) for node, pos in maze["nodes"].items())
    graph.add_edges_from(maze["edges"])
    return graph


def landmarks(name: str) -> dict[str, tuple[str, ...]]:
    """Give the landmarks of a maze: name -> nodes.

    Parameters
    ----------
    name : str
        A name in ``data/mazes.json``.

    Returns
    -------
    dict of str to tuple of str

    Examples
    --------
    >>> landmarks("w_track")["choice"]
    ('X',)
    """
    return {key: tuple(nodes) for key, nodes in find_maze(name)["landmarks"].items()}


def maze_remark(name: str, more: str = "") -> str:
    """Say what is known of a maze, and what was chosen.

    Parameters
    ----------
    name : str
        A name in ``data/mazes.json``.
    more : str, optional
        What was chosen for the task besides.

    Returns
    -------
    str

    Examples
    --------
    >>> maze_remark("y_maze").split(":")[0]
    'Known'
    """
    maze = find_maze(name)
    return f"Known: {maze['known']} Chosen: {' '.join(filter(None, (maze['chosen'], more)))}"
