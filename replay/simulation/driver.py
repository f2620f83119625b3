"""Let a learner act in a world, or learn from recorded experience, and log what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replay.arrays import uninitialised
from replay.learners import Learner, find_learner
from replay.learners.contract import Pause, Sizes
from replay.log import backups
from replay.log.event_log import EventLog
from replay.log.schema import WHOLE_RUN, Excerpt
from replay.simulation.loop import STEP, Clock, World, kernels, start
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Phase, Protocol

__all__ = ["Block", "Run", "feed", "simulate", "window_ends"]

_STEPS_PER_CALL = 1_000_000
_STEPS_PER_BLOCK = 1 << 18
_STARTS = ("start_state", "start_cumulative")
_BACKUPS_PER_BUFFER = 1 << 17  # large enough for huge pages, which are cheaper to touch first


@dataclass(frozen=True)
class Run:
    """What came of one learner in one world.

    Attributes
    ----------
    learner : Learner
        Name, module and parameters.
    mdp : MDP
        The world; the first one if it changes.
    seed : int
        With learner, parameters and world it determines everything.
    log : EventLog
        Steps and backups; empty tables with ``log="none"``.
    memory : NamedTuple
        The learner's memory at the end.
    window_ends : ndarray of int64, shape (n_windows,)
        The step at which each window ends.
    window_rewards : ndarray of float64, shape (n_windows,)
        The sum of the rewards in each window.
    protocol : Protocol, optional
        The phases, if the world changes.
    """

    learner: Learner
    mdp: MDP
    seed: int
    log: EventLog
    memory: Any
    window_ends: np.ndarray
    window_rewards: np.ndarray
    protocol: Protocol | None = None

    @cached_property
    def reward_rate(self) -> pd.DataFrame:
        """``time_step`` (a window's end) and ``reward_rate`` (mean reward of its steps)."""
        lengths = np.diff(self.window_ends, prepend=0)
        rates = self.window_rewards / lengths
        return pd.DataFrame({"time_step": self.window_ends, "reward_rate": rates})


class Block(NamedTuple):
    """Part of the log of a run: some steps, with all backups made in them.

    Attributes
    ----------
    log : EventLog
        The part. Episodes, steps, events and causes are counted over the run.
    n_backups : int
        How many backups it holds.
    first_row : int
        How many backups came before, as causes count them.
    causes : ndarray of int64, shape (n_causes,)
        The backups until now that later ones may name as their cause, counted likewise; ascending.
    """

    log: EventLog
    n_backups: int
    first_row: int
    causes: np.ndarray


def world_of(mdp: MDP) -> World:
    """Bring an MDP into the form that the loop reads."""
    starts = np.flatnonzero(mdp.start_probability)
    return World(
        mdp.n_actions,
        mdp.successor_offset,
        mdp.successor,
        mdp.cumulative_probability,
        mdp.reward,
        mdp.terminal,
        starts.astype(np.int32),
        np.cumsum(mdp.start_probability[starts]),
    )


class _Log:
    """The buffers of a run; what was filled is set aside whenever a learner needs more room."""

    def __init__(
        self,
        keep: str,
        n_steps: int,
        learner: Learner,
        mdp: MDP | None,
        *,
        name: str = "",
        seed: int = -1,
        on_block: Callable[[Block], None] | None = None,
    ) -> None:
        if keep not in ("none", "replay", "all"):
            raise ValueError(f"log must be 'none', 'replay' or 'all', got {keep!r}.")
        if keep == "none" and on_block is not None:
            raise ValueError("on_block is given the log, so log must be 'replay' or 'all'.")
        self.keep, self.learner, self.mdp, self.on_block = keep, learner, mdp, on_block
        self.run = {"learner": learner.name, "mdp": name, "seed": seed}
        self.run["parameters"] = learner.parameters
        self.steps: np.ndarray | None = None
        self.buffer: backups.BackupBuffer | None = None
        self.n_steps = n_steps if on_block is None else min(n_steps, _STEPS_PER_BLOCK)
        if keep != "none":
            self.steps = uninitialised(self.n_steps, STEP)
            self.buffer = backups.backup_buffer(_BACKUPS_PER_BUFFER, keep, learner.evaluates)
        self.pieces: list[tuple[np.ndarray, ...]] = []
        self.cut = WHOLE_RUN
        self.first_row = 0

    def steps_from(self, time: int) -> np.ndarray | None:
        """Give the rows for the steps from some time on."""
        return None if self.steps is None else self.steps[time - self.cut.n_steps :]

    def make_room(self, n_rows: int) -> None:
        """Set the backups made so far aside, and go on with room for some number of them."""
        if self.buffer is not None:
            rows, self.buffer = backups.renew(self.buffer, max(n_rows, _BACKUPS_PER_BUFFER))
            self.pieces.append(rows)

    def hand_over(self, clock: Clock, memory: Any, is_last: bool = False) -> None:
        """Call `on_block` with all that was logged since it was last called."""
        n_steps = int(clock.time[0]) - self.cut.n_steps
        if self.on_block is None or not n_steps:
            return
        self.cut = self.cut._replace(next_state=-1 if is_last else int(clock.state[0]))
        log = self.take(n_steps)
        n_backups = sum(len(rows[0]) for rows in log.tables["backups"])
        causes = np.unique(self.learner.causes(memory))
        known = causes[(causes >= 0) & (not is_last)]
        self.on_block(Block(log, n_backups, self.first_row, known))
        n_events = self.cut.n_events
        if n_backups:
            n_events = int(log.columns("backups")["event"].max(initial=n_events - 1)) + 1
        self.cut = Excerpt(int(clock.time[0]), int(clock.episode[0]), n_events)
        self.first_row += n_backups

    def take(self, n_steps: int, time: np.ndarray | None = None) -> EventLog:
        """Make a log of the first steps, and of all backups that were set aside."""
        steps: np.ndarray = np.empty(0, dtype=STEP)
        made: list[tuple[np.ndarray, ...]] = [(np.empty(0, dtype=backups.BACKUP),)]
        if self.steps is not None and self.buffer is not None:
            n_lost = backups.n_lost(self.buffer)
            if n_lost:
                raise RuntimeError(
                    f"The learner {self.learner.name!r} made more backups in a step than its "
                    f"most_backups() said, and {n_lost} could not be logged. Make that bound "
                    "larger."
                )
            self.make_room(0)
            steps, made, self.pieces = self.steps[:n_steps], self.pieces, []
            if self.on_block is not None:
                self.steps = uninitialised(self.n_steps, STEP)
        return EventLog.from_run(
            self.run, steps, made, keep=self.keep, mdp=self.mdp, time=time, excerpt=self.cut
        )


def simulate(
    mdp: MDP | Protocol,
    learner: Any,
    params: Any = None,
    *,
    n_steps: int | None = None,
    max_episode_steps: int | None = None,
    seed: int = 0,
    log: str = "replay",
    n_windows: int = 100,
    on_block: Callable[[Block], None] | None = None,
) -> Run:
    """Let a learner act in a world.

    Parameters
    ----------
    mdp : MDP or Protocol
        The world, or the phases of one that changes.
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    n_steps : int
        How many steps to make, over all episodes; a protocol has its own.
    max_episode_steps : int, optional
        Episodes are cut off after so many steps.
    seed : int, default 0
        Seed of all randomness.
    log : {"replay", "all", "none"}, default "replay"
        What is logged: steps and replay; steps and every backup; nothing.
    n_windows : int, default 100
        Into how many adjacent windows the steps are cut for the reward rate.
    on_block : callable, optional
        Called as ``on_block(block)`` with one part of the log after the other, a `Block`, cut
        between steps. The run keeps none of them, so its memory is bounded however long it is.

    Returns
    -------
    Run
        Reward rate, log and the learner's memory.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the learner needs episodes that this world lacks.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> run = simulate(from_ascii("S..G"), "episodic_control", n_steps=1000)
    >>> len(run.log.steps)
    1000
    >>> counts = []
    >>> long = simulate(from_ascii("S..G"), "episodic_control", n_steps=1_000_000,
    ...                 on_block=lambda block: counts.append(block.n_backups))
    >>> len(counts) > 1, len(long.log.steps)
    (True, 0)
    """
    found = find_learner(learner, params)
    protocol = _protocol(mdp, n_steps)
    phases, n_steps = protocol.phases, protocol.n_steps
    seed = _count("seed", seed, at_least=0)
    longest = n_steps + 1  # never reached
    if max_episode_steps is not None:
        longest = _count("max_episode_steps", max_episode_steps)
    n_windows = min(_count("n_windows", n_windows), n_steps)
    for phase in phases:
        _check_world(found, phase.mdp)

    first = phases[0].mdp
    sizes = Sizes(
        first.n_states,
        first.n_actions,
        max(protocol.n_transitions, 1),
        min(longest, max(phase.n_steps for phase in phases)),
        protocol.n_links,
        _way_back(found, protocol, first.n_actions),
    )
    memory = found.init(found.params, sizes)
    found.explore(found.params, memory, first)
    rng, replay_rng = np.random.default_rng(seed), _replay_rng(seed)
    world = world_of(first)
    act_first = found.acts_before_learning
    run, _ = kernels(found)
    ends = window_ends(n_steps, n_windows)
    rewards = np.zeros(n_windows + 1)
    kept = _Log(log, n_steps, found, first, name=protocol.name, seed=seed, on_block=on_block)

    clock = Clock(*(np.zeros(1, dtype=np.int64) for _ in Clock._fields))
    clock.state[0] = start(world, rng)
    clock.action[0] = found.act(found.params, memory, int(clock.state[0]), rng)

    def go_on(world: World, until: int, longest: int, n_rest: int | None = None) -> None:
        while clock.time[0] < until:
            rows = kept.steps_from(int(clock.time[0]))
            n_more = min(until - int(clock.time[0]), _STEPS_PER_CALL)
            run(
                world, found.params, memory, clock, rng, replay_rng,
                n_more if rows is None else min(n_more, len(rows)), longest, n_rest, act_first,
                rewards, np.append(ends, -1), rows, kept.buffer,
            )  # fmt: skip
            if clock.time[0] < until:
                most = found.most_backups(found.params, memory)
                kept.hand_over(clock, memory)
                kept.make_room(2 * most * (1 + (n_rest or 0)))

    followers = [*(world_of(phase.mdp) for phase in phases[1:]), None]
    for phase, end, following in zip(phases, protocol.ends.tolist(), followers, strict=True):
        is_cut = following is not None or phase.n_rest > 0
        go_on(world, end - is_cut, longest)
        if is_cut:
            following = following or world
            starts = {name: getattr(following, name) for name in _STARTS}
            go_on(
                world._replace(**starts), end, int(clock.episode_steps[0]) + 1, phase.n_rest or None
            )
            world = following

    kept.hand_over(clock, memory, is_last=True)
    event_log = kept.take(n_steps if on_block is None else 0)
    changing = protocol if isinstance(mdp, Protocol) else None
    return Run(found, first, seed, event_log, memory, ends, rewards[:-1], changing)


def window_ends(n_steps: int, n_windows: int) -> np.ndarray:
    """Cut the steps of a run into adjacent windows.

    Parameters
    ----------
    n_steps : int
        How many there are.
    n_windows : int
        How many windows to make of them, at most one a step.

    Returns
    -------
    ndarray of int64, shape (n_windows,)
        The step at which each window ends.

    Examples
    --------
    >>> window_ends(10, 3).tolist()
    [3, 6, 10]
    """
    return np.arange(1, n_windows + 1) * n_steps // n_windows


def _protocol(mdp: MDP | Protocol, n_steps: int | None) -> Protocol:
    """Take a world that stays as it is for a protocol of one phase."""
    if isinstance(mdp, Protocol):
        if n_steps is not None:
            raise ValueError(
                f"The phases of {mdp.name!r} have {mdp.n_steps} steps in all: leave out n_steps, "
                f"got {n_steps!r}."
            )
        return mdp
    if not isinstance(mdp, MDP):
        raise TypeError(
            f"mdp must be an MDP or a Protocol, got {type(mdp).__name__}; MDP.from_tables and the "
            "builders in replay.worlds make one."
        )
    return Protocol([Phase(mdp, _count("n_steps", n_steps))], name=mdp.name)


def feed(
    learner: Any,
    transitions: pd.DataFrame,
    *,
    n_states: int,
    n_actions: int,
    params: Any = None,
    seed: int = 0,
    on_step: Callable[[int, Any], None] | None = None,
    log: str = "all",
    mdp: MDP | None = None,
    rest: Mapping[int, int] | None = None,
) -> EventLog:
    """Let a learner learn from recorded experience, an animal's or another run's.

    Parameters
    ----------
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own.
    transitions : DataFrame
        One row a step: ``state, action, reward, next_state`` (the state entered, the terminal
        one at an end) and ``terminated``; optionally ``truncated``, ``next_action`` (drawn in
        `next_state`, or in the next episode's first state after an end; on-policy learners need
        it), ``start_state`` (after an end: the next episode's first state; without it the next
        row's `state`) and ``time`` (seconds).
    n_states, n_actions : int
        Size of the world.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    seed : int, default 0
        Seed of what the learner draws when it replays.
    on_step : callable, optional
        Called as ``on_step(k, memory)`` after row k; ``memory.action_values`` is the table.
    log : {"all", "replay"}, default "all"
        Whether all backups are kept, or replay only.
    mdp : MDP, optional
        Supplies the positions of states, and the ways back to learners with ``reversible``.
    rest : mapping of int to int, optional
        Number of rows done -> pauses of rest then, between two episodes. 0 is before the first row,
        when only learners with `explore` know anything; the step and the episode are -1 then.

    Returns
    -------
    EventLog
        Steps and backups.

    Raises
    ------
    ValueError
        If a column is missing or out of range, rows without an end between them don't join, or rest
        is asked for within an episode.

    Examples
    --------
    >>> lap = pd.DataFrame({"state": [0, 1], "action": 0, "reward": [0.0, 1.0],
    ...                     "next_state": [1, 2], "terminated": [False, True]})
    >>> feed("episodic_control", lap, n_states=3, n_actions=1).backups["state"].tolist()
    [1, 0]
    """
    found = find_learner(learner, params)
    n_states, n_actions = _count("n_states", n_states), _count("n_actions", n_actions)
    if log == "none":
        raise ValueError("feed returns the log, so log must be 'all' or 'replay', got 'none'.")
    if mdp is not None and mdp.n_states != n_states:
        raise ValueError(f"mdp has {mdp.n_states} states, but n_states is {n_states}.")
    steps, next_actions, starts = _experience(found, transitions, n_states, n_actions)
    pairs = np.stack([steps["state"], steps["action"], steps["next_state"]])
    n_transitions = len(np.unique(pairs, axis=1).T)
    n_links = _count_links(steps, starts)
    if mdp is not None:
        n_transitions += len(mdp.successor)
        n_links += Protocol([Phase(mdp, 1)]).n_links
    way_back = _way_back(found, mdp, n_actions)
    sizes = Sizes(n_states, n_actions, n_transitions, len(steps), n_links, way_back)
    memory = found.init(found.params, sizes)
    found.explore(found.params, memory, mdp)
    _, follow = kernels(found)
    kept = _Log(log, 0, found, mdp, name="" if mdp is None else mdp.name)
    kept.steps = steps
    rng = _replay_rng(_count("seed", seed, at_least=0))
    clock = Clock(*(np.zeros(1, dtype=np.int64) for _ in Clock._fields))
    n_before, rests = _rests(rest or {}, steps)
    if n_before and found.explores:  # the others know nothing yet
        backups.set_step(kept.buffer, -1)
        for _ in range(n_before):
            kept.make_room(2 * found.most_backups(found.params, memory))
            pause = Pause(backups.REST, int(steps["state"][0]), False)
            found.replay(found.params, memory, pause, rng, kept.buffer)
    most_rest = 0 if rests is None else int(rests.max())
    per_call = _STEPS_PER_CALL if on_step is None else 1
    while clock.time[0] < len(steps):
        n_left = min(len(steps) - int(clock.time[0]), per_call)
        n_done = follow(
            found.params, memory, clock, rng, n_left, steps, next_actions, starts, rests,
            kept.buffer,
        )  # fmt: skip
        if n_done < n_left:
            most = found.most_backups(found.params, memory)
            kept.make_room(2 * most * (1 + most_rest))
        elif on_step is not None:
            on_step(int(clock.time[0]) - 1, memory)
    time = transitions["time"].to_numpy(dtype=float) if "time" in transitions else None
    return kept.take(len(steps), time)


def _count_links(steps: np.ndarray, starts: np.ndarray) -> int:
    """Count the different pairs of an end and a start: that of its own episode, or of the next."""
    is_end = steps["terminated"]
    first = np.insert((is_end | steps["truncated"])[:-1], 0, True)[: len(steps)]
    own = steps["state"][np.maximum.accumulate(np.where(first, np.arange(len(steps)), 0))]
    ends = steps["next_state"][is_end]
    links = [np.stack([ends, begins[is_end]]) for begins in (own, starts)]
    return len(np.unique(np.concatenate(links, axis=1), axis=1).T)


def _experience(
    learner: Learner, transitions: pd.DataFrame, n_states: int, n_actions: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check recorded experience and bring it into the form of the loop's own steps."""
    if not isinstance(transitions, pd.DataFrame):
        raise TypeError(f"transitions must be a DataFrame, got {type(transitions).__name__}.")
    needed = ["state", "action", "reward", "next_state", "terminated"]
    missing = [column for column in needed if column not in transitions]
    if missing:
        raise ValueError(f"transitions lacks the column {missing[0]!r}; it needs {needed}.")
    if learner.learns_on_policy and "next_action" not in transitions:
        raise ValueError(
            f"{learner.name!r} learns on-policy: transitions needs a column 'next_action', the "
            "action taken in next_state (after an end: in the next episode's first state)."
        )
    limits = {"state": n_states, "action": n_actions, "next_state": n_states}
    limits |= {
        column: limit
        for column, limit in [("next_action", n_actions), ("start_state", n_states)]
        if column in transitions
    }
    for column, limit in limits.items():
        values = transitions[column].to_numpy()
        inside = not len(values) or 0 <= values.min() <= values.max() < limit
        if values.dtype.kind not in "iu" or not inside:
            raise ValueError(
                f"The column {column!r} of transitions must hold integers from 0 to {limit - 1}."
            )
    for column in transitions.columns.intersection(["terminated", "truncated"]):
        if not transitions[column].isin([True, False]).all():
            raise ValueError(f"The column {column!r} of transitions must hold True and False only.")
    for column in transitions.columns.intersection(["reward", "time"]):
        if not pd.api.types.is_numeric_dtype(transitions[column]):
            raise ValueError(f"The column {column!r} of transitions must hold numbers.")
    steps = np.zeros(len(transitions), dtype=STEP)
    for column in transitions.columns.intersection([*needed, "truncated"]):
        steps[column] = transitions[column]
    if not np.isfinite(steps["reward"]).all():
        row = int(np.flatnonzero(~np.isfinite(steps["reward"]))[0])
        raise ValueError(f"The reward in row {row} of transitions is not a finite number.")
    joins = steps["next_state"][:-1] == steps["state"][1:]
    gaps = np.flatnonzero(~(joins | steps["terminated"][:-1] | steps["truncated"][:-1]))
    if len(gaps):
        row = int(gaps[0])
        raise ValueError(
            f"Row {row} of transitions enters state {steps['next_state'][row]}, but row {row + 1} "
            f"begins in state {steps['state'][row + 1]}. Mark row {row} as terminated or truncated "
            "if an episode ends there."
        )
    next_actions = transitions.get("next_action", pd.Series(-1, index=transitions.index))
    starts = np.append(steps["state"][1:], np.int32(-1))
    if "start_state" in transitions:
        starts = transitions["start_state"].to_numpy(dtype=np.int32)
    return steps, next_actions.to_numpy(dtype=np.int32), starts


def _rests(rest: Mapping[int, int], steps: np.ndarray) -> tuple[int, np.ndarray | None]:
    """Check rest; give the pauses before the first step, and those after each, None without any."""
    rests = np.zeros(len(steps) + 1, dtype=np.int64)
    for n_done, n_pauses in rest.items():
        n_done = _count("The number of rows before rest", n_done, at_least=0)
        if n_done > len(steps) or not len(steps):
            raise ValueError(f"There is rest after {n_done} rows, but only {len(steps)} rows.")
        if n_done and not (steps["terminated"] | steps["truncated"])[n_done - 1]:
            raise ValueError(
                f"There is rest after {n_done} rows, within an episode: rest between episodes, or "
                f"mark row {n_done - 1} as terminated or truncated."
            )
        rests[n_done] = _count("The number of pauses at rest", n_pauses, at_least=0)
    return int(rests[0]), rests[1:] if rests[1:].any() else None


def _replay_rng(seed: int) -> np.random.Generator:
    """Make a stream for replay: whatever it draws, outcomes and exploration stay the same."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])


def _check_world(found: Learner, mdp: MDP) -> None:
    """Refuse a world in which this learner can't learn anything, or its values have no bound."""
    if found.params.discount == 1.0:
        why = "with a discount of 1 values are sums over an episode"
        cure = "take a discount below 1"
    elif found.needs_episodes:
        why = f"{found.name!r} learns at an episode's end"
        cure = "take another learner"
    else:
        return
    lost = np.flatnonzero(np.isinf(mdp.steps_to_end))
    if lost.size:
        raise ValueError(
            f"No terminal state can be reached from {lost.size} of the {mdp.n_states} states of "
            f"{mdp.name!r}, such as state {lost[0]}, but {why}: {cure}, or make a state terminal."
        )


def _way_back(found: Learner, mdp: MDP | Protocol | None, n_actions: int) -> np.ndarray | None:
    """Look up which action undoes which, for a learner that knows both directions at once."""
    if not found.needs_way_back:
        return None
    if mdp is None or mdp.n_actions != n_actions:
        given = "no mdp" if mdp is None else f"an mdp of {mdp.n_actions} actions"
        raise ValueError(
            f"{found.name!r} with reversible=True must know which action leads back, so it needs "
            f"the world: got {given}; give mdp= with {n_actions} actions, or reversible=False."
        )
    return mdp.way_back


def _count(name: str, value: Any, at_least: int = 1) -> int:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or not at_least <= value < 2**63:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    return int(value)
