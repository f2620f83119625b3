"""Files of example MDPs, stored beside the results that were obtained in them.

Each JSON file holds the graph of one MDP in networkx's node-link format, which other tools can
read too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from replay.files import read_file, replacing
from replay.worlds.mdp import MDP
from replay.worlds.node_link import mdp_from_json, mdp_to_json

__all__ = ["read_mdp", "read_mdps", "write_mdps"]


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
