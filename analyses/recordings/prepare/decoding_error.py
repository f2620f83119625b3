"""The error of decoding the running animal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.place_fields import place_fields, recorded_fields, sums_by
from analyses.recordings.prepare.running import Running, running_bins, seen_in

__all__ = ["DecodingError", "decoding_error"]

_DECODED_AT_ONCE = 0.25  # s
_N_PARTS = 5
_SEED = 0  # of the chance level


class DecodingError(NamedTuple):
    """The error of decoding the position of the running animal."""

    # the median distance along the track, in cm; with several separate tracks, of the positions
    # decoded on the correct one
    distance: float
    # the median distance to the animal's position at another time on the same track, in cm
    by_chance: float
    wrong_track: float  # the share of positions decoded on a wrong track; 0 with a single track
    wrong_by_chance: float  # the share of other times at which the animal was on another track


def decoding_error(
    recording: Recording, moved: Running, track: BinnedTrack, settings: Settings
) -> DecodingError:
    """Measure the error of decoding the running animal's position, and its chance level.

    Each fifth of the running is decoded, in bins of a quarter of a second, with place fields from
    the other four fifths; the error is NaN where this cannot be done.
    """
    _, cells = recorded_fields(recording, moved, track, settings)
    place = running_bins(moved, track, settings.least_speed)
    fine = float(moved.time[1] - moved.time[0])
    n_fine = max(round(_DECODED_AT_ONCE / fine), 1)
    n_coarse = len(place) // n_fine
    group = np.arange(len(place)) // n_fine
    counts = sums_by(np.where(group < n_coarse, group, -1), moved.counts[:, cells], n_coarse)
    own = place[n_fine // 2 : n_coarse * n_fine : n_fine]
    middle = moved.time[: n_coarse * n_fine].reshape(n_coarse, n_fine).mean(axis=1)
    seen = seen_in(recording, middle, n_fine * fine).only(cells)
    n_ran = max(int((own >= 0).sum()), 1)
    part = (np.cumsum(own >= 0) - 1) * _N_PARTS // n_ran
    errors = [np.empty(0)]
    for held in range(_N_PARTS):
        known = np.where(part == held, -1, own)
        tested = (part == held) & (own >= 0)
        if tested.any() and (known >= 0).any():
            rates = place_fields(
                track, known, counts, n_fine * fine,
                smoothing=settings.smoothing, lowest_rate=settings.lowest_rate, seen=seen,
            )  # fmt: skip
            for number, observed in enumerate(seen.cells):
                used = observed & np.isfinite(rates).all(axis=1)
                rows = tested & (seen.number == number) & (counts[:, used].sum(axis=1) > 0)
                likelihoods = log_likelihood(counts[rows][:, used], rates[used], n_fine * fine)
                errors.append(track.distance[likelihoods.argmax(axis=1), own[rows]])
    ran = own[own >= 0]
    # Laps are repetitive, so a fixed shift in time may lead to the same place.
    other = np.random.default_rng(_SEED).permutation(ran)
    by_chance = track.distance[ran, other]
    distance, wrong_track = _summary(np.concatenate(errors))
    chance, wrong_by_chance = _summary(by_chance)
    return DecodingError(distance, chance, wrong_track, wrong_by_chance)


def _summary(distance: NDArray[np.float64]) -> tuple[float, float]:
    """Return the median of finite distances, and the share of infinite ones."""
    finite = distance[np.isfinite(distance)]
    return (
        float(np.median(finite)) if len(finite) else float("nan"),
        1.0 - len(finite) / len(distance) if len(distance) else float("nan"),
    )
