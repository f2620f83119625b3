"""Drawing with seaborn: layers of marks on given axes, curves with bands, and whiskers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection, PathCollection
from matplotlib.colors import to_rgba

from analyses.plots.style import SMALL, Look
from replay.checks import check_column

_LEAST_WRITTEN, _DARK = 0.05, 0.6  # shares: of cells with a number, and of those with a white one


def draw(plot: so.Plot, ax: Axes) -> Axes:
    """Draw layers of marks on an Axes, which keeps its title and labels.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> table = pd.DataFrame({"x": [1, 2], "y": [3, 5]})
    >>> ax = draw(so.Plot(table, "x", "y").add(so.Line()), Figure().subplots())
    >>> ax.lines[0].get_ydata().tolist(), ax.get_ylabel()
    ([3.0, 5.0], '')
    """
    # Without the current settings, seaborn would use its own.
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


def nominal(looks: Mapping[str, Look], what: str = "color") -> so.Nominal:
    """Make seaborn's scale that maps names to their colours, or to another property of looks."""
    return so.Nominal({name: look[what] for name, look in looks.items()}, list(looks))


def hatch(ax: Axes, looks: Iterable[Look]) -> None:
    """Hatch in white the bars on an Axes whose look has a hatching.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> bars = ax.bar([0, 1], 1, color=["black", "grey"])
    >>> hatch(ax, [{"color": "black"}, {"color": "grey", "hatch": "/"}])
    >>> [bar.get_hatch() for bar in bars]
    [None, '/']
    """
    for look in looks:
        if "hatch" not in look:
            continue
        colour = to_rgba(look["color"])
        white: Look = {"hatch": look["hatch"], "edgecolor": "white", "linewidth": 0}
        for patch in ax.patches:
            if patch.get_facecolor() == colour:
                patch.set(**white)
        for bars in list(ax.collections):
            if isinstance(bars, PatchCollection):  # whose edges have the colour of the bars
                same = np.all(np.asarray(bars.get_facecolor()) == colour, axis=1)
                paths = [path for path, is_of in zip(bars.get_paths(), same, strict=True) if is_of]
                ax.add_collection(PathCollection(paths, facecolor="none", **white))


def draw_curves(
    table: pd.DataFrame,
    ax: Axes,
    x: str,
    y: str,
    by: str,
    looks: Mapping[str, Look],
    shade: float | None = 0.15,
    **line: Any,
) -> Axes:
    """Draw a curve for each name, and behind all curves their intervals as bands.

    There is a row per point; `looks` are arguments of `matplotlib.lines.Line2D` by name, in order.
    Bands, of opacity `shade` (None: bars at the points), are drawn where `ci_low` and `ci_high` are
    known, and `line` are properties of all curves.
    """
    numbers = {
        column: check_column(table, column, "the table", kind="number", missing=True)
        for column in (x, y, "ci_low", "ci_high")
        if column in table
    }
    table = table.assign(**numbers)
    table = table[table[by].isin(looks)].reset_index(drop=True)
    others = len(ax.lines)
    plot = so.Plot(table, x=x, color=by)
    known = table.reindex(columns=["ci_low", "ci_high"]).notna().all(axis=1)
    if known.any():
        mark = so.Range(linewidth=0.6) if shade is None else so.Band(alpha=shade, edgewidth=0)
        # A band ends where an interval is missing, and another one begins after it.
        piece = (~known).groupby(table[by], observed=True).cumsum()
        group = None if known.all() or shade is None else piece
        plot = plot.add(mark, ymin="ci_low", ymax="ci_high", group=group, legend=False)
    plot = plot.add(so.Path(**line), y=y, legend=False)
    draw(plot.scale(color=nominal(looks)), ax)
    drawn = set(table[by])
    for curve, name in zip(ax.lines[others:], filter(drawn.__contains__, looks), strict=True):
        # Seaborn draws these lines with the caps of solid lines, which would fill gaps of dashes.
        curve.set_dash_capstyle(mpl.rcParams["lines.dash_capstyle"])
        curve.set(**{"label": name, "linestyle": "-", **looks[name]})
    return ax


def draw_rows(
    table: pd.DataFrame, ax: Axes, by: str, names: Mapping[str, str], looks: Mapping[str, Look]
) -> None:
    """Draw learners' means with intervals in rows: one for each value of `by`, with its name.

    `table` has the columns `by, learner, mean, ci_low, ci_high`.
    """
    rows = {value: row for row, value in enumerate(names)}
    for k, (learner, look) in enumerate(looks.items()):
        own = table[table["learner"] == learner]
        y = own[by].map(rows) + 0.22 * (k - (len(looks) - 1) / 2)
        ax.hlines(y, own["ci_low"], own["ci_high"], color=look["color"], linewidth=1)
        ax.plot(own["mean"], y, look["marker"], color=look["color"], markersize=3.5)
    name_rows(ax, names.values())


def draw_shares(shares: pd.DataFrame, ax: Axes) -> None:
    """Draw a matrix of shares in grey, and write those of at least 5 % in their cells, in %."""
    ax.imshow(shares.to_numpy(float), cmap="Greys", vmin=0, vmax=1, aspect="auto")
    for (y, x), share in np.ndenumerate(shares.to_numpy(float)):
        if share >= _LEAST_WRITTEN:
            colour = "white" if share > _DARK else "black"
            ax.text(
                x, y, f"{100 * share:.0f}", ha="center", va="center", fontsize=SMALL, color=colour
            )
    ax.tick_params(length=0)
    ax.set_xlabel("Found")
    ax.set_ylabel("True")


def name_rows(ax: Axes, names: Iterable[str]) -> None:
    """Name the rows of an Axes, the first at the top."""
    shown = [*names]
    ax.set_yticks(range(len(shown)), shown)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def whiskers(
    plot: so.Plot, data: pd.DataFrame, along: Literal["x", "y"], *moves: so.Move
) -> so.Plot:
    """Add intervals as thin black lines with caps.

    `data` has one row per interval with its ends `ci_low` and `ci_high`; `moves` place them on
    their bars.
    """
    line = so.Range(color="#000000", linewidth=0.7)
    cap = so.Dot(color="#000000", marker="|" if along == "x" else "_", pointsize=3, stroke=0.7)
    how = {"data": data, "orient": "y" if along == "x" else "x", "legend": False}
    plot = plot.add(line, *moves, **how, **{f"{along}min": "ci_low", f"{along}max": "ci_high"})
    for end in ("ci_low", "ci_high"):
        plot = plot.add(cap, *moves, **how, **{along: end})
    return plot
