"""Whether replay has more order than chance, and how far it gets: the nulls of replay.

Each null draws replay by chance:

=====================  =============================================================
null                   properties of the data that it keeps
=====================  =============================================================
`shuffled_order`       the places of each event
`random_edges`         how many places each event has
`random_walks`         the first place and the length of each sequence, and the least
                       number of different places
=====================  =============================================================

An animal's null of order is a single draw: if replay has no order, the animal lies above it as
often as below, however rare sequences are.

References
----------
.. [1] Krause & Drugowitsch (2022). https://doi.org/10.1016/j.neuron.2021.11.014
.. [2] Stella, Baracskay, O'Neill & Csicsvari (2019). https://doi.org/10.1016/j.neuron.2019.01.052
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import (
    AT_REST,
    COUNTS,
    Replays,
    Statistic,
    chosen,
    is_one_of,
    own_code,
    paths,
    rows,
)
from analyses.sequences.logs import Columns
from analyses.sequences.place_sequences import runs_along
from analyses.sequences.sequences import Lists
from analyses.sequences.track import Track, graph_of_task
from replay.checks.arrays import Floats, Ints

if TYPE_CHECKING:
    from replay.tasks import Task


_SEED = 0  # nulls are drawn alike each time, so that equal replays have equal values
_MOST_ROUNDS = 200
_N_WALKS = 1000  # of an animal: with more, its mean would hardly move
_FEWEST = 3  # places: an exponent needs two lags


def shuffled_order(
    reactivated: Columns, rng: np.random.Generator
) -> dict[str, NDArray[np.integer]]:
    """Draw the places of each event in random order; rows of one event are contiguous."""
    event, place = (np.asarray(reactivated[name]) for name in ("event", "place"))
    begins = np.cumsum(np.diff(event, prepend=event[:1]) != 0)
    order = np.argsort(begins + rng.random(len(event)))
    return {"event": event, "place": place[order]}


def random_edges(
    reactivated: Columns, rng: np.random.Generator, *, edges: Ints
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
    edge[second == 1] = edge[np.flatnonzero(second) - 1]  # both places of a pair have one edge
    return {"event": event, "place": edges[edge, second]}


def padded(states: Lists) -> Ints:
    """Write sequences of different lengths as the rows of one array.

    Shape (n_sequences, longest), filled with -1.
    """
    length = states.length
    rows = np.full((len(length), length.max(initial=0)), -1, dtype=np.int64)
    rows[np.arange(rows.shape[1]) < length[:, None]] = states.flat
    return rows


def random_walks(
    sequences: Ints, rng: np.random.Generator, *, edges: Ints, min_length: int = 2
) -> Ints:
    """Draw random walks with the first places and the lengths of sequences.

    As the data exclude sequences of fewer than `min_length` different places, such walks are drawn
    again.

    Sequences and walks are rows as returned by `padded`; `edges` has shape (n_edges, 2), and a walk
    takes each edge of a state equally often. A row is -1 throughout where 200 attempts found no
    such walk.
    """
    edges = np.unique(edges, axis=0)
    states = np.arange(max(sequences.max(initial=-1), edges.max(initial=-1)) + 2)
    begin, neighbour = np.searchsorted(edges[:, 0], states), edges[:, 1]
    walks = np.full_like(sequences, -1)
    missing = np.arange(len(sequences))
    for _ in range(_MOST_ROUNDS):
        if not len(missing):
            break
        wanted = sequences[missing]
        drawn = np.full_like(wanted, -1)
        drawn[:, :1] = wanted[:, :1]
        # All walks go step by step together, as a loop over walks would take far longer. One ends
        # early where no edge leads on, and is then drawn again.
        for i in range(1, wanted.shape[1]):
            here = drawn[:, i - 1]
            degree = np.where(here >= 0, begin[here + 1] - begin[here], 0)
            goes = np.flatnonzero((degree > 0) & (wanted[:, i] >= 0))
            choice = begin[here[goes]] + rng.integers(degree[goes])
            drawn[goes, i] = neighbour[choice]
        there = (drawn >= 0) == (wanted >= 0)
        found = there.all(axis=1) & (distinct(drawn) >= min_length)
        walks[missing[found]] = drawn[found]
        missing = missing[~found]
    return walks


def distinct(sequences: Ints) -> Ints:
    """Count the different places of each sequence.

    Sequences are rows as returned by `padded`.
    """
    ordered = np.sort(sequences, axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) != 0
    n_distinct: Ints = (new & (ordered >= 0)).sum(axis=1)
    return n_distinct


def _sequences_per_event(
    replays: Replays, *, null: Callable[[Columns, np.random.Generator, Ints], Columns]
) -> pd.DataFrame:
    """Sequences per pause with replay (number). Null: the same for places drawn by chance.

    The places of each pause in random order, or equally many ends of random edges of the track. NaN
    for causal chains, as a null for causes would require another learner.
    """
    animals = replays.animals
    if replays.counts != COUNTS[0]:
        return rows(animals, np.nan, np.nan, 0)
    table = replays.reactivations[is_one_of(replays.reactivations["phase"], replays.phases)]
    own, number = own_code(animals, table), table["event"].to_numpy()
    begins = (np.diff(own, prepend=-1) != 0) | (np.diff(number, prepend=-1) != 0)
    event = np.cumsum(begins) - 1
    of_event = own[begins]
    n_events = np.bincount(of_event, minlength=len(animals))
    track = Track.of(graph_of_task(replays.task))
    found = {"event": event, "place": table["place"].to_numpy()}
    edges = np.array([move for a, b in track.graph.edges for move in ((a, b), (b, a))])
    drawn = null(found, np.random.default_rng(_SEED), edges.reshape(-1, 2))
    # A place that stays active counts once.
    kept = np.diff(drawn["event"], prepend=-1) != 0
    kept |= np.diff(drawn["place"], prepend=-1) != 0
    drawn = {name: values[kept] for name, values in drawn.items()}
    first, _ = runs_along(drawn, track, replays.detection)
    n_drawn = np.bincount(of_event[drawn["event"][first]], minlength=len(animals))
    n = np.bincount(own_code(animals, chosen(replays)), minlength=len(animals))
    value, expected = (each / np.where(n_events > 0, n_events, np.nan) for each in (n, n_drawn))
    return rows(animals, value, expected, n)


CHANCE_STATISTICS: dict[str, Statistic] = {
    "beyond_shuffled_places": Statistic(
        "sequences per pause with replay, beyond shuffled places",
        partial(_sequences_per_event, null=lambda found, rng, _: shuffled_order(found, rng)),
    ),
    "beyond_random_edges": Statistic(
        "sequences per pause with replay, beyond edges at random",
        partial(
            _sequences_per_event,
            null=lambda found, rng, edges: random_edges(found, rng, edges=edges),
        ),
    ),
}


class Nodes(NamedTuple):
    """The nodes of a task's graph, numbered."""

    number: Ints  # the node of each analysed state; shape (n_places,)
    # Straight distances between nodes, in cm; shape (n_nodes, n_nodes).
    distance: Floats
    edges: Ints  # all edges, each in both directions; shape (n_edges, 2)


def nodes_of(task: Task) -> Nodes:
    """Assign numbers to the nodes of a task's graph."""
    number = {node: i for i, node in enumerate(task.graph.nodes)}
    position = np.array([task.graph.nodes[node]["pos"] for node in number], dtype=float)
    distance = np.linalg.norm(position[:, None] - position, axis=-1)
    edges = np.array([(number[a], number[b]) for a, b in task.graph.edges], dtype=int)
    edges = edges.reshape(-1, 2)
    both_ways = np.concatenate((edges, edges[:, ::-1]))
    return Nodes(np.array([number[node] for node in task.node]), distance, both_ways)


def walks_like(replays: Replays, sequences: pd.DataFrame) -> tuple[Ints, Ints]:
    """Draw random walks on the task's graph with the first places and the lengths of sequences.

    Each walk has at least as many different nodes as a sequence must have. At most 1,000 sequences
    of each animal are used, evenly spaced in time; the seed is always the same.

    Returns the sequence to which each walk corresponds, and the numbers of its nodes, one walk per
    row, padded with -1.
    """
    nodes = nodes_of(replays.task)
    code = own_code(replays.animals, sequences)
    n = np.bincount(code)
    rank = np.arange(len(code)) - np.repeat(np.cumsum(n) - n, n)
    # Each k-th sequence of an animal, so that those that are used are spread over its session.
    every = np.repeat(np.maximum(np.ceil(n / _N_WALKS), 1), n)
    row = np.sort(np.argsort(code, kind="stable")[rank % every == 0])
    like = padded(paths(replays, sequences.iloc[row]))
    like = np.where(like >= 0, nodes.number[like], -1)
    rng, min_length = np.random.default_rng(_SEED), replays.detection.min_length
    walks = random_walks(like, rng, edges=nodes.edges, min_length=min_length)
    found = (walks >= 0).any(axis=1)
    return row[found], walks[found]


def _exponent(replays: Replays) -> pd.DataFrame:
    """Exponent of the mean distance from the first state, by the number of steps (number).

    About 0.5 for diffusion, 1 for straight runs; awake (Krause & Drugowitsch 2022) and at rest
    (Stella et al. 2019). The largest lag is that of the shortest sequences, so that each sequence
    counts at each lag. Null: the exponent of random walks on the task's graph.
    """
    animals = replays.animals
    sequences, min_length = chosen(replays), replays.detection.min_length
    code, nodes = own_code(animals, sequences), nodes_of(replays.task)
    n = np.bincount(code, minlength=len(animals))
    if not len(sequences) or min_length < _FEWEST:
        return rows(animals, np.nan, np.nan, n)
    walked = paths(replays, sequences)
    # The first places alone, so many that the shortest sequence has all of them.
    at = nodes.number[walked.flat[walked.begin[:-1, None] + np.arange(min_length)]]
    row, walks = walks_like(replays, sequences)
    value, null = (
        _slopes(states, nodes.distance, owner, len(animals))
        for states, owner in ((at, code), (walks[:, :min_length], code[row]))
    )
    return rows(animals, value, null, n)


def _slopes(at: Ints, distance: Floats, code: Ints, n_animals: int) -> Floats:
    n = np.bincount(code, minlength=n_animals)
    lags = np.arange(1, at.shape[1])
    means = np.stack(
        [np.bincount(code, distance[at[:, 0], at[:, lag]], minlength=n_animals) for lag in lags]
    ) / np.where(n > 0, n, np.nan)
    means[means == 0] = np.nan  # 0 has no logarithm: all walks are back where they began
    x = np.log(lags) - np.log(lags).mean()
    slopes: Floats = x @ np.log(means) / (x @ x)
    return slopes


WALK_STATISTICS: dict[str, Statistic] = {
    "displacement_exponent": Statistic("exponent of displacement, awake", _exponent),
    "displacement_exponent_at_rest": Statistic(
        "exponent of displacement, at rest", _exponent, phases=AT_REST
    ),
}
