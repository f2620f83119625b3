"""Need in prioritized sweeping, by slow formulas at every choice of a run."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_learners import worlds

from replay import simulate
from replay.learners import prioritized_sweeping
from replay.learners.prioritized_sweeping import evaluation
from replay.learners.prioritized_sweeping.evaluation import greedy_gain
from replay.log.backups import EPISODE_END, REST, START, STEP
from replay.simulation import driver
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Phase, Protocol
from replay.worlds.trees import stochastic_tree

DISCOUNT, EPSILON = 0.8, 0.3


# -- slow formulas --------------------------------------------------------------------------


def policy(values):
    """Choose like the learners do, among the actions that are not marked as untried."""
    is_open = values < np.inf
    chance = EPSILON * is_open / max(is_open.sum(), 1)
    is_best = is_open & (values == values[is_open].max(initial=-np.inf))
    return chance + (1 - EPSILON) * is_best / max(is_best.sum(), 1)


def policy_gain(before, after):
    """What a policy is worth at new values, and what the old one is worth there."""
    known = np.where(after < np.inf, after, 0.0)
    return (policy(after) - policy(before)) @ known


def probabilities(model):
    """P(s' | s, a) of the learned model, 0 for unknown pairs."""
    n_states, n_actions = model.visits.shape
    table = np.zeros((n_states, n_actions, n_states))
    for s, a in zip(*np.nonzero(model.visits), strict=True):
        edge = model.first_out[s, a]
        while edge >= 0:
            row = model.edges[edge]
            table[s, a, row["next_state"]] = row["count"] / model.visits[s, a]
            edge = row["next_out"]
    return table


def check_need(need, model, action_values, starts, pause):
    """The successor representation by a matrix inverse; the long run by solving for shares.

    If the model has two ways to stay for ever, the shares between them are undetermined.
    """
    n = len(action_values)
    T = np.zeros((n + 1, n + 1))
    policies = [policy(values) for values in action_values]
    T[:n, :n] = np.einsum("sa,sat->st", policies, probabilities(model))
    T[n, list(starts)] = np.array(list(starts.values())) / sum(starts.values())
    if pause.phase != REST:
        origin = n if pause.phase == EPISODE_END else pause.state
        expected = np.linalg.inv(np.eye(n + 1) - DISCOUNT * T)[origin]
        np.testing.assert_allclose(need, expected, rtol=1e-9, atol=1e-10)
        return
    T[:n, n] = 1.0 - T[:n].sum(axis=1)
    equations = np.vstack([T.T - np.eye(n + 1), np.ones(n + 1)])
    sides = np.append(np.zeros(n + 1), 1.0)
    expected, _, rank, _ = np.linalg.lstsq(equations, sides, rcond=None)
    np.testing.assert_allclose(equations @ need, sides, rtol=0, atol=1e-9)
    if rank == n + 1:
        np.testing.assert_allclose(need, expected, rtol=1e-9, atol=1e-10)


def worth_of(memory, need, state):
    return need[state] * abs(memory.values[state] - memory.known_values[state])


COMMON = {"discount": DISCOUNT, "epsilon": EPSILON, "max_pops": 1, "priority": "need"}
OPTIONS = [
    {},
    {"initial_value": np.inf, "replay_at": "start_and_end"},
    {"retention": "recent_transitions", "capacity": 4, "forgetting": 0.3},
    {"replay_at": "rest"},
    {"reversible": True, "max_pops": 9},
]


class Checked:
    """Compares need at every pause, and worth at every choice, with the slow formulas."""

    def __init__(self, monkeypatch):
        learn, look_ahead = prioritized_sweeping.learn, evaluation.look_ahead
        self.originals = (learn, look_ahead, prioritized_sweeping._first)
        self.starts, self.begins = {}, True
        self.phases, self.n_choices = set(), 0
        kernel_of = driver.kernel_of
        monkeypatch.setattr(
            driver, "kernel_of", lambda own: kernel_of(replace(own, compiled=False))
        )
        monkeypatch.setattr(prioritized_sweeping, "learn", self.learn)
        monkeypatch.setattr(evaluation, "look_ahead", self.look_ahead)
        monkeypatch.setattr(prioritized_sweeping, "_first", self.first)

    def learn(self, params, memory, transition, log):
        if self.begins:
            self.starts[transition.state] = self.starts.get(transition.state, 0) + 1
        self.begins = transition.terminated or transition.truncated
        self.originals[0](params, memory, transition, log)

    def look_ahead(self, evaluation, model, action_values, discount, epsilon, pause):
        self.originals[1](evaluation, model, action_values, discount, epsilon, pause)
        self.phases.add(pause.phase)
        check_need(evaluation.need.expected, model, action_values, self.starts, pause)

    def first(self, evaluation, params, memory):
        waiting = memory.queue.state[: memory.queue.size[0]].tolist()
        values = {each: worth_of(memory, evaluation.need.expected, each) for each in waiting}
        chosen, priority = self.originals[2](evaluation, params, memory)
        assert priority == pytest.approx(values[chosen], rel=1e-9, abs=1e-12)
        assert priority == pytest.approx(max(values.values()), rel=1e-9, abs=1e-12)
        self.n_choices += len(waiting) > 1
        return chosen, priority


@given(world=worlds(), options=st.sampled_from(OPTIONS), seed=st.integers(0, 99))
@settings(max_examples=24)
def test_the_most_valuable_is_chosen_and_valued_right(world, options, seed):
    protocol = Protocol([Phase(world, 20, n_rest=2)] * 2)
    with pytest.MonkeyPatch.context() as monkeypatch:
        Checked(monkeypatch)
        params = COMMON | options
        simulate(protocol, "prioritized_sweeping", params, seed=seed, max_episode_steps=7)


def test_choices_are_checked_at_all_pauses(monkeypatch):
    """So that the test above can fail."""
    for options_, phases in [({}, {STEP, EPISODE_END}), (OPTIONS[1], {EPISODE_END, START})]:
        with monkeypatch.context() as patch:
            checked = Checked(patch)
            world = stochastic_tree(seed=1)
            simulate(world, "prioritized_sweeping", COMMON | options_, n_steps=300)
            assert checked.phases == phases
            assert checked.n_choices > 10


@pytest.mark.usefixtures("plain")
def test_gain_and_need_are_logged():
    params, tree = COMMON | {"max_pops": 9}, stochastic_tree(seed=1)
    log = simulate(tree, "prioritized_sweeping", params, n_steps=400, log="all").log
    replayed = log.backups["event"] >= 0
    assert log.backups.loc[~replayed, ["gain", "need"]].isna().all(axis=None)
    assert (log.backups.loc[replayed, ["gain", "need"]].max() > 0.0).all()
    plain = simulate(tree, "prioritized_sweeping", n_steps=400).log
    assert plain.backups[["gain", "need"]].isna().all(axis=None)


# -- by hand --------------------------------------------------------------------------------


@given(
    before=st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf]), min_size=3, max_size=3),
    after=st.lists(st.floats(-3, 3), min_size=3, max_size=3),
)
def test_gain_is_the_difference_of_two_policies(before, after):
    Q = np.array([before])
    told = np.where(Q[0] < np.inf, after, np.inf)
    if (np.inf > Q).any():
        found = greedy_gain(Q, 0, told, EPSILON)
        assert found == pytest.approx(policy_gain(Q[0], told), abs=1e-12)
        assert found >= -1e-15  # the mean of three equal numbers may be rounded up


@pytest.mark.usefixtures("plain")
def test_need_without_a_discount_has_no_bound():
    chain = MDP.from_tables([[1], [1]], reward=[1, 0], terminal=[1])
    with pytest.raises(ValueError, match="a priority with need asks for a discount below 1"):
        simulate(chain, "prioritized_sweeping", {"priority": "need", "discount": 1.0}, n_steps=1)
