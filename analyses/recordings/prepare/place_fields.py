"""An animal's speed and spikes in time bins, and place fields: the rate of each cell along a track.

Also how well a running animal is decoded with them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from analyses.recordings.basics.binned_track import BinnedTrack, project
from analyses.recordings.basics.observed import LONGEST_GAP, Seen, tracked
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import FARTHEST, MEDIAN_SPAN, Settings
from analyses.recordings.prepare.likelihood import log_likelihood
from replay.checks.arrays import Bools, Floats, Int32s, Ints

# The SD of a Gaussian, in s, after the median: 3 cm of noise seldom look like 5 cm/s.
_SMOOTHING = 0.25
_TIME_BIN = 0.02  # s
# s: while the animal runs, cells fire too little in the time bins of events.
_DECODED_AT_ONCE = 0.25
_N_PARTS = 5  # of the running, each decoded with the fields of the others
_SEED = 0  # of the chance level


class Running(NamedTuple):
    """Positions, speeds and spike counts in time bins of equal length."""

    time: Floats  # (n_time,): the centres of the time bins, in s
    position: Floats  # (n_time, 2): positions in cm; NaN if unknown
    # (n_time, 2): velocities in cm/s, of smoothed positions; NaN if unknown
    velocity: Floats
    is_on_track: Bools  # (n_time,): whether the animal was on the track
    # (n_time, n_cells): number of spikes of each cell; sparse, because most are 0
    counts: csr_array

    @property
    def speed(self) -> Floats:
        """Speeds in cm/s; NaN if unknown."""
        return np.asarray(np.hypot(*self.velocity.T))

    def speed_at(self, time: Floats) -> Floats:
        """Interpolate the speed in cm/s; NaN before, within and after gaps of positions alike.

        An animal that is not tracked, as in a sleep box, may be slow: what must be slow is refused
        where ``speed > largest``, which an unknown speed is not.
        """
        return np.asarray(np.interp(time, self.time, self.speed, left=np.nan, right=np.nan))

    def is_rest(self, time: Floats, largest: float) -> Bools:
        """Find the times at which the animal is not known to be faster than `largest` cm/s."""
        return np.asarray(~(self.speed_at(time) > largest))


def running(recording: Recording) -> Running:
    """Bin positions and spikes in time bins of 20 ms.

    Velocities are those of positions after a running median, which removes outliers, and a
    Gaussian.
    """
    seconds = _TIME_BIN
    time, position = recording.known
    if len(time) < 2 or time[-1] - time[0] < seconds:
        raise ValueError(
            f"Positions of {recording.name} span less than {seconds:g} s: give the positions of "
            "the whole session, with times in s."
        )
    apart = float(np.median(np.diff(time)))
    if apart > LONGEST_GAP:
        raise ValueError(
            f"Successive positions of {recording.name} are {apart:.6g} s apart, too far to tell "
            "when the animal runs. Are times in other units? Give all times in s: divide "
            "milliseconds by 1000, and sample numbers by the sampling rate."
        )
    n_time = int((time[-1] - time[0]) / seconds + 1e-6)
    edges = time[0] + np.arange(n_time + 1) * seconds
    middle = (edges[1:] + edges[:-1]) / 2
    xy = np.stack([np.interp(middle, time, position[:, axis]) for axis in range(2)], axis=1)
    velocity, is_known = np.full((n_time, 2), np.nan), np.zeros(n_time, dtype=bool)
    for begin, end in tracked(time):  # each apart: nothing is smoothed across a gap
        part = slice(np.searchsorted(middle, begin), np.searchsorted(middle, end, side="right"))
        is_known[part] = True
        if is_known[part].sum() > 1:
            span = 2 * int(MEDIAN_SPAN / 2 / seconds) + 1  # odd, so that nothing is shifted in time
            median = ndimage.median_filter(xy[part], (span, 1), mode="nearest")
            smooth = ndimage.gaussian_filter1d(median, _SMOOTHING / seconds, axis=0, mode="nearest")
            velocity[part] = np.gradient(smooth, seconds, axis=0)
    spikes = np.concatenate([np.empty(0), *recording.spikes])
    cell = np.repeat(np.arange(len(recording.spikes)), [len(each) for each in recording.spikes])
    at = np.searchsorted(edges, spikes, side="right") - 1
    own = (at >= 0) & (at < n_time)
    if not recording.observed.is_always:
        number, cells = seen_in(recording, middle, seconds)
        own[own] = (number >= 0)[at[own]] & cells[number[at[own]], cell[own]]
    shape = n_time, len(recording.spikes)
    counts = csr_array((np.ones(own.sum(), dtype=np.int64), (at[own], cell[own])), shape=shape)
    is_on_track = np.ones(n_time, dtype=bool)
    if len(recording.on_track):
        is_on_track = np.zeros(n_time, dtype=bool)
        for begin, end in recording.on_track:
            is_on_track |= (middle >= begin) & (middle <= end)
    return Running(middle, np.where(is_known[:, None], xy, np.nan), velocity, is_on_track, counts)


def slow_stretches(moved: Running, largest_speed: float, begin: float, end: float) -> Floats:
    """Find the intervals in which the animal is not known to be faster, be it tracked or not."""
    seconds = moved.time[1] - moved.time[0]
    n_before = max(int((moved.time[0] - begin) / seconds), 0)
    n_after = max(int((end - moved.time[-1]) / seconds), 0)
    before = moved.time[0] - seconds * np.arange(n_before, 0, -1)
    after = moved.time[-1] + seconds * np.arange(1, n_after + 1)
    time = np.concatenate([before, moved.time, after])
    is_slow = np.pad(~(moved.speed > largest_speed), (n_before, n_after), constant_values=True)
    change = np.diff(is_slow.astype(np.int8), prepend=0, append=0)
    ends = time[np.flatnonzero(change == 1)], time[np.flatnonzero(change == -1) - 1]
    return np.stack(ends, axis=1)


def seen_in(recording: Recording, time: Floats, seconds: float) -> Seen:
    """Find the cells that were observed in time bins of some seconds around times."""
    half = seconds / 2
    return recording.observed.seen(len(recording.spikes), time - half, time + half)


def running_bins(moved: Running, track: BinnedTrack, least_speed: float) -> Int32s:
    """Find the bin of the track in which the animal ran."""
    found = project(track, moved.position)
    runs = moved.is_on_track & (moved.speed >= least_speed) & (found.away <= FARTHEST)
    return np.where(runs, found.bin, -1).astype(np.int32)


def running_headings(moved: Running, track: BinnedTrack) -> NDArray[np.int8]:
    """Find the sign of the animal's heading along the edge where it is; 0 if it is unknown."""
    found = project(track, moved.position)
    ends = track.node_position[track.edges[np.maximum(found.edge, 0)]]
    ahead = np.nan_to_num((moved.velocity * (ends[:, 1] - ends[:, 0])).sum(axis=1))
    return np.where(found.edge >= 0, np.sign(ahead), 0).astype(np.int8)


def run_track(
    place: NDArray[np.integer], track: BinnedTrack, farthest: float
) -> tuple[BinnedTrack, float]:
    """Leave out stretches that are farther than `farthest` cm from all bins in which it ran.

    `place` is as `running_bins` returns it. Also returns how many cm are so far, left out or not:
    a stretch stays where the track would fall apart without it, for what is on both sides was run.

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = cut_track(make_linear_track(50.0), bin_size=5.0)
    >>> part, length = run_track(np.array([0, 6]), track, 8.0)
    >>> part.n_bins, int(part.kept[-1]), length
    (8, 7, 25.0)
    """
    ran = np.unique(place[place >= 0])
    is_far = track.distance[:, ran].min(axis=1) > farthest
    is_next = track.distance <= (track.width[:, None] + track.width) / 2 + 1e-6
    far = np.flatnonzero(is_far)
    _, stretch = connected_components(is_next[np.ix_(far, far)], directed=False)
    kept, n_before = np.ones(track.n_bins, dtype=bool), track.n_components
    for number in np.unique(stretch):
        kept[far[stretch == number]] = False
        # Without a stretch in its middle, a track would fall into parts between which none runs.
        n_parts, _ = connected_components(is_next[np.ix_(kept, kept)], directed=False)
        if n_parts > n_before:
            kept[far[stretch == number]] = True
        else:
            n_before = n_parts
    part = track if kept.all() else track.only(np.flatnonzero(kept))
    return part, float(track.width[is_far].sum())


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
    # Smoothing reaches about so far: beyond, a rate is that of no spikes in no time.
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
