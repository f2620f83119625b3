"""Effects of the gain floor: the simulations of Mattar & Daw (2018), with and without it.

Their gain is never less than 1e-10. Where nothing can be gained, replay then follows need alone,
and runs forward from the animal's place. The tasks are theirs: a linear track run in both
directions, and an open maze with random starts; the reward at the goal varies.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from laps import LapProtocol, run_laps, steady_reward

from analyses.cli.studies import run_file
from analyses.intervals import mean_interval
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, SizedPlan, Study, sized
from analyses.sequences.segments import find_segments, segments_per_episode
from replay.checks import check_choice
from replay.learners import find_learner
from replay.log.event_log import EventLog
from replay.worlds.mazes import open_maze, two_way_track

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GAIN_FLOOR_SETTINGS", "GAIN_FLOOR_TASKS", "STUDY", "lap_protocol", "simulate_laps"]

GAIN_FLOOR_SETTINGS: dict[str, dict[str, Any]] = {
    "floor": {"gain_floor": 1e-10},
    "no_floor": {"gain_floor": 0.0},
    "no_need": {"gain_floor": 1e-10, "need": "one"},
}
"""Setting -> its parameters; all others are the published ones."""

GAIN_FLOOR_TASKS = ("linear_track", "open_maze")


def lap_protocol(
    task: str, draw_reward: Callable[[np.random.Generator, int], float] = steady_reward
) -> LapProtocol:
    """Make one of the two tasks.

    On the track each lap starts where the previous one ended, in the other direction; in the open
    maze it starts in a random state.
    """
    check_choice("task", task, GAIN_FLOOR_TASKS)
    mdp = open_maze(random_starts=True) if task == "open_maze" else two_way_track()
    starts = np.flatnonzero(mdp.start_probability)
    after = [starts] * mdp.n_states
    if task == "linear_track":  # the next lap begins beside the end of this one
        row = np.array(mdp.position)[:, 1]
        after = [starts[row[starts] != here] for here in row]
    return LapProtocol(mdp, after, mdp.terminal, draw_reward)


def simulate_laps(
    task: str, params: Mapping[str, Any] | None = None, *, n_episodes: int = 50, seed: int = 0
) -> EventLog:
    """Simulate one animal in one of the two tasks, with noisy rewards.

    Rewards have the mean 1 and the standard deviation 0.1; negative ones become 0. On the track
    each lap starts where the previous one ended, in the other direction.

    Examples
    --------
    >>> log = simulate_laps("linear_track", n_episodes=2)
    >>> log.steps["terminated"].sum()
    np.int64(2)
    """
    found = find_learner("prioritized_memory_access_published", params)
    return run_laps(lap_protocol(task), found, n_laps=n_episodes, seed=seed)


def _count_segments(seed: int) -> pd.DataFrame:
    """Count forward and reverse segments per episode of one animal in all tasks and settings."""
    cells = []
    for task in GAIN_FLOOR_TASKS:
        for setting, params in GAIN_FLOOR_SETTINGS.items():
            log = simulate_laps(task, params, seed=seed)
            counts = segments_per_episode(find_segments(log.backups), log.steps)
            counts.insert(0, "task", task)
            counts.insert(1, "setting", setting)
            cells.append(counts)
    return pd.concat(cells, ignore_index=True)


def _seed(seed: int, animal: int) -> int:
    child = np.random.SeedSequence(seed, spawn_key=(animal,))
    return int(child.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _make(plan: SizedPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    return {"segments": _count_segments(_seed(plan.seed, piece.number))}


def _summarise(plan: SizedPlan, results: Results) -> dict[str, pd.DataFrame]:
    counts = results.read_pieces("segments")
    groups = ["task", "setting", "place", "direction"]
    return {"gain_floor.csv": mean_interval(counts, "per_episode", groups)}


def _show(plan: SizedPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    return [Shown(table=tables["gain_floor.csv"].drop(columns="sem"))]


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from gain_floor_figures import gain_floor_figure

    yield "gain_floor", gain_floor_figure(results.read("gain_floor.csv"))


STUDY = Study(
    "gain_floor",
    "Is there forward replay without the floor under the gain?",
    plan=sized(50, "animals"),
    make=_make,
    summarise=_summarise,
    figures={"gain_floor": _draw},
    show=_show,
    command="python tests/verification/gain_floor.py",
)

if __name__ == "__main__":
    run_file(__file__)
