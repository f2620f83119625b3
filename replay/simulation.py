"""The one loop in which every learner acts, and the same loop fed with recorded experience.

One step: the world moves, the learner learns from the transition, it replays, and the next action
is drawn (before learning, if the learner or its parameters ask for that). An episode that ends in
a terminal state is `terminated`, one that is cut off is `truncated`; no step is spent in a terminal
state. The loop is compiled once per learner, with and without log.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from replay import backups, policies
from replay.event_log import EventLog
from replay.jit import inlined, jitable, loop_kernel, uncached_kernel
from replay.learners import Learner, find_learner
from replay.mdp import MDP

__all__ = ["Run", "Sizes", "Transition", "feed", "simulate"]

_STEPS_PER_CALL = 1_000_000
_BACKUPS_PER_BUFFER = (1 << 12, 1 << 17)

STEP = np.dtype(
    [
        ("reward", np.float64),
        ("state", np.int32),
        ("action", np.int32),
        ("next_state", np.int32),
        ("terminated", np.bool_),
        ("truncated", np.bool_),
    ],
    align=True,
)
"""One step as the loop writes it."""


class Sizes(NamedTuple):
    """How large the memory of a learner must be.

    Attributes
    ----------
    n_states, n_actions : int
        Size of the world.
    n_transitions : int
        The most distinct transitions (state, action, next state) that can occur.
    n_steps : int
        The longest episode that can occur.
    """

    n_states: int
    n_actions: int
    n_transitions: int
    n_steps: int


class Transition(NamedTuple):
    """One step of experience, as a learner sees it.

    Attributes
    ----------
    state, action : int
        Where the agent was, and what it did.
    reward : float
        What it got.
    next_state : int
        The state it entered, the terminal one at an end.
    next_action : int
        The action drawn in `next_state`, or, after an end, in the first state of the next
        episode; -1 if it is drawn after learning.
    terminated, truncated : bool
        Whether the episode ended in a terminal state, or was cut off.
    """

    state: int
    action: int
    reward: float
    next_state: int
    next_action: int
    terminated: bool
    truncated: bool


class _World(NamedTuple):
    n_actions: int
    successor_offset: np.ndarray
    successor: np.ndarray
    cumulative: np.ndarray
    reward: np.ndarray
    terminal: np.ndarray
    start_state: np.ndarray
    start_cumulative: np.ndarray


def _world(mdp: MDP) -> _World:
    starts = np.flatnonzero(mdp.start_probability)
    return _World(
        mdp.n_actions,
        mdp.successor_offset,
        mdp.successor,
        mdp.cumulative_probability,
        mdp.reward,
        mdp.terminal,
        starts.astype(np.int32),
        np.cumsum(mdp.start_probability[starts]),
    )


@inlined
def _start(world, rng):
    n_starts = len(world.start_state)
    if n_starts == 1:
        return world.start_state[0]
    place = np.searchsorted(world.start_cumulative, rng.random(), side="right")
    return world.start_state[min(place, n_starts - 1)]


@inlined
def _outcome(world, state, action, rng):
    pair = state * world.n_actions + action
    entry = world.successor_offset[pair]
    last = world.successor_offset[pair + 1] - 1
    if entry < last:
        draw = rng.random()
        while entry < last and draw >= world.cumulative[entry]:
            entry += 1
    return entry


_STATE, _ACTION, _TIME, _EPISODE_STEPS, _WINDOW = range(5)


def _kernels(module: Any, compiled: bool = True) -> tuple[Callable, Callable]:
    """Make the loops of one learner: acting in a world, and fed with recorded experience."""
    return _loops(
        module.learn,
        getattr(module, "replay", _no_replay),
        getattr(module, "act", _act),
        module.most_backups,
        compiled,
    )


@cache
def _loops(
    learn: Callable, replay: Callable, act: Callable, most_backups: Callable, compiled: bool
) -> tuple[Callable, Callable]:
    # Kept by function, not by module: a user's module that was reloaded is compiled again.
    functions = (learn, replay, act, most_backups)
    ours = all(function.__module__.startswith("replay.") for function in functions)
    compile_ = (loop_kernel if ours else uncached_kernel) if compiled else _plain
    for function in functions:
        _make_jitable(inspect.unwrap(function).__globals__)

    @compile_
    def run(
        world, params, memory, clock, rng, n_steps, max_episode_steps, act_first,
        rewards, window_ends, steps, log,
    ):  # fmt: skip
        state = clock[_STATE]
        action = clock[_ACTION]
        time = clock[_TIME]
        episode_steps = clock[_EPISODE_STEPS]
        window = clock[_WINDOW]
        n_done = 0
        while n_done < n_steps:
            if log is not None:
                if backups.room(log) < most_backups(params, memory):
                    break
                backups.set_step(log, time)
            entry = _outcome(world, state, action, rng)
            next_state = world.successor[entry]
            reward = world.reward[entry]
            terminated = world.terminal[next_state]
            episode_steps += 1
            truncated = not terminated and episode_steps == max_episode_steps
            here = next_state
            if terminated or truncated:
                here = _start(world, rng)
                episode_steps = 0
            next_action = act(params, memory, here, rng) if act_first else -1
            transition = Transition(
                state, action, reward, next_state, next_action, terminated, truncated
            )
            learn(params, memory, transition, log)
            replay(params, memory, transition, log)
            if not act_first:
                next_action = act(params, memory, here, rng)
            if steps is not None:
                step = steps[time]
                step["state"] = state
                step["action"] = action
                step["reward"] = reward
                step["next_state"] = next_state
                step["terminated"] = terminated
                step["truncated"] = truncated
            rewards[window] += reward
            time += 1
            if time == window_ends[window]:
                window += 1
            state = here
            action = next_action
            n_done += 1
        clock[_STATE] = state
        clock[_ACTION] = action
        clock[_TIME] = time
        clock[_EPISODE_STEPS] = episode_steps
        clock[_WINDOW] = window
        return n_done

    @compile_
    def follow(params, memory, clock, n_steps, steps, next_actions, log):
        n_done = 0
        while n_done < n_steps:
            if backups.room(log) < most_backups(params, memory):
                break
            time = clock[_TIME]
            backups.set_step(log, time)
            step = steps[time]
            transition = Transition(
                step["state"],
                step["action"],
                step["reward"],
                step["next_state"],
                next_actions[time],
                step["terminated"],
                step["truncated"],
            )
            learn(params, memory, transition, log)
            replay(params, memory, transition, log)
            clock[_TIME] = time + 1
            n_done += 1
        return n_done

    return run, follow


_jitable: set[Callable] = set()


def _make_jitable(namespace: dict[str, Any]) -> None:
    """Mark the functions of a learner's module, and those of our learners that it uses."""
    for value in list(namespace.values()):
        if inspect.ismodule(value) and value.__name__.startswith("replay.learners."):
            _make_jitable(vars(value))
        if not inspect.isfunction(value) or value in _jitable:
            continue
        ours = value.__module__.startswith("replay.learners.")
        if ours or value.__module__ == namespace["__name__"] != __name__:
            _jitable.add(value)
            (inlined if ours else jitable)(value)
            _make_jitable(value.__globals__)


def _plain(function: Callable) -> Callable:
    return function


@inlined
def _no_replay(params, memory, transition, log):
    pass


@inlined
def _act(params, memory, state, rng):
    return policies.epsilon_greedy(memory.action_values, state, params.epsilon, rng)


@dataclass(frozen=True)
class Run:
    """What came of one learner in one world.

    Attributes
    ----------
    learner : Learner
        Name, module and parameters.
    mdp : MDP
        The world.
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
    """

    learner: Learner
    mdp: MDP
    seed: int
    log: EventLog
    memory: Any
    window_ends: np.ndarray
    window_rewards: np.ndarray

    @cached_property
    def reward_rate(self) -> pd.DataFrame:
        """``time_step`` (a window's end) and ``reward_rate`` (mean reward of its steps)."""
        lengths = np.diff(self.window_ends, prepend=0)
        rates = self.window_rewards / lengths
        return pd.DataFrame({"time_step": self.window_ends, "reward_rate": rates})


class _Log:
    """The buffers of a run; what was filled is set aside whenever a learner needs more room."""

    def __init__(self, keep: str, n_steps: int) -> None:
        if keep not in ("none", "replay", "all"):
            raise ValueError(f"log must be 'none', 'replay' or 'all', got {keep!r}.")
        self.keep = keep
        self.steps: np.ndarray | None = None
        self.buffer: backups.BackupBuffer | None = None
        if keep != "none":
            self.steps = np.empty(n_steps, dtype=STEP)
            self.buffer = backups.backup_buffer(_BACKUPS_PER_BUFFER[0], keep)
        self.pieces: list[np.ndarray] = []

    def make_room(self, n_rows: int) -> None:
        if self.buffer is not None:
            capacity = min(2 * len(self.buffer.rows), _BACKUPS_PER_BUFFER[1])
            rows, self.buffer = backups.renew(self.buffer, max(n_rows, capacity))
            self.pieces.append(rows)

    def finish(self, name: str) -> list[np.ndarray]:
        if self.buffer is not None:
            n_lost = backups.n_lost(self.buffer)
            if n_lost:
                raise RuntimeError(
                    f"The learner {name!r} made more backups in a step than its most_backups() "
                    f"said, and {n_lost} could not be logged. Make that bound larger."
                )
            self.make_room(0)
        return self.pieces


def simulate(
    mdp: MDP,
    learner: Any,
    params: Any = None,
    *,
    n_steps: int,
    max_episode_steps: int | None = None,
    seed: int = 0,
    log: str = "replay",
    n_windows: int = 100,
) -> Run:
    """Let a learner act in a world.

    Parameters
    ----------
    mdp : MDP
        The world.
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    n_steps : int
        How many steps to make, over all episodes.
    max_episode_steps : int, optional
        Episodes are cut off after so many steps.
    seed : int, default 0
        Seed of all randomness.
    log : {"replay", "all", "none"}, default "replay"
        What is logged: steps and replay; steps and every backup; nothing.
    n_windows : int, default 100
        Into how many adjacent windows the steps are cut for the reward rate.

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
    >>> from replay.mazes import from_ascii
    >>> run = simulate(from_ascii("S..G"), "episodic_control", n_steps=1000)
    >>> len(run.log.steps)
    1000
    """
    found = find_learner(learner, params)
    n_steps = _count("n_steps", n_steps)
    longest = n_steps
    if max_episode_steps is not None:
        longest = _count("max_episode_steps", max_episode_steps)
    n_windows = min(_count("n_windows", n_windows), n_steps)
    _check_world(found, mdp)

    sizes = Sizes(mdp.n_states, mdp.n_actions, max(len(mdp.successor), 1), min(longest, n_steps))
    memory = found.module.init(found.params, sizes)
    rng = np.random.default_rng(seed)
    world = _world(mdp)
    act_first = bool(
        getattr(found.module, "ON_POLICY", False)
        or getattr(found.params, "act_before_update", False)
    )
    run, _ = _kernels(found.module)
    ends = np.arange(1, n_windows + 1) * n_steps // n_windows
    rewards = np.zeros(n_windows + 1)
    kept = _Log(log, n_steps)

    clock = np.zeros(5, dtype=np.int64)
    clock[_STATE] = _start(world, rng)
    clock[_ACTION] = getattr(found.module, "act", _act)(
        found.params, memory, int(clock[_STATE]), rng
    )
    while clock[_TIME] < n_steps:
        run(
            world, found.params, memory, clock, rng,
            min(n_steps - int(clock[_TIME]), _STEPS_PER_CALL), longest, act_first,
            rewards, np.append(ends, -1), kept.steps, kept.buffer,
        )  # fmt: skip
        if clock[_TIME] < n_steps:
            kept.make_room(2 * found.module.most_backups(found.params, memory))

    return Run(found, mdp, seed, _event_log(found, kept, mdp, seed), memory, ends, rewards[:-1])


def feed(
    learner: Any,
    transitions: pd.DataFrame,
    *,
    n_states: int,
    n_actions: int,
    params: Any = None,
    on_step: Callable[[int, Any], None] | None = None,
    log: str = "all",
    mdp: MDP | None = None,
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
        it) and ``time`` (seconds).
    n_states, n_actions : int
        Size of the world.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    on_step : callable, optional
        Called as ``on_step(k, memory)`` after row k; ``memory.action_values`` is the table.
    log : {"all", "replay"}, default "all"
        Whether all backups are kept, or replay only.
    mdp : MDP, optional
        Supplies the positions of states.

    Returns
    -------
    EventLog
        Steps and backups.

    Raises
    ------
    ValueError
        If a column is missing or out of range, or rows without an end between them don't join.

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
    steps, next_actions = _experience(found, transitions, n_states, n_actions)
    pairs = np.stack([steps["state"], steps["action"], steps["next_state"]])
    sizes = Sizes(n_states, n_actions, len(np.unique(pairs, axis=1).T), len(steps))
    memory = found.module.init(found.params, sizes)
    _, follow = _kernels(found.module)
    kept = _Log(log, 0)
    kept.steps = steps
    clock = np.zeros(5, dtype=np.int64)
    per_call = _STEPS_PER_CALL if on_step is None else 1
    while clock[_TIME] < len(steps):
        n_left = min(len(steps) - int(clock[_TIME]), per_call)
        n_done = follow(found.params, memory, clock, n_left, steps, next_actions, kept.buffer)
        if n_done < n_left:
            kept.make_room(2 * found.module.most_backups(found.params, memory))
        elif on_step is not None:
            on_step(int(clock[_TIME]) - 1, memory)
    time = transitions["time"].to_numpy(dtype=float) if "time" in transitions else None
    return _event_log(found, kept, mdp, None, time)


def _experience(
    learner: Learner, transitions: pd.DataFrame, n_states: int, n_actions: int
) -> tuple[np.ndarray, np.ndarray]:
    """Check recorded experience and bring it into the form of the loop's own steps."""
    needed = ["state", "action", "reward", "next_state", "terminated"]
    missing = [column for column in needed if column not in transitions]
    if missing:
        raise ValueError(f"transitions lacks the column {missing[0]!r}; it needs {needed}.")
    if getattr(learner.module, "ON_POLICY", False) and "next_action" not in transitions:
        raise ValueError(
            f"{learner.name!r} learns on-policy: transitions needs a column 'next_action', the "
            "action taken in next_state (after an end: in the next episode's first state)."
        )
    limits = {"state": n_states, "action": n_actions, "next_state": n_states}
    if "next_action" in transitions:
        limits["next_action"] = n_actions
    for column, limit in limits.items():
        values = transitions[column].to_numpy()
        inside = not len(values) or 0 <= values.min() <= values.max() < limit
        if values.dtype.kind not in "iu" or not inside:
            raise ValueError(
                f"The column {column!r} of transitions must hold integers from 0 to {limit - 1}."
            )
    steps = np.zeros(len(transitions), dtype=STEP)
    for column in needed:
        steps[column] = transitions[column]
    if "truncated" in transitions:
        steps["truncated"] = transitions["truncated"]
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
    return steps, next_actions.to_numpy(dtype=np.int32)


def _check_world(found: Learner, mdp: MDP) -> None:
    """Refuse a world in which this learner can't learn anything, or its values have no bound."""
    if found.params.discount == 1.0:
        why = "with a discount of 1 values are sums over an episode"
        cure = "take a discount below 1"
    elif getattr(found.module, "NEEDS_EPISODES", False):
        why = f"{found.name!r} learns at an episode's end"
        cure = "take another learner"
    else:
        return
    lost = np.flatnonzero(np.isinf(mdp.steps_to_end))
    if lost.size:
        raise ValueError(
            f"No terminal state can be reached from state {lost[0]} of {mdp.name!r} (and "
            f"{lost.size - 1} others), but {why}: {cure}, or make a state terminal."
        )


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def _event_log(
    found: Learner,
    kept: _Log,
    mdp: MDP | None,
    seed: int | None,
    time: np.ndarray | None = None,
) -> EventLog:
    steps = np.empty(0, dtype=STEP) if kept.steps is None else kept.steps
    made = kept.finish(found.name) or [np.empty(0, dtype=backups.BACKUP)]
    run = {
        "learner": found.name,
        "mdp": "" if mdp is None else mdp.name,
        "seed": -1 if seed is None else seed,
        "parameters": found.params._asdict(),
    }
    return EventLog.from_run(run, steps, made, keep=kept.keep, mdp=mdp, time=time)
