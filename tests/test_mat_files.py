"""Recordings in files of MATLAB: both formats, structures, and damage."""

import struct
import zlib
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


def element(kind, content):
    """Write an element of a file of version 5: its type, its size, and its content."""
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def object_of_matlab(name, kind):
    """Write a variable of the class 17 (opaque), as MATLAB does for strings, tables, dates..."""
    numbers = struct.pack("<6I", 0xDD000000, 2, 1, 1, 1, 1)  # where it is among all objects
    reference = element(6, struct.pack("<II", 13, 0)) + element(5, struct.pack("<ii", 6, 1))
    reference += element(1, b"") + element(6, numbers)
    content = element(6, struct.pack("<II", 17, 0)) + element(1, name.encode())
    content += element(1, b"MCOS") + element(1, kind.encode()) + element(14, reference)
    return element(14, content)


def save_with_objects(path, tree, objects):
    """Write numbers, and objects of MATLAB by name; the last one is compressed."""
    io.savemat(path, tree)
    *plain, packed = [object_of_matlab(name, kind) for name, kind in objects.items()]
    packed = zlib.compress(packed)
    packed = struct.pack("<II", 15, len(packed)) + packed  # compressed elements are not padded
    path.write_bytes(path.read_bytes() + b"".join(plain) + packed)


def save_73_with_objects(path, tree, objects):
    write_73(path, tree)
    with h5py.File(path, "a") as file:
        for name, kind in objects.items():
            file[name] = np.array([[0xDD000000, 2, 1, 1, 1, 1]], dtype=np.uint32)
            file[name].attrs.update(MATLAB_class=np.bytes_(kind), MATLAB_object_decode=3)


OBJECTS = {"rat": "string", "trials": "table", "date": "datetime"}


@pytest.mark.parametrize("save", [save_with_objects, save_73_with_objects], ids=["v5", "v7.3"])
def test_objects_of_matlab_are_named_and_all_else_is_read(save, tmp_path):
    """Each file has five variables of numbers, and three that only MATLAB reads."""
    path = tmp_path / "mine.mat"
    save(path, ARRAYS | {"event_start": [2.0, 5.0], "event_end": [2.2, 5.1]}, OBJECTS)
    found = read_recording(path, TRACK)
    assert [each.tolist() for each in found.spikes] == [each.tolist() for each in SPIKES]
    np.testing.assert_array_equal(found.position, XY)
    assert found.events.to_numpy().tolist() == [[2.0, 2.2], [5.0, 5.1]]
    for name, kind in OBJECTS.items():
        assert f"'{name}', an object of MATLAB ({kind})" in found.notes[0]
        assert f"Array {name}: not read, an object of MATLAB ({kind})." in describe_file(path)
    save(path, {"other": TIME}, {"position_time": "duration"})
    with pytest.raises(ValueError, match=r"position_time of mine.mat is an object of MATLAB \(dur"):
        read_recording(path, TRACK)
    save(path, {"other": TIME}, {"tracked": "timetable"})
    with pytest.raises(
        ValueError, match=r"tracked is an object of MATLAB \(timetable\): save it in"
    ):
        read_recording(path, TRACK)


def test_an_object_within_a_structure_does_not_hide_the_rest(tmp_path):
    """A field has no name of its own; scipy writes none, so a double is made one of class 17."""
    path = tmp_path / "mine.mat"
    io.savemat(path, {"session": ARRAYS | {"zz": np.arange(6, dtype=np.uint32)}})
    field = element(6, struct.pack("<II", 13, 0)) + element(5, struct.pack("<ii", 1, 6))
    field = element(
        14, field + element(1, b"") + element(6, np.arange(6, dtype=np.uint32).tobytes())
    )
    whole = path.read_bytes()
    assert whole.count(field) == 1
    changed = whole.replace(field, object_of_matlab("", "string"))
    size = struct.unpack_from("<I", whole, 132)[0] + len(changed) - len(whole)
    path.write_bytes(changed[:132] + struct.pack("<I", size) + changed[136:])
    found = read_recording(path, TRACK)
    assert "'zz', an object of MATLAB (string)" in found.notes[0]
    assert found.digest() == read_recording(ARRAYS, TRACK).digest()


LINEAR = {"timestamps": TIME, "position": {"x": XY[:, 0], "y": [], "linearized": XY[:, 0] + 1}}
STATES = {"WAKEstate": [[0.0, 4.0], [6.0, 10.0]], "NREMstate": [[4.0, 6.0]], "REMstate": []}
SESSION = {
    "spikes.cellinfo": {"spikes": EXPLORER["spikes"]},
    "lineartrack.behavior": {"lineartrack": LINEAR},
    "trials.behavior": {"trials": {"start": [1.0, 5.0], "end": [4.0, 8.0], "nTrials": 2}},
    "ripples.events": {"ripples": {"timestamps": [[2.0, 2.2], [5.0, 5.1], [7.0, 7.1]],
                                   "peaks": [2.1, 5.05, 7.05]}},
    "pulses.events": {"pulses": {"timestamps": [[1.0, 1.1]]}},
    "SleepState.states": {"SleepState": {"ints": STATES}},
    "cell_metrics.cellinfo": {"cell_metrics": {"firingRate": [1.0, 2.0, 3.0]}},
}  # fmt: skip
"""The files of a session, as the tutorial of CellExplorer on behavior writes them."""


@pytest.fixture
def session(tmp_path):
    folder = tmp_path / "rat1_day2"
    folder.mkdir()
    for number, (name, tree) in enumerate(SESSION.items()):
        (write_73 if number % 2 else io.savemat)(folder / f"rat1_day2.{name}.mat", tree)
    return folder


def test_a_folder_of_cellexplorer_is_one_recording(session):
    found = read_recording(session, TRACK, epochs="run=WAKEstate,rest=NREMstate")
    assert [each.tolist() for each in found.spikes] == [each.tolist() for each in SPIKES]
    along = XY[:, 0] + 1  # the last positions are beyond the end of the track
    np.testing.assert_allclose(found.position[:, 0], np.where(along <= 100, along, np.nan))
    assert found.events.to_numpy().tolist() == [[2.0, 2.2], [5.0, 5.1], [7.0, 7.1]]
    assert found.epochs["run"].tolist() == [[0.0, 4.0], [6.0, 9.9]]  # the last known position
    assert found.epochs["rest"].tolist() == [[4.0, 6.0]]
    assert len(found.origin["sha256"]) == 64
    by_files = read_recording(
        session / "rat1_day2.spikes.cellinfo.mat", TRACK,
        session=session / "rat1_day2.lineartrack.behavior.mat",
        events=session / "rat1_day2.ripples.events.mat",
    )  # fmt: skip
    np.testing.assert_array_equal(by_files.position, found.position)
    assert by_files.events.equals(found.events)


def test_two_structures_of_positions_are_never_chosen_between(session):
    other = {"timestamps": TIME + 100.0, "position": {"x": XY[:, 0], "y": XY[:, 1]}}
    io.savemat(session / "rat1_day2.optitrack.behavior.mat", {"optitrack": other})
    with pytest.raises(ValueError, match=r"choose one of lineartrack, optitrack \(position\)"):
        read_recording(session, TRACK)
    found = read_recording(session, TRACK, position="lineartrack")
    assert found.time[[0, -1]].tolist() == [0.0, 10.0]
    with pytest.raises(ValueError, match="Unknown structure of positions of rat1_day2 'optitrak'"):
        read_recording(session, TRACK, position="optitrak")


def test_a_folder_that_is_no_session(session, tmp_path):
    io.savemat(session / "rat9.spikes.cellinfo.mat", {"spikes": EXPLORER["spikes"]})
    with pytest.raises(ValueError, match="The folder rat1_day2 has files of several sessions"):
        read_recording(session, TRACK)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="The folder empty has files of no session"):
        read_recording(tmp_path / "empty", TRACK)


def test_linearised_positions_need_a_track(session):
    with pytest.raises(ValueError, match=r"positions of rat1_day2 are linearised: give the track"):
        read_recording(session)


@pytest.mark.parametrize("save", [io.savemat, write_73], ids=["v5", "v7.3"])
def test_ripples_of_two_rows_are_not_scrambled(save, tmp_path):
    begin, end = [2.0, 5.0, 7.0], [2.2, 5.1, 7.1]
    save(tmp_path / "mine.mat", EXPLORER | {"ripples": {"timestamps": np.array([begin, end])}})
    found = read_recording(tmp_path / "mine.mat", TRACK)
    assert found.events["start_time"].tolist() == begin
    assert found.events["end_time"].tolist() == end


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
    assert "Array head_direction: 201 numbers; it is not used." in describe_file(
        tmp_path / "mine.mat"
    )
    assert found.digest() == read_recording(ARRAYS, TRACK).digest()


def test_positions_in_other_units(tmp_path):
    behavior = EXPLORER["behavior"]
    for unit, factor, track in (("m", 0.01, TRACK), ("pixels", 3.0, TRACK | {"pixels_per_cm": 3})):
        position = {"x": factor * XY[:, 0], "y": factor * XY[:, 1], "units": unit}
        tree = EXPLORER | {"behavior": behavior | {"position": position}}
        io.savemat(tmp_path / "mine.mat", tree)
        found = read_recording(tmp_path / "mine.mat", track)
        np.testing.assert_allclose(found.position, XY, atol=1e-9)


def test_linearised_positions_in_pixels(tmp_path):
    """On a straight track from (0, 0), the place along it is x."""
    px = TRACK | {"pixels_per_cm": 3.0}
    position = {"linearized": 3.0 * XY[:, 0], "y": np.empty(0), "units": "pixels"}
    behavior = EXPLORER["behavior"] | {"position": position}
    io.savemat(tmp_path / "mine.mat", EXPLORER | {"behavior": behavior})
    others = {key: value for key, value in ARRAYS.items() if key != "position_xy"}
    for source in (tmp_path / "mine.mat", others | {"position_linear_px": 3.0 * XY[:, 0]}):
        found = read_recording(source, px)
        np.testing.assert_allclose(found.position, XY, atol=1e-9)
        assert "(linearised, 3 pixels per cm)" in found.notes[0]
        with pytest.raises(ValueError, match="in pixels, but cm are needed: add pixels_per_cm to"):
            read_recording(source, TRACK)
        with pytest.raises(ValueError, match=r"\(track\), and with pixels_per_cm, as they are in"):
            read_recording(source)


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
    with pytest.raises(ValueError, match=r"position.x of mine.mat must be one row or column"):
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
        ({"ripples": {"timestamps": [1.0, 2.0, 3.0]}}, "must have two columns, n x 2, or two rows"),
        ({"behavior": {"timestamps": TIME, "position": {"x": TIME, "y": [1.0, 2.0]}}}, "201 and 2"),
    ):
        io.savemat(place, EXPLORER | part)
        with pytest.raises(ValueError, match=said):
            read_recording(place, TRACK)
    io.savemat(place, ARRAYS)
    whole = place.read_bytes()
    for content in (b"", b"MATLAB", whole[:200], whole[: len(whole) // 2], whole[:128] + b"x" * 99):
        place.write_bytes(content)
        with pytest.raises(
            ValueError, match=r"mine.mat (must be a file of MATLAB|has no variable)"
        ):
            read_recording(place, TRACK)
    write_73(place, ARRAYS)
    place.write_bytes(place.read_bytes()[:900])
    with pytest.raises(ValueError, match="must be a file of MATLAB, but is"):
        read_recording(place, TRACK)
    with pytest.raises(FileNotFoundError):
        read_recording(tmp_path / "none.mat", TRACK)
