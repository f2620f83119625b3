"""A backup of several steps: a path of remembered transitions that grows by one at its end.

The target of each step is the return from there to the end of the path, and the value of its end.
"""

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.learners.prioritized_memory_access.memory import Memory, Params, Path
from replay.learners.prioritized_memory_access.priority_table import gain_of
from replay.parts.policies import epsilon_greedy

__all__ = ["begin_path", "draw_extension", "empty_path", "end_of", "extend_path", "set_targets"]


def empty_path(n_steps: int) -> Path:
    """Make room for a path.

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
    """Return the state to which a path leads."""
    end: int = next_state[path.state[length - 1], path.action[length - 1]]
    return end


@inlined
def draw_extension(params: Params, memory: Memory, length: int, rng: np.random.Generator) -> int:
    """Draw the greedy action that would extend the path; -1: none."""
    if length == 0 or not params.n_step:
        return -1
    end = end_of(memory.path, length, memory.next_state)
    return epsilon_greedy(memory.action_values, end, 0.0, rng)


@inlined
def extend_path(params: Params, memory: Memory, length: int, action: int) -> float:
    """Append an action to the path, unless that makes a loop; return the priority of its backup.

    That is the need of the last step's state times the sum of all gains; -1: it leads nowhere new.
    """
    if action < 0:
        return -1.0
    path, next_state = memory.path, memory.next_state
    end = end_of(path, length, next_state)
    onward = next_state[end, action]
    is_new = onward != end
    for i in range(length):
        is_new = is_new and path.state[i] != onward
    if onward < 0 or not is_new:
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
def begin_path(params: Params, memory: Memory, s: int, a: int) -> float:
    """Make a path of one step, and return the priority of its backup."""
    path = memory.path
    path.state[0] = s
    path.action[0] = a
    set_targets(params, memory, 1)
    path.gain[0] = memory.table.gain[s, a]
    priority: float = memory.table.priority[s, a]
    return priority


@inlined
def set_targets(params: Params, memory: Memory, length: int) -> None:
    """Compute the return from each step of the path on, including the value of its end."""
    path = memory.path
    target = memory.values[end_of(path, length, memory.next_state)]
    for i in range(length - 1, -1, -1):
        target = memory.reward[path.state[i], path.action[i]] + params.discount * target
        path.target[i] = target
