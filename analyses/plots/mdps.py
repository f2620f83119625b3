"""Drawings of MDPs: mazes to scale, trees and other MDPs as graphs."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

from analyses.plots.panels import NEW, drawing, grid
from analyses.plots.style import COLUMN_WIDTH, END_COLOUR, FULL_WIDTH, VALUE_COLOURS, Look, label
from analyses.tables import EXPERIMENT_ORDER, in_order
from replay.checks import shown
from replay.checks.arrays import Floats
from replay.worlds.mazes import barriers, layout
from replay.worlds.mdp import MDP

_WALL, _PALE_WALL = "0.55", "0.85"
_CORRIDOR: Look = {"linewidths": 7, "color": "0.9", "capstyle": "round"}
_BARS = (5, 10, 20, 50, 100, 200)  # cm
_BARRIER = 0.2  # thickness, in cells
_START_COLOUR = "#aa3377"
_MARKS: tuple[Look, ...] = (
    {"label": "Start", "marker": "o", "markersize": 4, "color": "white",
     "markeredgecolor": _START_COLOUR, "linestyle": "none"},
    {"label": "End", "marker": "*", "markersize": 7, "color": END_COLOUR,
     "markeredgecolor": "black", "markeredgewidth": 0.4, "linestyle": "none"},
)  # fmt: skip


def draw_ends(places: Floats, ax: Axes, size: float = 45, zorder: float = 5) -> Axes:
    """Mark where episodes end with stars, whose size is their area in square points."""
    ax.scatter(
        places[:, 0],
        places[:, 1],
        s=size,
        marker="*",
        color=END_COLOUR,
        edgecolors="black",
        linewidths=0.4,
        zorder=zorder,
        label="End",
    )
    return ax


@drawing
def plot_mdp(
    mdp: MDP, ax: Axes = NEW, *, rewards: bool = True, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw an MDP: the walls of a maze, or the graph of any other.

    In a graph, each line is a transition of an action; its width is the probability and its colour
    the reward, grey for none. A ring marks each start, unless an episode can start anywhere, and a
    star each terminal state.

    Parameters
    ----------
    mdp : MDP
        What to draw.
    rewards : bool, default True
        Whether to show starts, ends, rewards and probabilities; otherwise the MDP is a pale
        background to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, in the units of the positions (cm).

    Raises
    ------
    TypeError
        If `mdp` is not an MDP.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> ax = plot_mdp(from_ascii("S.G"))
    >>> int(ax.dataLim.width)  # three cells and the walls around
    50
    """
    if not isinstance(mdp, MDP):
        raise TypeError(f"mdp must be an MDP, got {shown(mdp)}; the world of a log is log.mdp.")
    position = state_positions(mdp)
    cell_size = maze_cell_size(mdp)
    ax.set_axis_off()
    if cell_size is None:
        _draw_graph(mdp, position, ax, rewards)
    else:
        _draw_walls(mdp, cell_size, _WALL if rewards else _PALE_WALL, ax)
    if rewards:
        starts = np.flatnonzero(mdp.start_probability)
        if len(starts) < 0.5 * mdp.n_states:
            ax.scatter(
                position[starts, 0],
                position[starts, 1],
                s=18,
                color="white",
                edgecolors=_START_COLOUR,
                linewidths=1.0,
                zorder=5,
                label="Start",
            )
        draw_ends(position[mdp.terminal], ax)
    return ax


def bar_length(extent: float) -> float:
    """Choose the length of a scale bar for a picture of some cm, at most a quarter of it."""
    return max(each for each in _BARS if each <= max(extent / 4, _BARS[0]))


def draw_scale_bar(ax: Axes, length: float) -> Axes:
    """Draw a scale bar of some cm below the lower left corner of axes whose unit is cm."""
    name = f"{length / 100:g} m" if length >= 100 else f"{length:g} cm"
    ax.add_artist(
        AnchoredSizeBar(
            ax.transData,
            length,
            name,
            "upper left",
            bbox_to_anchor=(0, 0),
            bbox_transform=ax.transAxes,
            borderpad=0,
            pad=0.3,
            sep=2,
            frameon=False,
            size_vertical=0,
            label_top=False,
        )
    )
    return ax


def mark_cut_edges(mdp: MDP, ax: Axes) -> list[Line2D]:
    """Draw dashed lines along the sides of a picture beyond which a maze continues.

    The limits of the axes must be final.
    """
    height, width = np.array(layout(mdp).shape) * (maze_cell_size(mdp) or 0.0)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    sides = {
        ((0, 0), (0, 1)): left > 0,
        ((1, 1), (0, 1)): right < width,
        ((0, 1), (0, 0)): bottom > 0,
        ((0, 1), (1, 1)): top < height,
    }
    dashes = []
    for (x, y), goes_on in sides.items():
        if goes_on:
            dashes += ax.plot(
                x,
                y,
                color="0.35",
                linestyle=(0, (3, 3)),
                linewidth=0.8,
                clip_on=False,
                transform=ax.transAxes,
                scalex=False,
                scaley=False,
                zorder=9,
            )
    return dashes


def maze_cell_size(mdp: MDP) -> float | None:
    """Return the width of a maze's cells in cm, or None for an MDP that is not a maze.

    In a maze, labels are cells (x, y) and positions are their centres.
    """
    try:
        layout(mdp)
    except ValueError:
        return None
    middle = np.asarray(mdp.labels, dtype=float) + 0.5
    if mdp.position is None or not (middle > 0).all():
        return None
    cell_size = float(mdp.position[0, 0] / middle[0, 0])
    return cell_size if np.allclose(cell_size * middle, mdp.position) else None


def state_positions(mdp: MDP) -> Floats:
    """Return where to draw each state: its position in cm, or a place in a spring layout."""
    if mdp.position is not None:
        return mdp.position
    edges = _edges(mdp)
    graph = nx.Graph(zip(edges["state"], edges["next_state"], strict=True))
    graph.add_nodes_from(range(mdp.n_states))
    place = nx.spring_layout(graph, seed=0)  # the same each time
    return 100 * np.array([place[state] for state in range(mdp.n_states)])


@drawing
def mdps_figure(mdps: Mapping[str, MDP], *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of example MDPs: one panel per experiment.

    Parameters
    ----------
    mdps : mapping of str to MDP
        Experiment -> example MDP.
    """
    if not mdps:
        raise ValueError("There are no MDPs to draw.")
    experiments = in_order(mdps, EXPERIMENT_ORDER)
    is_maze = [maze_cell_size(mdp) is not None for mdp in mdps.values()]
    anywhere = [(mdp.start_probability > 0).sum() >= 0.5 * mdp.n_states for mdp in mdps.values()]
    note = {
        "Trees: a line is a transition of an action; its width is the probability, its colour the "
        "reward (grey: none).": not all(is_maze),
        "Mazes: walls are grey.": any(is_maze),
        "Without a mark, episodes start anywhere.": any(anywhere),
    }
    figure, axes = grid(
        [f"{label(name)} ({mdps[name].n_states} states)" for name in experiments],
        min(2, len(experiments)),
        2.6 if width_cm > COLUMN_WIDTH else 1.7,
        width_cm=width_cm,
        legend=_MARKS,
        note=" ".join(sentence for sentence, is_true in note.items() if is_true),
    )
    for ax, experiment in zip(axes, experiments, strict=True):
        mdp = mdps[experiment]
        plot_mdp(mdp, ax)
        if maze_cell_size(mdp) is not None:
            draw_scale_bar(ax, 100)
        elif ax.collections and (lines := ax.collections[0]).get_array() is not None:
            bar = figure.colorbar(lines, ax=ax, location="bottom", shrink=0.5, aspect=30, pad=0.01)
            bar.set_label("Reward", labelpad=1)
            bar.outline.set_linewidth(0.4)
    return figure


def _edges(mdp: MDP) -> pd.DataFrame:
    """List the transitions to another state, one per row."""
    row = np.repeat(np.arange(len(mdp.successor_offset) - 1), np.diff(mdp.successor_offset))
    edges = pd.DataFrame(
        {
            "state": row // mdp.n_actions,
            "action": row % mdp.n_actions,
            "next_state": mdp.successor,
            "probability": mdp.probability,
            "reward": mdp.reward,
        }
    )
    return edges[(edges["state"] != edges["next_state"]) & (edges["probability"] > 0)]


def _draw_graph(mdp: MDP, position: Floats, ax: Axes, rewards: bool) -> None:
    edges = _edges(mdp)
    start, end = position[edges["state"]], position[edges["next_state"]]
    is_track = mdp.position is not None and (mdp.way_back >= 0).any()
    if rewards:
        lines = LineCollection(
            list(_curves(edges, start, end)),
            linewidths=1.4
            * edges["probability"].to_numpy()
            * min(1, 60 / max(len(edges), 1)) ** 0.5,
            capstyle="round",
            zorder=1,
        )
        if (edges["reward"] != 0).any():
            paid = np.ma.masked_equal(edges["reward"].to_numpy(), 0)
            lines.set(
                array=paid,
                cmap=mpl.colormaps[VALUE_COLOURS].with_extremes(bad="0.75"),
                clim=(min(0, paid.min()), paid.max()),
            )
        else:
            lines.set_color("0.7")
    else:
        # Behind what is drawn on it, one line stands for all actions between two states.
        once = ~edges.duplicated(["state", "next_state"]).to_numpy()
        look = _CORRIDOR if is_track else {"linewidths": 0.3, "color": "0.8"}
        lines = LineCollection(list(np.stack((start, end), axis=1)[once]), zorder=0, **look)
    ax.add_collection(lines)
    if rewards or not is_track:
        size = np.clip(600 / mdp.n_states, 1, 14)
        colour = "0.25" if rewards else "0.8"
        ax.scatter(position[:, 0], position[:, 1], s=size, color=colour, linewidths=0, zorder=2)
    ax.autoscale_view()
    ax.margins(0.04)


def _draw_walls(mdp: MDP, cell_size: float, colour: str, ax: Axes) -> None:
    walls = layout(mdp)
    height, width = walls.shape
    ax.pcolormesh(
        cell_size * np.arange(width + 1),
        cell_size * np.arange(height + 1),
        np.ma.masked_equal(walls.astype(float), 0),
        cmap=ListedColormap([colour]),
        edgecolors="face",
        linewidth=0.1,
        zorder=0,
    )
    # Barriers lie between two cells, across the line that joins their centres.
    pairs = state_positions(mdp)[barriers(mdp)]
    if len(pairs):
        along = 0.5 * (pairs[:, 1] - pairs[:, 0])
        across = along[:, ::-1] * (-1, 1)
        corners = [
            a * across + b * _BARRIER * along for a, b in ((-1, -1), (-1, 1), (1, 1), (1, -1))
        ]
        thin = pairs.mean(axis=1)[:, None] + np.stack(corners, axis=1)
        ax.add_collection(PolyCollection(list(thin), facecolor=colour, linewidth=0.1, zorder=0))
    ax.set_aspect("equal")
    ax.set(xlim=(0, cell_size * width), ylim=(0, cell_size * height))


def _curves(edges: pd.DataFrame, start: Floats, end: Floats) -> Floats:
    """Bend apart the lines of several actions between the same two states.

    Returns quadratic Bezier curves, shape (n_edges, n_points, 2).
    """
    pair = edges.groupby(["state", "next_state"])["action"]
    rank = pair.cumcount().to_numpy()
    count = pair.transform("size").to_numpy()
    # Bends are less than the distance between columns of states, so that lines of neighbours stay
    # apart.
    columns = np.unique(np.concatenate((start, end))[:, 0].round(6))
    bend = 0.4 * np.diff(columns).min() if len(columns) > 1 else 0.0
    along = end - start
    across = np.column_stack((-along[:, 1], along[:, 0])) / np.hypot(*along.T)[:, None]
    middle = (start + end) / 2 + (bend * (rank - (count - 1) / 2))[:, None] * across
    at = np.linspace(0, 1, 9)[:, None]
    start, middle, end = start[:, None], middle[:, None], end[:, None]
    curves: Floats
    curves = (1 - at) ** 2 * start + 2 * at * (1 - at) * middle + at**2 * end
    return curves
