"""Figures of the studies of changing worlds, of bounded memory, and of what learners need."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from analyses.plots.layers import draw, draw_curves, hatch, nominal
from analyses.plots.learners import AXES, NAMES_CM, ROW, rows_of_learners, shade
from analyses.plots.panels import NEW, add_own_legend, drawing, grid, own_figure
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    Look,
    count_range,
    kind_looks,
    label,
    learner_looks,
    own_looks,
    time_axis,
    write_empty,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER, in_order
from replay.checks import check_table

_RATES = ["learner", "phase", "time_step", "mean", "ci_low", "ci_high"]
_REPLAY = ["learner", "phase", "period", "kind", "per_step"]
_PERIODS = ("before", "after")
_WIDTH = 0.75  # of the bars of a learner, in rows
_MEMORY_COLUMNS = ["retention", "capacity", "n_transitions", "mean", "ci_low", "ci_high"]
_MEMORY_LOOKS: dict[str, Look] = {
    "recent_episodes": {"label": "Recent episodes", "color": "#000000", "marker": "o"},
    "fading": {"label": "Fading trace", "color": "#999933", "marker": "s"},
    "recent_transitions": {"label": "Recent transitions", "color": "#aa3377", "marker": "^"},
    "valuable_transitions": {"label": "Valuable transitions", "color": "#e69f00", "marker": "D"},
    "everything": {"label": "Everything", "color": "0.4", "linestyle": "--"},
}
_UNITS = {
    "recent_episodes": "episodes",
    "fading": "episodes",
    "recent_transitions": "transitions",
    "valuable_transitions": "transitions",
}
_MEMORY_TICKS = 4  # on the axis of capacities, whose labels would overlap
_APART = 0.15  # of two memories of one capacity, in doublings, so that neither hides the other
_WORLDS = {
    "deterministic_tree_depth": "Tree, deeper",
    "deterministic_tree_actions": "Tree, wider",
    "stochastic_tree_depth": "Stochastic tree, deeper",
    "stochastic_tree_actions": "Stochastic tree, wider",
    "maze_size": "Maze, larger",
    "stochastic_tree_branching": "Stochastic tree, more outcomes",
    "maze_straying": "Maze, more moves stray",
}
_OPERATIONS = ["backups", "queue_operations", "comparisons"]
_DEMANDS = {"words": "Words held, at most", "operations": "Operations per step"}
_DOTS = (2.0, 14.0)  # square points, of the smallest and the largest world


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
    draw_curves(curves, ax, "time", "mean", "learner", looks, shade=shade(looks), linewidth=0.9)
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


@drawing
def plot_bounded_memory(
    table: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the reward rate of one experiment against the capacity of memory.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of ``bounded_memory.csv`` whose capacities are all in episodes or all in transitions.
        Those of infinite capacity stand at the right end and are the dashed line.

    Raises
    ------
    ValueError
        If columns are missing, or the table has several experiments or units of capacity.
    """
    check_table(table, _MEMORY_COLUMNS, "bounded_memory", empty=False)
    if "experiment" in table and len(table["experiment"].unique()) > 1:
        raise ValueError("Draw one experiment on one Axes; bounded_memory_figure draws several.")
    retentions = in_order(table["retention"], _UNITS)
    units = {_UNITS[name] for name in retentions}
    if len(units) > 1:
        raise ValueError("Draw capacities in episodes or in transitions on one Axes, not both.")
    looks = own_looks(_MEMORY_LOOKS)
    bounds = sorted(table.loc[np.isfinite(table["capacity"]), "capacity"].unique()) or [1.0]
    # Infinity has no place on the axis; one at the right, apart from the largest bound.
    unbounded_at = 4 * bounds[-1]
    shifts = {
        name: 2 ** (_APART * (2 * k - len(retentions) + 1)) for k, name in enumerate(retentions)
    }
    shift = table["retention"].map(shifts)
    draw_curves(
        table.assign(at=table["capacity"].replace(np.inf, unbounded_at) * shift).sort_values("at"),
        ax,
        "at",
        "mean",
        "retention",
        {name: looks[name] for name in retentions},
        shade=None,
        fillcolor="white",
        pointsize=2.8,
        linewidth=0.8,
    )
    unbounded = table[np.isinf(table["capacity"])]
    if len(unbounded):
        ax.axhline(unbounded["mean"].iloc[0], linewidth=0.8, zorder=1, **looks["everything"])
    ax.set_xscale("log", base=2)
    shown = bounds[:: -(-len(bounds) // _MEMORY_TICKS)]
    ax.set_xticks([*shown, unbounded_at], [*(f"{each:g}" for each in shown), "all"])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(f"Capacity ({units.pop()})")
    ax.margins(y=0.08)
    ax.yaxis.set_major_locator(MaxNLocator(4))
    add_own_legend(ax, [looks[name] for name in [*retentions, "everything"]])
    return ax


@drawing
def bounded_memory_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of reward rate against memory: a row for each experiment.

    Memories of episodes are on the left, memories of transitions on the right.

    Parameters
    ----------
    table : pandas.DataFrame
        The table `bounded_memory.csv`; see
        :func:`analyses.studies.bounded_memory.summarise_bounded_memory`.
    """
    check_table(table, ["experiment", *_MEMORY_COLUMNS], "bounded_memory", empty=False)
    experiments = in_order(table["experiment"], EXPERIMENT_ORDER)
    units = list(dict.fromkeys(_UNITS[name] for name in in_order(table["retention"], _UNITS)))
    looks = own_looks(_MEMORY_LOOKS)
    shown = [looks[name] for name in in_order(table["retention"], looks)]
    n = count_range(table.get("n_mdps", ()), "world")
    one = table[(table["retention"].map(_UNITS) == "episodes") & (table["capacity"] == 1)]
    held = count_range(one["n_transitions"].round(), "transition")
    panels = [(experiment, unit) for experiment in experiments for unit in units]
    figure, axes = grid(
        [label(experiment) if unit == units[0] else "" for experiment, unit in panels],
        len(units),
        1.35,
        width_cm=width_cm,
        legend=[*shown, looks["everything"]],
        note="Means over a whole run; 0 is the random policy, 1 the optimal one. Each row has its "
        "own scale. Bars: 95 % intervals"
        + (f" over {n} per experiment." if n else " over worlds.")
        + (f" A memory of one episode held {held} at most, by experiment." if held else ""),
        ylabel="Normalised reward rate",
        letters=False,
        sharey="row",
    )
    for k, (ax, (experiment, unit)) in enumerate(zip(axes, panels, strict=True)):
        is_shown = (table["experiment"] == experiment) & (table["retention"].map(_UNITS) == unit)
        plot_bounded_memory(table[is_shown], ax)
        if k < len(axes) - len(units):
            ax.set_xlabel("")
    return figure


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
    """
    if what not in _DEMANDS:
        raise ValueError(f"what must be one of {', '.join(_DEMANDS)}; got {what!r}.")
    needed = ["words"] if what == "words" else _OPERATIONS
    check_table(table, ["learner", "size", "n_states", "n_actions", *needed], "demands")
    looks = learner_looks(table["learner"]) if looks is None else looks
    if figure := own_figure(ax):
        figure.set_figheight(ROW * len(looks) + AXES)
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
        ROW * len(looks) + AXES,
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
