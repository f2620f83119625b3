"""A Markov chain over states, learned from the agent's moves, whatever its actions.

The chain is that of the policy which was followed while it was learned. Its rows are linked lists
of edges, so that nothing ever scans pairs of states. It predicts how often each state will be
visited: from one state on (a row of the successor representation [1]_), or in the long run.

References
----------
.. [1] Dayan (1993). https://doi.org/10.1162/neco.1993.5.4.613
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.jit import inlined

_EDGE = np.dtype([("probability", np.float64), ("next_state", np.int32), ("next_out", np.int32)])
_TOLERANCE = 1e-15
_MOST_SWEEPS = 10_000


class MarkovChain(NamedTuple):
    """The arrays of the chain."""

    # (n_edges,): ``next_state`` and its ``probability``; ``next_out`` links the edges out of
    # one state (-1 at the end)
    edges: NDArray[np.void]
    n_edges: Ints  # (1,): the number of edges in use
    # (n_states,): the latest edge out of each state; -1 if it was never left
    first_out: Int32s
    # (n_states,): which rows changed; code that computes something from them may reset it
    has_moved: Bools
    arriving: Floats  # (n_states,): workspace for sums


def markov_chain(n_states: int, n_edges: int) -> MarkovChain:
    """Make a chain without edges."""
    return MarkovChain(
        edges=np.zeros(n_edges, dtype=_EDGE),
        n_edges=np.zeros(1, dtype=np.int64),
        first_out=np.full(n_states, -1, dtype=np.int32),
        has_moved=np.zeros(n_states, dtype=np.bool_),
        arriving=np.zeros(n_states),
    )


def chain_words(chain: MarkovChain) -> int:
    """Count the numbers held: three for each edge, and where the list of each state begins."""
    n_left = int(np.count_nonzero(chain.first_out >= 0))
    return len(_EDGE.names or ()) * int(chain.n_edges[0]) + n_left


@inlined
def set_edge(chain: MarkovChain, state: int, next_state: int, probability: float) -> None:
    """Add an edge."""
    edge = chain.n_edges[0]
    chain.n_edges[0] = edge + 1
    chain.edges[edge]["probability"] = probability
    chain.edges[edge]["next_state"] = next_state
    chain.edges[edge]["next_out"] = chain.first_out[state]
    chain.first_out[state] = edge
    chain.has_moved[state] = True


@inlined
def move(chain: MarkovChain, state: int, next_state: int, rate: float) -> None:
    """Learn from a move: shift the probabilities of a state towards its latest successor.

    The first move from a state gets probability 1, whatever the learning rate.
    """
    if chain.first_out[state] < 0:
        set_edge(chain, state, next_state, 1.0)
        return
    chain.has_moved[state] = True
    known = False
    edge = chain.first_out[state]
    while edge >= 0:
        chain.edges[edge]["probability"] *= 1.0 - rate
        if chain.edges[edge]["next_state"] == next_state:
            chain.edges[edge]["probability"] += rate
            known = True
        edge = chain.edges[edge]["next_out"]
    if not known:
        set_edge(chain, state, next_state, rate)


@inlined
def expected_visits(chain: MarkovChain, state: int, discount: float, visits: Floats) -> None:
    """Compute the discounted number of expected visits to each state from one state on.

    This is a row of the inverse of 1 - discount * T, computed as a sum over future steps. What
    arrives in a state is passed on to its successors until all the rest would add less than 1e-15
    to the sum of all visits, or until 10,000 sweeps over the states were made; each looks at least
    one step ahead. All terms are positive, so no digits are lost. They are written to
    `visits` (n_states,); the discount is below 1.
    """
    for s in range(len(visits)):
        chain.arriving[s] = 0.0
    chain.arriving[state] = 1.0
    sum_visits(chain, discount, visits)


@inlined
def sum_visits(chain: MarkovChain, discount: float, visits: Floats) -> None:
    """Compute expected visits as `expected_visits` does, from a distribution of first states.

    `visits` (n_states,) is written to; the discount is below 1.
    """
    n_states, arriving = len(visits), chain.arriving
    for s in range(n_states):
        visits[s] = 0.0
    negligible = _TOLERANCE * (1.0 - discount) / n_states
    for sweep in range(_MOST_SWEEPS):
        passed_on = False
        for place in range(n_states):
            # To and fro: what moves against the order of states would go one step a sweep.
            s = place if sweep % 2 == 0 else n_states - 1 - place
            amount = arriving[s]
            if amount > negligible:
                passed_on = True
                arriving[s] = 0.0
                visits[s] += amount
                edge = chain.first_out[s]
                while edge >= 0:
                    s_next = chain.edges[edge]["next_state"]
                    arriving[s_next] += discount * amount * chain.edges[edge]["probability"]
                    edge = chain.edges[edge]["next_out"]
        if not passed_on:
            break


@inlined
def long_run_shares(chain: MarkovChain, shares: Floats) -> None:
    """Compute the share of time spent in each state in the long run: the stationary distribution.

    Each sweep moves half of the probability mass on, so that periodic chains converge too, until a
    sweep changes the shares by less than 1e-12 in sum, or 10,000 sweeps were made. The next call
    continues from there. `shares` (n_states,) begins with a sum above 0, and ends with a sum of 1,
    although mass is lost in states that were never left.
    """
    n_states = len(shares)
    arriving = chain.arriving
    for _ in range(_MOST_SWEEPS):
        for s in range(n_states):
            arriving[s] = 0.5 * shares[s]  # half stays, so that periodic chains converge
        for s in range(n_states):
            edge = chain.first_out[s]
            while edge >= 0:
                s_next = chain.edges[edge]["next_state"]
                arriving[s_next] += 0.5 * shares[s] * chain.edges[edge]["probability"]
                edge = chain.edges[edge]["next_out"]
        total = 0.0
        for s in range(n_states):
            total += arriving[s]
        change = 0.0
        for s in range(n_states):
            share = arriving[s] / total
            change += abs(share - shares[s])
            shares[s] = share
        if change < 1e-12:
            break
