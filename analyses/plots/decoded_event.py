"""Figures of decoded events: one with all that was measured, and sheets of many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from analyses.plots.decoded_panels import (
    JUNCTION,
    MOVEMENT_LOOKS,
    NODES,
    places_of,
    plot_coordinate,
    plot_movements,
    plot_posterior,
    plot_spikes,
)
from analyses.plots.decoded_path import plot_event_path
from analyses.plots.mdps import bar_length, draw_scale_bar
from analyses.plots.panels import add_legend, add_note, drawing, new_figure
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, INCH, SMALL, Look
from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.prepare.event_evidence import EventEvidence, likely_path
from replay.checks import check_number, check_table

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
    places = places_of(posterior, track)
    n_time = len(places)
    bins = None if path is None else likely_path(path, places)
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
    plot_posterior(places, track, axes["places"], dt=dt, path=bins)
    if track.is_arena:
        plot_coordinate(places, track, axes["places_y"], "y", 1000 * dt, bins)
    bar = figure.colorbar(
        axes["places"].collections[0], ax=axes["places"], aspect=18, pad=0.02, fraction=0.05
    )
    bar.set_label("Probability")
    bar.outline.set_linewidth(0.4)
    looks: list[Look] = []
    if "movements" in axes:
        plot_movements(posterior, axes["movements"], dt=dt)
        looks += MOVEMENT_LOOKS.values()
    for name in measured:
        _draw_trace(table, name, start, axes[name])
    for ax in timed[:-1]:
        ax.set_xlabel("")
        ax.tick_params(labelbottom=False)
    timed[-1].set_xlabel("Time in the event (ms)")
    timed[0].set_xlim(0, 1000 * n_time * dt)
    if any(each.get_label() == JUNCTION["label"] for each in axes["places"].collections):
        looks.append(JUNCTION)
    if bins is not None and "map" in axes:
        animal = table.reindex(columns=["x", "y"]).mean().to_numpy(float)
        # A number that is a place of the axis above must be found on the map.
        named = axes["places"].get_ylabel() == NODES
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
