"""What statistics are computed from, the tables of replay, and their values: one row an animal.

A statistic is a function of all replays in one task, by one learner or from one recording. It
returns one row per animal: replays of one animal resemble one another, so the animal is the unit of
every interval and test. The value is NaN where the data of an animal do not determine it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyses.sequences import Detection
from analyses.sequences.place_sequences import at_least
from analyses.sequences.sequences import Lists
from replay.checks import check_table
from replay.checks.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from replay.tasks import Task


AWAKE = ("start", "episode_end")
"""Pauses before and after a lap."""

AT_REST = ("rest",)
"""Pauses at rest: between sessions, before the first lap or after the last."""

PAUSES = (*AWAKE, *AT_REST)
"""The phases in which an animal pauses; replay during a lap is not counted."""

COUNTS = ("place sequences", "causal chains")
"""What statistics count: sequences as an electrode would see them, or the mechanism of a model."""
_HALF = 0.5  # of a sequence


@dataclass(frozen=True, eq=False, repr=False)
class Replays:
    """All replays of some animals in one task.

    Attributes
    ----------
    sequences : DataFrame
        One row per sequence. Place sequences have the columns of :func:`analyses.place_sequences`,
        always with `shortcut` and `impossible` (null if unknown); causal chains those of
        :func:`analyses.classify` and `distance, shortcut, impossible`.
        Further columns are `animal, block, lap` (the lap just run, or about to be run at a start),
        `place` (where the animal is), `extent` (the largest distance along the track between two
        places, in cm) and `correlation` (between a place's order and its distance from the first).
        Rows are sorted by animal and then by time.
    states : Lists
        The places of all sequences once more, in one array.
    pauses : DataFrame
        One row per pause, with or without replay: `animal, block, lap, episode, phase, place`.
    laps : DataFrame
        One row per lap: `animal, episode, block, lap, start, end, reward, n_steps`, and further
        columns of the animals' laps.
    reactivations : DataFrame
        The reactivated places in which place sequences were found: `animal, event, phase, place`.
        Empty for causal chains.
    task : Task
        The task, with `places, node, graph, position, landmarks, local_radius`.
    counts : {"place sequences", "causal chains"}
        The kind of sequence.
    detection : Detection
        The criteria that all sequences meet.
    phases : tuple of str, default ("start", "episode_end")
        The pauses whose sequences a statistic counts, which sets them.
    """

    sequences: pd.DataFrame
    states: Lists
    pauses: pd.DataFrame
    laps: pd.DataFrame
    reactivations: pd.DataFrame
    task: Task
    counts: str = COUNTS[0]
    detection: Detection = Detection()  # noqa: RUF009 (immutable)
    phases: tuple[str, ...] = AWAKE

    def __post_init__(self) -> None:
        """Refuse places of other sequences."""
        if len(self.states.length) != len(self.sequences):
            raise ValueError(
                f"{len(self.sequences)} sequences need a list of states each, got "
                f"{len(self.states.length)}: replace both."
            )

    def __repr__(self) -> str:
        """Summarise the numbers of animals, pauses and sequences in a line."""
        return (
            f"Replays({len(self.animals)} animals in {self.task.name!r}, {len(self.pauses):,} "
            f"pauses, {len(self.sequences):,} {self.counts})"
        )

    def detected(self, detection: Detection) -> Replays:
        """Keep only the sequences that meet the criteria of a study.

        Parameters
        ----------
        detection : Detection
            The criteria. The largest jump must be the one with which the sequences were made.

        Returns
        -------
        Replays
            The same pauses and laps, with fewer sequences.

        Raises
        ------
        TypeError
            If `detection` is not a `Detection`.
        ValueError
            If a criterion is out of range or less strict than before, or the largest jump differs.
        """
        if not isinstance(detection, Detection):
            raise TypeError(f"detection must be a Detection, got {type(detection).__name__}.")
        detection.check()
        before = self.detection
        if detection.largest_jump != before.largest_jump:
            raise ValueError(
                f"These sequences were made with largest_jump={before.largest_jump}, not "
                f"{detection.largest_jump}: make them again."
            )
        for name in ("min_length", "min_distance", "min_extent", "min_correlation"):
            wanted, least = getattr(detection, name), getattr(before, name)
            if wanted < least:
                raise ValueError(f"{name} must be at least {least}, as before; got {wanted}.")
        table = self.sequences
        kept = table["n_distinct"].to_numpy() >= detection.min_length
        for name in ("distance", "extent"):
            least = getattr(detection, f"min_{name}")
            if least > 0:
                kept &= at_least(table[name].to_numpy(), least)
        if detection.min_correlation > 0:
            kept &= np.abs(table["correlation"].to_numpy()) >= detection.min_correlation
        return replace(
            self,
            sequences=table[kept].reset_index(drop=True),
            states=self.states.select(kept),
            detection=detection,
        )

    @cached_property
    def animals(self) -> pd.Index[int]:
        """The numbers of all animals, with or without replay, sorted."""
        seen = [table["animal"] for table in (self.pauses, self.sequences, self.laps)]
        animals: pd.Index[int] = pd.Index(np.unique(np.concatenate(seen)), name="animal")
        return animals


class Statistic(NamedTuple):
    """A statistic of replay.

    Attributes
    ----------
    label : str
        The label of an axis.
    function : callable
        Computes it from `Replays`; its docstring says what the statistic and its null are.
    is_share : bool, default False
        Whether it is a share of sequences: between 0 and 1, and tested as a binomial count. Other
        statistics are numbers, or differences and log ratios of either sign.
    span : tuple of float, default (-1, 1)
        The range within which the value of any other statistic is expected before it is measured.
    phases : tuple of str, default ("start", "episode_end")
        The pauses whose sequences it counts.
    """

    label: str
    function: Callable[[Replays], pd.DataFrame]
    is_share: bool = False
    span: tuple[float, float] = (-1.0, 1.0)
    phases: tuple[str, ...] = AWAKE

    def compute(self, replays: Replays) -> pd.DataFrame:
        """Compute it for all animals.

        One row per animal: `animal`, `value`, `null` (the value expected for this animal by chance)
        and `n` (sequences, or pauses where these are counted).
        """
        is_set = self.phases == replays.phases
        return self.function(replays if is_set else replace(replays, phases=self.phases))

    @property
    def definition(self) -> str:
        """What its function computes, for all statistics of that function, and the null."""
        return inspect.getdoc(getattr(self.function, "func", self.function)) or ""


Share = partial(Statistic, is_share=True)
"""A statistic that is a share of sequences."""

WideStatistic = partial(Statistic, span=(-2.0, 2.0))
"""A statistic with a wide range, such as log ratios of rates have."""


def is_one_of(column: pd.Series, names: Iterable[object]) -> Bools:
    """Return which rows of a column hold one of some names; categories are looked up only once.

    Examples
    --------
    >>> is_one_of(pd.Series(["start", "rest"], dtype="category"), ["rest"]).tolist()
    [False, True]
    """
    wanted, values = set(names), column.array
    if isinstance(values, pd.Categorical):
        found = [name in wanted for name in values.categories.tolist()]
        return np.array([*found, False], dtype=bool).take(values.codes)
    return np.asarray(column.isin(wanted), dtype=bool)


def name_codes(column: pd.Series, names: Sequence[str]) -> Ints:
    """Return the position in a list of the name in each row of a column, -1 for other names.

    Examples
    --------
    >>> name_codes(pd.Series(["run", "rest"], dtype="category"), ["rest"]).tolist()
    [-1, 0]
    """
    number, values = {name: i for i, name in enumerate(names)}, column.array
    if isinstance(values, pd.Categorical):
        found = [number.get(name, -1) for name in values.categories.tolist()]
        return np.array([*found, -1], dtype=np.int64).take(values.codes)
    return np.array([number.get(name, -1) for name in values], dtype=np.int64)


def chosen(replays: Replays, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Choose the sequences that a statistic counts: those of its phases.

    Where it asks for the `place` of the animal, those for which it is unknown are left out.

    Returns `animal` and the asked columns; the index is the row in ``replays.sequences``.
    """
    asked = list(dict.fromkeys(["animal", *columns]))
    table = check_table(replays.sequences, ["phase", *asked], "sequences")
    counts = is_one_of(table["phase"], replays.phases)
    if "place" in asked:
        counts &= table["place"].to_numpy() >= 0
    kept = np.flatnonzero(counts)
    return pd.DataFrame({name: table[name].array[kept] for name in asked}, index=kept)


def chosen_pauses(replays: Replays) -> pd.DataFrame:
    """Choose the pauses of the phases that a statistic counts."""
    return replays.pauses[is_one_of(replays.pauses["phase"], replays.phases)]


def directional(sequences: pd.DataFrame) -> pd.DataFrame:
    """Keep only forward and reverse sequences.

    Sequences without a direction, mixed ones, and those along moves made in both directions are
    dropped.
    """
    return sequences[is_one_of(sequences["direction"], ["forward", "reverse"])]


def paths(replays: Replays, sequences: pd.DataFrame) -> Lists:
    """Return the places of sequences as `chosen` returns them."""
    return replays.states.take(sequences.index.to_numpy())


def own_code(animals: pd.Index[int], table: pd.DataFrame) -> Ints:
    """Return the position in `animals`, which is sorted, of the animal of each row of a table."""
    return np.searchsorted(animals.to_numpy(), table["animal"].to_numpy())


def laps_in_order(replays: Replays) -> Replays:
    """Sort laps by animal and episode."""
    laps = replays.laps
    animal, episode = laps["animal"].to_numpy(), laps["episode"].to_numpy()
    if (np.lexsort((episode, animal)) == np.arange(len(laps))).all():
        return replays
    return replace(replays, laps=laps.sort_values(["animal", "episode"], ignore_index=True))


def laps_done(pauses: pd.DataFrame) -> Ints:
    """Count the laps completed by the time of each pause (or sequence); 0 before all laps."""
    return pauses["episode"].to_numpy() + ~is_one_of(pauses["phase"], AWAKE[:1])


def laps_around(replays: Replays, pauses: pd.DataFrame) -> tuple[Ints, Ints]:
    """Find the lap before each pause (or sequence), and the lap after it.

    Returns positions of rows in ``replays.laps``; -1 if there is no such lap. `at_lap` takes
    values from there.
    """
    animals, laps = replays.animals, replays.laps
    n_laps = int(laps["episode"].max()) + 2 if len(laps) else 2
    row = np.full((len(animals), n_laps), -1)
    row[own_code(animals, laps), laps["episode"].to_numpy(int)] = np.arange(len(laps))
    own, done = own_code(animals, pauses), laps_done(pauses)
    before, after = (
        np.where((lap >= 0) & (lap < n_laps), row[own, np.clip(lap, 0, n_laps - 1)], -1)
        for lap in (done - 1, done)
    )
    return before, after


def at_lap(values: npt.ArrayLike, lap: Ints, none: float) -> npt.NDArray[Any]:
    """Take the values of laps at positions from `laps_around`; `none` where there is no lap.

    Examples
    --------
    >>> at_lap([5, 7], np.array([1, -1, 0]), none=0).tolist()
    [7, 0, 5]
    """
    return np.append(values, none)[lap]  # position -1 is the last


def rows(
    animals: pd.Index[int] | pd.Series[int],
    value: npt.ArrayLike,
    null: npt.ArrayLike,
    n: npt.ArrayLike,
) -> pd.DataFrame:
    """Build the table of a statistic, one row per animal; the null is NaN where the value is."""
    value = np.broadcast_to(np.asarray(value, dtype=float), len(animals))
    null = np.where(np.isnan(value), np.nan, null)
    n = np.broadcast_to(np.asarray(n), len(animals)).astype(np.int64)
    return pd.DataFrame({"animal": animals, "value": value, "null": null, "n": n})


def share(
    replays: Replays, table: pd.DataFrame, hits: npt.ArrayLike, null: npt.ArrayLike = np.nan
) -> pd.DataFrame:
    """Average a property of sequences, and the value expected by chance, over those of each animal.

    `hits` and `null` have one entry per row of `table`; a null may also be the same for all.
    """
    animals = replays.animals
    code = own_code(animals, table)
    n = np.bincount(code, minlength=len(animals))
    expected = np.broadcast_to(np.asarray(null, dtype=float), len(table))
    sums = (
        np.bincount(code, np.asarray(what, dtype=float), minlength=len(animals))
        for what in (hits, expected)
    )
    value, chance = (total / np.where(n > 0, n, np.nan) for total in sums)
    return rows(animals, value, chance, n)


def difference(replays: Replays, one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Subtract the values of a table of `rows` from those of another; the null is 0."""
    return rows(replays.animals, one["value"] - other["value"], 0.0, one["n"] + other["n"])


def count_in_cells(replays: Replays, table: pd.DataFrame, cells: Ints, n_cells: int) -> Ints:
    """Count each animal's sequences (or pauses) in cells, separately before and after laps.

    A cell is, for example, an end of the track in a block. `cells` has the number of each row's
    cell, or of each arm's at each row, -1 for none. The counts have the shape (n_animals, n_cells,
    2): pauses before a lap, and after one.
    """
    animals = replays.animals
    code, phase = own_code(animals, table), (~is_one_of(table["phase"], AWAKE[:1])).astype(int)
    shape = len(animals), n_cells, len(AWAKE)
    row = np.nonzero(cells >= 0)
    at = np.ravel_multi_index((code[row[0]], cells[row], phase[row[0]]), shape)
    return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)


def log_rates(n_sequences: Ints, n_pauses: Ints) -> Floats:
    """Return the log of the number of sequences per stop in each cell.

    A stop has a pause after a lap and one before the next; its rate is the sum of the rates of both
    kinds of pause. Cells with fewer pauses of one kind therefore remain comparable (the first lap
    has no pause before it). The rate of half a sequence in an average cell is added to each rate,
    so that a rate of zero has a logarithm, too.

    Takes counts as `count_in_cells` returns them; the shape is (n_animals, n_cells). NaN for a cell
    without pauses of a kind that the animal's other cells have, and for animals without any
    sequence.

    Examples
    --------
    One animal with nine sequences in ten pauses and in twenty, all after laps; another with none:

    >>> n_sequences = np.array([[[0, 9], [0, 9]], [[0, 0], [0, 0]]])
    >>> n_pauses = np.array([[[0, 10], [0, 20]], [[0, 10], [0, 20]]])
    >>> log_rates(n_sequences, n_pauses).round(2).tolist()
    [[-0.07, -0.73], [nan, nan]]
    """
    has_kind = n_pauses.any(axis=1, keepdims=True)
    rate = n_sequences / np.where(n_pauses > 0, n_pauses, np.where(has_kind, np.nan, 1))
    n_stops = n_pauses.mean(axis=1).max(axis=-1)
    half = _HALF / np.where(n_stops > 0, n_stops, np.nan)
    rates = np.log(rate.sum(axis=-1) + half[:, None])
    return np.where(n_sequences.sum(axis=(1, 2))[:, None] > 0, rates, np.nan)


def log_ratio(replays: Replays, n_sequences: Ints, n_pauses: Ints) -> pd.DataFrame:
    """Return the `log_rates` in the second of two cells minus those in the first; the null is 0."""
    rate = log_rates(n_sequences, n_pauses)
    return rows(replays.animals, rate[:, 1] - rate[:, 0], 0.0, n_sequences.sum(axis=(1, 2)))
