"""Candidate events from the decoded posterior, bottom-up: wherever the population moves [1]_.

All times at which the animal is not known to be fast are decoded. An event is a period in which
continuous movement has a probability of more than .8, whatever the rate of all cells. Such events
are found in noise as well, so they cannot be compared with the same times after an exchange of
cells, which were not chosen for their movement: the whole search is done again in the recording
after an exchange, and what it finds there tells what passes by chance.

References
----------
.. [1] Denovellis et al. (2021), Hippocampal replay of experience at real-world speeds.
   https://doi.org/10.7554/eLife.64505
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.marks import exchanged
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.detection import find_events
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.spike_counts import count_spikes
from analyses.recordings.prepare.state_space_decoder import CONTINUOUS, Walk, state_posterior

__all__ = ["decoded_events", "exchanged_spikes"]

_LEAST = 0.8  # probability of continuous movement
_PIECE, _CONTEXT = 30.0, 1.0  # s that are decoded at once, and around them
_SEED = 20211004


def exchanged_spikes(
    spikes: Sequence[NDArray[np.float64]], electrode: NDArray[np.int64]
) -> list[NDArray[np.float64]]:
    """Give the spikes of each cell to another one, and those of an electrode to another one."""
    into = exchanged(electrode, np.random.default_rng(_SEED))
    nothing = np.empty(0)
    return [
        np.sort(
            np.concatenate(
                [nothing, *(spikes[own] for own in np.flatnonzero(into == cell).tolist())]
            )
        )
        for cell in range(len(spikes))
    ]


def decoded_events(
    spikes: Sequence[NDArray[np.float64]],
    rates: NDArray[np.float64],
    walk: Walk,
    stretches: NDArray[np.float64],
    observed: NDArray[np.float64],
    settings: Settings,
) -> pd.DataFrame:
    """Find events in all stretches of time: `start_time, end_time` (s).

    `rates` are those of the states that are decoded, shape (n_cells, n_states). Each stretch lies
    within one of the intervals in which the cells were `observed`.
    """
    dt = settings.time_bin
    criteria = settings.criteria._replace(threshold=1e-9)
    found = [pd.DataFrame({"start_time": [], "end_time": []}, dtype=float)]
    last = observed[np.searchsorted(observed[:, 0], stretches[:, 0], side="right") - 1, 1]
    for (begin, end), latest in zip(stretches.tolist(), last.tolist(), strict=True):
        time = begin + (np.arange(int((end - begin) / dt + 1e-6)) + 0.5) * dt
        continuous = np.concatenate(
            [
                _continuous(
                    spikes, rates, walk, first, min(first + _PIECE, end), (begin, latest), dt
                )
                for first in np.arange(begin, end - dt / 2, _PIECE).tolist()
            ]
        )[: len(time)]
        each = find_events(time[: len(continuous)], continuous, None, criteria, scale=(_LEAST, 1.0))
        each["end_time"] += dt / 2
        each["start_time"] -= dt / 2
        found.append(each[["start_time", "end_time"]])
    return pd.concat(found, ignore_index=True)


def _continuous(
    spikes: Sequence[NDArray[np.float64]],
    rates: NDArray[np.float64],
    walk: Walk,
    begin: float,
    end: float,
    limits: tuple[float, float],
    dt: float,
) -> NDArray[np.float64]:
    """Decode the probability of continuous movement, with what comes before and after."""
    earliest, latest = limits
    before = min(round(_CONTEXT / dt), round((begin - earliest) / dt))
    first = begin - before * dt
    [counts] = count_spikes(spikes, [first], [min(end + _CONTEXT, latest)], dt)
    posterior, _ = state_posterior(log_likelihood(counts, rates, dt), walk)
    n_time = int((end - begin) / dt + 1e-6)
    probability: NDArray[np.float64] = posterior[:, CONTINUOUS].sum(axis=1)
    return probability[before : before + n_time]
