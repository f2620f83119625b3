"""S1, S2, S13, S14: forward against reverse.

Directions are those of experience: a chain is reverse if every move of it had been made the other
way round. Chains whose moves had been made both ways are left out, and counted on their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from analyses.replay_statistics.places import sides
from analyses.replay_statistics.replays import (
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

__all__ = ["DIRECTIONS"]


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


def _congruence(
    replays: Replays,
    min_length: int = 5,
    order: str = "causal",
    *,
    direction: str,
    path: str,
    well: str | None = None,
) -> pd.DataFrame:
    """Share of one direction among the chains along possible past (or future) paths.

    A path is read as it was run. It goes out if it leads away from the home well and in if it leads
    towards it. At home all paths in are possible past ones; elsewhere, all paths out are.
    """
    table = chosen(replays, min_length, order, ["direction", "first", "last", "place"])
    table = directional(table)
    home = landmark(replays.task, "centre_well")
    wells = home | landmark(replays.task, "left_well", "right_well")
    if not home.any():
        return share(replays, table[:0], [], 0.5)
    from_home = between_nodes(replays.task)[home].min(axis=0)
    place = table["place"].to_numpy()
    outward = np.sign(from_home[table["last"]] - from_home[table["first"]])
    outward[(table["direction"] == "reverse").to_numpy()] *= -1
    past = outward == np.where(home[place], -1, 1)
    future = outward == np.where(home[place], 1, -1)
    kept = wells[place] & (past if path == "past" else future)
    if well is not None:
        kept &= home[place] == (well == "home")
    return share(replays, table[kept], table.loc[kept, "direction"] == direction, 0.5)


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
    where = {None: "a well", "home": "the home well", "side": "a side well"}[well]
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
    "S2_reverse_given_past_home": _congruent("reverse", "past", "home"),
    "S2_reverse_given_past_side": _congruent("reverse", "past", "side"),
    "S2_forward_given_future": _congruent("forward", "future"),
    "S2_forward_given_future_home": _congruent("forward", "future", "home"),
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
