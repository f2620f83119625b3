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

from replay.learners.contract import Description, PositiveCount, Share, Value
from replay.log.backups import ONLINE, TRACE
from replay.parts.policies import best_tried
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

_STEP = np.dtype(
    [
        ("reward", np.float64),
        ("state", np.int32),
        ("action", np.int32),
        ("next_state", np.int32),
        ("ended", np.int8),
        ("terminated", np.int8),
    ],
    align=True,
)


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
    window : structured ndarray, shape (n,)
        The last n transitions, in a ring.
    n_seen : ndarray of int64, shape (2,)
        Transitions seen, and the place of the next one in the ring.
    """

    action_values: np.ndarray
    traces: Traces
    window: np.ndarray
    n_seen: np.ndarray


def description(params: Params) -> Description:
    """Say what is stored, and what is replayed when and why."""
    stores = "action values; the last n steps"
    if params.trace_decay > 0.0:
        stores += "; traces"
    return Description(stores, (), "", "Sutton & Barto 2018")


def learns_on_policy(params: Params) -> bool:
    """Tell that the action drawn next is part of the target."""
    return True


def init(params, sizes):
    """Make the memory of a learner that has experienced nothing."""
    return Memory(
        np.full((sizes.n_states, sizes.n_actions), params.initial_value),
        traces(
            sizes.n_states, sizes.n_actions, params.discount * params.trace_decay, sizes.n_steps
        ),
        np.zeros(params.n, dtype=_STEP),
        np.zeros(2, dtype=np.int64),
    )


def most_backups(params, memory):
    """Bound the backups of the next step."""
    return len(memory.traces.strength)


def n_words(params, memory, known):
    """Count the numbers held: an action value of each pair, the traces, six a remembered step."""
    n_steps = min(memory.n_seen[0], params.n)
    return known.pairs + trace_words(memory.traces) + len(_STEP.names) * n_steps


def _n_step_return(params, memory, oldest, next_state, next_action):
    Q = memory.action_values
    total = 0.0
    weight = 1.0
    place = oldest
    for _ in range(params.n):
        step = memory.window[place]
        total += weight * step["reward"]
        weight *= params.discount
        if step["ended"]:
            if step["terminated"]:
                return total
            return total + weight * best_tried(Q, step["next_state"])
        place = place + 1 if place + 1 < params.n else 0
    bootstrap = Q[next_state, next_action]
    return total if bootstrap == np.inf else total + weight * bootstrap


def learn(params, memory, transition, log):
    """Remember the transition and update the pair that was visited n steps ago."""
    Q = memory.action_values
    place = memory.n_seen[1]
    newest = memory.window[place]
    newest["state"] = transition.state
    newest["action"] = transition.action
    newest["reward"] = transition.reward
    newest["next_state"] = transition.next_state
    newest["ended"] = transition.terminated or transition.truncated
    newest["terminated"] = transition.terminated
    memory.n_seen[0] += 1
    memory.n_seen[1] = place + 1 if place + 1 < params.n else 0
    if memory.n_seen[0] < params.n:
        return

    oldest = memory.n_seen[1]
    target = _n_step_return(params, memory, oldest, transition.next_state, transition.next_action)
    updated = memory.window[oldest]
    s, a = updated["state"], updated["action"]
    error = target if Q[s, a] == np.inf else target - Q[s, a]
    phase = ONLINE if params.n == 1 else TRACE
    add_trace(memory.traces, Q, s * Q.shape[1] + a, updated["reward"], updated["next_state"])
    back_up_traced(memory.traces, Q, error, params.learning_rate, phase, log)
    if updated["ended"]:
        clear_traces(memory.traces)
