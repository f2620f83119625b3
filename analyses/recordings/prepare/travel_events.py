"""Candidate events that are found by their travel, in all quiet time, be there a burst or not.

All times at which the animal is not known to be fast are decoded. An event is a stretch in which
travel is more probable than not, with some time before and after it. Such events are found in noise
as well, so they cannot be compared with the same times after an exchange of cells, which were not
chosen for their travel: the whole search is done again after each of some exchanges, and what it
finds there tells what is found by chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.marks import exchanged
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.likelihood import count_spikes, log_likelihood
from analyses.recordings.prepare.travel import Travel, stretches_of, travel_posterior

__all__ = ["N_SEARCHES", "exchanged_spikes", "travel_events"]

N_SEARCHES = 3
"""Number of exchanges of cells after which the search is done again: one differs from another."""

_LEAST, _AROUND = 0.04, 0.06  # s, of travel, and before and after it
_LEAST_ACTIVE = 4  # cells
_PIECE, _CONTEXT = 5.0, 0.5  # s that are decoded at once, and around them
_SEED = 20211004


def exchanged_spikes(
    spikes: Sequence[NDArray[np.float64]], electrode: NDArray[np.int64], number: int
) -> list[NDArray[np.float64]]:
    """Give the spikes of each cell to another one, and those of an electrode to another one."""
    into = exchanged(electrode, np.random.default_rng([_SEED, number]))
    nothing = np.empty(0)
    return [
        np.sort(
            np.concatenate(
                [nothing, *(spikes[own] for own in np.flatnonzero(into == cell).tolist())]
            )
        )
        for cell in range(len(spikes))
    ]


def travel_events(
    spikes: Sequence[NDArray[np.float64]],
    rates: NDArray[np.float64],
    model: Travel,
    quiet: NDArray[np.float64],
    settings: Settings,
) -> pd.DataFrame:
    """Find events in all stretches of quiet time: `start_time, end_time` (s)."""
    dt = settings.time_bin
    found: list[tuple[float, float]] = []
    for begin, end in quiet.tolist():
        for first in np.arange(begin, end - dt / 2, _PIECE).tolist():
            last = min(first + _PIECE, end)
            before = min(round(_CONTEXT / dt), round((first - begin) / dt))
            earliest = first - before * dt
            [counts] = count_spikes(spikes, [earliest], [min(last + _CONTEXT, end)], dt)
            if np.count_nonzero(counts.sum(axis=0)) < _LEAST_ACTIVE:
                continue
            likelihoods = log_likelihood(counts, rates, dt)
            for each in stretches_of(travel_posterior(likelihoods, model), model):
                active = np.count_nonzero(counts[each.first : each.last].sum(axis=0))
                # What begins in another piece is found there.
                own = before <= each.first < before + round((last - first) / dt)
                if own and active >= _LEAST_ACTIVE and (each.last - each.first) * dt >= _LEAST:
                    start = max(earliest + each.first * dt - _AROUND, begin)
                    stop = min(earliest + each.last * dt + _AROUND, end)
                    if found and start < found[-1][1]:
                        start = found.pop()[0]
                    found.append((start, stop))
    return pd.DataFrame(found, columns=["start_time", "end_time"], dtype=float)
