"""Replay in a recording: its kinds, epochs, and the evidence for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analyses.plots.panels import NEW, add_legend, add_note, drawing, new_figure
from analyses.plots.style import COLUMN_WIDTH, INCH, Look, count_range, label, write_empty
from analyses.tables import KINDS
from replay.checks import check_choice, check_column, check_table, shown

_RECORDED = "#aa3377"
_SIZE_COLOURS = ("#000000", "#6e6e6e", "#a0a0a0", "#44aa77", "#aa3377", "#e69f00")
_SIZE_MARKERS = "osD^v*"
_APART = 0.15  # rows, between points of different sizes of states
_FEWEST = 5  # events, of fewer than which a share says nothing
_KINDS = (*KINDS, "no_sequence")
_EVENT_LOOKS: dict[str, Look] = {
    "candidates": {"label": "Candidate events", "color": "0.75"},
    "replay": {"label": "Replay", "color": "#222222"},
}
_CHANCE: Look = {"label": "By chance", "color": _RECORDED, "linestyle": "none", "marker": "|"}
_MEASURES = {
    "candidates_per_minute": "Candidate events\nper minute",
    "replay_per_minute": "Replay events\nper minute",
    "replay_share": "Replay, share\nof candidates",
}
_TICKS, _LINEAR = (-100, -20, -5, 0, 5, 10, 20, 100, 500), 5.0  # nats


@drawing
def plot_recorded_kinds(
    kinds: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the share of each kind with its interval, side by side for each size of states.

    Of fewer than five events, it draws numbers instead of shares.

    Parameters
    ----------
    kinds : pandas.DataFrame
        The table ``kinds.csv`` of :func:`analyses.recordings.find_replay`.

    Examples
    --------
    >>> row = {"state_size": 15.0, "share": 0.2, "ci_low": 0.1, "ci_high": 0.4}
    >>> ax = plot_recorded_kinds(pd.DataFrame([row | {"kind": kind} for kind in KINDS]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['15 cm']
    """
    table = check_table(kinds, ["state_size", "kind", "share", "ci_low", "ci_high"], "kinds")
    check_column(table, "state_size", "kinds", kind="number")
    twice = table[table.duplicated(["state_size", "kind"])]
    if len(twice):
        raise ValueError(
            f"kinds has the kind {shown(twice['kind'].iloc[0])} twice for one state_size."
        )
    most = table["n_events"].max() if "n_events" in table else np.nan
    if len(table) and most == 0:
        ax.set_axis_off()
        return write_empty(ax, "No replay event has a sequence")
    # A share of one event, with an interval from nearly 0 to nearly 1, would look like a result.
    is_few = most < _FEWEST
    sizes = sorted(table["state_size"].unique())
    for number, size in enumerate(sizes):
        own = table[table["state_size"] == size].set_index("kind").reindex(_KINDS)
        place = np.arange(len(_KINDS)) + _APART * (number - (len(sizes) - 1) / 2)
        colour = _SIZE_COLOURS[number % len(_SIZE_COLOURS)]
        if not is_few:
            ax.hlines(place, own["ci_low"], own["ci_high"], color=colour, linewidth=1)
        ax.plot(
            own["n" if is_few else "share"], place, _SIZE_MARKERS[number % len(_SIZE_MARKERS)],
            color=colour, markersize=3, label=f"{size:g} cm", clip_on=False,
        )  # fmt: skip
    ax.set_yticks(range(len(_KINDS)), [label(kind) for kind in _KINDS])
    ax.invert_yaxis()
    n = count_range(table.get("n_events", ()), "replay event")
    if is_few:
        ax.set(xlabel=f"Number, of {n}:\ntoo few for shares", xlim=(-0.1, most + 0.1))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        ax.set_xlabel(f"Share of {n or 'replay events'}")
        ax.set_xlim(left=0)
    ax.legend(
        title="Size of states", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(sizes),
        columnspacing=1.2, handlelength=0.8,
    )  # fmt: skip
    return ax


@drawing
def recorded_kinds_figure(
    kinds: pd.DataFrame, *, note: str = "", width_cm: float = COLUMN_WIDTH
) -> Figure:
    """Make the figure of the kinds of replay in a recording.

    Parameters
    ----------
    kinds : pandas.DataFrame
        As for `plot_recorded_kinds`.
    note : str, optional
        A note below the panel, such as limits of these shares.

    Examples
    --------
    >>> row = {"state_size": 15.0, "share": 0.2, "ci_low": 0.1, "ci_high": 0.4}
    >>> figure = recorded_kinds_figure(pd.DataFrame([row | {"kind": kind} for kind in KINDS]))
    >>> len(figure.axes)
    1
    """
    figure = new_figure(width_cm / INCH, 0.7 * width_cm / INCH)
    plot_recorded_kinds(kinds, figure.subplots())
    if note:
        add_note(figure, note)
    return figure


@drawing
def plot_epoch_blocks(
    blocks: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the rates of candidate and replay events in blocks of time.

    Parameters
    ----------
    blocks : pandas.DataFrame
        The table ``epoch_blocks.csv`` of ``replay recording --epochs``.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; x is in min, y in events per observed minute. Epochs are named above.

    Examples
    --------
    >>> blocks = pd.DataFrame({"epoch": ["before", "after"], "start_time": [0.0, 60.0],
    ...                        "end_time": [60.0, 120.0], "observed": 60.0,
    ...                        "candidates": [4, 9], "replay": [0, 5]})
    >>> ax = plot_epoch_blocks(blocks)
    >>> [text.get_text() for text in ax.texts]
    ['before', 'after']
    """
    columns = ["epoch", "start_time", "end_time", "observed", *_EVENT_LOOKS]
    table = check_table(blocks, columns, "blocks", empty=False)
    table = table.sort_values("start_time", kind="stable")
    begin, end = (table[name].to_numpy(dtype=float) / 60 for name in ("start_time", "end_time"))
    minutes = table["observed"].to_numpy(dtype=float) / 60
    for name, look in _EVENT_LOOKS.items():
        rate = table[name].to_numpy(dtype=float) / minutes
        ax.bar(
            begin, rate, end - begin, align="edge", color=look["color"], label=look["label"],
            linewidth=0,
        )  # fmt: skip
    # An epoch in parts is named over each stretch of neighbouring blocks.
    is_new = table["epoch"].ne(table["epoch"].shift()).to_numpy()
    first = np.flatnonzero(is_new | (begin > np.append(begin[0], end[:-1]) + 1e-9))
    last = np.append(first[1:], len(table)) - 1
    apart = 0.003 * (end.max() - begin.min())
    for one, other in zip(first, last, strict=True):
        name = str(table["epoch"].iloc[one])
        ax.plot(
            [begin[one] + apart, end[other] - apart], [1.04, 1.04], color="0.3", linewidth=1.5,
            transform=ax.get_xaxis_transform(), clip_on=False, solid_capstyle="butt",
        )  # fmt: skip
        ax.text(
            (begin[one] + end[other]) / 2, 1.08, name, transform=ax.get_xaxis_transform(),
            ha="center", va="bottom",
        )  # fmt: skip
    ax.set(xlim=(begin.min(), end.max()), xlabel="Time (min)", ylabel="Events per minute")
    return ax


@drawing
def plot_epochs(
    epochs: pd.DataFrame,
    ax: Axes = NEW,
    *,
    measure: str = "replay_per_minute",
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw a rate or share in each epoch, with its interval.

    Parameters
    ----------
    epochs : pandas.DataFrame
        The table ``epochs.csv`` of ``replay recording --epochs``.
    measure : str, default "replay_per_minute"
        The measure, one of those in the table.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; ticks show the value expected by chance.

    Examples
    --------
    >>> row = {"measure": "replay_share", "label": "share", "value": 0.2, "ci_low": 0.1,
    ...        "ci_high": 0.4, "null": 0.02}
    >>> table = pd.DataFrame([row | {"epoch": epoch} for epoch in ("before", "after")])
    >>> [each.get_text() for each in plot_epochs(table, measure="replay_share").get_yticklabels()]
    ['before', 'after']
    """
    columns = ["epoch", "measure", "label", "value", "ci_low", "ci_high", "null"]
    table = check_table(epochs, columns, "epochs", empty=False)
    known = [str(each) for each in dict.fromkeys(table["measure"])]
    own = table[table["measure"] == check_choice("measure", measure, known)]
    place = np.arange(len(own))
    ax.hlines(place, own["ci_low"], own["ci_high"], color="black", linewidth=1)
    ax.plot(own["value"], place, "o", color="black", markersize=3, clip_on=False)
    if own["null"].notna().any():
        ax.plot(own["null"], place, markersize=6, clip_on=False, **_CHANCE)
    ax.set_yticks(place, own["epoch"].astype(str).tolist())
    ax.set_ylim(len(own) - 0.5, -0.5)
    ax.set_xlim(left=0)
    label = str(own["label"].iloc[0])
    ax.set_xlabel(_MEASURES.get(measure, label[:1].upper() + label[1:]))
    return ax


@drawing
def recorded_epochs_figure(
    epochs: pd.DataFrame, blocks: pd.DataFrame, *, width_cm: float = COLUMN_WIDTH
) -> Figure:
    """Make the figure of epochs: rates along time; and rates and shares with intervals.

    Parameters
    ----------
    epochs, blocks : pandas.DataFrame
        As for `plot_epochs` and `plot_epoch_blocks`.

    Examples
    --------
    >>> row = {"epoch": "after", "label": "", "value": 0.2, "ci_low": 0.1, "ci_high": 0.4,
    ...        "null": float("nan")}
    >>> blocks = pd.DataFrame([{"epoch": "after", "start_time": 0.0, "end_time": 60.0,
    ...                         "observed": 60.0, "candidates": 5, "replay": 1}])
    >>> names = ("candidates_per_minute", "replay_per_minute", "replay_share")
    >>> table = pd.DataFrame([row | {"measure": name} for name in names])
    >>> len(recorded_epochs_figure(table, blocks).axes)
    4
    """
    figure = new_figure(width_cm / INCH, 0.8 * width_cm / INCH)
    panels = figure.subplot_mosaic([["blocks"] * len(_MEASURES), [*_MEASURES]])
    plot_epoch_blocks(blocks, panels["blocks"])
    for measure in _MEASURES:
        plot_epochs(epochs, panels[measure], measure=measure)
    for measure in [*_MEASURES][1:]:
        panels[measure].tick_params(labelleft=False)
    looks = [*_EVENT_LOOKS.values()]
    if epochs.loc[epochs["measure"] == "replay_share", "null"].notna().any():
        looks.append(_CHANCE)
    add_legend(figure, looks, len(looks))
    return figure


@drawing
def plot_recorded_evidence(
    events: pd.DataFrame,
    chance: pd.DataFrame,
    controls: pd.DataFrame,
    ax: Axes = NEW,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the evidence for travel of each event above that of each control.

    Parameters
    ----------
    events : pandas.DataFrame
        The table ``events.csv`` of ``replay recording``: `evidence` (nats) and `is_replay`.
    chance : pandas.DataFrame
        The table ``chance.csv``: `control` and `evidence`.
    controls : pandas.DataFrame
        The table ``controls.csv``: `control`, `least_evidence` and `rate`.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`. A bar marks the least evidence that passes a control, and the line what passes all. At
        the right stands the share of events that do, and of each control that has as much.

    Examples
    --------
    >>> events = pd.DataFrame({"evidence": [1.0, 9.0], "is_replay": [False, True]})
    >>> chance = pd.DataFrame({"control": "sweeps", "evidence": [0.0, 2.0]})
    >>> controls = pd.DataFrame({"control": ["sweeps"], "least_evidence": 3.0, "rate": 0.0})
    >>> ax = plot_recorded_evidence(events, chance, controls)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['Events', 'Sweeps']
    """
    own = check_table(events, ["evidence", "is_replay"], "events").dropna(subset="evidence")
    drawn = check_table(chance, ["control", "evidence"], "chance").dropna(subset="evidence")
    columns = ["control", "least_evidence", "rate"]
    table = check_table(controls, columns, "controls", empty=False)
    least = table["least_evidence"].max()
    names = table["control"].astype(str).tolist()
    rows = [own["evidence"], *(drawn.loc[drawn["control"] == name, "evidence"] for name in names)]
    shares = [np.mean(own["evidence"] >= least), *table["rate"]]
    rng = np.random.default_rng(0)  # dots are scattered across their row, the same way each time
    for row, values in enumerate(each.to_numpy(dtype=float) for each in rows):
        place = row + rng.uniform(-0.3, 0.3, len(values))
        colours = np.where(own["is_replay"].astype(bool), _RECORDED, "black") if row == 0 else "0.5"
        ax.scatter(values, place, s=4, c=colours, linewidths=0, rasterized=True)
        ax.text(1.02, row, f"{shares[row]:.1%}", transform=ax.get_yaxis_transform(), va="center")
    ax.vlines(
        table["least_evidence"], np.arange(1, len(rows)) - 0.38, np.arange(1, len(rows)) + 0.38,
        color="black", linewidth=1.2,
    )  # fmt: skip
    ax.axvline(least, color=_RECORDED, linewidth=0.8, zorder=0)
    ax.axhline(0.5, color="0.8", linewidth=0.6, zorder=0)
    ax.set_yticks(range(len(rows)), ["Events", *(n.replace("_", " ").capitalize() for n in names)])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("Evidence for travel (nats)")
    low, high = ax.get_xlim()
    if max(-low, high) > _LINEAR:
        ax.set_xscale("symlog", linthresh=_LINEAR)
        ticks = [tick for tick in _TICKS if low <= tick <= high]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.set_xlabel(f"Evidence for travel (nats, logarithmic beyond {_LINEAR:g})")
    return ax


@drawing
def recorded_evidence_figure(
    events: pd.DataFrame,
    chance: pd.DataFrame,
    controls: pd.DataFrame,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Figure:
    """Make the figure of the evidence of events and of controls.

    Parameters
    ----------
    events, chance, controls : pandas.DataFrame
        As for `plot_recorded_evidence`.

    Examples
    --------
    >>> events = pd.DataFrame({"evidence": [1.0, 9.0], "is_replay": [False, True]})
    >>> chance = pd.DataFrame({"control": "sweeps", "evidence": [0.0, 2.0]})
    >>> controls = pd.DataFrame({"control": ["sweeps"], "least_evidence": 3.0, "rate": 0.0})
    >>> len(recorded_evidence_figure(events, chance, controls).axes)
    1
    """
    figure = new_figure(width_cm / INCH, 0.9 * width_cm / INCH)
    plot_recorded_evidence(events, chance, controls, figure.subplots())
    add_note(
        figure,
        "Purple: replay. Line: its least evidence. Bars: the least that passes this control. "
        "Right: the share of tested events with as much as replay, and of each control.",
    )
    return figure
