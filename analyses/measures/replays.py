"""The tables that statistics read, how chains are chosen from them, and what a statistic gives.

A statistic is a function of all replays of one task, by one learner or from one recording. It gives
one row an animal: replays of one animal resemble one another, so the animal is the unit of every
interval and test. A row's value is NaN where the animal has nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csgraph

from analyses.sequences.chains import ORDERS
from analyses.tables import require_columns

if TYPE_CHECKING:
    from replay.tasks import Task

__all__ = ["AWAKE", "Paths", "Replays", "Statistic", "between_nodes", "chosen", "covered"]
__all__ += ["every_animal", "landmark", "laps_around", "laps_done", "own_code", "paths"]
__all__ += ["REST", "rows", "share"]

AWAKE = ("start", "episode_end")
"""Pauses during a session; in all others the animal rests."""

REST = ("rest",)


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


Compute = Callable[..., pd.DataFrame]
"""``compute(replays, min_length=5, order="causal")``: one row an animal, `animal, value, null, n`.
"""


class Statistic(NamedTuple):
    """A statistic of replay.

    Attributes
    ----------
    label : str
        What an axis says.
    unit : str
        ``share``, ``difference``, ``log ratio``, ``laps`` ...
    compute : callable
        ``compute(replays, min_length=5, order="causal")`` gives one row an animal: `animal`,
        `value`, `null` (what to expect of this animal by chance) and `n` (chains, or pauses where
        these are counted). `min_length` counts different states.
    null_name : str
        What chance means.
    expected_null : float
        The null where it is the same for all animals, else NaN.
    kind : {"share", "difference", "number"}
        A share lies between 0 and 1; a difference, also of logarithms, may have either sign.
    """

    label: str
    unit: str
    compute: Compute
    null_name: str
    expected_null: float
    kind: str


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

    state: np.ndarray
    chain: np.ndarray
    begin: np.ndarray

    @property
    def n_chains(self) -> int:
        """How many chains there are."""
        return len(self.begin) - 1


def every_animal(replays: Replays) -> pd.Index:
    """List the animals, those without any replay too.

    Parameters
    ----------
    replays : Replays
        The tables.

    Returns
    -------
    Index
        Each animal once, sorted.
    """
    seen = [table["animal"] for table in (replays.pauses, replays.chains, replays.laps)]
    return pd.Index(np.unique(np.concatenate(seen)), name="animal")


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
    phases : sequence of str, optional
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
    if order not in ORDERS:
        raise ValueError(f"Unknown order {order!r}. Choose from: {', '.join(ORDERS)}.")
    if min_length < 2:
        raise ValueError(f"A chain has at least 2 states, got min_length={min_length}.")
    chains, columns = replays.chains, ["animal", *columns]
    require_columns(chains, ["order", "n_distinct", "phase", *columns], "chains")
    kept = (chains["order"] == order) & (chains["n_distinct"] >= min_length)
    kept &= chains["phase"].isin(phases)
    return chains.loc[kept, list(dict.fromkeys(columns))].reset_index(drop=True)


def own_code(animals: pd.Index, table: pd.DataFrame) -> np.ndarray:
    """Give the place in a list of the animal of each row.

    Parameters
    ----------
    animals : Index
        The list.
    table : DataFrame
        Has a column `animal`.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Places in the list.
    """
    return animals.get_indexer(pd.Index(table["animal"]))


def rows(
    animals: pd.Index | pd.Series, value: npt.ArrayLike, null: npt.ArrayLike, n: npt.ArrayLike
) -> pd.DataFrame:
    """Write what each animal has to say as one row.

    Parameters
    ----------
    animals : Index or Series
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


def covered(walked: Paths, inside: np.ndarray) -> np.ndarray:
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
    return visited.sum(axis=1)


def laps_done(pauses: pd.DataFrame) -> np.ndarray:
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
    return pauses["episode"].to_numpy() + (pauses["phase"] != "start").to_numpy()


def laps_around(replays: Replays, pauses: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
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
    known = pd.Index(animals.get_indexer(pd.Index(laps["animal"])) * n_laps + laps["episode"])
    own, done = own_code(animals, pauses) * n_laps, laps_done(pauses)
    before, after = (
        np.where((lap >= 0) & (lap < n_laps), known.get_indexer(pd.Index(own + lap)), -1)
        for lap in (done - 1, done)
    )
    return before, after


def landmark(task: Task, *names: str) -> np.ndarray:
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


def between_nodes(task: Task) -> np.ndarray:
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
    nodes = list(task.graph.nodes)
    edges = nx.to_scipy_sparse_array(task.graph, nodelist=nodes, weight=None)
    steps = csgraph.shortest_path(edges, directed=False, unweighted=True)
    number = pd.Index(nodes).get_indexer(pd.Index(task.node))
    return steps[np.ix_(number, number)]
