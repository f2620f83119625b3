"""All input from a user is either processed correctly, or refused with a message that names it.

A few examples for each entry point by default; with the Hypothesis profile ``nightly`` a thousand,
or as many as the environment variable ``MALFORMED_EXAMPLES`` says.
"""

import itertools
import json
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import gain_floor
import hypothesis
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import test_readers
from hypothesis import given, settings
from hypothesis import strategies as st
from malformed import damage, is_ours, limited, malformed_options
from typer.testing import CliRunner

from analyses.cli import app, paper, simulations, studies
from analyses.cli.options import read_part
from analyses.findings import table
from analyses.jobs.mdp_files import read_mdp, write_mdps
from analyses.jobs.results import Results
from analyses.jobs.workers import n_processes
from analyses.measures.reward_rate import normalise
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.track_graphs import read_track
from analyses.sequences.classification import classify, classify_paths
from analyses.sequences.experience import Experience
from analyses.sequences.growing import chain_kinds
from analyses.sequences.pauses import replayed_moves
from analyses.sequences.place_sequences import Detection, place_sequences
from analyses.studies.pages import page_of_folders
from replay import LEARNERS, MDP, EventLog, feed, simulate, sweep
from replay.checks import shown
from replay.data import data_file, reference_table
from replay.learners import find_learner
from replay.log.schema import SCHEMA, check_values
from replay.tasks import Block, Rule, Task, explore, run_task, task_of_routes
from replay.tasks.published import find_maze, find_task
from replay.worlds import mazes, tracks, trees
from replay.worlds.changing_worlds import WORLDS, find_world
from replay.worlds.protocols import Phase, Protocol

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


def tables_of_mdp():
    return {
        "transition": [[0, 1], [0, 2], [2, 2]],
        "reward": [0.0, 0.0, 1.0],
        "start": [0.5, 0.5, 0.0],
        "terminal": [2],
        "action_names": ("left", "right"),
        "position": [(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)],
        "labels": ["a", "b", "c"],
        "name": "corridor",
    }


def is_mdp(mdp):
    """Check what all else relies on, from the tables themselves."""
    n_rows = mdp.n_states * mdp.n_actions
    assert isinstance(mdp.name, str)
    assert all(isinstance(name, str) for name in mdp.action_names)
    assert mdp.successor_offset.shape == (n_rows + 1,)
    assert np.isfinite(mdp.reward).all()
    assert ((mdp.successor >= 0) & (mdp.successor < mdp.n_states)).all()
    total = np.bincount(mdp.transition_rows(), mdp.probability, n_rows)
    np.testing.assert_allclose(total, ~np.repeat(mdp.terminal, mdp.n_actions), atol=1e-9)
    assert mdp.start_probability.sum() == pytest.approx(1)
    assert not mdp.start_probability[mdp.terminal].any()
    assert mdp.position is None or np.isfinite(mdp.position).all()
    assert MDP.from_networkx(mdp.to_networkx()) == mdp or mdp.labels is not None


def is_protocol(protocol):
    assert protocol.n_steps >= len(protocol.phases)
    for phase in protocol.phases:
        is_mdp(phase.mdp)


def is_finite(rate):
    assert np.isfinite(rate)


def is_solution(solution):
    assert np.isfinite(solution.action_values).all()


# -- worlds ----------------------------------------------------------------------------------

TABLE = {
    0: {0: [(0.5, 0, 0.0, False), (0.5, 1, 0.0, False)], 1: [(1.0, 1, 0.0, False)]},
    1: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 2, 1.0, True)]},
    2: {0: [(1.0, 2, 0.0, True)], 1: [(1.0, 2, 0.0, True)]},
}


def from_environment(table, start, name):
    world = SimpleNamespace(P=table, initial_state_distrib=start)
    return MDP.from_gymnasium(SimpleNamespace(unwrapped=world, spec=SimpleNamespace(id=name)))


def t_maze():
    return tracks.make_tmaze_track(40, 20)


def builders():
    """Give the builders of worlds and tracks, with small valid arguments."""
    for build, options, check in [
        (trees.deterministic_tree, {"depth": 2, "n_actions": 2, "rewards": "terminal"}, is_mdp),
        (trees.stochastic_tree, {"depth": 2, "n_actions": 2, "branching": 2}, is_mdp),
        (mazes.random_maze, {"size": 6}, is_mdp),
    ]:
        yield build.__name__, Entry(options | {"seed": 0}, lambda f=build, **o: f(**o), check)
    yield "open_maze", Entry({"scale": 1, "random_starts": False}, mazes.open_maze, is_mdp)
    yield "two_way_track", Entry({"length": 3}, mazes.two_way_track, is_mdp)
    drawing = "#####\n#S.G#\n#.#.#\n#####"
    options = {"text": drawing, "cell_size": 10.0, "name": "maze"}
    yield "from_ascii", Entry(options, mazes.from_ascii, is_mdp)
    options = {"node_positions": [(0, 0), (10, 0), (20, 5)], "edges": [(0, 1), (1, 2)]}
    yield "make_track_graph", Entry(options, tracks.make_track_graph)
    for build in (tracks.make_circular_track, tracks.make_wtrack, tracks.make_figure8_track):
        names = build.__code__.co_varnames[: build.__code__.co_argcount]
        options = {name: 4 if name == "n_segments" else 30.0 for name in names}
        yield build.__name__, Entry(options, build, MDP.from_networkx)
    for name, options in {
        "moving_wall": {"size": 7, "n_phases": 2, "noise": 0.1},
        "shortcut": {"size": 7, "noise": 0.0},
        "moving_reward": {"size": 7, "n_phases": 2, "n_places": 2, "noise": 0.0},
        "drifting_tree": {"depth": 2, "n_actions": 2, "branching": 2, "n_phases": 2, "drift": 0.5},
    }.items():
        options = options | {"n_steps": 10, "n_rest": 1, "seed": 0}
        yield name, Entry(options, WORLDS[name], is_protocol)


def make_protocol(phases, name, step):
    protocol = Protocol(phases, name=name)
    assert (protocol.phase_of(step) >= 0).all()
    return protocol


WORLD_ENTRIES = dict(builders()) | {
    "from_tables": Entry(tables_of_mdp(), MDP.from_tables, is_mdp),
    "from_tables, probabilities": Entry(
        tables_of_mdp() | {"transition": np.full((3, 2, 3), 1 / 3), "reward": np.eye(3)[:, :2]},
        MDP.from_tables,
        is_mdp,
    ),
    "from_transitions": Entry(
        make_corridor().transitions()._asdict(), MDP.from_transitions, is_mdp
    ),
    "MDP": Entry(
        {name: getattr(make_corridor(), name) for name in MDP.__dataclass_fields__}, MDP, is_mdp
    ),
    "from_networkx, a track": Entry(
        {
            "graph": t_maze(),
            "rewards": {2: 1.0},
            "terminal": [2, 3],
            "start": {0: 0.5, 1: 0.5},
            "bin_size": 10.0,
            "name": "maze",
        },
        MDP.from_networkx,
        is_mdp,
    ),
    "from_networkx, an MDP": Entry(
        {"graph": make_corridor().to_networkx(), "name": None}, MDP.from_networkx, is_mdp
    ),
    "from_gymnasium": Entry(
        {"table": TABLE, "start": [1.0, 0.0, 0.0], "name": "T-v0"}, from_environment, is_mdp
    ),
    "solve": Entry({"discount": 0.9}, make_corridor().solve, is_solution),
    "reward_rate": Entry(
        {"policy": [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]], "epsilon": 0.1},
        make_corridor().reward_rate,
        is_finite,
    ),
    "successors": Entry({"state": 0, "action": 1}, make_corridor().successors),
    "layout": Entry({"mdp": mazes.from_ascii("S.G")}, mazes.layout),
    "to_gymnasium": Entry({"max_episode_steps": 5}, make_corridor().to_gymnasium),
    "protocol": Entry(
        {"phases": [Phase(make_corridor(), 5)] * 2, "name": "two", "step": [0, 9]},
        make_protocol,
        is_protocol,
    ),
    "phase": Entry({"mdp": make_corridor(), "n_steps": 5, "n_rest": 1}, Phase),
    "find_world": Entry({"name": "shortcut"}, find_world, callable),
}

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


def looked_at(log):
    for name in SCHEMA:
        log.columns(name)
    return log


def is_log(log):
    columns = {name: log.columns(name) for name in SCHEMA}
    for name in SCHEMA:
        assert len({len(column) for column in columns[name].values()}) == 1
        check_values(name, columns[name], columns["runs"])
        assert len(getattr(log, name)) == len(columns[name]["run"])
    classify(log)


def make_log(**options):
    return looked_at(EventLog(**options))


def small_log():
    return EventLog({"runs": RUNS, "steps": STEPS, "backups": BACKUPS}, {"log": "all"})


def save_and_read(folder, provenance):
    log = EventLog({"steps": STEPS}, provenance)
    with tempfile.TemporaryDirectory() as outside:
        place = Path(outside) / folder if isinstance(folder, str) and folder == "log" else folder
        if isinstance(folder, str | Path) and folder != "log":
            return looked_at(EventLog.load(place))
        log.save(place)
        return looked_at(EventLog.load(place))


tables = {"runs": RUNS, "steps": STEPS, "backups": BACKUPS}
LOG_ENTRIES = {
    "EventLog": Entry({"tables": tables, "provenance": {"log": "all"}}, make_log, is_log),
    "EventLog, DataFrames": Entry(
        {"tables": {"steps": pd.DataFrame(STEPS), "backups": pd.DataFrame(BACKUPS)}},
        make_log,
        is_log,
    ),
    "EventLog, world": Entry(
        {"tables": {"steps": STEPS}, "provenance": {}, "mdp": make_corridor()}, make_log, is_log
    ),
    "label": Entry(RUNS, lambda **o: looked_at(small_log().label(**o)), is_log),
    "graph": Entry({"until": 2, "run": 0}, lambda **o: small_log().graph(**o)),
    "concat": Entry({"logs": [small_log(), small_log()]}, EventLog.concat, is_log),
    "save": Entry({"folder": "log", "provenance": {"log": "all"}}, save_and_read, is_log),
}

# -- tasks -----------------------------------------------------------------------------------


def line():
    graph = nx.path_graph(["a", "b", "c"])
    places = {"a": (0.0, 0.0), "b": (10.0, 0.0), "c": (20.0, 0.0)}
    nx.set_node_attributes(graph, places, "pos")
    return graph


RULES = [
    Rule(("a",), ("a", "c"), (("c", 1.0),), "out"),
    Rule(("c",), ("a", "c"), (("a", 1.0),), "in"),
]
BLOCKS = [Block("one", 2, ("out", "in"), {"c": 1.0}, (), 1), Block("two", 2, ("out",), {"a": 1.0})]


def places_of(graph, rules, home):
    places = explore(graph, rules, home)
    is_mdp(places.whole)
    return places


def run_laps(**options):
    task = task_of_routes(**options)
    assert (task.analysed >= 0).all()
    is_mdp(task.world)
    return run_task(task, "monte_carlo", seed=1)


def walked(nodes, memory, rules, closed, start):
    places = explore(line(), RULES, "a")
    path = places.walk(nodes, memory)
    assert all(0 <= state < len(places.states) for state in path)
    return places.world(rules, closed, start)


def make_task(**options):
    return Task(model=explore(line(), RULES, "a"), protocol=lambda task, rng: iter(()), **options)


TASK_ENTRIES = {
    "explore": Entry({"graph": line(), "rules": RULES, "home": "a"}, places_of),
    "world": Entry(
        {"nodes": "abc", "memory": "out", "rules": RULES, "closed": [("b", "c")], "start": 0},
        walked,
        is_mdp,
    ),
    "task_of_routes": Entry(
        {
            "name": "line",
            "graph": line(),
            "routes": {"out": "abc", "in": "cba"},
            "blocks": BLOCKS,
            "home": "a",
            "local_radius": 1,
            "headings": ("{}>", "{}<"),
            "reward_sd": 0.1,
        },
        run_laps,
    ),
    "Task": Entry(
        {
            "name": "line",
            "blocks": BLOCKS,
            "landmarks": {"end": ("a",)},
            "local_radius": 1,
            "one_way": False,
            "remark": "",
            "headings": ("{}>", "{}<"),
            "lap_names": {},
        },
        make_task,
        lambda task: is_mdp(task.world),
    ),
    "find_task": Entry({"name": "y_maze"}, find_task),
    "find_maze": Entry({"name": "y_maze"}, find_maze),
    "reference_table": Entry({"name": "brea_2018/reward_rate"}, reference_table),
    "data_file": Entry(
        {"name": "README.md"},
        data_file,
        lambda path: path.resolve().relative_to(data_file("README.md").resolve().parent),
    ),
}

# -- learners and analyses -------------------------------------------------------------------

TRANSITIONS = pd.DataFrame({name: STEPS[name] for name in STEPS if name not in ("run", "episode")})
TRANSITIONS = TRANSITIONS.drop(columns=["step"]).assign(next_action=1)
WINDOWS = pd.DataFrame(
    [
        ("maze", learner, mdp, 0, step, 0.1 * mdp + 0.001 * step)
        for learner, mdp, step in itertools.product(("a", "b"), (0, 1), (10, 20))
    ],
    columns=["experiment", "learner", "mdp", "seed", "time_step", "reward_rate"],
)
BASELINES = pd.DataFrame(
    {"experiment": "maze", "mdp": [0, 1], "random": [0.0, 0.1], "optimal": [1.0, 0.9]}
)
PATHS = pd.DataFrame({"states": [[0, 1, 2], [2, 1, 0]], "time": [0.7, 2.5]})


def few_steps(n_steps, **options):
    if isinstance(n_steps, int) and n_steps > 10_000:
        raise ValueError("long runs are no mistake")
    return simulate(make_corridor(), n_steps=n_steps, **options).log


def few_sweeps(**options):
    for name, most in (("n_steps", 10_000), ("n_seeds", 20)):
        if isinstance(options.get(name), int) and options[name] > most:
            raise ValueError("long runs are no mistake")
    return sweep(**options)


def feed_few(n_states, n_actions, **options):
    for number in (n_states, n_actions):
        if isinstance(number, int) and 1000 < number < 2**31:
            raise ValueError("large worlds are no mistake")
    return feed("q_learning", n_states=n_states, n_actions=n_actions, **options)


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
    "simulate": Entry(
        {
            "n_steps": 20,
            "learner": "q_learning",
            "params": {"discount": 0.9},
            "max_episode_steps": 5,
            "seed": 0,
            "log": "all",
            "n_windows": 2,
        },
        few_steps,
        is_log,
    ),
    "sweep": Entry(
        {
            "mdp": make_corridor(),
            "learner": "q_learning",
            "params": {"learning_rate": [0.1, 0.5], "discount": 0.9},
            "n_steps": 20,
            "n_seeds": 2,
            "max_episode_steps": 5,
            "seed": 0,
            "n_windows": 2,
        },
        few_sweeps,
    ),
    "feed": Entry(
        {
            "transitions": TRANSITIONS,
            "n_states": 3,
            "n_actions": 2,
            "params": {"learning_rate": 0.5},
            "seed": 0,
            "log": "all",
            "rest": {2: 1},
        },
        feed_few,
        is_log,
    ),
    "find_learner": Entry(
        {"learner": "q_learning", "params": find_learner("q_learning").params._asdict()},
        find_learner,
    ),
    **{
        f"parameters of {name}": Entry(
            {"params": find_learner(name).params._asdict()},
            lambda params, name=name: find_learner(name, params),
        )
        for name in LEARNERS
    },
    "classify": Entry(
        {
            "log": small_log(),
            "order": "causal",
            "min_length": 2,
            "by": "states",
            "across_events": False,
        },
        classify,
    ),
    "classify_paths": Entry(
        {"paths": PATHS, "log": EventLog({"steps": STEPS}), "min_length": 2}, classify_paths
    ),
    "place_sequences": Entry({"log": small_log()}, place_sequences),
    "place_sequences of paths": Entry(
        {
            "log": EventLog({"steps": STEPS}),
            "paths": PATHS,
            "graph": nx.Graph([(0, 1, {"distance": 10.0}), (1, 2, {"shortcut": "bridge"})]),
            "detection": Detection(min_length=2, largest_jump=2, min_correlation=0.1),
        },
        place_sequences,
    ),
    "chain_kinds": Entry(
        {
            "steps": {name: [0, 1] for name in ("episode", "step", "state")}
            | {"next_state": [1, 2]},
            "backups": dict(small_log().columns("backups")),
            "across_events": True,
        },
        chain_kinds,
    ),
    "Experience": Entry(
        {
            "steps": pd.DataFrame(STEPS),
            "by": "states",
        },
        lambda steps, by: Experience(steps, by).pieces([0, 1]),
    ),
    "replayed_moves": Entry({"log": small_log(), "event": 0, "run": 0}, replayed_moves),
    "normalise": Entry(
        {"windows": WINDOWS, "baselines": BASELINES},
        normalise,
    ),
    "findings": Entry(
        {"text": own_findings().to_csv(index=False)},
        read_findings,
    ),
    "findings, a table": Entry({"extra": own_findings()}, table.findings),
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
        for module in (paper, simulations, studies):
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

ENTRIES = WORLD_ENTRIES | LOG_ENTRIES | TASK_ENTRIES | OTHER_ENTRIES | COMMAND_ENTRIES


def taken_or_refused(entry, options):
    """Call an entry; raise an AssertionError unless what comes of it is right."""
    with limited():
        try:
            result = entry.call(**options)
        except Exception as error:
            if not is_ours(error) and "are no mistake" not in str(error):
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
    max_examples=N_EXAMPLES,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
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
    max_examples=2 * N_EXAMPLES,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
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
    max_examples=N_EXAMPLES,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
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
