"""Events that are found by their travel in all quiet time, and what is found there by chance."""

from dataclasses import replace

import numpy as np
import pytest

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.settings import Judgement, Settings
from analyses.recordings.decide.conclusions import conclude
from analyses.recordings.decide.controls import CONTROLS, EXCHANGED
from analyses.recordings.decide.scoring import score_block
from analyses.recordings.prepare.likelihood import log_likelihood, placeless_log_likelihood
from analyses.recordings.prepare.place_fields import running, slow_stretches
from analyses.recordings.prepare.session import prepare
from analyses.recordings.prepare.travel import travel_evidence
from analyses.recordings.prepare.travel_events import N_SEARCHES, exchanged_spikes, travel_events
from analyses.recordings.prepare.travel_model import travel_model
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.preparation import session_notes
from replay.worlds.tracks import make_linear_track

SETTINGS = Settings(detected_in="posterior")
QUICK = Judgement(n_shuffles=2, n_controls=1, other_sizes=())


@pytest.fixture(scope="module")
def seen():
    recording = simulated_recording(6)
    return recording.events, replace(recording, events=None)


@pytest.fixture(scope="module")
def session(seen):
    return prepare(seen[1], SETTINGS, QUICK)


def test_replay_is_found_wherever_the_population_moves(seen, session):
    events = seen[0]
    begin, end = session.events[["start_time", "end_time"]].to_numpy().T
    middle = events[["start_time", "end_time"]].mean(axis=1).to_numpy()
    assert all(((begin <= each) & (each <= end)).any() for each in middle)
    assert len(session.events) <= 2 * len(events)
    assert len(session.chance_counts) < len(session.events)
    assert not session.is_detected_in_spikes
    assert any("candidate events were found in the" in each
               for each in session_notes(session))  # fmt: skip


def test_long_rests_are_decoded_in_pieces_without_a_seam(session, monkeypatch):
    monkeypatch.setattr("analyses.recordings.prepare.travel_events._PIECE", 0.7)
    spikes = [session.recording.spikes[cell] for cell in session.cells]
    model = travel_model(session.track, session.time_bin, session.travel_rates.shape[1])
    every = np.concatenate(session.recording.spikes)
    quiet = slow_stretches(running(session.recording), 5.0, every.min(), every.max())
    quiet = quiet[quiet[:, 1] - quiet[:, 0] >= session.settings.criteria.shortest]
    pieces = travel_events(spikes, session.travel_rates, model, quiet, session.settings)
    whole = session.events
    assert len(pieces) == len(whole)
    np.testing.assert_allclose(pieces, whole, atol=0.021)  # movement is remembered for .25 s


def test_after_an_exchange_each_spike_belongs_to_another_cell():
    spikes = [np.array([1.0, 5.0]), np.array([2.0]), np.array([0.5, 3.0]), np.empty(0)]
    found = exchanged_spikes(spikes, np.arange(4), 0)
    assert sorted(map(tuple, found)) == sorted(map(tuple, spikes))
    found = exchanged_spikes(spikes, np.array([0, 0, 1, 1]), 1)
    assert sorted(np.concatenate(found)) == [0.5, 1.0, 2.0, 3.0, 5.0]


def test_stretches_are_those_in_which_the_animal_is_slow(seen):
    moved = running(seen[1])
    inside = np.zeros(len(moved.time), dtype=bool)
    for begin, end in slow_stretches(moved, 5.0, moved.time[0], moved.time[-1]):
        inside |= (moved.time >= begin) & (moved.time <= end)
    assert not (moved.speed[inside] > 5.0).any()
    assert inside.sum() > 0.9 * (moved.speed <= 5.0).sum()


def test_what_is_found_by_chance_takes_the_place_of_exchanged_cells(session):
    """Three events stand for themselves, one for each candidate, and the first has two."""
    rng = np.random.default_rng(0)
    three = [rng.poisson(0.3, (20, len(session.cells))) for _ in range(3)]
    session = session._replace(
        events=session.events[:2], counts=session.counts[:2], chance_counts=three
    )
    scored = score_block(session, 0)
    own = scored.chance[scored.chance["control"] == EXCHANGED]
    assert own["event"].tolist() == [0, 0, 1]
    rates = session.travel_rates
    model = travel_model(session.track, session.time_bin, rates.shape[1])
    likelihoods = np.array([log_likelihood(each, rates, session.time_bin) for each in three])
    placeless = placeless_log_likelihood(three, rates, session.time_bin)
    expected = travel_evidence(likelihoods, model, placeless).travel[[0, 2, 1]]
    np.testing.assert_allclose(own["evidence"].astype(float), expected)
    others = scored.chance[scored.chance["control"] != EXCHANGED]
    assert len(others) == 2 * (len(CONTROLS) - 1)


def test_rates_by_chance_are_of_equal_time(session):
    """Of 12 found after three exchanges, all as good as replay: as many as candidates."""
    own = session._replace(judgement=QUICK._replace(level=1.0))
    own = own._replace(events=session.events[:4], counts=session.counts[:4])
    own = own._replace(chance_counts=own.counts * N_SEARCHES)
    scored = score_block(own, 0)
    assert (scored.chance["control"] == EXCHANGED).sum() == 12
    rate = conclude(own, scored).calibration
    assert (rate.false_positive_rate, rate.n_events, rate.n_exchanged) == (1.0, 12, 4.0)
    assert rate.ci_high == 1.0


def test_where_nothing_is_found_by_chance_nothing_is_false(session):
    few = session._replace(events=session.events[:3], counts=session.counts[:3], chance_counts=[])
    scored = score_block(few, 0)
    assert EXCHANGED not in set(scored.chance["control"])
    found = conclude(few, scored)
    rate = found.calibration
    assert (rate.false_positive_rate, rate.n_events, rate.n_exchanged) == (0.0, 0, 0.0)
    assert found.events["tail_exchanged"].tolist() == [0.0] * 3
    assert found.events["tail_worst"].notna().all()
    assert found.events["p"].isna().all()  # there is nothing to compare with


def test_events_in_two_stretches_of_quiet_time_are_two():
    """The animal moves for 40 ms in the middle of a long replay, which is not decoded there."""
    track = cut_track(make_linear_track(200.0), 5.0)
    rates = 0.1 + 30 * np.exp(
        -0.5 * ((track.position[:, 0] - np.arange(5, 200, 5)[:, None]) / 8) ** 2
    )
    model = travel_model(track, 0.005, track.n_bins)
    rng = np.random.default_rng(0)
    time = 1.0 + 0.005 * np.arange(100)
    counts = rng.poisson(0.005 * rates[:, np.linspace(0, 39, 100).astype(int)].T)
    spikes = [time[np.flatnonzero(own)] + 0.001 for own in counts.T]
    one = travel_events(spikes, rates, model, np.array([[0.0, 2.5]]), Settings())
    assert len(one) == 1
    assert one.iloc[0].tolist() == pytest.approx([0.94, 1.56], abs=0.03)
    quiet = np.array([[0.0, 1.23], [1.27, 2.5]])
    two = travel_events(spikes, rates, model, quiet, Settings())
    assert len(two) == 2
    assert two["end_time"].iloc[0] == 1.23
    assert two["start_time"].iloc[1] == 1.27
    assert two["start_time"].iloc[0] == pytest.approx(0.94, abs=0.03)


def test_nothing_is_found_in_silence_or_in_a_moment():
    track = cut_track(make_linear_track(100.0), 5.0)
    model = travel_model(track, 0.005, track.n_bins)
    rates = np.ones((5, track.n_bins))
    none = [np.empty(0)] * 5
    for quiet in (np.empty((0, 2)), np.array([[0.0, 0.001]]), np.array([[0.0, 7.0], [9.0, 9.1]])):
        found = travel_events(none, rates, model, quiet, Settings())
        assert found.shape == (0, 2)
        assert {each.kind for each in found.dtypes} == {"f"}


def test_events_and_the_posterior_exclude_each_other(seen):
    events, recording = seen
    with pytest.raises(ValueError, match=r"cannot be detected in the posterior: it has a table"):
        prepare(replace(recording, events=events), SETTINGS)
    with pytest.raises(ValueError, match=r"Unknown detected_in 'spikes'|detected_in"):
        prepare(recording, Settings(detected_in="spikes"))
