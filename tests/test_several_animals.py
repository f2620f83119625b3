"""Several animals of one experiment."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet as pq

from analyses.jobs.results import Results
from analyses.jobs.run import draw, run
from analyses.measures import QUESTIONS, STATISTICS
from analyses.recordings import find_replay
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.decide.held_out import HeldOut
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.animals import BESIDE_ACCOUNTS, report_of_animals
from analyses.reports.recorded import intervals_over
from analyses.studies.explanation.inputs import read_animals
from analyses.studies.pages import page_of_folders, read_decoded
from analyses.studies.recorded_replay import plan_animals, plan_recording, recorded
from analyses.studies.recorded_replay.animal_tables import epochs_of_all
from analyses.studies.recorded_replay.statistics import (
    LEFT_OUT,
    recorded_statistics,
    replays_of_recordings,
)

JUDGEMENT = Judgement(n_shuffles=4, n_controls=1, level=0.2, other_sizes=())


@pytest.fixture(scope="module")
def plans():
    epochs = {"early": np.array([[0.0, 80.0]]), "late": np.array([[80.0, 180.0]])}
    return {
        name: plan_recording(
            simulated_recording(9, seed), judgement=JUDGEMENT, n_sessions=0, epochs=epochs
        )
        for seed, name in enumerate(("001", "002", "NA"))
    }


@pytest.fixture(scope="module")
def animals(plans):
    return {
        name: find_replay(each.session.recording, judgement=JUDGEMENT)
        for name, each in plans.items()
    }


@pytest.fixture(scope="module")
def folder(plans, tmp_path_factory):
    out = tmp_path_factory.mktemp("recordings") / "out"
    drawn = {name: recorded.STUDY_OF_SEVERAL.figures[name] for name in ("epochs", "statistics")}
    study = replace(recorded.STUDY_OF_SEVERAL, figures=drawn)  # drawing takes longest
    run(study, plan_animals(plans), out, tell=lambda text: None)
    return out


@pytest.mark.slow
def test_each_animal_has_what_it_has_alone(plans, folder, tmp_path):
    run(recorded.STUDY, plans["002"], tmp_path / "out", tell=lambda text: None)
    alone, together = Results(tmp_path / "out"), Results(folder)
    for name in ("events.csv", "kinds.csv", "sequences.parquet", "statistics.csv"):
        table = together.read(name)
        own = table[table["animal"] == "002"].drop(columns="animal")
        assert own.astype(str).to_numpy().tolist() == (
            alone.read(name)[own.columns].astype(str).to_numpy().tolist()
        )
    report = (tmp_path / "out" / "report.md").read_text("utf-8").replace("replay.nwb", "")
    assert report == (folder / "report_002.md").read_text("utf-8").replace("replay_002.nwb", "")


def test_different_seeds_share_no_animal(monkeypatch):
    seeds = []
    monkeypatch.setattr(recorded, "simulated_recording", lambda n, seed: seeds.append(seed))
    monkeypatch.setattr(recorded, "plan_recording", lambda *given, **more: None)
    monkeypatch.setattr(recorded, "plan_animals", dict)
    for seed in (0, 1):
        recorded.STUDY_OF_SEVERAL.usual_plan(400, seed)
    assert len(set(seeds)) == len(seeds) == 2400


def test_statistics_have_intervals_over_animals(plans, folder):
    table = Results(folder).read("statistics_of_all.csv").set_index("statistic")
    each = Results(folder).read("statistics.csv")
    values = each.loc[each["statistic"] == "reverse_share", "value"]
    assert table.loc["reverse_share", "value"] == pytest.approx(values.mean())
    assert table.loc["reverse_share", "n_animals"] == 3
    own = table[table["n_animals"] == 3]
    assert (own["ci_low"] <= own["value"]).all()
    assert (own["ci_low"] < own["ci_high"]).any()
    shares = own.loc[[STATISTICS[name].is_share for name in own.index], ["ci_low", "ci_high"]]
    assert len(shares) > 3
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)
    assert (shares["ci_low"] < shares["ci_high"]).all()  # also of what is never seen


def test_kinds_have_intervals_within_0_and_1(folder):
    kinds = Results(folder).read("kinds_of_all.csv").set_index("kind")
    assert ((kinds["ci_low"] >= 0) & (kinds["ci_high"] <= 1)).all()
    never = kinds.loc["unexperienced"]
    assert never["share"] == never["ci_low"] == 0
    assert never["ci_high"] > 0.1
    found = Results(folder).read("shares_of_all.csv")
    assert found["ci_high_found"].between(0, 1).all()


def test_two_animals_have_no_intervals(folder):
    results = Results(folder)
    both = {
        name: table[table["animal"] != "NA"]
        for name in ("kinds.csv", "shares.csv", "epochs.csv", "epoch_differences.csv")
        if len(table := results.read(name))
    }
    by = ["state_size", "kind"]
    kinds = recorded._over_animals(both["kinds.csv"], "share", "n_events", by)
    shares = recorded._over_animals(both["shares.csv"].assign(n=20), "found", "n", ["kind"])
    epochs = epochs_of_all(both)
    for table in (kinds, shares, *epochs.values()):
        ends = [name for name in table if name.startswith("ci_")]
        assert ends
        assert table[ends].isna().all(axis=None)
    assert epochs["epoch_differences_of_all.csv"]["p"].isna().all()
    assert "no intervals over animals" in intervals_over(2)


def test_an_animal_of_few_sequences_does_not_count(animals):
    """One animal keeps three of its directional sequences, the others all."""
    found = [*animals.values()]
    kept = found[0].sequences.query("direction in ['forward', 'reverse']")["event"].unique()[:3]
    visited = found[0].visited
    few = found[0]._replace(visited=visited[visited["event"].isin(kept)].reset_index(drop=True))
    some = [few, *found[1:]]
    table = recorded_statistics(some, least_sequences=5).set_index("statistic")
    without = recorded_statistics(some[1:], least_sequences=5).set_index("statistic")
    assert table.loc["reverse_share", "n_animals"] == 2
    assert table.loc["reverse_share", "value"] == without.loc["reverse_share", "value"]
    every = recorded_statistics(some).set_index("statistic")
    assert every.loc["reverse_share", "n_animals"] == 3


def test_epochs_differ_over_animals(folder):
    each = Results(folder).read("epoch_differences.csv")
    assert each["animal"].unique().tolist() == ["001", "002", "NA"]
    found = Results(folder).read("epoch_differences_of_all.csv").set_index("measure")
    own = each.loc[each["measure"] == "replay_per_minute", "difference"]
    assert found.loc["replay_per_minute", "difference"] == pytest.approx(own.mean())
    assert (found["n_animals"] == 3).all()
    epochs, rates = (Results(folder).read(name) for name in ("epochs.csv", "calibration.csv"))
    own = epochs[(epochs["measure"] == "replay_share") & (epochs["total"] > 0)]
    by_chance = rates.set_index("animal")["false_positive_rate"]
    assert own["null"].tolist() == pytest.approx(by_chance[own["animal"]].tolist())
    report = (folder / "report.md").read_text("utf-8")
    assert "### From early to late" in report
    assert "| | early | late |" in report
    assert {path.name for path in (folder / "figures").glob("*epochs.png")} == {
        "001_epochs.png", "002_epochs.png", "NA_epochs.png",
    }  # fmt: skip


def test_the_report_says_what_a_reader_must_know(folder):
    text = (folder / "report.md").read_text("utf-8")
    for part in (BESIDE_ACCOUNTS, "| 001 |", "| 002 |", "false-positive rate", "| reverse_share |"):
        assert part in text


def test_what_explains_the_replay_of_an_animal_is_told(plans, folder, animals):
    lost = HeldOut(20, np.zeros(20, dtype=bool), 0.0)
    found = animals | {"002": animals["002"]._replace(held=lost)}
    names = ("choices", "kinds_of_all", "shares_of_all", "statistics_of_all", "accounts")
    tables = {name: Results(folder).read(f"{name}.csv") for name in names}
    every = {f"{name}.csv": table for name, table in tables.items()}
    assert "\n- 002: The fields of running hardly predict" in report_of_animals(
        found, every, JUDGEMENT
    )
    notes = pd.DataFrame({"animal": ["002"], "about": "replay", "note": "Why."})
    every |= {name: Results(folder).read(name) for name in ("events.csv", "calibration.csv")}
    every["notes.csv"] = notes
    first = next(iter(recorded.STUDY_OF_SEVERAL.show(plan_animals(plans), every)))
    assert first.note.endswith("\n002: Why.")
    assert first.note.startswith("001: Of 9 events ")


def test_whose_shares_depend_on_choices_is_said_first(folder):
    names = ("choices", "kinds_of_all", "shares_of_all", "statistics_of_all", "accounts")
    tables = {f"{name}.csv": Results(folder).read(f"{name}.csv") for name in names}
    choices = tables["choices.csv"]
    choices[["share", "ci_low", "ci_high"]] = 0.5, 0.4, 0.6
    changed = (choices["animal"] == "002") & (choices["choice"] == "jumps")
    choices.loc[changed, ["share", "ci_low", "ci_high"]] = 0.1, 0.0, 0.2
    title, first, *_ = report_of_animals({}, tables, JUDGEMENT).split("\n\n")
    assert title.startswith("# ")
    assert first.startswith("Shares of 002 depend on choices by more than their intervals")


def test_figures_are_drawn_of_each(folder):
    names = {path.name for path in draw(recorded.STUDY_OF_SEVERAL.figures["kinds"], folder)}
    assert {"001_kinds.png", "002_kinds.png"} <= names
    assert (folder / "figures" / "statistics_direction.png").exists()


def test_names_that_look_like_numbers_or_nothing_are_names(folder, tmp_path):
    moves = pq.read_table(folder / "experience.parquet")["animal"].to_pylist()
    n_moves = {name: moves.count(name) for name in ("001", "002", "NA")}
    decoded = {each.name: each for each in read_decoded(folder)}
    assert {
        name: len(each.experience.columns("steps")["step"]) for name, each in decoded.items()
    } == n_moves
    assert all(len(each.events) and each.evidence for each in decoded.values())
    paid = tmp_path / "paid.csv"
    paid.write_text("animal,state,reward\n001,0,1\n002,0,2\nNA,0,3\n")
    animals = read_animals([folder], rewards=paid)
    assert {name: max(each.log.columns("steps")["reward"]) for name, each in animals.items()} == {
        "001": 1, "002": 2, "NA": 3,
    }  # fmt: skip
    page = page_of_folders([folder], tmp_path / "page.html").read_text("utf-8")
    assert all(f'"{name}' in page for name in n_moves)


def test_animals_that_do_not_belong_together_are_refused(plans):
    one, other, _ = plans.values()
    far = one._replace(session=one.session._replace(track=one.session.track._replace(
        node_position=one.session.track.node_position + 1.0)))  # fmt: skip
    moved = far._replace(session=far.session._replace(recording=other.session.recording))
    for animals, message in (
        ({}, "There is no animal"),
        ({"a": one, "b": one}, "are the same recording"),
        ({"a": one, "b": moved}, "on different tracks"),
        ({"a": one, "b": other._replace(seed=5)}, "analysed in the same way"),
    ):
        with pytest.raises(ValueError, match=message):
            plan_animals(animals)


QUICK = Judgement(n_shuffles=4, n_controls=1, other_sizes=())


@pytest.fixture(scope="module")
def twelve_laps():
    """Each replays four laps forward, four backwards, and four novel paths, all at ends of laps."""
    return [find_replay(simulated_recording(12, seed), judgement=QUICK) for seed in (1, 2, 3)]


def test_statistics_are_those_counted_by_hand(twelve_laps):
    table = recorded_statistics(twelve_laps).set_index("statistic")
    for each in twelve_laps:
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


def test_what_a_recording_cannot_tell_is_left_out(twelve_laps):
    """Each replay event has one sequence, and all rest follows the last lap, by construction."""
    replays = replays_of_recordings(twelve_laps)
    per_event = STATISTICS["beyond_shuffled_places"].compute(replays)
    assert (per_event["value"] == 1).all()
    assert (per_event["null"] > 0.3).all()  # of what was not chosen to have one
    found = set(recorded_statistics(twelve_laps)["statistic"])
    assert found
    for question in LEFT_OUT:
        assert not found & set(QUESTIONS[question])


def test_what_needs_rewards_or_sides_is_there_only_if_they_are_named(twelve_laps):
    plain = set(recorded_statistics(twelve_laps)["statistic"])
    sides = {"left_arm": ["1", "0", "3"], "right_arm": ["1", "2", "5"]}
    named = set(recorded_statistics(twelve_laps, sides)["statistic"])
    assert plain < named
    assert "on_other_side" in named - plain


def test_one_animal_gives_values_without_intervals(twelve_laps):
    table = recorded_statistics(twelve_laps[:1])
    assert table["value"].notna().all()
    assert table[["ci_low", "ci_high"]].isna().all(axis=None)


def test_rest_is_off_the_track_and_the_way_counts_nowhere(twelve_laps):
    moved = twelve_laps[0]
    phases = ["rest", "step"] + ["episode_end"] * (len(moved.visited) - 2)
    changed = moved._replace(visited=moved.visited.assign(phase=phases))
    made = replays_of_recordings([changed])
    counts = made.sequences["phase"].astype(str).value_counts()
    assert counts.to_dict() == {"rest": 1, "episode_end": len(moved.visited) - 2}
    assert (made.pauses["phase"] == "rest").sum() == 1


def test_animals_of_different_tracks_are_refused(twelve_laps):
    other = find_replay(simulated_recording(9), judgement=QUICK._replace(state_size=30.0))
    with pytest.raises(ValueError, match="with states of the same size; animal 1 has"):
        recorded_statistics([twelve_laps[0], other])
    with pytest.raises(ValueError, match="at least one animal"):
        recorded_statistics([])
    with pytest.raises(ValueError, match="Unknown node of the landmark 'reward' '9'"):
        recorded_statistics(twelve_laps[:1], {"reward": ["9"]})


def test_the_table_is_plain(twelve_laps):
    table = recorded_statistics(twelve_laps)
    assert table["statistic"].is_unique
    assert isinstance(table, pd.DataFrame)
    assert np.isfinite(table["value"]).all()
