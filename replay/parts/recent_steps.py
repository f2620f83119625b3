"""The last steps of experience, in a ring buffer: the latest one replaces the oldest."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.steps_and_pauses import Transition

__all__ = ["RecentSteps", "add_step", "discounted_return", "recent_steps", "step_words"]

_STEP = np.dtype(
    {
        "names": ["reward", "state", "action", "next_state", "terminated", "truncated"],
        "formats": [np.float64, np.int32, np.int32, np.int32, np.int8, np.int8],
    },
    align=True,
)


class RecentSteps(NamedTuple):
    """The arrays of the ring buffer.

    Attributes
    ----------
    rows : structured ndarray, shape (n_kept,)
        ``state, action, reward, next_state, terminated, truncated`` of each step.
    n_seen : ndarray of int64, shape (2,)
        The number of steps noted, and the row of the next one.
    """

    rows: NDArray[np.void]
    n_seen: NDArray[np.int64]


def recent_steps(n_kept: int) -> RecentSteps:
    """Make an empty ring buffer.

    Examples
    --------
    >>> from replay.learners.contract import Transition
    >>> recent = recent_steps(2)
    >>> for reward in (1.0, 2.0, 4.0):
    ...     place = add_step(recent, Transition(0, 0, reward, 0, -1, False, False))
    >>> recent.rows["reward"].tolist()
    [4.0, 2.0]
    >>> discounted_return(recent, 1, 2, 0.5)[0]
    np.float64(4.0)
    """
    return RecentSteps(np.zeros(n_kept, dtype=_STEP), np.zeros(2, dtype=np.int64))


def step_words(recent: RecentSteps) -> int:
    """Count the numbers held: six for each step."""
    return len(_STEP.names or ()) * min(int(recent.n_seen[0]), len(recent.rows))


@inlined
def add_step(recent: RecentSteps, transition: Transition) -> int:
    """Keep a transition."""
    place: int = recent.n_seen[1]
    step = recent.rows[place]
    step["state"] = transition.state
    step["action"] = transition.action
    step["reward"] = transition.reward
    step["next_state"] = transition.next_state
    step["terminated"] = transition.terminated
    step["truncated"] = transition.truncated
    recent.n_seen[0] += 1
    recent.n_seen[1] = place + 1 if place + 1 < len(recent.rows) else 0
    return place


@inlined
def discounted_return(
    recent: RecentSteps, place: int, n_steps: int, discount: float
) -> tuple[float, float, int, int]:
    """Sum the rewards from a step on, to the end of its episode at most.

    `place` is the row of the first step; return the sum and the row of the last step in it.
    """
    total, weight, n_followed, last = 0.0, 1.0, 0, place
    while n_followed < n_steps:
        step = recent.rows[place]
        total += weight * step["reward"]
        weight *= discount
        n_followed += 1
        last = place
        if step["terminated"] or step["truncated"]:
            break
        place = place + 1 if place + 1 < len(recent.rows) else 0
    return total, weight, n_followed, last
