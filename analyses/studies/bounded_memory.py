"""Reward rate and size of memory: prioritized sweeping that cannot keep all transitions.

Four rules of forgetting (:func:`replay.learners.prioritized_sweeping.retain`) cover the range
from remembering only the last episode to remembering everything. `measure_bounded_memory` simulates
the learner with each rule at several capacities; `summarise_bounded_memory` averages over worlds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analyses.intervals import mean_interval
from analyses.jobs.study import Shown, SizedPlan, Study, drawn, sized
from analyses.measures.reward_rate import baselines_of
from analyses.tables import in_paper_order
from replay.experiments import find_experiment
from replay.learners import find_learner
from replay.simulation import simulate

_EPISODES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_TRANSITIONS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
CAPACITIES: dict[str, tuple[int, ...]] = {
    "recent_episodes": _EPISODES,
    "fading": _EPISODES,
    "recent_transitions": _TRANSITIONS,
    "valuable_transitions": _TRANSITIONS,
}
"""Rule of forgetting -> the bounds to be simulated, in episodes or in transitions."""

_LEARNER = "prioritized_sweeping"  # the only one whose model of the world can be bounded
_EXPERIMENTS = ("deterministic_tree", "stochastic_tree", "maze")
_STEPS = {"maze": 100_000}


def measure_bounded_memory(
    experiment: str,
    index: int = 0,
    *,
    capacities: Mapping[str, Sequence[float]] = CAPACITIES,
    n_seeds: int = 2,
    n_steps: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Simulate prioritized sweeping in one world with memories of several sizes and the same seeds.

    `capacities` are the bounds of each rule of forgetting; an unbounded memory is added to each.
    One row per memory: `n_transitions`, the largest number held at once, including a new one that
    replaces others, and the normalised `reward_rate` of the whole run, both means over seeds.
    """
    paper = find_experiment(experiment)
    n = n_steps or _STEPS.get(experiment, paper.n_steps)
    mdp = paper.mdp(index, seed)
    between = baselines_of(mdp, discount=paper.discount, epsilon=paper.epsilon)
    rows = []
    for retention, bounds in capacities.items():
        for capacity in (*bounds, np.inf):
            params = paper.parameters[_LEARNER]._asdict()
            params |= {"retention": retention, "capacity": capacity}
            found = find_learner(_LEARNER, params)
            seeds = [paper.run_seed(index, run, seed) for run in range(n_seeds)]
            runs = [simulate(mdp, found, n_steps=n, seed=each, log="none") for each in seeds]
            rate = np.mean([run.window_rewards.sum() / n for run in runs])
            rows.append(
                {
                    "experiment": experiment,
                    "retention": retention,
                    "capacity": float(capacity),
                    "mdp": index,
                    "n_transitions": np.mean([run.memory.model.n_places[0] for run in runs]),
                    "reward_rate": between.normalise(float(rate)),
                }
            )
    return pd.DataFrame(rows)


def summarise_bounded_memory(measured: pd.DataFrame) -> pd.DataFrame:
    """Average over worlds."""
    by = ["experiment", "retention", "capacity"]
    rates = mean_interval(measured, "reward_rate", by).rename(columns={"n": "n_mdps"})
    held = measured.groupby(by, as_index=False)["n_transitions"].mean()
    table = rates.merge(held, on=by)
    columns = [*by, "n_transitions", "mean", "sem", "ci_low", "ci_high", "n_mdps"]
    return in_paper_order(table)[columns].sort_values(by, ignore_index=True)


def _show(plan: SizedPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    found = tables["bounded_memory.csv"]
    half_width = (found["ci_high"] - found["ci_low"]) / 2
    rates = [f"{a:.3f} ± {b:.3f}" for a, b in zip(found["mean"], half_width, strict=True)]
    shown = found[["experiment", "retention", "capacity", "n_transitions"]]
    return [Shown(table=shown.assign(**{"reward rate": rates}))]


STUDY = Study(
    "bounded_memory",
    "How much reward does how much memory earn?",
    plan=sized(10, *_EXPERIMENTS),
    make=lambda plan, piece: {"memories": measure_bounded_memory(*piece, seed=plan.seed)},
    summarise=lambda plan, results: {
        "bounded_memory.csv": summarise_bounded_memory(results.read_pieces("memories"))
    },
    figures={"bounded_memory": drawn("reward_figures:bounded_memory_figure", "bounded_memory.csv")},
    show=_show,
)
