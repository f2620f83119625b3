"""Exact solutions of an MDP: optimal values by policy iteration, reward rates by renewal.

Both need one or a few sparse linear solves and no simulation.

References
----------
Puterman ML (1994). Markov Decision Processes, chapters 6 to 8. Wiley. doi:10.1002/9780470316887
Bertsekas DP, Tsitsiklis JN (1991). An analysis of stochastic shortest path problems. Math Oper Res
16:580-595. doi:10.1287/moor.16.3.580
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu

if TYPE_CHECKING:
    from replay.worlds.mdp import MDP

__all__ = ["Solution", "reward_rate", "solve"]

# Actions whose values differ by less than this share of the rewards they add up are tied.
TIE_TOLERANCE = 1e-12


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

    state_values: NDArray[np.float64]
    action_values: NDArray[np.float64]
    policy: NDArray[np.int64]
    n_iterations: int


def solve(mdp: MDP, discount: float) -> Solution:
    """Solve an MDP exactly by policy iteration.

    Each policy is evaluated by a sparse LU decomposition. An action replaces the policy's only if
    it is better by more than rounding, so that ties don't flip. Of tied actions the policy returned
    takes the first (with discount 1 unless it would then never reach an end).

    Parameters
    ----------
    mdp : MDP
    discount : float
        Between 0 and 1.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        If the discount is not in [0, 1]; with discount 1 also if a state can't reach a terminal
        state or rewards can be collected without bound.

    Examples
    --------
    >>> from replay.worlds.mdp import MDP
    >>> two_rooms = MDP.from_tables([[0, 1], [1, 0]], reward=[[0, 0], [1, 0]], start=0)
    >>> solve(two_rooms, discount=0.5).policy
    array([1, 0])
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be between 0 and 1; got {discount}.")
    transition, reward = mdp.transition_matrix(), mdp.expected_reward()
    states = np.arange(mdp.n_states)

    def look_ahead(
        rewards: NDArray[np.float64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return rewards + discount * (transition @ values).reshape(reward.shape)

    if discount == 1:
        policy = _nearest_end_policy(mdp)
    else:
        values = np.zeros(mdp.n_states)
        for _ in range(mdp.n_states):  # a start near the optimum saves decompositions
            previous, values = values, look_ahead(reward, values).max(axis=1)
            if np.abs(values - previous).max() <= 1e-6 * np.abs(values).max():
                break
        policy = look_ahead(reward, values).argmax(axis=1)

    seen: set[bytes] = set()  # rounding could lead in a circle
    while policy.tobytes() not in seen:
        seen.add(policy.tobytes())
        chain = transition[states * mdp.n_actions + policy]
        if discount == 1:
            _check_bounded(mdp, chain)
        decomposition = splu((sparse.eye_array(mdp.n_states) - discount * chain).tocsc())
        values = decomposition.solve(reward[states, policy])
        # Rounding scales with the sum of the rewards' sizes, not with the sum itself.
        size = decomposition.solve(np.abs(reward[states, policy]))
        action_values = look_ahead(reward, values)
        slack = TIE_TOLERANCE * look_ahead(np.abs(reward), size).max(axis=1)
        tied = action_values >= (action_values.max(axis=1) - slack)[:, None]
        policy = np.where(tied[states, policy], policy, action_values.argmax(axis=1))
    first = tied.argmax(axis=1)
    first_chain = transition[states * mdp.n_actions + first]
    if discount < 1 or np.isfinite(_steps_to_end(mdp, first_chain)).all():
        policy = first
    return Solution(values, action_values, policy, len(seen))


def reward_rate(mdp: MDP, policy: ArrayLike, epsilon: float = 0.0) -> float:
    """Mean reward per step of an animal that follows a policy forever, episode after episode.

    By the renewal theorem it is the expected sum of rewards between two renewals over the expected
    number of steps between them. Episodes renew the process, starts drawn from the start
    distribution; where they never end, the return to one state does. Entering a terminal state and
    starting anew takes no time.

    Parameters
    ----------
    mdp : MDP
    policy : array_like of int, shape (n_states,), or of float, shape (n_states, n_actions)
        The action taken in each state, or the probability of each action. Entries of terminal
        states don't matter.
    epsilon : float
        Probability of a uniformly random action instead of the policy's.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the policy doesn't fit the MDP, or if the animal ends up in one of several parts of the
        task by chance and never leaves it.

    Examples
    --------
    >>> from replay.worlds.mdp import MDP
    >>> corridor = MDP.from_tables([[0, 1], [0, 0]], reward=[0, 1], start=0, terminal=[1])
    >>> corridor.reward_rate([1, 0], epsilon=0.5)
    0.75
    """
    choice = _action_probability(mdp, policy, epsilon)
    end = mdp.n_states  # all terminal states as one, from which the next episode starts
    row = mdp.transition_rows()
    starts = np.flatnonzero(mdp.start_probability)
    chain = sparse.csr_array(
        (
            np.concatenate((choice.ravel()[row] * mdp.probability, mdp.start_probability[starts])),
            (
                np.concatenate((row // mdp.n_actions, np.full(len(starts), end))),
                np.concatenate((np.where(mdp.terminal[mdp.successor], end, mdp.successor), starts)),
            ),
        ),
        shape=(end + 1, end + 1),
    )
    chain.sum_duplicates()  # older scipy looks for strong components only in canonical tables
    chain.eliminate_zeros()
    visited = _recurrent_states(mdp, chain)
    renewal, others = (
        visited[-1],
        visited[:-1],
    )  # the end if there is one: it has the largest number
    reward = np.append((choice * mdp.expected_reward()).sum(axis=1), 0.0)
    duration = np.append(np.ones(mdp.n_states), 0.0)
    total, steps = reward[renewal], duration[renewal]
    if others.size:
        among = chain[others][:, others]
        visits = splu((sparse.eye_array(others.size) - among.T).tocsc()).solve(
            chain[[renewal]].toarray()[0, others]
        )
        total, steps = total + visits @ reward[others], steps + visits.sum()
    return float(total / steps)


def _recurrent_states(mdp: MDP, chain: sparse.csr_array) -> NDArray[np.intp]:
    """States to which the animal always returns, in ascending order."""
    end = mdp.n_states
    _, part = csgraph.connected_components(chain, connection="strong")
    reachable = np.zeros(end + 1, dtype=bool)
    reachable[csgraph.breadth_first_order(chain, end, return_predecessors=False)] = True
    source, target = chain.nonzero()
    left = part[source[part[source] != part[target]]]
    closed = np.setdiff1d(part[reachable], left)
    if closed.size > 1:
        examples = [int(np.flatnonzero(reachable & (part == p))[0]) for p in closed[:2]]
        raise ValueError(
            f"By chance this policy ends up for good in one of {closed.size} parts of the task "
            f"(one has state {examples[0]}, another state {examples[1]}), so it has no single "
            "reward rate. Take epsilon > 0 or another policy."
        )
    return np.flatnonzero(reachable & (part == closed[0]))


def _action_probability(mdp: MDP, policy: ArrayLike, epsilon: float) -> NDArray[np.float64]:
    """Probability of each action in each state, exploration included."""
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon must be between 0 and 1; got {epsilon}.")
    given = np.asarray(policy)
    shape = (mdp.n_states, mdp.n_actions)
    if given.shape == shape[:1] and np.issubdtype(given.dtype, np.integer):
        if (given < 0).any() or (given >= mdp.n_actions).any():
            raise ValueError(
                f"policy must hold actions from 0 to {mdp.n_actions - 1}; "
                f"got {given.min()} to {given.max()}."
            )
        choice = np.eye(mdp.n_actions)[given]
    elif given.shape == shape:
        choice = given.astype(float)
        wrong = ~mdp.terminal & ~(
            (choice >= 0).all(axis=1) & (np.abs(choice.sum(axis=1) - 1) <= 1e-9)
        )
        if wrong.any():
            state = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                "policy must hold probabilities that sum to 1 in each state; "
                f"state {state} has {choice[state].tolist()}."
            )
    else:
        raise ValueError(
            f"policy must hold actions (integers, shape {shape[:1]}) or probabilities (shape "
            f"{shape}); got {given.dtype}, shape {given.shape}."
        )
    return (1 - epsilon) * choice + epsilon / mdp.n_actions


def steps_to_end(mdp: MDP) -> NDArray[np.float64]:
    """Count the steps from each state to a terminal one, at least; see `MDP.steps_to_end`."""
    any_action = sparse.csr_array(
        (mdp.probability, mdp.successor, mdp.successor_offset[:: mdp.n_actions]),
        shape=(mdp.n_states, mdp.n_states),
        copy=True,
    )
    any_action.sum_duplicates()
    return _steps_to_end(mdp, any_action)


def _steps_to_end(mdp: MDP, chain: sparse.csr_array) -> NDArray[np.float64]:
    """Least number of transitions from each state to a terminal one; infinite without a way."""
    return csgraph.dijkstra(
        chain.T, indices=np.flatnonzero(mdp.terminal), unweighted=True, min_only=True
    )


def _nearest_end_policy(mdp: MDP) -> NDArray[np.int64]:
    """Policy that ends each episode with certainty, sooner or later."""
    if not mdp.terminal.any():
        raise ValueError(
            "With discount 1 values are sums over an episode, and this MDP has no terminal state. "
            "Take a discount below 1."
        )
    steps = mdp.steps_to_end
    lost = np.flatnonzero(np.isinf(steps))
    if lost.size:
        raise ValueError(
            "With discount 1 every state must be able to reach a terminal state; "
            f"{_some(lost)} can't. Take a discount below 1, or make these states terminal."
        )
    nearest = np.full(mdp.n_states * mdp.n_actions, np.inf)
    np.minimum.at(nearest, mdp.transition_rows(), steps[mdp.successor])
    return nearest.reshape(mdp.n_states, mdp.n_actions).argmin(axis=1)


def _check_bounded(mdp: MDP, chain: sparse.csr_array) -> None:
    """Improving a policy that ends episodes gives one that doesn't only if a loop pays."""
    endless = np.flatnonzero(np.isinf(_steps_to_end(mdp, chain)))
    if endless.size:
        raise ValueError(
            f"With discount 1 rewards grow without bound: from {_some(endless)} it pays never to "
            "end the episode. Take a discount below 1."
        )


def _some(states: NDArray[Any]) -> str:
    """Name a few of many states."""
    named = f"{'state' if states.size == 1 else 'states'} " + ", ".join(map(str, states[:5]))
    return named + (f" and {states.size - 5} more" if states.size > 5 else "")
