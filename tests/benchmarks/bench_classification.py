"""How long it takes to index experience and to classify replay: run by hand.

``python tests/benchmarks/bench_classification.py`` prints medians of three repeats, after
compilation, in one thread. Memory is the peak of the process so far.
"""

import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from analyses.sequences.chains import chains, link_backups
from analyses.sequences.classification import classify
from analyses.sequences.experience import Experience
from analyses.sequences.growing import chain_kinds
from analyses.sequences.kinds import classify_chains
from replay.experiments import EXPERIMENTS
from replay.log.event_log import EventLog
from replay.simulation import simulate

N_REPEATS = 3
N_STEPS_INDEXED = 10_000_000
N_STEPS_REPLAYED = 1_000_000
LEARNERS = ("prioritized_sweeping_optimistic", "prioritized_sweeping", "episodic_control")


def seconds(function: Callable[[], object]) -> float:
    """Time a function; the first call compiles."""
    times = []
    for _ in range(N_REPEATS + 1):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def peak_memory() -> float:
    """Give the most memory ever used, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def maze_log(learner: str, n_steps: int, **changed: float) -> EventLog:
    """Let a learner run in the first maze."""
    experiment = EXPERIMENTS["maze"]
    params = experiment.parameters[learner]._replace(**changed)
    return simulate(experiment.mdp(0, 0), learner, params, n_steps=n_steps).log


def classify_listed(log: EventLog) -> None:
    """Classify every chain, without making the table."""
    backups, experience = log.columns("backups"), Experience(log.columns("steps"))
    found = chains(link_backups(backups))
    limit = experience.moves_by(backups["step"][found.rows[found.offset[:-1]]])
    classes = classify_chains(experience, backups, found, limit)
    experience.latest_episodes(classes.node, np.repeat(limit, classes.n_pieces))


def index_table() -> Table:
    """Index walks that hardly repeat, and such as do."""
    table = Table(title=f"Index of {N_STEPS_INDEXED:,} steps in a maze")
    for column in ("experience", "seconds", "nodes", "GB before", "GB at most"):
        table.add_column(column, justify="right")
    for name, epsilon in (("learned", 0.1), ("random walk", 1.0)):
        steps = maze_log("q_learning", N_STEPS_INDEXED, epsilon=epsilon).columns("steps")
        before = peak_memory()
        taken = seconds(lambda steps=steps: Experience(steps).automaton)
        nodes = len(Experience(steps).automaton.nodes)
        memory = f"{before:.2f}", f"{peak_memory():.2f}"
        table.add_row(name, f"{taken:.1f}", f"{nodes:,}", *memory)
    return table


def replay_table() -> Table:
    """Classify the replay of some learners."""
    table = Table(title=f"Million backups a second, replay of {N_STEPS_REPLAYED:,} steps in a maze")
    for column in ("learner", "backups", "chains", "kinds", "across", "listed", "table"):
        table.add_column(column, justify="right", no_wrap=True)
    for learner in LEARNERS:
        log = maze_log(learner, N_STEPS_REPLAYED)
        backups, experience = log.columns("backups"), Experience(log.columns("steps"))
        n_backups = len(backups["step"])
        calls = [
            partial(chain_kinds, experience, backups),
            partial(chain_kinds, experience, backups, across_events=True),
            partial(classify_listed, log),
            partial(classify, log),
        ]
        n_chains = len(chain_kinds(experience, backups).kind)
        speeds = [f"{n_backups / seconds(call) / 1e6:.2f}" for call in calls]
        table.add_row(learner, f"{n_backups:,}", f"{n_chains:,}", *speeds)
    table.caption = "kinds: index made before; listed, table: indexing the experience included"
    return table


if __name__ == "__main__":
    Console().print(index_table())
    Console().print(replay_table())
