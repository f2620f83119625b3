"""The mazes of the experiments as graphs of places, from `data/mazes.json`.

The file says what is known about each maze and what was chosen; all positions are modelling
choices.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from replay.checks import check_choice
from replay.data import data_file
from replay.tasks.places import Rule, explore
from replay.tasks.task import Block, Laps, Task

__all__ = ["Maze", "find_maze", "landmarks", "maze_graph", "maze_task", "maze_with"]

_PAUSES = "Pauses occur only at the start and the end of a lap."
_NOISE = (
    "The standard deviation of rewards is a tenth of their mean, as in the simulations of Mattar & "
    "Daw."
)


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
        Its description (``what``), its ``source`` (DOIs), ``nodes`` (name -> x, y in cm),
        ``edges``, whether they are ``directed``, ``landmarks`` (name -> nodes), what is ``known``,
        what is ``chosen``, and entries that only this maze has.

    Raises
    ------
    ValueError
        If the name is unknown; the message lists the choices.

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
    """Return the landmarks of a maze.

    Parameters
    ----------
    name : str
        A name in ``data/mazes.json``.

    Returns
    -------
    dict of str to tuple of str
        Name -> nodes.

    Examples
    --------
    >>> landmarks("w_track")["choice"]
    ('X',)
    """
    return {key: tuple(nodes) for key, nodes in find_maze(name)["landmarks"].items()}


@dataclass(frozen=True)
class Maze:
    """A maze with a chosen number of places per metre; see `maze_with`.

    Attributes
    ----------
    name : str
        In ``data/mazes.json``.
    graph : networkx.Graph or DiGraph
        Nodes have `pos` (x, y) in cm.
    landmarks : dict of str to tuple of str
        Name -> nodes.
    local_radius : int
        That of the maze in ``data/mazes.json``, in steps on this graph.
    stretches : dict of (str, str) to tuple of str
        A kept node and its neighbour in ``data/mazes.json`` -> the new nodes from there on, up to
        the next kept node.
    """

    name: str
    graph: nx.Graph
    landmarks: dict[str, tuple[str, ...]]
    local_radius: int
    stretches: Mapping[tuple[str, str], tuple[str, ...]]

    def along(self, nodes: Sequence[str]) -> tuple[str, ...]:
        """Translate a path through the maze of ``data/mazes.json``.

        Examples
        --------
        >>> maze_with("w_track", 0.5).along(["C0", "C1", "C2", "C3", "C4", "C5", "X"])
        ('C0', 'C0-X 1', 'C0-X 2', 'X')
        """
        path = [nodes[0]]
        for move in pairwise(nodes):
            path.extend(self.stretches.get(move, ()))
        return tuple(path)

    def about(self, chosen: str = "", *, drawn: str = "", noisy: bool = True) -> dict[str, Any]:
        """Return the parameters that every `Task` in this maze has in common.

        Examples
        --------
        >>> maze_with("y_maze").about()["remark"].split(":")[0]
        'Known'
        """
        maze = find_maze(self.name)
        noise = _NOISE if noisy and not drawn else ""
        choices = " ".join(filter(None, [maze["chosen"], chosen, _PAUSES, noise, drawn]))
        return {
            "landmarks": self.landmarks,
            "local_radius": self.local_radius,
            "remark": f"Known: {maze['known']} Chosen: {choices}",
            "choices": choices,
        }


def maze_with(
    name: str, density: float = 1.0, *, keep: Iterable[str] = (), mirrored: bool = False
) -> Maze:
    """Make a maze with more or fewer places per metre, or its mirror image.

    Places where paths meet or end are kept with their names, and so are landmarks of one place or
    of several separate places. The stretch between two kept places is divided evenly into new
    places; each of them belongs to the landmarks (an arm, for example) of the nearest old place.
    `density` multiplies the places per metre of ``data/mazes.json``. The numbers of steps are
    rounded; there is at least one between two kept places.

    Examples
    --------
    >>> fine = maze_with("linear_track", 19 / 9)
    >>> len(fine.graph), fine.landmarks["far_end"], fine.local_radius
    (20, ('9',), 4)
    """
    old, marks = maze_graph(name), landmarks(name)
    kept = {node for node in old if len(set(nx.all_neighbors(old, node))) != 2} | set(keep)
    kept |= {node for nodes in marks.values() if not _is_path(old, nodes) for node in nodes}
    stretches = [_Stretch.divided(old, path, density) for path in _paths_between(old, kept)]
    graph = old
    if any(stretch.new != stretch.old for stretch in stretches):
        graph = nx.Graph()
        for node in old:
            if node in kept:
                graph.add_node(node, pos=old.nodes[node]["pos"])
                for stretch in stretches:
                    if stretch.old[0] == node:
                        new = zip(stretch.new[1:-1], stretch.places, strict=True)
                        graph.add_nodes_from((name, {"pos": place}) for name, place in new)
        graph.add_edges_from(move for stretch in stretches for move in pairwise(stretch.new))
        marks = {key: _translated(nodes, kept, stretches) for key, nodes in marks.items()}
    if mirrored:
        places = {node: (-x, y) for node, (x, y) in graph.nodes(data="pos")}
        nx.set_node_attributes(graph, places, "pos")
    directed = [each for stretch in stretches for each in (stretch, stretch.reverse())]
    return Maze(
        name,
        graph,
        marks,
        max(round(find_maze(name)["local_radius"] * density), 1),
        {(each.old[0], each.old[1]): each.new[1:] for each in directed},
    )


class _Stretch(NamedTuple):
    """The nodes from one kept place to the next, both included.

    `old` and `new` list the nodes; `places` and `nearest` give, for each new node between the kept
    ones, its position and the nearest old node.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    places: tuple[tuple[float, float], ...]
    nearest: tuple[str, ...]

    @classmethod
    def divided(cls, graph: nx.Graph, path: tuple[str, ...], density: float) -> _Stretch:
        """Divide a stretch evenly; the number of steps is multiplied by the density."""
        place = np.array([graph.nodes[node]["pos"] for node in path])
        n_steps = max(round((len(path) - 1) * density), 1)
        if n_steps == len(path) - 1:
            return cls(path, path, tuple(map(tuple, place[1:-1].tolist())), path[1:-1])
        at = np.append(0.0, np.cumsum(np.hypot(*np.diff(place, axis=0).T)))
        new_at = np.linspace(0.0, at[-1], n_steps + 1)[1:-1]
        x, y = (np.interp(new_at, at, axis).round(1).tolist() for axis in place.T)
        inner = np.abs(np.subtract.outer(new_at, at[1:-1])).argmin(axis=1) if len(path) > 2 else ()
        names = (f"{path[0]}-{path[-1]} {number}" for number in range(1, n_steps))
        return cls(
            path,
            (path[0], *names, path[-1]),
            tuple(zip(x, y, strict=True)),
            tuple(path[1 + each] for each in inner),
        )

    def reverse(self) -> _Stretch:
        """Return the same stretch in the other direction."""
        return _Stretch(self.old[::-1], self.new[::-1], self.places[::-1], self.nearest[::-1])


def _paths_between(graph: nx.Graph, kept: Collection[str]) -> list[tuple[str, ...]]:
    """List the paths from one kept node to the next, each in one direction only."""
    beside = {node: list(nx.all_neighbors(graph, node)) for node in graph}
    paths: list[tuple[str, ...]] = []
    for start in graph:
        for first in beside[start] if start in kept else ():
            path = [start, first]
            while path[-1] not in kept:
                path += [node for node in beside[path[-1]] if node != path[-2]][:1]
            if tuple(path[::-1]) not in paths:
                paths.append(tuple(path))
    return paths


def _is_path(graph: nx.Graph, nodes: Sequence[str]) -> bool:
    """Whether nodes form a path: several nodes, each a neighbour of the one before."""
    return len(nodes) > 1 and all(there in graph.adj[here] for here, there in pairwise(nodes))


def _translated(
    nodes: Sequence[str], kept: Collection[str], stretches: Iterable[_Stretch]
) -> tuple[str, ...]:
    """Return the new places of a landmark, in the order of the old ones."""
    rank = {node: number for number, node in enumerate(nodes)}
    found = [((number, 0), node) for node, number in rank.items() if node in kept]
    for stretch in stretches:
        ranks = [rank[node] for node in stretch.old if node in rank]
        along = stretch.reverse() if ranks and ranks[0] > ranks[-1] else stretch
        inner = along.new[1:-1]
        if len(along.old) > 2:
            for number, (node, old) in enumerate(zip(inner, along.nearest, strict=True), start=1):
                if old in rank:
                    found.append(((rank[old], number), node))
        elif len(ranks) == 2 and _follow(*ranks):
            found += [((rank[along.old[0]], k), node) for k, node in enumerate(inner, start=1)]
    return tuple(node for _, node in sorted(found))


def _follow(rank: int, other: int) -> bool:
    return abs(rank - other) == 1


def maze_task(
    maze: Maze,
    rules: Iterable[Rule],
    protocol: Callable[[Task, np.random.Generator], Laps],
    blocks: Iterable[Block],
    *,
    chosen: str = "",
    drawn: str = "",
    name: str | None = None,
    home: str | None = None,
    **about: Any,
) -> Task:
    """Make a task in one of the mazes, with a given protocol."""
    places = explore(maze.graph, rules, home)
    common = maze.about(chosen, drawn=drawn, noisy=about.get("reward_sd") != 0)
    common["one_way"] = home is not None
    return Task(name or maze.name, places, protocol, tuple(blocks), **common | about)
