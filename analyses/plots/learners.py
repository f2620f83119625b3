"""Learners beside one another: learning curves (figure 1 of the paper), and rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analyses.intervals import mean_interval
from analyses.plots.layers import draw, draw_curves, nominal
from analyses.plots.panels import NEW, add_own_legend, drawing, fitting_columns, grid, own_figure
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    SMALL,
    Look,
    count_range,
    label,
    learner_looks,
    time_axis,
    write_empty,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER, in_order
from replay.checks import check_column, check_table, check_text

ROW, AXES = 0.115, 0.65  # inches, of a learner's row, and of what is above and below the rows
NAMES_CM = 3.6  # of the learners' names beside the panels
_N_COLUMNS, _PANEL_CM = 5, 2.5  # panels side by side, and the least width of one
_ENDS = ("ci_low", "ci_high")
_RUNS_SHOWN = 5  # of each learner, as thin lines
_FEW = 3  # learners whose intervals can be distinguished
_MOST_LINES = 5  # learners whose lines can be followed


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
    draw_curves(curves, ax, "time_step", "mean", "learner", looks, shade=shade(looks))
    for level in (0, 1):
        ax.axhline(level, color="0.75", linewidth=0.6, zorder=0)
    ax.set_ylim(_rates_shown(curves["mean"]))
    ax.set_ylabel("Normalised reward rate")
    time_axis(ax, curves["time_step"].max())
    add_own_legend(ax, looks.values())
    return ax


def _rates_shown(means: pd.Series) -> tuple[float, float]:
    return min(-0.1, means.min() - 0.05), max(1.1, means.max() + 0.05)


def shade(looks: Mapping[str, Look]) -> float:
    """Return how dark bands are: those of many learners lie over one another."""
    return 0.15 if len(looks) <= _FEW else 0.07


@drawing
def learning_curves_figure(
    reward_rate: pd.DataFrame,
    single_runs: pd.DataFrame | None = None,
    *,
    width_cm: float = FULL_WIDTH,
) -> Figure:
    """Make the figure of all learning curves: a row of panels per experiment, one legend.

    More than five learners are divided among panels side by side, so that lines stay apart.

    Parameters
    ----------
    reward_rate : pandas.DataFrame
        The table ``reward_rate.csv``.
    single_runs : pandas.DataFrame, optional
        The table ``single_runs.parquet``, drawn if there are at most three learners.
    """
    check_table(reward_rate, ["experiment"], "reward_rate", empty=False)
    experiments = in_order(reward_rate["experiment"], EXPERIMENT_ORDER)
    looks = learner_looks(reward_rate["learner"])
    # Learners of one family follow one another.
    split = np.array_split(np.array([*looks], dtype=object), -(-len(looks) // _MOST_LINES))
    parts = [part.tolist() for part in split]
    n_columns = len(parts) if len(parts) > 1 else min(2, len(experiments))
    n_columns = fitting_columns(n_columns, width_cm, 3.5)
    panels = []
    for name in experiments:
        n = count_range(reward_rate[reward_rate["experiment"] == name].get("n_mdps", ()), "world")
        title = f"{label(name)} ({n})" if n else label(name)
        for number, part in enumerate(parts):
            is_titled = number == 0 or n_columns != len(parts)
            panels.append((name, part, title if is_titled else ""))
    # Single runs of many learners hide one another, and the means.
    runs = single_runs if len(looks) <= _FEW else None
    has_runs = runs is not None and len(runs) > 0
    seeds = count_range(reward_rate.get("n_seeds", ()), "run")
    figure, axes = grid(
        [title for *_, title in panels],
        n_columns,
        2.2 if width_cm > COLUMN_WIDTH and len(parts) == 1 else 1.75,
        width_cm=width_cm,
        legend=looks.values(),
        legend_columns=len(parts) if len(parts) > 1 else 3,
        note="0 is the random policy, 1 the optimal one. Lines: means over worlds"
        + (f", with {seeds} of each learner per world" if seeds else "")
        + ". Bands: 95 % intervals over worlds"
        + ("; thin lines: single runs." if has_runs else "."),
        sharey="row",
    )
    for ax, (experiment, part, _) in zip(axes, panels, strict=True):
        own = None if runs is None else runs[runs["experiment"] == experiment]
        curves = reward_rate[reward_rate["experiment"] == experiment]
        shown = curves[curves["learner"].isin(part)]
        if len(shown):
            plot_learning_curves(shown, ax, own, {name: looks[name] for name in part})
        else:
            time_axis(write_empty(ax, "No runs"), curves["time_step"].max())
    for k, ax in enumerate(axes):
        if k % n_columns:
            ax.set_ylabel("")
        else:
            # Panels of a row share this axis: its limits are not those of the last one alone.
            ax.set_ylabel("Normalised reward rate")
            row = [name for name, *_ in panels[k : k + n_columns]]
            ax.set_ylim(_rates_shown(reward_rate.loc[reward_rate["experiment"].isin(row), "mean"]))
    return figure


def rows_of_learners(ax: Axes, looks: Mapping[str, Look]) -> dict[str, int]:
    """Give each learner a row of an Axes, the first at the top, with its name; return the rows."""
    rows = {name: row for row, name in enumerate(looks)}
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks(range(len(rows)), [str(look["label"]) for look in looks.values()])
    ax.tick_params(axis="y", labelsize=SMALL, length=0)
    ax.tick_params(axis="x", labelsize=SMALL)
    ax.grid(axis="y", color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)
    return rows


@drawing
def plot_learners(
    table: pd.DataFrame,
    ax: Axes = NEW,
    value: str = "mean",
    *,
    learners: list[str] | None = None,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw a number for each learner under one condition, one learner per row.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `learner` and `value`. With `ci_low` and `ci_high` there is one row per learner, and
        these are its interval. Otherwise the rows of a learner are independent units, such as
        worlds or seeds: their mean is drawn with its 95 % Student-t interval.
    value : str, default "mean"
        The column to draw.
    learners : list of str, optional
        Which learners have a row; by default those of the table, in the order of all figures.

    Raises
    ------
    ValueError
        If columns are missing, the value is no number, or a learner has several rows with
        intervals.

    Examples
    --------
    >>> table = pd.DataFrame({"learner": ["mine", "mine", "dyna_q"], "reward": [1.0, 2.0, 4.0]})
    >>> ax = plot_learners(table, value="reward")
    >>> [line.get_xdata().tolist() for line in ax.lines]
    [[4.0], [1.5]]
    """
    rows = _one_row_each(table, value, ["learner"])
    names = rows["learner"] if learners is None else learners
    for name in names:
        check_text("Each of learners", name)
    looks = learner_looks(names)
    if figure := own_figure(ax):
        figure.set_figheight(ROW * len(looks) + AXES)
    places = rows_of_learners(ax, looks)
    for row in rows.to_dict("records"):
        name = row["learner"]
        if name in places:
            colour = looks[name]["color"]
            ax.hlines(places[name], row["ci_low"], row["ci_high"], color=colour, linewidth=1)
            ax.plot(
                [row[value]], [places[name]], "o", color=colour, markersize=3, label=label(name)
            )
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_xlabel(label(value))
    return ax


@drawing
def learners_figure(
    table: pd.DataFrame,
    value: str = "mean",
    by: str = "experiment",
    *,
    width_cm: float = FULL_WIDTH,
) -> Figure:
    """Make a figure of a number for each learner under each condition, one panel per condition.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `learner`, `by` and `value`, and perhaps `ci_low` and `ci_high`, as in
        `plot_learners`. It may be a table of your own.
    value : str, default "mean"
        The column to draw.
    by : str, default "experiment"
        The column of conditions: worlds, tasks, settings.

    Examples
    --------
    >>> from replay.data import reference_table
    >>> figure = learners_figure(reference_table("brea_2018/area_under_curve"))
    >>> [ax.get_title(loc="left") for ax in figure.axes][2:]
    ['Stochastic tree', 'Maze']
    """
    rows = check_table(_one_row_each(table, value, [by, "learner"]), [], "table", empty=False)
    conditions = in_order(rows[by], EXPERIMENT_ORDER)
    learners = in_order(rows["learner"], LEARNER_ORDER)
    n = count_range(table.get("n_mdps", ()), "world")
    n_columns = fitting_columns(min(_N_COLUMNS, len(conditions)), width_cm - NAMES_CM, _PANEL_CM)
    figure, axes = grid(
        [label(str(condition)) for condition in conditions],
        n_columns,
        ROW * len(learners) + AXES,
        width_cm=width_cm,
        labels_cm=NAMES_CM,
        letters=False,
        note=f"Dots: {label(value)}"
        + (f" over {n}" if n else "")
        + ". Lines: 95 % intervals; without a line there is none.",
        sharey=True,
    )
    for ax, condition in zip(axes, conditions, strict=True):
        plot_learners(rows[rows[by] == condition], ax, value, learners=learners)
    return figure


def _one_row_each(table: pd.DataFrame, value: str, by: list[str]) -> pd.DataFrame:
    """Check a table, and reduce it to one row each with an interval, if it has none."""
    check_table(table, [*by, value], "table")
    check_column(table, value, "table", kind="number", missing=True)
    if not {*_ENDS} <= {*table.columns}:
        return mean_interval(table, value, by).rename(columns={"mean": value})
    for twice in table[table.duplicated(by)].to_dict("records"):
        what = ", ".join(f"{name} {twice[name]!r}" for name in by)
        raise ValueError(
            f"table has several rows for {what}. With ci_low and ci_high there is one for each; "
            "leave these columns out to draw means over rows."
        )
    return table
