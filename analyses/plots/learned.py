"""What learners learn: the graph, as it grows with experience; states; and what they earn by it."""

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
from numpy.typing import NDArray

from analyses.plots.layers import draw_rows, name_rows
from analyses.plots.mdps import draw_ends, maze_cell_size, plot_mdp
from analyses.plots.panels import NEW, drawing, fitting_columns, grid
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    INCH,
    VALUE_COLOURS,
    Look,
    count_range,
    kind_looks,
    label,
    learner_looks,
    marked,
)
from analyses.tables import KINDS, LEARNER_ORDER, in_order
from replay.checks import check_array, check_table
from replay.worlds.mazes import layout
from replay.worlds.mdp import MDP

__all__ = ["growth_moments", "hidden_states_figure", "kinds_in_codes_figure"]
__all__ += ["learned_graph_figure", "learned_states_figure", "plot_learned_graph"]

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
        plotnonfinite=True,
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

    Raises
    ------
    ValueError
        If there are no graphs, or nodes have no `pos`.
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
    met = steps.drop_duplicates("next_state")["step"].to_numpy()
    return sorted({int(met[int(np.ceil(share * len(met))) - 1]) for share in shares})


def _has_values(graph: nx.MultiDiGraph) -> bool:
    return bool(np.isfinite(_attribute(graph, "value")).any())


def _node_colours(graph: nx.MultiDiGraph) -> NDArray[np.float64]:
    if _has_values(graph):
        return _attribute(graph, "value")
    visits: NDArray[np.float64] = np.log10(np.maximum(_attribute(graph, "visits"), 1))
    return visits


def _attribute(graph: nx.MultiDiGraph, name: str) -> NDArray[np.float64]:
    return np.array([value for _, value in graph.nodes(data=name)], dtype=float)


_ENCODERS = {
    "true_states": "True states",
    "predictive_states": "Predictive states",
    "k_means": "K-means",
    "slow_features": "Slow features",
    "random_projections": "Random projections",
    "state_merging": "Merged histories",
    "last_four": "Last four observations",
}
_TASKS = {
    "maze": ("Maze, {}", "Reward rate (0 random, 1 optimal)"),
    "cart_pole": ("Cart and pole, {}", "Steps until the pole falls"),
}
_ROW = 0.26  # inches
_LEAST_CM = 7.5  # of a panel
_WORLDS = {
    "t_maze_2": "T-maze, corridor of 2",
    "t_maze_5": "T-maze, corridor of 5",
    "t_maze_10": "T-maze, corridor of 10",
    "t_maze_20": "T-maze, corridor of 20",
    "walls": "Room, walls seen",
    "colours": "Room, colours seen",
}
_HIDDEN_ROW = 0.24  # inches
_NAMES_CM, _PANEL_CM = 3.6, 3.5  # of the names of worlds, and of a panel beside them


@drawing
def learned_states_figure(learned_states: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of what learners earn when states are learned: a panel for each task.

    Parameters
    ----------
    learned_states : DataFrame
        ``learned_states.csv`` of ``replay study learned_states``.

    Examples
    --------
    >>> table = pd.DataFrame({"task": "maze", "encoder": ["true_states", "k_means"], "mean": 0.9,
    ...                       "learner": "prioritized_sweeping", "ci_low": 0.8, "ci_high": 1.0})
    >>> [text.get_text() for text in learned_states_figure(table).axes[0].get_yticklabels()]
    ['True states', 'K-means']
    """
    columns = ["task", "encoder", "learner", "mean", "ci_low", "ci_high"]
    table = check_table(learned_states, columns, "learned_states", empty=False)
    looks = marked(learner_looks(table["learner"].unique()))
    rows = table.assign(count=table.get("n", 0))
    tasks = in_order(table["task"], _TASKS)
    titles = []
    for task in tasks:
        noun = "maze" if task == "maze" else "seed"
        numbers = rows.loc[rows["task"] == task, "count"]
        titles.append(_TASKS[task][0].format(count_range(numbers, noun) or "by encoder"))
    figure, axes = grid(
        titles, fitting_columns(2, width_cm, _LEAST_CM),
        0.6 + _ROW * max(len(_encoders(table[table["task"] == task])) for task in tasks),
        width_cm=width_cm, legend=[*looks.values()], note="Points: means, with 95 % intervals.",
    )  # fmt: skip
    for ax, task in zip(axes, tasks, strict=True):
        own = table[table["task"] == task]
        draw_rows(own, ax, "encoder", _encoders(own), looks)
        ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
        ax.set_xlabel(_TASKS[task][1])
    return figure


@drawing
def kinds_in_codes_figure(kinds: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of kinds of replay when states are learned: a panel for each learner.

    Parameters
    ----------
    kinds : DataFrame
        ``kinds_in_codes.csv`` of ``replay study learned_states``.

    Examples
    --------
    >>> kinds = pd.DataFrame({"encoder": ["true_states", "k_means"], "kind": "novel_path",
    ...                       "learner": "prioritized_sweeping", "states": "codes", "share": 0.4})
    >>> kinds_in_codes_figure(kinds).axes[0].get_title(loc="left")
    'Replay of prioritized sweeping'
    """
    columns = ["encoder", "learner", "states", "kind", "share"]
    shares = check_table(kinds, columns, "kinds", empty=False)
    shown = in_order(shares["kind"], (*KINDS, "no_sequence"))
    looks = kind_looks(kind for kind in shown if kind != "no_sequence")
    looks |= {"no_sequence": {"label": "No sequence", "color": "#eeeeee"}}
    learners = in_order(shares["learner"], LEARNER_ORDER)
    figure, axes = grid(
        [f"Replay of {label(name).lower()}" for name in learners],
        fitting_columns(2, width_cm, _LEAST_CM),
        0.6 + 2 * _ROW * len(_encoders(shares)),
        width_cm=width_cm, legend=[looks[kind] for kind in shown],
        note="The kind of each event's longest sequence: above in the codes that the learner "
        "knows, below in the places that the codes stand for.",
    )  # fmt: skip
    for ax, name in zip(axes, learners, strict=True):
        _draw_kinds(shares[shares["learner"] == name], ax, shown, looks)
    return figure


def _encoders(rows: pd.DataFrame) -> dict[str, str]:
    names = in_order(rows["encoder"], _ENCODERS)
    return {name: _ENCODERS.get(name, label(name)) for name in names}


def _draw_kinds(rows: pd.DataFrame, ax: Axes, kinds: list[str], looks: dict[str, Look]) -> None:
    encoders = _encoders(rows)
    for k, states in enumerate(("codes", "places")):
        of_states = rows[rows["states"] == states]
        left = pd.Series(0.0, index=[*encoders])
        for kind in kinds:
            own = of_states[of_states["kind"] == kind].set_index("encoder")["share"]
            width = own.reindex([*encoders], fill_value=0.0)
            y = [place + 0.4 * (k - 0.5) for place in range(len(encoders))]
            ax.barh(
                y, width, 0.34, left=left, color=looks[kind]["color"], linewidth=0,
                hatch=looks[kind].get("hatch", ""), edgecolor="white",
            )  # fmt: skip
            left += width
    name_rows(ax, encoders.values())
    ax.set(xlim=(0, 1), xlabel="Share of events")


@drawing
def hidden_states_figure(
    hidden_states: pd.DataFrame, recovered: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of what is earned where states are hidden: a panel for each encoder.

    Parameters
    ----------
    hidden_states : DataFrame
        ``hidden_states.csv`` of ``replay study hidden_states``.
    recovered : DataFrame
        Its ``recovered_states.csv``.

    Examples
    --------
    >>> table = pd.DataFrame({"world": "walls", "encoder": ["true_states", "last_four"],
    ...                       "learner": "prioritized_sweeping", "mean": [1.0, 0.2],
    ...                       "ci_low": [0.9, 0.1], "ci_high": [1.1, 0.3]})
    >>> recovered = pd.DataFrame({"world": "walls", "n_before": [2500, 5000], "mean": [0.5, 1.0]})
    >>> len(hidden_states_figure(table, recovered).axes)
    2
    """
    columns = ["world", "encoder", "learner", "mean", "ci_low", "ci_high"]
    table = check_table(hidden_states, columns, "hidden_states", empty=False)
    found = check_table(recovered, ["world", "n_before", "mean"], "recovered", empty=False)
    looks = marked(learner_looks(table["learner"].unique()))
    encoders = _encoders(table)
    worlds = {name: _WORLDS.get(name, label(name)) for name in in_order(table["world"], _WORLDS)}
    runs = count_range(table.get("n", []), "run")
    longest = found[found["n_before"] == found["n_before"].max()]
    found_in = dict.fromkeys(
        [f"{100 * longest['mean'].min():.0f}", f"{100 * longest['mean'].max():.0f}"]
    )
    figure, axes = grid(
        [*encoders.values()], fitting_columns(len(encoders), width_cm - _NAMES_CM, _PANEL_CM),
        0.6 + _HIDDEN_ROW * len(worlds),
        width_cm=width_cm, labels_cm=_NAMES_CM, sharey=True,
        legend=looks.values(), legend_columns=3,
        note="Points: means" + (f" over {runs}" if runs else "") + ", with 95 % intervals. 0: the "
        f"random policy, 1: the optimal one. After {longest['n_before'].iloc[0]:,} observations "
        f"merged histories are the true states in {' to '.join(found_in)} % of runs.",
    )  # fmt: skip
    low = min(0.0, float(table["ci_low"].min()), float(table["mean"].min()))
    high = max(1.0, float(table["ci_high"].max()), float(table["mean"].max()))
    for ax, encoder in zip(axes, encoders, strict=True):
        draw_rows(table[table["encoder"] == encoder], ax, "world", worlds, looks)
        ax.set(xlabel="Reward rate", xlim=(low - 0.05, high + 0.05))
    return figure
