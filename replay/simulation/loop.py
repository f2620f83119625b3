"""The loop in which every learner acts in a world, or learns from recorded experience.

In one step the world moves, the learner learns from the transition, it replays, and it chooses the
next action (before learning, if the learner asks for that). An episode that ends in a terminal
state is `terminated`, one that is cut off is `truncated`; no step is spent in a terminal state.
Between two episodes the learner may replay at the end of the first, during any number of pauses of
rest, and at the start of the second. With recorded experience all moves are given. The loop is
compiled once per learner.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined, jitable, loop_kernel, uncached_kernel
from replay.learners.contract import Learner, Pause, Transition
from replay.log import backups

__all__ = ["STEP_ROW", "Clock", "Given", "World", "draw_start", "kernel_of"]

STEP_ROW = np.dtype(
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
    """The tables of an MDP as the loop reads them; see :class:`replay.worlds.mdp.MDP`.

    Attributes
    ----------
    n_actions : int
        Number of actions.
    successor_offset : ndarray of int32, shape (n_states * n_actions + 1,)
        Where the successors of each pair begin.
    successor : ndarray of int32, shape (n_transitions,)
        The states that may be entered.
    cumulative, reward : ndarray of float64, shape (n_transitions,)
        Their cumulative probabilities within each pair, and the rewards for entering them.
    terminal : ndarray of bool, shape (n_states,)
        Where episodes end.
    start_state : ndarray of int32, shape (n_starts,)
        Where episodes start; -1 if there is no further episode.
    start_cumulative : ndarray of float64, shape (n_starts,)
        Cumulative probabilities of the start states.
    """

    n_actions: int
    successor_offset: NDArray[np.int32]
    successor: NDArray[np.int32]
    cumulative: NDArray[np.float64]
    reward: NDArray[np.float64]
    terminal: NDArray[np.bool_]
    start_state: NDArray[np.int32]
    start_cumulative: NDArray[np.float64]


class Given(NamedTuple):
    """Recorded experience, one row per step; without rows the learner acts in the world.

    Attributes
    ----------
    steps : ndarray of STEP_ROW, shape (n_steps,)
        The recorded steps.
    next_action, start : ndarray of int32, shape (n_steps,)
        The action after each step, and, if an episode ends with this step, the first state of the
        next one; -1 where it is not known.
    """

    steps: NDArray[np.void]
    next_action: NDArray[np.int32]
    start: NDArray[np.int32]

    def rows(self, begin: int, end: int) -> "Given":
        """Return the rows from `begin` to `end`.

        Parameters
        ----------
        begin, end : int
            Numbers of rows, the last one excluded.

        Returns
        -------
        Given
            Views of the rows.
        """
        return Given(self.steps[begin:end], self.next_action[begin:end], self.start[begin:end])


class Clock(NamedTuple):
    """Where a run is, from one call of its loop to the next.

    Attributes
    ----------
    state, action, time, episode, episode_steps, window : ndarray of int64, shape (1,)
        The state of the agent, its next action, the number of steps made in the run, the number of
        episodes completed, the number of steps made in this episode, and the current window of the
        reward rate.
    """

    state: NDArray[np.int64]
    action: NDArray[np.int64]
    time: NDArray[np.int64]
    episode: NDArray[np.int64]
    episode_steps: NDArray[np.int64]
    window: NDArray[np.int64]


@inlined
def draw_start(world: World, rng: np.random.Generator) -> int:
    """Draw the first state of an episode.

    Parameters
    ----------
    world : World
        Its start distribution.
    rng : numpy.random.Generator
        Used only if there are several starts.

    Returns
    -------
    int
    """
    n_starts = len(world.start_state)
    state: int = world.start_state[0]
    if n_starts > 1:
        place = np.searchsorted(world.start_cumulative, rng.random(), side="right")
        state = world.start_state[min(int(place), n_starts - 1)]
    return state


@inlined
def _outcome(world: World, state: int, action: int, rng: np.random.Generator) -> int:
    pair = state * world.n_actions + action
    entry: int = world.successor_offset[pair]
    last = world.successor_offset[pair + 1] - 1
    if entry < last:
        draw = rng.random()
        while entry < last and draw >= world.cumulative[entry]:
            entry += 1
    return entry


def kernel_of(learner: Learner) -> Callable[..., int]:
    """Make the loop of a learner.

    Parameters
    ----------
    learner : Learner
        The learner whose functions the loop calls.

    Returns
    -------
    callable
        ``run(world, given, params, memory, clock, rng, replay_rng, n_steps, max_episode_steps,
        n_rest, act_first, rewards, window_ends, steps, log)`` makes `n_steps` steps, or fewer if
        the log has no room for the next one, and returns their number. Every end of an episode is
        followed by `n_rest` pauses of rest. The loop updates `clock`, adds to the `rewards` of each
        window, and fills `log`, and `steps` unless it has no rows.
    """
    functions = (learner.learn, learner.replay, learner.act, learner.most_backups)
    return _compiled_loop(*functions) if learner.compiled else _loop(*functions, _plain)


@cache
def _compiled_loop(
    learn: Callable[..., None],
    replay: Callable[..., None],
    act: Callable[..., int],
    most_backups: Callable[..., int],
) -> Callable[..., int]:
    # Cached by function, not by module: a user's module that was reloaded is compiled again.
    functions = (learn, replay, act, most_backups)
    ours = all(function.__module__.startswith("replay.") for function in functions)
    for function in functions:
        _make_jitable(inspect.unwrap(function).__globals__)
    return _loop(learn, replay, act, most_backups, loop_kernel if ours else uncached_kernel)


def _loop(
    learn: Callable[..., None],
    replay: Callable[..., None],
    act: Callable[..., int],
    most_backups: Callable[..., int],
    compile_: Callable[[Callable[..., int]], Callable[..., int]],
) -> Callable[..., int]:
    @compile_
    def run(
        world: World,
        given: Given,
        params: Any,
        memory: Any,
        clock: Clock,
        rng: np.random.Generator,
        replay_rng: np.random.Generator,
        n_steps: int,
        max_episode_steps: int,
        n_rest: int,
        act_first: bool,
        rewards: NDArray[np.float64],
        window_ends: NDArray[np.int64],
        steps: NDArray[np.void],
        log: backups.BackupBuffer,
    ) -> int:
        state = clock.state[0]
        action = clock.action[0]
        time = clock.time[0]
        episode = clock.episode[0]
        episode_steps = clock.episode_steps[0]
        window = clock.window[0]
        is_given, is_logged = len(given.steps) > 0, len(steps) > 0
        n_done = 0
        while n_done < n_steps:
            if backups.room(log) < most_backups(params, memory) * (1 + n_rest):
                break
            backups.set_step(log, time)
            if is_given:
                made = given.steps[n_done]
                state, action = made["state"], made["action"]
                reward, next_state = made["reward"], made["next_state"]
                terminated, truncated = made["terminated"], made["truncated"]
                ended = terminated or truncated
                here = given.start[n_done] if ended else next_state
                next_action = given.next_action[n_done]
            else:
                entry = _outcome(world, state, action, rng)
                next_state = world.successor[entry]
                reward = world.reward[entry]
                terminated = world.terminal[next_state]
                truncated = not terminated and episode_steps + 1 == max_episode_steps
                ended = terminated or truncated
                here = draw_start(world, rng) if ended else next_state
                next_action = -1
                if act_first and here >= 0:
                    next_action = act(params, memory, here, rng)
            episode_steps += 1
            transition = Transition(
                state, action, reward, next_state, next_action, terminated, truncated
            )
            learn(params, memory, transition, log)
            if ended:
                episode += 1
                episode_steps = 0
                # A single loop, so that replay between episodes is compiled only once.
                for place in range(n_rest + 1 + (here >= 0)):
                    where, phase = next_state, backups.REST
                    if place == 0:
                        phase = backups.EPISODE_END
                    elif place > n_rest:
                        where, phase = here, backups.START
                    pause = Pause(phase, where, terminated and place == 0)
                    replay(params, memory, pause, replay_rng, log)
            else:
                replay(params, memory, Pause(backups.STEP, next_state, False), replay_rng, log)
            if not (is_given or act_first) and here >= 0:
                next_action = act(params, memory, here, rng)
            if is_logged:
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

    return run


_jitable: set[Callable[..., Any]] = set()


def _make_jitable(namespace: dict[str, Any]) -> None:
    """Mark the functions of a learner's module, and of the toolkit's learners that it uses."""
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


def _plain(function: Callable[..., int]) -> Callable[..., int]:
    return function
