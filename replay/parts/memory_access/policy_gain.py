"""What a policy earns in a state, and what it gains there by learning.

The gain of a backup [1]_ is what the policy will earn more, at the new action values, for having
changed with them: sum over b of (policy after - policy before)(b) * Q after(b). The parameters of
the policies are ``inverse_temperature`` and ``epsilon`` of a learner.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

import math

import numpy as np

from replay.jit import inlined
from replay.parts.policies import epsilon_greedy, softmax

__all__ = ["EPSILON_GREEDY", "POLICIES", "SOFTMAX", "draw_action", "expected_value", "policy_gain"]

POLICIES = ("softmax", "epsilon_greedy")
SOFTMAX, EPSILON_GREEDY = range(2)

_LARGEST_EXPONENT = 700.0


@inlined
def draw_action(params, action_values, state, policy, rng):
    """Draw an action of one of the `POLICIES`."""
    if policy == SOFTMAX:
        return softmax(action_values, state, params.inverse_temperature, rng)
    return epsilon_greedy(action_values, state, params.epsilon, rng)


@inlined
def best_value(action_values, state):
    """Return the largest action value of a state."""
    best = action_values[state, 0]
    for a in range(1, action_values.shape[1]):
        best = max(best, action_values[state, a])
    return best


@inlined
def expected_value(params, action_values, state, policy):
    """Return the mean action value under a policy.

    Parameters
    ----------
    params : NamedTuple
        ``inverse_temperature`` and ``epsilon`` of a learner.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Finite.
    state : int
        The state.
    policy : int
        One of the `POLICIES`.

    Returns
    -------
    float
        The value of the state.

    Examples
    --------
    >>> from replay.learners.prioritized_memory_access import Params
    >>> expected_value(Params(epsilon=0.5), np.array([[0.0, 1.0]]), 0, EPSILON_GREEDY)
    np.float64(0.75)
    """
    n_actions = action_values.shape[1]
    best = best_value(action_values, state)
    total = 0.0
    mean = 0.0
    if policy == EPSILON_GREEDY:
        for a in range(n_actions):
            mean += action_values[state, a] / n_actions
        return (1.0 - params.epsilon) * best + params.epsilon * mean
    for a in range(n_actions):
        weight = math.exp(params.inverse_temperature * (action_values[state, a] - best))
        total += weight
        mean += weight * action_values[state, a]
    return mean / total


@inlined
def policy_gain(params, action_values, state, action, after, policy):
    """Return how much more a policy earns in a state once one action value has changed.

    Parameters
    ----------
    params : NamedTuple
        ``inverse_temperature`` and ``epsilon`` of a learner.
    action_values : ndarray of float64, shape (n_states, n_actions)
        As they are before; finite.
    state, action : int
        Which of them changes.
    after : float
        Its new value.
    policy : int
        One of the `POLICIES`.

    Returns
    -------
    float
        The gain. It is negative if a softmax policy turns away from an action that has become
        worse, but is still better than the others.

    Examples
    --------
    >>> from replay.learners.prioritized_memory_access import Params
    >>> Q = np.array([[0.0, 1.0, 1.0]])
    >>> policy_gain(Params(epsilon=0.5), Q, 0, 0, 3.0, EPSILON_GREEDY)
    np.float64(1.0)
    """
    if after == action_values[state, action] or action_values.shape[1] == 1:
        return 0.0
    if policy == EPSILON_GREEDY:
        return _greedy_gain(params, action_values, state, action, after)
    return _softmax_gain(params, action_values, state, action, after)


@inlined
def _softmax_gain(params, action_values, state, action, after):
    """Only the probability p of the action against all others changes.

    So the gain is the change of p times what the action is now better than the mean of the others.
    """
    beta = params.inverse_temperature
    best = -np.inf
    for b in range(action_values.shape[1]):
        if b != action:
            best = max(best, action_values[state, b])
    total = 0.0
    mean = 0.0
    for b in range(action_values.shape[1]):
        if b != action:
            weight = math.exp(beta * (action_values[state, b] - best))
            total += weight
            mean += weight * action_values[state, b]
    mean /= total
    before = action_values[state, action]
    p_before = 1.0 / (1.0 + total * math.exp(min(beta * (best - before), _LARGEST_EXPONENT)))
    p_after = 1.0 / (1.0 + total * math.exp(min(beta * (best - after), _LARGEST_EXPONENT)))
    return (p_after - p_before) * (after - mean)


@inlined
def _greedy_gain(params, action_values, state, action, after):
    """Random actions earn the same before and after: what changes is which ones are best."""
    best = best_value(action_values, state)
    n_best = 0
    best_after = after
    earned = 0.0
    for b in range(action_values.shape[1]):
        value = after if b == action else action_values[state, b]
        best_after = max(best_after, value)
        if action_values[state, b] == best:
            n_best += 1
            earned += value
    return (1.0 - params.epsilon) * (best_after - earned / n_best)
