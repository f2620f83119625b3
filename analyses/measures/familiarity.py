"""Replay before and after the first run, and of places that were seen but not run.

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
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import count_in_cells, log_ratio, rows, share
from analyses.measures.places import covered, landmark
from analyses.measures.replays import (
    AT_REST,
    AWAKE,
    PAUSES,
    Replays,
    Statistic,
    chosen,
    chosen_pauses,
    is_one_of,
    laps_done,
    laps_in_order,
    name_codes,
    own_code,
    paths,
)

__all__ = ["RATE_STATISTICS", "UNVISITED_STATISTICS", "sequences_by_lap"]

_LOOK = "look"


def sequences_by_lap(replays: Replays) -> pd.DataFrame:
    """Count sequences per pause, by the number of completed laps.

    One row per animal and number of laps: `animal, laps, n_sequences, n_pauses, per_pause`, of
    awake pauses and of those at rest before all laps.
    """
    animals = replays.animals
    tables = chosen(replace(replays, phases=PAUSES), ["episode", "phase"]), replays.pauses
    most = 1 + max(laps_done(table).max(initial=0) for table in tables)
    counts = []
    for table in tables:
        done = laps_done(table)
        kept = is_one_of(table["phase"], AWAKE) | (done == 0)
        cell = (own_code(animals, table) * most + done)[kept]
        counts.append(np.bincount(cell, minlength=len(animals) * most))
    own, laps = np.divmod(np.flatnonzero(counts[1]), most)
    n, n_pauses = (count[counts[1] > 0] for count in counts)
    return pd.DataFrame(
        {
            "animal": animals[own],
            "laps": laps,
            "n_sequences": n,
            "n_pauses": n_pauses,
            "per_pause": n / n_pauses,
        }
    )


def _after(replays: Replays, *, laps: int) -> pd.DataFrame:
    """Sequences per pause after a number of laps (number; Berners-Lee et al. 2022). Null: 0.

    Before the first lap, those at rest count, too.
    """
    table = sequences_by_lap(replays)
    table = table[table["laps"] == laps].set_index("animal").reindex(replays.animals)
    return rows(table.index, table["per_pause"], 0.0, table["n_sequences"].fillna(0))


def _rate_ratio(
    replays: Replays, *, cells: Callable[[Replays, pd.DataFrame], NDArray[np.int64]]
) -> pd.DataFrame:
    """Sequences per stop in the last third of an animal's laps, relative to the first. Null: 0.

    Or in its last block relative to its first (log ratio; Berners-Lee et al. 2022, Foster & Wilson
    2006).
    """
    sequences = chosen(replays, ["episode", "phase", "block"])
    n, n_pauses = (
        count_in_cells(replays, table, cells(replays, table), 2)
        for table in (sequences, chosen_pauses(replays))
    )
    return log_ratio(replays, n, n_pauses)


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
    """Sequences that lie mostly on an arm that was not yet run (share; Olafsdottir et al. 2015).

    After some laps or, unless `seen`, before all. A lap in which the animal only looks along an arm
    (its name begins with ``look``) is no run. There is no null.
    """
    sequences = chosen(replays, ["episode", "phase"])
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
    """Share of sequences on the cued minus the uncued arm, neither of them run yet. Null: 0.

    As Olafsdottir et al. (2015) measured it.
    """
    cued, uncued = (_arm_share(replays, arm=arm) for arm in ("cued_arm", "uncued_arm"))
    return rows(replays.animals, cued["value"] - uncued["value"], 0.0, cued["n"])


_LOG_RATIOS = (-2.0, 2.0)

RATE_STATISTICS: dict[str, Statistic] = {
    "late_to_early_laps": Statistic(
        "sequences per pause, late to early laps",
        partial(_rate_ratio, cells=_thirds),
        span=_LOG_RATIOS,
    ),
    "rate_before_first_lap": Statistic(
        "sequences per pause before the first lap", partial(_after, laps=0), span=(0.0, 1.0)
    ),
    "rate_after_one_lap": Statistic(
        "sequences per pause after one lap", partial(_after, laps=1), span=_LOG_RATIOS
    ),
    "last_to_first_session": Statistic(
        "sequences per pause, last to first session",
        partial(_rate_ratio, cells=_ends),
        span=_LOG_RATIOS,
    ),
}

UNVISITED_STATISTICS: dict[str, Statistic] = {
    "cued_minus_uncued_arm": Statistic(
        "sequences on the cued minus the uncued arm, neither run", _cued_to_uncued, phases=AT_REST
    ),
    "cued_arm_share": Statistic(
        "sequences on the cued arm, not run yet",
        partial(_arm_share, arm="cued_arm"),
        is_share=True,
        phases=AT_REST,
    ),
    "uncued_arm_share": Statistic(
        "sequences on the uncued arm, not run yet",
        partial(_arm_share, arm="uncued_arm"),
        is_share=True,
        phases=AT_REST,
    ),
    "cued_arm_share_unseen": Statistic(
        "sequences on the cued arm, before all laps",
        partial(_arm_share, arm="cued_arm", seen=False),
        is_share=True,
        phases=AT_REST,
    ),
}
