"""Paths through a maze, and tasks whose laps follow known routes in turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

from replay.checks import check_choice, shown, typed
from replay.tasks.places import Rule, check_graph, explore
from replay.tasks.task import Block, Lap, Laps, Task, check_blocks


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
    steps = _steps_to(graph, start, end)
    beside = dict(graph.adjacency())
    path = [start]
    while path[-1] != end:
        # Where moves have one direction, the end may not be reached from every place.
        open_to = [node for node in beside[path[-1]] if node in steps]
        choices = [node for node in open_to if node not in path[-2:]] or open_to
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
    pairs = [tuple(edge) for edge in edges]
    for edge in pairs:
        if len(edge) != 2:
            raise ValueError(f"{name} must list pairs of nodes, got {shown(edge)}.")
    return pairs


_ABOUT = (
    *("landmarks", "local_radius", "one_way", "remark", "choices", "headings", "lap_names"),
    "reward_sd",
)


@typed
def task_of_routes(
    name: str,
    graph: nx.Graph,
    routes: Mapping[str, Sequence[str]],
    blocks: Sequence[Block],
    *,
    home: str | None = None,
    **about: Any,
) -> Task:
    """Make a task whose laps follow given routes in turn.

    The contingency of a block names its routes; they are run in this order, again and again. A
    route that does not begin where the animal is has to wait; if none does, the animal is carried.
    A lap ends where any route ends, and pays the rewards of the block, except at the place where it
    began, which the animal remembers.

    Parameters
    ----------
    name : str
        Name of the task in logs.
    graph : networkx.Graph or DiGraph
        Places with `pos` (x, y) in cm.
    routes : mapping of str to sequence of str
        Name of a lap -> its nodes.
    blocks : sequence of Block
        The blocks in the order in which they are run.
    home : str, optional
        Gives states a heading: away from this node, or towards it.
    **about
        Further parameters of `Task`: landmarks, local_radius, one_way, remark, choices, headings,
        lap_names, reward_sd.

    Examples
    --------
    >>> track = nx.path_graph(["a", "b", "c"])
    >>> nx.set_node_attributes(track, {"a": (0, 0), "b": (10, 0), "c": (20, 0)}, "pos")
    >>> task = task_of_routes(
    ...     "short_track", track, {"out": "abc", "in": "cba"},
    ...     [Block("equal", 4, ("out", "in"), {"a": 1.0, "c": 1.0})], home="a",
    ... )
    >>> task.places
    ('a>', 'b>', 'c>', 'a<', 'b<', 'c<')
    """
    check_graph(graph)
    if not routes:
        raise ValueError(f"routes must be a dict of name to nodes, got {shown(routes)}.")
    paths = {route: tuple(nodes) for route, nodes in routes.items()}
    for route, nodes in paths.items():
        if len(nodes) < 2:
            raise ValueError(
                f"The route {shown(route)} must have at least two nodes, got {shown(nodes)}."
            )
    blocks = check_blocks(graph, blocks)
    # The pauses after each block, those of following blocks without laps included.
    rests = [block.n_rest for block in blocks]
    for k in range(len(blocks) - 1, 0, -1):
        rests[k - 1] += rests[k] * (blocks[k].n_laps == 0)
    for block in blocks:
        for route in block.contingency:
            check_choice(f"route in the block {block.name!r}:", route, paths)
        if block.n_laps and not block.contingency:
            raise ValueError(f"The block {block.name!r} has laps but no route in its contingency.")
    for argument in about:
        check_choice("argument of a task", argument, _ABOUT)
    starts = tuple(dict.fromkeys(path[0] for path in paths.values()))
    ends = tuple(dict.fromkeys(path[-1] for path in paths.values()))

    def rules(rewards: Mapping[str, float]) -> list[Rule]:
        return [
            Rule(
                (start,),
                tuple(node for node in ends if node != start),
                tuple((node, reward) for node, reward in rewards.items() if node != start),
                memory=start,
            )
            for start in starts
        ]

    def protocol(task: Task, rng: np.random.Generator) -> Laps:
        here = ""
        for block, n_rest_after in zip(task.blocks, rests, strict=True):
            order = block.contingency
            place = 0
            for number in range(block.n_laps):
                turn = [(place + k) % len(order) for k in range(len(order))]
                fitting = [k for k in turn if paths[order[k]][0] == here]
                chosen = (fitting or turn)[0]
                route, place = order[chosen], chosen + 1
                path = task.model.walk(paths[route], paths[route][0])
                world = task.model.world(rules(block.rewards), block.closed, path[0])
                n_rest = n_rest_after if number == block.n_laps - 1 else 0
                run = yield Lap(world, path[0], path, block.name, route, n_rest)
                here = task.model.states[run[-1]].node

    names = {(path[0], path[-1]): name for name, path in paths.items()}
    about = {"lap_names": names} | about
    return Task(name, explore(graph, rules({}), home), protocol, blocks, **about)
