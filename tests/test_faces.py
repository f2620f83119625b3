"""What a newcomer sees of the packages: their names, and how objects show themselves."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import analyses
import replay
from replay import MDP, from_ascii, random_maze, run_task, simulate
from replay.learners import find_learner
from replay.tasks import Block, give_laps, task_of_routes
from replay.worlds.protocols import Phase, Protocol

MAZE = from_ascii("S..\n.#G")


def plus_maze():
    maze = nx.Graph([("south", "centre"), ("east", "centre")])
    nx.set_node_attributes(maze, {"south": (0, -20), "east": (20, 0), "centre": (0, 0)}, "pos")
    routes = {"out": ["south", "centre", "east"], "back": ["east", "centre", "south"]}
    blocks = [Block("<training>", 2, ("out", "back"), rewards={"east": 1.0})]
    return task_of_routes("plus_maze", maze, routes, blocks, home="south")


@pytest.mark.parametrize("package", [replay, analyses])
def test_a_package_shows_what_it_offers_and_nothing_else(package):
    assert dir(package) == sorted(package.__all__)
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        package.nonsense  # noqa: B018


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
