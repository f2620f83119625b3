"""Short simulations of Mattar & Daw, and their figure."""

from contextlib import redirect_stdout

import pytest
from gain_floor import STUDY, simulate_laps
from gain_floor_figures import gain_floor_figure, plot_gain_floor
from test_cli import Terminal

from analyses.cli.terminal import print_frame
from analyses.jobs.run import run
from analyses.jobs.study import Piece, SizedPlan
from replay.worlds.mazes import two_way_track


def test_laps_go_to_and_fro_with_noise():
    log = simulate_laps("linear_track", n_episodes=20, seed=1)
    steps = log.steps
    assert steps["terminated"].sum() == 20
    assert steps["terminated"].iloc[-1]
    rewards = steps.loc[steps["terminated"], "reward"]
    assert rewards.is_unique
    assert rewards.between(0.6, 1.4).all()
    assert (steps.loc[~steps["terminated"], "reward"] == 0.0).all()
    way = [two_way_track().labels[state][1] for state in steps.groupby("episode")["state"].first()]
    assert way in ([1, 3] * 10, [3, 1] * 10)
    assert set(log.backups["phase"]) == {"episode_end", "step"}
    again = simulate_laps("linear_track", n_episodes=20, seed=1)
    assert again.backups.equals(log.backups)
    with pytest.raises(
        ValueError, match=r"Unknown task 'maze'\..* Choose from: linear_track, open_maze"
    ):
        simulate_laps("maze")


@pytest.fixture(scope="module")
def table():
    return run(STUDY, SizedPlan({"animals": 2}, seed=0))["gain_floor.csv"]


def test_forward_replay_needs_the_floor(table):
    mean = table.set_index(["task", "setting", "place", "direction"])["mean"]
    for task in ("linear_track", "open_maze"):
        assert mean[task, "no_floor", "start", "forward"] == 0.0
        assert mean[task, "no_floor", "goal", "forward"] < 0.02  # one event in some hundreds
        assert mean[task, "no_floor", "goal", "reverse"] > 0.1
        assert mean[task, "floor", "start", "forward"] > 0.2
        assert mean[task, "floor", "goal", "forward"] < 0.1


@pytest.mark.slow
def test_another_seed_is_other_animals():
    """Seeds that count up would share all animals but one."""
    plans = [STUDY.usual_plan(0.1, seed) for seed in (0, 1)]
    rates = [
        {tuple(make_piece(plan, number)["per_episode"]) for number in range(3)} for plan in plans
    ]
    assert not rates[0] & rates[1]


def make_piece(plan, number):
    return STUDY.make(plan, Piece("animals", number))["segments"]


def test_the_table_fits_into_a_narrow_terminal(table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    (shown,) = STUDY.show(STUDY.usual_plan(), {"gain_floor.csv": table})
    with redirect_stdout(Terminal()) as screen:
        print_frame(shown.table)
    lines = screen.text().splitlines()
    assert len(lines) == 1 + len(table)
    assert max(map(len, lines)) <= 80


def test_the_figure(table):
    figure = gain_floor_figure(table)
    assert [ax.get_title("left") for ax in figure.axes] == [
        "Linear track (2 animals)",
        "Open maze, random starts (2 animals)",
    ]
    for ax in figure.axes:
        zeros = [text for text in ax.texts if text.get_text() == "0"]
        assert len(zeros) >= 1
        assert len(ax.patches) + len(zeros) == 12
    with pytest.raises(ValueError, match="several rows: choose one task"):
        plot_gain_floor(table)
    with pytest.raises(ValueError, match="gain_floor has no rows"):
        gain_floor_figure(table[:0])
