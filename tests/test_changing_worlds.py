"""Worlds that change, and how fast learners adapt to them."""

from itertools import pairwise

import numpy as np
import pytest

from replay import simulate
from replay.worlds.changing_worlds import (
    WORLDS,
    drifting_tree,
    find_world,
    moving_reward,
    moving_wall,
    shortcut,
)

SEEDS = range(3)


def ways(protocol):
    mdps = [phase.mdp for phase in protocol.phases]
    return [mdp.steps_to_end[mdp.start_probability.argmax()] for mdp in mdps]


def blocked_cells(protocol):
    """States that no other state leads to."""
    cells = []
    for phase in protocol.phases:
        mdp = phase.mdp
        comes_from = mdp.transition_rows() // mdp.n_actions
        entered = set(mdp.successor[mdp.successor != comes_from].tolist())
        cells.append(set(range(mdp.n_states)) - entered)
    return cells


@pytest.mark.parametrize("name", WORLDS)
def test_all_worlds(name):
    one, again, other = (WORLDS[name](seed=seed, n_steps=100, n_rest=2) for seed in (0, 0, 1))
    assert all(a.mdp == b.mdp for a, b in zip(one.phases, again.phases, strict=True))
    assert one.phases[0].mdp != other.phases[0].mdp
    for before, after in pairwise(one.phases):
        assert before.mdp != after.mdp
    assert all(phase.n_steps == 100 and phase.n_rest == 2 for phase in one.phases)
    for phase in one.phases:
        best = phase.mdp.solve(0.99).policy
        n = phase.mdp.n_actions
        blind = np.full((phase.mdp.n_states, n), 1 / n)
        assert phase.mdp.reward_rate(best, 0.1) > phase.mdp.reward_rate(blind)
    run = simulate(one, "prioritized_sweeping", {"forgetting": 0.5})
    assert len(run.log.steps) == one.n_steps


@pytest.mark.parametrize("seed", SEEDS)
def test_the_wall_moves_to_where_the_animal_walks(seed):
    world = moving_wall(n_phases=4, n_steps=10, seed=seed)
    open_, first, second, third = blocked_cells(world)
    assert not open_
    for cell in (first, second, third):
        assert len(cell) == 1
    assert first != second != third
    n_steps = ways(world)
    assert n_steps[1] >= 1.25 * n_steps[0]
    assert np.isfinite(n_steps).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shortcut_is_a_wall_that_falls(seed):
    closed, opened = blocked_cells(shortcut(seed=seed))
    assert len(closed) == 1
    assert not opened
    long, short = ways(shortcut(seed=seed))
    assert long >= 1.25 * short


def test_noise_is_a_random_direction():
    """Where all four neighbours differ, a move goes astray with three quarters of the noise."""
    plain, noisy = (moving_wall(seed=0, noise=noise).phases[1].mdp for noise in (0.0, 0.2))
    n_actions = plain.n_actions
    for state in np.flatnonzero(~plain.terminal):
        target = [int(plain.successors(state, a)[0]) for a in range(n_actions)]
        for a in range(n_actions):
            row = noisy.transition_matrix()[[state * n_actions + a]].toarray()[0]
            expected = 0.2 * np.bincount(target, minlength=plain.n_states) / n_actions
            expected[target[a]] += 0.8
            assert row == pytest.approx(expected)
    enters_goal = noisy.terminal[noisy.successor]
    assert noisy.reward == pytest.approx(enters_goal.astype(float))


def test_the_reward_takes_turns():
    world = moving_reward(n_places=3, n_phases=4, n_steps=10, seed=2)
    terminal = np.flatnonzero(world.phases[0].mdp.terminal)
    assert len(terminal) == 3
    paying = [set(p.mdp.successor[p.mdp.reward == 1].tolist()) for p in world.phases]
    assert all(len(places) == 1 for places in paying)
    assert set().union(*paying) == set(terminal.tolist())
    assert paying[0] == paying[3]


def test_drift_is_as_large_as_asked():
    world = drifting_tree(depth=8, n_phases=3, drift=0.3, seed=0)
    mdps = [phase.mdp for phase in world.phases]
    pairs = np.flatnonzero(np.diff(mdps[0].successor_offset) == 2)
    left = mdps[0].successor_offset[pairs]
    odds = [np.log(mdp.probability[left] / mdp.probability[left + 1]) for mdp in mdps]
    for before, after in pairwise(odds):
        change = after - before  # of both: a factor of the square root of 2
        assert change.std() == pytest.approx(0.3 * np.sqrt(2), rel=0.1)
        assert abs(change.mean()) < 0.1
    still = drifting_tree(drift=0.0, n_phases=2, seed=0).phases
    assert still[0].mdp.probability == pytest.approx(still[1].mdp.probability)


def test_errors():
    with pytest.raises(ValueError, match="Choose from: moving_wall, shortcut"):
        find_world("lake")
    with pytest.raises(ValueError, match="n_phases must be a whole number from 2"):
        moving_wall(n_phases=1)
    with pytest.raises(ValueError, match="had room for 9 places"):
        moving_reward(size=4, n_places=9)
    with pytest.raises(ValueError, match="make them larger, or use fewer phases"):
        moving_wall(size=4)


def test_who_forgets_follows_a_moved_reward_sooner():
    """An average over all that ever came unlearns the old place as slowly as it was learned."""
    earned = {0.0: [], 0.5: []}
    for seed in range(12):
        world = moving_reward(size=8, n_phases=2, n_steps=3000, seed=seed)
        for forgetting, rates in earned.items():
            run = simulate(world, "prioritized_sweeping", {"forgetting": forgetting}, seed=seed)
            rewards = run.log.columns("steps")["reward"]
            rates.append([rewards[2000:3000].mean(), rewards[3000:4000].mean()])
    counting, forgetting = (np.array(rates) for rates in earned.values())
    before, after = (forgetting - counting).T
    assert abs(before.mean()) < 0.02  # nothing to forget in a world that stays
    standard_error = after.std(ddof=1) / np.sqrt(len(after))
    assert after.mean() > 3 * standard_error
