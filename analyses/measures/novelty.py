"""S6: paths that were never run, composed of others or over a connection that was never used.

*Composed* and *shortcut* are kept apart. Each move of a composed path was made, in the direction in
which the path is read. A shortcut runs over a connection that the task designates, and was not run
like this; in a maze of one direction it needs moves that were never made, and only a model that
knows ways back can make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from analyses.measures.places import own_sides, runs_on
from analyses.measures.replays import (
    AWAKE,
    REST,
    Paths,
    Replays,
    Statistic,
    between_nodes,
    chosen,
    every_animal,
    own_code,
    paths,
    rows,
    share,
)
from analyses.sequences.runs import Columns

__all__ = ["NOVELTY", "crosses", "opposite_pairs", "shortcut_share"]

_EVERY_OTHER_BIT = 0x5555_5555_5555_5555


def connections(replays: Replays) -> list[list[int]]:
    """List the connections that the task designates, as places one after the other."""
    task = replays.task
    first = {node: place for place, node in reversed(list(enumerate(task.node)))}
    return [
        [first[node] for node in nodes]
        for name, nodes in task.landmarks.items()
        if name.startswith("shortcut")
    ]


def crosses(walked: Paths, connection: Sequence[int], n_places: int) -> np.ndarray:
    """Tell which chains run over all of a connection, whichever way.

    Parameters
    ----------
    walked : Paths
        The states of chains.
    connection : sequence of int
        Different states, one after the other.
    n_places : int
        How many states there are.

    Returns
    -------
    ndarray of bool, shape (n_chains,)
        Whether each does.

    Examples
    --------
    >>> from analyses.measures.replays import paths
    >>> walked = paths(pd.DataFrame({"states": [[0, 1, 2, 3], [3, 2, 1], [1, 2]]}))
    >>> crosses(walked, [1, 2, 3], 4).tolist()
    [True, True, False]
    """
    length = len(connection)
    rank = np.full(n_places, -1)
    rank[list(connection)] = np.arange(length)
    n_windows = max(len(walked.state) - length + 1, 0)
    at, hits = rank[walked.state], np.zeros(walked.n_chains, dtype=bool)
    together = walked.chain[:n_windows] == walked.chain[length - 1 :][:n_windows]
    for way in (range(length), range(length - 1, -1, -1)):
        matches = together.copy()
        for i, expected in enumerate(way):
            matches &= at[i : i + n_windows] == expected
        hits[walked.chain[:n_windows][matches]] = True
    return hits


def _shortcuts(
    replays: Replays, min_length: int = 5, order: str = "causal", *, phases: Sequence[str] = AWAKE
) -> pd.DataFrame:
    chains = chosen(replays, min_length, order, ["states", "novelty"], phases)
    walked, n_places = paths(chains), len(replays.task.node)
    found = [crosses(walked, way, n_places) for way in connections(replays)]
    hits = np.any([np.zeros(len(chains), dtype=bool), *found], axis=0)
    return share(replays, chains, hits & (chains["novelty"] != "experienced"), 0.0)


def _composed(
    replays: Replays, min_length: int = 5, order: str = "causal", *, phases: Sequence[str] = AWAKE
) -> pd.DataFrame:
    chains = chosen(replays, min_length, order, ["novelty"], phases)
    return share(replays, chains, chains["novelty"] == "composed", 0.0)


def opposite_pairs(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Find pairs of a forward and a reverse chain, one right after the other in a pause.

    Parameters
    ----------
    replays : Replays
        Of a task with designated connections (landmarks that begin with ``shortcut``).
    min_length : int, default 5
        Chains of fewer different states are left out.
    order : {"causal", "temporal"}, default "causal"
        Whether chains follow the causes or the order of execution.

    Returns
    -------
    DataFrame
        One row a pair: `animal`, `forward_first`, and how the `forward` and the `reverse` chain run
        to or from the connections, as numbers that `shortcut_share` understands.
    """
    chains = chosen(replays, min_length, order, ["direction", "event", "states", "first", "last"])
    way = _ways(replays, chains)
    direction = chains["direction"].to_numpy().astype(str)
    animal, event = chains["animal"].to_numpy(), chains["event"].to_numpy()
    forward, reverse = direction == "forward", direction == "reverse"
    first = np.flatnonzero(
        (animal[1:] == animal[:-1])
        & (event[1:] == event[:-1])
        & ((forward[1:] & reverse[:-1]) | (reverse[1:] & forward[:-1]))
    )
    forward_first = forward[first]
    return pd.DataFrame(
        {
            "animal": animal[first],
            "forward_first": forward_first,
            "forward": way[np.where(forward_first, first, first + 1)],
            "reverse": way[np.where(forward_first, first + 1, first)],
        }
    )


def _ways(replays: Replays, chains: pd.DataFrame) -> np.ndarray:
    """Give how chains run, as bits: side, connections they run up to, and those they run from.

    A chain runs up to a connection if it stays on one side, ends on the connection and leads to its
    middle; from a connection, if it begins there and leads away.
    """
    side = runs_on(*own_sides(replays), paths(chains))
    steps = between_nodes(replays.task)
    first, last = chains["first"].to_numpy(), chains["last"].to_numpy()
    way = np.where(side > 0, 1, 0)
    for number, connection in enumerate(connections(replays)):
        middle = connection[len(connection) // 2]
        nearer = np.sign(steps[middle, first] - steps[middle, last])
        ends, begins = np.isin(last, connection), np.isin(first, connection)
        way |= ((side != 0) & ends & (nearer > 0)) << (1 + 2 * number)
        way |= ((side != 0) & begins & (nearer < 0)) << (2 + 2 * number)
    return way


def makes_shortcut(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Tell whether one chain runs up to a connection that the next one leaves on the other side."""
    up_to, away = first >> 1, second >> 2
    joined = up_to & away & _EVERY_OTHER_BIT
    return (joined != 0) & ((first ^ second) & 1 == 1)


def shortcuts(pairs: pd.DataFrame | Columns) -> np.ndarray:
    """Tell which pairs form a shortcut."""
    forward, reverse, forward_first = (
        np.asarray(pairs[name]) for name in ("forward", "reverse", "forward_first")
    )
    first = np.where(forward_first, forward, reverse)
    return makes_shortcut(first, np.where(forward_first, reverse, forward))


def shortcut_share(pairs: pd.DataFrame | Columns) -> float:
    """Give the share of pairs that form a shortcut, for `analyses.measures.nulls.null_test`.

    Parameters
    ----------
    pairs : DataFrame or dict of ndarray
        As from `opposite_pairs`.

    Returns
    -------
    float
        The share; NaN without a pair.
    """
    found = shortcuts(pairs)
    return float(found.mean()) if len(found) else float("nan")


def _paired_shortcuts(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Share of pairs that form a shortcut; the null is its mean over all ways to pair them."""
    pairs = opposite_pairs(replays, min_length, order)
    found = share(replays, pairs, shortcuts(pairs))
    ways, number = np.unique(pairs[["forward", "reverse"]], return_inverse=True)
    forward, reverse = number.reshape(-1, 2).T
    matches = makes_shortcut(ways[:, None], ways).astype(float)
    code, first = own_code(every_animal(replays), pairs), pairs["forward_first"].to_numpy()
    shape = (len(found), len(ways))
    any_reverse, leading, following = (np.zeros(shape) for _ in range(3))
    np.add.at(any_reverse, (code, reverse), 1)
    np.add.at(leading, (code[first], forward[first]), 1)
    np.add.at(following, (code[~first], forward[~first]), 1)
    expected = (any_reverse * (leading @ matches + following @ matches.T)).sum(axis=1)
    n = found["n"].to_numpy()
    return rows(found["animal"], found["value"], expected / np.maximum(n, 1) ** 2, n)


NOVELTY: dict[str, Statistic] = {
    "S6_shortcut": Statistic("shortcuts", "share", _shortcuts, "none", 0.0, "share"),
    "S6_composed": Statistic("composed chains", "share", _composed, "none", 0.0, "share"),
    "S6_composed_rest": Statistic(
        "composed chains at rest", "share", partial(_composed, phases=REST), "none", 0.0, "share"
    ),
    "S6_pairs": Statistic(
        "forward-reverse pairs that form a shortcut",
        "share",
        _paired_shortcuts,
        "paired at random",
        np.nan,
        "share",
    ),
}
