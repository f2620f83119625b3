"""Tasks of experiments: the maze to scale, its rewards, and the typical replay in it."""

from __future__ import annotations

import re
from itertools import pairwise
from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Polygon

from analyses.plots.mdps import draw_scale_bar
from analyses.plots.panels import NEW, drawing, letter_panels
from analyses.plots.style import (
    COLUMN_WIDTH,
    END_COLOUR,
    FULL_WIDTH,
    INCH,
    Look,
    kind_colour,
    label,
)
from analyses.tables import KINDS, in_order
from replay.checks import check_table, unknown_name
from replay.checks.arrays import Floats
from replay.tasks import Task

HALF_WIDTH = 4.5
"""Half the width of a drawn corridor, in cm."""
_CORRIDOR, _PLACE, _BARRIER = "0.91", "0.72", "0.15"
_LIGHTEST, _ASIDE = 0.6, 1.5  # of white in the last move's colour; cm between opposite moves
_N_COLUMNS = 3  # of panels right of the maze
_WIDE = 2.5  # width by height of a maze, above which panels lie below one another
_LEFT, _GAP, _BELOW = 0.25, 0.27, 0.3  # inches, around panels
_STRIP, _LOWEST, _HIGHEST = 0.3, 1.0, 2.0  # inches, heights of mazes
_TITLE, _NOTES, _KEY = 0.45, 0.5, 0.3  # inches, heights of texts
_WIDE_LINE, _NARROW_LINE = 130, 30  # letters
_LETTER = 0.052  # inches, on average
_REMARK = 170  # letters of modelling choices; more would not fit below the maze
_BARS = (10, 20, 50, 100, 200)  # cm
_PAUSES = {
    "episode_end": "after a lap",
    "start": "before a lap",
    "rest": "at rest",
    "step": "on the way",
}
_Box = tuple[float, float, float, float]
_Layout = tuple[Figure, list[_Box], tuple[float, float, int]]
_COLUMNS = ["learner", "kind", "orientation", "phase", "block", "place", "goal", "states"]


@drawing
def plot_task(
    task: Task,
    ax: Axes = NEW,
    *,
    rewards: bool = True,
    block: str | None = None,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the maze of a task to scale.

    Parameters
    ----------
    task : Task
        The task.
    ax : matplotlib.axes.Axes, optional
        Where to draw, in cm; by default a new figure.
    rewards : bool, default True
        Whether stars mark rewarded places, larger for a larger reward in any block, and other
        landmarks that are a single place are labelled.
    block : str, optional
        The block of the protocol whose barriers are drawn.

    Examples
    --------
    >>> from replay.tasks.published import find_task
    >>> ax = plot_task(find_task("linear_track").build())
    >>> low, high = ax.get_xlim()
    >>> bool(high - low > 180)
    True
    """
    place = {node: np.array(pos, dtype=float) for node, pos in task.graph.nodes(data="pos")}
    # Each corridor once, whichever way its edges lead.
    edges = dict.fromkeys(tuple(sorted(edge)) for edge in task.graph.edges if edge[0] != edge[1])
    shapes: list[Patch] = [Circle(tuple(at), HALF_WIDTH) for at in place.values()]
    for one, other in edges:
        begin, end = place[one], place[other]
        aside = HALF_WIDTH * _across(begin, end)
        shapes.append(Polygon([begin + aside, end + aside, end - aside, begin - aside]))
    ax.add_collection(PatchCollection(shapes, color=_CORRIDOR, linewidths=0, zorder=0))
    x, y = task.position.T
    ax.scatter(x, y, s=2, color=_PLACE, linewidths=0, zorder=1)
    # Reversed, so that of blocks with one name the first counts.
    barriers_of = {each.name: each.closed for each in reversed(task.blocks)}
    if block is not None and block not in barriers_of:
        raise unknown_name("block", block, barriers_of)
    closed = barriers_of.get(block, ()) if block is not None else ()
    barriers = []
    for one, other in edges:
        if {(one, other), (other, one)} <= {*closed}:
            middle = (place[one] + place[other]) / 2
            aside = 1.7 * HALF_WIDTH * _across(place[one], place[other])
            barriers.append(np.array([middle - aside, middle + aside]))
    ax.add_collection(LineCollection(barriers, colors=_BARRIER, linewidths=2, zorder=2))
    if rewards:
        paid: dict[str, float] = {}
        for each in task.blocks:
            for node, mean in each.rewards.items():
                paid[node] = max(paid.get(node, 0.0), mean)
        for node, mean in paid.items():
            if mean > 0:
                draw_reward(ax, place[node], 12 + 38 * mean / max(paid.values()))
        middle = np.mean(list(place.values()), axis=0)
        for name, nodes in task.landmarks.items():
            if len(nodes) == 1 and nodes[0] not in paid:
                x, y = place[nodes[0]]
                above = y >= middle[1]
                ax.annotate(
                    name.replace("_", " "), (x, y), (0, 6 if above else -6),
                    textcoords="offset points", ha="center", va="bottom" if above else "top",
                    fontsize=6, color="0.35", annotation_clip=False,
                )  # fmt: skip
    ax.set_axis_off()
    ax.set_aspect("equal", anchor="NW")
    corners = np.array(list(place.values()))
    low, high = corners.min(axis=0) - 1.6 * HALF_WIDTH, corners.max(axis=0) + 1.6 * HALF_WIDTH
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return ax


def draw_reward(ax: Axes, at: Floats, size: float) -> None:
    """Mark a rewarded place, in cm, with a star, whose size is its area in square points."""
    x, y = at
    ax.scatter(
        x,
        y,
        s=size,
        marker="*",
        color=END_COLOUR,
        edgecolors="k",
        linewidths=0.4,
        zorder=5,
        clip_on=False,
    )


def _across(one: Floats, other: Floats) -> Floats:
    along = other - one
    across: Floats = np.array([-along[1], along[0]]) / np.hypot(*along)
    return across


@drawing
def plot_typical_replay(
    replay: pd.Series, task: Task, ax: Axes = NEW, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw one sequence on the maze of its task.

    Arrows point in the direction of replay, dark for early moves and light for late ones, in the
    colour of its kind. Both headings of a place lie side by side. A square marks the animal, a star
    the reward of the lap.

    Parameters
    ----------
    replay : pandas.Series
        A row of the table of :func:`analyses.studies.typical_replay.typical_replays`.
    task : Task
        The task in which it was replayed.
    """
    check_table(replay.to_frame().T, _COLUMNS[1:], "replay")
    plot_task(task, ax, rewards=False, block=str(replay["block"]))
    states = [int(state) for state in replay["states"]]
    path = task.position[states]
    order = np.linspace(0, _LIGHTEST, len(path) - 1)[:, None]
    colour = np.array(to_rgb(kind_colour(replay["kind"])))
    step = np.diff(path, axis=0)
    moves = list(pairwise(states))
    # Opposite moves between the same places are drawn side by side.
    crossed = np.array([move[::-1] in moves for move in moves])[:, None]
    right = np.column_stack((step[:, 1], -step[:, 0])) / np.hypot(*step.T)[:, None]
    ax.quiver(
        *(path[:-1] + 0.05 * step + _ASIDE * crossed * right).T,
        *(0.9 * step).T,
        color=list(colour + order * (1 - colour)),
        angles="xy",
        scale_units="xy",
        scale=1,
        units="inches",
        width=1.3 / 72,
        headwidth=4.2,
        headlength=4.2,
        headaxislength=4,
        minlength=0,
        zorder=4,
    )
    if replay["goal"] >= 0:
        draw_reward(ax, task.position[replay["goal"]], 40)
    ax.plot(
        *task.position[replay["place"]],
        marker="s",
        markersize=7,
        color="none",
        markeredgecolor="black",
        clip_on=False,
        zorder=6,
    )
    return ax


@drawing
def task_figure(typical: pd.DataFrame, task: Task, *, width_cm: float = FULL_WIDTH) -> Figure:
    """Make the figure of a task: its maze, and what learners typically replay there.

    Parameters
    ----------
    typical : pandas.DataFrame
        The rows of this task in the table of
        :func:`analyses.studies.typical_replay.measure_typical_replay`.
    task : Task
        The task.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. The text below the maze says which parts of it are modelling choices, and how
        sequences were chosen.
    """
    check_table(typical, [*_COLUMNS, "min_length", "n_path", "n_kind", "n_all"], "typical")
    if typical.empty:
        raise ValueError(f"There is no typical replay of the task {task.name!r} to draw.")
    extent = np.ptp(task.position, axis=0) + 3.2 * HALF_WIDTH
    is_wide = extent[0] / extent[1] > _WIDE
    lay_out = _strips if is_wide else _grid
    figure, boxes, notes = lay_out(typical, extent[1] / extent[0], width_cm / INCH)
    maze, *panels = (figure.add_axes(box) for box in boxes)
    plot_task(task, maze, block=typical["block"].iloc[0])
    maze.set_title(label(task.name), pad=12)
    if "Positions are drawn only" not in task.remark:  # else there are no distances
        draw_scale_bar(maze, min(_BARS, key=lambda length: abs(length - 0.2 * extent[0])))
    for ax, (_, replay) in zip(panels, typical.iterrows(), strict=True):
        plot_typical_replay(replay, task, ax)
        _title(ax, replay, with_learner=is_wide)
    letter_panels([maze, *panels])
    # The modelling choices of the maze, as many sentences as there is room for.
    sentences = re.split(r"(?<=\.) (?=[A-Z0-9])", task.choices or task.remark)
    kept = [sentence for k, sentence in enumerate(sentences)
            if k == 0 or len(" ".join(sentences[: k + 1])) <= _REMARK]  # fmt: skip
    chosen = f"Modelling choices: {' '.join(kept)}" if task.remark or task.choices else ""
    text = (
        "Shown: for the most frequent kinds of sequence "
        f"({typical['min_length'].iloc[0]} or more states), the path that was replayed most often "
        "from one place."
    )
    figure.text(
        *notes[:2],
        "\n".join(wrap(f"{chosen} {text}", notes[2])),
        fontsize=6,
        va="top",
        color="0.35",
        linespacing=1.35,
    )
    look: Look = {"linestyle": "none", "markeredgecolor": "k", "markeredgewidth": 0.6}
    handles = [
        Line2D([], [], marker="s", markersize=6, color="none", label="Animal", **look),
        Line2D([], [], marker="*", markersize=7, color=END_COLOUR, label="Reward", **look),
    ]
    for kind in in_order(typical["kind"], KINDS):
        handles.append(Line2D([], [], color=kind_colour(kind), label=label(kind)))
    per_row = len(handles) if width_cm > COLUMN_WIDTH + INCH else 3  # in a column of a journal
    figure.legend(handles=handles, loc="lower center", ncols=per_row, handlelength=1.4)
    return figure


def _strips(typical: pd.DataFrame, ratio: float, full: float) -> _Layout:
    """Lay out a wide maze: panels below one another, then notes."""
    width = full - _LEFT
    each = max(width * ratio, _STRIP) + _TITLE
    line = int(width / _LETTER)
    notes = _NOTES * max(1.0, _WIDE_LINE / line)
    size = np.array([full, each * (len(typical) + 1) + notes + _KEY])
    figure = Figure(figsize=tuple(size))
    boxes = [
        _box(size, _LEFT, each * row + _TITLE, width - 0.1, each - _TITLE)
        for row in range(len(typical) + 1)
    ]
    below = each * (len(typical) + 1) + 0.15
    return figure, boxes, (_LEFT / size[0], 1 - below / size[1], line)


def _grid(typical: pd.DataFrame, ratio: float, full: float) -> _Layout:
    """Lay out the maze with notes beside or below it, and rows of panels for each learner.

    The learners' rows are right of the maze on a full page, and below it in a column of a journal.
    """
    learners = list(dict.fromkeys(typical["learner"]))
    is_page = full > COLUMN_WIDTH / INCH + 1
    n_columns = _N_COLUMNS if is_page else 2
    width = (full - _LEFT) / (1 + _N_COLUMNS if is_page else 2) - _GAP
    height = np.clip(width * ratio, _LOWEST, _HIGHEST)
    each = height + _TITLE + _BELOW
    at = [
        (row, place)
        for row, learner in enumerate(learners)
        for place in range(int((typical["learner"] == learner).sum()))
    ]
    # The rows that a learner's panels need, if not all of them fit side by side.
    counts = typical["learner"].value_counts()
    lines = [-(-int(counts[learner]) // n_columns) for learner in learners]
    begin = np.cumsum([0, *lines])[:-1] + (0 if is_page else 1)
    n_rows = max(begin[-1] + lines[-1], 2)
    size = np.array([full, each * n_rows + _KEY])
    figure = Figure(figsize=tuple(size))
    boxes = [_box(size, _LEFT, _TITLE, width, height)]
    for row, place in at:
        column = place % n_columns + (1 if is_page else 0)
        line = begin[row] + place // n_columns
        x, y = _LEFT + column * (width + _GAP), each * line + _TITLE
        if place == 0:
            name = label(learners[row])
            figure.text(x / size[0], 1 - (y - 0.3) / size[1], name, weight="bold")
        boxes.append(_box(size, x, y, width, height))
    if is_page:
        return figure, boxes, (_LEFT / size[0], 1 - (each + 0.1) / size[1], _NARROW_LINE)
    x = _LEFT + width + _GAP
    return figure, boxes, (x / size[0], 1 - 0.3 / size[1], int((full - x) / _LETTER))


def _box(size: Floats, x: float, y: float, width: float, height: float) -> _Box:
    """Convert a place in inches from the upper left corner to shares of the figure."""
    return x / size[0], 1 - (y + height) / size[1], width / size[0], height / size[1]


def _title(ax: Axes, replay: pd.Series, with_learner: bool) -> None:
    kind = label(replay["kind"])
    if replay["kind"] == "novel_path" and not pd.isna(replay["orientation"]):
        kind = f"{kind}, {replay['orientation']}"
    share = replay["n_kind"] / replay["n_all"]
    text = f"{share:.1%} of {replay['n_all']:,}, {_PAUSES[replay['phase']]}"
    if with_learner:
        text = f"{label(replay['learner'])}, {text}"
    for line, colour, size, y in ((kind, kind_colour(replay["kind"]), 7, 11), (text, "0.35", 6, 3)):
        ax.annotate(
            line,
            (0, 1),
            (0, y),
            xycoords="axes fraction",
            textcoords="offset points",
            va="bottom",
            fontsize=size,
            color=colour,
        )
