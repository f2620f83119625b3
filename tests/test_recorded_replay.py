"""The command ``replay recording``: its files, its messages, and the input that it refuses."""

import re
import shutil
from dataclasses import replace
from html import escape
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from commands import replay
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.linearised_track import linearise
from analyses.recordings.basics.settings import Criteria
from analyses.recordings.decide.calibration import Calibration
from analyses.recordings.decide.find_replay import find_replay
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.track_graphs import draw_track
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.studies.recorded_replay.animal_figures import read_evidence
from analyses.studies.recorded_replay.one_animal import STUDY
from analyses.studies.recorded_replay.plan import plan_recording
from analyses.studies.recorded_replay.report import (
    enough_sequences,
    in_markdown,
    replay_by_chance,
)
from replay.files import write_checksums

RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"
JUDGEMENT = Judgement(n_shuffles=19, other_sizes=(30.0,))


@pytest.fixture(scope="module")
def recording():
    units = tuple(f"{cell % 4}-{cell // 4}" for cell in range(60))  # tetrode and cluster
    return replace(simulated_recording(24), units=units)


@pytest.fixture(scope="module")
def folder(recording, tmp_path_factory):
    out = tmp_path_factory.mktemp("recording") / "out"
    plan = plan_recording(recording, judgement=JUDGEMENT, n_sessions=1)
    run(STUDY, plan, out, tell=lambda text: None)
    return out


def test_the_tables_are_those_of_python(folder, recording):
    found = find_replay(recording, judgement=JUDGEMENT)
    results = Results(folder)
    pd.testing.assert_frame_equal(
        results.read("events.csv"), found.events, check_dtype=False, atol=1e-9
    )
    pd.testing.assert_frame_equal(results.read("kinds.csv"), found.kinds, check_dtype=False)
    report = (folder / "report.md").read_text("utf-8")
    for note in found.notes:
        assert report.count(note) == 1
        assert (f"- {note}\n" in report) == (note not in found.explanations)
    read = results.read("sequences.parquet")
    assert [list(each) for each in read["states"]] == [list(s) for s in found.sequences["states"]]
    assert len(results.read("experience.parquet")) == len(found.experience.steps)
    status = results.status()
    assert not status.missing
    assert not status.damaged


@pytest.mark.slow
def test_any_number_of_processes_gives_the_same_bytes(folder, recording, tmp_path):
    other = tmp_path / "out"
    plan = plan_recording(recording, judgement=JUDGEMENT, n_sessions=1)
    run(STUDY, plan, other, jobs=2, tell=lambda text: None)
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    assert {"manifest.json", "report.md", "events.csv", "shares.csv"} <= set(names)
    for name in names:
        if name != ".lock":
            assert (other / name).read_bytes() == (folder / name).read_bytes(), name


def test_the_manifest_names_the_data_and_everything_it_depends_on(folder, recording):
    manifest = Results(folder).manifest()
    assert manifest["data"] == recording.digest()
    assert manifest["judgement"]["n_shuffles"] == 19
    assert manifest["settings"]["criteria"]["threshold"] == 3.0
    assert manifest["seed"] == 0
    assert manifest["n_sessions"] == 1
    assert len(manifest["sources"]) == 12


def test_a_page_of_damaged_tables_or_of_other_ones_is_refused(folder, tmp_path):
    other, page = tmp_path / "other", tmp_path / "page.html"
    shutil.copytree(folder, other)
    shutil.copy(other / "traces.parquet", other / "sequences.parquet")
    done = replay("page", other, "--out", page)
    assert done.returncode == 1
    assert "sequences.parquet is damaged or missing. Run the command" in " ".join(
        done.stderr.split()
    )
    listing = other / "tables.sha256"
    listed = [line.split("  ")[1] for line in listing.read_text().splitlines()[1:]]
    write_checksums(listing, [other / name for name in listed], other)
    done = replay("page", other, "--out", page)
    assert "holds results that this version cannot read" in " ".join(done.stderr.split())
    assert not page.exists()


def test_the_report_says_what_a_reader_must_know(folder):
    text = (folder / "report.md").read_text("utf-8")
    for part in (
        "60 cells",
        "randomised cells",
        "Dependence of shares on choices",
        "| state size | 30 cm |",
        "| two random places, one after the other | 24 | ",
        "| one random place | 24 | 0.0% | 0.0% to 13.8% |",
        "McNemar's exact test",
        "n_shuffles: 19",
        "Intervals are 95 % Wilson intervals",
        "| reverse_share |",
        "## Shares corrected for what this recording misses",
        "1 simulated session, each with 15 paths of each kind",
    ):
        assert part in text
    assert text.count("# ") == 10


def test_what_explains_a_result_is_told_beside_it(folder, recording):
    """Cells with other fields in events: the terminal says so, not only the report."""
    rng = np.random.default_rng(0)
    begin, end = recording.events[["start_time", "end_time"]].to_numpy().T
    spikes = []
    for each, other in zip(recording.spikes, rng.permutation(60), strict=True):
        within = [((each[:, None] >= begin) & (each[:, None] <= end)).any(axis=1)]
        theirs = recording.spikes[other]
        swapped = ((theirs[:, None] >= begin) & (theirs[:, None] <= end)).any(axis=1)
        spikes.append(np.sort(np.concatenate([each[~within[0]], theirs[swapped]])))
    moved = replace(recording, spikes=tuple(spikes))
    plan = plan_recording(moved, judgement=JUDGEMENT, n_sessions=1)
    with TemporaryDirectory() as out:
        tables = run(STUDY, plan, Path(out) / "out", tell=lambda text: None)
        report = (Path(out) / "out" / "report.md").read_text("utf-8")
    first, shares = STUDY.show(plan, tables)
    assert "fields of running hardly predict which cells fire together" in first.note
    assert report.count("fields of running hardly predict") == 1
    assert "Shares are not corrected. " in shares.note
    assert len(shares.note.split(". ")[1]) > 20
    whole = Results(folder)
    names = ("kinds", "calibration", "events", "shares", "notes", "choices")
    held = {f"{name}.csv": whole.read(f"{name}.csv") for name in names}
    assert "fields of running" not in STUDY.show(plan, held)[0].note


def test_spikes_and_fields_are_those_of_the_events(folder, recording):
    results = Results(folder)
    spikes, events = results.read("spikes.parquet"), results.read("events.csv")
    assert spikes.groupby("event").size().reindex(events["event"], fill_value=0).tolist() == [
        pytest.approx(n, abs=3) for n in events["n_spikes"]
    ]
    rates = results.read("place_fields.parquet")
    assert rates.groupby("cell")["rate"].max().min() >= 0.5
    for table in (spikes, rates):
        tetrode, cluster = table["unit"].str.split("-", expand=True).astype(int).to_numpy().T
        assert np.array_equal(4 * cluster + tetrode, table["cell"])


def test_events_are_decoded_again_on_the_part_of_the_track_that_was_run(recording, tmp_path):
    graph = recording.graph.copy()
    graph.add_node("far", pos=(0.0, 180.0))
    graph.add_edge(3, "far")
    longer = replace(recording, graph=graph, events=recording.events[:6])
    quick = Judgement(n_shuffles=19, other_sizes=())
    plan = plan_recording(longer, judgement=quick, n_sessions=0)
    run(STUDY, plan, tmp_path / "out", tell=lambda text: None)
    results = Results(tmp_path / "out")
    evidence = read_evidence(results, results.read)
    assert evidence.track.n_bins == plan.session.track.n_bins < plan.session.track.whole.n_bins
    np.testing.assert_allclose(evidence.rates, plan.session.rates)
    paths = results.read("paths.parquet")
    own = paths.loc[paths["event"] == 2, ["x", "y"]].to_numpy()
    np.testing.assert_allclose(evidence.track.position[evidence.of(2).path], own)
    line = linearise(evidence.track)
    assert len(line.low) == evidence.track.n_bins
    assert line.length == linearise(plan.session.track.whole).length
    assert any(path.name.startswith("event_") for path in (tmp_path / "out" / "figures").iterdir())


def test_the_figures_are_there(folder):
    names = {path.name for path in (folder / "figures").iterdir()}
    assert {"kinds.png", "kinds.pdf", "paths.png"} <= names
    assert any(name.startswith("event_") for name in names)


@pytest.fixture
def arrays(recording, tmp_path):
    import json

    np.savez(
        tmp_path / "mine.npz",
        position_time=recording.time,
        position_xy=recording.position,
        spike_time=np.concatenate(recording.spikes),
        spike_unit=np.repeat(np.arange(60), [len(each) for each in recording.spikes]),
    )
    (tmp_path / "track.json").write_text(json.dumps(draw_track(recording.graph)), "utf-8")
    events = recording.events[["start_time", "end_time"]].iloc[:20]
    events.to_csv(tmp_path / "events.csv", index=False)
    return tmp_path


def test_the_command_tells_what_it_reads_costs_and_finds(arrays):
    options = ("--track", arrays / "track.json", "--events", arrays / "events.csv")
    epochs = "run=0:300,early=300:350,late=350:900"
    done = replay(
        "recording", arrays / "mine.npz", *options, "--shuffles", 19, "--recovery", 0,
        "--epochs", epochs, "--longest", 2, "--jobs", 1, "--out", arrays / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    criteria = Results(arrays / "out").manifest()["settings"]["criteria"]
    assert criteria == Criteria(longest=2.0)._asdict()
    told = " ".join(done.stderr.split())
    for part in (
        "mine.npz: arrays;", "60 cells with", "Track: 6 nodes, 5 edges", "20 events are left: ",
        "of 20 candidate events are replay", "The median error of decoding",
    ):  # fmt: skip
        assert part in told
    assert "novel_path" in done.stdout
    assert "events with randomised cells, 0.0% (95 %: 0.0% to 16.1%) pass" in " ".join(
        done.stdout.split()
    )
    report = (arrays / "out" / "report.md").read_text("utf-8")
    assert "| | run | early | late |" in report
    assert "### From early to late" in report
    assert "Nothing was tested: a test needs four blocks" in report
    events = Results(arrays / "out").read("events.csv")
    counts = Results(arrays / "out").read("epochs.csv").set_index(["epoch", "measure"])["n"]
    assert counts["early", "candidates_per_minute"] == events["start_time"].between(300, 350).sum()
    assert (arrays / "out" / "figures" / "epochs.png").exists()
    again = replay(
        "recording", arrays / "mine.npz", *options, "--shuffles", 20, "--recovery", 0,
        "--epochs", epochs, "--longest", 2,
        "--jobs", 1, "--out", arrays / "out",
    )  # fmt: skip
    assert again.returncode == 1
    assert "n_shuffles is 19 there and 20 here" in " ".join(again.stderr.split())


def test_the_help_groups_what_can_be_chosen():
    """Only what all commands share is in no group."""
    _, _, rest, *groups = replay("recording", "--help").stdout.split("\u256d\u2500 ")
    assert len(groups) == 5
    assert re.findall(r"--[\w-]+", rest) == ["--seed", "--jobs", "--out", "--help"]


def test_an_error_is_a_sentence_and_nothing_is_written(arrays):
    for options, message in (
        ((arrays / "none.nwb",), "There is no file"),
        ((arrays / "mine.npz",), "has no track graph: give one"),
        ((arrays / "track.json",), "Recordings are read from .nwb"),
        (
            (arrays / "mine.npz", "--track", arrays / "track.json", "--state-size", 0),
            "state_size must be",
        ),
        (
            (arrays / "mine.npz", "--track", arrays / "track.json", "--state-size", 500),
            "state_size must be at most 120 cm, the length of the longest arm",
        ),
        (
            (arrays / "mine.npz", "--track", arrays / "track.json", "--shuffles", 0),
            "n_shuffles must be a whole number of at least 1",
        ),
        (
            (arrays / "mine.npz", "--track", arrays / "track.json", "--shortest", 1),
            "longest must be a number of at least 1, got 0.75",
        ),
    ):
        done = replay("recording", *options, "--out", arrays / "wrong")
        assert done.returncode == 1
        assert message in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr
    assert not (arrays / "wrong").exists()


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings are not here")
def test_a_plan_of_the_w_maze_is_quick_and_says_what_was_found():
    graph = RECORDINGS / "wmaze_track_graph.json"
    plan = plan_recording(read_recording(RECORDINGS / "wmaze.npz", graph))
    assert len(plan.session.events) > 400
    assert any("candidate events were found" in note for note in plan.session.notes)


def test_replay_by_chance_pairs_events_with_themselves():
    """Nine pass with their own cells only and one with randomised ones only: McNemar by hand."""
    own = [True] * 10 + [False] * 90
    by_chance = [True] + [False] * 98 + [True]
    events = pd.DataFrame({"is_replay": own, "passes_by_chance": by_chance, "p": 0.5})
    text = replay_by_chance(events, Calibration(0.05, 0.02, 0.02, 100))
    assert "9 pass with their own cells only, and 1 with randomised ones only" in text
    assert f"p = {11 / 2**10:.2g} (McNemar's exact test, one-sided)" in text
    few = replay_by_chance(events.assign(is_replay=by_chance), Calibration(0.05, 0.02, 0.02, 100))
    assert "no evidence of replay" in few


def test_what_is_found_after_an_exchange_is_not_paired():
    """Nine found, and three in the same time after an exchange of cells: other events."""
    events = pd.DataFrame({"is_replay": [True] * 9 + [False] * 3, "p": 0.5})
    rate = Calibration(0.05, 0.25, 0.0, 7, ci_low=0.05, ci_high=0.73, n_exchanged=7)
    text = replay_by_chance(events, rate)
    p = sum(comb(12, n) for n in range(9, 13)) / 2**12
    assert f"9 against 3 in the same time: p = {p:.2g} (exact binomial test, one-sided)" in text
    assert "the same search finds 7 candidate events" in text
    assert "25.0% (95 %: 5.0% to 73.0%) of the number of candidate events" in text
    assert "McNemar" not in text
    assert "no evidence of replay" in text


def test_where_an_exchange_gives_more_than_there_are_events_only_as_many_count():
    """Of 300 in the same time, 100 are tested, and 5 pass: 40 against 5 of a third."""
    events = pd.DataFrame({"is_replay": np.arange(100) < 40, "p": 0.01})
    rate = Calibration(0.05, 0.15, 0.15, 100, ci_low=0.05, ci_high=0.35, n_exchanged=300)
    p = sum(comb(45, k) * 0.75**k * 0.25 ** (45 - k) for k in range(40, 46))
    assert f"p = {p:.2g}" in replay_by_chance(events, rate)


def test_statistics_of_few_sequences_are_neither_reported_nor_compared(tmp_path):
    """Of six events, four are forward or reverse."""
    plan = plan_recording(simulated_recording(6), judgement=JUDGEMENT, n_sessions=0)
    run(replace(STUDY, figures={}), plan, tmp_path / "out", tell=lambda text: None)
    results = Results(tmp_path / "out")
    table = results.read("statistics.csv")
    few = table[table["n_chains"] < 5]
    assert len(few)
    assert len(enough_sequences(table)) == len(table) - len(few)
    assert len(few) < len(table)
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert not any(f"| {name} | " in text for name in few["statistic"])
    assert not set(results.read("accounts.csv")["statistic"]) & set(few["statistic"])


@given(
    st.text(st.sampled_from("a1 \\`*_~$|<>[]()!&#;:/-+=.'\"\n"), min_size=1, max_size=20).filter(
        str.strip
    )
)
def test_a_text_of_a_file_is_plain_text_in_a_report(text):
    words = " ".join(text.split())
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    html = reader.render(
        f"- {in_markdown(text)} .\n\n| | |\n|---|---|\n| x | {in_markdown(text)} |"
    )
    plain = escape(words, quote=False).replace('"', "&quot;")
    assert f"<li>{plain} .</li>" in html
    assert f"<td>x</td>\n<td>{plain}</td>\n" in html
