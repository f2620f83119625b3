"""Effects of the discrepancies between the paper's text and its code on learning curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from analyses.plots.layers import draw, draw_curves, nominal
from analyses.plots.panels import NEW, add_legend, add_own_legend, drawing, fitting_columns, grid
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    Look,
    count_range,
    label,
    learner_looks,
    own_looks,
    write_empty,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER, in_order
from replay.checks import check_column, check_table

__all__ = [
    "differing",
    "discrepancies_figure",
    "discrepancy_curves_figure",
    "plot_differences",
    "plot_discrepancy_curves",
]

_TITLES = {
    "D1": "No trace",
    "D2": "n = 5",
    "D1+D2": "n = 5, no trace",
    "D3": "Start values exchanged",
    "D4": "Meaning of \N{GREEK SMALL LETTER EPSILON}",
    "D6": "Last state queued",
    "D13": "Priorities may rise",
    "text": "All together",
}
_PERIODS: dict[str, Look] = {
    "early": {"label": "First tenth of the run", "color": "#999933", "marker": "o"},
    "whole": {"label": "Whole run", "color": "#000000", "marker": "D"},
    "late": {"label": "Last tenth", "color": "#aa3377", "marker": "s"},
}
_VERSIONS: list[Look] = [
    {"label": "Code", "color": "0.3", "linestyle": "--"},
    {"label": "Text", "color": "0.3", "linestyle": "-"},
]
_APART = 0.26
_LINEAR_UP_TO = 0.02
_TICKS = (-0.5, -0.05, 0, 0.05, 0.5)
_VISIBLE = 0.02
_NARROW = 12.0  # cm


@drawing
def plot_differences(
    differences: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the differences in one experiment, with one row per discrepancy and learner.

    The axis is linear up to 0.02 and logarithmic beyond.

    Parameters
    ----------
    differences : pandas.DataFrame
        Rows of ``discrepancies.csv`` of one experiment; those without a difference are left empty.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; the first row is at the top.

    Examples
    --------
    >>> table = pd.DataFrame({"discrepancy": "D1", "learner": "n_step_td", "period": ["early"],
    ...                       "difference": 0.2, "ci_low": 0.1, "ci_high": 0.3})
    >>> plot_differences(table).get_yticklabels()[0].get_text()
    'n-step TD'
    """
    check_table(
        differences,
        ["discrepancy", "learner", "period", "difference", "ci_low", "ci_high"],
        "differences",
    )
    rows = differences[["discrepancy", "learner"]].drop_duplicates().reset_index(drop=True)
    headings = (rows["discrepancy"] != rows["discrepancy"].shift()).cumsum()
    heights = np.arange(len(rows)) + headings.to_numpy(dtype=float)
    shown = differences[differences["difference"].notna()].merge(rows.assign(height=heights))
    shown["height"] += _APART * (shown["period"].map(list(_PERIODS).index) - 1)
    plot = so.Plot(shown, y="height", color="period")
    plot = plot.add(
        so.Range(linewidth=0.7), xmin="ci_low", xmax="ci_high", orient="y", legend=False
    )
    plot = plot.add(
        so.Dot(pointsize=2.6, edgewidth=0),
        x="difference",
        marker="period",
        orient="y",
        legend=False,
    )
    looks = own_looks(_PERIODS)
    draw(plot.scale(color=nominal(looks), marker=nominal(looks, "marker")), ax)
    ax.axvline(0, color="0.75", linewidth=0.6, zorder=0)
    ax.set_yticks(heights, [label(name) for name in rows["learner"]])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(heights[-1] + 0.7, heights[0] - 1.4)
    ax.set_xscale("symlog", linthresh=_LINEAR_UP_TO, linscale=0.7)
    ax.set_xlim(-1.3, 1.3)
    ax.xaxis.set_major_locator(FixedLocator(_TICKS))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    add_own_legend(ax, looks.values())
    return ax


@drawing
def discrepancies_figure(differences: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of what differs visibly: one panel per experiment, one row per learner.

    Rows are those of `differing`; the others are named in the note.

    Parameters
    ----------
    differences : pandas.DataFrame
        The table ``discrepancies.csv``.
    """
    columns = ["discrepancy", "experiment", "learner", "period"]
    check_table(differences, columns, "differences", empty=False)
    experiments = in_order(differences["experiment"], EXPERIMENT_ORDER)
    visible = differing(differences)
    names = [str(name) for name in dict.fromkeys(differences["discrepancy"]) if name != "text"]
    shown = [name for name in names if (visible["discrepancy"] == name).any()]
    same = [_TITLES.get(name, name) for name in names if name not in shown]
    rows = pd.DataFrame(
        [
            (name, learner, period)
            for name in shown
            for learner in in_order(
                visible.loc[visible["discrepancy"] == name, "learner"], LEARNER_ORDER
            )
            for period in _PERIODS
        ],
        columns=["discrepancy", "learner", "period"],
    )
    n = count_range(differences.get("n_mdps", ()), "world")
    n_lines = max(len(rows) / len(_PERIODS) + len(shown), 3)
    figure, axes = grid(
        # In a column of a journal, the longest word is wider than a panel.
        [
            label(name).replace("intermittent", "inter-mittent")
            if width_cm < _NARROW
            else label(name)
            for name in experiments
        ],
        len(experiments),
        0.155 * n_lines + 0.5,
        width_cm=width_cm,
        letters=False,
        note="0 is the random policy, 1 the optimal one. Intervals: 95 % over "
        + (f"{n}." if n else "worlds.")
        + f" Shown: learners with a difference above {_VISIBLE} whose interval excludes 0, in some "
        "experiment; without a point they have no part in it."
        + (f" No such difference: {', '.join(same)}." if same else ""),
        sharey=True,
    )
    add_legend(
        figure,
        [look | {"linestyle": "none"} for look in own_looks(_PERIODS).values()],
        5,
        title="Normalised reward rate with the text minus that with the code",
    )
    if not shown:
        for ax in axes:
            write_empty(ax, "no visible\ndifference")
        return figure
    for ax, experiment in zip(axes, experiments, strict=True):
        own = differences[differences["experiment"] == experiment].drop(columns="experiment")
        plot_differences(rows.merge(own, how="left"), ax)
        ax.spines["left"].set_visible(False)
        if width_cm < _NARROW:
            ax.xaxis.set_major_locator(FixedLocator([_TICKS[0], _TICKS[-1]]))
    first: dict[str, float] = {}
    for place, name in zip(
        axes[0].get_yticks(), rows["discrepancy"][:: len(_PERIODS)], strict=True
    ):
        first.setdefault(name, place)
    for name, place in first.items():
        axes[0].annotate(
            _TITLES.get(name, name),
            (0, place - 0.95),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontweight="bold",
        )
        for ax in axes:
            if place != axes[0].get_yticks()[0]:
                ax.axhline(place - 1.5, color="0.9", linewidth=0.6, zorder=0)
    return figure


def differing(differences: pd.DataFrame) -> pd.DataFrame:
    """Find curves that differ visibly: by more than 0.02, with an interval that excludes 0.

    One row per curve: `discrepancy, experiment, learner`. Each discrepancy is judged separately;
    all of them together (`text`) are excluded.

    Examples
    --------
    >>> table = pd.DataFrame({"discrepancy": "D1", "experiment": "maze", "learner": ["a", "b"],
    ...                       "difference": [0.2, 0.1], "ci_low": [0.1, -0.1], "ci_high": 0.3})
    >>> differing(table)["learner"].tolist()
    ['a']
    """
    sure = (differences["ci_low"] > 0) | (differences["ci_high"] < 0)
    visible = sure & (differences["difference"].abs() > _VISIBLE)
    shown = differences[visible & (differences["discrepancy"] != "text")]
    return shown[["discrepancy", "experiment", "learner"]].drop_duplicates(ignore_index=True)


@drawing
def plot_discrepancy_curves(
    published: pd.DataFrame,
    changed: pd.DataFrame,
    ax: Axes = NEW,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw learning curves of one experiment in pairs: the code dashed, the text solid.

    Time is logarithmic, since most differences occur early.

    Parameters
    ----------
    published, changed : pandas.DataFrame
        Curves of the code and of the text for the same learners: `learner, time_step, mean,
        ci_low, ci_high`.

    Examples
    --------
    >>> curve = pd.DataFrame({"learner": "q_lambda", "time_step": [1, 2], "mean": [0.2, 0.4],
    ...                       "ci_low": [0.1, 0.3], "ci_high": [0.3, 0.5]})
    >>> ax = plot_discrepancy_curves(curve, curve)
    >>> [line.is_dashed() for line in ax.lines[:2]]
    [True, False]
    """
    columns = ["learner", "time_step", "mean", "ci_low", "ci_high"]
    for name, table, line in (("published", published, "--"), ("changed", changed, "-")):
        check_table(table, columns, name, empty=False)
        for column in columns[1:]:
            check_column(table, column, name, kind="number", missing=True)
        looks = {
            learner: look | {"linestyle": line}
            for learner, look in learner_looks(table["learner"]).items()
        }
        curves = table.sort_values("time_step")
        draw_curves(curves, ax, "time_step", "mean", "learner", looks, linewidth=0.9)
    for level in (0, 1):
        ax.axhline(level, color="0.75", linewidth=0.6, zorder=0)
    lowest = min(published["mean"].min(), changed["mean"].min())
    ax.set(xscale="log", ylim=(min(-0.1, lowest - 0.05), 1.1), xlabel="Time step")
    ax.set_xlim(changed["time_step"].min(), changed["time_step"].max())
    ax.xaxis.set_minor_formatter(NullFormatter())
    add_own_legend(
        ax,
        [
            *({**look, "linestyle": "-"} for look in learner_looks(published["learner"]).values()),
            *_VERSIONS,
        ],
    )
    return ax


@drawing
def discrepancy_curves_figure(
    published: pd.DataFrame,
    changed: pd.DataFrame,
    differences: pd.DataFrame,
    *,
    width_cm: float = FULL_WIDTH,
) -> Figure:
    """Make the figure of learning curves that differ: one panel per discrepancy and experiment.

    Parameters
    ----------
    published : pandas.DataFrame
        The table `reward_rate.csv`.
    changed : pandas.DataFrame
        The table `discrepancy_curves.csv`: the same columns and `discrepancy`.
    differences : pandas.DataFrame
        The table `discrepancies.csv`, from which `differing` selects panels and curves.

    Raises
    ------
    ValueError
        If columns are missing, or no curves differ.
    """
    shown = differing(differences)
    if shown.empty:
        raise ValueError("No learning curves differ visibly: there is nothing to draw.")
    panels = list(shown.groupby(["discrepancy", "experiment"], sort=False))
    looks = [look | {"linestyle": "-"} for look in learner_looks(shown["learner"]).values()]
    n = count_range(differences.get("n_mdps", ()), "world")
    figure, axes = grid(
        [
            f"{_TITLES.get(str(discrepancy), discrepancy)}\n{label(str(experiment))}"
            for (discrepancy, experiment), _ in panels
        ],
        fitting_columns(4, width_cm, 4.0),
        1.5,
        width_cm=width_cm,
        legend=[*looks, *_VERSIONS],
        note="0 is the random policy, 1 the optimal one. Curves that differ visibly; bands: 95 % "
        + (f"intervals over {n}" if n else "intervals over worlds")
        + ", cut off at the axis limits. Time is logarithmic.",
        ylabel="Normalised reward rate",
        sharey=True,
    )
    lowest = 0.0
    for ax, ((_, experiment), rows) in zip(axes, panels, strict=True):
        one = published[published["experiment"] == experiment].merge(rows[["learner"]])
        plot_discrepancy_curves(one, changed.merge(rows), ax)
        lowest = min(lowest, ax.get_ylim()[0])
    axes[0].set_ylim(bottom=lowest)
    return figure
