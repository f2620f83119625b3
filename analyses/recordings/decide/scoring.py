"""Decoding, scoring and testing of each event, and of the same event with randomised cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, project
from analyses.recordings.basics.marks import exchanged
from analyses.recordings.basics.recording import Posterior
from analyses.recordings.decide.heading import (
    UNTESTED,
    HeadingTold,
    heading_of_path,
    heading_told,
    outward_along,
)
from analyses.recordings.decide.order import (
    LEAST_ORDER,
    UNORDERED,
    OrderedPaths,
    order_of,
    ordered_paths,
    unordered_places,
)
from analyses.recordings.decide.p_values import significance
from analyses.recordings.decide.scores import SCORES, TestedEvent, routes_for
from analyses.recordings.decide.track_log_odds import track_log_odds, tracks_to_compare
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.session import Session
from analyses.recordings.prepare.state_space_decoder import (
    CONTINUOUS,
    SPEEDS,
    Walks,
    averaged_bins,
    continuous_path,
    state_posterior,
    with_far,
)
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
        most probable places of independently decoded time bins; infinite between tracks), `order`
        (see `analyses.recordings.decide.order`; NaN without spikes), and, if
        two tracks are compared, `log_odds` and `log_odds_z`; if the track has several components,
        also `track` (of the path, from 1); if fields differ between headings, also those of
        `HeadingTold`.
    paths : DataFrame
        One row per time bin: `event, time` (s), `x, y` (cm) of the decoded path; if fields differ
        between headings, also `along` (see `heading_of_path`).
    by_chance : DataFrame
        One row per event with randomised cells: `event, score, order, p`.
    unordered : DataFrame
        One row per event and kind of unordered event, of the same duration and number of spikes:
        `event, null, score, order, p` (NaN unless its score and order suffice).
    """

    events: pd.DataFrame
    paths: pd.DataFrame
    by_chance: pd.DataFrame
    unordered: pd.DataFrame


def n_blocks(session: Session) -> int:
    """Return the number of blocks of events that can be tested independently."""
    return max(-(-len(session.events) // _BLOCK), 1)


def score_block(session: Session, block: int, seed: int = 0) -> Scored:
    """Decode and test a block of events; results do not depend on the process that runs it."""
    rows = np.arange(len(session.events))[block * _BLOCK : (block + 1) * _BLOCK]
    parts = [  # each group of events with the same observed cells is a block of its own
        _score(own, at, block + number * n_blocks(session), check_whole("seed", seed))
        for number, (own, at) in enumerate(session.alike(rows))
    ]
    if len(parts) == 1:
        return parts[0]
    tables = (pd.concat(each, ignore_index=True) for each in zip(*parts, strict=True))
    return Scored(*(each.sort_values("event", kind="stable", ignore_index=True) for each in tables))


def _score(session: Session, rows: NDArray[np.integer], block: int, seed: int) -> Scored:
    """Decode and test some events."""
    judgement = session.judgement
    events = session.events.iloc[rows].reset_index(drop=True)
    events.insert(0, "event", rows)
    walks = session.walks()
    decoded = [_decoded(session, row, walks, seed) for row in rows.tolist()]
    paths = [each.path.assign(event=row) for row, each in zip(rows.tolist(), decoded, strict=True)]
    columns = ["event", "time", "x", "y", *(["along"] if session.has_headings else [])]
    path = pd.concat(paths, ignore_index=True)[columns] if paths else pd.DataFrame(columns=columns)
    own, chance = np.random.SeedSequence([seed, block]).spawn(2)
    by_chance = pd.DataFrame({"event": rows, "score": np.nan, "order": np.nan, "p": np.nan})
    unordered = pd.DataFrame({name: [] for name in ("event", "null", "score", "order", "p")})
    if session.counts:
        counts = [session.counts[row] for row in rows]
        tested = _significance(counts, session, own)
        events["n_spikes"] = [int(each.sum()) for each in counts]
        tested = tested.drop(columns="event")
        events = pd.concat([events, tested], axis=1)
        order, shuffles = chance.spawn(2)
        rng = np.random.default_rng(order)
        randomised = [_randomised(each, session.electrode, rng) for each in counts]
        if session.chance_counts is not None:
            randomised = _found_by_chance(session, session.chance_counts, rows)
        found = _significance(randomised, session, shuffles)
        paths_along = ordered_paths(session.track, session.time_bin, session.decoded_rates.shape[1])
        events["order"] = [_order(each, session, walks, paths_along) for each in counts]
        order_by_chance = [_order(each, session, walks, paths_along) for each in randomised]
        by_chance = by_chance.assign(score=found["score"], order=order_by_chance, p=found["p"])
        if session.chance_counts is not None:  # what was not found passes nothing
            by_chance["p"] = by_chance["p"].fillna(1.0)
        unordered = _unordered(rows, counts, session, walks, paths_along, seed, block)
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
        events = events.assign(score=[each.score for each in decoded], p=np.nan, order=np.nan)
    events["largest_jump"] = [each.largest_jump for each in decoded]
    if session.has_headings:
        told = [each.told or UNTESTED for each in decoded]
        events[list(HeadingTold._fields)] = np.array(told, dtype=float).reshape(-1, len(UNTESTED))
    if session.track.n_components > 1:
        tracks_of = [_track_of(session.track, each.path) for each in decoded]
        events["track"] = pd.array(tracks_of, dtype="Int64")
    return Scored(events, path, by_chance, unordered)


def _randomised(
    counts: NDArray[np.int64], electrode: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Give the spikes of each cell to another one, and of each electrode to another one."""
    into = exchanged(electrode, rng)
    if len(np.unique(electrode)) == len(electrode):
        return counts[:, into]
    found = np.zeros_like(counts)
    np.add.at(found.T, into, counts.T)
    return found


def _found_by_chance(
    session: Session, counts: list[NDArray[np.int64]], rows: NDArray[np.integer]
) -> list[NDArray[np.int64]]:
    """Choose the events that were found after an exchange of cells; empty where there are fewer."""
    n_events = len(session.events)
    each = rows * max(len(counts), n_events) // n_events
    nothing = np.empty((0, len(session.cells)), dtype=np.int64)
    return [counts[row] if row < len(counts) else nothing for row in each.tolist()]


def _order(
    counts: NDArray[np.integer], session: Session, walks: Walks, along: list[OrderedPaths]
) -> float:
    likelihoods = log_likelihood(counts, session.decoded_rates, session.time_bin)
    states = continuous_path(likelihoods, walks)
    path = states % session.track.n_bins
    return order_of(likelihoods, path, along)


def _unordered(
    rows: NDArray[np.integer],
    counts: Sequence[NDArray[np.integer]],
    session: Session,
    walks: Walks,
    along: list[OrderedPaths],
    seed: int,
    block: int,
) -> pd.DataFrame:
    """Simulate and test an event of each unordered kind for each event."""
    judgement, rule = session.judgement, SCORES[session.judgement.score].of
    rng = np.random.default_rng([seed, block, 4])
    routes, walk = routes_for(judgement.score, session.track), session.walk()
    table, drawn = [], []
    for row, own in zip(rows.tolist(), counts, strict=True):
        for null in UNORDERED:
            bins = unordered_places(null, len(own), session.track, session.time_bin, rng)
            headed = bins + session.track.n_bins * rng.integers(
                walk.shape[0] // session.track.n_bins
            )
            expected = session.decoded_rates[:, headed].T
            spikes = rng.poisson(expected * own.sum() / max(expected.sum(), 1e-9))
            event = TestedEvent(
                spikes.astype(float), session.decoded_rates, session.time_bin, walk, routes,
                session.track.component, session.electrode,
            )  # fmt: skip
            likelihoods = log_likelihood(spikes, session.decoded_rates, session.time_bin)
            score = rule(event, likelihoods) if len(spikes) > 1 else 0.0
            order = np.nan
            if score >= judgement.least_score:
                order = _order(spikes, session, walks, along)
            table.append((row, null, score, order, np.nan))
            drawn.append(spikes)
    found = pd.DataFrame(table, columns=["event", "null", "score", "order", "p"])
    may_pass = np.flatnonzero(found["order"] >= LEAST_ORDER)
    if len(may_pass):
        tested = _significance(
            [drawn[place] for place in may_pass], session, np.random.SeedSequence([seed, block, 5])
        )
        found.loc[may_pass, "p"] = tested["p"].to_numpy()
    return found


def _track_of(track: BinnedTrack, path: pd.DataFrame) -> int | None:
    """Return the track with most places of a path; None if the path has no places."""
    bins = project(track, path[["x", "y"]].to_numpy(dtype=float)).bin
    counts = np.bincount(track.component[bins[bins >= 0]])
    return int(counts.argmax()) + 1 if counts.any() else None


def _significance(
    counts: Sequence[NDArray[np.integer]],
    session: Session,
    seeds: np.random.SeedSequence,
) -> pd.DataFrame:
    judgement = session.judgement
    return significance(
        counts,
        session.decoded_rates,
        session.track,
        dt=session.time_bin,
        score=judgement.score,
        shuffles=judgement.shuffles,
        n_shuffles=judgement.n_shuffles,
        variance=session.variance,
        least_active=judgement.least_active,
        electrode=session.electrode,
        seed=_seed(seeds),
    )


def _seed(seeds: np.random.SeedSequence) -> int:
    return int(seeds.generate_state(1, np.uint64)[0] >> np.uint64(1))


class _Decoded(NamedTuple):
    """The path of an event, its score, its largest jump (cm), and whether its heading is told."""

    path: pd.DataFrame
    score: float
    largest_jump: float
    told: HeadingTold | None = None


def _decoded(session: Session, row: int, walks: Walks, seed: int) -> _Decoded:
    """Decode one event."""
    begin, end = session.events[["start_time", "end_time"]].to_numpy(dtype=float)[row].tolist()
    if session.recording.decoded is not None:
        table = session.recording.decoded
        own = table[(table["time"] >= begin) & (table["time"] <= end)]
        xy = own[["x", "y"]].to_numpy()
        return _Decoded(own[["time", "x", "y"]], np.nan, _largest_jump(session, xy))
    if session.recording.posterior is not None:
        return _of_posterior(session, session.recording.posterior, begin, end)
    counts = session.counts[row]
    time = begin + (np.arange(len(counts)) + 0.5) * session.time_bin
    rates, track = session.decoded_rates, session.track
    likelihoods = log_likelihood(counts, rates, session.time_bin)
    found, states = _followed(time, likelihoods, walks, track.position, session)
    if session.headings is None:
        return found
    rng = np.random.default_rng([seed, row, 3])
    return found._replace(
        path=found.path.assign(along=heading_of_path(track, states)),
        told=heading_told(session, counts, states, rng),
    )


def _followed(
    time: NDArray[np.float64],
    likelihoods: NDArray[np.float64],
    walks: Walks,
    position: NDArray[np.float64],
    session: Session,
) -> tuple[_Decoded, NDArray[np.int32]]:
    """Find the path of an event; also return its states, which may be bins with a heading.

    The first of `walks` is that of the decoder; `position`, shape (n_bins, 2), is in cm.
    """
    posterior, _ = state_posterior(likelihoods, walks.steps[0])
    states = continuous_path(likelihoods, walks)
    xy = position[states % len(position)]
    score = float(posterior[:, CONTINUOUS].sum(axis=1).mean()) if len(time) else np.nan
    n_headings = posterior.shape[2] // len(position)  # of no time bins, reshape finds no -1
    places = posterior.sum(axis=1).reshape(len(time), n_headings, len(position)).sum(axis=1)
    path = pd.DataFrame({"time": time, "x": xy[:, 0], "y": xy[:, 1]})
    return _Decoded(path, score, _largest_jump(session, position[places.argmax(axis=1)])), states


def _of_posterior(session: Session, posterior: Posterior, begin: float, end: float) -> _Decoded:
    """Find the path in a posterior; the score is the decoder's own, if it has kinds of movement.

    With the usual uniform prior, the posterior of a decoder without movement is proportional to the
    likelihood. In a posterior that is already smooth, the walk only bridges jumps.
    """
    own = (posterior.time >= begin) & (posterior.time <= end)
    own &= ~np.isnan(posterior.probability).any(axis=1)
    time, probability = posterior.time[own], posterior.probability[own]
    if not len(time):
        names = ["time", "x", "y", *(["along"] if session.has_headings else [])]
        return _Decoded(pd.DataFrame({name: [] for name in names}), np.nan, np.nan)
    seconds = float(np.median(np.diff(posterior.time)))
    diffusion = session.variance / session.time_bin
    between = _distance(session, posterior.position)
    near = [np.exp(-0.5 * between**2 / (diffusion * seconds * speed)) for speed in SPEEDS]
    steps = tuple(each / each.sum(axis=1, keepdims=True) for each in near)
    walks = Walks(steps, with_far(between), averaged_bins(seconds))
    likelihoods = np.log(np.maximum(probability, _LOWEST_PROBABILITY))
    found, states = _followed(time, likelihoods, walks, posterior.position, session)
    if posterior.outward is not None:
        bins = project(session.track, posterior.position).bin[states]
        along = outward_along(session.track, bins, posterior.outward[own])
        found = found._replace(path=found.path.assign(along=along))
    if posterior.movement:
        known = [
            posterior.movement[name][own] for name in posterior.movement if _is_continuous(name)
        ]
        found = found._replace(score=float(np.sum(known, axis=0).mean()) if known else np.nan)
    return found


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
