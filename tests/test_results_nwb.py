"""Replay as NWB: valid, readable by other programs, and the same bytes each time."""

import hashlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

from analyses.recordings import find_replay
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.readers import read_recording
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.studies.recorded_replay.results_nwb import write_nwb

pynwb = pytest.importorskip("pynwb", reason="pynwb is not installed")


@pytest.fixture(scope="module")
def recording():
    return simulated_recording(24)


@pytest.fixture(scope="module")
def found(recording):
    return find_replay(
        recording, judgement=Judgement(n_shuffles=5, n_controls=1, other_sizes=(30.0,))
    )


@pytest.fixture
def path(found, recording, tmp_path):
    write_nwb(tmp_path / "replay.nwb", found, {"subject": "rat"}, recording.digest())
    return tmp_path / "replay.nwb"


def test_it_is_valid_and_holds_what_was_found(path, found):
    assert found.events["is_replay"].sum() > 5
    errors = pynwb.validate(path=str(path))
    assert errors in ([], ([], 0))
    with pynwb.NWBHDF5IO(str(path), "r") as file:
        read = file.read()
        events = read.intervals["replay_events"].to_dataframe()
        sequences = read.intervals["replay_sequences"].to_dataframe()
        stretches = read.intervals["replay_stretches"].to_dataframe()
        module = read.processing["replay"]
        kinds, states = module["kinds"].to_dataframe(), module["states"].to_dataframe()
        n_places = len(module["decoded_position"].data)
        assert read.subject.subject_id == "rat"
    assert np.allclose(events["start_time"], found.events["start_time"])
    assert np.allclose(events["stop_time"], found.events["end_time"])
    assert events["kind"].tolist() == found.events["kind"].fillna("").tolist()
    assert np.allclose(events["evidence"], found.events["evidence"])
    own = found.stretches.sort_values(["start_time", "end_time"], kind="stable")
    assert np.allclose(stretches["length"], own["length"])
    assert stretches["sense"].tolist() == own["sense"].tolist()
    own = found.sequences.sort_values(["start_time", "end_time"], kind="stable")
    paths = [[int(state) for state in text.split("-")] for text in sequences["path"]]
    assert paths == [list(states) for states in own["states"]]
    assert sequences["novelty"].tolist() == own["novelty"].astype(str).tolist()
    assert np.allclose(kinds["share"], found.kinds["share"])
    assert np.allclose(states[["x", "y"]], found.states[["x", "y"]])
    assert n_places == len(found.paths)


def test_the_same_bytes_each_time_and_others_for_other_data(path, found, recording, tmp_path):
    write_nwb(tmp_path / "again.nwb", found, {"subject": "rat"}, recording.digest())
    write_nwb(tmp_path / "other.nwb", found, {"subject": "rat"}, "0" * 64)
    one, again, other = (
        hashlib.sha256((tmp_path / f"{name}.nwb").read_bytes()).hexdigest()
        for name in ("replay", "again", "other")
    )
    assert one == again != other


@pytest.mark.parametrize("origin", [{}, {"file": "my rat.nwb", "subject": "7", "sex": "F"}])
def test_an_inspector_finds_nothing_critical(found, recording, origin, tmp_path):
    """What is unknown of the animal is said to be so; each column is described."""
    place = tmp_path / "replay.nwb"
    write_nwb(place, found, origin, recording.digest())
    with pynwb.NWBHDF5IO(str(place), "r") as file:
        read = file.read()
        subject = read.subject
        assert subject.subject_id == origin.get("subject", "a recording")
        assert subject.sex == origin.get("sex", "U")
        assert subject.age == "P0D/"
        assert subject.species.endswith("NCBITaxon_33208")
        for table in (*read.intervals.values(), *read.processing["replay"].containers.values()):
            for column in getattr(table, "columns", ()):
                assert column.description not in ("", "no description")
    inspector = pytest.importorskip("nwbinspector", reason="nwbinspector is not installed")
    told = list(inspector.inspect_nwbfile(nwbfile_path=str(place)))
    assert [
        each for each in told if each.importance.name not in ("BEST_PRACTICE_SUGGESTION",)
    ] == []


def test_pynapple_opens_it(path, found):
    nap = pytest.importorskip("pynapple", reason="pynapple is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = nap.load_file(str(path))
        sequences = opened["replay_sequences"]
        assert len(sequences) == len(found.sequences)
        assert next(iter(sequences["kind"])) in set(found.sequences["kind"])
        assert opened["decoded_position"].shape == (len(found.paths), 2)


def test_objects_of_pynapple_are_the_tables(found):
    pytest.importorskip("pynapple", reason="pynapple is not installed")
    events = found.events.copy()
    events.loc[0, "end_time"] = events.loc[1, "start_time"] + 0.01  # overlaps the next
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of intervals that are joined
        shown = found._replace(events=events).to_pynapple()
    assert np.allclose(shown["events"].start, events["start_time"])
    assert np.allclose(shown["events"].end[1:], events["end_time"][1:])
    assert shown["events"]["is_replay"].tolist() == events["is_replay"].tolist()
    assert shown["events"]["kind"].tolist() == events["kind"].fillna("").tolist()
    assert shown["decoded_position"].shape == (len(found.paths), 2)


def test_without_pynapple_a_sentence_says_what_to_install(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynapple", None)
    with pytest.raises(ImportError, match="pip install pynapple"):
        found.to_pynapple()


def test_its_events_can_be_read_again(path):
    """What was found can be the candidate events of another analysis."""
    arrays = {"position_time": [0.0, 1e3], "position_xy": [[0, 0], [90, 0]]}
    track = {"node_positions": [[0, 0], [90, 0]], "edges": [[0, 1]]}
    read = read_recording(arrays, track, session=path)
    assert len(read.events) > 5


@pytest.mark.skipif(sys.platform == "win32", reason="file sizes cannot be limited")
def test_a_full_disk_is_an_error_and_no_crash(found, tmp_path):
    """HDF5 would end the process; a limit on file sizes stands for a full disk."""
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        with pytest.raises(OSError, match="large"):
            write_nwb(tmp_path / "replay.nwb", found, {}, "digest")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []


def test_without_pynwb_it_says_what_to_install(tmp_path):
    (tmp_path / "x.nwb").touch()
    code = (
        "import sys; sys.modules['pynwb'] = None\n"
        "from analyses.studies.recorded_replay.results_nwb import write_nwb\n"
        "from analyses.recordings.readers import read_recording\n"
        "for call in (lambda: write_nwb('x.nwb', None, {}, ''), lambda: read_recording('x.nwb')):\n"
        "    try: call()\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.count("pip install 'hippocampal-replay[recordings]'") == 2
