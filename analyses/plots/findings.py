"""Models beside what was published: the grid of learners and findings, and single statistics."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from analyses.findings.table import as_share
from analyses.findings.verdicts import LEAST_ANIMALS, excluding, expectation, held_against
from analyses.plots.style import FULL_WIDTH, label, new_axes, new_figure, styled, write_empty
from replay.checks import check_table

__all__ = ["draw_grid", "draw_statistic", "grid_figure", "learner_label", "statistics_figure"]

_COLOURS = {"agrees": "#a6cde8", "disagrees": "#f7c08a", "not comparable": "#eeeeee"}
_DARK, _BLUE = "#222222", "#0072b2"
_EXPECTED = {1: "above", 0: "no difference", -1: "below"}
_CELL_WIDTH, _CELL_HEIGHT, _LABEL_WIDTH = 0.26, 0.21, 3.4  # inches
_LETTERS_PER_INCH = 22  # in the explanation
_VERDICTS = ["learner", "finding", "source", "task", "statistic", "label", "value", "ci_low"]
_VERDICTS += ["ci_high", "null", "published_low", "published_high", "expected_sign", "verdict"]
_VERDICTS += ["reason", "contradicts"]
_STATISTICS = ["task", "learner", "statistic", "label", "order", "value", "ci_low", "ci_high"]
_STATISTICS += ["null", "n_animals"]
_SHOWN_UNITS = ("fraction", "laps", "exponent")


def draw_grid(verdicts: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the verdict on each finding for each learner, with effect and interval.

    Findings that the same statistic tests in the same way share a row. A cell's colour is the
    verdict. The number is the model's mean; the bar below it is its interval, on the scale of the
    row, with the null as a thin line or the studies' range as a shade. At the right is how many
    learners agree, and a letter where findings exclude each other: none can agree with all of it.

    Parameters
    ----------
    verdicts : pandas.DataFrame
        What `analyses.findings.verdicts.verdicts` gives, with the `label` of each statistic.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

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
    >>> from analyses.findings.table import findings
    >>> from analyses.findings.verdicts import verdicts
    >>> statistics = pd.DataFrame({"task": "linear_track", "learner": ["balanced", "backward"],
    ...     "statistic": "S1", "value": [0.45, 1.0], "ci_low": [0.4, 1.0], "ci_high": [0.5, 1.0],
    ...     "null": 0.5, "p": [0.26, 0.002], "n_animals": 10, "n_above": [3, 10],
    ...     "n_below": [7, 0], "chance_above": 0.5, "n_chains": 100, "n_replays": 50})
    >>> found = verdicts(statistics, findings()).assign(label="reverse chains")
    >>> ax = draw_grid(found)
    >>> ax.get_yticklabels()[0].get_text().splitlines()
    ['S1 reverse chains', 'Mallory 2025; linear track: 0.391 to 0.543']
    """
    check_table(verdicts, _VERDICTS, "verdicts")
    ax = new_axes() if ax is None else ax
    learners = list(dict.fromkeys(verdicts["learner"]))
    tests = [rows for _, rows in held_against(verdicts).groupby("test")]
    letters = excluding(verdicts)
    for y, rows in enumerate(tests):
        scale = _scale(rows)
        cells = rows.drop_duplicates("learner").set_index("learner")
        for x, learner in enumerate(learners):
            _draw_cell(ax, x, y, cells.loc[learner], scale)
        n_agreeing = int((cells["verdict"] == "agrees").sum())
        look: dict[str, Any] = {} if n_agreeing else {"fontweight": "bold"}
        _write_beside(ax, y, 6, str(n_agreeing or "none"), **look)
        marks = sorted({letters[name] for name in rows["finding"] if name in letters})
        _write_beside(ax, y, 34, ",".join(marks), fontweight="bold")
        if y and _number(rows) != _number(tests[y - 1]):
            ax.axhline(y - 0.5, color="0.6", linewidth=0.5, zorder=0)
    agreeing = held_against(verdicts).drop_duplicates(["learner", "test"])
    n_agreed = agreeing[agreeing["verdict"] == "agrees"].groupby("learner").size()
    for x, learner in enumerate(learners):
        ax.text(x, len(tests) - 0.2, str(n_agreed.get(learner, 0)), ha="center", va="center")
    _write_beside(ax, -0.8, 6, "agree", fontstyle="italic")
    ax.set_xlim(-0.5, len(learners) - 0.5)
    ax.set_ylim(len(tests) + 0.1, -0.5)
    labels = [_row_label(rows) for rows in tests]
    ax.set_yticks(
        [*range(len(tests)), len(tests) - 0.2], [*labels, f"agrees with, of {len(tests)}"]
    )
    ax.set_xticks(range(len(learners)), [learner_label(name) for name in learners], rotation=90)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.tick_params(axis="y", labelsize=5.5)
    ax.spines[:].set_visible(False)
    if not tests:
        write_empty(ax, "no finding is tested in these tasks")
    return ax


def _write_beside(ax: Axes, y: float, points: float, text: str, **look: Any) -> None:
    """Write at the right of a row, so many points from the last cell."""
    ax.annotate(
        text, (1, y), (points, 0), xycoords=("axes fraction", "data"),
        textcoords="offset points", va="center", annotation_clip=False, **look,
    )  # fmt: skip


def learner_label(text: str) -> str:
    """Name a learner with its parameters, as figures print it.

    Examples
    --------
    >>> learner_label("full_backups reversible=true"), learner_label("dyna_q n_replays=5")
    ('Prio. sweeping, full backups, reversible', 'Dyna-Q, n replays=5')
    """
    name, *parameters = text.split()
    words = (each.removesuffix("=true").replace("_", " ") for each in parameters)
    return ", ".join((label(name), *words))


def _number(rows: pd.DataFrame) -> str:
    return str(rows["statistic"].iloc[0]).partition("_")[0]


def _row_label(of_row: pd.DataFrame) -> str:
    first = of_row.iloc[0]
    sources = ", ".join(dict.fromkeys(of_row["source"]))
    what = of_row["label"].dropna().iloc[0]
    where = f"{sources}; {label(first['task'])}: {expectation(first)}"
    return f"{_number(of_row)} {what}\n{where}"


def _scale(of_row: pd.DataFrame) -> tuple[float, float]:
    """Give the ends of the axis that the cells of a row share."""
    columns = ["value", "null", "published_low", "published_high"]
    return _limits(of_row[columns].to_numpy(dtype=float).ravel())


def _draw_cell(ax: Axes, x: int, y: int, cell: pd.Series, scale: tuple[float, float]) -> None:
    no_replay = cell["verdict"] == "disagrees" and np.isnan(cell["value"])
    ax.add_patch(
        Rectangle(
            (x - 0.47, y - 0.46), 0.94, 0.92, facecolor=_COLOURS[cell["verdict"]], linewidth=0,
            hatch="////" if no_replay else None, edgecolor="white",
        )
    )  # fmt: skip
    if np.isnan(cell["value"]):
        return

    def place(value: float) -> float:
        share = (value - scale[0]) / (scale[1] - scale[0])
        return x - 0.44 + 0.88 * float(np.clip(share, 0, 1))

    line = y + 0.24
    if np.isfinite(cell["published_low"]):
        low, high = place(cell["published_low"]), place(cell["published_high"])
        ax.add_patch(
            Rectangle(
                (low, line - 0.15), max(high - low, 0.02), 0.3, facecolor="0.3", alpha=0.35,
                linewidth=0,
            )
        )  # fmt: skip
    elif np.isfinite(cell["null"]):
        null = place(cell["null"])
        ax.plot([null, null], [line - 0.15, line + 0.15], color="0.45", linewidth=0.5)
    if np.isfinite(cell["ci_low"]):
        ends = [place(cell["ci_low"]), place(cell["ci_high"])]
        ax.plot(ends, [line, line], color=_DARK, linewidth=0.8, solid_capstyle="butt")
    ax.plot(place(cell["value"]), line, "o", color=_DARK, markersize=1.6, markeredgewidth=0)
    shown = f"{cell['value']:.2f}" if abs(cell["value"]) < 10 else f"{cell['value']:.3g}"
    ax.text(x, y - 0.16, shown, ha="center", va="center", fontsize=4.5)


@styled
def grid_figure(verdicts: pd.DataFrame) -> Figure:
    """Make the figure of learners by findings.

    Parameters
    ----------
    verdicts : pandas.DataFrame
        What `analyses.findings.verdicts.verdicts` gives, with the `label` of each statistic.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; it grows with the number of learners and findings.

    Raises
    ------
    ValueError
        If columns are missing.
    """
    check_table(verdicts, _VERDICTS, "verdicts")
    n_learners = verdicts["learner"].nunique()
    n_rows = held_against(verdicts)["test"].nunique()
    width = max(_LABEL_WIDTH + _CELL_WIDTH * n_learners, FULL_WIDTH)
    figure = new_figure(width, 2.2 + _CELL_HEIGHT * max(n_rows, 2))
    ax = figure.subplots()
    draw_grid(verdicts, ax)
    n_letters = int(_LETTERS_PER_INCH * (width - _LABEL_WIDTH))
    lines = (fill(line, n_letters) for line in _left_out(verdicts))
    ax.set_xlabel("\n".join(lines), fontsize=5.5, loc="left")
    handles: list[Any] = [Patch(color=colour, label=name) for name, colour in _COLOURS.items()]
    handles.insert(
        2,
        Patch(facecolor=_COLOURS["disagrees"], hatch="////", edgecolor="white", label="no replay"),
    )
    handles += [
        Line2D([], [], color=_DARK, marker="o", markersize=2, label="mean, 95 % interval"),
        Line2D([], [], color="0.45", linewidth=0.6, marker="|", linestyle="", label="null"),
        Patch(facecolor="0.3", alpha=0.35, label="range of the studies"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=6)
    return figure


def _left_out(verdicts: pd.DataFrame) -> list[str]:
    """Count what the grid doesn't show, and explain its letters."""
    n = verdicts["finding"].nunique() - held_against(verdicts)["finding"].nunique()
    lines = [f"{n} published values are not comparable; verdicts.csv says why."] if n else []
    letters = excluding(verdicts)
    sources = verdicts.drop_duplicates("finding").set_index("finding")["source"]
    for letter in sorted(set(letters.values())):
        named = [sources.get(name) for name, of in letters.items() if of == letter]
        names = ", ".join(dict.fromkeys(name for name in named if name))
        lines.append(f"{letter}  These exclude each other, and no model agrees with all: {names}.")
    return lines


def draw_statistic(statistics: pd.DataFrame, table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw one statistic in one task: all learners, and above them what studies found.

    Parameters
    ----------
    statistics : pandas.DataFrame
        Rows of one task and statistic: `task, learner, statistic, label, order, value, ci_low,
        ci_high, null, n_animals`. Chains by cause are filled, by order of execution open; intervals
        of fewer than six animals are left out.
    table : pandas.DataFrame
        What `analyses.findings.table.findings` gives.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

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
    >>> from analyses.findings.table import findings
    >>> statistics = pd.DataFrame({"task": "w_track", "learner": ["dyna_q"], "statistic": "S1",
    ...     "label": "reverse chains", "order": "causal", "value": 0.9, "ci_low": 0.8,
    ...     "ci_high": 1.0, "null": 0.5, "n_animals": 20})
    >>> ax = draw_statistic(statistics, findings())
    >>> [text.get_text() for text in ax.texts][:2]
    ['Gupta 2010, gupta 2t: 0.49', 'Davidson 2009, long track: 0.391']
    """
    check_table(statistics, _STATISTICS, "statistics")
    ax = new_axes() if ax is None else ax
    name, task = statistics["statistic"].iloc[0], statistics["task"].iloc[0]
    studies = _studies(table, name, task)
    learners = list(dict.fromkeys(statistics["learner"]))
    for order, offset, face in (("temporal", 0.2, "white"), ("causal", -0.2, _DARK)):
        rows = statistics[statistics["order"] == order].set_index("learner").reindex(learners)
        y = np.arange(len(learners)) + offset
        enough = (rows["n_animals"] >= LEAST_ANIMALS).to_numpy()
        ax.hlines(
            y[enough], rows["ci_low"][enough], rows["ci_high"][enough], color=_DARK, linewidth=0.7
        )
        ax.plot(
            rows["value"], y, "o", color=_DARK, markerfacecolor=face, markersize=2.4,
            markeredgewidth=0.5,
        )  # fmt: skip
        if order == "causal":
            ax.plot(rows["null"], y, "|", color="0.55", markersize=5, markeredgewidth=0.8)
    values = np.array([value for value, _ in studies])
    if np.isfinite(values).any():
        ax.axvspan(np.nanmin(values), np.nanmax(values), color=_BLUE, alpha=0.12, linewidth=0)
    ax.plot(values, np.arange(-len(studies), 0), "D", color=_BLUE, markersize=2.6)
    low, high = _limits(np.concatenate([values, *statistics[["value", "null"]].to_numpy(float)]))
    ax.set_xlim(low, high)
    for height, (value, text) in enumerate(studies, start=-len(studies)):
        at_right = value > (low + high) / 2
        ax.annotate(
            text,
            (low if np.isnan(value) else value, height),
            (-3 if at_right else 3, 0),
            textcoords="offset points",
            ha="right" if at_right else "left",
            va="center",
            fontsize=4.5,
            color="#005a8f",
        )
    ax.set_ylim(len(learners) - 0.4, -len(studies) - 0.6)
    ax.set_yticks(range(len(learners)), [learner_label(name) for name in learners], fontsize=5)
    ax.tick_params(axis="y", length=0)
    title = f"{_number(statistics)} {statistics['label'].iloc[0]}"
    ax.set_title(fill(title, 40), fontsize=6)
    return ax


def _limits(numbers: NDArray[np.float64]) -> tuple[float, float]:
    """Give the ends of an axis on which all numbers have some room."""
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return 0.0, 1.0
    room = 0.15 * float(np.ptp(numbers)) or 0.5
    return float(numbers.min()) - room, float(numbers.max()) + room


def _studies(table: pd.DataFrame, statistic: str, task: str) -> list[tuple[float, str]]:
    """List what was published of a statistic: values of all tasks, directions of this one."""
    rows = table[table["statistic"] == statistic].fillna({"error": "", "task_name": ""})
    rows = rows.assign(value=as_share)
    shown = (rows["test"] == "range") | rows["unit"].isin(_SHOWN_UNITS)
    here = rows["task_name"] == task
    kept = rows.assign(value=rows["value"].where(shown))[shown | here]
    return [(study["value"], _study_text(study, task)) for study in kept.to_dict("records")]


def _study_text(study: Mapping[Hashable, Any], task: str) -> str:
    if np.isnan(study["value"]):
        sign = study["expected_sign"]
        return f"{study['source']}: {'described only' if np.isnan(sign) else _EXPECTED[int(sign)]}"
    elsewhere = study["task_name"] not in ("", task)
    where = f", {label(study['task_name'])}" if elsewhere else ""
    error = f" ({study['error']})" if study["error"] else ""
    return f"{study['source']}{where}: {study['value']:.3g}{error}"


@styled
def statistics_figure(statistics: pd.DataFrame, table: pd.DataFrame, columns: int = 3) -> Figure:
    """Make the figure of one task: a panel for each statistic, beside what was published.

    Parameters
    ----------
    statistics : pandas.DataFrame
        Rows of one task, and of one `min_length`.
    table : pandas.DataFrame
        What `analyses.findings.table.findings` gives.
    columns : int, default 3
        Panels in a row.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or there are several tasks or none.
    """
    check_table(statistics, _STATISTICS, "statistics")
    tasks = statistics["task"].unique()
    if len(tasks) != 1:
        raise ValueError(f"The figure is of one task, got {len(tasks)}.")
    panels = list(statistics.groupby("statistic", sort=False))
    n_rows = -(-len(panels) // columns)
    tallest = statistics["learner"].nunique() + 6
    figure = new_figure(FULL_WIDTH, n_rows * (0.6 + 0.1 * tallest) + 0.3)
    axes = figure.subplots(n_rows, columns, squeeze=False)
    for number, (ax, (_, rows)) in enumerate(zip(axes.flat, panels, strict=False)):
        draw_statistic(rows, table, ax)
        if number % columns:
            ax.set_yticklabels([])
    for row in axes:  # the same learner at the same height
        top = min(ax.get_ylim()[1] for ax in row)
        for ax in row:
            ax.set_ylim(top=top)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    figure.suptitle(label(tasks[0]), fontsize=8)
    return figure
