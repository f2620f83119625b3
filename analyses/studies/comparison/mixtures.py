"""Two sources of replay in one animal: an account and a walk, or two accounts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.findings.evidence import Studies, evidence
from analyses.measures import STATISTICS
from analyses.studies.comparison.identification import fit
from analyses.studies.comparison.plan import Comparison
from analyses.studies.comparison.predictions import Predictions

__all__ = ["WALK", "mixed", "mixtures", "with_walks"]

WALK = "graph_walks"
"""The control that accounts are mixed with."""

_GOLDEN = (5**0.5 - 1) / 2  # multiples of it, modulo 1, fill the interval evenly
_HALF = 0.5
_N_FIRST = 10  # pairs whose fit is judged


def mixed(one: Studies, other: Studies, share: NDArray[np.float64], *, are_shares: bool) -> Studies:
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


def with_walks(known: Predictions, name: str) -> list[Studies]:
    """Mix the studies of an account, by finding, with those of walks along the track."""
    return _pair(known, name, WALK)


def mixtures(plan: Comparison, known: Predictions, rng: np.random.Generator) -> pd.DataFrame:
    """Score each pair of accounts, and each account with walks, as one account of replay.

    A pair has the parameters of both and one more, the share of sequences that come from the
    second, which is uniform from 0 to 1. Predictive p takes a second for each pair, and is that of
    `fit`.
    """
    names = [name for name, account in plan.accounts.items() if not account.is_control]
    names += [WALK] * (WALK in plan.accounts)
    alone = {name: _total(known, [each[name] for each in known.studies]) for name in names}
    pairs = {
        (one, other): _pair(known, one, other)
        for one, other in combinations(names, 2)
        if known.rows
    }
    total = {pair: _total(known, studies) for pair, studies in pairs.items()}
    order = sorted(pairs, key=lambda pair: -total[pair])
    judged = [pair for pair in order if WALK in pair or pair in order[:_N_FIRST]]
    studies = [
        {str(pair): pairs[pair][number] for pair in judged} for number in range(len(known.rows))
    ]
    p = dict(zip(judged, fit(known._replace(studies=studies), rng)["p"], strict=True))
    rows = [
        (*pair, total[pair], total[pair] - max(alone[name] for name in pair), p.get(pair, np.nan))
        for pair in order
    ]
    return pd.DataFrame(rows, columns=["account", "other", "evidence", "gain", "p"])


def _pair(known: Predictions, one: str, other: str) -> list[Studies]:
    """Mix the studies of two accounts of each finding, with the same shares for all findings."""
    pairs = []
    for row, studies in zip(known.rows, known.studies, strict=True):
        share: NDArray[np.float64] = np.modf(_HALF + _GOLDEN * np.arange(len(studies[one].value)))[
            0
        ]
        again = np.arange(len(share)) % len(studies[other].value)
        are_shares = STATISTICS[row["statistic"]].is_share
        pairs.append(mixed(studies[one], studies[other].take(again), share, are_shares=are_shares))
    return pairs


def _total(known: Predictions, studies: list[Studies]) -> float:
    bits = [
        float(evidence(result.likelihood(each)))
        for result, each in zip(known.results, studies, strict=True)
    ]
    return float(known.weight @ bits) if bits else 0.0
