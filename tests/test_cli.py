"""The command, as a newcomer would type it."""

import os
import subprocess
import sys

import pandas as pd
import pytest

from replay.learners import LEARNERS
from replay.simulation import simulate
from replay.worlds.mazes import from_ascii


def replay(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "analyses.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_help_names_all_commands():
    done = replay("--help")
    assert done.returncode == 0
    for name in ("reproduce", "learners", "demands", "experiments", "classify", "figures"):
        assert name in done.stdout


def test_help_needs_no_numba():
    code = (
        "import sys; from typer.testing import CliRunner; from analyses.cli import app; "
        "assert CliRunner().invoke(app, ['reproduce', '--help']).exit_code == 0; "
        "assert not {'numba', 'pandas', 'matplotlib'} & set(sys.modules), 'slow imports'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_lists():
    family = replay("learners", env={**os.environ, "COLUMNS": "100"}).stdout
    assert all(name in family for name in LEARNERS)
    assert max(map(len, family.splitlines())) <= 100
    one = replay("learners", "sfma").stdout
    assert "Diekmann & Cheng 2023" in one
    assert "One of default, reverse, dynamic." in one
    assert "similarity_discount" in one
    assert "Did you mean 'sfma'?" in replay("learners", "smfa").stderr
    assert "1,000,000" in replay("experiments").stdout


def test_reproduce_then_figures(tmp_path):
    done = replay(
        "reproduce", "--experiment", "stochastic_tree", "--learner",
        "prioritized_sweeping,episodic_control", "--mdps", 2, "--seeds", 1, "--steps", 400,
        "--jobs", 1, "--out", tmp_path / "results",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Episodic control" in done.stdout
    table = pd.read_csv(tmp_path / "results" / "reward_rate.csv")
    assert len(table) == 2 * 100
    curves = tmp_path / "results" / "figures" / "learning_curves.png"
    curves.unlink()
    assert str(curves) in replay("figures", tmp_path / "results").stdout.replace("\n", "")
    assert curves.exists()


def test_classify_a_log(tmp_path):
    run = simulate(from_ascii("S...\n.#.G"), "episodic_control", n_steps=2000)
    run.log.save(tmp_path / "log")
    done = replay("classify", tmp_path / "log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "reverse_episode" in done.stdout
    assert "novel_path" not in done.stdout
    assert len(pd.read_parquet(tmp_path / "sequences.parquet")) > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "--learner", "dyna"], "Unknown learner 'dyna'"),
        (["reproduce", "--experiment", "mace"], "Did you mean 'maze'"),
        (["reproduce", "--steps", "many"], "--steps takes one number"),
        (["reproduce", "--steps", "250"], "multiple of 100"),
        (["reproduce", "--jobs", "0"], "--jobs must be at least 1"),
        (["reproduce", "--jobs", "2", "--cluster", "tcp://host:1"], "exclude each other"),
        (["classify", "nowhere"], "nowhere is not a folder"),
        (["figures", "nowhere"], "no result folder"),
    ],
)
def test_errors_are_sentences(arguments, message, tmp_path):
    done = replay(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_output_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    done = replay("reproduce", "--out", tmp_path)
    assert done.returncode == 1
    assert "holds no results" in " ".join(done.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
