"""The plan of the analysis of a recording."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.jobs.cost import BYTES_OF_FIGURES, WorkCost
from analyses.recordings.decoding.state_space_decoder import state_posterior, walk_transitions
from analyses.recordings.judgement import Judgement, check_judgement, check_state_size
from analyses.recordings.predictions import read_predictions
from analyses.recordings.recorded_experience import describe_experience
from analyses.recordings.recording import Recording
from analyses.recordings.recovery.shares import N_SESSIONS
from analyses.recordings.scoring import n_blocks
from analyses.recordings.session import Session, prepare
from analyses.recordings.settings import Settings
from analyses.recordings.significance.track_log_odds import bins_between
from replay.checks import check_whole

__all__ = ["RecordingPlan", "cost_of", "describe_choices", "describe_data", "plan_recording"]

_SECONDS_OF_SESSION = 0.3


class RecordingPlan(NamedTuple):
    """The plan of the analysis of a recording.

    Attributes
    ----------
    recording : Recording
        The recording.
    session : Session
        Its place fields, track and candidate events.
    settings : Settings
        Parameters of decoding.
    judgement : Judgement
        Criteria for events.
    n_sessions : int
        Number of sessions that are simulated to correct shares.
    seed : int
        Seed of the shuffles and of these sessions.
    predictions : pandas.DataFrame
        Predictions of accounts.
    """

    recording: Recording
    session: Session
    settings: Settings
    judgement: Judgement
    n_sessions: int
    seed: int
    predictions: pd.DataFrame


def plan_recording(
    recording: Recording,
    settings: Settings = Settings(),  # noqa: B008 (immutable)
    judgement: Judgement = Judgement(),  # noqa: B008
    seed: int = 0,
    *,
    n_sessions: int = N_SESSIONS,
    predictions: pd.DataFrame | None = None,
) -> RecordingPlan:
    """Plan the analysis of a recording: estimate place fields, and find candidate events.

    Parameters
    ----------
    recording : Recording
        As `analyses.recordings.readers.read_recording` returns it.
    settings : Settings, optional
        Parameters of decoding.
    judgement : Judgement, optional
        Criteria for events.
    seed : int, default 0
        Seed of the shuffles and of the simulated sessions.
    n_sessions : int, default 20
        Number of sessions that are simulated to correct shares; with 0 none are corrected.
    predictions : DataFrame, optional
        Predictions of accounts, as `analyses.recordings.predictions.read_predictions` returns them;
        by default those that ship with the toolkit.

    Returns
    -------
    RecordingPlan
        The plan.

    Raises
    ------
    ValueError
        As `analyses.recordings.session.prepare`.
    """
    check_judgement(judgement, recording)
    check_whole("seed", seed)
    check_whole("n_sessions", n_sessions)
    session = prepare(recording, settings)
    check_state_size(judgement.state_size, session.track)
    note = describe_experience(recording, judgement.state_size, judgement.lap_ends)
    session = session._replace(notes=(*session.notes, note))
    for nodes in judgement.tracks:
        bins_between(session.track, nodes)  # may refuse
    known = read_predictions() if predictions is None else predictions
    return RecordingPlan(recording, session, settings, judgement, n_sessions, seed, known)


def describe_data(plan: RecordingPlan) -> dict[str, Any]:
    """Describe the recording of a plan, for the manifest.

    Parameters
    ----------
    plan : RecordingPlan
        The plan.

    Returns
    -------
    dict
        Name, origin, and digest.
    """
    return {
        "recording": {"name": plan.recording.name, **plan.recording.origin},
        "data": plan.recording.digest(),
    }


def describe_choices(plan: RecordingPlan) -> dict[str, Any]:
    """Describe how a recording is analysed, for the manifest.

    Parameters
    ----------
    plan : RecordingPlan
        The plan.

    Returns
    -------
    dict
        Settings, judgement, number of simulated sessions, seed, and digest of the predictions.
    """
    predictions = plan.predictions.to_csv(index=False).encode()
    return {
        "settings": _plain(plan.settings),
        "judgement": _plain(plan.judgement),
        "n_sessions": plan.n_sessions,
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
    """Estimate the cost of recordings from the time of one decoding.

    Parameters
    ----------
    plans : sequence of (RecordingPlan, int)
        Each with the number of unfinished blocks of events.

    Returns
    -------
    WorkCost
        The estimate.
    """
    n_events, seconds, seconds_after = 0.0, 0.0, 0.0
    for plan, n_left in plans:
        session, judgement = plan.session, plan.judgement
        share = n_left / n_blocks(session)
        n_bins = sum(map(len, session.counts)) * share
        flat = np.zeros((200, session.track.n_bins))
        walk = walk_transitions(session.track, session.variance)
        state_posterior(flat[:2], walk)
        start = process_time()
        state_posterior(flat, walk)
        each = (process_time() - start) / len(flat)
        n_decodings = 2 * (1 + len(judgement.shuffles) * judgement.n_shuffles)
        own = len(session.events) * share
        # Likelihoods and shuffling take about as long as decoding.
        seconds += 2 * each * n_decodings * n_bins + 0.02 * own
        seconds_after += _SECONDS_OF_SESSION * plan.n_sessions
        n_events += own
    events = {"events": round(n_events)}
    return WorkCost(events, seconds, BYTES_OF_FIGURES, seconds_after=seconds_after)
