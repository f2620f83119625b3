"""Other ends of substrings in a suffix automaton: the latest so far, the first in a second text.

The substrings of a node end where the text up to some position is in this node or in one below it.
In preorder a node and those below it are a range of numbers, so that the latest end is the largest
number in a range: a segment tree finds it in logarithmic time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.suffix_automaton import SuffixAutomaton
from replay.checks.arrays import Int32s, Ints
from replay.jit import kernel
from replay.log.backups import GrowingArray


class LatestEnds:
    """Repeated queries for the last ends of substrings; fast if limits do not decrease."""

    def __init__(self, automaton: SuffixAutomaton) -> None:
        n_nodes = len(automaton.nodes)
        self._node_at = automaton.node_at
        self._place = 0
        self._arrays = [GrowingArray(np.int32) for _ in range(3)]
        for array, n_rows in zip(self._arrays, (n_nodes, n_nodes, 2 * n_nodes), strict=True):
            array.reserve(n_rows, 0)
        self._rank, self._stop, self._latest = (
            self._arrays[0].rows[:n_nodes],
            self._arrays[1].rows[:n_nodes],
            self._arrays[2].rows[: 2 * n_nodes],
        )
        _number_subtrees(automaton.nodes, self._rank, self._stop)
        self._latest[:] = -1

    def find(self, node: Int32s, limit: Ints) -> Int32s:
        """Find the last end of each node's substrings below its limit; -1 if there is none."""
        order = np.argsort(limit, kind="stable")
        if len(limit) and limit[order[0]] < self._place:
            self._place = 0
            self._latest[:] = -1
        result = np.empty(len(node), dtype=np.int32)
        tree = (self._rank, self._stop, self._latest)
        self._place = _latest_ends(self._node_at, *tree, self._place, order, node, limit, result)
        return result


@kernel
def _number_subtrees(nodes: NDArray[np.void], rank: Int32s, stop: Int32s) -> None:
    """Rank nodes in preorder; a node's subtree has the ranks ``range(rank[node], stop[node])``."""
    rank[0], number = 0, 1
    for top in range(1, len(nodes)):
        if nodes[top]["link"] > 0:
            continue
        node = top
        while node > 0:
            rank[node] = number
            number += 1
            if nodes[node]["first_child"] >= 0:
                node = nodes[node]["first_child"]
                continue
            stop[node] = number
            while node > 0 and nodes[node]["sibling"] < 0:
                node = nodes[node]["link"]
                stop[node] = number
            if node > 0:
                node = nodes[node]["sibling"]
    stop[0] = number


@kernel
def _latest_ends(
    node_at: Int32s,
    rank: Int32s,
    stop: Int32s,
    latest: Int32s,
    place: int,
    order: Ints,
    node: Int32s,
    limit: Ints,
    result: Int32s,
) -> int:
    """Scan the texts; a segment tree over preorder holds the latest end in each subtree."""
    n = len(rank)
    for query in order:
        while place < limit[query]:  # the text up to here ends in this node and those above it
            i = rank[node_at[place]] + n
            while i > 0:
                latest[i] = place
                i >>= 1
            place += 1
        i, j, best = rank[node[query]] + n, stop[node[query]] + n, -1
        while i < j:
            if i & 1:
                best = max(best, latest[i])
                i += 1
            if j & 1:
                j -= 1
                best = max(best, latest[j])
            i >>= 1
            j >>= 1
        result[query] = best
    return place


def second_ends(automaton: SuffixAutomaton, text_of: Int32s) -> Ints:
    """Find the first end of each node's substrings in a second text; ``len(text_of)`` if none.

    `text_of` is the number of the text to which each position belongs, ascending.
    """
    second = np.full(len(automaton.nodes), len(text_of))
    _second_ends(automaton.node_at, text_of, automaton.nodes, second)
    return second


@kernel
def _second_ends(node_at: Int32s, text_of: Int32s, nodes: NDArray[np.void], second: Ints) -> None:
    """Climb the tree from each position, up to a node that has this text, or two, already."""
    nowhere = len(node_at)
    first_text = np.full(len(nodes), -1)
    for place in range(len(node_at)):
        node = node_at[place]
        while node > 0 and second[node] == nowhere and first_text[node] != text_of[place]:
            if first_text[node] < 0:
                first_text[node] = text_of[place]
            else:
                second[node] = place
            node = nodes[node]["link"]
