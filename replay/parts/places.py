"""Places that are known: numbered as they were met, or told before the first step.

Pairs of state and action may be numbered in the same way.
"""

from typing import NamedTuple

import numpy as np

from replay.arrays import Bools, Int32s, Ints
from replay.jit import inlined
from replay.worlds.mdp import MDP


class Numbering(NamedTuple):
    """The arrays of the list."""

    met: Int32s  # (n_things,): the things met; the first `n` entries are in use
    # (n_things,): the number of each thing in that list; -1 if it was never met
    number: Int32s
    n: Ints  # (1,): the number of things met


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
def join(known: Numbering, is_linked: Bools, place: int, next_place: int) -> bool:
    """Link two places that follow each other, in both directions, but none to itself.

    `is_linked` is indexed by number, shape (n_places, n_places). Return whether the graph has
    changed: a place or the link is new.
    """
    n_before = known.n[0]
    i, j = meet(known, place), meet(known, next_place)
    is_new = n_before < known.n[0] or (i != j and not is_linked[i, j])
    is_linked[i, j] = is_linked[j, i] = i != j
    return is_new


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


def likeliest_outcomes(mdp: MDP) -> Int32s:
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
