"""The tables of a comparison: evidence for each account, and what its method can tell apart."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.findings.evidence import (
    BETWEEN_STUDIES,
    SURPRISE,
    Published,
    Studies,
    evidence,
    independent_trials,
    likelihoods,
    published,
    synthetic,
)
from analyses.jobs.results import Results
from analyses.measures import STATISTICS
from analyses.studies.comparison.plan import AS_PUBLISHED, Comparison
from analyses.studies.comparison.simulated_studies import settings

__all__ = ["compare_tables", "weights"]

_DIAGNOSTIC = 1.0  # bits by which some account must surpass every control
_N_RESAMPLED = 200
_N_TRUTHS = 64  # draws of each account that are taken for the truth
_BINS = 8
_SETTINGS = {
    "as told": (BETWEEN_STUDIES, SURPRISE),
    "studies differ by .03": (0.03, SURPRISE),
    "studies differ by .12": (0.12, SURPRISE),
    "surprise .01": (BETWEEN_STUDIES, 0.01),
    "surprise .2": (BETWEEN_STUDIES, 0.2),
}
_EVIDENCE = ["finding", "study", "account", "evidence", "evidence_se", "weight", "diagnostic"]
_SUMS = ["account", "is_control", "evidence", "ci_low", "ci_high", "evidence_se", "n_studies"]
_SUMS += ["n_findings", "evidence_of_all"]
_COLUMNS = ["successes", "trials", "mean", "sd", "value", "n_animals"]


class _Tested(NamedTuple):
    """The findings, and what all accounts predict of them."""

    rows: list[dict[Hashable, Any]]
    results: list[Published]
    studies: list[dict[str, Studies]]
    weight: NDArray[np.float64]


def compare_tables(plan: Comparison, results: Results) -> dict[str, pd.DataFrame]:
    """Put all pieces together.

    Parameters
    ----------
    plan : Comparison
        What is compared.
    results : Results
        The folder, with all pieces.

    Returns
    -------
    dict of str to pandas.DataFrame
        The tables by the name of their files; `analyses.studies.comparison.compare` says what they
        hold.
    """
    simulated = results.read_pieces("studies")
    drawn = {name: settings(plan, name) for name in plan.names()}
    parameters = pd.DataFrame(
        [
            {"account": name, "draw": draw, "parameter": key, "value": str(value)}
            for name, sets in drawn.items()
            for draw, each in enumerate(sets)
            for key, value in each.items()
        ],
        columns=["account", "draw", "parameter", "value"],
    )
    tested = _tested(plan, simulated)
    rng = np.random.default_rng([plan.seed, 1])
    found = _evidence(plan, tested, rng)
    return {
        "evidence.csv": found,
        "sums.csv": _sums(plan, found, rng),
        "confusion.csv": _confusion(plan, tested, rng),
        "robustness.csv": _robustness(plan, tested),
        "regions.csv": _regions(plan, tested, drawn),
        "measurements.csv": _measurements(plan, simulated, rng),
        "studies.parquet": simulated,
        "parameters.parquet": parameters,
        "findings.csv": plan.findings,
    }


def weights(rows: pd.DataFrame) -> NDArray[np.float64]:
    """Give each finding its share of its study's vote.

    A study has one vote, however many statistics it reports: its findings share it equally. Studies
    that answer one question in ways that exclude each other share one vote, too.

    Parameters
    ----------
    rows : DataFrame
        Findings: `id, study, contradicts`.

    Returns
    -------
    ndarray of float, shape (n_findings,)
        The weights.

    Examples
    --------
    >>> rows = pd.DataFrame({"id": ["a.1", "a.2", "b.1"], "study": ["a", "a", "b"],
    ...                      "contradicts": ["", "b.1", "a.2"]})
    >>> weights(rows).tolist()
    [0.5, 0.25, 0.5]
    """
    weight = 1 / rows.groupby("study")["id"].transform("size").to_numpy(float)
    studies = dict(zip(rows["id"], rows["study"], strict=True))
    for number, (study, others) in enumerate(
        zip(rows["study"], rows["contradicts"].fillna(""), strict=True)
    ):
        opposed = {studies[other] for other in others.split() if other in studies} - {study}
        weight[number] /= 1 + len(opposed)
    return weight


def _tested(plan: Comparison, simulated: pd.DataFrame) -> _Tested:
    """Arrange the simulated studies by finding and account."""
    rows = pd.concat([plan.tested(task) for task in plan.tasks])
    of_finding = dict(tuple(simulated[simulated["finding"] != ""].groupby("finding", sort=False)))
    studies = []
    for name in rows["id"]:
        accounts = (
            of_finding[name].sort_values("draw", kind="stable").groupby("account", sort=False)
        )
        studies.append(
            {
                str(account): Studies(*(group[column].to_numpy(float) for column in _COLUMNS))
                for account, group in accounts
            }
        )
    records = rows.to_dict("records")
    return _Tested(records, [published(row) for row in records], studies, weights(rows))


def _evidence(plan: Comparison, tested: _Tested, rng: np.random.Generator) -> pd.DataFrame:
    """Score all accounts by all findings."""
    made = []
    for row, result, studies, weight in zip(*tested, strict=True):
        for name, each in studies.items():
            likelihood = likelihoods(result, each)
            again = rng.integers(len(likelihood), size=(_N_RESAMPLED, len(likelihood)))
            predicted = each.value if result.likelihood in ("count", "value") else each.mean
            known = predicted[~np.isnan(predicted)]
            low, middle, high = (
                np.quantile(known, [0.05, 0.5, 0.95]) if len(known) else [np.nan] * 3
            )
            made.append(
                {
                    "finding": row["id"],
                    "study": row["study"],
                    "source": row["source"],
                    "question": row["question"],
                    "task": row["task_name"],
                    "statistic": row["statistic"],
                    "label": STATISTICS[row["statistic"]].label,
                    "likelihood": result.likelihood,
                    "account": name,
                    "evidence": evidence(likelihood),
                    "evidence_se": float(np.std(evidence(likelihood[again]))),
                    "share_agreeing": float(np.mean(likelihood > 1)),
                    "predicted_low": low,
                    "predicted": middle,
                    "predicted_high": high,
                    "share_without_replay": float(np.mean(~(each.n_animals > 0))),
                    **_interval(result),
                    "weight": weight,
                    "second_hand": row["second_hand"],
                }
            )
    if not made:
        return pd.DataFrame(columns=_EVIDENCE)
    table = pd.DataFrame(made)
    is_control = table["account"].map(lambda name: _is_control(plan, name))
    is_prior = ~table["account"].str.endswith(AS_PUBLISHED)
    best = table[~is_control & is_prior].groupby("finding")["evidence"].max()
    by_chance = table[is_control].groupby("finding")["evidence"].max().reindex(best.index)
    surpasses = best - by_chance.fillna(0.0) > _DIAGNOSTIC
    return table.assign(
        is_control=is_control, diagnostic=table["finding"].map(surpasses).astype("boolean")
    )


def _interval(result: Published) -> dict[str, float]:
    """Give what was published, and 95 % around it where there is a number."""
    if result.likelihood == "direction":
        return {"published": result.first, "published_low": np.nan, "published_high": np.nan}
    if result.likelihood == "null":
        return {
            "published": 0.0,
            "published_low": result.first,
            "published_high": result.second,
        }
    if result.likelihood == "value":
        share, error = result.first, float(np.hypot(result.second, BETWEEN_STUDIES))
    else:
        share = result.first / result.second
        error = float(np.sqrt(share * (1 - share) / independent_trials(result.second)))
    return {
        "published": share,
        "published_low": max(share - 1.96 * error, result.low),
        "published_high": min(share + 1.96 * error, result.high),
    }


def _is_control(plan: Comparison, name: str) -> bool:
    return plan.accounts[name.removesuffix(AS_PUBLISHED)].is_control


def _sums(plan: Comparison, found: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Add up the evidence of diagnostic findings, a vote a study, with intervals over studies."""
    rows = []
    for name, own in found.groupby("account", sort=False) if len(found) else ():
        told = own[own["diagnostic"].fillna(False).astype(bool)]
        votes = (told["evidence"] * told["weight"]).groupby(told["study"]).sum()
        error = float(np.sqrt(((told["evidence_se"] * told["weight"]) ** 2).sum()))
        again = rng.integers(max(len(votes), 1), size=(_N_RESAMPLED * 5, len(votes)))
        sums = votes.to_numpy()[again].sum(axis=1) if len(votes) else np.zeros(1)
        low, high = np.quantile(sums, [0.025, 0.975])
        rows.append(
            {
                "account": name,
                "is_control": _is_control(plan, str(name)),
                "evidence": float(votes.sum()),
                "ci_low": float(low),
                "ci_high": float(high),
                "evidence_se": error,
                "n_studies": len(votes),
                "n_findings": len(told),
                "evidence_of_all": float((own["evidence"] * own["weight"]).sum()),
            }
        )
    table = pd.DataFrame(rows, columns=_SUMS)
    return table.sort_values("evidence", ascending=False, kind="stable")


def _confusion(plan: Comparison, tested: _Tested, rng: np.random.Generator) -> pd.DataFrame:
    """Take draws of each account for the truth, score all accounts blind, and count who wins."""
    names = [name for name in plan.names() if not name.endswith(AS_PUBLISHED)]
    counts = pd.DataFrame(0.0, index=names, columns=names)
    for truth in names if tested.rows else ():
        draws = rng.permutation(plan.n_studies(truth))[:_N_TRUTHS]
        total = np.zeros((len(draws), len(names)))
        for result, studies, weight in zip(*tested[1:], strict=True):
            for row, draw in enumerate(draws.tolist()):
                told = synthetic(result, studies[truth], draw)
                if told is None:
                    continue
                for column, name in enumerate(names):
                    likelihood = likelihoods(told, studies[name])
                    if name == truth:
                        likelihood = np.delete(likelihood, draw)
                    total[row, column] += weight * evidence(likelihood)
        # What all accounts score alike has no winner: the vote is split.
        best = total >= total.max(axis=1, keepdims=True) - 1e-9
        counts.loc[truth] = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    table = counts.rename_axis("truth").reset_index()
    return table.melt("truth", var_name="found", value_name="share")


def _robustness(plan: Comparison, tested: _Tested) -> pd.DataFrame:
    """Give the sums of evidence under other settings of the scoring, of all findings."""
    rows = []
    for setting, (between, surprise) in _SETTINGS.items():
        for name in plan.names() if tested.rows else ():
            bits = [
                weight * evidence(likelihoods(result, studies[name], between), surprise)
                for result, studies, weight in zip(*tested[1:], strict=True)
            ]
            rows.append({"setting": setting, "account": name, "evidence": float(np.sum(bits))})
    table = pd.DataFrame(rows, columns=["setting", "account", "evidence"])
    rank = table.groupby("setting")["evidence"].rank(ascending=False, method="min")
    return table.assign(rank=rank.astype("Int64"))


def _regions(
    plan: Comparison, tested: _Tested, drawn: Mapping[str, list[dict[str, Any]]]
) -> pd.DataFrame:
    """Tell where in the space of its parameters an account agrees with each finding."""
    rows = []
    for row, result, studies, _ in zip(*tested, strict=True):
        for name, each in studies.items():
            account = plan.accounts[name.removesuffix(AS_PUBLISHED)]
            if name.endswith(AS_PUBLISHED):
                continue
            agrees = likelihoods(result, each) > 1
            if not agrees.any():
                continue
            for key in account.priors:
                agreeing = np.flatnonzero(agrees).tolist()
                region = _region([drawn[name][draw].get(key) for draw in agreeing])
                rows.append(
                    {
                        "account": name,
                        "finding": row["id"],
                        "parameter": key,
                        "region": region,
                        "share_agreeing": float(agrees.mean()),
                    }
                )
    return pd.DataFrame(
        rows, columns=["account", "finding", "parameter", "region", "share_agreeing"]
    )


def _region(values: list[Any]) -> str:
    """Tell where most of some values of a parameter lie; None is the learner's own value."""
    numbers = [each for each in values if not isinstance(each, bool | str | None)]
    if len(numbers) + values.count(None) < len(values):
        common = pd.Series(values).astype(str).value_counts(normalize=True)
        return ", ".join(f"{value} {share:.0%}" for value, share in common.items())
    parts = []
    if numbers:
        low, high = np.quantile(np.array(numbers, dtype=float), [0.05, 0.95])
        parts = [f"{low:.3g} to {high:.3g}"]
    if len(numbers) < len(values):
        parts.append(f"its default {values.count(None) / len(values):.0%}")
    return ", ".join(parts)


def _measurements(
    plan: Comparison, simulated: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """Tell how much one study of each statistic would tell of which account is true, in bits."""
    is_prior = ~simulated["account"].str.endswith(AS_PUBLISHED)
    told = simulated[is_prior & (simulated["finding"] == "")]
    names = [name for name in plan.names() if not name.endswith(AS_PUBLISHED)]
    rows = []
    for (task, statistic), group in told.groupby(["task", "statistic"], sort=False):
        value = group["value"].to_numpy(float)
        account = pd.Categorical(group["account"], names).codes
        known = value[~np.isnan(value)]
        edges: NDArray[np.float64] = np.unique(
            np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]) if len(known) else known
        )
        cell = np.where(np.isnan(value), len(edges) + 1, np.searchsorted(edges, value))
        shared = _shared(account, cell, len(names))
        by_chance = np.mean(
            [_shared(rng.permutation(account), cell, len(names)) for _ in range(20)]
        )
        pair, apart = _most_apart(account, cell, names)
        rows.append(
            {
                "task": task,
                "statistic": statistic,
                "information": max(float(shared - by_chance), 0.0),
                "most_apart": pair,
                "apart": apart,
            }
        )
    table = pd.DataFrame(rows, columns=["task", "statistic", "information", "most_apart", "apart"])
    return table.sort_values("information", ascending=False, kind="stable")


def _shared(account: NDArray[Any], cell: NDArray[Any], n_accounts: int) -> float:
    """Give the mutual information of account and result in bits, all accounts equally probable."""
    table = np.zeros((n_accounts, int(cell.max()) + 1))
    np.add.at(table, (account, cell), 1)
    table = table[table.sum(axis=1) > 0]
    share = table / table.sum(axis=1, keepdims=True) / len(table)
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    inside = share > 0
    bits = float((share[inside] * np.log2(share[inside] / expected[inside])).sum())
    return min(bits, float(np.log2(len(table))))


def _most_apart(account: NDArray[Any], cell: NDArray[Any], names: list[str]) -> tuple[str, float]:
    """Find the two accounts whose results differ most: their information, at most 1 bit."""
    best, most = "", 0.0
    for one in range(len(names)):
        for other in range(one):
            two = (account == one) | (account == other)
            if (account == one).any() and (account == other).any():
                apart = _shared((account[two] == one).astype(int), cell[two], 2)
                if apart > most + 1e-9:
                    best, most = f"{names[other]}, {names[one]}", apart
    return best, most
