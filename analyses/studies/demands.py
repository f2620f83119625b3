"""How the demands of learners grow with the world: words of memory, operations at each step.

Worlds of one kind come in several sizes: trees with more levels, trees with more actions, larger
mazes. In each of them the learner acts until every pair of state and action could have been tried
several times. What a word and an operation is, :mod:`replay.demands` says. The result is
``demands.csv``, which ``figures/demands.py`` draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from analyses.jobs.measurements import Measurement
from analyses.tables import in_paper_order
from replay.demands import count_demands
from replay.learners import LEARNERS, find_learner
from replay.worlds.mazes import random_maze
from replay.worlds.mdp import MDP
from replay.worlds.trees import deterministic_tree, stochastic_tree

__all__ = ["WORLDS", "measure", "plan"]


def _deeper_tree(depth: int, seed: int) -> MDP:
    return deterministic_tree(depth, n_actions=2, seed=seed)


def _wider_tree(n_actions: int, seed: int) -> MDP:
    return deterministic_tree(depth=2, n_actions=n_actions, seed=seed)


def _deeper_stochastic_tree(depth: int, seed: int) -> MDP:
    return stochastic_tree(depth, n_actions=2, seed=seed)


def _wider_stochastic_tree(n_actions: int, seed: int) -> MDP:
    return stochastic_tree(depth=3, n_actions=n_actions, seed=seed)


WORLDS: dict[str, tuple[Callable[[int, int], MDP], tuple[int, ...]]] = {
    "deterministic_tree_depth": (_deeper_tree, (2, 3, 4, 5, 6)),
    "deterministic_tree_actions": (_wider_tree, (2, 4, 8, 12)),
    "stochastic_tree_depth": (_deeper_stochastic_tree, (2, 3, 4, 5, 6)),
    "stochastic_tree_actions": (_wider_stochastic_tree, (2, 4, 8, 16)),
    "maze_size": (random_maze, (5, 6, 8, 10)),
}
"""Kind of world -> function of a size and a seed, and the sizes."""


def measure(
    learners: Iterable[str] = tuple(LEARNERS),
    *,
    worlds: Mapping[str, tuple[Callable[[int, int], MDP], Sequence[int]]] = WORLDS,
    n_mdps: int = 3,
    visits: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Count the demands of learners in worlds of several sizes.

    Untried actions are preferred, as in the paper's experiments, by learners that can be told so.

    Parameters
    ----------
    learners : iterable of str
        Names in ``LEARNERS``.
    worlds : mapping of str to (callable, sequence of int)
        Kind of world -> function of a size and a seed, and the sizes.
    n_mdps : int, default 3
        Worlds of each size.
    visits : int, default 5
        Steps of a run, for each pair of state and action.
    seed : int, default 0
        Seed of the worlds and the runs.

    Returns
    -------
    pandas.DataFrame
        One row a learner and world: `learner, world, size, mdp, n_states` (those to act
        in), `n_actions, n_steps`; `words`, the most that were held; and, a step, `backups,
        queue_operations, comparisons`, means over the run.

    Raises
    ------
    ValueError
        If a learner is unknown.

    Examples
    --------
    >>> trees = {"deterministic_tree_depth": (_deeper_tree, [2])}
    >>> table = measure(["q_learning"], worlds=trees, n_mdps=1)
    >>> table[["n_states", "n_actions", "words"]].to_numpy().tolist()
    [[3.0, 2.0, 6.0]]
    """
    rows = []
    for learner in learners:
        params = find_learner(learner).params._asdict()
        if params.get("initial_value") == 0.0:
            params["initial_value"] = np.inf
        for world, (build, sizes) in worlds.items():
            for size, index in product(sizes, range(n_mdps)):
                mdp = build(size, seed + index)
                n_states = int(np.count_nonzero(~mdp.terminal))
                n_steps = visits * n_states * mdp.n_actions
                demands = count_demands(mdp, learner, params, n_steps=n_steps, seed=seed + index)
                steps = demands.steps
                rows.append(
                    {
                        "learner": learner,
                        "world": world,
                        "size": size,
                        "mdp": index,
                        "n_states": n_states,
                        "n_actions": mdp.n_actions,
                        "n_steps": n_steps,
                        "words": steps["words"].max(),
                        **steps.drop(columns="words").mean(),
                    }
                )
    return in_paper_order(pd.DataFrame(rows))


def plan(
    learners: Iterable[str] = tuple(LEARNERS), *, n_mdps: int = 3, visits: int = 5, seed: int = 0
) -> Measurement:
    """Plan the measurement of all ``WORLDS``, a piece for each of them and each learner.

    Parameters
    ----------
    learners, n_mdps, visits, seed
        As in `measure`.

    Returns
    -------
    Measurement
        It makes ``demands``, as `measure` gives it.

    Raises
    ------
    ValueError
        If a learner is unknown, or a number out of range.
    """
    for what, number in (("worlds", n_mdps), ("visits", visits)):
        if number < 1:
            raise ValueError(f"The number of {what} must be at least 1, got {number}.")
    names = [find_learner(learner).name for learner in learners]
    pieces = [(*pair, n_mdps, visits, seed) for pair in product(names, WORLDS)]
    return Measurement(
        ["runs"], _piece, pieces, lambda tables: {"demands": in_paper_order(tables["runs"])}
    )


def _piece(
    learner: str, world: str, n_mdps: int, visits: int, seed: int
) -> dict[str, pd.DataFrame]:
    worlds = {world: WORLDS[world]}
    table = measure([learner], worlds=worlds, n_mdps=n_mdps, visits=visits, seed=seed)
    return {"runs": table.astype({"learner": str})}
