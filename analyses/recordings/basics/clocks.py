"""Times of a recording: the checks that stand at every entry, whatever has these times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replay.checks import check_array

__all__ = ["check_digits", "check_times", "order_in_time", "stretches"]

_TIME_BIN = 0.005  # s
_AMONG_EARLIER = 10  # changes between stretches for each step back: rows in any order have 2


def check_times(values: object, what: str) -> NDArray[np.float64]:
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


def order_in_time(
    times: NDArray[np.float64], what: str, *, is_sampled: bool = False
) -> NDArray[np.intp] | None:
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


def stretches(
    time: NDArray[np.float64], longest_step: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find where each stretch of samples without a longer step begins, and where it ends."""
    cut = np.flatnonzero(np.diff(time) > longest_step) + 1
    return np.append(0, cut), np.append(cut, len(time))
