"""The layout of a figure: panels in rows and columns, with titles and letters, and one legend."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from textwrap import fill
from typing import Literal, cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, INCH, SMALL, Look, new_figure, styled
from replay.checks import check_number

__all__ = [
    "add_legend",
    "add_note",
    "add_own_legend",
    "fitting_columns",
    "grid",
    "keep_outer_labels",
    "letter_panels",
]

Shared = bool | Literal["row", "col"]

_TITLE_LINE, _LEGEND_LINE, _NOTE_LINE, _MARGIN = 0.13, 0.17, 0.12, 0.1  # inches
_TITLE_LETTER, _LEGEND_LETTER, _NOTE_LETTER = 0.058, 0.051, 0.045  # inches, on average
_AXIS, _HANDLE = 0.3, 0.45  # inches
_SMALLER = SMALL / 7
_OWN_COLUMNS = 3


@styled
def grid(
    titles: Sequence[str],
    n_columns: int,
    panel_height: float | Sequence[float],
    *,
    width_cm: float = FULL_WIDTH,
    legend: Collection[Look] = (),
    legend_columns: int = 5,
    legend_title: str | None = None,
    labels_cm: float = 0.0,
    letters: bool = True,
    note: str = "",
    ylabel: str = "",
    sharex: Shared = False,
    sharey: Shared = False,
) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels in rows, with a legend and a note below them.

    There is a panel for each title, row by row; `panel_height` is in inches, of all rows or of
    each; `labels_cm` is the width of row labels, which titles cannot use. Legends and notes are as
    in `add_legend` and `add_note`; `ylabel` is common to all panels.

    Examples
    --------
    >>> figure, axes = grid(["One", "Two"], 2, 1.5, legend=[{"label": "Area", "color": "k"}])
    >>> [ax.get_title(loc="left") for ax in axes], figure.legends[0].texts[0].get_text()
    (['One', 'Two'], 'Area')
    """
    width = check_number("width_cm", width_cm, at_least=4) / INCH
    n_columns = min(n_columns, len(titles))
    n_rows = -(-len(titles) // n_columns)
    heights = (
        [float(panel_height)] * n_rows
        if isinstance(panel_height, float | int)
        else list(panel_height)
    )
    line = max(int(((width - labels_cm / INCH) / n_columns - _AXIS) / _TITLE_LETTER), 8)
    titles = [
        fill(title, line, break_long_words=False) if "\n" not in title else title
        for title in titles
    ]
    for row in range(n_rows):
        own = titles[row * n_columns : (row + 1) * n_columns]
        heights[row] += _TITLE_LINE * max(title.count("\n") for title in own)
    height = sum(heights) + _MARGIN
    figure = new_figure(width, height)
    panels = figure.subplots(
        n_rows, n_columns, squeeze=False, sharex=sharex, sharey=sharey, height_ratios=heights
    ).ravel()
    for ax in panels[len(titles) :]:
        ax.remove()
    axes: list[Axes] = panels[: len(titles)].tolist()
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title)
    if letters and len(axes) > 1:
        letter_panels(axes)
    if note:
        add_note(figure, note)
    if legend:
        add_legend(figure, legend, legend_columns, title=legend_title)
    if ylabel:  # centred on the panels, since the figure is taller than they are
        middle = 1 - height / 2 / figure.get_size_inches()[1]
        figure.supylabel(fill(ylabel, int(height / _TITLE_LETTER))).set_y(middle)
    return figure, axes


def fitting_columns(n_columns: int, width_cm: float, panel_cm: float) -> int:
    """Return how many panels of at least `panel_cm` fit side by side, from 1 to `n_columns`.

    Examples
    --------
    >>> fitting_columns(3, 17.5, 4), fitting_columns(3, 8.5, 4)
    (3, 2)
    """
    return max(1, min(n_columns, int(width_cm / panel_cm)))


def add_legend(
    figure: Figure, looks: Collection[Look], n_columns: int, title: str | None = None
) -> None:
    """Add a legend below the panels of a figure, which becomes taller.

    A look with a line style or a marker is shown as a line, any other as an area. `n_columns` is
    the largest number of names in a row; there are fewer in a narrow figure.
    """
    width = figure.get_size_inches()[0]
    is_narrow = width < COLUMN_WIDTH / INCH + _MARGIN
    names = [len(str(look["label"])) * (_SMALLER if is_narrow else 1.0) for look in looks]
    n_columns = next(n for n in range(n_columns, 0, -1) if n == 1 or _row_width(names, n) < width)
    title = None if title is None else fill(title, int(width / _TITLE_LETTER))
    n_lines = -(-len(looks) // n_columns) + (0 if title is None else title.count("\n") + 1)
    bottom = _add_room_below(figure, _LEGEND_LINE * n_lines + 0.05)
    legend = figure.legend(
        handles=[_handle(look) for look in looks],
        loc="lower center",
        bbox_to_anchor=(width / 2, bottom),
        bbox_transform=figure.dpi_scale_trans,
        ncols=n_columns,
        title=title,
        borderaxespad=0,
        borderpad=0,
        columnspacing=1.2,
        handlelength=None if any(_is_line(look) for look in looks) else 1,
        fontsize=SMALL if is_narrow else None,
    )
    legend.set_in_layout(False)


def add_own_legend(ax: Axes, is_new: bool, looks: Collection[Look]) -> None:
    """Add a legend below a panel with its own figure; panels of a grid share the grid's legend."""
    if is_new and looks:
        add_legend(cast(Figure, ax.figure), looks, _OWN_COLUMNS)


def _row_width(names: list[float], n_columns: int) -> float:
    """Estimate the width of a legend, in inches."""
    columns = np.array_split(names, min(n_columns, len(names)))  # as matplotlib fills them
    return sum(_HANDLE + _LEGEND_LETTER * float(letters.max()) for letters in columns)


def add_note(figure: Figure, text: str) -> None:
    """Write a note about all panels at the foot of a figure, which becomes taller.

    A legend, which comes above it, must be added later.
    """
    lines = fill(text, int((figure.get_size_inches()[0] - 0.2) / _NOTE_LETTER))
    bottom = _add_room_below(figure, _NOTE_LINE * (lines.count("\n") + 1) + 0.05)
    look: Look = {"fontsize": SMALL, "color": "0.35", "va": "bottom"}
    written = figure.text(0.1, bottom, lines, transform=figure.dpi_scale_trans, **look)
    written.set_in_layout(False)


def _add_room_below(figure: Figure, room: float) -> float:
    """Make a figure taller by some room directly below its panels; return where the room begins.

    Lengths are in inches.
    """
    width, height = figure.get_size_inches()
    layout = figure.get_layout_engine()
    used = height * layout.get()["rect"][1] if isinstance(layout, ConstrainedLayoutEngine) else 0.0
    figure.set_size_inches(width, height + room)
    if isinstance(layout, ConstrainedLayoutEngine):
        share = (used + room) / (height + room)
        layout.set(rect=(0, share, 1, 1 - share))
    return float(used + 0.05)


def _is_line(look: Look) -> bool:
    return bool(look.keys() & {"linestyle", "marker"})


def _handle(look: Look) -> Artist:
    if _is_line(look):
        return Line2D([], [], **{"markersize": 3, **look})
    area = {name: value for name, value in look.items() if name != "color"}
    return Patch(facecolor=look["color"], edgecolor="white", linewidth=0, **area)


def letter_panels(axes: Sequence[Axes]) -> None:
    """Write the letters A, B, C, ... at the upper left of panels."""
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
    """Remove the x labels of panels above another panel, and the y labels of those right of one."""
    spec = axes[0].get_subplotspec()
    n_columns = 1 if spec is None else spec.get_gridspec().ncols
    for k, ax in enumerate(axes):
        if k + n_columns < len(axes):
            ax.set_xlabel("")
        if k % n_columns:
            ax.set_ylabel("")
