"""Figures of tasks: the maze to scale, and typical replays chosen by a rule."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PatchCollection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver
from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

from analyses.jobs.run import run
from analyses.plots.style import kind_colour
from analyses.plots.tasks import plot_task, plot_typical_replay, task_figure
from analyses.studies import typical_replay
from analyses.studies.typical_replay import STUDY, measure_typical_replay, typical_replays
from replay.tasks.published import TASKS, find_task

ABOUT = {"animal": 0, "block": "run", "place": 0}


def chains(*rows):
    """Write sequences as a table: kind, phase, states, and what differs."""
    table = pd.DataFrame(
        [
            {**ABOUT, "kind": kind, "phase": phase, "states": np.array(states), **more}
            for kind, phase, states, more in rows
        ]
    )
    return table.assign(
        episode=range(len(table)),
        length=table["states"].map(len),
        orientation=[kind.partition("_")[0] for kind in table["kind"]],
    )


def laps(n, goal=4):
    return pd.DataFrame({"animal": 0, "episode": range(n), "goal": goal})


def test_of_the_most_frequent_kinds_the_most_frequent_path():
    path, other, long = [1, 2, 3], [3, 4, 5], [1, 2, 3, 4]
    table = chains(
        ("novel_path", "rest", path, {}),
        ("reverse_episode", "episode_end", other, {}),
        ("reverse_episode", "episode_end", path, {}),
        ("reverse_episode", "episode_end", path, {"place": 1}),
        ("reverse_episode", "start", path, {}),
        ("reverse_episode", "start", path, {}),
        ("forward_episode", "start", other, {}),
        ("forward_episode", "start", long, {}),
        ("reverse_episode", "rest", [1, 2], {}),
    )
    found = typical_replays(table, laps(10), min_length=3)
    assert found["kind"].tolist() == ["reverse_episode", "forward_episode", "novel_path"]
    assert found["states"].tolist() == [(1, 2, 3), (1, 2, 3, 4), (1, 2, 3)]
    assert found["phase"].tolist() == ["start", "start", "rest"]
    assert found["n_path"].tolist() == [2, 1, 1]
    assert found["n_kind"].tolist() == [5, 2, 1]
    assert set(found["n_all"]) == {8}
    assert set(found["goal"]) == {4}
    assert typical_replays(table, laps(0), min_length=3)["goal"].tolist() == [-1] * 3
    assert typical_replays(table, laps(10), min_length=9).empty
    with pytest.raises(ValueError, match="lacks the columns"):
        typical_replays(table.drop(columns="kind"), laps(10))


def one_replay(task, states, **more):
    row = {
        "learner": "episodic_control",
        "min_length": 3,
        "kind": "reverse_episode",
        "orientation": "reverse",
        "phase": "episode_end",
        "block": task.blocks[-1].name,
        "place": states[0],
        "goal": states[0],
        "states": tuple(states),
        "n_path": 2,
        "n_kind": 3,
        "n_all": 4,
    }
    return pd.Series(row | more)


def some_path(task):
    """Walk on in the analysed states as far as it goes, at most four places."""
    world = task.world
    path = [0]
    while len(path) < 4:
        nexts = np.concatenate([world.successors(path[-1], a) for a in range(world.n_actions)])
        nexts = [state for state in nexts.tolist() if state not in path]
        if not nexts:
            break
        path.append(nexts[0])
    return path


def test_both_headings_lie_side_by_side():
    task = find_task("linear_track").build()
    out, back = (task.places.index(name) for name in ("out3", "in3"))
    assert abs(task.position[out] - task.position[back]).tolist() == [0, 4]
    drawn = []
    for states in ([out, out + 1, out + 2], [back, back - 1, back - 2]):
        ax = plot_typical_replay(one_replay(task, states), task, Figure().subplots())
        (arrows,) = (each for each in ax.collections if isinstance(each, Quiver))
        drawn.append(arrows)
        path = task.position[states]
        assert np.allclose(arrows.Y, path[:-1, 1])
        assert np.allclose(arrows.U, 0.9 * np.diff(path[:, 0]))
    assert drawn[0].Y[0] * drawn[1].Y[0] < 0
    first, last = drawn[0].get_facecolor()[[0, -1], :3]
    assert np.allclose(first, to_rgb(kind_colour("reverse_episode")))
    assert last.sum() > first.sum()


def test_to_and_fro_keep_apart():
    task = find_task("mattar_open_maze").build()
    one, other = some_path(task)[:2]
    replay = one_replay(task, [one, other, one])
    ax = plot_typical_replay(replay, task, Figure().subplots())
    (arrows,) = (each for each in ax.collections if isinstance(each, Quiver))
    apart = np.array([arrows.X[0] - arrows.X[1], arrows.Y[0] - arrows.Y[1]])
    along = task.position[other] - task.position[one]
    across = abs(np.cross([*along, 0], [*apart, 0])[2]) / np.hypot(*along)
    assert across == pytest.approx(3)


def test_barriers_are_those_of_the_block():
    task = find_task("barrier_arena").build()
    sessions = [block for block in task.blocks if block.n_laps]
    drawn = []
    for block in sessions[:2]:
        ax = plot_task(task, Figure().subplots(), block=block.name)
        (lines,) = (each for each in ax.collections if isinstance(each, LineCollection))
        middles = {tuple(segment.mean(axis=0).round(6)) for segment in lines.get_segments()}
        pos = dict(task.graph.nodes(data="pos"))
        expected = {
            tuple(np.mean([pos[one], pos[other]], axis=0).round(6)) for one, other in block.closed
        }
        assert middles == expected
        assert len(middles) == 6
        drawn.append(middles)
    assert drawn[0] != drawn[1]
    ax = plot_task(task, Figure().subplots())
    assert not [line for each in ax.collections if isinstance(each, LineCollection)
                for line in each.get_segments()]  # fmt: skip


def test_corridors_are_drawn_in_the_order_of_the_graph():
    """So that a figure has the same bytes in each process, whose sets of text have other orders."""
    task = find_task("barrier_arena").build()
    ax = plot_task(task, Figure().subplots())
    (corridors,) = (each for each in ax.collections if isinstance(each, PatchCollection))
    pos = dict(task.graph.nodes(data="pos"))
    middles = [path.vertices[:4].mean(axis=0) for path in corridors.get_paths()[len(pos) :]]
    expected = [np.mean([pos[one], pos[other]], axis=0) for one, other in task.graph.edges]
    np.testing.assert_allclose(middles, expected, atol=1e-9)


def test_rewards_are_as_large_as_they_ever_pay():
    task = find_task("linear_track_4x").build()
    ax = plot_task(task, Figure().subplots())
    stars = [each for each in ax.collections if isinstance(each, PathCollection)][-2:]
    place = {tuple(star.get_offsets()[0]): star.get_sizes()[0] for star in stars}
    ends = [tuple(task.graph.nodes[node]["pos"]) for node in ("0", "9")]
    assert set(place) == set(ends)
    assert place[ends[1]] > place[ends[0]]


@pytest.mark.parametrize("name", TASKS)
def test_each_task_has_a_figure_without_overlaps(name):
    task = TASKS[name].build()
    kinds = ("forward_episode", "reverse_episode", "novel_path")
    rows = [
        one_replay(task, some_path(task), kind=kind, learner=learner)
        for learner in ("prioritized_memory_access", "prioritized_sweeping")
        for kind in kinds
    ]
    figure = task_figure(pd.DataFrame(rows), task)
    FigureCanvasAgg(figure).draw()
    assert len(figure.axes) == 7
    maze = figure.axes[0]
    assert maze.get_aspect() == 1
    bars = [each for each in maze.artists if isinstance(each, AnchoredSizeBar)]
    assert len(bars) == (0 if name.startswith("liu") else 1)
    (notes,) = (each for each in figure.texts if "Modelling choices" in each.get_text())
    assert "replayed most often" in notes.get_text().replace("\n", " ")
    (key,) = figure.legends
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    boxes += [text.get_window_extent() for text in figure.texts] + [key.get_window_extent()]
    for i, box in enumerate(boxes):
        assert figure.bbox.x0 - 1 <= box.x0
        assert box.x1 <= figure.bbox.x1 + 1
        assert figure.bbox.y0 - 1 <= box.y0
        assert box.y1 <= figure.bbox.y1 + 1
        for other in boxes[:i]:
            inside = min(box.x1, other.x1) - max(box.x0, other.x0)
            above = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert min(inside, above) <= 3, "less than a point and a half"


def test_nothing_to_draw():
    task = find_task("y_maze").build()
    with pytest.raises(ValueError, match="no typical replay of the task 'y_maze'"):
        task_figure(pd.DataFrame([one_replay(task, [0])]).head(0), task)
    with pytest.raises(ValueError, match="lacks the columns"):
        task_figure(pd.DataFrame(), task)


def test_the_study_draws_each_task(tmp_path, monkeypatch):
    def small(tasks, n_animals, seed):
        return measure_typical_replay(tasks, ["episodic_control"], n_animals=1, seed=seed)

    monkeypatch.setattr(typical_replay, "measure_typical_replay", small)
    monkeypatch.setattr(typical_replay, "TASKS", ["w_track", "long_track"])
    table = run(STUDY, STUDY.usual_plan(), tmp_path / "tasks")["tasks.parquet"]
    assert set(table["kind"]) == {"reverse_episode"}
    assert {path.name for path in (tmp_path / "tasks" / "figures").iterdir()} == {
        f"task_{name}.{ending}" for name in ("w_track", "long_track") for ending in ("pdf", "png")
    }
    assert (table["n_kind"] <= table["n_all"]).all()
    with pytest.raises(ValueError, match="Unknown task"):
        measure_typical_replay(["mazes"])
