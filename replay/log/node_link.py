"""MDPs as JSON: the graph of an MDP in networkx's node-link format, which other tools can read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from replay.files import read_file, replacing
from replay.worlds.mdp import MDP

__all__ = ["mdp_from_json", "mdp_to_json", "read_mdp", "read_mdps", "write_mdps"]

_BROKEN = (KeyError, TypeError, AttributeError, ValueError, RecursionError)


def mdp_to_json(mdp: MDP) -> str:
    """Write an MDP as JSON.

    Examples
    --------
    >>> corridor = MDP.from_tables([[0, 1], [0, 0]], reward=[0, 1], start=0, terminal=[1])
    >>> mdp_from_json(mdp_to_json(corridor)) == corridor
    True
    """

    def plain(value: object) -> Any:
        return value.item() if isinstance(value, np.generic) else str(value)

    return json.dumps(nx.node_link_data(mdp.to_networkx(), edges="edges"), default=plain)


def mdp_from_json(text: str | bytes) -> MDP:
    """Read an MDP that `mdp_to_json` wrote.

    Examples
    --------
    >>> mdp_from_json("{}")
    Traceback (most recent call last):
    ValueError: This is not the graph of an MDP in node-link format: 'nodes' is missing.
    """
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
    """Read the MDPs that `write_mdps` wrote: name -> MDP, in alphabetical order.

    Examples
    --------
    >>> import tempfile
    >>> from replay.worlds.mazes import from_ascii
    >>> maze = from_ascii("S.G")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_mdps({"corridor": maze}, folder)
    ...     read_mdps(folder)["corridor"] == maze
    True
    """
    return {path.stem: read_mdp(path) for path in sorted(Path(folder).glob("[!.]*.json"))}


def read_mdp(path: str | Path) -> MDP:
    """Read one MDP."""
    try:
        return mdp_from_json(read_file(path))
    except ValueError as error:
        raise ValueError(f"{path} holds no MDP. {error}") from error
