"""MDPs as Gymnasium environments, and tabular environments as MDPs."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from test_mdp import mdps

from replay.worlds.mazes import from_ascii, random_maze
from replay.worlds.mdp import MDP
from replay.worlds.trees import stochastic_tree

gymnasium = pytest.importorskip("gymnasium")


def play(env, n_steps, seed):
    """Play blindly; return rows (state, action, reward, next_state, terminated, truncated)."""
    rng = np.random.default_rng(seed)
    state, _ = env.reset(seed=seed)
    rows = []
    for _ in range(n_steps):
        action = int(rng.integers(env.action_space.n))
        next_state, reward, terminated, truncated, _ = env.step(action)
        rows.append((state, action, reward, next_state, terminated, truncated))
        state = env.reset()[0] if terminated or truncated else next_state
    return rows


@pytest.mark.parametrize("limit", [None, 5])
@pytest.mark.parametrize("make", [lambda: random_maze(size=8, seed=1), stochastic_tree])
def test_the_environment_checker_is_content(make, limit):
    from gymnasium.utils.env_checker import check_env

    check_env(make().to_gymnasium(max_episode_steps=limit))


def test_steps_are_those_of_the_mdp():
    mdp = stochastic_tree(seed=1)
    rows = play(mdp.to_gymnasium(), 20_000, seed=1)
    counts = np.zeros(mdp.n_transitions)
    for state, action, reward, next_state, terminated, truncated in rows:
        row = state * mdp.n_actions + action
        first = mdp.successor_offset[row]
        k = first + mdp.successors(state, action).tolist().index(next_state)
        assert reward == mdp.reward[k]
        assert terminated == mdp.terminal[next_state]
        assert not truncated
        counts[k] += 1
    tried = np.bincount(mdp.transition_rows(), counts)[mdp.transition_rows()]
    error = np.sqrt(mdp.probability * (1 - mdp.probability) / tried)
    assert (np.abs(counts / tried - mdp.probability) <= 4.5 * error).all()


def test_long_episodes_are_truncated():
    rows = play(from_ascii("S.......G").to_gymnasium(max_episode_steps=3), 30, seed=0)
    assert [truncated for *_, truncated in rows] == [False, False, True] * 10
    with pytest.raises(ValueError, match=r"max_episode_steps must be .* at least 1, got 0"):
        stochastic_tree().to_gymnasium(max_episode_steps=0)


def test_the_first_step_needs_a_reset():
    with pytest.raises(gymnasium.error.ResetNeeded):
        stochastic_tree().to_gymnasium().step(0)


def test_the_seed_decides():
    env = random_maze(size=8, seed=1).to_gymnasium()
    assert play(env, 100, seed=3) == play(env, 100, seed=3) != play(env, 100, seed=4)


@given(mdps(episodic=True))
def test_there_and_back(mdp):
    again = MDP.from_gymnasium(mdp.to_gymnasium())
    for name in ("successor_offset", "successor", "probability", "reward", "terminal"):
        np.testing.assert_array_equal(getattr(again, name), getattr(mdp, name))
    np.testing.assert_array_equal(again.start_probability, mdp.start_probability)


def test_frozen_lake():
    lake = MDP.from_gymnasium("FrozenLake-v1")
    assert np.flatnonzero(lake.terminal).tolist() == [5, 7, 11, 12, 15]
    assert lake.start_probability[0] == 1
    assert lake.successors(0, 0).tolist() == [0, 4]  # slips up or stays, or slips down
    np.testing.assert_allclose(lake.probability[:2], [2 / 3, 1 / 3])
    # The textbook's value of this lake.
    assert lake.solve(0.99).state_values[0] == pytest.approx(0.5420, abs=5e-5)
    assert lake.name == "FrozenLake-v1"


def environment(table, start=None):
    """Any object with a table will do."""
    env = SimpleNamespace(P=table, spec=None)
    if start is not None:
        env.initial_state_distrib = np.array(start)
    env.unwrapped = env
    return env


def test_the_end_of_a_state_that_is_also_passed_is_a_copy():
    # State 1 ends the episode by action 1 only.
    table = {
        0: {0: [(1.0, 1, 0, False)], 1: [(1.0, 1, 5, True)]},
        1: {0: [(1.0, 0, 1, False)], 1: [(1.0, 1, 2, True)]},
    }
    mdp = MDP.from_gymnasium(environment(table, [1.0, 0.0]))
    assert mdp.n_states == 3
    assert mdp.labels == (0, 1, 1)
    assert mdp.successor.tolist() == [1, 2, 0, 2]
    assert mdp.reward.tolist() == [0, 5, 1, 2]
    assert mdp.terminal.tolist() == [False, False, True]


def test_a_start_that_ends_episodes_is_copied():
    table = {0: {0: [(1.0, 1, 0, False)]}, 1: {0: [(1.0, 0, 1, True)]}}
    mdp = MDP.from_gymnasium(environment(table, [1.0, 0.0]))
    assert mdp.terminal.tolist() == [False, False, True]
    assert mdp.reward_rate([0, 0, 0]) == 0.5


def test_rows_after_the_end_are_left_out():
    table = {0: {0: [(0.0, 0, 9, False), (1.0, 1, 1, True)]}, 1: {0: [(1.0, 0, -1, False)]}}
    mdp = MDP.from_gymnasium(environment(table, [1.0, 0.0]))
    assert mdp.terminal.tolist() == [False, True]
    assert mdp.n_transitions == 1


def test_outcomes_in_the_same_state_are_merged():
    table = {
        0: {0: [(0.25, 1, 0, True), (0.25, 1, 0, True), (0.5, 1, -8, True)]},
        1: {0: [(1.0, 1, 0, True)]},
    }
    mdp = MDP.from_gymnasium(environment(table))
    assert (mdp.probability.tolist(), mdp.reward.tolist()) == ([1.0], [-4.0])
    assert mdp.start_probability.tolist() == [1.0, 0.0]


CHAIN = {s: {0: [(1.0, s + 1, float(s == 2), s == 2)]} for s in range(4)} | {3: {0: []}}
"""Three steps lead from state 0 to the end, which pays 1: a third of a reward per step."""


def starting(draw, distribution=None, **seeded):
    env = environment(CHAIN, distribution)
    rng = np.random.default_rng(0)
    env.reset = (lambda *, seed=None: (draw(rng), {})) if seeded else (lambda: draw(rng))
    return env


@pytest.mark.parametrize("seeded", [{}, {"seeded": True}])
def test_episodes_start_where_reset_leads(seeded):
    mdp = MDP.from_gymnasium(starting(lambda rng: 0, **seeded))
    assert mdp.start_states.tolist() == [0]
    assert mdp.reward_rate([0, 0, 0, 0]) == pytest.approx(1 / 3)
    mdp = MDP.from_gymnasium(starting(lambda rng: 2, **seeded))
    assert mdp.reward_rate([0, 0, 0, 0]) == 1.0


def test_a_sample_of_starts_gives_no_probabilities():
    with pytest.raises(ValueError, match=r"led to 3 different states.* initial_state_distrib"):
        MDP.from_gymnasium(starting(lambda rng: rng.integers(3)))
    with pytest.raises(ValueError, match=r"return a state of P, a number from 0 to 3; got 'a'"):
        MDP.from_gymnasium(starting(lambda rng: "a"))
    with pytest.raises(ValueError, match=r"reset\(\) of the environment failed: .*zero"):
        MDP.from_gymnasium(starting(lambda rng: 1 // 0))


def test_a_distribution_of_starts_agrees_with_reset():
    third = [1 / 3, 1 / 3, 1 / 3, 0.0]
    mdp = MDP.from_gymnasium(starting(lambda rng: rng.integers(3), third))
    assert mdp.start_probability.tolist() == third
    with pytest.raises(ValueError, match=r"state 0 the probability 0.333, but 1 of 1000 calls"):
        MDP.from_gymnasium(starting(lambda rng: 0, third))
    with pytest.raises(ValueError, match=r"state 2 the probability 0, but .* calls of reset"):
        MDP.from_gymnasium(starting(lambda rng: 2 * (rng.random() < 0.02), [1.0, 0.0, 0.0, 0.0]))
    # What is observed may be something else than a state.
    mdp = MDP.from_gymnasium(starting(lambda rng: "picture", third))
    assert mdp.start_probability.tolist() == third


def test_an_environment_without_tables():
    with pytest.raises(TypeError, match=r"Only tabular environments.*CartPole.* has no P"):
        MDP.from_gymnasium("CartPole-v1")


def test_without_gymnasium(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "replay.worlds.gymnasium_bridge", raising=False)
    with pytest.raises(ImportError, match=r'pip install "hippocampal-replay\[gymnasium\]"'):
        stochastic_tree().to_gymnasium()
