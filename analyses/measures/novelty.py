"""Paths that were never run: composed of others, over an unused connection, or through walls.

*Composed* and *shortcut* are different. Each move of a composed path was made, in the direction in
which it is replayed or in the opposite one. A shortcut runs over the whole of a connection that the
task designates, and was never run as a whole; in a maze that is run in one direction, one half of
it is replayed backward and the other forward, or its moves were never made. Replay through walls is
compared with other layouts of equally many walls.

References
----------
.. [1] Gupta, van der Meer, Touretzky & Redish (2010). https://doi.org/10.1016/j.neuron.2010.01.034
.. [2] Igata, Ikegaya & Sasaki (2021). https://doi.org/10.1073/pnas.2011266118
.. [3] Jensen, Hennequin & Mattar (2024). https://doi.org/10.1038/s41593-024-01675-7
.. [4] Widloski & Foster (2022). https://doi.org/10.1016/j.neuron.2022.02.002
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from math import comb
from typing import NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from analyses.measures.places import between_nodes, covered, own_sides, runs_on
from analyses.measures.replays import (
    AT_REST,
    Replays,
    Share,
    Statistic,
    at_lap,
    chosen,
    is_one_of,
    laps_around,
    name_codes,
    own_code,
    paths,
    rows,
    share,
)
from analyses.sequences.sequences import Lists
from replay.checks.arrays import Bools, Floats, Ints
from replay.jit import kernel

_COMPOSED = ("composed", "composed_mixed")
_FORWARD, _BACKWARD, _NO_WAY = range(3)
_EVERY_OTHER_BIT = 0x5555_5555_5555_5555
_MOST_LAYOUTS = 10_000
_NEAR_CM = 1.0  # positions are rounded, so that a turned well lies only nearly on another
_FITS = 0.95


def _shortcuts(replays: Replays) -> pd.DataFrame:
    """Sequences along a path over a designated connection that was never run (share). Null: 0.

    NaN if the task designates no connection (Gupta et al. 2010).
    """
    sequences = chosen(replays, ["shortcut"])
    known = sequences["shortcut"].notna().to_numpy()
    sequences = sequences[known]
    return share(replays, sequences, sequences["shortcut"].to_numpy(bool), 0.0)


def _composed(replays: Replays, *, novelties: Sequence[str] = _COMPOSED) -> pd.DataFrame:
    """Sequences whose moves were all made, but never as a whole (share). Null: 0.

    Whether their pieces have one direction or both (Igata et al. 2021), or only those with both
    (Gupta et al. 2010). Causal chains have one direction, so none of them is mixed.
    """
    sequences = chosen(replays, ["novelty"])
    return share(replays, sequences, is_one_of(sequences["novelty"], novelties), 0.0)


def opposite_pairs(replays: Replays) -> pd.DataFrame:
    """Find pairs of a forward and a reverse replay of one corner each, one right after the other.

    A corner is the half of one side of the maze that is nearer to one of the connections. A replay
    of a corner is a stretch of a sequence with one direction, or a whole sequence, that visits only
    one corner, apart from places on no side.

    One row per pair within a pause: `animal`, `forward_first`, and how the `forward` and the
    `reverse` replay run to or from the connections, as codes that `shortcuts` reads.
    """
    sequences = chosen(replays, ["direction", "event"])
    owner, forward, walked = _stretches(replays, sequences)
    way = _codes_of_corners(replays, walked)
    animal, event = (sequences[name].to_numpy()[owner] for name in ("animal", "event"))
    first = np.flatnonzero(
        (animal[1:] == animal[:-1])
        & (event[1:] == event[:-1])
        & (forward[1:] != forward[:-1])
        & (way[1:] >= 0)
        & (way[:-1] >= 0)
    )
    forward_first = forward[first]
    return pd.DataFrame(
        {
            "animal": animal[first],
            "forward_first": forward_first,
            "forward": way[np.where(forward_first, first, first + 1)],
            "reverse": way[np.where(forward_first, first + 1, first)],
        }
    )


def _stretches(replays: Replays, sequences: pd.DataFrame) -> tuple[Ints, Bools, Lists]:
    """Cut sequences into the longest stretches whose moves are all forward, or all backward.

    Returns the sequence of each stretch, whether it is forward, and its places; the place where the
    direction changes belongs to both. Sequences without a direction are left out. Moves that were
    made in both directions belong to the stretch around them. A causal chain is one stretch.
    """
    walked = paths(replays, sequences)
    whole = np.select(
        [is_one_of(sequences["direction"], [way]) for way in ("forward", "reverse")],
        [_FORWARD, _BACKWARD],
        _NO_WAY,
    )
    is_mixed = is_one_of(sequences["direction"], ["mixed"])
    moves = Lists(np.repeat(whole, walked.length - 1), walked.begin - np.arange(len(walked.begin)))
    if is_mixed.any():
        mixed = replays.sequences["moves"].to_numpy()[sequences.index[is_mixed]]
        labels = np.concatenate(mixed)
        way = np.select([labels == "forward", labels == "backward"], [_FORWARD, _BACKWARD], _NO_WAY)
        moves.flat[np.repeat(is_mixed, moves.length)] = way
    n = len(moves.flat)
    owner, first, stop, ways = (np.empty(n, dtype=np.int64) for _ in range(4))
    n = _cut(moves.flat, moves.begin, owner, first, stop, ways)
    owner, length = owner[:n], stop[:n] - first[:n] + 1
    begin = np.append(0, np.cumsum(length))
    # In a list of places each sequence is one longer than in a list of moves: hence `owner`.
    at = np.arange(begin[-1]) + np.repeat(first[:n] + owner - begin[:-1], length)
    return owner, ways[:n] == _FORWARD, Lists(walked.flat[at], begin)


@kernel
def _cut(way: Ints, begin: Ints, owner: Ints, first: Ints, stop: Ints, ways: Ints) -> int:
    """Write the first and last move of each stretch; moves of no direction join those before."""
    n = 0
    for sequence in range(len(begin) - 1):
        now, since = _NO_WAY, begin[sequence]
        for move in range(begin[sequence], begin[sequence + 1] + 1):
            ends = move == begin[sequence + 1]
            if now != _NO_WAY and (ends or (way[move] != _NO_WAY and way[move] != now)):
                owner[n], first[n], stop[n], ways[n] = sequence, since, move, now
                n += 1
                since = move
            if not ends and way[move] != _NO_WAY:
                now = way[move]
    return n


def _codes_of_corners(replays: Replays, walked: Lists) -> Ints:
    """Encode each replay of a corner in bits: its side, and the connections it runs to or from.

    A replay runs to the connection of its corner if it leads towards the middle of that, and from
    it if it leads away. The code is -1 for a replay that is not of one corner.
    """
    left, right = own_sides(replays)
    side = runs_on(left, right, walked)
    task, steps = replays.task, between_nodes(replays.task)
    place = {node: number for number, node in reversed(list(enumerate(task.node)))}
    middles = [
        place[nodes[len(nodes) // 2]]
        for name, nodes in task.landmarks.items()
        if name.startswith("shortcut")
    ]
    if not middles:
        return np.full(len(side), -1)
    way = np.where(side > 0, 1, 0)
    nearest = steps[middles].argmin(axis=0)
    first, last = walked.first, walked.last
    is_one = np.zeros(len(side), dtype=bool)
    for number, middle in enumerate(middles):
        n_here, n_there = (
            covered(walked, (left | right) & half)
            for half in (nearest == number, nearest != number)
        )
        here = (side != 0) & (n_here > 0) & (n_there == 0)
        nearer = np.sign(steps[middle, first] - steps[middle, last])
        way |= (here & (nearer > 0)) << (1 + 2 * number)
        way |= (here & (nearer < 0)) << (2 + 2 * number)
        is_one |= here & (nearer != 0)
    return np.where(is_one, way, -1)


def _makes_shortcut(first: Ints, second: Ints) -> Bools:
    """Return whether one replay runs to a connection that the next leaves on the other side."""
    # After these shifts every other bit, of both, is that of one connection.
    up_to, away = first >> 1, second >> 2
    joined = up_to & away & _EVERY_OTHER_BIT
    made: Bools = (joined != 0) & ((first ^ second) & 1 == 1)
    return made


def shortcuts(pairs: Mapping[str, npt.ArrayLike] | pd.DataFrame) -> Bools:
    """Return which pairs form a shortcut.

    In a shortcut, the first replay runs to a connection on one side, and the second leaves it on
    the other side.
    """
    forward, reverse, forward_first = (
        np.asarray(pairs[name]) for name in ("forward", "reverse", "forward_first")
    )
    first = np.where(forward_first, forward, reverse)
    return _makes_shortcut(first, np.where(forward_first, reverse, forward))


def _paired_shortcuts(replays: Replays) -> pd.DataFrame:
    """Pairs of a forward and a reverse replay of one corner each that form a shortcut (share).

    One is right after the other. With four corners, 4 of the 32 pairs in either order do. Null: the
    mean share if each of the animal's reverse replays were paired with any of its forward ones
    (Gupta et al. 2010).
    """
    pairs = opposite_pairs(replays)
    found = share(replays, pairs, shortcuts(pairs))
    ways, number = np.unique(pairs[["forward", "reverse"]], return_inverse=True)
    forward, reverse = number.reshape(-1, 2).T
    matches = _makes_shortcut(ways[:, None], ways).astype(float)
    code, first = own_code(replays.animals, pairs), pairs["forward_first"].to_numpy()
    shape = (len(found), len(ways))
    any_reverse, leading, following = (np.zeros(shape) for _ in range(3))
    np.add.at(any_reverse, (code, reverse), 1)
    np.add.at(leading, (code[first], forward[first]), 1)
    np.add.at(following, (code[~first], forward[~first]), 1)
    expected = (any_reverse * (leading @ matches + following @ matches.T)).sum(axis=1)
    n = found["n"].to_numpy()
    return rows(found["animal"], found["value"], expected / np.maximum(n, 1) ** 2, n)


NOVELTY_STATISTICS: dict[str, Statistic] = {
    "shortcut_share": Share("shortcuts", _shortcuts),
    "composed_share": Share("composed sequences", _composed),
    "composed_mixed_share": Share(
        "sequences composed of pieces read in both directions",
        partial(_composed, novelties=["composed_mixed"]),
    ),
    "composed_share_at_rest": Share("composed sequences at rest", _composed, phases=AT_REST),
    "paired_shortcut_share": Share(
        "forward and reverse corners that form a shortcut", _paired_shortcuts
    ),
}


class _Crossings(NamedTuple):
    """Slots for walls between neighbouring wells, walls in each block, and moves through slots."""

    slots: list[tuple[str, str]]
    layouts: Bools  # of the blocks with walls, shape (n_blocks, n_slots)
    counts: Ints  # moves by animal, block and slot
    n_moves: Ints  # by animal
    n_sequences: Ints  # by animal


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
        # An animal's first block changes nothing, so its laps are never the first after a change.
        laps = replays.laps
        number = laps.sort_values(["animal", "episode"]).groupby(["animal", "block"], observed=True)
        since = number.cumcount().reindex(laps.index).to_numpy(float)
        first = laps.groupby("animal")["episode"].transform("min") == laps.groupby(
            ["animal", "block"], observed=True
        )["episode"].transform("min")
        since[first.to_numpy()] = np.inf
        before, after = laps_around(replays, sequences)
        lap = np.where((sequences["phase"] == "start").to_numpy(), after, before)
        kept &= at_lap(since, lap, none=np.inf) < first_laps
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


def symmetric_layouts(
    slots: Sequence[tuple[str, str]], layout: Bools, position: Mapping[str, tuple[float, float]]
) -> Bools:
    """Rotate and reflect a layout of walls.

    A layout flags the slots, pairs of nodes in alphabetical order, that have a wall; `position` is
    in cm. The layouts that differ from this one are returned, at most seven, each once; only
    rotations and reflections that map slots to slots are used.
    """
    nodes = sorted({node for slot in slots for node in slot})
    at = np.array([position[node] for node in nodes], dtype=float).reshape(-1, 2)
    at = at - at.mean(axis=0)
    number = {slot: i for i, slot in enumerate(slots)}
    found = {tuple(layout.tolist()): None}  # the given one first, to be left out in the end
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


def other_layouts(layout: Bools) -> Bools:
    """List all other layouts of equally many walls; none if there are more than 10,000."""
    n_slots, n_walls = len(layout), int(layout.sum())
    if comb(n_slots, n_walls) > _MOST_LAYOUTS:
        return np.empty((0, n_slots), dtype=bool)
    there = np.array(list(combinations(range(n_slots), n_walls)), dtype=int)
    layouts = np.zeros((len(there), n_slots), dtype=bool)
    np.put_along_axis(layouts, there, True, axis=1)
    others: Bools = layouts[(layouts != layout).any(axis=1)]
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


def _percentiles(replays: Replays) -> tuple[Floats, Ints]:
    """Compute the percentile by animal and block with walls, and the sequences of each animal."""
    found = _crossings(replays)
    value = np.full(found.counts.shape[:2], np.nan)
    for i, layout in enumerate(found.layouts):
        layouts = other_layouts(layout)
        if not len(layouts):
            continue
        own, others = found.counts[:, i] @ layout, found.counts[:, i] @ layouts.T
        # Layouts that would be crossed as often count half.
        more = (others > own[:, None]).mean(axis=1) + (others == own[:, None]).mean(axis=1) / 2
        value[:, i] = np.where(found.counts[:, i].any(axis=1), more, np.nan)
    return value, found.n_sequences


WALL_STATISTICS: dict[str, Statistic] = {
    "wall_crossing_share": Share("moves through walls", _crossing_share),
    "wall_crossing_share_first_laps": Share(
        "moves through walls in the five laps after they moved",
        partial(_crossing_share, first_laps=5),
    ),
    "layouts_crossed_more": Share("other layouts that would be crossed more", _percentile),
    "sessions_within_walls": Share(
        "sessions that fit their walls better than 95 % of layouts", _sessions
    ),
}
