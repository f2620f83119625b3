"""What a comparison costs before it starts: some animals, timed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from analyses.jobs.cost import BYTES_OF_FIGURES, Cost
from analyses.jobs.study import Piece, Runner
from analyses.studies.comparison.pieces import time_animal
from analyses.studies.comparison.plan import Comparison

__all__ = ["estimate_animals"]

_BYTES_PER_PIECE = 20_000


def estimate_animals(plan: Comparison, left: Sequence[Piece], call: Runner) -> Cost:
    """Time one animal of each learner in one task, and one of the slowest learner in each task.

    A learner that needs twice as long as another in one task is expected to do so in all.

    Parameters
    ----------
    plan : Comparison
        What is compared.
    left : sequence of Piece
        Which of its pieces.
    call : Runner
        Times the animals.

    Returns
    -------
    Cost
        The estimate.
    """
    pieces = [(piece.group, *plan.batches(piece.group)[piece.number]) for piece in left]
    first = max(plan.tasks, key=lambda task: len(plan.batches(task)))
    present = dict.fromkeys(learner for _, learner, _ in pieces)
    # Compiling each loop once, in one process each, beats doing it in all of them.
    modules = {plan.module(learner): (plan, first, learner) for learner in present}
    deque(call(time_animal, modules.values()), maxlen=0)
    of_learner = dict(call(time_animal, [(plan, first, learner) for learner in present]))
    slowest = max(of_learner, key=lambda key: of_learner[key])[1]
    wanted = [(plan, task, slowest) for task in dict.fromkeys(task for task, *_ in pieces)]
    of_task = dict(call(time_animal, wanted))
    one = of_learner[first, slowest]
    n_animals = sum(len(animals) for *_, animals in pieces)
    seconds = sum(
        len(animals) * of_task[task, slowest] * of_learner[first, learner] / one
        for task, learner, animals in pieces
    )
    n_bytes = _BYTES_PER_PIECE * len(pieces) + BYTES_OF_FIGURES
    return Cost({"animals": n_animals}, seconds, n_bytes)
