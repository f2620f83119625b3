"""The kinds of all causal chains of a run, in time linear in the backups, and block by block.

Chains share beginnings, which across replay events may be thousands of backups long, so listing all
chains may be infeasible. But the path of a longer chain is that of a shorter one with one more move
before it (reverse) or after it (forward), and the index of experience extends a path by one move
in constant time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.chains import FITS_FORWARD, FITS_REVERSE, Links, chains, link_backups
from analyses.sequences.experience import Experience
from analyses.sequences.kinds import (
    AMBIGUOUS,
    FORWARD_EPISODE,
    NEVER_TAKEN,
    NOVEL_PATH,
    REVERSE_EPISODE,
    classify_chains,
)
from analyses.sequences.runs import Columns, whole_columns
from analyses.sequences.suffix_automaton import SuffixAutomaton, appended, prepended, relocated
from replay.checks import check_flag
from replay.jit import kernel
from replay.log.arrays import uninitialised

__all__ = ["ChainKinds", "GrowingChains", "chain_kinds"]

_IS_COMPOSED, _IS_UNEXPERIENCED = -1, -2
_NO_ROWS = np.empty(0, dtype=np.int64)
_OPEN = np.dtype(
    [
        ("row", np.int64),
        ("step", np.int64),
        ("event", np.int64),
        ("state", np.int32),
        ("next_state", np.int32),
        ("action", np.int32),
        ("forward", np.int32),
        ("reverse", np.int32),
        ("length", np.int32),
        ("fits", np.uint8),
        ("is_leaf", np.bool_),
    ]
)
"""A backup that later ones may continue; `step` is the step of its chain's first backup."""

_CARRIED = ("event", "state", "next_state", "action", "forward", "reverse", *Links._fields[1:])


class ChainKinds(NamedTuple):
    """All causal chains of a run, one for each leaf of the forest of causes.

    Attributes
    ----------
    step : ndarray of int64, shape (n_chains,)
        The step of each chain's first backup.
    length : ndarray of int32, shape (n_chains,)
        Number of states of each chain.
    kind : ndarray of int8, shape (n_chains,)
        The kind of each chain, as an index into ``KINDS``.
    """

    step: NDArray[np.int64]
    length: NDArray[np.int32]
    kind: NDArray[np.int8]


def chain_kinds(
    steps: Columns | Experience, backups: Columns, *, across_events: bool = False
) -> ChainKinds:
    """Classify all causal chains of a model's run without listing them.

    In decoded replay, and in models that compute no values, orientations are unknown; their chains,
    which have no backups in common, are classified one by one.

    Parameters
    ----------
    steps : dict of ndarray or Experience
        The steps of the run, or an index of them, which can be used again.
    backups : dict of ndarray
        The backups of the run.
    across_events : bool, default False
        Whether causes are followed into earlier replay events; novelty is then judged at the time
        of the first.

    Returns
    -------
    ChainKinds
        Step, length and kind of each chain, the same as those from `classify`.

    Raises
    ------
    TypeError
        If `steps` or `backups` is not a table.
    ValueError
        If a column is missing or does not hold whole numbers, steps descend, or a cause is not an
        earlier row.

    See Also
    --------
    GrowingChains : The same for a run that arrives in blocks.

    Examples
    --------
    >>> from analyses.tables import KINDS
    >>> steps = {"episode": np.zeros(2, int), "step": np.arange(2),
    ...          "state": np.array([0, 1]), "next_state": np.array([1, 2])}
    >>> backups = {"event": np.zeros(2, int), "step": np.ones(2, int), "state": np.array([1, 0]),
    ...            "next_state": np.array([2, 1]), "action": np.zeros(2, int),
    ...            "cause": np.array([-1, 0])}
    >>> kinds = chain_kinds(steps, backups)
    >>> kinds.length.tolist(), [KINDS[kind] for kind in kinds.kind]
    ([3], ['reverse_episode'])
    """
    names = ("event", "step", "state", "next_state", "action", "cause")
    wide = dict.fromkeys(("event", "step", "cause"), np.int64)
    checked = dict(zip(names, whole_columns(backups, names, "backups", wide), strict=True))
    if (checked["step"][1:] < checked["step"][:-1]).any():
        raise ValueError("The column 'step' of backups must not descend: sort backups by it.")
    return GrowingChains(across_events).extend(steps, checked)


class GrowingChains:
    """The causal chains of a run that arrives in blocks.

    From block to block, only those backups are kept that later ones may continue.

    Parameters
    ----------
    across_events : bool
        As for `chain_kinds`. Chains within an event never continue in a later block.
    """

    def __init__(self, across_events: bool) -> None:
        self._across_events = check_flag("across_events", across_events)
        self._open = np.empty(0, dtype=_OPEN)

    @property
    def n_open(self) -> int:
        """Number of backups that are kept because later ones may continue them."""
        return len(self._open)

    def extend(
        self,
        steps: Columns | Experience,
        backups: Columns,
        first_row: int = 0,
        causes: NDArray[np.int64] = _NO_ROWS,
    ) -> ChainKinds:
        """Add the next block, and classify the chains that no later backup can continue.

        Parameters
        ----------
        steps : dict of ndarray or Experience
            The steps of the run up to the end of the block, or an index of them.
        backups : dict of ndarray
            The backups of the block.
        first_row : int, default 0
            Number of backups before this block; `cause` counts rows from the beginning of the run.
        causes : ndarray of int64, optional
            The rows, counted from the beginning of the run, that may be the cause of later backups;
            ascending.

        Returns
        -------
        ChainKinds
            Chains that end in this block, and those of earlier blocks that turn out to have ended.

        Raises
        ------
        ValueError
            If a cause is not an earlier row, or one that could no longer be a cause.
        """
        opened, n_open = self._open, len(self._open)
        last = causes if self._across_events else causes[:0]
        begun = None
        if first_row:
            backups = self._joined(backups, first_row)
            nowhere = np.full(n_open, -1, dtype=np.int32)
            begun = Links(nowhere, *(opened[name] for name in Links._fields[1:]))
        links = link_backups(backups, across_events=self._across_events, begun=begun)
        place = np.empty(len(last), dtype=np.int64)
        _refuse(_find_rows(last, first_row, opened["row"], place), last, first_row)
        experience = steps if isinstance(steps, Experience) else Experience(steps)
        n = len(links.parent)
        symbol = experience.symbols(backups["state"], backups["next_state"], backups["action"])
        root, forward, reverse = (uninitialised(n, np.int32) for _ in range(3))
        n_moves = uninitialised(n, np.int64)
        _count_moves(experience.step, backups["step"], n_open, n_moves)
        text = experience.text, experience.begins, backups["event"]
        is_closed = not n_open and not len(last)
        if not (is_closed and _run_back(*text, symbol, n_moves, links, root, reverse)):
            forward[:n_open], reverse[:n_open] = opened["forward"], opened["reverse"]
            _follow(experience.automaton, symbol, n_moves, links, n_open, root, forward, reverse)

        self._open = np.empty(len(last), dtype=_OPEN)
        columns = {**backups, **links._asdict(), "forward": forward, "reverse": reverse}
        self._open["row"], self._open["step"] = last, backups["step"][root[place]]
        for name in _CARRIED:
            self._open[name] = columns[name][place]
        links.is_leaf[place] = False
        n_chains = int(np.count_nonzero(links.is_leaf))
        types = (np.int64, np.int32, np.int8)
        kinds = ChainKinds(*(uninitialised(n_chains, each) for each in types))
        decoded = _decoded_kinds(experience, backups, links, n_moves)
        rows = backups["step"], backups["action"]
        _list_kinds(*rows, links, root, forward, reverse, decoded, kinds)
        return kinds

    def _joined(self, backups: Columns, first_row: int) -> Columns:
        """Prepend the open backups to those of a block, and renumber causes accordingly."""
        n_open, named = len(self._open), backups["cause"]
        columns = dict(backups)
        if n_open:
            for name in ("event", "state", "next_state", "action", "step"):
                columns[name] = uninitialised(n_open + len(named), backups[name].dtype)
                columns[name][:n_open], columns[name][n_open:] = self._open[name], backups[name]
        cause = uninitialised(n_open + len(named), np.int64)
        cause[:n_open] = -1
        opened = self._open["row"] if self._across_events else None
        _refuse(_find_rows(named, first_row, opened, cause[n_open:]), named, first_row)
        return columns | {"cause": cause}


def _decoded_kinds(
    experience: Experience, backups: Columns, links: Links, n_moves: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Classify the chains of unknown orientation, in the order of their last moves."""
    is_decoded = links.is_leaf & (backups["action"] < 0)
    if not is_decoded.any():
        return np.empty(0, dtype=np.int32)
    found = chains(links._replace(is_leaf=is_decoded))
    limit = n_moves[found.rows[found.offset[:-1]]]
    return classify_chains(experience, backups, found, limit).kind


def _refuse(lost: int, rows: NDArray[np.int64], first_row: int) -> None:
    if lost >= 0:
        raise ValueError(
            f"A backup in or after row {first_row} has row {rows[lost]} as its cause, which may no "
            "longer be a cause: the learner's causes() must list it."
        )


@kernel
def _find_rows(
    rows: NDArray[np.int64],
    first_row: int,
    opened: NDArray[np.int64] | None,
    place: NDArray[np.int64],
) -> int:
    """Find rows of the run among the open ones (None: none is open) and the block that follows.

    Returns the index of a row that is in neither, or -1.
    """
    for i in range(len(rows)):
        row = rows[i]
        if opened is None:
            place[i] = max(row - first_row, -1)
        elif row >= first_row:
            place[i] = row - first_row + len(opened)
        elif row < 0:
            place[i] = -1
        else:
            place[i] = np.searchsorted(opened, row)
            if place[i] == len(opened) or opened[place[i]] != row:
                return i
    return -1


@kernel
def _count_moves(
    move_step: NDArray[np.int64],
    step: NDArray[np.int64],
    n_open: int,
    n_moves: NDArray[np.int64],
) -> None:
    """Count the moves made by each step; steps ascend after the open rows."""
    place = 0
    for row in range(len(step)):
        if row <= n_open:
            place = np.searchsorted(move_step, step[row], side="right")
        while place < len(move_step) and move_step[place] <= step[row]:
            place += 1
        n_moves[row] = place


@kernel
def _list_kinds(
    step: NDArray[np.int64],
    action: NDArray[np.int32],
    links: Links,
    root: NDArray[np.int32],
    forward: NDArray[np.int32],
    reverse: NDArray[np.int32],
    decoded: NDArray[np.int32],
    kinds: ChainKinds,
) -> None:
    """List the chains, one per leaf."""
    chain, n_decoded = 0, 0
    for row in range(len(links.is_leaf)):
        if not links.is_leaf[row]:
            continue
        if action[row] < 0:
            node, kind = 0, decoded[n_decoded]
            n_decoded += 1
        elif links.fits[row] & FITS_REVERSE:
            node, kind = reverse[row], REVERSE_EPISODE
            if links.fits[row] & FITS_FORWARD and links.length[row] > 2:
                kind = AMBIGUOUS
        else:
            node, kind = forward[row], FORWARD_EPISODE
        if node == _IS_COMPOSED:
            kind = NOVEL_PATH
        elif node == _IS_UNEXPERIENCED:
            kind = NEVER_TAKEN
        kinds.step[chain] = step[root[row]]
        kinds.length[chain] = links.length[row]
        kinds.kind[chain] = kind
        chain += 1


@kernel
def _run_back(
    text: NDArray[np.int32],
    begins: NDArray[np.bool_],
    event: NDArray[np.int64],
    symbol: NDArray[np.int32],
    n_moves: NDArray[np.int64],
    links: Links,
    root: NDArray[np.int32],
    reverse: NDArray[np.int32],
) -> bool:
    """Whether each event is the last run backwards, so that no index is needed; if so, write it."""
    last, place = -1, 0
    for row in range(len(symbol)):
        if links.fits[row] == 0:
            continue
        starts_chain = links.parent[row] < 0
        if last < 0 or event[row] != event[last]:
            if not starts_chain:
                return False
            place = n_moves[row]
        elif not starts_chain and (
            links.parent[row] != last or not links.fits[row] & FITS_REVERSE or begins[place]
        ):
            return False
        place -= 1
        if place < 0 or text[place] != symbol[row]:
            return False
        root[row] = row if starts_chain else root[last]
        reverse[row] = 0
        last = row
    return True


@kernel
def _follow(
    automaton: SuffixAutomaton,
    symbol: NDArray[np.int32],
    n_moves: NDArray[np.int64],
    links: Links,
    n_open: int,
    root: NDArray[np.int32],
    forward: NDArray[np.int32],
    reverse: NDArray[np.int32],
) -> None:
    """Find the node of the path up to each backup in the index, if that path was experienced."""
    nodes = automaton.nodes
    for row in range(n_open):
        root[row] = row
        for reached in (forward, reverse):
            if links.fits[row] != 0 and reached[row] > 0:
                reached[row] = relocated(automaton, reached[row], links.length[row] - 1)
    for row in range(n_open, len(symbol)):
        if links.fits[row] == 0:
            root[row] = row
            continue
        before, move = links.parent[row], symbol[row]
        root[row] = root[before] if before >= 0 else row
        limit = n_moves[root[row]]
        if move < 0 or nodes[automaton.from_root[move]]["first_end"] >= limit:
            forward[row] = _IS_UNEXPERIENCED
            reverse[row] = _IS_UNEXPERIENCED
        elif before < 0:
            forward[row] = automaton.from_root[move]
            reverse[row] = automaton.from_root[move]
        else:
            node = forward[before]
            if links.fits[row] & FITS_FORWARD and node >= 0:
                node = appended(automaton, node, move)
                if node < 0 or nodes[node]["first_end"] >= limit:
                    node = _IS_COMPOSED
            forward[row] = node
            node = reverse[before]
            if links.fits[row] & FITS_REVERSE and node >= 0:
                n_before = links.length[before] - 1
                node = prepended(automaton, node, n_before, move)
                if node < 0 or nodes[node]["first_end"] >= limit:
                    node = _IS_COMPOSED
            reverse[row] = node
