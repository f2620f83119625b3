"""What seaborn draws: layers of marks on given axes, curves with their bands, and whiskers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes

from analyses.plots.style import Look

__all__ = ["draw", "draw_curves", "looks_of", "whiskers"]


def draw(plot: so.Plot, ax: Axes) -> Axes:
    """Draw layers of marks on an Axes, which keeps its title and its labels.

    Parameters
    ----------
    plot : seaborn.objects.Plot
        Data, marks and scales.
    ax : matplotlib.axes.Axes
        Where to draw. Its scales become linear; set others afterwards, so that what is drawn are
        the numbers of the table and not those of a transformation and its inverse.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> table = pd.DataFrame({"x": [1, 2], "y": [3, 5]})
    >>> ax = draw(so.Plot(table, "x", "y").add(so.Line()), Figure().subplots())
    >>> ax.lines[0].get_ydata().tolist(), ax.get_ylabel()
    ([3.0, 5.0], '')
    """
    # Seaborn has a look of its own, unless it is told the present one.
    theme = {name: mpl.rcParams[name] for name in so.Plot.config.theme}
    title = ax.get_title(loc=mpl.rcParams["axes.titlelocation"])
    plot = plot.label(x=ax.get_xlabel(), y=ax.get_ylabel(), title=title)
    labelled = {
        "labelbottom": ax.xaxis.get_tick_params()["labelbottom"],
        "labelleft": ax.yaxis.get_tick_params()["labelleft"],
    }
    plot.theme(theme).on(ax).plot()
    ax.tick_params(**labelled)
    return ax


def looks_of(looks: Mapping[str, Look]) -> dict[str, so.Nominal]:
    """Give the scales by which names have their looks.

    Parameters
    ----------
    looks : mapping of str to dict
        Looks by name, in order: `color`, and `linestyle` and `marker` if any is not plain.

    Returns
    -------
    dict of str to seaborn.objects.Nominal
        Arguments of `seaborn.objects.Plot.scale`.
    """
    plain = {"color": "0.6", "linestyle": "-", "marker": ""}
    return {
        what: so.Nominal({name: look.get(what, other) for name, look in looks.items()}, list(looks))
        for what, other in plain.items()
        if what == "color" or any(what in look for look in looks.values())
    }


def draw_curves(
    table: pd.DataFrame,
    ax: Axes,
    x: str,
    y: str,
    by: str,
    looks: Mapping[str, Look],
    interval: tuple[str, str] | None = None,
    shade: float | None = 0.15,
    **line: Any,
) -> Axes:
    """Draw a curve for each name, and below all curves their intervals as bands.

    Parameters
    ----------
    table : pandas.DataFrame
        A row for each point of a curve.
    ax : matplotlib.axes.Axes
        Where to draw.
    x, y, by : str
        The columns that hold the points and the name of the curve.
    looks : mapping of str to dict
        The look of each curve by name, in order: `color`, and where they are not plain `linestyle`
        and `marker`; with a `label`, which the line then has.
    interval : (str, str), optional
        The columns of the lower and the upper end. A band ends where points have no interval.
    shade : float or None, default 0.15
        How opaque bands are; None for a bar at each point, where single points have intervals.
    **line
        What all curves share, as in `seaborn.objects.Path`.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> table = pd.DataFrame({"t": [1, 2], "rate": [0.1, 0.4], "of": "a", "low": 0.0, "high": 1.0})
    >>> ax = draw_curves(table, Figure().subplots(), "t", "rate", "of", {"a": {"color": "k"}},
    ...                  interval=("low", "high"))
    >>> ax.lines[0].get_ydata().tolist(), len(ax.patches)
    ([0.1, 0.4], 1)
    """
    table = table[table[by].isin(looks)]
    others = len(ax.lines)
    plot = so.Plot(table, x=x, color=by)
    if interval is not None and (known := table[list(interval)].notna().all(axis=1)).any():
        mark = so.Range(linewidth=0.6) if shade is None else so.Band(alpha=shade, edgewidth=0)
        piece = (~known).groupby(table[by], observed=True).cumsum()
        group = None if known.all() or shade is None else piece
        low, high = interval
        plot = plot.add(mark, ymin=low, ymax=high, group=group, legend=False)
    scales = looks_of(looks)
    plot = plot.add(so.Path(**line), y=y, **dict.fromkeys(scales, by), legend=False)
    draw(plot.scale(**scales), ax)
    drawn = set(table[by])
    for curve, name in zip(ax.lines[others:], filter(drawn.__contains__, looks), strict=True):
        curve.set_label(looks[name].get("label", name))
    return ax


def whiskers(
    plot: so.Plot, data: pd.DataFrame, low: str, high: str, along: str, *moves: so.Move
) -> so.Plot:
    """Add intervals as thin black lines with caps.

    Parameters
    ----------
    plot : seaborn.objects.Plot
        A plot of bars.
    data : pandas.DataFrame
        A row for each interval.
    low, high : str
        The columns of the ends.
    along : {"x", "y"}
        The axis along which intervals run.
    *moves : seaborn.objects.Move
        How they are moved to their bars.

    Returns
    -------
    seaborn.objects.Plot
        The plot with three more layers.
    """
    line = so.Range(color="#000000", linewidth=0.7)
    cap = so.Dot(color="#000000", marker="|" if along == "x" else "_", pointsize=3, stroke=0.7)
    how = {"data": data, "orient": "y" if along == "x" else "x", "legend": False}
    plot = plot.add(line, *moves, **how, **{f"{along}min": low, f"{along}max": high})
    for end in (low, high):
        plot = plot.add(cap, *moves, **how, **{along: end})
    return plot
