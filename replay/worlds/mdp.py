"""Markov decision processes as sparse tables.

A world is a finite Markov decision process (MDP) [1]_: in state s the animal takes action a, enters
state s' with probability P(s' | s, a) and receives the reward r(s, a, s'). Episodes begin in a
state drawn from the start distribution and end on entering a terminal state; a world without
terminal states goes on forever.

The transitions are stored as compressed rows, one row per pair (s, a), numbered s * n_actions + a.
The rest of the toolkit reads these tables.

References
----------
.. [1] Sutton & Barto (2018), Reinforcement Learning: An Introduction, 2nd edition, chapter 3. MIT
   Press. http://incompleteideas.net/book/the-book-2nd.html
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from replay.checks import check_array, check_text, check_whole, shown
from replay.checks.arrays import Bools, Floats, Int32s
from replay.worlds import solutions
from replay.worlds.solutions import Solution
from replay.worlds.transitions import (
    Transitions,
    check_action_names,
    check_indices,
    check_labels,
    check_position,
    check_rewards,
    check_size,
    close_moves,
    list_transitions,
    name_pair,
)

if TYPE_CHECKING:
    import gymnasium
    import networkx as nx


PROBABILITY_TOLERANCE = 1e-9
_MOST_SHOWN = 8  # names of actions, in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class MDP:
    """A finite Markov decision process, checked when it is made and read-only afterwards.

    `MDP.from_tables`, `MDP.from_networkx`, `MDP.from_gymnasium` and the modules `trees`, `mazes`
    and `tracks` of `replay.worlds` are easier to use than this constructor.

    Parameters
    ----------
    successor_offset : ndarray of int32, shape (n_states * n_actions + 1,)
        The transitions of action a in state s have the numbers `successor_offset[i]` to
        `successor_offset[i + 1]` (exclusive) with i = s * n_actions + a.
    successor : ndarray of int32, shape (n_transitions,)
        The state entered; ascending within a row, each state once.
    probability : ndarray of float64, shape (n_transitions,)
        P(s' | s, a), larger than 0; a row sums to 1.
    reward : ndarray of float64, shape (n_transitions,)
        r(s, a, s').
    start_probability : ndarray of float64, shape (n_states,)
        Distribution of an episode's first state; 0 in terminal states.
    terminal : ndarray of bool, shape (n_states,)
        Entering such a state ends the episode. Its rows are empty.
    action_names : tuple of str, length n_actions
    position : ndarray of float64, shape (n_states, 2), optional
        Positions of the states in cm, y upwards.
    labels : tuple, length n_states, optional
        The user's names of the states, for example maze cells or nodes of a track graph.
    name : str, default "mdp"

    Examples
    --------
    A corridor of three places with the reward at its right end:

    >>> corridor = MDP.from_tables(
    ...     [[0, 1], [0, 2], [2, 2]], reward=[0, 0, 1], start=0, terminal=[2],
    ...     action_names=("left", "right"), name="corridor",
    ... )
    >>> corridor
    MDP('corridor', n_states=3, n_actions=2, n_transitions=4)
    >>> corridor.successors(1, 1)
    array([2], dtype=int32)
    >>> corridor.solve(discount=0.5).state_values
    array([0.5, 1. , 0. ])
    """

    successor_offset: Int32s
    successor: Int32s
    probability: Floats
    reward: Floats
    start_probability: Floats
    terminal: Bools
    action_names: tuple[str, ...]
    position: Floats | None = None
    labels: tuple[Hashable, ...] | None = None
    name: str = "mdp"

    def __post_init__(self) -> None:
        """Copy the tables, make them read-only, and check them."""
        ends = check_array(self.terminal, "terminal", kind="flag")
        tables = {
            "successor_offset": _numbers_of_32_bits("successor_offset", self.successor_offset),
            "successor": _numbers_of_32_bits("successor", self.successor),
            "probability": check_array(self.probability, "probability", kind="number"),
            "reward": check_rewards(self.reward),
            "start_probability": check_array(
                self.start_probability, "start_probability", kind="number"
            ),
            "terminal": ends,
            "position": check_position(self.position, len(ends)),
        }
        for name, table in tables.items():
            if table is not None:
                table = table.copy() if np.shares_memory(table, getattr(self, name)) else table
                table.setflags(write=False)
            object.__setattr__(self, name, table)
        names = check_action_names(self.action_names)
        object.__setattr__(self, "action_names", names)
        n_states, n_actions, n_transitions = self.n_states, self.n_actions, self.n_transitions
        check_size(n_states, n_actions)
        shapes: dict[str, tuple[int, ...]] = {
            "successor_offset": (n_states * n_actions + 1,),
            "probability": (n_transitions,),
            "reward": (n_transitions,),
            "start_probability": (n_states,),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(
                    f"{name} must have shape {shape} for {n_states} states, {n_actions} actions "
                    f"and {n_transitions} transitions; got {getattr(self, name).shape}."
                )
        _check_rows(self)
        start = self.start_probability
        for wrong in np.flatnonzero((start < 0) | (self.terminal & (start > 0)))[:1]:
            what = "is terminal" if self.terminal[wrong] else "has a negative probability"
            raise ValueError(
                f"Episodes cannot start in state {wrong}: it {what} (start probability "
                f"{start[wrong]})."
            )
        if abs(start.sum() - 1) > PROBABILITY_TOLERANCE:
            raise ValueError(f"start_probability must sum to 1; got {float(start.sum())!r}.")
        labels = check_labels(self.labels, self.n_states)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "name", check_text("The name of an MDP", self.name))

    # -- size and parts ---------------------------------------------------------------------

    @property
    def n_states(self) -> int:
        """Number of states, terminal ones included."""
        return len(self.terminal)

    @property
    def n_actions(self) -> int:
        """Number of actions; each is available in each state that is not terminal."""
        return len(self.action_names)

    @property
    def n_transitions(self) -> int:
        """Number of transitions (s, a, s') with a probability above 0."""
        return len(self.successor)

    def successors(self, state: int, action: int) -> Int32s:
        """States that `action` can lead to from `state`, ascending; none if it is terminal.

        Parameters
        ----------
        state, action : int
            The pair (s, a), as numbers, not labels.

        Examples
        --------
        >>> MDP.from_tables([[1], [0]], reward=[0, 1]).successors(0, 0)
        array([1], dtype=int32)
        """
        state = check_whole("state", state, at_most=self.n_states - 1)
        action = check_whole("action", action, at_most=self.n_actions - 1)
        row = state * self.n_actions + action
        return self.successor[self.successor_offset[row] : self.successor_offset[row + 1]]

    def starting_in(self, state: Hashable) -> MDP:
        """Return the same world with all episodes starting in one state.

        Parameters
        ----------
        state : int or label
            A state that is not terminal, named as for `with_barrier`.

        Examples
        --------
        >>> MDP.from_tables([[1], [0]], reward=[0, 1]).starting_in(1).start_probability
        array([0., 1.])
        """
        named = self._states(state)
        first = named[~self.terminal[named]]
        if not len(first):
            raise ValueError(f"No episode can start in state {shown(state)}, which is terminal.")
        if len(first) > 1:
            raise ValueError(
                f"{len(first)} states of {self.name!r} have the label {shown(state)}: give them "
                "different labels."
            )
        start = np.zeros(self.n_states)
        start[first] = 1.0
        start.setflags(write=False)
        same = object.__new__(MDP)  # everything else has been checked
        for each in fields(self):
            object.__setattr__(same, each.name, getattr(self, each.name))
        object.__setattr__(same, "start_probability", start)
        return same

    def with_barrier(self, one: Hashable, other: Hashable) -> MDP:
        """Return the same world with a barrier between two neighbouring states.

        A move from one to the other, in either direction, then leaves the animal in place,
        unrewarded.

        Parameters
        ----------
        one, other : int or label
            Labels of states: cells (x, y) of a maze, nodes of a track graph. In a world without
            labels, or none of whose labels is a whole number, also numbers of states. Where nodes
            are numbered, 2 is the node 2, whatever the number of its state.

        Returns
        -------
        MDP
            With the same states and actions, so that a :class:`replay.Protocol` may have both.

        Examples
        --------
        >>> from replay.worlds.mazes import open_maze
        >>> maze = open_maze()
        >>> blocked = maze.with_barrier((9, 5), (9, 6))  # below the goal, its only side
        >>> maze.steps_to_end.max(), blocked.steps_to_end.max()
        (np.float64(15.0), np.float64(inf))
        """
        a, b = self._states(one), self._states(other)
        moves = self.transitions()
        leaves = moves.state != moves.next_state
        is_closed = np.zeros(len(leaves), dtype=bool)
        for here, there in ((a, b), (b, a)):
            is_closed |= np.isin(moves.state, here) & np.isin(moves.next_state, there) & leaves
        if not is_closed.any():
            near = np.unique(moves.next_state[np.isin(moves.state, a) & leaves])
            is_number = self._has_numbers and _is_whole(one)
            names = range(self.n_states) if is_number or self.labels is None else self.labels
            known = [shown(names[state]) for state in near.tolist()]
            raise ValueError(
                "A barrier stands between two neighbouring states; no move leads from "
                f"{shown(one)} to {shown(other)}. From {shown(one)} moves lead to "
                f"{', '.join(known) or 'no other state'}."
            )
        return MDP.from_transitions(**close_moves(moves, is_closed)._asdict())

    def _states(self, place: Hashable) -> NDArray[np.intp]:
        """Find the states with a label; or that with a number, which no label can be mistaken for.

        Episodes of a Gymnasium environment may end in a copy of a state, which has its label.
        """
        if self._has_numbers and (self.labels is None or _is_whole(place)):
            return np.array([check_whole("state", place, at_most=self.n_states - 1)])
        found: list[int] = []
        with suppress(TypeError):
            hash(place)  # a tuple that holds an array is not equal or unequal to others
            found = [
                state for state, label in enumerate(self.labels or ())
                if label == place and isinstance(label, bool) == isinstance(place, bool)
            ]  # fmt: skip
        if not found:
            number = f", or a number from 0 to {self.n_states - 1}" * self._has_numbers
            raise ValueError(
                f"{self.name!r} has no state with the label {shown(place)}; its labels are like "
                f"{shown((self.labels or ())[0])}. Give a label{number}."
            )
        return np.array(found)

    @cached_property
    def _has_numbers(self) -> bool:
        """Whether a whole number is that of a state, since it is no label."""
        return not any(map(_is_whole, self.labels or ()))

    def transition_rows(self) -> NDArray[np.intp]:
        """Return the row s * n_actions + a of every transition, shape (n_transitions,)."""
        rows = np.arange(self.n_states * self.n_actions)
        return np.repeat(rows, np.diff(self.successor_offset))

    def transition_matrix(self) -> sparse.csr_array:
        """Return P(s' | s, a), a sparse matrix of shape (n_states * n_actions, n_states)."""
        return sparse.csr_array(
            (self.probability, self.successor, self.successor_offset),
            shape=(self.n_states * self.n_actions, self.n_states),
            copy=True,
        )

    def expected_reward(self) -> Floats:
        """Return the mean reward of every pair (s, a), shape (n_states, n_actions); 0 at ends."""
        total = np.bincount(
            self.transition_rows(),
            weights=self.probability * self.reward,
            minlength=self.n_states * self.n_actions,
        )
        return total.astype(float).reshape(self.n_states, self.n_actions)

    @cached_property
    def cumulative_probability(self) -> Floats:
        """Cumulative P(s' | s, a) within each row, shape (n_transitions,)."""
        total = np.cumsum(self.probability)
        before = np.concatenate(([0.0], total))[self.successor_offset[self.transition_rows()]]
        return total - before

    @cached_property
    def steps_to_end(self) -> Floats:
        """Least number of steps to a terminal state; infinite without a path; shape (n_states,)."""
        return solutions.steps_to_end(self.transition_matrix(), self.terminal, self.n_actions)

    @cached_property
    def start_states(self) -> Int32s:
        """States in which episodes may start, ascending."""
        states = np.flatnonzero(self.start_probability).astype(np.int32)
        states.setflags(write=False)
        return states

    @cached_property
    def cumulative_start_probability(self) -> Floats:
        """Cumulative probabilities of `start_states`."""
        return self.start_probability[self.start_states].cumsum()

    @cached_property
    def lost_starts(self) -> Int32s:
        """Start states of a world with ends from which none can be reached, ascending."""
        is_lost = np.isinf(self.steps_to_end[self.start_states]) & self.terminal.any()
        return self.start_states[is_lost]

    @cached_property
    def dead_ends(self) -> NDArray[np.intp]:
        """States from which no terminal state can be reached, ascending."""
        return np.flatnonzero(np.isinf(self.steps_to_end))

    @cached_property
    def n_links(self) -> int:
        """Number of pairs of a terminal state and a start state."""
        return int(np.count_nonzero(self.terminal)) * len(self.start_states)

    @cached_property
    def way_back(self) -> Int32s:
        """First action that undoes each pair (s, a), shape (n_states, n_actions); -1 if none does.

        Only for pairs with a certain outcome: a leads with certainty from s to another state, and
        the action found leads with certainty from there back to s.
        """
        n_outcomes = np.diff(self.successor_offset)
        rows = np.flatnonzero(n_outcomes == 1)
        state, next_state = rows // self.n_actions, self.successor[self.successor_offset[rows]]
        leaves = state != next_state
        rows, state, next_state = rows[leaves], state[leaves], next_state[leaves]
        there = state * self.n_states + next_state
        moves, first = np.unique(there, return_index=True)
        back = next_state * np.int64(self.n_states) + state
        # A move that is not there finds another one, or the last; they are compared below.
        place = np.minimum(np.searchsorted(moves, back), max(len(moves) - 1, 0))
        table = np.full(self.n_states * self.n_actions, -1, dtype=np.int32)
        if len(moves):
            table[rows] = np.where(moves[place] == back, rows[first[place]] % self.n_actions, -1)
        return table.reshape(self.n_states, self.n_actions)

    # -- exact solutions --------------------------------------------------------------------

    def solve(self, discount: float) -> Solution:
        """Compute the optimal values and an optimal policy exactly, by policy iteration.

        Parameters
        ----------
        discount : float
            Between 0 and 1. With 1, a terminal state must be reachable from every state.

        Raises
        ------
        ValueError
            If the discount is not in [0, 1]; with discount 1 also if no terminal state can be
            reached from some state, or rewards are unbounded.

        Examples
        --------
        >>> rooms = MDP.from_tables([[0, 1], [1, 0]], reward=[[0, 0], [1, 0]], start=0)
        >>> rooms.solve(discount=0.5).state_values
        array([1., 2.])
        """
        transition, reward = self.transition_matrix(), self.expected_reward()
        return solutions.solve(transition, reward, self.terminal, discount)

    def reward_rate(self, policy: ArrayLike, epsilon: float = 0.0) -> float:
        """Compute the exact mean reward per step in the long run.

        Parameters
        ----------
        policy : array_like of int, shape (n_states,), or of float, shape (n_states, n_actions)
            The action taken in each state, or the probability of each action. Entries of terminal
            states are ignored.
        epsilon : float, default 0
            Probability of a uniformly random action instead of the policy's.

        Raises
        ------
        ValueError
            If the policy does not fit the MDP, or if the animal ends up by chance in one of several
            parts of the world and never leaves it.

        Examples
        --------
        >>> corridor = MDP.from_tables([[0, 1], [0, 0]], reward=[0, 1], start=0, terminal=[1])
        >>> corridor.reward_rate([1, 0], epsilon=0.5)
        0.75
        """
        return solutions.reward_rate(
            self.transition_matrix(),
            self.expected_reward(),
            self.start_probability,
            self.terminal,
            policy,
            epsilon,
        )

    # -- other forms ------------------------------------------------------------------------

    @classmethod
    def from_tables(
        cls,
        transition: ArrayLike,
        reward: ArrayLike,
        *,
        start: int | ArrayLike | None = None,
        terminal: ArrayLike = (),
        action_names: Sequence[str] | None = None,
        position: ArrayLike | None = None,
        labels: Sequence[Hashable] | None = None,
        name: str = "mdp",
    ) -> MDP:
        """Make an MDP from dense tables.

        Parameters
        ----------
        transition : array_like of int or float
            If actions have certain outcomes, the next state of each pair (s, a): integers of shape
            (n_states, n_actions); otherwise the probability of each next state: floats of shape
            (n_states, n_actions, n_states). Rows of terminal states are ignored.
        reward : array_like of float
            Per state entered, shape (n_states,), where staying counts as entering; per pair (s, a),
            shape (n_states, n_actions); or per transition (s, a, s'), shape
            (n_states, n_actions, n_states).
        start : int or array_like of float, shape (n_states,), optional
            The start state, or the probability of each state; by default all states that are not
            terminal are equally probable.
        terminal : array_like of bool, shape (n_states,), or of int
            Terminal states, as a mask or as a list; none by default.
        action_names : sequence of str, optional
            "0", "1", ... by default.
        position : array_like of float, shape (n_states, 2), optional
            In cm.
        labels : sequence, length n_states, optional
            The user's names of the states.
        name : str, default "mdp"
            Name of the MDP in logs.

        Examples
        --------
        An action that works three times out of four:

        >>> slippery = MDP.from_tables([[[0.25, 0.75]], [[0, 1]]], reward=[0, 1], terminal=[1])
        >>> slippery.reward_rate(policy=[0, 0])
        0.75
        """
        found = list_transitions(
            transition,
            reward,
            start=start,
            terminal=terminal,
            action_names=action_names,
            position=position,
            labels=labels,
            name=name,
        )
        return cls.from_transitions(**found._asdict())

    # Many parameters: they are the fields of `Transitions`, by which conversions call it.
    @classmethod
    def from_transitions(
        cls,
        state: ArrayLike,
        action: ArrayLike,
        next_state: ArrayLike,
        probability: ArrayLike,
        reward: ArrayLike,
        *,
        start_probability: ArrayLike,
        terminal: ArrayLike,
        action_names: Iterable[str],
        position: ArrayLike | None = None,
        labels: Iterable[Hashable] | None = None,
        name: str = "mdp",
    ) -> MDP:
        """Make an MDP from a list of its transitions, in any order.

        Parameters
        ----------
        state, action, next_state : array_like of int, shape (n_transitions,)
        probability, reward : array_like of float, shape (n_transitions,)
            Of each transition (s, a, s'); each transition is listed once, with one reward.
        start_probability : array_like of float, shape (n_states,)
        terminal : array_like of bool, shape (n_states,)
        action_names, position, labels, name
            As in `from_tables`.

        Examples
        --------
        >>> MDP.from_transitions(
        ...     state=[0, 0], action=[0, 0], next_state=[0, 1], probability=[0.5, 0.5],
        ...     reward=[0, 1], start_probability=[1, 0], terminal=[False, True],
        ...     action_names=["go"],
        ... ).reward_rate([0, 0])
        0.5
        """
        names = check_action_names(action_names)
        ends = check_array(terminal, "terminal", kind="flag")
        n_states, n_actions = len(ends), len(names)
        check_size(n_states, n_actions)
        states, actions, next_states = (
            check_array(given, what, kind="whole")
            for what, given in (("state", state), ("action", action), ("next_state", next_state))
        )
        chance = check_array(probability, "probability", kind="number")
        rewards = check_rewards(reward)
        if len({len(each) for each in (states, actions, next_states, chance, rewards)}) > 1:
            raise ValueError(
                "state, action, next_state, probability and reward must have one entry per "
                f"transition; got {states.size}, {actions.size}, {next_states.size}, "
                f"{chance.size} and {rewards.size}."
            )
        check_indices("state", states, n_states, states, actions)
        check_indices("action", actions, n_actions, states, actions)
        check_indices("next state", next_states, n_states, states, actions)
        row = states * n_actions + actions
        order = np.lexsort((next_states, row))
        offset = np.zeros(n_states * n_actions + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=n_states * n_actions), out=offset[1:])
        return cls(
            successor_offset=offset.astype(np.int32),
            successor=next_states[order].astype(np.int32),
            probability=chance[order],
            reward=rewards[order],
            start_probability=check_array(start_probability, "start_probability", kind="number"),
            terminal=ends,
            action_names=names,
            position=check_position(position, n_states),
            labels=check_labels(labels, n_states),
            name=name,
        )

    def transitions(self) -> Transitions:
        """List the transitions, in the order of the pairs (s, a).

        Examples
        --------
        >>> corridor = MDP.from_tables([[0, 1], [0, 0]], reward=[0, 1], start=0, terminal=[1])
        >>> corridor.transitions().next_state
        array([0, 1])
        >>> MDP.from_transitions(**corridor.transitions()._asdict()) == corridor
        True
        """
        state, action = np.divmod(self.transition_rows(), self.n_actions)
        return Transitions(
            state=state,
            action=action,
            next_state=self.successor.astype(np.int64),
            probability=self.probability,
            reward=self.reward,
            start_probability=self.start_probability,
            terminal=self.terminal,
            action_names=self.action_names,
            position=self.position,
            labels=self.labels,
            name=self.name,
        )

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph,
        *,
        rewards: Mapping[Hashable, float] | None = None,
        terminal: Hashable | Iterable[Hashable] = (),
        start: Hashable | Iterable[Hashable] | Mapping[Hashable, float] | None = None,
        bin_size: float | None = None,
        name: str | None = None,
    ) -> MDP:
        """Make an MDP from a track graph, or from the graph of an MDP that `to_networkx` made.

        In a track graph action k leads to the k-th neighbour, counted anticlockwise from the east
        if nodes have `pos`, else in the order of `graph.adj`. Where there are fewer neighbours, the
        other actions leave the animal in place, as a wall does, without reward. A `DiGraph` has
        one-way paths; if it joins two nodes in both directions, it has separate states for each
        direction of travel.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, or MultiDiGraph made by `to_networkx`
            The latter holds a whole MDP: of the other arguments only `name` applies to it. Edges of
            a track graph meet in nodes only; one that passes over others has `bridge` (True).
        rewards : mapping of node to float, optional
            Reward for entering a node; by default there are no rewards.
        terminal : node or iterable of nodes
            Where episodes end; by default they never do.
        start : node, iterable of nodes, or mapping of node to probability, optional
            Where episodes begin; by default in any state that is not terminal, with equal
            probability.
        bin_size : float, optional
            Length of a step in cm. Each edge is divided into equal steps as close to this length as
            possible, by its `distance` or else the distance between its nodes' `pos`. By default an
            edge is one step.
        name : str, optional
            By default the graph's own.

        Returns
        -------
        MDP
            The nodes come first, in the graph's order, then the states along edges. Labels are the
            nodes; the k-th state along edge (u, v) has the label (u, v, k).

        Raises
        ------
        TypeError
            If `graph` is not a networkx graph.
        ValueError
            If nodes are unknown, lengths are missing, or the graph is of neither kind; if nodes lie
            at one place or on an edge, or edges cross without a node.

        Examples
        --------
        >>> from replay.worlds.tracks import make_tmaze_track
        >>> track = make_tmaze_track(stem_length=80, arm_length=50)
        >>> t_maze = MDP.from_networkx(
        ...     track, rewards={2: 1.0}, terminal=[2, 3], start=0, bin_size=10.0
        ... )
        >>> t_maze.n_states, t_maze.n_actions
        (19, 3)
        >>> t_maze.position[t_maze.labels.index((0, 1, 3))]
        array([ 0., 30.])
        """
        from replay.worlds.graphs import from_networkx

        found = from_networkx(
            graph, rewards=rewards, terminal=terminal, start=start, bin_size=bin_size, name=name
        )
        return cls.from_transitions(**found._asdict())

    def to_networkx(self) -> nx.MultiDiGraph:
        """Make the graph of the states, with one edge per transition.

        Returns
        -------
        networkx.MultiDiGraph
            Nodes 0 to n_states - 1 with `terminal`, `start_probability`, and, where the MDP has
            them, `pos` (cm) and `label`; edges keyed by action (int) with `probability` and
            `reward`; graph attributes `name` and `action_names`.

        Examples
        --------
        >>> corridor = MDP.from_tables([[0, 1], [0, 0]], reward=[0, 1], start=0, terminal=[1])
        >>> corridor.to_networkx().edges[0, 1, 1]
        {'probability': 1.0, 'reward': 1.0}
        """
        from replay.worlds.graphs import to_networkx

        return to_networkx(self.transitions())

    @classmethod
    def from_gymnasium(cls, environment: gymnasium.Env[Any, Any] | str) -> MDP:
        """Make an MDP from a tabular Gymnasium environment, such as FrozenLake or Taxi.

        A state that is entered only at the end of an episode is terminal. If a state is also passed
        through, or episodes start in it, episodes end in a terminal copy of it, numbered after the
        environment's own states. Outcomes of one action with the same next state are merged; if
        their rewards differ, the mean is used, which leaves all values and reward rates exact.

        Parameters
        ----------
        environment : gymnasium.Env or str
            An environment, or the id of a registered one. It must list its transitions in the
            attribute `P`: `P[s][a]` = [(probability, next state, reward, done), ...]. Episodes
            start as in its `initial_state_distrib`, with which its `reset` must agree, or else in
            the one state to which `reset` leads; without either, in any state that is not terminal.
            It is reset, with several seeds.

        Returns
        -------
        MDP
            Labels are the environment's states; time limits are left out.

        Raises
        ------
        ImportError
            If Gymnasium is not installed.
        TypeError
            If the environment does not list its transitions.
        ValueError
            If its table is not as described; the message names state and action. If `reset` does
            not agree with `initial_state_distrib`, or leads to several states without it.

        Examples
        --------
        >>> lake = MDP.from_gymnasium("FrozenLake-v1")
        >>> lake.n_states, lake.n_actions, int(lake.terminal.sum())
        (16, 4, 5)
        """
        from replay.worlds.gymnasium_bridge import from_gymnasium

        found = from_gymnasium(environment)
        return cls.from_transitions(**found._asdict())

    def to_gymnasium(self, max_episode_steps: int | None = None) -> gymnasium.Env[Any, Any]:
        """Make a Gymnasium environment that plays this MDP.

        Parameters
        ----------
        max_episode_steps : int, optional
            After so many steps an episode is truncated; by default, never.

        Returns
        -------
        gymnasium.Env
            Observations and actions are numbers, as in this MDP.

        Examples
        --------
        >>> from replay.worlds.mazes import from_ascii
        >>> env = from_ascii("S.G").to_gymnasium()
        >>> env.reset(seed=1)
        (0, {})
        """
        from replay.worlds.gymnasium_bridge import MDPEnv

        return MDPEnv(self.transitions(), max_episode_steps)

    # -- Python protocol --------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Whether all tables, names, labels and positions are equal."""
        if not isinstance(other, MDP):
            return NotImplemented
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return all(
            type(a) is type(b) and (np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b)
            for a, b in pairs
        )

    def __repr__(self) -> str:
        """Show the name and the size."""
        return (
            f"MDP({self.name!r}, n_states={self.n_states}, n_actions={self.n_actions}, "
            f"n_transitions={self.n_transitions})"
        )

    def _repr_html_(self) -> str:
        facts = {
            "states": f"{self.n_states:,}, of which {int(self.terminal.sum()):,} end an episode",
            "starts": f"in {np.count_nonzero(self.start_probability):,} of them",
            "actions": ", ".join(self.action_names[:_MOST_SHOWN])
            + ", ..." * (self.n_actions > _MOST_SHOWN),
            "transitions": f"{self.n_transitions:,}",
            "positions": "none" if self.position is None else "known, in cm",
        }
        return pd.Series(facts).to_frame(f"MDP {self.name!r}").to_html()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor, so that unpickled arrays are read-only again.

        Writable arrays are another type for numba, which would compile everything once more.
        """
        return MDP, tuple(getattr(self, field.name) for field in fields(self))


def uniform_policy(mdp: MDP) -> Floats:
    """Return the policy of an animal that chooses actions at random.

    Shape (n_states, n_actions).

    Examples
    --------
    >>> uniform_policy(MDP.from_tables([[0, 1], [0, 1]], reward=[0, 1])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions)


def _is_whole(place: object) -> bool:
    return isinstance(place, int | np.integer) and not isinstance(place, bool)


def _numbers_of_32_bits(name: str, given: object) -> Int32s:
    return check_array(given, name, kind="whole", at_least=0, at_most=2**31 - 1).astype(np.int32)


def _check_rows(mdp: MDP) -> None:
    size = np.diff(mdp.successor_offset)
    if (
        mdp.successor_offset[0] != 0
        or mdp.successor_offset[-1] != mdp.n_transitions
        or (size < 0).any()
    ):
        raise ValueError(
            f"successor_offset must rise from 0 to n_transitions = {mdp.n_transitions}."
        )
    row = mdp.transition_rows()
    state, action = np.divmod(row, mdp.n_actions)
    check_indices("successor", mdp.successor, mdp.n_states, state, action)
    for number in np.flatnonzero(mdp.probability <= 0)[:1]:
        raise ValueError(
            "Probabilities must be above 0 (leave impossible transitions out); "
            f"{name_pair(state, action, number)} enters state {mdp.successor[number]} with "
            f"{mdp.probability[number]}."
        )
    for number in np.flatnonzero((np.diff(row) == 0) & (np.diff(mdp.successor) <= 0))[:1]:
        raise ValueError(
            "The next states of a pair must be listed in ascending order, each once, with one "
            f"reward; {name_pair(state, action, number)} has {mdp.successor[number]} before "
            f"{mdp.successor[number + 1]}."
        )
    for wrong in np.flatnonzero(mdp.terminal[state])[:1]:
        raise ValueError(
            f"Terminal states have no transitions; {name_pair(state, action, wrong)} enters state "
            f"{mdp.successor[wrong]}."
        )
    total = np.bincount(row, weights=mdp.probability, minlength=len(size))
    expected = ~np.repeat(mdp.terminal, mdp.n_actions)
    for wrong in np.flatnonzero(np.abs(total - expected) > PROBABILITY_TOLERANCE)[:1]:
        raise ValueError(
            "The probabilities of the next states must sum to 1; "
            f"state {wrong // mdp.n_actions}, action {wrong % mdp.n_actions} "
            f"has {float(total[wrong])}."
        )
