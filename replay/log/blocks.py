"""Consecutive parts of a run: blocks of its log, windows of its steps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.log.event_log import EventLog

__all__ = ["STEPS_PER_BLOCK", "LogBlock", "window_ends"]

STEPS_PER_BLOCK = 1 << 18
"""Largest number of steps in a block."""


class LogBlock(NamedTuple):
    """Part of the log of a run: consecutive steps, with all their backups.

    Attributes
    ----------
    log : EventLog
        This part of the log. Episodes, steps, events and causes are counted over the run.
    n_backups : int
        Number of backups in it.
    first_row : int
        Row of its first backup, counted over the run as in `cause`.
    causes : ndarray of int64, shape (n_causes,)
        Rows of the backups so far that later ones may name as their cause, ascending.
    """

    log: EventLog
    n_backups: int
    first_row: int
    causes: NDArray[np.int64]


def window_ends(n_steps: int, n_windows: int) -> NDArray[np.int64]:
    """Divide the steps of a run into adjacent windows.

    Parameters
    ----------
    n_steps : int
        Number of steps.
    n_windows : int
        Number of windows, at most one per step.

    Returns
    -------
    ndarray of int64, shape (n_windows,)
        The step at which each window ends.

    Examples
    --------
    >>> window_ends(10, 3).tolist()
    [3, 6, 10]
    """
    return np.array([k * n_steps // n_windows for k in range(1, n_windows + 1)], dtype=np.int64)
