"""The gain of a backup: how much more the policy earns from a state after its values were updated.

In terms of the action values after the backup it is the sum over b of (policy after - policy
before)(b) * Q after(b) [1]_. Gain is that of one state; need weighs it by how often the agent will
be there, see :mod:`replay.parts.need`.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

import math

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.policies import SOFTMAX, Policy

__all__ = ["greedy_gain", "policy_gain", "set_changed_values"]

_LARGEST_EXPONENT = 700.0


@inlined
def set_changed_values(
    room: NDArray[np.float64], action_values: NDArray[np.float64], s: int, a: int, value: float
) -> None:
    """Copy the action values of a state, and change one of them.

    Parameters
    ----------
    room : ndarray of float64, shape (n_actions,)
        Written to.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    s, a : int
        The pair whose value is changed in the copy.
    value : float
        Its new value.
    """
    for b in range(len(room)):
        room[b] = action_values[s, b]
    room[a] = value


@inlined
def greedy_gain(
    action_values: NDArray[np.float64], state: int, after: NDArray[np.float64], epsilon: float
) -> float:
    """Return how much more an epsilon-greedy policy earns from a state after a change of values.

    Random actions earn the same before and after. Only the greedy choice counts: the gain is the
    best of the new values, less the mean of the new values of the actions that are best now.
    Actions whose value is infinite, as they were never tried, are left out, as in maxima.

    Parameters
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q before the change.
    state : int
    after : ndarray of float64, shape (n_actions,)
        Q of this state after the change.
    epsilon : float
        Probability of a uniformly random action.

    Returns
    -------
    float
        At least 0, apart from rounding.

    Examples
    --------
    The worse of two actions becomes the better one, by 2:

    >>> float(greedy_gain(np.array([[1.0, 0.0]]), 0, np.array([1.0, 3.0]), 0.5))
    1.0
    """
    best_before, best_after = -np.inf, -np.inf
    total, n_best = 0.0, 0
    for action in range(len(after)):
        before = action_values[state, action]
        if before == np.inf:
            continue
        best_after = max(best_after, after[action])
        if before > best_before:
            best_before = before
            total, n_best = 0.0, 0
        if before == best_before:
            total += after[action]
            n_best += 1
    return (1.0 - epsilon) * (best_after - total / n_best)


@inlined
def policy_gain(
    policy: Policy,
    action_values: NDArray[np.float64],
    state: int,
    action: int,
    after: float,
    room: NDArray[np.float64],
) -> float:
    """Return how much more a policy earns from a state after one of its action values has changed.

    Parameters
    ----------
    policy : Policy
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q before the change; finite.
    state, action : int
        The pair whose value changes.
    after : float
        Its new value.
    room : ndarray of float64, shape (n_actions,)
        Workspace.

    Returns
    -------
    float
        It is negative if a softmax policy turns away from an action that has become worse, but is
        still better than the others.

    Examples
    --------
    >>> from replay.parts.policies import EPSILON_GREEDY
    >>> greedy = Policy(EPSILON_GREEDY, 1.0, 0.5)
    >>> float(policy_gain(greedy, np.array([[0.0, 1.0, 1.0]]), 0, 0, 3.0, np.empty(3)))
    1.0
    """
    if after == action_values[state, action] or action_values.shape[1] == 1:
        return 0.0
    if policy.kind == SOFTMAX:
        return _softmax_gain(policy.inverse_temperature, action_values, state, action, after)
    set_changed_values(room, action_values, state, action, after)
    return greedy_gain(action_values, state, room, policy.epsilon)


@inlined
def _softmax_gain(
    beta: float, action_values: NDArray[np.float64], state: int, action: int, after: float
) -> float:
    """Return the gain of a softmax policy, for which only the probability p of the action changes.

    It is the change of p times the difference between the action's new value and the mean of the
    others.
    """
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
