"""The place fields of recorded cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.place_fields import place_fields
from analyses.recordings.prepare.running import Running, running_bins, seen_in

__all__ = ["recorded_fields"]


def recorded_fields(
    recording: Recording, moved: Running, track: BinnedTrack, settings: Settings
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Estimate the place fields of recorded cells while the animal runs.

    Cells that hardly fire on the track, or fire all the time, carry little information about places
    and are left out; so are those that were not observed near all places where the animal ran.
    """
    place = running_bins(moved, track, settings.least_speed)
    runs = place >= 0
    if not runs.any():
        raise ValueError(
            f"The animal of {recording.name} never runs at {settings.least_speed:g} cm/s or more "
            "on the track, so no place field can be estimated. Are positions in cm and times in s?"
        )
    seconds = float(moved.time[1] - moved.time[0])
    seen = seen_in(recording, moved.time, seconds)
    rates = place_fields(
        track, place, moved.counts, seconds,
        smoothing=settings.smoothing, lowest_rate=settings.lowest_rate, seen=seen,
    )  # fmt: skip
    occupied = seen.of_cells(seen.sums(place, track.n_bins))
    near = (track.distance <= 2 * settings.smoothing).astype(float)
    is_known = (occupied @ near > 0) | (near[place[runs]].sum(axis=0) == 0)
    n_running = np.maximum(occupied.sum(axis=1), 1)
    mean = moved.counts[runs].sum(axis=0) / n_running / seconds
    cells = np.flatnonzero(
        is_known.all(axis=1)
        & (rates.max(axis=1) >= settings.least_peak)
        & (mean <= settings.largest_mean)
    )
    if len(cells) < 2:
        raise ValueError(
            f"{len(cells)} of {len(recording.spikes)} cells of {recording.name} have a place field "
            f"(a rate of at least {settings.least_peak:g} Hz somewhere on the track, at most "
            f"{settings.largest_mean:g} Hz on average): too few for decoding. Are spike times and "
            "positions on the same clock?"
        )
    return rates[cells], cells
