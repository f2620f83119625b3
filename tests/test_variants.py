"""An animal's own variant of each task: drawn within its ranges, with the usual statistics."""

import itertools

import networkx as nx
import numpy as np
import pytest

from analyses.measures import STATISTICS
from analyses.studies.typical_replay import simulated_replays
from replay.tasks import give_laps
from replay.tasks.published import TASKS, TaskEntry, find_maze, landmarks, maze_graph
from replay.tasks.published.arms import linear_track_4x
from replay.tasks.published.maze_data import Variant, maze_with

MAZES = ("linear_track", "long_track", "gupta_2t", "w_track", "t_unvisited", "t_revaluation")
MAZES += ("eight_arm", "y_maze")
DENSITIES = (7 / 9, 1.0, 1.37, 19 / 9)


def variants(name, n=5):
    return [TASKS[name].build(np.random.default_rng(animal)) for animal in range(n)]


def tell(task):
    """What makes one variant differ from another."""
    about = (task.places, task.position.tolist(), task.blocks, task.landmarks, task.reward_sd)
    return repr(about)


# -- places per metre ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAZES)
@pytest.mark.parametrize("density", DENSITIES)
def test_mazes_keep_their_shape(name, density):
    maze, old = maze_with(name, density), maze_graph(name)
    assert nx.is_connected(maze.graph)
    assert len(nx.cycle_basis(maze.graph)) == len(nx.cycle_basis(old))
    degrees = [sorted(d for _, d in graph.degree if d != 2) for graph in (maze.graph, old)]
    assert degrees[0] == degrees[1]
    # A stretch that is too short to be divided is as it was.
    edges = len(maze.graph.edges) / len(old.edges)
    assert 0.75 * density < edges < 1.3 * density + 0.2
    for node in set(maze.graph) & set(old):
        assert maze.graph.nodes[node]["pos"] == old.nodes[node]["pos"]
    places = [pos for _, pos in maze.graph.nodes(data="pos")]
    assert len(set(places)) == len(places)
    if density == 1.0:
        assert list(maze.graph) == list(old)
        assert list(maze.graph.edges) == list(old.edges)
        assert maze.landmarks == landmarks(name)


@pytest.mark.parametrize("name", MAZES)
@pytest.mark.parametrize("density", DENSITIES)
def test_landmarks_stay_where_they_are(name, density):
    maze = maze_with(name, density)
    old, marks = maze_graph(name), landmarks(name)
    assert list(maze.landmarks) == list(marks)
    for key, nodes in marks.items():
        new = maze.landmarks[key]
        assert len(set(new)) == len(new) > 0
        is_path = len(nodes) > 1 and all(b in old.adj[a] for a, b in itertools.pairwise(nodes))
        if not is_path:
            assert new == nodes
            continue
        assert all(b in maze.graph.adj[a] for a, b in itertools.pairwise(new))
        here = np.array([maze.graph.nodes[node]["pos"] for node in new])
        was = np.array([old.nodes[node]["pos"] for node in nodes])
        gap = np.hypot(*(here[:, None] - was[None]).transpose(2, 0, 1)).min(axis=1)
        assert gap.max() <= 25.0  # no more than the widest gap between two old places
        for end, was_end in ((here[0], was[0]), (here[-1], was[-1])):
            assert np.hypot(*(end - was_end)) <= 26.0


def test_paths_are_translated():
    maze = maze_with("gupta_2t", 1.6)
    for nodes in find_maze("gupta_2t")["laps"].values():
        path = maze.along(nodes)
        assert all(b in maze.graph.adj[a] for a, b in itertools.pairwise(path))
        assert path[0] == path[-1] == nodes[0]
        kept = [node for node in nodes if node in maze.graph]
        assert [node for node in path if node in set(kept)] == kept
    assert len(maze_with("linear_track", 7 / 9).graph) == 8
    assert len(maze_with("linear_track", 19 / 9).graph) == 20
    mirrored = maze_with("t_unvisited", mirrored=True).graph.nodes
    for node, (x, y) in maze_graph("t_unvisited").nodes(data="pos"):
        assert mirrored[node]["pos"] == (-x, y)


# -- what is drawn ------------------------------------------------------------------------------


def test_draws_stay_in_their_ranges():
    many = [Variant(np.random.default_rng(seed)) for seed in range(200)]
    assert {each.n_rest for each in many} == set(range(5, 21))
    sds = [each.reward_sd for each in many]
    assert 0 <= min(sds) < 0.02 < 0.18 < max(sds) <= 0.2
    densities = [each.density() for each in many]
    assert 7 / 9 <= min(densities) < 0.85 < 1.9 < max(densities) <= 19 / 9
    assert {each.choice("ab") for each in many} == {"a", "b"}
    assert {each.order("abc") for each in many} == set(itertools.permutations("abc"))
    assert {each.whole(7, 1, 3) for each in many} == {1, 2, 3}
    assert many[0].whole(7, 1, 3, given=9) == 9
    usual = Variant(None)
    assert (usual.n_rest, usual.reward_sd, usual.density()) == (10, 0.1, 1.0)
    assert (usual.whole(7, 1, 3), usual.choice("ab"), usual.order("ba")) == (7, "a", ("b", "a"))


@pytest.mark.parametrize("name", TASKS)
def test_animals_have_variants_of_their_own(name):
    usual = TASKS[name].build()
    drawn = variants(name)
    assert len({tell(task) for task in [usual, *drawn]}) == 6
    assert tell(TASKS[name].build(np.random.default_rng(0))) == tell(drawn[0])
    assert "Drawn for each animal" not in usual.remark
    for task in drawn:
        assert "Drawn for each animal: " in task.remark
        assert task.name == usual.name
        assert list(task.landmarks) == list(usual.landmarks)
        assert (task.one_way, task.headings) == (usual.one_way, usual.headings)
        assert set(task.lap_names.values()) == set(usual.lap_names.values())
        given, again = (give_laps(task, seed=1) for _ in range(2))
        assert given.laps.equals(again.laps)
        assert (given.laps["n_steps"] >= 1).all()


def test_worlds_differ_as_the_experiments_allow():
    arenas = variants("barrier_arena", 6)
    assert len({task.blocks[1].closed for task in arenas}) == 6
    assert len({task.blocks[1].contingency for task in arenas}) > 2
    for name, amount in (("linear_track_4x", 4.0), ("linear_track_0x", 0.0)):
        ends = set()
        for task in variants(name, 10):
            changed = [node for node, paid in task.blocks[2].rewards.items() if paid == amount]
            ends.add(tuple(changed))
            assert 30 <= task.blocks[1].n_laps <= 40
        assert ends == {("0",), ("9",)}
    begins = {give_laps(task).laps["lap"].iloc[0] for task in variants("linear_track", 10)}
    assert begins == {"out", "in"}
    sides = {task.graph.nodes["cued5"]["pos"][0] > 0 for task in variants("t_unvisited", 10)}
    assert sides == {True, False}
    paid = {tuple(task.blocks[2].rewards) for task in variants("liu2019_chains", 10)}
    assert paid == {("D",), ("D'",)}
    orders = {task.blocks[1].contingency for task in variants("y_maze", 6)}
    assert len(orders) > 3


def test_what_is_given_is_not_drawn():
    assert linear_track_4x(7, rng=np.random.default_rng(1)).blocks[1].n_laps == 7


def test_a_builder_without_a_generator_builds_the_same_for_all():
    built = []

    def builder():
        built.append(TASKS["linear_track"].build())
        return built[-1]

    entry = TaskEntry(builder, ("reverse_share",))
    assert entry.build(np.random.default_rng(1)) is built[0]
    assert entry.build() is built[1]


@pytest.mark.parametrize("name", TASKS)
def test_statistics_work_on_every_variant(name):
    """They may find nothing to measure in one animal, but never fail."""
    entry = TASKS[name]
    found = 0
    for animal, task in enumerate(variants(name)):
        made = simulated_replays(task, "prioritized_sweeping", {"max_pops": 20}, animals=[animal])
        for statistic in entry.statistics:
            rows = STATISTICS[statistic].compute(made)
            assert len(rows) == 1
            found += np.isfinite(rows["value"].iloc[0])
    assert found >= 5
