"""Learning curves: normalised reward rate over time, as in figure 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.grids import (
    add_own_legend,
    fitting_columns,
    grid,
)
from analyses.plots.layers import draw, draw_curves, nominal
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    Look,
    count_range,
    label,
    learner_looks,
    new_axes,
    styled,
    time_axis,
)
from analyses.tables import EXPERIMENT_ORDER, in_order
from replay.checks import check_table

__all__ = ["learning_curves_figure", "plot_learning_curves"]

_RUNS_SHOWN = 5


@styled
def plot_learning_curves(
    reward_rate: pd.DataFrame,
    ax: Axes | None = None,
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
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.
    single_runs : pandas.DataFrame, optional
        Columns `learner, mdp, seed, time_step, reward_rate` (normalised), drawn as thin lines for
        the first five runs of each learner.
    looks : mapping of str to dict, optional
        Label, colour and line style by learner; by default the `learner_looks` of the table.

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
    >>> table = pd.DataFrame({"learner": "q_lambda", "time_step": [1, 2], "mean": [0.2, 0.4],
    ...                       "ci_low": [0.1, 0.3], "ci_high": [0.3, 0.5]})
    >>> plot_learning_curves(table).lines[0].get_ydata().tolist()
    [0.2, 0.4]
    """
    check_table(reward_rate, ["learner", "time_step", "mean", "ci_low", "ci_high"], "reward_rate")
    if "experiment" in reward_rate and len(reward_rate["experiment"].unique()) > 1:
        raise ValueError("Draw one experiment on one Axes; learning_curves_figure draws several.")
    is_new = ax is None
    ax = new_axes(width_cm) if ax is None else ax
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
    add_own_legend(ax, is_new, looks.values())
    return ax


@styled
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
    width_cm : float, default 17.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.
    """
    check_table(reward_rate, ["experiment"], "reward_rate", empty=False)
    experiments = in_order(reward_rate["experiment"], EXPERIMENT_ORDER)
    looks = learner_looks(reward_rate["learner"])
    n_columns = fitting_columns(min(2, len(experiments)), width_cm, 4.0)
    figure, axes = grid(
        [_title(reward_rate[reward_rate["experiment"] == name], name) for name in experiments],
        n_columns,
        2.2 if width_cm > COLUMN_WIDTH else 1.6,
        width_cm=width_cm,
        legend=looks.values(),
        legend_columns=3,
        note=_note(reward_rate, single_runs is not None and len(single_runs) > 0),
    )
    for ax, experiment in zip(axes, experiments, strict=True):
        runs = None if single_runs is None else single_runs[single_runs["experiment"] == experiment]
        curves = reward_rate[reward_rate["experiment"] == experiment]
        plot_learning_curves(curves, ax, runs, looks)
    for k, ax in enumerate(axes):
        if k % n_columns:
            ax.set_ylabel("")
    return figure


def _title(rows: pd.DataFrame, experiment: str) -> str:
    n = count_range(rows.get("n_mdps", ()), "world")
    return f"{label(experiment)} ({n})" if n else label(experiment)


def _note(reward_rate: pd.DataFrame, has_runs: bool) -> str:
    seeds = count_range(reward_rate.get("n_seeds", ()), "run")
    return (
        "0 is the random policy, 1 the optimal one. Lines: means over worlds"
        + (f", with {seeds} of each learner per world" if seeds else "")
        + ". Bands: 95 % intervals over worlds"
        + ("; thin lines: single runs." if has_runs else ".")
    )
