"""Checks of a recording: events, what was observed, one clock, one scale, places on the track."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from analyses.recordings.basics.binned_track import BinnedTrack, project
from analyses.recordings.basics.observed import Observed, check_digits, outside_of, within
from analyses.recordings.basics.settings import FARTHEST
from replay.checks import check_all, check_array, check_column, check_table, shown
from replay.checks.arrays import Floats

_OFF_TRACK = 10.0  # cm: the bins of another program may lie beside the corridor
_SHORTEST = 30.0  # cm, of all edges of a track
_METRES = 0.015  # of the track: positions in metres extend over a hundredth of it
_LEAST_TOGETHER = 0.01  # tracking may cover a small part of the recording, or vice versa
_OTHER_CELLS = 8  # of so many, one may itself be on another clock
_BEFORE_OTHERS = 0.1  # of the recording: a cell may fire so long before or after all others
_STILL = 0.05  # of all positions, without a change
_LOST = 1e-3  # of a posterior, which may lie so far away


def check_events(
    table: pd.DataFrame, what: str, bounds: tuple[str, str] = ("start_time", "end_time")
) -> tuple[Floats, Floats]:
    """Check and return the begins and ends of events, in s; messages name rows by the index."""
    check_table(table, bounds, what)
    start, end = check_all(
        partial(check_column, table, column, what, kind="number") for column in bounds
    )
    for column in bounds:
        check_digits(table[column], f"The times of {what}")
    wrong = np.flatnonzero(end <= start)
    if len(wrong):
        row = wrong[0]
        raise ValueError(
            f"Events must end after they begin; row {table.index[row]} of {what} goes from "
            f"{start[row]:.12g} to {end[row]:.12g} s."
        )
    return start, end


def check_observed(name: str, spikes: Sequence[Floats], observed: Observed) -> None:
    """Check that spikes are finite, and lie in the times in which their cell was observed."""
    if observed.cells and len(observed.cells) != len(spikes):
        raise ValueError(
            f"{name} must say for each of its {len(spikes)} cells when it was "
            f"observed; got {len(observed.cells)}."
        )
    intervals = observed.of_cells(len(spikes))
    for cell, (times, own) in enumerate(zip(spikes, intervals, strict=True)):
        check_array(times, f"The spike times of cell {cell} of {name}", kind="number")
        n_outside = int((~within(own, times)).sum())
        if n_outside:
            raise ValueError(
                f"{n_outside} of {len(times)} spikes of cell {cell} of {name} lie outside "
                "of the times in which it was observed. Give both in s, on one clock, and "
                "leave such spikes out."
            )


def check_one_clock(name: str, clocks: Mapping[str, Floats]) -> None:
    """Check that all times are on one clock, so that they overlap; `clocks` are times by source."""
    known = "spikes" if "spikes" in clocks else "positions"
    pairs = [("positions", "spikes", _LEAST_TOGETHER), ("spikes", "positions", _LEAST_TOGETHER)]
    pairs += [(known, other, 0.5) for other in clocks if other not in ("positions", "spikes")]
    for one, other, least in pairs:
        if not len(clocks.get(one, ())) or not len(clocks.get(other, ())):
            continue
        begin, end = _ends(clocks[one])
        times = clocks[other]
        if np.mean((times >= begin - 1) & (times <= end + 1)) < least:
            raise ValueError(
                f"Times of {name} are on several clocks: {span_text(one, clocks[one])}, but "
                f"{span_text(other, times)}. {_guess(clocks[one], times, one, other)}Give all in "
                "s, on one clock."
            )


def check_cells(name: str, time: Floats, spikes: Sequence[Floats]) -> None:
    """Check that each cell fires while the animal is tracked, or other such cells fire."""
    fired = [times for times in spikes if len(times)]
    if not len(time) or not fired:
        return
    begin, end = _ends(time)
    ends = np.array([_ends(times) for times in fired])
    ends = ends[(ends[:, 0] <= end + 1) & (ends[:, 1] >= begin - 1)]
    if len(ends):
        kept = len(ends) // _OTHER_CELLS
        begin = min(begin, float(np.sort(ends[:, 0])[kept]))
        end = max(end, float(np.sort(ends[:, 1])[-1 - kept]))
    around = 1 + _BEFORE_OTHERS * (end - begin)
    apart = [
        number
        for number, times in enumerate(spikes)
        if len(times) and np.mean((times >= begin - around) & (times <= end + around)) < 0.5
    ]
    if apart:
        times = np.concatenate([spikes[number] for number in apart])
        what = f"spikes of {len(apart)} of {len(spikes)} cells ({shown(apart)})"
        raise ValueError(
            f"Times of {name} are on several clocks: {span_text(what, times)}, "
            f"but the animal is tracked and other cells fire from {begin:.12g} to {end:.12g}. "
            f"{_guess(time, times, 'positions', 'these spikes')}Give all in s, on one "
            "clock, or leave these cells out."
        )


def still_stretches(time: Floats, xy: Floats) -> Floats:
    """Find begin and end, in s, of long stretches in which the position never changes.

    That of an animal fluctuates, so that it was not tracked then, or lay off the track.

    Examples
    --------
    >>> still_stretches(np.arange(30.0), np.array([[k if k < 9 else 50, 0] for k in range(30)]))
    array([[ 9., 29.]])
    """
    first = np.flatnonzero(np.append(True, (xy[1:] != xy[:-1]).any(axis=1)))[: len(xy)]
    last = np.append(first[1:], len(xy)) - 1
    is_long = last - first > max(_STILL * len(xy), 1)
    return np.stack([time[first[is_long]], time[last[is_long]]], axis=1)


def describe_still(time: Floats, xy: Floats) -> str:
    """Say where and when the position never changes, and when it does; or nothing."""
    still = still_stretches(time, xy)
    moving = moving_epochs(time, still) if len(still) else []
    if not moving:
        return ""
    where = []
    for begin, end in still:
        own = (time >= begin) & (time <= end)
        place = ", ".join(f"{each:.4g}" for each in xy[own.argmax()])
        where.append(f"{own.mean():.0%} are ({place}), from {begin:.0f} to {end:.0f} s")
    begin, end = max(moving, key=lambda each: each[1] - each[0])
    return (
        f"Of these positions {'; '.join(where)}, and do not change: the animal was not tracked, or "
        "was off the track. Leave these rows out, or give the times on the track as the epoch run "
        f"(epochs, such as run={begin:.0f}:{end:.0f})."
    )


def moving_epochs(time: Floats, still: Floats) -> list[list[float]]:
    """List begin and end, in s, of what lies between still stretches, if it is long enough."""
    inside = np.clip(outside_of(still), time[0], time[-1])
    is_long = np.diff(inside, axis=1)[:, 0] > _LEAST_TOGETHER * (time[-1] - time[0])
    return [[float(begin), float(end)] for begin, end in inside[is_long].round(2)]


def check_positions(
    name: str, track: BinnedTrack, time: Floats, xy: Floats, most_unknown: float, note: str
) -> None:
    """Check that the positions of an animal are in cm, known, and on the track."""
    width, height = np.ptp(track.node_position, axis=0)
    unknown = np.isnan(xy).any(axis=1)
    _check_unit(xy, f"positions of {name}", float(max(width, height)))
    if unknown.mean() > most_unknown:
        raise ValueError(
            f"{unknown.sum()} of {len(xy)} positions of {name} on the track are NaN, more than "
            f"{most_unknown:.0%}. Where the animal was not tracked, leave rows out, give the times "
            "on the track (epochs, such as run=0:600), or allow more with most_unknown."
        )
    n_off = int(np.count_nonzero(project(track, xy[~unknown]).away > FARTHEST))
    if n_off + unknown.sum() > most_unknown * len(xy):
        low, high = np.nanpercentile(xy, [1, 99], axis=0)
        hint = describe_still(time, xy) or (
            "Are positions in pixels, or on other axes? Give both in cm with the same origin (a "
            "graph may have pixels_per_cm, for arrays in position_xy_px), or give the times on the "
            "track as the epoch run (epochs, such as run=0:600)."
        )
        raise ValueError(
            f"{n_off} of {len(xy)} positions of {name} are more than {FARTHEST:g} cm from the "
            f"track: they go from ({low[0]:.0f}, {low[1]:.0f}) to ({high[0]:.0f}, {high[1]:.0f}), "
            f"and the graph is {width:.0f} x {height:.0f} cm. {hint}"
            + (f" What was read: {note}" if note else "")
        )


def check_track(name: str, track: BinnedTrack) -> None:
    """Check that a track is in cm."""
    whole = float(track.length.sum())
    if whole < _SHORTEST:
        raise ValueError(
            f"The track of {name} is {whole:.3g} cm long in all. Lengths and positions are in cm: "
            "multiply metres by 100."
        )


def check_bin_places(name: str, track: BinnedTrack, place: Floats, probability: Floats) -> None:
    """Check that the bins of another program's posterior are in cm, and on the track."""
    _check_unit(place, f"positions of the bins of the posterior of {name}", _extent(track))
    is_off = project(track, place).away > _OFF_TRACK
    share = np.nansum(probability[:, is_off]) / np.nansum(probability)
    if share > _LOST:
        raise ValueError(
            f"Bins of the posterior of {name} do not fit the track: {share:.1%} of it lies more "
            f"than {_OFF_TRACK:g} cm away. Give the graph that was used for decoding, in cm."
        )


def check_decoded(name: str, track: BinnedTrack, xy: Floats, most_unknown: float) -> None:
    """Check that places that another program decoded are in cm, and on the track."""
    _check_unit(xy, f"decoded places of {name}", _extent(track))
    n_off = int(np.count_nonzero(project(track, xy).away > FARTHEST))
    if n_off > most_unknown * len(xy):
        raise ValueError(
            f"{n_off} of {len(xy)} decoded places of {name} are more than {FARTHEST:g} cm from the "
            "track. Give both in cm on the same axes."
        )


def _extent(track: BinnedTrack) -> float:
    """Measure how far decoded places may extend, which may have been along the track."""
    if track.is_arena:
        return float(np.ptp(track.node_position, axis=0).max())
    # In metres along the track, all are near its beginning.
    return float(track.length.sum() + track.edge_spacing.sum())


def _check_unit(xy: Floats, what: str, length: float) -> None:
    """Check that places extend over more than they would in metres, on a track of so many cm."""
    known = xy[~np.isnan(xy).any(axis=1)]
    extent = float(np.ptp(known, axis=0).max()) if len(known) else 0.0
    if 0 < extent <= _METRES * length:
        raise ValueError(
            f"The {what} extend over {extent:.3g} cm, and the track over {length:.3g} cm. Are "
            "positions in metres? Give both in cm: multiply metres by 100."
        )


def _ends(times: Floats) -> tuple[float, float]:
    return float(times.min()), float(times.max())


def span_text(name: str, times: Floats) -> str:
    """Say from when to when times go."""
    begin, end = _ends(times)
    verb = "goes" if name.startswith("the ") else "go"
    return f"{name} {verb} from {begin:.12g} to {end:.12g}"


def _guess(one: Floats, other: Floats, one_name: str, other_name: str) -> str:
    """Guess the unit of times that are not in s."""
    last, other_last = _ends(one)[1], _ends(other)[1]
    larger, name = (other, other_name) if other_last > last else (one, one_name)
    ratio = max(other_last, last) / max(min(other_last, last), 1e-9)
    if ratio > 5000 and (larger == np.floor(larger)).all():
        return f"Are {name} in samples? Divide them by the sampling rate. "
    if 500 < ratio < 5000:
        return f"Are {name} in milliseconds? "
    return ""
