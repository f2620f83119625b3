"""What must not change does not change: one recording in each form, moved, permuted, renamed, cut.

Nothing is compared with a number: each test states one relation between two readings.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import io
from test_mat_files import write_73
from test_readers import Group

from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.observed import Observed
from analyses.recordings.decide.find_replay import find_replay
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.readers import read_recording
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.studies.recorded_replay import several_animals
from analyses.studies.recorded_replay.plan import plan_animals, plan_recording

layouts = pytest.importorskip("nwb_layouts", reason="pynwb is not installed")

JUDGEMENT = Judgement(n_shuffles=3, n_controls=1, other_sizes=())
ORDER = np.random.default_rng(0).permutation(60)
REST = 48.27, 48.30
"""A time, in s, in which the animal rests and no cell fires, .24 s after an event."""
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


@pytest.fixture(scope="module")
def found(recorded):
    return find_replay(recorded, judgement=JUDGEMENT)


def same(recording, data):
    """The recording has these numbers, bit for bit."""
    np.testing.assert_array_equal(recording.time, data.time)
    np.testing.assert_array_equal(recording.position, data.xy)
    np.testing.assert_array_equal(recording.events[["start_time", "end_time"]], data.events)
    for one, other in zip(recording.spikes, data.spikes, strict=True):
        np.testing.assert_array_equal(one, other)


def assert_same_replay(found, other, atol, shift=0.0):
    """Both have the same events, stretches and sequences, up to rounding, and so many s later."""
    names = "start_time", "end_time", "evidence", "content", "weighted_correlation", "line_fit"
    moved = np.array([shift, shift, 0, 0, 0, 0])
    for one, two in ((found.events, other.events), (found.stretches, other.stretches)):
        own = [name for name in names if name in two]
        expected = two[own] + moved[: len(own)]
        np.testing.assert_allclose(one[own], expected, rtol=0, atol=atol)
    exact = ["n_active", "n_spikes", "is_replay", "kind"]
    pd.testing.assert_frame_equal(found.events[exact], other.events[exact])
    exact = ["event", "states", "kind"]
    assert len(found.sequences) > 4
    pd.testing.assert_frame_equal(found.sequences[exact], other.sequences[exact])


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


def test_the_order_of_cells_does_not_matter(found, recorded):
    """Controls draw cells by number, so that p may differ.

    Log likelihoods, in all some hundreds, are summed over cells in another order.
    """
    permuted = replace(recorded, spikes=tuple(recorded.spikes[cell] for cell in ORDER))
    other = find_replay(permuted, judgement=JUDGEMENT)
    assert_same_replay(other, found, atol=len(ORDER) * 1000 * EPS)


def test_replay_does_not_depend_on_the_clock(data, recorded):
    """Times in whole 2**-20 s are shifted without rounding; the middles of time bins are not.

    Times near 1e6 s are 1.2e-10 s apart, in which the animal runs 1e-8 cm at most. Log odds of
    events, of up to some hundreds, change by less than that within a bin of 5 cm.
    """
    time, *spikes = (np.round(each * 2**20) / 2**20 for each in (data.time, *data.spikes))
    ends = np.round(data.events * 2**20) / 2**20
    one, other = (
        find_replay(
            replace(
                recorded,
                time=time + shift,
                spikes=tuple(each + shift for each in spikes),
                events=pd.DataFrame(ends + shift, columns=["start_time", "end_time"]),
            ),
            judgement=JUDGEMENT,
        )
        for shift in (0.0, 1e6)
    )
    assert_same_replay(other, one, shift=1e6, atol=1e-7)


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
    at = np.searchsorted(data.time, REST[0])
    cut = read(nwb, data, parts=(slice(at), slice(at, None)))
    assert cut.digest() == read(nwb, data).digest()


@pytest.mark.parametrize("parts", ["of positions", "of spikes"])
def test_a_cut_at_rest_changes_no_event(parts, found, recorded):
    """Neither spikes nor events are between the parts: nothing is rounded."""
    begin, end = recorded.span()
    cut = np.array([[begin, REST[0]], [REST[1], end]])
    assert not any(((each > REST[0]) & (each < REST[1])).any() for each in recorded.spikes)
    if parts == "of spikes":
        apart = replace(recorded, observed=Observed(spikes=cut))
    else:
        apart = replace(recorded, on_track=cut)
    other = find_replay(apart, judgement=JUDGEMENT)
    for name in ("events", "stretches", "sequences"):
        pd.testing.assert_frame_equal(getattr(other, name), getattr(found, name))


@pytest.mark.parametrize("form", [nwb, pynapple], ids=lambda form: form.__name__)
def test_cells_with_other_names_are_the_same_cells(form, read, data):
    """Names are in the order of cells, since pynapple sorts by them."""
    named = [read(form, data, ids=ids) for ids in (range(60), range(7, 187, 3))]
    assert named[1].units == tuple(map(str, range(7, 187, 3)))
    assert named[0].digest() == named[1].digest()


def test_animals_and_cells_with_other_names_have_the_same_tables(tmp_path):
    both = simulated_recording(6, 0), simulated_recording(6, 1)
    study = replace(several_animals.STUDY, figures={})
    tables = []
    for names, units in ((("a", "b"), ()), (("NA", "001"), tuple(f"u{k}" for k in range(60)))):
        plans = {
            name: plan_recording(
                replace(each, name=name, units=units), judgement=JUDGEMENT, n_sessions=0
            )
            for name, each in zip(names, both, strict=True)
        }
        run(study, plan_animals(plans), tmp_path / names[0], tell=lambda text: None)
        results = Results(tmp_path / names[0])
        new = dict(zip(names, "ab", strict=True))
        own = {}
        for path in sorted(results.folder.iterdir()):
            if path.suffix in (".csv", ".parquet"):
                table = results.read(path.name)
                if "animal" in table:
                    table["animal"] = table["animal"].map(new)
                own[path.name] = table.drop(columns="unit", errors="ignore")
        tables.append(own)
    assert len(tables[0]) > 10
    assert list(tables[0]) == list(tables[1])
    for name, table in tables[0].items():
        pd.testing.assert_frame_equal(table, tables[1][name], obj=name)
