"""Null hypotheses of replay: what it would be by chance.

Each null draws replay by chance: the same places in another order, random edges, random walks.
`null_test` compares a number computed from the data with the same number for each draw. If the null
is true, the p value lies below any level at the nominal rate, whatever the number is, or a little
less often if it is a count, which may tie with draws [1]_.

=====================  =============================================================
null                   properties of the data that it keeps
=====================  =============================================================
`shuffled_order`       the places of each event
`random_edges`         how many places each event has
`random_walks`         the first place and the length of each sequence, and the least
                       number of different places
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
    """Result of `null_test`.

    Attributes
    ----------
    observed : float
        The number for the data.
    expected : float
        Its mean over draws from the null.
    p : float
        The probability of a number at least as extreme under the null; never zero [1]_.

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
    """Compare a number computed from data with its distribution under a null.

    Parameters
    ----------
    number : callable
        Computes the number: ``number(data)``.
    data : object
        The observed data.
    draw : callable
        Draws data of the same size from the null: ``draw(data, rng)``.
    n_draws : int, default 500
        Number of draws.
    alternative : {"greater", "less", "two-sided"}, default "greater"
        Which numbers are evidence against the null.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    NullTest
        The number, its mean by chance, and the p value.

    Raises
    ------
    ValueError
        If `alternative` is unknown, `n_draws` is below 1, or `seed` is not a whole number of at
        least 0.

    Examples
    --------
    In a backward sweep over nine places all neighbours join; in random order hardly any would.

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
    """Draw the places of each event in random order.

    Parameters
    ----------
    reactivated : mapping of ndarray, each of shape (n_reactivations,)
        The columns `event, place`; rows of one event are contiguous.
    rng : numpy.random.Generator
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
    """Replace the places of each event, in pairs, by the two ends of random edges.

    Parameters
    ----------
    reactivated : mapping of ndarray, each of shape (n_reactivations,)
        The columns `event, place`; rows of one event are contiguous.
    rng : numpy.random.Generator
        Source of randomness.
    edges : ndarray of int, shape (n_edges, 2)
        The directed edges of the track, all equally probable.

    Returns
    -------
    dict of ndarray
        The same two columns. If an event has an odd number of places, the last one is the first end
        of an edge.
    """
    event = np.asarray(reactivated["event"])
    begins = np.diff(event, prepend=event[:1] - 1) != 0
    begin = np.maximum.accumulate(np.where(begins, np.arange(len(event)), 0))
    second = (np.arange(len(event)) - begin) % 2
    edge = rng.integers(len(edges), size=len(event))
    edge[second == 1] = edge[np.flatnonzero(second) - 1]
    return {"event": event, "place": edges[edge, second]}


def padded(states: Lists) -> NDArray[np.int64]:
    """Write sequences of different lengths as the rows of one array.

    Parameters
    ----------
    states : Lists
        The places of each sequence.

    Returns
    -------
    ndarray of int, shape (n_sequences, longest)
        One sequence per row, padded with -1.

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
    """Draw random walks with the first places and the lengths of sequences.

    As the data exclude sequences of fewer than `min_length` different places, such walks are drawn
    again.

    Parameters
    ----------
    sequences : ndarray of int, shape (n_sequences, longest)
        Sequences as returned by `padded`.
    rng : numpy.random.Generator
        Source of randomness.
    edges : ndarray of int, shape (n_edges, 2)
        The directed edges of the graph; at each state, a walk takes one of its edges, all equally
        probable.
    min_length : int, default 2
        The least number of different places.

    Returns
    -------
    ndarray of int, shape (n_sequences, longest)
        One walk per row, padded with -1; only -1 where 200 attempts found no such walk.
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
    """List the neighbours of all states in order of the states, and where those of each begin."""
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
        Sequences as returned by `padded`.

    Returns
    -------
    ndarray of int, shape (n_sequences,)
        The number of different places.

    Examples
    --------
    >>> distinct(padded(Lists.of([[3, 2, 3], [0, 1]]))).tolist()
    [2, 2]
    """
    ordered = np.sort(sequences, axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) != 0
    n_distinct: NDArray[np.int64] = (new & (ordered >= 0)).sum(axis=1)
    return n_distinct
