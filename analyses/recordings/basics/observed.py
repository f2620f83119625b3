"""Times of a recording: their checks, and when it observed what it did.

What was not observed is no evidence. Intervals have the shape (n_intervals, 2): begin and end in s,
both inclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replay.checks import check_array, check_list
from replay.checks.arrays import Bools, Floats, Ints

_TIME_BIN = 0.005  # s
_AMONG_EARLIER = 10  # changes between stretches for each step back: rows in any order have 2
LONGEST_GAP = 1.0
"""Across a longer gap between positions, in s, they are not interpolated: they are unknown."""
LONGEST_LOST = 5.0
"""After a longer gap between positions, in s, nobody knows where the animal was: a lap ends."""
_MOST_OUTSIDE = 0.5  # of the spikes: otherwise intervals are on another clock


def check_times(values: object, what: str) -> Floats:
    """Check a list of times in s: finite numbers with enough digits.

    Examples
    --------
    >>> check_times([1, 2.5], "The times of mine")
    array([1. , 2.5])
    """
    found = check_array(values, what, kind="number")
    check_digits(values, what)
    return found


def check_digits(values: object, what: str) -> None:
    """Check that times are told apart within a time bin of 5 ms, before they are converted.

    Times that were converted already are known by having no more digits and being equal.
    """
    given = np.asarray(values)
    given = given[np.isfinite(given)] if given.dtype.kind == "f" else np.empty(0)
    is_single = given.dtype.itemsize <= 4
    with np.errstate(over="ignore"):
        rounded = given if is_single else given.astype(np.float32)
    largest = np.abs(rounded).max(initial=0)
    apart = float(np.spacing(largest))
    if not apart > _TIME_BIN:
        return
    is_equal = len(np.unique(given)) < len(given)
    was_single = is_equal and (given == rounded).all() and (apart >= 1 or (given % 1).any())
    if is_single or was_single:
        raise ValueError(
            f"{what} are in single precision: those of {largest:.6g} s are {apart:.3g} s apart, "
            f"and time bins are {_TIME_BIN:g} s long. Save them again in double precision "
            "(float64); or subtract the beginning of the session first, and then save them."
        )


def order_in_time(times: Floats, what: str, *, is_sampled: bool = False) -> NDArray[np.intp] | None:
    """Check times, and return the order in which they ascend; None if they do.

    What is sampled has one row at a time. If its times go back and then on among earlier ones,
    they are on several clocks, which no order repairs.
    """
    check_times(times, what)
    is_back = np.diff(times) < 0
    if not is_back.any():
        return None
    order = np.argsort(times, kind="stable")
    stretch = np.append(0, np.cumsum(is_back))[order]
    if is_sampled and np.count_nonzero(np.diff(stretch)) > _AMONG_EARLIER * is_back.sum():
        row = int(np.flatnonzero(is_back)[0]) + 1
        raise ValueError(
            f"{what} go back in row {row}, from {times[row - 1]:.12g} to {times[row]:.12g} s, and "
            "on among earlier ones. Are they on several clocks, each with its own beginning? Give "
            "all on one clock, each time once."
        )
    return order


def stretches(time: Floats, longest_step: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find where each stretch of samples without a longer step begins, and where it ends."""
    cut = np.flatnonzero(np.diff(time) > longest_step) + 1
    return np.append(0, cut), np.append(cut, len(time))


def joined(intervals: ArrayLike) -> Floats:
    """Sort intervals, and join those that touch or overlap.

    Examples
    --------
    >>> joined([[5, 6], [0, 2], [1, 3]]).tolist()
    [[0.0, 3.0], [5.0, 6.0]]
    """
    pairs = np.asarray(intervals, dtype=float).reshape(-1, 2)
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    end = np.maximum.accumulate(pairs[:, 1])  # an interval may lie within a longer one before
    is_new = np.append(True, pairs[1:, 0] > end[:-1])[: len(pairs)]
    last = np.append(np.flatnonzero(is_new)[1:], len(pairs))[: is_new.sum()] - 1
    return np.stack([pairs[is_new, 0], end[last]], axis=1)


def common(one: Floats, other: Floats) -> Floats:
    """Return what two sets of joined intervals have in common.

    Examples
    --------
    >>> common(np.array([[0.0, 3.0], [5.0, 9.0]]), np.array([[2.0, 6.0]])).tolist()
    [[2.0, 3.0], [5.0, 6.0]]
    """
    begin = np.maximum(one[:, None, 0], other[None, :, 0]).ravel()
    end = np.minimum(one[:, None, 1], other[None, :, 1]).ravel()
    return np.stack([begin, end], axis=1)[end > begin]


def outside_of(intervals: ArrayLike) -> Floats:
    """Return all times outside of some intervals, as intervals.

    Examples
    --------
    >>> outside_of([[2.0, 3.0], [7.0, 9.0]]).tolist()
    [[-inf, 2.0], [3.0, 7.0], [9.0, inf]]
    """
    return np.concatenate([[-np.inf], joined(intervals).ravel(), [np.inf]]).reshape(-1, 2)


def within(intervals: Floats, begin: ArrayLike, end: ArrayLike | None = None) -> Bools:
    """Find the times, or the whole periods, that lie within one of some joined intervals.

    Examples
    --------
    >>> within(np.array([[0.0, 3.0], [5.0, 9.0]]), [1.0, 4.0, 6.0], [2.0, 6.0, 9.0]).tolist()
    [True, False, True]
    """
    first = np.asarray(begin, dtype=float)
    last = first if end is None else np.asarray(end, dtype=float)
    at = np.searchsorted(intervals[:, 0], first, side="right") - 1
    ends = np.append(intervals[:, 1], -np.inf)  # that of none, -1, is last
    return np.asarray(last <= ends[at])


def seconds_in(intervals: Floats, begin: float, end: float) -> float:
    """Return how many seconds of a period lie within joined intervals.

    Examples
    --------
    >>> seconds_in(np.array([[0.0, 3.0], [5.0, 9.0]]), 2.0, 7.0)
    3.0
    """
    return float(np.diff(common(intervals, np.array([[begin, end]])), axis=1).sum())


def tracked(time: Floats) -> Floats:
    """Find the intervals of positions, given the times of those that are known."""
    begins = np.flatnonzero(np.diff(time, prepend=-np.inf) > LONGEST_GAP)
    ends = np.append(begins[1:], len(time))[: len(begins)] - 1
    return np.stack([time[begins], time[ends]], axis=1)


class Seen(NamedTuple):
    """The cells that are observed in each of some periods."""

    # (n_periods,): the row of `cells`; -1 where none is observed throughout, or not always the same
    # ones
    number: Ints
    cells: Bools  # (n_sets, n_cells): sets of cells that are observed together

    @classmethod
    def all(cls, n_periods: int, n_cells: int) -> Seen:
        """Return that all cells are observed in each period."""
        return cls(np.zeros(n_periods, dtype=np.int64), np.ones((1, n_cells), dtype=bool))

    def only(self, cells: NDArray[np.integer]) -> Seen:
        """Return the same of some cells."""
        return Seen(self.number, self.cells[:, cells])

    def sums(self, bins: NDArray[np.integer], n_bins: int) -> Ints:
        """Count the periods in each bin for each set, shape (n_sets, n_bins); -1 is in none."""
        own = (bins >= 0) & (self.number >= 0)
        at = self.number[own] * n_bins + bins[own]
        return np.bincount(at, minlength=len(self.cells) * n_bins).reshape(-1, n_bins)

    def of_cells(self, values: ArrayLike) -> Floats:
        """Sum what there is in each set, (n_sets, ...), over the sets of each cell."""
        return np.tensordot(self.cells.astype(float), np.asarray(values), axes=(0, 0))


def check_intervals(intervals: ArrayLike, what: str) -> Floats:
    """Check intervals, which may be without an end."""
    try:
        pairs = np.asarray(intervals, dtype=float)
    except (TypeError, ValueError):
        pairs = np.empty(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not (pairs[:, 0] <= pairs[:, 1]).all():
        raise ValueError(
            f"{what} must be pairs of a begin and a later end, in s: shape (n_intervals, 2)."
        )
    return pairs


@dataclass(frozen=True, eq=False)
class Observed:
    """When spikes were observed; positions tell themselves when they were.

    Raises
    ------
    ValueError
        If intervals are not pairs of a begin and a later end.

    Examples
    --------
    A cell was lost after 60 s:

    >>> seen = Observed(cells=(np.array([[0, 60]]), np.array([[0, 90]])))
    >>> seen.throughout(2, [10, 50], [20, 70]).tolist()
    [[True, True], [False, True]]
    """

    # (n_intervals, 2): begin and end of the intervals in which brain signals were recorded, in s;
    # by default always
    spikes: Floats = field(default_factory=lambda: outside_of([]))
    # (n_intervals, 2) each: the same for each cell, within those of all; by default they are the
    # same
    cells: tuple[Floats, ...] = ()

    def __post_init__(self) -> None:
        """Sort and join intervals."""
        what = "The intervals in which all spikes were observed"
        everywhere = joined(check_intervals(self.spikes, what))
        cells = []
        for number, each in enumerate(check_list("cells", self.cells)):
            what = f"The intervals in which cell {number} was observed"
            cells.append(common(joined(check_intervals(each, what)), everywhere))
        object.__setattr__(self, "spikes", everywhere)
        object.__setattr__(self, "cells", tuple(cells))

    @property
    def is_always(self) -> bool:
        """Whether nothing says that anything was not observed."""
        return not self.cells and np.array_equal(self.spikes, outside_of([]))

    def of_cells(self, n_cells: int) -> Sequence[Floats]:
        """Return the intervals of each cell."""
        return self.cells or (self.spikes,) * n_cells

    def any_cell(self, n_cells: int) -> Floats:
        """Return the intervals in which any cell was observed, or brain signals without cells."""
        return joined(np.concatenate(self.of_cells(n_cells))) if n_cells else self.spikes

    def throughout(self, n_cells: int, begin: ArrayLike, end: ArrayLike) -> Bools:
        """Find the cells that were observed throughout each period, (n_periods, n_cells)."""
        own = [within(each, begin, end) for each in self.of_cells(n_cells)]
        return np.stack(own, axis=1) if own else np.ones((np.size(begin), 0), dtype=bool)

    def stretches(self, n_cells: int) -> tuple[Floats, Seen]:
        """Divide the time in which a cell was observed into stretches of always the same cells."""
        own = self.of_cells(n_cells)
        # Between two successive begins or ends of any cell, the same cells are observed.
        edges = np.unique(np.concatenate([self.spikes.ravel(), *map(np.ravel, own)]))
        parts = np.stack([edges[:-1], edges[1:]], axis=1)
        seen = self.throughout(n_cells, *parts.T)
        kept = seen.any(axis=1)
        sets, number = np.unique(seen[kept], axis=0, return_inverse=True)
        return parts[kept], Seen(number.reshape(-1), sets)

    def seen(self, n_cells: int, begin: Floats, end: Floats) -> Seen:
        """Find the cells that were observed in each of many short periods."""
        parts, (number, cells) = self.stretches(n_cells)
        at = np.searchsorted(parts[:, 0], begin, side="right") - 1
        is_whole = end <= np.append(parts[:, 1], -np.inf)[at]
        return Seen(np.where(is_whole, np.append(number, -1)[at], -1), cells)


def with_spikes(
    spikes: Sequence[Floats], valid: Floats, intervals: Sequence[Floats]
) -> tuple[Observed, tuple[Floats, ...], list[str]]:
    """Return when spikes were observed, those that lie there, and phrases on the others.

    `valid` are the intervals of all data, and `intervals` those of each cell, if there are any.
    """
    told = []
    if intervals:
        own = zip(intervals, spikes, strict=True)
        n_outside = sum(int((~within(joined(each), times)).sum()) for each, times in own)
        if n_outside > _MOST_OUTSIDE * sum(map(len, spikes)):
            told.append(
                "the intervals in which cells were observed do not fit their spikes, of which "
                f"{n_outside:,} lie outside, and are not used: are both in s, on one clock?"
            )
            intervals = []
    # The same for all cells is when the recording was on, not when each of them was there.
    if intervals and all(np.array_equal(each, intervals[0]) for each in intervals):
        observed = Observed(common(joined(intervals[0]), joined(valid)))
    else:
        observed = Observed(valid, tuple(intervals))
    cells = zip(observed.of_cells(len(spikes)), spikes, strict=True)
    kept = tuple(times[within(each, times)] for each, times in cells)
    n_lost = sum(map(len, spikes)) - sum(map(len, kept))
    if n_lost:
        words = ("its cell was", "is") if n_lost == 1 else ("their cells were", "are")
        told.append(
            f"{n_lost:,} spike{'s' * (n_lost != 1)} outside of the times in which {words[0]} "
            f"observed {words[1]} left out"
        )
    return observed, kept, told
