"""The evidence for travel in events beside that of controls, and the events to check by eye."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from analyses.plots.decoded_event import plot_posterior, plot_spikes
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH, INCH, SMALL, new_axes, new_figure, styled
from replay.checks import check_number, check_table

if TYPE_CHECKING:
    from analyses.recordings.basics.binned_track import BinnedTrack
    from analyses.recordings.prepare.evidence import EventEvidence

__all__ = ["events_sheet_figure", "plot_recorded_evidence", "recorded_evidence_figure"]

_REPLAY, _STRETCH = "#d55e00", "#f6dcc8"
_N_COLUMNS = 5
_TICKS = (-100, -20, -5, 0, 5, 20, 100, 500)  # nats


@styled
def plot_recorded_evidence(
    events: pd.DataFrame,
    chance: pd.DataFrame,
    least_evidence: float,
    ax: Axes | None = None,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Axes:
    """Draw the evidence for travel of each event above that of each control.

    Parameters
    ----------
    events : pandas.DataFrame
        The table ``events.csv`` of ``replay recording``: `evidence` (nats) and `is_replay`.
    chance : pandas.DataFrame
        The table ``chance.csv``: `control` and `evidence`.
    least_evidence : float
        The least evidence of replay, drawn as a line.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    width_cm : float, default 8.5
        Width of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`. A bar marks what at most .05 of a control reaches; at the right stands the share with
        at least the evidence of replay.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> events = pd.DataFrame({"evidence": [1.0, 9.0], "is_replay": [False, True]})
    >>> chance = pd.DataFrame({"control": "sweeps", "evidence": [0.0, 2.0]})
    >>> ax = plot_recorded_evidence(events, chance, 3.0)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['Events', 'Sweeps']
    """
    own = check_table(events, ["evidence", "is_replay"], "events").dropna(subset="evidence")
    controls = check_table(chance, ["control", "evidence"], "chance").dropna(subset="evidence")
    least = check_number("least_evidence", least_evidence)
    ax = new_axes(width_cm) if ax is None else ax
    names = [str(name) for name in dict.fromkeys(controls["control"])]
    rows = [
        own["evidence"],
        *(controls.loc[controls["control"] == name, "evidence"] for name in names),
    ]
    rng = np.random.default_rng(0)
    for row, values in enumerate(each.to_numpy(dtype=float) for each in rows):
        place = row + rng.uniform(-0.3, 0.3, len(values))
        colours = np.where(own["is_replay"].astype(bool), _REPLAY, "black") if row == 0 else "0.5"
        ax.scatter(values, place, s=4, c=colours, linewidths=0, rasterized=True)
        if row and len(values):
            most = np.quantile(values, 0.95, method="higher")
            ax.plot([most, most], [row - 0.38, row + 0.38], color="black", linewidth=1.2)
        share = np.mean(values >= least) if len(values) else np.nan
        ax.text(1.02, row, f"{share:.1%}", transform=ax.get_yaxis_transform(), va="center")
    ax.axvline(least, color=_REPLAY, linewidth=0.8, zorder=0)
    ax.axhline(0.5, color="0.8", linewidth=0.6, zorder=0)
    ax.set_yticks(range(len(rows)), ["Events", *(n.replace("_", " ").capitalize() for n in names)])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xscale("symlog", linthresh=5.0)
    low, high = ax.get_xlim()
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel("Evidence for travel (nats)")
    return ax


@styled
def recorded_evidence_figure(
    events: pd.DataFrame,
    chance: pd.DataFrame,
    least_evidence: float,
    *,
    width_cm: float = COLUMN_WIDTH,
) -> Figure:
    """Make the figure of the evidence of events and of controls.

    Parameters
    ----------
    events, chance, least_evidence
        As for `plot_recorded_evidence`.
    width_cm : float, default 8.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> events = pd.DataFrame({"evidence": [1.0, 9.0], "is_replay": [False, True]})
    >>> chance = pd.DataFrame({"control": "sweeps", "evidence": [0.0, 2.0]})
    >>> len(recorded_evidence_figure(events, chance, 3.0).axes)
    1
    """
    figure = new_figure(width_cm / INCH, 0.9 * width_cm / INCH)
    plot_recorded_evidence(events, chance, least_evidence, figure.subplots())
    return figure


@styled
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
        The events, as `analyses.recordings.prepare.evidence.Evidence.of` returns them.
    track : BinnedTrack
        The track.
    rates : array_like of float, shape (n_cells, n_bins)
        Place fields.
    dt : float
        Length of a time bin, in s.
    titles : sequence of str
        A title for each event.
    width_cm : float, default 17.5
        Width of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. Stretches of travel are shaded above, and their courses are lines below.

    Raises
    ------
    ValueError
        If an event has no posterior.

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from analyses.recordings.prepare.evidence import EventEvidence
    >>> from replay.worlds.tracks import make_linear_track
    >>> track, path = cut_track(make_linear_track(100.0), 5.0), np.arange(20, dtype=np.int32)
    >>> event = EventEvidence(0.0, 0.1, [[0.05]], np.eye(20), path, pd.DataFrame())
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
    return figure
