"""How long a step takes with each priority, learned model and memory: run by hand.

``python tests/benchmarks/bench_options.py [--repeats N]``

As in `bench_learners.py`: processor time of whole runs after compilation, medians over repeats.
Each option is timed separately; all other parameters are the textbook's, with untried actions
preferred.
"""

import argparse
from statistics import median

import numpy as np
from bench_learners import seconds
from rich.console import Console
from rich.progress import track
from rich.table import Table

from replay.experiments import EXPERIMENTS
from replay.learners import find_learner
from replay.learners.prioritized_sweeping import RETENTION
from replay.simulation import simulate

N_STEPS = {"deterministic_tree": 20_000, "stochastic_tree": 10_000, "maze": 200_000}


def options(learner: str) -> dict[str, dict[str, object]]:
    """Name what is measured of a learner, and give its parameters."""
    if learner == "full_backups":
        return {"none": {}, "reversible": {"reversible": True}}
    priorities = find_learner(learner).choices["priority"]
    bounds = {"recent_episodes": 16, "fading": 16}
    return {
        **{f"priority {name}": {"priority": name} for name in priorities},
        "forgetting 0.1": {"forgetting": 0.1},
        "forgetting 1": {"forgetting": 1.0},
        "reversible": {"reversible": True},
        **{
            f"{name} {bounds.get(name, 256)}": {
                "retention": name,
                "capacity": bounds.get(name, 256),
            }
            for name in RETENTION
        },
    }


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    table = Table("learner", "option", *N_STEPS, title="ns/step")
    cases = [
        (learner, option, params)
        for learner in ("prioritized_sweeping", "full_backups")
        for option, params in options(learner).items()
    ]
    for learner, option, params in track(cases):
        times = [measure(name, learner, params, repeats) for name in N_STEPS]
        table.add_row(learner, option, *(f"{time:.0f}" for time in times))
    Console(width=118).print(table)


def measure(experiment: str, learner: str, params: dict[str, object], repeats: int) -> float:
    """Return nanoseconds per step."""
    plan, n_steps = EXPERIMENTS[experiment], N_STEPS[experiment]
    mdp = plan.mdp(0)
    # Need is counted with a discount below 1.
    params = {"discount": min(plan.discount, 0.99), "initial_value": np.inf} | params

    def run(seed: int) -> object:
        return simulate(mdp, learner, params, n_steps=n_steps, seed=seed, log="none")

    run(0)
    times = [seconds(lambda seed=seed: run(seed)) for seed in range(repeats)]
    return median(times) / n_steps * 1e9


if __name__ == "__main__":
    main()
