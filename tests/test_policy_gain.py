"""What policies earn and gain, by hand and by their definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.learners.prioritized_memory_access import Params
from replay.parts.memory_access.policy_gain import (
    EPSILON_GREEDY,
    POLICIES,
    SOFTMAX,
    draw_action,
    expected_value,
    policy_gain,
)

HALVES = Params(inverse_temperature=2 * math.log(3), epsilon=0.5)
"""With these a difference of 1/2 makes one of two actions three times as likely."""


def probabilities(params, values, policy):
    if policy == EPSILON_GREEDY:
        best = values == values.max()
        return (1 - params.epsilon) * best / best.sum() + params.epsilon / len(values)
    weights = np.exp(params.inverse_temperature * (values - values.max()))
    return weights / weights.sum()


def test_values_by_hand():
    Q = np.array([[0.5, 0.0], [0.5, 0.5]])
    assert expected_value(HALVES, Q, 0, SOFTMAX) == pytest.approx(3 / 4 * 1 / 2)
    assert expected_value(HALVES, Q, 0, EPSILON_GREEDY) == pytest.approx(3 / 4 * 1 / 2)
    for policy in (SOFTMAX, EPSILON_GREEDY):
        assert expected_value(HALVES, Q, 1, policy) == 0.5


def test_gains_by_hand():
    Q = np.array([[0.0, 0.0], [0.5, 0.0]])
    # The policy goes from 1/2 to 3/4 for an action that is now worth 1/2.
    assert policy_gain(HALVES, Q, 0, 0, 0.5, SOFTMAX) == pytest.approx(1 / 4 * 1 / 2)
    assert policy_gain(HALVES, Q, 0, 0, 0.5, EPSILON_GREEDY) == pytest.approx(1 / 4 * 1 / 2)
    # What was good is no longer: from 3/4 to 1/2 where both are worth nothing.
    assert policy_gain(HALVES, Q, 1, 0, 0.0, SOFTMAX) == 0.0
    # What was best has become worse than the other by 1/2.
    assert policy_gain(HALVES, Q, 1, 0, -0.5, EPSILON_GREEDY) == pytest.approx(1 / 2 * 1 / 2)
    assert policy_gain(HALVES, Q, 1, 0, -0.5, SOFTMAX) == pytest.approx(1 / 2 * 1 / 2)


values = st.lists(st.integers(-4, 4).map(lambda n: n / 4), min_size=1, max_size=4)


@given(values, st.data(), st.integers(-8, 8), st.sampled_from([0.0, 0.1, 1.0]), st.booleans())
def test_gains_and_values_by_definition(row, data, after, epsilon, soft):
    policy = SOFTMAX if soft else EPSILON_GREEDY
    params = Params(inverse_temperature=3.0, epsilon=epsilon)
    Q, action = np.array([row]), data.draw(st.integers(0, len(row) - 1))
    changed = Q[0].copy()
    changed[action] = after / 4
    before = probabilities(params, Q[0], policy)
    assert expected_value(params, Q, 0, policy) == pytest.approx(before @ Q[0], abs=1e-14)
    gain = policy_gain(params, Q, 0, action, after / 4, policy)
    expected = (probabilities(params, changed, policy) - before) @ changed
    assert gain == pytest.approx(expected, abs=1e-14)
    if policy == EPSILON_GREEDY:  # a softmax policy may leave what is still the best
        assert gain >= -1e-14


@pytest.mark.parametrize("policy", range(len(POLICIES)), ids=POLICIES)
def test_actions_are_drawn_by_the_policy(rng, policy):
    Q = np.array([[0.5, 0.0, 0.5]])
    drawn = [draw_action(HALVES, Q, 0, policy, rng) for _ in range(4000)]
    shares = np.bincount(drawn, minlength=3) / 4000
    np.testing.assert_allclose(shares, probabilities(HALVES, Q[0], policy), atol=0.035)
