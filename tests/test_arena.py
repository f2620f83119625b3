"""Arenas: bins in two dimensions, fields and decoding in them, and replay that is known."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from analyses.plots.decoded_event import posterior_figure
from analyses.recordings import find_replay
from analyses.recordings.basics.arena import arena_graph, find_arena, world_of
from analyses.recordings.basics.binned_track import bins_on_way, cut_track, project
from analyses.recordings.basics.settings import ARENA
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.place_fields import place_fields, running, running_bins
from analyses.recordings.prepare.session import prepare
from analyses.recordings.prepare.state_space_decoder import state_posterior, walk_transitions
from analyses.recordings.prepare.visits import find_visits
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.track_graphs import draw_track, read_track
from analyses.recordings.recover.simulated_recording import simulated_arena
from analyses.reports import notes_of

SMALL = ARENA._replace(state_size=25.0, other_sizes=(), n_shuffles=5, n_controls=3)


@pytest.fixture(scope="module")
def seen():
    return simulated_arena(3, size=120.0, minutes=5.0, n_cells=40, bin_size=8.0, seed=5)


def positions(blocked=lambda x, y: False):
    """Visit each cm of a field of 100 x 100 cm that is not blocked."""
    x, y = (each.ravel() + 0.5 for each in np.meshgrid(np.arange(100.0), np.arange(100.0)))
    free = np.array([not blocked(*place) for place in zip(x, y, strict=True)])
    return np.column_stack([x, y])[free]


def walled():
    """Return an arena with a wall of 10 cm from the bottom to 70 cm."""
    return find_arena(positions(lambda x, y: 50 <= x < 60 and y < 70))


def bin_at(track, x, y):
    return int(project(track, [(x, y)]).bin[0])


def test_distances_are_straight_in_the_open_and_go_around_walls():
    open_field, walls = cut_track(find_arena(positions())), cut_track(walled())
    straight = np.hypot(*(open_field.position[:, None] - open_field.position[None]).T)
    np.testing.assert_allclose(open_field.distance, straight, atol=1e-9)
    here, there = bin_at(walls, 42, 12), bin_at(walls, 67, 12)
    around = 2 * np.hypot(7.5, 60)  # over a corner of the wall
    assert around < walls.distance[here, there] < 1.1 * (around + 15)
    way = bins_on_way(walls, here, there)
    assert way[0] == here
    assert way[-1] == there
    assert (walls.distance[way[:-1], way[1:]] <= 1.5 * walls.square).all()


def test_neither_steps_nor_fields_cross_a_wall():
    track = cut_track(walled())
    left, right = bin_at(track, 47, 12), bin_at(track, 62, 12)
    walk = walk_transitions(track, 100.0).toarray()
    np.testing.assert_allclose(walk.sum(axis=1), 1.0)
    assert walk[left, right] == 0.0
    assert walk[left, bin_at(track, 32, 12)] > 0.0
    ran = np.arange(track.n_bins)
    spikes = (ran == left).astype(int)[:, None]
    [rate] = place_fields(track, ran, spikes, 1.0, smoothing=10.0)
    assert rate[right] < 1e-6 < 0.01 < rate[bin_at(track, 37, 12)]


def test_an_arena_is_where_the_animal_went():
    stray = [(300.0, 300.0), (np.nan, 0.0)]
    hole = positions(lambda x, y: 30 <= x < 35 and 30 <= y < 35)
    assert len(find_arena(np.concatenate([hole, stray]))) == 400
    assert len(walled()) == 400 - 28


@pytest.mark.parametrize("variance", [15.0, 60.0])
def test_the_sparse_decoder_is_the_dense_one(variance):
    track = cut_track(find_arena(positions(), 10.0))
    walk = walk_transitions(track, variance)
    likely = np.random.default_rng(1).normal(0, 3, (30, track.n_bins))
    sparse, dense = state_posterior(likely, walk), state_posterior(likely, walk.toarray())
    np.testing.assert_allclose(sparse[0], dense[0], atol=1e-12)
    np.testing.assert_allclose(sparse[1], dense[1])


def test_the_posterior_is_that_of_non_local_detector():
    """Its core and random walk (0.6.9), same fields; ours has no steps beyond 4 s.d., .0003."""
    with np.load(Path(__file__).parent / "reference" / "nld_arena.npz") as theirs:
        track = cut_track(arena_graph(theirs["centres"], 9.9))
        likelihoods = log_likelihood(theirs["counts"], theirs["rates"], 0.02)
        posterior, evidence = state_posterior(likelihoods, walk_transitions(track, 60.0))
        assert np.corrcoef(posterior.ravel(), theirs["posterior"].ravel())[0, 1] > 0.9999
        np.testing.assert_allclose(posterior, theirs["posterior"], atol=1e-3)
        assert evidence == pytest.approx(float(theirs["log_evidence"]), abs=0.01)


def test_running_is_decoded_within_10_cm_in_2_x_2_m():
    """Fields are from the first half of the run; bins of .1 s, and the decoder for replay."""
    recording = simulated_arena(1, minutes=8.0, seed=3).recording
    track, moved = cut_track(recording.graph), running(recording)
    place = running_bins(moved, track, 5.0)
    half, width = len(place) // 2, 5
    known = np.where(np.arange(len(place)) < half, place, -1)
    rates = place_fields(track, known, moved.counts, 0.02, smoothing=8.0, lowest_rate=0.1)
    n_time = 300
    tested = slice(half, half + n_time * width)
    counts = moved.counts[tested].toarray().reshape(n_time, width, -1).sum(axis=1)
    posterior, _ = state_posterior(log_likelihood(counts, rates, 0.1), walk_transitions(track, 30))
    found = track.position[posterior.sum(axis=1).argmax(axis=1)]
    true = moved.position[tested][width // 2 :: width]
    assert np.median(np.hypot(*(found - true).T)) < 10.0


def test_states_are_neighbours_where_the_way_is_direct():
    world = world_of(walled(), 25.0)
    assert world.n_states == 16
    joined = nx.Graph(world.to_networkx())
    number = {tuple(np.floor(xy / 25).astype(int)): k for k, xy in enumerate(world.position)}
    assert joined.has_edge(number[0, 0], number[1, 1])
    assert not joined.has_edge(number[1, 0], number[2, 0])
    assert joined.has_edge(number[1, 3], number[2, 3])


def test_a_straight_run_visits_states_in_order_without_flicker():
    graph = find_arena(positions())
    world, x = world_of(graph, 20.0), np.linspace(5, 95, 200)
    noise = 1.5 * np.random.default_rng(0).standard_normal((200, 2))
    visits = find_visits(np.arange(200), np.column_stack([x, x]) + noise, graph, world)
    visited = world.position[visits["state"]]
    assert (np.diff(visited, axis=0) >= 0).all()
    assert len(visited) == 5


def test_a_run_along_a_border_visits_a_state_of_each_column():
    graph, x = find_arena(positions()), np.linspace(5, 95, 200)
    world = world_of(graph, 25.0)
    y = 50.0 + 1.5 * np.random.default_rng(0).standard_normal(200)  # a border, 12 cm from centres
    visited = world.position[find_visits(x, np.column_stack([x, y]), graph, world)["state"]]
    assert len(visited) == 4
    assert (np.diff(visited[:, 0]) > 0).all()


def test_an_arena_is_read_as_it_was_drawn():
    graph = walled()
    drawn = read_track(json.loads(json.dumps(draw_track(graph))))
    assert nx.utils.graphs_equal(graph, drawn)


def test_replay_in_an_arena_is_found(seen):
    found = find_replay(seen.recording, judgement=SMALL)
    assert found.events["is_replay"].sum() >= 2
    true = [np.interp(found.paths["time"], seen.paths["time"], seen.paths[axis]) for axis in "xy"]
    away = np.hypot(found.paths["x"] - true[0], found.paths["y"] - true[1])
    assert away.median() < 15.0  # 57 by chance
    assert any(
        "In an arena, fields are not estimated by heading" in note for note in notes_of(found)
    )
    assert any("cells have place fields in the arena: " in note for note in notes_of(found))


def test_a_recording_in_an_open_field_needs_no_track(seen):
    spikes = seen.recording.spikes
    arrays = {
        "position_time": seen.recording.time,
        "position_xy": seen.recording.position,
        "spike_time": np.concatenate(spikes),
        "spike_unit": np.repeat(np.arange(len(spikes)), [len(each) for each in spikes]),
    }
    found = read_recording(arrays, bin_size=8.0)
    assert nx.utils.graphs_equal(found.graph, seen.recording.graph)
    assert "taken to move in an arena" in found.notes[-1]
    arrays["position_xy"] = seen.recording.position * [1.0, 0.0]
    with pytest.raises(ValueError, match=r"no track graph: .* is no open field"):
        read_recording(arrays)


def test_a_posterior_in_two_dimensions_needs_no_track(seen):
    """As replay_trajectory_classification writes it, on a grid of its own."""
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    session = prepare(seen.recording, judgement=SMALL)
    place = session.track.position
    x, y = (np.unique(place[:, axis]) for axis in range(2))
    time, posterior = [], []
    for begin, counts in zip(session.events["start_time"], session.counts, strict=True):
        likelihoods = log_likelihood(counts, session.decoded_rates, session.time_bin)
        time.append(begin + (np.arange(len(counts)) + 0.5) * session.time_bin)
        posterior.append(state_posterior(likelihoods, session.walk())[0].sum(axis=1))
    grid = np.full((sum(map(len, time)), len(x), len(y)), np.nan)
    grid[:, np.searchsorted(x, place[:, 0]), np.searchsorted(y, place[:, 1])] = np.concatenate(
        posterior
    )
    data = xarray.Dataset(
        {"acausal_posterior": (("time", "x_position", "y_position"), grid)},
        coords={"time": np.concatenate(time), "x_position": x, "y_position": y},
    )
    moved = {"position_time": seen.recording.time, "position_xy": seen.recording.position}
    given = read_recording(data, session=moved, events=seen.recording.events)
    assert "taken to move in an arena" in given.notes[-1]
    paths = find_replay(given).paths
    true = [np.interp(paths["time"], seen.paths["time"], seen.paths[axis]) for axis in "xy"]
    away = np.hypot(paths["x"] - true[0], paths["y"] - true[1])
    assert away.median() < 15.0  # 57 by chance
    with pytest.raises(ValueError, match=r"An open field needs none, but the animal's positions"):
        read_recording(data)


def test_an_event_in_an_arena_is_drawn_with_both_coordinates(seen):
    track = cut_track(seen.recording.graph)
    posterior = np.full((20, 3, track.n_bins), 1 / 3 / track.n_bins)
    path = bins_on_way(track, 0, track.n_bins - 1)[:20]
    figure = posterior_figure(posterior[: len(path)], track, path=path)
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert labels[:2] == ["x (cm)", "y (cm)"]
    [line] = figure.axes[0].lines
    np.testing.assert_allclose(line.get_ydata(), track.position[path, 0])


@pytest.mark.slow
def test_most_sweeps_are_found_and_hardly_any_by_chance():
    """With 60 cells in 2 x 2 m recall is much lower, as the guide says."""
    seen = simulated_arena(20, n_cells=120, seed=11)
    found = find_replay(seen.recording, judgement=ARENA._replace(n_shuffles=5, other_sizes=()))
    assert found.events["is_replay"].mean() >= 0.7
    assert found.calibration.false_positive_rate <= 0.05
    assert found.controls["rate"].max() <= 0.1


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda seen: prepare(seen, judgement=ARENA._replace(state_size=90.0)), "half of the"),
        (lambda seen: prepare(seen, judgement=SMALL._replace(lap_ends=("0",))), "no nodes"),
        (lambda seen: find_arena(seen.position / 100), "metres"),
        (lambda seen: find_arena(seen.position * 1000), "larger bins"),
        (lambda seen: cut_track(find_arena(positions(), 1.0)), "at most 6,400"),
        (lambda seen: arena_graph([[0, 0], [7, 0]], 5.0), "one grid"),
        (lambda seen: world_of(seen.graph, 1000.0), "smaller states"),
    ],
)
def test_what_an_arena_cannot_do_is_said(seen, call, text):
    with pytest.raises(ValueError, match=text):
        call(seen.recording)


def test_the_criteria_of_an_arena_are_the_default_there(seen):
    assert prepare(seen.recording).judgement == ARENA
