"""Replay in recordings: of one animal, or of several animals of one experiment."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.jobs import BYTES_OF_FIGURES, WorkCost
from analyses.jobs.results import Results
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import (
    FIND,
    FIND_DECODED,
    N_SESSIONS,
    Files,
    Judgement,
    Settings,
    check_judgement,
)
from analyses.recordings.decide.controls import CONTROLS
from analyses.recordings.decide.scoring import Scored, n_blocks
from analyses.recordings.prepare.session import Session, prepare
from analyses.recordings.prepare.travel import travel_evidence
from analyses.recordings.prepare.travel_model import travel_model
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.remote_files import is_address, name_of
from analyses.recordings.readers.track_graphs import find_tracks
from analyses.reports.preparation import session_notes
from analyses.studies.recorded_replay.statistics import read_predictions
from replay.checks import check_all, check_whole, shown
from replay.checks.arrays import Floats
from replay.files import safe_name

_SECONDS_OF_SESSION = 5.5  # to simulate it and to find its replay, twice
_SECONDS_OF_EVENT = 0.02  # beside the evidence for travel
_BESIDE_EVIDENCE = 1.2  # the cost of decoding, in that of the evidence for travel
_SAMPLE = 8, 25  # events, and time bins of each, whose evidence is timed

EVENTS = "events"
"""The only group of pieces of one recording: blocks of its events."""


class RecordingPlan(NamedTuple):
    """The plan of the analysis of a recording."""

    session: Session  # the recording, its place fields, track and candidate events
    n_sessions: int  # number of sessions that are simulated to correct shares
    seed: int  # seed of the controls and of these sessions
    predictions: pd.DataFrame  # of accounts
    # The epochs that are compared: begin and end of their intervals, in s; shape (n_intervals, 2).
    epochs: Mapping[str, Floats]
    scored: Sequence[Scored] = ()  # all blocks of events, if they were tested before

    def describe(self) -> dict[str, Any]:
        """Return the entries of the manifest."""
        return {**describe_data(self), **describe_choices(self)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read and prepared, one sentence each."""
        return (*self.session.recording.notes, *session_notes(self.session))

    @property
    def animals(self) -> dict[str, RecordingPlan]:
        """The only animal, by the name of its pieces."""
        return {EVENTS: self}

    def n_pieces(self) -> dict[str, int]:
        """Return the number of blocks of events."""
        return {EVENTS: n_blocks(self.session)}


def plan_recording(
    recording: Recording,
    settings: Settings | None = None,
    judgement: Judgement | None = None,
    seed: int = 0,
    *,
    n_sessions: int = N_SESSIONS,
    predictions: pd.DataFrame | None = None,
    epochs: Mapping[str, Floats] | None = None,
) -> RecordingPlan:
    """Plan the analysis of a recording: estimate place fields, and find candidate events."""
    check_whole("seed", seed)
    check_whole("n_sessions", n_sessions)
    session = prepare(recording, settings, judgement)
    known = read_predictions() if predictions is None else predictions
    return RecordingPlan(session, n_sessions, seed, known, epochs or {})


class AnimalsPlan(NamedTuple):
    """The animals of an experiment."""

    # Name -> the plan of its recording; all are analysed in the same way.
    animals: dict[str, RecordingPlan]

    def describe(self) -> dict[str, Any]:
        """Return the entries of the manifest."""
        first = next(iter(self.animals.values()))
        data = {name: describe_data(each) for name, each in self.animals.items()}
        return {"animals": data, **describe_choices(first)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read and prepared, one sentence each, animal by animal."""
        return tuple(note for plan in self.animals.values() for note in plan.notes)

    def n_pieces(self) -> dict[str, int]:
        """Return the number of blocks of events of each animal."""
        return {name: n_blocks(each.session) for name, each in self.animals.items()}


def plan_animals(animals: Mapping[str, RecordingPlan]) -> AnimalsPlan:
    """Plan the analysis of several animals of one experiment."""
    if not animals:
        raise ValueError("There is no animal: name one recording or more.")
    for name in animals:
        if safe_name(name) != name:
            raise ValueError(
                "The name of an animal is part of the names of its files, so it must be a file "
                f"name, without slashes and the like; got {shown(name)}."
            )
    (name, first), *others = animals.items()
    digests = {first.session.recording.digest(): name}
    for other, plan in others:
        digest = plan.session.recording.digest()
        if digest in digests:
            raise ValueError(
                f"{digests[digest]} and {other} are the same recording: one animal must not count "
                "twice. Name each recording once."
            )
        digests[digest] = other
        track, own = first.session.track, plan.session.track
        is_same = (
            np.array_equal(track.edges, own.edges)
            and track.node_position.shape == own.node_position.shape
            and np.allclose(track.node_position, own.node_position, rtol=0.0, atol=1e-6)
        )
        if not is_same:
            raise ValueError(
                f"{name} and {other} are on different tracks, so their statistics cannot be "
                "averaged. Give all recordings of one experiment the same track (track)."
            )
        ends = [each.session.judgement.lap_ends for each in (first, plan)]
        if ends[0] != ends[1] and plan.session.prepared.are_ends_proposed:
            raise ValueError(
                f"Laps of {name} seem to end at {', '.join(ends[0])}, and those of {other} at "
                f"{', '.join(ends[1])}, where these animals pause: name the nodes (lap_ends)."
            )
        if describe_choices(plan) != describe_choices(first):
            raise ValueError(f"{name} and {other} must be analysed in the same way.")
    return AnimalsPlan(dict(animals))


def plan_files(
    files: Files,
    out: Path,
    choose: Callable[[Recording], Settings],
    judge: Callable[..., Judgement],
    seed: int,
    *,
    n_sessions: int,
    comparison: Path | None,
) -> RecordingPlan | AnimalsPlan:
    """Plan the analysis of the recordings in some files, of one animal or of several.

    `choose` gives the settings for a recording, as `settings_for` does, `judge` the criteria on a
    track, as `judgement_for` does, and `comparison` is a folder of predictions.
    """
    # What can be refused without reading a recording is refused first.
    n_files = len(files.recordings)
    name = "recording" if n_files == 1 else "recordings"
    Results(out).check_place(name, "replay recording")
    check_judgement(judge(None))
    if files.complements and len(files.complements) != n_files:
        raise ValueError(
            f"--session must be given once for each of the {n_files} recordings, in the same "
            f"order, got {len(files.complements)}."
        )
    if n_files > 1 and files.events is not None and Path(files.events).suffix:
        raise ValueError(
            "One table of events cannot serve several recordings. Store the events in each "
            "file or its --session file, or detect them with --events find."
        )
    named = [name_of(str(each)) if is_address(each) else each for each in files.recordings]
    names = [PurePath(each).stem for each in named]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"Two files are named {twice[0]}, and results are named after the files. Rename "
            "one of them."
        )
    predictions = read_predictions(comparison)

    def plan(number: int) -> RecordingPlan:
        found = read_animal(files, number)
        compared = find_tracks(found.graph, files.tracks)
        return plan_recording(
            found, choose(found), judge(found.graph, tracks=compared), seed,
            n_sessions=n_sessions, predictions=predictions,
            epochs=found.epochs if files.epochs is not None else None,
        )  # fmt: skip

    each = check_all(partial(plan, number) for number in range(n_files))
    plans = dict(zip(map(safe_name, names), each, strict=True))
    [only, *others] = plans.values()
    return plan_animals(plans) if others else only


def read_animal(files: Files, number: int) -> Recording:
    """Read one of the recordings."""
    return read_recording(
        files.recordings[number], files.track, bins=files.bins,
        events=FIND if files.events == FIND_DECODED else files.events,
        session=files.complements[number] if files.complements else None,
        position=files.position, units=files.units, channel=files.channel, epochs=files.epochs,
        most_unknown=files.most_unknown, bin_size=files.bin_size,
    )  # fmt: skip


def describe_data(plan: RecordingPlan) -> dict[str, Any]:
    """Describe the recording of a plan, for the manifest."""
    return {
        "recording": {"name": plan.session.recording.name, **plan.session.recording.origin},
        "data": plan.session.recording.digest(),
        "epochs": {name: each.tolist() for name, each in plan.epochs.items()},
    }


def describe_choices(plan: RecordingPlan) -> dict[str, Any]:
    """Describe how a recording is analysed, for the manifest."""
    predictions = plan.predictions.to_csv(index=False).encode()
    return {
        "settings": _plain(plan.session.settings),
        "judgement": _plain(plan.session.judgement),
        "n_sessions": plan.n_sessions,
        "compared_epochs": [*plan.epochs],
        "seed": plan.seed,
        "predictions": hashlib.sha256(predictions).hexdigest(),
    }


def _plain(values: Settings | Judgement) -> dict[str, Any]:
    """Convert nested named tuples to dictionaries."""
    return {
        name: value._asdict() if hasattr(value, "_asdict") else value
        for name, value in values._asdict().items()
    }


def cost_of(plans: Sequence[tuple[RecordingPlan, int]]) -> WorkCost:
    """Estimate the cost of recordings from the time of one decoding."""
    n_events, seconds, seconds_after = 0.0, 0.0, 0.0
    for plan, n_left in plans:
        session, judgement = plan.session, plan.session.judgement
        share = n_left / n_blocks(session)
        n_bins = sum(map(len, session.counts)) * share
        if session.counts:
            n_states = session.travel_rates.shape[1]
            model = travel_model(session.track, session.time_bin, n_states)
            flat = np.zeros((*_SAMPLE, n_states))
            travel_evidence(flat[:1, :2], model)  # compiles
            start = process_time()
            travel_evidence(flat, model)
            per_bin = _BESIDE_EVIDENCE * (process_time() - start) / np.prod(_SAMPLE)
            others = (len(CONTROLS) - 1) * judgement.n_controls
            seconds += float(per_bin) * n_bins * (2 + judgement.n_shuffles + others)
        seconds += _SECONDS_OF_EVENT * len(session.events) * share
        seconds_after += _SECONDS_OF_SESSION * plan.n_sessions
        n_events += len(session.events) * share
    events = {"events": round(n_events)}
    return WorkCost(events, seconds, BYTES_OF_FIGURES, seconds_after=seconds_after)
