"""What must not change does not change: one recording in each form, moved, permuted, renamed, cut.

Nothing is compared with a number: each test states one relation between two readings; what is found
in them is in `test_metamorphic_studies`.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import io
from test_decoded_elsewhere import HERE, LINE
from test_mat_files import write_73
from test_readers import RECORDINGS, Group, needs_recordings

from analyses.recordings import find_replay
from analyses.recordings.basics.observed import Observed
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.prepare.session import prepare
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.track_graphs import linear_to_plane, read_track
from analyses.recordings.recover.simulated_recording import simulated_recording

layouts = pytest.importorskip("nwb_layouts", reason="pynwb is not installed")

ORDER = np.random.default_rng(0).permutation(60)
REST = 48.28
"""A time, in s, at which the animal rests."""
EPS = np.finfo(float).eps


class Data(NamedTuple):
    """What is written: times and positions (cm), spikes of each cell, events."""

    time: np.ndarray
    xy: np.ndarray
    spikes: list
    events: np.ndarray


def arrays(data):
    return {
        "position_time": data.time,
        "position_xy": data.xy,
        "spike_time": np.concatenate(data.spikes),
        "spike_unit": np.repeat(np.arange(len(data.spikes)), [len(each) for each in data.spikes]),
        "event_start": data.events[:, 0],
        "event_end": data.events[:, 1],
    }


def mapping(data, folder):
    return {"source": arrays(data)}


def npz(data, folder):
    np.savez(folder / "mine.npz", **arrays(data))
    return {"source": folder / "mine.npz"}


def mat_5(data, folder):
    io.savemat(folder / "mine.mat", arrays(data))
    return {"source": folder / "mine.mat"}


def mat_73(data, folder):
    write_73(folder / "mine.mat", arrays(data))
    return {"source": folder / "mine.mat"}


def explorer(data, folder, units="cm", scale=1.0):
    x, y = data.xy.T / scale
    cells = np.empty(len(data.spikes), dtype=object)
    cells[:] = data.spikes
    tree = {
        "spikes": {"times": cells, "numcells": len(cells)},
        "behavior": {"timestamps": data.time, "position": {"x": x, "y": y, "units": units}},
        "ripples": {"timestamps": data.events},
    }
    io.savemat(folder / "explorer.mat", tree)
    return {"source": folder / "explorer.mat"}


def nwb(data, folder, parts=(slice(None),), ids=None, scale=1.0, **options):
    """Write positions as one series for each of some parts."""
    file = layouts._file("mine")
    behavior = file.create_processing_module("behavior", "x")
    behavior.add(
        layouts.Position(
            spatial_series=[
                layouts._series(
                    f"series_{number}", data.xy[part] / scale, time=data.time[part], **options
                )
                for number, part in enumerate(parts)
            ]
        )
    )
    for number, each in enumerate(data.spikes):
        file.add_unit(spike_times=each, id=number if ids is None else ids[number])
    ripples = layouts.TimeIntervals(name="ripples", description="x")
    for begin, end in data.events:
        ripples.add_interval(start_time=begin, stop_time=end)
    behavior.add(ripples)
    return {"source": layouts._write(file, folder / "mine.nwb"), "events": "ripples"}


def pynapple(data, folder, ids=None):
    """Stand-ins with the fields of pynapple's objects that are read."""
    keys = range(len(data.spikes)) if ids is None else ids
    times = [SimpleNamespace(t=each) for each in data.spikes]
    units = Group(zip(keys, times, strict=True))
    clocks = np.concatenate([data.time, *data.spikes])
    units.time_support = SimpleNamespace(start=clocks.min()[None], end=clocks.max()[None])
    begin, end = data.events.T
    events = SimpleNamespace(start=begin, end=end)
    events.as_dataframe = lambda: pd.DataFrame({"start": begin, "end": end})
    place = SimpleNamespace(t=data.time, values=data.xy, columns=np.array(["x", "y"]))
    return {"source": units, "session": place, "events": events}


FORMS = [mapping, npz, mat_5, mat_73, explorer, nwb, pynapple]
in_each_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)


@pytest.fixture(scope="module")
def recorded():
    return simulated_recording(6)


@pytest.fixture(scope="module")
def data(recorded):
    ends = recorded.events[["start_time", "end_time"]].to_numpy()
    return Data(recorded.time, recorded.position, list(recorded.spikes), ends)


@pytest.fixture
def read(tmp_path, recorded):
    def read(form, data, **options):
        return read_recording(track=recorded.graph, **form(data, tmp_path, **options))

    return read


def same(recording, data):
    """The recording has these numbers, bit for bit."""
    np.testing.assert_array_equal(recording.time, data.time)
    np.testing.assert_array_equal(recording.position, data.xy)
    np.testing.assert_array_equal(recording.events[["start_time", "end_time"]], data.events)
    for one, other in zip(recording.spikes, data.spikes, strict=True):
        np.testing.assert_array_equal(one, other)


@in_each_form
def test_each_form_has_the_same_numbers(form, read, data, recorded):
    recording = read(form, data)
    same(recording, data)
    assert recording.unobserved() == recorded.unobserved()
    always = replace(recording, observed=Observed(), events=recorded.events)
    assert always.digest() == recorded.digest()


@in_each_form
def test_times_are_those_of_the_clock(form, read, data):
    later = Data(data.time + 1e6, data.xy, [each + 1e6 for each in data.spikes], data.events + 1e6)
    same(read(form, later), later)


@in_each_form
def test_the_order_of_rows_does_not_matter(form, read, data):
    rng = np.random.default_rng(1)
    rows, events = rng.permutation(len(data.time)), rng.permutation(len(data.events))
    spikes = [rng.permutation(each) for each in data.spikes]
    same(read(form, Data(data.time[rows], data.xy[rows], spikes, data.events[events])), data)


@in_each_form
def test_cells_come_in_the_order_of_the_file(form, read, data):
    permuted = data._replace(spikes=[data.spikes[cell] for cell in ORDER])
    same(read(form, permuted), permuted)


@in_each_form
def test_positions_that_are_nan_or_missing_are_one_recording(form, read, data):
    lost = np.random.default_rng(2).random(len(data.time)) < 0.05
    lost[1000:1100] = True  # 2 s
    nan = read(form, data._replace(xy=np.where(lost[:, None], np.nan, data.xy)))
    missing = read(form, data._replace(time=data.time[~lost], xy=data.xy[~lost]))
    assert nan.digest() == missing.digest()
    logs = [experience_of(each, 15.0)[1].steps for each in (nan, missing)]
    pd.testing.assert_frame_equal(*logs)


@pytest.mark.parametrize(("form", "options"), [
    (nwb, {"unit": "m", "scale": 100.0}),
    (nwb, {"unit": "m", "scale": 0.5, "conversion": 0.005}),
    (explorer, {"units": "m", "scale": 100.0}),
    (explorer, {"units": "mm", "scale": 0.1}),
])  # fmt: skip
def test_positions_in_another_unit_are_the_same(form, options, read, data):
    """The factor in decimals and three products round by at most half a unit in the last place."""
    recording = read(form, data, **options)
    np.testing.assert_allclose(recording.position, data.xy, rtol=2 * EPS, atol=0)
    same(replace(recording, position=data.xy), data)


def test_parts_of_a_session_are_one_recording(read, data):
    """Two series of positions that follow one another, cut where the animal rests."""
    at = np.searchsorted(data.time, REST)
    cut = read(nwb, data, parts=(slice(at), slice(at, None)))
    assert cut.digest() == read(nwb, data).digest()


@pytest.mark.parametrize("form", [nwb, pynapple], ids=lambda form: form.__name__)
def test_cells_with_other_names_are_the_same_cells(form, read, data):
    """Names are in the order of cells, since pynapple sorts by them."""
    named = [read(form, data, ids=ids) for ids in (range(60), range(7, 187, 3))]
    assert named[1].units == tuple(map(str, range(7, 187, 3)))
    assert named[0].digest() == named[1].digest()


# -- a session in two files -----------------------------------------------------------------


@pytest.mark.parametrize("form", [mapping, npz, mat_5, mat_73], ids=lambda form: form.__name__)
def test_a_session_in_two_files_is_that_of_one(form, data, recorded, tmp_path):
    """Spikes and events in one, positions in the other, and the other way round."""
    whole = read_recording(track=recorded.graph, **form(data, tmp_path))
    names = arrays(data)
    halves = []
    for number, is_place in enumerate((False, True)):
        half = {key: value for key, value in names.items() if ("position" in key) == is_place}
        path = tmp_path / f"half_{number}.{'npz' if form is npz else 'mat'}"
        if form is mapping:
            halves.append(half)
            continue
        if form is npz:
            np.savez(path, **half)
        else:
            (io.savemat if form is mat_5 else write_73)(path, half)
        halves.append(path)
    for one, other in (halves, halves[::-1]):
        found = read_recording(one, recorded.graph, session=other)
        same(found, data)
        assert found.digest() == whole.digest()


@pytest.mark.parametrize("form", [npz, mat_73, pynapple], ids=lambda form: form.__name__)
def test_positions_of_any_form_complete_an_nwb_file(form, data, recorded, tmp_path):
    whole = read_recording(track=recorded.graph, **nwb(data, tmp_path))
    file = layouts._file("spikes")
    for each in data.spikes:
        file.add_unit(spike_times=each)
    spikes = layouts._write(file, tmp_path / "spikes.nwb")
    place = form(data, tmp_path)
    place = place["session"] if form is pynapple else place["source"]
    found = read_recording(spikes, recorded.graph, session=place, events=whole.events)
    same(found, data)
    assert found.digest() == replace(whole, observed=found.observed).digest()


# -- what another program decoded -----------------------------------------------------------


class Decoded(NamedTuple):
    """A posterior over places along the track of `LINE`, time by time."""

    time: np.ndarray
    probability: np.ndarray
    linear: np.ndarray


def decoded_arrays(decoded):
    xy = linear_to_plane(read_track(LINE), decoded.linear, "Bins")
    return {"posterior": decoded.probability, "posterior_time": decoded.time, "posterior_xy": xy}


def decoded_npz(decoded, folder):
    np.savez(folder / "decoded.npz", **decoded_arrays(decoded))
    return folder / "decoded.npz"


def decoded_mat_5(decoded, folder):
    io.savemat(folder / "decoded.mat", decoded_arrays(decoded))
    return folder / "decoded.mat"


def decoded_mat_73(decoded, folder):
    write_73(folder / "decoded.mat", decoded_arrays(decoded))
    return folder / "decoded.mat"


def decoded_dataset(decoded, folder):
    xarray = pytest.importorskip("xarray")
    return xarray.Dataset(
        {"acausal_posterior": (("time", "position"), decoded.probability)},
        coords={"time": decoded.time, "position": decoded.linear},
    )


def decoded_netcdf(decoded, folder):
    pytest.importorskip("h5netcdf")
    decoded_dataset(decoded, folder).to_netcdf(folder / "decoded.nc", engine="h5netcdf")
    return folder / "decoded.nc"


def decoded_frame(decoded, folder):
    return SimpleNamespace(t=decoded.time, values=decoded.probability, columns=decoded.linear)


DECODED = [decoded_npz, decoded_mat_5, decoded_mat_73, decoded_dataset, decoded_netcdf]
DECODED += [decoded_frame]
in_each_decoded_form = pytest.mark.parametrize("form", DECODED, ids=lambda form: form.__name__)


@pytest.fixture(scope="module")
def elsewhere():
    """What pynapple decoded in four events, at times in whole 2**-20 s; and positions, events."""
    with np.load(HERE / "decoded_pynapple.npz") as stored:
        time, linear = np.round(stored["t"] * 2**20) / 2**20, stored["columns"]
        values = stored["values"].astype(float)  # from single precision
    decoded = Decoded(time, values / values.sum(axis=1, keepdims=True), linear)
    with np.load(HERE / "decoded_session.npz") as stored:
        session = {name: stored[name] for name in ("position_time", "position_xy")}
        begin, end = (np.round(stored["event_time"] * 2**20) / 2**20).T
    session["position_time"] = np.round(session["position_time"] * 2**20) / 2**20
    return decoded, session | {"event_start": begin, "event_end": end}


def decoded_by(form, decoded, session, folder, shift=0.0):
    later = {key: each if key == "position_xy" else each + shift for key, each in session.items()}
    moved = decoded._replace(time=decoded.time + shift)
    return read_recording(form(moved, folder), LINE, session=later)


def assert_same_posterior(one, other, atol=0.0):
    for name in ("time", "position", "probability"):
        np.testing.assert_allclose(
            getattr(one.posterior, name), getattr(other.posterior, name), rtol=0, atol=atol
        )


@in_each_decoded_form
def test_each_form_of_a_posterior_is_the_same(form, elsewhere, tmp_path):
    """Rows are divided by their sums in some forms, which are 1 up to rounding."""
    whole = decoded_by(decoded_frame, *elsewhere, tmp_path)
    found = decoded_by(form, *elsewhere, tmp_path)
    columns = [np.lexsort(each.posterior.position.T.round(6)) for each in (whole, found)]
    one, other = (
        replace(each, posterior=each.posterior._replace(
            probability=each.posterior.probability[:, own], position=each.posterior.position[own]))
        for each, own in zip((whole, found), columns, strict=True)
    )  # fmt: skip
    assert_same_posterior(one, other, atol=1e-9)  # places are rounded to so many cm


@in_each_decoded_form
def test_a_posterior_has_the_times_of_the_clock_and_no_order(form, elsewhere, tmp_path):
    decoded, session = elsewhere
    found = decoded_by(form, decoded, session, tmp_path)
    later = decoded_by(form, decoded, session, tmp_path, 1e6)
    np.testing.assert_array_equal(later.posterior.time, found.posterior.time + 1e6)
    np.testing.assert_array_equal(later.posterior.probability, found.posterior.probability)
    rows = np.random.default_rng(3).permutation(len(decoded.time))
    mixed = Decoded(decoded.time[rows], decoded.probability[rows], decoded.linear)
    assert decoded_by(form, mixed, session, tmp_path).digest() == found.digest()


@in_each_decoded_form
def test_what_was_not_decoded_may_be_nan_or_missing(form, elsewhere, tmp_path):
    """The last rows of an event, and one within another."""
    decoded, session = elsewhere
    found = decoded_by(form, *lost_in(decoded, session, is_nan=True), tmp_path)
    missing = decoded_by(form, *lost_in(decoded, session, is_nan=False), tmp_path)
    known = ~np.isnan(found.posterior.probability).any(axis=1)
    np.testing.assert_array_equal(found.posterior.time[known], missing.posterior.time)
    np.testing.assert_array_equal(found.posterior.probability[known], missing.posterior.probability)


def lost_in(decoded, session, is_nan):
    ends, third = session["event_end"], session["event_start"][2]
    lost = (decoded.time > ends[0] - 0.05) & (decoded.time <= ends[0])
    lost[np.searchsorted(decoded.time, third + 0.1)] = True
    if is_nan:
        rows = np.where(lost[:, None], np.nan, decoded.probability)
        return decoded._replace(probability=rows), session
    return Decoded(decoded.time[~lost], decoded.probability[~lost], decoded.linear), session


def paths_of(found):
    return [path.tolist() for path in found.sequences["states"]]


def test_replay_in_a_posterior_does_not_depend_on_its_clock_order_or_rows(elsewhere, tmp_path):
    """Of what was not decoded, too."""
    judgement = Judgement(n_shuffles=3, n_controls=1, other_sizes=())
    for decoded, session in (elsewhere, lost_in(*elsewhere, is_nan=True)):
        whole = decoded_by(decoded_frame, decoded, session, tmp_path)
        one = find_replay(whole, judgement=judgement)
        later = decoded_by(decoded_frame, decoded, session, tmp_path, 1e6)
        other = find_replay(later, judgement=judgement)
        exact = ["is_replay", "kind"]
        pd.testing.assert_frame_equal(one.events[exact], other.events[exact])
        np.testing.assert_allclose(other.events["evidence"], one.events["evidence"], atol=1e-7)
        assert paths_of(one) == paths_of(other)
    missing = decoded_by(decoded_frame, *lost_in(*elsewhere, is_nan=False), tmp_path)
    other = find_replay(missing, judgement=judgement)
    pd.testing.assert_frame_equal(one.events, other.events)
    assert paths_of(one) == paths_of(other)


# -- recordings of real animals -------------------------------------------------------------


@pytest.fixture(scope="module")
def w_maze():
    graph = read_track(RECORDINGS / "wmaze_track_graph.json")
    return read_recording(RECORDINGS / "wmaze.npz", graph)


def data_of(recording):
    """Its numbers; without events, two are made up, since forms without any are others."""
    events = np.array([[1300.0, 1300.2], [1400.0, 1400.2]])
    return Data(recording.time, recording.position, list(recording.spikes), events)


@needs_recordings
@in_each_form
def test_a_real_recording_has_the_same_numbers_in_each_form(form, w_maze, tmp_path):
    data = data_of(w_maze)
    same(read_recording(track=w_maze.graph, **form(data, tmp_path)), data)


@needs_recordings
def test_a_real_session_does_not_depend_on_clock_order_or_names(w_maze):
    """Times in ticks of 30 kHz are rounded to 2**-20 s, which a shift does not round."""

    def moved(shift):
        time, *spikes = (
            np.round(each * 2**20) / 2**20 + shift for each in (w_maze.time, *w_maze.spikes)
        )
        return replace(w_maze, time=time, spikes=tuple(spikes), on_track=w_maze.on_track + shift)

    n = len(w_maze.spikes)
    order = np.random.default_rng(4).permutation(n)
    first = moved(0.0)
    variants = {
        "later": moved(1e6),
        "permuted": replace(first, spikes=tuple(first.spikes[cell] for cell in order),
                            units=tuple(first.units[cell] for cell in order)),
        "renamed": replace(first, name="NA", units=tuple(map(str, range(100, 100 + n)))),
    }  # fmt: skip
    one = prepare(first)
    assert len(one.events) > 50
    moves = experience_of(first, 15.0)[1].steps
    ends = one.events[["start_time", "end_time"]].to_numpy()
    for name, variant in variants.items():
        shift, atol = (1e6, 1e-7) if name == "later" else (0.0, 0.0)
        other = prepare(variant)
        own = other.events[["start_time", "end_time"]].to_numpy()
        np.testing.assert_allclose(own, ends + shift, rtol=0, atol=atol, err_msg=name)
        own = experience_of(variant, 15.0)[1].steps
        whole = [key for key in moves if moves[key].dtype.kind != "f"]
        pd.testing.assert_frame_equal(own[whole], moves[whole], obj=name)
        np.testing.assert_allclose(own["time"], moves["time"] + shift, rtol=0, atol=atol)


@needs_recordings
def test_a_real_file_with_its_own_events_is_the_same_as_arrays(tmp_path):
    found = read_recording(RECORDINGS / "synthetic_figure8.nwb")
    ends = found.events[["start_time", "end_time"]].to_numpy()
    data = Data(found.time, found.position, list(found.spikes), ends)
    for form in (mapping, mat_5, nwb):
        same(read_recording(track=found.graph, **form(data, tmp_path)), data)
