"""Expected visits in a learned chain, compared with linear algebra."""

import numpy as np
import pytest

from replay.parts.markov_chain import expected_visits, long_run_shares, markov_chain, move


def learned(rng, n_states, rate, n_moves=300):
    """Return a chain, and the same as a dense matrix."""
    chain = markov_chain(n_states, n_states**2)
    T = np.zeros((n_states, n_states))
    for state in rng.integers(n_states, size=n_moves):
        next_state = int(rng.integers(n_states)) if rng.random() < 0.3 else (state + 1) % n_states
        move(chain, state, next_state, rate)
        T[state] += (rate if T[state].any() else 1.0) * (np.eye(n_states)[next_state] - T[state])
    return chain, T


@pytest.mark.parametrize("rate", [0.1, 0.9, 1.0])
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9, 0.99])
def test_expected_visits_are_a_row_of_the_inverse(rng, rate, discount):
    for n_states in (1, 2, 20):
        chain, T = learned(rng, n_states, rate)
        inverse = np.linalg.inv(np.eye(n_states) - discount * T)
        visits = np.full(n_states, np.nan)
        for state in {0, n_states // 2, n_states - 1}:
            expected_visits(chain, state, discount, visits)
            np.testing.assert_allclose(visits, inverse[state], rtol=1e-11, atol=1e-14)


def test_visits_that_are_few_keep_their_digits():
    chain, visits = markov_chain(80, 80), np.zeros(80)
    for state in range(79):
        move(chain, state, state + 1, 1.0)
    expected_visits(chain, 0, 0.65, visits)
    np.testing.assert_allclose(visits[:70], 0.65 ** np.arange(70), rtol=1e-12)


def test_a_state_that_was_never_left_is_visited_once():
    chain, visits = markov_chain(2, 1), np.zeros(2)
    expected_visits(chain, 1, 0.9, visits)
    assert visits.tolist() == [0.0, 1.0]


def test_the_long_run(rng):
    chain, T = learned(rng, 10, 0.5)
    shares = np.full(10, 0.1)
    long_run_shares(chain, shares)
    np.testing.assert_allclose(shares @ T, shares, atol=1e-11)
    assert shares.sum() == pytest.approx(1.0, rel=0, abs=1e-12)


def test_the_long_run_of_a_periodic_chain():
    chain, shares = markov_chain(3, 3), np.array([1.0, 0.0, 0.0])
    for state in range(3):
        move(chain, state, (state + 1) % 3, 0.9)
    long_run_shares(chain, shares)
    np.testing.assert_allclose(shares, 1 / 3, atol=1e-11)
