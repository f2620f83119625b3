"""The tables that statistics read, how chains are chosen from them, and what a statistic gives.

A statistic is a function of all replays of one task, by one learner or from one recording. It gives
one row an animal: replays of one animal resemble one another, so the animal is the unit of every
interval and test. A row's value is NaN where the animal has nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csgraph

from analyses.sequences.chains import ORDERS
from replay.checks import check_choice, check_table, check_whole

if TYPE_CHECKING:
    from replay.tasks import Task

__all__ = ["AWAKE", "REST", "Paths", "Replays", "Statistic", "between_nodes", "chosen", "counted"]
__all__ += ["covered", "directional", "every_animal", "is_one_of", "landmark", "laps_around"]
__all__ += ["laps_done", "log_rates", "own_code", "paths", "rows", "share"]

AWAKE = ("start", "episode_end")
"""Pauses during a session; in all others the animal rests."""

REST = ("rest",)
"""Pauses at rest: between sessions, before the first lap or after the last."""

_HALF = 0.5


class Replays(NamedTuple):
    """All replays of some animals in one task.

    Attributes
    ----------
    chains : DataFrame
        One row a chain, as `analyses.classify` gives them for both orders, with `animal, block,
        lap` (the lap just run, or about to be run at a start) and `place` (where the animal is).
        Chains of one animal stand in order of time.
    pauses : DataFrame
        One row a pause, also those without replay: `animal, block, lap, episode, phase, place`.
    laps : DataFrame
        One row a lap: `animal, episode, block, lap, start, end, reward, n_steps`.
    backups : DataFrame
        The backups that the chains are made of, with `animal`.
    task : Task
        What places there are: `places, node, graph, position, landmarks, local_radius`.
    """

    chains: pd.DataFrame
    pauses: pd.DataFrame
    laps: pd.DataFrame
    backups: pd.DataFrame
    task: Task


class Compute(Protocol):
    """Computes a statistic: one row an animal, with the columns `animal, value, null, n`.

    `value` is the animal's own and `null` what to expect of it by chance; `n` counts its chains, or
    its pauses where these are counted. Chains of fewer than `min_length` different states are left
    out; `order` says whether chains follow the causes or the order of execution.
    """

    def __call__(
        self, replays: Replays, min_length: int = 5, order: str = "causal"
    ) -> pd.DataFrame: ...


class Statistic(NamedTuple):
    """A statistic of replay.

    Attributes
    ----------
    label : str
        What an axis says.
    compute : callable
        ``compute(replays, min_length=5, order="causal")`` gives one row an animal: `animal`,
        `value`, `null` (what to expect of this animal by chance) and `n` (chains, or pauses where
        these are counted). `min_length` counts different states.
    is_share : bool, default False
        Whether it is a share of chains: between 0 and 1, and tested as a binomial count. Others are
        differences and log ratios, of either sign, and numbers.
    """

    label: str
    compute: Compute
    is_share: bool = False


class Paths(NamedTuple):
    """The states of chains, one after the other.

    Attributes
    ----------
    state : ndarray of int, shape (n_states,)
        The states of all chains.
    chain : ndarray of int, shape (n_states,)
        Which chain each belongs to, counted from 0.
    begin : ndarray of int, shape (n_chains + 1,)
        Where each chain begins.
    """

    state: NDArray[np.int64]
    chain: NDArray[np.int64]
    begin: NDArray[np.int64]

    @property
    def n_chains(self) -> int:
        """How many chains there are."""
        return len(self.begin) - 1


def every_animal(replays: Replays) -> pd.Index[int]:
    """List the animals, those without any replay too.

    Parameters
    ----------
    replays : Replays
        The tables.

    Returns
    -------
    Index, shape (n_animals,)
        Each animal once, sorted.
    """
    seen = [table["animal"] for table in (replays.pauses, replays.chains, replays.laps)]
    animals: pd.Index[int] = pd.Index(np.unique(np.concatenate(seen)), name="animal")
    return animals


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


def chosen(
    replays: Replays,
    min_length: int,
    order: str,
    columns: Sequence[str] = (),
    phases: Sequence[str] = AWAKE,
) -> pd.DataFrame:
    """Choose the chains that a statistic counts.

    Parameters
    ----------
    replays : Replays
        The tables.
    min_length : int
        Chains of fewer different states are left out.
    order : {"causal", "temporal"}
        Whether chains follow the causes or the order of execution.
    columns : sequence of str, optional
        What is needed of the chains besides `animal`.
    phases : sequence of str, default ``AWAKE``
        In which pauses.

    Returns
    -------
    DataFrame
        Their columns `animal` and `columns`.

    Raises
    ------
    ValueError
        If a column is missing, the order is unknown, or `min_length` is below 2.
    """
    check_choice("order", order, ORDERS)
    check_whole("min_length", min_length, at_least=2, hint="A chain has two states or more.")
    asked = list(dict.fromkeys(["animal", *columns]))
    chains = check_table(replays.chains, ["order", "n_distinct", "phase", *asked], "chains")
    kept = is_one_of(chains["order"], [order]) & is_one_of(chains["phase"], phases)
    kept &= chains["n_distinct"].to_numpy() >= min_length
    return pd.DataFrame({name: chains[name].array[kept] for name in asked})


def directional(chains: pd.DataFrame) -> pd.DataFrame:
    """Leave out chains that go neither or both ways.

    Parameters
    ----------
    chains : DataFrame
        Has a column `direction`.

    Returns
    -------
    DataFrame
        The forward and the reverse ones.
    """
    return chains[is_one_of(chains["direction"], ["forward", "reverse"])]


def own_code(animals: pd.Index[int], table: pd.DataFrame) -> NDArray[np.int64]:
    """Give the place in a list of the animal of each row.

    Parameters
    ----------
    animals : Index, shape (n_animals,)
        The list: all animals of the table, sorted, as from `every_animal`.
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
        The value, what to expect by chance, and how many chains there were.

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
    """Average what is true of an animal's chains.

    Parameters
    ----------
    replays : Replays
        The tables.
    table : DataFrame
        The chains that count.
    hits : array_like of bool or float, shape (n_chains,)
        What is averaged.
    null : array_like of float, shape (n_chains,) or scalar
        What to expect of each by chance; it is averaged too.

    Returns
    -------
    DataFrame
        One row an animal: `animal, value, null, n`.
    """
    animals = every_animal(replays)
    code = own_code(animals, table)
    n = np.bincount(code, minlength=len(animals))
    expected = np.broadcast_to(np.asarray(null, dtype=float), len(table))
    sums = (
        np.bincount(code, np.asarray(what, dtype=float), minlength=len(animals))
        for what in (hits, expected)
    )
    value, chance = (total / np.where(n > 0, n, np.nan) for total in sums)
    return rows(animals, value, chance, n)


def paths(chains: pd.DataFrame) -> Paths:
    """Put the states of chains one after the other.

    Parameters
    ----------
    chains : DataFrame
        Has a column `states`.

    Returns
    -------
    Paths
        The states, and which chain each belongs to.
    """
    states = chains["states"].tolist()
    lengths = np.fromiter(map(len, states), dtype=np.int64, count=len(states))
    begin = np.concatenate(([0], np.cumsum(lengths)))
    state = np.concatenate([np.empty(0, dtype=np.int64), *states]).astype(np.int64)
    return Paths(state, np.repeat(np.arange(len(states)), lengths), begin)


def covered(walked: Paths, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count how many different states of a set each chain visits.

    Parameters
    ----------
    walked : Paths
        The states of chains.
    inside : ndarray of bool, shape (n_places,)
        The set.

    Returns
    -------
    ndarray of int, shape (n_chains,)
        How many of its members each chain holds.
    """
    member = np.where(inside, np.cumsum(inside) - 1, -1)[walked.state]
    kept = np.flatnonzero(member >= 0)
    visited = np.zeros((walked.n_chains, int(inside.sum())), dtype=bool)
    visited[walked.chain[kept], member[kept]] = True
    n_visited: NDArray[np.int64] = visited.sum(axis=1)
    return n_visited


def laps_done(pauses: pd.DataFrame) -> NDArray[np.int64]:
    """Count the laps that were over at each pause (or chain): one more after a lap than before it.

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
    """Find the lap before each pause (or chain), and the one after it.

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
    animals, laps = every_animal(replays), replays.laps
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
    """Count each animal's chains (or pauses) in cells, before laps and after them apart.

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
    animals = every_animal(replays)
    code, phase = own_code(animals, table), (~is_one_of(table["phase"], AWAKE[:1])).astype(int)
    shape = len(animals), n_cells, len(AWAKE)
    row = np.nonzero(cells >= 0)
    at = np.ravel_multi_index((code[row[0]], cells[row], phase[row[0]]), shape)
    return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)


def log_rates(n_chains: NDArray[np.int64], n_pauses: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the log of chains per stop in cells.

    A stop has a pause after a lap and one before the next; the rate is the sum of those of both. So
    cells don't differ for having fewer pauses of one kind, as the first lap has none before it. To
    each rate that of half a chain in an average cell is added: so none at all has a logarithm too.

    Parameters
    ----------
    n_chains, n_pauses : ndarray of int, shape (n_animals, n_cells, 2)
        The counts, as `counted` gives them.

    Returns
    -------
    ndarray of float, shape (n_animals, n_cells)
        The log rates. NaN where there was no pause of a kind that the animal's other cells have,
        and of animals without any chain.

    Examples
    --------
    One animal with nine chains in ten pauses and in twenty, all after laps; one without any:

    >>> n_chains = np.array([[[0, 9], [0, 9]], [[0, 0], [0, 0]]])
    >>> n_pauses = np.array([[[0, 10], [0, 20]], [[0, 10], [0, 20]]])
    >>> log_rates(n_chains, n_pauses).round(2).tolist()
    [[-0.07, -0.73], [nan, nan]]
    """
    has_kind = n_pauses.any(axis=1, keepdims=True)
    rate = n_chains / np.where(n_pauses > 0, n_pauses, np.where(has_kind, np.nan, 1))
    n_stops = n_pauses.mean(axis=1).max(axis=-1)
    half = _HALF / np.where(n_stops > 0, n_stops, np.nan)
    rates = np.log(rate.sum(axis=-1) + half[:, None])
    return np.where(n_chains.sum(axis=(1, 2))[:, None] > 0, rates, np.nan)
