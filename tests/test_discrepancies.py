"""What discrepancies of text and code do: which learners act again, and paired differences."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from analyses.cli import app
from analyses.jobs.results import Results
from analyses.plots.discrepancies import (
    differing,
    discrepancies_figure,
    discrepancy_curves_figure,
)
from analyses.studies.brea_2018.plan import Plan
from analyses.studies.brea_2018.reproduce import reproduce
from analyses.studies.discrepancies import COMPARED, compare, compare_discrepancies, plan_variants
from replay.experiments import EXPERIMENTS
from replay.simulation import simulate
from replay.worlds.mdp import uniform_policy

SMALL = Plan.make(
    ["stochastic_tree", "maze"],
    ["q_learning_optimistic", "monte_carlo"],
    n_mdps=3,
    n_seeds=2,
    n_steps={"stochastic_tree": 1000, "maze": 2000},
    log="none",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "results"
    reproduce(SMALL, folder)
    told = []
    compare_discrepancies(folder, on_piece=lambda name, n_steps: told.append((name, n_steps)))
    plans = plan_variants(folder)
    done = pd.DataFrame(told, columns=["variant", "steps"]).groupby("variant")["steps"].sum()
    assert done.to_dict() == {name: plan.total_steps for name, plan in plans.items()}
    return folder


def test_only_what_changes_acts_again(folder):
    plans = plan_variants(folder)
    assert list(plans) == ["published", "D3", "D4", "text"]
    assert plans["published"] == SMALL
    assert plans["D3"].experiments == ("maze",)
    assert plans["D3"].learners == ("q_learning_optimistic",)
    assert plans["D3"].n_seeds == {"maze": 2}
    assert plans["D4"].learners == ("monte_carlo", "q_learning_optimistic")


def test_all_variants_of_the_whole_paper_are_planned(tmp_path):
    with_all = Plan.make(full=True)
    folder = tmp_path / "full"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(with_all.manifest()))
    plans = plan_variants(folder)
    assert list(plans) == ["published", *COMPARED]
    assert "maze" not in plans["D2"].experiments
    assert "maze" not in plans["D1+D2"].experiments
    assert plans["D1+D2"].learners == ("n_step_td",)
    assert plans["D6"].learners == ("prioritized_sweeping_reset",)
    assert len(plans["D13"].learners) == 3
    assert plans["text"].n_runs == with_all.n_runs


def normalised_runs(variant, name, learner):
    """Return the normalised windows of all runs, shape (3, 2, 100)."""
    experiment = EXPERIMENTS[name].variant(variant)
    worlds = []
    for index in range(3):
        mdp = experiment.mdp(index)
        random = mdp.reward_rate(uniform_policy(mdp))
        best = mdp.reward_rate(mdp.solve(experiment.discount).policy, experiment.epsilon)
        rates = [
            simulate(
                mdp,
                learner,
                experiment.parameters[learner],
                n_steps=SMALL.n_steps[name],
                seed=experiment.run_seed(index, run),
                log="none",
            ).reward_rate["reward_rate"]
            for run in range(2)
        ]
        worlds.append((np.array(rates) - random) / (best - random))
    return np.array(worlds)


@pytest.mark.parametrize("variant", ["D4", "text"])
def test_differences_are_those_of_runs_paired_over_worlds(folder, variant):
    table = pd.read_csv(folder / "discrepancies.csv")
    row = table.query(
        "discrepancy == @variant and experiment == 'stochastic_tree' and learner == 'monte_carlo'"
    ).set_index("period")
    one = normalised_runs("published", "stochastic_tree", "monte_carlo")
    other = normalised_runs(variant, "stochastic_tree", "monte_carlo")
    for period, windows in (
        ("early", slice(0, 10)),
        ("whole", slice(0, 100)),
        ("late", slice(90, 100)),
    ):
        means = [each[:, :, windows].mean(axis=(1, 2)) for each in (one, other)]
        test = stats.ttest_rel(means[1], means[0])
        low, high = test.confidence_interval(0.95)
        found = row.loc[period]
        assert found["published"] == pytest.approx(means[0].mean(), abs=1e-9)
        assert found["changed"] == pytest.approx(means[1].mean(), abs=1e-9)
        assert found["difference"] == pytest.approx((means[1] - means[0]).mean(), abs=1e-9)
        assert found["sem"] == pytest.approx(stats.sem(means[1] - means[0]), abs=1e-9)
        assert (found["ci_low"], found["ci_high"]) == pytest.approx((low, high), abs=1e-9)
        assert found["n_mdps"] == 3


def test_tables_have_the_changed_learners_only(folder):
    table = pd.read_csv(folder / "discrepancies.csv")
    assert len(table) == 3 * (1 + 4 + 4)
    assert set(table.query("discrepancy == 'D3'")["learner"]) == {"q_learning_optimistic"}
    curves = pd.read_csv(folder / "discrepancy_curves.csv")
    assert len(curves) == 100 * (1 + 4 + 4)
    own = pd.read_csv(folder / "variants" / "D3" / "reward_rate.csv")
    assert curves.query("discrepancy == 'D3'")["mean"].tolist() == own["mean"].tolist()
    assert (folder / "figures" / "discrepancies.pdf").exists()


def test_the_same_command_again_makes_the_same_bytes(folder):
    def digests():
        files = [path for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
        return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    first = digests()
    result = CliRunner().invoke(app, ["discrepancies", str(folder), "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "D13" in result.output
    assert digests() == first


def test_folders_of_other_sizes_are_not_compared(folder, tmp_path):
    reproduce(
        Plan.make(["maze"], ["monte_carlo"], n_mdps=2, n_seeds=1, n_steps=100), tmp_path / "a"
    )
    with pytest.raises(ValueError, match="maze n_steps is 2000 in"):
        compare(Results(folder), Results(tmp_path / "a"))
    with pytest.raises(ValueError, match="No learner has other parameters"):
        compare(Results(folder), Results(folder))
    with pytest.raises(ValueError, match="holds the variant 'D3'"):
        plan_variants(folder / "variants" / "D3")
    with pytest.raises(FileNotFoundError, match="no result folder"):
        plan_variants(tmp_path / "b")


def test_a_variant_is_in_the_manifest_and_not_mixed_with_another(folder):
    place = folder / "variants" / "D3"
    manifest = Results(place).manifest()
    assert manifest["variant"] == "D3"
    assert manifest["parameters"]["maze"]["q_learning_optimistic"]["initial_value"] == 5.0
    with pytest.raises(FileExistsError, match="variant is D3 there and published here"):
        reproduce(Plan.make(["maze"], ["q_learning_optimistic"], n_mdps=3, n_seeds=2,
                            n_steps=2000, log="none"), place)  # fmt: skip
    with pytest.raises(ValueError, match="Unknown variant 'paper'"):
        Plan.make(variant="paper")


@pytest.fixture
def differences():
    rows = [
        (discrepancy, experiment, learner, period, difference, difference - 0.1, difference + 0.1)
        for discrepancy, learner, difference in (
            ("D1", "n_step_td", 0.3),
            ("D4", "n_step_td", 0.05),
            ("D4", "monte_carlo", -0.2),
        )
        for experiment in ("stochastic_tree", "maze")
        for period in ("early", "whole", "late")
    ]
    columns = ["discrepancy", "experiment", "learner", "period", "difference", "ci_low", "ci_high"]
    return pd.DataFrame(rows, columns=columns)


def test_the_figure_has_a_row_for_each_learner_of_each_discrepancy(differences):
    figure = discrepancies_figure(differences)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Stochastic tree", "Maze"]
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["n-step TD", "Monte Carlo", "n-step TD"]
    headings = [text.get_text() for text in figure.axes[0].texts]
    assert headings == ["D1: no trace", "D4: meaning of ε"]
    intervals, dots = figure.axes[0].collections
    drawn = {tuple(dot) for dot in dots.get_offsets().round(6).tolist()}
    rows = zip([0.3, -0.2, 0.05], figure.axes[0].get_yticks(), strict=True)
    assert drawn == {(x, round(y + k * 0.26, 6)) for x, y in rows for k in (-1, 0, 1)}
    assert len(intervals.get_segments()) == 9
    for segment in intervals.get_segments():
        assert (segment[:, 0].mean().round(6), segment[0, 1].round(6)) in drawn
        assert np.ptp(segment, axis=0) == pytest.approx([0.2, 0])


def test_curves_are_drawn_where_they_differ(differences):
    assert differing(differences).query("experiment == 'maze'")["learner"].tolist() == [
        "n_step_td",
        "monte_carlo",
    ]
    curve = pd.DataFrame(
        {"time_step": [100, 200], "mean": [0.2, 0.4], "ci_low": [0.1, 0.3], "ci_high": [0.3, 0.5]}
    )
    keys = differences[["discrepancy", "experiment", "learner"]].drop_duplicates()
    changed = keys.merge(curve, how="cross")
    published = keys[["experiment", "learner"]].drop_duplicates().merge(curve, how="cross")
    figure = discrepancy_curves_figure(published.assign(mean=0.1), changed, differences)
    shown = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert [ax.get_title(loc="left") for ax in shown] == [
        "D1: no trace\nStochastic tree",
        "D1: no trace\nMaze",
        "D4: meaning of ε\nStochastic tree",
        "D4: meaning of ε\nMaze",
    ]
    assert [line.get_ydata().tolist() for line in shown[0].lines[:2]] == [[0.1, 0.1], [0.2, 0.4]]
    with pytest.raises(ValueError, match="nothing to draw"):
        discrepancies_figure(differences.head(0))
