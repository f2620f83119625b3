"""The transitions of the current episode, for learners that look back at its end."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined

__all__ = ["Episode", "add_transition", "begin_episode", "episode", "episode_words"]

_STEP = np.dtype(
    [("reward", np.float64), ("state", np.uint32), ("action", np.uint32)],
)


class Episode(NamedTuple):
    """The arrays of an episode.

    Attributes
    ----------
    steps : structured ndarray, shape (n_steps,)
        ``state``, ``action`` and ``reward`` of each step.
    length : ndarray of int64, shape (1,)
        The number of steps so far.
    """

    steps: NDArray[np.void]
    length: NDArray[np.int64]


def episode(n_steps: int) -> Episode:
    """Make an empty episode.

    Parameters
    ----------
    n_steps : int
        The length of the longest episode that can occur.

    Returns
    -------
    Episode

    Examples
    --------
    >>> now = episode(10)
    >>> add_transition(now, 3, 0, 1.0)
    >>> int(now.length[0]), float(now.steps[0]["reward"])
    (1, 1.0)
    """
    return Episode(np.zeros(n_steps, dtype=_STEP), np.zeros(1, dtype=np.int64))


def episode_words(episode: Episode) -> int:
    """Count the numbers held: three for each step."""
    return len(_STEP.names or ()) * int(episode.length[0])


@inlined
def add_transition(episode: Episode, state: int, action: int, reward: float) -> None:
    """Add one step.

    Parameters
    ----------
    episode : Episode
        Changed in place.
    state, action : int
    reward : float
    """
    length = episode.length[0]
    step = episode.steps[length]
    step["state"] = state
    step["action"] = action
    step["reward"] = reward
    episode.length[0] = length + 1


@inlined
def begin_episode(episode: Episode) -> None:
    """Drop all steps."""
    episode.length[0] = 0
