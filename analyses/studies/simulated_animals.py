"""Simulated animals of one learner in one task, and the tables that statistics read of them."""

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
"""The same for all learners that have the parameter: twenty backups a pause, none on the way."""


def animal_seed(seed: int, animal: int) -> int:
    """Give the seed of one animal: the same animal has the same laps, whatever the learner.

    Parameters
    ----------
    seed : int
        Seed of all animals, 0 or more.
    animal : int
        Its number, 0 or more.

    Returns
    -------
    int
        Seeds of different animals are independent.

    Raises
    ------
    ValueError
        If one of them is no such number.

    Examples
    --------
    >>> animal_seed(0, 3) == animal_seed(0, 3), animal_seed(0, 3) == animal_seed(3, 0)
    (True, False)
    """
    check_whole("seed", seed)
    check_whole("The number of an animal", animal)
    return int(np.random.SeedSequence([seed, animal]).generate_state(1)[0])


def parameters(learner: str | ModuleType, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Give the parameters of a learner that differ from its defaults.

    Those of `SAME_PARAMETERS` that it has, then one's own.

    Parameters
    ----------
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own.
    given : mapping, optional
        Parameters that come before the settings.

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
    """Simulate animals in a task, and classify all that they replay in pauses.

    Parameters
    ----------
    task : Task
        What is run.
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own.
    given : mapping, optional
        Its parameters, beside ``SAME_PARAMETERS``.
    animals : iterable of int, default range(20)
        Numbers of the animals, at least one.
    seed : int, default 0
        Seed of everything; an animal's own follows from it and its number.
    behaviour : {"given", "own"}, default "given"
        Whether laps are given by the task, or run as the learner acts.
    counts : {"place sequences", "causal chains"}, default "place sequences"
        What is counted.

    Returns
    -------
    Replays
        The tables, as `analyses.measures.animals.replays_of` makes them.

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
