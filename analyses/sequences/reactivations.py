"""Reactivations: one place active at one moment of a replay event, in a model or in a rat.

A model reactivates places by its backups, in order of execution: a backup that joins the one before
adds the place by which it continues it. A backup that does not join reactivates both of its states,
in the orientation of its temporal chain (see :mod:`analyses.sequences.chains`); a backup of staying
in a state reactivates that state. Places that were decoded, or emitted by a model without backups,
are listed as they are. A place that stays active is one reactivation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.chains import decoded_paths
from analyses.sequences.logs import Columns, of_run, rows_by_run, runs_of
from replay.checks import check_table, shown
from replay.checks.arrays import Int32s, Ints
from replay.jit import kernel
from replay.log.event_log import EventLog
from replay.log.schema import to_frame

_WHEN = ("run", "episode", "step", "time", "phase", "event")
_MOVE = ("event", "state", "next_state", "action")


def reactivations(log: EventLog, paths: pd.DataFrame | None = None) -> pd.DataFrame:
    """List the reactivated places in the order of reactivation."""
    parts = [columns for _, columns in reactivations_by_run(log, paths)]
    return to_frame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def reactivations_by_run(
    log: EventLog, paths: pd.DataFrame | None = None
) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    """Yield the reactivations of each run."""
    if paths is None:
        for run in runs_of(log):
            yield run, reactivated_by(of_run(log, "backups", run))
        return
    check_table(paths, ["states"], "paths")
    for run, rows in rows_by_run(log, paths):
        own = paths.iloc[rows].assign(event=rows, run=run)
        each, states = decoded_paths(own, of_run(log, "steps", run))
        if "along" in own:
            headings = [np.empty(0, dtype=np.int8)]
            given = zip(rows, own["along"], states.length.tolist(), strict=True)
            for row, values, n in given:
                along = np.full(1, np.nan)
                with suppress(TypeError, ValueError):  # what is no list of numbers
                    along = np.asarray(values, dtype=float)
                if along.shape != (n,) or not np.isin(along, (-1, 0, 1)).all():
                    raise ValueError(
                        "The column 'along' of paths must have a number for each of the states: 1 "
                        "if the heading that is represented is the direction of travel, -1 if it "
                        f"is the opposite, 0 if it is unknown. Row {row} has {n} states and "
                        f"{shown(values)}."
                    )
                headings.append(along.astype(np.int8))
            each["along"] = np.concatenate(headings)
        yield run, _merged(each, states.owner, states.flat)


def reactivated_by(backups: Columns) -> dict[str, NDArray[Any]]:
    """List the places that the backups of one run reactivate."""
    n = len(backups["event"])
    rows, place = np.empty(2 * n, dtype=np.int64), np.empty(2 * n, dtype=np.int32)
    event, state, next_state, action = (backups[name] for name in _MOVE)
    n_places = _walk(event, state, next_state, action, rows, place)
    return _merged(backups, rows[:n_places], place[:n_places])


@kernel
def _walk(
    event: Ints, state: Int32s, next_state: Int32s, action: Int32s, rows: Ints, place: Int32s
) -> int:
    """Write the places of each temporal chain in its orientation; return the number of places.

    A chain keeps one orientation, as in `link_backups`; backups that fit both are read in reverse.
    """
    n_places, begin = 0, 0
    while begin < len(event):
        if event[begin] < 0:
            begin += 1
            continue
        if state[begin] == next_state[begin]:
            rows[n_places], place[n_places] = begin, state[begin]
            n_places += 1
            begin += 1
            continue
        decoded = action[begin] < 0
        forward, reverse, end = True, not decoded, begin + 1
        while end < len(event) and event[end] == event[begin] and state[end] != next_state[end]:
            ahead = forward and state[end] == next_state[end - 1]
            back = reverse and next_state[end] == state[end - 1]
            if (action[end] < 0) != decoded or not (ahead or back):
                break
            forward, reverse, end = ahead, back, end + 1
        rows[n_places] = begin
        place[n_places] = next_state[begin] if reverse else state[begin]
        n_places += 1
        for row in range(begin, end):
            rows[n_places] = row
            place[n_places] = state[row] if reverse else next_state[row]
            n_places += 1
        begin = end
    return n_places


def _merged(each: Columns, rows: Ints, place: Int32s) -> dict[str, Any]:
    """Merge successive equal places into one reactivation, and number these in each event."""
    begins = np.diff(each["event"][rows], prepend=-1) != 0
    kept = begins | (np.diff(place, prepend=-1) != 0)
    # A path is an event of its own, and has one heading for each place.
    headings = {"along": each["along"][kept]} if "along" in each else {}
    rows, first = rows[kept], np.flatnonzero(begins[kept])
    n_before = np.repeat(first, np.diff(first, append=len(rows)))
    return {
        **{name: each[name][rows] for name in _WHEN},
        **headings,
        "index": (np.arange(len(rows)) - n_before).astype(np.int32),
        "place": place[kept],
        "location": each["location"][rows],
    }
