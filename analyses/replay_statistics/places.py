"""S3, S9: where chains begin, on which side of the maze they run, and how far they get."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from analyses.nulls import padded, random_walks
from analyses.replay_statistics.replays import (
    AWAKE,
    REST,
    Paths,
    Replays,
    Statistic,
    between_nodes,
    chosen,
    covered,
    every_animal,
    landmark,
    laps_around,
    own_code,
    paths,
    rows,
    share,
)

__all__ = ["PLACES", "arms", "lap_side", "main_arm", "own_sides", "runs_on", "sides"]

_LEFT, _RIGHT = ("left_loop", "left_arm"), ("right_loop", "right_arm")
_ARM = re.compile(r"arm_?\w")

_LEAST_OF_ONE, _LEAST_OF_OTHER = 0.10, 0.05
_N_WALKS = 1000


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
    own = np.sign(right.astype(int) - left)[chains["place"].to_numpy()]
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


def _exponent(
    replays: Replays,
    min_length: int = 5,
    order: str = "causal",
    *,
    phases: Sequence[str] = AWAKE,
) -> pd.DataFrame:
    """Slope of log distance against log steps, from the first state of each chain.

    Lags end where the shortest chain might: so each chain counts at each lag.
    """
    animals = every_animal(replays)
    chains = chosen(replays, min_length, order, ["states"], phases)
    code = own_code(animals, chains)
    n = np.bincount(code, minlength=len(animals))
    node, distance, edges = _places(replays)
    begin = paths(chains)
    at = begin.state[begin.begin[:-1, None] + np.arange(min_length)] if len(chains) else None
    value = _slopes(node[at], distance, code, len(animals)) if at is not None else np.nan
    null = np.full(len(animals), np.nan)
    if at is not None:
        kept = _some_of_each(code, _N_WALKS)
        walked = padded([node[path] for path in chains["states"].iloc[kept]])
        drawn = random_walks(walked, np.random.default_rng(0), edges=edges, min_length=min_length)[
            :, :min_length
        ]
        there = (drawn >= 0).all(axis=1)
        null = _slopes(drawn[there], distance, code[kept][there], len(animals))
    return rows(animals, value, null, n)


def _places(replays: Replays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the node of each analysed state, distances between nodes (cm), and edges both ways."""
    graph = replays.task.graph.to_undirected()
    nodes = pd.Index(list(graph.nodes))
    position = np.array([graph.nodes[node]["pos"] for node in nodes], dtype=float)
    distance = np.linalg.norm(position[:, None] - position, axis=-1)
    edges = np.array([nodes.get_indexer(pd.Index(edge)) for edge in graph.edges]).reshape(-1, 2)
    number = nodes.get_indexer(pd.Index(replays.task.node))
    return number, distance, np.concatenate((edges, edges[:, ::-1]))


def _slopes(at: np.ndarray, distance: np.ndarray, code: np.ndarray, n_animals: int) -> np.ndarray:
    n = np.bincount(code, minlength=n_animals)
    lags = np.arange(1, at.shape[1])
    means = np.stack(
        [np.bincount(code, distance[at[:, 0], at[:, lag]], minlength=n_animals) for lag in lags]
    ) / np.where(n > 0, n, np.nan)
    x = np.log(lags) - np.log(lags).mean()
    with np.errstate(divide="ignore"):
        return x @ np.log(means) / (x @ x)


def _some_of_each(code: np.ndarray, n_most: int) -> np.ndarray:
    """Pick at most so many rows of each animal, evenly over time."""
    order = np.argsort(code, kind="stable")
    n = np.bincount(code)
    rank = np.arange(len(code)) - np.repeat(np.cumsum(n) - n, n)
    every = np.maximum(np.ceil(n / n_most), 1)
    return np.sort(order[rank % np.repeat(every, n) == 0])


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
    "S9": Statistic(
        "exponent of displacement, awake",
        "exponent",
        _exponent,
        "random walks as long",
        np.nan,
        "number",
    ),
    "S9_rest": Statistic(
        "exponent of displacement, at rest",
        "exponent",
        partial(_exponent, phases=REST),
        "random walks as long",
        np.nan,
        "number",
    ),
}
