"""Let a learner learn from recorded experience, and log its backups."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replay.checks import (
    LARGEST_NUMBER,
    MOST_STATES,
    check_all,
    check_choice,
    check_column,
    check_function,
    check_number,
    check_seconds,
    check_table,
    check_whole,
    known_arguments,
    shown,
)
from replay.checks.arrays import Floats
from replay.learners import Learner, find_learner
from replay.learners.contract import Sizes
from replay.log.event_log import EventLog
from replay.simulation.driver import Driver, LogWriter, replay_stream, way_back
from replay.simulation.loop import STEP_ROW, Given
from replay.worlds.mdp import MDP

_NUMBERS = "States are numbered from 0; pandas.factorize turns names into numbers."
_OPTIONAL = ("truncated", "next_action", "start_state", "time")


# Many parameters: what a user may set of a run is set in one call, here and in `simulate`.
@known_arguments
def feed(
    learner: Any,
    transitions: pd.DataFrame,
    *,
    n_states: int | None = None,
    n_actions: int | None = None,
    params: Any = None,
    seed: int = 0,
    on_step: Callable[[int, Any], None] | None = None,
    log: str = "all",
    mdp: MDP | None = None,
    rest: Mapping[int, int] | None = None,
    rewards: Mapping[int, float] | pd.DataFrame | None = None,
) -> EventLog:
    """Let a learner learn from recorded experience, of an animal or of another run.

    Parameters
    ----------
    learner : str or module
        A name in ``LEARNERS``, or your own module.
    transitions : DataFrame
        One row per step: ``state, action, reward, next_state`` (the state entered; at an end, the
        terminal one) and ``terminated``, such as ``experience.parquet`` of ``replay recording``,
        which needs `rewards`; optionally ``truncated``, ``next_action`` (chosen in
        `next_state`, or after an end in the next episode's first state; on-policy learners need
        it), ``start_state`` (after an end: the next episode's first state; by default the next
        row's `state`) and ``time`` (seconds).
    n_states, n_actions : int, optional
        Size of the world; by default that of `mdp`.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    seed : int, default 0
        Seed of the random numbers of replay.
    on_step : callable, optional
        Called as ``on_step(k, memory)`` after row k; ``memory.action_values`` holds the learned
        values.
    log : {"all", "replay"}, default "all"
        Whether all backups are kept, or replay only.
    mdp : MDP, optional
        The world in which the moves were made, if it is known. It supplies the positions of
        states, and the actions that lead back to learners with ``reversible``.
    rest : mapping of int to int, optional
        Number of preceding rows -> pauses of rest there, between two episodes. 0 is before the
        first row, when only learners with `explore` can replay; step and episode are then -1 in the
        log.
    rewards : mapping of int to float, or DataFrame, optional
        What each state pays whenever it is entered from another, or a table with a `reward` for
        each `state`, or for each rewarded `step` (the number of the row); all else pays nothing. It
        takes the place of the column ``reward``, which recordings do not know.

    Raises
    ------
    ValueError
        If a column is missing or out of range, times decrease, successive rows without an end
        between them do not connect, the world lacks a move, there is rest within an episode, or the
        learner needs an end and there is none.
    TypeError
        If `transitions` is not a DataFrame, or `mdp` not an MDP.

    Examples
    --------
    >>> lap = pd.DataFrame({"state": [0, 1], "action": 0, "reward": [0.0, 1.0],
    ...                     "next_state": [1, 2], "terminated": [False, True]})
    >>> feed("episodic_control", lap, n_states=3, n_actions=1).backups["state"].tolist()
    [1, 0]
    """
    found = find_learner(learner, params)
    seed = check_whole("seed", seed)
    check_choice("log", log, ("all", "replay"))
    if on_step is not None:
        check_function("on_step", on_step, "a row", "a memory")
    if isinstance(getattr(transitions, "log", transitions), EventLog):
        expected = "transitions must be a DataFrame, such as log.steps"
        raise TypeError(f"{expected}; got {shown(transitions)}.")
    if isinstance(mdp, MDP):
        n_states = mdp.n_states if n_states is None else n_states
        n_actions = mdp.n_actions if n_actions is None else n_actions
    if n_states is None or n_actions is None:
        raise ValueError("feed needs the size of the world: give n_states and n_actions, or mdp.")
    if len(check_table(transitions, (), "transitions")) == 0:
        raise ValueError("transitions has no rows: feed needs at least one step.")
    if rewards is not None:
        n_states = check_whole("n_states", n_states, at_least=1, at_most=MOST_STATES)
        check_table(transitions, ["state", "next_state"], "transitions")
        left, entered = (
            check_column(transitions, name, "transitions", kind="whole", at_least=0,
                         at_most=n_states - 1, hint=_NUMBERS)
            for name in ("state", "next_state")
        )  # fmt: skip
        transitions = transitions.assign(reward=paid_rewards(rewards, left, entered, n_states))
    elif isinstance(paid := transitions.get("reward"), pd.Series) and paid.isna().all():
        raise ValueError(
            "The column 'reward' of transitions is empty, as recordings leave it: say what was "
            "paid with rewards={state: amount}, or rewards={} if nothing was."
        )
    experience = RecordedExperience.of(
        transitions, n_states=n_states, n_actions=n_actions, mdp=mdp, rest=rest
    )
    steps = experience.given.steps
    if mdp is not None:
        _check_moves(steps, mdp)
    writer = LogWriter(log, found, mdp, name="" if mdp is None else mdp.name)
    fed = experience.feed_to(found, writer, seed, on_step)
    has_ends = not len(steps) or bool((steps["terminated"] | steps["truncated"]).any())
    has_replay = has_ends or bool((fed.columns("backups")["event"] >= 0).any())
    if not has_replay and "ends" in found.description.pauses:
        warnings.warn(
            f"{found.name!r} replays at the ends of episodes, but no row of transitions is "
            "terminated or truncated, so nothing was replayed: mark where laps end.",
            stacklevel=3,
        )
    return fed


def paid_rewards(
    rewards: Mapping[int, float] | pd.DataFrame,
    state: NDArray[np.integer[Any]],
    next_state: NDArray[np.integer[Any]],
    n_states: int,
) -> Floats:
    """Return the reward of each step, shape (n_steps,); `rewards` are those of `feed`."""
    if isinstance(rewards, pd.DataFrame) and "state" in rewards:
        table = check_table(rewards, ["state", "reward"], "rewards")
        for again in table.loc[table["state"].duplicated(), "state"].head(1):
            raise ValueError(f"rewards has state {again} more than once: say once what it paid.")
        rewards = dict(zip(table["state"].tolist(), table["reward"].tolist(), strict=True))
    if isinstance(rewards, pd.DataFrame):
        table = check_table(rewards, ["step", "reward"], "rewards")
        by_step = np.zeros(len(state))
        for step, amount in zip(table["step"].tolist(), table["reward"].tolist(), strict=True):
            number = check_whole("A step of rewards", step, at_most=len(state) - 1)
            by_step[number] += check_number("A reward", amount)
        return by_step
    if not isinstance(rewards, Mapping):
        raise TypeError(f"rewards must map states to amounts, got {shown(rewards)}.")
    paid = np.zeros(n_states)
    for each, amount in rewards.items():
        known = check_whole("A state of rewards", each, at_most=n_states - 1)
        paid[known] = check_number(f"The reward of state {each}", amount)
    return np.where(state == next_state, 0.0, paid[next_state])


@dataclass(frozen=True, eq=False)
class RecordedExperience:
    """Recorded experience after all checks, for one learner after the other."""

    given: Given  # the steps, in the form that the loop reads
    sizes: Sizes  # size of the world, and the largest size of a learned model
    rests: dict[int, int]  # number of preceding rows -> pauses of rest there
    time: Floats | None = None  # (n_steps,): The time of each step, in seconds
    mdp: MDP | None = None  # the world, if it is known
    # Numbers of preceding rows after which the animal paused within a lap: a learner that replays
    # in all pauses, between laps and at rest, does so there, too.
    paused: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        transitions: pd.DataFrame,
        *,
        n_states: int,
        n_actions: int,
        mdp: MDP | None = None,
        rest: Mapping[int, int] | None = None,
        paused: Iterable[int] = (),
        name: str = "transitions",
    ) -> RecordedExperience:
        """Check recorded experience, given as to `feed`; `name` is for errors."""
        n_states = check_whole("n_states", n_states, at_least=1, at_most=MOST_STATES)
        n_actions = check_whole("n_actions", n_actions, at_least=1, at_most=2**31 - 1)
        if mdp is not None and not isinstance(mdp, MDP):
            raise TypeError(f"mdp must be an MDP, got {type(mdp).__name__}.")
        if mdp is not None and mdp.n_states != n_states:
            raise ValueError(f"mdp has {mdp.n_states} states, but n_states is {n_states}.")
        given = _checked(transitions, n_states, n_actions, name)
        steps = given.steps
        time: Floats | None = None
        if "time" in transitions:
            time = check_column(transitions, "time", "transitions", kind="number", missing=True)
            known = np.flatnonzero(~np.isnan(time))
            for back in np.flatnonzero(np.diff(time[known]) < 0)[:1]:
                before, row = known[back], known[back + 1]
                raise ValueError(
                    f"The column 'time' of transitions decreases: row {row} has {time[row]:g}, row "
                    f"{before} {time[before]:g}. Sort the rows by time."
                )
            check_seconds(time, "The column 'time' of transitions")
        rests = _rests({} if rest is None else rest, steps)
        pair = steps["state"] * np.int64(n_actions) + steps["action"]
        n_transitions = _count_distinct(pair, steps["next_state"])
        # The different pairs of an end and a start, of the same episode or of the next.
        is_end = steps["terminated"]
        first = np.insert((is_end | steps["truncated"])[:-1], 0, True)[: len(steps)]
        own = steps["state"][np.maximum.accumulate(np.where(first, np.arange(len(steps)), 0))]
        ends, begins = steps["next_state"][is_end], np.append(own[is_end], given.start[is_end])
        n_links = _count_distinct(np.append(ends, ends), begins)
        if mdp is not None:
            n_transitions += len(mdp.successor)
            n_links += mdp.n_links
        sizes = Sizes(n_states, n_actions, n_transitions, len(steps), n_links, None)
        return cls(given, sizes, rests, time, mdp, frozenset(paused))

    def feed_to(
        self,
        learner: Learner,
        writer: LogWriter,
        seed: int,
        on_step: Callable[[int, Any], None] | None = None,
    ) -> EventLog:
        """Let a learner learn from this experience."""
        steps = self.given.steps
        if learner.description.learns_on_policy and len(steps) and self.given.next_action[0] < 0:
            raise ValueError(
                f"{learner.name!r} learns on-policy: transitions needs a column 'next_action', the "
                "action taken in next_state (after an end: in the next episode's first state)."
            )
        if learner.description.needs_episodes and len(steps) and not steps["terminated"].any():
            raise ValueError(
                f"{learner.name!r} learns at an episode's end, but no row of transitions is "
                "terminated: mark the ends, or choose another learner."
            )
        ways = way_back(learner, self.mdp, self.sizes.n_actions)
        sizes = self.sizes._replace(way_back=ways)
        writer.steps = steps
        rng = replay_stream(seed)  # only replay draws random numbers here
        driver = Driver(learner, sizes, writer, rng=rng, replay_rng=rng, known=self.mdp)
        # A step within a lap that is followed by a pause is one after which there is replay.
        own = paused = driver.learner
        if own.parameters.get("replay_at") in ("pauses", "end_and_rest"):
            always = own.choices["replay_at"].index("always")
            paused = replace(own, params=own.params._replace(replay_at=always))
        rests = self.rests
        if 0 in rests:
            driver.rest(int(steps["state"][0]), rests[0])
        # Each row alone for `on_step`, else only those that are followed by a pause.
        ends = {n_done for n_done in rests if n_done > 0} | self.paused
        cuts = ends | {end - 1 for end in ends} | {0, len(steps)}
        cuts = set(range(len(steps) + 1)) if on_step is not None else cuts
        for begin, end in pairwise(sorted(cuts)):
            driver.learner = paused if end in self.paused else own
            driver.feed(self.given.rows(begin, end), rests.get(end, 0))
            if on_step is not None:
                on_step(begin, driver.memory)
        return driver.finish(self.time)


def _count_distinct(first: NDArray[Any], second: NDArray[Any]) -> int:
    """Count the different pairs of two columns."""
    # First numbered anew: the product of both ranges might not fit into int64.
    number = np.unique(first, return_inverse=True)[1]
    lowest = int(second.min(initial=0))
    span = int(second.max(initial=0)) - lowest + 1
    return len(np.unique(number * np.int64(span) + (second - lowest)))


def _checked(transitions: pd.DataFrame, n_states: int, n_actions: int, source: str) -> Given:
    """Check recorded experience and convert it to the form that the loop reads."""
    table = check_table(
        transitions, ["state", "action", "reward", "next_state", "terminated"], source
    )
    check_table(table, [name for name in _OPTIONAL if name in table], source)
    limits = {"state": n_states, "action": n_actions, "next_state": n_states}
    limits |= {"next_action": n_actions, "start_state": n_states}
    kinds: dict[str, dict[str, Any]] = {
        name: {
            "kind": "whole", "at_least": 0, "at_most": limit - 1,
            "hint": "Actions are numbered from 0." if "action" in name else _NUMBERS,
        }
        for name, limit in limits.items() if name in table
    }  # fmt: skip
    kinds |= {name: {"kind": "flag"} for name in ("terminated", "truncated") if name in table}
    kinds["reward"] = {
        "kind": "number", "at_least": -LARGEST_NUMBER, "at_most": LARGEST_NUMBER,
        "hint": "Write 0 where nothing was paid.",
    }  # fmt: skip
    checks = (partial(check_column, table, name, source, **kinds[name]) for name in kinds)
    columns = dict(zip(kinds, check_all(checks), strict=True))
    steps = np.zeros(len(table), dtype=STEP_ROW)
    for name in set(steps.dtype.names or ()) & set(columns):
        steps[name] = columns[name]
    joins = steps["next_state"][:-1] == steps["state"][1:]
    gaps = np.flatnonzero(~(joins | steps["terminated"][:-1] | steps["truncated"][:-1]))
    if len(gaps):
        row = int(gaps[0])
        raise ValueError(
            f"Row {row} of {source} enters state {steps['next_state'][row]}, but row {row + 1} "
            f"begins in state {steps['state'][row + 1]}. Mark row {row} as terminated or truncated "
            "if an episode ends there."
        )
    nothing = np.full(len(steps), -1, dtype=np.int32)
    starts = np.append(steps["state"][1:], np.int32(-1))[: len(steps)]
    actions, starts = columns.get("next_action", nothing), columns.get("start_state", starts)
    return Given(steps, actions.astype(np.int32), starts.astype(np.int32))


def _check_moves(steps: NDArray[np.void], mdp: MDP) -> None:
    """Refuse moves that the world does not have, whatever the action; staying is not a move."""
    wide = np.int64(mdp.n_states)
    known = mdp.transition_rows() // mdp.n_actions * wide + mdp.successor
    missing = ~np.isin(steps["state"] * wide + steps["next_state"], known)
    for row in np.flatnonzero(missing & (steps["state"] != steps["next_state"]))[:1]:
        raise ValueError(
            f"Row {row} of transitions goes from state {steps['state'][row]} to state "
            f"{steps['next_state'][row]}, but the world {mdp.name!r} has no such move."
        )


def _rests(rest: Mapping[int, int], steps: NDArray[np.void]) -> dict[int, int]:
    """Check rest: the number of preceding rows, and the number of pauses."""
    if not isinstance(rest, Mapping):
        raise TypeError(f"rest must map numbers of rows to numbers of pauses, got {shown(rest)}.")
    rests = {}
    for n_done, n_pauses in rest.items():
        n_done = check_whole("The number of rows before rest", n_done)
        if n_done > len(steps) or not len(steps):
            raise ValueError(f"There is rest after {n_done} rows, but only {len(steps)} rows.")
        if n_done and not (steps["terminated"] | steps["truncated"])[n_done - 1]:
            raise ValueError(
                f"There is rest after {n_done} rows, within an episode: rest between episodes, or "
                f"mark row {n_done - 1} as terminated or truncated."
            )
        if check_whole("The number of pauses at rest", n_pauses):
            rests[n_done] = int(n_pauses)
    return rests
