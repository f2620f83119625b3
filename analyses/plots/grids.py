"""The frame of a figure: panels in rows and columns, with titles and letters, and one legend."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, Look, new_figure, styled

__all__ = ["add_legend", "grid", "keep_outer_labels", "letter_panels"]

Shared = bool | Literal["row", "col"]

_LEGEND_LINE, _LEGEND_MARGIN = 0.17, 0.1  # inches


@styled
def grid(
    titles: Sequence[str],
    n_columns: int,
    panel_height: float,
    *,
    legend: Collection[Look] = (),
    legend_columns: int = 4,
    legend_title: str | None = None,
    letters: bool = True,
    ylabel: str = "",
    sharex: Shared = False,
    sharey: Shared = False,
) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels in rows, with a legend below them.

    Parameters
    ----------
    titles : sequence of str
        The title of each panel, row by row; it may be empty.
    n_columns : int
        Panels in a row, at most. A figure of one column is as wide as a column of a journal, any
        other as wide as its page.
    panel_height : float
        Height of a row (inches).
    legend : collection of dict, optional
        Looks, as of `add_legend`.
    legend_columns : int, default 4
        Names in a row of the legend.
    legend_title : str, optional
        A title above the legend.
    letters : bool, default True
        Whether panels have letters, if there are several.
    ylabel : str, default ""
        One label of the y axes of all panels.
    sharex, sharey : bool or {"row", "col"}, default False
        Which panels share an axis.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The figure.
    axes : list of matplotlib.axes.Axes
        A panel for each title.

    Examples
    --------
    >>> figure, axes = grid(["One", "Two"], 2, 1.5, legend=[{"label": "Area", "color": "k"}])
    >>> [ax.get_title(loc="left") for ax in axes], figure.legends[0].texts[0].get_text()
    (['One', 'Two'], 'Area')
    """
    n_columns = min(n_columns, len(titles))
    n_rows = -(-len(titles) // n_columns)
    n_lines = -(-len(legend) // legend_columns) + (legend_title is not None)
    height = n_rows * panel_height + _LEGEND_LINE * n_lines + _LEGEND_MARGIN
    figure = new_figure(FULL_WIDTH if n_columns > 1 else COLUMN_WIDTH, height)
    panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=sharex, sharey=sharey).ravel()
    for ax in panels[len(titles) :]:
        ax.remove()
    axes: list[Axes] = panels[: len(titles)].tolist()
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title)
    if letters and len(axes) > 1:
        letter_panels(axes)
    if ylabel:
        figure.supylabel(ylabel, y=1 - n_rows * panel_height / 2 / height)
    if legend:
        add_legend(figure, legend, legend_columns, title=legend_title)
    return figure, axes


def add_legend(
    figure: FigureBase,
    looks: Collection[Look],
    n_columns: int,
    loc: Literal["outside lower center", "outside right upper"] = "outside lower center",
    title: str | None = None,
) -> None:
    """Add a legend beside the panels of a figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure or matplotlib.figure.SubFigure
        The figure.
    looks : collection of dict
        What is named, in order: `label`, `color` and so on. A look with a line style or a marker is
        a line, any other an area.
    n_columns : int
        Names in a row.
    loc : {"outside lower center", "outside right upper"}
        Where it is; default below the panels.
    title : str, optional
        A title.
    """
    handles = [_handle(look) for look in looks]
    figure.legend(
        handles=handles,
        loc=loc,
        ncols=n_columns,
        title=title,
        handlelength=None if any(_is_line(look) for look in looks) else 1,
    )


def _is_line(look: Look) -> bool:
    return bool(look.keys() & {"linestyle", "marker"})


def _handle(look: Look) -> Artist:
    if _is_line(look):
        return Line2D([], [], **{"markersize": 3, **look})
    return Patch(**look)


def letter_panels(axes: Sequence[Axes]) -> None:
    """Put the letters A, B, C, ... at the upper left of panels.

    Parameters
    ----------
    axes : sequence of matplotlib.axes.Axes
        The panels, in order.
    """
    for ax, letter in zip(axes, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", strict=False):
        ax.annotate(
            letter,
            xy=(0, 1),
            xycoords="axes fraction",
            xytext=(-4, 4),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=9,
            fontweight="bold",
        )


def keep_outer_labels(axes: Sequence[Axes]) -> None:
    """Remove the labels of axes that have a panel below, or one at their left.

    Parameters
    ----------
    axes : sequence of matplotlib.axes.Axes
        The panels of a grid, row by row.
    """
    spec = axes[0].get_subplotspec()
    n_columns = 1 if spec is None else spec.get_gridspec().ncols
    for k, ax in enumerate(axes):
        if k + n_columns < len(axes):
            ax.set_xlabel("")
        if k % n_columns:
            ax.set_ylabel("")
