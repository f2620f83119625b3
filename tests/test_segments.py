"""Segments by the rule of Mattar & Daw, by hand."""

import pandas as pd
import pytest

from analyses.sequences.pauses import find_segments, segments_per_episode


def replayed(*moves, phase="start", **columns):
    """Backups of one event, a pop each."""
    states, next_states = zip(*moves, strict=True)
    table = pd.DataFrame({"state": states, "next_state": next_states, "pop": range(len(moves))})
    return table.assign(
        run=0, episode=0, step=0, event=0, action=0, priority=0.0, phase=phase
    ).assign(**columns)


FORWARD = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
REVERSE = [(move, to) for move, to in reversed(FORWARD)]


@pytest.mark.parametrize(
    ("moves", "direction", "states"),
    [(FORWARD, "forward", (0, 1, 2, 3, 4)), (REVERSE, "reverse", (4, 3, 2, 1, 0))],
)
def test_both_directions(moves, direction, states):
    [found] = find_segments(replayed(*moves)).itertuples()
    assert (found.direction, found.states, found.length, found.place) == (
        direction,
        states,
        5,
        "start",
    )
    assert find_segments(replayed(*moves[:4])).empty
    assert len(find_segments(replayed(*moves[:4]), min_length=4)) == 1


def test_to_and_fro_is_reverse():
    moves = [(0, 1), (1, 0), (0, 1)]
    assert find_segments(replayed(*moves), min_length=2)["direction"].tolist() == ["reverse"]


def test_a_change_of_direction_begins_a_segment_that_shares_a_state():
    moves = [(0, 1), (1, 2), (2, 3), (1, 2), (0, 1)]
    found = find_segments(replayed(*moves), min_length=3)
    assert found["states"].tolist() == [(0, 1, 2), (2, 1, 0)]
    assert found["first"].tolist() == [0, 2]


def test_of_longer_backups_the_last_step_counts():
    moves = [(0, 1), (0, 1), (1, 2), (0, 1), (1, 2), (2, 3)]
    grown = replayed(*moves, pop=[0, 1, 1, 2, 2, 2], priority=[1.0, 3.0, 3.0, 2.0, 2.0, 2.0])
    [found] = find_segments(grown, min_length=3).itertuples()
    assert (found.states, found.priority) == ((0, 1, 2), 3.0)


def test_segments_stay_within_an_event():
    two = pd.concat([replayed(*FORWARD[:3]), replayed(*FORWARD[3:], event=1)])
    assert find_segments(two, min_length=4).empty
    assert len(find_segments(two.assign(event=0, pop=range(5)), min_length=4)) == 1
    assert find_segments(two.assign(event=-1), min_length=2).empty


def test_counts_per_episode():
    log = pd.concat([replayed(*FORWARD, phase="episode_end"), replayed(*REVERSE, event=1)])
    steps = pd.DataFrame({"run": 0, "episode": [0, 0, 1, 2, 3]})
    table = segments_per_episode(find_segments(log), steps).set_index(["place", "direction"])
    assert table.loc[("goal", "forward"), "per_episode"] == 0.25
    assert table.loc[("start", "reverse"), "per_episode"] == 0.25
    assert table["n_segments"].sum() == 2
    assert (table["n_episodes"] == 4).all()


def test_bad_input():
    with pytest.raises(ValueError, match="backups lacks the columns"):
        find_segments(pd.DataFrame({"run": []}))
    with pytest.raises(ValueError, match="at least 2 states; got min_length=1"):
        find_segments(replayed(*FORWARD), min_length=1)
