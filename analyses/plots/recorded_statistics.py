"""The statistics of a recording beside published findings and the predictions of accounts."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analyses.plots.grids import fitting_columns, grid
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, SMALL, Look, label, new_axes, styled
from replay.checks import check_table

__all__ = ["plot_beside_accounts", "recorded_statistics_figures"]

_COLUMNS = ["statistic", "label", "value", "ci_low", "ci_high", "finding", "source", "task"]
_COLUMNS += ["published", "published_low", "published_high", "account", "is_control"]
_COLUMNS += ["predicted_low", "predicted", "predicted_high"]
_HERE, _PUBLISHED, _ACCOUNT, _CONTROL = "#d55e00", "#56b4e9", "black", "0.6"
_ROW, _N_COLUMNS, _LINE = 0.09, 5, 20
_MOST_ROWS = 2  # of panels, so that a figure fits on a page
_NAMES, _PANEL, _WIDEST = 3.3, 2.5, 3.5  # cm


@styled
def plot_beside_accounts(
    table: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw one statistic of a recording beside one published finding and its predictions.

    Parameters
    ----------
    table : pandas.DataFrame
        The rows of one finding in the table of
        :func:`analyses.studies.recorded_replay.predictions.beside_predictions`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, with one row per account: its median and 90 % of its simulated studies.

    Raises
    ------
    ValueError
        If columns are missing, or there are several findings.
    """
    rows = check_table(table, _COLUMNS, "table")
    if len(rows["finding"].unique()) != 1:
        raise ValueError("The table has rows of several findings: choose one finding.")
    ax = new_axes(width_cm) if ax is None else ax
    first = rows.iloc[0]
    if not np.isnan(first["published"]):
        low, high = first["published_low"], first["published_high"]
        ax.axvspan(low, high, color=_PUBLISHED, alpha=0.25, linewidth=0)
        ax.axvline(first["published"], color=_PUBLISHED, linewidth=1, linestyle="--")
    if not np.isnan(first["ci_low"]):
        ax.axvspan(first["ci_low"], first["ci_high"], color=_HERE, alpha=0.2, linewidth=0)
    ax.axvline(first["value"], color=_HERE, linewidth=1.2)
    place = np.arange(len(rows))
    colours = [_CONTROL if control else _ACCOUNT for control in rows["is_control"]]
    faces = ["white" if control else _ACCOUNT for control in rows["is_control"]]
    ax.hlines(place, rows["predicted_low"], rows["predicted_high"], colors=colours, linewidth=1)
    ax.scatter(rows["predicted"], place, c=faces, edgecolors=colours, linewidths=0.7, s=7, zorder=3)
    ax.set_yticks(place, [label(str(name)) for name in rows["account"]])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    task = fill(label(str(first["task"])), _LINE, break_long_words=False)
    ax.set_title(f"{first['source']}\n{task}")
    text = " ".join(str(first["label"]).split())
    ax.set_xlabel(fill(text, _LINE, break_long_words=False), fontsize=SMALL)
    ax.tick_params(labelsize=SMALL)
    ax.xaxis.set_major_locator(MaxNLocator(3))
    return ax


def recorded_statistics_figures(
    table: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Iterator[Figure]:
    """Make figures of statistics of a recording, with a panel for each published finding.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of :func:`analyses.studies.recorded_replay.predictions.beside_predictions`.
    width_cm : float, default 17.5
        Width of the figures; with few panels they are narrower.

    Yields
    ------
    matplotlib.figure.Figure
        A figure that fits on a page; what does not goes on in the next one.

    Raises
    ------
    ValueError
        If columns are missing, or there is no row.
    """
    rows = check_table(table, _COLUMNS, "table")
    if not len(rows):
        raise ValueError("table has no rows: no statistic of the recording has predictions.")
    findings = rows["finding"].unique()
    n_columns = fitting_columns(min(_N_COLUMNS, len(findings)), width_cm - _NAMES, _PANEL)
    for first in range(0, len(findings), _MOST_ROWS * n_columns):
        shown = rows[rows["finding"].isin(findings[first : first + _MOST_ROWS * n_columns])]
        yield _figure(shown, n_columns, width_cm)


@styled
def _figure(rows: pd.DataFrame, n_columns: int, width_cm: float) -> Figure:
    findings = list(dict.fromkeys(rows["finding"]))
    published: list[Look] = [{"label": "Published", "color": _PUBLISHED, "linestyle": "--"}]
    looks: list[Look] = [
        {"label": "Recorded", "color": _HERE, "linestyle": "-"},
        *(published if rows["published"].notna().any() else []),
        {"label": "Account, 90 % of studies", "color": _ACCOUNT, "marker": "o"},
        {"label": "Control", "color": _CONTROL, "marker": "o", "markerfacecolor": "white"},
    ]
    n_columns = min(n_columns, len(findings))
    width_cm = min(width_cm, max(_NAMES + _WIDEST * n_columns, COLUMN_WIDTH))
    figure, axes = grid(
        ["\n"] * len(findings),
        n_columns,
        0.75 + _ROW * int(rows["finding"].value_counts().max()),
        width_cm=width_cm,
        legend=looks,
        labels_cm=_NAMES,
        letters=False,
        note="Bands: 95 % intervals of the value, here and as published.",
        sharey=True,
    )
    for ax, finding in zip(axes, findings, strict=True):
        plot_beside_accounts(rows[rows["finding"] == finding], ax)
    return figure
