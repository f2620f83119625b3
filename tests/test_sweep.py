"""A parameter sweep makes the same runs as `simulate`, in one table."""

import numpy as np
import pandas as pd
import pytest

from analyses.plots.sweeps import plot_sweep, sweep_figure
from replay.simulation import simulate, sweep
from replay.worlds.mazes import from_ascii

MAZE = from_ascii("S..\n.#G")


def test_each_row_is_of_a_run_of_its_own():
    params = {"learning_rate": [0.1, 0.5], "initial_value": [0.0, 2.0], "epsilon": 0.2}
    table = sweep(MAZE, "q_learning", params, n_steps=300, n_seeds=2, seed=7, n_windows=3)
    assert list(table) == ["learning_rate", "initial_value", "seed", "time_step", "reward_rate"]
    assert len(table) == 2 * 2 * 2 * 3
    own = table.query("learning_rate == 0.5 and initial_value == 2 and seed == 1")
    seed = int(np.random.SeedSequence(7).generate_state(2, np.uint32)[1])
    settings = {"learning_rate": 0.5, "initial_value": 2.0, "epsilon": 0.2}
    run = simulate(MAZE, "q_learning", settings, n_steps=300, seed=seed, n_windows=3)
    assert own["reward_rate"].tolist() == run.reward_rate["reward_rate"].tolist()
    assert own["time_step"].tolist() == [100, 200, 300]


def test_choices_are_swept_by_name():
    params = {"priority": ["change", "random"]}
    table = sweep(MAZE, "prioritized_sweeping", params, n_steps=100, n_seeds=1, n_windows=1)
    assert table["priority"].tolist() == ["change", "random"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"learning_rate": 0.1}, "At least one parameter must have a list"),
        ({"learning_rate": []}, "At least one parameter must have a list"),
        ({"learning_rate": [0.1, 0.1]}, "must be given once"),
        ({"learning_rate": [0.1, 7.0]}, "learning_rate of 'q_learning' must be"),
        ({"alpha": [0.1, 0.2]}, "has no parameter 'alpha'"),
    ],
)
def test_what_makes_no_sense_is_told(params, message):
    with pytest.raises(ValueError, match=message):
        sweep(MAZE, "q_learning", params, n_steps=100)


def test_a_list_alone_is_told():
    with pytest.raises(TypeError, match="params must map parameters to lists"):
        sweep(MAZE, "q_learning", [0.1, 0.2], n_steps=100)


def test_the_figure_shows_means_over_seeds():
    table = pd.DataFrame(
        {"learning_rate": [0.01, 0.01, 1.0, 1.0], "seed": [0, 1, 0, 1], "time_step": 10}
    ).assign(reward_rate=[0.0, 0.2, 0.5, 0.7])
    ax = plot_sweep(table)
    assert ax.get_xscale() == "log"
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([0.1, 0.6])
    other = pd.concat([table.assign(epsilon=each) for each in (0.1, 0.2)])
    (ax,) = sweep_figure(other).axes
    assert [text.get_text() for text in ax.get_legend().texts] == ["epsilon 0.1", "epsilon 0.2"]
    with pytest.raises(ValueError, match="one parameter or two"):
        plot_sweep(table.drop(columns="learning_rate"))
