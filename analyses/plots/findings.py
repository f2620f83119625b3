"""The page of a comparison: published findings beside the predictions of each account of replay."""

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

from analyses.plots.grids import grid
from analyses.plots.style import FULL_WIDTH, INCH, SMALL, label, new_figure, styled
from analyses.tables import account_of
from replay.checks import check_table

__all__ = ["draw_evidence", "page_figure", "study_figures"]

_COLOURS = "PuOr"
_LEAST, _MOST = -6.5, 6.5  # bits; the least that a finding can cost is -4.3
# Of the page, in inches:
_ROW, _MORE_LINE = 0.1, 0.083  # the height of a row, and of each further line of its name
_FEWEST_ROWS = 8  # of a study's panels: their texts need space
_SOURCES, _LABELS = 1.37, 2.65
_TITLE, _TOP, _FOOT, _SHARES, _GAP = 0.2, 1.22, 0.7, 0.2, 0.06
_LETTER = 0.047  # of 6 pt, on average
_COLUMNS = 5  # of a study's figure
_PAGE, _TEXTS = 21.5 / INCH, 0.6  # the height of a page, and of the texts of a row of panels
_WIDEST = 0.3
_PARTS = ("", "_of_all")
_OF_A_STUDY = (
    "Dots: the median prediction of an account; lines: 5 to 95 % of simulated studies. Purple "
    "diamonds: the account makes the finding more probable than a uniform prediction does; orange "
    "circles: less, as on the page of all findings. No dot: no replay. Grey: the published value, "
    "with its error. *: the parameters of the account's authors."
)
_NEEDED = ["finding", "study", "source", "task", "statistic", "label", "likelihood", "account"]
_NEEDED += [
    "evidence",
    "predicted_low",
    "predicted",
    "predicted_high",
    "published",
    "published_low",
]
_NEEDED += ["published_high", "weight", "diagnostic", "is_control", "as_published"]


def draw_evidence(evidence: pd.DataFrame, ax: Axes) -> Axes:
    """Draw what each account predicts for each finding, coloured by the evidence.

    The dot in a cell is the median prediction of an account, and the line runs from 5 to 95 % of
    its simulated studies; a cross means that it replays nothing. The grey band is the published
    value with its 95 % interval, differences between studies included; an arrow is the published
    direction from the null, which is the thin line. Purple: the account makes the finding more
    probable than a uniform prediction does; orange: less. Pale rows are not diagnostic: controls
    predict them equally well.

    The height of a row, in inches, is that of its name.
    """
    check_table(evidence, _NEEDED, "evidence")
    accounts = list(dict.fromkeys(evidence["account"]))
    findings = evidence.drop_duplicates("finding")
    edges = _edges(findings)
    scale = TwoSlopeNorm(0.0, _LEAST, _MOST)
    colours = ScalarMappable(scale, _COLOURS)
    for finding, top, bottom in zip(findings["finding"], edges, edges[1:], strict=False):
        rows = evidence[evidence["finding"] == finding].set_index("account")
        low, high = _limits(rows)
        for x, account in enumerate(accounts):
            row = rows.loc[account]
            colour = colours.to_rgba(np.clip(row["evidence"], _LEAST, _MOST))
            cell = Rectangle((x - 0.5, top), 1, bottom - top, facecolor=colour, edgecolor="white")
            ax.add_patch(cell).set_linewidth(0.5)
            _draw_prediction(ax, x, (top + bottom) / 2, row, low, high)
        if not _is_diagnostic(rows):
            veil = Rectangle(
                (-0.5, top), len(accounts), bottom - top, facecolor="white", alpha=0.55
            )
            ax.add_patch(veil).set(linewidth=0, zorder=5)
    _name_rows(ax, findings, edges)
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
    more = np.array([_name(row).count("\n") for row in findings["label"]])
    return np.append(0.0, np.cumsum(_ROW + _MORE_LINE * more))


def _name(text: str) -> str:
    return fill(text, int(_LABELS / _LETTER), break_long_words=False)


def _is_diagnostic(rows: pd.DataFrame) -> bool:
    return bool(rows["diagnostic"].fillna(False).astype(bool).iloc[0])


def _short(evidence: pd.DataFrame) -> dict[str, str]:
    """Label accounts; a star marks those with the parameters of their authors."""
    each = evidence.drop_duplicates("account")
    named = zip(each["account"].astype(str), each["as_published"].astype(bool), strict=True)
    return {
        name: label(account_of(name)) + "*" if published else label(name)
        for name, published in named
    }


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the limits of a row's scale, which include all that is drawn in it and the null."""
    names = ["predicted_low", "predicted_high", "published_low", "published_high"]
    shown = rows[names].to_numpy(float)
    is_share = rows["likelihood"].iloc[0] == "count"
    ends = np.append(shown[~np.isnan(shown)], [0.0, 1.0] if is_share else [0.0])
    low, high = float(ends.min()), float(ends.max())
    if not is_share:
        low, high = -max(-low, high, 1e-6), max(-low, high, 1e-6)
    return low, high


def _draw_prediction(ax: Axes, x: float, y: float, row: pd.Series, low: float, high: float) -> None:
    def at(value: float) -> float:
        return x - 0.4 + 0.8 * (value - low) / (high - low)

    half = 0.4 * _ROW
    if row["likelihood"] == "direction":
        ax.plot([at(0.0)] * 2, [y - half, y + half], color="0.35", linewidth=0.4)
        if row["published"]:
            tip = at(0.85 * (high if row["published"] > 0 else low))
            ax.annotate(
                "", (tip, y - 0.6 * half), (at(0.0), y - 0.6 * half),
                arrowprops={"arrowstyle": "->", "color": "0.25", "linewidth": 0.5, "shrinkA": 0,
                            "shrinkB": 0, "mutation_scale": 3},
            )  # fmt: skip
    else:
        begin, end = at(max(row["published_low"], low)), at(min(row["published_high"], high))
        band = Rectangle((begin, y - half), end - begin, 2 * half, facecolor="0.3", alpha=0.3)
        ax.add_patch(band).set_linewidth(0)
    if np.isnan(row["predicted"]):
        ax.plot(x, y, "x", color="0.25", markersize=2.5, markeredgewidth=0.5)
        return
    ends = [at(row["predicted_low"]), at(row["predicted_high"])]
    ax.plot(ends, [y + 0.2 * half] * 2, color="black", linewidth=0.7, solid_capstyle="butt")
    ax.plot(at(row["predicted"]), y + 0.2 * half, "o", color="black", markersize=1.6)


def _name_rows(ax: Axes, findings: pd.DataFrame, edges: NDArray[np.float64]) -> None:
    """Label each row; the study and the task are written once, at their first row."""
    ax.set_yticks((edges[:-1] + edges[1:]) / 2, [_name(text) for text in findings["label"]])
    diagnostic = findings["diagnostic"].fillna(False).astype(bool)
    for text, is_diagnostic in zip(ax.get_yticklabels(), diagnostic, strict=True):
        text.set(color="black" if is_diagnostic else "0.5", linespacing=0.95)
    wide = ax.get_position().width * cast(Figure, ax.figure).get_size_inches()[0]
    before = ("", "")
    rows = findings[["source", "task"]].itertuples(index=False)
    for (source, task), top, bottom in zip(rows, edges, edges[1:], strict=False):
        if (source, task) != before:
            place = "" if task == before[1] and source == before[0] else task.replace("_", " ")
            ax.text(
                (0.05 - _SOURCES - _LABELS) / wide, (top + bottom) / 2,
                place if source == before[0] else f"{source}: {place}",
                transform=ax.get_yaxis_transform(), fontsize=SMALL, va="center",
            )  # fmt: skip
        if source != before[0]:
            ax.axhline(top, color="black", linewidth=0.5, zorder=6)
        before = source, task


def _draw_sums(sums: pd.DataFrame, fit: pd.DataFrame, accounts: list[str], ax: Axes) -> None:
    """Draw the sums at the foot of the columns, beside those that an account would have if true."""
    rows = sums.set_index("account").loc[accounts]
    true = fit.set_index("account").loc[accounts]
    ax.axhline(0, color="0.5", linewidth=0.5)
    high = true["expected_high"] - true["expected_low"]
    ax.bar(np.arange(len(accounts)), high, 0.7, true["expected_low"], color="0.8")
    for part, shift, face in (("_of_all", -0.15, "black"), ("", 0.15, "white")):
        x = np.arange(len(accounts)) + shift
        ends = rows[f"ci_low{part}"], rows[f"ci_high{part}"]
        ax.vlines(x, *ends, color="0.4", linewidth=0.8)
        ax.scatter(
            x, rows[f"evidence{part}"], s=6, c=face, edgecolors="black", linewidths=0.5, zorder=3
        )
    ax.set_xlim(-0.5, len(accounts) - 0.5)
    ax.set_xticks([])
    ax.margins(y=0.1)
    ax.tick_params(labelsize=SMALL, length=2, pad=2)
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def _write_shares(confusion: pd.DataFrame, accounts: list[str], ax: Axes) -> None:
    """Write below each column how often its account is identified if it is true."""
    own = confusion[confusion["truth"] == confusion["found"]].set_index("truth")["share"]
    for x, account in enumerate(accounts):
        if account in own.index:
            text = f"{own[account]:.2f}".removesuffix(".00").removeprefix("0") or "0"
            ax.text(x, 0.5, text, fontsize=SMALL, ha="center", va="center", rotation=90)
    ax.set(xlim=(-0.5, len(accounts) - 0.5), ylim=(0, 1))
    ax.set_axis_off()


_HOW_TO_READ = """A row is a published result, a column an account of replay.
Purple: the account makes the result more probable than
a uniform prediction does; orange: less.
In a cell: line and dot, the prediction of the account over
its parameters (5 to 95 % of simulated studies, median);
grey band, the published value with its error; arrow, the
published direction from the null (thin line); cross, no replay.
Pale rows, grey names: not diagnostic, since a control, which
does not depend on learning, predicts them equally well.
Columns are ordered by their sums over all findings."""

_SUMS = """Sum over studies (bits, one vote each), 95 % over studies
Grey bars: what the sum would be if the account were true (90 %)
●  all findings
○  diagnostic findings only, which favour accounts"""

_FOUND = "Share of its own simulated findings that identify the account"


@styled
def page_figure(
    evidence: pd.DataFrame, sums: pd.DataFrame, confusion: pd.DataFrame, fit: pd.DataFrame
) -> Figure:
    """Draw a comparison on one page of a journal.

    Parameters
    ----------
    evidence, sums, confusion, fit : DataFrame
        The tables of a comparison.

    Returns
    -------
    matplotlib.figure.Figure
        Findings by accounts as drawn by `draw_evidence`; at the foot, the sums over all and over
        the diagnostic findings, with 95 % intervals over studies, beside the sums that it would
        have if it were true, and how often it would then be identified. It is 17.5 cm wide and,
        with all findings, 22 cm tall. The published parameters of accounts have a row in
        `study_figures`, but no column here.

    Raises
    ------
    ValueError
        If columns are missing.
    """
    check_table(evidence, _NEEDED, "evidence")
    ends = [f"{name}{part}" for name in ("evidence", "ci_low", "ci_high") for part in _PARTS]
    check_table(sums, ["account", *ends], "sums")
    check_table(fit, ["account", "expected_low", "expected_high"], "fit")
    over_priors = evidence[~evidence["as_published"].astype(bool)]
    table = _ordered(over_priors, list(sums["account"]))
    accounts = [str(name) for name in dict.fromkeys(table["account"])]
    rows = float(_edges(table.drop_duplicates("finding"))[-1])
    width, left = FULL_WIDTH / INCH, _SOURCES + _LABELS
    wide = min(width - left - 0.08, _WIDEST * len(accounts))
    height = _TITLE + _TOP + rows + _FOOT + _SHARES + 3 * _GAP
    figure = new_figure(width, height)
    figure.set_layout_engine("none")

    def panel(x: float, top: float, wide: float, high: float) -> Axes:
        return figure.add_axes((x / width, 1 - (top + high) / height, wide / width, high / height))

    def write(x: float, top: float, text: str, **look: Any) -> None:
        figure.text(x / width, 1 - top / height, text, va="top", **look)

    main = panel(left, _TITLE + _TOP, wide, rows)
    draw_evidence(table, main)
    below = _TITLE + _TOP + rows + _GAP
    foot = panel(left, below, wide, _FOOT)
    _draw_sums(sums, fit, accounts, foot)
    last = panel(left, below + _FOOT + _GAP, wide, _SHARES)
    _write_shares(confusion, accounts, last)
    first_control = accounts.index(_first_control(table))
    for ax in (main, foot, last):
        ax.axvline(first_control - 0.5, color="black", linewidth=0.8, zorder=6)
    write(0.05, 0.05, "Published findings, and the predictions of each account", fontsize=9)
    write(0.05, _TITLE + 0.04, _HOW_TO_READ, fontsize=SMALL, linespacing=1.15)
    write(0.05, below, _SUMS, fontsize=SMALL)
    write(0.05, below + _FOOT + _GAP + 0.02, _FOUND, fontsize=SMALL)
    bar = panel(0.1, below + 0.5, 1.6, 0.06)
    colours = ScalarMappable(TwoSlopeNorm(0.0, _LEAST, _MOST), _COLOURS)
    figure.colorbar(colours, cax=bar, orientation="horizontal", ticks=[-4, 0, 4])
    bar.tick_params(labelsize=SMALL, length=2, pad=1)
    write(1.8, below + 0.48, "evidence (bits)", fontsize=SMALL)
    return figure


def _ordered(evidence: pd.DataFrame, accounts: list[str]) -> pd.DataFrame:
    """Sort findings by study and question, and accounts by their sums, with controls last."""
    ordered = evidence.sort_values(["study", "source", "task", "question"], kind="stable")
    order = {name: rank for rank, name in enumerate(accounts)}
    rank = ordered["account"].map(order) + len(order) * ordered["is_control"].astype(bool)
    table = ordered.assign(rank=rank).sort_values("rank", kind="stable")
    return table.set_index("finding").loc[list(dict.fromkeys(ordered["finding"]))].reset_index()


def _first_control(table: pd.DataFrame) -> str:
    controls = table.loc[table["is_control"].astype(bool), "account"]
    return str(controls.iloc[0] if len(controls) else table["account"].iloc[0])


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


@styled
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
        task = first["task"].replace("_", " ")
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
