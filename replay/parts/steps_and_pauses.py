"""What the simulation's loop tells a learner: the size of the world, each step, each pause."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pause", "Sizes", "Transition"]


class Sizes(NamedTuple):
    """Sizes for which the memory of a learner must have room.

    Attributes
    ----------
    n_states, n_actions : int
        Size of the world.
    n_transitions : int
        The largest possible number of distinct transitions (state, action, next state).
    n_steps : int
        The largest possible number of steps in an episode.
    n_links : int
        The largest possible number of distinct pairs of the terminal state in which an episode
        ended and the first state of that episode or of the next one.
    way_back : ndarray of int32, shape (n_states, n_actions), optional
        The action that undoes each pair, -1 if there is none; only for learners that
        need it.
    neighbours : ndarray of int32, shape (n_codes, n_codes), optional
        If an encoder with distances made the states, and the learner has a parameter `n_nearest`
        above 0: all codes, from the nearest to the farthest from each.
    """

    n_states: int
    n_actions: int
    n_transitions: int
    n_steps: int
    n_links: int = 0
    way_back: NDArray[np.int32] | None = None
    neighbours: NDArray[np.int32] | None = None


class Transition(NamedTuple):
    """One step of experience.

    Attributes
    ----------
    state, action : int
        The state in which the step began, and the action.
    reward : float
        The reward, which is finite.
    next_state : int
        The state that was entered; at an end, the terminal state.
    next_action : int
        The action drawn in `next_state`, or, after an end, in the first state of the next
        episode; -1 if it is drawn after learning.
    terminated, truncated : bool
        Whether the episode ended in a terminal state, or was truncated.
    """

    state: int
    action: int
    reward: float
    next_state: int
    next_action: int
    terminated: bool
    truncated: bool


class Pause(NamedTuple):
    """A moment at which a learner may replay.

    Attributes
    ----------
    phase : int
        ``STEP`` after a step, ``EPISODE_END`` after the last one of an episode, ``START`` in the
        first state of the next one, ``REST`` between them (of :mod:`replay.log.backups`).
    state : int
        The state of the agent; at rest, that in which the last episode ended.
    terminated : bool
        Whether the episode has just ended in this state, a terminal one.
    """

    phase: int
    state: int
    terminated: bool
