"""Parts of a run that come one after the other: blocks of its log, windows of its steps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.log.event_log import EventLog

__all__ = ["STEPS_PER_BLOCK", "LogBlock", "window_ends"]

STEPS_PER_BLOCK = 1 << 18
"""Steps of a block, at most."""


class LogBlock(NamedTuple):
    """Part of the log of a run: some steps, with all backups made in them.

    Attributes
    ----------
    log : EventLog
        The part. Episodes, steps, events and causes are counted over the run.
    n_backups : int
        How many backups it holds.
    first_row : int
        How many backups came before, as causes count them.
    causes : ndarray of int64, shape (n_causes,)
        The backups until now that later ones may name as their cause, counted likewise; ascending.
    """

    log: EventLog
    n_backups: int
    first_row: int
    causes: NDArray[np.int64]


def window_ends(n_steps: int, n_windows: int) -> NDArray[np.int64]:
    """Cut the steps of a run into adjacent windows.

    Parameters
    ----------
    n_steps : int
        How many there are.
    n_windows : int
        How many windows to make of them, at most one a step.

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
