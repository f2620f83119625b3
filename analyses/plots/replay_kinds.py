"""Shares of the kinds of replay, by learner and over the course of learning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.layers import draw, hatch, nominal, whiskers
from analyses.plots.panels import (
    NEW,
    add_note,
    add_own_legend,
    drawing,
    fitting_columns,
    grid,
    keep_outer_labels,
    own_figure,
)
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    SMALL,
    Look,
    count_range,
    kind_looks,
    label,
    time_axis,
    write_empty,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER, in_order
from replay.checks import check_table

_CHAINS = {"within_event": "within", "across_events": "across"}
_TREES = {name for name in EXPERIMENT_ORDER if "tree" in name}
_WHOLE = 0.9999  # of a stack that fills the axis, whose end needs no whisker
_FEW = 30  # sequences, in whose shares chance has the larger part
_ROW, _AXIS = 0.19, 0.55  # inches, of a learner and below the last one
_VISIBLE = 0.005  # share of an axis that is wider than a line


@drawing
def plot_replay_kinds(
    replay_kinds: pd.DataFrame,
    ax: Axes = NEW,
    sizes: Mapping[str, str] | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the shares of kinds of replay as one stacked bar per learner.

    A whisker at the end of a segment is the interval of that segment's own share; the last segment
    of a bar, which ends at 1, has none. The number of sequences is written to the right of each
    bar.

    Parameters
    ----------
    replay_kinds : pandas.DataFrame
        Columns `learner, kind, count` of one experiment and one kind of chains, and `share, ci_low,
        ci_high` if there are intervals.
    sizes : mapping of str to str, optional
        Text to the right of each learner's bar; by default the number of its sequences.

    Raises
    ------
    ValueError
        If columns are missing, or a learner has several rows of one kind.

    Examples
    --------
    >>> table = pd.DataFrame({"learner": "q_lambda", "kind": ["reverse_episode", "novel_path"],
    ...                       "count": [3, 1]})
    >>> [float(bar.get_width()) for bar in plot_replay_kinds(table).patches]
    [0.75, 0.25]
    """
    check_table(replay_kinds, ["learner", "kind", "count"], "replay_kinds", empty=False)
    if replay_kinds.duplicated(["learner", "kind"]).any():
        raise ValueError(
            "A learner has several rows of one kind: choose one experiment and one kind of "
            "chains, or use replay_kinds_figure."
        )
    learners = in_order(replay_kinds["learner"], LEARNER_ORDER)
    counted = replay_kinds.groupby("learner", observed=True)["count"].sum()
    if "share" not in replay_kinds:
        of_learner = replay_kinds["learner"].map(counted).astype(float)
        replay_kinds = replay_kinds.assign(share=replay_kinds["count"] / of_learner)
    looks = kind_looks(replay_kinds["kind"])
    bars = replay_kinds.assign(
        learner=replay_kinds["learner"].astype(object),
        kind=pd.Categorical(replay_kinds["kind"].astype(object), list(looks)),
        share=replay_kinds["share"].where(replay_kinds["count"] > 0),
    ).sort_values("kind", kind="stable", ignore_index=True)
    plot = so.Plot(bars, x="share", y="learner", color="kind")
    plot = plot.add(so.Bar(width=0.72, alpha=1, edgewidth=0), so.Stack(), orient="y", legend=False)
    if "ci_low" in bars and bars["ci_low"].notna().any():
        end = bars.groupby("learner")["share"].cumsum()
        # The interval of a share lies around the end of its bar, which stands on those before.
        ends = {name: end + bars[name] - bars["share"] for name in ("ci_low", "ci_high")}
        plot = whiskers(plot, bars[(bars["share"] > 0) & (end < _WHOLE)].assign(**ends), "x")
    draw(plot.scale(color=nominal(looks), y=so.Nominal(order=learners)), ax)
    hatch(ax, looks.values())
    for height, learner in enumerate(learners):
        if total := counted[learner]:
            place = (1.02, height)
            text = f"{total:,}" if sizes is None else sizes[learner]
            ax.annotate(text, place, va="center", fontsize=SMALL, annotation_clip=False)
        else:
            ax.annotate("no sequence", (0.02, height), va="center", color="0.45")
    ax.set_yticks(range(len(learners)), [label(name) for name in learners])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(0, 1), ylim=(len(learners) - 0.4, -0.6), xlabel="Share of sequences")
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    if figure := own_figure(ax):
        figure.set_figheight(_ROW * len(learners) + _AXIS)
        add_note(
            figure,
            "Of sequences of three or more states; their number is at the right."
            + " Whiskers: 95 % intervals." * ("ci_low" in bars),
        )
    add_own_legend(ax, _occurring(replay_kinds))
    return ax


@drawing
def plot_replay_over_time(
    replay_over_time: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the shares of kinds of replay of one learner over the course of learning.

    Parameters
    ----------
    replay_over_time : pandas.DataFrame
        Columns `time_step, kind, count, share` of one learner in one experiment; `time_step` is the
        end of a window. A window without replay leaves a gap; one with fewer than 30 sequences is
        pale.

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
    >>> bars = plot_replay_over_time(table).collections[0]
    >>> [float(bar.vertices[:, 0].min()) for bar in bars.get_paths()]
    [0.0, 10.0]
    """
    check_table(replay_over_time, ["time_step", "kind", "count", "share"], "replay_over_time")
    if replay_over_time.duplicated(["time_step", "kind"]).any():
        raise ValueError(
            "A window has several rows of one kind: choose one experiment and one learner, or use "
            "replay_over_time_figure."
        )
    looks = kind_looks(replay_over_time["kind"])
    if replay_over_time["count"].sum():
        # Each window is a stacked bar from its beginning to its end.
        ends = np.unique(replay_over_time["time_step"])
        width = np.diff(ends, prepend=0).min()
        bars = replay_over_time.assign(
            kind=pd.Categorical(replay_over_time["kind"].astype(object), list(looks)),
            middle=replay_over_time["time_step"] - width / 2,
        ).sort_values("kind", kind="stable", ignore_index=True)
        spacing = np.diff(ends).min() if len(ends) > 1 else 1  # seaborn's unit of width
        # Edges close the gaps that renderers leave between bars.
        mark = so.Bars(width=float(width / spacing), alpha=1, edgewidth=0.2)
        plot = so.Plot(bars, x="middle", y="share", color="kind", edgecolor="kind")
        plot = plot.add(mark, so.Stack(), orient="x", legend=False)
        draw(plot.scale(color=nominal(looks), edgecolor=nominal(looks)), ax)
        hatch(ax, looks.values())
        counted = replay_over_time.groupby("time_step")["count"].sum()
        for end in counted.index[counted < _FEW]:
            ax.axvspan(end - width, end, color="white", alpha=0.6, linewidth=0, zorder=3)
    else:
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        write_empty(ax, "no sequence")
    ax.set_ylim(0, 1)
    time_axis(ax, replay_over_time["time_step"].max())
    add_own_legend(ax, _occurring(replay_over_time))
    return ax


@drawing
def replay_kinds_figure(replay_kinds: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of kinds of replay, by learner, in each experiment, within and across events.

    Equal results are drawn once: experiments and chains in which all learners have the same shares,
    to a thousandth, share a panel. Learners without any sequence are named below.

    Parameters
    ----------
    replay_kinds : pandas.DataFrame
        The table ``replay_kinds.csv``. The rows of a learner without replay have count 0.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. The number of chains is written to the right of each bar.
    """
    columns = ["experiment", "chains", "learner", "kind", "count"]
    check_table(replay_kinds, columns, "replay_kinds", empty=False)
    experiments = in_order(replay_kinds["experiment"], EXPERIMENT_ORDER)
    total = replay_kinds.groupby("learner", observed=True)["count"].sum()
    silent = [str(name) for name in in_order(total.index[total == 0], LEARNER_ORDER)]
    # If no learner replays anything, all of them are shown.
    if len(silent) == len(total):
        silent = []
    table = replay_kinds[~replay_kinds["learner"].isin(silent)]
    # Experiments and chains in which all learners have the same shares, to a thousandth.
    alike: dict[object, list[tuple[str, str]]] = {}
    for experiment in experiments:
        for chains in in_order(table["chains"], tuple(_CHAINS)):
            own = table[(table["experiment"] == experiment) & (table["chains"] == chains)]
            own = own[own["count"] > 0]
            shares = zip(own["learner"], own["kind"], own["share"].round(3), strict=True)
            alike.setdefault(frozenset(shares), []).append((experiment, chains))
    panels = list(alike.values())
    n = count_range(table.get("n_units", ()), "world")
    visible = _occurring(table)
    some = kind_looks(table.loc[table["count"] > 0, "kind"].unique()).values()
    rare = [str(look["label"]).lower() for look in some if look not in visible]
    figure, axes = grid(
        [_described(pairs) for pairs in panels],
        fitting_columns(3, width_cm, 5.0),
        _ROW * table["learner"].nunique() + _AXIS,
        width_cm=width_cm,
        labels_cm=3.6,
        legend=visible,
        note="At the right: number of sequences of three or more states"
        + (f", in {n} per experiment" if n else "")
        + "; a range if a panel stands for several experiments. "
        "Whiskers: 95 % intervals over worlds."
        + (f" Too few to be visible: {', '.join(rare)}." if rare else "")
        + (f" No sequence: {', '.join(map(label, silent))}." if silent else ""),
        sharex=True,
        sharey=True,
    )
    for ax, pairs in zip(axes, panels, strict=True):
        rows = [
            table[(table["experiment"] == experiment) & (table["chains"] == chains)]
            for experiment, chains in pairs
        ]
        counts = [each.groupby("learner", observed=True)["count"].sum() for each in rows]
        sizes = {}
        for name in table["learner"].unique():
            ends = {f(int(count.get(name, 0)) for count in counts) for f in (min, max)}
            sizes[str(name)] = " to ".join(map(_rounded, sorted(ends)))
        plot_replay_kinds(rows[0], ax, sizes)
    keep_outer_labels(axes)
    return figure


def _described(pairs: list[tuple[str, str]]) -> str:
    """Write the title of a panel: its experiments and chains."""
    chains: dict[str, list[str]] = {}
    for experiment, chaining in pairs:
        chains.setdefault(experiment, []).append(_CHAINS.get(chaining, chaining))
    names: dict[str, list[str]] = {}
    for experiment, some in chains.items():
        names.setdefault(f"{' and '.join(some)} events", []).append(experiment)
    return "; ".join(
        f"{'All trees' if {*own} >= _TREES else '; '.join(map(label, own))}: {some}"
        for some, own in names.items()
    )


def _rounded(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1e6:.1f}M"
    return f"{count / 1e3:.0f}k" if count >= 10_000 else f"{count:,}"


@drawing
def replay_over_time_figure(
    replay_over_time: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of kinds of replay over learning in one experiment, one panel per learner.

    Parameters
    ----------
    replay_over_time : pandas.DataFrame
        Rows of ``replay_over_time.csv`` of one experiment.
    """
    columns = ["learner", "time_step", "kind", "count"]
    check_table(replay_over_time, columns, "replay_over_time", empty=False)
    if "experiment" in replay_over_time and len(replay_over_time["experiment"].unique()) > 1:
        raise ValueError("replay_over_time holds several experiments: choose one for a figure.")
    learners = in_order(replay_over_time["learner"], LEARNER_ORDER)
    total = replay_over_time.groupby("learner", observed=True)["count"].sum()
    silent = [name for name in learners if total[name] == 0]
    learners = [name for name in learners if total[name] > 0] or learners
    figure, axes = grid(
        [f"{label(learner)} ({_rounded(int(total[learner]))})" for learner in learners],
        fitting_columns(3, width_cm, 4.0),
        1.15,
        width_cm=width_cm,
        legend=_occurring(replay_over_time),
        letters=False,
        note="In brackets: number of sequences of three or more states. A gap: no replay. Pale: "
        f"fewer than {_FEW} sequences."
        + (f" No sequence at all: {', '.join(map(label, silent))}." if silent else ""),
        ylabel="Share of sequences",
    )
    for ax, learner in zip(axes, learners, strict=True):
        plot_replay_over_time(replay_over_time[replay_over_time["learner"] == learner], ax)
        time_axis(ax, replay_over_time["time_step"].max())
    keep_outer_labels(axes)
    return figure


def _occurring(table: pd.DataFrame) -> list[Look]:
    """Return the looks of the kinds that are visible somewhere."""
    seen = (table["count"] > 0) & (table["share"] > _VISIBLE)
    return list(kind_looks(table.loc[seen, "kind"]).values())
