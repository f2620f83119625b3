"""Replay through the goal, and whether the animal then takes the replayed path.

``through_goal_share`` [1]_
    Sequences through the goal while the animal is elsewhere (share). Null: the mean over the other
    wells or, in a task without wells, over random walks that start where the sequences start and
    are as long.
``followed_if_to_goal`` [2]_
    The share of sequences whose first move is that of the next lap, among sequences that reach the
    goal, minus that among the others (difference). Null: 0.

References
----------
.. [1] Widloski & Foster (2022), Flexible rerouting of hippocampal replay sequences around changing
   barriers in the absence of global place field remapping.
   https://doi.org/10.1016/j.neuron.2022.02.002
.. [2] Jensen, Hennequin & Mattar (2024), A recurrent network model of planning explains hippocampal
   replay and human behavior. https://doi.org/10.1038/s41593-024-01675-7
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import own_code, rows, share
from analyses.measures.landmarks import landmark
from analyses.measures.laps import laps_around
from analyses.measures.replays import Replays, Statistic, chosen, is_one_of, name_codes, paths
from analyses.measures.walks import nodes_of, walks_like
from analyses.sequences.sequences import Lists

__all__ = ["GOAL_STATISTICS"]


def _goals(replays: Replays, sequences: pd.DataFrame) -> NDArray[np.int64]:
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
    """Share of sequences through the goal while the animal is elsewhere; the null is other wells.

    In a task without wells, the null is random walks that start where the sequences start.
    """
    sequences = chosen(replays, ["block", "place"])
    number, goal = nodes_of(replays.task).number, _goals(replays, sequences)
    kept = (goal >= 0) & (number[goal] != number[sequences["place"].to_numpy()])
    sequences, goal = sequences[kept], goal[kept]
    wells = landmark(replays.task, "wells")
    walked = paths(replays, sequences)
    at, here = number[walked.flat], number[sequences["place"].to_numpy()]
    hits = _visits(at, walked.owner, number[goal])
    if wells.any():
        null = _mean_of_others(at, walked, number[goal], here, np.unique(number[wells]))
        return share(replays, sequences, hits, null)
    found = share(replays, sequences, hits)
    row, walks = walks_like(replays, sequences)
    walk_hits = (walks == number[goal][row, None]).any(axis=1)
    return found.assign(null=share(replays, sequences.iloc[row], walk_hits)["value"])


def _mean_of_others(
    at: NDArray[np.int64],
    walked: Lists,
    goal: NDArray[np.int64],
    here: NDArray[np.int64],
    wells: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Share of wells that each sequence visits, except the goal and the animal's own well."""
    n = len(walked.begin) - 1
    n_visited, n_others = np.zeros(n), np.zeros(n)
    for well in wells:
        counts = (goal != well) & (here != well)
        n_visited += counts & _visits(at, walked.owner, np.full(n, well))
        n_others += counts
    return n_visited / np.where(n_others > 0, n_others, np.nan)


def _visits(
    at: NDArray[np.int64], sequence: NDArray[np.int64], target: NDArray[np.int64]
) -> NDArray[np.bool_]:
    visits = np.zeros(len(target), dtype=bool)
    visits[sequence[at == target[sequence]]] = True
    return visits


def _followed(replays: Replays) -> pd.DataFrame:
    """Share of sequences whose first move is the next lap's: to the goal, minus the others.

    Only sequences that begin where the animal is, before a lap that ends at the goal, count. One
    that crosses a wall does not reach the goal. The column `second` of laps is their second state.
    """
    columns = ["place", "block", "episode", "phase"]
    sequences = chosen(replays, columns, ["start"])
    laps, number = replays.laps, nodes_of(replays.task).number
    if "second" not in laps:
        return share(replays, sequences[:0], [])
    goal, (_, after) = _goals(replays, sequences), laps_around(replays, sequences)
    end, second = (np.append(laps[name].to_numpy(int), 0)[after] for name in ("end", "second"))
    walked = paths(replays, sequences)
    begins = number[walked.flat[walked.begin[:-1]]]
    kept = (goal >= 0) & (after >= 0) & (number[end] == number[goal])
    kept &= begins == number[sequences["place"].to_numpy()]
    sequences, goal, second = sequences[kept], goal[kept], second[kept]
    walked = paths(replays, sequences)
    at = number[walked.flat]
    follows = at[walked.begin[:-1] + 1] == number[second]
    reaches = _visits(at, walked.owner, number[goal]) & ~_through_walls(replays, sequences, walked)
    yes, no = (share(replays, sequences[which], follows[which]) for which in (reaches, ~reaches))
    return rows(replays.animals, yes["value"] - no["value"], 0.0, yes["n"] + no["n"])


def _through_walls(replays: Replays, sequences: pd.DataFrame, walked: Lists) -> NDArray[np.bool_]:
    """Return whether each sequence crosses a wall of its block."""
    node = np.array(replays.task.node, dtype=object)
    names = list(dict.fromkeys(block.name for block in replays.task.blocks))
    block = name_codes(sequences["block"], names)
    crosses = np.zeros(len(walked.begin) - 1, dtype=bool)
    for closed in replays.task.blocks:
        walls = set(closed.closed)
        shut = np.array([[(a, b) in walls for b in node] for a in node], dtype=bool)
        moves = shut[walked.flat[:-1], walked.flat[1:]] & (walked.owner[:-1] == walked.owner[1:])
        sequence = walked.owner[1:][moves]
        crosses[sequence[block[sequence] == names.index(closed.name)]] = True
    return crosses


GOAL_STATISTICS: dict[str, Statistic] = {
    "through_goal_share": Statistic("sequences through the goal", _through_goal, is_share=True),
    "followed_if_to_goal": Statistic(
        "first move as replayed: sequences that reach the goal minus others", _followed
    ),
}
