"""Statistics of recorded animals: counted by hand, and averaged over animals."""

import numpy as np
import pandas as pd
import pytest

from analyses.measures import QUESTIONS, STATISTICS
from analyses.recordings import find_replay
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.studies.recorded_replay.statistics import (
    LEFT_OUT,
    recorded_statistics,
    replays_of_recordings,
)

QUICK = Judgement(n_shuffles=4, n_controls=1, other_sizes=())


@pytest.fixture(scope="module")
def animals():
    """Each replays four laps forward, four backwards, and four novel paths, all at ends of laps."""
    return [find_replay(simulated_recording(12, seed), judgement=QUICK) for seed in (1, 2, 3)]


def test_statistics_are_those_counted_by_hand(animals):
    table = recorded_statistics(animals).set_index("statistic")
    for each in animals:
        kinds = each.events["kind"].value_counts()
        assert (
            kinds.reindex(["forward_episode", "reverse_episode", "novel_path"]).tolist() == [4] * 3
        )
    assert table.loc["reverse_share", "value"] == pytest.approx(
        0.5
    )  # reverse, of forward and reverse
    assert table.loc["composed_share", "value"] == pytest.approx(1 / 3)
    assert table.loc["composed_mixed_share", "value"] == pytest.approx(1 / 3)
    assert (table["n_animals"] == 3).all()
    published = ["published_low", "published_high"]
    assert table.loc["reverse_share", published].tolist() == pytest.approx([0.391, 0.543], abs=1e-3)


def test_what_a_recording_cannot_tell_is_left_out(animals):
    """Each replay event has one sequence, and all rest follows the last lap, by construction."""
    replays = replays_of_recordings(animals)
    per_event = STATISTICS["beyond_shuffled_places"].compute(replays)
    assert (per_event["value"] == 1).all()
    assert (per_event["null"] > 0.3).all()  # of what was not chosen to have one
    found = set(recorded_statistics(animals)["statistic"])
    assert found
    for question in LEFT_OUT:
        assert not found & set(QUESTIONS[question])


def test_what_needs_rewards_or_sides_is_there_only_if_they_are_named(animals):
    plain = set(recorded_statistics(animals)["statistic"])
    sides = {"left_arm": ["1", "0", "3"], "right_arm": ["1", "2", "5"]}
    named = set(recorded_statistics(animals, sides)["statistic"])
    assert plain < named
    assert "on_other_side" in named - plain


def test_one_animal_gives_values_without_intervals(animals):
    table = recorded_statistics(animals[:1])
    assert table["value"].notna().all()
    assert table[["ci_low", "ci_high"]].isna().all(axis=None)


def test_rest_is_off_the_track_and_the_way_counts_nowhere(animals):
    moved = animals[0]
    phases = ["rest", "step"] + ["episode_end"] * (len(moved.visited) - 2)
    changed = moved._replace(visited=moved.visited.assign(phase=phases))
    made = replays_of_recordings([changed])
    counts = made.sequences["phase"].astype(str).value_counts()
    assert counts.to_dict() == {"rest": 1, "episode_end": len(moved.visited) - 2}
    assert (made.pauses["phase"] == "rest").sum() == 1


def test_animals_of_different_tracks_are_refused(animals):
    other = find_replay(simulated_recording(9), judgement=QUICK._replace(state_size=30.0))
    with pytest.raises(ValueError, match="with states of the same size; animal 1 has"):
        recorded_statistics([animals[0], other])
    with pytest.raises(ValueError, match="at least one animal"):
        recorded_statistics([])
    with pytest.raises(ValueError, match="Unknown node of the landmark 'reward' '9'"):
        recorded_statistics(animals[:1], {"reward": ["9"]})


def test_the_table_is_plain(animals):
    table = recorded_statistics(animals)
    assert table["statistic"].is_unique
    assert isinstance(table, pd.DataFrame)
    assert np.isfinite(table["value"]).all()
