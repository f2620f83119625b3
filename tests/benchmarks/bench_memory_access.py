"""How many backups a second prioritized memory access makes: run by hand.

``python tests/benchmarks/bench_memory_access.py``

The parameters are the published ones. Times are seconds of the processor for whole runs, with
steps, need and the log, in a single thread, after compilation: medians over seeds. The published
code makes 40 backups a second in the open maze, and 120 on the linear track.
"""

from statistics import median
from time import process_time

from rich.console import Console
from rich.table import Table

from replay.mazes import open_maze, random_maze, two_way_track
from replay.simulation import simulate

WORLDS = {"open maze": open_maze(), "linear track": two_way_track(), "random maze": random_maze(20)}
N_STEPS = 40_000
N_SEEDS = 7
PARAMS = {"pre_explored": True, "one_step_late": True}


def main() -> None:
    """Measure, and print the table."""
    table = Table("world", "states", "discount", "us/backup", "backups/s", "us/pause", "ns/step")
    for name, mdp in WORLDS.items():
        for discount in (0.9, 0.99):
            params = PARAMS | {"discount": discount}
            simulate(mdp, "prioritized_memory_access", params, n_steps=10)
            per_backup, per_pause, per_step = [], [], []
            for seed in range(N_SEEDS):
                begin = process_time()
                run = simulate(mdp, "prioritized_memory_access", params, n_steps=N_STEPS, seed=seed)
                time = process_time() - begin
                backups = run.log.backups
                per_backup.append(time / max(len(backups.drop_duplicates(["event", "pop"])), 1))
                per_pause.append(time / max(len(backups.drop_duplicates("event")), 1))
                per_step.append(time / N_STEPS)
            backup, pause, step = map(median, (per_backup, per_pause, per_step))
            table.add_row(
                name,
                str(mdp.n_states),
                str(discount),
                f"{backup * 1e6:.2f}",
                f"{1 / backup:,.0f}",
                f"{pause * 1e6:.0f}",
                f"{step * 1e9:.0f}",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
