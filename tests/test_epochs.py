"""Epochs of a recording: what is counted in each, and the test of a difference."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyses.recordings import find_replay
from analyses.recordings.basics.observed import Observed
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.decide.conclusions import conclude
from analyses.recordings.decide.epochs import (
    compare_epochs,
    count_blocks,
    count_in_epochs,
    other_choices,
    shares_by_choice,
)
from analyses.recordings.decide.scoring import Scored, n_blocks, score_block
from analyses.recordings.prepare.session import prepare
from analyses.recordings.readers import read_recording
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.animals import describe_epochs
from analyses.reports.preparation import session_notes
from analyses.reports.recorded import describe_dependence
from analyses.studies.recorded_replay.animal_tables import epochs_of_all

EPOCHS = {"before": np.array([[0.0, 240.0]]), "after": np.array([[300.0, 420.0], [450.0, 570.0]])}


def events_at(time, is_replay, kind="novel_path"):
    table = pd.DataFrame({"start_time": np.sort(time), "is_replay": is_replay})
    return table.assign(kind=[kind if each else None for each in is_replay])


def blocks_of(counts, epoch, replay=None, seconds=60.0):
    """Make blocks of one epoch with so many candidate events."""
    n = len(counts)
    table = pd.DataFrame({"epoch": epoch, "start_time": seconds * np.arange(n)})
    table["end_time"] = table["start_time"] + seconds
    table["observed"] = seconds
    table["candidates"] = counts
    table["replay"] = counts if replay is None else replay
    kinds = ("reverse_episode", "forward_episode", "novel_path", "ambiguous", "unexperienced")
    return table.assign(**dict.fromkeys(kinds, 0))


def test_events_are_counted_where_they_begin():
    time = [0.0, 29.9, 30.0, 239.9, 240.0, 299.0, 300.0, 455.0, 569.9, 570.0]
    is_replay = [True, False, True, True, True, True, False, True, True, True]
    blocks = count_blocks(events_at(time, is_replay), EPOCHS)
    assert (blocks["end_time"] - blocks["start_time"]).tolist() == [30.0] * 16
    assert blocks["candidates"].tolist() == [2, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1]
    assert blocks["replay"].tolist() == [1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1]
    found = count_in_epochs(blocks).set_index(["epoch", "measure"])
    assert found.loc[("before", "candidates_per_minute"), "value"] == 1.0
    assert found.loc[("after", "replay_per_minute"), ["n", "total", "value"]].tolist() == [
        2,
        4,
        0.5,
    ]
    assert found.loc[("after", "replay_share"), "value"] == pytest.approx(2 / 3)
    assert found.loc[("before", "novel_path"), ["n", "total", "value"]].tolist() == [3, 3, 1.0]


def test_minutes_in_which_nothing_was_observed_do_not_count():
    """Of 240 s, one cell was observed for 90 s and another for 30 s of these and 15 s more."""
    time = [1.0, 2.0, 61.0, 92.0, 310.0]
    own = np.array([[0.0, 90.0]]), np.array([[60.0, 105.0]])
    blocks = count_blocks(events_at(time, [True] * 5), EPOCHS, Observed(cells=own), 2)
    assert blocks["epoch"].tolist() == ["before"] * 4  # no cell was observed in others
    assert blocks["observed"].tolist() == [30.0, 30.0, 30.0, 15.0]
    found = count_in_epochs(blocks).set_index("measure").loc["replay_per_minute"]
    assert found[["n", "total"]].tolist() == [4, 1.75]
    assert found["value"] == pytest.approx(4 / 1.75)


def test_even_blocks_give_the_intervals_of_independent_events():
    """With many blocks, Student's t is normal; blocks that vary less make nothing narrower."""
    found = count_in_epochs(blocks_of([2] * 4000, "after", [1] * 4000)).set_index("measure")
    low, high = found.loc["candidates_per_minute", ["ci_low", "ci_high"]]
    exact = stats.chi2.ppf([0.025, 0.975], [16000, 16002]) / 2 / 4000
    assert [low, high] == pytest.approx(exact, rel=1e-4)
    share = stats.binomtest(4000, 8000).proportion_ci(method="wilson")
    assert found.loc["replay_share", ["ci_low", "ci_high"]].tolist() == pytest.approx(
        [share.low, share.high], rel=1e-4
    )


def test_few_blocks_give_wider_intervals():
    """Of 3 events in 3 blocks, and of 8 of 16 events in 4 blocks of 0 or 4 of 4."""
    z = stats.norm.ppf(0.975)
    found = count_in_epochs(blocks_of([1, 1, 1], "after")).set_index("measure")
    fewer = (z / stats.t.ppf(0.975, 2)) ** 2
    count = 3 * fewer
    exact = stats.chi2.ppf([0.025, 0.975], [2 * count, 2 * count + 2]) / 2 / count
    low, high = found.loc["candidates_per_minute", ["ci_low", "ci_high"]]
    assert [low, high] == pytest.approx(exact)
    found = count_in_epochs(blocks_of([4] * 4, "after", [0, 4, 0, 4])).set_index("measure")
    excess = 4 * (4 / 3) * 2**2 / (8 * 0.5)  # of the variance over that of independent events
    n = 16 * (z / stats.t.ppf(0.975, 3)) ** 2 / excess
    half = z * np.sqrt(0.25 / n + (z / (2 * n)) ** 2) / (1 + z**2 / n)  # Wilson
    low, high = found.loc["replay_share", ["ci_low", "ci_high"]]
    assert [low, high] == pytest.approx([0.5 - half, 0.5 + half])


def test_the_ends_of_a_difference_are_those_of_both_in_quadrature():
    parts = [blocks_of([1, 0, 2, 1], "one"), blocks_of([3, 5, 4, 4, 4], "two")]
    blocks = pd.concat(parts, ignore_index=True)
    each = count_in_epochs(blocks).set_index(["epoch", "measure"])
    a, b = (each.loc[name, "candidates_per_minute"] for name in ("one", "two"))
    found = compare_epochs(blocks).set_index("measure").loc["candidates_per_minute"]
    below = np.sqrt((b["value"] - b["ci_low"]) ** 2 + (a["ci_high"] - a["value"]) ** 2)
    above = np.sqrt((b["ci_high"] - b["value"]) ** 2 + (a["value"] - a["ci_low"]) ** 2)
    assert found["difference"] == 3.0
    assert found["ci_low"] == pytest.approx(3.0 - below)
    assert found["ci_high"] == pytest.approx(3.0 + above)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_intervals_hold_their_value(counts):
    replay = [min(pair) for pair in counts]
    found = count_in_epochs(blocks_of([max(pair) for pair in counts], "after", replay))
    known = found[found["ci_low"].notna()]
    assert (known["ci_low"] <= known["value"] + 1e-12).all()
    assert (known["ci_high"] >= known["value"] - 1e-12).all()
    assert len(known) or len(counts) == 1 or not sum(map(max, counts))
    if len(counts) > 1:  # no event says little about the rate: the interval is not empty
        assert known["ci_high"].gt(0).all()


def test_the_test_is_the_permutation_test_of_scipy():
    one, other = [1, 0, 2, 1, 0], [3, 1, 4, 2]
    blocks = pd.concat([blocks_of(one, "before"), blocks_of(other, "after")], ignore_index=True)
    found = compare_epochs(blocks).set_index("measure").loc["candidates_per_minute", "p"]

    def welch(a, b):
        return abs(np.mean(b) - np.mean(a)) / np.sqrt(
            np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b)
        )

    exact = stats.permutation_test((one, other), welch, alternative="greater", n_resamples=np.inf)
    assert found == pytest.approx(exact.pvalue, abs=0.015)


def test_a_run_is_not_compared_and_few_blocks_are_not_tested():
    counts = {"run": [1] * 5, "one": [0, 1, 2], "two": [5, 6, 4, 5], "three": [9, 8, 7, 9]}
    parts = [blocks_of(each, name) for name, each in counts.items()]
    found = compare_epochs(pd.concat(parts, ignore_index=True))
    pairs = found[["epoch", "other"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [["one", "two"], ["one", "three"], ["two", "three"]]
    p = found.set_index(["epoch", "other", "measure"])["p"]
    assert np.isnan(p["one", "two", "replay_per_minute"])
    assert p["two", "three", "replay_per_minute"] < 0.05
    assert np.isnan(p["two", "three", "novel_path"])


def test_an_epoch_without_events_gets_a_sentence():
    blocks = count_blocks(events_at([310.0, 320.0], [True, True]), EPOCHS)
    tables = {
        "epochs.csv": count_in_epochs(blocks).assign(label="label"),
        "epoch_differences.csv": compare_epochs(blocks).assign(label="label"),
        "epoch_blocks.csv": blocks,
    }
    text = "\n".join(describe_epochs(tables, 2))
    assert "No candidate event begins in before, so that it has no shares." in text
    assert "begins in after" not in text


def test_the_name_of_an_epoch_stays_a_name():
    """A label in a file could write a report of its own, or load a picture from anywhere."""
    name = "a | b\n\n# All is replay ![x](http://x.org) <img src='http://x.org'>"
    blocks = count_blocks(events_at([310.0, 320.0], [True, True]), EPOCHS)
    blocks["epoch"] = blocks["epoch"].replace("before", name)
    tables = {
        "epochs.csv": count_in_epochs(blocks).assign(label="label"),
        "epoch_differences.csv": compare_epochs(blocks).assign(label="label"),
        "epoch_blocks.csv": blocks,
    }
    text = "\n".join(describe_epochs(tables, 2))
    assert text.count("# All is replay") == text.count(r"a \| b # All is replay ![x\](") > 1
    assert "<img" not in text.replace(r"\<img", "")


def test_animals_are_the_unit_of_the_test_over_animals():
    differences = {"replay_share": [0.1, 0.3, 0.2], "novel_path": [0.5] * 3}
    rows = [
        {"animal": k, "epoch": "a", "other": "b", "measure": name, "label": name, "difference": d}
        for name, values in differences.items()
        for k, d in enumerate(values)
    ]
    both = pd.DataFrame(rows)
    found = epochs_of_all(
        {
            "epochs.csv": both.assign(value=both["difference"], n=9, total=9),
            "epoch_differences.csv": both,
        }
    )
    table = found["epoch_differences_of_all.csv"].set_index("measure")
    known = stats.ttest_1samp(differences["replay_share"], 0.0)
    interval = known.confidence_interval()
    row = table.loc["replay_share"]
    assert row["p"] == pytest.approx(known.pvalue)
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert np.isnan(table.loc["novel_path", "p"])  # without spread there is no test
    assert found["epochs_of_all.csv"]["value"].tolist() == pytest.approx([0.2, 0.5])
    assert (found["epochs_of_all.csv"]["ci_low"] >= 0).all()
    assert (found["epochs_of_all.csv"]["ci_high"] <= 1).all()
    assert epochs_of_all({}) == {}


def test_an_animal_that_is_off_the_track_before_and_after():
    """Positions in a cage are no reason to refuse a recording whose run is named."""
    time = np.arange(0.0, 300.0, 0.1)
    run = (time >= 100) & (time < 200)
    xy = np.stack([np.where(run, 50 - 50 * np.cos(0.4 * time), 900.0), np.zeros(len(time))], axis=1)
    arrays = {
        "position_time": time,
        "position_xy": xy,
        "spike_time": [1.0, 299.0],
        "spike_unit": [0, 0],
    }
    track = {"node_positions": [[0, 0], [100, 0]], "edges": [[0, 1]]}
    found = read_recording(arrays, track, epochs="before=0:100,run=100:199.9,after=200:300")
    assert found.on_track.tolist() == [[100.0, 199.9]]
    assert found.during.sum() == run.sum()
    with pytest.raises(ValueError, match="are more than 30 cm from the track"):
        read_recording(arrays, track, epochs="run=0:200")
    with pytest.raises(ValueError, match="are more than 30 cm from the track"):
        read_recording(arrays, track)


def test_events_before_the_run_are_no_sign_of_other_clocks():
    whole = simulated_recording(12)
    begins = float(whole.events["start_time"].iloc[3]) - 0.5
    found = replace(
        whole, events=whole.events.iloc[:3], on_track=np.array([[begins, whole.time[-1]]])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kinds = find_replay(
            found, judgement=Judgement(n_shuffles=4, n_controls=1, other_sizes=())
        ).events["kind"]
    assert set(kinds.dropna()) == {"unexperienced"}


def test_bursts_do_not_make_a_difference():
    """Events that come in groups pass a test that counts them one by one, and not this one."""
    rng = np.random.default_rng(3)
    blockwise, one_by_one = [], []
    for _ in range(40):
        counts = 6 * rng.poisson(0.5, (2, 10))
        blocks = [blocks_of(each, name) for each, name in zip(counts, "ab", strict=True)]
        table = compare_epochs(pd.concat(blocks, ignore_index=True)).set_index("measure")
        blockwise.append(table.loc["candidates_per_minute", "p"])
        n = counts.sum(axis=1)
        one_by_one.append(stats.binomtest(int(n[0]), int(n.sum())).pvalue)
    assert np.mean(np.array(one_by_one) < 0.05) > 0.3
    assert np.mean(np.array(blockwise) < 0.05) < 0.15


@pytest.fixture(scope="module")
def recording():
    found = simulated_recording(6)
    return replace(found, epochs={"sleep": np.array([[10.0, 12.0]])})


def test_epochs_are_times_or_labels(recording):
    last = recording.time[-1]
    found = read_recording(recording, epochs=f"before=0:3,run=20:{last + 99:g},nap=sleep")
    assert found.epochs["before"].tolist() == [[0.0, 3.0]]
    assert found.epochs["nap"].tolist() == [[10.0, 12.0]]
    assert found.on_track.tolist() == found.epochs["run"].tolist()
    assert found.on_track[0, 1] <= max(last, max(each[-1] for each in recording.spikes))
    assert "s of the epoch 'run' lie outside of the recording" in " ".join(found.notes)
    parts = read_recording(recording, epochs="run=9:20,run=0:5").epochs["run"]
    assert parts.tolist() == [[0.0, 5.0], [9.0, 20.0]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "epochs must be such as before=0:600"),
        ("=0:5", "epochs must be such as before=0:600"),
        ("before", "or a label of a simulated animal (it has 'sleep'); got 'before'"),
        ("before=0-5", "must be begin:end in s"),
        ("before=5:0", "must begin before it ends, both in s, such as 0:600; got '5:0'"),
        ("before=nan:5", "must begin before it ends"),
        ("before=0:x", "must begin before it ends"),
        ("late=1e6:2e6", "'late' from 1000000 to 2000000 s lies outside of a simulated animal"),
        ("a=0:5,b=4:9", "'a' lasts until 5 s, and 'b' begins at 4 s"),
        ("a=0:5,a=4:9", "Epochs must not overlap"),
        ("run=0.001:0.002", "has no position from 0.001 to 0.002 s"),
    ],
)
def test_wrong_epochs_are_refused_in_a_sentence(recording, text, said):
    with pytest.raises(ValueError, match=r"epoch|Epochs|position") as caught:
        read_recording(recording, epochs=text)
    assert said in str(caught.value)


@pytest.fixture(scope="module")
def scored():
    session = prepare(simulated_recording(24), judgement=Judgement(n_shuffles=5, n_controls=1))
    blocks = [score_block(session, block, 0) for block in range(n_blocks(session))]
    parts = (pd.concat(part, ignore_index=True) for part in zip(*blocks, strict=True))
    return session, Scored(*parts)


def test_the_table_has_what_each_choice_alone_would_give(scored):
    session, given = scored
    found = conclude(session, given)
    table = shares_by_choice(session, given, found)
    assert table["choice"].unique().tolist() == ["as chosen", "state size", "sequences", "jumps"]
    own = table[table["choice"] == "as chosen"]
    sized = found.kinds[found.kinds["state_size"] == session.judgement.state_size]
    assert own["n"].tolist() == sized["n"].tolist()
    longer = session.judgement.detection._replace(min_length=5)
    judgement = session.judgement._replace(detection=longer, other_sizes=())
    alone = conclude(session._replace(judgement=judgement), given).kinds
    assert table.loc[table["value"] == "5 states", "n"].tolist() == alone["n"].tolist()


def test_ends_of_laps_and_levels_are_among_them(scored):
    session, given = scored
    foot = session.judgement._replace(lap_ends=("0",), n_controls=5)
    turned = session._replace(judgement=foot, pauses={"0": 9, "3": 9})
    table = shares_by_choice(turned, given, conclude(turned, given))
    values = table.groupby("choice", sort=False)["value"].unique()
    assert values["lap ends"].tolist() == ["at 3, 4, 5", "at 3, 4, 5, 0"]
    assert values["level"].tolist() == ["0.01"]


@pytest.mark.parametrize(
    ("ends", "tried"), [((), ["at 0", "at 3, 5"]), (("0",), ["nowhere", "at 3, 5"])]
)
def test_the_ends_of_laps_that_are_tried_are_those_suggested(scored, ends, tried):
    """On a track without dead ends, where the animal pauses once a lap, and where it else does."""
    session = scored[0]
    ring = session.recording.graph.copy()
    (one, other, last) = (node for node, degree in ring.degree if degree == 1)
    ring.add_edges_from([(one, other), (other, last)], distance=40.0)
    pauses = {"0": 30, "3": 15, "5": 15}
    session = session._replace(
        recording=replace(session.recording, graph=ring),
        judgement=session.judgement._replace(lap_ends=ends),
        pauses=pauses,
    )
    values = [value for choice, value, _ in other_choices(session) if choice == "lap ends"]
    assert values == tried
    proposed = session.prepared._replace(are_ends_proposed=True)
    at_foot = session._replace(
        judgement=session.judgement._replace(lap_ends=("0",)), prepared=proposed
    )
    assert "to end at the node 0, where the animal pauses" in session_notes(at_foot)[0]
    named = at_foot._replace(prepared=session.prepared, pauses={})
    assert "said to end at 0, where the animal hardly" in session_notes(named)[-1]


def test_a_level_is_tried_if_there_are_controls_enough(scored):
    """Of 24 events and four controls each, one is more than .01; of five, less."""
    session = scored[0]
    for number, tried in ((4, []), (5, ["0.01"])):
        judgement = session.judgement._replace(n_shuffles=99, n_controls=number)
        others = other_choices(session._replace(judgement=judgement))
        assert [value for choice, value, _ in others if choice == "level"] == tried


def row(choice, value, kind, share, low, high):
    columns = ["choice", "value", "kind", "share", "ci_low", "ci_high"]
    return dict(zip(columns, (choice, value, kind, share, low, high), strict=True))


def test_one_sentence_tells_differences_beyond_the_intervals():
    kinds = ("novel_path", "ambiguous", "no_sequence")
    own = [row("as chosen", "", kind, 0.4, 0.3, 0.5) for kind in kinds]
    within = row("state size", "10 cm", "novel_path", 0.45, 0.35, 0.55)
    wide = row("jumps", "1 state", "novel_path", 0.6, 0.35, 0.8)
    beyond = row("lap ends", "at 0", "novel_path", 0.7, 0.6, 0.8)
    other = row("jumps", "1 state", "no_sequence", 0.9, 0.8, 1.0)
    less = row("lap ends", "at 0", "ambiguous", 0.15, 0.1, 0.2)
    assert describe_dependence(pd.DataFrame([*own, within, wide])) == ""
    assert describe_dependence(pd.DataFrame([*own, within, wide, beyond, less, other])) == (
        "Shares depend on choices by more than their intervals: with laps that end at 0, the "
        "share of novel path is 0.70 instead of 0.40 (0.30 to 0.50)."
    )
