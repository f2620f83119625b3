"""Place fields, the rate of each cell along a track; and how well a running animal is decoded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.basics.observed import Seen
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.running import Running, running_bins, seen_in
from replay.arrays import Floats, Ints

_DECODED_AT_ONCE = 0.25  # s
_N_PARTS = 5
_SEED = 0  # of the chance level


def place_fields(
    track: BinnedTrack,
    position_bins: NDArray[np.integer],
    counts: NDArray[np.integer] | csr_array,
    dt: float,
    *,
    smoothing: float = Settings().smoothing,
    lowest_rate: float = 0.0,
    seen: Seen | None = None,
) -> Floats:
    """Estimate the rate of each cell in each bin of a track, in Hz, shape (n_cells, n_bins).

    Spike counts and occupancy are both smoothed by a Gaussian along the track, with an SD of
    `smoothing` cm, before they are divided: nothing is smoothed across to a neighbouring corridor.

    `position_bins`, shape (n_time,), is -1 for time bins of `dt` s to leave out; `counts` are
    spikes, shape (n_time, n_cells). Cells that were not `seen` in a time bin must have no spikes
    there; a rate is NaN where a cell was never observed.
    """
    seen = Seen.all(*counts.shape) if seen is None else seen
    time = seen.sums(position_bins, track.n_bins) * dt
    spikes = sums_by(position_bins, counts, track.n_bins).T
    if smoothing > 0:
        weights = np.exp(-0.5 * (track.distance / smoothing) ** 2)
        time, spikes = np.stack([weights @ each for each in time]), spikes @ weights.T
    if not (time > 0).any(axis=0).all():
        empty = int(np.flatnonzero(~(time > 0).any(axis=0))[0])
        x, y = track.position[empty]
        raise ValueError(
            f"The animal was never near bin {empty} of the track, at ({x:.0f}, {y:.0f}) cm, so "
            "rates are unknown there: leave that corridor out of the graph, or smooth more."
        )
    own = seen.of_cells(time)
    rates = np.divide(spikes, own, out=np.full(own.shape, np.nan), where=own > 0)
    return np.asarray(np.maximum(rates, lowest_rate))


def sums_by(
    group: NDArray[np.integer], counts: NDArray[np.integer] | csr_array, n_groups: int
) -> Floats:
    """Sum the rows of counts in each group, shape (n_groups, n_cells); -1 is in none.

    Examples
    --------
    >>> sums_by(np.array([1, -1, 1]), np.array([[1, 0], [5, 5], [2, 3]]), 2).tolist()
    [[0.0, 0.0], [3.0, 3.0]]
    """
    rows = np.flatnonzero(group >= 0)
    own = csr_array((np.ones(len(rows)), (group[rows], rows)), shape=(n_groups, len(group)))
    return np.asarray((own @ csr_array(counts)).toarray())


def recorded_fields(
    recording: Recording, moved: Running, track: BinnedTrack, settings: Settings
) -> tuple[Floats, Ints]:
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


def _summary(distance: Floats) -> tuple[float, float]:
    """Return the median of finite distances, and the share of infinite ones."""
    finite = distance[np.isfinite(distance)]
    return (
        float(np.median(finite)) if len(finite) else float("nan"),
        1.0 - len(finite) / len(distance) if len(distance) else float("nan"),
    )
