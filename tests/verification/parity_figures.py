"""Results of accounts of replay under their authors' protocols and under those of experiments."""

from __future__ import annotations

from textwrap import fill
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from analyses.plots.panels import NEW, add_legend, drawing, fitting_columns, grid, new_figure
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, INCH, SMALL, Look, label
from replay.checks import check_table

__all__ = ["parity_experiments_figure", "parity_figure", "plot_contrast", "plot_parity"]

_COLOURS = {"yes": "#0072b2", "no": "#d55e00", "undecided": "#6e6e6e", "": "#ffffff"}
_MARKERS = {"yes": "o", "no": "D", "undecided": "s", "": "s"}
_LOOKS: list[Look] = [
    {"label": name, "color": _COLOURS[key], "marker": _MARKERS[key], "linestyle": "none"}
    for key, name in (("yes", "agrees"), ("no", "disagrees"))
]
_SIGNS = {"yes": "\N{CHECK MARK}", "no": "\N{BALLOT X}", "undecided": "?", "": ""}
_VERDICTS: list[Look] = [
    {"label": f"{_SIGNS[key]} {words}", "color": _COLOURS[key]}
    for key, words in (
        ("yes", "shows the effect"),
        ("no", "no effect, or the opposite"),
        ("undecided", "undecided: no replay, or an interval around 0"),
    )
]
_COLUMNS = ["account", "panel", "quantity", "value", "sem", "ours", "ci_low", "ci_high", "agrees"]
_CONTRAST = [*_COLUMNS, "task", "sign", "experiment", "experiment_low", "experiment_high"]
_CONTRAST += ["experiment_agrees"]
_INTERVAL = 1.96
_CELLS, _LETTER = 2.25, 0.05  # inches: width of the cells of an effect, and of a letter
_SHORT = {"prioritized_memory_access": "Memory access", "prioritized_sweeping": "Sweeping"}


@drawing
def plot_parity(panel: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH) -> Axes:
    """Draw the values of one panel, published on the x axis and ours on the y axis, with intervals.

    Parameters
    ----------
    panel : pandas.DataFrame
        Rows of ``parity.csv`` with a published value. Intervals are 95 %.

    Examples
    --------
    >>> panel = pd.DataFrame({"value": [1.0], "sem": 0.1, "ours": 1.1, "ci_low": 0.9,
    ...                       "ci_high": 1.3, "agrees": "yes"})
    >>> plot_parity(panel).lines[0].get_linestyle()
    ':'
    """
    check_table(panel, ["value", "sem", "ours", "ci_low", "ci_high", "agrees"], "panel")
    ax.axline((0, 0), slope=1, color="0.6", linestyle=":", linewidth=0.8)
    for verdict, rows in panel.groupby("agrees"):
        ax.errorbar(
            rows["value"],
            rows["ours"],
            xerr=_INTERVAL * rows["sem"].fillna(0.0),
            yerr=np.maximum([rows["ours"] - rows["ci_low"], rows["ci_high"] - rows["ours"]], 0.0),
            fmt=_MARKERS[str(verdict)],
            color=_COLOURS[str(verdict)],
            markersize=3,
            linewidth=0.8,
        )
    return ax


@drawing
def parity_figure(parity: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of published and simulated values, one panel per published figure.

    Parameters
    ----------
    parity : pandas.DataFrame
        The table ``parity.csv``.

    Raises
    ------
    ValueError
        If columns are missing, or nothing can be drawn.
    """
    check_table(parity, _COLUMNS, "parity")
    drawn = parity.dropna(subset=["value", "ours"])
    check_table(drawn, [], "parity, of published values that were simulated,", empty=False)
    panels = list(drawn.groupby(["account", "panel"], sort=False))
    titles = [f"{_name(rows)}: {rows['panel'].iloc[0]}" for _, rows in panels]
    figure, axes = grid(
        titles,
        fitting_columns(6, width_cm, 2.8),
        1.08,
        width_cm=width_cm,
        legend=_LOOKS,
        letters=False,
        note="Each panel is a published figure: across, its values; up, those found here.",
        ylabel="Here",
    )
    for ax, (_, rows) in zip(axes, panels, strict=True):
        plot_parity(rows, ax)
        ax.set_title(ax.get_title(loc="left"), fontsize=SMALL)
        ax.tick_params(labelsize=SMALL)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(2))
    return figure


@drawing
def plot_contrast(effects: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH) -> Axes:
    """Draw one row per effect: under the authors' protocol, and under the experiment's.

    Parameters
    ----------
    effects : pandas.DataFrame
        Rows of ``parity.csv`` with a task.
    """
    check_table(effects, _CONTRAST, "effects")
    rows = effects.reset_index(drop=True)
    for place, row in enumerate(rows.to_dict("records")):
        own = row["agrees"] if row["agrees"] in _COLOURS else ""
        for column, (value, low, high, verdict) in enumerate(
            (
                (row["ours"], row["ci_low"], row["ci_high"], own),
                (
                    row["experiment"],
                    row["experiment_low"],
                    row["experiment_high"],
                    row["experiment_agrees"] or "undecided",
                ),
            )
        ):
            colour = _COLOURS.get(str(verdict), _COLOURS["undecided"])
            ax.add_patch(Rectangle((column - 0.48, place - 0.42), 0.96, 0.84, color=colour))
            words = "no such replay" if pd.isna(value) else _words(value, low, high)
            ax.text(column, place, words, ha="center", va="center", fontsize=SMALL, color="white")
            sign = _SIGNS.get(str(verdict), _SIGNS["undecided"])
            ax.text(column - 0.45, place, sign, va="center", fontsize=SMALL, color="white")
    ax.set_xlim(-0.5, 1.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xticks([0, 1], ["its authors'\nprotocol", "the experiment's\nprotocol"])
    ax.xaxis.tick_top()
    wide = cast(Figure, ax.figure).get_size_inches()[0] - _CELLS
    names = [fill(name, max(int(wide / _LETTER), 10)) for name in _names(rows)]
    ax.set_yticks(range(len(rows)), names, fontsize=SMALL)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def _names(effects: pd.DataFrame) -> list[str]:
    return [
        f"{_SHORT.get(account, label(account))}: {quantity}"
        for account, quantity in zip(effects["account"], effects["quantity"], strict=True)
    ]


def _name(rows: pd.DataFrame) -> str:
    account = str(rows["account"].iloc[0])
    return _SHORT.get(account, label(account))


def _words(value: float, low: float, high: float) -> str:
    return f"{value:.2g} ({low:.2g} to {high:.2g})"


@drawing
def parity_experiments_figure(parity: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of effects under the authors' protocols and under those of experiments.

    Parameters
    ----------
    parity : pandas.DataFrame
        The table ``parity.csv``.

    Raises
    ------
    ValueError
        If columns are missing, or no row has a task.
    """
    check_table(parity, _CONTRAST, "parity")
    effects = parity[parity["task"].notna() & parity["sign"].notna()]
    check_table(effects, [], "parity, of effects that an experiment tests,", empty=False)
    lines = max(int((width_cm / INCH - _CELLS) / _LETTER), 10)
    n_lines = max(fill(name, lines).count("\n") + 1 for name in _names(effects))
    height = (0.1 + 0.1 * n_lines) * len(effects) + 0.4
    figure = new_figure(width_cm / INCH, height)
    plot_contrast(effects, figure.subplots())
    add_legend(figure, _VERDICTS, 3)
    return figure
