"""Moves that are known before they are made, as if the animal saw the maze."""

import numpy as np
from numpy.typing import NDArray

from replay.jit import kernel
from replay.learners.sfma.similarity import Similarity, link
from replay.parts.experiences import Experiences, experience_at

__all__ = ["expect_moves"]


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
