"""The four experiments of the paper: worlds, sizes and parameters, as its published code has them.

Of every experiment some worlds are drawn, and in each of them every learner acts with some seeds.
For one world and one seed all learners begin with the same random numbers.

References
----------
.. [1] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.learners import LEARNERS
from replay.mazes import random_maze
from replay.mdp import MDP
from replay.trees import deterministic_tree, stochastic_tree

__all__ = ["EXPERIMENTS", "Experiment", "find_experiment"]

_TREE = {"initial_value": np.inf, "discount": 1.0, "act_before_update": True}
_MAZE = _TREE | {"discount": 0.99}
_PUBLISHED_QUEUE = {"priority_only_lowers": True, "queue_visited": True}


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper.

    Attributes
    ----------
    name : str
        Its name in ``EXPERIMENTS``.
    title : str
        What it says above the figure.
    make : callable
        ``make(seed) -> MDP`` draws a world.
    discount, epsilon : float
        Those of all learners, for the baselines.
    n_steps : int
        Steps of a run in the paper.
    n_mdps, n_seeds : int
        Worlds, and runs of every learner in each of them, in the paper.
    parameters : dict
        Learner -> its parameters.
    """

    name: str
    title: str
    make: Callable[..., MDP]
    discount: float
    epsilon: float
    n_steps: int
    n_mdps: int
    n_seeds: int
    parameters: Mapping[str, Any]

    def mdp(self, index: int, seed: int = 0) -> MDP:
        """Draw the world of a number.

        Parameters
        ----------
        index : int
            Which one, from 0.
        seed : int, default 0
            Seed of the whole experiment.

        Returns
        -------
        MDP
            The same for the same numbers.

        Examples
        --------
        >>> EXPERIMENTS["stochastic_tree"].mdp(0).n_states
        16
        """
        return self.make(np.random.SeedSequence([seed, *self.name.encode(), index]))

    def run_seed(self, index: int, run: int, seed: int = 0) -> int:
        """Give the seed of a run, which is the same for all learners.

        Parameters
        ----------
        index : int
            Which world, from 0.
        run : int
            Which of the runs in this world, from 0.
        seed : int, default 0
            Seed of the whole experiment.

        Returns
        -------
        int
            A number for :func:`replay.simulate`.
        """
        sequence = np.random.SeedSequence([seed, *self.name.encode(), index, run])
        return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _parameters(shared: Mapping[str, Any], **own: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {}
    for name, (_, defaults) in LEARNERS.items():
        values = {**shared, **_PUBLISHED_QUEUE, **own.get(name, {})}
        known = {key: value for key, value in values.items() if key in defaults._fields}
        parameters[name] = defaults._replace(**known)
    return parameters


_DETERMINISTIC = _parameters(
    _TREE,
    n_step_td={"learning_rate": 0.08, "n": 10, "trace_decay": 0.8},
    q_lambda={"learning_rate": 1.0, "trace_decay": 0.2},
    q_learning={"learning_rate": 1.0},
    q_learning_optimistic={"learning_rate": 1.0, "initial_value": 5.0},
    prioritized_sweeping_optimistic={"initial_value": 5.0},
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "deterministic_tree",
            "Deterministic tree, terminal reward",
            lambda seed: deterministic_tree(rewards="terminal", seed=seed),
            1.0,
            0.1,
            20_000,
            100,
            8,
            _DETERMINISTIC,
        ),
        Experiment(
            "deterministic_tree_intermittent",
            "Deterministic tree, intermittent rewards",
            lambda seed: deterministic_tree(rewards="intermittent", seed=seed),
            1.0,
            0.1,
            20_000,
            100,
            8,
            _DETERMINISTIC,
        ),
        Experiment(
            "stochastic_tree",
            "Stochastic tree",
            lambda seed: stochastic_tree(seed=seed),
            1.0,
            0.1,
            10_000,
            100,
            50,
            _parameters(
                _TREE,
                n_step_td={"learning_rate": 0.05, "n": 10, "trace_decay": 0.8},
                q_lambda={"learning_rate": 0.1, "trace_decay": 0.2},
                q_learning={"learning_rate": 0.1},
                q_learning_optimistic={"learning_rate": 0.1, "initial_value": 5.0},
                prioritized_sweeping_optimistic={"initial_value": 5.0},
            ),
        ),
        Experiment(
            "maze",
            "Maze",
            lambda seed: random_maze(seed=seed),
            0.99,
            0.1,
            1_000_000,
            50,
            8,
            _parameters(
                _MAZE,
                n_step_td={"learning_rate": 0.01, "n": 25, "trace_decay": 0.8},
                q_lambda={"learning_rate": 0.005, "trace_decay": 0.2},
                q_learning={"learning_rate": 1.0},
                q_learning_optimistic={"learning_rate": 1.0, "initial_value": 0.005},
                prioritized_sweeping_optimistic={"initial_value": 5.0},
            ),
        ),
    )
}
"""Name -> experiment, in the order of the paper."""


def find_experiment(name: str) -> Experiment:
    """Look up an experiment.

    Parameters
    ----------
    name : str
        A name in ``EXPERIMENTS``.

    Returns
    -------
    Experiment
        The experiment.

    Raises
    ------
    ValueError
        If there is none of that name; the message lists the choices.
    """
    if name not in EXPERIMENTS:
        close = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        choices = ", ".join(EXPERIMENTS)
        raise ValueError(f"Unknown experiment {name!r}.{hint} Choose from: {choices}.")
    return EXPERIMENTS[name]
