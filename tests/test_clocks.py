"""A clock is what the file says: pauses, order, digits, and the clock of each cell."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import io

from analyses.recordings.basics.observed import check_digits, order_in_time
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import RIPPLES, Criteria
from analyses.recordings.basics.signals import Posterior
from analyses.recordings.prepare.candidate_events import candidate_events
from analyses.recordings.prepare.detection import find_events
from analyses.recordings.prepare.place_fields import running
from analyses.recordings.prepare.session import settings_for
from analyses.recordings.readers import read_recording
from analyses.reports.preparation import describe_events
from analyses.studies.recorded_replay.animal_tables import _traces
from replay.worlds.tracks import make_linear_track

TRACK = {"node_positions": [[0, 0], [100, 0]], "edges": [[0, 1]]}
TIME = np.arange(5000.0, 5840.0, 0.05)
XY = np.stack([50 - 50 * np.cos(TIME / 5), np.zeros_like(TIME)], axis=1)


def fire(begin, end, seed, n_spikes=400):
    return np.sort(np.random.default_rng(seed).uniform(begin, end, n_spikes))


def recorded(spikes, time=TIME, **parts):
    return Recording(
        "mine", make_linear_track(100.0), time, XY[: len(time)], tuple(spikes), **parts
    )


CELLS = [fire(5000, 5840, seed) for seed in range(20)]


class TestPauses:
    """105 ripples, 40 of them before a pause of 120 s, at times that are known."""

    RATE = 1000.0
    MIDDLE = np.append(1.5 + 2.0 * np.arange(40), 203.5 + 2.0 * np.arange(65))
    SAMPLED = np.append(np.arange(0, 82_000), np.arange(202_000, 334_000)) / RATE
    MOVED = np.arange(0.0, 334.0, 0.1)
    STILL: ClassVar = {
        "position_time": MOVED,
        "position_xy": np.stack([50 + 1e-2 * MOVED, 0 * MOVED], axis=1),
        "spike_time": np.arange(0.0, 334.0, 1.0), "spike_unit": np.zeros(334, dtype=int),
    }  # fmt: skip

    def wave(self, time):
        near = self.MIDDLE[np.abs(time[:, None] - self.MIDDLE).argmin(axis=1)]
        ripple = np.sin(2 * np.pi * 190 * time) * np.exp(-0.5 * ((time - near) / 0.02) ** 2)
        return 6 * ripple + np.random.default_rng(0).normal(size=len(time))

    def events(self, found):
        moved = running(found)
        return candidate_events(found, moved, settings_for(found, threshold=5.0))

    def check(self, events):
        middle = events[["start_time", "end_time"]].mean(axis=1).to_numpy()
        assert len(middle) == len(self.MIDDLE)
        assert np.abs(middle - self.MIDDLE).max() < 0.04

    def test_ripples_of_a_file_are_at_their_own_times(self, tmp_path):
        pynwb = pytest.importorskip("pynwb")
        file = pynwb.NWBFile("x", "x", datetime(2026, 1, 1, tzinfo=UTC))
        device = file.create_device(name="x")
        group = file.create_electrode_group("x", "x", "x", device)
        file.add_electrode(group=group, location="CA1")
        region = file.create_electrode_table_region([0], "x")
        lfp = pynwb.ecephys.ElectricalSeries(
            name="lfp",
            data=self.wave(self.SAMPLED)[:, None],
            electrodes=region,
            timestamps=self.SAMPLED,
        )
        file.add_acquisition(lfp)
        place = pynwb.behavior.SpatialSeries(
            name="xy",
            data=self.STILL["position_xy"],
            timestamps=self.MOVED,
            unit="cm",
            reference_frame="x",
        )
        file.create_processing_module("behavior", "x").add(
            pynwb.behavior.Position(spatial_series=place)
        )
        with pynwb.NWBHDF5IO(str(tmp_path / "mine.nwb"), "w") as writer:
            writer.write(file)
        found = read_recording(tmp_path / "mine.nwb", TRACK, events="find_ripples")
        assert np.array_equal(found.field_potential.time, self.SAMPLED)
        assert found.field_potential.rate == pytest.approx(self.RATE)
        events, how = self.events(found)
        self.check(events)
        assert "1 pause of more than 1 s, in which nothing can be found" in describe_events(
            how, RIPPLES
        )
        more = {"field_potential": self.wave(self.SAMPLED), "field_potential_time": self.SAMPLED}
        again = read_recording(self.STILL | more, TRACK, events="find_ripples")
        assert self.events(again)[0].equals(events)
        traces = _traces(SimpleNamespace(recording=found, events=events))
        last = traces[traces["event"] == len(events) - 1]
        seen = np.interp(last["time"], self.SAMPLED, self.wave(self.SAMPLED))
        assert np.allclose(last["field_potential"], seen, atol=1e-5)

    def test_samples_that_are_nan_are_a_pause(self):
        time = np.arange(334_000) / self.RATE
        wave = np.full(len(time), np.nan)
        wave[np.isin(np.arange(334_000), np.rint(self.SAMPLED * 1000))] = self.wave(self.SAMPLED)
        more = {"field_potential": wave, "field_potential_start": 0, "field_potential_rate": 1000}
        found = read_recording(self.STILL | more, TRACK, events="find_ripples")
        self.check(self.events(found)[0])
        across = pd.DataFrame({"start_time": [81.9], "end_time": [82.1]})
        traces = _traces(SimpleNamespace(recording=found, events=across))
        is_known = traces["field_potential"].notna().to_numpy()
        assert np.array_equal(is_known, traces["time"] < 82.0 - 1e-6)

    def test_no_event_crosses_a_pause_but_lost_samples_cut_none(self):
        time = np.arange(1000) / 1000
        values = np.where((time > 0.4) & (time < 0.6), 1.0, 0.0)
        criteria = Criteria(threshold=1.5)

        def found(time, values, criteria=criteria):
            return find_events(time, values, None, criteria)[["start_time", "end_time"]].to_numpy()

        assert found(time, values).tolist() == [[0.401, 0.599]]
        lost = found(np.delete(time, 500), np.delete(values, 500))
        assert lost.tolist() == [[0.401, 0.599]]
        later = time + 100.0 * (time >= 0.5)
        assert not len(found(later, values))  # neither part lasts for 0.1 s
        parts = found(later, values, criteria._replace(shortest=0.05))
        assert np.allclose(parts, [[0.401, 0.499], [100.5, 100.599]])


class TestCells:
    def test_two_cells_on_another_clock_are_named(self):
        spikes = [each - 5000 * (number in (3, 17)) for number, each in enumerate(CELLS)]
        with pytest.raises(
            ValueError, match=r"2 of 20 cells \(\[3, 17\]\) go from .* 5000 to 5839"
        ):
            recorded(spikes)
        few = [each[::150] if number == 3 else each for number, each in enumerate(spikes)]
        with pytest.raises(
            ValueError, match=r"2 of 20 cells \(\[3, 17\]\).* leave these cells out"
        ):
            recorded(few)

    def test_a_clock_that_overlaps_the_others(self):
        time = np.linspace(5000, 12_000, len(TIME) * 9)
        place = np.tile(XY, (9, 1))
        spikes = [fire(5000, 12_000, seed) - 5000 * (seed < 2) for seed in range(20)]
        with pytest.raises(ValueError, match=r"2 of 20 cells \(\[0, 1\]\)"):
            Recording("mine", make_linear_track(100.0), time, place, tuple(spikes))

    def test_positions_on_the_clock_of_few_cells(self):
        spikes = [each - 5000 * (number < 2) for number, each in enumerate(CELLS)]
        with pytest.raises(ValueError, match="18 of 20 cells"):
            recorded(spikes, TIME - 5000)

    def test_spikes_in_samples(self):
        with pytest.raises(ValueError, match=r"1 of 20 cells \(\[0\]\).*in milliseconds\?"):
            recorded([CELLS[0] * 1000, *CELLS[1:]])

    @pytest.mark.parametrize(
        "odd",
        [
            np.array([]),
            np.array([4200.0]),  # once, in the sleep before the run
            np.array([3995.0, 3996.0]),  # before all others
            fire(4000, 4990, 9),  # in sleep only
            fire(4000, 4050, 9),  # it was lost early
        ],
    )
    def test_cells_that_fire_little_or_in_sleep_are_taken(self, odd):
        spikes = [fire(4000, 5840, seed, 20) for seed in range(9)]
        assert recorded([odd, *spikes]).spikes[0].tolist() == odd.tolist()


class TestOrder:
    """All that has times may come in any order, and is sorted with its rows."""

    def test_any_order_gives_the_same_recording(self):
        rng = np.random.default_rng(1)
        unit, spikes = np.repeat(np.arange(20), 400), np.concatenate(CELLS)
        begin = 5000 + np.arange(30.0)
        sampled = 5000 + np.arange(0, 50, 0.001)
        arrays = {
            ("position_time", "position_xy"): (TIME, XY),
            ("spike_time", "spike_unit"): (spikes, unit),
            ("event_start", "event_end"): (begin, begin + 0.2),
            ("posterior_time", "posterior"): (begin, rng.dirichlet([1, 1], 30)),
            ("field_potential_time", "field_potential"): (sampled, np.sin(sampled)),
        }
        given, mixed = {"posterior_xy": [[0, 0], [100, 0]]}, {"posterior_xy": [[0, 0], [100, 0]]}
        for names, values in arrays.items():
            order = rng.permutation(len(values[0]))
            for name, each in zip(names, values, strict=True):
                given[name], mixed[name] = each, each[order]
        one, other = (read_recording(each, TRACK) for each in (given, mixed))
        assert one.digest() == other.digest()
        told = "Sorted by time, as they were not in order: positions, the posterior, the field pot"
        assert any(note.startswith(told) for note in other.notes)
        assert not any("Sorted" in note for note in one.notes)

    def test_decoded_places(self):
        table = pd.DataFrame({"event": np.repeat([4, 7, 9], 3), "time": 5001 + np.arange(9.0),
                              "x": 10.0 * np.arange(9), "y": 0.0})  # fmt: skip
        session = {"position_time": TIME, "position_xy": XY}
        one = read_recording(table, TRACK, session=session)
        other = read_recording(table.iloc[[8, 3, 1, 0, 7, 2, 6, 5, 4]], TRACK, session=session)
        assert one.decoded.equals(other.decoded)
        assert other.events.to_numpy().tolist() == [[5001, 5003], [5004, 5006], [5007, 5009]]

    def test_several_clocks_that_begin_anew_are_refused(self):
        twice = np.append(TIME[:400], TIME[:400] + 0.02)
        with pytest.raises(ValueError, match=r"row 400, from 5019.95 to 5000.02 s.*several clocks"):
            recorded(CELLS, twice)
        assert order_in_time(twice, "x") is not None  # of spikes and events
        blocks = np.append(TIME[400:800], TIME[:400])
        assert np.array_equal(blocks[order_in_time(blocks, "x", is_sampled=True)], TIME[:800])
        late = TIME[:800].reshape(-1, 2)[:, ::-1].ravel()  # one late frame after another
        assert np.array_equal(late[order_in_time(late, "x", is_sampled=True)], TIME[:800])


class TestDigits:
    UNIX = 1.7e9
    ARRAYS: ClassVar = {
        "position_time": TIME, "position_xy": XY, "spike_time": np.concatenate(CELLS),
        "spike_unit": np.repeat(np.arange(20), 400),
    }  # fmt: skip

    def rounded(self, name, dtype=np.float32):
        return {
            key: (values + self.UNIX if key.endswith("time") else values)
            for key, values in self.ARRAYS.items()
        } | {name: (self.ARRAYS[name] + self.UNIX).astype(dtype)}

    @pytest.mark.parametrize("name", ["position_time", "spike_time"])
    def test_unix_times_in_single_precision(self, name, tmp_path):
        message = rf"{name} of .* in single precision: .* are 128 s apart.*double precision"
        np.savez(tmp_path / "mine.npz", **self.rounded(name))
        io.savemat(tmp_path / "mine.mat", {"rat": self.rounded(name)})
        for source in (self.rounded(name), tmp_path / "mine.npz", tmp_path / "mine.mat"):
            with pytest.raises(ValueError, match=message):
                read_recording(source, TRACK)
        assert len(read_recording(self.rounded(name, np.float64), TRACK).spikes) == 20

    def test_in_tables_and_posteriors(self, tmp_path):
        xarray = pytest.importorskip("xarray")
        time = (TIME[:50] + self.UNIX).astype(np.float32)
        table = pd.DataFrame({"time": time, "x": 0.0, "y": 0.0})
        table.to_parquet(tmp_path / "mine.parquet")
        table.astype(float).to_csv(tmp_path / "mine.csv")
        data = xarray.Dataset(
            {"acausal_posterior": (("time", "x_position", "y_position"), np.ones((50, 1, 1)))},
            coords={"time": time, "x_position": [0.0], "y_position": [0.0]},
        )
        for source in (table, tmp_path / "mine.parquet", tmp_path / "mine.csv", data):
            with pytest.raises(ValueError, match=r"in single precision.* 128 s apart"):
                read_recording(source, TRACK)
        with pytest.raises(ValueError, match="times of the events are in single precision"):
            read_recording(self.ARRAYS, TRACK, events=pd.DataFrame({"start": time, "end": time}))

    def test_in_nwb(self, tmp_path):
        pynwb = pytest.importorskip("pynwb")
        file = pynwb.NWBFile("x", "x", datetime(2026, 1, 1, tzinfo=UTC))
        file.add_unit(spike_times=(CELLS[0] + 1.7e9).astype(np.float32).astype(float))
        with pynwb.NWBHDF5IO(str(tmp_path / "mine.nwb"), "w") as writer:
            writer.write(file)
        with pytest.raises(ValueError, match=r"unit 0 of mine.nwb are in single precision"):
            read_recording(tmp_path / "mine.nwb", TRACK)

    @pytest.mark.parametrize(
        "times",
        [
            TIME.astype(np.float32),
            np.array([1.7e9, 1.7e9, 1.7e9 + 0.005]),
            np.repeat(np.arange(1e6, 1e6 + 9), 2),
            np.array([1, 2]),
            np.array([]),
        ],
    )
    def test_times_with_enough_digits(self, times):
        check_digits(times, "mine")


def test_a_posterior_in_metres_is_refused_as_positions_are():
    probability, time = np.full((9, 11), 1 / 11), 5001 + 0.1 * np.arange(9)
    bins = np.stack([np.linspace(0, 100, 11), np.zeros(11)], axis=1)
    posterior = Posterior(time, probability, bins, {})
    assert recorded(CELLS, posterior=posterior).posterior is posterior
    with pytest.raises(ValueError, match=r"extend over 1 cm, and the track over 100 cm.* by 100"):
        recorded(CELLS, posterior=posterior._replace(position=bins / 100))


def test_a_posterior_in_metres_along_the_track():
    corner = {"node_positions": [[0, 0], [60, 0], [60, 40]], "edges": [[0, 1], [1, 2]],
              "linear_edge_order": [[0, 1], [1, 2]], "linear_edge_spacing": 15}  # fmt: skip
    bins = np.append(np.arange(2.5, 60, 5), np.arange(77.5, 115, 5))
    place = {"position_time": TIME, "position_xy": XY * [0.6, 1]}
    decoded = {"t": TIME[:50], "d": np.full((50, len(bins)), 1 / len(bins)), "columns": bins}
    assert len(read_recording(decoded, corner, session=place).posterior.position) == len(bins)
    with pytest.raises(ValueError, match=r"extend over 1.1 cm, and the track over 115 cm"):
        read_recording(decoded | {"columns": bins / 100}, corner, session=place)


def test_labels_of_events_and_the_order_of_epochs_change_nothing():
    events = pd.DataFrame({"start_time": [1.0], "end_time": [1.5]})
    epochs = {"rest": np.array([[20.0, 30.0], [0.0, 10.0]])}
    as_objects = events.astype(object)
    plain, labelled, numbered, boxed, later = (
        Recording(
            "mine", time=np.arange(40.0), position=np.zeros((40, 2)), events=each, epochs=epochs
        )
        for each in (
            events,
            events.assign(label="text"),
            events.assign(**{"3": 1.0}),
            as_objects,
            as_objects.assign(end_time=[1.7]),
        )
    )
    assert plain.digest() == labelled.digest() == boxed.digest()
    assert len({each.digest() for each in (plain, numbered, later)}) == 3
    assert "<td>0.0</td>\n      <td>30.0</td>" in plain._repr_html_()
