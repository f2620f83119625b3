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

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from analyses.tables import require_columns
from replay.arrays import uninitialised
from replay.jit import kernel
from replay.log.backups import PHASES, REST

__all__ = ["FITS_FORWARD", "FITS_REVERSE", "FORWARD", "ORDERS", "ORIENTATIONS", "REVERSE"]
__all__ += ["UNKNOWN", "Chains", "Columns", "Links", "chains", "decoded_backups", "link_backups"]

Columns = Mapping[str, np.ndarray]
"""The columns of one table, each of shape (n_rows,); `phase` as its number in ``PHASES``."""

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
    ways : ndarray of uint8, shape (n_backups,)
        Orientations that fit from the beginning up to here (bits ``FITS_FORWARD`` and
        ``FITS_REVERSE``, another of decoded replay); 0: belongs to no chain.
    length : ndarray of int32, shape (n_backups,)
        Number of states from the beginning up to here.
    is_leaf : ndarray of bool, shape (n_backups,)
        Whether a chain ends here.
    """

    parent: np.ndarray
    ways: np.ndarray
    length: np.ndarray
    is_leaf: np.ndarray

    def orientation(self, rows: np.ndarray) -> np.ndarray:
        """Give the orientation of the chains that end in some rows."""
        ways = self.ways[rows]
        walked = np.where(ways & FITS_REVERSE, REVERSE, FORWARD)
        return np.where(ways & _DECODED, UNKNOWN, walked).astype(np.int8)


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

    rows: np.ndarray
    offset: np.ndarray
    orientation: np.ndarray


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
        If the order is unknown or temporal across events, or a cause is not an earlier row.

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
    if order not in ORDERS:
        raise ValueError(f"Unknown order {order!r}. Choose from: {', '.join(ORDERS)}.")
    if across_events and order == "temporal":
        raise ValueError("Temporal chains stay within one event: use order='causal' to cross them.")
    names = ("event", "state", "next_state", "action", "cause")
    event, state, next_state, action, cause = (backups[name] for name in names)
    n = len(event)
    links = Links(*(uninitialised(n, dtype) for dtype in (np.int32, np.uint8, np.int32, np.bool_)))
    n_begun = 0 if begun is None else len(begun.parent)
    for known, column in zip(begun or (), links, strict=False):
        column[:n_begun] = known
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
    event,
    state,
    next_state,
    action,
    cause,
    n_begun,
    temporal,
    across_events,
    parent,
    ways,
    length,
    is_leaf,
):
    for row in range(n_begun, len(event)):
        if cause[row] >= row:
            return row
        parent[row] = -1
        ways[row] = 0
        length[row] = 0
        is_leaf[row] = False
        if event[row] < 0 or state[row] == next_state[row]:
            continue
        decoded = action[row] < 0
        ways[row] = _DECODED if decoded else FITS_FORWARD | FITS_REVERSE
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
        both = joins & ways[before] & ways[row]
        if both:
            parent[row] = before
            ways[row] = both
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
        If `min_length` is below 2.

    Examples
    --------
    >>> backups = {"event": np.zeros(4, int), "state": np.array([2, 1, 0, 4]),
    ...            "next_state": np.array([3, 2, 1, 1]), "action": np.zeros(4, int),
    ...            "cause": np.array([-1, 0, 1, 1])}
    >>> found = chains(link_backups(backups))
    >>> found.rows.tolist(), found.offset.tolist(), found.orientation.tolist()
    ([0, 1, 2, 0, 1, 3], [0, 3, 6], [1, 1])
    """
    if min_length < 2:
        raise ValueError(f"A sequence has at least 2 states, got min_length={min_length}.")
    leaves = np.flatnonzero(links.is_leaf & (links.length >= min_length))
    offset = np.zeros(len(leaves) + 1, dtype=np.int64)
    np.cumsum(links.length[leaves] - 1, out=offset[1:])
    rows = np.empty(offset[-1], dtype=np.int32)
    _fill(links.parent, leaves, offset, rows)
    return Chains(rows, offset, links.orientation(leaves))


@kernel
def _fill(parent, leaves, offset, rows):
    for i in range(len(leaves)):
        row = leaves[i]
        for place in range(offset[i + 1] - 1, offset[i] - 1, -1):
            rows[place] = row
            row = parent[row]


def decoded_backups(paths: pd.DataFrame, steps: Columns) -> dict[str, np.ndarray]:
    """Write decoded paths as backups without action or cause, one for each move.

    Parameters
    ----------
    paths : DataFrame
        One row an event: `event`, `states` (sequences of int; staying is no move), and `time` (s)
        or `step`, when it began. Optional: `phase` (default ``"rest"``).
    steps : dict of ndarray
        The steps of the same run; `time` must be known if paths have it.

    Returns
    -------
    dict of ndarray
        Columns of ``backups``; `step` and `episode` are -1 before the first step.

    Raises
    ------
    ValueError
        If columns are missing, a time or phase is unknown, times of the steps don't ascend, or a
        state is negative.

    Examples
    --------
    >>> steps = {"run": np.zeros(1, int), "episode": np.zeros(1, int), "step": np.zeros(1, int),
    ...          "time": np.ones(1), "state": np.array([0]), "next_state": np.array([1])}
    >>> paths = pd.DataFrame({"event": [0], "time": [2.0], "states": [[1, 1, 0, 2]]})
    >>> backups = decoded_backups(paths, steps)
    >>> backups["state"].tolist(), backups["next_state"].tolist(), backups["step"].tolist()
    ([1, 0], [0, 2], [0, 0])
    """
    when = "time" if "time" in paths else "step"
    require_columns(paths, ["event", "states", when], "paths")
    clock = steps[when]
    if np.isnan(clock).any() or (np.diff(clock) < 0).any():
        raise ValueError(f"The column {when!r} of the steps must ascend and know every step.")
    names = paths["phase"] if "phase" in paths else [PHASES[REST]] * len(paths)
    if paths[when].isna().any():
        raise ValueError(f"The column {when!r} of paths must say when each event began.")
    phase = pd.Index(PHASES).get_indexer(pd.Index(names))
    if (phase < 0).any():
        raise ValueError(f"Unknown phase in paths. Choose from: {', '.join(PHASES)}.")
    n_before = np.searchsorted(clock, paths[when].to_numpy(), side="right")
    start = steps["state"][:1] if len(clock) else [-1]
    each = {
        "run": np.repeat(steps["run"][:1] if len(clock) else 0, len(paths)),
        "episode": np.insert(steps["episode"], 0, -1)[n_before],
        "step": np.insert(steps["step"], 0, -1)[n_before],
        "phase": phase,
        "event": paths["event"].to_numpy(),
        "location": np.concatenate((start, steps["next_state"]))[n_before],
        "action": np.full(len(paths), -1, dtype=np.int32),
        "cause": np.full(len(paths), -1, dtype=np.int64),
    }
    states = [np.asarray(path, dtype=np.int32) for path in paths["states"]]
    n_moves = [max(len(path) - 1, 0) for path in states]
    backups = {name: np.repeat(values, n_moves) for name, values in each.items()}
    nothing = np.empty(0, dtype=np.int32)
    backups["state"] = np.concatenate([nothing, *(path[:-1] for path in states)])
    backups["next_state"] = np.concatenate([nothing, *(path[1:] for path in states)])
    if any((backups[name] < 0).any() for name in ("state", "next_state")):
        raise ValueError("The states of paths must count from 0: leave out what is no state.")
    moved = backups["state"] != backups["next_state"]
    return {name: values[moved] for name, values in backups.items()}
