"""Evidence for each account: by finding, summed over studies, and under other settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.findings.evidence import (
    USUAL,
    Scoring,
    Studies,
    evidence,
    joint_evidence,
    presence_evidence,
    value_evidence,
)
from analyses.findings.priors import Parameter
from analyses.measures import STATISTICS
from analyses.measures.replays import AT_REST
from analyses.studies.comparison import Comparison
from analyses.studies.comparison.identification import WALK, with_walks
from analyses.studies.comparison.simulated_studies import Predictions, weights
from replay.checks.arrays import Bools, Floats, Ints

_DIAGNOSTIC = 1.0  # bits by which some account must surpass every control
_AGREED = 1.0  # bits by which all surpass a uniform prediction
_N_RESAMPLED = 200  # sets of draws, for the Monte Carlo error of the evidence
_N_RESAMPLED_STUDIES = 2000  # sets of studies, for intervals


Draws = Callable[[Sequence[Mapping[str, Parameter]]], Ints]
"""Chooses draws by their parameters."""
_FACTORS = ("presence", "value")
_EVIDENCE = ["finding", "study", "account", "is_control", "as_published", "evidence"]
_EVIDENCE += ["presence", "value", "evidence_se", "weight", "diagnostic", "caveat"]
_CAVEATS = {"no p was read": "p assumed", "no sequences": "content without sequence"}
"""What the note of a finding says -> how its row is marked."""
_INTERVAL = (0.025, 0.975)  # quantiles of 95 % of resampled sums
_LEAST_STUDIES = 2  # for an interval
_LEFT_OUT = ("evidence", "evidence_of_all", "ahead_of_all", "ahead_low_of_all", "ahead_high_of_all")
_SUMMED = ["evidence", "evidence_se", "presence", "value", "n_studies", "n_findings"]


class _Setting(NamedTuple):
    """How evidence is scored and summed; the defaults are the usual way."""

    scoring: Scoring = USUAL
    draws: Draws = lambda drawn: np.arange(len(drawn))  # which of them are scored
    is_joint: bool = False  # whether one draw accounts for all findings of a study
    factors: tuple[str, ...] = ("whole",)  # the evidence, or the factors that are added
    duplicates_share: bool = True
    leaves_agreed: bool = False  # whether findings that all predict are left out
    leaves_rest: bool = False  # whether findings at rest are left out
    with_walks: bool = False  # whether part of all replay is walks along the track


def _half(number: int) -> Draws:
    """Select one half of the draws; a single draw is in both."""
    return lambda drawn: np.array_split(np.arange(len(drawn)), 2)[number if len(drawn) > 1 else 0]


def _shell(**wanted: tuple[Parameter | None, ...]) -> Draws:
    """Select draws by parameters of the outer shell; an account that lacks them keeps all."""

    def chosen(drawn: Sequence[Mapping[str, Parameter]]) -> Ints:
        has = {key for each in drawn for key in each}
        kept = [
            all(each.get(key) in values for key, values in wanted.items() if key in has)
            for each in drawn
        ]
        return np.flatnonzero(kept) if any(kept) else np.arange(len(drawn))

    return chosen


_ALL = _Setting(is_joint=True, factors=_FACTORS, leaves_agreed=True, with_walks=True)

SETTINGS = {
    "usual": _Setting(),
    "one draw for all findings of a study": _Setting(is_joint=True),
    "two factors": _Setting(factors=_FACTORS),
    "whether there is such replay": _Setting(factors=("presence",)),
    "its value, if there is such replay": _Setting(factors=("value",)),
    "duplicate findings count each": _Setting(duplicates_share=False),
    "without findings that all predict": _Setting(leaves_agreed=True),
    "without findings at rest": _Setting(leaves_rest=True),
    "rare events like other shares": _Setting(Scoring(false_positives=None)),
    "rare events, .003 of events false": _Setting(Scoring(false_positives=0.003)),
    "directions by tests of simulated animals": _Setting(Scoring(are_tests=True)),
    "replay before a run, too": _Setting(draws=_shell(replay_at=("pauses",))),
    "no replay before a run": _Setting(draws=_shell(replay_at=("end_and_rest",))),
    "pauses end by a limit alone": _Setting(
        draws=_shell(backup_cost=(None,), mean_backups=(None,))
    ),
    "with walks along the track": _Setting(with_walks=True),
    "all of these": _ALL,
    "all of these, its value alone": _ALL._replace(factors=("value",)),
    "studies differ by .03": _Setting(Scoring(between_studies=0.03)),
    "studies differ by .12": _Setting(Scoring(between_studies=0.12)),
    "surprise .01": _Setting(Scoring(surprise=0.01)),
    "surprise .2": _Setting(Scoring(surprise=0.2)),
    "first half of the draws": _Setting(draws=_half(0)),
    "second half of the draws": _Setting(draws=_half(1)),
}


def evidence_table(plan: Comparison, known: Predictions, rng: np.random.Generator) -> pd.DataFrame:
    """Score all accounts by all findings; `rng` resamples draws, for Monte Carlo errors."""
    made = []
    for row, result, studies, weight in zip(*known, strict=True):
        caveat = ", ".join(told for said, told in _CAVEATS.items() if said in str(row["note"]))
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
                    "label": STATISTICS[row["statistic"]].label + (caveat and f" ({caveat})"),
                    "caveat": caveat,
                    "likelihood": result.kind,
                    "account": name,
                    "evidence": evidence(likelihood),
                    "presence": presence_evidence(each),
                    "value": value_evidence(likelihood, each),
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
    """Sum evidence and its factors with one vote per study: over all findings, and diagnostic ones.

    Diagnostic findings are those in which some account surpasses all controls, so their sums favour
    accounts; sums over all findings do not. `rng` resamples studies, the same ones for all
    accounts. Accounts are in descending order of evidence from all findings.
    """
    of_all = _sum(found, rng)
    diagnostic = _sum(found[found["diagnostic"].fillna(False).astype(bool)], rng)
    columns = {f"{name}_of_all": of_all[name] for name in of_all}
    table = of_all[[]].join(diagnostic).fillna(dict.fromkeys(_SUMMED, 0.0)).assign(**columns)
    each = found.drop_duplicates("account").set_index("account")
    table.insert(0, "is_control", each["is_control"].astype(bool).reindex(table.index))
    table = table.sort_values("evidence_of_all", ascending=False, kind="stable")
    return table.rename_axis("account").reset_index()


def _sum(found: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Sum the evidence from some findings for each account, with intervals over studies."""
    weighted = found.assign(
        vote=found["evidence"] * found["weight"],
        presence=found["presence"] * found["weight"],
        value=found["value"] * found["weight"],
        square=(found["evidence_se"] * found["weight"]) ** 2,
    )
    accounts = list(dict.fromkeys(found["account"]))
    votes = weighted.pivot_table("vote", "study", "account", "sum", observed=True)
    votes = votes.reindex(columns=accounts)
    n = len(votes)
    again = rng.integers(max(n, 1), size=(_N_RESAMPLED_STUDIES, n))
    totals = votes.to_numpy(float)[again].sum(axis=1).reshape(_N_RESAMPLED_STUDIES, len(accounts))
    if n < _LEAST_STUDIES:
        totals = np.full_like(totals, np.nan)
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
            "presence": weighted.groupby("account", sort=False)["presence"].sum(),
            "value": weighted.groupby("account", sort=False)["value"].sum(),
            "n_studies": n,
            "n_findings": found["finding"].nunique(),
            **ahead,
        },
        index=pd.Index(accounts, name="account"),
    )


def robustness(
    plan: Comparison,
    known: Predictions,
    found: pd.DataFrame,
    drawn: Mapping[str, list[dict[str, Parameter]]],
) -> pd.DataFrame:
    """Compute the sums of evidence under each setting of the scoring, and for part of the draws.

    `found`, from `evidence_table`, says which findings are diagnostic; `drawn` has the parameters
    of each draw by account. Sums without each study, and without findings that have a caveat,
    follow; only these say how far accounts are ahead of the best control.
    """
    each = found.drop_duplicates("finding").set_index("finding")
    names = [row["id"] for row in known.rows]
    is_diagnostic = each["diagnostic"].reindex(names).fillna(False).to_numpy(bool)
    is_agreed = agreed(found).reindex(names).fillna(False).to_numpy(bool)
    # Of replay at rest, which an account that has nothing left to replay lacks.
    phases = [STATISTICS[row["statistic"]].phases for row in known.rows]
    is_at_rest = np.array([not set(AT_REST).isdisjoint(each) for each in phases], dtype=bool)
    alone = weights(pd.DataFrame(known.rows), duplicates_share=False) if known.rows else np.ones(0)
    rows = []
    for name_of_setting, setting in SETTINGS.items():
        weight = known.weight if setting.duplicates_share else alone
        kept = ~(setting.leaves_agreed & is_agreed) & ~(setting.leaves_rest & is_at_rest)
        for name in plan.candidates() if known.rows else ():
            mixed = setting.with_walks and WALK in plan.accounts
            of_name = with_walks(known, name) if mixed else [each[name] for each in known.studies]
            chosen = setting.draws(drawn[name])
            own = [studies.take(chosen) for studies in of_name]
            totals = [
                _total(known, own, setting, np.where(scored, weight, 0.0))
                for scored in (kept & is_diagnostic, kept)
            ]
            rows.append((name_of_setting, name, *totals))
    table = pd.DataFrame(rows, columns=["setting", "account", "evidence", "evidence_of_all"])
    table = table.assign(**dict.fromkeys(_LEFT_OUT[2:], np.nan))
    rng = np.random.default_rng([plan.seed, 6])
    whole = pd.concat([table, *left_out(found, rng)], ignore_index=True)
    ranks = whole.groupby("setting")[["evidence", "evidence_of_all"]]
    ranked = ranks.rank(ascending=False, method="min").astype("Int64")
    return whole.assign(rank=ranked["evidence"], rank_of_all=ranked["evidence_of_all"])


def left_out(found: pd.DataFrame, rng: np.random.Generator) -> Iterator[pd.DataFrame]:
    """Sum the evidence without each study in turn, and without findings that have a caveat."""
    kept = {f"without {study}": found["study"] != study for study in found["study"].unique()}
    kept["without findings with a caveat"] = found["caveat"] == ""
    for setting, rows in kept.items():
        if rows.any() and not found["study"].eq(found["study"].iloc[0]).all():
            yield sums(found[rows], rng)[["account", *_LEFT_OUT]].assign(setting=setting)


def agreed(found: pd.DataFrame) -> pd.Series[bool]:
    """Tell which findings all accounts and controls predict, and so tell nothing about them."""
    of_priors = found[~found["as_published"].astype(bool)]
    return of_priors.groupby("finding")["evidence"].min() > _AGREED


def _total(known: Predictions, studies: list[Studies], setting: _Setting, weight: Floats) -> float:
    """Sum the evidence for an account, whose simulated studies of each finding are given.

    Draws have the same parameters in all tasks, so the findings of a study can be scored together;
    a study then still has one vote, so their joint evidence is divided by their number.
    """
    surprise = setting.scoring.surprise
    of_study: dict[str, list[int]] = {}
    for number in np.flatnonzero(weight).tolist():
        of_study.setdefault(known.rows[number]["study"], []).append(number)
    total = 0.0
    for numbers in of_study.values():
        own = [studies[number] for number in numbers]
        results = [known.results[number] for number in numbers]
        likelihoods = np.array(
            [each.likelihood(one, setting.scoring) for each, one in zip(results, own, strict=True)]
        )
        has_replay = np.array([each.has_replay for each in own])
        for factor in setting.factors:
            if setting.is_joint:
                probable = {
                    "whole": likelihoods,
                    "presence": has_replay.astype(float),
                    "value": np.where(has_replay, likelihoods, 1.0),
                }[factor]
                # One vote in all: a finding of less weight counts with a part of its likelihood.
                most = weight[numbers].max()
                total += most * joint_evidence(probable, surprise, weight[numbers] / most)
            elif factor == "whole":
                total += float(weight[numbers] @ evidence(likelihoods, surprise))
            else:
                bits = [
                    presence_evidence(each, surprise)
                    if factor == "presence"
                    else value_evidence(likelihood, each, surprise)
                    for likelihood, each in zip(likelihoods, own, strict=True)
                ]
                total += float(weight[numbers] @ bits)
    return total


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
            agrees: Bools = result.likelihood(each) > 1
            if not agrees.any():
                continue
            agreeing = np.flatnonzero(agrees).tolist()
            for key in account.priors:
                region = _region([drawn[name][draw].get(key) for draw in agreeing])
                rows.append((name, row["id"], key, region, float(agrees.mean())))
    columns = ["account", "finding", "parameter", "region", "share_agreeing"]
    return pd.DataFrame(rows, columns=columns)


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
