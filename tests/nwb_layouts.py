"""NWB files in the layouts in which laboratories publish them (names and columns of DANDI's files).

Each has the same run on the same track, so that a test can ask for the same positions and spikes.
"""

from datetime import UTC, datetime

import h5py
import numpy as np
from hdmf.common import DynamicTable, VectorData
from pynwb import NWBHDF5IO, NWBFile
from pynwb.behavior import CompassDirection, Position, SpatialSeries
from pynwb.ecephys import LFP, ElectricalSeries, FeatureExtraction, SpikeEventSeries
from pynwb.epoch import TimeIntervals
from pynwb.misc import Units

TRACK = {
    "node_positions": [[0, 0], [100, 0]],
    "edges": [[0, 1]],
    "linear_edge_order": [[0, 1]],
    "linear_edge_spacing": 0,
}
RUN = (100.0, 200.0)
"""The animal is in its cage before and after, and runs to and fro on the track in between."""
TIME = np.arange(0.0, 300.0, 0.1)


def within(begin, end):
    return np.searchsorted([begin, np.nextafter(end, np.inf)], TIME, side="right") == 1


ON_TRACK = within(*RUN)
FAR = 50 - 50 * np.cos(0.4 * TIME)
XY = np.where(ON_TRACK[:, None], np.stack([FAR, 0 * FAR], 1), [[300.0, 300.0]])
N_UNITS = 6
REGIONS = ["CA1", "PFC"] * 3


def spikes(unit):
    return np.arange(0.5 + unit / 10, 300.0, 0.5)


def _file(identifier):
    return NWBFile("a session", identifier, datetime(2026, 1, 1, tzinfo=UTC))


def _electrodes(file, regions):
    device = file.create_device(name="array")
    for number, region in enumerate(regions):
        group = file.create_electrode_group(f"Tetrode{number + 1}", "tetrode", region, device)
        file.add_electrode(group=group, location=region)
    return file.create_electrode_table_region(list(range(len(regions))), "all electrodes")


def _series(name, data, unit="cm", time=TIME, **options):
    return SpatialSeries(
        name=name, data=data, timestamps=time, reference_frame="corner", unit=unit, **options
    )


def _write(file, path):
    with NWBHDF5IO(str(path), "w") as writer:
        writer.write(file)
    return path


def jadhav(path, n_samples=3000):
    """000447, 000978: x, y, velocity; region by electrode; epochs without labels; trials; LFP."""
    file = _file("JS14")
    region = _electrodes(file, REGIONS)
    velocity = np.hypot(*np.gradient(XY, 0.1, axis=0).T)
    behavior = file.create_processing_module("behavior", "contains behavioral data")
    behavior.add(Position(spatial_series=_series("SpatialSeries", np.column_stack([XY, velocity]))))
    for unit in range(N_UNITS):
        file.add_unit(spike_times=spikes(unit), electrodes=[unit])
    epochs = TimeIntervals(name="epoch intervals", description="Start and end times of all epochs")
    for begin, end in ((0.0, 99.0), RUN, (201.0, 299.0)):
        epochs.add_interval(start_time=begin, stop_time=end)
    file.add_time_intervals(epochs)
    file.add_trial_column("correct", "correct or incorrect")
    file.add_trial(start_time=100.0, stop_time=108.0, correct=1.0)
    values = np.arange(6.0) + np.zeros((n_samples, 1))
    potential = LFP()
    file.create_processing_module("ecephys", "x").add(potential)
    potential.create_electrical_series(
        name="ElectricalSeries", data=values, electrodes=region, rate=1500.0, starting_time=0.0
    )
    return _write(file, path)


def grosmark(path):
    """000044: linearised and plane positions in m, labelled epochs, states, types of cells."""
    file = _file("Achilles_10252013")
    behavior = file.create_processing_module("behavior", "x")
    name = "1.6mLinearMaze"
    for part, data in (("Linearized", FAR), ("", XY)):
        series = _series(f"{name}{part}SpatialSeries", data[ON_TRACK] / 100, "m", TIME[ON_TRACK])
        behavior.add(Position(spatial_series=series, name=f"{name}{part}Position"))
    file.add_epoch_column("label", "Name of epoch.")
    for label, begin, end in (
        ("PREEpoch", 0.0, 99.0),
        ("MazeEpoch", *RUN),
        ("POSTEpoch", 201, 299.0),
    ):
        file.add_epoch(float(begin), end, label=label)
    states = TimeIntervals(name="states", description="Sleep states of animal.")
    states.add_column("label", "Sleep state.")
    for begin, label in ((0.0, "WAKE"), (10.0, "NREM"), (210.0, "NREM")):
        states.add_interval(start_time=begin, stop_time=begin + 5, label=label)
    behavior.add(states)
    file.add_unit_column("cell_type", "x")
    file.add_unit_column("location", "x")
    for unit in range(N_UNITS):
        kind = "interneuron" if unit == 0 else "pyramidal"
        file.add_unit(spike_times=spikes(unit), cell_type=kind, location=REGIONS[unit])
    return _write(file, path)


def huszar(path):
    """000552: series of the plane and of the track, ripples with ragged columns, sleep states."""
    file = _file("e13")
    behavior = file.create_processing_module("behavior", "x")
    series = _series("LinearizedSpatialSeries", FAR[:, None])
    behavior.add(Position(spatial_series=series, name="LinearizedPosition"))
    behavior.add(Position(spatial_series=_series("SpatialSeries", XY), name="SubjectPosition"))
    heading = _series("heading", FAR, "radians")
    behavior.add(CompassDirection(spatial_series=heading))
    ripples = TimeIntervals(name="Ripples", description="Ripples and their metrics")
    ripples.add_column("ripple_raw", "x", index=True)
    for begin in (20.0, 40.0):
        ripples.add_interval(start_time=begin, stop_time=begin + 0.1, ripple_raw=[1.0, 2.0])
    file.create_processing_module("ecephys", "x").add(ripples)
    for unit in range(N_UNITS):
        file.add_unit(spike_times=spikes(unit))
    return _write(file, path)


def spyglass(path):
    """A series for each epoch, in pixels that `conversion` turns to m; epochs with tags."""
    file = _file("beans")
    behavior = file.create_processing_module("behavior", "x")
    position = Position()
    for number, (begin, end) in enumerate(((0.0, 99.0), RUN)):
        there = within(begin, end)
        two_lights = np.column_stack([XY[there], XY[there] + 1]) / 0.2
        position.add_spatial_series(
            _series(f"series_{number}", two_lights, "meters", TIME[there], conversion=0.002)
        )
        file.add_epoch(begin, end, tags=["02_r1" if number else "01_s1"])
    behavior.add(position)
    for unit in range(N_UNITS):
        file.add_unit(spike_times=spikes(unit))
    return _write(file, path)


def plain_electrodes(path):
    """Write units with one electrode each, and no index of electrodes, which pynwb cannot write."""
    jadhav(path, n_samples=10)
    with h5py.File(path, "r+") as file:
        del file["units/electrodes_index"]
    return path


def several(path):
    """Several of each kind: only the first in this order of columns and tables is usual."""
    file = _file("twice")
    behavior = file.create_processing_module("behavior", "x")
    behavior.add(Position(spatial_series=_series("xy", XY)))
    file.add_epoch_column("label", "x")
    for label, begin, end in (("sleep", 0.0, 99.0), ("maze", *RUN), ("sleep", 201.0, np.nan)):
        file.add_epoch(begin, end, label=label)
    file.add_trial_column("task", "x")
    for begin in (100.0, 120.0):
        file.add_trial(start_time=begin, stop_time=begin + 8.0, task="track")
    states = TimeIntervals(name="behavioral_states", description="x")
    states.add_column("state", "x")
    states.add_interval(start_time=20.0, stop_time=30.0, state="sleep")
    behavior.add(states)
    for number in range(2):
        module = file.create_processing_module(f"ecephys{number}", "x")
        begins = np.array([20.0, 40.0]) + number
        columns = (("start", begins), ("stop", begins + 0.1), ("power", [5.0, 6.0]))
        module.add(
            DynamicTable(
                name="ripples",
                description="x",
                columns=[VectorData(name=key, description="x", data=each) for key, each in columns],
            )
        )
    _electrodes(file, REGIONS)
    for number, n_channels in enumerate((2, 3)):
        values = 10 * number + np.arange(float(n_channels)) + np.zeros((3000, 1))
        own = file.create_electrode_table_region(list(range(n_channels)), "x")
        file.add_acquisition(
            ElectricalSeries(
                name=f"probe{number}", data=values, electrodes=own, rate=1000.0, starting_time=0.0
            )
        )
    file.add_unit_column("KSLabel", "x")
    for unit, label in enumerate(["good", "mua", "good", "noise", "good", "mua"]):
        file.add_unit(spike_times=spikes(unit), KSLabel=label, id=10 + 3 * unit)
    curated = Units(name="curated", description="x")
    curated.add_unit(spike_times=spikes(4), id=77)
    file.processing["ecephys0"].add(curated)
    return _write(file, path)


def observed_in_part(path):
    """Units with intervals of observation, the last from 150 s, and times that are invalid."""
    file = _file("beans")
    behavior = file.create_processing_module("behavior", "x")
    behavior.add(Position(spatial_series=_series("xy", XY[ON_TRACK], time=TIME[ON_TRACK])))
    for unit in range(N_UNITS):
        begin = 150.0 if unit == N_UNITS - 1 else 0.0
        file.add_unit(spike_times=spikes(unit), obs_intervals=[[begin, 300.0]])
    file.add_invalid_time_interval(start_time=120.0, stop_time=130.0)
    return _write(file, path)


N_MARKS = 600


def unsorted(path, kind):
    """Spikes that were not sorted, of two tetrodes: waveforms, or their amplitudes."""
    file = _file("beans")
    behavior = file.create_processing_module("behavior", "x")
    behavior.add(Position(spatial_series=_series("xy", XY[ON_TRACK], time=TIME[ON_TRACK])))
    _electrodes(file, ["CA1"] * 8)
    rng = np.random.default_rng(0)
    for tetrode in range(2):
        times = np.sort(rng.uniform(*RUN, N_MARKS))
        peaks = rng.choice([50.0, 150.0], (N_MARKS, 4)) + rng.normal(0, 3, (N_MARKS, 4))
        region = file.create_electrode_table_region(list(range(4 * tetrode, 4 * tetrode + 4)), "x")
        if kind == "features":
            table = FeatureExtraction(
                name=f"tetrode{tetrode}", electrodes=region, description=["peak"] * 1,
                times=times, features=peaks[:, :, None],
            )  # fmt: skip
            file.create_processing_module(f"ecephys{tetrode}", "x").add(table)
        else:
            shape = -np.hanning(8)
            file.add_acquisition(
                SpikeEventSeries(
                    name=f"tetrode{tetrode}",
                    data=peaks[:, :, None] * shape,
                    timestamps=times,
                    electrodes=region,
                )
            )
    return _write(file, path)
