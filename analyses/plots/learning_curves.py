"""Reward rates over time: learning curves, as in figure 1 of the paper, and changes of a world."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.layers import draw, draw_curves, hatch, nominal
from analyses.plots.panels import NEW, add_own_legend, drawing, fitting_columns, grid
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    Look,
    count_range,
    kind_looks,
    label,
    learner_looks,
    time_axis,
    write_empty,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER, in_order
from replay.checks import check_table

__all__ = [
    "changes_figure",
    "learning_curves_figure",
    "plot_change_rates",
    "plot_change_replay",
    "plot_learning_curves",
]

_RUNS_SHOWN = 5
_RATES = ["learner", "phase", "time_step", "mean", "ci_low", "ci_high"]
_REPLAY = ["learner", "phase", "period", "kind", "per_step"]
_PERIODS = ("before", "after")
_WIDTH = 0.75
_FEW = 3  # learners whose intervals can be distinguished


@drawing
def plot_learning_curves(
    reward_rate: pd.DataFrame,
    ax: Axes = NEW,
    single_runs: pd.DataFrame | None = None,
    looks: Mapping[str, Look] | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the learning curves of one experiment.

    Parameters
    ----------
    reward_rate : pandas.DataFrame
        Columns `learner, time_step, mean, ci_low, ci_high`, drawn as thick lines and, where there
        are intervals, bands.
    single_runs : pandas.DataFrame, optional
        Columns `learner, mdp, seed, time_step, reward_rate` (normalised), drawn as thin lines for
        the first five runs of each learner.
    looks : mapping of str to dict, optional
        Label, colour and line style by learner; by default the `learner_looks` of the table.

    Raises
    ------
    ValueError
        If columns are missing, or the table has several experiments.

    Examples
    --------
    >>> table = pd.DataFrame({"learner": "q_lambda", "time_step": [1, 2], "mean": [0.2, 0.4],
    ...                       "ci_low": [0.1, 0.3], "ci_high": [0.3, 0.5]})
    >>> plot_learning_curves(table).lines[0].get_ydata().tolist()
    [0.2, 0.4]
    """
    check_table(reward_rate, ["learner", "time_step", "mean", "ci_low", "ci_high"], "reward_rate")
    if "experiment" in reward_rate and len(reward_rate["experiment"].unique()) > 1:
        raise ValueError("Draw one experiment on one Axes; learning_curves_figure draws several.")
    looks = learner_looks(reward_rate["learner"]) if looks is None else looks
    curves = reward_rate.sort_values("time_step", kind="stable")
    if single_runs is not None and len(single_runs):
        runs = single_runs.reset_index(drop=True)
        runs = runs.assign(run=runs.groupby(["mdp", "seed"]).ngroup())
        rank = runs.groupby("learner", observed=True)["run"].rank("dense")
        thin = so.Plot(runs[rank <= _RUNS_SHOWN], "time_step", "reward_rate", group="run")
        thin = thin.add(so.Lines(linewidth=0.35, alpha=0.25), color="learner", legend=False)
        draw(thin.scale(color=nominal(looks)), ax)
    draw_curves(curves, ax, "time_step", "mean", "learner", looks)
    for level in (0, 1):
        ax.axhline(level, color="0.75", linewidth=0.6, zorder=0)
    ax.set_ylim(min(-0.1, curves["mean"].min() - 0.05), max(1.1, curves["mean"].max() + 0.05))
    ax.set_ylabel("Normalised reward rate")
    time_axis(ax, curves["time_step"].max())
    add_own_legend(ax, looks.values())
    return ax


@drawing
def learning_curves_figure(
    reward_rate: pd.DataFrame,
    single_runs: pd.DataFrame | None = None,
    *,
    width_cm: float = FULL_WIDTH,
) -> Figure:
    """Make the figure of all learning curves: one panel per experiment, one legend.

    Parameters
    ----------
    reward_rate : pandas.DataFrame
        The table ``reward_rate.csv``.
    single_runs : pandas.DataFrame, optional
        The table ``single_runs.parquet``.
    """
    check_table(reward_rate, ["experiment"], "reward_rate", empty=False)
    experiments = in_order(reward_rate["experiment"], EXPERIMENT_ORDER)
    looks = learner_looks(reward_rate["learner"])
    titles = []
    for name in experiments:
        n = count_range(reward_rate[reward_rate["experiment"] == name].get("n_mdps", ()), "world")
        titles.append(f"{label(name)} ({n})" if n else label(name))
    has_runs = single_runs is not None and len(single_runs) > 0
    seeds = count_range(reward_rate.get("n_seeds", ()), "run")
    n_columns = fitting_columns(min(2, len(experiments)), width_cm, 4.0)
    figure, axes = grid(
        titles,
        n_columns,
        2.2 if width_cm > COLUMN_WIDTH else 1.6,
        width_cm=width_cm,
        legend=looks.values(),
        legend_columns=3,
        note="0 is the random policy, 1 the optimal one. Lines: means over worlds"
        + (f", with {seeds} of each learner per world" if seeds else "")
        + ". Bands: 95 % intervals over worlds"
        + ("; thin lines: single runs." if has_runs else "."),
    )
    for ax, experiment in zip(axes, experiments, strict=True):
        runs = None if single_runs is None else single_runs[single_runs["experiment"] == experiment]
        curves = reward_rate[reward_rate["experiment"] == experiment]
        plot_learning_curves(curves, ax, runs, looks)
    for k, ax in enumerate(axes):
        if k % n_columns:
            ax.set_ylabel("")
    return figure


@drawing
def plot_change_rates(
    rates: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the reward rate of learners over all phases, with changes as vertical lines.

    Parameters
    ----------
    rates : pandas.DataFrame
        Rows of ``change_rates.csv`` of one world.

    Examples
    --------
    >>> rates = pd.DataFrame({"learner": "dyna_q", "phase": [0, 0, 1, 1], "mean": 0.5,
    ...                       "time_step": [10, 20, 10, 20], "ci_low": 0.4, "ci_high": 0.6})
    >>> ax = plot_change_rates(rates)
    >>> ax.lines[0].get_xdata().tolist()
    [10.0, 20.0, 30.0, 40.0]
    """
    check_table(rates, _RATES, "change_rates", empty=False)
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
    add_own_legend(ax, looks.values())
    return ax


@drawing
def plot_change_replay(
    replay: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw how much of each kind learners replay before and after changes, as stacked bars.

    Parameters
    ----------
    replay : pandas.DataFrame
        Rows of ``change_replay.csv`` of one world. Changes are averaged.

    Examples
    --------
    >>> replay = pd.DataFrame({"learner": "dyna_q", "phase": 1, "period": ["before", "after"],
    ...                        "kind": "novel_path", "per_step": [0.01, 0.03]})
    >>> ax = plot_change_replay(replay)
    >>> [float(bar.get_width()) for bar in ax.patches if bar.get_width() > 0]
    [1.0, 3.0]
    """
    check_table(replay, _REPLAY, "change_replay", empty=False)
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
    add_own_legend(ax, kind_looks(replay.loc[replay["per_step"] > 0, "kind"]).values())
    return ax


@drawing
def changes_figure(
    rates: pd.DataFrame, replay: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of one changing world: reward rate above replay.

    Parameters
    ----------
    rates, replay : pandas.DataFrame
        The tables ``change_rates`` and ``change_replay`` of :mod:`analyses.studies.changes`.

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
    n = count_range(rates.get("n_mdps", ()), "world")
    seeds = count_range(rates.get("n_seeds", ()), "run")
    figure, axes = grid(
        [label(worlds[0]), "Before and after a change"],
        1,
        [2.5 if width_cm > COLUMN_WIDTH else 1.9, 0.6 + 0.3 * rates["learner"].nunique()],
        width_cm=width_cm,
        legend=[*learner_looks(rates["learner"]).values(), *kind_looks(shown).values()],
        legend_columns=3,
        note="0 is the random policy, 1 the optimal one of the phase; grey lines: changes."
        + (f" Means of {n} with {seeds} each." if n and seeds else "")
        + " Bands: 95 % intervals over worlds, cut off at the axis limits. Chains have three or "
        "more states; a learner without a bar replays none.",
    )
    plot_change_rates(rates, axes[0])
    plot_change_replay(replay, axes[1])
    return figure
