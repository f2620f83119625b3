"""What learners earn where states are hidden, and how often the states are found."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.grids import fitting_columns, grid
from analyses.plots.layers import draw_rows, name_rows
from analyses.plots.style import FULL_WIDTH, count_range, label, learner_looks, styled
from analyses.tables import in_order
from replay.checks import check_table

__all__ = ["hidden_states_figure"]

_ENCODERS = {
    "true_states": "True states",
    "state_merging": "Merged histories",
    "last_four": "Last four observations",
}
_WORLDS = {
    "t_maze_2": "T-maze, corridor of 2",
    "t_maze_5": "T-maze, corridor of 5",
    "t_maze_10": "T-maze, corridor of 10",
    "t_maze_20": "T-maze, corridor of 20",
    "walls": "Room, walls seen",
    "colours": "Room, colours seen",
}
_ROW = 0.24  # inches
_MARKERS = "os^Dv<>Pp*hXd"


@styled
def hidden_states_figure(
    hidden_states: pd.DataFrame, recovered: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of hidden states: what is earned, and how often the states are found.

    Parameters
    ----------
    hidden_states : DataFrame
        ``hidden_states.csv`` of ``replay study hidden_states``.
    recovered : DataFrame
        Its ``recovered_states.csv``.
    width_cm : float, default 17.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If columns are missing, or a table is empty.

    Examples
    --------
    >>> table = pd.DataFrame({"world": "walls", "encoder": ["true_states", "last_four"],
    ...                       "learner": "prioritized_sweeping", "mean": [1.0, 0.2],
    ...                       "ci_low": [0.9, 0.1], "ci_high": [1.1, 0.3]})
    >>> recovered = pd.DataFrame({"world": "walls", "n_before": [2500, 5000], "mean": [0.5, 1.0]})
    >>> len(hidden_states_figure(table, recovered).axes)
    3
    """
    columns = ["world", "encoder", "learner", "mean", "ci_low", "ci_high"]
    table = check_table(hidden_states, columns, "hidden_states", empty=False)
    found = check_table(recovered, ["world", "n_before", "mean"], "recovered", empty=False)
    looks = {
        name: look | {"marker": marker, "linestyle": "-"}
        for (name, look), marker in zip(
            learner_looks(table["learner"].unique()).items(), cycle(_MARKERS), strict=False
        )
    }
    encoders = in_order(table["encoder"], _ENCODERS)
    worlds = {name: _WORLDS.get(name, label(name)) for name in in_order(table["world"], _WORLDS)}
    runs = count_range(table.get("n", []), "run")
    titles = [_ENCODERS.get(name, label(name)) + (f", {runs}" if runs else "") for name in encoders]
    titles.append("Runs that find the true states")
    n_columns = fitting_columns(2, width_cm, 7.5)
    height = 0.6 + _ROW * len(worlds)
    n_rows = -(-len(titles) // n_columns)
    figure, axes = grid(
        titles, n_columns, [height] * n_rows, width_cm=width_cm,
        legend=looks.values(), legend_columns=3,
        note="Points: means over runs, with 95 % intervals. Numbers: share of runs, by the length "
        "of the random walk before the run.",
    )  # fmt: skip
    low = min(0.0, float(table["ci_low"].min()), float(table["mean"].min()))
    high = max(1.0, float(table["ci_high"].max()), float(table["mean"].max()))
    for ax, encoder in zip(axes, encoders, strict=False):
        draw_rows(table[table["encoder"] == encoder], ax, "world", worlds, looks)
        ax.set(xlabel="Reward rate (0 random, 1 optimal)", xlim=(low - 0.05, high + 0.05))
    _draw_found(found, axes[len(encoders)], worlds)
    return figure


def _draw_found(rows: pd.DataFrame, ax: Axes, worlds: dict[str, str]) -> None:
    shares = rows.pivot_table(index="world", columns="n_before", values="mean")
    shares = shares.reindex([*worlds])
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
    for row, values in enumerate(shares.to_numpy()):
        for column, share in enumerate(values):
            ax.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize=7)
    ax.set_xticks(range(shares.shape[1]), [f"{n:,}" for n in shares.columns])
    ax.set_xlabel("Observations before the run")
    name_rows(ax, worlds.values())
