"""What a recording may have beside positions and spikes: a field potential, or a posterior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from replay.checks import check_array, check_number
from replay.checks.arrays import Floats

_TOLERANCE = 1e-3  # of a sum of probabilities, which may have been saved in single precision
_SLOWEST = 1.0  # Hz


class FieldPotential(NamedTuple):
    """The local field potential, for the detection of ripples.

    Attributes
    ----------
    start : float
        The time of the first sample, in s.
    rate : float
        Sampling rate in Hz.
    signal : ndarray of float64, shape (n_time, n_channels)
        The signal as recorded, in any unit; NaN where it was not.
    timestamps : ndarray of float64, shape (n_time,), or None
        The times in s of the samples, between which there may be pauses; None if there are none,
        so that samples follow `start` at the sampling rate.
    """

    start: float
    rate: float
    signal: Floats
    timestamps: Floats | None = None

    @property
    def time(self) -> Floats:
        """The times of the samples in s, shape (n_time,)."""
        if self.timestamps is not None:
            return self.timestamps
        return np.asarray(self.start + np.arange(len(self.signal)) / self.rate)

    def check(self, name: str) -> None:
        """Check shapes and sampling; `name` is that of the recording."""
        check_number(f"The start in s of the field potential of {name}", self.start)
        what = f"The sampling rate in Hz of the field potential of {name}"
        check_number(what, self.rate, at_least=_SLOWEST)
        what = f"The field potential of {name}"
        signal = check_array(self.signal, what, kind="number", missing=True, n_dims=2)
        if signal.shape[0] < signal.shape[1]:
            raise ValueError(
                f"{what} has {signal.shape[1]} channels of {signal.shape[0]} samples: it needs a "
                "row for each sample and a column for each channel. Is it transposed?"
            )
        if np.isnan(signal).any(axis=1).all():
            raise ValueError(
                f"{what} is NaN in a channel or another at all times: choose a channel (channel)."
            )
        times = self.timestamps
        if times is not None and times.shape != (len(signal),):
            raise ValueError(
                f"{what} must have one time for each sample; got {times.shape} for {len(signal)}."
            )


def sampled_at(timestamps: Floats, signal: Floats, what: str) -> FieldPotential:
    """Make a field potential of samples with their times, between which there may be pauses.

    Examples
    --------
    >>> time = np.array([0.0, 0.5, 9.0, 9.5])
    >>> sampled_at(time, np.zeros((4, 1)), "The times of mine")[:2]
    (0.0, 2.0)
    """
    # Pauses must not count: the median step tells which steps are between two samples.
    steps = np.diff(np.sort(timestamps))
    usual = float(np.median(steps)) if len(steps) else 0.0
    if not usual > 0:
        raise ValueError(f"{what} must be one for each sample, in s, and differ.")
    rate = 1.0 / float(steps[steps <= 1.5 * usual].mean())
    return FieldPotential(float(timestamps.min()), rate, signal, timestamps)


class Posterior(NamedTuple):
    """A posterior over positions, decoded by another program.

    Attributes
    ----------
    time : ndarray of float64, shape (n_time,)
        Times in s, ascending.
    probability : ndarray of float64, shape (n_time, n_bins)
        Probability of each place; rows sum to 1, or are NaN where nothing was decoded.
    position : ndarray of float64, shape (n_bins, 2)
        The centres of the bins, in cm.
    movement : dict of str to ndarray of float64, each of shape (n_time,)
        Probability of each kind of movement that the decoder distinguishes; empty if there is none.
    outward : ndarray of float64, shape (n_time,), or None
        Probability of running along the track as its `edge_order` lays it out, from the first to
        the last place, and not back; None if the decoder does not distinguish headings.
    """

    time: Floats
    probability: Floats
    position: Floats
    movement: dict[str, Floats]
    outward: Floats | None = None

    def check(self, name: str) -> None:
        """Check shapes and probabilities; `name` is that of the recording."""
        what = f"The posterior of {name}"
        check_array(self.time, f"The times of the posterior of {name}", kind="number")
        if self.position.shape[1:] != (2,):
            raise ValueError(
                f"The bins of the posterior of {name} must have x and y; got the shape "
                f"{self.position.shape}."
            )
        n_times, n_bins = len(self.time), len(self.position)
        check_bins(self.probability, n_times, n_bins, what)
        for kind, values in {**self.movement, "outward": self.outward}.items():
            if values is not None and values.shape != (n_times,):
                raise ValueError(
                    f"{what} must have one probability of {kind!r} for each of {n_times} times; "
                    f"got the shape {values.shape}."
                )
        sums = self.probability.sum(axis=1)
        known = ~np.isnan(sums)
        wrong = known & (np.abs(sums - 1.0) > _TOLERANCE)
        wrong |= known & (self.probability < 0).any(axis=1)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            columns = self.probability.sum(axis=0)
            is_transposed = bool(np.all(np.abs(columns - 1.0) <= _TOLERANCE))
            raise ValueError(
                f"Rows of the posterior of {name} must be probabilities that sum to 1; row {row} "
                f"sums to {sums[row]:.6g}."
                + (" Its columns sum to 1: is it transposed?" if is_transposed else "")
            )
        if len(known) < 2:
            raise ValueError(f"{what} must have at least two time bins; got {len(known)}.")
        if not known.any():
            raise ValueError(f"{what} is NaN in every row: nothing was decoded.")


def check_bins(probability: Floats, n_times: int, n_bins: int, what: str) -> None:
    """Check that a posterior has a row for each time and a column for each bin."""
    shape = n_times, n_bins
    if probability.shape != shape:
        turned = ": it is transposed" if probability.shape == shape[::-1] else ""
        raise ValueError(
            f"{what} must have the shape {shape}, a row for each time and a column for each bin; "
            f"got {probability.shape}{turned}."
        )
