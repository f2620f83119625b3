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
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.checks import located
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.checks.user_files import WrongResultError
from replay.jit import call, count_up_to, inlined, loop_kernel, own_code, uncached_kernel
from replay.learners.contract import Learner, Pause, Transition
from replay.log import backups

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

_NOT_NEGATIVE = 0x7FFFFFFF
# Compiled code asks whether an index counts from the end; after this mask it need not.


class World(NamedTuple):
    """The tables of an MDP as the loop reads them; see :class:`replay.worlds.mdp.MDP`."""

    n_actions: int  # number of actions
    # (n_states * n_actions + 1,): where the successors of each pair begin.
    successor_offset: Int32s
    successor: Int32s  # (n_transitions,): the states that may be entered
    # (n_transitions,): their cumulative probabilities within each pair, and the rewards for
    # entering them.
    cumulative: Floats
    reward: Floats
    terminal: Bools  # (n_states,): where episodes end
    # (n_starts,): where episodes start; -1 if there is no further episode.
    start_state: Int32s
    # (n_starts,): cumulative probabilities of the start states.
    start_cumulative: Floats


class Given(NamedTuple):
    """Recorded experience, one row per step; without rows the learner acts in the world."""

    steps: NDArray[np.void]  # (n_steps,): the recorded steps
    # (n_steps,): the action after each step, and, if an episode ends with this step, the first
    # state of the next one; -1 where it is not known.
    next_action: Int32s
    start: Int32s
    # 0, or the address of a function that takes the next action and writes the next row, when
    # the loop has come to it; the learner then chooses the next action. If it returns no 0, the
    # loop stops.
    ask: int = 0

    def rows(self, begin: int, end: int) -> "Given":
        """Return the rows from `begin` to `end`."""
        made = slice(begin, end)
        return Given(self.steps[made], self.next_action[made], self.start[made], self.ask)


class Clock(NamedTuple):
    """Where a run is, from one call of its loop to the next; the first six have one number each.

    `action` is the agent's next one, `time` counts the steps of the run, `episode` its completed
    episodes, `episode_steps` the steps of this one. `window_ends` and `rewards`, shape
    (n_windows + 1,), are the steps at which windows of the reward rate end (the last one never
    does), and the sum of rewards in each.
    """

    state: Ints
    action: Ints
    time: Ints
    episode: Ints
    episode_steps: Ints
    window: Ints
    window_ends: Ints
    rewards: Floats


class Course(NamedTuple):
    """What the loop is to do in one call."""

    n_steps: int  # at most: the loop ends earlier where the log is full
    max_episode_steps: int  # after which an episode is cut off; -1: never
    n_rest: int  # pauses of rest between two episodes
    n_rest_before: int  # pauses of rest before the first of these steps
    act_first: bool  # whether the next action is drawn before the step is learned from


@inlined
def draw_start(world: World, rng: np.random.Generator) -> int:
    """Draw the first state of an episode."""
    n_starts = len(world.start_state)
    state: int = world.start_state[0]
    if n_starts > 1:
        place = count_up_to(world.start_cumulative, rng.random())
        state = world.start_state[min(place, n_starts - 1)]
    return state


@inlined
def _outcome(world: World, state: int, action: int, rng: np.random.Generator) -> int:
    pair = (state * world.n_actions + action) & _NOT_NEGATIVE
    entry: int = world.successor_offset[pair] & _NOT_NEGATIVE
    last = (world.successor_offset[pair + 1] & _NOT_NEGATIVE) - 1
    if entry < last:
        draw = rng.random()
        while entry < last and draw >= world.cumulative[entry]:
            entry += 1
    return entry & _NOT_NEGATIVE


def kernel_of(learner: Learner) -> Callable[..., int]:
    """Make the loop of a learner; errors of a user's learner name the line of its file."""
    functions = (learner.learn, learner.replay, learner.act, learner.most_backups)
    if learner.compiled:
        run = _compiled_loop(*functions)
    else:
        act = learner.act if learner.file is None else checked_act(learner.act)
        run = _loop(
            learner.learn, learner.replay, act, learner.most_backups, lambda function: function
        )
    return run if learner.file is None else located(run, learner.file)


@cache
def checked_act(act: Callable[..., int]) -> Callable[..., int]:
    """Wrap the `act` of a user's learner, so that it returns no other numbers than actions."""

    def checked(params: Any, memory: Any, state: int, rng: np.random.Generator) -> int:
        action = act(params, memory, state, rng)
        if not 0 <= action < memory.action_values.shape[1]:
            raise WrongResultError("act() must return an action, from 0 to n_actions - 1")
        return action

    return checked


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
    if not ours:
        act = own_code(checked_act(act))
    # A learner of ours is replay.learners.NAME, a file or a folder.
    name = inspect.unwrap(learn).__module__.split(".")[2 if ours else -1]
    compile_ = loop_kernel if ours else uncached_kernel
    return _loop(learn, replay, act, most_backups, partial(compile_, what=f"the learner {name}"))


# Longer than other functions: numba compiles a loop as one function, and its order is the contract.
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
        given: Given | None,
        params: Any,
        memory: Any,
        clock: Clock,
        course: Course,
        rng: np.random.Generator,
        replay_rng: np.random.Generator | None,
        steps: NDArray[np.void] | None,
        log: backups.BackupBuffer | None,
    ) -> int:
        n_steps, max_episode_steps, n_rest, n_rest_before, act_first = course
        window_ends, rewards = clock.window_ends, clock.rewards
        state = clock.state[0]
        action = clock.action[0]
        time = clock.time[0]
        episode = clock.episode[0]
        episode_steps = clock.episode_steps[0]
        window = clock.window[0]
        # The last step that this episode may have; if none is ever cut off, one that is over.
        last_step = time - episode_steps + max_episode_steps - 1
        is_given, is_asked = False, False
        if given is not None:
            is_given, is_asked = len(given.steps) > 0, given.ask != 0
        acts = is_asked or not is_given
        for _ in range(n_rest_before):
            pause = Pause(backups.REST, state, False)
            replay(params, memory, pause, replay_rng, log)
        begin, until = time, time + n_steps
        while time < until:
            stop, total = min(until, window_ends[window]), rewards[window]
            while time < stop:
                if log is not None:  # the caller makes room, and calls again
                    if backups.room(log) < most_backups(params, memory) * (1 + n_rest):
                        until = time
                        break
                    backups.set_step(log, time)
                if given is not None and is_given:
                    if is_asked and call(given.ask, action) != 0:
                        until = time
                        break
                    made = given.steps[time - begin]
                    state, action = made["state"], made["action"]
                    reward, next_state = made["reward"], made["next_state"] & _NOT_NEGATIVE
                    terminated, truncated = made["terminated"], made["truncated"]
                    ended = terminated or truncated
                    here = given.start[time - begin] if ended else next_state
                    next_action = given.next_action[time - begin]
                else:
                    entry = _outcome(world, state, action, rng)
                    next_state = world.successor[entry] & _NOT_NEGATIVE
                    reward = world.reward[entry]
                    terminated = world.terminal[next_state]
                    ended = terminated or time == last_step
                    truncated = ended != terminated
                    here = draw_start(world, rng) if ended else next_state
                    next_action = -1
                if acts and act_first and here >= 0:
                    next_action = act(params, memory, here, rng)
                state, action = state & _NOT_NEGATIVE, action & _NOT_NEGATIVE
                transition = Transition(
                    state, action, reward, next_state, next_action, terminated, truncated
                )
                learn(params, memory, transition, log)
                phase = backups.EPISODE_END if ended else backups.STEP
                pause = Pause(phase, next_state, terminated)
                replay(params, memory, pause, replay_rng, log)
                if ended:  # rest, and the start of the next episode, if there is one
                    for place in range(n_rest + (here >= 0)):
                        where, phase = next_state, backups.REST
                        if place == n_rest:
                            where, phase = here, backups.START
                        replay(params, memory, Pause(phase, where, False), replay_rng, log)
                    episode += 1
                    last_step = time + max_episode_steps  # the next one begins with step time + 1
                if acts and not act_first and here >= 0:
                    next_action = act(params, memory, here, rng)
                if steps is not None and not is_given:
                    step = steps[time - begin]
                    step["state"] = state
                    step["action"] = action
                    step["reward"] = reward
                    step["next_state"] = next_state
                    step["terminated"] = terminated
                    step["truncated"] = truncated
                total += reward
                time += 1
                state = here
                action = next_action
            rewards[window] = total
            if time == window_ends[window]:
                window += 1
        clock.state[0] = state
        clock.action[0] = action
        clock.time[0] = time
        clock.episode[0] = episode
        clock.episode_steps[0] = time - (last_step - max_episode_steps + 1)
        clock.window[0] = window
        n_done: int = time - begin
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
            (inlined if ours else own_code)(value)
            _make_jitable(value.__globals__)
