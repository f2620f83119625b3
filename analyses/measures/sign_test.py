"""A statistic over all animals: its mean, and a sign test against its null.

The sign test asks whether animals lie above their null as often as below it. That is what chance
gives if values are symmetric about the null, as for equal numbers of forward and reverse sequences.
The share of a rare event is mostly 0 and so lies below its mean more often than above. For shares,
the test therefore expects the number of animals above the null that the binomial distribution
gives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import binom

from analyses.intervals import mean_interval
from analyses.measures import STATISTICS
from replay.checks import check_cells, check_column, check_list, check_table, typed
from replay.checks.arrays import Floats, Ints

_EQUAL = 1e-12  # a value that differs by less from its null differs by rounding


def chance_above(null: Floats, n: Ints) -> Floats:
    """Return the probability that a share of `n` sequences lies above its null, if the two differ.

    A half where the null is 0 or 1.

    Examples
    --------
    >>> chance_above(np.array([0.5, 0.1, 0.1, 0.0]), np.array([9, 5, 500, 9])).round(2).tolist()
    [0.5, 0.41, 0.49, 0.5]
    """
    mean = np.round(null * n, 9)  # a mean that is whole but for rounding is never exceeded
    above = binom.sf(np.floor(mean), n, null)
    below = binom.cdf(np.ceil(mean) - 1, n, null)
    differs = above + below
    return np.where(differs > 0, above / np.where(differs > 0, differs, 1), 0.5)


@typed
def over_animals(per_animal: pd.DataFrame, by: Sequence[str] = ("statistic",)) -> pd.DataFrame:
    """Summarise each statistic over animals, in one row per group of the columns `by`.

    `per_animal` has a row for each animal and statistic: `by`, `value`, `null` and `n`; a value of
    NaN is ignored. A row of the result has `value`, the mean over animals, with its Student-t
    interval `ci_low, ci_high`; the mean `null`; the two-sided `p` of the exact sign test on the
    numbers `n_above` and `n_below` of animals above and below their null; `chance_above`, the share
    of these expected above by chance (by :func:`chance_above` for shares, a half for other
    statistics); `n_animals`; and `n_chains`, the number of sequences. What the data do not
    determine is NaN.

    Examples
    --------
    >>> per_animal = pd.DataFrame({"statistic": "begins_at_animal", "value": [0.5, 0.6, np.nan],
    ...                            "null": [0.2, 0.2, np.nan], "n": [10, 30, 0]})
    >>> over_animals(per_animal)[["value", "null", "p", "n_animals", "n_chains"]].round(2)
       value  null     p  n_animals  n_chains
    0   0.55   0.2  0.44          2        40
    """
    by = [by] if isinstance(by, str) else list(check_list("by", by))
    if not by:
        raise ValueError("by must name at least one column, such as 'statistic'.")
    table = check_table(per_animal, [*by, "statistic", "value", "null", "n"], "per_animal")
    check_cells(table[[*dict.fromkeys([*by, "statistic"])]], "per_animal", lists=False)
    rows = table.assign(
        **{
            column: check_column(table, column, "per_animal", kind="number", missing=True)
            for column in ("value", "null", "n")
        }
    )
    difference = (rows["value"] - rows["null"]).to_numpy()
    above, below = difference > _EQUAL, difference < -_EQUAL
    shares = [name for name, statistic in STATISTICS.items() if statistic.is_share]
    # The share of a rare event is mostly 0, below its mean; other statistics are symmetric.
    binomial = rows["statistic"].isin(shares).to_numpy() & (above | below)
    chance = np.where(above | below, 0.5, np.nan)
    chance[binomial] = chance_above(*rows.loc[binomial, ["null", "n"]].to_numpy().T)
    counted = rows["n"].where(rows["value"].notna(), 0).fillna(0).astype(np.int64)
    rows = rows.assign(above=above, below=below, chance=chance, counted=counted)
    counts = rows.groupby(by, observed=True, sort=True).agg(
        null=("null", "mean"),
        n_above=("above", "sum"),
        n_below=("below", "sum"),
        chance_above=("chance", "mean"),
        n_chains=("counted", "sum"),
    )
    means = mean_interval(rows, "value", by).set_index(by)
    table = means.rename(columns={"mean": "value", "n": "n_animals"}).join(counts).reset_index()
    n, share = table["n_above"] + table["n_below"], table["chance_above"]
    # Two-sided: twice the smaller tail; both tails include what was found.
    sides = binom.cdf(table["n_above"], n, share), binom.sf(table["n_above"] - 1, n, share)
    columns = ["value", "ci_low", "ci_high", "null", "p", "n_animals", "n_above", "n_below"]
    columns += ["chance_above", "n_chains"]
    return table.assign(p=np.minimum(2 * np.minimum(*sides), 1.0))[[*by, *columns]]
