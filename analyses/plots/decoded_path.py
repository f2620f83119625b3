"""Decoded paths on the track, coloured by time or by the pieces of experience."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from analyses.plots.mdps import bar_length, draw_scale_bar
from analyses.plots.panels import NEW, add_legend, drawing, letter_panels, new_figure
from analyses.plots.style import COLUMN_WIDTH, INCH, SMALL, Look, label, plain
from analyses.recordings.basics.binned_track import BinnedTrack, bins_on_way
from analyses.sequences.experience import Experience, experienced_pieces
from replay.checks import check_array, check_table
from replay.checks.arrays import Floats
from replay.worlds.mdp import MDP

_CORRIDOR, _TIME_COLOURS = "0.9", "viridis"
_PIECE_COLOURS = ("#6a3d9a", "#e69f00", "#44aa77", "#cc79a7", "#663300", "#7f7f7f")
_HIGHEST = 2.4  # inches, of a panel


@drawing
def plot_event_path(
    path: ArrayLike,
    track: BinnedTrack,
    ax: Axes = NEW,
    *,
    animal: ArrayLike | None = None,
    named: bool = False,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the decoded path of an event on the track, coloured by time.

    Parameters
    ----------
    path : array_like of int, shape (n_time,)
        The bin of the decoded path in each time bin, -1 where there is none.
    track : BinnedTrack
        The track and its bins.
    ax : matplotlib.axes.Axes, optional
        Where to draw, in cm; by default a new figure.
    animal : array_like of float, shape (2,), optional
        Where the animal was, drawn as a square.
    named : bool, default False
        Whether to write the names of the track's nodes on them.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`. The path is dark at the beginning of the event, and light at its end.

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = cut_track(make_linear_track(100.0), 5.0)
    >>> len(plot_event_path(np.arange(20), track, animal=[0.0, 0.0]).collections)
    4
    """
    bins = check_array(path, "path", kind="whole", at_least=-1, at_most=track.n_bins - 1)
    moments = np.flatnonzero(bins >= 0)
    if not len(moments):
        raise ValueError("path must have a place in at least one time bin.")
    _draw_track(track, ax)
    one, other = bins[:-1], bins[1:]
    joined = np.flatnonzero((one >= 0) & (other >= 0) & np.isfinite(track.distance[one, other]))
    # A path that skips bins went along the track, not across what is between its corridors.
    steps = [track.position[bins_on_way(track, one[at], other[at])] for at in joined]
    lines = LineCollection(steps, cmap=_TIME_COLOURS, linewidths=1.2, zorder=2)
    lines.set_array(joined)
    lines.set_clim(moments[0], moments[-1])
    ax.add_collection(lines)
    x, y = track.position[bins[moments]].T
    ax.scatter(x, y, c=moments, cmap=_TIME_COLOURS, s=9, linewidths=0, zorder=3)
    if animal is not None:
        _draw_animal(check_array(animal, "animal", kind="number", missing=True), ax)
    # Names stand beside their nodes, away from the middle, so that they do not hide a path.
    look: Look = {"fontsize": SMALL, "ha": "center", "va": "center", "textcoords": "offset points"}
    middle = track.node_position.mean(axis=0)
    for node, place in zip(track.nodes, track.node_position, strict=True) if named else ():
        away = place - middle
        distance = np.hypot(*away)
        away = away / distance if distance > 1 else np.full(2, 0.7)
        ax.annotate(plain(str(node)), tuple(place), tuple(9 * away), **look)
    return ax


@drawing
def plot_decoded_path(
    sequence: pd.Series,
    steps: pd.DataFrame,
    world: MDP,
    track: BinnedTrack,
    ax: Axes = NEW,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw a replayed path on the maze, coloured by the episodes of which it is composed.

    Parameters
    ----------
    sequence : pandas.Series
        A row of `place_sequences`: `states, step, location, kind`.
    steps : pandas.DataFrame
        The animal's moves: `episode, step, state, next_state`.
    world : MDP
        The world whose states these are, with positions.
    track : BinnedTrack
        The track.
    ax : matplotlib.axes.Axes, optional
        Where to draw, in cm; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`. The pieces are labelled for a legend; a ring marks where two pieces join, a square the
        animal, if its place is known.
    """
    check_table(sequence.to_frame().T, ["states", "step", "location", "kind"], "sequence")
    check_table(steps, ["episode", "step", "state", "next_state"], "steps")
    if world.position is None:
        raise ValueError("The world has no positions: make it from the track graph.")
    _draw_track(track, ax)
    states = [int(state) for state in sequence["states"]]
    columns = {name: steps[name].to_numpy() for name in ("episode", "step", "state", "next_state")}
    pieces = experienced_pieces(
        states, Experience(columns), int(sequence["step"]), list(sequence.get("moves", ()))
    )
    place = np.asarray(world.position)[states]
    if not pieces:
        ax.plot(*place.T, color="0.4", linewidth=2, label="Never run")
    for number, piece in enumerate(pieces):
        colour = _PIECE_COLOURS[number % len(_PIECE_COLOURS)]
        own = place[piece.begin : piece.end + 1]
        name = f"Lap {piece.episode + 1}"
        # Of an ambiguous one, this lap is only one of those that may be replayed.
        if sequence["kind"] != "ambiguous":
            name += ", backward" if piece.backward else ", forward"
        ax.plot(*own.T, color=colour, linewidth=2.2, label=name, solid_capstyle="butt", zorder=2)
        # Arrowheads about every 50 cm, and at the end of a piece.
        along = np.append(0.0, np.cumsum(np.hypot(*np.diff(own, axis=0).T)))
        n_arrows = max(round(along[-1] / 50.0), 1)
        for share in np.append((np.arange(n_arrows) + 0.5) / n_arrows, 1.0):
            at = share * along[-1]
            tip, tail = (
                [float(np.interp(where, along, own[:, axis])) for axis in (0, 1)]
                for where in (at, max(at - 4.0, 0.0))
            )
            head = {"arrowstyle": "-|>", "color": colour, "linewidth": 0, "mutation_scale": 12}
            ax.annotate(
                "", xy=(tip[0], tip[1]), xytext=(tail[0], tail[1]), arrowprops=head, zorder=3
            )
    joins = place[[piece.begin for piece in pieces[1:]]].reshape(-1, 2)
    ring: Look = {"facecolors": "white", "edgecolors": "black", "linewidths": 0.9}
    ax.scatter(joins[:, 0], joins[:, 1], s=24, zorder=5, **ring)
    ax.scatter(place[0, 0], place[0, 1], s=18, color="black", linewidths=0, zorder=4)
    if (location := int(sequence["location"])) >= 0:
        _draw_animal(np.asarray(world.position)[location], ax)
    return ax


def _draw_animal(place: Floats, ax: Axes) -> None:
    x, y = place
    ax.scatter(x, y, marker="s", s=46, color="none", edgecolors="black", linewidths=1, zorder=6)


def _draw_track(track: BinnedTrack, ax: Axes) -> None:
    """Draw the corridors of a track to scale, with some room around."""
    corridors = list(track.node_position[track.edges])
    ax.add_collection(
        LineCollection(corridors, colors=_CORRIDOR, linewidths=9, capstyle="round", zorder=0)
    )
    low, high = track.node_position.min(axis=0) - 8, track.node_position.max(axis=0) + 8
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set_axis_off()


@drawing
def decoded_path_figure(
    sequences: pd.DataFrame,
    steps: pd.DataFrame,
    world: MDP,
    track: BinnedTrack,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Figure:
    """Make the figure of decoded paths on the maze: one panel per path.

    Parameters
    ----------
    sequences : pandas.DataFrame
        Rows of `place_sequences`, one for each panel.
    steps, world, track
        As in `plot_decoded_path`.
    width_cm : float, default 8.5
        Width of the figure. A row has two panels, or four if it is wider than a column.
    """
    check_table(sequences, ["states", "step", "location", "kind"], "sequences")
    if not len(sequences):
        raise ValueError("sequences has no row: there is no path to draw.")
    n_columns = min(len(sequences), 2 if width_cm <= COLUMN_WIDTH else 4)
    n_rows = -(-len(sequences) // n_columns)
    extent = np.ptp(track.node_position, axis=0) + 16
    panel = min(width_cm / INCH / n_columns * extent[1] / extent[0], _HIGHEST)
    figure = new_figure(width_cm / INCH, n_rows * (panel + 0.4) + 0.25)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for ax in axes[len(sequences) :]:
        ax.remove()
    for ax, (_, sequence) in zip(axes, sequences.iterrows(), strict=False):
        plot_decoded_path(sequence, steps, world, track, ax)
        ax.set_title(label(str(sequence["kind"])))
        ax.legend(
            loc="upper left", bbox_to_anchor=(0.3, 0), handlelength=1, borderpad=0.1, fontsize=6
        )
    draw_scale_bar(axes[0], bar_length(extent[0]))
    if len(sequences) > 1:
        letter_panels(list(axes[: len(sequences)]))
    n_pieces = max(len(ax.get_legend().get_texts()) for ax in axes[: len(sequences)])
    joins: list[Look] = [
        {"label": "Pieces join", "marker": "o", "color": "white", "markeredgecolor": "black"}
    ]
    looks: list[Look] = [
        {"label": "Begins", "marker": "o", "color": "black", "markersize": 4},
        *(joins if n_pieces > 1 else []),
        {"label": "Animal", "marker": "s", "color": "none", "markeredgecolor": "black"},
    ]
    for look in looks:
        look |= {"linestyle": "none", "markersize": look.get("markersize", 5)}
    add_legend(figure, looks, len(looks))
    return figure
