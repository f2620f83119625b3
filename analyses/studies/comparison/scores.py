"""Evidence for each account: by finding, summed over studies, and under other settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.findings.evidence import (
    BETWEEN_STUDIES,
    SURPRISE,
    Studies,
    evidence,
    joint_evidence,
)
from analyses.measures import STATISTICS
from analyses.studies.comparison.plan import Comparison
from analyses.studies.comparison.predictions import Predictions

__all__ = ["evidence_table", "regions", "robustness", "sums"]

_DIAGNOSTIC = 1.0  # bits by which some account must surpass every control
_N_RESAMPLED = 200
_N_RESAMPLED_STUDIES = 2000


class _Setting(NamedTuple):
    """How evidence is scored; the defaults are the usual way."""

    between_studies: float = BETWEEN_STUDIES
    surprise: float = SURPRISE
    half: int = 0  # of the draws: the first (1), the second (2), or both (0)
    is_joint: bool = False  # whether one draw accounts for all findings of a study


_SETTINGS = {
    "usual": _Setting(),
    "one draw for all findings of a study": _Setting(is_joint=True),
    "studies differ by .03": _Setting(between_studies=0.03),
    "studies differ by .12": _Setting(between_studies=0.12),
    "surprise .01": _Setting(surprise=0.01),
    "surprise .2": _Setting(surprise=0.2),
    "first half of the draws": _Setting(half=1),
    "second half of the draws": _Setting(half=2),
}
_EVIDENCE = ["finding", "study", "account", "is_control", "as_published", "evidence"]
_EVIDENCE += ["evidence_se", "weight", "diagnostic"]
_INTERVAL = (0.025, 0.975)


def evidence_table(plan: Comparison, known: Predictions, rng: np.random.Generator) -> pd.DataFrame:
    """Score all accounts by all findings; `rng` resamples draws, for Monte Carlo errors."""
    made = []
    for row, result, studies, weight in zip(*known, strict=True):
        for name, each in studies.items():
            likelihood = result.likelihood(each)
            again = rng.integers(len(likelihood), size=(_N_RESAMPLED, len(likelihood)))
            predicted = result.predicted(each)
            there = predicted[~np.isnan(predicted)]
            low, middle, high = (
                np.quantile(there, [0.05, 0.5, 0.95]) if len(there) else [np.nan] * 3
            )
            published, published_low, published_high = result.interval()
            made.append(
                {
                    "finding": row["id"],
                    "study": row["study"],
                    "source": row["source"],
                    "question": row["question"],
                    "task": row["task_name"],
                    "statistic": row["statistic"],
                    "label": STATISTICS[row["statistic"]].label,
                    "likelihood": result.kind,
                    "account": name,
                    "evidence": evidence(likelihood),
                    "evidence_se": float(np.std(evidence(likelihood[again]))),
                    "share_agreeing": float(np.mean(likelihood > 1)),
                    "predicted_low": low,
                    "predicted": middle,
                    "predicted_high": high,
                    "share_without_replay": float(np.mean(~(each.n_animals > 0))),
                    "published": published,
                    "published_low": published_low,
                    "published_high": published_high,
                    "weight": weight,
                    "second_hand": row["second_hand"],
                }
            )
    if not made:
        return pd.DataFrame(columns=_EVIDENCE)
    table = pd.DataFrame(made)
    candidates = plan.candidates()
    of_rows = [candidates[name] for name in table["account"]]
    as_published = np.array([each.as_published for each in of_rows])
    is_control = np.array([plan.accounts[each.account].is_control for each in of_rows])
    best = table[~is_control & ~as_published].groupby("finding")["evidence"].max()
    by_chance = table[is_control].groupby("finding")["evidence"].max().reindex(best.index)
    # Where no control is scored, a uniform prediction, of 0 bits, stands for it.
    surpasses = best - by_chance.fillna(0.0) > _DIAGNOSTIC
    return table.assign(
        is_control=is_control,
        as_published=as_published,
        diagnostic=table["finding"].map(surpasses).astype("boolean"),
    )


def sums(found: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Sum evidence with one vote per study: over all findings, and over diagnostic ones.

    Diagnostic findings are those in which some account surpasses all controls, so their sums favour
    accounts; sums over all findings do not. `rng` resamples studies, the same ones for all
    accounts. Accounts are in descending order of evidence from all findings.
    """
    of_all = _sum(found, rng)
    diagnostic = _sum(found[found["diagnostic"].fillna(False).astype(bool)], rng)
    columns = {f"{name}_of_all": of_all[name] for name in of_all}
    table = of_all[[]].join(diagnostic).fillna(0.0).assign(**columns)
    each = found.drop_duplicates("account").set_index("account")
    table.insert(0, "is_control", each["is_control"].astype(bool).reindex(table.index))
    table = table.sort_values("evidence_of_all", ascending=False, kind="stable")
    return table.rename_axis("account").reset_index()


def _sum(found: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Sum the evidence from some findings for each account, with intervals over studies."""
    weighted = found.assign(
        vote=found["evidence"] * found["weight"],
        square=(found["evidence_se"] * found["weight"]) ** 2,
    )
    accounts = list(dict.fromkeys(found["account"]))
    votes = weighted.pivot_table("vote", "study", "account", "sum", observed=True)
    votes = votes.reindex(columns=accounts)
    n = len(votes)
    again = rng.integers(max(n, 1), size=(_N_RESAMPLED_STUDIES, n))
    totals = votes.to_numpy(float)[again].sum(axis=1).reshape(_N_RESAMPLED_STUDIES, len(accounts))
    low, high = np.quantile(totals, _INTERVAL, axis=0)
    total = votes.sum().to_numpy(float)
    is_control = found.drop_duplicates("account")["is_control"].to_numpy(bool)
    ahead = {name: np.full(len(accounts), np.nan) for name in ("ahead", "ahead_low", "ahead_high")}
    if is_control.any():
        # One control, the best by all studies: the best of each resample would be too good.
        control = int(np.flatnonzero(is_control)[total[is_control].argmax()])
        ahead["ahead"] = total - total[control]
        ahead["ahead_low"], ahead["ahead_high"] = np.quantile(
            totals - totals[:, [control]], _INTERVAL, axis=0
        )
    return pd.DataFrame(
        {
            "evidence": total,
            "ci_low": low,
            "ci_high": high,
            "evidence_se": np.sqrt(weighted.groupby("account", sort=False)["square"].sum()),
            "n_studies": n,
            "n_findings": found["finding"].nunique(),
            **ahead,
        },
        index=pd.Index(accounts, name="account"),
    )


def robustness(plan: Comparison, known: Predictions, found: pd.DataFrame) -> pd.DataFrame:
    """Compute the sums of evidence under other settings of the scoring, and for half of the draws.

    `found`, from `evidence_table`, says which findings are diagnostic.
    """
    each = found.drop_duplicates("finding").set_index("finding")
    names = [row["id"] for row in known.rows]
    is_diagnostic = each["diagnostic"].reindex(names).fillna(False).to_numpy(bool)
    rows = []
    for name_of_setting, setting in _SETTINGS.items():
        for name in plan.candidates() if known.rows else ():
            likelihoods = np.array(
                [
                    result.likelihood(_half(studies[name], setting.half), setting.between_studies)
                    for result, studies in zip(known.results, known.studies, strict=True)
                ]
            )
            rows.append(
                (
                    name_of_setting,
                    name,
                    _total(known, likelihoods, setting, is_diagnostic),
                    _total(known, likelihoods, setting, np.ones_like(is_diagnostic)),
                )
            )
    table = pd.DataFrame(rows, columns=["setting", "account", "evidence", "evidence_of_all"])
    ranks = table.groupby("setting")[["evidence", "evidence_of_all"]]
    ranked = ranks.rank(ascending=False, method="min").astype("Int64")
    return table.assign(rank=ranked["evidence"], rank_of_all=ranked["evidence_of_all"])


def _total(
    known: Predictions,
    likelihoods: NDArray[np.float64],
    setting: _Setting,
    chosen: NDArray[np.bool_],
) -> float:
    """Sum the evidence for an account from the chosen findings.

    Draws have the same parameters in all tasks, so the findings of a study can be scored together;
    their joint evidence is then divided by their number, since a study has one vote.
    """
    if not setting.is_joint:
        return float(known.weight[chosen] @ evidence(likelihoods[chosen], setting.surprise))
    study = np.array([row["study"] for row in known.rows])
    total = 0.0
    for name in np.unique(study[chosen]):
        own = chosen & (study == name)
        total += known.weight[own].mean() * joint_evidence(likelihoods[own], setting.surprise)
    return total


def _half(studies: Studies, half: int) -> Studies:
    """Select the first (1) or the second (2) half of the draws, or all of them (0)."""
    n = len(studies.value)
    middle = (n + 1) // 2
    return studies.take(np.arange(middle if half == 2 and n > 1 else 0, middle if half == 1 else n))


def regions(
    plan: Comparison, known: Predictions, drawn: Mapping[str, list[dict[str, Any]]]
) -> pd.DataFrame:
    """Find the region of its parameters in which an account agrees with each finding.

    `drawn` has the parameters of each draw by account.
    """
    rows = []
    candidates = plan.candidates()
    for row, result, studies, _ in zip(*known, strict=True):
        for name, each in studies.items():
            candidate = candidates[name]
            if candidate.as_published:
                continue
            account = plan.accounts[candidate.account]
            agrees: NDArray[np.bool_] = result.likelihood(each) > 1
            if not agrees.any():
                continue
            agreeing = np.flatnonzero(agrees).tolist()
            for key in account.priors:
                rows.append(
                    {
                        "account": name,
                        "finding": row["id"],
                        "parameter": key,
                        "region": _region([drawn[name][draw].get(key) for draw in agreeing]),
                        "share_agreeing": float(agrees.mean()),
                    }
                )
    return pd.DataFrame(
        rows, columns=["account", "finding", "parameter", "region", "share_agreeing"]
    )


def _region(values: list[Any]) -> str:
    """Describe where most values of a parameter lie; None is the learner's default."""
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
