"""A statistic of all animals: mean, interval, null and sign test.

The sign test asks whether animals lie above their null as often as below. That is what chance does
where a null is even, such as as many reverse as forward chains. The share of what is rare lies
below its mean more often than above, be it only because it is mostly none at all. So for shares the
test expects as many animals above as the binomial distribution has there.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from analyses.intervals import mean_interval
from analyses.measures.catalogue import STATISTICS
from analyses.tables import require_columns

__all__ = ["chance_above", "null_p", "summarise"]

_EQUAL = 1e-12


def chance_above(null: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Give the chance that a share lies above its null, if it is not equal to it.

    Parameters
    ----------
    null : ndarray of float, shape (n_animals,)
        The shares expected by chance.
    n : ndarray of int, shape (n_animals,)
        What each share is of.

    Returns
    -------
    ndarray of float, shape (n_animals,)
        The chances; a half where the null is 0 or 1.

    Examples
    --------
    >>> chance_above(np.array([0.5, 0.1, 0.1, 0.0]), np.array([9, 5, 500, 9])).round(2).tolist()
    [0.5, 0.41, 0.49, 0.5]
    """
    mean = np.round(null * n, 9)
    above = stats.binom.sf(np.floor(mean), n, null)
    below = stats.binom.cdf(np.ceil(mean) - 1, n, null)
    differs = above + below
    return np.where(differs > 0, above / np.where(differs > 0, differs, 1), 0.5)


def null_p(name: str, per_animal: pd.DataFrame) -> float:
    """Test whether animals lie above their null as often as chance has it.

    Parameters
    ----------
    name : str
        What the statistic is called. For a share in ``STATISTICS`` chance is `chance_above`, for
        anything else a half.
    per_animal : DataFrame
        One row an animal: `value, null, n`.

    Returns
    -------
    float
        The exact p value, twice that of the rarer side; NaN if no animal differs from its null.

    Examples
    --------
    >>> per_animal = pd.DataFrame({"value": [0.2, 0.3, 0.1, 0.4, 0.5], "null": 0.0, "n": 9})
    >>> null_p("S5", per_animal)
    0.0625
    """
    value, null, n = (per_animal[column].to_numpy() for column in ("value", "null", "n"))
    differs = np.abs(value - null) > _EQUAL
    if not differs.any():
        return float("nan")
    is_share = name in STATISTICS and STATISTICS[name].kind == "share"
    chance = chance_above(null[differs], n[differs]).mean() if is_share else 0.5
    n_above = int((value > null)[differs].sum())
    above = stats.binom(int(differs.sum()), chance)
    return float(min(1.0, 2 * min(above.cdf(n_above), above.sf(n_above - 1))))


def summarise(name: str, per_animal: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Put what each animal has to say into one row.

    Parameters
    ----------
    name : str
        What the statistic is called.
    per_animal : DataFrame
        One row an animal: `animal, value, null, n`. A value of NaN says nothing.
    level : float, default 0.95
        Coverage of the interval.

    Returns
    -------
    DataFrame
        One row: `statistic`; `value`, the mean over animals, with its Student-t interval `ci_low`,
        `ci_high`; the mean `null`; `p`, two-sided, of the sign test over animals of value against
        null; `n_animals` and `n_chains`. What the data cannot give is NaN.

    Raises
    ------
    ValueError
        If columns are missing, or `level` is not between 0 and 1.

    Examples
    --------
    >>> per_animal = pd.DataFrame({"animal": [0, 1, 2], "value": [0.5, 0.6, np.nan],
    ...                            "null": [0.2, 0.2, np.nan], "n": [10, 30, 0]})
    >>> summarise("S3", per_animal)[["value", "null", "p", "n_animals", "n_chains"]].round(2)
       value  null     p  n_animals  n_chains
    0   0.55   0.2  0.44          2        40
    """
    require_columns(per_animal, ["animal", "value", "null", "n"], "per_animal")
    told = per_animal[per_animal["value"].notna()].assign(statistic=name)
    summary = mean_interval(told, "value", ["statistic"], level)
    row = dict.fromkeys(["mean", "ci_low", "ci_high"], np.nan)
    if len(summary):
        row |= summary.iloc[0][list(row)]
    return pd.DataFrame(
        {
            "statistic": [name],
            "value": [float(row["mean"])],
            "ci_low": [float(row["ci_low"])],
            "ci_high": [float(row["ci_high"])],
            "null": [float(told["null"].mean())],
            "p": [null_p(name, told)],
            "n_animals": [len(told)],
            "n_chains": [int(told["n"].sum())],
        }
    )
