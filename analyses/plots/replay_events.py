"""Single replayed sequences, drawn on their world.

A replayed path is a series of numbered states, coloured by order from dark to light. A path that
was never run as a whole is composed of pieces of experience; the latest episode of each piece is
drawn under it in its own colour, and rings mark the states at which pieces join.
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
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from analyses.plots.examples import pick_examples
from analyses.plots.mdps import (
    draw_ends,
    draw_scale_bar,
    mark_cut_edges,
    maze_cell_size,
    plot_mdp,
    state_positions,
)
from analyses.plots.panels import NEW, add_note, drawing, fitting_columns, grid, own_figure
from analyses.plots.style import COLUMN_WIDTH, END_COLOUR, FULL_WIDTH, INCH, SMALL, Look, label
from analyses.sequences.experience import Experience
from replay.checks import check_table
from replay.checks.arrays import Floats
from replay.worlds.mdp import MDP

_ORDER_COLOURS = "plasma"
_LIGHTEST = 0.85  # of the colours: the last ones hardly show on white
_EPISODE_COLOURS = ("#8ecae6", "#f7c873", "#9fd8b5", "#e6b0cf", "#b7b2e0", "#d9a78b")
_SPLICE = "#009e73"
_NUMBERED = 14  # states at most whose order is written; more numbers would overlap
_NODE_SIZE = 52  # square points
_SURROUNDINGS = 5  # steps of an episode that are drawn before and after the replayed path
_HIGHEST, _TITLE_AND_KEY = 3.4, 0.5  # inches
_ASIDE = 0.1  # of a move that is made both ways
_EXPECTED = ("reverse_episode", "novel_path")
_WHERE = {
    "episode_end": "where an episode ended",
    "start": "before an episode began",
    "step": "on the way",
    "rest": "at rest",
}


class Stretch(NamedTuple):
    """A piece of a path, with the episode that contains it just before and after."""

    episode: int  # the latest one that contains it
    states: tuple[int, ...]  # of the piece, and up to 5 of that episode on either side


def stretches(path: Sequence[int], steps: pd.DataFrame) -> list[Stretch]:
    """Find the stretches of episodes of which a path can be composed.

    There is one for each piece of :meth:`analyses.sequences.experience.Experience.pieces`; `steps`
    are in order.

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
        # Where an episode made these moves more than once, the latest time counts.
        last = max(k for k in range(len(visited)) if visited[k : k + len(wanted)] == wanted)
        around = slice(max(0, last - _SURROUNDINGS), last + len(wanted) + _SURROUNDINGS)
        found.append(Stretch(piece.episode, tuple(visited[around])))
    return found


@drawing
def plot_replay(
    sequence: pd.Series,
    steps: pd.DataFrame,
    mdp: MDP,
    ax: Axes = NEW,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw one replayed sequence on its MDP, with the experience of which it is composed.

    Numbers and colours, from dark to light, are the order of replay; of more than 14 states only
    colours are. The agent is a square; stars mark where episodes end, and rings where pieces of
    experience join. These are lines in the colours of their episodes, which go on a little beyond;
    after six episodes the colours begin again.

    Parameters
    ----------
    sequence : pandas.Series
        One row of `sequences`, as :func:`analyses.classify` returns them: `run, step, location,
        states, splice_states, orientation, direction, kind`.
    steps : pandas.DataFrame
        Steps of the log: `run, episode, step, state, next_state`.
    mdp : MDP
        The world; of a maze, only the part around the sequence is shown.

    Examples
    --------
    >>> from analyses import classify
    >>> from replay import from_ascii, simulate
    >>> maze = from_ascii("S..G")
    >>> run = simulate(maze, "episodic_control", n_steps=40)
    >>> ax = plot_replay(classify(run).iloc[0], run.log.steps, maze)
    >>> print(ax.get_title(loc="left"))
    Episode, reverse, step 20
    """
    wanted = ["run", "step", "location", "states", "splice_states", "orientation", "direction"]
    check_table(sequence.to_frame().T, [*wanted, "kind"], "sequence")
    check_table(steps, ["run", "episode", "step", "state", "next_state"], "steps")
    position = state_positions(mdp)
    states = np.asarray(sequence["states"], dtype=np.intp)
    plot_mdp(mdp, ax, rewards=False)
    known = steps[(steps["run"] == sequence["run"]) & (steps["step"] <= sequence["step"])]
    orientation = sequence["orientation"]
    backwards = (sequence["direction"] if pd.isna(orientation) else orientation) == "reverse"
    as_experienced = states[::-1].tolist() if backwards else states.tolist()
    shown = _draw_stretches(stretches(as_experienced, known), position, ax)
    # States with several numbers are larger.
    size = np.where(np.bincount(states, minlength=len(position)) > 1, 2.2, 1.0)
    size *= _NODE_SIZE if len(states) <= _NUMBERED else _NODE_SIZE / 3
    _draw_order(states, position, size, ax)
    draw_ends(position[mdp.terminal], ax, size=150, zorder=2.5)
    splice = np.asarray(sequence["splice_states"], dtype=np.intp)
    _outline(position[splice], "o", 2 * size[splice], _SPLICE, ax)
    animal = [sequence["location"]] if sequence["location"] >= 0 else []
    _outline(position[animal], "s", 3 * size[animal], "black", ax)
    cell_size = maze_cell_size(mdp)
    if cell_size is not None:  # show a square around these places, within the limits of the maze
        place = position[[*states, *shown, *animal]]
        low, high = place.min(axis=0) - 1.5 * cell_size, place.max(axis=0) + 1.5 * cell_size
        full = np.array([ax.get_xlim()[1], ax.get_ylim()[1]])
        side = np.minimum(max((high - low).max(), 12 * cell_size), full)
        corner = np.clip((low + high - side) / 2, 0, full - side)
        ax.set(xlim=(corner[0], corner[0] + side[0]), ylim=(corner[1], corner[1] + side[1]))
        mark_cut_edges(mdp, ax)
        draw_scale_bar(ax, 50)
    episodes = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    # Two names fit beside the scale bar.
    ax.legend(
        handles=episodes, loc="upper right", bbox_to_anchor=(1, 0), borderpad=0.2,
        handlelength=1.4, ncols=min(len(episodes), 2) or 1,
    )  # fmt: skip
    if figure := own_figure(ax):
        if cell_size is not None:
            figure.set_figheight(width_cm / INCH * side[1] / side[0] + _TITLE_AND_KEY)
        ax.set_title(f"{label(str(sequence['kind']))}, step {sequence['step']:,}")
        add_note(
            figure,
            ("Numbers: order of replay" if len(states) <= _NUMBERED else "Dots: states replayed")
            + ", dark first, light last. Square: the agent. Star: an end of episodes."
            + " Lines: episodes with these moves, and a little more." * bool(episodes)
            + " Ring: pieces of them join." * bool(len(splice)),
        )
    return ax


@drawing
def replay_events_figure(
    sequences: pd.DataFrame,
    steps: pd.DataFrame,
    mdp: MDP,
    *,
    learner: str = "",
    width_cm: float = FULL_WIDTH,
) -> Figure:
    """Make the figure of example replays in one MDP: one panel per kind that occurs.

    Parameters
    ----------
    sequences : pandas.DataFrame
        The table `sequences.parquet`; `pick_examples` picks examples from the runs in `steps`.
    steps : pandas.DataFrame
        Steps of the log: `run, episode, step, state, next_state`.
    mdp : MDP
        The world.
    learner : str, optional
        The learner, to be named below the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. The text below it says what each panel shows, and which kinds do not occur.

    Raises
    ------
    ValueError
        If columns are missing, or there is no sequence to show.
    """
    check_table(sequences, ["run"], "sequences")
    check_table(steps, ["run"], "steps")
    examples = pick_examples(sequences[sequences["run"].isin(steps["run"].unique())], steps)
    if not examples:
        raise ValueError(
            "There is no sequence of 3 to 30 states to show, neither experienced nor novel."
        )
    n_columns = fitting_columns(len(examples), width_cm, 6.0)
    cell_size = maze_cell_size(mdp)
    first, last = _order_colours(2)
    hollow: Look = {"color": "none", "linestyle": "none"}
    marks: list[Look] = [
        {"label": "First state replayed", "marker": "o", "color": first, "linestyle": "none"},
        {"label": "Last", "marker": "o", "color": last, "linestyle": "none"},
        {"label": "Agent", "marker": "s", "markeredgecolor": "k", "markersize": 6, **hollow},
        {"label": "End of episodes", "marker": "*", "color": END_COLOUR, "linestyle": "none",
         "markeredgecolor": "black", "markeredgewidth": 0.4, "markersize": 7},
        {"label": "Pieces join", "marker": "o", "markeredgecolor": _SPLICE, "markersize": 6,
         **hollow},
    ]  # fmt: skip
    room = min(width_cm / INCH / n_columns, _HIGHEST)
    figure, axes = grid(
        [f"{label(kind)}, step {example['step']:,}" for kind, example in examples.items()],
        n_columns,
        room * (1.0 if cell_size is not None else 0.7) + 0.2,
        width_cm=width_cm,
        legend=marks,
        legend_columns=6,
        note=_note(examples, learner, cell_size is not None),
    )
    for ax, example in zip(axes, examples.values(), strict=True):
        plot_replay(example, steps, mdp, ax)
    return figure


def _note(examples: dict[str, pd.Series], learner: str, has_walls: bool) -> str:
    """Describe what each panel shows, and which kinds do not occur."""
    parts = [f"{label(learner)}, one run." if learner else "One run."]
    for letter, (kind, example) in zip("ABC", examples.items(), strict=False):
        where = _WHERE.get(str(example["phase"]), str(example["phase"]))
        text = f"{len(example['states'])} states, replayed {where}"
        if kind == "novel_path":
            n = example["n_episodes"]
            several = f"{n} episodes" if n > 1 else "one episode, which crossed its own path"
            text += f", composed of {example['composition_order']} pieces of {several}"
        parts.append(f"{letter}: {text}." if len(examples) > 1 else f"{text[0].upper()}{text[1:]}.")
    parts.append("The coloured lines continue a little beyond the replayed path.")
    missing = [label(kind).lower() for kind in _EXPECTED if kind not in examples]
    if missing:
        parts.append(f"None in this run: {', '.join(missing)}.")
    if has_walls:
        parts.append("Grey: walls; where the edge is dashed, the maze continues.")
    return " ".join(parts)


def _draw_stretches(found: list[Stretch], position: Floats, ax: Axes) -> list[int]:
    """Draw the episodes under a path; return the states drawn."""
    episodes = list(dict.fromkeys(piece.episode for piece in found))
    for k, episode in enumerate(episodes):
        colour = _EPISODE_COLOURS[k % len(_EPISODE_COLOURS)]
        # Episodes that share a path are drawn side by side.
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


def _draw_order(states: NDArray[np.intp], position: Floats, size: Floats, ax: Axes) -> None:
    place = position[states]
    step = np.diff(place, axis=0)
    # Moves to and fro between two states are side by side.
    moves = np.column_stack((states[:-1], states[1:]))
    both_ways = np.isin(moves @ [len(position), 1], moves @ [1, len(position)])
    aside = _ASIDE * both_ways[:, None] * np.column_stack((step[:, 1], -step[:, 0]))
    ax.quiver(
        *(place[:-1] + aside).T,
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
    ax.scatter(place[:, 0], place[:, 1], s=size[states], c=colours, linewidths=0, zorder=4)
    if len(states) <= _NUMBERED:
        for state in dict.fromkeys(states.tolist()):
            turns = np.flatnonzero(states == state)
            ax.annotate(
                ",".join(str(turn + 1) for turn in turns),
                position[state],
                ha="center",
                va="center_baseline",
                color="white" if turns[-1] < 0.75 * len(states) else "black",
                fontsize=SMALL,
                zorder=8,
            )


def _outline(places: Floats, marker: str, size: Floats, colour: str, ax: Axes) -> None:
    ax.scatter(
        places[:, 0],
        places[:, 1],
        marker=marker,
        s=size,
        color="none",
        edgecolors=colour,
        linewidths=1.2,
        zorder=6,
        clip_on=False,
    )


def _order_colours(n: int) -> Floats:
    return mpl.colormaps[_ORDER_COLOURS](np.linspace(0, _LIGHTEST, n))
