"""Events that are found by their travel, in all times at which the animal is not known to be fast.

Be there a burst or not: an event is a stretch in which travel is more probable than not, with some
time before and after it. Such events are found in noise as well, so they cannot be compared with
the same times after an exchange of cells, which were not chosen for their travel: the whole search
is done again after each of some exchanges, and what it finds there tells what is found by chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.basics.marks import exchanged
from analyses.recordings.basics.observed import common
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.candidate_events import Detected
from analyses.recordings.prepare.likelihood import count_spikes, log_likelihood
from analyses.recordings.prepare.place_fields import Running, slow_stretches
from analyses.recordings.prepare.travel import stretches_of, travel_posterior
from analyses.recordings.prepare.travel_model import Travel, travel_model
from replay.checks.arrays import Floats, Ints

N_SEARCHES = 3
"""Number of exchanges of cells after which the search is done again: one differs from another."""

_LEAST, _AROUND = 0.04, 0.06  # s, of travel, and before and after it
_LEAST_ACTIVE = 4  # cells
_PIECE, _CONTEXT = 5.0, 0.5  # s that are decoded at once, and around them
_SEED = 20211004


def exchanged_spikes(spikes: Sequence[Floats], electrode: Ints, number: int) -> list[Floats]:
    """Give the spikes of each cell to another one, and those of an electrode to another one."""
    into = exchanged(electrode, np.random.default_rng([_SEED, number]))
    nothing = np.empty(0)
    return [
        np.sort(
            np.concatenate(
                [nothing, *(spikes[own] for own in np.flatnonzero(into == cell).tolist())]
            )
        )
        for cell in range(len(spikes))
    ]


def travel_events(
    spikes: Sequence[Floats], rates: Floats, model: Travel, quiet: Floats, settings: Settings
) -> pd.DataFrame:
    """Find events in all stretches of quiet time: `start_time, end_time` (s)."""
    dt = settings.time_bin
    found: list[tuple[float, float]] = []
    for begin, end in quiet.tolist():
        for first in np.arange(begin, end - dt / 2, _PIECE).tolist():
            # A piece is decoded with some time around it, as travel may go on across its ends.
            last = min(first + _PIECE, end)
            before = min(round(_CONTEXT / dt), round((first - begin) / dt))
            earliest = first - before * dt
            [counts] = count_spikes(spikes, [earliest], [min(last + _CONTEXT, end)], dt)
            if np.count_nonzero(counts.sum(axis=0)) < _LEAST_ACTIVE:
                continue
            likelihoods = log_likelihood(counts, rates, dt)
            for each in stretches_of(travel_posterior(likelihoods, model), model):
                active = np.count_nonzero(counts[each.first : each.last].sum(axis=0))
                # What begins in another piece is found there.
                own = before <= each.first < before + round((last - first) / dt)
                if own and active >= _LEAST_ACTIVE and (each.last - each.first) * dt >= _LEAST:
                    start = max(earliest + each.first * dt - _AROUND, begin)
                    stop = min(earliest + each.last * dt + _AROUND, end)
                    if found and start < found[-1][1]:
                        start = found.pop()[0]
                    found.append((start, stop))
    return pd.DataFrame(found, columns=["start_time", "end_time"], dtype=float)


def search_travel(
    recording: Recording,
    moved: Running,
    cells: Ints,
    rates: Floats,
    track: BinnedTrack,
    settings: Settings,
) -> tuple[pd.DataFrame, list[Ints], Detected]:
    """Find events in all quiet time; also return the spike counts of those found by chance."""
    if recording.events is not None or not len(cells):
        raise ValueError(
            f"Events of {recording.name} cannot be detected in the posterior: it "
            + ("has a table of events, leave it out (find)." if len(cells) else "has no spikes.")
        )
    criteria, spikes = settings.criteria, [recording.spikes[cell] for cell in cells]
    every = np.concatenate(recording.spikes)
    slow = slow_stretches(moved, criteria.largest_speed, every.min(), every.max())
    quiet = common(slow, recording.observed.any_cell(len(recording.spikes)))
    quiet = quiet[quiet[:, 1] - quiet[:, 0] >= criteria.shortest]
    known = recording.electrode
    electrode = np.arange(len(cells)) if known is None else known[cells]
    model = travel_model(track, settings.time_bin, rates.shape[1])
    events = travel_events(spikes, rates, model, quiet, settings)
    if not len(events):
        raise ValueError(
            f"{recording.name} has no candidate event: while the animal is slow, the decoded "
            "position never travels."
        )
    chance = []
    # What was found by its travel is compared with what the same search finds by chance.
    for number in range(N_SEARCHES):
        other = exchanged_spikes(spikes, electrode, number)
        found = travel_events(other, rates, model, quiet, settings)
        chance += count_spikes(other, found["start_time"], found["end_time"], settings.time_bin)
    minutes = float(np.diff(quiet).sum() / 60)
    how = Detected("posterior", len(events), minutes=minutes, by_chance=len(chance) / N_SEARCHES)
    return events, chance, how


def always_seen(recording: Recording, rates: Floats, cells: Ints) -> tuple[Floats, Ints]:
    """Leave out cells that were not always observed: the search needs the same throughout."""
    _, seen = recording.observed.stretches(len(recording.spikes))
    kept = seen.cells[:, cells].all(axis=0)
    if kept.sum() < 2:
        raise ValueError(
            f"Only {kept.sum()} of the {len(cells)} cells of {recording.name} with a place field "
            "were observed whenever others were, too few to find events in the posterior: choose "
            "units that were (units), or find events in the rate of all cells (find)."
        )
    return rates[kept], cells[kept]
