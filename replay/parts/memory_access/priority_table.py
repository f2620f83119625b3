"""Gain and priority of all pairs of state and action, and a fast search for the best pair.

States whose gains a change of values makes stale are marked until the gains are recomputed.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.gain import policy_gain
from replay.parts.need import Need
from replay.parts.numbering import Numbering, forget_all, numbering
from replay.parts.policies import Policy

__all__ = ["LONGEST", "RANDOM_LENGTH", "SHORTEST", "TIES", "GainParams", "PriorityTable"]
__all__ += ["TableMemory", "best_pair", "gain_of", "leave_out", "priority_table", "refresh"]
__all__ += ["set_pair_priority", "set_priorities", "weigh_by_need"]

TIES = ("shortest", "longest", "random")
"""Which of several backups with the same priority, but different lengths, is made."""
SHORTEST, LONGEST, RANDOM_LENGTH = range(3)


class PriorityTable(NamedTuple):
    """The arrays of the table.

    Attributes
    ----------
    gain : ndarray of float64, shape (n_states, n_actions)
        The gain of backing up each pair.
    priority : ndarray of float64, shape (n_states, n_actions)
        The priority of each pair; -1 if it is excluded.
    highest : ndarray of float64, shape (n_states,)
        The highest priority in each state.
    stale : Numbering
        States whose gains have to be recomputed.
    after : ndarray of float64, shape (n_actions,)
        Workspace for the new action values of one state.
    """

    gain: NDArray[np.float64]
    priority: NDArray[np.float64]
    highest: NDArray[np.float64]
    stale: Numbering
    after: NDArray[np.float64]


class GainParams(Protocol):
    """The parameters of :mod:`replay.learners.prioritized_memory_access` that are read here."""

    @property
    def discount(self) -> float: ...
    @property
    def plan_policy(self) -> int: ...
    @property
    def inverse_temperature(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def copy_targets(self) -> bool: ...
    @property
    def use_gain(self) -> bool: ...
    @property
    def gain_floor(self) -> float: ...
    @property
    def replay_bumps(self) -> bool: ...


class TableMemory(Protocol):
    """The memory of :mod:`replay.learners.prioritized_memory_access`, as far as it is used here."""

    @property
    def action_values(self) -> NDArray[np.float64]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def next_state(self) -> NDArray[np.int32]: ...
    @property
    def reward(self) -> NDArray[np.float64]: ...
    @property
    def table(self) -> PriorityTable: ...
    @property
    def need(self) -> Need: ...


def priority_table(n_states: int, n_actions: int) -> PriorityTable:
    """Make a table in which all pairs are excluded.

    Parameters
    ----------
    n_states, n_actions : int
        Size of the world.

    Returns
    -------
    PriorityTable

    Examples
    --------
    >>> table = priority_table(2, 2)
    >>> for action, priority in [(0, 0.5), (1, 0.75)]:
    ...     set_pair_priority(table, 1, action, priority)
    >>> best_pair(table, -1.0, SHORTEST, np.random.default_rng(0))
    (1, 1)
    """
    return PriorityTable(
        np.zeros((n_states, n_actions)),
        np.full((n_states, n_actions), -1.0),
        np.full(n_states, -1.0),
        numbering(n_states),
        np.zeros(n_actions),
    )


@inlined
def set_pair_priority(table: PriorityTable, state: int, action: int, priority: float) -> None:
    """Set the priority of a pair.

    If priorities in a state change, `leave_out` must be called first, and all of them set again.

    Parameters
    ----------
    table : PriorityTable
        Changed in place.
    state, action : int
        The pair.
    priority : float
    """
    table.priority[state, action] = priority
    table.highest[state] = max(table.highest[state], priority)


@inlined
def leave_out(table: PriorityTable, state: int) -> None:
    """Exclude all pairs of a state.

    Parameters
    ----------
    table : PriorityTable
        Changed in place.
    state : int
    """
    table.highest[state] = -1.0
    for a in range(table.priority.shape[1]):
        table.priority[state, a] = -1.0


@inlined
def best_pair(
    table: PriorityTable, rival: float, tie_break: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Choose the pair of the highest priority, at random if there are several.

    Parameters
    ----------
    table : PriorityTable
    rival : float
        The priority of a backup of several steps; -1 if there is none.
    tie_break : int
        Index in ``TIES``.
    rng : numpy.random.Generator
        Source of randomness; one number is drawn if there is a choice.

    Returns
    -------
    state, action : int
        The pair; (-1, -1) if the rival comes first, or all pairs are excluded.
    """
    highest, priority = table.highest, table.priority
    best = rival
    for s in range(len(highest)):
        best = max(best, highest[s])
    is_tied = rival == best
    if best < 0.0 or (is_tied and tie_break == LONGEST):
        return -1, -1
    n_best = 0
    for s in range(len(highest)):
        if highest[s] == best:
            for a in range(priority.shape[1]):
                n_best += priority[s, a] == best
    n_choices = n_best + (is_tied and tie_break == RANDOM_LENGTH)
    left = int(rng.random() * n_choices) if n_choices > 1 else 0
    for s in range(len(highest)):
        if highest[s] == best:
            for a in range(priority.shape[1]):
                if priority[s, a] == best:
                    if left == 0:
                        return s, a
                    left -= 1
    return -1, -1


@inlined
def gain_of(params: GainParams, memory: TableMemory, s: int, a: int, target: float) -> float:
    """Return the gain of learning a target.

    Parameters
    ----------
    params : GainParams
    memory : TableMemory
    s, a : int
        The pair that learns it.
    target : float
        The return towards which its action value moves.

    Returns
    -------
    float
        1 if ``use_gain`` is off.
    """
    if not params.use_gain:
        return 1.0
    values = memory.action_values
    rate = 1.0 if params.copy_targets else params.learning_rate
    after = values[s, a] + rate * (target - values[s, a])
    policy = Policy(params.plan_policy, params.inverse_temperature, params.epsilon)
    return policy_gain(policy, values, s, a, after, memory.table.after)


@inlined
def _is_replayed(params: GainParams, memory: TableMemory, s: int, a: int) -> bool:
    """Return whether a pair was tried, and leads to another state or is replayed all the same."""
    s_next = memory.next_state[s, a]
    return bool(s_next >= 0 and (s_next != s or params.replay_bumps))


@inlined
def set_priorities(params: GainParams, memory: TableMemory, s: int) -> None:
    """Set the priorities of a state to gain x need.

    Parameters
    ----------
    params : GainParams
    memory : TableMemory
        Its table is changed in place.
    s : int
        The state.
    """
    table, need = memory.table, memory.need.expected[s]
    leave_out(table, s)
    for a in range(table.gain.shape[1]):
        if _is_replayed(params, memory, s, a):
            set_pair_priority(table, s, a, need * max(table.gain[s, a], params.gain_floor))


@inlined
def weigh_by_need(params: GainParams, memory: TableMemory) -> None:
    """Set the priorities of all states to gain x need.

    Parameters
    ----------
    params : GainParams
    memory : TableMemory
        Its table is changed in place.
    """
    for s in range(len(memory.values)):
        set_priorities(params, memory, s)


@inlined
def refresh(params: GainParams, memory: TableMemory) -> None:
    """Recompute the gains and priorities that are stale.

    Parameters
    ----------
    params : GainParams
    memory : TableMemory
        Its table is changed in place.
    """
    table, values = memory.table, memory.values
    for i in range(table.stale.n[0]):
        s = table.stale.met[i]
        for a in range(table.gain.shape[1]):
            if _is_replayed(params, memory, s, a):
                target = memory.reward[s, a] + params.discount * values[memory.next_state[s, a]]
                table.gain[s, a] = gain_of(params, memory, s, a, target)
        set_priorities(params, memory, s)
    forget_all(table.stale)
