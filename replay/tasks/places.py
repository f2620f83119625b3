"""The states of a task: combinations of place, heading and memory, found by walking the graph.

A place is a node of a graph. On tracks that are run in both directions, a place has one state for
each direction of travel, its *heading*, since place cells distinguish the directions. Where a rule
needs more, such as the arm that was visited last, a state has a *memory* too; it stays the same
within a lap. Where a lap ends, the place has a separate terminal state, so that the next lap can
begin at that place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from replay.checks import (
    check_array,
    check_list,
    check_number,
    check_text,
    check_whole,
    shown,
    typed,
)
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.worlds.graphs import anticlockwise
from replay.worlds.mdp import MDP
from replay.worlds.transitions import check_place

_AWAY, _TOWARDS = ">", "<"


class State(NamedTuple):
    """One state of a task.

    Attributes
    ----------
    node : str
        The place.
    heading : str
        ``">"`` away from home, ``"<"`` towards it; empty in tasks without headings.
    memory : str
        The animal's memory in this lap.
    end : bool
        Whether a lap ends here.
    """

    node: str
    heading: str = ""
    memory: str = ""
    end: bool = False


class Rule(NamedTuple):
    """Where laps begin, end and pay for an animal with a given memory.

    Attributes
    ----------
    start : tuple of str
        Nodes where such a lap may begin.
    ends : tuple of str
        Nodes at which it ends.
    rewards : tuple of (str, float)
        Nodes with a reward, and its mean.
    memory : str
    """

    start: tuple[str, ...]
    ends: tuple[str, ...]
    rewards: tuple[tuple[str, float], ...] = ()
    memory: str = ""


class _Moves(NamedTuple):
    """Where all actions lead."""

    memories: tuple[str, ...]  # all that are possible
    memory: Ints  # (n_states,): the number of each state's memory
    here: Ints  # (n_states,): and of its node
    there: Ints  # (n_states, n_actions): the node that an action leads to; -1: none
    # (n_states, n_actions): the states entered if the lap goes on there, and if it ends; -1: none
    passing: Ints
    ending: Ints


@dataclass(frozen=True, eq=False, repr=False)
class Places:
    """All states of a task, and where each action leads; see `explore`."""

    graph: nx.Graph  # nodes have `pos` (x, y) in cm
    states: tuple[State, ...]
    rules: tuple[Rule, ...]  # the rules under which the states were found
    # Node -> its neighbours in the order of the actions: anticlockwise from the east.
    neighbours: Mapping[str, tuple[str, ...]]
    # Node -> its distance from home, which defines headings; empty in tasks without headings.
    steps_from_home: Mapping[str, int]

    @cached_property
    def number(self) -> dict[State, int]:
        """State -> its number."""
        return {state: number for number, state in enumerate(self.states)}

    def __repr__(self) -> str:
        """Show the size."""
        return f"Places({len(self.graph)} nodes, {len(self.states)} states)"

    @property
    def n_actions(self) -> int:
        """The largest number of neighbours of a node, at least 1."""
        return max(max(map(len, self.neighbours.values())), 1)

    def start(self, node: str, memory: str = "") -> State:
        """Return the state in which a lap begins: it heads away from home there, else homewards.

        Parameters
        ----------
        node : str
            Where the lap begins.
        memory : str, optional
            The animal's memory.
        """
        is_home = self.steps_from_home.get(node) == 0
        return State(node, _AWAY if is_home else self._homewards, memory)

    def enter(self, state: State, node: str, end: bool) -> State:
        """Return the state in which a neighbouring node is entered; `end`: the lap ends there."""
        far = self.steps_from_home
        away = bool(far) and far[node] > far[state.node]
        return State(node, _AWAY if away else self._homewards, state.memory, end)

    @property
    def _homewards(self) -> str:
        return _TOWARDS if self.steps_from_home else ""

    def walk(self, nodes: Iterable[str], memory: str = "") -> tuple[int, ...]:
        """Translate the nodes of a lap into the numbers of its states; the lap ends at the last.

        Parameters
        ----------
        nodes : iterable of str
            At least two nodes, each a neighbour of the one before.
        memory : str, optional
            The animal's memory in this lap.
        """
        nodes = check_list("A lap", nodes)
        check_text("memory", memory)
        if len(nodes) < 2:
            raise ValueError(f"A lap has at least two nodes, got {shown(nodes)}.")
        odd = [node for node in nodes if not isinstance(node, str)]
        _check_node(self.graph, (odd or nodes)[0], "A lap")
        states = [self._known(self.start(nodes[0], memory))]
        last = len(nodes) - 1
        for place, node in enumerate(nodes[1:], start=1):
            move = states[-1], node, place == last
            if move not in self._entered:  # most moves are made many times
                state = self.states[states[-1]]
                _check_node(self.graph, node, "A lap")
                if node not in self.neighbours[state.node]:
                    beside = ", ".join(map(repr, self.neighbours[state.node]))
                    raise ValueError(
                        f"A lap goes from neighbour to neighbour; {node!r} is not a neighbour of "
                        f"{state.node!r}, which has {beside}."
                    )
                self._entered[move] = self._known(self.enter(state, node, place == last))
            states.append(self._entered[move])
        return tuple(states)

    @cached_property
    def _entered(self) -> dict[tuple[int, str, bool], int]:
        return {}

    def action(self, state: int, next_state: int) -> int:
        """Return the action that leads from one state to a neighbouring one.

        Parameters
        ----------
        state, next_state : int
            Numbers of states.
        """
        last = len(self.states) - 1
        here = self.states[check_whole("state", state, at_most=last)]
        there = self.states[check_whole("next_state", next_state, at_most=last)]
        if there.node not in self.neighbours[here.node]:
            raise ValueError(f"No action leads from {here.node!r} to {there.node!r}.")
        return self.neighbours[here.node].index(there.node)

    @typed
    def actions(self, path: tuple[int, ...]) -> Int32s:
        """Return the actions that lead along a path, int32 of shape (n_steps,).

        Parameters
        ----------
        path : tuple of int
            Numbers of states.

        Examples
        --------
        >>> track = nx.path_graph(["a", "b", "c"])
        >>> nx.set_node_attributes(track, {"a": (0, 0), "b": (10, 0), "c": (20, 0)}, "pos")
        >>> places = explore(track, [Rule(("a",), ("c",))])
        >>> places.actions(places.walk("abc"))  # of two neighbours, the one in the east is first
        array([0, 0], dtype=int32)
        """
        moves = self._moves
        last = len(moves.here) - 1
        states = check_array(path, "path", kind="whole", at_least=0, at_most=last)
        leads = moves.there[states[:-1]] == moves.here[states[1:], None]
        found: Int32s = np.argmax(leads, axis=1).astype(np.int32)
        for step in np.flatnonzero(~leads.any(axis=1)):
            found[step] = self.action(path[step], path[step + 1])
        return found

    def world(
        self,
        rules: Iterable[Rule] = (),
        closed: Iterable[tuple[str, str]] = (),
        start: int | None = None,
    ) -> MDP:
        """Make the MDP under given rules.

        Action k leads to the k-th neighbour. Where there are fewer, or the move is closed, the
        animal stays where it is, without reward.

        Parameters
        ----------
        rules : iterable of Rule, optional
            At most one for each memory. A memory without a rule here keeps the first rule under
            which its states were found.
        closed : iterable of (str, str), optional
            Moves that cannot be made, from node to node; in an undirected graph name both
            directions.
        start : int, optional
            The state in which laps begin; by default all states in which any lap may begin, with
            equal probability.
        """
        if start is not None:
            check_whole("start", start, at_most=len(self.states) - 1)
        key = (check_list("rules", rules), check_list("closed", closed), start)
        with suppress(TypeError):  # lists are not hashable: the checks will say what is wrong
            if key in self._worlds:  # a protocol asks for the same world lap after lap
                return self._worlds[key]
        _check_rules(self.graph, key[0])
        memories = [rule.memory for rule in key[0]]
        if len(set(memories)) < len(memories):
            raise ValueError(f"There is at most one rule for each memory, got {memories}.")
        check_moves(self.graph, key[1])
        if start is not None:
            self._worlds[key] = self.world(*key[:2]).starting_in(start)
            return self._worlds[key]
        moves = self._moves
        node = {name: number for number, name in enumerate(self.graph)}
        by_memory = {rule.memory: rule for rule in (*reversed(self.rules), *key[0])}
        is_end = np.zeros((len(moves.memories), len(node) + 1), dtype=bool)
        pays = np.zeros(is_end.shape)
        for number, memory in enumerate(moves.memories):
            is_end[number, [node[end] for end in by_memory[memory].ends]] = True
            for name, amount in by_memory[memory].rewards:
                pays[number, node[name]] = amount
        here, there, remembered = moves.here[:, None], moves.there, moves.memory[:, None]
        barred = np.zeros(there.shape, dtype=bool)
        for origin, target in key[1]:
            barred |= (here == node[origin]) & (there == node[target])
        stays = barred | (there < 0)
        entered = np.where(is_end[remembered, there], moves.ending, moves.passing)
        paid = np.where(stays, 0.0, pays[remembered, there])
        self._worlds[key] = made = self._mdp(entered, paid, stays)
        return made

    @cached_property
    def _worlds(self) -> dict[Any, MDP]:
        return {}

    @cached_property
    def whole(self) -> MDP:
        """All moves that can ever be made, as an MDP without reward.

        No move is closed, and laps go on wherever they may under some rule.
        """
        moves = self._moves
        entered = np.where(moves.passing >= 0, moves.passing, moves.ending)
        return self._mdp(entered, np.zeros(entered.shape), moves.there < 0)

    @cached_property
    def _moves(self) -> _Moves:
        """Tabulate where all actions lead."""
        node = {name: number for number, name in enumerate(self.graph)}
        memories = tuple(dict.fromkeys(state.memory for state in self.states))
        shape = len(self.states), self.n_actions
        there, passing, ending = (np.full(shape, -1) for _ in range(3))
        for number, state in enumerate(self.states):
            for action, name in enumerate(() if state.end else self.neighbours[state.node]):
                there[number, action] = node[name]
                entered = self.enter(state, name, False)
                passing[number, action] = self.number.get(entered, -1)
                ending[number, action] = self.number.get(entered._replace(end=True), -1)
        here = np.array([node[state.node] for state in self.states])
        memory = np.array([memories.index(state.memory) for state in self.states])
        return _Moves(memories, memory, here, there, passing, ending)

    def _mdp(self, entered: Ints, reward: Floats, stays: Bools) -> MDP:
        """Make an MDP from the states entered; where `stays`, the animal stays in its state."""
        for number, action in np.argwhere((entered < 0) & ~stays)[:1]:
            state = self.states[number]
            self._known(self.enter(state, self.neighbours[state.node][action], False))
            self._known(self.enter(state, self.neighbours[state.node][action], True))
        start = np.bincount(self.starts, minlength=len(self.states)) / len(self.starts)
        return MDP.from_tables(
            np.where(stays, np.arange(len(self.states))[:, None], entered),
            reward,
            start=start,
            terminal=[state.end for state in self.states],
            action_names=[f"neighbour {action + 1}" for action in range(self.n_actions)],
            position=[self.graph.nodes[state.node]["pos"] for state in self.states],
            labels=self.states,
            name="task",
        )

    @cached_property
    def starts(self) -> Ints:
        """States in which laps may begin."""
        states = (self.start(n, rule.memory) for rule in self.rules for n in rule.start)
        return np.unique([self.number[state] for state in states])

    def _known(self, state: State) -> int:
        if state not in self.number:
            raise ValueError(
                f"The task has no state {state}: give explore() every rule under which it can be "
                "entered."
            )
        return self.number[state]


def explore(graph: nx.Graph, rules: Iterable[Rule], home: str | None = None) -> Places:
    """Find all states that can be entered under any of the rules, with no move closed.

    Parameters
    ----------
    graph : networkx.Graph or DiGraph
        Places with `pos` (x, y) in cm. In a DiGraph moves follow the direction of the edges.
    rules : iterable of Rule
        All rules of the task, of all its blocks.
    home : str, optional
        Gives states a heading: away from this node, or towards it. Neighbours must differ in their
        distance from it.

    Examples
    --------
    Three places on a line that is run in both directions; the animal remembers where the lap began:

    >>> track = nx.path_graph(["a", "b", "c"])
    >>> nx.set_node_attributes(track, {"a": (0, 0), "b": (10, 0), "c": (20, 0)}, "pos")
    >>> rules = [Rule(("a",), ("a", "c"), (("c", 1.0),), "out"),
    ...          Rule(("c",), ("a", "c"), (("a", 1.0),), "in")]
    >>> places = explore(track, rules, home="a")
    >>> [state.node + state.heading for state in places.states if state.memory == "out"]
    ['a>', 'b>', 'c>', 'a<']
    >>> places.walk(["c", "b", "a"], "in")
    (4, 5, 7)
    """
    check_graph(graph)
    rules = check_list("rules", rules)
    if not rules:
        raise ValueError("A task needs at least one rule: where laps begin and end; got none.")
    _check_rules(graph, rules)
    if home is not None:
        _check_node(graph, home, "home")
    positions = dict(graph.nodes(data="pos"))
    neighbours = {node: tuple(anticlockwise(graph, node, positions)) for node in graph}
    distance: dict[str, int] = {}
    if home is not None:
        distance = dict(
            nx.single_source_shortest_path_length(graph.to_undirected(as_view=True), home)
        )
    for node, neighbour in graph.edges if home is not None else ():
        if node not in distance or distance.get(neighbour) == distance[node]:
            raise ValueError(
                f"Headings are defined by the distance from {home!r}, but {node!r} and "
                f"{neighbour!r} are equally far from it, or cannot be reached: leave out home."
            )
    places = Places(graph, (), rules, neighbours, distance)
    found: dict[State, None] = {}
    for memory in dict.fromkeys(rule.memory for rule in rules):
        known = [rule for rule in rules if rule.memory == memory]
        waiting = deque(places.start(node, memory) for rule in known for node in rule.start)
        while waiting:
            state = waiting.popleft()
            if state in found:
                continue
            found[state] = None
            for node in neighbours[state.node] if not state.end else ():
                ends = {node in rule.ends for rule in known}
                waiting.extend(places.enter(state, node, end) for end in sorted(ends))
    return replace(places, states=tuple(found))


def check_graph(graph: object) -> None:
    """Check the graph of a task: nodes are texts with `pos`, two nodes have at most one edge."""
    if not isinstance(graph, nx.Graph) or graph.is_multigraph():
        raise TypeError(f"A task needs a networkx Graph or DiGraph, got {shown(graph)}.")
    if len(graph) == 0:
        raise ValueError("The graph of a task needs at least one node, got none.")
    for node, data in graph.nodes(data=True):
        check_text("Each place", node)
        if "pos" not in data:
            raise ValueError(f"Each place needs 'pos', (x, y) in cm; {node!r} has none.")
        check_place(data["pos"], f"'pos' of {node!r}")


def check_moves(graph: nx.Graph, moves: object) -> None:
    """Check a list of moves from node to node."""
    for move in check_list("closed", moves):
        if not isinstance(move, Sequence) or isinstance(move, str) or len(move) != 2:
            raise ValueError(f"Closed moves must be pairs (from, to) of nodes; got {shown(move)}.")
        for node in move:
            _check_node(graph, node, "A closed move")


def check_node_rewards(graph: nx.Graph, rewards: object) -> None:
    """Check the rewards of a block or rule."""
    pairs = rewards.items() if isinstance(rewards, Mapping) else rewards
    for pair in check_list("rewards", pairs):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"Rewards must be pairs (node, mean reward); got {shown(pair)}.")
        _check_node(graph, pair[0], "A reward")
        check_number(f"The reward at {pair[0]!r}", pair[1], at_least=-1e100, at_most=1e100)


def _check_rules(graph: nx.Graph, rules: tuple[Rule, ...]) -> None:
    for rule in rules:
        if not isinstance(rule, Rule):
            raise TypeError(f"Each rule must be a Rule, got {shown(rule)}.")
        check_text("The memory of a rule", rule.memory)
        for what in ("start", "ends"):
            nodes = getattr(rule, what)
            if not isinstance(nodes, tuple):
                raise ValueError(
                    f"{what!r} of a rule must be a tuple of nodes, got {shown(nodes)}."
                )
            for node in nodes:
                _check_node(graph, node, "A rule")
        if not rule.start:
            raise ValueError("A rule needs at least one node where laps may begin, got none.")
        if not isinstance(rule.rewards, tuple):
            raise ValueError(
                "'rewards' of a rule must be a tuple of (node, mean reward), got "
                f"{shown(rule.rewards)}."
            )
        check_node_rewards(graph, rule.rewards)


def _check_node(graph: nx.Graph, node: object, what: str) -> None:
    if not isinstance(node, str) or node not in graph:
        some = ", ".join(list(graph)[:40]) + (", ..." if len(graph) > 40 else "")
        raise ValueError(f"{what} names {shown(node)}, but the places are {some}.")
