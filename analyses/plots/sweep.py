"""Reward rate against a parameter of a learner, and against the capacity of its memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from scipy import stats

from analyses.plots.layers import draw_curves
from analyses.plots.panels import NEW, add_own_legend, drawing, grid, new_figure
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, INCH, Look, count_range, label, own_looks
from analyses.tables import EXPERIMENT_ORDER, in_order
from replay.checks import check_table

__all__ = ["bounded_memory_figure", "plot_bounded_memory", "plot_sweep", "sweep_figure"]

_COLUMNS = ["seed", "time_step", "reward_rate"]
_LOG_RATIO = 9.0  # least ratio of the largest to the smallest value
_MOST_TICKS = 7
_COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_MARKERS = "osD^v*"
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
_MEMORY_TICKS = 4
_APART = 0.15  # of two memories of one capacity, in doublings, so that neither hides the other
_LOOKS["everything"] = {"label": "Everything", "color": "0.4", "linestyle": "--"}
_MEMORY_COLUMNS = ["retention", "capacity", "n_transitions", "mean", "ci_low", "ci_high"]


@drawing
def plot_sweep(table: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH) -> Axes:
    """Draw the mean reward rate of whole runs against a parameter.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `replay.sweep`: `seed, time_step, reward_rate`, and one or two parameters, of
        which the first is the axis and the second the colour. Points are means over seeds, bars
        their 95 % Student-t intervals.

    Raises
    ------
    ValueError
        If columns are missing, or the number of parameters is neither one nor two.

    Examples
    --------
    >>> table = pd.DataFrame({"learning_rate": [0.1, 0.1, 0.5, 0.5], "seed": [0, 1, 0, 1],
    ...                       "time_step": 100, "reward_rate": [0.1, 0.3, 0.4, 0.6]})
    >>> plot_sweep(table).lines[0].get_ydata().tolist()
    [0.2, 0.5]
    """
    check_table(table, _COLUMNS, "table")
    parameters = [str(name) for name in table if name not in _COLUMNS]
    if not 1 <= len(parameters) <= 2:
        raise ValueError(f"table must have one parameter or two to draw, got {parameters}.")
    runs = table.groupby([*parameters, "seed"])["reward_rate"].mean()
    means = runs.groupby(parameters).agg(["mean", "sem", "count"]).reset_index()
    half_width = means["sem"] * stats.t.ppf(0.975, means["count"] - 1)
    means = means.assign(half_width=half_width.fillna(0.0))  # none of a single run
    across, *other = parameters
    parts = {str(key): rows for key, rows in means.groupby(other[0])} if other else {"": means}
    for number, (value, rows) in enumerate(parts.items()):
        place = rows[across].to_numpy()
        ax.errorbar(
            place if rows[across].dtype.kind in "iuf" else place.astype(str),
            rows["mean"],
            yerr=rows["half_width"],
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=3,
            linewidth=0.9,
            capsize=1.5,
            label=f"{label(other[0])} {value}" if other else None,
        )
    values = means[across]
    if values.dtype.kind in "iuf" and values.min() > 0 < values.max() / values.min() - _LOG_RATIO:
        ax.set_xscale("log")
        if values.nunique() <= _MOST_TICKS:
            ax.set_xticks(
                sorted(values.unique()), [f"{each:g}" for each in sorted(values.unique())]
            )
            ax.minorticks_off()
    ax.set(xlabel=label(across).capitalize(), ylabel="Reward per step")
    n_runs = table["seed"].nunique()
    ax.set_title(f"Means over {n_runs} run{'s' * (n_runs != 1)}, with 95 % intervals")
    if other:
        ax.legend()
    return ax


@drawing
def sweep_figure(table: pd.DataFrame, *, width_cm: float = COLUMN_WIDTH) -> Figure:
    """Make the figure of a sweep: reward rate against a parameter.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `replay.sweep`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, as wide as a column.

    Raises
    ------
    ValueError
        If columns are missing, or the number of parameters is neither one nor two.
    """
    figure = new_figure(width_cm / INCH, 2.2)
    plot_sweep(table, figure.subplots())
    return figure


@drawing
def plot_bounded_memory(
    table: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the reward rate of one experiment against the capacity of memory.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of ``bounded_memory.csv`` whose capacities are all in episodes or all in transitions.
        Those of infinite capacity stand at the right end and are the dashed line.

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
    check_table(table, _MEMORY_COLUMNS, "bounded_memory", empty=False)
    if "experiment" in table and len(table["experiment"].unique()) > 1:
        raise ValueError("Draw one experiment on one Axes; bounded_memory_figure draws several.")
    retentions = in_order(table["retention"], _UNITS)
    units = {_UNITS[name] for name in retentions}
    if len(units) > 1:
        raise ValueError("Draw capacities in episodes or in transitions on one Axes, not both.")
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
    shown = bounds[:: -(-len(bounds) // _MEMORY_TICKS)]
    ax.set_xticks([*shown, unbounded_at], [*(f"{each:g}" for each in shown), "all"])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(f"Capacity ({units.pop()})")
    ax.margins(y=0.08)
    ax.yaxis.set_major_locator(MaxNLocator(4))
    add_own_legend(ax, [looks[name] for name in [*retentions, "everything"]])
    return ax


@drawing
def bounded_memory_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of reward rate against memory: a row for each experiment.

    Memories of episodes are on the left, memories of transitions on the right.

    Parameters
    ----------
    table : pandas.DataFrame
        The table `bounded_memory.csv`; see
        :func:`analyses.studies.bounded_memory.summarise_bounded_memory`.
    """
    check_table(table, ["experiment", *_MEMORY_COLUMNS], "bounded_memory", empty=False)
    experiments = in_order(table["experiment"], EXPERIMENT_ORDER)
    units = list(dict.fromkeys(_UNITS[name] for name in in_order(table["retention"], _UNITS)))
    looks = own_looks(_LOOKS)
    shown = [looks[name] for name in in_order(table["retention"], looks)]
    n = count_range(table.get("n_mdps", ()), "world")
    one = table[(table["retention"].map(_UNITS) == "episodes") & (table["capacity"] == 1)]
    held = count_range(one["n_transitions"].round(), "transition")
    panels = [(experiment, unit) for experiment in experiments for unit in units]
    figure, axes = grid(
        [label(experiment) if unit == units[0] else "" for experiment, unit in panels],
        len(units),
        1.35,
        width_cm=width_cm,
        legend=[*shown, looks["everything"]],
        note="Means over a whole run; 0 is the random policy, 1 the optimal one. Each row has its "
        "own scale. Bars: 95 % intervals"
        + (f" over {n} per experiment." if n else " over worlds.")
        + (f" A memory of one episode held {held} at most, by experiment." if held else ""),
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
