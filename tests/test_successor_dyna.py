"""SR-Dyna: its rows compared with the matrix inverse and its authors' code, and revaluation.

``reference/successor_rows.csv`` has w and H of the published code
(github.com/evanrussek/Predictive-Representations-PLOS-CB-2017, commit fb83671, model_SRDYNA.m, run
with Octave 7.3) after the moves of ``successor_moves.csv``, and after the replays listed here;
alpha and alpha_w are 0.3, the discount 0.9, and replay within steps is off.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay import feed, simulate
from replay.learners import find_learner, successor_dyna
from replay.parts.world_model import edge_to
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP

REFERENCE = Path(__file__).parent / "reference"
EXACT = {"learning_rate": 1.0, "reward_rate": 1.0, "n_replays": 50}


def rows_by_inversion(mdp, memory, discount):
    """Occupancy of pairs under the greedy policy, of pairs that were all tried."""
    Q = memory.action_values
    n_actions, met = mdp.n_actions, memory.pairs.met[: memory.pairs.n[0]]
    number = {int(pair): i for i, pair in enumerate(met)}
    P = np.zeros((len(met), len(met)))
    for i, pair in enumerate(met):
        (entered,) = mdp.successors(pair // n_actions, pair % n_actions)
        if not mdp.terminal[entered]:
            P[i, number[entered * n_actions + int(Q[entered].argmax())]] = 1.0
    return np.linalg.inv(np.eye(len(met)) - discount * P)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_rows_are_those_of_the_matrix_inverse(seed):
    rng = np.random.default_rng(seed)
    n_states, n_actions = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    entered = rng.integers(n_states, size=(n_states, n_actions))
    entered[:, 0] = np.minimum(np.arange(n_states) + 1, n_states - 1)  # the end can be reached
    reward = rng.normal(size=(n_states, n_actions))
    mdp = MDP.from_tables(entered, reward, terminal=[n_states - 1])
    params = {**EXACT, "discount": 0.8, "epsilon": 1.0}
    run = simulate(mdp, "successor_dyna", params, n_steps=1500, seed=1)
    memory = run.memory
    n = int(memory.pairs.n[0])
    expected = rows_by_inversion(mdp, memory, 0.8)
    np.testing.assert_allclose(memory.occupancy[:n, :n], expected, atol=1e-9)
    acting = ~mdp.terminal
    values = mdp.solve(0.8).action_values
    tried = run.log.steps[["state", "action"]].drop_duplicates()
    if len(tried) == acting.sum() * n_actions:
        np.testing.assert_allclose(memory.action_values[acting], values[acting], atol=1e-9)


@given(seed=st.integers(0, 99), rate=st.sampled_from([0.1, 0.7, 1.0]))
@settings(max_examples=20)
def test_values_are_occupancy_times_reward(seed, rate):
    maze = from_ascii("S..\n.#G")
    params = {"learning_rate": rate, "reward_rate": rate, "epsilon": 0.5}
    memory = simulate(maze, "successor_dyna", params, n_steps=300, seed=seed).memory
    pairs = memory.pairs.met[: memory.pairs.n[0]]
    n = len(pairs)
    expected = memory.occupancy[:n, :n] @ memory.weights[:n]
    np.testing.assert_allclose(memory.action_values.ravel()[pairs], expected, atol=1e-12)


REPLAYS = [int(pair) for pair in "4329001968273406861529815987607402575686"]
"""Pairs whose latest outcome is replayed, in this order."""


def test_rows_are_those_of_the_published_code():
    moves = pd.read_csv(REFERENCE / "successor_moves.csv").astype({"terminated": bool})
    rows = pd.read_csv(REFERENCE / "successor_rows.csv").groupby(["steps", "replays"])
    params = {"discount": 0.9, "n_replays": 0, "forgetting": 0.99, "on_policy": True}

    def assert_same(memory, steps, replays):
        expected = rows.get_group((steps, replays)).drop(columns=["steps", "replays", "pair"])
        ours = np.column_stack([memory.weights[:10], memory.occupancy[:10, :10]])
        np.testing.assert_allclose(ours, expected, atol=1e-11)

    for steps in (20, 60):
        kept, sizes = {}, {"n_states": 6, "n_actions": 2, "params": params}
        table = moves[:steps].assign(start_state=0)
        feed("successor_dyna", table, **sizes, on_step=kept.__setitem__)
        assert_same(kept[steps - 1], steps, 0)
    memory, own = kept[59], find_learner("successor_dyna", params).params
    for pair in REPLAYS:
        s, a = divmod(pair, 2)
        move = moves[(moves["state"] == s) & (moves["action"] == a)].iloc[-1]
        s_next, following = int(move["next_state"]), -1
        if not move["terminated"]:
            edge = edge_to(memory.model, s, a, s_next)
            following = successor_dyna._best_pair(memory, s_next, memory.drawn_next[edge])
        memory.action_values[s, a] = successor_dyna._back_up(own, memory, pair, following)
    assert_same(memory, 60, 40)


def table(moves):
    columns = ["state", "action", "next_state", "reward", "terminated"]
    return pd.DataFrame(moves, columns=columns).assign(start_state=0)


LONG, SHORT = (0, 0, 1, 0.0, False), (0, 1, 2, 0.0, False)
# Two ways from 0: over 1 and 3 to the end 4, over 2 to the end 5.
TRAINING = 30 * [LONG, (1, 0, 3, 0.0, False), (3, 0, 4, 1.0, True), SHORT, (2, 0, 5, 0.5, True)]


@pytest.mark.parametrize(
    ("news", "without_replay"),
    [
        # The reward moves: known at once, as its place is entered (latent learning, revaluation).
        (5 * [(2, 0, 5, 3.0, True)], 1),
        # The way leads elsewhere (transition revaluation): known after replay only.
        (5 * [(1, 0, 6, 0.0, False), (6, 0, 7, 0.0, True)], 0),
    ],
    ids=["reward", "transition"],
)
def test_revaluation(news, without_replay):
    """Russek et al.: SR alone adapts to rewards, SR-Dyna to a changed way, too."""
    for n_replays, expected in ((0, without_replay), (200, 1)):
        moves = table(TRAINING).assign(start_state=0)
        later = table(news).assign(start_state=news[0][0])
        both = pd.concat([moves, later], ignore_index=True)
        both.loc[len(moves) - 1, "start_state"] = news[0][0]
        params = {"discount": 0.9, "learning_rate": 0.3, "reward_rate": 1.0, "forgetting": 0.5}
        kept = {}
        feed(
            "successor_dyna", both, n_states=8, n_actions=2,
            params=params | {"n_replays": n_replays}, on_step=kept.__setitem__,
        )  # fmt: skip
        assert kept[len(moves) - 1].action_values.shape == (8, 2)
        assert kept[len(both) - 1].action_values[0].argmax() == expected
