"""The detour task of Russek et al. (2017), simulated with SR-Dyna.

An animal explores a maze without reward for 5,000 steps, finds a reward of 10 at its end in five
runs, and rests, with 10,000 backups. Then the direct path is closed; the animal experiences this
during 40 steps in front of the barrier, and rests again. The protocol is that of the authors'
published scripts, except that all runs, including the first, are cut off after 300 steps.

References
----------
.. [1] Russek et al. (2017), Predictive representations can link model-based reinforcement learning
   to model-free mechanisms. https://doi.org/10.1371/journal.pcbi.1005768
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from analyses.findings.accounts import find_account
from parity_protocols.textbook import greedy_path_length
from parity_protocols.walled_grid import DISPLACEMENTS, RIGHT
from replay.simulation import Run, simulate
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Phase, Protocol

__all__ = ["SUCCESSOR_PROTOCOLS"]

_SIDE = 10
_MAZE = """
..........
..........
.#######..
.#.....#.#
##########
.#.....#.#
.#.....#..
.#.....#..
.#.....#..
.#######..
"""
"""Open cells: #; the reward is at the right end of the fifth row, the start at its left end."""
_START, _REWARD, _CLOSED, _BEFORE = (4, 0), (4, 9), (4, 5), (4, 4)
_DISCOUNT = 0.9
_N_EXPLORED, _N_RUNS, _N_FOUND_OUT, _N_RESTS, _MOST_STEPS = 5000, 5, 40, 1000, 300


def _cell(row: int, column: int) -> int:
    return row * _SIDE + column


def _maze(reward: float, start: tuple[int, int], closed: Iterable[tuple[int, int]] = ()) -> MDP:
    """Make the maze: in the rewarded cell every action ends the episode."""
    rows = _MAZE.split()
    is_open = np.array([[sign == "#" for sign in row] for row in rows])
    for place in closed:
        is_open[place] = False
    end = _SIDE * _SIDE
    next_state = np.tile(np.arange(end + 1)[:, None], (1, len(DISPLACEMENTS)))
    for row, column in np.argwhere(is_open).tolist():
        for action, (down, right) in DISPLACEMENTS.items():
            there = min(max(row + down, 0), _SIDE - 1), min(max(column + right, 0), _SIDE - 1)
            if is_open[there]:
                next_state[_cell(row, column), action] = _cell(*there)
    next_state[_cell(*_REWARD)] = end
    rewards = np.zeros(next_state.shape)
    rewards[_cell(*_REWARD)] = reward
    return MDP.from_tables(next_state, rewards, start=_cell(*start), terminal=[end])


def _simulated(phases: list[Phase], seed: int) -> Run:
    settings = find_account("successor_dyna").as_published
    return simulate(
        Protocol(phases), "successor_dyna", settings, seed=seed, max_episode_steps=_MOST_STEPS,
        log="replay",
    )  # fmt: skip


def _detour(seed: int) -> dict[str, float]:
    """Measure whether the greedy path is the shortest one, and the value of its first move.

    Both are measured after the rest that follows the reward, and after that which follows the
    barrier.
    """
    explored, learned = Phase(_maze(0.0, _START), _N_EXPLORED), _maze(10.0, _START)
    steps = _simulated([explored, Phase(learned, _N_RUNS * _MOST_STEPS)], seed).log.steps
    ends = np.flatnonzero(steps["terminated"] | steps["truncated"])
    n_rewarded = int(ends[ends >= _N_EXPLORED][_N_RUNS - 1]) + 1 - _N_EXPLORED
    known = [explored, Phase(learned, n_rewarded, _N_RESTS)]
    before = _maze(10.0, _BEFORE, [_CLOSED])
    closed = [Phase(before, 1)] * (_N_FOUND_OUT - 1) + [Phase(before, 1, _N_RESTS)]
    found: dict[str, float] = {}
    for name, phases, mdp in (
        ("learned", known, learned),
        ("detour", known + closed, _maze(10.0, _START, [_CLOSED])),
    ):
        values = _simulated(phases, seed).memory.action_values
        shortest = greedy_path_length(mdp.solve(_DISCOUNT).action_values, mdp)
        found[f"shortest_{name}"] = float(greedy_path_length(values, mdp) == shortest)
        found[f"value_{name}"] = float(values[_cell(*_START), RIGHT])
    return found


SUCCESSOR_PROTOCOLS: dict[str, Callable[[int], dict[str, float]]] = {"detour": _detour}
"""Name -> function of a seed that returns quantities."""
