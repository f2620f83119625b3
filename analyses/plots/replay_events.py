"""Single replay sequences, drawn where they run.

A replayed path is a row of numbered states, coloured by order from dark to light. A path that was
never walked as a whole is stitched together from pieces of experience; each piece's latest episode
is drawn under it in a colour of its own, and the states where pieces join carry a ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from analyses.plots.grids import letter_panels
from analyses.plots.mdps import draw_ends, draw_scale_bar, maze_cell_size, plot_mdp, state_positions
from analyses.plots.style import (
    COLUMN_WIDTH,
    END_COLOUR,
    FULL_WIDTH,
    label,
    new_axes,
    new_figure,
    styled,
    write_empty,
)
from analyses.sequences.experience import Experience
from replay.checks import check_table
from replay.worlds.mdp import MDP

__all__ = ["Stretch", "pick_examples", "plot_replay", "replay_events_figure", "stretches"]

_ORDER_COLOURS = "plasma"
_LIGHTEST = 0.85
_EPISODE_COLOURS = ("#8ecae6", "#f7c873", "#9fd8b5", "#e6b0cf", "#b7b2e0", "#d9a78b")
_SPLICE = "#009e73"
_NUMBERED = 14
_NODE_SIZE = 52
_SURROUNDINGS = 12
_LONGEST_SHOWN = 30


class Stretch(NamedTuple):
    """A piece of a path, with what the episode that holds it did just before and after.

    Attributes
    ----------
    episode : int
        The latest episode that holds it.
    states : tuple of int
        The piece with up to 12 states of that episode on either side.
    """

    episode: int
    states: tuple[int, ...]


def stretches(path: Sequence[int], steps: pd.DataFrame) -> list[Stretch]:
    """Find the stretches of episodes that a path can be stitched from.

    Parameters
    ----------
    path : sequence of int
        States in the order in which they would be experienced.
    steps : pandas.DataFrame
        What was experienced, in order: columns `episode, step, state, next_state`.

    Returns
    -------
    list of Stretch
        One for each piece, as :meth:`analyses.sequences.experience.Experience.pieces` has them.

    Examples
    --------
    >>> steps = pd.DataFrame({"episode": [0, 0, 1], "step": [0, 1, 2], "state": [0, 1, 2],
    ...                       "next_state": [1, 2, 3]})
    >>> stretches([1, 2, 3], steps)
    [Stretch(episode=0, states=(0, 1, 2)), Stretch(episode=1, states=(2, 3))]
    """
    found = []
    for piece in Experience(steps).pieces(path):
        own = steps[steps["episode"] == piece.episode]
        moves = own.loc[own["state"] != own["next_state"], "next_state"].tolist()
        visited = [int(own["state"].iloc[0]), *moves]
        wanted = [int(state) for state in path[piece.begin : piece.end + 1]]
        last = max(k for k in range(len(visited)) if visited[k : k + len(wanted)] == wanted)
        around = slice(max(0, last - _SURROUNDINGS), last + len(wanted) + _SURROUNDINGS)
        found.append(Stretch(piece.episode, tuple(visited[around])))
    return found


@styled
def plot_replay(
    sequence: pd.Series,
    steps: pd.DataFrame,
    mdp: MDP,
    ax: Axes | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw one replayed sequence on its MDP, with the experience that it is made of.

    Parameters
    ----------
    sequence : pandas.Series
        One row of `sequences`: `run, step, location, states, splice_states, orientation,
        direction`.
    steps : pandas.DataFrame
        Steps of the log: `run, episode, step, state, next_state`.
    mdp : MDP
        Where it happened. Of a maze, the part around the sequence is shown.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`.

    Raises
    ------
    ValueError
        If columns are missing.
    """
    wanted = ["run", "step", "location", "states", "splice_states", "orientation", "direction"]
    check_table(sequence.to_frame().T, wanted, "sequence")
    check_table(steps, ["run", "episode", "step", "state", "next_state"], "steps")
    ax = new_axes(width_cm) if ax is None else ax
    position = state_positions(mdp)
    states = np.asarray(sequence["states"], dtype=np.intp)
    plot_mdp(mdp, ax, rewards=False)
    known = steps[(steps["run"] == sequence["run"]) & (steps["step"] <= sequence["step"])]
    shown = _draw_stretches(stretches(_as_experienced(sequence, states), known), position, ax)
    size = _NODE_SIZE if len(states) <= _NUMBERED else _NODE_SIZE / 3
    _draw_order(states, position, size, ax)
    draw_ends(position[mdp.terminal], ax, size=150, zorder=2.5)
    splice = position[np.asarray(sequence["splice_states"], dtype=np.intp)]
    _outline(splice, "o", 2 * size, _SPLICE, ax)
    _outline(position[[sequence["location"]]], "s", 3 * size, "black", ax)
    if maze_cell_size(mdp) is not None:
        _zoom(ax, position[[*states, *shown, sequence["location"]]], mdp)
    return ax


def pick_examples(sequences: pd.DataFrame) -> dict[str, pd.Series]:
    """Pick a telling sequence of each kind: without returns, long, if novel of 2 or 3 episodes.

    Parameters
    ----------
    sequences : pandas.DataFrame
        Columns `kind, length, n_distinct, n_episodes` at least.

    Returns
    -------
    dict of str to pandas.Series
        A row by kind, for `reverse_episode`, `forward_episode` and `novel_path` where there is any
        of at least three states.

    Raises
    ------
    ValueError
        If columns are missing.
    """
    check_table(sequences, ["kind", "length", "n_distinct", "n_episodes"], "sequences")
    legible = sequences[sequences["length"].between(3, _LONGEST_SHOWN)]
    legible = legible.assign(
        few=legible["n_episodes"].between(2, 3), returns=legible["length"] - legible["n_distinct"]
    )
    best = legible.sort_values(
        ["few", "returns", "length"], ascending=[False, True, False], kind="stable"
    ).drop_duplicates("kind")
    found = {str(row["kind"]): row for _, row in best.iterrows()}
    kinds = ("reverse_episode", "forward_episode", "novel_path")
    return {kind: found[kind] for kind in kinds if kind in found}


@styled
def replay_events_figure(sequences: pd.DataFrame, steps: pd.DataFrame, mdp: MDP) -> Figure:
    """Make the figure of example replays of one MDP: a panel for each kind.

    Parameters
    ----------
    sequences : pandas.DataFrame
        As in `sequences.parquet`; examples are picked by `pick_examples` from runs that are in
        `steps`.
    steps : pandas.DataFrame
        Steps of the log: `run, episode, step, state, next_state`.
    mdp : MDP
        Where it happened.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. The panel of forward replay is left out where there is none, as in the paper's
        learners, which replay backwards.

    Raises
    ------
    ValueError
        If columns are missing.
    """
    check_table(sequences, ["run"], "sequences")
    check_table(steps, ["run"], "steps")
    examples = pick_examples(sequences[sequences["run"].isin(steps["run"].unique())])
    kinds = [
        "reverse_episode",
        *(["forward_episode"] * ("forward_episode" in examples)),
        "novel_path",
    ]
    figure = new_figure(FULL_WIDTH, FULL_WIDTH / len(kinds) + 0.55)
    axes = figure.subplots(1, len(kinds))
    for ax, kind in zip(axes, kinds, strict=True):
        if kind not in examples:
            ax.set_axis_off()
            ax.set_title(label(kind))
            write_empty(ax, "none in this run")
            continue
        example = examples[kind]
        plot_replay(example, steps, mdp, ax)
        ax.set_title(f"{label(kind)}, step {example['step']:,}")
        if maze_cell_size(mdp) is not None:
            draw_scale_bar(ax, 50)
        episodes = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
        ax.legend(
            handles=episodes,
            loc="upper right",
            bbox_to_anchor=(1, 0),
            borderpad=0.2,
            handlelength=1.4,
        )
    letter_panels(axes)
    first, last = _order_colours(2)
    figure.legend(
        handles=[
            _marker("o", label="First state replayed", markerfacecolor=first),
            _marker("o", label="Last", markerfacecolor=last),
            _marker("s", label="Agent", markerfacecolor="none", markeredgecolor="k", markersize=8),
            _marker("*", label="End of episodes", markerfacecolor=END_COLOUR, markersize=9),
            _marker(
                "o", label="Splice", markerfacecolor="none", markeredgecolor=_SPLICE, markersize=9
            ),
        ],
        loc="outside lower center",
        ncols=5,
    )
    return figure


def _as_experienced(sequence: pd.Series, states: NDArray[np.intp]) -> list[int]:
    orientation = sequence["orientation"]
    backwards = (sequence["direction"] if pd.isna(orientation) else orientation) == "reverse"
    path: list[int] = states[::-1].tolist() if backwards else states.tolist()
    return path


def _draw_stretches(found: list[Stretch], position: NDArray[np.float64], ax: Axes) -> list[int]:
    """Draw the episodes under a path; returns the states drawn."""
    episodes = list(dict.fromkeys(piece.episode for piece in found))
    for k, (episode, colour) in enumerate(zip(episodes, _EPISODE_COLOURS, strict=False)):
        # Episodes that share their way run side by side.
        aside = 2.2 / 72 * (k - (len(episodes) - 1) / 2)
        beside = ax.transData + ScaledTranslation(aside, aside, ax.figure.dpi_scale_trans)
        name: str | None = f"Episode {episode}"
        for piece in found:
            if piece.episode == episode:
                place = position[list(piece.states)]
                ax.plot(
                    *place.T,
                    color=colour,
                    linewidth=2.8,
                    transform=beside,
                    solid_capstyle="round",
                    solid_joinstyle="round",
                    label=name,
                    zorder=2,
                )
                name = None
    return [state for piece in found for state in piece.states]


def _draw_order(
    states: NDArray[np.intp], position: NDArray[np.float64], size: float, ax: Axes
) -> None:
    place = position[states]
    step = np.diff(place, axis=0)
    ax.quiver(
        *place[:-1].T,
        *(0.65 * step).T,
        np.arange(len(step)),
        angles="xy",
        scale_units="xy",
        scale=1,
        units="inches",
        width=1 / 72,
        headwidth=4.5,
        headlength=4.5,
        headaxislength=4,
        cmap=mpl.colormaps[_ORDER_COLOURS],
        norm=Normalize(0, len(step) / _LIGHTEST),
        zorder=3,
    )
    colours = _order_colours(len(states))
    ax.scatter(place[:, 0], place[:, 1], s=size, c=colours, linewidths=0, zorder=4)
    if len(states) <= _NUMBERED:
        for state in dict.fromkeys(states.tolist()):
            turns = np.flatnonzero(states == state)
            ax.annotate(
                ",".join(str(turn + 1) for turn in turns),
                position[state],
                ha="center",
                va="center_baseline",
                color="white" if turns[-1] < 0.75 * len(states) else "black",
                fontsize=5.5 if len(turns) == 1 else 4,
                zorder=8,
            )


def _outline(places: NDArray[np.float64], marker: str, size: float, colour: str, ax: Axes) -> None:
    ax.scatter(
        places[:, 0],
        places[:, 1],
        marker=marker,
        s=size,
        color="none",
        edgecolors=colour,
        linewidths=1.2,
        zorder=6,
    )


def _order_colours(n: int) -> NDArray[np.float64]:
    return mpl.colormaps[_ORDER_COLOURS](np.linspace(0, _LIGHTEST, n))


def _zoom(ax: Axes, place: NDArray[np.float64], mdp: MDP) -> None:
    """Show a square around places, as far as the maze goes."""
    cell_size = maze_cell_size(mdp)
    if cell_size is None:
        return
    low, high = place.min(axis=0) - 1.5 * cell_size, place.max(axis=0) + 1.5 * cell_size
    side = max((high - low).max(), 12 * cell_size)
    full = np.array([ax.get_xlim()[1], ax.get_ylim()[1]])
    side = min(side, full.max())
    corner = np.clip((low + high - side) / 2, 0, np.maximum(full - side, 0))
    ax.set(xlim=(corner[0], corner[0] + side), ylim=(corner[1], corner[1] + side))


def _marker(marker: str, **look: object) -> Line2D:
    look = {"linestyle": "none", "markeredgecolor": "none", "markersize": 6, **look}
    return Line2D([], [], marker=marker, **look)  # type: ignore[arg-type]
