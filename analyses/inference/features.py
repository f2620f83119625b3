"""Features of an animal's replay: a few numbers, each with a name, that tell accounts apart.

Each sequence is described by its shape and by what its places and moves had meant to the animal;
the features are the mean, the standard deviation and quantiles of these over all sequences
(``MEASURES``), how often each place is a beginning or an end, and each move is made, and how much
replay of each sense differs between conditions of the experiment.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.inference.replayed import Places, Replayed, senses_by_condition
from replay.checks.arrays import Floats

MEASURES = {
    "length": "number of places",
    "different": "share of its places that are different",
    "turns": "share of moves that go back to the place before",
    "from_animal": "moves from the animal to its first place",
    "to_animal": "moves from its last place to the animal",
    "approach": "by how many moves it comes nearer to the animal",
    "forward": "share of moves that had been made in this direction only",
    "backward": "share of moves that had been made in the other direction only",
    "never": "share of moves that had been made in neither direction",
    "age": "laps since its moves were last made, in either direction or as their heading is",
    "frequency": "logarithm of how often its moves had been made, likewise",
    "from_goal": "moves from the place that paid most to its first place",
    "to_goal": "moves from its last place to the place that paid most",
}
"""What is measured of each sequence."""

PLACED = ("begins at ", "ends at ", "goes ")
"""How features of places and moves begin; then come the numbers of states."""

UNKNOWN = -2.0
"""A difference between conditions of which one has no sequence."""

_QUANTILES = (0.1, 0.5, 0.9)
_DIGITS = 12  # so many that counts can be had back from shares


def measure(replayed: Replayed, places: Places) -> pd.DataFrame:
    """Measure each sequence; the columns are those of ``MEASURES``.

    Examples
    --------
    >>> from analyses.inference.animals import replaying_animals
    >>> from replay.log.event_log import EventLog
    >>> steps = {"state": [0, 1, 2], "next_state": [1, 2, 3], "reward": [0.0, 0.0, 1.0],
    ...          "terminated": [False, False, True]}
    >>> paths = pd.DataFrame({"step": [2], "states": [[3, 2, 1, 0]]})
    >>> [rat] = replaying_animals(EventLog({"steps": steps}), paths)
    >>> found = measure(rat.replayed, rat.places)
    >>> found[["length", "backward", "from_animal", "from_goal"]].to_numpy().tolist()
    [[4.0, 1.0, 0.0, 0.0]]
    """
    states, lap = replayed.states, replayed.lap
    n, length = len(lap), states.length
    owner = states.owner
    is_move = owner[1:] == owner[:-1]
    of_move, here, there = owner[1:][is_move], states.flat[:-1][is_move], states.flat[1:][is_move]
    move, back = places.move[here, there], places.move[there, here]

    def mean_of(values: NDArray[np.generic]) -> Floats:
        total = np.bincount(of_move, values.astype(np.float64), minlength=n)
        return np.asarray(total / (length - 1))

    # A heading that is known rules out one of the two readings, as in place sequences.
    along = replayed.along.flat[1:][is_move]
    ahead, behind = along >= 0, along <= 0
    ahead_made = np.where(ahead, places.last_made[lap[of_move], move], -1)
    back_made = np.where(behind, places.last_made[lap[of_move], back], -1)
    was_ahead, was_back = ahead_made >= 0, back_made >= 0
    n_laps = len(places.last_made)
    latest = np.maximum(ahead_made, back_made)
    age = np.where(latest >= 0, lap[of_move] - latest, n_laps)
    made = ahead * places.n_made[lap[of_move], move] + behind * places.n_made[lap[of_move], back]
    turn = (owner[2:] == owner[:-2]) & (states.flat[2:] == states.flat[:-2])
    n_turns = np.bincount(owner[2:][turn], minlength=n)
    where = replayed.location
    from_animal = np.where(where >= 0, places.distance[where, states.first], np.nan)
    to_animal = np.where(where >= 0, places.distance[where, states.last], np.nan)
    goal = places.goal[lap]
    return pd.DataFrame(
        {
            "length": length.astype(np.float64),
            "different": states.n_different / length,
            "turns": n_turns / (length - 1),
            "from_animal": from_animal,
            "to_animal": to_animal,
            "approach": from_animal - to_animal,
            "forward": mean_of(was_ahead & ~was_back),
            "backward": mean_of(was_back & ~was_ahead),
            "never": mean_of(~was_ahead & ~was_back),
            "age": mean_of(age),
            "frequency": mean_of(np.log1p(made)),
            "from_goal": np.where(goal >= 0, places.distance[goal, states.first], np.nan),
            "to_goal": np.where(goal >= 0, places.distance[goal, states.last], np.nan),
        }
    )


def replay_features(replayed: Replayed, places: Places) -> dict[str, float]:
    """Summarise all sequences; unknown values (such as a goal before any reward) become -1."""
    measured = measure(replayed, places)
    found: dict[str, float] = {}
    for name, values in zip(MEASURES, measured.to_numpy().T, strict=True):
        known = values[~np.isnan(values)]
        if not len(known):
            known = np.array([-1.0])
        found[f"mean of {name}"] = float(known.mean())
        found[f"s.d. of {name}"] = float(known.std())
        rank = np.multiply(_QUANTILES, len(known) - 1)
        values = np.interp(rank, np.arange(len(known)), np.sort(known))  # ten times as fast
        for share, value in zip(_QUANTILES, values.tolist(), strict=True):
            found[f"{share:.0%} of {name}"] = value
    states = replayed.states
    n_places = places.n_places
    owner = states.owner
    is_move = owner[1:] == owner[:-1]
    move = places.move[states.flat[:-1][is_move], states.flat[1:][is_move]]
    n_here = np.bincount(states.flat, minlength=n_places) + 1.0
    for kind, count in (
        ("begins at", np.bincount(states.first, minlength=n_places) / len(replayed.lap)),
        ("ends at", np.bincount(states.last, minlength=n_places) / n_here),
    ):
        found |= {f"{kind} {place}": share for place, share in enumerate(count.tolist())}
    against = replayed.along.flat[1:][is_move] < 0
    ways = [("", ~against), *([(" against its heading", against)] if places.has_headings else [])]
    for way, own in ways:
        goes = np.bincount(move[own], minlength=places.n_moves) / n_here[places.ends[:, 0]]
        names = [f"goes {here} to {there}{way}" for here, there in places.ends.tolist()]
        found |= dict(zip(names, goes.tolist(), strict=True))
    if places.conditions:
        number = np.where(
            replayed.location >= 0, places.condition[replayed.lap, replayed.location], -1
        )
        senses = senses_by_condition(measured, number, places.conditions)
        means = {of_condition(*key): value for key, value in senses.items()}
        found |= {name: UNKNOWN if np.isnan(mean) else mean for name, mean in means.items()}
    # Two sums of the same numbers may differ in the last digits, which must not rank animals.
    return {name: round(value, _DIGITS) for name, value in found.items()}


def in_words(feature: str) -> str:
    """Say what a feature means.

    Examples
    --------
    >>> in_words("90% of length"), in_words("ends at 3")
    ('number of places (90 % quantile)', 'ends at 3')
    """
    summary, _, measured = feature.partition(" of ")
    if measured not in MEASURES:
        return feature
    return f"{MEASURES[measured]} ({summary.replace('%', ' % quantile')})"


def of_condition(sense: str, condition: str, other: str) -> str:
    """Name the feature of a sense in one condition, or in one less that in another.

    Examples
    --------
    >>> of_condition("backward", "4 paid", "1 paid")
    'mean of backward where 4 paid, less where 1 paid'
    """
    return f"mean of {sense} where {condition}" + f", less where {other}" * bool(other)


def lost_bits(rows: pd.DataFrame, others: pd.DataFrame) -> Floats:
    """Return the bits that a sequence of each of `rows` loses if it is expected to go as `others`.

    This is the divergence of where sequences begin, how they go on and where they stop; shape
    (n_rows, n_others), and 0 if the features say nothing of these. The shares among the features
    are smoothed by one decision, so that the numbers behind them can be had back.
    """
    names = [name for name in rows if str(name).startswith(PLACED)]
    if not names:
        return np.zeros((len(rows), len(others)))
    words = [str(name).split() for name in names]
    group = np.array([0 if each[0] == "begins" else 1 + int(each[-1 if each[0] == "ends" else 1])
                      for each in words])  # fmt: skip
    is_stop = np.array([each[0] == "ends" for each in words])
    n_groups, even = int(group.max()) + 1, 1.0 / np.bincount(group)[group]

    def decisions(table: pd.DataFrame) -> tuple[Floats, Floats]:
        """Return how often each was taken, and log2 of its probability."""
        shares = table[names].to_numpy(dtype=np.float64)
        summed = np.stack([np.bincount(group, row, n_groups) for row in shares])
        total = 1.0 / np.maximum(1.0 - summed, 1e-9)
        total[:, 0] = 1.0 + np.rint(shares * total[:, group])[:, is_stop].sum(axis=1)
        known = shares.copy()
        known[:, group == 0] *= 1.0 - 1.0 / total[:, [0]]
        return known * total[:, group], np.log2(known + even / total[:, group])

    taken, own = decisions(rows)
    _, expected = decisions(others)
    lost = (taken * own).sum(axis=1)[:, None] - taken @ expected.T
    return np.asarray(np.round(lost / taken[:, group == 0].sum(axis=1)[:, None], 9))
