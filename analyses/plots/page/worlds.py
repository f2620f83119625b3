"""The world of a page: where states are, what joins them, and how they are drawn."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from analyses.plots.mdps import maze_cell_size, state_positions
from analyses.plots.page.packing import pack
from analyses.plots.task_mazes import HALF_WIDTH
from replay.worlds.mazes import layout
from replay.worlds.mdp import MDP

__all__ = ["describe_world", "world_of_moves"]

_MOST_LABELS = 5_000


def describe_world(mdp: MDP) -> dict[str, Any]:
    """Tell how a world is drawn.

    Parameters
    ----------
    mdp : MDP
        The world.

    Returns
    -------
    dict
        ``name, n_states``; ``style``: ``maze`` (walls, to scale), ``track`` (corridors, to scale)
        or ``graph`` (states and lines, not to scale); ``unit`` (cm): the side of a cell or the
        width of a corridor; ``labels`` of the states, if any; and packed: ``x, y``, the two ends
        ``one, other`` of each line, ``start, terminal`` (states), and of a maze ``wall_x, wall_y``
        (cells).
    """
    place = state_positions(mdp)
    state, other = mdp.transition_rows() // mdp.n_actions, mdp.successor
    pairs = np.unique(np.sort(np.column_stack((state, other)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    starts = np.flatnonzero(mdp.start_probability)
    columns: dict[str, NDArray[Any]] = {
        "x": place[:, 0],
        "y": place[:, 1],
        "one": pairs[:, 0],
        "other": pairs[:, 1],
        "start": starts if len(starts) < 0.5 * mdp.n_states else starts[:0],
        "terminal": np.flatnonzero(mdp.terminal),
    }
    cell = maze_cell_size(mdp)
    if cell is not None:
        style, unit = "maze", cell
        columns["wall_y"], columns["wall_x"] = np.nonzero(layout(mdp))
    else:
        is_track = mdp.position is not None and (mdp.labels is not None or _leads_back(mdp))
        style, unit = ("track", 2 * HALF_WIDTH) if is_track else ("graph", 0.0)
    described: dict[str, Any] = {
        "name": mdp.name, "n_states": mdp.n_states, "style": style, "unit": unit,
    }  # fmt: skip
    if mdp.labels is not None and mdp.n_states <= _MOST_LABELS:
        described["labels"] = [_text(label) for label in mdp.labels]
    return described | pack(columns)


def world_of_moves(state: NDArray[np.int32], next_state: NDArray[np.int32]) -> MDP:
    """Make a world of the moves that were made in one that is not known.

    Parameters
    ----------
    state, next_state : ndarray of int32, shape (n_moves,)
        The moves.

    Returns
    -------
    MDP
        One action; each state leads to those that were entered from it. It has no positions.
    """
    n_states = int(max(state.max(initial=0), next_state.max(initial=0))) + 1
    moves = np.unique(np.column_stack((state, next_state)), axis=0)
    leaves = np.bincount(moves[:, 0], minlength=n_states)
    start = np.bincount(moves[:, 0], minlength=n_states).astype(float)
    return MDP.from_transitions(
        moves[:, 0],
        np.zeros(len(moves), dtype=np.int64),
        moves[:, 1],
        1.0 / leaves[moves[:, 0]],
        np.zeros(len(moves)),
        start_probability=start / start.sum(),
        terminal=leaves == 0,
        action_names=["go"],
        name="unknown",
    )


def _leads_back(mdp: MDP) -> bool:
    """Tell whether one can come back to a state, unlike in a tree, whose positions only draw it."""
    state = mdp.transition_rows() // mdp.n_actions
    graph = nx.DiGraph(zip(state.tolist(), mdp.successor.tolist(), strict=True))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return not nx.is_directed_acyclic_graph(graph)


def _text(label: object) -> str:
    """Write a label as people do: a cell as x, y; a place along an edge by the edge's two ends."""
    if isinstance(label, tuple) and len(label) == 3 and isinstance(label[2], int):
        return f"{label[0]}\N{EN DASH}{label[1]} ({label[2]})"
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
