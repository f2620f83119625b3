"""Null hypotheses of replay: what it would be by chance.

Each null draws what replay would be by chance: the same backups in another order, edges at random,
walks at random. `null_test` compares a number that is computed of the data with the same number of
each draw. If the null is true, its p value lies below a level as often as the level says, whatever
the number is: a little less often if it is a count, which ties with draws [1]_.

=====================  =============================================================
null                   what is kept of the data
=====================  =============================================================
`shuffled_order`       the backups of each event
`random_edges`         how many backups each event has
`random_walks`         where each chain begins, its length, and the least number of
                       different states
=====================  =============================================================

References
----------
.. [1] Phipson & Smyth (2010), Permutation p-values should never be zero.
   https://doi.org/10.2202/1544-6115.1585
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.chains import link_backups
from analyses.sequences.runs import Columns
from replay.checks import check_choice, check_whole

__all__ = ["NullTest", "chain_count", "distinct", "joined", "null_test", "padded"]
__all__ += ["random_edges", "random_walks", "shuffled_order"]

Data = TypeVar("Data")

_ALTERNATIVES = ("greater", "less", "two-sided")
_MOST_ROUNDS = 200
_BACKUP = ("event", "state", "next_state")


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
    A sweep back over nine states joins from end to end; in another order it hardly would.

    >>> back = np.arange(8)[::-1]
    >>> backups = {"event": np.zeros(8, int), "state": back, "next_state": back + 1}
    >>> test = null_test(joined, backups, shuffled_order, n_draws=99)
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


def joined(backups: Columns) -> float:
    """Give the share of backups that continue the one before them, of those that might.

    Parameters
    ----------
    backups : mapping of ndarray
        `event, state, next_state`, in order of execution.

    Returns
    -------
    float
        The share; NaN if no event has two backups.

    Examples
    --------
    >>> joined({"event": np.zeros(3, int), "state": np.array([1, 0, 4]),
    ...         "next_state": np.array([2, 1, 5])})
    0.5
    """
    event, state, next_state = (np.asarray(backups[name]) for name in _BACKUP)
    together = (event[1:] == event[:-1]) & (event[1:] >= 0)
    joins = (state[1:] == next_state[:-1]) | (next_state[1:] == state[:-1])
    n = int(together.sum())
    return float((together & joins).sum() / n) if n else float("nan")


def chain_count(backups: Columns, min_length: int = 5) -> int:
    """Count the chains in order of execution.

    Parameters
    ----------
    backups : mapping of ndarray
        `event, state, next_state`, in order of execution.
    min_length : int, default 5
        Chains of fewer states don't count.

    Returns
    -------
    int
        How many there are.

    Examples
    --------
    >>> back = np.arange(8)[::-1]
    >>> chain_count({"event": np.zeros(8, int), "state": back, "next_state": back + 1})
    1
    """
    columns = {name: np.asarray(backups[name]) for name in _BACKUP}
    n = len(columns["event"])
    nothing = {"action": np.zeros(n, dtype=np.int64), "cause": np.full(n, -1)}
    links = link_backups(columns | nothing, "temporal")
    return int((links.is_leaf & (links.length >= min_length)).sum())


def shuffled_order(backups: Columns, rng: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    """Draw the backups of each event in another order.

    Parameters
    ----------
    backups : mapping of ndarray
        `event, state, next_state`; the rows of an event stand together.
    rng : Generator
        Source of randomness.

    Returns
    -------
    dict of ndarray
        The same three columns.
    """
    event, state, next_state = (np.asarray(backups[name]) for name in _BACKUP)
    begins = np.cumsum(np.diff(event, prepend=event[:1]) != 0)
    order = np.argsort(begins + rng.random(len(event)))
    return {"event": event, "state": state[order], "next_state": next_state[order]}


def random_edges(
    backups: Columns, rng: np.random.Generator, *, edges: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """Draw as many backups, each of an edge at random.

    Parameters
    ----------
    backups : mapping of ndarray
        `event, state, next_state`.
    rng : Generator
        Source of randomness.
    edges : ndarray of int, shape (n_edges, 2)
        The learned graph: all are equally likely.

    Returns
    -------
    dict of ndarray
        The same three columns.
    """
    event = np.asarray(backups["event"])
    state, next_state = edges[rng.integers(len(edges), size=len(event))].T
    return {"event": event, "state": state, "next_state": next_state}


def padded(states: Sequence[Sequence[int] | NDArray[np.int64]]) -> NDArray[np.int64]:
    """Write chains of different length as the rows of one array.

    Parameters
    ----------
    states : sequence of sequences of int
        The states of each chain.

    Returns
    -------
    ndarray of int, shape (n_chains, longest)
        A chain a row, followed by -1.

    Examples
    --------
    >>> padded([[3, 2], [0, 1, 2]]).tolist()
    [[3, 2, -1], [0, 1, 2]]
    """
    lengths = np.fromiter(map(len, states), dtype=np.int64, count=len(states))
    rows = np.full((len(lengths), lengths.max(initial=0)), -1, dtype=np.int64)
    if rows.size:
        rows[np.arange(rows.shape[1]) < lengths[:, None]] = np.concatenate(list(states))
    return rows


def random_walks(
    chains: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    edges: NDArray[np.int64],
    min_length: int = 2,
) -> NDArray[np.int64]:
    """Draw walks that begin where chains begin and are as long.

    Chains of few different states were left out of the data. So they are here: a walk of fewer is
    drawn again.

    Parameters
    ----------
    chains : ndarray of int, shape (n_chains, longest)
        As from `padded`.
    rng : Generator
        Source of randomness.
    edges : ndarray of int, shape (n_edges, 2)
        The learned graph; a walk takes each of a state's edges equally likely, from the first to
        the second.
    min_length : int, default 2
        The least number of different states.

    Returns
    -------
    ndarray of int, shape (n_chains, longest)
        A walk a row; all -1 where the graph seems to have none (200 were tried).
    """
    begin, neighbour = _neighbours(edges, int(max(chains.max(initial=-1), edges.max(initial=-1))))
    walks = np.full_like(chains, -1)
    missing = np.arange(len(chains))
    for _ in range(_MOST_ROUNDS):
        if not len(missing):
            break
        drawn = _walks(chains[missing], begin, neighbour, rng)
        there = (drawn >= 0) == (chains[missing] >= 0)
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
    chains: NDArray[np.int64],
    begin: NDArray[np.int64],
    neighbour: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    walks = np.full_like(chains, -1)
    walks[:, :1] = chains[:, :1]
    for i in range(1, chains.shape[1]):
        here = walks[:, i - 1]
        degree = np.where(here >= 0, begin[here + 1] - begin[here], 0)
        goes = np.flatnonzero((degree > 0) & (chains[:, i] >= 0))
        choice = begin[here[goes]] + rng.integers(degree[goes])
        walks[goes, i] = neighbour[choice]
    return walks


def distinct(chains: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the different states of each chain.

    Parameters
    ----------
    chains : ndarray of int, shape (n_chains, longest)
        As from `padded`.

    Returns
    -------
    ndarray of int, shape (n_chains,)
        How many there are.

    Examples
    --------
    >>> distinct(padded([[3, 2, 3], [0, 1]])).tolist()
    [2, 2]
    """
    ordered = np.sort(chains, axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) != 0
    n_distinct: NDArray[np.int64] = (new & (ordered >= 0)).sum(axis=1)
    return n_distinct
