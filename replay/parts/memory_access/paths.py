"""A backup of several steps: a path of remembered transitions that grows by one at its end.

Each step of a path learns the return from there to the path's end, and the value of what comes
after. The functions take the parameters and the memory of
:mod:`replay.learners.prioritized_memory_access`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.memory_access.priority_table import gain_of
from replay.parts.policies import Policy, draw_action, epsilon_greedy

__all__ = ["Path", "begin_path", "draw_extension", "empty_path", "end_of", "extend_path"]
__all__ += ["set_targets"]


class Path(NamedTuple):
    """The backup made last, and what would extend it.

    Attributes
    ----------
    state, action : ndarray of int32, shape (n_steps,)
        Its steps.
    target, gain : ndarray of float64, shape (n_steps,)
        The n-step return from each of them on, and the gain of learning it.
    """

    state: NDArray[np.int32]
    action: NDArray[np.int32]
    target: NDArray[np.float64]
    gain: NDArray[np.float64]


def empty_path(n_steps: int) -> Path:
    """Make room for a path of so many steps.

    Examples
    --------
    >>> empty_path(3).target.shape
    (3,)
    """
    return Path(
        np.zeros(n_steps, dtype=np.int32),
        np.zeros(n_steps, dtype=np.int32),
        np.zeros(n_steps),
        np.zeros(n_steps),
    )


@inlined
def end_of(path: Path, length: int, next_state: NDArray[np.int32]) -> int:
    """Return the state to which a path of this length leads."""
    end: int = next_state[path.state[length - 1], path.action[length - 1]]
    return end


@inlined
def draw_extension(params: Any, memory: Any, length: int, rng: np.random.Generator) -> int:
    """Draw the action that would extend a path of this length; -1 if there is none to extend."""
    if length == 0 or not params.n_step:
        return -1
    end = end_of(memory.path, length, memory.next_state)
    if params.on_policy:
        policy = Policy(params.plan_policy, params.inverse_temperature, params.epsilon)
        return draw_action(policy, memory.action_values, end, rng)
    return epsilon_greedy(memory.action_values, end, 0.0, rng)


@inlined
def extend_path(params: Any, memory: Any, length: int, action: int) -> float:
    """Put an action behind the path, and return the priority; -1 if it leads nowhere new.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner; ``allow_loops`` lets a path also lead to where it has been.
    length : int
        How many of the path's steps count.
    action : int
        The action; -1 if there is none.

    Returns
    -------
    float
        The need of the last step's state, times the gains of all steps.
    """
    if action < 0:
        return -1.0
    path, next_state = memory.path, memory.next_state
    end = end_of(path, length, next_state)
    onward = next_state[end, action]
    is_new = onward != end
    for i in range(length):
        is_new = is_new and path.state[i] != onward
    if onward < 0 or not (is_new or params.allow_loops):
        return -1.0
    path.state[length] = end
    path.action[length] = action
    set_targets(params, memory, length + 1)
    total = 0.0
    for i in range(length + 1):
        gain = gain_of(params, memory, path.state[i], path.action[i], path.target[i])
        path.gain[i] = gain
        total += max(gain, params.gain_floor)
    worth = total if params.use_gain else max(1.0, params.gain_floor)
    priority: float = memory.need.expected[end] * worth
    return priority


@inlined
def begin_path(params: Any, memory: Any, s: int, a: int) -> float:
    """Make a path of one step, and return its priority."""
    path = memory.path
    path.state[0] = s
    path.action[0] = a
    set_targets(params, memory, 1)
    path.gain[0] = memory.table.gain[s, a]
    priority: float = memory.table.priority[s, a]
    return priority


@inlined
def set_targets(params: Any, memory: Any, length: int) -> None:
    """Compute the return from each step of the path on, the value of its end included."""
    path = memory.path
    target = memory.values[end_of(path, length, memory.next_state)]
    for i in range(length - 1, -1, -1):
        target = memory.reward[path.state[i], path.action[i]] + params.discount * target
        path.target[i] = target
