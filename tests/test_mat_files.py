"""Recordings in files of MATLAB: both formats, structures, and damage."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
from malformed import limited
from scipy import io

from analyses.recordings.readers import read_recording
from analyses.recordings.readers.contents import describe_file

TRACK = {"node_positions": [[0, 0], [100, 0]], "edges": [[0, 1]]}
TIME = np.linspace(0.0, 10.0, 201)
XY = np.column_stack([10 * TIME, np.zeros(201)])
SPIKES = [np.array([0.5, 2.0, 3.0]), np.array([1.0]), np.array([0.7, 9.0])]
ARRAYS = {
    "position_time": TIME, "position_xy": XY, "spike_time": np.concatenate(SPIKES),
    "spike_unit": np.repeat(np.arange(3), [3, 1, 2]), "event_start": [2.0], "event_end": [2.2],
}  # fmt: skip
NESTED = {
    "rat": {
        name: {key: ARRAYS[f"{name}_{key}"] for key in keys}
        for name, keys in {"position": ["time", "xy"], "spike": ["time", "unit"],
                           "event": ["start", "end"]}.items()
    }
}  # fmt: skip
EXPLORER = {
    "spikes": {"times": np.array(SPIKES, dtype=object), "numcells": 3},
    "behavior": {"timestamps": TIME, "position": {"x": XY[:, 0], "y": XY[:, 1], "units": "cm"}},
    "ripples": {"timestamps": [[2.0, 2.2]], "peaks": [2.1]},
}


def write_73(path, tree):
    """Write a file as MATLAB 7.3 does: column-major, vectors as columns, cells by reference."""

    def put(group, name, value, file):
        if isinstance(value, dict):
            for key, each in value.items():
                put(group.require_group(name), key, each, file)
        elif isinstance(value, str):
            letters = np.array([[ord(letter)] for letter in value], dtype=np.uint16)
            group.create_dataset(name, data=letters).attrs["MATLAB_class"] = np.bytes_("char")
        elif np.asarray(value).dtype == object:
            kept = [
                file.require_group("#refs#").create_dataset(f"c{k}", data=np.atleast_2d(cell))
                for k, cell in enumerate(value)
            ]
            held = group.create_dataset(name, (1, len(kept)), dtype=h5py.ref_dtype)
            for k, each in enumerate(kept):
                held[0, k] = each.ref
        else:
            array = np.asarray(value, dtype=float)
            group.create_dataset(name, data=array.T if array.ndim > 1 else np.atleast_2d(array))

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in tree.items():
            put(file, name, value, file)


@pytest.mark.parametrize("save", [io.savemat, write_73], ids=["v5", "v7.3"])
@pytest.mark.parametrize("tree", [ARRAYS, {"session": ARRAYS | {"name": "r1"}}, NESTED, EXPLORER],
                         ids=["variables", "fields", "structures", "CellExplorer"])  # fmt: skip
def test_a_file_of_matlab_is_the_recording_that_was_written(tree, save, tmp_path):
    save(tmp_path / "mine.mat", tree)
    found = read_recording(tmp_path / "mine.mat", TRACK)
    expected = read_recording(ARRAYS, TRACK)
    assert [each.tolist() for each in found.spikes] == [each.tolist() for each in SPIKES]
    np.testing.assert_array_equal(found.position, XY)
    assert found.digest() == expected.digest()
    assert found.notes[0].startswith("mine.mat: arrays; 201 positions")
    assert "Array spike_time: 6 numbers." in describe_file(tmp_path / "mine.mat")
    assert replace(found, name=expected.name).events.equals(expected.events)


def test_arrays_that_are_not_read_are_named(tmp_path):
    io.savemat(tmp_path / "mine.mat", {"rat": ARRAYS | {"head_direction": TIME, "age": 3}})
    found = read_recording(tmp_path / "mine.mat", TRACK)
    assert found.notes[0].endswith("1 event; not read: 'head_direction'.")
    assert "Array head_direction: 201 numbers." in describe_file(tmp_path / "mine.mat")
    assert found.digest() == read_recording(ARRAYS, TRACK).digest()


def test_positions_in_other_units(tmp_path):
    behavior = EXPLORER["behavior"]
    for unit, factor, track in (("m", 0.01, TRACK), ("pixels", 3.0, TRACK | {"pixels_per_cm": 3})):
        position = {"x": factor * XY[:, 0], "y": factor * XY[:, 1], "units": unit}
        tree = EXPLORER | {"behavior": behavior | {"position": position}}
        io.savemat(tmp_path / "mine.mat", tree)
        found = read_recording(tmp_path / "mine.mat", track)
        np.testing.assert_allclose(found.position, XY, atol=1e-9)


@pytest.mark.parametrize("save", [io.savemat, write_73], ids=["v5", "v7.3"])
@pytest.mark.parametrize(("name", "factor"), [("position_xy", 1.0), ("position_xy_px", 4.0)])
def test_places_have_two_columns_or_two_rows(name, factor, save, tmp_path):
    others = {key: value for key, value in ARRAYS.items() if key != "position_xy"}
    track = TRACK | {"pixels_per_cm": 4.0}
    for xy in (factor * XY, factor * XY.T):
        save(tmp_path / "mine.mat", others | {name: xy})
        np.savez(tmp_path / "mine.npz", **others | {name: xy})
        for path in (tmp_path / "mine.mat", tmp_path / "mine.npz"):
            found = read_recording(path, track)
            np.testing.assert_array_equal(found.position, XY)
            assert found.digest() == read_recording(ARRAYS, track).digest()
    for xy in (XY.ravel(), XY.reshape(-1, 6), np.zeros((2, 201, 2))):
        save(tmp_path / "mine.mat", others | {name: factor * xy})
        with pytest.raises(ValueError, match=f"{name} of mine.mat must have two columns, n x 2"):
            read_recording(tmp_path / "mine.mat", track)


def test_ripples_of_cellexplorer_have_two_columns_or_two_rows(tmp_path):
    ripples = np.array([[2.0, 2.2], [3.0, 3.1], [4.0, 4.3]])
    for each in (ripples, ripples.T):
        io.savemat(tmp_path / "mine.mat", EXPLORER | {"ripples": {"timestamps": each}})
        found = read_recording(tmp_path / "mine.mat", TRACK)
        assert found.events.to_numpy().tolist() == ripples.tolist()
    position = {"x": XY, "y": XY[:, 1], "units": "cm"}
    behavior = EXPLORER["behavior"] | {"position": position}
    io.savemat(tmp_path / "mine.mat", EXPLORER | {"behavior": behavior})
    with pytest.raises(ValueError, match=r"position of mine.mat must be one row or column of num"):
        read_recording(tmp_path / "mine.mat", TRACK)


@pytest.mark.parametrize("save", [io.savemat, write_73], ids=["v5", "v7.3"])
def test_cells_keep_their_ids_beside_empty_ones(save, tmp_path):
    times = np.array([SPIKES[0], np.empty(0), SPIKES[2]], dtype=object)
    for more, units in (({}, ("1", "3")), ({"UID": np.array([4.0, 5.0, 9.0])}, ("4", "9"))):
        save(tmp_path / "mine.mat", EXPLORER | {"spikes": {"times": times} | more})
        found = read_recording(tmp_path / "mine.mat", TRACK)
        assert found.units == units
        assert [each.tolist() for each in found.spikes] == [SPIKES[0].tolist(), SPIKES[2].tolist()]


def test_arrays_of_another_structure_are_named(tmp_path):
    """Of two sessions in a file, the note says which array is not read."""
    other = {"session": {"position": {"time": TIME + 1}}}
    io.savemat(tmp_path / "mine.mat", NESTED | other)
    found = read_recording(tmp_path / "mine.mat", TRACK)
    np.testing.assert_array_equal(found.time, TIME)
    assert "not read: 'session.position.time'" in found.notes[0]


def test_one_cell_and_one_event_keep_their_shape(tmp_path):
    tree = EXPLORER | {"spikes": {"times": np.array([SPIKES[0], []], dtype=object)[:1]}}
    io.savemat(tmp_path / "mine.mat", tree)
    found = read_recording(tmp_path / "mine.mat", TRACK)
    assert [each.tolist() for each in found.spikes] == [SPIKES[0].tolist()]
    assert found.events.to_numpy().tolist() == [[2.0, 2.2]]


def _cells_of_cells(file):
    held = file.create_dataset("spikes/times", (100,), dtype=h5py.ref_dtype)
    held[:] = held.ref


def _groups_of_groups(file):
    group = file.create_group("spikes")
    for number in range(25):
        group[f"times_{number}"] = group


def _the_same_cell_again_and_again(file):
    cell = file.create_dataset("cell", data=np.zeros(10**6), compression="gzip")
    held = file.create_dataset("spikes/times", (1000,), dtype=h5py.ref_dtype)
    held[:] = cell.ref


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (_cells_of_cells, "spike_time of mine.mat must hold finite numbers"),
        (_groups_of_groups, "has no variable or field"),
        (_the_same_cell_again_and_again, r"MB claim to be .* GB: the variables of mine\.mat"),
    ],
)
def test_cells_that_lead_in_circles_are_read_once(write, message, tmp_path):
    with h5py.File(tmp_path / "mine.mat", "w", userblock_size=512) as file:
        write(file)
    with limited(20), pytest.raises(ValueError, match=message):
        read_recording(tmp_path / "mine.mat", TRACK)


def test_what_cannot_be_read_is_told(tmp_path):
    place = tmp_path / "mine.mat"
    io.savemat(place, {"Behavior": {"XY": XY}, "units": [1, 2]})
    with pytest.raises(ValueError, match=r"mine.mat has no variable .* it has \['units', 'XY'\]"):
        read_recording(place, TRACK)
    for part, said in (
        ({"spikes": {"times": "none"}}, "spikes.times of mine.mat must be numbers"),
        ({"ripples": {"timestamps": [1.0, 2.0, 3.0]}}, "must have two columns"),
        ({"behavior": {"timestamps": TIME, "position": {"x": TIME, "y": [1.0, 2.0]}}}, "201 and 2"),
    ):
        io.savemat(place, EXPLORER | part)
        with pytest.raises(ValueError, match=said):
            read_recording(place, TRACK)
    io.savemat(place, ARRAYS)
    whole = place.read_bytes()
    for content in (b"", b"MATLAB", whole[:200], whole[: len(whole) // 2], whole[:128] + b"x" * 99):
        place.write_bytes(content)
        with pytest.raises(ValueError, match=r"mine.mat (cannot be read|has no variable)"):
            read_recording(place, TRACK)
    write_73(place, ARRAYS)
    place.write_bytes(place.read_bytes()[:900])
    with pytest.raises(ValueError, match="cannot be read as a file of MATLAB"):
        read_recording(place, TRACK)
    with pytest.raises(FileNotFoundError):
        read_recording(tmp_path / "none.mat", TRACK)
