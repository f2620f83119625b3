"""The laps of animals as arrays, with checks; their table, and that of the pauses around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import PAUSES
from analyses.sequences.logs import Columns
from replay.checks import check_column, check_table
from replay.checks.arrays import Ints

if TYPE_CHECKING:
    from replay.tasks import Task


_MOST_PAUSES = 1_000_000  # at rest after a lap, each a row of a table
_WHOLE = ("episode", "start", "end", "n_rest")
_NAMES = ("block", "lap")
_START, _REST = PAUSES.index("start"), PAUSES.index("rest")


def checked_laps(laps: pd.DataFrame, n_places: int) -> dict[str, NDArray[Any]]:
    """Check the laps of one animal: whole numbers first, then names, then other columns."""
    check_table(laps, ["episode", "block", "lap", "start", "end", "n_rest"], "laps")
    most = {"start": n_places - 1, "end": n_places - 1, "n_rest": _MOST_PAUSES, "episode": np.inf}
    whole = {
        name: check_column(laps, name, "laps", kind="whole", at_least=0, at_most=at_most)
        for name, at_most in most.items()
    }
    episode = whole["episode"]
    descends = np.flatnonzero(np.diff(episode) <= 0)
    if len(descends):
        row = int(descends[0]) + 1
        raise ValueError(
            f"The column 'episode' of laps must ascend, with one row per lap; row {row} has "
            f"{episode[row]} after {episode[row - 1]}."
        )
    return {
        **{name: whole[name].astype(np.int64) for name in _WHOLE},
        **{name: laps[name].astype(str).to_numpy(object) for name in _NAMES},
        **{str(name): laps[name].to_numpy() for name in laps if name not in (*_WHOLE, *_NAMES)},
    }


class Laps(NamedTuple):
    """The laps of all animals, one animal after the other."""

    animals: Ints  # their numbers; shape (n_animals,)
    # The row at which the laps of each animal begin, and their total number; shape (n_animals +
    # 1,).
    begin: Ints
    # Columns as of `checked_laps`, the names as positions in `labels`; and `second`, the place
    # entered first; shape (n_laps,).
    columns: dict[str, NDArray[Any]]
    # The names of blocks and of laps. The first is that before all laps.
    labels: dict[str, list[str]]
    n_before: int  # the number of pauses at rest before all laps

    @classmethod
    def of(cls, task: Task, animals: list[int], laps: list[Columns], second: list[Ints]) -> Laps:
        """Concatenate the checked laps of animals; `second` has the place entered first in each."""
        for each in laps[1:]:
            if each.keys() != laps[0].keys():
                known = (*_WHOLE, *_NAMES)
                one, two = ([name for name in of if name not in known] for of in (laps[0], each))
                raise ValueError(
                    f"The laps of all animals must have the same columns; got {one} and {two}."
                )
        columns = {name: np.concatenate([each[name] for each in laps]) for name in laps[0]}
        # A first block without laps is rest before all of them.
        rests = bool(task.blocks) and not task.blocks[0].n_laps
        before = [task.blocks[0].name if rests else "", *(block.name for block in task.blocks)]
        labels = {}
        for name, first in (("block", before), ("lap", [""])):
            labels[name] = list(dict.fromkeys([*first, *columns[name].tolist()]))
            number = {label: i for i, label in enumerate(labels[name])}
            of_lap = [number[label] for label in columns[name].tolist()]
            columns[name] = np.array(of_lap, dtype=np.int64)
        return cls(
            np.array(animals),
            np.append(0, np.cumsum([len(each["episode"]) for each in laps])),
            {**columns, "second": np.concatenate(second)},
            labels,
            task.blocks[0].n_rest if before[0] else 0,
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row per lap."""
        named = {name: category(self.columns[name], self.labels[name]) for name in _NAMES}
        animal = np.repeat(self.animals, np.diff(self.begin))
        return pd.DataFrame({"animal": animal, **self.columns, **named})

    def codes_at(self, owner: Ints, episode: Ints) -> dict[str, Ints]:
        """Return the positions in `labels` of blocks and laps for episodes of animals.

        `owner` numbers the animals from 0. Before the first lap, both have the first label.
        """
        of_lap = self.columns["episode"]
        known = np.repeat(np.arange(len(self.animals)), np.diff(self.begin))
        # Animal and episode as one number, which ascends.
        last = int(max(of_lap.max(initial=0), episode.max(initial=0))) + 2
        key, wanted = known * last + of_lap, owner * last + episode
        lap = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        is_known = key[lap] == wanted if len(key) else np.zeros(len(wanted), dtype=bool)
        return {
            name: np.where(is_known, self.columns[name][lap], np.where(episode < 0, 0, -1))
            for name in _NAMES
        }

    def pauses(self) -> pd.DataFrame:
        """List all pauses: before each lap except the first, after each lap, and at rest."""
        first, has_laps = self.begin[:-1], np.diff(self.begin) > 0
        episode, start, end, n_rest = (self.columns[name] for name in _WHOLE)
        is_first = np.zeros(len(episode), dtype=np.int64)
        is_first[first[has_laps]] = 1
        # What comes before the laps of an animal is one more lap, which has nothing but rest.
        n_pauses = np.insert(2 - is_first + n_rest, first, np.where(has_laps, self.n_before, 0))

        def spread(of_lap: Ints, before: int | Ints) -> Any:
            return np.repeat(np.insert(of_lap, first, before), n_pauses)

        rank = np.arange(n_pauses.sum()) - np.repeat(np.cumsum(n_pauses) - n_pauses, n_pauses)
        phase = np.minimum(rank + spread(is_first, _REST), _REST)
        place_before = np.zeros(len(first), dtype=np.int64)
        place_before[has_laps] = start[first[has_laps]]
        n_of_animal = np.diff(self.begin) + 1
        return pd.DataFrame(
            {
                "animal": np.repeat(np.repeat(self.animals, n_of_animal), n_pauses),
                "episode": spread(episode, -1),
                **{
                    name: category(spread(self.columns[name], 0), self.labels[name])
                    for name in _NAMES
                },
                "phase": category(phase, PAUSES),
                "place": np.where(phase == _START, spread(start, 0), spread(end, place_before)),
            }
        )


def category(codes: Ints, labels: Sequence[str]) -> pd.Categorical:
    """Make a column of names from their positions in a list."""
    return pd.Categorical.from_codes(codes, categories=pd.Index(list(labels), dtype=object))


def second_places(steps: Columns, episode: Ints) -> Ints:
    """Return the place entered first in each lap; -1 for a lap without steps in the log."""
    begins = np.flatnonzero(np.diff(steps["episode"], prepend=-1))
    if not len(begins):
        return np.full(len(episode), -1)
    known = steps["episode"][begins]
    found = np.minimum(np.searchsorted(known, episode), len(known) - 1)
    return np.where(known[found] == episode, steps["next_state"][begins[found]], -1)
