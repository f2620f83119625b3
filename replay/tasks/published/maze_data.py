"""The mazes of the experiments as graphs of places, and tasks in them.

`data/mazes.json` says what is known about each maze and what was chosen; all positions are
modelling choices. `data/tasks.toml` says what was chosen in each task.

The builders of tasks have an optional parameter `rng`. Without it the task is as documented, the
same for all animals. With it, everything that the papers leave open is drawn for each animal, so
that no statistic can agree with a finding because of a single modelling choice.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import networkx as nx
import numpy as np

from replay.checks import check_choice, typed
from replay.data import data_file
from replay.tasks.places import Rule, explore
from replay.tasks.task import Block, Lap, Laps, Task

_PAUSES = "Pauses occur only at the start and the end of a lap."
_NOISE = (
    "The standard deviation of rewards is a tenth of their mean, as in the simulations of Mattar & "
    "Daw."
)
_FINEST, _COARSEST = 19 / 9, 7 / 9  # 20 and 8 places on the linear track, which has 10
_FEWEST_PAUSES, _USUAL_PAUSES, _MOST_PAUSES = 5, 10, 20
_USUAL_REWARD_SD, _MOST_REWARD_SD = 0.1, 0.2
_NOISE_DRAWN = (
    "Also drawn for each animal: 5 to 20 pauses of rest, since how often an animal replays at rest "
    "depends on how long it rests; and the standard deviation of rewards, from 0 to a fifth of "
    "their mean, since no study reports it."
)

_T = TypeVar("_T")


@cache
def _mazes() -> dict[str, dict[str, Any]]:
    mazes: dict[str, dict[str, Any]] = json.loads(data_file("mazes.json").read_bytes())
    return mazes


@cache
def chosen_in_tasks() -> dict[str, dict[str, Any]]:
    """Read ``data/tasks.toml``: task -> its statistics, and what is chosen in it."""
    return tomllib.loads(data_file("tasks.toml").read_text("utf-8"))


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

    Examples
    --------
    >>> landmarks("w_track")["choice"]
    ('X',)
    """
    return {key: tuple(nodes) for key, nodes in find_maze(name)["landmarks"].items()}


@dataclass(frozen=True)
class Maze:
    """A maze with a chosen number of places per metre; see `maze_with`."""

    name: str  # in ``data/mazes.json``
    graph: nx.Graph  # nodes have `pos` (x, y) in cm
    landmarks: dict[str, tuple[str, ...]]  # name -> nodes
    local_radius: int  # that of the maze in ``data/mazes.json``, in steps on this graph
    # A kept node and its neighbour in ``data/mazes.json`` -> the new nodes from there on, up to
    # the next kept node.
    stretches: Mapping[tuple[str, str], tuple[str, ...]]

    def along(self, nodes: Sequence[str]) -> tuple[str, ...]:
        """Translate a path through the maze of ``data/mazes.json``."""
        path = [nodes[0]]
        for move in pairwise(nodes):
            path.extend(self.stretches.get(move, ()))
        return tuple(path)

    def about(self, task: str, variant: Variant, *, noisy: bool = True) -> dict[str, Any]:
        """Return the parameters that every `Task` in this maze has in common."""
        maze, text = find_maze(self.name), chosen_in_tasks()[task]
        parts = [maze["chosen"], text.get("chosen"), _PAUSES]
        if variant.rng is None:
            parts[1:1] = [text.get("fixed")]
            parts += [_NOISE] if noisy else []
        else:
            parts += [text["drawn"], _NOISE_DRAWN] if noisy else [text["drawn"]]
        choices = " ".join(word for part in parts if part for word in part.split())
        return {
            "landmarks": self.landmarks,
            "local_radius": self.local_radius,
            "remark": f"Known: {maze['known']} Chosen: {choices}",
            "choices": choices,
            "reward_sd": variant.reward_sd if noisy else 0.0,
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
    for nodes in marks.values():
        # A landmark that is a path, each node a neighbour of the one before, may be divided anew.
        is_path = len(nodes) > 1 and all(b in old.adj[a] for a, b in pairwise(nodes))
        kept |= set() if is_path else set(nodes)
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
        name=name,
        graph=graph,
        landmarks=marks,
        local_radius=max(round(find_maze(name)["local_radius"] * density), 1),
        stretches={(each.old[0], each.old[1]): each.new[1:] for each in directed},
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
        # Of two old nodes that are equally near, the first.
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
        elif len(ranks) == 2 and abs(ranks[0] - ranks[1]) == 1:
            found += [((rank[along.old[0]], k), node) for k, node in enumerate(inner, start=1)]
    return tuple(node for _, node in sorted(found))


def maze_task(
    maze: Maze,
    rules: Iterable[Rule],
    protocol: Callable[[Task, np.random.Generator], Laps],
    blocks: Iterable[Block],
    variant: Variant,
    *,
    name: str = "",
    home: str | None = None,
    **about: Any,
) -> Task:
    """Make a task in one of the mazes, with a given protocol; by default it has the maze's name."""
    name = name or maze.name
    places = explore(maze.graph, rules, home)
    common = maze.about(name, variant, noisy=about.get("reward_sd") != 0)
    common["one_way"] = home is not None
    return Task(name, places, protocol, tuple(blocks), **common | about)


def lap_of(
    task: Task,
    block: Block,
    number: int,
    nodes: Iterable[str],
    rules: Iterable[Rule],
    name: str,
    memory: str = "",
    shown: bool = False,
) -> Lap:
    """Make a lap along some nodes; after the last one of a block there is rest."""
    path = task.model.walk(nodes, memory)
    world = task.model.world(rules, block.closed, path[0])
    n_rest = block.n_rest if number == block.n_laps - 1 else 0
    return Lap(world, path[0], path, block.name, name, n_rest, shown)


class Variant:
    """Draws what an experiment leaves open, or returns the documented values.

    Parameters
    ----------
    rng : numpy.random.Generator or None
        Without it every method returns the documented value.

    Attributes
    ----------
    n_rest : int
        Pauses of rest before, after and between sessions: 10, or drawn from 5 to 20.
    reward_sd : float
        Standard deviation of a reward as a share of its mean: 0.1, or drawn from 0 to 0.2.

    Examples
    --------
    >>> usual, own = Variant(None), Variant(np.random.default_rng(1))
    >>> usual.whole(34, 30, 40), own.whole(34, 30, 40)
    (34, 35)
    """

    @typed
    def __init__(self, rng: np.random.Generator | None) -> None:
        self.rng = rng
        self.n_rest = self.whole(_USUAL_PAUSES, _FEWEST_PAUSES, _MOST_PAUSES)
        self.reward_sd = self.share(_USUAL_REWARD_SD, 0.0, _MOST_REWARD_SD)

    def whole(self, usual: int, least: int, most: int, given: int | None = None) -> int:
        """Return a given number, or else the documented one or one from `least` to `most`."""
        if given is not None:
            return given
        return usual if self.rng is None else int(self.rng.integers(least, most + 1))

    def share(self, usual: float, least: float, most: float) -> float:
        """Return the documented number, or a random one."""
        return usual if self.rng is None else float(self.rng.uniform(least, most))

    def choice(self, options: Sequence[_T]) -> _T:
        """Return the first of some options, or a random one."""
        return options[0 if self.rng is None else int(self.rng.integers(len(options)))]

    def order(self, options: Sequence[_T]) -> tuple[_T, ...]:
        """Return options in their documented order, or in random order."""
        if self.rng is None:
            return tuple(options)
        return tuple(options[place] for place in self.rng.permutation(len(options)))

    def density(self) -> float:
        """Return the number of places per metre, as a multiple of that of the documented maze."""
        if self.rng is None:
            return 1.0
        return float(np.exp(self.rng.uniform(np.log(_COARSEST), np.log(_FINEST))))
