"""Counts of each kind of replay, made while a run is in progress.

A run hands over its log in blocks. The backups of each block are linked to chains, classified and
discarded. Only the counts are kept, the backups that later ones may still continue, and the index
of experience, which grows with the moves made up to the last replay. For learners that only run the
last episode backwards, none is made.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.experience import Experience
from analyses.sequences.growing import ACROSS, WITHIN, ChainKinds, GrowingChains
from analyses.sequences.run_backwards import run_back
from analyses.tables import KINDS
from replay.checks import check_whole
from replay.checks.arrays import Ints
from replay.jit import count_up_to, kernel, loop_kernel
from replay.log.backups import uninitialised
from replay.log.blocks import LogBlock, window_ends

CHAINS = ("within_event", "across_events")
"""How chains are counted: within each replay event, or along causes across events."""

_MIN_LENGTH = 3
_MOST_WAITING = 1 << 20  # steps


class ReplayCounts:
    """Count the kinds of causal chains of at least 3 states in each window of a run.

    `counts` has the shape (n_windows, len(CHAINS), len(KINDS)); a chain is in the window of its
    first backup. `n_backups` counts the backups so far.
    """

    def __init__(self, n_steps: int, n_windows: int) -> None:
        check_whole("n_steps", n_steps, at_least=1)
        check_whole("n_windows", n_windows, at_least=1, at_most=n_steps)
        self.n_backups = 0
        self._window_ends = window_ends(n_steps, n_windows)
        self._waiting: deque[tuple[NDArray[np.void], int]] = deque()
        self._unfinished: list[NDArray[np.void]] = []
        self._runs_back = True
        self._chains = GrowingChains()
        self.counts = np.zeros((n_windows, len(CHAINS), len(KINDS)), dtype=np.int64)

    @property
    def experience(self) -> Experience:
        """The moves made so far."""
        self._learn()
        return self._experience

    @cached_property
    def _experience(self) -> Experience:
        return Experience()

    def add(self, block: LogBlock) -> None:
        """Count the chains of the next block."""
        self.n_backups += block.n_backups
        self._waiting.append((block.steps, block.first_step))
        if block.n_backups or self._chains.n_open:
            kinds = None
            if self._runs_back and not len(block.causes):
                pieces = (block.steps[:0], *self._unfinished)
                before = uninitialised(sum(map(len, pieces)), block.steps.dtype)
                np.concatenate(pieces, out=before)
                kinds = run_back(block, before)
            if kinds is None:
                self._runs_back, self._unfinished = False, []
                if block.n_backups:
                    self._learn(until=int(block.backups["step"][-1]))
                kinds = self._chains.extend(
                    self._experience, block.backups, None, block.first_row, block.causes
                )
            _count(kinds, self._window_ends, self.counts)
        if self._runs_back:
            # The steps of the episode in progress, unless there are very many.
            n = _count_unfinished(block.steps)
            if n < len(block.steps) or sum(map(len, self._unfinished)) + n > _MOST_WAITING:
                self._unfinished.clear()
            self._unfinished.append(block.steps[len(block.steps) - n :])
        if sum(len(rows) for rows, _ in self._waiting) > _MOST_WAITING:
            self._learn()

    def _learn(self, until: int | None = None) -> None:
        """Add the waiting steps to the index; those after the last replay can wait."""
        while self._waiting:
            rows, first_step = self._waiting.popleft()
            n = len(rows) if until is None else min(len(rows), until + 1 - first_step)
            self._experience.extend_rows(rows[:n], first_step)
            if n < len(rows):
                self._waiting.appendleft((rows[n:], first_step + n))
                return


@kernel
def _count_unfinished(steps: NDArray[np.void]) -> int:
    """Count the last steps, those of the episode in progress."""
    for n in range(len(steps)):
        step = steps[len(steps) - 1 - n]
        if step["terminated"] or step["truncated"]:
            return n
    return len(steps)


@loop_kernel
def _count(kinds: ChainKinds, window_ends: Ints, counts: Ints) -> None:
    begin, end, window = 0, 0, -1
    for chain in range(len(kinds.step)):
        if kinds.length[chain] < _MIN_LENGTH:
            continue
        step = kinds.step[chain]
        if not begin <= step < end:  # most chains begin in the window of the one before
            window = count_up_to(window_ends, step)
            begin = window_ends[window - 1] if window > 0 else -1
            end = window_ends[window]
        counts[window, 0, kinds.kind[chain]] += kinds.scope[chain] & WITHIN > 0
        counts[window, 1, kinds.kind[chain]] += kinds.scope[chain] & ACROSS > 0
