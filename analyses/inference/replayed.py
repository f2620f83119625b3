"""What an animal or a model replayed, as sequences of places, and the places of a track."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.inference.moves import Headings
from analyses.sequences import RECORDED
from analyses.sequences.place_sequences import headings_along, runs_along
from analyses.sequences.sequences import Columns, Lists
from analyses.sequences.track import Track
from replay.checks.arrays import Bools, Floats, Int32s, Ints


class Replayed(NamedTuple):
    """Place sequences of an animal, real or simulated, in order; one entry for each sequence."""

    lap: Int32s  # the lap after or in which it was replayed, from 0
    step: Ints  # the move after which it was, from 0; -1 before the first
    phase: NDArray[np.int8]  # its number in `replay.log.backups.PHASES`
    location: Int32s  # where the animal was; -1 if unknown
    states: Lists  # its places, in the order of replay
    event: Ints  # the number of the event that it belongs to
    # Whether the heading represented at each place is that of travel (1), the opposite (-1), or
    # unknown (0).
    along: Lists

    def take(self, numbers: Ints) -> Replayed:
        """Select sequences by their numbers."""
        return Replayed._make(column.take(numbers) for column in self)

    @classmethod
    def joined(cls, parts: Sequence[Replayed]) -> Replayed:
        """Take the sequences of several replays together, one after the other."""
        fields: list[Any] = []
        for columns in zip(*parts, strict=True):
            if isinstance(columns[0], Lists):
                fields.append(Lists.joined(columns))
            else:
                fields.append(np.concatenate(columns))
        return cls._make(fields)

    @classmethod
    def found(
        cls, reactivated: Columns, track: Track, laps: Int32s, headings: Headings | None
    ) -> Replayed:
        """Find the sequences in reactivated places, by the same criteria for animal and model.

        `laps` has the lap of each step; without `headings`, no heading is known.
        """
        rows, states = runs_along(reactivated, track, RECORDED)
        step = reactivated["step"][rows]
        along = Lists(np.zeros(len(states.flat), dtype=np.int8), states.begin)
        if headings is not None and "along" in reactivated:
            along = headings_along(reactivated, rows, states)
        return cls(
            lap=np.where(step < 0, 0, laps[np.clip(step, 0, len(laps) - 1)]).astype(np.int32),
            step=step, phase=reactivated["phase"][rows], location=reactivated["location"][rows],
            states=states, event=reactivated["event"][rows], along=along,
        )  # fmt: skip

    @property
    def has_heading(self) -> Bools:
        """Whether the heading of each sequence is known anywhere, shape (n_sequences,)."""
        n_known = np.bincount(self.along.owner, self.along.flat != 0, minlength=len(self.lap))
        return np.asarray(n_known > 0)


@dataclass(frozen=True, eq=False)
class Places:
    """The places of a track, the moves between neighbours, and what they meant to the animal."""

    # Moves between two places on the shortest path, shape (n_places, n_places); the largest known
    # number plus one where there is none.
    distance: Floats
    move: Int32s  # of two places, the number of the move; -1 if no neighbours
    ends: Int32s  # the two places of each move, shape (n_moves, 2)
    # Lap by lap, shape (n_laps, n_moves): the latest in which a move was made (-1: none), and how
    # often it had been made at its end.
    last_made: Int32s
    n_made: Floats
    # The place that paid most up to the end of each lap, the latest if several did; -1 if none.
    goal: Int32s
    # The conditions of the experiment, and their numbers, shape (n_laps, n_places); -1: none.
    conditions: tuple[str, ...]
    condition: NDArray[np.int16]
    has_headings: bool = False  # whether the headings of replay are known

    @property
    def n_places(self) -> int:
        """Number of places."""
        return len(self.distance)

    @property
    def n_moves(self) -> int:
        """Number of moves to a neighbour, both directions counted."""
        return len(self.ends)
