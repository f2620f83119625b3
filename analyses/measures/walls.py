"""Replay through walls, compared with other layouts of equally many walls.

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
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import rows
from analyses.measures.replays import (
    Replays,
    Statistic,
    chosen,
    laps_around,
    name_codes,
    own_code,
    paths,
)

__all__ = ["WALL_STATISTICS", "other_layouts", "symmetric_layouts"]

_MOST_LAYOUTS = 10_000
_NEAR_CM = 1.0
_FITS = 0.95


class _Crossings(NamedTuple):
    """Slots for walls between neighbouring wells, walls in each block, and moves through slots."""

    slots: list[tuple[str, str]]
    layouts: NDArray[np.bool_]  # of the blocks with walls, shape (n_blocks, n_slots)
    counts: NDArray[np.int64]  # moves by animal, block and slot
    n_moves: NDArray[np.int64]  # by animal
    n_sequences: NDArray[np.int64]  # by animal


def _crossings(replays: Replays, first_laps: int | None = None) -> _Crossings:
    """Count moves through slots, in blocks with walls or in their first laps."""
    task, animals = replays.task, replays.animals
    wells = set(task.landmarks.get("wells", ()))
    edges = nx.Graph(task.graph).edges
    slots = [tuple(sorted(edge)) for edge in edges if wells.issuperset(edge)]
    closed = {block.name: {tuple(sorted(move)) for move in block.closed} for block in task.blocks}
    layouts = {name: [slot in there for slot in slots] for name, there in closed.items()}
    walled = {name: layout for name, layout in layouts.items() if any(layout)}

    sequences = chosen(replays, ["block", "episode", "phase"])
    block = name_codes(sequences["block"], list(walled))
    kept = block >= 0
    if first_laps is not None:
        kept &= _since_change(replays, sequences) < first_laps
    sequences, block = sequences[kept], block[kept]
    walked, code = paths(replays, sequences), own_code(animals, sequences)
    together = walked.owner[1:] == walked.owner[:-1]
    sequence = walked.owner[1:][together]

    # A node may be two places, one for each direction of travel.
    node = {name: i for i, name in enumerate(dict.fromkeys(task.node))}
    between = np.full((len(node), len(node)), -1)
    for i, (a, b) in enumerate(slots):
        if a in node and b in node:
            between[node[a], node[b]] = between[node[b], node[a]] = i
    at = np.array([node[name] for name in task.node])[walked.flat]
    slot = between[at[:-1], at[1:]][together]
    crosses = slot >= 0
    shape = len(animals), len(walled), len(slots)
    cell = code[sequence[crosses]], block[sequence[crosses]], slot[crosses]
    counts = np.bincount(np.ravel_multi_index(cell, shape), minlength=int(np.prod(shape)))
    return _Crossings(
        slots,
        np.array(list(walled.values()), dtype=bool).reshape(len(walled), len(slots)),
        counts.reshape(shape),
        np.bincount(code[sequence], minlength=len(animals)),
        np.bincount(code, minlength=len(animals)),
    )


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
    """Share of moves through walls among all moves of sequences (Jensen et al. 2024).

    In all laps, or in the first ones after the walls moved. Null: the share through the same walls,
    rotated and reflected.
    """
    found = _crossings(replays, first_laps)
    position = nx.get_node_attributes(replays.task.graph, "pos")
    crossed, turned = np.zeros((2, len(found.n_moves)))
    for i, layout in enumerate(found.layouts):
        crossed += found.counts[:, i] @ layout
        others = symmetric_layouts(found.slots, layout, position)
        turned += found.counts[:, i] @ others.mean(axis=0) if len(others) else np.nan
    total = np.where(found.n_moves > 0, found.n_moves, np.nan)
    return rows(replays.animals, crossed / total, turned / total, found.n_sequences)


def _percentile(replays: Replays) -> pd.DataFrame:
    """Other layouts of equally many walls that sequences would cross more often. Null: 0.5.

    The share of these, mean over blocks (Widloski & Foster 2022).
    """
    value, n = _percentiles(replays)
    return rows(replays.animals, pd.DataFrame(value).mean(axis=1), 0.5, n)


def _sessions(replays: Replays) -> pd.DataFrame:
    """Blocks in which sequences would cross over 95 % of other layouts more often. Null: 0.05.

    The share of these among blocks with walls and sequences (Widloski & Foster 2022).
    """
    value, _ = _percentiles(replays)
    n = (~np.isnan(value)).sum(axis=1)
    share = (value > _FITS).sum(axis=1) / np.where(n > 0, n, np.nan)
    return rows(replays.animals, share, 1 - _FITS, n)


def _percentiles(replays: Replays) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Compute the percentile by animal and block with walls, and the sequences of each animal."""
    found = _crossings(replays)
    value = np.full(found.counts.shape[:2], np.nan)
    for i, layout in enumerate(found.layouts):
        layouts = other_layouts(layout)
        if not len(layouts):
            continue
        own, others = found.counts[:, i] @ layout, found.counts[:, i] @ layouts.T
        more = (others > own[:, None]).mean(axis=1) + (others == own[:, None]).mean(axis=1) / 2
        value[:, i] = np.where(found.counts[:, i].any(axis=1), more, np.nan)
    return value, found.n_sequences


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
