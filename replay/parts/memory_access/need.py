"""Need: how often the agent will be in each state, by a chain of states learned from its moves.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

from typing import NamedTuple

import numpy as np

from replay.jit import inlined
from replay.log.backups import REST
from replay.parts.markov_chain import MarkovChain, long_run_shares, markov_chain
from replay.parts.memory_access.elimination import Elimination, elimination, solve_visits

__all__ = ["NEEDS", "ONE", "SUCCESSORS", "Need", "count_need", "need_of"]

NEEDS = ("successor_representation", "stationary_distribution", "current_state", "one")
"""What need is [1]_. ``successor_representation``: the visits that are to be expected from where
the agent is, discounted; at rest, the share of time in the long run. ``stationary_distribution``:
that share at all pauses. ``current_state``: 1 where the agent is, 0 elsewhere. ``one``: 1."""
SUCCESSORS, STATIONARY, CURRENT, ONE = range(4)


class Need(NamedTuple):
    """The need of all states, and what it comes from.

    Attributes
    ----------
    expected : ndarray of float64, shape (n_states,)
        Need, as counted last.
    chain : MarkovChain
        T, where the agent goes from each state.
    elimination : Elimination
        What is kept of solving for visits.
    shares : ndarray of float64, shape (n_states,)
        The share of time spent in each state, as counted last.
    """

    expected: np.ndarray
    chain: MarkovChain
    elimination: Elimination
    shares: np.ndarray


def need_of(n_states: int, n_edges: int) -> Need:
    """Make need of an agent that has not moved: 1 everywhere.

    Parameters
    ----------
    n_states : int
        Number of states.
    n_edges : int
        The most distinct pairs (state, next state) that can occur.

    Returns
    -------
    Need
        Its chain is empty.

    Examples
    --------
    >>> need_of(2, 1).expected.tolist()
    [1.0, 1.0]
    """
    return Need(
        np.ones(n_states),
        markov_chain(n_states, n_edges),
        elimination(n_states, n_edges),
        np.full(n_states, 1.0 / n_states),
    )


@inlined
def count_need(need, kind, phase, origin, discount):
    """Count the need of all states.

    Parameters
    ----------
    need : Need
        Its ``expected`` is written to.
    kind : int
        The place of a name in ``NEEDS``; the same at each call.
    phase : int
        Of the pause.
    origin : int
        Where the agent is.
    discount : float
        Weight of the future, a step; below 1.
    """
    if kind == STATIONARY or (kind == SUCCESSORS and phase == REST):
        long_run_shares(need.chain, need.shares)
        for s in range(len(need.shares)):
            need.expected[s] = need.shares[s]
    elif kind == SUCCESSORS:
        solve_visits(need.elimination, need.chain, origin, discount, need.expected)
    elif kind == CURRENT:
        need.expected[:] = 0.0
        need.expected[origin] = 1.0
