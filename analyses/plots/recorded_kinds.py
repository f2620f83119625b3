"""Kinds of replay in a recording, and how they depend on the size of states."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.grids import add_note
from analyses.plots.style import COLUMN_WIDTH, INCH, label, new_axes, new_figure, styled
from analyses.tables import KINDS
from replay.checks import check_column, check_table, shown

__all__ = ["plot_recorded_kinds", "recorded_kinds_figure"]

_COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_MARKERS = "osD^v*"
_APART = 0.15
_KINDS = (*KINDS, "no_sequence")


@styled
def plot_recorded_kinds(
    kinds: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the share of each kind with its interval, side by side for each size of states.

    Parameters
    ----------
    kinds : pandas.DataFrame
        The table ``kinds.csv`` of :func:`analyses.recordings.decide.find_replay.find_replay`.
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
        If columns are missing.

    Examples
    --------
    >>> row = {"state_size": 15.0, "share": 0.2, "ci_low": 0.1, "ci_high": 0.4}
    >>> ax = plot_recorded_kinds(pd.DataFrame([row | {"kind": kind} for kind in KINDS]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['15 cm']
    """
    table = check_table(kinds, ["state_size", "kind", "share", "ci_low", "ci_high"], "kinds")
    check_column(table, "state_size", "kinds", kind="number")
    twice = table[table.duplicated(["state_size", "kind"])]
    if len(twice):
        raise ValueError(
            f"kinds has the kind {shown(twice['kind'].iloc[0])} twice for one state_size."
        )
    ax = new_axes(width_cm) if ax is None else ax
    sizes = sorted(table["state_size"].unique())
    for number, size in enumerate(sizes):
        own = table[table["state_size"] == size].set_index("kind").reindex(_KINDS)
        place = np.arange(len(_KINDS)) + _APART * (number - (len(sizes) - 1) / 2)
        colour = _COLOURS[number % len(_COLOURS)]
        ax.hlines(place, own["ci_low"], own["ci_high"], color=colour, linewidth=1)
        marker = _MARKERS[number % len(_MARKERS)]
        ax.plot(
            own["share"], place, marker, color=colour, markersize=3, label=f"{size:g} cm",
            clip_on=False,
        )  # fmt: skip
    ax.set_yticks(range(len(_KINDS)), [label(kind) for kind in _KINDS])
    ax.invert_yaxis()
    ax.set_xlabel("Share of replay events")
    ax.set_xlim(left=0)
    ax.legend(
        title="Size of states", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(sizes),
        columnspacing=1.2, handlelength=0.8,
    )  # fmt: skip
    return ax


@styled
def recorded_kinds_figure(
    kinds: pd.DataFrame, *, note: str = "", width_cm: float = COLUMN_WIDTH
) -> Figure:
    """Make the figure of the kinds of replay in a recording.

    Parameters
    ----------
    kinds : pandas.DataFrame
        As for `plot_recorded_kinds`.
    note : str, optional
        A note below the panel, such as limits of these shares.
    width_cm : float, default 8.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> row = {"state_size": 15.0, "share": 0.2, "ci_low": 0.1, "ci_high": 0.4}
    >>> figure = recorded_kinds_figure(pd.DataFrame([row | {"kind": kind} for kind in KINDS]))
    >>> len(figure.axes)
    1
    """
    figure = new_figure(width_cm / INCH, 0.7 * width_cm / INCH)
    plot_recorded_kinds(kinds, figure.subplots())
    if note:
        add_note(figure, note)
    return figure
