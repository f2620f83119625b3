"""The public names of the packages, and how objects print themselves."""

import copy
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import analyses
import replay
from analyses import STATISTICS, plots
from analyses.page import write_page
from replay import LEARNERS, MDP, TASKS, feed, from_ascii, random_maze, run_task, simulate, sweep
from replay.experiments import EXPERIMENTS
from replay.learners import find_learner
from replay.tasks import Block, give_laps, task_of_routes
from replay.worlds.changing_worlds import WORLDS
from replay.worlds.protocols import Phase, Protocol

MAZE = from_ascii("S..\n.#G")


def plus_maze():
    maze = nx.Graph([("south", "centre"), ("east", "centre")])
    nx.set_node_attributes(maze, {"south": (0, -20), "east": (20, 0), "centre": (0, 0)}, "pos")
    routes = {"out": ["south", "centre", "east"], "back": ["east", "centre", "south"]}
    blocks = [Block("<training>", 2, ("out", "back"), rewards={"east": 1.0})]
    return task_of_routes("plus_maze", maze, routes, blocks, home="south")


@pytest.mark.parametrize("package", [replay, analyses, plots])
def test_a_package_shows_what_it_offers_and_nothing_else(package):
    assert dir(package) == sorted(package.__all__)
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        package.nonsense  # noqa: B018
    first = package.__all__[0]
    with pytest.raises(AttributeError, match=f"did you mean '{first}'"):
        getattr(package, f"{first}s")


def test_nothing_is_imported_before_it_is_used():
    code = "import sys, replay, analyses, analyses.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numba", "numpy", "pandas", "matplotlib"} & set(done.stdout.split())


def test_objects_show_themselves_in_a_line():
    run = simulate(MAZE, "prioritized_sweeping", n_steps=1000, seed=1)
    task = plus_maze()
    shown = [
        (run, "Run('prioritized_sweeping' in 'maze', 1,000 steps, seed 1, "),
        (run.log, "EventLog(1 run, 1,000 steps, "),
        (MAZE, "MDP('maze', n_states=5, "),
        (Protocol([Phase(MAZE, 10)]), "Protocol('protocol', 1 phase, 10 steps)"),
        (task, "Task('plus_maze', 6 analysed states, 1 block, 2 laps)"),
    ]
    for thing, begin in shown:
        text = repr(thing)
        assert text.startswith(begin), text
        assert len(text) < 150
        assert "\n" not in text
        html = thing._repr_html_()
        assert "<table" in html
        assert len(html) < 3000
    assert "<training>" not in task._repr_html_()
    others = (run_task(task, "q_learning"), give_laps(task), task.model, MAZE.solve(0.9))
    assert all(len(repr(each)) < 200 for each in others)
    assert repr(find_learner("q_learning", {"epsilon": 0.5})).startswith("Learner('q_learning', ")
    assert repr(TASKS["linear_track"]) == "TaskEntry(linear_track, 7 statistics, min_length=5)"


def test_a_run_without_a_log_shows_itself_too():
    run = simulate(MAZE, "q_learning", n_steps=100, log="none")
    assert "EventLog(1 run, 0 steps, 0 backups)" in run._repr_html_()


def test_a_long_log_shows_its_first_runs():
    log = simulate(MAZE, "q_learning", n_steps=100).log
    html = replay.EventLog.concat([log] * 12)._repr_html_()
    assert "and 2 more runs" in html


@pytest.mark.parametrize("n_states", [1, 5])
def test_any_world_shows_itself(n_states):
    moves = np.zeros((n_states, 12), dtype=int)
    assert "..." in MDP.from_tables(moves, reward=np.zeros(n_states))._repr_html_()


def test_a_world_of_that_builder_has_positions():
    assert "known, in cm" in random_maze(6, seed=1)._repr_html_()


@pytest.mark.parametrize("name", ["run", "log", "mdp", "animal", "entry"])
def test_what_is_not_there_is_not_made_up(name):
    things = {
        "run": lambda: simulate(MAZE, "q_learning", n_steps=100),
        "log": lambda: simulate(MAZE, "q_learning", n_steps=100).log,
        "mdp": lambda: MAZE,
        "animal": lambda: run_task(plus_maze(), "q_learning"),
        "entry": lambda: replay.find_task("linear_track"),
    }
    thing = things[name]()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        thing.nonsense  # noqa: B018
    assert not hasattr(thing, "__array__")
    assert repr(copy.copy(thing)) == repr(thing)


def test_runs_are_drawn_as_their_logs_are(tmp_path):
    run = simulate(MAZE, "episodic_control", n_steps=100)
    assert plots.plot_event(run).get_title(loc="left")
    assert write_page(run, tmp_path / "page.html").exists()
    with pytest.raises(TypeError, match=r"got 'my_log': EventLog\.load\(folder\) reads one"):
        write_page("my_log", tmp_path / "page.html")


def test_mistakes_with_figures_are_told(tmp_path):
    run = simulate(MAZE, "episodic_control", n_steps=100)
    ax = plots.plot_event(run)
    with pytest.raises(TypeError, match=r"save\(ax\.figure, path\)"):
        plots.save(ax, tmp_path / "event")
    with pytest.raises(TypeError, match=r"ax must be a matplotlib Axes.*figure\.subplots\(\)"):
        plots.plot_event(run, ax=ax.figure)
    with pytest.raises(TypeError, match=r"plot_event has no .* Did you mean 'width_cm'\?"):
        plots.plot_event(run, width=8.5)
    files = plots.save(ax.figure, tmp_path / "event.png")
    assert [file.name for file in files] == ["event.pdf", "event.png"]


@pytest.mark.parametrize("name", ["log.parquet", "log.CSV", "log.json"])
def test_a_log_is_no_file(tmp_path, name):
    log = simulate(MAZE, "q_learning", n_steps=100).log
    with pytest.raises(ValueError, match=f"not '{name}', which is the name of a file"):
        log.save(tmp_path / name)
    assert not any(tmp_path.iterdir())
    with pytest.raises(TypeError, match=r"such as log\.steps; got EventLog"):
        replay.feed("q_learning", log, mdp=MAZE)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: simulate(MAZE, "q_learning", steps=9), "simulate .* Did you mean 'n_steps'"),
        (lambda: simulate(MAZE, "q_learning", n_steps=9, discount=0.9), "params={'discount': 0.9}"),
        (lambda: feed("q_learning", None, learning_rate=0.9), "params={'learning_rate': 0.9}"),
        (lambda: sweep(MAZE, "q_learning", {}, n_seed=3), "Did you mean 'n_seeds'"),
        (lambda: run_task("w_track", "sfma", sed=3), "Did you mean 'seed'"),
        (lambda: analyses.classify(None, min_len=3), "Did you mean 'min_length'\\? It takes: log"),
        (lambda: analyses.compare(["w_track"], draws=3), "Did you mean 'n_draws'"),
        (
            lambda: analyses.find_replay(None, n_shuffles=19),
            r"Give judgement=Judgement\(n_shuffles=19\)\. It takes: recording",
        ),
        (
            lambda: analyses.find_replay("session.nwb"),
            r"read_recording\(path\) returns it; got 'session.nwb'",
        ),
        (lambda: plots.plot_mdp(None), "mdp of plot_mdp must be"),
        (lambda: simulate("FrozenLake-v1", "q_learning", n_steps=9), "MDP.from_gymnasium"),
    ],
)
def test_an_argument_that_is_not_there_or_not_meant_is_told(mistake, message):
    with pytest.raises(TypeError, match=message):
        mistake()


@pytest.mark.parametrize("named", [LEARNERS, TASKS, STATISTICS, EXPERIMENTS, WORLDS])
def test_a_name_that_is_not_there_is_told(named):
    name = next(iter(named))
    with pytest.raises(KeyError) as told:
        named[name.upper()]
    assert f"Did you mean {name!r}" in str(told.value)
    is_all = all(known in str(told.value) for known in named)
    assert is_all == (len(named) <= 40) != (f"The nearest of {len(named)}: " in str(told.value))
    assert name.upper() not in named
    assert named.get(name.upper()) is None


def test_names_are_told_however_they_are_written():
    with pytest.raises(ValueError, match=r"Unknown learner 'Dyna-Q'\. Did you mean 'dyna_q'"):
        simulate(MAZE, "Dyna-Q", n_steps=10)
