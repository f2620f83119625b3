"""A statistic over all animals: mean, interval and sign test."""

import numpy as np
import pandas as pd
import pytest
from replay_tables import replays, sequence, track
from scipy import stats

from analyses.measures import STATISTICS
from analyses.measures.animals import over_animals


def test_summary():
    tables = replays(track(), [sequence(*range(5)), sequence(*range(5), direction="reverse")])
    row = over_animals(
        STATISTICS["reverse_share"].compute(tables).assign(statistic="reverse_share")
    ).iloc[0]
    assert row["value"] == 0.5
    assert np.isnan([row["ci_low"], row["ci_high"], row["p"]]).all()
    silent = (
        STATISTICS["reverse_share"].compute(replays(track(), [])).assign(statistic="reverse_share")
    )
    nothing = over_animals(silent).iloc[0]
    assert np.isnan(nothing[["value", "ci_low", "null", "p"]].astype(float)).all()
    assert nothing["n_animals"] == nothing["n_chains"] == 0


@pytest.mark.parametrize(
    ("name", "null", "n", "n_above", "chance"),
    [
        ("reverse_share", 0.5, 21, 9, 0.5),
        ("other_side_one_minus_both_run", 0.0, 21, 9, 0.5),
        ("composed_share", 0.0, 8, 12, 0.5),
        # A share of five sequences that is .1 by chance: none of them with .9^5, else above.
        ("begins_at_animal", 0.1, 5, 2, 1 - 0.9**5),
        ("forward_minus_reverse_rank", 0.1, 5, 2, 0.5),
        # Of ten sequences, .2 by chance: two say nothing.
        ("through_goal_share", 0.2, 10, 10, 0.32220 / (0.32220 + 0.37581)),
        ("mine", 0.2, 10, 10, 0.5),
    ],
)
def test_sign_test_of_animals(name, null, n, n_above, chance):
    value = np.where(np.arange(12) < n_above, 0.9, null - 0.1)
    table = pd.DataFrame({"statistic": name, "value": [*value, np.nan, null], "null": null, "n": n})
    both = stats.binom.cdf(n_above, 12, chance), stats.binom.sf(n_above - 1, 12, chance)
    row = over_animals(table).iloc[0]
    assert row["p"] == pytest.approx(min(1, 2 * min(both)), rel=1e-3)
    assert row["n_animals"] == 13
    assert (row["n_above"], row["n_below"]) == (n_above, 12 - n_above)
    assert row["chance_above"] == pytest.approx(chance, rel=1e-3)
    assert row["value"] == pytest.approx(np.nanmean(table["value"]))
    assert row["ci_low"] < row["value"] < row["ci_high"]


def test_lists_among_the_names_of_statistics_are_told():
    table = pd.DataFrame({"statistic": ["a", [1]], "value": 0.5, "null": 0.2, "n": 10})
    with pytest.raises(ValueError, match="must hold numbers only, texts only; row 1 has"):
        over_animals(table)
