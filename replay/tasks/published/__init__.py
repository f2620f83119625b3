"""The tasks of published experiments, by name."""

from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from replay.checks import Named, check_choice, no_attribute, typed
from replay.tasks.published import (
    arenas,
    arms,
    linear_tracks,
    people,
    t_maze,
    two_choice_t,
    w_track,
)
from replay.tasks.published.maze_data import find_maze, landmarks, maze_graph
from replay.tasks.task import Task

__all__ = ["TASKS", "TaskEntry", "find_maze", "find_task", "landmarks", "maze_graph"]


class TaskEntry(NamedTuple):
    """The builder of a task, and the statistics that are computed in it.

    Attributes
    ----------
    builder : callable
        ``builder() -> Task``. If it has a parameter `rng`, it uses this
        `numpy.random.Generator` to draw a variant of the task for one animal.
    statistics : tuple of str
        Names in ``analyses.measures.STATISTICS``.
    min_length : int
        Shorter sequences, in states, are not counted.
    """

    builder: Callable[..., Task]
    statistics: tuple[str, ...]
    min_length: int = 5

    @typed
    def build(self, rng: np.random.Generator | None = None) -> Task:
        """Make the task.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            Draws, for one animal, what the experiment leaves open: layouts, homes, sides, laps,
            places per metre and so on; see the builder's docstring and the task's `remark`.
            Without it, or with a builder that has no such parameter, the task is always the same.

        Returns
        -------
        Task

        Examples
        --------
        >>> entry = find_task("linear_track")
        >>> [len(entry.build(np.random.default_rng(animal)).places) for animal in range(3)]
        [16, 38, 18]
        """
        if rng is not None and "rng" in signature(self.builder).parameters:
            return self.builder(rng=rng)
        return self.builder()

    if not TYPE_CHECKING:  # type: ignore[misc]  # mypy knows which attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an error that names what to use instead of a missing attribute."""
            raise no_attribute(self, name, _INSTEAD)


_INSTEAD = {
    "name world graph places laps blocks landmarks remark position": (
        "entry.build() makes the task, which has it."
    ),
    "plot draw show": "analyses.plots.plot_task(entry.build()) draws it.",
}
_REWARD_CHANGE = ("S1", "S4", "S4_reverse", "S4_forward", "S4_reverse_minus_forward")
_AT_WELLS = ("S2_reverse_given_past", "S2_forward_given_future", "S2_taken", "S8_taken")
_T_ARMS = ("S1", "S11", "S11_cued", "S11_uncued")

TASKS: Named[TaskEntry] = Named("task")
TASKS |= {
    "linear_track": TaskEntry(
        linear_tracks.linear_track,
        ("S1", "S1_after_minus_before", "S3", "S3_away", "S13", "S13_stop", "S14"),
    ),
    "linear_track_novel": TaskEntry(
        linear_tracks.linear_track_novel, ("S1", "S10", "S10_before", "S10_one_lap", "S10_sessions")
    ),
    "linear_track_4x": TaskEntry(linear_tracks.linear_track_4x, _REWARD_CHANGE),
    "linear_track_0x": TaskEntry(linear_tracks.linear_track_0x, (*_REWARD_CHANGE, "S4_restored")),
    "long_track": TaskEntry(linear_tracks.long_track, ("S1", "S3", "S3_remote", "S3_local_end")),
    "gupta_2t": TaskEntry(
        two_choice_t.gupta_2t,
        (
            "S1",
            "S1_same_side",
            "S1_opposite_side",
            "S3",
            "S3_opposite",
            "S5",
            "S5_lag",
            "S5_run_before",
            "S5_rest_as_awake",
            "S6_shortcut",
            "S6_composed",
            "S6_pairs",
        ),
    ),
    "w_track": TaskEntry(
        w_track.w_track,
        (
            "S1",
            *(f"{name}_{well}" for name in _AT_WELLS for well in ("centre", "side")),
            "S5_rest_as_awake",
            "S10_sessions",
            "S13_stop",
        ),
    ),
    "t_unvisited": TaskEntry(t_maze.t_unvisited, _T_ARMS),
    "t_unvisited_unknown": TaskEntry(t_maze.t_unvisited_unknown, _T_ARMS),
    "barrier_arena": TaskEntry(
        arenas.barrier_arena,
        (
            "S1_both",
            "S6_composed",
            "S7",
            "S7_first_laps",
            "S7_percentile",
            "S7_sessions",
            "S8",
            "S8_followed",
            "S9",
            "S9_rest",
        ),
        min_length=3,
    ),
    "eight_arm": TaskEntry(
        arms.eight_arm,
        (
            "S1",
            "S3",
            "S3_remote_arm",
            "S3_remote_segment",
            "S5_past_arm",
            "S5_previous_goal",
            "S8_future_arm",
        ),
        min_length=3,
    ),
    "y_maze": TaskEntry(
        arms.y_maze, ("S1", "S3", "S5_rest_as_awake", "S6_composed", "S6_composed_rest")
    ),
    "liu2021_three_arm": TaskEntry(
        people.liu2021_three_arm, ("S12", "S12_need", "S12_gain", "S12_non_local"), min_length=3
    ),
    "liu2019_chains": TaskEntry(
        people.liu2019_chains, ("S1", "S4_paid_sequence", "S4_paid_to_neutral"), min_length=3
    ),
    "mattar_open_maze": TaskEntry(
        arenas.mattar_open_maze,
        ("S1", "S1_both", "S5_rest_as_awake", "S6_composed", "S8", "S9", "S9_rest"),
    ),
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
        If the name is unknown; the message lists the choices.

    Examples
    --------
    >>> len(find_task("linear_track").build().places)
    20
    """
    return TASKS[check_choice("task", name, TASKS)]
