"""Gain x need over goals: the authors' own values, a plain version, shortest paths, its effects."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_geodesic import PlainMap

from replay import simulate
from replay.learners import find_learner
from replay.learners.contract import Pause, Sizes, Transition
from replay.learners.ranges import likeliest_outcomes
from replay.log.backups import EPISODE_END, REST, START, backup_buffer, renew
from replay.tasks import give_laps, replay_laps
from replay.tasks.published import find_task
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP

REFERENCE = Path(__file__).parent / "reference" / "geodesic_values.csv"
NO_LOG = None
POLICIES = ("softmax", "greedy")
# A stem, 0 and 1, and two arms, 2 to 3 and 4 to 5; actions that lead nowhere stay.
T_MAZE = np.array(
    [[0, 1, 0, 0], [0, 1, 2, 4], [1, 3, 2, 2], [3, 3, 3, 3], [1, 5, 4, 4], [5, 5, 5, 5]]
)
GIVEN = {"discount": 0.95, "inverse_temperature": 2.5, "replay_rate": 0.7}


@pytest.mark.parametrize("policy", POLICIES)
def test_plain_version_has_the_values_of_the_authors_code(policy):
    """They ran the way into one arm once, forgot 6 %, and expect the other one seven in ten."""
    table = pd.read_csv(REFERENCE).query("policy == @policy")
    plain = PlainMap(T_MAZE, [3, 5], [0.3, 0.7], GIVEN | {"policy": policy})
    for s, a in ((0, 1), (1, 2), (2, 1)):
        for j in range(2):
            plain.G[j, s, a] = plain.target(j, T_MAZE[s, a])
    plain.G *= 0.94
    path, begin = [], np.eye(6)[0]
    for _, rows in table.groupby("pop"):
        expected = rows["priority"].to_numpy().reshape(T_MAZE.shape)
        np.testing.assert_allclose(plain.priorities(begin, path), expected, atol=1e-11)
        (chosen,) = rows.loc[rows["is_chosen"] == 1, ["state", "action"]].to_numpy().tolist()
        plain.back_up(*chosen, path)


class Agent:
    """The learner as the Python that it is, pause by pause."""

    def __init__(self, next_state, seed=0, **params):
        self.learner = find_learner("geodesic_representation", params)
        self.params, shape = self.learner.params, next_state.shape
        self.next_state = next_state
        n_transitions = 2 * next_state.size  # the world may change once
        self.memory = self.learner.init(self.params, Sizes(*shape, n_transitions, 1))
        self.rng = np.random.default_rng(seed)

    def step(self, s, a, reward=0.0, ended=False):
        s_next = int(self.next_state[s, a])
        moved = Transition(s, a, reward, s_next, -1, ended, False)
        self.learner.learn(self.params, self.memory, moved, NO_LOG)

    def replay(self, phase, state):
        log = backup_buffer(10_000, "all", True)
        self.learner.replay(self.params, self.memory, Pause(phase, state, True), self.rng, log)
        (rows, evaluations), _ = renew(log, 0)
        return pd.DataFrame(rows).join(pd.DataFrame(evaluations))

    def plain(self):
        """Return the plain version after the same experience."""
        memory, n = self.memory, int(self.memory.goals.n[0])
        latest = memory.need.latest
        known = np.where(latest >= 0, memory.model.edges["next_state"][latest], -1)
        goals = memory.goals.place[:n].tolist()
        plain = PlainMap(known, goals, memory.goals.likely[:n].copy(), self.learner.parameters)
        plain.G = memory.geodesic[:n].copy()
        return plain


@given(seed=st.integers(0, 2**32 - 1), policy=st.sampled_from(POLICIES))
@settings(max_examples=25, deadline=None)
def test_each_backup_is_the_best_one_by_the_plain_version(seed, policy):
    rng = np.random.default_rng(seed)
    n_states, n_actions = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    pays = rng.random(n_states) < 0.4
    agent = Agent(
        rng.integers(n_states, size=(n_states, n_actions)), seed, policy=policy, max_backups=5,
        learning_rate=0.8, goal_rate=0.3, n_goals=3,
    )  # fmt: skip
    state = int(rng.integers(n_states))
    for number in range(16):
        if number == 8:  # the world changes: moves lead elsewhere
            agent.next_state = rng.integers(n_states, size=(n_states, n_actions))
        action, is_end = int(rng.integers(n_actions)), number % 4 == 3
        entered = int(agent.next_state[state, action])
        agent.step(state, action, float(pays[entered]), is_end)
        state = entered
        if is_end:
            starts = agent.memory.starts / agent.memory.starts.sum()
            compare_with_plain(agent, EPISODE_END, state, starts)
            state = int(rng.integers(n_states))
            compare_with_plain(agent, START, state, np.eye(n_states)[state])


def compare_with_plain(agent, phase, state, begin):
    plain, path = agent.plain(), []
    for _, rows in agent.replay(phase, state).groupby("pop"):
        worth, row = plain.priorities(begin, path), rows.iloc[-1]
        s, a = int(row["state"]), int(row["action"])
        assert row["priority"] == pytest.approx(worth[s, a], rel=1e-8, abs=1e-12)
        assert worth[s, a] == pytest.approx(worth.max(), rel=1e-8, abs=1e-12)
        assert row["gain"] * row["need"] == pytest.approx(row["priority"])
        plain.back_up(s, a, path)
    n = len(plain.goals)
    np.testing.assert_allclose(agent.memory.geodesic[:n], plain.G, atol=1e-12)


def test_distances_are_those_of_each_goal_solved_alone():
    """Every place is a goal, episodes start everywhere; replay goes on until nothing is gained."""
    maze = from_ascii("..#\n.G.\n...")
    agent = Agent(
        likeliest_outcomes(maze), candidates="entered", n_goals=99, pre_explored=True,
        policy="greedy", replay_rate=1.0, max_backups=500,
    )  # fmt: skip
    agent.learner.explore(agent.params, agent.memory, maze)
    assert len(agent.replay(REST, 0)) < 500
    ways, memory = maze.to_networkx(), agent.memory
    assert memory.goals.n[0] == maze.n_states
    for g, goal in enumerate(memory.goals.place.tolist()):
        for s in np.flatnonzero(~maze.terminal).tolist():
            if s != goal:
                distance = nx.shortest_path_length(ways, s, goal)
                assert memory.geodesic[g, s].max() == pytest.approx(0.95 ** (distance - 1))


def test_goals_are_as_likely_as_they_paid():
    agent = Agent(T_MAZE, goal_rate=0.1)
    agent.step(2, 1, 1.0)
    assert agent.memory.goals.likely[:1].tolist() == [1.0]
    agent.step(4, 1, 1.0)  # a second goal: one half each, and a tenth of the way to what paid
    assert agent.memory.goals.likely[:2] == pytest.approx([0.45, 0.55])
    agent.step(4, 1, 0.0)
    assert agent.memory.goals.likely[:2] == pytest.approx([0.505, 0.495])
    assert agent.memory.goals.reward[:2].tolist() == [1.0, 0.0]
    assert agent.memory.action_values[4, 1] == 0.0  # known at once, as what is there is gone


def test_the_goal_of_before_is_replayed_as_long_as_it_is_likely():
    """Gillespie et al.: replay follows what paid in the past, not only the goal of now."""
    shown = {}
    for rate in (0.05, 1.0):
        agent = Agent(T_MAZE, goal_rate=rate, max_backups=3, pre_explored=True)
        world = MDP.from_tables(T_MAZE, np.zeros(6), start=0)
        agent.learner.explore(agent.params, agent.memory, world)
        for turn, arm in [(2, 2)] * 8 + [(3, 4)] * 8:
            for s, a, reward in ((0, 1, 0.0), (1, turn, 0.0), (arm, 1, 1.0)):
                agent.step(s, a, reward, s == arm)
            rows = agent.replay(EPISODE_END, arm + 1)
        shown[rate] = rows["next_state"].tolist()
    assert shown == {0.05: [3, 2, 1], 1.0: [5, 4, 1]}


@pytest.mark.parametrize("params", [{}, {"pre_explored": True}])
def test_a_track_run_one_way_is_replayed_only_if_it_was_explored(params):
    """Where one action was tried in each state, no policy towards any goal can be improved."""
    laps = give_laps(find_task("linear_track").build(), seed=1)
    log = replay_laps(laps, "geodesic_representation", params)
    assert (log.backups["phase"] != "online").any() == bool(params)


def test_discount_must_be_below_one():
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        simulate(from_ascii("SG"), "geodesic_representation", {"discount": 1.0}, n_steps=1)
