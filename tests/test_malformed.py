"""Files, commands and what has no example: taken and right, or refused in a sentence that names it.

Public functions with an example are called by `test_entry_points.py`, with the same faults.
A few examples for each entry point by default; with the Hypothesis profile ``nightly`` a thousand,
or as many as the environment variable ``MALFORMED_EXAMPLES`` says.
"""

import itertools
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import gain_floor
import hypothesis
import numpy as np
import pandas as pd
import pytest
import test_readers
from hypothesis import given, settings
from hypothesis import strategies as st
from malformed import (
    damage,
    is_finite,
    is_log,
    is_mdp,
    is_ours,
    is_protocol,
    limited,
    looked_at,
    malformed_options,
)
from typer.testing import CliRunner

from analyses.cli import app, simulations, studies
from analyses.cli.options import read_part
from analyses.findings import table
from analyses.jobs.results import Results
from analyses.jobs.workers import n_processes
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.track_graphs import read_track
from analyses.sequences.events import replayed_moves
from analyses.sequences.growing import chain_kinds
from analyses.studies.pages import page_of_folders
from replay import LEARNERS, MDP, EventLog
from replay.checks import shown
from replay.data import data_file
from replay.learners import find_learner
from replay.log.worlds import read_mdp, write_mdps
from replay.worlds import mazes, tracks
from replay.worlds.changing_worlds import WORLDS, find_world

pytest.importorskip("gymnasium")

_DEFAULT = settings.default.max_examples
N_EXAMPLES = int(os.environ.get("MALFORMED_EXAMPLES", _DEFAULT if _DEFAULT <= 30 else 1000))


class Entry(NamedTuple):
    """A way into the toolkit: what it is called with, the call, and whether the result is right."""

    options: dict
    call: object
    check: object = lambda _: None


def make_corridor():
    return MDP.from_tables([[0, 1], [0, 2], [2, 2]], [0, 0, 1], start=0, terminal=[2])


# -- worlds ----------------------------------------------------------------------------------


def builders():
    """Give the builders of worlds and tracks without an example of their own."""
    yield "two_way_track", Entry({"length": 3}, mazes.two_way_track, is_mdp)
    options = {"node_positions": [(0, 0), (10, 0), (20, 5)], "edges": [(0, 1), (1, 2)]}
    yield "make_track_graph", Entry(options, tracks.make_track_graph)
    for build in (tracks.make_circular_track, tracks.make_wtrack, tracks.make_figure8_track):
        names = build.__code__.co_varnames[: build.__code__.co_argcount]
        options = {name: 4 if name == "n_segments" else 30.0 for name in names}
        yield build.__name__, Entry(options, build, MDP.from_networkx)
    options = {"depth": 2, "n_actions": 2, "branching": 2, "n_phases": 2, "drift": 0.5}
    options |= {"n_steps": 10, "n_rest": 1, "seed": 0}
    yield "drifting_tree", Entry(options, WORLDS["drifting_tree"], is_protocol)


WORLD_ENTRIES = dict(builders()) | {
    "from_tables, probabilities": Entry(
        {
            "transition": np.full((3, 2, 3), 1 / 3), "reward": np.eye(3)[:, :2],
            "start": [0.5, 0.5, 0.0], "terminal": [2], "action_names": ("left", "right"),
            "position": [(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)], "labels": ["a", "b", "c"],
            "name": "corridor",
        },
        MDP.from_tables,
        is_mdp,
    ),
    "MDP": Entry(
        {name: getattr(make_corridor(), name) for name in MDP.__dataclass_fields__}, MDP, is_mdp
    ),
    "from_networkx, an MDP": Entry(
        {"graph": make_corridor().to_networkx(), "name": None}, MDP.from_networkx, is_mdp
    ),
    "reward_rate": Entry(
        {"policy": [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]], "epsilon": 0.1},
        make_corridor().reward_rate,
        is_finite,
    ),
    "layout": Entry({"mdp": mazes.from_ascii("S.G")}, mazes.layout),
    "find_world": Entry({"name": "shortcut"}, find_world, callable),
}  # fmt: skip

# -- logs ------------------------------------------------------------------------------------

STEPS = {
    "run": [0, 0, 0, 0],
    "episode": [0, 0, 1, 1],
    "step": [0, 1, 2, 3],
    "time": [0.0, 0.5, 1.0, 2.0],
    "state": [0, 1, 0, 1],
    "action": [1, 1, 1, 1],
    "reward": [0.0, 1.0, 0.0, 1.0],
    "next_state": [1, 2, 1, 2],
    "terminated": [False, True, False, True],
    "truncated": [False] * 4,
}
BACKUPS = {
    "step": [1, 1, 3, 3],
    "phase": ["online", "episode_end", "online", "episode_end"],
    "state": [1, 0, 1, 0],
    "action": [1, 1, 1, 1],
    "next_state": [2, 1, 2, 1],
    "reward": [1.0, 0.0, 1.0, 0.0],
    "q_before": [0.0] * 4,
    "q_after": [0.5] * 4,
    "cause": [-1, -1, -1, -1],
}
RUNS = {"learner": "own", "mdp": "corridor", "experiment": "", "seed": 1, "parameters": {"a": 1}}


TABLES = {"runs": RUNS, "steps": STEPS, "backups": BACKUPS}


def small_log():
    return EventLog(TABLES, {"log": "all"})


def save_and_read(folder, provenance):
    log = EventLog({"steps": STEPS}, provenance)
    with tempfile.TemporaryDirectory() as outside:
        place = Path(outside) / folder if isinstance(folder, str) and folder == "log" else folder
        if isinstance(folder, str | Path) and folder != "log":
            return looked_at(EventLog.load(place))
        log.save(place)
        return looked_at(EventLog.load(place))


LOG_ENTRIES = {
    "EventLog": Entry(
        {"tables": TABLES, "provenance": {"log": "all"}, "mdp": make_corridor()},
        lambda **given: looked_at(EventLog(**given)),
        is_log,
    ),
    "EventLog, DataFrames": Entry(
        {"tables": {"steps": pd.DataFrame(STEPS), "backups": pd.DataFrame(BACKUPS)}},
        lambda tables: looked_at(EventLog(tables)),
        is_log,
    ),
    "save": Entry({"folder": "log", "provenance": {"log": "all"}}, save_and_read, is_log),
}

# -- learners and analyses -------------------------------------------------------------------

WINDOWS = pd.DataFrame(
    [
        ("maze", learner, mdp, 0, step, 0.1 * mdp + 0.001 * step)
        for learner, mdp, step in itertools.product(("a", "b"), (0, 1), (10, 20))
    ],
    columns=["experiment", "learner", "mdp", "seed", "time_step", "reward_rate"],
)


def own_findings():
    own = table.findings().drop(columns=["source", "second_hand", "unpublished"])
    return own.head(3).assign(id=["own_1", "own_2", "own_3"])


def read_findings(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "findings.csv"
        content = text if isinstance(text, str) else shown(text)
        path.write_bytes(text if isinstance(text, bytes) else content.encode(errors="replace"))
        return table.findings(path)


OTHER_ENTRIES = {
    **{
        f"parameters of {name}": Entry(
            {"params": find_learner(name).params._asdict()},
            lambda params, name=name: find_learner(name, params),
        )
        for name in LEARNERS
    },
    "chain_kinds": Entry(
        {
            "steps": {name: [0, 1] for name in ("episode", "step", "state")}
            | {"next_state": [1, 2]},
            "backups": dict(small_log().columns("backups")),
            "across_events": True,
        },
        chain_kinds,
    ),
    "replayed_moves": Entry({"log": small_log(), "event": 0, "run": 0}, replayed_moves),
    "findings": Entry({"text": own_findings().to_csv(index=False)}, read_findings),
    "data_file": Entry(
        {"name": "README.md"},
        data_file,
        lambda path: path.resolve().relative_to(data_file("README.md").resolve().parent),
    ),
}

# -- commands --------------------------------------------------------------------------------


def planned(command, **options):
    """Type a command, with a text for each option, and plan what it asks for; nothing is made.

    None is returned if the command line itself refuses, in a sentence of its own.
    """
    words = [command]
    for name, value in options.items():
        text = value if isinstance(value, str) else shown(value)
        words += (
            [text.replace("\0", "")] if name == "name" else [f"--{name}", text.replace("\0", "")]
        )
    plans = []

    def plan_only(study, plan, out, jobs, cluster=None, pieces=None):
        n_processes(jobs)
        read_part(pieces)
        Results(out)
        plans.append(study.all_pieces(plan)[:1000])
        plan.describe()

    with pytest.MonkeyPatch.context() as patch:
        for module in (simulations, studies):
            patch.setattr(module, "do_study", plan_only)
        ended = CliRunner().invoke(app, words)
    if ended.exit_code == 2:
        return None
    if ended.exception is not None:
        raise ended.exception
    return plans


def is_planned(plans):
    assert plans is None or len(plans) == 1


COMMAND_ENTRIES = {
    f"replay {command}": Entry(
        {"command": command, **options},
        lambda command, **options: planned(command if isinstance(command, str) else "", **options),
        is_planned,
    )
    for command, options in {
        "reproduce": {
            "experiment": "maze,stochastic_tree",
            "learner": "q_learning",
            "mdps": "2",
            "seeds": "2",
            "steps": "maze=1000,stochastic_tree=200",
            "seed": "1",
            "jobs": "1",
            "log": "all",
            "keep-logs": "1",
            "variant": "D1+D2",
            "out": "results",
        },
        "compare": {
            "task": "linear_track",
            "account": "dyna_q,blind_walks",
            "draws": "2",
            "seed": "1",
            "out": "comparison",
        },
        "change": {
            "world": "shortcut",
            "learner": "dyna_q n_replays=5",
            "mdps": "2",
            "seeds": "2",
            "steps": "100",
            "rest": "1",
            "out": "changes",
        },
        "demands": {"learner": "q_learning,sfma", "mdps": "2", "visits": "2", "out": "demands"},
        "study": {
            "name": gain_floor.__file__,
            "size": "0.1",
            "seed": "1",
            "pieces": "2/3",
            "out": "study",
        },
    }.items()
}

ENTRIES = WORLD_ENTRIES | LOG_ENTRIES | OTHER_ENTRIES | COMMAND_ENTRIES


def taken_or_refused(entry, options):
    """Call an entry; raise an AssertionError unless what comes of it is right."""
    with limited():
        try:
            result = entry.call(**options)
        except Exception as error:
            if not is_ours(error):
                raise AssertionError(
                    f"no error of ours: {type(error).__name__}: {error}"
                ) from error
            return
        entry.check(result)


# What is odd, and may be meant, is warned of.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("name", ENTRIES)
def test_what_is_valid_is_taken(name):
    entry = ENTRIES[name]
    entry.check(entry.call(**entry.options))


@settings(
    max_examples=N_EXAMPLES, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
@pytest.mark.parametrize("name", ENTRIES)
@given(data=st.data())
def test_nonsense_is_refused_in_a_sentence(name, data):
    entry = ENTRIES[name]
    taken_or_refused(entry, data.draw(malformed_options(entry.options)))


def read_damaged(pick):
    """Save a log, damage its files, and read it: the same, or refused, and nothing else changed."""
    with tempfile.TemporaryDirectory() as outside:
        folder = Path(outside) / "log"
        world = mazes.from_ascii("S.G") if pick(2) else None
        EventLog(small_log().tables, {"log": "all"}, world).save(folder)
        damage(folder, pick)
        before = {path: path.lstat().st_mtime_ns for path in Path(outside).rglob("*")}
        try:
            log = looked_at(EventLog.load(folder))
        except Exception as error:
            if not is_ours(error):
                raise AssertionError(f"no error of ours: {error!r}") from error
        else:
            is_log(log)
        assert before == {path: path.lstat().st_mtime_ns for path in Path(outside).rglob("*")}


@settings(
    max_examples=2 * N_EXAMPLES, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
@given(data=st.data())
def test_a_damaged_log_is_read_as_it_was_or_refused(data):
    with limited():
        read_damaged(lambda n: data.draw(st.integers(0, n - 1)))


# -- files of every format -------------------------------------------------------------------


def recording_as(suffix):
    """Give a function that writes a recording in one format."""

    def write(path):
        table = pd.DataFrame({"time": test_readers.TIME, "x": test_readers.XY[:, 0], "y": 0.0})
        if suffix == "npz":
            np.savez_compressed(path, **test_readers.ARRAYS)
        elif suffix == "nc":
            test_readers.dataset().to_netcdf(path, engine="h5netcdf")
        elif suffix == "nwb":
            test_readers.TestNWB().write(path)
        else:
            getattr(table, f"to_{suffix}")(path, index=False)

    return write


def read_as_recording(path):
    session = test_readers.POSITIONS if path.suffix == ".nc" else None
    read_recording(path, test_readers.LAID_OUT, session=session)


def write_results(path):
    """Write a folder of results with a finished piece, a log, a table and a figure."""
    results = Results(path)
    held = {"study": "mine", "command": "replay mine", "pieces": {"maze": 1}}
    with results.writing(held):
        results.keep_piece("maze", 0, {"pieces/maze/0/windows.parquet": b"a piece"})
        results.write("curves.csv", WINDOWS)
        results.write("windows.parquet", WINDOWS)
        results.finish("tables")
        (path / "figures").mkdir()
        (path / "figures" / "curves.png").write_bytes(b"a figure")
        results.finish("figures")


def read_results(path):
    """Look at results, read them, and resume them, each as far as it goes."""
    results, errors = Results(path), []
    for use in (
        results.status,
        results.check_tables,
        lambda: results.read("curves.csv"),
        lambda: results.read("windows.parquet"),
        lambda: results.read_piece("windows", "maze", 0),
        lambda: page_of_folders([path], path.parent / "page.html"),
        lambda: results.writing(results.manifest()).__enter__(),
    ):
        try:
            use()
        except Exception as error:
            errors.append(error)
            if not is_ours(error):
                raise
    if errors:
        raise errors[0]


FORMATS = {
    **{f"session.{suffix}": (recording_as(suffix), read_as_recording)
       for suffix in ("npz", "nc", "nwb", "csv", "parquet")},
    "track.json": (lambda path: path.write_text(json.dumps(test_readers.TRACK)), read_track),
    "maze.json": (lambda path: write_mdps({"maze": make_corridor()}, path.parent), read_mdp),
    "findings.csv": (lambda path: own_findings().to_csv(path, index=False), table.findings),
    "results": (write_results, read_results),
}  # fmt: skip
"""Name -> how a file or folder of that format is written, and how it is read."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write the file of each format once."""
    folder = tmp_path_factory.mktemp("written")

    def find(name):
        if not (folder / name).exists():
            if name.endswith("nwb"):
                pytest.importorskip("pynwb")
            FORMATS[name][0](folder / name)
        return folder / name

    return find


@settings(
    max_examples=N_EXAMPLES, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_a_damaged_file_of_any_format_is_read_or_refused(name, written, data):
    """Nothing outside its folder is changed, and no link, pipe or device makes it hang."""
    source = written(name)
    with tempfile.TemporaryDirectory() as place, limited():
        folder, outside = Path(place) / "given", Path(place) / "outside"
        outside.mkdir()
        theirs = {f".thesis.txt.{'4' * 32}", "thesis.txt", "notes.csv"}
        for other in theirs:
            (outside / other).write_text("mine")
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            folder.mkdir()
            shutil.copy(source, folder)
        for _ in range(data.draw(st.integers(1, 2))):
            if any(path.is_file() for path in folder.rglob("*")):
                damage(folder / name if source.is_dir() else folder,
                       lambda n: data.draw(st.integers(0, n - 1)), outside)  # fmt: skip
        try:
            FORMATS[name][1](folder / name)
        except Exception as error:
            if not is_ours(error):
                raise AssertionError(f"no error of ours: {error!r}") from error
        assert {path.name for path in outside.iterdir()} == theirs
        assert {path.read_text() for path in outside.iterdir()} == {"mine"}
