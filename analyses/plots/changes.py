"""Reward rate around changes of a world, and what is replayed before and after them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analyses.plots.style import (
    FULL_WIDTH,
    KIND_COLOURS,
    label,
    learner_styles,
    letter_panels,
    new_figure,
    styled,
    time_axis,
    write_empty,
)
from analyses.tables import KINDS, require_columns

__all__ = ["changes_figure", "draw_change_rates", "draw_change_replay"]

_RATES = ["learner", "phase", "time_step", "mean", "ci_low", "ci_high"]
_REPLAY = ["learner", "phase", "period", "kind", "per_step"]
_PERIODS = ("before", "after")
_FEW = 3  # learners whose intervals can be told apart


def draw_change_rates(rates: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the reward rate of learners through all phases; changes are vertical lines.

    Parameters
    ----------
    rates : pandas.DataFrame
        Rows of one world: `learner, phase, time_step, mean, ci_low, ci_high`.
    ax : matplotlib.axes.Axes
        Where to draw.

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
    >>> rates = pd.DataFrame({"learner": "dyna_q", "phase": [0, 0, 1, 1], "mean": 0.5,
    ...                       "time_step": [10, 20, 10, 20], "ci_low": 0.4, "ci_high": 0.6})
    >>> ax = draw_change_rates(rates, new_figure(3, 2).subplots())
    >>> ax.lines[-1].get_xdata().tolist()
    [10, 20, 30, 40]
    """
    require_columns(rates, _RATES, "change_rates")
    lengths = rates.groupby("phase")["time_step"].max()
    begins = lengths.cumsum() - lengths
    for change in begins.iloc[1:]:
        ax.axvline(change, color="0.75", linewidth=0.6, zorder=0)
    looks = learner_styles(rates["learner"])
    shade = 0.12 if len(looks) <= _FEW else 0.05
    for learner, look in looks.items():
        curve = rates[rates["learner"] == learner].sort_values(["phase", "time_step"])
        time = curve["time_step"].to_numpy() + begins[curve["phase"]].to_numpy()
        ax.fill_between(
            time, curve["ci_low"], curve["ci_high"], color=look["color"], alpha=shade, linewidth=0
        )
        ax.plot(time, curve["mean"], linewidth=0.9, label=label(learner), **look)  # type: ignore[arg-type]
    time_axis(ax, lengths.sum())
    ax.set_ylim(*np.clip([rates["mean"].min() - 0.1, rates["mean"].max() + 0.1], -1.0, 1.5))
    ax.set_ylabel("Normalised reward rate")
    return ax


def draw_change_replay(replay: pd.DataFrame, ax: Axes) -> Axes:
    """Draw how much of which kind learners replay before and after changes, as stacked bars.

    Parameters
    ----------
    replay : pandas.DataFrame
        Rows of one world: `learner, phase, period, kind, per_step`. Changes are averaged.
    ax : matplotlib.axes.Axes
        Where to draw.

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
    >>> replay = pd.DataFrame({"learner": "dyna_q", "phase": 1, "period": ["before", "after"],
    ...                        "kind": "novel_path", "per_step": [0.01, 0.03]})
    >>> ax = draw_change_replay(replay, new_figure(3, 2).subplots())
    >>> [float(bar.get_width()) for bar in ax.patches if bar.get_width() > 0]
    [1.0, 3.0]
    """
    require_columns(replay, _REPLAY, "change_replay")
    mean = 100 * replay.groupby(["learner", "period", "kind"])["per_step"].mean()
    names = list(learner_styles(replay["learner"]))
    bars = pd.MultiIndex.from_product([names, _PERIODS])
    place = np.arange(len(bars)) + np.arange(len(bars)) // 2 * 0.6
    left = np.zeros(len(bars))
    for kind in KINDS:
        of_kind = mean[mean.index.get_level_values("kind") == kind].droplevel("kind")
        length = of_kind.reindex(bars, fill_value=0.0).to_numpy()
        ax.barh(place, length, 0.85, left=left, color=KIND_COLOURS[kind])
        left += length
    for y, total, (_, period) in zip(place, left, bars, strict=True):
        ax.annotate(
            period,
            (total, y),
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            fontsize=5.5,
            color="0.35",
        )
    if not left.any():
        write_empty(ax, "no replay")
    lines = [label(name).replace(", ", ",\n") for name in names]
    ax.set_yticks(place.reshape(-1, 2).mean(axis=1), lines, fontsize=6)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.margins(x=0.1, y=0.02)
    ax.set_xlim(left=0)
    ax.set_xlabel("Chains in 100 steps, before and after a change")
    return ax


@styled
def changes_figure(rates: pd.DataFrame, replay: pd.DataFrame) -> Figure:
    """Make the figure of one world that changes: reward rate above replay.

    Parameters
    ----------
    rates, replay : pandas.DataFrame
        ``change_rates`` and ``change_replay`` as :mod:`analyses.studies.changes` makes them.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or there is nothing to draw, or several worlds.
    """
    require_columns(rates, ["world", *_RATES], "change_rates")
    worlds = rates["world"].unique()
    if len(worlds) != 1:
        raise ValueError(f"The figure is of one world, got {len(worlds)}.")
    heights = [2.7, 0.6 + 0.3 * rates["learner"].nunique()]
    figure = new_figure(FULL_WIDTH, sum(heights))
    parts: Any = figure.subfigures(2, 1, height_ratios=heights)
    above, below = parts
    axes = [part.subplots() for part in (above, below)]
    draw_change_rates(rates, axes[0]).set_title(label(worlds[0]))
    draw_change_replay(replay, axes[1])
    letter_panels(axes)
    above.legend(
        handles=axes[0].get_legend_handles_labels()[0], loc="outside lower center", ncols=3
    )
    shown = set(replay.loc[replay["per_step"] > 0, "kind"])
    kinds = [Patch(color=KIND_COLOURS[kind], label=label(kind)) for kind in KINDS if kind in shown]
    if kinds:
        below.legend(handles=kinds, loc="outside right upper")
    return figure
