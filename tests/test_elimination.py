"""Expected visits in a chain, as sums over the future and by elimination, and linear algebra."""

import numpy as np
import pytest

from replay.jit import kernel
from replay.parts.elimination import elimination, solve_visits
from replay.parts.markov_chain import expected_visits, long_run_shares, markov_chain, move
from replay.worlds.mazes import random_maze


def learned(rng, n_states, rate, n_moves=300):
    """Return a chain, and the same as a dense matrix."""
    chain = markov_chain(n_states, n_states**2)
    T = np.zeros((n_states, n_states))
    for state in rng.integers(n_states, size=n_moves):
        next_state = int(rng.integers(n_states)) if rng.random() < 0.3 else (state + 1) % n_states
        move(chain, state, next_state, rate)
        T[state] += (rate if T[state].any() else 1.0) * (np.eye(n_states)[next_state] - T[state])
    return chain, T


solve_compiled = kernel(lambda *given: solve_visits(*given))


def visits_of(solver, chain, state, discount, solve=solve_visits):
    visits = np.full(len(chain.first_out), np.nan)
    solve(solver, chain, state, discount, visits)
    return visits


@pytest.mark.parametrize("rate", [0.1, 0.9, 1.0])
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9, 0.99, 0.9999])
def test_they_are_a_row_of_the_inverse(rng, rate, discount):
    for n_states in (1, 2, 20):
        chain, T = learned(rng, n_states, rate)
        solver = elimination(n_states, n_states**2)
        inverse = np.linalg.inv(np.eye(n_states) - discount * T)
        for state in {0, n_states // 2, n_states - 1}:
            visits = visits_of(solver, chain, state, discount)
            np.testing.assert_allclose(visits, inverse[state], rtol=1e-10, atol=1e-13)
            if discount < 0.999:  # sums over the future would go on for too long
                expected_visits(chain, state, discount, visits)
                np.testing.assert_allclose(visits, inverse[state], rtol=1e-11, atol=1e-14)
        assert solver.order[0] >= 0


def walk(rng, mdp, chain, state, n_steps, rate=0.9):
    """Let a chain follow a random walk, and an episode's end lead to the next start."""
    for _ in range(n_steps):
        action = rng.integers(mdp.n_actions)
        start = np.flatnonzero(mdp.start_probability)
        onward = start if mdp.terminal[state] else mdp.successors(state, action)
        next_state = int(rng.choice(onward))
        move(chain, state, next_state, rate)
        state = next_state
    return state


def test_only_what_moved_is_computed_anew_and_nothing_is_missed(rng):
    mdp = random_maze(7)
    room = mdp.n_transitions + mdp.n_states
    chain, solver = markov_chain(mdp.n_states, room), elimination(mdp.n_states, room)
    state, shares = 0, []
    for n_steps in [1500, *[4] * 9, *[100] * 3]:
        state = walk(rng, mdp, chain, state, n_steps)
        ours = visits_of(solver, chain, state, 0.95)
        anew = visits_of(elimination(mdp.n_states, room), chain, state, 0.95)
        assert ours.tobytes() == anew.tobytes()
        expected_visits(chain, state, 0.95, anew)
        np.testing.assert_allclose(ours, anew, rtol=1e-9, atol=1e-13)
        shares.append(solver.is_new.mean())
    assert shares[0] == 1.0
    assert 0.0 < np.median(shares[1:10]) < 0.5
    again = visits_of(solver, chain, state, 0.95)
    assert not chain.has_moved.any()
    assert again.tobytes() == visits_of(solver, chain, state, 0.95).tobytes()
    assert not solver.is_new.any()


def test_compiled_code_does_what_the_source_says(rng):
    mdp = random_maze(8)
    room = mdp.n_transitions + mdp.n_states
    chain, solver = markov_chain(mdp.n_states, room), elimination(mdp.n_states, room)
    state = walk(rng, mdp, chain, 0, 500)
    compiled = visits_of(elimination(mdp.n_states, room), chain, state, 0.9, solve_compiled)
    chain.has_moved[:] = True
    assert compiled.tobytes() == visits_of(solver, chain, state, 0.9).tobytes()


def test_visits_that_are_few_keep_their_digits():
    chain = markov_chain(80, 80)
    for state in range(79):
        move(chain, state, state + 1, 1.0)
    visits = visits_of(elimination(80, 80), chain, 0, 0.65)
    np.testing.assert_allclose(visits, 0.65 ** np.arange(80), rtol=1e-13)
    expected_visits(chain, 0, 0.65, visits)
    np.testing.assert_allclose(visits[:70], 0.65 ** np.arange(70), rtol=1e-12)


def test_a_state_that_was_never_left_is_visited_once():
    visits = visits_of(elimination(2, 1), markov_chain(2, 1), 1, 0.9)
    assert visits.tolist() == [0.0, 1.0]
    expected_visits(markov_chain(2, 1), 1, 0.9, visits)
    assert visits.tolist() == [0.0, 1.0]


def test_few_pairs_become_neighbours():
    """A tree whose leaves lead back to its root needs only as much room as it has edges."""
    chain = markov_chain(2**9 - 1, 2**10)
    for state in range(2**8 - 1):
        move(chain, state, 2 * state + 1, 0.5)
        move(chain, state, 2 * state + 2, 0.5)
    for leaf in range(2**8 - 1, 2**9 - 1):
        move(chain, leaf, 0, 0.5)
    solver = elimination(2**9 - 1, 2**10)
    visits_of(solver, chain, 0, 0.9)
    assert solver.begin_later[-1] <= 2 * chain.n_edges[0]


def test_where_there_is_no_room_sums_take_over(rng):
    chain, T = learned(rng, 60, 0.1, n_moves=2000)
    solver = elimination(60, 4)
    visits = visits_of(solver, chain, 3, 0.9)
    assert solver.order[0] < 0
    inverse = np.linalg.inv(np.eye(60) - 0.9 * T)
    np.testing.assert_allclose(visits, inverse[3], rtol=1e-10, atol=1e-13)


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
