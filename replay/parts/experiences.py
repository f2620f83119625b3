"""Experiences: the last outcome of each pair of state and action, and how strong its memory is."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined

__all__ = ["Experiences", "experience_at", "experience_words", "experiences_of"]

_EXPERIENCE = np.dtype(
    {
        "names": ["strength", "reward", "state", "next_state", "action", "terminated"],
        "formats": [np.float64, np.float64, np.int32, np.int32, np.int32, np.int8],
    },
    align=True,
)


class Experiences(NamedTuple):
    """The arrays of the experiences.

    Attributes
    ----------
    rows : structured ndarray, shape (n_states * n_actions,)
        ``state, action, reward, next_state, terminated`` and ``strength``, in the order of
        discovery; each pair has one row, so there is room for all.
    n_known : ndarray of int64, shape (1,)
        The number of rows in use.
    place : ndarray of int32, shape (n_states, n_actions)
        The row of each pair; -1 if it has none.
    """

    rows: NDArray[np.void]
    n_known: NDArray[np.int64]
    place: NDArray[np.int32]


def experiences_of(n_states: int, n_actions: int) -> Experiences:
    """Make room for the experiences of a world in which nothing was tried.

    Examples
    --------
    >>> known = experiences_of(3, 2)
    >>> int(experience_at(known, 2, 1))
    0
    >>> int(known.rows[0]["state"]), int(known.n_known[0])
    (2, 1)
    """
    return Experiences(
        np.zeros(n_states * n_actions, dtype=_EXPERIENCE),
        np.zeros(1, dtype=np.int64),
        np.full((n_states, n_actions), -1, dtype=np.int32),
    )


def experience_words(n_pairs: int) -> int:
    """Count the numbers held: the fields of each experience, and its row."""
    return (len(_EXPERIENCE.names or ()) + 1) * n_pairs


@inlined
def experience_at(experiences: Experiences, state: int, action: int) -> int:
    """Find the experience of a pair, and add it if it is new.

    Return its row. A new experience leads back to its state and has strength 0.
    """
    place: int = experiences.place[state, action]
    if place < 0:
        place = experiences.n_known[0]
        experiences.n_known[0] = place + 1
        experiences.place[state, action] = place
        newest = experiences.rows[place]
        newest["state"] = state
        newest["action"] = action
        newest["next_state"] = state
    return place
