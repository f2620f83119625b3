"""The plan of the analysis of a recording."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.jobs.cost import BYTES_OF_FIGURES, WorkCost
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import N_SESSIONS, Settings
from analyses.recordings.decide.controls import CONTROLS
from analyses.recordings.decide.scoring import n_blocks
from analyses.recordings.prepare.session import Session, prepare
from analyses.recordings.prepare.travel import travel_evidence, travel_model
from analyses.studies.recorded_replay.predictions import read_predictions
from replay.checks import check_whole

__all__ = ["EVENTS", "RecordingPlan", "cost_of", "describe_choices", "describe_data"]
__all__ += ["plan_recording"]

_SECONDS_OF_SESSION = 0.3


EVENTS = "events"
"""The only group of pieces of one recording: blocks of its events."""


class RecordingPlan(NamedTuple):
    """The plan of the analysis of a recording.

    Attributes
    ----------
    session : Session
        The recording, its place fields, track and candidate events.
    n_sessions : int
        Number of sessions that are simulated to correct shares.
    seed : int
        Seed of the controls and of these sessions.
    predictions : pandas.DataFrame
        Predictions of accounts.
    epochs : mapping of str to ndarray of float64, each of shape (n_intervals, 2)
        The epochs that are compared: begin and end of their intervals, in s.
    """

    session: Session
    n_sessions: int
    seed: int
    predictions: pd.DataFrame
    epochs: Mapping[str, NDArray[np.float64]]

    def describe(self) -> dict[str, Any]:
        """Return the entries of the manifest."""
        return {**describe_data(self), **describe_choices(self)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read and prepared, one sentence each."""
        return (*self.session.recording.notes, *self.session.notes)

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
    epochs: Mapping[str, NDArray[np.float64]] | None = None,
) -> RecordingPlan:
    """Plan the analysis of a recording: estimate place fields, and find candidate events."""
    check_whole("seed", seed)
    check_whole("n_sessions", n_sessions)
    session = prepare(recording, settings, judgement)
    known = read_predictions() if predictions is None else predictions
    return RecordingPlan(session, n_sessions, seed, known, epochs or {})


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
            flat = np.zeros((8, 25, n_states))
            travel_evidence(flat[:1, :2], model)
            start = process_time()
            travel_evidence(flat, model)
            each = (process_time() - start) / (len(flat) * flat.shape[1])
            others = (len(CONTROLS) - 1) * judgement.n_controls
            seconds += 1.2 * each * n_bins * (2 + judgement.n_shuffles + others)
        own = len(session.events) * share
        seconds += 0.02 * own
        seconds_after += _SECONDS_OF_SESSION * plan.n_sessions
        n_events += own
    events = {"events": round(n_events)}
    return WorkCost(events, seconds, BYTES_OF_FIGURES, seconds_after=seconds_after)
