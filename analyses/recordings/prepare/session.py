"""A session: a recording prepared for decoding, with place fields and candidate events.

The rates of cells along the track are estimated while the animal runs on it. Cells that hardly fire
there, or fire all the time, carry little information about places and are left out. Candidate
events are those of the file, or are detected; each is divided into time bins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, bins_between, cut_track
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import (
    RIPPLES,
    Criteria,
    Judgement,
    Settings,
    check_criteria,
    check_judgement,
    check_settings,
    judgement_for,
)
from analyses.recordings.prepare.candidate_events import Detected, candidate_events, is_covered
from analyses.recordings.prepare.headings import (
    LEAST_DIFFERENT,
    HeadedFields,
    headed_fields,
    is_run_both_ways,
)
from analyses.recordings.prepare.lap_ends import find_pauses, proposed_ends
from analyses.recordings.prepare.likelihood import count_spikes
from analyses.recordings.prepare.place_fields import (
    DecodingError,
    Running,
    decoding_error,
    recorded_fields,
    run_track,
    running,
    running_bins,
    running_headings,
    seen_in,
)
from analyses.recordings.prepare.recorded_experience import (
    Experienced,
    check_state_size,
    count_experience,
)
from analyses.recordings.prepare.state_space_decoder import Walk, walk_of_states
from analyses.recordings.prepare.travel_events import always_seen, search_travel
from replay.checks import known_arguments, shown
from replay.checks.arrays import Bools, Floats, Ints

_LARGEST_BIN = 2 / 3  # of a state


class Prepared(NamedTuple):
    """What was found, and left out, as a recording was prepared."""

    error: DecodingError | None  # the error of decoding the running animal; None without spikes
    seconds_run: float  # how long the animal runs on the track, in s
    # how much of the track it never ran near, and how much of that is not decoded, in cm
    never_run: float
    left_out: float
    # number of cells whose fields differ between headings; None if the track is not run both ways
    n_headed: int | None
    events: Detected  # where candidate events come from
    n_unobserved: int  # events that were left out, as no cell was observed, or nothing decoded
    n_without_positions: int
    experience: Experienced  # the animal's moves and laps
    # whether ends of laps are proposed, as the track has no dead ends and none were named
    are_ends_proposed: bool = False


class Session(NamedTuple):
    """A recording prepared for decoding."""

    recording: Recording
    settings: Settings
    judgement: Judgement
    track: BinnedTrack
    # (n_cells, n_bins): place fields in Hz; no cells if the recording has no spikes
    rates: Floats
    # the same for each heading; None if they do not differ, or the track is not run both ways
    headings: HeadedFields | None
    cells: Ints  # (n_cells,): the numbers of these cells in the recording
    time_bin: float  # length of a time bin in events, in s
    variance: float  # variance of continuous movement in such a time bin, in cm^2
    events: pd.DataFrame  # `start_time` and `end_time`, in s
    counts: list[Ints]  # (n_time, n_cells) each: spikes of these cells in each event
    # (n_time, n_cells) each: the same of events that are found after exchanges of cells, one search
    # after the other; None if events are not detected in the posterior
    chance_counts: list[Ints] | None
    # the nodes of the track at which the animal often pauses, with the number of pauses
    pauses: dict[str, int]
    prepared: Prepared  # what was found, and left out, before

    @property
    def is_decoded_here(self) -> bool:
        """Whether places come from spikes, and not from another program."""
        return self.recording.posterior is None and self.recording.decoded is None

    @property
    def is_detected_in_spikes(self) -> bool:
        """Whether candidate events are bursts of spikes, and not given, or ripples."""
        recording = self.recording
        is_given = recording.events is not None or recording.field_potential is not None
        return not is_given and self.chance_counts is None

    @property
    def decoded_rates(self) -> Floats:
        """The rates of the states that are decoded, shape (n_cells, n_bins or 2 * n_bins)."""
        return self.rates if self.headings is None else self.headings.rates

    @property
    def travel_rates(self) -> Floats:
        """The rates in both headings and without, shape (n_cells, n_bins or 3 * n_bins)."""
        return self.rates if self.headings is None else self.headings.and_without

    @property
    def has_headings(self) -> bool:
        """Whether decoded paths have a heading."""
        posterior = self.recording.posterior
        if len(self.cells):
            return self.headings is not None
        return posterior is not None and posterior.outward is not None

    @property
    def seen(self) -> Bools:
        """The cells that were observed throughout each event, shape (n_events, n_cells)."""
        return _seen(self.recording, self.cells, self.events)

    def alike(self, rows: NDArray[np.integer]) -> list[tuple[Session, NDArray[np.integer]]]:
        """Group events by the cells that were observed in them.

        Returns, for each group, this session with the counts and rates of these cells alone, and
        the rows of its events: a cell that was not observed in an event is neither active nor
        silent in it, and none that fires in it is exchanged for it.
        """
        seen = self.seen
        if seen.all():
            return [(self, rows)]
        sets, number = np.unique(seen[rows], axis=0, return_inverse=True)
        groups = []
        for each, cells in enumerate(sets):
            headed = self.headings
            if headed is not None:
                headed = HeadedFields(headed.rates[cells], headed.differs[cells])
            only = self._replace(
                rates=self.rates[cells], headings=headed, cells=self.cells[cells],
                counts=[count[:, cells] for count in self.counts],
            )  # fmt: skip
            groups.append((only, rows[number.reshape(-1) == each]))
        return groups

    @property
    def electrode(self) -> Ints:
        """The electrode of each cell, shape (n_cells,); sorted cells have one each."""
        known = self.recording.electrode
        return np.arange(len(self.cells)) if known is None else known[self.cells]

    def walk(self) -> Walk:
        """Compute the transitions of continuous movement between the states that are decoded."""
        return walk_of_states(self.track, self.variance, self.decoded_rates.shape[1])


def settings_for(recording: Recording, **given: Any) -> Settings:
    """Return the default settings for a recording, but for settings and criteria that are given.

    Events that are detected in the field potential are ripples, with ``RIPPLES`` as their criteria;
    None stands for a default.

    Examples
    --------
    >>> settings_for(Recording("mine"), bin_size=4.0, longest=2.0, threshold=None).criteria
    Criteria(threshold=3.0, shortest=0.1, longest=2.0, merged_within=0.05, largest_speed=5.0)
    """
    own = {name: value for name, value in given.items() if value is not None}
    criteria = {name: own.pop(name) for name in Criteria._fields if name in own}
    in_potential = own.get("detected_in", Settings().detected_in) == "activity"
    are_ripples = recording.field_potential is not None and recording.events is None
    usual = RIPPLES if are_ripples and in_potential else Criteria()
    return Settings(criteria=usual._replace(**criteria), **own)


@known_arguments
def prepare(
    recording: Recording, settings: Settings | None = None, judgement: Judgement | None = None
) -> Session:
    """Estimate place fields, and collect or detect candidate events.

    Parameters
    ----------
    recording : Recording
        With a track and positions, and with spikes, a posterior, or decoded places.
    settings : Settings, optional
        The settings of decoding; by default those of `settings_for`.
    judgement : Judgement, optional
        The criteria for replay, which are checked; by default those on a track or in an arena.

    Returns
    -------
    Session
        The prepared recording.

    Raises
    ------
    ValueError
        If the recording has nothing to decode, no event, no running, or fewer than two cells with a
        place field; or if a criterion does not suit it.
    """
    if not isinstance(recording, Recording):
        raise TypeError(
            f"recording must be a Recording, as read_recording(path) returns it; got "
            f"{shown(recording)}."
        )
    # All is checked before the first step, as the last one may follow after minutes.
    settings = settings_for(recording) if settings is None else settings
    judgement = judgement_for(recording.graph) if judgement is None else judgement
    track = _checked_track(recording, settings, judgement)

    # The track: of what the animal never ran near, nothing is decoded here.
    is_decoded_here = recording.posterior is None and recording.decoded is None
    moved = running(recording)
    place = running_bins(moved, track, settings.least_speed)
    never_run, left_out = 0.0, 0.0
    if recording.spikes and not track.is_arena and (place >= 0).any():
        run, never_run = run_track(place, track, 2 * settings.smoothing)
        if is_decoded_here:
            left_out = float(track.width.sum() - run.width.sum()) if never_run else 0.0
            track = run
    for nodes in judgement.tracks:  # refuses nodes of a part that was never run
        bins_between(track, nodes)

    # Place fields.
    rates, cells = np.empty((0, track.n_bins)), np.empty(0, dtype=np.int64)
    headings, n_headed, error, seconds_run = None, None, None, 0.0
    is_searched = settings.detected_in == "posterior"
    if recording.spikes:
        rates, cells = recorded_fields(recording, moved, track, settings)
        if is_searched:
            rates, cells = always_seen(recording, rates, cells)
        # The fields of all running decode it too well: others are estimated without each part.
        error = decoding_error(recording, moved, track, settings)
        seconds_run = float((place >= 0).sum() * (moved.time[1] - moved.time[0]))
        headings, n_headed = _headings(recording, moved, track, cells, settings)

    # Candidate events.
    chance_counts = None
    if is_searched:
        travel_rates = rates if headings is None else headings.and_without
        events, chance_counts, how = search_travel(
            recording, moved, cells, travel_rates, track, settings
        )
    else:
        events, how = candidate_events(recording, moved, settings)
    events, counts, n_unobserved, n_without_positions = _decodable(
        recording, cells, events, settings.time_bin
    )

    # What the animal experienced.
    is_still = moved.is_on_track & (moved.speed < settings.least_speed)
    pauses = find_pauses(recording.graph, moved.time, moved.position, is_still)
    on_track = moved.position[moved.is_on_track]
    lap_ends = judgement.lap_ends or proposed_ends(recording.graph, on_track, pauses)
    return Session(
        recording=recording, settings=settings, judgement=judgement._replace(lap_ends=lap_ends),
        track=track, rates=rates, headings=headings, cells=cells, time_bin=settings.time_bin,
        variance=settings.diffusion * settings.time_bin, events=events, counts=counts,
        chance_counts=chance_counts, pauses=pauses,
        prepared=Prepared(
            error=error, seconds_run=seconds_run, never_run=never_run, left_out=left_out,
            n_headed=n_headed, events=how, n_unobserved=n_unobserved,
            n_without_positions=n_without_positions,
            experience=count_experience(recording, judgement.state_size, lap_ends),
            are_ends_proposed=bool(lap_ends) and not judgement.lap_ends,
        ),
    )  # fmt: skip


def _checked_track(recording: Recording, settings: Settings, judgement: Judgement) -> BinnedTrack:
    """Check what a recording is prepared with, and cut its track into bins."""
    check_settings(settings)
    check_criteria(settings.criteria)
    check_judgement(judgement)
    if recording.graph is None:
        raise ValueError(f"{recording.name} has no track graph: give one.")
    if not recording.spikes and recording.posterior is None and recording.decoded is None:
        raise ValueError(
            f"{recording.name} has neither spikes nor decoded positions: name another file, or one "
            "that has them (session)."
        )
    if judgement.tracks and not recording.spikes:
        raise ValueError(f"Track log odds need spikes, and {recording.name} has none.")
    track = cut_track(recording.graph, settings.bin_size)
    check_state_size(judgement.state_size, track)
    # Bins are smaller than states, so that the centre of one is near that of each state, and
    # decoded paths miss none.
    largest, width = _LARGEST_BIN * judgement.state_size, float(track.width.max())
    is_decoded_here = recording.posterior is None and recording.decoded is None
    if is_decoded_here and not track.is_arena and width > largest + 1e-9:
        raise ValueError(
            f"The bins of the track are up to {width:.3g} cm long, and must be at most "
            f"{largest:.3g} cm, two thirds of a state (state_size {judgement.state_size:g}): "
            "otherwise decoded paths miss states. Choose smaller bins (bin_size; on the command "
            "line, --bin-size) or larger states."
        )
    return track


def _seen(recording: Recording, cells: NDArray[np.integer], events: pd.DataFrame) -> Bools:
    """Find the cells that were observed throughout each event, shape (n_events, n_cells)."""
    n_cells, ends = len(recording.spikes), events[["start_time", "end_time"]].to_numpy(dtype=float)
    return recording.observed.throughout(n_cells, *ends.T)[:, cells]


def _decodable(
    recording: Recording, cells: Ints, events: pd.DataFrame, time_bin: float
) -> tuple[pd.DataFrame, list[Ints], int, int]:
    """Leave out events in which no cell was observed, or nothing decoded; count both.

    Also returns the spike counts of cells in each of the others, none without cells.
    """
    n_unobserved = 0
    if recording.posterior is None and recording.decoded is None:
        is_seen = _seen(recording, cells, events).any(axis=1)
        n_unobserved = int((~is_seen).sum())
        if n_unobserved and not is_seen.any():
            raise ValueError(
                f"No cell of {recording.name} was observed throughout one of its {n_unobserved} "
                "events. Are the intervals in which cells were observed in s, on the same clock?"
            )
        events = events.iloc[np.flatnonzero(is_seen)].reset_index(drop=True)
    covered = is_covered(recording, events)
    events = events[covered].reset_index(drop=True)
    counts: list[Ints] = []
    if len(cells):
        spikes = [recording.spikes[cell] for cell in cells]
        counts = count_spikes(spikes, events["start_time"], events["end_time"], time_bin)
    if counts and all(len(each) < 2 for each in counts):
        raise ValueError(
            f"Each of the {len(counts)} candidate events is shorter than two time bins of "
            f"{time_bin:g} s, so none can be decoded: choose a shorter time bin (time_bin; on "
            "the command line, --time-bin), and give the times of events in s."
        )
    return events, counts, n_unobserved, int((~covered).sum())


def _headings(
    recording: Recording, moved: Running, track: BinnedTrack, cells: Ints, settings: Settings
) -> tuple[HeadedFields | None, int | None]:
    """Estimate fields by heading, if the track is run both ways; None if too few cells differ.

    Also returns how many differ.
    """
    if track.is_arena:
        return None, None
    place, ahead = running_bins(moved, track, settings.least_speed), running_headings(moved, track)
    if not is_run_both_ways(place, ahead, track.n_bins):
        return None, None
    seconds = float(moved.time[1] - moved.time[0])
    seen = seen_in(recording, moved.time, seconds).only(cells)
    found = headed_fields(track, place, ahead, moved.counts[:, cells], seconds, settings, seen)
    n_differ = int(found.differs.sum())
    return (found if n_differ >= LEAST_DIFFERENT else None), n_differ
