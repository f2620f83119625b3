"""Need: how often the agent will be in each state, computed from a Markov chain of its moves.

While the agent is awake, need is the expected discounted number of visits from its present state
on [1]_, a row of the successor representation [2]_. At rest it is the share of time spent in a
state in the long run [1]_. The chain is learned from the agent's moves
(:func:`replay.parts.markov_chain.move`), or follows from a learned model under the current policy
(`set_policy_moves`).

References
----------
.. [1] Mattar & Daw (2018). https://doi.org/10.1038/s41593-018-0232-z
.. [2] Dayan (1993). https://doi.org/10.1162/neco.1993.5.4.613
"""

from typing import NamedTuple

import numpy as np

from replay.checks.arrays import Floats
from replay.jit import inlined
from replay.log.backups import REST
from replay.parts.elimination import Elimination, elimination, solve_visits
from replay.parts.markov_chain import MarkovChain, long_run_shares, markov_chain, set_edge
from replay.parts.world_model import WorldModel

NEEDS = ("successor_representation", "stationary_distribution", "current_state", "one")
"""Definitions of need. ``successor_representation``: the discounted number of expected visits from
the agent's state on; at rest, the share of time in the long run. ``stationary_distribution``: that
share at all pauses. ``current_state``: 1 where the agent is, 0 elsewhere. ``one``: 1."""
SUCCESSORS, _STATIONARY, _CURRENT, ONE = range(4)


class Need(NamedTuple):
    """The need of all states, and what it is computed from."""

    expected: Floats  # (n_states,): need, as computed last
    chain: MarkovChain  # T, where the agent goes from each state
    elimination: Elimination  # What is kept from one computation of expected visits to the next
    # (n_states,): the share of time spent in each state, as computed last; the next
    # computation begins there
    shares: Floats


def need_of(n_states: int, n_edges: int) -> Need:
    """Make the need of an agent that has not moved: 1 everywhere."""
    return Need(
        expected=np.ones(n_states),
        chain=markov_chain(n_states, n_edges),
        elimination=elimination(n_states, n_edges),
        shares=np.full(n_states, 1.0 / n_states),
    )


@inlined
def count_need(need: Need, kind: int, phase: int, origin: int, discount: float) -> None:
    """Compute the need of all states.

    `kind` is an index of ``NEEDS``, the same at each call.
    """
    if kind == _STATIONARY or (kind == SUCCESSORS and phase == REST):
        long_run_shares(need.chain, need.shares)
        for s in range(len(need.shares)):
            need.expected[s] = need.shares[s]
    elif kind == SUCCESSORS:
        solve_visits(need.elimination, need.chain, origin, discount, need.expected)
    elif kind == _CURRENT:
        need.expected[:] = 0.0
        need.expected[origin] = 1.0


@inlined
def set_policy_moves(
    chain: MarkovChain, model: WorldModel, action_values: Floats, epsilon: float, goes_on: bool
) -> None:
    """Set a chain to the moves of the epsilon-greedy policy in a learned model.

    Actions whose value is infinite, as they were never tried, are left out. What follows an action
    that is not in the model is unknown: it counts for nothing, or a new episode begins. The chain's
    last state is the time between episodes. It needs room for the edges of the model, and for one
    more per state.
    """
    n_states, n_actions = action_values.shape
    chain.n_edges[0] = 0
    chain.first_out[n_states] = -1
    for s in range(n_states):
        chain.first_out[s] = -1
        best, n_best, n_open = -np.inf, 0, 0
        for a in range(n_actions):
            value = action_values[s, a]
            if value < np.inf:
                n_open += 1
                if value > best:
                    best = value
                    n_best = 0
                if value == best:
                    n_best += 1
        known = 0.0
        for a in range(n_actions):
            if model.visits[s, a] > 0.0:
                chance = epsilon / n_open
                if action_values[s, a] == best:
                    chance += (1.0 - epsilon) / n_best
                known += chance
                edge = model.first_out[s, a]
                while edge >= 0:
                    share = model.edges[edge]["count"] / model.visits[s, a]
                    set_edge(chain, s, model.edges[edge]["next_state"], chance * share)
                    edge = model.edges[edge]["next_out"]
        if goes_on and known < 1.0:
            set_edge(chain, s, n_states, 1.0 - known)
