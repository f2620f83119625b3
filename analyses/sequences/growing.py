"""The kinds of all causal chains of a run, in time linear in the backups, and block by block.

Chains share beginnings, which across replay events may be thousands of backups long, so listing all
chains may be infeasible. But the path of a longer chain is that of a shorter one with one more move
before it (reverse) or after it (forward), and the index of experience extends a path by one move
in constant time. The chains of each event and those across events are followed together: they
differ only where a cause lies in an earlier event.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.chains import DECODED, FITS_FORWARD, FITS_REVERSE, chains, link_backups
from analyses.sequences.experience import Experience, Pairs, number_of
from analyses.sequences.kinds import (
    AMBIGUOUS,
    FORWARD_EPISODE,
    NEVER_TAKEN,
    NOVEL_PATH,
    REVERSE_EPISODE,
    classify_chains,
)
from analyses.sequences.logs import Columns, whole_columns
from analyses.sequences.suffix_automaton import SuffixAutomaton, appended, prepended, relocated
from replay.checks import check_flag
from replay.checks.arrays import Int32s, Ints
from replay.jit import count_up_to, inlined, kernel, loop_kernel
from replay.log.backups import PHASES, STEP, uninitialised

WITHIN, ACROSS = 1, 2
_IS_COMPOSED, _IS_UNEXPERIENCED = -1, -2
_NO_ROWS, _NO_KINDS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
_CHAIN = np.dtype(
    [
        ("step", np.int64),
        ("limit", np.int64),
        ("state", np.int32),
        ("next_state", np.int32),
        ("forward", np.int32),
        ("reverse", np.int32),
        ("length", np.int32),
        ("fits", np.uint8),
        ("ends", np.uint8),
        ("differs", np.bool_),
    ],
    align=True,
)
"""The chain that a backup continues or begins: the step of its first backup and the moves made by
then, this backup's states, the nodes of the path read forward and in reverse (or `_IS_COMPOSED`,
`_IS_UNEXPERIENCED`), its number of states, the orientations that fit, in which sense (`WITHIN`,
`ACROSS`) no later backup continues it, and whether these two senses differ up to here."""

_BACKUP = np.dtype(
    [
        ("step", np.int64),
        ("cause", np.int64),
        ("state", np.int32),
        ("next_state", np.int32),
        ("action", np.int32),
        ("phase", np.int8),
    ]
)


class ChainKinds(NamedTuple):
    """Causal chains of a run, one for each leaf of the forest of causes."""

    step: Ints  # (n_chains,): the step of each chain's first backup
    length: Int32s  # (n_chains,): number of states of each chain
    kind: NDArray[np.int8]  # (n_chains,): the kind of each chain, as an index into ``KINDS``
    # (n_chains,): whether it is a chain of one event (``WITHIN``), across events (``ACROSS``), or
    # both
    scope: NDArray[np.uint8]

    @classmethod
    def room(cls, n_chains: int) -> ChainKinds:
        """Make room for chains that a kernel will list."""
        types = (np.int64, np.int32, np.int8, np.uint8)
        return cls(*(uninitialised(n_chains, each) for each in types))

    def only(self, chosen: Any) -> ChainKinds:
        """Choose some of the chains."""
        return ChainKinds(*(column[chosen] for column in self))


def chain_kinds(
    steps: Columns | Experience, backups: Columns, *, across_events: bool = False
) -> ChainKinds:
    """Classify all causal chains of a model's run without listing them.

    In decoded replay, and in models that compute no values, orientations are unknown; their chains,
    which have no backups in common, are classified one by one.
    """
    scope = ACROSS if check_flag("across_events", across_events) else WITHIN
    rows, event = backup_rows(backups)
    if (rows["step"][1:] < rows["step"][:-1]).any():
        raise ValueError("The column 'step' of backups must not descend: sort backups by it.")
    experience = steps if isinstance(steps, Experience) else Experience(steps)
    kinds = GrowingChains().extend(experience, rows, event)
    return kinds.only(kinds.scope & scope > 0)


def backup_rows(backups: Columns) -> tuple[NDArray[np.void], Ints]:
    """Convert the columns of backups to rows, and the event of each."""
    names = ("event", "step", "state", "next_state", "action", "cause")
    wide = dict.fromkeys(("event", "step", "cause"), np.int64)
    event, *columns = whole_columns(backups, names, "backups", wide)
    rows = np.zeros(len(event), dtype=_BACKUP)
    for name, column in zip(names[1:], columns, strict=True):
        rows[name] = column
    return rows, event


class GrowingChains:
    """The causal chains of a run that arrives in blocks; events must not be cut.

    From block to block, only those backups are kept that later ones may continue.
    """

    def __init__(self) -> None:
        self._rows, self._open = _NO_ROWS, np.empty(0, dtype=_CHAIN)

    @property
    def n_open(self) -> int:
        """Number of backups that are kept because later ones may continue them."""
        return len(self._open)

    def extend(
        self,
        experience: Experience,
        backups: NDArray[np.void],
        event: Ints | None = None,
        first_row: int = 0,
        causes: Ints = _NO_ROWS,
    ) -> ChainKinds:
        """Add the next block, and classify the chains that no later backup can continue.

        `backups` are rows as a learner writes them (`replay.log.backups.BACKUP`). Without `event`,
        the event of each, they are those of one step and phase. Later blocks may continue `causes`.
        """
        n_open, n = self.n_open, self.n_open + len(backups)
        across, within = uninitialised(n, _CHAIN), uninitialised(n, _CHAIN)
        across[:n_open] = self._open
        wrong, any_decoded = _follow(
            experience.automaton, experience.pairs, experience.step, backups, event,
            first_row, self._rows, across, within,
        )  # fmt: skip
        if wrong >= 0 and backups["cause"][wrong] >= first_row + wrong:
            raise ValueError(
                f"A cause must be an earlier row of the run's backups; row {first_row + wrong} "
                f"names row {backups['cause'][wrong]}."
            )
        _refuse(backups["cause"], wrong, first_row)
        still_open = np.empty(len(causes), dtype=_CHAIN)
        lost = _keep_open(causes, first_row, self._rows, across, still_open)
        _refuse(causes, lost, first_row)
        self._rows, self._open = causes, still_open
        decoded = _NO_KINDS
        if any_decoded:  # these chains share no backups, so that listing them takes no longer
            names = ("step", "state", "next_state", "action")
            columns = {name: backups[name] for name in names}
            if event is None:
                pause = np.stack((backups["step"], backups["phase"]))
                event = np.cumsum((np.diff(pause, prepend=pause[:, :1]) != 0).any(axis=0))
                event = np.where(backups["phase"] < STEP, -1, event)
            links = link_backups({**columns, "event": event, "cause": np.full(len(backups), -1)})
            found = chains(links._replace(is_leaf=links.is_leaf & (columns["action"] < 0)))
            limit = experience.moves_by(columns["step"][found.rows[found.offset[:-1]]])
            decoded = classify_chains(experience, columns, found, limit).kind
        kinds = ChainKinds.room(2 * n)  # each backup may end one within its event, and one across
        n_chains = _list_kinds(across, within, decoded, kinds)
        return kinds.only(slice(n_chains))


def _refuse(rows: Ints, lost: int, first_row: int) -> None:
    if lost >= 0:
        raise ValueError(
            f"A backup in or after row {first_row} has row {rows[lost]} as its cause, which may no "
            "longer be a cause: the learner's causes() must list it."
        )


@inlined
def _place_of(row: int, first_row: int, open_rows: Ints) -> int:
    """Find a row of the run among the open ones and the block that follows; -1 if in neither."""
    place = row - first_row + len(open_rows)
    if row < first_row:
        place = count_up_to(open_rows, row) - 1
        if place >= 0 and open_rows[place] != row:
            place = -1
    return place


@kernel
def _keep_open(
    rows: Ints,
    first_row: int,
    open_rows: Ints,
    across: NDArray[np.void],
    still_open: NDArray[np.void],
) -> int:
    """Keep the chains that end in these rows for later; return the index of a row that is nowhere.

    Within an event, no later backup continues them. -1 if all are found.
    """
    for i in range(len(rows)):
        place = _place_of(rows[i], first_row, open_rows)
        if place < 0:
            return i
        still_open[i] = across[place]
        still_open[i]["ends"] &= ACROSS
        across[place]["ends"] &= WITHIN
    return -1


@loop_kernel
def _follow(
    automaton: SuffixAutomaton,
    pairs: Pairs,
    move_step: Ints,
    backups: NDArray[np.void],
    event: Ints | None,
    first_row: int,
    open_rows: Ints,
    across: NDArray[np.void],
    within: NDArray[np.void],
) -> tuple[int, bool]:
    """Link each backup to its cause, and follow the path up to it in the index of experience.

    Returns a row whose cause is not an earlier row or is unknown, or -1; and whether any backup is
    decoded.
    """
    n_open = len(open_rows)
    # The index has grown since the last block, and may have split the nodes of open chains.
    for place in range(n_open):
        chain = across[place]
        if chain["fits"] and chain["forward"] > 0:
            chain["forward"] = relocated(automaton, chain["forward"], chain["length"] - 1)
        if chain["fits"] and chain["reverse"] > 0:
            chain["reverse"] = relocated(automaton, chain["reverse"], chain["length"] - 1)
    any_decoded = False
    n_moves, begin, last = 0, n_open, -1
    if len(backups) > 0:
        n_moves = count_up_to(move_step, backups[0]["step"])
    for i in range(len(backups)):
        row, place = backups[i], n_open + i
        state, next_state, cause = row["state"], row["next_state"], row["cause"]
        while n_moves < len(move_step) and move_step[n_moves] <= row["step"]:
            n_moves += 1
        if event is None:
            number = row["step"] * len(PHASES) + row["phase"] if row["phase"] >= STEP else -1
        else:
            number = event[i]
        if number != last:
            begin, last = place, number
        before = -1
        if cause >= 0:
            if cause < first_row + i:
                before = _place_of(cause, first_row, open_rows)
            if before < 0:
                return i, False
        chain = across[place]
        chain["state"], chain["next_state"] = state, next_state
        chain["fits"], chain["ends"], chain["differs"] = 0, 0, False
        if number < 0 or state == next_state:
            continue
        fitting, move = FITS_FORWARD | FITS_REVERSE, -1
        decoded = row["action"] < 0
        if decoded:
            fitting, before, any_decoded = DECODED, place - 1, True
        else:
            move = number_of(pairs, state, next_state)
        is_same_event = before >= begin
        if event is not None:  # those of a user need not be in one piece
            is_same_event = before >= n_open and event[before - n_open] == number
        # The chain across events continues that of its cause, wherever this lies; the chain within
        # this event only if the cause lies in it too. Both are one, kept in `across`, until a cause
        # lies in an earlier event: then that within the event begins anew, in `within`, and from
        # there each of the two is followed by itself. Where neither continues, they are one again.
        if before < 0 or (decoded and not is_same_event):
            fitting_before, fitting_within = 0, 0
        else:
            joins = 0
            if state == across[before]["next_state"]:
                joins |= FITS_FORWARD | DECODED
            if next_state == across[before]["state"]:
                joins |= FITS_REVERSE
            fitting_before = joins & fitting & across[before]["fits"]
            fitting_within = 0
            if is_same_event and across[before]["differs"]:
                fitting_within = joins & fitting & within[before]["fits"]
            elif is_same_event:
                fitting_within = fitting_before
        is_known = move >= 0 and pairs.place[move] < n_moves
        alone = automaton.from_root[move] if is_known else _IS_UNEXPERIENCED
        if fitting_before:
            _continue(automaton, pairs, across, before, place, fitting_before, move)
            across[before]["ends"] &= WITHIN
        else:
            _begin(chain, row["step"], n_moves, fitting, alone)
        if fitting_within:
            across[before]["ends"] &= ACROSS
        chain["ends"] = WITHIN | ACROSS
        if before < 0 or (not fitting_before and not fitting_within):
            continue
        chain["differs"] = not is_same_event or across[before]["differs"]
        if chain["differs"] and fitting_within:
            _continue(automaton, pairs, within, before, place, fitting_within, move)
        elif chain["differs"]:
            _begin(within[place], row["step"], n_moves, fitting, alone)
    return -1, any_decoded


@inlined
def _begin(chain: Any, step: int, limit: int, fits: int, node: int) -> None:
    chain["step"] = step
    chain["limit"] = limit
    chain["length"] = 2
    chain["fits"] = fits
    chain["forward"] = node
    chain["reverse"] = node


@inlined
def _continue(
    automaton: SuffixAutomaton,
    pairs: Pairs,
    chains: NDArray[np.void],
    before: int,
    place: int,
    fits: int,
    move: int,
) -> None:
    """Add a move to a chain: at its end as read forward, at its beginning as read in reverse."""
    old, new = chains[before], chains[place]
    limit, nodes = old["limit"], automaton.nodes
    forward, reverse = old["forward"], old["reverse"]
    if move < 0 or pairs.place[move] >= limit:
        forward = reverse = _IS_UNEXPERIENCED
    else:
        if fits & FITS_FORWARD and forward >= 0:
            forward = appended(automaton, forward, move)
            if forward < 0 or nodes[forward]["first_end"] >= limit:
                forward = _IS_COMPOSED
        if fits & FITS_REVERSE and reverse >= 0:
            reverse = prepended(automaton, reverse, old["length"] - 1, move)
            if reverse < 0 or nodes[reverse]["first_end"] >= limit:
                reverse = _IS_COMPOSED
    new["step"] = old["step"]
    new["limit"] = limit
    new["length"] = old["length"] + 1
    new["fits"] = fits
    new["forward"] = forward
    new["reverse"] = reverse


@loop_kernel
def _list_kinds(
    across: NDArray[np.void], within: NDArray[np.void], decoded: Int32s, kinds: ChainKinds
) -> int:
    """List the chains that end, in the order of their last backups; return how many there are."""
    n_chains, n_decoded = 0, 0
    for place in range(len(across)):
        ends = across[place]["ends"]
        if ends == 0:
            continue
        for scope in (WITHIN, ACROSS):
            chain = across[place]
            if chain["differs"] and scope == WITHIN:
                chain = within[place]
            if not ends & scope or (scope == ACROSS and ends & WITHIN and not chain["differs"]):
                continue
            fits, kind = chain["fits"], FORWARD_EPISODE
            node = chain["forward"]
            if fits & FITS_REVERSE:
                kind, node = REVERSE_EPISODE, chain["reverse"]
                if fits & FITS_FORWARD and chain["length"] > 2:  # to and fro between two states
                    kind = AMBIGUOUS
            if node == _IS_COMPOSED:
                kind = NOVEL_PATH
            elif node == _IS_UNEXPERIENCED:
                kind = NEVER_TAKEN
            if fits & DECODED:
                kind = decoded[n_decoded]
                n_decoded += 1
            kinds.step[n_chains] = chain["step"]
            kinds.length[n_chains] = chain["length"]
            kinds.kind[n_chains] = kind
            kinds.scope[n_chains] = scope if across[place]["differs"] else ends
            n_chains += 1
    return n_chains
