"""The study of hidden states: its worlds, its tables, and what the guide says of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analyses.jobs.study import SizedPlan
from analyses.studies import hidden_states
from analyses.studies.hidden_states import ENCODERS, LEARNERS, STUDY, WORLDS
from replay.data import reference_table

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", WORLDS)
def test_states_look_alike_and_are_more_than_looks(name):
    maze, looks = hidden_states._world(name, np.random.default_rng(1))
    assert len(looks) == maze.n_states
    assert len(set(looks)) <= 10 < maze.n_states or name == "t_maze_2"
    assert np.count_nonzero(maze.start_probability) == (2 if name.startswith("t_maze") else 1)
    goal = looks[maze.terminal]
    assert not np.isin(goal, looks[~maze.terminal]).any()


def test_codes_are_states_but_for_names():
    codes = pd.DataFrame({"n_refits": [0, 1, 1, 1], "code": [5, 5, 6, 5], "state": [1, 2, 3, 2]})
    assert hidden_states._is_recovered(codes)
    assert not hidden_states._is_recovered(codes.assign(state=[1, 2, 3, 4]))
    assert not hidden_states._is_recovered(codes.assign(state=[1, 2, 2, 2]))


@pytest.mark.slow
def test_pieces_become_tables_and_a_figure(monkeypatch, tmp_path):
    """What is known is recovered; sweeping is as far ahead as the means of both say."""
    pytest.importorskip("gymnasium")
    from analyses.jobs.results import Results
    from analyses.jobs.run import run
    from analyses.studies.encoder_figures import hidden_states_figure

    plan = SizedPlan(dict.fromkeys(("t_maze_2", "colours"), 2), seed=3)
    monkeypatch.setattr(hidden_states, "_N_STEPS", 3000)
    tables = run(STUDY, plan, tmp_path, jobs=1)
    table = tables["hidden_states.csv"].set_index(["world", "encoder", "learner"])
    assert len(table) == 2 * len(ENCODERS) * len(LEARNERS)
    known = table.xs("true_states", level="encoder")
    assert known["recovered"].eq(1).all()
    assert known["agreement"].dropna().eq(1).all()
    ours = table.loc[("t_maze_2", "state_merging", "prioritized_sweeping"), "mean"]
    ahead = tables["sweeping_ahead.csv"].set_index(["world", "encoder", "learner"])["mean"]
    for key, value in ahead.loc[["t_maze_2"]].items():
        assert value == pytest.approx(ours - table.loc[key, "mean"])
    results = Results(tmp_path)
    figure = hidden_states_figure(
        results.read("hidden_states.csv"), results.read("recovered_states.csv")
    )
    assert len(figure.axes) == len(ENCODERS)


def test_the_guide_has_the_shipped_tables():
    """A row for each world; and what holds in all of them."""
    guide = (ROOT / ".docs" / "how_well" / "states.md").read_text("utf-8")
    table = reference_table("hidden_states/hidden_states")
    means = table.set_index(["world", "encoder", "learner"]).sort_index()
    ahead = reference_table("hidden_states/sweeping_ahead")
    ahead = ahead.set_index(["world", "encoder", "learner"]).sort_index()
    found = reference_table("hidden_states/recovered_states")
    found = found.set_index(["n_before", "world"])["mean"]
    sweeping, averages = "prioritized_sweeping", "retrieved_episodes"
    known = ("state_merging", "true_states", "last_four")
    for world in WORLDS:
        own = [means.loc[(world, encoder, sweeping)] for encoder in known]
        cells = [f"{each['mean']:.2f}" for each in own]
        food = [f"{each['rewarded']:.2f}" for each in own if each["rewarded"] >= 0]
        cells.append(", ".join(food))
        for encoder in ("state_merging", "last_four"):
            row = ahead.loc[(world, encoder, averages)]
            cells.append(f"{row['mean']:.2f} ({row['ci_low']:.2f} to {row['ci_high']:.2f})")
        cells.append(f"{found[(2500, world)]:.2f}, {found[(10_000, world)]:.2f}")
        assert f" | {' | '.join(cells)} |" in guide, world
        if world.startswith("t_maze"):
            assert own[0]["rewarded"] - own[1]["rewarded"] > -0.02
        assert ahead.loc[(world, "last_four", averages), "ci_low"] > 0
        assert found[(10_000, world)] == 1
        assert own[0]["agreement"] == 1
