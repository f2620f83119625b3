"""How words of memory and operations a step grow with the world."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from analyses.plots.grids import grid
from analyses.plots.layers import draw_curves
from analyses.plots.style import COLUMN_WIDTH, Look, label, learner_looks, new_axes, styled
from analyses.tables import in_order
from replay.checks import check_table

__all__ = ["demands_figure", "plot_demands"]

_WORLDS = {
    "deterministic_tree_depth": "Tree, deeper",
    "deterministic_tree_actions": "Tree, wider",
    "stochastic_tree_depth": "Stochastic, deeper",
    "stochastic_tree_actions": "Stochastic, wider",
    "maze_size": "Maze, larger",
}
_OPERATIONS = ["backups", "queue_operations", "comparisons"]
_DEMANDS = {"words": "Words held, at most", "operations": "Operations a step"}


@styled
def plot_demands(
    table: pd.DataFrame,
    ax: Axes | None = None,
    what: str = "words",
    looks: Mapping[str, Look] | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the demands of learners in worlds of one kind against their pairs of state and action.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `learner, size, n_states, n_actions`, and `words` or the three operations. Worlds of
        one size are averaged.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.
    what : {"words", "operations"}, default "words"
        Words of memory; or backups, queue operations and comparisons a step, in sum.
    looks : mapping of str to dict, optional
        Label, colour and line style by learner; default `learner_looks` of the table.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing, or `what` is neither.

    Examples
    --------
    >>> table = pd.DataFrame({"learner": "q_learning", "size": [2, 3], "n_states": [3, 7],
    ...                       "n_actions": 2, "words": [6, 14]})
    >>> plot_demands(table).lines[0].get_xdata().tolist()
    [6.0, 14.0]
    """
    if what not in _DEMANDS:
        raise ValueError(f"what must be one of {', '.join(_DEMANDS)}; got {what!r}.")
    needed = ["words"] if what == "words" else _OPERATIONS
    check_table(table, ["learner", "size", "n_states", "n_actions", *needed], "demands")
    ax = new_axes(width_cm) if ax is None else ax
    looks = learner_looks(table["learner"]) if looks is None else looks
    table = table.assign(
        pairs=table["n_states"] * table["n_actions"], drawn=table[needed].sum(axis=1)
    )
    curves = table.groupby(["learner", "size"], observed=True)[["pairs", "drawn"]].mean()
    draw_curves(curves.reset_index(), ax, "pairs", "drawn", "learner", looks, linewidth=0.9)
    ax.set(xscale="log", yscale="log")
    ax.xaxis.set_minor_formatter(NullFormatter())
    return ax


@styled
def demands_figure(table: pd.DataFrame) -> Figure:
    """Make the figure of demands: a column for each kind of world, words above operations.

    Parameters
    ----------
    table : pandas.DataFrame
        As in `demands.csv`, see :func:`analyses.studies.demands.measure`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.
    """
    check_table(table, ["world", "learner"], "demands")
    worlds = in_order(table["world"], _WORLDS)
    if not worlds:
        raise ValueError("demands is empty: there is nothing to draw.")
    looks = learner_looks(table["learner"])
    titles = [_WORLDS.get(world, label(world)) for world in worlds]
    figure, axes = grid(
        [*titles, *[""] * len(worlds)],
        len(worlds),
        1.85,
        legend=looks.values(),
        sharex=True,
        sharey="row",
    )
    panels = [(what, world) for what in _DEMANDS for world in worlds]
    for ax, (what, world) in zip(axes, panels, strict=True):
        plot_demands(table[table["world"] == world], ax, what, looks)
    for ax, title in zip(axes[:: len(worlds)], _DEMANDS.values(), strict=True):
        ax.set_ylabel(title)
    axes[len(worlds) + len(worlds) // 2].set_xlabel("Pairs of state and action")
    return figure
