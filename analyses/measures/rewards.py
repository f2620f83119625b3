"""S4: replay after rewards that change."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analyses.measures.replays import (
    AWAKE,
    REST,
    Replays,
    Statistic,
    chosen,
    every_animal,
    landmark,
    laps_around,
    own_code,
    rows,
    share,
)

if TYPE_CHECKING:
    from replay.tasks import Task

__all__ = ["REWARDS", "changed_ends", "counted", "log_rates"]

_HALF = 0.5


def changed_ends(task: Task) -> tuple[str | None, set[str], set[str], set[str]]:
    """Find the end of a track whose reward changes, and the other one.

    Parameters
    ----------
    task : Task
        Its blocks pay at places.

    Returns
    -------
    changed : str or None
        The node whose mean reward is not the same in all blocks; None unless there is just one.
    unchanged : set of str
        The other nodes that pay.
    equal, unequal : set of str
        Blocks by name in which all pay the same, and the others.
    """
    blocks = [block for block in task.blocks if block.n_laps]
    ends = sorted({node for block in blocks for node in block.rewards})
    paid = {end: {float(block.rewards.get(end, 0.0)) for block in blocks} for end in ends}
    varying = [end for end in ends if len(paid[end]) > 1]
    changed = varying[0] if len(varying) == 1 else None
    equal = {
        block.name for block in blocks if len({block.rewards.get(end, 0.0) for end in ends}) == 1
    }
    return changed, set(ends) - {changed}, equal, {block.name for block in blocks} - equal


def counted(replays: Replays, table: pd.DataFrame, cells: np.ndarray, n_cells: int) -> np.ndarray:
    """Count each animal's chains (or pauses) in cells, before laps and after them apart.

    Parameters
    ----------
    replays : Replays
        The tables.
    table : DataFrame
        Has `animal, phase`.
    cells : ndarray of int, shape (n_rows,) or (n_rows, n_arms)
        The cell of each row (or of each arm at each row), such as the end of the track and the
        block, counted from 0; -1 for none.
    n_cells : int
        How many there are.

    Returns
    -------
    ndarray of int, shape (n_animals, n_cells, 2)
        How many rows, in pauses before a lap and after one.
    """
    animals = every_animal(replays)
    code, phase = own_code(animals, table), (table["phase"] != AWAKE[0]).to_numpy().astype(int)
    shape = len(animals), n_cells, len(AWAKE)
    row = np.nonzero(cells >= 0)
    at = np.ravel_multi_index((code[row[0]], cells[row], phase[row[0]]), shape)
    return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)


def log_rates(n_chains: np.ndarray, n_pauses: np.ndarray) -> np.ndarray:
    """Give the log of chains per stop in cells.

    A stop has a pause after a lap and one before the next; the rate is the sum of those of both. So
    cells don't differ for having fewer pauses of one kind, as the first lap has none before it. To
    each rate that of half a chain in an average cell is added: so none at all has a logarithm too.

    Parameters
    ----------
    n_chains, n_pauses : ndarray of int, shape (n_animals, n_cells, 2)
        The counts, as `counted` gives them.

    Returns
    -------
    ndarray of float, shape (n_animals, n_cells)
        The log rates. NaN where there was no pause of a kind that the animal's other cells have,
        and of animals without any chain.

    Examples
    --------
    One animal with nine chains in ten pauses and in twenty, all after laps; one without any:

    >>> n_chains = np.array([[[0, 9], [0, 9]], [[0, 0], [0, 0]]])
    >>> n_pauses = np.array([[[0, 10], [0, 20]], [[0, 10], [0, 20]]])
    >>> log_rates(n_chains, n_pauses).round(2).tolist()
    [[-0.07, -0.73], [nan, nan]]
    """
    has_kind = n_pauses.any(axis=1, keepdims=True)
    rate = n_chains / np.where(n_pauses > 0, n_pauses, np.where(has_kind, np.nan, 1))
    n_stops = n_pauses.mean(axis=1).max(axis=-1)
    half = _HALF / np.where(n_stops > 0, n_stops, np.nan)
    rates = np.log(rate.sum(axis=-1) + half[:, None])
    return np.where(n_chains.sum(axis=(1, 2))[:, None] > 0, rates, np.nan)


def _awake_pauses(replays: Replays) -> pd.DataFrame:
    return replays.pauses[replays.pauses["phase"].isin(AWAKE)]


def _changed_end(
    replays: Replays, min_length: int = 5, order: str = "causal", *, direction: str | None = None
) -> pd.DataFrame:
    """Log rate ratio of changed to unchanged end, unequal minus equal blocks."""
    chains = chosen(replays, min_length, order, ["direction", "place", "block", "phase"])
    if direction is not None:
        chains = chains[chains["direction"] == direction]
    pauses = _awake_pauses(replays)
    cells = _cells(replays)
    n = counted(replays, chains, cells(chains), 4)
    rate = log_rates(n, counted(replays, pauses, cells(pauses), 4))
    value = (rate[:, 3] - rate[:, 2]) - (rate[:, 1] - rate[:, 0])
    return rows(every_animal(replays), value, 0.0, n.sum(axis=(1, 2)))


def _cells(replays: Replays) -> Callable[[pd.DataFrame], np.ndarray]:
    """Give the function to cells: equal blocks 0 and 1, unequal 2 and 3; odd: the changed end."""
    changed, unchanged, equal, unequal = changed_ends(replays.task)
    node = np.array(replays.task.node, dtype=object)
    at = np.select([node == changed, np.isin(node, list(unchanged))], [1, 0], -1)

    def cells(table: pd.DataFrame) -> np.ndarray:
        block = table["block"].astype(str)
        epoch = np.select([block.isin(equal), block.isin(unequal)], [0, 2], -1)
        end = at[table["place"].to_numpy()]
        return np.where((epoch >= 0) & (end >= 0), epoch + end, -1)

    return cells


def _reverse_minus_forward(
    replays: Replays, min_length: int = 5, order: str = "causal"
) -> pd.DataFrame:
    """Log rate of reverse minus that of forward chains, at the changed end in unequal blocks."""
    chains = chosen(replays, min_length, order, ["direction", "place", "block", "phase"])
    cells, reverse = _cells(replays), (chains["direction"] == "reverse").to_numpy()
    forward = (chains["direction"] == "forward").to_numpy()
    there = cells(chains) == 3
    n = counted(replays, chains, np.select([there & reverse, there & forward], [1, 0], -1), 2)
    rate = log_rates(n, np.ones_like(n))
    return rows(every_animal(replays), rate[:, 1] - rate[:, 0], 0.0, n.sum(axis=(1, 2)))


def _rewarded(replays: Replays, min_length: int = 5, order: str = "causal") -> pd.DataFrame:
    """Log rate ratio after laps with and without reward."""
    pauses = replays.pauses[replays.pauses["phase"] == "episode_end"]
    chains = chosen(replays, min_length, order, ["episode", "phase"], ["episode_end"])
    paid = np.append((replays.laps["reward"] > 0).to_numpy().astype(int), -1)
    n, n_pauses = (
        counted(replays, table, paid[laps_around(replays, table)[0]], 2)
        for table in (chains, pauses)
    )
    rate = log_rates(n, n_pauses)
    return rows(every_animal(replays), rate[:, 1] - rate[:, 0], 0.0, n.sum(axis=(1, 2)))


def _paid_sequence(
    replays: Replays, min_length: int = 5, order: str = "causal", *, against: str
) -> pd.DataFrame:
    """Share of reverse chains at rest along the sequence that pays, in blocks in which it does.

    It is held against that of the sequence that never pays, or of itself in the blocks before.
    """
    task = replays.task
    columns = ["direction", "first", "block", "episode", "phase"]
    chains = chosen(replays, min_length, order, columns, REST)
    chains = chains[chains["direction"].isin(["forward", "reverse"])]
    paying = {block.name for block in task.blocks if block.rewards}
    nodes = {node for block in task.blocks for node in block.rewards}
    paid = np.zeros(len(task.node), dtype=bool)
    neutral = paid.copy()
    for name in ("first_chain", "second_chain"):
        pays = not nodes.isdisjoint(task.landmarks.get(name, ()))
        paid |= landmark(task, name) & pays
        neutral |= landmark(task, name) & (not pays)
    first = chains["first"].to_numpy()
    after = chains["block"].astype(str).isin(paying).to_numpy()
    other = neutral[first] & after if against == "neutral" else paid[first] & ~after
    one, two = (
        share(replays, chains[which], chains.loc[which, "direction"] == "reverse")
        for which in (paid[first] & after, other)
    )
    return rows(every_animal(replays), one["value"] - two["value"], 0.0, one["n"] + two["n"])


def _sequence(label: str, against: str) -> Statistic:
    return Statistic(
        f"reverse chains of the paid sequence at rest, minus {label}",
        "difference",
        partial(_paid_sequence, against=against),
        "no difference",
        0.0,
        "difference",
    )


def _change(label: str, direction: str | None) -> Statistic:
    return Statistic(
        f"{label} at the changed end: unequal minus equal reward",
        "log rate ratio",
        partial(_changed_end, direction=direction),
        "no change",
        0.0,
        "difference",
    )


REWARDS: dict[str, Statistic] = {
    "S4": _change("all chains", None),
    "S4_reverse": _change("reverse chains", "reverse"),
    "S4_forward": _change("forward chains", "forward"),
    "S4_reverse_minus_forward": Statistic(
        "reverse to forward at the changed end, unequal reward",
        "log rate ratio",
        _reverse_minus_forward,
        "as many of each",
        0.0,
        "difference",
    ),
    "S4_rewarded": Statistic(
        "chains after laps with reward, to those without",
        "log rate ratio",
        _rewarded,
        "as many after each",
        0.0,
        "difference",
    ),
    "S4_paid_sequence": _sequence("before it paid", "before"),
    "S4_paid_to_neutral": _sequence("of the other sequence", "neutral"),
}
