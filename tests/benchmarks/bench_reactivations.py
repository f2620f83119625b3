"""Places that each account reactivates per second in the maze of Gupta et al.: run by hand.

``python tests/benchmarks/bench_reactivations.py [learner ...]``

Each learner is fed the same laps of ``gupta_2t``, with 200 replays per pause or as many as it
makes. The rate is the number of replayed rows of the log, divided by the time that they add to the
same laps without replay, in processor seconds, in a single thread, after compilation: the median of
three repeats.
"""

import sys
from statistics import median
from time import process_time

from rich.console import Console
from rich.table import Table

from replay.learners import LEARNERS, find_learner
from replay.tasks import give_laps, replay_laps
from replay.tasks.published import find_task

MOST = ("n_replays", "max_backups", "max_pops")
N_REPLAYS, N_REPEATS = 200, 3


def seconds(given, learner, params):
    """Time a run; return also how many rows of replay it made."""
    begin = process_time()
    log = replay_laps(given, learner, params)
    return process_time() - begin, len(log.columns("backups")["state"])


def main() -> None:
    """Measure, and print the table."""
    given = give_laps(find_task("gupta_2t").build(), seed=1)
    table = Table("learner", "reactivations", "reactivations/s")
    for name in sys.argv[1:] or LEARNERS:
        known = find_learner(name).parameters
        most = [key for key in MOST if key in known]
        if not most:
            continue
        many, none = (dict.fromkeys(most, n) for n in (N_REPLAYS, 0))
        seconds(given, name, many)
        rates, n = [], 0
        for _ in range(N_REPEATS):
            (time, n), (idle, n_online) = (seconds(given, name, each) for each in (many, none))
            rates.append((n - n_online) / max(time - idle, 1e-9))
        table.add_row(name, f"{n - n_online:,}", f"{median(rates):,.0f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
