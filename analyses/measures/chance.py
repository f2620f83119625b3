"""Whether replay has more order than its own places shuffled, or random edges of the track.

These statistics count place sequences; for causal chains the value is NaN, as a null for causes
would require another learner. An animal's null is a single draw: if replay has no order, the animal
lies above it as often as below, however rare sequences are.

``beyond_shuffled_places``
    Sequences per awake pause with replay (number). Null: the same for the places of each pause in
    random order.
``beyond_random_edges``
    As before. Null: the same for as many places per pause, the ends of random edges of the track.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import own_code, rows
from analyses.measures.nulls import random_edges, shuffled_order
from analyses.measures.replays import AWAKE, COUNTS, Replays, Statistic, chosen, is_one_of
from analyses.sequences.place_sequences import runs_along
from analyses.sequences.runs import Columns
from analyses.sequences.track import Track, graph_of_task

__all__ = ["CHANCE_STATISTICS"]

_SEED = 0

Draw = Callable[[Columns, np.random.Generator], Columns]


def _sequences_per_event(replays: Replays, *, null: Callable[[Track], Draw]) -> pd.DataFrame:
    """Sequences per awake pause with replay; the null is one draw."""
    animals = replays.animals
    if replays.counts != COUNTS[0]:
        return rows(animals, np.nan, np.nan, 0)
    table = replays.reactivations[is_one_of(replays.reactivations["phase"], AWAKE)]
    own, number = own_code(animals, table), table["event"].to_numpy()
    begins = (np.diff(own, prepend=-1) != 0) | (np.diff(number, prepend=-1) != 0)
    event = np.cumsum(begins) - 1
    of_event = own[begins]
    n_events = np.bincount(of_event, minlength=len(animals))
    track = Track.of(graph_of_task(replays.task))
    found = {"event": event, "place": table["place"].to_numpy()}
    drawn = _merged(null(track)(found, np.random.default_rng(_SEED)))
    first, _ = runs_along(drawn, track, replays.detection)
    n_drawn = np.bincount(of_event[drawn["event"][first]], minlength=len(animals))
    n = np.bincount(own_code(animals, chosen(replays)), minlength=len(animals))
    value, expected = (each / np.where(n_events > 0, n_events, np.nan) for each in (n, n_drawn))
    return rows(animals, value, expected, n)


def _merged(drawn: Columns) -> dict[str, NDArray[np.integer]]:
    """Merge successive reactivations of one place: a place that stays active counts once."""
    event, place = drawn["event"], drawn["place"]
    kept = (np.diff(event, prepend=-1) != 0) | (np.diff(place, prepend=-1) != 0)
    return {"event": event[kept], "place": place[kept]}


def _edges(track: Track) -> Draw:
    """Draw from all edges of the track, in both directions."""
    ends = np.array([edge for a, b in track.graph.edges for edge in ((a, b), (b, a))])
    return partial(random_edges, edges=ends.reshape(-1, 2))


def _per_pause(beyond: str, null: Callable[[Track], Draw]) -> Statistic:
    label = f"sequences per pause with replay, beyond {beyond}"
    return Statistic(label, partial(_sequences_per_event, null=null))


CHANCE_STATISTICS: dict[str, Statistic] = {
    "beyond_shuffled_places": _per_pause("shuffled places", lambda track: shuffled_order),
    "beyond_random_edges": _per_pause("edges at random", _edges),
}
