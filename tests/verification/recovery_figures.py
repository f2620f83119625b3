"""Recovery of known replay from recordings: confusion matrices and corrected shares."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.panels import NEW, add_legend, drawing, letter_panels, new_figure
from analyses.plots.style import COLUMN_WIDTH, INCH, Look, label
from analyses.tables import in_order
from replay.checks import check_table

__all__ = ["plot_confusion", "plot_corrected", "plot_shares", "recovery_figure"]

_VISIBLE = 0.005
_KIND_NAMES = {
    "forward_episode": "Forward",
    "reverse_episode": "Reverse",
    "novel_path": "Novel",
    "ambiguous": "Ambiguous",
    "unexperienced": "Never run",
    "missed": "Missed",
    "noise": "Noise",
}
_SETTING = ["n_cells", "gain", "speed"]
_SHARE_COLUMNS = [*_SETTING, "true", "found", "corrected", "ci_low", "ci_high"]
_SETTING_LOOKS: tuple[Look, ...] = (
    {"color": "black", "marker": "o"},
    {"color": "#aa3377", "marker": "s"},
    {"color": "#999933", "marker": "^"},
    {"color": "#cc79a7", "marker": "D"},
)
_BY_TRUE_LOOKS: tuple[Look, ...] = (  # of other settings, in the same figure
    {"color": "#e69f00", "marker": "v"},
    {"color": "#882255", "marker": "<"},
    {"color": "#44aa77", "marker": ">"},
    {"color": "black", "marker": "p"},
)
_ASIDE = (0.0, 0.2, -0.2, 0.4)
_BESIDE = 0.09


@drawing
def plot_confusion(
    confusion: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw a confusion matrix: how events of each true kind are classified.

    Parameters
    ----------
    confusion : pandas.DataFrame
        Rows of ``recovery_matrix.csv`` of one setting.

    Raises
    ------
    ValueError
        If columns are missing, or a cell has several rows.

    Examples
    --------
    >>> table = pd.DataFrame({"truth": "novel_path", "found": ["novel_path", "missed"],
    ...                       "probability": [0.25, 0.75]})
    >>> [text.get_text() for text in plot_confusion(table).texts]
    ['.25', '.75']
    """
    check_table(confusion, ["truth", "found", "probability"], "confusion")
    if confusion.duplicated(["truth", "found"]).any():
        raise ValueError("A cell of the matrix has several rows: choose one setting.")
    truths = in_order(confusion["truth"], _KIND_NAMES)
    seen = confusion.groupby("found")["probability"].max()
    found = [
        kind
        for kind in in_order(confusion["found"], _KIND_NAMES)
        if kind in truths or seen[kind] >= _VISIBLE
    ]
    cells = confusion.set_index(["truth", "found"])["probability"].reindex(
        pd.MultiIndex.from_product([truths, found])
    )
    values = cells.to_numpy(dtype=float).reshape(len(truths), len(found))
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, column in np.ndindex(*values.shape):
        if values[row, column] >= _VISIBLE:
            ax.text(
                column,
                row,
                _share(float(values[row, column])),
                ha="center",
                va="center",
                fontsize=6,
                color="white" if values[row, column] > 0.55 else "black",
            )
    names = [_KIND_NAMES.get(each, label(each)) for each in found]
    ax.set_xticks(range(len(found)), names, rotation=30, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(truths)), [_KIND_NAMES.get(each, label(each)) for each in truths])
    ax.tick_params(length=0)
    ax.set(xlabel="Found as", ylabel="True kind")
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def _share(value: float) -> str:
    return "1" if value > 0.995 else f"{value:.2f}".removeprefix("0")


@drawing
def plot_shares(shares: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH) -> Axes:
    """Draw the share of a kind as found and as corrected, by the number of cells.

    Parameters
    ----------
    shares : pandas.DataFrame
        Rows of ``recovery_shares.csv`` of one kind and one true share; `corrected` is NaN where too
        little replay is found.

    Raises
    ------
    ValueError
        If columns are missing, or there are several true shares.
    """
    check_table(shares, _SHARE_COLUMNS, "shares")
    if len(shares["true"].unique()) != 1:
        raise ValueError("shares must have one true share: choose one.")
    ax.axhline(shares["true"].iloc[0], color="0.35", linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    settings = shares[["gain", "speed"]].drop_duplicates().sort_values(["speed", "gain"])
    numbers = sorted(shares["n_cells"].unique())
    for (gain, speed), look, aside in zip(
        settings.iloc[::-1].itertuples(index=False), _SETTING_LOOKS, _ASIDE, strict=False
    ):
        own = shares[(shares["gain"] == gain) & (shares["speed"] == speed)].sort_values("n_cells")
        at = np.array([numbers.index(each) for each in own["n_cells"]], dtype=float) + aside
        name = f"Gain {gain:g}, {speed / 100:g} m/s"
        colour = look["color"]
        ax.plot(at, own["found"], color=colour, linewidth=0.7, zorder=2)
        dots: Look = {**look, "linestyle": "none", "markersize": 4}
        ax.plot(at, own["found"], markerfacecolor="white", zorder=3, **dots)
        known = own["corrected"].notna().to_numpy()
        at, own = at[known] + _BESIDE, own[known]
        ax.vlines(at, own["ci_low"], own["ci_high"], colors=colour, linewidth=0.9)
        ax.plot(at, own["corrected"], label=name, zorder=4, **dots)
    ax.set_xticks(range(len(numbers)), [str(each) for each in numbers])
    ax.set(xlabel="Cells", xlim=(-0.5, len(numbers) - 0.5), ylim=(0, None))
    return ax


@drawing
def plot_corrected(shares: pd.DataFrame, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH) -> Axes:
    """Draw the share of a kind as found and as corrected, by its true share.

    Settings without a corrected share are omitted.
    """
    check_table(shares, _SHARE_COLUMNS, "shares")
    known = shares[shares["corrected"].notna()].sort_values("true")
    if not len(known):
        raise ValueError(
            "shares has no corrected share to draw: for all settings, too little is found."
        )
    ax.plot([0, 1], [0, 1], color="0.35", linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    settings = [*known.groupby(_SETTING)]
    step = 0.6 * float(np.diff(known["true"].unique()).min(initial=1.0)) / len(settings)
    for number, ((n_cells, _, speed), own) in enumerate(settings):
        look = _BY_TRUE_LOOKS[number % len(_BY_TRUE_LOOKS)]
        colour = look["color"]
        at = own["true"].to_numpy() + step * (number - (len(settings) - 1) / 2)
        ax.plot(
            own["true"], own["found"], **look, linewidth=0.7, markersize=3,
            markerfacecolor="white", markevery=[-1], zorder=2,
        )  # fmt: skip
        ax.vlines(at, own["ci_low"], own["ci_high"], colors=colour, linewidth=0.9, zorder=3)
        ax.plot(
            at, own["corrected"], **look, linestyle="none", markersize=3, zorder=4,
            label=f"{n_cells} cells, {speed / 100:g} m/s",
        )  # fmt: skip
    ax.set(xlabel="True share", ylabel="Share of replay", xlim=(-0.05, 1), ylim=(0, 1))
    return ax


@drawing
def recovery_figure(
    confusion: pd.DataFrame,
    shares: pd.DataFrame,
    recovery: pd.DataFrame,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Figure:
    """Make the figure of how well recordings recover known replay.

    Parameters
    ----------
    confusion : pandas.DataFrame
        The table ``recovery_matrix.csv``.
    shares : pandas.DataFrame
        The table ``recovery_shares.csv``.
    recovery : pandas.DataFrame
        The table ``recovery.csv``, which has the number of sessions.
    width_cm : float, default 8.5
        Width of the figure. If it is wider than a column, matrices and shares are side by side.

    Returns
    -------
    matplotlib.figure.Figure
        The figure: confusion matrices at the gain and speed for which most numbers of cells were
        simulated; the share of novel paths for the first true share in the table; and, if there are
        several true shares, the same by the true share, for the settings of the matrices.

    Raises
    ------
    ValueError
        If columns are missing or a table is empty.
    """
    check_table(confusion, [*_SETTING, "truth", "found", "probability"], "confusion")
    check_table(shares, ["kind", *_SHARE_COLUMNS], "shares")
    check_table(recovery, [*_SETTING, "n_sessions"], "recovery")
    if not len(confusion) or not len(shares):
        raise ValueError("confusion and shares must have rows: no recording was simulated.")
    novel = shares[shares["kind"] == "novel_path"]
    first = novel[novel["true"] == novel["true"].iloc[0]]
    counts = confusion.drop_duplicates(_SETTING).value_counts(["gain", "speed"])
    gain, speed = max(counts.index, key=lambda each: (counts[each], each))
    chosen = confusion[(confusion["gain"] == gain) & (confusion["speed"] == speed)]
    numbers = sorted(chosen["n_cells"].unique())
    is_wide = width_cm > COLUMN_WIDTH
    shown = numbers[: 2 if is_wide else 1] if len(numbers) < 3 else numbers[1 : 3 if is_wide else 2]
    own = novel[novel["n_cells"].isin(shown) & (novel["gain"] == gain)]
    by_true = own[own["corrected"].notna() & (own["true"] != novel["true"].iloc[0])]
    n_panels = len(shown) + 1 + (len(by_true) > 0)
    n_columns = 2 if is_wide else 1
    n_rows = -(-n_panels // n_columns)
    figure = new_figure(width_cm / INCH, 2.1 * n_rows + 0.3)
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for left_out in panels[n_panels:]:
        left_out.remove()
    axes = panels[:n_panels]
    sessions = recovery.drop_duplicates(_SETTING).set_index(_SETTING)["n_sessions"]
    for ax, n_cells in zip(axes, shown, strict=False):
        plot_confusion(chosen[chosen["n_cells"] == n_cells], ax)
        n_sessions = sessions[n_cells, gain, speed]
        ax.set_title(f"{n_cells} cells, gain {gain:g}, {speed / 100:g} m/s ({n_sessions} sessions)")
    for ax, draw, table in zip(
        axes[len(shown) :], (plot_shares, plot_corrected), (first, by_true), strict=False
    ):
        draw(table, ax)
        ax.set(title="Novel paths", ylabel="Share of replay")
        ax.legend(
            loc="lower right" if draw is plot_shares else "upper left", handlelength=1.0, fontsize=6
        )
    letter_panels(axes)
    looks: list[Look] = [
        {"label": "True", "color": "0.35", "linestyle": (0, (4, 2)), "linewidth": 0.9},
        {"label": "Found", "marker": "o", "color": "white", "markeredgecolor": "black"},
        {"label": "Corrected (mean, and 95 % of repetitions)", "marker": "o", "color": "black"},
    ]
    for look in looks[1:]:
        look |= {"linestyle": "none", "markersize": 4}
    add_legend(figure, looks, 3)
    return figure
