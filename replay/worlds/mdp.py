"""Markov decision processes as sparse tables.

A task is a finite Markov decision process (MDP): in state s the animal takes action a, enters state
s' with probability P(s' | s, a) and gets the reward r(s, a, s'). Episodes begin in a state drawn
from the start distribution and end on entering a terminal state; a task without terminal states
goes on forever.

The transitions are kept as compressed rows, one row per pair (s, a), numbered s * n_actions + a.
Everything else in the toolkit reads these tables.

References
----------
Sutton RS, Barto AG (2018). Reinforcement Learning: An Introduction, 2nd edition, chapter 3. MIT
Press.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from replay.worlds.solutions import Solution, reward_rate, solve, steps_to_end

if TYPE_CHECKING:
    import gymnasium
    import networkx as nx

__all__ = ["MDP", "uniform_policy"]

PROBABILITY_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class MDP:
    """A finite Markov decision process; checked once, when it is made, and read-only afterwards.

    The builders are easier to use than this constructor: `MDP.from_tables`, `MDP.from_networkx`,
    `MDP.from_gymnasium`, and the modules `trees`, `mazes` and `tracks` of `replay.worlds`.

    Parameters
    ----------
    successor_offset : ndarray of int32, shape (n_states * n_actions + 1,)
        The transitions of action a in state s are numbers `successor_offset[i]` to
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
        Where the states are, in cm, y upwards.
    labels : tuple, length n_states, optional
        What the user calls the states, for instance maze cells or nodes of a track graph.
    name : str, optional

    Raises
    ------
    ValueError
        If the tables don't describe an MDP. The message says where.

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

    successor_offset: NDArray[np.int32]
    successor: NDArray[np.int32]
    probability: NDArray[np.float64]
    reward: NDArray[np.float64]
    start_probability: NDArray[np.float64]
    terminal: NDArray[np.bool_]
    action_names: tuple[str, ...]
    position: NDArray[np.float64] | None = None
    labels: tuple[Hashable, ...] | None = None
    name: str = "mdp"

    def __post_init__(self) -> None:
        """Copy the tables, make them read-only, and check them."""
        for name, dtype in _DTYPES.items():
            if getattr(self, name) is not None:
                array: NDArray[Any] = np.array(getattr(self, name), dtype=dtype, order="C")
                array.setflags(write=False)
                object.__setattr__(self, name, array)
        object.__setattr__(self, "action_names", tuple(self.action_names))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        _check(self)

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

    def successors(self, state: int, action: int) -> NDArray[np.int32]:
        """States that `action` can lead to from `state`; none if it is terminal."""
        row = state * self.n_actions + action
        return self.successor[self.successor_offset[row] : self.successor_offset[row + 1]]

    def transition_rows(self) -> NDArray[np.intp]:
        """Row s * n_actions + a of every transition, shape (n_transitions,)."""
        rows = np.arange(self.n_states * self.n_actions)
        return np.repeat(rows, np.diff(self.successor_offset))

    def transition_matrix(self) -> sparse.csr_array:
        """P(s' | s, a) as a sparse matrix of shape (n_states * n_actions, n_states)."""
        return sparse.csr_array(
            (self.probability, self.successor, self.successor_offset),
            shape=(self.n_states * self.n_actions, self.n_states),
            copy=True,
        )

    def expected_reward(self) -> NDArray[np.float64]:
        """Mean reward of every pair (s, a), shape (n_states, n_actions); 0 in terminal states."""
        total = np.bincount(
            self.transition_rows(),
            weights=self.probability * self.reward,
            minlength=self.n_states * self.n_actions,
        )
        return total.astype(float).reshape(self.n_states, self.n_actions)

    @cached_property
    def cumulative_probability(self) -> NDArray[np.float64]:
        """P(s' | s, a) summed over the transitions of a row up to each one, (n_transitions,)."""
        total = np.cumsum(self.probability)
        before = np.concatenate(([0.0], total))[self.successor_offset[self.transition_rows()]]
        return total - before

    @cached_property
    def steps_to_end(self) -> NDArray[np.float64]:
        """Least number of steps to a terminal state, (n_states,); infinite if there is no way."""
        return steps_to_end(self)

    @cached_property
    def way_back(self) -> NDArray[np.int32]:
        """First action that undoes each pair (s, a), (n_states, n_actions); -1 if there is none.

        Of pairs without chance only: a leads from s to another state for sure, and the action found
        from there to s.
        """
        n_outcomes = np.diff(self.successor_offset)
        rows = np.flatnonzero(n_outcomes == 1)
        state, next_state = rows // self.n_actions, self.successor[self.successor_offset[rows]]
        moves = state != next_state
        rows, state, next_state = rows[moves], state[moves], next_state[moves]
        ways, first = np.unique(state * self.n_states + next_state, return_index=True)
        back = next_state * np.int64(self.n_states) + state
        place = np.minimum(np.searchsorted(ways, back), max(len(ways) - 1, 0))
        table = np.full(self.n_states * self.n_actions, -1, dtype=np.int32)
        if len(ways):
            table[rows] = np.where(ways[place] == back, rows[first[place]] % self.n_actions, -1)
        return table.reshape(self.n_states, self.n_actions)

    # -- exact solutions --------------------------------------------------------------------

    def solve(self, discount: float) -> Solution:
        """Optimal values and an optimal policy; see `replay.worlds.solutions.solve`.

        Parameters
        ----------
        discount : float
            Between 0 and 1. With 1, every state must be able to reach a terminal state.

        Returns
        -------
        Solution
        """
        return solve(self, discount)

    def reward_rate(self, policy: ArrayLike, epsilon: float = 0.0) -> float:
        """Exact mean reward per step in the long run; see `replay.worlds.solutions.reward_rate`.

        Parameters
        ----------
        policy : array_like of int, shape (n_states,), or of float, shape (n_states, n_actions)
            The action taken in each state, or the probability of each action.
        epsilon : float
            Probability of a uniformly random action instead of the policy's.

        Returns
        -------
        float
        """
        return reward_rate(self, policy, epsilon)

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
            If actions are certain, the next state of each pair (s, a): integers of shape
            (n_states, n_actions); else the probability of each next state: floats of shape
            (n_states, n_actions, n_states). Rows of terminal states are ignored.
        reward : array_like of float
            By the state entered, shape (n_states,), where staying counts as entering; by the pair
            (s, a), shape (n_states, n_actions); or by the transition (s, a, s'), shape
            (n_states, n_actions, n_states).
        start : int or array_like of float, shape (n_states,), optional
            Start state, or the probability of each; all states but terminal ones alike by default.
        terminal : array_like of bool, shape (n_states,), or of int
            Terminal states, as a mask or as a list; none by default.
        action_names : sequence of str, optional
            "0", "1", ... by default.
        position : array_like of float, shape (n_states, 2), optional
            In cm.
        labels : sequence, length n_states, optional
        name : str

        Returns
        -------
        MDP

        Raises
        ------
        ValueError
            If shapes don't fit, or the tables don't describe an MDP.

        Examples
        --------
        An action that works three times out of four:

        >>> slippery = MDP.from_tables([[[0.25, 0.75]], [[0, 1]]], reward=[0, 1], terminal=[1])
        >>> slippery.reward_rate(policy=[0, 0])
        0.75
        """
        table = np.asarray(transition)
        deterministic = table.ndim == 2 and np.issubdtype(table.dtype, np.integer)
        if not deterministic and (table.ndim != 3 or table.shape[0] != table.shape[2]):
            raise ValueError(
                "transition must hold next states (integers, shape (n_states, n_actions)) or "
                "probabilities (shape (n_states, n_actions, n_states)); "
                f"got {table.dtype}, shape {table.shape}."
            )
        n_states, n_actions = table.shape[:2]
        rewards = np.asarray(reward, dtype=float)
        shapes = {1: (n_states,), 2: (n_states, n_actions), 3: (n_states, n_actions, n_states)}
        if rewards.shape != shapes.get(rewards.ndim):
            raise ValueError(
                f"reward must have shape {shapes[1]} (by state entered), {shapes[2]} (by state and "
                f"action) or {shapes[3]} (by transition); got {rewards.shape}."
            )
        mask = _terminal_mask(terminal, n_states)
        if deterministic:
            state, action = np.nonzero(np.broadcast_to(~mask[:, None], table.shape))
            next_state = table[state, action]
            probability = np.ones(len(state))
        else:
            state, action, next_state = np.nonzero(np.where(mask[:, None, None], 0, table))
            probability = table[state, action, next_state]
        _check_indices("next state", next_state, n_states, state, action)
        key: tuple[NDArray[Any], ...] = {
            1: (next_state,),
            2: (state, action),
            3: (state, action, next_state),
        }[rewards.ndim]
        return cls.from_transitions(
            state,
            action,
            next_state,
            probability,
            rewards[key],
            start_probability=_start_distribution(start, mask),
            terminal=mask,
            action_names=action_names or [str(a) for a in range(n_actions)],
            position=position,
            labels=labels,
            name=name,
        )

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
            Of each transition (s, a, s'). A transition is listed once: it has one reward.
        start_probability : array_like of float, shape (n_states,)
        terminal : array_like of bool, shape (n_states,)
        action_names : iterable of str
        position : array_like of float, shape (n_states, 2), optional
            In cm.
        labels : iterable, optional
        name : str

        Returns
        -------
        MDP
        """
        names = tuple(action_names)
        n_states, n_actions = len(np.asarray(terminal)), len(names)
        state, action, next_state = (
            np.asarray(x, dtype=np.int64) for x in (state, action, next_state)
        )
        if not state.shape == action.shape == next_state.shape:
            raise ValueError(
                "state, action and next_state must have one entry per transition; got "
                f"{state.size}, {action.size} and {next_state.size}."
            )
        _check_indices("state", state, n_states, state, action)
        _check_indices("action", action, n_actions, state, action)
        row = state * n_actions + action
        order = np.lexsort((next_state, row))
        offset = np.zeros(n_states * n_actions + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=n_states * n_actions), out=offset[1:])
        return cls(
            successor_offset=offset.astype(np.int32),
            successor=next_state[order].astype(np.int32),
            probability=np.asarray(probability, dtype=float)[order],
            reward=np.asarray(reward, dtype=float)[order],
            start_probability=np.asarray(start_probability, dtype=float),
            terminal=np.asarray(terminal, dtype=bool),
            action_names=names,
            position=None if position is None else np.asarray(position, dtype=float),
            labels=None if labels is None else tuple(labels),
            name=name,
        )

    def to_networkx(self) -> nx.MultiDiGraph:
        """Graph of the states, its edges keyed by action; see `replay.worlds.graphs`."""
        from replay.worlds.graphs import to_networkx

        return to_networkx(self)

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
        """Make an MDP of a track graph; see `replay.worlds.graphs.from_networkx`.

        Given a graph that `to_networkx` made, it makes the same MDP again.
        """
        from replay.worlds.graphs import from_networkx

        return from_networkx(
            graph, rewards=rewards, terminal=terminal, start=start, bin_size=bin_size, name=name
        )

    def to_gymnasium(self, max_episode_steps: int | None = None) -> gymnasium.Env:
        """Gymnasium environment that plays this MDP; see `replay.worlds.gymnasium_bridge`."""
        from replay.worlds.gymnasium_bridge import MDPEnv

        return MDPEnv(self, max_episode_steps)

    @classmethod
    def from_gymnasium(cls, environment: gymnasium.Env | str) -> MDP:
        """Make an MDP of a tabular environment; see `replay.worlds.gymnasium_bridge`."""
        from replay.worlds.gymnasium_bridge import from_gymnasium

        return from_gymnasium(environment)

    # -- Python protocol --------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Tell whether all tables, names, labels and positions are the same."""
        if not isinstance(other, MDP):
            return NotImplemented
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return all(
            type(a) is type(b) and (np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b)
            for a, b in pairs
        )

    def __repr__(self) -> str:
        """Name and size."""
        return (
            f"MDP({self.name!r}, n_states={self.n_states}, n_actions={self.n_actions}, "
            f"n_transitions={self.n_transitions})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor, so that unpickled arrays are read-only again.

        Compiled code takes read-only arrays for another type, and would be compiled once more.
        """
        return MDP, tuple(getattr(self, field.name) for field in fields(self))


def uniform_policy(mdp: MDP) -> NDArray[np.float64]:
    """Probability of each action of an animal that chooses blindly.

    Parameters
    ----------
    mdp : MDP

    Returns
    -------
    ndarray of float64, shape (n_states, n_actions)
    """
    return np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions)


_DTYPES = {
    "successor_offset": np.int32,
    "successor": np.int32,
    "probability": np.float64,
    "reward": np.float64,
    "start_probability": np.float64,
    "terminal": np.bool_,
    "position": np.float64,
}


def _check(mdp: MDP) -> None:
    """Raise a ValueError at the first thing that is wrong."""
    n_states, n_actions, n_transitions = mdp.n_states, mdp.n_actions, mdp.n_transitions
    if n_states == 0 or n_actions == 0:
        raise ValueError(
            f"An MDP needs states and actions; got {n_states} states, {n_actions} actions."
        )
    shapes: dict[str, tuple[int, ...]] = {
        "successor_offset": (n_states * n_actions + 1,),
        "successor": (n_transitions,),
        "probability": (n_transitions,),
        "reward": (n_transitions,),
        "start_probability": (n_states,),
        "terminal": (n_states,),
        "position": (n_states, 2),
    }
    for name, shape in shapes.items():
        table = getattr(mdp, name)
        if table is not None and table.shape != shape:
            raise ValueError(
                f"{name} must have shape {shape} for {n_states} states, {n_actions} actions and "
                f"{n_transitions} transitions; got {table.shape}."
            )
        if table is not None and not np.isfinite(table).all():
            where = np.argwhere(~np.isfinite(table))[0].tolist()
            raise ValueError(f"{name} must be finite; entry {where} is not.")
    if mdp.labels is not None and len(mdp.labels) != n_states:
        raise ValueError(
            f"labels must have one entry per state, {n_states}; got {len(mdp.labels)}."
        )
    if len(set(mdp.action_names)) != n_actions:
        raise ValueError(f"action_names must differ from each other; got {mdp.action_names}.")
    _check_rows(mdp)
    _check_start(mdp)


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
    _check_indices("successor", mdp.successor, mdp.n_states, state, action)
    for number in np.flatnonzero(mdp.probability <= 0)[:1]:
        raise ValueError(
            "Probabilities must be above 0 (leave impossible transitions out); "
            f"{_pair(state, action, number)} enters state {mdp.successor[number]} with "
            f"{mdp.probability[number]}."
        )
    for number in np.flatnonzero((np.diff(row) == 0) & (np.diff(mdp.successor) <= 0))[:1]:
        raise ValueError(
            "The next states of a pair must be listed in ascending order, each once, with one "
            f"reward; {_pair(state, action, number)} has {mdp.successor[number]} before "
            f"{mdp.successor[number + 1]}."
        )
    for wrong in np.flatnonzero(mdp.terminal[state])[:1]:
        raise ValueError(
            f"Terminal states have no transitions; {_pair(state, action, wrong)} enters state "
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


def _check_start(mdp: MDP) -> None:
    start = mdp.start_probability
    for wrong in np.flatnonzero((start < 0) | (mdp.terminal & (start > 0)))[:1]:
        what = "is terminal" if mdp.terminal[wrong] else "has a negative probability"
        raise ValueError(
            f"Episodes can't start in state {wrong}: it {what} (start probability {start[wrong]})."
        )
    if abs(start.sum() - 1) > PROBABILITY_TOLERANCE:
        raise ValueError(f"start_probability must sum to 1; got {float(start.sum())!r}.")


def _check_indices(
    what: str, index: NDArray[Any], size: int, state: NDArray[Any], action: NDArray[Any]
) -> None:
    for wrong in np.flatnonzero((index < 0) | (index >= size))[:1]:
        raise ValueError(
            f"Each {what} must be a number from 0 to {size - 1}; {_pair(state, action, wrong)} has "
            f"{index[wrong]}."
        )


def _pair(state: NDArray[Any], action: NDArray[Any], number: int) -> str:
    return f"state {state[number]}, action {action[number]}"


def _terminal_mask(terminal: ArrayLike, n_states: int) -> NDArray[np.bool_]:
    given = np.asarray(terminal)
    if given.dtype == bool:
        if given.shape != (n_states,):
            raise ValueError(f"terminal must have shape ({n_states},); got {given.shape}.")
        return given
    mask = np.zeros(n_states, dtype=bool)
    if given.size:
        outside = given[(given < 0) | (given >= n_states)]
        if outside.size:
            raise ValueError(
                f"terminal must list states from 0 to {n_states - 1}; got {outside[0]}."
            )
        mask[given.astype(np.int64)] = True
    return mask


def _start_distribution(
    start: int | ArrayLike | None, terminal: NDArray[np.bool_]
) -> NDArray[np.float64]:
    if start is None:
        if terminal.all():
            raise ValueError("Episodes need a state to start in; got only terminal states.")
        return ~terminal / np.count_nonzero(~terminal)
    if isinstance(start, (int, np.integer)):
        if not 0 <= start < len(terminal):
            raise ValueError(f"start must be a state from 0 to {len(terminal) - 1}; got {start}.")
        return np.eye(1, len(terminal), int(start))[0]
    return np.asarray(start, dtype=float)
