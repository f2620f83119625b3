"""A backup of several steps: a path of remembered transitions that grows by one at its end.

Each step of a path learns the return from there to the path's end, and the value of what comes
after. The functions take the memory of a learner with ``values``, ``next_state`` and ``reward``.
"""

from typing import NamedTuple

import numpy as np

from replay.jit import inlined

__all__ = ["Path", "add_step", "empty_path", "end_of", "is_extension", "set_targets"]


class Path(NamedTuple):
    """The backup made last, and what would extend it.

    Attributes
    ----------
    state, action : ndarray of int32, shape (n_steps,)
        Its steps.
    target, gain : ndarray of float64, shape (n_steps,)
        The n-step return from each of them on, and the gain of learning it.
    """

    state: np.ndarray
    action: np.ndarray
    target: np.ndarray
    gain: np.ndarray


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
def end_of(path, length, next_state):
    """Return the state to which a path of this length leads."""
    return next_state[path.state[length - 1], path.action[length - 1]]


@inlined
def add_step(path, length, state, action):
    """Put a step behind the first `length` ones."""
    path.state[length] = state
    path.action[length] = action


@inlined
def is_extension(path, length, next_state, action, allow_loops):
    """Tell whether an action leads on from the path's end, to where the path has not been.

    Parameters
    ----------
    path : Path
        The path.
    length : int
        How many of its steps count.
    next_state : ndarray of int32, shape (n_states, n_actions)
        Where each pair leads; -1 if that is unknown.
    action : int
        The action.
    allow_loops : bool
        Whether it may also lead to where the path has been.

    Returns
    -------
    bool
        Whether.
    """
    end = end_of(path, length, next_state)
    onward = next_state[end, action]
    is_new = onward != end
    for i in range(length):
        is_new = is_new and path.state[i] != onward
    return onward >= 0 and (is_new or allow_loops)


@inlined
def set_targets(params, memory, length):
    """Compute the return from each step of the path on, the value of its end included."""
    path = memory.path
    target = memory.values[end_of(path, length, memory.next_state)]
    for i in range(length - 1, -1, -1):
        target = memory.reward[path.state[i], path.action[i]] + params.discount * target
        path.target[i] = target
