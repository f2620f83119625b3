"""The mazes of the experiments, as graphs of places: `data/mazes.json`.

What is known of a maze, and what was chosen for it, is told with each; positions are always ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import networkx as nx
import numpy as np

from replay.checks import check_choice
from replay.data import data_file
from replay.tasks import Block, Laps, Rule, Task, explore

__all__ = ["N_REST", "about_maze", "find_maze", "landmarks", "maze_graph", "maze_task"]

N_REST = 10
"""Pauses of rest before, after and between sessions."""

_PAUSES = "Pauses are at the start and the end of a lap only."
_NOISE = "Rewards vary by a tenth of their mean, as in the simulations of Mattar & Daw."


@cache
def _mazes() -> dict[str, dict[str, Any]]:
    mazes: dict[str, dict[str, Any]] = json.loads(data_file("mazes.json").read_bytes())
    return mazes


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
    return _mazes()[check_choice("maze", name, _mazes())]


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


def about_maze(name: str, chosen: str = "", noisy: bool = True) -> dict[str, Any]:
    """Give what each task in a maze has of it.

    Parameters
    ----------
    name : str
        A name in ``data/mazes.json``.
    chosen : str, optional
        What was chosen for the task besides.
    noisy : bool, default True
        Whether rewards vary.

    Returns
    -------
    dict
        ``landmarks``, ``local_radius`` and ``remark`` of a `Task`.

    Examples
    --------
    >>> about_maze("y_maze")["remark"].split(":")[0]
    'Known'
    """
    maze = find_maze(name)
    known = f"Known: {maze['known']} Chosen: {maze['chosen']}"
    remarks = [known, chosen, _PAUSES, _NOISE if noisy else ""]
    return {
        "landmarks": landmarks(name),
        "local_radius": maze["local_radius"],
        "remark": " ".join(filter(None, remarks)),
    }


def maze_task(
    maze: str,
    rules: Iterable[Rule],
    protocol: Callable[[Task, np.random.Generator], Laps],
    blocks: Iterable[Block],
    *,
    chosen: str = "",
    name: str | None = None,
    home: str | None = None,
    **about: Any,
) -> Task:
    """Make a task in one of the mazes, with a protocol of its own.

    Parameters
    ----------
    maze : str
        A name in ``data/mazes.json``.
    rules : iterable of Rule
        All rules of all blocks.
    protocol : callable
        See `replay.tasks.Task`.
    blocks : iterable of Block
    chosen : str, optional
        What was chosen for the task besides the maze.
    name : str, optional
        By default the maze's.
    home : str, optional
        Gives states a heading.
    **about
        What else a `Task` has.

    Returns
    -------
    Task
    """
    places = explore(maze_graph(maze), rules, home)
    common = about_maze(maze, chosen, noisy=about.get("reward_sd") != 0)
    common["one_way"] = home is not None
    return Task(name or maze, places, protocol, tuple(blocks), **common | about)
