"""How fast logs are written and read, and how large they are: run by hand.

``python tests/benchmarks/bench_log.py`` prints, for each of the paper's learners that replays, in
each of its experiments, medians of three repeats in processor seconds, in one thread.
"""

import tempfile
from pathlib import Path
from statistics import median
from time import process_time

from rich.console import Console
from rich.progress import track
from rich.table import Table

from replay.experiments import EXPERIMENTS, PAPER_LEARNERS
from replay.log.event_log import EventLog
from replay.simulation import simulate

N_REPEATS = 3
FEWEST = 1000
"""Logs of fewer backups are left out: there the footers of the files would be measured."""


def main() -> None:
    """Measure, and print the table."""
    table = Table("experiment", "learner", "backups", "bytes each", "written/s", "read/s")
    for experiment, learner in track([(e, name) for e in EXPERIMENTS for name in PAPER_LEARNERS]):
        plan = EXPERIMENTS[experiment]
        log = simulate(plan.mdp(0), learner, plan.parameters[learner], n_steps=plan.n_steps).log
        n_backups = len(log.columns("backups")["run"])
        if n_backups < FEWEST:
            continue
        written, read, n_bytes = measure(log)
        n_rows = n_backups + plan.n_steps
        table.add_row(
            experiment,
            learner,
            f"{n_backups:,}",
            f"{n_bytes / n_backups:.1f}",
            f"{n_rows / written / 1e6:.1f}M",
            f"{n_rows / read / 1e6:.1f}M",
        )
    table.caption = "written/s, read/s: rows of steps and backups together"
    Console(width=110).print(table)


def measure(log: EventLog) -> tuple[float, float, int]:
    """Return the seconds to write and to read a log, and the bytes of its backups."""
    written, read, n_bytes = [], [], 0
    for _ in range(N_REPEATS):
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / "log"
            begin = process_time()
            log.save(folder)
            middle = process_time()
            EventLog.load(folder).columns("backups")
            written.append(middle - begin)
            read.append(process_time() - middle)
            n_bytes = (folder / "backups.parquet").stat().st_size
    return median(written), median(read), n_bytes


if __name__ == "__main__":
    main()
