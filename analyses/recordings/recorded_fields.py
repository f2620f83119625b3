"""The place fields of recorded cells, and how well they tell where the running animal is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.binned_track import BinnedTrack
from analyses.recordings.decoding.likelihood import log_likelihood
from analyses.recordings.decoding.place_fields import place_fields
from analyses.recordings.recording import Recording
from analyses.recordings.running import Running, running_bins
from analyses.recordings.settings import Settings

__all__ = ["DecodingError", "decoding_error", "recorded_fields"]

_DECODED_AT_ONCE = 0.25  # s
_N_PARTS = 5
_SEED = 0  # of what is to be expected by chance


class DecodingError(NamedTuple):
    """How far from the running animal its decoded place is.

    Attributes
    ----------
    distance : float
        The median distance along the track, in cm; on several tracks that do not join, of what is
        decoded on the animal's own.
    by_chance : float
        The median distance to where the animal was at another moment on the same track.
    wrong_track : float
        How often the decoded place is on another track than the animal; 0 on a single one.
    wrong_by_chance : float
        How often the animal was on another track at another moment.
    """

    distance: float
    by_chance: float
    wrong_track: float
    wrong_by_chance: float


def recorded_fields(
    recording: Recording, moved: Running, track: BinnedTrack, settings: Settings
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Estimate the place fields of recorded cells from when the animal ran.

    Cells that hardly fire on the track, or fire all the time, say nothing about places and are left
    out.

    Parameters
    ----------
    recording : Recording
        With spikes.
    moved : Running
        Its time bins.
    track : BinnedTrack
        The track.
    settings : Settings
        How fields are estimated, and which cells count.

    Returns
    -------
    rates : ndarray of float64, shape (n_cells, n_bins)
        In Hz.
    cells : ndarray of int64, shape (n_cells,)
        Which cells of the recording these are.

    Raises
    ------
    ValueError
        If the animal never ran, or fewer than two cells have a field.
    """
    place = running_bins(moved, track, settings.least_speed)
    runs = place >= 0
    if not runs.any():
        raise ValueError(
            f"The animal of {recording.name} never runs at {settings.least_speed:g} cm/s or more "
            "on the track, so no place field can be estimated. Are positions in cm and times in s?"
        )
    seconds = float(moved.time[1] - moved.time[0])
    rates = place_fields(
        track, place, moved.counts, seconds,
        smoothing=settings.smoothing, lowest_rate=settings.lowest_rate,
    )  # fmt: skip
    mean = moved.counts[runs].mean(axis=0) / seconds
    cells = np.flatnonzero(
        (rates.max(axis=1) >= settings.least_peak) & (mean <= settings.largest_mean)
    )
    if len(cells) < 2:
        raise ValueError(
            f"{len(cells)} of {len(recording.spikes)} cells of {recording.name} have a place field "
            f"(a rate of at least {settings.least_peak:g} Hz somewhere on the track, at most "
            f"{settings.largest_mean:g} Hz on average): too few to decode. Are spike times and "
            "positions on one clock?"
        )
    return rates[cells], cells


def decoding_error(
    recording: Recording, moved: Running, track: BinnedTrack, settings: Settings
) -> DecodingError:
    """Measure how far from the running animal its decoded place is, and how far by chance.

    Each fifth of the time is decoded, a quarter of a second at a time, with place fields of the
    rest.

    Parameters
    ----------
    recording : Recording
        With spikes.
    moved : Running
        Its time bins.
    track : BinnedTrack
        The track.
    settings : Settings
        How place fields are estimated.

    Returns
    -------
    DecodingError
        NaN if the animal hardly ran.
    """
    _, cells = recorded_fields(recording, moved, track, settings)
    place = running_bins(moved, track, settings.least_speed)
    fine = float(moved.time[1] - moved.time[0])
    n_fine = max(round(_DECODED_AT_ONCE / fine), 1)
    n_coarse = len(place) // n_fine
    counts = moved.counts[: n_coarse * n_fine, cells].reshape(n_coarse, n_fine, -1).sum(axis=1)
    own = place[n_fine // 2 : n_coarse * n_fine : n_fine]
    part = np.arange(n_coarse) * _N_PARTS // max(n_coarse, 1)
    errors = [np.empty(0)]
    for held in range(_N_PARTS):
        known = np.where(part == held, -1, own)
        tested = (part == held) & (own >= 0) & (counts.sum(axis=1) > 0)
        if tested.any() and (known >= 0).any():
            rates = place_fields(
                track, known, counts, n_fine * fine,
                smoothing=settings.smoothing, lowest_rate=settings.lowest_rate,
            )  # fmt: skip
            likelihoods = log_likelihood(counts[tested], rates, n_fine * fine)
            errors.append(track.distance[likelihoods.argmax(axis=1), own[tested]])
    ran = own[own >= 0]
    # Laps repeat themselves, so a fixed shift in time may lead to the same place.
    other = np.random.default_rng(_SEED).permutation(ran)
    by_chance = track.distance[ran, other]
    distance, wrong_track = _summary(np.concatenate(errors))
    chance, wrong_by_chance = _summary(by_chance)
    return DecodingError(distance, chance, wrong_track, wrong_by_chance)


def _summary(distance: NDArray[np.float64]) -> tuple[float, float]:
    """Give the median of finite distances, and the share of infinite ones."""
    finite = distance[np.isfinite(distance)]
    return (
        float(np.median(finite)) if len(finite) else float("nan"),
        1.0 - len(finite) / len(distance) if len(distance) else float("nan"),
    )
