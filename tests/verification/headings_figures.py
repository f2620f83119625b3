"""How often the direction of replay is right, by the number of cells and how much they differ."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from analyses.plots.layers import draw_curves
from analyses.plots.panels import drawing, fitting_columns, grid
from analyses.plots.style import FULL_WIDTH, Look, count_range, own_looks
from replay.checks import check_table

__all__ = ["headings_figure"]

_COLOURS = ("#b0b0b0", "#808080", "#505050", "#000000", "#aa3377")  # the more cells, the darker
_MARKERS = ("o", "s", "^", "D", "v")
_TITLES = {"right": "Right", "wrong": "Wrong", "ambiguous": "Ambiguous", "missed": "Missed"}
_APART, _RARE = 0.03, 0.05


@drawing
def headings_figure(table: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of the study of headings: one panel for each outcome that occurs.

    Parameters
    ----------
    table : pandas.DataFrame
        ``headings.csv``.

    Examples
    --------
    >>> table = pd.DataFrame({"n_cells": 50, "other_rate": [0.1, 1.0], "outcome": "right",
    ...                       "mean": [0.9, 0.0], "ci_low": [0.8, 0.0], "ci_high": [1.0, 0.1]})
    >>> len(headings_figure(table).axes)  # nothing is wrong, or missed
    1
    """
    columns = ["n_cells", "other_rate", "outcome", "mean", "ci_low", "ci_high"]
    given = check_table(table, columns, "headings").copy()
    numbers = sorted(given["n_cells"].unique())
    looks: dict[str, Look] = own_looks(
        {
            str(n): {"label": f"{n} cells", "color": colour, "marker": marker}
            for n, colour, marker in zip(numbers, _COLOURS, _MARKERS, strict=False)
        }
    )
    given["cells"] = given["n_cells"].astype(str)
    # Points at one rate stand side by side, so that none hides another.
    shift = given["n_cells"].map({n: _APART * k for k, n in enumerate(numbers)})
    given["at"] = given["other_rate"] + shift - _APART * (len(numbers) - 1) / 2
    # What hardly ever happens needs no panel, but must be said.
    most = given.groupby("outcome")["mean"].max()
    shown = [name for name in _TITLES if most.get(name, 0.0) >= _RARE] or ["right"]
    rare = [
        f"{title}: {f'at most {most[name]:.0%}' if most[name] else 'never'}."
        for name, title in _TITLES.items()
        if name in most and name not in shown
    ]
    n = count_range(given.get("n", ()), "session")
    figure, axes = grid(
        [_TITLES[name] for name in shown], fitting_columns(len(shown), width_cm, 4.0), 1.5,
        width_cm=width_cm, legend=list(looks.values()), ylabel="Share of replay", sharey=True,
        note="Rate: of a cell with a preferred heading, in the other one, relative to that in its "
        "own. Bars: 95 % intervals" + (f" over {n} each." if n else " over sessions.")
        + "".join(f" {each}" for each in rare),
    )  # fmt: skip
    rates = sorted(given["other_rate"].unique())
    for ax, outcome in zip(axes, shown, strict=True):
        rows = given[given["outcome"] == outcome].sort_values(["n_cells", "at"])
        if len(rows):
            draw_curves(
                rows, ax, "at", "mean", "cells", looks,
                shade=None, linewidth=0.6, pointsize=2.2, fillcolor="white",
            )  # fmt: skip
        ax.set(xlabel="Rate in the other heading", ylabel="", ylim=(-0.05, 1.05))
        ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
    return figure
