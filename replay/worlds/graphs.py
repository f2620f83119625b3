"""Conversions between MDPs and networkx graphs.

There are two kinds of graph. The *graph of an MDP* is a `MultiDiGraph` with one edge per transition
(s, a, s'), keyed by the action. A *track graph* is the field's usual description of a maze (see
`replay.worlds.tracks`): places with `pos`, joined by edges with `distance`, along which the animal
walks.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from replay.checks import (
    LARGEST_NUMBER,
    check_array,
    check_bin_size,
    check_list,
    check_number,
    check_text,
    shown,
)
from replay.checks.arrays import Floats
from replay.worlds.track_drawing import check_drawing
from replay.worlds.transitions import (
    Transitions,
    check_action_names,
    check_indices,
    check_labels,
    check_place,
    check_position,
    check_size,
    list_transitions,
)

_MOST_STEPS = 1_000_000
_SHORTEST = 10.0  # cm, of all edges of a track; an animal is longer


def to_networkx(transitions: Transitions) -> nx.MultiDiGraph:
    """Make the graph of an MDP."""
    graph = nx.MultiDiGraph(name=transitions.name, action_names=transitions.action_names)
    ends, starts = transitions.terminal.tolist(), transitions.start_probability.tolist()
    for state, (terminal, start) in enumerate(zip(ends, starts, strict=True)):
        graph.add_node(state, terminal=terminal, start_probability=start)
    if transitions.position is not None:
        positions = map(tuple, transitions.position.tolist())
        nx.set_node_attributes(graph, dict(enumerate(positions)), "pos")
    if transitions.labels is not None:
        nx.set_node_attributes(graph, dict(enumerate(transitions.labels)), "label")
    columns: tuple[NDArray[Any], ...] = (
        transitions.state,
        transitions.next_state,
        transitions.action,
        transitions.probability,
        transitions.reward,
    )
    for u, v, a, p, r in zip(*(column.tolist() for column in columns), strict=True):
        graph.add_edge(u, v, a, probability=p, reward=r)
    return graph


def from_networkx(
    graph: object,
    *,
    rewards: object = None,
    terminal: object = (),
    start: object = None,
    bin_size: float | None = None,
    name: str | None = None,
) -> Transitions:
    """List the transitions of a track graph, or of the graph of an MDP."""
    if not isinstance(graph, nx.Graph):
        raise TypeError(f"graph must be a networkx graph, got {shown(graph)}.")
    if name is not None:
        check_text("The name of an MDP", name)
    if graph.is_multigraph():
        given = {"rewards": rewards, "terminal": terminal, "start": start, "bin_size": bin_size}
        for argument, value in given.items():
            if value is not None and not (isinstance(value, tuple) and not value):
                raise ValueError(
                    f"{argument} is only for track graphs (networkx.Graph or DiGraph); "
                    f"got {type(graph).__name__}, which holds a whole MDP."
                )
        return _from_mdp_graph(graph, name)
    if len(graph) == 0:
        raise ValueError("A track graph needs nodes; got none.")
    paid = _by_node(graph, "rewards", {} if rewards is None else rewards)
    ends = _known(graph, "terminal", terminal)
    share: dict[Hashable, float] | None = None
    if isinstance(start, Mapping):
        share = _by_node(graph, "start", start)
    elif start is not None:
        first = _known(graph, "start", start)
        if not first:
            raise ValueError("start lists no node; without it, episodes begin everywhere.")
        share = dict.fromkeys(first, 1 / len(first))

    placed = ((node, pos) for node, pos in graph.nodes(data="pos") if pos is not None)
    positions = {node: check_place(pos, f"'pos' of node {node!r}") for node, pos in placed}
    check_drawing(graph, positions)
    walk = graph if bin_size is None else _divide(graph, bin_size, positions)
    number = {node: state for state, node in enumerate(walk)}
    neighbours = {node: anticlockwise(walk, node, positions) for node in walk}
    n_actions = max(*map(len, neighbours.values()), 1)
    transition = np.empty((len(walk), n_actions), dtype=np.int64)
    reward = np.zeros(transition.shape)
    for node, state in number.items():
        transition[state] = state
        for action, neighbour in enumerate(neighbours[node]):
            transition[state, action] = number[neighbour]
            reward[state, action] = paid.get(neighbour, 0.0)
    is_terminal = np.zeros(len(walk), dtype=bool)
    is_terminal[[number[node] for node in ends]] = True
    return list_transitions(
        transition,
        reward,
        start=None if share is None else [share.get(node, 0.0) for node in walk],
        terminal=is_terminal,
        action_names=[f"neighbour {a + 1}" for a in range(n_actions)],
        position=[positions[node] for node in walk] if len(positions) == len(walk) else None,
        labels=list(walk),
        name=name or graph.name or "track",
    )


def _from_mdp_graph(graph: nx.MultiGraph, name: str | None) -> Transitions:
    """Convert a graph from `to_networkx` back."""
    if not graph.is_directed() or "action_names" not in graph.graph:
        raise ValueError(
            "A MultiDiGraph must come from MDP.to_networkx, with the graph attribute "
            "'action_names'; track graphs are networkx.Graph or DiGraph. "
            f"Got a {type(graph).__name__} with attributes {shown(list(graph.graph))}."
        )
    number = {node: state for state, node in enumerate(graph)}
    nodes = list(graph.nodes(data=True))
    edges = list(graph.edges(keys=True, data=True))
    names = check_action_names(graph.graph["action_names"])
    check_size(len(nodes), len(names))
    state = np.array([number[u] for u, _, _, _ in edges], dtype=np.int64)
    action = check_array([key for *_, key, _ in edges], "The keys of edges, actions,", kind="whole")
    check_indices("action", action, len(names), state, action)

    def of_nodes(attribute: str) -> list[Any]:
        return [_attribute(data, attribute, f"node {node!r}") for node, data in nodes]

    def of_edges(attribute: str) -> Floats:
        values = [_attribute(data, attribute, f"edge {(u, v, key)!r}") for u, v, key, data in edges]
        return check_array(values, f"{attribute!r} of the edges", kind="number")

    has_position, has_label = (
        bool(nodes) and all(key in data for _, data in nodes) for key in ("pos", "label")
    )
    return Transitions(
        state=state,
        action=action,
        next_state=np.array([number[v] for _, v, _, _ in edges], dtype=np.int64),
        probability=of_edges("probability"),
        reward=of_edges("reward"),
        start_probability=check_array(
            of_nodes("start_probability"), "'start_probability' of the nodes", kind="number"
        ),
        terminal=check_array(of_nodes("terminal"), "'terminal' of the nodes", kind="flag"),
        action_names=names,
        position=check_position(of_nodes("pos"), len(nodes)) if has_position else None,
        labels=check_labels(of_nodes("label"), len(nodes)) if has_label else None,
        name=check_text("The name of the graph", graph.name) if name is None else name,
    )


def _attribute(data: Mapping[str, Any], attribute: str, where: str) -> Any:
    if attribute not in data:
        kind = where.split()[0]
        raise ValueError(
            f"The graph of an MDP needs the attribute {attribute!r} on each {kind}; {where} has "
            f"{shown(sorted(map(str, data)))}."
        )
    return data[attribute]


def _known(graph: nx.Graph, argument: str, nodes: object) -> list[Hashable]:
    """List one node or several nodes, each once; all must be in the graph."""
    several = not isinstance(nodes, str) and isinstance(nodes, Iterable)
    listed = check_list(argument, nodes) if several and not _is_node(graph, nodes) else (nodes,)
    for node in listed:
        if not _is_node(graph, node):
            some = ", ".join(map(repr, list(graph)[:8])) + (", ..." if len(graph) > 8 else "")
            raise ValueError(f"{argument} names {shown(node)}, but the graph's nodes are {some}.")
    return list(dict.fromkeys(listed))


def _is_node(graph: nx.Graph, node: object) -> bool:
    # True and False equal the nodes 1 and 0, but are hardly meant as such.
    is_flag = isinstance(node, bool | np.bool_)
    return node in graph and (not is_flag or any(node is each for each in graph))


def _by_node(graph: nx.Graph, argument: str, values: object) -> dict[Hashable, float]:
    """Check a mapping of nodes to numbers."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{argument} must be a dict of node to number, got {shown(values)}.")
    nodes = _known(graph, argument, list(values))
    return {node: check_number(f"{argument} of node {node!r}", values[node]) for node in nodes}


def _divide(
    graph: nx.Graph, bin_size: float, positions: dict[Hashable, tuple[float, float]]
) -> nx.Graph:
    """Divide each edge into steps of about `bin_size` cm; add the positions of the new states."""
    bin_size = check_number("bin_size", bin_size)
    if not bin_size > 0:
        raise ValueError(f"bin_size must be above 0 cm; got {bin_size}.")
    walk = graph.__class__()
    walk.add_nodes_from(graph)
    n_new, total = 0, 0.0
    for u, v, data in graph.edges(data=True):
        here, there = (positions.get(node) for node in (u, v))
        distance = data.get("distance")
        if distance is None and here is not None and there is not None:
            distance = math.dist(here, there)
        if distance is None:
            raise ValueError(
                "With bin_size each edge needs a 'distance' in cm, or a 'pos' at both ends; edge "
                f"{(u, v)!r} has neither."
            )
        what = f"'distance' in cm of edge {(u, v)!r}"
        length = check_number(what, distance, at_least=0, at_most=LARGEST_NUMBER)
        total += length
        # Half bins are rounded up: Python would round 2.5 to 2 but 3.5 to 4.
        n_steps = max(1, math.floor(min(length / bin_size, 2.0 * _MOST_STEPS) + 0.5))
        n_new += n_steps - 1
        if n_new > _MOST_STEPS:
            raise ValueError(
                f"A bin_size of {bin_size} cm makes more than {_MOST_STEPS} states along the edges "
                "of the track. Lengths are in cm; make the bins larger."
            )
        path = [u, *((u, v, k) for k in range(1, n_steps)), v]
        for k, node in enumerate(path[1:-1], start=1):
            if node in graph:
                raise ValueError(
                    f"The node {node!r} has the same name as a state along the edge {(u, v)!r}: "
                    "give it another name."
                )
            if here is not None and there is not None:
                x, y = np.add(here, np.subtract(there, here) * (k / n_steps)).tolist()
                positions[node] = (x, y)
        nx.add_path(walk, path)
    check_bin_size(bin_size, n_new + graph.number_of_edges())
    if 0 < total < _SHORTEST:
        warnings.warn(
            f"The track is {total:.3g} cm long in all. Lengths, positions and bin_size are in cm: "
            "multiply metres by 100.",
            stacklevel=6,
        )
    return walk


def anticlockwise(
    graph: nx.Graph, node: Hashable, positions: Mapping[Hashable, tuple[float, float]]
) -> list[Any]:
    """List the neighbours of a node as actions are numbered: anticlockwise from the east.

    In the order of the graph if a position is unknown.
    """
    listed: list[Hashable] = list(graph.adj[node])
    if any(each not in positions for each in (node, *listed)):
        return listed
    here = positions[node]

    def turn(neighbour: Hashable) -> float:
        x, y = positions[neighbour]
        # Rounded, so that a neighbour in the east never comes last by a rounding error.
        return round(math.atan2(y - here[1], x - here[0]) / math.tau, 9) % 1

    return sorted(listed, key=turn)
