"""Null hypotheses of replay: what it would be by chance.

Each null draws what replay would be by chance: the same places in another order, edges at random,
walks at random. `null_test` compares a number that is computed of the data with the same number of
each draw. If the null is true, its p value lies below a level as often as the level says, whatever
the number is: a little less often if it is a count, which ties with draws [1]_.

=====================  =============================================================
null                   what is kept of the data
=====================  =============================================================
`shuffled_order`       the places of each event
`random_edges`         how many places each event has
`random_walks`         where each sequence begins, its length, and the least number of
                       different places
=====================  =============================================================

References
----------
.. [1] Phipson & Smyth (2010), Permutation p-values should never be zero.
   https://doi.org/10.2202/1544-6115.1585
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.runs import Columns
from analyses.sequences.sequences import Lists
from replay.checks import check_choice, check_whole

__all__ = ["NullTest", "distinct", "null_test", "padded", "random_edges", "random_walks"]
__all__ += ["shuffled_order"]

Data = TypeVar("Data")

_ALTERNATIVES = ("greater", "less", "two-sided")
_MOST_ROUNDS = 200
_REACTIVATED = ("event", "place")


class NullTest(NamedTuple):
    """What `null_test` finds.

    Attributes
    ----------
    observed : float
        The number, of the data.
    expected : float
        Its mean over draws from the null.
    p : float
        How likely the null gives a number as extreme; never zero [1]_.

    References
    ----------
    .. [1] Phipson & Smyth (2010), Permutation p-values should never be zero.
       https://doi.org/10.2202/1544-6115.1585
    """

    observed: float
    expected: float
    p: float


def null_test(
    number: Callable[[Data], float],
    data: Data,
    draw: Callable[[Data, np.random.Generator], Data],
    *,
    n_draws: int = 500,
    alternative: str = "greater",
    seed: int = 0,
) -> NullTest:
    """Compare a number with what a null makes of the data.

    Parameters
    ----------
    number : callable
        Gives the number: ``number(data)``.
    data : object
        What was found.
    draw : callable
        Draws as much from the null: ``draw(data, rng)``.
    n_draws : int, default 500
        How often.
    alternative : {"greater", "less", "two-sided"}, default "greater"
        Which numbers speak against the null.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    NullTest
        The number, its mean by chance, and the p value.

    Raises
    ------
    ValueError
        If `alternative` is unknown, `n_draws` is below 1, or `seed` is no whole number of at least
        0.

    Examples
    --------
    A sweep back over nine places joins from end to end; in another order it hardly would.

    >>> def joined(reactivated):
    ...     return float((np.abs(np.diff(reactivated["place"])) == 1).mean())
    >>> sweep = {"event": np.zeros(9, int), "place": np.arange(9)[::-1]}
    >>> test = null_test(joined, sweep, shuffled_order, n_draws=99)
    >>> test.observed, test.expected < 0.4, test.p
    (1.0, True, 0.01)
    """
    check_choice("alternative", alternative, _ALTERNATIVES)
    check_whole("n_draws", n_draws, at_least=1)
    check_whole("seed", seed)
    rng = np.random.default_rng(seed)
    observed = float(number(data))
    drawn = np.array([number(draw(data, rng)) for _ in range(n_draws)], dtype=float)
    greater, less = (
        (1 + int((drawn * way >= observed * way).sum())) / (1 + n_draws) for way in (1, -1)
    )
    p = {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}
    return NullTest(observed, float(drawn.mean()), p[alternative])


def shuffled_order(
    reactivated: Columns, rng: np.random.Generator
) -> dict[str, NDArray[np.integer]]:
    """Draw the places of each event in another order.

    Parameters
    ----------
    reactivated : mapping of ndarray
        `event, place`; the rows of an event stand together.
    rng : Generator
        Source of randomness.

    Returns
    -------
    dict of ndarray
        The same two columns.
    """
    event, place = (np.asarray(reactivated[name]) for name in _REACTIVATED)
    begins = np.cumsum(np.diff(event, prepend=event[:1]) != 0)
    order = np.argsort(begins + rng.random(len(event)))
    return {"event": event, "place": place[order]}


def random_edges(
    reactivated: Columns, rng: np.random.Generator, *, edges: NDArray[np.int64]
) -> dict[str, NDArray[np.integer]]:
    """Draw as many places of each event, two by two: the ends of an edge at random.

    Parameters
    ----------
    reactivated : mapping of ndarray
        `event, place`; the rows of an event stand together.
    rng : Generator
        Source of randomness.
    edges : ndarray of int, shape (n_edges, 2)
        The track: all are equally likely, from the first to the second.

    Returns
    -------
    dict of ndarray
        The same two columns. Of an odd number of places the last edge gives its first.
    """
    event = np.asarray(reactivated["event"])
    begins = np.diff(event, prepend=event[:1] - 1) != 0
    begin = np.maximum.accumulate(np.where(begins, np.arange(len(event)), 0))
    second = (np.arange(len(event)) - begin) % 2
    edge = rng.integers(len(edges), size=len(event))
    edge[second == 1] = edge[np.flatnonzero(second) - 1]
    return {"event": event, "place": edges[edge, second]}


def padded(states: Lists) -> NDArray[np.int64]:
    """Write sequences of different length as the rows of one array.

    Parameters
    ----------
    states : Lists
        The places of each sequence.

    Returns
    -------
    ndarray of int, shape (n_sequences, longest)
        A sequence a row, followed by -1.

    Examples
    --------
    >>> padded(Lists.of([[3, 2], [0, 1, 2]])).tolist()
    [[3, 2, -1], [0, 1, 2]]
    """
    length = states.length
    rows = np.full((len(length), length.max(initial=0)), -1, dtype=np.int64)
    rows[np.arange(rows.shape[1]) < length[:, None]] = states.flat
    return rows


def random_walks(
    sequences: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    edges: NDArray[np.int64],
    min_length: int = 2,
) -> NDArray[np.int64]:
    """Draw walks that begin where sequences begin and are as long.

    Sequences of few different places were left out of the data. So they are here: a walk of fewer
    is drawn again.

    Parameters
    ----------
    sequences : ndarray of int, shape (n_sequences, longest)
        As from `padded`.
    rng : Generator
        Source of randomness.
    edges : ndarray of int, shape (n_edges, 2)
        The learned graph; a walk takes each of a state's edges equally likely, from the first to
        the second.
    min_length : int, default 2
        The least number of different places.

    Returns
    -------
    ndarray of int, shape (n_sequences, longest)
        A walk a row; all -1 where the graph seems to have none (200 were tried).
    """
    begin, neighbour = _neighbours(
        edges, int(max(sequences.max(initial=-1), edges.max(initial=-1)))
    )
    walks = np.full_like(sequences, -1)
    missing = np.arange(len(sequences))
    for _ in range(_MOST_ROUNDS):
        if not len(missing):
            break
        drawn = _walks(sequences[missing], begin, neighbour, rng)
        there = (drawn >= 0) == (sequences[missing] >= 0)
        found = there.all(axis=1) & (distinct(drawn) >= min_length)
        walks[missing[found]] = drawn[found]
        missing = missing[~found]
    return walks


def _neighbours(edges: NDArray[np.int64], last: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the neighbours of each state, those of one state after those of the state before."""
    edges = np.unique(np.asarray(edges).reshape(-1, 2), axis=0)
    begin = np.searchsorted(edges[:, 0], np.arange(last + 2))
    return begin, edges[:, 1]


def _walks(
    sequences: NDArray[np.int64],
    begin: NDArray[np.int64],
    neighbour: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    walks = np.full_like(sequences, -1)
    walks[:, :1] = sequences[:, :1]
    for i in range(1, sequences.shape[1]):
        here = walks[:, i - 1]
        degree = np.where(here >= 0, begin[here + 1] - begin[here], 0)
        goes = np.flatnonzero((degree > 0) & (sequences[:, i] >= 0))
        choice = begin[here[goes]] + rng.integers(degree[goes])
        walks[goes, i] = neighbour[choice]
    return walks


def distinct(sequences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the different places of each sequence.

    Parameters
    ----------
    sequences : ndarray of int, shape (n_sequences, longest)
        As from `padded`.

    Returns
    -------
    ndarray of int, shape (n_sequences,)
        How many there are.

    Examples
    --------
    >>> distinct(padded(Lists.of([[3, 2, 3], [0, 1]]))).tolist()
    [2, 2]
    """
    ordered = np.sort(sequences, axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) != 0
    n_distinct: NDArray[np.int64] = (new & (ordered >= 0)).sum(axis=1)
    return n_distinct
