"""Positions of a simulated animal that runs the laps of a log and rests during replay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.prepare.headings import heading_between
from analyses.recordings.recover.sweeps import TrackPaths
from replay.log.event_log import EventLog

__all__ = ["SAMPLE", "Course", "run_course"]

SAMPLE = 0.02
"""The time between two positions, in s, as from a camera."""

_LEAD = 0.5  # s of stillness before and after each event
_PAUSE = 2.0  # s of stillness after each lap
_CARRIED = 10.0  # s without position between two laps that do not join


class Course(NamedTuple):
    """The animal's position in each sample, and whether it moved.

    Attributes
    ----------
    time : ndarray of float64, shape (n_samples,)
        Times in s.
    bins : ndarray of int64, shape (n_samples,)
        The nearest bin of the track.
    position : ndarray of float64, shape (n_samples, 2)
        Positions in cm.
    heading : ndarray of int8, shape (n_samples,)
        The direction in which it moved along the edge: 1 towards its second node, -1 towards its
        first, 0 if it did not move.
    """

    time: NDArray[np.float64]
    bins: NDArray[np.int64]
    position: NDArray[np.float64]
    heading: NDArray[np.int8]


def run_course(
    log: EventLog,
    track_paths: TrackPaths,
    speed: float,
    event_step: NDArray[np.int64],
    lasts: NDArray[np.float64],
) -> tuple[Course, NDArray[np.float64]]:
    """Let the animal run its laps, and stay still after each lap and around events."""
    steps = log.columns("steps")
    if not len(steps["state"]):
        raise ValueError("The log has no steps, so the animal never runs: log steps too.")
    n_before = np.searchsorted(steps["step"], event_step, side="right")
    due = np.searchsorted(n_before, np.arange(len(steps["step"]) + 2))
    start = np.empty(len(lasts))
    time, bins, carried = [0.0], [track_paths.at(steps["state"][0])], []

    def rest(seconds: float) -> None:
        time.append(time[-1] + seconds)
        bins.append(bins[-1])

    def replay(n_steps: int) -> None:
        for event in range(due[n_steps], due[n_steps + 1]):
            rest(_LEAD)
            start[event] = time[-1]
            rest(lasts[event] + _LEAD)

    replay(0)
    moves = zip(steps["state"].tolist(), steps["next_state"].tolist(), strict=True)
    ends = steps["terminated"] | steps["truncated"]
    for number, (state, next_state) in enumerate(moves):
        if track_paths.at(state) != bins[-1]:
            carried.append(len(time) - 1)
            time.append(time[-1] + _CARRIED)
            bins.append(track_paths.at(state))
        way, along = track_paths.between(state, next_state)
        time.extend((time[-1] + along / speed).tolist())
        bins.extend(way.tolist())
        replay(number + 1)
        if ends[number]:
            rest(_PAUSE)
    return _sampled(
        np.array(time), np.array(bins), np.array(carried, dtype=int), track_paths
    ), start


def _sampled(
    knots: NDArray[np.float64],
    bins: NDArray[np.int64],
    carried: NDArray[np.int64],
    track_paths: TrackPaths,
) -> Course:
    """Interpolate positions between knots, with none while the animal is carried."""
    time = np.arange(0.0, knots[-1], SAMPLE)
    knot = np.searchsorted(knots[1:-1], time, side="right")
    seen = ~np.isin(knot, carried)
    time, knot = time[seen], knot[seen]
    share = (time - knots[knot]) / (knots[knot + 1] - knots[knot])
    begin, end = track_paths.position[bins[knot]], track_paths.position[bins[knot + 1]]
    nearest = np.where(share < 0.5, bins[knot], bins[knot + 1])
    position = begin + share[:, None] * (end - begin)
    heading = heading_between(track_paths.track, bins[knot], nearest, bins[knot + 1])
    return Course(time, nearest, position, heading)
