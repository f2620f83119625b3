"""The paper's theorem: on deterministic trees three learners are one.

Episodic control, prioritized sweeping and prioritized sweeping with model reset learn the same
action values, so with the same random numbers they act alike.
"""

import numpy as np
import pytest

from replay import feed, simulate
from replay.experiments import EXPERIMENTS

THREE = ("episodic_control", "prioritized_sweeping", "prioritized_sweeping_reset")
N_SEEDS = 20
N_TREES = 10
SETTLED = 1e-12


def params(experiment, learner, **changes):
    return EXPERIMENTS[experiment].parameters[learner]._replace(**changes)


def runs(experiment, learner, n_steps, n_seeds=N_SEEDS, **changes):
    """Give the steps of all seeds, each in one of a few trees."""
    trees = [EXPERIMENTS[experiment].mdp(index) for index in range(N_TREES)]
    own = params(experiment, learner, **changes)
    for seed in range(n_seeds):
        tree = trees[seed % N_TREES]
        yield simulate(tree, learner, own, n_steps=n_steps, seed=seed).log.steps


def rewards(experiment, learner, n_steps=2000, **changes):
    """Rewards of all seeds at every step, shape (n_seeds, n_steps)."""
    return np.array([steps["reward"] for steps in runs(experiment, learner, n_steps, **changes)])


def taught(experiment, learner, steps, **changes):
    """Action values, and whether a queue is empty, at the end of each episode of these steps."""
    tables, is_settled = [], []

    def on_step(k, memory):
        if ends[k]:
            tables.append(memory.action_values.copy())
            is_settled.append(not hasattr(memory, "queue") or memory.queue.size[0] == 0)

    ends = steps["terminated"].to_numpy()
    tree = EXPERIMENTS[experiment].mdp(0)
    feed(
        learner,
        steps,
        n_states=tree.n_states,
        n_actions=tree.n_actions,
        params=params(experiment, learner, **changes),
        on_step=on_step,
        log="replay",
    )
    return np.array(tables), np.array(is_settled)


def distance(ours, theirs):
    """Largest difference of two tables that mark the same pairs as untried."""
    tried = np.isfinite(ours)
    assert (tried == np.isfinite(theirs)).all()
    return np.abs(ours[tried] - theirs[tried]).max()


def test_terminal_reward_three_earn_the_same_at_every_step():
    control, sweeping, reset = (rewards("deterministic_tree", learner) for learner in THREE)
    assert len(np.unique(control[:, 4::5])) > 500
    np.testing.assert_array_equal(sweeping, control)
    np.testing.assert_array_equal(reset, control)


def test_terminal_reward_action_values_at_the_end_of_every_episode():
    n_settled = 0
    for steps in runs("deterministic_tree", "episodic_control", n_steps=250, n_seeds=N_TREES):
        control, _ = taught("deterministic_tree", "episodic_control", steps)
        reset, _ = taught("deterministic_tree", "prioritized_sweeping_reset", steps)
        sweeping, settled = taught("deterministic_tree", "prioritized_sweeping", steps)
        assert len(control) == 50
        np.testing.assert_array_equal(reset, control)
        assert distance(sweeping[settled], control[settled]) <= SETTLED
        n_settled += settled.sum()
    assert n_settled > 0.5 * 50 * N_TREES


@pytest.mark.parametrize("queue_visited", [False, True])
def test_terminal_reward_makes_both_queues_alike(queue_visited):
    """With one reward at the end, the states before the last have no change to be queued for."""
    changes = {"queue_visited": queue_visited}
    reset = rewards("deterministic_tree", "prioritized_sweeping_reset", 200, **changes)
    np.testing.assert_array_equal(reset, rewards("deterministic_tree", "episodic_control", 200))


def reset_against_control(queue_visited):
    """Largest differences of action values, at the end of each episode in each tree."""
    experiment = "deterministic_tree_intermittent"
    differences = []
    for steps in runs(experiment, "episodic_control", n_steps=250, n_seeds=N_TREES):
        control, _ = taught(experiment, "episodic_control", steps)
        reset, _ = taught(
            experiment, "prioritized_sweeping_reset", steps, queue_visited=queue_visited
        )
        differences.append([distance(*pair) for pair in zip(reset, control, strict=True)])
    return np.array(differences)


def test_intermittent_rewards_equal_if_only_the_last_state_is_queued():
    assert reset_against_control(queue_visited=False).max() <= SETTLED
    experiment = "deterministic_tree_intermittent"
    reset = rewards(experiment, "prioritized_sweeping_reset", queue_visited=False)
    np.testing.assert_array_equal(reset, rewards(experiment, "episodic_control"))


def test_intermittent_rewards_differ_if_all_visited_states_are_queued():
    differences = reset_against_control(queue_visited=True)
    assert (differences.max(axis=1) > 0.1).mean() > 0.9
    experiment = "deterministic_tree_intermittent"
    reset = rewards(experiment, "prioritized_sweeping_reset")
    control = rewards(experiment, "episodic_control")
    assert (reset != control).any(axis=1).mean() > 0.5
    assert reset[:, :200].mean() < control[:, :200].mean()
