"""Replay before and after the first run, and of places that were seen but not run.

``late_to_early_laps`` [1]_
    Sequences per stop in the last third of an animal's laps, relative to the first third (log
    ratio). Null: 0.
``last_to_first_session`` [2]_
    The same for its last block relative to its first. Null: 0.
``rate_before_first_lap, rate_after_one_lap`` [1]_
    Sequences per pause before the first lap, and after one lap (number). Null: 0.
``cued_arm_share, uncued_arm_share`` [3]_
    Sequences at rest that lie mostly on the cued (or uncued) arm, which was seen but not yet run
    (share). They have no null.
``cued_arm_share_unseen`` [3]_
    The same for the cued arm, before all laps. It has no null.
``cued_minus_uncued_arm`` [3]_
    The share on the cued arm minus that on the uncued arm (difference). Null: 0.

References
----------
.. [1] Berners-Lee et al. (2022), Hippocampal replays appear after a single experience and
   incorporate greater detail with more experience. https://doi.org/10.1016/j.neuron.2022.03.010
.. [2] Foster & Wilson (2006), Reverse replay of behavioural sequences in hippocampal place cells
   during the awake state. https://doi.org/10.1038/nature04587
.. [3] Olafsdottir, Barry, Saleem, Hassabis & Spiers (2015), Hippocampal place cells construct
   reward related sequences through unexplored space. https://doi.org/10.7554/eLife.06063
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import own_code, rows, share
from analyses.measures.landmarks import covered, landmark
from analyses.measures.laps import laps_done, laps_in_order
from analyses.measures.rates import count_in_cells, log_rates
from analyses.measures.replays import (
    AT_REST,
    AWAKE,
    Replays,
    Statistic,
    chosen,
    is_one_of,
    name_codes,
    paths,
)

__all__ = ["RATE_STATISTICS", "UNVISITED_STATISTICS", "sequences_by_lap"]

_LOOK = "look"


def sequences_by_lap(replays: Replays) -> pd.DataFrame:
    """Count sequences per pause, by the number of completed laps.

    One row per animal and number of laps: `animal, laps, n_sequences, n_pauses, per_pause`, of
    awake pauses and of those at rest before all laps.
    """
    every = (*AWAKE, *AT_REST)
    sequences = chosen(replays, ["episode", "phase"], every)
    animals = replays.animals
    most = 1 + max(laps_done(table).max(initial=0) for table in (sequences, replays.pauses))
    n, n_pauses = (_by_lap(animals, table, most).ravel() for table in (sequences, replays.pauses))
    own, laps = np.divmod(np.flatnonzero(n_pauses), most)
    n, n_pauses = n[n_pauses > 0], n_pauses[n_pauses > 0]
    return pd.DataFrame(
        {
            "animal": animals[own],
            "laps": laps,
            "n_sequences": n,
            "n_pauses": n_pauses,
            "per_pause": n / n_pauses,
        }
    )


def _by_lap(animals: pd.Index[int], table: pd.DataFrame, n_laps: int) -> NDArray[np.int64]:
    """Count rows in awake pauses, and at rest before all laps, shape (n_animals, n_laps)."""
    done = laps_done(table)
    kept = is_one_of(table["phase"], AWAKE) | (done == 0)
    cell = (own_code(animals, table) * n_laps + done)[kept]
    return np.bincount(cell, minlength=len(animals) * n_laps).reshape(-1, n_laps)


def _after(replays: Replays, *, laps: int) -> pd.DataFrame:
    """Sequences per pause after a number of laps."""
    table = sequences_by_lap(replays)
    table = table[table["laps"] == laps].set_index("animal").reindex(replays.animals)
    return rows(table.index, table["per_pause"], 0.0, table["n_sequences"].fillna(0))


def _late_to_early(replays: Replays) -> pd.DataFrame:
    """Log ratio of the rate in the last third of an animal's laps to that in the first third."""
    return _rate_ratio(replays, _thirds)


def _last_to_first_session(replays: Replays) -> pd.DataFrame:
    """Log ratio of the rate in an animal's last block to that in its first block."""
    return _rate_ratio(replays, _ends)


def _rate_ratio(
    replays: Replays,
    cells: Callable[[Replays, pd.DataFrame], NDArray[np.int64]],
) -> pd.DataFrame:
    sequences = chosen(replays, ["episode", "phase", "block"])
    pauses = replays.pauses[is_one_of(replays.pauses["phase"], AWAKE)]
    n, n_pauses = (
        count_in_cells(replays, table, cells(replays, table), 2) for table in (sequences, pauses)
    )
    rate = log_rates(n, n_pauses)
    return rows(replays.animals, rate[:, 1] - rate[:, 0], 0.0, n.sum(axis=(1, 2)))


def _thirds(replays: Replays, table: pd.DataFrame) -> NDArray[np.int64]:
    animals = replays.animals
    n_laps = np.bincount(own_code(animals, replays.laps), minlength=len(animals))
    done, total = laps_done(table), n_laps[own_code(animals, table)]
    return np.select([done < 1, 3 * done <= total, 3 * done > 2 * total], [-1, 0, 1], -1)


def _ends(replays: Replays, table: pd.DataFrame) -> NDArray[np.int64]:
    animals, laps = replays.animals, laps_in_order(replays).laps
    blocks = laps["block"].unique().tolist()
    own, block = own_code(animals, laps), name_codes(laps["block"], blocks)
    first, last = np.full(len(animals), -2), np.full(len(animals), -2)
    first[own[::-1]], last[own] = block[::-1], block
    own, block = own_code(animals, table), name_codes(table["block"], blocks)
    is_first, is_last = block == first[own], block == last[own]
    return np.select([is_first & is_last, is_first, is_last], [-1, 0, 1], -1)


def _arm_share(replays: Replays, *, arm: str, seen: bool = True) -> pd.DataFrame:
    """Share of sequences at rest on an arm that was not yet run: before all laps, or after some.

    A lap in which the animal only looks along an arm (its name begins with ``look``) is no run.
    """
    sequences = chosen(replays, ["episode", "phase"], AT_REST)
    laps, arms = replays.laps, landmark(replays.task, "cued_arm", "uncued_arm")
    if not arms.any():
        return share(replays, sequences[:0], [])
    animals = replays.animals
    first = np.full(len(animals), np.inf)
    run = arms[laps["end"].to_numpy(int)] | arms[laps["start"].to_numpy(int)]
    run &= ~laps["lap"].astype(str).str.startswith(_LOOK).to_numpy()
    np.minimum.at(first, own_code(animals, laps)[run], laps["episode"].to_numpy()[run])
    done = laps_done(sequences)
    sequences = sequences[(done <= first[own_code(animals, sequences)]) & ((done > 0) == seen)]
    walked = paths(replays, sequences)
    there = covered(walked, landmark(replays.task, arm))
    anywhere = covered(walked, np.ones(len(arms), dtype=bool))
    return share(replays, sequences, 2 * there >= anywhere)


def _cued_to_uncued(replays: Replays) -> pd.DataFrame:
    """Share of sequences at rest on the cued minus the uncued arm, neither of them run yet."""
    cued, uncued = (_arm_share(replays, arm=arm) for arm in ("cued_arm", "uncued_arm"))
    return rows(replays.animals, cued["value"] - uncued["value"], 0.0, cued["n"])


def _unvisited(label: str, arm: str, *, seen: bool = True) -> Statistic:
    return Statistic(label, partial(_arm_share, arm=arm, seen=seen), is_share=True)


_SPAN = (-2.0, 2.0)  # of logarithms of ratios

RATE_STATISTICS: dict[str, Statistic] = {
    "late_to_early_laps": Statistic(
        "sequences per pause, late to early laps", _late_to_early, span=_SPAN
    ),
    "rate_before_first_lap": Statistic(
        "sequences per pause before the first lap", partial(_after, laps=0), span=(0.0, 1.0)
    ),
    "rate_after_one_lap": Statistic(
        "sequences per pause after one lap", partial(_after, laps=1), span=_SPAN
    ),
    "last_to_first_session": Statistic(
        "sequences per pause, last to first session", _last_to_first_session, span=_SPAN
    ),
}

UNVISITED_STATISTICS: dict[str, Statistic] = {
    "cued_minus_uncued_arm": Statistic(
        "sequences on the cued minus the uncued arm, neither run", _cued_to_uncued
    ),
    "cued_arm_share": _unvisited("sequences on the cued arm, not run yet", "cued_arm"),
    "uncued_arm_share": _unvisited("sequences on the uncued arm, not run yet", "uncued_arm"),
    "cued_arm_share_unseen": _unvisited(
        "sequences on the cued arm, before all laps", "cued_arm", seen=False
    ),
}
