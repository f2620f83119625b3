"""Reward rate against a parameter of a learner."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from analyses.plots.style import (
    COLUMN_WIDTH,
    INCH,
    label,
    new_axes,
    new_figure,
    styled,
)
from replay.checks import check_table

__all__ = ["plot_sweep", "sweep_figure"]

_COLUMNS = ["seed", "time_step", "reward_rate"]
_LOG_RATIO = 9.0  # least ratio of the largest to the smallest value
_MOST_TICKS = 7
_COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_MARKERS = "osD^v*"


@styled
def plot_sweep(
    table: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the mean reward rate of whole runs against a parameter.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `replay.sweep`: `seed, time_step, reward_rate`, and one or two parameters, of
        which the first is the axis and the second the colour. Points are means over seeds, bars
        their 95 % Student-t intervals.
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
    ax = new_axes(width_cm) if ax is None else ax
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


@styled
def sweep_figure(table: pd.DataFrame, *, width_cm: float = COLUMN_WIDTH) -> Figure:
    """Make the figure of a sweep: reward rate against a parameter.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `replay.sweep`.
    width_cm : float, default 8.5
        Width of the figure.

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
