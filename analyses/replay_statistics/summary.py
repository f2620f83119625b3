"""A statistic of all animals: mean, interval, null and sign test."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyses.statistics import mean_interval, sign_test
from analyses.tables import require_columns

__all__ = ["summarise"]


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
        `ci_high`; the mean `null`; `p`, two-sided, of a sign test over animals of value against
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
       value  null    p  n_animals  n_chains
    0   0.55   0.2  0.5          2        40
    """
    require_columns(per_animal, ["animal", "value", "null", "n"], "per_animal")
    told = per_animal[per_animal["value"].notna()].assign(statistic=name)
    summary = mean_interval(told, "value", ["statistic"], level)
    row = dict.fromkeys(["mean", "ci_low", "ci_high"], np.nan)
    if len(summary):
        row |= summary.iloc[0][list(row)]
    test = sign_test(told["value"] - told["null"])
    return pd.DataFrame(
        {
            "statistic": [name],
            "value": [float(row["mean"])],
            "ci_low": [float(row["ci_low"])],
            "ci_high": [float(row["ci_high"])],
            "null": [float(told["null"].mean())],
            "p": [test.p],
            "n_animals": [len(told)],
            "n_chains": [int(told["n"].sum())],
        }
    )
