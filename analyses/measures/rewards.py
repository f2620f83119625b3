"""Replay after changes of reward.

Rates are sequences per stop, the pauses after a lap and before the next; see `log_rates`.

References
----------
.. [1] Ambrose, Pfeiffer & Foster (2016). https://doi.org/10.1016/j.neuron.2016.07.047
.. [2] Singer & Frank (2009). https://doi.org/10.1016/j.neuron.2009.11.016
.. [3] Liu, Dolan, Kurth-Nelson & Behrens (2019). https://doi.org/10.1016/j.cell.2019.06.012
.. [4] Carey, Tanaka & van der Meer (2019). https://doi.org/10.1038/s41593-019-0464-6
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analyses.measures.places import own_sides, runs_on
from analyses.measures.replays import (
    AT_REST,
    Replays,
    Statistic,
    WideStatistic,
    at_lap,
    chosen,
    chosen_pauses,
    count_in_cells,
    difference,
    directional,
    is_one_of,
    laps_around,
    log_rates,
    log_ratio,
    own_code,
    paths,
    rows,
    share,
)
from analyses.measures.sequenceness import backward_minus_forward
from replay.checks.arrays import Ints

if TYPE_CHECKING:
    from replay.tasks import Task


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
    """Rate at the end of the track whose reward changes, relative to the other end. Null: 0.

    In blocks in which the ends are rewarded unequally, minus that in the others (log ratio; Ambrose
    et al. 2016). Of all sequences, or those of one direction.
    """
    sequences = chosen(replays, ["direction", "place", "block", "phase"])
    if direction is not None:
        sequences = sequences[is_one_of(sequences["direction"], [direction])]
    n, n_pauses = (
        count_in_cells(replays, table, _ends_and_blocks(replays, table), 4)
        for table in (sequences, chosen_pauses(replays))
    )
    rate = log_rates(n, n_pauses)
    value = (rate[:, 3] - rate[:, 2]) - (rate[:, 1] - rate[:, 0])
    return rows(replays.animals, value, 0.0, n.sum(axis=(1, 2)))


def _ends_and_blocks(replays: Replays, table: pd.DataFrame) -> Ints:
    """Return the cell of each row: 0, 1 in equal, 2, 3 in unequal blocks; odd: the changed end."""
    changed, unchanged, equal, unequal = changed_ends(replays.task)
    node = np.array(replays.task.node, dtype=object)
    at = np.select([node == changed, np.isin(node, list(unchanged))], [1, 0], -1)
    block = table["block"]
    epoch = np.select([is_one_of(block, equal), is_one_of(block, unequal)], [0, 2], -1)
    end = at[table["place"].to_numpy()]
    return np.where((epoch >= 0) & (end >= 0), epoch + end, -1)


def _reverse_minus_forward(replays: Replays, *, restored: bool = False) -> pd.DataFrame:
    """Rate of reverse relative to forward sequences at the changed end (log ratio). Null: 0.

    In unequal blocks or, if `restored`, in the equal ones after them (Ambrose et al. 2016).
    """
    sequences = chosen(replays, ["direction", "place", "block", "phase"])
    forward, reverse = (is_one_of(sequences["direction"], [way]) for way in ("forward", "reverse"))
    there = _ends_and_blocks(replays, sequences) == (1 if restored else 3)
    if restored:
        *_, equal, unequal = changed_ends(replays.task)
        names = [block.name for block in replays.task.blocks]
        first = min((names.index(name) for name in unequal), default=len(names))
        there &= is_one_of(sequences["block"], equal.intersection(names[first:]))
    cells = np.select([there & reverse, there & forward], [1, 0], -1)
    n = count_in_cells(replays, sequences, cells, 2)
    return log_ratio(replays, n, np.ones_like(n))


def _rewarded(replays: Replays) -> pd.DataFrame:
    """Rate after rewarded laps, relative to laps without reward (log ratio). Null: 0.

    As Singer & Frank (2009) measured it.
    """
    sequences = chosen(replays, ["episode", "phase"])
    is_paid = (replays.laps["reward"] > 0).to_numpy().astype(int)
    n, n_pauses = (
        count_in_cells(replays, table, at_lap(is_paid, laps_around(replays, table)[0], none=-1), 2)
        for table in (sequences, chosen_pauses(replays))
    )
    return log_ratio(replays, n, n_pauses)


def _paid_chains(task: Task) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]], set[str]]:
    """List the nodes of the sequences with and without reward, and the blocks with reward."""
    nodes = {node for block in task.blocks for node in block.rewards}
    chains = [tuple(task.landmarks.get(name, ())) for name in ("first_chain", "second_chain")]
    paid = [chain for chain in chains if not nodes.isdisjoint(chain)]
    neutral = [chain for chain in chains if nodes.isdisjoint(chain)]
    return paid, neutral, {block.name for block in task.blocks if block.rewards}


def _paid_sequence(replays: Replays, *, against: str) -> pd.DataFrame:
    """Share of reverse sequences along the rewarded sequence, in blocks with its reward. Null: 0.

    Among directional ones; minus its value before the sequence was rewarded, or minus that of the
    sequence that is never rewarded (difference; Liu et al. 2019).
    """
    sequences = directional(chosen(replays, ["direction", "first", "block", "episode", "phase"]))
    *chains, paying = _paid_chains(replays.task)
    node = np.array(replays.task.node, dtype=object)
    paid, neutral = (np.isin(node, [name for chain in of for name in chain]) for of in chains)
    first = sequences["first"].to_numpy()
    after = is_one_of(sequences["block"], paying)
    other = neutral[first] & after if against == "neutral" else paid[first] & ~after
    one, two = (
        share(replays, sequences[which], sequences.loc[which, "direction"] == "reverse")
        for which in (paid[first] & after, other)
    )
    return difference(replays, one, two)


def _paid_sequenceness(replays: Replays, *, against: str) -> pd.DataFrame:
    """Backward minus forward sequenceness of the rewarded sequence, after its reward. Null: 0.

    At a lag of one place, the measure of studies of people (`analyses.measures.sequenceness`);
    minus its value before, or that of the sequence without reward (difference; Liu et al. 2019).
    """
    sequences = chosen(replays, ["block"])
    walked, animals = paths(replays, sequences), replays.animals
    paid, neutral, paying = _paid_chains(replays.task)
    after = is_one_of(sequences["block"], paying)
    terms = [(paid, after), (neutral, after) if against == "neutral" else (paid, ~after)]
    owner = own_code(animals, sequences)
    value = np.full(len(animals), np.nan)
    for number in range(len(animals) if paid and neutral else 0):
        found = [
            backward_minus_forward(
                walked.select(which & (owner == number)), replays.task.node, chains
            )
            for chains, which in terms
        ]
        value[number] = found[0] - found[1]
    return rows(animals, value, 0.0, np.bincount(owner, minlength=len(animals)))


def _better_paid_side(replays: Replays) -> pd.DataFrame:
    """Share of sequences on a side of the maze where it pays more, minus where it pays less.

    Of those on either side, in blocks in which one pays more than the other (difference; Carey et
    al. 2019). Null: 0.
    """
    sides = own_sides(replays)
    left, right = ({replays.task.node[place] for place in np.flatnonzero(side)} for side in sides)
    more = {}
    for block in replays.task.blocks:
        on_left, on_right = (
            sum(reward for node, reward in block.rewards.items() if node in side)
            for side in (left, right)
        )
        more[block.name] = np.sign(on_right - on_left)
    sequences = chosen(replays, ["block", "phase"])
    runs = runs_on(*sides, paths(replays, sequences))
    paying = sequences["block"].astype(object).map(more).to_numpy(float)
    one, two = (
        share(replays, sequences[which], runs[which] > 0)
        for which in ((runs != 0) & (paying == sign) for sign in (1, -1))
    )
    return difference(replays, one, two)


REWARD_STATISTICS: dict[str, Statistic] = {
    "changed_end": WideStatistic(
        "all sequences at the changed end: unequal minus equal reward", _changed_end
    ),
    "changed_end_reverse": WideStatistic(
        "reverse sequences at the changed end: unequal minus equal reward",
        partial(_changed_end, direction="reverse"),
    ),
    "changed_end_forward": WideStatistic(
        "forward sequences at the changed end: unequal minus equal reward",
        partial(_changed_end, direction="forward"),
    ),
    "changed_end_reverse_to_forward": WideStatistic(
        "reverse to forward at the changed end, unequal reward", _reverse_minus_forward
    ),
    "restored_end_reverse_to_forward": WideStatistic(
        "reverse to forward at the changed end, reward restored",
        partial(_reverse_minus_forward, restored=True),
    ),
    "rewarded_to_unrewarded_laps": WideStatistic(
        "sequences after laps with reward, to those without", _rewarded, phases=("episode_end",)
    ),
    "paid_sequence_after_minus_before": WideStatistic(
        "reverse sequences of the paid sequence at rest, minus before it paid",
        partial(_paid_sequence, against="before"),
        phases=AT_REST,
    ),
    "paid_minus_neutral_sequence": WideStatistic(
        "reverse sequences of the paid sequence at rest, minus of the other sequence",
        partial(_paid_sequence, against="neutral"),
        phases=AT_REST,
    ),
    "paid_sequenceness_after_minus_before": WideStatistic(
        "backward sequenceness of the paid sequence at rest, minus before it paid",
        partial(_paid_sequenceness, against="before"),
        phases=AT_REST,
    ),
    "paid_minus_neutral_sequenceness": WideStatistic(
        "backward sequenceness of the paid sequence at rest, minus that of the other sequence",
        partial(_paid_sequenceness, against="neutral"),
        phases=AT_REST,
    ),
    "better_paid_side": Statistic(
        "sequences on a side: where it pays more minus less", _better_paid_side
    ),
    "better_paid_side_at_rest": Statistic(
        "sequences at rest on a side: where it pays more minus less",
        _better_paid_side,
        phases=AT_REST,
    ),
}
