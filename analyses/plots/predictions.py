"""Statistics of replay, recorded or of one animal, beside what accounts predict."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analyses.plots.panels import NEW, drawing, fitting_columns, grid
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, SMALL, Look, label
from replay.checks import check_table
from replay.checks.arrays import Ints

_RECORDED, _PUBLISHED, _ACCOUNT = "#aa3377", "#e69f00", "black"
_CONTROL, _CONTROL_OF_ANIMAL = "0.6", "#888888"
_COMPARED = ["statistic", "label", "value", "account", "is_control"]
_COMPARED += ["predicted_low", "predicted", "predicted_high"]
_COLUMNS = [*_COMPARED, "ci_low", "ci_high", "finding", "source", "task"]
_COLUMNS += ["published", "published_low", "published_high"]
_ROW, _ROW_OF_ANIMAL = 0.09, 0.1  # inches, of an account
_TALLEST = 8.6  # inches, of a figure
_MOST_ROWS = 2  # of panels, so that a figure fits on a page
_N_COLUMNS, _LINE, _LONG_NAME = 5, 20, 22  # panels side by side, and letters
_NAMES, _PANEL, _WIDEST = 3.3, 2.5, 3.5  # cm


@drawing
def plot_beside_accounts(
    table: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw one statistic of a recording beside one published finding and its predictions.

    Parameters
    ----------
    table : pandas.DataFrame
        The rows of one finding in the table of
        :func:`analyses.studies.recorded_replay.statistics.beside_predictions`.

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
    first = rows.iloc[0]
    if not np.isnan(first["published"]):
        low, high = first["published_low"], first["published_high"]
        ax.axvspan(low, high, color=_PUBLISHED, alpha=0.25, linewidth=0)
        ax.axvline(first["published"], color=_PUBLISHED, linewidth=1, linestyle="--")
    if not np.isnan(first["ci_low"]):
        ax.axvspan(first["ci_low"], first["ci_high"], color=_RECORDED, alpha=0.2, linewidth=0)
    place = np.arange(len(rows))
    _draw_ranges(rows, place, ax, _CONTROL, _LINE)
    ax.set_yticks(place, [label(str(name)) for name in rows["account"]])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    task = fill(label(str(first["task"])), _LINE, break_long_words=False)
    ax.set_title(f"{first['source']}\n{task}")
    return ax


def recorded_statistics_figures(
    table: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Iterator[Figure]:
    """Make figures of statistics of a recording, with a panel for each published finding.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of :func:`analyses.studies.recorded_replay.statistics.beside_predictions`.
    width_cm : float, default 17.5
        Width of the figures; with few panels they are narrower.

    Yields
    ------
    matplotlib.figure.Figure
        A figure that fits on a page; what does not goes on in the next one.
    """
    rows = check_table(table, _COLUMNS, "table")
    if not len(rows):
        raise ValueError("table has no rows: no statistic of the recording has predictions.")
    findings = rows["finding"].unique()
    n_columns = fitting_columns(min(_N_COLUMNS, len(findings)), width_cm - _NAMES, _PANEL)
    for first in range(0, len(findings), _MOST_ROWS * n_columns):
        shown = rows[rows["finding"].isin(findings[first : first + _MOST_ROWS * n_columns])]
        yield _figure(shown, n_columns, width_cm)


@drawing
def _figure(rows: pd.DataFrame, n_columns: int, width_cm: float) -> Figure:
    findings = list(dict.fromkeys(rows["finding"]))
    published: list[Look] = [{"label": "Published", "color": _PUBLISHED, "linestyle": "--"}]
    looks: list[Look] = [
        {"label": "Recorded", "color": _RECORDED, "linestyle": "-"},
        *(published if rows["published"].notna().any() else []),
        {"label": "Account, 90 % of studies", "color": _ACCOUNT, "marker": "o"},
        {"label": "Control", "color": _CONTROL, "marker": "o", "markerfacecolor": "white"},
    ]
    # Some statistics have no interval, here or as published.
    known = {
        "here": rows["ci_low"].notna().any(),
        "as published": (rows["published_low"] < rows["published_high"]).any(),
    }
    where = " and ".join(name for name, is_known in known.items() if is_known)
    note = f"Bands: 95 % intervals of the value, {where}." if where else "No value has an interval."
    if rows["predicted"].isna().any():
        note += " Accounts without a dot have no such replay in the task above the panel."
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
        note=note,
        sharey=True,
    )
    for ax, finding in zip(axes, findings, strict=True):
        plot_beside_accounts(rows[rows["finding"] == finding], ax)
    return figure


@drawing
def predictions_figure(predictions: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Draw the statistics of an animal's replay beside what accounts predict for this animal.

    Parameters
    ----------
    predictions : DataFrame
        The rows of one animal in the table of this name that ``replay explain`` writes.

    Examples
    --------
    >>> row = {"statistic": "begins_at_animal", "label": "Local replay", "value": 0.5,
    ...        "account": "sfma", "is_control": False, "predicted_low": 0.4, "predicted": 0.6,
    ...        "predicted_high": 0.9}
    >>> predictions_figure(pd.DataFrame([row])).axes[0].get_xlabel()
    'Local replay'
    """
    rows = check_table(predictions, _COMPARED, "predictions", empty=False)
    accounts = rows.drop_duplicates("account").sort_values("is_control", kind="stable")
    place = {name: k for k, name in enumerate(accounts["account"])}
    columns = ["value", "predicted_low", "predicted_high"]
    ranges = rows.groupby("statistic")[columns].agg(["min", "max"])
    varies = ranges.max(axis=1) > ranges.min(axis=1)
    statistics = [name for name in dict.fromkeys(rows["statistic"]) if varies[name]]
    # What is the same for all says nothing, but a figure needs a panel.
    statistics = statistics or list(varies.index)
    height = 0.95 + _ROW_OF_ANIMAL * len(place)
    n_columns = fitting_columns(_N_COLUMNS, width_cm - _NAMES, _PANEL)
    n_rows = max(int((_TALLEST - 0.6) / height), 1)
    drawn = statistics[: n_columns * n_rows]
    legend: list[Look] = [
        {"label": "This animal", "color": _RECORDED, "linestyle": "-"},
        {"label": "Account, 90 % of its animals", "color": _ACCOUNT, "marker": "o"},
        {
            "label": "Control",
            "color": _CONTROL_OF_ANIMAL,
            "marker": "o",
            "markerfacecolor": "white",
        },
    ]
    left_out = len(statistics) - len(drawn)
    figure, axes = grid(
        [""] * len(drawn), n_columns, height, width_cm=width_cm, legend=legend,
        labels_cm=_NAMES, letters=False, sharey=True,
        note="Simulated after the moves of this animal: as many sequences in each lap and phase, "
        "seen as imperfectly. Accounts that replay less than half as much in these pauses "
        "are left out."
        + (f" {left_out} more statistics are in predictions.csv." if left_out else ""),
    )  # fmt: skip
    for ax, name in zip(axes, drawn, strict=True):
        own = rows[rows["statistic"] == name]
        y = own["account"].map(place).to_numpy()
        _draw_ranges(own, y, ax, _CONTROL_OF_ANIMAL, _LONG_NAME)
    # Rows are as tall as one line.
    names = [label(str(name)) for name in place]
    n_letters = _LONG_NAME - 1
    names = [n if len(n) <= _LONG_NAME else f"{n[:n_letters].rstrip()}…" for n in names]
    axes[0].set_yticks(range(len(place)), names)
    axes[0].set_ylim(len(place) - 0.5, -0.5)
    return figure


def _draw_ranges(rows: pd.DataFrame, y: Ints, ax: Axes, control: str, letters: int) -> None:
    """Draw a value as a line, and the ranges that accounts and controls predict, one a row."""
    is_control = rows["is_control"].astype(bool)
    colours = np.where(is_control, control, _ACCOUNT).tolist()
    faces = np.where(is_control, "white", _ACCOUNT).tolist()
    ax.axvline(rows["value"].iloc[0], color=_RECORDED, linewidth=1.2)
    ax.hlines(y, rows["predicted_low"], rows["predicted_high"], colors=colours, linewidth=1)
    ax.scatter(rows["predicted"], y, c=faces, edgecolors=colours, linewidths=0.7, s=7, zorder=3)
    text = " ".join(str(rows["label"].iloc[0]).split())
    ax.set_xlabel(fill(text, letters, break_long_words=False), fontsize=SMALL)
    ax.tick_params(labelsize=SMALL)
    ax.xaxis.set_major_locator(MaxNLocator(3))
