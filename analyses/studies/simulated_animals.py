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

__all__ = ["SAME_PARAMETERS", "animal_seed", "parameters", "simulated_replays"]

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

    Parameters
    ----------
    seed : int
        Seed of all animals, 0 or more.
    animal : int
        Number of the animal, 0 or more.

    Returns
    -------
    int
        The seed; those of different animals are independent.

    Raises
    ------
    ValueError
        If one of them is not a whole number from 0 on.

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

    Parameters
    ----------
    learner : str or module
        A name in ``LEARNERS``, or your own module.
    given : mapping, optional
        Parameters that replace those of `SAME_PARAMETERS`.

    Returns
    -------
    dict
        Name -> value.

    Raises
    ------
    ValueError
        If the learner or a parameter is unknown.

    Examples
    --------
    >>> parameters("dyna_q", {"n_replays": 5})
    {'learning_rate': 1.0, 'discount': 0.9, 'n_replays': 5}
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

    Parameters
    ----------
    task : Task
        The task.
    learner : str or module
        A name in ``LEARNERS``, or your own module.
    given : mapping, optional
        Its parameters, in addition to ``SAME_PARAMETERS``.
    animals : iterable of int, default range(20)
        Numbers of the animals, at least one.
    seed : int, default 0
        Seed of everything; an animal's own follows from it and its number.
    behaviour : {"given", "own"}, default "given"
        Whether the task gives the laps, or the learner chooses its actions.
    counts : {"place sequences", "causal chains"}, default "place sequences"
        What is counted.

    Returns
    -------
    Replays
        The tables, as `analyses.measures.animals.replays_of` returns them.

    Raises
    ------
    ValueError
        If a name is unknown, a number is out of range, or there is no animal.

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
