"""The data of a page about one agent: its steps, and its replay events with their sequences.

All sequences are classified and counted at once; the moves of an event, and the pieces of
experience of which its sequences are composed, are listed only for the events that a page shows.
How well accounts predict each event can be added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.plots.style import label
from analyses.recordings.prepare.state_space_decoder import Evidence
from analyses.sequences.runs import Columns
from replay.arrays import Bools
from replay.checks import check_table
from replay.log.worlds import ClosedMoves
from replay.worlds.mdp import MDP


class ShownPiece(NamedTuple):
    """A piece of experience in a replayed path, in the order of replay."""

    end: int  # the move of the path after which it ends; it begins where the previous piece ends
    episode: int  # the latest episode that contains it
    backward: bool  # whether it was run in the opposite direction


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


def list_pieces(pieces: Sequence[Sequence[ShownPiece]]) -> dict[str, NDArray[Any]]:
    """Convert the pieces of sequences to columns.

    Sequences have their number of pieces, `sequence_pieces`; each piece has the three others.
    """
    flat = [piece for each in pieces for piece in each]
    return {
        "sequence_pieces": np.array([len(each) for each in pieces], dtype=np.int64),
        "piece_end": np.array([piece.end for piece in flat], dtype=np.int64),
        "piece_episode": np.array([piece.episode for piece in flat], dtype=np.int64),
        "piece_backward": np.array([piece.backward for piece in flat], dtype=np.int64),
    }


Explained: TypeAlias = pd.DataFrame
"""A row for each animal, account and sequence, as ``replay explain`` writes them."""

_N_ACCOUNTS = 5
_Pair = tuple[ShownRun, ShownRun | None]


def with_bits(pairs: list[_Pair], explained: Explained) -> list[_Pair]:
    """Add the bits of an explanation of the same runs, in the same order."""
    check_table(explained, ["animal", "account", "event", "bits"], "explained", empty=False)
    animals = list(dict.fromkeys(explained["animal"]))
    if len(animals) != len(pairs):
        raise ValueError(
            f"The explanation is of {len(animals)} animals, but the page shows {len(pairs)}: name "
            "all results that were explained, in the same order."
        )
    found: list[_Pair] = []
    for name, (run, other) in zip(animals, pairs, strict=True):
        own = explained[explained["animal"] == name]
        if not np.isin(own["event"], run.events["number"]).any():
            raise ValueError(
                f"The explanation of {name} is of other replay than the page shows: none of its "
                "events is here."
            )
        # The bits of each event above those of a walk, of the best accounts.
        summed = own.pivot_table("bits", "event", "account", aggfunc="sum")
        above = summed.sub(summed["walk"], axis=0).drop(columns="walk")
        best = above.drop(columns="ceiling").mean().nlargest(_N_ACCOUNTS).index
        shown = above[[*best, "ceiling"]].round(1)
        values = shown.to_numpy().tolist()
        bits = {
            "accounts": [*map(label, best), "the ceiling"],
            "of_event": dict(zip(map(str, shown.index.tolist()), values, strict=True)),
        }
        both = None if other is None else replace(other, bits=bits)
        found.append((replace(run, bits=bits), both))
    return found
