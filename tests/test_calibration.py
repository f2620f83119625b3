"""Thresholds and tail rates of evidence by hand; scores that depend on nothing but the event."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analyses.recordings.basics.settings import Judgement
from analyses.recordings.basics.signals import Posterior
from analyses.recordings.decide import scoring
from analyses.recordings.decide.conclusions import conclude
from analyses.recordings.decide.controls import (
    CONTROLS,
    EXCHANGED,
    calibrate,
    least_reached,
    tail_rates,
    without_replay,
)
from analyses.recordings.decide.scores import find_routes
from analyses.recordings.decide.scoring import Scored, n_blocks, score_block
from analyses.recordings.prepare.likelihood import log_likelihood, placeless_log_likelihood
from analyses.recordings.prepare.session import prepare
from analyses.recordings.prepare.travel import travel_evidence
from analyses.recordings.prepare.travel_model import travel_model
from analyses.recordings.recover.simulated_recording import simulated_recording

QUICK = Judgement(n_shuffles=3, n_controls=1, other_sizes=())


def table(**evidence):
    """Make controls: each has the evidence of events 0, 1, 2 and so on."""
    parts = [pd.DataFrame({"event": range(len(each)), "control": name, "evidence": each})
             for name, each in evidence.items()]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(
    ("evidence", "level", "most"),
    [
        ([5.0, 1.0, 2.0, 3.0], 0.25, 3.0),  # one of four may reach it
        ([5.0, 1.0, 2.0, 3.0], 0.5, 2.0),
        ([5.0, 1.0, 2.0, 3.0], 0.01, 3.0),  # one may always
        ([5.0, -1.0, -2.0], 0.01, None),
        ([5.0], 0.05, None),
        ([], 0.05, None),
        (np.arange(100.0), 0.05, 94.0),  # 95 to 99 are above
        ([3.0] * 20, 0.05, 3.0),  # as many as are equal
        ([1.0, 2.0], 1.0, None),
    ],
)
def test_the_least_evidence_lies_just_above_what_too_many_have(evidence, level, most):
    found = least_reached(evidence, level)
    assert found == (0.0 if most is None else np.nextafter(most, np.inf))


def test_the_threshold_is_that_of_the_worst_control():
    chance = table(
        exchanged_cells=np.arange(40.0) / 10, sweeps=np.arange(40.0), hovering=[-1.0] * 40
    )
    calibration, controls = calibrate(chance, 0.05)
    assert controls["control"].tolist() == [EXCHANGED, "hovering", "sweeps"]
    assert controls["least_evidence"].tolist() == [np.nextafter(3.7, 9), 0.0, np.nextafter(37, 99)]
    assert calibration.least_evidence == np.nextafter(37.0, 99.0)
    assert controls["n"].tolist() == [40] * 3
    # Of sweeps, the even ones (up to 38) and the odd ones (up to 39) have thresholds from each
    # other: 38 lies above 37, and 37 and 39 above 36.
    assert controls["rate"].tolist() == [0.0, 0.0, 3 / 40]
    assert (calibration.worst, calibration.worst_rate) == ("sweeps", 3 / 40)
    assert (calibration.false_positive_rate, calibration.n_events) == (0.0, 40)
    assert calibration.ci_low == 0.0
    assert calibration.ci_high == pytest.approx(3.8415 / (40 + 3.8415), abs=1e-4)  # Wilson, 0 of 40
    assert np.isnan(calibration.n_exchanged)


def test_untested_controls_do_not_count():
    chance = table(sweeps=[np.nan, 1.0, np.nan, 3.0, 2.0])
    calibration, controls = calibrate(chance, 0.34)
    assert controls["n"].tolist() == [3]
    assert calibration.least_evidence == np.nextafter(2.0, 3.0)
    assert calibration.n_events == 0  # no exchange of cells
    with pytest.raises(ValueError, match="No event has enough active cells"):
        calibrate(table(sweeps=[np.nan]))
    with pytest.raises(ValueError, match="level must be"):
        calibrate(chance, -1.0)


def test_what_is_found_by_chance_is_of_equal_time():
    """In the time of 20 candidates 5 are found by chance: of 10 listed, each is half of one."""
    chance = table(exchanged_cells=np.arange(10.0), sweeps=[-1.0] * 20)
    calibration, controls = calibrate(chance, 0.1, n_found=5.0)
    # At most .1 * 20 = 2 may pass in the same time, which are 4 of the 10.
    assert calibration.least_evidence == np.nextafter(5.0, 9.0)
    assert calibration.n_exchanged == 5.0
    # By halves: two of the five odd ones may pass, so that 6 and 8 lie above 5; then 5, 7 and 9.
    assert controls["rate"].iloc[0] == pytest.approx(5 / 10 * 5 / 20)


def test_blocks_of_replay_are_no_control():
    """They still travel within 40 ms; those of the other events decide as before."""
    chance = table(blocks=[4.0] * 20 + [0.5] * 20, sweeps=np.linspace(-1.0, 1.0, 40))
    evidence = pd.Series([6.0] * 20 + [0.0] * 20)
    kept = without_replay(chance, evidence)
    assert kept["event"][kept["control"] == "blocks"].tolist() == [*range(20, 40)]
    of_sweeps, _ = calibrate(table(sweeps=np.linspace(-1.0, 1.0, 40)))
    assert calibrate(kept)[0].least_evidence == of_sweeps.least_evidence
    assert calibrate(chance)[0].least_evidence > 4.0
    high = chance.assign(evidence=chance["evidence"].replace(0.5, 3.0))
    assert calibrate(without_replay(high, evidence))[0].least_evidence > 3.0
    alone = chance[chance["control"] == "blocks"]
    assert len(without_replay(alone, evidence)) == 40


def test_few_blocks_do_not_decide_where_nearly_all_events_are_replay():
    """Of 40 events one in ten is left; at most .05 of 40 may pass, which are two of the four."""
    chance = table(blocks=np.append([9.0, 8.0, 7.0, 6.0], [9.0] * 36), sweeps=[-1.0] * 40)
    kept = without_replay(chance, pd.Series(np.append([-1.0] * 4, [6.0] * 36)))
    calibration, controls = calibrate(kept)
    assert calibration.least_evidence == np.nextafter(7.0, 9.0)
    # With the threshold of the other half, which is 7 or 6, three of the four pass: of 40 events.
    assert controls.set_index("control").loc["blocks", "rate"] == pytest.approx(3 / 40)
    # All of the one event that has 8.5 reach 9.0 less often than in one of ten.
    _, worst = tail_rates(np.append([-1.0] * 4, [8.5] * 36), kept)
    assert worst[4:] == pytest.approx(40 / 36 * (1 / 4) * (4 / 40))


def test_tail_rates_by_hand():
    chance = table(exchanged_cells=[0.0, 1.0, 2.0, 3.0], sweeps=[5.0, 5.0, -1.0, -1.0, np.nan])
    exchanged, worst = tail_rates([4.0, 3.0, np.nan, 1.5, -2.0], chance)
    # Of four tested events so many would be false, of so many that reach it.
    assert exchanged[[0, 1, 3, 4]].tolist() == [0.0, (4 / 4) / 2, (4 * 2 / 4) / 3, 1.0]
    # Half of the sweeps reach 4: two of the one event that does, and so all of it.
    assert worst[[0, 1, 3, 4]].tolist() == [2 / 3] * 3 + [1.0]
    assert np.isnan([exchanged[2], worst[2]]).all()
    half, _ = tail_rates([4.0, 3.0, np.nan, 1.5, -2.0], chance, n_found=2.0)
    assert half[[0, 1, 3, 4]].tolist() == [0.0, (2 / 4) / 2, (2 * 2 / 4) / 3, 0.5]


def test_without_controls_there_are_no_tail_rates():
    for each in tail_rates([1.0, 2.0], table(exchanged_cells=[np.nan])):
        assert np.isnan(each).all()


@pytest.mark.parametrize("n_null", [0, 40, 190])
def test_tail_rates_are_the_share_of_false_ones(n_null):
    """On average over sessions, among events with a rate of .2 or less at most .2 are false."""
    rng, false = np.random.default_rng(0), []
    for _ in range(100):
        is_null = np.arange(200) < n_null
        evidence = np.where(is_null, 0.0, 3.0) + rng.standard_normal(200)
        rate, _ = tail_rates(evidence, table(exchanged_cells=rng.standard_normal(2000)))
        assert (np.diff(rate[np.argsort(evidence)]) <= 0).all()
        chosen = rate <= 0.2
        false.append(is_null[chosen].mean() if chosen.any() else 0.0)
    assert np.mean(false) <= 0.2 + 3 * np.std(false) / np.sqrt(100)


@pytest.fixture(scope="module")
def session():
    return prepare(simulated_recording(6), judgement=QUICK)


def scored(session, seed=0):
    blocks = [score_block(session, block, seed) for block in range(n_blocks(session))]
    return [pd.concat(parts, ignore_index=True) for parts in zip(*blocks, strict=True)]


def test_each_event_has_its_own_controls_whatever_the_blocks(session, monkeypatch):
    one = scored(session)
    for size in (3, 100):
        monkeypatch.setattr(scoring, "_BLOCK", size)
        for table, other in zip(one, scored(session), strict=True):
            pd.testing.assert_frame_equal(table, other, check_exact=True)
    chance = one[3]
    number = chance.groupby(["event", "control"]).size()
    assert len(number) == len(session.events) * len(CONTROLS)
    assert all(n == (3 if name == EXCHANGED else 1) for (_, name), n in number.items())
    assert not chance.equals(scored(session, seed=1)[3])
    assert one[0].equals(scored(session, seed=1)[0].assign(p_content=one[0]["p_content"]))


def test_evidence_is_that_of_the_model(session):
    found = scored(session)[0]
    model = travel_model(session.track, 0.005, session.travel_rates.shape[1])
    for row, counts in enumerate(session.counts):
        likelihoods = log_likelihood(counts, session.travel_rates, 0.005)
        placeless = placeless_log_likelihood(counts[None], session.travel_rates, 0.005)
        evidence = travel_evidence(likelihoods[None], model, placeless)
        own = found.loc[row, ["evidence", "content"]].tolist()
        assert own == pytest.approx([evidence.travel[0], evidence.content[0]], abs=1e-9)
    assert set(found["p_content"]) <= {0.25, 0.5, 0.75, 1.0}


def test_events_that_are_too_short_or_silent_are_not_tested(session):
    """Without spikes, of one time bin, of none, or of three cells."""
    counts = [each.copy() for each in session.counts[:5]]
    counts[0][:] = 0
    counts[1] = np.ones_like(counts[1][:1])
    counts[2] = counts[2][:0]
    counts[3][:, counts[3].sum(axis=0).argsort()[:-3]] = 0
    few = session._replace(events=session.events.iloc[:5], counts=counts)
    events, stretches, paths, chance = scored(few)
    tested = events["evidence"].notna()
    assert tested.tolist() == [False] * 4 + [True]
    assert events["n_active"].iloc[[0, 2, 3]].tolist() == [0, 0, 3]
    assert set(chance["event"]) == set(np.flatnonzero(tested))
    assert set(stretches["event"]) <= set(np.flatnonzero(tested))
    assert set(paths["event"]) == set(stretches["event"])


def test_stretches_lie_in_their_events_and_paths_in_their_stretches(session):
    _, stretches, paths, _ = scored(session)
    lasts = [len(each) * session.time_bin for each in session.counts]
    begin = session.events["start_time"].to_numpy()[stretches["event"].astype(int)]
    assert (stretches["start_time"] >= begin - 1e-9).all()
    ends = begin + np.array(lasts)[stretches["event"].astype(int)]
    assert (stretches["end_time"] <= ends + 1e-9).all()
    share = (stretches["end_time"] - stretches["start_time"]) / (ends - begin)
    np.testing.assert_allclose(stretches["share"].astype(float), share.astype(float))
    number = paths.groupby(["event", "stretch"]).size()
    for (event, stretch), n in number.items():
        own = stretches[(stretches["event"] == event) & (stretches["stretch"] == stretch)].iloc[0]
        path = paths[(paths["event"] == event) & (paths["stretch"] == stretch)]
        assert n == round((own["end_time"] - own["start_time"]) / session.time_bin)
        assert path["time"].iloc[0] == pytest.approx(own["start_time"] + session.time_bin / 2)
        steps = np.hypot(*np.diff(path[["x", "y"]].to_numpy(float), axis=0).T)
        assert steps.sum() <= own["length"] + 1e-6
    assert len(number) == len(stretches)
    assert (stretches[["probability", "forward", "reverse"]].astype(float) <= 1 + 1e-9).all(
        axis=None
    )


def test_without_events_there_are_empty_tables(session):
    none = session._replace(events=session.events.iloc[:0], counts=[])
    found = score_block(none, 0)
    assert [len(each) for each in found] == [0] * 4
    full = score_block(session, 0)
    for one, other in zip(found, full, strict=True):
        assert list(one.columns) == list(other.columns)


def test_a_recording_without_a_stretch_has_no_replay(session):
    """Be the tables of stretches and paths empty, or those of no event at all."""
    found = Scored(*scored(session))
    nothing = score_block(session._replace(events=session.events.iloc[:0], counts=[]), 0)
    for tables in (found, nothing):
        empty = found._replace(
            stretches=tables.stretches.iloc[:0], paths=tables.paths.iloc[:0],
            events=found.events.assign(evidence=99.0),
        )  # fmt: skip
        concluded = conclude(session, empty)
        assert not concluded.events["is_replay"].any()
        assert concluded.events["kind"].isna().all()
        assert not len(concluded.sequences)
        assert not concluded.kinds["n"].any()


def test_a_block_without_a_stretch_changes_no_types(session, monkeypatch):
    monkeypatch.setattr(scoring, "_BLOCK", 3)
    silent = [0 * each if row < 3 else each for row, each in enumerate(session.counts)]
    found = Scored(*scored(session._replace(counts=silent)))
    assert len(found.paths)
    for one, other in zip(found, scored(session), strict=True):
        assert one.dtypes.equals(other.dtypes)
    assert len(conclude(session, found).events) == len(session.events)


def of_another_program(session, time, probability, events):
    """Replace the spikes of a session by a posterior."""
    posterior = Posterior(time, probability, session.track.position, {})
    events = pd.DataFrame(events, columns=["start_time", "end_time"])
    recording = replace(session.recording, spikes=(), events=events, posterior=posterior)
    return session._replace(
        recording=recording, events=events, counts=[], cells=session.cells[:0],
        rates=session.rates[:0], headings=None,
    )  # fmt: skip


def test_a_gap_in_a_posterior_is_no_movement(session):
    """A path at 4 m/s, of which .1 s are NaN, or missing; and events with one time bin or none."""
    track = session.track
    [arm] = [bins for bins in find_routes(track) if {0, 1} <= set(track.edge[bins.bins])][:1]
    n = 80
    places = arm.bins[np.searchsorted(arm.distance, 2.0 * np.arange(n))]
    probability = np.full((n + 1, track.n_bins), 1e-4)
    probability[np.arange(n), places] = 1.0
    probability /= probability.sum(axis=1, keepdims=True)
    time = 5.0 + np.append(0.005 * np.arange(n), 5.0)
    events = [(4.99, 5.405), (9.9, 10.1), (20.0, 21.0)]
    whole = score_block(of_another_program(session, time, probability, events), 0)
    lost = np.arange(n + 1)
    lost = (lost >= 30) & (lost < 50)
    blank = probability.copy()
    blank[lost] = np.nan
    as_nan = score_block(of_another_program(session, time, blank, events), 0)
    missing = score_block(of_another_program(session, time[~lost], probability[~lost], events), 0)
    for one, other in zip(as_nan, missing, strict=True):
        pd.testing.assert_frame_equal(one, other)
    for found in (whole, as_nan):
        assert found.events["evidence"].notna().tolist() == [True, True, False]
        own = found.stretches[found.stretches["event"] == 0]
        assert len(own) == 1
        assert own["length"].iloc[0] == pytest.approx(158.0, abs=6.0)
        assert own["speed"].iloc[0] == pytest.approx(400.0, rel=0.1)
        assert own[["start_time", "end_time"]].iloc[0].tolist() == pytest.approx(
            [4.9975, 5.3975], abs=0.011
        )
        along = found.paths[found.paths["event"] == 0]
        np.testing.assert_allclose(np.diff(along["time"].astype(float)), 0.005, atol=1e-9)
