"""The reproduction: its files, the same bytes in any number of processes, and bad input."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from commands import digests, interrupt

from analyses import classify
from analyses.jobs.results import Results
from analyses.jobs.run import manifest, run
from analyses.studies.brea_2018 import plan_reproduction
from analyses.studies.brea_2018.reproduce import STUDY
from replay.experiments import EXPERIMENTS
from replay.log.event_log import EventLog
from replay.simulation import simulate

SMALL = plan_reproduction(
    ["deterministic_tree", "maze"],
    ["q_learning", "prioritized_sweeping", "episodic_control"],
    n_mdps=2,
    n_seeds=2,
    n_steps={"deterministic_tree": 1000, "maze": 20_000},
)
ONE_FIGURE = replace(STUDY, figures={"mdps": STUDY.figures["mdps"]})
"""Drawing takes longest: all figures are drawn nightly, and by the command in test_cli."""


@pytest.fixture(scope="module")
def made(tmp_path_factory, painted):
    folder = tmp_path_factory.mktemp("made") / "results"
    told = []
    run(ONE_FIGURE, SMALL, folder, on_piece=told.append)
    assert sorted(told) == sorted(STUDY.all_pieces(SMALL))
    return folder


def test_it_writes_what_the_readme_promises(made):
    names = {path.relative_to(made).parts[0] for path in made.iterdir()}
    assert names >= {
        "reward_rate.csv",
        "area_under_curve.csv",
        "paired_differences.csv",
        "time_to_criterion.csv",
        "replay_kinds.csv",
        "replay_over_time.csv",
        "sequences.parquet",
        "logs",
        "figures",
        "manifest.json",
    }


def test_reward_rate_is_the_mean_over_worlds_of_the_mean_over_seeds(made):
    table = pd.read_csv(made / "reward_rate.csv")
    assert list(table.columns) == [
        *("experiment", "learner", "time_step", "mean", "sem"),
        *("ci_low", "ci_high", "n_mdps", "n_seeds"),
    ]
    experiment = EXPERIMENTS["deterministic_tree"]
    means = []
    for index in range(2):
        mdp = experiment.mdp(index)
        best = mdp.reward_rate(mdp.solve(1.0).policy, 0.1)
        random = mdp.reward_rate([[0.25] * 4] * mdp.n_states)
        rates = [
            simulate(
                mdp,
                "q_learning",
                experiment.parameters["q_learning"],
                n_steps=1000,
                seed=experiment.run_seed(index, run),
                log="none",
            ).reward_rate["reward_rate"]
            for run in range(2)
        ]
        means.append((sum(rates) / 2 - random) / (best - random))
    ours = table.query("experiment == 'deterministic_tree' and learner == 'q_learning'")
    assert ours["mean"].to_numpy() == pytest.approx((sum(means) / 2).to_numpy(), abs=1e-9)
    assert ours["sem"].to_numpy() == pytest.approx(abs(means[0] - means[1]) / 2, abs=1e-9)
    assert ours["time_step"].tolist() == list(range(10, 1001, 10))


def test_counts_are_those_of_the_classified_logs(made):
    """All logs of a run classified one by one give the table."""
    table = pd.read_csv(made / "replay_kinds.csv")
    experiment = EXPERIMENTS["maze"]
    for learner in ("prioritized_sweeping", "episodic_control"):
        for chains, across in (("within_event", False), ("across_events", True)):
            total = pd.Series(dtype=int)
            for index in range(2):
                for number in range(2):
                    log = simulate(
                        experiment.mdp(index),
                        learner,
                        experiment.parameters[learner],
                        n_steps=20_000,
                        seed=experiment.run_seed(index, number),
                    ).log
                    found = classify(log, across_events=across, min_length=3)
                    counts = found["kind"].astype(str).value_counts()
                    total = total.add(counts, fill_value=0)
            ours = table[
                (table["experiment"] == "maze")
                & (table["learner"] == learner)
                & (table["chains"] == chains)
            ]
            counted = dict(zip(ours["kind"], ours["count"], strict=True))
            assert sum(counted.values()) > 10
            assert counted == {kind: total.get(kind, 0) for kind in counted}


def test_kept_logs_are_the_runs_and_their_sequences(made):
    log = EventLog.load(made / "logs" / "maze" / "prioritized_sweeping-0-0")
    sequences = pd.read_parquet(made / "sequences.parquet")
    ours = sequences.query("experiment == 'maze' and learner == 'prioritized_sweeping'")
    again = classify(log, min_length=2)
    assert ours["kind"].astype(str).tolist() == again["kind"].astype(str).tolist()
    assert [list(path) for path in ours["states"]] == [list(path) for path in again["states"]]


@pytest.mark.slow
def test_same_bytes_with_more_processes_and_after_interruption(tmp_path, painted):
    """By default `test_jobs` does this with another study."""
    folders = [tmp_path / "one", tmp_path / "two"]
    with pytest.raises(KeyboardInterrupt):
        run(STUDY, SMALL, folders[1], on_piece=interrupt(1))
    done = list((folders[1] / "pieces").rglob("*.parquet"))
    assert 1 <= len(done) < len(STUDY.all_pieces(SMALL))
    for jobs, folder in enumerate(folders, start=1):
        run(STUDY, SMALL, folder, jobs=jobs)
    one, two = map(digests, folders)
    for stem in ("learning_curves", "mdps", "replay_kinds", "replay_over_time_maze"):
        assert {f"figures/{stem}.pdf", f"figures/{stem}.png"} <= one.keys()
    assert one == two


def test_a_folder_that_holds_another_run_is_left_alone(made):
    with pytest.raises(FileExistsError, match=r"another run \(seed is 0 there and 1 here\)"):
        run(STUDY, plan_reproduction(**_like(SMALL), seed=1), made)


@pytest.mark.parametrize("manifest", ['{"name": "my web page"}', "[]", "mine: 1", "", "[" * 9999])
def test_a_manifest_of_another_program_is_left_alone(tmp_path, manifest):
    (tmp_path / "manifest.json").write_text(manifest)
    for name in ("logs", "pieces"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.txt").write_text("mine")
    before = digests(tmp_path)
    with pytest.raises(FileExistsError, match="holds no results"):
        run(STUDY, SMALL, tmp_path)
    assert digests(tmp_path) == before


def _like(plan):
    return {
        "experiments": plan.experiments,
        "learners": plan.learners,
        "n_mdps": 2,
        "n_seeds": 2,
        "n_steps": dict(plan.n_steps),
    }


def test_a_full_disk_leaves_nothing_half_written(made, tmp_path, monkeypatch):
    folder = tmp_path / "results"
    write, n_written = Path.write_bytes, []

    def full(path, content):
        n_written.append(path)
        if len(n_written) == 6:
            write(path, content[:50])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        run(ONE_FIGURE, SMALL, folder)
    monkeypatch.undo()
    for path in folder.rglob("*.parquet"):
        pd.read_parquet(path)
    assert not list(folder.rglob(".*.parquet.*"))
    run(ONE_FIGURE, SMALL, folder)
    assert digests(folder) == digests(made)


def test_a_manifest_is_enough_to_make_it_again(made):
    held = Results(made).manifest()
    again = plan_reproduction(
        held["experiments"],
        held["learners"],
        n_steps=held["n_steps"],
        seed=held["seed"],
        log=held["log"],
        keep_logs=held["keep_logs"],
        n_mdps=held["n_mdps"]["maze"],
        n_seeds=held["n_seeds"]["maze"],
    )
    assert again == SMALL
    assert json.loads(json.dumps(manifest(STUDY, again))) == held


def test_without_log_nothing_is_classified(tmp_path):
    plan = plan_reproduction(
        ["stochastic_tree"], ["q_learning"], n_mdps=1, n_seeds=1, n_steps=400, log="none"
    )
    run(STUDY, plan, tmp_path / "results")
    assert not (tmp_path / "results" / "replay_kinds.csv").exists()
    row = pd.read_csv(tmp_path / "results" / "reward_rate.csv").iloc[0]
    assert pd.isna(row["sem"])
    assert pd.isna(row["ci_low"])
