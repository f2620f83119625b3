"""The page of a comparison: published findings beside what each account of replay predicts."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analyses.plots.style import label, new_figure, styled
from replay.checks import check_table

__all__ = ["draw_evidence", "draw_found_accounts", "page_figure", "study_figures"]

_COLOURS = "PuOr"
_LEAST, _MOST = -6.5, 6.5  # bits; the least that a finding can cost is -4.3
_ROW, _CELL = 0.235, 0.44  # inches
_LABELS = 4.6
_TOP, _FOOT, _BESIDE = 1.45, 1.3, 2.1  # above, below and between the panels
_KEY, _TEXT = 3.4, 4.0  # the width of the key, and the height down to the matrix
_PARTS = ("", "_of_all")
_NEEDED = ["finding", "study", "source", "task", "statistic", "label", "likelihood", "account"]
_NEEDED += [
    "evidence",
    "predicted_low",
    "predicted",
    "predicted_high",
    "published",
    "published_low",
]
_NEEDED += ["published_high", "weight", "diagnostic", "is_control"]


def draw_evidence(evidence: pd.DataFrame, ax: Axes) -> Axes:
    """Draw what each account predicts of each finding, coloured by the evidence.

    The dot in a cell is the middle of what an account predicts, the line goes from 5 to 95 % of its
    simulated studies; the grey band is what was published, with 95 % and the differences between
    studies, and an arrow the published direction from the null, the thin line. Purple: the account
    makes the finding more probable than knowing nothing does; orange: less. Pale rows are not
    diagnostic: controls predict them as well.

    Parameters
    ----------
    evidence : DataFrame
        The table ``evidence`` of a comparison.
    ax : matplotlib.axes.Axes
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing.
    """
    check_table(evidence, _NEEDED, "evidence")
    accounts, findings = (list(dict.fromkeys(evidence[name])) for name in ("account", "finding"))
    scale = TwoSlopeNorm(0.0, _LEAST, _MOST)
    colours = ScalarMappable(scale, _COLOURS)
    for y, finding in enumerate(findings):
        rows = evidence[evidence["finding"] == finding].set_index("account")
        low, high = _limits(rows)
        for x, account in enumerate(accounts):
            row = rows.loc[account]
            colour = colours.to_rgba(np.clip(row["evidence"], _LEAST, _MOST))
            ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
            _draw_prediction(ax, x, y, row, low, high)
        if not _is_diagnostic(rows):
            veil = Rectangle((-0.5, y - 0.5), len(accounts), 1, facecolor="white", alpha=0.55)
            ax.add_patch(veil).set(linewidth=0, zorder=5)
    _name_rows(ax, evidence.drop_duplicates("finding"))
    controls = set(evidence.loc[evidence["is_control"].astype(bool), "account"])
    names = [f"control: {_short(name)}" if name in controls else _short(name) for name in accounts]
    ax.set_xticks(range(len(accounts)), names, rotation=55, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelsize=6)
    ax.set_xlim(-0.5, len(accounts) - 0.5)
    ax.set_ylim(len(findings) - 0.5, -0.5)
    ax.spines[:].set_visible(False)
    return ax


def _is_diagnostic(rows: pd.DataFrame) -> bool:
    return bool(rows["diagnostic"].fillna(False).astype(bool).iloc[0])


def _short(account: str) -> str:
    name = account.removesuffix(" (as published)")
    return label(name) + "*" * (name != account)


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    """Give the scale of a row: all that is drawn in it, and the null."""
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

    if row["likelihood"] == "direction":
        ax.plot([at(0.0)] * 2, [y - 0.4, y + 0.4], color="0.35", linewidth=0.4)
        if row["published"]:
            ax.annotate(
                "", (at(0.85 * (high if row["published"] > 0 else low)), y - 0.3),
                (at(0.0), y - 0.3),
                arrowprops={"arrowstyle": "->", "color": "0.25", "linewidth": 0.6, "shrinkA": 0,
                            "shrinkB": 0, "mutation_scale": 4},
            )  # fmt: skip
    else:
        begin, end = at(max(row["published_low"], low)), at(min(row["published_high"], high))
        ax.add_patch(
            Rectangle((begin, y - 0.4), end - begin, 0.8, facecolor="0.3", alpha=0.3, linewidth=0)
        )
    if np.isnan(row["predicted"]):
        ax.text(x, y, "none", ha="center", va="center", fontsize=4.5, color="0.25")
        return
    ends = [at(row["predicted_low"]), at(row["predicted_high"])]
    ax.plot(ends, [y + 0.1] * 2, color="black", linewidth=0.8, solid_capstyle="butt")
    ax.plot(at(row["predicted"]), y + 0.1, "o", color="black", markersize=1.8)


def _name_rows(ax: Axes, findings: pd.DataFrame) -> None:
    texts, shown = [], set()
    for row in findings.to_dict("records"):
        name = "" if row["study"] in shown else f"{row['source'].upper()}   "
        shown.add(row["study"])
        texts.append(f"{name}{row['label']} ({row['task'].replace('_', ' ')})")
    ax.set_yticks(range(len(texts)), texts)
    diagnostic = findings["diagnostic"].fillna(False).astype(bool)
    for text, told in zip(ax.get_yticklabels(), diagnostic, strict=True):
        text.set_color("black" if told else "0.6")
    breaks = np.flatnonzero(findings["study"].to_numpy()[1:] != findings["study"].to_numpy()[:-1])
    for y in breaks:
        ax.axhline(y + 0.5, color="black", linewidth=0.5)


def draw_found_accounts(confusion: pd.DataFrame, ax: Axes) -> Axes:
    """Draw who wins the comparison if the findings were those of a simulated account.

    Parameters
    ----------
    confusion : DataFrame
        The table ``confusion`` of a comparison.
    ax : matplotlib.axes.Axes
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing.
    """
    check_table(confusion, ["truth", "found", "share"], "confusion")
    names = list(dict.fromkeys(confusion["truth"]))
    table = confusion.pivot_table("share", "truth", "found").loc[names, names]
    ax.imshow(table.to_numpy(float), cmap="Greys", vmin=0, vmax=1, aspect="auto")
    for (y, x), share in np.ndenumerate(table.to_numpy(float)):
        if share >= 0.05:
            colour = "white" if share > 0.6 else "black"
            ax.text(x, y, f"{100 * share:.0f}", ha="center", va="center", fontsize=5, color=colour)
    words = [label(name) for name in names]
    ax.set_xticks(range(len(names)), words, rotation=55, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names)), words)
    ax.tick_params(length=0, labelsize=6)
    ax.set_xlabel("found, % of simulated sets of findings")
    ax.set_ylabel("truth")
    return ax


def _draw_sums(sums: pd.DataFrame, accounts: list[str], ax: Axes) -> None:
    """Draw the sums at the foot of the columns, with intervals over studies."""
    rows = sums.set_index("account").loc[accounts]
    ax.axhline(0, color="0.5", linewidth=0.5)
    for part, shift, face in (("_of_all", -0.13, "black"), ("", 0.13, "white")):
        x = np.arange(len(accounts)) + shift
        ends = rows[f"ci_low{part}"], rows[f"ci_high{part}"]
        ax.vlines(x, *ends, color="0.4", linewidth=1)
        ax.scatter(
            x, rows[f"evidence{part}"], s=12, c=face, edgecolors="black", linewidths=0.6, zorder=3,
            label="all findings" if part else "diagnostic findings only",
        )  # fmt: skip
    ax.legend(loc="lower left", fontsize=6, frameon=False, ncols=2, borderpad=0)
    ax.set_xlim(-0.5, len(accounts) - 0.5)
    ax.set_xticks([])
    ax.margins(y=0.15)
    ax.set_ylabel("sum, bits\n(a vote a study)")
    ax.spines[["top", "right", "bottom"]].set_visible(False)


_HOW_TO_READ = """How to read it

Each row is a published result, each column an account of replay.
Purple: the account makes the result more probable than
knowing nothing does. Orange: less probable.

Inside a cell, line and dot are what the account predicts over
its parameters (5 to 95 % of simulated studies, and the middle);
the grey band is what was published, with its error; an arrow,
the published direction from the null (thin line).
"none": no replay.

Pale rows, grey names: not diagnostic, as a control, which knows
nothing of learning, predicts them as well.
Columns with *: the parameters of the account's authors.

Below: the sums over studies, one vote each, with 95 % over
studies. Diagnostic findings favour accounts by their choice;
sums over all findings don't.
"""


@styled
def page_figure(evidence: pd.DataFrame, sums: pd.DataFrame, confusion: pd.DataFrame) -> Figure:
    """Draw a comparison on one page.

    Parameters
    ----------
    evidence, sums, confusion : DataFrame
        The tables of a comparison.

    Returns
    -------
    matplotlib.figure.Figure
        Findings by accounts as `draw_evidence` draws them; at the foot the sums of all and of the
        diagnostic findings, with 95 % over studies; beside, how to read it and the confusion
        matrix.

    Raises
    ------
    ValueError
        If columns are missing.
    """
    check_table(evidence, _NEEDED, "evidence")
    ends = [f"{name}{part}" for name in ("evidence", "ci_low", "ci_high") for part in _PARTS]
    check_table(sums, ["account", *ends], "sums")
    table = _ordered(evidence, list(sums["account"]))
    accounts = list(dict.fromkeys(table["account"]))
    n_rows, n_true = table["finding"].nunique(), confusion["truth"].nunique()
    wide, beside = _CELL * len(accounts), 0.24 * n_true
    width = _LABELS + wide + _BESIDE + max(beside, _KEY) + 0.2
    below = max(_ROW * n_rows, _TEXT + 0.24 * n_true + 0.3)
    height = _TOP + below + 0.12 + _FOOT + 0.15
    figure = new_figure(width, height)
    figure.set_layout_engine("none")

    def panel(left: float, top: float, wide: float, high: float) -> Axes:
        bounds = left / width, 1 - (top + high) / height, wide / width, high / height
        return figure.add_axes(bounds)

    main = panel(_LABELS, _TOP, wide, _ROW * n_rows)
    draw_evidence(table, main)
    first_control = [str(name) for name in accounts].index(_first_control(table))
    for ax in (main, foot := panel(_LABELS, _TOP + _ROW * n_rows + 0.12, wide, _FOOT)):
        ax.axvline(first_control - 0.5, color="black", linewidth=1, zorder=6)
    _draw_sums(sums, accounts, foot)
    left = _LABELS + wide + _BESIDE
    figure.text(
        0.1 / width, 1 - 0.12 / height, "What each account of replay predicts of what was found",
        fontsize=12, va="top",
    )  # fmt: skip
    figure.text(left / width, 1 - 0.15 / height, _HOW_TO_READ, fontsize=7, va="top")
    bar = panel(left, _TEXT - 0.75, _KEY, 0.12)
    colours = ScalarMappable(TwoSlopeNorm(0.0, _LEAST, _MOST), _COLOURS)
    figure.colorbar(colours, cax=bar, orientation="horizontal", ticks=[-4, -2, 0, 2, 4])
    bar.set_title("evidence, bits beyond knowing nothing", fontsize=7)
    bar.tick_params(labelsize=6)
    matrix = panel(left, _TEXT + 0.35, beside, 0.24 * n_true)
    draw_found_accounts(confusion, matrix)
    matrix.set_title("If one were true, which would be found?", fontsize=7, loc="left")
    return figure


def _ordered(evidence: pd.DataFrame, accounts: list[str]) -> pd.DataFrame:
    """Sort findings by study and question, and accounts by their sums, controls last."""
    ordered = evidence.sort_values(["study", "question"], kind="stable")
    order = {name: rank for rank, name in enumerate(accounts)}
    rank = ordered["account"].map(order) + len(order) * ordered["is_control"].astype(bool)
    table = ordered.assign(rank=rank).sort_values("rank", kind="stable")
    return table.set_index("finding").loc[list(dict.fromkeys(ordered["finding"]))].reset_index()


def _first_control(table: pd.DataFrame) -> str:
    controls = table.loc[table["is_control"].astype(bool), "account"]
    return str(controls.iloc[0] if len(controls) else table["account"].iloc[0])


def study_figures(evidence: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Draw a page for each study: its findings, and what all accounts predict.

    Parameters
    ----------
    evidence : DataFrame
        The table ``evidence`` of a comparison.

    Yields
    ------
    study : str
        Its name.
    figure : matplotlib.figure.Figure
        A panel a finding.
    """
    for study, rows in evidence.groupby("study", sort=False):
        yield str(study), _study_figure(rows)


@styled
def _study_figure(rows: pd.DataFrame) -> Figure:
    findings = list(dict.fromkeys(rows["finding"]))
    accounts = list(dict.fromkeys(rows["account"]))
    n_columns = min(len(findings), 3)
    n_lines = -(-len(findings) // n_columns)
    figure = new_figure(1.6 + 1.9 * n_columns, n_lines * (0.155 * len(accounts) + 0.9))
    axes = figure.subplots(n_lines, n_columns, squeeze=False, sharey=True)
    for ax in axes.flat[len(findings) :]:
        ax.set_visible(False)
    colours = ScalarMappable(TwoSlopeNorm(0.0, _LEAST, _MOST), _COLOURS)
    for ax, finding in zip(axes.flat, findings, strict=False):
        own = rows[rows["finding"] == finding].set_index("account").loc[accounts]
        first = own.iloc[0]
        if first["likelihood"] == "direction":
            ax.axvline(0, color="0.5", linewidth=0.5)
            side = {1.0: "above the null", -1.0: "below the null"}.get(first["published"], "")
            name = f"minus null; found: {side}"
        else:
            ax.axvspan(first["published_low"], first["published_high"], color="0.85", zorder=0)
            name = "grey: published"
        y = np.arange(len(accounts))
        ax.hlines(y, own["predicted_low"], own["predicted_high"], color="0.3", linewidth=0.8)
        ax.scatter(
            own["predicted"], y, s=14, zorder=3, edgecolors="black", linewidths=0.4,
            c=colours.to_rgba(np.clip(own["evidence"], _LEAST, _MOST)),
        )  # fmt: skip
        ax.set_yticks(y, [_short(each) for each in accounts])
        ax.set_ylim(len(accounts) - 0.5, -0.5)
        ax.set_title(fill(first["label"], 34), fontsize=6.5)
        ax.set_xlabel(f"{first['task'].replace('_', ' ')}\n{name}", fontsize=6)
        ax.tick_params(labelsize=5.5)
    figure.suptitle(rows["source"].iloc[0], fontsize=8)
    return figure
