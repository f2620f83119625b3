"""Rest in recorded experience: pauses between two episodes, and before the first."""

import types

import numpy as np
import own_learner
import pandas as pd
import pytest

from replay import feed, simulate
from replay.log.backups import record
from replay.worlds.mazes import from_ascii
from replay.worlds.protocols import Phase, Protocol

LAP = {"state": [0, 1], "action": 0, "reward": [0.0, 1.0], "next_state": [1, 2]}
LAPS = pd.concat([pd.DataFrame(LAP | {"terminated": [False, True]})] * 3, ignore_index=True)
SIZE = {"n_states": 3, "n_actions": 1}


def test_rest_is_logged_between_two_episodes(plain):
    log = feed(own_learner, LAPS, **SIZE, rest={2: 4, 6: 1})
    backups = log.backups
    rest = backups[backups["phase"] == "rest"]
    assert rest["step"].tolist() == [1] * 12 + [5] * 3
    assert rest["episode"].tolist() == [0] * 12 + [2] * 3
    assert (rest["location"] == 2).all()
    assert rest["event"].nunique() == 2
    phases = backups.loc[backups["step"] == 1, "phase"].astype(str)
    assert list(dict.fromkeys(phases)) == ["online", "episode_end", "rest"]
    without = feed(own_learner, LAPS, **SIZE)
    assert len(without.backups) == len(backups) - 15
    assert feed(own_learner, LAPS, **SIZE, rest={2: 0, 0: 3}).backups.equals(without.backups)


@pytest.mark.parametrize("learner", ["prioritized_sweeping", "full_backups"])
def test_rest_is_that_of_a_protocol(learner, request):
    """What was simulated with rest, and fed with rest, is replayed alike."""
    if learner == "full_backups":
        request.getfixturevalue("plain")
    maze = from_ascii("S..\n.#.\n..G")
    world = Protocol([Phase(maze, 300, n_rest=5), Phase(maze, 200, n_rest=7)])
    params = {"replay_at": "rest", "max_pops": 3}
    run = simulate(world, learner, params, seed=1, log="all")
    steps = run.log.steps
    size = {"n_states": maze.n_states, "n_actions": maze.n_actions}
    fed = feed(learner, steps, **size, params=params, rest={300: 5, 500: 7})
    pd.testing.assert_frame_equal(fed.backups, run.log.backups)
    assert (run.log.backups.query("phase == 'rest'")["step"] == 299).any()


def test_what_was_explored_before_is_replayed_before_the_first_step():
    knows = types.ModuleType("knows")
    vars(knows).update({name: getattr(own_learner, name) for name in ("Params", "Memory", "init")})
    vars(knows).update({"learn": own_learner.learn, "most_backups": own_learner.most_backups})
    knows.COMPILED = False
    knows.explore = lambda params, memory, mdp: None

    def replay(params, memory, pause, rng, log):
        if pause.phase == 5:
            record(log, pause.phase, 1, 0, 2, 0.0, 0.0)

    knows.replay = replay
    backups = feed(knows, LAPS, **SIZE, rest={0: 2, 4: 1}).backups.query("phase == 'rest'")
    assert backups["step"].tolist() == [-1, -1, 3]
    assert backups["episode"].tolist() == [-1, -1, 1]
    assert backups["location"].tolist() == [0, 0, 2]
    assert backups["event"].tolist()[:2] == [0, 0]
    assert np.isnan(backups["time"].iloc[0])


def test_errors_say_where_rest_can_be():
    with pytest.raises(ValueError, match="rest after 1 rows, within an episode"):
        feed("dyna_q", LAPS, **SIZE, rest={1: 1})
    with pytest.raises(ValueError, match="rest after 7 rows, but only 6"):
        feed("dyna_q", LAPS, **SIZE, rest={7: 1})
    with pytest.raises(ValueError, match="pauses at rest must be a whole number"):
        feed("dyna_q", LAPS, **SIZE, rest={2: -1})


def test_the_size_of_the_world_is_that_of_the_mdp():
    maze = from_ascii("S..G")
    steps = simulate(maze, "q_learning", n_steps=50, seed=1).log.steps
    one = feed("prioritized_sweeping", steps, mdp=maze)
    size = {"n_states": maze.n_states, "n_actions": maze.n_actions}
    pd.testing.assert_frame_equal(
        one.backups, feed("prioritized_sweeping", steps, **size, mdp=maze).backups
    )
    with pytest.raises(ValueError, match="give n_states and n_actions, or mdp"):
        feed("prioritized_sweeping", steps)


def test_moves_that_the_world_lacks_are_told():
    maze = from_ascii("S..G")
    steps = pd.DataFrame({"state": [0, 1], "action": 0, "reward": 0.0, "next_state": [1, 3]})
    with pytest.raises(ValueError, match="Row 1 of transitions goes from state 1 to state 3"):
        feed("prioritized_sweeping", steps.assign(terminated=[False, True]), mdp=maze)


def test_experience_without_an_end_is_told_where_nothing_is_replayed():
    laps = LAPS.assign(next_state=[1, 0] * 3, terminated=False)
    with pytest.warns(UserWarning, match="'sfma' replays at the ends of episodes, but no row"):
        feed("sfma", laps, **SIZE)
    assert len(feed("prioritized_sweeping", laps, **SIZE).backups)


def test_milliseconds_are_told():
    with pytest.warns(UserWarning, match="divide milliseconds by 1000"):
        feed("q_learning", LAPS.assign(time=500.0 * np.arange(6)), **SIZE)


@pytest.mark.parametrize("state", ["0", "left", 0.5, 3])
def test_what_is_no_state_is_told_with_its_row(state):
    odd = LAPS.assign(state=[0, 1, state, 1, 0, 1])
    with pytest.raises(ValueError, match=r"row 2 has .*States are numbered from 0"):
        feed("q_learning", odd, **SIZE)


def test_a_recording_says_nothing_of_rewards():
    """Its table of moves is fed as it is, with what was paid beside it."""
    moves = pd.DataFrame(
        {"state": [0, 1, 2, 1], "action": 0, "reward": np.nan, "next_state": [1, 2, 2, 0],
         "terminated": [False, False, True, True]}
    )  # fmt: skip
    size = {"n_states": 3, "n_actions": 1}
    with pytest.raises(ValueError, match="'reward' of transitions is empty, as recordings"):
        feed("dyna_q", moves, **size)
    by_state = feed("dyna_q", moves, rewards={2: 5.0, 0: 1.0}, **size)
    assert by_state.steps["reward"].tolist() == [0.0, 5.0, 0.0, 1.0]  # staying pays nothing
    by_step = pd.DataFrame({"step": [1, 3, 3], "reward": [5.0, 0.25, 0.75]})
    assert feed("dyna_q", moves, rewards=by_step, **size).steps["reward"].tolist() == [0, 5, 0, 1]
    assert not feed("dyna_q", moves, rewards={}, **size).steps["reward"].any()
    with pytest.raises(ValueError, match="A state of rewards must be"):
        feed("dyna_q", moves, rewards={3: 1.0}, **size)
    with pytest.raises(TypeError, match="rewards must map states to amounts"):
        feed("dyna_q", moves, rewards=[1.0], **size)
