"""What an animal or a model replayed, as sequences of places, and what places meant to the animal.

A condition is where and when: an end of a track in the laps in which it paid more. Replay in each
sense is compared between conditions, since a change may speak for an account whose mean does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.inference.moves import Headings, nearest_states
from analyses.sequences import RECORDED
from analyses.sequences.logs import Columns
from analyses.sequences.place_sequences import headings_along, runs_along
from analyses.sequences.sequences import Lists
from analyses.sequences.track import Track
from replay.checks import check_all, check_column, check_table
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.worlds.mdp import MDP

SENSES = ("forward", "backward")
"""Measures of `analyses.inference.features` that are compared between conditions."""
_MOST_AMOUNTS = 4  # each a condition of its own
_DIGITS = 9  # amounts that differ by rounding are one
_LIMITS = {"first_lap": "number", "last_lap": "number", "state": "whole", "x": "number"}
Conditions = tuple[tuple[str, ...], NDArray[np.int16]]
"""Names, and the number of the one of each place in each lap, shape (n_laps, n_places); -1: none"""


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


def check_conditions(table: pd.DataFrame, what: str) -> pd.DataFrame:
    """Check a table of conditions: `condition`, and optionally places and laps."""
    check_table(table, ["condition", *(["y"] if "x" in table else [])], what)
    check_all(
        partial(check_column, table, name, what, kind=kind, missing=kind == "number")
        for name, kind in (_LIMITS | {"y": "number"}).items() if name in table
    )  # fmt: skip
    return table


def given_conditions(table: pd.DataFrame, world: MDP, distance: Floats, n_laps: int) -> Conditions:
    """Read conditions from a table of `condition`, `state` or `x, y` (cm), `first_lap, last_lap`.

    A condition holds at a state and at those next to it, unless they have another; without a place,
    everywhere. Laps are numbered from 0; without a first or last one, it holds from the first or to
    the last lap.
    """
    table = check_conditions(table, "conditions")
    if "x" in table:
        table = table.assign(state=nearest_states(table, world))
    names = tuple(dict.fromkeys(table["condition"].astype(str)))
    number = np.full((n_laps, len(distance)), -1, dtype=np.int16)
    away = np.full(number.shape, np.inf)
    for row in table.to_dict("records"):
        state = row.get("state", -1)
        if state >= len(distance):
            raise ValueError(f"conditions has state {state}; there are {len(distance)}, from 0.")
        own = np.zeros(len(distance)) if state < 0 else distance[int(state)]
        first, last = np.nan_to_num(
            [row.get("first_lap", 0.0), row.get("last_lap", np.nan)], nan=-1
        )
        laps = np.arange(n_laps)[:, None]
        holds = (laps >= first) & ((laps <= last) | (last < 0)) & (own <= 1)
        here = names.index(str(row["condition"]))
        again = holds & (own == 0) & (away == 0) & (number != here)
        if again.any():
            lap, place = np.argwhere(again)[0].tolist()
            raise ValueError(f"conditions says two things of state {place} in lap {lap}: say one.")
        nearer = holds & (own < away)
        number[nearer], away[nearer] = here, np.broadcast_to(own, away.shape)[nearer]
    return names, number


def conditions_by_reward(steps: Columns, lap: Int32s, distance: Floats) -> Conditions:
    """Derive conditions from what places that pay paid when they were entered last.

    Each amount is one, or, of more than four, nothing, less and more than the median. There is none
    if all of these places always pay the same.

    Examples
    --------
    >>> moves = {"next_state": np.array([1, 2, 1, 2]), "reward": np.array([0.0, 1.0, 0.0, 4.0])}
    >>> line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> names, number = conditions_by_reward(moves, np.array([0, 0, 1, 1]), line)
    >>> names, number.tolist()
    (('1 paid', '4 paid'), [[-1, 0, 0], [-1, 1, 1]])
    """
    n_laps, n_places = int(lap[-1]) + 1, len(distance)
    amount = np.full((n_laps, n_places), np.nan)
    np.fmax.at(amount, (lap, steps["next_state"]), np.round(steps["reward"], _DIGITS))
    pays = np.flatnonzero(np.nanmax(np.where(np.isnan(amount), 0.0, amount), axis=0) > 0)
    latest = pd.DataFrame(amount[:, pays]).ffill().to_numpy()
    near = np.full((n_laps, n_places), np.nan)
    for k, place in enumerate(pays.tolist()):
        around = distance[place] <= 1
        near[:, around] = np.fmax(near[:, around], latest[:, [k]])
    known = np.unique(near[~np.isnan(near)])
    if len(known) > _MOST_AMOUNTS:
        middle = np.median(near[near > 0])
        names: tuple[str, ...] = ("nothing paid", "less paid", "more paid")
        number = np.where(near > 0, 1 + (near > middle), 0)
    else:
        names, number = tuple(f"{each:g} paid" for each in known), np.searchsorted(known, near)
    if len(known) < 2:
        return (), np.empty((0, 0), dtype=np.int16)
    return names, np.where(np.isnan(near), -1, number).astype(np.int16)


def senses_by_condition(
    measured: pd.DataFrame, number: NDArray[np.int16], names: tuple[str, ...]
) -> dict[tuple[str, str, str], float]:
    """Return the mean share of moves in each sense by condition, and less that in the first one.

    `number` is the condition of each sequence. Keys are the sense, the condition, and the one that
    it is compared with, if any; NaN where there is no sequence.
    """
    found = dict[tuple[str, str, str], float]()
    for sense in SENSES:
        values = measured[sense].to_numpy()
        means = [
            float(values[number == k].mean()) if (number == k).any() else np.nan
            for k in range(len(names))
        ]
        found |= {(sense, name, ""): mean for name, mean in zip(names, means, strict=True)}
        found |= {
            (sense, name, names[0]): mean - means[0]
            for name, mean in zip(names[1:], means[1:], strict=True)
        }
    return found
