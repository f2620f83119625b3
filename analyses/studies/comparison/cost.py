"""What a comparison costs before it starts: some animals, timed."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from analyses.jobs import workers
from analyses.studies.comparison.pieces import time_animal
from analyses.studies.comparison.plan import Comparison

__all__ = ["Cost", "estimate"]

_BYTES_PER_PIECE = 20_000
_BYTES_OF_FIGURES = 10_000_000


class Cost(NamedTuple):
    """What is left of a comparison costs.

    Attributes
    ----------
    n_animals : int
        Animals to simulate.
    seconds : float
        Time for them, if one process did it.
    n_bytes : float
        Room on disk.
    """

    n_animals: int
    seconds: float
    n_bytes: float


def estimate(plan: Comparison, left: list[tuple[str, int]], jobs: int) -> Cost:
    """Time one animal of each learner in one task, and one of the slowest learner in each task.

    A learner that takes twice as long as another in one task is taken to do so in all.

    Parameters
    ----------
    plan : Comparison
        What is compared.
    left : list of (str, int)
        Which of its pieces: task and number.
    jobs : int
        How many processes to use.

    Returns
    -------
    Cost
        The guess.
    """
    pieces = [(task, *plan.pieces(task)[index]) for task, index in left]
    first = max(plan.tasks, key=lambda task: len(plan.pieces(task)))
    present = dict.fromkeys(learner for _, learner, _ in pieces)
    # Compiling each loop once, in one process each, beats doing it in all of them.
    modules = {plan.module(learner): (plan, first, learner) for learner in present}
    deque(workers.run(time_animal, modules.values(), jobs=jobs), maxlen=0)
    of_learner = dict(
        workers.run(time_animal, [(plan, first, learner) for learner in present], jobs=jobs)
    )
    slowest = max(of_learner, key=lambda key: of_learner[key])[1]
    wanted = [(plan, task, slowest) for task in dict.fromkeys(task for task, *_ in pieces)]
    of_task = dict(workers.run(time_animal, wanted, jobs=jobs))
    one = of_learner[first, slowest]
    n_animals = sum(len(animals) for *_, animals in pieces)
    seconds = sum(
        len(animals) * of_task[task, slowest] * of_learner[first, learner] / one
        for task, learner, animals in pieces
    )
    return Cost(n_animals, seconds, _BYTES_PER_PIECE * len(pieces) + _BYTES_OF_FIGURES)
