"""Classification of listed chains: direction, novelty and kind, as arrays of numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analyses.sequences.chains import REVERSE, UNKNOWN, Chains
from analyses.sequences.experience import Experience, stitch
from analyses.sequences.logs import Columns
from analyses.sequences.suffix_automaton import SuffixAutomaton
from analyses.tables import KINDS
from replay.checks.arrays import Int32s, Ints
from replay.jit import kernel

CHAIN_DIRECTIONS = ("forward", "reverse", "both", "neither")
_TAKEN_FORWARD, _TAKEN_REVERSE, _TAKEN_BOTH, _TAKEN_NEITHER = range(4)
CHAIN_NOVELTIES = ("experienced", "composed", "unexperienced")
_EXPERIENCED, _COMPOSED, _UNEXPERIENCED = range(3)
REVERSE_EPISODE, FORWARD_EPISODE, NOVEL_PATH, AMBIGUOUS, NEVER_TAKEN = range(len(KINDS))


class Classes(NamedTuple):
    """The classification of chains; `direction`, `novelty` and `kind` as numbers."""

    # (n_chains,): indices into ``CHAIN_DIRECTIONS``, ``CHAIN_NOVELTIES`` and ``KINDS``
    direction: Int32s
    novelty: Int32s
    kind: Int32s
    # (n_chains,): the least number of experienced pieces; 0 if a move was never made
    n_pieces: Int32s
    n_distinct: Int32s  # (n_chains,): number of different states
    # (n_pieces.sum(): the node of each piece of each chain in the index of experience
    node: Int32s
    splice: Int32s  # (n_pieces.sum(): the state in which each piece ends


class _Moves(NamedTuple):
    """The transition of each backup: `along`, from state to next_state, and `against`, back."""

    # (n_backups,): the transition
    state: Int32s
    next_state: Int32s
    # (n_backups,): the symbol of the move in the index; -1 if it was never made
    along: Int32s
    against: Int32s
    # (n_backups,): number of moves made before this move first was
    first_along: Ints
    first_against: Ints


def classify_chains(
    experience: Experience, backups: Columns, chains: Chains, limit: Ints
) -> Classes:
    """Classify chains by the experience that preceded them: the first `limit` moves for each.

    `backups` has the columns `state, next_state, action` of the whole run.
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
def _classify(
    automaton: SuffixAutomaton,
    moves: _Moves,
    chains: Chains,
    limit: Ints,
    last_seen: Ints,
    classes: Classes,
) -> int:
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
        if not known and all_against:  # of two readings, the one with fewer pieces counts
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
            novelty, kind = _COMPOSED, NOVEL_PATH
        elif n_pieces == 0:
            novelty = _UNEXPERIENCED
            kind = AMBIGUOUS if not known and all_one_way else NEVER_TAKEN
        else:
            novelty = _EXPERIENCED
            to_and_fro = n_distinct == 2 and len(rows) > 1  # fits both directions
            if to_and_fro or (not known and direction == _TAKEN_BOTH):
                kind = AMBIGUOUS
            else:
                kind = REVERSE_EPISODE if reverse or back else FORWARD_EPISODE
        classes.direction[chain] = direction
        classes.novelty[chain] = novelty
        classes.kind[chain] = kind
        classes.n_pieces[chain] = n_pieces
        classes.n_distinct[chain] = n_distinct
    return n_all
