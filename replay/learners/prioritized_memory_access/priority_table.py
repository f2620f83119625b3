"""Gain and priority of all pairs of state and action, and a fast search for the best pair.

States whose gains a change of values makes stale are marked until the gains are recomputed.
"""

import numpy as np

from replay.jit import inlined
from replay.learners.prioritized_memory_access.gain import softmax_gain
from replay.learners.prioritized_memory_access.memory import Memory, Params, PriorityTable
from replay.parts.numbering import forget_all, numbering

__all__ = ["best_pair", "gain_of", "leave_out", "priority_table", "refresh"]
__all__ += ["set_pair_priority", "set_priorities", "weigh_by_need"]


def priority_table(n_states: int, n_actions: int) -> PriorityTable:
    """Make a table in which all pairs are excluded.

    Examples
    --------
    >>> table = priority_table(2, 2)
    >>> for action, priority in [(0, 0.5), (1, 0.75)]:
    ...     set_pair_priority(table, 1, action, priority)
    >>> best_pair(table, -1.0, np.random.default_rng(0))
    (1, 1)
    """
    return PriorityTable(
        np.zeros((n_states, n_actions)),
        np.full((n_states, n_actions), -1.0),
        np.full(n_states, -1.0),
        numbering(n_states),
    )


@inlined
def set_pair_priority(table: PriorityTable, state: int, action: int, priority: float) -> None:
    """Set the priority of a pair.

    If priorities in a state change, `leave_out` must be called first, and all of them set again.
    """
    table.priority[state, action] = priority
    table.highest[state] = max(table.highest[state], priority)


@inlined
def leave_out(table: PriorityTable, state: int) -> None:
    """Exclude all pairs of a state."""
    table.highest[state] = -1.0
    for a in range(table.priority.shape[1]):
        table.priority[state, a] = -1.0


@inlined
def best_pair(table: PriorityTable, rival: float, rng: np.random.Generator) -> tuple[int, int]:
    """Choose the pair of the highest priority, at random if there are several.

    It is -1, -1 if there is none, or if `rival`, the priority of a longer backup, is higher.
    """
    highest, priority = table.highest, table.priority
    best = rival
    for s in range(len(highest)):
        best = max(best, highest[s])
    if best < 0.0:
        return -1, -1
    n_best = 0
    for s in range(len(highest)):
        if highest[s] == best:
            for a in range(priority.shape[1]):
                n_best += priority[s, a] == best
    left = int(rng.random() * n_best) if n_best > 1 else 0
    for s in range(len(highest)):
        if highest[s] == best:
            for a in range(priority.shape[1]):
                if priority[s, a] == best:
                    if left == 0:
                        return s, a
                    left -= 1
    return -1, -1


@inlined
def gain_of(params: Params, memory: Memory, s: int, a: int, target: float) -> float:
    """Return the gain of learning a target."""
    if not params.use_gain:
        return 1.0
    Q = memory.action_values
    after = Q[s, a] + params.learning_rate * (target - Q[s, a])
    return softmax_gain(Q, s, a, after, params.inverse_temperature)


@inlined
def _is_replayed(memory: Memory, s: int, a: int) -> bool:
    """Return whether a pair was tried, and led to another state."""
    s_next = memory.next_state[s, a]
    return bool(s_next >= 0 and s_next != s)


@inlined
def set_priorities(params: Params, memory: Memory, s: int) -> None:
    """Set the priorities of a state to gain x need."""
    table, need = memory.table, memory.need.expected[s]
    leave_out(table, s)
    for a in range(table.gain.shape[1]):
        if _is_replayed(memory, s, a):
            set_pair_priority(table, s, a, need * max(table.gain[s, a], params.gain_floor))


@inlined
def weigh_by_need(params: Params, memory: Memory) -> None:
    """Set the priorities of all states to gain x need."""
    for s in range(len(memory.values)):
        set_priorities(params, memory, s)


@inlined
def refresh(params: Params, memory: Memory) -> None:
    """Recompute the gains and priorities that are stale."""
    table, values = memory.table, memory.values
    for i in range(table.stale.n[0]):
        s = table.stale.met[i]
        for a in range(table.gain.shape[1]):
            if _is_replayed(memory, s, a):
                target = memory.reward[s, a] + params.discount * values[memory.next_state[s, a]]
                table.gain[s, a] = gain_of(params, memory, s, a, target)
        set_priorities(params, memory, s)
    forget_all(table.stale)
