"""Learners by conditions: a number for each learner in each world, task or setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.intervals import mean_interval
from analyses.plots.grids import fitting_columns, grid
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    INCH,
    SMALL,
    Look,
    count_range,
    label,
    learner_looks,
    new_axes,
    styled,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER, in_order
from replay.checks import check_column, check_table, check_text

__all__ = ["NAMES_CM", "ROW", "learners_figure", "plot_learners", "rows_of_learners"]

ROW = 0.115  # inches, of a learner's row
NAMES_CM = 3.6  # of the learners' names beside the panels
_N_COLUMNS, _PANEL_CM = 5, 2.5
_AXES = 0.65  # inches, of what is above and below the rows
_ENDS = ("ci_low", "ci_high")


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


@styled
def plot_learners(
    table: pd.DataFrame,
    ax: Axes | None = None,
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
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    value : str, default "mean"
        The column to draw.
    learners : list of str, optional
        Which learners have a row; by default those of the table, in the order of all figures.
    width_cm : float, default 8.5
        Width of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

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
    if ax is None:
        ax = new_axes(width_cm)
        cast(Figure, ax.figure).set_size_inches(width_cm / INCH, ROW * len(looks) + _AXES)
    places = rows_of_learners(ax, looks)
    for row in rows.to_dict("records"):
        name = row["learner"]
        if name in places:
            colour = looks[name]["color"]
            ax.hlines(places[name], row["ci_low"], row["ci_high"], color=colour, linewidth=1)
            ax.plot(
                [row[value]], [places[name]], "o", color=colour, markersize=3, label=label(name)
            )
    ax.set_xlabel(label(value))
    return ax


@styled
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
    width_cm : float, default 17.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        As in `plot_learners`, or if the table is empty.

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
    n_columns = fitting_columns(min(_N_COLUMNS, len(conditions)), width_cm - NAMES_CM, _PANEL_CM)
    figure, axes = grid(
        [label(str(condition)) for condition in conditions],
        n_columns,
        ROW * len(learners) + _AXES,
        width_cm=width_cm,
        labels_cm=NAMES_CM,
        letters=False,
        note=_note(table, value),
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


def _note(table: pd.DataFrame, value: str) -> str:
    n = count_range(table.get("n_mdps", ()), "world")
    return (
        f"Dots: {label(value)}"
        + (f" over {n}" if n else "")
        + ". Lines: 95 % intervals; without a "
        "line there is none."
    )
