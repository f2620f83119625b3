"""The goals that an agent knows: how probable each is as the next one, and what it pays.

The probability of a goal moves towards 1 when it pays. When it does not, the probability moves
towards 0, and those of the others towards equal shares of the rest, so that their sum stays 1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined

__all__ = ["Goals", "goals_of", "new_goal", "note_visit"]


class Goals(NamedTuple):
    """The goals that are known.

    Attributes
    ----------
    n : ndarray of int64, shape (1,)
        The number of goals.
    place : ndarray of int32, shape (n_goals,)
        The state of each goal.
    number : ndarray of int32, shape (n_states,)
        Which goal a state is; -1 if none.
    likely : ndarray of float64, shape (n_goals,)
        w, the probability that each is the next goal; the sum is 1.
    reward : ndarray of float64, shape (n_goals,)
        v, what each goal paid recently.
    """

    n: NDArray[np.int64]
    place: NDArray[np.int32]
    number: NDArray[np.int32]
    likely: NDArray[np.float64]
    reward: NDArray[np.float64]


def goals_of(n_goals: int, n_states: int) -> Goals:
    """Make room for goals, none of which is known yet.

    Examples
    --------
    >>> goals = goals_of(2, 5)
    >>> [int(new_goal(goals, place)) for place in (4, 2)]
    [0, 1]
    >>> note_visit(goals, 0, True, 0.5)
    >>> goals.likely.tolist()
    [0.75, 0.25]
    """
    return Goals(
        np.zeros(1, dtype=np.int64),
        np.full(n_goals, -1, dtype=np.int32),
        np.full(n_states, -1, dtype=np.int32),
        np.zeros(n_goals),
        np.zeros(n_goals),
    )


@inlined
def new_goal(goals: Goals, s: int) -> int:
    """Make a state a goal, which is then as probable as goals are on average."""
    g: int = goals.n[0]
    if g < len(goals.place):
        goals.n[0] += 1
    else:
        g = int(goals.likely.argmin())
        goals.number[goals.place[g]] = -1
        _share(goals, g, 0.0, 1.0)
    goals.place[g], goals.number[s] = s, g
    goals.likely[g], goals.reward[g] = 0.0, 0.0
    _share(goals, g, 1.0, 1.0 / goals.n[0])
    return g


@inlined
def note_visit(goals: Goals, g: int, pays: bool, rate: float) -> None:
    """Update the probability of each goal after a visit to one of them."""
    if pays or goals.n[0] > 1:
        _share(goals, g, 1.0 if pays else 0.0, rate)


@inlined
def _share(goals: Goals, g: int, target: float, rate: float) -> None:
    """Move w of one goal towards a target, and those of the others to equal shares of the rest."""
    n = goals.n[0]
    for j in range(n):
        aim = target if j == g else (1.0 - target) / max(n - 1, 1)
        goals.likely[j] += rate * (aim - goals.likely[j])
