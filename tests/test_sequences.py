"""Chains of backups, against their definition and by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import chains_by_definition, columns, examples, logs

from analyses.sequences.chains import ORIENTATIONS, UNKNOWN, chains, decoded_backups, link_backups
from analyses.sequences.logs import runs_of
from analyses.sequences.sequences import count_different
from replay.log.event_log import EventLog

COLUMNS = ("event", "state", "next_state", "action", "cause")


def found_chains(backups, order="causal", across_events=False, min_length=2):
    found = chains(link_backups(columns(backups, COLUMNS), order, across_events), min_length)
    return [
        (
            found.rows[found.offset[i] : found.offset[i + 1]].tolist(),
            None if way == UNKNOWN else ORIENTATIONS[way],
        )
        for i, way in enumerate(found.orientation)
    ]


def test_different_values_are_counted_however_far_apart_they_are():
    owner = np.array([0, 0, 0, 2])
    for far in (7, 10**12):
        assert count_different(owner, np.array([5, far, 5, 1]), 3).tolist() == [2, 0, 1]


def table(transitions, events=None, causes=None, action=0):
    """Make backups of (state, next_state), each caused by the one before."""
    events = events or [0] * len(transitions)
    causes = causes or range(-1, len(transitions) - 1)
    return [
        {"event": event, "state": s, "next_state": t, "action": action, "cause": cause}
        for (s, t), event, cause in zip(transitions, events, causes, strict=True)
    ]


@given(logs(), st.sampled_from([("causal", False), ("causal", True), ("temporal", False)]))
@examples(600)
def test_chains_are_those_of_the_definition(log, how):
    _, backups = log
    assert found_chains(backups, *how) == chains_by_definition(backups, *how)


@given(logs(decoded=True), st.sampled_from(["causal", "temporal"]))
@examples(200)
def test_decoded_moves_follow_one_another(log, order):
    _, backups = log
    assert found_chains(backups, order) == chains_by_definition(backups, "temporal")


@given(logs())
@examples(200)
def test_each_backup_is_in_one_temporal_chain(log):
    _, backups = log
    rows = sorted(row for chain, _ in found_chains(backups, "temporal") for row in chain)
    moved = [i for i, row in enumerate(backups) if row["state"] != row["next_state"]]
    assert rows == moved


@given(logs(), st.integers(2, 5))
@examples(100)
def test_min_length_leaves_out_the_short_ones(log, min_length):
    _, backups = log
    long = [chain for chain in found_chains(backups) if len(chain[0]) + 1 >= min_length]
    assert found_chains(backups, min_length=min_length) == long


@given(logs(), st.sampled_from([("causal", True), ("temporal", False)]))
@examples(200)
def test_turning_all_transitions_swaps_forward_and_reverse(log, how):
    _, backups = log
    turned = [{**row, "state": row["next_state"], "next_state": row["state"]} for row in backups]
    swapped = {"forward": "reverse", "reverse": "forward"}
    for (rows, way), (same_rows, other_way) in zip(
        found_chains(backups, *how), found_chains(turned, *how), strict=True
    ):
        assert rows == same_rows
        to_and_fro = all(
            {backups[row]["state"], backups[row]["next_state"]}
            == {backups[rows[0]]["state"], backups[rows[0]]["next_state"]}
            for row in rows
        )
        assert other_way == ("reverse" if to_and_fro else swapped[way])


def test_sweep_that_forks():
    backups = table([(2, 3), (1, 2), (0, 1), (4, 1)], causes=[-1, 0, 1, 1])
    assert found_chains(backups) == [([0, 1, 2], "reverse"), ([0, 1, 3], "reverse")]
    assert found_chains(backups, "temporal") == [([0, 1, 2], "reverse"), ([3], "reverse")]


def test_interleaved_wave_fronts_hang_together_by_cause_only():
    backups = table([(1, 0), (5, 4), (2, 1), (6, 5)], causes=[-1, -1, 0, 1])
    assert found_chains(backups) == [([0, 2], "reverse"), ([1, 3], "reverse")]
    assert all(len(rows) == 1 for rows, _ in found_chains(backups, "temporal"))


def test_forward_chain():
    assert found_chains(table([(0, 1), (1, 2), (2, 3)])) == [([0, 1, 2], "forward")]


def test_cause_in_an_earlier_event():
    backups = table([(1, 2), (0, 1)], events=[0, 1])
    assert found_chains(backups) == [([0], "reverse"), ([1], "reverse")]
    assert found_chains(backups, across_events=True) == [([0, 1], "reverse")]


def test_online_backups_are_in_no_chain():
    backups = table([(1, 2), (0, 1)], events=[-1, 0])
    assert found_chains(backups, across_events=True) == [([1], "reverse")]


def test_bump_breaks_a_chain():
    backups = table([(1, 2), (1, 1), (0, 1)])
    assert found_chains(backups) == [([0], "reverse"), ([2], "reverse")]
    assert found_chains(backups, "temporal") == [([0], "reverse"), ([2], "reverse")]


def test_backup_that_does_not_join_its_cause_begins_a_chain():
    assert found_chains(table([(1, 2), (5, 6)])) == [([0], "reverse"), ([1], "reverse")]


def test_chain_keeps_its_orientation():
    backups = table([(2, 3), (1, 2), (2, 5)])
    assert found_chains(backups, "temporal") == [([0, 1], "reverse"), ([2], "reverse")]


@pytest.mark.parametrize(
    ("last", "orientation"), [((1, 2), "forward"), ((2, 0), "reverse"), ((1, 0), "reverse")]
)
def test_to_and_fro_is_decided_by_how_it_goes_on(last, orientation):
    backups = table([(0, 1), (1, 0), (0, 1), last])
    assert found_chains(backups) == [([0, 1, 2, 3], orientation)]
    assert found_chains(backups, "temporal") == [([0, 1, 2, 3], orientation)]


def test_fork_of_to_and_fro_goes_each_way():
    backups = table([(0, 1), (1, 0), (2, 1), (0, 3)], causes=[-1, 0, 1, 1])
    assert found_chains(backups) == [([0, 1, 2], "reverse"), ([0, 1, 3], "forward")]


def test_decoded_paths_as_backups():
    steps = {
        "run": np.zeros(2, dtype=int),
        "episode": np.array([0, 1]),
        "step": np.array([0, 1]),
        "time": np.array([1.0, 2.0]),
        "state": np.array([0, 4]),
        "next_state": np.array([1, 5]),
    }
    paths = pd.DataFrame(
        {
            "event": [0, 1, 2],
            "time": [0.5, 1.0, 9.0],
            "states": [[0, 0, 1, 1, 2], [3], (2, 1)],
            "phase": ["start", "rest", "step"],
        }
    )
    backups = decoded_backups(paths, steps)
    assert backups["event"].tolist() == [0, 0, 2]
    assert backups["step"].tolist() == [-1, -1, 1]
    assert backups["episode"].tolist() == [0, 0, 1]  # a start belongs to the episode to come
    assert backups["location"].tolist() == [0, 0, 5]
    assert backups["phase"].tolist() == [4, 4, 2]
    assert backups["state"].tolist() == [0, 1, 2]
    assert backups["next_state"].tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"phase": ["sleep"]}, "Choose from: online"),
        ({"phase": [{"rest"}]}, "Choose from: online"),
        ({"time": [np.nan]}, "row 0 has nan"),
        ({"time": ["noon"]}, "row 0 has 'noon'"),
        ({"time": pd.to_datetime(["2024-05-01"])}, "finite numbers; row 0 has"),
        ({"event": ["first"]}, "'event' of paths must hold whole numbers; row 0 has 'first'"),
        ({"states": [[1, -1, 0]]}, r"row 0 has \[1, -1, 0\]\. Leave out all other values"),
        ({"states": [[1, 10**9]]}, "from 0 to 9,999,999; row 0"),
        ({"states": [[1, 2**70]]}, "must hold lists of states"),
        ({"states": [[1, 0.5]]}, "must hold lists of states"),
        ({"states": [[1, np.nan]]}, "must hold lists of states"),
        ({"states": [["a", "b"]]}, "must hold lists of states"),
        ({"states": [{0, 1}]}, "row 0 has {0, 1}"),
        ({"states": ["01"]}, "row 0 has '01'"),
        ({"states": [None]}, "row 0 has None"),
        ({"states": [[[0, 1]]]}, "must hold lists of states"),
        ({"run": ["a"]}, "'run' of paths must hold whole numbers"),
        ({"run": [2**32]}, "'run' of paths must hold whole numbers .*; row 0 has 4294967296"),
        ({"location": [2**32 + 1]}, "'location' of paths must .* to 9999999; row 0 has 4294967297"),
    ],
)
def test_refused_paths(change, message):
    names = ("run", "episode", "step", "time", "state", "next_state")
    steps = {name: np.array([1]) for name in names}
    paths = {"event": [0], "time": [1.0], "states": [[0, 1]]} | change
    with pytest.raises(ValueError, match=message):
        decoded_backups(pd.DataFrame(paths), steps)


def test_paths_need_states_and_a_table():
    with pytest.raises(ValueError, match="states"):
        decoded_backups(pd.DataFrame({"event": [0], "time": [1.0]}), {})
    with pytest.raises(ValueError, match="needs a column 'time'"):
        decoded_backups(pd.DataFrame({"event": [0], "states": [[0, 1]]}), {})
    with pytest.raises(TypeError, match="paths must be a DataFrame, got list"):
        decoded_backups([[0, 1]], {})
    paths = pd.DataFrame({"event": [0], "step": [1], "states": [[0, 1]]})
    with pytest.raises(TypeError, match="steps must be a DataFrame or a mapping"):
        decoded_backups(paths, None)
    with pytest.raises(ValueError, match="The column 'run' of steps is missing"):
        decoded_backups(paths, {})


def test_time_must_be_known():
    paths = pd.DataFrame({"event": [0], "time": [1.0], "states": [[0, 1]]})
    steps = {name: np.arange(2) for name in ("run", "episode", "step", "state", "next_state")}
    for time in ([np.nan, 1.0], [2.0, 1.0], []):
        with pytest.raises(ValueError, match="'time' of steps must ascend"):
            decoded_backups(paths, {**steps, "time": np.array(time)})
    with pytest.raises(ValueError, match="'time' of steps must hold finite numbers; row 0"):
        decoded_backups(paths, {**steps, "time": ["early", "late"]})


def test_refused_options():
    backups = columns(table([(1, 2)]), COLUMNS)
    with pytest.raises(ValueError, match="causal, temporal"):
        link_backups(backups, "random")
    with pytest.raises(ValueError, match="within one event"):
        link_backups(backups, "temporal", across_events=True)
    with pytest.raises(ValueError, match="across_events must be True or False, got 1"):
        link_backups(backups, across_events=1)
    for min_length in (1, "3", 3.0, True, None, 2**70):
        with pytest.raises(ValueError, match="min_length must be a whole number"):
            chains(link_backups(backups), min_length=min_length)
    with pytest.raises(ValueError, match="row 0 names row 3"):
        link_backups(columns(table([(1, 2)], causes=[3]), COLUMNS))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": [-1]}, "'state' of backups must hold whole numbers from 0 to 9999999; row 0"),
        ({"state": [10**9]}, "row 0 has 1000000000"),
        ({"next_state": ["a"]}, "row 0 has 'a'"),
        ({"event": [0.5]}, "'event' of backups must hold whole numbers"),
        ({"state": [1, 2]}, "must all have the same length"),
        ({"state": 1}, "must be a list of whole numbers"),
    ],
)
def test_refused_backups(change, message):
    with pytest.raises(ValueError, match=message):
        link_backups(columns(table([(1, 2)]), COLUMNS) | change)
    with pytest.raises(ValueError, match="The column 'event' of backups is missing"):
        link_backups({})


def test_a_log_without_rows_is_run_0():
    assert runs_of(EventLog({})) == [0]
