"""Which backup is next, and when replay ends, worked out by hand."""

import json

import numpy as np
import pandas as pd
import pytest
from test_learners import MAZE, queued
from test_textbook import experienced, taught

from replay import feed, simulate
from replay.learners import find_learner
from replay.learners.contract import Pause
from replay.log.backups import EPISODE_END, REST, START, STEP
from replay.parts.pauses import MOMENTS, is_due
from replay.worlds.mazes import from_ascii

NO_LOG = None
SWEEPING = pytest.mark.parametrize("learner", ["prioritized_sweeping", "full_backups"])
PAID = [(0, 0, 1.0, 1), (1, 0, 3.0, 2), (2, 0, 2.0, 3)]
"""A chain that pays on the way; when it ends the values are 1, 3, 2, and nobody knows."""
TOLD_LATER = experienced(
    [(1, 0, 0.0, 2)], [(0, 0, 1.0, 1)], [(1, 0, 6.0, 2), (2, 0, 2.0, 3)], ends="truncated"
)
"""News of 1 and of 2 have where to go before there are any."""
TOLD_LATER.loc[3, "terminated"] = True
END = {"replay_at": "episode_end", "discount": 0.5}


def swept(learner, *episodes, **params):
    """List the replayed backups: pop, changed state, its predecessor, and priority."""
    _, backups = taught(learner, experienced(*episodes), **params)
    rows = backups[backups["event"] >= 0]
    return rows[["pop", "next_state", "state", "priority"]].to_numpy().tolist()


@pytest.mark.parametrize(
    ("priority", "expected"),
    [
        # 1 tells 0, whose change is then 2.5: that of 2 was 2, so 0 goes before 2.
        ("change", [[0, 1, 0, 3.0], [2, 2, 1, 2.0]]),
        # The next episode begins in 0, a step from now: a change in 1 counts 1/4, in 2 1/8.
        ("need", [[0, 1, 0, 0.75], [2, 2, 1, 0.25]]),
        # The last change was that of 2, then 2 changes 1, and 1 changes 0.
        ("recency", [[0, 2, 1, 3.0], [1, 1, 0, 4.0]]),
    ],
)
def test_small_backups(priority, expected):
    params = END | {"priority": priority, "max_pops": 3, "epsilon": 0.0}
    np.testing.assert_allclose(swept("prioritized_sweeping", PAID, **params), expected, rtol=1e-12)


def test_need_is_how_often_the_agent_will_be_there():
    """Three of four episodes begin in 2, so its news matters more; the chain is run on from 0."""
    waiting = [[(2, 1, 0.0, 3)]] * 3  # it pays nothing, and changes nothing
    params = END | {"max_pops": 1, "n_actions": 2, "epsilon": 0.1}
    ((_, first, *_),) = swept("prioritized_sweeping", *waiting, PAID, priority="change", **params)
    assert first == 1
    ((*rows, priority),) = swept("prioritized_sweeping", *waiting, PAID, priority="need", **params)
    assert rows == [0, 2, 1]
    from_0 = 0.25 * (0.5 * 0.95) ** 2  # with 19 of 20 actions the agent goes on
    assert priority == pytest.approx(2.0 * 0.5 * (0.75 + from_0), rel=1e-12)


def test_full_backups():
    """State 2 would tell 1 a change of 1, 1 would tell 0 one of 1.5; then 1 changes 0 again."""
    _, backups = taught("full_backups", TOLD_LATER, **END, max_pops=9, epsilon=0.0)
    rows = backups[backups["event"] >= 0]
    found = rows[["pop", "next_state", "state", "priority"]].to_numpy()
    np.testing.assert_allclose(found, [[0, 1, 0, 1.5], [1, 2, 1, 1.0], [2, 1, 0, 0.5]], rtol=1e-12)


def test_full_backups_by_hand():
    """As small backups in a chain; the cause of each is the one before."""
    chain = [(0, 0, 0.0, 1), (1, 0, 0.0, 2), (2, 0, 1.0, 3)]
    memory, backups = taught("full_backups", experienced(chain), discount=0.5)
    assert memory.action_values[:, 0].tolist() == [0.25, 0.5, 1.0, 0.0]
    assert memory.queue.size[0] == 0
    after = backups.iloc[3:]
    assert after[["state", "next_state", "pop", "priority", "cause"]].to_numpy().tolist() == [
        [1, 2, 0, 0.5, -1],
        [0, 1, 1, 0.25, 3],
    ]
    assert after["reward"].isna().all()


def test_full_backups_average_over_successors():
    table = experienced([(0, 0, 0.0, 1), (1, 0, 1.0, 3)], [(0, 0, 0.0, 2), (2, 0, 3.0, 3)])
    memory, _ = taught("full_backups", table, discount=0.5)
    assert memory.action_values[0, 0] == pytest.approx(0.5 * (1 + 3) / 2)
    assert memory.rewards[:3, 0].tolist() == [0.0, 1.0, 3.0]


def test_full_backups_know_what_an_end_is_worth():
    """However much the start promises."""
    memory, _ = taught("full_backups", experienced([(0, 0, 1.0, 3)]), initial_value=5.0)
    assert memory.action_values[0].tolist() == [1.0, 5.0]


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match="need, recency, random; got 'gains'"):
        simulate(MAZE, "prioritized_sweeping", {"priority": "gains"}, n_steps=10)


def test_random_order():
    """Each of the queued comes first now and then; the seed says when."""
    firsts = set()
    for seed in range(20):
        logs = [
            feed(
                "prioritized_sweeping",
                TOLD_LATER,
                n_states=4,
                n_actions=1,
                params=END | {"priority": "random", "max_pops": 1},
                seed=seed,
                log="replay",
            )
            for _ in range(2)
        ]
        backups = logs[0].backups
        pd.testing.assert_frame_equal(backups, logs[1].backups)
        assert backups["priority"].isna().all()
        firsts |= set(backups["next_state"])
    assert firsts == {1, 2}


def test_every_order_comes_to_the_same_values():
    maze = from_ascii("S..\n.#.\n..G")
    exact = maze.solve(0.8).action_values[~maze.terminal]
    for priority in find_learner("prioritized_sweeping").choices["priority"]:
        params = {"discount": 0.8, "epsilon": 1.0, "priority": priority}
        run = simulate(maze, "prioritized_sweeping", params, n_steps=5_000)
        learned = run.memory.action_values[~maze.terminal]
        np.testing.assert_allclose(learned, exact, rtol=0, atol=1e-6)


# -- when ---------------------------------------------------------------------------------


def test_which_pauses_are_for_replay():
    due = {
        name: {phase for phase in (STEP, EPISODE_END, START, REST) if is_due(moment, phase)}
        for moment, name in enumerate(MOMENTS)
    }
    assert due == {
        "step": {STEP, EPISODE_END},
        "episode_end": {EPISODE_END},
        "start_and_end": {EPISODE_END, START},
        "rest": {REST},
        "pauses": {EPISODE_END, START, REST},
        "end_and_rest": {EPISODE_END, REST},
        "step_and_rest": {STEP, EPISODE_END, REST},
        "always": {STEP, EPISODE_END, START, REST},
    }


@SWEEPING
def test_when_it_is_replayed(learner):
    expected = {
        "step": {"step", "episode_end"},
        "episode_end": {"episode_end"},
        "start_and_end": {"episode_end", "start"},
        "rest": set(),
        "pauses": {"episode_end", "start"},
    }
    for moment, phases in expected.items():
        log = simulate(MAZE, learner, {"replay_at": moment}, n_steps=3000).log
        assert set(log.backups["phase"]) == phases
        assert json.loads(log.runs["parameters"][0])["replay_at"] == moment


@SWEEPING
def test_rest(learner):
    """Work that waits for rest is done in the first period of rest."""
    table = experienced([(0, 0, 0.0, 1), (1, 0, 1.0, 3)])
    memory, _ = taught(learner, table, replay_at="rest", discount=0.5)
    found = find_learner(learner, {"replay_at": "rest", "discount": 0.5})
    assert memory.action_values[0, 0] == 0.0
    assert len(queued(memory)) == 1
    found.replay(found.params, memory, Pause(REST, 0, False), np.random.default_rng(0), NO_LOG)
    assert memory.action_values[0, 0] == 0.5
