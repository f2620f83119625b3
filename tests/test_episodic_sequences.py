"""Episodic control by whole sequences: which are kept, and how they are re-enacted."""

import numpy as np
import pandas as pd
import pytest
from test_textbook import CHAIN, experienced, taught

from replay import LEARNERS, feed, simulate
from replay.learners import episodic_sequences
from replay.learners.contract import Pause, Sizes
from replay.log.backups import EPISODE_END
from replay.worlds.mazes import from_ascii
from replay.worlds.trees import deterministic_tree

CROSSING = [[(0, 0, 0.0, 1), (1, 0, 1.0, 3)], [(2, 0, 0.0, 1), (1, 1, 5.0, 3)]]
GREEDY = LEARNERS["episodic_sequences"][1]._replace(epsilon=0.0)


def sequence(memory, state):
    moves = memory.sequences[state, : memory.lengths[state]]
    return list(zip(moves["action"].tolist(), moves["next_state"].tolist(), strict=True))


def actions(memory, states, rng, params=GREEDY):
    return [int(episodic_sequences.act(params, memory, state, rng)) for state in states]


def test_detours_are_left_out():
    episode = [(0, 0, 1.0, 1), (1, 1, 1.0, 0), (0, 1, 0.0, 1), (1, 0, 0.0, 2), (2, 0, 4.0, 3)]
    memory, backups = taught("episodic_sequences", experienced(episode), discount=0.5)
    assert sequence(memory, 0) == [(1, 1), (0, 2), (0, 3)]
    assert sequence(memory, 1) == [(0, 2), (0, 3)]
    assert memory.action_values[:3].tolist() == [[0.0, 1.0], [2.0, 0.0], [4.0, 0.0]]
    assert backups[["state", "next_state", "cause", "pop"]].to_numpy().tolist() == [
        [2, 3, -1, 0],
        [1, 2, 0, 1],
        [0, 1, 1, 2],
    ]
    assert backups["phase"].eq("episode_end").all()


def test_the_best_sequence_of_each_state_is_kept():
    better, worse = [(0, 1, 0.0, 2), (2, 0, 2.0, 3)], [(0, 0, 0.0, 2), (2, 1, 1.0, 3)]
    for order in ([better, worse], [worse, better]):
        memory, _ = taught("episodic_sequences", experienced(*order), discount=0.5)
        assert sequence(memory, 0) == [(1, 2), (0, 3)]
        assert sequence(memory, 2) == [(0, 3)]
        assert memory.action_values[[0, 2]].tolist() == [[0.5, 1.0], [2.0, 1.0]]


def test_a_sequence_is_followed_to_its_end_and_never_combined(rng):
    """Another episode continued better from state 1, but the sequence from state 0 ignores it."""
    memory, _ = taught("episodic_sequences", experienced(*CROSSING), discount=0.5)
    assert actions(memory, [0, 1], rng) == [0, 0]
    memory.following[0] = -1
    assert actions(memory, [1], rng) == [1]
    assert actions(memory, [2, 1], rng) == [0, 1]
    control, _ = taught("episodic_control", experienced(*CROSSING), discount=0.5)
    assert control.action_values[1].argmax() == 1  # the table decides afresh


def test_another_sequence_is_retrieved_where_the_world_departs(rng):
    episodes = [[(0, 0, 0.0, 1), (1, 0, 1.0, 3)], [(2, 1, 1.0, 3)]]
    memory, _ = taught("episodic_sequences", experienced(*episodes))
    assert actions(memory, [0, 2], rng) == [0, 1]


def test_without_a_sequence_actions_are_random(rng):
    memory = episodic_sequences.init(GREEDY, Sizes(4, 2, n_transitions=3, n_steps=3))
    assert (memory.lengths == 0).all()
    drawn = actions(memory, [0] * 2000, rng)
    assert np.mean(drawn) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2000))
    known, _ = taught("episodic_sequences", experienced(CHAIN))
    drawn = actions(known, [0] * 2000, rng, GREEDY._replace(epsilon=0.5))
    assert np.mean(drawn) == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 2000))


def test_exploration_breaks_a_sequence_off(rng):
    memory, _ = taught("episodic_sequences", experienced(CHAIN))
    actions(memory, [0], rng)
    assert memory.following.tolist() == [0, 1, 1]
    actions(memory, [1], rng, GREEDY._replace(epsilon=1.0))
    assert memory.following[0] == -1


def test_a_sequence_ends_with_its_episode(rng):
    memory, _ = taught("episodic_sequences", experienced(*CROSSING), discount=0.5)
    actions(memory, [0], rng)
    episodic_sequences.replay(GREEDY, memory, Pause(EPISODE_END, 1, False), rng, None)
    assert actions(memory, [1], rng) == [1]


def test_only_more_than_expected_is_remembered():
    episodes = experienced([(0, 0, 1.0, 3)], [(1, 0, 2.0, 3)])
    memory, backups = taught("episodic_sequences", episodes, expected_return=1.0)
    assert memory.lengths.tolist() == [0, 1, 0, 0]
    assert memory.action_values[:2, 0].tolist() == [0.0, 2.0]
    assert backups["q_after"].tolist() == [0.0, 2.0]


def test_in_trees_it_learns_what_the_table_of_best_returns_learns():
    tree = deterministic_tree(seed=1)
    steps = simulate(tree, "q_learning", n_steps=3000).log.steps
    size = {"n_states": tree.n_states, "n_actions": tree.n_actions}
    ours, theirs = (
        feed(learner, steps, **size).backups
        for learner in ("episodic_sequences", "episodic_control")
    )
    pd.testing.assert_frame_equal(ours, theirs)


def test_in_a_maze_it_finds_the_shortest_way():
    maze = from_ascii(
        """
        S....
        .#.#.
        .#..G
        """
    )
    params = {"discount": 0.9, "epsilon": 0.3}
    memory = simulate(maze, "episodic_sequences", params, n_steps=50_000).memory
    exact = maze.solve(0.9).state_values
    best = memory.best_returns.max(axis=1)
    visited = ~maze.terminal
    np.testing.assert_allclose(best[visited], exact[visited], rtol=0, atol=1e-12)
    for state in np.flatnonzero(visited):
        moves = memory.sequences[state, : memory.lengths[state]]
        here, total = state, 0.0
        for k, move in enumerate(moves):
            entry = maze.successor_offset[here * maze.n_actions + move["action"]]
            total += 0.9**k * maze.reward[entry]
            here = maze.successor[entry]
            assert here == move["next_state"]
        assert maze.terminal[here]
        assert total == pytest.approx(best[state], abs=1e-12)
