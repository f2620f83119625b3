"""The graph that a learner has learned, as it grows with experience."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from analyses.plots.mdps import draw_ends, maze_cell_size, plot_mdp
from analyses.plots.panels import NEW, drawing, fitting_columns, grid
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, INCH, VALUE_COLOURS, label
from replay.checks import check_array, check_table
from replay.checks.arrays import Floats
from replay.worlds.mazes import layout
from replay.worlds.mdp import MDP

_WIDEST = 60  # edges drawn at full width
_BAR = 0.5  # inches, height of the colour bar and its label


@drawing
def plot_learned_graph(
    graph: nx.MultiDiGraph,
    ax: Axes = NEW,
    mdp: MDP | None = None,
    norm: Normalize | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw a learned graph, with states coloured by value, or by visits if values are unknown.

    Parameters
    ----------
    graph : networkx.MultiDiGraph
        A graph from `EventLog.graph`: nodes with `pos`, `value` and `visits`, edges with `count`.
    mdp : MDP, optional
        The world, drawn pale behind the graph.
    norm : matplotlib.colors.Normalize, optional
        Range of the colours; by default that of the graph.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; the collection labelled `states` holds the states and their colours.

    Raises
    ------
    ValueError
        If nodes have no `pos`.

    Examples
    --------
    >>> graph = nx.MultiDiGraph()
    >>> graph.add_node(0, pos=(0, 0), value=0.2, visits=3)
    >>> graph.add_node(1, pos=(10, 0), value=1.0, visits=1)
    >>> _ = graph.add_edge(0, 1, key=2, count=1)
    >>> ax = plot_learned_graph(graph)
    >>> ax.collections[1].get_array().tolist()
    [0.2, 1.0]
    """
    place = nx.get_node_attributes(graph, "pos")
    if len(place) < graph.number_of_nodes() or None in place.values():
        raise ValueError(
            "Some nodes have no pos and cannot be drawn: give the log an MDP with positions, or "
            "set pos with networkx.set_node_attributes."
        )
    nodes = list(graph)
    points = [check_array(place[node], f"pos of node {node!r}", kind="number") for node in nodes]
    for node, point in zip(nodes, points, strict=True):
        if point.shape != (2,):
            raise ValueError(f"pos of node {node!r} must be its x and y, got {point.tolist()}.")
    counts = [count for *_, count in graph.edges(data="count", default=1)]
    check_array(counts, "count of the edges", kind="number", at_least=0)
    ax.set_axis_off()
    if mdp is not None:
        plot_mdp(mdp, ax, rewards=False)
    pairs: dict[frozenset[object], int] = {}
    for state, next_state, count in graph.edges(data="count", default=1):
        if state != next_state:
            pair = frozenset((state, next_state))
            pairs[pair] = pairs.get(pair, 0) + count
    # Counts differ by thousands, so widths go by their logarithm, and are less in large graphs.
    ax.add_collection(
        LineCollection(
            [[place[state] for state in pair] for pair in pairs],
            linewidths=(0.4 + 0.3 * np.log10(list(pairs.values()) or [1]))
            * min(1, _WIDEST / max(len(pairs), 1)) ** 0.5,
            color="0.45",
            zorder=2,
        )
    )
    xy = np.array(points, dtype=float).reshape(-1, 2)
    size = np.clip(2500 / max(len(nodes) if mdp is None else mdp.n_states, 1), 4, 40)
    ax.scatter(
        xy[:, 0],
        xy[:, 1],
        c=_node_colours(graph),
        cmap=mpl.colormaps[VALUE_COLOURS].with_extremes(bad="0.7"),
        plotnonfinite=True,  # states without a value are grey
        norm=norm,
        s=size,
        linewidths=0,
        zorder=3,
        label="states",
    )
    if mdp is None:
        ax.set_aspect("equal")
        ax.autoscale_view()
    else:
        ends = [xy[k] for k, state in enumerate(nodes) if mdp.terminal[state]]
        draw_ends(np.array(ends).reshape(-1, 2), ax, size=45 + 3 * size)
    return ax


@drawing
def learned_graph_figure(
    graphs: Mapping[int, nx.MultiDiGraph],
    mdp: MDP | None = None,
    *,
    learner: str = "",
    width_cm: float = FULL_WIDTH,
) -> Figure:
    """Make the figure of a learned graph at several moments, side by side.

    Parameters
    ----------
    graphs : mapping of int to networkx.MultiDiGraph
        Time step -> graph from `EventLog.graph`.
    mdp : MDP, optional
        The world, drawn pale behind the graph.
    learner : str, optional
        The learner, to be named below the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; all panels share the range of colours.
    """
    if not graphs:
        raise ValueError("There are no graphs to draw.")
    colours = np.concatenate([_node_colours(graph) for graph in graphs.values()])
    finite = colours[np.isfinite(colours)]
    norm = Normalize(min(0, finite.min()), finite.max()) if len(finite) else Normalize(0, 1)
    is_maze = mdp is not None and maze_cell_size(mdp) is not None
    has_maze = is_maze or mdp is None
    n_columns = fitting_columns(len(graphs) if has_maze else min(2, len(graphs)), width_cm, 4.0)
    ratio = 1.0 if mdp is None else 0.6  # of a panel's height to its width
    if is_maze and mdp is not None:
        n_rows, n_cells = layout(mdp).shape
        ratio = n_rows / n_cells
    height = width_cm / INCH / n_columns * ratio
    steps = sorted(graphs)
    known = any(_has_values(graph) for graph in graphs.values())
    colour = "value, the largest of its action values" if known else "number of visits"
    figure, axes = grid(
        [f"Step {step:,}: {graphs[step].number_of_nodes()} states" for step in steps],
        n_columns,
        height + _BAR / -(-len(graphs) // n_columns),
        width_cm=width_cm,
        note=(f"{label(learner)}, one run. " if learner else "One run. ")
        + f"A dot is a visited state, coloured by its {colour}; a line is a move that was made, "
        "thicker if more often."
        + ("" if mdp is None else " Pale: the rest of the world. Star: the end of episodes."),
    )
    for ax, step in zip(axes, steps, strict=True):
        plot_learned_graph(graphs[step], ax, mdp, norm)
    bar = figure.colorbar(
        next(drawn for drawn in axes[0].collections if drawn.get_label() == "states"),
        ax=axes,
        location="bottom",
        shrink=0.4 if width_cm > COLUMN_WIDTH else 0.7,
        aspect=40,
        pad=0.02,
    )
    bar.set_label("Value" if known else "Visits", labelpad=1)
    if not known:
        bar.ax.xaxis.set_major_locator(MultipleLocator(1))
        bar.ax.xaxis.set_major_formatter(FuncFormatter(lambda power, _: f"{10**power:,.0f}"))
    bar.outline.set_linewidth(0.4)
    return figure


def growth_moments(
    steps: pd.DataFrame, shares: Sequence[float] = (0.05, 0.3, 0.7, 1.0)
) -> list[int]:
    """Find when an agent had visited given shares of all states that it ever visited.

    Returns the first step at which each share, above 0 and at most 1, was reached, without
    repetition.

    Examples
    --------
    >>> steps = pd.DataFrame({"step": [0, 1, 2, 3], "next_state": [5, 6, 5, 7]})
    >>> growth_moments(steps, [0.5, 1.0])
    [1, 3]
    """
    check_table(steps, ["step", "next_state"], "steps")
    if steps.empty:
        raise ValueError("steps is empty: nothing was learned.")
    if not all(0 < share <= 1 for share in shares):
        raise ValueError(f"shares must be above 0 and at most 1; got {list(shares)}.")
    # The step at which each state was met first.
    met = steps.drop_duplicates("next_state")["step"].to_numpy()
    return sorted({int(met[int(np.ceil(share * len(met))) - 1]) for share in shares})


def _has_values(graph: nx.MultiDiGraph) -> bool:
    return bool(np.isfinite(_attribute(graph, "value")).any())


def _node_colours(graph: nx.MultiDiGraph) -> Floats:
    if _has_values(graph):
        return _attribute(graph, "value")
    visits: Floats = np.log10(np.maximum(_attribute(graph, "visits"), 1))
    return visits


def _attribute(graph: nx.MultiDiGraph, name: str) -> Floats:
    return np.array([value for _, value in graph.nodes(data=name)], dtype=float)
