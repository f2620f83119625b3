"""One maze, one moment: what each learner would replay next, in one small panel each.

All learners are fed the same laps, and their first replay after the last step is kept. Laps begin
in turn at the left and at the right end of the lower corridor, ten times each, and lead to the far
goal. The last lap begins at the left and finds a nearer goal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.transforms import ScaledTranslation

from analyses.plots.mdps import draw_ends, plot_mdp, state_positions
from analyses.plots.panels import NEW, add_note, drawing, fitting_columns, new_figure
from analyses.plots.style import (
    COLUMN_WIDTH,
    END_COLOUR,
    FULL_WIDTH,
    INCH,
    SMALL,
    kind_colour,
    label,
)
from analyses.sequences.events import replayed_moves
from analyses.tables import LEARNER_ORDER, in_order
from replay.checks import check_table
from replay.learners import LEARNERS, find_learner
from replay.simulation import feed
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP

_MAZE = """
.........
.###.###G
G###.####
####.####
S.......S
"""
_LAPS = 10 * [
    ("left", "right 4, up 4, left 4, down 2"),
    ("right", "left 4, up 4, left 4, down 2"),
] + [("left", "right 4, up 4, right 4, down 1")]
_SETTINGS = {"learning_rate": 1.0, "max_pops": 20, "n_replays": 20, "max_backups": 20, "n": 20}
_COLUMNS = ["learner", "phase", "location", "order", "state", "next_state", "change", "kind"]
_N_COLUMNS, _LEAST_CM = 5, 3.4  # panels side by side, and the least width of one
_ROW = 1.17  # inches
_TITLE_LINE = 21  # letters
_ORDER_COLOURS = mpl.colormaps["plasma"]
_LIGHTEST = 0.88  # of the colours: the last ones hardly show on white
_THIN, _THICK = 0.8, 1.8  # points, of arrows by the change of the action value
_ASIDE = 1.7 / 72  # inches, between opposite moves
_LAST_LAP = "#bfe0f2"
_EARLIER_LAPS = ("#f2c9a1", "#b5dcae")
_STAR: dict[str, Any] = {
    "marker": "*",
    "linestyle": "none",
    "color": END_COLOUR,
    "markeredgecolor": "black",
    "markeredgewidth": 0.4,
    "markersize": 7,
}


def laps() -> tuple[MDP, pd.DataFrame]:
    """Make the maze and the laps in it.

    Examples
    --------
    >>> mdp, transitions = laps()
    >>> transitions.groupby("episode").size().tolist()[-3:]
    [14, 14, 13]
    """
    mdp = from_ascii(_MAZE, name="gallery")
    left, right = np.flatnonzero(mdp.start_probability).tolist()
    begin = {"left": left, "right": right}
    names = list(mdp.action_names or ())
    rows = []
    for episode, (start, moves) in enumerate(_LAPS):
        state = begin[start]
        for move in moves.split(", "):
            name, count = move.split()
            action = names.index(name)
            for _ in range(int(count)):
                pair = mdp.successor_offset[state * mdp.n_actions + action]
                next_state = int(mdp.successor[pair])
                rows.append((episode, state, action, float(mdp.reward[pair]), next_state))
                state = next_state
    columns = ["episode", "state", "action", "reward", "next_state"]
    transitions = pd.DataFrame(rows, columns=columns)
    # What the learner would do next is known of all moves but the last: a run to the left.
    following = transitions[["state", "action"]].shift(-1)
    return mdp, transitions.assign(
        run=0,
        step=np.arange(len(rows)),
        terminated=mdp.terminal[transitions["next_state"]],
        start_state=following["state"].fillna(right).astype(int),
        next_action=following["action"].fillna(names.index("left")).astype(int),
    )


def next_replay(
    mdp: MDP, transitions: pd.DataFrame, learners: Iterable[str] = tuple(LEARNERS), seed: int = 0
) -> pd.DataFrame:
    """Find the first replay of each learner after all experience.

    Learners have their default parameters, except for a learning rate of 1, because the world is
    deterministic, and at most 20 backups per pause (an n-step backup counts once).

    One row per backup: `order` in the event; `state, next_state`, the move as replayed, opposite to
    the experienced one in reverse replay; `change` of the action value; and the `kind` of the
    longest sequence that it belongs to, null for a single move. A learner that replays nothing has
    one row with order -1.
    """
    tables = []
    for learner in learners:
        known = find_learner(learner).parameters
        params = {key: value for key, value in _SETTINGS.items() if key in known}
        log = feed(
            learner,
            transitions,
            n_states=mdp.n_states,
            n_actions=mdp.n_actions,
            params=params,
            seed=seed,
            log="replay",
            mdp=mdp,
        )
        backups = log.backups
        after = backups.loc[backups["step"] == len(log.steps) - 1, "event"]
        if len(after):
            moves = replayed_moves(log, int(after.iloc[0])).assign(learner=learner)[_COLUMNS]
        else:
            end = int(log.steps["next_state"].iloc[-1])
            nothing = (learner, None, end, -1, -1, -1, np.nan, None)
            moves = pd.DataFrame([nothing], columns=_COLUMNS)
        tables.append(moves)
    replays = pd.concat(tables, ignore_index=True)
    # The log infers the start of an episode from its first step, which is still to come.
    at_start = replays["phase"] == "start"
    replays.loc[at_start, "location"] = int(transitions["start_state"].iloc[-1])
    return replays


@drawing
def plot_experience(
    steps: pd.DataFrame, mdp: MDP, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the paths of all episodes side by side, with the number of times each was run.

    Parameters
    ----------
    steps : pandas.DataFrame
        Columns `episode, state, next_state`, in order.
    mdp : MDP
        The world.
    """
    check_table(steps, ["episode", "state", "next_state"], "steps")
    plot_mdp(mdp, ax, rewards=False)
    position = state_positions(mdp)
    paths = [tuple(_path(steps, episode)) for episode in steps["episode"].unique()]
    # From the last lap back, so that its path is the first and has its colour.
    counts = Counter(paths[::-1])
    for k, (path, count) in enumerate(counts.items()):
        aside = 2.4 / 72 * (len(counts) / 2 - k - 0.5)
        beside = ax.transData + ScaledTranslation(aside, aside, ax.figure.dpi_scale_trans)
        colour = _LAST_LAP if k == 0 else _EARLIER_LAPS[k % len(_EARLIER_LAPS)]
        place = position[list(path)]
        ax.plot(
            *place.T,
            color=colour,
            linewidth=1.8,
            transform=beside,
            solid_capstyle="round",
            solid_joinstyle="round",
            zorder=1,
        )
        ax.annotate(
            f"{count}\N{MULTIPLICATION SIGN}",
            place[0],
            xytext=(0, 6 if aside > 0 else -6),
            textcoords="offset points",
            ha="center",
            va="center_baseline",
            fontsize=SMALL,
        )
    draw_ends(position[mdp.terminal], ax, size=34)
    return ax


@drawing
def plot_next_replay(
    replay: pd.DataFrame,
    steps: pd.DataFrame,
    mdp: MDP,
    ax: Axes = NEW,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw one replay event on its MDP, over the path of the last episode.

    Parameters
    ----------
    replay : pandas.DataFrame
        The rows of one learner in the table of :func:`analyses.studies.gallery.next_replay`. An
        arrow is a move as replayed, dark for early moves and light for late ones, thick for a large
        change of the action value. A repeated move is drawn once, as at its first time.
    steps : pandas.DataFrame
        Columns `episode, state, next_state`, in order.
    mdp : MDP
        The world.
    """
    check_table(replay, _COLUMNS[1:], "replay")
    check_table(steps, ["episode", "state", "next_state"], "steps")
    plot_mdp(mdp, ax, rewards=False)
    position = state_positions(mdp)
    place = position[_path(steps, steps["episode"].iloc[-1])]
    ax.plot(*place.T, color=_LAST_LAP, linewidth=4, solid_capstyle="round", zorder=1)
    draw_ends(position[mdp.terminal], ax, size=34, zorder=2)
    moves = replay[replay["order"] >= 0].sort_values("order")
    largest = moves["change"].max()
    moves = moves.drop_duplicates(["state", "next_state"])
    last = moves["order"].max()
    columns = (moves[name].tolist() for name in ("state", "next_state", "order", "change"))
    drawn = set(zip(moves["state"], moves["next_state"], strict=True))
    for state, next_state, order, change in zip(*columns, strict=True):
        begin, end = position[state], position[next_state]
        x, y = 0.0, 0.0
        if (next_state, state) in drawn:
            # Opposite moves between the same states are drawn side by side.
            along = (end - begin) / np.hypot(*(end - begin))
            x, y = _ASIDE * along[1], -_ASIDE * along[0]
        width = _THIN + (_THICK - _THIN) * (change / largest if largest > 0 else 0.0)
        ax.add_patch(
            FancyArrowPatch(
                begin,
                end,
                arrowstyle=f"-|>,head_length={2 + width},head_width={0.8 + 0.5 * width}",
                color=_ORDER_COLOURS(_LIGHTEST * order / max(last, 1)),
                linewidth=width,
                shrinkA=0.5,
                shrinkB=0,
                mutation_scale=1,
                transform=ax.transData + ScaledTranslation(x, y, ax.figure.dpi_scale_trans),
                zorder=5 - order / (last + 1),
            )
        )
    agent = position[replay["location"].iloc[0]]
    ax.plot(*agent, marker="s", markersize=6, color="none", markeredgecolor="black", zorder=6)
    return ax


@drawing
def gallery_figure(
    replays: pd.DataFrame, steps: pd.DataFrame, mdp: MDP, *, width_cm: float = FULL_WIDTH
) -> Figure:
    """Make the figure of what each learner would replay next, with one panel per learner.

    Parameters
    ----------
    replays : pandas.DataFrame
        The table of :func:`analyses.studies.gallery.next_replay`.
    steps : pandas.DataFrame
        The experience: columns `episode, state, next_state`, in order.
    mdp : MDP
        The world.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. The note below it names learners that replay nothing; they have no panel.

    Raises
    ------
    ValueError
        If columns are missing, or there is no learner.
    """
    check_table(replays, _COLUMNS, "replays", empty=False)
    is_silent = replays.groupby("learner", sort=False)["order"].max() < 0
    every = in_order(replays["learner"], LEARNER_ORDER)
    learners = [name for name in every if not is_silent[name]]
    n_columns = fitting_columns(_N_COLUMNS, width_cm, _LEAST_CM)
    n_rows = -(-(len(learners) + 2) // n_columns)
    figure = new_figure(width_cm / INCH, _ROW * n_rows)
    figure.set_layout_engine("constrained", h_pad=0.11, w_pad=0.04)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for ax in axes[len(learners) + 1 : -1]:
        ax.set_axis_off()
    plot_experience(steps, mdp, axes[0])
    _title(axes[0], "What was experienced", f"{steps['episode'].nunique()} episodes", "0.35")
    for ax, learner in zip(axes[1:], learners, strict=False):
        own = replays[replays["learner"] == learner]
        plot_next_replay(own, steps, mdp, ax)
        kinds = own["kind"].dropna().value_counts().index.tolist()
        text = " + ".join(kind.replace("_", " ") for kind in kinds) or "single moves"
        if len(kinds) == 2 and all(kind.endswith("_episode") for kind in kinds):
            text = text.replace(" episode", "", 1)  # so that it fits above a panel
        if own["phase"].iloc[0] == "start":
            text += " (next start)"
        _title(ax, label(learner), text, kind_colour(kinds[0]) if len(kinds) == 1 else "0.2")
    _draw_key(axes[-1])
    silent = [label(name) for name in every if is_silent[name]]
    add_note(
        figure,
        "Arrows: moves in the direction of replay; repeated moves are drawn once. A title in the "
        "colour of a kind: all sequences are of this kind. Numbers: how often a path was run."
        + (f" No replay: {'; '.join(silent)}." if silent else ""),
    )
    return figure


def _path(steps: pd.DataFrame, episode: int) -> list[int]:
    own = steps[steps["episode"] == episode]
    return [int(own["state"].iloc[0]), *own["next_state"].astype(int)]


def _title(ax: Axes, name: str, text: str, colour: str) -> None:
    """Write a learner's name and below it a description; neither widens the column."""
    name = fill(name, _TITLE_LINE, break_long_words=False)
    ax.set_title(name, fontsize=SMALL, fontweight="bold", pad=9).set_in_layout(False)
    ax.annotate(
        text,
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 2),
        textcoords="offset points",
        fontsize=SMALL,
        color=colour,
        va="bottom",
        annotation_clip=False,
    ).set_in_layout(False)


def _draw_key(ax: Axes) -> None:
    ax.set_axis_off()
    colours = ListedColormap(_ORDER_COLOURS(np.linspace(0, _LIGHTEST, 256)))
    bar = ax.inset_axes((0.03, 0.86, 0.6, 0.07))
    bar.imshow(np.arange(256)[None], cmap=colours, aspect="auto")
    bar.set_axis_off()
    bar.text(0, 1.3, "first replayed", transform=bar.transAxes, va="bottom", fontsize=SMALL)
    bar.text(1, 1.3, "last", transform=bar.transAxes, va="bottom", ha="right", fontsize=SMALL)
    nothing: dict[str, Any] = {"linestyle": "none", "color": "none", "markeredgecolor": "black"}
    handles = [
        Line2D([], [], color="0.3", linewidth=_THICK, label="Large change of value"),
        Line2D([], [], color="0.3", linewidth=_THIN, label="Small change of value"),
        Line2D([], [], color=_LAST_LAP, linewidth=4, label="Last episode"),
        Line2D([], [], marker="s", label="Agent", **nothing),
        Line2D([], [], **_STAR, label="End, with reward"),
    ]
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.03, -0.22), fontsize=SMALL)
