"""The tasks of the experiments, by name."""

from collections.abc import Callable
from typing import NamedTuple

from analyses.tasks import arenas, arms, people, t_maze, tracks, two_choice_t, w_track
from analyses.tasks.mazes import find_maze, landmarks, maze_graph
from replay.names import unknown_name
from replay.tasks import Task

__all__ = ["TASKS", "TaskEntry", "find_maze", "find_task", "landmarks", "maze_graph"]


class TaskEntry(NamedTuple):
    """A task, and what is asked of it.

    Attributes
    ----------
    build : callable
        ``build() -> Task``.
    statistics : tuple of str
        Names in ``analyses.replay_statistics.STATISTICS``.
    min_length : int
        The least number of states of a sequence that counts.
    """

    build: Callable[[], Task]
    statistics: tuple[str, ...]
    min_length: int = 5


TASKS: dict[str, TaskEntry] = {
    "linear_track": TaskEntry(tracks.linear_track, ("S1", "S3", "S13", "S14")),
    "linear_track_novel": TaskEntry(tracks.linear_track_novel, ("S1", "S10")),
    "linear_track_4x": TaskEntry(tracks.linear_track_4x, ("S1", "S4_reverse", "S4_forward")),
    "linear_track_0x": TaskEntry(tracks.linear_track_0x, ("S1", "S4_reverse", "S4_forward")),
    "long_track": TaskEntry(tracks.long_track, ("S1", "S3")),
    "gupta_2t": TaskEntry(
        two_choice_t.gupta_2t, ("S1", "S3", "S5", "S6_shortcut", "S6_composed", "S6_pairs")
    ),
    "w_track": TaskEntry(
        w_track.w_track, ("S1", "S2_reverse_given_past", "S2_forward_given_future", "S8", "S10")
    ),
    "t_unvisited": TaskEntry(t_maze.t_unvisited, ("S1", "S11")),
    "t_unvisited_unknown": TaskEntry(t_maze.t_unvisited_unknown, ("S11",)),
    "barrier_arena": TaskEntry(arenas.barrier_arena, ("S7", "S8", "S9"), 3),
    "eight_arm": TaskEntry(arms.eight_arm, ("S3", "S5", "S8"), 3),
    "y_maze": TaskEntry(arms.y_maze, ("S1", "S6_composed")),
    "liu2021_three_arm": TaskEntry(people.liu2021_three_arm, ("S12",), 3),
    "liu2019_chains": TaskEntry(people.liu2019_chains, ("S1",), 3),
    "mattar_open_maze": TaskEntry(arenas.mattar_open_maze, ("S1", "S6_composed", "S9")),
}
"""Name -> task."""


def find_task(name: str) -> TaskEntry:
    """Look up a task.

    Parameters
    ----------
    name : str
        A name in ``TASKS``.

    Returns
    -------
    TaskEntry

    Raises
    ------
    ValueError
        If there is none of that name; the message lists the choices.

    Examples
    --------
    >>> len(find_task("linear_track").build().places)
    20
    """
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return TASKS[name]
