"""The data of a page about a recording: the place sequences of its replay, and the evidence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.page.runs import ShownRun, list_pieces
from analyses.page.worlds import pack, world_of_moves
from analyses.plots.style import label
from analyses.recordings.basics.binned_track import BinnedTrack, linearise
from analyses.recordings.prepare.event_evidence import Evidence, likely_path
from analyses.sequences.experience import Experience, experienced_pieces
from analyses.sequences.logs import of_run
from analyses.tables import KINDS
from replay.checks import check_choice, check_column, check_table
from replay.checks.arrays import Bools, Floats, Ints
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

_TRACES = ("multiunit_rate", "field_potential", "speed")
_LEVELS = 254  # of a trace; 255 is unknown
_LEAST_PROBABILITY = 1e-3
_WHOLE = ("event", "step", "location", "length")
_JUDGED = ("evidence", "n_active", "p")
Explained: TypeAlias = pd.DataFrame
"""A row for each animal, account and sequence, as ``replay explain`` writes them."""
ShownPair: TypeAlias = tuple[ShownRun, ShownRun | None]
"""A run; and the same run counted the other way, if that makes a difference."""
_N_ACCOUNTS = 5


def describe_places(track: BinnedTrack) -> list[dict[str, Any]]:
    """Describe the axes of places on which a posterior is drawn.

    A track has one, laid out on a line; an arena has two coordinates. Each has the limits `low,
    high` of its rows in cm, the places and names of `nodes`, and the `gaps` between tracks.
    """
    if track.is_arena:
        axes: list[tuple[str, Floats, Floats, list[Any], list[Any]]] = []
        for name, place in zip("xy", track.position.T, strict=True):
            low = place.min() + track.square * (np.arange(_coordinate(track, name).max() + 1) - 0.5)
            axes.append((f"{name} in cm", low, low + track.square, [], []))
    else:
        line = linearise(track)
        nodes, gaps = [list(node) for node in line.nodes], [list(gap) for gap in line.gaps]
        axes = [("nodes of the track", line.low, line.high, nodes, gaps)]
    return [
        {"name": name, "low": low.round(2).tolist(), "high": high.round(2).tolist(),
         "nodes": nodes, "gaps": gaps}
        for name, low, high, nodes, gaps in axes
    ]  # fmt: skip


def pack_evidence(evidence: Evidence, number: int) -> dict[str, Any]:
    """Pack the evidence for an event.

    `spike_row` (cells by the place of their fields, from 0) and `spike_time` (.1 ms after the
    beginning); for axis K of places `place_K`, the probability of each row in each time bin, where
    255 is `highest` or more, and `path_K`, the row of the path (-1 where nothing travels or the
    path is not likely); and each trace, where 0 to 254 lie between its limits in `traces`.
    """
    event, track = evidence.of(number), evidence.track
    packed: dict[str, Any] = {
        "seconds": event.end - event.start,
        "time_bin": evidence.time_bin,
        "n_cells": 0,
        "traces": {},
    }
    columns: dict[str, NDArray[Any]] = {}
    if event.posterior is not None and event.path is not None:
        # Active cells have a row each, in the order of their fields; spikes are in that of time.
        centre = track.position[:, 0] if track.is_arena else linearise(track).centre
        order = np.argsort(centre[evidence.rates.argmax(axis=1)], kind="stable")
        every = [event.spikes[cell] for cell in order]
        within = [each[(each >= event.start) & (each < event.end)] for each in every]
        active = [each for each in within if len(each)]
        cell = np.repeat(np.arange(len(active)), [len(each) for each in active])
        since = np.concatenate([*active, np.empty(0)]) - event.start
        time = np.rint(1e4 * since).astype(np.int64)
        by_time = np.argsort(time, kind="stable")
        packed["n_cells"] = len(active)
        columns["spike_row"], columns["spike_time"] = cell[by_time], time[by_time]
        places = event.posterior.sum(axis=1)
        course = likely_path(event.path, places)
        # A few time bins are far more certain than others, which would all look pale beside them.
        packed["highest"] = max(float(np.quantile(places.max(axis=1), 0.9)), _LEAST_PROBABILITY)
        axes = (
            [_coordinate(track, name) for name in "xy"]
            if track.is_arena
            else [np.arange(track.n_bins)]
        )
        for k, row in enumerate(axes):  # the row of each bin on each axis of places
            shown = np.zeros((len(places), row.max() + 1))
            np.add.at(shown.T, row, places.T)
            columns[f"place_{k}"] = np.rint(
                255 * np.minimum(shown / packed["highest"], 1.0)
            ).ravel()
            columns[f"path_{k}"] = np.where(course >= 0, row[course], -1)
    for name in _TRACES:
        if len(event.traces) and event.traces[name].notna().any():
            values = event.traces[name].to_numpy(dtype=float)
            low, high = float(np.nanmin(values)), float(np.nanmax(values))
            scaled = np.rint(_LEVELS * (values - low) / (high - low or 1.0))
            packed["traces"][name] = [low, high]
            columns[name] = np.where(np.isnan(values), _LEVELS + 1, scaled)
    whole = {name: values.astype(np.int64) for name, values in columns.items()}
    return packed | pack(whole)


def _coordinate(track: BinnedTrack, name: str) -> Ints:
    place = track.position[:, "xy".index(name)]
    return np.asarray(np.rint((place - place.min()) / track.square).astype(np.int64))


class DecodedReplay(Protocol):
    """Decoded replay, such as :func:`analyses.recordings.find_replay` returns."""

    @property
    def events(self) -> pd.DataFrame:
        """Candidate events: `event, start_time, end_time` and `is_replay`."""

    @property
    def sequences(self) -> pd.DataFrame:
        """Place sequences of replay: `event, kind, phase, location, step, length, states`."""

    @property
    def experience(self) -> EventLog:
        """The animal's moves and their world."""

    @property
    def paths(self) -> pd.DataFrame:
        """Decoded paths: `event, time, x, y`."""


def decoded_run(decoded: DecodedReplay) -> ShownRun:
    """Convert decoded replay for a page.

    An attribute `name`, if there is one, is that of the animal, and `evidence` what its events were
    decoded from.
    """
    log = decoded.experience
    steps = of_run(log, "steps", 0)
    if not len(steps["step"]):
        raise ValueError("The recording has no move of the animal, so there is nothing to show.")
    table = decoded.sequences.sort_values("event", kind="stable").reset_index(drop=True)
    check_decoded(decoded.events, table)
    whole = {name: check_column(table, name, "sequences", kind="whole") for name in _WHOLE}
    number, row, event = np.unique(whole["event"], return_index=True, return_inverse=True)
    first = table.iloc[row]
    start = decoded.events.set_index("event")["start_time"]
    events: dict[str, NDArray[Any]] = {
        "number": number,
        "made": np.searchsorted(steps["step"], whole["step"][row], side="right"),
        "phase": np.array([PHASES.index(str(phase)) for phase in first["phase"]], dtype=np.int64),
        "location": whole["location"][row],
    }
    if np.isfinite(steps["time"]).all():
        events["time"] = start.loc[number].to_numpy(dtype=float)
    judged = decoded.events.set_index("event").loc[number]
    for name in _JUDGED:
        if name in judged:
            events[name] = judged[name].to_numpy(dtype=float)
    sequences = {
        "event": event,
        "kind": np.array([KINDS.index(str(kind)) for kind in table["kind"]], dtype=np.int64),
        "length": whole["length"],
        "orientation": np.zeros(len(table), dtype=np.int64),
    }
    world, known = (log.mdp, True) if log.mdp is not None else (None, False)
    if world is None:
        world = world_of_moves(steps["state"], steps["next_state"])
    why = judged["why"].tolist() if "why" in judged else []
    n_replay = int(check_column(decoded.events, "is_replay", "events", kind="flag").sum())
    return ShownRun(
        learner=str(getattr(decoded, "name", "")),
        about={"candidate events": f"{len(decoded.events):,}", "replay": f"{n_replay:,}"},
        world=world,
        world_is_known=known,
        steps=steps,
        forgets=False,
        events=events,
        sequences=sequences,
        detail=partial(_detail, decoded, table, number, event, Experience(steps)),
        closed={} if log.mdp is None else log.closed,
        decoded=True,
        why={
            event: text
            for event, text in zip(number.tolist(), why, strict=False)
            if isinstance(text, str)
        },
        evidence=getattr(decoded, "evidence", None),
    )


def check_decoded(events: pd.DataFrame, sequences: pd.DataFrame) -> None:
    """Check that each event of a sequence is there, once, and began at a known time."""
    check_table(sequences, [*_WHOLE, "phase", "kind", "states"], "sequences")
    shown = check_column(sequences, "event", "sequences", kind="whole")
    for name in _WHOLE[1:]:
        check_column(sequences, name, "sequences", kind="whole")
    for name, known in (("phase", PHASES), ("kind", KINDS)):
        for value in sequences[name].unique():
            check_choice(f"{name} of sequences", str(value), known)
    check_table(events, ["event", "start_time", "is_replay"], "events")
    number = check_column(events, "event", "events", kind="whole")
    check_column(events, "start_time", "events", kind="number")
    found, count = np.unique(number, return_counts=True)
    for event in found[count > 1][:1]:
        raise ValueError(f"The table events has event {event} twice: number each event once.")
    for event in np.setdiff1d(shown, found)[:1].tolist():
        raise ValueError(f"The table events lacks event {event}, which has sequences.")


def _detail(
    decoded: DecodedReplay,
    table: pd.DataFrame,
    number: Ints,
    event: Ints,
    experience: Experience,
    chosen: Bools,
) -> dict[str, NDArray[Any]]:
    """List the moves, pieces and decoded positions of the chosen events."""
    shown = np.flatnonzero(chosen[event]) if len(event) else np.zeros(0, dtype=np.int64)
    paths = [np.asarray(path, dtype=np.int64) for path in table["states"].iloc[shown]]
    n_moves = np.array([len(path) - 1 for path in paths], dtype=np.int64)
    of_event = (np.cumsum(chosen) - 1)[event[shown]]
    n_events = int(chosen.sum())
    total = np.append(0, np.cumsum(n_moves))
    begin = total[:-1] - total[np.searchsorted(of_event, of_event)] if len(shown) else total[:0]
    none = [np.zeros(0, dtype=np.int64)]
    pieces = [
        experienced_pieces(
            path.tolist(), experience, int(table["step"].iloc[k]),
            list(table["moves"].iloc[k]) if "moves" in table else [],
        )
        for k, path in zip(shown.tolist(), paths, strict=True)
    ]  # fmt: skip
    # The decoded positions and their times, in ms from the beginning of the event.
    there = number[chosen]
    course = decoded.paths[decoded.paths["event"].isin(there)].sort_values(
        ["event", "time"], kind="stable"
    )
    start = decoded.events.set_index("event")["start_time"]
    since = course["time"].to_numpy(dtype=float) - course["event"].map(start).to_numpy(dtype=float)
    return {
        "event_moves": np.bincount(of_event, n_moves, minlength=n_events).astype(np.int64),
        "event_sequences": np.bincount(of_event, minlength=n_events),
        "move_from": np.concatenate([path[:-1] for path in paths] or none),
        "move_to": np.concatenate([path[1:] for path in paths] or none),
        "move_delay": np.zeros(int(n_moves.sum()), dtype=np.int64),
        "sequence": shown,
        "place": np.concatenate(
            [at + np.arange(n) for at, n in zip(begin, n_moves, strict=True)] or none
        ),
        **list_pieces(pieces),
        "event_samples": np.bincount(
            np.searchsorted(there, course["event"].to_numpy(dtype=np.int64)), minlength=n_events
        ),
        "path_ms": np.round(1000 * np.maximum(since, 0)),
        "path_x": course["x"].to_numpy(dtype=float),
        "path_y": course["y"].to_numpy(dtype=float),
    }


def with_bits(pairs: list[ShownPair], explained: Explained) -> list[ShownPair]:
    """Add the bits of an explanation of the same runs, in the same order."""
    check_table(explained, ["animal", "account", "event", "bits"], "explained", empty=False)
    animals = list(dict.fromkeys(explained["animal"]))
    if len(animals) != len(pairs):
        raise ValueError(
            f"The explanation is of {len(animals)} animals, but the page shows {len(pairs)}: name "
            "all results that were explained, in the same order."
        )
    explained_pairs: list[ShownPair] = []
    for name, (run, other) in zip(animals, pairs, strict=True):
        rows = explained[explained["animal"] == name]
        if not np.isin(rows["event"], run.events["number"]).any():
            raise ValueError(
                f"The explanation of {name} is of other replay than the page shows: none of its "
                "events is here."
            )
        # The bits of each event above those of a walk, of the best accounts.
        summed = rows.pivot_table("bits", "event", "account", aggfunc="sum")
        above = summed.sub(summed["walk"], axis=0).drop(columns="walk")
        best = above.drop(columns="ceiling").mean().nlargest(_N_ACCOUNTS).index
        shown = above[[*best, "ceiling"]].round(1)
        values = shown.to_numpy().tolist()
        bits = {
            "accounts": [*map(label, best), "the ceiling"],
            "of_event": dict(zip(map(str, shown.index.tolist()), values, strict=True)),
        }
        both = None if other is None else replace(other, bits=bits)
        explained_pairs.append((replace(run, bits=bits), both))
    return explained_pairs
