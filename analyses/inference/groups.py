"""How frequent each account is among animals: random-effects model selection.

Animals may differ in the account that they follow. The frequencies of accounts have a flat
Dirichlet prior, and each animal's account is drawn from them [1]_. The protected exceedance
probability allows for the chance that all accounts are equally frequent [2]_. All of it is computed
from draws of the animals' accounts (sequential importance resampling [3]_), since the bound that is
usual is too sure where accounts are hard to tell apart.

References
----------
.. [1] Stephan et al. (2009). https://doi.org/10.1016/j.neuroimage.2009.03.025
.. [2] Rigoux et al. (2014). https://doi.org/10.1016/j.neuroimage.2013.08.065
.. [3] Liu & Chen (1998). https://doi.org/10.1080/01621459.1998.10473765
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from replay.checks import check_array, check_whole, typed
from replay.checks.arrays import Floats

_N_DRAWS = 50_000  # so that Monte Carlo errors of probabilities are below .003


class Frequencies(NamedTuple):
    """What a group of animals says about the frequencies of accounts."""

    mean: Floats  # (n_accounts,): the expected frequency of each, with its 90 % interval
    low: Floats
    high: Floats
    exceedance: Floats  # (n_accounts,): the probability that it is the most frequent one
    protected: Floats  # (n_accounts,): the same, allowing for equal frequencies
    equal: float  # the probability that all accounts are equally frequent


@typed
def account_frequencies(log_evidence: ArrayLike, *, seed: int = 0) -> Frequencies:
    """Infer the frequencies of accounts from the evidence of each animal.

    `log_evidence`, shape (n_animals, n_accounts), is the natural logarithm of the probability of
    each animal's data under each account; only differences between accounts matter. `seed` is that
    of the draws.
    """
    evidence = check_array(log_evidence, "log_evidence", kind="number", n_dims=2)
    if len(evidence) < 1 or evidence.shape[1] < 2:
        raise ValueError(
            "log_evidence must have a row for each animal and a column for each of at least two "
            f"accounts, got the shape {evidence.shape}."
        )
    n_animals, n_accounts = evidence.shape
    likelihood = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    rng = np.random.default_rng(check_whole("seed", seed))
    # Each draw gives one animal after the other an account, by how many others have it so far.
    counts, log_evidence_of_all = np.ones((_N_DRAWS, n_accounts)), 0.0
    for n_before, of_animal in enumerate(likelihood):
        chance = counts * of_animal
        total = chance.sum(axis=1)
        log_evidence_of_all += float(np.log(total.mean() / (n_accounts + n_before)))
        kept = rng.choice(_N_DRAWS, _N_DRAWS, p=total / total.sum())
        reached = chance[kept].cumsum(axis=1)
        account = (reached < rng.random((_N_DRAWS, 1)) * reached[:, -1:]).sum(axis=1)
        counts = counts[kept]
        counts[np.arange(_N_DRAWS), account] += 1
    log_equal = float(np.log(likelihood.mean(axis=1)).sum())
    equal = float(expit(log_equal - log_evidence_of_all))
    drawn = rng.standard_gamma(counts)
    drawn /= drawn.sum(axis=1, keepdims=True)
    first = np.bincount(drawn.argmax(axis=1), minlength=n_accounts) / _N_DRAWS
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    protected = first * (1 - equal) + equal / n_accounts
    mean = counts.mean(axis=0) / (n_accounts + n_animals)
    return Frequencies(mean, low, high, first, protected, equal)
