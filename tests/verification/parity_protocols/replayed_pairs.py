"""Pairs of experiences that are reactivated one after the other, by the rule of [1]_.

A pair is forward if the first experience leads to the state in which the second begins, reverse if
the second leads to the state in which the first began, and unordered otherwise.

References
----------
.. [1] Diekmann & Cheng (2023), A model of hippocampal replay driven by experience and environmental
   structure facilitates spatial learning. https://doi.org/10.7554/eLife.82301
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from replay.log.event_log import EventLog

__all__ = ["ReplayedSteps", "mean_directionality", "replayed_steps"]

ReplayedSteps = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""For each replay, the states in which its experiences begin, and those to which they lead."""


def mean_directionality(replays: ReplayedSteps, n_replays: int) -> float:
    """Compute the number of forward pairs minus that of reverse pairs, per replay.

    `n_replays` includes empty replays.

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
    """List the replays of SFMA in the pauses of one phase, in order.

    For each, the states in which its experiences begin, and those to which they lead.
    """
    rows = log.backups
    rows = rows[rows["phase"] == phase]
    cuts = np.flatnonzero(rows["pop"].to_numpy() == 0)[1:]
    state, next_state = rows["state"].to_numpy(), rows["next_state"].to_numpy()
    return list(zip(np.split(state, cuts), np.split(next_state, cuts), strict=True))
