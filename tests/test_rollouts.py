"""Planning rollouts of a recurrent network: from arrays of the published form to sequences."""

import numpy as np
import pandas as pd
import pytest

from analyses import classify, place_sequences
from analyses.cli import app
from analyses.recordings.readers.rollouts import read_rollouts
from analyses.sequences.growing import chain_kinds
from analyses.tables import KINDS

NO, L, DEPTH = np.nan, 3, 4
RIGHT, LEFT, DOWN, UP, ROLLOUT, OVER = 1, 2, 3, 4, 5, 0
# Places 0 to 8 of an arena of 3 x 3. Of each iteration: place, action, rollout, reward.
FIRST = [
    (0, ROLLOUT, [1, 2], 0),  # before a first move
    (0, DOWN, None, 0),
    (1, ROLLOUT, [0], 0),  # back to where it came from
    (1, DOWN, None, 1),  # comes to the reward at 2
    (2, ROLLOUT, None, 0),  # is put elsewhere, whatever it does
    (6, UP, None, 0),  # into a wall
    (6, ROLLOUT, [7, 8, 5], 0),
    (6, DOWN, None, 0),
    (7, OVER, None, 0),
]
TWO_TRIALS = [
    (0, DOWN, None, 0),
    (1, DOWN, None, 1),
    (2, ROLLOUT, None, 0),  # is put elsewhere
    (4, ROLLOUT, [5], 0),  # before a first move of the second trial
    (4, DOWN, None, 0),
    (5, ROLLOUT, [8], 0),
    (5, OVER, None, 0),
]
SECOND = [
    (4, DOWN, None, 0),
    (5, RIGHT, None, 0),
    (8, ROLLOUT, [5, 4], 0),
    *[(8, OVER, None, 0)] * 6,
]


def arrays(*episodes):
    n, n_iterations = len(episodes), len(episodes[0])
    made = {
        "agent_states": np.zeros((n, 2, n_iterations)),
        "actions": np.zeros((n, n_iterations)),
        "plans": np.full((n, n_iterations, DEPTH), NO),
        "rewards": np.zeros((n, n_iterations)),
    }
    for i, episode in enumerate(episodes):
        for t, (place, action, imagined, reward) in enumerate(episode):
            made["agent_states"][i, :, t] = place // L + 1, place % L + 1
            made["actions"][i, t], made["rewards"][i, t] = action, reward
            if imagined:
                made["plans"][i, t] = 0
                made["plans"][i, t, : len(imagined)] = np.array(imagined) + 1
    return made


@pytest.fixture
def log():
    return read_rollouts(arrays(FIRST, SECOND))


def test_moves_are_steps_and_trials_are_episodes(log):
    columns = ["run", "episode", "state", "action", "next_state", "terminated", "truncated"]
    assert log.steps[columns].to_numpy().tolist() == [
        [0, 0, 0, 2, 1, False, False],
        [0, 0, 1, 2, 2, True, False],
        [0, 1, 6, 3, 6, False, False],
        [0, 1, 6, 2, 7, False, True],
        [1, 0, 4, 2, 5, False, False],
        [1, 0, 5, 0, 8, False, True],
    ]
    assert log.steps["reward"].tolist() == [0, 1, 0, 0, 0, 0]


def test_rollouts_are_events_in_their_pauses(log):
    columns = ["run", "step", "event", "phase", "location", "state", "next_state"]
    assert log.backups[columns].to_numpy().tolist() == [
        [0, -1, 0, "start", 0, 0, 1],
        [0, -1, 0, "start", 0, 1, 2],
        [0, 0, 1, "step", 1, 1, 0],
        [0, 2, 2, "step", 6, 6, 7],
        [0, 2, 2, "step", 6, 7, 8],
        [0, 2, 2, "step", 6, 8, 5],
        [1, 1, 0, "step", 8, 8, 5],
        [1, 1, 0, "step", 8, 5, 4],
    ]


def test_each_trial_has_a_start():
    backups = read_rollouts(arrays(TWO_TRIALS)).backups
    assert backups[["step", "phase"]].to_numpy().tolist() == [[1, "start"], [2, "step"]]


def test_they_are_classified_like_replay(log):
    found = classify(log, min_length=2)
    assert found[["run", "kind"]].to_numpy().tolist() == [
        [0, "unexperienced"],
        [0, "reverse_episode"],
        [0, "unexperienced"],
        [1, "reverse_episode"],
    ]
    tables = [{key: values[log.columns(name)["run"] == 0] for key, values in
               log.columns(name).items()} for name in ("steps", "backups")]  # fmt: skip
    assert [KINDS[kind] for kind in chain_kinds(*tables).kind] == found["kind"].tolist()[:3]
    assert place_sequences(log)["states"].map(list).tolist() == [[0, 1, 2], [8, 5, 4]]


def test_a_log_of_them_is_kept(log, tmp_path):
    log.save(tmp_path / "log")
    again = type(log).load(tmp_path / "log")
    pd.testing.assert_frame_equal(again.backups, log.backups)


def test_the_command_reads_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("rollouts.npz", **arrays(FIRST, SECOND))
    app(["classify", "rollouts.npz", "--out", "found.parquet"], standalone_mode=False)
    assert len(pd.read_parquet("found.parquet")) == 4


def changed(name, values):
    return {**arrays(FIRST), name: values}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"actions": [[1]]}, "lacks agent_states, plans, rewards"),
        (changed("actions", np.full((1, 9), 6)), "actions of the arrays.*5"),
        (changed("actions", np.full((1, 8), 1)), "shape"),
        (changed("plans", np.full((1, 9, 4), 10)), "places up to 10"),
        (changed("plans", np.full((1, 8, 4), 1)), "must begin with"),
        (changed("agent_states", np.zeros((1, 2, 9))), "agent_states of the arrays"),
        (changed("rewards", np.zeros(9)), "rewards of the arrays"),
    ],
)
def test_what_makes_no_sense_is_told(source, message):
    with pytest.raises(ValueError, match=message):
        read_rollouts(source)


def test_files_that_are_none_are_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_rollouts(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("no arrays")
    with pytest.raises(ValueError, match=r"text\.npz"):
        read_rollouts(tmp_path / "text.npz")
