"""Words of memory and operations per step, as worlds grow."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from analyses.plots.grids import (
    add_own_legend,
    grid,
    keep_outer_labels,
)
from analyses.plots.layers import draw_curves
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    Look,
    count_range,
    label,
    learner_looks,
    new_axes,
    styled,
)
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
_DEMANDS = {"words": "Words held, at most", "operations": "Operations per step"}
_PAIRS = "State-action pairs"
_LEAST_CM = 3.0


@styled
def plot_demands(
    table: pd.DataFrame,
    ax: Axes | None = None,
    what: str = "words",
    looks: Mapping[str, Look] | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the demands of learners against the number of state-action pairs of the world.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of one kind of world: `learner, size, n_states, n_actions`, and `words` or the three
        operations. Worlds of one size are averaged.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.
    what : {"words", "operations"}, default "words"
        Words of memory; or the sum of backups, queue operations and comparisons per step.
    looks : mapping of str to dict, optional
        Label, colour and line style by learner; by default the `learner_looks` of the table.

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
    is_new = ax is None
    ax = new_axes(width_cm) if ax is None else ax
    looks = learner_looks(table["learner"]) if looks is None else looks
    table = table.assign(
        pairs=table["n_states"] * table["n_actions"], drawn=table[needed].sum(axis=1)
    )
    curves = table.groupby(["learner", "size"], observed=True)[["pairs", "drawn"]].mean()
    draw_curves(curves.reset_index(), ax, "pairs", "drawn", "learner", looks, linewidth=0.9)
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 3.0) if axis is ax.xaxis else (1.0,)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
    add_own_legend(ax, is_new, looks.values())
    return ax


@styled
def demands_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of demands: one column per kind of world, words above operations.

    In a narrow figure each kind of world has a row instead.

    Parameters
    ----------
    table : pandas.DataFrame
        The table `demands.csv`; see :func:`analyses.studies.demands.measure_demands`.
    width_cm : float, default 17.5
        Width of the figure.

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
    is_wide = width_cm >= _LEAST_CM * len(worlds)
    if is_wide:
        panels = [(what, world) for what in _DEMANDS for world in worlds]
    else:
        panels = [(what, world) for world in worlds for what in _DEMANDS]
    figure, axes = grid(
        [_WORLDS.get(world, label(world)) if what == "words" else "" for what, world in panels],
        len(worlds) if is_wide else len(_DEMANDS),
        1.85 if is_wide else 1.2,
        width_cm=width_cm,
        legend=looks.values(),
        legend_columns=4,
        note=_note(table),
        sharex=True,
        sharey="row" if is_wide else "col",
    )
    for ax, (what, world) in zip(axes, panels, strict=True):
        plot_demands(table[table["world"] == world], ax, what, looks)
        ax.set(xlabel=_PAIRS, ylabel=_DEMANDS[what])
    keep_outer_labels(axes)
    if is_wide:
        for k, ax in enumerate(axes[len(worlds) :]):
            ax.set_xlabel(_PAIRS if k == len(worlds) // 2 else "")
    else:
        for ax, (what, _) in zip(axes, panels, strict=True):
            ax.set_ylabel(_DEMANDS[what])
    return figure


def _note(table: pd.DataFrame) -> str:
    n = count_range([table["mdp"].nunique()], "world") if "mdp" in table else ""
    return "Operations: backups, queue operations and comparisons. Both axes are logarithmic." + (
        f" Means over {n} of each size." if n else ""
    )
