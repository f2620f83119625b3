"""The command ``replay recording``: its files, its messages, and the input that it refuses."""

import pickle
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
from analyses.recordings import find_replay
from analyses.recordings.basics.binned_track import linearise
from analyses.recordings.basics.settings import Criteria, Judgement
from analyses.recordings.decide.controls import Calibration
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.track_graphs import draw_track
from analyses.recordings.recover import similar_paths
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.preparation import explanations_of, notes_of, session_notes
from analyses.reports.recorded import (
    count_replay,
    enough_sequences,
    funnel,
    replay_by_chance,
    stretches_of_kinds,
)
from analyses.reports.text import in_markdown
from analyses.studies.recorded_replay import plan_recording
from analyses.studies.recorded_replay.animal_figures import read_evidence
from analyses.studies.recorded_replay.recorded import STUDY, Found
from replay.files import write_checksums

RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"
JUDGEMENT = Judgement(n_shuffles=19, n_controls=1, other_sizes=(30.0,))
UNDRAWN = replace(STUDY, figures={})  # drawing takes longest: the command does


@pytest.fixture(scope="module")
def recording():
    units = tuple(f"{cell % 4}-{cell // 4}" for cell in range(60))  # tetrode and cluster
    return replace(simulated_recording(24), units=units)


@pytest.fixture(scope="module")
def folder(recording, tmp_path_factory):
    out = tmp_path_factory.mktemp("recording") / "out"
    plan = plan_recording(recording, judgement=JUDGEMENT, n_sessions=1)
    run(UNDRAWN, plan, out, tell=lambda text: None)
    return out


def test_python_gives_what_the_command_writes(folder, recording, tmp_path, monkeypatch):
    monkeypatch.setattr(Found, "study", UNDRAWN)
    found = find_replay(recording, judgement=JUDGEMENT, n_sessions=1)
    results = Results(folder)
    pd.testing.assert_frame_equal(
        results.read("events.csv"), found.events, check_dtype=False, atol=1e-9
    )
    pd.testing.assert_frame_equal(results.read("kinds.csv"), found.kinds, check_dtype=False)
    report = (folder / "report.md").read_text("utf-8")
    assert [report.count(f"- {note}\n") for note in notes_of(found)] == [1] * len(notes_of(found))
    assert explanations_of(found) == []
    read = results.read("sequences.parquet")
    assert [list(each) for each in read["states"]] == [list(s) for s in found.sequences["states"]]
    assert len(results.read("experience.parquet")) == len(found.experience.steps)
    status = results.status()
    assert not status.missing
    assert not status.damaged
    assert found.report() == report
    pd.testing.assert_frame_equal(found.shares(), results.read("shares.csv"))
    pd.testing.assert_frame_equal(found.statistics(), results.read("statistics.csv"))
    found.save(tmp_path / "out")
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    for name in {*names} - {".lock"}:
        assert (tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes(), name
    kinds = replace(STUDY, figures={"kinds": STUDY.figures["kinds"]})
    monkeypatch.setattr(Found, "study", kinds)
    assert list(found.figures()) == ["kinds"]
    named = found.session._replace(recording=replace(recording, name="<b>rat</b>"))
    html = found._replace(session=named)._repr_html_()
    assert "&lt;b&gt;rat" in html
    assert "reverse_episode" in html
    again = pickle.loads(pickle.dumps(found))
    assert again.plan.scored[0].events.equals(found.plan.scored[0].events)
    with pytest.raises(ValueError, match="Unknown epoch 'sleep'"):
        find_replay(recording, judgement=JUDGEMENT, epochs=["sleep"])


@pytest.mark.slow
def test_any_number_of_processes_gives_the_same_bytes(folder, recording, tmp_path):
    other = tmp_path / "out"
    plan = plan_recording(recording, judgement=JUDGEMENT, n_sessions=1)
    run(UNDRAWN, plan, other, jobs=2, tell=lambda text: None)
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
    assert "sequences lacks the columns" in " ".join(done.stderr.split())
    assert not page.exists()


def test_the_report_says_what_a_reader_must_know(folder):
    text = (folder / "report.md").read_text("utf-8")
    for part in (
        "60 cells",
        "with exchanged cells",
        "Dependence of shares on choices",
        "| state size | 30 cm |",
        "Of 24 events ",
        "Fisher's exact test",
        "Content: 24 of 24 tested events",
        "| reverse replay of an episode | 8 | ",
        "n_shuffles: 19",
        "Intervals are 95 % Wilson intervals",
        "| reverse_share |",
        "## Shares corrected for what this recording misses",
        f"1 simulated session, each with {similar_paths.N_PATHS} paths of each kind",
    ):
        assert part in text
    row = r"\| two random places, one after the other \| 2\d \(\d+%\) \| 24 \| \d\.\d% \(95 %: "
    assert re.search(row, text)
    assert text.count("# ") == 11


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
        tables = run(UNDRAWN, plan, Path(out) / "out", tell=lambda text: None)
        report = (Path(out) / "out" / "report.md").read_text("utf-8")
    first, _, shares = STUDY.show(plan, tables)
    assert "fields of running hardly predict which cells fire together" in first.note
    assert report.count("fields of running hardly predict") == 1
    assert "Shares are not corrected. " in shares.note
    assert len(shares.note.split(". ")[1]) > 20
    whole = Results(folder)
    names = ("kinds", "calibration", "controls", "events", "shares", "notes", "choices")
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
    longer = replace(recording, graph=graph, events=recording.events[:3])
    quick = Judgement(n_shuffles=2, n_controls=1, other_sizes=())
    plan = plan_recording(longer, judgement=quick, n_sessions=0)
    events_only = replace(STUDY, figures={"events": STUDY.figures["events"]})
    run(events_only, plan, tmp_path / "out", tell=lambda text: None)
    results = Results(tmp_path / "out")
    evidence = read_evidence(results, results.read)
    assert evidence.track.n_bins == plan.session.track.n_bins < plan.session.track.whole.n_bins
    np.testing.assert_allclose(evidence.rates, plan.session.rates)
    paths = results.read("paths.parquet")
    own = paths[paths["event"] == 2]
    path = evidence.of(2).path
    np.testing.assert_allclose(evidence.track.position[path[path >= 0]], own[["x", "y"]])
    moments = evidence.of(2).start + (np.flatnonzero(path >= 0) + 0.5) * evidence.time_bin
    np.testing.assert_allclose(moments, own["time"])
    line = linearise(evidence.track)
    assert len(line.low) == evidence.track.n_bins
    assert line.length == linearise(plan.session.track.whole).length
    assert any(path.name.startswith("event_") for path in (tmp_path / "out" / "figures").iterdir())


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
        "recording", arrays / "mine.npz", *options, "--shuffles", 19, "--controls", 1,
        "--recovery", 0, "--epochs", epochs, "--longest", 2, "--jobs", 1, "--out", arrays / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    criteria = Results(arrays / "out").manifest()["settings"]["criteria"]
    assert criteria == Criteria(longest=2.0)._asdict()
    told = " ".join(done.stderr.split())
    for part in (
        "mine.npz: arrays;", "60 cells with", "Track: 6 nodes, 5 edges", "20 events are left: ",
        "The median error of decoding",
    ):  # fmt: skip
        assert part in told
    assert "novel_path" in done.stdout
    shown = " ".join(done.stdout.split())
    assert re.search(r"of the same events with exchanged cells [0-4]\.\d% \(95 %: .*\) do", shown)
    assert "Of 20 events " in shown
    assert "Events that pass each control alone" in shown
    assert re.search(r"two_places 20 1\S* 0\S* ", shown)
    report = (arrays / "out" / "report.md").read_text("utf-8")
    assert "| | run | early | late |" in report
    assert "### From early to late" in report
    assert "Nothing was tested: a test needs four blocks" in report
    events = Results(arrays / "out").read("events.csv")
    counts = Results(arrays / "out").read("epochs.csv").set_index(["epoch", "measure"])["n"]
    assert counts["early", "candidates_per_minute"] == events["start_time"].between(300, 350).sum()
    names = {path.name for path in (arrays / "out" / "figures").iterdir()}
    assert {"kinds.png", "kinds.pdf", "paths.png", "evidence.png", "events_to_check.png"} <= names
    assert "epochs.png" in names
    assert any(name.startswith("event_") for name in names)
    again = replay(
        "recording", arrays / "mine.npz", *options, "--shuffles", 20, "--controls", 1,
        "--recovery", 0, "--epochs", epochs, "--longest", 2,
        "--jobs", 1, "--out", arrays / "out",
    )  # fmt: skip
    assert again.returncode == 1
    assert "--shuffles is 19 there and 20 here" in " ".join(again.stderr.split())


def test_the_help_groups_what_can_be_chosen():
    """Only what all commands share is in no group."""
    _, _, rest, *groups = replay("recording", "--help").stdout.split("\u256d\u2500 ")
    assert len(groups) == 5
    assert re.findall(r"--[\w-]+", rest) == ["--seed", "--jobs", "--out", "--help"]


def test_states_are_no_longer_than_an_arm(arrays):
    files = arrays / "mine.npz", "--track", arrays / "track.json"
    done = replay("recording", *files, "--state-size", 500, "--out", arrays / "wrong")
    assert done.returncode == 1
    message = "--state-size must be at most 120 cm, the length of the longest arm"
    assert message in " ".join(done.stderr.split())
    assert not (arrays / "wrong").exists()


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings are not here")
def test_a_plan_of_the_w_maze_is_quick_and_says_what_was_found():
    graph = RECORDINGS / "wmaze_track_graph.json"
    plan = plan_recording(read_recording(RECORDINGS / "wmaze.npz", graph))
    assert len(plan.session.events) > 400
    assert any("candidate events were found" in note for note in session_notes(plan.session))


def found_events(n_replay, n, p_content=0.5):
    """Events of which the first are replay, all tested."""
    is_replay = np.arange(n) < n_replay
    return pd.DataFrame(
        {
            "is_replay": is_replay, "evidence": np.where(is_replay, 9.0, 0.0),
            "p_content": p_content, "tail_exchanged": np.where(is_replay, 0.1, 1.0),
            "tail_worst": np.where(np.arange(n) < n_replay // 2, 0.2, 1.0),
            "kind": np.where(is_replay, "forward_episode", None),
        }
    )  # fmt: skip


def rate(share, n, n_exchanged=np.nan):
    return Calibration(5.0, share, 0.0, 1.0, n, "local_walk", 0.05, n_exchanged)


def test_the_first_line_counts_replay_its_kinds_and_chance():
    """Wilson's interval of 2 of 8, by hand: 7 to 59 %."""
    events = found_events(2, 8)
    events.loc[1, "kind"] = "ambiguous"
    z, p, n = 1.959964, 0.25, 8
    middle, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    low, high = (middle + sign * half for sign in (-1, 1))
    low, high = (each / (1 + z**2 / n) for each in (low, high))
    assert count_replay(events, rate(0.01, 160)) == (
        f"Of 8 events 2 hold replay (25%; 95 % interval {low:.0%} to {high:.0%}), 0.08 expected by "
        "chance (0.4 if all were like the worst control, local walk): 1 forward, 0 reverse, "
        "0 novel, 1 ambiguous."
    )


def test_the_first_line_is_the_same_from_tables():
    """Which keep twelve digits: .0327054794521 of 292 events is 9.549..., and not 9.55."""
    events, share = found_events(16, 292), 191 / 5840
    assert "9.6 expected" in count_replay(events, rate(share, 5840))
    kept = count_replay(events, rate(float(f"{share:.12g}"), 5840))
    assert kept == count_replay(events, rate(share, 5840))


def test_the_first_line_says_where_nothing_is_found():
    assert count_replay(found_events(0, 12), rate(0.0, 240)) == (
        "No replay was found: none of 12 events holds any (0%; 95 % interval 0% to 24%), 0 "
        "expected by chance (0.6 if all were like the worst control, local walk)."
    )
    as_much = count_replay(found_events(2, 8), rate(0.2, 160))
    assert as_much.startswith("No more replay than by chance (p = 0.5")
    assert "of 8 events 2 hold replay" in as_much


def test_replay_is_compared_with_exchanged_cells_by_counts():
    """Six of 40 events and one of 80 controls: the hypergeometric tail by hand."""
    text = replay_by_chance(found_events(6, 40), rate(1 / 80, 80), 20)
    p = sum(comb(40, k) * comb(80, 7 - k) for k in (6, 7)) / comb(120, 7)
    assert f"p = {p:.2g} (Fisher's exact test, one-sided)" in text
    assert "6 have a tail rate of at most 0.2 against exchanged cells, and 3 against" in text
    assert "control. The tail rate is the share of events with as much evidence that would" in text
    assert "Kind: 6 of 6 have a direction" in text
    assert "no evidence" not in text


def test_where_places_are_represented_there_is_not_no_evidence():
    """Of 40 events 20 exceed their exchanged cells, where two would by chance; one is replay."""
    content = np.where(np.arange(40) < 20, 0.05, 0.5)
    one = found_events(1, 40)
    text = replay_by_chance(one.assign(p_content=content), rate(0.02, 400), 20)
    assert "Content: 20 of 40 tested events" in text
    assert "content that does not travel" in text
    assert "no evidence of replay" not in text
    without = replay_by_chance(one, rate(0.02, 400), 20)
    assert without.endswith("there is no evidence of replay.")
    untested = replay_by_chance(one, rate(0.02, 400), 18)
    assert "Content: not tested, since 18 exchanges of cells are too few for 5%; 19" in untested
    assert "no evidence" not in untested


def test_what_is_found_after_an_exchange_is_compared_in_equal_time():
    """Nine found; of 21 in three searches, nine have as much evidence: 3 in the same time."""
    events = found_events(9, 12)
    text = replay_by_chance(events, rate(9 / 21 * 7 / 12, 21, n_exchanged=7.0), 20)
    p = sum(comb(18, n) * 0.25**n * 0.75 ** (18 - n) for n in range(9, 19))
    assert f"p = {p:.2g} (exact binomial test, one-sided)" in text
    assert "the same search finds 7 events in the same time" in text
    assert "25.0% (95 %: 0.0% to 100.0%) of the number of events" in text
    assert "Fisher" not in text


def test_on_a_line_nothing_is_novel_or_never_made(monkeypatch):
    """A rat that runs to and fro, whose cells tell the heading, or do not."""
    monkeypatch.syspath_prepend(Path(__file__).parent / "verification")
    from two_way_rats import simulate_two_way_rat

    quick = Judgement(n_shuffles=3, n_controls=1, other_sizes=())
    for directional, kinds in ((0.7, {"forward_episode", "reverse_episode"}), (0.0, {"ambiguous"})):
        rat = simulate_two_way_rat(
            "linear", 10.0, 7, n_laps=12, n_events=16, directional=directional
        )
        events = find_replay(rat.recording, judgement=quick).events
        assert events["is_replay"].mean() > 0.7
        assert set(events.loc[events["is_replay"], "kind"]) <= kinds


def test_the_funnel_counts_events_above_each_control():
    events = pd.DataFrame({"evidence": [0.5, 2.0, 7.0, np.nan]})
    controls = pd.DataFrame(
        {"control": ["exchanged_cells", "sweeps"], "least_evidence": [1.0, 5.0], "rate": [0.0, 0.1]}
    )
    assert funnel(events, controls)["n_events"].tolist() == [2, 1]
    assert funnel(events, controls)["share"].tolist() == pytest.approx([2 / 3, 1 / 3])


def test_stretches_are_described_by_the_kind_of_their_longest_sequence():
    """Three forward stretches of 40, 60 and 100 cm; one that is no replay does not count."""
    stretches = pd.DataFrame(
        {
            "event": [0, 0, 1, 2], "stretch": [0, 1, 0, 0], "start_time": 0.0,
            "end_time": [0.1, 0.2, 0.3, 9.0], "share": 0.5, "length": [40.0, 60.0, 100.0, 500.0],
            "speed": 400.0, "weighted_correlation": np.nan,
        }
    )  # fmt: skip
    sequences = pd.DataFrame(
        {
            "event": [0, 0, 0, 1], "stretch": [0, 1, 1, 0], "distance": [40.0, 60.0, 15.0, 90.0],
            "kind": ["forward_episode", "forward_episode", "novel_path", "forward_episode"],
        }
    )  # fmt: skip
    [row] = stretches_of_kinds(stretches, sequences).to_dict("records")
    assert row["stretches"] == 3
    assert row["length (cm)"] == "60 (50 to 80)"
    assert row["duration (ms)"] == "200 (150 to 250)"
    assert row["weighted correlation"] == ""


def test_statistics_of_few_sequences_are_neither_reported_nor_compared(tmp_path):
    """Of six events, four are forward or reverse."""
    quick = JUDGEMENT._replace(n_shuffles=5)
    plan = plan_recording(simulated_recording(6), judgement=quick, n_sessions=0)
    run(UNDRAWN, plan, tmp_path / "out", tell=lambda text: None)
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
