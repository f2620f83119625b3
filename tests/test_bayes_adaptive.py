"""Bayes-adaptive replay: its authors' own updates, enumeration, memory access where all is known.

The updates are those of bandit/belief_tree.py of the authors' code (github.com/geoant1/
exploring_replay, MIT licence), run with gamma = 0.9, xi = 1e-6, no sequences: each update's node
(depth, and place among the nodes of that depth), action, new value, gain and need, and the
Bayes-optimal values of the root, rounded to 12 digits.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.learners import bayes_adaptive, find_learner
from replay.learners.bayes_adaptive.belief_tree import (
    OPEN,
    SHUT,
    add_root,
    chance_open,
    grow,
    learn_outcome,
)
from replay.learners.contract import Pause, Sizes, Transition
from replay.learners.ranges import likeliest_outcomes
from replay.log.backups import EPISODE_END, REST, START, backup_buffer, renew
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP

REFERENCE = Path(__file__).parent / "reference" / "bandit_updates.csv"
NO_LOG = None
ARMS = {"one": [(1, 1), 0.51], "two": [(13, 12), (2, 2)], "two_even": [(1, 2), (3, 4)]}
"""Counts of arms that are not known, or how often those pay that are."""


class Agent:
    """The learner as the Python that it is, pause by pause."""

    def __init__(self, n_states, n_actions, **params):
        self.learner = find_learner("bayes_adaptive", params)
        self.params = self.learner.params
        sizes = Sizes(n_states, n_actions, n_states * n_actions, 1)
        self.memory = self.learner.init(self.params, sizes)

    def step(self, s, a, s_next, reward=0.0, terminated=False, truncated=False):
        moved = Transition(s, a, reward, s_next, -1, terminated, truncated)
        self.learner.learn(self.params, self.memory, moved, NO_LOG)

    def replay(self, phase, state):
        log, rng = backup_buffer(10_000, "all", True), np.random.default_rng(0)
        self.learner.replay(self.params, self.memory, Pause(phase, state, True), rng, log)
        (rows, evaluations), _ = renew(log, 0)
        return pd.DataFrame(rows).join(pd.DataFrame(evaluations))

    def plan_from(self, state):
        self.memory.begin[state] = 1.0
        bayes_adaptive.make_plan(self.params, self.memory)
        return self.memory.tree

    def make_backups(self):
        log, rng = backup_buffer(10_000, "all", True), np.random.default_rng(0)
        bayes_adaptive.make_backups(self.params, self.memory, REST, rng, log)
        (rows, evaluations), _ = renew(log, 0)
        return pd.DataFrame(rows).join(pd.DataFrame(evaluations))


# -- bandits, as in the paper's figures 1 and 2 -------------------------------------------


def bandit(arms, horizon, **params):
    """An agent with a tree of histories; at the horizon, arms are worth what they pay for ever."""
    agent = Agent(
        1, 2, discount=0.9, one_try_tells=False, merges=False, least_doubt=0.0, n_uncertain=2,
        horizon=horizon - 1, n_belief_states=2000, max_backups=1000, **params,
    )  # fmt: skip
    known = agent.memory.known
    for a, arm in enumerate(arms):
        is_known = isinstance(arm, float)
        known.next_state[0, a], known.reward[0, a] = 0, arm if is_known else 1.0
        known.counts[0, a] = (1.0, 0.0) if is_known else arm
    tree, plan = agent.plan_from(0), agent.memory.plan
    for z in range(tree.n[0]):
        if tree.depth[z] == horizon - 1:
            plan.action_values[z] = [
                mean_pay(arm, tree.tries[z, a]) / 0.1 for a, arm in enumerate(arms)
            ]
    bayes_adaptive.evaluate_plan(agent.params, agent.memory)
    return agent


def mean_pay(arm, tries):
    if isinstance(arm, float):
        return arm
    return (arm[0] + tries[0]) / (sum(arm) + tries[0] + tries[1])


@cache
def exhaustive(arms, horizon, discount=0.9):
    """Give the Bayes-optimal values of arms, over all that may happen."""
    if horizon == 1:
        return tuple(mean_pay(arm, (0, 0)) / (1 - discount) for arm in arms)
    values = []
    for a, arm in enumerate(arms):
        if isinstance(arm, float):
            values.append(arm + discount * max(exhaustive(arms, horizon - 1)))
            continue
        pays = (*arms[:a], (arm[0] + 1, arm[1]), *arms[a + 1 :])
        fails = (*arms[:a], (arm[0], arm[1] + 1), *arms[a + 1 :])
        chance = arm[0] / sum(arm)
        value = chance * (1 + discount * max(exhaustive(pays, horizon - 1)))
        values.append(value + (1 - chance) * discount * max(exhaustive(fails, horizon - 1)))
    return tuple(values)


@pytest.mark.parametrize("name", ARMS)
def test_updates_of_bandits_are_those_of_the_authors_code(name):
    table = pd.read_csv(REFERENCE).query("arms == @name")
    for (horizon, beta), theirs in table.groupby(["horizon", "inverse_temperature"]):
        agent = bandit(ARMS[name], horizon, inverse_temperature=beta, min_priority=1e-6)
        tree, nodes = agent.memory.tree, []
        made = bayes_adaptive._back_up

        def follow(params, memory, z, a, nodes=nodes, made=made):
            first = int(np.argmax(memory.tree.depth[: memory.tree.n[0]] == memory.tree.depth[z]))
            made(params, memory, z, a)
            nodes.append((memory.tree.depth[z], z - first, a, memory.plan.action_values[z, a]))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bayes_adaptive, "_back_up", follow)
            backups = agent.make_backups()
        ours = pd.DataFrame(nodes, columns=["depth", "place", "action", "value"])
        columns = ["depth", "place", "action"]
        assert ours[columns].to_numpy().tolist() == theirs[columns].to_numpy().tolist()
        np.testing.assert_allclose(ours["value"], theirs["value"], rtol=1e-10)
        np.testing.assert_allclose(backups["need"], theirs["need"], atol=1e-7)
        np.testing.assert_allclose(backups["gain"], theirs["gain"], atol=1e-9)
        optimal = theirs[["optimal_0", "optimal_1"]].iloc[0]
        assert exhaustive(tuple(ARMS[name]), horizon) == pytest.approx(tuple(optimal), abs=1e-9)
        assert tree.n[0] == tree.first_at.max() + 1


@given(
    arms=st.tuples(*[st.tuples(st.integers(1, 9), st.integers(1, 9))] * 2),
    horizon=st.integers(2, 3),
)
@settings(max_examples=25, deadline=None)
def test_what_is_replayed_until_nothing_is_gained_is_optimal(arms, horizon):
    """A policy that is nearly even needs every belief state."""
    agent = bandit(arms, horizon, inverse_temperature=0.05)
    agent.make_backups()
    found = agent.memory.plan.action_values[0].max()
    assert found == pytest.approx(max(exhaustive(arms, horizon)), rel=1e-6)


# -- mazes --------------------------------------------------------------------------------


def maze_of(rng, n_states, n_actions, n_barriers):
    """Give where moves lead, to other places, and which moves may be barred, with what chance."""
    next_state = rng.integers(n_states - 1, size=(n_states, n_actions))
    next_state += next_state >= np.arange(n_states)[:, None]
    pairs = rng.choice(n_states * n_actions, size=n_barriers, replace=False)
    return next_state, {divmod(int(pair), n_actions): float(rng.integers(1, 9)) for pair in pairs}


def know(agent, next_state, reward, counts):
    known = agent.memory.known
    known.next_state[:], known.reward[:] = next_state, reward
    known.counts[:] = (1.0, 0.0)
    for move, n_open in counts.items():
        known.counts[move] = (n_open, 2.0)


def optimal_values(next_state, reward, counts, discount):
    """Value iteration over all pairs of a place and what may be known of the barriers."""
    moves = list(counts)
    states = [(s, what) for s in range(len(next_state)) for what in np.ndindex(*(3,) * len(moves))]
    values = dict.fromkeys(states, 0.0)

    def worth(s, a, what):
        opened = reward[s, a] + discount * values[next_state[s, a], what]
        if (s, a) not in counts:
            return opened
        k = moves.index((s, a))
        if what[k] == 0:
            chance = counts[s, a] / (counts[s, a] + 2.0)
            is_open, is_shut = ((*what[:k], each, *what[k + 1 :]) for each in (1, 2))
            value = chance * (reward[s, a] + discount * values[next_state[s, a], is_open])
            return value + (1 - chance) * discount * values[s, is_shut]
        return opened if what[k] == 1 else discount * values[s, what]

    for _ in range(120):
        for s, what in states:
            values[s, what] = max(worth(s, a, what) for a in range(next_state.shape[1]))
    return values


@given(seed=st.integers(0, 2**32 - 1), n_barriers=st.integers(0, 2))
@settings(max_examples=20, deadline=None)
def test_values_are_those_of_enumeration(seed, n_barriers):
    """Of all belief states that may come, after replay until nothing is gained."""
    rng = np.random.default_rng(seed)
    next_state, counts = maze_of(rng, 4, 2, n_barriers)
    reward = np.where(rng.random((4, 2)) < 0.3, rng.integers(1, 4, size=(4, 2)), 0.0)
    agent = Agent(
        4, 2, discount=0.7, inverse_temperature=0.5, least_doubt=0.0, max_backups=3000, horizon=50
    )
    know(agent, next_state, reward, counts)
    tree = agent.plan_from(0)
    agent.make_backups()
    expected = optimal_values(next_state, reward, counts, 0.7)
    order = list(counts)
    doubted = [divmod(int(pair), 2) for pair in tree.doubted[: tree.n[1]]]
    for z in range(tree.n[0]):
        what = [0] * n_barriers
        for k, move in enumerate(doubted):
            what[order.index(move)] = int(tree.tries[z, k, OPEN] + 2 * tree.tries[z, k, SHUT])
        found = agent.memory.plan.action_values[z].max()
        assert found == pytest.approx(expected[int(tree.state[z]), tuple(what)], abs=1e-5)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_where_all_is_known_it_is_memory_access(seed):
    """Each backup is the one of the largest gain x need, with need by the inverse matrix."""
    rng, n, beta, discount = np.random.default_rng(seed), 6, 3.0, 0.8
    next_state, _ = maze_of(rng, n, 2, 0)
    reward = np.where(rng.random((n, 2)) < 0.3, 1.0, 0.0)
    agent = Agent(
        n, 2, discount=discount, inverse_temperature=beta, max_backups=30, replay_rate=0.8
    )
    know(agent, next_state, reward, {})
    tree, Q = agent.plan_from(0), np.zeros((n, 2))
    assert sorted(tree.state[: tree.n[0]]) == sorted(set(tree.state[: tree.n[0]]))
    for row in agent.make_backups().itertuples():
        policy = softmax(Q, beta)
        moves = np.zeros((n, n))
        np.add.at(moves, (np.arange(n)[:, None], next_state), policy)
        need = np.linalg.inv(np.eye(n) - discount * moves)[0]
        new = Q + 0.8 * (reward + discount * Q.max(axis=1)[next_state] - Q)
        worth = np.zeros((n, 2))
        for s, a in np.ndindex(n, 2):
            after = Q[s].copy()
            after[a] = new[s, a]
            worth[s, a] = need[s] * (softmax(after[None], beta)[0] - policy[s]) @ after
        assert row.priority == pytest.approx(worth.max(), abs=1e-6)
        assert worth[row.state, row.action] == pytest.approx(worth.max(), abs=1e-6)
        assert row.gain * row.need == pytest.approx(row.priority)
        assert row.q_before == pytest.approx(Q[row.state, row.action])
        Q[row.state, row.action] = new[row.state, row.action]
        assert row.q_after == pytest.approx(Q[row.state, row.action])
    np.testing.assert_allclose(agent.memory.action_values, Q, atol=1e-9)


def softmax(values, beta):
    weights = np.exp(beta * (values - values.max(axis=1, keepdims=True)))
    return weights / weights.sum(axis=1, keepdims=True)


def test_the_values_of_a_known_maze_are_its_own():
    maze = from_ascii("S..\n.#.\n..G")
    agent = Agent(
        maze.n_states, maze.n_actions, discount=0.8, max_backups=500, inverse_temperature=2.0
    )
    next_state, acting = likeliest_outcomes(maze), ~maze.terminal
    for s, a in np.argwhere(next_state >= 0):
        s_next = int(next_state[s, a])
        agent.step(s, a, s_next, float(maze.terminal[s_next]), terminated=maze.terminal[s_next])
    agent.replay(START, 0)
    exact = maze.solve(0.8).action_values.max(axis=1)
    found = agent.memory.action_values.max(axis=1)
    np.testing.assert_allclose(found[acting], exact[acting], atol=1e-9)


# -- what it does -------------------------------------------------------------------------


def detour(**params):
    """Before a barrier, 1, a short way to the goal, 2; around it by 3, 4, 5 and 6."""
    agent = Agent(7, 2, max_backups=200, **params)
    for s, a, s_next in ((0, 0, 1), (0, 1, 3), (3, 0, 4), (4, 0, 5), (5, 0, 6)):
        agent.step(s, a, s_next)
    agent.step(6, 0, 2, 1.0, terminated=True)
    agent.memory.known.next_state[1, 0] = 2
    agent.memory.known.reward[1, 0] = 1.0
    agent.memory.known.ends[1, 0] = True
    return agent


def test_what_exploring_is_worth_goes_back_to_where_the_agent_is():
    agent = detour()
    backups = agent.replay(START, 0)
    Q = agent.memory.action_values
    assert Q[1, 0] == pytest.approx(0.5)
    assert Q[0, 0] == pytest.approx(0.45)
    to_barrier = backups.query("state == 1 and action == 0").index[0]
    first = backups.query("state == 0 and action == 0 and q_after > 0.4").index[0]
    assert to_barrier < first


@pytest.mark.parametrize("n_open", [0.05, 1.0, 20.0])
def test_the_likelier_the_way_is_open_the_more_it_is_worth(n_open):
    agent = detour(prior_open=n_open, least_doubt=0.0)
    agent.replay(START, 0)
    chance = n_open / (n_open + 1.0)
    assert agent.memory.action_values[1, 0] == pytest.approx(chance)
    around = 0.9**4
    assert (agent.memory.action_values[0].argmax() == 0) == (0.9 * chance > around)


@pytest.mark.parametrize("is_open", [False, True])
def test_who_finds_out_has_planned_for_it(is_open):
    """The values of the new belief are there at once, without any step of learning."""
    agent = detour(learning_rate=0.0)
    agent.step(1, 1, 0)
    agent.replay(START, 0)
    assert agent.memory.action_values[0].argmax() == 0  # it goes and looks
    if is_open:
        agent.step(1, 0, 2, 1.0, terminated=True)
    else:
        agent.step(1, 0, 1)
    assert agent.memory.known.counts[1, 0].tolist() == [float(is_open), float(not is_open)]
    assert agent.memory.action_values[0].argmax() == int(not is_open)
    if not is_open:  # else the episode is over
        assert agent.memory.action_values[0, 1] == pytest.approx(0.9**4)


def test_what_was_planned_is_taken_once():
    """Who bumps again and again learns from it, as from any step."""
    agent = detour()
    agent.replay(START, 1)
    found = []
    for _ in range(3):
        agent.step(1, 0, 1)
        found.append(agent.memory.action_values[1, 0])
    assert found == pytest.approx([0.0, 0.0, 0.0])
    agent.memory.action_values[1, 0] = 0.7
    agent.step(1, 0, 1)
    assert agent.memory.action_values[1, 0] == pytest.approx(0.63)


def test_a_way_that_was_shut_long_ago_is_in_doubt_again():
    agent = detour(volatility=0.05)
    agent.step(1, 0, 1)
    assert agent.memory.known.counts[1, 0].tolist() == [0.0, 1.0]
    agent.replay(START, 0)
    assert agent.memory.tree.n[1] == 0
    for _ in range(90):
        agent.step(6, 0, 2, 1.0, terminated=True)
    assert agent.memory.known.counts[1, 0] == pytest.approx([1.0, 1.0], abs=0.02)
    agent.replay(START, 1)
    assert agent.memory.tree.n[1] > 0
    assert agent.memory.action_values[1, 0] > 0.4


def test_beliefs_follow_bayes():
    agent = Agent(2, 1, prior_open=2.0, prior_shut=3.0, one_try_tells=False)
    known, params = agent.memory.known, agent.params
    assert chance_open(params, known.counts[0, 0], 0, 0) == 0.4
    assert chance_open(params, known.counts[0, 0], 1, 2) == pytest.approx(3 / 8)
    assert learn_outcome(params, known, 0, 0, 0.0, 1, False) == OPEN
    assert learn_outcome(params, known, 0, 0, 0.0, 0, False) == SHUT
    assert known.counts[0, 0].tolist() == [3.0, 4.0]
    assert known.next_state[0, 0] == 1
    tells = params._replace(one_try_tells=True)
    assert chance_open(tells, known.counts[0, 0], 0, 1) == 0.0
    learn_outcome(tells, known, 0, 0, 0.0, 1, False)
    assert known.counts[0, 0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(("chance", "believed"), [(0.7, 1.0), (0.5, 1.0), (0.3, 0.0)])
def test_without_room_for_doubt_the_more_probable_is_believed(chance, believed):
    agent = Agent(2, 1, n_uncertain=0, horizon=2)
    agent.memory.known.next_state[0, 0] = 1
    agent.memory.known.counts[0, 0] = chance, 1.0 - chance
    tree = agent.plan_from(0)
    assert tree.chance[0, 0] == believed
    assert set(tree.state[: tree.n[0]]) == ({0, 1} if believed else {0})


def test_the_tree_has_no_more_than_was_asked_for():
    agent = Agent(30, 2, n_uncertain=1, n_belief_states=17, horizon=6)
    known = agent.memory.known
    known.next_state[:, 0] = np.minimum(np.arange(30) + 1, 29)
    known.next_state[:, 1] = np.maximum(np.arange(30) - 1, 0)
    tree = agent.plan_from(15)
    assert tree.n[1] == 1
    assert tree.n[0] <= 17
    assert tree.depth[: tree.n[0]].max() <= 6
    empty = Agent(3, 1, n_uncertain=0, n_belief_states=1)
    assert add_root(empty.params, empty.memory.tree, 0) == 0
    assert add_root(empty.params, empty.memory.tree, 1) == -1
    grow(empty.params, empty.memory.known, empty.memory.tree)
    assert empty.memory.tree.n[0] == 1


def test_mazes_that_are_seen_are_planned_before_they_are_run():
    """But what is open; before the first reward nothing is worth a replay."""
    world = MDP.from_tables([[1, 0], [2, 0], [2, 2]], reward=[0, 1, 0], start=0, terminal=[2])
    agent = Agent(3, 2, untried="seen")
    agent.learner.explore(agent.params, agent.memory, world)
    assert agent.memory.known.next_state.tolist() == [[1, -1], [2, 0], [-1, -1]]
    assert agent.memory.known.ends.tolist() == [[False, False], [True, False], [False, False]]
    assert agent.replay(REST, 0).empty
    with pytest.raises(ValueError, match="needs to know the world"):
        agent.learner.explore(agent.params, agent.memory, None)


def test_it_begins_where_episodes_started():
    agent = detour()
    agent.replay(EPISODE_END, 2)
    assert np.flatnonzero(agent.memory.begin).tolist() == [0]
    agent.replay(START, 1)
    assert np.flatnonzero(agent.memory.begin).tolist() == [1]
    agent.replay(REST, 2)
    assert agent.memory.begin[:2].tolist() == [0.5, 0.5]


def test_without_discount_it_is_refused():
    with pytest.raises(ValueError, match=r"discount of .* must be .* below 1 .*, got 1"):
        Agent(2, 2, discount=1.0)
