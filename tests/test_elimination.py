"""Expected visits by elimination, compared with linear algebra and with sums over the future."""

import numpy as np
import pytest
from test_markov_chain import learned

from replay.jit import kernel
from replay.parts.elimination import elimination, solve_visits
from replay.parts.markov_chain import expected_visits, markov_chain, move
from replay.worlds.mazes import random_maze

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


def test_a_state_that_was_never_left_is_visited_once():
    assert visits_of(elimination(2, 1), markov_chain(2, 1), 1, 0.9).tolist() == [0.0, 1.0]


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
