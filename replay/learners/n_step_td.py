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
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.contract import Description, Known, Sizes, Transition
from replay.log.backups import ONLINE, TRACE, BackupBuffer
from replay.parts import recent_steps, traces
from replay.parts.policies import best_tried
from replay.parts.recent_steps import RecentSteps, discounted_return
from replay.parts.traces import Traces

__all__ = ["Memory", "Params", "description", "init", "learn", "learns_on_policy", "most_backups"]
__all__ += ["n_words"]


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
    """The memory of n-step learning.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    traces : Traces
        The recently updated pairs that still have a trace.
    window : RecentSteps
        The last n transitions.
    """

    action_values: NDArray[np.float64]
    traces: Traces
    window: RecentSteps


def description(params: Params) -> Description:
    """Describe what is stored, and what is replayed, when and why."""
    stores = "action values; the last n steps" + "; traces" * (params.trace_decay > 0.0)
    return Description(stores, (), "", "Sutton & Barto 2018")


def learns_on_policy(params: Params) -> bool:
    """Return True: the action drawn next is part of the target."""
    return True


def init(params: Params, sizes: Sizes) -> Memory:
    """Return the memory of a learner without experience."""
    shape, decay = (sizes.n_states, sizes.n_actions), params.discount * params.trace_decay
    Q, pairs = np.full(shape, params.initial_value), traces.traces(*shape, decay, sizes.n_steps)
    return Memory(Q, pairs, recent_steps.recent_steps(params.n))


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound of the backups of the next step."""
    return len(memory.traces.strength)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: an action value of each pair, the traces, six per remembered step."""
    return known.pairs + traces.trace_words(memory.traces) + recent_steps.step_words(memory.window)


def _n_step_return(params: Params, memory: Memory, oldest: int, s: int, a: int) -> float:
    """Return the n-step return from a step on, with the value of the pair n steps later."""
    Q = memory.action_values
    total, weight, _, last = discounted_return(memory.window, oldest, params.n, params.discount)
    step = memory.window.rows[last]
    if step["terminated"]:
        return total
    future = best_tried(Q, step["next_state"]) if step["truncated"] else Q[s, a]
    return total if future == np.inf else total + weight * future


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition and update the pair that was visited n steps ago."""
    Q, window = memory.action_values, memory.window
    recent_steps.add_step(window, transition)
    if window.n_seen[0] < params.n:
        return
    oldest, s_next, a_next = window.n_seen[1], transition.next_state, transition.next_action
    target = _n_step_return(params, memory, oldest, s_next, a_next)
    updated = window.rows[oldest]
    s, a = updated["state"], updated["action"]
    error = target if Q[s, a] == np.inf else target - Q[s, a]
    phase = ONLINE if params.n == 1 else TRACE
    pair, reward, entered = s * Q.shape[1] + a, updated["reward"], updated["next_state"]
    traces.add_trace(memory.traces, Q, pair, reward, entered, log)
    traces.back_up_traced(memory.traces, Q, error, params.learning_rate, phase, log)
    if updated["terminated"] or updated["truncated"]:
        traces.clear_traces(memory.traces)
