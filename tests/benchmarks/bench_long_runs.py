"""Memory of a run whose replay is counted while it runs: run by hand, on Linux.

``python tests/benchmarks/bench_long_runs.py`` makes each run in a separate process, and prints its
peak memory: all of it, and the anonymous part, which the operating system could not have written
out to a file.
"""

import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analyses.sequences.counts import ReplayCounts
from replay.experiments import EXPERIMENTS
from replay.log.blocks import LogBlock
from replay.simulation import simulate

LENGTHS = (1_000_000, 5_000_000, 10_000_000)
RUNS = (
    ("maze", "prioritized_sweeping_optimistic", {}),
    ("maze", "episodic_control", {}),
    ("maze", "trajectory_sampling", {"epsilon": 1.0}),
    ("stochastic_tree", "prioritized_sweeping_optimistic", {}),
)
"""The last two replay at every step, and a random walk in a maze hardly repeats."""


def measure(world: str, learner: str, changed: dict, n_steps: int) -> tuple[int, float, int, int]:
    """Return backups, seconds, and the most memory and anonymous memory in bytes."""
    experiment = EXPERIMENTS[world]
    params = experiment.parameters[learner]._replace(**changed)
    counts, anonymous = ReplayCounts(n_steps, 100), [0]

    def on_block(block: LogBlock) -> None:
        counts.add(block)
        status = Path("/proc/self/status").read_text().split()
        anonymous.append(int(status[status.index("RssAnon:") + 1]) * 1024)

    simulate(experiment.mdp(0, 0), learner, params, n_steps=1000, on_block=lambda block: None)
    begin = time.process_time()
    simulate(experiment.mdp(0, 0), learner, params, n_steps=n_steps, on_block=on_block)
    seconds = time.process_time() - begin
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return counts.n_backups, seconds, most, max(anonymous)


def main() -> None:
    """Measure, and print the table."""
    table = Table("world", "learner", "steps", "backups", "seconds", "MB at most", "anonymous")
    for world, learner, changed in RUNS:
        measure(world, learner, changed, 1000)  # compiled for the processes to come
        for n_steps in LENGTHS:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                found = process.submit(measure, world, learner, changed, n_steps).result()
            n_backups, seconds, *memory = found
            sizes = [f"{n_bytes / 1e6:,.0f}" for n_bytes in memory]
            table.add_row(
                world, learner, f"{n_steps:,}", f"{n_backups:,}", f"{seconds:.1f}", *sizes
            )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
