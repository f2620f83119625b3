"""Measurements piece by piece: what is done is not made again, whatever happened."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from analyses.cli import app
from analyses.jobs.measurements import Measurement, measure_pieces
from analyses.jobs.results import Results
from analyses.studies import catalogue, changes

LEARNERS = changes.find_learners(["dyna_q n_replays=2", "q_learning"])
CHANGES = changes.plan("drifting_tree", LEARNERS, n_mdps=3, n_seeds=1, n_steps=100, n_rest=1)
made = []


def make(number, text):
    made.append(number)
    table = pd.DataFrame({"number": [number] * 2, "text": text, "half": [number / 2, 0.1]})
    return {"some": table, "others": table.assign(number=-number)}


def summarise(tables):
    assert [list(table["number"]) for table in tables.values()] == [
        [0, 0, 1, 1, 2, 2],
        [0, 0, -1, -1, -2, -2],
    ]
    return {"sums": tables["some"].groupby("text", as_index=False)["half"].sum()}


MEASUREMENT = Measurement(["some", "others"], make, [(0, "a"), (1, "b"), (2, "b")], summarise)


def kept(folder, **options):
    results = Results(folder)
    with results.writing({"seed": 0, **MEASUREMENT.about}):
        return measure_pieces(MEASUREMENT, results=results, **options)


def interrupt(after):
    """Make a callback that interrupts when so many pieces are done."""
    calls = iter(range(after - 1))

    def on_piece():
        if next(calls, None) is None:
            raise KeyboardInterrupt

    return on_piece


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_only_what_is_missing_or_damaged_is_made(tmp_path):
    made.clear()
    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path, on_piece=interrupt(2))
    assert made == [0, 1]
    expected = measure_pieces(MEASUREMENT)["sums"]
    made.clear()
    pd.testing.assert_frame_equal(kept(tmp_path)["sums"], expected)
    assert made == [2]
    Results(tmp_path).piece("others", 1).write_bytes(b"")
    made.clear()
    pd.testing.assert_frame_equal(kept(tmp_path)["sums"], expected)
    assert made == [1]
    done = []
    kept(tmp_path, on_piece=lambda: done.append(1))
    assert len(done) == 3
    assert made == [1]


def test_interruptions_and_processes_make_no_difference(tmp_path):
    """To the tables and figures of a change of worlds, byte by byte."""
    folders = [tmp_path / name for name in ("at_once", "in_two")]
    catalogue.keep_tables("changes", folders[0], {"seed": 0}, CHANGES)
    for on_piece in (interrupt(1), interrupt(2)):
        with pytest.raises(KeyboardInterrupt):
            catalogue.keep_tables("changes", folders[1], {"seed": 0}, CHANGES, on_piece=on_piece)
        assert not list(folders[1].glob("*.csv"))
    catalogue.keep_tables("changes", folders[1], {"seed": 0}, CHANGES, jobs=2)
    once, twice = map(content, folders)
    assert {"change_rates.csv", "figures/changes.png", "pieces/rates/2.parquet"} <= once.keys()
    assert once == twice
    status = Results(folders[1]).status()
    assert status.experiments[["n_pieces", "n_done"]].to_numpy().tolist() == [[3, 3], [3, 3]]
    assert not status.missing


def test_a_command_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    """The second time it makes what is left."""
    n_calls = []
    measure = changes.measure

    def once(*piece):
        n_calls.append(piece)
        if len(n_calls) == 2:
            raise KeyboardInterrupt
        return measure(*piece)

    monkeypatch.setattr(changes, "measure", once)
    command = ["change", "--world", "drifting_tree", "--learner", "q_learning", "--mdps", "2"]
    command += ["--seeds", "1", "--steps", "50", "--jobs", "1", "--out", str(tmp_path / "out")]
    stopped = CliRunner().invoke(app, command)
    assert stopped.exit_code == 130, stopped.output
    assert CliRunner().invoke(app, command).exit_code == 0
    assert [index for _, _, index, *_ in n_calls] == [0, 1, 1]


def test_studies_go_on_too(tmp_path, monkeypatch):
    whole, _ = catalogue.make_study("gain_floor", tmp_path / "whole", size=0.04, seed=1)
    measurement = catalogue.plan_study("gain_floor", size=0.04, seed=1)
    about = {"size": 0.04, "seed": 1}
    with pytest.raises(KeyboardInterrupt):
        catalogue.keep_tables(
            "gain_floor", tmp_path / "parts", about, measurement, on_piece=interrupt(1)
        )
    parts, _ = catalogue.make_study("gain_floor", tmp_path / "parts", size=0.04, seed=1)
    pd.testing.assert_frame_equal(parts, whole)
    assert content(tmp_path / "parts") == content(tmp_path / "whole")
