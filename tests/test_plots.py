"""Figures hold the data of their tables; no test compares pixels."""

import itertools
import re
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from attribution_figures import plot_attribution
from discrepancies_figures import plot_discrepancy_curves
from gain_floor_figures import _LOOKS as _GAIN_FLOOR_LOOKS
from gain_floor_figures import plot_gain_floor
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver
from parity_figures import parity_experiments_figure
from recovery_figures import _BY_TRUE_LOOKS, _SETTING_LOOKS

from analyses import classify, plots
from analyses.plots import save
from analyses.plots.decoded_panels import MOVEMENT_LOOKS
from analyses.plots.examples import pick_examples
from analyses.plots.layers import draw_curves
from analyses.plots.learned import growth_moments, learned_graph_figure, plot_learned_graph
from analyses.plots.learners import (
    learners_figure,
    learning_curves_figure,
    plot_learners,
    plot_learning_curves,
)
from analyses.plots.mdps import mark_cut_edges, maze_cell_size, mdps_figure, plot_mdp
from analyses.plots.panels import grid, keep_outer_labels
from analyses.plots.replay_events import plot_replay, replay_events_figure, stretches
from analyses.plots.replay_kinds import (
    plot_replay_kinds,
    plot_replay_over_time,
    replay_kinds_figure,
    replay_over_time_figure,
)
from analyses.plots.style import figure_style, kind_colour, kind_looks, label, learner_looks
from analyses.studies.reward_figures import plot_bounded_memory, plot_change_replay, plot_demands
from analyses.tables import EXPERIMENT_ORDER, KINDS
from replay import EventLog, simulate
from replay.data import reference_table
from replay.experiments import PAPER_LEARNERS as LEARNERS
from replay.learners import LEARNERS as ALL_LEARNERS
from replay.log.worlds import read_mdps, write_mdps
from replay.tasks.published import TASKS
from replay.worlds.mazes import from_ascii, random_maze
from replay.worlds.mdp import MDP
from replay.worlds.trees import deterministic_tree, stochastic_tree

FIGURES = Path(__file__).parents[1] / "figures"


@pytest.fixture
def maze():
    """Three rooms in a row: states 0 to 4, the goal is 4."""
    return from_ascii("S...G")


@pytest.fixture
def steps():
    """Two episodes: 0 1 1 2 (staying once), then 2 3 4."""
    return pd.DataFrame(
        {
            "run": 0,
            "episode": [0, 0, 0, 1, 1],
            "step": range(5),
            "state": [0, 1, 1, 2, 3],
            "action": 0,
            "reward": 0.0,
            "next_state": [1, 1, 2, 3, 4],
        }
    )


def sequence(states, **columns):
    return pd.Series(
        {
            "run": 0,
            "step": 4,
            "location": states[0],
            "states": np.array(states),
            "splice_states": np.array([], dtype=int),
            "orientation": "reverse",
            "direction": "reverse",
            "kind": "reverse_episode",
            "length": len(states),
            "n_distinct": len(set(states)),
            "n_episodes": 1,
            "composition_order": 1,
            "phase": "episode_end",
        }
        | columns
    )


def reward_rate(experiments=("maze",), learners=LEARNERS, n_windows=3):
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product(
        [experiments, learners, 1000 * np.arange(1, n_windows + 1)],
        names=["experiment", "learner", "time_step"],
    )
    table = index.to_frame(index=False).assign(mean=rng.random(len(index)))
    return table.assign(ci_low=table["mean"] - 0.1, ci_high=table["mean"] + 0.1)


def replay_kinds(experiments=("maze",), chains=("within_event",), learners=("monte_carlo",)):
    index = pd.MultiIndex.from_product(
        [experiments, chains, learners, KINDS[:3]],
        names=["experiment", "chains", "learner", "kind"],
    )
    table = index.to_frame(index=False).assign(count=[6, 0, 2] * (len(index) // 3))
    return table.assign(share=table["count"] / 8, ci_low=np.nan, ci_high=np.nan)


# -- learning curves ------------------------------------------------------------------------


def test_thick_lines_are_the_means(ax):
    table = reward_rate()
    plot_learning_curves(table.sample(frac=1, random_state=0), ax)
    by_name = {line.get_label(): line for line in ax.lines}
    for learner, rows in table.groupby("learner"):
        assert by_name[label(learner)].get_xdata().tolist() == rows["time_step"].tolist()
        assert by_name[label(learner)].get_ydata().tolist() == rows["mean"].tolist()


def test_bands_are_the_intervals(ax):
    table = reward_rate(learners=["q_lambda"])
    plot_learning_curves(table, ax)
    (band,) = ax.patches
    around = [*table["ci_low"], *table["ci_high"][::-1]]
    assert band.get_xy()[:-1, 1].tolist() == around


def test_a_band_ends_where_there_is_no_interval(ax):
    table = reward_rate(learners=["q_lambda"], n_windows=5)
    table.loc[2, ["ci_low", "ci_high"]] = np.nan
    plot_learning_curves(table, ax)
    assert [sorted({*band.get_xy()[:, 0]}) for band in ax.patches] == [[1000, 2000], [4000, 5000]]
    assert ax.lines[0].get_ydata().tolist() == table["mean"].tolist()


def test_one_mdp_has_no_band(ax):
    plot_learning_curves(reward_rate().assign(ci_low=np.nan, ci_high=np.nan), ax)
    assert not ax.patches


def test_five_thin_runs_of_each_learner(ax):
    table = reward_rate(learners=["q_lambda"])
    runs = pd.concat(table.assign(mdp=0, seed=seed, reward_rate=seed / 10) for seed in range(8))
    plot_learning_curves(table, ax, runs)
    (thin,) = ax.collections
    assert [line[0, 1] for line in thin.get_segments()] == [0, 0.1, 0.2, 0.3, 0.4]


def test_learning_curves_figure_has_panels_in_the_papers_order():
    figure = learning_curves_figure(reward_rate(experiments=EXPERIMENT_ORDER[::-1]))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == [text for name in EXPERIMENT_ORDER for text in (label(name), "")]
    means = [
        [line.get_label() for line in ax.lines if len(line.get_xdata()) > 2]
        for ax in figure.axes[:2]
    ]
    assert means == [[label(name) for name in part] for part in (LEARNERS[:5], LEARNERS[5:])]
    few = learning_curves_figure(reward_rate(EXPERIMENT_ORDER, learners=LEARNERS[:3]))
    assert len(few.axes) == len(EXPERIMENT_ORDER)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == [label(name) for name in LEARNERS]
    with pytest.raises(ValueError, match="no rows"):
        learning_curves_figure(reward_rate().head(0))
    with pytest.raises(ValueError, match="one experiment"):
        plot_learning_curves(reward_rate(EXPERIMENT_ORDER), figure.axes[0])


def test_panels_of_a_row_show_the_curves_of_all():
    table = reward_rate(EXPERIMENT_ORDER[:2])
    of_first = (table["experiment"] == EXPERIMENT_ORDER[0]) & (table["learner"] == LEARNERS[0])
    table.loc[of_first, "mean"] = -2.0
    axes = learning_curves_figure(table).axes
    assert [ax.get_ylim()[0] for ax in axes] == pytest.approx([-2.05, -2.05, -0.1, -0.1])
    few = learning_curves_figure(table[table["learner"].isin(LEARNERS[:3])]).axes
    assert [ax.get_ylim()[0] for ax in few] == pytest.approx([-2.05, -2.05])


def test_an_experiment_may_lack_the_learners_of_a_panel():
    table = reward_rate(EXPERIMENT_ORDER[:2])
    lacks = (table["experiment"] == EXPERIMENT_ORDER[0]) & table["learner"].isin(LEARNERS[:5])
    first, second = learning_curves_figure(table[~lacks]).axes[:2]
    assert [text.get_text() for text in first.texts] == ["A", "No runs"]
    assert first.get_xlim() == second.get_xlim()
    assert first.get_ylabel() == "Normalised reward rate"


def different(looks):
    return {(look["color"], str(look["linestyle"])) for look in looks.values()}


def test_learners_look_different_and_always_the_same():
    looks = learner_looks([*LEARNERS, *"abcdefg"])
    assert len(different(looks)) == len(looks) == len(LEARNERS) + 7
    assert learner_looks(["episodic_control"])["episodic_control"] == looks["episodic_control"]
    family = learner_looks([*ALL_LEARNERS, "mine"])
    assert family.keys() - looks.keys() == {*ALL_LEARNERS, "mine"} - {*LEARNERS}
    assert len(different(family)) == len(family)
    assert all(learner_looks([name])[name] == family[name] for name in ALL_LEARNERS)


def test_no_learner_has_the_colour_of_a_kind():
    """Blue is replay in reverse, and not also prioritized sweeping."""
    of_kinds = {kind_colour(kind) for kind in KINDS}
    assert of_kinds.isdisjoint(look["color"] for look in learner_looks(ALL_LEARNERS).values())


def grey(colour):
    return np.dot(to_rgb(colour), [0.299, 0.587, 0.114])


@pytest.mark.parametrize(
    ("looks", "mark"),
    [
        (learner_looks(LEARNERS), "linestyle"),
        (kind_looks(KINDS), "hatch"),
        (_GAIN_FLOOR_LOOKS, "hatch"),
        (MOVEMENT_LOOKS, "hatch"),
        (dict(enumerate((*_SETTING_LOOKS, *_BY_TRUE_LOOKS))), "marker"),
    ],
)
def test_looks_can_be_told_apart_in_grey(looks, mark):
    for one, other in itertools.combinations(looks.values(), 2):
        is_marked = str(one.get(mark)) != str(other.get(mark))
        assert is_marked or abs(grey(one["color"]) - grey(other["color"])) > 0.2, (one, other)


@pytest.mark.parametrize("draw", [plot_replay_kinds, plot_change_replay])
def test_bars_of_novel_paths_are_hatched(draw, ax):
    columns = {"period": "after", "phase": 1, "per_step": 0.1, "count": 1, "share": 0.5}
    kinds = ["reverse_episode", "novel_path"]
    draw(pd.DataFrame({"learner": "dyna_q", "kind": kinds, **columns}), ax)
    hatches = {to_hex(bar.get_facecolor()): bar.get_hatch() for bar in ax.patches}
    for kind, look in kind_looks(kinds).items():
        assert hatches[kind_colour(kind)] == look.get("hatch")


# -- MDPs -----------------------------------------------------------------------------------


def test_walls_are_where_no_state_is(ax, maze):
    plot_mdp(maze, ax)
    mesh = ax.collections[0]
    assert mesh.get_array().count() == 3 * 7 - 5
    assert ax.get_xlim() == (0, 70)


def test_lines_of_a_graph_are_its_transitions(ax):
    tree = stochastic_tree(seed=1)
    plot_mdp(tree, ax)
    (lines,) = (drawn for drawn in ax.collections if isinstance(drawn, LineCollection))
    assert len(lines.get_segments()) == tree.n_transitions
    ratio = lines.get_linewidths() / tree.probability
    assert ratio == pytest.approx(np.full(tree.n_transitions, ratio[0]))
    assert lines.get_array().compressed() == pytest.approx(tree.reward[tree.reward != 0])
    segment, state = lines.get_segments()[0], tree.successor[0]
    assert segment[[0, -1]] == pytest.approx(tree.position[[0, state]])


def test_a_world_of_one_place_is_drawn(ax):
    plot_mdp(MDP.from_tables([[0]], [[1.0]]), ax)
    assert ax.collections


def test_a_graph_without_positions_is_laid_out(ax):
    plot_mdp(MDP.from_tables([[1], [2], [2]], reward=[[0], [1], [0]], start=0, terminal=[2]), ax)
    assert len(ax.collections[0].get_segments()) == 2


def test_what_a_maze_is():
    assert maze_cell_size(random_maze(size=8)) == 10
    assert maze_cell_size(deterministic_tree(depth=2)) is None
    track = nx.Graph([(0, 1), (1, 2)])
    nx.set_node_attributes(track, {0: (0, 0), 1: (5, 0), 2: (5, 9)}, "pos")
    assert maze_cell_size(MDP.from_networkx(track, terminal=[2])) is None


def test_mdps_figure(maze):
    figure = mdps_figure({"maze": maze, "deterministic_tree": deterministic_tree(depth=2)})
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[:2] == ["Tree, terminal reward (6 states)", "Maze (5 states)"]
    with pytest.raises(ValueError, match="no MDPs"):
        mdps_figure({})


def test_mdp_files_hold_everything(tmp_path):
    mdps = {"maze": random_maze(size=8), "tree": stochastic_tree(seed=2)}
    write_mdps(mdps, tmp_path / "mdps")
    assert read_mdps(tmp_path / "mdps") == mdps
    (tmp_path / "mdps" / "maze.json").write_text("{")
    with pytest.raises(ValueError, match=r"maze\.json holds no MDP"):
        read_mdps(tmp_path / "mdps")


# -- replay events --------------------------------------------------------------------------


def test_pieces_by_hand(steps):
    found = stretches([0, 1, 2, 3, 4], steps)
    assert [each.episode for each in found] == [0, 1]
    assert found[0].states == (0, 1, 2)
    # From state 2 on, only one step is asked for; the episode went on to 4.
    assert stretches([2, 3], steps)[0].states == (2, 3, 4)


def test_a_stretch_is_of_the_latest_episode(steps):
    again = steps[steps["episode"] == 0].assign(episode=2)
    again["step"] += steps["step"].max() + 1
    later = pd.concat([steps, again])
    assert [each.episode for each in stretches([0, 1, 2], later)] == [2]


def test_what_was_never_walked_is_no_episodes(steps):
    assert stretches([1, 0], steps) == []


def test_a_table_with_thousands_of_learners_is_not_drawn():
    with pytest.raises(ValueError, match=r"shows 100 learners, worlds .* got 3,000, such as '0'"):
        learner_looks(map(str, range(3000)))


def test_arrows_are_the_backups_in_order(ax, maze, steps):
    plot_replay(sequence([4, 3, 2, 1], splice_states=np.array([2])), steps, maze, ax)
    (arrows,) = (drawn for drawn in ax.collections if isinstance(drawn, Quiver))
    assert arrows.N == 3
    assert np.array_equal(arrows.XY, maze.position[[4, 3, 2]])
    assert (arrows.U < 0).all()
    assert arrows.get_array().tolist() == [0, 1, 2]
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3", "4"]
    offsets = [drawn.get_offsets().tolist() for drawn in ax.collections]
    assert maze.position[[2]].tolist() in offsets  # the ring of the splice
    assert [line.get_label() for line in ax.lines] == ["Episode 0", "Episode 1"]


def test_experience_after_the_event_is_not_drawn(ax, maze, steps):
    plot_replay(sequence([2, 1, 0], step=2), steps, maze, ax)
    assert [line.get_label() for line in ax.lines] == ["Episode 0"]


def test_all_episodes_of_a_path_are_drawn_and_named(ax):
    """Nine episodes with a move each, more than there are colours."""
    k, maze = np.arange(9), from_ascii("S........G")
    steps = pd.DataFrame({"run": 0, "episode": k, "step": k, "state": k, "next_state": k + 1})
    whole = {"orientation": "forward", "direction": "forward", "kind": "novel_path", "step": 9}
    plot_replay(sequence(list(range(10)), splice_states=k[1:], **whole), steps, maze, ax)
    assert [line.get_xydata().tolist() for line in ax.lines] == [
        maze.position[[move, move + 1]].tolist() for move in k
    ]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [f"Episode {number}" for number in k]


def test_a_state_replayed_twice_has_both_numbers(ax, maze, steps):
    plot_replay(sequence([3, 2, 3]), steps, maze, ax)
    assert [text.get_text() for text in ax.texts] == ["1,3", "2"]


def test_ticks_of_close_numbers_stay_apart():
    """A narrow panel of 0.080 to 0.120, whose labels are long."""
    table = pd.DataFrame({"learner": "dyna_q", "mean": [0.098], "ci_low": 0.079, "ci_high": 0.118})
    [ax] = learners_figure(table.assign(world="maze"), by="world", width_cm=8.5).axes
    ax.figure.draw_without_rendering()
    assert len([tick for tick in ax.get_xticks() if 0.079 <= tick <= 0.118]) == 4


def test_a_sequence_in_a_figure_of_its_own_is_explained_there(maze, steps):
    """To and fro are side by side, numbers fit into their circles, and only the maze is shown."""
    ax = plot_replay(sequence([4, 3, 2, 1], splice_states=np.array([2])), steps, maze)
    [note] = ax.figure.texts
    marks = ("Numbers", "Square", "Star", "Lines", "Ring")
    assert [mark in note.get_text() for mark in marks] == [True] * 5
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["Episode 0", "Episode 1"]
    ax = plot_replay(sequence([3, 2, 3]), steps, maze)
    assert ax.get_title("left") == "Episode, reverse, step 4"
    [note] = ax.figure.texts
    assert [mark in note.get_text() for mark in marks] == [True] * 3 + [False] * 2
    (arrows,) = (drawn for drawn in ax.collections if isinstance(drawn, Quiver))
    assert np.ptp(arrows.XY[:, 1]) > 1  # cm
    whole = plot_mdp(maze)
    assert (ax.get_xlim(), ax.get_ylim()) == (whole.get_xlim(), whole.get_ylim())
    ax.figure.draw_without_rendering()
    [circles] = (drawn for drawn in ax.collections if len(drawn.get_offsets()) == 3)
    width = np.sqrt(circles.get_sizes()[0]) * ax.figure.dpi / 72
    assert 0.8 * width < ax.texts[0].get_window_extent().width < width


def test_forward_replay_is_read_forward(ax, maze, steps):
    plot_replay(sequence([0, 1, 2], orientation=None, direction="forward"), steps, maze, ax)
    assert [line.get_label() for line in ax.lines] == ["Episode 0"]


def novel(states, splices, n_episodes=2, **columns):
    pieces = {"splice_states": np.array(splices), "composition_order": len(splices) + 1}
    return sequence(states, kind="novel_path", n_episodes=n_episodes, **pieces, **columns)


def test_examples_are_telling(steps):
    rows = pd.DataFrame(
        [
            sequence([2, 1]),
            sequence([4, 3, 2]),
            sequence([4, 3, 2, 1]),
            sequence([4, 3, 4, 3, 2]),
            sequence([5, 4, 3, 2, 1], phase="step"),
            sequence([5, 4, 3, 2, 1, 0], location=9),
            novel([3, 2, 1], [2]),
            novel([8, 7, 6, 5, 4, 3, 2, 1], [4, 6], n_episodes=3),
            novel([8, 7, 6, 5, 4, 3, 2, 1], [7]),
            novel([8, 7, 6, 5, 4, 3, 2], [5], n_episodes=1),
            novel([8, 7, 6, 5, 4, 3, 2], [5]),
            novel([8, 7, 6, 5, 4, 3, 2, 3], [5]),
            novel([9, 8, 7, 6, 5, 4, 3, 2, 1], [5], location=3),
            sequence(list(range(50)), kind="forward_episode"),
        ]
    )
    examples = pick_examples(rows, steps)
    assert {kind: row["states"].tolist() for kind, row in examples.items()} == {
        "reverse_episode": [4, 3, 2, 1],
        "novel_path": [8, 7, 6, 5, 4, 3, 2],
    }
    assert examples["novel_path"]["n_episodes"] == 2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_examples_of_any_run_show_the_idea(seed):
    """Few pieces of two moves or more, no return, and the animal where it begins."""
    log = simulate(random_maze(14, seed=seed), "prioritized_sweeping", n_steps=8000, seed=seed).log
    examples = pick_examples(classify(log, across_events=True, min_length=3), log.steps)
    assert {"reverse_episode", "novel_path"} <= {*examples}
    made = {*log.steps[["state", "next_state"]].itertuples(index=False, name=None)}
    for kind, example in examples.items():
        states = example["states"].tolist()
        there = (states[0], example["location"])
        assert there[0] == there[1] or {there, there[::-1]} & made
        if kind == "novel_path":
            assert len({*states}) == len(states)
            assert len(example["splice_states"]) <= 2
        else:
            assert example["phase"] == "episode_end"


def test_replay_events_figure_says_what_there_is_not(maze, steps):
    other_run = sequence([4, 3, 2], run=5, kind="novel_path")
    figure = replay_events_figure(pd.DataFrame([sequence([4, 3, 2]), other_run]), steps, maze)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Episode, reverse, step 4"]
    assert "None in this run: novel path." in figure.texts[0].get_text().replace("\n", " ")
    with pytest.raises(ValueError, match="no sequence of 3 to 30 states"):
        replay_events_figure(pd.DataFrame([other_run]), steps, maze)


def test_a_part_of_a_maze_is_marked(ax):
    maze = random_maze(size=20, seed=1)
    plot_mdp(maze, ax)
    assert not mark_cut_edges(maze, ax)
    ax.set(xlim=(0, 100), ylim=(50, 100))
    ends = {tuple(map(tuple, line.get_xydata())) for line in mark_cut_edges(maze, ax)}
    assert ends == {((1, 0), (1, 1)), ((0, 0), (1, 0)), ((0, 1), (1, 1))}


def test_an_event_is_drawn_with_its_agent(maze):
    log = simulate(maze, "episodic_control", n_steps=100).log
    ax = plots.plot_event(log, 0, width_cm=10)
    assert "Pale line: its path, 30 moves at most." in ax.figure.texts[0].get_text().replace(
        "\n", " "
    )
    event = log.backups.query("event == 0 and state != next_state")
    (arrows,) = (drawn for drawn in ax.collections if isinstance(drawn, Quiver))
    assert len({*event["state"]}) <= arrows.N <= len(event)
    (agent,) = (line for line in ax.lines if line.get_marker() == "s")
    assert agent.get_xydata()[0] == pytest.approx(maze.position[event["location"].iloc[0]])
    assert f"{len(event)} moves replayed" in ax.get_title(loc="left")
    assert ax.figure.get_size_inches()[0] == pytest.approx(10 / 2.54)
    own = Figure().subplots()
    assert plots.plot_event(log, 0, own) is own
    with pytest.raises(ValueError, match="no replay event 1000"):
        plots.plot_event(log, 1000)
    with pytest.raises(ValueError, match="has no positions"):
        plots.plot_event(EventLog(log.tables), 0)


def test_an_event_is_legible(maze, assert_legible):
    log = simulate(maze, "prioritized_sweeping", n_steps=100).log
    assert_legible(plots.plot_event(log).figure)


def test_colours_and_labels_can_be_changed():
    with figure_style({"novel_path": "red", "q_lambda": "#123456"}, {"q_lambda": "Watkins"}):
        (reverse, novel_bar) = plot_replay_kinds(replay_kinds()).patches
        curves = plot_learning_curves(reward_rate(learners=["q_lambda"]))
        with figure_style(labels={"novel_path": "New"}):
            assert (kind_colour("novel_path"), label("novel_path")) == ("red", "New")
    assert to_hex(novel_bar.get_facecolor()) == to_hex("red")
    assert to_hex(reverse.get_facecolor()) == kind_colour("reverse_episode")
    assert (curves.lines[0].get_label(), curves.lines[0].get_color()) == ("Watkins", "#123456")
    assert (kind_colour("novel_path"), label("q_lambda")) == ("#d55e00", "Q(λ)")
    wrong = r"colour of 'maze' is 'bluish', which is unknown to matplotlib"
    with pytest.raises(ValueError, match=wrong), figure_style({"maze": "bluish"}):
        pass


def test_learners_and_tasks_have_labels_in_words():
    for name in (*ALL_LEARNERS, *TASKS):
        assert label(name) != name.replace("_", " "), name


# -- kinds of replay ------------------------------------------------------------------------


def test_bars_are_the_shares(ax):
    plot_replay_kinds(replay_kinds(), ax)
    reverse, novel = ax.patches  # a kind without replay has no bar
    assert (reverse.get_x(), reverse.get_width()) == (0, 0.75)
    assert (novel.get_x(), novel.get_width()) == (0.75, 0.25)
    colours = [to_hex(bar.get_facecolor()) for bar in ax.patches]
    assert colours == [kind_colour("reverse_episode"), kind_colour("novel_path")]
    assert "8" in [text.get_text() for text in ax.texts]


def test_whiskers_are_the_intervals(ax):
    table = replay_kinds().assign(ci_low=[0.6, np.nan, 0.2], ci_high=[0.8, np.nan, 0.3])
    plot_replay_kinds(table, ax)
    lines, low, high = ax.collections
    ends = [line[:, 0].tolist() for line in lines.get_segments()]
    assert ends == [pytest.approx([0.6, 0.8])]  # the last segment has none
    assert low.get_offsets()[:, 0] == pytest.approx([0.6])
    assert high.get_offsets()[:, 0] == pytest.approx([0.8])


def test_a_learner_without_replay_says_so(ax):
    plot_replay_kinds(replay_kinds().assign(count=0, share=np.nan), ax)
    assert "no sequence" in [text.get_text() for text in ax.texts]
    plot_replay_over_time(
        pd.DataFrame({"time_step": [1], "kind": "novel_path", "count": 0, "share": np.nan}), ax
    )
    assert not ax.collections
    assert not ax.patches


def test_several_experiments_are_not_one_bar(ax):
    with pytest.raises(ValueError, match="several rows of one kind"):
        plot_replay_kinds(replay_kinds(experiments=EXPERIMENT_ORDER), ax)


def test_areas_are_the_shares_of_windows(ax):
    table = pd.DataFrame(
        {
            "time_step": [10, 10, 20, 20, 30, 30],
            "kind": ["reverse_episode", "novel_path"] * 3,
            "count": [3, 1, 0, 0, 1, 1],
            "share": [0.75, 0.25, np.nan, np.nan, 0.5, 0.5],
        }
    )
    plot_replay_over_time(table, ax)
    bars, hatched = ax.collections
    drawn = [path.vertices for path in bars.get_paths()]
    corners = sorted((*at.min(axis=0).tolist(), *at.max(axis=0).tolist()) for at in drawn)
    assert corners == [  # the second window is empty
        (0, 0, 10, 0.75),
        (0, 0.75, 10, 1),
        (20, 0, 30, 0.5),
        (20, 0.5, 30, 1),
    ]
    assert hatched.get_hatch() == kind_looks(["novel_path"])["novel_path"]["hatch"]
    assert [path.get_extents().ymax for path in hatched.get_paths()] == [1, 1]


def test_windows_of_few_sequences_are_pale(ax):
    table = pd.DataFrame({"time_step": [10, 20], "kind": "novel_path", "count": [10_000, 2]})
    plot_replay_over_time(table.assign(share=1.0), ax)
    (veil,) = ax.patches
    assert veil.get_bbox().intervalx.tolist() == [10, 20]


def test_a_single_window_begins_at_0(ax):
    table = pd.DataFrame({"time_step": [40], "kind": "novel_path", "count": 1, "share": 1.0})
    bars = plot_replay_over_time(table, ax).collections[0]
    assert sorted({*bars.get_paths()[0].vertices[:, 0]}) == [0, 40]


def test_figures_of_kinds():
    chains = ("within_event", "across_events")
    table = replay_kinds(EXPERIMENT_ORDER, chains, LEARNERS)
    assert len(replay_kinds_figure(table).axes) == 1  # all are alike
    other = (table["experiment"] == "maze") & (table["chains"] == "across_events")
    table.loc[other, "share"] = 1 - table["share"]
    silent = table["learner"] == "q_lambda"
    table.loc[silent, ["count", "share"]] = [0, np.nan]
    figure = replay_kinds_figure(table)
    titles = [ax.get_title(loc="left").replace("\n", " ") for ax in figure.axes]
    assert len(titles) == 2
    assert titles[0].endswith("within and across events; Maze: within events")
    assert titles[1] == "Maze: across events"
    assert "No sequence: Q(λ)." in figure.texts[0].get_text().replace("\n", " ")
    assert [text.get_text() for text in figure.legends[0].texts] == [
        label("reverse_episode"),
        label("novel_path"),
    ]
    table = replay_kinds(learners=LEARNERS).assign(time_step=5)
    axes = replay_over_time_figure(table).axes
    assert sum(ax.axison for ax in axes) == len(LEARNERS)
    with pytest.raises(ValueError, match="several experiments"):
        replay_over_time_figure(replay_kinds(EXPERIMENT_ORDER).assign(time_step=5))


# -- figures of studies ---------------------------------------------------------------------


def test_demands_are_means_over_worlds(ax):
    table = pd.DataFrame(
        {
            "learner": ["dyna_q", "dyna_q", "dyna_q", "q_learning"],
            "size": [2, 3, 3, 2],
            "n_states": [3, 7, 9, 3],
            "n_actions": 2,
            "words": [10, 20, 40, 5],
            "backups": 1.0,
            "queue_operations": [0.0, 1.0, 2.0, 0.0],
            "comparisons": 3.0,
        }
    )
    plot_demands(table, ax)
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert drawn == {"Q-learning": [[5, 0]], "Dyna-Q": [[10, 1], [30, 1]]}
    assert [text.get_text() for text in ax.get_yticklabels()] == ["Q-learning", "Dyna-Q"]
    operations = plot_demands(table, what="operations")
    assert operations.lines[1].get_xdata().tolist() == [4.0, 5.5]


def test_learners_by_conditions_of_your_own():
    table = pd.DataFrame(
        {
            "learner": ["mine", "mine", "q_learning", "mine"],
            "room": ["red", "red", "red", "blue"],
            "score": [1.0, 3.0, 5.0, 7.0],
        }
    )
    blue, red = learners_figure(table, "score", by="room").axes
    assert {line.get_label(): line.get_xydata().tolist() for line in red.lines} == {
        "Q-learning": [[5, 0]],
        "mine": [[2, 1]],
    }
    assert [line.get_xydata().tolist() for line in blue.lines] == [[[7, 1]]]
    low, high = sorted(red.collections[0].get_segments()[0][:, 0])
    assert (low, high) == pytest.approx((2 - 12.706, 2 + 12.706), abs=1e-3)
    given = table[1:].assign(ci_low=0.5, ci_high=9.5)
    (line,) = plot_learners(given[given["room"] == "blue"], value="score").collections
    assert line.get_segments()[0].tolist() == [[0.5, 0], [9.5, 0]]
    with pytest.raises(ValueError, match="several rows for room 'red', learner 'mine'"):
        learners_figure(table.assign(ci_low=0.5, ci_high=9.5), "score", by="room")
    with pytest.raises(ValueError, match="lacks the column"):
        learners_figure(table, by="room")
    with pytest.raises(ValueError, match="no rows"):
        learners_figure(table[:0], "score", by="room")


def test_memories_of_one_capacity_stand_side_by_side(ax):
    """Rates may be the same: no memory hides another."""
    table = pd.DataFrame(
        {
            "retention": ["fading"] * 3 + ["recent_episodes"] * 2,
            "capacity": [2.0, 1.0, np.inf, 1.0, np.inf],
            "n_transitions": [9, 5, 30, 5, 30],
            "mean": [0.4, 0.1, 0.9, 0.1, 0.9],
        }
    )
    table = table.assign(ci_low=table["mean"] - 0.125, ci_high=table["mean"] + 0.125)
    plot_bounded_memory(table, ax)
    episodes, fading, everything = ax.lines
    assert fading.get_ydata().tolist() == [0.1, 0.4, 0.9]
    assert episodes.get_ydata().tolist() == [0.1, 0.9]
    left, right = np.log2(episodes.get_xdata()), np.log2(fading.get_xdata())
    assert (left + right[[0, 2]]) / 2 == pytest.approx([0, 3])
    assert (right[[0, 2]] - left > 0.2).all()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "all"]
    assert [line.get_marker() for line in (episodes, fading)] == ["o", "s"]
    assert everything.get_ydata() == [0.9, 0.9]
    other = table.assign(retention="recent_transitions")
    with pytest.raises(ValueError, match="in episodes or in transitions on one Axes, not both"):
        plot_bounded_memory(pd.concat([table, other]))


def test_attribution_has_bars_where_there_are_intervals(ax):
    table = pd.DataFrame(
        {
            "of": ["sequences"] * 3 + ["moves"] * 2,
            "over": "episode",
            "up_to": [1, 4, 2, 1, 2],
            "attribution": "one",
            "count": 5,
            "share": [1.0, 0.25, np.nan, 0.75, 0.5],
            "ci_low": [np.nan, 0.125, np.nan, np.nan, np.nan],
            "ci_high": [np.nan, 0.5, np.nan, np.nan, np.nan],
        }
    )
    plot_attribution(table, ax)
    sequences, moves = ax.lines
    assert ax.get_xscale() == "log"
    assert sequences.get_xydata().tolist() == [[1, 1], [4, 0.25]]
    assert moves.get_xydata().tolist() == [[1, 0.75], [2, 0.5]]
    (intervals,) = ax.collections
    assert [line.tolist() for line in intervals.get_segments()] == [[[4, 0.125], [4, 0.5]]]


def test_bars_of_the_gain_floor_have_their_intervals(ax):
    settings = ("floor", "no_floor")
    table = pd.DataFrame(
        [
            (setting, place, direction, mean, mean - 0.0625, mean + 0.125)
            for setting, mean in zip(settings, (0.5, 0.25), strict=True)
            for place in ("start", "goal")
            for direction in ("reverse", "forward")
        ],
        columns=["setting", "place", "direction", "mean", "ci_low", "ci_high"],
    )
    plot_gain_floor(table, ax)
    bars = sorted(ax.patches, key=lambda bar: bar.get_x())
    assert [bar.get_height() for bar in bars] == [0.5, 0.25] * 4
    middles = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    assert middles == pytest.approx([-0.2, 0.2, 0.8, 1.2, 1.8, 2.2, 2.8, 3.2])
    lines, low, high = ax.collections
    ends = sorted(map(tuple, np.sort([line.T.ravel() for line in lines.get_segments()])))
    assert len(ends) == 8
    at = sorted(low.get_offsets().tolist())
    assert [y for _, y in at] == [0.4375, 0.1875] * 4
    assert [x for x, _ in at] == pytest.approx(middles)
    assert [y for _, y in sorted(high.get_offsets().tolist())] == [0.625, 0.375] * 4
    assert [label.get_text() for label in ax.get_xticklabels()][1] == "Reverse\nat the start"


def test_replay_around_changes_is_the_mean_over_changes(ax):
    index = pd.MultiIndex.from_product(
        [["dyna_q", "episodic_control"], [1, 2], ["after", "before"], KINDS[:3]],
        names=["learner", "phase", "period", "kind"],
    )
    table = index.to_frame(index=False)
    table["per_step"] = np.random.default_rng(1).random(len(table)) * (table["kind"] != KINDS[1])
    plot_change_replay(table, ax)
    mean = 100 * table.groupby(["learner", "period", "kind"])["per_step"].mean()
    for row, learner in enumerate(("episodic_control", "dyna_q")):
        for place, period in ((row - 0.19, "before"), (row + 0.19, "after")):
            reverse, novel = (
                bar for bar in ax.patches if abs(bar.get_bbox().intervaly.mean() - place) < 0.05
            )
            assert reverse.get_width() == pytest.approx(mean[learner, period, KINDS[0]])
            assert novel.get_x() == pytest.approx(reverse.get_width())
            assert novel.get_width() == pytest.approx(mean[learner, period, KINDS[2]])
            (name,) = (t for t in ax.texts if abs(t.xy[1] - place) < 0.05)
            assert name.get_text() == period
            assert name.xy[0] == pytest.approx(novel.get_x() + novel.get_width())


def test_pairs_of_curves_are_dashed_and_solid(ax):
    published, changed = (
        reward_rate(learners=["q_lambda", "monte_carlo"]).assign(mean=mean) for mean in (0.25, 0.5)
    )
    plot_discrepancy_curves(published, changed, ax)
    drawn = [(line.get_label(), line.is_dashed(), line.get_ydata()[0]) for line in ax.lines[:4]]
    assert {line.get_dash_capstyle() for line in ax.lines[:2]} == {"butt"}  # there are gaps
    assert drawn == [
        ("Monte Carlo", True, 0.25),
        ("Q(λ)", True, 0.25),
        ("Monte Carlo", False, 0.5),
        ("Q(λ)", False, 0.5),
    ]


# -- the frame ------------------------------------------------------------------------------


def test_a_grid_has_titles_letters_and_one_legend():
    looks = learner_looks(LEARNERS).values()
    figure, axes = grid(["a", "b", "c"], 2, 1.5, legend=looks, legend_columns=3, ylabel="y")
    assert [ax.get_title(loc="left") for ax in axes] == ["a", "b", "c"]
    assert [ax.texts[0].get_text() for ax in axes] == ["A", "B", "C"]
    assert figure.axes == axes
    assert figure.get_size_inches() == pytest.approx([17.5 / 2.54, 3 + 3 * 0.17 + 0.15])
    assert [text.get_text() for text in figure.legends[0].texts] == [
        label(name) for name in LEARNERS
    ]
    one, (ax,) = grid(["a"], 2, 1.5, width_cm=9)
    assert one.get_size_inches()[0] == pytest.approx(9 / 2.54)
    assert not ax.texts


def test_inner_labels_go_and_the_last_of_a_column_stays():
    _, axes = grid([""] * 5, 3, 1.0)
    for ax in axes:
        ax.set(xlabel="x", ylabel="y")
    keep_outer_labels(axes)
    assert [ax.get_xlabel() for ax in axes] == ["", "", "x", "x", "x"]
    assert [ax.get_ylabel() for ax in axes] == ["y", "", "", "y", ""]


def test_what_an_axes_had_stays(ax):
    ax.set(xlabel="time", ylabel="rate")
    ax.set_title("title")
    ax.tick_params(labelbottom=False)
    before = dict(mpl.rcParams)
    draw_curves(reward_rate(learners=["q_lambda"]), ax, "time_step", "mean", "learner",
                learner_looks(["q_lambda"]))  # fmt: skip
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("time", "rate", "title")
    assert not ax.xaxis.get_tick_params()["labelbottom"]
    assert ax.get_facecolor() == (1, 1, 1, 1)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    "draw", [plot_learning_curves, plot_discrepancy_curves, plot_replay_kinds, plot_mdp]
)
def test_without_an_axes_a_figure_is_made(draw, maze):
    tables = {
        plot_replay_kinds: [replay_kinds()],
        plot_mdp: [maze],
        plot_discrepancy_curves: [reward_rate(), reward_rate()],
    }
    made = draw(*tables.get(draw, [reward_rate()]))
    assert made.figure.get_size_inches()[0] == pytest.approx(85 / 25.4)


# -- learned graph --------------------------------------------------------------------------


def learned(values):
    graph = nx.MultiDiGraph()
    for state, value in enumerate(values):
        graph.add_node(state, pos=(10.0 * state, 0.0), value=value, visits=10**state)
    graph.add_edge(0, 1, key=0, count=9)
    graph.add_edge(1, 0, key=1, count=1)
    graph.add_edge(1, 1, key=0, count=5)
    return graph


def test_nodes_carry_values_or_else_visits(ax):
    plot_learned_graph(learned([0.5, 1.0]), ax)
    lines, nodes = ax.collections
    assert nodes.get_array().tolist() == [0.5, 1.0]
    assert nodes.get_offsets().tolist() == [[0, 0], [10, 0]]
    assert len(lines.get_segments()) == 1
    assert lines.get_linewidths() == pytest.approx([0.4 + 0.3])  # ten crossings
    other = Figure().subplots()
    plot_learned_graph(learned([np.nan, np.nan]), other)
    assert other.collections[1].get_array().tolist() == [0, 1]


def test_panels_share_one_range(maze):
    graphs = {5: learned([0.1, 0.2]), 50: learned([0.1, 2.0])}
    figure = learned_graph_figure(graphs, maze)
    norms = [
        drawn.get_clim()
        for ax in figure.axes[:2]
        for drawn in ax.collections
        if drawn.get_label() == "states"
    ]
    assert norms == [(0, 2), (0, 2)]
    assert figure.axes[0].get_title(loc="left") == "Step 5: 2 states"


def test_a_graph_without_places_is_refused(ax):
    graph = learned([0.5, 1.0])
    del graph.nodes[1]["pos"]
    with pytest.raises(ValueError, match="no pos"):
        plot_learned_graph(graph, ax)
    with pytest.raises(ValueError, match="no graphs"):
        learned_graph_figure({})


def test_moments_are_when_shares_were_met(steps):
    assert growth_moments(steps, [0.25, 0.5, 0.75, 1]) == [0, 2, 3, 4]
    with pytest.raises(ValueError, match="at most 1"):
        growth_moments(steps, [2])


# -- style and files ------------------------------------------------------------------------


def test_every_public_name_is_there():
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
    with pytest.raises(AttributeError, match="no attribute 'pie_figure'"):
        plots.pie_figure  # noqa: B018


def test_seaborn_is_imported_late():
    """Neither the command line nor a worker that simulates waits for it."""
    code = (
        "import sys, analyses.cli, analyses.plots, analyses.plots.style, analyses.jobs.workers; "
        "import analyses.studies.brea_2018.reproduce, analyses.studies.comparison; "
        "print([name for name in ('seaborn', 'matplotlib.pyplot') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_style_leaves_no_trace():
    before = dict(mpl.rcParams)
    with figure_style():
        assert mpl.rcParams["font.size"] == 7
    learning_curves_figure(reward_rate())
    assert dict(mpl.rcParams) == before


def test_arial_is_drawn_in_a_font_of_the_same_widths(monkeypatch):
    """Where it is not installed, but that one is."""

    def nowhere(*_, **__):
        raise ValueError

    monkeypatch.setattr("analyses.plots.style.findfont", nowhere)
    for known, drawn in ((["Liberation Sans"], "Liberation Sans"), ([], "DejaVu Sans")):
        monkeypatch.setattr("analyses.plots.style.get_font_names", lambda known=known: known)
        with (
            pytest.warns(UserWarning, match=f"PDF and PNG get {drawn}."),
            figure_style(settings={"font.family": "Arial"}),
        ):
            assert mpl.rcParams["font.family"] == ["Arial", drawn]


def test_settings_of_a_user_hold_for_all_texts_and_the_style_can_be_left_off(tmp_path, painted):
    with plots.figure_style(settings={"font.family": "DejaVu Serif", "font.size": 9}):
        figure = plots.learning_curves_figure(reward_rate(learners=["q_lambda"]))
    (*_, svg) = save(figure, tmp_path / "curves.svg")  # ticks are made only now
    written = svg.read_text()
    assert written.count("<text") > 10, "texts stay texts"
    assert "DejaVu Serif" in written
    assert "DejaVu Sans" not in written
    with plots.figure_style(settings=mpl.rcParams):
        (ax,) = plots.learning_curves_figure(reward_rate(learners=["q_lambda"])).axes
    assert ax.spines["right"].get_visible() == mpl.rcParams["axes.spines.right"]
    assert ax.title.get_fontsize() == 12  # matplotlib's own
    with (
        pytest.raises(ValueError, match=r"no setting 'font\.famly'\. Did you mean 'font\.family'"),
        plots.figure_style(settings={"font.famly": "Arial"}),
    ):
        pass
    with (
        pytest.warns(UserWarning, match="'No such font' is not installed here"),
        plots.figure_style(settings={"font.family": "No such font"}),
    ):
        pass


def test_same_figure_same_bytes(tmp_path, painted):
    files = [
        save(learning_curves_figure(reward_rate()), tmp_path / name / "curves") for name in "ab"
    ]
    assert [path.name for path in files[0]] == ["curves.pdf", "curves.png"]
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert len(list(tmp_path.rglob("*"))) == 6  # two folders, four files, nothing left beside


def test_a_long_label_is_not_cut_in_a_file(tmp_path, painted):
    """At the resolution of files letters are wider than on a screen."""
    figure = parity_experiments_figure(reference_table("parity/parity"))
    _, written = save(figure, tmp_path / "long")
    picture = mpl.image.imread(written)[..., :3]
    assert (picture[:, :3] == 1).all()


def run_script(name, folder, monkeypatch):
    """Run a script of the folder `figures`; returns the figures that it made."""
    path = FIGURES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path), str(folder)])
    runpy.run_path(str(path))
    return sorted(written.stem for written in (folder / "figures").glob("*.png"))


def write_reproduction(folder):
    reward_rate().to_csv(folder / "reward_rate.csv", index=False)
    replay_kinds(learners=LEARNERS).to_csv(folder / "replay_kinds.csv", index=False)
    over_time = replay_kinds(learners=LEARNERS).assign(time_step=5)
    over_time.to_csv(folder / "replay_over_time.csv", index=False)
    maze = from_ascii("S...G")
    write_mdps({"maze": maze}, folder / "mdps")
    log = simulate(maze, "prioritized_sweeping", n_steps=60, log="all").log
    log.save(folder / "logs" / "maze" / "prioritized_sweeping-0-0")


def write_studies(folder):
    curves = reward_rate(learners=["q_lambda"], experiments=["maze"])
    curves.assign(discrepancy="D1").to_csv(folder / "discrepancy_curves.csv", index=False)
    interval = {"ci_low": 0.1, "ci_high": 0.3}
    tables = {
        "discrepancies": {"discrepancy": "D1", "experiment": "maze", "learner": "q_lambda",
                          "period": ["early", "late"], "difference": 0.2},
        "change_rates": {"world": "shortcut", "learner": "dyna_q", "phase": [0, 0, 1, 1],
                         "time_step": [10, 20, 10, 20], "mean": 0.2},
        "change_replay": {"world": "shortcut", "learner": "dyna_q", "phase": 1,
                          "period": ["before", "after"], "kind": "novel_path", "per_step": 0.2},
        "demands": {"world": "maze_size", "learner": "dyna_q", "size": [2, 3], "n_states": [3, 8],
                    "n_actions": 4, "words": [5, 9], "backups": 1.0, "queue_operations": 0.0,
                    "comparisons": 3.0},
        "bounded_memory": {"experiment": "maze", "retention": "fading", "capacity": [1.0, 2.0],
                           "n_transitions": [5, 9], "mean": 0.2},
        "attribution": {"experiment": "maze", "learner": "dyna_q", "of": "sequences",
                        "over": ["episode", "length"], "up_to": 3, "count": 5,
                        "attribution": "one", "share": 0.2},
        "gain_floor": {"task": "linear_track", "setting": ["floor", "no_floor"],
                       "place": "start", "direction": "forward", "mean": 0.2},
    }  # fmt: skip
    for name, columns in tables.items():
        pd.DataFrame(columns | interval).to_csv(folder / f"{name}.csv", index=False)


@pytest.mark.parametrize(
    ("script", "made"),
    [
        ("learning_curves", ["learning_curves"]),
        ("replay_kinds", ["replay_kinds"]),
        ("replay_over_time", ["replay_over_time_maze"]),
        ("mdps", ["mdps"]),
        ("replay_events", ["replay_events_maze"]),
        ("learned_graph", ["learned_graph_maze"]),
        ("discrepancies", ["discrepancies", "discrepancy_curves"]),
        ("changes", ["changes"]),
        ("demands", ["demands_maze_size"]),
        ("bounded_memory", ["bounded_memory"]),
        ("attribution", ["attribution", "attribution_length"]),
        ("gain_floor", ["gain_floor"]),
    ],
)
def test_a_script_draws_its_figures(script, made, tmp_path, monkeypatch):
    write_reproduction(tmp_path)
    write_studies(tmp_path)
    assert run_script(script, tmp_path, monkeypatch) == made


def test_each_script_says_what_is_missing(tmp_path, monkeypatch):
    scripts = sorted(path.stem for path in FIGURES.glob("*.py"))
    assert len(scripts) == 23
    for script in set(scripts) - {"mdps", "replay_events", "learned_graph"}:
        with pytest.raises(FileNotFoundError, match=r"(csv|parquet) is missing"):
            run_script(script, tmp_path, monkeypatch)


def test_the_gallery_shows_every_script():
    guide = (FIGURES.parent / ".docs" / "gallery" / "figures.md").read_text("utf-8")
    for script in FIGURES.glob("*.py"):
        assert f"`{script.name}`" in guide
    pictures = {path.name for path in FIGURES.glob("*.png")}
    assert {*re.findall(r"figures/(\w+\.png)\)", guide)} == pictures
    # a clone has them all; the page of findings has 2,066 pixels, which its small words need
    assert sum(path.stat().st_size for path in FIGURES.glob("*.png")) < 4_000_000


def test_a_name_with_dollars_is_no_formula(tmp_path, painted):
    name = "my$x^$.py"
    table = reward_rate(learners=["dyna_q", name])
    figure = plots.learning_curves_figure(table)
    save(figure, tmp_path / "curves")
    shown = {text.get_text() for each in figure.legends for text in each.get_texts()}
    assert shown == {"Dyna-Q", r"my\$x^\$.py"}  # drawn as my$x^$.py
    with plots.figure_style({name: "#123456"}, {name: "Mine"}):
        figure = plots.learning_curves_figure(table)
    assert any(line.get_color() == "#123456" for line in figure.axes[0].lines)
