"""S0: whether replay has any order, beyond that of its backups shuffled and of edges at random.

These count chains in order of execution. An animal's null is a single draw: if replay is no more
than that, the animal lies above it as often as below, however rare chains are.

``S0_order``
    Chains per awake pause with replay (number). Null: the same of the backups of each pause in
    another order.
``S0_edges``
    The same. Null: the same of as many backups, each of an edge at random.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from analyses.measures.nulls import chain_count, random_edges, shuffled_order
from analyses.measures.replays import (
    AWAKE,
    Replays,
    Statistic,
    every_animal,
    is_one_of,
    own_code,
    rows,
)
from analyses.sequences.runs import Columns
from replay.checks import check_table

__all__ = ["CHANCE_STATISTICS"]

_COLUMNS = ["state", "next_state"]
_SEED = 0

Draw = Callable[[Columns, np.random.Generator], Columns]


def _chains_per_event(
    replays: Replays,
    min_length: int = 5,
    order: str = "causal",
    *,
    null: Callable[[pd.DataFrame], Draw],
) -> pd.DataFrame:
    """Chains per awake pause with replay; the null is one draw.

    Whatever `order` says: a null of causes would need another learner.
    """
    animals, backups = every_animal(replays), replays.backups
    value, expected = (np.full(len(animals), np.nan) for _ in range(2))
    n = np.zeros(len(animals), dtype=np.int64)
    if len(backups):
        check_table(backups, ["animal", "event", "phase", *_COLUMNS], "backups")
        backups = backups[is_one_of(backups["phase"], AWAKE)].sort_values("animal", kind="stable")
        draw, rng = null(backups), np.random.default_rng(_SEED)
        code = own_code(animals, backups)
        begins = np.searchsorted(code, np.arange(len(animals) + 1))
        columns = {name: backups[name].to_numpy() for name in ("event", *_COLUMNS)}
        for i in np.unique(code):
            own = {name: column[begins[i] : begins[i + 1]] for name, column in columns.items()}
            n_events = len(np.unique(own["event"]))
            n[i] = chain_count(own, min_length)
            value[i] = n[i] / n_events
            expected[i] = chain_count(draw(own, rng), min_length) / n_events
    return rows(animals, value, expected, n)


def _edges(backups: pd.DataFrame) -> Draw:
    """Draw from all edges that any animal replayed."""
    return partial(random_edges, edges=backups[_COLUMNS].drop_duplicates().to_numpy())


CHANCE_STATISTICS: dict[str, Statistic] = {
    "S0_order": Statistic(
        "chains per pause with replay",
        partial(_chains_per_event, null=lambda backups: shuffled_order),
    ),
    "S0_edges": Statistic("chains per pause with replay", partial(_chains_per_event, null=_edges)),
}
