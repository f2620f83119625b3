"""How much is replayed: sequences per pause, and how that changes over laps and sessions.

References
----------
.. [1] Berners-Lee et al. (2022). https://doi.org/10.1016/j.neuron.2022.03.010
.. [2] Foster & Wilson (2006). https://doi.org/10.1038/nature04587
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from analyses.measures.replays import (
    AWAKE,
    PAUSES,
    Replays,
    Statistic,
    WideStatistic,
    chosen,
    chosen_pauses,
    count_in_cells,
    is_one_of,
    laps_done,
    laps_in_order,
    log_ratio,
    name_codes,
    own_code,
    rows,
)
from replay.checks.arrays import Ints


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
    replays: Replays, *, cells: Callable[[Replays, pd.DataFrame], Ints]
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


def _first_or_last_third(replays: Replays, table: pd.DataFrame) -> Ints:
    """Say which rows are of the first third of the laps (0) or the last (1); others are -1."""
    animals = replays.animals
    n_laps = np.bincount(own_code(animals, replays.laps), minlength=len(animals))
    done, total = laps_done(table), n_laps[own_code(animals, table)]
    return np.select([done < 1, 3 * done <= total, 3 * done > 2 * total], [-1, 0, 1], -1)


def _first_or_last_block(replays: Replays, table: pd.DataFrame) -> Ints:
    """Say which rows are of the first block (0) or the last (1); others, or if one is both, -1."""
    animals, laps = replays.animals, laps_in_order(replays).laps
    blocks = laps["block"].unique().tolist()
    of_lap, block_of_lap = own_code(animals, laps), name_codes(laps["block"], blocks)
    first, last = np.full(len(animals), -2), np.full(len(animals), -2)
    # Of several values for one animal, the last one written remains.
    first[of_lap[::-1]], last[of_lap] = block_of_lap[::-1], block_of_lap
    of_row, block = own_code(animals, table), name_codes(table["block"], blocks)
    is_first, is_last = block == first[of_row], block == last[of_row]
    return np.select([is_first & is_last, is_first, is_last], [-1, 0, 1], -1)


RATE_STATISTICS: dict[str, Statistic] = {
    "late_to_early_laps": WideStatistic(
        "sequences per pause, late to early laps", partial(_rate_ratio, cells=_first_or_last_third)
    ),
    "rate_before_first_lap": Statistic(
        "sequences per pause before the first lap", partial(_after, laps=0), span=(0.0, 1.0)
    ),
    "rate_after_one_lap": WideStatistic(
        "sequences per pause after one lap", partial(_after, laps=1)
    ),
    "last_to_first_session": WideStatistic(
        "sequences per pause, last to first session",
        partial(_rate_ratio, cells=_first_or_last_block),
    ),
}
