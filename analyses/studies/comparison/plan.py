"""What is to be compared: tasks with their statistics, learners, and how many animals."""

from __future__ import annotations

import hashlib
import re
import runpy
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from analyses.findings.table import findings as read_findings
from analyses.jobs.study import MOST
from analyses.measures import STATISTICS
from analyses.studies.simulated_animals import parameters
from replay.checks import check_choice, check_whole, shown, unknown_name
from replay.learners import LEARNERS, find_learner
from replay.learners.contract import LearnerModule
from replay.tasks import BEHAVIOURS, Task
from replay.tasks.published import TASKS, TaskEntry, find_task

__all__ = ["Batch", "ComparedLearners", "Comparison", "all_learners", "plan_comparison"]

_BATCH = 10  # animals of a piece
_STEM = re.compile(r"\w[\w .-]{0,79}")

ComparedLearners = Mapping[str, tuple[Any, Mapping[str, Any]]]
"""Name in the tables -> name in ``LEARNERS`` (or a module), and the parameters that differ."""


class Batch(NamedTuple):
    """What a piece is: a learner's name in the tables, and numbers of animals."""

    learner: str
    animals: range


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
    findings : pandas.DataFrame
        What `analyses.findings.table.findings` gives.
    files : dict of str to str
        The Python files of the user's that define tasks, by the name of the task.
    """

    tasks: dict[str, TaskEntry]
    learners: dict[str, tuple[Any, dict[str, Any]]]
    n_animals: int
    behaviour: str
    seed: int
    findings: pd.DataFrame
    files: dict[str, str]

    def task(self, name: str) -> Task:
        """Build a task, once."""
        with self.told(name):
            task = _built(self.tasks[name].builder)
            if not isinstance(task, Task):
                raise TypeError(f"build() must give a Task, got {shown(task)}.")
            return task

    @contextmanager
    def told(self, task: str) -> Iterator[None]:
        """Say where a task of the user's own goes wrong.

        Parameters
        ----------
        task : str
            The name of the task.

        Raises
        ------
        ValueError
            For any error in the file of the task: with the file, the line and the error.
        """
        with _told(self.files[task]) if task in self.files else nullcontext():
            yield

    def module(self, learner: str) -> LearnerModule:
        """Give the module that a learner is compiled from."""
        return find_learner(self.learners[learner][0]).module

    def is_reversible(self, learner: str) -> bool:
        """Tell whether the learner's model knows each move's reverse before it was made."""
        name, given = self.learners[learner]
        return find_learner(name, given).needs_way_back

    def batches(self, task: str) -> list[Batch]:
        """List the pieces of a task: learners, and the numbers of their animals."""
        one_way = self.task(task).one_way
        return [
            Batch(learner, range(first, min(first + _BATCH, self.n_animals)))
            for learner in self.learners
            if not (one_way and self.is_reversible(learner))
            for first in range(0, self.n_animals, _BATCH)
        ]

    def n_pieces(self) -> dict[str, int]:
        """Give the number of pieces of each task."""
        return {task: len(self.batches(task)) for task in self.tasks}

    def describe(self) -> dict[str, Any]:
        """Give what the manifest is to hold: all that the tables depend on."""
        return {
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
            "files": {
                task: hashlib.sha256(Path(file).read_bytes()).hexdigest()
                for task, file in self.files.items()
            },
            "n_animals": self.n_animals,
            "behaviour": self.behaviour,
            "seed": self.seed,
        }


@cache
def _built(build: Callable[[], Task]) -> Task:
    return build()


def all_learners() -> dict[str, tuple[str, dict[str, Any]]]:
    """List all learners, and once more those that can know the reverse of each move.

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
    learners: ComparedLearners | None = None,
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
        What `analyses.findings.table.findings` gives.

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
    >>> plan.batches("linear_track")
    [Batch(learner='mine', animals=range(0, 10)), Batch(learner='mine', animals=range(10, 20))]
    """
    table = read_findings() if findings is None else findings
    check_whole("The number of animals", n_animals, at_least=1, at_most=MOST)
    check_whole("The seed", seed)
    check_choice("behaviour", behaviour, BEHAVIOURS)
    chosen = dict(all_learners() if learners is None else learners)
    found, files = (dict(tasks), {}) if isinstance(tasks, Mapping) else _find_tasks(tasks)
    for what, names in (("task", found), ("learner", chosen)):
        if not names:
            raise ValueError(f"Name at least one {what}.")
    asked = table[(table["likelihood"] != "none") & (table["why_not"] == "")]
    complete = {}
    for name, entry in found.items():
        of_findings = asked.loc[asked["task_name"] == name, "statistic"]
        wanted = {*entry.statistics, *of_findings}
        unknown = wanted.difference(STATISTICS)
        if unknown:
            raise unknown_name("statistic", min(unknown, key=str), STATISTICS)
        if not wanted:
            raise ValueError(
                f"The task {name} asks for no statistic. Name some, as in "
                'TaskEntry(build, ("S1", "S3")).'
            )
        in_order = tuple(name for name in STATISTICS if name in wanted)
        complete[name] = entry._replace(statistics=in_order)
    given = {text: (name, dict(params)) for text, (name, params) in chosen.items()}
    for name, params in given.values():
        find_learner(name, params)
    plan = Comparison(complete, given, n_animals, behaviour, seed, table, files)
    if not sum(plan.n_pieces().values()):
        raise ValueError(
            "Nothing is left to compare: the learners are all reversible, and in the tasks nobody "
            "can go back."
        )
    return plan


def _find_tasks(names: Iterable[str]) -> tuple[dict[str, TaskEntry], dict[str, str]]:
    """Find tasks by their names, or in files of the user's that define ``TASK``."""
    found: dict[str, TaskEntry] = {}
    files: dict[str, str] = {}
    for name in names:
        if not name.endswith(".py"):
            found[name] = find_task(name)
            continue
        stem = Path(name).stem
        if not _STEM.fullmatch(stem):
            raise ValueError(
                f"The file {shown(name)} gives its name to a folder: let it have at most 80 "
                "letters and digits."
            )
        if stem in TASKS or files.get(stem, name) != name:
            raise ValueError(f"There are two tasks {stem!r}: rename the file {shown(name)}.")
        found[stem], files[stem] = _read_task(name), name
    return found, files


def _read_task(name: str) -> TaskEntry:
    if not Path(name).is_file():
        raise FileNotFoundError(
            f"{shown(name)} is no file. Name a task, or a Python file of your own."
        )
    with _told(name):
        entry = runpy.run_path(name).get("TASK")
    if not isinstance(entry, TaskEntry):
        raise TypeError(
            f"{name} must define TASK = TaskEntry(build, statistics), from "
            f"replay.tasks.published; it has "
            f"{'no TASK' if entry is None else type(entry).__name__}."
        )
    if not callable(entry.builder):
        raise TypeError(
            f"The first part of TASK in {name} must be a function, got {shown(entry.builder)}."
        )
    statistics: object = entry.statistics  # what a user wrote may be anything
    if not isinstance(statistics, tuple | list):
        raise TypeError(
            f"The statistics of TASK in {name} must be a tuple of names, got {shown(statistics)}."
        )
    check_whole(f"min_length of TASK in {name}", entry.min_length, at_least=2)
    return entry


@contextmanager
def _told(file: str) -> Iterator[None]:
    """Tell the file, the line and the error of what goes wrong in a user's file."""
    try:
        yield
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == file]
        if isinstance(error, SyntaxError) and error.filename == file:
            lines.append(error.lineno)
        where = f"{file}, line {lines[-1]}" if lines else file
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        text = f"{type(error).__name__}: {message}" if message else type(error).__name__
        raise ValueError(f"{where}: {text}") from error
