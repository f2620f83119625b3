"""A learner that runs the laps of a task as it chooses."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from replay.learners import find_learner
from replay.learners.contract import Pause, Sizes
from replay.log import backups
from replay.log.event_log import EventLog
from replay.simulation.driver import world_of
from replay.simulation.loop import STEP, Clock, World, kernels
from replay.tasks.task import Lap, Task, begin, send

__all__ = ["LONGEST_LAP", "act_through", "noisy"]

LONGEST_LAP = 3000
"""A lap of so many steps is cut off, and the animal is carried to where it should have ended."""

_STEPS_PER_CHUNK = 1 << 14
_ROWS_PER_BUFFER = 1 << 15


def act_through(
    task: Task,
    learner: Any,
    params: Any,
    *,
    seed: int,
    n_rest_before: int,
    rngs: tuple[np.random.Generator, ...],
) -> tuple[list[Lap], EventLog]:
    """Let a learner act through a task.

    Parameters
    ----------
    task : Task
        What is run.
    learner, params
        As `run_task` takes them.
    seed : int
        For the log.
    n_rest_before : int
        Pauses of rest before the first lap.
    rngs : tuple of numpy.random.Generator
        Of replay, laps, rewards and actions.

    Returns
    -------
    laps : list of Lap
        As the protocol gave them.
    log : EventLog
        In states of the model.
    """
    animal = _Animal(task, learner, params, rngs)
    laps = animal.run(n_rest_before)
    return laps, animal.log(seed)


def noisy(mean: float, sd: float, rng: np.random.Generator) -> float:
    """Draw a reward: normal, but never negative; `sd` is a share of the mean."""
    return max(float(rng.normal(mean, sd * mean)), 0.0) if mean * sd else float(mean)


class _Animal:
    """A learner on its way through a task."""

    def __init__(
        self, task: Task, learner: Any, params: Any, rngs: tuple[np.random.Generator, ...]
    ) -> None:
        self.task, self.found = task, find_learner(learner, params)
        self.replay_rng, laps_rng, self.reward_rng, self.rng = rngs
        self.protocol, self.first = begin(task, laps_rng)
        found, whole = self.found, task.model.whole
        sizes = Sizes(
            whole.n_states,
            whole.n_actions,
            3 * whole.n_transitions,  # a move may lead on, end the lap, or meet a barrier
            LONGEST_LAP,
            int(whole.terminal.sum()) * len(task.model.starts),
            whole.way_back if found.needs_way_back else None,
        )
        self.memory = found.init(found.params, sizes)
        found.explore(found.params, self.memory, whole)
        self.kernels = kernels(found)
        self.clock = Clock(*(np.zeros(1, dtype=np.int64) for _ in Clock._fields))
        self.steps = np.zeros(0, dtype=STEP)
        self.buffer = backups.backup_buffer(0, "all", found.evaluates)
        self.pieces: list[tuple[np.ndarray, ...]] = []

    def run(self, n_rest_before: int) -> list[Lap]:
        laps = [self.first]
        self._rest(laps[0].start, n_rest_before)
        self._begin(laps[0].start)
        while True:
            following = self._follow(laps[-1]) if laps[-1].shown else self._act(laps[-1])
            if following is None:
                return laps
            laps.append(following)

    def log(self, seed: int) -> EventLog:
        self._make_room(0)
        n_steps = int(self.clock.time[0])
        described = {
            "learner": self.found.name,
            "mdp": self.task.name,
            "seed": seed,
            "parameters": self.found.parameters,
        }
        made = [_without_start(tables, n_steps - 1) for tables in self.pieces]
        return EventLog.from_run(described, self.steps[:n_steps], made, keep="all")

    def _rest(self, state: int, n_pauses: int) -> None:
        backups.set_step(self.buffer, -1)
        for _ in range(n_pauses if self.found.explores else 0):  # the others know nothing yet
            self._make_room(1)
            pause = Pause(backups.REST, state, False)
            self.found.replay(self.found.params, self.memory, pause, self.replay_rng, self.buffer)

    def _begin(self, state: int) -> None:
        self.clock.state[0] = state
        self.clock.action[0] = self._choose(state)

    def _choose(self, state: int) -> int:
        return int(self.found.act(self.found.params, self.memory, state, self.rng))

    def _act(self, lap: Lap) -> Lap | None:
        """Run a lap step by step: how it ends decides on the next one, and on where to replay."""
        mdp, clock = lap.world, self.clock
        reward, start = mdp.reward.copy(), np.full(1, lap.start, dtype=np.int32)
        for transition in np.flatnonzero(reward):
            reward[transition] = noisy(reward[transition], self.task.reward_sd, self.reward_rng)
        world = world_of(mdp)._replace(
            reward=_read_only(reward), start_state=start, start_cumulative=np.ones(1)
        )
        states = [lap.start]
        while True:
            (entered,) = mdp.successors(int(clock.state[0]), int(clock.action[0])).tolist()
            states.append(entered)
            is_cut = not mdp.terminal[entered] and len(states) > LONGEST_LAP
            if is_cut and lap.path is not None:
                states.append(lap.path[-1])
            if mdp.terminal[entered] or is_cut:
                following = send(self.protocol, states)
                start[0] = lap.start if following is None else following.start
                self._step(world, lap.n_rest)
                return following
            self._step(world, 0)

    def _step(self, world: World, n_rest: int) -> None:
        self._make_room(1 + n_rest)
        self._lengthen(1)
        steps = self.steps[int(self.clock.time[0]) :]
        act_first = self.found.acts_before_learning
        self.kernels[0](
            world, self.found.params, self.memory, self.clock, self.rng, self.replay_rng, 1,
            LONGEST_LAP, n_rest, act_first, np.zeros(2), np.array([-1]), steps,
            self.buffer,
        )  # fmt: skip

    def _follow(self, lap: Lap) -> Lap | None:
        """Let the animal see a lap that is given."""
        assert lap.path is not None
        time, n_steps = int(self.clock.time[0]), len(lap.path) - 1
        self._lengthen(n_steps)
        steps = self.steps[time : time + n_steps]
        steps["state"], steps["next_state"] = lap.path[:-1], lap.path[1:]
        steps["action"] = [self.task.model.action(*move) for move in pairwise(lap.path)]
        means = lap.world.expected_reward()[steps["state"], steps["action"]].tolist()
        steps["reward"] = [noisy(mean, self.task.reward_sd, self.reward_rng) for mean in means]
        steps["terminated"][-1] = True
        following = send(self.protocol, lap.path)
        start = lap.start if following is None else following.start
        next_actions, starts = np.zeros((2, len(self.steps)), dtype=np.int32)
        rests = np.zeros(len(self.steps), dtype=np.int64)
        next_actions[time : time + n_steps] = [*steps["action"][1:], self._choose(start)]
        starts[time + n_steps - 1] = -1 if following is None else start
        rests[time + n_steps - 1] = lap.n_rest
        for _ in range(n_steps):
            self._make_room(1 + lap.n_rest)
            self.kernels[1](
                self.found.params, self.memory, self.clock, self.replay_rng, 1, self.steps,
                next_actions, starts, rests, self.buffer,
            )  # fmt: skip
        self._begin(start)
        return following

    def _lengthen(self, n_steps: int) -> None:
        if int(self.clock.time[0]) + n_steps > len(self.steps):
            self.steps = np.append(self.steps, np.zeros(_STEPS_PER_CHUNK + n_steps, dtype=STEP))

    def _make_room(self, n_pauses: int) -> None:
        n_rows = 2 * n_pauses * self.found.most_backups(self.found.params, self.memory)
        if backups.room(self.buffer) < n_rows or not n_pauses:
            rows, self.buffer = backups.renew(self.buffer, max(n_rows, _ROWS_PER_BUFFER))
            self.pieces.append(rows)


def _without_start(tables: tuple[np.ndarray, ...], last_step: int) -> tuple[np.ndarray, ...]:
    """Leave out what the loop lets an animal replay at a start that never comes."""
    rows = tables[0]
    kept = (rows["step"] != last_step) | (rows["phase"] != backups.START)
    return tuple(table[kept] for table in tables)


def _read_only(array: np.ndarray) -> np.ndarray:
    """Give a view that compiled code takes for an MDP's own table."""
    view = array.view()
    view.setflags(write=False)
    return view
