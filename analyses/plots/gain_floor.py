"""Forward and reverse replay with and without the floor under the gain."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analyses.plots.style import FULL_WIDTH, letter_panels, new_figure, styled
from analyses.tables import in_order, require_columns

__all__ = ["draw_gain_floor", "gain_floor_figure"]

_BARS = (("start", "forward"), ("start", "reverse"), ("goal", "forward"), ("goal", "reverse"))
_SETTINGS = {
    "floor": ("With the gain floor", "#0072b2"),
    "no_floor": ("Without the floor", "#d55e00"),
    "no_need": ("With the floor, need set to 1", "#b3b3b3"),
}
_TASKS = {"linear_track": "Linear track", "open_maze": "Open maze, random starts"}
_COLUMNS = ["task", "setting", "place", "direction", "mean", "ci_low", "ci_high"]


def draw_gain_floor(gain_floor: pd.DataFrame, ax: Axes) -> Axes:
    """Draw segments per episode at start and goal, with intervals, as a bar for each setting.

    Parameters
    ----------
    gain_floor : pandas.DataFrame
        Rows of one task: `setting, place, direction, mean, ci_low, ci_high`.
    ax : matplotlib.axes.Axes
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing, or there are several rows for one bar.

    Examples
    --------
    >>> table = pd.DataFrame({"setting": ["floor", "no_floor"], "place": "start",
    ...                       "direction": "forward", "mean": [0.6, 0.0], "ci_low": [0.5, 0.0],
    ...                       "ci_high": [0.7, 0.0]})
    >>> ax = draw_gain_floor(table, new_figure(3, 2).subplots())
    >>> [float(bar.get_height()) for bar in ax.patches if bar.get_height() > 0]
    [0.6]
    """
    require_columns(gain_floor, _COLUMNS[1:], "gain_floor")
    if gain_floor.duplicated(["setting", "place", "direction"]).any():
        raise ValueError("A bar has several rows: choose one task, or use gain_floor_figure.")
    settings = in_order(gain_floor["setting"], _SETTINGS)
    width = 0.8 / max(len(settings), 1)
    for i, setting in enumerate(settings):
        name, colour = _SETTINGS.get(setting, (setting, "0.6"))
        rows = gain_floor[gain_floor["setting"] == setting].set_index(["place", "direction"])
        rows = rows.reindex(pd.MultiIndex.from_tuples(_BARS))
        place = np.arange(len(_BARS)) + (i - (len(settings) - 1) / 2) * width
        mean = rows["mean"].to_numpy()
        ax.bar(place, mean, width, color=colour, label=name)
        ax.errorbar(
            place,
            mean,
            yerr=np.stack((mean - rows["ci_low"], rows["ci_high"] - mean)),
            fmt="none",
            ecolor="k",
            elinewidth=0.7,
            capsize=1.5,
            capthick=0.7,
        )
        for x in place[mean == 0]:
            ax.annotate("0", (x, 0), ha="center", va="bottom", fontsize=6, color=colour)
    ax.set_xticks(
        range(len(_BARS)), [f"{direction.title()}\nat the {place}" for place, direction in _BARS]
    )
    ax.tick_params(axis="x", length=0)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("Segments per episode")
    return ax


@styled
def gain_floor_figure(gain_floor: pd.DataFrame) -> Figure:
    """Make the figure of what the gain floor does: a panel for each task.

    Parameters
    ----------
    gain_floor : pandas.DataFrame
        As :func:`analyses.studies.gain_floor.compare_gain_floors` gives it.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.
    """
    require_columns(gain_floor, _COLUMNS, "gain_floor")
    tasks = in_order(gain_floor["task"], _TASKS)
    if not tasks:
        raise ValueError("gain_floor is empty: there are no segments to draw.")
    figure = new_figure(FULL_WIDTH, 2.4)
    axes = figure.subplots(1, len(tasks), squeeze=False)[0]
    for ax, task in zip(axes, tasks, strict=True):
        draw_gain_floor(gain_floor[gain_floor["task"] == task], ax)
        ax.set_title(_TASKS.get(task, task))
    letter_panels(axes)
    handles = [
        Patch(color=colour, label=name)
        for setting, (name, colour) in _SETTINGS.items()
        if (gain_floor["setting"] == setting).any()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, handlelength=1)
    return figure
