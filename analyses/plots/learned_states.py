"""What learners earn, and what they replay, when states are learned from observations."""

from __future__ import annotations

import itertools

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analyses.plots.grids import fitting_columns, grid
from analyses.plots.layers import draw_rows, name_rows
from analyses.plots.style import (
    FULL_WIDTH,
    Look,
    count_range,
    kind_looks,
    label,
    learner_looks,
    styled,
)
from analyses.tables import KINDS, LEARNER_ORDER, in_order
from replay.checks import check_table

__all__ = ["kinds_in_codes_figure", "learned_states_figure"]

_ENCODERS = {
    "true_states": "True states",
    "predictive_states": "Predictive states",
    "k_means": "K-means",
    "slow_features": "Slow features",
    "random_projections": "Random projections",
}
_TASKS = {
    "maze": ("Maze, {}", "Reward rate (0 random, 1 optimal)"),
    "cart_pole": ("Cart and pole, {}", "Steps until the pole falls"),
}
_ROW = 0.26  # inches
_MARKERS = ("o", "s", "^", "D", "v")
_LEAST_CM = 7.5  # of a panel


@styled
def learned_states_figure(learned_states: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of what learners earn when states are learned: a panel for each task.

    Parameters
    ----------
    learned_states : DataFrame
        ``learned_states.csv`` of ``replay study learned_states``.
    width_cm : float, default 17.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.

    Examples
    --------
    >>> table = pd.DataFrame({"task": "maze", "encoder": ["true_states", "k_means"], "mean": 0.9,
    ...                       "learner": "prioritized_sweeping", "ci_low": 0.8, "ci_high": 1.0})
    >>> [text.get_text() for text in learned_states_figure(table).axes[0].get_yticklabels()]
    ['True states', 'K-means']
    """
    columns = ["task", "encoder", "learner", "mean", "ci_low", "ci_high"]
    table = check_table(learned_states, columns, "learned_states", empty=False)
    learners = learner_looks(table["learner"].unique())
    looks = {
        name: look | {"marker": marker, "linestyle": "-"}
        for (name, look), marker in zip(learners.items(), itertools.cycle(_MARKERS))
    }
    rows = table.assign(count=table.get("n", 0))
    tasks = in_order(table["task"], _TASKS)
    titles = []
    for task in tasks:
        noun = "maze" if task == "maze" else "seed"
        numbers = rows.loc[rows["task"] == task, "count"]
        titles.append(_TASKS[task][0].format(count_range(numbers, noun) or "by encoder"))
    figure, axes = grid(
        titles, fitting_columns(2, width_cm, _LEAST_CM),
        0.6 + _ROW * max(len(_encoders(table[table["task"] == task])) for task in tasks),
        width_cm=width_cm, legend=[*looks.values()], note="Points: means, with 95 % intervals.",
    )  # fmt: skip
    for ax, task in zip(axes, tasks, strict=True):
        own = table[table["task"] == task]
        draw_rows(own, ax, "encoder", _encoders(own), looks)
        ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
        ax.set_xlabel(_TASKS[task][1])
    return figure


@styled
def kinds_in_codes_figure(kinds: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of kinds of replay when states are learned: a panel for each learner.

    Parameters
    ----------
    kinds : DataFrame
        ``kinds_in_codes.csv`` of ``replay study learned_states``.
    width_cm : float, default 17.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If columns are missing, or the table is empty.

    Examples
    --------
    >>> kinds = pd.DataFrame({"encoder": ["true_states", "k_means"], "kind": "novel_path",
    ...                       "learner": "prioritized_sweeping", "states": "codes", "share": 0.4})
    >>> kinds_in_codes_figure(kinds).axes[0].get_title(loc="left")
    'Replay of prioritized sweeping'
    """
    columns = ["encoder", "learner", "states", "kind", "share"]
    shares = check_table(kinds, columns, "kinds", empty=False)
    shown = in_order(shares["kind"], (*KINDS, "no_sequence"))
    looks = kind_looks(kind for kind in shown if kind != "no_sequence")
    looks |= {"no_sequence": {"label": "No sequence", "color": "#eeeeee"}}
    learners = in_order(shares["learner"], LEARNER_ORDER)
    figure, axes = grid(
        [f"Replay of {label(name).lower()}" for name in learners],
        fitting_columns(2, width_cm, _LEAST_CM),
        0.6 + 2 * _ROW * len(_encoders(shares)),
        width_cm=width_cm, legend=[looks[kind] for kind in shown],
        note="The kind of each event's longest sequence: above in the codes that the learner "
        "knows, below in the places that the codes stand for.",
    )  # fmt: skip
    for ax, name in zip(axes, learners, strict=True):
        _draw_kinds(shares[shares["learner"] == name], ax, shown, looks)
    return figure


def _encoders(rows: pd.DataFrame) -> dict[str, str]:
    names = in_order(rows["encoder"], _ENCODERS)
    return {name: _ENCODERS.get(name, label(name)) for name in names}


def _draw_kinds(rows: pd.DataFrame, ax: Axes, kinds: list[str], looks: dict[str, Look]) -> None:
    encoders = _encoders(rows)
    for k, states in enumerate(("codes", "places")):
        of_states = rows[rows["states"] == states]
        left = pd.Series(0.0, index=[*encoders])
        for kind in kinds:
            own = of_states[of_states["kind"] == kind].set_index("encoder")["share"]
            width = own.reindex([*encoders], fill_value=0.0)
            y = [place + 0.4 * (k - 0.5) for place in range(len(encoders))]
            ax.barh(
                y, width, 0.34, left=left, color=looks[kind]["color"], linewidth=0,
                hatch=looks[kind].get("hatch", ""), edgecolor="white",
            )  # fmt: skip
            left += width
    name_rows(ax, encoders.values())
    ax.set(xlim=(0, 1), xlabel="Share of events")
