"""Predictive network: its predictions beside a dictionary of them, and the paths that it runs."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from fed_paths import fed, fed_moves
from fed_paths import replayed_places as replayed
from hypothesis import given
from hypothesis import strategies as st

from replay.learners import find_learner
from replay.learners.contract import Sizes
from replay.log.backups import EPISODE_END, REST, START, STEP

NAME = "predictive_network"
# Two laps that cross at place 2: 0 1 2 3 4 and 5 6 2 7 8; the action is the place that is next.
CROSSING = [[0, 1, 2, 3, 4], [5, 6, 2, 7, 8]]


@pytest.mark.filterwarnings("ignore:.*no row of transitions is terminated")
@given(
    path=st.lists(st.integers(0, 4), min_size=2, max_size=30), rate=st.sampled_from([0.1, 0.5, 1.0])
)
def test_predictions_move_towards_what_was_done_after_each_move(path, rate):
    _, found, memory = fed(NAME, [path], goes_on=True, learning_rate=rate)
    expected, came = {}, None
    for move in pairwise(path):
        if move[0] == move[1]:
            continue
        if came is not None:
            old = expected.get(came)
            expected[came] = (1 - rate) * (0 if old is None else old) + rate * np.eye(5)[move[1]]
        came = move
    assert found.params.learning_rate == rate
    for (state, following), prediction in expected.items():
        row = memory.moves.place[state, following]
        n = memory.predicted.shape[1]
        np.testing.assert_allclose(memory.predicted[row], prediction[:n], atol=1e-12)


def test_with_its_heading_it_runs_only_what_was_run():
    _, found, memory = fed(NAME, CROSSING * 3, heading_noise=0.0)
    for start, lap in ((0, CROSSING[0]), (5, CROSSING[1])):
        assert all(path == lap for path in replayed(found, memory, START, start, 20))


def test_without_heading_it_turns_from_one_lap_to_the_other_half_of_the_time():
    _, found, memory = fed(NAME, CROSSING * 3, heading_noise=1.0)
    paths = replayed(found, memory, START, 0, 1_000)
    assert all(path[:3] == [0, 1, 2] for path in paths)
    composed = np.mean([path == [0, 1, 2, 7, 8] for path in paths])
    assert composed == pytest.approx(0.5, abs=0.05)  # three standard errors


def test_what_was_run_lately_is_predicted_most():
    # From 0 by way of 1 the agent went to 2 nine times, and then once to 3.
    _, found, memory = fed(
        NAME, [[0, 1, 2]] * 9 + [[0, 1, 3]], learning_rate=0.8, heading_noise=0.0
    )
    paths = replayed(found, memory, START, 0, 1_000)
    assert np.mean([path == [0, 1, 3] for path in paths]) == pytest.approx(0.8, abs=0.04)


def test_recent_laps_weigh_more_also_at_small_rates():
    # One lap by way of 1 to 2, and then five to 3: proportional to .9^5 and 1 - .9^5.
    _, found, memory = fed(
        NAME, [[0, 1, 2]] + [[0, 1, 3]] * 5, learning_rate=0.1, heading_noise=0.0
    )
    paths = replayed(found, memory, START, 0, 2_000)
    old = 0.1 * 0.9**5
    expected = old / (old + 1 - 0.9**5)
    assert np.mean([path == [0, 1, 2] for path in paths]) == pytest.approx(expected, abs=0.03)


def test_an_episode_that_is_cut_off_predicts_nothing_of_the_next():
    """Neither if it ends with a move, nor against a wall."""
    steps = [(0, 1, 1, False), (1, 0, 1, True), (0, 1, 1, False), (1, 2, 2, True)]
    columns = ["state", "action", "next_state", "truncated"]
    moves = pd.DataFrame(steps, columns=columns).assign(reward=0.0, terminated=False, start_state=0)
    _, _, memory = fed_moves(NAME, moves, heading_noise=0.0)
    first = memory.moves.place[0, 1]
    assert memory.predicted[first].tolist() == [0.0, 0.0, pytest.approx(0.3)]


def test_where_a_move_led_last_is_where_it_leads():
    moves = [(0, 1), (1, 2), (0, 1), (1, 3)]
    table = pd.DataFrame(moves, columns=["state", "next_state"])
    table = table.assign(action=0, reward=0.0, terminated=[False, True] * 2, start_state=0)
    _, found, memory = fed_moves(NAME, table, heading_noise=0.0)
    assert replayed(found, memory, START, 0) == [[0, 1, 3]]


def test_replay_ends_where_an_episode_did_and_goes_on_where_its_prediction_is_not_known():
    # The first episode ends in a place from which the second one went on.
    _, found, memory = fed(NAME, [[0, 2], [1, 2, 3]], heading_noise=0.0)
    assert replayed(found, memory, START, 0) == [[0, 2]]
    # After 0, 1 the agent went on by action 1; then the same move led to 2, which has another one.
    moves = pd.DataFrame(
        [(0, 0, 1, False, 0), (1, 1, 3, True, 0), (2, 2, 4, True, 2), (0, 0, 2, True, 0)],
        columns=["state", "action", "next_state", "truncated", "start_state"],
    ).assign(reward=0.0, terminated=False)
    _, found, memory = fed_moves(NAME, moves, heading_noise=0.0)
    assert replayed(found, memory, START, 0) == [[0, 2, 4]]


def test_it_goes_on_as_the_agent_came():
    params = {"heading_noise": 0.0, "replay_at": "always"}
    _, found, memory = fed(NAME, [*CROSSING, [0, 1, 2, 3]], goes_on=True, **params)
    # The agent is in 3, and came from 2; after that move it once went to 4.
    assert replayed(found, memory, STEP, 3) == [[3, 4]]
    # An episode that is cut off at the crossing goes on from there, by the way it came.
    _, found, memory = fed(NAME, [*CROSSING * 3, [0, 1, 2]], goes_on=True, **params)
    assert all(path == [2, 3, 4] for path in replayed(found, memory, EPISODE_END, 2, 50))
    # At the next start there is no way by which it came.
    firsts = {path[1] for path in replayed(found, memory, START, 2, 50)}
    assert firsts == {3, 7}


def test_after_an_end_and_at_rest_it_begins_anywhere():
    _, found, memory = fed(NAME, CROSSING * 3, heading_noise=0.0)
    for phase in (EPISODE_END, REST):
        paths = replayed(found, memory, phase, 8, 2_000)
        firsts = np.bincount([path[0] for path in paths], minlength=9) / len(paths)
        # Each of the eight moves is as probable as the others; two of them begin in place 2.
        expected = np.array([1, 1, 2, 1, 0, 1, 1, 1, 0]) / 8
        np.testing.assert_allclose(firsts, expected, atol=0.03)


def test_nothing_is_replayed_before_anything_was_experienced():
    found = find_learner(NAME)
    memory = found.init(found.params, Sizes(3, 1, 3, 10))
    assert replayed(found, memory, REST, 0) == [[]]
