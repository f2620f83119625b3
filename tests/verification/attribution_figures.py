"""Whether a replayed sequence can be attributed to one episode, over learning and by length."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from analyses.plots.layers import draw_curves
from analyses.plots.panels import (
    NEW,
    add_own_legend,
    drawing,
    fitting_columns,
    grid,
    keep_outer_labels,
)
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    Look,
    count_range,
    label,
    learner_looks,
    marked,
    own_looks,
    write_empty,
)
from analyses.tables import EXPERIMENT_ORDER, LEARNER_ORDER, in_order
from replay.checks import check_table

__all__ = ["attribution_figure", "attribution_length_figure", "plot_attribution"]

_LOOKS: dict[str, Look] = {
    "one": {"label": "In one episode", "color": "#000000", "marker": "o"},
    "several": {"label": "In several", "color": "#999933", "marker": "s"},
    "none": {"label": "In none as a whole", "color": "#aa3377", "marker": "D"},
    "moves": {
        "label": "Single moves, in one episode",
        "color": "#7f7f7f",
        "linestyle": (0, (1, 1)),
    },
}
_SHORT = 8  # states, up to which each length has a tick
_LINE = 16
_NARROW = 3.0  # cm, of a panel that has no room for a tick at each power of ten
_COLUMNS = ["of", "over", "up_to", "attribution", "count", "share", "ci_low", "ci_high"]


@drawing
def plot_attribution(
    table: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the shares of one learner in one world over episodes, with their intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of ``attribution.csv`` over episodes, with each share once. A dotted line is the share
        of single moves that were made in one episode; other moves were made in several.

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
    known = table.dropna(subset=["share"]).sort_values("up_to")
    is_move = known["of"] == "moves"
    of_sequences = {name: looks[name] for name in ("one", "several", "none")}
    _draw(known[~is_move], ax, "attribution", of_sequences)
    moves = known[is_move & (known["attribution"] == "one")].assign(attribution="moves")
    moves = moves.drop(columns=["ci_low", "ci_high"])
    if len(moves):
        draw_curves(
            moves, ax, "up_to", "share", "attribution", {"moves": looks["moves"]}, linewidth=1
        )
        _set_axes(ax)  # which seaborn has made linear
    add_own_legend(ax, looks.values())
    return ax


def _draw(known: pd.DataFrame, ax: Axes, by: str, looks: Mapping[str, Look]) -> None:
    """Draw shares over a logarithmic axis, with intervals."""
    known = known.assign(up_to=known["up_to"].astype(int))
    draw_curves(
        known, ax, "up_to", "share", by, looks, shade=None, linewidth=1, pointsize=1.5
    )  # fmt: skip
    _set_axes(ax)


def _set_axes(ax: Axes) -> None:
    ax.set(xscale="log", ylim=(-0.04, 1.04), yticks=[0, 0.5, 1])
    ax.xaxis.set_major_locator(LogLocator(10))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


@drawing
def attribution_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure over learning: learners in rows, experiments in columns.

    Parameters
    ----------
    table : pandas.DataFrame
        The table `attribution.csv`; see `attribution.summarise_attribution`.
    """
    table, experiments, learners, note = _parts(table, "episode")
    has_moves = (table["of"] == "moves").any()
    figure, axes = grid(
        [label(name) for name in experiments] + [""] * (len(learners) - 1) * len(experiments),
        len(experiments),
        0.98,
        width_cm=width_cm,
        legend=[look for name, look in own_looks(_LOOKS).items() if has_moves or name != "moves"],
        letters=False,
        note=note,
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
        ax.set(xlabel="Episode", ylabel="\n".join(wrap(label(learner), _LINE)))
    keep_outer_labels(axes)
    return figure


@drawing
def attribution_length_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure by length: how many sequences come from one episode, in each experiment.

    Parameters
    ----------
    table : pandas.DataFrame
        The table `attribution.csv`; see `attribution.summarise_attribution`.
    """
    table, experiments, learners, note = _parts(table, "length")
    looks = marked(learner_looks(learners))
    of_one = table[(table["of"] == "sequences") & (table["attribution"] == "one")]
    figure, axes = grid(
        [label(name) for name in experiments],
        fitting_columns(len(experiments), width_cm, 4.0),
        1.4,
        width_cm=width_cm,
        legend=looks.values(),
        letters=False,
        note=note,
        ylabel="Share from one episode",
        sharey=True,
    )
    for ax, experiment in zip(axes, experiments, strict=True):
        rows = of_one[of_one["experiment"] == experiment].dropna(subset=["share"])
        _draw(rows.sort_values("up_to"), ax, "learner", looks)
        lengths = sorted(rows["up_to"].unique())
        if lengths and lengths[-1] <= _SHORT:
            ax.xaxis.set_major_locator(FixedLocator(lengths))
        else:
            ax.xaxis.set_major_locator(LogLocator(4))
        ax.set(xlabel="States in the sequence", ylabel="")
    return figure


def _parts(table: pd.DataFrame, over: str) -> tuple[pd.DataFrame, list[str], list[str], str]:
    """Return the rows over episodes or lengths, their experiments and learners, and a note."""
    check_table(table, ["experiment", "learner", *_COLUMNS], "attribution")
    table = check_table(table[table["over"] == over], [], "attribution", empty=False)
    of_sequences = table[table["of"] == "sequences"]
    total = of_sequences.groupby("learner", observed=True)["count"].sum()
    silent = [name for name in in_order(table["learner"], LEARNER_ORDER) if not total.get(name)]
    learners = in_order([name for name in total.index if name not in silent], LEARNER_ORDER)
    learners = learners or silent
    learners.sort(key=lambda name: name != "episodic_control")
    n = count_range(table.get("n_mdps", ()), "world")
    note = (
        count_range([of_sequences["count"].sum()], "sequence")
        + " of three or more states"
        + (f" in {n} per experiment" if n else "")
        + ". Bars: 95 % intervals over worlds. A gap: no such sequence."
        + (f" No sequence at all: {', '.join(map(label, silent))}." if silent else "")
    )
    return table, in_order(table["experiment"], EXPERIMENT_ORDER), learners, note
