"""Candidate events: at their true times, by the criteria, and as ripple_detection finds them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter1d

from analyses.recordings.basics.settings import Criteria, check_criteria
from analyses.recordings.prepare.detection import find_events, multiunit_rate, ripple_power

LOOSE = Criteria(2.0, 0.0, np.inf, 0.0, 4.0)

# multiunit_HSE_detector of ripple_detection 1.7.1 (speed_threshold=4, minimum_duration=0,
# zscore_threshold=2), given the spike counts of `bursting` in bins of 1 ms: start and end in s, and
# max_zscore. Its rate is smoothed alike.
BY_RIPPLE_DETECTION = np.array([
    [1.1065, 1.2255, 5.6983],
    [1.8935, 2.0665, 7.2214],
    [2.5665, 2.7125, 4.3077],
    [25.4225, 25.5705, 7.6287],
    [43.2405, 43.3825, 11.3376],
    [48.0405, 48.3765, 6.9290],
])  # fmt: skip


def bursting():
    """Make the spikes of 20 cells that burst together 25 times in a minute, and a speed."""
    rng = np.random.default_rng(0)
    bursts, spikes = rng.uniform(1, 59, 25), []
    for _ in range(20):
        each = (bursts[:, None] + rng.normal(0, 0.03, (25, 1))).ravel()
        spikes.append(np.sort(np.concatenate([rng.uniform(0, 60, 60), each])))
    time = (np.arange(60_000) + 0.5) / 1000
    return spikes, np.abs(10 * np.sin(time / 7.3))


def test_events_are_those_that_ripple_detection_finds():
    spikes, speed = bursting()
    time, rate = multiunit_rate(spikes, 0.0, 60.0)
    found = find_events(time, rate, speed, LOOSE)
    assert len(found) == len(BY_RIPPLE_DETECTION)
    # It ends an event with the sample after, and starts it with the sample at the mean.
    times = found[["start_time", "end_time"]].to_numpy()
    assert np.abs(times - BY_RIPPLE_DETECTION[:, :2]).max() < 1.5e-3
    assert np.allclose(found["peak"], BY_RIPPLE_DETECTION[:, 2], atol=1e-3)


def test_ripples_are_found_where_they_were_put():
    rng = np.random.default_rng(1)
    time = np.arange(0, 20, 1 / 1500)
    put = np.sort(rng.uniform(1, 19, 8))
    put = put[np.diff(put, prepend=0) > 0.3]
    wave = np.sin(2 * np.pi * 200 * time)
    lfp = rng.normal(size=(len(time), 2))
    for each in put:
        lfp += (3 * wave * np.exp(-0.5 * ((time - each) / 0.02) ** 2))[:, None]
    found = find_events(time, ripple_power(lfp, 1500.0), None, Criteria(4.0, 0.02, 0.3, 0.0, 4.0))
    middle = (found["start_time"] + found["end_time"]) / 2
    assert len(found) == len(put)
    assert np.abs(middle.to_numpy() - put).max() < 0.03


def boxes(*spans, n=20_000):
    values = np.zeros(n)
    for begin, end in spans:
        values[begin:end] = 1.0
    return np.arange(n) / 1000, values


def test_each_criterion_leaves_out_what_it_should():
    time, values = boxes((1000, 1200), (3000, 3050), (5000, 6000), (8000, 8150), (8180, 8330))
    found = find_events(time, values, None, Criteria(threshold=1.0))
    # 50 ms are too short, 1 s is too long, and 30 ms between two make one of them.
    assert found[["start_time", "end_time"]].to_numpy().tolist() == [[1.0, 1.199], [8.0, 8.329]]
    speed = np.where(time < 2, 20.0, np.where(time > 8.2, np.nan, 0.0))
    slow = find_events(time, values, speed, Criteria(threshold=1.0))
    assert slow["start_time"].tolist() == [8.0]  # NaN is no movement
    apart = find_events(time, values, None, Criteria(threshold=1.0, merged_within=0.01))
    assert len(apart) == 3


@given(st.integers(0, 2**32 - 1))
def test_events_are_apart_within_the_criteria_and_reach_the_threshold(seed):
    rng = np.random.default_rng(seed)
    values = np.convolve(rng.normal(size=3000), np.ones(40), "same")
    time = np.arange(3000) / 1000
    criteria = Criteria(1.5, 0.02, 0.2, 0.01, 5.0)
    found = find_events(time, values, rng.uniform(0, 8, 3000), criteria)
    start, end = found["start_time"].to_numpy(), found["end_time"].to_numpy()
    assert ((end - start >= 0.02 - 1e-9) & (end - start <= 0.2 + 1e-9)).all()
    assert (start[1:] - end[:-1] >= 0.01 - 1e-9).all()
    assert (found["peak"] >= 1.5 - 1e-3).all()


def test_the_rate_counts_every_spike_within():
    time, rate = multiunit_rate([[0.1, 0.5, 0.9999], [-1.0, 1.0]], 0.0, 1.0)
    expected = np.zeros(1000)
    expected[[100, 500, 999]] = 1000.0  # each in the ms in which it is, and none from outside
    assert rate == pytest.approx(gaussian_filter1d(expected, 15.0, mode="constant"))
    assert time[[0, -1]] == pytest.approx([0.0005, 0.9995])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find_events(np.arange(2), np.ones(2)), "signal is constant"),
        (
            lambda: check_criteria(Criteria(threshold=0.0)),
            "every fluctuation above the mean would be an event",
        ),
        (
            lambda: check_criteria(Criteria(shortest=1.0, longest=0.5)),
            "longest must be a number of at least 1, got 0.5",
        ),
        (lambda: ripple_power(np.zeros((100, 1)), 300.0), "sampling rate above 500 Hz; got 300"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="criteria must be Criteria"):
        check_criteria(3)
