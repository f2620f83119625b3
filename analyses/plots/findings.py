"""A comparison: the evidence of each finding for each account, its sums, and all predictions."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from analyses.plots.layers import draw_shares
from analyses.plots.panels import NEW, add_legend, add_note, drawing, grid, new_figure
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, INCH, SMALL, Look, label
from analyses.tables import account_of
from replay.checks import check_table

__all__ = [
    "draw_evidence",
    "found_accounts_figure",
    "page_figure",
    "plot_found_accounts",
    "study_figures",
    "sums_figure",
]

_COLOURS = "PuOr"
_LEAST, _MOST = -6.5, 6.5  # bits; the least that a finding can cost is -4.3
# Of the page, in inches:
_ROW, _MORE_LINE = 0.105, 0.083  # the height of a row, and of each further line of its name
_FEWEST_ROWS = 8  # of a study's panels: their texts need space
_SOURCES, _LABELS, _APART = 1.7, 2.59, 0.1
_TITLE, _TOP = 0.2, 1.22
_LETTER = 0.045  # of 6 pt, on average
_COLUMNS, _TASK_LETTERS = 5, 24  # of a study's figure: panels side by side, letters in a line
_SUM = 0.135  # inches, the height of a row of sums
_PAGE, _TEXTS = 21.5 / INCH, 0.6  # the height of a page, and of the texts of a row of panels
_WIDEST = 0.3
_DOT: Look = {"marker": "o", "color": "black", "linestyle": "none", "markeredgewidth": 0.5}
_PARTS: dict[str, Look] = {
    "_of_all": {**_DOT, "label": "All findings", "markerfacecolor": "black"},
    "": {**_DOT, "label": "Diagnostic findings only", "markerfacecolor": "white"},
}
_ON_SUMS = (
    "Two orders, controls in both, the best of them dashed: by all evidence, and by the values of "
    "statistics where there is such replay at all. "
    "Above 0: findings are more probable than under a uniform prediction. Each study has one vote. "
    "Lines: 95 % intervals over studies. Grey: 90 % of the sums over all findings if the account "
    "were true. Diagnostic findings, which no control predicts as well as the best account, favour "
    "accounts."
)
_OF_A_STUDY = (
    "Dots: the median prediction of an account; lines: 5 to 95 % of simulated studies. Purple "
    "diamonds: the account makes the finding more probable than a uniform prediction does; orange "
    "circles: less, as on the page of all findings. No dot: no replay. Grey: the published value, "
    "with its error. *: the parameters of the account's authors."
)
_NEEDED = ["finding", "study", "source", "task", "statistic", "label", "likelihood", "account"]
_NEEDED += ["evidence", "predicted_low", "predicted", "predicted_high", "published"]
_NEEDED += ["published_low"]
_NEEDED += ["published_high", "weight", "diagnostic", "is_control", "as_published"]
_HOW_TO_READ = """A row is a published result, a column an account of replay.
Purple: the account makes the result more probable than
a uniform prediction does; orange: less.
Cross: the account replays nothing of this kind.
Pale rows, grey names: not diagnostic, since a control, which
does not depend on learning, predicts them equally well.
Columns are ordered by their sums over all findings."""
_FOUND_ROW, _NAMES = 0.16, 1.5  # inches
_NOTE = (
    "% of simulated sets of findings; numbers below 5 are omitted. Each set is drawn from the "
    "predictions of the account of its row."
)


def draw_evidence(evidence: pd.DataFrame, ax: Axes) -> Axes:
    """Draw how much more probable each account makes each finding than a uniform prediction does.

    Purple: more; orange: less; a cross means that the account replays nothing. Pale rows are not
    diagnostic: controls predict them equally well. The height of a row, in inches, is that of its
    texts.
    """
    check_table(evidence, _NEEDED, "evidence")
    accounts = list(dict.fromkeys(evidence["account"]))
    findings = evidence.drop_duplicates("finding")
    edges = _edges(findings)
    colours = ScalarMappable(TwoSlopeNorm(0.0, _LEAST, _MOST), _COLOURS)
    for finding, top, bottom in zip(findings["finding"], edges, edges[1:], strict=False):
        rows = evidence[evidence["finding"] == finding].set_index("account")
        for x, account in enumerate(accounts):
            row = rows.loc[account]
            colour = colours.to_rgba(np.clip(row["evidence"], _LEAST, _MOST))
            cell = Rectangle((x - 0.5, top), 1, bottom - top, facecolor=colour, edgecolor="white")
            ax.add_patch(cell).set_linewidth(0.5)
            if np.isnan(row["predicted"]):
                middle = (top + bottom) / 2
                ax.plot(x, middle, "x", color="0.25", markersize=2.5, markeredgewidth=0.5)
        if not rows["diagnostic"].fillna(False).astype(bool).iloc[0]:
            veil = Rectangle(
                (-0.5, top), len(accounts), bottom - top, facecolor="white", alpha=0.55
            )
            ax.add_patch(veil).set(linewidth=0, zorder=5)
    # Each row has its name, and its study and task at their first one.
    ax.set_yticks((edges[:-1] + edges[1:]) / 2, [_name(text) for text in findings["label"]])
    diagnostic = findings["diagnostic"].fillna(False).astype(bool)
    for text, is_diagnostic in zip(ax.get_yticklabels(), diagnostic, strict=True):
        text.set(color="black" if is_diagnostic else "0.5", linespacing=0.95)
    wide = ax.get_position().width * cast(Figure, ax.figure).get_size_inches()[0]
    before = ""
    rows = zip(findings["source"], _places(findings), edges, edges[1:], strict=False)
    for source, place, top, bottom in rows:
        ax.text(
            (0.05 - _SOURCES - _LABELS) / wide, (top + bottom) / 2, place,
            transform=ax.get_yaxis_transform(), fontsize=SMALL, va="center", linespacing=0.95,
        )  # fmt: skip
        if source != before:
            ax.axhline(top, color="black", linewidth=0.5, zorder=6)
        before = source
    controls = set(evidence.loc[evidence["is_control"].astype(bool), "account"])
    short = _short(evidence)
    names = [short[name] + " (control)" * (name in controls) for name in accounts]
    ax.set_xticks(range(len(accounts)), names, rotation=90)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelsize=SMALL, pad=2)
    ax.set_xlim(-0.5, len(accounts) - 0.5)
    ax.set_ylim(edges[-1], 0)
    ax.spines[:].set_visible(False)
    return ax


def _edges(findings: pd.DataFrame) -> NDArray[np.float64]:
    """Return the edges of the rows, in inches from the top."""
    texts = zip(findings["label"], _places(findings), strict=True)
    more = np.array([max(_name(name).count("\n"), place.count("\n")) for name, place in texts])
    return np.append(0.0, np.cumsum(_ROW + _MORE_LINE * more))


def _name(text: str) -> str:
    return fill(text, int(_LABELS / _LETTER), break_long_words=False)


def _places(findings: pd.DataFrame) -> list[str]:
    """Return the text left of each row: the study and the task, once, at their first row."""
    places, before = [], ("", "")
    for source, task in zip(findings["source"], findings["task"], strict=True):
        text = "" if (source, task) == before else label(task)
        text = text if source == before[0] else f"{source}: {text}"
        places.append(fill(text, int((_SOURCES - _APART) / _LETTER), break_long_words=False))
        before = source, task
    return places


def _short(evidence: pd.DataFrame) -> dict[str, str]:
    """Label accounts; a star marks those with the parameters of their authors."""
    each = evidence.drop_duplicates("account")
    named = zip(each["account"].astype(str), each["as_published"].astype(bool), strict=True)
    return {
        name: label(account_of(name)) + "*" if published else label(name)
        for name, published in named
    }


@drawing
def page_figure(evidence: pd.DataFrame, sums: pd.DataFrame) -> Figure:
    """Draw the evidence of each published finding for each account on one page of a journal.

    Parameters
    ----------
    evidence, sums : DataFrame
        The tables of a comparison.

    Returns
    -------
    matplotlib.figure.Figure
        Findings by accounts as drawn by `draw_evidence`, 17.5 cm wide. `study_figures` draws what
        accounts predict, also with the parameters of their authors, which have no column here.
    """
    check_table(evidence, _NEEDED, "evidence")
    check_table(sums, ["account"], "sums")
    over_priors = evidence[~evidence["as_published"].astype(bool)]
    # Findings by study and question; accounts by their sums, with controls last.
    ordered = over_priors.sort_values(["study", "source", "task", "question"], kind="stable")
    order = {name: rank for rank, name in enumerate(sums["account"])}
    rank = ordered["account"].map(order) + len(order) * ordered["is_control"].astype(bool)
    table = ordered.assign(rank=rank).sort_values("rank", kind="stable")
    table = table.set_index("finding").loc[[*dict.fromkeys(ordered["finding"])]].reset_index()
    accounts = [str(name) for name in dict.fromkeys(table["account"])]
    rows = float(_edges(table.drop_duplicates("finding"))[-1])
    width, left = FULL_WIDTH / INCH, _SOURCES + _LABELS
    wide = min(width - left - 0.08, _WIDEST * len(accounts))
    height = _TITLE + _TOP + rows + 0.06
    figure = new_figure(width, height)
    figure.set_layout_engine("none")

    def panel(x: float, top: float, wide: float, high: float) -> Axes:
        return figure.add_axes((x / width, 1 - (top + high) / height, wide / width, high / height))

    def write(x: float, top: float, text: str, **look: Any) -> None:
        figure.text(x / width, 1 - top / height, text, va="top", **look)

    main = panel(left, _TITLE + _TOP, wide, rows)
    draw_evidence(table, main)
    controls = table.loc[table["is_control"].astype(bool), "account"]
    first_control = accounts.index(str(controls.iloc[0])) if len(controls) else 0
    main.axvline(first_control - 0.5, color="black", linewidth=0.8, zorder=6)
    write(0.05, 0.05, "How probable each account makes published findings", fontsize=9)
    write(0.05, _TITLE + 0.04, _HOW_TO_READ, fontsize=SMALL, linespacing=1.15)
    bar = panel(0.1, _TITLE + 0.93, 1.6, 0.06)
    colours = ScalarMappable(TwoSlopeNorm(0.0, _LEAST, _MOST), _COLOURS)
    figure.colorbar(colours, cax=bar, orientation="horizontal", ticks=[-4, 0, 4])
    bar.tick_params(labelsize=SMALL, length=2, pad=1)
    write(1.8, _TITLE + 0.91, "evidence (bits)", fontsize=SMALL)
    return figure


@drawing
def sums_figure(sums: pd.DataFrame, fit: pd.DataFrame) -> Figure:
    """Draw whether any account fits: its sum of evidence, and what it would be if it were true.

    Parameters
    ----------
    sums, fit : DataFrame
        The tables of a comparison.

    Returns
    -------
    matplotlib.figure.Figure
        One row per account and control, in the order of their sums over all findings, and again
        in that of their values alone. It is 17.5 cm wide.

    Examples
    --------
    >>> from replay.data import reference_table
    >>> tables = [reference_table(f"comparison/{name}") for name in ("sums", "fit")]
    >>> sums_figure(*tables).axes[0].get_yticklabels()[0].get_text()
    'Context-driven reactivation'
    """
    ends = [f"{name}{part}" for name in ("evidence", "ci_low", "ci_high") for part in _PARTS]
    check_table(sums, ["account", "is_control", "value_of_all", *ends], "sums", empty=False)
    check_table(fit, ["account", "expected_low", "expected_high"], "fit")
    over_priors = [account_of(name) == name for name in sums["account"].astype(str)]
    rows = sums[over_priors].sort_values("evidence_of_all", ascending=False, kind="stable")
    true = fit.set_index("account").loc[rows["account"]]
    y = np.arange(len(rows))
    figure = new_figure(FULL_WIDTH / INCH, _SUM * len(rows) + 0.55)
    ax, values = figure.subplots(1, 2, width_ratios=(2, 1))
    ax.axvline(0, color="0.5", linewidth=0.5)
    if_true = true["expected_high"] - true["expected_low"]
    ax.barh(y, if_true, 0.7, true["expected_low"], color="0.8")
    for part, shift in zip(_PARTS, (-0.15, 0.15), strict=True):
        ax.hlines(y + shift, rows[f"ci_low{part}"], rows[f"ci_high{part}"], "0.4", linewidth=0.8)
        look = {"facecolors": _PARTS[part]["markerfacecolor"], "edgecolors": "black"}
        ax.scatter(rows[f"evidence{part}"], y + shift, s=9, linewidths=0.5, zorder=3, **look)
    by_value = rows.sort_values("value_of_all", ascending=False, kind="stable")
    for side, order, column in ((ax, rows, "evidence_of_all"), (values, by_value, "value_of_all")):
        controls = order["is_control"].astype(bool).to_numpy()
        side.set_yticks(
            y, [label(str(name)) + " (control)" * bool(control)
                for name, control in zip(order["account"], controls, strict=True)]
        )  # fmt: skip
        for text, control in zip(side.get_yticklabels(), controls, strict=True):
            text.set_color("0.5" if control else "black")
        if controls.any():
            best = order.loc[controls, column].max()
            side.axvline(best, color="0.5", linewidth=0.8, linestyle="--")
        side.set_ylim(len(rows) - 0.5, -0.5)
        side.tick_params(axis="y", length=0)
    values.plot(by_value["value_of_all"], y, **_DOT, markersize=3)
    ax.set_xlabel("Sum of evidence over studies (bits)")
    values.set_xlabel("Values alone (bits)")
    add_note(figure, _ON_SUMS)
    add_legend(figure, [{"label": "If the account were true", "color": "0.8"}, *_PARTS.values()], 3)
    return figure


def study_figures(evidence: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Draw the findings of each study and the predictions of all accounts.

    A figure is at most a page high: a study of many findings has several, STUDY, STUDY_2 ...

    Parameters
    ----------
    evidence : DataFrame
        The table ``evidence`` of a comparison.

    Yields
    ------
    study : str
        Its name, and the number of any further figure.
    figure : matplotlib.figure.Figure
        The figure, with one panel per finding.
    """
    for study, rows in evidence.groupby("study", sort=False):
        findings = rows["finding"].unique()
        most = _COLUMNS * max(int(_PAGE / (_panel_height(rows) + _TEXTS)), 1)
        for number, part in enumerate(np.array_split(findings, -(-len(findings) // most)), 1):
            name = str(study) if number == 1 else f"{study}_{number}"
            yield name, _study_figure(rows[rows["finding"].isin(part)])


def _panel_height(rows: pd.DataFrame) -> float:
    return 0.105 * max(rows["account"].nunique(), _FEWEST_ROWS) + 0.5


@drawing
def _study_figure(rows: pd.DataFrame) -> Figure:
    findings = list(dict.fromkeys(rows["finding"]))
    accounts = list(dict.fromkeys(rows["account"]))
    short = _short(rows)
    figure, axes = grid(
        [label[:1].upper() + label[1:] for label in rows.drop_duplicates("finding")["label"]],
        _COLUMNS,
        _panel_height(rows),
        labels_cm=3.2,
        letters=False,
        sharey=True,
        note=f"{rows['source'].iloc[0]}. {_OF_A_STUDY}",
    )
    colours = ScalarMappable(TwoSlopeNorm(0.0, _LEAST, _MOST), _COLOURS)
    for ax, finding in zip(axes, findings, strict=True):
        own = rows[rows["finding"] == finding].set_index("account").loc[accounts]
        first = own.iloc[0]
        task = fill(label(first["task"]), _TASK_LETTERS, break_long_words=False)
        if first["likelihood"] == "direction":
            ax.axvline(0, color="0.5", linewidth=0.5)
            side = {1.0: "above 0", -1.0: "below 0"}.get(first["published"], "no difference")
            task += f"\nminus null\n(found: {side})"
        else:
            ax.axvspan(first["published_low"], first["published_high"], color="0.85", zorder=0)
        y = np.arange(len(accounts))
        ax.hlines(y, own["predicted_low"], own["predicted_high"], color="0.3", linewidth=0.8)
        colour = colours.to_rgba(np.clip(own["evidence"], _LEAST, _MOST))
        is_for = (own["evidence"] > 0).to_numpy()
        for marker, those in (("D", is_for), ("o", ~is_for)):
            ax.scatter(
                own["predicted"][those], y[those], s=9, marker=marker, zorder=3, c=colour[those],
                edgecolors="black", linewidths=0.4,
            )  # fmt: skip
        ax.set_yticks(y, [short[each] for each in accounts])
        ax.set_ylim(len(accounts) - 0.5, -0.5)
        ax.set_xlabel(task, fontsize=SMALL)
        ax.tick_params(labelsize=SMALL)
        ax.xaxis.set_major_locator(MaxNLocator(3))
    return figure


@drawing
def plot_found_accounts(
    confusion: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw how often the comparison identifies each account if the findings are simulated by one.

    Parameters
    ----------
    confusion : DataFrame
        The table ``confusion.csv`` of a comparison.

    Examples
    --------
    >>> row = {"truth": "sfma", "found": "sfma", "share": 1.0}
    >>> [text.get_text() for text in plot_found_accounts(pd.DataFrame([row])).texts]
    ['100']
    """
    check_table(confusion, ["truth", "found", "share"], "confusion")
    names = list(dict.fromkeys(confusion["truth"]))
    table = confusion.pivot_table("share", "truth", "found").loc[names, names]
    draw_shares(table, ax)
    words = [label(name) for name in names]
    ax.set_xticks(range(len(names)), words, rotation=90)
    ax.set_yticks(range(len(names)), words)
    ax.tick_params(labelsize=SMALL)
    return ax


@drawing
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
    """
    check_table(confusion, ["truth"], "confusion")
    height = _NAMES + _FOUND_ROW * confusion["truth"].nunique() + 0.3
    figure = new_figure(FULL_WIDTH / INCH, height)
    plot_found_accounts(confusion, figure.subplots())
    add_note(figure, _NOTE)
    return figure
