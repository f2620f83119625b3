"""Replay in recordings: what was decoded, where it runs, and how much of it a recording finds.

The track is drawn as one line: corridor after corridor, each beginning where the one before ends
wherever the track allows it, with a gap where it doesn't.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from analyses.plots.grids import add_legend, letter_panels
from analyses.plots.mdps import draw_scale_bar
from analyses.plots.style import COLUMN_WIDTH, INCH, Look, label, new_axes, new_figure, styled
from analyses.sequences.experience import Experience
from analyses.tables import in_order
from replay.checks import check_array, check_number, check_table
from replay.worlds.mdp import MDP

__all__ = ["LinearTrack", "Read", "decoded_path_figure", "plot_confusion", "plot_decoded_path"]
__all__ += ["linear_track", "plot_movements", "plot_posterior", "plot_shares", "plot_spikes"]
__all__ += ["posterior_figure", "read_pieces", "recovery_figure"]

_GAP = 0.07
_POSTERIOR_COLOURS, _PATH_COLOUR = "Greys", "#d55e00"
# In the order of the posterior of `analyses.recordings.decoder`.
_MOVEMENT_LOOKS: dict[str, Look] = {
    "stationary": {"label": "Stationary", "color": "0.75"},
    "continuous": {"label": "Continuous", "color": "#0072b2"},
    "fragmented": {"label": "Fragmented", "color": "#e69f00"},
}
_CORRIDOR = "0.9"
_PIECE_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_FEW_NODES, _LONG_NAME = 12, 6
_VISIBLE = 0.005
_BARS = (5, 10, 20, 50, 100, 200)
_KIND_NAMES = {
    "forward_episode": "Forward",
    "reverse_episode": "Reverse",
    "novel_path": "Novel",
    "ambiguous": "Ambiguous",
    "unexperienced": "Never run",
    "missed": "Missed",
    "noise": "Noise",
}
_SETTING = ["n_cells", "gain", "speed"]
_SHARE_COLUMNS = [*_SETTING, "true", "found", "corrected", "ci_low", "ci_high"]
_SETTING_LOOKS = (("#0072b2", 0.0), ("#d55e00", 0.2), ("#009e73", -0.2), ("#cc79a7", 0.4))
_BESIDE = 0.09


class Bins(Protocol):
    """What is read of a track: :class:`analyses.recordings.track.Track` has it."""

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """The nodes of the graph."""

    @property
    def node_position(self) -> NDArray[np.float64]:
        """Where they are, in cm, shape (n_nodes, 2)."""

    @property
    def edges(self) -> NDArray[np.int32]:
        """The two nodes of each edge, as places in `nodes`, shape (n_edges, 2)."""

    @property
    def length(self) -> NDArray[np.float64]:
        """The length of each edge, in cm, shape (n_edges,)."""

    @property
    def edge(self) -> NDArray[np.int32]:
        """On which edge each bin lies, shape (n_bins,)."""

    @property
    def offset(self) -> NDArray[np.float64]:
        """How far its centre is from the first node of that edge, in cm, shape (n_bins,)."""

    @property
    def width(self) -> NDArray[np.float64]:
        """How long it is, in cm, shape (n_bins,)."""

    @property
    def distance(self) -> NDArray[np.float64]:
        """The way between the centres of two bins, in cm, shape (n_bins, n_bins)."""

    @property
    def n_bins(self) -> int:
        """Number of bins."""


class LinearTrack(NamedTuple):
    """A track as one line.

    Attributes
    ----------
    low, high : ndarray of float64, shape (n_bins,)
        From where to where each bin of the track is drawn, in cm along the line.
    nodes : tuple of (float, str)
        Where the line passes a node of the graph, and its name.
    length : float
        Of the line with its gaps, in cm.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    nodes: tuple[tuple[float, str], ...]
    length: float

    @property
    def centre(self) -> NDArray[np.float64]:
        """Where the centre of each bin is drawn, in cm."""
        return (self.low + self.high) / 2


def linear_track(track: Bins) -> LinearTrack:
    """Lay the corridors of a track end to end.

    From an end of the track, the line follows corridors that are not drawn yet, straight on where
    it can, until there is none; then it begins again, after a gap.

    Parameters
    ----------
    track : analyses.recordings.track.Track
        The track.

    Returns
    -------
    LinearTrack
        Where each bin and node is drawn.

    Examples
    --------
    >>> from analyses.recordings.track import cut_track
    >>> from replay.worlds.tracks import make_tmaze_track
    >>> line = linear_track(cut_track(make_tmaze_track(), 10.0))
    >>> [name for _, name in line.nodes]
    ['0', '1', '2', '1', '3']
    """
    left = set(range(len(track.edges)))
    low, high = np.empty(track.n_bins), np.empty(track.n_bins)
    nodes: list[tuple[float, str]] = []
    gap, at = _GAP * float(track.length.sum()), 0.0
    while left:
        here = _beginning(track, left)
        at += gap if nodes else 0.0
        nodes.append((at, str(track.nodes[here])))
        heading = np.zeros(2)
        while (edge := _onwards(track, left, here, heading)) is not None:
            left.remove(edge)
            one, other = track.edges[edge]
            bins = np.flatnonzero(track.edge == edge)
            length = float(track.length[edge])
            centre = track.offset[bins] if one == here else length - track.offset[bins]
            low[bins] = at + centre - track.width[bins] / 2
            high[bins] = at + centre + track.width[bins] / 2
            there = int(other if one == here else one)
            heading = track.node_position[there] - track.node_position[here]
            here, at = there, at + length
            nodes.append((at, str(track.nodes[here])))
    return LinearTrack(low, high, tuple(nodes), at)


def _beginning(track: Bins, left: set[int]) -> int:
    """Choose where a line begins: an end of what is left, or where its corridors don't pair up."""
    degree = np.bincount(track.edges[sorted(left)].ravel(), minlength=len(track.nodes))
    for suits in (degree == 1, degree % 2 == 1, degree > 0):
        if suits.any():
            return int(np.flatnonzero(suits)[0])
    raise ValueError("There is no corridor left.")


def _onwards(track: Bins, left: set[int], here: int, heading: NDArray[np.float64]) -> int | None:
    """Choose the corridor that leads on most nearly straight."""
    best, found = -np.inf, None
    for edge in sorted(left):
        if here in track.edges[edge]:
            there = int(track.edges[edge].sum()) - here
            ahead = track.node_position[there] - track.node_position[here]
            straight = float(ahead @ heading) / float(np.hypot(*ahead))
            if straight > best + 1e-9:
                best, found = straight, edge
    return found


@styled
def plot_posterior(
    posterior: ArrayLike,
    track: Bins,
    ax: Axes | None = None,
    *,
    dt: float = 0.005,
    path: ArrayLike | None = None,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the probability of each place over the time of an event.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, n_bins) or (n_time, n_movements, n_bins)
        The probabilities; over kinds of movement they are summed.
    track : analyses.recordings.track.Track
        The track that is cut into these bins.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.
    dt : float, default 0.005
        Length of a time bin, in s.
    path : array_like of int, shape (n_time,), optional
        The bin of the decoded path in each time bin, drawn as a line.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; x is in ms, y in cm along the track.

    Raises
    ------
    ValueError
        If shapes disagree.

    Examples
    --------
    >>> from analyses.recordings.track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> ax = plot_posterior(np.eye(20), cut_track(make_linear_track(100.0), 5.0))
    >>> ax.get_xlim(), ax.get_ylim()
    ((np.float64(0.0), np.float64(100.0)), (np.float64(0.0), np.float64(100.0)))
    """
    places = _places(posterior, track)
    width = 1000 * check_number("dt", dt, at_least=1e-9)
    ax = new_axes(width_cm) if ax is None else ax
    line = linear_track(track)
    order = np.argsort(line.low)
    edges = np.append(0.0, line.high[order])
    shown = np.full((len(places), 2 * track.n_bins), np.nan)
    shown[:, 1::2] = places[:, order]
    both = np.empty(2 * track.n_bins + 1)
    both[0::2], both[1::2] = edges, line.low[order]
    time: NDArray[np.float64] = np.asarray(width * np.arange(len(places) + 1), dtype=np.float64)
    image = ax.pcolormesh(
        time,
        both,
        np.ma.masked_invalid(shown.T),
        cmap=_POSTERIOR_COLOURS,
        vmin=0,
        vmax=max(float(np.quantile(places.max(axis=1), 0.9)), 1e-3),
        rasterized=True,
        linewidth=0,
    )
    image.set_label("posterior")
    if path is not None:
        bins = check_array(path, "path", kind="whole", at_least=0, at_most=track.n_bins - 1)
        if len(bins) != len(places):
            raise ValueError(
                f"path must have one bin for each of the {len(places)} time bins, got {len(bins)}."
            )
        _draw_path(bins, time, line, track, ax)
    _mark_nodes(line, ax)
    ax.set(xlim=(0, time[-1]), ylim=(0, line.length), xlabel="Time in the event (ms)")
    return ax


def _places(posterior: ArrayLike, track: Bins) -> NDArray[np.float64]:
    values = np.asarray(posterior, dtype=float)
    places = values.sum(axis=1) if values.ndim == 3 else values
    if places.ndim != 2 or places.shape[1] != track.n_bins or not len(places):
        raise ValueError(
            f"The posterior must have the shape (n_time, {track.n_bins}) on this track, or "
            f"(n_time, n_movements, {track.n_bins}); got {values.shape}."
        )
    return places


def _draw_path(
    bins: NDArray[np.integer],
    time: NDArray[np.float64],
    line: LinearTrack,
    track: Bins,
    ax: Axes,
) -> None:
    """Draw a path as a line that breaks where the drawing of the track does."""
    middle, place = (time[:-1] + time[1:]) / 2, line.centre[bins]
    drawn = np.abs(np.diff(place))
    apart = np.abs(drawn - track.distance[bins[:-1], bins[1:]]) > 1e-6
    cuts = np.flatnonzero(apart) + 1
    parts = np.split(np.column_stack((middle, place)), cuts)
    ax.add_collection(LineCollection(parts, colors=_PATH_COLOUR, linewidths=0.9, zorder=3))


def _mark_nodes(line: LinearTrack, ax: Axes) -> None:
    """Mark where corridors meet, and name nodes if there are few."""
    places = [place for place, _ in line.nodes]
    for place in places:
        ax.axhline(place, color="0.55", linewidth=0.4, zorder=2)
    names = [name for _, name in line.nodes]
    if len(names) <= _FEW_NODES and max(map(len, names)) <= _LONG_NAME:
        ax.set_yticks(places, names)
        ax.set_ylabel("Place (nodes of the track)")
    else:
        ax.set_ylabel("Place along the track (cm)")


@styled
def plot_spikes(
    spikes: Sequence[ArrayLike],
    rates: ArrayLike,
    track: Bins,
    ax: Axes | None = None,
    *,
    start: float,
    end: float,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the spikes of an event, a row for each cell that fires, sorted by place field.

    Parameters
    ----------
    spikes : sequence of array_like of float
        When each cell fired, in s.
    rates : array_like of float, shape (n_cells, n_bins)
        Place fields, by whose peaks cells are sorted.
    track : analyses.recordings.track.Track
        The track.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.
    start, end : float
        From when to when, in s.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; x is in ms.

    Raises
    ------
    ValueError
        If there is not one field for each cell.

    Examples
    --------
    >>> from analyses.recordings.track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = cut_track(make_linear_track(100.0), 5.0)
    >>> ax = plot_spikes([[0.1], [5.0]], np.eye(20)[[3, 9]], track, start=0.0, end=1.0)
    >>> len(ax.collections[0].get_segments())
    1
    """
    fields = np.asarray(rates, dtype=float)
    if fields.shape != (len(spikes), track.n_bins):
        raise ValueError(
            f"rates must have the shape {(len(spikes), track.n_bins)}, got {fields.shape}."
        )
    ax = new_axes(width_cm) if ax is None else ax
    peak = linear_track(track).centre[fields.argmax(axis=1)]
    times = [np.asarray(each, dtype=float) for each in spikes]
    within = [1000 * (each[(each >= start) & (each < end)] - start) for each in times]
    active = [cell for cell in np.argsort(peak, kind="stable") if len(within[cell])]
    half = max(0.42, 0.025 * len(active))
    ticks = [
        [(moment, row - half), (moment, row + half)]
        for row, cell in enumerate(active)
        for moment in within[cell]
    ]
    ax.add_collection(LineCollection(ticks, colors="black", linewidths=0.8))
    ax.set(xlim=(0, 1000 * (end - start)), ylim=(-1.0, max(len(active), 1)))
    ax.set_yticks([])
    ax.set_ylabel(f"{len(active)} cells\nby field")
    return ax


@styled
def plot_movements(
    posterior: ArrayLike,
    ax: Axes | None = None,
    *,
    dt: float = 0.005,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the probability of each kind of movement over the time of an event.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, 3, n_bins)
        As :func:`analyses.recordings.decoder.decode` gives it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.
    dt : float, default 0.005
        Length of a time bin, in s.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; x is in ms. The kinds are stacked.

    Raises
    ------
    ValueError
        If the posterior has another shape.

    Examples
    --------
    >>> len(plot_movements(np.full((4, 3, 2), 1 / 6)).collections)
    3
    """
    values = np.asarray(posterior, dtype=float)
    if values.ndim != 3 or values.shape[1] != len(_MOVEMENT_LOOKS):
        raise ValueError(
            f"The posterior must have the shape (n_time, {len(_MOVEMENT_LOOKS)}, n_bins), got "
            f"{values.shape}."
        )
    ax = new_axes(width_cm) if ax is None else ax
    share = values.sum(axis=2)
    time = 1000 * dt * np.arange(len(share) + 1)
    below = np.zeros(len(share) + 1)
    for name in ("continuous", "stationary", "fragmented"):
        own = share[:, list(_MOVEMENT_LOOKS).index(name)]
        above = below + np.append(own, own[-1:])
        look = _MOVEMENT_LOOKS[name]
        ax.fill_between(time, below, above, step="post", linewidth=0, **look)
        below = above
    ax.set(xlim=(0, time[-1]), ylim=(0, 1), xlabel="Time in the event (ms)", ylabel="Probability")
    ax.set_yticks([0, 1])
    return ax


@styled
def posterior_figure(
    posterior: ArrayLike,
    track: Bins,
    *,
    dt: float = 0.005,
    start: float = 0.0,
    spikes: Sequence[ArrayLike] | None = None,
    rates: ArrayLike | None = None,
    path: ArrayLike | None = None,
    title: str = "",
    width_cm: float = COLUMN_WIDTH,
) -> Figure:
    """Make the figure of a decoded event: spikes, places, and kinds of movement.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, n_bins) or (n_time, 3, n_bins)
        As :func:`analyses.recordings.decoder.decode` gives it, or of another decoder. Without
        kinds of movement their panel is left out.
    track : analyses.recordings.track.Track
        The track that is cut into these bins.
    dt : float, default 0.005
        Length of a time bin, in s.
    start : float, default 0.0
        When the event begins, in s.
    spikes : sequence of array_like of float, optional
        When each cell fired, in s; without them their panel is left out.
    rates : array_like of float, shape (n_cells, n_bins), optional
        Place fields; needed with spikes.
    path : array_like of int, shape (n_time,), optional
        The bin of the decoded path in each time bin.
    title : str, default ""
        Above the figure.
    width_cm : float, default 8.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If shapes disagree, or spikes come without fields.

    Examples
    --------
    >>> from analyses.recordings.track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = cut_track(make_linear_track(100.0), 5.0)
    >>> len(posterior_figure(np.full((30, 3, 20), 1 / 60), track).axes)
    3
    """
    n_time = len(_places(posterior, track))
    parts = {"places": 2.2}
    if spikes is not None:
        if rates is None:
            raise ValueError("Spikes are sorted by place field: give rates, too.")
        parts = {"spikes": 1.1, **parts}
    if np.ndim(posterior) == 3:
        parts["movements"] = 0.55
    figure = new_figure(width_cm / INCH, 0.45 + 0.9 * sum(parts.values()))
    panels = figure.subplots(
        len(parts), squeeze=False, sharex=True, height_ratios=[*parts.values()]
    )
    axes = dict(zip(parts, panels.ravel().tolist(), strict=True))
    if spikes is not None and rates is not None:
        plot_spikes(spikes, rates, track, axes["spikes"], start=start, end=start + n_time * dt)
    plot_posterior(posterior, track, axes["places"], dt=dt, path=path)
    bar = figure.colorbar(
        axes["places"].collections[0], ax=axes["places"], aspect=18, pad=0.02, fraction=0.05
    )
    bar.set_label("Probability")
    bar.outline.set_linewidth(0.4)
    if "movements" in parts:
        plot_movements(posterior, axes["movements"], dt=dt)
        axes["places"].set_xlabel("")
        add_legend(figure, list(_MOVEMENT_LOOKS.values()), 3)
    if title:
        panels[0, 0].set_title(title)
    figure.align_ylabels(panels)
    return figure


class Read(NamedTuple):
    """A piece of a replayed path, and how it was read.

    Attributes
    ----------
    begin, end : int
        The piece is ``states[begin:end + 1]``.
    episode : int
        The latest episode that holds it.
    backward : bool
        Whether it was run the other way round.
    """

    begin: int
    end: int
    episode: int
    backward: bool


def read_pieces(
    states: Sequence[int], experience: Experience, step: int | None = None
) -> list[Read]:
    """Find the least number of experienced pieces, read in either direction, that make up a path.

    Parameters
    ----------
    states : sequence of int
        The path as it was replayed.
    experience : Experience
        What was run.
    step : int, optional
        The last step that counts; by default all do.

    Returns
    -------
    list of Read
        None if a move was never made, whichever way.

    Examples
    --------
    >>> steps = {"state": [0, 1, 2, 1], "next_state": [1, 2, 1, 3],
    ...          "episode": [0, 0, 1, 1], "step": [0, 1, 2, 3]}
    >>> run = Experience({name: np.array(values) for name, values in steps.items()})
    >>> [(piece.begin, piece.end, piece.backward) for piece in read_pieces([3, 1, 2], run)]
    [(0, 2, True)]
    """
    path = [int(state) for state in states]
    found: list[Read] = []
    begin, last = 0, len(path) - 1
    while begin < last:
        best: Read | None = None
        for end in range(begin + 1, last + 1):
            part = path[begin : end + 1]
            ahead, back = experience.pieces(part, step), experience.pieces(part[::-1], step)
            whole = [(each, way) for each, way in ((ahead, False), (back, True)) if len(each) == 1]
            if not whole:
                break
            (piece,), backward = max(whole, key=lambda each: each[0][0].episode)
            best = Read(begin, end, piece.episode, backward)
        if best is None:
            return []
        found.append(best)
        begin = best.end
    return found


@styled
def plot_decoded_path(
    sequence: pd.Series,
    steps: pd.DataFrame,
    world: MDP,
    track: Bins,
    ax: Axes | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw a replayed path on the maze, coloured by the episodes that it is stitched from.

    Parameters
    ----------
    sequence : pandas.Series
        A row of `place_sequences`: `states, step, location`.
    steps : pandas.DataFrame
        What was run: `episode, step, state, next_state`.
    world : MDP
        The world whose states these are, with positions.
    track : analyses.recordings.track.Track
        The track.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure. Its data are in cm.
    width_cm : float, default 8.5
        Width of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`. The pieces have labels for a legend; a ring marks where two join, a square where the
        animal was.

    Raises
    ------
    ValueError
        If columns are missing, or the world has no positions.
    """
    check_table(sequence.to_frame().T, ["states", "step", "location"], "sequence")
    check_table(steps, ["episode", "step", "state", "next_state"], "steps")
    if world.position is None:
        raise ValueError("The world has no positions: make it of the track graph.")
    ax = new_axes(width_cm) if ax is None else ax
    corridors = track.node_position[track.edges]
    ax.add_collection(
        LineCollection(list(corridors), colors=_CORRIDOR, linewidths=9, capstyle="round", zorder=0)
    )
    states = [int(state) for state in sequence["states"]]
    columns = {name: steps[name].to_numpy() for name in ("episode", "step", "state", "next_state")}
    pieces = read_pieces(states, Experience(columns), int(sequence["step"]))
    place = np.asarray(world.position)[states]
    if not pieces:
        ax.plot(*place.T, color="0.4", linewidth=2, label="Never run")
    for number, piece in enumerate(pieces):
        colour = _PIECE_COLOURS[number % len(_PIECE_COLOURS)]
        own = place[piece.begin : piece.end + 1]
        how = "backward" if piece.backward else "forward"
        name = f"Lap {piece.episode + 1}, {how}"
        ax.plot(*own.T, color=colour, linewidth=2.2, label=name, solid_capstyle="butt", zorder=2)
        _draw_arrows(own, colour, ax)
    joins = place[[piece.begin for piece in pieces[1:]]].reshape(-1, 2)
    ring: Look = {"facecolors": "white", "edgecolors": "black", "linewidths": 0.9}
    ax.scatter(joins[:, 0], joins[:, 1], s=24, zorder=5, **ring)
    ax.scatter(place[0, 0], place[0, 1], s=18, color="black", linewidths=0, zorder=4)
    x, y = np.asarray(world.position)[int(sequence["location"])]
    ax.scatter(x, y, marker="s", s=46, color="none", edgecolors="black", linewidths=1, zorder=6)
    low, high = track.node_position.min(axis=0) - 8, track.node_position.max(axis=0) + 8
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set_axis_off()
    return ax


def _draw_arrows(place: NDArray[np.float64], colour: str, ax: Axes) -> None:
    """Point along a path in the order of its places: about every 50 cm, and at its end."""
    along = np.append(0.0, np.cumsum(np.hypot(*np.diff(place, axis=0).T)))
    n_arrows = max(round(along[-1] / 50.0), 1)
    for share in np.append((np.arange(n_arrows) + 0.5) / n_arrows, 1.0):
        at = share * along[-1]
        tip, tail = (
            [float(np.interp(where, along, place[:, axis])) for axis in (0, 1)]
            for where in (at, max(at - 4.0, 0.0))
        )
        ax.annotate(
            "",
            xy=(tip[0], tip[1]),
            xytext=(tail[0], tail[1]),
            arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 0, "mutation_scale": 12},
            zorder=3,
        )


@styled
def decoded_path_figure(
    sequences: pd.DataFrame,
    steps: pd.DataFrame,
    world: MDP,
    track: Bins,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Figure:
    """Make the figure of decoded paths on the maze: a panel for each.

    Parameters
    ----------
    sequences : pandas.DataFrame
        Rows of `place_sequences`, one for each panel.
    steps : pandas.DataFrame
        What was run: `episode, step, state, next_state`.
    world : MDP
        The world whose states these are, with positions.
    track : analyses.recordings.track.Track
        The track.
    width_cm : float, default 8.5
        Width of the figure. There are two panels in a row, or four if it is wider than a column.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing, or there is no row.
    """
    check_table(sequences, ["states", "step", "location", "direction", "novelty"], "sequences")
    if not len(sequences):
        raise ValueError("sequences has no row: there is no path to draw.")
    n_columns = min(len(sequences), 2 if width_cm <= COLUMN_WIDTH else 4)
    n_rows = -(-len(sequences) // n_columns)
    extent = np.ptp(track.node_position, axis=0) + 16
    width = width_cm / INCH
    panel = width / n_columns * extent[1] / extent[0]
    figure = new_figure(width, n_rows * (panel + 0.4) + 0.25)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for ax in axes[len(sequences) :]:
        ax.remove()
    for ax, (_, sequence) in zip(axes, sequences.iterrows(), strict=False):
        plot_decoded_path(sequence, steps, world, track, ax)
        ax.set_title(_title(sequence))
        ax.legend(
            loc="upper left", bbox_to_anchor=(0.3, 0), handlelength=1, borderpad=0.1, fontsize=6
        )
    draw_scale_bar(axes[0], max(each for each in _BARS if each <= max(extent[0] / 4, _BARS[0])))
    if len(sequences) > 1:
        letter_panels(list(axes[: len(sequences)]))
    looks: list[Look] = [
        {"label": "Begins", "marker": "o", "color": "black", "markersize": 4},
        {"label": "Pieces join", "marker": "o", "color": "white", "markeredgecolor": "black"},
        {"label": "Animal", "marker": "s", "color": "none", "markeredgecolor": "black"},
    ]
    for look in looks:
        look |= {"linestyle": "none", "markersize": look.get("markersize", 5)}
    add_legend(figure, looks, 3)
    return figure


def _title(sequence: pd.Series) -> str:
    novelty = str(sequence["novelty"])
    if novelty == "experienced":
        return f"Experienced, {sequence['direction']}"
    return {"composed": "Composed", "composed_mixed": "Composed, both ways"}.get(
        novelty, "Never run"
    )


@styled
def plot_confusion(
    confusion: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw a confusion matrix: what events of each true kind are found as.

    Parameters
    ----------
    confusion : pandas.DataFrame
        Rows of one setting: `truth, found, probability`.
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
        If columns are missing, or there are several rows for one cell.

    Examples
    --------
    >>> table = pd.DataFrame({"truth": "novel_path", "found": ["novel_path", "missed"],
    ...                       "probability": [0.25, 0.75]})
    >>> [text.get_text() for text in plot_confusion(table).texts]
    ['.25', '.75']
    """
    check_table(confusion, ["truth", "found", "probability"], "confusion")
    if confusion.duplicated(["truth", "found"]).any():
        raise ValueError("A cell of the matrix has several rows: choose one setting.")
    ax = new_axes(width_cm) if ax is None else ax
    truths = in_order(confusion["truth"], _KIND_NAMES)
    seen = confusion.groupby("found")["probability"].max()
    found = [
        kind
        for kind in in_order(confusion["found"], _KIND_NAMES)
        if kind in truths or seen[kind] >= _VISIBLE
    ]
    cells = confusion.set_index(["truth", "found"])["probability"].reindex(
        pd.MultiIndex.from_product([truths, found])
    )
    values = cells.to_numpy(dtype=float).reshape(len(truths), len(found))
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, column in np.ndindex(*values.shape):
        if values[row, column] >= _VISIBLE:
            ax.text(
                column,
                row,
                _share(float(values[row, column])),
                ha="center",
                va="center",
                fontsize=6,
                color="white" if values[row, column] > 0.55 else "black",
            )
    names = [_KIND_NAMES.get(each, label(each)) for each in found]
    ax.set_xticks(range(len(found)), names, rotation=30, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(truths)), [_KIND_NAMES.get(each, label(each)) for each in truths])
    ax.tick_params(length=0)
    ax.set(xlabel="Found as", ylabel="True kind")
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def _share(value: float) -> str:
    return "1" if value > 0.995 else f"{value:.2f}".removeprefix("0")


@styled
def plot_shares(
    shares: pd.DataFrame, ax: Axes | None = None, *, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the share of a kind as it is found and as it is corrected, by the number of cells.

    Parameters
    ----------
    shares : pandas.DataFrame
        Rows of one kind and one true share: `n_cells, gain, speed, true, found, corrected, ci_low,
        ci_high`; `corrected` is NaN where too little is found.
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
        If columns are missing, or there are several true shares.
    """
    check_table(shares, _SHARE_COLUMNS, "shares")
    if len(shares["true"].unique()) != 1:
        raise ValueError("shares must have one true share: choose one.")
    ax = new_axes(width_cm) if ax is None else ax
    ax.axhline(shares["true"].iloc[0], color="0.35", linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    settings = shares[["gain", "speed"]].drop_duplicates().sort_values(["speed", "gain"])
    numbers = sorted(shares["n_cells"].unique())
    for (gain, speed), (colour, aside) in zip(
        settings.iloc[::-1].itertuples(index=False), _SETTING_LOOKS, strict=False
    ):
        own = shares[(shares["gain"] == gain) & (shares["speed"] == speed)].sort_values("n_cells")
        at = np.array([numbers.index(each) for each in own["n_cells"]], dtype=float) + aside
        name = f"Gain {gain:g}, {speed / 100:g} m/s"
        ax.plot(at, own["found"], color=colour, linewidth=0.7, zorder=2)
        dots: Look = {
            "linestyle": "none",
            "marker": "o",
            "markersize": 4,
            "markeredgecolor": colour,
        }
        ax.plot(at, own["found"], color="white", zorder=3, **dots)
        known = own["corrected"].notna().to_numpy()
        at, own = at[known] + _BESIDE, own[known]
        ax.vlines(at, own["ci_low"], own["ci_high"], colors=colour, linewidth=0.9)
        ax.plot(at, own["corrected"], color=colour, label=name, zorder=4, **dots)
    ax.set_xticks(range(len(numbers)), [str(each) for each in numbers])
    ax.set(xlabel="Cells", xlim=(-0.5, len(numbers) - 0.5), ylim=(0, None))
    return ax


@styled
def recovery_figure(
    confusion: pd.DataFrame, shares: pd.DataFrame, *, width_cm: float = COLUMN_WIDTH
) -> Figure:
    """Make the figure of what recordings find of a known replay.

    Parameters
    ----------
    confusion : pandas.DataFrame
        `n_cells, gain, speed, truth, found, probability`, as the study `recovery` gives it.
    shares : pandas.DataFrame
        `n_cells, gain, speed, kind, true, found, corrected, ci_low, ci_high`, as it gives them.
    width_cm : float, default 8.5
        Width of the figure. Matrices and shares are side by side if it is wider than a column.

    Returns
    -------
    matplotlib.figure.Figure
        The figure: confusion matrices at the gain and speed with most numbers of cells, and the
        share of novel paths where it truly is the first of the true shares in the table.

    Raises
    ------
    ValueError
        If columns are missing or a table is empty.
    """
    check_table(confusion, [*_SETTING, "truth", "found", "probability"], "confusion")
    check_table(shares, ["kind", *_SHARE_COLUMNS], "shares")
    if not len(confusion) or not len(shares):
        raise ValueError("confusion and shares must have rows: no recording was simulated.")
    novel = shares[shares["kind"] == "novel_path"]
    novel = novel[novel["true"] == novel["true"].iloc[0]]
    counts = confusion.drop_duplicates(_SETTING).value_counts(["gain", "speed"])
    gain, speed = max(counts.index, key=lambda each: (counts[each], each))
    chosen = confusion[(confusion["gain"] == gain) & (confusion["speed"] == speed)]
    numbers = sorted(chosen["n_cells"].unique())
    is_wide = width_cm > COLUMN_WIDTH
    shown = numbers[: 2 if is_wide else 1] if len(numbers) < 3 else numbers[1 : 3 if is_wide else 2]
    figure = new_figure(width_cm / INCH, 2.25 if is_wide else 4.2)
    axes = (
        figure.subplots(1, len(shown) + 1, width_ratios=[1] * len(shown) + [1.15])
        if is_wide
        else figure.subplots(2, 1)
    )
    for ax, n_cells in zip(axes, shown, strict=False):
        plot_confusion(chosen[chosen["n_cells"] == n_cells], ax)
        ax.set_title(f"{n_cells} cells")
        if ax is not axes[0]:
            ax.set_ylabel("")
            ax.set_yticks([])
    last = axes[-1]
    plot_shares(novel, last)
    last.set(title="Novel paths", ylabel="Share of replay")
    last.legend(loc="lower right", handlelength=1.0, fontsize=6)
    letter_panels(list(axes))
    looks: list[Look] = [
        {"label": "True", "color": "0.35", "linestyle": (0, (4, 2)), "linewidth": 0.9},
        {"label": "Found", "marker": "o", "color": "white", "markeredgecolor": "black"},
        {"label": "Corrected (95 %)", "marker": "o", "color": "black"},
    ]
    for look in looks[1:]:
        look |= {"linestyle": "none", "markersize": 4}
    add_legend(figure, looks, 3)
    return figure
