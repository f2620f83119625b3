"""How far sequences get, compared with random walks of equal length from the same places.

``displacement_exponent, displacement_exponent_at_rest``
    Exponent of the mean distance from a sequence's first state as a function of the number of
    steps, awake [1]_ and at rest [2]_: about 0.5 for diffusion, 1 for straight runs (number). Null:
    the exponent of random walks on the task's graph.

References
----------
.. [1] Krause & Drugowitsch (2022), A large majority of awake hippocampal sharp-wave ripples feature
   spatial trajectories with momentum. https://doi.org/10.1016/j.neuron.2021.11.014
.. [2] Stella, Baracskay, O'Neill & Csicsvari (2019), Hippocampal reactivation of random
   trajectories resembling Brownian diffusion. https://doi.org/10.1016/j.neuron.2019.01.052
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import own_code, rows
from analyses.measures.nulls import padded, random_walks
from analyses.measures.replays import AT_REST, AWAKE, Replays, Statistic, chosen, paths

if TYPE_CHECKING:
    from replay.tasks import Task

__all__ = ["WALK_STATISTICS", "Nodes", "nodes_of", "walks_like"]

_N_WALKS = 1000
_FEWEST = 3  # places: an exponent needs two lags
_SEED = 0


class Nodes(NamedTuple):
    """The nodes of a task's graph, numbered.

    Attributes
    ----------
    number : ndarray of int, shape (n_places,)
        The node of each analysed state.
    distance : ndarray of float, shape (n_nodes, n_nodes)
        Straight distances between nodes, in cm.
    edges : ndarray of int, shape (n_edges, 2)
        All edges, each in both directions.
    """

    number: NDArray[np.int64]
    distance: NDArray[np.float64]
    edges: NDArray[np.int64]


def nodes_of(task: Task) -> Nodes:
    """Assign numbers to the nodes of a task's graph."""
    number = {node: i for i, node in enumerate(task.graph.nodes)}
    position = np.array([task.graph.nodes[node]["pos"] for node in number], dtype=float)
    distance = np.linalg.norm(position[:, None] - position, axis=-1)
    edges = np.array([(number[a], number[b]) for a, b in task.graph.edges], dtype=int)
    edges = edges.reshape(-1, 2)
    both_ways = np.concatenate((edges, edges[:, ::-1]))
    return Nodes(np.array([number[node] for node in task.node]), distance, both_ways)


def walks_like(
    replays: Replays, sequences: pd.DataFrame
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw random walks on the task's graph with the first places and the lengths of sequences.

    Each walk has at least as many different nodes as a sequence must have. At most 1,000 sequences
    of each animal are used, evenly spaced in time; the seed is always the same.

    Returns the sequence to which each walk corresponds, and the numbers of its nodes, one walk per
    row, padded with -1.
    """
    nodes = nodes_of(replays.task)
    row = _some_of_each(own_code(replays.animals, sequences), _N_WALKS)
    like = padded(paths(replays, sequences.iloc[row]))
    like = np.where(like >= 0, nodes.number[like], -1)
    rng, min_length = np.random.default_rng(_SEED), replays.detection.min_length
    walks = random_walks(like, rng, edges=nodes.edges, min_length=min_length)
    found = (walks >= 0).any(axis=1)
    return row[found], walks[found]


def _some_of_each(code: NDArray[np.int64], n_most: int) -> NDArray[np.int64]:
    """Pick at most `n_most` rows of each animal, evenly spaced."""
    order = np.argsort(code, kind="stable")
    n = np.bincount(code)
    rank = np.arange(len(code)) - np.repeat(np.cumsum(n) - n, n)
    every = np.maximum(np.ceil(n / n_most), 1)
    return np.sort(order[rank % np.repeat(every, n) == 0])


def _exponent(
    replays: Replays,
    *,
    phases: Sequence[str] = AWAKE,
) -> pd.DataFrame:
    """Slope of the log mean distance from the first state against the log number of steps.

    The largest lag is that of the shortest sequences, so that each sequence counts at each lag.
    """
    animals = replays.animals
    sequences, min_length = chosen(replays, phases=phases), replays.detection.min_length
    code, nodes = own_code(animals, sequences), nodes_of(replays.task)
    n = np.bincount(code, minlength=len(animals))
    if not len(sequences) or min_length < _FEWEST:
        return rows(animals, np.nan, np.nan, n)
    walked = paths(replays, sequences)
    at = nodes.number[walked.flat[walked.begin[:-1, None] + np.arange(min_length)]]
    row, walks = walks_like(replays, sequences)
    value, null = (
        _slopes(states, nodes.distance, owner, len(animals))
        for states, owner in ((at, code), (walks[:, :min_length], code[row]))
    )
    return rows(animals, value, null, n)


def _slopes(
    at: NDArray[np.int64], distance: NDArray[np.float64], code: NDArray[np.int64], n_animals: int
) -> NDArray[np.float64]:
    n = np.bincount(code, minlength=n_animals)
    lags = np.arange(1, at.shape[1])
    means = np.stack(
        [np.bincount(code, distance[at[:, 0], at[:, lag]], minlength=n_animals) for lag in lags]
    ) / np.where(n > 0, n, np.nan)
    means[means == 0] = np.nan
    x = np.log(lags) - np.log(lags).mean()
    slopes: NDArray[np.float64] = x @ np.log(means) / (x @ x)
    return slopes


WALK_STATISTICS: dict[str, Statistic] = {
    "displacement_exponent": Statistic("exponent of displacement, awake", _exponent),
    "displacement_exponent_at_rest": Statistic(
        "exponent of displacement, at rest", partial(_exponent, phases=AT_REST)
    ),
}
