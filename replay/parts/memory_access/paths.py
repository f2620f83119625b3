"""A backup of several steps: a path of remembered transitions that grows by one at its end.

The target of each step is the return from there to the end of the path, and the value of its end.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.memory_access.priority_table import GainParams, TableMemory, gain_of
from replay.parts.policies import Policy, draw_action, epsilon_greedy

__all__ = ["Path", "PathMemory", "PathParams", "begin_path", "draw_extension", "empty_path"]
__all__ += ["end_of", "extend_path", "set_targets"]


class Path(NamedTuple):
    """The latest backup, and a step that may extend it.

    Attributes
    ----------
    state, action : ndarray of int32, shape (n_steps,)
        Its steps.
    target, gain : ndarray of float64, shape (n_steps,)
        The n-step return from each step on, and the gain of learning it.
    """

    state: NDArray[np.int32]
    action: NDArray[np.int32]
    target: NDArray[np.float64]
    gain: NDArray[np.float64]


class PathParams(GainParams, Protocol):
    """The parameters of :mod:`replay.learners.prioritized_memory_access` that are read here."""

    @property
    def n_step(self) -> bool: ...
    @property
    def on_policy(self) -> bool: ...
    @property
    def allow_loops(self) -> bool: ...


class PathMemory(TableMemory, Protocol):
    """The memory of :mod:`replay.learners.prioritized_memory_access`, as far as it is used here."""

    @property
    def path(self) -> Path: ...


def empty_path(n_steps: int) -> Path:
    """Make room for a path.

    Parameters
    ----------
    n_steps : int
        The most steps that it may have.

    Returns
    -------
    Path

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
    """Return the state to which a path leads.

    Parameters
    ----------
    path : Path
    length : int
        How many of its steps are used.
    next_state : ndarray of int32, shape (n_states, n_actions)
        The latest next state of each pair.

    Returns
    -------
    int
    """
    end: int = next_state[path.state[length - 1], path.action[length - 1]]
    return end


@inlined
def draw_extension(
    params: PathParams, memory: PathMemory, length: int, rng: np.random.Generator
) -> int:
    """Draw the action that would extend the path.

    Parameters
    ----------
    params : PathParams
    memory : PathMemory
    length : int
        How many of the path's steps are used.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    int
        The action; -1 if there is no path, or paths are not extended.
    """
    if length == 0 or not params.n_step:
        return -1
    end = end_of(memory.path, length, memory.next_state)
    if params.on_policy:
        policy = Policy(params.plan_policy, params.inverse_temperature, params.epsilon)
        return draw_action(policy, memory.action_values, end, rng)
    return epsilon_greedy(memory.action_values, end, 0.0, rng)


@inlined
def extend_path(params: PathParams, memory: PathMemory, length: int, action: int) -> float:
    """Append an action to the path, and return the priority of its backup.

    Parameters
    ----------
    params : PathParams
        With ``allow_loops`` a path may lead to a state where it has been.
    memory : PathMemory
        Its path is changed in place.
    length : int
        How many of the path's steps are used.
    action : int
        The action; -1 if there is none.

    Returns
    -------
    float
        The need of the last step's state, times the sum of the gains of all steps; -1 if there is
        no action, or it leads nowhere new.
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
def begin_path(params: PathParams, memory: PathMemory, s: int, a: int) -> float:
    """Make a path of one step, and return the priority of its backup.

    Parameters
    ----------
    params : PathParams
    memory : PathMemory
        Its path is changed in place.
    s, a : int
        The step.

    Returns
    -------
    float
    """
    path = memory.path
    path.state[0] = s
    path.action[0] = a
    set_targets(params, memory, 1)
    path.gain[0] = memory.table.gain[s, a]
    priority: float = memory.table.priority[s, a]
    return priority


@inlined
def set_targets(params: PathParams, memory: PathMemory, length: int) -> None:
    """Compute the return from each step of the path on, including the value of its end.

    Parameters
    ----------
    params : PathParams
    memory : PathMemory
        Its path is changed in place.
    length : int
        How many of the path's steps are used.
    """
    path = memory.path
    target = memory.values[end_of(path, length, memory.next_state)]
    for i in range(length - 1, -1, -1):
        target = memory.reward[path.state[i], path.action[i]] + params.discount * target
        path.target[i] = target
