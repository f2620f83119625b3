"""Calibration: the threshold of p that events with randomised cells pass at the nominal rate [1]_.

References
----------
.. [1] Takigawa et al. (2024), Evaluating hippocampal replay without a ground truth.
   https://doi.org/10.7554/eLife.85635
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.decide.order import LEAST_ORDER
from replay.checks import check_number

__all__ = ["Calibration", "choose_threshold", "passes_by_chance"]

_N_PARTS = 10


class Calibration(NamedTuple):
    """The threshold of p that events with randomised cells pass at the nominal rate.

    Attributes
    ----------
    threshold : float
        Events with a `p` of at most this are replay.
    false_positive_rate : float
        The share of events with randomised cells that pass a threshold that was chosen from others.
        Where events are found in the posterior: how many are found and pass in the same time after
        an exchange of cells, divided by the number of candidate events.
    at_nominal : float
        The share of them that would pass the nominal level itself.
    n_events : int
        Number of tested events with randomised cells.
    least_order : float
        Events with an `order` of at least this are replay (see
        :mod:`analyses.recordings.decide.order`).
    heading_p, heading_evidence : float
        The heading of replay events with a `heading_p` of at most, and a `heading_evidence` of at
        least this may be told (see :mod:`analyses.recordings.decide.heading`); NaN without
        headings.
    ci_low, ci_high : float
        The 95 % interval of the false-positive rate: Wilson's, or of a Poisson number where events
        are found in the posterior.
    n_exchanged : float
        Number of candidate events that are found in the same time after an exchange of cells; NaN
        unless events are found in the posterior.
    """

    threshold: float
    false_positive_rate: float
    at_nominal: float
    n_events: int
    least_order: float = LEAST_ORDER
    heading_p: float = np.nan
    heading_evidence: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan
    n_exchanged: float = np.nan

    @property
    def rate_in_words(self) -> str:
        """The false-positive rate with its interval.

        Examples
        --------
        >>> Calibration(0.05, 0.0, 0.0, 60, ci_low=0.0, ci_high=0.06).rate_in_words
        '0.0% (95 %: 0.0% to 6.0%)'
        """
        text = f"{self.false_positive_rate:.1%}"
        if np.isnan(self.ci_low):
            return text
        return f"{text} (95 %: {self.ci_low:.1%} to {self.ci_high:.1%})"


def choose_threshold(p_by_chance: ArrayLike, level: float = Judgement().level) -> Calibration:
    """Choose the threshold of p that at most the share `level` of events pass by chance.

    If the smallest p has already a larger share, the threshold lies just below it.

    Examples
    --------
    >>> choose_threshold([0.01, 0.2, 0.02, 0.03], level=0.25).threshold
    0.01
    """
    nominal = check_number("level", level, at_least=0.0, at_most=1.0)
    p = np.asarray(p_by_chance, dtype=float)
    known = p[~np.isnan(p)]
    if not len(known):
        raise ValueError(
            "No event has enough active cells to be tested, so no threshold can be chosen."
        )
    threshold = _threshold(known, nominal)
    return Calibration(
        threshold,
        float(passes_by_chance(p, nominal)[~np.isnan(p)].mean()),
        float(np.mean(known <= nominal)),
        len(known),
    )


def passes_by_chance(p_by_chance: ArrayLike, level: float = Judgement().level) -> NDArray[np.bool_]:
    """Find the events with randomised cells that pass the threshold chosen from the others.

    Each tenth of them is compared with the threshold of the rest, shape (n_events,).

    Examples
    --------
    >>> passes_by_chance([0.01, 0.2, 0.02, np.nan], level=0.5).tolist()
    [True, False, False, False]
    """
    p = np.asarray(p_by_chance, dtype=float)
    part = np.arange(len(p)) % _N_PARTS
    found = np.zeros(len(p), dtype=bool)
    for held in range(_N_PARTS):
        others = p[(part != held) & ~np.isnan(p)]
        threshold = _threshold(others, level) if len(others) else level
        found[part == held] = p[part == held] <= threshold
    return found


def _threshold(p: NDArray[np.float64], level: float) -> float:
    """Return the largest threshold up to `level` that at most the share `level` pass."""
    if np.mean(p <= level) <= level:
        return level
    passed = [value for value in np.unique(p) if np.mean(p <= value) <= level]
    return float(max(passed, default=np.nextafter(p.min(), 0.0)))
