"""What a learner knows about a world before its first step: where each action leads."""

import numpy as np
from numpy.typing import NDArray

from replay.worlds.mdp import MDP

__all__ = ["known_world", "likeliest_outcomes"]


def known_world(parameter: str, mdp: MDP | None, n_actions: int) -> MDP:
    """Check that the world is known before the first step, and return it."""
    if mdp is None:
        raise ValueError(f"{parameter} needs to know the world: give feed its mdp.")
    if mdp.n_actions != n_actions:
        raise ValueError(
            f"{parameter} needs to know the world: the learner has {n_actions} actions, but the "
            f"mdp has {mdp.n_actions}."
        )
    return mdp


def likeliest_outcomes(mdp: MDP) -> NDArray[np.int32]:
    """Return the most probable next state of each pair of state and action.

    Shape (n_states, n_actions); -1 in terminal states.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> likeliest_outcomes(from_ascii("S.G")).tolist()
    [[0, 1, 0, 0], [1, 2, 1, 0], [-1, -1, -1, -1]]
    """
    likeliest = np.asarray(mdp.transition_matrix().argmax(axis=1), dtype=np.int32)
    next_state = likeliest.reshape(mdp.n_states, mdp.n_actions)
    next_state[mdp.terminal] = -1
    return next_state
