"""The replay of one animal in pauses: its backups, and the places that they reactivate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.reactivations import reactivated_by, reactivations_by_run
from analyses.sequences.runs import Columns
from replay.jit import kernel
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

__all__ = ["PAUSES", "backups_in_pauses", "reactivated_in_pauses"]

PAUSES = ("start", "episode_end", "rest")
"""The phases in which an animal pauses; replay during a lap is not counted."""

_IS_PAUSE = np.isin(PHASES, PAUSES)

_CAUSED = ("event", "pop", "state", "next_state", "cause", "phase")


def reactivated_in_pauses(log: EventLog, paths: pd.DataFrame | None) -> Columns:
    """List the places that one animal reactivated in pauses.

    `paths`, decoded or generated replay as in :func:`analyses.place_sequences`, counts instead of
    the log's backups. The columns are those of `analyses.sequences.reactivations`.
    """
    if paths is None:
        return reactivated_by(backups_in_pauses(log.columns("backups")))
    [(_, places)] = reactivations_by_run(log, paths)
    kept = _IS_PAUSE[places["phase"]]
    return {name: values[kept] for name, values in places.items()}


def backups_in_pauses(backups: Columns) -> dict[str, NDArray[Any]]:
    """Leave out replay during laps, and what an n-step backup repeats.

    Chains do not continue from one pause to the next.

    In the columns that are returned, `cause` is a row among the backups that are kept.
    """
    n = len(backups["event"])
    rows, cause = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    event, pop, state, next_state, own_cause, phase = (backups[name] for name in _CAUSED)
    n_kept = _keep(event, pop, state, next_state, own_cause, phase, _IS_PAUSE, rows, cause)
    rows = rows[:n_kept]
    kept = {name: values[rows] for name, values in backups.items() if name != "cause"}
    return {**kept, "cause": cause[:n_kept]}


@kernel
def _keep(
    event: NDArray[np.int64],
    pop: NDArray[np.int32],
    state: NDArray[np.int32],
    next_state: NDArray[np.int32],
    cause: NDArray[np.int64],
    phase: NDArray[np.int8],
    is_pause: NDArray[np.bool_],
    rows: NDArray[np.int64],
    causes: NDArray[np.int64],
) -> int:
    """Write the rows that count and their causes among them; return their number.

    If a pop repeats the previous one and adds a step, only its last row counts, which continues
    from the row before it.
    """
    n_kept, begin, before = 0, 0, -1
    number = np.full(len(event), -1)
    while begin < len(event):
        end = begin + 1
        while end < len(event) and event[end] == event[begin] and pop[end] == pop[begin]:
            end += 1
        # Rows begin:end are a pop, and before:begin the previous one, whose moves it must repeat
        # one by one, before a last move that is new.
        grows = before >= 0 and end - begin == begin - before + 1
        for row in range(begin, end):
            if grows and row < end - 1:
                other = before + row - begin
                grows = (
                    event[row] == event[other]
                    and state[row] == state[other]
                    and next_state[row] == next_state[other]
                )
            grows &= row == begin or cause[row] == row - 1
        for row in range(begin, end):
            if not is_pause[phase[row]] or (grows and row < end - 1):
                continue
            causes[n_kept] = -1
            if grows:
                causes[n_kept] = n_kept - 1
            elif 0 <= cause[row] < row:
                causes[n_kept] = number[cause[row]]
            number[row] = n_kept
            rows[n_kept] = row
            n_kept += 1
        before, begin = begin, end
    return n_kept
