"""Everything derived from a recording before decoding: speeds, fields, events, laps."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import RIPPLES, Criteria, Settings
from analyses.recordings.basics.signals import FieldPotential
from analyses.recordings.prepare.candidate_events import candidate_events
from analyses.recordings.prepare.likelihood import count_spikes
from analyses.recordings.prepare.place_fields import running
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.prepare.session import prepare, settings_for
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.preparation import describe_events, session_notes
from replay.worlds.tracks import make_linear_track

TRACK = make_linear_track(100.0)


@pytest.fixture(scope="module")
def recording():
    return simulated_recording(12)


def test_speed_and_position_are_those_of_the_animal():
    time = np.sort(np.random.default_rng(0).uniform(0, 30, 2000))  # an uneven camera
    position = np.stack([3.0 * time, np.zeros_like(time)], axis=1)
    position[(time > 10) & (time < 12)] = np.nan
    position[(time > 20) & (time < 20.3)] = np.nan
    moved = running(Recording("mine", TRACK, time, position, on_track=np.array([[1.0, 25.0]])))
    inside = (moved.time > 1) & (moved.time < 8.8)  # nothing is smoothed across a gap
    assert np.allclose(moved.speed[inside], 3.0, atol=1e-6)
    assert np.allclose(moved.position[inside, 0], 3.0 * moved.time[inside])
    unknown = np.isnan(moved.speed)
    assert unknown[(moved.time > 10.1) & (moved.time < 11.9)].all()  # long: not known
    assert not unknown[(moved.time > 19) & (moved.time < 21)].any()  # short: interpolated
    assert np.array_equal(moved.is_on_track, (moved.time >= 1) & (moved.time <= 25))


@pytest.mark.parametrize("factor", [1000, 30_000])
def test_times_in_other_units_are_refused_before_they_take_memory(recording, factor):
    spikes = tuple(factor * each for each in recording.spikes)
    events = factor * recording.events[["start_time", "end_time"]]
    other = replace(recording, time=factor * recording.time, spikes=spikes, events=events)
    with pytest.raises(ValueError, match="s apart, too far to tell"):
        prepare(other)


def test_every_spike_is_counted_once(recording):
    moved = running(recording)
    half = 0.5 * (moved.time[1] - moved.time[0])
    begin, end = moved.time[0] - half, moved.time[-1] + half
    inside = [np.count_nonzero((each >= begin) & (each < end)) for each in recording.spikes]
    assert moved.counts.sum(axis=0).tolist() == pytest.approx(inside, abs=1)


def test_fields_peak_where_cells_fire(recording):
    """The recording's own cells are known: fields are where they were put."""
    session = prepare(recording)
    assert len(session.cells) > 40
    moved = running(recording)
    for rates, cell in list(zip(session.rates, session.cells, strict=True))[:10]:
        ran = moved.counts[:, [cell]].toarray()[:, 0] > 0
        ran &= moved.speed > 5
        if ran.sum() >= 8:
            mean = moved.position[ran].mean(axis=0)
            peak = session.track.position[rates.argmax()]
            assert np.hypot(*(mean - peak)) < 40


def test_cells_that_say_nothing_are_left_out(recording):
    silent = np.array([recording.time[5]])
    busy = np.arange(recording.time[0], recording.time[-1], 0.02)
    more = replace(recording, spikes=(*recording.spikes, silent, busy))
    session, own = prepare(more), prepare(recording)
    assert len(recording.spikes) + 1 not in session.cells
    assert session.cells.tolist() == own.cells.tolist()
    assert "cells have place fields" in session_notes(session)[0]


def test_where_the_animal_never_ran_nothing_is_decoded(recording):
    """An arm that is only drawn changes nothing, but for its beginning, which is told to the cm."""
    whole = prepare(recording)
    graph = recording.graph.copy()
    graph.add_node("far", pos=(0.0, 180.0))  # node 3, an end, is at (0, 80)
    graph.add_edge(3, "far")
    longer = prepare(replace(recording, graph=graph))
    track = longer.track
    assert whole.track.whole is None
    assert not any("never" in note or "ran" in note for note in session_notes(whole))
    n_left_out = track.whole.n_bins - track.n_bins
    assert np.count_nonzero(track.position[:, 1] > 80) == 20 - n_left_out
    assert track.position[:, 1].max() < 80 + 12 + 5
    (told,) = (note for note in session_notes(longer) if "farther than 12 cm" in note)
    assert told.startswith(f"{5 * n_left_out} of the 420 cm of the track")
    assert "These are left out: nothing is decoded there." in told
    assert longer.rates.shape == (len(longer.cells), track.n_bins)
    assert np.array_equal(longer.rates[:, : whole.track.n_bins], whole.rates)
    assert longer.walk().shape == (track.n_bins, track.n_bins)


def test_what_lies_between_places_that_were_run_is_kept_and_told(recording):
    """The animal is not seen in the middle of the track, where it passes."""
    position = recording.position.copy()
    position[(np.abs(position[:, 0] - 40) < 1) & (np.abs(position[:, 1] - 40) < 30)] = np.nan
    session = prepare(replace(recording, position=position))
    assert session.track.whole is None
    (told,) = (note for note in session_notes(session) if "farther than 12 cm" in note)
    assert "left out" not in told
    assert "fields are those of the nearest places" in told


def test_a_run_that_is_a_small_part_of_the_recording_is_decoded_by_fifths_of_it(recording):
    short = prepare(replace(recording, on_track=np.array([[0.0, 45.0]])))
    (error,) = (note for note in session_notes(short) if "error of decoding" in note)
    assert int(re.search(r"animal is (\d+) cm", error).group(1)) < 20
    assert any(note.startswith("The animal runs for only 1") for note in session_notes(short))
    assert not any("runs for only" in note for note in session_notes(prepare(recording)))


def test_events_are_counted_in_bins(recording):
    session = prepare(recording, Settings(time_bin=0.01))
    start, end = (session.events[name] for name in ("start_time", "end_time"))
    spikes = [recording.spikes[cell] for cell in session.cells]
    for one, other in zip(session.counts, count_spikes(spikes, start, end, 0.01), strict=True):
        assert np.array_equal(one, other)
    assert session.variance == pytest.approx(30.0)


def test_given_events_that_overlap_are_told(recording):
    events = recording.events[["start_time", "end_time"]].iloc[:8].reset_index(drop=True)
    apart = session_notes(prepare(replace(recording, events=events)))
    assert "8 candidate events were given." in apart
    events.loc[1, "start_time"] = events.loc[0, "end_time"] - 0.01
    events.loc[4, "start_time"] = events.loc[3, "end_time"]  # this one follows at once
    events.loc[[1, 4], "end_time"] = events.loc[[1, 4], "start_time"] + 0.2
    (told,) = (
        n for n in session_notes(prepare(replace(recording, events=events))) if "were given" in n
    )
    assert "8 candidate events were given. 1 of them overlaps an earlier one" in told


def test_given_events_during_running_are_told(recording):
    moved = running(recording)
    fast = moved.time[np.flatnonzero(moved.speed > 20)[[50, 400]]]
    events = recording.events[["start_time", "end_time"]].iloc[:6]
    ran = pd.DataFrame({"start_time": fast, "end_time": fast + 0.2})
    events = pd.concat([events, ran]).sort_values("start_time", ignore_index=True)
    (told,) = (
        n for n in session_notes(prepare(replace(recording, events=events))) if "were given" in n
    )
    assert "2 of 8 begin while the animal is faster than 5 cm/s" in told
    still = prepare(replace(recording, events=recording.events[["start_time", "end_time"]]))
    assert "12 candidate events were given." in session_notes(still)


@pytest.mark.parametrize("size", [12.0, 100.0])
def test_bins_larger_than_states_are_refused(recording, size):
    with pytest.raises(ValueError, match=r"up to .* cm long, and must be at most 10 cm"):
        prepare(recording, Settings(bin_size=size))


def test_a_time_bin_longer_than_all_events_is_refused(recording):
    events = recording.events[["start_time", "end_time"]].iloc[:4].copy()
    events["end_time"] = events["start_time"] + 0.09
    brief = replace(recording, events=events)
    with pytest.raises(ValueError, match="Each of the 4 candidate events is shorter than two time"):
        prepare(brief, Settings(time_bin=0.05))
    assert not any("not tested" in note for note in session_notes(prepare(brief)))


def test_events_are_found_by_the_rate_of_all_cells(recording):
    """Events of a simulated animal are dense in spikes, and the animal is still in them."""
    found = prepare(
        replace(recording, events=None), Settings(criteria=Criteria(2.0, 0.05, 2.0, 0.05, 5.0))
    ).events
    middle = (recording.events["start_time"] + recording.events["end_time"]) / 2
    inside = [
        ((found["start_time"] <= each) & (found["end_time"] >= each)).any() for each in middle
    ]
    assert np.mean(inside) >= 0.75


def test_bursts_of_other_durations_are_told(recording):
    """Those that are refused are found if they may last as long."""
    moved, own = running(recording), replace(recording, events=None)

    def found(shortest, longest):
        criteria = Criteria(2.0, shortest, longest)
        return candidate_events(own, moved, Settings(criteria=criteria))

    lasts = np.diff(found(0.0, 2.0)[0].to_numpy()[:, :2])
    shortest, longest = np.quantile(lasts, [0.2, 0.8])
    n_short, n_long = (lasts < shortest).sum(), (lasts > longest).sum()
    assert n_short
    assert n_long
    told, all_told = (
        describe_events(found(*limits)[1], Criteria(2.0, *limits))
        for limits in ((shortest, longest), (0.0, 2.0))
    )
    assert f"{n_short} more were shorter, and {n_long} longer, of up to 2 s. Replay that" in told
    assert "Replay that lasts so long" not in all_told


def test_events_are_found_in_the_ripple_band(recording):
    time = np.arange(recording.time[0], recording.time[-1], 1 / 1250)
    signal = np.random.default_rng(0).normal(size=(len(time), 2))
    middle = ((recording.events["start_time"] + recording.events["end_time"]) / 2).to_numpy()
    for each in middle:
        envelope = np.exp(-0.5 * ((time - each) / 0.03) ** 2)
        signal += (4 * envelope * np.sin(2 * np.pi * 190 * time))[:, None]
    potential = FieldPotential(float(time[0]), 1250.0, signal)
    found = replace(recording, events=None, field_potential=potential)
    assert prepare(found).settings == Settings(criteria=RIPPLES)
    assert settings_for(replace(found, events=recording.events)) == Settings()
    assert settings_for(found, detected_in="posterior").criteria == Criteria()
    session = prepare(found, settings_for(found, threshold=4.0))
    assert len(session.events) == len(middle)
    assert np.allclose(session.events[["start_time", "end_time"]].mean(axis=1), middle, atol=0.04)
    assert any("the power in the ripple band" in note for note in session_notes(session))


def test_no_event_is_a_sentence(recording):
    with pytest.raises(ValueError, match="has no candidate event: the rate of all cells never"):
        prepare(replace(recording, events=None), Settings(criteria=Criteria(threshold=50.0)))
    decoded = pd.DataFrame({"event": [0], "time": [5.0], "x": [0.0], "y": [0.0]})
    with pytest.raises(
        ValueError, match="neither spikes nor a field potential to detect events in"
    ):
        prepare(replace(recording, spikes=(), events=None, decoded=decoded))
    with pytest.raises(ValueError, match="table of events of a simulated animal is empty"):
        prepare(replace(recording, events=recording.events.iloc[:0]))
    with pytest.raises(ValueError, match="time_bin must be a number from"):
        prepare(recording, Settings(time_bin=0.0))


def test_the_experience_is_that_of_the_laps(recording):
    world, log = experience_of(recording, 15.0)
    steps = log.steps
    assert steps["episode"].nunique() >= 12
    ends = steps.loc[steps["terminated"], "next_state"]
    assert set(ends) <= {3, 4, 5}
    cut = replace(recording, on_track=np.array([[recording.time[0], recording.time[-1] / 2]]))
    assert len(experience_of(cut, 15.0)[1].steps) < len(steps)
    assert world.n_states > experience_of(recording, 30.0)[0].n_states
    still = replace(recording, position=np.tile(recording.position[:1], (len(recording.time), 1)))
    with pytest.raises(ValueError, match="never moved from one state of the track to another"):
        experience_of(still, 15.0)


def test_noisy_positions_and_outliers_do_not_look_like_running():
    """Of 60 frames a second, with 3 cm of noise, and 2 % in another place."""
    rng = np.random.default_rng(0)
    time = np.arange(0, 120, 1 / 60)
    along = np.interp(time, [0, 40, 44, 120], [0, 0, 120, 120])
    position = np.stack([along, np.zeros_like(along)], axis=1) + rng.normal(0, 3, (len(time), 2))
    position[rng.random(len(time)) < 0.02] += 60.0
    moved = running(Recording("mine", time=time, position=position))
    still = (moved.time < 39) | (moved.time > 45)
    assert np.mean(moved.speed[still] > 5) < 0.01
    runs = (moved.time > 41) & (moved.time < 43)
    assert np.median(moved.speed[runs]) == pytest.approx(30, rel=0.1)


def test_noise_of_positions_removes_hardly_any_candidate_and_refusals_are_told():
    exact = replace(simulated_recording(24), events=None)
    rng = np.random.default_rng(1)
    noisy = replace(exact, position=exact.position + rng.normal(0, 2, exact.position.shape))
    one, other = (prepare(each) for each in (exact, noisy))
    assert len(one.events) > 20
    assert len(other.events) >= 0.9 * len(one.events)
    assert any(
        "were refused because the animal was faster" in note for note in session_notes(other)
    )
