"""Simulated animals: a learner goes through the protocol of a task."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replay.event_log import EventLog
from replay.names import unknown_name
from replay.simulation import feed
from replay.tasks.task import Lap, Task

__all__ = ["BEHAVIOURS", "TaskRun", "run_task"]

BEHAVIOURS = ("given", "own")


class TaskRun(NamedTuple):
    """What one animal did and replayed.

    Attributes
    ----------
    log : EventLog
        Steps and backups, in analysed states.
    laps : DataFrame
        One row a lap, which is an episode: `episode, block, lap` (its name), `start, end` (analysed
        states), `reward, n_steps, n_rest` (pauses of rest after it).
    """

    log: EventLog
    laps: pd.DataFrame


def run_task(
    task: Task, learner: Any, params: Any = None, *, seed: int = 0, behaviour: str = "given"
) -> TaskRun:
    """Let one animal go through a task.

    A reward has the mean that its block says and a standard deviation of a tenth of it, as in the
    simulations of Mattar & Daw (2018); a negative one becomes 0. This is a modelling choice.

    Parameters
    ----------
    task : Task
        What is run.
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    seed : int, default 0
        Seed of all randomness.
    behaviour : {"given", "own"}, default "given"
        Whether laps are run as the task gives them, so that all learners replay after the same
        experience, or as the learner acts.

    Returns
    -------
    TaskRun
        Log and laps.

    Raises
    ------
    ValueError
        If the behaviour is unknown, or a parameter is out of range.
    """
    if behaviour not in BEHAVIOURS:
        raise unknown_name("behaviour", behaviour, BEHAVIOURS)
    laps_rng, reward_rng = (
        np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(3)[1:]
    )
    laps, transitions = _given_laps(task, laps_rng, reward_rng)
    n_done = transitions.groupby("episode").size().cumsum()
    rest = {int(n_done[i]): lap.n_rest for i, lap in enumerate(laps)}
    if task.blocks and task.blocks[0].n_laps == 0:
        rest[0] = task.blocks[0].n_rest
    model = task.model.world()
    log = feed(
        learner,
        transitions,
        n_states=model.n_states,
        n_actions=model.n_actions,
        params=params,
        seed=seed,
        mdp=model,
        rest=rest,
    ).label(seed=seed, mdp=task.name)
    return TaskRun(_analysed(log, task), _laps(task, laps, transitions))


def _given_laps(
    task: Task, laps_rng: np.random.Generator, reward_rng: np.random.Generator
) -> tuple[list[Lap], pd.DataFrame]:
    """Run the laps as the task gives them; the table is what `feed` takes."""
    laps, rows = [], []
    protocol = task.laps(laps_rng)
    sent = None
    while True:
        try:
            lap = protocol.send(sent)
        except StopIteration:
            break
        if lap.path is None:
            raise ValueError(
                f"The task {task.name!r} gives no way for lap {len(laps)}: let the learner act, "
                "with behaviour='own'."
            )
        sent = lap.path
        means = lap.world.expected_reward()
        for state, next_state in zip(lap.path[:-1], lap.path[1:], strict=True):
            action = task.model.action(state, next_state)
            reward = noisy(means[state, action], task.reward_sd, reward_rng)
            rows.append((len(laps), state, action, reward, next_state))
        laps.append(lap)
    table = pd.DataFrame(rows, columns=["episode", "state", "action", "reward", "next_state"])
    return laps, table.assign(
        terminated=table["episode"] != table["episode"].shift(-1),
        next_action=table["action"].shift(-1, fill_value=0),
    )


def noisy(mean: float, sd: float, rng: np.random.Generator) -> float:
    """Draw a reward: normal, but never negative; `sd` is a share of the mean."""
    return max(float(rng.normal(mean, sd * mean)), 0.0) if mean * sd else float(mean)


def _analysed(log: EventLog, task: Task) -> EventLog:
    """Name the states of a log as they are seen in the analyses."""
    steps, backups = dict(log.columns("steps")), dict(log.columns("backups"))
    for table in (steps, backups):
        for column in {"state", "next_state", "location"} & table.keys():
            table[column] = task.analysed[table[column]]
    tables = {"runs": log.columns("runs"), "steps": steps, "backups": backups}
    return EventLog(tables, log.provenance, task.world)


def _laps(task: Task, laps: list[Lap], transitions: pd.DataFrame) -> pd.DataFrame:
    by_lap = transitions.groupby("episode")
    return pd.DataFrame(
        {
            "episode": np.arange(len(laps)),
            "block": [lap.block for lap in laps],
            "lap": [lap.name for lap in laps],
            "start": task.analysed[by_lap["state"].first()],
            "end": task.analysed[by_lap["next_state"].last()],
            "reward": by_lap["reward"].sum().to_numpy(),
            "n_steps": by_lap.size().to_numpy(),
            "n_rest": [lap.n_rest for lap in laps],
        }
    )
