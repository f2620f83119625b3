"""Pairs of experiences that are reactivated one after the other, by Diekmann & Cheng's (2023) rule.

A pair goes forward if the first one leads to where the second one begins, in reverse if the second
one leads to where the first one began, and is unordered otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from replay.log.event_log import EventLog

__all__ = ["ReplayedSteps", "mean_directionality", "replayed_steps"]

ReplayedSteps = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Of each replay: where its experiences begin, and where they lead."""


def mean_directionality(replays: ReplayedSteps, n_replays: int) -> float:
    """Give the number of forward pairs minus that of reverse ones, per replay.

    Parameters
    ----------
    replays : list of (ndarray, ndarray)
        Of each replay that has experiences: where these begin, and where they lead.
    n_replays : int
        How many replays there were, empty ones included.

    Returns
    -------
    float

    Examples
    --------
    >>> mean_directionality([(np.array([0, 1, 0]), np.array([1, 2, 1]))], 1)
    0.0
    """
    total = 0
    for state, next_state in replays:
        forward = state[1:] == next_state[:-1]
        reverse = ~forward & (next_state[1:] == state[:-1])
        total += int(forward.sum()) - int(reverse.sum())
    return total / n_replays


def replayed_steps(log: EventLog, phase: str) -> ReplayedSteps:
    """Give the replays of SFMA in pauses of one phase, in order.

    Parameters
    ----------
    log : EventLog
        Of one run.
    phase : str
        As logs name it.

    Returns
    -------
    list of (ndarray, ndarray)
        Where the experiences begin, and where they lead.
    """
    rows = log.backups
    rows = rows[rows["phase"] == phase]
    cuts = np.flatnonzero(rows["pop"].to_numpy() == 0)[1:]
    state, next_state = rows["state"].to_numpy(), rows["next_state"].to_numpy()
    return list(zip(np.split(state, cuts), np.split(next_state, cuts), strict=True))
