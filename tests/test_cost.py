"""The estimated cost of a plan is the sum over its runs, and close to the work that is done."""

import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from pyarrow import parquet

from analyses.cli import studies
from analyses.jobs import WorkCost
from analyses.jobs.run import run
from analyses.studies.brea_2018 import plan_reproduction
from analyses.studies.brea_2018 import reproduced_runs as sampling
from analyses.studies.brea_2018.reproduce import STUDY
from analyses.studies.brea_2018.reproduced_runs import Measured, Sample, add_up, extrapolate
from analyses.studies.comparison import plan_comparison, simulated_studies
from analyses.studies.comparison.compare_accounts import STUDY as COMPARISON

SAMPLES = [
    Sample("maze", "q_learning", 2.0, 100, 10.0),
    Sample("maze", "monte_carlo", 3.0, 10, 20.0),
    Sample("stochastic_tree", "q_learning", 0.5, 1, 30.0),
    Sample("stochastic_tree", "monte_carlo", 0.25, 0, 40.0),
]
LOG_BYTES = [4 * 300_000 + 1000, 4 * 300_000 + 100, 4 * 10_000 + 10, 4 * 10_000]
TOLERANCE = 0.15


def cost(**sizes):
    plan = plan_reproduction(["maze", "stochastic_tree"], ["q_learning", "monte_carlo"], **sizes)
    return plan, add_up(plan, STUDY.all_pieces(plan), SAMPLES)


def all_steps(plan):
    return sum(plan.n_mdps[name] * plan.world_steps(name) for name in plan.experiments)


def test_every_run_counts_once():
    plan, found = cost(n_mdps=4, n_seeds=3, keep_logs=0)
    assert found.counts == {"steps": all_steps(plan), "backups": 4 * 3 * 111}
    assert found.seconds == 4 * 3 * (2 + 3 + 0.5 + 0.25)
    assert cost(n_mdps=8, n_seeds=3, keep_logs=0)[1].seconds == 2 * found.seconds
    assert cost(n_mdps=4, n_seeds=6, keep_logs=0)[1].seconds == 2 * found.seconds


@pytest.mark.parametrize(("keep_logs", "n_kept"), [(1, 1), (5, 5), (100, 12)])
def test_logs_that_are_kept_count_in_time_and_on_disk(keep_logs, n_kept):
    nothing, more = (cost(n_mdps=4, n_seeds=3, keep_logs=n)[1] for n in (0, keep_logs))
    assert more.n_bytes - nothing.n_bytes == n_kept * sum(LOG_BYTES)
    assert more.seconds - nothing.seconds == n_kept * 100
    assert cost(n_mdps=4, n_seeds=3, keep_logs=5, log="none")[1].n_bytes == nothing.n_bytes


def test_a_busy_machine_is_told_apart_from_the_work():
    idle = studies._estimate(WorkCost({"steps": 5}, 60.0, 0.0, seconds_after=9.0), 2)
    busy = studies._estimate(WorkCost({"steps": 5}, 60.0, 0.0, seconds_after=9.0, slowdown=3.4), 2)
    assert idle.startswith("5 steps are left: about 30 seconds with 2 processes, and 9 seconds")
    told = " (the longer if other work keeps the machine as busy as now)"
    assert f"{told};" in busy
    assert "30 seconds to 102 seconds with 2 processes" in busy
    again = busy.replace(told, "").replace("30 seconds to 102 seconds", "about 30 seconds")
    assert again == idle


def test_memory_grows_neither_with_steps_nor_with_logs_that_are_kept():
    least = cost(n_mdps=4, n_seeds=3, keep_logs=0)[1].memory
    assert cost(n_mdps=40, n_seeds=30, n_steps=50_000_000, keep_logs=0)[1].memory <= least
    assert cost(n_mdps=4, n_seeds=30, keep_logs=120)[1].memory == least


def test_memory_grows_with_the_backups_of_a_step():
    """Measured with eleven backups a step: 1.04 GB, and 0.44 GB with one."""
    plan = plan_reproduction(["maze"], ["dyna_q"], n_mdps=1, n_seeds=1, n_steps=4_000_000)
    samples = [[Sample("maze", "dyna_q", 1.0, n * 4_000_000)] for n in (1, 11)]
    one, eleven = (add_up(plan, STUDY.all_pieces(plan), each).memory for each in samples)
    assert one == pytest.approx(0.5e9, rel=0.1)
    assert eleven == pytest.approx(1.1e9, rel=0.1)


def test_what_is_done_costs_nothing_more():
    plan, whole = cost(n_mdps=4, n_seeds=3, keep_logs=0)
    maze = [piece for piece in STUDY.all_pieces(plan) if piece.group == "maze"]
    rest = add_up(plan, maze, SAMPLES)
    assert rest.seconds == 4 * 3 * (2 + 3)
    assert rest.counts["steps"] < whole.counts["steps"]


@pytest.mark.parametrize("n_steps", [100, 20_000, 300_000, 1_000_000, 10**12])
def test_a_fixed_part_and_a_part_by_step_are_told_apart(n_steps):
    lengths = []

    def measure(length):
        lengths.append(length)
        return Measured(0.5 + 2e-6 * length, length // 100, 1e-6 * length)

    found = extrapolate(n_steps, measure)
    expected = (0.5 + 2e-6 * n_steps, n_steps / 100, 1e-6 * n_steps)
    assert found == pytest.approx(expected)
    assert max(lengths) <= max(20_000, min(n_steps // 5, 2_000_000))


@pytest.mark.parametrize(
    ("experiment", "learners", "n_steps"),
    [
        ("stochastic_tree", ["q_learning", "prioritized_sweeping", "dyna_q"], 10_000),
        pytest.param(
            "maze", ["dyna_q", "episodic_control", "q_learning"], 20_000, marks=pytest.mark.slow
        ),
    ],
)
def test_what_is_told_is_near_what_is_done(tmp_path, experiment, learners, n_steps):
    """Counts are compared, because time is the machine's; too much is as wrong as too little."""
    plan = plan_reproduction([experiment], learners, n_mdps=2, n_seeds=2, n_steps=n_steps,
                             keep_logs=4)  # fmt: skip
    told, study = [], replace(STUDY, figures={})  # they take longest, and cost nothing here
    run(study, plan, tmp_path, on_cost=told.append)
    [cost] = told
    logs = list((tmp_path / "logs").glob("*/*/"))
    assert len(logs) == 4 * len(learners)
    steps, backups = (
        sum(parquet.read_metadata(log / f"{name}.parquet").num_rows for log in logs)
        for name in ("steps", "backups")
    )
    assert cost.counts["steps"] == steps == all_steps(plan)
    assert cost.counts["backups"] == pytest.approx(backups, rel=TOLERANCE)
    run(study, plan, tmp_path, on_cost=told.append)
    assert len(told) == 1, "nothing is left to do"


def test_time_to_keep_a_log_grows_with_its_backups():
    """Fifty million backups were once estimated as if they were five million steps."""
    plan = plan_reproduction(["maze"], ["dyna_q"], n_mdps=1, n_seeds=1, n_steps=5_000_000)
    [piece] = STUDY.all_pieces(plan)
    samples = [Sample("maze", "dyna_q", 13.0, 50_000_000, 150.0)]
    assert add_up(plan, [piece], samples).seconds == 163.0
    assert add_up(plan, [piece], samples).counts == {"steps": 5_000_000, "backups": 50_000_000}


class Clock:
    """Time that only passes when told so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def taking(self, seconds, function=lambda *_, **__: None):
        def timed(*arguments, **options):
            self.now += seconds
            return function(*arguments, **options)

        return timed


def test_a_kept_log_costs_what_it_takes_beside_its_run(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(sampling, "process_time", clock)
    monkeypatch.setattr(sampling, "simulate", clock.taking(2.0))
    monkeypatch.setattr(sampling, "keep_log", clock.taking(5.0))
    plan = plan_reproduction(["stochastic_tree"], ["q_learning"])
    found = sampling.sample_runs(plan, "stochastic_tree", "q_learning")
    assert (found.seconds, found.seconds_to_keep) == (2.0, 3.0)


def test_no_run_is_timed_while_its_code_is_compiled_or_loaded():
    """In a process of its own, since in this one other tests have compiled everything."""
    script = """
import gc
from numba.core.dispatcher import Dispatcher
from analyses.studies.brea_2018 import reproduced_runs as sampling
from analyses.studies.brea_2018 import plan_reproduction

def compiled():
    every = (each for each in gc.get_objects() if isinstance(each, Dispatcher))
    return {f"{each.py_func.__qualname__}{one}" for each in every for one in each.signatures}

plan = plan_reproduction(["maze"], ["prioritized_sweeping"])
sampling._warm_up(plan, "prioritized_sweeping")
extrapolate = sampling.extrapolate

def timed(*arguments):
    before = compiled()
    assert before
    found = extrapolate(*arguments)
    print(*sorted(compiled() - before))
    return found

sampling.extrapolate = timed
sampling.sample_runs(plan, "maze", "prioritized_sweeping")
"""
    made = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300
    )
    assert made.stdout.strip() == ""


def test_worlds_of_a_comparison_are_made_once_for_all_accounts(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(simulated_studies, "process_time", clock)
    monkeypatch.setattr(simulated_studies, "_world", clock.taking(7.0))

    def animals(plan, task, name, draws, worlds):
        for number in worlds:
            clock.now += 3.0
            yield pd.DataFrame({"draw": [0], "animal": [number]})

    monkeypatch.setattr(simulated_studies, "_animals", animals)
    plan = plan_comparison(["linear_track"], ["sfma", "graph_walks"], n_draws=2)
    pieces = COMPARISON.all_pieces(plan)

    def call(function, work):
        return (function(*each) for each in work)

    cost = simulated_studies.estimate_studies(plan, pieces, call)
    n_worlds = min(2 * plan.n_animals("linear_track"), 32)
    assert cost.seconds == 3.0 * cost.counts["animals"] + 7.0 * n_worlds
