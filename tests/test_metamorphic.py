"""What must not change does not change: one recording in each form, moved, permuted, renamed, cut.

Nothing is compared with a number: each test states one relation between two readings.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from nwb_layouts import _file as new_file
from nwb_layouts import _series as series_of
from nwb_layouts import _write as write_nwb
from pynwb.behavior import Position
from pynwb.epoch import TimeIntervals
from scipy import io
from test_mat_files import write_73
from test_readers import Group

from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.observed import Observed
from analyses.recordings.decide.find_replay import find_replay
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.readers import read_recording
from analyses.recordings.recover.simulated_recording import simulated_recording

JUDGEMENT = Judgement(n_shuffles=3, n_controls=1, other_sizes=())
RECORDED = simulated_recording(6)
EPS = np.finfo(float).eps


class Data(NamedTuple):
    """What is written: times and positions (cm), spikes of each cell, events."""

    time: np.ndarray
    xy: np.ndarray
    spikes: list
    events: np.ndarray


DATA = Data(
    RECORDED.time,
    RECORDED.position,
    list(RECORDED.spikes),
    RECORDED.events[["start_time", "end_time"]].to_numpy(),
)


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
    file = new_file("mine")
    behavior = file.create_processing_module("behavior", "x")
    behavior.add(
        Position(
            spatial_series=[
                series_of(f"series_{number}", data.xy[part] / scale, time=data.time[part], **options)
                for number, part in enumerate(parts)
            ]
        )
    )
    for number, each in enumerate(data.spikes):
        file.add_unit(spike_times=each, id=number if ids is None else ids[number])
    ripples = TimeIntervals(name="ripples", description="x")
    for begin, end in data.events:
        ripples.add_interval(start_time=begin, stop_time=end)
    behavior.add(ripples)
    return {"source": write_nwb(file, folder / "mine.nwb"), "events": "ripples"}


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


@pytest.fixture
def read(tmp_path):
    def read(form, data, **options):
        return read_recording(track=RECORDED.graph, **form(data, tmp_path, **options))

    return read


@pytest.fixture(scope="module")
def found():
    return find_replay(RECORDED, judgement=JUDGEMENT)


def same(recording, data):
    """The recording has these numbers, bit for bit."""
    np.testing.assert_array_equal(recording.time, data.time)
    np.testing.assert_array_equal(recording.position, data.xy)
    np.testing.assert_array_equal(recording.events[["start_time", "end_time"]], data.events)
    for one, other in zip(recording.spikes, data.spikes, strict=True):
        np.testing.assert_array_equal(one, other)


@in_each_form
def test_each_form_has_the_same_numbers(form, read):
    recording = read(form, DATA)
    same(recording, DATA)
    assert recording.unobserved() == RECORDED.unobserved()
    always = replace(recording, observed=Observed(), events=RECORDED.events)
    assert always.digest() == RECORDED.digest()


@in_each_form
def test_times_are_those_of_the_clock(form, read):
    later = Data(DATA.time + 1e6, DATA.xy, [each + 1e6 for each in DATA.spikes], DATA.events + 1e6)
    same(read(form, later), later)
