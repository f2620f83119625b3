"""The world of a page: the places of states, the connections between them, and their drawing.

Packing of numeric columns as compact text, which a browser unpacks without a library.

All columns of a table are concatenated, little-endian, deflated and encoded in base64; a listing
says where each begins. Whole numbers have the narrowest type that holds them. A column that never
decreases is stored as differences, marked by ``+``.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.plots.mdps import maze_cell_size, state_positions
from analyses.plots.style import label
from analyses.plots.tasks import HALF_WIDTH
from replay.checks.arrays import Int32s, Ints
from replay.log.worlds import ClosedMoves
from replay.worlds.mazes import barriers, layout
from replay.worlds.mdp import MDP

_WHOLE = ("u1", "u2", "u4", "i4")
_FEWEST_DIFFERENCES = 8  # of fewer numbers, differences save nothing
_MOST_LABELS = 5_000  # of states: those of more take too many bytes
_MOST_IN_CORRIDORS = 4  # neighbours of most places; an open field has more
_OVERLAP = 1.1  # of the floors of neighbours, so that no gap shows between them


def pack(columns: Mapping[str, ArrayLike]) -> dict[str, Any]:
    """Pack columns.

    Whole numbers and flags from -2**31 to below 2**32, or floats, stored in single precision.
    ``columns`` has name -> [type, first byte, length]; ``data`` the deflated bytes in base64.
    """
    listing: dict[str, list[Any]] = {}
    parts: list[bytes] = []
    begin = 0
    for name, given in columns.items():
        values = np.asarray(given)
        if values.dtype.kind == "f" and len(values):
            kind = "f4"
        else:
            values = values.astype(np.int64)
            differences = np.diff(values, prepend=0)
            # Small differences deflate much better than numbers that ascend.
            if len(values) >= _FEWEST_DIFFERENCES and (differences >= 0).all():
                kind, values = f"+{_type_of(differences)}", differences
            else:
                kind = _type_of(values)
        content = values.astype(f"<{kind.lstrip('+')}").tobytes()
        listing[name] = [kind, begin, len(values)]
        parts.append(content)
        begin += len(content)
    data = base64.b64encode(zlib.compress(b"".join(parts), 9)).decode("ascii")
    return {"columns": listing, "data": data}


def _type_of(whole: Ints) -> str:
    low, high = (int(whole.min()), int(whole.max())) if len(whole) else (0, 0)
    fits = (
        kind for kind in _WHOLE if np.iinfo(kind).min <= low and high <= int(np.iinfo(kind).max)
    )
    return next(fits)


def describe_world(
    mdp: MDP, closed: ClosedMoves | None = None, shared: list[int] | None = None
) -> dict[str, Any]:
    """Describe how a world is drawn.

    ``style`` is ``maze`` (walls, to scale), ``track`` (corridors, to scale) or ``graph`` (not to
    scale); ``unit`` is the side of a cell or the width of a corridor, in cm, and ``floor`` the
    width that is drawn between neighbours: in an open field, their distance. Packed are the places
    ``x, y`` of states, the ends ``one, other`` of each line, ``start, terminal``, and the cells
    ``wall_x, wall_y`` of walls. If moves are closed for some time (`closed`: step -> moves):
    ``closed_from`` (steps), for each of these the numbers ``closed_states, closed_lines``, and
    their concatenated lists ``closed_state`` (which cannot be entered) and ``closed_line``
    (others). If states are codes of an encoder, `shared` are those met in several places.
    """
    place = state_positions(mdp)
    closed = closed or {}
    # The moves between two states that are possible at some time.
    state, other = mdp.transition_rows() // mdp.n_actions, mdp.successor
    closed_ones = [move for moves in closed.values() for move in moves]
    parts = [np.column_stack((state, other)), np.array(closed_ones, dtype=np.int64).reshape(-1, 2)]
    moves = np.unique(np.concatenate(parts), axis=0)
    moves = moves[moves[:, 0] != moves[:, 1]]
    pairs = np.unique(np.sort(moves, axis=1), axis=0)
    starts = np.flatnonzero(mdp.start_probability)
    columns: dict[str, NDArray[Any]] = {
        "x": place[:, 0],
        "y": place[:, 1],
        "one": pairs[:, 0],
        "other": pairs[:, 1],
        # Where a run may begin nearly anywhere, no state is marked as its start.
        "start": starts if len(starts) < 0.5 * mdp.n_states else starts[:0],
        "terminal": np.flatnonzero(mdp.terminal),
        "shared": np.array(shared or [], dtype=np.int64),
        **_closures(moves, pairs, closed),
    }
    cell = maze_cell_size(mdp)
    if cell is not None:
        style, unit = "maze", cell
        columns["wall_y"], columns["wall_x"] = np.nonzero(layout(mdp))
        shut = np.sort(barriers(mdp), axis=1)
        size = (mdp.n_states, 1)  # what opens later is shown as closed until then
        shut = shut[~np.isin(shut @ size, pairs @ size)]
        columns["barrier_one"], columns["barrier_other"] = shut.T
    else:
        is_scaled = mdp.position is not None and shared is None
        is_track = is_scaled and mdp.labels is not None
        if is_scaled and mdp.labels is None:
            # In a tree no state is reached again, and positions have no scale.
            is_track = not nx.is_directed_acyclic_graph(nx.DiGraph(moves.tolist()))
        style, unit = ("track", 2 * HALF_WIDTH) if is_track else ("graph", 0.0)
    floor = unit
    degrees = np.bincount(pairs.ravel())
    if style == "track" and len(pairs) and np.median(degrees) > _MOST_IN_CORRIDORS:
        # In an open field most places have more neighbours: corridors are drawn side by side, and
        # a little wider than these are apart, so that no gap is left between them.
        apart = float(np.hypot(*(place[pairs[:, 0]] - place[pairs[:, 1]]).T).min())
        floor = max(unit, _OVERLAP * apart)
    described: dict[str, Any] = {
        "name": label(mdp.name), "n_states": mdp.n_states, "style": style, "unit": unit,
        "floor": floor,
    }  # fmt: skip
    if mdp.labels is not None and mdp.n_states <= _MOST_LABELS:
        described["labels"] = [_text(label) for label in mdp.labels]
    return described | pack(columns)


def _closures(moves: Ints, lines: Ints, closed: ClosedMoves) -> dict[str, NDArray[Any]]:
    """List the states and lines that are closed from each step on.

    A state that cannot be entered is closed, and so is a line between other states along which no
    move is possible.
    """
    n_moves = {tuple(line): 0 for line in lines.tolist()}
    ways_in: dict[int, set[int]] = {}
    for here, there in moves.tolist():
        n_moves[min(here, there), max(here, there)] += 1
        ways_in.setdefault(there, set()).add(here)
    number = {line: k for k, line in enumerate(n_moves)}
    states, shut = [], []
    for now in closed.values():
        barred = set(now)
        own = {there for _, there in now if all((here, there) in barred for here in ways_in[there])}
        left = dict.fromkeys(((min(move), max(move)) for move in now if not own & {*move}), 0)
        for here, there in barred:
            if (min(here, there), max(here, there)) in left:
                left[min(here, there), max(here, there)] += 1
        states.append(sorted(own))
        shut.append([number[line] for line, n in left.items() if n == n_moves[line]])
    if not any(states) and not any(shut):
        return {}
    flat = [np.array([each for part in parts for each in part], dtype=np.int64)
            for parts in (states, shut)]  # fmt: skip
    return {
        "closed_from": np.array([*closed], dtype=np.int64),
        "closed_states": np.array([len(part) for part in states]),
        "closed_lines": np.array([len(part) for part in shut]),
        "closed_state": flat[0],
        "closed_line": flat[1],
    }


def world_of_moves(state: Int32s, next_state: Int32s) -> MDP:
    """Make a world from the moves that were made, if the world itself is unknown.

    It has no positions, and one action, which leads from a state to those that were entered from
    it.
    """
    n_states = int(max(state.max(initial=0), next_state.max(initial=0))) + 1
    moves = np.unique(np.column_stack((state, next_state)), axis=0)
    leaves = np.bincount(moves[:, 0], minlength=n_states)
    return MDP.from_transitions(
        moves[:, 0],
        np.zeros(len(moves), dtype=np.int64),
        moves[:, 1],
        1.0 / leaves[moves[:, 0]],
        np.zeros(len(moves)),
        start_probability=leaves / leaves.sum(),
        terminal=leaves == 0,
        action_names=["go"],
        name="unknown",
    )


def _text(label: object) -> str:
    """Write a label for readers: a cell as x, y; a place along an edge by the edge's two ends."""
    if isinstance(label, tuple) and len(label) == 3 and isinstance(label[2], int):
        return f"{label[0]}\N{EN DASH}{label[1]} ({label[2]})"
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
