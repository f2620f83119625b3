"""Decoded events: spikes, the posterior along the track, and what was measured beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from analyses.plots.decoded_path import plot_event_path
from analyses.plots.mdps import bar_length, draw_scale_bar
from analyses.plots.panels import NEW, add_legend, add_note, drawing, new_figure
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, INCH, SMALL, Look, plain
from analyses.recordings.basics.binned_track import BinnedTrack, LinearisedTrack, linearise
from analyses.recordings.prepare.event_evidence import EventEvidence, likely_path
from replay.checks import check_number, check_table
from replay.checks.arrays import Floats, Ints

_POSTERIOR_COLOURS, _PATH_COLOUR = "Greys", "#aa3377"
# In the order of the posterior of the state-space decoder.
_MOVEMENT_LOOKS: dict[str, Look] = {
    "stationary": {"label": "Held", "color": "0.8"},
    "continuous": {"label": "Drifts", "color": "0.35"},
    "fragmented": {"label": "Drawn anew", "color": "#e69f00", "hatch": "/////"},
}
_JUNCTION: Look = {
    "label": "At a junction", "color": _PATH_COLOUR, "linestyle": ":",
}  # fmt: skip
_NEAR = 0.06  # of the axis of places
_FEW_NODES, _LONG_NAME, _NODES = 12, 6, "Place (nodes of the track)"
_GAP_COLOUR = "0.8"
_TRACES = {  # column -> label of its panel
    "multiunit_rate": "All cells\n(kHz)",
    "field_potential": "Field\npotential",
    "speed": "Speed\n(cm/s)",
}
_SLOW = 5.0  # cm/s: the axis of speeds reaches so far at least, so that rest looks like rest
_BEGIN, _END = "#440154", "#fde725"  # the ends of the colours of `plot_event_path`
_ENDS: list[Look] = [
    {"label": "Begin", "color": _BEGIN, "marker": "o", "linestyle": "none"},
    {"label": "End", "color": _END, "marker": "o", "linestyle": "none"},
]
_ANIMAL: Look = {
    "label": "The animal", "color": "black", "marker": "s", "linestyle": "none",
    "markerfacecolor": "none",
}  # fmt: skip
_HIGHEST_MAP = 1.8  # inches
_STRETCH, _N_COLUMNS = "#f6dcc8", 5  # of a sheet of events


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
    places = _places(posterior, track)
    width = 1000 * check_number("dt", dt, at_least=1e-9)
    bins = None if path is None else likely_path(path, places)
    if track.is_arena:
        _plot_coordinate(places, track, ax, "x", width, bins)
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
        ax.set_ylabel(_NODES)
    else:
        ax.set_ylabel("Place along the track (cm)")
    ax.set(xlim=(0, time[-1]), ylim=(0, line.length), xlabel="Time in the event (ms)")
    return ax


def _plot_coordinate(
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


def _places(posterior: ArrayLike, track: BinnedTrack) -> Floats:
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
            label=_JUNCTION["label"],
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
    if values.ndim != 3 or values.shape[1] != len(_MOVEMENT_LOOKS):
        raise ValueError(
            f"The posterior must have the shape (n_time, {len(_MOVEMENT_LOOKS)}, n_bins), got "
            f"{values.shape}."
        )
    check_number("dt", dt, at_least=0)
    share = values.sum(axis=2)
    time = 1000 * dt * np.arange(len(share) + 1)
    below = np.zeros(len(share) + 1)
    for name in ("continuous", "stationary", "fragmented"):
        own = share[:, list(_MOVEMENT_LOOKS).index(name)]
        above = below + np.append(own, own[-1:])
        look = _MOVEMENT_LOOKS[name]
        ax.fill_between(
            time, below, above, step="post", linewidth=0, edgecolor="white",
            facecolor=look["color"], hatch=look.get("hatch"), label=look["label"],
        )  # fmt: skip
        below = above
    ax.set(xlim=(0, time[-1]), ylim=(0, 1), xlabel="Time in the event (ms)", ylabel="Probability")
    ax.set_yticks([0, 1])
    return ax


@drawing
def posterior_figure(
    posterior: ArrayLike,
    track: BinnedTrack,
    *,
    dt: float = 0.005,
    start: float = 0.0,
    spikes: Sequence[ArrayLike] | None = None,
    rates: ArrayLike | None = None,
    path: ArrayLike | None = None,
    traces: pd.DataFrame | None = None,
    title: str = "",
    width_cm: float = COLUMN_WIDTH,
) -> Figure:  # of many parts, each of which a user may have or lack
    """Make the figure of a decoded event, so that it can be checked by eye.

    On one axis of time: spikes, places, kinds of movement and what was measured; below, the decoded
    path on the map.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, n_bins) or (n_time, 3, n_bins)
        The posterior of :func:`analyses.recordings.prepare.state_space_decoder.state_posterior`,
        or of another decoder. Without kinds of movement, their panel is omitted.
    track : BinnedTrack
        The track and its bins.
    dt : float, default 0.005
        Length of a time bin, in s.
    start : float, default 0.0
        Beginning of the event, in s.
    spikes : sequence of array_like of float, optional
        Spike times of each cell, in s; without them, their panel is omitted.
    rates : array_like of float, shape (n_cells, n_bins), optional
        Place fields; required with `spikes`.
    path : array_like of int, shape (n_time,), optional
        The bin of the decoded path in each time bin, -1 where nothing travels; without it, there is
        no map. Where another place is more than ten times as probable it is not drawn, and a note
        says for how long.
    traces : pandas.DataFrame, optional
        What was measured: `time` (s), and any of `multiunit_rate` (Hz), `field_potential`, `speed`
        (cm/s), and the animal's position `x` and `y` (cm), as in ``traces.parquet`` of
        ``replay recording``.
    title : str, default ""
        A title above the figure.

    Raises
    ------
    ValueError
        If shapes disagree, or only one of `spikes` and `rates` is given.

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = cut_track(make_linear_track(100.0), 5.0)
    >>> len(posterior_figure(np.full((30, 3, 20), 1 / 60), track).axes)
    3
    """
    places = _places(posterior, track)
    n_time, bins = len(places), None if path is None else likely_path(path, places)
    check_number("start", start)
    if (spikes is None) != (rates is None):
        raise ValueError("Spikes are sorted by place field: give both spikes and rates, or none.")
    table = pd.DataFrame() if traces is None else check_table(traces, ["time"], "traces")
    measured = [name for name in _TRACES if name in table and table[name].notna().any()]
    heights = {"spikes": 1.1} if spikes is not None else {}
    heights |= {"places": 1.1, "places_y": 1.1} if track.is_arena else {"places": 2.2}
    heights |= {"movements": 0.55} if np.ndim(posterior) == 3 else {}
    heights |= dict.fromkeys(measured, 0.55)
    heights = {name: 0.9 * each for name, each in heights.items()}
    width, height = np.ptp(track.node_position, axis=0) + 16
    if bins is not None and (bins >= 0).any():
        heights["map"] = min(_HIGHEST_MAP, 0.85 * width_cm / INCH * height / width)
    figure = new_figure(width_cm / INCH, 0.45 + sum(heights.values()))
    panels = figure.subplots(len(heights), squeeze=False, height_ratios=list(heights.values()))
    axes: dict[str, Axes] = dict(zip(heights, panels.ravel().tolist(), strict=True))
    timed = [ax for name, ax in axes.items() if name != "map"]
    for ax in timed[1:]:
        ax.sharex(timed[0])
    if spikes is not None and rates is not None:
        plot_spikes(spikes, rates, track, axes["spikes"], start=start, end=start + n_time * dt)
    _draw_places(places, track, figure, axes, dt, bins)
    looks = list(_MOVEMENT_LOOKS.values()) if "movements" in axes else []
    if "movements" in axes:
        plot_movements(posterior, axes["movements"], dt=dt)
    for name in measured:
        _draw_trace(table, name, start, axes[name])
    for ax in timed[:-1]:
        ax.set_xlabel("")
        ax.tick_params(labelbottom=False)
    timed[-1].set_xlabel("Time in the event (ms)")
    timed[0].set_xlim(0, 1000 * n_time * dt)
    if any(each.get_label() == _JUNCTION["label"] for each in axes["places"].collections):
        looks.append(_JUNCTION)
    if bins is not None and "map" in axes:
        animal = table.reindex(columns=["x", "y"]).mean().to_numpy(float)
        # A number that is a place of the axis above must be found on the map.
        named = axes["places"].get_ylabel() == _NODES
        plot_event_path(bins, track, axes["map"], animal=animal, named=named)
        draw_scale_bar(axes["map"], bar_length(float(width)))
        # An animal of unknown place, or far from the track, is not on the map.
        is_shown = axes["map"].viewLim.contains(*animal)
        looks += [*_ENDS, _ANIMAL] if is_shown else _ENDS
    if bins is not None:
        note = "Line and map: the decoded path of travel."
        n_elsewhere = np.count_nonzero((np.asarray(path) >= 0) & (bins < 0))
        if n_elsewhere:
            note += (
                f" It is not drawn for {1000 * dt * n_elsewhere:.0f} ms, in which another place is "
                "more than ten times as probable."
            )
        add_note(figure, note)
    if looks:
        add_legend(figure, looks, 3)
    next(iter(axes.values())).set_title(title)
    figure.align_ylabels(timed)
    return figure


def _draw_trace(traces: pd.DataFrame, name: str, start: float, ax: Axes) -> None:
    """Draw what was measured against the time since `start`."""
    time, values = (traces[column].to_numpy(dtype=float) for column in ("time", name))
    values = values / 1000 if name == "multiunit_rate" else values
    ax.plot(1000 * (time - start), values, color="black", linewidth=0.7)
    ax.set_ylabel(_TRACES[name])
    if name != "field_potential":
        highest = max(np.nanmax(values), _SLOW if name == "speed" else 1e-3)
        ax.set_ylim(-0.06 * highest, highest)  # a speed of 0 does not hide behind the axis


def _draw_places(
    places: Floats,
    track: BinnedTrack,
    figure: Figure,
    axes: dict[str, Axes],
    dt: float,
    bins: Ints | None,
) -> None:
    """Draw the posterior along a track, or of both coordinates of an arena, with its colours."""
    plot_posterior(places, track, axes["places"], dt=dt, path=bins)
    if track.is_arena:
        _plot_coordinate(places, track, axes["places_y"], "y", 1000 * dt, bins)
    bar = figure.colorbar(
        axes["places"].collections[0], ax=axes["places"], aspect=18, pad=0.02, fraction=0.05
    )
    bar.set_label("Probability")
    bar.outline.set_linewidth(0.4)


@drawing
def events_sheet_figure(
    events: Sequence[EventEvidence],
    track: BinnedTrack,
    *,
    rates: ArrayLike,
    dt: float,
    titles: Sequence[str],
    width_cm: float = FULL_WIDTH,
) -> Figure:
    """Make a sheet of events to check by eye: spikes by field, and the posterior of places below.

    Parameters
    ----------
    events : sequence of EventEvidence
        The events, as `analyses.recordings.prepare.event_evidence.Evidence.of` returns them.
    track : BinnedTrack
        The track.
    rates : array_like of float, shape (n_cells, n_bins)
        Place fields.
    dt : float
        Length of a time bin, in s.
    titles : sequence of str
        A title for each event.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. Stretches of travel are shaded above, and their decoded paths are lines below.

    Raises
    ------
    ValueError
        If an event has no posterior.

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from analyses.recordings.prepare.event_evidence import EventEvidence
    >>> from replay.worlds.tracks import make_linear_track
    >>> track, path = cut_track(make_linear_track(100.0), 5.0), np.arange(20, dtype=np.int32)
    >>> spikes, nothing = [np.array([0.05])], pd.DataFrame()
    >>> event = EventEvidence(0.0, 0.1, spikes, np.eye(20), path, nothing)
    >>> sheet = events_sheet_figure([event], track, rates=np.ones((1, 20)), dt=0.005, titles=["0"])
    >>> len(sheet.axes)
    2
    """
    n_rows = -(-len(events) // _N_COLUMNS)
    n_columns = min(len(events), _N_COLUMNS)
    figure = new_figure(width_cm / INCH, 1.75 * n_rows + 0.2)
    axes = figure.subplots(2 * n_rows, n_columns, squeeze=False, height_ratios=[0.7, 1.0] * n_rows)
    for number in range(n_rows * n_columns):
        row, column = divmod(number, n_columns)
        above, below = axes[2 * row, column], axes[2 * row + 1, column]
        if number >= len(events):
            above.set_axis_off()
            below.set_axis_off()
            continue
        event = events[number]
        if event.posterior is None or event.path is None:
            raise ValueError(f"Event {titles[number]} has no posterior: it was not decoded here.")
        end = event.start + len(event.posterior) * dt
        plot_spikes(event.spikes, rates, track, above, start=event.start, end=end)
        plot_posterior(event.posterior, track, below, dt=dt, path=event.path)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], event.path >= 0, [0]])))
        for first, last in edges.reshape(-1, 2) * 1000 * dt:
            above.axvspan(first, last, color=_STRETCH, linewidth=0, zorder=0)
        above.set_title(titles[number], fontsize=SMALL)
        above.tick_params(labelbottom=False)
        above.set_ylabel("" if column else "Cells by field")
        below.set_yticks([])
        below.set_ylabel("" if column else "Place")
        if number + n_columns < len(events):
            below.set_xlabel("")
    add_note(
        figure,
        "Shaded above: stretches of travel. Lines below: their decoded paths, where no other "
        "place is more than ten times as probable.",
    )
    return figure
