"""Non-local backward replay in a tree with shared ends, by need and gain.

After a lap from one start to one end, other paths to the same end are worth replaying: paths from
starts that are frequent (need), and paths on which the reward changes the choice (gain). Need and
gain are those of an animal that knows, for each start, the last reward at each end that it reached
from there. All statistics are shares of the backward sequences after a lap that lead from its end
[1]_.

``higher_utility_share``
    Sequences on the path of higher need x gain, among non-local ones where two paths differ in it.
    Null: 0.5.
``higher_need_share, higher_gain_share``
    The same by need alone, and by gain alone. Null: 0.5.
``other_paths_to_end_share``
    Sequences along other paths than the one just run. Null: the share of the other paths to the
    end.

References
----------
.. [1] Liu, Mattar, Behrens, Daw & Dolan (2021), Experience replay is associated with efficient
   nonlocal learning. https://doi.org/10.1126/science.abf1357
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from analyses.measures.animal_values import share
from analyses.measures.laps import laps_around, laps_in_order
from analyses.measures.replays import Replays, Statistic, chosen, is_one_of, paths
from analyses.sequences.sequences import Lists

__all__ = ["UTILITY_STATISTICS"]

_INVERSE_TEMPERATURE = 5.0


class _Tree(NamedTuple):
    """Starts, ends, and which start and end each place between them belongs to.

    Attributes
    ----------
    start, end : ndarray of int, shape (n_places,)
        The number of the start (or end) at a place, or -1.
    path : ndarray of int, shape (n_places,)
        Start and end of the path on which a place lies: ``start * n_ends + end``, or -1.
    n_starts, n_ends : int
        The numbers of starts and ends.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    path: NDArray[np.int64]
    n_starts: int
    n_ends: int


def _tree(replays: Replays) -> _Tree:
    task = replays.task
    starts, ends = (list(task.landmarks.get(name, ())) for name in ("starts", "ends"))
    start, end = (
        pd.Index(nodes, dtype=object).get_indexer(pd.Index(task.node)) for nodes in (starts, ends)
    )
    path = np.full(len(task.node), -1)
    for i, first in enumerate(starts):
        for j, last in enumerate(ends):
            nodes = nx.shortest_path(task.graph, first, last)[1:-1]
            path[np.isin(np.array(task.node, dtype=object), nodes)] = i * len(ends) + j
    return _Tree(start, end, path, len(starts), len(ends))


def _paths_of(tree: _Tree, walked: Lists) -> NDArray[np.int64]:
    """Return the path on which most places of each sequence lie; -1 if none does."""
    n_sequences = len(walked.begin) - 1
    n_paths = tree.n_starts * tree.n_ends
    if not n_paths:
        return np.full(n_sequences, -1)
    on = tree.path[walked.flat]
    cell = walked.owner[on >= 0] * n_paths + on[on >= 0]
    visits = np.bincount(cell, minlength=n_sequences * n_paths).reshape(-1, n_paths)
    return np.where(visits.any(axis=1), visits.argmax(axis=1), -1)


def _need_and_gain(
    tree: _Tree, replays: Replays
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute need and gain of each start after each lap, each of shape (n_laps, n_starts)."""
    laps = replays.laps
    need, gain = (np.zeros((len(laps), tree.n_starts)) for _ in range(2))
    table = zip(laps["animal"], tree.start[laps["start"]], tree.end[laps["end"]], laps["reward"],
                strict=True)  # fmt: skip
    known: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for row, (animal, start, end, reward) in enumerate(table):
        if animal not in known:
            known[animal] = np.zeros(tree.n_starts), np.zeros((tree.n_starts, tree.n_ends))
        n_runs, value = known[animal]
        if start < 0 or end < 0:
            continue
        n_runs[start] += 1
        need[row] = n_runs / n_runs.sum()
        after = value.copy()
        after[:, end] = reward
        change = softmax(_INVERSE_TEMPERATURE * after, axis=1)
        change -= softmax(_INVERSE_TEMPERATURE * value, axis=1)
        gain[row] = (change * after).sum(axis=1)
        value[start, end] = reward
    return need, gain


def _backward(replays: Replays) -> tuple[_Tree, pd.DataFrame, NDArray[np.int64], NDArray[np.int64]]:
    """Find the backward sequences that lead from the end of the last lap, their start and lap."""
    tree = _tree(replays)
    columns = ["direction", "episode", "phase"]
    sequences = chosen(replays, columns, ["episode_end"])
    sequences = sequences[is_one_of(sequences["direction"], ["reverse"])]
    lap, _ = laps_around(replays, sequences)
    path = _paths_of(tree, paths(replays, sequences))
    end = np.append(tree.end[replays.laps["end"].to_numpy(int)], -1)[lap]
    kept = (path >= 0) & (lap >= 0) & (path % max(tree.n_ends, 1) == end)
    return tree, sequences[kept], path[kept] // max(tree.n_ends, 1), lap[kept]


def _by_utility(replays: Replays, *, by: str) -> pd.DataFrame:
    """Share of non-local sequences on the path of higher utility, where two paths differ in it."""
    replays = laps_in_order(replays)
    laps = replays.laps
    tree, sequences, start, lap = _backward(replays)
    if not len(sequences):
        return share(replays, sequences, [], 0.5)
    need, gain = _need_and_gain(tree, replays)
    utility = {"need": need, "gain": gain, "both": need * gain}[by][lap]
    local = tree.start[laps["start"].to_numpy(int)][lap]
    row = np.arange(len(sequences))
    own = utility[row, start]
    utility[row, local] = np.nan
    middle = np.nanmean(utility, axis=1)
    kept = (start != local) & (own != middle)
    return share(replays, sequences[kept], (own > middle)[kept], 0.5)


def _non_local(replays: Replays) -> pd.DataFrame:
    """Share of backward sequences from the end of a lap along paths other than the one just run."""
    tree, sequences, start, lap = _backward(replays)
    local = np.append(tree.start[replays.laps["start"].to_numpy(int)], -1)[lap]
    return share(replays, sequences, start != local, 1 - 1 / max(tree.n_starts, 1))


def _utility(label: str, by: str) -> Statistic:
    compute = partial(_by_utility, by=by)
    return Statistic(
        f"non-local backward sequences where {label} is higher", compute, is_share=True
    )


UTILITY_STATISTICS: dict[str, Statistic] = {
    "higher_utility_share": _utility("need x gain", "both"),
    "higher_need_share": _utility("need", "need"),
    "higher_gain_share": _utility("gain", "gain"),
    "other_paths_to_end_share": Statistic(
        "backward sequences along other paths to the same end", _non_local, is_share=True
    ),
}
