"""How words of memory and operations a step grow with the world."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from analyses.plots.style import (
    FULL_WIDTH,
    label,
    learner_styles,
    letter_panels,
    new_figure,
    styled,
)
from analyses.tables import in_order, require_columns

__all__ = ["demands_figure", "draw_demands"]

_WORLDS = {
    "deterministic_tree_depth": "Tree, deeper",
    "deterministic_tree_actions": "Tree, wider",
    "stochastic_tree_depth": "Stochastic, deeper",
    "stochastic_tree_actions": "Stochastic, wider",
    "maze_size": "Maze, larger",
}
_OPERATIONS = ["backups", "queue_operations", "comparisons"]
_ROWS = {"words": "Words held, at most", "operations": "Operations a step"}


def draw_demands(table: pd.DataFrame, ax: Axes, what: str = "words") -> Axes:
    """Draw the demands of learners in worlds of one kind against their pairs of state and action.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `learner, size, n_states, n_actions`, and `words` or the three operations. Worlds of
        one size are averaged.
    ax : matplotlib.axes.Axes
        Where to draw.
    what : {"words", "operations"}
        Words of memory; or backups, queue operations and comparisons a step, in sum.

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
    >>> draw_demands(table, new_figure(3, 2).subplots()).lines[0].get_xdata().tolist()
    [6.0, 14.0]
    """
    if what not in _ROWS:
        raise ValueError(f"what must be one of {', '.join(_ROWS)}; got {what!r}.")
    needed = ["words"] if what == "words" else _OPERATIONS
    require_columns(table, ["learner", "size", "n_states", "n_actions", *needed], "demands")
    table = table.assign(
        pairs=table["n_states"] * table["n_actions"], drawn=table[needed].sum(axis=1)
    )
    for learner, look in learner_styles(table["learner"]).items():
        rows = table[table["learner"] == learner]
        curve = rows.groupby("size")[["pairs", "drawn"]].mean()
        ax.plot(curve["pairs"], curve["drawn"], linewidth=0.9, **look)  # type: ignore[arg-type]
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
    require_columns(table, ["world", "learner"], "demands")
    worlds = in_order(table["world"], _WORLDS)
    if not worlds:
        raise ValueError("demands is empty: there is nothing to draw.")
    figure = new_figure(FULL_WIDTH, 4.6)
    axes = figure.subplots(len(_ROWS), len(worlds), squeeze=False, sharex=True, sharey="row")
    for row, (what, title) in zip(axes, _ROWS.items(), strict=True):
        row[0].set_ylabel(title)
        for ax, world in zip(row, worlds, strict=True):
            draw_demands(table[table["world"] == world], ax, what)
    for ax, world in zip(axes[0], worlds, strict=True):
        ax.set_title(_WORLDS.get(world, label(world)), fontsize=7)
    axes[-1, len(worlds) // 2].set_xlabel("Pairs of state and action")
    letter_panels(axes.ravel())
    handles = [
        Line2D([], [], label=label(learner), **look)  # type: ignore[arg-type]
        for learner, look in learner_styles(table["learner"]).items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure
