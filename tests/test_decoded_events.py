"""Events that are detected in the decoded posterior, and what is found there by chance."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.settings import Settings
from analyses.recordings.decide.conclusions import conclude
from analyses.recordings.decide.scoring import score_block
from analyses.recordings.prepare.decoded_events import exchanged_spikes
from analyses.recordings.prepare.running import running, slow_stretches
from analyses.recordings.prepare.session import prepare
from analyses.recordings.recover.simulated_recording import simulated_recording

SETTINGS = Settings(detected_in="posterior")


@pytest.fixture(scope="module")
def seen():
    recording = simulated_recording(12)
    return recording.events, replace(recording, events=None)


def test_replay_is_found_wherever_the_population_moves(seen):
    events, recording = seen
    session = prepare(recording, SETTINGS)
    begin, end = session.events[["start_time", "end_time"]].to_numpy().T
    middle = events[["start_time", "end_time"]].mean(axis=1).to_numpy()
    assert all(((begin <= each) & (each <= end)).any() for each in middle)
    assert len(session.events) <= 2 * len(events)
    assert len(session.chance_counts) < len(session.events)
    assert not session.is_detected_in_spikes
    assert any("candidate events were found in the decoded posterior" in each
               for each in session.notes)  # fmt: skip


def test_long_rests_are_decoded_in_pieces_without_a_seam(seen, monkeypatch):
    _, recording = seen
    whole = prepare(recording, SETTINGS).events
    monkeypatch.setattr("analyses.recordings.prepare.decoded_events._PIECE", 0.7)
    pieces = prepare(recording, SETTINGS).events
    assert len(pieces) == len(whole)
    np.testing.assert_allclose(pieces, whole, atol=0.021)  # movement is remembered for .25 s


def test_after_an_exchange_each_spike_belongs_to_another_cell():
    spikes = [np.array([1.0, 5.0]), np.array([2.0]), np.array([0.5, 3.0]), np.empty(0)]
    found = exchanged_spikes(spikes, np.arange(4))
    assert sorted(map(tuple, found)) == sorted(map(tuple, spikes))
    found = exchanged_spikes(spikes, np.array([0, 0, 1, 1]))
    assert sorted(np.concatenate(found)) == [0.5, 1.0, 2.0, 3.0, 5.0]


def test_stretches_are_those_in_which_the_animal_is_slow(seen):
    moved = running(seen[1])
    inside = np.zeros(len(moved.time), dtype=bool)
    for begin, end in slow_stretches(moved, 5.0, moved.time[0], moved.time[-1]):
        inside |= (moved.time >= begin) & (moved.time <= end)
    assert not (moved.speed[inside] > 5.0).any()
    assert inside.sum() > 0.9 * (moved.speed <= 5.0).sum()


def test_what_is_found_by_chance_sets_the_threshold(seen):
    """Nothing is found after an exchange here; made up, two events stand for themselves."""
    session = prepare(seen[1], SETTINGS, Judgement(n_shuffles=19, other_sizes=()))
    two = [np.random.default_rng(0).poisson(0.3, (20, len(session.cells))) for _ in range(2)]
    session = session._replace(
        events=session.events[:4], counts=session.counts[:4], chance_counts=two
    )
    chance = score_block(session, 0).by_chance
    assert len(chance) == 4
    assert chance["score"].notna().tolist() == [True, True, False, False]
    assert (chance["p"][2:] == 1.0).all()


def test_rates_by_chance_are_of_equal_time(seen):
    """Of 12 found after an exchange, 4 are tested and pass: three times as many as candidates."""
    session = prepare(seen[1], SETTINGS, Judgement(n_shuffles=19, level=1.0, other_sizes=()))
    own = session._replace(events=session.events[:4], counts=session.counts[:4])
    scored = score_block(own._replace(chance_counts=own.counts * 3), 0)
    passing = scored.by_chance.assign(p=0.05, score=1.0, order=99.0)
    many = own._replace(chance_counts=own.counts * 3)
    found = conclude(many, scored._replace(by_chance=passing))
    assert "passes_by_chance" not in found.events
    rate = found.calibration
    assert (rate.false_positive_rate, rate.n_events, rate.n_exchanged) == (3.0, 4, 12)
    assert [rate.ci_low, rate.ci_high] == pytest.approx(
        [0.75 * each / 2 for each in stats.chi2.ppf([0.025, 0.975], [8, 10])]
    )
    few = conclude(own._replace(chance_counts=own.counts[:1]), scored._replace(
        by_chance=passing.assign(p=[0.05, 1.0, 1.0, 1.0], order=[99.0, *[np.nan] * 3])
    ))  # fmt: skip
    assert few.calibration.n_exchanged == few.calibration.n_events == 1


def test_events_and_the_posterior_exclude_each_other(seen):
    events, recording = seen
    with pytest.raises(ValueError, match=r"cannot be detected in the posterior: it has a table"):
        prepare(replace(recording, events=events), SETTINGS)
    with pytest.raises(ValueError, match=r"Unknown detected_in 'spikes'|detected_in"):
        prepare(recording, Settings(detected_in="spikes"))
