"""A comparison: the evidence of each finding for each account, its sums, and all predictions."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analyses.plots.layers import draw_shares, name_rows
from analyses.plots.panels import NEW, add_legend, add_note, drawing, grid, new_figure
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, INCH, SMALL, Look, label
from analyses.tables import account_of
from replay.checks import check_table

_COLOURS = "PuOr"
_LEAST, _MOST = -6.5, 6.5  # bits; the least that a finding can cost is -4.3
_ROW, _FEWEST_ROWS = 0.17, 8  # inches, of the page; and of a study's panels: texts need space
_COLUMNS, _TASK_LETTERS = 5, 24  # of a study's figure: panels side by side, letters in a line
_SUM = 0.135  # inches, the height of a row of sums
_PAGE, _TEXTS = 21.5 / INCH, 0.6  # the height of a page, and of the texts of a row of panels
_DOT: Look = {"marker": "o", "color": "black", "linestyle": "none", "markeredgewidth": 0.5}
_PARTS: dict[str, Look] = {
    "_of_all": {**_DOT, "label": "All findings", "markerfacecolor": "black"},
    "": {**_DOT, "label": "Diagnostic findings only", "markerfacecolor": "white"},
}
_ON_SUMS = (
    "Two orders, {controls}: by all evidence, and by the values of statistics where there is such "
    "replay at all. Above 0: findings are more probable than under a uniform prediction. Each "
    "study has one vote. Lines: 95 % intervals over studies (n = {n}). Grey: 90 % of the sums over "
    "all findings if the account were true. Diagnostic findings, which {rival} does not predict as "
    "well as the best account, favour accounts."
)
# Who is compared with the best account to say that a finding is diagnostic.
_RIVALS = {
    True: "a control (it does not learn)",
    False: "a uniform prediction (no control is here)",
}
_OF_A_STUDY = (
    "Dots: the median prediction of an account; lines: 5 to 95 % of simulated studies. Purple "
    "diamonds: the account makes the finding more probable than a uniform prediction does; orange "
    "circles: less. No dot: no replay. Grey: the published value, with its error and that by which "
    "studies differ. *: the parameters of the account's authors."
)
_NEEDED = ["finding", "study", "source", "task", "statistic", "label", "likelihood", "account"]
_NEEDED += ["evidence", "predicted_low", "predicted", "predicted_high", "published"]
_NEEDED += ["published_low"]
_NEEDED += ["published_high", "weight", "diagnostic", "is_control", "as_published"]
_FOUND_ROW, _NAMES = 0.16, 1.5  # inches
# The number is `N_DRAWN_SETS` of `analyses.findings.evidence`; fewer draws make fewer sets.
_NOTE = (
    "% of up to 64 simulated sets of findings of each account; numbers below 5 are omitted. "
    "Each set is drawn from the predictions of the account of its row."
)


@drawing
def page_figure(evidence: pd.DataFrame, sums: pd.DataFrame) -> Figure:
    """Draw how much more probable each account makes each study than a uniform prediction does.

    Parameters
    ----------
    evidence, sums : DataFrame
        The tables of a comparison.

    Returns
    -------
    matplotlib.figure.Figure
        Studies by accounts, 17.5 cm wide: the vote of a study is the mean of its findings, by their
        weights. `study_figures` draws each finding, and what accounts predict, also with the
        parameters of their authors, which have no column here.

    Examples
    --------
    >>> from replay.data import reference_table
    >>> tables = [reference_table(f"comparison/{name}") for name in ("evidence", "sums")]
    >>> page_figure(*tables).axes[0].get_yticklabels()[0].get_text()
    'Berners-Lee 2022 (2)'
    """
    check_table(evidence, _NEEDED, "evidence", empty=False)
    check_table(sums, ["account"], "sums")
    rows = evidence[~evidence["as_published"].astype(bool)]
    is_control = rows.groupby("account")["is_control"].any()
    # Accounts by their sums, with controls last; studies by what is found of them on average.
    order = {name: rank for rank, name in enumerate(sums["account"])}
    accounts = sorted(is_control.index, key=lambda name: (is_control[name], order.get(name, 0)))
    rows = rows.assign(vote=rows["evidence"] * rows["weight"])
    votes = rows.pivot_table("vote", "study", "account", aggfunc="sum")[accounts]
    votes = votes.loc[votes.mean(axis=1).sort_values(ascending=False, kind="stable").index]
    of_study = rows.groupby("study")
    sources, n_findings = of_study["source"].unique(), of_study["finding"].nunique()
    tells = of_study["diagnostic"].apply(lambda told: told.fillna(False).astype(bool).any())
    figure = new_figure(FULL_WIDTH / INCH, _NAMES + _ROW * len(votes) + 0.45)
    ax = figure.subplots()
    most = float(np.abs(votes.to_numpy()).max()) or 1.0
    image = ax.imshow(votes, cmap=_COLOURS, norm=TwoSlopeNorm(0.0, -most, most), aspect="auto")
    name_rows(ax, [f"{', '.join(sources[study])} ({n_findings[study]})" for study in votes.index])
    for text, study in zip(ax.get_yticklabels(), votes.index, strict=True):
        text.set_color("black" if tells[study] else "0.5")
    names = [label(name) + " (control)" * bool(is_control[name]) for name in accounts]
    ax.set_xticks(range(len(accounts)), names, rotation=90)
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelsize=SMALL)
    for edge in np.arange(0.5, len(votes) - 1):
        ax.axhline(edge, color="white", linewidth=0.8)
    ax.axvline((~is_control).sum() - 0.5, color="black", linewidth=0.8)
    ax.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=ax, location="bottom", shrink=0.4, aspect=40, pad=0.02)
    bar.set_label("Evidence beyond a uniform prediction (bits): purple for, orange against")
    rival = _RIVALS[bool(is_control.any())]
    note = (
        f"In brackets: findings of the study. Grey: {rival} predicts them as well as any account."
    )
    add_note(figure, note)
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
    check_table(
        sums,
        ["account", "is_control", "value_of_all", "n_studies_of_all", *ends],
        "sums",
        empty=False,
    )
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
    values.axvline(0, color="0.5", linewidth=0.5)
    values.plot(by_value["value_of_all"], y, **_DOT, markersize=3)
    values.xaxis.set_major_locator(MaxNLocator(4))
    ax.set_xlabel("Sum of evidence over studies (bits)")
    values.set_xlabel("Values alone (bits)")
    has_controls = bool(rows["is_control"].astype(bool).any())
    note = _ON_SUMS.format(
        controls="controls in both, the best of them dashed"
        if has_controls
        else "without controls",
        rival=_RIVALS[has_controls],
        n=sums["n_studies_of_all"].max(),
    )
    add_note(figure, note)
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
    # A star marks accounts with the parameters of their authors.
    each = rows.drop_duplicates("account")
    named = zip(each["account"].astype(str), each["as_published"].astype(bool), strict=True)
    short = {
        name: label(account_of(name)) + "*" if published else label(name)
        for name, published in named
    }
    # One question may be answered by the order of its answers; several have the order of all.
    ordered = rows.sort_values("evidence", ascending=False, kind="stable")
    accounts = list(dict.fromkeys((ordered if len(findings) == 1 else rows)["account"]))
    replays = rows.groupby("account")["predicted"].count()
    silent = [short[name] for name in accounts if not replays[name]]
    # If there is no such replay at all, rows without a dot say so.
    accounts = [name for name in accounts if replays[name]] or accounts
    figure, axes = grid(
        [label[:1].upper() + label[1:] for label in rows.drop_duplicates("finding")["label"]],
        _COLUMNS,
        _panel_height(rows[rows["account"].isin(accounts)]),
        width_cm=COLUMN_WIDTH if len(findings) == 1 else FULL_WIDTH,
        labels_cm=3.2,
        letters=False,
        sharey=True,
        note=f"{rows['source'].iloc[0]}. {_OF_A_STUDY}"
        + (f" No such replay: {', '.join(silent)}." if silent else ""),
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
