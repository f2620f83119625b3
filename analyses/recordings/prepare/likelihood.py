"""Spike counts in time bins, their likelihood at each place, and time bins decoded by it alone.

Cells fire as independent Poisson processes whose rate depends on the place,

    log L(t, b) = sum_c n(t, c) log(rate(c, b) dt) - dt sum_c rate(c, b)   (+ a constant),

where n is the number of spikes of cell c in time bin t, and rate that of c in place bin b [1]_.
Spikes may also represent no place at all: then each cell has a rate of its own in each event.

References
----------
.. [1] Zhang, Ginzburg, McNaughton & Sejnowski (1998). https://doi.org/10.1152/jn.1998.79.2.1017
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from replay.checks import check_number
from replay.checks.arrays import Floats, Ints

_LOWEST_RATE = 1e-10
# Of the gamma distribution of rates without a place: the smaller, the fewer events are replay. In
# eight sessions of development, .5, 1, 2 and 5 left 91, 94, 101 and 106 events (109 if all have a
# place), and .001, .003, .005 and .008 (.014) of the events with exchanged cells.
_SHAPE = 2.0


def log_likelihood(counts: ArrayLike, rates: ArrayLike, dt: float) -> Floats:
    """Compute the log-likelihood of spike counts at each place, up to a constant per time bin.

    `counts` is (n_time, n_cells), `rates` (n_cells, n_bins) in Hz, `dt` in s; returns
    (n_time, n_bins). A rate of 0 counts as 1e-10 Hz, so that one spike does not rule a place out.

    Examples
    --------
    >>> log_likelihood([[1]], [[1.0, 10.0]], 0.1).round(3).tolist()
    [[-2.403, -1.0]]
    """
    seconds = check_number("dt", dt, at_least=1e-9, hint="It is the length of a time bin in s.")
    n_spikes, hertz = np.asarray(counts, dtype=float), np.asarray(rates, dtype=float)
    if n_spikes.ndim != 2 or hertz.ndim != 2 or n_spikes.shape[1] != len(hertz):
        raise ValueError(
            "counts must be (n_time, n_cells) and rates (n_cells, n_bins); got "
            f"{n_spikes.shape} and {hertz.shape}."
        )
    for name, values in (("counts", n_spikes), ("rates", hertz)):
        if not (np.isfinite(values) & (values >= 0)).all():
            raise ValueError(f"{name} must hold finite numbers of at least 0.")
    expected = np.maximum(hertz, _LOWEST_RATE) * seconds
    return np.asarray(n_spikes @ np.log(expected) - expected.sum(axis=0))


def placeless_log_likelihood(counts: ArrayLike, rates: Floats, dt: float) -> Floats:
    """Compute the log-likelihood of events whose spikes represent no place, shape (n_events,).

    The rate of a cell in an event is drawn from a gamma distribution whose mean is that of its
    rates; when it fires within the event does not matter. `counts` is (n_events, n_time, n_cells);
    the constant is that of `log_likelihood`.
    """
    given = np.asarray(counts, dtype=float)
    number, seconds = given.sum(axis=1), given.shape[1] * dt
    scale = np.maximum(rates.mean(axis=1), _LOWEST_RATE) / _SHAPE
    # The integral over the rate of the product of Poisson and gamma distribution.
    of_cells = number * np.log(dt * scale) + gammaln(number + _SHAPE) - gammaln(_SHAPE)
    of_cells -= (number + _SHAPE) * np.log1p(seconds * scale)
    return np.asarray(of_cells.sum(axis=1))


def check_likelihoods(values: ArrayLike) -> Floats:
    """Check log-likelihoods before decoding."""
    given = np.asarray(values, dtype=float)
    if given.ndim != 2 or not given.shape[1]:
        raise ValueError(
            f"log_likelihoods must have the shape (n_time, n_bins); got {given.shape}."
        )
    lost = np.isnan(given).any(axis=1) | ~np.isfinite(given.max(axis=1, initial=-np.inf))
    if lost.any():
        raise ValueError(
            f"The likelihoods of time bin {int(np.flatnonzero(lost)[0])} are NaN, infinite, or 0 "
            "everywhere: leave out such time bins."
        )
    return given


def bayesian_posterior(log_likelihoods: ArrayLike) -> Floats:
    """Decode each time bin independently: likelihoods and posterior are (n_time, n_bins)."""
    given = check_likelihoods(log_likelihoods)
    # Less their maximum, so that the exponentials of small likelihoods are not all 0.
    scaled = np.exp(given - given.max(axis=1, keepdims=True))
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def count_spikes(
    spikes: Sequence[ArrayLike], start: ArrayLike, end: ArrayLike, dt: float
) -> list[Ints]:
    """Count the spikes of each cell in the time bins of each event, (n_time, n_cells) each.

    The times of each cell ascend, and like `dt` are in s. What is left of an event after its last
    whole time bin does not count.
    """
    first, last = (np.asarray(each, dtype=float) for each in (start, end))
    # Rounding must not take the last bin from an event of a whole number of them.
    n_bins = np.floor((last - first) / dt + 1e-9).astype(np.int64)
    offset = np.append(0, np.cumsum(n_bins + 1))
    number = np.arange(offset[-1]) - np.repeat(offset[:-1], n_bins + 1)
    edges = np.repeat(first, n_bins + 1) + number * dt
    # One search for the edges of all events, of which a recording may have thousands.
    below = np.stack([np.searchsorted(np.asarray(each, dtype=float), edges) for each in spikes], 1)
    return [np.diff(below[begin:end], axis=0) for begin, end in pairwise(offset.tolist())]
