"""What is said of columns, compared with the tables that commands write."""

import re
from functools import partial
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
from commands import replay
from pyarrow import parquet

from analyses import plots
from analyses.jobs.columns import TABLES, TEXTS
from analyses.jobs.run import run
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.studies import STUDIES, find_study
from analyses.studies.brea_2018 import plan_reproduction
from analyses.studies.brea_2018.reproduce import STUDY as REPRODUCTION
from analyses.studies.changes import STUDY as CHANGES
from analyses.studies.changes import plan_change
from analyses.studies.comparison import plan_comparison
from analyses.studies.comparison.compare_accounts import STUDY as COMPARISON
from analyses.studies.demands import STUDY as DEMANDS
from analyses.studies.demands import plan_demands
from analyses.studies.recorded_replay import plan_recording
from analyses.studies.recorded_replay.recorded import STUDY as RECORDING

ROOT = Path(__file__).parents[1]
VERIFICATION = sorted((ROOT / "tests" / "verification").glob("*.py"))
VERIFICATION = [str(path) for path in VERIFICATION if "STUDY = Study(" in path.read_text("utf-8")]
ELSEWHERE_NUMBERS = {"states", "found", "n", "p", "evidence", "experiment", "order", "value"}


def read(path):
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)


def columns_of(path):
    return parquet.read_schema(path).names if path.suffix == ".parquet" else list(read(path))


def table_of(path):
    """Give what the glossary has of a file."""
    own = f"recording/{path.name}"
    return TABLES[own if own in TABLES and "moves" in columns_of(path) else path.name]


def check(folder, complete=True):
    """Hold all tables of a folder against the glossary; give their names."""
    files = [each for each in folder.rglob("*") if each.suffix in (".csv", ".parquet")]
    files = [each for each in files if "pieces" not in each.parts]
    for file in files:
        told, found = table_of(file), read(file)
        assert set(found) <= set(told.columns), file
        assert not complete or set(told.columns) - told.optional <= set(found), file
        if file.suffix == ".csv":
            known = {name: found[name].dropna() for name in found}
            texts = {name for name in known if any(isinstance(each, str) for each in known[name])}
            assert texts <= TEXTS | ELSEWHERE_NUMBERS, file
            assert {name for name in known if len(known[name])} & TEXTS <= texts, file
        empty = [name for name in found if found[name].isna().any()]
        assert [name for name in empty if not told.columns[name].empty] == [], file
    return {each.name for each in files}


def small(study):
    if study is REPRODUCTION:
        sizes = {"n_mdps": 2, "n_seeds": 1, "n_steps": 400}
        return plan_reproduction(["maze"], ["prioritized_sweeping", "sfma"], **sizes)
    if study is CHANGES:
        learners = {"dyna_q": ("dyna_q", {})}
        return plan_change("drifting_tree", learners, n_mdps=2, n_seeds=1, n_steps=50)
    if study is DEMANDS:
        return plan_demands(["q_learning"], n_mdps=1, visits=1)
    if study is COMPARISON:
        return plan_comparison(["linear_track"], ["dyna_q", "graph_walks"], n_draws=2)
    judgement = Judgement(n_shuffles=5, n_controls=1, other_sizes=())
    return plan_recording(simulated_recording(4), judgement=judgement, n_sessions=0)


@pytest.mark.parametrize(
    "study", [REPRODUCTION, CHANGES, DEMANDS, COMPARISON, RECORDING], ids=lambda study: study.name
)
def test_every_column_that_a_command_writes_is_explained(study, tmp_path):
    from dataclasses import replace

    run(replace(study, figures={}), small(study), tmp_path / "results")
    assert check(tmp_path / "results")


def test_every_column_of_the_reference_tables_is_explained():
    if not (ROOT / "data").exists():
        pytest.skip("in the checkout only")
    assert {"timings.csv", "recovery_matrix.csv", "findings.csv"} <= check(
        ROOT / "data", complete=False
    )


def test_every_column_is_printed(monkeypatch):
    monkeypatch.setattr("analyses.cli.terminal.PIPE_WIDTH", 10_000)  # a line for each
    listed, *_ = replay("columns").stdout.splitlines()
    assert listed.split(", ") == sorted(TABLES)
    for name, table in TABLES.items():
        row, _, *lines = replay("columns", name).stdout.splitlines()
        assert row == f"One row per {table.row}."
        for line, (column, told) in zip(lines, table.columns.items(), strict=True):
            cells = [column + " (in some)" * (column in table.optional)]
            cells += [text or "-" for text in told]
            assert line.split() == " ".join(cells).split()


def test_tables_are_found_with_and_without_their_ending():
    printed = [replay("columns", name).stdout for name in ("reward_rate", "reward_rate.csv")]
    assert printed[0] == printed[1]
    assert "normalised reward rate" in printed[0]
    assert "Unknown table 'rewards'" in replay("columns", "rewards").stderr


def test_tables_that_plots_name_are_explained():
    texts = [path.read_text("utf-8") for path in (ROOT / "analyses" / "plots").glob("*.py")]
    named = {name for text in texts for name in re.findall(r"``(\w+\.(?:csv|parquet))``", text)}
    assert len(named) > 10
    assert named <= set(TABLES)


@pytest.mark.parametrize("name", [*STUDIES, *VERIFICATION])
def test_each_study_draws_tables_that_are_explained(name):
    study = find_study(name)
    for key, drawing in study.figures.items():
        if isinstance(drawing, partial) and drawing.func.__name__ == "_drawn":
            function, tables = drawing.args
            place, _, named = function.rpartition(":")
            home = import_module(f"analyses.studies.{place}") if place else plots
            assert named == f"{key}_figure"
            assert callable(getattr(home, named))
            assert set(tables) <= {*TABLES}
