"""The one loop in which every learner acts, and the same loop fed with recorded experience.

One step: the world moves, the learner learns from the transition, it replays, and the next action
is drawn (before learning, if the learner or its parameters ask for that). An episode that ends in
a terminal state is `terminated`, one that is cut off is `truncated`; no step is spent in a terminal
state. Between two episodes the learner may replay twice: at the end of one, at the start of the
next; and in between at rest, as often as it is told. The loop is compiled once per learner, with
and without log.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from replay.jit import inlined, jitable, loop_kernel, uncached_kernel
from replay.learners.contract import Learner, Pause, Transition
from replay.log import backups

__all__ = ["STEP", "Clock", "World", "kernels", "start"]

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


class World(NamedTuple):
    """The tables of an MDP as the loop reads them; see :class:`replay.worlds.mdp.MDP`."""

    n_actions: int
    successor_offset: np.ndarray
    successor: np.ndarray
    cumulative: np.ndarray
    reward: np.ndarray
    terminal: np.ndarray
    start_state: np.ndarray
    start_cumulative: np.ndarray


class Clock(NamedTuple):
    """Where a run is, from one call of its loop to the next.

    Attributes
    ----------
    state, action, time, episode, episode_steps, window : ndarray of int64, shape (1,)
        The state of the agent, its next action, the steps made in the run, the episodes that ended,
        the steps made in this episode, and the window of the reward rate.
    """

    state: np.ndarray
    action: np.ndarray
    time: np.ndarray
    episode: np.ndarray
    episode_steps: np.ndarray
    window: np.ndarray


@inlined
def start(world, rng):
    """Draw the first state of an episode."""
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


def kernels(learner: Learner) -> tuple[Callable[..., int], Callable[..., int]]:
    """Make the loops of one learner: acting in a world, and fed with recorded experience."""
    functions = (learner.learn, learner.replay, learner.act, learner.most_backups)
    return _compiled_loops(*functions) if learner.compiled else _loops(*functions, _plain)


@cache
def _compiled_loops(
    learn: Callable, replay: Callable, act: Callable, most_backups: Callable
) -> tuple[Callable, Callable]:
    # Kept by function, not by module: a user's module that was reloaded is compiled again.
    functions = (learn, replay, act, most_backups)
    ours = all(function.__module__.startswith("replay.") for function in functions)
    for function in functions:
        _make_jitable(inspect.unwrap(function).__globals__)
    compile_ = loop_kernel if ours else uncached_kernel
    return _loops(learn, replay, act, most_backups, compile_)


def _loops(
    learn: Callable, replay: Callable, act: Callable, most_backups: Callable, compile_: Callable
) -> tuple[Callable, Callable]:
    @compile_
    def run(
        world, params, memory, clock, rng, replay_rng, n_steps, max_episode_steps, n_rest,
        act_first, rewards, window_ends, steps, log,
    ):  # fmt: skip
        state = clock.state[0]
        action = clock.action[0]
        time = clock.time[0]
        episode = clock.episode[0]
        episode_steps = clock.episode_steps[0]
        window = clock.window[0]
        n_done = 0
        while n_done < n_steps:
            if log is not None:
                n_needed = most_backups(params, memory)
                if n_rest is not None:
                    n_needed *= 1 + n_rest
                if backups.room(log) < n_needed:
                    break
                backups.set_step(log, time)
            entry = _outcome(world, state, action, rng)
            next_state = world.successor[entry]
            reward = world.reward[entry]
            terminated = world.terminal[next_state]
            episode_steps += 1
            truncated = not terminated and episode_steps == max_episode_steps
            ended = terminated or truncated
            here = next_state
            if ended:
                here = start(world, rng)
                episode += 1
                episode_steps = 0
            next_action = act(params, memory, here, rng) if act_first else -1
            transition = Transition(
                state, action, reward, next_state, next_action, terminated, truncated
            )
            learn(params, memory, transition, log)
            if ended:
                pause = Pause(backups.EPISODE_END, next_state, terminated)
                replay(params, memory, pause, replay_rng, log)
                if n_rest is not None:
                    # Without rest it is None and not compiled: every call of replay costs.
                    pause = Pause(backups.REST, next_state, False)
                    for _ in range(n_rest):
                        replay(params, memory, pause, replay_rng, log)
                pause = Pause(backups.START, here, False)
                replay(params, memory, pause, replay_rng, log)
            else:
                pause = Pause(backups.STEP, next_state, False)
                replay(params, memory, pause, replay_rng, log)
            if not act_first:
                next_action = act(params, memory, here, rng)
            if steps is not None:
                step = steps[n_done]
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
        clock.state[0] = state
        clock.action[0] = action
        clock.time[0] = time
        clock.episode[0] = episode
        clock.episode_steps[0] = episode_steps
        clock.window[0] = window
        return n_done

    @compile_
    def follow(params, memory, clock, rng, n_steps, steps, next_actions, starts, rests, log):
        n_done = 0
        while n_done < n_steps:
            time = clock.time[0]
            n_needed = most_backups(params, memory)
            if rests is not None:
                n_needed *= 1 + rests[time]
            if backups.room(log) < n_needed:
                break
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
            if transition.terminated or transition.truncated:
                pause = Pause(backups.EPISODE_END, transition.next_state, transition.terminated)
                replay(params, memory, pause, rng, log)
                if rests is not None:
                    pause = Pause(backups.REST, transition.next_state, False)
                    for _ in range(rests[time]):
                        replay(params, memory, pause, rng, log)
                if starts[time] >= 0:
                    replay(params, memory, Pause(backups.START, starts[time], False), rng, log)
            else:
                pause = Pause(backups.STEP, transition.next_state, False)
                replay(params, memory, pause, rng, log)
            clock.time[0] = time + 1
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
