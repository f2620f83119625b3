"""An index of everything that one agent has experienced, with the time of each experience.

The text that is indexed is the sequence of moves (a state and the next state) of each episode.
Staying in a state is not a move. A path had been *experienced* by a given step if its moves had
been made in immediate succession within one episode. Other paths are composed of *pieces*: the
longest experienced beginning is split off again and again, which gives the least number of pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.ends import LatestEnds, second_ends
from analyses.sequences.logs import Columns, whole_columns
from analyses.sequences.suffix_automaton import (
    GrowingAutomaton,
    SuffixAutomaton,
    appended,
    prepended,
)
from replay.checks import check_array, check_choice, check_whole
from replay.checks.arrays import Bools, Int32s, Ints
from replay.jit import inlined, jitable, kernel, loop_kernel
from replay.log.backups import GrowingArray, uninitialised

_BY = ("states", "actions")


class PathPiece(NamedTuple):
    """A stretch of a path that was run contiguously."""

    # the stretch is ``path[begin:end + 1]``
    begin: int
    end: int
    episode: int  # the latest episode that contains it


class Pairs(NamedTuple):
    """The different pairs of two columns, numbered by first occurrence; a list per first value."""

    # (n_firsts,): the latest pair whose first number is this; -1 if there is none
    first: Int32s
    # (n_pairs,): the second number of each pair, and the next pair of the list; -1 at its end
    second: Int32s
    following: Int32s
    place: Ints  # (n_pairs,): the row in which each pair first occurred


_WIDE = {"step": np.int64}
_MOVE = (np.int64, np.int32, np.bool_, np.int32)  # step, episode, begins, and number in the index
_NONE = np.empty(0, dtype=np.int32)
_NOWHERE: Any = np.int32(-1)
_NO_PAIRS = Pairs(_NONE, _NONE, _NONE, np.empty(0, dtype=np.int64))


class Experience:
    """An index of the moves of one run.

    `steps` has the columns `episode, step, state, next_state` of one run in order, and `action` if
    needed: with ``by="states"``, moves between the same two states are the same, whatever the
    action.
    """

    def __init__(self, steps: pd.DataFrame | Columns | None = None, by: str = "states") -> None:
        self.by = check_choice("by", by, _BY)
        self.n_moves = 0
        self._moves = [GrowingArray(kind) for kind in _MOVE]
        self.pairs = self._triples = _NO_PAIRS  # of states; and of these with an action
        self._last_step, self._n_ended = int(np.iinfo(np.int64).min), 0
        self._growing: GrowingAutomaton | None = None
        self._latest: LatestEnds | None = None
        self._has_grown(0)
        if steps is not None:
            self.extend(steps)

    def extend(self, steps: pd.DataFrame | Columns) -> None:
        """Add later steps of the run; nodes that were found before may be outdated afterwards."""
        wanted = ["episode", "step", "state", "next_state"] + ["action"] * (self.by == "actions")
        episode, step, state, next_state, *action = whole_columns(steps, wanted, "steps", _WIDE)
        if action and (action[0] < 0).any():
            raise ValueError("by='actions' needs the action of each step; recordings have none.")
        n_before = self.n_moves
        for array in self._moves:  # room for all, though staying is not a move
            array.reserve(n_before + len(step), n_before)
        when, episodes, begins, text = (array.rows for array in self._moves)
        one, other = (uninitialised(len(step), np.int32) for _ in range(2))
        n_moves = _add_moves(
            episode, step, state, next_state, self._last_step, n_before,
            when, episodes, begins, one, other,
        )  # fmt: skip
        if n_moves < 0:
            raise ValueError("The column 'step' must ascend: give the steps of one run, in order.")
        self._last_step = int(step[-1]) if len(step) else self._last_step
        self._has_grown(n_moves)
        text, n_more = self.text[n_before:], n_moves - n_before
        self.pairs = _number_pairs(one[:n_more], other[:n_more], n_before, text, self.pairs)
        if action:
            # A move with its action is a pair again: of the move's number and the action.
            again = action[0][state != next_state]
            self._triples = _number_pairs(text.copy(), again, n_before, text, self._triples)

    def extend_rows(self, rows: NDArray[np.void], first_step: int) -> None:
        """Add the steps of a running simulation, as its loop wrote them, to a run of such rows.

        The same as `extend` with their columns, but several times faster; for ``by="states"``.
        """
        n_before = self.n_moves
        for array in self._moves:
            array.reserve(n_before + len(rows), n_before)
        n_firsts = 1 + int(rows["state"].max(initial=-1))
        pairs, n_known = _more_pairs(self.pairs, n_firsts, len(rows)), len(self.pairs.second)
        when, episodes, begins, text = (array.rows for array in self._moves)
        self._n_ended, n_moves, n_pairs = _add_rows(
            rows, first_step, self._n_ended, n_before, n_known,
            when, episodes, begins, text, pairs,
        )  # fmt: skip
        self._last_step = first_step + len(rows) - 1
        self.pairs = _only(pairs, n_pairs)
        self._has_grown(n_moves)

    def _has_grown(self, n_moves: int) -> None:
        """Show the moves made so far, and forget what depended on fewer."""
        self._latest = None
        self.__dict__.pop("second_ends", None)
        self.n_moves = n_moves
        # Of each move: its step and episode, whether it is the first of the episode, and its number
        # in the index, which equal moves share.
        self.step, self.episode, self.begins, self.text = (
            array.rows[:n_moves] for array in self._moves
        )

    @property
    def automaton(self) -> SuffixAutomaton:
        """The index of all sequences of moves."""
        numbers = self.pairs if self.by == "states" else self._triples
        if self._growing is None:
            self._growing = GrowingAutomaton()
        return self._growing.extend(self.text, self.begins, len(numbers.second))

    @cached_property
    def second_ends(self) -> Ints:
        """Number of moves made before each node's paths occurred in a second episode."""
        return second_ends(self.automaton, self.episode)

    def moves_by(self, step: npt.ArrayLike) -> Ints:
        """Count the moves that had been made up to and including a step."""
        return np.asarray(np.searchsorted(self.step, step, side="right"))

    def symbols(
        self, state: npt.ArrayLike, next_state: npt.ArrayLike, action: npt.ArrayLike | None = None
    ) -> Int32s:
        """Return the number of each move in the index; -1 if it was never made.

        Only with ``by="actions"`` does the `action` matter.
        """
        symbol = _find_pairs(self.pairs, np.asarray(state), np.asarray(next_state))
        if self.by == "actions":
            symbol = _find_pairs(self._triples, symbol, np.asarray(action))
        return symbol

    def first_moves(self, state: npt.ArrayLike, next_state: npt.ArrayLike) -> Ints:
        """Count the moves made before a move between states first was, by any action.

        `n_moves` if it never was.
        """
        symbol = _find_pairs(self.pairs, np.asarray(state), np.asarray(next_state))
        place: Ints = np.append(self.pairs.place, self.n_moves)
        return place[symbol]

    def latest_episodes(self, node: Int32s, limit: Ints) -> Int32s:
        """Find the latest episode that contains each piece of experience.

        `node` is that of the piece in the automaton, `limit` the number of moves that count.
        """
        if self._latest is None:
            self._latest = LatestEnds(self.automaton)
        return self.episode[self._latest.find(node, limit)]

    def pieces(
        self, path: Sequence[int], step: int | None = None, actions: Sequence[int] | None = None
    ) -> list[PathPiece]:
        """Stitch a path, of states in the order of experience, from the fewest experienced pieces.

        None if one of its moves was never made by `step` (by default the last; -1: before the
        first). With ``by="actions"`` it needs the action of each move.
        """
        states = check_array(path, "path", kind="whole")
        if len(states) < 2:
            raise ValueError(f"A path needs at least two states, got {len(states)}.")
        action = None if actions is None else check_array(actions, "actions", kind="whole")
        if self.by == "actions" and (action is None or len(action) != len(states) - 1):
            raise ValueError("With by='actions', give one action for each move of the path.")
        limit = self.n_moves
        if step is not None:
            limit = int(self.moves_by(check_whole("step", step, at_least=-1)))
        symbol = self.symbols(states[:-1], states[1:], action)
        ends, nodes = np.empty(len(symbol), dtype=np.int32), np.empty(len(symbol), dtype=np.int32)
        n_pieces = _stitch_one(self.automaton, symbol, limit, ends, nodes)
        ends, nodes = ends[:n_pieces], nodes[:n_pieces]
        episodes = self.latest_episodes(nodes, np.full(n_pieces, limit))
        begins = np.append(0, ends)[:-1].tolist()
        return list(map(PathPiece, begins, ends.tolist(), episodes.tolist()))

    def pieces_of_sequences(
        self, symbol: Int32s, back_symbol: Int32s, begin: Ints, limit: Ints
    ) -> tuple[Int32s, Int32s, Int32s, Bools]:
        """Stitch sequences of moves from the fewest experienced pieces, each in either direction.

        Sequence `i` has the moves from ``begin[i]`` up to ``begin[i + 1]``, and the first
        ``limit[i]`` moves of the run count for it. `symbol` and `back_symbol` are those of each
        move and of its reverse, -1 where it may not be read so. Returns the number of pieces of
        each sequence, 0 if a move was never made; and of all pieces, one sequence after the other,
        the move of the sequence after which each ends, the latest episode that contains it, and
        whether it was run backwards then.
        """
        end, forward, backward = (np.empty(len(symbol), dtype=np.int32) for _ in range(3))
        pieces = _ReadPieces(np.empty(len(limit), dtype=np.int32), end, forward, backward)
        n_all = _stitch_either(self.automaton, symbol, back_symbol, begin, limit, pieces)
        node = np.stack((forward[:n_all], backward[:n_all]))
        is_run, by = node > 0, np.broadcast_to(np.repeat(limit, pieces.number), node.shape)
        episode: Int32s = np.full(node.shape, -1, dtype=np.int32)
        episode[is_run] = self.latest_episodes(node[is_run], by[is_run])
        return pieces.number, end[:n_all], episode.max(axis=0), episode[1] > episode[0]


@jitable
def stitch(
    automaton: SuffixAutomaton,
    symbol: Int32s,
    rows: NDArray[np.integer],
    reverse: bool,
    limit: int,
    ends: Int32s,
    nodes: Int32s,
) -> int:
    """Cut a path into the least number of experienced pieces; return 0 if a move was never made.

    ``symbol[rows]`` are its moves, from last to first if `reverse`, and the first `limit` moves of
    the run count. Writes the number of moves up to the end of each piece, and its node.
    """
    n, n_pieces, node = len(rows), 0, 0
    for i in range(n):
        move = symbol[rows[n - 1 - i] if reverse else rows[i]]
        if move < 0:
            return 0
        longer = appended(automaton, node, move)
        if longer < 0 or automaton.nodes[longer]["first_end"] >= limit:
            if node == 0:
                return 0
            ends[n_pieces] = i
            nodes[n_pieces] = node
            n_pieces += 1
            longer = automaton.from_root[move]
            if automaton.nodes[longer]["first_end"] >= limit:
                return 0
        node = longer
    ends[n_pieces] = n
    nodes[n_pieces] = node
    return n_pieces + 1


class _ReadPieces(NamedTuple):
    """Experienced pieces of sequences, one sequence after the other."""

    number: Int32s  # (n_sequences,): how many each sequence has; 0 if a move was never made
    end: Int32s  # (n_pieces,): the move of the sequence after which each piece ends
    # (n_pieces,): its nodes as read forward and backward; -1 if it was never run in that direction
    forward: Int32s
    backward: Int32s


@kernel
def _stitch_either(
    automaton: SuffixAutomaton,
    symbol: Int32s,
    back_symbol: Int32s,
    begin: Ints,
    limit: Ints,
    pieces: _ReadPieces,
) -> int:
    """Cut each sequence into the least number of experienced pieces, read in either direction.

    Writes the pieces, and returns their total number.
    """
    n_all = 0
    nodes = automaton.nodes
    for sequence in range(len(limit)):
        first, n_before = begin[sequence], n_all
        forward, backward, length = 0, 0, 0
        move = first
        while move < begin[sequence + 1]:
            longer, longer_back = -1, -1
            if forward >= 0 and symbol[move] >= 0:
                longer = appended(automaton, forward, symbol[move])
                if longer >= 0 and nodes[longer]["first_end"] >= limit[sequence]:
                    longer = -1
            if backward >= 0 and back_symbol[move] >= 0:
                longer_back = prepended(automaton, backward, length, back_symbol[move])
                if longer_back >= 0 and nodes[longer_back]["first_end"] >= limit[sequence]:
                    longer_back = -1
            if longer >= 0 or longer_back >= 0:
                forward, backward, length = longer, longer_back, length + 1
                move += 1
                if move < begin[sequence + 1]:
                    continue
            if length == 0:  # a move that was never made, in either direction
                n_all = n_before
                break
            pieces.end[n_all] = move - first
            pieces.forward[n_all] = forward
            pieces.backward[n_all] = backward
            n_all += 1
            forward, backward, length = 0, 0, 0
        pieces.number[sequence] = n_all - n_before
    return n_all


@kernel
def _stitch_one(
    automaton: SuffixAutomaton, symbol: Int32s, limit: int, ends: Int32s, nodes: Int32s
) -> int:
    return stitch(automaton, symbol, np.arange(len(symbol)), False, limit, ends, nodes)


@kernel
def _add_moves(
    episode: Int32s,
    step: Ints,
    state: Int32s,
    next_state: Int32s,
    last_step: int,
    n_moves: int,
    steps: Ints,
    episodes: Int32s,
    begins: Bools,
    one: Int32s,
    other: Int32s,
) -> int:
    """Append the steps that change the state; return the number of moves, -1 if out of order."""
    n_more = 0
    for i in range(len(step)):
        if step[i] <= last_step:
            return -1
        last_step = step[i]
        if state[i] != next_state[i]:
            steps[n_moves] = step[i]
            episodes[n_moves] = episode[i]
            begins[n_moves] = n_moves == 0 or episode[i] != episodes[n_moves - 1]
            one[n_more] = state[i]
            other[n_more] = next_state[i]
            n_moves += 1
            n_more += 1
    return n_moves


def _number_pairs(one: Int32s, other: Int32s, place: int, number: Int32s, pairs: Pairs) -> Pairs:
    """Assign numbers to pairs from row `place` on, in the order of their first occurrence."""
    longer = _more_pairs(pairs, one.max(initial=-1) + 1, len(one))
    return _only(longer, _number(one, other, place, len(pairs.second), number, longer))


def _more_pairs(pairs: Pairs, n_firsts: int, n_more: int) -> Pairs:
    """Make room for more pairs, of first numbers below `n_firsts`."""
    first = np.full(max(len(pairs.first), n_firsts), -1, dtype=np.int32)
    first[: len(pairs.first)] = pairs.first
    n_known = len(pairs.second)
    # Not filled: what is beyond the known pairs is written before it is read.
    lists: list[NDArray[Any]] = []
    for known in pairs[1:]:
        longer = uninitialised(n_known + n_more, known.dtype)
        longer[:n_known] = known
        lists.append(longer)
    return Pairs(first, *lists)


def _only(pairs: Pairs, n_pairs: int) -> Pairs:
    """Drop the room that was not needed."""
    columns: list[NDArray[Any]] = [column[:n_pairs].copy() for column in pairs[1:]]
    return Pairs(pairs.first, *columns)


@inlined
def number_of(pairs: Pairs, one: int, other: int) -> int:
    """Look up the number of a pair; -1 if there is none."""
    found: int = _NOWHERE
    if 0 <= one < len(pairs.first):
        found = pairs.first[one]
        while found >= 0 and pairs.second[found] != other:
            found = pairs.following[found]
    return found


@inlined
def _numbered(pairs: Pairs, one: int, other: int, place: int, n_pairs: int) -> int:
    """Look up the number of a pair, which becomes `n_pairs` if there is none."""
    found = number_of(pairs, one, other)
    if found < 0:
        found = n_pairs
        pairs.second[found] = other
        pairs.following[found] = pairs.first[one]
        pairs.place[found] = place
        pairs.first[one] = found
    return found


@kernel
def _number(
    one: Int32s, other: Int32s, place: int, n_pairs: int, number: Int32s, pairs: Pairs
) -> int:
    for i in range(len(one)):
        number[i] = _numbered(pairs, one[i], other[i], place + i, n_pairs)
        n_pairs += number[i] == n_pairs
    return n_pairs


@loop_kernel
def _add_rows(
    rows: NDArray[np.void],
    first_step: int,
    n_ended: int,
    n_moves: int,
    n_pairs: int,
    steps: Ints,
    episodes: Int32s,
    begins: Bools,
    text: Int32s,
    pairs: Pairs,
) -> tuple[int, int, int]:
    """Append the steps that change the state; return the numbers of episodes, moves and pairs."""
    for i in range(len(rows)):
        row = rows[i]
        if row["state"] != row["next_state"]:
            steps[n_moves] = first_step + i
            episodes[n_moves] = n_ended
            begins[n_moves] = n_moves == 0 or n_ended != episodes[n_moves - 1]
            number = _numbered(pairs, row["state"], row["next_state"], n_moves, n_pairs)
            text[n_moves] = number
            n_pairs += number == n_pairs
            n_moves += 1
        n_ended += row["terminated"] or row["truncated"]
    return n_ended, n_moves, n_pairs


def _find_pairs(pairs: Pairs, one: NDArray[np.integer], other: NDArray[np.integer]) -> Int32s:
    """Look up the number of each pair; -1 if there is no such pair."""
    number: Int32s = uninitialised(len(one), np.int32)
    _find(pairs, one, other, number)
    return number


@kernel
def _find(
    pairs: Pairs, one: NDArray[np.integer], other: NDArray[np.integer], number: Int32s
) -> None:
    for i in range(len(one)):
        number[i] = number_of(pairs, one[i], other[i])


class ExperiencedPiece(NamedTuple):
    """A piece of a replayed path, and its experience."""

    # the piece is ``states[begin:end + 1]``
    begin: int
    end: int
    episode: int  # the latest episode that contains it
    backward: bool  # whether it was run in the opposite direction


def experienced_pieces(
    states: Sequence[int],
    experience: Experience,
    step: int | None = None,
    moves: Sequence[str] | None = None,
) -> list[ExperiencedPiece]:
    """Split a path into the least number of experienced pieces, each read in either direction.

    `moves`, the labels of :func:`analyses.place_sequences`, rule out one of them where a heading is
    known. Of a path that was run in both directions, the later run is what it repeats.
    """
    path = np.array(states, dtype=np.int32)
    ahead = experience.symbols(path[:-1], path[1:])
    back = experience.symbols(path[1:], path[:-1])
    if moves:
        ahead = np.where(np.array(moves) == "backward", _NOWHERE, ahead)
        back = np.where(np.array(moves) == "forward", _NOWHERE, back)
    limit = experience.n_moves if step is None else experience.moves_by(step)
    _, *pieces = experience.pieces_of_sequences(
        ahead, back, np.array([0, len(path) - 1]), np.atleast_1d(limit)
    )
    ends, episodes, backward = (each.tolist() for each in pieces)
    return list(map(ExperiencedPiece, [0, *ends[:-1]], ends, episodes, backward))
