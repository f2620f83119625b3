"""Track log odds."""

import numpy as np
import pytest

from analyses.recordings.basics.binned_track import bins_between, cut_track
from analyses.recordings.decide.scores import common_cells, log_odds, track_log_odds
from analyses.recordings.readers.track_graphs import find_tracks
from replay.worlds.tracks import make_tmaze_track

TRACK = cut_track(make_tmaze_track(), 5.0)
LEFT, RIGHT = bins_between(TRACK, ["1", "2"]), bins_between(TRACK, ["1", "3"])


def fields(rng, n_cells=30):
    """Draw cells with a field on each arm, wherever it is."""
    rates = np.full((n_cells, TRACK.n_bins), 0.1)
    for arm in (LEFT, RIGHT):
        centre = rng.choice(np.flatnonzero(arm), n_cells)
        rates += arm * 20.0 * np.exp(-0.5 * (TRACK.distance[centre] / 8.0) ** 2)
    return rates


def sweep(rng, rates, arm, dt=0.02):
    return rng.poisson(3.0 * rates[:, np.flatnonzero(arm)].T * dt)


def test_events_are_on_the_track_that_was_replayed():
    rng = np.random.default_rng(0)
    rates = fields(rng)
    events = [sweep(rng, rates, arm) for arm in (LEFT, RIGHT) * 8]
    found = track_log_odds(events, rates, LEFT, RIGHT, dt=0.02, n_shuffles=40)
    assert (found["log_odds_z"].to_numpy()[0::2] > 1).mean() > 0.8
    assert (found["log_odds_z"].to_numpy()[1::2] < -1).mean() > 0.8
    swapped = track_log_odds(events, rates, RIGHT, LEFT, dt=0.02, n_shuffles=2)
    np.testing.assert_allclose(swapped["log_odds"], -found["log_odds"], atol=1e-9)


def test_cells_with_fields_on_one_track_say_nothing():
    """Their rate alone would reveal the track."""
    rng = np.random.default_rng(1)
    rates = fields(rng)
    one_sided = np.where(LEFT, 30.0, 0.1)[None, :].repeat(5, axis=0)
    both = np.concatenate([rates, one_sided])
    event = sweep(rng, both, LEFT)
    assert common_cells(both, LEFT, RIGHT).tolist() == [True] * 30 + [False] * 5
    found = track_log_odds([event], both, LEFT, RIGHT, dt=0.02, n_shuffles=2)
    alone = track_log_odds([event[:, :30]], rates, LEFT, RIGHT, dt=0.02, n_shuffles=2)
    assert found["log_odds"].tolist() == alone["log_odds"].tolist()


def test_events_without_their_spikes_have_none():
    rates = fields(np.random.default_rng(2))
    found = track_log_odds([np.zeros((5, 30))], rates, LEFT, RIGHT, dt=0.02)
    assert found.isna().all(axis=None)


def test_all_on_one_track_is_finite():
    assert np.isfinite(log_odds([[1.0, 0.0]], [True, False], [False, True]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bins_between(TRACK, ["1", "9"]), "node of the track"),
        (lambda: bins_between(TRACK, ["2", "3"]), "The track has no edge between"),
        (lambda: find_tracks(make_tmaze_track(), ["a", "b"]), "has no landmarks"),
        (lambda: find_tracks(None, ["a"]), "compare two tracks; got 1"),
        (
            lambda: track_log_odds([], np.zeros((3, TRACK.n_bins)), LEFT, RIGHT, dt=0.02),
            "0 of 3 cells have a field on both",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
