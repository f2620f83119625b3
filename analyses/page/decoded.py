"""The data of a page about a recording: the place sequences of its decoded replay."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.page.runs import ShownPiece, ShownRun, list_pieces
from analyses.page.worlds import world_of_moves
from analyses.recordings.decide.event_kinds import experienced_pieces
from analyses.sequences.experience import Experience
from analyses.sequences.runs import of_run
from analyses.tables import KINDS
from replay.checks import check_choice, check_column, check_table
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

_WHOLE = ("event", "step", "location", "length")
_JUDGED = ("evidence", "n_active", "p")


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
    number: NDArray[np.int64],
    event: NDArray[np.int64],
    experience: Experience,
    chosen: NDArray[np.bool_],
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
        [ShownPiece(piece.end, piece.episode, piece.backward)
         for piece in experienced_pieces(
             path.tolist(), experience, int(table["step"].iloc[k]),
             list(table["moves"].iloc[k]) if "moves" in table else [],
         )]
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
