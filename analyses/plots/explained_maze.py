"""Where in the maze accounts differ, what the best one does not expect, and groups of animals."""

from __future__ import annotations

from itertools import pairwise
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analyses.plots.panels import add_note, drawing, fitting_columns, grid, new_figure
from analyses.plots.style import FULL_WIDTH, INCH, SMALL, label
from replay.checks import MOST_STATES, check_column, check_table

__all__ = ["explained_maze_figure", "group_figure"]

_N_SURPRISING = 3
_CORRIDOR, _REPLAYED, _DIVERGING = "0.9", "#0072b2", "RdBu"
_PANEL_CM, _FLATTEST = 4.0, 0.15  # height by width
_LETTERS, _ROW = 2, 0.24  # of a name a cm; inches


@drawing
def explained_maze_figure(
    sequences: pd.DataFrame, places: pd.DataFrame, account: str, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Draw where an account predicts replay better than its best rival, and what surprises it.

    Parameters
    ----------
    sequences, places : DataFrame
        The rows of one animal in ``explained.parquet`` and ``places.csv`` of ``replay explain``.
    account : str
        The class of accounts that comes first.

    Raises
    ------
    ValueError
        If columns or rows are missing, or no account of the class is among the rows.

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
    means = bits.drop(columns=["walk", "ceiling"]).mean().sort_values(ascending=False)
    members = [name for name in means.index if name in account.split(" or ")]
    rivals = [name for name in means.index if name not in members]
    if not members:
        raise ValueError(
            f"{account!r} must be among the accounts of sequences, got "
            f"{', '.join(map(str, means.index))}."
        )
    best, rival = members[0], (rivals or ["walk"])[0]  # all accounts may be one class
    first = sequences.drop_duplicates("sequence").set_index("sequence")
    states = {
        int(number): np.asarray(path, dtype=np.int64)
        for number, path in zip(first.index.tolist(), first["states"], strict=True)
    }
    position = places.set_index("state")[["x", "y"]].reindex(range(int(places["state"].max()) + 1))
    where = position.to_numpy(dtype=float)
    per_place = bits[best] / [len(states[number]) for number in bits.index]
    surprising = per_place.sort_values(kind="stable").index[:_N_SURPRISING].tolist()
    # The pairs of places that follow one another in any path, each once.
    pairs = [np.sort(np.column_stack((each[:-1], each[1:])), axis=1) for each in states.values()]
    edges = np.unique(np.concatenate(pairs), axis=0)
    better = _difference(states, bits[best] - bits[rival], edges)
    most = float(np.abs(better[:, 0]).max()) or 1.0
    laps = [f"Surprising, lap {first.loc[number, 'lap'] + 1}" for number in surprising]
    n_columns = fitting_columns(1 + _N_SURPRISING, width_cm, _PANEL_CM)
    width, height = np.ptp(where[~np.isnan(where[:, 0])], axis=0)
    shape = float(np.clip(height / max(width, 1e-9), _FLATTEST, 1.0))
    figure, axes = grid(
        ["Where accounts differ", *laps], n_columns, 0.3 + shape * width_cm / n_columns / INCH,
        width_cm=width_cm,
        note=f"A: moves in sequences that {label(best)} predicts better (blue) than "
        f"{label(rival)}, its best rival, or worse (red), by up to {most:.1f} bits a sequence; "
        f"thin: replayed once or twice. Others: the sequences that surprise {label(best)} most, "
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
    for ax, number in zip(axes[1:], surprising, strict=False):
        path = where[states[number]]
        ax.plot(*path.T, color=_REPLAYED, linewidth=1.5)
        ax.plot(*path[0], "o", color="k", markersize=4)
    return figure


def _difference(
    states: dict[int, NDArray[np.int64]], better: pd.Series, edges: NDArray[np.int64]
) -> NDArray[np.float64]:
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
        fill(" or ".join(label(name) for name in text.split(" or ")), int(_LETTERS * width_cm))
        for text in table["account"]
    ]
    n_lines = sum(1 + name.count("\n") / 2 for name in names)
    figure = new_figure(width_cm / INCH, 0.9 + _ROW * n_lines)
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
