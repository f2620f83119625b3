"""Shares of kinds, corrected for what this recording misses.

Simulated cells with the recorded place fields replay paths drawn from the animal's own laps, with
the length, speed and gain of the replay that was found. What is found of them gives the confusion
matrix by which the shares of the recording are corrected (:mod:`analyses.recordings.recovery`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd

from analyses.recordings.binned_track import project
from analyses.recordings.kinds.conclusions import Conclusions
from analyses.recordings.observation.cells import Cells
from analyses.recordings.recovery.confusion import confusion_matrix
from analyses.recordings.recovery.known_paths import known_paths
from analyses.recordings.recovery.recover import recovery
from analyses.recordings.recovery.unfolding import estimate_shares
from analyses.recordings.session import Session
from analyses.recordings.settings import N_SESSIONS
from analyses.sequences.track import graph_of_log
from analyses.tables import KINDS
from replay.checks import check_whole, typed
from replay.log.event_log import EventLog

__all__ = ["RecordedShares", "recorded_shares"]

_N_EACH = 15
_MOST_OF_A_LAP = 0.75  # so that stretches of this length begin at many places
_ONE_WAY = ("reverse_episode", "forward_episode", "novel_path")
_BOTH_WAYS = ("ambiguous", "novel_path")
_NEVER_NOVEL = ("reverse_episode", "forward_episode")
_UNKNOWN = dict.fromkeys(_ONE_WAY, np.nan)
_COLUMNS = ["kind", "found", "corrected", "ci_low", "ci_high", "recall"]


class RecordedShares(NamedTuple):
    """Shares of kinds, as found and as corrected.

    Attributes
    ----------
    table : DataFrame
        One row per kind that the animal's laps allow: `kind`, `found` (its share of the replay
        events with a sequence), `corrected, ci_low, ci_high` (95 %; NaN without a correction) and
        `recall` (the share of its events that is found and classified correctly).
    note : str
        How shares were corrected, or why they were not.
    """

    table: pd.DataFrame
    note: str


class _Replay(NamedTuple):
    """Median length (cm) and speed (cm/s) of replay, and firing rates relative to running."""

    length: float
    speed: float
    gain: float


@typed
def recorded_shares(
    session: Session,
    found: Conclusions,
    *,
    n_sessions: int = N_SESSIONS,
    seed: int = 0,
) -> RecordedShares:
    """Correct the shares of kinds in a recording for what it misses.

    Each simulated session has 15 paths of each kind: forward, reverse and novel ones, or, if the
    animal ran everything in both directions, ambiguous and novel ones. Their events are accepted by
    the score alone, without shuffles, and the decoder knows the gain, so the recall of the
    recording is at most as high.

    Parameters
    ----------
    session : Session
        The recording, as `analyses.recordings.session.prepare` returns it.
    found : Conclusions
        The replay, as `analyses.recordings.find_replay.find_replay` returns it.
    n_sessions : int, default 20
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
        If `n_sessions` or `seed` is not a whole number of at least 0.

    Examples
    --------
    >>> from analyses.recordings.find_replay import find_replay
    >>> from analyses.recordings.judgement import Judgement
    >>> from analyses.recordings.session import prepare
    >>> from analyses.recordings.observation.simulated_recording import simulated_recording
    >>> recording = simulated_recording(12)
    >>> found = find_replay(recording, judgement=Judgement(n_shuffles=39))
    >>> shares = recorded_shares(prepare(recording), found, n_sessions=2)
    >>> shares.table["kind"].tolist()
    ['reverse_episode', 'forward_episode', 'novel_path']
    """
    number = check_whole("n_sessions", n_sessions)
    root = np.random.SeedSequence(check_whole("seed", seed))
    seeds = root.generate_state(2 * number + 1).tolist()
    counts = found.events["kind"].value_counts().reindex(KINDS, fill_value=0)
    if not number:
        return _not_corrected(counts, "No session was simulated.")
    if not (session.counts and session.is_decoded_here):
        return _not_corrected(
            counts, "Only replay that was decoded here from spikes can be simulated."
        )
    if session.track.is_arena:
        return _not_corrected(counts, "Replay in an arena cannot be simulated yet.")
    if not counts.sum():
        return _not_corrected(counts, "No replay event has a sequence.")
    replay = _measured(session, found)
    drawn = _draw(found.experience, replay.length, seeds[:number], session.headings is not None)
    if drawn is None:
        return _not_corrected(
            counts,
            f"The animal's laps allow too few paths of {replay.length:.0f} cm: neither forward, "
            "reverse and novel ones nor, where it ran in both directions, ambiguous and novel "
            "ones.",
        )
    try:
        tables = [
            recovery(
                found.experience, session.recording.graph, paths, session.settings,
                session.judgement,
                cells=[Cells(session.track, session.decoded_rates)], gain=[replay.gain],
                speed=[replay.speed], n_seeds=1, seed=own,
            ).assign(seed=place)
            for place, (paths, own) in enumerate(zip(drawn, seeds[number:-1], strict=True))
        ]  # fmt: skip
    except ValueError as error:
        return _not_corrected(counts, f"Simulated replay cannot be decoded: {error}")
    recovered = pd.concat(tables, ignore_index=True)
    try:
        shares = estimate_shares(counts, recovered, seed=seeds[-1])
    except ValueError as error:
        matrix = confusion_matrix(recovered)
        recall = {kind: matrix.loc[kind, kind] for kind in matrix.index}
        return _not_corrected(counts, str(error), recall)
    table = shares.rename(columns={"share": "corrected"})[_COLUMNS]
    return RecordedShares(table, _how(number, replay))


def _draw(
    log: EventLog, length: float, seeds: Sequence[int], headings: bool
) -> list[pd.DataFrame] | None:
    """Draw the paths of each session; None if the laps allow too few."""
    for kinds in (_ONE_WAY, _NEVER_NOVEL if headings else _BOTH_WAYS):
        with suppress(ValueError):
            return [
                known_paths(
                    log, n_each=_N_EACH, length=length, kinds=kinds, headings=headings, seed=seed
                )
                for seed in seeds
            ]
    return None


def _measured(session: Session, found: Conclusions) -> _Replay:
    """Measure the longest sequences of events, and firing rates along decoded paths."""
    longest = found.sequences.sort_values("distance", ascending=False, kind="stable")
    longest = longest.drop_duplicates("event")
    lasts = (longest["end_time"] - longest["start_time"]).clip(lower=session.time_bin)
    replayed = found.events[found.events["is_replay"]]
    paths = found.paths[found.paths["event"].isin(replayed["event"])]
    bins = project(session.track, paths[["x", "y"]].to_numpy(dtype=float)).bin
    expected = session.rates.sum(axis=0)[bins].sum() * session.time_bin
    return _Replay(
        min(float(longest["distance"].median()), _MOST_OF_A_LAP * _lap(found.experience)),
        float((longest["distance"] / lasts).median()),
        float(replayed["n_spikes"].sum() / expected),
    )


def _lap(log: EventLog) -> float:
    """Measure the median length of a lap, in cm."""
    joined, steps = graph_of_log(log), log.columns("steps")
    moves = zip(steps["state"].tolist(), steps["next_state"].tolist(), strict=True)
    lengths = [joined.edges[move]["distance"] if move in joined.edges else 0.0 for move in moves]
    return float(pd.Series(lengths).groupby(steps["episode"]).sum().median())


def _how(n_sessions: int, replay: _Replay) -> str:
    return (
        "Corrected shares are the true shares that best explain those found, given the confusion "
        f"matrix of {n_sessions} simulated sessions with the fields of these cells and {_N_EACH} "
        "paths of each kind from the animal's own laps. Paths have the median length "
        f"({replay.length:.0f} cm; at most {_MOST_OF_A_LAP:g} of a lap) and speed "
        f"({replay.speed / 100:.1f} m/s) of the replay that was found, and cells fire "
        f"{replay.gain:.1f} times as fast as during running. Simulated events are accepted by "
        "their score alone, without shuffles, at known times, so that replay that is never "
        "detected is left out, and missed replay may have been shorter or faster, so the recall of "
        "the recording is at most as high. Simulated novel paths join their pieces anywhere in "
        "their middle half; if true ones join nearer to the middle, fewer are missed, and their "
        "corrected share is somewhat too high."
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
