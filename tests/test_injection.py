"""Known replay that is put into a recording's own rest."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analyses.recordings.basics.settings import Criteria, Judgement, Settings
from analyses.recordings.decide.controls import Calibration
from analyses.recordings.prepare.detection import find_events
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.prepare.session import prepare
from analyses.recordings.recover.cells import TrackPaths, bins_of_states
from analyses.recordings.recover.injection import _before_smoothing as before_smoothing
from analyses.recordings.recover.injection import _shortened as shortened
from analyses.recordings.recover.injection import inject, quiet_rest
from analyses.recordings.recover.known_paths import known_paths
from analyses.recordings.recover.similar_paths import number_of_each
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.sequences.track import graph_of_log

JUDGEMENT = Judgement(n_shuffles=3, n_controls=1, other_sizes=())
CALIBRATION = Calibration(2.0, 0.0, 0.0, 0.1, 100, "sweeps", 0.04)


@pytest.fixture(scope="module")
def session():
    return prepare(replace(simulated_recording(16), events=None), judgement=JUDGEMENT)


@pytest.fixture(scope="module")
def paths(session):
    _, log = experience_of(session.recording, 15.0)
    return known_paths(log, n_each=5, length=120.0, seed=3).assign(
        speed=400.0, length=120.0, cut=5.0
    )


def found(session, paths, gain=2.9, calibration=CALIBRATION):
    _, log = experience_of(session.recording, 15.0)
    return inject(session, log, calibration, paths, gain, quiet_rest(session), 0).facts()


def test_rest_is_quiet_and_still(session):
    """No piece meets a burst, and the animal is slow in the middle of each, where it is tracked."""
    begin = quiet_rest(session).begin
    assert len(begin) > 20
    for start, end in session.events[["start_time", "end_time"]].to_numpy():
        assert not ((begin < end) & (begin + 0.25 > start)).any()
    time, position = session.recording.time, session.recording.position
    moved = np.abs(np.diff(position, axis=0)).sum(axis=1) / np.diff(time)
    at = np.searchsorted(time, begin + 0.125).clip(max=len(moved)) - 1
    is_tracked = np.diff(time)[at] < 1
    assert np.median(moved[at][is_tracked]) == 0
    assert (~is_tracked).sum() > 20  # while it is carried, as in a sleep box


@pytest.mark.parametrize(("share", "lowest", "highest"), [(0.0, 0.0, 0.02), (0.3, 0.27, 0.33)])
def test_bursts_are_counted(session, share, lowest, highest):
    """Spikes that follow others after 4 ms are bursts, however long; by chance none is."""
    rng = np.random.default_rng(0)
    spikes = []
    for _ in range(40):
        at = np.cumsum(rng.exponential(0.1, 3000))
        own = [at]
        while len(at):
            at = at[rng.random(len(at)) < share] + 0.004
            own.append(at)
        spikes.append(np.sort(np.concatenate(own)))
    recording = replace(session.recording, spikes=tuple(spikes))
    changed = session._replace(recording=recording, cells=np.arange(len(spikes)))
    assert lowest <= quiet_rest(changed).bursting <= highest


def test_cells_that_are_not_decoded_fire_in_simulated_events_as_in_candidates(session, paths):
    """Of all cells every other is decoded; the rest decide whether a burst is detected."""
    few = session.cells[::2]
    one_way = session._replace(cells=few, rates=session.rates[::2], headings=None)
    rest = quiet_rest(one_way)
    seconds = (session.events["end_time"] - session.events["start_time"]).sum()
    for cell, own in enumerate(session.recording.spikes):
        n_in = sum(((own >= a) & (own < b)).sum() for a, b in session.events.to_numpy()[:, :2])
        n_out = sum(((own >= a) & (own < a + 0.25)).sum() for a in rest.begin)
        more = max(n_in / seconds - n_out / (0.25 * len(rest.begin)), 0.0)
        assert rest.others[cell] == pytest.approx(0.0 if cell in few else more)
    assert (np.delete(rest.others, few) > 0).any()
    _, log = experience_of(session.recording, 15.0)
    with_others, without = (
        inject(one_way, log, CALIBRATION, paths, 1.0, each, 0).facts()["lasts"].notna().mean()
        for each in (rest, rest._replace(others=0 * rest.others))
    )
    assert with_others > without + 0.1


def test_clear_replay_is_found_and_without_spikes_none_is(session, paths):
    clear = found(session, paths)
    assert (clear["kind"] == clear["true_kind"]).mean() > 0.85
    assert (clear["lasts"] - clear["true_lasts"]).median() == pytest.approx(0.03, abs=0.03)
    silent = found(session, paths, gain=0.01)
    assert (silent["kind"] == "missed").all()
    assert silent["lasts"].isna().all()


def test_paths_are_cut_to_their_length_in_the_first_and_the_last_move(session, paths):
    _, log = experience_of(session.recording, 15.0)
    joined, track = graph_of_log(log), session.track
    bins, half = TrackPaths(track, bins_of_states(log, track)), track.width.max() / 2 + 1e-9
    for states, along in zip(paths["states"], paths["along"], strict=True):
        whole = bins.sweep_along(states, joined, along)
        first, last = (bins.between(*ends).along[-1] for ends in (states[:2], states[-2:]))
        longest = whole.ahead.sum()
        for wanted, cut in ((longest - 10, 4.0), (longest - 10, 10.0), (300.0, 7.0), (0.0, 4.0)):
            found = shortened(bins, states, whole, cut, wanted)
            length = np.clip(wanted, longest - first - last, longest)
            assert found.ahead.sum() == pytest.approx(length, abs=2 * half)
            begin = np.flatnonzero(whole.bins == found.bins[0])[0]
            assert (whole.bins[begin : begin + len(found.bins)] == found.bins).all()
            expected = {300.0: 0.0, 0.0: first}.get(wanted, cut)
            assert whole.ahead[: begin + 1].sum() == pytest.approx(expected, abs=half)


def test_what_is_found_needs_the_evidence_of_the_recording(session, paths):
    """All with a stretch if none is needed, and nothing if more is than there ever is."""
    few = paths.iloc[::5]
    n_found = [
        found(session, few, calibration=CALIBRATION._replace(least_evidence=least))["lasts"]
        .notna()
        .sum()
        for least in (-1e9, 2.0, 1e9)
    ]
    assert n_found[0] >= n_found[1] > n_found[2] == 0


def test_simulated_events_have_the_fields_before_smoothing(session):
    """A Gaussian field is estimated wider than it is, and simulated nearly as narrow as it is."""
    away = session.track.distance[10]
    true, wide = (10 * np.exp(-0.5 * (away / width) ** 2) for width in (12.0, np.hypot(12, 6)))
    estimated = session._replace(rates=wide[None] * 12 / np.hypot(12, 6), headings=None)
    narrow = before_smoothing(estimated)[0]
    is_far = session.track.distance.max(axis=0) > 60  # at ends less is smoothed
    assert np.abs(narrow - true)[is_far].max() < 0.3 * np.abs(estimated.rates[0] - true).max()


def test_what_is_not_detected_is_missed(session, paths):
    """Events of .3 s are no candidates if those may last .2 s at most, unless they were given."""
    short = session._replace(settings=Settings(criteria=Criteria(longest=0.2)))
    assert (found(short, paths)["kind"] == "missed").all()
    events = pd.DataFrame({"start_time": [1.0], "end_time": [1.3]})
    given = short._replace(recording=replace(short.recording, events=events))
    assert (found(given, paths)["kind"] != "missed").mean() > 0.85


def test_the_scale_of_a_signal_may_be_that_of_another():
    values = np.zeros(1000)
    values[500:650] = 1.0
    time = np.arange(1000) / 1000
    assert len(find_events(time, values, scale=(0.0, 0.3))) == 1
    assert not len(find_events(time, values, scale=(0.0, 0.4)))


def test_the_lengths_and_speeds_are_found_under_which_events_are_most_likely():
    """Paths shorter than 1 m are found once in four; what is found of them is blurred.

    Of two kinds, the second is found as the first one time in five, and is four times as frequent.
    """
    rng = np.random.default_rng(0)

    def some(number, spread, share):
        length = np.exp(rng.normal(np.log(120), 0.4, number))
        speed = np.exp(rng.normal(np.log(600), spread, number))
        is_found = rng.random(number) < np.where(length < 100, 0.25, 1.0)
        blurred = np.exp(rng.normal(0, 0.1, (2, number)))
        kind = np.where(rng.random(number) < share, "novel_path", "forward_episode")
        is_right = (kind == "forward_episode") | (rng.random(number) > 0.2)
        return pd.DataFrame({"true_length": length, "true_speed": speed, "true_kind": kind,
            "kind": np.where(is_found, np.where(is_right, kind, "forward_episode"), "missed"),
            "true_lasts": length / speed,
            "distance": np.where(is_found, length * blurred[0], np.nan),
            "lasts": length / speed * blurred[1]})  # fmt: skip

    simulated, own = some(600, 0.4, 0.5), some(400, 0.1, 0.8)
    weight = number_of_each(own[own["distance"] > 0], simulated)
    assert weight.sum() == pytest.approx(400, rel=0.15)
    novel = np.average(simulated["true_kind"] == "novel_path", weights=weight)
    assert novel == pytest.approx(0.8, abs=0.06)
    pace = np.log(simulated["true_speed"])
    mean = np.average(pace, weights=weight)
    assert np.sqrt(np.average((pace - mean) ** 2, weights=weight)) < 0.2
    is_short = np.average(simulated["true_length"] < 100, weights=weight)
    assert is_short == pytest.approx((own["true_length"] < 100).mean(), abs=0.1)
