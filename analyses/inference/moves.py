"""The moves of an animal: its laps, what each move paid, and what learners are fed with.

*Headings*, for animals whose cells tell which way they head.
Where a corridor is run both ways, place cells distinguish the directions, and replay against the
heading that is represented differs from replay along it. Accounts then learn in states that are
those of :mod:`replay.tasks`: a place, and a heading away from home or towards it. Home is where
most laps begin.

*Finer states*, on a track that is cut more finely than it was described.
Animals have no states, and a replay of so many backups is shorter in smaller ones. An account may
therefore learn and replay in finer states, and is read in those in which the animal's replay is
described, as a recording would be: a place between two of these is none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.findings.priors import Parameter
from analyses.sequences.logs import Columns
from replay.checks import check_all, check_column, check_table
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.log.backups import PHASES
from replay.log.event_log import EventLog
from replay.simulation.feed import paid_rewards
from replay.tasks.places import Rule, explore
from replay.worlds.mdp import MDP

_WHOLE, _NUMBER = {"kind": "whole", "at_least": 0}, {"kind": "number"}
_LAP = {"kind": "number", "at_least": 0, "missing": True}
REWARD_COLUMNS: dict[str, dict[str, Any]] = {
    "reward": _NUMBER, "time": _NUMBER, "step": _WHOLE, "state": _WHOLE, "x": _NUMBER, "y": _NUMBER,
    "visit": _WHOLE, "first_lap": _LAP, "last_lap": _LAP,
}  # fmt: skip
"""Columns of a table of rewards, and what they hold: see `paid_by_step`."""

_WAYS = ("time", "step", "state", "x")
_OF_LENGTH = (
    "n_replays", "max_backups", "max_pops", "mean_backups", "length", "most_places", "n",
    "n_remembered",
)  # fmt: skip


def laps_of(steps: Columns) -> Int32s:
    """Return the lap of each step, shape (n_steps,), from 0."""
    ended = (steps["terminated"] | steps["truncated"]).astype(np.int32)
    laps: Int32s = np.cumsum(np.insert(ended, 0, 0)[:-1], dtype=np.int32)
    return laps


def transitions_of(steps: Columns, world: MDP, reward: Floats) -> pd.DataFrame:
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
    # A log's own action is kept where it leads to the next state, and replaced where it does not.
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
) -> Floats:
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
                f"{name} has no rewards, which most accounts learn from. Give a table of `reward` "
                "by `state`, by place (`x, y` in cm), by `time` (s) or by `step`: on the command "
                "line --rewards FILE, in Python rewards=, which may also be {state: amount}. The "
                "file states.csv of a recording says where its states are."
            )
        return reward
    if isinstance(rewards, pd.DataFrame):
        table = check_rewards(rewards, "rewards")
        if "time" in table:
            time, clock = table["time"], steps["time"]
            if np.isnan(clock).any():
                raise ValueError(
                    f"Rewards have times, but moves of {name} have none: give their 'time'."
                )
            latest = 2 * clock[-1] - clock[0]  # a clock in ms is far beyond
            if len(time) and not clock[0] <= time.min() <= time.max() <= latest:
                raise ValueError(
                    f"Rewards of {name} come from {time.min():,.1f} to {time.max():,.1f} s, but "
                    f"its moves from {clock[0]:,.1f} to {clock[-1]:,.1f} s: both must be in "
                    "seconds on one clock."
                )
            step = np.searchsorted(clock, time, side="right") - 1
            rewards = pd.DataFrame({"step": step, "reward": table["reward"]})
        elif not {*table} <= {"state", "step", "reward"}:
            rewards = _paid_visits(table, steps, world, name)
    return paid_rewards(rewards, steps["state"], steps["next_state"], world.n_states)


def _paid_visits(table: pd.DataFrame, steps: Columns, world: MDP, name: str) -> pd.DataFrame:
    """List the steps that enter a state when it pays."""
    if "x" in table:
        table = table.assign(state=nearest_states(table, world))
    # Who stays in a state does not enter it again.
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


def nearest_states(table: pd.DataFrame, world: MDP) -> Ints:
    """Find the state nearest to each place, `x, y` in cm."""
    if world.position is None:
        raise ValueError(f"The states of {world.name} have no positions: give 'state', not 'x'.")
    away = world.position[:, None] - table[["x", "y"]].to_numpy(dtype=float)
    return np.asarray(np.nanargmin(np.hypot(*away.T), axis=1))


class Headings(NamedTuple):
    """The states of a track that is run both ways."""

    world: MDP  # all states and moves
    place: Int32s  # of each state
    away: NDArray[np.int8]  # 1 if a state heads away from home, -1 if it heads towards it
    far: Int32s  # number of moves from home to the place of each state
    # The animal's moves, shape (n_steps,).
    state: Int32s
    next_state: Int32s

    def in_places(self, reactivated: Columns) -> dict[str, NDArray[Any]]:
        """List the places of reactivated states, and whether these head along the travel.

        As in recordings, `along` is 1 where the move from the reactivation before could be made, -1
        where its reverse could, and 0 where both could or none; the first in an event has that of
        the second.
        """
        state, event = reactivated["place"], reactivated["event"]
        location = reactivated["location"]
        place = self.place[state]
        is_new = differ_from_before(place, event)
        state, event, place = state[is_new], event[is_new], place[is_new]
        along = np.zeros(len(state), dtype=np.int8)
        travel = np.sign(self.far[state[1:]] - self.far[state[:-1]])
        could = (self.away[state[1:]] == travel).astype(np.int8)
        could_back = (self.away[state[:-1]] == -travel).astype(np.int8)
        same = event[1:] == event[:-1]
        along[1:] = np.where(same, could - could_back, 0)
        first = np.flatnonzero(np.append(True, ~same)[:-1] & same)
        along[first] = along[first + 1]
        kept = {name: values[is_new] for name, values in reactivated.items()}
        location = np.where(location < 0, -1, self.place[location])[is_new]
        return kept | {"place": place, "along": along, "location": location}


def headings_of(log: EventLog, graph: nx.Graph) -> Headings | None:
    """Find the states with headings of a track; None where headings have no meaning.

    That is where two neighbouring places are equally far from home, or home cannot be reached.
    """
    steps = log.columns("steps")
    ended = (steps["terminated"] | steps["truncated"])[:-1]
    begins = np.append(True, ended)
    home = int(np.argmax(np.bincount(steps["state"][begins])))
    # Places are named as `explore` asks for; those of unknown position lie on a line.
    named = nx.Graph()
    position = None if log.mdp is None else log.mdp.position
    for place in sorted(graph):
        x, y = (float(place), 0.0) if position is None else position[place].tolist()
        named.add_node(str(place), pos=(x, y))
    named.add_edges_from((str(here), str(there)) for here, there in graph.edges)
    try:
        places = explore(named, [Rule(tuple(map(str, sorted(graph))), ())], str(home))
    except ValueError:  # replay.tasks says what is wrong, but a recording cannot be mended
        return None
    # Moves from place to place become moves from state to state.
    state = np.empty(len(begins), dtype=np.int32)
    next_state = np.empty_like(state)
    now = -1
    rows = zip(begins.tolist(), steps["state"].tolist(), steps["next_state"].tolist(), strict=True)
    for row, (begin, here, there) in enumerate(rows):
        if begin:
            now = places.number[places.start(str(here))]
        state[row] = now
        if there != here:
            now = places.number[places.enter(places.states[now], str(there), False)]
        next_state[row] = now
    of_state = np.array([int(each.node) for each in places.states], dtype=np.int32)
    away = np.array([1 if each.heading == ">" else -1 for each in places.states], dtype=np.int8)
    far = np.array([places.steps_from_home[each.node] for each in places.states], dtype=np.int32)
    return Headings(places.whole, of_state, away, far, state, next_state)


def differ_from_before(place: NDArray[Any], event: NDArray[Any]) -> Bools:
    """Say which reactivations are of another place, or event, than the one before.

    Examples
    --------
    >>> differ_from_before(np.array([4, 4, 5, 5]), np.array([0, 0, 0, 1])).tolist()
    [True, False, True, True]
    """
    same = (place[1:] == place[:-1]) & (event[1:] == event[:-1])
    return np.append(True, ~same)[: len(place)]


def finer_log(log: EventLog, world: MDP, n: int) -> EventLog:
    """Cut each move in `n`, by way of new states between two neighbours.

    States keep their numbers; the new ones follow. The reward, and the end of a lap, come with the
    last part of a move.

    Examples
    --------
    >>> world = MDP.from_networkx(nx.path_graph(3))
    >>> log = EventLog({"steps": {"state": [0, 1], "next_state": [1, 2], "reward": [0.0, 1.0],
    ...                           "terminated": [False, True]}}, mdp=world)
    >>> steps = finer_log(log, world, 2).steps
    >>> steps["state"].tolist(), steps["reward"].tolist()
    ([0, 3, 1, 4], [0.0, 0.0, 0.0, 1.0])
    """
    here, there = world.transition_rows() // world.n_actions, world.successor
    moves = {pair for pair in zip(here.tolist(), there.tolist(), strict=True) if len({*pair}) == 2}
    number = {pair: k for k, pair in enumerate(sorted({(min(pair), max(pair)) for pair in moves}))}
    n_states = world.n_states

    def way(begin: int, end: int) -> list[int]:
        """List the states of a move, from its begin to its end."""
        if begin == end:
            return [begin] * (n + 1)
        first = n_states + number[min(begin, end), max(begin, end)] * (n - 1)
        between = list(range(first, first + n - 1))
        return [begin, *(between if begin < end else between[::-1]), end]

    # A track that is run one way must not gain ways back.
    is_two_way = all((end, begin) in moves for begin, end in moves)
    graph = nx.Graph() if is_two_way else nx.DiGraph()
    graph.add_nodes_from(range(n_states + len(number) * (n - 1)))
    for begin, end in sorted(moves):
        nx.add_path(graph, way(begin, end))
    fine = MDP.from_networkx(graph, name=world.name)
    if world.position is not None:
        where = np.empty((fine.n_states, 2))
        where[:n_states] = world.position
        shares = np.linspace(0, 1, n + 1)[:, None]
        for begin, end in number:
            own = (1 - shares) * world.position[begin] + shares * world.position[end]
            where[way(begin, end)] = own
        fine = replace(fine, position=where)
    steps = log.columns("steps")
    ways = np.array(
        [
            way(*pair)
            for pair in zip(steps["state"].tolist(), steps["next_state"].tolist(), strict=True)
        ]
    )
    is_last = np.arange(n) == n - 1
    last = {name: np.where(is_last, steps[name][:, None], 0).ravel()
            for name in ("reward", "terminated", "truncated")}  # fmt: skip
    last = {name: each.astype(steps[name].dtype) for name, each in last.items()}
    parts = {"state": ways[:, :-1].ravel(), "next_state": ways[:, 1:].ravel(), **last}
    return EventLog({"steps": parts}, mdp=fine)


def in_described_states(reactivated: Columns, n: int, n_places: int) -> Columns:
    """Read what was replayed in finer states; equal neighbours become one place."""
    step, event = reactivated["step"], reactivated["event"]
    is_within = (reactivated["phase"] == PHASES.index("step")) & ((step + 1) % n > 0)
    rows = np.flatnonzero((reactivated["place"] < n_places) & ~is_within)
    place = reactivated["place"][rows]
    is_new = differ_from_before(place, event[rows])
    found = {name: values[rows[is_new]] for name, values in reactivated.items()}
    return {**found, "step": found["step"] // n}


def scaled(params: dict[str, Parameter], n: int) -> dict[str, Parameter]:
    """Let a pause cover the same distance in finer states.

    Examples
    --------
    >>> scaled({"max_pops": 3, "discount": 0.9}, 2)
    {'max_pops': 6, 'discount': 0.9}
    """
    return {key: value * n if key in _OF_LENGTH else value
            for key, value in params.items()}  # fmt: skip
