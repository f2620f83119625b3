"""Reward earned and gained by policies, by hand and by definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.learners.prioritized_memory_access.backups import softmax_gain
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
