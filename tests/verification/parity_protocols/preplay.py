"""Preplay of an arm that was only seen, as Diekmann & Cheng (2023) simulate and count it.

References
----------
.. [1] Diekmann & Cheng (2023), A model of hippocampal replay driven by experience and environmental
   structure facilitates spatial learning. https://doi.org/10.7554/eLife.82301
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parity_protocols.replayed_pairs import replayed_steps
from parity_protocols.walled_grid import (
    DISPLACEMENTS,
    DOWN,
    LEFT,
    RIGHT,
    UP,
    WalledGrid,
    walls_between,
)
from replay.learners.sfma import Memory
from replay.parts.experiences import experience_at
from replay.simulation import feed
from replay.worlds.mdp import MDP

__all__ = ["match_arms", "measure_preplay"]

_MAZE = WalledGrid(
    10,
    7,
    walls_between((0, 1, 2, 4, 5, 6, 17), 7)
    + walls_between(range(9, 66, 7), 1)
    + walls_between(range(10, 67, 7), 1),
)
_ARMS = {
    "cued": np.array([17, 10, 3, 4, 5, 6]),
    "uncued": np.array([17, 10, 3, 2, 1, 0]),
    "stem": np.array([66, 59, 52, 45, 38, 31, 24]),
}
_SHAFT = [(state, action) for state in (10, 17) for action in (UP, DOWN)]
_CUED_MOVES = [
    *_SHAFT, *((state, RIGHT) for state in (3, 4, 5, 6)),
    *((state, LEFT) for state in (4, 5, 6)), (3, DOWN),
]  # fmt: skip
_UNCUED_MOVES = [*_SHAFT, *((state, way) for state in (0, 1, 2, 3) for way in (LEFT, RIGHT))]
_ERROR_SHARE = 0.4
_N_PREPLAYS = 400
_FOOT = 63
_N_RUNS = 10.0


def match_arms(states: NDArray[np.int64]) -> dict[str, int]:
    """Find the parts of the T-maze that a preplay shows, and in which direction.

    1 if at most two fifths of a part's states (or of those of the preplay, if it is shorter)
    differ, else 0; ``_back`` marks reverse.

    Examples
    --------
    >>> found = match_arms(np.array([17, 10, 3, 4, 5, 6]))
    >>> [name for name, is_shown in found.items() if is_shown]
    ['cued']
    """
    found = {}
    for arm, path in _ARMS.items():
        for way, template in ((arm, path), (f"{arm}_back", path[::-1])):
            short, long = sorted((states, template), key=len)
            windows = np.lib.stride_tricks.sliding_window_view(long, len(short))
            least = int((windows != short).sum(axis=1).min())
            found[way] = int(least <= _ERROR_SHARE * len(short))
    return found


def measure_preplay(
    similarity_discount: float, mode: str, cued: float, attention: float, seed: int
) -> dict[str, float]:
    """Simulate the rest of an animal that has run the stem and seen the arms.

    The strengths of experiences are those of the authors. They are set between two steps that do
    not move the animal: after the first, and before the rest that follows the second, whose own
    strength is subtracted in advance.

    `cued` is the share of attention that the cued arm receives, `attention` by how much looking at
    an arm strengthens an experience, relative to running there.
    """
    next_state = _MAZE.next_state()
    mdp = MDP.from_tables(next_state, np.zeros(len(next_state)), start=_FOOT)
    params = {
        "similarity_discount": similarity_discount, "replay_mode": mode, "n_replays": 6,
        "preplay": 1.0, "discount": 0.9,
    }  # fmt: skip
    step = {"state": _FOOT, "action": LEFT, "reward": 0.0, "next_state": _FOOT, "terminated": True}

    def set_strengths(number: int, memory: Memory) -> None:
        if number == 0:
            strength = _seen_strengths(memory.similarity.matrix, cued, attention)
            strength[_FOOT, LEFT] -= 1.0
            for state, action in np.ndindex(strength.shape):
                experience_at(memory.experiences, state, action)
            rows = memory.experiences.rows
            rows["strength"] = strength[rows["state"], rows["action"]]

    log = feed(
        "sfma", pd.DataFrame([step, step]), n_states=mdp.n_states, n_actions=mdp.n_actions,
        params=params, seed=seed, on_step=set_strengths, log="replay", mdp=mdp,
        rest={2: _N_PREPLAYS},
    )  # fmt: skip
    counts = dict.fromkeys(match_arms(_ARMS["cued"]), 0)
    for states, _ in replayed_steps(log, "rest"):
        for way, is_shown in match_arms(states).items():
            counts[way] += is_shown
    shown = {arm: counts[arm] + counts[f"{arm}_back"] for arm in _ARMS}
    total = sum(shown.values())
    return {
        "cued_share": shown["cued"] / total if total else np.nan,
        "uncued_share": shown["uncued"] / total if total else np.nan,
        "cued_minus_uncued": (shown["cued"] - shown["uncued"]) / total if total else np.nan,
        "forward_share": counts["cued"] / shown["cued"] if shown["cued"] else np.nan,
    }


def _seen_strengths(
    similarity: NDArray[np.float64], cued: float, attention: float
) -> NDArray[np.float64]:
    """Make the table of strengths of pairs of state and action."""
    strength = np.zeros((len(similarity), len(DISPLACEMENTS)))
    stem = _ARMS["stem"]
    strength[stem[:, np.newaxis], [UP, DOWN]] = _N_RUNS
    strength += _N_RUNS * (similarity[24] + similarity[66])[:, np.newaxis]
    for share, moves in ((cued, _CUED_MOVES), (1.0 - cued, _UNCUED_MOVES)):
        for state, action in moves:
            strength[state, action] += share * _N_RUNS * attention
    strength += (similarity[6] * _N_RUNS * attention * cued)[:, np.newaxis]
    return strength
