"""A page on which a track graph is drawn on the positions of an animal: one HTML file, offline."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from analyses.page.writing import filled
from analyses.recordings.readers.track_graphs import read_track
from replay.checks import check_array, check_text
from replay.files import check_path, replacing

_MOST_POINTS = 20_000


def write_track_page(
    position: ArrayLike,
    track: nx.Graph,
    out: str | Path = "track.html",
    *,
    unit: str = "cm",
    title: str = "Track",
) -> Path:
    """Write a page on which nodes and edges of a track graph are clicked, measured and saved.

    Parameters
    ----------
    position : array_like of float, shape (n_samples, 2)
        Positions in the order of time; NaN where unknown.
    track : networkx.Graph
        The graph with which the page begins, with `pos` in the unit of the positions.
    out : path, default "track.html"
        The file to write.
    unit : str, default "cm"
        The unit of the positions; ``"pixels"`` asks for their number in a cm.
    title : str, default "Track"
        The heading.

    Returns
    -------
    pathlib.Path
        `out`. Of more than 20,000 positions it shows as many, evenly over time.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = make_linear_track()
    >>> with TemporaryDirectory() as folder:
    ...     page = write_track_page([[0, 1], [120, 1]], track, Path(folder) / "track.html")
    ...     "https://" in page.read_text()
    False
    """
    path = check_path("out", out)
    xy = check_array(position, "position", kind="number", missing=True, n_dims=2)
    track = read_track(track)
    # A browser draws these at once; more would show no more of the track.
    shown = xy[:: -(-len(xy) // _MOST_POINTS) or 1]
    number = {node: place for place, node in enumerate(track)}
    landmarks = track.graph.get("landmarks", {})
    epochs = track.graph.get("run_epochs")
    data = {
        "title": check_text("title", title),
        "unit": check_text("unit", unit),
        "positions": [
            None if np.isnan(each).any() else [round(each[0], 1), round(each[1], 1)]
            for each in shown.tolist()
        ],
        "nodes": [
            {
                "x": float(pos[0]),
                "y": float(pos[1]),
                "landmarks": ", ".join(
                    name for name, nodes in landmarks.items() if str(node) in nodes
                ),
            }
            for node, pos in track.nodes(data="pos")
        ],
        "edges": [
            [number[one], number[other], bool(edge.get("bridge"))]
            for one, other, edge in track.edges(data=True)
        ],
        "pixels_per_cm": track.graph.get("pixels_per_cm"),
        "run_epochs": None if epochs is None else np.asarray(epochs).tolist(),
    }
    with replacing(path) as beside:
        beside.write_text(filled("track.html", data), encoding="utf-8")
    return path
