"""A session: a recording prepared for decoding, with place fields and candidate events.

The rates of cells along the track are estimated while the animal runs on it. Cells that hardly fire
there, or fire all the time, carry little information about places and are left out. Candidate
events are those of the file, or are detected; each is divided into time bins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.binned_track import BinnedTrack, cut_track
from analyses.recordings.candidate_events import candidate_events, is_covered
from analyses.recordings.decoding.spike_counts import count_spikes
from analyses.recordings.recorded_fields import decoding_error, recorded_fields
from analyses.recordings.recording import Posterior, Recording
from analyses.recordings.running import running
from analyses.recordings.settings import Settings
from replay.checks import check_number

__all__ = ["Session", "prepare"]


class Session(NamedTuple):
    """A recording prepared for decoding.

    Attributes
    ----------
    track : BinnedTrack
        The track in bins.
    rates : ndarray of float64, shape (n_cells, n_bins)
        Place fields in Hz; no cells if the recording has no spikes.
    cells : ndarray of int64, shape (n_cells,)
        The numbers of these cells in the recording.
    time_bin : float
        Length of a time bin in events, in s.
    variance : float
        Variance of continuous movement in such a time bin, in cm^2.
    events : DataFrame
        `start_time` and `end_time`, in s.
    counts : list of ndarray of int64, each of shape (n_time, n_cells)
        Spikes of these cells in each event.
    posterior : Posterior or None
        A posterior decoded by another program.
    decoded : DataFrame or None
        Places decoded by another program: `event, time, x, y`.
    notes : tuple of str
        The findings so far, one sentence each.
    """

    track: BinnedTrack
    rates: NDArray[np.float64]
    cells: NDArray[np.int64]
    time_bin: float
    variance: float
    events: pd.DataFrame
    counts: list[NDArray[np.int64]]
    posterior: Posterior | None
    decoded: pd.DataFrame | None
    notes: tuple[str, ...]


def prepare(recording: Recording, settings: Settings = Settings()) -> Session:  # noqa: B008
    """Estimate place fields, and collect or detect candidate events.

    Parameters
    ----------
    recording : Recording
        With a track and positions, and with spikes, a posterior, or decoded places.
    settings : Settings, optional
        The settings of decoding.

    Returns
    -------
    Session
        The prepared recording.

    Raises
    ------
    ValueError
        If the recording has nothing to decode, no event, no running, or fewer than two cells with a
        place field.
    """
    if recording.graph is None:
        raise ValueError(f"{recording.name} has no track graph: give one.")
    if not recording.spikes and recording.posterior is None and recording.decoded is None:
        raise ValueError(
            f"{recording.name} has neither spikes nor decoded positions: name another file, or one "
            "that has them (session)."
        )
    time_bin = check_number("time_bin", settings.time_bin, at_least=1e-4, at_most=1.0)
    diffusion = check_number("diffusion", settings.diffusion, at_least=1e-3)
    track = cut_track(recording.graph, settings.bin_size)
    notes = []
    rates, cells = np.empty((0, track.n_bins)), np.empty(0, dtype=np.int64)
    moved = running(recording)
    if recording.spikes:
        rates, cells = recorded_fields(recording, moved, track, settings)
        error = decoding_error(recording, moved, track, settings)
        notes.append(
            f"{len(cells)} of {len(recording.spikes)} cells have place fields on the track: a rate "
            f"of at least {settings.least_peak:g} Hz somewhere, and at most "
            f"{settings.largest_mean:g} Hz on average while the animal runs."
        )
        notes.append(
            f"The median error of decoding the running animal is {error.distance:.0f} cm along the "
            f"track ({error.by_chance:.0f} by chance); each fifth of the time is decoded with the "
            "fields of the rest."
            + (
                " This is hardly better than chance: little can be decoded."
                if error.distance > error.by_chance / 2
                else ""
            )
        )
        if track.n_components > 1:
            notes.append(
                f"The decoded position is on the wrong track {error.wrong_track:.0%} of the time "
                f"({error.wrong_by_chance:.0%} by chance); the error is that of the rest."
            )
    events, how = candidate_events(recording, moved, settings)
    notes.append(how)
    covered = is_covered(recording, events)
    if not covered.all():
        notes.append(f"{(~covered).sum()} of them have no decoded positions and are left out.")
        events = events[covered].reset_index(drop=True)
    counts: list[NDArray[np.int64]] = []
    if len(cells):
        spikes = [recording.spikes[cell] for cell in cells]
        counts = count_spikes(spikes, events["start_time"], events["end_time"], time_bin)
    return Session(
        track,
        rates,
        cells,
        time_bin,
        diffusion * time_bin,
        events,
        counts,
        recording.posterior,
        recording.decoded,
        tuple(notes),
    )
