"""Replay through walls, compared with other layouts of equally many walls.

``wall_crossing_share, wall_crossing_share_first_laps`` [1]_
    Moves through walls, in all laps or in the first five after the walls moved (share of all moves
    of sequences). Null: the share through the same walls, rotated and reflected.
``layouts_crossed_more`` [2]_
    The share of other layouts of equally many walls that sequences would cross more often, mean
    over blocks. Null: 0.5.
``sessions_within_walls`` [2]_
    The share of blocks in which sequences would cross more than 95 % of the other layouts more
    often. Null: 0.05.

References
----------
.. [1] Jensen, Hennequin & Mattar (2024), A recurrent network model of planning explains hippocampal
   replay and human behavior. https://doi.org/10.1038/s41593-024-01675-7
.. [2] Widloski & Foster (2022), Flexible rerouting of hippocampal replay sequences around changing
   barriers in the absence of global place field remapping.
   https://doi.org/10.1016/j.neuron.2022.02.002
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import own_code, rows
from analyses.measures.laps import laps_around
from analyses.measures.replays import Replays, Statistic, chosen, name_codes, paths

__all__ = ["WALL_STATISTICS", "other_layouts", "symmetric_layouts"]

_MOST_LAYOUTS = 10_000
_NEAR_CM = 1.0
_FITS = 0.95


class _Walls:
    """Slots for walls, between neighbouring wells, and the slots with a wall in each block.

    Attributes
    ----------
    slots : list of (str, str)
        Pairs of nodes.
    blocks : list of str
        Names of the blocks with walls.
    layout : ndarray of bool, shape (n_blocks, n_slots)
        Whether a wall stands in each slot.
    """

    def __init__(self, replays: Replays) -> None:
        task = replays.task
        wells = set(task.landmarks.get("wells", ()))
        graph = nx.Graph(task.graph)
        self.slots = [tuple(sorted(edge)) for edge in graph.edges if wells.issuperset(edge)]
        closed = {
            block.name: {tuple(sorted(move)) for move in block.closed} for block in task.blocks
        }
        layout = {name: [slot in there for slot in self.slots] for name, there in closed.items()}
        walled = {name: walls for name, walls in layout.items() if any(walls)}
        self.blocks = list(walled)
        self.layout = np.array(list(walled.values()), dtype=bool)
        self.layout = self.layout.reshape(len(walled), len(self.slots))

    def slot_numbers(self, node: Sequence[str]) -> NDArray[np.int64]:
        """Return the slot between each two places, shape (n_places, n_places); -1 for none."""
        known = {name: i for i, name in enumerate(dict.fromkeys(node))}
        slot = np.full((len(known), len(known)), -1)
        for i, (a, b) in enumerate(self.slots):
            if a in known and b in known:
                slot[known[a], known[b]] = slot[known[b], known[a]] = i
        place = [known[name] for name in node]
        between: NDArray[np.int64] = slot[np.ix_(place, place)]
        return between


def _crossings(
    replays: Replays, first_laps: int | None
) -> tuple[_Walls, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count moves by animal, block and slot, moves by animal and block, and sequences by animal."""
    walls = _Walls(replays)
    animals = replays.animals
    sequences = chosen(replays, ["block", "episode", "phase"])
    block = name_codes(sequences["block"], walls.blocks)
    kept = block >= 0
    if first_laps is not None:
        kept &= _since_change(replays, sequences) < first_laps
    sequences, block = sequences[kept], block[kept]
    walked = paths(replays, sequences)
    code, n_slots = own_code(animals, sequences), len(walls.slots)
    together = walked.owner[1:] == walked.owner[:-1]
    sequence = walked.owner[1:][together]
    slot = walls.slot_numbers(replays.task.node)[walked.flat[:-1], walked.flat[1:]][together]
    shape = (len(animals), len(walls.blocks), n_slots)
    at = slot >= 0
    cell = np.ravel_multi_index((code[sequence[at]], block[sequence[at]], slot[at]), shape)
    counts = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    cell = code[sequence] * shape[1] + block[sequence]
    moves = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape[:2])
    return walls, counts, moves, np.bincount(code, minlength=len(animals))


def _since_change(replays: Replays, sequences: pd.DataFrame) -> NDArray[np.float64]:
    """Count the laps since the block began; infinite in an animal's first block."""
    laps = replays.laps
    number = laps.sort_values(["animal", "episode"]).groupby(["animal", "block"], observed=True)
    since = number.cumcount().reindex(laps.index).to_numpy(float)
    first = laps.groupby("animal")["episode"].transform("min") == laps.groupby(
        ["animal", "block"], observed=True
    )["episode"].transform("min")
    since[first.to_numpy()] = np.inf
    before, after = laps_around(replays, sequences)
    lap = np.where((sequences["phase"] == "start").to_numpy(), after, before)
    return np.append(since, np.inf)[lap]


def symmetric_layouts(
    slots: Sequence[tuple[str, str]],
    layout: NDArray[np.bool_],
    position: Mapping[str, tuple[float, float]],
) -> NDArray[np.bool_]:
    """Rotate and reflect a layout of walls.

    A layout flags the slots, pairs of nodes in alphabetical order, that have a wall; `position` is
    in cm. The layouts that differ from this one are returned, at most seven, each once; only
    rotations and reflections that map slots to slots are used.

    Examples
    --------
    >>> position = {"a": (0.0, 0.0), "b": (1.0, 0.0), "c": (1.0, 1.0), "d": (0.0, 1.0)}
    >>> slots = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    >>> walls = np.array([True, False, False, False])
    >>> symmetric_layouts(slots, walls, position).astype(int).tolist()
    [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """
    nodes = sorted({node for slot in slots for node in slot})
    at = np.array([position[node] for node in nodes], dtype=float).reshape(-1, 2)
    at = at - at.mean(axis=0)
    number = {slot: i for i, slot in enumerate(slots)}
    found = {tuple(layout.tolist()): None}
    turn = np.array([[0, -1], [1, 0]])
    for flip in (np.eye(2), np.diag([1, -1])):
        for quarters in range(4):
            moved = at @ (np.linalg.matrix_power(turn, quarters) @ flip).T
            far = np.linalg.norm(moved[:, None] - at, axis=-1)
            if (far.min(axis=1) > _NEAR_CM).any():
                continue
            image = dict(zip(nodes, (nodes[i] for i in far.argmin(axis=1)), strict=True))
            there = [tuple(sorted((image[a], image[b]))) for a, b in slots]
            if not number.keys() >= set(there):
                continue
            turned = np.zeros(len(slots), dtype=bool)
            turned[[number[slot] for slot, wall in zip(there, layout, strict=True) if wall]] = True
            found[tuple(turned.tolist())] = None
    return np.array(list(found)[1:], dtype=bool).reshape(-1, len(slots))


def other_layouts(layout: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """List all other layouts of equally many walls; none if there are more than 10,000.

    Examples
    --------
    >>> other_layouts(np.array([True, False, False])).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    n_slots, n_walls = len(layout), int(layout.sum())
    if comb(n_slots, n_walls) > _MOST_LAYOUTS:
        return np.empty((0, n_slots), dtype=bool)
    there = np.array(list(combinations(range(n_slots), n_walls)), dtype=int)
    layouts = np.zeros((len(there), n_slots), dtype=bool)
    np.put_along_axis(layouts, there, True, axis=1)
    others: NDArray[np.bool_] = layouts[(layouts != layout).any(axis=1)]
    return others


def _crossing_share(replays: Replays, *, first_laps: int | None = None) -> pd.DataFrame:
    """Share of moves through walls; the null is the share through rotated and reflected walls."""
    walls, counts, moves, n = _crossings(replays, first_laps)
    position = nx.get_node_attributes(replays.task.graph, "pos")
    crossed, turned = (np.zeros(len(n)) for _ in range(2))
    for i, layout in enumerate(walls.layout):
        crossed += counts[:, i] @ layout
        layouts = symmetric_layouts(walls.slots, layout, position)
        turned += counts[:, i] @ layouts.mean(axis=0) if len(layouts) else np.nan
    total = moves.sum(axis=1)
    total = np.where(total > 0, total, np.nan)
    return rows(replays.animals, crossed / total, turned / total, n)


def _percentile(replays: Replays) -> pd.DataFrame:
    """Share of other layouts that sequences would cross more often, mean over blocks."""
    value, n = _percentiles(replays)
    return rows(replays.animals, pd.DataFrame(value).mean(axis=1), 0.5, n)


def _sessions(replays: Replays) -> pd.DataFrame:
    """Share of blocks with a percentile above 0.95, among blocks with walls and sequences."""
    value, _ = _percentiles(replays)
    known = ~np.isnan(value)
    n = known.sum(axis=1)
    share = (value > _FITS).sum(axis=1) / np.where(n > 0, n, np.nan)
    return rows(replays.animals, share, 1 - _FITS, n)


def _percentiles(replays: Replays) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Compute the percentile by animal and block with walls, and the sequences of each animal."""
    walls, counts, _, n = _crossings(replays, None)
    value = np.full((len(n), len(walls.blocks)), np.nan)
    for i, layout in enumerate(walls.layout):
        layouts = other_layouts(layout)
        if not len(layouts):
            continue
        own, others = counts[:, i] @ layout, counts[:, i] @ layouts.T
        more = (others > own[:, None]).mean(axis=1) + (others == own[:, None]).mean(axis=1) / 2
        value[:, i] = np.where(counts[:, i].any(axis=1), more, np.nan)
    return value, n


WALL_STATISTICS: dict[str, Statistic] = {
    "wall_crossing_share": Statistic("moves through walls", _crossing_share, is_share=True),
    "wall_crossing_share_first_laps": Statistic(
        "moves through walls in the five laps after they moved",
        partial(_crossing_share, first_laps=5),
        is_share=True,
    ),
    "layouts_crossed_more": Statistic(
        "other layouts that would be crossed more", _percentile, is_share=True
    ),
    "sessions_within_walls": Statistic(
        "sessions that fit their walls better than 95 % of layouts", _sessions, is_share=True
    ),
}
