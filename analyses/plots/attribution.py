"""Whether a replayed sequence can be attributed to one episode, over learning and by length."""

from __future__ import annotations

from textwrap import wrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from analyses.plots.style import FULL_WIDTH, label, new_figure, styled, write_empty
from analyses.tables import EXPERIMENTS, LEARNERS, in_order, require_columns

__all__ = ["attribution_figure", "attribution_length_figure", "draw_attribution"]

_LOOKS: dict[str, dict[str, str]] = {
    "one": {"color": "#0072b2", "label": "In one episode"},
    "several": {"color": "#009e73", "label": "In several"},
    "none": {"color": "#d55e00", "label": "In none as a whole"},
}
_MOVES = {"color": "#56b4e9", "linestyle": (0, (1, 1)), "label": "Single moves, in one episode"}
_SHORT = 8
_LINE = 16
_COLUMNS = ["of", "over", "up_to", "attribution", "count", "share", "ci_low", "ci_high"]


def draw_attribution(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the shares of one learner in one world, with intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `of, over, up_to, attribution, count, share, ci_low, ci_high`; all rows over the
        same, and each share once. Of single moves that over learning are in one episode there is a
        dotted line; the others are in several.
    ax : matplotlib.axes.Axes
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing, or a share is there several times.

    Examples
    --------
    >>> table = pd.DataFrame({"of": "sequences", "over": "episode", "up_to": [1, 2], "count": 5,
    ...                       "attribution": "one", "share": [1.0, 0.4], "ci_low": [1.0, 0.2],
    ...                       "ci_high": [1.0, 0.7]})
    >>> draw_attribution(table, Figure().subplots()).lines[0].get_ydata().tolist()
    [1.0, 0.4]
    """
    require_columns(table, _COLUMNS, "attribution")
    if len(table["over"].unique()) > 1 or table.duplicated(["of", "up_to", "attribution"]).any():
        raise ValueError(
            "A share is there several times: choose one experiment, learner and view, or use "
            "attribution_figure."
        )
    by_length = (table["over"] == "length").any()
    known = table.dropna(subset=["share"]).sort_values("up_to")
    for name, look in _LOOKS.items():
        rows = known[known["attribution"] == name]
        if not by_length:
            rows = rows[rows["of"] == "sequences"]
        x = rows["up_to"].astype(int).to_numpy()
        ax.fill_between(
            x,
            rows["ci_low"].fillna(rows["share"]),
            rows["ci_high"].fillna(rows["share"]),
            color=look["color"],
            alpha=0.15,
            linewidth=0,
        )
        ax.plot(x, rows["share"], linewidth=1, marker="o", markersize=1.5, **look)  # type: ignore[arg-type]
    if not by_length:
        rows = known[(known["of"] == "moves") & (known["attribution"] == "one")]
        ax.plot(rows["up_to"].astype(int), rows["share"], linewidth=1, **_MOVES)  # type: ignore[arg-type]
    ax.set(xscale="log", ylim=(-0.04, 1.04), yticks=[0, 0.5, 1])
    is_short = by_length and known["up_to"].max() <= _SHORT
    ticks = FixedLocator(range(2, _SHORT + 1)) if is_short else LogLocator(2 if by_length else 10)
    ax.xaxis.set_major_locator(ticks)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    return ax


@styled
def attribution_figure(table: pd.DataFrame) -> Figure:
    """Make the figure over learning: learners in rows, experiments in columns.

    Parameters
    ----------
    table : pandas.DataFrame
        As in `attribution.csv`, see :func:`analyses.studies.attribution.summarise`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.
    """
    return _grid(table, "episode", "Episode")


@styled
def attribution_length_figure(table: pd.DataFrame) -> Figure:
    """Make the figure by length: learners in rows, experiments in columns.

    Parameters
    ----------
    table : pandas.DataFrame
        As in `attribution.csv`, see :func:`analyses.studies.attribution.summarise`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.
    """
    return _grid(table, "length", "States of the sequence")


def _grid(table: pd.DataFrame, over: str, what: str) -> Figure:
    require_columns(table, ["experiment", "learner", *_COLUMNS], "attribution")
    table = table[table["over"] == over]
    if table.empty:
        raise ValueError("attribution is empty: there is nothing to draw.")
    experiments = in_order(table["experiment"], EXPERIMENTS)
    learners = in_order(table["learner"], LEARNERS)
    learners.sort(key=lambda name: name != "episodic_control")
    figure = new_figure(FULL_WIDTH, 0.95 * len(learners) + 0.75)
    axes = figure.subplots(
        len(learners), len(experiments), squeeze=False, sharex="col", sharey=True
    )
    for ax, experiment in zip(axes[0], experiments, strict=True):
        ax.set_title(label(experiment))
    for row, learner in zip(axes, learners, strict=True):
        row[0].set_ylabel("\n".join(wrap(label(learner), _LINE)))
        for ax, experiment in zip(row, experiments, strict=True):
            rows = table[(table["learner"] == learner) & (table["experiment"] == experiment)]
            if rows["count"].sum():
                draw_attribution(rows, ax)
            else:
                write_empty(ax, "no replay")
    for ax in axes[-1]:
        ax.set_xlabel(what)
    figure.supylabel("Share of replayed sequences", fontsize=7)
    handles = [Line2D([], [], **look) for look in _LOOKS.values()]  # type: ignore[arg-type]
    if over == "episode" and (table["of"] == "moves").any():
        handles.append(Line2D([], [], **_MOVES))  # type: ignore[arg-type]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure
