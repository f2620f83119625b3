"""The places that were met, numbered in the order in which they were."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined

__all__ = ["KnownPlaces", "known_places", "meet"]


class KnownPlaces(NamedTuple):
    """The arrays of that list.

    Attributes
    ----------
    place : ndarray of int32, shape (n_states,)
        The places; the first `n` count.
    number : ndarray of int32, shape (n_states,)
        The number of each in that list; -1 of one that was never met.
    n : ndarray of int64, shape (1,)
        How many there are.
    """

    place: NDArray[np.int32]
    number: NDArray[np.int32]
    n: NDArray[np.int64]


def known_places(n_states: int) -> KnownPlaces:
    """Make a list of no places.

    Parameters
    ----------
    n_states : int
        The most places that there may be.

    Returns
    -------
    KnownPlaces
        The list.

    Examples
    --------
    >>> known = known_places(3)
    >>> [int(meet(known, place)) for place in (2, 0, 2)]
    [0, 1, 0]
    """
    number = np.full(n_states, -1, dtype=np.int32)
    return KnownPlaces(np.zeros(n_states, np.int32), number, np.zeros(1, np.int64))


@inlined
def meet(known: KnownPlaces, state: int) -> int:
    """Return the number of a place, the next one if it is new."""
    if known.number[state] < 0:
        n = known.n[0]
        known.number[state] = n
        known.place[n] = state
        known.n[0] = n + 1
    number: int = known.number[state]
    return number
