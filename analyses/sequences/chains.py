"""Replay sequences: how backups are linked to chains.

A *causal chain* is a path in the forest of causes from a root to a leaf, one chain for each leaf,
so chains may share a beginning. A *temporal chain* is a run of consecutive backups that join end
to end; each backup is in one. Two backups join in reverse if the later one's next state is the
earlier one's state, and forward if the later one's state is the earlier one's next state. A chain
keeps one orientation. A chain that fits both (to and fro between two states) may continue either
way; if it stays undecided, or has a single backup, it counts as reverse, the direction in which
value propagates. A backup that does not join its cause begins a new chain; a backup of a
self-transition (a bump) belongs to no chain and ends the one that it would continue.

Decoded replay has no actions (-1): its moves are listed in temporal order, join only forward, and
have no known orientation. As it has no causes, it forms temporal chains whichever order is chosen.
"""

from __future__ import annotations

import difflib
import warnings
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.logs import Columns, whole_columns
from analyses.sequences.sequences import Lists
from replay.checks import (
    MOST_STATES,
    check_array,
    check_choice,
    check_column,
    check_flag,
    check_table,
    check_whole,
    shown,
    unknown_name,
)
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.jit import kernel
from replay.log.backups import PHASES, REST, START, uninitialised

ORDERS = ("causal", "temporal")
ORIENTATIONS = ("forward", "reverse")
FORWARD, REVERSE, UNKNOWN = 0, 1, -1
FITS_FORWARD, FITS_REVERSE, DECODED = 1, 2, 4


class Links(NamedTuple):
    """Which backup of a run each backup continues."""

    # (n_backups,): the earlier row that each backup continues; -1 if it begins a chain
    parent: Int32s
    # (n_backups,): orientations that fit from the beginning of the chain to this backup (bits
    # ``FITS_FORWARD`` and ``FITS_REVERSE``, or ``DECODED`` where they are unknown); 0 if it belongs
    # to no chain
    fits: NDArray[np.uint8]
    # (n_backups,): number of states from the beginning of the chain to this backup
    length: Int32s
    is_leaf: Bools  # (n_backups,): whether a chain ends here

    def orientation(self, rows: Ints) -> NDArray[np.int8]:
        """Return the orientation of the chains that end in the given rows."""
        fits = self.fits[rows]
        walked = np.where(fits & FITS_REVERSE, REVERSE, FORWARD)
        return np.where(fits & DECODED, UNKNOWN, walked).astype(np.int8)


class Chains(NamedTuple):
    """Chains of backups of one run."""

    # (n_links,): the backups of all chains, from first to last, one chain after the other
    rows: Int32s
    offset: Ints  # (n_chains + 1,): the position in `rows` at which each chain begins
    orientation: NDArray[np.int8]  # (n_chains,): ``FORWARD``, ``REVERSE`` or ``UNKNOWN``


def link_backups(backups: Columns, order: str = "causal", across_events: bool = False) -> Links:
    """Link each backup of a run to the one that it continues.

    `backups` has the columns `event, state, next_state, action, cause`.
    """
    check_choice("order", order, ORDERS)
    check_flag("across_events", across_events)
    if across_events and order == "temporal":
        raise ValueError("Temporal chains stay within one event: use order='causal' to cross them.")
    names = ("event", "state", "next_state", "action", "cause")
    wide = {"event": np.int64, "cause": np.int64}
    event, state, next_state, action, cause = whole_columns(backups, names, "backups", wide)
    types = (np.int32, np.uint8, np.int32, np.bool_)
    links = Links(*(uninitialised(len(event), dtype) for dtype in types))
    temporal = order == "temporal"
    late = _link(event, state, next_state, action, cause, temporal, across_events, *links)
    if late >= 0:
        raise ValueError(
            f"A cause must be an earlier row of the run's backups; row {late} names row "
            f"{cause[late]}."
        )
    return links


@kernel
def _link(
    event: Ints,
    state: Int32s,
    next_state: Int32s,
    action: Int32s,
    cause: Ints,
    temporal: bool,
    across_events: bool,
    parent: Int32s,
    fits: NDArray[np.uint8],
    length: Int32s,
    is_leaf: Bools,
) -> int:
    """Link all backups; return a row whose cause is not an earlier row, or -1."""
    for row in range(len(event)):
        if cause[row] >= row:
            return row
        parent[row] = -1
        fits[row] = 0
        length[row] = 0
        is_leaf[row] = False
        if event[row] < 0 or state[row] == next_state[row]:  # an online update, or a bump
            continue
        decoded = action[row] < 0
        fits[row] = DECODED if decoded else FITS_FORWARD | FITS_REVERSE
        length[row] = 2
        is_leaf[row] = True
        before = row - 1 if temporal or decoded else cause[row]  # what is decoded has no cause
        if before < 0 or (event[before] != event[row] and (decoded or not across_events)):
            continue
        joins = 0
        if state[row] == next_state[before]:
            joins |= FITS_FORWARD | DECODED
        if next_state[row] == state[before]:
            joins |= FITS_REVERSE
        both = joins & fits[before] & fits[row]
        if both:
            parent[row] = before
            fits[row] = both
            length[row] = length[before] + 1
            is_leaf[before] = False
    return -1


def count_chains(backups: Columns, min_length: int) -> int:
    """Count the causal chains of one run within its events."""
    links = link_backups(backups)
    return int(np.count_nonzero(links.is_leaf & (links.length >= min_length)))


def chains(links: Links, min_length: int = 2) -> Chains:
    """List the chains, one per leaf, in the order of their last backups."""
    check_whole("min_length", min_length, at_least=2)
    leaves = np.flatnonzero(links.is_leaf & (links.length >= min_length))
    offset = np.zeros(len(leaves) + 1, dtype=np.int64)
    np.cumsum(links.length[leaves] - 1, out=offset[1:])
    rows = np.empty(offset[-1], dtype=np.int32)
    _fill(links.parent, leaves, offset, rows)
    return Chains(rows, offset, links.orientation(leaves))


@kernel
def _fill(parent: Int32s, leaves: Ints, offset: Ints, rows: Int32s) -> None:
    for i in range(len(leaves)):
        row = leaves[i]
        for place in range(offset[i + 1] - 1, offset[i] - 1, -1):
            rows[place] = row
            row = parent[row]


class DecodedPaths(NamedTuple):
    """Decoded or emitted paths, with the time and the animal's location at each event."""

    # (n_paths,) each: `run, episode, step, time, phase, event, location` of each event; `step` and
    # `episode` are -1 before the first step, and `time` is NaN where it is unknown
    columns: dict[str, NDArray[Any]]
    states: Lists  # the states of each path


def decoded_paths(paths: pd.DataFrame, steps: Columns) -> DecodedPaths:
    """Check decoded paths, and find the step of the run at which each began.

    At a `start`, the episode is the upcoming one, as in a model's log.
    """
    check_table(paths, ["event", "states"], "paths")
    when = "time" if "time" in paths else "step"
    if when not in paths:
        close = difflib.get_close_matches("start_time", [str(name) for name in paths], cutoff=0.5)
        hint = f" If {close[0]!r} is that column, rename it." if close else ""
        raise ValueError(
            "paths needs a column 'time' (s) or 'step' with the beginning of each event; it has "
            f"{[name for name in paths if name != 'event']}.{hint}"
        )
    check_table(paths, [when], "paths")
    event = check_column(paths, "event", "paths", kind="whole")
    began = check_column(paths, when, "paths", kind="number" if when == "time" else "whole")
    columns = ("run", "episode", "step", "state", "next_state")
    run, episode, step, state, next_state = whole_columns(steps, columns, "steps", _WIDE)
    own_run = np.repeat(run[:1] if len(run) else np.zeros(1, dtype=np.int32), len(paths))
    if "run" in paths:
        own_run = whole_columns(paths, ["run"], "paths")[0]
    clock = step if when == "step" else check_array(
        steps.get("time", ()), "The column 'time' of steps", kind="number", missing=True
    )  # fmt: skip
    if len(clock) != len(step) or np.isnan(clock).any() or (np.diff(clock) < 0).any():
        raise ValueError(f"The column {when!r} of steps must ascend and have no missing values.")
    if when == "time":
        _warn_of_clocks(clock, began)
    n_before = np.searchsorted(clock, began, side="right")
    start = state[:1] if len(clock) else np.array([-1], dtype=np.int32)
    at, now = np.concatenate((start, next_state))[n_before], np.insert(episode, 0, -1)[n_before]
    phase = np.full(len(paths), REST, dtype=np.int8)
    if "phase" in paths:
        names = paths["phase"].tolist()
        for name in names:
            if not isinstance(name, str) or name not in PHASES:
                raise unknown_name("phase of paths", name, PHASES)
        phase[:] = [PHASES.index(name) for name in names]
    # At a start the animal has left the place where the last episode ended, as in a model's log.
    starts = phase == START
    at[starts] = np.append(state, np.append(start, next_state)[-1])[n_before[starts]]
    now[starts] += 1
    if "location" in paths:
        at = check_column(
            paths, "location", "paths", kind="whole", at_least=-1, at_most=MOST_STATES - 1
        ).astype(np.int32)
    found = {
        "run": own_run,
        "episode": now,
        "step": np.insert(step, 0, -1)[n_before],
        "time": began if when == "time" else np.full(len(paths), np.nan),
        "phase": phase,
        "event": event,
        "location": at,
    }
    return DecodedPaths(found, _states_of(paths["states"]))


def _warn_of_clocks(clock: Floats, began: Floats) -> None:
    """Warn if the times of paths and steps are unlikely to be on the same clock."""
    if not len(clock) or not len(began):
        return
    first, last, usual = float(clock[0]), float(clock[-1]), float(np.median(began))
    if began.max() < first:
        warnings.warn(
            f"All paths begin before the end of the first step, at {first:g} s, so that nothing "
            "had been experienced: are both in seconds, on the same clock?",
            stacklevel=5,
        )
    elif usual - last > _FAR * max(last - first, 1.0):
        warnings.warn(
            f"Paths begin at about {usual:g} s (median), but the steps end at {last:g} s: are both "
            "in seconds, on the same clock?",
            stacklevel=5,
        )


_FAR = 300.0  # in durations of the run; two days after a run of ten minutes are 288
_WIDE = {"step": np.int64, "event": np.int64}


def _states_of(paths: pd.Series[Any]) -> Lists:
    """Concatenate the states of all paths; each must be a list of states."""
    given = paths.tolist()
    if all(type(path) is list for path in given):  # checking all at once is ten times faster
        flat = list(chain.from_iterable(given))
        if set(map(type, flat)) == {int} and min(flat) >= 0 and max(flat) < MOST_STATES:
            return Lists.of(given)
    checked = []
    for row, path in enumerate(given):
        try:
            states = check_array(path, "", kind="whole", at_least=0, at_most=MOST_STATES - 1)
        except ValueError:
            raise ValueError(
                "The column 'states' of paths must hold lists of states, whole numbers from 0 to "
                f"{MOST_STATES - 1:,}; row {row} has {shown(path)}. Leave out all other values."
            ) from None
        checked.append(states)
    return Lists.of(checked)


def decoded_backups(paths: pd.DataFrame, steps: Columns) -> dict[str, NDArray[Any]]:
    """Convert decoded paths to backups without action or cause, one per move.

    Parameters
    ----------
    paths : DataFrame
        One row per event: `event`, `states` (lists of int; a repeated state is not a move), and
        `time` (s) or `step`, when it began. Optional: `phase` (default ``"rest"``).
    steps : dict of ndarray
        The steps of the same run: `run, episode, step, state, next_state`, and `time` (s) if
        `paths` has it.

    Returns
    -------
    dict of ndarray
        Columns of ``backups``; `step` and `episode` are -1 before the first step. A `start` belongs
        to the upcoming episode.

    Raises
    ------
    TypeError
        If `paths` is not a DataFrame, or `steps` not a table.
    ValueError
        If a column is missing or has values of another type, a phase is unknown, or the times of
        the steps do not ascend.

    Examples
    --------
    >>> steps = {"run": np.zeros(1, int), "episode": np.zeros(1, int), "step": np.zeros(1, int),
    ...          "time": np.ones(1), "state": np.array([0]), "next_state": np.array([1])}
    >>> paths = pd.DataFrame({"event": [0], "time": [2.0], "states": [[1, 1, 0, 2]]})
    >>> backups = decoded_backups(paths, steps)
    >>> backups["state"].tolist(), backups["next_state"].tolist(), backups["step"].tolist()
    ([1, 0], [0, 2], [0, 0])
    """
    each, states = decoded_paths(paths, steps)
    place, owner = states.flat, states.owner
    moved = np.flatnonzero((owner[1:] == owner[:-1]) & (place[1:] != place[:-1]))
    backups = {name: values[owner[moved]] for name, values in each.items()}
    return backups | {
        "state": place[moved],
        "next_state": place[moved + 1],
        "action": np.full(len(moved), -1, dtype=np.int32),
        "cause": np.full(len(moved), -1, dtype=np.int64),
    }
