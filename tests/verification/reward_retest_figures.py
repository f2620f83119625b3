"""Replay where reward is raised, at both ends of a track."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analyses.plots.layers import draw_curves
from analyses.plots.panels import drawing, fitting_columns, grid
from analyses.plots.style import FULL_WIDTH, own_looks
from replay.checks import check_table

__all__ = ["retest_figure"]

_EPOCHS = ("before", "raised", "after")
_ENDS = {
    "raised": {"label": "End whose reward is raised", "color": "black", "marker": "o"},
    "other": {"label": "Other end", "color": "0.55", "marker": "s"},
}
_APART = 0.06  # of the ends, so that no interval hides another


@drawing
def retest_figure(
    rates: pd.DataFrame, changes: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of the retest: rates by epoch of reward, and by how much they change.

    Parameters
    ----------
    rates, changes : pandas.DataFrame
        ``retest_rates.csv`` and ``retest_changes.csv``.

    Examples
    --------
    >>> rates = pd.DataFrame({"group": "all", "sense": "reverse", "end": ["raised", "other"],
    ...                       "epoch": "before", "per_100_visits": 1.0, "ci_low": 0.5,
    ...                       "ci_high": 2.0, "n": 4, "visits": 400})
    >>> changes = pd.DataFrame({"group": ["all"], "sense": "reverse", "per": "visit",
    ...                         "log_ratio": 1.0, "low_over_sessions": 0.2,
    ...                         "high_over_sessions": 2.0, "n_sessions": 5,
    ...                         "published": np.nan})
    >>> len(retest_figure(rates, changes).axes)
    4
    """
    columns = ["group", "sense", "end", "epoch", "per_100_visits", "ci_low", "ci_high", "n"]
    given = check_table(rates, columns, "rates")
    columns = ["group", "sense", "per", "log_ratio", "low_over_sessions", "high_over_sessions"]
    columns += ["n_sessions", "published"]
    ratios = check_table(changes, columns, "changes")
    looks = own_looks(_ENDS)
    given = given[given["group"] == "all"].assign(
        at=lambda rows: (
            rows["epoch"].map({name: k for k, name in enumerate(_EPOCHS)})
            + _APART * np.where(rows["end"] == "raised", -1, 1)
        )
    )
    groups = [str(name) for name in dict.fromkeys(ratios["group"])]
    figure, (forward, reverse, *changed) = grid(
        ["Forward replay", "Reverse replay", "Change per visit", "Change per minute"],
        fitting_columns(4, width_cm, 8.0), 1.8, width_cm=width_cm, legend=list(looks.values()),
        note="Bars: 95 % intervals over sessions, whose number stands beside the group. Change: "
        "raised reward against before, at its end against the other. Filled: reverse; open: "
        "forward; crosses: Ambrose et al. (2016), in other rats.",
    )  # fmt: skip
    for ax, sense in ((forward, "forward"), (reverse, "reverse")):
        rows = given[given["sense"] == sense].sort_values(["end", "at"])
        draw_curves(rows, ax, "at", "per_100_visits", "end", looks, shade=None, pointsize=3)
        ax.set_xticks(range(len(_EPOCHS)), [name.capitalize() for name in _EPOCHS])
        ax.set(xlabel="Reward", ylabel="Replays per 100 visits", xlim=(-0.4, 2.4))
    top = max(forward.get_ylim()[1], reverse.get_ylim()[1])
    for ax in (forward, reverse):
        ax.set_ylim(0, top)
    counts = ratios.drop_duplicates("group").set_index("group")["n_sessions"]
    for ax, exposure in zip(changed, ("visit", "minute"), strict=True):
        for row in ratios[ratios["per"] == exposure].to_dict("records"):
            is_reverse = row["sense"] == "reverse"
            at = groups.index(row["group"]) + (-0.15 if is_reverse else 0.15)
            ends = row["low_over_sessions"], row["high_over_sessions"]
            ax.plot(ends, [at, at], color="black", linewidth=0.8)
            ax.plot(
                row["log_ratio"], at, "o", color="black", markersize=3.5,
                markerfacecolor="black" if is_reverse else "white",
            )  # fmt: skip
            ax.plot(row["published"], at, "x", color="#aa3377", markersize=4)
        ax.axvline(0, color="0.8", linewidth=0.6, zorder=0)
        ax.set_yticks(
            range(len(groups)), [f"{each.capitalize()} ({counts[each]})" for each in groups]
        )
        ax.set(xlabel="Log of the ratio of ratios", ylim=(len(groups) - 0.5, -0.5))
    return figure
