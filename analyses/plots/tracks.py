"""Track graphs, drawn on the positions of an animal."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from analyses.plots.panels import NEW, drawing
from analyses.plots.style import COLUMN_WIDTH
from replay.checks import check_array


@drawing
def plot_track(
    position: ArrayLike,
    track: nx.Graph,
    ax: Axes = NEW,
    *,
    unit: str = "cm",
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the positions of an animal, and the nodes and edges of a track graph on them.

    Parameters
    ----------
    position : array_like of float, shape (n_samples, 2)
        Positions in the order of time; NaN where unknown.
    track : networkx.Graph
        The track graph, with `pos` in the unit of the positions.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    unit : str, default "cm"
        The unit of the positions, for the axes.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`. Each node has its number, each edge its length.

    Examples
    --------
    >>> from replay.worlds.tracks import make_linear_track
    >>> ax = plot_track([[0, 1], [60, 0], [120, 1]], make_linear_track(120.0))
    >>> [text.get_text() for text in ax.texts]
    ['0', '1', '120']
    """
    xy = check_array(position, "position", kind="number", missing=True, n_dims=2)
    ax.plot(*xy.T, color="0.7", linewidth=0.4, zorder=1)
    place = {node: np.asarray(pos, dtype=float) for node, pos in track.nodes(data="pos")}
    for one, other in track.edges:
        ax.plot(*np.transpose([place[one], place[other]]), color="#aa3377", linewidth=1, zorder=2)
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6}
    around = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": "#aa3377"}
    for node, (x, y) in place.items():
        ax.text(x, y, str(node), bbox=around, zorder=4, **middle)
    behind = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    for one, other in track.edges:
        length = np.hypot(*(place[one] - place[other]))
        x, y = (place[one] + place[other]) / 2
        ax.text(x, y, f"{length:.0f}", bbox=behind, zorder=3, **middle)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.set(xlabel=f"x ({unit})", ylabel=f"y ({unit})")
    return ax
