"""Learning curves: normalised reward rate over time, as in figure 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    label,
    learner_styles,
    letter_panels,
    new_figure,
    styled,
    time_axis,
)
from analyses.tables import EXPERIMENTS, in_order, require_columns

__all__ = ["draw_learning_curves", "learning_curves_figure"]

_RUNS_SHOWN = 5


def draw_learning_curves(
    reward_rate: pd.DataFrame,
    ax: Axes,
    single_runs: pd.DataFrame | None = None,
    styles: Mapping[str, dict[str, object]] | None = None,
) -> Axes:
    """Draw the learning curves of one experiment.

    Parameters
    ----------
    reward_rate : pandas.DataFrame
        Columns `learner, time_step, mean, ci_low, ci_high`: thick lines and, where there is an
        interval, bands.
    ax : matplotlib.axes.Axes
        Where to draw.
    single_runs : pandas.DataFrame, optional
        Columns `learner, mdp, seed, time_step, reward_rate` (normalised): thin lines, the first
        five runs of each learner.
    styles : mapping of str to dict, optional
        Colour and line style by learner; default `learner_styles` of the table.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing, or the table has several experiments.

    Examples
    --------
    >>> ax = new_figure(3, 2).subplots()
    >>> table = pd.DataFrame({"learner": "q_lambda", "time_step": [1, 2], "mean": [0.2, 0.4],
    ...                       "ci_low": [0.1, 0.3], "ci_high": [0.3, 0.5]})
    >>> draw_learning_curves(table, ax).lines[-1].get_ydata().tolist()
    [0.2, 0.4]
    """
    require_columns(
        reward_rate, ["learner", "time_step", "mean", "ci_low", "ci_high"], "reward_rate"
    )
    if "experiment" in reward_rate and len(reward_rate["experiment"].unique()) > 1:
        raise ValueError("Draw one experiment on one Axes; learning_curves_figure draws several.")
    styles = learner_styles(reward_rate["learner"]) if styles is None else styles
    for level in (0, 1):
        ax.axhline(level, color="0.75", linewidth=0.6, zorder=0)
    for learner, look in styles.items():
        curve = reward_rate[reward_rate["learner"] == learner].sort_values("time_step")
        if curve.empty:
            continue
        if single_runs is not None:
            own = single_runs[single_runs["learner"] == learner]
            runs = [run for _, run in own.groupby(["mdp", "seed"], sort=True)]
            for run in runs[:_RUNS_SHOWN]:
                shown = run.sort_values("time_step")
                ax.plot(
                    shown["time_step"],
                    shown["reward_rate"],
                    color=look["color"],
                    linewidth=0.35,
                    alpha=0.25,
                    zorder=1,
                )
        if curve["ci_low"].notna().any():
            ax.fill_between(
                curve["time_step"],
                curve["ci_low"],
                curve["ci_high"],
                color=look["color"],
                alpha=0.15,
                linewidth=0,
                zorder=2,
            )
        ax.plot(curve["time_step"], curve["mean"], label=label(learner), zorder=3, **look)  # type: ignore[arg-type]
    ax.set_ylim(
        min(-0.1, reward_rate["mean"].min() - 0.05), max(1.1, reward_rate["mean"].max() + 0.05)
    )
    ax.set_ylabel("Normalised reward rate")
    time_axis(ax, reward_rate["time_step"].max())
    return ax


@styled
def learning_curves_figure(
    reward_rate: pd.DataFrame, single_runs: pd.DataFrame | None = None
) -> Figure:
    """Make the figure of all learning curves: a panel for each experiment, one legend.

    Parameters
    ----------
    reward_rate : pandas.DataFrame
        As in `reward_rate.csv`: `experiment, learner, time_step, mean, sem, ci_low, ci_high,
        n_mdps, n_seeds`.
    single_runs : pandas.DataFrame, optional
        Normalised windows of a few runs: `experiment, learner, mdp, seed, time_step, reward_rate`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.
    """
    require_columns(reward_rate, ["experiment"], "reward_rate")
    experiments = in_order(reward_rate["experiment"], EXPERIMENTS)
    if not experiments:
        raise ValueError("reward_rate is empty: there are no learning curves to draw.")
    styles = learner_styles(reward_rate["learner"])
    n_columns = min(2, len(experiments))
    n_rows = -(-len(experiments) // n_columns)
    n_legend_columns = 3 if n_columns == 2 else 2
    legend_height = 0.17 * -(-len(styles) // n_legend_columns) + 0.1
    figure = new_figure(
        FULL_WIDTH if n_columns == 2 else COLUMN_WIDTH, 2.2 * n_rows + legend_height
    )
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for ax in axes[len(experiments) :]:
        ax.set_axis_off()
    for ax, experiment in zip(axes, experiments, strict=False):
        runs = None if single_runs is None else single_runs[single_runs["experiment"] == experiment]
        curves = reward_rate[reward_rate["experiment"] == experiment]
        draw_learning_curves(curves, ax, runs, styles)
        ax.set_title(label(experiment))
    for ax in axes.reshape(n_rows, n_columns)[:, 1:].ravel():
        ax.set_ylabel("")
    if len(experiments) > 1:
        letter_panels(axes[: len(experiments)])
    handles = [Line2D([], [], label=label(name), **look) for name, look in styles.items()]  # type: ignore[arg-type]
    figure.legend(handles=handles, loc="outside lower center", ncols=n_legend_columns)
    return figure
