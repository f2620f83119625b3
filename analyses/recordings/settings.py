"""The settings of decoding."""

from __future__ import annotations

from typing import NamedTuple

from analyses.recordings.events import Criteria

__all__ = ["Settings"]


class Settings(NamedTuple):
    """The settings of decoding.

    Attributes
    ----------
    bin_size : float
        Largest length of a bin of the track, in cm.
    time_bin : float
        Length of a time bin in events, in s.
    diffusion : float
        Variance of continuous movement per second, in cm^2; 3,000 as in
        replay_trajectory_classification (6 in 2 ms).
    smoothing : float
        Standard deviation of the smoothing of place fields, in cm.
    least_speed : float
        Least speed of running, in cm/s.
    least_peak, largest_mean : float
        Cells are used if their rate reaches the former somewhere on the track, and is at most the
        latter on average while the animal runs, in Hz.
    lowest_rate : float
        Lowest rate of each cell at each place, in Hz, so that a single spike at an unlikely place
        does not outweigh all others. .1 is the background rate in the simulations of Takigawa et
        al. (2024).
    criteria : Criteria
        The criteria of candidate events, if these are detected.
    """

    bin_size: float = 5.0
    time_bin: float = 0.005
    diffusion: float = 3000.0
    smoothing: float = 6.0
    least_speed: float = 5.0
    least_peak: float = 0.5
    largest_mean: float = 10.0
    lowest_rate: float = 0.1
    criteria: Criteria = Criteria()
