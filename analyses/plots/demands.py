"""Words of memory and operations per step, as worlds grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from analyses.plots.grids import grid
from analyses.plots.learners import NAMES_CM, ROW, rows_of_learners
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    INCH,
    Look,
    count_range,
    label,
    learner_looks,
    new_axes,
    styled,
)
from replay.checks import check_table

__all__ = ["demands_figure", "plot_demands"]

_WORLDS = {
    "deterministic_tree_depth": "Tree, deeper",
    "deterministic_tree_actions": "Tree, wider",
    "stochastic_tree_depth": "Stochastic tree, deeper",
    "stochastic_tree_actions": "Stochastic tree, wider",
    "maze_size": "Maze, larger",
}
_OPERATIONS = ["backups", "queue_operations", "comparisons"]
_DEMANDS = {"words": "Words held, at most", "operations": "Operations per step"}
_DOTS = (2.0, 14.0)  # square points, of the smallest and the largest world
_AXES = 0.65  # inches, of what is above and below the rows


@styled
def plot_demands(
    table: pd.DataFrame,
    ax: Axes | None = None,
    what: str = "words",
    looks: Mapping[str, Look] | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the demands of learners in worlds of growing size, one learner per row.

    A dot is a size of the world, the larger the dot the larger the world.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of ``demands.csv`` of one kind of world. Worlds of one size are averaged.
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
    looks = learner_looks(table["learner"]) if looks is None else looks
    if ax is None:
        ax = new_axes(width_cm)
        cast(Figure, ax.figure).set_size_inches(width_cm / INCH, ROW * len(looks) + _AXES)
    table = table.assign(drawn=table[needed].sum(axis=1))
    grown = table.groupby(["learner", "size"], observed=True)["drawn"].mean()
    for name, row in rows_of_learners(ax, looks).items():
        if name not in grown.index:
            continue
        words, colour = grown[name].to_numpy(), looks[name]["color"]
        ax.plot(words, [row] * len(words), color=colour, linewidth=0.6, label=looks[name]["label"])
        dots = np.linspace(*_DOTS, len(words)) if len(words) > 1 else _DOTS[-1:]
        ax.scatter(words, [row] * len(words), s=dots, color=colour, linewidths=0, zorder=3)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(numticks=4))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    return ax


@styled
def demands_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of what learners need as worlds of one kind grow: memory, and operations.

    Parameters
    ----------
    table : pandas.DataFrame
        The rows of one kind of world in `demands.csv`; see
        :func:`analyses.studies.demands.measure_demands`.
    width_cm : float, default 17.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty or holds several kinds of world.
    """
    check_table(table, ["world", "learner"], "demands", empty=False)
    worlds = table["world"].unique()
    if len(worlds) > 1:
        raise ValueError("demands holds several kinds of world: choose one for a figure.")
    looks = learner_looks(table["learner"])
    figure, axes = grid(
        [_WORLDS.get(worlds[0], label(worlds[0])), ""],
        2,
        ROW * len(looks) + _AXES,
        width_cm=width_cm,
        labels_cm=NAMES_CM,
        letters=False,
        note=_note(table),
        sharey=True,
    )
    for ax, what in zip(axes, _DEMANDS, strict=True):
        plot_demands(table, ax, what, looks)
        ax.set_xlabel(_DEMANDS[what])
    return figure


def _short(number: float) -> str:
    return f"{number:g}" if number < 1000 else f"{number / 1000:g}k"


def _note(table: pd.DataFrame) -> str:
    n = count_range([table["mdp"].nunique()], "world") if "mdp" in table else ""
    pairs = count_range(table["n_states"] * table["n_actions"], "pair")
    return (
        f"Dots: worlds of growing size, of {pairs} of state and action; the larger the dot, the "
        "larger the world; k: thousand. Operations: backups, queue operations and comparisons. "
        "Logarithmic axes." + (f" Means over {n} of each size." if n else "")
    )
