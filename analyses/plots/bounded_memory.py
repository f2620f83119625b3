"""Reward rate against memory, from one episode to everything."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analyses.plots.style import FULL_WIDTH, label, letter_panels, new_figure, styled
from analyses.tables import EXPERIMENTS, in_order, require_columns

__all__ = ["bounded_memory_figure", "draw_bounded_memory"]

_LOOKS: dict[str, dict[str, str]] = {
    "recent_episodes": {"color": "#0072b2", "marker": "o", "label": "Recent episodes"},
    "fading": {"color": "#009e73", "marker": "s", "label": "Fading trace"},
    "recent_transitions": {"color": "#d55e00", "marker": "^", "label": "Recent transitions"},
    "valuable_transitions": {"color": "#cc79a7", "marker": "D", "label": "Valuable transitions"},
}
_COLUMNS = ["retention", "capacity", "n_transitions", "mean", "ci_low", "ci_high"]


def draw_bounded_memory(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the reward rate of one experiment against the transitions that were held.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `retention, capacity, n_transitions, mean, ci_low, ci_high`. Rows of infinite
        capacity give the dashed line.
    ax : matplotlib.axes.Axes
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing, or the table has several experiments.

    Examples
    --------
    >>> table = pd.DataFrame({"retention": "fading", "capacity": [1.0, 2.0], "mean": [0.2, 0.4],
    ...                       "n_transitions": [5, 9], "ci_low": [0.1, 0.3], "ci_high": 0.5})
    >>> draw_bounded_memory(table, new_figure(3, 2).subplots()).lines[-1].get_xdata().tolist()
    [5, 9]
    """
    require_columns(table, _COLUMNS, "bounded_memory")
    if "experiment" in table and len(table["experiment"].unique()) > 1:
        raise ValueError("Draw one experiment on one Axes; bounded_memory_figure draws several.")
    unbounded = table[np.isinf(table["capacity"])]
    if len(unbounded):
        ax.axhline(unbounded["mean"].iloc[0], color="0.4", linestyle="--", linewidth=0.8, zorder=1)
    for retention in in_order(table["retention"], _LOOKS):
        look = _LOOKS[retention]
        curve = table[table["retention"] == retention].sort_values(["capacity", "n_transitions"])
        ax.fill_between(
            curve["n_transitions"],
            curve["ci_low"],
            curve["ci_high"],
            color=look["color"],
            alpha=0.12,
            linewidth=0,
        )
        ax.plot(curve["n_transitions"], curve["mean"], markersize=2.5, linewidth=0.9, **look)  # type: ignore[arg-type]
    ax.set(xscale="log", xlabel="Transitions remembered, at most", ylim=(-0.02, 1.05))
    return ax


@styled
def bounded_memory_figure(table: pd.DataFrame) -> Figure:
    """Make the figure of reward rate against memory: a panel for each experiment.

    Parameters
    ----------
    table : pandas.DataFrame
        As in `bounded_memory.csv`, see :func:`analyses.studies.bounded_memory.summarise`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.
    """
    require_columns(table, ["experiment", *_COLUMNS], "bounded_memory")
    experiments = in_order(table["experiment"], EXPERIMENTS)
    if not experiments:
        raise ValueError("bounded_memory is empty: there is nothing to draw.")
    figure = new_figure(FULL_WIDTH, 2.4)
    axes = figure.subplots(1, len(experiments), squeeze=False, sharey=True).ravel()
    for ax, experiment in zip(axes, experiments, strict=True):
        draw_bounded_memory(table[table["experiment"] == experiment], ax)
        ax.set_title(label(experiment))
    axes[0].set_ylabel("Normalised reward rate")
    letter_panels(axes)
    handles = [
        Line2D([], [], markersize=2.5, **_LOOKS[name])  # type: ignore[arg-type]
        for name in in_order(table["retention"], _LOOKS)
    ]
    handles.append(Line2D([], [], color="0.4", linestyle="--", label="Everything"))
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return figure
