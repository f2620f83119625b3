"""Reward rates in windows of runs: normalisation, learning curves and comparisons over MDPs.

A window's reward rate is the mean raw reward of its time steps. MDPs differ in what can be earned,
so the rate is *normalised* to 0 for a uniformly random policy and 1 for the optimal policy with the
same exploration, each computed exactly for that MDP [1]_. The independent units are MDPs: rates are
first averaged over the seeds of an MDP, and standard errors and intervals are over MDPs.

Tables are tidy, with one row per window of one run. `windows` has the columns `experiment, learner,
mdp, seed, time_step, reward_rate`, where `time_step` is the window's end; `baselines` has
`experiment, mdp, random, optimal`.

References
----------
.. [1] Brea (2018). https://doi.org/10.48550/arXiv.1711.06677
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
from scipy import stats

from analyses.intervals import mean_interval, sign_test
from analyses.tables import different, in_paper_order
from replay.checks import check_choice, check_column, check_number, check_table, shown, typed
from replay.checks.arrays import Floats
from replay.worlds.mdp import MDP, uniform_policy

Rates = TypeVar("Rates", float, Floats)

_RUN = ["experiment", "learner", "mdp", "seed"]
_WINDOWS = [*_RUN, "time_step", "reward_rate"]


class Baselines(NamedTuple):
    """Exact reward rates, per step."""

    random: float  # reward rate of the uniformly random policy
    optimal: float  # reward rate of the optimal policy, with exploration

    def normalise(self, rate: Rates) -> Rates:
        """Scale reward rates so that the random policy has 0 and the optimal policy 1."""
        return (rate - self.random) / (self.optimal - self.random)


@typed
def baselines_of(mdp: MDP, *, discount: float, epsilon: float) -> Baselines:
    """Compute the reward rates of an MDP by which others are normalised.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> baselines_of(from_ascii("S.G"), discount=0.9, epsilon=0.0).optimal
    0.5
    """
    best = mdp.solve(discount).policy
    return Baselines(mdp.reward_rate(uniform_policy(mdp)), mdp.reward_rate(best, epsilon))


def normalise(windows: pd.DataFrame, baselines: pd.DataFrame) -> pd.DataFrame:
    """Scale reward rates so that the random policy has 0 and the optimal policy 1.

    Parameters
    ----------
    windows : pandas.DataFrame
        Columns `experiment, learner, mdp, seed, time_step, reward_rate`.
    baselines : pandas.DataFrame
        Columns `experiment, mdp, random, optimal`: the reward rates of both policies in each MDP.

    Returns
    -------
    pandas.DataFrame
        The columns and rows of `windows` in the same order, with `reward_rate` normalised;
        `experiment` and `learner` are ordered categories in the paper's order.

    Raises
    ------
    ValueError
        If columns are missing, a reward rate is not a finite number, `mdp`, `seed` or `time_step`
        is not a whole number, an MDP has no or two baselines, or its optimal policy earns no more
        than the random one.

    Examples
    --------
    >>> windows = pd.DataFrame({"experiment": "maze", "learner": "q_lambda", "mdp": 0, "seed": 0,
    ...                         "time_step": [100, 200], "reward_rate": [0.01, 0.02]})
    >>> baselines = pd.DataFrame({"experiment": ["maze"], "mdp": 0, "random": 0.0, "optimal": 0.02})
    >>> normalise(windows, baselines)["reward_rate"].tolist()
    [0.5, 1.0]
    """
    windows = _checked(windows, "windows")
    check_table(baselines, ["experiment", "mdp", "random", "optimal"], "baselines")
    numbers = {
        column: check_column(baselines, column, "baselines", kind="number", missing=True)
        for column in ("random", "optimal")
    }
    _check_names(baselines, "experiment", "baselines")
    mdp = check_column(baselines, "mdp", "baselines", kind="whole", at_least=0)
    baselines = baselines[["experiment"]].assign(mdp=mdp, **numbers)
    twice = baselines[baselines.duplicated(["experiment", "mdp"])]
    if len(twice):
        raise ValueError(f"baselines must have one row per MDP; given twice: {_names(twice)}.")
    # Both are exact but for rounding.
    is_same = np.isclose(baselines["random"], baselines["optimal"], rtol=1e-12, atol=0)
    same = baselines[is_same]
    if len(same):
        raise ValueError(
            "There is nothing to learn where a random policy earns as much as the optimal one, so "
            f"these MDPs cannot be normalised: {_names(same)}."
        )
    worse = baselines[baselines["random"] > baselines["optimal"]]
    if len(worse):
        raise ValueError(
            "No policy earns more than the optimal one, but by these baselines the random one does "
            f"in {_names(worse)}."
        )
    ordered = in_paper_order(windows)
    experiments = ordered["experiment"].cat.categories
    asked = baselines[baselines["experiment"].isin(experiments)]
    asked = asked.assign(experiment=pd.Categorical(asked["experiment"], experiments, ordered=True))
    rates = ordered[["experiment", "mdp"]].merge(asked, on=["experiment", "mdp"], how="left")
    without = rates["random"].isna() | rates["optimal"].isna()
    if without.any():
        raise ValueError(f"baselines lack these MDPs of windows: {_names(rates[without])}.")
    random, optimal = rates["random"].to_numpy(), rates["optimal"].to_numpy()
    return ordered.assign(reward_rate=(ordered["reward_rate"] - random) / (optimal - random))


def summarise(normalised: pd.DataFrame) -> pd.DataFrame:
    """Learning curves: mean over MDPs in each window, with a 95 % Student-t interval.

    Parameters
    ----------
    normalised : pandas.DataFrame
        Result of `normalise`.

    Returns
    -------
    pandas.DataFrame
        Columns `experiment, learner, time_step, mean, sem, ci_low, ci_high, n_mdps, n_seeds`.
        `n_seeds` is the smallest number of seeds of an MDP. With a single MDP, `sem` and the
        interval are NaN.

    Examples
    --------
    >>> normalised = pd.DataFrame({"experiment": "maze", "learner": "q_lambda", "mdp": [0, 0, 1],
    ...                            "seed": [0, 1, 0], "time_step": 100,
    ...                            "reward_rate": [0.0, 0.2, 0.3]})
    >>> summarise(normalised)[["mean", "sem", "n_mdps", "n_seeds"]]
       mean  sem  n_mdps  n_seeds
    0   0.2  0.1       2        1
    """
    normalised = _checked(normalised, "normalised")
    return over_mdps(in_paper_order(normalised), ["experiment", "learner", "time_step"])


def over_mdps(rates: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Average reward rates over MDPs, after averaging over the seeds of each; as `summarise`.

    `rates` has one row per seed: the columns `by`, `mdp` and `reward_rate`.
    """
    by = list(by)
    check_table(rates, [*by, "mdp", "reward_rate"], "rates")
    check_column(rates, "reward_rate", "rates", kind="number", missing=True)
    within = rates.groupby([*by, "mdp"], observed=True, sort=True)["reward_rate"]
    mdps = within.agg(["mean", "count"]).reset_index()
    n_seeds = mdps.groupby(by, observed=True, sort=True)["count"].min().to_numpy()
    summary = mean_interval(mdps, "mean", by).rename(columns={"n": "n_mdps"})
    return summary.assign(n_seeds=n_seeds)


def area_under_curve(normalised: pd.DataFrame) -> pd.DataFrame:
    """Mean normalised reward rate of whole runs, with a 95 % Student-t interval over MDPs.

    The windows of a run must be equally long.

    Examples
    --------
    >>> normalised = pd.DataFrame({"experiment": "maze", "learner": "q_lambda", "mdp": 0, "seed": 0,
    ...                            "time_step": [100, 200], "reward_rate": [0.0, 0.5]})
    >>> area_under_curve(normalised)[["mean", "n_mdps"]]
       mean  n_mdps
    0  0.25       1
    """
    normalised = _checked(normalised, "normalised")
    return over_mdps(_means(in_paper_order(normalised), _RUN), ["experiment", "learner"])


def paired_difference(normalised: pd.DataFrame, learner: str, reference: str) -> pd.DataFrame:
    """Difference between two learners, paired over the MDPs in which both of them ran.

    Differences are `learner` minus `reference`, of the means of whole runs. `p` is that of the
    paired t test and `p_sign` that of the sign test; in `n_better` of `n_mdps` the learner earned
    more.
    """
    normalised = _checked(normalised, "normalised")
    present = list(normalised["learner"].unique())
    for name, value in (("learner", learner), ("reference", reference)):
        check_choice(name, value, present)
    if learner == reference:
        raise ValueError(f"learner and reference must differ, got {learner!r} for both.")
    pair = in_paper_order(normalised[normalised["learner"].isin([learner, reference])])
    rates = _means(_means(pair, _RUN), _RUN[:3])
    wide = rates.pivot_table("reward_rate", ["experiment", "mdp"], "learner", observed=True)
    differences = (wide[learner] - wide[reference]).dropna().rename("difference").reset_index()
    if differences.empty:
        raise ValueError(f"No MDP has runs of both {learner!r} and {reference!r}.")
    summary = mean_interval(differences, "difference", ["experiment"])
    summary = summary.rename(columns={"n": "n_mdps"})
    groups = differences.groupby("experiment", observed=True, sort=True)["difference"]
    signs = [sign_test(group) for _, group in groups]
    # If all differences are equal, there is no standard error to compare them with.
    t = (summary["mean"] / summary["sem"].where(summary["sem"] > 0)).abs()
    table = summary.assign(
        learner=learner,
        reference=reference,
        p=2 * stats.t.sf(t, summary["n_mdps"] - 1),
        n_better=[sign.n_positive for sign in signs],
        p_sign=[sign.p for sign in signs],
    )
    comparison = ["mean", "sem", "ci_low", "ci_high", "n_mdps", "p", "n_better", "p_sign"]
    return table[["experiment", "learner", "reference", *comparison]]


def time_to_criterion(normalised: pd.DataFrame, criterion: float) -> pd.DataFrame:
    """Find the first window that reaches a criterion.

    For each MDP's mean over seeds; `time_step` is the end of the window, NaN if the normalised
    reward rate never reached the criterion.
    """
    normalised = _checked(normalised, "normalised")
    check_number("criterion", criterion)
    keys = _RUN[:3]
    curves = _means(in_paper_order(normalised), [*keys, "time_step"])
    reached = curves["time_step"].where(curves["reward_rate"] >= criterion)
    first = reached.groupby([curves[key] for key in keys], observed=True).min()
    return first.astype("float64").rename("time_step").reset_index()


def summarise_times(times: pd.DataFrame) -> pd.DataFrame:
    """Median time to a criterion, and the share of units that reached it.

    Units that did not reach the criterion count as slower than all others; the median is NaN if
    they are half or more.
    """
    check_table(times, ["experiment", "learner", "time_step"], "times")
    steps = check_column(times, "time_step", "times", kind="number", at_least=0, missing=True)
    ordered = in_paper_order(times.assign(time_step=steps))
    uncensored = ordered.assign(
        time_step=ordered["time_step"].fillna(float("inf")), reached=ordered["time_step"].notna()
    )
    table = (
        uncensored.groupby(["experiment", "learner"], observed=True, sort=True)
        .agg(
            median=("time_step", "median"), share_reached=("reached", "mean"), n=("reached", "size")
        )
        .reset_index()
    )
    return table.assign(median=table["median"].where(table["median"] < float("inf")))


def _checked(windows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Check the windows of runs, and convert their columns."""
    check_table(windows, _WINDOWS, name)
    for column in ("experiment", "learner"):
        _check_names(windows, column, name)
    whole = {
        column: check_column(windows, column, name, kind="whole", at_least=0)
        for column in ("mdp", "seed", "time_step")
    }
    rates = check_column(windows, "reward_rate", name, kind="number")
    return windows[_WINDOWS].assign(**whole, reward_rate=rates)


def _check_names(table: pd.DataFrame, column: str, name: str) -> None:
    for row, value in different(table[column]).items():
        if not (isinstance(value, str) and value and value.isprintable()):
            raise ValueError(
                f"The column {column!r} of {name} must hold names; row {row} has {shown(value)}."
            )


def _means(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return table.groupby(by, observed=True, sort=True)["reward_rate"].mean().reset_index()


def _names(rows: pd.DataFrame) -> str:
    pairs = rows[["experiment", "mdp"]].drop_duplicates()
    shown = [f"{row.experiment} {row.mdp}" for row in pairs.head(5).itertuples()]
    return ", ".join(shown) + (", ..." if len(pairs) > 5 else "")
