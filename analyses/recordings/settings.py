"""How a recording is decoded."""

from __future__ import annotations

from typing import NamedTuple

from analyses.recordings.events import Criteria

__all__ = ["Settings"]


class Settings(NamedTuple):
    """How a recording is decoded.

    Attributes
    ----------
    bin_size : float
        The largest length of a bin of the track, in cm.
    time_bin : float
        Length of a time bin in events, in s.
    diffusion : float
        Variance of continuous movement in a second, in cm^2; 3,000 as in
        replay_trajectory_classification (6 in 2 ms).
    smoothing : float
        Of place fields, in cm.
    least_speed : float
        The animal runs if it is at least as fast, in cm/s.
    least_peak, largest_mean : float
        Cells count if their rate reaches the former somewhere on the track, and is at most the
        latter on average while the animal runs, in Hz.
    lowest_rate : float
        Of each cell in each place, in Hz: one spike at an unlikely place must not outweigh all
        others. .1 is the background rate in the simulations of Takigawa et al. (2024).
    criteria : Criteria
        What counts as a candidate event, where these are found.
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
