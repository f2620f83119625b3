"""Figures of the studies of encoders: what learners earn and replay in states that they learned."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from analyses.plots.layers import draw_rows, name_rows
from analyses.plots.panels import drawing, fitting_columns, grid
from analyses.plots.style import FULL_WIDTH, count_range, kind_looks, label, learner_looks, marked
from analyses.tables import KINDS, LEARNER_ORDER, in_order
from replay.checks import check_table

_ENCODERS = {
    "true_states": "True states",
    "predictive_states": "Predictive states",
    "k_means": "K-means",
    "slow_features": "Slow features",
    "random_projections": "Random projections",
    "state_merging": "Merged histories",
    "last_four": "Last four observations",
}
_TASKS = {
    "maze": ("Maze, {}", "Reward rate (0 random, 1 optimal)"),
    "cart_pole": ("Cart and pole, {}", "Steps until the pole falls"),
}
_ROW = 0.26  # inches
_LEAST_CM = 7.5  # of a panel
_WORLDS = {
    "t_maze_2": "T-maze, corridor of 2",
    "t_maze_5": "T-maze, corridor of 5",
    "t_maze_10": "T-maze, corridor of 10",
    "t_maze_20": "T-maze, corridor of 20",
    "walls": "Room, walls seen",
    "colours": "Room, colours seen",
}
_HIDDEN_ROW = 0.24  # inches
_NAMES_CM, _PANEL_CM = 3.6, 3.5  # of the names of worlds, and of a panel beside them


@drawing
def learned_states_figure(learned_states: pd.DataFrame, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of what learners earn when states are learned: a panel for each task.

    Parameters
    ----------
    learned_states : DataFrame
        ``learned_states.csv`` of ``replay study learned_states``.

    Examples
    --------
    >>> table = pd.DataFrame({"task": "maze", "encoder": ["true_states", "k_means"], "mean": 0.9,
    ...                       "learner": "prioritized_sweeping", "ci_low": 0.8, "ci_high": 1.0})
    >>> [text.get_text() for text in learned_states_figure(table).axes[0].get_yticklabels()]
    ['True states', 'K-means']
    """
    columns = ["task", "encoder", "learner", "mean", "ci_low", "ci_high"]
    table = check_table(learned_states, columns, "learned_states", empty=False)
    looks = marked(learner_looks(table["learner"].unique()))
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


@drawing
def kinds_in_codes_figure(
    kinds: pd.DataFrame, learned_states: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of kinds of replay when states are learned: a panel for each learner.

    Parameters
    ----------
    kinds : DataFrame
        ``kinds_in_codes.csv`` of ``replay study learned_states``.
    learned_states : DataFrame
        Its ``learned_states.csv``, which has the number of mazes.

    Examples
    --------
    >>> kinds = pd.DataFrame({"encoder": ["true_states", "k_means"], "kind": "novel_path",
    ...                       "learner": "prioritized_sweeping", "states": "codes", "share": 0.4})
    >>> mazes = pd.DataFrame({"task": ["maze"], "n": [4]})
    >>> kinds_in_codes_figure(kinds, mazes).axes[0].get_title(loc="left")
    'Replay: Prioritized sweeping'
    """
    columns = ["encoder", "learner", "states", "kind", "share"]
    shares = check_table(kinds, columns, "kinds", empty=False)
    shown = in_order(shares["kind"], (*KINDS, "no_sequence"))
    looks = kind_looks(kind for kind in shown if kind != "no_sequence")
    looks |= {"no_sequence": {"label": "No sequence", "color": "#eeeeee"}}
    learners = in_order(shares["learner"], LEARNER_ORDER)
    of_mazes = check_table(learned_states, ["task", "n"], "learned_states")["task"] == "maze"
    mazes = count_range(learned_states.loc[of_mazes, "n"], "maze")
    figure, axes = grid(
        [f"Replay: {label(name)}" for name in learners],
        fitting_columns(2, width_cm, _LEAST_CM),
        0.6 + 2 * _ROW * len(_encoders(shares)),
        width_cm=width_cm, legend=[looks[kind] for kind in shown],
        note=(f"{mazes}. " if mazes else "")
        + "The kind of each event's longest sequence: above in the codes that the learner knows, "
        "below in the places that the codes stand for.",
    )  # fmt: skip
    for ax, name in zip(axes, learners, strict=True):
        rows = shares[shares["learner"] == name]
        encoders = _encoders(rows)
        for above, states in ((-0.5, "codes"), (0.5, "places")):
            of_states = rows[rows["states"] == states]
            left = pd.Series(0.0, index=[*encoders])
            for kind in shown:
                own = of_states[of_states["kind"] == kind].set_index("encoder")["share"]
                width = own.reindex([*encoders], fill_value=0.0)
                y = [place + 0.4 * above for place in range(len(encoders))]
                ax.barh(
                    y, width, 0.34, left=left, color=looks[kind]["color"], linewidth=0,
                    hatch=looks[kind].get("hatch", ""), edgecolor="white",
                )  # fmt: skip
                left += width
        name_rows(ax, encoders.values())
        ax.set(xlim=(0, 1), xlabel="Share of events")
    return figure


def _encoders(rows: pd.DataFrame) -> dict[str, str]:
    names = in_order(rows["encoder"], _ENCODERS)
    return {name: _ENCODERS.get(name, label(name)) for name in names}


@drawing
def hidden_states_figure(
    hidden_states: pd.DataFrame, recovered: pd.DataFrame, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of what is earned where states are hidden: a panel for each encoder.

    Parameters
    ----------
    hidden_states : DataFrame
        ``hidden_states.csv`` of ``replay study hidden_states``.
    recovered : DataFrame
        Its ``recovered_states.csv``.

    Examples
    --------
    >>> table = pd.DataFrame({"world": "walls", "encoder": ["true_states", "last_four"],
    ...                       "learner": "prioritized_sweeping", "mean": [1.0, 0.2],
    ...                       "ci_low": [0.9, 0.1], "ci_high": [1.1, 0.3]})
    >>> recovered = pd.DataFrame({"world": "walls", "n_before": [2500, 5000], "mean": [0.5, 1.0]})
    >>> len(hidden_states_figure(table, recovered).axes)
    2
    """
    columns = ["world", "encoder", "learner", "mean", "ci_low", "ci_high"]
    table = check_table(hidden_states, columns, "hidden_states", empty=False)
    found = check_table(recovered, ["world", "n_before", "mean"], "recovered", empty=False)
    looks = marked(learner_looks(table["learner"].unique()))
    encoders = _encoders(table)
    worlds = {name: _WORLDS.get(name, label(name)) for name in in_order(table["world"], _WORLDS)}
    runs = count_range(table.get("n", []), "run")
    longest = found[found["n_before"] == found["n_before"].max()]
    found_in = dict.fromkeys(
        [f"{100 * longest['mean'].min():.0f}", f"{100 * longest['mean'].max():.0f}"]
    )
    figure, axes = grid(
        [*encoders.values()], fitting_columns(len(encoders), width_cm - _NAMES_CM, _PANEL_CM),
        0.6 + _HIDDEN_ROW * len(worlds),
        width_cm=width_cm, labels_cm=_NAMES_CM, sharey=True,
        legend=looks.values(), legend_columns=3,
        note="Points: means" + (f" over {runs}" if runs else "") + ", with 95 % intervals. 0: the "
        f"random policy, 1: the optimal one. After {longest['n_before'].iloc[0]:,} observations "
        f"merged histories are the true states in {' to '.join(found_in)} % of runs.",
    )  # fmt: skip
    low = min(0.0, float(table["ci_low"].min()), float(table["mean"].min()))
    high = max(1.0, float(table["ci_high"].max()), float(table["mean"].max()))
    for ax, encoder in zip(axes, encoders, strict=True):
        draw_rows(table[table["encoder"] == encoder], ax, "world", worlds, looks)
        ax.set(xlabel="Reward rate", xlim=(low - 0.05, high + 0.05))
    return figure
