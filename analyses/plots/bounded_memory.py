"""Reward rate against the capacity of memory, from one episode to all experience."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from analyses.plots.grids import add_own_legend, grid
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
_UNITS = {
    "recent_episodes": "episodes",
    "fading": "episodes",
    "recent_transitions": "transitions",
    "valuable_transitions": "transitions",
}
_MOST_TICKS = 4
_APART = 0.15  # of two memories of one capacity, in doublings, so that neither hides the other
_LOOKS["everything"] = {"label": "Everything", "color": "0.4", "linestyle": "--"}
_COLUMNS = ["retention", "capacity", "n_transitions", "mean", "ci_low", "ci_high"]


@styled
def plot_bounded_memory(
    table: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the reward rate of one experiment against the capacity of memory.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of ``bounded_memory.csv`` whose capacities are all in episodes or all in transitions.
        Those of infinite capacity stand at the right end and are the dashed line.
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
        If columns are missing, or the table has several experiments or units of capacity.

    Examples
    --------
    >>> table = pd.DataFrame({"retention": "fading", "capacity": [1.0, 2.0], "mean": [0.2, 0.4],
    ...                       "n_transitions": [5, 9], "ci_low": [0.1, 0.3], "ci_high": 0.5})
    >>> plot_bounded_memory(table).lines[-1].get_xdata().tolist()
    [1.0, 2.0]
    """
    check_table(table, _COLUMNS, "bounded_memory", empty=False)
    if "experiment" in table and len(table["experiment"].unique()) > 1:
        raise ValueError("Draw one experiment on one Axes; bounded_memory_figure draws several.")
    retentions = in_order(table["retention"], _UNITS)
    units = {_UNITS[name] for name in retentions}
    if len(units) > 1:
        raise ValueError("Draw capacities in episodes or in transitions on one Axes, not both.")
    is_new = ax is None
    ax = new_axes(width_cm) if ax is None else ax
    looks = own_looks(_LOOKS)
    bounds = sorted(table.loc[np.isfinite(table["capacity"]), "capacity"].unique()) or [1.0]
    unbounded_at = 4 * bounds[-1]
    shifts = {
        name: 2 ** (_APART * (2 * k - len(retentions) + 1)) for k, name in enumerate(retentions)
    }
    shift = table["retention"].map(shifts)
    draw_curves(
        table.assign(at=table["capacity"].replace(np.inf, unbounded_at) * shift).sort_values("at"),
        ax,
        "at",
        "mean",
        "retention",
        {name: looks[name] for name in retentions},
        shade=None,
        fillcolor="white",
        pointsize=2.8,
        linewidth=0.8,
    )
    unbounded = table[np.isinf(table["capacity"])]
    if len(unbounded):
        ax.axhline(unbounded["mean"].iloc[0], linewidth=0.8, zorder=1, **looks["everything"])
    ax.set_xscale("log", base=2)
    shown = bounds[:: -(-len(bounds) // _MOST_TICKS)]
    ax.set_xticks([*shown, unbounded_at], [*(f"{each:g}" for each in shown), "all"])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(f"Capacity ({units.pop()})")
    ax.margins(y=0.08)
    ax.yaxis.set_major_locator(MaxNLocator(4))
    add_own_legend(ax, is_new, [looks[name] for name in [*retentions, "everything"]])
    return ax


@styled
def bounded_memory_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of reward rate against memory: a row for each experiment.

    Memories of episodes are on the left, memories of transitions on the right.

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
    units = list(dict.fromkeys(_UNITS[name] for name in in_order(table["retention"], _UNITS)))
    looks = own_looks(_LOOKS)
    shown = [looks[name] for name in in_order(table["retention"], looks)]
    panels = [(experiment, unit) for experiment in experiments for unit in units]
    figure, axes = grid(
        [label(experiment) if unit == units[0] else "" for experiment, unit in panels],
        len(units),
        1.35,
        width_cm=width_cm,
        legend=[*shown, looks["everything"]],
        note=_note(table),
        ylabel="Normalised reward rate",
        letters=False,
        sharey="row",
    )
    for k, (ax, (experiment, unit)) in enumerate(zip(axes, panels, strict=True)):
        is_shown = (table["experiment"] == experiment) & (table["retention"].map(_UNITS) == unit)
        plot_bounded_memory(table[is_shown], ax)
        if k < len(axes) - len(units):
            ax.set_xlabel("")
    return figure


def _note(table: pd.DataFrame) -> str:
    n = count_range(table.get("n_mdps", ()), "world")
    one = table[(table["retention"].map(_UNITS) == "episodes") & (table["capacity"] == 1)]
    held = count_range(one["n_transitions"].round(), "transition")
    return (
        "Means over a whole run; 0 is the random policy, 1 the optimal one. Each row has its own "
        "scale. Bars: 95 % intervals"
        + (f" over {n} per experiment." if n else " over worlds.")
        + (f" A memory of one episode held {held} at most, by experiment." if held else "")
    )
