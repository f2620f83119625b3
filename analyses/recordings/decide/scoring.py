"""Decoding of each event, and of its controls: evidence for travel, stretches, and paths."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import project
from analyses.recordings.decide.controls import CONTROLS, EXCHANGED, control_counts
from analyses.recordings.decide.scores import (
    USUAL_SCORES,
    Route,
    track_log_odds,
    tracks_to_compare,
    usual_routes,
    usual_scores,
)
from analyses.recordings.prepare.headings import outward_along
from analyses.recordings.prepare.likelihood import (
    bayesian_posterior,
    log_likelihood,
    placeless_log_likelihood,
)
from analyses.recordings.prepare.session import Session
from analyses.recordings.prepare.travel import stretches_of, travel_evidence, travel_posterior
from analyses.recordings.prepare.travel_model import Travel, travel_model
from replay.checks import check_whole
from replay.checks.arrays import Floats

SENSES = ("forward", "reverse", "undecided")
"""Whether cells head with the travel of a stretch or against it."""

_BLOCK = 20  # events
_LOWEST_PROBABILITY = 1e-12  # of a place that another decoder rules out: its logarithm is finite
# Of the two senses, where cells fire as if they had a heading: of 589 known stretches of
# development .94 then had the right one, and none the wrong one.
_LEAST_SENSE, _LEAST_HEADED = 0.95, 0.5  # probabilities
_OF_PLACES = ("evidence",)
_OF_POSTERIOR = (*_OF_PLACES, "continuous", *USUAL_SCORES)
_OF_SPIKES = ("n_active", "n_spikes", *_OF_PLACES, "content", "p_content", *USUAL_SCORES)
_Rows = list[dict[str, Any]]
_STRETCH = ["event", "stretch", "start_time", "end_time", "share", "length", "speed"]
_STRETCH += ["probability", "forward", "reverse", "sense", *USUAL_SCORES]
_PATH, _CHANCE = ["event", "stretch", "time", "x", "y"], ["event", "control", "evidence"]


class Scored(NamedTuple):
    """Decoded events, and their controls."""

    # one row per event: `event, start_time, end_time, n_active, n_spikes, evidence` (for travel, in
    # nats), `content` (evidence that places are represented, in nats), `p_content` (the share of
    # the event's own exchanges of cells with at least this content), `weighted_correlation` and
    # `line_fit` of the whole event; NaN if too few cells are active, or without spikes. If two
    # tracks are compared, `log_odds` and `log_odds_z`; if the track has several components, also
    # `track` (of its longest stretch, from 1)
    events: pd.DataFrame
    # one row per stretch of travel: `event, stretch, start_time, end_time` (s), `share` (of the
    # event's duration), `length` (cm), `speed` (cm/s), `probability` (the mean of travel),
    # `forward, reverse` (the probabilities that cells head with the travel, and against it),
    # `sense` (see ``SENSES``), `weighted_correlation` and `line_fit`
    stretches: pd.DataFrame
    # one row per time bin of a stretch: `event, stretch, time` (s), `x, y` (cm) of its course; if
    # fields differ between headings, also `along`: 1 if cells head with the travel, -1 if against
    # it, 0 if undecided
    paths: pd.DataFrame
    # one row per control of an event: `event, control, evidence`; ``CONTROLS`` describes each
    chance: pd.DataFrame


def n_blocks(session: Session) -> int:
    """Return the number of blocks of events that can be tested independently."""
    return max(-(-len(session.events) // _BLOCK), 1)


def score_block(session: Session, block: int, seed: int = 0, *, usual: bool = True) -> Scored:
    """Decode a block of events and their controls; results do not depend on the blocks.

    The usual scores, which take a quarter of the time without controls, may be left out.
    """
    seed = check_whole("seed", seed)
    rows = np.arange(len(session.events))[block * _BLOCK : (block + 1) * _BLOCK]
    parts = [_score(own, at, seed, usual) for own, at in session.alike(rows)]
    if len(parts) == 1:
        return parts[0]
    tables = (
        pd.concat([each for each in own if len(each)] or own[:1], ignore_index=True)
        for own in zip(*parts, strict=True)
    )
    return Scored(*(each.sort_values("event", kind="stable", ignore_index=True) for each in tables))


def score_all(session: Session, seed: int = 0) -> Scored:
    """Decode all events and their controls, block by block, without the usual scores."""
    blocks = [score_block(session, block, seed, usual=False) for block in range(n_blocks(session))]
    return Scored(*(pd.concat(parts, ignore_index=True) for parts in zip(*blocks, strict=True)))


def _score(session: Session, rows: NDArray[np.integer], seed: int, usual: bool) -> Scored:
    """Decode some events, in which the cells of a session were observed, and their controls."""
    events = session.events.iloc[rows].reset_index(drop=True)
    events.insert(0, "event", rows)
    routes = usual_routes(session.track) if usual else []
    if len(session.cells):
        known: tuple[str, ...] = _OF_SPIKES
        model = travel_model(session.track, session.time_bin, session.travel_rates.shape[1])
        parts = [_of_spikes(session, row, model, routes, seed) for row in rows.tolist()]
    elif session.recording.posterior is not None:
        known = _OF_POSTERIOR
        time_bin = float(np.median(np.diff(session.recording.posterior.time)))
        model = travel_model(session.track, time_bin, session.track.n_bins)
        parts = [_of_posterior(session, row, model, time_bin, routes) for row in rows.tolist()]
    else:
        known = _OF_PLACES
        parts = [_of_places(session, row) for row in rows.tolist()]
    facts = pd.DataFrame([each.facts for each in parts], index=events.index, columns=list(known))
    events = pd.concat([events, facts], axis=1)
    tracks = tracks_to_compare(session.track, session.rates, session.judgement.tracks)
    if session.counts and tracks is not None:
        seeds = [np.random.SeedSequence([seed, row]).generate_state(1) for row in rows.tolist()]
        compared = [
            track_log_odds(
                [session.counts[row]], session.rates, *tracks, dt=session.time_bin, seed=int(own)
            )
            for row, [own] in zip(rows.tolist(), seeds, strict=True)
        ]
        events = pd.concat([events, pd.concat(compared, ignore_index=True)], axis=1)
    along = ["along"] if session.has_headings else []
    found = Scored(
        events,
        _table([own for part in parts for own in part.stretches], _STRETCH),
        _table([own for part in parts for own in part.paths], [*_PATH, *along]),
        _table([own for part in parts for own in part.chance], _CHANCE),
    )
    if session.track.n_components > 1:
        longest = found.stretches.sort_values("length").drop_duplicates("event", keep="last")
        first = found.paths.dropna(subset=["x", "y"]).drop_duplicates(["event", "stretch"])
        first = longest[["event", "stretch"]].merge(first)
        bins = project(session.track, first[["x", "y"]].to_numpy(dtype=float)).bin
        of_event = pd.Series(session.track.component[bins] + 1, index=first["event"], dtype="Int64")
        found.events["track"] = of_event.reindex(rows).to_numpy()
    return found


class _Decoded(NamedTuple):
    """Facts of an event; columns of its stretches, of the path of each, and of its controls."""

    facts: dict[str, float]
    stretches: _Rows
    paths: _Rows
    chance: _Rows


def _of_spikes(
    session: Session, row: int, model: Travel, routes: list[Route], seed: int
) -> _Decoded:
    """Decode an event and its controls."""
    counts, judgement = session.counts[row], session.judgement
    rates, track = session.travel_rates, session.track
    begin = float(session.events["start_time"].iloc[row])
    n_active = int(np.count_nonzero(counts.sum(axis=0)))
    facts: dict[str, float] = dict.fromkeys(_OF_SPIKES, np.nan)
    facts |= {"n_active": n_active, "n_spikes": int(counts.sum())}
    if n_active < max(judgement.least_active, 1) or len(counts) < 2:
        return _Decoded(facts, [], [], [])
    rng = np.random.default_rng([seed, row])  # of the event, whatever block it is in
    controls = [
        name
        for name in CONTROLS
        for _ in range(judgement.n_shuffles if name == EXCHANGED else judgement.n_controls)
    ]
    drawn = [
        control_counts(name, counts, rates, session.electrode, track, session.time_bin, rng)
        for name in controls
    ]
    likelihoods = log_likelihood(np.concatenate([counts, *drawn]), rates, session.time_bin)
    likelihoods = likelihoods.reshape(len(drawn) + 1, len(counts), -1)
    placeless = placeless_log_likelihood([counts, *drawn], rates, session.time_bin)
    found = travel_evidence(likelihoods, model, placeless)
    is_exchange = np.array(controls) == EXCHANGED
    n_as_high = np.count_nonzero(found.content[1:][is_exchange] >= found.content[0])
    places = bayesian_posterior(likelihoods[0]).reshape(len(counts), -1, track.n_bins).sum(axis=1)
    facts |= {
        "evidence": float(found.travel[0]),
        "content": float(found.content[0]),
        "p_content": (1 + n_as_high) / (1 + is_exchange.sum()),
    } | usual_scores(places, routes)
    time = np.asarray(begin + (np.arange(len(counts)) + 0.5) * session.time_bin, dtype=np.float64)
    stretches, paths = _stretches(session, row, time, likelihoods[0], places, routes, model)
    evidence = found.travel[1:]
    if session.chance_counts is not None:
        # Events that were found by their travel are compared with what is found by chance.
        own = session.chance_counts[row :: len(session.events)]
        by_chance = [
            travel_evidence(
                log_likelihood(each, rates, session.time_bin)[None],
                model,
                placeless_log_likelihood(each[None], rates, session.time_bin),
            ).travel[0]
            for each in own
        ]
        evidence = np.append(evidence[~is_exchange], by_chance)
        others = [name for name in controls if name != EXCHANGED]
        controls = [*others, *[EXCHANGED] * len(own)]
    chance = {"event": row, "control": controls, "evidence": evidence}
    return _Decoded(facts, stretches, paths, [chance])


def _of_posterior(
    session: Session, row: int, model: Travel, time_bin: float, routes: list[Route]
) -> _Decoded:
    """Decode an event from another program's posterior.

    One that is already smooth makes travel seem more certain than it is.
    """
    # With the usual uniform prior, the posterior of a decoder without movement is proportional to
    # the likelihood. Of time bins that are missing or NaN all places are equally likely.
    posterior, track = session.recording.posterior, session.track
    begin, end = session.events[["start_time", "end_time"]].to_numpy(dtype=float)[row].tolist()
    assert posterior is not None
    own = (posterior.time >= begin) & (posterior.time <= end)
    own &= ~np.isnan(posterior.probability).any(axis=1)
    facts = dict.fromkeys(_OF_POSTERIOR, np.nan)
    if not own.any():
        return _Decoded(facts, [], [], [])
    # Bins of the track without a place of the posterior have that of the nearest.
    bins = project(track, posterior.position).bin
    places = np.zeros((own.sum(), track.n_bins))
    np.add.at(places.T, bins, posterior.probability[own].T)
    number = np.bincount(bins, minlength=track.n_bins)
    filled = np.flatnonzero(number)
    places = (places / np.maximum(number, 1))[:, filled[track.distance[:, filled].argmin(axis=1)]]
    # A gap between time bins is no step from one place to the next.
    at = np.round((posterior.time[own] - posterior.time[own][0]) / time_bin).astype(int)
    time = posterior.time[own][0] + time_bin * np.arange(at[-1] + 1)
    time[at], decoded, places = posterior.time[own], places, np.zeros((len(time), track.n_bins))
    places[at] = decoded
    likelihoods = np.zeros_like(places)
    likelihoods[at] = np.log(np.maximum(decoded, _LOWEST_PROBABILITY))
    facts["evidence"] = float(travel_evidence(likelihoods[None], model).travel[0])
    facts |= usual_scores(decoded, routes)
    if posterior.movement:
        names = {name: name.lower().replace("_", "") for name in posterior.movement}
        known = [
            posterior.movement[name][own]
            for name, plain in names.items()
            if "continuous" in plain or "randomwalk" in plain
        ]
        facts["continuous"] = float(np.sum(known, axis=0).mean()) if known else np.nan
    stretches, paths = _stretches(session, row, time, likelihoods, places, routes, model)
    if posterior.outward is not None:
        for path in paths:
            at = np.searchsorted(posterior.time, path["time"])
            bins = project(track, np.column_stack((path["x"], path["y"]))).bin
            path["along"] = outward_along(track, bins, posterior.outward[at])
    return _Decoded(facts, stretches, paths, [])


def _of_places(session: Session, row: int) -> _Decoded:
    """Take the places that another program decoded in an event for one stretch of travel."""
    table, track = session.recording.decoded, session.track
    begin, end = session.events[["start_time", "end_time"]].to_numpy(dtype=float)[row].tolist()
    assert table is not None
    own = table[(table["time"] >= begin) & (table["time"] <= end)]
    path = {"event": row, "stretch": 0} | {
        name: own[name].to_numpy() for name in ("time", "x", "y")
    }
    bins = project(track, own[["x", "y"]].dropna().to_numpy(dtype=float)).bin
    length = float(track.distance[bins[:-1], bins[1:]].sum())
    stretch = {
        "event": row, "stretch": 0, "start_time": begin, "end_time": end, "share": 1.0,
        "length": length, "speed": length / (end - begin) if end > begin else np.nan,
        "sense": SENSES[2],
    }  # fmt: skip
    return _Decoded({}, [stretch], [path], [])


def _table(parts: _Rows, names: list[str]) -> pd.DataFrame:
    """Join rows, or columns in which an event has one value or many; with types, if there is none.

    A block without stretches is joined to others.
    """
    if not parts:
        kind: dict[str, object] = dict.fromkeys(("event", "stretch", "along"), 0)
        kind |= dict.fromkeys(("sense", "control"), "")
        return pd.DataFrame([{name: kind.get(name, 0.0) for name in names}]).iloc[:0]
    joined = (
        np.broadcast_arrays(*(np.atleast_1d(part.get(name, np.nan)) for name in names))
        for part in parts
    )
    columns = zip(names, zip(*joined, strict=True), strict=True)
    return pd.DataFrame({name: np.concatenate(values) for name, values in columns})


def _stretches(
    session: Session,
    row: int,
    time: Floats,
    likelihoods: Floats,
    places: Floats,
    routes: list[Route],
    model: Travel,
) -> tuple[_Rows, _Rows]:
    """Find the stretches of travel in an event, and their courses."""
    track = session.track
    dt = float(np.median(np.diff(time))) if len(time) > 1 else session.time_bin
    found = travel_posterior(likelihoods, model)
    stretches, paths = [], []
    for number, each in enumerate(stretches_of(found, model)):
        part, sense = slice(each.first, each.last), SENSES[2]
        headed = each.forward + each.reverse
        if max(each.forward, each.reverse) > _LEAST_SENSE * headed and headed > _LEAST_HEADED:
            sense = SENSES[int(each.reverse > each.forward)]
        bins = each.ways % track.n_bins
        stretches.append(
            {
                "event": row, "stretch": number,
                "start_time": time[each.first] - dt / 2, "end_time": time[each.last - 1] + dt / 2,
                "share": (each.last - each.first) / len(likelihoods),
                "length": float(track.distance[bins[:-1], bins[1:]].sum()), "speed": each.speed,
                "probability": float(found.travels[part].mean()),
                "forward": each.forward, "reverse": each.reverse, "sense": sense,
            } | usual_scores(places[part], routes)
        )  # fmt: skip
        path = {
            "event": row, "stretch": number, "time": time[part],
            "x": track.position[bins, 0], "y": track.position[bins, 1],
        }  # fmt: skip
        if session.has_headings:
            path["along"] = {"forward": 1, "reverse": -1, "undecided": 0}[sense]
        paths.append(path)
    return stretches, paths
