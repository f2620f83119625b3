"""Slow features: what changes least from step to step, and k-means on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from replay.checks import MOST_STATES, check_whole
from replay.encoders.codebook import Codebook, codebook, refit_steps
from replay.encoders.contract import Walk

__all__ = ["SlowFeatures"]

_LEAST_VARIANCE = 1e-9  # of the largest; directions with less are noise of rounding


@dataclass(frozen=True)
class SlowFeatures:
    """Linear slow feature analysis [1]_, then k-means.

    Of all linear features of unit variance, uncorrelated with one another, the slowest change
    least from one step to the next. What flickers independently of where the animal is changes
    fast, and is left out.

    Parameters
    ----------
    n_features : int, default 8
        Number of slow features.
    n_codes : int, default 300
        Number of centres.
    n_before : int, default 20000
        Number of observations of the random walk on which both are fitted.
    refit_factor : float, default inf
        Both are fitted again whenever the run has become longer by this factor, from 500 steps on;
        infinite: never.

    References
    ----------
    .. [1] Wiskott & Sejnowski (2002), Slow feature analysis.
       https://doi.org/10.1162/089976602317318938

    Examples
    --------
    >>> SlowFeatures(n_features=4)
    SlowFeatures(n_features=4, n_codes=300, n_before=20000, refit_factor=inf)
    """

    n_features: int = 8
    n_codes: int = 300
    n_before: int = 20_000
    refit_factor: float = math.inf

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_whole("n_features", self.n_features, at_least=1, at_most=10_000)
        check_whole("n_codes", self.n_codes, at_least=1, at_most=MOST_STATES)
        check_whole("n_before", self.n_before, at_least=2)
        refit_steps(self.refit_factor)

    @property
    def refit_at(self) -> tuple[int, ...]:
        """Numbers of steps after which it is fitted again."""
        return refit_steps(self.refit_factor)

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: Codebook | None = None
    ) -> Codebook:
        """Find the slow features, and place the centres."""
        seen = walk.observations
        mean = seen.mean(axis=0)
        variance, directions = eigh(np.atleast_2d(np.cov(seen, rowvar=False)))
        known = variance > _LEAST_VARIANCE * max(variance.max(), 1e-300)
        whiten = (directions[:, known] / np.sqrt(variance[known])).T
        change = np.diff(seen, axis=0)[~walk.is_first[1:]] @ whiten.T
        _, slowest = eigh(change.T @ change)  # in ascending order
        weight = slowest[:, : self.n_features].T @ whiten
        return codebook(seen, mean, weight, self.n_codes, rng, previous)
