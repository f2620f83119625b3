"""A row for each learner: a number in each world, task or setting; and what learners need."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from analyses.intervals import mean_interval
from analyses.plots.panels import NEW, drawing, fitting_columns, grid, own_figure
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    SMALL,
    Look,
    count_range,
    label,
    learner_looks,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER, in_order
from replay.checks import check_column, check_table, check_text

__all__ = [
    "NAMES_CM",
    "ROW",
    "demands_figure",
    "learners_figure",
    "plot_demands",
    "plot_learners",
    "rows_of_learners",
]

ROW = 0.115  # inches, of a learner's row
NAMES_CM = 3.6  # of the learners' names beside the panels
_N_COLUMNS, _PANEL_CM = 5, 2.5
_ENDS = ("ci_low", "ci_high")
_WORLDS = {
    "deterministic_tree_depth": "Tree, deeper",
    "deterministic_tree_actions": "Tree, wider",
    "stochastic_tree_depth": "Stochastic tree, deeper",
    "stochastic_tree_actions": "Stochastic tree, wider",
    "maze_size": "Maze, larger",
}
_OPERATIONS = ["backups", "queue_operations", "comparisons"]
_DEMANDS = {"words": "Words held, at most", "operations": "Operations per step"}
_DOTS = (2.0, 14.0)  # square points, of the smallest and the largest world
_AXES = 0.65  # inches, of what is above and below the rows


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
        figure.set_figheight(ROW * len(looks) + _AXES)
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
    n = count_range(table.get("n_mdps", ()), "world")
    n_columns = fitting_columns(min(_N_COLUMNS, len(conditions)), width_cm - NAMES_CM, _PANEL_CM)
    figure, axes = grid(
        [label(str(condition)) for condition in conditions],
        n_columns,
        ROW * len(learners) + _AXES,
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


@drawing
def plot_demands(
    table: pd.DataFrame,
    ax: Axes = NEW,
    what: str = "words",
    looks: Mapping[str, Look] | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the demands of learners in worlds of growing size, one learner per row.

    A dot is a size of the world, the larger the dot the larger the world.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of ``demands.csv`` of one kind of world. Worlds of one size are averaged.
    what : {"words", "operations"}, default "words"
        Words of memory; or the sum of backups, queue operations and comparisons per step.
    looks : mapping of str to dict, optional
        Label, colour and line style by learner; by default the `learner_looks` of the table.

    Raises
    ------
    ValueError
        If columns are missing, or `what` is neither.

    Examples
    --------
    >>> table = pd.DataFrame({"learner": "q_learning", "size": [2, 3], "n_states": [3, 7],
    ...                       "n_actions": 2, "words": [6, 14]})
    >>> plot_demands(table).lines[0].get_xdata().tolist()
    [6.0, 14.0]
    """
    if what not in _DEMANDS:
        raise ValueError(f"what must be one of {', '.join(_DEMANDS)}; got {what!r}.")
    needed = ["words"] if what == "words" else _OPERATIONS
    check_table(table, ["learner", "size", "n_states", "n_actions", *needed], "demands")
    looks = learner_looks(table["learner"]) if looks is None else looks
    if figure := own_figure(ax):
        figure.set_figheight(ROW * len(looks) + _AXES)
    table = table.assign(drawn=table[needed].sum(axis=1))
    grown = table.groupby(["learner", "size"], observed=True)["drawn"].mean()
    for name, row in rows_of_learners(ax, looks).items():
        if name not in grown.index:
            continue
        words, colour = grown[name].to_numpy(), looks[name]["color"]
        ax.plot(words, [row] * len(words), color=colour, linewidth=0.6, label=looks[name]["label"])
        dots = np.linspace(*_DOTS, len(words)) if len(words) > 1 else _DOTS[-1:]
        ax.scatter(words, [row] * len(words), s=dots, color=colour, linewidths=0, zorder=3)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(numticks=4))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda n, _: f"{n:g}" if n < 1000 else f"{n / 1000:g}k")
    )
    return ax


@drawing
def demands_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of what learners need as worlds of one kind grow: memory, and operations.

    Parameters
    ----------
    table : pandas.DataFrame
        The rows of one kind of world in `demands.csv`; see
        :func:`analyses.studies.demands.measure_demands`.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty or holds several kinds of world.
    """
    check_table(table, ["world", "learner"], "demands", empty=False)
    worlds = table["world"].unique()
    if len(worlds) > 1:
        raise ValueError("demands holds several kinds of world: choose one for a figure.")
    looks = learner_looks(table["learner"])
    n = count_range([table["mdp"].nunique()], "world") if "mdp" in table else ""
    pairs = count_range(table["n_states"] * table["n_actions"], "pair")
    figure, axes = grid(
        [_WORLDS.get(worlds[0], label(worlds[0])), ""],
        2,
        ROW * len(looks) + _AXES,
        width_cm=width_cm,
        labels_cm=NAMES_CM,
        letters=False,
        note=f"Dots: worlds of growing size, of {pairs} of state and action; the larger the dot, "
        "the larger the world; k: thousand. Operations: backups, queue operations and comparisons. "
        "Logarithmic axes." + (f" Means over {n} of each size." if n else ""),
        sharey=True,
    )
    for ax, what in zip(axes, _DEMANDS, strict=True):
        plot_demands(table, ax, what, looks)
        ax.set_xlabel(_DEMANDS[what])
    return figure
