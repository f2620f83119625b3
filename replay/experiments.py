"""The four experiments of Brea (2018) [1]_: worlds, sizes and parameters as in the published code.

For each experiment several worlds are drawn, and every learner acts in each of them with several
seeds. For one world and one seed all learners begin with the same random numbers.

Where the paper's text or table disagrees with its code, and the difference is visible in a curve,
``DISCREPANCIES`` lists the parameters: ``EXPERIMENTS[name].variant("text")`` is the experiment that
the text describes, ``variant("D1")`` follows the text in D1 only.

References
----------
.. [1] Brea (2018). https://arxiv.org/abs/1711.06677
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from replay.checks import Named, unknown_name
from replay.learners import LEARNERS, Learner
from replay.worlds.mazes import random_maze
from replay.worlds.mdp import MDP
from replay.worlds.trees import deterministic_tree, stochastic_tree

_TREE = {"initial_value": np.inf, "discount": 1.0, "act_before_update": True}
_MAZE = _TREE | {"discount": 0.99}
_N_ACTIONS = 4
PAPER_LEARNERS = (
    "monte_carlo",
    "n_step_td",
    "q_lambda",
    "q_learning",
    "q_learning_optimistic",
    "prioritized_sweeping",
    "prioritized_sweeping_optimistic",
    "prioritized_sweeping_reset",
    "episodic_control",
)
"""The learners of the paper; the others in ``LEARNERS`` can be run in addition."""

_SWEEPS = tuple(name for name in PAPER_LEARNERS if name.startswith("prioritized_sweeping"))
_PUBLISHED_QUEUE = {"priority_only_lowers": True, "queue_visited": True}  # D13 and D6


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper."""

    name: str  # its name in ``EXPERIMENTS``
    title: str  # title of the figure
    make: Callable[..., MDP]  # ``make(seed) -> MDP`` draws a world
    n_steps: int  # steps per run in the paper
    n_mdps: int  # worlds, and runs of every learner in each of them, in the paper
    n_seeds: int
    # Learner -> its parameters: those of the paper, or the learner's defaults under the same
    # conditions.
    parameters: Mapping[str, Any]

    @property
    def discount(self) -> float:
        """Discount, the same for all learners and baselines."""
        return float(next(iter(self.parameters.values())).discount)

    @property
    def epsilon(self) -> float:
        """Probability of a random action, the same for all learners and baselines."""
        return float(next(iter(self.parameters.values())).epsilon)

    def beside(self, learners: Iterable[Learner]) -> Experiment:
        """Add a user's learners to the others, under the same conditions."""
        own = {}
        for learner in learners:
            same = {"discount": self.discount, "epsilon": self.epsilon}
            known = {key: value for key, value in same.items() if key in learner.params._fields}
            own[learner.name] = learner.params._replace(**known)
        return replace(self, parameters={**self.parameters, **own}) if own else self

    def mdp(self, index: int, seed: int = 0) -> MDP:
        """Draw one of the worlds.

        The same index, from 0, and seed give the same world.

        Examples
        --------
        >>> EXPERIMENTS["stochastic_tree"].mdp(0).n_states
        16
        """
        return self.make(np.random.SeedSequence([seed, *self.name.encode(), index]))

    def run_seed(self, index: int, run: int, seed: int = 0) -> int:
        """Return the seed of a run, which is the same for all learners."""
        sequence = np.random.SeedSequence([seed, *self.name.encode(), index, run])
        # Without its lowest bit it fits into int64, the type of the column `seed`.
        return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))

    def variant(self, name: str) -> Experiment:
        """Follow the text instead of the code in some discrepancies.

        Worlds, seeds and sizes stay the same, so that variants can be compared run by run.

        Examples
        --------
        >>> EXPERIMENTS["maze"].variant("text").parameters["n_step_td"].trace_decay
        0.0
        """
        parameters = dict(self.parameters)
        for discrepancy in find_variant(name):
            for learner, changes in DISCREPANCIES[discrepancy].changes.get(self.name, {}).items():
                parameters[learner] = parameters[learner]._replace(**changes)
        return replace(self, parameters=parameters)


@dataclass(frozen=True)
class Discrepancy:
    """A discrepancy between the paper's text or table and its code."""

    what: str  # a description, the text first, then the code
    # Experiment -> learner -> the parameters that differ if the text is followed.
    changes: Mapping[str, Mapping[str, Mapping[str, Any]]]


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

EXPERIMENTS: Named[Experiment] = Named("experiment")
EXPERIMENTS |= {
    experiment.name: experiment
    for experiment in (
        Experiment(
            name="deterministic_tree",
            title="Deterministic tree, terminal reward",
            make=lambda seed: deterministic_tree(rewards="terminal", seed=seed),
            n_steps=20_000,
            n_mdps=100,
            n_seeds=8,
            parameters=_DETERMINISTIC,
        ),
        Experiment(
            name="deterministic_tree_intermittent",
            title="Deterministic tree, intermittent rewards",
            make=lambda seed: deterministic_tree(rewards="intermittent", seed=seed),
            n_steps=20_000,
            n_mdps=100,
            n_seeds=8,
            parameters=_DETERMINISTIC,
        ),
        Experiment(
            name="stochastic_tree",
            title="Stochastic tree",
            make=lambda seed: stochastic_tree(seed=seed),
            n_steps=10_000,
            n_mdps=100,
            n_seeds=50,
            parameters=_parameters(
                _TREE,
                n_step_td={"learning_rate": 0.05, "n": 10, "trace_decay": 0.8},
                q_lambda={"learning_rate": 0.1, "trace_decay": 0.2},
                q_learning={"learning_rate": 0.1},
                q_learning_optimistic={"learning_rate": 0.1, "initial_value": 5.0},
                prioritized_sweeping_optimistic={"initial_value": 5.0},
            ),
        ),
        Experiment(
            name="maze",
            title="Maze",
            make=lambda seed: random_maze(seed=seed),
            n_steps=1_000_000,
            n_mdps=50,
            n_seeds=8,
            parameters=_parameters(
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

_TREES = tuple(name for name in EXPERIMENTS if name.endswith(("tree", "tree_intermittent")))


def _everywhere(learners: Iterable[str], **values: Any) -> dict[str, Any]:
    return {name: dict.fromkeys(learners, values) for name in EXPERIMENTS}


DISCREPANCIES: dict[str, Discrepancy] = {
    "D1": Discrepancy(
        "n-step TD has no eligibility trace; in the code it has one with decay 0.8",
        _everywhere(["n_step_td"], trace_decay=0.0),
    ),
    "D2": Discrepancy(
        "n-step TD has n = 5 in trees; in the code n = 10",
        {name: {"n_step_td": {"n": 5}} for name in _TREES},
    ),
    "D3": Discrepancy(
        "initial values in the maze: 5 for Q-learning, 0.005 for prioritized sweeping; in the "
        "code exchanged",
        {
            "maze": {
                "q_learning_optimistic": {"initial_value": 5.0},
                "prioritized_sweeping_optimistic": {"initial_value": 0.005},
            }
        },
    ),
    # A uniformly random one of four actions is not optimal in three of four cases. Where several
    # are optimal, or equally good as far as the learner knows, the text implies more exploration.
    "D4": Discrepancy(
        "0.1 is the probability of an action that is not optimal; in the code of a random action",
        _everywhere(PAPER_LEARNERS, epsilon=0.1 * _N_ACTIONS / (_N_ACTIONS - 1)),
    ),
    # Rewards are in Q only. The first visit after a reset overwrites Q with the reward and the
    # known value of the next state, and until then no predecessor list holds the pair: a learner
    # with a table of rewards does the same after clearing it.
    "D5": Discrepancy(
        "a model reset clears the observed rewards; the code has no table of them, with the same "
        "effect",
        {},
    ),
    "D6": Discrepancy(
        "with a model reset, only an episode's last state is queued; in the code all visited "
        "states are",
        _everywhere(["prioritized_sweeping_reset"], queue_visited=False),
    ),
    "D13": Discrepancy(
        "a queued state's priority follows the change of its value; in the code it never rises",
        _everywhere(_SWEEPS, priority_only_lowers=False),
    ),
}
"""Name -> discrepancy. The missing numbers belong to discrepancies that are invisible in curves, or
that concern details of the code on which the text is silent."""

VARIANTS: dict[str, tuple[str, ...]] = {
    "published": (),
    "text": tuple(DISCREPANCIES),
    "fixed": ("D13",),
}
"""Name -> the discrepancies in which it follows the text."""


def find_experiment(name: str) -> Experiment:
    """Look up an experiment."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def find_variant(name: str) -> tuple[str, ...]:
    """List the discrepancies in which a variant follows the text."""
    names = VARIANTS.get(name, tuple(name.split("+")))
    if not set(names) <= set(DISCREPANCIES):
        raise ValueError(
            f"Unknown variant {name!r}. Choose from: {', '.join(VARIANTS)}, or discrepancies such "
            f"as D1 or D1+D2: {', '.join(DISCREPANCIES)}."
        )
    return names
