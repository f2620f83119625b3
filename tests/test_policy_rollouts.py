"""Planning by rollouts: exact expectations in a small world, and the effects that were published.

``reference/rollout_effects.csv`` has what the network of Jensen et al. (2024) does after a rollout:
the mean probability of the rollout's first move before and after it, by whether it found the
reward. It was run from the weights of their five agents (github.com/KrisJensen/planning_code at
a9c03b4, seeds 61 to 65, 400 mazes each), once they had found the reward of a maze.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from replay import random_maze, simulate
from replay.learners import find_learner
from replay.learners import policy_rollouts as planner
from replay.learners.contract import Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, REST, START, STEP, backup_buffer, filled
from replay.parts.experiences import experience_at

# (state, action) -> (next state, reward); 5 is the end. From 3, only one action was tried.
WORLD = {
    (0, 0): (1, 0.0), (0, 1): (2, 0.0), (0, 2): (0, -0.1),
    (1, 0): (3, 0.0), (1, 1): (0, 0.0), (1, 2): (5, 0.0),
    (2, 0): (4, 0.5), (2, 1): (3, 0.0), (2, 2): (1, 0.0),
    (3, 1): (5, 1.0),
}  # fmt: skip
END, LENGTH, DISCOUNT = 5, 4, 0.8


def learner(**params):
    """Give a learner that knows the world, with preferences of its own."""
    settings = {"discount": DISCOUNT, "length": LENGTH, "rollout_rate": 0.5} | params
    found = find_learner("policy_rollouts", settings).params
    memory = planner.init(found, Sizes(6, 3, 18, 10))
    for (s, a), (s_next, reward) in WORLD.items():
        outcome = memory.experiences.rows[experience_at(memory.experiences, s, a)]
        outcome["next_state"], outcome["reward"] = s_next, reward
        outcome["terminated"] = s_next == END
    memory.preferences[:] = np.random.default_rng(5).normal(size=(6, 3))
    return found, memory


def prepared(params, memory, state=0):
    n = planner._reach(params, memory, state)
    for i in range(n):
        planner._set_policy(memory, i, memory.reached[i], True)
    planner._evaluate(params, memory, n)
    return n


def policy(h, state):
    weights = {a: np.exp(h[state, a]) for a in range(3) if (state, a) in WORLD}
    return {a: weight / sum(weights.values()) for a, weight in weights.items()}


def rollouts(h, state=0, n_left=LENGTH):
    """List all rollouts with their probabilities, as pairs of state and action."""
    if n_left == 0 or not policy(h, state):
        return [((), 1.0)]
    found = []
    for a, p in policy(h, state).items():
        s_next, reward = WORLD[state, a]
        stops = reward > 0 or s_next == END
        rest = [((), 1.0)] if stops else rollouts(h, s_next, n_left - 1)
        found += [(((state, a), *path), p * q) for path, q in rest]
    return found


def returned(path):
    return sum(DISCOUNT**t * WORLD[pair][1] for t, pair in enumerate(path))


def expected_return(h):
    return sum(p * returned(path) for path, p in rollouts(h))


def slope_by_state(params, memory):
    n = prepared(params, memory)
    gain = planner._expected_gain(params, memory, n)
    slope = np.zeros((6, 3))
    slope[memory.reached[:n]] = memory.slope[:n]
    return slope, gain


def follow(params, memory, path):
    """Follow one rollout; return the change of the preferences."""
    before = memory.preferences.copy()
    memory.path[: len(path)] = [memory.experiences.place[pair] for pair in path]
    planner._follow(params, memory, len(path), START, 0, None)
    change = memory.preferences - before
    memory.preferences[:] = before
    return change


def test_expected_returns_and_their_gradient_are_exact():
    params, memory = learner()
    h = memory.preferences
    assert sum(p for _, p in rollouts(h)) == pytest.approx(1.0)
    slope, gain = slope_by_state(params, memory)
    assert memory.value[LENGTH, 0] == pytest.approx(expected_return(h))
    by_difference = np.zeros_like(h)
    for at in np.ndindex(h.shape):
        for sign in (1, -1):
            h[at] += sign * 1e-5
            by_difference[at] += sign * expected_return(h) / 2e-5
            h[at] -= sign * 1e-5
    assert slope == pytest.approx(by_difference, abs=1e-8)
    assert gain == pytest.approx(0.5 * (by_difference**2).sum(), rel=1e-6)


@pytest.mark.parametrize("more", [0.0, 0.3])
def test_the_mean_step_of_all_rollouts_is_the_gradient(more):
    """Also if more is expected than is right: steps differ, but not their mean."""
    params, memory = learner()
    slope, _ = slope_by_state(params, memory)
    memory.value[:] += more
    step = np.zeros((6, 3))
    for path, p in rollouts(memory.preferences):
        step += p * follow(params, memory, path)
    assert step == pytest.approx(params.rollout_rate * slope)


def test_what_a_small_step_gains_is_what_was_expected():
    params, memory = learner(rollout_rate=1e-3)
    _, gain = slope_by_state(params, memory)
    h, gained = memory.preferences, 0.0
    for path, p in rollouts(h):
        gained += p * (expected_return(h + follow(params, memory, path)) - expected_return(h))
    assert gained == pytest.approx(gain, rel=0.01)


def test_rollouts_are_drawn_as_often_as_they_should():
    params, memory = learner()
    prepared(params, memory)
    known, rng, counts, n = memory.experiences.rows, np.random.default_rng(1), {}, 20_000
    for _ in range(n):
        rows = known[memory.path[: planner._drawn(params, memory, rng)]]
        path = tuple(zip(rows["state"].tolist(), rows["action"].tolist(), strict=True))
        counts[path] = counts.get(path, 0) + 1
    expected = dict(rollouts(memory.preferences))
    assert set(counts) <= set(expected)
    for path, p in expected.items():
        assert abs(counts.get(path, 0) - n * p) < 5 * np.sqrt(n * p * (1 - p)) + 1


def planned(params, memory, phase=START, state=0):
    log = backup_buffer(10_000, "replay")
    planner.replay(params, memory, Pause(phase, state, False), np.random.default_rng(0), log)
    return filled(log)[0]


def test_it_imagines_while_the_gain_exceeds_what_the_time_would_have_earned():
    params, memory = learner(backup_cost=0.0, rollout_rate=1e-9)
    _, gain = slope_by_state(params, memory)
    memory.place[:] = -1
    memory.earned[:] = 5.0, 10.0  # half a reward per move
    for cost, n_expected in ((1.9 * gain, 10), (2.1 * gain, 0)):
        made = planned(params._replace(backup_cost=cost), memory)
        assert len(np.unique(made["pop"])) == n_expected
        assert (memory.place == -1).all()
    assert len(planned(params, memory, STEP)) > 0
    assert len(planned(params._replace(each_step=False), memory, STEP)) == 0
    assert len(planned(params, memory, EPISODE_END)) == len(planned(params, memory, REST)) == 0


def test_rollouts_are_chains_from_the_animal():
    params, memory = learner(backup_cost=0.0)
    made = planned(params, memory)
    for pop in np.unique(made["pop"]):
        rows = made[made["pop"] == pop]
        assert rows["state"][0] == 0
        assert (rows["state"][1:] == rows["next_state"][:-1]).all()
        assert tuple(zip(rows["state"].tolist(), rows["action"].tolist(), strict=True)) in dict(
            rollouts(memory.preferences)
        )


def test_nothing_is_imagined_where_nothing_can_be_gained():
    params, memory = learner(backup_cost=0.0)
    assert len(planned(params, memory, state=3)) == 0  # one action
    assert len(planned(params, memory, state=4)) == 0  # nothing tried
    memory.preferences[:, 0] = 800.0  # a sure policy
    assert len(planned(params, memory)) == 0
    params, memory = learner(backup_cost=0.0)
    memory.experiences.rows["reward"] = 0.0
    assert len(planned(params, memory)) == 0


def test_an_episode_is_a_policy_gradient_without_bootstrapping():
    found = find_learner("policy_rollouts", {"discount": 0.5, "learning_rate": 0.1}).params
    memory = planner.init(found, Sizes(3, 2, 6, 10))
    before = np.array([[np.log(3.0), 0.0], [0.0, 0.0], [0.0, 0.0]])
    memory.preferences[:] = before
    memory.action_values[:] = [[0.2, 0.6], [0.0, 0.4], [0.0, 0.0]]  # 0.3 and 0.2 are expected
    for s, a, r, s_next, ends in ((0, 1, 0.0, 1, False), (1, 0, 1.0, 2, True)):
        planner.learn(found, memory, Transition(s, a, r, s_next, -1, ends, False), None)
    assert memory.action_values[0].tolist() == pytest.approx([0.2, 0.6 + 0.1 * (0.5 - 0.6)])
    assert memory.action_values[1].tolist() == pytest.approx([0.1, 0.4])
    change = memory.preferences - before
    assert change[0].tolist() == pytest.approx([-0.02 * 0.75, 0.02 * 0.75])
    assert change[1].tolist() == pytest.approx([0.08 * 0.5, -0.08 * 0.5])


def test_an_episode_is_remembered_until_its_end():
    """Also where it is planned at each step."""
    maze, options = random_maze(4, seed=1), {"each_step": True}
    run = simulate(maze, "policy_rollouts", options, n_steps=30, seed=1, log="all")
    [*_, end] = np.flatnonzero(run.log.steps["terminated"])
    assert run.memory.episode.length[0] == 29 - end == 3


def after_one_rollout(before, found, rate, expected):
    """Give the probability of a move after a rollout of it alone; three others are alike."""
    settings = {"discount": 1.0, "length": 1, "rollout_rate": rate}
    params = find_learner("policy_rollouts", settings).params
    memory = planner.init(params, Sizes(2, 4, 8, 2))
    for a in range(4):
        row = experience_at(memory.experiences, 0, a)
        memory.experiences.rows[row]["reward"] = found
        memory.experiences.rows[row]["next_state"] = 1
    memory.preferences[0] = np.log([before, *[(1 - before) / 3] * 3])
    prepared(params, memory)
    memory.value[1, 0] = expected
    memory.path[0] = memory.experiences.place[0, 0]
    planner._follow(params, memory, 1, START, 0, None)
    planner._set_policy(memory, 0, 0, True)
    return memory.policy[0, 0]


def test_a_rollout_changes_the_policy_as_in_the_published_agents():
    theirs = pd.read_csv(Path(__file__).parent / "reference" / "rollout_effects.csv")

    def error(rate, expected):
        ours = [
            after_one_rollout(*row, rate, expected)
            for row in theirs[["before", "found"]].to_numpy()
        ]
        return np.array(ours) - theirs["after"]

    ours = error(4.0, 0.7)
    assert ours[theirs["found"] == 1].abs().max() < 0.1
    likely = theirs["low"] >= 0.7  # what is nearly sure they give up more readily after a failure
    assert ours[(theirs["found"] == 0) & ~likely].abs().max() < 0.15
    assert (ours[(theirs["found"] == 0) & likely] > 0.1).all()
    assert theirs.groupby("found")["n"].sum()[1] / theirs["n"].sum() == pytest.approx(0.7, abs=0.03)
    size = {
        (rate, expected): float((theirs["n"] * error(rate, expected) ** 2).sum())
        for rate in (1.0, 2.0, 4.0, 8.0)
        for expected in (0.3, 0.5, 0.7, 0.9)
    }
    assert min(size, key=size.get) == (4.0, 0.7)


def test_planning_pays_in_a_maze():
    """Without it, the same agent has learned from its laps alone."""

    def earned(seed, n_rollouts):
        run = simulate(
            random_maze(8, seed=seed), "policy_rollouts", {"n_rollouts": n_rollouts},
            n_steps=2000, seed=seed,
        )  # fmt: skip
        return run.reward_rate["reward_rate"].mean()

    assert all(earned(seed, 10) > 1.5 * earned(seed, 0) for seed in range(4))
