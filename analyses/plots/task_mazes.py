"""Mazes of tasks, drawn to scale: corridors, places, barriers and rewards."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Circle, Patch, Polygon
from numpy.typing import NDArray

from analyses.plots.style import COLUMN_WIDTH, END_COLOUR, new_axes, styled
from replay.checks import unknown_name
from replay.tasks import Task

__all__ = ["HALF_WIDTH", "draw_reward", "plot_task"]

HALF_WIDTH = 4.5
"""Half the width of a drawn corridor, in cm."""

_CORRIDOR, _PLACE, _BARRIER = "0.91", "0.72", "0.15"


@styled
def plot_task(
    task: Task,
    ax: Axes | None = None,
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
    width_cm : float, default 8.5
        Width of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Examples
    --------
    >>> from replay.tasks.published import find_task
    >>> ax = plot_task(find_task("linear_track").build())
    >>> low, high = ax.get_xlim()
    >>> bool(high - low > 180)
    True
    """
    ax = new_axes(width_cm) if ax is None else ax
    place = {node: np.array(pos, dtype=float) for node, pos in task.graph.nodes(data="pos")}
    edges = dict.fromkeys(tuple(sorted(edge)) for edge in task.graph.edges if edge[0] != edge[1])
    shapes: list[Patch] = [Circle(tuple(at), HALF_WIDTH) for at in place.values()]
    shapes += [_corridor(place[one], place[other]) for one, other in edges]
    ax.add_collection(PatchCollection(shapes, color=_CORRIDOR, linewidths=0, zorder=0))
    x, y = task.position.T
    ax.scatter(x, y, s=2, color=_PLACE, linewidths=0, zorder=1)
    barriers_of = {each.name: each.closed for each in reversed(task.blocks)}
    if block is not None and block not in barriers_of:
        raise unknown_name("block", block, barriers_of)
    closed = barriers_of.get(block, ()) if block is not None else ()
    barriers = [
        _barrier(place[one], place[other])
        for one, other in edges
        if {(one, other), (other, one)} <= {*closed}
    ]
    ax.add_collection(LineCollection(barriers, colors=_BARRIER, linewidths=2, zorder=2))
    if rewards:
        paid: dict[str, float] = {}
        for each in task.blocks:
            for node, mean in each.rewards.items():
                paid[node] = max(paid.get(node, 0.0), mean)
        for node, mean in paid.items():
            if mean > 0:
                draw_reward(ax, place[node], 12 + 38 * mean / max(paid.values()))
        _name_landmarks(task, place, paid, ax)
    ax.set_axis_off()
    ax.set_aspect("equal", anchor="NW")
    corners = np.array(list(place.values()))
    low, high = corners.min(axis=0) - 1.6 * HALF_WIDTH, corners.max(axis=0) + 1.6 * HALF_WIDTH
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return ax


def _name_landmarks(
    task: Task, place: dict[str, NDArray[np.float64]], paid: Mapping[str, float], ax: Axes
) -> None:
    middle = np.mean(list(place.values()), axis=0)
    for name, nodes in task.landmarks.items():
        if len(nodes) == 1 and nodes[0] not in paid:
            x, y = place[nodes[0]]
            above = y >= middle[1]
            ax.annotate(
                name.replace("_", " "),
                (x, y),
                (0, 6 if above else -6),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                fontsize=6,
                color="0.35",
                annotation_clip=False,
            )


def draw_reward(ax: Axes, at: NDArray[np.float64], size: float) -> None:
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


def _corridor(one: NDArray[np.float64], other: NDArray[np.float64]) -> Polygon:
    aside = HALF_WIDTH * _across(one, other)
    return Polygon([one + aside, other + aside, other - aside, one - aside])


def _barrier(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    middle, aside = (one + other) / 2, 1.7 * HALF_WIDTH * _across(one, other)
    return np.array([middle - aside, middle + aside])


def _across(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    along = other - one
    across: NDArray[np.float64] = np.array([-along[1], along[0]]) / np.hypot(*along)
    return across
