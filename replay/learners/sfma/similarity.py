"""Similarity of states: the default representation, the discounted occupancy of a random walk [1]_.

Links between states come and go. The walk chooses each of its n moves with equal probability, and
stays where it is if a move has no link. T = I - L / n, with the Laplacian L of the graph of linked
states, and D = (I - discount * T)^-1. Rank-one updates (Sherman and Morrison) keep D exact.

References
----------
.. [1] Piray & Daw (2021), Linear reinforcement learning in planning, grid fields, and cognitive
   control. https://doi.org/10.1038/s41467-021-25123-3
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined

__all__ = ["Similarity", "link", "similarity_of", "similarity_words"]


class Similarity(NamedTuple):
    """The arrays of the default representation."""

    matrix: NDArray[np.float64]  # (n_states, n_states): D
    # (n_states, n_states): the number of links between two states, in either direction
    n_links: NDArray[np.int32]
    # (n_states,): workspace for the difference between two rows of D
    difference: NDArray[np.float64]


def similarity_of(n_states: int, discount: float) -> Similarity:
    """Make the similarity of states without links.

    Memory grows with the square of the number of states.

    Examples
    --------
    >>> near = similarity_of(2, 0.5)
    >>> link(near, 0.5 / 1, 0, 1, 1)
    >>> near.matrix.round(3).tolist()
    [[1.333, 0.667], [0.667, 1.333]]
    """
    return Similarity(
        np.eye(n_states) / (1.0 - discount),
        np.zeros((n_states, n_states), dtype=np.int32),
        np.zeros(n_states),
    )


def similarity_words(similarity: Similarity) -> int:
    """Count the numbers held: D and the numbers of links, square tables of the linked states."""
    return 2 * int(np.count_nonzero(similarity.n_links.any(axis=1))) ** 2


@inlined
def link(similarity: Similarity, weight: float, state: int, other: int, change: int) -> None:
    """Add or remove a link between two states.

    `change` is 1 to add a link, -1 to remove one.
    """
    if state == other:
        return
    matrix, n_links, difference = similarity.matrix, similarity.n_links, similarity.difference
    before = n_links[state, other]
    n_links[state, other] += change
    n_links[other, state] += change
    if (before > 0) == (before + change > 0):
        return
    weight = change * weight
    for s in range(len(matrix)):
        difference[s] = matrix[state, s] - matrix[other, s]
    weight /= 1.0 + weight * (difference[state] - difference[other])
    for s in range(len(matrix)):
        if difference[s] != 0.0:
            step = weight * difference[s]
            for s_next in range(len(matrix)):
                matrix[s, s_next] -= step * difference[s_next]
