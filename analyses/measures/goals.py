"""Replay through the goal, whether the animal then follows it, and replay by need and gain.

In a tree with shared ends, after a lap from one start to one end, other paths to the same end are
worth replaying: paths from starts that are frequent (need), and paths on which the reward changes
the choice (gain). Need and gain are those of an animal that knows, for each start, the last reward
at each end that it reached from there [3]_.

References
----------
.. [1] Widloski & Foster (2022). https://doi.org/10.1016/j.neuron.2022.02.002
.. [2] Jensen, Hennequin & Mattar (2024). https://doi.org/10.1038/s41593-024-01675-7
.. [3] Liu, Mattar, Behrens, Daw & Dolan (2021). https://doi.org/10.1126/science.abf1357
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from scipy.special import softmax

from analyses.measures.chance import nodes_of, walks_like
from analyses.measures.places import landmark
from analyses.measures.replays import (
    Replays,
    Share,
    Statistic,
    at_lap,
    chosen,
    difference,
    is_one_of,
    laps_around,
    laps_in_order,
    name_codes,
    own_code,
    paths,
    share,
)
from replay.checks.arrays import Bools, Floats, Ints

_INVERSE_TEMPERATURE = 5.0  # of the choice between ends on which gain depends


def _goals(replays: Replays, sequences: pd.DataFrame) -> Ints:
    """Find the goal at the time of each sequence: a place, or -1.

    The goal is the landmark `goal` or, in a task with wells, the well at which the laps named
    ``home`` of the current block are rewarded.
    """
    task, laps = replays.task, replays.laps
    fixed = np.flatnonzero(landmark(task, "goal"))
    if len(fixed):
        return np.full(len(sequences), fixed[0])
    if not landmark(task, "wells").any() or "goal" not in laps:
        return np.full(len(sequences), -1)
    homes, blocks = laps[is_one_of(laps["lap"], ["home"])], laps["block"].unique().tolist()
    home = np.full((len(replays.animals), len(blocks) + 1), -1)
    at = own_code(replays.animals, homes), name_codes(homes["block"], blocks)
    home[at] = homes["goal"].to_numpy(int)  # the last lap of a block decides
    return home[own_code(replays.animals, sequences), name_codes(sequences["block"], blocks)]


def _through_goal(replays: Replays) -> pd.DataFrame:
    """Sequences through the goal while the animal is elsewhere (share; Widloski & Foster 2022).

    Null: the mean over the other wells or, in a task without wells, over random walks that start
    where the sequences start and are as long.
    """
    sequences = chosen(replays, ["block", "place"])
    number, goal = nodes_of(replays.task).number, _goals(replays, sequences)
    kept = (goal >= 0) & (number[goal] != number[sequences["place"].to_numpy()])
    sequences, goal = sequences[kept], number[goal[kept]]
    walked = paths(replays, sequences)
    at, here = number[walked.flat], number[sequences["place"].to_numpy()]
    hits = _visits(at, walked.owner, goal)
    wells = landmark(replays.task, "wells")
    if wells.any():
        n_visited, n_others = np.zeros((2, len(sequences)))
        for well in np.unique(number[wells]):
            counts = (goal != well) & (here != well)
            n_visited += counts & _visits(at, walked.owner, np.full(len(sequences), well))
            n_others += counts
        null = n_visited / np.where(n_others > 0, n_others, np.nan)
        return share(replays, sequences, hits, null)
    found = share(replays, sequences, hits)
    row, walks = walks_like(replays, sequences)
    walk_hits = (walks == goal[row, None]).any(axis=1)
    return found.assign(null=share(replays, sequences.iloc[row], walk_hits)["value"])


def _visits(at: Ints, sequence: Ints, target: Ints) -> Bools:
    visits = np.zeros(len(target), dtype=bool)
    visits[sequence[at == target[sequence]]] = True
    return visits


def _followed(replays: Replays) -> pd.DataFrame:
    """Share of sequences to the goal whose first move is the next lap's, minus that of others.

    Only sequences that begin where the animal is, before a lap that ends at the goal, count. One
    that crosses a wall does not reach the goal. The column `second` of laps is their second state
    (Jensen et al. 2024). Null: 0.
    """
    sequences = chosen(replays, ["place", "block", "episode", "phase"])
    laps, number = replays.laps, nodes_of(replays.task).number
    if "second" not in laps:
        return share(replays, sequences[:0], [])
    goal, (_, after) = _goals(replays, sequences), laps_around(replays, sequences)
    end, second = (at_lap(laps[name].to_numpy(int), after, 0) for name in ("end", "second"))
    walked = paths(replays, sequences)
    begins = number[walked.first]
    kept = (goal >= 0) & (after >= 0) & (number[end] == number[goal])
    kept &= begins == number[sequences["place"].to_numpy()]
    sequences, goal, second = sequences[kept], goal[kept], second[kept]
    walked = paths(replays, sequences)
    at = number[walked.flat]
    follows = at[walked.begin[:-1] + 1] == number[second]
    reaches = _visits(at, walked.owner, number[goal])
    node, together = replays.task.node, walked.owner[1:] == walked.owner[:-1]
    # The walls of a block count only for what was replayed in it.
    for block in replays.task.blocks:
        walls = set(block.closed)
        shut = np.array([[(a, b) in walls for b in node] for a in node], dtype=bool)
        sequence = walked.owner[1:][shut[walked.flat[:-1], walked.flat[1:]] & together]
        in_block = is_one_of(sequences["block"], [block.name])
        reaches[sequence[in_block[sequence]]] = False
    yes, no = (share(replays, sequences[which], follows[which]) for which in (reaches, ~reaches))
    return difference(replays, yes, no)


GOAL_STATISTICS: dict[str, Statistic] = {
    "through_goal_share": Share("sequences through the goal", _through_goal),
    "followed_if_to_goal": Statistic(
        "first move as replayed: sequences that reach the goal minus others",
        _followed,
        phases=("start",),
    ),
}


class _Tree(NamedTuple):
    """Which start and which end each place is; -1 for none."""

    start: Ints
    end: Ints
    n_starts: int
    n_ends: int


def _need_and_gain(tree: _Tree, replays: Replays) -> tuple[Floats, Floats]:
    """Compute need and gain of each start after each lap, each of shape (n_laps, n_starts)."""
    laps = replays.laps
    need, gain = (np.zeros((len(laps), tree.n_starts)) for _ in range(2))
    table = zip(laps["animal"], tree.start[laps["start"]], tree.end[laps["end"]], laps["reward"],
                strict=True)  # fmt: skip
    known: dict[int, tuple[Floats, Floats]] = {}
    for row, (animal, start, end, reward) in enumerate(table):
        if animal not in known:
            known[animal] = np.zeros(tree.n_starts), np.zeros((tree.n_starts, tree.n_ends))
        n_runs, value = known[animal]
        if start < 0 or end < 0:
            continue
        n_runs[start] += 1
        need[row] = n_runs / n_runs.sum()
        # What an animal would know that learned of this end from all starts at once.
        after = value.copy()
        after[:, end] = reward
        change = softmax(_INVERSE_TEMPERATURE * after, axis=1)
        change -= softmax(_INVERSE_TEMPERATURE * value, axis=1)
        gain[row] = (change * after).sum(axis=1)
        value[start, end] = reward
    return need, gain


def _backward(replays: Replays) -> tuple[_Tree, pd.DataFrame, Ints, Ints]:
    """Find the backward sequences that lead from the end of the last lap, their start and lap."""
    task = replays.task
    starts, ends = (list(task.landmarks.get(name, ())) for name in ("starts", "ends"))
    start, end = (
        pd.Index(nodes, dtype=object).get_indexer(pd.Index(task.node)) for nodes in (starts, ends)
    )
    # The path to which each place between a start and an end belongs: start * n_ends + end.
    path_of = np.full(len(task.node), -1)
    for i, first in enumerate(starts):
        for j, last in enumerate(ends):
            nodes = nx.shortest_path(task.graph, first, last)[1:-1]
            path_of[np.isin(np.array(task.node, dtype=object), nodes)] = i * len(ends) + j
    sequences = chosen(replays, ["direction", "episode", "phase"])
    sequences = sequences[is_one_of(sequences["direction"], ["reverse"])]
    walked, n_paths = paths(replays, sequences), len(starts) * len(ends)
    path = np.full(len(sequences), -1)
    if n_paths:
        # A sequence is on the path on which most of its places lie.
        on = path_of[walked.flat]
        cell = walked.owner[on >= 0] * n_paths + on[on >= 0]
        visits = np.bincount(cell, minlength=len(sequences) * n_paths).reshape(-1, n_paths)
        path = np.where(visits.any(axis=1), visits.argmax(axis=1), -1)
    lap, _ = laps_around(replays, sequences)
    end_of_lap = at_lap(end[replays.laps["end"].to_numpy(int)], lap, none=-1)
    n_ends = max(len(ends), 1)  # tasks without ends have no such sequence
    kept = (path >= 0) & (lap >= 0) & (path % n_ends == end_of_lap)
    tree = _Tree(start, end, len(starts), len(ends))
    return tree, sequences[kept], path[kept] // n_ends, lap[kept]


def _by_utility(replays: Replays, *, by: str) -> pd.DataFrame:
    """Non-local backward sequences on the path of higher need x gain (share). Null: 0.5.

    Or of higher need, or gain, alone: among those after a lap that lead from its end, where two
    paths differ in it (Liu et al. 2021).
    """
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
    # Above the mean of the other paths: the better one of two.
    utility[row, local] = np.nan
    middle = np.nanmean(utility, axis=1)
    kept = (start != local) & (own != middle)
    return share(replays, sequences[kept], (own > middle)[kept], 0.5)


def _non_local(replays: Replays) -> pd.DataFrame:
    """Backward sequences from the end of a lap along other paths than the one just run (share).

    Null: the share of the other paths to the end (Liu et al. 2021).
    """
    tree, sequences, start, lap = _backward(replays)
    local = at_lap(tree.start[replays.laps["start"].to_numpy(int)], lap, none=-1)
    return share(replays, sequences, start != local, 1 - 1 / max(tree.n_starts, 1))


def _utility(label: str, by: str) -> Statistic:
    return Share(
        f"non-local backward sequences where {label} is higher",
        partial(_by_utility, by=by),
        phases=("episode_end",),
    )


UTILITY_STATISTICS: dict[str, Statistic] = {
    "higher_utility_share": _utility("need x gain", "both"),
    "higher_need_share": _utility("need", "need"),
    "higher_gain_share": _utility("gain", "gain"),
    "other_paths_to_end_share": Share(
        "backward sequences along other paths to the same end", _non_local, phases=("episode_end",)
    ),
}
