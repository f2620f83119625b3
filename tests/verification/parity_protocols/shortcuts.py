"""Shortcuts in the figure of eight, as Diekmann & Cheng (2023) simulate and count them.

The laps are given. After each lap of the second half, SFMA replays from the animal's place. A
replay contains a shortcut if a corner of one loop follows the opposite corner of the other loop, so
that the two together form a path that was never run.

References
----------
.. [1] Diekmann & Cheng (2023), A model of hippocampal replay driven by experience and environmental
   structure facilitates spatial learning. https://doi.org/10.7554/eLife.82301
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parity_protocols.replayed_pairs import replayed_steps
from parity_protocols.walled_grid import WalledGrid, walls_between
from replay.simulation import feed

__all__ = ["CONDITIONS", "count_shortcuts", "measure_shortcuts"]

_COMMON = {"discount": 0.99, "learning_rate": 0.9, "similarity_discount": 0.1}
_MAZE = WalledGrid(
    7,
    11,
    walls_between(range(11, 56, 11), 1)
    + walls_between(range(15, 60, 11), 1)
    + walls_between(range(16, 61, 11), 1)
    + walls_between(range(20, 65, 11), 1)
    + walls_between((1, 2, 3, 4, 6, 7, 8, 9), 11)
    + walls_between((56, 57, 58, 59, 61, 62, 63, 64), 11),
)
_TOP_LEFT, _TOP_RIGHT = (5, 4, 3, 2, 1, 0, 11, 22, 33), (5, 6, 7, 8, 9, 10, 21, 32, 43)
_BOTTOM_LEFT, _BOTTOM_RIGHT = (
    (33, 44, 55, 66, 67, 68, 69, 70, 71),
    (43, 54, 65, 76, 75, 74, 73, 72, 71),
)
_STEM = (71, 60, 49, 38, 27, 16)
_CORNERS = {"TL": _TOP_LEFT, "BL": _BOTTOM_LEFT, "TR": _TOP_RIGHT, "BR": _BOTTOM_RIGHT}
_TEMPLATES = {
    f"{way}{corner}": np.array(path[:: 1 if way == "fwd" else -1])
    for corner, path in _CORNERS.items()
    for way in ("fwd", "bwd")
}
_CENTRE = [np.array([16, 27, 38, 49, 60]), np.array([60, 49, 38, 27, 16])]
_SHORTCUTS = {("bwdTR", "fwdTL"), ("bwdTL", "fwdTR"), ("fwdBR", "bwdBL"), ("fwdBL", "bwdBR")}
_N_LIKE = 10  # animals with the same laps, since shortcuts are rare
_MOST_WRONG, _MOST_WRONG_SHARE, _OFF_BY = 2, 0.25, 3

_RUNS = {
    "sl": (*_STEM, *_TOP_LEFT), "sr": (*_STEM, *_TOP_RIGHT),
    "ll": (*_BOTTOM_LEFT[:-1], *_STEM, *_TOP_LEFT), "lr": (*_BOTTOM_LEFT[:-1], *_STEM, *_TOP_RIGHT),
    "rr": (*_BOTTOM_RIGHT[:-1], *_STEM, *_TOP_RIGHT),
    "rl": (*_BOTTOM_RIGHT[:-1], *_STEM, *_TOP_LEFT),
}  # fmt: skip
CONDITIONS = {
    "right_then_left": ["sr", *["rr"] * 10, "rl", *["ll"] * 9],
    "alternation": ["sr", *["rl", "lr"] * 10],
    "right_then_alternation": ["sr", *["rr"] * 10, *["rl", "lr"] * 5],
    "alternation_then_left": ["sr", *["rl", "lr"] * 5, "rl", *["ll"] * 9],
}
"""Name -> laps: from the start (s), the left (l) or the right end (r), to the left or the right."""


def _errors(states: NDArray[np.int64], template: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the mismatches of a template at each position but the last, as the authors do."""
    n = len(states) - len(template)
    windows = np.lib.stride_tricks.sliding_window_view(states, len(template))[:n]
    return np.asarray((windows != template).sum(axis=1), dtype=np.int64)


def count_shortcuts(states: NDArray[np.int64]) -> int:
    """Count the shortcuts in a replay: a piece of one loop, and then one of the other.

    A corner is followed by the opposite one in such a direction that both form a path that was
    never run.

    Examples
    --------
    >>> over_the_top = [43, 32, 21, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 22, 33, 44]
    >>> count_shortcuts(np.array(over_the_top)), count_shortcuts(np.array(over_the_top[:9]))
    (1, 0)
    """
    if len(states) < 10:
        return 0
    wrong = {name: _errors(states, template) for name, template in _TEMPLATES.items()}
    if not any(
        errors.min() <= _MOST_WRONG
        for errors in (*wrong.values(), *(_errors(states, each) for each in _CENTRE))
    ):
        return 0
    found = {
        int(errors.argmin()): name
        for name, errors in wrong.items()
        if errors.min() < _MOST_WRONG_SHARE * len(_TEMPLATES[name])
    }
    places = sorted(found)
    return sum(
        abs(after - before - 8) < _OFF_BY and (found[before], found[after]) in _SHORTCUTS
        for before, after in pairwise(places)
    )


def _experience_of(condition: str) -> pd.DataFrame:
    """Return the laps of a condition as steps without reward."""
    next_state = _MAZE.next_state()
    rows = []
    for lap in CONDITIONS[condition]:
        path = _RUNS[lap]
        for here, there in pairwise(path):
            action = int(np.flatnonzero(next_state[here] == there)[0])
            rows.append((here, action, 0.0, there, there == path[-1]))
    names = ["state", "action", "reward", "next_state", "terminated"]
    return pd.DataFrame(rows, columns=names)


def measure_shortcuts(condition: str, mode: str, seed: int) -> dict[str, float]:
    """Simulate animals that run the same laps, and count the shortcuts in each replay."""
    params = {"n_replays": 18, "replay_mode": mode, "reward_modulation": 0.0}
    experience, n_before = _experience_of(condition), len(CONDITIONS[condition]) // 2
    counts: list[int] = []
    for child in np.random.SeedSequence(seed).generate_state(_N_LIKE):
        log = feed(
            "sfma", experience, n_states=77, n_actions=4, params=_COMMON | params,
            seed=int(child), log="replay",
        )  # fmt: skip
        replays = replayed_steps(log, "episode_end")[n_before:]
        counts += [count_shortcuts(state) for state, _ in replays]
    return {"shortcuts_per_replay": float(np.mean(counts))}
