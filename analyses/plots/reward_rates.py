"""Reward rates: learning curves (figure 1 of the paper), changes of a world, sweeps, and memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from scipy import stats

from analyses.plots.layers import draw, draw_curves, hatch, nominal
from analyses.plots.panels import NEW, add_own_legend, drawing, fitting_columns, grid, new_figure
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    INCH,
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

__all__ = ["bounded_memory_figure", "changes_figure", "learning_curves_figure"]
__all__ += ["plot_bounded_memory", "plot_change_rates", "plot_change_replay"]
__all__ += ["plot_learning_curves", "plot_sweep", "sweep_figure"]

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
    draw_curves(curves, ax, "time_step", "mean", "learner", looks, shade=_shade(looks))
    for level in (0, 1):
        ax.axhline(level, color="0.75", linewidth=0.6, zorder=0)
    ax.set_ylim(min(-0.1, curves["mean"].min() - 0.05), max(1.1, curves["mean"].max() + 0.05))
    ax.set_ylabel("Normalised reward rate")
    time_axis(ax, curves["time_step"].max())
    add_own_legend(ax, looks.values())
    return ax


def _shade(looks: Mapping[str, Look]) -> float:
    """Return how dark bands are: those of many learners lie over one another."""
    return 0.15 if len(looks) <= _FEW else 0.07


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
        The table ``single_runs.parquet``, drawn if there are at most three learners.
    """
    check_table(reward_rate, ["experiment"], "reward_rate", empty=False)
    experiments = in_order(reward_rate["experiment"], EXPERIMENT_ORDER)
    looks = learner_looks(reward_rate["learner"])
    titles = []
    for name in experiments:
        n = count_range(reward_rate[reward_rate["experiment"] == name].get("n_mdps", ()), "world")
        titles.append(f"{label(name)} ({n})" if n else label(name))
    # Single runs of many learners hide one another, and the means.
    runs = single_runs if len(looks) <= _FEW else None
    has_runs = runs is not None and len(runs) > 0
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
        own = None if runs is None else runs[runs["experiment"] == experiment]
        curves = reward_rate[reward_rate["experiment"] == experiment]
        plot_learning_curves(curves, ax, own, looks)
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
    draw_curves(curves, ax, "time", "mean", "learner", looks, shade=_shade(looks), linewidth=0.9)
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


_COLUMNS = ["seed", "time_step", "reward_rate"]
_LOG_RATIO = 9.0  # least ratio of the largest to the smallest value
_MOST_TICKS = 7
_COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_MARKERS = "osD^v*"
_LOOKS: dict[str, Look] = {
    "recent_episodes": {"label": "Recent episodes", "color": "#0072b2", "marker": "o"},
    "fading": {"label": "Fading trace", "color": "#009e73", "marker": "s"},
    "recent_transitions": {"label": "Recent transitions", "color": "#d55e00", "marker": "^"},
    "valuable_transitions": {"label": "Valuable transitions", "color": "#cc79a7", "marker": "D"},
}
_UNITS = {
    "recent_episodes": "episodes",
    "fading": "episodes",
    "recent_transitions": "transitions",
    "valuable_transitions": "transitions",
}
_MEMORY_TICKS = 4
_APART = 0.15  # of two memories of one capacity, in doublings, so that neither hides the other
_LOOKS["everything"] = {"label": "Everything", "color": "0.4", "linestyle": "--"}
_MEMORY_COLUMNS = ["retention", "capacity", "n_transitions", "mean", "ci_low", "ci_high"]


@drawing
def plot_sweep(table: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH) -> Axes:
    """Draw the mean reward rate of whole runs against a parameter.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `replay.sweep`: `seed, time_step, reward_rate`, and one or two parameters, of
        which the first is the axis and the second the colour. Points are means over seeds, bars
        their 95 % Student-t intervals.

    Raises
    ------
    ValueError
        If columns are missing, or the number of parameters is neither one nor two.

    Examples
    --------
    >>> table = pd.DataFrame({"learning_rate": [0.1, 0.1, 0.5, 0.5], "seed": [0, 1, 0, 1],
    ...                       "time_step": 100, "reward_rate": [0.1, 0.3, 0.4, 0.6]})
    >>> plot_sweep(table).lines[0].get_ydata().tolist()
    [0.2, 0.5]
    """
    check_table(table, _COLUMNS, "table")
    parameters = [str(name) for name in table if name not in _COLUMNS]
    if not 1 <= len(parameters) <= 2:
        raise ValueError(f"table must have one parameter or two to draw, got {parameters}.")
    runs = table.groupby([*parameters, "seed"])["reward_rate"].mean()
    means = runs.groupby(parameters).agg(["mean", "sem", "count"]).reset_index()
    half_width = means["sem"] * stats.t.ppf(0.975, means["count"] - 1)
    means = means.assign(half_width=half_width.fillna(0.0))  # none of a single run
    across, *other = parameters
    parts = {str(key): rows for key, rows in means.groupby(other[0])} if other else {"": means}
    for number, (value, rows) in enumerate(parts.items()):
        place = rows[across].to_numpy()
        ax.errorbar(
            place if rows[across].dtype.kind in "iuf" else place.astype(str),
            rows["mean"],
            yerr=rows["half_width"],
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=3,
            linewidth=0.9,
            capsize=1.5,
            label=f"{label(other[0])} {value}" if other else None,
        )
    values = means[across]
    if values.dtype.kind in "iuf" and values.min() > 0 < values.max() / values.min() - _LOG_RATIO:
        ax.set_xscale("log")
        if values.nunique() <= _MOST_TICKS:
            ax.set_xticks(
                sorted(values.unique()), [f"{each:g}" for each in sorted(values.unique())]
            )
            ax.minorticks_off()
    ax.set(xlabel=label(across).capitalize(), ylabel="Reward per step")
    n_runs = table["seed"].nunique()
    ax.set_title(f"Means over {n_runs} run{'s' * (n_runs != 1)}, with 95 % intervals")
    if other:
        ax.legend()
    return ax


@drawing
def sweep_figure(table: pd.DataFrame, *, width_cm: float = COLUMN_WIDTH) -> Figure:
    """Make the figure of a sweep: reward rate against a parameter.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `replay.sweep`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, as wide as a column.

    Raises
    ------
    ValueError
        If columns are missing, or the number of parameters is neither one nor two.
    """
    figure = new_figure(width_cm / INCH, 2.2)
    plot_sweep(table, figure.subplots())
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

    Examples
    --------
    >>> table = pd.DataFrame({"retention": "fading", "capacity": [1.0, 2.0], "mean": [0.2, 0.4],
    ...                       "n_transitions": [5, 9], "ci_low": [0.1, 0.3], "ci_high": 0.5})
    >>> plot_bounded_memory(table).lines[-1].get_xdata().tolist()
    [1.0, 2.0]
    """
    check_table(table, _MEMORY_COLUMNS, "bounded_memory", empty=False)
    if "experiment" in table and len(table["experiment"].unique()) > 1:
        raise ValueError("Draw one experiment on one Axes; bounded_memory_figure draws several.")
    retentions = in_order(table["retention"], _UNITS)
    units = {_UNITS[name] for name in retentions}
    if len(units) > 1:
        raise ValueError("Draw capacities in episodes or in transitions on one Axes, not both.")
    looks = own_looks(_LOOKS)
    bounds = sorted(table.loc[np.isfinite(table["capacity"]), "capacity"].unique()) or [1.0]
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
    looks = own_looks(_LOOKS)
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
