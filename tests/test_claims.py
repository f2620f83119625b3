"""Recordings that claim too much, or are in other units, are refused before memory is taken."""

import json
import zipfile
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy import io

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare import candidate_events
from analyses.recordings.prepare.place_fields import running
from analyses.recordings.readers import claims, read_recording
from analyses.recordings.readers.mat_files import load_mat
from analyses.recordings.readers.track_graphs import read_track
from replay.worlds.tracks import make_linear_track

TRACK = {"node_positions": [[0, 0], [150, 0]], "edges": [[0, 1]]}
X = np.tile(np.append(np.arange(150.0), np.arange(150.0, 0, -1)), 3)
ARRAYS = {
    "position_time": np.arange(900) / 30, "position_xy": np.column_stack([X, np.zeros(900)]),
    "spike_time": np.arange(300) / 10, "spike_unit": np.zeros(300, dtype=int),
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["npz", "nc", "mat"])
def test_a_bomb_is_refused_before_it_is_read(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "_LARGE", 1e6)
    path, zeros = tmp_path / f"bomb.{suffix}", np.zeros((300, 1000))
    if suffix == "npz":
        np.savez_compressed(path, **ARRAYS, posterior=zeros)
        refused = r"MB claim to be 0.0 GB: the arrays of bomb\.npz\. Recorded data"
    elif suffix == "mat":
        session = {"session": {"unused": zeros, "spike_time": np.arange(300) / 10}}
        io.savemat(path, session, do_compression=True)
        refused = r"MB claim to be 0.0 GB: the variables of bomb\.mat\. Recorded data"
    else:
        xarray = pytest.importorskip("xarray")
        pytest.importorskip("h5netcdf")
        data = xarray.Dataset({"acausal_posterior": (("time", "position"), zeros)})
        packed = {"acausal_posterior": {"zlib": True}}
        data.to_netcdf(path, engine="h5netcdf", encoding=packed)
        refused = r"MB claim to be 0.0 GB: the contents of bomb\.nc\. Recorded data"
    with pytest.raises(claims.ClaimError, match=refused):
        read_recording(path, TRACK)
    if suffix == "mat":
        io.savemat(path, session)
        assert len(load_mat(path)["spike_time"]) == 300
    if suffix == "npz":
        np.savez(path, **ARRAYS, unused=zeros)
        assert read_recording(path, TRACK).spikes


def test_encrypted_arrays_are_refused(tmp_path):
    path = tmp_path / "session.npz"
    np.savez(path, **ARRAYS)
    data = bytearray(path.read_bytes())
    for begin, flag in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = -1
        while (at := data.find(begin, at + 1)) >= 0:
            data[at + flag] |= 1
    path.write_bytes(data)
    assert zipfile.is_zipfile(path)
    with pytest.raises(ValueError, match="encrypted, password required"):
        read_recording(path, TRACK)


@pytest.mark.parametrize("key", ["nodes", "links"])
def test_nested_graphs_are_refused(key, tmp_path):
    drawn = {"nodes": [{"id": 0}], "links": []}
    path = tmp_path / "track.json"
    path.write_text(json.dumps(drawn | {key: "X"}).replace('"X"', "[" * 900 + "]" * 900))
    with pytest.raises(ValueError, match="is not a graph in the node-link form"):
        read_track(path)
    path.write_text("[" * 200_000)
    with pytest.raises(ValueError, match="cannot be read as a track graph"):
        read_track(path)


@pytest.mark.parametrize("metres", [1e3, 1e10])
def test_a_track_of_a_kilometre_is_refused_before_it_is_cut(metres):
    drawn = {"node_positions": [[0, 0], [100 * metres, 0]], "edges": [[0, 1]]}
    with pytest.raises(ValueError, match=f"{metres:,.0f} m long in all, and at most 100 m"):
        read_track(drawn)


def test_a_track_of_more_nodes_than_memory_holds_distances_of(monkeypatch):
    places = [[0.01 * number, 0] for number in range(2000)]
    drawn = {"node_positions": places, "edges": [list(pair) for pair in pairwise(range(2000))]}
    monkeypatch.setattr("replay.checks.values._memory_bytes", lambda: 1e8)
    with pytest.raises(ValueError, match="no room for the distances between 2,000 nodes"):
        cut_track(read_track(drawn))


@pytest.mark.parametrize("distance", [None, "x", np.nan])
def test_an_edge_needs_its_distance(distance):
    graph = make_linear_track(50.0)
    graph.edges[0, 1]["distance"] = distance
    with pytest.raises(ValueError, match="distance of the edge from 0 to 1, in cm, must be"):
        read_track(graph)
    with pytest.raises(ValueError, match="needs a position"):
        read_track(nx.path_graph(2))


def test_metres_are_asked_about():
    small = {**ARRAYS, "position_xy": ARRAYS["position_xy"] / 100}
    with pytest.raises(ValueError, match=r"extend over 1\.5 cm, .*Are positions in metres\?"):
        read_recording(small, TRACK)
    hall = {"node_positions": [[0, 0], [1.5, 0], [9, 20]], "edges": [[0, 1], [1, 2]]}
    with pytest.raises(ValueError, match="multiply metres by 100"):
        read_recording(small, hall)


def test_events_of_minutes_are_no_events():
    events = {"event_start": [1.0, 2.0], "event_end": [1.2, 1002.0]}
    recording = read_recording({**ARRAYS, **events}, TRACK)
    assert isinstance(recording, Recording)
    with pytest.raises(ValueError, match=r"1 of 2 candidate events .* row 1 lasts 1,000 s"):
        candidate_events.candidate_events(recording, running(recording), Settings())
