"""Clusterless decoding: classes of marks, how well they decode, and what shuffles exchange."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import io
from simulated_marks import unsorted

from analyses.recordings import find_replay
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.marks import classes_of_marks, exchanged
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.decide.controls import with_exchanged_cells
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.place_fields import place_fields, running, running_bins
from analyses.recordings.prepare.session import prepare
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.contents import describe_file
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.preparation import session_notes

N_ELECTRODES = 16


@pytest.fixture(scope="module")
def seen():
    recording = simulated_recording(12)
    times, marks = unsorted(recording.spikes, N_ELECTRODES)
    found = classes_of_marks(times, marks)
    return recording, times, marks, replace(recording, **found._asdict())


def test_cells_that_are_far_apart_share_no_class():
    rng = np.random.default_rng(0)
    centre = np.array([[100.0, 0, 0, 0], [0, 100, 0, 0], [0, 0, 100, 0]])
    cell = rng.integers(3, size=3000)
    found = classes_of_marks([np.arange(3000.0)], [centre[cell] + rng.normal(0, 5, (3000, 4))])
    assert all(len(np.unique(cell[each.astype(int)])) == 1 for each in found.spikes)
    assert sorted(np.concatenate(found.spikes)) == list(range(3000))


def test_positions_are_exchanged_between_electrodes_and_sorted_cells_are_permuted():
    alone = exchanged(np.arange(9), np.random.default_rng(4))
    np.testing.assert_array_equal(alone, np.random.default_rng(4).permutation(9))
    electrode = np.repeat([0, 1, 4], [3, 1, 5])
    into = exchanged(electrode, np.random.default_rng(1))
    for own in (0, 1, 4):
        assert len(np.unique(electrode[into[electrode == own]])) == 1
        assert (np.diff(into[electrode == own]) >= 0).all()
    counts = np.random.default_rng(0).poisson(2, (6, 9))
    moved = with_exchanged_cells(counts, electrode, np.random.default_rng(1))
    np.testing.assert_array_equal(moved.sum(axis=1), counts.sum(axis=1))


def with_kernels(recording, track, known, times, marks, tested, edges, width=20.0):
    """Decode by the joint density of marks and positions with Gaussian kernels, spike by spike."""
    near = np.exp(-0.5 * (track.distance / 6.0) ** 2)
    seconds = near @ np.bincount(known[known >= 0], minlength=track.n_bins) * np.diff(edges)[0]
    found = np.zeros((len(known), track.n_bins))
    for time, mark in zip(times, marks, strict=True):
        at = np.searchsorted(edges, time) - 1
        inside = (at >= 0) & (at < len(known))
        at, mark = at[inside], mark[inside]
        learned, decoded = known[at] >= 0, tested[at]
        places = near[known[at[learned]]]
        away = ((mark[decoded][:, None] - mark[learned][None]) ** 2).sum(axis=2)
        joint = np.exp(-0.5 * away / width**2) @ places / seconds
        np.add.at(found, at[decoded], np.log(joint + 1e-3))
        found -= np.diff(edges)[0] * places.sum(axis=0) / seconds
    return found


def test_the_running_animal_is_decoded_as_well_as_with_kernels(seen):
    recording, times, marks, classes = seen
    track, moved = cut_track(recording.graph), running(recording)
    place, dt = running_bins(moved, track, 5.0), moved.time[1] - moved.time[0]
    half = len(place) // 2
    known = np.where(np.arange(len(place)) < half, place, -1)
    tested = (np.arange(len(place)) >= half) & (place >= 0)
    edges = np.append(moved.time - dt / 2, moved.time[-1] + dt / 2)
    kernels = with_kernels(recording, track, known, times, marks, tested, edges)
    errors = {}
    counts = {"sorted": moved.counts.toarray(), "classes": running(classes).counts.toarray()}
    likely = {
        name: log_likelihood(each, place_fields(track, known, each, dt, lowest_rate=0.1), dt)
        for name, each in counts.items()
    } | {"kernels": kernels}
    width = round(0.25 / dt)
    rows = half + np.arange((len(place) - half) // width * width).reshape(-1, width)
    rows = rows[tested[rows].all(axis=1)]
    for name, each in likely.items():
        decoded = each[rows].sum(axis=1).argmax(axis=1)
        errors[name] = track.distance[decoded, place[rows[:, width // 2]]].mean()
    assert errors["sorted"] < 10
    assert errors["classes"] < 1.25 * errors["kernels"] < 12


@pytest.mark.slow
def test_replay_is_found_without_sorting(seen):
    """All twelve events are; with sorted cells, too."""
    found = find_replay(seen[-1], judgement=Judgement(n_shuffles=5, n_controls=3, other_sizes=()))
    assert found.events["is_replay"].sum() >= 8


def test_marks_are_read_from_arrays_of_numpy_and_matlab(seen, tmp_path):
    recording, times, marks, classes = seen
    number = np.repeat(np.arange(N_ELECTRODES), [len(each) for each in times])
    arrays = {
        "position_time": recording.time, "position_xy": recording.position,
        "mark_time": np.concatenate(times), "mark_electrode": number,
        "mark_features": np.concatenate(marks),
    }  # fmt: skip
    found = read_recording(arrays, recording.graph)
    assert all(map(np.array_equal, found.spikes, classes.spikes))
    np.testing.assert_array_equal(found.electrode, classes.electrode)
    assert "unsorted spikes of 16 electrodes in" in found.notes[0]
    io.savemat(tmp_path / "mine.mat", {"session": arrays})
    again = read_recording(tmp_path / "mine.mat", recording.graph)
    assert again.digest() == found.digest()
    prepared = prepare(replace(found, events=recording.events))
    assert (
        f" of {len(classes.spikes)} classes of marks have place fields"
        in session_notes(prepared)[0]
    )
    np.testing.assert_array_equal(prepared.electrode, found.electrode[prepared.cells])
    for key in ("mark_electrode", "mark_features"):
        lacking = {name: each for name, each in arrays.items() if name != key}
        with pytest.raises(ValueError, match=f"has mark_time, but no {key}, "):
            read_recording(lacking, recording.graph)
    cells = arrays | {"spike_time": times[0], "spike_unit": np.zeros(len(times[0]))}
    assert (
        "; marks are not read, as there are cells"
        in (read_recording(cells, recording.graph).notes[0])
    )
    with pytest.raises(ValueError, match=r"mark_features of .* must have the same length; got"):
        read_recording(arrays | {"mark_electrode": number[:-1]}, recording.graph)


@pytest.mark.parametrize("kind", ["waveforms", "features"])
def test_marks_are_read_from_nwb(kind, tmp_path):
    layouts = pytest.importorskip("nwb_layouts", reason="pynwb is not installed")
    path = layouts.unsorted(tmp_path / "marks.nwb", kind)
    found = read_recording(path, layouts.TRACK)
    assert sum(map(len, found.spikes)) == 2 * layouts.N_MARKS
    assert np.unique(found.electrode).tolist() == [0, 1]
    said = "Spikes that were not sorted: tetrode0, tetrode1; they are decoded so."
    assert said in describe_file(path)
    with pytest.raises(ValueError, match="has no spikes that were not sorted"):
        read_recording(layouts.huszar(tmp_path / "units.nwb"), layouts.TRACK, units="marks")
