"""Which account a comparison identifies, for each account that might be true."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.grids import add_note
from analyses.plots.style import (
    COLUMN_WIDTH,
    FULL_WIDTH,
    INCH,
    SMALL,
    label,
    new_axes,
    new_figure,
    styled,
)
from replay.checks import check_table

__all__ = ["found_accounts_figure", "plot_found_accounts"]

_LEAST, _DARK = 0.05, 0.6
_ROW, _NAMES = 0.16, 1.5  # inches
_NOTE = (
    "% of simulated sets of findings; numbers below 5 are omitted. Each set is drawn from the "
    "predictions of the account of its row."
)


@styled
def plot_found_accounts(
    confusion: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw how often the comparison identifies each account if the findings are simulated by one.

    Parameters
    ----------
    confusion : DataFrame
        The table ``confusion.csv`` of a comparison.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> row = {"truth": "sfma", "found": "sfma", "share": 1.0}
    >>> [text.get_text() for text in plot_found_accounts(pd.DataFrame([row])).texts]
    ['100']
    """
    check_table(confusion, ["truth", "found", "share"], "confusion")
    ax = new_axes(width_cm) if ax is None else ax
    names = list(dict.fromkeys(confusion["truth"]))
    table = confusion.pivot_table("share", "truth", "found").loc[names, names]
    ax.imshow(table.to_numpy(float), cmap="Greys", vmin=0, vmax=1, aspect="auto")
    for (y, x), share in np.ndenumerate(table.to_numpy(float)):
        if share >= _LEAST:
            text = ax.text(x, y, f"{100 * share:.0f}", ha="center", va="center", fontsize=SMALL)
            text.set_color("white" if share > _DARK else "black")
    words = [label(name) for name in names]
    ax.set_xticks(range(len(names)), words, rotation=90)
    ax.set_yticks(range(len(names)), words)
    ax.tick_params(length=0, labelsize=SMALL)
    ax.set_xlabel("Found")
    ax.set_ylabel("True")
    return ax


@styled
def found_accounts_figure(confusion: pd.DataFrame) -> Figure:
    """Make the figure of which account a comparison identifies, for each account that is true.

    Parameters
    ----------
    confusion : DataFrame
        The table ``confusion`` of a comparison.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, 17.5 cm wide.

    Raises
    ------
    ValueError
        If columns are missing.
    """
    check_table(confusion, ["truth"], "confusion")
    height = _NAMES + _ROW * confusion["truth"].nunique() + 0.3
    figure = new_figure(FULL_WIDTH / INCH, height)
    plot_found_accounts(confusion, figure.subplots())
    add_note(figure, _NOTE)
    return figure
