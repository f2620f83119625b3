"""Results of accounts of replay under their authors' protocols and under those of experiments."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analyses.plots.layers import name_rows
from analyses.plots.panels import NEW, add_legend, add_note, drawing, new_figure
from analyses.plots.style import COLUMN_WIDTH, INCH, SMALL, Look, count_range, label
from replay.checks import check_table

__all__ = ["parity_experiments_figure", "parity_figure", "plot_contrast", "plot_parity"]

_VERDICTS: dict[str, Look] = {
    "yes": {"label": "\N{CHECK MARK} as expected", "color": "#4d4d4d"},
    "no": {"label": "\N{BALLOT X} none, or the opposite", "color": "#aa3377"},
    "undecided": {"label": "? undecided", "color": "#999999"},
}
_COLUMNS = ["account", "value", "ours", "z", "agrees"]
_CONTRAST = ["account", "quantity", "sign", "ours", "ci_low", "ci_high", "agrees", "task"]
_CONTRAST += ["experiment_sign", "experiment", "experiment_low", "experiment_high"]
_CONTRAST += ["experiment_agrees"]
_FARTHEST, _LIMIT = 5.0, 3.0  # standard errors: the last that is drawn, and the least of a miss
_ROW, _EFFECT_ROW = 0.2, 0.27  # inches
_CELLS, _LETTER = 2.35, 0.052  # inches: width of the cells of an effect, and of a letter
_SHORT = {"prioritized_memory_access": "Memory access", "prioritized_sweeping": "Sweeping"}


@drawing
def plot_parity(parity: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH) -> Axes:
    """Draw how far results lie from those that the authors published, one account a row.

    Parameters
    ----------
    parity : pandas.DataFrame
        Rows of ``parity.csv`` with a published value.

    Examples
    --------
    >>> parity = pd.DataFrame({"account": "sfma", "value": 1.0, "ours": [1.1, 3.0],
    ...                        "z": [0.5, 9.0], "agrees": ["yes", "no"]})
    >>> ax = plot_parity(parity)
    >>> [text.get_text() for text in ax.get_yticklabels()], ax.texts[0].get_text()
    (['SFMA (2)'], '+9')
    """
    check_table(parity, _COLUMNS, "parity", empty=False)
    ax.axvspan(-_LIMIT, _LIMIT, color="0.92", linewidth=0)
    ax.axvline(0, color="0.6", linewidth=0.6)
    names = {}
    for row, (account, own) in enumerate(parity.groupby("account", sort=False)):
        names[account] = f"{_SHORT.get(str(account), label(str(account)))} ({len(own)})"
        # Equal differences, such as 0 of what is computed exactly, would hide one another.
        near = own["z"].round(1)
        order, many = near.groupby(near).cumcount(), near.map(near.value_counts())
        place = row + np.minimum(0.1, 0.6 / many) * (order - (many - 1) / 2)
        x = own["z"].clip(-_FARTHEST, _FARTHEST)
        for verdict, look in _VERDICTS.items():
            is_so = own["agrees"] == verdict
            marker = "D" if verdict == "no" else "o"
            ax.plot(x[is_so], place[is_so], marker, color=look["color"], markersize=2.5)
        for at, z in zip(place, own["z"], strict=True):
            if abs(z) > _FARTHEST:
                edge = np.sign(z) * _FARTHEST
                ax.annotate(
                    f"{z:+.0f}", (edge, at), (-4 * np.sign(z), 0), textcoords="offset points",
                    ha="right" if z > 0 else "left", va="center", fontsize=SMALL,
                )  # fmt: skip
    name_rows(ax, names.values())
    ax.set_xlim(-_FARTHEST - 0.4, _FARTHEST + 0.4)
    ax.set_xlabel("Difference (standard errors)")
    return ax


@drawing
def parity_figure(parity: pd.DataFrame, *, width_cm: float = COLUMN_WIDTH) -> Figure:
    """Make the figure of how far results lie from published ones.

    Parameters
    ----------
    parity : pandas.DataFrame
        The table ``parity.csv``.

    Raises
    ------
    ValueError
        If columns are missing, or nothing can be drawn.
    """
    check_table(parity, _COLUMNS, "parity")
    drawn = parity.dropna(subset=["value", "ours"])
    check_table(drawn, [], "parity, of published values that were simulated,", empty=False)
    figure = new_figure(width_cm / INCH, 0.75 + _ROW * drawn["account"].nunique())
    ax = plot_parity(drawn, figure.subplots())
    n_found = (drawn["agrees"] == "yes").sum()
    ax.set_title(f"{n_found} of {len(drawn)} published values are found", loc="right")
    add_note(figure, "In brackets: values. Grey: fewer than three standard errors apart.")
    return figure


@drawing
def plot_contrast(effects: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH) -> Axes:
    """Draw one row per effect: under the authors' protocol, and under the experiment's.

    Parameters
    ----------
    effects : pandas.DataFrame
        Rows of ``parity.csv`` with a task.
    """
    check_table(effects, _CONTRAST, "effects")
    protocols = (
        ("sign", "ours", "ci_low", "ci_high", "agrees"),
        ("experiment_sign", "experiment", "experiment_low", "experiment_high", "experiment_agrees"),
    )
    for y, row in enumerate(effects.to_dict("records")):
        for x, columns in enumerate(protocols):
            sign, value, low, high, verdict = (row[name] for name in columns)
            look = _VERDICTS.get(str(verdict), _VERDICTS["undecided"])
            ax.add_patch(Rectangle((x - 0.48, y - 0.44), 0.96, 0.88, color=look["color"]))
            # The sign stands beside the number that it judges: the two protocols may differ in it.
            words = "no such replay" if pd.isna(value) else f"{value:.2g} ({low:.2g} to {high:.2g})"
            mark = str(look["label"])[0]
            text = f"expected {'>' if sign > 0 else '<'} 0 {mark}\n{words}"
            ax.text(
                x, y, text, ha="center", va="center", fontsize=SMALL, color="white",
                linespacing=1.05,
            )  # fmt: skip
    name_rows(ax, _names(effects, width_cm))
    ax.set_xlim(-0.5, 1.5)
    many = [count_range(effects.get(name, ()), "run") for name in ("ours_n", "experiment_n")]
    whose = ("authors'", "experiment's")
    titles = [f"{one} protocol\n{n}".strip() for one, n in zip(whose, many, strict=True)]
    ax.set_xticks([0, 1], titles)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelsize=SMALL)
    ax.spines[:].set_visible(False)
    return ax


def _names(effects: pd.DataFrame, width_cm: float) -> list[str]:
    lines = max(int((width_cm / INCH - _CELLS) / _LETTER), 10)
    texts = zip(effects["account"], effects["quantity"], strict=True)
    return [fill(f"{_SHORT.get(name, label(name))}: {what}", lines) for name, what in texts]


@drawing
def parity_experiments_figure(parity: pd.DataFrame, *, width_cm: float = COLUMN_WIDTH) -> Figure:
    """Make the figure of effects under the authors' protocols and under those of experiments.

    Parameters
    ----------
    parity : pandas.DataFrame
        The table ``parity.csv``.

    Raises
    ------
    ValueError
        If columns are missing, or no row has a task.
    """
    check_table(parity, _CONTRAST, "parity")
    effects = parity[parity["task"].notna() & parity["sign"].notna()]
    check_table(effects, [], "parity, of effects that an experiment tests,", empty=False)
    n_lines = max(name.count("\n") + 1 for name in _names(effects, width_cm))
    figure = new_figure(width_cm / INCH, max(_EFFECT_ROW, 0.11 * n_lines) * len(effects) + 0.45)
    plot_contrast(effects, figure.subplots(), width_cm=width_cm)
    add_legend(figure, _VERDICTS.values(), 3)
    return figure
