"""The data of a page about one agent: its steps, its replay events, and the chains of a model.

All sequences are classified and counted at once; the moves of an event, and the pieces of
experience of which its sequences are composed, are listed only for the events that a page shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.page.worlds import world_of_moves
from analyses.recordings.prepare.event_evidence import Evidence
from analyses.sequences.chains import REVERSE, UNKNOWN, Chains, chains, link_backups
from analyses.sequences.classification import classified
from analyses.sequences.experience import Experience, ExperiencedPiece
from analyses.sequences.logs import SHARED, Columns, of_run
from analyses.sequences.sequences import Lists
from replay.checks.arrays import Bools, Int32s, Ints
from replay.log.event_log import EventLog
from replay.log.worlds import ClosedMoves
from replay.worlds.mdp import MDP

_MOST_SNAPSHOTS, _MOST_VALUES = 120, 120_000


@dataclass(frozen=True, eq=False)
class ShownRun:
    """One agent, as a page shows it."""

    learner: str  # name of the learner in the log, or of the animal; empty if it has none
    about: dict[str, Any]  # further facts for the reader: name -> value
    world: MDP
    # Whether the log holds its world; otherwise the world is made from the moves.
    world_is_known: bool
    steps: Columns  # the experience, columns of `steps`
    forgets: bool  # whether the model is emptied at the end of each episode
    # `number` in the log; `made`, the number of steps made before; `phase` (number in `PHASES`);
    # `location`; of a recording also `time`, in s, if its moves have times; shape (n_events,).
    events: Columns
    # `event` (row in `events`), `kind` (number in `KINDS`), `length` in states, and `orientation`
    # (0 unknown, 1 forward, 2 reverse); shape (n_sequences,).
    sequences: Columns
    # `detail(chosen)` takes a flag for each event and returns what happens in the chosen ones, as
    # columns for `analyses.page.worlds.pack`.
    detail: Callable[[Bools], dict[str, NDArray[Any]]]
    # `made` and `value`, of shape (n_snapshots, n_states): the largest action value, NaN where none
    # was learned. Empty unless the log holds all backups.
    values: Columns = field(default_factory=dict)
    # The codes that were met in several places, if an encoder made the states.
    shared: list[int] | None = None
    # Step -> the moves of the world that are closed from then on.
    closed: ClosedMoves = field(default_factory=dict)
    # Whether this is decoded replay, counted by place sequences rather than causal chains.
    decoded: bool = False
    # Of a recording: spikes, posteriors and what was measured in its events.
    evidence: Evidence | None = None
    # How well accounts predict its events: the names of `accounts`, and `of_event`, number of the
    # event -> bits of each account. Empty if they were not explained.
    bits: dict[str, Any] = field(default_factory=dict)
    # Of a recording: number of the event -> why its kind is ambiguous, if it is.
    why: dict[int, str] = field(default_factory=dict)


def list_pieces(pieces: Sequence[Sequence[ExperiencedPiece]]) -> dict[str, NDArray[Any]]:
    """Convert the pieces of sequences to columns.

    Sequences have their number of pieces, `sequence_pieces`; each piece has the three others, and
    begins where the one before it ends.
    """
    flat = [piece for each in pieces for piece in each]
    return {
        "sequence_pieces": np.array([len(each) for each in pieces], dtype=np.int64),
        "piece_end": np.array([piece.end for piece in flat], dtype=np.int64),
        "piece_episode": np.array([piece.episode for piece in flat], dtype=np.int64),
        "piece_backward": np.array([piece.backward for piece in flat], dtype=np.int64),
    }


def model_run(log: EventLog, run: int, *, min_length: int, across_events: bool) -> ShownRun:
    """Convert one run of a log for a page.

    Counts and options are those of :func:`analyses.sequences.classification.classify`.
    """
    steps, backups = of_run(log, "steps", run), of_run(log, "backups", run)
    if not len(steps["step"]):
        raise ValueError(f"The log has no steps of run {run}, so there is nothing to show.")
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
    reverse = np.where(orientation == 0, classes["direction"] == 1, orientation == 2)
    chained = _Chained(found, classes["states"], event, reverse, backups["step"][first])

    def detail(chosen: Bools) -> dict[str, NDArray[Any]]:
        if across_events:
            moves = chained.moves(chosen)
        else:
            is_move = backups["state"] != backups["next_state"]
            rows = np.flatnonzero(is_move & np.isin(backups["event"], number[chosen]))
            moves = _Moves(np.searchsorted(number, backups["event"][rows]), rows)
        return _list_events(moves, chosen, chained, backups, experience)

    about = log.runs.set_index("run").loc[run] if run in set(log.runs["run"]) else pd.Series()
    world = log.mdp
    if world is None:
        world = world_of_moves(steps["state"], steps["next_state"])
    return ShownRun(
        learner=str(about.get("learner", "")),
        about={name: str(about.get(name, "")) for name in ("seed", "parameters", "mdp")},
        world=world,
        world_is_known=log.mdp is not None,
        shared=None if log.mdp is None else log.provenance.get(SHARED),
        steps=steps,
        forgets=bool(about.get("forgets_at_end", False)),
        events=events,
        sequences=sequences,
        detail=detail,
        values=_snapshots(steps, backups, world.n_states)
        if log.provenance.get("log") == "all"
        else {},
        closed={} if log.mdp is None else log.closed,
    )


class _Moves(NamedTuple):
    """Moves of events, one event after the other."""

    event: Ints  # (n_moves,): the event to which each move belongs, a row of the run's events
    row: Ints  # (n_moves,): its backup, ascending within an event


class _Chained(NamedTuple):
    """The chains of a run, and the event to which each belongs.

    `found` and `states` are the chains with their states. Of shape (n_chains,) are `event`, the row
    in the run's events, `reverse`, whether the chain runs backwards, and `step`, when it began.
    """

    found: Chains
    states: Lists
    event: Ints
    reverse: Bools
    step: Ints

    def rows(self, chain: int) -> Int32s:
        """Return the backups of a chain."""
        return self.found.rows[self.found.offset[chain] : self.found.offset[chain + 1]]

    def moves(self, chosen: Bools) -> _Moves:
        """List the backups of the chains of the chosen events, once for each event."""
        event = np.repeat(self.event, np.diff(self.found.offset))
        is_shown = np.isin(event, np.flatnonzero(chosen))
        pairs = np.column_stack((event, self.found.rows))[is_shown]
        return _Moves(*np.unique(pairs, axis=0).T)

    def pieces(self, chain: int, experience: Experience) -> list[ExperiencedPiece]:
        """List the pieces of earlier experience that compose a chain, read in its orientation."""
        path = self.states.flat[self.states.begin[chain] : self.states.begin[chain + 1]].tolist()
        if not self.reverse[chain]:
            forward = experience.pieces(path, int(self.step[chain]))
            return [ExperiencedPiece(*piece, backward=False) for piece in forward]
        backward = experience.pieces(path[::-1], int(self.step[chain]))
        last = len(path) - 1
        return [
            ExperiencedPiece(last - piece.end, last - piece.begin, piece.episode, True)
            for piece in reversed(backward)
        ]


def _list_events(
    moves: _Moves, chosen: Bools, chained: _Chained, backups: Columns, experience: Experience
) -> dict[str, NDArray[Any]]:
    """List the moves, sequences and pieces of the chosen events, as `ShownRun.detail` does."""
    here, there = backups["state"][moves.row], backups["next_state"][moves.row]
    step = backups["step"][moves.row]
    _, first, number = np.unique(moves.event, return_index=True, return_inverse=True)

    # Sequences, one event after the other, with the turns of their moves within the event.
    shown = np.flatnonzero(np.isin(chained.event, np.flatnonzero(chosen)))
    shown = shown[np.argsort(chained.event[shown], kind="stable")]
    event = chained.event[shown]
    begin = np.searchsorted(moves.event, np.arange(len(chosen) + 1))
    turns = [
        np.searchsorted(moves.row[begin[at] : begin[at + 1]], chained.rows(chain))
        for at, chain in zip(event.tolist(), shown.tolist(), strict=True)
    ]
    # A move belongs to the longest sequence that contains it, or the first of several longest ones,
    # which is written last.
    reverse = np.zeros(len(step), dtype=bool)
    for k in sorted(range(len(shown)), key=lambda k: (len(turns[k]), -k)):
        reverse[begin[event[k]] + turns[k]] = chained.reverse[shown[k]]
    return {
        "event_moves": np.bincount(moves.event, minlength=len(chosen))[chosen],
        "event_sequences": np.bincount(event, minlength=len(chosen))[chosen],
        "move_from": np.where(reverse, there, here),
        "move_to": np.where(reverse, here, there),
        "move_delay": step - step[first][number],
        "sequence": shown,
        "place": np.concatenate([np.empty(0, dtype=np.int64), *turns]),
        **list_pieces([chained.pieces(chain, experience) for chain in shown.tolist()]),
    }


def _snapshots(steps: Columns, backups: Columns, n_states: int) -> Columns:
    """Return the value of each state at moments spread evenly over the run."""
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
