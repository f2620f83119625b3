"""What the scores say of the accounts: their fit, which is found, in mixtures, and what to measure.

The likelihoods of `analyses.findings.evidence` judge each statistic alone. For `classified`, all
results of a study are one vector, and a classifier that is trained on simulated studies, and
calibrated on others, names the account. A statistic that is not defined is a value like others.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.findings.evidence import (
    N_DRAWN_SETS,
    SURPRISE,
    Count,
    Direction,
    Null,
    Published,
    Studies,
    Value,
    evidence,
)
from analyses.inference.model_choice import ModelChoice, Simulations, class_name
from analyses.measures import STATISTICS
from analyses.studies.comparison import Comparison
from analyses.studies.comparison.simulated_studies import Predictions
from replay.checks.arrays import Floats

_N_NOISY = 12  # sets drawn from each account, where each has its own noise
_N_REPLICATES = 128  # sets of findings that an account predicts, at least
_N_OF_DRAW = 8  # ... and of each simulated study, with other noise
_BINS = 8  # cells of results, so few that each holds several studies
_N_SHUFFLES = 20  # of accounts, whose mean information is due to chance
WALK = "graph_walks"
"""The control that accounts are mixed with."""
_GOLDEN = (5**0.5 - 1) / 2  # multiples of it, modulo 1, fill the interval evenly
_HALF = 0.5  # of the sequences, from which a part has statistics that are no shares
_N_FIRST = 10  # pairs whose fit is judged
_LEAST_DRAWS = 8  # of each account, for a calibration
_N_REPEATS = 4  # of each simulated study, with other noise
_UNDEFINED = -9.0  # outside of all ranges
_COLUMNS = ["study", "found", "probability", "p", "recovered", "calibration_error"]


def fit(
    predictions: Predictions, rng: np.random.Generator, n_of_draw: int = _N_OF_DRAW
) -> pd.DataFrame:
    """Compare the sum of each account with the sums that it would have if it were true.

    Each set of findings is one that the account predicts: those of a simulated study, with the
    noise and the surprises that the likelihoods assume. It is scored by all other draws, as the
    real findings are by all draws. What a simulated study lacks is not reported, and has 0 bits.
    The predictive p (Box 1980, https://doi.org/10.2307/2982063) is the share of such sets whose sum
    is as low as the real one. Where none is, p says no more than that; the `distance` does: how
    many standard deviations of these sums the real one lies below their mean. Draws come from the
    priors, since a posterior would rest on a few of them, and its sets could not be scored by
    others.
    """
    rows = []
    for name in predictions.studies[0] if predictions.rows else ():
        n_draws = len(predictions.studies[0][name].value)
        totals = np.zeros(max(n_of_draw * n_draws, _N_REPLICATES))
        observed = 0.0
        for result, studies, weight in zip(*predictions[1:], strict=True):
            own = studies[name]
            observed += weight * float(evidence(result.likelihood(own)))
            for number in range(len(totals)):
                draw = number % n_draws
                if not own.has_replay[draw]:
                    continue
                made = _published_again(result, own, draw, rng)
                # The draw that made a result would predict it too well.
                likelihood = made.likelihood(own)
                others = np.delete(likelihood, draw) if n_draws > 1 else likelihood
                totals[number] += weight * evidence(others)
        low, middle, high = np.quantile(totals, [0.05, 0.5, 0.95])
        n_as_low = int((totals <= observed + 1e-9).sum())
        # The real findings are one of the sets that are ranked, so that no p is 0.
        p = (n_as_low + 1) / (len(totals) + 1)
        spread = totals.std()
        distance = (totals.mean() - observed) / spread if spread > 0.0 else np.nan
        rows.append((name, observed, low, middle, high, distance, p))
    columns = ["account", "evidence", "expected_low", "expected", "expected_high", "distance", "p"]
    return pd.DataFrame(rows, columns=columns)


def _published_again(
    result: Published, studies: Studies, draw: int, rng: np.random.Generator
) -> Published:
    """Draw what a simulated study would publish, with the noise that the likelihood assumes."""
    made = result.unrelated(rng)
    if rng.random() >= SURPRISE:
        made = result.as_found(studies, draw).repeated(rng)
    return made


def confusion(plan: Comparison, predictions: Predictions, rng: np.random.Generator) -> pd.DataFrame:
    """Assume that draws of each account are true, score all accounts, and count which ranks first.

    `rng` chooses the draws.
    """
    names = list(plan.accounts)
    totals = _totals(plan, predictions, rng, N_DRAWN_SETS)
    counts = pd.DataFrame(0.0, index=names, columns=names)
    for truth, total in totals.items() if predictions.rows else ():
        counts.loc[truth] = _first(total).mean(axis=0)
    table = counts.rename_axis("truth").reset_index()
    return table.melt("truth", var_name="found", value_name="share")


def identification(
    plan: Comparison, predictions: Predictions, fits: pd.DataFrame, rng: np.random.Generator
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
        _totals(plan, predictions, rng, _N_NOISY, is_noisy=True, studies_differ=differ)
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
            if not predictions.rows or not left:
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


def _first(totals: Floats) -> Floats:
    """Say which account ranks first in each set of findings; equal scores share the vote."""
    best = totals >= totals.max(axis=1, keepdims=True) - 1e-9  # but for rounding
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def _totals(
    plan: Comparison,
    predictions: Predictions,
    rng: np.random.Generator,
    n_truths: int,
    *,
    is_noisy: bool = False,
    studies_differ: bool = False,
) -> dict[str, Floats]:
    """Score all accounts by findings of each account; shape (n_truths, n_accounts) for each.

    `is_noisy`: as the likelihoods assume; `studies_differ`: each study is of another draw.
    """
    names = list(plan.accounts)
    draws = {truth: rng.permutation(plan.n_studies(truth))[:n_truths].tolist() for truth in names}
    totals = {truth: np.zeros((len(drawn), len(names))) for truth, drawn in draws.items()}
    of_study: dict[str, dict[str, list[int]]] = {}
    for row, result, studies, weight in zip(*predictions, strict=True):
        by_all: dict[Published, Floats] = {}  # many draws have the same result
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
                # The draw that made a result would predict it too well.
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
    rows = []
    for (task, statistic), (account, cell) in _results(names, simulated).items():
        shared = _shared(account, cell, len(names))
        # Few studies in many cells seem to tell accounts apart even if they are all alike.
        by_chance = np.mean(
            [_shared(rng.permutation(account), cell, len(names)) for _ in range(_N_SHUFFLES)]
        )
        # The two accounts whose results differ most, and their information, at most 1 bit.
        pair, apart = "", 0.0
        for one, other in ((k, below) for k in range(len(names)) for below in range(k)):
            bits = _apart(account, cell, one, other)
            if bits > apart + 1e-9:
                pair, apart = f"{names[other]}, {names[one]}", bits
        rows.append((task, statistic, max(float(shared - by_chance), 0.0), pair, apart))
    table = pd.DataFrame(rows, columns=["task", "statistic", "information", "most_apart", "apart"])
    return table.sort_values("information", ascending=False, kind="stable")


def mistaken(plan: Comparison, simulated: pd.DataFrame, confused: pd.DataFrame) -> pd.DataFrame:
    """List what each account is mostly mistaken for if it is true, and what would tell them apart.

    `confused` is the table of `confusion`. The statistic is the one whose result, in one more
    study, has the most information about which of the two is true.
    """
    names = list(plan.accounts)
    results = _results(names, simulated)
    rows = []
    for truth, found in confused.groupby("truth", sort=False):
        shares = dict(zip(found["found"], found["share"].to_numpy(float), strict=True))
        right = shares.pop(truth)
        other = max(shares, key=lambda name: shares[name], default="")
        if not other or shares[other] == 0.0:
            rows.append((truth, right, "", 0.0, "", "", np.nan))
            continue
        pair = names.index(str(truth)), names.index(other)
        apart = {key: _apart(*result, *pair) for key, result in results.items()}
        best = max(apart, key=lambda key: apart[key])
        rows.append((truth, right, other, shares[other], *best, apart[best]))
    columns = ["truth", "right", "mistaken_for", "share_mistaken", "task", "statistic", "apart"]
    return pd.DataFrame(rows, columns=columns)


def _results(
    names: list[str], simulated: pd.DataFrame
) -> dict[tuple[str, str], tuple[NDArray[Any], NDArray[Any]]]:
    """Sort the results of simulated studies into cells, by task and statistic.

    Each has the numbers of accounts, and those of cells, shape (n_studies,).
    """
    of_tasks = simulated[simulated["account"].isin(names) & (simulated["finding"] == "")]
    results = {}
    for (task, statistic), group in of_tasks.groupby(["task", "statistic"], sort=False):
        value = group["value"].to_numpy(float)
        defined = value[~np.isnan(value)]
        # Cells of results with about as many studies each; those without replay have their own.
        edges: Floats = np.unique(
            np.quantile(defined, np.linspace(0, 1, _BINS + 1)[1:-1]) if len(defined) else defined
        )
        cell = np.where(np.isnan(value), len(edges) + 1, np.searchsorted(edges, value))
        results[str(task), str(statistic)] = (
            np.asarray(pd.Categorical(group["account"], names).codes),
            cell,
        )
    return results


def _apart(account: NDArray[Any], cell: NDArray[Any], one: int, other: int) -> float:
    """Compute the information of a result about which of two accounts is true, in bits."""
    two = (account == one) | (account == other)
    if not ((account == one).any() and (account == other).any()):
        return 0.0
    return _shared((account[two] == one).astype(int), cell[two], 2)


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


def mixed(one: Studies, other: Studies, share: Floats, *, are_shares: bool) -> Studies:
    """Mix simulated studies draw by draw; `share` of the sequences come from the other one.

    A share of sequences is then a weighted mean. Other statistics, such as changes of a rate, are
    not determined by those of the parts: the part with more sequences has them alone. What only
    one part has is that part's.
    """
    weight = np.where(one.has_replay, np.where(other.has_replay, share, 0.0), 1.0)
    if not are_shares:
        weight = (weight > _HALF).astype(float)
    first, second = (Studies(*(np.nan_to_num(column) for column in each)) for each in (one, other))
    rates = [each.successes / np.maximum(each.trials, 1) for each in (first, second)]
    trials = (1 - weight) * first.trials + weight * second.trials
    either = one.has_replay | other.has_replay
    spread = np.hypot((1 - weight) * first.sd, weight * second.sd)
    has_sd = ~((np.isnan(one.sd) & (weight < 1)) | (np.isnan(other.sd) & (weight > 0)))
    return Studies(
        trials * ((1 - weight) * rates[0] + weight * rates[1]),
        trials,
        np.where(either, (1 - weight) * first.mean + weight * second.mean, np.nan),
        np.where(has_sd, spread, np.nan),
        np.where(either, (1 - weight) * first.value + weight * second.value, np.nan),
        np.where(weight > _HALF, second.n_animals, first.n_animals),
    )


def with_walks(predictions: Predictions, name: str) -> list[Studies]:
    """Mix the studies of an account, by finding, with those of walks along the track."""
    return _pair(predictions, name, WALK)


def mixtures(plan: Comparison, predictions: Predictions, rng: np.random.Generator) -> pd.DataFrame:
    """Score each pair of accounts, and each account with walks, as one account of replay.

    A pair has the parameters of both and one more, the share of sequences that come from the
    second, which is uniform from 0 to 1. Predictive p takes a second for each pair, and is that of
    `fit`.
    """
    names = [name for name, account in plan.accounts.items() if not account.is_control]
    names += [WALK] * (WALK in plan.accounts)
    alone = {
        name: _total(predictions, [each[name] for each in predictions.studies]) for name in names
    }
    pairs = {
        (one, other): _pair(predictions, one, other)
        for one, other in combinations(names, 2)
        if predictions.rows
    }
    total = {pair: _total(predictions, studies) for pair, studies in pairs.items()}
    order = sorted(pairs, key=lambda pair: -total[pair])
    judged = [pair for pair in order if WALK in pair or pair in order[:_N_FIRST]]
    studies = [
        {str(pair): pairs[pair][number] for pair in judged}
        for number in range(len(predictions.rows))
    ]
    fits = fit(predictions._replace(studies=studies), rng, n_of_draw=1)
    p = dict(zip(judged, fits["p"], strict=True))
    rows = [
        (*pair, total[pair], total[pair] - max(alone[name] for name in pair), p.get(pair, np.nan))
        for pair in order
    ]
    return pd.DataFrame(rows, columns=["account", "other", "evidence", "gain", "p"])


def _pair(predictions: Predictions, one: str, other: str) -> list[Studies]:
    """Mix the studies of two accounts of each finding, with the same shares for all findings."""
    pairs = []
    for row, studies in zip(predictions.rows, predictions.studies, strict=True):
        share: Floats = np.modf(_HALF + _GOLDEN * np.arange(len(studies[one].value)))[0]
        again = np.arange(len(share)) % len(studies[other].value)
        are_shares = STATISTICS[row["statistic"]].is_share
        pairs.append(mixed(studies[one], studies[other].take(again), share, are_shares=are_shares))
    return pairs


def _total(predictions: Predictions, studies: list[Studies]) -> float:
    bits = [
        float(evidence(result.likelihood(each)))
        for result, each in zip(predictions.results, studies, strict=True)
    ]
    return float(predictions.weight @ bits) if bits else 0.0


def classified(
    plan: Comparison, predictions: Predictions, rng: np.random.Generator
) -> pd.DataFrame:
    """Classify each published study, by statistics with the noise that the likelihoods assume.

    Returns, for each study and each class of accounts that the classifier cannot tell apart, the
    calibrated `probability`, and the `p` of how unusual the study is among those of the class; for
    each study, how often the class of simulated studies is `recovered`, and the
    `calibration_error`. Empty with fewer than eight draws or two accounts, and without
    scikit-learn.
    """
    names = list(plan.accounts) if find_spec("sklearn") else []
    least = min((plan.n_studies(name) for name in names), default=0)
    of_study: dict[str, list[int]] = {}
    for number, row in enumerate(predictions.rows):
        of_study.setdefault(str(row["study"]), []).append(number)
    rows = []
    for study, numbers in of_study.items() if least >= _LEAST_DRAWS and len(names) > 1 else ():
        results = [predictions.results[number] for number in numbers]
        labels = [str(predictions.rows[number]["id"]) for number in numbers]
        # Repeated with other noise, which trees would otherwise take for that of an account.
        made = [
            (name, draw, [_seen(predictions, number, name, draw, rng) for number in numbers])
            for name in names
            for draw in range(plan.n_studies(name))
            for _ in range(_N_REPEATS)
        ]
        account, draws, features = zip(*made, strict=True)
        simulations = Simulations(
            np.array(account, dtype=object),
            np.array(draws),
            pd.DataFrame(list(features), columns=labels),
        )
        choice = ModelChoice(simulations, int(rng.integers(2**31)))
        published = pd.DataFrame([[_value(result) for result in results]], columns=labels)
        quality = choice.summary()
        for members, probability in zip(
            choice.classes, choice.probabilities(published)[0].tolist(), strict=True
        ):
            misfit = float(choice.misfit(published, members)[0])
            told = quality["recovered"], quality["calibration_error"]
            rows.append((study, class_name(members), probability, misfit, *told))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _seen(
    predictions: Predictions, number: int, account: str, draw: int, rng: np.random.Generator
) -> float:
    """Return what a simulated study would publish of a finding, as a number."""
    studies = predictions.studies[number][account]
    if not studies.has_replay[draw]:
        return _UNDEFINED
    return _value(predictions.results[number].as_found(studies, draw).repeated(rng))


def _value(result: Published) -> float:
    """Return a result as a number: a share, a value, a sign, or the middle of an interval."""
    match result:
        case Count():
            return result.successes / result.trials
        case Value():
            return result.value
        case Direction():
            return result.sign
        case Null():
            return (result.excluded_low + result.excluded_high) / 2
    raise TypeError(f"A result of the kind {result.kind!r} has no value.")
