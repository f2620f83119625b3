"""What the floor under the gain does: the simulations of Mattar & Daw (2018), with and without it.

Their gain is never less than 1e-10. Where nothing is to be gained, replay then follows need alone,
and it runs forward from where the animal is. The tasks are theirs: a linear track that is run to
and fro, and an open maze with random starts; the reward at the goal varies.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.intervals import mean_interval
from analyses.studies.segments import find_segments, segments_per_episode
from replay.learners import find_learner
from replay.learners.contract import Sizes
from replay.log import backups
from replay.log.event_log import EventLog
from replay.simulation.driver import world_of
from replay.simulation.loop import STEP, Clock, kernels
from replay.worlds.mazes import open_maze, two_way_track
from replay.worlds.mdp import MDP

__all__ = ["SETTINGS", "TASKS", "compare_gain_floors", "simulate_laps"]

SETTINGS = {
    "floor": {"gain_floor": 1e-10},
    "no_floor": {"gain_floor": 0.0},
    "no_need": {"gain_floor": 1e-10, "need": "one"},
}
"""Setting -> the parameters in which it differs."""

TASKS = ("linear_track", "open_maze")

_PUBLISHED = {"pre_explored": True, "one_step_late": True}
_REWARD_SD = 0.1
_STEPS_PER_CHUNK = 1 << 14


class _Ends(NamedTuple):
    """Transitions that end an episode, and where the next one may start after each state."""

    rewarded: np.ndarray
    starts: list[np.ndarray]


def _tasks(name: str) -> tuple[MDP, _Ends]:
    mdp = open_maze(random_starts=True) if name == "open_maze" else two_way_track()
    starts = np.flatnonzero(mdp.start_probability)
    after = [starts] * mdp.n_states
    if name == "linear_track":  # the way back begins beside this way's end
        row = np.array(mdp.position)[:, 1]
        after = [starts[row[starts] != here] for here in row]
    return mdp, _Ends(np.flatnonzero(mdp.terminal[mdp.successor]), after)


def simulate_laps(
    task: str, params: Any = None, *, n_episodes: int = 50, seed: int = 0
) -> EventLog:
    """Simulate one animal in one of the two tasks, with their noise.

    The reward has the mean 1 and the standard deviation 0.1; negative ones become 0. On the track
    each lap starts where the one before ended, in the other direction.

    Parameters
    ----------
    task : {"linear_track", "open_maze"}
        Which task.
    params : mapping, optional
        Parameters of prioritized memory access that differ from the published ones.
    n_episodes : int, default 50
        How many episodes.
    seed : int, default 0
        Seed of all randomness.

    Returns
    -------
    EventLog
        Steps and replay of these episodes.

    Raises
    ------
    ValueError
        If the task is unknown.

    Examples
    --------
    >>> log = simulate_laps("linear_track", n_episodes=2)
    >>> log.steps["terminated"].sum()
    np.int64(2)
    """
    if task not in TASKS:
        raise ValueError(f"Unknown task {task!r}. Choose from: {', '.join(TASKS)}.")
    found = find_learner("prioritized_memory_access", _PUBLISHED | dict(params or {}))
    learner, parameters = found, found.params
    mdp, ends = _tasks(task)
    rng, replay_rng = (
        np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2)
    )
    sizes = Sizes(mdp.n_states, mdp.n_actions, mdp.n_transitions, 1, mdp.n_states**2)
    memory = learner.init(parameters, sizes)
    learner.explore(parameters, memory, mdp)
    for end in np.flatnonzero(mdp.terminal).tolist():
        _expect(memory.need.chain, end, ends.starts[end])

    # The loop makes a step at a time, so that the world can change in between.
    world = world_of(mdp)
    reward, start_state = mdp.reward.copy(), np.zeros(1, dtype=np.int32)
    world = world._replace(
        reward=_read_only(reward), start_state=start_state, start_cumulative=np.ones(1)
    )
    run, _ = kernels(learner)
    clock = Clock(*(np.zeros(1, dtype=np.int64) for _ in Clock._fields))
    clock.state[0] = rng.choice(np.flatnonzero(mdp.start_probability))
    clock.action[0] = learner.act(parameters, memory, int(clock.state[0]), rng)
    steps = np.zeros(_STEPS_PER_CHUNK, dtype=STEP)
    room = 2 * learner.most_backups(parameters, memory)
    buffer = backups.backup_buffer(room, "replay", evaluates=True)
    made = []
    n_ended = 0
    while n_ended < n_episodes:
        time = int(clock.time[0])
        if time == len(steps):
            steps = np.concatenate((steps, np.zeros_like(steps)))
        reward[ends.rewarded] = max(rng.normal(1.0, _REWARD_SD), 0.0)
        start_state[0] = rng.choice(ends.starts[clock.state[0]])
        run(
            world, parameters, memory, clock, rng, replay_rng, 1, 2**62, None, False,
            np.zeros(2), np.array([-1]), steps[time:], buffer,
        )  # fmt: skip
        if steps["terminated"][time]:
            n_ended += 1
        rows, buffer = backups.renew(buffer, room)
        if len(rows[0]):
            made.append(tuple(table.copy() for table in rows))
    described = {
        "learner": found.name,
        "mdp": mdp.name,
        "seed": seed,
        "parameters": found.parameters,
    }
    return EventLog.from_run(described, steps[: int(clock.time[0])], made, keep="replay", mdp=mdp)


def _expect(chain: Any, end: int, starts: np.ndarray) -> None:
    """Let the chain go on from an end to these starts alone."""
    edge = chain.first_out[end]
    while edge >= 0:
        expected = np.isin(chain.edges["next_state"][edge], starts)
        chain.edges["probability"][edge] = expected / len(starts)
        edge = chain.edges["next_out"][edge]


def _read_only(array: np.ndarray) -> np.ndarray:
    """Give a view that compiled code takes for an MDP's own table."""
    view = array.view()
    view.setflags(write=False)
    return view


def compare_gain_floors(
    n_simulations: int = 50, n_episodes: int = 50, seed: int = 0
) -> pd.DataFrame:
    """Count forward and reverse segments per episode with the floor, without it, and without need.

    Parameters
    ----------
    n_simulations : int, default 50
        Animals in each task and setting; at least 2 for intervals.
    n_episodes : int, default 50
        Episodes of each.
    seed : int, default 0
        Seed of the first simulation; the others count up.

    Returns
    -------
    DataFrame
        `task, setting, place, direction`, and of the segments per episode `mean, sem, ci_low,
        ci_high` (95 %, Student's t over simulations) and `n`.

    Examples
    --------
    >>> table = compare_gain_floors(n_simulations=2, n_episodes=3)
    >>> len(table)
    24
    """
    cells = []
    for task in TASKS:
        for setting, params in SETTINGS.items():
            for number in range(n_simulations):
                log = simulate_laps(task, params, n_episodes=n_episodes, seed=seed + number)
                counts = segments_per_episode(find_segments(log.backups), log.steps)
                cells.append(counts.assign(task=task, setting=setting))
    names = ["task", "setting", "place", "direction"]
    return mean_interval(pd.concat(cells), "per_episode", names)
