"""Places, or pairs of state and action, numbered in the order in which they were first met."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined

__all__ = ["Numbering", "forget_all", "join", "meet", "numbering"]


class Numbering(NamedTuple):
    """The arrays of the list.

    Attributes
    ----------
    met : ndarray of int32, shape (n_things,)
        The things met; the first `n` entries are in use.
    number : ndarray of int32, shape (n_things,)
        The number of each thing in that list; -1 if it was never met.
    n : ndarray of int64, shape (1,)
        The number of things met.
    """

    met: NDArray[np.int32]
    number: NDArray[np.int32]
    n: NDArray[np.int64]


def numbering(n_things: int) -> Numbering:
    """Make an empty list.

    Examples
    --------
    >>> known = numbering(3)
    >>> [int(meet(known, place)) for place in (2, 0, 2)]
    [0, 1, 0]
    """
    number = np.full(n_things, -1, dtype=np.int32)
    return Numbering(np.zeros(n_things, np.int32), number, np.zeros(1, np.int64))


@inlined
def meet(known: Numbering, thing: int) -> int:
    """Return the number of a thing, and number it if it is new."""
    if known.number[thing] < 0:
        n = known.n[0]
        known.number[thing] = n
        known.met[n] = thing
        known.n[0] = n + 1
    number: int = known.number[thing]
    return number


@inlined
def forget_all(known: Numbering) -> None:
    """Empty the list, in time proportional to what it holds."""
    for i in range(known.n[0]):
        known.number[known.met[i]] = -1
    known.n[0] = 0


@inlined
def join(known: Numbering, is_linked: NDArray[np.bool_], place: int, next_place: int) -> bool:
    """Link two places that follow each other, in both directions, but none to itself.

    `is_linked` is indexed by number, shape (n_places, n_places). Return whether the graph has
    changed: a place or the link is new.
    """
    n_before = known.n[0]
    i, j = meet(known, place), meet(known, next_place)
    is_new = n_before < known.n[0] or (i != j and not is_linked[i, j])
    is_linked[i, j] = is_linked[j, i] = i != j
    return is_new
