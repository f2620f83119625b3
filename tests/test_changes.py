"""Reward rate, recovery and replay around changes of a world, and their figure."""

import numpy as np
import pandas as pd
import pytest
from commands import replay

from analyses.cli.options import read_learners
from analyses.jobs.run import run
from analyses.sequences.classification import classify
from analyses.studies import draw_all
from analyses.studies.changes import (
    PHASE_WINDOWS,
    STUDY,
    measure_change,
    plan_change,
    summarise_recovery,
    summarise_replay,
)
from analyses.studies.reward_figures import changes_figure, plot_change_replay
from replay import simulate
from replay.worlds.changing_worlds import moving_reward

LEARNERS = read_learners(["prioritized_sweeping forgetting=0.5", "q_learning"])
SIZES = {"n_mdps": 3, "n_seeds": 2, "n_steps": 500}


@pytest.fixture(scope="module")
def tables():
    return of_tables(run(STUDY, plan_change("moving_reward", LEARNERS, **SIZES)))


def of_tables(made):
    return {name.removesuffix(".csv"): table for name, table in made.items()}


def test_rates_are_normalised_in_each_phase():
    measured = measure_change("moving_reward", LEARNERS, index=1, n_seeds=2, n_steps=500)["rates"]
    assert len(measured) == 2 * 2 * 3 * PHASE_WINDOWS
    world = moving_reward(n_steps=500, seed=[0, 1])
    seed = int(np.random.SeedSequence([0, 1, 1]).generate_state(1)[0])
    made = simulate(world, "q_learning", seed=seed, n_windows=3 * PHASE_WINDOWS)
    mdp = world.phases[1].mdp
    random = mdp.reward_rate(np.full((mdp.n_states, 4), 0.25))
    optimal = mdp.reward_rate(mdp.solve(0.99).policy, 0.1)
    rows = measured.query("learner == 'q_learning' and seed == 1 and phase == 1")
    expected = made.reward_rate["reward_rate"][PHASE_WINDOWS : 2 * PHASE_WINDOWS]
    assert (rows["reward_rate"] * (optimal - random) + random).to_numpy() == pytest.approx(
        expected.to_numpy()
    )
    assert rows["time_step"].tolist() == list(range(10, 501, 10))


def test_replay_is_counted_before_and_after():
    """Against the table of all chains."""
    learners = read_learners(["prioritized_sweeping max_pops=20"])
    counted = measure_change("moving_reward", learners, n_steps=1000)["replay"]
    world = moving_reward(n_steps=1000, seed=[0, 0])
    seed = int(np.random.SeedSequence([0, 0, 0]).generate_state(1)[0])
    made = simulate(world, "prioritized_sweeping", {"max_pops": 20}, seed=seed)
    chains = classify(made.log, min_length=3)
    n_all = 0
    for phase, change in [(1, 1000), (2, 2000)]:
        for period, (first, end) in {
            "before": (change - 100, change),
            "after": (change, change + 100),
        }.items():
            expected = chains[chains["step"].between(first, end - 1)]["kind"].value_counts()
            rows = counted[(counted["phase"] == phase) & (counted["period"] == period)]
            got = rows.set_index("kind")["count"]
            assert got[got > 0].to_dict() == expected[expected > 0].to_dict()
            assert (rows["n_steps"] == 100).all()
            n_all += len(expected)
    assert n_all > 0


def rates(*phases):
    time = list(range(10, 101, 10))
    rows = [
        {"phase": phase, "time_step": step, "reward_rate": rate}
        for phase, values in enumerate(phases)
        for step, rate in zip(time, values, strict=True)
    ]
    return pd.DataFrame(rows).assign(world="shortcut", learner="dyna_q", mdp=0, seed=0)


def test_recovery_by_hand():
    """A stretch of five windows at 0.9 of what was earned before."""
    level = [0.0] * 8 + [0.8] * 2
    after = [0.0, 2.0, 0.0, 0.0, 0.0, *[0.73] * 5]
    row = summarise_recovery(rates(level, after)).iloc[0]
    assert row[["phase", "before", "first", "late"]].tolist() == [1, 0.8, 1.0, 0.73]
    assert row["median"] == 100  # one good window is not enough
    slow = summarise_recovery(rates(level, [0.0] * 10)).iloc[0]
    assert np.isnan(slow["median"])
    assert slow["share_recovered"] == 0
    nothing = summarise_recovery(rates([0.0] * 10, [1.0] * 10)).iloc[0]
    assert nothing["share_recovered"] == 0
    both = pd.concat([rates(level, [0.8] * 10), rates(level, after).assign(mdp=1)])
    assert summarise_recovery(both)["median"].tolist() == [75.0]
    half = pd.concat([rates(level, [0.8] * 10), rates(level, [0.0] * 10).assign(mdp=1)])
    table = summarise_recovery(half)
    assert table["share_recovered"].tolist() == [0.5]
    assert table["median"].isna().all()


def test_summaries(tables):
    assert {name: len(table) for name, table in tables.items()} == {
        "change_rates": 2 * 3 * PHASE_WINDOWS,
        "change_recovery": 2 * 2,
        "change_replay": 2 * 2 * 2 * 5,
    }
    assert (tables["change_rates"]["n_mdps"] == 3).all()
    for table in tables.values():
        assert list(table["learner"].unique()) == list(LEARNERS)
    replayed = tables["change_replay"]
    assert replayed["period"].unique().tolist() == ["before", "after"]
    with pytest.raises(ValueError, match="replay lacks the columns"):
        summarise_replay(pd.DataFrame())


def test_the_figure(tables):
    shown, replayed = tables["change_rates"], tables["change_replay"]
    figure = changes_figure(shown, replayed)
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == ["Moving reward", "Before and after a change"]
    changes = [line.get_xdata()[0] for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
    assert changes == [500, 1000]
    with pytest.raises(ValueError, match="change_rates has no rows"):
        changes_figure(shown[:0], replayed[:0])
    quiet = plot_change_replay(replayed.assign(per_step=0.0))
    assert "no replay" in [text.get_text() for text in quiet.texts]


@pytest.mark.slow
def test_any_number_of_processes_gives_the_same(tables):
    again = of_tables(run(STUDY, plan_change("moving_reward", LEARNERS, **SIZES), jobs=2))
    for name, table in tables.items():
        pd.testing.assert_frame_equal(again[name], table, check_exact=True)


def test_the_command(tmp_path):
    folder = tmp_path / "out"
    done = replay(
        "change", "--world", "moving_reward", "--learner",
        "dyna_q n_replays=2,prioritized_sweeping", "--n-worlds", 2, "--repeats", 1, "--steps", 200,
        "--rest", 3, "--jobs", 1, "--out", folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "dyna_q n_replays=2" in done.stdout
    files = sorted(path.relative_to(folder) for path in folder.rglob("[!.]*.*"))
    assert [str(file) for file in files] == [
        "change_rates.csv",
        "change_recovery.csv",
        "change_replay.csv",
        "figures/changes.pdf",
        "figures/changes.png",
        "figures.sha256",
        "manifest.json",
        "manifest.sha256",
        *(
            f"pieces/moving_reward/{number}{file}"
            for number in (0, 1)
            for file in ("/rates.parquet", "/replay.parquet", ".sha256")
        ),
        "report.md",
        "tables.sha256",
    ]
    (folder / "figures" / "changes.png").unlink()
    assert [path.name for path in draw_all(folder)] == ["changes.pdf", "changes.png"]
    assert [path.name for path in draw_all(folder, svg=True)][-1] == "changes.svg"
    assert (folder / "figures" / "changes.png").exists()
