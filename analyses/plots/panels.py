"""How figures are made: what all functions that draw have in common, and the layout of panels.

A function that draws is decorated with `drawing`. It takes tables, and an `ax` if it draws one
panel; the decorator checks what a user gives, and makes the figure of a panel. A figure of several
panels is made with `grid`, which adds titles, letters, a note and one legend.
"""

from __future__ import annotations

import inspect
import linecache
import re
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from textwrap import fill
from typing import Literal, ParamSpec, TypeVar, cast

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analyses.plots.style import (
    COLUMN_WIDTH,
    FIGURE_SETTINGS,
    FULL_WIDTH,
    INCH,
    SMALL,
    Look,
    figure_style,
    plain,
    remember_style,
)
from replay.checks import (
    check_array,
    check_cells,
    check_number,
    check_table,
    check_text,
    known_arguments,
    shown,
    typed,
)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Shared = bool | Literal["row", "col"]

NEW = cast(Axes, None)
"""The default of `ax`: `drawing` puts a new Axes in its place, so that functions need not."""

_WIDEST = 200.0  # cm
_LONGEST = 300  # letters of a library's error that are quoted
_NUMBERS = frozenset(
    [
        "mean", "sem", "ci_low", "ci_high", "count", "share", "probability", "difference",
        "bits", "time_step", "per_step", "reward_rate",
        "recovered", "named", "right_if_sure", "predicted", "predicted_low", "predicted_high",
        "published", "published_low", "published_high", "experiment_low", "experiment_high",
        "ours", "corrected", "misfit", "share_of_ceiling", "evidence",
    ]
)  # fmt: skip
"""Columns that hold numbers in every table that is drawn, as do all whose names begin with n_."""

_NAMES = frozenset(["learner", "account", "kind", "truth"])
"""Columns that hold names in every table that is drawn."""

_TITLE_LINE, _LEGEND_LINE, _NOTE_LINE, _MARGIN = 0.13, 0.17, 0.12, 0.1  # inches
_TITLE_LETTER, _LEGEND_LETTER, _NOTE_LETTER = 0.058, 0.051, 0.045  # inches, on average
_AXIS, _HANDLE = 0.3, 0.45  # inches
_OWN_COLUMNS = 3

_SECTIONS = ("Parameters", "Returns", "Yields", "Raises", "Examples")  # in numpydoc's order

_drawn_now: ContextVar[tuple[Axes, ...] | None] = ContextVar("_drawn_now", default=None)
"""While something is drawn, the Axes that was made for it, if any."""


def drawing(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function that draws a figure, or a panel on its `ax`.

    What a user gives is checked here, once: functions that draw call one another freely. Without an
    `ax` a panel gets a new figure, `width_cm` wide. Figures are drawn in the style of the toolkit;
    on an `ax` of the user, the style that is in force stays. `ax`, `width_cm`, and what is returned
    and raised are documented here, unless the function says more about them.

    Examples
    --------
    >>> @drawing
    ... def plot_points(table: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = 8.5) -> Axes:
    ...     return ax.scatter(table["x"], table["y"]).axes
    >>> ax = plot_points(pd.DataFrame({"x": [1, 2], "y": [3, 4]}), width_cm=10)
    >>> round(2.54 * float(ax.figure.get_figwidth()), 2)
    10.0
    >>> plot_points(pd.DataFrame({"x": [1, 2]}))
    Traceback (most recent call last):
    ValueError: plot_points cannot draw what it was given ('y' is missing or unknown). Give tables \
as the toolkit writes them; replay columns explains each column.
    """
    names, checked = inspect.signature(function), typed(function)
    is_panel = "ax" in names.parameters
    function.__doc__ = _documented(function.__doc__, names)

    @known_arguments
    @wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if _drawn_now.get() is not None:  # called by another that has checked
            return function(*args, **kwargs)
        try:
            bound = names.bind(*args, **kwargs)
        except TypeError:  # the call below raises it again, with the function's name
            return function(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        for name, value in given.items():
            if isinstance(value, pd.DataFrame):
                given[name] = _checked_table(value, name)
            if isinstance(value, str):  # fonts refuse some letters when a figure is saved
                given[name] = plain(check_text(name, value))
        if "width_cm" in given:
            check_number("width_cm", given["width_cm"], at_least=1, at_most=_WIDEST)
        ax = given.get("ax")
        if ax is not None and not isinstance(ax, Axes):
            hint = ": figure.subplots() makes one" if isinstance(ax, Figure) else ""
            raise TypeError(f"ax must be a matplotlib Axes, got {shown(ax)}{hint}.")
        with figure_style() if ax is None else nullcontext(), _told_if_not_drawn(function.__name__):
            made: tuple[Axes, ...] = ()
            if is_panel and ax is None:
                width = given["width_cm"] / INCH
                given["ax"] = new_figure(width, 0.7 * width).subplots()
                made = (given["ax"],)
            token = _drawn_now.set(made)
            try:
                return checked(*bound.args, **bound.kwargs)
            finally:
                _drawn_now.reset(token)

    return wrapper


def _documented(text: str | None, names: inspect.Signature) -> str | None:
    """Add to a docstring with parameters what all functions that draw have in common."""
    if text is None or "Parameters\n" not in text:
        return text
    head, *found = re.split(r"\n\n(?=\w+\n---)", inspect.cleandoc(text))
    sections = {part.partition("\n")[0]: part for part in found}
    is_panel, width = "ax" in names.parameters, names.parameters.get("width_cm")
    if is_panel and "\nax :" not in sections["Parameters"]:
        sections["Parameters"] += (
            "\nax : matplotlib.axes.Axes, optional\n    Where to draw; by default a new figure."
        )
    if width is not None and "\nwidth_cm :" not in sections["Parameters"]:
        sections["Parameters"] += (
            f"\nwidth_cm : float, default {width.default}\n"
            f"    Width of {'a new' if is_panel else 'the'} figure, in cm."
        )
    if "Yields" not in sections:
        what = "axes.Axes\n    `ax`." if is_panel else "figure.Figure"
        sections.setdefault("Returns", f"Returns\n-------\nmatplotlib.{what}")
    why = "If columns are missing, or values cannot be drawn."
    sections.setdefault("Raises", f"Raises\n------\nValueError\n    {why}")
    return "\n\n".join([head, *(sections[name] for name in sorted(sections, key=_SECTIONS.index))])


@contextmanager
def _told_if_not_drawn(name: str) -> Iterator[None]:
    """Say in a sentence that values do not fit together, which libraries notice late if at all."""
    try:
        yield
    except Exception as error:
        # What a `raise` of this project made is a sentence already.
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        is_ours = frame.f_globals.get("__name__", "").partition(".")[0] in ("replay", "analyses")
        statement = linecache.getline(frame.f_code.co_filename, line).lstrip()
        is_sentence = isinstance(error, ValueError | TypeError | OSError)
        if is_ours and is_sentence and statement.startswith("raise "):
            raise
        is_name = isinstance(error, KeyError) and str(error).count(" ") == 0
        found = f"{error} is missing or unknown" if is_name else f"{type(error).__name__}: {error}"
        reason = " ".join(found.split())[:_LONGEST]
        raise ValueError(
            f"{name} cannot draw what it was given ({reason}). Give tables as the toolkit writes "
            "them; replay columns explains each column."
        ) from error


def _checked_table(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Check that cells and columns hold what they hold anywhere, and take formulae out of names."""
    check_table(table, table.columns, name)
    check_cells(table, name)
    for place, column in enumerate(table.columns):
        what, cells = f"The column {shown(column)} of {name}", table.iloc[:, place]
        if column in _NUMBERS or str(column).startswith("n_"):
            check_array(cells, what, kind="number", missing=True)
        elif column in _NAMES:
            is_odd = cells.notna() & ~cells.map(lambda cell: isinstance(cell, str)).astype(bool)
            for row in np.flatnonzero(is_odd)[:1]:
                raise ValueError(
                    f"{what} must hold names only; row {row} has {shown(cells.iloc[row])}."
                )
    # Between two dollar signs, matplotlib would read a formula.
    for text_column in table.select_dtypes(exclude=["number", "bool"]):
        cells = table[text_column]
        categorical = isinstance(cells.dtype, pd.CategoricalDtype)
        texts = cells.cat.categories if categorical else cells
        if not any("$" in text for text in texts if isinstance(text, str)):
            continue
        if categorical:
            table = table.assign(**{str(text_column): cells.cat.rename_categories(plain)})
        else:
            changed = [plain(cell) if isinstance(cell, str) else cell for cell in cells]
            table = table.assign(**{str(text_column): changed})
    return table


def new_figure(width: float, height: float) -> Figure:
    """Make a figure, sized in inches, with a layout in which nothing overlaps."""
    return remember_style(Figure(figsize=(width, height), layout="constrained"))


def own_figure(ax: Axes) -> Figure | None:
    """Return the figure of a panel, if it was made for this panel alone."""
    return cast(Figure, ax.figure) if ax in (_drawn_now.get() or ()) else None


@drawing
def grid(
    titles: Sequence[str],
    n_columns: int,
    panel_height: float | Sequence[float],
    *,
    width_cm: float = FULL_WIDTH,
    legend: Collection[Look] = (),
    legend_columns: int = 5,
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
    heights = [*panel_height] if isinstance(panel_height, Sequence) else [panel_height] * n_rows
    # A user's own font may be larger than ours.
    larger = mpl.rcParams["font.size"] / FIGURE_SETTINGS["font.size"]
    letter, title_line = larger * _TITLE_LETTER, larger * _TITLE_LINE
    line = max(int(((width - labels_cm / INCH) / n_columns - _AXIS) / letter), 8)
    titles = [
        fill(title, line, break_long_words=False) if "\n" not in title else title
        for title in titles
    ]
    for row in range(n_rows):
        own = titles[row * n_columns : (row + 1) * n_columns]
        heights[row] += title_line * max(title.count("\n") for title in own)
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
        add_legend(figure, legend, legend_columns)
    if ylabel:  # centred on the panels, since the figure is taller than they are
        middle = 1 - height / 2 / figure.get_size_inches()[1]
        figure.supylabel(fill(ylabel, int(height / letter))).set_y(middle)
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
    size = SMALL if is_narrow else mpl.rcParams["font.size"]
    larger = size / FIGURE_SETTINGS["font.size"]
    names = [len(str(look["label"])) * larger for look in looks]
    while n_columns > 1:
        columns = np.array_split(names, min(n_columns, len(names)))  # as matplotlib fills them
        if sum(_HANDLE + _LEGEND_LETTER * float(letters.max()) for letters in columns) < width:
            break
        n_columns -= 1
    title = None if title is None else fill(title, int(width / _TITLE_LETTER / larger))
    n_lines = -(-len(looks) // n_columns) + (0 if title is None else title.count("\n") + 1)
    bottom = _add_room_below(figure, max(larger, 1) * _LEGEND_LINE * n_lines + 0.05)
    handles: list[Artist] = []
    for look in looks:
        if _is_line(look):
            handles.append(Line2D([], [], **{"markersize": 3, **look}))
        else:
            area = {name: value for name, value in look.items() if name != "color"}
            handles.append(Patch(facecolor=look["color"], edgecolor="white", linewidth=0, **area))
    legend = figure.legend(
        handles=handles,
        loc="lower center",
        bbox_to_anchor=(width / 2, bottom),
        bbox_transform=figure.dpi_scale_trans,
        ncols=n_columns,
        title=title,
        borderaxespad=0,
        borderpad=0,
        columnspacing=1.2,
        handlelength=None if any(_is_line(look) for look in looks) else 1,
        fontsize=size,
    )
    legend.set_in_layout(False)


def add_own_legend(ax: Axes, looks: Collection[Look]) -> None:
    """Add a legend below a panel with its own figure; panels of a grid share the grid's legend."""
    figure = own_figure(ax)
    if figure is not None and looks:
        add_legend(figure, looks, _OWN_COLUMNS)


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
