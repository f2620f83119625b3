"""Shares of kinds, corrected for what this recording misses.

Known paths, like those that were found, are put into quiet times of the recording. What is found of
them gives the confusion matrix by which the shares of the recording are corrected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from analyses.recordings.basics.settings import N_SESSIONS
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.decide.held_out import held_out
from analyses.recordings.prepare.session import Session
from analyses.recordings.recover import similar_paths
from analyses.recordings.recover.unfolding import confusion_matrix, estimate_shares
from analyses.tables import KINDS
from replay.checks import check_column, check_table, check_whole, typed

_UNKNOWN = dict.fromkeys(similar_paths.ONE_WAY, np.nan)
_NEEDED = {
    "events": ("kind", "is_replay", "event", "start_time", "end_time"),
    "stretches": ("event", "stretch", "start_time", "end_time"),
    "sequences": ("kind", "event", "stretch", "distance"),
    "paths": ("event", "stretch", "x", "y"),
}
"""Columns by table; those from `event` on hold numbers."""
_COLUMNS = ["kind", "found", "corrected", "ci_low", "ci_high", "recall"]


class RecordedShares(NamedTuple):
    """Shares of kinds, as found and as corrected."""

    # one row per kind that the animal's laps allow: `kind`, `found` (its share of the replay events
    # with a sequence), `corrected, ci_low, ci_high` (95 %; NaN without a correction) and `recall`
    # (the share of its events that is found and classified correctly)
    table: pd.DataFrame
    note: str  # how shares were corrected, or why they were not


@typed
def recorded_shares(
    session: Session, found: Conclusions, *, n_sessions: int = N_SESSIONS, seed: int = 0
) -> RecordedShares:
    """Correct the shares of kinds in a recording for what it misses.

    Each simulated session has 15 paths of each kind: forward, reverse and novel ones, or, if the
    animal ran everything in both directions, ambiguous and novel ones. They are put into the
    recording's own rest and found as its own events are, detection and tests included.

    Parameters
    ----------
    session : Session
        The recording, as `analyses.recordings.prepare.session.prepare` returns it.
    found : Conclusions
        The replay, as `analyses.recordings.find_replay` returns it.
    n_sessions : int, default 10
        Number of simulated sessions; with 0 nothing is corrected.
    seed : int, default 0
        Seed of the simulated sessions and of the bootstrap.

    Returns
    -------
    RecordedShares
        The shares; or, if recall is too low to correct them, the reason.

    Raises
    ------
    ValueError
        If `n_sessions` or `seed` is not a whole number of at least 0, or a table lacks a column or
        has something else in it.

    Examples
    --------
    >>> from analyses.recordings import find_replay
    >>> from analyses.recordings.basics.settings import Judgement
    >>> from analyses.recordings.prepare.session import prepare
    >>> from analyses.recordings.recover.simulated_recording import simulated_recording
    >>> recording = simulated_recording(12)
    >>> judgement = Judgement(n_shuffles=19, other_sizes=())
    >>> found = find_replay(recording, judgement=judgement)
    >>> session = prepare(recording, judgement=judgement)
    >>> shares = recorded_shares(session, found, n_sessions=1)
    >>> shares.table["kind"].tolist()
    ['reverse_episode', 'forward_episode', 'novel_path']
    """
    number = check_whole("n_sessions", n_sessions)
    paths, bootstrap = np.random.SeedSequence(check_whole("seed", seed)).spawn(2)
    for name, columns in _NEEDED.items():
        table, what = getattr(found, name), f"{name} of found"
        check_table(table, columns, what)
        check_column(table, "event", what, kind="whole")
        for column in columns[columns.index("event") + 1 :]:
            check_column(table, column, what, kind="number", missing=True)
    if not found.events["event"].is_unique:
        raise ValueError("Each row of events of found must have a number of its own in 'event'.")
    counts = found.events["kind"].value_counts().reindex(KINDS, fill_value=0)
    why_not = why_not_simulated(session, found, number)
    if why_not:
        return _not_corrected(counts, why_not)
    try:
        similar = similar_paths.inject_similar(session, found, number, np.random.default_rng(paths))
    except ValueError as error:
        return _not_corrected(counts, f"Replay cannot be simulated: {error}")
    if similar is None:
        return _not_corrected(
            counts,
            "The animal's laps allow too few paths: neither forward, reverse and novel ones nor, "
            "where it ran in both directions, ambiguous and novel ones.",
        )
    recovered, gain = similar
    try:
        shares = estimate_shares(counts, recovered, seed=int(bootstrap.generate_state(1)[0]))
    except ValueError as error:
        matrix = confusion_matrix(recovered)
        recall = {kind: matrix.loc[kind, kind] for kind in matrix.index}
        return _not_corrected(counts, str(error), recall)
    table = shares.rename(columns={"share": "corrected"})[_COLUMNS]
    return RecordedShares(table, _how(number, recovered, gain, session))


def why_not_simulated(session: Session, found: Conclusions, n_sessions: int) -> str:
    """Say why known paths cannot be put into a recording; empty if they can."""
    if not n_sessions:
        return "No session was simulated."
    if not (session.counts and session.is_decoded_here):
        return "Only replay that was decoded here from spikes can be simulated."
    if session.track.is_arena:
        return (
            "Known paths are drawn along the laps of a track, and an arena has neither, so that "
            "what is missed there is not known."
        )
    if not found.events["kind"].isin(KINDS).any():
        return "No replay event has a sequence."
    if not (found.held or held_out(session)).hold:
        return (
            "The fields of running do not hold in events for many cells, so that simulated events "
            "would be found more often than those of the recording."
        )
    return ""


def _how(n_sessions: int, recovered: pd.DataFrame, gain: float, session: Session) -> str:
    criteria = session.settings.criteria
    detected = (
        "detected in the spikes of all cells, in quiet times of this recording, where bursts of "
        f"{criteria.shortest:g} to {criteria.longest:g} s count; replay of other "
        "durations is left out of recall"
        if session.is_detected_in_spikes
        else "at known times, so that replay at times that are not in this table is left out of "
        "recall"
    )
    simulated = f"{n_sessions} simulated session{'s' * (n_sessions != 1)}"
    return (
        "Corrected shares are the true shares that best explain those found, given the confusion "
        f"matrix of {simulated}, each with {similar_paths.N_PATHS} paths of each kind from the "
        "animal's own laps and spikes by the fields of these cells. Simulated events are "
        f"{detected}. They are "
        "tested as those of the recording. Their lengths (median "
        f"{recovered['true_length'].median():.0f} cm), speeds "
        f"({recovered['true_speed'].median() / 100:.1f} m/s) and gain ({gain:.1f} times the rates "
        "of running) are chosen so that what is found of them is like what was found in the "
        "recording, with more of those that are rarely found."
        + ("" if session.seen.all() else " In simulated events, all cells are observed.")
    )


def _not_corrected(
    counts: pd.Series, reason: str, recall: Mapping[str, float] = _UNKNOWN
) -> RecordedShares:
    kinds = list(recall)
    total = counts.sum()
    table = pd.DataFrame(
        {
            "kind": kinds,
            "found": [counts[kind] / total if total else np.nan for kind in kinds],
            "corrected": np.nan,
            "ci_low": np.nan,
            "ci_high": np.nan,
            "recall": [recall[kind] for kind in kinds],
        }
    )
    return RecordedShares(table, f"Shares are not corrected. {reason}")
