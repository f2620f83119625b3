"""On-policy n-step temporal-difference learning of action values, with an optional trace.

The pair visited n steps ago moves towards the n-step return: n rewards, or those up to the end of
the episode, and the value of the action drawn n steps later. The update is always n - 1 steps late,
across episode borders too. The published code adds a replacing trace with decay 0.8, which the
paper does not mention. Nothing is replayed; delayed backups are logged as ``trace``.

References
----------
.. [1] Sutton & Barto (2018), Reinforcement Learning, 2nd edition, section 7.2.
.. [2] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.learners.contract import (
    Description,
    Known,
    PositiveCount,
    Share,
    Sizes,
    Transition,
    Value,
)
from replay.log.backups import ONLINE, TRACE, BackupBuffer
from replay.parts.policies import best_tried
from replay.parts.recent_steps import (
    RecentSteps,
    add_step,
    discounted_return,
    recent_steps,
    step_words,
)
from replay.parts.traces import (
    Traces,
    add_trace,
    back_up_traced,
    clear_traces,
    trace_words,
    traces,
)

__all__ = ["Memory", "Params", "description", "init", "learn", "learns_on_policy", "most_backups"]
__all__ += ["n_words"]


class Params(NamedTuple):
    """Parameters of n-step temporal-difference learning.

    Attributes
    ----------
    discount : float
        Weight of the future, a step.
    epsilon : float
        Probability of a uniformly random action.
    learning_rate : float
        Share of the error that is added. The first update of a pair whose initial value is
        infinite goes all the way.
    n : int
        Number of rewards in the return.
    trace_decay : float
        Traces decay by discount * trace_decay a step; 0 is the textbook's learner.
    initial_value : float
        Action value of an untried pair; infinite: untried actions are preferred.
    """

    discount: Share = 0.99
    epsilon: Share = 0.1
    learning_rate: Share = 0.1
    n: PositiveCount = 5
    trace_decay: Share = 0.0
    initial_value: Value = 0.0


class Memory(NamedTuple):
    """What n-step learning keeps.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    traces : Traces
        The pairs updated lately that still have a trace.
    window : RecentSteps
        The last n transitions.
    """

    action_values: NDArray[np.float64]
    traces: Traces
    window: RecentSteps


def description(params: Params) -> Description:
    """Say what is stored, and what is replayed when and why."""
    stores = "action values; the last n steps"
    if params.trace_decay > 0.0:
        stores += "; traces"
    return Description(stores, (), "", "Sutton & Barto 2018")


def learns_on_policy(params: Params) -> bool:
    """Tell that the action drawn next is part of the target."""
    return True


def init(params: Params, sizes: Sizes) -> Memory:
    """Make the memory of a learner that has experienced nothing."""
    shape, decay = (sizes.n_states, sizes.n_actions), params.discount * params.trace_decay
    return Memory(
        np.full(shape, params.initial_value),
        traces(*shape, decay, sizes.n_steps),
        recent_steps(params.n),
    )


def most_backups(params: Params, memory: Memory) -> int:
    """Bound the backups of the next step."""
    return len(memory.traces.strength)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: an action value of each pair, the traces, six a remembered step."""
    return known.pairs + trace_words(memory.traces) + step_words(memory.window)


def _n_step_return(params: Params, memory: Memory, oldest: int, s: int, a: int) -> float:
    """Return the rewards from a step on, and the value of the pair that follows n steps later."""
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
    add_step(window, transition)
    if window.n_seen[0] < params.n:
        return
    oldest, s_next, a_next = window.n_seen[1], transition.next_state, transition.next_action
    target = _n_step_return(params, memory, oldest, s_next, a_next)
    updated = window.rows[oldest]
    s, a = updated["state"], updated["action"]
    error = target if Q[s, a] == np.inf else target - Q[s, a]
    phase = ONLINE if params.n == 1 else TRACE
    add_trace(memory.traces, Q, s * Q.shape[1] + a, updated["reward"], updated["next_state"])
    back_up_traced(memory.traces, Q, error, params.learning_rate, phase, log)
    if updated["terminated"] or updated["truncated"]:
        clear_traces(memory.traces)
