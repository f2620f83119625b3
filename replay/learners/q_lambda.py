"""Q(lambda): Q-learning whose temporal-difference error also reaches the pairs just visited.

This is "naive" Q(lambda) with replacing traces: an exploratory action does not cut the traces.
Nothing is replayed; the backups of earlier pairs are logged as ``trace``.

References
----------
.. [1] Sutton & Barto (1998), Reinforcement Learning, section 7.6. https://doi.org/10.1109/TNN.1998.712192
.. [2] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
"""

from typing import NamedTuple

import numpy as np

from replay.checks.arrays import Floats
from replay.learners import ranges
from replay.learners.contract import Description, Known, Sizes, Transition
from replay.log.backups import ONLINE, BackupBuffer
from replay.parts import traces
from replay.parts.policies import best_tried
from replay.parts.traces import Traces


class Params(NamedTuple):
    """Parameters of Q(lambda).

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    learning_rate : float
        Fraction of the temporal-difference error that is added. The first update of a pair whose
        initial value is infinite goes all the way.
    trace_decay : float
        Lambda: traces decay by discount * trace_decay per step.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    learning_rate: ranges.Share = 0.1
    trace_decay: ranges.Share = 0.2
    initial_value: ranges.InitialValue = 0.0
    act_before_update: bool = False


class Memory(NamedTuple):
    """The memory of Q(lambda)."""

    action_values: Floats  # (n_states, n_actions): Q
    traces: Traces  # The pairs of this episode that still have a trace


def description(params: Params) -> Description:
    return Description(
        "action values; traces",
        phases=(),
        priority="",
        source="Sutton & Barto 1998",
        label="Q(\N{GREEK SMALL LETTER LAMDA})",
        acts_before_learning=params.act_before_update,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    return Memory(
        np.full((sizes.n_states, sizes.n_actions), params.initial_value),
        traces.traces(
            sizes.n_states, sizes.n_actions, params.discount * params.trace_decay, sizes.n_steps
        ),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return len(memory.traces.strength)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: an action value of each pair, and the traces."""
    return known.pairs + traces.trace_words(memory.traces)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Send the temporal-difference error to all traced pairs."""
    Q = memory.action_values
    s, a = transition.state, transition.action
    target = transition.reward
    if not transition.terminated:
        target += params.discount * best_tried(Q, transition.next_state)
    error = target if Q[s, a] == np.inf else target - Q[s, a]
    pair, reward = s * Q.shape[1] + a, transition.reward
    traces.add_trace(memory.traces, Q, pair, reward, transition.next_state, log)
    traces.back_up_traced(memory.traces, Q, error, params.learning_rate, ONLINE, log)
    if transition.terminated or transition.truncated:
        traces.clear_traces(memory.traces)
