"""The runner of studies does not repeat completed work, whatever happened."""

from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import gain_floor
import pandas as pd
import pytest
from commands import digests, interrupt, replay
from typer.testing import CliRunner

from analyses.cli import app
from analyses.cli.options import read_learners
from analyses.jobs import WorkCost
from analyses.jobs.results import Part, Results
from analyses.jobs.run import run
from analyses.jobs.study import Piece, SizedPlan, Study
from analyses.studies import changes

LEARNERS = read_learners(["dyna_q n_replays=2", "q_learning"])
CHANGES = changes.plan_change("drifting_tree", LEARNERS, n_mdps=3, n_seeds=1, n_steps=100, n_rest=1)
made = []


def make(plan, piece):
    made.append(piece.number)
    table = pd.DataFrame({"number": [piece.number] * 2, "half": [piece.number / 2, 0.1]})
    text = {0: "a", 1: "b", 2: "b"}[piece.number]
    return {
        "some": table.assign(text=text),
        "others": table.assign(number=-piece.number),
        f"logs/{piece.group}/{piece.number}.txt": a_file(),
    }


def a_file():
    path = Path(mkdtemp()) / "some.txt"
    path.write_text("a file")
    return path


def summarise(plan, results):
    some, others = results.read_pieces("some"), results.read_pieces("others")
    assert some["number"].tolist() == [0, 0, 1, 1, 2, 2]
    assert others["number"].tolist() == [0, 0, -1, -1, -2, -2]
    return {"sums.csv": some.groupby("text", as_index=False)["half"].sum()}


STUDY = Study(
    "sums",
    "What are the sums?",
    plan=lambda size, seed: SizedPlan({"numbers": round(3 * size)}, seed),
    make=make,
    summarise=summarise,
    size=lambda plan, piece: -piece.number,
)
PLAN = STUDY.usual_plan()


@pytest.mark.parametrize("n_parts", [1, 2, 5])
def test_parts_are_collected_to_the_same_bytes(n_parts, tmp_path):
    run(STUDY, PLAN, tmp_path / "whole")
    parts, made_of_parts = tmp_path / "parts", []
    for number in reversed(range(1, n_parts + 1)):
        part = Part(number, n_parts)
        made.clear()
        assert run(STUDY, PLAN, parts, part=part) == {}
        made_of_parts += made
        run(STUDY, PLAN, parts, part=part)
        assert made_of_parts[len(made_of_parts) - len(made) :] == made  # nothing twice
    assert sorted(made_of_parts) == [0, 1, 2]
    assert Results(parts).status().missing == ["tables", "figures"]
    made.clear()
    run(STUDY, PLAN, parts)
    assert not made
    assert digests(parts) == digests(tmp_path / "whole")
    run(STUDY, PLAN, parts, part=Part(1, n_parts))  # too late, but nothing is lost
    assert Results(parts).status().missing == []


def test_what_a_part_left_is_made_when_they_are_collected(tmp_path):
    run(STUDY, PLAN, tmp_path, part=Part(2, 2))
    made.clear()
    assert len(run(STUDY, PLAN, tmp_path)["sums.csv"])
    assert sorted(made) == [0, 2]
    with pytest.raises(ValueError, match="needs a folder"):
        run(STUDY, PLAN, part=Part(1, 2))


def test_only_what_is_missing_or_damaged_is_made(tmp_path):
    made.clear()
    with pytest.raises(KeyboardInterrupt):
        run(STUDY, PLAN, tmp_path, on_piece=interrupt(2))
    assert made == [0, 1]
    expected = run(STUDY, PLAN)["sums.csv"]
    made.clear()
    pd.testing.assert_frame_equal(run(STUDY, PLAN, tmp_path)["sums.csv"], expected)
    assert made == [2]
    for damaged in ("pieces/numbers/1/others.parquet", "logs/numbers/1.txt"):
        (tmp_path / damaged).write_bytes(b"")
        made.clear()
        told = []
        again = run(STUDY, PLAN, tmp_path, tell=told.append)["sums.csv"]
        pd.testing.assert_frame_equal(again, expected)
        assert made == [1]
        assert told == [f"{damaged} is damaged or missing, and is made again."]
    done = []
    run(STUDY, PLAN, tmp_path, on_piece=done.append)
    assert done == [Piece("numbers", number) for number in range(3)]
    assert made == [1]


def test_the_cost_is_told_once_something_is_done(tmp_path):
    told = []
    run(STUDY, PLAN, tmp_path, on_cost=told.append)
    [cost] = told
    assert cost.counts == {"pieces": 1}
    assert cost.seconds > 0
    run(STUDY, PLAN, tmp_path, on_cost=told.append)
    assert len(told) == 1, "nothing is left to do"


def test_a_part_makes_no_tables_and_costs_none(tmp_path):
    told = []
    study = replace(STUDY, estimate=lambda plan, left, timed: WorkCost({}, 1.0, 0.0, 1, 60.0))
    run(study, PLAN, tmp_path / "part", part=Part(1, 2), on_cost=told.append)
    run(study, PLAN, tmp_path / "whole", on_cost=told.append)
    assert [cost.seconds_after >= 60 for cost in told] == [False, True]
    assert told[0].seconds_after == 0


def test_without_a_folder_no_figure_costs_time(tmp_path):
    told = []
    study = replace(STUDY, estimate=lambda plan, left, timed: WorkCost({}, 1.0, 0.0, 1, 60.0))
    study = replace(study, figures={"all": lambda results: []})
    for out in (None, tmp_path):
        run(study, PLAN, out, on_cost=told.append)
    nothing_drawn, drawn = (cost.seconds_after for cost in told)
    assert nothing_drawn == 60 < drawn


def test_interruptions_and_processes_make_no_difference(tmp_path):
    """To the tables and figures of a change of worlds, byte by byte."""
    folders = [tmp_path / name for name in ("at_once", "in_two")]
    run(changes.STUDY, CHANGES, folders[0])
    for on_piece in (interrupt(1), interrupt(2)):
        with pytest.raises(KeyboardInterrupt):
            run(changes.STUDY, CHANGES, folders[1], on_piece=on_piece)
        assert not list(folders[1].glob("*.csv"))
    run(changes.STUDY, CHANGES, folders[1], jobs=2)
    once, twice = map(digests, folders)
    wanted = {"change_rates.csv", "figures/changes.png", "pieces/drifting_tree/2/rates.parquet"}
    assert wanted <= once.keys()
    assert once == twice
    status = Results(folders[1]).status()
    assert status.groups.to_numpy().tolist() == [["drifting_tree", 3, 3, 0]]
    assert not status.missing


def test_a_command_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    """The second time it makes what is left."""
    n_calls = []
    measure = changes.measure_change

    def once(*piece):
        n_calls.append(piece)
        if len(n_calls) == 2:
            raise KeyboardInterrupt
        return measure(*piece)

    monkeypatch.setattr(changes, "measure_change", once)
    command = ["change", "--world", "drifting_tree", "--learner", "q_learning", "--n-worlds", "2"]
    command += ["--repeats", "1", "--steps", "50", "--jobs", "1", "--out", str(tmp_path / "out")]
    stopped = CliRunner().invoke(app, command)
    assert stopped.exit_code == 130, stopped.output
    assert CliRunner().invoke(app, command).exit_code == 0
    assert [index for _, _, index, *_ in n_calls] == [0, 1, 1]


def test_any_study_is_a_command(tmp_path):
    out = tmp_path / "out"
    command = ("study", gain_floor.__file__, "--size", 0.06, "--jobs", 1, "--out", out)
    done = replay(*command)
    assert done.returncode == 0, done.stderr
    assert "no_floor" in done.stdout
    assert "1 piece is left: " in done.stderr  # a busy machine changes what follows
    done = replay("compare", "--task", "linear_track", "--accounts", "sfma", "--out", out)
    assert done.returncode == 1
    message = (
        "holds results of python tests/verification/gain_floor.py, and this is replay compare."
    )
    assert message in " ".join(done.stderr.split())
