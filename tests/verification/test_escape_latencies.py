"""SFMA compared with the results of its paper [1]_.

The worlds, trials, parameters and lengths of replay are those of its three navigation tasks. There
an agent does not choose actions that lead into walls; here such an action makes one of the possible
moves instead, so that all its experiences are moves, too.

References
----------
.. [1] Diekmann & Cheng (2023), A model of hippocampal replay driven by experience and
   environmental structure facilitates spatial learning. https://doi.org/10.7554/eLife.82301
"""

import types

import numpy as np
import pytest

from replay import simulate
from replay.worlds.mdp import MDP

pytestmark = pytest.mark.slow

N_SEEDS = 60
WALLS = [
    *[(1, 2), (11, 12), (21, 22), (31, 32), (41, 42), (51, 52), (61, 62), (71, 72)],
    *[(14, 24), (15, 25), (16, 26), (17, 27), (36, 46), (37, 47), (38, 48), (39, 49)],
    *[(23, 24), (33, 34), (43, 44), (53, 54), (63, 64), (73, 74), (83, 84), (93, 94)],
    *[(76, 86), (77, 87), (45, 46), (55, 56), (65, 66), (75, 76)],
]
RANDOM_REPLAY = """
from replay.log.backups import EPISODE_END
from replay.learners import q_learning
from replay.learners.sfma import Memory, Params, init, learn, most_backups

def replay(params, memory, pause, rng, log):
    if pause.phase == EPISODE_END:
        places = memory.experiences.place
        n_states, n_actions = places.shape
        for _ in range(params.n_replays):
            place = places[int(rng.random() * n_states), int(rng.random() * n_actions)]
            if place >= 0:
                it = memory.experiences.rows[place]
                q_learning.back_up(
                    params, memory.action_values, it["state"], it["action"], it["reward"],
                    it["next_state"], it["terminated"],
                )
"""
"""Draws any pair, tried or not, as the original's does."""


def grid(width, height, start, walls=()):
    """Make a world of cells, of which the first is the goal."""
    blocked = {frozenset(wall) for wall in walls}
    successors = []
    for cell in range(width * height):
        y, x = divmod(cell, width)
        around = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
        near = [i + j * width for i, j in around if 0 <= i < width and 0 <= j < height]
        near = [other for other in near if frozenset((cell, other)) not in blocked]
        n_actions = 2 if height == 1 else 4
        successors.append([near[action % len(near)] for action in range(n_actions)])
    reward = (np.array(successors) == 0).astype(float)
    return MDP.from_tables(successors, reward, start=start, terminal=[0])


TASKS = {
    "linear track": (grid(10, 1, start=9), 20, 100, 10),
    "open field": (grid(10, 10, start=55), 100, 100, 10),
    "labyrinth": (grid(10, 10, start=4, walls=WALLS), 100, 300, 50),
}
"""World, trials, steps that a trial lasts at most, experiences in a replay."""


@pytest.fixture(scope="module")
def random_replay():
    module = types.ModuleType("random_replay")
    exec(RANDOM_REPLAY, module.__dict__)
    return module


def runs(task, learner, **params):
    world, n_trials, longest, n_replays = TASKS[task]
    params["learning_rate"] = 0.9
    if learner != "q_learning":
        params["n_replays"] = n_replays
    for seed in range(N_SEEDS):
        yield simulate(
            world, learner, params, n_steps=n_trials * longest, max_episode_steps=longest, seed=seed
        ).log


def escape_latencies(task, learner):
    """Return the mean steps of a trial in each run."""
    n_trials = TASKS[task][1]
    lengths = [log.steps.groupby("episode").size()[:n_trials] for log in runs(task, learner)]
    return np.mean(lengths, axis=1)


@pytest.mark.parametrize("task", TASKS)
def test_learning_is_faster_than_with_random_replay(task, random_replay):
    """Its figure of escape latencies: reverse, default, random, no replay, from fast to slow.

    On the linear track the default mode is faster than random replay by less than the error.
    """
    reverse, default, at_random, without, dynamic = (
        escape_latencies(task, learner)
        for learner in ("sfma_reverse", "sfma", random_replay, "q_learning", "sfma_dynamic")
    )
    pairs = [(reverse, default), (reverse, at_random), (default, without), (dynamic, default)]
    if task != "linear track":
        pairs += [(default, at_random), (at_random, without)]
    for faster, slower in pairs:
        error = np.hypot(faster.std(), slower.std()) / np.sqrt(N_SEEDS)
        assert faster.mean() < slower.mean() - 2.0 * error


def shares_of_directions(task, learner, phase):
    """Return how many pairs of reactivations in succession go forwards, and how many backwards."""
    n_forward = n_reverse = n_pairs = 0
    for log in runs(task, learner, replay_at="pauses"):
        rows = log.backups[log.backups["phase"] == phase]
        state, next_state, event = rows[["state", "next_state", "event"]].to_numpy().T
        together = event[1:] == event[:-1]
        forward = together & (state[1:] == next_state[:-1])
        reverse = together & ~forward & (next_state[1:] == state[:-1])
        n_forward += forward.sum()
        n_reverse += reverse.sum()
        n_pairs += together.sum()
    return n_forward / n_pairs, n_reverse / n_pairs


@pytest.mark.parametrize("task", TASKS)
def test_the_default_mode_is_forward_at_starts_and_reverse_at_ends(task):
    """Its figure of pairs of reactivations at starts and ends of trials."""
    forward, reverse = shares_of_directions(task, "sfma", "start")
    assert forward > 1.2 * reverse
    forward, reverse = shares_of_directions(task, "sfma", "episode_end")
    assert reverse > 1.2 * forward


@pytest.mark.parametrize("task", TASKS)
def test_the_reverse_mode_is_reverse(task):
    forward, reverse = shares_of_directions(task, "sfma_reverse", "episode_end")
    assert reverse > 5 * forward
    if task != "linear track":  # where next to nothing has ever led to the start
        forward, reverse = shares_of_directions(task, "sfma_reverse", "start")
        assert reverse > 5 * forward


def test_replay_does_not_cross_walls():
    """Its figure of replay in changing mazes: reactivations spread along the ways that are open."""
    walls = {frozenset(wall) for wall in WALLS}
    shares = []
    for blocked in ([], WALLS):
        world = grid(10, 10, start=55, walls=blocked)
        run = simulate(
            world, "sfma", {"epsilon": 1.0, "n_replays": 50}, n_steps=100_000, max_episode_steps=200
        )
        state, event = run.log.backups[["state", "event"]].to_numpy().T
        pairs = np.stack([state[:-1], state[1:]], axis=1)[event[1:] == event[:-1]]
        shares.append(np.mean([frozenset(pair) in walls for pair in pairs.tolist()]))
    assert shares[0] > 0.1
    assert shares[1] < 0.1 * shares[0]
