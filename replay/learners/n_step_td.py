"""On-policy n-step temporal-difference learning of action values, with an optional trace.

The pair visited n steps ago moves towards the n-step return: n rewards, or those up to the end of
the episode, and the value of the action drawn n steps later. The update is always n - 1 steps late,
also across the borders of episodes. The published code adds a replacing trace with decay 0.8, which
the paper does not mention. Nothing is replayed; delayed backups are logged as ``trace``.

References
----------
.. [1] Sutton & Barto (2018), Reinforcement Learning, 2nd edition, section 7.2.
.. [2] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
"""

from typing import NamedTuple

import numpy as np

from replay.checks.arrays import Floats
from replay.learners import ranges
from replay.learners.contract import Description, Known, Sizes, Transition
from replay.log.backups import ONLINE, TRACE, BackupBuffer
from replay.parts import experiences, traces
from replay.parts.experiences import RecentSteps, discounted_return
from replay.parts.policies import best_tried
from replay.parts.traces import Traces


class Params(NamedTuple):
    """Parameters of n-step temporal-difference learning.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    learning_rate : float
        Fraction of the error that is added. The first update of a pair whose initial value is
        infinite goes all the way.
    n : int
        Number of rewards in the return.
    trace_decay : float
        Traces decay by discount * trace_decay per step; 0 is the textbook's learner.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    learning_rate: ranges.Share = 0.1
    n: ranges.PositiveCount = 5
    trace_decay: ranges.Share = 0.0
    initial_value: ranges.InitialValue = 0.0


class Memory(NamedTuple):
    """The memory of n-step learning."""

    action_values: Floats  # (n_states, n_actions): Q
    traces: Traces  # The recently updated pairs that still have a trace
    window: RecentSteps  # The last n transitions


def description(params: Params) -> Description:
    stores = "action values; the last n steps" + "; traces" * (params.trace_decay > 0.0)
    source = "Sutton & Barto 2018"
    return Description(stores, (), "", source, label="n-step TD", learns_on_policy=True)


def init(params: Params, sizes: Sizes) -> Memory:
    shape, decay = (sizes.n_states, sizes.n_actions), params.discount * params.trace_decay
    Q, pairs = np.full(shape, params.initial_value), traces.traces(*shape, decay, sizes.n_steps)
    return Memory(Q, pairs, experiences.recent_steps(params.n))


def most_backups(params: Params, memory: Memory) -> int:
    return len(memory.traces.strength)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: an action value of each pair, the traces, six per remembered step."""
    return known.pairs + traces.trace_words(memory.traces) + experiences.step_words(memory.window)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition and update the pair that was visited n steps ago."""
    Q, window = memory.action_values, memory.window
    experiences.add_step(window, transition)
    if window.n_seen[0] < params.n:
        return
    oldest = window.n_seen[1]
    target, weight, _, last = discounted_return(window, oldest, params.n, params.discount)
    if not window.rows[last]["terminated"]:
        # After a truncation the next action belongs to another episode.
        future = Q[transition.next_state, transition.next_action]
        if window.rows[last]["truncated"]:
            future = best_tried(Q, window.rows[last]["next_state"])
        if future != np.inf:
            target += weight * future
    updated = window.rows[oldest]
    s, a = updated["state"], updated["action"]
    error = target if Q[s, a] == np.inf else target - Q[s, a]
    phase = ONLINE if params.n == 1 else TRACE
    pair, reward, entered = s * Q.shape[1] + a, updated["reward"], updated["next_state"]
    traces.add_trace(memory.traces, Q, pair, reward, entered, log)
    traces.back_up_traced(memory.traces, Q, error, params.learning_rate, phase, log)
    if updated["terminated"] or updated["truncated"]:
        traces.clear_traces(memory.traces)
