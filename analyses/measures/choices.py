"""S8: replay through the goal, and of the path that is taken next; and of the one just taken."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from analyses.measures.directions import at_well, directional
from analyses.measures.places import own_sides, runs_on, side_run
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

__all__ = ["CHOICES"]


def _taken(
    replays: Replays,
    min_length: int = 5,
    order: str = "causal",
    *,
    direction: str,
    path: str,
    well: str,
) -> pd.DataFrame:
    """Share of chains on the side that was (or will be) run, minus that on the other side.

    Chains on neither side, and on both, count in the total.
    """
    columns = ["direction", "first", "last", "place", "states", "episode", "phase"]
    chains = directional(chosen(replays, min_length, order, columns))
    chains = chains[chains["direction"] == direction]
    chains = chains[at_well(replays, chains, path, well)]
    side = runs_on(*own_sides(replays), paths(chains))
    before, after = laps_around(replays, chains)
    run = np.append(side_run(replays), 0)[before if path == "past" else after]
    return share(replays, chains[run != 0], (side * run)[run != 0], 0.0)


def goals(replays: Replays, chains: pd.DataFrame) -> np.ndarray:
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
    number, goal = nodes_of(replays.task).number, goals(replays, chains)
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
    at: np.ndarray, walked: Paths, goal: np.ndarray, here: np.ndarray, wells: np.ndarray
) -> np.ndarray:
    """Give the share of wells that each chain visits, but for the goal and where the animal is."""
    n_visited, n_others = np.zeros(walked.n_chains), np.zeros(walked.n_chains)
    for well in wells:
        counts = (goal != well) & (here != well)
        n_visited += counts & _visits(at, walked.chain, np.full(walked.n_chains, well))
        n_others += counts
    return n_visited / np.where(n_others > 0, n_others, np.nan)


def _visits(at: np.ndarray, chain: np.ndarray, target: np.ndarray) -> np.ndarray:
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
    goal, (_, after) = goals(replays, chains), laps_around(replays, chains)
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


def _through_walls(replays: Replays, chains: pd.DataFrame, walked: Paths) -> np.ndarray:
    """Tell which chains go through a wall of their block."""
    node = np.array(replays.task.node, dtype=object)
    block = chains["block"].astype(str).to_numpy()
    crosses = np.zeros(walked.n_chains, dtype=bool)
    for closed in replays.task.blocks:
        shut = np.array([[(a, b) in set(closed.closed) for b in node] for a in node], dtype=bool)
        moves = shut[walked.state[:-1], walked.state[1:]] & (walked.chain[:-1] == walked.chain[1:])
        chain = walked.chain[1:][moves]
        crosses[chain[block[chain] == closed.name]] = True
    return crosses


def _ways(direction: str, path: str, well: str) -> Statistic:
    was = "just run" if path == "past" else "run next"
    return Statistic(
        f"{direction} chains on the side {was} minus the other, at a {well} well",
        "difference",
        partial(_taken, direction=direction, path=path, well=well),
        "as many on each",
        0.0,
        "difference",
    )


CHOICES: dict[str, Statistic] = {
    "S2_taken_centre": _ways("reverse", "past", "centre"),
    "S2_taken_side": _ways("reverse", "past", "side"),
    "S8": Statistic(
        "chains through the goal",
        "share",
        _through_goal,
        "other wells, or random walks as long",
        np.nan,
        "share",
    ),
    "S8_followed": Statistic(
        "first move as replayed: chains that reach the goal minus others",
        "difference",
        _followed,
        "no difference",
        0.0,
        "difference",
    ),
    "S8_taken_centre": _ways("forward", "future", "centre"),
    "S8_taken_side": _ways("forward", "future", "side"),
}
