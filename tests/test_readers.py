"""Readers: every format gives the same recording, and each malformed file a clear message."""

import io
import json
import os
import pickle
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from malformed import limited

from analyses.recordings.readers import read_recording
from analyses.recordings.readers.claims import check_hdf5
from analyses.recordings.readers.contents import describe_file
from analyses.recordings.readers.decoded import open_table
from analyses.recordings.readers.intervals import read_intervals
from analyses.recordings.readers.track_graphs import linear_to_plane, read_track, to_cm

RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"
needs_recordings = pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings are not here")

TRACK = {"node_positions": [[0, 0], [60, 0], [60, 40]], "edges": [[0, 1], [1, 2]]}
CORRIDOR = {"node_positions": [[0, 0], [100, 0]], "edges": [[0, 1]]}
LAID_OUT = TRACK | {"linear_edge_order": [[0, 1], [1, 2]], "linear_edge_spacing": 15}
TIME = np.arange(0.0, 40.0, 0.05)
FAR = 50 - 50 * np.cos(TIME)  # along the track
XY = np.where(FAR[:, None] < 60, np.stack([FAR, 0 * FAR], 1), np.stack([0 * FAR + 60, FAR - 60], 1))
ARRAYS = {
    "position_time": TIME,
    "position_xy": XY,
    "spike_time": np.arange(0.0, 40.0, 0.1),
    "spike_unit": np.arange(400) % 7,
}
POSITIONS = {name: ARRAYS[name] for name in ("position_time", "position_xy")}


def same(one, other):
    assert np.allclose(one.time, other.time)
    assert np.allclose(one.position, other.position)
    assert len(one.spikes) == len(other.spikes)
    for here, there in zip(one.spikes, other.spikes, strict=True):
        assert np.allclose(here, there)


@pytest.fixture
def whole():
    return read_recording(ARRAYS, TRACK)


def small_memory(monkeypatch):
    monkeypatch.setattr("replay.checks.values._LITTLE", 0)
    monkeypatch.setattr("replay.checks.values._memory_bytes", lambda: 1e6)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "nwb", "nc", "json"])
def test_pipes_devices_and_folders_are_not_read(tmp_path, suffix):
    """A pipe would block for ever, and a device never end."""
    folder, pipe, device = (tmp_path / f"{name}.{suffix}" for name in ("folder", "pipe", "device"))
    folder.mkdir()
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (folder, pipe, device):
        with limited(20), pytest.raises((OSError, ValueError), match="must be a file, but it"):
            (read_track if suffix == "json" else read_recording)(path)


def test_arrays_that_memory_cannot_hold_are_refused_before_they_are_read(tmp_path):
    header = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
    np.lib.format.write_array_header_1_0(header, about)
    path = tmp_path / "session.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("position_time.npy", header.getvalue() + bytes(80))
    with pytest.raises(ValueError, match=r"no room for the arrays of session\.npz: .* 80,000"):
        read_recording(path, TRACK)


def test_less_than_none_does_not_offset_what_other_arrays_claim(tmp_path):
    path = tmp_path / "session.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, shape in {"position_time": (10**13,), "spike_time": (-(10**13),)}.items():
            header = io.BytesIO()
            about = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(header, about)
            archive.writestr(f"{name}.npy", header.getvalue() + bytes(80))
    with pytest.raises(ValueError, match=r"no room for the arrays of session\.npz: .* 160,000"):
        read_recording(path, TRACK)


def test_a_table_of_few_bytes_may_claim_any_number_of_rows(tmp_path, monkeypatch):
    path = tmp_path / "session.parquet"
    table = pd.DataFrame({"time": np.zeros(100_000), "x": 0.0, "y": 0.0})
    table.to_parquet(path)
    assert path.stat().st_size < 50_000
    assert len(open_table(path)) == 100_000
    small_memory(monkeypatch)
    with pytest.raises(ValueError, match=r"no room for the contents of .*session\.parquet"):
        read_recording(path, TRACK)


class TestHdf5:
    """NWB and NetCDF files."""

    def make(self, path, fill):
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            fill(h5py, file)

    def refused(self, path):
        with pytest.raises((OSError, ValueError)) as caught:
            check_hdf5(path)
        return str(caught.value)

    def test_data_that_were_never_written(self, tmp_path):
        path = tmp_path / "session.nwb"
        self.make(
            path, lambda h5py, file: file.create_dataset("raw", (10**13,), "f8", chunks=(1000,))
        )
        assert "no room for 'raw' of session.nwb" in self.refused(path)

    def test_data_that_were_written_may_be_large(self, tmp_path, monkeypatch):
        path = tmp_path / "session.nwb"
        self.make(
            path,
            lambda h5py, file: file.create_dataset("a/b", data=np.zeros(10**6), compression="gzip"),
        )
        small_memory(monkeypatch)  # a part of it may be all that is read
        check_hdf5(path)

    @pytest.mark.parametrize("how", ["link", "external", "virtual"])
    @pytest.mark.parametrize("other", ["../outside.h5", "/dev/zero", "pipe.h5"])
    def test_other_files_are_beside_it(self, tmp_path, how, other):
        def fill(h5py, file):
            if how == "link":
                file["raw"] = h5py.ExternalLink(other, "/raw")
            elif how == "external":
                file.create_dataset("raw", (3,), "f8", external=[(other, 0, 24)])
            else:
                layout = h5py.VirtualLayout((3,), "f8")
                layout[:] = h5py.VirtualSource(other, "raw", (3,))
                file.create_virtual_dataset("raw", layout)

        folder = tmp_path / "data"
        folder.mkdir()
        if hasattr(os, "mkfifo"):
            os.mkfifo(folder / "pipe.h5")
        self.make(tmp_path / "outside.h5", lambda h5py, file: file.update(raw=[1.0, 2.0, 3.0]))
        self.make(folder / "session.nwb", fill)
        with limited(20):
            message = self.refused(folder / "session.nwb")
        if how == "external":
            assert "'raw' of session.nwb keeps its values in another file" in message
        else:
            assert "must be a file" in message or "must lie inside" in message

    def test_other_files_may_lead_to_others(self, tmp_path):
        """A file beside it that leads outside; and two that lead to one another."""
        folder = tmp_path / "data"
        folder.mkdir()
        leads = {"session.nwb": "a.h5", "a.h5": "b.h5", "b.h5": "a.h5"}
        for name, other in leads.items():
            self.make(
                folder / name,
                lambda h5py, file, other=other: file.update(raw=h5py.ExternalLink(other, "/raw")),
            )
        with limited(20):
            check_hdf5(folder / "session.nwb")
            self.make(
                folder / "b.h5",
                lambda h5py, file: file.update(raw=h5py.ExternalLink("../outside.h5", "/raw")),
            )
            assert "must lie inside" in self.refused(folder / "session.nwb")


class TestTracks:
    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no file .*track\.json: give the JSON file"):
            read_track(tmp_path / "track.json")

    def test_all_forms_give_the_same_graph(self, tmp_path):
        drawn = read_track(TRACK)
        path = tmp_path / "track.json"
        path.write_text(json.dumps(TRACK), "utf-8")
        links = nx.node_link_data(drawn, edges="links")
        for each in (path, str(path), drawn, json.loads(json.dumps(links))):
            graph = read_track(each)
            assert nx.utils.graphs_equal(nx.Graph(graph.edges), nx.Graph(drawn.edges))
            assert [tuple(p) for _, p in graph.nodes(data="pos")] == [(0, 0), (60, 0), (60, 40)]

    def test_places_on_the_line_go_round_the_corner(self):
        graph = read_track(LAID_OUT)
        places = linear_to_plane(graph, [0, 59, 67, 75, 115, 116], "bins")
        expected = [[0, 0], [59, 0], [np.nan] * 2, [60, 0], [60, 40], [np.nan] * 2]
        assert np.allclose(places, expected, equal_nan=True)
        turned = read_track(LAID_OUT | {"linear_edge_order": [[2, 1], [0, 1]]})
        assert np.allclose(
            linear_to_plane(turned, [0, 40, 55], "bins"), [[60, 40], [60, 0], [0, 0]]
        )

    @pytest.mark.parametrize(
        ("track", "message"),
        [
            ({"edges": [[0, 1]]}, "lacks node_positions: a track graph needs"),
            (TRACK | {"node_positions": None}, r"a pair \(x, y\) in cm .* 2 dimensions, got None"),
            (TRACK | {"node_positions": {"a": [0, 0]}}, r"2 dimensions, got {'a': \[0, 0\]}"),
            (TRACK | {"node_positions": [[0, 0], [60, None]]}, r"entry \[1, 1\] has None"),
            (TRACK | {"units": "pixels"}, "must be in cm; got units 'pixels'"),
            (TRACK | {"edges": [[0, 7]]}, "must join two of the nodes"),
            (TRACK | {"pixels_per_cm": -3}, "pixels_per_cm"),
            (TRACK | {"landmarks": [0, 1]}, "landmarks of .* must be lists of nodes by name"),
            ({"nodes": [{"id": 0}], "links": [{"source": 0}]}, "node-link form"),
            (nx.Graph([(0, 1)]), "needs a position, pos="),
        ],
    )
    def test_graphs_that_are_none(self, track, message):
        with pytest.raises(ValueError, match=message):
            read_recording(ARRAYS, track)

    def test_files_that_are_none(self, tmp_path):
        (tmp_path / "track.json").write_text("{", "utf-8")
        with pytest.raises(ValueError, match="cannot be read as a track graph in JSON"):
            read_track(tmp_path / "track.json")
        with pytest.raises(TypeError, match=r"must be a networkx\.Graph, or JSON"):
            read_track([1, 2])
        with pytest.raises(ValueError, match="without an order"):
            linear_to_plane(read_track(TRACK), [1.0], "bins")
        with pytest.raises(ValueError, match="not an edge of the graph"):
            linear_to_plane(read_track(LAID_OUT | {"linear_edge_order": [[0, 2]]}), [1.0], "bins")


class TestUnits:
    @pytest.mark.parametrize(
        ("unit", "scale"), [("cm", 1), ("meters", 100), ("m", 100), ("mm", 0.1), ("Centimetres", 1)]
    )
    def test_lengths(self, unit, scale):
        assert to_cm([2.0], unit, None, "x")[0] == pytest.approx([2 * scale])

    def test_pixels_need_a_scale(self):
        with pytest.raises(ValueError, match=r"in pixels, but cm are needed: add pixels_per_cm"):
            to_cm([2.0], "pixels", read_track(TRACK), "x")
        graph = read_track(TRACK | {"pixels_per_cm": 4})
        assert to_cm([2.0], "px", graph, "x")[0] == pytest.approx([0.5])

    def test_other_units(self):
        with pytest.raises(ValueError, match="got the unit 'furlongs'"):
            to_cm([2.0], "furlongs", None, "x")


class TestArrays:
    def test_a_file_gives_what_the_arrays_give(self, whole, tmp_path):
        np.savez(tmp_path / "mine.npz", **ARRAYS)
        found = read_recording(tmp_path / "mine.npz", TRACK)
        same(found, whole)
        assert found.digest() == whole.digest()
        assert found.origin["file"] == "mine.npz"
        assert len(found.origin["sha256"]) == 64
        assert found.notes[0] == "mine.npz: arrays; 800 positions; 7 cells with 400 spikes."
        assert found.notes[1] == "Track: 3 nodes, 2 edges, 100 cm."

    def test_ticks_and_pixels(self, whole):
        ticks = {
            "clock_hz": np.array(30_000),
            "position_t_ticks": np.round(TIME * 30_000).astype(np.uint32),
            "position_xy_px": XY * 4,
            "spike_t_ticks": np.round(ARRAYS["spike_time"] * 30_000).astype(np.uint32),
            "spike_unit": ARRAYS["spike_unit"],
        }
        same(read_recording(ticks, TRACK | {"pixels_per_cm": 4}), whole)
        with pytest.raises(ValueError, match=r"clock_hz of the arrays must be .* at least 0.1"):
            read_recording(ticks | {"clock_hz": np.array(-30_000)}, TRACK)
        with pytest.raises(ValueError, match="no clock_hz, the number of ticks"):
            read_recording({k: v for k, v in ticks.items() if k != "clock_hz"}, TRACK)

    def test_epochs_and_events(self):
        spans = {"event_start": [5.0], "event_end": [5.2], "on_track_start": [1.0]}
        found = read_recording(ARRAYS | spans | {"on_track_end": [30.0]}, TRACK)
        assert found.events.to_numpy().tolist() == [[5.0, 5.2]]
        assert found.on_track.tolist() == [[1.0, 30.0]]
        with pytest.raises(ValueError, match="has on_track_start, but no on_track_end, the other"):
            read_recording(ARRAYS | spans, TRACK)
        drawn = TRACK | {"run_epochs": [[2.0, 20.0]]}
        assert read_recording(ARRAYS, drawn).on_track.tolist() == [[2.0, 20.0]]

    def test_the_field_potential(self):
        more = {
            "field_potential": np.ones((100, 2)),
            "field_potential_start": 5.0,
            "field_potential_rate": 1500.0,
        }
        found = read_recording(ARRAYS | more, TRACK, events="find_ripples").field_potential
        assert (found.start, found.rate, found.signal.shape) == (5.0, 1500.0, (100, 2))
        assert read_recording(ARRAYS | more, TRACK, events="find").field_potential is None
        lacking = {k: v for k, v in (ARRAYS | more).items() if not k.endswith("rate")}
        with pytest.raises(ValueError, match="but no field_potential_rate, its sampling"):
            read_recording(lacking, TRACK)
        with pytest.raises(ValueError, match="no field potential to detect ripples in"):
            read_recording(ARRAYS, TRACK, events="find_ripples")

    def test_a_posterior_with_its_bins(self):
        more = {
            "posterior": np.eye(3),
            "posterior_time": [1.0, 1.1, 1.2],
            "posterior_xy": [[0, 0], [60, 0], [60, 40]],
        }
        found = read_recording(ARRAYS | more, TRACK)
        assert found.posterior.probability.tolist() == np.eye(3).tolist()
        assert "a posterior of 3 times and 3 bins" in found.notes[0]
        cube = ARRAYS | more | {"posterior": np.full((3, 2, 2), 0.25)}
        with pytest.raises(ValueError, match=r"got the shape \(3, 2, 2\). In two dimensions, resh"):
            read_recording(cube, TRACK)
        with pytest.raises(ValueError, match="has posterior, but no posterior_xy, the centres"):
            read_recording({k: v for k, v in (ARRAYS | more).items() if k != "posterior_xy"}, TRACK)

    @pytest.mark.parametrize(
        ("unit", "units"),
        [
            ([5, 2, 5, 9], ("2", "5", "9")),
            (["b", "a", "b", "c"], ("a", "b", "c")),
            ([[2, 1], [1, 7], [2, 1], [3, 0]], ("1-7", "2-1", "3-0")),  # tetrode and cluster
        ],
    )
    def test_cells_keep_their_ids(self, unit, units):
        own = {"spike_time": [1.0, 2.0, 3.0, 4.0], "spike_unit": unit}
        found = read_recording(ARRAYS | own, TRACK)
        assert found.units == units
        assert [each.tolist() for each in found.spikes] == [[2.0], [1.0, 3.0], [4.0]]

    def test_positions_twice_are_told(self):
        found = read_recording(ARRAYS | {"position_xy_px": np.zeros((3, 2))}, TRACK)
        assert "not read: 'position_xy_px'" in found.notes[0]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"spike_unit": np.arange(3)}, "got 400 of spike_time, 3 of spike_unit"),
            ({"spike_unit": None}, "no spike_unit, the cell of each spike"),
            ({"position_xy": None}, r"neither position_xy \(cm\) nor position_xy_px"),
            ({"position_time": None, "spike_time": None}, "must have the arrays position_time"),
            ({"spike_time": np.array(["a"] * 400)}, "spike_time of the arrays must hold finite"),
            ({"position_xy": XY[:, [0, 1, 1]]}, r"two columns, n x 2, or two rows.*\(800, 3\)"),
            ({"position_xy": XY.ravel()}, r"two columns, n x 2, or two rows.*\(1600,\)"),
            ({"position_xy": XY[:-1].T}, "a pair .* for each time"),
            ({"position_xy": XY * 8}, "pixels"),
            ({"spike_time": np.arange(400) * 30_000.0}, "in samples"),
        ],
    )
    def test_arrays_that_make_no_sense(self, changes, message):
        arrays = {k: v for k, v in (ARRAYS | changes).items() if v is not None}
        with pytest.raises(ValueError, match=message):
            read_recording(arrays, TRACK)

    def test_pickles_are_refused(self, tmp_path):
        np.savez(tmp_path / "objects.npz", spikes=np.array([{}, None], dtype=object))
        with pytest.raises(ValueError, match="pickled objects, which are not read"):
            read_recording(tmp_path / "objects.npz", TRACK)
        (tmp_path / "decoder.pkl").write_bytes(pickle.dumps({}))
        with pytest.raises(ValueError, match=r"decoder\.pkl is a pickle\. Pickles are not read"):
            read_recording(tmp_path / "decoder.pkl", TRACK)

    def test_a_file_that_is_cut_off(self, tmp_path):
        np.savez(tmp_path / "mine.npz", **ARRAYS)
        whole = (tmp_path / "mine.npz").read_bytes()
        for n_bytes in (0, 10, len(whole) // 2, len(whole) - 5):
            (tmp_path / "cut.npz").write_bytes(whole[:n_bytes])
            with pytest.raises(ValueError, match=r"cut\.npz .*(truncated|cannot be read)"):
                read_recording(tmp_path / "cut.npz", TRACK)


def dataset(**changes):
    """Make what replay_trajectory_classification makes: two states, gaps NaN."""
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    position = np.arange(2.5, 115, 5.0)
    gap = (position > 60) & (position < 75)
    rng = np.random.default_rng(0)
    values = rng.random((50, 2, len(position)))
    values[:, :, gap] = np.nan
    values /= np.nansum(values, axis=(1, 2), keepdims=True)
    parts = {
        "values": values,
        "time": 10 + 0.002 * np.arange(50),
        "position": position,
        "state": ["Continuous", "Fragmented"],
        "dims": ("time", "state", "position"),
    } | changes
    return xarray.Dataset(
        {"acausal_posterior": (parts["dims"], parts["values"])},
        coords={name: parts[name] for name in ("time", "state", "position")},
    )


def stacked(data):
    """Make what non_local_detector makes: state and position in one index, and a local state."""
    import xarray

    values, state, position = (
        data[name].to_numpy() for name in ("acausal_posterior", "state", "position")
    )
    n_time, n_states, n_bins = values.shape
    flat = np.concatenate([0.5 * values.reshape(n_time, -1), np.full((n_time, 1), 0.5)], axis=1)
    index = pd.MultiIndex.from_arrays(
        [[*np.repeat(state, n_bins).tolist(), "Local"], [*np.tile(position, n_states), np.nan]],
        names=["state", "position"],
    )
    coords = xarray.Coordinates.from_pandas_multiindex(index, "state_bins")
    found = xarray.Dataset(
        {"acausal_posterior": (("time", "state_bins"), flat.astype(np.float32))},
        coords=coords.assign(time=data["time"].to_numpy()),
    )
    sums = 0.5 * np.nansum(values, axis=2)
    found["acausal_state_probabilities"] = (
        ("time", "states"),
        np.concatenate([sums, np.full((n_time, 1), 0.5)], axis=1),
    )
    return found.assign_coords(states=[*state, "Local"])


class TestPosteriors:
    def read(self, data, track=LAID_OUT, **options):
        return read_recording(data, track, session=POSITIONS, **options)

    def test_states_are_summed_and_gaps_left_out(self):
        data = dataset()
        found = self.read(data).posterior
        expected = np.nansum(data["acausal_posterior"].to_numpy(), axis=1)
        kept = ~np.isnan(data["acausal_posterior"].to_numpy()[0, 0])
        order = np.lexsort(found.position.T[::-1])
        assert found.probability.shape == (50, 20)
        plane = linear_to_plane(read_track(LAID_OUT), data["position"].to_numpy()[kept], "bins")
        own = np.lexsort(plane.T[::-1])
        assert np.allclose(found.position[order], plane[own])
        assert np.allclose(found.probability[:, order], expected[:, kept][:, own])
        continuous = np.nansum(data["acausal_posterior"].to_numpy()[:, 0], axis=1)
        assert np.allclose(found.movement["Continuous"], continuous)

    def test_a_file_is_described(self, tmp_path):
        dataset().to_netcdf(tmp_path / "mine.nc", engine="h5netcdf")
        lines = describe_file(tmp_path / "mine.nc")
        n_states, n_places = dataset()["acausal_posterior"].shape[1:]
        size = f"50 x {n_states} x {n_places} numbers"
        assert f"Variable acausal_posterior: {size} (time, state, position)." in lines
        assert lines[-1].endswith("mine.nc --track track.json --session positions.npz")

    def test_the_order_of_dimensions_does_not_matter(self):
        data = dataset()
        turned = data.transpose("position", "time", "state")
        one, other = self.read(data).posterior, self.read(turned).posterior
        assert np.allclose(one.probability, other.probability)
        array = self.read(data["acausal_posterior"].rename(None)).posterior
        assert np.array_equal(one.probability, array.probability)

    def test_a_tree_is_read_as_the_dataset_of_its_root(self):
        xarray = pytest.importorskip("xarray", minversion="2024.10", reason="it has no trees")
        data = dataset()
        one, other = self.read(data).posterior, self.read(xarray.DataTree(data)).posterior
        assert np.array_equal(one.probability, other.probability)

    def test_a_stacked_index_and_its_local_state(self):
        data = dataset()
        nld = stacked(data)
        plain, found = self.read(data).posterior, self.read(nld).posterior
        assert np.allclose(found.probability, plain.probability, atol=1e-6)
        assert set(found.movement) == {"Continuous", "Fragmented", "Local"}
        reset = self.read(nld.reset_index("state_bins")).posterior
        assert np.array_equal(reset.probability, found.probability)

    @pytest.mark.parametrize("form", ["rtc", "nld"])
    def test_netcdf(self, form, tmp_path):
        pytest.importorskip("h5netcdf", reason="h5netcdf is not installed")
        data = dataset()
        data = data if form == "rtc" else stacked(data).reset_index("state_bins")
        data.to_netcdf(tmp_path / "decoded.nc", engine="h5netcdf")
        found = self.read(tmp_path / "decoded.nc")
        assert np.array_equal(found.posterior.probability, self.read(data).posterior.probability)
        assert found.notes[0].startswith(
            "decoded.nc: acausal_posterior; 50 times, 500 per second, 20"
        )
        (tmp_path / "cut.nc").write_bytes((tmp_path / "decoded.nc").read_bytes()[:3000])
        with pytest.raises(ValueError, match=r"cut\.nc must be a NetCDF file, but is truncated"):
            self.read(tmp_path / "cut.nc")

    def test_a_decoder_without_states_and_one_in_two_dimensions(self):
        xarray = pytest.importorskip("xarray", reason="xarray is not installed")
        data = dataset()
        plain = xarray.Dataset(
            {"acausal_posterior": data["acausal_posterior"].sum("state", min_count=1)}
        ).drop_vars("state", errors="ignore")
        found = self.read(plain).posterior
        assert found.movement == {}
        assert np.allclose(found.probability, self.read(data).posterior.probability)
        grid = np.full((2, 3, 3), np.nan)
        grid[:, :2, 0] = 0.5
        flat = xarray.Dataset(
            {"acausal_posterior": (("time", "x_position", "y_position"), grid)},
            coords={"time": [1.0, 1.1], "x_position": [0.0, 30, 90], "y_position": [0.0, 20, 40]},
        )
        found = self.read(flat, TRACK).posterior
        assert found.position.tolist() == [[0, 0], [30, 0]]
        assert found.probability.tolist() == [[0.5, 0.5]] * 2

    def test_the_table_of_bins_tells_where_they_are(self, tmp_path):
        data = dataset()
        xy = linear_to_plane(read_track(LAID_OUT), data["position"].to_numpy(), "bins")
        bins = pd.DataFrame(
            {
                "node_id": np.where(np.isnan(xy[:, 0]), -1, np.arange(len(xy))),
                "x_position": np.nan_to_num(xy[:, 0]),
                "y_position": np.nan_to_num(xy[:, 1]),
                "linear_position": data["position"].to_numpy(),
            }
        )
        bins.to_csv(tmp_path / "bins.csv", index=False)
        expected = self.read(data).posterior
        for each in (bins, tmp_path / "bins.csv"):
            found = self.read(data.fillna(0.0), TRACK, bins=each).posterior  # 0 in gaps
            assert np.allclose(found.position, expected.position)
            assert np.allclose(found.probability, expected.probability)
        with pytest.raises(ValueError, match=r"a bin at 112\.5 cm that is not in the table"):
            self.read(data, TRACK, bins=bins.iloc[:-1])

    def test_labels_of_intervals_are_events(self):
        labels = np.repeat([0, -1, 1], [10, 20, 20])
        data = dataset().assign(interval_labels=("time", labels))
        found = self.read(data).events
        assert np.allclose(found.to_numpy(), [[10.0, 10.02], [10.06, 10.1]])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda data: data * 2, "sum to 1 over all states and places.*time bin 0 sums to 2"),
            (lambda data: data.rename(acausal_posterior="other"), "must have acausal_posterior"),
            (lambda data: data.assign_coords(time=data["time"] * 30_000), "several clocks"),
            (lambda data: data.drop_vars("position"), "has no coordinate position"),
            (
                lambda data: data.rename(position="place"),
                "must have the dimensions time and state_b",
            ),
            (lambda data: data.rename(time="when"), "must have a dimension time"),
            (
                lambda data: data.assign_coords(position=data["position"] + 10),
                "Bins of the Dataset do not fit the track graph: .*% of the posterior",
            ),
        ],
    )
    def test_posteriors_that_make_no_sense(self, change, message):
        with pytest.raises(ValueError, match=message):
            self.read(change(dataset()))

    def test_what_is_missing_is_asked_for(self):
        with pytest.raises(ValueError, match="without an order"):
            self.read(dataset(), TRACK)
        with pytest.raises(ValueError, match="the track graph or the decoder's table of bins"):
            read_recording(dataset())
        with pytest.raises(ValueError, match="has no positions of the animal"):
            read_recording(dataset(), LAID_OUT)

    def test_pynapple_by_its_fields(self):
        frame = SimpleNamespace(
            t=np.array([1.0, 1.1]),
            values=(values := np.array([[0.2, 0.8], [np.nan, np.nan]])),
            columns=np.array([2.5, 80.0]),
        )
        found = self.read((SimpleNamespace(t=frame.t), frame)).posterior
        assert found.position.tolist() == [[2.5, 0.0], [60.0, 5.0]]
        assert found.probability[0].tolist() == [0.2, 0.8]
        assert np.isnan(found.probability[1]).all()
        frame.values = values.T
        frame.columns = np.array([2.5, 80.0, 90.0])
        with pytest.raises(ValueError, match=r"must have the shape \(2, 3\), a row for each time"):
            self.read(frame)
        frame.columns = np.array(["a", "b"])
        with pytest.raises(ValueError, match="The columns of the TsdFrame must be x and y"):
            self.read(frame)

    def test_two_dimensions_of_pynapple_have_no_places(self):
        tensor = SimpleNamespace(t=np.array([1.0]), values=np.ones((1, 2, 2)))
        with pytest.raises(ValueError, match="lacks the positions of its bins: give arrays"):
            self.read((SimpleNamespace(t=tensor.t), tensor))

    def test_pynapple_itself(self, tmp_path):
        nap = pytest.importorskip("pynapple", reason="pynapple is not installed")
        frame = nap.TsdFrame(t=[1.0, 1.1], d=[[0.2, 0.8], [0.5, 0.5]], columns=[2.5, 80.0])
        frame.save(str(tmp_path / "decoded.npz"))
        for each in (
            frame,
            (nap.Tsd(t=[1.0, 1.1], d=[80.0, 2.5]), frame),
            tmp_path / "decoded.npz",
        ):
            assert self.read(each).posterior.probability.tolist() == [[0.2, 0.8], [0.5, 0.5]]
        events = nap.IntervalSet(start=[1.0], end=[1.2])
        assert self.read(frame, events=events).events.to_numpy().tolist() == [[1.0, 1.2]]


ALONG = np.linspace(0.0, 60.0, len(TIME))
FORMS = {
    "x and y": {"t": TIME, "values": np.stack([XY[:, 1], XY[:, 0]], axis=1),
                "columns": np.array(["y", "x"])},
    "no names": {"t": TIME, "values": XY, "columns": np.array([0, 1])},
    "along the track": {"t": TIME, "values": ALONG},
}  # fmt: skip


class Group(dict):
    """Has what is read of a TsGroup."""

    time_support = SimpleNamespace(start=TIME[:1], end=TIME[-1:])


class TestObjectsOfPynapple:
    RUN = SimpleNamespace(start=np.array([1.0]), end=np.array([9.0]))
    RUN.as_dataframe = lambda: pd.DataFrame({"start": [1.0], "end": [9.0]})

    def units(self):
        times = {7: [2.0, 5.0, 6.0], 3: [1.5, 3.0]}
        return Group({key: SimpleNamespace(t=np.array(each)) for key, each in times.items()})

    def saved(self, name, folder, **arrays):
        np.savez(folder / f"{name}.npz", **arrays, _metadata=np.array({}, dtype=object))
        return folder / f"{name}.npz"

    @pytest.mark.parametrize("form", FORMS)
    def test_objects_and_their_files_are_one_recording(self, form, tmp_path):
        stored = FORMS[form]
        given = read_recording(
            self.units(), LAID_OUT, session=SimpleNamespace(**stored), events=self.RUN,
            epochs={"run": self.RUN, "after": [[9.0, 9.5]]},
        )  # fmt: skip
        assert [each.tolist() for each in given.spikes] == [[1.5, 3.0], [2.0, 5.0, 6.0]]
        expected = np.stack([ALONG, 0 * TIME], axis=1) if form == "along the track" else XY
        np.testing.assert_allclose(given.position, expected)
        assert given.events.to_numpy().tolist() == [[1.0, 9.0]]
        assert given.epochs["after"].tolist() == [[9.0, 9.5]]
        columns = {"columns": stored["columns"]} if "columns" in stored else {}
        if form == "x and y":
            columns = {"columns": columns["columns"].astype(object)}  # pickled by numpy
        span = {"start": TIME[:1], "end": TIME[-1:], "type": ["any"]}
        run = self.saved("run", tmp_path, start=[1.0], end=[9.0])
        read = read_recording(
            self.saved("units", tmp_path, t=[1.5, 2.0, 3.0, 5.0, 6.0], index=[3, 7, 3, 7, 7],
                       keys=[3, 7], **span),
            LAID_OUT,
            session=self.saved("place", tmp_path, t=TIME, d=stored["values"], **columns, **span),
            events=run,
            epochs=f"run={run},after=9:9.5",
        )  # fmt: skip
        assert read.digest() == given.digest()
        assert given.units == read.units == ("3", "7")
        assert given.observed.spikes.tolist() == [[TIME[0], TIME[-1]]]
        assert ("are taken to be x and y" in "".join(read.notes)) == (form == "no names")

    def test_names_of_columns_in_a_pickle_are_read_and_never_run(self, tmp_path):
        class Malicious(str):
            def __reduce__(self):
                return (Path(tmp_path / "ran").touch, ())

        columns = np.array([Malicious("x"), "y"], dtype=object)
        path = self.saved("place", tmp_path, t=TIME, d=XY, columns=columns)
        with pytest.raises(ValueError, match=r"The columns of place\.npz must be x and y"):
            read_recording(path, TRACK)
        assert not (tmp_path / "ran").exists()

    def test_what_is_neither_spikes_nor_positions(self):
        for wrong, message in (
            ({"t": TIME}, "must be a TsGroup .* got times alone"),
            ({"t": TIME, "values": np.ones((len(TIME), 2, 2))}, r"values of shape \(\d+, 2, 2\)"),
        ):
            with pytest.raises(ValueError, match=message):
                read_recording(SimpleNamespace(**wrong), TRACK)
        with pytest.raises(ValueError, match="must have two columns, n x 2, or two rows"):
            read_recording(
                self.units(), TRACK, session=POSITIONS, epochs={"run": [[1.0, 2.0, 3.0]]}
            )

    def test_pynapple_itself(self, tmp_path):
        nap = pytest.importorskip("pynapple", reason="pynapple is not installed")
        run = nap.IntervalSet(start=[1.0], end=[9.0])
        units = nap.TsGroup({key: nap.Ts(each.t) for key, each in self.units().items()})
        for columns in (["x", "y"], None):
            place = nap.TsdFrame(t=TIME, d=XY, columns=columns)
            for name, each in (("units", units), ("place", place), ("run", run)):
                each.save(str(tmp_path / f"{name}.npz"))
            given = read_recording(units, TRACK, session=place, events=run, epochs={"run": run})
            files = {name: tmp_path / f"{name}.npz" for name in ("units", "place", "run")}
            read = read_recording(files["units"], TRACK, session=files["place"],
                                  events=files["run"], epochs=f"run={files['run']}")  # fmt: skip
            np.testing.assert_array_equal(given.position, XY)
            assert [each.tolist() for each in given.spikes] == [[1.5, 3.0], [2.0, 5.0, 6.0]]
            assert read.digest() == given.digest()
        along = nap.Tsd(t=TIME, d=ALONG)
        given = read_recording(units, LAID_OUT, session=along)
        np.testing.assert_allclose(given.position[:, 0], ALONG)


class TestTables:
    TABLE = pd.DataFrame(
        {"event": [0, 0, 1], "time": [5.0, 5.1, 9.0], "x": [0, 20, 60], "y": [0, 0, 30]}
    )

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_decoded_places(self, suffix, tmp_path):
        path = tmp_path / f"decoded.{suffix}"
        getattr(self.TABLE, f"to_{suffix}")(path, index=False)
        for each in (self.TABLE, path):
            found = read_recording(each, TRACK, session=POSITIONS)
            assert found.decoded[["x", "y"]].to_numpy().tolist() == [[0, 0], [20, 0], [60, 30]]
            assert found.events["start_time"].tolist() == [5.0, 9.0]

    def test_places_along_the_track(self):
        table = pd.DataFrame({"event": 0, "time": [5.0, 5.1], "linear_position": [10.0, 80.0]})
        found = read_recording(table, LAID_OUT, session=POSITIONS)
        assert found.decoded[["x", "y"]].to_numpy().tolist() == [[10, 0], [60, 5]]

    def test_positions_of_the_animal(self, tmp_path):
        table = pd.DataFrame({"time": TIME, "x": XY[:, 0], "y": XY[:, 1]})
        table.to_csv(tmp_path / "positions.csv", index=False)
        found = read_recording(self.TABLE, TRACK, session=tmp_path / "positions.csv")
        assert np.allclose(found.position, XY)
        assert found.origin["session_file"] == "positions.csv"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                lambda table: table.assign(animal=["a", "a", "b"]),
                r"more than one animal: \['a', 'b'\]",
            ),
            (lambda table: table.drop(columns="time"), r"lacks the columns \['time'\]"),
            (lambda table: table.drop(columns="x"), r"lacks the columns \['x'\]"),
            (lambda table: table[["event"]], r"lacks the columns \['time', 'x', 'y'\]"),
            (lambda table: table.assign(x=["a", "b", "c"]), "must hold finite numbers; row 0"),
            (lambda table: table.assign(x=table["x"] + 500), "decoded places .* more than 30 cm"),
            (lambda table: table.assign(time=table["time"] + 1e6), "several clocks"),
        ],
    )
    def test_tables_that_make_no_sense(self, change, message):
        with pytest.raises(ValueError, match=message):
            read_recording(change(self.TABLE), TRACK, session=POSITIONS)

    def test_rows_of_a_file_are_numbered_as_in_the_file(self, tmp_path):
        path = tmp_path / "decoded.csv"
        self.TABLE.assign(x=["a", "b", "c"]).to_csv(path, index=False)
        with pytest.raises(ValueError, match="must hold finite numbers; row 2 has 'a'"):
            read_recording(path, TRACK, session=POSITIONS)
        path.write_text("\nevent,time,x,y\n0,3,4,5\n\n0,4,5,6\n \n0,5,six,7\n")
        with pytest.raises(ValueError, match="must hold finite numbers; row 7 has 'six'"):
            read_recording(path, TRACK, session=POSITIONS)

    def test_events_by_any_of_their_names(self, tmp_path):
        for start, end in (
            ("start_time", "end_time"),
            ("start_time", "stop_time"),
            ("start", "end"),
        ):
            table = pd.DataFrame({start: [7.0, 3.0], end: [7.5, 3.5]})
            table.to_csv(tmp_path / "events.csv", index=False)
            found = read_recording(ARRAYS, TRACK, events=tmp_path / "events.csv").events
            assert found.to_numpy().tolist() == [[3.0, 3.5], [7.0, 7.5]]
        with pytest.raises(ValueError, match="need the columns start_time and end_time"):
            read_intervals(pd.DataFrame({"begin": [1.0]}))

    def test_two_columns_for_one_time_are_the_same_or_refused(self, tmp_path):
        """`start` in samples beside `start_time` in s."""
        seconds = pd.DataFrame({"start_time": [3.0, 7.0], "end_time": [3.5, 7.5]})
        same = seconds.assign(start=seconds["start_time"], stop=seconds["end_time"])
        assert read_intervals(same).to_numpy().tolist() == [[3.0, 3.5], [7.0, 7.5]]
        table = seconds.assign(start=[90_000, 210_000])
        table.to_csv(tmp_path / "events.csv", index=False)
        said = "The columns start_time and start of events.csv differ, perhaps in their unit: keep"
        with pytest.raises(ValueError, match=said):
            read_recording(ARRAYS, TRACK, events=tmp_path / "events.csv")
        with pytest.raises(ValueError, match="columns end_time and end_s of the events differ"):
            read_intervals(seconds.assign(end_s=[3.4, 7.5]))

    def test_events_that_are_none(self):
        with pytest.raises(ValueError, match=r"Events or an epoch .* must have two columns"):
            read_intervals(5)

    def test_files_that_are_none(self, tmp_path):
        (tmp_path / "broken.parquet").write_bytes(b"PAR1")
        (tmp_path / "empty.csv").write_bytes(b"")
        for name in ("broken.parquet", "empty.csv"):
            with pytest.raises(ValueError, match=f"{name} cannot be read as a table"):
                read_recording(tmp_path / name, TRACK)
        (tmp_path / "recording.plx").touch()
        with pytest.raises(ValueError, match=r"read from \.nwb, \.nc.* got 'recording\.plx'"):
            read_recording(tmp_path / "recording.plx", TRACK)
        for name in ("none.nwb", "none.npz", "none.csv", "none.nc"):
            with pytest.raises(FileNotFoundError):
                read_recording(tmp_path / name, TRACK)
        with pytest.raises(TypeError, match="A recording must be a file"):
            read_recording(5, TRACK)
        with pytest.raises(ValueError, match="the arrays has no track graph"):
            read_recording(ARRAYS)


class TestNWB:
    """Files are made by pynwb, and each is spoilt in one way."""

    @pytest.fixture(autouse=True)
    def _pynwb(self):
        pytest.importorskip("pynwb", reason="pynwb is not installed")

    def write(
        self,
        path,
        *,
        unit="cm",
        units=True,
        spike_times=True,
        position=True,
        graph=TRACK,
        ripples=True,
    ):
        import pynwb
        from pynwb.behavior import Position, SpatialSeries
        from pynwb.epoch import TimeIntervals

        start = datetime(2026, 1, 1, tzinfo=UTC)
        file = pynwb.NWBFile("test", "test", start)
        if position:
            data = XY / 100 if unit == "meters" else XY
            series = SpatialSeries(
                name="tracked", data=data, timestamps=TIME, reference_frame="x", unit=unit
            )
            behaviour = file.create_processing_module("behavior", "x")
            behaviour.add(Position(spatial_series=series))
        if units:
            if not spike_times:
                file.add_unit_column("quality", "x")
            for cell in range(7):
                own = ARRAYS["spike_time"][ARRAYS["spike_unit"] == cell]
                file.add_unit(**({"spike_times": own} if spike_times else {"quality": 1}))
        if ripples:
            table = TimeIntervals(name="ripples", description="x")
            table.add_interval(start_time=5.0, stop_time=5.2)
            file.create_processing_module("ecephys", "x").add(table)
        file.add_epoch_column("label", "x")
        file.add_epoch(1.0, 30.0, label="run")
        file.add_epoch(31.0, 39.0, label="rest")
        other = TimeIntervals(name="mine", description="x")
        other.add_interval(start_time=7.0, stop_time=7.2)
        file.add_time_intervals(other)
        if graph is not None:
            content = json.dumps(graph) if isinstance(graph, dict) else graph
            file.add_scratch(content, name="track_graph", description="x")
        with pynwb.NWBHDF5IO(str(path), "w") as writer:
            writer.write(file)
        return path

    @pytest.mark.parametrize("unit", ["cm", "meters"])
    def test_it_holds_what_the_arrays_hold(self, unit, whole, tmp_path):
        found = read_recording(self.write(tmp_path / "mine.nwb", unit=unit))
        same(found, whole)
        assert found.events.to_numpy().tolist() == [[5.0, 5.2]]
        assert found.on_track.tolist() == [[1.0, 30.0]]
        assert found.notes[0].startswith("mine.nwb: NWB; position 'tracked', 800 samples at 20 Hz")
        assert "7 units with 400 spikes; 1 event from the table 'ripples'" in found.notes[0]

    def test_events_by_name(self, tmp_path):
        path = self.write(tmp_path / "mine.nwb")
        assert read_recording(path, events="mine").events.to_numpy().tolist() == [[7.0, 7.2]]
        assert read_recording(path, events="find").events is None
        with pytest.raises(ValueError, match="Did you mean 'ripples'"):
            read_recording(path, events="riples")

    def test_ripples_are_found_in_the_slow_field_potential(self, tmp_path):
        import pynwb
        from pynwb.ecephys import ElectricalSeries

        path = self.write(tmp_path / "mine.nwb")
        with pytest.raises(ValueError, match=r"ElectricalSeries at 500 to 5000 Hz; got none"):
            read_recording(path, events="find_ripples")
        with pynwb.NWBHDF5IO(str(path), "a") as writer:
            file = writer.read()
            device = file.create_device(name="x")
            group = file.create_electrode_group("x", "x", "x", device)
            file.add_electrode(group=group, location="x")
            region = file.create_electrode_table_region([0], "x")
            for name, rate in (("raw", 30_000.0), ("lfp", 1000.0)):
                data = np.random.default_rng(0).normal(size=(int(rate), 1))
                file.add_acquisition(
                    ElectricalSeries(
                        name=name, data=data, electrodes=region, rate=rate, starting_time=3.0
                    )
                )
            writer.write(file)
        found = read_recording(path, events="find_ripples")
        assert found.events is None
        assert found.field_potential.signal.shape == (1000, 1)
        assert (found.field_potential.start, found.field_potential.rate) == (3.0, 1000.0)
        assert "field potential 'lfp', 1 channel at 1000 Hz" in found.notes[0]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"unit": "pixels"}, "in pixels, but cm are needed"),
            ({"unit": "furlongs"}, "got the unit 'furlongs'"),
            ({"spike_times": False}, "units of mine.nwb have no spike_times, only"),
            (
                {"units": False, "position": False, "ripples": False},
                "no units with spike times, no SpatialSeries of positions, and no table of events",
            ),
            ({"position": False}, "has no positions of the animal"),
            ({"graph": None}, "has no track graph: give one"),
            ({"graph": np.array([1.0, 2.0])}, "has no track graph: give one"),
        ],
    )
    def test_what_it_lacks_is_named(self, options, message, tmp_path):
        path = self.write(tmp_path / "mine.nwb", **options)
        with pytest.raises(ValueError, match=message):
            read_recording(path)

    def test_files_of_different_sessions_are_refused(self):
        whole = read_recording(ARRAYS, TRACK)
        noon = replace(whole, origin={"session_start_time": "2026-01-01T12:00:00+00:00"})
        same = replace(whole, origin={"session_start_time": "2026-01-01T13:00:00+01:00"})
        assert read_recording(noon, session=same).digest() == whole.digest()
        later = replace(whole, origin={"session_start_time": "2026-01-02T12:00:00+00:00"})
        with pytest.raises(ValueError, match=r"of different sessions, .*: name a file of the same"):
            read_recording(noon, session=later)
        one, other = (replace(whole, origin={"subject": name}) for name in ("Achilles", "Buddy"))
        with pytest.raises(ValueError, match="of different animals, Achilles and Buddy"):
            read_recording(one, session=other)

    def test_without_units_it_completes_a_posterior(self, tmp_path):
        path = self.write(tmp_path / "mine.nwb", units=False)
        found = read_recording(dataset(), LAID_OUT, session=path)
        assert found.spikes == ()
        assert len(found.time) == len(TIME)

    def test_a_file_that_is_cut_off_or_none(self, tmp_path):
        whole = self.write(tmp_path / "mine.nwb").read_bytes()
        for content in (b"", b"text", whole[:100], whole[: len(whole) // 2], whole[:-50]):
            (tmp_path / "cut.nwb").write_bytes(content)
            with pytest.raises(ValueError, match=r"cut\.nwb cannot be read as an NWB file"):
                read_recording(tmp_path / "cut.nwb")
        import h5py

        with h5py.File(tmp_path / "other.nwb", "w") as file:
            file["x"] = 1
        with pytest.raises(ValueError, match=r"other\.nwb cannot be read as an NWB file"):
            read_recording(tmp_path / "other.nwb")


@needs_recordings
class TestRealRecordings:
    def test_the_w_maze_is_the_same_in_both_forms(self):
        pytest.importorskip("pynwb", reason="pynwb is not installed")
        graph = RECORDINGS / "wmaze_track_graph.json"
        one, other = (
            read_recording(RECORDINGS / f"wmaze.{form}", graph) for form in ("npz", "nwb")
        )
        same(one, other)
        assert len(one.spikes) == 21
        assert sum(map(len, one.spikes)) == 32_513
        assert one.on_track.tolist() == other.on_track.tolist() == [[100, 1185], [2216, 3420]]

    def test_the_linear_track_needs_a_scale(self):
        with pytest.raises(ValueError, match="in pixels"):
            read_recording(RECORDINGS / "lineartrack.npz", TRACK)

    def test_the_figure_eight_holds_its_graph(self):
        pytest.importorskip("pynwb", reason="pynwb is not installed")
        found = read_recording(RECORDINGS / "synthetic_figure8.nwb")
        assert len(found.spikes) == 60
        assert len(found.events) == 166
        assert found.graph.number_of_edges() == 7


def test_a_place_of_lost_tracking_is_named(tmp_path):
    """A place to which the animal jumps; a long rest at one place is none."""
    time = np.arange(0.0, 100.0, 0.1)
    place = np.column_stack([50 - 50 * np.cos(time), 0 * time])
    place[400:500] = place[400]  # it rests

    def described(position):
        np.savez(tmp_path / "mine.npz", position_time=time, position_xy=position)
        return " ".join(describe_file(tmp_path / "mine.npz"))

    assert "jumps" not in described(place)
    lost = np.where(np.sin(3 * time[:, None]) > 0.5, (-1.0, -400.0), place)
    share = np.mean(lost[:, 1] == -400)
    assert f"{share:.0%} of these positions are (-1, -400), to which the animal jumps" in described(
        lost
    )


def test_a_tracker_that_stands_still_is_named(tmp_path):
    """It stays where it lost the animal, without a jump; the epoch on the track is named run."""
    time = np.arange(0.0, 100.0, 0.1)
    place = np.column_stack([50 - 50 * np.cos(time), 0 * time])
    place[600:] = 5.0, 90.0
    np.savez(tmp_path / "mine.npz", position_time=time, position_xy_px=2 * place)
    told = " ".join(describe_file(tmp_path / "mine.npz"))
    assert "40% are (10, 180), from 60 to 100 s, and do not change" in told
    assert "such as run=0:60)" in told
    arrays = {"position_time": time, "position_xy": place}
    for epochs in (None, "maze=0:60"):
        with pytest.raises(ValueError, match=r"as the epoch run \(epochs, such as run=0:60\)"):
            read_recording(arrays, CORRIDOR, epochs=epochs)
    assert read_recording(arrays, CORRIDOR, epochs="run=0:59").during.sum() == 591


def test_pixels_per_cm_that_are_not_used_are_named():
    arrays = {"position_time": [0.0, 1.0], "position_xy": [[0, 0], [5, 0]]}
    [note, _] = read_recording(arrays, CORRIDOR | {"pixels_per_cm": 3.0}).notes
    assert "in cm: pixels_per_cm of the track graph is not used" in note
