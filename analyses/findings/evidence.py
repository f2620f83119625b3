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
direction       the probability that a study with the published number of units finds an effect of
                that sign that is at least as large; if p is above 0.05, one of that sign
null            the probability that its difference lies in the interval that the study allows
==============  ===================================================================================

A simulated study has as many animals as the published test had animals or sessions, but at most
eight. Its effect is the mean difference in standard deviations of a unit (an animal, session or
event), and is known with the error of the simulated animals; the published p and number of units
give the least effect that was found.

Events of one animal resemble one another, and studies differ by more than the error of their
counts: five studies found shares of reverse replay, all near a half, with a standard deviation of
0.06. A share that varies this much between studies is known no better than one of 69 independent
events, and no count is treated as more informative (`BETWEEN_STUDIES`). Shares below 2 % vary as
much on the scale of the logit, and some of their events are false positives. Under a simulated
study without replay, the published result has a probability of zero. With the probability
`SURPRISE` a result is unrelated to the account, because assumptions about the study, the task or
the simulation are wrong; no single result can therefore cost more than about four bits.

Evidence has two factors: whether a simulated study has such replay at all (`presence_evidence`),
and the value of the statistic in the studies that have it (`value_evidence`). A statistic that is
not defined costs only the first. `Scoring` has assumptions that can be made in other ways; the
table ``robustness`` of each comparison shows the order of accounts under each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import betaln, gammaln, xlog1py, xlogy
from scipy.stats import norm
from scipy.stats import t as student_t

from analyses.measures import STATISTICS
from replay.checks import check_number, typed
from replay.checks.arrays import Bools, Floats, Ints

N_DRAWN_SETS = 64
"""Sets of findings drawn from each account, or fewer, to see how often it is then found."""

BETWEEN_STUDIES = 0.06
"""Standard deviation between studies of a share of one half, beyond their counting error; for any
other share it is in proportion to its binomial error."""

SURPRISE = 0.05
"""The probability that a result is unrelated to all accounts."""

FALSE_POSITIVES = 0.001
"""The share of events in which replay of a rare kind is found by mistake."""

_LEVEL = 0.05  # of a test, above whose p no difference was found
_HALF = 0.5
_RARE = 0.02  # shares below it have errors of their own
_LARGEST_EFFECT = 2.0  # standard deviations, of the uniform prediction
_EVENTS = ("event", "pause")


class Scoring(NamedTuple):
    """How results are scored; the defaults are the usual way."""

    between_studies: float = BETWEEN_STUDIES  # the s.d. between studies of a share of one half
    surprise: float = SURPRISE  # the probability that a result is unrelated to all accounts
    # Shares below 2 % are scored by their real number of events, of which this share are false
    # positives; studies differ on the scale of the logit, as at one half. None: as other shares.
    false_positives: float | None = FALSE_POSITIVES
    # Whether a direction is the outcome of a test over the simulated animals (see `outcomes`), and
    # not an effect with the real number of units.
    are_tests: bool = False


USUAL = Scoring()


class Studies(NamedTuple):
    """Simulated studies of one statistic, one per draw of an account's parameters."""

    # Of shares: sequences with the property, and all sequences, of all animals of a study.
    successes: Floats
    trials: Floats
    # Mean and s.d. over animals of the statistic minus its null; NaN if no animal has a value.
    mean: Floats
    sd: Floats
    value: Floats  # the mean of the statistic itself
    n_animals: Floats  # with a value

    @property
    def has_replay(self) -> Bools:
        """Whether the statistic is defined in each simulated study."""
        return self.n_animals > 0

    def take(self, draws: Ints) -> Studies:
        """Choose some draws."""
        return Studies(*(column[draws] for column in self))


def outcomes(studies: Studies, *, are_shares: bool = False) -> Ints:
    """Test each simulated study for a difference from its null, by a t test over its animals.

    Returns, by draw, 1 for above, -1 for below, and 0 for no difference at the level of 0.05. The
    standard error of a share is at least its binomial error, because a few animals with a sequence
    or two each may agree by chance.

    Examples
    --------
    >>> one, six = np.ones(3), np.full(3, 6.0)
    >>> studies = Studies(one, one, np.array([0.5, 0.5, -0.5]), np.array([0.1, 2.0, 0.1]), one, six)
    >>> outcomes(studies).tolist()
    [1, 0, -1]
    """
    # One animal has no s.d., so that its error is NaN and nothing differs.
    n = np.maximum(studies.n_animals, 2.0)
    error = _error(studies, are_shares)
    limit = student_t.ppf(1 - _LEVEL / 2, n - 1) * error
    differs = np.abs(studies.mean) > np.nan_to_num(limit, nan=np.inf) + 1e-12
    return np.where(differs, np.sign(np.nan_to_num(studies.mean)), 0).astype(np.int64)


def _error(studies: Studies, are_shares: bool) -> Floats:
    """Compute the standard error of each study's mean over animals."""
    error = studies.sd / np.sqrt(np.maximum(studies.n_animals, 2.0))
    if are_shares:
        share = (studies.successes + _HALF) / (studies.trials + 1)
        error = np.maximum(error, np.sqrt(share * (1 - share) / np.maximum(studies.trials, 1)))
    return error


@dataclass(frozen=True)
class Published(ABC):
    """A published result of a statistic that lies between `low` and `high`.

    All values of this range are equally probable a priori. Each kind of likelihood has its own
    record, whose further fields are columns of findings.
    """

    kind: ClassVar[str]
    low: float
    high: float
    is_share: bool = field(kw_only=True)

    @abstractmethod
    def likelihood(self, studies: Studies, scoring: Scoring = USUAL) -> Floats:
        """Compute its probability in each simulated study, relative to a uniform prediction."""

    @abstractmethod
    def as_found(self, studies: Studies, draw: int) -> Self:
        """Return the result that would have been published if this study were the real one."""

    @abstractmethod
    def unrelated(self, rng: np.random.Generator) -> Self:
        """Draw a result from the uniform prediction."""

    def repeated(self, rng: np.random.Generator) -> Self:
        """Draw the result of another such study; by default its animals are all that differs."""
        return self

    @abstractmethod
    def interval(self) -> tuple[float, float, float]:
        """Return the published value, and its 95 % interval if it is a number."""

    def predicted(self, studies: Studies) -> Floats:
        """Return what simulated studies find on the scale of the result: by default differences."""
        return studies.mean


@dataclass(frozen=True)
class Count(Published):
    """So many `successes` of `trials`."""

    kind = "count"
    successes: float
    trials: float

    def likelihood(self, studies: Studies, scoring: Scoring = USUAL) -> Floats:
        """Compute the beta-binomial probability with the number of independent trials."""
        by_chance = scoring.false_positives if self._is_rare else None
        between = scoring.between_studies
        if by_chance is None:
            n = _independent_trials(self.trials, between)
        else:
            n = self._n_independent(between)
        # The same share of fewer events, since those of one animal resemble one another.
        k = self.successes * n / self.trials
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        if by_chance is not None:
            # The binomial probability, with the share that each draw itself predicts: half an event
            # more, as below, would be many times the published share.
            found = studies.successes / np.maximum(studies.trials, 1)
            expected = found + (1 - found) * by_chance
            density = np.exp(ways + xlogy(k, expected) + xlog1py(n - k, -expected)) * (n + 1)
        else:
            a, b = studies.successes + _HALF, studies.trials - studies.successes + _HALF
            density = np.exp(ways + betaln(k + a, n - k + b) - betaln(a, b)) * (n + 1)
        return np.where(studies.trials > 0, density, 0.0)

    @property
    def _is_rare(self) -> bool:
        return self.successes < _RARE * self.trials

    def _n_independent(self, between: float = BETWEEN_STUDIES) -> float:
        """Return the number of independent events, which is larger where the share is rare."""
        if self._is_rare:
            # A logit that varies as much as at one half is a share that varies less.
            share = max(self.successes, _HALF) / self.trials
            between *= 2 * float(np.sqrt(share * (1 - share)))
        return _independent_trials(self.trials, between)

    def as_found(self, studies: Studies, draw: int) -> Self:
        """Return the simulated share of the same number of trials."""
        share = studies.successes[draw] / max(studies.trials[draw], 1)
        return replace(self, successes=float(round(share * self.trials)))

    def unrelated(self, rng: np.random.Generator) -> Self:
        """Draw any number of successes."""
        return replace(self, successes=float(rng.integers(int(self.trials) + 1)))

    def repeated(self, rng: np.random.Generator) -> Self:
        """Draw as many independent events as the likelihood assumes."""
        n = round(self._n_independent())
        share = rng.binomial(n, self.successes / self.trials) / n
        return replace(self, successes=float(round(share * self.trials)))

    def interval(self) -> tuple[float, float, float]:
        """Return the share, with the binomial error of the independent trials."""
        share = self.successes / self.trials
        error = float(np.sqrt(share * (1 - share) / self._n_independent()))
        return _within(share, error, self)

    def predicted(self, studies: Studies) -> Floats:
        """Return the simulated shares."""
        return studies.value


@dataclass(frozen=True)
class Value(Published):
    """A `value` with its `standard_error`, on the scale of the statistic."""

    kind = "value"
    value: float
    standard_error: float

    def likelihood(self, studies: Studies, scoring: Scoring = USUAL) -> Floats:
        """Compute the normal density around the mean of each simulated study."""
        error = np.hypot(self.standard_error, scoring.between_studies)
        density = np.nan_to_num(norm.pdf(self.value, studies.value, error))
        return np.asarray(density * (self.high - self.low), dtype=np.float64)

    def as_found(self, studies: Studies, draw: int) -> Self:
        """Return the simulated mean, with the published error."""
        return replace(self, value=float(studies.value[draw]))

    def unrelated(self, rng: np.random.Generator) -> Self:
        """Draw any value in the range."""
        return replace(self, value=float(rng.uniform(self.low, self.high)))

    def repeated(self, rng: np.random.Generator) -> Self:
        """Draw a value with the error that the likelihood assumes."""
        error = np.hypot(self.standard_error, BETWEEN_STUDIES)
        return replace(self, value=float(rng.normal(self.value, error)))

    def interval(self) -> tuple[float, float, float]:
        """Return the value, with its error and the variability between studies."""
        return _within(self.value, float(np.hypot(self.standard_error, BETWEEN_STUDIES)), self)

    def predicted(self, studies: Studies) -> Floats:
        """Return the simulated means."""
        return studies.value


@dataclass(frozen=True)
class Direction(Published):
    """A difference from the null of a `sign`, 1 or -1 (0: none was found), with its `p_value`.

    The test had `n_units` units, each a `unit_of_n`: an animal, session, pause or event. A p value
    is often a bound, so the effect that it gives with them, in standard deviations of a unit, is
    the least one of that sign; smaller ones are none. Under a uniform prediction, effects are up to
    two standard deviations.
    """

    kind = "direction"
    sign: float
    p_value: float
    n_units: float
    unit_of_n: str = "animal"

    def likelihood(self, studies: Studies, scoring: Scoring = USUAL) -> Floats:
        """Compute the probability that a study with the published units finds such an effect."""
        if scoring.are_tests:
            # There are three outcomes, or without significance the two signs of the mean, which a
            # uniform prediction has equally often.
            if self.p_value > _LEVEL:
                agrees = (np.sign(np.nan_to_num(studies.mean)) == self.sign) / _HALF
            else:
                agrees = 3.0 * (outcomes(studies, are_shares=self.is_share) == self.sign)
            return np.asarray(agrees, dtype=np.float64)
        effect, error = self._effects(studies)
        error = np.hypot(error, self._error_of_effect(scoring.between_studies))
        above, below = (norm.cdf((sign * effect - self._least) / error) for sign in (1, -1))
        found = {1: above, -1: below, 0: 1 - above - below}[int(self.sign)]
        by_chance = self._by_chance(scoring.between_studies)[int(self.sign)]
        return np.where(studies.has_replay, found / by_chance, 0.0)

    def as_found(self, studies: Studies, draw: int) -> Self:
        """Return whether the simulated effect is as large as the published one, and its sign."""
        effect = float(self._effects(studies.take(np.array([draw])))[0][0])
        return replace(self, sign=float(np.sign(effect) * (abs(effect) >= self._least)))

    def unrelated(self, rng: np.random.Generator) -> Self:
        """Draw an effect of the uniform prediction."""
        by_chance = self._by_chance()
        return replace(self, sign=float(rng.choice(list(by_chance), p=[*by_chance.values()])))

    @property
    def _least(self) -> float:
        """The least effect; 0 if no significant one was found."""
        is_found = self.p_value <= _LEVEL
        return float(norm.isf(self.p_value / 2) / np.sqrt(self.n_units)) if is_found else 0.0

    def _error_of_effect(self, between: float) -> float:
        return float(1 / np.sqrt(_independent_trials(self.n_units, between)))

    def _by_chance(self, between: float = BETWEEN_STUDIES) -> dict[int, float]:
        """Return the probability of each sign under the uniform prediction."""
        error = self._error_of_effect(between)
        ends = (np.array([-1, 1]) * _LARGEST_EFFECT - self._least) / error
        # Effects are uniform; the integral of the normal distribution function is z F(z) + f(z).
        integral = float(np.diff(ends * norm.cdf(ends) + norm.pdf(ends))[0]) * error
        one = integral / (2 * _LARGEST_EFFECT)
        return {-1: one, 0: max(1 - 2 * one, 1e-9), 1: one}

    def _effects(self, studies: Studies) -> tuple[Floats, Floats]:
        """Compute the effect of each simulated study, and its error.

        If units are events, the animals of a simulated study are taken to differ by these alone.
        """
        n = np.maximum(studies.n_animals, 2.0)
        spread = np.nan_to_num(_error(studies, self.is_share) * np.sqrt(n))
        if self.unit_of_n in _EVENTS:
            of_animal = np.maximum(np.nan_to_num(studies.trials) / n, 1.0)
            spread, n = spread * np.sqrt(of_animal), n * of_animal
        mean = np.nan_to_num(studies.mean)
        without = np.sign(mean) * _LARGEST_EFFECT  # of one animal, or animals that agree
        effect = np.divide(mean, spread, out=without, where=spread > 0)
        effect = np.clip(effect, -_LARGEST_EFFECT, _LARGEST_EFFECT)
        # The usual approximation of the error of a mean in standard deviations.
        return effect, np.sqrt(1 / n + effect**2 / (2 * (n - 1)))

    def interval(self) -> tuple[float, float, float]:
        """Return the sign alone."""
        return self.sign, np.nan, np.nan


@dataclass(frozen=True)
class Null(Published):
    """No difference: effects below `excluded_low` and above `excluded_high` are excluded."""

    kind = "null"
    excluded_low: float
    excluded_high: float

    def likelihood(self, studies: Studies, scoring: Scoring = USUAL) -> Floats:
        """Ask whether the difference lies in the interval, relative to its part of the range."""
        inside = (studies.mean >= self.excluded_low) & (studies.mean <= self.excluded_high)
        allowed = min(self.excluded_high, self.high) - max(self.excluded_low, self.low)
        found = inside * (self.high - self.low) / max(allowed, 1e-9)
        return np.asarray(found, dtype=np.float64)

    def as_found(self, studies: Studies, draw: int) -> Self:
        """Return an interval of the same width around the simulated difference."""
        half = (self.excluded_high - self.excluded_low) / 2
        mean = float(studies.mean[draw])
        return replace(self, excluded_low=mean - half, excluded_high=mean + half)

    def unrelated(self, rng: np.random.Generator) -> Self:
        """Draw an interval of the same width around any difference."""
        half = (self.excluded_high - self.excluded_low) / 2
        mean = float(rng.uniform(self.low, self.high))
        return replace(self, excluded_low=mean - half, excluded_high=mean + half)

    def interval(self) -> tuple[float, float, float]:
        """Return 0 and the limits of the interval."""
        return 0.0, self.excluded_low, self.excluded_high


RECORDS: dict[str, type[Published]] = {each.kind: each for each in (Count, Value, Direction, Null)}
"""Likelihood of a finding -> the record of its result."""


def columns_of(record: type[Published]) -> dict[str, bool]:
    """Name the columns of findings that a record reads, and say whether it needs them."""
    own = fields(record)[len(fields(Published)) :]
    return {each.name: each.default is MISSING for each in own}


def published(finding: Mapping[Hashable, Any]) -> Published:
    """Read the published result of a finding, a tested row of `analyses.findings.table.findings`.

    Examples
    --------
    >>> from analyses.findings.table import findings
    >>> row = findings().set_index("id", drop=False).loc["gupta2010.bwd_fraction"]
    >>> published(row.to_dict())
    Count(low=0.0, high=1.0, is_share=True, successes=842.0, trials=1719.0)
    """
    record, statistic = RECORDS[finding["likelihood"]], STATISTICS[finding["statistic"]]
    low, high = (0.0, 1.0) if statistic.is_share else statistic.span
    own = (finding[column] for column in columns_of(record))
    return record(low, high, *own, is_share=statistic.is_share)


def _independent_trials(trials: float, between_studies: float = BETWEEN_STUDIES) -> float:
    """Return the number of independent events whose share is known as well as that of a study.

    Examples
    --------
    >>> [round(_independent_trials(n)) for n in (20, 1719)], _independent_trials(20, 0.0)
    ([16, 67], 20.0)
    """
    return 1 / (1 / trials + between_studies**2 / _HALF**2)


def _within(middle: float, error: float, result: Published) -> tuple[float, float, float]:
    """Return a number with its 95 % interval, as far as the range of the statistic goes."""
    low, high = middle - 1.96 * error, middle + 1.96 * error
    return middle, max(low, result.low), min(high, result.high)


@typed
def evidence(likelihood: Floats, surprise: float = SURPRISE) -> Floats:
    """Compute the evidence for an account from likelihoods of shape (..., n_draws), in bits.

    The logarithm of a mean over few draws is too small on average; a jackknife corrects this, so
    that evidence does not grow with the number of draws.

    Examples
    --------
    >>> float(evidence(np.full(2, 8.0), surprise=0.0)), float(evidence(np.zeros(2)).round(1))
    (3.0, -4.3)
    """
    surprise = check_number("surprise", surprise, at_least=0, at_most=1)
    mixed = (1 - surprise) * likelihood + surprise
    n, total = mixed.shape[-1], mixed.sum(axis=-1)
    bits: Floats = np.log2(total / n)
    if n > 1:
        without = np.log2((total[..., None] - mixed) / (n - 1)).mean(axis=-1)
        # The correction is too large where one draw explains nearly all: none is above its own.
        bits = np.minimum(n * bits - (n - 1) * without, np.log2(mixed.max(axis=-1)))
    return bits


def presence_evidence(studies: Studies, surprise: float = SURPRISE) -> float:
    """Compute the first factor of evidence, in bits: whether there is such replay at all."""
    return float(evidence(studies.has_replay.astype(float), surprise))


def value_evidence(likelihood: Floats, studies: Studies, surprise: float = SURPRISE) -> float:
    """Compute the second factor, in bits: the value, in the studies that have such replay.

    Without any such study, nothing is predicted, and the factor is 0 bits.
    """
    known = likelihood[studies.has_replay]
    return float(evidence(known, surprise)) if len(known) else 0.0


def joint_evidence(
    likelihoods: Floats, surprise: float = SURPRISE, part: Floats | float = 1.0
) -> float:
    """Compute the evidence from several findings, likelihoods of shape (n_findings, n_draws).

    Each draw has to account for all findings with the same parameters; surprises are independent.
    A finding of which only a `part` counts has that power of its likelihood. There is no jackknife:
    where few draws explain a study, it would count the best for all.
    """
    mixed = ((1 - surprise) * likelihoods + surprise) ** np.reshape(part, (-1, 1))
    return float(np.log2(mixed.prod(axis=0).mean()))
