"""Which account explains replay: probabilities, what each predicts, where they differ, groups."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from analyses.plots.layers import draw_shares
from analyses.plots.panels import add_note, drawing, fitting_columns, grid, new_figure
from analyses.plots.style import FULL_WIDTH, INCH, SMALL, count_range, label, learner_looks
from replay.checks import MOST_STATES, check_column, check_table
from replay.checks.arrays import Floats, Ints

_MOST_ROWS, _MOST_ANIMALS, _MOST_LINES = 14, 4, 4  # for which a figure has room
_ROW, _LETTERS = 0.17, 34  # inches; letters of a name
_CONTROL, _ACCOUNT = "#888888", "black"
_LEVEL = 0.05  # of the p of misfit
_N_SURPRISING = 3  # sequences with panels of their own
_CORRIDOR, _REPLAYED, _DIVERGING = "0.9", "#aa3377", "RdBu"
_PLACED = ("begins at ", "ends at ", "goes ")  # features of places and moves
_MORE, _LESS = "#7b3294", "#e66101"
_PANEL_CM, _FLATTEST = 4.0, 0.15  # height by width
_LETTERS_A_CM, _GROUP_ROW = 2, 0.24  # of a name a cm; inches


def _names(text: str) -> str:
    """Name a class by the labels of its accounts."""
    return fill(" or ".join(label(name) for name in text.split(" or ")), _LETTERS)


@drawing
def explanation_figure(
    probabilities: pd.DataFrame, verdicts: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Draw the probability of each class of accounts, and how well it predicts.

    Parameters
    ----------
    probabilities, verdicts : DataFrame
        The tables of these names that ``replay explain`` writes.

    Examples
    --------
    >>> row = {"animal": "rat", "account": "sfma", "is_control": False, "probability": 0.9,
    ...        "misfit": 0.5, "share_of_ceiling": 0.4}
    >>> verdict = {"animal": "rat", "n_sequences": 80}
    >>> figure = explanation_figure(pd.DataFrame([row]), pd.DataFrame([verdict]))
    >>> [ax.get_xlabel() for ax in figure.axes]
    ['Probability', 'Share of the ceiling']
    """
    needed = ["animal", "account", "is_control", "probability", "misfit", "share_of_ceiling"]
    check_table(probabilities, needed, "probabilities", empty=False)
    check_table(verdicts, ["animal", "n_sequences"], "verdicts")
    means = probabilities.groupby("account", sort=False)["probability"].mean()
    order = means.sort_values(ascending=False, kind="stable").index[:_MOST_ROWS].tolist()
    names = [_names(text) for text in order]
    height = 0.8 + _ROW * (len(names) + sum(name.count("\n") for name in names) * 0.8)
    figure = new_figure(width_cm / INCH, height)
    left, right = figure.subplots(1, 2, sharey=True)
    for row, text in enumerate(order):
        own = probabilities[probabilities["account"] == text]
        # Animals of one row would hide one another.
        shift = np.linspace(-0.22, 0.22, len(own)) if len(own) > 1 else np.zeros(1)
        colour = _CONTROL if own["is_control"].all() else _ACCOUNT
        unfit = (own["misfit"] <= _LEVEL).to_numpy()
        for ax, column in ((left, "probability"), (right, "share_of_ceiling")):
            values = own[column].to_numpy(dtype=float)
            ax.plot(values[~unfit], row + shift[~unfit], "o", color=colour, markersize=4)
            ax.plot(values[unfit], row + shift[unfit], "x", color=colour, markersize=4)
    left.set_yticks(range(len(names)), names, fontsize=SMALL)
    left.invert_yaxis()
    left.set_xlim(-0.03, 1.03)
    left.set_xlabel("Probability")
    right.set_xlabel("Share of the ceiling")
    right.set_xlim(-0.55, 1.1)
    right.axvline(0, color="0.7", linewidth=0.6, zorder=0)
    right.axvline(1, color="0.7", linewidth=0.6, zorder=0)
    right.tick_params(left=False)
    for ax in (left, right):
        ax.grid(axis="y", color="0.93", linewidth=0.6)
        ax.set_axisbelow(True)
    animals = count_range([verdicts["animal"].nunique()], "animal")
    sequences = count_range(verdicts["n_sequences"].tolist(), "sequence")
    each = " each" if len(verdicts) > 1 else ""
    add_note(
        figure,
        f"{animals}, {sequences}{each}. A cross: the animal does not look like one of the class "
        "(p of misfit at most .05). Grey: controls. Share of the ceiling: bits per held-out "
        "sequence from a walk along the track (0) to a model that learns from the animal's own "
        "replay (1); below -0.5 not shown.",
    )
    return figure


@drawing
def explained_sequences_figure(
    sequences: pd.DataFrame, verdicts: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Draw which sequences decide: bits above the walk, added up over the session.

    Parameters
    ----------
    sequences, verdicts : DataFrame
        The tables ``explained`` and ``verdicts`` that ``replay explain`` writes.

    Examples
    --------
    >>> rows = [{"animal": "rat", "account": name, "sequence": 0, "lap": 0, "bits": -k}
    ...         for k, name in enumerate(["ceiling", "sfma", "walk"])]
    >>> figure = explained_sequences_figure(pd.DataFrame(rows), pd.DataFrame({"animal": ["rat"]}))
    >>> len(figure.axes[0].lines)
    3
    """
    check_table(sequences, ["animal", "account", "sequence", "lap", "bits"], "sequences")
    check_table(verdicts, ["animal"], "verdicts", empty=False)
    animals = verdicts["animal"].tolist()[:_MOST_ANIMALS]
    n_columns = min(len(animals), 2)
    n_rows = -(-len(animals) // n_columns)
    figure = new_figure(width_cm / INCH, 2.3 * n_rows + 0.3)
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for ax in panels[len(animals) :]:
        ax.remove()
    for ax, animal in zip(panels, animals, strict=False):
        own = sequences[sequences["animal"] == animal]
        table = own.pivot_table("bits", "sequence", "account", sort=False)
        above = table.sub(table["walk"], axis=0).drop(columns="walk")
        total = above.sum().sort_values(ascending=False)
        accounts = [name for name in total.index if name != "ceiling"][:_MOST_LINES]
        number = np.arange(1, len(above) + 1)
        ax.plot(
            number, above["ceiling"].cumsum(), color="0.6", linestyle=(0, (4, 2)), label="ceiling"
        )
        ax.axhline(0, color="0.8", linewidth=0.6, zorder=0, label="walk")
        for name, look in learner_looks(accounts).items():
            ax.plot(number, above[name].cumsum(), **look)
        # Names are in the order in which lines end.
        lines = sorted(ax.get_lines(), key=lambda line: -float(line.get_ydata()[-1]))
        ax.legend(handles=lines, loc="center left", bbox_to_anchor=(1, 0.5))
        ax.set_title(str(animal))
        ax.set_xlabel("Sequence, in order")
        ax.set_ylabel("Bits above the walk")
    add_note(
        figure,
        "Rising: sequences that an account predicts better than a walk along the track does. The "
        "ceiling is a model without a theory that learns from the animal's own replay in other "
        "laps. Parameters of accounts are chosen in other laps, too."
        + (f" The first {_MOST_ANIMALS} of {len(verdicts)} animals." if len(verdicts) > 4 else ""),
    )
    return figure


@drawing
def identifiability_figure(
    recovery: pd.DataFrame, confusion: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Draw how many sequences a maze needs to tell accounts apart, and which it never tells.

    Parameters
    ----------
    recovery, confusion : DataFrame
        The tables of these names that ``replay identifiability`` writes.

    Examples
    --------
    >>> recovery = pd.DataFrame({"n_sequences": [30], "recovered": 0.9, "named": 0.5,
    ...                          "right_if_sure": 1.0, "account_bits": 1.2, "n_accounts": 3,
    ...                          "n_classes": 3})
    >>> confusion = pd.DataFrame({"n_sequences": [30], "truth": "sfma", "found": "sfma",
    ...                           "share": 1.0})
    >>> len(identifiability_figure(recovery, confusion).axes)
    2
    """
    needed = ["n_sequences", "recovered", "named", "right_if_sure", "account_bits", "n_accounts"]
    check_table(recovery, [*needed, "n_classes"], "recovery", empty=False)
    check_table(confusion, ["n_sequences", "truth", "found", "share"], "confusion", empty=False)
    most = confusion[confusion["n_sequences"] == confusion["n_sequences"].max()]
    last = recovery.sort_values("n_sequences").to_dict("records")[-1]
    truths = list(dict.fromkeys(most["truth"]))
    found = list(dict.fromkeys(most["found"]))
    names = [_names(text) for text in found]
    height = max(2.4, 0.6 + _ROW * len(truths) + 0.14 * max(map(len, names)) * 0.45)
    figure = new_figure(width_cm / INCH, height)
    left, right = figure.subplots(1, 2, width_ratios=(1, 2.2))
    for column, text, style in (
        ("recovered", "class comes first", "-o"),
        ("named", "it alone is above .9", "--s"),
        ("right_if_sure", "right if above .9", ":^"),
    ):
        left.plot(
            recovery["n_sequences"], recovery[column], style, color="k", markersize=3, label=text
        )
    left.set_xscale("log")
    left.set_xticks(recovery["n_sequences"].tolist(), recovery["n_sequences"].map(str).tolist())
    left.minorticks_off()
    left.set_ylim(0, 1.03)
    left.set_xlabel("Sequences of an animal")
    left.set_ylabel("Share of simulated animals")
    left.legend(loc="lower right")
    shares = most.pivot_table("share", "truth", "found", sort=False).loc[truths, found]
    draw_shares(shares, right)
    right.set_xticks(range(len(found)), names, rotation=90, fontsize=SMALL)
    right.set_yticks(range(len(truths)), [label(name) for name in truths], fontsize=SMALL)
    add_note(
        figure,
        f"With {last['n_sequences']} sequences, {last['account_bits']:.1f} bits are known of which "
        f"of {last['n_accounts']} accounts it is, in {last['n_classes']} classes"
        f"{'' if last['n_classes'] > 1 else ', so that nothing was tested'}. Left: the true "
        f"account or its class. Right: % of simulated animals with {most['n_sequences'].iloc[0]} "
        "sequences; accounts joined by or cannot be told apart. Numbers below 5 are omitted.",
    )
    return figure


@drawing
def explained_maze_figure(
    sequences: pd.DataFrame,
    places: pd.DataFrame,
    account: str,
    misfits: pd.DataFrame | None = None,
    *,
    width_cm: float = FULL_WIDTH,
) -> Figure:
    """Draw where an account predicts replay better than its best rival, and what surprises it.

    Parameters
    ----------
    sequences, places : DataFrame
        The rows of one animal in ``explained.parquet`` and ``places.csv`` of ``replay explain``.
    account : str
        The class of accounts that comes first.
    misfits : DataFrame, optional
        The rows of the animal in ``misfits.csv``; places and moves among them are drawn.

    Examples
    --------
    >>> rows = [{"account": name, "sequence": 0, "states": [0, 1, 2], "lap": 0, "bits": -k}
    ...         for k, name in enumerate(["ceiling", "sfma", "dyna_q", "walk"])]
    >>> places = pd.DataFrame({"state": [0, 1, 2], "x": [0.0, 10.0, 20.0], "y": 0.0})
    >>> figure = explained_maze_figure(pd.DataFrame(rows), places, "sfma")
    >>> figure.axes[0].get_title(loc="left")
    'Where accounts differ'
    """
    check_table(sequences, ["account", "sequence", "states", "lap", "bits"], "sequences")
    check_table(places, ["state", "x", "y"], "places", empty=False)
    check_column(places, "state", "places", kind="whole", at_least=0, at_most=MOST_STATES)
    bits = sequences.pivot_table("bits", "sequence", "account", sort=False)
    best, rival = _best_and_rival(bits, account)
    first = sequences.drop_duplicates("sequence").set_index("sequence")
    states = dict(zip(first.index.tolist(), map(np.asarray, first["states"]), strict=True))
    position = places.set_index("state")[["x", "y"]].reindex(range(int(places["state"].max()) + 1))
    where = position.to_numpy(dtype=float)
    per_place = bits[best] / [len(states[number]) for number in bits.index]
    all_misfits: Iterable[Any] = () if misfits is None else misfits.itertuples()
    unlike = [row for row in all_misfits if str(row.feature).startswith(_PLACED)]
    n_surprising = _N_SURPRISING - bool(unlike)
    surprising = per_place.sort_values(kind="stable").index[:n_surprising].tolist()
    # The pairs of places that follow one another in any path, each once.
    pairs = [np.sort(np.column_stack((each[:-1], each[1:])), axis=1) for each in states.values()]
    edges = np.unique(np.concatenate(pairs), axis=0)
    better = _difference(states, bits[best] - bits[rival], edges)
    most = float(np.abs(better[:, 0]).max()) or 1.0
    titles = ["Where accounts differ", *["Unlike its animals"] * bool(unlike)]
    titles += [f"Surprising, lap {first.loc[number, 'lap'] + 1}" for number in surprising]
    n_columns = fitting_columns(1 + _N_SURPRISING, width_cm, _PANEL_CM)
    width, height = np.ptp(where[~np.isnan(where[:, 0])], axis=0)
    shape = float(np.clip(height / max(width, 1e-9), _FLATTEST, 1.0))
    figure, axes = grid(
        titles, n_columns, 0.3 + shape * width_cm / n_columns / INCH,
        width_cm=width_cm,
        note=f"A: moves in sequences that {label(best)} predicts better (blue) than "
        f"{label(rival)}, the best account of other classes, or worse (red), by up to "
        f"{most:.1f} bits a sequence; thin: replayed once or twice. "
        + f"B: where sequences begin (dots), end (rings) and go (arrows), more (purple) or less "
        f"(orange) than in 90 % of animals of {label(best)}. " * bool(unlike)
        + f"Others: the sequences that surprise {label(best)} most, "
        f"at {-per_place[surprising[0]]:.1f} bits a place; a dot is the beginning.",
    )  # fmt: skip
    for ax in axes:
        corridors = LineCollection(list(where[edges]), colors=_CORRIDOR, linewidths=4, zorder=0)
        corridors.set_capstyle("round")
        ax.add_collection(corridors)
        ax.set_aspect("equal")
        ax.margins(0.08)
        ax.autoscale_view()
        ax.set_axis_off()
    shades = LineCollection(
        list(where[edges]), cmap=_DIVERGING, array=better[:, 0],
        linewidths=np.where(better[:, 1] > 2, 3.0, 1.2), capstyle="round", zorder=2,
    )  # fmt: skip
    shades.set_clim(-most, most)
    axes[0].add_collection(shades)
    _draw_unlike(axes[1], unlike, where)
    for ax, number in zip(axes[len(titles) - len(surprising) :], surprising, strict=False):
        path = where[states[number]]
        ax.plot(*path.T, color=_REPLAYED, linewidth=1.5)
        ax.plot(*path[0], "o", color="k", markersize=4)
    return figure


def _draw_unlike(ax: Axes, unlike: Iterable[Any], where: Floats) -> None:
    """Draw where sequences begin, end and go more or less than in simulated animals."""
    for row in unlike:
        here = where[[int(number) for number in re.findall(r"\d+", str(row.feature))]]
        colour = _MORE if row.value > row.high else _LESS
        if len(here) > 1:
            ax.annotate(
                "", here[1], here[0],
                arrowprops={"arrowstyle": "->", "color": colour, "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
        else:
            face = colour if str(row.feature).startswith("begins") else "none"
            ax.plot(*here[0], "o", color=colour, markerfacecolor=face, markersize=5)


def _best_and_rival(bits: pd.DataFrame, account: str) -> tuple[str, str]:
    """Return the account of a class that predicts best, and the best of all others."""
    means = bits.drop(columns=["walk", "ceiling"]).mean().sort_values(ascending=False)
    members = [name for name in means.index if name in account.split(" or ")]
    rivals = [name for name in means.index if name not in members]
    if not members:
        raise ValueError(
            f"{account!r} must be among the accounts of sequences, got "
            f"{', '.join(map(str, means.index))}."
        )
    return members[0], (rivals or ["walk"])[0]  # all accounts may be one class


def _difference(states: dict[int, Ints], better: pd.Series, edges: Ints) -> Floats:
    """Return the mean difference of the sequences that make each move, and their number."""
    number = {pair: k for k, pair in enumerate(map(tuple, edges.tolist()))}
    total, count = np.zeros(len(edges)), np.zeros(len(edges))
    for sequence, path in states.items():
        for k in {number[min(pair), max(pair)] for pair in pairwise(path.tolist())}:
            total[k] += better[sequence]
            count[k] += 1
    return np.column_stack((total / count, count))


@drawing
def group_figure(group: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Draw how frequent each class of accounts is among animals.

    Parameters
    ----------
    group : DataFrame
        The table ``group.csv`` that ``replay explain`` writes for several animals.

    Examples
    --------
    >>> row = {"account": "sfma", "frequency": 0.7, "low": 0.5, "high": 0.9, "protected": 0.8,
    ...        "equal": 0.1, "n_animals": 5}
    >>> [ax.get_xlabel()[:9] for ax in group_figure(pd.DataFrame([row])).axes]
    ['Frequency', 'Protected']
    """
    needed = ["account", "frequency", "low", "high", "protected", "equal", "n_animals"]
    table = check_table(group, needed, "group", empty=False)
    table = table.sort_values("frequency", ascending=False, kind="stable").reset_index(drop=True)
    names = [
        fill(" or ".join(label(name) for name in text.split(" or ")), int(_LETTERS_A_CM * width_cm))
        for text in table["account"]
    ]
    n_lines = sum(1 + name.count("\n") / 2 for name in names)
    figure = new_figure(width_cm / INCH, 0.9 + _GROUP_ROW * n_lines)
    left, right = figure.subplots(1, 2, sharey=True)
    left.hlines(table.index, table["low"], table["high"], colors="0.5", linewidth=1)
    left.plot(table["frequency"], table.index, "ko", markersize=4)
    right.barh(table.index, table["protected"], color=_REPLAYED, height=0.6)
    left.set_yticks(range(len(names)), names, fontsize=SMALL)
    left.set_ylim(len(names) - 0.5, -0.5)
    left.set_xlabel("Frequency\namong animals")
    right.set_xlabel("Protected\nexceedance")
    for ax in (left, right):
        ax.set_xlim(0, 1)
    add_note(
        figure,
        f"{int(table['n_animals'].iloc[0])} animals. Lines: 90 % intervals. Right: the probability "
        "that a class is more frequent than any other, allowing for equal frequencies, of which "
        f"the probability is {table['equal'].iloc[0]:.2f}.",
    )
    return figure
