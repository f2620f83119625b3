"""Replay sequences: how backups hang together.

A *causal chain* is a path in the forest of causes from a root to a leaf, one chain for each leaf,
so chains may share a beginning. A *temporal chain* is a run of consecutive backups that join end
to end; each backup is in one. Two backups join in reverse if the later one's next state is the
earlier one's state, forward if the later one's state is the earlier one's next state. A chain
keeps one orientation. What fits both ways (to and fro between two states) may go on either way; if
it never decides, and for a single backup, it is reverse, the way in which value flows. A backup
that doesn't join its cause begins a new chain; one of a self-transition (a bump) belongs to none,
and breaks what it would continue.

Decoded replay has no action (-1): its moves are listed in order of time, join only forward, and the
orientation is unknown. Having no causes, it forms temporal chains in either order.
"""

from __future__ import annotations

import difflib
import warnings
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.runs import Columns, whole_columns
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
from replay.jit import kernel
from replay.log.arrays import uninitialised
from replay.log.backups import PHASES, REST, START

__all__ = ["FITS_FORWARD", "FITS_REVERSE", "FORWARD", "ORDERS", "ORIENTATIONS", "REVERSE"]
__all__ += ["UNKNOWN", "Chains", "DecodedPaths", "Links", "chains", "decoded_backups"]
__all__ += ["decoded_paths", "link_backups"]

ORDERS = ("causal", "temporal")
ORIENTATIONS = ("forward", "reverse")
FORWARD, REVERSE, UNKNOWN = 0, 1, -1
FITS_FORWARD, FITS_REVERSE, _DECODED = 1, 2, 4


class Links(NamedTuple):
    """How the backups of one run continue one another.

    Attributes
    ----------
    parent : ndarray of int32, shape (n_backups,)
        The backup that each one continues, an earlier row; -1 if it begins a chain.
    fits : ndarray of uint8, shape (n_backups,)
        Orientations that fit from the beginning up to here (bits ``FITS_FORWARD`` and
        ``FITS_REVERSE``, another of decoded replay); 0: belongs to no chain.
    length : ndarray of int32, shape (n_backups,)
        Number of states from the beginning up to here.
    is_leaf : ndarray of bool, shape (n_backups,)
        Whether a chain ends here.
    """

    parent: NDArray[np.int32]
    fits: NDArray[np.uint8]
    length: NDArray[np.int32]
    is_leaf: NDArray[np.bool_]

    def orientation(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """Give the orientation of the chains that end in some rows."""
        fits = self.fits[rows]
        walked = np.where(fits & FITS_REVERSE, REVERSE, FORWARD)
        return np.where(fits & _DECODED, UNKNOWN, walked).astype(np.int8)


class Chains(NamedTuple):
    """Chains of backups of one run.

    Attributes
    ----------
    rows : ndarray of int32, shape (n_links,)
        The backups of all chains, each from its beginning, one chain after the other.
    offset : ndarray of int64, shape (n_chains + 1,)
        Where each chain begins in `rows`.
    orientation : ndarray of int8, shape (n_chains,)
        ``FORWARD``, ``REVERSE`` or ``UNKNOWN``.
    """

    rows: NDArray[np.int32]
    offset: NDArray[np.int64]
    orientation: NDArray[np.int8]


def link_backups(
    backups: Columns,
    order: str = "causal",
    across_events: bool = False,
    begun: Links | None = None,
) -> Links:
    """Find which backups continue one another.

    Parameters
    ----------
    backups : dict of ndarray
        The columns `event, state, next_state, action, cause` of one run.
    order : {"causal", "temporal"}, default "causal"
        Whether chains follow the causes or the order of execution.
    across_events : bool, default False
        Whether causes are followed into earlier replay events.
    begun : Links, optional
        Of the first backups, if these were linked before.

    Returns
    -------
    Links
        The forest of chains.

    Raises
    ------
    ValueError
        If an option is unknown, the order is temporal across events, a column is missing or holds
        no whole numbers, or a cause is not an earlier row.

    Examples
    --------
    A sweep back from state 3 that forks in state 1:

    >>> backups = {"event": np.zeros(4, int), "state": np.array([2, 1, 0, 4]),
    ...            "next_state": np.array([3, 2, 1, 1]), "action": np.zeros(4, int),
    ...            "cause": np.array([-1, 0, 1, 1])}
    >>> links = link_backups(backups)
    >>> links.parent.tolist(), links.is_leaf.tolist()
    ([-1, 0, 1, 1], [False, False, True, True])
    """
    check_choice("order", order, ORDERS)
    check_flag("across_events", across_events)
    if across_events and order == "temporal":
        raise ValueError("Temporal chains stay within one event: use order='causal' to cross them.")
    names = ("event", "state", "next_state", "action", "cause")
    wide = {"event": np.int64, "cause": np.int64}
    event, state, next_state, action, cause = whole_columns(backups, names, "backups", wide)
    n = len(event)
    links = Links(*(uninitialised(n, dtype) for dtype in (np.int32, np.uint8, np.int32, np.bool_)))
    n_begun = 0 if begun is None else len(begun.parent)
    if begun is not None:
        for name in Links._fields:
            getattr(links, name)[:n_begun] = getattr(begun, name)
    temporal = order == "temporal"
    late = _link(event, state, next_state, action, cause, n_begun, temporal, across_events, *links)
    if late >= 0:
        raise ValueError(
            f"A cause must be an earlier row of the run's backups; row {late} names row "
            f"{cause[late]}."
        )
    return links


@kernel
def _link(
    event: NDArray[np.int64],
    state: NDArray[np.int32],
    next_state: NDArray[np.int32],
    action: NDArray[np.int32],
    cause: NDArray[np.int64],
    n_begun: int,
    temporal: bool,
    across_events: bool,
    parent: NDArray[np.int32],
    fits: NDArray[np.uint8],
    length: NDArray[np.int32],
    is_leaf: NDArray[np.bool_],
) -> int:
    """Link the backups from `n_begun` on; returns a row whose cause is no earlier one, or -1."""
    for row in range(n_begun, len(event)):
        if cause[row] >= row:
            return row
        parent[row] = -1
        fits[row] = 0
        length[row] = 0
        is_leaf[row] = False
        if event[row] < 0 or state[row] == next_state[row]:
            continue
        decoded = action[row] < 0
        fits[row] = _DECODED if decoded else FITS_FORWARD | FITS_REVERSE
        length[row] = 2
        is_leaf[row] = True
        before = row - 1 if temporal or decoded else cause[row]
        if before < 0 or (event[before] != event[row] and (decoded or not across_events)):
            continue
        joins = 0
        if state[row] == next_state[before]:
            joins |= FITS_FORWARD | _DECODED
        if next_state[row] == state[before]:
            joins |= FITS_REVERSE
        both = joins & fits[before] & fits[row]
        if both:
            parent[row] = before
            fits[row] = both
            length[row] = length[before] + 1
            is_leaf[before] = False
    return -1


def chains(links: Links, min_length: int = 2) -> Chains:
    """List the chains, one for each leaf, in the order of their last backups.

    Parameters
    ----------
    links : Links
        How backups continue one another.
    min_length : int, default 2
        Chains of fewer states are left out.

    Returns
    -------
    Chains
        Their rows and orientation. Chains that share a beginning repeat it: across events the
        list may be much longer than the backups.

    Raises
    ------
    ValueError
        If `min_length` is no whole number of at least 2.

    Examples
    --------
    >>> backups = {"event": np.zeros(4, int), "state": np.array([2, 1, 0, 4]),
    ...            "next_state": np.array([3, 2, 1, 1]), "action": np.zeros(4, int),
    ...            "cause": np.array([-1, 0, 1, 1])}
    >>> found = chains(link_backups(backups))
    >>> found.rows.tolist(), found.offset.tolist(), found.orientation.tolist()
    ([0, 1, 2, 0, 1, 3], [0, 3, 6], [1, 1])
    """
    check_whole("min_length", min_length, at_least=2)
    leaves = np.flatnonzero(links.is_leaf & (links.length >= min_length))
    offset = np.zeros(len(leaves) + 1, dtype=np.int64)
    np.cumsum(links.length[leaves] - 1, out=offset[1:])
    rows = np.empty(offset[-1], dtype=np.int32)
    _fill(links.parent, leaves, offset, rows)
    return Chains(rows, offset, links.orientation(leaves))


@kernel
def _fill(
    parent: NDArray[np.int32],
    leaves: NDArray[np.int64],
    offset: NDArray[np.int64],
    rows: NDArray[np.int32],
) -> None:
    for i in range(len(leaves)):
        row = leaves[i]
        for place in range(offset[i + 1] - 1, offset[i] - 1, -1):
            rows[place] = row
            row = parent[row]


class DecodedPaths(NamedTuple):
    """Paths that were decoded or emitted, and where the animal was.

    Attributes
    ----------
    columns : dict of ndarray, each of shape (n_paths,)
        `run, episode, step, time, phase, event, location` of each event; `step` and `episode` are
        -1 before the first step, `time` is NaN where it is not known.
    states : Lists
        The states of each.
    """

    columns: dict[str, NDArray[Any]]
    states: Lists


def decoded_paths(paths: pd.DataFrame, steps: Columns) -> DecodedPaths:
    """Check decoded paths, and look up what had been experienced when each began.

    Parameters
    ----------
    paths, steps
        As for `decoded_backups`.

    Returns
    -------
    DecodedPaths
        When and where each event was, and its states. At a `start`, the episode is the one to
        come, as in a model's log.

    Raises
    ------
    TypeError, ValueError
        As `decoded_backups`.
    """
    check_table(paths, ["event", "states"], "paths")
    when = "time" if "time" in paths else "step"
    if when not in paths:
        close = difflib.get_close_matches("start_time", [str(name) for name in paths], cutoff=0.5)
        hint = f" Rename {close[0]!r} if that is it." if close else ""
        raise ValueError(
            "paths lacks a column 'time' (s) or 'step' that tells when each began: it has "
            f"{[name for name in paths if name != 'event']}.{hint}"
        )
    check_table(paths, [when], "paths")
    event = check_column(paths, "event", "paths", kind="whole")
    began = check_column(paths, when, "paths", kind="number" if when == "time" else "whole")
    names = ("run", "episode", "step", "state", "next_state")
    run, episode, step, state, next_state = whole_columns(steps, names, "steps", _WIDE)
    own_run = np.repeat(run[:1] if len(run) else np.zeros(1, dtype=np.int32), len(paths))
    if "run" in paths:
        own_run = check_column(paths, "run", "paths", kind="whole").astype(np.int32)
    clock = step if when == "step" else check_array(
        steps.get("time", ()), "The column 'time' of steps", kind="number", missing=True
    )  # fmt: skip
    if len(clock) != len(step) or np.isnan(clock).any() or (np.diff(clock) < 0).any():
        raise ValueError(f"The column {when!r} of the steps must ascend and know every step.")
    if when == "time":
        _warn_of_clocks(clock, began)
    n_before = np.searchsorted(clock, began, side="right")
    start = state[:1] if len(clock) else np.array([-1], dtype=np.int32)
    at, now = np.concatenate((start, next_state))[n_before], np.insert(episode, 0, -1)[n_before]
    phase = _phase_numbers(paths)
    # At a start the animal has left the place where the last episode ended, as in a model's log.
    starts = phase == START
    at[starts] = np.append(state, np.append(start, next_state)[-1])[n_before[starts]]
    now[starts] += 1
    columns = {
        "run": own_run,
        "episode": now,
        "step": np.insert(step, 0, -1)[n_before],
        "time": began if when == "time" else np.full(len(paths), np.nan),
        "phase": phase,
        "event": event,
        "location": at,
    }
    return DecodedPaths(columns, _states_of(paths["states"]))


def _warn_of_clocks(clock: NDArray[np.float64], began: NDArray[np.float64]) -> None:
    """Warn if paths and steps can hardly be on one clock."""
    if not len(clock) or not len(began):
        return
    first, last, usual = float(clock[0]), float(clock[-1]), float(np.median(began))
    if began.max() < first:
        warnings.warn(
            f"All paths begin before the first step is done, at {first:g} s, so that nothing had "
            "been experienced: are both in seconds, on one clock?",
            stacklevel=5,
        )
    elif usual - last > _FAR * max(last - first, 1.0):
        warnings.warn(
            f"Paths begin at {usual:g} s or so, but the steps end at {last:g} s: are both in "
            "seconds, on one clock?",
            stacklevel=5,
        )


_FAR = 300.0  # durations of the run: two days after ten minutes are fewer
_WIDE = {"step": np.int64, "event": np.int64}


def _phase_numbers(paths: pd.DataFrame) -> NDArray[np.int8]:
    if "phase" not in paths:
        return np.full(len(paths), REST, dtype=np.int8)
    for name in (names := paths["phase"].tolist()):
        if not isinstance(name, str) or name not in PHASES:
            raise unknown_name("phase of paths", name, PHASES)
    return np.array([PHASES.index(name) for name in names], dtype=np.int8)


def _states_of(paths: pd.Series[Any]) -> Lists:
    """Put the states of paths one after the other; each must be a list of states."""
    given = paths.tolist()
    if all(type(path) is list for path in given):  # checked together, which is ten times faster
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
                f"{MOST_STATES - 1:,}; row {row} has {shown(path)}. Leave out what is no state."
            ) from None
        checked.append(states)
    return Lists.of(checked)


def decoded_backups(paths: pd.DataFrame, steps: Columns) -> dict[str, NDArray[Any]]:
    """Write decoded paths as backups without action or cause, one for each move.

    Parameters
    ----------
    paths : DataFrame
        One row an event: `event`, `states` (lists of int; staying is no move), and `time` (s) or
        `step`, when it began. Optional: `phase` (default ``"rest"``).
    steps : dict of ndarray
        The steps of the same run: `run, episode, step, state, next_state`, and `time` (s) of each
        if paths have it.

    Returns
    -------
    dict of ndarray
        Columns of ``backups``; `step` and `episode` are -1 before the first step. A `start` belongs
        to the episode to come.

    Raises
    ------
    TypeError
        If `paths` is no DataFrame, or `steps` no table.
    ValueError
        If columns are missing, a value is not of its kind, a phase is unknown, or times of the
        steps don't ascend.

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
