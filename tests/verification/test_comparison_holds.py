"""The comparison finds no effects where there are none, and evidence is stable with more draws."""

import numpy as np
import pytest
from scipy import stats

from analyses import compare
from analyses.findings.evidence import Studies, outcomes
from analyses.findings.table import findings
from analyses.measures import STATISTICS

pytestmark = pytest.mark.slow

COLUMNS = ["successes", "trials", "mean", "sd", "value", "n_animals"]
LEVEL = 0.05
UNLIKELY = 0.01
"""A rate is wrong if one as far above what is claimed is less likely than that."""


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_blind_walks_have_no_effects(seed):
    """Walks that ignore walls and goals, in fresh layouts: one test in twenty at most."""
    made = compare(["barrier_arena", "linear_track_4x"], ["blind_walks"], n_draws=48, seed=seed)
    directions = findings().query("likelihood == 'direction'").set_index("id")["statistic"]
    studies = made["studies"]
    n_found, n_tests = 0, 0
    for (_, statistic), own in studies[studies["finding"].isin(directions.index)].groupby(
        ["finding", "statistic"]
    ):
        numbers = Studies(*(own[name].to_numpy(float) for name in COLUMNS))
        tested = numbers.take(np.flatnonzero(numbers.n_animals > 1))
        are_shares = STATISTICS[statistic].is_share
        n_found += np.count_nonzero(outcomes(tested, are_shares=are_shares))
        n_tests += len(tested.value)
    assert n_tests > 100
    assert stats.binomtest(n_found, n_tests, LEVEL, alternative="greater").pvalue > UNLIKELY


def test_twice_the_draws_change_no_evidence_beyond_its_error():
    """Evidence neither grows nor shrinks with the number of simulated studies."""
    accounts = ["sfma", "full_backups", "blind_walks"]
    few, many = (
        compare(["linear_track_novel", "long_track"], accounts, n_draws=n)["evidence"]
        for n in (24, 48)
    )
    few, many = (table.set_index(["finding", "account"]) for table in (few, many))
    of_prior = [name for name in few.index if "published" not in name[1]]
    change = (many["evidence"] - few["evidence"]).loc[of_prior]
    error = np.hypot(few["evidence_se"], many["evidence_se"]).loc[of_prior]
    assert (change.abs() <= 3 * error + 0.3).all()
    assert abs(change.mean()) < 0.3
