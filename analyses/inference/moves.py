"""The moves of an animal: its laps, what each move paid, and what learners are fed with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.runs import Columns
from replay.checks import check_all, check_column, check_table
from replay.simulation.feed import paid_rewards
from replay.worlds.mdp import MDP

_WHOLE, _NUMBER = {"kind": "whole", "at_least": 0}, {"kind": "number"}
_LAP = {"kind": "number", "at_least": 0, "missing": True}
REWARD_COLUMNS: dict[str, dict[str, Any]] = {
    "reward": _NUMBER, "time": _NUMBER, "step": _WHOLE, "state": _WHOLE, "x": _NUMBER, "y": _NUMBER,
    "visit": _WHOLE, "first_lap": _LAP, "last_lap": _LAP,
}  # fmt: skip
"""Columns of a table of rewards, and what they hold: see `paid_by_step`."""

_WAYS = ("time", "step", "state", "x")


def laps_of(steps: Columns) -> NDArray[np.int32]:
    """Return the lap of each step, shape (n_steps,), from 0."""
    ended = (steps["terminated"] | steps["truncated"]).astype(np.int32)
    laps: NDArray[np.int32] = np.cumsum(np.insert(ended, 0, 0)[:-1], dtype=np.int32)
    return laps


def transitions_of(steps: Columns, world: MDP, reward: NDArray[np.float64]) -> pd.DataFrame:
    """Make the table that learners are fed with; each action is one that leads where it led."""
    state, next_state = steps["state"], steps["next_state"]
    rows = world.transition_rows()
    leads = dict(
        zip(
            zip((rows // world.n_actions).tolist(), world.successor.tolist(), strict=True),
            (rows % world.n_actions).tolist(),
            strict=True,
        )
    )
    given = set(zip(rows.tolist(), world.successor.tolist(), strict=True))
    action = steps["action"].astype(np.int64)
    for row, (here, there) in enumerate(zip(state.tolist(), next_state.tolist(), strict=True)):
        if (here * world.n_actions + int(action[row]), there) in given and action[row] >= 0:
            continue
        if (here, there) not in leads:
            raise ValueError(
                f"Move {row} goes from state {here} to state {there}, which the world "
                f"{world.name!r} does not allow."
            )
        action[row] = leads[here, there]
    return pd.DataFrame(
        {
            "state": state, "action": action, "reward": reward, "next_state": next_state,
            "terminated": steps["terminated"], "truncated": steps["truncated"],
            "next_action": np.append(action[1:], 0),
        }
    )  # fmt: skip


def check_rewards(table: pd.DataFrame, what: str) -> pd.DataFrame:
    """Check a table of rewards, and keep the columns that say where or when these were paid."""
    ways = [name for name in _WAYS if name in table] or ["state"]
    if len(ways) > 1:
        raise ValueError(
            f"{what} says in two ways what was paid, by {ways[0]!r} and by {ways[1]!r}: leave one "
            "of these columns out."
        )
    check_table(table, [ways[0], *(["y"] if ways == ["x"] else []), "reward"], what)
    known = [name for name in REWARD_COLUMNS if name in table]
    only = {"visit", "first_lap", "last_lap"} & {*known}
    if only and ways[0] in ("time", "step"):
        raise ValueError(
            f"The column {min(only)!r} of {what} is for rewards of a state: leave it out, or give "
            f"'state' instead of {ways[0]!r}."
        )
    check_all(partial(check_column, table, name, what, **REWARD_COLUMNS[name]) for name in known)
    return table[known]


def paid_by_step(
    steps: Columns, rewards: Mapping[int, float] | pd.DataFrame | None, world: MDP, name: str
) -> NDArray[np.float64]:
    """Return the reward of each step: as given, else as the log has it.

    A table has a `reward` for each `step`; for each `time`, such as that of a pump, which pays the
    state in which the animal then was; or for each `state`, or the one nearest to `x, y` (cm), paid
    whenever it is entered, or in a `visit` only, or from `first_lap` to `last_lap`, all from 0.

    Examples
    --------
    >>> steps = {"state": np.array([0, 1, 0, 1]), "next_state": np.array([1, 2, 1, 2]),
    ...          "terminated": np.array([False, True] * 2), "truncated": np.zeros(4, bool),
    ...          "reward": np.full(4, np.nan), "time": np.array([1.0, 2.0, 5.0, 6.0])}
    >>> world = MDP.from_tables([[1], [2], [2]], reward=np.zeros(3), terminal=[2])
    >>> pumps = pd.DataFrame({"time": [6.2], "reward": 1.0})
    >>> paid_by_step(steps, pumps, world, "rat").tolist()
    [0.0, 0.0, 0.0, 1.0]
    >>> moves = pd.DataFrame({"state": [2, 1], "first_lap": [0, 1], "last_lap": [0, np.nan],
    ...                       "reward": 1.0})
    >>> paid_by_step(steps, moves, world, "rat").tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    reward = np.array(steps["reward"], dtype=np.float64)
    if rewards is None:
        if np.isnan(reward).all():
            raise ValueError(
                f"{name} has no rewards, which most accounts learn from. Give what each state paid "
                "when it was entered, rewards={state: amount}, or a table of `reward` by `state`, "
                "by place (`x, y` in cm), by `time` (s) or by `step`; on the command line "
                "--rewards FILE. Where the states of a recording are is in its states.csv."
            )
        return reward
    if isinstance(rewards, pd.DataFrame):
        table = check_rewards(rewards, "rewards")
        if "time" in table:
            rewards = pd.DataFrame({"step": _steps_at(table["time"], steps, name),
                                    "reward": table["reward"]})  # fmt: skip
        elif not {*table} <= {"state", "step", "reward"}:
            rewards = _paid_visits(table, steps, world, name)
    return paid_rewards(rewards, steps["state"], steps["next_state"], world.n_states)


def _steps_at(time: pd.Series, steps: Columns, name: str) -> NDArray[np.int64]:
    """Find the latest step before each reward."""
    clock = steps["time"]
    if np.isnan(clock).any():
        raise ValueError(f"Rewards have times, but moves of {name} have none: give their 'time'.")
    if len(time) and not clock[0] <= time.min() <= time.max() <= 2 * clock[-1] - clock[0]:
        raise ValueError(
            f"Rewards of {name} come from {time.min():,.1f} to {time.max():,.1f} s, but its moves "
            f"from {clock[0]:,.1f} to {clock[-1]:,.1f} s: both must be in seconds on one clock."
        )
    return np.searchsorted(clock, time, side="right") - 1


def _paid_visits(table: pd.DataFrame, steps: Columns, world: MDP, name: str) -> pd.DataFrame:
    """List the steps that enter a state when it pays."""
    if "x" in table:
        table = table.assign(state=nearest_states(table, world))
    entered = np.where(steps["state"] != steps["next_state"], steps["next_state"], -1)
    lap, parts = laps_of(steps), []
    for row in table.to_dict("records"):
        paid = np.flatnonzero(entered == row["state"])
        if "visit" in row:
            if row["visit"] >= len(paid):
                raise ValueError(
                    f"rewards has visit {row['visit']} of state {row['state']}, which {name} "
                    f"entered {len(paid)} times: visits are numbered from 0."
                )
            paid = paid[[row["visit"]]]
        first, last = np.nan_to_num([row.get("first_lap", 0), row.get("last_lap", np.nan)], nan=-1)
        is_open = (lap[paid] >= first) & ((lap[paid] <= last) | (last < 0))
        parts.append(pd.DataFrame({"step": paid[is_open], "reward": row["reward"]}))
    found = pd.concat(parts, ignore_index=True)
    for again in found.loc[found["step"].duplicated(), "step"].head(1):
        raise ValueError(
            f"rewards says twice what state {entered[again]} paid in lap {lap[again]}: say it once."
        )
    return found


def nearest_states(table: pd.DataFrame, world: MDP) -> NDArray[np.int64]:
    """Find the state nearest to each place, `x, y` in cm."""
    if world.position is None:
        raise ValueError(f"The states of {world.name} have no positions: give 'state', not 'x'.")
    away = world.position[:, None] - table[["x", "y"]].to_numpy(dtype=float)
    return np.asarray(np.nanargmin(np.hypot(*away.T), axis=1))
