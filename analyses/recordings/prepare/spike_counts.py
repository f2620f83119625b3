"""Spike counts in the time bins of events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replay.checks import check_array, check_number

__all__ = ["count_spikes"]


def count_spikes(
    spikes: Sequence[ArrayLike], start: ArrayLike, end: ArrayLike, dt: float
) -> list[NDArray[np.int64]]:
    """Count the spikes of each cell in the time bins of each event, (n_time, n_cells) each.

    Times and `dt` are in s; what is left of an event after its last whole time bin does not count.

    Examples
    --------
    >>> [counts.tolist() for counts in count_spikes([[0.01, 0.05], [0.03]], [0.0], [0.06], 0.02)]
    [[[1, 0], [0, 1], [1, 0]]]
    """
    width = check_number("dt", dt, at_least=1e-9, hint="It is the length of a time bin in s.")
    first, last = (
        check_array(each, name, kind="number") for each, name in ((start, "start"), (end, "end"))
    )
    if len(first) != len(last) or (last < first).any():
        raise ValueError("Each event must have one start, and one end that is not before it.")
    n_bins = np.floor((last - first) / width + 1e-9).astype(np.int64)
    offset = np.append(0, np.cumsum(n_bins + 1))
    number = np.arange(offset[-1]) - np.repeat(offset[:-1], n_bins + 1)
    edges = np.repeat(first, n_bins + 1) + number * width
    below = np.stack([np.searchsorted(np.asarray(each, dtype=float), edges) for each in spikes], 1)
    return [np.diff(part, axis=0) for part in np.split(below, offset[1:-1])]
