"""S1, S2, S13, S14: forward against reverse.

Directions are those of experience: a chain is reverse if every move of it had been made the other
way round. Chains whose moves had been made both ways are left out, and counted on their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from analyses.measures.places import sides
from analyses.measures.replays import (
    AWAKE,
    REST,
    Replays,
    Statistic,
    between_nodes,
    chosen,
    every_animal,
    landmark,
    laps_done,
    own_code,
    rows,
    share,
)

__all__ = ["DIRECTIONS", "at_well", "directional"]


def directional(chains: pd.DataFrame) -> pd.DataFrame:
    """Leave out chains that go neither or both ways."""
    return chains[chains["direction"].isin(["forward", "reverse"])]


def _reverse_share(
    replays: Replays,
    min_length: int = 5,
    order: str = "causal",
    *,
    phases: Sequence[str] = AWAKE,
    side: str | None = None,
) -> pd.DataFrame:
    columns = ["direction"] if side is None else ["direction", "states", "place", "lap", "episode"]
    chains = directional(chosen(replays, min_length, order, [*columns, "phase"], phases))
    if side is not None:
        chains = chains[sides(replays, chains) == side]
    return share(replays, chains, chains["direction"] == "reverse", 0.5)


def _both_ways(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    chains = chosen(replays, min_length, order, ["direction"])
    return share(replays, chains, chains["direction"] == "both")


def _after_minus_before(
    replays: Replays, min_length: int = 5, order: str = "causal"
) -> pd.DataFrame:
    """Reverse share in pauses after a run minus that before one."""
    after, before = (
        _reverse_share(replays, min_length, order, phases=[phase])
        for phase in ("episode_end", "start")
    )
    value = after["value"] - before["value"]
    return rows(every_animal(replays), value, 0.0, after["n"] + before["n"])


def at_well(
    replays: Replays, chains: pd.DataFrame, path: str, well: str | None = None
) -> np.ndarray:
    """Tell which chains, of an animal at a well, run along possible past (or future) paths.

    A path is read as it was run. It goes out if it leads away from the centre well and in if it
    leads towards it. At the centre well all paths in are possible past ones; at a side well, all
    paths out are.

    Parameters
    ----------
    replays : Replays
        Of a task with the landmarks `centre_well`, `left_well` and `right_well`.
    chains : DataFrame
        Forward and reverse chains: `direction, first, last, place`.
    path : {"past", "future"}
        Which paths.
    well : {"centre", "side"}, optional
        At which wells; by default at all.

    Returns
    -------
    ndarray of bool, shape (n_chains,)
        Whether each does.
    """
    centre = landmark(replays.task, "centre_well")
    wells = centre | landmark(replays.task, "left_well", "right_well")
    if not centre.any():
        return np.zeros(len(chains), dtype=bool)
    from_centre = between_nodes(replays.task)[centre].min(axis=0)
    place = chains["place"].to_numpy()
    outward = np.sign(from_centre[chains["last"]] - from_centre[chains["first"]])
    outward[(chains["direction"] == "reverse").to_numpy()] *= -1
    possible = outward == np.where(centre[place] ^ (path == "past"), 1, -1)
    there = wells[place] if well is None else (wells & (centre == (well == "centre")))[place]
    return possible & there


def _congruence(
    replays: Replays,
    min_length: int = 5,
    order: str = "causal",
    *,
    direction: str,
    path: str,
    well: str | None = None,
) -> pd.DataFrame:
    """Share of one direction among the chains along possible past (or future) paths at wells."""
    table = directional(chosen(replays, min_length, order, ["direction", "first", "last", "place"]))
    table = table[at_well(replays, table, path, well)]
    return share(replays, table, table["direction"] == direction, 0.5)


def _rank_difference(
    replays: Replays, min_length: int = 5, order: str = "causal", *, by: Sequence[str]
) -> pd.DataFrame:
    """Mean rank of forward minus reverse chains; ranks of a pause run from 0 to 1."""
    columns = ["direction", "event", "episode", "phase"]
    chains = directional(chosen(replays, min_length, order, columns))
    animals = every_animal(replays)
    chains = chains.assign(stop=laps_done(chains), animal=own_code(animals, chains))
    pauses = chains.groupby(["animal", *by], sort=False, observed=True)
    rank = (pauses.cumcount() + 0.5) / pauses["animal"].transform("size")
    forward = (chains["direction"] == "forward").to_numpy()
    pause = pauses.ngroup().to_numpy()
    n_pauses = pauses.ngroups
    n = [np.bincount(pause[way], minlength=n_pauses) for way in (forward, ~forward)]
    sums = [
        np.bincount(pause[way], rank.to_numpy()[way], minlength=n_pauses)
        for way in (forward, ~forward)
    ]
    told = (n[0] > 0) & (n[1] > 0)
    difference = sums[0][told] / n[0][told] - sums[1][told] / n[1][told]
    owner = pauses["animal"].first().to_numpy()[told]
    n_told = np.bincount(owner, minlength=len(animals))
    total = np.bincount(owner, difference, minlength=len(animals))
    value = total / np.where(n_told > 0, n_told, np.nan)
    counted = np.bincount(owner, (n[0] + n[1])[told], minlength=len(animals))
    return rows(animals, value, 0.0, counted)


def _forward_minus_reverse(
    replays: Replays, min_length: int = 5, order: str = "causal"
) -> pd.DataFrame:
    """Forward minus reverse share of chains at rest, once something was experienced."""
    chains = directional(chosen(replays, min_length, order, ["direction"], REST))
    sign = np.where(chains["direction"] == "forward", 1, -1)
    return share(replays, chains, sign, 0.0)


def _congruent(direction: str, path: str, well: str | None = None) -> Statistic:
    where = "a well" if well is None else f"a {well} well"
    return Statistic(
        f"{direction}, of {path} paths at {where}",
        "share",
        partial(_congruence, direction=direction, path=path, well=well),
        "as many of each",
        0.5,
        "share",
    )


DIRECTIONS: dict[str, Statistic] = {
    "S1": Statistic(
        "reverse among directional chains", "share", _reverse_share, "as many of each", 0.5, "share"
    ),
    "S1_after_run": Statistic(
        "reverse chains after a run",
        "share",
        partial(_reverse_share, phases=["episode_end"]),
        "as many of each",
        0.5,
        "share",
    ),
    "S1_before_run": Statistic(
        "reverse chains before a run",
        "share",
        partial(_reverse_share, phases=["start"]),
        "as many of each",
        0.5,
        "share",
    ),
    "S1_after_minus_before": Statistic(
        "reverse chains after minus before a run",
        "difference",
        _after_minus_before,
        "as many after as before",
        0.0,
        "difference",
    ),
    "S1_same_side": Statistic(
        "reverse chains on the animal's side",
        "share",
        partial(_reverse_share, side="same"),
        "as many of each",
        0.5,
        "share",
    ),
    "S1_opposite_side": Statistic(
        "reverse chains on the other side",
        "share",
        partial(_reverse_share, side="opposite"),
        "as many of each",
        0.5,
        "share",
    ),
    "S1_both": Statistic(
        "chains along moves made both ways", "share", _both_ways, "none", np.nan, "share"
    ),
    "S2_reverse_given_past": _congruent("reverse", "past"),
    "S2_reverse_given_past_centre": _congruent("reverse", "past", "centre"),
    "S2_reverse_given_past_side": _congruent("reverse", "past", "side"),
    "S2_forward_given_future": _congruent("forward", "future"),
    "S2_forward_given_future_centre": _congruent("forward", "future", "centre"),
    "S2_forward_given_future_side": _congruent("forward", "future", "side"),
    "S13": Statistic(
        "rank in the pause, forward minus reverse",
        "difference",
        partial(_rank_difference, by=["event"]),
        "in any order",
        0.0,
        "difference",
    ),
    "S13_stop": Statistic(
        "rank in the stop between laps, forward minus reverse",
        "difference",
        partial(_rank_difference, by=["stop"]),
        "in any order",
        0.0,
        "difference",
    ),
    "S14": Statistic(
        "forward minus reverse at rest",
        "difference",
        _forward_minus_reverse,
        "as many of each",
        0.0,
        "difference",
    ),
}
