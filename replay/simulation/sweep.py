"""Parameter sweeps: one learner in one world with many values of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from replay.checks import check_list, check_whole, known_arguments, shown
from replay.learners import check_computes_values, find_learner
from replay.simulation.simulate import simulate
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Protocol

_MOST_RUNS = 100_000
_OWN_COLUMNS = ("seed", "time_step", "reward_rate")


@known_arguments
def sweep(
    mdp: MDP | Protocol,
    learner: Any,
    params: Mapping[str, Any],
    *,
    n_steps: int | None = None,
    n_seeds: int = 5,
    max_episode_steps: int | None = None,
    seed: int = 0,
    n_windows: int = 100,
) -> pd.DataFrame:
    """Let a learner act in a world with each of several values of its parameters.

    Parameters
    ----------
    mdp : MDP or Protocol
        The world, or the phases of one that changes.
    learner : str or module
        A name in ``LEARNERS``, or your own module.
    params : mapping
        Parameter -> list of its values, or one value. With several lists, all combinations are run.
    n_steps, max_episode_steps, n_windows
        As for `simulate`.
    n_seeds : int, default 5
        Runs per combination; all combinations have the same seeds.
    seed : int, default 0
        Seed of all randomness.

    Returns
    -------
    pandas.DataFrame
        One row per window of a run: a column for each parameter with a list, `seed` (the number of
        the run, from 0), `time_step` (the window's end) and `reward_rate` (mean reward of its
        steps).

    Examples
    --------
    >>> from replay import random_maze
    >>> table = sweep(random_maze(8, seed=1), "q_learning", {"learning_rate": [0.01, 0.3]},
    ...               n_steps=2000, n_seeds=3)
    >>> table.groupby("learning_rate")["reward_rate"].mean().round(2).to_dict()
    {0.01: 0.18, 0.3: 0.16}
    """
    if not isinstance(params, Mapping):
        raise TypeError(
            "params must map parameters to lists of values, such as {'learning_rate': [0.1, 0.3]}; "
            f"got {shown(params)}."
        )
    lists = {
        name: check_list(name, values)
        for name, values in params.items()
        if not isinstance(values, str | int | float | np.generic)
    }
    if not lists or not all(lists.values()):
        raise ValueError(
            "At least one parameter must have a list of values, such as "
            f"{{'learning_rate': [0.1, 0.3]}}; got {shown(dict(params))}."
        )
    for name, values in lists.items():
        if name in _OWN_COLUMNS or len(set(map(repr, values))) < len(values):
            raise ValueError(f"Each value of {name!r} must be given once; got {shown(values)}.")
    n_seeds = check_whole("n_seeds", n_seeds, at_least=1, at_most=_MOST_RUNS)
    seed = check_whole("seed", seed)
    fixed = {name: value for name, value in params.items() if name not in lists}
    settings = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    found = [find_learner(learner, {**fixed, **setting}) for setting in settings]  # all are checked
    check_computes_values(found[0])
    run_seeds = np.random.SeedSequence(seed).generate_state(n_seeds, np.uint32).tolist()
    rows = []
    for setting, each in zip(settings, found, strict=True):
        for number, run_seed in enumerate(run_seeds):
            run = simulate(
                mdp,
                each,
                n_steps=n_steps,
                max_episode_steps=max_episode_steps,
                seed=run_seed,
                log="none",
                n_windows=n_windows,
            )
            rows.append(run.reward_rate.assign(**setting, seed=number))
    return pd.concat(rows, ignore_index=True)[[*lists, *_OWN_COLUMNS]]
