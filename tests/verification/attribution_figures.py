"""Whether a replayed sequence can be attributed to one episode, over learning and by length."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from analyses.plots.layers import draw_curves
from analyses.plots.panels import NEW, add_own_legend, drawing, grid, keep_outer_labels
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    Look,
    count_range,
    label,
    own_looks,
    write_empty,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER, in_order
from replay.checks import check_table

__all__ = ["attribution_figure", "attribution_length_figure", "plot_attribution"]

_LOOKS: dict[str, Look] = {
    "one": {"label": "In one episode", "color": "#0072b2", "marker": "o"},
    "several": {"label": "In several", "color": "#009e73", "marker": "s"},
    "none": {"label": "In none as a whole", "color": "#d55e00", "marker": "D"},
    "moves": {
        "label": "Single moves, in one episode",
        "color": "#56b4e9",
        "linestyle": (0, (1, 1)),
    },
}
_HATCHES: dict[str, Look] = {"several": {"hatch": "/////"}, "none": {"hatch": "....."}}
_SHORT = 8
_BAR = 1.08  # a bar reaches from the length divided by this to the length times this
_WHISKER: Look = {"color": "black", "linewidth": 0.7}
_LINE = 16
_NARROW = 3.0  # cm, of a panel that has no room for a tick at each power of ten
_COLUMNS = ["of", "over", "up_to", "attribution", "count", "share", "ci_low", "ci_high"]


@drawing
def plot_attribution(
    table: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the shares of one learner in one world: curves over episodes, stacked bars by length.

    Whiskers are intervals; in a stack, those of the lowest share and of the highest one, which
    hangs from 1.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of ``attribution.csv``, all over episodes or all over lengths, with each share once.
        Over episodes, a dotted line is the share of single moves that were made in one episode;
        other moves were made in several.

    Raises
    ------
    ValueError
        If columns are missing, or a share has several rows.

    Examples
    --------
    >>> table = pd.DataFrame({"of": "sequences", "over": "episode", "up_to": [1, 2], "count": 5,
    ...                       "attribution": "one", "share": [1.0, 0.4], "ci_low": [1.0, 0.2],
    ...                       "ci_high": [1.0, 0.7]})
    >>> plot_attribution(table).lines[0].get_ydata().tolist()
    [1.0, 0.4]
    """
    check_table(table, _COLUMNS, "attribution")
    if len(table["over"].unique()) > 1 or table.duplicated(["of", "up_to", "attribution"]).any():
        raise ValueError(
            "A share has several rows: choose one experiment, learner and view, or use "
            "attribution_figure."
        )
    looks = own_looks(_LOOKS)
    of_sequences = {name: looks[name] for name in ("one", "several", "none")}
    known = table.dropna(subset=["share"]).sort_values("up_to")
    known = known.assign(up_to=known["up_to"].astype(int))
    by_length = bool((table["over"] == "length").any())
    if by_length:
        looks = _areas(of_sequences)
        _stack(known[known["of"] == "sequences"], ax, looks)
    else:
        _draw_curves(known, ax, of_sequences, looks["moves"])
    ax.set(xscale="log", ylim=(-0.04, 1.04), yticks=[0, 0.5, 1])
    is_short = by_length and known["up_to"].max() <= _SHORT
    ticks = FixedLocator(range(2, _SHORT + 1)) if is_short else LogLocator(2 if by_length else 10)
    ax.xaxis.set_major_locator(ticks)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    add_own_legend(ax, looks.values())
    return ax


def _draw_curves(
    known: pd.DataFrame, ax: Axes, of_sequences: Mapping[str, Look], of_moves: Look
) -> None:
    is_move = known["of"] == "moves"
    draw_curves(
        known[~is_move],
        ax,
        "up_to",
        "share",
        "attribution",
        of_sequences,
        shade=None,
        linewidth=1,
        pointsize=1.5,
    )
    moves = known[is_move & (known["attribution"] == "one")].assign(attribution="moves")
    moves = moves.drop(columns=["ci_low", "ci_high"])
    if len(moves):
        draw_curves(moves, ax, "up_to", "share", "attribution", {"moves": of_moves}, linewidth=1)


def _areas(looks: Mapping[str, Look]) -> dict[str, Look]:
    kept = ("label", "color")
    return {
        name: {key: look[key] for key in kept} | _HATCHES.get(name, {})
        for name, look in looks.items()
        if name != "moves"
    }


def _stack(known: pd.DataFrame, ax: Axes, looks: Mapping[str, Look]) -> None:
    base = pd.Series(0.0, index=sorted(known["up_to"].unique()))
    left, right = base.index / _BAR, base.index * _BAR
    for name, look in looks.items():
        own = known[known["attribution"] == name].set_index("up_to")
        high = own["share"].reindex(base.index, fill_value=0.0)
        ax.bar(left, high, right - left, base, align="edge", edgecolor="white", linewidth=0, **look)
        base = base + high
        ends = own[["ci_low", "ci_high"]]
        if name != "several":
            ax.vlines(own.index, *(1 - ends if name == "none" else ends).to_numpy().T, **_WHISKER)


@drawing
def attribution_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure over learning: learners in rows, experiments in columns.

    Parameters
    ----------
    table : pandas.DataFrame
        The table `attribution.csv`; see `attribution.summarise_attribution`.
    """
    return _grid(table, "episode", "Episode", width_cm)


@drawing
def attribution_length_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure by length: learners in rows, experiments in columns.

    Parameters
    ----------
    table : pandas.DataFrame
        The table `attribution.csv`; see `attribution.summarise_attribution`.
    """
    return _grid(table, "length", "States", width_cm)


def _grid(table: pd.DataFrame, over: str, what: str, width_cm: float) -> Figure:
    check_table(table, ["experiment", "learner", *_COLUMNS], "attribution")
    table = check_table(table[table["over"] == over], [], "attribution", empty=False)
    experiments = in_order(table["experiment"], EXPERIMENT_ORDER)
    total = table[table["of"] == "sequences"].groupby("learner", observed=True)["count"].sum()
    silent = [name for name in in_order(table["learner"], LEARNER_ORDER) if not total.get(name)]
    replaying = [name for name in total.index if name not in silent]
    learners = in_order(replaying or silent, LEARNER_ORDER)
    learners.sort(key=lambda name: name != "episodic_control")
    has_moves = over == "episode" and (table["of"] == "moves").any()
    looks = own_looks(_LOOKS) if over == "episode" else _areas(own_looks(_LOOKS))
    figure, axes = grid(
        [label(name) for name in experiments] + [""] * (len(learners) - 1) * len(experiments),
        len(experiments),
        0.98,
        width_cm=width_cm,
        legend=[look for name, look in looks.items() if has_moves or name != "moves"],
        letters=False,
        note=_note(table, silent),
        ylabel="Share of replayed sequences",
        sharex="col",
        sharey=True,
    )
    panels = [(learner, experiment) for learner in learners for experiment in experiments]
    for ax, (learner, experiment) in zip(axes, panels, strict=True):
        rows = table[(table["learner"] == learner) & (table["experiment"] == experiment)]
        if rows.loc[rows["of"] == "sequences", "count"].sum():
            plot_attribution(rows, ax)
        else:
            write_empty(ax, "no sequence")
        if width_cm < _NARROW * len(experiments):
            ax.xaxis.set_major_locator(LogLocator(100))
        ax.set(xlabel=what, ylabel="\n".join(wrap(label(learner), _LINE)))
    keep_outer_labels(axes)
    return figure


def _note(table: pd.DataFrame, silent: list[str]) -> str:
    n = count_range(table.get("n_mdps", ()), "world")
    many = count_range([table.loc[table["of"] == "sequences", "count"].sum()], "sequence")
    return (
        f"{many} of three or more states"
        + (f" in {n} per experiment" if n else "")
        + ". Thin lines: 95 % intervals over worlds. A gap: no such sequence."
        + (f" No sequence at all: {', '.join(map(label, silent))}." if silent else "")
    )
