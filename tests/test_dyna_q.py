"""Dyna-Q and trajectory sampling: their draws by hand, and the values to which they converge."""

import numpy as np
import pytest
from test_learners import MAZE, assert_same_run
from test_textbook import CHAIN, experienced, taught

from replay import feed, simulate
from replay.worlds.mazes import from_ascii


def replayed(backups):
    return backups[backups["event"] >= 0]


def test_dyna_q_replays_after_each_step():
    memory, backups = taught(
        "dyna_q", experienced(CHAIN), discount=0.5, learning_rate=1.0, n_replays=60
    )
    # The first two steps find nothing; with the third, some order in 60 draws tells 1, then 0.
    assert memory.action_values[:, 0].tolist() == [0.25, 0.5, 1.0, 0.0]
    rows = replayed(backups)
    assert rows.groupby("step").size().tolist() == [60, 60, 60]
    assert rows["phase"].tolist() == ["step"] * 120 + ["episode_end"] * 60
    assert rows["pop"].tolist() == list(range(60)) * 3
    assert rows["cause"].eq(-1).all()
    assert set(rows.loc[rows["step"] == 0, "state"]) == {0}
    assert set(rows.loc[rows["step"] == 2, "state"]) == {0, 1, 2}


def test_pairs_are_drawn_alike_and_outcomes_as_often_as_observed():
    episodes = [[(0, 0, 1.0, 1)]] * 3 + [[(0, 0, 5.0, 2)]] + [[(3, 1, 0.0, 1)]] * 8
    n = 40_000
    table = experienced(*episodes)
    _, backups = taught("dyna_q", table, n_replays=n // len(table))
    rows = replayed(backups)
    last = rows[rows["step"] >= 4]
    of_first = last[last["state"] == 0]
    for share, part, whole in [
        (0.5, of_first, last),
        (0.75, of_first.query("reward == 1"), of_first),
    ]:
        error = np.sqrt(share * (1 - share) / len(whole))
        assert len(part) / len(whole) == pytest.approx(share, abs=4 * error)
    outcomes = {(1, 1.0), (2, 5.0)}
    assert set(zip(of_first["next_state"], of_first["reward"], strict=True)) == outcomes


def test_a_trajectory_goes_forwards_from_where_the_agent_is():
    table = experienced(CHAIN).assign(start_state=0)
    _, backups = taught(
        "trajectory_sampling", table, n_actions=1, discount=0.5, learning_rate=1.0, n_replays=7
    )
    rows = backups[backups["phase"] == "start"]
    first = rows.index[0]
    assert rows["state"].tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert rows["cause"].tolist() == [-1, first, first + 1, -1, first + 3, first + 4, -1]
    assert rows["q_after"].tolist() == [0.0, 0.5, 1.0, 0.25, 0.5, 1.0, 0.25]
    assert rows["pop"].tolist() == list(range(7))
    # During the episode the state just entered is new: nothing can be imagined from there.
    assert not backups["phase"].eq("step").any()


def test_a_trajectory_begins_anew_at_an_untried_pair():
    table = experienced(CHAIN).assign(start_state=1)
    _, backups = taught("trajectory_sampling", table, epsilon=1.0, n_replays=1000)
    rows = backups[backups["phase"] == "start"].reset_index(drop=True)
    # Half of the draws are of action 1, which was never tried.
    assert len(rows) == pytest.approx(500, abs=4 * np.sqrt(250))
    assert set(rows["state"]) == {1, 2}
    begins = rows["cause"].eq(-1)
    assert rows.loc[begins, "state"].eq(1).all()
    continued = rows.index[~begins]
    assert (rows["state"][continued].to_numpy() == rows["next_state"][continued - 1]).all()


# -- ways back ----------------------------------------------------------------------------

CORRIDOR = from_ascii("S...G")
RIGHT = int(np.flatnonzero([CORRIDOR.successors(1, a).tolist() == [2] for a in range(4)])[0])
LEFT = int(CORRIDOR.way_back[1, RIGHT])
CERTAIN = {"discount": 0.5, "learning_rate": 1.0, "reversible": True}


def walked(learner, rows, **params):
    memories = []
    log = feed(
        learner,
        experienced(rows, ends="truncated").assign(start_state=rows[-1][-1]),
        n_states=5,
        n_actions=4,
        mdp=CORRIDOR,
        params=CERTAIN | params,
        on_step=lambda k, memory: memories.append(memory),
    )
    return memories[-1], log.backups


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("learner", ["dyna_q", "trajectory_sampling"])
def test_a_corridor_walked_once_is_imagined_both_ways(learner):
    """A reward met at its beginning is known at its end, by replay alone."""
    rows = [(1, LEFT, 1.0, 0), (0, RIGHT, 0.0, 1), (1, RIGHT, 0.0, 2), (2, RIGHT, 0.0, 3)]
    memory, backups = walked(learner, rows, n_replays=3000, epsilon=1.0)
    # Between states 0 and 1 the reward is collected on every way left: V(1) = 1 + V(1)/4.
    first = 1 / (1 - 1 / 4)
    values = memory.action_values[1:4, LEFT]
    np.testing.assert_allclose(values, [first, first / 2, first / 4], rtol=0, atol=1e-7)
    online = backups[backups["phase"] == "online"]
    assert online[["state", "action"]].to_numpy().tolist() == [list(row[:2]) for row in rows]
    memory, _ = walked(learner, rows, n_replays=300, epsilon=1.0, reversible=False)
    assert memory.action_values[2:4, LEFT].tolist() == [0.0, 0.0]


@pytest.mark.usefixtures("plain")
def test_what_was_assumed_is_replaced_by_what_is_found():
    rows = [(1, RIGHT, 0.0, 2), (2, LEFT, 3.0, 1), (1, RIGHT, 0.0, 2)]
    memory, backups = walked("dyna_q", rows, n_replays=50, discount=0.0)
    known = memory.outcomes.pairs[: memory.outcomes.n_pairs[0]]
    assert known.tolist() == [1 * 4 + RIGHT, 2 * 4 + LEFT]
    rewards = replayed(backups).query("state == 2").groupby("step")["reward"].unique()
    assert [rewards[step].tolist() for step in (0, 1, 2)] == [[0.0], [3.0], [3.0]]


@pytest.mark.parametrize(
    "learner", ["dyna_q", pytest.param("trajectory_sampling", marks=pytest.mark.slow)]
)
def test_ways_back_compiled(learner, request):
    params = {"reversible": True}
    compiled = simulate(MAZE, learner, params, n_steps=200, log="all")
    request.getfixturevalue("plain")
    assert_same_run(compiled, simulate(MAZE, learner, params, n_steps=200, log="all"))
