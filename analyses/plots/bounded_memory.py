"""Reward rate against the size of memory, from one episode to all experience."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analyses.plots.grids import (
    add_own_legend,
    fitting_columns,
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
    new_axes,
    own_looks,
    styled,
)
from analyses.tables import EXPERIMENT_ORDER, in_order
from replay.checks import check_table

__all__ = ["bounded_memory_figure", "plot_bounded_memory"]

_LOOKS: dict[str, Look] = {
    "recent_episodes": {"label": "Recent episodes", "color": "#0072b2", "marker": "o"},
    "fading": {"label": "Fading trace", "color": "#009e73", "marker": "s"},
    "recent_transitions": {"label": "Recent transitions", "color": "#d55e00", "marker": "^"},
    "valuable_transitions": {"label": "Valuable transitions", "color": "#cc79a7", "marker": "D"},
}
# Where rates are the same, wider lines show behind narrower ones.
for _look, _size in zip(_LOOKS.values(), (6.0, 4.5, 3.5, 2.5), strict=True):
    _look.update(markersize=_size, linewidth=_size / 3)
_LOOKS["everything"] = {"label": "Everything", "color": "0.4", "linestyle": "--"}
_COLUMNS = ["retention", "capacity", "n_transitions", "mean", "ci_low", "ci_high"]


@styled
def plot_bounded_memory(
    table: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the reward rate of one experiment against the number of remembered transitions.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of ``bounded_memory.csv``; those of infinite capacity are drawn as the dashed line.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.

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
    >>> plot_bounded_memory(table).lines[-1].get_xdata().tolist()
    [5.0, 9.0]
    """
    check_table(table, _COLUMNS, "bounded_memory", empty=False)
    if "experiment" in table and len(table["experiment"].unique()) > 1:
        raise ValueError("Draw one experiment on one Axes; bounded_memory_figure draws several.")
    is_new = ax is None
    ax = new_axes(width_cm) if ax is None else ax
    looks = own_looks(_LOOKS)
    draw_curves(
        table.sort_values(["capacity", "n_transitions"]),
        ax,
        "n_transitions",
        "mean",
        "retention",
        {name: looks[name] for name in in_order(table["retention"], looks)},
        shade=0.1,
        fillcolor="white",
    )
    unbounded = table[np.isinf(table["capacity"])]
    if len(unbounded):
        ax.axhline(unbounded["mean"].iloc[0], linewidth=0.8, zorder=1, **looks["everything"])
    ax.set(xscale="log", xlabel="Transitions held at most")
    ax.margins(y=0.08)
    ax.yaxis.set_major_locator(MaxNLocator(4))
    add_own_legend(
        ax, is_new, [looks[name] for name in [*in_order(table["retention"], looks), "everything"]]
    )
    return ax


@styled
def bounded_memory_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of reward rate against memory: one panel per experiment.

    Parameters
    ----------
    table : pandas.DataFrame
        The table `bounded_memory.csv`; see
        :func:`analyses.studies.bounded_memory.summarise_bounded_memory`.
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
    check_table(table, ["experiment", *_COLUMNS], "bounded_memory", empty=False)
    experiments = in_order(table["experiment"], EXPERIMENT_ORDER)
    looks = own_looks(_LOOKS)
    shown = [looks[name] for name in in_order(table["retention"], looks)]
    figure, axes = grid(
        [label(experiment) for experiment in experiments],
        fitting_columns(len(experiments), width_cm, 4.0),
        2.1 if width_cm > COLUMN_WIDTH else 1.5,
        width_cm=width_cm,
        legend=[*shown, looks["everything"]],
        note=_note(table),
        ylabel="Normalised reward rate",
    )
    for ax, experiment in zip(axes, experiments, strict=True):
        plot_bounded_memory(table[table["experiment"] == experiment], ax)
    keep_outer_labels(axes)
    return figure


def _note(table: pd.DataFrame) -> str:
    n = count_range(table.get("n_mdps", ()), "world")
    return (
        "Means over a whole run; 0 is the random policy, 1 the optimal one. Each panel has its own "
        "scale. Bands: 95 % intervals" + (f" over {n} per experiment." if n else " over worlds.")
    )
