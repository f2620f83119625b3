"""What a page shows of one agent: its steps, and its replay events with their sequences.

All sequences are classified and counted at once; the moves of an event, and the pieces of
experience that its sequences are stitched from, are listed only for the events that a page shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.sequences.runs import Columns
from replay.log.closed_moves import ClosedMoves
from replay.worlds.mdp import MDP

__all__ = ["Piece", "ShownRun", "list_pieces"]


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
        Name in the log; or that of an animal, empty if it has none.
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
    closed : dict
        Step -> the moves of the world that are closed from then on.
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
    closed: ClosedMoves = field(default_factory=dict)
    decoded: bool = False


def list_pieces(pieces: Sequence[Sequence[Piece]]) -> dict[str, NDArray[Any]]:
    """Put the pieces of sequences into columns.

    Parameters
    ----------
    pieces : sequence of sequence of Piece
        Those of each sequence.

    Returns
    -------
    dict of ndarray
        `sequence_pieces`, how many there are of each, and `piece_end`, `piece_episode` and
        `piece_backward`.
    """
    flat = [piece for each in pieces for piece in each]
    return {
        "sequence_pieces": np.array([len(each) for each in pieces], dtype=np.int64),
        "piece_end": np.array([piece.end for piece in flat], dtype=np.int64),
        "piece_episode": np.array([piece.episode for piece in flat], dtype=np.int64),
        "piece_backward": np.array([piece.backward for piece in flat], dtype=np.int64),
    }
