"""Reactivations: one place active at one moment of a replay event, in a model or in a rat.

A model reactivates places by its backups, in order of execution: each adds the place at which it
continues the one before. One that doesn't join the one before reactivates both of its states, in
the order in which the model walked them (as its temporal chain, see
:mod:`analyses.sequences.chains`); one of staying in a state reactivates that state. Places that
were decoded, or that a generator emits without any backup, are listed as they are. A place that
stays active is one reactivation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.chains import REVERSE, chains, decoded_paths, link_backups
from analyses.sequences.runs import Columns, of_run, rows_by_run, runs_of
from replay.checks import check_table
from replay.log.event_log import EventLog
from replay.log.schema import to_frame

__all__ = ["reactivations", "reactivations_by_run"]

_WHEN = ("run", "episode", "step", "time", "phase", "event")


def reactivations(log: EventLog, paths: pd.DataFrame | None = None) -> pd.DataFrame:
    """List the places that were reactivated, in the order in which they were.

    Parameters
    ----------
    log : EventLog
        A model's log, or the animal's moves.
    paths : DataFrame, optional
        Places that were decoded or emitted, instead of the log's backups. One row an event:
        `states` (lists of int, in order of time), and `time` (s) or `step`, when it began.
        Optional: `run` (default 0) and `phase` (default ``"rest"``).

    Returns
    -------
    pandas.DataFrame
        One row a reactivation: `run, episode, step, time` (s, NaN in models), `phase`, `event` (of
        `paths`: the row, counted from 0), `index` (its place in the event, from 0), `place` and
        `location` (where the animal was).

    Raises
    ------
    TypeError
        If `log` is no log, or `paths` no DataFrame.
    ValueError
        If runs don't ascend, or a column of paths is missing or holds what it must not.

    Examples
    --------
    A sweep back from state 3, and the same as it would be decoded, in six bins of time:

    >>> steps = {"state": [0, 1, 2], "next_state": [1, 2, 3], "terminated": [False, False, True]}
    >>> backups = {"step": 2, "phase": "episode_end", "state": [2, 1, 0], "next_state": [3, 2, 1],
    ...            "action": 0, "cause": [-1, 0, 1]}
    >>> reactivations(EventLog({"steps": steps, "backups": backups}))["place"].tolist()
    [3, 2, 1, 0]
    >>> paths = pd.DataFrame({"step": [2], "states": [[3, 3, 2, 1, 1, 0]]})
    >>> reactivations(EventLog({"steps": steps}), paths)["place"].tolist()
    [3, 2, 1, 0]
    """
    parts = [columns for _, columns in reactivations_by_run(log, paths)]
    return to_frame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def reactivations_by_run(
    log: EventLog, paths: pd.DataFrame | None = None
) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    """Give the reactivations of each run.

    Parameters
    ----------
    log, paths
        As for `reactivations`.

    Yields
    ------
    run : int
        Each run of the log.
    columns : dict of ndarray, each of shape (n_reactivations,)
        The columns that `reactivations` describes; `phase` as its number in ``PHASES``.
    """
    if paths is None:
        for run in runs_of(log):
            yield run, _of_backups(of_run(log, "backups", run))
        return
    check_table(paths, ["states"], "paths")
    for run, rows in rows_by_run(log, paths):
        own = paths.iloc[rows].assign(event=rows, run=run)
        each, states = decoded_paths(own, of_run(log, "steps", run))
        yield run, _merged(each, states.owner, states.flat)


def _of_backups(backups: Columns) -> dict[str, NDArray[Any]]:
    """List the places that the backups of a run reactivate."""
    links = link_backups(backups, "temporal")
    found = chains(links)
    backwards = np.zeros(len(links.parent), dtype=np.bool_)
    backwards[found.rows] = np.repeat(found.orientation == REVERSE, np.diff(found.offset))
    state, next_state = backups["state"], backups["next_state"]
    begins = (links.parent < 0) & (state != next_state)
    rows = np.repeat(np.arange(len(state)), np.where(backups["event"] < 0, 0, 1 + begins))
    is_begin = begins[rows] & (np.diff(rows, prepend=-1) > 0)
    place = np.where(is_begin == backwards[rows], next_state[rows], state[rows])
    return _merged(backups, rows, place)


def _merged(each: Columns, rows: NDArray[np.int64], place: NDArray[np.int32]) -> dict[str, Any]:
    """Make one reactivation of equal places in a row, and count them in each event."""
    event = each["event"][rows]
    is_first = np.diff(event, prepend=-1) != 0
    kept = is_first | (np.diff(place, prepend=-1) != 0)
    rows, place, is_first = rows[kept], place[kept], is_first[kept]
    number = np.arange(len(rows))
    begin = np.maximum.accumulate(np.where(is_first, number, 0))
    columns = {name: each[name][rows] for name in _WHEN}
    index = (number - begin).astype(np.int32)
    return {**columns, "index": index, "place": place, "location": each["location"][rows]}
