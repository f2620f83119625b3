"""Recordings as laboratories publish them: what is read, what is chosen, and what is named."""

import json
import shlex
import warnings

import h5py
import numpy as np
import pandas as pd
import pytest
from commands import replay

from analyses.recordings.basics.settings import Files
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.contents import describe_file
from analyses.recordings.readers.nwb_data import choose_events
from analyses.recordings.readers.nwb_units import choose_units, hippocampal
from analyses.studies.recorded_replay import read_animal

layouts = pytest.importorskip("nwb_layouts", reason="pynwb is not installed")
TRACK, RUN = layouts.TRACK, layouts.RUN


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    names = ("jadhav", "grosmark", "huszar", "spyglass", "several")
    with warnings.catch_warnings():  # two lights, as published, are more columns than NWB suggests
        warnings.simplefilter("ignore")
        return {name: getattr(layouts, name)(folder / f"{name}.nwb") for name in names}


def run_of(found):
    during = found.during
    return found.time[during], found.position[during]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("jadhav", {}),
        ("grosmark", {}),
        ("grosmark", {"position": "1.6mLinearMazeLinearizedSpatialSeries"}),
        ("huszar", {}),
        ("huszar", {"position": "LinearizedSpatialSeries"}),
        ("spyglass", {}),
        ("spyglass", {"position": "series_1"}),
        ("spyglass", {"position": "series_1, series_0"}),
    ],
)
def test_every_layout_gives_the_same_run_and_spikes(name, options, written):
    graph = TRACK
    if name == "huszar":  # its epochs are not in the file
        graph = TRACK | {"run_epochs": [RUN]}
    found = read_recording(written[name], graph, **options)
    assert found.on_track.tolist() == [list(RUN)]
    time, position = run_of(found)
    assert np.allclose(time, layouts.TIME[layouts.ON_TRACK])
    assert np.allclose(position, layouts.XY[layouts.ON_TRACK], atol=1e-6)
    for unit, spikes in enumerate(found.spikes):
        assert np.array_equal(spikes, layouts.spikes(unit))
    assert len(found.spikes) == layouts.N_UNITS


def test_what_was_read_is_told(written):
    note = read_recording(written["jadhav"], TRACK).notes[0]
    assert "x and y are the first of its 3 columns" in note
    assert "3 of CA1, 3 of PFC; choose by units, such as \"location == 'CA1'\"" in note
    assert "1 epoch on the track (of 3 in 'epoch intervals', by the positions)" in note
    note = read_recording(written["grosmark"], TRACK).notes[0]
    assert "columns" not in note  # of two, both are read
    assert "not read: '1.6mLinearMazeLinearizedSpatialSeries'" in note
    assert "(of 3 in 'epochs', by their labels)" in note
    note = read_recording(written["spyglass"], TRACK).notes[0]
    assert "position 'series_0', 'series_1', 1,992 samples" in note
    with pytest.raises(ValueError, match="not read: 'LinearizedSpatialSeries'; choose by position"):
        read_recording(written["huszar"], TRACK)
    note = read_recording(written["huszar"], TRACK, epochs="run=100:200").notes[0]
    assert "angles are not used: 'heading'" in note


def test_regions_by_a_plain_column_of_electrodes(tmp_path):
    """One electrode for each unit, without an index, as some exporters write them."""
    path = layouts.plain_electrodes(tmp_path / "plain.nwb")
    found = read_recording(path, TRACK, units="location == 'PFC'")
    assert [each[0] for each in found.spikes] == [layouts.spikes(unit)[0] for unit in (1, 3, 5)]
    assert "Units by location: 3 of CA1, 3 of PFC." in describe_file(path)


def test_units_of_a_region_and_a_type(written):
    found = read_recording(written["jadhav"], TRACK, units="location == 'CA1'")
    assert [each[0] for each in found.spikes] == [layouts.spikes(unit)[0] for unit in (0, 2, 4)]
    wanted = "location == 'CA1' and cell_type == 'pyramidal'"
    found = read_recording(written["grosmark"], TRACK, units=wanted)
    assert [each[0] for each in found.spikes] == [layouts.spikes(unit)[0] for unit in (2, 4)]
    n_spikes = len(layouts.spikes(2)) + len(layouts.spikes(4))
    assert f"2 units with {n_spikes:,} spikes (of 6, with {wanted})" in found.notes[0]


def test_ripples_states_and_epochs_by_label(written):
    graph = TRACK | {"run_epochs": [RUN]}
    found = read_recording(written["huszar"], graph)
    assert found.events.to_numpy().tolist() == [[20.0, 20.1], [40.0, 40.1]]
    found = read_recording(written["grosmark"], TRACK)
    assert found.epochs["NREM"].tolist() == [[10.0, 15.0], [210.0, 215.0]]
    labels = ["PREEpoch", "MazeEpoch", "POSTEpoch", "WAKE", "NREM"]
    tables = ["epochs"] * 3 + ["states"] * 2
    qualified = [f"{table}:{label}" for table, label in zip(tables, labels, strict=True)]
    assert list(found.epochs) == labels + qualified


def test_tables_of_epochs_count_before_trials_and_any_table_can_be_chosen(written):
    found = read_recording(written["several"], TRACK)
    assert found.on_track.tolist() == [list(RUN)]
    assert found.epochs["sleep"].tolist() == [[0.0, 99.0]]
    said = "not 'trials:track': choose by epochs, such as 'run=trials:track')"
    assert f"(of 3 in 'epochs', by their labels; {said}" in found.notes[0]
    assert (
        "times of 'sleep' are those in 'epochs', not in 'behavioral_states': choose by epochs, "
        "such as 'run=behavioral_states:sleep'" in found.notes[0]
    )
    chosen = "run=trials:track,one=epochs:sleep,two=behavioral_states:sleep"
    with pytest.raises(ValueError, match="must not overlap"):  # both are read, and differ
        read_recording(written["several"], TRACK, epochs=chosen)
    chosen = "run=trials:track,two=behavioral_states:sleep"
    found = read_recording(written["several"], TRACK, epochs=chosen)
    assert found.on_track.tolist() == [[100.0, 108.0], [120.0, 128.0]]
    assert found.epochs["two"].tolist() == [[20.0, 30.0]]
    with pytest.raises(ValueError, match="got 'states:sleep', which is no LABEL or TABLE:LABEL"):
        read_recording(written["several"], TRACK, epochs="run=states:sleep")


def test_an_open_interval_is_left_out_and_told(written):
    note = read_recording(written["several"], TRACK).notes[0]
    assert "1 of 3 rows of 'epochs' without a begin or an end are left out" in note


def test_events_in_any_table_with_begin_and_end_and_those_left_out(written):
    found = read_recording(written["several"], TRACK)
    assert found.events.to_numpy().tolist() == [[20.0, 20.1], [40.0, 40.1]]
    said = "2 events from the table 'ecephys0/ripples' (not read: 'ecephys1/ripples'; choose by"
    assert f"{said} events)" in found.notes[0]
    other = read_recording(written["several"], TRACK, events="ecephys1/ripples")
    assert other.events["start_time"].tolist() == [21.0, 41.0]
    assert "Intervals ecephys1/ripples: 2 rows, 21 to 41.1 s." in describe_file(written["several"])
    with pytest.raises(ValueError, match=r"table of events of x.nwb 'ripples'\. There is none\."):
        choose_events({}, "x.nwb", "ripples")


def test_one_of_several_field_potentials(written):
    def signal(**choice):
        found = read_recording(written["several"], TRACK, events="find_ripples", **choice)
        return found.field_potential.signal[0].tolist(), found.notes[0]

    first, note = signal()
    assert first == [0.0, 1.0]
    assert "(not read: 'probe1'; choose by channel, such as probe1:0)" in note
    assert signal(channel="probe1")[0] == [10.0, 11.0, 12.0]
    assert signal(channel="probe1:2")[0] == [12.0]
    assert signal(channel="1")[0] == signal(channel=1)[0] == [1.0]
    with pytest.raises(ValueError, match=r"field potential .* Did you mean 'probe1'"):
        signal(channel="prob1")
    with pytest.raises(ValueError, match="channel must be a whole number from 0 to 2"):
        signal(channel="probe1:3")


def test_units_that_are_no_single_cells_are_told_and_keep_their_ids(written):
    found = read_recording(written["several"], TRACK)
    assert found.units == ("10", "13", "16", "19", "22", "25")
    said = "KSLabel: 2 of mua, 1 of noise; these are decoded as cells, unless units="
    expression = "KSLabel not in ('mua', 'noise')"
    assert f'({said}"{expression}")' in found.notes[0]
    good = read_recording(written["several"], TRACK, units=expression)
    assert good.units == ("10", "16", "22")
    assert [each.tolist() for each in good.spikes] == [
        layouts.spikes(unit).tolist() for unit in (0, 2, 4)
    ]
    assert "decoded as cells" not in good.notes[0]
    some = read_recording(written["several"], TRACK, units="KSLabel != 'noise'").notes[0]
    assert "unless units=\"(KSLabel != 'noise') and KSLabel != 'mua'\"" in some
    command = shlex.split(describe_file(written["several"])[-1].partition(": ")[2])
    wanted = command[command.index("--units") + 1]
    found = read_recording(written["several"], TRACK, units=wanted)
    assert found.units == ("10", "16", "22")


@pytest.mark.parametrize(
    ("column", "values", "mark"),
    [
        ("is_noise", [False, True, False, False, True, False], True),
        ("mua", [0, 1, 0, 0, 1, 0], 1),
        ("single_unit", [1.0, 0.0, 1.0, 1.0, 0.0, 1.0], 0.0),
        ("is_good", [True, False, True, True, False, True], False),
    ],
)
def test_units_are_marked_in_columns_of_numbers_and_truth_values(column, values, mark, tmp_path):
    file = layouts._file("flags")
    file.add_unit_column(column, "x")
    file.add_unit_column("noise", "its level, which marks nothing")
    for unit, value in enumerate(values):
        file.add_unit(spike_times=layouts.spikes(unit), noise=unit / 10, **{column: value})
    position = layouts.Position(spatial_series=layouts._series("place", layouts.XY))
    file.create_processing_module("behavior", "x").add(position)
    path = layouts._write(file, tmp_path / "flags.nwb")
    track = TRACK | {"run_epochs": [RUN]}
    expression = f"{column} != {mark!r}"
    told = f"({column}: 2 of {mark!r}; these are decoded as cells, unless units={expression!r})"
    assert told in read_recording(path, track).notes[0]
    good = read_recording(path, track, units=expression)
    assert good.units == tuple("0235")
    assert "decoded as cells" not in good.notes[0]


def test_positions_of_two_rows_are_read_as_those_of_two_columns(tmp_path):
    """Two rows are x and y, with times or a rate; anything else is refused, or read as told."""
    found = []
    by_rate = {"time": None, "rate": 10.0, "starting_time": 0.0}
    for is_turned, options in ((False, {}), (True, {}), (True, by_rate)):
        file = layouts._file("turned")
        behavior = file.create_processing_module("behavior", "x")
        series = layouts._series("place", layouts.XY, **options)
        behavior.add(layouts.Position(spatial_series=series))
        path = layouts._write(file, tmp_path / f"{len(found)}.nwb")
        if is_turned:  # pynwb itself refuses to write it
            with h5py.File(path, "a") as stored:
                place = stored["processing/behavior/Position/place"]
                options = dict(place["data"].attrs)
                del place["data"]
                place["data"] = layouts.XY.T
                place["data"].attrs.update(options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(read_recording(path, TRACK | {"run_epochs": [RUN]}))
        assert f"{len(layouts.XY):,} samples at 10 Hz" in found[-1].notes[0]
    for each in found:
        np.testing.assert_array_equal(each.position, layouts.XY)
        np.testing.assert_allclose(each.time, layouts.TIME, rtol=1e-15, atol=0)


def test_one_of_several_tables_of_units(written):
    note = read_recording(written["several"], TRACK).notes[0]
    assert "(not read: 'curated'; choose by units, such as curated:)" in note
    found = read_recording(written["several"], TRACK, units="curated:")
    assert found.units == ("77",)
    assert [each.tolist() for each in found.spikes] == [layouts.spikes(4).tolist()]
    found = read_recording(written["several"], TRACK, units="units: KSLabel == 'good'")
    assert found.units == ("10", "16", "22")


def test_one_channel_is_read_and_no_other(written, monkeypatch):
    found = read_recording(written["jadhav"], TRACK, events="find_ripples", channel=3)
    assert found.field_potential.signal.shape == (3000, 1)
    assert (found.field_potential.signal == 3.0).all()
    assert "channel 3 of 6 at 1500 Hz" in found.notes[0]
    assert read_recording(
        written["jadhav"], TRACK, events="find_ripples"
    ).field_potential.signal.shape == (3000, 6)
    monkeypatch.setattr("replay.checks.values._LITTLE", 0)
    monkeypatch.setattr("replay.checks.values._memory_bytes", lambda: 5e5)
    with pytest.raises(
        ValueError, match=r"the 6 channels .* \(choose one by channel\): .* 0\.0 GB"
    ):
        read_recording(written["jadhav"], TRACK, events="find_ripples")


def test_the_field_potential_is_shown_beside_events_that_are_given(written):
    given = pd.DataFrame({"start_time": [20.0], "end_time": [20.1]})
    found = read_recording(written["jadhav"], TRACK, events=given, channel=3)
    assert (found.field_potential.signal == 3.0).all()
    assert len(found.events) == 1
    assert read_recording(written["jadhav"], TRACK, events=given).field_potential is None
    for events in (None, "find"):
        with pytest.raises(ValueError, match="shown beside events that are given: add events"):
            read_recording(written["jadhav"], TRACK, events=events, channel=3)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "spyglass",
            {"position": "series_2"},
            r"series of positions .* Did you mean 'series_[01]'",
        ),
        ("huszar", {"position": "SpatialSeries,LinearizedSpatialSeries"}, "of the same times"),
        ("jadhav", {"units": "cell_type == 'p'"}, "Unknown column of the units .* 'cell_type'"),
        ("jadhav", {"units": "location == 'CA3'"}, "No unit of .* location: CA1, PFC"),
        ("huszar", {"units": "location == 'CA1'"}, "no column to choose by, such as a region"),
        (
            "jadhav",
            {"events": "find_ripples", "channel": 6},
            "channel must be a whole number from 0 to 5",
        ),
        ("jadhav", {"units": 5}, "units must be"),
    ],
)
def test_a_choice_that_cannot_be_made(name, options, message, written):
    with pytest.raises((TypeError, ValueError), match=message):
        read_recording(written[name], TRACK, **options)


def test_the_command_chooses(written, tmp_path):
    track = tmp_path / "track.json"
    track.write_text(json.dumps(TRACK), "utf-8")
    files = Files((written["jadhav"],), track=track, units="location == 'CA1'")
    assert [each.tolist() for each in read_animal(files, 0).spikes] == [
        layouts.spikes(unit).tolist() for unit in (0, 2, 4)
    ]
    options = (written["jadhav"], "--track", track, "--out", tmp_path / "out")
    for wrong, message in (
        (("--units", "location == 'CA9'"), "location: CA1, PFC"),
        (("--position", "serie"), "Unknown series of positions"),
        (("--channel", -1), "channel must be"),
    ):
        done = replay("recording", *options, *wrong)
        assert done.returncode == 1
        assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_a_file_is_described_with_the_command_that_analyses_it(written, tmp_path):
    """The command that is printed runs as far as the track that the file lacks."""
    done = replay("recording", written["jadhav"], "--inspect")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "Units by location: 3 of CA1, 3 of PFC." in lines
    assert any(line.startswith("Intervals epoch intervals: 3 rows, ") for line in lines)
    command = shlex.split(lines[-1].removeprefix("To analyse it, add what it lacks: "))
    assert command[:2] == ["replay", "recording"]
    chosen = dict(zip(command[3::2], command[4::2], strict=True))
    assert chosen["--units"] == 'location == "CA1"'
    found = read_recording(
        command[2], TRACK, units=chosen["--units"], position=chosen.get("--position")
    )
    assert len(found.spikes) == 3
    for name, path in written.items():
        last = describe_file(path)[-1]
        assert last.startswith(f"To analyse it, add what it lacks: replay recording {path}"), name
    assert describe_file(written["spyglass"])[-1].endswith("--position series_0,series_1")
    assert "Angles heading: 3,000 numbers, radians; they are not used." in describe_file(
        written["huszar"]
    )
    assert hippocampal(np.array(["Area 24", "PFC", "PFC", "HPC, dorsal CA1"])) == "HPC, dorsal CA1"
    assert hippocampal(np.array(["V1", "PFC", "PFC"])) == "PFC"
    with pytest.raises(ValueError, match="cannot be described"):
        describe_file(tmp_path / "track.json")


def test_only_commands_that_were_tried_are_recommended(tmp_path):
    """Each file lacks nothing, one thing, or cannot be read; a simulated arena needs no track."""
    track = tmp_path / "track.json"
    track.write_text(json.dumps(TRACK), "utf-8")
    along = pd.DataFrame({"time": layouts.TIME, "linear_position": 50.0, "note": 1})
    along.to_csv(tmp_path / "along.csv", index=False)
    lines = describe_file(tmp_path / "along.csv")
    assert "Columns that are not used: note." in lines
    assert "linear_position and a track graph (track)" in lines[-2]
    assert lines[-1].startswith("To analyse it, add what it lacks: ")
    assert lines[-1].endswith("along.csv --track track.json")
    lines = describe_file(tmp_path / "along.csv", {"track": track})
    assert lines[-2:] == [
        "along.csv has no spikes.",
        "To analyse it, add what it lacks: replay recording "
        f"{tmp_path / 'along.csv'} --session spikes.npz --track {track}",
    ]
    np.savez(tmp_path / "spikes.npz", spike_time=[5.0, 6.0], spike_unit=[0, 1], weight=[1, 2])
    lines = describe_file(
        tmp_path / "along.csv", {"track": track, "session": tmp_path / "spikes.npz"}
    )
    assert lines[-1].startswith("To analyse it: replay recording ")
    assert "Array weight: 2 numbers; it is not used." in describe_file(tmp_path / "spikes.npz")
    np.savez(tmp_path / "wrong.npz", spike_time=[5.0, 6.0], spike_unit=[0, 0.5])
    last = describe_file(tmp_path / "wrong.npz")[-1]
    assert last.startswith("It cannot be analysed as it is: spike_unit of wrong.npz must hold")


def test_series_and_tables_that_nothing_reads_are_listed(tmp_path):
    from hdmf.common import DynamicTable, VectorData
    from pynwb import TimeSeries

    path = layouts.plain_electrodes(tmp_path / "plain.nwb")
    with layouts.NWBHDF5IO(str(path), "a") as writer:
        file = writer.read()
        file.add_acquisition(TimeSeries(name="licks", data=np.ones(5), unit="V", rate=10.0))
        gates = VectorData(name="gate", description="Which opened", data=[1, 2])
        file.add_acquisition(DynamicTable(name="doors", description="Doors", columns=[gates]))
        writer.write(file)
    lines = describe_file(path)
    assert any(line.startswith("Series licks (TimeSeries): 5 numbers; not used") for line in lines)
    assert any(line.startswith("Table doors: 2 rows with the columns gate; not") for line in lines)


def test_of_what_two_files_have_the_first_is_taken_and_this_is_told(written):
    found = read_recording(written["jadhav"], TRACK, session=written["several"])
    assert found.units == tuple("012345")
    said = "Both files have position, spikes: those of jadhav.nwb are taken."
    assert sum(note.startswith(said) for note in found.notes) == 1


def test_choices_are_for_nwb():
    arrays = {"position_time": [0.0, 1.0], "position_xy": [[0, 0], [5, 0]]}
    with pytest.raises(ValueError, match="units chooses from an NWB file, but no"):
        read_recording(arrays, TRACK, units="location == 'CA1'")


COLUMNS = {
    "location": np.array(["CA1", "CA3", "PFC", "CA1"]),
    "rate": np.array([1.0, 2.0, 3.0, 40.0]),
    "good": np.array([True, True, False, True]),
}


class TestUnits:
    @pytest.mark.parametrize(
        ("expression", "chosen"),
        [
            ("location in ('CA1', 'CA3')", [1, 1, 0, 1]),
            ("location not in ['CA1']", [0, 1, 1, 0]),
            ("1 < rate <= 3", [0, 1, 1, 0]),
            ("good and not (location == 'CA3' or rate > 10)", [1, 0, 0, 0]),
            ("rate > -1", [1, 1, 1, 1]),
            ("'CA1' == location", [1, 0, 0, 1]),
        ],
    )
    def test_expressions(self, expression, chosen):
        found = choose_units(expression, COLUMNS, "x.nwb")
        assert found.tolist() == [bool(each) for each in chosen]

    @pytest.mark.parametrize(
        ("expression", "message"),
        [
            ("location = 'CA1'", "must be an expression"),
            ("", "units must"),
            ("(" * 500, "must be an expression"),
            ("__import__('os').system('true')", "nothing like"),
            ("open('x') == 'y'", "may compare columns with texts and numbers"),
            ("location.size == 4", "may compare columns with texts and numbers"),
            ("rate ** 99999999 > 1", "may compare columns with texts and numbers"),
            ("[rate for rate in (1, 2)]", "nothing like"),
            ("location == 1", "compares a text with a number: CA1 and 1"),
            ("rate in ('CA1', 'CA3')", r"compares a text with a number: CA1 and 1\.0"),
            ("location", "is not true or false"),
            ("rate is 1", "may compare by"),
            ("-location == 'CA1'", "may compare columns with texts and numbers"),
            ("rate == (1, 2)", "with several values by 'in' only"),
            ("lokation == 'CA1'", "Did you mean 'location'"),
            ("'CA1' == 'CA3'", "No unit"),
        ],
    )
    @pytest.mark.filterwarnings("ignore::SyntaxWarning")
    def test_what_is_refused(self, expression, message):
        with pytest.raises(ValueError, match=message):
            choose_units(expression, COLUMNS, "x.nwb")
