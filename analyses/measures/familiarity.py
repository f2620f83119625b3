"""S10, S11: replay before and after the first run, and of what was seen but not run.

``S10`` [1]_
    Chains per stop in the last third of an animal's laps, to that in the first third (log ratio).
    Null: 0.
``S10_sessions`` [2]_
    The same of its last block to its first. Null: 0.
``S10_before, S10_one_lap`` [1]_
    Chains per pause before the first lap, and after one lap (number). Null: 0.
``S11_cued, S11_uncued`` [3]_
    Chains at rest mostly on the arm that is cued (or not) and was seen but not run yet (share). It
    has no null.
``S11_cued_unseen`` [3]_
    The same of the cued arm, before all laps. It has no null.
``S11`` [3]_
    The share of the cued minus that of the uncued arm (difference). Null: 0.

References
----------
.. [1] Berners-Lee et al. (2022). Hippocampal replays appear after a single experience and
   incorporate greater detail with more experience. https://doi.org/10.1016/j.neuron.2022.03.010
.. [2] Foster & Wilson (2006). Reverse replay of behavioural sequences in hippocampal place cells
   during the awake state. https://doi.org/10.1038/nature04587
.. [3] Olafsdottir, Barry, Saleem, Hassabis & Spiers (2015). Hippocampal place cells construct
   reward related sequences through unexplored space. https://doi.org/10.7554/eLife.06063
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import (
    AWAKE,
    REST,
    Replays,
    Statistic,
    chosen,
    counted,
    covered,
    every_animal,
    is_one_of,
    landmark,
    laps_done,
    log_rates,
    own_code,
    paths,
    rows,
    share,
)

__all__ = ["FAMILIARITY_STATISTICS", "chains_by_lap"]

_LOOK = "look"


def chains_by_lap(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Count chains per pause after each number of laps.

    Parameters
    ----------
    replays : Replays
        The tables.
    min_length : int, default 5
        Chains of fewer different states are left out.
    order : {"causal", "temporal"}, default "causal"
        Whether chains follow the causes or the order of execution.

    Returns
    -------
    DataFrame
        One row an animal and number of laps: `animal, laps, n_chains, n_pauses, per_pause`; awake
        pauses only, and those at rest before all laps.
    """
    every = (*AWAKE, *REST)
    chains = chosen(replays, min_length, order, ["episode", "phase"], every)
    counts = {}
    for name, table in (("n_chains", chains), ("n_pauses", replays.pauses)):
        done = laps_done(table)
        kept = is_one_of(table["phase"], AWAKE) | (done == 0)
        counts[name] = table[kept].assign(laps=done[kept]).groupby(["animal", "laps"]).size()
    table = pd.DataFrame(counts).fillna({"n_chains": 0}).dropna().astype("int64")
    return table.assign(per_pause=table["n_chains"] / table["n_pauses"]).reset_index()


def _after(
    replays: Replays, min_length: int = 5, order: str = "causal", *, laps: int
) -> pd.DataFrame:
    """Chains per pause after so many laps."""
    table = chains_by_lap(replays, min_length, order)
    table = table[table["laps"] == laps].set_index("animal").reindex(every_animal(replays))
    return rows(table.index, table["per_pause"], 0.0, table["n_chains"].fillna(0))


def _late_to_early(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Log rate ratio of the last third of an animal's laps to the first third."""
    return _rate_ratio(replays, min_length, order, _thirds)


def _last_to_first_session(
    replays: Replays, min_length: int = 5, order: str = "causal"
) -> pd.DataFrame:
    """Log rate ratio of an animal's last block to its first one."""
    return _rate_ratio(replays, min_length, order, _ends)


def _rate_ratio(
    replays: Replays,
    min_length: int,
    order: str,
    cells: Callable[[Replays, pd.DataFrame], NDArray[np.int64]],
) -> pd.DataFrame:
    chains = chosen(replays, min_length, order, ["episode", "phase", "block"])
    pauses = replays.pauses[is_one_of(replays.pauses["phase"], AWAKE)]
    n, n_pauses = (counted(replays, table, cells(replays, table), 2) for table in (chains, pauses))
    rate = log_rates(n, n_pauses)
    return rows(every_animal(replays), rate[:, 1] - rate[:, 0], 0.0, n.sum(axis=(1, 2)))


def _thirds(replays: Replays, table: pd.DataFrame) -> NDArray[np.int64]:
    animals = every_animal(replays)
    n_laps = np.bincount(own_code(animals, replays.laps), minlength=len(animals))
    done, total = laps_done(table), n_laps[own_code(animals, table)]
    return np.select([done < 1, 3 * done <= total, 3 * done > 2 * total], [-1, 0, 1], -1)


def _ends(replays: Replays, table: pd.DataFrame) -> NDArray[np.int64]:
    animals, laps = every_animal(replays), replays.laps.sort_values(["animal", "episode"])
    ends = laps.groupby("animal", observed=True)["block"].agg(["first", "last"])
    blocks = ends.reindex(animals).astype(object).to_numpy()[own_code(animals, table)]
    block = table["block"].astype(object).to_numpy()
    first, last = block == blocks[:, 0], block == blocks[:, 1]
    return np.select([first & last, first, last], [-1, 0, 1], -1)


def _arm_share(
    replays: Replays, min_length: int = 5, order: str = "causal", *, arm: str, seen: bool = True
) -> pd.DataFrame:
    """Share of chains at rest on an arm that was not run yet: before all laps, or after some.

    To look along an arm (a lap whose name begins with ``look``) is not to run there.
    """
    chains = chosen(replays, min_length, order, ["states", "episode", "phase"], REST)
    laps, arms = replays.laps, landmark(replays.task, "cued_arm", "uncued_arm")
    if not arms.any():
        return share(replays, chains[:0], [])
    animals = every_animal(replays)
    first = np.full(len(animals), np.inf)
    run = arms[laps["end"].to_numpy(int)] | arms[laps["start"].to_numpy(int)]
    run &= ~laps["lap"].astype(str).str.startswith(_LOOK).to_numpy()
    np.minimum.at(first, own_code(animals, laps)[run], laps["episode"].to_numpy()[run])
    done = laps_done(chains)
    chains = chains[(done <= first[own_code(animals, chains)]) & ((done > 0) == seen)]
    walked = paths(chains)
    there = covered(walked, landmark(replays.task, arm))
    anywhere = covered(walked, np.ones(len(arms), dtype=bool))
    return share(replays, chains, 2 * there >= anywhere)


def _cued_to_uncued(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Share of chains at rest on the cued arm minus that on the uncued one, neither run yet."""
    cued, uncued = (
        _arm_share(replays, min_length, order, arm=arm) for arm in ("cued_arm", "uncued_arm")
    )
    return rows(every_animal(replays), cued["value"] - uncued["value"], 0.0, cued["n"])


def _unvisited(label: str, arm: str, *, seen: bool = True) -> Statistic:
    return Statistic(label, partial(_arm_share, arm=arm, seen=seen), is_share=True)


FAMILIARITY_STATISTICS: dict[str, Statistic] = {
    "S10": Statistic("chains per pause, late to early laps", _late_to_early),
    "S10_before": Statistic("chains per pause before the first lap", partial(_after, laps=0)),
    "S10_one_lap": Statistic("chains per pause after one lap", partial(_after, laps=1)),
    "S10_sessions": Statistic("chains per pause, last to first session", _last_to_first_session),
    "S11": Statistic("chains on the cued minus the uncued arm, neither run", _cued_to_uncued),
    "S11_cued": _unvisited("chains on the cued arm, not run yet", "cued_arm"),
    "S11_uncued": _unvisited("chains on the uncued arm, not run yet", "uncued_arm"),
    "S11_cued_unseen": _unvisited(
        "chains on the cued arm, before all laps", "cued_arm", seen=False
    ),
}
