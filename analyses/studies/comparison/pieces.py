"""What a worker does with a piece: simulate animals of one learner in one task, and measure."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import pandas as pd

from analyses.jobs.study import Piece
from analyses.measures import STATISTICS, Replays
from analyses.sequences.chains import ORDERS
from analyses.sequences.place_sequences import Detection
from analyses.studies.comparison.plan import Comparison
from analyses.studies.simulated_animals import simulated_replays

__all__ = ["COUNTED_BY", "measure_animals", "time_animal"]

COUNTED_BY = ("phase", "order", "direction", "novelty")
"""By which chains are counted."""

_LENGTHS = (3, 5)
_COUNTS = dict(zip(ORDERS, ("causal chains", "place sequences"), strict=True))


def measure_animals(plan: Comparison, piece: Piece) -> dict[str, pd.DataFrame]:
    """Make some animals of one learner in one task, and measure what they replay.

    Parameters
    ----------
    plan : Comparison
        What is compared.
    piece : Piece
        The task, and the number of the batch.

    Returns
    -------
    dict of str to pandas.DataFrame
        ``animals``: all statistics, one row an animal; ``chains`` and ``pauses``: how many there
        were. Each with `task` and `learner`.
    """
    learner, animals = plan.batches(piece.group)[piece.number]
    with plan.told(piece.group):
        made = _replays(plan, piece.group, learner, animals)
        tables = {
            "animals": _measure(plan, piece.group, made),
            "chains": _count_chains(made, plan.tasks[piece.group].min_length),
            "pauses": _count_pauses(made[ORDERS[0]]),
        }
    labels = {"task": piece.group, "learner": learner}
    return {name: table.assign(**labels) for name, table in tables.items()}


def _replays(
    plan: Comparison, task: str, learner: str, animals: Iterable[int]
) -> dict[str, Replays]:
    name, given = plan.learners[learner]
    return {
        order: simulated_replays(
            plan.task(task),
            name,
            given,
            animals=animals,
            seed=plan.seed,
            behaviour=plan.behaviour,
            counts=counts,
        )
        for order, counts in _COUNTS.items()
    }


def _measure(plan: Comparison, task: str, made: dict[str, Replays]) -> pd.DataFrame:
    """Compute all statistics of some animals, for chains of both orders and all lengths."""
    entry = plan.tasks[task]
    lengths = sorted({*_LENGTHS, entry.min_length})
    rows = [
        STATISTICS[statistic]
        .compute(made[order].detected(Detection(min_length)))
        .assign(statistic=statistic, order=order, min_length=min_length)
        for statistic in entry.statistics
        for order in ORDERS
        for min_length in lengths
    ]
    return pd.concat(rows, ignore_index=True)


def _count_chains(made: dict[str, Replays], min_length: int) -> pd.DataFrame:
    tables = []
    for order, replays in made.items():
        table = replays.detected(Detection(max(min_length, 3))).sequences.assign(order=order)
        tables.append(
            table.groupby(list(COUNTED_BY), observed=True).size().reset_index(name="count")
        )
    return pd.concat(tables, ignore_index=True).astype({"direction": object, "novelty": object})


def _count_pauses(made: Replays) -> pd.DataFrame:
    counts = made.pauses.groupby("phase", observed=True).size().reset_index(name="n_pauses")
    replays = made.sequences.drop_duplicates(["animal", "event"]).groupby("phase", observed=True)
    n_replays = counts["phase"].astype(str).map(replays.size().rename(index=str)).fillna(0)
    return counts.assign(n_replays=n_replays.astype(int))


def time_animal(plan: Comparison, task: str, learner: str) -> tuple[tuple[str, str], float]:
    """Time one animal, all being compiled.

    Parameters
    ----------
    plan : Comparison
        What is compared.
    task, learner : str
        Which.

    Returns
    -------
    which : tuple of str
        The task and the learner.
    seconds : float
        Time to simulate and measure one animal.
    """
    seconds = 0.0
    for _ in range(2):
        start = perf_counter()
        with plan.told(task):
            _measure(plan, task, _replays(plan, task, learner, range(1)))
        seconds = perf_counter() - start
    return (task, learner), seconds
