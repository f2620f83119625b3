"""Comparison of simulated with published quantities."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.intervals import mean_interval
from replay.checks import check_table
from replay.data import reference_table

__all__ = ["compare_claims", "compare_panels", "published_panels"]

_FURTHEST = 3.0
"""In standard errors. By chance, about a quarter of tables of 100 differences have a larger one."""

_MARGIN = 0.5
"""Of a published value: a wider tolerance does not tell whether a simulated value equals it."""

_TEXT = ["account", "panel", "quantity", "protocol", "measure", "source", "read_from"]
_PUBLISHED = ["value", "sem", "n", "low", "high", "sign"]
_EXPERIMENT = ["task", "statistic", "experiment_sign"]
_COLUMNS = [*_TEXT, *_PUBLISHED, *_EXPERIMENT, "why"]


def published_panels() -> pd.DataFrame:
    """Read the published quantities, one row per quantity of a figure.

    The columns are those of ``published.csv``.

    Examples
    --------
    >>> published_panels()["account"].iloc[0]
    'prioritized_memory_access'
    """
    panels = reference_table("parity/published")
    check_table(panels, _COLUMNS, "data/parity/published.csv")
    return panels[_COLUMNS]


def compare_panels(
    published: pd.DataFrame,
    simulated: pd.DataFrame,
    experiments: pd.DataFrame,
    *,
    known: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compare simulated animals with published values, row by row.

    A value agrees if the two means differ by at most three standard errors of their difference. If
    the published error is unknown, or is 0 because a rare event never occurred, the standard
    deviation of the simulated animals replaces that of the published ones. A range agrees if the
    simulated mean lies within it, or within three standard errors of it. A direction agrees if the
    simulated 95 % interval lies on that side of 0, disagrees if it lies on the other, and is
    otherwise undecided.

    Examples
    --------
    >>> published = pd.DataFrame({"protocol": "p", "measure": "m", "value": [1.0], "sem": 0.1,
    ...                           "n": 4.0, "low": np.nan, "high": np.nan, "sign": np.nan,
    ...                           "account": "a", "task": None, "statistic": None,
    ...                           "experiment_sign": np.nan})
    >>> ours = pd.DataFrame({"protocol": "p", "measure": "m", "value": [1.0, 1.2, 1.4]})
    >>> none = pd.DataFrame(columns=["account", "task", "statistic", "value"])
    >>> compare_panels(published, ours, none)[["ours", "agrees"]].values.tolist()
    [[1.2, 'yes']]
    """
    needed = [*_PUBLISHED, *_EXPERIMENT, "account", "protocol", "measure"]
    check_table(published, needed, "published")
    check_table(simulated, ["protocol", "measure", "value"], "simulated")
    check_table(experiments, ["account", "task", "statistic", "value"], "experiments")
    ours = [_means(simulated, ["protocol", "measure"], "ours")]
    ours += [] if known is None else [known]
    table = published.merge(pd.concat(ours, ignore_index=True), "left", ["protocol", "measure"])
    by = ["account", "task", "statistic"]
    table = table.merge(_means(experiments, by, "experiment"), "left", by)
    error = _error(table)
    apart = table["ours"] - table["value"]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(np.abs(apart) < 1e-9, 0.0, apart / error)
    table["z"] = z
    table["agrees"] = _verdicts(table)
    low, high = table["experiment_low"], table["experiment_high"]
    shows = _direction(low, high, table["experiment_sign"])
    table["experiment_agrees"] = np.where(table["experiment"].isna(), "", shows)
    table = table.rename(columns={"ours_low": "ci_low", "ours_high": "ci_high"})
    return table.drop(columns=["experiment_sem"])


def compare_claims(table: pd.DataFrame) -> pd.DataFrame:
    """Judge each figure of an account by all of its quantities that are computed.

    `table` is that of `compare_panels`. Rows of one figure are no independent tests, and rows
    whose tolerance is half of the value or more tell little: both make agreement look better.
    """
    known = table[table["agrees"] != "not computed"]
    tolerance = _FURTHEST * _error(known)
    is_wide = tolerance >= _MARGIN * known["value"].abs().to_numpy(float)
    is_exact = known["ours"] == known["value"]
    is_wide &= known["value"].notna().to_numpy() & ~is_exact.to_numpy()
    differs = (known["agrees"] == "no").to_numpy()
    imprecise = ((known["agrees"] == "undecided").to_numpy() | is_wide) & ~differs
    judged = known[["account", "panel"]].assign(
        n=1, n_agree=~differs & ~imprecise, n_differ=differs, n_imprecise=imprecise
    )
    claims = judged.groupby(["account", "panel"], sort=False, dropna=False).sum().reset_index()
    verdict = np.select(
        [claims["n_differ"] > 0, claims["n_imprecise"] > 0], ["differs", "too imprecise"], "agrees"
    )
    claims.insert(2, "verdict", verdict)
    return claims


def _error(table: pd.DataFrame) -> NDArray[np.float64]:
    """Compute the standard error of the difference of each simulated and published mean."""
    theirs = table["sem"].to_numpy(float)
    spread = table["ours_sem"] * np.sqrt(table["ours_n"] / table["n"])
    unknown = np.isnan(theirs) | (theirs == 0.0)
    error = np.hypot(table["ours_sem"], np.where(unknown, spread.fillna(0.0), theirs))
    return np.asarray(error, dtype=np.float64)


def _means(animals: pd.DataFrame, by: list[str], name: str) -> pd.DataFrame:
    """Compute the mean over animals, its standard error and its interval."""
    known = animals.dropna(subset=["value"]).astype({"value": float})
    names = {
        "mean": name, "sem": f"{name}_sem", "n": f"{name}_n",
        "ci_low": f"{name}_low", "ci_high": f"{name}_high",
    }  # fmt: skip
    if known.empty:
        columns: dict[str, object] = dict.fromkeys(by, pd.Series(dtype=object))
        return pd.DataFrame(columns | dict.fromkeys(names.values(), pd.Series(dtype=float)))
    return mean_interval(known, "value", by).rename(columns=names)[[*by, *names.values()]]


def _verdicts(table: pd.DataFrame) -> NDArray[np.str_]:
    ours, error = table["ours"], _FURTHEST * table["ours_sem"].fillna(0.0)
    in_range = (ours >= table["low"] - error) & (ours <= table["high"] + error)
    near = np.abs(table["z"]) <= _FURTHEST
    kinds = [ours.isna(), table["value"].notna(), table["low"].notna(), table["sign"].notna()]
    verdicts = [
        np.full(len(table), "not computed"),
        np.where(near, "yes", "no"),
        np.where(in_range, "yes", "no"),
        _direction(table["ours_low"], table["ours_high"], table["sign"]),
    ]
    return np.select(kinds, verdicts, "not computed")


def _direction(low: pd.Series, high: pd.Series, sign: pd.Series) -> NDArray[np.str_]:
    """Return whether intervals lie on the expected side of 0 (yes), the other (no), or on both."""
    same = np.where(sign > 0, low > 0, high < 0)
    other = np.where(sign > 0, high < 0, low > 0)
    return np.select([same, other], ["yes", "no"], "undecided")
