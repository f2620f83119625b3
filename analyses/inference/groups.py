"""How frequent each account is among animals: random-effects model selection.

Animals may differ in the account that they follow. The frequencies of accounts have a flat
Dirichlet prior, and each animal's account is drawn from them [1]_. The protected exceedance
probability allows for the chance that all accounts are equally frequent [2]_.

References
----------
.. [1] Stephan et al. (2009), Bayesian model selection for group studies.
   https://doi.org/10.1016/j.neuroimage.2009.03.025
.. [2] Rigoux et al. (2014), Bayesian model selection for group studies - revisited.
   https://doi.org/10.1016/j.neuroimage.2013.08.065
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln, logsumexp, softmax

from replay.checks import check_array, check_whole, typed

__all__ = ["Frequencies", "account_frequencies"]

_N_DRAWS = 100_000
_MOST_ROUNDS, _TINY = 10_000, 1e-10


class Frequencies(NamedTuple):
    """What a group of animals says about the frequencies of accounts.

    Attributes
    ----------
    mean : ndarray of float64, shape (n_accounts,)
        The expected frequency of each account.
    low, high : ndarray of float64, shape (n_accounts,)
        Its 90 % interval.
    exceedance : ndarray of float64, shape (n_accounts,)
        The probability that it is the most frequent one.
    protected : ndarray of float64, shape (n_accounts,)
        The same, allowing for equal frequencies.
    equal : float
        The probability that all accounts are equally frequent.
    """

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    exceedance: NDArray[np.float64]
    protected: NDArray[np.float64]
    equal: float


@typed
def account_frequencies(log_evidence: ArrayLike, *, seed: int = 0) -> Frequencies:
    """Infer the frequencies of accounts from the evidence of each animal.

    `log_evidence`, shape (n_animals, n_accounts), is the natural logarithm of the probability of
    each animal's data under each account; only differences between accounts matter. `seed` is that
    of the draws for exceedance probabilities.

    Examples
    --------
    Eight of ten animals follow the first account:

    >>> sure = np.log([[0.95, 0.05]] * 8 + [[0.05, 0.95]] * 2)
    >>> found = account_frequencies(sure)
    >>> found.mean.round(2).tolist(), bool(found.exceedance[0] > 0.9)
    ([0.77, 0.23], True)
    """
    evidence = check_array(log_evidence, "log_evidence", kind="number", n_dims=2)
    if len(evidence) < 1 or evidence.shape[1] < 2:
        raise ValueError(
            "log_evidence must have a row for each animal and a column for each of at least two "
            f"accounts, got the shape {evidence.shape}."
        )
    n_animals, n_accounts = evidence.shape
    evidence = evidence - evidence.max(axis=1, keepdims=True)
    prior = np.ones(n_accounts)
    counts = prior + n_animals / n_accounts
    for _ in range(_MOST_ROUNDS):
        shares = softmax(evidence + digamma(counts) - digamma(counts.sum()), axis=1)
        before, counts = counts, prior + shares.sum(axis=0)
        if np.abs(counts - before).max() < _TINY:
            break
    # The variational bound of the evidence that frequencies may differ, and that of equal ones.
    expected = digamma(counts) - digamma(counts.sum())
    entropy = -(shares * np.log(np.maximum(shares, 1e-300))).sum()
    prior_part = gammaln(prior.sum()) - gammaln(prior).sum() + ((prior - 1) * expected).sum()
    own_part = gammaln(counts.sum()) - gammaln(counts).sum() + ((counts - 1) * expected).sum()
    bound = float((shares * (evidence + expected)).sum() + entropy + prior_part - own_part)
    equal_bound = float((logsumexp(evidence, axis=1) - np.log(n_accounts)).sum())
    equal = float(1.0 / (1.0 + np.exp(np.clip(bound - equal_bound, -700, 700))))
    drawn = np.random.default_rng(check_whole("seed", seed)).dirichlet(counts, _N_DRAWS)
    first = np.bincount(drawn.argmax(axis=1), minlength=n_accounts) / _N_DRAWS
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    protected = first * (1 - equal) + equal / n_accounts
    return Frequencies(counts / counts.sum(), low, high, first, protected, equal)
