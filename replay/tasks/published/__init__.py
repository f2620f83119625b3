"""The tasks of published experiments, by name."""

from collections.abc import Callable
from inspect import signature
from typing import NamedTuple

import numpy as np

from replay.checks import Named, check_choice, typed
from replay.tasks.published import arenas, arms, t_mazes
from replay.tasks.published.maze_data import chosen_in_tasks, find_maze, landmarks, maze_graph
from replay.tasks.task import Task

__all__ = ["TASKS", "TaskEntry", "find_maze", "find_task", "landmarks", "maze_graph"]


class TaskEntry(NamedTuple):
    """The builder of a task, and the statistics that are computed in it."""

    # ``builder() -> Task``. If it has a parameter `rng`, it uses this `numpy.random.Generator`
    # to draw a variant of the task for one animal.
    builder: Callable[..., Task]
    statistics: tuple[str, ...]  # names in ``analyses.measures.STATISTICS``
    min_length: int = 5  # shorter sequences, in states, are not counted

    def __repr__(self) -> str:
        """Summarise it in a line, without the address of its builder."""
        builder = getattr(self.builder, "__name__", type(self.builder).__name__)
        return (
            f"TaskEntry({builder}, {len(self.statistics)} statistics, min_length={self.min_length})"
        )

    @typed
    def build(self, rng: np.random.Generator | None = None) -> Task:
        """Make the task.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            Draws, for one animal, what the experiment leaves open: layouts, homes, sides, laps,
            places per metre, pauses of rest, the spread of rewards and so on; the task's `remark`
            lists it. Without it, or with a builder that has no such parameter, the task is always
            the same.

        Examples
        --------
        >>> entry = find_task("linear_track")
        >>> [len(entry.build(np.random.default_rng(animal)).places) for animal in range(3)]
        [16, 38, 18]
        """
        if rng is not None and "rng" in signature(self.builder).parameters:
            return self.builder(rng=rng)
        return self.builder()


_BUILDERS = vars(t_mazes) | vars(arms) | vars(arenas)

TASKS: Named[TaskEntry] = Named("task")
TASKS |= {
    name: TaskEntry(_BUILDERS[name], tuple(about["statistics"]), about.get("min_length", 5))
    for name, about in chosen_in_tasks().items()
}
"""Name -> task. A builder has the name of its entry in ``data/tasks.toml``."""


def find_task(name: str) -> TaskEntry:
    """Look up a task.

    Parameters
    ----------
    name : str
        A name in ``TASKS``.

    Examples
    --------
    >>> len(find_task("linear_track").build().places)
    20
    """
    return TASKS[check_choice("task", name, TASKS)]
