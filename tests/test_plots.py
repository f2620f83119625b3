"""Figures hold the data of their tables; nothing here looks at pixels."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver

from analyses.jobs.worlds import read_mdps, write_mdps
from analyses.plots import (
    draw_learned_graph,
    draw_learning_curves,
    draw_mdp,
    draw_replay,
    draw_replay_kinds,
    draw_replay_over_time,
    growth_moments,
    learned_graph_figure,
    learning_curves_figure,
    mdps_figure,
    pick_examples,
    replay_events_figure,
    replay_kinds_figure,
    replay_over_time_figure,
    save,
    style,
)
from analyses.plots.mdps import maze_cell_size
from analyses.plots.replay_events import stretches
from analyses.plots.style import label, learner_styles
from analyses.tables import EXPERIMENT_ORDER, KINDS
from replay.experiments import PAPER_LEARNERS as LEARNERS
from replay.learners import LEARNERS as ALL_LEARNERS
from replay.worlds.mazes import from_ascii, random_maze
from replay.worlds.mdp import MDP
from replay.worlds.trees import deterministic_tree, stochastic_tree

FIGURES = Path(__file__).parents[1] / "figures"


@pytest.fixture
def ax():
    return Figure().subplots()


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
    draw_learning_curves(table.sample(frac=1, random_state=0), ax)
    by_name = {line.get_label(): line for line in ax.lines}
    for learner, rows in table.groupby("learner"):
        assert by_name[label(learner)].get_xdata().tolist() == rows["time_step"].tolist()
        assert by_name[label(learner)].get_ydata().tolist() == rows["mean"].tolist()


def test_bands_are_the_intervals(ax):
    table = reward_rate(learners=["q_lambda"])
    draw_learning_curves(table, ax)
    (band,) = ax.collections
    y = band.get_paths()[0].vertices[:, 1]
    assert (y.min(), y.max()) == (table["ci_low"].min(), table["ci_high"].max())


def test_one_mdp_has_no_band(ax):
    draw_learning_curves(reward_rate().assign(ci_low=np.nan, ci_high=np.nan), ax)
    assert not ax.collections


def test_five_thin_runs_of_each_learner(ax):
    table = reward_rate(learners=["q_lambda"])
    runs = pd.concat(table.assign(mdp=0, seed=seed, reward_rate=seed / 10) for seed in range(8))
    draw_learning_curves(table, ax, runs)
    thin = [line for line in ax.lines if line.get_alpha() is not None]
    assert [line.get_ydata()[0] for line in thin] == [0, 0.1, 0.2, 0.3, 0.4]


def test_learning_curves_figure_has_panels_in_the_papers_order():
    figure = learning_curves_figure(reward_rate(experiments=EXPERIMENT_ORDER[::-1]))
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        label(name) for name in EXPERIMENT_ORDER
    ]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == [label(name) for name in LEARNERS]
    with pytest.raises(ValueError, match="empty"):
        learning_curves_figure(reward_rate().head(0))
    with pytest.raises(ValueError, match="one experiment"):
        draw_learning_curves(reward_rate(EXPERIMENT_ORDER), figure.axes[0])


def test_learners_look_different_and_always_the_same():
    styles = learner_styles([*LEARNERS, *"abcdefg"])
    looks = {(look["color"], str(look["linestyle"])) for look in styles.values()}
    assert len(looks) == len(styles) == len(LEARNERS) + 7
    assert learner_styles(["episodic_control"])["episodic_control"] == styles["episodic_control"]
    family = learner_styles([*ALL_LEARNERS, "mine"])
    assert family.keys() - styles.keys() == {*ALL_LEARNERS, "mine"} - {*LEARNERS}
    assert len({str(look) for look in family.values()}) == len(family)
    assert all(learner_styles([name])[name] == family[name] for name in ALL_LEARNERS)
    assert all(label(name) != name.replace("_", " ") for name in ALL_LEARNERS)


# -- MDPs -----------------------------------------------------------------------------------


def test_walls_are_where_no_state_is(ax, maze):
    draw_mdp(maze, ax)
    mesh = ax.collections[0]
    assert mesh.get_array().count() == 3 * 7 - 5
    assert ax.get_xlim() == (0, 70)


def test_lines_of_a_graph_are_its_transitions(ax):
    tree = stochastic_tree(seed=1)
    draw_mdp(tree, ax)
    (lines,) = (drawn for drawn in ax.collections if isinstance(drawn, LineCollection))
    assert len(lines.get_segments()) == tree.n_transitions
    ratio = lines.get_linewidths() / tree.probability
    assert ratio == pytest.approx(np.full(tree.n_transitions, ratio[0]))
    assert lines.get_array().compressed() == pytest.approx(tree.reward[tree.reward != 0])
    segment, state = lines.get_segments()[0], tree.successor[0]
    assert segment[[0, -1]] == pytest.approx(tree.position[[0, state]])


def test_a_graph_without_positions_is_laid_out(ax):
    draw_mdp(MDP.from_tables([[1], [2], [2]], reward=[[0], [1], [0]], start=0, terminal=[2]), ax)
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


def test_arrows_are_the_backups_in_order(ax, maze, steps):
    draw_replay(sequence([4, 3, 2, 1], splice_states=np.array([2])), steps, maze, ax)
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
    draw_replay(sequence([2, 1, 0], step=2), steps, maze, ax)
    assert [line.get_label() for line in ax.lines] == ["Episode 0"]


def test_a_state_replayed_twice_has_both_numbers(ax, maze, steps):
    draw_replay(sequence([3, 2, 3]), steps, maze, ax)
    assert [text.get_text() for text in ax.texts] == ["1,3", "2"]


def test_forward_replay_is_read_forward(ax, maze, steps):
    draw_replay(sequence([0, 1, 2], orientation=None, direction="forward"), steps, maze, ax)
    assert [line.get_label() for line in ax.lines] == ["Episode 0"]


def test_examples_are_telling():
    rows = pd.DataFrame(
        [
            sequence([2, 1]),
            sequence([4, 3, 2]),
            sequence([4, 3, 2, 1]),
            sequence([4, 3, 4, 3, 2]),
            sequence([3, 2, 1], kind="novel_path", n_episodes=2),
            sequence([3, 2, 1, 0], kind="novel_path", n_episodes=3),
            sequence([4, 3, 2, 1, 0], kind="novel_path", n_episodes=5),
            sequence(list(range(50)), kind="forward_episode"),
        ]
    )
    examples = pick_examples(rows)
    assert {kind: row["states"].tolist() for kind, row in examples.items()} == {
        "reverse_episode": [4, 3, 2, 1],
        "novel_path": [3, 2, 1, 0],
    }


def test_replay_events_figure_says_what_there_is_not(maze, steps):
    other_run = sequence([4, 3, 2], run=5, kind="novel_path")
    figure = replay_events_figure(pd.DataFrame([sequence([4, 3, 2]), other_run]), steps, maze)
    assert figure.axes[1].texts[0].get_text() == "none in this run"
    assert figure.axes[0].get_title(loc="left") == "Episode, reverse, step 4"


# -- kinds of replay ------------------------------------------------------------------------


def test_bars_are_the_shares(ax):
    draw_replay_kinds(replay_kinds(), ax)
    widths = {bar.get_label(): bar.patches[0].get_width() for bar in ax.containers}
    assert widths == {"Episode, reverse": 0.75, "Episode, forward": 0, "Novel path": 0.25}
    assert ax.patches[-1].get_x() == 0.75
    assert "8" in [text.get_text() for text in ax.texts]


def test_whiskers_are_the_intervals(ax):
    table = replay_kinds().assign(ci_low=[0.6, np.nan, 0.2], ci_high=[0.8, np.nan, 0.3])
    draw_replay_kinds(table, ax)
    whiskers = [
        drawn.get_segments()[0][:, 0].tolist()
        for drawn in ax.collections
        if isinstance(drawn, LineCollection)
    ]
    assert whiskers[0] == pytest.approx([0.6, 0.8])
    assert whiskers[1] == pytest.approx([0.95, 1.05])


def test_a_learner_without_replay_says_so(ax):
    draw_replay_kinds(replay_kinds().assign(count=0, share=np.nan), ax)
    assert "no replay" in [text.get_text() for text in ax.texts]
    draw_replay_over_time(
        pd.DataFrame({"time_step": [1], "kind": "novel_path", "count": 0, "share": np.nan}), ax
    )
    assert not ax.collections


def test_several_experiments_are_not_one_bar(ax):
    with pytest.raises(ValueError, match="several rows of one kind"):
        draw_replay_kinds(replay_kinds(experiments=EXPERIMENT_ORDER), ax)


def test_areas_are_the_shares_of_windows(ax):
    table = pd.DataFrame(
        {
            "time_step": [10, 10, 20, 20, 30, 30],
            "kind": ["reverse_episode", "novel_path"] * 3,
            "count": [3, 1, 0, 0, 1, 1],
            "share": [0.75, 0.25, np.nan, np.nan, 0.5, 0.5],
        }
    )
    draw_replay_over_time(table, ax)
    below, above = ax.collections
    at = below.get_paths()[0].vertices
    assert at[:, 1].max() == 0.75
    assert (at[:, 0].min(), at[:, 0].max()) == (0, 10)  # the second window is empty
    assert below.get_paths()[-1].vertices[:, 1].max() == 0.5
    assert above.get_paths()[0].vertices[:, 1].max() == 1


def test_figures_of_kinds():
    chains = ("within_event", "across_events")
    figure = replay_kinds_figure(replay_kinds(EXPERIMENT_ORDER, chains, LEARNERS))
    assert len(figure.axes) == 8
    assert [text.get_text() for text in figure.legends[0].texts] == [
        label("reverse_episode"),
        label("novel_path"),
    ]
    table = replay_kinds(learners=LEARNERS).assign(time_step=5)
    axes = replay_over_time_figure(table).axes
    assert sum(ax.axison for ax in axes) == len(LEARNERS)
    with pytest.raises(ValueError, match="several experiments"):
        replay_over_time_figure(replay_kinds(EXPERIMENT_ORDER).assign(time_step=5))


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
    draw_learned_graph(learned([0.5, 1.0]), ax)
    lines, nodes = ax.collections
    assert nodes.get_array().tolist() == [0.5, 1.0]
    assert nodes.get_offsets().tolist() == [[0, 0], [10, 0]]
    assert len(lines.get_segments()) == 1
    assert lines.get_linewidths() == pytest.approx([0.4 + 0.3])  # ten crossings
    other = Figure().subplots()
    draw_learned_graph(learned([np.nan, np.nan]), other)
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
        draw_learned_graph(graph, ax)
    with pytest.raises(ValueError, match="no graphs"):
        learned_graph_figure({})


def test_moments_are_when_shares_were_met(steps):
    assert growth_moments(steps, [0.25, 0.5, 0.75, 1]) == [0, 2, 3, 4]
    with pytest.raises(ValueError, match="at most 1"):
        growth_moments(steps, [2])


# -- style and files ------------------------------------------------------------------------


def test_style_leaves_no_trace():
    before = dict(mpl.rcParams)
    with style():
        assert mpl.rcParams["font.size"] == 7
    learning_curves_figure(reward_rate())
    assert dict(mpl.rcParams) == before


def test_same_figure_same_bytes(tmp_path):
    files = [
        save(learning_curves_figure(reward_rate()), tmp_path / name / "curves") for name in "ab"
    ]
    assert [path.name for path in files[0]] == ["curves.pdf", "curves.png"]
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert len(list(tmp_path.rglob("*"))) == 6  # two folders, four files, nothing left beside


def test_scripts_draw_a_result_folder(tmp_path, monkeypatch, maze):
    (tmp_path / "manifest.json").write_text('{"log": "replay"}')
    reward_rate().to_csv(tmp_path / "reward_rate.csv", index=False)
    runs = reward_rate().assign(mdp=0, seed=0, reward_rate=0.5)
    runs.to_parquet(tmp_path / "single_runs.parquet")
    replay_kinds(learners=LEARNERS).to_csv(tmp_path / "replay_kinds.csv", index=False)
    over_time = replay_kinds(learners=LEARNERS).assign(time_step=5)
    over_time.to_csv(tmp_path / "replay_over_time.csv", index=False)
    write_mdps({"maze": maze}, tmp_path / "mdps")
    for script in FIGURES.glob("*.py"):
        monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path)])
        runpy.run_path(str(script))
    written = {path.name for path in (tmp_path / "figures").glob("*.png")}
    assert written == {
        "learning_curves.png",
        "replay_kinds.png",
        "replay_over_time_maze.png",
        "mdps.png",
    }
