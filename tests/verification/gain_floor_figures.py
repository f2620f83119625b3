"""Forward and reverse replay with and without the floor under the gain."""

from __future__ import annotations

import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.layers import draw, hatch, nominal, whiskers
from analyses.plots.panels import NEW, add_own_legend, drawing, fitting_columns, grid
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, Look, count_range, own_looks
from analyses.tables import in_order
from replay.checks import check_table

__all__ = ["gain_floor_figure", "plot_gain_floor"]

_BARS = (("start", "forward"), ("start", "reverse"), ("goal", "forward"), ("goal", "reverse"))
_LOOKS: dict[str, Look] = {
    "floor": {"label": "With the gain floor", "color": "#332288"},
    "no_floor": {"label": "Without the floor", "color": "#aa3377", "hatch": "/////"},
    "no_need": {"label": "With the floor, need set to 1", "color": "#cccccc"},
}
_TASKS = {"linear_track": "Linear track", "open_maze": "Open maze, random starts"}
_WIDTH = 0.8
_COLUMNS = ["task", "setting", "place", "direction", "mean", "ci_low", "ci_high"]


@drawing
def plot_gain_floor(
    gain_floor: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw segments per episode at start and goal, with intervals, as one bar per setting.

    Parameters
    ----------
    gain_floor : pandas.DataFrame
        Rows of ``gain_floor.csv`` of one task.

    Raises
    ------
    ValueError
        If columns are missing, or a bar has several rows.

    Examples
    --------
    >>> table = pd.DataFrame({"setting": ["floor", "no_floor"], "place": "start",
    ...                       "direction": "forward", "mean": [0.6, 0.0], "ci_low": [0.5, 0.0],
    ...                       "ci_high": [0.7, 0.0]})
    >>> [float(bar.get_height()) for bar in plot_gain_floor(table).patches]
    [0.6]
    """
    check_table(gain_floor, _COLUMNS[1:], "gain_floor")
    if gain_floor.duplicated(["setting", "place", "direction"]).any():
        raise ValueError("A bar has several rows: choose one task, or use gain_floor_figure.")
    looks = _looks(gain_floor)
    where = gain_floor.set_index(["place", "direction"]).index
    places = pd.MultiIndex.from_tuples(_BARS).get_indexer(where)
    bars = gain_floor.reset_index(drop=True).assign(bar=places)
    plot = so.Plot(bars, x="bar", y="mean", color="setting")
    plot = plot.add(
        so.Bar(width=_WIDTH, alpha=1, edgewidth=0), so.Dodge(), orient="x", legend=False
    )
    plot = whiskers(plot, bars, "y", so.Dodge())
    draw(plot.scale(color=nominal(looks)), ax)
    hatch(ax, looks.values())
    for k, (setting, look) in enumerate(looks.items()):
        place = (k - (len(looks) - 1) / 2) * _WIDTH / len(looks)
        for bar in bars.loc[(bars["setting"] == setting) & (bars["mean"] == 0), "bar"]:
            ax.annotate(
                "0", (bar + place, 0), ha="center", va="bottom", fontsize=6, color=look["color"]
            )
    ax.set_xticks(
        range(len(_BARS)), [f"{direction.title()}\nat the {place}" for place, direction in _BARS]
    )
    ax.tick_params(axis="x", length=0)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("Segments per episode")
    add_own_legend(ax, looks.values())
    return ax


@drawing
def gain_floor_figure(gain_floor: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of the effect of the gain floor: one panel per task.

    Parameters
    ----------
    gain_floor : pandas.DataFrame
        The table ``gain_floor.csv`` of ``replay study gain_floor``.
    """
    check_table(gain_floor, _COLUMNS, "gain_floor", empty=False)
    tasks = in_order(gain_floor["task"], _TASKS)
    figure, axes = grid(
        [_title(gain_floor[gain_floor["task"] == task], task) for task in tasks],
        fitting_columns(len(tasks), width_cm, 7.0),
        2.1 if width_cm > COLUMN_WIDTH else 1.7,
        width_cm=width_cm,
        legend=_looks(gain_floor).values(),
        note="Means over episodes and animals; whiskers: 95 % intervals over animals. 0: none in "
        "any episode.",
    )
    for ax, task in zip(axes, tasks, strict=True):
        plot_gain_floor(gain_floor[gain_floor["task"] == task], ax)
    return figure


def _looks(gain_floor: pd.DataFrame) -> dict[str, Look]:
    settings = in_order(gain_floor["setting"], _LOOKS)
    return own_looks({name: _LOOKS.get(name, {"label": name, "color": "0.6"}) for name in settings})


def _title(rows: pd.DataFrame, task: str) -> str:
    n = count_range(rows.get("n", ()), "animal")
    return f"{_TASKS.get(task, task)} ({n})" if n else _TASKS.get(task, task)
