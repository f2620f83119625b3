"""Null hypotheses of replay: what it would be by chance.

Each null draws replay by chance: the same places in another order, random edges, random walks.

=====================  =============================================================
null                   properties of the data that it keeps
=====================  =============================================================
`shuffled_order`       the places of each event
`random_edges`         how many places each event has
`random_walks`         the first place and the length of each sequence, and the least
                       number of different places
=====================  =============================================================
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.runs import Columns
from analyses.sequences.sequences import Lists

__all__ = ["distinct", "padded", "random_edges", "random_walks", "shuffled_order"]

_MOST_ROUNDS = 200
_REACTIVATED = ("event", "place")


def shuffled_order(
    reactivated: Columns, rng: np.random.Generator
) -> dict[str, NDArray[np.integer]]:
    """Draw the places of each event in random order; rows of one event are contiguous."""
    event, place = (np.asarray(reactivated[name]) for name in _REACTIVATED)
    begins = np.cumsum(np.diff(event, prepend=event[:1]) != 0)
    order = np.argsort(begins + rng.random(len(event)))
    return {"event": event, "place": place[order]}


def random_edges(
    reactivated: Columns, rng: np.random.Generator, *, edges: NDArray[np.int64]
) -> dict[str, NDArray[np.integer]]:
    """Replace the places of each event, in pairs, by the two ends of random edges.

    `edges` are the directed edges of the track, shape (n_edges, 2), all equally probable. If an
    event has an odd number of places, the last one is the first end of an edge.
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

    Shape (n_sequences, longest), filled with -1.

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

    Sequences and walks are rows as returned by `padded`; `edges` has shape (n_edges, 2), and a walk
    takes each edge of a state equally often. A row is -1 throughout where 200 attempts found no
    such walk.
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
    """Draw one walk per row, all of them step by step; a walk ends early where no edge leads on."""
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

    Sequences are rows as returned by `padded`.

    Examples
    --------
    >>> distinct(padded(Lists.of([[3, 2, 3], [0, 1]]))).tolist()
    [2, 2]
    """
    ordered = np.sort(sequences, axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) != 0
    n_distinct: NDArray[np.int64] = (new & (ordered >= 0)).sum(axis=1)
    return n_distinct
