"""Priors of parameters: the values that were plausible before any comparison, with reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from scipy.stats import qmc

from replay.checks import LARGEST_NUMBER, check_list, check_number, check_whole, shown

Parameter = float | int | bool | str
"""A value of a parameter."""

_OFF = 0.5  # the share of draws without the parameter
_ABOVE_0 = 1e-300  # where a prior whose logarithm is uniform may begin


class Prior(Protocol):
    """A distribution with a quantile function, and the reason for choosing it."""

    @property
    def reason(self) -> str:
        """The reason for this distribution, with a source if there is one."""
        ...

    def quantile(self, share: float) -> Parameter | None:
        """Return the value below which a share of the distribution lies."""
        ...

    def _asdict(self) -> dict[str, object]: ...


class Uniform(NamedTuple):
    """A uniform distribution from `low` to `high`; `reason` says why these.

    Examples
    --------
    >>> Uniform(0.8, 1.0, "as an example").quantile(0.5)
    0.9
    """

    low: float
    high: float
    reason: str

    def quantile(self, share: float) -> float:
        """Give the value below which a share of the distribution lies."""
        return self.low + share * (self.high - self.low)


class LogUniform(NamedTuple):
    """A distribution from `low` to `high`, above 0, whose logarithm is uniform.

    Examples
    --------
    >>> round(LogUniform(1e-8, 1e-2, "as an example").quantile(0.5), 12)
    1e-05
    """

    low: float
    high: float
    reason: str

    def quantile(self, share: float) -> float:
        """Give the value below which a share of the distribution lies."""
        return float(self.low * (self.high / self.low) ** share)


class WholeNumber(NamedTuple):
    """A log-uniform distribution of whole numbers from `low`, at least 1, to `high`, included."""

    low: int
    high: int
    reason: str

    def quantile(self, share: float) -> int:
        """Give the value below which a share of the distribution lies."""
        return int(self.low * ((self.high + 1) / self.low) ** share)


class OneOf(NamedTuple):
    """A few `values`, all equally probable."""

    values: tuple[Parameter, ...]
    reason: str

    def quantile(self, share: float) -> Parameter:
        """Give the value below which a share of the distribution lies."""
        return self.values[int(share * len(self.values))]


class Sometimes(NamedTuple):
    """The learner's default in half of all draws, and a `LogUniform` distribution in the others.

    Examples
    --------
    >>> cost = Sometimes(0.01, 1.0, "as an example")
    >>> cost.quantile(0.4), round(cost.quantile(0.75), 12)
    (None, 0.1)
    """

    low: float
    high: float
    reason: str

    def quantile(self, share: float) -> float | None:
        """Give the value below which a share of the distribution lies."""
        if share < _OFF:
            return None
        return LogUniform(self.low, self.high, self.reason).quantile((share - _OFF) / (1 - _OFF))


def draw_parameters(
    priors: Mapping[str, Prior], n_draws: int, rng: np.random.Generator
) -> list[dict[str, Parameter]]:
    """Draw sets of parameters that fill the space of their priors evenly.

    A scrambled Halton sequence. Parameters that keep the learner's default are left out of a set.
    """
    check_whole("n_draws", n_draws, at_least=1)
    for name, prior in priors.items():
        what = f"The prior of {name}"
        if isinstance(prior, OneOf):
            if not check_list(f"{what}: values", prior.values):
                raise ValueError(f"{what} must have at least one value, got none.")
        elif isinstance(prior, Uniform | LogUniform | WholeNumber | Sometimes):
            check: Callable[..., float] = (
                check_whole if isinstance(prior, WholeNumber) else check_number
            )
            least = {Uniform: -LARGEST_NUMBER, WholeNumber: 1}.get(type(prior), _ABOVE_0)
            low = check(f"{what}: low", prior.low, at_least=least)
            check(f"{what}: high", prior.high, at_least=low)
        elif not callable(getattr(prior, "quantile", None)):
            raise TypeError(f"{what} must be a distribution such as Uniform, got {shown(prior)}.")
    if not priors:
        return [{} for _ in range(n_draws)]
    # Few independent draws would leave large parts of a space of several parameters empty.
    shares = qmc.Halton(len(priors), rng=rng).random(n_draws)
    drawn = []
    for row in shares.tolist():
        values = {
            name: prior.quantile(share)
            for (name, prior), share in zip(priors.items(), row, strict=True)
        }
        drawn.append({name: value for name, value in values.items() if value is not None})
    return drawn
