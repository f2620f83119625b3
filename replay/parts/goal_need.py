"""Need for each of several goals: how often each place will be visited on the way to a goal.

The moves are those of a policy that leads to this goal and stops there, so each goal has a chain of
its own. Chains have the same edges, one for each transition known, in the same places; what differs
is how likely they are, and they are solved anew only where that has changed.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.elimination import Elimination, elimination, solve_visits_from
from replay.parts.markov_chain import MarkovChain, markov_chain, set_edge

__all__ = ["GoalNeed", "count_goal_need", "goal_need", "link_places", "set_chance"]

_Table = TypeVar("_Table", MarkovChain, Elimination)


class GoalNeed(NamedTuple):
    """Need for each goal, and what it comes from.

    Attributes
    ----------
    visits : ndarray of float64, shape (n_goals, n_states)
        Need, as counted last.
    chains : MarkovChain
        Where one goes from each state, with one more axis, the first: the goal.
    eliminations : Elimination
        What is kept of solving for visits, with the same axis.
    """

    visits: NDArray[np.float64]
    chains: MarkovChain
    eliminations: Elimination


def goal_need(n_goals: int, n_states: int, n_edges: int) -> GoalNeed:
    """Make need of an agent that knows no move: 0 everywhere.

    Parameters
    ----------
    n_goals : int
        Number of goals.
    n_states : int
        Number of states.
    n_edges : int
        The most transitions that can become known.

    Returns
    -------
    GoalNeed
        Its chains are empty.

    Examples
    --------
    >>> need, begin = goal_need(1, 2, 1), np.array([1.0, 0.0])
    >>> link_places(need, 0, 1)
    >>> set_chance(need, 0, 0, 0, 0.5)
    True
    >>> count_goal_need(need, 0, begin, 0.5)
    >>> need.visits.tolist()
    [[1.0, 0.25]]
    """
    return GoalNeed(
        np.zeros((n_goals, n_states)),
        _for_each(markov_chain(n_states, n_edges), n_goals),
        _for_each(elimination(n_states, n_edges), n_goals),
    )


def _for_each(table: _Table, n_goals: int) -> _Table:
    fields = {name: np.stack([field] * n_goals) for name, field in table._asdict().items()}
    return table._replace(**fields)


@inlined
def _chain(need: GoalNeed, goal: int) -> MarkovChain:
    chains = need.chains
    return MarkovChain(
        chains.edges[goal],
        chains.n_edges[goal],
        chains.first_out[goal],
        chains.has_moved[goal],
        chains.arriving[goal],
    )


@inlined
def _elimination(need: GoalNeed, goal: int) -> Elimination:
    each = need.eliminations
    return Elimination(
        each.order[goal],
        each.place[goal],
        each.begin_later[goal],
        each.begin_earlier[goal],
        each.later[goal],
        each.earlier[goal],
        each.onward[goal],
        each.back[goal],
        each.leaving[goal],
        each.lost[goal],
        each.row[goal],
        each.is_new[goal],
        each.neighbour[goal],
        each.next_one[goal],
        each.first_one[goal],
        each.degree[goal],
        each.mark[goal],
        each.n_edges[goal],
    )


@inlined
def link_places(need: GoalNeed, state: int, next_state: int) -> None:
    """Add an edge to the chains of all goals; nobody takes it yet."""
    for goal in range(len(need.visits)):
        set_edge(_chain(need, goal), state, next_state, 0.0)


@inlined
def set_chance(need: GoalNeed, goal: int, edge: int, state: int, probability: float) -> bool:
    """Say how likely an edge is taken from its state, on the way to a goal.

    Parameters
    ----------
    need : GoalNeed
        Changed in place.
    goal : int
        Which goal.
    edge : int
        Its number, in the order in which `link_places` added edges.
    state : int
        Where it begins.
    probability : float
        How likely it is.

    Returns
    -------
    bool
        Whether that is new.
    """
    if need.chains.edges[goal, edge]["probability"] == probability:
        return False
    need.chains.edges[goal, edge]["probability"] = probability
    need.chains.has_moved[goal, state] = True
    return True


@inlined
def count_goal_need(need: GoalNeed, goal: int, begin: NDArray[np.float64], discount: float) -> None:
    """Count the need of all states for one goal.

    Parameters
    ----------
    need : GoalNeed
        A row of its ``visits`` is written to.
    goal : int
        Which goal.
    begin : ndarray of float64, shape (n_states,)
        How likely the agent starts from each state.
    discount : float
        Weight of the future, a step; below 1.
    """
    solve_visits_from(
        _elimination(need, goal), _chain(need, goal), begin, discount, need.visits[goal]
    )
