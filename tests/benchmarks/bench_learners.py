"""How long a step of each learner takes, beside the paper's own code: run by hand.

``python tests/benchmarks/bench_learners.py [--repeats N] [learner ...]``

The paper's learners have its parameters, the others their own; the original has only the paper's.
Each run is one call of `simulate` at the paper's number of steps, in a single thread, after
compilation. It is timed in seconds of the processor, so that other work on the machine counts for
little. Runs without and with a log alternate; times are medians over repeats, and the cost of the
log is the median of the ratios of neighbours. The times of the original are from another day and
include waiting: trust their ratio to ours roughly.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from math import nan
from pathlib import Path
from statistics import geometric_mean, median
from time import process_time

import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table

from replay.experiments import EXPERIMENTS
from replay.learners import LEARNERS
from replay.simulation import simulate

TIMING = Path(__file__).parents[1] / "reference" / "original_timing.csv"
ORIGINAL_EXPERIMENT = {
    "deterministic_tree": "det_tree_terminal",
    "deterministic_tree_intermittent": "det_tree_intermittent",
    "stochastic_tree": "stoch_tree",
    "maze": "maze",
}
ORIGINAL_AGENT = {
    "monte_carlo": "mc",
    "n_step_td": "nstepql",
    "q_lambda": "qllambda",
    "q_learning": "ql",
    "q_learning_optimistic": "qlexplore",
    "prioritized_sweeping": "ps",
    "prioritized_sweeping_optimistic": "psexplore",
    "prioritized_sweeping_reset": "psreset_fast",
    "episodic_control": "ec",
}
COMPILE = """
from time import process_time
from replay.learners import LEARNERS
from replay.mazes import random_maze
from replay.simulation import feed, simulate
from analyses import classify

maze = random_maze(8)
begin = process_time()
for module in {module: None for module, _ in LEARNERS.values()}:
    name = next(name for name in LEARNERS if LEARNERS[name][0] is module)
    simulate(maze, name, n_steps=100, log="none")
    run = simulate(maze, name, n_steps=100, log="all")
    steps = run.log.steps.assign(next_action=0)
    feed(name, steps, n_states=maze.n_states, n_actions=maze.n_actions)
    classify(run.log)
print(process_time() - begin)
"""


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("learners", nargs="*", help="all without any")
    parser.add_argument("--repeats", type=int, default=9, help="maze; three times as many in trees")
    arguments = parser.parse_args()
    learners = [name for name in LEARNERS if name in (arguments.learners or LEARNERS)]
    original = pd.read_csv(TIMING).set_index(["experiment", "agent"])["median_ns_per_step"]

    rows = []
    for experiment, learner in track([(e, name) for e in EXPERIMENTS for name in learners]):
        repeats = arguments.repeats * (1 if experiment == "maze" else 3)
        time, log_cost = measure(experiment, learner, repeats)
        agent = ORIGINAL_EXPERIMENT[experiment], ORIGINAL_AGENT.get(learner)
        theirs = original.get(agent, nan)
        rows.append((experiment, learner, time, theirs, theirs / time, log_cost))

    console = Console(width=118)
    table = Table("experiment", "learner", "ns/step", "original", "times faster", "log costs")
    for experiment, learner, *numbers in rows:
        table.add_row(experiment, learner, *(f"{number:.3g}" for number in numbers))
    console.print(table)
    speed = [row[4] for row in rows if row[4] > 0]
    log_cost = [row[5] for row in rows]
    if speed:
        console.print(
            f"times faster: {geometric_mean(speed):.1f} (geometric mean), {min(speed):.1f} (least)"
        )
    console.print(
        f"log costs: {geometric_mean(log_cost):.2f} (geometric mean), {max(log_cost):.2f} (most)"
    )
    if not arguments.learners:
        cold, cached = compile_times()
        console.print(f"all kernels: {cold:.1f} s compiled, {cached:.2f} s from the cache")


def measure(experiment: str, learner: str, repeats: int) -> tuple[float, float]:
    """Return nanoseconds per step without a log, and how many times longer it takes with one."""
    plan = EXPERIMENTS[experiment]
    mdp = plan.mdp(0)

    def run(seed: int, log: str) -> Callable[[], object]:
        params = plan.parameters.get(learner)
        return lambda: simulate(mdp, learner, params, n_steps=plan.n_steps, seed=seed, log=log)

    for log in ("none", "replay"):
        run(0, log)()
    times = [(seconds(run(seed, "none")), seconds(run(seed, "replay"))) for seed in range(repeats)]
    without = median(time for time, _ in times)
    return without / plan.n_steps * 1e9, median(logged / time for time, logged in times)


def seconds(work: Callable[[], object]) -> float:
    """Time one call, without what it takes to free its result."""
    begin = process_time()
    result = work()
    time = process_time() - begin
    del result
    return time


def compile_times() -> tuple[float, float]:
    """Return the seconds that all kernels take in a process without, and one with, a disk cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        cold, cached = (
            float(
                subprocess.run(
                    [sys.executable, "-c", COMPILE],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
            for _ in range(2)
        )
    return cold, cached


if __name__ == "__main__":
    main()
