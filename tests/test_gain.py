"""What backups gain, by hand and by definition; their order, and how ties are broken."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.learners.prioritized_memory_access.backups import (
    best_pair,
    leave_out,
    priority_table,
    set_pair_priority,
    softmax_gain,
)
from replay.learners.prioritized_sweeping.evaluation import greedy_gain
from replay.parts.policies import EPSILON_GREEDY, POLICIES, SOFTMAX, Policy, draw_action

SOFT, GREEDY = (Policy(kind, 2 * math.log(3), 0.5) for kind in (SOFTMAX, EPSILON_GREEDY))
"""With these a difference of 1/2 makes one of two actions three times as likely."""


def probabilities(policy, values):
    if policy.kind == EPSILON_GREEDY:
        best = values == values.max()
        return (1 - policy.epsilon) * best / best.sum() + policy.epsilon / len(values)
    weights = np.exp(policy.inverse_temperature * (values - values.max()))
    return weights / weights.sum()


def gain_of(policy, Q, state, action, after):
    if policy.kind == SOFTMAX:
        return softmax_gain(Q, state, action, after, policy.inverse_temperature)
    changed = Q[state].copy()
    changed[action] = after
    return greedy_gain(Q, state, changed, policy.epsilon)


def test_gains_by_hand():
    Q = np.array([[0.0, 0.0], [0.5, 0.0]])
    # The policy goes from 1/2 to 3/4 for an action that is now worth 1/2.
    assert gain_of(SOFT, Q, 0, 0, 0.5) == pytest.approx(1 / 4 * 1 / 2)
    assert gain_of(GREEDY, Q, 0, 0, 0.5) == pytest.approx(1 / 4 * 1 / 2)
    # What was good is no longer: from 3/4 to 1/2 where both are worth nothing.
    assert gain_of(SOFT, Q, 1, 0, 0.0) == 0.0
    # What was best has become worse than the other by 1/2.
    assert gain_of(GREEDY, Q, 1, 0, -0.5) == pytest.approx(1 / 2 * 1 / 2)
    assert gain_of(SOFT, Q, 1, 0, -0.5) == pytest.approx(1 / 2 * 1 / 2)


values = st.lists(st.integers(-4, 4).map(lambda n: n / 4), min_size=1, max_size=4)


@given(values, st.data(), st.integers(-8, 8), st.sampled_from([0.0, 0.1, 1.0]), st.booleans())
def test_gains_by_definition(row, data, after, epsilon, soft):
    policy = Policy(SOFTMAX if soft else EPSILON_GREEDY, 3.0, epsilon)
    Q, action = np.array([row]), data.draw(st.integers(0, len(row) - 1))
    changed = Q[0].copy()
    changed[action] = after / 4
    before = probabilities(policy, Q[0])
    gain = gain_of(policy, Q, 0, action, after / 4)
    expected = (probabilities(policy, changed) - before) @ changed
    assert gain == pytest.approx(expected, abs=1e-14)
    if policy.kind == EPSILON_GREEDY:  # a softmax policy may leave what is still the best
        assert gain >= -1e-14


@pytest.mark.parametrize("policy", [SOFT, GREEDY], ids=POLICIES)
def test_actions_are_drawn_by_the_policy(rng, policy):
    Q = np.array([[0.5, 0.0, 0.5]])
    drawn = [draw_action(policy, Q, 0, rng) for _ in range(4000)]
    shares = np.bincount(drawn, minlength=3) / 4000
    np.testing.assert_allclose(shares, probabilities(policy, Q[0]), atol=0.035)


RIVAL = (-1, -1)


def table_of(priorities):
    table = priority_table(*np.shape(priorities))
    for (state, action), priority in np.ndenumerate(priorities):
        set_pair_priority(table, state, action, priority)
    return table


def counts(table, rival, rng, n=3000):
    drawn = [best_pair(table, rival, rng) for _ in range(n)]
    return {pair: drawn.count(pair) / n for pair in set(drawn)}


def test_the_highest_comes_first(rng):
    table = table_of([[0.1, 0.2], [0.5, 0.3], [-1.0, 0.4]])
    assert table.highest.tolist() == [0.2, 0.5, 0.4]
    assert best_pair(table, 0.4, rng) == (1, 0)
    assert best_pair(table, 0.6, rng) == RIVAL
    leave_out(table, 1)
    assert best_pair(table, -1.0, rng) == (2, 1)


def test_one_of_several_equals_is_drawn(rng):
    table = table_of([[0.5, 0.2], [0.5, 0.5], [0.1, 0.4]])
    shares = counts(table, -1.0, rng)
    assert set(shares) == {(0, 0), (1, 0), (1, 1)}
    assert list(shares.values()) == pytest.approx([1 / 3] * 3, abs=0.04)  # over 4 standard errors


def test_of_a_longer_and_a_shorter_backup_of_the_same_priority_the_shorter_is_made(rng):
    shares = counts(table_of([[0.5, 0.2], [0.1, 0.5]]), 0.5, rng)
    assert shares == {
        (0, 0): pytest.approx(1 / 2, abs=0.04),
        (1, 1): pytest.approx(1 / 2, abs=0.04),
    }


def test_nothing_to_choose(rng):
    assert best_pair(priority_table(3, 2), -1.0, rng) == RIVAL
    assert best_pair(priority_table(3, 2), 0.0, rng) == RIVAL
