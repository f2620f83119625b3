"""How much of replay is which kind: by learner, and over the course of learning."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analyses.plots.style import (
    FULL_WIDTH,
    KIND_COLOURS,
    label,
    letter_panels,
    new_figure,
    styled,
    time_axis,
    write_empty,
)
from analyses.tables import EXPERIMENTS, KINDS, LEARNERS, in_order, require_columns

__all__ = [
    "draw_replay_kinds",
    "draw_replay_over_time",
    "replay_kinds_figure",
    "replay_over_time_figure",
]


def draw_replay_kinds(replay_kinds: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the shares of kinds of replay as one stacked bar for each learner.

    A whisker at the end of a segment is the interval of that segment's own share.

    Parameters
    ----------
    replay_kinds : pandas.DataFrame
        Columns `learner, kind, count, share` of one experiment and one way of chaining, and
        `ci_low, ci_high` where there are intervals.
    ax : matplotlib.axes.Axes
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing, or a learner has several rows of one kind.

    Examples
    --------
    >>> table = pd.DataFrame({"learner": "q_lambda", "kind": ["reverse_episode", "novel_path"],
    ...                       "count": [3, 1], "share": [0.75, 0.25]})
    >>> ax = draw_replay_kinds(table, new_figure(3, 1).subplots())
    >>> [float(bar.get_width()) for bar in ax.patches]
    [0.75, 0.25]
    """
    require_columns(replay_kinds, ["learner", "kind", "count", "share"], "replay_kinds")
    if replay_kinds.duplicated(["learner", "kind"]).any():
        raise ValueError(
            "A learner has several rows of one kind: choose one experiment and one way of "
            "chaining, or use replay_kinds_figure."
        )
    learners = in_order(replay_kinds["learner"], LEARNERS)
    height = pd.Series(np.arange(len(learners))[::-1], index=learners)
    counted = replay_kinds.groupby("learner", observed=True)["count"].sum()
    left = pd.Series(0.0, index=learners)
    for kind in in_order(replay_kinds["kind"], KINDS):
        rows = replay_kinds[replay_kinds["kind"] == kind].set_index("learner")
        rows = rows.loc[[name for name in learners if name in rows.index and counted[name] > 0]]
        end = left[rows.index] + rows["share"]
        ax.barh(
            height[rows.index],
            rows["share"],
            height=0.72,
            left=left[rows.index],
            color=KIND_COLOURS.get(kind, "0.6"),
            label=label(kind),
        )
        bounded = "ci_low" in rows and rows["ci_low"].notna() & (rows["share"] > 0)
        if np.any(bounded):
            shown = rows[bounded]
            ax.errorbar(
                end[shown.index].to_numpy(),
                height[shown.index].to_numpy(),
                xerr=np.stack(
                    (shown["share"] - shown["ci_low"], shown["ci_high"] - shown["share"])
                ),
                fmt="none",
                ecolor="k",
                elinewidth=0.7,
                capsize=1.5,
                capthick=0.7,
            )
        left[rows.index] = end
    for learner in learners:
        if total := counted[learner]:
            place = (1.02, height[learner])
            ax.annotate(f"{total:,}", place, va="center", fontsize=6, annotation_clip=False)
        else:
            ax.annotate("no replay", (0.02, height[learner]), va="center", color="0.45")
    ax.set_yticks(height, [label(name) for name in learners])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(0, 1), ylim=(-0.6, len(learners) - 0.4), xlabel="Share of chains")
    return ax


def draw_replay_over_time(replay_over_time: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the shares of kinds of replay of one learner over the course of learning.

    Parameters
    ----------
    replay_over_time : pandas.DataFrame
        Columns `time_step, kind, count, share` of one learner in one experiment; `time_step` is the
        end of a window. A window without replay leaves a gap.
    ax : matplotlib.axes.Axes
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; the y axis runs from 0 to 1.

    Raises
    ------
    ValueError
        If columns are missing, or a window has several rows of one kind.

    Examples
    --------
    >>> table = pd.DataFrame({"time_step": [10, 20], "kind": "novel_path", "count": [1, 2],
    ...                       "share": 1.0})
    >>> len(draw_replay_over_time(table, new_figure(2, 1).subplots()).collections)
    1
    """
    require_columns(replay_over_time, ["time_step", "kind", "count", "share"], "replay_over_time")
    if replay_over_time.duplicated(["time_step", "kind"]).any():
        raise ValueError(
            "A window has several rows of one kind: choose one experiment and one learner, or use "
            "replay_over_time_figure."
        )
    ax.set_ylim(0, 1)
    time_axis(ax, replay_over_time["time_step"].max())
    if not replay_over_time["count"].sum():
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        return write_empty(ax, "no replay")
    kinds = in_order(replay_over_time["kind"], KINDS)
    windows = sorted(replay_over_time["time_step"].unique())
    shares = replay_over_time.pivot_table("share", "time_step", "kind", observed=True)
    shares = shares.reindex(index=windows, columns=kinds)
    # A window's share holds from the end of the window before.
    ax.stackplot(
        np.append(0, shares.index),
        np.vstack((shares.iloc[:1], shares)).astype(float).T,
        step="pre",
        colors=[KIND_COLOURS.get(kind, "0.6") for kind in kinds],
        labels=[label(kind) for kind in kinds],
        linewidth=0,
    )
    return ax


@styled
def replay_kinds_figure(replay_kinds: pd.DataFrame) -> Figure:
    """Make the figure of kinds of replay: experiments in rows, within and across events in columns.

    Parameters
    ----------
    replay_kinds : pandas.DataFrame
        As in `replay_kinds.csv`: `experiment, learner, chains, kind, count, share`, and
        `ci_low, ci_high` where there are intervals. A learner without replay has rows that count 0.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. To the right of each bar stands how many chains it is of.

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.
    """
    require_columns(
        replay_kinds, ["experiment", "chains", "learner", "kind", "count"], "replay_kinds"
    )
    experiments = in_order(replay_kinds["experiment"], EXPERIMENTS)
    chains = in_order(replay_kinds["chains"], ("within_event", "across_events"))
    if not experiments:
        raise ValueError("replay_kinds is empty: there are no kinds of replay to draw.")
    n_learners = replay_kinds["learner"].nunique()
    panel_height = 0.16 * n_learners + 0.45
    figure = new_figure(FULL_WIDTH, panel_height * len(experiments) + 0.5)
    axes = figure.subplots(len(experiments), len(chains), squeeze=False, sharex=True)
    for i, experiment in enumerate(experiments):
        for j, chaining in enumerate(chains):
            ax = axes[i, j]
            rows = replay_kinds[
                (replay_kinds["experiment"] == experiment) & (replay_kinds["chains"] == chaining)
            ]
            draw_replay_kinds(rows, ax)
            ax.set_title(f"{label(experiment)}, {label(chaining).lower()}")
            if i + 1 < len(experiments):
                ax.set_xlabel("")
            if j:
                ax.set_yticklabels([])
    letter_panels(axes.ravel())
    _kinds_legend(figure, replay_kinds)
    return figure


@styled
def replay_over_time_figure(replay_over_time: pd.DataFrame) -> Figure:
    """Make the figure of kinds of replay over learning in one experiment: a panel for each learner.

    Parameters
    ----------
    replay_over_time : pandas.DataFrame
        Rows of one experiment of `replay_over_time.csv`: `learner, time_step, kind, count, share`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, the table is empty or holds several experiments.
    """
    require_columns(replay_over_time, ["learner", "time_step", "kind", "count"], "replay_over_time")
    if "experiment" in replay_over_time and len(replay_over_time["experiment"].unique()) > 1:
        raise ValueError("replay_over_time holds several experiments: choose one for a figure.")
    learners = in_order(replay_over_time["learner"], LEARNERS)
    if not learners:
        raise ValueError("replay_over_time is empty: there is no replay to draw.")
    n_columns = min(3, len(learners))
    n_rows = -(-len(learners) // n_columns)
    figure = new_figure(FULL_WIDTH, 1.15 * n_rows + 0.6)
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    for ax in axes.ravel()[len(learners) :]:
        ax.set_axis_off()
    for ax, learner in zip(axes.ravel(), learners, strict=False):
        draw_replay_over_time(replay_over_time[replay_over_time["learner"] == learner], ax)
        ax.set_title(label(learner))
        time_axis(ax, replay_over_time["time_step"].max())
    for ax in axes.ravel()[: max(len(learners) - n_columns, 0)]:
        ax.set_xlabel("")
    figure.supylabel("Share of chains", fontsize=7)
    _kinds_legend(figure, replay_over_time)
    return figure


def _kinds_legend(figure: Figure, table: pd.DataFrame) -> None:
    kinds = in_order(table.loc[table["count"] > 0, "kind"], KINDS)
    handles = [Patch(color=KIND_COLOURS.get(kind, "0.6"), label=label(kind)) for kind in kinds]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, handlelength=1)
