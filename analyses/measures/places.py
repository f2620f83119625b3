"""S3: where chains begin, on which side of the maze they run, and in which arm."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pandas as pd

from analyses.measures.replays import (
    Paths,
    Replays,
    Statistic,
    between_nodes,
    chosen,
    covered,
    landmark,
    laps_around,
    paths,
    share,
)

__all__ = ["PLACES", "arms", "lap_side", "main_arm", "own_sides", "runs_on", "side_run"]
__all__ += ["sides"]

_LEFT, _RIGHT = ("left_loop", "left_arm"), ("right_loop", "right_arm")
_ARM = re.compile(r"arm(\d+|_\w)")

_LEAST_OF_ONE, _LEAST_OF_OTHER = 0.10, 0.05


def sides(replays: Replays, chains: pd.DataFrame) -> np.ndarray:
    """Tell which chains run on the animal's side of the maze, and which on the other.

    The animal's side is where it is or, where the sides meet, that of the lap it has just run. A
    chain is on a side if it covers more than 10 % of it and less than 5 % of the other [1]_.

    Parameters
    ----------
    replays : Replays
        Of a task with the landmarks `left_loop` and `right_loop`.
    chains : DataFrame
        Chains with `animal, states, place, episode, phase`.

    Returns
    -------
    ndarray of str, shape (n_chains,)
        ``same``, ``opposite``, or nothing.

    References
    ----------
    .. [1] Gupta, van der Meer, Touretzky & Redish (2010). Hippocampal replay is not a simple
       function of experience. https://doi.org/10.1016/j.neuron.2010.01.034
    """
    left, right = own_sides(replays)
    own = _side_at(replays)[chains["place"].to_numpy()]
    before, _ = laps_around(replays, chains)
    own = np.where(own == 0, np.append(lap_side(replays), 0)[before], own)
    runs = runs_on(left, right, paths(chains))
    return np.select([runs * own > 0, runs * own < 0], ["same", "opposite"], "")


def runs_on(left: np.ndarray, right: np.ndarray, walked: Paths) -> np.ndarray:
    """Tell on which side chains run: -1 left, 1 right, else 0; see `sides`."""
    on_left, on_right = (covered(walked, side) / max(side.sum(), 1) for side in (left, right))
    runs = np.zeros(walked.n_chains, dtype=int)
    runs[(on_right > _LEAST_OF_ONE) & (on_left < _LEAST_OF_OTHER)] = 1
    runs[(on_left > _LEAST_OF_ONE) & (on_right < _LEAST_OF_OTHER)] = -1
    return runs


def own_sides(replays: Replays) -> tuple[np.ndarray, np.ndarray]:
    """Tell which analysed states lie on the left only, and which on the right only."""
    left, right = (landmark(replays.task, *names) for names in (_LEFT, _RIGHT))
    return left & ~right, right & ~left


def lap_side(replays: Replays) -> np.ndarray:
    """Tell the side of each lap by its name: -1 left, 1 right, else 0."""
    return replays.laps["lap"].astype(str).map({"left": -1, "right": 1}).fillna(0).to_numpy(int)


def _side_at(replays: Replays) -> np.ndarray:
    left, right = own_sides(replays)
    return right.astype(int) - left


def side_run(replays: Replays) -> np.ndarray:
    """Tell the side from which each lap came or, if it began on none, to which it went.

    Returns
    -------
    ndarray of int, shape (n_laps,)
        -1 left, 1 right, else 0.
    """
    side = _side_at(replays)
    start, end = (side[replays.laps[name].to_numpy(int)] for name in ("start", "end"))
    return np.where(start != 0, start, end)


def _local(
    replays: Replays,
    min_length: int = 5,
    order: str = "causal",
    *,
    end: str = "first",
    remote: bool = False,
) -> pd.DataFrame:
    chains = chosen(replays, min_length, order, [end, "place"])
    near = between_nodes(replays.task) <= replays.task.local_radius
    place = chains["place"].to_numpy()
    hits, chance = near[place, chains[end]], near.mean(axis=1)[place]
    return share(replays, chains, hits ^ remote, 1 - chance if remote else chance)


def _opposite(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    columns = ["states", "place", "episode", "phase"]
    chains = chosen(replays, min_length, order, columns)
    side = sides(replays, chains)
    return share(replays, chains[side != ""], side[side != ""] == "opposite", 0.5)


def _away(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Share of chains that end further away than they begin, among those that move at all."""
    chains = chosen(replays, min_length, order, ["first", "last", "place", "direction"])
    chains = chains[chains["direction"].isin(["forward", "reverse"])]
    steps, place = between_nodes(replays.task), chains["place"].to_numpy()
    change = steps[place, chains["last"]] - steps[place, chains["first"]]
    return share(replays, chains[change != 0], change[change != 0] > 0, 0.5)


def _segment(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Share of chains that run in another arm than the one where the animal is."""
    chains = chosen(replays, min_length, order, ["states", "place"])
    arm = arms(replays)
    here, there = arm[chains["place"].to_numpy()], main_arm(arm, chains)
    kept = there >= 0
    n_arms = max(int(arm.max(initial=-1)) + 1, 1)
    chance = np.where(here >= 0, 1 - 1 / n_arms, 1.0)
    return share(replays, chains[kept], (there != here)[kept], chance[kept])


def arms(replays: Replays) -> np.ndarray:
    """Give the number of the arm that each analysed state lies in, or -1.

    Arms are landmarks such as ``arm1`` or ``arm_a``.
    """
    number = np.full(len(replays.task.node), -1)
    names = [name for name in replays.task.landmarks if _ARM.fullmatch(name)]
    for i, name in enumerate(names):
        number[landmark(replays.task, name)] = i
    return number


def main_arm(arm: np.ndarray, chains: pd.DataFrame) -> np.ndarray:
    """Give the arm of which each chain visits most states; -1 if it visits none."""
    n_arms = int(arm.max(initial=-1)) + 1
    if not n_arms or not len(chains):
        return np.full(len(chains), -1)
    walked = paths(chains)
    visits = np.stack([covered(walked, arm == i) for i in range(n_arms)], axis=1)
    return np.where(visits.any(axis=1), visits.argmax(axis=1), -1)


PLACES: dict[str, Statistic] = {
    "S3": Statistic(
        "chains that begin near the animal",
        "share",
        _local,
        "begin anywhere",
        np.nan,
        "share",
    ),
    "S3_remote": Statistic(
        "chains that begin elsewhere",
        "share",
        partial(_local, remote=True),
        "begin anywhere",
        np.nan,
        "share",
    ),
    "S3_local_end": Statistic(
        "chains that end near the animal",
        "share",
        partial(_local, end="last"),
        "end anywhere",
        np.nan,
        "share",
    ),
    "S3_opposite": Statistic(
        "chains on the other side, of those on one side",
        "share",
        _opposite,
        "as many on each",
        0.5,
        "share",
    ),
    "S3_away": Statistic(
        "chains that lead away from the animal", "share", _away, "as many towards it", 0.5, "share"
    ),
    "S3_remote_arm": Statistic(
        "chains in another arm than the animal",
        "share",
        _segment,
        "all arms alike",
        np.nan,
        "share",
    ),
}
