"""The settings of decoding."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DETECTED_IN", "MOST_UNKNOWN", "N_SESSIONS", "RIPPLES", "RUN", "Criteria", "Settings"]
__all__ += ["FARTHEST", "FIND", "FIND_DECODED", "FIND_RIPPLES", "MEDIAN_SPAN"]

MOST_UNKNOWN = 0.2
"""The largest share of positions on the track that may be unknown."""
FARTHEST = 30.0
"""A position farther from the track than this, in cm, is not on it."""
MEDIAN_SPAN = 0.3
"""The length of the running median that removes outliers of positions, in s."""
N_SESSIONS = 10
"""Number of sessions that are simulated to correct shares."""
DETECTED_IN = ("activity", "posterior")
"""What candidate events are detected in: the rate of all cells (or ripples, if there is a field
potential), or the decoded posterior of all times at which the animal is slow."""
FIND, FIND_RIPPLES, FIND_DECODED = "find", "find_ripples", "find_decoded"
"""The words, in the place of a table, for events that are detected: in the rate of all cells, in
the ripple band of the field potential, or in the decoded posterior."""
RUN = "run"
"""The name of the epoch of running, in which place fields are estimated."""


class Criteria(NamedTuple):
    """The criteria of candidate events.

    Attributes
    ----------
    threshold : float in SD
        Detection threshold for candidate events, in standard deviations.
    shortest : float in s
        Least duration of a detected event, in s.
    longest : float in s
        Largest duration of a detected event, in s.
    merged_within : float in s
        Events with a shorter gap between them are merged.
    largest_speed : float in cm/s
        Largest running speed during a detected event, in cm/s.
    """

    threshold: float = 3.0
    shortest: float = 0.1
    longest: float = 0.75
    merged_within: float = 0.05
    largest_speed: float = 5.0


RIPPLES = Criteria(2.0, 0.015, 1.0, 0.0, 4.0)
"""The criteria for ripples of Kay et al., except for the longest duration."""


class Settings(NamedTuple):
    """The settings of decoding.

    Attributes
    ----------
    bin_size : float in cm
        Length of the bins of the track or the arena, in cm.
    time_bin : float in s
        Length of the time bins for decoding events, in s.
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
        The criteria of candidate events, if these are detected: by default those of bursts; those
        of ripples are ``RIPPLES``.
    detected_in : str
        What candidate events are detected in, if they are; see ``DETECTED_IN``.
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
    detected_in: str = "activity"
