"""The comparison: same bytes, resumable, with tasks, learners and findings of one's own."""

import json

import numpy as np
import pandas as pd
import pytest
from test_cli import replay
from typer.testing import CliRunner

from analyses.cli import app
from analyses.findings.table import findings
from analyses.jobs.results import Results
from analyses.jobs.study import Piece
from analyses.jobs.workers import pool
from analyses.measures import STATISTICS
from analyses.measures.summary import over_animals
from analyses.plots.findings import draw_grid, draw_statistic, grid_figure, statistics_figure
from analyses.plots.style import new_figure, save
from analyses.studies.comparison import compare
from analyses.studies.comparison.plan import all_learners, plan_comparison
from analyses.studies.comparison.timing import estimate_animals
from replay.tasks.published import TaskEntry, find_task
from replay.tasks.published.linear_tracks import linear_track
from replay.tasks.published.two_choice_t import gupta_2t

LEARNERS = {
    "episodic_control": ("episodic_control", {}),
    "few": ("dyna_q", {"n_replays": 2}),
    "q_learning": ("q_learning", {}),
    "reversible": ("full_backups", {"reversible": True}),
}


def short_track():
    return linear_track(n_training=2, n_laps=4)


def short_t():
    return gupta_2t(n_laps=2)


TASKS = {
    "linear_track": TaskEntry(short_track, ("S1", "S3", "S9")),
    "gupta_2t": TaskEntry(short_t, ("S1", "S6_shortcut", "S6_composed")),
}
SIZES = {"n_animals": 7, "seed": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("comparison") / "out"


@pytest.fixture(scope="module")
def tables(folder):
    return compare(TASKS, LEARNERS, **SIZES, out=folder)


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_what_is_written(folder, tables):
    names = {name for name in files(folder) if "/" not in name}
    assert names == {
        "animals.parquet", "chains.csv", "findings.csv", "pauses.csv", "statistics.csv",
        "verdicts.csv", "manifest.json", "manifest.sha256", "tables.sha256", "figures.sha256",
    }  # fmt: skip
    figures = {path.stem for path in (folder / "figures").iterdir()}
    assert figures == {"findings", "statistics_linear_track", "statistics_gupta_2t"}
    status = Results(folder).status()
    assert not status.missing
    assert not status.damaged
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["learners"]["few"] == [
        "dyna_q", {"learning_rate": 1.0, "discount": 0.9, "n_replays": 2}
    ]  # fmt: skip
    assert "chosen" in manifest["remarks"]["gupta_2t"].lower()
    written = pd.read_csv(folder / "statistics.csv")
    pd.testing.assert_frame_equal(written, tables["statistics"], check_dtype=False, atol=1e-9)


def test_tables_are_tidy(tables):
    statistics = tables["statistics"]
    keys = ["task", "learner", "statistic", "order", "min_length"]
    assert not statistics.duplicated(keys).any()
    assert set(statistics["min_length"]) == {3, 5}
    assert set(statistics["order"]) == {"causal", "temporal"}
    judged = statistics[statistics["judged"]]
    assert not judged.duplicated(keys[:3]).any()
    assert set(judged["min_length"]) == {5}
    assert set(judged["order"]) == {"causal"}
    assert statistics.groupby("learner")["reversible"].first().to_dict() == {
        "episodic_control": False, "few": False, "q_learning": False, "reversible": True
    }  # fmt: skip
    assert set(statistics.query("learner == 'reversible'")["task"]) == {"gupta_2t"}
    verdicts = tables["verdicts"]
    assert not verdicts.duplicated(["learner", "finding"]).any()
    assert set(verdicts["learner"]) == set(LEARNERS)
    assert verdicts.loc[verdicts["verdict"] != "not comparable", "reversible"].notna().all()
    assert list(dict.fromkeys(statistics["task"])) == list(TASKS)
    assert len(tables["animals"]) == 7 * len(statistics)
    chains = tables["chains"].query("order == 'causal' and phase != 'rest'")
    counted = chains.groupby(["task", "learner"])["count"].sum()
    s3 = judged.query("statistic == 'S3'").set_index(["task", "learner"])["n_chains"]
    assert (counted.reindex(s3.index).fillna(0) == s3).all()


def test_findings_are_measured_whatever_the_task_lists():
    plan = plan_comparison(["linear_track"], LEARNERS)
    assert {"S1_after_minus_before", "S13_stop", "S3_away"} <= set(
        plan.tasks["linear_track"].statistics
    )


def test_statistics_are_those_of_each_animal(tables):
    """The summary of all at once agrees with that of one statistic at a time."""
    statistics = tables["statistics"].set_index(
        ["task", "learner", "statistic", "order", "min_length"]
    )
    for key, animals in tables["animals"].groupby(list(statistics.index.names)):
        (expected,) = over_animals(animals).to_dict("records")
        got = statistics.loc[key]
        for name in ("value", "ci_low", "ci_high", "null", "p", "n_animals", "n_chains"):
            assert got[name] == pytest.approx(expected[name], nan_ok=True), (key, name)
        differences = animals["value"] - animals["null"]
        assert got["n_above"] == (differences > 1e-12).sum()
        assert got["n_below"] == (differences < -1e-12).sum()


def test_what_must_hold(tables):
    """Going back along the last lap alone is reverse, and composes nothing."""
    found = tables["statistics"].query("learner == 'episodic_control'")
    value = found.set_index(["task", "statistic", "order", "min_length"])["value"]
    for key in value.index:
        if key[1] == "S1":
            assert value[key] == 1.0
        elif key[1] in ("S6_shortcut", "S6_composed"):
            assert value[key] == 0.0
    verdicts = tables["verdicts"].set_index(["learner", "finding"])
    assert verdicts.loc[("episodic_control", "mallory2025.rev_fraction"), "verdict"] == "disagrees"
    quiet = verdicts.loc["q_learning"]
    assert quiet.loc["mallory2025.rev_fraction", "reason"] == "no replay at all"
    assert set(quiet["verdict"]) == {"disagrees", "not comparable"}


def test_any_number_of_processes_gives_the_same_bytes(folder, tables, tmp_path):
    compare(TASKS, LEARNERS, **SIZES, out=tmp_path / "two", jobs=2)
    one, two = files(folder), files(tmp_path / "two")
    assert one.keys() == two.keys()
    for name in one:
        assert one[name] == two[name], name


def test_it_goes_on_where_it_was_interrupted(folder, tables, tmp_path):
    done = []

    def interrupt(piece):
        done.append(piece)
        if len(done) == 3:
            raise KeyboardInterrupt

    out = tmp_path / "again"
    with pytest.raises(KeyboardInterrupt):
        compare(TASKS, LEARNERS, **SIZES, out=out, on_piece=interrupt)
    assert Results(out).status().missing
    kept = {name: (out / name).stat().st_mtime_ns for name in files(out) if "pieces" in name}
    assert len(kept) == 4 * 3
    told = []
    (out / "pieces" / "linear_track" / "0" / "animals.parquet").write_bytes(b"spoilt")
    compare(TASKS, LEARNERS, **SIZES, out=out, tell=told.append)
    assert told == ["pieces/linear_track/0/animals.parquet is damaged or gone, and is made again."]
    untouched = {name for name, time in kept.items() if (out / name).stat().st_mtime_ns == time}
    assert untouched == {
        name
        for name in kept
        if not name.startswith(("pieces/linear_track/0.", "pieces/linear_track/0/"))
    }
    assert files(out) == files(folder)
    with pytest.raises(FileExistsError, match=r"another run \(seed is 3 there and 4 here\)"):
        compare(TASKS, LEARNERS, n_animals=7, seed=4, out=out)


def test_own_findings_are_held_against_too(tables):
    own = pd.DataFrame(
        {
            "id": ["mine2026.reverse"], "citation": ["Mine M (2026) My track."], "year": [2026],
            "quantity": ["paths run both ways"], "statistic": ["S1_both"], "task_name": ["mine"],
            "likelihood": ["direction"], "sign": [1], "p_value": [0.01], "n_units": [6],
        }
    )  # fmt: skip
    table = findings(own)
    task = {"mine": TaskEntry(short_track, ("S1",))}
    learner = {"episodic_control": ("episodic_control", {})}
    found = compare(task, learner, n_animals=6, findings=table)
    assert "S1_both" in set(found["statistics"]["statistic"])
    mine = found["verdicts"].set_index("finding").loc["mine2026.reverse"]
    assert mine["reason"] == "the statistic has no null to differ from"


def test_the_cost_is_told_before(capsys):
    told = []
    compare(
        {"linear_track": TASKS["linear_track"]}, {"few": LEARNERS["few"]}, n_animals=2,
        on_cost=told.append, on_piece=told.append,
    )  # fmt: skip
    cost, *pieces = told
    assert cost.counts == {"animals": 2}
    assert cost.seconds > 0
    assert pieces == [Piece("linear_track", 0)]


def test_the_cost_of_what_is_slow(monkeypatch):
    """Learners and tasks that take k times as long make the whole k times as long."""
    seconds = {"episodic_control": 1.0, "few": 3.0, "q_learning": 0.5, "reversible": 2.0}
    longer = {"linear_track": 1.0, "gupta_2t": 4.0}
    monkeypatch.setattr(
        "analyses.studies.comparison.timing.time_animal",
        lambda plan, task, learner: ((task, learner), seconds[learner] * longer[task]),
    )
    plan = plan_comparison(TASKS, LEARNERS, n_animals=10)
    left = [Piece(task, number) for task, n in plan.n_pieces().items() for number in range(n)]
    with pool() as call:
        cost = estimate_animals(plan, left, call)
    assert cost.seconds == pytest.approx(10 * (4.5 + 4 * 6.5))
    assert cost.counts == {"animals": 70}


def test_all_learners_come_with_ways_back():
    everyone = all_learners()
    assert everyone["full_backups"] == ("full_backups", {})
    assert everyone["prioritized_sweeping reversible=true"][1] == {"reversible": True}
    one_way = plan_comparison(["linear_track", "gupta_2t"], everyone)
    assert not any("reversible" in name for name, _ in one_way.batches("linear_track"))
    assert any("reversible" in name for name, _ in one_way.batches("gupta_2t"))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"tasks": ["linear_trak"]}, ValueError, "Did you mean 'linear_track'"),
        ({"tasks": []}, ValueError, "Name at least one task"),
        ({"tasks": ["nowhere.py"]}, FileNotFoundError, "'nowhere.py' is no file"),
        ({"tasks": {"x": TaskEntry(short_track, ("S99",))}}, ValueError, "Unknown statistic 'S99'"),
        ({"learners": {}}, ValueError, "Name at least one learner"),
        ({"learners": {"x": ("dyna", {})}}, ValueError, "Unknown learner 'dyna'"),
        ({"learners": {"x": ("dyna_q", {"n": 1})}}, ValueError, "has no parameter 'n'"),
        ({"n_animals": 0}, ValueError, "number of animals must be a whole number from 1"),
        ({"behaviour": "wild"}, ValueError, "Unknown behaviour 'wild'"),
        ({"n_animals": 99999999999}, ValueError, "from 1 to 1000000, got 99999999999"),
        ({"seed": -1}, ValueError, "The seed must be a whole number of at least 0"),
        ({"tasks": {"x": TaskEntry(short_track, ())}}, ValueError, "x asks for no statistic"),
        ({"jobs": 0}, ValueError, "number of jobs must be a whole number from 1"),
    ],
)
def test_mistakes_are_explained(change, error, message):
    options = {"tasks": ["linear_track"], "learners": LEARNERS, **change}
    with pytest.raises(error, match=message):
        compare(options.pop("tasks"), options.pop("learners"), **options)


# -- figures ------------------------------------------------------------------------------


def test_the_grid_of_one_learner_has_room(tables, tmp_path):
    """A layout that fails is a warning, and so an error."""
    alone = tables["verdicts"].query("learner == 'episodic_control'")
    assert [path.suffix for path in save(grid_figure(alone), tmp_path / "grid")] == [".pdf", ".png"]


def test_the_grid(tables):
    verdicts = tables["verdicts"]
    ax = draw_grid(verdicts, new_figure(8, 6).subplots())
    learners = [label.get_text() for label in ax.get_xticklabels()]
    assert learners == ["Episodic control", "few", "Q-learning", "reversible"]
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert rows[0].startswith("S1 reverse among directional sequences\nGupta 2010; gupta 2t: 0.391")
    texts = [text.get_text() for text in ax.texts]
    assert texts.count("none") >= 1
    hatched = sum(patch.get_hatch() is not None for patch in ax.patches)
    no_replay = verdicts[verdicts["reason"] == "no replay at all"]
    assert hatched == len(no_replay.drop_duplicates(["statistic", "task", "expected_sign"]))
    figure = grid_figure(verdicts)
    explained = figure.axes[0].get_xlabel()
    assert "published values are not comparable" in explained
    assert "These exclude each other, and no model agrees with all:" in explained
    empty = draw_grid(verdicts.assign(verdict="not comparable"), new_figure(3, 2).subplots())
    assert "no finding is tested in these tasks" in [text.get_text() for text in empty.texts]


def test_statistics_stand_beside_the_studies(tables):
    rows = tables["statistics"].query(
        "statistic == 'S1' and task == 'gupta_2t' and min_length == 5"
    )
    ax = draw_statistic(rows, findings(), new_figure(3, 3).subplots())
    texts = [text.get_text() for text in ax.texts]
    assert "Gupta 2010: 0.49" in texts
    assert "Shin 2019, w track: 0.543" in texts
    diamonds = next(line for line in ax.lines if line.get_marker() == "D")
    assert sorted(diamonds.get_xdata()) == [0.3908, 0.4698, 0.49, 0.5306, 0.543]
    gupta = tables["statistics"].query("task == 'gupta_2t' and min_length == 5")
    figure = statistics_figure(gupta, findings())
    assert figure.get_suptitle() == "gupta 2t"
    with pytest.raises(ValueError, match="of one task, got 2"):
        statistics_figure(tables["statistics"], findings())


def test_what_was_published_elsewhere_in_other_units_is_left_out(tables):
    rows = tables["statistics"].query("statistic == 'S3' and min_length == 5")
    other = rows.assign(statistic="S8")  # directions of other tasks
    ax = draw_statistic(other, findings(), new_figure(3, 3).subplots())
    assert not ax.texts


def test_second_hand_values_say_so_in_the_figure():
    rows = pd.DataFrame(
        {"task": "mattar_open_maze", "learner": "x", "statistic": "S9_rest", "label": "exponent",
         "order": "causal", "value": [0.7], "ci_low": 0.6, "ci_high": 0.8, "null": np.nan,
         "n_animals": 5}
    )  # fmt: skip
    ax = draw_statistic(rows, findings(), new_figure(3, 3).subplots())
    texts = [text.get_text() for text in ax.texts]
    assert sum(text.startswith("Stella 2019 (second-hand)") for text in texts) == 2


# -- the command --------------------------------------------------------------------------


OWN_TASK = """
from replay.tasks.published import TaskEntry
from replay.tasks.published.linear_tracks import linear_track

def build():
    return linear_track(n_training=2, n_laps=2)

TASK = TaskEntry(build, ("S1",))
"""


def test_the_command_takes_a_task_of_ones_own(tmp_path):
    (tmp_path / "mine.py").write_text(OWN_TASK)
    done = replay(
        "compare", "--task", tmp_path / "mine.py", "--learner", "dyna_q n_replays=2,q_learning",
        "--animals", 2, "--jobs", 2, "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "animals are left: about" in done.stderr
    assert "dyna_q n_replays=2" in done.stdout
    statistics = pd.read_csv(tmp_path / "out" / "statistics.csv")
    assert set(statistics["task"]) == {"mine"}
    assert set(statistics["statistic"]) == {"S1"}
    (tmp_path / "mine.py").write_text(OWN_TASK + "\n# edited")
    done = replay(
        "compare", "--task", tmp_path / "mine.py", "--learner", "dyna_q n_replays=2,q_learning",
        "--animals", 2, "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == 1
    assert "holds another run (files mine is" in " ".join(done.stderr.split())


IMPORTS = "from replay.tasks.published import TaskEntry\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TASK = 1", "mine.py must define TASK = TaskEntry(build, statistics)"),
        ("", "it has no TASK"),
        ("x = 1\ny = x / 0", "mine.py, line 2: ZeroDivisionError: division by zero"),
        ("x = (", "mine.py, line 1: SyntaxError: '(' was never closed"),
        ("import nothing_of_this_name", "mine.py, line 1: ModuleNotFoundError: No module named"),
        ("raise ValueError", "mine.py, line 1: ValueError"),
        ("raise SystemExit(3)", "mine.py, line 1: SystemExit: 3"),
        (IMPORTS + "TASK = TaskEntry(lambda: 1 / 0, ('S1',))", "mine.py, line 2: ZeroDivisionErr"),
        (IMPORTS + "TASK = TaskEntry(lambda: 1, ('S1',))", "build() must give a Task, got 1"),
        (IMPORTS + "TASK = TaskEntry(3, ('S1',))", "must be a function, got 3"),
        (IMPORTS + "TASK = TaskEntry(dict, 'S1')", "must be a tuple of names, got 'S1'"),
        (IMPORTS + "TASK = TaskEntry(dict, ())", "The task mine asks for no statistic"),
        (IMPORTS + "TASK = TaskEntry(dict, ('S1',), 0)", "min_length of TASK in"),
    ],
)
def test_a_task_of_ones_own_that_fails_tells_where(tmp_path, text, message):
    (tmp_path / "mine.py").write_text(text)
    done = CliRunner().invoke(
        app, ["compare", "--task", str(tmp_path / "mine.py"), "--out", str(tmp_path / "out")]
    )
    assert isinstance(done.exception, ValueError | TypeError)
    assert message in str(done.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["linear_track.py", "x" * 90 + ".py", ".hidden.py"])
def test_files_whose_names_will_not_do(tmp_path, name):
    (tmp_path / name).write_text(OWN_TASK)
    with pytest.raises(ValueError, match=r"There are two tasks|at most 80 letters"):
        plan_comparison([str(tmp_path / name)], LEARNERS)


def test_the_command_prints_the_grid(tmp_path):
    command = (
        "compare", "--task", "liu2019_chains,linear_track", "--learner",
        "episodic_control,q_lambda", "--animals", 2, "--jobs", 1, "--out", tmp_path / "out",
    )  # fmt: skip
    done = replay(*command)
    assert done.returncode == 0, done.stderr
    assert "-0" in done.stdout  # going backwards only, and no replay
    assert "0 of" in done.stdout
    again = replay(*command)
    assert again.stdout == done.stdout
    assert "are left" not in again.stderr
    status = replay("status", tmp_path / "out")
    assert status.returncode == 0
    assert "Complete and whole." in status.stdout


def test_every_task_has_the_statistics_of_its_findings():
    plan = plan_comparison()
    assert set(plan.tasks) >= {"linear_track", "gupta_2t", "w_track", "barrier_arena"}
    assert all(set(entry.statistics) <= set(STATISTICS) for entry in plan.tasks.values())
    assert find_task("linear_track").min_length == plan.tasks["linear_track"].min_length
