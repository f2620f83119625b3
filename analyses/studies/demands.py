"""How the demands of learners grow with the world: words of memory, operations at each step.

Worlds of one kind come in several sizes: trees with more levels, trees with more actions, larger
mazes. Or actions have more outcomes: trees with more children, mazes in which moves stray. In each
of them the learner acts until every pair of state and action could have been tried several times.
See :mod:`replay.demands` for the definitions of a word and an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.jobs import DEMAND_VISITS, N_DEMAND_WORLDS
from analyses.jobs.results import Results
from analyses.jobs.study import MOST, Piece, Shown, Study, digests, drawn
from analyses.tables import in_paper_order
from replay.checks import check_whole
from replay.demands import count_demands
from replay.learners import LEARNERS, find_learner
from replay.worlds.mazes import random_maze
from replay.worlds.mdp import MDP
from replay.worlds.trees import deterministic_tree, stochastic_tree

Builder = Callable[[int, np.random.Generator], MDP]


def _straying_maze(percent: int, rng: np.random.Generator) -> MDP:
    """Make a maze in which so many moves in a hundred are those of any action."""
    maze, share = random_maze(6, seed=rng), percent / 100
    moves = maze.transition_matrix().toarray().reshape(-1, maze.n_actions, maze.n_states)
    # A mixture, so that each action still leads where it should more often than elsewhere.
    return MDP.from_tables(
        (1 - share) * moves + share * moves.mean(axis=1, keepdims=True),
        maze.terminal.astype(float),
        start=maze.start_probability,
        terminal=maze.terminal,
    )


GROWING_WORLDS: dict[str, tuple[Builder, tuple[int, ...]]] = {
    "deterministic_tree_depth": (
        lambda n, rng: deterministic_tree(n, 2, seed=rng),
        (2, 3, 4, 5, 6),
    ),
    "deterministic_tree_actions": (
        lambda n, rng: deterministic_tree(2, n, seed=rng),
        (2, 4, 8, 12),
    ),
    "stochastic_tree_depth": (lambda n, rng: stochastic_tree(n, 2, seed=rng), (2, 3, 4, 5, 6)),
    "stochastic_tree_actions": (lambda n, rng: stochastic_tree(3, n, seed=rng), (2, 4, 8, 16)),
    "maze_size": (random_maze, (5, 6, 8, 10)),
    "stochastic_tree_branching": (lambda n, rng: stochastic_tree(3, 2, n, seed=rng), (1, 2, 3, 4)),
    "maze_straying": (_straying_maze, (0, 10, 30, 60)),
}
"""Kind of world -> function of a size and a random number generator, and the sizes."""


def measure_demands(
    learners: Iterable[str] = tuple(LEARNERS),
    *,
    worlds: Mapping[str, tuple[Builder, Sequence[int]]] = GROWING_WORLDS,
    n_mdps: int = N_DEMAND_WORLDS,
    visits: int = DEMAND_VISITS,
    seed: int = 0,
) -> pd.DataFrame:
    """Count the demands of learners in worlds of several sizes.

    `worlds` has a function of a size and a random number generator, and the sizes; a run has
    `visits` steps per pair of state and action. The columns are those of ``demands.csv``. Learners
    with a parameter for it prefer untried actions, as in the paper's experiments.
    """
    rows = []
    for learner in learners:
        found = find_learner(learner)
        params = found.params._asdict()
        # What is untried seems best, so that the learner meets all of the world.
        if params.get("initial_value") == 0.0:
            params["initial_value"] = np.inf
        for world, (build, sizes) in worlds.items():
            for size, index in product(sizes, range(n_mdps)):
                child = np.random.SeedSequence(seed, spawn_key=(index,))
                world_seed, run_seed = child.spawn(2)
                mdp = build(size, np.random.default_rng(world_seed))
                n_states = int(np.count_nonzero(~mdp.terminal))
                n_steps = visits * n_states * mdp.n_actions
                number = int(run_seed.generate_state(1)[0])
                demands = count_demands(mdp, learner, params, n_steps=n_steps, seed=number)
                steps = demands.steps
                rows.append(
                    {
                        "learner": found.name,
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


class DemandsPlan(NamedTuple):
    """The plan of the study."""

    learners: tuple[str, ...]  # names in `LEARNERS`, or paths of Python files
    n_mdps: int  # worlds of each size
    visits: int  # steps of a run, per pair of state and action
    seed: int  # seed of everything

    def describe(self) -> dict[str, Any]:
        """Return the entries of the manifest."""
        files = {name: name for name in self.learners if name not in LEARNERS}
        return self._asdict() | ({"files": digests(files)} if files else {})

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces: one per learner in each kind of world."""
        return dict.fromkeys(GROWING_WORLDS, len(self.learners))


def plan_demands(
    learners: Iterable[str] = tuple(LEARNERS),
    *,
    n_mdps: int = N_DEMAND_WORLDS,
    visits: int = DEMAND_VISITS,
    seed: int = 0,
) -> DemandsPlan:
    """Plan to count demands in all ``GROWING_WORLDS``."""
    check_whole("The number of worlds", n_mdps, at_least=1, at_most=MOST)
    check_whole("The number of visits", visits, at_least=1, at_most=MOST)
    check_whole("The seed", seed)
    names = tuple({find_learner(learner).name: learner for learner in learners}.values())
    if not names:
        raise ValueError(f"Name at least one learner. Choose from: {', '.join(LEARNERS)}.")
    return DemandsPlan(names, n_mdps, visits, seed)


def _make(plan: DemandsPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    table = measure_demands(
        [plan.learners[piece.number]],
        worlds={piece.group: GROWING_WORLDS[piece.group]},
        n_mdps=plan.n_mdps,
        visits=plan.visits,
        seed=plan.seed,
    )
    return {"demands": table.astype({"learner": str})}


def _summarise(plan: DemandsPlan, results: Results) -> dict[str, pd.DataFrame]:
    pieces = [
        results.read_piece("demands", world, index)
        for index in range(len(plan.learners))
        for world in GROWING_WORLDS
    ]
    return {"demands.csv": in_paper_order(pd.concat(pieces, ignore_index=True))}


def _show(plan: DemandsPlan, tables: Mapping[str, pd.DataFrame]) -> Iterator[Shown]:
    by = ["learner", "world", "size"]
    means = tables["demands.csv"].groupby(by, observed=True, as_index=False).mean()
    for world, rows in means.groupby("world", sort=False):
        largest = rows[rows["size"] == rows["size"].max()]
        n_states, n_actions = largest[["n_states", "n_actions"]].iloc[0]
        shown = pd.DataFrame({"learner": largest["learner"].astype(str)})
        shown["words"] = largest["words"].map("{:,.0f}".format)
        for name in ("backups", "queue_operations", "comparisons"):
            shown[name.replace("_", " ")] = largest[name].map("{:,.2f}".format)
        yield Shown(f"{world}: {n_states:.0f} states, {n_actions:.0f} actions", shown)
    yield Shown(
        note="Words are the most that were stored, operations are per step; both are means over "
        "the largest worlds."
    )


STUDY = Study(
    "demands",
    "How do the memory and the operations that learners need grow with the world?",
    plan=lambda size, seed: plan_demands(n_mdps=max(round(3 * size), 1), seed=seed),
    make=_make,
    summarise=_summarise,
    figures={"demands": drawn("reward_figures:demands_figure", "demands.csv", by="world")},
    show=_show,
    command="replay demands",
)
