"""MDPs as networkx graphs, and track graphs as MDPs.

Two kinds of graph are understood. The *graph of an MDP* is a `MultiDiGraph` with one edge per
transition (s, a, s'), keyed by the action. A *track graph* is the field's drawing of a maze
(see `replay.worlds.tracks`): places with `pos`, joined by edges with `distance`; the animal walks
along its edges.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, cast

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from replay.worlds.mdp import MDP

__all__ = ["from_networkx", "to_networkx"]

Nodes = Hashable | Iterable[Hashable]


def to_networkx(mdp: MDP) -> nx.MultiDiGraph:
    """Graph of an MDP.

    Parameters
    ----------
    mdp : MDP

    Returns
    -------
    networkx.MultiDiGraph
        Nodes 0 to n_states - 1 with `terminal`, `start_probability`, and, where the MDP has them,
        `pos` (cm) and `label`; edges keyed by action (int) with `probability` and `reward`; graph
        attributes `name` and `action_names`.

    Examples
    --------
    >>> corridor = MDP.from_tables([[0, 1], [0, 0]], reward=[0, 1], start=0, terminal=[1])
    >>> to_networkx(corridor).edges[0, 1, 1]
    {'probability': 1.0, 'reward': 1.0}
    """
    graph = nx.MultiDiGraph(name=mdp.name, action_names=mdp.action_names)
    for s in range(mdp.n_states):
        terminal, start = bool(mdp.terminal[s]), float(mdp.start_probability[s])
        graph.add_node(s, terminal=terminal, start_probability=start)
    if mdp.position is not None:
        positions = map(tuple, mdp.position.tolist())
        nx.set_node_attributes(graph, dict(enumerate(positions)), "pos")
    if mdp.labels is not None:
        nx.set_node_attributes(graph, dict(enumerate(mdp.labels)), "label")
    state, action = np.divmod(mdp.transition_rows(), mdp.n_actions)
    columns: tuple[NDArray[Any], ...]
    columns = (state, mdp.successor, action, mdp.probability, mdp.reward)
    for u, v, a, p, r in zip(*(column.tolist() for column in columns), strict=True):
        graph.add_edge(u, v, a, probability=p, reward=r)
    return graph


def from_networkx(
    graph: nx.Graph,
    *,
    rewards: Mapping[Hashable, float] | None = None,
    terminal: Nodes = (),
    start: Nodes | Mapping[Hashable, float] | None = None,
    bin_size: float | None = None,
    name: str | None = None,
) -> MDP:
    """Make an MDP of a track graph, or of the graph of an MDP.

    In a track graph action k leads to the k-th neighbour, counted anticlockwise from the east if
    nodes have `pos`, else in the order of `graph.adj`. Where there are fewer neighbours, the other
    actions leave the animal in place, as a wall does, without reward. A `DiGraph` has one-way
    paths; one that joins two nodes both ways has separate states for each direction of travel.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, or MultiDiGraph made by `to_networkx`
        The latter says all itself: the other arguments but `name` are for track graphs.
    rewards : mapping of node to float, optional
        Reward for entering a node. None by default.
    terminal : node or iterable of nodes
        Where episodes end. None by default: the task goes on forever.
    start : node, iterable of nodes, or mapping of node to probability, optional
        Where episodes begin. By default everywhere but in terminal states, with equal probability.
    bin_size : float, optional
        Length of a step in cm. Each edge is divided into equal steps as near to it as possible,
        by its `distance` or else the distance between its nodes' `pos`. By default an edge is
        one step.
    name : str, optional
        By default the graph's own.

    Returns
    -------
    MDP
        The nodes come first, in the graph's order, then the states along edges. Labels are the
        nodes; the k-th state along edge (u, v) has the label (u, v, k).

    Raises
    ------
    ValueError
        If nodes are unknown, lengths are missing, or the graph is of neither kind.

    Examples
    --------
    >>> from replay.worlds.tracks import make_tmaze_track
    >>> track = make_tmaze_track(stem_length=80, arm_length=50)
    >>> t_maze = from_networkx(track, rewards={2: 1.0}, terminal=[2, 3], start=0, bin_size=10)
    >>> t_maze.n_states, t_maze.n_actions
    (19, 3)
    >>> t_maze.position[t_maze.labels.index((0, 1, 3))]
    array([ 0., 30.])
    """
    if graph.is_multigraph():
        given = {"rewards": rewards, "terminal": terminal, "start": start, "bin_size": bin_size}
        for argument, value in given.items():
            if value is not None and value != ():
                raise ValueError(
                    f"{argument} is for track graphs (networkx.Graph or DiGraph); "
                    f"got {type(graph).__name__}, which holds a whole MDP."
                )
        return _from_mdp_graph(graph, name)
    if len(graph) == 0:
        raise ValueError("A track graph needs nodes; got none.")
    rewards = dict(rewards or {})
    _known(graph, "rewards", rewards)
    ends = _known(graph, "terminal", terminal)
    first = start if isinstance(start, Mapping) or start is None else _known(graph, "start", start)
    if isinstance(start, Mapping):
        _known(graph, "start", start)

    walk = graph if bin_size is None else _divide(graph, bin_size)
    number = {node: state for state, node in enumerate(walk)}
    neighbours = {node: _neighbours(walk, node) for node in walk}
    n_actions = max(max(map(len, neighbours.values())), 1)
    transition = np.empty((len(walk), n_actions), dtype=np.int64)
    reward = np.zeros(transition.shape)
    for node, state in number.items():
        transition[state] = state
        for action, neighbour in enumerate(neighbours[node]):
            transition[state, action] = number[neighbour]
            reward[state, action] = rewards.get(neighbour, 0.0)
    start_probability = None
    if first is not None:
        share = first if isinstance(first, Mapping) else dict.fromkeys(first, 1 / len(first))
        start_probability = [share.get(node, 0.0) for node in walk]
    has_pos = all("pos" in data for _, data in walk.nodes(data=True))
    return MDP.from_tables(
        transition,
        reward,
        start=start_probability,
        terminal=[number[node] for node in ends],
        action_names=[f"neighbour {a + 1}" for a in range(n_actions)],
        position=[walk.nodes[node]["pos"] for node in walk] if has_pos else None,
        labels=list(walk),
        name=name or graph.name or "track",
    )


def _from_mdp_graph(graph: nx.MultiGraph, name: str | None) -> MDP:
    """Inverse of `to_networkx`."""
    if not graph.is_directed() or "action_names" not in graph.graph:
        raise ValueError(
            "A MultiDiGraph must come from MDP.to_networkx, with graph attribute 'action_names'; "
            "track graphs are networkx.Graph or DiGraph. "
            f"Got a {type(graph).__name__} with attributes {sorted(graph.graph)}."
        )
    number = {node: state for state, node in enumerate(graph)}
    nodes = list(graph.nodes(data=True))
    edges = list(graph.edges(keys=True, data=True))
    try:
        return MDP.from_transitions(
            [number[u] for u, _, _, _ in edges],
            [action for _, _, action, _ in edges],
            [number[v] for _, v, _, _ in edges],
            [data["probability"] for *_, data in edges],
            [data["reward"] for *_, data in edges],
            start_probability=[data["start_probability"] for _, data in nodes],
            terminal=[data["terminal"] for _, data in nodes],
            action_names=graph.graph["action_names"],
            position=[d["pos"] for _, d in nodes] if all("pos" in d for _, d in nodes) else None,
            labels=[d["label"] for _, d in nodes] if all("label" in d for _, d in nodes) else None,
            name=name or graph.name,
        )
    except KeyError as missing:
        raise ValueError(
            f"The graph of an MDP needs the attribute {missing} on each "
            f"{'edge' if missing.args[0] in ('probability', 'reward') else 'node'}."
        ) from None


def _known(graph: nx.Graph, argument: str, nodes: Nodes) -> list[Hashable]:
    """List nodes given as one node or as several; all must be in the graph."""
    one = isinstance(nodes, Hashable) and nodes in graph
    several = not isinstance(nodes, str) and isinstance(nodes, Iterable)
    listed: list[Any] = list(cast(Iterable, nodes)) if several and not one else [nodes]
    for node in listed:
        if node not in graph:
            some = ", ".join(map(repr, list(graph)[:8])) + (", ..." if len(graph) > 8 else "")
            raise ValueError(f"{argument} names {node!r}, but the graph's nodes are {some}.")
    return listed


def _divide(graph: nx.Graph, bin_size: float) -> nx.Graph:
    """Divide each edge into steps of about `bin_size` cm."""
    if not bin_size > 0:
        raise ValueError(f"bin_size must be above 0 cm; got {bin_size}.")
    walk = graph.__class__()
    walk.add_nodes_from(graph.nodes(data=True))
    for u, v, data in graph.edges(data=True):
        ends = [graph.nodes[node].get("pos") for node in (u, v)]
        has_pos = all(place is not None for place in ends)
        distance = data.get("distance", math.dist(*ends) if has_pos else None)
        if distance is None or not 0 <= distance < math.inf:
            raise ValueError(
                f"With bin_size each edge needs a 'distance' in cm, or a 'pos' at both ends; edge "
                f"({u!r}, {v!r}) has {'neither' if distance is None else distance}."
            )
        # Half a bin and more is rounded up: Python would round 2.5 to 2 but 3.5 to 4.
        n_steps = max(1, math.floor(distance / bin_size + 0.5))
        path = [u, *((u, v, k) for k in range(1, n_steps)), v]
        if has_pos:
            for k, node in enumerate(path[1:-1], start=1):
                walk.add_node(
                    node,
                    pos=tuple(
                        np.add(ends[0], np.subtract(ends[1], ends[0]) * (k / n_steps)).tolist()
                    ),
                )
        nx.add_path(walk, path)
    return walk


def _neighbours(graph: nx.Graph, node: Hashable) -> list[Hashable]:
    """Neighbours in the order of the actions."""
    places = [graph.nodes[n].get("pos") for n in (node, *graph.adj[node])]
    if any(place is None for place in places):
        return list(graph.adj[node])
    here = places[0]

    def turn(neighbour: Hashable) -> float:
        x, y = graph.nodes[neighbour]["pos"]
        # Rounded, lest a neighbour straight to the east come last for a hair's breadth.
        return round(math.atan2(y - here[1], x - here[0]) / math.tau, 9) % 1

    return sorted(graph.adj[node], key=turn)
