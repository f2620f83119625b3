"""Gain and priority of all pairs of state and action, of which the best is looked up often.

What a change of values makes stale is marked, state by state, until it is computed anew.
"""

from typing import NamedTuple

import numpy as np

from replay.jit import inlined

__all__ = ["LONGEST", "RANDOM", "SHORTEST", "TIES", "PriorityTable", "best_pair", "leave_out"]
__all__ += ["mark_stale", "priority_table", "set_priority"]

TIES = ("shortest", "longest", "random")
"""Which backup is made of those of the same priority and different length."""
SHORTEST, LONGEST, RANDOM = range(3)


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
    stale : ndarray of int32, shape (n_states,)
        States whose gains have to be computed anew; the first ``n_stale[0]`` of them count.
    is_stale : ndarray of bool, shape (n_states,)
        Whether a state is one of them.
    n_stale : ndarray of int64, shape (1,)
        How many there are.
    """

    gain: np.ndarray
    priority: np.ndarray
    highest: np.ndarray
    stale: np.ndarray
    is_stale: np.ndarray
    n_stale: np.ndarray


def priority_table(n_states: int, n_actions: int) -> PriorityTable:
    """Make a table that leaves all pairs out.

    Examples
    --------
    >>> table = priority_table(2, 2)
    >>> for action, priority in [(0, 0.5), (1, 0.75)]:
    ...     set_priority(table, 1, action, priority)
    >>> best_pair(table, -1.0, SHORTEST, np.random.default_rng(0))
    (1, 1)
    """
    return PriorityTable(
        np.zeros((n_states, n_actions)),
        np.full((n_states, n_actions), -1.0),
        np.full(n_states, -1.0),
        np.zeros(n_states, dtype=np.int32),
        np.zeros(n_states, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
    )


@inlined
def mark_stale(table, state):
    """Mark a state whose gains have changed."""
    if not table.is_stale[state]:
        table.is_stale[state] = True
        table.stale[table.n_stale[0]] = state
        table.n_stale[0] += 1


@inlined
def set_priority(table, state, action, priority):
    """Set the priority of a pair. Of a state all are set in a row, after `leave_out`."""
    table.priority[state, action] = priority
    table.highest[state] = max(table.highest[state], priority)


@inlined
def leave_out(table, state):
    """Leave all pairs of a state out."""
    table.highest[state] = -1.0
    for a in range(table.priority.shape[1]):
        table.priority[state, a] = -1.0


@inlined
def best_pair(table, rival, tie_break, rng):
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
    n_choices = n_best + (is_tied and tie_break == RANDOM)
    left = int(rng.random() * n_choices) if n_choices > 1 else 0
    for s in range(len(highest)):
        if highest[s] == best:
            for a in range(priority.shape[1]):
                if priority[s, a] == best:
                    if left == 0:
                        return s, a
                    left -= 1
    return -1, -1
