"""What a worker does with a piece: simulate animals of one learner in one task, and measure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pandas as pd

from analyses.jobs.results import Results, write_table
from analyses.measures import STATISTICS, Replays
from analyses.measures.animals import replays
from analyses.sequences.chains import ORDERS
from analyses.studies.brea_2018.pieces import Outcome
from analyses.studies.comparison.plan import Comparison
from replay.files import replacing

__all__ = ["CHAINS", "COUNTS", "counts_file", "make_piece", "time_animal"]

CHAINS = ("phase", "order", "direction", "novelty")
"""By which chains are counted."""

COUNTS = ("chains", "pauses")
"""The tables of counts that are kept of each piece, beside its statistics."""

_LENGTHS = (3, 5)


def make_piece(plan: Comparison, task: str, index: int) -> Outcome:
    """Make some animals of one learner in one task, and collect what came of them."""
    learner, animals = plan.pieces(task)[index]
    made = _replays(plan, task, learner, animals)
    tables = {
        "chains": _count_chains(made, plan.tasks[task].min_length),
        "pauses": _count_pauses(made.pauses),
    }
    labels = {"task": task, "learner": learner}
    with TemporaryDirectory(prefix="hippocampal-replay-") as folder:
        results = Results(folder)
        with replacing(results.piece(task, index)) as beside:
            write_table(_measure(plan, task, made).assign(**labels), beside)
        for name in COUNTS:
            with replacing(counts_file(results, task, index, name)) as beside:
                write_table(tables[name].assign(**labels), beside)
        results.finish_piece(task, index)
        files = [path for path in sorted(results.folder.rglob("*")) if path.is_file()]
        # The checksums that make the piece done, "pieces/TASK/N.sha256", come last.
        return Outcome(
            task, {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
        )


def counts_file(results: Results, task: str, index: int, name: str) -> Path:
    """Name the file of the counts of a piece."""
    return results.log(task, "counts", index, 0) / f"{name}.parquet"


def _replays(plan: Comparison, task: str, learner: str, animals: Iterable[int]) -> Replays:
    name, given = plan.learners[learner]
    return replays(
        plan.task(task), name, given, animals=animals, seed=plan.seed, behaviour=plan.behaviour
    )


def _measure(plan: Comparison, task: str, made: Replays) -> pd.DataFrame:
    """Compute all statistics of some animals, for chains of both orders and all lengths."""
    entry = plan.tasks[task]
    lengths = sorted({*_LENGTHS, entry.min_length})
    rows = [
        STATISTICS[statistic]
        .compute(made, min_length=min_length, order=order)
        .assign(statistic=statistic, order=order, min_length=min_length)
        for statistic in entry.statistics
        for order in ORDERS
        for min_length in lengths
    ]
    return pd.concat(rows, ignore_index=True)


def _count_chains(made: Replays, min_length: int) -> pd.DataFrame:
    long = made.chains[made.chains["n_distinct"] >= min_length]
    return long.groupby(list(CHAINS), observed=True).size().reset_index(name="count")


def _count_pauses(pauses: pd.DataFrame) -> pd.DataFrame:
    replayed = pauses.assign(replayed=pauses["n_backups"] > 0).groupby("phase")
    counts = replayed.agg(
        n_pauses=("replayed", "size"), n_replays=("replayed", "sum"), n_backups=("n_backups", "sum")
    )
    return counts.reset_index()


def time_animal(plan: Comparison, task: str, learner: str) -> tuple[tuple[str, str], float]:
    """Time one animal, all being compiled."""
    seconds = 0.0
    for _ in range(2):
        start = perf_counter()
        _measure(plan, task, _replays(plan, task, learner, range(1)))
        seconds = perf_counter() - start
    return (task, learner), seconds
