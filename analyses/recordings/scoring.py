"""Decoding, scoring and testing of each event, and of the same event with randomised cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.binned_track import BinnedTrack, project
from analyses.recordings.decoding.likelihood import log_likelihood
from analyses.recordings.decoding.state_space_decoder import (
    CONTINUOUS,
    continuous_path,
    state_posterior,
    walk_transitions,
)
from analyses.recordings.judgement import Judgement
from analyses.recordings.recording import Posterior
from analyses.recordings.session import Session
from analyses.recordings.significance.p_values import significance
from analyses.recordings.significance.track_log_odds import track_log_odds, tracks_to_compare
from replay.checks import check_whole

__all__ = ["Scored", "n_blocks", "score_block"]

_BLOCK = 20
_LOWEST_PROBABILITY = 1e-12


class Scored(NamedTuple):
    """Decoded and scored events.

    Attributes
    ----------
    events : DataFrame
        One row per event: `event, start_time, end_time, n_active, n_spikes, score` (chosen by the
        judgement; without spikes, the mean probability of continuous movement), a column
        ``p_SHUFFLE`` for each shuffle, `p` (the largest of them), `largest_jump` (cm, between the
        most probable places of independently decoded time bins; infinite between tracks), and, if
        two tracks are compared, `log_odds` and `log_odds_z`; if the track has several components,
        also `track` (of the path, from 1).
    paths : DataFrame
        One row per time bin: `event, time` (s), `x, y` (cm) of the decoded path.
    by_chance : DataFrame
        One row per event with randomised cells: `event, score, p`.
    """

    events: pd.DataFrame
    paths: pd.DataFrame
    by_chance: pd.DataFrame


def n_blocks(session: Session) -> int:
    """Return the number of blocks of events that can be tested independently.

    Parameters
    ----------
    session : Session
        The session with its events.

    Returns
    -------
    int
        The number of blocks, at least 1.
    """
    return max(-(-len(session.events) // _BLOCK), 1)


def score_block(session: Session, judgement: Judgement, block: int, seed: int = 0) -> Scored:
    """Decode and test a block of events; results do not depend on the process that runs it.

    Parameters
    ----------
    session : Session
        The session with its events.
    judgement : Judgement
        The criteria for replay.
    block : int
        The number of the block, from 0.
    seed : int, default 0
        Seed of the shuffles.

    Returns
    -------
    Scored
        The events of this block.

    Raises
    ------
    ValueError
        As `significance`.
    """
    rows = np.arange(len(session.events))[block * _BLOCK : (block + 1) * _BLOCK]
    events = session.events.iloc[rows].reset_index(drop=True)
    events.insert(0, "event", rows)
    decoded = [_decoded(session, row) for row in rows.tolist()]
    paths = [
        path.assign(event=row) for row, (path, _, _) in zip(rows.tolist(), decoded, strict=True)
    ]
    columns = ["event", "time", "x", "y"]
    path = pd.concat(paths, ignore_index=True)[columns] if paths else pd.DataFrame(columns=columns)
    jumps = [jump for _, _, jump in decoded]
    own, chance = np.random.SeedSequence([check_whole("seed", seed), block]).spawn(2)
    by_chance = pd.DataFrame({"event": rows, "score": np.nan, "p": np.nan})
    if session.counts:
        counts = [session.counts[row] for row in rows]
        tested = _significance(counts, session, judgement, own)
        events["n_spikes"] = [int(each.sum()) for each in counts]
        tested = tested.drop(columns="event")
        events = pd.concat([events, tested], axis=1)
        order, shuffles = chance.spawn(2)
        rng = np.random.default_rng(order)
        randomised = [each[:, rng.permutation(each.shape[1])] for each in counts]
        found = _significance(randomised, session, judgement, shuffles)
        by_chance = by_chance.assign(score=found["score"], p=found["p"])
        tracks = tracks_to_compare(session.track, session.rates, judgement.tracks)
        if tracks is not None:
            compared = track_log_odds(
                counts,
                session.rates,
                *tracks,
                dt=session.time_bin,
                n_shuffles=max(judgement.n_shuffles, 2),
                seed=_seed(np.random.SeedSequence([seed, block, 2])),
            )
            events = pd.concat([events, compared], axis=1)
    else:
        events = events.assign(score=[score for _, score, _ in decoded], p=np.nan)
    events["largest_jump"] = jumps
    if session.track.n_components > 1:
        tracks_of = [_track_of(session.track, each) for each, _, _ in decoded]
        events["track"] = pd.array(tracks_of, dtype="Int64")
    return Scored(events, path, by_chance)


def _track_of(track: BinnedTrack, path: pd.DataFrame) -> int | None:
    """Return the track with most places of a path; None if the path has no places."""
    bins = project(track, path[["x", "y"]].to_numpy(dtype=float)).bin
    counts = np.bincount(track.component[bins[bins >= 0]])
    return int(counts.argmax()) + 1 if counts.any() else None


def _significance(
    counts: Sequence[NDArray[np.int32]],
    session: Session,
    judgement: Judgement,
    seeds: np.random.SeedSequence,
) -> pd.DataFrame:
    return significance(
        counts,
        session.rates,
        session.track,
        dt=session.time_bin,
        score=judgement.score,
        shuffles=judgement.shuffles,
        n_shuffles=judgement.n_shuffles,
        variance=session.variance,
        least_active=judgement.least_active,
        seed=_seed(seeds),
    )


def _seed(seeds: np.random.SeedSequence) -> int:
    return int(seeds.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _decoded(session: Session, row: int) -> tuple[pd.DataFrame, float, float]:
    """Decode one event: its path, its score, and the largest jump between time bins."""
    begin, end = session.events[["start_time", "end_time"]].to_numpy(dtype=float)[row].tolist()
    if session.decoded is not None:
        table = session.decoded
        own = table[(table["time"] >= begin) & (table["time"] <= end)]
        xy = own[["x", "y"]].to_numpy()
        return own[["time", "x", "y"]], np.nan, _largest_jump(session, xy)
    if session.posterior is not None:
        return _of_posterior(session, session.posterior, begin, end)
    counts = session.counts[row]
    time = begin + (np.arange(len(counts)) + 0.5) * session.time_bin
    likelihoods = log_likelihood(counts, session.rates, session.time_bin)
    walk = walk_transitions(session.track, session.variance)
    return _followed(time, likelihoods, walk, session.track.position, session)


def _followed(
    time: NDArray[np.float64],
    likelihoods: NDArray[np.float64],
    walk: NDArray[np.float64],
    position: NDArray[np.float64],
    session: Session,
) -> tuple[pd.DataFrame, float, float]:
    posterior, _ = state_posterior(likelihoods, walk)
    xy = position[continuous_path(likelihoods, walk)]
    score = float(posterior[:, CONTINUOUS].sum(axis=1).mean()) if len(time) else np.nan
    alone = position[posterior.sum(axis=1).argmax(axis=1)]
    path = pd.DataFrame({"time": time, "x": xy[:, 0], "y": xy[:, 1]})
    return path, score, _largest_jump(session, alone)


def _of_posterior(
    session: Session, posterior: Posterior, begin: float, end: float
) -> tuple[pd.DataFrame, float, float]:
    """Find the path in a posterior; the score is the decoder's own, if it has kinds of movement.

    With the usual uniform prior, the posterior of a decoder without movement is proportional to the
    likelihood. In a posterior that is already smooth, the walk only bridges jumps.
    """
    own = (posterior.time >= begin) & (posterior.time <= end)
    own &= ~np.isnan(posterior.probability).any(axis=1)
    time, probability = posterior.time[own], posterior.probability[own]
    if not len(time):
        return pd.DataFrame({"time": [], "x": [], "y": []}), np.nan, np.nan
    seconds = float(np.median(np.diff(posterior.time)))
    diffusion = session.variance / session.time_bin
    walk = np.exp(-0.5 * _distance(session, posterior.position) ** 2 / (diffusion * seconds))
    walk /= walk.sum(axis=1, keepdims=True)
    likelihoods = np.log(np.maximum(probability, _LOWEST_PROBABILITY))
    path, score, jump = _followed(time, likelihoods, walk, posterior.position, session)
    if posterior.movement:
        known = [
            posterior.movement[name][own] for name in posterior.movement if _is_continuous(name)
        ]
        score = float(np.sum(known, axis=0).mean()) if known else np.nan
    return path, score, jump


def _is_continuous(name: str) -> bool:
    return any(part in name.lower().replace("_", "") for part in ("continuous", "randomwalk"))


def _distance(session: Session, position: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the distances along the track between positions."""
    bins = project(session.track, position).bin
    return session.track.distance[np.ix_(bins, bins)]


def _largest_jump(session: Session, xy: NDArray[np.float64]) -> float:
    known = xy[~np.isnan(xy).any(axis=1)]
    if len(known) < 2:
        return np.nan
    bins = project(session.track, known).bin
    return float(session.track.distance[bins[:-1], bins[1:]].max())
