"""Policies: how action values determine actions.

A pair of state and action that was never tried may be marked by an infinite action value [1]_: the
greedy choice then prefers it to everything that was tried, and no maximum that is backed up
includes it.

References
----------
.. [1] Brea (2018). https://arxiv.org/abs/1711.06677
"""

import math
from typing import NamedTuple

import numpy as np

from replay.checks.arrays import Floats
from replay.jit import inlined

POLICIES = ("softmax", "epsilon_greedy")
SOFTMAX, EPSILON_GREEDY = range(2)


class Policy(NamedTuple):
    """A policy and its parameters."""

    kind: int  # index in ``POLICIES``
    # Of softmax: an action better by 1 is ``exp(inverse_temperature)`` times as probable.
    inverse_temperature: float
    epsilon: float  # of epsilon-greedy: the probability of a uniformly random action


@inlined
def best_tried(action_values: Floats, state: int) -> float:
    """Return the largest value of the actions tried so far in a state.

    Values are infinite where an action was never tried.
    """
    best = -np.inf
    for action in range(action_values.shape[1]):
        value = action_values[state, action]
        if best < value < np.inf:
            best = value
    return best if best > -np.inf else 0.0


@inlined
def epsilon_greedy(
    action_values: Floats, state: int, epsilon: float, rng: np.random.Generator
) -> int:
    """Draw any action with probability epsilon, and otherwise one of the best at random.

    One random number is drawn, whatever the outcome, so that learners that share a seed stay
    comparable step by step. An infinite value marks an untried action, which counts as the best.
    """
    n_actions: int = action_values.shape[1]
    draw = rng.random()
    if draw < epsilon:
        return min(int(draw / epsilon * n_actions), n_actions - 1)  # rounding may give n_actions
    best = action_values[state, 0]
    n_best = 1
    for action in range(1, n_actions):
        value = action_values[state, action]
        if value > best:
            best = value
            n_best = 1
        elif value == best:
            n_best += 1
    chosen = 0
    if n_best > 1:  # what is left of the draw is uniform again
        chosen = min(int((draw - epsilon) / (1.0 - epsilon) * n_best), n_best - 1)
    for action in range(n_actions):
        if action_values[state, action] == best:
            if chosen == 0:
                return action
            chosen -= 1
    return n_actions - 1


@inlined
def softmax(
    action_values: Floats, state: int, inverse_temperature: float, rng: np.random.Generator
) -> int:
    """Draw an action with a probability that grows exponentially with its value."""
    n_actions: int = action_values.shape[1]
    best = action_values[state, 0]
    for action in range(1, n_actions):
        best = max(best, action_values[state, action])
    total = 0.0
    for action in range(n_actions):
        total += math.exp(inverse_temperature * (action_values[state, action] - best))
    left = rng.random() * total
    for action in range(n_actions):
        left -= math.exp(inverse_temperature * (action_values[state, action] - best))
        if left < 0.0:
            return action
    return n_actions - 1  # only by rounding


@inlined
def draw_action(policy: Policy, action_values: Floats, state: int, rng: np.random.Generator) -> int:
    """Draw an action from a policy."""
    if policy.kind == SOFTMAX:
        return softmax(action_values, state, policy.inverse_temperature, rng)
    return epsilon_greedy(action_values, state, policy.epsilon, rng)


@inlined
def best_value(action_values: Floats, state: int) -> float:
    """Return the largest action value of a state, infinite ones included."""
    best: float = action_values[state, 0]
    for a in range(1, action_values.shape[1]):
        best = max(best, action_values[state, a])
    return best


@inlined
def draw_weighted(weights: Floats, n: int, rng: np.random.Generator) -> int:
    """Draw an index below n in proportion to its weight.

    It is -1 if all weights are 0.
    """
    total = 0.0
    for i in range(n):
        total += weights[i]
    drawn = -1
    left = total * rng.random()
    for i in range(n):
        if weights[i] > 0.0:
            drawn = i
            left -= weights[i]
            if left < 0.0:
                break
    return drawn
