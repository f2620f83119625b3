"""Pictures of single replay events: the agent in its world, and the moves that were replayed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.quiver import Quiver

from analyses.plots.mdps import (
    draw_ends,
    draw_scale_bar,
    mark_cut_edges,
    maze_cell_size,
    plot_mdp,
    state_positions,
)
from analyses.plots.panels import NEW, add_note, drawing, own_figure
from analyses.plots.style import COLUMN_WIDTH, INCH, count_range, kind_colour, label
from analyses.sequences.events import longest_event, replayed_moves
from analyses.sequences.logs import SHARED, Logged, log_of
from analyses.tables import KINDS, in_order
from replay.checks import check_number
from replay.checks.arrays import Floats, Ints
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

PATH_COLOUR = "#bfe0f2"
WHEN = {
    "episode_end": "pause at the end",
    "start": "pause at the start",
    "step": "pause on the way",
    "rest": "at rest",
}

_LOWEST, _HIGHEST = 0.7, 3.6  # inches, of the picture of a world
_SURROUNDINGS = 2.5  # cells that are shown around what was replayed
_SMALLEST_PART = 14  # cells of a maze that are shown at least
_PATH_LENGTH = 30  # moves before the event that are drawn
_LIGHTEST = 0.65  # of white in the colour of the last move
_ARROW, _ARROW_SHARE = 1.7 / 72, 0.13  # inches of width, and share of a short move's length
_GAP = 0.06  # of a move's length, so that successive arrows do not touch
_SINGLE = "single_move"
_SINGLE_COLOUR = "0.45"
_TITLE, _KEY, _SIDE = 0.4, 0.16, 0.1  # inches
_SHARED: dict[str, Any] = {
    "marker": "D", "markersize": 4, "markerfacecolor": "white", "markeredgecolor": "black",
    "markeredgewidth": 0.6, "linestyle": "none", "zorder": 6,
}  # fmt: skip


@drawing
def plot_event(
    log: EventLog | Logged,
    event: int | None = None,
    ax: Axes = NEW,
    width_cm: float = COLUMN_WIDTH,
    *,
    run: int = 0,
    mdp: MDP | None = None,
) -> Axes:
    """Draw one replay event on its world.

    The agent is a square, and its path, 30 moves at most, is a pale line; stars mark where episodes
    end and where the agent last received reward. If an encoder made the states, they lie at the
    mean position at which they were met, and a diamond marks those met in several places.
    Arrows point in the direction of replay, in the colour of the kind of their sequence, dark for
    early moves and light for late ones. A move that was replayed several times is drawn once, as
    at its first time.

    Parameters
    ----------
    log : EventLog or Run
        The log of a model or of a recording, or a run that has one.
    event : int, optional
        The number of the replay event; by default the one with the longest sequence.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure, as tall as the part of the world that is shown.
    run : int, default 0
        Number of the run in the log.
    mdp : MDP, optional
        The world, for the positions of its states; by default that of the log.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`. Colours and names can be changed with :func:`analyses.plots.figure_style`.

    Raises
    ------
    ValueError
        If there is no such event, if there is no world, or if the log is not from this world.

    Examples
    --------
    >>> from replay import simulate
    >>> from replay.worlds.mazes import from_ascii
    >>> run = simulate(from_ascii("S..G"), "episodic_control", n_steps=40)
    >>> ax = plot_event(run.log, 0)
    >>> print(ax.get_title(loc="left"))
    Episodic control, pause at the end,
    episode 0, step 20: 9 moves replayed
    """
    log = log_of(log)
    event = longest_event(log, run) if event is None else event
    moves = replayed_moves(log, event, run)
    steps = log.steps[log.steps["run"] == run]
    world = drawn_world(log, mdp, steps)
    position = state_positions(world)
    first = moves.iloc[0]
    path = path_so_far(steps, first)
    seen = position[[*path, *moves["state"], *moves["next_state"], first["location"]]]
    width = check_number("width_cm", width_cm, at_least=4) / INCH
    limits, height, to_scale = shown_part(seen, world, width - 2 * _SIDE)
    kinds = in_order(moves["kind"].fillna(_SINGLE), KINDS)
    if figure := own_figure(ax):  # as tall as its content, title and key
        figure.set_figheight(height + _KEY * (len(kinds) + 1) + _TITLE)
    plot_mdp(world, ax, rewards=False)
    shared = log.provenance.get(SHARED, []) if world is log.mdp else []
    if shared:  # moves between codes cross the whole world, and would hide what is replayed
        for lines in ax.collections:
            lines.set_alpha(0.25)
    ax.plot(*position[shared].T, **_SHARED)
    draw_walk(steps, first, path, position, world, ax)
    ax.set(xlim=limits[0], ylim=limits[1], aspect="equal" if to_scale else "auto")
    dashes = []
    if maze_cell_size(world) is not None:
        draw_scale_bar(ax, 50)
        dashes = mark_cut_edges(world, ax)
    once = moves.drop_duplicates(["state", "next_state"])
    arrows = draw_arrows(once[["state", "next_state"]].to_numpy(dtype=np.int64), position, ax)
    order = np.linspace(0, _LIGHTEST, max(once["order"].max() + 1, 2))[once["order"]][:, None]
    dark = np.array([to_rgb(colour) for colour in colours_of(once)])
    arrows.set_facecolor(list(dark + order * (1 - dark)))
    learner = label(str(log.runs.set_index("run").loc[run, "learner"]))
    when = WHEN.get(str(first["phase"]), str(first["phase"]))
    ax.set_title(
        f"{learner}, {when},\nepisode {first['episode']:,}, step {first['step']:,}: "
        f"{count_range([len(moves)], 'move')} replayed"
    )
    ax.legend(
        handles=[Line2D([], [], color=_colour(kind), label=label(kind)) for kind in kinds],
        loc="upper right",
        bbox_to_anchor=(1, 0),
        borderaxespad=0.2,
        handlelength=1.2,
    )
    if figure:
        add_note(
            figure,
            "Arrows: moves as replayed, dark first, light last. Square: the agent. Pale line: its "
            f"path, {_PATH_LENGTH} moves at most. Star: an end, or the last reward."
            + (" Dashed edge: the maze continues." if dashes else "")
            + (" Diamond: a code that was met in several places." if shared else ""),
        )
    return ax


def draw_walk(
    steps: pd.DataFrame, first: pd.Series, path: list[int], position: Floats, mdp: MDP, ax: Axes
) -> None:
    """Draw the agent, the path by which it came, where episodes end, and the last reward.

    `first` is the first move of the event, from `replayed_moves`; `path` are the states by which
    the agent came, and `position` has the shape (n_states, 2).
    """
    paid = steps.loc[(steps["step"] <= first["step"]) & (steps["reward"] > 0), "next_state"].tail(1)
    ends = np.union1d(np.flatnonzero(mdp.terminal), paid)
    draw_ends(position[ends.astype(int)], ax, size=60, zorder=2)
    ax.plot(*position[path].T, color=PATH_COLOUR, linewidth=4, solid_capstyle="round",
            solid_joinstyle="round", zorder=1)  # fmt: skip
    agent = position[first["location"]]
    ax.plot(*agent, "s", markersize=9, color="none", markeredgecolor="black", zorder=7)


def _colour(kind: str) -> str:
    return _SINGLE_COLOUR if kind == _SINGLE else kind_colour(kind)


def colours_of(moves: pd.DataFrame) -> list[str]:
    """Return the colour of each replayed move: that of its kind, or grey for a single move."""
    return [_colour(str(kind)) for kind in moves["kind"].astype(object).fillna(_SINGLE)]


def drawn_world(log: EventLog, mdp: MDP | None, steps: pd.DataFrame) -> MDP:
    """Return the world in which a log is drawn.

    That is `mdp`, if the user gave one and the log is from it, or else the world of the log.
    """
    # States are numbers, which fit many worlds: only the moves show whether it is this one.
    if mdp is not None:
        made = steps["state"].to_numpy(dtype=np.int64) * mdp.n_states + steps["next_state"]
        state = mdp.transition_rows() // mdp.n_actions
        if not np.isin(made, state * mdp.n_states + mdp.successor).all():
            raise ValueError(
                f"The log is not from this world ({mdp.name!r}, {mdp.n_states} states): some of "
                "its moves are impossible there. Give the world in which the agent was."
            )
    world = log.mdp if mdp is None else mdp
    if world is None:
        raise ValueError(
            "The log was saved without its world and has no positions. Give the world: an MDP "
            "as mdp=, or --world FILE, as replay.log.worlds.write_mdps writes it."
        )
    return world


def path_so_far(steps: pd.DataFrame, first: pd.Series) -> list[int]:
    """List the last states of the current episode; none before it has begun.

    At most 31 states, in the order of the walk.
    """
    if first["phase"] == "start":
        return []
    own = steps[(steps["episode"] == first["episode"]) & (steps["step"] <= first["step"])]
    last = own.tail(_PATH_LENGTH)
    return [*last["state"].head(1), *last["next_state"]]


def shown_part(place: Floats, mdp: MDP, width: float) -> tuple[Floats, float, bool]:
    """Choose the part of a world that is shown.

    `place` are positions that must be visible, shape (n_places, 2), and `width` is in inches.
    Returns the limits of both axes, shape (2, 2), the height in inches, and whether the drawing is
    to scale: worlds much wider than tall, such as trees, are stretched. All of a world that is no
    maze is shown.
    """
    cell_size = maze_cell_size(mdp)
    if cell_size is None:
        place = state_positions(mdp)
    low, high = place.min(axis=0), place.max(axis=0)
    if cell_size is not None:
        whole = cell_size * (np.array(mdp.labels).max(axis=0) + 2)
        middle, side = (low + high) / 2, high - low + 2 * _SURROUNDINGS * cell_size
        side = np.minimum(np.maximum(side, _SMALLEST_PART * cell_size), whole)
        low = np.clip(middle - side / 2, 0, whole - side)
        high = low + side
    else:
        margin = 0.06 * (high - low).max()
        low, high = low - margin, high + margin
    height = width * (high - low)[1] / (high - low)[0]
    shown = float(np.clip(height, _LOWEST, _HIGHEST))
    return np.array([low, high]).T, shown, height >= _LOWEST


def draw_arrows(pairs: Ints, position: Floats, ax: Axes) -> Quiver:
    """Draw moves as arrows; opposite moves between the same states are drawn side by side.

    `pairs` has the first and the last state of each move; the limits of the axes must be final,
    since the offset of opposite moves is in points.
    """
    n_states = len(position)
    to_and_fro = np.isin(pairs @ [n_states, 1], pairs @ [1, n_states])
    # Lengths on the screen are known once the axes have their final shape.
    ax.apply_aspect()
    dpi = ax.figure.dpi
    corners = ax.transData.transform(position)
    along = corners[pairs[:, 1]] - corners[pairs[:, 0]]
    length = np.hypot(*along.T)
    along /= length[:, None]
    width = min(_ARROW, _ARROW_SHARE * np.median(length) / dpi)
    right = np.column_stack((along[:, 1], -along[:, 0])) * to_and_fro[:, None]
    aside = width * dpi
    begin, end = (
        ax.transData.inverted().transform(corners[pairs[:, side]] + aside * right)
        for side in (0, 1)
    )
    return ax.quiver(
        *(begin + _GAP * (end - begin)).T,
        *((1 - 2 * _GAP) * (end - begin)).T,
        angles="xy",
        scale_units="xy",
        scale=1,
        units="inches",
        width=width,
        headwidth=3.6,
        headlength=3.8,
        headaxislength=3.6,
        minlength=0,
        zorder=5,
    )
