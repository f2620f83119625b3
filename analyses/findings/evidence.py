"""How probable a published result would be if an account of replay were true.

An account predicts a distribution of each result: its parameters are drawn from their priors, and
each draw is a simulated study, with the study's own number of animals. The probability of the
published result, averaged over draws, is divided by its probability under a uniform distribution
over all values of the statistic. The logarithm of the ratio is the *evidence*, in bits: 3 bits mean
that the result is eight times as probable under the account.

==============  ===================================================================================
``likelihood``
==============  ===================================================================================
count           `successes` of `trials`: beta-binomial, given the simulated study's own counts
value           normal around the simulated study's mean, with the published standard error and
                the variability between studies
direction       the probability that a simulated study finds a difference of that sign, in a t test
                over its animals; if the published p is above 0.05, that its mean has the sign
null            the probability that its difference lies in the interval that the study allows
==============  ===================================================================================

A simulated study has as many animals as the published test had animals or sessions, but at most
eight, and the test is over the simulated animals. A control without any effect is therefore found
to have one at the nominal rate, and small effects in studies of more than eight animals are found
less often than in the published study.

Events of one animal resemble one another, and studies differ by more than the error of their
counts: five studies found shares of reverse replay, all near a half, with a standard deviation of
0.06. A share that varies this much between studies is known no better than one of 69 independent
events, and no count is treated as more informative (`BETWEEN_STUDIES`). Under a simulated study
without replay, the published result has a probability of zero. With the probability `SURPRISE` a
result is unrelated to the account, because assumptions about the study, the task or the simulation
are wrong; no single result can therefore cost more than about four bits. The table ``robustness``
of each comparison shows the effect of both settings.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln
from scipy.stats import norm
from scipy.stats import t as student_t

from analyses.measures import STATISTICS

__all__ = ["BETWEEN_STUDIES", "SURPRISE", "Published", "Studies", "evidence", "likelihoods"]
__all__ = [*__all__, "independent_trials", "outcomes", "published", "statistic_range", "synthetic"]

BETWEEN_STUDIES = 0.06
"""Standard deviation between studies of a share of one half, beyond their counting error; for any
other share it is in proportion to its binomial error."""

SURPRISE = 0.05
"""The probability that a result is unrelated to all accounts."""

_LEVEL = 0.05
_HALF = 0.5
_RANGES = {"S4": (-2.0, 2.0), "S10": (-2.0, 2.0), "S10_before": (0.0, 1.0)}
_BELOW, _NONE, _ABOVE = -1, 0, 1


class Studies(NamedTuple):
    """Simulated studies of one statistic, one per draw of an account's parameters.

    Attributes
    ----------
    successes, trials : ndarray of float, shape (n_draws,)
        For shares: the number of sequences with the property, and of all sequences, summed over the
        animals of the study.
    mean, sd : ndarray of float, shape (n_draws,)
        Mean and standard deviation over animals of the statistic minus its null; NaN if no animal
        has a value.
    value : ndarray of float, shape (n_draws,)
        Mean of the statistic itself.
    n_animals : ndarray of float, shape (n_draws,)
        Number of animals with a value.
    """

    successes: NDArray[np.float64]
    trials: NDArray[np.float64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    value: NDArray[np.float64]
    n_animals: NDArray[np.float64]

    def take(self, draws: NDArray[np.int64]) -> Studies:
        """Choose some draws."""
        return Studies(*(column[draws] for column in self))


class Published(NamedTuple):
    """The numbers of a published result.

    Attributes
    ----------
    likelihood : {"count", "value", "direction", "null"}
        The kind of result.
    low, high : float
        The range of the statistic, as from `statistic_range`.
    first, second : float
        Successes and trials; value and standard error; sign (0: no difference) and p; or the limits
        of the interval that a null result allows.
    """

    likelihood: str
    low: float
    high: float
    first: float
    second: float


def statistic_range(statistic: str) -> tuple[float, float]:
    """Return the range of a statistic, in which all values are equally probable a priori.

    Parameters
    ----------
    statistic : str
        A name in ``analyses.measures.STATISTICS``.

    Returns
    -------
    low, high : float
        0 and 1 for shares, -2 and 2 for log ratios of rates, -1 and 1 for all others.

    Examples
    --------
    >>> statistic_range("S1"), statistic_range("S4_reverse")
    ((0.0, 1.0), (-2.0, 2.0))
    """
    if statistic in _RANGES:
        return _RANGES[statistic]
    if STATISTICS[statistic].is_share:
        return 0.0, 1.0
    return _RANGES.get(statistic.split("_")[0], (-1.0, 1.0))


def published(finding: Mapping[Hashable, Any]) -> Published:
    """Read the numbers of a finding.

    Parameters
    ----------
    finding : mapping of str to object
        A tested row of :func:`analyses.findings.table.findings`.

    Returns
    -------
    Published

    Examples
    --------
    >>> from analyses.findings.table import findings
    >>> row = findings().set_index("id", drop=False).loc["gupta2010.bwd_fraction"]
    >>> tuple(published(row.to_dict()))
    ('count', 0.0, 1.0, 842.0, 1719.0)
    """
    kind = finding["likelihood"]
    pairs = {
        "count": ("successes", "trials"),
        "value": ("value", "standard_error"),
        "direction": ("sign", "p_value"),
        "null": ("excluded_low", "excluded_high"),
    }
    first, second = (float(finding[name]) for name in pairs[kind])
    return Published(kind, *statistic_range(finding["statistic"]), first, second)


def outcomes(studies: Studies, *, are_shares: bool = False) -> NDArray[np.int64]:
    """Test each simulated study for a difference from its null, by a t test over its animals.

    The standard error of a share is at least its binomial error, because a few animals with a
    sequence or two each may agree by chance.

    Parameters
    ----------
    studies : Studies
        The simulated studies.
    are_shares : bool, default False
        Whether the statistic is a share of `trials`.

    Returns
    -------
    ndarray of int, shape (n_draws,)
        -1 for below, 1 for above, 0 for no difference at the level of 0.05 or fewer than two
        animals.

    Examples
    --------
    >>> one, six = np.ones(3), np.full(3, 6.0)
    >>> studies = Studies(one, one, np.array([0.5, 0.5, -0.5]), np.array([0.1, 2.0, 0.1]), one, six)
    >>> outcomes(studies).tolist()
    [1, 0, -1]
    """
    n = np.maximum(studies.n_animals, 2.0)
    error = studies.sd / np.sqrt(n)
    if are_shares:
        share = (studies.successes + _HALF) / (studies.trials + 1)
        error = np.maximum(error, np.sqrt(share * (1 - share) / np.maximum(studies.trials, 1)))
    limit = student_t.ppf(1 - _LEVEL / 2, n - 1) * error
    differs = np.abs(studies.mean) > np.nan_to_num(limit, nan=np.inf) + 1e-12
    return np.where(differs, np.sign(np.nan_to_num(studies.mean)), 0).astype(np.int64)


def likelihoods(
    result: Published, studies: Studies, between_studies: float = BETWEEN_STUDIES
) -> NDArray[np.float64]:
    """Compute the relative probability of a published result under each simulated study.

    Parameters
    ----------
    result : Published
        The result.
    studies : Studies
        The simulated studies.
    between_studies : float, default ``BETWEEN_STUDIES``
        Standard deviation between studies of a share of one half, beyond their counting error.

    Returns
    -------
    ndarray of float, shape (n_draws,)
        The probability, or density, divided by that under a uniform distribution over the range of
        the statistic.
    """
    if result.likelihood == "count":
        return _of_count(result, studies, between_studies)
    width = result.high - result.low
    if result.likelihood == "value":
        error = np.hypot(result.second, between_studies)
        found = np.nan_to_num(norm.pdf(result.first, studies.value, error)) * width
    elif result.likelihood == "null":
        inside = (studies.mean >= result.first) & (studies.mean <= result.second)
        allowed = min(result.second, result.high) - max(result.first, result.low)
        found = inside * width / max(allowed, 1e-9)
    elif result.second > _LEVEL:
        found = (np.sign(np.nan_to_num(studies.mean)) == result.first) / _HALF
    else:
        found = 3.0 * (_outcomes(result, studies) == result.first)
    return np.asarray(found, dtype=np.float64)


def _outcomes(result: Published, studies: Studies) -> NDArray[np.int64]:
    return outcomes(studies, are_shares=(result.low, result.high) == (0.0, 1.0))


def independent_trials(trials: float, between_studies: float = BETWEEN_STUDIES) -> float:
    """Return the number of independent events whose share is known as well as that of a study.

    Parameters
    ----------
    trials : float
        Number of events that the study counted.
    between_studies : float, default ``BETWEEN_STUDIES``
        Standard deviation between studies of a share of one half, beyond their counting error.

    Returns
    -------
    float
        A number below `trials`; equal to it if studies do not differ.

    Examples
    --------
    >>> round(independent_trials(1719)), round(independent_trials(20)), independent_trials(20, 0.0)
    (67, 16, 20.0)
    """
    return 1 / (1 / trials + between_studies**2 / _HALF**2)


def _of_count(result: Published, studies: Studies, between_studies: float) -> NDArray[np.float64]:
    """Beta-binomial probability with the number of independent trials."""
    n = independent_trials(result.second, between_studies)
    k = result.first * n / result.second
    a, b = studies.successes + _HALF, studies.trials - studies.successes + _HALF
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    density = np.exp(ways + betaln(k + a, n - k + b) - betaln(a, b)) * (n + 1)
    return np.where(studies.trials > 0, density, 0.0)


def evidence(likelihood: NDArray[np.float64], surprise: float = SURPRISE) -> NDArray[np.float64]:
    """Compute the evidence for an account, in bits.

    The logarithm of a mean over few draws is too small on average; a jackknife corrects this, so
    that evidence does not grow with the number of draws.

    Parameters
    ----------
    likelihood : ndarray of float, shape (..., n_draws)
        The result of `likelihoods`.
    surprise : float, default ``SURPRISE``
        The probability that the result is unrelated to the account.

    Returns
    -------
    ndarray of float, shape (...)
        The binary logarithm of the mean relative probability.

    Examples
    --------
    >>> float(evidence(np.full(2, 8.0), surprise=0.0)), float(evidence(np.zeros(2)).round(1))
    (3.0, -4.3)
    """
    mixed = (1 - surprise) * likelihood + surprise
    n, total = mixed.shape[-1], mixed.sum(axis=-1)
    bits: NDArray[np.float64] = np.log2(total / n)
    if n > 1:
        without = np.log2((total[..., None] - mixed) / (n - 1)).mean(axis=-1)
        bits = np.minimum(n * bits - (n - 1) * without, np.log2(mixed.max(axis=-1)))
    return bits


def synthetic(result: Published, studies: Studies, draw: int) -> Published | None:
    """Return the result that would have been published if a simulated study were the real one.

    Parameters
    ----------
    result : Published
        The published result, whose numbers of events and errors are kept.
    studies : Studies
        The simulated studies.
    draw : int
        The number of the study that takes the place of the real one.

    Returns
    -------
    Published or None
        The result; None if the simulated study has no value.
    """
    if not studies.n_animals[draw] > 0:
        return None
    if result.likelihood == "count":
        share = studies.successes[draw] / max(studies.trials[draw], 1)
        return result._replace(first=float(round(share * result.second)))
    if result.likelihood == "value":
        return result._replace(first=float(studies.value[draw]))
    if result.likelihood == "null":
        half = (result.second - result.first) / 2
        mean = float(studies.mean[draw])
        return result._replace(first=mean - half, second=mean + half)
    if result.second > _LEVEL:
        return result._replace(first=float(np.sign(studies.mean[draw])))
    one = studies.take(np.array([draw]))
    return result._replace(first=float(_outcomes(result, one)[0]))
