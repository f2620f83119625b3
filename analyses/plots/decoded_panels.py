"""Panels of a decoded event: spikes, the posterior along the track, and kinds of movement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike, NDArray

from analyses.plots.panels import NEW, drawing
from analyses.plots.style import COLUMN_WIDTH, Look, plain
from analyses.recordings.basics.binned_track import BinnedTrack, LinearisedTrack, linearise
from analyses.recordings.prepare.event_evidence import likely_path
from replay.checks import check_number
from replay.checks.arrays import Floats, Ints

_POSTERIOR_COLOURS, _PATH_COLOUR = "Greys", "#aa3377"
# In the order of the posterior of the state-space decoder.
MOVEMENT_LOOKS: dict[str, Look] = {
    "stationary": {"label": "Held", "color": "0.8"},
    "continuous": {"label": "Drifts", "color": "0.35"},
    "fragmented": {"label": "Drawn anew", "color": "#e69f00", "hatch": "/////"},
}
JUNCTION: Look = {
    "label": "At a junction", "color": _PATH_COLOUR, "linestyle": ":",
}  # fmt: skip
_NEAR = 0.06  # of the axis of places
_FEW_NODES, _LONG_NAME, NODES = 12, 6, "Place (nodes of the track)"
_GAP_COLOUR = "0.8"


@drawing
def plot_posterior(
    posterior: ArrayLike,
    track: BinnedTrack,
    ax: Axes = NEW,
    *,
    dt: float = 0.005,
    path: ArrayLike | None = None,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the probability of each place during an event.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, n_bins) or (n_time, n_movements, n_bins)
        The probabilities, which are summed over kinds of movement.
    track : BinnedTrack
        The track and its bins.
    dt : float, default 0.005
        Length of a time bin, in s.
    path : array_like of int, shape (n_time,), optional
        The bin of the decoded path in each time bin, drawn as a line; dotted where it passes a
        junction whose corridors are drawn apart; -1 where nothing travels. It is not drawn where
        another place is more than ten times as probable.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; x is in ms, y in cm along the track; in an arena it is the first coordinate. A
        bar separates tracks that are not connected.

    Raises
    ------
    ValueError
        If shapes disagree.

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> ax = plot_posterior(np.eye(20), cut_track(make_linear_track(100.0), 5.0))
    >>> ax.get_xlim(), ax.get_ylim()
    ((np.float64(0.0), np.float64(100.0)), (np.float64(0.0), np.float64(100.0)))
    """
    places = places_of(posterior, track)
    width = 1000 * check_number("dt", dt, at_least=1e-9)
    bins = None if path is None else likely_path(path, places)
    if track.is_arena:
        plot_coordinate(places, track, ax, "x", width, bins)
        return ax
    line = linearise(track)
    order = np.argsort(line.low)
    edges = np.append(0.0, line.high[order])
    # Every second cell lies between two bins; it is blank where corridors are drawn apart.
    shown = np.full((len(places), 2 * track.n_bins), np.nan)
    shown[:, 1::2] = places[:, order]
    both = np.empty(2 * track.n_bins + 1)
    both[0::2], both[1::2] = edges, line.low[order]
    time: Floats = np.asarray(width * np.arange(len(places) + 1), dtype=np.float64)
    # A few sure moments must not make all others pale.
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
    if bins is not None:
        _draw_path(bins, time, line, track, ax)
    # Where corridors meet and where a track ends; nodes are named if there are few.
    for low, high in line.gaps:
        ax.axhspan(low, high, facecolor=_GAP_COLOUR, edgecolor="black", linewidth=0.6, zorder=2.5)
    named: list[tuple[float, list[str]]] = []
    for place, name in sorted(line.nodes):
        ax.axhline(place, color="0.55", linewidth=0.4, zorder=2)
        if not named or place - named[-1][0] > _NEAR * line.length:
            named.append((place, []))
        if plain(name) not in named[-1][1]:  # nodes that are too near for two names share one
            named[-1][1].append(plain(name))
    names = [", ".join(each) for _, each in named]
    if len(names) <= _FEW_NODES and max(map(len, names)) <= _LONG_NAME:
        ax.set_yticks([place for place, _ in named], names)
        ax.set_ylabel(NODES)
    else:
        ax.set_ylabel("Place along the track (cm)")
    ax.set(xlim=(0, time[-1]), ylim=(0, line.length), xlabel="Time in the event (ms)")
    return ax


def plot_coordinate(
    places: Floats, track: BinnedTrack, ax: Axes, name: str, width: float, bins: Ints | None
) -> None:
    """Draw the probability of one coordinate in an arena against time, in bins of `width` ms."""
    place = track.position[:, "xy".index(name)]
    number = np.round((place - place.min()) / track.square).astype(np.int64)
    shown = np.zeros((len(places), number.max() + 1))
    np.add.at(shown.T, number, places.T)
    time = width * np.arange(len(places) + 1)
    edges = place.min() + track.square * (np.arange(number.max() + 2) - 0.5)
    highest = max(float(np.quantile(shown.max(axis=1), 0.9)), 1e-3)
    ax.pcolormesh(
        time, edges, shown.T, cmap=_POSTERIOR_COLOURS, vmin=0, vmax=highest, rasterized=True,
        linewidth=0,
    )  # fmt: skip
    if bins is not None:
        known = np.where(bins >= 0, place[bins], np.nan)
        ax.plot((time[:-1] + time[1:]) / 2, known, color=_PATH_COLOUR, linewidth=0.9)
    ax.set(xlim=(0, time[-1]), ylim=(edges[0], edges[-1]), xlabel="Time in the event (ms)")
    ax.set_ylabel(f"{name} (cm)")


def places_of(posterior: ArrayLike, track: BinnedTrack) -> Floats:
    """Check a posterior, and sum it over kinds of movement: shape (n_time, n_bins)."""
    values = np.asarray(posterior, dtype=float)
    places = values.sum(axis=1) if values.ndim == 3 else values
    if places.ndim != 2 or places.shape[1] != track.n_bins or not len(places):
        raise ValueError(
            f"The posterior must have the shape (n_time, {track.n_bins}) on this track, or "
            f"(n_time, n_movements, {track.n_bins}); got {values.shape}."
        )
    return places


def _draw_path(
    bins: NDArray[np.integer], time: Floats, line: LinearisedTrack, track: BinnedTrack, ax: Axes
) -> None:
    """Draw a path as a line, dotted where it passes a junction whose corridors are drawn apart."""
    known = np.flatnonzero(bins >= 0)
    bins, pauses = bins[known], np.diff(known) > 1
    middle, place = ((time[:-1] + time[1:]) / 2)[known], line.centre[bins]
    drawn = np.abs(np.diff(place))
    apart = np.abs(drawn - track.distance[bins[:-1], bins[1:]]) > 1e-6
    cuts = np.flatnonzero(apart | pauses) + 1
    points = np.column_stack((middle, place))
    parts = np.split(points, cuts)
    ax.add_collection(LineCollection(parts, colors=_PATH_COLOUR, linewidths=0.9, zorder=3))
    farther = drawn[cuts - 1] > track.distance[bins[cuts - 1], bins[cuts]]
    farther &= ~pauses[cuts - 1]
    joined = np.stack([points[cuts - 1], points[cuts]], axis=1)[farther]
    if len(joined):
        dotted = LineCollection(
            joined, colors=_PATH_COLOUR, linestyles=":", linewidths=0.9, zorder=3,
            label=JUNCTION["label"],
        )  # fmt: skip
        ax.add_collection(dotted)


@drawing
def plot_spikes(
    spikes: Sequence[ArrayLike],
    rates: ArrayLike,
    track: BinnedTrack,
    ax: Axes = NEW,
    *,
    start: float,
    end: float,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the spikes of an event, one row per active cell, sorted by place field.

    Parameters
    ----------
    spikes : sequence of array_like of float
        Spike times of each cell, in s.
    rates : array_like of float, shape (n_cells, n_bins)
        Place fields; cells are sorted by their peaks.
    track : BinnedTrack
        The track.
    start, end : float
        Beginning and end of the event, in s.

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
    >>> from analyses.recordings.basics.binned_track import cut_track
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
    check_number("end", end, at_least=check_number("start", start))
    centre = track.position[:, 0] if track.is_arena else linearise(track).centre
    peak = centre[fields.argmax(axis=1)]
    times = [np.asarray(each, dtype=float) for each in spikes]
    within = [1000 * (each[(each >= start) & (each < end)] - start) for each in times]
    active = [cell for cell in np.argsort(peak, kind="stable") if len(within[cell])]
    # With many cells, ticks as high as a row would hardly be seen.
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


@drawing
def plot_movements(
    posterior: ArrayLike, ax: Axes = NEW, *, dt: float = 0.005, width_cm: float = COLUMN_WIDTH
) -> Axes:
    """Draw the probability of each kind of movement during an event.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, 3, n_bins)
        The posterior of :func:`analyses.recordings.prepare.state_space_decoder.state_posterior`.
    dt : float, default 0.005
        Length of a time bin, in s.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`; x is in ms. The kinds are stacked.

    Examples
    --------
    >>> len(plot_movements(np.full((4, 3, 2), 1 / 6)).collections)
    3
    """
    values = np.asarray(posterior, dtype=float)
    if values.ndim != 3 or values.shape[1] != len(MOVEMENT_LOOKS):
        raise ValueError(
            f"The posterior must have the shape (n_time, {len(MOVEMENT_LOOKS)}, n_bins), got "
            f"{values.shape}."
        )
    check_number("dt", dt, at_least=0)
    share = values.sum(axis=2)
    time = 1000 * dt * np.arange(len(share) + 1)
    below = np.zeros(len(share) + 1)
    for name in ("continuous", "stationary", "fragmented"):
        own = share[:, list(MOVEMENT_LOOKS).index(name)]
        above = below + np.append(own, own[-1:])
        look = MOVEMENT_LOOKS[name]
        ax.fill_between(
            time, below, above, step="post", linewidth=0, edgecolor="white",
            facecolor=look["color"], hatch=look.get("hatch"), label=look["label"],
        )  # fmt: skip
        below = above
    ax.set(xlim=(0, time[-1]), ylim=(0, 1), xlabel="Time in the event (ms)", ylabel="Probability")
    ax.set_yticks([0, 1])
    return ax
