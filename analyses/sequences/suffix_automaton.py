"""Suffix automaton: an index of all substrings of a set of texts, with their first end positions.

Texts are read one after the other, symbol by symbol [1]_ [2]_; no substring spans two texts. A node
stands for all substrings that end at the same positions. Its `link` leads to the node of their
longest suffix that occurs at more positions, so links form a tree; a node's substrings end at its
own position and at those of all nodes below it. Construction takes time and memory linear in the
texts, and can continue with more text at any time. A node that was found before may then have lost
its shorter substrings.

References
----------
.. [1] Blumer et al. (1985). https://doi.org/10.1016/0304-3975(85)90157-4
.. [2] Mohri, Moreno & Weinstein (2009). https://doi.org/10.1016/j.tcs.2009.03.034
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.checks.arrays import Bools, Int32s
from replay.jit import inlined, jitable, kernel
from replay.log.backups import GrowingArray

_NODE = np.dtype(
    [
        ("link", np.int32),
        ("length", np.int32),
        ("first_end", np.int32),
        ("first_child", np.int32),
        ("sibling", np.int32),
        ("symbol", np.int32),
        ("target", np.int32),
        ("next_edge", np.int32),
    ]
)
# Most nodes have one edge. It is kept in the node, since large indexes do not fit into the cache.
# 32 bits, as in nodes: with 64, the kernels that follow chains take half as long again.
_NOWHERE: Any = np.int32(-1)
_EDGE = np.dtype([("next_edge", np.int32), ("symbol", np.int32), ("target", np.int32)])


class SuffixAutomaton(NamedTuple):
    """An index of all substrings of a set of texts."""

    text: Int32s  # (n_symbols_read,): all texts, one after the other
    # (n_nodes,): `link`, `length` of the longest substring, position `first_end` of its first end,
    # `first_child`, the first node that links to this one, `sibling`, the next node with the same
    # link, `symbol` and `target` of one edge, and `next_edge`, a row of `edges`; each -1 if there
    # is none. Node 0 is the empty string; its children and edges are not listed
    nodes: NDArray[np.void]
    # (n_edges,): further edges of nodes: `next_edge` of the list (-1 if none), `symbol`, `target`
    edges: NDArray[np.void]
    # (n_symbols,): the node of each single symbol; -1 if it does not occur
    from_root: Int32s
    node_at: Int32s  # (n_symbols_read,): the node of the text up to each position


class GrowingAutomaton:
    """An index of texts that are still growing."""

    def __init__(self) -> None:
        self._nodes, self._edges = GrowingArray(_NODE), GrowingArray(_EDGE)
        self._node_at = GrowingArray(np.int32)
        self._from_root = np.empty(0, dtype=np.int32)
        self._n_read, self._n_nodes, self._n_edges = 0, 1, 0

    def extend(self, text: Int32s, begins: Bools, n_symbols: int) -> SuffixAutomaton:
        """Continue reading, and return the index of everything read so far.

        `text` holds all texts from the first on, symbols below `n_symbols`, and `begins` whether a
        text begins at each position. Indexes returned earlier are no longer valid.
        """
        # Memory that is never written to costs nothing: these bounds are seldom reached. They hold
        # for the whole text, but a single symbol may add any number of edges.
        self._nodes.reserve(2 * len(text) + 2, self._n_nodes)
        self._edges.reserve(3 * len(text) + 3, self._n_edges)
        self._node_at.reserve(len(text), self._n_read)
        unknown = np.full(n_symbols - len(self._from_root), -1, dtype=np.int32)
        self._from_root = np.append(self._from_root, unknown)
        nodes, edges, node_at = self._nodes.rows, self._edges.rows, self._node_at.rows
        self._n_nodes, self._n_edges = _build(
            text, begins, self._n_read, self._n_nodes, self._n_edges,
            nodes, edges, self._from_root, node_at,
        )  # fmt: skip
        self._n_read = len(text)
        return SuffixAutomaton(
            text,
            nodes[: self._n_nodes],
            edges[: self._n_edges],
            self._from_root,
            node_at[: len(text)],
        )


@inlined
def _target(nodes: NDArray[np.void], edges: NDArray[np.void], node: int, symbol: int) -> int:
    """Return the node to which an edge leads; -1 if there is no such edge."""
    target: int = nodes[node]["target"]
    if nodes[node]["symbol"] != symbol:
        edge = nodes[node]["next_edge"]
        while edge >= 0 and edges[edge]["symbol"] != symbol:
            edge = edges[edge]["next_edge"]
        target = edges[edge]["target"] if edge >= 0 else _NOWHERE
    return target


@inlined
def appended(automaton: SuffixAutomaton, node: int, symbol: int) -> int:
    """Return the node of a node's substrings with a symbol appended; -1 if it never follows."""
    target: int = automaton.from_root[symbol]
    if node != 0:
        target = _target(automaton.nodes, automaton.edges, node, symbol)
    return target


@inlined
def prepended(automaton: SuffixAutomaton, node: int, length: int, symbol: int) -> int:
    """Return the node of a substring with a symbol prepended; -1 if it never precedes it.

    Unlike with `appended`, the substring's `length` matters: it may be shorter than the node's.
    """
    text, nodes = automaton.text, automaton.nodes
    if node == 0:
        child: int = automaton.from_root[symbol]
        return child
    if length < nodes[node]["length"]:
        return node if text[nodes[node]["first_end"] - length] == symbol else _NOWHERE
    child = nodes[node]["first_child"]
    while child >= 0 and text[nodes[child]["first_end"] - length] != symbol:
        child = nodes[child]["sibling"]
    return child


@inlined
def relocated(automaton: SuffixAutomaton, node: int, length: int) -> int:
    """Return the present node of a substring whose `node` was found in an earlier index."""
    nodes = automaton.nodes
    while nodes[nodes[node]["link"]]["length"] >= length:
        node = nodes[node]["link"]
    return node


@kernel
def _build(
    text: Int32s,
    begins: Bools,
    first_place: int,
    n_nodes: int,
    n_edges: int,
    nodes: NDArray[np.void],
    edges: NDArray[np.void],
    from_root: Int32s,
    node_at: Int32s,
) -> tuple[int, int]:
    """Read the texts from `first_place` on; return the numbers of nodes and edges.

    As in [2]_: the text so far ends in node `last`. Its suffixes, along the links, get an edge to a
    new node, up to the first that already had this symbol as continuation.
    """
    last = 0
    if first_place > 0:
        last = node_at[first_place - 1]
    else:
        _new_node(nodes, 0, 0, -1)
    for place in range(first_place, len(text)):
        symbol = text[place]
        if begins[place]:
            last = 0
        new = n_nodes  # not yet taken: if the text only repeats an earlier one, it is not needed
        node, known = last, -1
        while node >= 0:  # give all suffixes of the text an edge to the new node
            known = from_root[symbol] if node == 0 else _target(nodes, edges, node, symbol)
            if known >= 0:
                break
            if node == 0:
                from_root[symbol] = new
            else:
                n_edges = _add_edge(nodes, edges, node, symbol, new, n_edges)
            node = nodes[node]["link"]
        repeats = node == last  # an earlier text continues in the same way: nothing is new
        if not repeats:
            _new_node(nodes, new, nodes[last]["length"] + 1, place)
            n_nodes += 1
        suffix = max(known, 0)
        if known >= 0 and nodes[known]["length"] > nodes[node]["length"] + 1:
            # Only some of its substrings also end here: these become a separate node.
            suffix = n_nodes
            _new_node(nodes, suffix, nodes[node]["length"] + 1, nodes[known]["first_end"])
            _take_place(nodes, known, suffix)
            nodes[suffix]["symbol"] = nodes[known]["symbol"]
            nodes[suffix]["target"] = nodes[known]["target"]
            n_nodes += 1
            edge = nodes[known]["next_edge"]
            while edge >= 0:
                n_edges = _add_edge(
                    nodes, edges, suffix, edges[edge]["symbol"], edges[edge]["target"], n_edges
                )
                edge = edges[edge]["next_edge"]
            # Shorter suffixes lead to the separate node from now on.
            while node > 0 and _target(nodes, edges, node, symbol) == known:
                _redirect(nodes, edges, node, symbol, suffix)
                node = nodes[node]["link"]
            if node == 0 and from_root[symbol] == known:
                from_root[symbol] = suffix
        if repeats:
            last = suffix
        else:
            nodes[new]["link"] = suffix
            if suffix > 0:  # the root may have very many children, which are never needed
                nodes[new]["sibling"] = nodes[suffix]["first_child"]
                nodes[suffix]["first_child"] = new
            last = new
        node_at[place] = last
    return n_nodes, n_edges


@inlined
def _new_node(nodes: NDArray[np.void], node: int, length: int, first_end: int) -> None:
    """Make a node without link, children or edges."""
    nodes[node]["link"] = -1
    nodes[node]["length"] = length
    nodes[node]["first_end"] = first_end
    nodes[node]["first_child"] = -1
    nodes[node]["sibling"] = -1
    nodes[node]["symbol"] = -1
    nodes[node]["target"] = -1
    nodes[node]["next_edge"] = -1


@inlined
def _add_edge(
    nodes: NDArray[np.void],
    edges: NDArray[np.void],
    node: int,
    symbol: int,
    target: int,
    n_edges: int,
) -> int:
    """Add an edge to a node; return how many `edges` there are then."""
    if nodes[node]["symbol"] < 0:
        nodes[node]["symbol"] = symbol
        nodes[node]["target"] = target
        return n_edges
    edges[n_edges]["next_edge"] = nodes[node]["next_edge"]
    edges[n_edges]["symbol"] = symbol
    edges[n_edges]["target"] = target
    nodes[node]["next_edge"] = n_edges
    return n_edges + 1


@inlined
def _redirect(
    nodes: NDArray[np.void], edges: NDArray[np.void], node: int, symbol: int, target: int
) -> None:
    """Let an edge lead to another node."""
    if nodes[node]["symbol"] == symbol:
        nodes[node]["target"] = target
    else:
        edge = nodes[node]["next_edge"]
        while edges[edge]["symbol"] != symbol:
            edge = edges[edge]["next_edge"]
        edges[edge]["target"] = target


@jitable
def _take_place(nodes: NDArray[np.void], node: int, other: int) -> None:
    """Insert another node between a node and its link."""
    above = nodes[node]["link"]
    nodes[other]["link"] = above
    nodes[other]["sibling"] = nodes[node]["sibling"]
    nodes[other]["first_child"] = node
    nodes[node]["link"] = other
    nodes[node]["sibling"] = -1
    if above > 0 and nodes[above]["first_child"] == node:
        nodes[above]["first_child"] = other
    elif above > 0:
        child = nodes[above]["first_child"]
        while nodes[child]["sibling"] != node:
            child = nodes[child]["sibling"]
        nodes[child]["sibling"] = other
