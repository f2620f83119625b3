"""Figure: what a recording replays, by kind, and how that depends on the size of states."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analyses.tables import KINDS
from replay.checks import check_table

__all__ = ["recorded_kinds_figure"]


def recorded_kinds_figure(kinds: pd.DataFrame) -> Figure:
    """Draw the share of each kind with its interval, side by side for each size of states.

    Parameters
    ----------
    kinds : DataFrame
        `state_size, kind, n_events, share, ci_low, ci_high`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> row = {"state_size": 15.0, "n_events": 2, "share": 0.5, "ci_low": 0.1, "ci_high": 0.9}
    >>> kinds = pd.DataFrame([row | {"kind": kind} for kind in KINDS])
    >>> len(recorded_kinds_figure(kinds).axes)
    1
    """
    columns = ["state_size", "kind", "n_events", "share", "ci_low", "ci_high"]
    table = check_table(kinds, columns, "kinds")
    figure = Figure(figsize=(6.0, 3.2), layout="constrained")
    axes = figure.subplots()
    sizes = sorted(table["state_size"].unique())
    places = {kind: place for place, kind in enumerate(KINDS)}
    for number, size in enumerate(sizes):
        own = table[(table["state_size"] == size) & table["kind"].isin(KINDS)]
        x = own["kind"].map(places).astype(float) + 0.12 * (number - (len(sizes) - 1) / 2)
        error = np.abs(own[["ci_low", "ci_high"]].sub(own["share"], axis=0).to_numpy().T)
        axes.errorbar(
            x, own["share"], error, fmt="o", markersize=4, label=f"{size:g} cm", capsize=2
        )
    axes.set_xticks(list(places.values()), [kind.replace("_", "\n") for kind in places])
    axes.set_ylabel("share of replay events")
    axes.set_ylim(0, 1)
    axes.legend(title="states", frameon=False)
    axes.set_title(f"{int(table['n_events'].iloc[0])} events, 95 % over events", fontsize="medium")
    return figure
