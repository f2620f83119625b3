"""Files of example MDPs, stored beside the results that were obtained in them.

Each JSON file holds the graph of one MDP in networkx's node-link format, which other tools can
read too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from replay.experiments import EXPERIMENTS
from replay.files import replacing
from replay.worlds.mdp import MDP
from replay.worlds.node_link import from_json, to_json

__all__ = ["read_mdp", "read_mdps", "world_of_log", "write_mdps"]


def write_mdps(mdps: Mapping[str, MDP], folder: str | Path) -> None:
    """Write MDPs into a folder.

    Parameters
    ----------
    mdps : mapping of str to MDP
        The MDPs by name; labels of states are numbers, strings or tuples of them.
    folder : str or pathlib.Path
        The folder to write to, which is created if it is missing.

    See Also
    --------
    read_mdps : Reads them.
    """
    for name, mdp in mdps.items():
        with replacing(Path(folder) / f"{name}.json") as beside:
            beside.write_text(to_json(mdp), encoding="utf-8")


def read_mdps(folder: str | Path) -> dict[str, MDP]:
    """Read the MDPs that `write_mdps` wrote.

    Parameters
    ----------
    folder : str or pathlib.Path
        The folder to read.

    Returns
    -------
    dict of str to MDP
        The MDPs by name, in alphabetical order.

    Raises
    ------
    ValueError
        If a file does not hold an MDP.

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
    """Read one MDP.

    Parameters
    ----------
    path : str or pathlib.Path
        A file that `write_mdps` wrote.

    Returns
    -------
    MDP
        The MDP.

    Raises
    ------
    ValueError
        If the file does not hold an MDP.
    """
    try:
        return from_json(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} holds no MDP. {error}") from error


def world_of_log(folder: str | Path) -> MDP | None:
    """Generate again the world of an event log that ``replay reproduce`` stored.

    Logs that were saved with their world do not need this function.

    Parameters
    ----------
    folder : str or pathlib.Path
        The log, in its place in the result folder.

    Returns
    -------
    MDP or None
        The world; None if the log does not belong to a reproduction.
    """
    folder = Path(folder).resolve()
    manifest = Path(*folder.parts[:-3]) / "manifest.json"
    experiment, index = folder.parent.name, folder.name.split("-")[-2:-1]
    if experiment not in EXPERIMENTS or not index or not manifest.is_file():
        return None
    seed = json.loads(manifest.read_bytes())["seed"]
    return EXPERIMENTS[experiment].mdp(int(index[0]), seed)
