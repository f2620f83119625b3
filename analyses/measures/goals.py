"""S8: replay through the goal, and whether the animal goes the way that it replayed.

``S8`` [1]_
    Chains through the goal, of an animal that is elsewhere (share). Null: the mean over the other
    wells or, in a task without wells, that of random walks that begin like the chains and are as
    long.
``S8_followed`` [2]_
    The share of chains whose first move is that of the next lap: among chains that reach the goal,
    minus that among the others (difference). Null: 0.

References
----------
.. [1] Widloski & Foster (2022). Flexible rerouting of hippocampal replay sequences around changing
   barriers in the absence of global place field remapping.
   https://doi.org/10.1016/j.neuron.2022.02.002
.. [2] Jensen, Hennequin & Mattar (2024). A recurrent network model of planning explains hippocampal
   replay and human behavior. https://doi.org/10.1038/s41593-024-01675-7
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import (
    Paths,
    Replays,
    Statistic,
    chosen,
    every_animal,
    landmark,
    laps_around,
    paths,
    rows,
    share,
)
from analyses.measures.walks import nodes_of, walks_like

__all__ = ["GOAL_STATISTICS"]


def _goals(replays: Replays, chains: pd.DataFrame) -> NDArray[np.int64]:
    """Find the goal at each chain: a place, or -1.

    It is the landmark `goal` or, where there are wells, the one at which the block's laps named
    ``home`` pay.

    Parameters
    ----------
    replays : Replays
        The tables; laps tell where they pay in a column `goal`.
    chains : DataFrame
        Have `animal, block`.

    Returns
    -------
    ndarray of int, shape (n_chains,)
        The goals.
    """
    task, laps = replays.task, replays.laps
    fixed = np.flatnonzero(landmark(task, "goal"))
    if len(fixed):
        return np.full(len(chains), fixed[0])
    if not landmark(task, "wells").any() or "goal" not in laps:
        return np.full(len(chains), -1)
    key = ["animal", "block"]
    homes = laps[laps["lap"].astype(str) == "home"].drop_duplicates(key, keep="last")
    known = pd.MultiIndex.from_frame(homes[key].astype({"block": str}))
    home = np.append(homes["goal"].to_numpy(int), -1)
    wanted = pd.MultiIndex.from_frame(chains[key].astype({"block": str}))
    return home[known.get_indexer(wanted)]


def _through_goal(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Share of chains through the goal, elsewhere than at it; the null is that of other wells.

    Where the task has no wells, the null is that of random walks that begin like the chains.
    """
    chains = chosen(replays, min_length, order, ["states", "block", "place"])
    number, goal = nodes_of(replays.task).number, _goals(replays, chains)
    kept = (goal >= 0) & (number[goal] != number[chains["place"].to_numpy()])
    chains, goal = chains[kept], goal[kept]
    wells = landmark(replays.task, "wells")
    walked = paths(chains)
    at, here = number[walked.state], number[chains["place"].to_numpy()]
    hits = _visits(at, walked.chain, number[goal])
    if wells.any():
        null = _mean_of_others(at, walked, number[goal], here, np.unique(number[wells]))
        return share(replays, chains, hits, null)
    found = share(replays, chains, hits)
    row, walks = walks_like(replays, chains, min_length)
    walk_hits = (walks == number[goal][row, None]).any(axis=1)
    return found.assign(null=share(replays, chains.iloc[row], walk_hits)["value"])


def _mean_of_others(
    at: NDArray[np.int64],
    walked: Paths,
    goal: NDArray[np.int64],
    here: NDArray[np.int64],
    wells: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Give the share of wells that each chain visits, but for the goal and where the animal is."""
    n_visited, n_others = np.zeros(walked.n_chains), np.zeros(walked.n_chains)
    for well in wells:
        counts = (goal != well) & (here != well)
        n_visited += counts & _visits(at, walked.chain, np.full(walked.n_chains, well))
        n_others += counts
    return n_visited / np.where(n_others > 0, n_others, np.nan)


def _visits(
    at: NDArray[np.int64], chain: NDArray[np.int64], target: NDArray[np.int64]
) -> NDArray[np.bool_]:
    visits = np.zeros(len(target), dtype=bool)
    visits[chain[at == target[chain]]] = True
    return visits


def _followed(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Share of chains whose first move is the next lap's: those that reach the goal minus the rest.

    Chains count that begin where the animal is, before a lap that ends at the goal. One that goes
    through a wall does not reach it. Laps tell their second state in a column `second`.
    """
    columns = ["states", "place", "block", "episode", "phase"]
    chains = chosen(replays, min_length, order, columns, ["start"])
    laps, number = replays.laps, nodes_of(replays.task).number
    if "second" not in laps:
        return share(replays, chains[:0], [])
    goal, (_, after) = _goals(replays, chains), laps_around(replays, chains)
    end, second = (np.append(laps[name].to_numpy(int), 0)[after] for name in ("end", "second"))
    walked = paths(chains)
    begins = number[walked.state[walked.begin[:-1]]]
    kept = (goal >= 0) & (after >= 0) & (number[end] == number[goal])
    kept &= begins == number[chains["place"].to_numpy()]
    chains, goal, second = chains[kept], goal[kept], second[kept]
    walked = paths(chains)
    at = number[walked.state]
    follows = at[walked.begin[:-1] + 1] == number[second]
    reaches = _visits(at, walked.chain, number[goal]) & ~_through_walls(replays, chains, walked)
    yes, no = (share(replays, chains[which], follows[which]) for which in (reaches, ~reaches))
    return rows(every_animal(replays), yes["value"] - no["value"], 0.0, yes["n"] + no["n"])


def _through_walls(replays: Replays, chains: pd.DataFrame, walked: Paths) -> NDArray[np.bool_]:
    """Tell which chains go through a wall of their block."""
    node = np.array(replays.task.node, dtype=object)
    block = chains["block"].astype(str).to_numpy()
    crosses = np.zeros(walked.n_chains, dtype=bool)
    for closed in replays.task.blocks:
        walls = set(closed.closed)
        shut = np.array([[(a, b) in walls for b in node] for a in node], dtype=bool)
        moves = shut[walked.state[:-1], walked.state[1:]] & (walked.chain[:-1] == walked.chain[1:])
        chain = walked.chain[1:][moves]
        crosses[chain[block[chain] == closed.name]] = True
    return crosses


GOAL_STATISTICS: dict[str, Statistic] = {
    "S8": Statistic("chains through the goal", _through_goal, is_share=True),
    "S8_followed": Statistic(
        "first move as replayed: chains that reach the goal minus others", _followed
    ),
}
