"""The tables that statistics read, which sequences they count, and what a statistic gives.

A statistic is a function of all replays of one task, by one learner or from one recording. It gives
one row an animal: replays of one animal resemble one another, so the animal is the unit of every
interval and test. A row's value is NaN where the animal has nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csgraph

from analyses.sequences.place_sequences import Detection, at_least
from analyses.sequences.sequences import Lists
from replay.checks import check_table
from replay.jit import kernel

if TYPE_CHECKING:
    from replay.tasks import Task

__all__ = ["AWAKE", "COUNTS", "REST", "Replays", "Statistic", "between_nodes", "chosen", "counted"]
__all__ += ["covered", "directional", "is_one_of", "landmark", "laps_around"]
__all__ += [
    "in_order",
    "laps_done",
    "log_rates",
    "name_codes",
    "own_code",
    "paths",
    "rows",
    "share",
]

AWAKE = ("start", "episode_end")
"""Pauses during a session; in all others the animal rests."""

REST = ("rest",)
"""Pauses at rest: between sessions, before the first lap or after the last."""

COUNTS = ("place sequences", "causal chains")
"""What is counted: what an electrode would see, or the mechanism of a model."""

_HALF = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Replays:
    """All replays of some animals in one task.

    Attributes
    ----------
    sequences : DataFrame
        One row a sequence. If `counts` says so, the columns are those of
        :func:`analyses.place_sequences`, else those of :func:`analyses.classify` with `distance,
        shortcut, impossible`. To these come `animal, block, lap` (the lap just run, or about to be
        run at a start), `place` (where the animal is), `extent` (the largest distance along the
        track between two places, in cm) and `correlation` (of a place's order with its distance
        from the first). Animals stand one after the other, and sequences in order of time.
    pauses : DataFrame
        One row a pause, also those without replay: `animal, block, lap, episode, phase, place`.
    laps : DataFrame
        One row a lap: `animal, episode, block, lap, start, end, reward, n_steps`, and what else the
        laps of the animals have.
    reactivations : DataFrame
        What place sequences were found in: `animal, event, phase, place`. Without rows of causal
        chains.
    task : Task
        What places there are: `places, node, graph, position, landmarks, local_radius`.
    counts : {"place sequences", "causal chains"}
        What a sequence is.
    detection : Detection
        The criteria that all sequences meet.
    """

    sequences: pd.DataFrame
    pauses: pd.DataFrame
    laps: pd.DataFrame
    reactivations: pd.DataFrame
    task: Task
    counts: str = COUNTS[0]
    detection: Detection = Detection()  # noqa: RUF009 (immutable)

    def __repr__(self) -> str:
        """Tell how much there is."""
        return (
            f"Replays({len(self.animals)} animals in {self.task.name!r}, {len(self.pauses):,} "
            f"pauses, {len(self.sequences):,} {self.counts})"
        )

    def detected(self, detection: Detection) -> Replays:
        """Leave out the sequences that don't meet the criteria of a study.

        Parameters
        ----------
        detection : Detection
            The criteria. The largest jump must be that with which the sequences were made.

        Returns
        -------
        Replays
            The same pauses and laps, with fewer sequences.

        Raises
        ------
        TypeError
            If `detection` is no `Detection`.
        ValueError
            If a criterion is out of range or less strict than what was left out before, or the jump
            is another one.
        """
        if not isinstance(detection, Detection):
            raise TypeError(f"detection must be a Detection, got {type(detection).__name__}.")
        detection.check()
        before = self.detection
        if detection.largest_jump != before.largest_jump:
            raise ValueError(
                f"These sequences were made with largest_jump={before.largest_jump}, not "
                f"{detection.largest_jump}: make them anew."
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
        found = replace(self, sequences=table[kept].reset_index(drop=True), detection=detection)
        if "states" in self.__dict__:  # cheaper than from the table
            found.__dict__["states"] = self.states.select(kept)
        return found

    @cached_property
    def states(self) -> Lists:
        """The places of all sequences, one after the other."""
        return Lists.of(self.sequences["states"])

    @cached_property
    def animals(self) -> pd.Index[int]:
        """The number of each animal, those without any replay too, sorted."""
        seen = [table["animal"] for table in (self.pauses, self.sequences, self.laps)]
        animals: pd.Index[int] = pd.Index(np.unique(np.concatenate(seen)), name="animal")
        return animals


class Compute(Protocol):
    """Computes a statistic: one row an animal, with the columns `animal, value, null, n`.

    `value` is the animal's own and `null` what to expect of it by chance; `n` counts its sequences,
    or its pauses where these are counted.
    """

    def __call__(self, replays: Replays) -> pd.DataFrame: ...


class Statistic(NamedTuple):
    """A statistic of replay.

    Attributes
    ----------
    label : str
        What an axis says.
    compute : callable
        ``compute(replays)`` gives one row an animal: `animal`, `value`, `null` (what to expect of
        this animal by chance) and `n` (sequences, or pauses where these are counted).
    is_share : bool, default False
        Whether it is a share of sequences: between 0 and 1, and tested as a binomial count. Others
        are differences and log ratios, of either sign, and numbers.
    """

    label: str
    compute: Compute
    is_share: bool = False


def is_one_of(column: pd.Series, names: Iterable[object]) -> NDArray[np.bool_]:
    """Tell which rows of a column hold one of some names.

    Parameters
    ----------
    column : Series
        A column of names; categories are looked up, not compared row by row.
    names : iterable of str
        The names.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        Whether each holds one.

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


def name_codes(column: pd.Series, names: Sequence[str]) -> NDArray[np.int64]:
    """Give the place in a list of the name in each row of a column.

    Parameters
    ----------
    column : Series
        A column of names; categories are looked up, not compared row by row.
    names : sequence of str
        The list.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Places in the list, counted from 0; -1 for none.

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


def chosen(
    replays: Replays, columns: Sequence[str] = (), phases: Sequence[str] = AWAKE
) -> pd.DataFrame:
    """Choose the sequences that a statistic counts.

    Parameters
    ----------
    replays : Replays
        The tables.
    columns : sequence of str, optional
        What is needed of the sequences besides `animal`.
    phases : sequence of str, default ``AWAKE``
        In which pauses.

    Returns
    -------
    DataFrame
        Their columns `animal` and `columns`; the index has their rows in `replays.sequences`.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    asked = list(dict.fromkeys(["animal", *columns]))
    table = check_table(replays.sequences, ["phase", *asked], "sequences")
    kept = np.flatnonzero(is_one_of(table["phase"], phases))
    return pd.DataFrame({name: table[name].array[kept] for name in asked}, index=kept)


def directional(sequences: pd.DataFrame) -> pd.DataFrame:
    """Leave out sequences that go neither way or both, be it one after the other or at once.

    Parameters
    ----------
    sequences : DataFrame
        Has a column `direction`.

    Returns
    -------
    DataFrame
        The forward and the reverse ones.
    """
    return sequences[is_one_of(sequences["direction"], ["forward", "reverse"])]


def own_code(animals: pd.Index[int], table: pd.DataFrame) -> NDArray[np.int64]:
    """Give the place in a list of the animal of each row.

    Parameters
    ----------
    animals : Index, shape (n_animals,)
        The list: all animals of the table, sorted, as ``Replays.animals``.
    table : DataFrame
        Has a column `animal`.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Places in the list.
    """
    return np.searchsorted(animals.to_numpy(), table["animal"].to_numpy())


def rows(
    animals: pd.Index[int] | pd.Series[int],
    value: npt.ArrayLike,
    null: npt.ArrayLike,
    n: npt.ArrayLike,
) -> pd.DataFrame:
    """Write what each animal has to say as one row.

    Parameters
    ----------
    animals : Index or Series, shape (n_animals,)
        The animals.
    value, null, n : array_like, shape (n_animals,) or scalar
        The value, what to expect by chance, and how many sequences there were.

    Returns
    -------
    DataFrame
        Columns `animal, value, null, n`; the null is NaN where the value is.
    """
    value = np.broadcast_to(np.asarray(value, dtype=float), len(animals))
    null = np.where(np.isnan(value), np.nan, null)
    n = np.broadcast_to(np.asarray(n), len(animals)).astype(np.int64)
    return pd.DataFrame({"animal": animals, "value": value, "null": null, "n": n})


def share(
    replays: Replays, table: pd.DataFrame, hits: npt.ArrayLike, null: npt.ArrayLike = np.nan
) -> pd.DataFrame:
    """Average what is true of an animal's sequences.

    Parameters
    ----------
    replays : Replays
        The tables.
    table : DataFrame
        The sequences that count.
    hits : array_like of bool or float, shape (n_sequences,)
        What is averaged.
    null : array_like of float, shape (n_sequences,) or scalar
        What to expect of each by chance; it is averaged too.

    Returns
    -------
    DataFrame
        One row an animal: `animal, value, null, n`.
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


def paths(replays: Replays, sequences: pd.DataFrame) -> Lists:
    """Give the places of some sequences, one after the other.

    Parameters
    ----------
    replays : Replays
        The tables.
    sequences : DataFrame
        As from `chosen`: the index tells which rows of ``replays.sequences`` they are.

    Returns
    -------
    Lists
        The places of each.
    """
    states, row = replays.states, sequences.index.to_numpy()
    length = states.length[row]
    begin = np.zeros(len(row) + 1, dtype=np.int64)
    np.cumsum(length, out=begin[1:])
    place = np.arange(begin[-1]) + np.repeat(states.begin[row] - begin[:-1], length)
    return Lists(states.flat[place], begin)


def covered(walked: Lists, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count how many different places of a set each sequence visits.

    Parameters
    ----------
    walked : Lists
        The places of sequences.
    inside : ndarray of bool, shape (n_places,)
        The set.

    Returns
    -------
    ndarray of int, shape (n_sequences,)
        How many of its members each sequence holds.
    """
    n_visited: NDArray[np.int64] = np.zeros(len(walked.begin) - 1, dtype=np.int64)
    _cover(walked.flat, walked.begin, inside, n_visited)
    return n_visited


@kernel
def _cover(
    place: NDArray[np.int32],
    begin: NDArray[np.int64],
    inside: NDArray[np.bool_],
    n_visited: NDArray[np.int64],
) -> None:
    last_in = np.full(len(inside), -1)
    for sequence in range(len(n_visited)):
        for i in range(begin[sequence], begin[sequence + 1]):
            if inside[place[i]] and last_in[place[i]] != sequence:
                last_in[place[i]] = sequence
                n_visited[sequence] += 1


def in_order(replays: Replays) -> Replays:
    """Put laps in order, those of one animal after those of another.

    Parameters
    ----------
    replays : Replays
        The tables.

    Returns
    -------
    Replays
        The same, with their laps by animal and episode.
    """
    laps = replays.laps
    animal, episode = laps["animal"].to_numpy(), laps["episode"].to_numpy()
    if (np.lexsort((episode, animal)) == np.arange(len(laps))).all():
        return replays
    return replace(replays, laps=laps.sort_values(["animal", "episode"], ignore_index=True))


def laps_done(pauses: pd.DataFrame) -> NDArray[np.int64]:
    """Count the laps that were over at each pause (or sequence): one more after a lap than before.

    Parameters
    ----------
    pauses : DataFrame
        Has `episode` and `phase`.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        How many; at the rest before all laps, 0.
    """
    return pauses["episode"].to_numpy() + ~is_one_of(pauses["phase"], AWAKE[:1])


def laps_around(
    replays: Replays, pauses: pd.DataFrame
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the lap before each pause (or sequence), and the one after it.

    Parameters
    ----------
    replays : Replays
        The tables.
    pauses : DataFrame
        Has `animal, episode, phase`.

    Returns
    -------
    tuple of ndarray of int, each of shape (n_rows,)
        Rows of ``replays.laps`` by place; -1 where there is none.
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


def landmark(task: Task, *names: str) -> NDArray[np.bool_]:
    """Tell which analysed states lie in landmarks.

    Parameters
    ----------
    task : Task
        What landmarks there are.
    *names : str
        Landmarks; one that the task lacks is empty.

    Returns
    -------
    ndarray of bool, shape (n_places,)
        Whether each lies in one of them.
    """
    nodes = {node for name in names for node in task.landmarks.get(name, ())}
    return np.array([node in nodes for node in task.node], dtype=bool)


def between_nodes(task: Task) -> NDArray[np.float64]:
    """Count the steps from place to place on the task's graph, whichever way it is run.

    Parameters
    ----------
    task : Task
        Its graph, and the node of each analysed state.

    Returns
    -------
    ndarray of float, shape (n_places, n_places)
        Steps between the nodes of analysed states; infinite where no way leads.
    """
    number = {node: i for i, node in enumerate(task.graph.nodes)}
    edges = nx.to_scipy_sparse_array(task.graph, nodelist=list(number), weight=None)
    steps: NDArray[np.float64] = csgraph.shortest_path(edges, directed=False, unweighted=True)
    place = [number[node] for node in task.node]
    return steps[np.ix_(place, place)]


def counted(
    replays: Replays, table: pd.DataFrame, cells: NDArray[np.int64], n_cells: int
) -> NDArray[np.int64]:
    """Count each animal's sequences (or pauses) in cells, before laps and after them apart.

    Parameters
    ----------
    replays : Replays
        The tables.
    table : DataFrame
        Has `animal, phase`.
    cells : ndarray of int, shape (n_rows,) or (n_rows, n_arms)
        The cell of each row (or of each arm at each row), such as the end of the track and the
        block, counted from 0; -1 for none.
    n_cells : int
        How many there are.

    Returns
    -------
    ndarray of int, shape (n_animals, n_cells, 2)
        How many rows, in pauses before a lap and after one.
    """
    animals = replays.animals
    code, phase = own_code(animals, table), (~is_one_of(table["phase"], AWAKE[:1])).astype(int)
    shape = len(animals), n_cells, len(AWAKE)
    row = np.nonzero(cells >= 0)
    at = np.ravel_multi_index((code[row[0]], cells[row], phase[row[0]]), shape)
    return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)


def log_rates(n_sequences: NDArray[np.int64], n_pauses: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the log of sequences per stop in cells.

    A stop has a pause after a lap and one before the next; the rate is the sum of those of both. So
    cells don't differ for having fewer pauses of one kind, as the first lap has none before it. To
    each rate that of half a sequence in an average cell is added: so none at all has a logarithm
    too.

    Parameters
    ----------
    n_sequences, n_pauses : ndarray of int, shape (n_animals, n_cells, 2)
        The counts, as `counted` gives them.

    Returns
    -------
    ndarray of float, shape (n_animals, n_cells)
        The log rates. NaN where there was no pause of a kind that the animal's other cells have,
        and of animals without any sequence.

    Examples
    --------
    One animal with nine sequences in ten pauses and in twenty, all after laps; one without any:

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
