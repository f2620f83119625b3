"""Neighbours: the codes that are near a code, whose values may stand for one that is unknown.

References
----------
.. [1] Blundell et al. (2016), Model-free episodic control. https://arxiv.org/abs/1606.04460
"""

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.steps_and_pauses import Sizes

__all__ = ["average_neighbours", "neighbours_of"]


def neighbours_of(n_nearest: int, sizes: Sizes) -> NDArray[np.int32]:
    """Return the codes from the nearest to the farthest from each, shape (n_codes, n_codes).

    Examples
    --------
    >>> neighbours_of(0, Sizes(5, 2, 10, 10)).shape  # not needed
    (0, 0)
    """
    if n_nearest == 0:
        return np.empty((0, 0), dtype=np.int32)
    if sizes.neighbours is None:
        raise ValueError(
            "n_nearest needs distances between states: give simulate an encoder with centres, such "
            "as replay.encoders.KMeans(300), or n_nearest=0."
        )
    return sizes.neighbours


@inlined
def average_neighbours(
    values: NDArray[np.float64],
    returns: NDArray[np.float64],
    neighbours: NDArray[np.int32],
    n_nearest: int,
    state: int,
) -> None:
    """Give each action without a return (-inf) the mean of the nearest codes that have one [1]_.

    Examples
    --------
    >>> values, returns = np.zeros((3, 1)), np.array([[-np.inf], [-np.inf], [4.0]])
    >>> average_neighbours(values, returns, np.array([[0, 1, 2]]), 2, 0)
    >>> values.tolist()
    [[4.0], [0.0], [0.0]]
    """
    if n_nearest == 0:
        return
    for a in range(values.shape[1]):
        total, n = 0.0, 0
        if returns[state, a] == -np.inf:
            for code in neighbours[state]:
                if n < n_nearest and returns[code, a] > -np.inf:
                    total += returns[code, a]
                    n += 1
        if n > 0:
            values[state, a] = total / n
