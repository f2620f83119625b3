"""Direction, novelty and kind of chains, as numbers in arrays.

`classify_chains` takes chains one by one and finds all there is to know of each. `chain_kinds`
finds only the kinds, of all causal chains of a run, in time linear in the backups. Chains share
beginnings, across replay events thousands of backups long, so listing them all may be out of
reach. But a longer chain's path is a shorter one's with one more move before it (reverse) or after
it (forward), and the index of experience tells in constant time what becomes of it.
"""

from typing import NamedTuple

import numpy as np

from analyses.experience import Experience, stitch
from analyses.sequences import (
    FITS_FORWARD,
    FITS_REVERSE,
    REVERSE,
    UNKNOWN,
    Chains,
    Columns,
    Links,
    link_backups,
)
from analyses.suffix_automaton import appended, prepended, relocated
from analyses.tables import KINDS
from replay.arrays import uninitialised
from replay.jit import kernel

__all__ = ["DIRECTIONS", "NOVELTIES", "ChainKinds", "Classes", "GrowingChains", "chain_kinds"]
__all__ += ["classify_chains"]

DIRECTIONS = ("forward", "reverse", "both", "neither")
_TAKEN_FORWARD, _TAKEN_REVERSE, _TAKEN_BOTH, _TAKEN_NEITHER = range(4)
NOVELTIES = ("experienced", "composed", "unexperienced")
_EXPERIENCED, _COMPOSED, _UNEXPERIENCED = range(3)
_REVERSE_EPISODE, _FORWARD_EPISODE, _NOVEL_PATH, _AMBIGUOUS, _NEVER_TAKEN = range(len(KINDS))
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
        ("ways", np.uint8),
        ("is_leaf", np.bool_),
    ]
)
"""A backup that later ones may continue; `step` is that of its chain's first backup."""
_CARRIED = ("event", "state", "next_state", "action", "forward", "reverse", *Links._fields[1:])


class Classes(NamedTuple):
    """What chains are; `direction`, `novelty` and `kind` as numbers.

    Attributes
    ----------
    direction, novelty, kind : ndarray of int32, shape (n_chains,)
        In ``DIRECTIONS``, ``NOVELTIES`` and ``KINDS``.
    n_pieces : ndarray of int32, shape (n_chains,)
        The least number of experienced pieces; 0 if a move was never made.
    n_distinct : ndarray of int32, shape (n_chains,)
        Number of different states.
    node : ndarray of int32, shape (n_pieces.sum(),)
        Each piece of each chain in the index of experience.
    splice : ndarray of int32, shape (n_pieces.sum(),)
        The state in which each piece ends.
    """

    direction: np.ndarray
    novelty: np.ndarray
    kind: np.ndarray
    n_pieces: np.ndarray
    n_distinct: np.ndarray
    node: np.ndarray
    splice: np.ndarray


class ChainKinds(NamedTuple):
    """All causal chains of a run, one for each leaf of the forest of causes.

    Attributes
    ----------
    step : ndarray of int64, shape (n_chains,)
        When the chain's first backup was made.
    length : ndarray of int32, shape (n_chains,)
        Its number of states.
    kind : ndarray of int8, shape (n_chains,)
        Its kind, as a number in ``KINDS``.
    """

    step: np.ndarray
    length: np.ndarray
    kind: np.ndarray


class _Moves(NamedTuple):
    """The transition of each backup, `along` from state to next_state and `against` it, back.

    Attributes
    ----------
    state, next_state : ndarray of int32, shape (n_backups,)
        The transition.
    along, against : ndarray of int32, shape (n_backups,)
        Its symbol in the index; -1 if it was never made.
    first_along, first_against : ndarray of int64, shape (n_backups,)
        How many moves had been made before it first was.
    """

    state: np.ndarray
    next_state: np.ndarray
    along: np.ndarray
    against: np.ndarray
    first_along: np.ndarray
    first_against: np.ndarray


def classify_chains(
    experience: Experience, backups: Columns, chains: Chains, limit: np.ndarray
) -> Classes:
    """Classify chains by what had been experienced.

    Parameters
    ----------
    experience : Experience
        The index of the run's moves.
    backups : dict of ndarray
        The columns `state, action, next_state` of the run's backups.
    chains : Chains
        Their chains.
    limit : ndarray of int64, shape (n_chains,)
        How many moves count for each.

    Returns
    -------
    Classes
        One entry for each chain.

    Raises
    ------
    ValueError
        If actions count and decoded replay has none.
    """
    state, next_state = backups["state"], backups["next_state"]
    along = experience.symbols(state, next_state, backups["action"])
    decoded = bool((chains.orientation == UNKNOWN).any())
    if decoded and experience.by == "actions":
        raise ValueError("by='actions' needs the action of every backup; decoded replay has none.")
    moves = _Moves(
        state,
        next_state,
        along,
        experience.symbols(next_state, state) if decoded else along,
        experience.first_moves(state, next_state),
        experience.first_moves(next_state, state),
    )
    n_chains, n_links = len(limit), len(chains.rows)
    classes = Classes(
        *(np.empty(n_chains, dtype=np.int32) for _ in range(5)),
        *(np.empty(n_links, dtype=np.int32) for _ in range(2)),
    )
    last_seen = np.full(max(state.max(initial=0), next_state.max(initial=0)) + 1, -1)
    n_all = _classify(experience.automaton, moves, chains, limit, last_seen, classes)
    return classes._replace(node=classes.node[:n_all], splice=classes.splice[:n_all])


@kernel
def _classify(automaton, moves, chains, limit, last_seen, classes):
    longest = 0
    for chain in range(len(limit)):
        longest = max(longest, chains.offset[chain + 1] - chains.offset[chain])
    ends, ends_back = np.empty((2, longest), np.int32)
    nodes, nodes_back = np.empty((2, longest), np.int32)
    n_all = 0
    for chain in range(len(limit)):
        rows = chains.rows[chains.offset[chain] : chains.offset[chain + 1]]
        n_moves = limit[chain]
        known = chains.orientation[chain] != UNKNOWN
        reverse = chains.orientation[chain] == REVERSE

        n_distinct = 0
        all_along, all_against, all_one_way = True, True, True
        for row in rows:
            along, against = moves.first_along[row] < n_moves, moves.first_against[row] < n_moves
            all_along &= along
            all_against &= against
            all_one_way &= along or against
            for state in (moves.state[row], moves.next_state[row]):
                n_distinct += last_seen[state] != chain
                last_seen[state] = chain
        if all_along and all_against:
            direction = _TAKEN_BOTH
        elif all_along or all_against:  # a reverse chain lists states against its transitions
            direction = _TAKEN_FORWARD if all_along != reverse else _TAKEN_REVERSE
        else:
            direction = _TAKEN_NEITHER

        n_pieces = 0
        if known or all_along:
            n_pieces = stitch(automaton, moves.along, rows, reverse, n_moves, ends, nodes)
        back = False
        if not known and all_against:
            n_back = stitch(automaton, moves.against, rows, True, n_moves, ends_back, nodes_back)
            back = n_pieces == 0 or n_back < n_pieces
            n_pieces = n_back if back else n_pieces
        for piece in range(n_pieces):
            classes.node[n_all] = nodes_back[piece] if back else nodes[piece]
            if back:
                splice = moves.state[rows[len(rows) - ends_back[piece]]]
            elif reverse:
                splice = moves.next_state[rows[len(rows) - ends[piece]]]
            else:
                splice = moves.next_state[rows[ends[piece] - 1]]
            classes.splice[n_all] = splice
            n_all += 1

        if n_pieces > 1:
            novelty, kind = _COMPOSED, _NOVEL_PATH
        elif n_pieces == 0:
            novelty = _UNEXPERIENCED
            kind = _AMBIGUOUS if not known and all_one_way else _NEVER_TAKEN
        else:
            novelty = _EXPERIENCED
            if not known and direction == _TAKEN_BOTH:
                kind = _AMBIGUOUS
            else:
                kind = _REVERSE_EPISODE if reverse or back else _FORWARD_EPISODE
        classes.direction[chain] = direction
        classes.novelty[chain] = novelty
        classes.kind[chain] = kind
        classes.n_pieces[chain] = n_pieces
        classes.n_distinct[chain] = n_distinct
    return n_all


def chain_kinds(
    steps: Columns | Experience, backups: Columns, *, across_events: bool = False
) -> ChainKinds:
    """Classify all causal chains of a model's run without listing them.

    Parameters
    ----------
    steps : dict of ndarray or Experience
        The steps of the run, or the index made of them, to use it more than once.
    backups : dict of ndarray
        The backups of the run.
    across_events : bool, default False
        Whether causes are followed into earlier replay events; novelty is then judged at the first.

    Returns
    -------
    ChainKinds
        Step, length and kind of each chain, the same as those from `classify`.

    Raises
    ------
    ValueError
        If a cause is not an earlier row, or backups have no action (decoded replay).

    See Also
    --------
    GrowingChains : The same for a run that comes block by block.

    Examples
    --------
    >>> steps = {"episode": np.zeros(2, int), "step": np.arange(2),
    ...          "state": np.array([0, 1]), "next_state": np.array([1, 2])}
    >>> backups = {"event": np.zeros(2, int), "step": np.ones(2, int), "state": np.array([1, 0]),
    ...            "next_state": np.array([2, 1]), "action": np.zeros(2, int),
    ...            "cause": np.array([-1, 0])}
    >>> kinds = chain_kinds(steps, backups)
    >>> kinds.length.tolist(), [KINDS[kind] for kind in kinds.kind]
    ([3], ['reverse_episode'])
    """
    return GrowingChains(across_events).extend(steps, backups)


class GrowingChains:
    """The causal chains of a run that comes block by block.

    Only what later backups may continue is kept from block to block.

    Parameters
    ----------
    across_events : bool
        As for `chain_kinds`. Chains within an event never go on in a later block.
    """

    def __init__(self, across_events: bool) -> None:
        self._across_events = across_events
        self._open = np.empty(0, dtype=_OPEN)

    @property
    def n_open(self) -> int:
        """How many backups are kept, because later ones may continue them."""
        return len(self._open)

    def extend(
        self,
        steps: Columns | Experience,
        backups: Columns,
        first_row: int = 0,
        causes: np.ndarray = _NO_ROWS,
    ) -> ChainKinds:
        """Take the next block, and classify the chains that no later backup can continue.

        Parameters
        ----------
        steps : dict of ndarray or Experience
            The steps of the run until the end of the block, or the index made of them.
        backups : dict of ndarray
            The backups of the block.
        first_row : int, default 0
            How many backups came before; `cause` counts from the beginning of the run.
        causes : ndarray of int64, optional
            The rows, counted likewise, that later backups may name; ascending.

        Returns
        -------
        ChainKinds
            Chains that end in this block or, as is known only now, in an earlier one.

        Raises
        ------
        ValueError
            If a cause is not an earlier row or was to be named no more, or backups have no action
            (decoded replay).
        """
        opened, n_open = self._open, len(self._open)
        last = causes if self._across_events else causes[:0]
        begun = None
        if first_row:
            backups = self._joined(backups, first_row)
            begun = Links(np.full(n_open, -1), *(opened[name] for name in Links._fields[1:]))
        links = link_backups(backups, across_events=self._across_events, begun=begun)
        place = np.empty(len(last), dtype=np.int64)
        _check(_find_rows(last, first_row, opened["row"], place), last, first_row)
        experience = steps if isinstance(steps, Experience) else Experience(steps)
        n = len(links.parent)
        symbol = experience.symbols(backups["state"], backups["next_state"], backups["action"])
        root, forward, reverse = (uninitialised(n, np.int32) for _ in range(3))
        n_moves = uninitialised(n, np.int64)
        _count_moves(experience.step, backups["step"], n_moves)
        if (
            n_open
            or len(last)
            or not _run_back(
                experience.text,
                experience.begins,
                backups["event"],
                symbol,
                n_moves,
                links,
                root,
                reverse,
            )
        ):
            forward[:n_open], reverse[:n_open] = opened["forward"], opened["reverse"]
            _follow(experience.automaton, symbol, n_moves, links, n_open, root, forward, reverse)

        self._open = np.empty(len(last), dtype=_OPEN)
        columns = {**backups, **links._asdict(), "forward": forward, "reverse": reverse}
        self._open["row"], self._open["step"] = last, backups["step"][root[place]]
        for name in _CARRIED:
            self._open[name] = columns[name][place]
        links.is_leaf[place] = False
        n_chains = int(np.count_nonzero(links.is_leaf))
        kinds = ChainKinds(
            *(uninitialised(n_chains, kind) for kind in (np.int64, np.int32, np.int8))
        )
        if not _list_kinds(
            backups["step"], backups["action"], links, root, forward, reverse, kinds
        ):
            raise ValueError("Decoded replay (action -1) has no orientation: use classify instead.")
        return kinds

    def _joined(self, backups: Columns, first_row: int) -> Columns:
        """Put what is open before the backups of a block, and count causes from there."""
        n_open, named = len(self._open), backups["cause"]
        columns = dict(backups)
        if n_open:
            for name in ("event", "state", "next_state", "action", "step"):
                columns[name] = uninitialised(n_open + len(named), backups[name].dtype)
                columns[name][:n_open], columns[name][n_open:] = self._open[name], backups[name]
        cause = uninitialised(n_open + len(named), np.int64)
        cause[:n_open] = -1
        opened = self._open["row"] if self._across_events else None
        _check(_find_rows(named, first_row, opened, cause[n_open:]), named, first_row)
        return columns | {"cause": cause}


def _check(lost: int, rows: np.ndarray, first_row: int) -> None:
    if lost >= 0:
        raise ValueError(
            f"A backup from row {first_row} on names row {rows[lost]} as its cause, which was not "
            "among those that could be named yet: the learner's causes() must list it."
        )


@kernel
def _find_rows(rows, first_row, opened, place):
    """Find rows of the run among those open (None: all are over) and the block that follows.

    Returns which one is in neither; -1: none.
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
def _count_moves(move_step, step, n_moves):
    """Count the moves made by each step; steps ascend but for a few."""
    place = 0
    for row in range(len(step)):
        if row == 0 or step[row] < step[row - 1]:
            place = np.searchsorted(move_step, step[row], side="right")
        while place < len(move_step) and move_step[place] <= step[row]:
            place += 1
        n_moves[row] = place


@kernel
def _list_kinds(step, action, links, root, forward, reverse, kinds):
    """List the chains of all leaves; returns whether all have an orientation."""
    chain = 0
    for row in range(len(links.is_leaf)):
        if not links.is_leaf[row]:
            continue
        if action[row] < 0:
            return False
        if links.ways[row] & FITS_REVERSE:
            node, kind = reverse[row], _REVERSE_EPISODE
        else:
            node, kind = forward[row], _FORWARD_EPISODE
        if node == _IS_COMPOSED:
            kind = _NOVEL_PATH
        elif node == _IS_UNEXPERIENCED:
            kind = _NEVER_TAKEN
        kinds.step[chain] = step[root[row]]
        kinds.length[chain] = links.length[row]
        kinds.kind[chain] = kind
        chain += 1
    return True


@kernel
def _run_back(text, begins, event, symbol, n_moves, links, root, reverse):
    """Tell whether each event is what was run last, backwards, so that no index is needed."""
    last, place = -1, 0
    for row in range(len(symbol)):
        if links.ways[row] == 0:
            continue
        starts_chain = links.parent[row] < 0
        if last < 0 or event[row] != event[last]:
            if not starts_chain:
                return False
            place = n_moves[row]
        elif not starts_chain and (
            links.parent[row] != last or not links.ways[row] & FITS_REVERSE or begins[place]
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
def _follow(automaton, symbol, n_moves, links, n_open, root, forward, reverse):
    """Find the node in the index of the path up to each backup, if it was experienced."""
    nodes = automaton.nodes
    for row in range(n_open):
        root[row] = row
        for node in (forward, reverse):
            if links.ways[row] != 0 and node[row] > 0:
                node[row] = relocated(automaton, node[row], links.length[row] - 1)
    for row in range(n_open, len(symbol)):
        if links.ways[row] == 0:
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
            if links.ways[row] & FITS_FORWARD and node >= 0:
                node = appended(automaton, node, move)
                if node < 0 or nodes[node]["first_end"] >= limit:
                    node = _IS_COMPOSED
            forward[row] = node
            node = reverse[before]
            if links.ways[row] & FITS_REVERSE and node >= 0:
                n_before = links.length[before] - 1
                node = prepended(automaton, node, n_before, move)
                if node < 0 or nodes[node]["first_end"] >= limit:
                    node = _IS_COMPOSED
            reverse[row] = node
