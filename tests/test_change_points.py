"""Merged events are split where another path begins, and single ones hardly ever."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from verification.simulated_rats import Rat, simulate_rat, with_events

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.change_points import change_point, find_change_points
from analyses.recordings.prepare.session import describe_merged, prepare
from analyses.recordings.prepare.state_space_decoder import walk_of_states
from replay.worlds.tracks import make_linear_track

SHORTEST = 20


@pytest.mark.parametrize("seed", range(3))
def test_the_gain_is_that_of_two_independent_paths(seed):
    """By a slow sum over all paths of states."""
    rng = np.random.default_rng(seed)
    walk = rng.random((3, 3))
    walk /= walk.sum(axis=1, keepdims=True)
    given = np.log(rng.random((6, 3)))

    def evidence(rows):
        total = 0.0
        for path in np.ndindex(*[3] * len(rows)):
            one = np.exp(rows[range(len(rows)), path].sum()) / 3
            total += one * np.prod([walk[a, b] for a, b in pairwise(path)])
        return np.log(total)

    gains = [evidence(given[:at]) + evidence(given[at:]) - evidence(given) for at in (2, 3, 4)]
    at, gain = change_point(given, walk, 2)
    assert at == 2 + int(np.argmax(gains))
    assert gain == pytest.approx(max(gains))


def test_events_too_short_for_two_are_one():
    assert change_point(np.zeros((5, 2)), np.full((2, 2), 0.5), 3) == (0, -np.inf)


@pytest.fixture(scope="module")
def rat():
    return [simulate_rat(Rat(), seed) for seed in (3, 4)]


def test_merged_events_are_split_and_single_ones_are_not(rat):
    """Over six such rats, .66 of the pairs are split, and .014 of the single events."""
    single, merged, away, noise = [], [], [], []
    for one in rat:
        session = prepare(with_events(one))
        counts, rng = session.counts, np.random.default_rng(0)
        pairs = [np.concatenate(pair) for pair in zip(counts[::2], counts[1::2], strict=True)]
        shuffled = [pair[:, rng.permutation(pair.shape[1])] for pair in pairs]
        given = (session.decoded_rates, session.walk(), session.track, 0.005, SHORTEST)
        found = find_change_points(counts, *given)
        assert found.rate <= 0.05
        single += found.at
        split = find_change_points(pairs, *given).at
        merged += split
        away += [
            min(abs(each - len(first)) for each in at)
            for at, first in zip(split, counts[::2], strict=True)
            if at
        ]
        noise += find_change_points(shuffled, *given).at
    assert np.mean([bool(at) for at in single]) <= 0.04
    assert np.mean([bool(at) for at in merged]) >= 0.5
    assert np.median(away) <= 3
    assert not any(noise)


def test_the_threshold_is_chosen_by_all_events_in_turn():
    """Every other event is empty, and would never be split."""
    track, rng = cut_track(make_linear_track(160.0), 5.0), np.random.default_rng(2)
    middles = rng.uniform(0, 160, (8, 1))
    rates = 0.1 + 20 * np.exp(-0.5 * ((track.position[:, 0] - middles) / 10) ** 2)
    walk = walk_of_states(track, 15.0, track.n_bins)
    places = np.linspace(0, track.n_bins - 1, 60).astype(int)
    counts = [rng.poisson((event % 2) * rates[:, places].T * 0.02) for event in range(6)]
    assert find_change_points(counts, rates, walk, track, 0.005, SHORTEST).rate <= 0.03


def test_detected_events_are_split_and_given_ones_are_not():
    one = simulate_rat(Rat(merged=0.4), 3)
    session = prepare(one.recording)
    told = [note for note in session.notes if "split where another path begins" in note]
    assert len(told) == 1
    assert not told[0].startswith("None")
    start, end = session.events[["start_time", "end_time"]].to_numpy().T
    assert (start[1:] >= end[:-1]).all()
    assert (end - start >= 0.1 - 1e-9).all()
    assert len(session.counts) == len(session.events)
    given = prepare(with_events(one))
    assert describe_merged(given) == []
    assert len(given.events) == len(one.truth)
    assert not any("split where" in note for note in given.notes)


def test_given_events_are_split_where_that_is_asked_for():
    """Each two events in a row are given as one."""
    one = simulate_rat(Rat(merged=1.0, n_events=40, n_laps=20), 5)
    start, end = one.truth[["start_time", "end_time"]].to_numpy().T
    pairs = pd.DataFrame({"start_time": start[::2], "end_time": end[1::2]})
    recording = replace(one.recording, events=pairs)
    [told] = describe_merged(prepare(recording))
    assert "of the 20 given events seem to be several replays in a row" in told
    session = prepare(recording, Settings(split_given=True))
    assert describe_merged(session) == []
    assert len(session.counts) == len(session.events) <= 42
    begins = session.events["start_time"].to_numpy()
    away = np.abs(begins[:, None] - start[1::2]).min(axis=0)
    assert np.mean(away < 0.03) >= 0.6
    assert any("split where another path begins" in note for note in session.notes)
