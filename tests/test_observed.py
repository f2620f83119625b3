"""What was not observed is no evidence: gaps of positions, and cells that were seen in part."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.observed import Observed, tracked
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Criteria, Judgement, Settings
from analyses.recordings.decide.held_out import _gains as gains
from analyses.recordings.decide.scoring import score_block
from analyses.recordings.prepare.candidate_events import candidate_events
from analyses.recordings.prepare.detection import (
    find_events,
    find_in,
    multiunit_rate,
    signals_of_rate,
    signals_within,
)
from analyses.recordings.prepare.event_evidence import EVIDENCE, Evidence
from analyses.recordings.prepare.lap_ends import find_lap_ends
from analyses.recordings.prepare.place_fields import recorded_fields, running, slow_stretches
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.prepare.session import prepare
from analyses.recordings.prepare.travel_events import always_seen
from analyses.recordings.prepare.visits import experience, find_visits
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.contents import describe_file
from analyses.recordings.recover.injection import quiet_rest
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.preparation import session_notes
from analyses.studies.recorded_replay import plan_recording
from analyses.studies.recorded_replay.animal_tables import _spikes as spikes_of
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_linear_track

TRACK = make_linear_track(100.0)


@pytest.fixture(scope="module")
def recording():
    return replace(simulated_recording(12), events=None)


@pytest.fixture(scope="module")
def true():
    return simulated_recording(12).events


def without(recording, begin, end):
    kept = (recording.time <= begin) | (recording.time >= end)
    return replace(recording, time=recording.time[kept], position=recording.position[kept])


def partly(recording, cells):
    """Observe some cells in these intervals only, and others always."""
    last = recording.time[-1] + 1
    own = [np.array(cells.get(cell, [[-1.0, last]])) for cell in range(len(recording.spikes))]
    spikes = tuple(
        each[((each[:, None] >= ends[:, 0]) & (each[:, None] <= ends[:, 1])).any(axis=1)]
        for each, ends in zip(recording.spikes, own, strict=True)
    )
    return replace(recording, spikes=spikes, observed=Observed(cells=tuple(own)))


# -- positions ------------------------------------------------------------------------------


def ends_of_sleep(recording, is_running):
    """Choose when tracking stops and begins again, both while it runs, or both while it rests."""
    time, xy = recording.time, recording.position
    speed = np.append(np.hypot(*np.diff(xy, axis=0).T) / np.diff(time), 0.0)
    around = np.lib.stride_tricks.sliding_window_view(speed, 51)
    steady = around.min(axis=1) > 20 if is_running else around.max(axis=1) < 1
    suited = time[25:-25][steady]
    return suited[suited > 60][0], suited[suited < time[-1] - 60][-1]


@pytest.mark.parametrize("is_running", [True, False])
def test_bursts_are_found_in_a_sleep_that_was_not_tracked(recording, true, is_running):
    """Whatever it did as tracking stopped and began again: its speed in between is unknown."""
    begin, end = ends_of_sleep(recording, is_running)
    asleep = without(recording, begin, end)
    inside = true[(true["start_time"] > begin + 1) & (true["end_time"] < end - 1)]
    assert len(inside) >= 5
    moved = running(asleep)
    found, _ = candidate_events(asleep, moved, Settings())
    for first, last in inside[["start_time", "end_time"]].to_numpy():
        assert ((found["start_time"] < last) & (found["end_time"] > first)).any()
    assert np.isnan(moved.speed_at(np.array([begin + 1, end - 1, -5.0, end + 1e4]))).all()
    slow = slow_stretches(moved, 5.0, *asleep.span())
    assert ((slow[:, 0] <= begin + 0.05) & (slow[:, 1] >= end - 0.05)).any()
    pieces = quiet_rest(prepare(replace(asleep, events=true))).begin
    assert ((pieces > begin) & (pieces < end)).sum() > 20
    assert any("unknown in" in each for each in asleep.unobserved())


def test_positions_that_are_nan_or_missing_are_the_same(recording):
    rng = np.random.default_rng(3)
    lost = rng.random(len(recording.time)) < 0.02
    for first in rng.choice(len(recording.time) - 400, 6):
        lost[first : first + rng.choice([30, 70, 360])] = True  # .6, 1.4 and 7 s
    position = recording.position.copy()
    position[lost] = np.nan
    nan = replace(recording, position=position)
    missing = replace(recording, time=recording.time[~lost], position=recording.position[~lost])
    logs = [experience_of(each, 15.0)[1].steps for each in (nan, missing)]
    pd.testing.assert_frame_equal(*logs)
    whole = experience_of(recording, 15.0)[1].steps
    assert logs[0]["truncated"].sum() > whole["truncated"].sum()
    track = cut_track(recording.graph, 5.0)
    moved = [running(each) for each in (nan, missing)]
    for one, other in zip(*(each[:4] for each in moved), strict=True):
        np.testing.assert_array_equal(one, other)
    fields = [
        recorded_fields(*pair, track, Settings())[0]
        for pair in zip((nan, missing), moved, strict=True)
    ]
    np.testing.assert_array_equal(*fields)
    assert find_lap_ends(nan) == find_lap_ends(missing)
    assert nan.digest() == missing.digest() != recording.digest()
    assert nan.unobserved() == missing.unobserved()


@pytest.mark.parametrize("place", [50.0, 70.0])
def test_a_lap_does_not_go_on_where_the_animal_was_not_observed(place):
    """It runs to the middle, is lost for a minute, and runs on from there, or 20 cm farther."""
    world = MDP.from_networkx(TRACK, bin_size=10.0)
    one, other = np.arange(0.0, 50.1, 1.0), np.arange(place, 100.1, 1.0)
    time = np.append(one / 30, 60 + other / 30)
    xy = np.column_stack([np.append(one, other), np.zeros(len(time))])
    steps = experience(find_visits(time, xy, TRACK, world), world).steps
    assert steps["time"][steps["truncated"]].tolist() == [pytest.approx(50 / 30, abs=0.3)]
    assert world.position[steps["next_state"][steps["truncated"]], 0].tolist() == [50.0]
    assert steps["episode"].nunique() == 2
    assert not ((steps["time"] > 2) & (steps["time"] < 60)).any()
    short = np.where(time > 30, time - 57, time)  # for 3 s, it goes on
    assert not experience(find_visits(short, xy, TRACK, world), world).steps["truncated"].any()


def test_nothing_is_smoothed_across_a_gap():
    """At rest at 20 cm, carried for 5 s, and at rest at 80 cm: it never runs."""
    time = np.append(np.arange(0, 20, 0.02), np.arange(25, 45, 0.02))
    xy = np.column_stack([np.where(time < 22, 20.0, 80.0), np.zeros(len(time))])
    moved = running(Recording("mine", TRACK, time, xy))
    assert np.nanmax(moved.speed) == 0
    assert np.isnan(moved.speed).sum() * 0.02 == pytest.approx(5.0, abs=0.05)
    assert tracked(time).tolist() == [[0.0, 19.98], [25.0, pytest.approx(44.98)]]


# -- cells ----------------------------------------------------------------------------------


def shuttle(seconds=400.0):
    """Run to and fro on 100 cm at 25 cm/s; spikes 10 times a second wherever it is."""
    time = np.arange(0.0, seconds, 0.02)
    x = 50 - 50 * (2 / np.pi) * np.arcsin(np.cos(np.pi * time / 4))
    return time, np.column_stack([x, np.zeros(len(x))])


def test_the_field_of_a_cell_is_that_of_the_time_in_which_it_was_observed():
    """Both fire at 10 Hz from 40 to 60 cm; the second was observed after 200 s."""
    time, xy = shuttle()
    fires = np.arange(0.05, 400, 0.1)
    fires = fires[np.abs(np.interp(fires, time, xy[:, 0]) - 50) < 10]
    late = fires[fires >= 200]
    observed = Observed(cells=(np.array([[0, 400]]), np.array([[200, 400]])))
    recording = Recording("mine", TRACK, time, xy, (fires, late), observed=observed)
    track, settings = cut_track(TRACK, 5.0), Settings(smoothing=0.0, largest_mean=100.0)
    rates, cells = recorded_fields(recording, running(recording), track, settings)
    assert cells.tolist() == [0, 1]
    assert rates.max(axis=1) == pytest.approx([10.0, 10.0], rel=0.05)
    not_told = replace(recording, observed=Observed())
    rates, _ = recorded_fields(not_told, running(not_told), track, settings)
    assert rates.max(axis=1) == pytest.approx([10.0, 5.0], rel=0.05)


def test_a_cell_that_was_not_observed_wherever_it_ran_has_no_field():
    time, xy = shuttle()
    fires = np.arange(0.05, 400, 0.1)
    begins = np.arange(0, 400, 8.0)  # of laps: the first quarter is less than 50 cm from 0
    near = np.stack([begins, begins + 1.5], axis=1)
    kept = ((fires[:, None] >= near[:, 0]) & (fires[:, None] <= near[:, 1])).any(axis=1)
    observed = Observed(cells=(*[np.array([[0, 400]])] * 2, near))
    recording = Recording("mine", TRACK, time, xy, (fires, fires, fires[kept]), observed=observed)
    track, settings = cut_track(TRACK, 5.0), Settings(largest_mean=100.0)
    _, cells = recorded_fields(recording, running(recording), track, settings)
    assert cells.tolist() == [0, 1]


def test_mean_and_sd_of_a_rate_are_those_of_observed_time():
    """Bursts of 20 spikes on 5 Hz of background; nothing was recorded from 100 to 300 s."""
    rng = np.random.default_rng(0)
    bursts = np.arange(5.0, 100.0, 10.0)
    bursts = np.append(bursts, bursts + 300)
    background = rng.uniform(0, 100, 500)
    background = np.append(background, 300 + rng.uniform(0, 100, 500))
    fired = (bursts[:, None] + rng.uniform(0, 0.15, (20, 20))).ravel()
    spikes = np.sort(np.append(background, fired))
    seen = Observed(np.array([[0.0, 100.0], [300.0, 400.0]]))
    [(_, signals)] = signals_of_rate((spikes,), seen, np.isfinite)
    rates = [multiunit_rate([spikes], begin, end)[1] for begin, end in
             ((spikes[0], 100.0), (300.0, spikes[-1]))]  # fmt: skip
    together = np.concatenate(rates)
    assert [each.scale for each in signals] == [(together.mean(), together.std())] * 2
    found = find_in(signals, None, Criteria(threshold=6.0))
    np.testing.assert_allclose(found["start_time"], bursts, atol=0.15)
    highest = (together.max() - together.mean()) / together.std()
    assert found["peak"].max() == pytest.approx(highest, abs=1e-3)


def test_no_event_goes_on_across_the_edge_of_what_was_observed():
    time = np.arange(0.0, 10.0, 0.001)
    height = 1.0 * ((time > 2.0) & (time < 2.2)) + 1.0 * ((time > 6.9) & (time < 7.2))
    whole = find_events(time, height, None, Criteria(threshold=2.0))
    assert len(whole) == 2
    cut = find_in(
        signals_within(time, height, np.array([[0.0, 7.0], [7.1, 9.0]]), np.isfinite), None,
        Criteria(threshold=2.0, shortest=0.05),
    )  # fmt: skip
    assert cut["end_time"].round(2).tolist() == [2.2, 7.0, 7.2]
    assert cut["start_time"].round(2).tolist() == [2.0, 6.9, 7.1]


def test_a_rate_is_compared_with_that_of_the_same_cells(recording):
    """A cell that fires at 200 Hz in the second half hides no burst of the others before."""
    half = recording.time[-1] / 2
    loud = np.sort(np.random.default_rng(0).uniform(half, recording.time[-1], int(200 * half)))
    cells = (*recording.spikes, loud)
    always = np.array([[-1.0, recording.time[-1] + 1]])
    own = (*[always] * len(recording.spikes), np.array([[half, recording.time[-1] + 1]]))
    signals = [
        each
        for _, some in signals_of_rate(cells, Observed(cells=own), np.isfinite)
        for each in some
    ]
    found = find_in(signals, None, Criteria())
    every = np.concatenate(recording.spikes)
    quiet = multiunit_rate(recording.spikes, every.min(), every.max())
    expected = find_events(*quiet, None, Criteria())
    expected = expected[expected["end_time"] < half]
    assert len(expected) > 3
    before = found[found["end_time"] < half]
    np.testing.assert_allclose(
        before[["start_time", "end_time"]], expected[["start_time", "end_time"]], atol=0.0011
    )


def test_an_event_is_decoded_without_cells_that_were_not_observed(recording, true):
    """Just as if they had never been recorded, and with the same shuffles."""
    given = replace(recording, events=true)
    half = recording.time[-1] / 2
    lost = {cell: [[-1.0, half]] for cell in (3, 11)}
    judgement = Judgement(n_shuffles=3, other_sizes=())
    session = prepare(partly(given, lost), judgement=judgement)
    keeps = [each for number, each in enumerate(given.spikes) if number not in lost]
    fewer = prepare(replace(given, spikes=tuple(keeps)), judgement=judgement)
    late = np.flatnonzero(true["start_time"] > half)
    groups = {len(own.cells): (own, rows) for own, rows in session.alike(np.arange(len(true)))}
    own, rows = groups[58]
    assert rows.tolist() == late.tolist()
    assert not set(own.cells) & set(lost)
    np.testing.assert_allclose(own.decoded_rates, fewer.decoded_rates, rtol=1e-12)
    for row in late:
        np.testing.assert_array_equal(own.counts[row], fewer.counts[row])
    scored = score_block(session, 0)
    paths, expected = scored.paths, score_block(fewer, 0).paths
    for row in late:
        places = [table.loc[table["event"] == row, ["x", "y"]] for table in (paths, expected)]
        np.testing.assert_array_equal(*places)
    events = scored.events
    assert events["event"].tolist() == list(range(len(true)))
    assert events["n_spikes"][late].tolist() == [int(fewer.counts[row].sum()) for row in late]
    assert any("2 of 60 cells were observed in part" in note for note in session_notes(session))
    with pytest.raises(ValueError, match="no time at which all cells were observed"):
        quiet_rest(prepare(partly(given, {3: [[-1.0, half]], 11: [[half, 1e4]]})))


def test_to_say_that_all_was_observed_changes_nothing(recording):
    said, unsaid = (prepare(each) for each in (partly(recording, {}), recording))
    for name in ("rates", "events"):
        one, other = getattr(said, name), getattr(unsaid, name)
        np.testing.assert_array_equal(one, other)
    assert session_notes(said) == session_notes(unsaid)
    for one, other in zip(said.counts, unsaid.counts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_events_in_which_nothing_was_observed_are_left_out(recording, true):
    cut = float(true["start_time"].iloc[4]) + 0.1  # within an event
    every = [[-1.0, cut], [cut + 0.01, float(true["start_time"].iloc[8]) - 1]]
    given = partly(replace(recording, events=true), dict.fromkeys(range(60), every))
    session = prepare(given)
    assert len(session.events) == 7
    assert any(
        "5 of them, in which no cell with a field was" in note for note in session_notes(session)
    )


def test_what_is_found_in_the_posterior_needs_the_same_cells_always(recording):
    half, numbers, rates = recording.time[-1] / 2, np.arange(60), np.zeros((60, 5))
    _, cells = always_seen(partly(recording, {3: [[-1.0, half]]}), rates, numbers)
    assert cells.tolist() == [*range(3), *range(4, 60)]
    some = {cell: [[-1.0, half]] if cell % 2 else [[half, 1e4]] for cell in range(60)}
    with pytest.raises(ValueError, match="Only 0 of the 60 cells of a simulated animal"):
        always_seen(partly(recording, some), rates, numbers)


def test_held_out_spikes_are_those_of_cells_that_were_observed():
    """The gain of a cell in two events, in one of which it was not observed, is that of one."""
    rng = np.random.default_rng(1)
    counts, rates = rng.poisson(1.0, (2, 30, 4)), rng.uniform(1, 9, (2, 30, 4))
    unseen = rates[1].copy()
    unseen[:, 0], counts[1, :, 0] = np.nan, 0
    both = gains(np.concatenate(counts), np.concatenate([rates[0], unseen]))
    alone = gains(counts[0], rates[0])
    assert [each[0] for each in both] == pytest.approx([each[0] for each in alone])
    whole = gains(np.concatenate(counts), np.concatenate([*rates]))
    assert [each[1:] for each in both] == [pytest.approx(each[1:]) for each in whole]


def test_the_page_decodes_without_them_too(recording, true):
    half = recording.time[-1] / 2
    plan = plan_recording(partly(replace(recording, events=true), {3: [[-1.0, half]]}))
    session, spikes = plan.session, spikes_of(plan)
    unseen = spikes[spikes["time"].isna()]
    late = np.flatnonzero(true["start_time"] > half)
    assert unseen["event"].tolist() == late.tolist()
    assert set(unseen["cell"]) == {3}
    n_bins = session.track.n_bins
    fields = pd.DataFrame({"cell": np.repeat(session.cells, n_bins),
                           "bin": np.tile(np.arange(n_bins), len(session.cells)),
                           "rate": session.rates.ravel()})  # fmt: skip
    events = session.events.assign(event=np.arange(len(true)))
    settings = {"time_bin": session.time_bin, "diffusion": session.variance / session.time_bin}
    none = pd.DataFrame({"event": []})
    shown = [
        Evidence(
            session.track, settings,
            dict(zip(EVIDENCE, (events, none, some, none, own), strict=True)),
        ).of(int(late[0]))
        for some, own in ((spikes, fields), (spikes.dropna(), fields[fields["cell"] != 3]))
    ]  # fmt: skip
    np.testing.assert_array_equal(shown[0].posterior, shown[1].posterior)


# -- what is told, and read -----------------------------------------------------------------


def test_a_recording_says_what_was_not_observed():
    time, xy = shuttle(120.0)
    spikes = np.array([1.0, 50.0]), np.array([70.0])
    parts = {"graph": TRACK, "time": time, "position": xy, "spikes": spikes}
    whole = Recording("mine", **parts)
    assert whole.unobserved() == []
    seen = Observed(np.array([[70, 90], [0, 60.0], [30, 65]]), ())
    assert seen.spikes.tolist() == [[0.0, 65.0], [70.0, 90.0]]
    some = Recording("mine", **parts, observed=seen)
    assert repr(some).endswith("observed in part)")
    [note] = some.unobserved()
    assert note.startswith("Spikes were observed in 1.4 min of 2.0 min")
    assert note in some._repr_html_()
    assert some.digest() != whole.digest()
    own = Observed(cells=(np.array([[0, 60.0]]), np.array([[65, 200.0]])))
    [note] = Recording("mine", **parts, observed=own).unobserved()
    assert note.startswith("2 of 2 cells were observed in part of this time (0.9 min to 1.0 min)")
    with pytest.raises(ValueError, match="1 of 2 spikes of cell 0 of mine lie outside"):
        Recording("mine", **parts, observed=Observed(np.array([[40.0, 100.0]])))
    with pytest.raises(ValueError, match="for each of its 2 cells when it was observed; got 1"):
        Recording("mine", **parts, observed=Observed(cells=(np.array([[0, 60.0]]),)))
    with pytest.raises(ValueError, match="cell 0 was observed must be pairs"):
        Observed(cells=(np.array([3.0, 4.0]),))


ARRAYS = {
    "position_time": np.linspace(0, 100, 3001), "position_xy": np.zeros((3001, 2)),
    "spike_time": [1.0, 20.0, 60.0, 61.0], "spike_unit": [7, 7, 9, 9],
}  # fmt: skip
LINE = {"node_positions": [[0, 0], [100, 0]], "edges": [[0, 1]]}


def test_arrays_say_when_spikes_were_observed():
    ends = {"observed_start": [0.0, 50.0], "observed_end": [30.0, 100.0]}
    found = read_recording(ARRAYS | ends, LINE)
    assert found.observed.spikes.tolist() == [[0.0, 30.0], [50.0, 100.0]]
    assert found.observed.cells == ()
    found = read_recording(ARRAYS | ends | {"observed_unit": [7, 9]}, LINE)
    assert [each.tolist() for each in found.observed.cells] == [[[0.0, 30.0]], [[50.0, 100.0]]]
    ends["observed_end"] = [10.0, 100.0]
    found = read_recording(ARRAYS | ends | {"observed_unit": [7, 9]}, LINE)
    assert [each.tolist() for each in found.spikes] == [[1.0], [60.0, 61.0]]
    assert (
        "1 spike outside of the times in which its cell was observed is left out" in found.notes[0]
    )
    with pytest.raises(ValueError, match="must name the cell of each interval"):
        read_recording(ARRAYS | ends | {"observed_unit": [7, 8]}, LINE)
    ends = {"observed_start": [1e6, 1e6], "observed_end": [2e6, 2e6], "observed_unit": [7, 9]}
    found = read_recording(ARRAYS | ends, LINE)
    assert found.observed.is_always
    assert "do not fit their spikes, of which 4 lie outside" in found.notes[0]


def test_nwb_files_say_when_units_were_observed(tmp_path):
    layouts = pytest.importorskip("nwb_layouts", reason="pynwb is not installed")
    path = layouts.observed_in_part(tmp_path / "mine.nwb")
    found = read_recording(path, layouts.TRACK)
    valid = [[0.0, 120.0], [130.0, 300.0]]
    late = [[150.0, 300.0]]
    assert [each.tolist() for each in found.observed.cells] == [valid] * 5 + [late]
    for unit, each in enumerate(found.spikes):
        own = layouts.spikes(unit)
        ends = late if unit == 5 else valid
        expected = own[np.any([(own >= a) & (own <= b) for a, b in ends], axis=0)]
        np.testing.assert_array_equal(each, expected)
    lost = np.isnan(found.position).any(axis=1)
    np.testing.assert_array_equal(lost, (found.time > 120) & (found.time < 130))
    told = "Units by obs_intervals: observed from 0 to 300 s, 1 of 6 in a part of it; "
    assert any(line.startswith(told) for line in describe_file(path))
    assert "1 invalid time left out" in found.notes[0]
    assert "spikes outside of the times in which their cells were observed" in found.notes[0]
