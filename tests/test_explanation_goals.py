"""How far `replay explain` can be trusted: the study, by animals and tables that are known."""

from dataclasses import replace
from pathlib import Path

import explanation
import numpy as np
import pandas as pd
import pytest
from explanation import STUDY

from analyses.findings.accounts import ACCOUNTS
from analyses.inference.model_choice import ModelChoice, Simulations, parameter_intervals
from analyses.inference.simulation import simulate_misread
from analyses.jobs.run import run
from analyses.studies.explanation.identify import laps_of_task, plan_identifiability
from replay.data import reference_table

ROOT = Path(__file__).parents[1]


def simulated(rng, n_draws=60):
    names = np.repeat(np.array(["a", "b"], dtype=object), n_draws)
    x = rng.normal(np.where(names == "a", 0.0, 5.0))
    features = pd.DataFrame({"x": x, "noise": rng.normal(size=len(x))})
    return Simulations(names, np.tile(np.arange(n_draws), 2), features)


def test_the_same_animals_seen_otherwise():
    """By the trees of other draws: as before if nothing changed, and wrong if accounts swap."""
    known = simulated(np.random.default_rng(1))
    swapped = known.features.assign(x=5.0 - known.features["x"])
    choice = ModelChoice(known, 0, [known.features, swapped])
    np.testing.assert_array_equal(choice.unseen_as[0], choice.unseen)
    assert choice.summary()["recovered"] > 0.95
    assert choice.summary(choice.unseen_as[1])["recovered"] < 0.05
    assert choice.summary(choice.unseen_as[1])["calibration_error"] > 0.5


def test_one_replay_misread_by_several_shares():
    animal = laps_of_task("w_track", seed=1)
    account, params = ACCOUNTS["episodic_control"], {"discount": 0.9}
    both = simulate_misread(animal, account, params, np.random.SeedSequence(1), [0.0, 0.2])
    for share, made in zip([0.0, 0.2], both, strict=True):
        seeds = np.random.SeedSequence(1)
        [alone] = simulate_misread(animal, account, params, seeds, [share])
        assert made.states.flat.tolist() == alone.states.flat.tolist()
    assert both[0].states.length.mean() > both[1].states.length.mean()


def test_intervals_of_many_animals_are_those_of_each():
    rng = np.random.default_rng(2)
    known = simulated(rng)
    true = pd.DataFrame({"rate": known.features["x"] + rng.normal(size=120)})
    rows = known.features.head(3)
    found = parameter_intervals(known, true, rows).set_index("row")
    for k in range(3):
        [alone] = parameter_intervals(known, true, rows.iloc[[k]]).drop(columns="row").to_numpy()
        assert found.loc[k].tolist() == list(alone)


def test_what_was_reached_is_judged():
    recovered = pd.DataFrame(
        {"task": "maze", "n_sequences": [30, 100, 100], "noise": ["known", "known", "ignored"],
         "recovered": [0.5, 0.96, 0.2], "calibration_error": [0.2, 0.04, 0.3]}
    )  # fmt: skip
    without = pd.DataFrame(
        {"task": "maze", "account": ["a", "b or c", "walks and shuffles"],
         "accepted": [0.0, 0.08, 0.5]}
    )  # fmt: skip
    covered = pd.DataFrame({"task": "maze", "n": [10, 30], "covered": [0.9, 1.0]})
    table = explanation._judged(recovered, without, covered).set_index("goal")
    assert table["reached"].to_dict() == pytest.approx(
        {"recovered": 0.96, "calibration_error": 0.04, "left_out": 0.04,
         "walks_and_shuffles": 0.5, "parameters": 0.975}
    )  # fmt: skip
    assert table.index[table["is_reached"]].tolist() == ["recovered", "left_out"]


def test_accounts_that_differ_are_recovered_though_a_fifth_of_places_is_wrong():
    plan = plan_identifiability(
        {"w_track": laps_of_task("w_track", seed=2)},
        ["episodic_control", "shuffled_laps", "graph_walks"],
        n_sequences=[100], n_draws=20, wrong_places=0.2, seed=3,
    )  # fmt: skip
    tables = run(replace(STUDY, figures={}), plan, tell=lambda text: None)
    recovered = tables["recovered_accounts.csv"].set_index("noise")["recovered"]
    assert set(recovered.index) == {"none", "known", "unknown", "ignored"}
    assert recovered["known"] > 0.9
    assert recovered["ignored"] < recovered["known"]
    covered = tables["covered_parameters.csv"]
    assert covered["covered"].between(0, 1).all()
    assert set(covered["account"]) == {"episodic_control"}
    assert set(tables["goals.csv"]["goal"]) == set(explanation.GOALS)


def test_the_guide_has_the_shipped_table():
    """A row of each task: what was recovered, and how often a wrong answer would be sure."""
    guide = (ROOT / ".docs" / "how_well" / "explain.md").read_text("utf-8")
    recovered, goal, without = (
        reference_table(f"explanation/{name}")
        for name in ("recovered_accounts", "goals", "left_out_accounts")
    )
    at_best = without[without["account"] != explanation._CONTROLS].groupby("task")["at_best"].mean()
    reached = goal.pivot_table("reached", "task", "goal")
    known = recovered[recovered["noise"] == "known"]
    at_hundred = recovered[recovered["n_sequences"] == 100].set_index(["task", "noise"])
    for task, own in known.groupby("task"):
        by_number = own.sort_values("n_sequences")["recovered"]
        ignored = at_hundred.loc[(task, "ignored"), "recovered"]
        others = ["calibration_error", "left_out", "walks_and_shuffles", "parameters"]
        cells = [
            ", ".join(f"{share:.2f}" for share in by_number),
            f"{ignored:.2f}",
            f"{reached.loc[task, others[0]]:.3f}",
            f"{reached.loc[task, others[1]]:.2f}",
            f"{at_best[task]:.2f}",
            *(f"{reached.loc[task, name]:.2f}" for name in others[2:]),
        ]
        assert f"| `{task}` | {' | '.join(cells)} |" in guide, cells
    in_all = goal.groupby("goal")["is_reached"].all()
    assert in_all.index[in_all].tolist() == ["parameters"]
