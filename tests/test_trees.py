"""Trees compared with the paper's text: sizes, transitions, distributions of rewards."""

import numpy as np
import pytest
from scipy import stats

from replay.worlds.trees import deterministic_tree, stochastic_tree


def uniform_p_value(rewards):
    return stats.kstest(rewards, "uniform").pvalue


def test_levels_of_a_small_tree():
    tree = deterministic_tree(depth=3, n_actions=2, seed=1)
    # 0; 1, 2; 3 to 6; the end is 7.
    assert [tree.successors(s, a).tolist() for s in range(7) for a in range(2)] == [
        *([1], [2]),
        *([3], [4], [5], [6]),
        *([[7]] * 8),
    ]
    assert tree.start_probability.tolist() == [1] + [0] * 7
    assert np.flatnonzero(tree.terminal).tolist() == [7]


@pytest.mark.parametrize("rewards", ["terminal", "intermittent"])
def test_deterministic_tree_of_the_paper(rewards):
    tree = deterministic_tree(rewards=rewards, seed=1)
    assert (tree.n_states, tree.n_actions, tree.n_transitions) == (342, 4, 1364)
    rewarded = tree.reward > 0
    assert rewarded.sum() == (1024 if rewards == "terminal" else 1364)
    if rewards == "terminal":
        assert (tree.terminal[tree.successor] == rewarded).all()
    assert tree.reward.max() <= 1
    assert uniform_p_value(tree.reward[rewarded]) > 1e-3
    assert (tree.probability == 1).all()


def test_values_of_a_deterministic_tree():
    tree = deterministic_tree(rewards="intermittent", seed=2)
    rewards = tree.expected_reward()

    def best(state):
        if tree.terminal[state]:
            return 0.0
        return max(rewards[state, a] + best(tree.successors(state, a)[0]) for a in range(4))

    solution = tree.solve(1)
    assert solution.state_values[0] == pytest.approx(best(0), rel=1e-12)
    assert tree.reward_rate(solution.policy) == pytest.approx(best(0) / 5, rel=1e-12)


def test_a_blind_animal_earns_the_mean_reward():
    tree = deterministic_tree(seed=3)
    blind = tree.reward_rate(np.zeros(342, dtype=int), epsilon=1)
    assert blind == pytest.approx(tree.reward[-1024:].mean() / 5, rel=1e-12)


def test_values_of_a_stochastic_tree():
    tree = stochastic_tree(seed=4)
    rewards = tree.expected_reward()

    def value(state):
        if state >= 7:
            return rewards[state].max()
        return max(
            tree.probability[4 * 2 * state + 2 * a : 4 * 2 * state + 2 * a + 2]
            @ [value(2 * state + 1), value(2 * state + 2)]
            for a in range(4)
        )

    solution = tree.solve(1)
    assert solution.state_values[0] == pytest.approx(value(0), rel=1e-12)
    assert tree.reward_rate(solution.policy) == pytest.approx(value(0) / 4, rel=1e-12)


def test_stochastic_tree_of_the_paper():
    tree = stochastic_tree(seed=1)
    assert (tree.n_states, tree.n_actions, tree.n_transitions) == (16, 4, 7 * 8 + 32)
    for state in range(7):
        for action in range(4):
            assert tree.successors(state, action).tolist() == [2 * state + 1, 2 * state + 2]
    assert (tree.successor[-32:] == 15).all()
    assert (tree.reward[:-32] == 0).all()
    assert (tree.reward[-32:] > 0).all()


def test_transition_probabilities_are_normalised_uniforms():
    first = np.concatenate([stochastic_tree(seed=s).probability[: 7 * 8 : 2] for s in range(100)])
    # p = u1 / (u1 + u2) has P(p <= x) = x / (2 (1 - x)) up to 1/2.
    lower = np.minimum(first, 1 - first)
    assert stats.kstest(lower, lambda x: x / (1 - x)).pvalue > 1e-3
    assert stats.binomtest(int((first < 0.5).sum()), first.size).pvalue > 1e-3


def test_rewards_of_stochastic_trees_are_uniform():
    rewards = np.concatenate([stochastic_tree(seed=s).reward[-32:] for s in range(50)])
    assert uniform_p_value(rewards) > 1e-3


@pytest.mark.parametrize("make", [deterministic_tree, stochastic_tree])
def test_the_seed_decides(make):
    assert make(seed=5) == make(seed=5) == make(seed=np.random.default_rng(5))
    assert make(seed=5) != make(seed=6)


@pytest.mark.parametrize("branching", [1, 3])
def test_other_sizes(branching):
    tree = stochastic_tree(depth=3, n_actions=2, branching=branching, seed=0)
    assert tree.n_states == 1 + branching + branching**2 + 1
    assert tree.reward_rate([0] * tree.n_states) > 0
    assert deterministic_tree(depth=1, n_actions=1, seed=0).n_states == 2


def test_parents_are_drawn_above_the_middle_of_their_children():
    tree = deterministic_tree(seed=0)
    x, y = tree.position.T
    children = np.arange(1, 5)
    assert x[0] == pytest.approx(x[children].mean())
    assert len({*map(tuple, tree.position)}) == tree.n_states
    inner = tree.transition_rows() // 4
    assert (y[inner] > y[tree.successor]).all()


def test_errors():
    with pytest.raises(ValueError, match=r"rewards 'intermitent'. Did you mean 'intermittent'\?"):
        deterministic_tree(rewards="intermitent")
    with pytest.raises(ValueError, match="depth must be a whole number from 1 to 10000000, got 0"):
        deterministic_tree(depth=0)
    with pytest.raises(ValueError, match="branching must be a whole number"):
        stochastic_tree(branching=0)
