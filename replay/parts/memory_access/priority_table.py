"""Gain and priority of all pairs of state and action, of which the best is looked up often.

What a change of values makes stale is marked, state by state, until it is computed anew. The
functions that compute it take the parameters and the memory of
:mod:`replay.learners.prioritized_memory_access`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.gain import policy_gain
from replay.parts.numbering import Numbering, forget_all, numbering
from replay.parts.policies import Policy

__all__ = ["LONGEST", "RANDOM_LENGTH", "SHORTEST", "TIES", "PriorityTable", "best_pair", "gain_of"]
__all__ += ["leave_out", "priority_table", "refresh", "set_priorities"]
__all__ += ["set_pair_priority", "weigh_by_need"]

TIES = ("shortest", "longest", "random")
"""Which backup is made of those of the same priority and different length."""
SHORTEST, LONGEST, RANDOM_LENGTH = range(3)


class PriorityTable(NamedTuple):
    """The arrays of the table.

    Attributes
    ----------
    gain : ndarray of float64, shape (n_states, n_actions)
        The gain of backing up each pair.
    priority : ndarray of float64, shape (n_states, n_actions)
        Its priority; -1 for a pair that is left out.
    highest : ndarray of float64, shape (n_states,)
        The highest priority in each state.
    stale : Numbering
        States whose gains have to be computed anew.
    after : ndarray of float64, shape (n_actions,)
        Room for the action values of one state as they would be.
    """

    gain: NDArray[np.float64]
    priority: NDArray[np.float64]
    highest: NDArray[np.float64]
    stale: Numbering
    after: NDArray[np.float64]


def priority_table(n_states: int, n_actions: int) -> PriorityTable:
    """Make a table that leaves all pairs out.

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
    """Set the priority of a pair. Of a state all are set in a row, after `leave_out`."""
    table.priority[state, action] = priority
    table.highest[state] = max(table.highest[state], priority)


@inlined
def leave_out(table: PriorityTable, state: int) -> None:
    """Leave all pairs of a state out."""
    table.highest[state] = -1.0
    for a in range(table.priority.shape[1]):
        table.priority[state, a] = -1.0


@inlined
def best_pair(
    table: PriorityTable, rival: float, tie_break: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Choose the pair of the highest priority; of several, any.

    Parameters
    ----------
    table : PriorityTable
        The table.
    rival : float
        The priority of a backup of several steps; -1 if there is none.
    tie_break : int
        The place of a name in ``TIES``.
    rng : numpy.random.Generator
        Source of randomness; one number is drawn if there is a choice.

    Returns
    -------
    state, action : int
        The pair; (-1, -1) if the rival comes first, or there is nothing to choose.
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
def gain_of(params: Any, memory: Any, s: int, a: int, target: float) -> float:
    """Return what the policy gains in s by learning a target; 1 if gain does not count."""
    if not params.use_gain:
        return 1.0
    values = memory.action_values
    rate = 1.0 if params.copy_targets else params.learning_rate
    after = values[s, a] + rate * (target - values[s, a])
    policy = Policy(params.plan_policy, params.inverse_temperature, params.epsilon)
    return policy_gain(policy, values, s, a, after, memory.table.after)


@inlined
def _is_replayed(params: Any, memory: Any, s: int, a: int) -> bool:
    """Tell whether a pair was tried, and leads elsewhere."""
    s_next = memory.next_state[s, a]
    return bool(s_next >= 0 and (s_next != s or params.replay_bumps))


@inlined
def set_priorities(params: Any, memory: Any, s: int) -> None:
    """Weigh the gains of a state by its need."""
    table, need = memory.table, memory.need.expected[s]
    leave_out(table, s)
    for a in range(table.gain.shape[1]):
        if _is_replayed(params, memory, s, a):
            set_pair_priority(table, s, a, need * max(table.gain[s, a], params.gain_floor))


@inlined
def weigh_by_need(params: Any, memory: Any) -> None:
    """Weigh the gains of all states by their need."""
    for s in range(len(memory.values)):
        set_priorities(params, memory, s)


@inlined
def refresh(params: Any, memory: Any) -> None:
    """Compute the gains and priorities that are stale."""
    table, values = memory.table, memory.values
    for i in range(table.stale.n[0]):
        s = table.stale.met[i]
        for a in range(table.gain.shape[1]):
            if _is_replayed(params, memory, s, a):
                target = memory.reward[s, a] + params.discount * values[memory.next_state[s, a]]
                table.gain[s, a] = gain_of(params, memory, s, a, target)
        set_priorities(params, memory, s)
    forget_all(table.stale)
