"""A track graph for a recording: a proposal, a picture, and a page on which it is drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

import networkx as nx
import numpy as np

from analyses.page import write_track_page
from analyses.recordings.prepare.proposed_track import proposed_track
from analyses.recordings.readers import read_positions
from analyses.recordings.readers.track_graphs import read_track
from analyses.reports.text import plural
from replay.checks import check_number
from replay.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_track_of(
    source: str, out: Path, *, position: str | None = None, pixels_per_cm: float | None = None
) -> list[str]:
    """Write a track graph as JSON, unless it exists, with a page and a picture; say what to do."""
    from analyses.plots import plot_track

    xy, unit = read_positions(source, position)
    is_drawn = out.exists()
    graph = read_track(out) if is_drawn else None
    scale = pixels_per_cm or (graph.graph.get("pixels_per_cm") if graph is not None else None)
    if unit == "cm" and pixels_per_cm is not None:
        raise ValueError("pixels_per_cm is for positions in pixels, and these are in cm.")
    if scale is not None and unit != "cm":
        xy, unit = xy / check_number("pixels_per_cm", scale, at_least=1e-9), "cm"
    if graph is None:
        graph = proposed_track(xy)
        if scale is not None:
            graph.graph["pixels_per_cm"] = scale
    page = write_track_page(
        xy, graph, out.with_suffix(".html"), unit=unit, title=f"Track of {Path(source).name}"
    )
    ax = plot_track(xy, nx.convert_node_labels_to_integers(graph), unit=unit)
    picture = out.with_suffix(".png")
    cast("Figure", ax.figure).savefig(picture, dpi=200)
    length = sum(
        float(np.hypot(*np.subtract(graph.nodes[one]["pos"], graph.nodes[other]["pos"])))
        for one, other in graph.edges
    )
    size = f"{plural(len(graph), 'node')}, {plural(graph.number_of_edges(), 'edge')}, "
    told = [f"{'The track' if is_drawn else 'A proposal'} on the positions: {picture}."]
    told[0] += f" {size}{length:.0f} {unit}."
    told.append(f"Open {page} in a browser to move, add, join and measure nodes, and to save it.")
    if unit != "cm":
        told.append(
            f"Positions are in {unit}: measure on the page how many are a cm, or run this again "
            f"with --pixels-per-cm. {out} is not written before."
        )
        return told
    if not is_drawn:
        drawn = {
            "node_positions": [list(pos) for _, pos in graph.nodes(data="pos")],
            "edges": [list(edge) for edge in graph.edges],
            **({} if scale is None else {"pixels_per_cm": scale}),
        }
        with replacing(out) as beside:
            beside.write_text(json.dumps(drawn, indent=1) + "\n", "utf-8")
    told.append(f"Then: replay recording {source} --track {out}")
    return told
