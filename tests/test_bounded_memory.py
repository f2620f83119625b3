"""Reward rate against memory: the table and its figure."""

from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest
from test_cli import Terminal

from analyses.cli.terminal import print_frame
from analyses.jobs.results import Results
from analyses.studies import draw_all
from analyses.studies.bounded_memory import STUDY, measure_bounded_memory, summarise_bounded_memory
from analyses.studies.reward_figures import bounded_memory_figure, plot_bounded_memory
from replay.experiments import EXPERIMENTS
from replay.simulation import simulate

FEW = {"recent_episodes": [1, 3], "recent_transitions": [6]}


@pytest.fixture(scope="module")
def measured():
    return pd.concat(
        measure_bounded_memory(name, index, capacities=FEW, n_seeds=2, n_steps=2000)
        for name in ("deterministic_tree", "stochastic_tree")
        for index in range(3)
    )


def test_all_memories_meet_the_same_worlds(measured):
    assert len(measured) == 2 * 3 * (3 + 2)
    unbounded = measured[np.isinf(measured["capacity"])]
    ways = [
        rows[["experiment", "mdp", "n_transitions", "reward_rate"]].to_numpy().tolist()
        for _, rows in unbounded.groupby("retention")
    ]
    assert ways[0] == ways[1]
    experiment = EXPERIMENTS["stochastic_tree"]
    mdp = experiment.mdp(2)
    rewards = [
        simulate(
            mdp,
            "prioritized_sweeping",
            experiment.parameters["prioritized_sweeping"],
            n_steps=2000,
            seed=experiment.run_seed(2, run),
        )
        .log.steps["reward"]
        .mean()
        for run in (0, 1)
    ]
    random = mdp.reward_rate(np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions))
    optimal = mdp.reward_rate(mdp.solve(1.0).policy, epsilon=0.1)
    row = unbounded[(unbounded["experiment"] == "stochastic_tree") & (unbounded["mdp"] == 2)]
    expected = (np.mean(rewards) - random) / (optimal - random)
    assert row["reward_rate"].tolist() == pytest.approx([expected] * 2)


def test_the_table_fits_into_a_narrow_terminal(measured, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = {"stochastic_tree": "deterministic_tree", "recent_episodes": "valuable_transitions"}
    tables = {"bounded_memory.csv": summarise_bounded_memory(measured).replace(names)}
    (shown,) = STUDY.show(STUDY.usual_plan(), tables)
    with redirect_stdout(Terminal()) as screen:
        print_frame(shown.table)
    lines = screen.text().splitlines()
    assert len(lines) == 1 + len(shown.table)
    assert max(map(len, lines)) <= 80


def test_memory_is_bounded(measured):
    held = measured.set_index(["experiment", "retention", "capacity"])["n_transitions"]
    for tree, depth in [("deterministic_tree", 5), ("stochastic_tree", 4)]:
        assert (held[tree, "recent_episodes", 1] == depth).all()
        assert (held[tree, "recent_transitions", 6] == 6 + 1).all()
        three, everything = (held[tree, "recent_episodes", k].to_numpy() for k in (3, np.inf))
        assert (three < everything).all()


def test_recent_episodes_are_enough_in_a_deterministic_tree_only(measured):
    """A reward has come to the root after two pauses of three pops; then the way is forgotten."""
    table = summarise_bounded_memory(measured).set_index(["experiment", "retention", "capacity"])[
        "mean"
    ]
    few, everything = (table["deterministic_tree", "recent_episodes", k] for k in (3, np.inf))
    assert few == pytest.approx(everything)
    few, everything = (table["stochastic_tree", "recent_episodes", k] for k in (3, np.inf))
    assert few < everything - 0.02


def test_means_over_worlds(measured):
    table = summarise_bounded_memory(measured)
    assert list(table["n_mdps"].unique()) == [3]
    row = table[(table["experiment"] == "stochastic_tree") & (table["capacity"] == 6)].iloc[0]
    values = measured.query("experiment == 'stochastic_tree' and capacity == 6")["reward_rate"]
    assert row["mean"] == pytest.approx(values.mean())
    assert row["sem"] == pytest.approx(values.std() / np.sqrt(3))


def test_figure(measured, tmp_path):
    table = summarise_bounded_memory(measured)
    figure = bounded_memory_figure(table)
    first = figure.axes[0]
    assert len(figure.axes) == 4  # two experiments, capacities in episodes and in transitions
    *curves, everything = first.lines
    assert [ax.get_xlabel() for ax in figure.axes[2:]] == [
        "Capacity (episodes)", "Capacity (transitions)"
    ]  # fmt: skip
    assert everything.get_ydata()[0] == curves[0].get_ydata()[-1]
    with pytest.raises(ValueError, match="one experiment on one Axes"):
        plot_bounded_memory(table, first)
    with pytest.raises(ValueError, match="bounded_memory has no rows"):
        bounded_memory_figure(table[:0])
    with pytest.raises(ValueError, match="lacks the columns"):
        plot_bounded_memory(pd.DataFrame(), first)
    (tmp_path / "manifest.json").write_text('{"study": "bounded_memory"}')
    results = Results(tmp_path)
    results.write("bounded_memory.csv", table)
    results.finish("tables")
    assert [path.name for path in draw_all(tmp_path)] == [
        "bounded_memory.pdf",
        "bounded_memory.png",
    ]


def test_unknown_names():
    with pytest.raises(ValueError, match="mase"):
        measure_bounded_memory("mase")
    with pytest.raises(ValueError, match="retention of 'prioritized_sweeping' must be one of"):
        measure_bounded_memory("maze", capacities={"newest": [1]}, n_steps=100)
