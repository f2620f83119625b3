"""A session: what decoding and judging replay need, made of a recording.

The rates of cells along the track come from when the animal ran on it. Cells that hardly fire
there, or fire all the time, say nothing about places and are left out. Candidate events are those
of the file, or are found; each is cut into time bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import ndimage

from analyses.recordings.decoder import log_likelihood, place_fields
from analyses.recordings.events import Criteria, find_events, multiunit_rate, ripple_power
from analyses.recordings.observe import count_spikes
from analyses.recordings.recording import Posterior, Recording
from analyses.recordings.track import Track, cut_track, project
from analyses.recordings.visits import experience, find_visits
from replay.checks import check_choice, check_number
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

__all__ = ["Running", "Session", "Settings", "decoding_error", "experience_of", "prepare"]
__all__ += ["running"]

_LONGEST_GAP = 0.5
_SEED = 0  # of what is to be expected by chance
_DECODED_AT_ONCE = 0.25  # s
_N_PARTS = 5


class Settings(NamedTuple):
    """How a recording is decoded.

    Attributes
    ----------
    bin_size : float
        The largest length of a bin of the track, in cm.
    time_bin : float
        Length of a time bin in events, in s.
    diffusion : float
        Variance of continuous movement in a second, in cm^2; 3,000 as in
        replay_trajectory_classification (6 in 2 ms).
    smoothing : float
        Of place fields, in cm.
    least_speed : float
        The animal runs if it is at least as fast, in cm/s.
    least_peak, largest_mean : float
        Cells count if their rate reaches the former somewhere on the track, and is at most the
        latter on average while the animal runs, in Hz.
    lowest_rate : float
        Of each cell in each place, in Hz: one spike at an unlikely place must not outweigh all
        others. .1 is the background rate in the simulations of Takigawa et al. (2024).
    criteria : Criteria
        What counts as a candidate event, where these are found.
    """

    bin_size: float = 5.0
    time_bin: float = 0.005
    diffusion: float = 3000.0
    smoothing: float = 6.0
    least_speed: float = 5.0
    least_peak: float = 0.5
    largest_mean: float = 10.0
    lowest_rate: float = 0.1
    criteria: Criteria = Criteria()


class Running(NamedTuple):
    """Where an animal was and what its cells did, in time bins of equal length.

    Attributes
    ----------
    time : ndarray of float64, shape (n_time,)
        The centres of the time bins, in s.
    position : ndarray of float64, shape (n_time, 2)
        In cm; NaN where unknown.
    speed : ndarray of float64, shape (n_time,)
        In cm/s; NaN where unknown.
    is_on_track : ndarray of bool, shape (n_time,)
        Whether the animal was on the track.
    counts : ndarray of int32, shape (n_time, n_cells)
        Spikes of each cell.
    """

    time: NDArray[np.float64]
    position: NDArray[np.float64]
    speed: NDArray[np.float64]
    is_on_track: NDArray[np.bool_]
    counts: NDArray[np.int32]


class Session(NamedTuple):
    """What decoding and judging replay need.

    Attributes
    ----------
    track : Track
        The track, cut into bins.
    rates : ndarray of float64, shape (n_cells, n_bins)
        In Hz; no cells if the recording has no spikes.
    cells : ndarray of int64, shape (n_cells,)
        Which cells of the recording these are.
    time_bin : float
        Length of a time bin in events, in s.
    variance : float
        Of continuous movement in such a time bin, in cm^2.
    events : DataFrame
        `start_time` and `end_time`, in s.
    counts : list of ndarray of int64, each of shape (n_time, n_cells)
        Spikes of these cells in each event.
    posterior : Posterior or None
        As another program decoded it.
    decoded : DataFrame or None
        Places as another program decoded them: `event, time, x, y`.
    told : tuple of str
        What was found out so far, a sentence each.
    """

    track: Track
    rates: NDArray[np.float64]
    cells: NDArray[np.int64]
    time_bin: float
    variance: float
    events: pd.DataFrame
    counts: list[NDArray[np.int64]]
    posterior: Posterior | None
    decoded: pd.DataFrame | None
    told: tuple[str, ...]


def running(recording: Recording, time_bin: float = 0.02) -> Running:
    """Bring positions and spikes into time bins of equal length.

    Parameters
    ----------
    recording : Recording
        With positions.
    time_bin : float, default 0.02
        In s.

    Returns
    -------
    Running
        Positions between samples are interpolated, unless the next known one is more than half a
        second away; speed is that of the track smoothed by a Gaussian of .1 s.

    Raises
    ------
    ValueError
        If the positions span less than a time bin.

    Examples
    --------
    >>> recording = Recording("mine", time=np.array([0.0, 0.2, 0.4]),
    ...                       position=np.array([[0, 0], [2, 0], [4, 0]]))
    >>> running(recording, 0.1).position[:, 0].round(3).tolist()
    [0.5, 1.5, 2.5, 3.5]
    """
    seconds = check_number("time_bin", time_bin, at_least=1e-6)
    known = ~np.isnan(recording.position).any(axis=1)
    time, position = recording.time[known], recording.position[known]
    if len(time) < 2 or time[-1] - time[0] < seconds:
        raise ValueError(
            f"Positions of {recording.name} span less than {seconds:g} s: give those of the whole "
            "session, in s."
        )
    n_time = int((time[-1] - time[0]) / seconds + 1e-6)
    edges = time[0] + np.arange(n_time + 1) * seconds
    middle = (edges[1:] + edges[:-1]) / 2
    after = np.clip(np.searchsorted(time, middle), 1, len(time) - 1)
    is_near = time[after] - time[after - 1] <= 2 * _LONGEST_GAP
    xy = np.stack([np.interp(middle, time, position[:, axis]) for axis in range(2)], axis=1)
    smooth = ndimage.gaussian_filter1d(xy, 0.1 / seconds, axis=0)
    speed = np.hypot(*np.gradient(smooth, seconds, axis=0).T) if n_time > 1 else np.zeros(n_time)
    counts = [np.histogram(spikes, edges)[0] for spikes in recording.spikes]
    is_on_track = np.ones(n_time, dtype=bool)
    if len(recording.on_track):
        is_on_track = np.zeros(n_time, dtype=bool)
        for begin, end in recording.on_track:
            is_on_track |= (middle >= begin) & (middle <= end)
    return Running(
        middle,
        np.where(is_near[:, None], xy, np.nan),
        np.where(is_near, speed, np.nan),
        is_on_track,
        np.array(counts, dtype=np.int32).reshape(len(counts), n_time).T,
    )


def prepare(recording: Recording, settings: Settings = Settings()) -> Session:  # noqa: B008
    """Estimate place fields, and find the events.

    Parameters
    ----------
    recording : Recording
        With a track and positions; and with spikes, a posterior, or decoded places.
    settings : Settings, optional
        How.

    Returns
    -------
    Session
        What decoding needs.

    Raises
    ------
    ValueError
        If it has nothing to decode, no event, no running, or no cell with a place field.
    """
    if recording.graph is None:
        raise ValueError(f"{recording.name} has no track graph: give one.")
    if not recording.spikes and recording.posterior is None and recording.decoded is None:
        raise ValueError(
            f"{recording.name} has neither spikes nor anything decoded: name a file that has, or "
            "one to complete it (session)."
        )
    time_bin = check_number("time_bin", settings.time_bin, at_least=1e-4, at_most=1.0)
    diffusion = check_number("diffusion", settings.diffusion, at_least=1e-3)
    track = cut_track(recording.graph, settings.bin_size)
    told = []
    rates, cells = np.empty((0, track.n_bins)), np.empty(0, dtype=np.int64)
    moved = running(recording)
    if recording.spikes:
        rates, cells = _fields(recording, moved, track, settings)
        error, by_chance = decoding_error(recording, moved, track, settings)
        told.append(
            f"{len(cells)} of {len(recording.spikes)} cells have place fields on the track: a rate "
            f"of at least {settings.least_peak:g} Hz somewhere, and at most "
            f"{settings.largest_mean:g} Hz on average while the animal runs."
        )
        told.append(
            f"The decoded place of the running animal is {error:.0f} cm off (median along the "
            f"track; {by_chance:.0f} by chance), a fifth of the time with the fields of the rest."
            + (
                " That is hardly better than chance: little can be decoded."
                if error > by_chance / 2
                else ""
            )
        )
    events, how = _events(recording, moved, settings)
    told.append(how)
    covered = _covered(recording, events)
    if not covered.all():
        told.append(f"{(~covered).sum()} of them lie outside of what was decoded and are left out.")
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
        tuple(told),
    )


def _fields(
    recording: Recording, moved: Running, track: Track, settings: Settings
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    place = _place(moved, track, settings.least_speed)
    runs = place >= 0
    if not runs.any():
        raise ValueError(
            f"The animal of {recording.name} never runs at {settings.least_speed:g} cm/s or more "
            "on the track, so no place field can be estimated. Are positions in cm and times in s?"
        )
    seconds = float(moved.time[1] - moved.time[0])
    rates = place_fields(
        track, place, moved.counts, seconds,
        smoothing=settings.smoothing, lowest_rate=settings.lowest_rate,
    )  # fmt: skip
    mean = moved.counts[runs].mean(axis=0) / seconds
    cells = np.flatnonzero(
        (rates.max(axis=1) >= settings.least_peak) & (mean <= settings.largest_mean)
    )
    if len(cells) < 2:
        raise ValueError(
            f"{len(cells)} of {len(recording.spikes)} cells of {recording.name} have a place field "
            f"(a rate of at least {settings.least_peak:g} Hz somewhere on the track, at most "
            f"{settings.largest_mean:g} Hz on average): too few to decode. Are spike times and "
            "positions on one clock?"
        )
    return rates[cells], cells


def _place(moved: Running, track: Track, least_speed: float) -> NDArray[np.int32]:
    """Give the bin in which the animal ran; -1 where it didn't, or wasn't on the track."""
    found = project(track, moved.position)
    runs = moved.is_on_track & (moved.speed >= least_speed) & (found.away <= 30.0)
    return np.where(runs, found.bin, -1).astype(np.int32)


def _events(recording: Recording, moved: Running, settings: Settings) -> tuple[pd.DataFrame, str]:
    """Take the events of the file, or find them."""
    if recording.events is not None:
        if not len(recording.events):
            raise ValueError(f"The table of events of {recording.name} is empty: give events.")
        events = recording.events[["start_time", "end_time"]].reset_index(drop=True)
        return events, f"{len(events)} candidate events were given."
    if recording.field_potential is not None:
        what = "the power in the ripple band"
        start, hertz, signal = recording.field_potential
        time, height = start + np.arange(len(signal)) / hertz, ripple_power(signal, hertz)
    elif recording.spikes:
        what = "the rate of all cells"
        spikes = np.concatenate(recording.spikes)
        time, height = multiunit_rate(recording.spikes, float(spikes.min()), float(spikes.max()))
    elif recording.posterior is not None:
        return _stretches(recording.posterior, recording.name)
    else:
        raise ValueError(f"{recording.name} has nothing in which events can be found: give events.")
    known = ~np.isnan(moved.speed)
    speed = np.interp(time, moved.time[known], moved.speed[known], left=np.nan, right=np.nan)
    criteria = settings.criteria
    events = find_events(time, height, speed, criteria)
    if not len(events):
        raise ValueError(
            f"{recording.name} has no candidate event: {what} never exceeds "
            f"{criteria.threshold:g} standard deviations for {criteria.shortest:g} to "
            f"{criteria.longest:g} s while the animal is slow. Lower the threshold, or give events."
        )
    how = (
        f"{len(events)} candidate events were found where {what} reaches "
        f"{criteria.threshold:g} standard deviations above its mean, {criteria.shortest:g} to "
        f"{criteria.longest:g} s long, while the animal is slower than "
        f"{criteria.largest_speed:g} cm/s."
    )
    return events, how


def _covered(recording: Recording, events: pd.DataFrame) -> NDArray[np.bool_]:
    """Tell in which events anything was decoded, if others decoded it."""
    if recording.decoded is not None:
        time = np.sort(recording.decoded["time"].to_numpy(dtype=float))
    elif recording.posterior is not None:
        time = recording.posterior.time[~np.isnan(recording.posterior.probability).any(axis=1)]
    else:
        return np.ones(len(events), dtype=bool)
    first = np.searchsorted(time, events["start_time"], side="left")
    last = np.searchsorted(time, events["end_time"], side="right")
    if not (last > first).any():
        raise ValueError(
            f"Nothing of what was decoded in {recording.name} lies within one of its "
            f"{len(events)} events. Are both in s on one clock?"
        )
    return np.asarray(last > first)


def _stretches(posterior: Posterior, name: str) -> tuple[pd.DataFrame, str]:
    """Take stretches of a posterior without a gap for events, if it was decoded event by event."""
    known = posterior.time[~np.isnan(posterior.probability).any(axis=1)]
    width = float(np.median(np.diff(known))) if len(known) > 1 else 0.0
    begins = np.flatnonzero(np.diff(known, prepend=-np.inf) > 3 * width)
    ends = np.append(begins[1:], len(known)) - 1
    events = pd.DataFrame({"start_time": known[begins], "end_time": known[ends] + width})
    longest = float((events["end_time"] - events["start_time"]).median())
    if longest > 2.0:
        raise ValueError(
            f"The posterior of {name} goes on for {longest:.0f} s at a time, so it doesn't tell "
            "which part is an event: give a table of candidate events."
        )
    return events, f"{len(events)} candidate events: what was decoded without a gap."


def experience_of(
    recording: Recording, state_size: float, lap_ends: Sequence[str] = ()
) -> tuple[MDP, EventLog]:
    """Turn what the animal ran into moves between states.

    Parameters
    ----------
    recording : Recording
        With a track and positions.
    state_size : float
        The largest distance of two neighbouring states, in cm.
    lap_ends : sequence of str, optional
        The names of nodes of the track at which laps end; without them, its dead ends. A track
        that has none is one lap as long as the animal is on it.

    Returns
    -------
    world : MDP
        The track as a world.
    log : EventLog
        The moves, lap by lap; a lap is cut off where the animal leaves the track.

    Raises
    ------
    ValueError
        If the animal never moved from one state to another, or there is no such node.
    """
    nodes = [str(node) for node in recording.graph or ()]
    for name in lap_ends:
        check_choice("node of the track", name, nodes)
    ends = [nodes.index(name) for name in lap_ends] or None  # nodes are the first states
    world = MDP.from_networkx(recording.graph, bin_size=state_size)
    epochs = recording.on_track
    if not len(epochs):
        epochs = np.array([[recording.time[0], recording.time[-1]]])
    parts = []
    for begin, end in epochs:
        own = (recording.time >= begin) & (recording.time <= end)
        if not own.any():
            continue
        visits = find_visits(
            recording.time[own], recording.position[own], recording.graph, world, most_unknown=1.0
        )
        steps = experience(visits, world, ends=ends).columns("steps")
        names = ("state", "next_state", "time", "action", "terminated", "truncated")
        part = {name: np.array(steps[name]) for name in names}
        if len(part["state"]):
            part["truncated"][-1] = not part["terminated"][-1]
            parts.append(part)
    if not parts:
        raise ValueError(
            f"The animal of {recording.name} never moved from one state of the track to another. "
            "Are positions and graph in cm on the same axes?"
        )
    steps = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return world, EventLog({"steps": steps}, mdp=world)


def decoding_error(
    recording: Recording, moved: Running, track: Track, settings: Settings
) -> tuple[float, float]:
    """Measure how far from the running animal its decoded place is, and how far by chance.

    Each fifth of the time is decoded, a quarter of a second at a time, with place fields of the
    rest.

    Parameters
    ----------
    recording : Recording
        With spikes.
    moved : Running
        Its time bins.
    track : Track
        The track.
    settings : Settings
        How place fields are estimated.

    Returns
    -------
    error : float
        The median distance along the track, in cm.
    by_chance : float
        The median distance to where the animal was at another moment.
    """
    _, cells = _fields(recording, moved, track, settings)
    place = _place(moved, track, settings.least_speed)
    fine = float(moved.time[1] - moved.time[0])
    n_fine = max(round(_DECODED_AT_ONCE / fine), 1)
    n_coarse = len(place) // n_fine
    counts = moved.counts[: n_coarse * n_fine, cells].reshape(n_coarse, n_fine, -1).sum(axis=1)
    own = place[n_fine // 2 : n_coarse * n_fine : n_fine]
    part = np.arange(n_coarse) * _N_PARTS // max(n_coarse, 1)
    errors = [np.empty(0)]
    for held in range(_N_PARTS):
        known = np.where(part == held, -1, own)
        tested = (part == held) & (own >= 0) & (counts.sum(axis=1) > 0)
        if tested.any() and (known >= 0).any():
            rates = place_fields(
                track, known, counts, n_fine * fine,
                smoothing=settings.smoothing, lowest_rate=settings.lowest_rate,
            )  # fmt: skip
            likelihoods = log_likelihood(counts[tested], rates, n_fine * fine)
            errors.append(track.distance[likelihoods.argmax(axis=1), own[tested]])
    ran = own[own >= 0]
    # Laps repeat themselves, so a fixed shift in time may lead to the same place.
    other = np.random.default_rng(_SEED).permutation(ran)
    by_chance = track.distance[ran, other]
    each = np.concatenate(errors)
    nan = float("nan")
    return (
        float(np.median(each)) if len(each) else nan,
        float(np.median(by_chance)) if len(ran) else nan,
    )
