"""The kinds of the chains of learners that run the last episode backwards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.growing import ACROSS, WITHIN, ChainKinds
from analyses.sequences.kinds import AMBIGUOUS, REVERSE_EPISODE
from replay.jit import inlined, loop_kernel
from replay.log.backups import STEP
from replay.log.blocks import LogBlock


def run_back(block: LogBlock, unfinished: NDArray[np.void]) -> ChainKinds | None:
    """Classify the chains of a block in which each event is the last episode run backwards.

    To know such chains takes no index of experience: each is a contiguous piece of the episode that
    just ended, or of the one in progress, whose steps are in this block or, before it, in
    `unfinished`. Returns None if any backup is something else.
    """
    kinds = ChainKinds.room(block.n_backups)
    n_chains = _run_back(
        block.backups, block.first_row, block.steps, block.first_step, unfinished, kinds
    )
    return None if n_chains < 0 else kinds.only(slice(n_chains))


@inlined
def _is_bump(row: Any) -> bool:
    is_bump: bool = row["state"] == row["next_state"]
    return is_bump


@loop_kernel
def _run_back(
    backups: NDArray[np.void],
    first_row: int,
    steps: NDArray[np.void],
    first_step: int,
    unfinished: NDArray[np.void],
    kinds: ChainKinds,
) -> int:
    """Compare each backup with the move before the one of the last; return -1 at a difference."""
    n_chains, before, place, newest, length, fits_forward = 0, -1, 0, 0, 0, False
    step, phase = -1, -1
    for i in range(len(backups)):
        row = backups[i]
        state, next_state = row["state"], row["next_state"]
        if row["phase"] < STEP or row["action"] < 0 or row["step"] < first_step:
            return -1
        if row["step"] != step or row["phase"] != phase:
            step, phase = row["step"], row["phase"]
            newest = step - first_step
            before, place = -1, newest + 1
        if _is_bump(row):
            continue
        cause = row["cause"] - first_row if row["cause"] >= 0 else -1
        if before >= 0 and cause == before:
            length += 1
            fits_forward = fits_forward and state == backups[before]["next_state"]
        else:
            if row["cause"] >= 0 and not (0 <= cause < i and _is_bump(backups[cause])):
                return -1
            length, fits_forward = 2, True
            kinds.step[n_chains] = step
            kinds.scope[n_chains] = WITHIN | ACROSS
            n_chains += 1
        kinds.length[n_chains - 1] = length
        kinds.kind[n_chains - 1] = AMBIGUOUS if fits_forward and length > 2 else REVERSE_EPISODE
        before = i
        while True:  # back to the next step that was no bump
            place -= 1
            if place + len(unfinished) < 0:
                return -1
            made = steps[place] if place >= 0 else unfinished[place + len(unfinished)]
            if place < newest and (made["terminated"] or made["truncated"]):
                return -1
            if not _is_bump(made):
                break
        if made["state"] != state or made["next_state"] != next_state:
            return -1
    return n_chains
