"""How long a step of each learner takes, compared with the paper's own code: run by hand.

``python tests/benchmarks/bench_learners.py [--repeats N] [learner ...]``

The paper's learners have its parameters, the others their own; the original code has only the
paper's learners. Each run is one call of `simulate` at the paper's number of steps, in a single
thread, after compilation. It is timed in processor seconds, so that other work on the machine
hardly matters. Four runs alternate: without a log; with one; with one whose replay is classified
and counted, as `replay reproduce` does; and a minimal loop that earns the same reward. Times are
the least of all repeats of the same run, to which other work on the machine adds nothing, and the
ratios are those of these times. With ``--against`` a table that an earlier run wrote, its learners
are measured, and a ratio that is worse by more than 15 % in three measurements is an error: ratios
hardly depend on the machine. ``walk`` is the minimal loop that only moves and draws actions. The
times of the original code are from another day and include waiting, so their ratio to ours is
approximate.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from math import isclose, nan
from pathlib import Path
from statistics import geometric_mean, median
from time import process_time
from typing import NamedTuple

import pandas as pd
from minimal_loops import run_minimal
from rich.console import Console
from rich.progress import track
from rich.table import Table

from analyses.sequences.counts import ReplayCounts
from analyses.studies.brea_2018 import N_WINDOWS
from replay.experiments import EXPERIMENTS
from replay.learners import LEARNERS, find_learner
from replay.simulation import simulate

TIMING = Path(__file__).parents[1] / "reference" / "original_timing.csv"
KEPT = 0.85
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
from replay.worlds.mazes import random_maze
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


class Times(NamedTuple):
    """Nanoseconds per step; the last three as multiples of the first."""

    ours: float
    minimal: float
    log: float
    classified: float


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("learners", nargs="*", help="all without any")
    parser.add_argument("--repeats", type=int, default=9, help="maze; three times as many in trees")
    parser.add_argument("--csv", type=Path, help="where to write the table to")
    parser.add_argument("--against", type=Path, help="fail if a ratio of this table is lost")
    arguments = parser.parse_args()
    learners = [name for name in LEARNERS if name in (arguments.learners or LEARNERS)]
    original = pd.read_csv(TIMING).set_index(["experiment", "agent"])["median_ns_per_step"]
    shipped = pd.DataFrame(columns=["experiment", "learner"])
    if arguments.against:
        shipped = pd.read_csv(arguments.against)
        learners = [name for name in learners if name in set(shipped["learner"])]
    before = shipped.set_index(["experiment", "learner"]).to_dict("index")

    rows, lost = [], []
    for experiment, learner in track([(e, name) for e in EXPERIMENTS for name in learners]):
        for _ in range(3):
            times = measure(experiment, learner, repeats=arguments.repeats)
            worse = worse_ratios(times, before.get((experiment, learner), {}))
            if not worse:
                break
        lost += [f"{name} of {learner} in {experiment}: {worse[name]}" for name in worse]
        theirs = original.get((ORIGINAL_EXPERIMENT[experiment], ORIGINAL_AGENT.get(learner)), nan)
        rows.append((experiment, learner, times.ours, theirs, theirs / times.ours, *times[1:]))

    names = ["ns_per_step", "original_ns", "times_faster", "minimal", "log", "classified"]
    table = pd.DataFrame(rows, columns=["experiment", "learner", *names])
    if arguments.csv:
        table.to_csv(arguments.csv, index=False, float_format="%.3g")
    console = Console(width=118)
    shown = Table("experiment", "learner", *names)
    for experiment, learner, *numbers in table.itertuples(index=False):
        shown.add_row(experiment, learner, *(f"{number:.3g}" for number in numbers))
    console.print(shown)
    for name in names[2:]:
        values = table[name].dropna()
        if values.empty:
            continue
        console.print(
            f"{name}: {geometric_mean(values):.2f} (geometric mean), {min(values):.2f} to "
            f"{max(values):.2f}"
        )
    if arguments.against:
        sys.exit("\n".join(["Worse by more than 15 %:", *lost]) if lost else 0)
    for experiment in EXPERIMENTS:
        console.print(f"walk, {experiment}: {walk(experiment, arguments.repeats):.0f} ns")
    if not arguments.learners:
        cold, cached = compile_times()
        console.print(f"all kernels: {cold:.1f} s compiled, {cached:.2f} s from the cache")


def worse_ratios(times: Times, before: dict[str, float]) -> dict[str, str]:
    """Name the ratios that are worse than before by more than 15 %."""
    worse = {}
    for name in ("minimal", "log", "classified"):
        now, then = getattr(times, name), before.get(name, nan)
        gain = now / then if name == "minimal" else then / now
        if gain < KEPT:
            worse[name] = f"{now:.2f}, was {then:.2f}"
    return worse


def measure(experiment: str, learner: str, repeats: int) -> Times:
    """Time runs of a learner, and a minimal loop that does the same."""
    plan = EXPERIMENTS[experiment]
    mdp, params = plan.mdp(0), plan.parameters[learner]
    found = find_learner(learner, params)
    module = LEARNERS[learner][0].__name__.rpartition(".")[2]
    if experiment != "maze":
        repeats *= 3

    def ours(seed: int, log: str, classified: bool = False) -> object:
        counts = ReplayCounts(plan.n_steps, N_WINDOWS) if classified else None
        return simulate(
            mdp,
            found,
            n_steps=plan.n_steps,
            seed=seed,
            log=log,
            on_block=counts.add if counts else None,
        )

    def minimal(seed: int) -> float:
        return run_minimal(mdp, module, params, plan.n_steps, seed)

    earned = simulate(mdp, found, n_steps=plan.n_steps, log="none").window_rewards.sum()
    if learner in ORIGINAL_AGENT and not isclose(earned, minimal(0), rel_tol=1e-9):
        raise RuntimeError(f"The minimal loop of {learner} does something else in {experiment}.")
    ours(0, "replay", classified=True)
    times = []
    for _ in range(repeats):
        work = (
            partial(ours, 0, "none"),
            partial(minimal, 0) if learner in ORIGINAL_AGENT else None,
            partial(ours, 0, "replay"),
            partial(ours, 0, "replay", classified=True),
        )
        times.append([seconds(each) if each else nan for each in work])
    least = pd.DataFrame(times, columns=["ours", "minimal", "log", "classified"]).min()
    ratios = least / least["ours"]
    return Times(least["ours"] / plan.n_steps * 1e9, *ratios[1:])


def walk(experiment: str, repeats: int) -> float:
    """Return the nanoseconds per step of moving and drawing actions alone."""
    plan = EXPERIMENTS[experiment]
    mdp, params = plan.mdp(0), plan.parameters["q_learning"]

    def run() -> float:
        return run_minimal(mdp, "walk", params, plan.n_steps, seed=0)

    run()
    return median(seconds(run) for _ in range(repeats)) / plan.n_steps * 1e9


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
