"""What a page shows of one agent: its steps, and its replay events with their sequences.

`model_run` makes it of a log of backups, `decoded_run` of decoded replay. Both count and classify all
sequences at once; the moves of an event, and the pieces of experience that its sequences are
stitched from, are listed only for the events that the page shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.plots.page.worlds import world_of_moves
from analyses.plots.recording import read_pieces
from analyses.sequences.chains import REVERSE, UNKNOWN, Chains, chains, link_backups
from analyses.sequences.classification import classified
from analyses.sequences.experience import Experience
from analyses.sequences.runs import Columns, of_run
from analyses.sequences.sequences import Lists
from analyses.tables import KINDS
from replay.log.backups import PHASES
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

__all__ = ["Decoded", "Piece", "ShownRun", "decoded_run", "model_run"]

_MOST_SNAPSHOTS, _MOST_VALUES = 120, 120_000


class Decoded(Protocol):
    """Decoded replay: what :func:`analyses.recordings.find_replay.find_replay` gives."""

    @property
    def events(self) -> pd.DataFrame:
        """Candidate events: `event, start_time, end_time` and `is_replay`."""

    @property
    def sequences(self) -> pd.DataFrame:
        """Place sequences of replay: `event, kind, phase, location, step, length, states`."""

    @property
    def experience(self) -> EventLog:
        """The animal's moves, with their world."""

    @property
    def paths(self) -> pd.DataFrame:
        """Decoded paths: `event, time, x, y`."""


class Piece(NamedTuple):
    """A piece of experience in a replayed path, in the order of replay.

    Attributes
    ----------
    end : int
        After which move of the path it ends; it begins where the one before ends.
    episode : int
        The latest episode that holds it.
    backward : bool
        Whether it was run the other way round.
    """

    end: int
    episode: int
    backward: bool


@dataclass(frozen=True, eq=False)
class ShownRun:
    """One agent, as a page shows it.

    Attributes
    ----------
    learner : str
        Name in the log; empty for an animal.
    about : dict
        More about it, for the reader: name -> value.
    world : MDP
        Where it is.
    world_is_known : bool
        Whether the log tells its world; if not, it is made of the moves.
    steps : dict of ndarray
        The experience, columns of ``steps``.
    forgets : bool
        Whether the model is emptied at the end of each episode.
    events : dict of ndarray, each of shape (n_events,)
        `number` in the log; `made`, how many steps had been made; `phase` (number in ``PHASES``);
        `location`.
    sequences : dict of ndarray, each of shape (n_sequences,)
        `event` (row in `events`), `kind` (number in ``KINDS``), `length` in states; and what else
        the page shows of them: `orientation` (0 unknown, 1 forward, 2 reverse).
    detail : callable
        ``detail(chosen)`` lists what happens in the chosen events, a flag for each: columns for
        `analyses.plots.page.packing.pack`.
    values : dict of ndarray
        `made` and `value`, of shape (n_snapshots, n_states): the largest action value, NaN where
        none was learned. Empty unless the log keeps all backups.
    decoded : bool
        Whether this is decoded replay, counted by place sequences; or else causal chains.
    """

    learner: str
    about: dict[str, Any]
    world: MDP
    world_is_known: bool
    steps: Columns
    forgets: bool
    events: Columns
    sequences: Columns
    detail: Callable[[NDArray[np.bool_]], dict[str, NDArray[Any]]]
    values: Columns = field(default_factory=dict)
    decoded: bool = False


# -- models ---------------------------------------------------------------------------------


def model_run(log: EventLog, run: int, *, min_length: int, across_events: bool) -> ShownRun:
    """Make a run of a log what a page shows.

    Parameters
    ----------
    log : EventLog
        A model's log.
    run : int
        Which run.
    min_length : int
        Sequences of fewer states don't count.
    across_events : bool
        Whether causes are followed from one replay event to the next, as
        :func:`analyses.sequences.classification.classify` has it.

    Returns
    -------
    ShownRun
        Its sequences are those of `classify` of the same options.

    Raises
    ------
    ValueError
        If the log keeps no step of the run, or tables hold what they must not.
    """
    steps, backups = of_run(log, "steps", run), of_run(log, "backups", run)
    if not len(steps["step"]):
        raise ValueError(f"The log keeps no step of run {run}, so there is nothing to show.")
    experience = Experience(steps)
    found = chains(link_backups(backups, "causal", across_events), min_length)
    classes = classified(experience, backups, found, "causal")
    first = found.rows[found.offset[:-1]]
    number, row, event = np.unique(backups["event"][first], return_index=True, return_inverse=True)
    first_row = first[row]
    events = {
        "number": number,
        "made": np.searchsorted(steps["step"], backups["step"][first_row], side="right"),
        "phase": backups["phase"][first_row],
        "location": backups["location"][first_row],
    }
    orientation = np.select([found.orientation == UNKNOWN, found.orientation == REVERSE], [0, 2], 1)
    sequences = {
        "event": event,
        "kind": classes["kind"],
        "length": classes["length"],
        "orientation": orientation,
    }
    flows = np.where(orientation == 0, classes["direction"] == 1, orientation == 2)

    def detail(chosen: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        owner = Lists(found.rows, found.offset).owner
        is_shown = chosen[event[owner]] if len(owner) else np.zeros(0, dtype=bool)
        keys = event[owner[is_shown]] * np.int64(len(backups["step"])) + found.rows[is_shown]
        if not across_events:
            inside = np.flatnonzero(np.isin(backups["event"], number[chosen]))
            inside = inside[backups["state"][inside] != backups["next_state"][inside]]
            own = np.searchsorted(number, backups["event"][inside])
            keys = own * np.int64(len(backups["step"])) + inside
        return _model_detail(
            np.unique(keys), chosen, event, flows, found, backups, events, experience,
            classes["states"],
        )  # fmt: skip

    about = log.runs.set_index("run").loc[run] if run in set(log.runs["run"]) else pd.Series()
    world = log.mdp
    if world is None:
        world = world_of_moves(steps["state"], steps["next_state"])
    return ShownRun(
        learner=str(about.get("learner", "")),
        about={name: str(about.get(name, "")) for name in ("seed", "parameters", "mdp")},
        world=world,
        world_is_known=log.mdp is not None,
        steps=steps,
        forgets=bool(about.get("forgets_at_end", False)),
        events=events,
        sequences=sequences,
        detail=detail,
        values=_snapshots(steps, backups, world.n_states)
        if log.provenance.get("log") == "all"
        else {},
    )


def _model_detail(
    keys: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    event: NDArray[np.int64],
    backwards: NDArray[np.bool_],
    found: Chains,
    backups: Columns,
    events: Columns,
    experience: Experience,
    states: Lists,
) -> dict[str, NDArray[Any]]:
    """List moves, sequences and pieces; `keys` are event * n_backups + row of each move."""
    n_backups = np.int64(max(len(backups["step"]), 1))
    of_event, row = np.divmod(keys, n_backups)
    shown = np.flatnonzero(chosen[event]) if len(event) else np.zeros(0, dtype=np.int64)
    shown = shown[np.argsort(event[shown], kind="stable")]
    number = np.cumsum(chosen) - 1
    begin = np.searchsorted(of_event, np.flatnonzero(chosen))
    delay = backups["step"][row]
    if len(row):
        delay = delay - delay[begin][number[of_event]]
    # A move belongs to the longest of the sequences that hold it: it is written last.
    reverse = np.zeros(len(keys), dtype=bool)
    places: list[NDArray[np.int64]] = []
    for chain in shown.tolist():
        rows = found.rows[found.offset[chain] : found.offset[chain + 1]]
        places.append(np.searchsorted(keys, event[chain] * n_backups + rows))
    for k in np.argsort([len(place) for place in places], kind="stable"):
        reverse[places[k]] = backwards[shown[k]]
    here, there = backups["state"][row], backups["next_state"][row]
    pieces = [
        _pieces_of(states.flat[states.begin[chain] : states.begin[chain + 1]], bool(backwards[chain]),
                   int(backups["step"][found.rows[found.offset[chain]]]), experience)
        for chain in shown.tolist()
    ]  # fmt: skip
    return {
        "event": np.flatnonzero(chosen),
        "event_moves": np.bincount(number[of_event], minlength=int(chosen.sum())),
        "event_sequences": np.bincount(number[event[shown]], minlength=int(chosen.sum())),
        "move_from": np.where(reverse, there, here),
        "move_to": np.where(reverse, here, there),
        "move_delay": delay,
        "sequence": shown,
        "place": np.concatenate(
            [place - begin[number[event[chain]]] for place, chain in zip(places, shown, strict=True)]
            or [np.zeros(0, dtype=np.int64)]
        ),
        **_packed_pieces(pieces),
    }


def _pieces_of(
    states: NDArray[np.int32], backwards: bool, step: int, experience: Experience
) -> list[Piece]:
    """Stitch a path that was read in one orientation."""
    path = states[::-1] if backwards else states
    found = experience.pieces(path.tolist(), step)
    if not backwards:
        return [Piece(piece.end, piece.episode, False) for piece in found]
    last = len(states) - 1
    return [Piece(last - piece.begin, piece.episode, True) for piece in reversed(found)]


def _packed_pieces(pieces: Sequence[Sequence[Piece]]) -> dict[str, NDArray[Any]]:
    flat = [piece for each in pieces for piece in each]
    return {
        "sequence_pieces": np.array([len(each) for each in pieces], dtype=np.int64),
        "piece_end": np.array([piece.end for piece in flat], dtype=np.int64),
        "piece_episode": np.array([piece.episode for piece in flat], dtype=np.int64),
        "piece_backward": np.array([piece.backward for piece in flat], dtype=np.int64),
    }


def _snapshots(steps: Columns, backups: Columns, n_states: int) -> Columns:
    """Give the value of each state at moments that are spread evenly over the run."""
    n = min(_MOST_SNAPSHOTS, _MOST_VALUES // n_states, len(steps["step"]))
    if n < 1 or not len(backups["step"]):
        return {}
    made = np.linspace(0, len(steps["step"]), n + 1).round().astype(np.int64)[1:]
    until = np.searchsorted(backups["step"], steps["step"][made - 1], side="right")
    n_actions = int(backups["action"].max()) + 1
    if n_actions < 1:
        return {}
    learned = np.full((n_states, n_actions), -np.inf)
    value = np.empty((n, n_states))
    first = 0
    is_end = np.zeros(n_states, dtype=bool)
    before = 0
    for k, (stop, n_made) in enumerate(zip(until.tolist(), made.tolist(), strict=True)):
        state, action = backups["state"][first:stop], backups["action"][first:stop]
        learned[state, action] = backups["q_after"][first:stop]  # of several, the last one counts
        ended = steps["terminated"][before:n_made]
        is_end[steps["next_state"][before:n_made][ended]] = True
        value[k] = np.where(is_end, 0.0, learned.max(axis=1))
        first, before = stop, n_made
    value[~np.isfinite(value)] = np.nan
    return {} if np.isnan(value).all() else {"made": made, "value": value}


# -- decoded replay -------------------------------------------------------------------------


def decoded_run(decoded: Decoded) -> ShownRun:
    """Make decoded replay what a page shows.

    Parameters
    ----------
    decoded : analyses.recordings.find_replay.Conclusions
        What was replayed, or anything with the same tables.

    Returns
    -------
    ShownRun
        Its sequences are those of the table `sequences`.

    Raises
    ------
    ValueError
        If there is no step of the animal.
    """
    log = decoded.experience
    steps = of_run(log, "steps", 0)
    if not len(steps["step"]):
        raise ValueError("The recording has no move of the animal, so there is nothing to show.")
    table = decoded.sequences.sort_values("event", kind="stable").reset_index(drop=True)
    number, row, event = np.unique(
        table["event"].to_numpy(dtype=np.int64), return_index=True, return_inverse=True
    )
    first = table.iloc[row]
    events = {
        "number": number,
        "made": np.searchsorted(steps["step"], first["step"].to_numpy(dtype=np.int64), side="right"),
        "phase": np.array([PHASES.index(str(phase)) for phase in first["phase"]], dtype=np.int64),
        "location": first["location"].to_numpy(dtype=np.int64),
    }
    sequences = {
        "event": event,
        "kind": np.array([KINDS.index(str(kind)) for kind in table["kind"]], dtype=np.int64),
        "length": table["length"].to_numpy(dtype=np.int64),
        "orientation": np.zeros(len(table), dtype=np.int64),
    }
    states = [np.asarray(path, dtype=np.int64) for path in table["states"]]
    experience = Experience(steps)

    def detail(chosen: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        shown = np.flatnonzero(chosen[event]) if len(event) else np.zeros(0, dtype=np.int64)
        paths = [states[k] for k in shown.tolist()]
        n_moves = np.array([len(path) - 1 for path in paths], dtype=np.int64)
        of_event = (np.cumsum(chosen) - 1)[event[shown]]
        n_events = int(chosen.sum())
        total = np.append(0, np.cumsum(n_moves))
        begin = total[:-1] - total[np.searchsorted(of_event, of_event)] if len(shown) else total[:0]
        none = [np.zeros(0, dtype=np.int64)]
        pieces = [
            [Piece(piece.end, piece.episode, piece.backward)
             for piece in read_pieces(path.tolist(), experience, int(table["step"].iloc[k]))]
            for k, path in zip(shown.tolist(), paths, strict=True)
        ]  # fmt: skip
        moves = {
            "event": np.flatnonzero(chosen),
            "event_moves": np.bincount(of_event, n_moves, minlength=n_events).astype(np.int64),
            "event_sequences": np.bincount(of_event, minlength=n_events),
            "move_from": np.concatenate([path[:-1] for path in paths] or none),
            "move_to": np.concatenate([path[1:] for path in paths] or none),
            "move_delay": np.zeros(int(n_moves.sum()), dtype=np.int64),
            "sequence": shown,
            "place": np.concatenate(
                [at + np.arange(n) for at, n in zip(begin, n_moves, strict=True)] or none
            ),
        }
        return {**moves, **_packed_pieces(pieces), **_decoded_paths(decoded, number[chosen])}

    world, known = (log.mdp, True) if log.mdp is not None else (None, False)
    if world is None:
        world = world_of_moves(steps["state"], steps["next_state"])
    n_replay = int(decoded.events["is_replay"].astype(bool).sum())
    return ShownRun(
        learner="",
        about={"candidate events": f"{len(decoded.events):,}", "replay": f"{n_replay:,}"},
        world=world,
        world_is_known=known,
        steps=steps,
        forgets=False,
        events=events,
        sequences=sequences,
        detail=detail,
        decoded=True,
    )


def _decoded_paths(decoded: Decoded, numbers: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """List where the decoder was, and when, in ms from the event's beginning."""
    paths = decoded.paths[decoded.paths["event"].isin(numbers)].sort_values(
        ["event", "time"], kind="stable"
    )
    start = decoded.events.set_index("event")["start_time"]
    begin = paths["event"].map(start).to_numpy(dtype=float)
    return {
        "event_samples": np.bincount(
            np.searchsorted(numbers, paths["event"].to_numpy(dtype=np.int64)),
            minlength=len(numbers),
        ),
        "path_ms": np.round(1000 * np.maximum(paths["time"].to_numpy(dtype=float) - begin, 0)),
        "path_x": paths["x"].to_numpy(dtype=float),
        "path_y": paths["y"].to_numpy(dtype=float),
    }
