"""A track that is proposed from positions: near the true one, and enough for an analysis."""

import json
import re
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from figure_of_eight import EIGHT
from nwb_layouts import jadhav
from pynwb import NWBHDF5IO
from test_readers import RECORDINGS, needs_recordings
from typer.testing import CliRunner

from analyses.cli import app
from analyses.page import write_track_page
from analyses.recordings import proposed_track, read_recording, simulated_recording
from analyses.recordings.prepare.session import prepare
from analyses.recordings.readers.track_graphs import read_track
from replay.worlds.tracks import make_linear_track, make_plus_maze_track, make_wtrack

TRACKS = {
    "line": make_linear_track(150.0),
    "w": make_wtrack(),
    "plus": make_plus_maze_track(),
    "eight": EIGHT,
}


def ways_along(graph, n_ways, seed, noise=1.5):
    """Run between ends of a track, or its corners, at 50 cm/s, tracked 30 times a second."""
    rng = np.random.default_rng(seed)
    place = {node: np.array(pos, dtype=float) for node, pos in graph.nodes(data="pos")}
    ends = [node for node in graph if graph.degree[node] == 1] or list(graph)
    here, parts = ends[0], []
    for goal in rng.choice(len(ends), n_ways):
        paths = sorted(nx.all_simple_paths(graph, here, ends[goal]), key=len)
        path = paths[rng.integers(min(2, len(paths)))] if paths else [here]
        for one, other in pairwise(path):
            n = int(np.hypot(*(place[other] - place[one])) * 30 / 50)
            parts.append(np.linspace(place[one], place[other], n))
        here = ends[goal]
        parts.append(np.repeat(place[here][None], 30, axis=0))
    xy = np.concatenate(parts)
    slow = np.stack(
        [np.convolve(each, np.ones(20) / 20, "same") for each in rng.normal(size=(2, len(xy)))]
    )
    return xy + noise * slow.T / slow.std()


@pytest.mark.parametrize("name", TRACKS)
@pytest.mark.parametrize("noise", [0.5, 1.5])
def test_the_proposal_is_near_the_true_track(name, noise):
    track = TRACKS[name]
    is_that_track(proposed_track(ways_along(track, 40, 1, noise)), track, within=4)


def is_that_track(found, track, within):
    """Check that a proposal has the nodes of a track, within some cm, and its edges."""
    assert (len(found), found.number_of_edges()) == (len(track), track.number_of_edges())
    true, own = (
        np.array([pos for _, pos in graph.nodes(data="pos")], dtype=float)
        for graph in (track, found)
    )
    apart = np.hypot(*np.moveaxis(true[:, None] - own[None], -1, 0))
    assert apart.min(axis=1).max() < within
    nearest = dict(enumerate(apart.argmin(axis=1).tolist()))
    names = list(track)
    same = {frozenset(nearest[names.index(node)] for node in edge) for edge in track.edges}
    assert same == {frozenset(edge) for edge in found.edges}


def test_arms_are_not_joined_where_the_animal_turns_its_head():
    # At ends that are 40 cm apart the head goes round in circles of 19 cm to both sides.
    track = make_wtrack()
    angle = np.linspace(0, 2 * np.pi, 60)
    circle = 9.5 * np.column_stack([1 - np.cos(angle), np.sin(angle)])
    parts = [ways_along(track, 40, 1, 1.0)]
    for node, pos in track.nodes(data="pos"):
        if track.degree[node] == 1:
            middle = np.subtract(pos, (0, 10))
            parts += [middle + circle, middle - circle] * 8
    is_that_track(proposed_track(np.concatenate(parts)), track, within=6)


@needs_recordings
def test_a_recorded_w_maze_has_five_edges():
    recorded = np.load(RECORDINGS / "wmaze.npz")
    drawn = read_track(RECORDINGS / "wmaze_track_graph.json")
    found = proposed_track(recorded["position_xy_px"] / drawn.graph["pixels_per_cm"])
    is_that_track(found, drawn, within=6)


def test_noise_at_rest_is_no_way():
    rest = np.random.default_rng(1).normal((60, 5), 1.3, (20_000, 2))
    found = proposed_track(np.concatenate([ways_along(EIGHT, 40, 1), rest]))
    assert (len(found), found.number_of_edges()) == (6, 7)


def test_two_tracks_are_two_parts():
    there = ways_along(make_linear_track(100.0), 20, 1)
    here = ways_along(make_wtrack(), 30, 2) + np.array([0, 60])
    found = proposed_track(np.concatenate([there, here]))
    assert nx.number_connected_components(found) == 2


@pytest.mark.parametrize(
    ("position", "message"),
    [([[1.0, 2.0]] * 9, "places that differ"), (np.zeros((4, 3)), "two columns")],
)
def test_what_is_no_track_is_refused(position, message):
    with pytest.raises(ValueError, match=message):
        proposed_track(position)


def test_a_recording_is_analysed_with_its_proposal_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recording = simulated_recording(8)
    arrays = {
        "position_time": recording.time,
        "position_xy": recording.position,
        "spike_time": np.concatenate(recording.spikes),
        "spike_unit": np.repeat(np.arange(len(recording.spikes)), [*map(len, recording.spikes)]),
        "event_start": recording.events["start_time"],
        "event_end": recording.events["end_time"],
    }
    np.savez("rat.npz", **arrays)
    done = CliRunner().invoke(app, ["track", "rat.npz"])
    assert done.exit_code == 0, done.output
    assert "6 nodes, 5 edges, 3" in done.output
    assert "replay recording rat.npz --track track.json" in done.output
    assert {path.name for path in tmp_path.iterdir()} >= {"track.json", "track.html", "track.png"}
    session = prepare(read_recording("rat.npz", "track.json"))
    assert len(session.cells) > 40
    assert len(session.events) == len(recording.events)
    # Drawing goes on with what was saved, which is not overwritten.
    saved = json.loads((tmp_path / "track.json").read_text())
    saved |= {"landmarks": {"left": ["0"]}, "run_epochs": [[0, 9]]}
    (tmp_path / "track.json").write_text(json.dumps(saved))
    assert CliRunner().invoke(app, ["track", "rat.npz"]).exit_code == 0
    assert json.loads((tmp_path / "track.json").read_text()) == saved
    assert '"run_epochs":[[0.0,9.0]]' in (tmp_path / "track.html").read_text()


def test_pixels_are_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pixels = 3 * ways_along(make_wtrack(), 30, 1)
    time = np.arange(len(pixels)) / 30
    np.savez("rat.npz", position_time=time, position_xy_px=pixels, spike_time=[1.0], spike_unit=[0])
    done = CliRunner().invoke(app, ["track", "rat.npz"])
    assert "Positions are in pixels" in done.output
    assert not (tmp_path / "track.json").exists()
    done = CliRunner().invoke(app, ["track", "rat.npz", "--pixels-per-cm", "3"])
    assert done.exit_code == 0, done.output
    track = read_track("track.json")
    assert track.graph["pixels_per_cm"] == 3
    assert max(x for _, (x, _) in track.nodes(data="pos")) == pytest.approx(80, abs=4)
    read = read_recording("rat.npz", "track.json")
    assert read.position.max() < 100
    # Where the tracker stands still, the animal does not run.
    there = np.arange(2 * len(pixels)) / 30
    still = np.concatenate([pixels, np.full_like(pixels, 900.0)])
    np.savez("kept.npz", position_time=there, position_xy_px=still)
    given = ["track", "kept.npz", "--pixels-per-cm", "3", "--out", "kept.json"]
    assert "kept.json has these times already" in CliRunner().invoke(app, given).output
    [[begin, end]] = read_track("kept.json").graph["run_epochs"]
    assert (begin, end) == pytest.approx((0.0, time[-1]), abs=0.1)
    assert "kept.npz: arrays" in read_recording("kept.npz", "kept.json").notes[0]
    done = CliRunner().invoke(app, ["track", "rat.npz", "--out", "no.txt"])
    assert "must end with .json" in str(done.exception)


def test_a_track_is_proposed_from_when_the_animal_was_on_it(tmp_path, monkeypatch):
    """Not from its way about another place, before or after."""
    monkeypatch.chdir(tmp_path)
    run, elsewhere = ways_along(make_wtrack(), 30, 1), ways_along(TRACKS["line"], 20, 2) + 300
    time = np.arange(len(run) + len(elsewhere)) / 30
    arrays = {"position_time": time, "position_xy": np.concatenate([run, elsewhere])}
    np.savez("rat.npz", **arrays, on_track_start=[0.0], on_track_end=[len(run) / 30 - 0.1])
    assert CliRunner().invoke(app, ["track", "rat.npz"]).exit_code == 0
    is_that_track(read_track("track.json"), make_wtrack(), within=4)


def test_the_graph_of_a_file_is_drawn(tmp_path, monkeypatch):
    """And no proposal, whose nodes would have other names."""
    monkeypatch.chdir(tmp_path)
    graph = {"node_positions": [[100, 0], [0, 0]], "edges": [[1, 0]]}
    jadhav(tmp_path / "rat.nwb", n_samples=10)
    with NWBHDF5IO("rat.nwb", "a") as opened:
        file = opened.read()
        file.add_scratch(json.dumps(graph), name="track_graph", description="x")
        opened.write(file)
    done = CliRunner().invoke(app, ["track", "rat.nwb"])
    assert "The track graph of the file on the positions: track.png. 2 nodes" in done.output
    assert not (tmp_path / "track.json").exists()
    assert '"nodes":[{"x":100.0,"y":0.0' in (tmp_path / "track.html").read_text()


def test_nothing_of_a_file_can_run_on_the_page(tmp_path):
    track = make_linear_track(100.0)
    track.graph["landmarks"] = {"</script><script>alert(1)": ["0"]}
    title = "</title><img src=x onerror=alert(1)>"
    places = [[0, 0], [np.nan, 0], [100, 0]]
    page = write_track_page(places, track, tmp_path / "track.html", title=title)
    text = page.read_text("utf-8")
    assert "alert(1)" not in re.sub(r'<script type="application/json".*?</script>', "", text)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    assert data["title"] == title
    assert data["positions"][1] is None
    assert data["edges"] == [[0, 1, False]]
