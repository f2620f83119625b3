"""Replay after changes of reward.

Rates are sequences per stop, the pauses after a lap and before the next; see `log_rates`.

``changed_end, changed_end_reverse, changed_end_forward`` [1]_
    All sequences, or those of one direction: the rate at the end of the track whose reward changes,
    relative to the other end; in blocks in which the ends are rewarded unequally, minus that in the
    others (log ratio). Null: 0.
``changed_end_reverse_to_forward`` [1]_
    The rate of reverse relative to forward sequences, at the changed end in unequal blocks (log
    ratio). Null: 0.
``restored_end_reverse_to_forward`` [1]_
    The same in the equal blocks after the unequal ones. Null: 0.
``rewarded_to_unrewarded_laps`` [2]_
    The rate after rewarded laps, relative to laps without reward (log ratio). Null: 0.
``paid_sequence_after_minus_before, paid_minus_neutral_sequence`` [3]_
    The reverse share of directional sequences at rest along the rewarded sequence, minus its value
    before the sequence was rewarded, or minus that of the sequence that is never rewarded
    (difference). Null: 0.
``paid_sequenceness_after_minus_before, paid_minus_neutral_sequenceness`` [3]_
    The same of backward minus forward sequenceness at a lag of one place, which is the measure of
    studies of people; see `analyses.measures.sequenceness` (difference). Null: 0.
``better_paid_side, better_paid_side_at_rest`` [4]_
    Of the sequences on either side of the maze, awake or at rest, the share on one side in blocks
    in which it pays more than the other, minus that in blocks in which it pays less (difference).
    Null: 0.

References
----------
.. [1] Ambrose, Pfeiffer & Foster (2016), Reverse replay of hippocampal place cells is uniquely
   modulated by changing reward. https://doi.org/10.1016/j.neuron.2016.07.047
.. [2] Singer & Frank (2009), Rewarded outcomes enhance reactivation of experience in the
   hippocampus. https://doi.org/10.1016/j.neuron.2009.11.016
.. [3] Liu, Dolan, Kurth-Nelson & Behrens (2019), Human replay spontaneously reorganizes experience.
   https://doi.org/10.1016/j.cell.2019.06.012
.. [4] Carey, Tanaka & van der Meer (2019), Reward revaluation biases hippocampal replay content
   away from the preferred outcome. https://doi.org/10.1038/s41593-019-0464-6
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import own_code, rows, share
from analyses.measures.landmarks import landmark
from analyses.measures.laps import laps_around
from analyses.measures.rates import count_in_cells, log_rates
from analyses.measures.replays import (
    AT_REST,
    AWAKE,
    Replays,
    Statistic,
    chosen,
    directional,
    is_one_of,
    paths,
)
from analyses.measures.sequenceness import backward_minus_forward
from analyses.measures.sides import own_sides, runs_on

if TYPE_CHECKING:
    from replay.tasks import Task

__all__ = ["REWARD_STATISTICS", "changed_ends"]


def changed_ends(task: Task) -> tuple[str | None, set[str], set[str], set[str]]:
    """Find the end of a track whose reward changes, and the other one.

    Returns the node whose mean reward differs between blocks (None unless there is exactly one),
    the other rewarded nodes, and the names of the blocks in which all these nodes have the same
    reward, and of the others.
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


def _changed_end(replays: Replays, *, direction: str | None = None) -> pd.DataFrame:
    """Log rate ratio of the changed to the unchanged end, unequal minus equal blocks."""
    sequences = chosen(replays, ["direction", "place", "block", "phase"])
    if direction is not None:
        sequences = sequences[is_one_of(sequences["direction"], [direction])]
    pauses = replays.pauses[is_one_of(replays.pauses["phase"], AWAKE)]
    cells = _cells(replays)
    n = count_in_cells(replays, sequences, cells(sequences), 4)
    rate = log_rates(n, count_in_cells(replays, pauses, cells(pauses), 4))
    value = (rate[:, 3] - rate[:, 2]) - (rate[:, 1] - rate[:, 0])
    return rows(replays.animals, value, 0.0, n.sum(axis=(1, 2)))


def _cells(replays: Replays) -> Callable[[pd.DataFrame], NDArray[np.int64]]:
    """Return the function from rows to cells: 0, 1 in equal, 2, 3 in unequal blocks.

    Odd cells are at the changed end.
    """
    changed, unchanged, equal, unequal = changed_ends(replays.task)
    node = np.array(replays.task.node, dtype=object)
    at = np.select([node == changed, np.isin(node, list(unchanged))], [1, 0], -1)

    def cells(table: pd.DataFrame) -> NDArray[np.int64]:
        block = table["block"]
        epoch = np.select([is_one_of(block, equal), is_one_of(block, unequal)], [0, 2], -1)
        end = at[table["place"].to_numpy()]
        return np.where((epoch >= 0) & (end >= 0), epoch + end, -1)

    return cells


def _reverse_minus_forward(replays: Replays, *, restored: bool = False) -> pd.DataFrame:
    """Log rate of reverse minus that of forward sequences at the changed end.

    In unequal blocks or, if `restored`, in the equal ones after them.
    """
    sequences = chosen(replays, ["direction", "place", "block", "phase"])
    forward, reverse = (is_one_of(sequences["direction"], [way]) for way in ("forward", "reverse"))
    there = _cells(replays)(sequences) == (1 if restored else 3)
    if restored:
        *_, equal, unequal = changed_ends(replays.task)
        names = [block.name for block in replays.task.blocks]
        first = min((names.index(name) for name in unequal), default=len(names))
        there &= is_one_of(sequences["block"], equal.intersection(names[first:]))
    n = count_in_cells(
        replays, sequences, np.select([there & reverse, there & forward], [1, 0], -1), 2
    )
    rate = log_rates(n, np.ones_like(n))
    return rows(replays.animals, rate[:, 1] - rate[:, 0], 0.0, n.sum(axis=(1, 2)))


def _rewarded(replays: Replays) -> pd.DataFrame:
    """Log ratio of the rates after laps with and without reward."""
    pauses = replays.pauses[is_one_of(replays.pauses["phase"], ["episode_end"])]
    sequences = chosen(replays, ["episode", "phase"], ["episode_end"])
    paid = np.append((replays.laps["reward"] > 0).to_numpy().astype(int), -1)
    n, n_pauses = (
        count_in_cells(replays, table, paid[laps_around(replays, table)[0]], 2)
        for table in (sequences, pauses)
    )
    rate = log_rates(n, n_pauses)
    return rows(replays.animals, rate[:, 1] - rate[:, 0], 0.0, n.sum(axis=(1, 2)))


def _paid_sequence(replays: Replays, *, against: str) -> pd.DataFrame:
    """Share of reverse sequences at rest along the rewarded sequence, in blocks with its reward.

    The share of the sequence without reward, or its own share in the blocks before, is subtracted.
    """
    task = replays.task
    columns = ["direction", "first", "block", "episode", "phase"]
    sequences = directional(chosen(replays, columns, AT_REST))
    paying = {block.name for block in task.blocks if block.rewards}
    nodes = {node for block in task.blocks for node in block.rewards}
    paid = np.zeros(len(task.node), dtype=bool)
    neutral = paid.copy()
    for name in ("first_chain", "second_chain"):
        pays = not nodes.isdisjoint(task.landmarks.get(name, ()))
        paid |= landmark(task, name) & pays
        neutral |= landmark(task, name) & (not pays)
    first = sequences["first"].to_numpy()
    after = is_one_of(sequences["block"], paying)
    other = neutral[first] & after if against == "neutral" else paid[first] & ~after
    one, two = (
        share(replays, sequences[which], sequences.loc[which, "direction"] == "reverse")
        for which in (paid[first] & after, other)
    )
    return rows(replays.animals, one["value"] - two["value"], 0.0, one["n"] + two["n"])


def _paid_sequenceness(replays: Replays, *, against: str) -> pd.DataFrame:
    """Backward minus forward sequenceness at rest of the rewarded sequence, after its reward.

    That of the sequence without reward, or its own before, is subtracted.
    """
    task = replays.task
    sequences = chosen(replays, ["block"], AT_REST)
    walked = paths(replays, sequences)
    after = is_one_of(sequences["block"], [block.name for block in task.blocks if block.rewards])
    nodes = {node for block in task.blocks for node in block.rewards}
    chains = [task.landmarks.get(name, ()) for name in ("first_chain", "second_chain")]
    paid = [chain for chain in chains if not nodes.isdisjoint(chain)]
    neutral = [chain for chain in chains if nodes.isdisjoint(chain)]
    terms = [(paid, after), (neutral, after) if against == "neutral" else (paid, ~after)]
    owner, animals = sequences["animal"].to_numpy(), replays.animals
    value = np.full(len(animals), np.nan)
    for number, animal in enumerate(animals if paid and neutral else ()):
        found = [
            backward_minus_forward(
                walked.select(which & (owner == animal)), task.node, chosen_chains
            )
            for chosen_chains, which in terms
        ]
        value[number] = found[0] - found[1]
    return rows(
        animals, value, 0.0, np.bincount(own_code(animals, sequences), minlength=len(animals))
    )


def _better_paid_side(replays: Replays, *, phases: Sequence[str]) -> pd.DataFrame:
    """Share of sequences on the right where it pays more, minus that where it pays less."""
    sides = own_sides(replays)
    left, right = ({replays.task.node[place] for place in np.flatnonzero(side)} for side in sides)
    more = {}
    for block in replays.task.blocks:
        on_left, on_right = (
            sum(reward for node, reward in block.rewards.items() if node in side)
            for side in (left, right)
        )
        more[block.name] = np.sign(on_right - on_left)
    sequences = chosen(replays, ["block", "phase"], phases)
    runs = runs_on(*sides, paths(replays, sequences))
    paying = sequences["block"].astype(object).map(more).to_numpy(float)
    one, two = (
        share(replays, sequences[which], runs[which] > 0)
        for which in ((runs != 0) & (paying == sign) for sign in (1, -1))
    )
    return rows(replays.animals, one["value"] - two["value"], 0.0, one["n"] + two["n"])


def _sequence(label: str, against: str) -> Statistic:
    return Statistic(
        f"reverse sequences of the paid sequence at rest, minus {label}",
        partial(_paid_sequence, against=against),
    )


def _sequenceness(label: str, against: str) -> Statistic:
    return Statistic(
        f"backward sequenceness of the paid sequence at rest, minus {label}",
        partial(_paid_sequenceness, against=against),
    )


def _change(label: str, direction: str | None) -> Statistic:
    return Statistic(
        f"{label} at the changed end: unequal minus equal reward",
        partial(_changed_end, direction=direction),
    )


_STATISTICS = {
    "changed_end": _change("all sequences", None),
    "changed_end_reverse": _change("reverse sequences", "reverse"),
    "changed_end_forward": _change("forward sequences", "forward"),
    "changed_end_reverse_to_forward": Statistic(
        "reverse to forward at the changed end, unequal reward", _reverse_minus_forward
    ),
    "restored_end_reverse_to_forward": Statistic(
        "reverse to forward at the changed end, reward restored",
        partial(_reverse_minus_forward, restored=True),
    ),
    "rewarded_to_unrewarded_laps": Statistic(
        "sequences after laps with reward, to those without", _rewarded
    ),
    "paid_sequence_after_minus_before": _sequence("before it paid", "before"),
    "paid_minus_neutral_sequence": _sequence("of the other sequence", "neutral"),
    "paid_sequenceness_after_minus_before": _sequenceness("before it paid", "before"),
    "paid_minus_neutral_sequenceness": _sequenceness("that of the other sequence", "neutral"),
}

REWARD_STATISTICS: dict[str, Statistic] = {
    name: each._replace(span=(-2.0, 2.0)) for name, each in _STATISTICS.items()
} | {
    "better_paid_side": Statistic(
        "sequences on a side: where it pays more minus less",
        partial(_better_paid_side, phases=AWAKE),
    ),
    "better_paid_side_at_rest": Statistic(
        "sequences at rest on a side: where it pays more minus less",
        partial(_better_paid_side, phases=AT_REST),
    ),
}
