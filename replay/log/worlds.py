"""The world of a log: moves that are closed for some time, and both as JSON, which others can read.

A log has one world. If some of its moves become impossible at some step, or possible again, as new
walls are built or barriers taken away, the log lists them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from replay.checks import check_array, check_list, check_whole, shown
from replay.checks.arrays import Int32s
from replay.files import read_file, replacing
from replay.worlds.mdp import MDP

ClosedMoves = Mapping[int, tuple[tuple[int, int], ...]]
"""Step -> the moves (state, next_state) that are closed from then on, until the next such step."""


def closed_moves(
    worlds: Iterable[tuple[int, MDP]], whole: MDP | None = None, number: Int32s | None = None
) -> ClosedMoves:
    """List when moves are closed, among those that are possible at some time.

    `number` (n_states,) maps states of these worlds to those of the log. Return step -> moves, an
    entry per change; empty if none is ever closed.
    """
    listed = list(worlds)
    # Worlds that differ in their start alone share their moves: of hundreds of laps few differ.
    some = {id(mdp.successor): mdp for mdp in (*(mdp for _, mdp in listed), whole) if mdp}
    moves: dict[int, set[tuple[int, int]]] = {}
    for key, mdp in some.items():
        here: NDArray[Any] = mdp.transition_rows() // mdp.n_actions
        there: Int32s = mdp.successor
        if number is not None:
            here, there = number[here], number[there]
        made = zip(here.tolist(), there.tolist(), strict=True)
        moves[key] = {(state, after) for state, after in made if state != after}
    ever = set().union(*moves.values())
    lacking = {key: tuple(sorted(ever - made)) for key, made in moves.items()}
    closed: dict[int, tuple[tuple[int, int], ...]] = {}
    before: tuple[tuple[int, int], ...] = ()
    for step, mdp in listed:
        if lacking[id(mdp.successor)] != before:
            before = closed[step] = lacking[id(mdp.successor)]
    return closed


def check_closed(closed: object, mdp: MDP | None) -> ClosedMoves:
    """Check the closed moves of a log."""
    if not isinstance(closed, Mapping):
        raise TypeError(
            "closed must be a dict of step to the moves that are closed from then on, such as "
            f"{{100: [(3, 4), (4, 3)]}}; got {shown(closed)}."
        )
    last = np.inf if mdp is None else mdp.n_states - 1
    checked: dict[int, tuple[tuple[int, int], ...]] = {}
    for step, moves in closed.items():
        from_step = check_whole("A step of closed", step)
        what = f"The moves that are closed from step {from_step} on"
        listed = check_list(what, moves)
        if not listed:
            checked[from_step] = ()
            continue
        pairs = check_array(listed, what, kind="whole", at_least=0, at_most=last, n_dims=2)
        if pairs.shape[1] != 2:
            raise ValueError(f"{what} must be pairs of states, got {shown(moves)}.")
        checked[from_step] = tuple((here, there) for here, there in pairs.tolist())
    return dict(sorted(checked.items()))


_BROKEN = (KeyError, TypeError, AttributeError, ValueError, RecursionError)


def mdp_to_json(mdp: MDP) -> str:
    """Write an MDP as JSON."""

    def plain(value: object) -> Any:
        return value.item() if isinstance(value, np.generic) else str(value)

    return json.dumps(nx.node_link_data(mdp.to_networkx(), edges="edges"), default=plain)


def mdp_from_json(text: str | bytes) -> MDP:
    """Read an MDP that `mdp_to_json` wrote."""
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise TypeError(f"expected a JSON object, got {type(data).__name__}")
        if missing := [key for key in ("nodes", "edges") if key not in data]:
            raise TypeError(f"{missing[0]!r} is missing")
        graph = nx.node_link_graph(data, edges="edges")
        for attributes in [graph.graph, *graph.nodes.values()]:
            attributes.update({name: _with_tuples(value) for name, value in attributes.items()})
        return MDP.from_networkx(graph)
    except (*_BROKEN, nx.NetworkXError) as error:
        raise ValueError(
            f"This is not the graph of an MDP in node-link format: {str(error).rstrip('.')}."
        ) from error


def _with_tuples(value: Any) -> Any:
    """Convert lists back to the tuples that they were before JSON."""
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def write_mdps(mdps: Mapping[str, MDP], folder: str | Path) -> None:
    """Write MDPs into a folder, each as JSON under its name."""
    for name, mdp in mdps.items():
        with replacing(Path(folder) / f"{name}.json") as beside:
            beside.write_text(mdp_to_json(mdp), encoding="utf-8")


def read_mdps(folder: str | Path) -> dict[str, MDP]:
    """Read the MDPs that `write_mdps` wrote: name -> MDP, in alphabetical order."""
    return {path.stem: read_mdp(path) for path in sorted(Path(folder).glob("[!.]*.json"))}


def read_mdp(path: str | Path) -> MDP:
    """Read one MDP."""
    try:
        return mdp_from_json(read_file(path))
    except ValueError as error:
        raise ValueError(f"{path} holds no MDP. {error}") from error
