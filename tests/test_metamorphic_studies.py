"""What must not change in the results of a recording: they know no clock and no name.

Nor does the order of cells matter. Each test states one relation between two results.
"""

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from test_page import data_of, unpack

from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.recordings import find_replay
from analyses.recordings.basics.observed import Observed
from analyses.recordings.basics.parts import join_parts
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.prepare.session import prepare
from analyses.recordings.recover.cells import Cells
from analyses.recordings.recover.observe import observe
from analyses.recordings.recover.recover import recover
from analyses.recordings.recover.shares import recorded_shares
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.studies.explanation.explain import plan_explanation
from analyses.studies.explanation.inputs import read_animals
from analyses.studies.pages import page_of_folders
from analyses.studies.recorded_replay import plan_animals, plan_recording
from analyses.studies.recorded_replay.recorded import STUDY, STUDY_OF_SEVERAL
from replay import MDP
from replay.log.event_log import EventLog
from replay.worlds.tracks import make_linear_track

JUDGEMENT = Judgement(n_shuffles=3, n_controls=1, other_sizes=())
ORDER = np.random.default_rng(0).permutation(60)
REST = 48.27, 48.30
"""A time, in s, in which the animal rests and no cell fires, .24 s after an event."""
EPS = np.finfo(float).eps
CLOCK = 1e-7
"""Times in whole 2**-20 s are shifted without rounding; the middles of time bins are not.

Times near 1e6 s are 1.2e-10 s apart, in which the animal runs 1e-8 cm at most. Log odds of
events, of up to some hundreds, change by less than that within a bin of 5 cm.
"""
CELLS = len(ORDER) * 1000 * EPS
"""Log likelihoods, in all some hundreds, are summed over cells in another order."""
DIGITS = 1e-8
"""Numbers in CSV have 12 digits, of times below 1,000 s, and 16 of times near 1e6 s."""
TIMES = ("start_time", "end_time", "time", "begin", "end")


def moved(recording, shift):
    """Round all times to 2**-20 s, and shift them."""
    time, *spikes = (
        np.round(each * 2**20) / 2**20 + shift for each in (recording.time, *recording.spikes)
    )
    names = ["start_time", "end_time"]
    ends = np.round(recording.events[names] * 2**20) / 2**20 + shift
    events = recording.events.assign(**{name: ends[name] for name in names})
    return replace(recording, time=time, spikes=tuple(spikes), events=events)


def in_another_order(recording, order=ORDER):
    return replace(recording, spikes=tuple(recording.spikes[cell] for cell in order))


def with_other_names(recording):
    units = tuple(f"u{number}" for number in range(len(recording.spikes)))
    return replace(recording, name="001", units=units)


@pytest.fixture(scope="module")
def recorded():
    return moved(simulated_recording(6), 0.0)


@pytest.fixture(scope="module")
def found(recorded):
    return find_replay(recorded, judgement=JUDGEMENT)


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


def test_the_order_of_cells_does_not_matter(found, recorded):
    """Controls draw cells by number, so that p may differ."""
    other = find_replay(in_another_order(recorded), judgement=JUDGEMENT)
    assert_same_replay(other, found, atol=CELLS)


def test_replay_does_not_depend_on_the_clock(recorded, found):
    later = find_replay(moved(recorded, 1e6), judgement=JUDGEMENT)
    assert_same_replay(later, found, shift=1e6, atol=CLOCK)


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


def part_of(recorded, begin, end, order):
    """What was saved of a session in one of several files."""
    spikes = [each[(each >= begin) & (each <= end)] for each in recorded.spikes]
    during = (recorded.time >= begin) & (recorded.time <= end)
    events = recorded.events[recorded.events["start_time"].between(begin, end)]
    return replace(
        recorded,
        time=recorded.time[during],
        position=recorded.position[during],
        spikes=tuple(spikes[cell] for cell in order),
        units=tuple(f"u{cell}" for cell in order),
        events=events,
    )


def test_a_joined_session_is_observed_where_its_parts_were():
    """Cells are in another order in the second file; the first cell was lost there for 10 s."""
    time, other = np.arange(0.0, 20.0), np.arange(100.0, 140.0)
    one = Recording(
        "one", None, time, np.zeros((20, 2)), (time[5:15], time[2:18]), units=("a", "b")
    )
    seen = Observed(cells=(np.array([[100.0, 140.0]]), np.array([[110.0, 140.0]])))
    two = Recording(
        "two", None, other, np.zeros((40, 2)), (other, other[12:]), units=("b", "a"), observed=seen
    )
    whole = join_parts(two, one)
    assert [each.tolist() for each in whole.observed.cells] == [
        [[0.0, 19.0], [110.0, 139.0]],
        [[0.0, 19.0], [100.0, 139.0]],
    ]
    assert whole.observed.spikes.tolist() == [[0.0, 19.0], [100.0, 139.0]]
    assert whole.spikes[0].tolist() == [*time[5:15], *other[12:]]
    assert whole.units == ("a", "b")


def test_a_session_cut_in_time_is_that_of_its_parts(found, recorded):
    """Cells are in another order in the second file, which comes first."""
    begin, end = recorded.span()
    middle = recorded.time[np.searchsorted(recorded.time, REST[0])]
    one = part_of(recorded, begin, REST[0], range(60))
    other = part_of(recorded, min(middle, REST[1]), end, ORDER)
    whole = join_parts(other, one)
    assert whole.units == tuple(f"u{cell}" for cell in range(60))
    for cell in range(60):
        np.testing.assert_array_equal(whole.spikes[cell], recorded.spikes[cell])
    again = find_replay(whole, judgement=JUDGEMENT)
    for name in ("events", "stretches", "sequences"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(found, name))


@pytest.mark.parametrize(("change", "message"), [
    (lambda part: {"time": part.time - 30.0}, "must follow one another"),
    (lambda part: {"units": (*part.units[:-1], "other")}, "must have the same cells"),
    (lambda part: {"units": (part.units[1], *part.units[1:])}, "have one id"),
    (lambda part: {"graph": nx.relabel_nodes(part.graph, str)}, "must have the same track"),
    (lambda part: {"events": None}, "has no events and another part has"),
    (lambda part: {"decoded": pd.DataFrame({"event": [0], "time": [60.0], "x": 1.0, "y": 1.0})},
     "has decoded: only positions"),
])  # fmt: skip
def test_parts_that_are_not_of_one_session_are_refused(change, message, recorded):
    one = part_of(recorded, 0.0, REST[0], range(60))
    other = part_of(recorded, REST[1], recorded.span()[1], range(60))
    with pytest.raises(ValueError, match=message):
        join_parts(one, replace(other, **change(other)))
    with pytest.raises(ValueError, match="needs two parts"):
        join_parts(one)
    with pytest.raises(ValueError, match="a has no positions, spikes or decoded places"):
        join_parts(Recording("a"), Recording("b"))


@pytest.mark.parametrize("detected", [pytest.param(False, marks=pytest.mark.slow), True])
def test_corrected_shares_do_not_depend_on_the_clock(detected):
    """Simulated events begin at drawn times, rounded near 1e6 s to 1e-10 s."""
    tables = []
    for shift in (0.0, 1e6):
        recording = moved(simulated_recording(12), shift)
        recording = replace(recording, events=None) if detected else recording
        found = find_replay(recording, judgement=JUDGEMENT)
        session = prepare(recording, judgement=JUDGEMENT)
        tables.append(recorded_shares(session, found, n_sessions=1).table)
    assert tables[0]["recall"].notna().all()
    pd.testing.assert_frame_equal(*tables)


def test_animals_and_cells_with_other_names_have_the_same_tables(tmp_path):
    both = simulated_recording(4, 0), simulated_recording(4, 1)
    study = replace(STUDY_OF_SEVERAL, figures={})
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


def studied(recording, folder, shift=0.0):
    """Run the study of one recording, with two epochs and without figures."""
    epochs = {"one": [[0.0, 60.0]], "two": [[60.0, 100.0]]}
    plan = plan_recording(
        recording,
        judgement=JUDGEMENT,
        n_sessions=0,
        epochs={name: np.array(each) + shift for name, each in epochs.items()},
    )
    run(replace(STUDY, figures={}), plan, folder, tell=lambda text: None)
    return folder


@pytest.fixture(scope="module")
def results(recorded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    variants = {
        "first": (recorded, 0.0),
        "later": (moved(recorded, 1e6), 1e6),
        "renamed": (with_other_names(recorded), 0.0),
        "permuted": (in_another_order(recorded), 0.0),
    }
    return {
        name: studied(recording, folder / name, shift)
        for name, (recording, shift) in variants.items()
    }


def tables_of(folder):
    found = Results(folder)
    names = sorted(path.name for path in folder.iterdir() if path.suffix in (".csv", ".parquet"))
    assert len(names) > 15
    return {name: found.read(name) for name in names}


def assert_same_table(one, other, shift=0.0, atol=0.0, name=""):
    """Each number is the same up to rounding, and all else the same; so many s later."""
    assert list(one) == list(other), name
    assert len(one) == len(other), name
    for column in one:
        what = f"{column} of {name}"
        if one[column].dtype.kind == "f" or column in TIMES:
            expected = one[column] + (shift if column in TIMES else 0.0)
            rounded = max(atol, DIGITS if shift and column in TIMES else 0.0)
            single = 4 * np.finfo("f4").eps if one[column].dtype == "f4" and atol else 0.0
            np.testing.assert_allclose(
                other[column], expected, rtol=single, atol=rounded, err_msg=what
            )
        else:
            pd.testing.assert_series_equal(one[column], other[column], obj=what)


def test_the_study_does_not_depend_on_the_clock(results):
    first, later = (tables_of(results[name]) for name in ("first", "later"))
    for tables in (first, later):  # notes on data have times
        notes = tables["notes.csv"]
        tables["notes.csv"] = notes[notes["about"] != "data"].reset_index(drop=True)
    for name, table in first.items():
        assert_same_table(table, later[name], 1e6, CLOCK, name)


def test_the_study_does_not_depend_on_names(results):
    first, renamed = (tables_of(results[name]) for name in ("first", "renamed"))
    for name, table in first.items():
        own = renamed[name]
        if "unit" in table:
            assert own.pop("unit").tolist() == [f"u{cell}" for cell in own["cell"]]
            assert table.pop("unit").tolist() == [str(cell) for cell in table["cell"]]
        pd.testing.assert_frame_equal(table, own, obj=name)


def test_the_study_does_not_depend_on_the_order_of_cells(results):
    """Controls draw cells by number, so that what they are compared with may differ."""
    first, permuted = (tables_of(results[name]) for name in ("first", "permuted"))
    by_controls = ("chance.csv", "calibration.csv", "controls.csv", "choices.csv", "notes.csv")
    for name in (name for name in first if name not in by_controls):
        one, other = first[name], permuted[name]
        if "cell" in one:
            other = other.assign(cell=ORDER[other["cell"]], unit=ORDER[other["cell"]].astype(str))
            keys = [key for key in ("event", "cell", "bin", "time") if key in one]
            one, other = (
                each.sort_values(keys, ignore_index=True).astype({"unit": str})
                for each in (one, other)
            )
        left = ["p", "p_value", "threshold", "null"]
        one, other = (each.drop(columns=left, errors="ignore") for each in (one, other))
        assert_same_table(one, other, 0.0, CELLS, name)


@pytest.mark.parametrize("variant", ["later", "renamed", "permuted"])
def test_the_same_replay_is_explained(variant, results, tmp_path):
    """What the plan describes is all that its results depend on, with a digest of the animal."""
    (tmp_path / "paid.csv").write_text("state,reward\n0,1\n1,1\n")
    plans = []
    for name in ("first", variant):
        [animal] = read_animals([results[name]], (), tmp_path / "paid.csv").values()
        plans.append(plan_explanation({"rat": animal}, n_draws=20).describe())
    assert plans[0] == plans[1]


@pytest.mark.parametrize("variant", ["later", "renamed", "permuted"])
def test_the_same_replay_is_on_the_page(variant, results, tmp_path):
    runs = []
    for name in ("first", variant):
        path = page_of_folders([results[name]], tmp_path / f"{name}.html")
        [own] = data_of(path)["runs"]
        runs.append(own)
    packed = [
        key for key, value in runs[0].items() if isinstance(value, dict) and "columns" in value
    ]
    assert "counts" in packed
    for key in packed:
        one, other = (unpack(each[key]) for each in runs)
        assert list(one) == list(other)
        for column, values in one.items():
            atol = 0.0
            if variant == "later" and values.dtype.kind == "f":
                atol = 1.0 if column == "path_ms" else 2 * DIGITS  # the former are whole
            what = f"{column} of {key}"
            np.testing.assert_allclose(other[column], values, rtol=0, atol=atol, err_msg=what)


def test_what_is_recovered_depends_on_no_clock_name_or_order():
    """Of reverse replays of a lap; controls draw cells by number, so that kinds may differ."""
    track = make_linear_track(150.0)
    world = MDP.from_networkx(track, bin_size=10.0)
    way = [0, *range(2, world.n_states), 1]
    n = len(way) - 1
    steps = {
        "state": way[:-1] * 6,
        "next_state": way[1:] * 6,
        "terminated": [state == 1 for state in way[1:]] * 6,
    }
    paths = pd.DataFrame({"step": range(n - 1, 6 * n, n), "states": [way[::-1]] * 6})
    seen = observe(EventLog({"steps": steps}, mdp=world), track, paths, cells=30)
    one = seen._replace(recording=moved(seen.recording, 0.0))
    table = recover(one, judgement=JUDGEMENT)
    assert (table["kind"] != "missed").any()
    later = recover(one._replace(recording=moved(seen.recording, 1e6)), judgement=JUDGEMENT)
    assert_same_table(table, later, 0.0, CLOCK)
    named = recover(one._replace(recording=with_other_names(one.recording)), judgement=JUDGEMENT)
    pd.testing.assert_frame_equal(table, named)
    order = np.random.default_rng(1).permutation(30)
    cells = Cells(seen.cells.track, seen.cells.rates[order], seen.cells.background)
    other = one._replace(recording=in_another_order(one.recording, order), cells=cells)
    permuted = recover(other, judgement=JUDGEMENT)
    same = ["event", "true_kind", "true_direction", "evidence", "n_spikes", "true_states"]
    assert_same_table(table[same], permuted[same], 0.0, CELLS)
