"""Reward rate around changes of a world, and what is replayed before and after them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.grids import (
    add_own_legend,
    grid,
)
from analyses.plots.layers import draw, draw_curves, hatch, nominal
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    count_range,
    kind_looks,
    label,
    learner_looks,
    new_axes,
    styled,
    time_axis,
    write_empty,
)
from analyses.tables import LEARNER_ORDER, in_order
from replay.checks import check_table

__all__ = ["changes_figure", "plot_change_rates", "plot_change_replay"]

_RATES = ["learner", "phase", "time_step", "mean", "ci_low", "ci_high"]
_REPLAY = ["learner", "phase", "period", "kind", "per_step"]
_PERIODS = ("before", "after")
_WIDTH = 0.75
_FEW = 3  # learners whose intervals can be distinguished


@styled
def plot_change_rates(
    rates: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the reward rate of learners over all phases, with changes as vertical lines.

    Parameters
    ----------
    rates : pandas.DataFrame
        Rows of ``change_rates.csv`` of one world.
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
    >>> rates = pd.DataFrame({"learner": "dyna_q", "phase": [0, 0, 1, 1], "mean": 0.5,
    ...                       "time_step": [10, 20, 10, 20], "ci_low": 0.4, "ci_high": 0.6})
    >>> ax = plot_change_rates(rates)
    >>> ax.lines[0].get_xdata().tolist()
    [10.0, 20.0, 30.0, 40.0]
    """
    check_table(rates, _RATES, "change_rates", empty=False)
    is_new = ax is None
    ax = new_axes(width_cm) if ax is None else ax
    lengths = rates.groupby("phase")["time_step"].max()
    begins = lengths.cumsum() - lengths
    looks = learner_looks(rates["learner"])
    curves = rates.assign(time=rates["time_step"] + rates["phase"].map(begins)).sort_values("time")
    shade = 0.12 if len(looks) <= _FEW else 0.05
    draw_curves(curves, ax, "time", "mean", "learner", looks, shade=shade, linewidth=0.9)
    for change in begins.iloc[1:]:
        ax.axvline(change, color="0.75", linewidth=0.6, zorder=0)
    time_axis(ax, lengths.sum())
    ax.set_ylim(*np.clip([rates["mean"].min() - 0.1, rates["mean"].max() + 0.1], -1.0, 1.5))
    ax.set_ylabel("Normalised reward rate")
    add_own_legend(ax, is_new, looks.values())
    return ax


@styled
def plot_change_replay(
    replay: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw how much of each kind learners replay before and after changes, as stacked bars.

    Parameters
    ----------
    replay : pandas.DataFrame
        Rows of ``change_replay.csv`` of one world. Changes are averaged.
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
    >>> replay = pd.DataFrame({"learner": "dyna_q", "phase": 1, "period": ["before", "after"],
    ...                        "kind": "novel_path", "per_step": [0.01, 0.03]})
    >>> ax = plot_change_replay(replay)
    >>> [float(bar.get_width()) for bar in ax.patches if bar.get_width() > 0]
    [1.0, 3.0]
    """
    check_table(replay, _REPLAY, "change_replay", empty=False)
    is_new = ax is None
    ax = new_axes(width_cm) if ax is None else ax
    learners = in_order(replay["learner"], LEARNER_ORDER)
    bars = replay.assign(chains=100 * replay["per_step"]).sort_values(
        "period", key=lambda period: period != "before", kind="stable", ignore_index=True
    )
    plot = so.Plot(bars, x="chains", y="learner", color="kind", group="period")
    moves = (so.Agg(), so.Dodge(by=["group"], gap=0.1), so.Stack())
    mark = so.Bar(width=_WIDTH, alpha=1, edgewidth=0)
    plot = plot.add(mark, *moves, orient="y", legend=False)
    looks = kind_looks(bars["kind"])
    draw(plot.scale(color=nominal(looks), y=so.Nominal(order=learners)), ax)
    hatch(ax, looks.values())
    mean = bars.groupby(["learner", "period", "kind"], observed=True)["chains"].mean()
    total = mean.groupby(["learner", "period"], observed=True).sum()
    for k, learner in enumerate(learners):
        for period, aside in zip(_PERIODS, (-_WIDTH / 4, _WIDTH / 4), strict=True):
            ax.annotate(
                period,
                (total.get((learner, period), 0.0), k + aside),
                xytext=(2, 0),
                textcoords="offset points",
                va="center",
                fontsize=6,
                color="0.35",
            )
    if not total.any():
        write_empty(ax, "no replay")
    lines = [label(name).replace(", ", ",\n") for name in learners]
    ax.set_yticks(range(len(learners)), lines, fontsize=6)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.1)
    ax.set_ylim(len(learners) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.set_xlabel("Chains per 100 steps")
    add_own_legend(ax, is_new, kind_looks(replay.loc[replay["per_step"] > 0, "kind"]).values())
    return ax


@styled
def changes_figure(
    rates: pd.DataFrame, replay: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of one changing world: reward rate above replay.

    Parameters
    ----------
    rates, replay : pandas.DataFrame
        The tables ``change_rates`` and ``change_replay`` of :mod:`analyses.studies.changes`.
    width_cm : float, default 17.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, if there is nothing to draw, or if there are several worlds.
    """
    check_table(rates, ["world", *_RATES], "change_rates", empty=False)
    worlds = rates["world"].unique()
    if len(worlds) != 1:
        raise ValueError(f"The figure shows one world, got {len(worlds)}.")
    shown = replay.loc[replay["per_step"] > 0, "kind"]
    figure, axes = grid(
        [label(worlds[0]), "Before and after a change"],
        1,
        [2.5 if width_cm > COLUMN_WIDTH else 1.9, 0.6 + 0.3 * rates["learner"].nunique()],
        width_cm=width_cm,
        legend=[*learner_looks(rates["learner"]).values(), *kind_looks(shown).values()],
        legend_columns=3,
        note=_note(rates),
    )
    plot_change_rates(rates, axes[0])
    plot_change_replay(replay, axes[1])
    return figure


def _note(rates: pd.DataFrame) -> str:
    n = count_range(rates.get("n_mdps", ()), "world")
    seeds = count_range(rates.get("n_seeds", ()), "run")
    return (
        "0 is the random policy, 1 the optimal one of the phase; grey lines: changes."
        + (f" Means of {n} with {seeds} each." if n and seeds else "")
        + " Bands: 95 % intervals over worlds, cut off at the axis limits. Chains have three or "
        "more states; a learner without a bar replays none."
    )
