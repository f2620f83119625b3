"""What is to be compared: tasks with their statistics, learners, and how many animals."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from analyses.findings.published import findings as read_findings
from analyses.jobs.workers import software
from analyses.measures import STATISTICS
from analyses.measures.animals import parameters
from replay.learners import LEARNERS, find_learner
from replay.names import unknown_name
from replay.tasks import BEHAVIOURS, Task
from replay.tasks.published import TASKS, TaskEntry, find_task

__all__ = ["Comparison", "all_learners", "plan_comparison"]

_BATCH = 10  # animals of a piece

Learners = Mapping[str, tuple[Any, Mapping[str, Any]]]
"""Name in the tables -> name in ``LEARNERS`` (or a module), and the parameters that differ."""


class Comparison(NamedTuple):
    """What is to be compared.

    Attributes
    ----------
    tasks : dict of str to TaskEntry
        The tasks, with all statistics that are asked of them.
    learners : dict
        Name in the tables -> name in ``LEARNERS`` (or a module), and parameters.
    n_animals : int
        Animals of each learner in each task.
    behaviour : str
        ``given`` laps, or the learner's ``own``.
    seed : int
        Seed of everything.
    """

    tasks: dict[str, TaskEntry]
    learners: dict[str, tuple[Any, dict[str, Any]]]
    n_animals: int
    behaviour: str
    seed: int

    def task(self, name: str) -> Task:
        """Build a task, once."""
        return _built(self.tasks[name].build)

    def module(self, learner: str) -> Any:
        """Give the module that a learner is compiled from."""
        return find_learner(self.learners[learner][0]).module

    def is_reversible(self, learner: str) -> bool:
        """Tell whether the learner's model knows ways back without having gone them."""
        name, given = self.learners[learner]
        return find_learner(name, given).needs_way_back

    def pieces(self, task: str) -> list[tuple[str, range]]:
        """List the pieces of a task: learners, and the numbers of their animals."""
        one_way = self.task(task).one_way
        return [
            (learner, range(first, min(first + _BATCH, self.n_animals)))
            for learner in self.learners
            if not (one_way and self.is_reversible(learner))
            for first in range(0, self.n_animals, _BATCH)
        ]

    def manifest(self) -> dict[str, Any]:
        """Give all that the tables depend on."""
        return software() | {
            "study": "comparison",
            "experiments": list(self.tasks),
            "n_mdps": {task: len(self.pieces(task)) for task in self.tasks},
            "learners": {
                text: [find_learner(name).name, parameters(name, given)]
                for text, (name, given) in self.learners.items()
            },
            "statistics": {task: list(entry.statistics) for task, entry in self.tasks.items()},
            "min_length": {task: entry.min_length for task, entry in self.tasks.items()},
            "blocks": {
                task: [block._asdict() for block in self.task(task).blocks] for task in self.tasks
            },
            "remarks": {task: self.task(task).remark for task in self.tasks},
            "n_animals": self.n_animals,
            "behaviour": self.behaviour,
            "seed": self.seed,
        }


@cache
def _built(build: Callable[[], Task]) -> Task:
    return build()


def all_learners() -> dict[str, tuple[str, dict[str, Any]]]:
    """List all learners, and once more as reversible those whose model may know ways back.

    Returns
    -------
    dict
        Name in the tables -> name in ``LEARNERS`` and parameters.

    Examples
    --------
    >>> all_learners()["full_backups reversible=true"]
    ('full_backups', {'reversible': True})
    """
    plain: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in LEARNERS}
    return plain | {
        f"{name} reversible=true": (name, {"reversible": True})
        for name in LEARNERS
        if "reversible" in find_learner(name).parameters
    }


def plan_comparison(
    tasks: Iterable[str] | Mapping[str, TaskEntry] = tuple(TASKS),
    learners: Learners | None = None,
    *,
    n_animals: int = 20,
    behaviour: str = "given",
    seed: int = 0,
    findings: pd.DataFrame | None = None,
) -> Comparison:
    """Check what is to be compared, and add the statistics by which findings are tested.

    Parameters
    ----------
    tasks, learners, n_animals, behaviour, seed
        As in `compare`.
    findings : pandas.DataFrame, optional
        What `analyses.findings.published.findings` gives.

    Returns
    -------
    Comparison
        The plan.

    Raises
    ------
    ValueError
        If a name is unknown or a number out of range.

    Examples
    --------
    >>> plan = plan_comparison(["linear_track"], {"mine": ("dyna_q", {"n_replays": 5})})
    >>> plan.pieces("linear_track")
    [('mine', range(0, 10)), ('mine', range(10, 20))]
    """
    table = read_findings() if findings is None else findings
    if n_animals < 1:
        raise ValueError(f"The number of animals must be at least 1, got {n_animals}.")
    if behaviour not in BEHAVIOURS:
        raise unknown_name("behaviour", behaviour, BEHAVIOURS)
    chosen = dict(all_learners() if learners is None else learners)
    found = (
        dict(tasks) if isinstance(tasks, Mapping) else {_stem(name): _task(name) for name in tasks}
    )
    for what, names in (("task", found), ("learner", chosen)):
        if not names:
            raise ValueError(f"Name at least one {what}.")
    asked = table[(table["test"] != "none") & (table["why_not"] == "")]
    complete = {}
    for name, entry in found.items():
        of_findings = asked.loc[asked["task_name"] == name, "statistic"]
        wanted = {*entry.statistics, *of_findings}
        unknown = wanted.difference(STATISTICS)
        if unknown:
            raise unknown_name("statistic", min(unknown), STATISTICS)
        in_order = tuple(name for name in STATISTICS if name in wanted)
        complete[name] = entry._replace(statistics=in_order)
    given = {text: (name, dict(params)) for text, (name, params) in chosen.items()}
    for name, params in given.values():
        find_learner(name, params)
    return Comparison(complete, given, n_animals, behaviour, seed)


def _stem(name: str) -> str:
    return Path(name).stem if name.endswith(".py") else name


def _task(name: str) -> TaskEntry:
    """Find a task by its name, or in a file of the user's that defines ``TASK``."""
    if not name.endswith(".py"):
        return find_task(name)
    if not Path(name).is_file():
        raise FileNotFoundError(f"{name} is no file. Name a task, or a Python file of your own.")
    entry = runpy.run_path(name).get("TASK")
    if not isinstance(entry, TaskEntry):
        raise TypeError(
            f"{name} must define TASK = TaskEntry(build, statistics), from "
            f"replay.tasks.published; it has "
            f"{'no TASK' if entry is None else type(entry).__name__}."
        )
    return entry
