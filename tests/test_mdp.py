"""MDPs: checks, exact solutions compared with brute force, conversion to graphs and back."""

import itertools
import os
import pickle
import signal
import subprocess
import sys
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.worlds.mdp import MDP, uniform_policy

LEFT, RIGHT = 0, 1


def corridor(n_states=4, **changes):
    """Places in a row; a step to the right end is rewarded and ends the episode."""
    places = np.arange(n_states)
    tables = {
        "transition": np.column_stack(
            (np.maximum(places - 1, 0), np.minimum(places + 1, n_states - 1))
        ),
        "reward": places == n_states - 1,
        "start": 0,
        "terminal": [n_states - 1],
        "action_names": ("left", "right"),
    }
    return MDP.from_tables(**(tables | changes))


@st.composite
def mdps(draw, episodic=None):
    """Small random MDPs. In episodic ones each step may be the last."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_states, n_actions = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    has_end = draw(st.booleans()) if episodic is None else episodic
    transition = rng.random((n_states, n_actions, n_states))
    transition *= rng.random(transition.shape) < draw(st.sampled_from([0.3, 1.0]))
    transition[:, :, rng.integers(n_states)] += 0.01  # no empty rows
    if has_end:
        transition[:, :, -1] += 0.05
    transition /= transition.sum(axis=2, keepdims=True)
    terminal = np.arange(n_states) == (n_states - 1 if has_end else -1)
    start = rng.random(n_states) * ~terminal
    kind = draw(st.sampled_from([(n_states,), (n_states, n_actions), transition.shape]))
    return MDP.from_tables(
        transition,
        rng.normal(size=kind).round(draw(st.sampled_from([0, 6]))),
        start=start / start.sum(),
        terminal=terminal,
        position=rng.random((n_states, 2)) if draw(st.booleans()) else None,
        labels=[(s, "place") for s in range(n_states)] if draw(st.booleans()) else None,
    )


def dense_tables(mdp):
    """P(s, a, s') and the mean reward of (s, a), by loops."""
    transition = np.zeros((mdp.n_states, mdp.n_actions, mdp.n_states))
    reward = np.zeros((mdp.n_states, mdp.n_actions))
    for s, a in itertools.product(range(mdp.n_states), range(mdp.n_actions)):
        row = s * mdp.n_actions + a
        for k in range(mdp.successor_offset[row], mdp.successor_offset[row + 1]):
            transition[s, a, mdp.successor[k]] += mdp.probability[k]
            reward[s, a] += mdp.probability[k] * mdp.reward[k]
    return transition, reward


# -- tables ---------------------------------------------------------------------------------


def test_rows_of_a_corridor():
    mdp = corridor()
    assert (mdp.n_states, mdp.n_actions, mdp.n_transitions) == (4, 2, 6)
    assert mdp.successor.tolist() == [0, 1, 0, 2, 1, 3]
    assert mdp.successor_offset.tolist() == [0, 1, 2, 3, 4, 5, 6, 6, 6]
    assert mdp.reward.tolist() == [0, 0, 0, 0, 0, 1]
    assert mdp.successors(3, LEFT).size == 0
    assert [x.dtype for x in (mdp.successor_offset, mdp.successor)] == [np.int32, np.int32]
    assert mdp.action_names == ("left", "right")


def test_rewards_by_state_pair_and_transition_agree():
    by_pair = np.zeros((4, 2))
    by_pair[2, RIGHT] = 1
    by_transition = np.zeros((4, 2, 4))
    by_transition[2, RIGHT, 3] = 1
    assert corridor() == corridor(reward=by_pair) == corridor(reward=by_transition)


@given(mdps())
def test_tables_are_kept(mdp):
    transition, reward = dense_tables(mdp)
    np.testing.assert_array_equal(
        mdp.transition_matrix().toarray().reshape(transition.shape), transition
    )
    np.testing.assert_allclose(mdp.expected_reward(), reward, atol=1e-15)
    again = MDP.from_tables(
        transition,
        np.where(transition.any(axis=2), reward, 0),
        start=mdp.start_probability,
        terminal=np.flatnonzero(mdp.terminal),
    )
    np.testing.assert_array_equal(again.successor, mdp.successor)
    np.testing.assert_array_equal(again.probability, mdp.probability)


def test_starts_are_uniform_by_default():
    assert corridor(start=None).start_probability.tolist() == [1 / 3, 1 / 3, 1 / 3, 0]


def test_an_mdp_cannot_be_changed():
    given_reward = np.zeros(4)
    mdp = corridor(reward=given_reward)
    given_reward[:] = 7
    assert not mdp.reward.any()
    with pytest.raises(ValueError, match="read-only"):
        mdp.reward[0] = 1
    with pytest.raises(AttributeError):
        mdp.name = "other"
    mdp.transition_matrix().data[:] = 0
    assert mdp.probability.all()


def test_pickled_arrays_stay_read_only():
    mdp = corridor(labels="abcd")
    again = pickle.loads(pickle.dumps(mdp))
    assert again == mdp
    assert not again.successor.flags.writeable


def test_equality():
    assert corridor() == corridor()
    assert corridor() != corridor(reward=[0, 0, 0, 2])
    assert corridor() != corridor(labels="abcd")
    assert corridor() != corridor(position=np.zeros((4, 2)))
    assert corridor() != "corridor"


# -- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transition": [[0, 1], [0, 4], [1, 3], [3, 3]]},
            "next state.*0 to 3; state 1, action 1 has 4",
        ),
        ({"reward": [0, 0, 0, np.nan]}, "reward must hold finite numbers.*row 3 has nan"),
        ({"start": 4}, "from 0 to 3; got 4"),
        ({"start": 3}, "cannot start in state 3: it is terminal"),
        ({"start": [0.5, 0.4, 0, 0]}, "start_probability must sum to 1; got 0.9"),
        ({"terminal": [0, 0.5]}, "terminal must list states .*whole numbers; row 1 has 0.5"),
        ({"terminal": 1.5}, "terminal .*row 0 has 1.5"),
        ({"labels": [[0], [1], [2], [3]]}, r"labels must be .*state 0 has \[0\]"),
        ({"start": None, "terminal": range(4)}, "only terminal states"),
    ],
)
def test_errors_say_what_is_wrong(changes, message):
    with pytest.raises(ValueError, match=message):
        corridor(**changes)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.5 + 1e-8, 0], "sum to 1; state 1, action 0 has 1.00000001"),
        ([1.5, -0.5, 0], "above 0.*state 1, action 0 enters state 1 with -0.5"),
        ([0.5, np.nan, 0], r"transition must hold finite numbers; entry \[1, 0, 1\] has nan"),
        ([0, 0, 0], "sum to 1; state 1, action 0 has 0.0"),
    ],
)
def test_errors_of_probabilities(row, message):
    with pytest.raises(ValueError, match=message):
        MDP.from_tables([[[0, 1, 0]], [row], [[0, 0, 0]]], [0, 0, 1], start=0, terminal=[2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"next_state": [1, 1, 1]}, "each once, with one reward; state 0, action 0 has 1 before 1"),
        ({"state": [0, 0]}, "one entry per transition; got 2, 3, 3, 3 and 3"),
        ({"next_state": [0, 1, 1], "state": [0, 0, 1]}, "no transitions; state 1, action 0 "),
        ({"state": [0, 0, 2]}, "state must be a number from 0 to 1"),
    ],
)
def test_errors_of_transitions(changes, message):
    columns = {"state": [0, 0, 0], "action": [0, 0, 0], "next_state": [0, 1, 2]}
    columns |= changes
    with pytest.raises(ValueError, match=message):
        MDP.from_transitions(
            *columns.values(),
            probability=[0.5, 0.25, 0.25],
            reward=[0, 0, 1],
            start_probability=[1, 0],
            terminal=[False, True],
            action_names=["go"],
        )


def test_errors_of_the_constructor():
    offset = [0, 1, 1]
    with pytest.raises(ValueError, match="rise from 0 to n_transitions = 1"):
        MDP([1, 1, 1], [1], [1.0], [0.0], [1.0, 0.0], [False, True], ("go",))
    with pytest.raises(ValueError, match="needs states and actions; got 2 states, 0 actions"):
        MDP(offset, [1], [1.0], [0.0], [1.0, 0.0], [False, True], ())
    assert MDP(offset, [1], [1.0], [0.0], [1.0, 0.0], [False, True], ("go",)).n_transitions == 1


# -- solve ----------------------------------------------------------------------------------


def test_values_of_a_corridor():
    solution = corridor().solve(0.5)
    assert solution.state_values.tolist() == [0.25, 0.5, 1, 0]
    assert solution.action_values.tolist() == [[0.125, 0.25], [0.125, 0.5], [0.25, 1], [0, 0]]
    assert solution.policy.tolist() == [RIGHT, RIGHT, RIGHT, 0]


@given(mdps(), st.sampled_from([0.0, 0.5, 0.9, 0.99]))
def test_solve_agrees_with_value_iteration(mdp, discount):
    transition, reward = dense_tables(mdp)
    values = np.zeros(mdp.n_states)
    for _ in range(4000):  # 0.99 ** 4000 = 3e-18
        values = (reward + discount * transition @ values).max(axis=1)
    solution = mdp.solve(discount)
    np.testing.assert_allclose(solution.state_values, values, atol=1e-10)
    np.testing.assert_allclose(
        solution.action_values, reward + discount * transition @ values, atol=1e-10
    )
    taken = solution.action_values[np.arange(mdp.n_states), solution.policy]
    np.testing.assert_allclose(taken, values, atol=1e-10)


@given(mdps(episodic=True))
def test_solve_without_discount_finds_the_best_of_all_policies(mdp):
    transition, reward = dense_tables(mdp)
    states = np.arange(mdp.n_states)
    values = np.array(
        [
            np.linalg.solve(
                np.eye(mdp.n_states) - transition[states, policy], reward[states, policy]
            )
            for policy in itertools.product(range(mdp.n_actions), repeat=mdp.n_states)
        ]
    )
    np.testing.assert_allclose(mdp.solve(1).state_values, values.max(axis=0), atol=1e-9)


@pytest.mark.parametrize("discount", [0.3, 0.9, 1])
def test_the_first_of_tied_actions_is_taken(discount):
    # A diamond: two ways of the same length and reward, added up in different orders.
    diamond = MDP.from_tables(
        [[1, 2], [3, 3], [3, 3], [3, 3]],
        [[0.1, 0.2 * discount], [0.2, 0.2], [0.1 / discount, 0.1], [0, 0]],
        start=0,
        terminal=[3],
    )
    assert diamond.solve(discount).policy.tolist() == [0, 0, 0, 0]


def test_without_discount_the_policy_does_not_stay_for_ever():
    # To stay is tied with to go, and comes first.
    mdp = MDP.from_tables([[0, 1], [1, 2], [2, 2]], [0, 0, 1], start=0, terminal=[2])
    solution = mdp.solve(1)
    assert solution.state_values.tolist() == [1, 1, 0]
    assert solution.policy.tolist() == [1, 1, 0]
    assert mdp.reward_rate(solution.policy) == 0.5


def test_small_values_are_solved_too():
    # Far from the goal values underflow any absolute tolerance.
    policy = corridor(60).solve(0.1).policy
    assert policy[:-1].tolist() == [RIGHT] * 59


@pytest.mark.parametrize("discount", [-0.1, 1.1, np.nan])
def test_discount_out_of_range(discount):
    with pytest.raises(ValueError, match="from 0 to 1"):
        corridor().solve(discount)


def test_without_discount_all_states_must_reach_an_end():
    with pytest.raises(ValueError, match="no terminal state"):
        corridor(terminal=[]).solve(1)
    with pytest.raises(ValueError, match=r"none is from states 0, 1, 2, 3, 4 and 2 more\."):
        MDP.from_tables([[s] for s in range(7)] + [[7]], np.zeros(8), terminal=[7]).solve(1)
    with pytest.raises(ValueError, match=r"none is from state 2\."):
        MDP.from_tables([[1], [1], [2]], np.zeros(3), terminal=[1]).solve(1)


def test_without_discount_a_loop_must_not_pay():
    with pytest.raises(ValueError, match="unbounded: from state 0 "):
        MDP.from_tables([[0, 1], [1, 1]], [[0.1, 1], [0, 0]], terminal=[1]).solve(1)
    assert (
        MDP.from_tables([[0, 1], [1, 1]], [[-0.1, 1], [0, 0]], terminal=[1]).solve(1).policy[0] == 1
    )


# -- reward rate ----------------------------------------------------------------------------


def test_reward_rate_by_hand():
    # From 0 each way succeeds with 1/2: 2 steps on average to leave it, then 2 more.
    mdp = corridor(3)
    assert mdp.reward_rate([RIGHT, RIGHT, 0]) == 0.5
    # Expected steps: e0 = 1 + (e0 + e1) / 2 and e1 = 1 + e0 / 2, so e0 = 6.
    assert mdp.reward_rate(uniform_policy(mdp)) == pytest.approx(1 / 6, rel=1e-14)
    assert mdp.reward_rate([RIGHT, RIGHT, 0], epsilon=1) == pytest.approx(1 / 6, rel=1e-14)
    assert mdp.reward_rate([LEFT, LEFT, LEFT]) == 0
    # Starts in the middle: episodes of 1 and 2 steps, each with one reward.
    assert corridor(3, start=None).reward_rate([RIGHT, RIGHT, 0]) == pytest.approx(2 / 3, rel=1e-14)


@given(mdps(), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 1.0]))
def test_reward_rate_agrees_with_the_stationary_distribution(mdp, seed, epsilon):
    policy = np.random.default_rng(seed).dirichlet(np.ones(mdp.n_actions), size=mdp.n_states)
    choice = (1 - epsilon) * policy + epsilon / mdp.n_actions
    transition, reward = dense_tables(mdp)
    chain = np.einsum("sa,sat->st", choice, transition)
    chain += np.outer(chain @ mdp.terminal, mdp.start_probability)  # the end is the next start
    chain = chain[~mdp.terminal][:, ~mdp.terminal]
    rewards = (choice * reward).sum(axis=1)[~mdp.terminal]
    n = len(chain)
    system = np.vstack((chain.T - np.eye(n), np.ones(n)))
    stationary = np.linalg.lstsq(system, np.eye(n + 1)[-1], rcond=None)[0]
    assert mdp.reward_rate(policy, epsilon) == pytest.approx(stationary @ rewards, abs=1e-9)


def test_reward_rate_agrees_with_simulation(rng):
    tables = rng.random((4, 2, 4)) * (1, 1, 1, 0.3)
    tables /= tables.sum(axis=2, keepdims=True)
    mdp = MDP.from_tables(tables, rng.random((4, 2, 4)), start=[0.3, 0.7, 0, 0], terminal=[3])
    policy = np.array([0, 1, 0, 0])
    rewards = []
    state = 0
    for _ in range(40_000):
        action = rng.integers(2) if rng.random() < 0.2 else policy[state]
        row = state * 2 + action
        part = np.arange(mdp.successor_offset[row], mdp.successor_offset[row + 1])
        k = rng.choice(part, p=mdp.probability[part])
        rewards.append(mdp.reward[k])
        state = mdp.successor[k]
        if mdp.terminal[state]:
            state = rng.choice(4, p=mdp.start_probability)
    blocks = np.mean(np.reshape(rewards, (100, -1)), axis=1)
    error = blocks.std(ddof=1) / 10
    assert abs(mdp.reward_rate(policy, 0.2) - blocks.mean()) < 4 * error


def test_an_animal_that_gets_stuck_earns_what_it_finds_there():
    # Starts on both sides; from the left it ends, from state 2 it walks into a rewarded loop.
    mdp = MDP.from_tables(
        [[1], [1], [3], [2]], [[1.0], [0], [0], [0.5]], start=[0.5, 0, 0.5, 0], terminal=[1]
    )
    assert mdp.reward_rate([0, 0, 0, 0]) == pytest.approx(0.25, rel=1e-14)


def test_reward_rate_needs_one_recurrent_part():
    two_rooms = MDP.from_tables([[0], [1]], [0, 1], start=[0.5, 0.5])
    with pytest.raises(ValueError, match=r"2 parts .*one with state 0, another with state 1"):
        two_rooms.reward_rate([0, 0])
    assert MDP.from_tables([[0], [1]], [0, 1], start=1).reward_rate([0, 0]) == 1


@pytest.mark.parametrize(
    ("policy", "epsilon", "message"),
    [
        ([0, 0, 0, 2], 0, "0 to 1; got 0 to 2"),
        ([0, 0, 0], 0, r"shape \(4,\)\).*int64, shape \(3,\)"),
        ([0.0, 0, 0, 0], 0, r"float64, shape \(4,\)"),
        ([[1, 0], [0.5, 0.4], [1, 0], [0, 0]], 0, r"state 1 has \[0.5, 0.4\]"),
        ([0, 0, 0, 0], 1.5, "epsilon must be a number from 0 to 1, got 1.5"),
    ],
)
def test_reward_rate_errors(policy, epsilon, message):
    with pytest.raises(ValueError, match=message):
        corridor().reward_rate(policy, epsilon)


# -- graphs ---------------------------------------------------------------------------------


@given(mdps())
def test_networkx_and_back(mdp):
    assert MDP.from_networkx(mdp.to_networkx()) == mdp


def test_what_is_known_of_other_starts_is_forgotten():
    """Start states and their probabilities are computed on first use, and kept."""
    world = corridor(terminal=[], start=None)
    assert world.start_states.tolist() == [0, 1, 2, 3]
    assert world.starting_in(2).start_states.tolist() == [2]
    assert world.starting_in(2).cumulative_start_probability.tolist() == [1]


def test_graph_of_a_corridor():
    graph = corridor(position=[(10 * k, 0) for k in range(4)], labels="abcd").to_networkx()
    assert graph.nodes[3] == {
        "terminal": True,
        "start_probability": 0.0,
        "pos": (30.0, 0.0),
        "label": "d",
    }
    assert graph.edges[2, 3, RIGHT] == {"probability": 1.0, "reward": 1.0}
    assert nx.shortest_path_length(graph, 0, 3) == 3


def test_a_graph_of_an_mdp_is_complete():
    graph = corridor().to_networkx()
    for start in (0, np.array([1, 2]), (0,)):
        with pytest.raises(ValueError, match="start is only for track graphs"):
            MDP.from_networkx(graph, start=start)
    del graph.nodes[1]["terminal"]
    with pytest.raises(ValueError, match="attribute 'terminal' on each node"):
        MDP.from_networkx(graph)
    with pytest.raises(ValueError, match="Got a MultiGraph"):
        MDP.from_networkx(nx.MultiGraph([(0, 1)]))


def test_uniform_policy():
    assert uniform_policy(SimpleNamespace(n_states=2, n_actions=4)).tolist() == [[0.25] * 4] * 2


RATES = """
import numpy as np
from replay.experiments import EXPERIMENTS
from replay.worlds.mdp import uniform_policy
for name in ("stochastic_tree", "maze"):
    mdp = EXPERIMENTS[name].mdp(0)
    policy = mdp.solve(0.99).policy
    print(mdp.reward_rate(uniform_policy(mdp)).hex(), mdp.reward_rate(policy, 0.1).hex())
"""


def test_reward_rates_have_the_same_bits_on_any_processor():
    """Linear algebra is told to work as on other processors (on x86; elsewhere it ignores this)."""
    done = []
    for processor in ("Prescott", "SkylakeX", "Haswell"):
        environment = os.environ | {"OPENBLAS_CORETYPE": processor}
        command = [sys.executable, "-c", RATES]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        lacks_instructions = hasattr(signal, "SIGILL") and run.returncode == -signal.SIGILL
        assert run.returncode == 0 or lacks_instructions, run.stderr
        done += [] if lacks_instructions else [run.stdout]
    assert len(done) > 1
    found = set(done)
    assert len(found) == 1
    assert min(found).count("0x") == 4
