"""What accounts predict where reward is raised, beside what rats replayed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from reward_accounts import OTHER_QUESTIONS

from analyses.plots.panels import drawing, fitting_columns, grid
from analyses.plots.style import FULL_WIDTH, label
from replay.checks import check_table

__all__ = ["reward_accounts_figure"]

_PANELS = {
    "reverse_to_forward": "Reverse / forward",
    "reverse_change": "Change of reverse",
    "forward_change": "Change of forward",
}
_LEAST = 1e-4  # p, below which an account is drawn at the edge
_ROW = 0.13  # inches
_NOTE = (
    "Lines: 90 % of draws from the priors of an account; dots: medians. Green: five rats, with "
    "the 95 % interval over their sessions. Natural logarithms; 4 % of headings are misread, so "
    "that ratios end at 3.2. Change: per visit where reward is raised, against before and the "
    "other end. Fit: p of all three numbers together, its range if it is asked in other ways, and "
    "that of the best draw (open). Grey names: controls."
)
_RATS = "#117733"


@drawing
def reward_accounts_figure(
    predictions: pd.DataFrame, fit: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of accounts and rats: a row for each account, the likeliest first.

    Parameters
    ----------
    predictions, fit : pandas.DataFrame
        ``reward_predictions.csv`` and ``reward_fit.csv``.

    Examples
    --------
    >>> predictions = pd.DataFrame({
    ...     "account": "sfma", "statistic": ["reverse_to_forward", "reverse_change",
    ...     "forward_change"], "predicted_low": 0.0, "predicted": 1.0, "predicted_high": 2.0,
    ...     "observed": 1.0, "ci_low": 0.5, "ci_high": 1.5})
    >>> fit = pd.DataFrame({"account": ["sfma"], "variant": "all", "is_control": False, "p": 0.1,
    ...                     "p_best": 0.5})
    >>> len(reward_accounts_figure(predictions, fit).axes)
    4
    """
    columns = ["account", "statistic", "predicted_low", "predicted", "predicted_high"]
    check_table(predictions, [*columns, "observed", "ci_low", "ci_high"], "predictions")
    columns = ["account", "variant", "is_control", "p", "p_best"]
    given = check_table(fit, columns, "fit")
    given = given[~given["variant"].isin(OTHER_QUESTIONS)]
    main = given[given["variant"] == "all"].sort_values("p", ascending=False)
    accounts, y = [*main["account"].astype(str)], np.arange(len(main))
    figure, axes = grid(
        [*_PANELS.values(), "Fit"], fitting_columns(4, width_cm, 4.0),
        _ROW * max(len(accounts), 8), width_cm=width_cm, labels_cm=4.0, sharey=True, note=_NOTE,
    )  # fmt: skip
    for ax, name in zip(axes, _PANELS, strict=False):
        rows = predictions[predictions["statistic"] == name].set_index("account").loc[accounts]
        low, high, observed = rows.iloc[0][["ci_low", "ci_high", "observed"]]
        ax.axvspan(low, high, color=_RATS, alpha=0.15, linewidth=0)
        ax.axvline(observed, color=_RATS, linewidth=1)
        ax.hlines(y, rows["predicted_low"], rows["predicted_high"], color="0.4", linewidth=0.8)
        ax.plot(rows["predicted"], y, "o", color="black", markersize=2.5)
        ax.set_xlabel("Log ratio" if name == "reverse_to_forward" else "Log ratio of ratios")
    ax = axes[-1]
    span = given.groupby("account")["p"].agg(["min", "max"]).loc[accounts]
    ax.hlines(y, *span.clip(lower=_LEAST).to_numpy().T, color="0.4", linewidth=0.8)
    for column, colour in (("p_best", "white"), ("p", "black")):
        at = main[column].clip(lower=_LEAST)
        ax.plot(at, y, "o", color="black", markerfacecolor=colour, markersize=2.5, mew=0.5)
    ax.axvline(0.05, color="0.5", linewidth=0.8, linestyle="--")
    ax.set(xlabel="p", xscale="log", ylim=(len(accounts) - 0.5, -0.5))
    axes[0].set_yticks(y, [label(name) for name in accounts])
    for ax in axes:
        ax.tick_params(axis="y", length=0)
        # Panels within a row show no names.
        for text, is_control in zip(ax.get_yticklabels(), main["is_control"], strict=False):
            text.set_color("0.5" if is_control else "black")
    return figure
