"""Simulated recordings of a model: rates, fields and speeds as requested."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.recordings.basics.binned_track import cut_track, project
from analyses.recordings.prepare.likelihood import count_spikes
from analyses.recordings.prepare.visits import experience, find_visits
from analyses.recordings.recover.cells import Cells, draw_cells
from analyses.recordings.recover.observe import observe
from replay import MDP, simulate
from replay.log.event_log import EventLog
from replay.tasks.published.t_mazes import gupta_2t
from replay.tasks.runs import run_task
from replay.worlds.tracks import make_linear_track, make_tmaze_track, make_wtrack

GRAPH = make_linear_track(200.0)
TRACK = cut_track(GRAPH, 1.0)
WORLD = MDP.from_networkx(GRAPH, bin_size=10.0)
WAY = [0, *range(2, WORLD.n_states), 1]


def laps(n=10, way=WAY, world=WORLD):
    """Run a way again and again; the animal is carried back to its beginning."""
    steps = {
        "state": way[:-1] * n,
        "next_state": way[1:] * n,
        "terminated": ([False] * (len(way) - 2) + [True]) * n,
    }
    return EventLog({"steps": steps}, mdp=world)


def replayed(states, n=10):
    return pd.DataFrame({"step": [len(WAY) - 2] * n, "states": [list(states)] * n})


def flat_cells(n_cells=5, rate=20.0):
    return Cells(TRACK, np.full((n_cells, TRACK.n_bins), rate), 0.0)


def test_the_integral_of_a_field_is_that_of_its_gaussian():
    """Away from the ends of the track: peak * width * sqrt(2 pi), in Hz cm."""
    cells = draw_cells(TRACK, 300, median_peak=20, spread=0, width=8, background=0, seed=1)
    centre = cells.rates.argmax(axis=1)
    inside = (centre > 40) & (centre < 160)
    integral = (cells.rates * TRACK.width).sum(axis=1)
    np.testing.assert_allclose(integral[inside], 20 * 8 * np.sqrt(2 * np.pi), rtol=1e-6)
    assert cells.rates.max(axis=1) == pytest.approx(20)


def test_peaks_are_log_normal_and_fields_are_anywhere():
    cells = draw_cells(TRACK, 4000, median_peak=11, spread=0.4, background=0.5, seed=2)
    log_peak = np.log(cells.rates.max(axis=1) - 0.5)
    assert log_peak.mean() == pytest.approx(np.log(11), abs=4 * 0.4 / np.sqrt(4000))
    assert log_peak.std() == pytest.approx(0.4, abs=4 * 0.4 / np.sqrt(8000))
    counts = np.bincount(cells.rates.argmax(axis=1) // 50, minlength=4)
    assert (np.abs(counts - 1000) < 5 * np.sqrt(1000)).all()


def test_a_field_lies_along_the_corridors():
    """A place that is near only through the air is far."""
    track = cut_track(make_wtrack(80, 80), 1.0)
    cells = draw_cells(track, 200, spread=0, width=10, background=0, seed=0)
    centre = cells.rates.argmax(axis=1)
    far = track.distance[centre] > 50
    assert cells.rates[far].max() < 1e-4


def test_spikes_are_poisson_at_the_rates_of_the_place():
    """Mean and variance of counts in running, and in events at the gain."""
    seen = observe(laps(), GRAPH, replayed(WAY, 40), cells=flat_cells(), gain=3.0, seed=4)
    recording = seen.recording
    events = recording.events
    lasts = (events["end_time"] - events["start_time"]).to_numpy()
    np.testing.assert_allclose(lasts, (200 - 1) / 800, rtol=0.02)
    in_events = np.concatenate(
        [
            np.diff(np.searchsorted(each, events[["start_time", "end_time"]]))
            for each in recording.spikes
        ]
    ).ravel()
    expected = 3 * 20 * lasts.mean()
    assert in_events.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / 200))
    assert in_events.var() == pytest.approx(expected, rel=0.4)  # sqrt(2 / 200) is .1
    total = sum(map(len, recording.spikes)) - in_events.sum()
    # Ten laps of 199 cm at 30 cm/s; no spikes in stillness, as the background is 0.
    expected = 5 * 20 * 10 * 199 / 30
    assert total == pytest.approx(expected, abs=4 * np.sqrt(expected))


def test_the_background_is_all_that_is_heard_in_stillness():
    cells = Cells(TRACK, np.zeros((4, TRACK.n_bins)), 2.0)
    seen = observe(laps(30), GRAPH, replayed(WAY, 30), cells=cells, seed=4).recording
    still = (
        len(seen.time) * 0.02
        - 30 * 199 / 30
        - (seen.events.end_time - seen.events.start_time).sum()
    )
    n = sum(map(len, seen.spikes))
    assert n == pytest.approx(4 * 2.0 * still, abs=5 * np.sqrt(8 * still))
    inside = [
        np.diff(np.searchsorted(each, seen.events[["start_time", "end_time"]])).sum()
        for each in seen.spikes
    ]
    assert sum(inside) == 0


def test_a_cell_fires_where_its_field_is():
    cells = draw_cells(TRACK, 30, background=0, seed=0)
    seen = observe(laps(40), GRAPH, replayed([0, 2], 1), cells=cells, seed=1)
    recording = seen.recording
    for cell, spikes in enumerate(recording.spikes):
        spikes = spikes[spikes < recording.events["start_time"].iloc[0]]
        x = np.interp(spikes, recording.time, recording.position[:, 0])
        centre = cells.rates[cell].argmax()
        if len(x) > 50 and 40 < centre < 160:
            assert abs(x.mean() - centre) < 5 * 12 / np.sqrt(len(x)) + 1


def test_the_animal_runs_at_its_speed_and_replay_at_its_own():
    seen = observe(laps(), GRAPH, replayed(WAY[:11], 3), cells=5, speed=400.0, running_speed=25.0)
    recording = seen.recording
    moved = np.hypot(*np.diff(recording.position, axis=0).T)
    taken = np.diff(recording.time)
    speed = moved[(moved > 0) & (taken < 0.03)] / 0.02
    assert np.median(speed) == pytest.approx(25.0, rel=0.01)
    lasts = recording.events["end_time"] - recording.events["start_time"]
    np.testing.assert_allclose(lasts, 100.0 / 400.0, rtol=0.02)


def test_a_jump_takes_no_time():
    far = observe(laps(), GRAPH, replayed([0, 2, 15, 16], 1), cells=5)
    near = observe(laps(), GRAPH, replayed([0, 2, 3], 1), cells=5)
    lasts = [seen.recording.events.eval("end_time - start_time").iloc[0] for seen in (far, near)]
    assert lasts[0] == pytest.approx(lasts[1])
    x = TRACK.position[far.replayed[0], 0]
    assert np.diff(x).max() > 100


def test_events_are_where_and_when_the_log_says():
    paths = pd.DataFrame({"step": [-1, 9, 9, 45, 10_000], "states": [[0, 2, 3]] * 5})
    seen = observe(laps(4), GRAPH, paths, cells=5)
    recording = seen.recording
    assert recording.events["event"].tolist() == [0, 1, 2, 3, 4]
    start, end = recording.events[["start_time", "end_time"]].to_numpy().T
    assert (end > start).all()
    assert (start[1:] >= end[:-1] + 0.9).all()
    x = np.interp(start, recording.time, recording.position[:, 0])
    # After the move of step 9 the animal is at 100 cm, after that of step 45 at 60 cm.
    np.testing.assert_allclose(x, [0.5, 100.5, 100.5, 60.5, 199.5], atol=0.6)
    for begin, stop in zip(start, end, strict=True):
        inside = (recording.time >= begin - 0.4) & (recording.time <= stop + 0.4)
        assert np.ptp(recording.position[inside, 0]) == 0


def test_the_moves_of_the_log_are_seen_again():
    graph = make_tmaze_track()
    world = MDP.from_networkx(graph, rewards={2: 1.0}, terminal=[2, 3], start=0, bin_size=10)
    log = simulate(world, "prioritized_sweeping", n_steps=600, seed=2).log
    recording = observe(log, graph, cells=5).recording
    visits = find_visits(recording.time, recording.position, graph, world)
    seen = experience(visits, world).steps
    ran = log.steps[log.steps["state"] != log.steps["next_state"]]
    n = len(seen)  # the end of the last lap may be missing
    assert len(ran) - 1 <= n <= len(ran)
    assert (seen["state"].to_numpy() == ran["state"].to_numpy()[:n]).all()
    assert (seen["next_state"].to_numpy() == ran["next_state"].to_numpy()[:n]).all()


def test_states_with_a_heading_are_places():
    task = gupta_2t(n_laps=2)
    log = run_task(task, "prioritized_sweeping", seed=1).log
    seen = observe(log, task.graph, cells=10)
    assert len(seen.recording.events) > 0
    assert project(seen.cells.track, seen.recording.position).away.max() < 1.5


def test_the_same_seed_gives_the_same_bytes():
    one, same, other = (observe(laps(), GRAPH, replayed(WAY), cells=8, seed=s) for s in (3, 3, 4))
    for a, b in zip(one.recording.spikes, same.recording.spikes, strict=True):
        assert a.tobytes() == b.tobytes()
    assert not np.array_equal(one.recording.spikes[0], other.recording.spikes[0])
    assert not np.array_equal(one.cells.rates, other.cells.rates)


@given(
    spikes=st.lists(
        st.lists(st.floats(0, 10, allow_nan=False), max_size=20).map(sorted), min_size=1, max_size=4
    ),
    start=st.lists(st.floats(0, 9), max_size=4),
    lasts=st.floats(0, 3),
    dt=st.floats(0.05, 1),
)
def test_counts_are_those_of_a_histogram(spikes, start, lasts, dt):
    start = np.array(start)
    found = count_spikes(spikes, start, start + lasts, dt)
    assert len(found) == len(start)
    for begin, counts in zip(start, found, strict=True):
        assert counts.shape == (int(np.floor((begin + lasts - begin) / dt + 1e-9)), len(spikes))
        edges = begin + dt * np.arange(len(counts) + 1)
        for cell, own in enumerate(spikes):
            for row, (low, high) in enumerate(pairwise(edges)):
                assert counts[row, cell] == sum(low <= each < high for each in own)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: observe(laps(), GRAPH, speed=0), "speed must be"),
        (lambda: observe(laps(), GRAPH, gain=-1), "gain must be"),
        (lambda: observe(laps(), GRAPH, cells=0), "cells must be"),
        (lambda: observe(laps(), GRAPH, running_speed="fast"), "running_speed must be"),
        (lambda: observe(laps(), make_wtrack(), cells=3), "from the track"),
        (
            lambda: observe(EventLog({"steps": {"state": [0], "next_state": [1]}}), GRAPH),
            "position",
        ),
        (lambda: observe(EventLog({}, mdp=WORLD), GRAPH, cells=3), "has no steps"),
        (lambda: observe(laps(), GRAPH, cells=Cells(TRACK, np.ones((3, 9)))), "on their track"),
        (lambda: observe(laps(), GRAPH, cells=Cells(TRACK, -np.ones((3, 200)))), "rates of cells"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_one_run_at_a_time():
    steps = {"run": [0, 1], "state": [0, 0], "next_state": [2, 2], "terminated": [True, True]}
    steps |= {"episode": [0, 0], "step": [0, 0]}
    with pytest.raises(ValueError, match="several runs"):
        observe(EventLog({"runs": {"run": [0, 1]}, "steps": steps}, mdp=WORLD), GRAPH, cells=3)
    with pytest.raises(TypeError, match="EventLog"):
        observe("log", GRAPH)
