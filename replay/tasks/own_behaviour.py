"""Own behaviour: the learner chooses its actions in the laps of a task."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from replay.checks.arrays import Floats
from replay.learners import find_learner
from replay.learners.contract import Sizes
from replay.log.event_log import EventLog
from replay.simulation.driver import Driver, LogWriter, changing_tables, way_back
from replay.simulation.loop import Given
from replay.tasks.task import Lap, Task, begin_protocol, next_lap

LONGEST_LAP = 3000
"""After so many steps a lap is cut off, and the animal is carried to the end of the given path."""


def noisy(mean: Floats, sd: float, rng: np.random.Generator) -> Floats:
    """Draw rewards from normal distributions; a reward of the opposite sign becomes 0."""
    drawn = mean.copy()
    varies = mean * sd != 0
    drawn[varies] = rng.normal(mean[varies], sd * np.abs(mean[varies]))
    drawn[drawn * mean < 0] = 0.0
    return drawn


class ActingAnimal:
    """A learner that acts through a task; the generators are for replay, laps, rewards, actions."""

    def __init__(
        self,
        task: Task,
        learner: Any,
        params: Any,
        *,
        seed: int,
        rngs: tuple[np.random.Generator, ...],
    ) -> None:
        self.task, found = task, find_learner(learner, params)
        replay_rng, laps_rng, self.reward_rng, rng = rngs
        self.protocol, first = begin_protocol(task, laps_rng)
        self.first = self._checked(first)
        whole = task.model.whole
        sizes = Sizes(
            whole.n_states,
            whole.n_actions,
            3 * whole.n_transitions,  # a move may lead on, end the lap, or meet a barrier
            LONGEST_LAP,
            int(whole.terminal.sum()) * len(task.model.starts),
            way_back(found, whole, whole.n_actions),
        )
        writer = LogWriter("all", found, name=task.name, seed=seed)
        self.driver = Driver(found, sizes, writer, rng=rng, replay_rng=replay_rng, known=whole)

    def run(self, n_rest_before: int) -> tuple[list[Lap], EventLog]:
        """Run all laps."""
        laps, driver = [self.first], self.driver
        driver.rest(self.first.start, n_rest_before)
        driver.begin(self.first.start)
        while True:
            following = self._follow(laps[-1]) if laps[-1].shown else self._act(laps[-1])
            if following is None:
                return laps, driver.finish()
            laps.append(following)

    def _send(self, states: Sequence[int]) -> Lap | None:
        following = next_lap(self.protocol, states)
        return None if following is None else self._checked(following)

    def _checked(self, lap: Lap) -> Lap:
        """Refuse laps for which a learner's memory has no room."""
        if lap.start not in self.task.model.starts:
            raise ValueError(
                f"A lap of the task {self.task.name!r} starts in state {lap.start}, but its model "
                f"has the starts {', '.join(map(str, self.task.model.starts))}."
            )
        if lap.shown and lap.path is not None and len(lap.path) > LONGEST_LAP + 1:
            raise ValueError(
                f"A shown lap of the task {self.task.name!r} has {len(lap.path) - 1} steps: "
                f"show at most {LONGEST_LAP}."
            )
        return lap

    def _act(self, lap: Lap) -> Lap | None:
        """Run a lap step by step: its end determines the next lap, and where replay happens."""
        mdp, driver = lap.world, self.driver
        start = np.full(1, lap.start, dtype=np.int32)
        reward = noisy(mdp.reward, self.task.reward_sd, self.reward_rng)
        world = changing_tables(mdp, reward, start)
        states = [lap.start]
        while True:
            driver.writer.lengthen(driver.time + 1)
            (entered,) = mdp.successors(driver.state, driver.action).tolist()
            states.append(entered)
            is_cut = not mdp.terminal[entered] and len(states) > LONGEST_LAP
            if is_cut and lap.path is not None:
                states.append(lap.path[-1])
            if mdp.terminal[entered] or is_cut:
                following = self._send(states)
                start[0] = -1 if following is None else following.start
                driver.act(world, 1, LONGEST_LAP, lap.n_rest)
                return following
            driver.act(world, 1, LONGEST_LAP)

    def _follow(self, lap: Lap) -> Lap | None:
        """Let the animal see a given lap."""
        if lap.path is None:
            raise ValueError(f"A lap of the task {self.task.name!r} is shown, but has no path.")
        driver, n_steps = self.driver, len(lap.path) - 1
        driver.writer.lengthen(driver.time + n_steps)
        steps = driver.writer.steps[driver.time : driver.time + n_steps]
        steps["state"], steps["next_state"] = lap.path[:-1], lap.path[1:]
        steps["action"] = [self.task.model.action(*move) for move in pairwise(lap.path)]
        means = lap.world.expected_reward()[steps["state"], steps["action"]]
        steps["reward"] = noisy(means, self.task.reward_sd, self.reward_rng)
        steps["terminated"][-1] = True
        following = self._send(lap.path)
        start = lap.start if following is None else following.start
        next_actions = np.append(steps["action"][1:], driver.choose(start)).astype(np.int32)
        starts = np.full(n_steps, -1 if following is None else start, dtype=np.int32)
        driver.feed(Given(steps, next_actions, starts), lap.n_rest)
        driver.begin(start)
        return following
