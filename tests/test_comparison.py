"""The comparison: same bytes, resumable, with a user's tasks, accounts and findings."""

import csv
import json
import re
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import digests, interrupt, replay
from scipy import stats
from typer.testing import CliRunner

from analyses import compare
from analyses.cli import app
from analyses.findings.accounts import ACCOUNTS as KNOWN
from analyses.findings.accounts import SHELL, Account
from analyses.findings.evidence import (
    N_DRAWN_SETS,
    Count,
    Scoring,
    Studies,
    Value,
    evidence,
    published,
)
from analyses.findings.priors import OneOf
from analyses.findings.table import findings
from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.jobs.study import Piece
from analyses.measures import STATISTICS
from analyses.plots import save
from analyses.plots.findings import found_accounts_figure, page_figure, study_figures
from analyses.plots.style import label
from analyses.studies.comparison import plan_comparison, plan_rescoring
from analyses.studies.comparison.compare_accounts import STUDY
from analyses.studies.comparison.identification import (
    classified,
    fit,
    identification,
    mistaken,
    mixed,
)
from analyses.studies.comparison.scores import SETTINGS, agreed, evidence_table
from analyses.studies.comparison.simulated_studies import (
    Predictions,
    predictions,
    settings,
    simulate_studies,
    weights,
)
from replay.data import reference_table
from replay.files import write_checksums
from replay.learners import LEARNERS
from replay.tasks.published import TASKS as PUBLISHED
from replay.tasks.published import TaskEntry, find_task
from replay.tasks.published.arms import long_track
from replay.tasks.published.t_mazes import gupta_2t

ACCOUNTS = ["episodic_control", "prioritized_memory_access", "graph_walks", "uniform_reactivation"]


def short_track(rng=None):
    return long_track(n_laps=6 if rng is None else int(rng.integers(4, 8)))


def short_t():
    return gupta_2t(n_laps=2)


TASKS = {
    "long_track": TaskEntry(short_track, ("reverse_share", "begins_at_animal")),
    "gupta_2t": TaskEntry(short_t, ("reverse_share", "shortcut_share")),
}
SIZES = {"n_draws": 6, "seed": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("comparison") / "out"


@pytest.fixture(scope="module")
def tables(folder):
    return compare(TASKS, ACCOUNTS, **SIZES, out=folder)


def test_the_figure_says_how_many_sets_are_drawn():
    figure = found_accounts_figure(reference_table("comparison/confusion"))
    assert any(
        f"of up to {N_DRAWN_SETS} simulated sets" in each.get_text() for each in figure.texts
    )


def test_what_is_written(folder, tables):
    names = {name for name in digests(folder) if "/" not in name}
    written = {
        "fit.csv", "evidence.csv", "sums.csv", "confusion.csv", "robustness.csv", "regions.csv",
        "measurements.csv", "mixtures.csv", "findings.csv", "studies.parquet", "parameters.parquet",
        "identification.csv", "classified.csv", "mistaken.csv",
    }  # fmt: skip
    assert names == written | {
        "manifest.json", "manifest.sha256", "tables.sha256", "figures.sha256", "report.md",
    }  # fmt: skip
    figures = {path.stem for path in (folder / "figures").iterdir()}
    assert figures == {
        "findings",
        "sums",
        "found_accounts",
        "study_gupta2010",
        "study_davidson2009",
    }
    status = Results(folder).status()
    assert not status.missing
    assert not status.damaged
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["accounts"]["episodic_control"]["priors"]["discount"]["low"] == 0.8


def test_python_gives_what_the_command_prints_and_writes(folder, tables, tmp_path):
    assert tables.report() == (folder / "report.md").read_text("utf-8")
    assert repr(tables) in tables.report()
    assert repr(tables) in tables._repr_html_()
    # Of two accounts, neither is ahead of both controls: said without a double negation.
    assert re.search(r"By all findings, (none|\d) of \d accounts (is|are) ahead", repr(tables))
    assert set(tables.figures()) == {path.stem for path in (folder / "figures").iterdir()}
    tables.save(tmp_path / "again")
    assert digests(tmp_path / "again") == digests(folder)


def test_all_accounts_are_scored_by_all_findings(tables):
    found = tables["evidence"]
    assert not found.duplicated(["finding", "account"]).any()
    assert set(found["account"]) == {*ACCOUNTS, "prioritized_memory_access (as published)"}
    assert found.groupby("finding").size().eq(5).all()
    # What is replayed backwards only is no reverse share of .39, and no walk is.
    reverse = found[found["finding"] == "davidson2009.reverse_of_directional"]
    reverse = reverse.set_index("account")
    assert reverse.loc["episodic_control", "predicted"] == 1
    assert reverse.loc["episodic_control", "evidence"] == pytest.approx(np.log2(0.05), abs=0.1)
    assert (found["evidence"] >= np.log2(0.05) - 1e-9).all()


def test_both_factors_are_summed(tables):
    found, sums = tables["evidence"], tables["sums"].set_index("account")
    told = tables["robustness"].pivot_table("evidence_of_all", "account", "setting")
    for factor, setting in (
        ("presence", "whether there is such replay"),
        ("value", "its value, if there is such replay"),
    ):
        total = (found[factor] * found["weight"]).groupby(found["account"]).sum()
        assert sums[f"{factor}_of_all"].sub(total).abs().max() < 1e-9
        assert told[setting].sub(total).abs().max() < 1e-9
    both = sums["presence_of_all"] + sums["value_of_all"]
    assert told["two factors"].sub(both).abs().max() < 1e-9
    lacks = found["share_without_replay"] == 1
    assert lacks.any()
    assert (found.loc[lacks, "value"] == 0).all()
    assert (found.loc[found["share_without_replay"] == 0, "presence"] == 0).all()


def test_the_same_studies_are_scored_again(folder, tables, tmp_path):
    changed = findings()
    reverse = changed["id"] == "gupta2010.bwd_fraction"
    changed.loc[reverse, ["successes", "value"]] = [86.0, 0.05]
    again = compare(simulated=folder, findings=changed)
    for name in ("studies", "parameters", "measurements"):
        pd.testing.assert_frame_equal(again[name], tables[name], obj=name)
    found, before = again["evidence"], tables["evidence"]
    same = found["finding"] != "gupta2010.bwd_fraction"
    pd.testing.assert_frame_equal(found[same], before[same])
    assert (found[~same]["evidence"] != before[~same]["evidence"]).any()
    changed.loc[reverse, "id"] = "mine2026.reverse"
    with pytest.raises(ValueError, match=r"no simulated studies of 'mine2026\.reverse'"):
        compare(simulated=folder, findings=changed)
    with pytest.raises(FileNotFoundError, match="no manifest"):
        compare(simulated=tmp_path)


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"statistics": {"theirs.py": ["S1"]}}, r"Unknown task 'theirs\.py'"),
        ({"statistics": None}, "had no tasks and accounts"),
        ({"n_draws": "many"}, r"number of draws of .* must be"),
    ],
)
def test_a_manifest_of_somebody_else_runs_no_file(tmp_path, monkeypatch, held, message):
    monkeypatch.chdir(tmp_path)
    Path("theirs.py").write_text("open('ran', 'w')")
    valid = {"study": "comparison", "statistics": {"long_track": ["S1"]}, "accounts": {"sfma": {}}}
    Path("manifest.json").write_text(json.dumps(valid | {"n_draws": 2, "seed": 0} | held))
    write_checksums("tables.sha256", [], tmp_path)
    with pytest.raises(ValueError, match=message):
        plan_rescoring(tmp_path)
    assert not Path("ran").exists()


def test_who_cannot_make_shortcuts_gets_negative_bits(tables):
    row = tables["findings"].set_index("id", drop=False).loc["gupta2010.shortcut_rate.never"]
    made = tables["studies"].query("finding == @row.id and account == 'episodic_control'")
    made = Studies(*(made[name].to_numpy(float) for name in Studies._fields))
    assert not made.successes.any()
    shortcuts = published(row.to_dict())
    assert evidence(shortcuts.likelihood(made)) < -2
    assert evidence(shortcuts.likelihood(made, Scoring(false_positives=None))) > 1


def test_an_account_fits_the_findings_that_it_predicts(tables):
    """The p of its own results is spread from 0 to 1, and that of other results is not."""
    plan = plan_comparison(TASKS, ["graph_walks"], **SIZES)
    known = predictions(plan, tables["studies"].query("account == 'graph_walks'"))
    rng = np.random.default_rng(4)
    told = []
    for draw in range(6):
        results = [
            result.as_found(studies["graph_walks"], draw).repeated(rng)
            for result, studies in zip(known.results, known.studies, strict=True)
        ]
        others = [
            {"graph_walks": each["graph_walks"].take(np.delete(np.arange(6), draw))}
            for each in known.studies
        ]
        found = fit(known._replace(results=results, studies=others), rng)
        told.append(found["p"].item())
    assert 0.2 < np.mean(told) < 0.8
    assert np.ptp(told) > 0.2
    unrelated = [result.unrelated(rng) for result in known.results]
    assert fit(known._replace(results=unrelated), rng)["p"].item() < 0.1
    assert tables["fit"]["p"].between(1 / 129, 1).all()


def test_the_distance_of_a_sum_is_in_standard_deviations_of_its_own_sums():
    _, known = hand_made()
    rows = fit(known, np.random.default_rng(1)).set_index("account")
    # Shares of .2 are farther from the published .8 than those of .8, which it is one of.
    assert abs(rows.loc["dyna_q", "distance"]) < 1.5
    assert rows.loc["episodic_control", "distance"] > 4
    # Its own sums have a few outliers, by surprise, so that 90 % of them span less than 3.3 sd.
    spans = rows["expected_high"] - rows["expected_low"]
    apart = rows["distance"] * spans / (rows["expected"] - rows["evidence"])
    assert apart["episodic_control"] == pytest.approx(2.5, abs=1.0)


def test_what_is_mistaken_is_told_apart_by_the_statistic_in_which_it_differs_most():
    names = ["episodic_control", "dyna_q", "graph_walks"]
    plan = plan_comparison(["long_track"], names, n_draws=64)
    rng = np.random.default_rng(5)
    # By the first statistic all are alike; by the second dyna_q differs half of the time.
    values = {"reverse_share": rng.random((3, 64)), "ends_at_animal": rng.random((3, 64))}
    values["ends_at_animal"][1, :32] += 1.0
    simulated = pd.DataFrame(
        [
            ("long_track", name, statistic, "", value)
            for statistic, each in values.items()
            for name, own in zip(names, each, strict=True)
            for value in own
        ],
        columns=["task", "account", "statistic", "finding", "value"],
    )
    confused = pd.DataFrame(
        [[0.4, 0.6, 0.0], [0.3, 0.5, 0.2], [0.0, 0.0, 1.0]], names, pd.Index(names, name="found")
    )
    confused = confused.rename_axis("truth").reset_index().melt("truth", value_name="share")
    found = mistaken(plan, simulated, confused).set_index("truth")
    assert found["right"].tolist() == [0.4, 0.5, 1.0]
    assert found["mistaken_for"].tolist() == ["dyna_q", "episodic_control", ""]
    assert found.loc["dyna_q", ["statistic", "task"]].tolist() == ["ends_at_animal", "long_track"]
    # Half of the studies of one account are in cells that the other never has. With equal odds
    # that is 1 - (3/4) H(1/3) = .31 bits; cells of chance add some hundredths.
    assert found.loc["dyna_q", "apart"] == pytest.approx(0.31, abs=0.12)
    assert found.loc["episodic_control", "apart"] == pytest.approx(found.loc["dyna_q", "apart"])
    assert np.isnan(found.loc["graph_walks", "apart"])


def hand_made(n_draws=12):
    """Two findings of one study: accounts have shares of .2, or .8 with and without the other."""
    names = ["episodic_control", "dyna_q", "graph_walks"]
    rng = np.random.default_rng(0)
    share = {"episodic_control": 0.2, "dyna_q": 0.8, "graph_walks": 0.8}

    def studies(name, is_defined=True):
        here = share[name] + rng.uniform(-0.05, 0.05, n_draws)
        n = np.full(n_draws, 6.0 if is_defined else 0.0)
        mean, sd = (np.where(n > 0, each, np.nan) for each in (here - 0.5, np.full(n_draws, 0.1)))
        return Studies(200 * here * (n > 0), 200.0 * (n > 0), mean, sd, mean + 0.5, n)

    known = Predictions(
        [{"id": f"one.{k}", "study": "one", "statistic": "reverse_share"} for k in range(2)],
        [Count(0.0, 1.0, 160.0, 200.0, is_share=True), Value(0.0, 1.0, 0.8, 0.05, is_share=True)],
        [
            {name: studies(name) for name in names},
            {name: studies(name, name != "graph_walks") for name in names},
        ],
        np.full(2, 0.5),
    )
    return plan_comparison(["long_track"], names, n_draws=n_draws), known


def test_a_classifier_reads_all_statistics_of_a_study_and_which_are_undefined():
    plan, known = hand_made()
    found = classified(plan, known, np.random.default_rng(1)).set_index("found")
    assert set(found.index) == {"episodic_control", "dyna_q", "graph_walks"}
    assert found["probability"].sum() == pytest.approx(1.0)
    assert found["probability"].idxmax() == "dyna_q"
    assert found.loc["dyna_q", "probability"] > 0.8
    assert found.loc["dyna_q", "p"] > 0.05 >= found.loc["episodic_control", "p"] - 0.05
    assert found["recovered"].iloc[0] > 0.9
    undefined = known._replace(
        studies=[known.studies[0], {**known.studies[1], "dyna_q": known.studies[1]["graph_walks"]}]
    )
    alike = classified(plan, undefined, np.random.default_rng(1))
    assert "dyna_q or graph_walks" in set(alike["found"])
    few, known = hand_made(n_draws=4)
    assert classified(few, known, np.random.default_rng(1)).empty


def test_the_truth_is_found_also_with_noise_unless_it_is_in_no_list():
    plan, known = hand_made()
    fits = fit(known, np.random.default_rng(2))
    found = identification(plan, known, fits, np.random.default_rng(3))
    shares = found.set_index(["condition", "truth"])
    for condition in ("with noise", "studies differ in parameters"):
        assert shares.loc[(condition, "episodic_control"), "right"] > 0.8
        assert shares.loc[(condition, "dyna_q"), "right"] >= 0.5
    absent = shares.loc["truth in no list"]
    assert (absent["right"] == 0).all()
    assert absent.loc["dyna_q", "mistaken_for"] == "graph_walks"
    assert absent.loc["episodic_control", "share_fitting"] < 0.5


def test_duplicate_findings_share_their_weight():
    rows = findings().query("study == 'widloski2022' and likelihood != 'none' and why_not == ''")
    weight = dict(zip(rows["id"], weights(rows), strict=True))
    assert weight["widloski2022.home_end"] == weight["jensen2024.goal_pass"]
    assert weight["jensen2024.wall_cross"] == 2 * weight["jensen2024.goal_pass"]
    assert sum(weight.values()) == pytest.approx(1.0)
    each = weights(rows, duplicates_share=False)
    assert each == pytest.approx(1 / len(rows))


def test_draws_are_chosen_by_the_outer_shell():
    """An account that lacks a parameter keeps all of its draws; halves have each draw once."""
    drawn = [{"replay_at": "pauses"}, {"replay_at": "end_and_rest", "backup_cost": 0.1}, {}]
    before = SETTINGS["replay before a run, too"].draws
    assert before(drawn[:2]).tolist() == [0]
    assert before([{"discount": 0.9}] * 2).tolist() == [0, 1]
    assert SETTINGS["pauses end by a limit alone"].draws(drawn).tolist() == [0, 2]
    halves = [SETTINGS[f"{name} half of the draws"].draws(drawn) for name in ("first", "second")]
    assert np.concatenate(halves).tolist() == [0, 1, 2]


def test_findings_at_rest_can_be_left_out():
    """Four studies are about rest alone, in which some accounts have nothing left to replay."""
    rows = findings().query("likelihood != 'none' and why_not == ''")
    at_rest = [name for name, each in STATISTICS.items() if "rest" in each.phases]
    assert set(rows.loc[rows["statistic"].isin(at_rest), "study"]) == {
        "huelin2023", "lee2002", "liu2019", "olafsdottir2015",
    }  # fmt: skip


def test_findings_that_all_predict_leave(tables):
    found = tables["evidence"]
    of_all = found[~found["as_published"]].groupby("finding")["evidence"]
    assert agreed(found).to_dict() == (of_all.min() > 1).to_dict()
    every = found.assign(evidence=2.0)
    assert agreed(every).all()


def test_a_study_has_one_vote(tables):
    found = tables["evidence"].drop_duplicates("finding")
    assert found.groupby("study")["weight"].sum().to_numpy() == pytest.approx(1.0)
    rows = pd.DataFrame(
        {"id": ["a", "b", "c"], "study": ["a", "b", "c"], "contradicts": ["b c", "a c", "a b"]}
    ).assign(task_name="w_track", statistic="reverse_share")
    assert weights(rows).sum() == pytest.approx(1.0)


def test_one_draw_accounts_for_all_findings_of_a_study(tables):
    """Joint sums equal those of the simulated studies, finding by finding and draw by draw."""
    told = tables["robustness"].query("setting == 'one draw for all findings of a study'")
    told = told.set_index("account")["evidence_of_all"]
    rows = tables["findings"].set_index("id", drop=False)
    known = tables["evidence"].drop_duplicates("finding").set_index("finding")
    simulated = tables["studies"].query("finding != ''")
    assert known.groupby("study").size().max() > 1
    for account, of_account in simulated.groupby("account"):
        total = 0.0
        for _, of_study in known.groupby("study"):
            by_draw = dict.fromkeys(of_account["draw"], 1.0)
            for finding in of_study.index:
                each = of_account[of_account["finding"] == finding].sort_values("draw")
                columns = (each[name].to_numpy(float) for name in Studies._fields)
                likelihood = published(rows.loc[finding].to_dict()).likelihood(Studies(*columns))
                for draw, found in zip(each["draw"], likelihood, strict=True):
                    by_draw[draw] *= 0.95 * found + 0.05
            joint = np.log2(np.mean(list(by_draw.values())))
            total += of_study["weight"].mean() * joint
        assert told[account] == pytest.approx(total)


def test_a_mixture_is_what_both_parts_replay():
    """Of two simulated animals' sequences, as many as the share says are drawn from each."""
    rng = np.random.default_rng(7)
    one, other = (rng.random((2, 400)) < [[0.9], [0.2]]).astype(float)
    always, never = np.full(3, np.nan), np.zeros(3)
    parts = [
        Studies(*(np.full(3, x) for x in (each.sum(), 400, each.mean() - 0.5, 0.1, each.mean(), 4)))
        for each in (one, other)
    ]
    shares = np.array([0.0, 0.25, 1.0])
    both = mixed(*parts, shares, are_shares=True)
    for draw, share in enumerate(shares):
        n = round(400 * share)
        drawn = np.concatenate([one[n:], other[:n]])  # in random order anyway
        assert both.value[draw] == pytest.approx(drawn.mean(), abs=0.03)
        assert both.successes[draw] / both.trials[draw] == pytest.approx(both.value[draw])
        assert both.mean[draw] == pytest.approx(both.value[draw] - 0.5)
    # What is no share has the part with more sequences, and so has what only one part replays.
    assert mixed(*parts, shares, are_shares=False).value.tolist() == [
        *parts[0].value[:2],
        parts[1].value[2],
    ]
    silent = Studies(never, never, always, always, always, never)
    for pair in ((parts[0], silent), (silent, parts[0])):
        for column, expected in zip(mixed(*pair, shares, are_shares=True), parts[0], strict=True):
            assert column.tolist() == expected.tolist()


def test_half_reverse_replay_can_be_two_accounts(tables):
    """What replays backwards only and walks share 39 % better than the former does alone."""
    rows = tables["mixtures"].set_index(["account", "other"])
    assert len(rows) == 3  # of two accounts, and walks
    assert rows["evidence"].is_monotonic_decreasing
    told = tables["robustness"].pivot_table("evidence_of_all", "account", "setting")
    for name in ("episodic_control", "prioritized_memory_access"):
        assert rows.loc[(name, "graph_walks"), "evidence"] == pytest.approx(
            told.loc[name, "with walks along the track"]
        )
        alone = max(told.loc[[name, "graph_walks"], "usual"])
        assert rows.loc[(name, "graph_walks"), "gain"] == pytest.approx(
            rows.loc[(name, "graph_walks"), "evidence"] - alone
        )
    assert rows["p"].between(1 / 129, 1).all()


def test_the_sums_are_those_of_diagnostic_findings(tables):
    found, sums = tables["evidence"], tables["sums"].set_index("account")
    best = found[~found["is_control"] & ~found["as_published"]]
    control = found[found["is_control"]].groupby("finding")["evidence"].max()
    told = best.groupby("finding")["evidence"].max() - control > 1
    assert (
        found.groupby("finding")["diagnostic"]
        .first()
        .astype(bool)
        .equals(told.rename("diagnostic"))
    )
    for account, own in found.groupby("account"):
        kept = own[own["diagnostic"].astype(bool)]
        total = (kept["evidence"] * kept["weight"]).sum()
        assert sums.loc[account, "evidence"] == pytest.approx(total)


def test_truths_are_found_in_the_end(tables):
    confusion = tables["confusion"].pivot_table("share", "truth", "found")
    assert confusion.sum(axis=1).to_numpy() == pytest.approx(1.0)
    assert confusion.idxmax(axis=1)["episodic_control"] == "episodic_control"
    told = tables["measurements"]
    assert told["apart"].between(0, 1).all()
    assert (told["information"] <= np.log2(len(ACCOUNTS))).all()


@pytest.mark.slow
def test_interruptions_and_processes_make_no_difference(folder, tables, tmp_path):
    out = tmp_path / "in_two"
    with pytest.raises(KeyboardInterrupt):
        run(STUDY, plan_comparison(TASKS, ACCOUNTS, **SIZES), out, on_piece=interrupt(3))
    assert Results(out).status().missing
    compare(TASKS, ACCOUNTS, **SIZES, out=out, jobs=2)
    assert digests(out) == digests(folder)
    with pytest.raises(FileExistsError, match=r"another run \(seed is 3 there and 4 here\)"):
        compare(TASKS, ACCOUNTS, n_draws=6, seed=4, out=out)


def test_findings_and_accounts_of_ones_own(tmp_path):
    own = pd.DataFrame(
        {
            "id": ["mine2026.reverse"], "citation": ["Mine M (2026) My track."], "year": [2026],
            "quantity": ["paths run both ways"], "statistic": ["reverse_share"],
            "task_name": ["mine"],
            "likelihood": ["direction"], "sign": [1], "p_value": [0.01], "n_units": [6],
            "n_animals": [6],
        }
    )  # fmt: skip
    accounts = {
        "backwards": Account("episodic_control", {"discount": OneOf((0.9, 0.95), "any")}),
        "walks": plan_comparison(["long_track"], ["graph_walks"]).accounts["graph_walks"],
    }
    task = {"mine": TaskEntry(short_track, ("reverse_share",))}
    plan = plan_comparison(task, accounts, n_draws=4, findings=findings(own))
    tables = compare(task, accounts, n_draws=4, findings=findings(own))
    found, sums = tables["evidence"], tables["sums"]
    assert np.isfinite(sums["evidence_of_all"]).all()
    of_one_study = ["ci_low", "ci_low_of_all", "ahead_high_of_all"]
    assert sums[of_one_study].isna().all(axis=None)
    shown = list(STUDY.show(plan, {f"{name}.csv": each for name, each in tables.items()}))
    first = shown[1]  # after what was found
    assert first.title.startswith("mine2026.reverse")
    assert first.table["account"].tolist() == ["backwards", "walks"]
    mine = found.set_index(["finding", "account"])["evidence"]
    row = tables["findings"].set_index("id", drop=False).loc["mine2026.reverse"]
    made = tables["studies"].query("finding == 'mine2026.reverse' and account == 'backwards'")
    made = Studies(*(made[name].to_numpy(float) for name in Studies._fields))
    expected = evidence(published(row.to_dict()).likelihood(made))
    assert mine["mine2026.reverse", "backwards"] == pytest.approx(expected)
    assert expected > 1 > mine["mine2026.reverse", "walks"]
    with pytest.raises(TypeError, match="must be an Account, got 3"):
        compare(task, {"x": 3})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": []}, "Name at least one task"),
        ({"tasks": {"x": TaskEntry(short_track, ("S99",))}}, "Unknown statistic 'S99'"),
        ({"accounts": {}}, "Name at least one account"),
        ({"accounts": {"x": Account("dyna_q", {}, {"n": 1})}}, "has no parameter 'n'"),
    ],
)
def test_mistakes_are_explained(change, message):
    """Those that can be typed, too, are among the commands of `test_cli`."""
    options = {"tasks": ["linear_track"], "accounts": ACCOUNTS, **change}
    with pytest.raises(ValueError, match=message):
        compare(options.pop("tasks"), options.pop("accounts"), **options)


def test_figures_have_a_row_a_finding(tables, tmp_path):
    found = tables["evidence"]
    page = page_figure(found, tables["sums"])
    assert len(page.axes[0].get_yticklabels()) == found["study"].nunique()
    assert len(page.axes[0].get_xticklabels()) == len(ACCOUNTS)
    save(page, tmp_path / "page")
    of_study = dict(study_figures(found))
    assert set(of_study) == set(found["study"])
    for name, figure in study_figures(found.query("account == 'graph_walks'")):
        save(figure, tmp_path / name)


OWN_TASK = """
from replay.tasks.published import TaskEntry
from replay.tasks.published.arms import linear_track

def build():
    return linear_track(n_training=2, n_laps=2)

TASK = TaskEntry(build, ("reverse_share",))
"""


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_command_takes_a_task_of_ones_own(tmp_path, jobs):
    (tmp_path / "mine.py").write_text(OWN_TASK)
    options = ("--accounts", "dyna_q,graph_walks", "--draws", 2, "--out", tmp_path / "out")
    done = replay("compare", "--task", tmp_path / "mine.py", *options, "--jobs", jobs)
    assert done.returncode == 0, done.stderr
    assert "animals are left: " in done.stderr
    assert "No published finding is tested in these tasks." in done.stdout
    told = pd.read_csv(tmp_path / "out" / "measurements.csv")
    assert set(told["task"]) == {"mine"}
    (tmp_path / "mine.py").write_text(OWN_TASK + "\n# edited")
    done = replay("compare", "--task", tmp_path / "mine.py", *options)
    assert done.returncode == 1
    assert "holds another run (files mine is" in " ".join(done.stderr.split())


IMPORTS = "from replay.tasks.published import TaskEntry\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TASK = 1", "mine.py must define TASK = TaskEntry(build, statistics)"),
        ("x = '\0'", "mine.py: SyntaxError: source code string cannot contain null bytes"),
        ("x = (", "mine.py, line 1: SyntaxError: '(' was never closed"),
        ("import nothing_of_this_name", "mine.py, line 1: ModuleNotFoundError: No module named"),
        ("raise ValueError", "mine.py, line 1: ValueError"),
        ("raise SystemExit(3)", "mine.py, line 1: SystemExit: 3"),
        (
            IMPORTS + "TASK = TaskEntry(lambda: 1 / 0, ('reverse_share',))",
            "mine.py, line 2: ZeroDivisionErr",
        ),
        (
            IMPORTS + "TASK = TaskEntry(lambda: 1, ('reverse_share',))",
            "build() must return a Task, got 1",
        ),
        (IMPORTS + "TASK = TaskEntry(3, ('reverse_share',))", "must be a function, got 3"),
        (
            IMPORTS + "TASK = TaskEntry(dict, 'reverse_share')",
            "must be a tuple of names, got 'reverse_share'",
        ),
        (IMPORTS + "TASK = TaskEntry(dict, ('reverse_share',), 0)", "min_length of TASK in"),
    ],
)
def test_a_task_of_ones_own_that_fails_tells_where(tmp_path, text, message):
    (tmp_path / "mine.py").write_text(text)
    done = CliRunner().invoke(
        app, ["compare", "--task", str(tmp_path / "mine.py"), "--out", str(tmp_path / "out")]
    )
    assert isinstance(done.exception, ValueError | TypeError)
    assert message in str(done.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["linear_track.py", "x" * 90 + ".py", ".hidden.py"])
def test_files_whose_names_will_not_do(tmp_path, name):
    (tmp_path / name).write_text(OWN_TASK)
    with pytest.raises(ValueError, match=r"There are two tasks|at most 80 letters"):
        plan_comparison([str(tmp_path / name)], ACCOUNTS)


def test_scoring_again_takes_no_other_sizes(tmp_path):
    command = ["compare", "--simulated", str(tmp_path), "--draws", "4"]
    done = CliRunner().invoke(app, command)
    assert str(done.exception).endswith(
        f"draws, wrong places and seed of {tmp_path}: leave out draws."
    )
    with pytest.raises(ValueError, match=r": leave out accounts\.$"):
        compare(simulated=tmp_path, accounts={"sfma": "sfma"})


def test_the_command_prints_the_evidence(tmp_path):
    command = (
        "compare", "--task", "long_track", "--accounts", "episodic_control,graph_walks",
        "--draws", 2, "--jobs", 1, "--out", tmp_path / "out",
    )  # fmt: skip
    done = replay(*command)
    assert done.returncode == 0, done.stderr
    assert "Evidence for each account" in done.stdout  # a title stands with its table
    assert "episodic_control" in done.stdout
    again = replay(*command)
    assert again.stdout == done.stdout
    assert "are left" not in again.stderr
    status = replay("status", tmp_path / "out")
    assert status.returncode == 0
    assert "Complete and undamaged." in status.stdout


def test_every_task_has_the_statistics_of_its_findings():
    plan = plan_comparison()
    assert set(plan.tasks) >= {"linear_track", "gupta_2t", "w_track", "barrier_arena"}
    assert all(set(entry.statistics) <= set(STATISTICS) for entry in plan.tasks.values())
    assert find_task("linear_track").min_length == plan.tasks["linear_track"].min_length


ROOT = Path(__file__).parents[1]
TABLES = ROOT / "data" / "comparison"
FROZEN = json.loads((TABLES / "priors.json").read_text("utf-8"))


def test_the_priors_are_those_that_were_frozen():
    """Whoever changes a prior freezes it again, with a date, and makes the tables again."""
    later = FROZEN["frozen_later"]  # accounts that came later have dates of their own
    assert set(later) < set(FROZEN["accounts"])
    for day in later.values():
        assert date.fromisoformat(FROZEN["frozen"]) < date.fromisoformat(day) <= date.today()
    described = plan_comparison(["long_track"], seed=FROZEN["seed"]).describe()
    assert json.loads(json.dumps(described["accounts"])) == FROZEN["accounts"]
    manifest = json.loads((TABLES / "manifest.json").read_text("utf-8"))
    assert manifest["accounts"] == FROZEN["accounts"]


@pytest.mark.parametrize("name", SHELL)
def test_what_surrounds_replay_has_one_prior(name):
    """It belongs to no account; what a backup costs is measured in each account's own gain."""
    fixed = {"prioritized_sweeping_reset", "trajectory_sampling"} if name == "replay_at" else {}
    having = [
        account.priors.get(name)
        for each, account in KNOWN.items()
        if each not in fixed
        and (account.is_control or hasattr(LEARNERS[account.generator][1], name))
        and not (account.is_control and name != "replay_at")
    ]
    if name == "preplay":  # of SFMA alone
        assert len(having) == 1
        return
    assert len(having) > 2
    assert None not in having
    if name != "backup_cost":
        assert len(set(having)) == 1


SHIPPED = {
    name: reference_table(f"comparison/{name}")
    for name in (
        "evidence", "fit", "sums", "robustness", "confusion", "mixtures", "measurements",
        "identification", "classified", "mistaken", "another_seed/sums", "wrong_places/sums",
    )
}  # fmt: skip


def test_the_comparison_that_ships_adds_up():
    found, sums = SHIPPED["evidence"], SHIPPED["sums"].set_index("account")
    for part, kept in (("", found[found["diagnostic"]]), ("_of_all", found)):
        expected = (kept["evidence"] * kept["weight"]).groupby(kept["account"]).sum()
        assert sums[f"evidence{part}"].sub(expected).abs().max() < 1e-9
    as_told = SHIPPED["robustness"].query("setting == 'usual'").set_index("account")
    for name in ("evidence", "evidence_of_all"):
        assert as_told[name].sub(sums[name]).abs().max() < 1e-6


def test_the_evidence_that_ships_follows_from_the_studies_that_ship():
    plan = plan_rescoring(TABLES)
    known = predictions(plan, Results(TABLES).read("studies.parquet"))
    found = evidence_table(plan, known, np.random.default_rng([plan.seed, 1]))
    shipped = SHIPPED["evidence"].set_index(["finding", "account"])
    found = found.set_index(["finding", "account"]).loc[shipped.index]
    for column in ("evidence", "presence", "value", "evidence_se", "predicted", "weight"):
        np.testing.assert_allclose(found[column], shipped[column], rtol=1e-9, err_msg=column)


def test_the_order_in_which_tasks_and_accounts_are_named_makes_no_difference():
    """All random numbers are drawn in the order of the plan."""
    own = {"b": "sfma", "a": "graph_walks", "dyna_q": "dyna_q"}
    plan = plan_comparison(["long_track", "linear_track"], own, n_draws=4)
    other = plan_comparison(["linear_track", "long_track"], dict(reversed(own.items())), n_draws=4)
    assert [*plan.accounts] == [*other.accounts] == ["dyna_q", "a", "b"]
    assert [*plan.tasks] == [*other.tasks] == [t for t in PUBLISHED if t in plan.tasks]
    assert plan.parts() == other.parts()
    assert [*plan_comparison(["long_track"], [*reversed(KNOWN)]).accounts] == [*KNOWN]


def test_draws_depend_on_no_other_account_of_the_run():
    alone = plan_comparison(["long_track"], ["graph_walks"], n_draws=2, seed=3)
    beside = plan_comparison(["long_track"], ["episodic_control", "graph_walks"], n_draws=2, seed=3)
    assert settings(alone, "graph_walks") == settings(beside, "graph_walks")
    made = [
        simulate_studies(plan, Piece("long_track", list(plan.candidates()).index("graph_walks")))
        for plan in (alone, beside)
    ]
    pd.testing.assert_frame_equal(made[0]["studies"], made[1]["studies"])


def told_by_the_tables():
    """Yield the parts of the guide on the comparison that have numbers of its tables."""
    known = SHIPPED["sums"].set_index("account")
    names = [name for name in known.index if "(" not in name]
    accounts = [name for name in names if not known["is_control"][name]]
    controls = [name for name in names if known["is_control"][name]]
    sums = known.loc[names]
    manifest = json.loads((TABLES / "manifest.json").read_text("utf-8"))
    n_findings, n_studies = sums[["n_findings_of_all", "n_studies_of_all"]].iloc[0]

    def told(name):
        return f"*{label(name)}*"

    def listed(some):
        some = [told(name) for name in some]
        return " and ".join([", ".join(some[:-1]), some[-1]] if len(some) > 1 else some) or "none"

    yield (
        f"{manifest['n_draws']} draws of each of {len(accounts)} accounts and {len(controls)} "
        f"controls, scored by {n_findings} findings of {n_studies} studies"
    )
    yield f"seed ({manifest['seed']})"
    again = SHIPPED["another_seed/sums"].set_index("account").loc[accounts, "evidence_of_all"]
    tau = stats.kendalltau(again, sums.loc[accounts, "evidence_of_all"]).statistic
    yield f"another seed (261126, 16 draws) agrees with it by Kendall's tau {tau:.2f}"
    fits = SHIPPED["fit"].set_index("account").loc[names]
    low, high = fits["expected"].min(), fits["expected"].max()
    best, worst = fits["evidence"].max(), fits["evidence"].min()
    yield f"its sum over all findings would be {low:.0f} to {high:.0f} bits (medians)"
    yield f"are {best:.0f} to {worst:.0f} bits"
    yield f"p is above .05 for {listed(fits.index[fits['p'] > 0.05])}"
    near = fits.loc[accounts, "distance"].nsmallest(3)
    told_near = [f"{told(name)} ({apart:.1f})" for name, apart in near.items()]
    yield f"Nearest to what they predict are {', '.join(told_near[:-1])} and {told_near[-1]}"

    settings = SHIPPED["robustness"][SHIPPED["robustness"]["setting"].isin(SETTINGS)]
    totals = settings.pivot_table("evidence_of_all", "account", "setting", sort=False)
    orders = totals.loc[accounts].rank(ascending=False)
    first = sums.loc[accounts, "evidence_of_all"].nlargest(4)
    best_four = [f"{told(name)} ({bits:.0f} bits)" for name, bits in first.items()]
    yield f"the first four are {', '.join(best_four[:-1])} and {best_four[-1]}"
    yield from told_of_two_orders(told)
    yield f"Under all {orders.shape[1]} settings"
    among = [name for name in accounts if orders.loc[name].max() <= 5]
    yield f"among the first five: {listed(among)}"
    ahead = (totals.loc[accounts] > totals.loc[controls].max()).all(axis=1)
    yield f"ahead of every control: {listed(ahead.index[ahead])}"
    alike = orders.corrwith(orders["usual"], method="kendall").drop("usual")
    least = f"{alike.min():.2f}, with the setting *{alike.idxmin()}*"
    yield f"Kendall's tau {least}, to {alike.max():.2f}"
    strict = totals.loc[accounts, "all of these"].nlargest(4)
    yield f"with most assumptions changed at once the first four are {listed(strict.index)}"

    shells = ("replay before a run, too", "no replay before a run", "pauses end by a limit alone")
    with_run, without, by_limit = (alike[name] for name in shells)
    yield f"{with_run:.2f} and {without:.2f}"
    yield f"{by_limit:.2f} where pauses end by a limit alone"
    own = [sum(key not in SHELL for key in KNOWN[name].priors) for name in accounts]
    rank = stats.spearmanr(own, sums.loc[accounts, "evidence_of_all"])
    yield f"Spearman's rho {rank.statistic:.2f} (p = {rank.pvalue:.3f})"

    lost = sums.loc[accounts, "presence_of_all"].nsmallest(2)
    values = sums.loc[accounts, "value_of_all"].rank(ascending=False).astype(int)
    for name, bits in lost.items():
        yield f"{told(name)} loses {-bits:.0f} bits"
        yield f"rank {values[name]} by values alone instead of {int(orders.loc[name, 'usual'])}"
    found = SHIPPED["evidence"].query("account in @names")
    bits = found.pivot_table("evidence", "finding", "account")
    yield f"{(bits[accounts].max(axis=1) < 0).sum()} findings are below 0 bits for every account"
    yield f"the number above 1 bit for all accounts and controls is {(bits.min(axis=1) > 1).sum()}"

    mixtures = SHIPPED["mixtures"]
    walks = mixtures[mixtures["other"] == "graph_walks"]
    pair = mixtures[mixtures["other"] != "graph_walks"].iloc[0]
    yield (
        f"gains {walks['gain'].median():.1f} bits in the median ({walks['gain'].min():.1f} to "
        f"{walks['gain'].max():.1f})"
    )
    yield f"p is then above .05 for {listed(walks.loc[walks['p'] > 0.05, 'account'])}"
    yield (
        f"the best pair, {told(pair['account'])} with {told(pair['other'])}, has "
        f"{pair['evidence']:.0f} bits (p = {pair['p']:.3f})"
    )
    confusion = SHIPPED["confusion"].pivot_table("share", "truth", "found")
    right = pd.Series({name: confusion.loc[name, name] for name in accounts})
    yield f"finds it in {100 * right.min():.0f} to {100 * right.max():.0f} % of simulated sets"
    never = SHIPPED["mistaken"].set_index("truth").loc[accounts]
    yield f"{int((never['right'] == 0).sum())} of {len(accounts)} accounts would never be found"
    swept = never.loc["prioritized_sweeping"]
    yield (
        f"*Prioritized sweeping* would be found in {100 * swept['right']:.0f} %. It is mostly "
        f"taken for {told(swept['mistaken_for'])} ({100 * swept['share_mistaken']:.0f} %). "
        f"`{swept['statistic']}` in `{swept['task']}` would tell the two apart best "
        f"({swept['apart']:.2f} bits"
    )
    harder = SHIPPED["identification"].query("truth in @accounts").groupby("condition")
    found_first = (100 * harder["right"].median()).round().astype(int)
    yield f"in {found_first['with noise']} % (median) with the noise"
    yield f"in {found_first['studies differ in parameters']} % where"
    fitting = 100 * harder["share_fitting"].median()["truth in no list"]
    yield f"another is taken for right in {fitting:.0f} %"
    new = SHIPPED["measurements"].iloc[0]
    yield f"`{new['statistic']}` in `{new['task']}` ({new['information']:.2f} bits)"
    yield from told_of_classes()
    misread = SHIPPED["wrong_places/sums"].set_index("account").loc[accounts, "evidence_of_all"]
    tau = stats.kendalltau(misread, sums.loc[accounts, "evidence_of_all"]).statistic
    highest = [f"{told(name)} ({bits:.0f} bits)" for name, bits in misread.nlargest(3).items()]
    yield f"agrees with the usual one by Kendall's tau {tau:.2f}"
    yield f"the first three are {', '.join(highest[:-1])} and {highest[-1]}"
    for name in FROZEN["frozen_later"]:
        bits, there, values = sums.loc[name, ["evidence_of_all", "presence_of_all", "value_of_all"]]
        yield (
            f"{told(name)} has {bits:.0f} bits ({there:.0f} for whether there is such replay, "
            f"{values:.0f} for its values), rank {int(orders.loc[name, 'usual'])}, and "
            f"p = {fits['p'][name]:.3f}"
        )


def shipped_rows(name):
    """Read a shipped table line by line, as text: by other code than the comparison's."""
    with (TABLES / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def told_of_two_orders(told):
    """Yield what the guide says of both orders, from the evidence of each finding."""
    bits, controls, studies = {}, set(), {}
    for row in shipped_rows("evidence"):
        name = row["account"]
        if "(" in name:
            continue
        if row["is_control"] == "True":
            controls.add(name)
        for column in ("evidence", "presence", "value"):
            vote = float(row[column]) * float(row["weight"])
            own = bits.setdefault(column, {})
            own[name] = own.get(name, 0.0) + vote
            if column == "evidence":
                own = studies.setdefault(row["study"], {})
                own[name] = own.get(name, 0.0) + vote
    accounts = [name for name in bits["evidence"] if name not in controls]
    for column in ("evidence", "value"):
        own = bits[column]
        best = max(controls, key=own.get)
        n_behind = sum(own[name] <= own[best] for name in accounts)
        yield (
            f"{n_behind} of {len(accounts)} accounts are not ahead of the best control, "
            f"{told(best)}"
        )
    first = sorted(bits["value"], key=bits["value"].get, reverse=True)[:4]
    texts = [
        f"{told(name)} ({'control, ' * (name in controls)}{bits['value'][name]:.1f} bits)"
        for name in first
    ]
    yield f"By values alone the first four are {', '.join(texts[:-1])} and {texts[-1]}"
    both = np.array([[bits[each][name] for name in accounts] for each in ("evidence", "presence")])
    yield f"correlates by {np.corrcoef(both)[0, 1]:.2f}"

    # The interval of who is ahead, over studies drawn again, with random numbers of its own.
    rng = np.random.default_rng(1)

    def who_is_ahead(some):
        table = np.array([[studies[each][name] for name in bits["evidence"]] for each in some])
        names = [*bits["evidence"]]
        best = max((names.index(name) for name in controls), key=lambda k: table[:, k].sum())
        drawn = rng.multinomial(len(some), np.ones(len(some)) / len(some), 40_000)
        low = np.quantile(drawn @ (table - table[:, [best]]), 0.025, axis=0)
        return {name: low[names.index(name)] for name in accounts}

    [ahead] = [name for name, low in who_is_ahead([*studies]).items() if low > 0]
    yield f"only {told(ahead)} is ahead of it with an interval over studies that excludes 0"
    shipped = {
        row["setting"]: float(row["ahead_low_of_all"])
        for row in shipped_rows("robustness")
        if row["account"] == ahead and row["ahead_low_of_all"]
    }
    assert set(shipped) == {
        *(f"without {each}" for each in studies), "without findings with a caveat"
    }  # fmt: skip
    for each in studies:
        low = who_is_ahead([other for other in studies if other != each])[ahead]
        assert shipped[f"without {each}"] == pytest.approx(low, abs=0.6)
    lost = [each for each in studies if shipped[f"without {each}"] <= 0]
    yield f"in {len(studies) - len(lost)} of {len(studies)} cases"
    yield f"not without {', '.join(f'`{each}`' for each in sorted(lost))}"


def told_of_classes():
    """Yield what the guide says of classes of accounts, those with a control counted apart."""
    controls = {row["account"] for row in shipped_rows("sums") if row["is_control"] == "True"}
    by_study = {}
    for row in shipped_rows("classified"):
        has_control = not controls.isdisjoint(row["found"].split(" or "))
        recovered = float(row["recovered"] or "nan")  # nothing, of one class
        own = (float(row["probability"]), float(row["p"]), has_control, recovered)
        by_study.setdefault(row["study"], []).append(own)
    fit = [each for each in by_study.values() if any(p > 0.05 and not c for _, p, c, _ in each)]
    likeliest = [max(each) for each in by_study.values()]
    n_likely = sum(p > 0.05 and not c for _, p, c, _ in likeliest)
    n_any = sum(any(p > 0.05 for _, p, _, _ in each) for each in by_study.values())
    yield (
        f"of {len(by_study)} studies, {len(fit)} look like those of some class of accounts alone, "
        f"and in {n_likely} of them the likeliest class is such a one. If classes with a control "
        f"count, too, {n_any} do"
    )
    yield (
        "the likeliest class has a probability of "
        f"{np.median([each[0] for each in likeliest]):.2f} in the median"
    )
    recovered = [each[0][3] for each in by_study.values() if each[0][3] == each[0][3]]
    yield (
        f"finds {100 * np.median(recovered):.0f} % of simulated studies (median over the "
        f"{len(recovered)} studies that tell any accounts apart"
    )


def test_the_guide_tells_the_numbers_of_the_tables():
    page = ROOT / ".docs" / "how_well" / "comparison.md"
    guide = " ".join(page.read_text("utf-8").split())
    assert [text for text in told_by_the_tables() if text not in guide] == []


def test_the_tables_that_ship_have_all_accounts_with_their_frozen_priors():
    made = json.loads((TABLES / "manifest.json").read_text("utf-8"))
    assert (made["accounts"], made["seed"]) == (FROZEN["accounts"], FROZEN["seed"])
    tested = plan_comparison(list(made["findings"]))
    assert {task: tested.tested(task)["id"].tolist() for task in tested.tasks} == made["findings"]


def test_places_may_be_read_wrongly(tmp_path):
    def made(share, out=None):
        accounts = ["episodic_control"]
        return compare({"long_track": TASKS["long_track"]}, accounts, n_draws=2, seed=3,
                       wrong_places=share, out=out)["studies"]  # fmt: skip

    right, some, all_wrong = made(0.0), made(0.2), made(1.0, tmp_path / "out")
    told = [
        studies.query("statistic == 'reverse_share'")["trials"].sum()
        for studies in (right, some, all_wrong)
    ]
    assert told[1] > told[0] > 0 == told[2]  # a sequence is cut in two where a place is wrong
    assert Results(tmp_path / "out").manifest()["wrong_places"] == 1
    with pytest.raises(ValueError, match=r"wrong_places must be .* got 1\.5"):
        made(1.5)
