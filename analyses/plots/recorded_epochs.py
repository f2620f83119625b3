"""Replay in epochs of a recording: along time, and epoch by epoch."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.grids import add_legend
from analyses.plots.style import COLUMN_WIDTH, INCH, Look, new_axes, new_figure, styled
from replay.checks import check_choice, check_table

__all__ = ["plot_epoch_blocks", "plot_epochs", "recorded_epochs_figure"]

_LOOKS: dict[str, Look] = {
    "candidates": {"label": "Candidate events", "color": "0.75"},
    "replay": {"label": "Replay", "color": "#0072b2"},
}
_CHANCE: Look = {"label": "By chance", "color": "#d55e00", "linestyle": "none", "marker": "|"}
_MEASURES = {
    "candidates_per_minute": "Candidate events\nper minute",
    "replay_per_minute": "Replay events\nper minute",
    "replay_share": "Replay, share\nof candidates",
}


@styled
def plot_epoch_blocks(
    blocks: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the rates of candidate and replay events in blocks of time.

    Parameters
    ----------
    blocks : pandas.DataFrame
        The table ``epoch_blocks.csv`` of ``replay recording --epochs``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; x is in min, y in events per observed minute. Epochs are named above.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> blocks = pd.DataFrame({"epoch": ["before", "after"], "start_time": [0.0, 60.0],
    ...                        "end_time": [60.0, 120.0], "observed": 60.0,
    ...                        "candidates": [4, 9], "replay": [0, 5]})
    >>> ax = plot_epoch_blocks(blocks)
    >>> [text.get_text() for text in ax.texts]
    ['before', 'after']
    """
    columns = ["epoch", "start_time", "end_time", "observed", *_LOOKS]
    table = check_table(blocks, columns, "blocks", empty=False)
    table = table.sort_values("start_time", kind="stable")
    ax = new_axes(width_cm) if ax is None else ax
    begin, end = (table[name].to_numpy(dtype=float) / 60 for name in ("start_time", "end_time"))
    minutes = table["observed"].to_numpy(dtype=float) / 60
    for name, look in _LOOKS.items():
        rate = table[name].to_numpy(dtype=float) / minutes
        ax.bar(
            begin, rate, end - begin, align="edge", color=look["color"], label=look["label"],
            linewidth=0,
        )  # fmt: skip
    # An epoch in parts is named over each stretch of neighbouring blocks.
    is_new = table["epoch"].ne(table["epoch"].shift()).to_numpy()
    first = np.flatnonzero(is_new | (begin > np.append(begin[0], end[:-1]) + 1e-9))
    last = np.append(first[1:], len(table)) - 1
    apart = 0.003 * (end.max() - begin.min())
    for one, other in zip(first, last, strict=True):
        name = str(table["epoch"].iloc[one])
        ax.plot(
            [begin[one] + apart, end[other] - apart], [1.04, 1.04], color="0.3", linewidth=1.5,
            transform=ax.get_xaxis_transform(), clip_on=False, solid_capstyle="butt",
        )  # fmt: skip
        ax.text(
            (begin[one] + end[other]) / 2, 1.08, name, transform=ax.get_xaxis_transform(),
            ha="center", va="bottom",
        )  # fmt: skip
    ax.set(xlim=(begin.min(), end.max()), xlabel="Time (min)", ylabel="Events per minute")
    return ax


@styled
def plot_epochs(
    epochs: pd.DataFrame,
    ax: Axes | None = None,
    *,
    measure: str = "replay_per_minute",
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw a rate or share in each epoch, with its interval.

    Parameters
    ----------
    epochs : pandas.DataFrame
        The table ``epochs.csv`` of ``replay recording --epochs``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    measure : str, default "replay_per_minute"
        The measure, one of those in the table.
    width_cm : float, default 8.5
        Width of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; ticks show the value expected by chance.

    Raises
    ------
    ValueError
        If columns or the measure are missing.

    Examples
    --------
    >>> row = {"measure": "replay_share", "label": "share", "value": 0.2, "ci_low": 0.1,
    ...        "ci_high": 0.4, "null": 0.02}
    >>> table = pd.DataFrame([row | {"epoch": epoch} for epoch in ("before", "after")])
    >>> [each.get_text() for each in plot_epochs(table, measure="replay_share").get_yticklabels()]
    ['before', 'after']
    """
    columns = ["epoch", "measure", "label", "value", "ci_low", "ci_high", "null"]
    table = check_table(epochs, columns, "epochs", empty=False)
    known = [str(each) for each in dict.fromkeys(table["measure"])]
    own = table[table["measure"] == check_choice("measure", measure, known)]
    ax = new_axes(width_cm) if ax is None else ax
    place = np.arange(len(own))
    ax.hlines(place, own["ci_low"], own["ci_high"], color="black", linewidth=1)
    ax.plot(own["value"], place, "o", color="black", markersize=3, clip_on=False)
    if own["null"].notna().any():
        ax.plot(own["null"], place, markersize=6, clip_on=False, **_CHANCE)
    ax.set_yticks(place, own["epoch"].astype(str).tolist())
    ax.set_ylim(len(own) - 0.5, -0.5)
    ax.set_xlim(left=0)
    label = str(own["label"].iloc[0])
    ax.set_xlabel(_MEASURES.get(measure, label[:1].upper() + label[1:]))
    return ax


@styled
def recorded_epochs_figure(
    epochs: pd.DataFrame, blocks: pd.DataFrame, *, width_cm: float = COLUMN_WIDTH
) -> Figure:
    """Make the figure of epochs: rates along time; and rates and shares with intervals.

    Parameters
    ----------
    epochs, blocks : pandas.DataFrame
        As for `plot_epochs` and `plot_epoch_blocks`.
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
    >>> row = {"epoch": "after", "label": "", "value": 0.2, "ci_low": 0.1, "ci_high": 0.4,
    ...        "null": float("nan")}
    >>> blocks = pd.DataFrame([{"epoch": "after", "start_time": 0.0, "end_time": 60.0,
    ...                         "observed": 60.0, "candidates": 5, "replay": 1}])
    >>> names = ("candidates_per_minute", "replay_per_minute", "replay_share")
    >>> table = pd.DataFrame([row | {"measure": name} for name in names])
    >>> len(recorded_epochs_figure(table, blocks).axes)
    4
    """
    figure = new_figure(width_cm / INCH, 0.8 * width_cm / INCH)
    panels = figure.subplot_mosaic([["blocks"] * len(_MEASURES), [*_MEASURES]])
    plot_epoch_blocks(blocks, panels["blocks"])
    for measure in _MEASURES:
        plot_epochs(epochs, panels[measure], measure=measure)
    for measure in [*_MEASURES][1:]:
        panels[measure].tick_params(labelleft=False)
    looks = [*_LOOKS.values()]
    if epochs.loc[epochs["measure"] == "replay_share", "null"].notna().any():
        looks.append(_CHANCE)
    add_legend(figure, looks, len(looks))
    return figure
