"""Simulated animals of one learner in one task, as tables from which statistics are computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from analyses.measures import Replays
from analyses.measures.animals import replays_of
from replay.checks import check_whole, shown
from replay.learners import find_learner
from replay.tasks import Task, run_task

SAME_PARAMETERS = {
    "learning_rate": 1.0,
    "discount": 0.9,
    "max_pops": 20,
    "n_replays": 20,
    "max_backups": 20,
    "replay_at": "pauses",
}
"""Parameters that are equal for all learners that have them: 20 backups per pause, none online."""


def animal_seed(seed: int, animal: int) -> int:
    """Return the seed of one animal: an animal runs the same laps with every learner.

    Examples
    --------
    >>> animal_seed(0, 3) == animal_seed(0, 3), animal_seed(0, 3) == animal_seed(3, 0)
    (True, False)
    """
    check_whole("seed", seed)
    check_whole("The number of an animal", animal)
    return int(np.random.SeedSequence([seed, animal]).generate_state(1)[0])


def parameters(learner: str | ModuleType, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the parameters of a learner that differ from its defaults.

    These are the ones of `SAME_PARAMETERS` that it has, then the given ones.

    Examples
    --------
    >>> parameters("dyna_q", {"n_replays": 5})
    {'learning_rate': 1.0, 'discount': 0.9, 'n_replays': 5, 'replay_at': 'pauses'}
    """
    known = find_learner(learner, given).parameters
    return {key: value for key, value in SAME_PARAMETERS.items() if key in known} | dict(
        given or {}
    )


def simulated_replays(
    task: Task,
    learner: str | ModuleType,
    given: Mapping[str, Any] | None = None,
    *,
    animals: Iterable[int] = range(20),
    seed: int = 0,
    behaviour: str = "given",
    counts: str = "place sequences",
) -> Replays:
    """Simulate animals in a task, and classify all their replay in pauses.

    Parameters are `given` in addition to ``SAME_PARAMETERS``; the tables are those of
    `analyses.measures.animals.replays_of`.

    Examples
    --------
    >>> from replay.tasks.published import TASKS
    >>> made = simulated_replays(
    ...     TASKS["gupta_2t"].build(), "sfma", {"n_replays": 5}, animals=[0])
    >>> sorted(made.pauses["phase"].unique())
    ['episode_end', 'rest', 'start']
    """
    params = parameters(learner, given)
    if not isinstance(animals, Iterable):
        raise ValueError(f"animals must be numbers of animals, got {shown(animals)}.")
    numbers = list(animals)
    if not numbers:
        raise ValueError("animals must name at least one animal.")
    runs = (
        (animal, run.log, run.laps)
        for animal in numbers
        for run in [
            run_task(task, learner, params, seed=animal_seed(seed, animal), behaviour=behaviour)
        ]
    )
    return replays_of(task, runs, counts)
