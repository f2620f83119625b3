"""Parts of the log of a long run: blocks of steps that are read in turn, and windows of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from replay.checks.arrays import Ints
from replay.log.event_log import EventLog

STEPS_PER_BLOCK = 1 << 18
"""Largest number of steps in a block."""


@dataclass(frozen=True, eq=False)
class LogBlock:
    """Part of the log of a run: consecutive steps, with all their backups."""

    # The rows as the loop and the learner wrote them: faster to read than `log`.
    steps: NDArray[np.void]
    backups: NDArray[np.void]
    # Its first step, and the row of its first backup, counted over the run as in `cause`.
    first_step: int
    first_row: int
    # (n_causes,): rows of the backups so far that later ones may name as their cause,
    # ascending.
    causes: Ints
    make_log: Callable[[], EventLog]  # makes `log` from the rows

    @property
    def n_backups(self) -> int:
        """Number of backups in it."""
        return len(self.backups)

    @cached_property
    def log(self) -> EventLog:
        """The block as a log; episodes, steps, events and causes are counted over the run."""
        return self.make_log()


@lru_cache
def window_ends(n_steps: int, n_windows: int) -> Ints:
    """Divide the steps of a run into adjacent windows; the array is read-only.

    There is at most one window per step; a window ends before the step that is returned for it.
    """
    ends = np.array([k * n_steps // n_windows for k in range(1, n_windows + 1)], dtype=np.int64)
    ends.setflags(write=False)
    return ends
