"""Simulated animals, and the tables of what they replay in pauses."""

import numpy as np
import pandas as pd
import pytest

from analyses.measures.animals import PAUSES, SETTINGS, animal_seed, parameters, replays, replays_of
from analyses.sequences.chains import ORDERS
from analyses.sequences.classification import classify
from replay.log.event_log import EventLog
from replay.tasks import run_task
from replay.tasks.published.linear_tracks import linear_track
from replay.tasks.published.two_choice_t import gupta_2t

TRACK = linear_track(n_training=2, n_laps=4)


@pytest.fixture(scope="module")
def made():
    return replays(TRACK, "prioritized_memory_access", animals=range(2))


def test_every_pause_is_listed(made):
    n_laps, n_before, n_after = 6, TRACK.blocks[0].n_rest, TRACK.blocks[-1].n_rest
    for _, pauses in made.pauses.groupby("animal"):
        n = pauses["phase"].value_counts()
        assert n.to_dict() == {
            "start": n_laps - 1, "episode_end": n_laps, "rest": n_before + n_after
        }  # fmt: skip
        early = pauses[pauses["episode"] == -1]
        assert len(early) == n_before
        assert early["block"].unique().tolist() == ["rest"]
        order = pauses["episode"] * 10 + pauses["phase"].map(
            {"start": 0, "episode_end": 1, "rest": 2}
        )
        assert order.is_monotonic_increasing
    assert made.pauses["n_backups"].sum() == len(made.backups)
    counts = made.backups.groupby(["animal", "episode", "phase"], observed=True).size()
    listed = made.pauses.groupby(["animal", "episode", "phase"])["n_backups"].sum()
    assert listed[listed > 0].to_dict() == counts.to_dict()


def test_pauses_without_replay_are_listed_too():
    quiet = replays(TRACK, "q_learning", animals=[3])
    assert (quiet.pauses["n_backups"] == 0).all()
    assert len(quiet.pauses) == 5 + 6 + 20
    assert quiet.chains.empty
    assert set(quiet.pauses["animal"]) == {3}


def test_where_the_animal_is_and_which_lap_it_is(made):
    laps = made.laps.set_index(["animal", "episode"])
    for table in (made.pauses[made.pauses["episode"] >= 0], made.chains):
        own = laps.loc[pd.MultiIndex.from_frame(table[["animal", "episode"]])]
        at_start = (table["phase"] == "start").to_numpy()
        expected = np.where(at_start, own["start"], own["end"])
        assert table["place"].tolist() == expected.tolist()
        assert table["lap"].tolist() == own["lap"].tolist()
        assert table["block"].tolist() == own["block"].tolist()
    names = np.array(TRACK.places)
    ends = made.laps.assign(end=names[made.laps["end"]], second=names[made.laps["second"]])
    assert set(zip(ends["lap"], ends["end"], ends["second"], strict=True)) == {
        ("out", "out9", "out1"), ("in", "in0", "in8")
    }  # fmt: skip


@pytest.mark.parametrize("learner", ["dyna_q", "prioritized_sweeping", "retrieved_episodes"])
def test_chains_are_those_of_the_whole_log_in_pauses(learner):
    """What is replayed on the way is left out, and nothing else changes."""
    params = parameters(learner)
    if "replay_at" in params:
        params["replay_at"] = "step"
    task = gupta_2t(n_laps=2)  # it pays on the way, too
    run = run_task(task, learner, params, seed=5)
    chains = replays_of(run.log, run.laps, task).chains
    n_steps = 0
    for order in ORDERS:
        whole = classify(run.log, order=order)
        n_steps += (whole["phase"] == "step").sum()
        whole = whole[whole["phase"].isin(PAUSES)].reset_index(drop=True)
        own = chains[chains["order"] == order].reset_index(drop=True)
        pd.testing.assert_frame_equal(own[whole.columns], whole)
    assert n_steps > 0
    assert len(chains) > 0


def test_all_learners_replay_after_the_same_experience(made):
    other = replays(TRACK, "episodic_control", animals=range(2))
    pd.testing.assert_frame_equal(made.laps, other.laps)
    pd.testing.assert_frame_equal(made.pauses.drop(columns="n_backups"),
                                  other.pauses.drop(columns="n_backups"))  # fmt: skip
    assert made.laps.groupby("animal")["reward"].sum().nunique() == 2
    again = replays(TRACK, "episodic_control", animals=[1])
    alone = other.laps[other.laps["animal"] == 1].reset_index(drop=True)
    pd.testing.assert_frame_equal(again.laps, alone)
    assert animal_seed(0, 1) != animal_seed(1, 0)


def test_identities():
    """What must hold of learners that only go back along the last lap."""
    task = gupta_2t(n_laps=3)
    chains = replays(task, "episodic_control", animals=range(2)).chains
    assert set(chains["direction"]) == {"reverse"}
    assert set(chains["novelty"]) == {"experienced"}
    assert (chains["episode_lag"] == 0).all()


def test_settings():
    assert parameters("q_learning") == {"learning_rate": 1.0, "discount": 0.9}
    assert parameters("full_backups") == {
        key: SETTINGS[key] for key in ("discount", "max_pops", "replay_at")
    }
    assert parameters("dyna_q", {"n_replays": 5})["n_replays"] == 5
    with pytest.raises(ValueError, match="has no parameter 'n'"):
        parameters("dyna_q", {"n": 5})


def test_laps_without_columns_are_refused():
    run = run_task(TRACK, "q_learning", seed=0)
    with pytest.raises(ValueError, match="laps lacks the columns"):
        replays_of(run.log, run.laps.drop(columns="n_rest"), TRACK)


def test_a_backup_that_grows_is_one_sequence():
    """Three steps forward, found step by step; then a path that is recalled as a whole."""
    moves = [(0, 1), (0, 1), (1, 2), (0, 1), (1, 2), (2, 3), (4, 5), (5, 6)]
    pops = [0, 1, 1, 2, 2, 2, 3, 3]
    causes = [-1, -1, 1, -1, 3, 4, -1, 6]
    n = len(moves)
    steps = {"state": [0, 1], "next_state": [1, 2], "action": 0, "terminated": [False, True]}
    backups = {
        "step": np.full(n, 1), "phase": "episode_end", "pop": pops, "cause": causes, "action": 0,
        "state": [move[0] for move in moves], "next_state": [move[1] for move in moves],
    }  # fmt: skip
    laps = pd.DataFrame(
        {"episode": [0], "block": "b", "lap": "out", "start": 0, "end": 2, "n_rest": 0}
    )
    chains = replays_of(EventLog({"steps": steps, "backups": backups}), laps, TRACK).chains
    for order in ORDERS:
        found = chains.loc[chains["order"] == order, "states"]
        assert [states.tolist() for states in found] == [[0, 1, 2, 3], [4, 5, 6]]


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
        replays(TRACK, "q_learning", **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": "home"}, "'start' of laps must hold whole numbers from 0 to"),
        ({"end": 10**6}, "row 0 has 1000000"),
        ({"n_rest": -1}, "'n_rest' of laps must hold whole numbers"),
        ({"episode": 2}, "must ascend, one row a lap; row 1 has 2 after 2"),
        ({"episode": np.nan}, "row 0 has nan"),
    ],
)
def test_refused_laps(change, message):
    run = run_task(TRACK, "q_learning", seed=1)
    with pytest.raises(ValueError, match=message):
        replays_of(run.log, run.laps.assign(**change), TRACK)
    with pytest.raises(ValueError, match=r"lacks the columns \['n_rest'\]"):
        replays_of(run.log, run.laps.drop(columns="n_rest"), TRACK)
    with pytest.raises(TypeError, match="laps must be a DataFrame"):
        replays_of(run.log, None, TRACK)
    with pytest.raises(TypeError, match="log must be an EventLog"):
        replays_of(None, run.laps, TRACK)
    with pytest.raises(ValueError, match=r"but has the runs \[0, 1\]"):
        replays_of(EventLog.concat([run.log, run.log]), run.laps, TRACK)
