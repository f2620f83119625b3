"""S6: paths that were never run, composed of others or over a connection that was never used.

*Composed* and *shortcut* are kept apart. Each move of a composed path was made, in the direction in
which the path is read. A shortcut runs over a connection that the task designates, and was not run
like this; in a maze of one direction it needs moves that were never made, and only a model that
knows ways back can make it.

``S6_shortcut`` [1]_
    Shortcuts (share of chains). Null: 0.
``S6_composed, S6_composed_rest`` [2]_
    Composed chains, awake and at rest (share of chains). Null: 0.
``S6_pairs`` [1]_
    Pairs of a forward and a reverse chain, one right after the other, that form a shortcut (share
    of pairs). Null: its mean if the animal's reverse chains were paired with any of its forward
    ones.

References
----------
.. [1] Gupta, van der Meer, Touretzky & Redish (2010). Hippocampal replay is not a simple function
   of experience. https://doi.org/10.1016/j.neuron.2010.01.034
.. [2] Igata, Ikegaya & Sasaki (2021). Prioritized experience replays on a hippocampal predictive
   map for learning. https://doi.org/10.1073/pnas.2011266118
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import (
    AWAKE,
    REST,
    Paths,
    Replays,
    Statistic,
    between_nodes,
    chosen,
    every_animal,
    is_one_of,
    own_code,
    paths,
    rows,
    share,
)
from analyses.measures.sides import own_sides, runs_on

__all__ = ["NOVELTY_STATISTICS", "crosses", "opposite_pairs", "shortcuts"]

_EVERY_OTHER_BIT = 0x5555_5555_5555_5555


def _connections(replays: Replays) -> list[list[int]]:
    """List the connections that the task designates, as places one after the other."""
    task = replays.task
    first = {node: place for place, node in reversed(list(enumerate(task.node)))}
    return [
        [first[node] for node in nodes]
        for name, nodes in task.landmarks.items()
        if name.startswith("shortcut")
    ]


def crosses(walked: Paths, connection: Sequence[int], n_places: int) -> NDArray[np.bool_]:
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
    """Share of chains that run over a designated connection, along a path that was never run."""
    chains = chosen(replays, min_length, order, ["states", "novelty"], phases)
    walked, n_places = paths(chains), len(replays.task.node)
    found = [crosses(walked, way, n_places) for way in _connections(replays)]
    hits = np.any([np.zeros(len(chains), dtype=bool), *found], axis=0)
    return share(replays, chains, hits & ~is_one_of(chains["novelty"], ["experienced"]), 0.0)


def _composed(
    replays: Replays, min_length: int = 5, order: str = "causal", *, phases: Sequence[str] = AWAKE
) -> pd.DataFrame:
    """Share of chains whose every move was made, but the whole never."""
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
        to or from the connections, as numbers that `shortcuts` understands.
    """
    chains = chosen(replays, min_length, order, ["direction", "event", "states", "first", "last"])
    way = _runs(replays, chains)
    animal, event = chains["animal"].to_numpy(), chains["event"].to_numpy()
    forward, reverse = (is_one_of(chains["direction"], [name]) for name in ("forward", "reverse"))
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


def _runs(replays: Replays, chains: pd.DataFrame) -> NDArray[np.int64]:
    """Give how chains run, as bits: side, connections they run up to, and those they run from.

    A chain runs up to a connection if it stays on one side, ends on the connection and leads to its
    middle; from a connection, if it begins there and leads away.
    """
    side = runs_on(*own_sides(replays), paths(chains))
    steps = between_nodes(replays.task)
    first, last = chains["first"].to_numpy(), chains["last"].to_numpy()
    way = np.where(side > 0, 1, 0)
    for number, connection in enumerate(_connections(replays)):
        middle = connection[len(connection) // 2]
        nearer = np.sign(steps[middle, first] - steps[middle, last])
        ends, begins = np.isin(last, connection), np.isin(first, connection)
        way |= ((side != 0) & ends & (nearer > 0)) << (1 + 2 * number)
        way |= ((side != 0) & begins & (nearer < 0)) << (2 + 2 * number)
    return way


def _makes_shortcut(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell whether one chain runs up to a connection that the next one leaves on the other side."""
    up_to, away = first >> 1, second >> 2
    joined = up_to & away & _EVERY_OTHER_BIT
    made: NDArray[np.bool_] = (joined != 0) & ((first ^ second) & 1 == 1)
    return made


def shortcuts(pairs: Mapping[Any, Any] | pd.DataFrame) -> NDArray[np.bool_]:
    """Tell which pairs of chains form a shortcut.

    Parameters
    ----------
    pairs : DataFrame or mapping of ndarray
        `forward, reverse, forward_first`, as from `opposite_pairs`.

    Returns
    -------
    ndarray of bool, shape (n_pairs,)
        Whether one chain runs up to a connection on one side, and the next leaves it on the other.
    """
    forward, reverse, forward_first = (
        np.asarray(pairs[name]) for name in ("forward", "reverse", "forward_first")
    )
    first = np.where(forward_first, forward, reverse)
    return _makes_shortcut(first, np.where(forward_first, reverse, forward))


def _paired_shortcuts(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Share of pairs that form a shortcut; the null is its mean over all ways to pair them."""
    pairs = opposite_pairs(replays, min_length, order)
    found = share(replays, pairs, shortcuts(pairs))
    ways, number = np.unique(pairs[["forward", "reverse"]], return_inverse=True)
    forward, reverse = number.reshape(-1, 2).T
    matches = _makes_shortcut(ways[:, None], ways).astype(float)
    code, first = own_code(every_animal(replays), pairs), pairs["forward_first"].to_numpy()
    shape = (len(found), len(ways))
    any_reverse, leading, following = (np.zeros(shape) for _ in range(3))
    np.add.at(any_reverse, (code, reverse), 1)
    np.add.at(leading, (code[first], forward[first]), 1)
    np.add.at(following, (code[~first], forward[~first]), 1)
    expected = (any_reverse * (leading @ matches + following @ matches.T)).sum(axis=1)
    n = found["n"].to_numpy()
    return rows(found["animal"], found["value"], expected / np.maximum(n, 1) ** 2, n)


NOVELTY_STATISTICS: dict[str, Statistic] = {
    "S6_shortcut": Statistic("shortcuts", _shortcuts, is_share=True),
    "S6_composed": Statistic("composed chains", _composed, is_share=True),
    "S6_composed_rest": Statistic(
        "composed chains at rest", partial(_composed, phases=REST), is_share=True
    ),
    "S6_pairs": Statistic(
        "forward-reverse pairs that form a shortcut", _paired_shortcuts, is_share=True
    ),
}
