"""Simulated animals."""

import pandas as pd
import pytest

from analyses.studies.typical_replay import (
    SAME_PARAMETERS,
    animal_seed,
    parameters,
    simulated_replays,
)
from replay.tasks.published.arms import linear_track
from replay.tasks.published.t_mazes import gupta_2t

TRACK = linear_track(n_training=2, n_laps=4)


def test_all_learners_replay_after_the_same_experience():
    one = simulated_replays(TRACK, "prioritized_sweeping", animals=range(2))
    other = simulated_replays(TRACK, "episodic_control", animals=range(2))
    pd.testing.assert_frame_equal(one.laps, other.laps)
    pd.testing.assert_frame_equal(one.pauses, other.pauses)
    assert one.laps.groupby("animal")["reward"].sum().nunique() == 2
    again = simulated_replays(TRACK, "episodic_control", animals=[1])
    alone = other.laps[other.laps["animal"] == 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(again.laps, alone)
    assert animal_seed(0, 1) != animal_seed(1, 0)


@pytest.mark.parametrize("counts", ["place sequences", "causal chains"])
def test_identities(counts):
    """What must hold of accounts that only go back along the last lap."""
    task = gupta_2t(n_laps=3)
    made = simulated_replays(task, "episodic_control", animals=range(2), counts=counts).sequences
    assert set(made["direction"]) == {"reverse"}
    assert set(made["novelty"]) == {"experienced"}
    assert (made["episode_lag"] == 0).all()


def test_settings():
    assert parameters("q_learning") == {"learning_rate": 1.0, "discount": 0.9}
    assert parameters("full_backups") == {
        key: SAME_PARAMETERS[key] for key in ("discount", "max_pops", "replay_at")
    }
    assert parameters("dyna_q", {"n_replays": 5})["n_replays"] == 5
    with pytest.raises(ValueError, match="has no parameter 'n'"):
        parameters("dyna_q", {"n": 5})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"animals": []}, "at least one animal"),
        ({"animals": 3}, "numbers of animals, got 3"),
        ({"animals": ["first"]}, "number of an animal must be a whole number"),
        ({"animals": [-1]}, "got -1"),
        ({"seed": 0.5}, r"seed must be a whole number of at least 0, got 0\.5"),
    ],
)
def test_refused_animals(options, message):
    with pytest.raises(ValueError, match=message):
        simulated_replays(TRACK, "q_learning", **options)
