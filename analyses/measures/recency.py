"""Replay and past and coming runs: what was run lately, before or not yet, and what is run next.

References
----------
.. [1] Gupta, van der Meer, Touretzky & Redish (2010). https://doi.org/10.1016/j.neuron.2010.01.034
.. [2] Gillespie et al. (2021). https://doi.org/10.1016/j.neuron.2021.07.029
.. [3] Yang et al. (2024). https://doi.org/10.1126/science.adk8261
.. [4] Huelin Gorriz, Takigawa & Bendor (2023). https://doi.org/10.1038/s41467-023-43939-z
.. [5] Olafsdottir, Barry, Saleem, Hassabis & Spiers (2015). https://doi.org/10.7554/eLife.06063
"""

from __future__ import annotations

from enum import IntEnum
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from analyses.measures.places import (
    arms,
    covered,
    landmark,
    lap_side,
    main_arm,
    own_sides,
    runs_on,
    side_run,
    sides,
)
from analyses.measures.replays import (
    AT_REST,
    PAUSES,
    Replays,
    Share,
    Statistic,
    WideStatistic,
    at_lap,
    chosen,
    chosen_pauses,
    count_in_cells,
    difference,
    is_one_of,
    laps_around,
    laps_done,
    laps_in_order,
    log_rates,
    log_ratio,
    own_code,
    paths,
    rows,
    share,
)

_MOSTLY = 0.75
"""A block is run on one side if more than this share of its laps is on that side."""

_FEWEST = 5  # sequences expected by chance; fewer lie below their mean more often than above

_LOOK = "look"


class _Role(IntEnum):
    NONE, PAST, FUTURE, GOAL, PREVIOUS_GOAL, SEVERAL = range(6)


def _opposite_by_block(replays: Replays) -> pd.DataFrame:
    """Share of sequences on the other side: blocks run mostly on one side minus others. Null: 0.

    As Gupta et al. (2010) measured it.
    """
    sequences = chosen(replays, ["place", "episode", "phase"])
    side = sides(replays, sequences)
    laps = replays.laps.assign(side=lap_side(replays))
    mean = laps.groupby(["animal", "block"], observed=True, sort=False)["side"].transform("mean")
    runs_one_side = (mean.abs() > 2 * _MOSTLY - 1).to_numpy()
    lap, _ = laps_around(replays, sequences)
    on_one = at_lap(runs_one_side, lap, none=False)
    counts = (side != "") & (lap >= 0)
    one, both = (
        share(replays, sequences[kept], side[kept] == "opposite")
        for kept in (counts & on_one, counts & ~on_one)
    )
    return difference(replays, one, both)


def _lag(replays: Replays) -> pd.DataFrame:
    """Median number of laps since the other side was run, over the sequences there. No null.

    1 is the previous lap (Gupta et al. 2010).
    """
    sequences = chosen(replays, ["place", "episode", "phase"])
    sequences = sequences[sides(replays, sequences) == "opposite"]
    ordered = laps_in_order(replays)
    laps = ordered.laps
    side_of_lap, number = lap_side(ordered), np.arange(len(laps))
    # The latest lap so far on each side.
    last_left, last_right = (
        np.maximum.accumulate(np.where(side_of_lap == side, number, -1)) for side in (-1, 1)
    )
    before, _ = laps_around(ordered, sequences)
    replayed_side = runs_on(*own_sides(replays), paths(replays, sequences))
    latest = np.where(
        replayed_side > 0, at_lap(last_right, before, none=-1), at_lap(last_left, before, none=-1)
    )
    animal, episode = laps["animal"].to_numpy(), laps["episode"].to_numpy()
    kept = (latest >= 0) & (before >= 0)
    kept[kept] = animal[latest[kept]] == animal[before[kept]]
    lag = pd.Series(episode[before[kept]] - episode[latest[kept]], dtype=float)
    return _median(replays, sequences[kept], lag)


def _median(replays: Replays, table: pd.DataFrame, values: pd.Series[float]) -> pd.DataFrame:
    """Take the median over the sequences of each animal."""
    animals = replays.animals
    by_animal = values.groupby(own_code(animals, table))
    everyone = np.arange(len(animals))
    n = by_animal.size().reindex(everyone, fill_value=0)
    return rows(animals, by_animal.median().reindex(everyone).to_numpy(), np.nan, n.to_numpy())


def _run_before(replays: Replays) -> pd.DataFrame:
    """Median share of the laps so far that were run on the side of a sequence. No null.

    As Gupta et al. (2010) measured it.
    """
    sequences = chosen(replays, ["place", "episode", "phase"])
    runs = runs_on(*own_sides(replays), paths(replays, sequences))
    ordered = laps_in_order(replays)
    side, animal = lap_side(ordered), ordered.laps["animal"]
    so_far = pd.DataFrame({"left": side < 0, "right": side > 0}, index=animal.index)
    so_far = so_far.groupby(animal, observed=True, sort=False).cumsum()
    before, _ = laps_around(ordered, sequences)
    kept = (runs != 0) & (before >= 0)
    counts = so_far.to_numpy()[before[kept]]
    run, total = np.where(runs[kept] < 0, counts[:, 0], counts[:, 1]), counts.sum(axis=1)
    return _median(replays, sequences[kept], pd.Series(run / np.where(total > 0, total, np.nan)))


def _roles(replays: Replays, table: pd.DataFrame) -> NDArray[np.int8]:
    """Return the role of each arm at each pause (or sequence), shape (n_rows, n_arms).

    The past arm is where a lap ended last, and the future arm is where a lap will end next. The
    goal is the rewarded arm (the column `goal` of laps), and the previous goal the one before it.

    Say that three laps ended in arms 0, 1 and 2, and the goals were 0, 2 and 2. At the pause
    between the last two laps, arm 0 is the previous goal and arm 1 the past arm. Arm 2 is the goal
    and the future arm: it has several roles.
    """
    arm, ordered = arms(replays), laps_in_order(replays)  # fills go along the laps
    laps = ordered.laps
    animal = laps["animal"].to_numpy()
    end = arm[laps["end"].to_numpy(int)].astype(float)
    goal = np.where(laps["goal"] >= 0, arm[laps["goal"].to_numpy(int)], -1)
    visited = pd.Series(end).where(end >= 0)
    paying = pd.Series(goal, dtype=float).where((goal >= 0) & (end >= 0))
    # Before it pays again, the goal is already the one that will; after the last reward, that one.
    paying = paying.groupby(animal).bfill().fillna(paying.groupby(animal).ffill())
    one_before = paying.groupby(animal).shift()
    previous = one_before.where(one_before != paying).groupby(animal).ffill()
    before, after = laps_around(ordered, table)
    now = np.where(after >= 0, after, before)
    of_role = {
        _Role.PAST: (visited.groupby(animal).ffill(), before),
        _Role.FUTURE: (visited.groupby(animal).bfill(), after),
        _Role.GOAL: (paying, now),
        _Role.PREVIOUS_GOAL: (previous, now),
    }
    roles = np.full((len(table), int(arm.max(initial=-1)) + 1), _Role.NONE, dtype=np.int8)
    # An arm with several roles belongs to none of them: its sequences would count for each.
    for role, (arm_of_lap, lap) in of_role.items():
        arm_at_row = at_lap(arm_of_lap, lap, none=np.nan)
        row = np.flatnonzero(~np.isnan(arm_at_row))
        cell = row, arm_at_row[row].astype(int)
        roles[cell] = np.where(roles[cell] == _Role.NONE, role, _Role.SEVERAL)
    return roles


def _arm_rate(replays: Replays, *, role: _Role) -> pd.DataFrame:
    """Log rate of sequences in the arm with one role, relative to arms without any. Null: 0.

    Per stop and arm, while the animal is in no arm: the arm that was run last, that was the goal
    before the present one, or that is run next (Gillespie et al. 2021). Counts of rare sequences
    lie below their mean more often than above. An animal's value is therefore NaN unless at least
    five sequences are expected in the arm by chance.
    """
    animals, arm = replays.animals, arms(replays)
    if not (arm >= 0).any() or "goal" not in replays.laps:
        return rows(animals, np.nan, 0.0, 0)
    sequences, pauses = chosen(replays, ["episode", "phase", "place"]), chosen_pauses(replays)
    sequences = sequences[arm[sequences["place"].to_numpy()] < 0]
    pauses = pauses[arm[pauses["place"].to_numpy(int)] < 0]
    there = main_arm(arm, paths(replays, sequences))
    sequences, there = sequences[there >= 0], there[there >= 0]
    of_sequence = _roles(replays, sequences)[np.arange(len(sequences)), there]
    n, n_open = (
        count_in_cells(
            replays, table, np.select([roles == role, roles == _Role.NONE], [1, 0], -1), 2
        )
        for table, roles in ((sequences, of_sequence), (pauses, _roles(replays, pauses)))
    )
    rate = log_rates(n, n_open)
    n_both, open_both = n.sum(axis=2), n_open.sum(axis=2)
    total = np.maximum(open_both.sum(axis=1), 1)
    enough = n_both.sum(axis=1) * open_both[:, 1] / total >= _FEWEST
    value = np.where(enough, rate[:, 1] - rate[:, 0], np.nan)
    return rows(animals, value, 0.0, n_both.sum(axis=1))


def _rest_as_awake(replays: Replays) -> pd.DataFrame:
    """Rank correlation over places between the numbers of sequences at rest and awake. Null: 0.

    Once the animal has run. As both may follow what was run, a correlation is no proof that awake
    replay tags what is replayed at rest (Yang et al. 2024).
    """
    animals, n_places = replays.animals, len(replays.task.node)
    sequences = chosen(replays, ["episode", "phase"])
    sequences = sequences[laps_done(sequences) > 0]  # before, no place was run
    own, is_rest = own_code(animals, sequences), is_one_of(sequences["phase"], AT_REST).astype(int)
    walked = paths(replays, sequences)
    # A sequence counts once at each of its places, however often it visits them.
    owner, place = np.unique(np.stack((walked.owner, walked.flat)), axis=1)
    counts = np.zeros((len(animals), 2, n_places))
    np.add.at(counts, (own[owner], is_rest[owner], place), 1.0)
    ranks = rankdata(counts, axis=-1)
    ranks -= ranks.mean(axis=-1, keepdims=True)
    size = np.sqrt((ranks**2).sum(axis=-1)).prod(axis=1)
    value = ranks.prod(axis=1).sum(axis=-1) / np.where(size > 0, size, np.nan)
    return rows(animals, value, 0.0, np.bincount(own, minlength=len(animals)))


def _more_run(replays: Replays) -> pd.DataFrame:
    """Log ratio of sequences on the side with more laps so far to those on the other. Null: 0.

    As Huelin Gorriz et al. (2023) measured it.
    """
    sequences = chosen(replays, ["episode", "phase"])
    runs = runs_on(*own_sides(replays), paths(replays, sequences))
    ordered = laps_in_order(replays)
    side = pd.Series(side_run(ordered)).groupby(own_code(replays.animals, ordered.laps)).cumsum()
    before, _ = laps_around(ordered, sequences)
    more = runs * at_lap(side, before, none=0)
    n = count_in_cells(replays, sequences, np.select([more > 0, more < 0], [1, 0], -1), 2)
    return log_ratio(replays, n, np.ones_like(n))


RECENCY_STATISTICS: dict[str, Statistic] = {
    "other_side_one_minus_both_run": Statistic(
        "sequences on the other side, blocks of one side minus both", _opposite_by_block
    ),
    "laps_since_other_side": Statistic(
        "laps since the other side was run, of sequences there", _lag
    ),
    "laps_run_on_its_side": Share("share of laps so far on the side of a sequence", _run_before),
    "past_arm_rate": Statistic(
        "past arm, relative to arms without a role", partial(_arm_rate, role=_Role.PAST)
    ),
    "previous_goal_rate": Statistic(
        "previous goal arm, relative to arms without a role",
        partial(_arm_rate, role=_Role.PREVIOUS_GOAL),
    ),
    "rest_as_awake": Statistic(
        "places replayed at rest, as when awake", _rest_as_awake, phases=PAUSES
    ),
    "future_arm_rate": Statistic(
        "future arm, relative to arms without a role", partial(_arm_rate, role=_Role.FUTURE)
    ),
    "more_run_side_at_rest": WideStatistic(
        "sequences at rest, the side run more to the other", _more_run, phases=AT_REST
    ),
}


def _arm_share(replays: Replays, *, arm: str, seen: bool = True) -> pd.DataFrame:
    """Sequences that lie mostly on an arm that was not yet run (share; Olafsdottir et al. 2015).

    After some laps or, unless `seen`, before all. A lap in which the animal only looks along an arm
    (its name begins with ``look``) is no run. There is no null.
    """
    sequences = chosen(replays, ["episode", "phase"])
    laps, in_arms = replays.laps, landmark(replays.task, "cued_arm", "uncued_arm")
    if not in_arms.any():
        return share(replays, sequences[:0], [])
    animals = replays.animals
    first = np.full(len(animals), np.inf)
    run = in_arms[laps["end"].to_numpy(int)] | in_arms[laps["start"].to_numpy(int)]
    run &= ~laps["lap"].astype(str).str.startswith(_LOOK).to_numpy()
    np.minimum.at(first, own_code(animals, laps)[run], laps["episode"].to_numpy()[run])
    done = laps_done(sequences)  # k + 1 after episode k, so that the first run is not yet over
    sequences = sequences[(done <= first[own_code(animals, sequences)]) & ((done > 0) == seen)]
    walked = paths(replays, sequences)
    there = covered(walked, landmark(replays.task, arm))
    anywhere = covered(walked, np.ones(len(in_arms), dtype=bool))
    return share(replays, sequences, 2 * there >= anywhere)


def _cued_to_uncued(replays: Replays) -> pd.DataFrame:
    """Share of sequences on the cued minus the uncued arm, neither of them run yet. Null: 0.

    As Olafsdottir et al. (2015) measured it.
    """
    cued, uncued = (_arm_share(replays, arm=arm) for arm in ("cued_arm", "uncued_arm"))
    return rows(replays.animals, cued["value"] - uncued["value"], 0.0, cued["n"])


UNVISITED_STATISTICS: dict[str, Statistic] = {
    "cued_minus_uncued_arm": Statistic(
        "sequences on the cued minus the uncued arm, neither run", _cued_to_uncued, phases=AT_REST
    ),
    "cued_arm_share": Share(
        "sequences on the cued arm, not run yet",
        partial(_arm_share, arm="cued_arm"),
        phases=AT_REST,
    ),
    "uncued_arm_share": Share(
        "sequences on the uncued arm, not run yet",
        partial(_arm_share, arm="uncued_arm"),
        phases=AT_REST,
    ),
    "cued_arm_share_unseen": Share(
        "sequences on the cued arm, before all laps",
        partial(_arm_share, arm="cued_arm", seen=False),
        phases=AT_REST,
    ),
}
