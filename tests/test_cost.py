"""The cost of a plan is the sum over its runs."""

import time

import pytest

from analyses.studies.brea_2018.cost import Sample, estimate, sample
from analyses.studies.brea_2018.plan import Plan
from analyses.studies.brea_2018.reproduce import reproduce

SAMPLES = [
    Sample("maze", "q_learning", 2.0, 1000),
    Sample("maze", "monte_carlo", 3.0, 100),
    Sample("stochastic_tree", "q_learning", 0.5, 10),
    Sample("stochastic_tree", "monte_carlo", 0.25, 1),
]


def cost(**sizes):
    plan = Plan.make(["maze", "stochastic_tree"], ["q_learning", "monte_carlo"], **sizes)
    return plan, estimate(plan, plan.pieces, SAMPLES)


def test_every_run_counts_once():
    plan, found = cost(n_mdps=4, n_seeds=3, keep_logs=0)
    assert found.n_steps == plan.total_steps
    assert found.seconds == 4 * 3 * (2 + 3 + 0.5 + 0.25)
    assert cost(n_mdps=8, n_seeds=3)[1].seconds == 2 * found.seconds
    assert cost(n_mdps=4, n_seeds=6)[1].seconds == 2 * found.seconds


def test_disk_counts_the_logs_that_are_kept():
    nothing = cost(n_mdps=4, n_seeds=3, keep_logs=0)[1].n_bytes
    for keep_logs, n_kept in ((1, 1), (5, 5), (100, 12)):
        more = cost(n_mdps=4, n_seeds=3, keep_logs=keep_logs)[1].n_bytes
        assert more - nothing == n_kept * 1111
    assert cost(n_mdps=4, n_seeds=3, keep_logs=5, log="none")[1].n_bytes == nothing


def test_memory_counts_the_logs_that_are_kept_in_one_piece_but_not_the_steps():
    least = cost(n_mdps=4, n_seeds=3, keep_logs=0)[1].memory
    assert cost(n_mdps=40, n_seeds=30, n_steps=50_000_000, keep_logs=0)[1].memory == least
    assert cost(n_mdps=4, n_seeds=30, keep_logs=2)[1].memory == least + 24 * 1000
    assert cost(n_mdps=4, n_seeds=30, keep_logs=12)[1].memory == least + 2 * 12 * 1100
    assert cost(n_mdps=4, n_seeds=30, keep_logs=120)[1].memory == least + 2 * 30 * 1100


def test_what_is_done_costs_nothing_more():
    plan, whole = cost(n_mdps=4, n_seeds=3)
    rest = estimate(plan, plan.pieces[4:], SAMPLES)
    assert rest.seconds == 4 * 3 * (2 + 3)
    assert rest.n_steps < whole.n_steps


@pytest.mark.parametrize("n_steps", [100, 20_000, 300_000, 1_000_000])
def test_a_fixed_part_and_a_part_by_step_are_told_apart(n_steps):
    longest = []

    def run(length):
        longest.append(length)
        return 0.5 + 2e-6 * length, length // 100

    found = sample("maze", "q_learning", n_steps, run)
    assert found.seconds == pytest.approx(0.5 + 2e-6 * n_steps)
    backups = found.log_bytes - sample("", "", n_steps, lambda length: (0, 0)).log_bytes
    twice = sample("", "", n_steps, lambda length: (0, length // 50)).log_bytes
    assert twice - found.log_bytes == pytest.approx(backups)
    assert max(longest) <= max(20_000, n_steps // 5)


def test_it_is_told_once_and_near_the_truth(tmp_path):
    plan = Plan.make(["stochastic_tree"], ["q_learning"], n_mdps=20, n_seeds=20, keep_logs=0)
    told = []
    start = time.process_time()
    reproduce(plan, tmp_path / "results", on_cost=told.append)
    took = time.process_time() - start
    assert len(told) == 1
    assert 0 < told[0].seconds < took
    reproduce(plan, tmp_path / "results", on_cost=told.append)
    assert len(told) == 1, "nothing is left to do"
