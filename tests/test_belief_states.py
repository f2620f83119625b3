"""Beliefs of an observer who knows the world, against every path that leads to what was seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay import MDP, from_ascii, simulate
from replay.encoders import BeliefStates
from replay.encoders.contract import Walk
from replay.worlds.observations import aliased, cued_t_maze

pytest.importorskip("gymnasium")

WALK = Walk(np.zeros((1, 1)), np.ones(1, dtype=bool), np.full(1, -1), 2, np.zeros(1))


def slippery(maze, slip):
    """Let each action fail sometimes, and leave the state as it is."""
    stays = np.repeat(np.arange(maze.n_states), maze.n_actions)
    matrix = (1 - slip) * maze.transition_matrix().toarray()
    matrix[np.arange(len(matrix)), stays] += slip
    shape = (maze.n_states, maze.n_actions, maze.n_states)
    return MDP.from_tables(
        matrix.reshape(shape), maze.expected_reward(), start=maze.start_probability,
        terminal=np.flatnonzero(maze.terminal), position=maze.position, labels=maze.labels,
    )  # fmt: skip


@given(n_states=st.integers(2, 4), n_looks=st.integers(1, 3), seed=st.integers(0, 999))
def test_a_belief_is_the_share_of_all_paths_that_lead_to_what_was_seen(n_states, n_looks, seed):
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.full(n_states, 0.5), size=(n_states, 2))
    start = rng.dirichlet(np.ones(n_states))
    world = MDP.from_tables(transition, np.zeros((n_states, 2)), start=start, terminal=[])
    looks = rng.integers(n_looks, size=n_states).astype(float)
    coder = BeliefStates(world, looks, 1e-6).prepare(WALK, rng)
    state = rng.choice(n_states, p=start)
    coder.begin(looks[state : state + 1])
    paths = {(s,): start[s] for s in range(n_states) if looks[s] == looks[state]}
    for action in rng.integers(2, size=4):
        state = rng.choice(n_states, p=transition[state, action])
        coder.encode(looks[state : state + 1], action)
        paths = {
            (*path, s): p * transition[path[-1], action, s]
            for path, p in paths.items()
            for s in range(n_states)
            if looks[s] == looks[state]
        }
    belief = np.zeros(n_states)
    for path, p in paths.items():
        belief[path[-1]] += p / sum(paths.values())
    assert coder._belief == pytest.approx(belief, abs=1e-9)


def test_beliefs_of_a_maze_with_certain_outcomes_are_its_states():
    """Though an action slips now and then, the animal remembers the cue and knows where it is."""
    maze = cued_t_maze(5)
    for world, least in ((maze, 0.95), (slippery(maze, 0.1), 0.9)):
        run = simulate(
            aliased(world, maze.labels), "prioritized_sweeping", n_steps=4000, seed=1,
            encoder=BeliefStates(world, maze.labels),
        )  # fmt: skip
        ends = run.log.steps.query("terminated").tail(100)
        assert ends["reward"].mean() >= least
        if world is maze:
            assert (run.codes.groupby("code")["state"].nunique() == 1).all()
            assert run.codes["code"].nunique() == run.codes["state"].nunique() == 14


def test_what_cannot_be_believed_is_told():
    maze = cued_t_maze(5)
    labels = np.array(maze.labels, dtype=float)
    env = aliased(maze, labels)

    def act(encoder):
        simulate(env, "q_learning", encoder=encoder, n_steps=500, seed=1)

    with pytest.raises(ValueError, match=r"was observed, which cannot be in 'T-maze"):
        act(BeliefStates(maze, labels + 1))
    with pytest.raises(ValueError, match="More than 3 different beliefs"):
        act(BeliefStates(maze, labels, most_codes=3))
    with pytest.raises(ValueError, match="has 3 actions, and 'maze'"):
        act(BeliefStates(from_ascii("S..G"), range(4)))
    with pytest.raises(ValueError, match="one number for each of the 16 states, got 3"):
        BeliefStates(maze, [1, 2, 3])
    with pytest.raises(TypeError, match="mdp must be an MDP"):
        BeliefStates(env, labels)
    with pytest.raises(ValueError, match="resolution"):
        BeliefStates(maze, labels, 0.0)
