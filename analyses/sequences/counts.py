"""Counts of each kind of replay, made while a run is in progress.

A run hands over its log in blocks. The backups of each block are linked to chains, classified and
discarded. Only the counts are kept, the backups that later ones may still continue, and the index
of experience, which grows with the moves made up to the last replay.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.experience import Experience
from analyses.sequences.growing import ChainKinds, GrowingChains
from analyses.tables import KINDS
from replay.jit import kernel
from replay.log.blocks import LogBlock, window_ends
from replay.log.event_log import EventLog

__all__ = ["CHAINS", "ReplayCounts"]

CHAINS = ("within_event", "across_events")
"""How chains are counted: within each replay event, or along causes across events."""

_MIN_LENGTH = 3
_MOST_WAITING = 4
_NO_STEPS = {name: np.empty(0, np.int64) for name in ("episode", "step", "state", "next_state")}
_NO_BACKUPS = {
    name: np.empty(0, np.int64)
    for name in ("event", "step", "state", "next_state", "action", "cause")
}


class ReplayCounts:
    """Counts of the kinds of causal chains in each window of a run.

    Parameters
    ----------
    n_steps : int
        Number of steps of the run.
    n_windows : int
        Number of windows into which these steps are divided.

    Attributes
    ----------
    counts : ndarray of int64, shape (n_windows, len(CHAINS), len(KINDS))
        Number of chains of at least 3 states whose first backup is in each window, for each way of
        counting chains and each kind.
    n_backups : int
        Number of backups so far.
    experience : Experience
        The moves that were made, at least up to the last replay.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> from replay.simulation import simulate
    >>> counts = ReplayCounts(1000, 2)
    >>> run = simulate(from_ascii("S..G"), "episodic_control", n_steps=1000, on_block=counts.add)
    >>> within_event = counts.counts[:, CHAINS.index("within_event")].sum(axis=0)
    >>> dict(zip(KINDS, (within_event > 0).tolist()))["reverse_episode"]
    True
    """

    def __init__(self, n_steps: int, n_windows: int) -> None:
        self.n_backups = 0
        self._window_ends = window_ends(n_steps, n_windows)
        self.experience = Experience(_NO_STEPS)
        self._waiting: deque[tuple[EventLog, int]] = deque()
        self._chains = [GrowingChains(across_events=chains == "across_events") for chains in CHAINS]
        self.counts = np.zeros((n_windows, len(CHAINS), len(KINDS)), dtype=np.int64)

    def add(self, block: LogBlock) -> None:
        """Count the chains of the next block.

        Parameters
        ----------
        block : LogBlock
            As `simulate` hands it over.

        Raises
        ------
        ValueError
            If a cause is not an earlier backup, or one that could no longer be a cause.
        OSError
            If the index of experience is so large that it is kept on disk, and the disk is full.
        """
        self.n_backups += block.n_backups
        self._waiting.append((block.log, 0))
        backups = _NO_BACKUPS
        if block.n_backups:
            backups = block.log.columns("backups")
            self._learn(until=int(backups["step"].max()))
        elif len(self._waiting) > _MOST_WAITING:
            self._learn()
        for number, chains in enumerate(self._chains):
            if block.n_backups or chains.n_open:
                kinds = chains.extend(self.experience, backups, block.first_row, block.causes)
                _count(kinds, _MIN_LENGTH, self._window_ends, self.counts[:, number])

    def _learn(self, until: int | None = None) -> None:
        """Add the waiting steps to the index; those after the last replay can wait."""
        while self._waiting:
            log, n_taken = self._waiting.popleft()
            steps = log.columns("steps")
            n = len(steps["step"])
            if until is not None:
                n = min(n, until + 1 - int(steps["step"][0]))
            self.experience.extend({name: steps[name][n_taken:n] for name in _NO_STEPS})
            if n < len(steps["step"]):
                self._waiting.append((log, n))
                return


@kernel
def _count(
    kinds: ChainKinds,
    min_length: int,
    window_ends: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    for chain in range(len(kinds.step)):
        if kinds.length[chain] >= min_length:
            window = np.searchsorted(window_ends, kinds.step[chain], side="right")
            counts[window, kinds.kind[chain]] += 1
