"""Sweeps of parameters: what is earned with each value."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.intervals import mean_interval
from analyses.plots.panels import NEW, drawing, new_figure
from analyses.plots.style import COLUMN_WIDTH, INCH, label
from replay.checks import check_table

_SWEPT = ["seed", "time_step", "reward_rate"]
_LOG_RATIO = 9.0  # least ratio of the largest to the smallest value
_MOST_TICKS = 7  # whose labels do not overlap on a logarithmic axis
_COLOURS = ("#000000", "#999933", "#aa3377", "#44aa77", "#cc79a7", "#e69f00")
_MARKERS = "osD^v*"


@drawing
def plot_sweep(table: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH) -> Axes:
    """Draw the mean reward rate of whole runs against a parameter.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `replay.sweep`: `seed, time_step, reward_rate`, and one or two parameters, of
        which the first is the axis and the second the colour. Points are means over seeds, bars
        their 95 % Student-t intervals.

    Examples
    --------
    >>> table = pd.DataFrame({"learning_rate": [0.1, 0.1, 0.5, 0.5], "seed": [0, 1, 0, 1],
    ...                       "time_step": 100, "reward_rate": [0.1, 0.3, 0.4, 0.6]})
    >>> plot_sweep(table).lines[0].get_ydata().tolist()
    [0.2, 0.5]
    """
    check_table(table, _SWEPT, "table")
    parameters = [str(name) for name in table if name not in _SWEPT]
    if not 1 <= len(parameters) <= 2:
        raise ValueError(f"table must have one parameter or two to draw, got {parameters}.")
    runs = table.groupby([*parameters, "seed"])["reward_rate"].mean()
    means = mean_interval(runs.reset_index(), "reward_rate", parameters)
    across, *other = parameters
    parts = {str(key): rows for key, rows in means.groupby(other[0])} if other else {"": means}
    for number, (value, rows) in enumerate(parts.items()):
        place = rows[across].to_numpy()
        ax.errorbar(
            place if rows[across].dtype.kind in "iuf" else place.astype(str),
            rows["mean"],
            yerr=(rows["ci_high"] - rows["mean"]).fillna(0.0),  # a single run has no interval
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=3,
            linewidth=0.9,
            capsize=1.5,
            label=f"{label(other[0])} {value}" if other else None,
        )
    # Values over an order of magnitude, such as rates of learning, are equally far apart.
    values = means[across]
    is_number = values.dtype.kind in "iuf"
    if is_number and values.min() > 0 and values.max() > _LOG_RATIO * values.min():
        ax.set_xscale("log")
        ticks = np.unique(values)
        if len(ticks) <= _MOST_TICKS:
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
    ax.set(xlabel=label(across).capitalize(), ylabel="Reward per step")
    n_runs = table["seed"].nunique()
    ax.set_title(f"Means over {n_runs} run{'s' * (n_runs != 1)}, with 95 % intervals")
    if other:
        ax.legend()
    return ax


@drawing
def sweep_figure(table: pd.DataFrame, *, width_cm: float = COLUMN_WIDTH) -> Figure:
    """Make the figure of a sweep from the table of `replay.sweep`: reward rate by parameter."""
    figure = new_figure(width_cm / INCH, 2.2)
    plot_sweep(table, figure.subplots())
    return figure
