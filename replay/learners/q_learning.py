"""One-step Q-learning; with a large initial value, the optimistic learner.

After each transition (s, a, r, s'), Q(s, a) moves towards r + discount * max_b Q(s', b). Nothing
is replayed.

References
----------
.. [1] Watkins & Dayan (1992), Q-learning. https://doi.org/10.1007/BF00992698
.. [2] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
"""

from typing import Any, NamedTuple

import numpy as np

from replay.checks.arrays import Floats
from replay.learners import ranges
from replay.learners.contract import Description, Known, Sizes, Transition
from replay.log.backups import ONLINE, BackupBuffer, record
from replay.parts.policies import best_tried


class Params(NamedTuple):
    """Parameters of Q-learning.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    initial_value : float
        Action value of an untried pair. Infinite: untried actions are preferred, and left out
        of maxima. Large and finite: optimistic Q-learning.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    learning_rate: ranges.Share = 0.1
    initial_value: ranges.InitialValue = 0.0
    act_before_update: bool = False


class Memory(NamedTuple):
    """The memory of Q-learning."""

    action_values: Floats  # (n_states, n_actions): Q


def description(params: Params) -> Description:
    stores, label, first = "action values", "Q-learning", params.act_before_update
    if params.initial_value > 0.0:
        stores, label = "optimistic action values", "Q-learning, optimistic"
    source = "Watkins & Dayan 1992"
    return Description(stores, (), "", source, label=label, acts_before_learning=first)


def init(params: Params, sizes: Sizes) -> Memory:
    return Memory(np.full((sizes.n_states, sizes.n_actions), params.initial_value))


def most_backups(params: Params, memory: Memory) -> int:
    return 1


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: an action value of each pair."""
    return known.pairs


def target(
    params: Any, action_values: Floats, reward: float, next_state: int, terminated: bool
) -> float:
    """Return the target of a backup, r + discount * max Q(s', .)."""
    if terminated:
        return reward
    return float(reward + params.discount * best_tried(action_values, next_state))


def back_up(
    params: Any,
    action_values: Floats,
    s: int,
    a: int,
    reward: float,
    next_state: int,
    terminated: bool,
) -> float:
    """Move one action value towards its target.

    Return the value before. Infinite stands for untried: the first backup goes all the way.
    """
    towards = target(params, action_values, reward, next_state, terminated)
    before: float = action_values[s, a]
    if before == np.inf:
        action_values[s, a] = towards
    else:
        action_values[s, a] = before + params.learning_rate * (towards - before)
    return before


def learn(params: Any, memory: Any, transition: Transition, log: BackupBuffer) -> None:
    """Back up the transition."""
    Q = memory.action_values
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    before = back_up(params, Q, s, a, r, s_next, transition.terminated)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)
