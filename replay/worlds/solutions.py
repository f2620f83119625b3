"""Exact solutions of an MDP: optimal values by policy iteration [1]_, reward rates by renewal.

With a discount of 1 the values are those of a stochastic shortest path problem [2]_. Both solutions
need a few sparse linear solves and no simulation.

References
----------
.. [1] Puterman (1994), Markov Decision Processes, chapters 6 to 8. Wiley.
   https://doi.org/10.1002/9780470316887
.. [2] Bertsekas & Tsitsiklis (1991). https://doi.org/10.1287/moor.16.3.580
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu

from replay.checks import check_array, check_number, shown
from replay.checks.arrays import Bools, Floats, Ints

# Actions are tied if their values differ by less than this share of the rewards summed in them.
TIE_TOLERANCE = 1e-12
_HALVES = 2.0**27 + 1  # it splits a float of 53 bits into halves of 26


class Solution(NamedTuple):
    """Optimal values of an MDP and one optimal policy.

    Attributes
    ----------
    state_values : ndarray of float64, shape (n_states,)
        0 in terminal states.
    action_values : ndarray of float64, shape (n_states, n_actions)
    policy : ndarray of int64, shape (n_states,)
        The first optimal action of each state; 0 in terminal states.
    n_iterations : int
        Number of policies that were evaluated.
    """

    state_values: Floats
    action_values: Floats
    policy: Ints
    n_iterations: int

    def __repr__(self) -> str:
        """Show the size and the range of values."""
        n_states, n_actions = self.action_values.shape
        low, high = self.state_values.min(), self.state_values.max()
        return (
            f"Solution(state_values from {low:.3g} to {high:.3g}, n_states={n_states}, "
            f"n_actions={n_actions}, n_iterations={self.n_iterations})"
        )


def solve(
    transition: sparse.csr_array, reward: Floats, terminal: Bools, discount: float
) -> Solution:
    """Solve an MDP exactly by policy iteration.

    Each policy is evaluated by a sparse LU decomposition. An action replaces that of the policy
    only if it is better by more than rounding errors, so that ties do not flip. Among tied actions
    the returned policy has the first (with discount 1, unless episodes would then never end).
    """
    discount = check_number("discount", discount, at_least=0, at_most=1)
    n_states, n_actions = reward.shape
    states = np.arange(n_states)

    def look_ahead(rewards: Floats, values: Floats) -> Floats:
        ahead: Floats = (transition @ values).reshape(reward.shape)
        return rewards + discount * ahead

    if discount == 1:
        policy = _nearest_end_policy(transition, terminal)
    else:
        values = np.zeros(n_states)
        for _ in range(n_states):  # starting near the optimum saves decompositions
            previous, values = values, look_ahead(reward, values).max(axis=1)
            if np.abs(values - previous).max() <= 1e-6 * np.abs(values).max():
                break
        policy = look_ahead(reward, values).argmax(axis=1)

    seen: set[bytes] = set()  # rounding errors could cause a cycle
    while policy.tobytes() not in seen:
        seen.add(policy.tobytes())
        chain = transition[states * n_actions + policy]
        if discount == 1:
            endless = np.flatnonzero(np.isinf(_steps_to_end(chain, terminal)))
            if endless.size:  # improvement only finds such a policy if a loop pays
                raise ValueError(
                    f"With discount 1 rewards are unbounded: from {_some(endless)} it pays never "
                    "to end the episode. Use a discount below 1."
                )
        decomposition = _decomposed(sparse.eye_array(n_states) - discount * chain)
        values = decomposition.solve(reward[states, policy])
        # Rounding errors scale with the sum of the absolute rewards.
        size = decomposition.solve(np.abs(reward[states, policy]))
        action_values = look_ahead(reward, values)
        slack = TIE_TOLERANCE * look_ahead(np.abs(reward), size).max(axis=1)
        tied = action_values >= (action_values.max(axis=1) - slack)[:, None]
        policy = np.where(tied[states, policy], policy, action_values.argmax(axis=1))
    first = tied.argmax(axis=1)
    first_chain = transition[states * n_actions + first]
    if discount < 1 or np.isfinite(_steps_to_end(first_chain, terminal)).all():
        policy = first
    return Solution(values, action_values, policy, len(seen))


def reward_rate(
    transition: sparse.csr_array,
    reward: Floats,
    start_probability: Floats,
    terminal: Bools,
    policy: object,
    epsilon: float = 0.0,
) -> float:
    """Compute the mean reward per step of an animal that follows a policy forever.

    By the renewal theorem it is the expected sum of rewards between two renewals, divided by
    the expected number of steps between them. A renewal is the start of an episode, or, where
    episodes never end, the return to one state. The transition from a terminal state to the next
    start takes no time.
    """
    n_states, n_actions = reward.shape
    choice = _action_probability(terminal, n_actions, policy, epsilon)
    end = n_states  # all terminal states as one, from which the next episode starts
    row = np.repeat(np.arange(n_states * n_actions), np.diff(transition.indptr))
    successor = transition.indices
    starts = np.flatnonzero(start_probability)
    chain = sparse.csr_array(
        (
            np.concatenate((choice.ravel()[row] * transition.data, start_probability[starts])),
            (
                np.concatenate((row // n_actions, np.full(len(starts), end))),
                np.concatenate((np.where(terminal[successor], end, successor), starts)),
            ),
        ),
        shape=(end + 1, end + 1),
    )
    chain.sum_duplicates()  # older scipy finds strong components only in canonical matrices
    chain.eliminate_zeros()
    # The states to which the animal always returns, in ascending order.
    _, part = csgraph.connected_components(chain, connection="strong")
    reachable = np.zeros(end + 1, dtype=bool)
    reachable[csgraph.breadth_first_order(chain, end, return_predecessors=False)] = True
    source, target = chain.nonzero()
    closed = np.setdiff1d(part[reachable], part[source[part[source] != part[target]]])
    if closed.size > 1:
        examples = [int(np.flatnonzero(reachable & (part == p))[0]) for p in closed[:2]]
        raise ValueError(
            f"Under this policy the animal ends up by chance in one of {closed.size} parts of the "
            f"world (one with state {examples[0]}, another with state {examples[1]}), so there is "
            "no single reward rate. Use epsilon > 0 or another policy."
        )
    visited = np.flatnonzero(reachable & (part == closed[0]))
    # If there are ends, the renewal is the end, which has the largest number.
    renewal, others = visited[-1], visited[:-1]
    gained = np.append((choice * reward).sum(axis=1), 0.0)
    duration = np.append(np.ones(n_states), 0.0)
    total, steps = gained[renewal], duration[renewal]
    if others.size:
        among = chain[others][:, others]
        visits = _solved(
            sparse.eye_array(others.size) - among.T, chain[[renewal]].toarray()[0, others]
        )
        total = math.fsum([total, *(visits * gained[others])])
        steps = math.fsum([steps, *visits])
    return float(total / steps)


def _solved(matrix: Any, right: Floats) -> Floats:
    """Solve a sparse linear system, with the same bits on any processor."""
    # The order in which linear algebra sums, and with it the last digits, depends on the processor.
    # After one step of refinement by the exact residual, the error is far below these digits.
    rows = matrix.tocsr()
    decomposition = _decomposed(rows)
    solution: Floats = decomposition.solve(right)
    # Dekker's halves, whose products are exact, give the rounding errors of products, too:
    # Dekker (1971), https://doi.org/10.1007/BF01397083.
    factors = rows.data, solution[rows.indices]
    product = factors[0] * factors[1]
    large = [_HALVES * factor for factor in factors]
    a, c = (each - (each - factor) for each, factor in zip(large, factors, strict=True))
    b, d = factors[0] - a, factors[1] - c
    error = ((a * c - product) + a * d + b * c) + b * d
    residual = [
        math.fsum([right[row], *-product[begin:end], *-error[begin:end]])
        for row, (begin, end) in enumerate(pairwise(rows.indptr))
    ]
    correction: Floats = decomposition.solve(np.array(residual))
    return solution + correction


def _decomposed(matrix: Any) -> Any:
    """Decompose a sparse matrix, I - P, for linear solves."""
    try:
        return splu(matrix.tocsc())
    except RuntimeError:
        raise ValueError(
            "The probability of leaving some states is too small for floating-point numbers. Use a "
            "smaller discount, or probabilities that are larger or exactly 0."
        ) from None


def _action_probability(terminal: Bools, n_actions: int, policy: object, epsilon: float) -> Floats:
    """Return the probability of each action in each state, exploration included."""
    epsilon = check_number("epsilon", epsilon, at_least=0, at_most=1)
    shape = (len(terminal), n_actions)
    given: NDArray[Any] = check_array(policy, "policy", kind="number", n_dims=None, missing=True)
    is_whole = np.asarray(policy).dtype.kind in "iu"
    if given.shape == shape[:1] and is_whole:
        if (given < 0).any() or (given >= n_actions).any():
            raise ValueError(
                f"policy must hold actions from 0 to {n_actions - 1}; "
                f"got {given.min():.0f} to {given.max():.0f}."
            )
        choice = np.eye(n_actions)[given.astype(np.int64)]
    elif given.shape == shape:
        choice = given
        wrong = ~terminal & ~((choice >= 0).all(axis=1) & (np.abs(choice.sum(axis=1) - 1) <= 1e-9))
        if wrong.any():
            state = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                "policy must hold probabilities that sum to 1 in each state; "
                f"state {state} has {choice[state].tolist()}."
            )
        choice = np.where(terminal[:, None], 0.0, choice)
    else:
        raise ValueError(
            f"policy must hold actions (integers, shape {shape[:1]}) or probabilities (shape "
            f"{shape}); got {shown(policy)}: {np.asarray(policy).dtype}, shape {given.shape}."
        )
    return (1 - epsilon) * choice + epsilon / n_actions


def steps_to_end(transition: sparse.csr_array, terminal: Bools, n_actions: int) -> Floats:
    """Compute the least number of steps from each state to a terminal one.

    Shape (n_states,); infinite where no path leads to a terminal state.
    """
    n_states = len(terminal)
    any_action = sparse.csr_array(
        (transition.data, transition.indices, transition.indptr[::n_actions]),
        shape=(n_states, n_states),
        copy=True,
    )
    any_action.sum_duplicates()
    return _steps_to_end(any_action, terminal)


def _steps_to_end(chain: sparse.csr_array, terminal: Bools) -> Floats:
    """Compute the least number of steps to a terminal state; infinite without a path."""
    steps: Floats = csgraph.dijkstra(
        chain.T, indices=np.flatnonzero(terminal), unweighted=True, min_only=True
    )
    return steps


def _nearest_end_policy(transition: sparse.csr_array, terminal: Bools) -> Ints:
    """Return a policy under which every episode ends with certainty."""
    n_rows, n_states = transition.shape
    n_actions = n_rows // n_states
    if not terminal.any():
        raise ValueError(
            "With discount 1 values are sums over an episode, and this MDP has no terminal state. "
            "Use a discount below 1."
        )
    steps = steps_to_end(transition, terminal, n_actions)
    lost = np.flatnonzero(np.isinf(steps))
    if lost.size:
        raise ValueError(
            "With discount 1 a terminal state must be reachable from every state, but none is from "
            f"{_some(lost)}. Use a discount below 1, or make these states terminal."
        )
    nearest = np.full(n_rows, np.inf)
    rows = np.repeat(np.arange(n_rows), np.diff(transition.indptr))
    np.minimum.at(nearest, rows, steps[transition.indices])
    policy: Ints = nearest.reshape(n_states, n_actions).argmin(axis=1)
    return policy


def _some(states: NDArray[Any]) -> str:
    """Name a few of many states."""
    named = f"{'state' if states.size == 1 else 'states'} " + ", ".join(map(str, states[:5]))
    return named + (f" and {states.size - 5} more" if states.size > 5 else "")
