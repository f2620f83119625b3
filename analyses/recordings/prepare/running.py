"""An animal's positions and speeds, and the spikes of its cells, in time bins."""

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
from analyses.recordings.basics.settings import FARTHEST, MEDIAN_SPAN
from replay.arrays import Bools, Floats, Int32s

# The SD of a Gaussian, in s, after the median: 3 cm of noise seldom look like 5 cm/s.
_SMOOTHING = 0.25
_TIME_BIN = 0.02  # s


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
            span = 2 * int(MEDIAN_SPAN / 2 / seconds) + 1
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
        n_parts, _ = connected_components(is_next[np.ix_(kept, kept)], directed=False)
        if n_parts > n_before:
            kept[far[stretch == number]] = True
        else:
            n_before = n_parts
    part = track if kept.all() else track.only(np.flatnonzero(kept))
    return part, float(track.width[is_far].sum())
