"""What a learner knows about a world before its first step: where each action leads."""

import numpy as np
from numpy.typing import NDArray

from replay.jit import kernel
from replay.parts.experiences import Experiences, experience_at
from replay.parts.similarity import Similarity, link
from replay.worlds.mdp import MDP

__all__ = ["expect_moves", "known_world", "likeliest_outcomes"]


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


@kernel
def expect_moves(
    experiences: Experiences,
    similarity: Similarity,
    next_state: NDArray[np.int32],
    strength: float,
    weight: float,
) -> None:
    """Remember each move to another state as if it had been made, without reward."""
    for s in range(next_state.shape[0]):
        for a in range(next_state.shape[1]):
            s_next = next_state[s, a]
            if s_next >= 0 and s_next != s:
                experience = experiences.rows[experience_at(experiences, s, a)]
                experience["next_state"] = s_next
                experience["terminated"] = next_state[s_next, 0] < 0
                experience["strength"] = strength
                link(similarity, weight, s, s_next, 1)
