"""Simulated animals: a learner goes through the protocol of a task."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replay.checks import unknown_name
from replay.log.event_log import EventLog
from replay.simulation import feed
from replay.tasks.own_behaviour import act_through, noisy
from replay.tasks.task import Lap, Task, begin, send

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
        states), `reward, n_steps, n_rest` (pauses of rest after it), `goal` (the analysed state in
        which it paid most, -1 if it paid nowhere).
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
    replay_rng, *rngs = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(4))
    first = task.blocks[0] if task.blocks else None
    n_rest = first.n_rest if first is not None and first.n_laps == 0 else 0
    if behaviour == "own":
        laps, log = act_through(
            task, learner, params, seed=seed, n_rest_before=n_rest, rngs=(replay_rng, *rngs)
        )
    else:
        laps, transitions = _given_laps(task, *rngs[:2])
        ends = np.flatnonzero(transitions["terminated"]) + 1
        log = feed(
            learner,
            transitions,
            n_states=len(task.model.states),
            n_actions=task.model.n_actions,
            params=params,
            seed=seed,
            mdp=task.model.whole,
            rest={0: n_rest} | {n: lap.n_rest for n, lap in zip(ends.tolist(), laps, strict=True)},
        ).label(seed=seed, mdp=task.name)
    return TaskRun(_analysed(log, task), _laps(task, laps, log.columns("steps")))


def _given_laps(
    task: Task, laps_rng: np.random.Generator, reward_rng: np.random.Generator
) -> tuple[list[Lap], pd.DataFrame]:
    """Run the laps as the task gives them; the table is what `feed` takes."""
    laps: list[Lap] = []
    rows = []
    protocol, first = begin(task, laps_rng)
    lap: Lap | None = first
    while lap is not None:
        if lap.path is None:
            raise ValueError(
                f"The task {task.name!r} gives no way for lap {len(laps)}: let the learner act, "
                "with behaviour='own'."
            )
        means = lap.world.expected_reward()
        for state, next_state in pairwise(lap.path):
            action = task.model.action(state, next_state)
            if next_state not in lap.world.successors(state, action):
                here, there = (task.model.states[number].node for number in (state, next_state))
                raise ValueError(
                    f"Lap {len(laps)} of the task {task.name!r} is to go from {here!r} to "
                    f"{there!r}, but its world has no such move: the way is closed, or the lap "
                    "ends elsewhere."
                )
            reward = noisy(means[state, action], task.reward_sd, reward_rng)
            rows.append((len(laps), state, action, reward, next_state))
        laps.append(lap)
        lap = send(protocol, lap.path)
    table = pd.DataFrame(rows, columns=["episode", "state", "action", "reward", "next_state"])
    return laps, table.assign(
        terminated=table["episode"] != table["episode"].shift(-1),
        next_action=table["action"].shift(-1, fill_value=0),
    )


def _analysed(log: EventLog, task: Task) -> EventLog:
    """Name the states of a log as the analyses see them."""
    steps, backups = dict(log.columns("steps")), dict(log.columns("backups"))
    for table in (steps, backups):
        for column in {"state", "next_state", "location"} & table.keys():
            table[column] = task.analysed[table[column]]
    tables = {"runs": log.columns("runs"), "steps": steps, "backups": backups}
    return EventLog(tables, log.provenance, task.world)


def _laps(task: Task, laps: list[Lap], steps: dict[str, np.ndarray]) -> pd.DataFrame:
    """Tell how each lap was run."""
    ends = np.flatnonzero(steps["terminated"] | steps["truncated"])
    begins = np.append(0, ends[:-1] + 1)
    start, end = steps["state"][begins], steps["next_state"][ends]
    names = []
    for lap, first, last in zip(laps, start, end, strict=True):
        way = task.model.states[first].node, task.model.states[last].node
        names.append(task.lap_names.get(way, "other") if task.lap_names else lap.name)
    return pd.DataFrame(
        {
            "episode": np.arange(len(laps)),
            "block": [lap.block for lap in laps],
            "lap": names,
            "start": task.analysed[start],
            "end": task.analysed[end],
            "reward": np.add.reduceat(steps["reward"], begins),
            "n_steps": ends + 1 - begins,
            "n_rest": [lap.n_rest for lap in laps],
            "goal": [_goal(task, lap) for lap in laps],
        }
    )


def _goal(task: Task, lap: Lap) -> int:
    """Look up where a lap pays most; -1 if it pays nowhere."""
    states, paid = task.model.states, lap.world.reward
    rows = lap.world.transition_rows() // lap.world.n_actions
    memory = states[lap.start].memory
    here = [states[row].memory == memory for row in rows[paid > 0]]
    entered, amount = lap.world.successor[paid > 0][here], paid[paid > 0][here]
    if not len(entered):
        return -1
    at_end = [states[state].end for state in entered]
    return int(task.analysed[entered[np.lexsort((at_end, amount))[-1]]])
