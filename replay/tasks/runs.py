"""Simulated animals: learners that go through the protocol of a task.

They replay after given laps, which are the same for all learners, or act by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replay.checks import check_choice, check_whole, known_arguments, shown
from replay.checks.arrays import Floats, Ints
from replay.learners import find_learner
from replay.learners.contract import Sizes
from replay.log.event_log import EventLog
from replay.log.worlds import ClosedMoves, closed_moves
from replay.simulation.driver import Driver, LogWriter, changing_tables, way_back
from replay.simulation.feed import RecordedExperience
from replay.simulation.loop import Given
from replay.tasks.published import TaskEntry, find_task
from replay.tasks.task import Lap, Task, begin_protocol, next_lap

BEHAVIOURS = ("given", "own")

LONGEST_LAP = 3000
"""After so many steps a lap is cut off, and the animal is carried to the end of the given path."""


class TaskRun(NamedTuple):
    """The laps and the log of one animal.

    Attributes
    ----------
    log : EventLog
        Steps and backups, in analysed states.
    laps : DataFrame
        One row per lap, which is an episode: `episode, block, lap` (its name), `start, end`
        (analysed states), `reward, n_steps, n_rest` (pauses of rest after it), `goal` (the analysed
        state with the largest reward, -1 if there was none).
    """

    log: EventLog
    laps: pd.DataFrame

    def __repr__(self) -> str:
        """Show the number of laps and the log."""
        return f"TaskRun({len(self.laps)} laps, {self.log!r})"


@known_arguments
def run_task(
    task: Task | str, learner: Any, params: Any = None, *, seed: int = 0, behaviour: str = "given"
) -> TaskRun:
    """Let one animal go through a task.

    A reward is drawn with the mean given by its block and a standard deviation of a tenth of the
    mean, as in the simulations of Mattar & Daw [1]_; rewards of the opposite sign become 0. This is
    a modelling choice.

    Parameters
    ----------
    task : Task, TaskEntry or str
        The task, its entry in ``TASKS``, or its name there, in the documented variant.
    learner : str or module
        A name in ``LEARNERS``, or your own module.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    seed : int, default 0
        Seed of all randomness.
    behaviour : {"given", "own"}, default "given"
        Whether laps are run as the task gives them, so that all learners replay after the same
        experience, or as the learner acts.

    References
    ----------
    .. [1] Mattar & Daw (2018). https://doi.org/10.1038/s41593-018-0232-z

    Examples
    --------
    >>> run_task("linear_track", "episodic_control", seed=1)
    TaskRun(60 laps, EventLog(1 run, 540 steps, 540 backups))
    """
    task = _task_of(task)
    check_choice("behaviour", behaviour, BEHAVIOURS)
    if behaviour == "given":
        given = give_laps(task, seed=seed)
        return TaskRun(replay_laps(given, learner, params), given.laps)
    sequence = np.random.SeedSequence(check_whole("seed", seed))
    rngs = tuple(map(np.random.default_rng, sequence.spawn(4)))
    animal = _ActingAnimal(task, learner, params, seed=seed, rngs=rngs)
    laps, log = animal.run(_n_rest_before(task))
    table = _laps(task, laps, log.columns("steps"))
    closed = _closed(task, laps, table["n_steps"].to_numpy())
    return TaskRun(log.with_states(task.analysed, task.world, closed), table)


@dataclass(frozen=True, eq=False, repr=False)
class GivenLaps:
    """The laps of one animal as its task gives them: the same for all learners and parameters."""

    task: Task
    seed: int  # seed of laps and rewards
    laps: pd.DataFrame  # one row per lap, as in `TaskRun`
    # The steps, in states of the task's model, and the pauses of rest.
    experience: RecordedExperience
    closed: ClosedMoves  # step -> the moves between analysed states that are closed from then on

    def __repr__(self) -> str:
        """Show the task, the number of laps and the seed."""
        return f"GivenLaps({self.task.name!r}, {len(self.laps)} laps, seed {self.seed})"


def _task_of(task: object) -> Task:
    """Accept a task, its name, or its entry in ``TASKS``."""
    if isinstance(task, str):
        task = find_task(task)
    if isinstance(task, TaskEntry):
        task = task.build()
    if not isinstance(task, Task):
        raise TypeError(
            f"task must be a Task or the name of one in TASKS, got {shown(task)}; task_of_routes "
            "makes a task."
        )
    return task


def give_laps(task: Task | str, *, seed: int = 0) -> GivenLaps:
    """Draw the laps of one animal, for any number of learners.

    Parameters
    ----------
    task : Task, TaskEntry or str
        As for `run_task`.
    seed : int, default 0
        Seed of laps and rewards.

    Examples
    --------
    >>> from replay.tasks.published import find_task
    >>> given = give_laps(find_task("linear_track").build(), seed=1)
    >>> len(given.laps), replay_laps(given, "dyna_q", {"n_replays": 2})
    (60, EventLog(1 run, 540 steps, 1,640 backups))
    """
    task, seed = _task_of(task), check_whole("seed", seed)
    _, laps_rng, reward_rng = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(3))
    laps, transitions = _given_laps(task, laps_rng, reward_rng)
    ends = np.flatnonzero(transitions["terminated"]) + 1
    rest = {n: lap.n_rest for n, lap in zip(ends.tolist(), laps, strict=True)}
    experience = RecordedExperience.of(
        pd.DataFrame(transitions),
        n_states=len(task.model.states),
        n_actions=task.model.n_actions,
        mdp=task.model.whole,
        rest={0: _n_rest_before(task)} | rest,
    )
    transitions["truncated"] = np.zeros(len(transitions["state"]), dtype=bool)
    table = _laps(task, laps, transitions)
    closed = _closed(task, laps, table["n_steps"].to_numpy())
    return GivenLaps(task, seed, table, experience, closed)


def replay_laps(
    given: GivenLaps, learner: Any, params: Any = None, *, seed: int | None = None
) -> EventLog:
    """Let a learner learn from given laps, and replay.

    Parameters
    ----------
    given : GivenLaps
        From `give_laps`.
    learner : str, module or Learner
        A name in ``LEARNERS``, your own module, or a learner from `find_learner`.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    seed : int, optional
        Seed of the random numbers of replay; by default that of the laps.

    Examples
    --------
    >>> replay_laps(give_laps("linear_track", seed=1), "episodic_control")
    EventLog(1 run, 540 steps, 540 backups)
    """
    if not isinstance(given, GivenLaps):
        raise TypeError(f"given must be laps from give_laps, got {shown(given)}.")
    seed = given.seed if seed is None else check_whole("seed", seed)
    found, task = find_learner(learner, params), given.task
    writer = LogWriter("all", found, task.model.whole, name=task.name, seed=seed)
    log = given.experience.feed_to(found, writer, seed)
    return log.with_states(task.analysed, task.world, given.closed)


def _n_rest_before(task: Task) -> int:
    """Count the pauses before the first lap."""
    first = task.blocks[0] if task.blocks else None
    return first.n_rest if first is not None and first.n_laps == 0 else 0


def _given_laps(
    task: Task, laps_rng: np.random.Generator, reward_rng: np.random.Generator
) -> tuple[list[Lap], dict[str, NDArray[Any]]]:
    """Run the laps as the task gives them; the columns are those for `RecordedExperience.of`."""
    laps: list[Lap] = []
    # States, actions, mean rewards and next states of each lap; most laps are run many times.
    runs: list[tuple[NDArray[Any], ...]] = []
    known: dict[tuple[int, tuple[int, ...]], tuple[NDArray[Any], ...]] = {}
    means: dict[int, Floats] = {}
    protocol, first = begin_protocol(task, laps_rng)
    lap: Lap | None = first
    while lap is not None:
        if lap.path is None:
            raise ValueError(
                f"The task {task.name!r} gives no path for lap {len(laps)}: let the learner act, "
                "with behaviour='own'."
            )
        path = tuple(lap.path)
        key = id(lap.world), path  # all laps are kept, so no other world gets the same id
        if key not in known:
            table = id(lap.world.reward)  # shared by worlds that differ in their start
            if table not in means:
                means[table] = lap.world.expected_reward()
            states = np.array(path, dtype=np.int32)
            state, next_state, action = states[:-1], states[1:], task.model.actions(path)
            n_states, n_actions = lap.world.n_states, lap.world.n_actions
            possible = lap.world.transition_rows() * n_states + lap.world.successor
            leads = np.isin((state * n_actions + action) * n_states + next_state, possible)
            for step in np.flatnonzero(~leads)[:1]:
                here, there = (task.model.states[path[step + k]].node for k in range(2))
                raise ValueError(
                    f"Lap {len(laps)} of the task {task.name!r} goes from {here!r} to {there!r}, "
                    "but its world has no such move: the path is closed, or the lap ends elsewhere."
                )
            known[key] = (state, action, means[table][state, action], next_state)
        runs.append(known[key])
        laps.append(lap)
        lap = next_lap(protocol, path)
    state, action, mean, next_state = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    ends = np.cumsum([len(run[0]) for run in runs])
    terminated = np.zeros(len(state), dtype=bool)
    terminated[ends - 1] = True
    return laps, {
        "state": state,
        "action": action,
        "reward": _noisy(mean, task.reward_sd, reward_rng),
        "next_state": next_state,
        "terminated": terminated,
        "next_action": np.append(action[1:], np.int32(0)),
    }


def _closed(task: Task, laps: list[Lap], n_steps: Ints) -> ClosedMoves:
    """List which moves between analysed states are closed, and from which step on."""
    begins = np.cumsum(n_steps) - n_steps
    worlds = [lap.world for lap in laps]
    held = zip(begins.tolist(), worlds, strict=True)
    return closed_moves(held, task.model.whole, task.analysed)


def _laps(task: Task, laps: list[Lap], steps: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """Make the table of laps."""
    ends = np.flatnonzero(steps["terminated"] | steps["truncated"])
    begins = np.append(0, ends[:-1] + 1)
    start, end = steps["state"][begins], steps["next_state"][ends]
    kinds = {(id(lap.world), lap.start): lap for lap in laps}
    goals = {kind: _goal(task, lap) for kind, lap in kinds.items()}
    names = []
    for lap, first, last in zip(laps, start, end, strict=True):
        way = task.model.states[first].node, task.model.states[last].node
        names.append(task.lap_names.get(way, "other") if task.lap_names else lap.name)
    return pd.DataFrame(
        {
            "episode": np.arange(len(laps)),
            "block": [lap.block for lap in laps],
            "lap": names,
            "start": task.analysed[start],
            "end": task.analysed[end],
            "reward": np.add.reduceat(steps["reward"], begins),
            "n_steps": ends + 1 - begins,
            "n_rest": [lap.n_rest for lap in laps],
            "goal": [goals[id(lap.world), lap.start] for lap in laps],
        }
    )


def _goal(task: Task, lap: Lap) -> int:
    """Find the analysed state where a lap pays most; -1 if it pays nowhere."""
    states, paid = task.model.states, lap.world.reward
    rows = lap.world.transition_rows() // lap.world.n_actions
    memory = states[lap.start].memory
    here = [states[row].memory == memory for row in rows[paid > 0]]
    entered, amount = lap.world.successor[paid > 0][here], paid[paid > 0][here]
    if not len(entered):
        return -1
    at_end = [states[state].end for state in entered]
    return int(task.analysed[entered[np.lexsort((at_end, amount))[-1]]])


def _noisy(mean: Floats, sd: float, rng: np.random.Generator) -> Floats:
    """Draw rewards from normal distributions; a reward of the opposite sign becomes 0."""
    drawn = mean.copy()
    varies = mean * sd != 0
    drawn[varies] = rng.normal(mean[varies], sd * np.abs(mean[varies]))
    drawn[drawn * mean < 0] = 0.0
    return drawn


class _ActingAnimal:
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
            n_states=whole.n_states,
            n_actions=whole.n_actions,
            n_transitions=3
            * whole.n_transitions,  # a move may lead on, end the lap, or meet a barrier
            n_steps=LONGEST_LAP,
            n_links=int(whole.terminal.sum()) * len(task.model.starts),
            way_back=way_back(found, whole, whole.n_actions),
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
        reward = _noisy(mdp.reward, self.task.reward_sd, self.reward_rng)
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
        steps["reward"] = _noisy(means, self.task.reward_sd, self.reward_rng)
        steps["terminated"][-1] = True
        following = self._send(lap.path)
        start = lap.start if following is None else following.start
        next_actions = np.append(steps["action"][1:], driver.choose(start)).astype(np.int32)
        starts = np.full(n_steps, -1 if following is None else start, dtype=np.int32)
        driver.feed(Given(steps, next_actions, starts), lap.n_rest)
        driver.begin(start)
        return following
