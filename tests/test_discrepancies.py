"""Discrepancies between text and code: which learners run again, and paired differences."""

import json
from dataclasses import replace

import discrepancies
import numpy as np
import pandas as pd
import pytest
from commands import digests, interrupt
from discrepancies import COMPARED, STUDY, plan_variants
from discrepancies_figures import differing, discrepancies_figure, discrepancy_curves_figure
from scipy import stats
from typer.testing import CliRunner

from analyses.jobs.results import Results
from analyses.jobs.run import manifest, run
from analyses.studies.brea_2018 import plan_reproduction, reproduce
from replay.experiments import EXPERIMENTS
from replay.simulation import simulate
from replay.worlds.mdp import uniform_policy

REPRODUCTION = replace(reproduce.STUDY, figures={})  # drawing takes longest
SMALL = plan_reproduction(
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
    run(REPRODUCTION, SMALL, folder)
    plan, told = plan_variants(folder), []
    run(STUDY, plan, folder / "discrepancies", on_piece=told.append)
    assert sorted(told) == sorted(STUDY.all_pieces(plan))
    for name, changed in plan.changed.items():
        n_steps = sum(changed.n_mdps[each] * changed.world_steps(each) for each in changed.n_mdps)
        assert sum(STUDY.size(plan, piece) for piece in told if piece.group == name) == n_steps
    return folder


def test_only_what_changes_acts_again(folder):
    published, plans = plan_variants(folder)[1:]
    assert published == SMALL
    assert list(plans) == ["D3", "D4", "text"]
    assert plans["D3"].experiments == ("maze",)
    assert plans["D3"].learners == ("q_learning_optimistic",)
    assert plans["D3"].n_seeds == {"maze": 2}
    assert plans["D4"].learners == ("monte_carlo", "q_learning_optimistic")


def test_all_variants_of_the_whole_paper_are_planned(tmp_path, monkeypatch):
    monkeypatch.setattr(Results, "is_finished", lambda results, group, index: True)
    with_all = plan_reproduction(full=True)
    folder = tmp_path / "full"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(manifest(reproduce.STUDY, with_all)))
    plans = plan_variants(folder).changed
    assert list(plans) == list(COMPARED)
    assert "maze" not in plans["D2"].experiments
    assert "maze" not in plans["D1+D2"].experiments
    assert plans["D1+D2"].learners == ("n_step_td",)
    assert plans["D6"].learners == ("prioritized_sweeping_reset",)
    assert len(plans["D13"].learners) == 3
    assert plans["text"].experiments == with_all.experiments
    assert plans["text"].learners == with_all.learners
    assert plans["text"].n_pieces() == with_all.n_pieces()


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
    table = pd.read_csv(folder / "discrepancies" / "discrepancies.csv")
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
    table = pd.read_csv(folder / "discrepancies" / "discrepancies.csv")
    assert len(table) == 3 * (1 + 4 + 4)
    assert set(table.query("discrepancy == 'D3'")["learner"]) == {"q_learning_optimistic"}
    curves = pd.read_csv(folder / "discrepancies" / "discrepancy_curves.csv")
    assert len(curves) == 100 * (1 + 4 + 4)
    own = run(REPRODUCTION, plan_variants(folder).changed["D3"])["reward_rate.csv"]
    found = curves.query("discrepancy == 'D3'")["mean"].to_numpy()
    assert found == pytest.approx(own["mean"].to_numpy(), abs=1e-11)
    published = folder / "discrepancies" / "reward_rate.csv"
    assert published.read_bytes() == (folder / "reward_rate.csv").read_bytes()
    assert (folder / "discrepancies" / "figures" / "discrepancies.pdf").exists()


def test_the_same_command_again_makes_the_same_bytes(folder):
    first = digests(folder)
    result = CliRunner().invoke(discrepancies.app, [str(folder), "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "D13" in result.output
    assert digests(folder) == first


def test_folders_that_cannot_be_compared(folder, tmp_path, monkeypatch):
    variant = plan_reproduction(
        ["maze"], ["q_learning"], n_mdps=1, n_seeds=1, n_steps=100, log="none", variant="D3"
    )
    run(REPRODUCTION, variant, tmp_path / "variant")
    with pytest.raises(ValueError, match="holds the variant 'D3'"):
        plan_variants(tmp_path / "variant")
    plain = plan_reproduction(["maze"], ["dyna_q"], n_mdps=2, n_seeds=1, n_steps=100, log="none")
    with pytest.raises(KeyboardInterrupt):
        run(REPRODUCTION, plain, tmp_path / "plain", on_piece=interrupt(1))
    with pytest.raises(ValueError, match=r"is not finished\. Run its replay reproduce command"):
        plan_variants(tmp_path / "plain")
    run(REPRODUCTION, plain, tmp_path / "plain")
    with pytest.raises(ValueError, match="no learner on which"):
        plan_variants(tmp_path / "plain")
    with pytest.raises(FileNotFoundError, match="not a result folder"):
        plan_variants(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"discrepancies\.py\. Name"):
        plan_variants(folder / "discrepancies")
    monkeypatch.setattr("analyses.jobs.run.sources_digest", lambda *modules: "edited")
    with pytest.raises(ValueError, match="was written with other source files"):
        plan_variants(folder)


@pytest.mark.parametrize("entries", ["files", "learners"])
def test_a_manifest_does_not_choose_which_files_are_run(tmp_path, entries):
    """A folder from somebody else may hold a Python file and name it."""
    theirs = tmp_path / "theirs.py"
    theirs.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    held = manifest(reproduce.STUDY, SMALL)
    held |= {"files": {"monte_carlo": str(theirs)}, "learners": [str(theirs)]}
    del held["files" if entries == "learners" else "learners"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest(reproduce.STUDY, SMALL) | held))
    with pytest.raises(ValueError, match="other learners than those of this toolkit"):
        plan_variants(tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "wrong",
    [{"n_mdps": 5}, {"n_steps": {"maze": 1}}, {"experiments": ["../x"]}, {"n_seeds": {"maze": -1}}],
)
def test_a_manifest_of_another_kind_is_refused(tmp_path, wrong):
    held = manifest(reproduce.STUDY, SMALL) | wrong
    (tmp_path / "manifest.json").write_text(json.dumps(held))
    with pytest.raises(ValueError, match="is not that of a reproduction"):
        plan_variants(tmp_path)


def test_a_variant_is_in_the_manifest_and_not_mixed_with_another(folder):
    held = Results(folder / "discrepancies").manifest()
    assert held["changed"]["D3"]["variant"] == "D3"
    parameters = held["changed"]["D3"]["parameters"]["maze"]["q_learning_optimistic"]
    assert parameters["initial_value"] == 5.0
    with pytest.raises(ValueError, match="Unknown variant 'paper'"):
        plan_reproduction(variant="paper")


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
    assert names == ["n-step TD", "Monte Carlo"]  # D4 of n-step TD may be chance
    headings = [text.get_text() for text in figure.axes[0].texts]
    assert headings == ["No trace", "Meaning of ε"]
    intervals, dots = figure.axes[0].collections
    drawn = {tuple(dot) for dot in dots.get_offsets().round(6).tolist()}
    rows = zip([0.3, -0.2], figure.axes[0].get_yticks(), strict=True)
    assert drawn == {(x, round(y + k * 0.26, 6)) for x, y in rows for k in (-1, 0, 1)}
    assert len(intervals.get_segments()) == 6
    for segment in intervals.get_segments():
        assert (segment[:, 0].mean().round(6), segment[0, 1].round(6)) in drawn
        assert np.ptp(segment, axis=0) == pytest.approx([0.2, 0])


def test_the_figure_names_what_makes_no_difference(differences):
    figure = discrepancies_figure(differences.assign(ci_low=-0.1, ci_high=0.5))
    assert {text.get_text() for ax in figure.axes for text in ax.texts} == {
        "no visible\ndifference"
    }
    note = figure.texts[0].get_text().replace("\n", " ")
    assert note.endswith("No such difference: No trace, Meaning of ε.")


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
        "No trace\nStochastic tree",
        "No trace\nMaze",
        "Meaning of ε\nStochastic tree",
        "Meaning of ε\nMaze",
    ]
    assert [line.get_ydata().tolist() for line in shown[0].lines[:2]] == [[0.1, 0.1], [0.2, 0.4]]
    with pytest.raises(ValueError, match="no rows"):
        discrepancies_figure(differences.head(0))
