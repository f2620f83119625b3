"""The tasks of published experiments, by name."""

from collections.abc import Callable
from inspect import signature
from typing import NamedTuple

import numpy as np

from replay.checks import Named, check_choice, typed
from replay.tasks.published import arenas, arms, linear_tracks, people, t_mazes
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
            places per metre and so on; see the builder's docstring and the task's `remark`.
            Without it, or with a builder that has no such parameter, the task is always the same.

        Examples
        --------
        >>> entry = find_task("linear_track")
        >>> [len(entry.build(np.random.default_rng(animal)).places) for animal in range(3)]
        [16, 38, 18]
        """
        if rng is not None and "rng" in signature(self.builder).parameters:
            return self.builder(rng=rng)
        return self.builder()


_REWARD_CHANGE = (
    "reverse_share",
    "changed_end",
    "changed_end_reverse",
    "changed_end_forward",
    "changed_end_reverse_to_forward",
)
_AT_WELLS = (
    "reverse_of_past_paths",
    "forward_of_future_paths",
    "past_minus_other_path",
    "future_minus_other_path",
)
_T_ARMS = ("reverse_share", "cued_minus_uncued_arm", "cued_arm_share", "uncued_arm_share")

TASKS: Named[TaskEntry] = Named("task")
TASKS |= {
    "linear_track": TaskEntry(
        linear_tracks.linear_track,
        (
            "reverse_share",
            "reverse_after_minus_before_run",
            "begins_at_animal",
            "leads_away",
            "forward_minus_reverse_rank",
            "forward_minus_reverse_rank_in_stop",
            "forward_minus_reverse_at_rest",
        ),
    ),
    "linear_track_novel": TaskEntry(
        linear_tracks.linear_track_novel,
        (
            "reverse_share",
            "late_to_early_laps",
            "rate_before_first_lap",
            "rate_after_one_lap",
            "last_to_first_session",
        ),
    ),
    "linear_track_4x": TaskEntry(linear_tracks.linear_track_4x, _REWARD_CHANGE),
    "linear_track_0x": TaskEntry(
        linear_tracks.linear_track_0x, (*_REWARD_CHANGE, "restored_end_reverse_to_forward")
    ),
    "long_track": TaskEntry(
        linear_tracks.long_track,
        ("reverse_share", "begins_at_animal", "begins_elsewhere", "ends_at_animal"),
    ),
    "two_tracks": TaskEntry(
        linear_tracks.two_tracks, ("on_other_side", "more_run_side_at_rest", "rest_as_awake")
    ),
    "gupta_2t": TaskEntry(
        t_mazes.gupta_2t,
        (
            "reverse_share",
            "reverse_share_same_side",
            "reverse_share_other_side",
            "begins_at_animal",
            "on_other_side",
            "other_side_one_minus_both_run",
            "laps_since_other_side",
            "laps_run_on_its_side",
            "rest_as_awake",
            "shortcut_share",
            "composed_share",
            "paired_shortcut_share",
        ),
    ),
    "w_track": TaskEntry(
        arms.w_track,
        (
            "reverse_share",
            *(f"{name}_{well}" for name in _AT_WELLS for well in ("centre", "side")),
            "rest_as_awake",
            "last_to_first_session",
            "forward_minus_reverse_rank_in_stop",
        ),
    ),
    "t_unvisited": TaskEntry(t_mazes.t_unvisited, _T_ARMS),
    "t_unvisited_unknown": TaskEntry(t_mazes.t_unvisited_unknown, _T_ARMS),
    "t_revaluation": TaskEntry(
        t_mazes.t_revaluation,
        ("reverse_share", "better_paid_side", "better_paid_side_at_rest", "rest_as_awake"),
    ),
    "barrier_arena": TaskEntry(
        arenas.barrier_arena,
        (
            "both_ways_share",
            "composed_share",
            "wall_crossing_share",
            "wall_crossing_share_first_laps",
            "layouts_crossed_more",
            "sessions_within_walls",
            "through_goal_share",
            "followed_if_to_goal",
            "displacement_exponent",
            "displacement_exponent_at_rest",
        ),
        min_length=3,
    ),
    "eight_arm": TaskEntry(
        arms.eight_arm,
        (
            "reverse_share",
            "begins_at_animal",
            "in_another_arm",
            "in_another_arm_or_box",
            "past_arm_rate",
            "previous_goal_rate",
            "future_arm_rate",
        ),
        min_length=3,
    ),
    "y_maze": TaskEntry(
        arms.y_maze,
        (
            "reverse_share",
            "begins_at_animal",
            "rest_as_awake",
            "composed_share",
            "composed_share_at_rest",
        ),
    ),
    "liu2021_three_arm": TaskEntry(
        people.liu2021_three_arm,
        (
            "higher_utility_share",
            "higher_need_share",
            "higher_gain_share",
            "other_paths_to_end_share",
        ),
        min_length=3,
    ),
    "liu2019_chains": TaskEntry(
        people.liu2019_chains,
        (
            "reverse_share",
            "paid_sequence_after_minus_before",
            "paid_minus_neutral_sequence",
            "paid_sequenceness_after_minus_before",
            "paid_minus_neutral_sequenceness",
        ),
        min_length=3,
    ),
    "mattar_open_maze": TaskEntry(
        arenas.mattar_open_maze,
        (
            "reverse_share",
            "both_ways_share",
            "rest_as_awake",
            "composed_share",
            "through_goal_share",
            "displacement_exponent",
            "displacement_exponent_at_rest",
        ),
    ),
}
"""Name -> task."""


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
