"""How probable a published result is if an account of replay were true.

An account predicts a distribution of each result: its parameters are drawn from their priors, and
each draw is a simulated study, with the study's own number of animals. The probability of what was
published, averaged over draws, is compared with that of somebody who knows nothing and takes all
values of the statistic for equally probable. The logarithm of the ratio is the *evidence*, in bits:
3 means that the account made the result eight times as probable.

==============  ===================================================================================
``likelihood``
==============  ===================================================================================
count           `successes` of `trials`: beta-binomial, given the simulated study's own counts
value           normal around the simulated study's mean, with the published standard error
direction       the chance that a simulated study finds a difference of that sign, in a t test over
                its animals; where the published p is above 0.05, that its mean has the sign
null            the chance that its difference lies within the interval that the study allows
==============  ===================================================================================

A simulated study has as many animals as the published test had animals or sessions, but at most
eight, and the test counts just these. So a control without any effect is found to have one as often
as the level says, and no more; of studies with more than eight, small effects are found less often
than they were.

Events of one animal resemble one another, and studies differ more than their counts allow: five
studies found shares of reverse replay, all near a half, with a standard deviation of 0.06. A share
that varies so much between studies is as well known as one of 69 independent events, and no count
is taken for more (`BETWEEN_STUDIES`). A simulated study without any replay predicts none of it.
With the probability `SURPRISE` a result has nothing to do with the account, because the study, the
task or the simulation is not what it is taken for; so no single result costs more than four bits.
What both settings do is in the table ``robustness`` of each comparison.
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
"""Standard deviation between studies of a share of a half, beyond their counts; that of any other
is in proportion to its binomial error."""

SURPRISE = 0.05
"""How probable it is that a result has nothing to do with any account."""

_LEVEL = 0.05
_HALF = 0.5
_RANGES = {"S4": (-2.0, 2.0), "S10": (-2.0, 2.0), "S10_before": (0.0, 1.0)}
_BELOW, _NONE, _ABOVE = -1, 0, 1


class Studies(NamedTuple):
    """Simulated studies of one statistic: one a draw of an account's parameters.

    Attributes
    ----------
    successes, trials : ndarray of float, shape (n_draws,)
        Of shares: sequences that count, of all, over the animals of the study.
    mean, sd : ndarray of float, shape (n_draws,)
        Of the statistic minus its null, over animals; NaN where no animal has a value.
    value : ndarray of float, shape (n_draws,)
        Mean of the statistic itself.
    n_animals : ndarray of float, shape (n_draws,)
        Animals that have a value.
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
    """A published result as numbers.

    Attributes
    ----------
    likelihood : str
        ``count, value, direction`` or ``null``.
    low, high : float
        The limits of the statistic, for who knows nothing.
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
    """Give the values that a statistic takes for who knows nothing.

    Parameters
    ----------
    statistic : str
        A name in ``analyses.measures.STATISTICS``.

    Returns
    -------
    tuple of float
        0 to 1 of shares, -2 to 2 of log ratios of rates, else -1 to 1.

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
    finding : mapping
        A row of :func:`analyses.findings.table.findings` that is tested.

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

    A share is known no better than its counts allow: a few animals with a sequence or two each may
    agree by chance.

    Parameters
    ----------
    studies : Studies
        The simulated studies.
    are_shares : bool, default False
        Whether the statistic is a share of `trials`.

    Returns
    -------
    ndarray of int, shape (n_draws,)
        -1 below, 1 above, 0 no difference at the level of 0.05, or fewer than two animals.

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
    """Give the probability of a published result for each simulated study.

    Parameters
    ----------
    result : Published
        The result.
    studies : Studies
        The simulated studies.
    between_studies : float, default ``BETWEEN_STUDIES``
        Standard deviation of a share of a half between studies, beyond their counts.

    Returns
    -------
    ndarray of float, shape (n_draws,)
        The probability, or density, divided by that of who knows nothing.
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
    """Give the number of independent events whose share is as well known as that of a study.

    Parameters
    ----------
    trials : float
        How many events the study counted.
    between_studies : float, default ``BETWEEN_STUDIES``
        Standard deviation of a share of a half between studies, beyond their counts.

    Returns
    -------
    float
        Fewer; without a difference between studies, as many.

    Examples
    --------
    >>> round(independent_trials(1719)), round(independent_trials(20)), independent_trials(20, 0.0)
    (67, 16, 20.0)
    """
    return 1 / (1 / trials + between_studies**2 / _HALF**2)


def _of_count(result: Published, studies: Studies, between_studies: float) -> NDArray[np.float64]:
    """Beta-binomial of as many trials as count as independent."""
    n = independent_trials(result.second, between_studies)
    k = result.first * n / result.second
    a, b = studies.successes + _HALF, studies.trials - studies.successes + _HALF
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    density = np.exp(ways + betaln(k + a, n - k + b) - betaln(a, b)) * (n + 1)
    return np.where(studies.trials > 0, density, 0.0)


def evidence(likelihood: NDArray[np.float64], surprise: float = SURPRISE) -> NDArray[np.float64]:
    """Give the evidence for an account, in bits.

    The logarithm of a mean over few draws is too small on average; a jackknife corrects that, so
    that evidence does not grow with the number of draws.

    Parameters
    ----------
    likelihood : ndarray of float, shape (..., n_draws)
        What `likelihoods` gives.
    surprise : float, default ``SURPRISE``
        How probable it is that the result has nothing to do with the account.

    Returns
    -------
    ndarray of float, shape (...)
        Logarithm, to the base of 2, of how much more probable the result was.

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
    """Give what would have been published if a simulated study were the real one.

    Parameters
    ----------
    result : Published
        What was published: numbers of events, and errors, stay.
    studies : Studies
        The simulated studies.
    draw : int
        Which is taken for real.

    Returns
    -------
    Published or None
        The result; None if there was no replay to publish.
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
