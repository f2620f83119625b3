"""What accounts say of their own fit, whether the true one would be found, and what to measure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.findings.evidence import SURPRISE, Published, Studies, evidence
from analyses.studies.comparison.plan import Comparison
from analyses.studies.comparison.predictions import Predictions

__all__ = ["confusion", "fit", "identification", "measurements"]

_N_TRUTHS = 64  # draws of each account that are assumed to be true
_N_NOISY = 12  # the same, where each set of findings has its own noise
_N_REPLICATES = 128  # sets of findings that each account predicts
_BINS = 8
_N_SHUFFLES = 20


def fit(known: Predictions, rng: np.random.Generator) -> pd.DataFrame:
    """Compare the sum of each account with the sums that it would have if it were true.

    Each set of findings is one that the account predicts: those of a simulated study, with the
    noise and the surprises that the likelihoods assume. It is scored by all other draws, as the
    real findings are by all draws. What a simulated study lacks is not reported, and has 0 bits.
    The predictive p (Box 1980, https://doi.org/10.2307/2982063) is the share of such sets whose sum
    is as low as the real one. Draws come from the priors, since a posterior would rest on a few of
    them, and its sets could not be scored by others.
    """
    rows = []
    for name in known.studies[0] if known.rows else ():
        n_draws = len(known.studies[0][name].value)
        totals = np.zeros(_N_REPLICATES)
        observed = 0.0
        for result, studies, weight in zip(*known[1:], strict=True):
            own = studies[name]
            observed += weight * float(evidence(result.likelihood(own)))
            for number in range(_N_REPLICATES):
                draw = number % n_draws
                if not own.has_replay[draw]:
                    continue
                made = _published_again(result, own, draw, rng)
                likelihood = made.likelihood(own)
                others = np.delete(likelihood, draw) if n_draws > 1 else likelihood
                totals[number] += weight * evidence(others)
        low, middle, high = np.quantile(totals, [0.05, 0.5, 0.95])
        n_as_low = int((totals <= observed + 1e-9).sum())
        p = (n_as_low + 1) / (_N_REPLICATES + 1)
        rows.append((name, observed, low, middle, high, p))
    columns = ["account", "evidence", "expected_low", "expected", "expected_high", "p"]
    return pd.DataFrame(rows, columns=columns)


def _published_again(
    result: Published, studies: Studies, draw: int, rng: np.random.Generator
) -> Published:
    """Draw what a simulated study would publish, with the noise that the likelihood assumes."""
    made = result.unrelated(rng)
    if rng.random() >= SURPRISE:
        made = result.as_found(studies, draw).repeated(rng)
    return made


def confusion(plan: Comparison, known: Predictions, rng: np.random.Generator) -> pd.DataFrame:
    """Assume that draws of each account are true, score all accounts, and count which ranks first.

    `rng` chooses the draws.
    """
    names = list(plan.accounts)
    totals = _totals(plan, known, rng, _N_TRUTHS)
    counts = pd.DataFrame(0.0, index=names, columns=names)
    for truth, total in totals.items() if known.rows else ():
        counts.loc[truth] = _first(total).mean(axis=0)
    table = counts.rename_axis("truth").reset_index()
    return table.melt("truth", var_name="found", value_name="share")


def identification(
    plan: Comparison, known: Predictions, fits: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """Ask how often the true account is found under conditions in which that is harder.

    Each set of findings has the noise and the surprises that the likelihoods assume; then, each
    study also has other parameters of the true account; then, the true account is not among those
    that are scored, and what is found is wrong. `fits`, from `fit`, says whether the account that
    ranks first fits, as its sum would then be taken for right.
    """
    names = list(plan.accounts)
    least = fits.set_index("account")["expected_low"].reindex(names).to_numpy(float)
    same, other = (
        _totals(plan, known, rng, _N_NOISY, is_noisy=True, studies_differ=differ)
        for differ in (False, True)
    )
    rows = []
    for condition, totals in (
        ("with noise", same),
        ("studies differ in parameters", other),
        ("truth in no list", other),
    ):
        for number, (truth, total) in enumerate(totals.items()):
            is_absent = condition == "truth in no list"
            left = [k for k in range(len(names)) if not (is_absent and k == number)]
            if not known.rows or not left:
                continue
            first = _first(total[:, left])
            fitting = (first * (total >= least)[:, left]).sum(axis=1).mean()
            shares = dict(zip([names[k] for k in left], first.mean(axis=0), strict=True))
            right = shares.pop(truth, 0.0)
            mistaken = max(shares, key=lambda name: shares[name], default="")
            most = shares.get(mistaken, 0.0)
            rows.append((condition, truth, right, mistaken if most else "", most, fitting))
    columns = ["condition", "truth", "right", "mistaken_for", "share_mistaken", "share_fitting"]
    return pd.DataFrame(rows, columns=columns)


def _first(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Say which account ranks first in each set of findings; equal scores share the vote."""
    best = totals >= totals.max(axis=1, keepdims=True) - 1e-9
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def _totals(
    plan: Comparison,
    known: Predictions,
    rng: np.random.Generator,
    n_truths: int,
    *,
    is_noisy: bool = False,
    studies_differ: bool = False,
) -> dict[str, NDArray[np.float64]]:
    """Score all accounts by findings of each account; shape (n_truths, n_accounts) for each.

    `is_noisy`: as the likelihoods assume; `studies_differ`: each study is of another draw.
    """
    names = list(plan.accounts)
    draws = {truth: rng.permutation(plan.n_studies(truth))[:n_truths].tolist() for truth in names}
    totals = {truth: np.zeros((len(drawn), len(names))) for truth, drawn in draws.items()}
    of_study: dict[str, dict[str, list[int]]] = {}
    for row, result, studies, weight in zip(*known, strict=True):
        by_all: dict[Published, NDArray[np.float64]] = {}  # many draws have the same result
        if studies_differ and row["study"] not in of_study:
            of_study[row["study"]] = {
                truth: rng.integers(plan.n_studies(truth), size=len(drawn)).tolist()
                for truth, drawn in draws.items()
            }
        for column, truth in enumerate(names):
            chosen = of_study[row["study"]][truth] if studies_differ else draws[truth]
            for number, draw in enumerate(chosen):
                if not studies[truth].n_animals[draw] > 0:
                    continue
                found = (
                    _published_again(result, studies[truth], draw, rng)
                    if is_noisy
                    else result.as_found(studies[truth], draw)
                )
                if found not in by_all:
                    by_all[found] = np.array(
                        [evidence(found.likelihood(studies[name])) for name in names]
                    )
                bits = by_all[found].copy()
                others = np.delete(found.likelihood(studies[truth]), draw)
                if len(others):
                    bits[column] = evidence(others)
                totals[truth][number] += weight * bits
    return totals


def measurements(
    plan: Comparison, simulated: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """Estimate the information of one study of each statistic about which account is true, in bits.

    `rng` shuffles accounts, to subtract the information that is due to chance.
    """
    names = list(plan.accounts)
    of_tasks = simulated[simulated["account"].isin(names) & (simulated["finding"] == "")]
    rows = []
    for (task, statistic), group in of_tasks.groupby(["task", "statistic"], sort=False):
        value = group["value"].to_numpy(float)
        account = pd.Categorical(group["account"], names).codes
        known = value[~np.isnan(value)]
        edges: NDArray[np.float64] = np.unique(
            np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]) if len(known) else known
        )
        cell = np.where(np.isnan(value), len(edges) + 1, np.searchsorted(edges, value))
        shared = _shared(account, cell, len(names))
        by_chance = np.mean(
            [_shared(rng.permutation(account), cell, len(names)) for _ in range(_N_SHUFFLES)]
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
    """Compute the mutual information of account and result in bits, with a uniform prior."""
    table = np.zeros((n_accounts, int(cell.max()) + 1))
    np.add.at(table, (account, cell), 1)
    table = table[table.sum(axis=1) > 0]
    share = table / table.sum(axis=1, keepdims=True) / len(table)
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    inside = share > 0
    bits = float((share[inside] * np.log2(share[inside] / expected[inside])).sum())
    return min(bits, float(np.log2(len(table))))


def _most_apart(account: NDArray[Any], cell: NDArray[Any], names: list[str]) -> tuple[str, float]:
    """Find the two accounts whose results differ most, and their information, at most 1 bit."""
    best, most = "", 0.0
    for one in range(len(names)):
        for other in range(one):
            two = (account == one) | (account == other)
            if (account == one).any() and (account == other).any():
                apart = _shared((account[two] == one).astype(int), cell[two], 2)
                if apart > most + 1e-9:
                    best, most = f"{names[other]}, {names[one]}", apart
    return best, most
