"""The simulations of Antonov & Dayan (2025), and the quantities that their figures show.

In a bandit one arm is unknown, and the other pays 0.51. In Tolman & Honzik's maze a barrier on the
direct path may be open, with odds of seven to two, and the agent knows the value of a detour. In
another form of the maze there are two such barriers in a row. In a T-maze it is uncertain whether
the stem is open, and the agent sees that one arm is rewarded. Nothing here is random.

References
----------
.. [1] Antonov & Dayan (2025), Exploring replay. https://doi.org/10.1038/s41467-025-56731-y
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from parity_protocols.walled_grid import DOWN, LEFT, RIGHT, UP, WalledGrid
from replay.learners import find_learner
from replay.learners.bayes_adaptive import Memory, Params, evaluate_plan, make_backups, make_plan
from replay.learners.bayes_adaptive.belief_tree import OPEN
from replay.learners.contract import Sizes
from replay.log.backups import REST, backup_buffer, n_kept
from replay.worlds.mdp import MDP

__all__ = ["BELIEF_PROTOCOLS"]

Move = tuple[int, int]

_DISCOUNT, _KNOWN_ARM, _MOST_BACKUPS = 0.9, 0.51, 10_000
_AGENT = {
    "discount": _DISCOUNT, "least_doubt": 0.0, "max_backups": _MOST_BACKUPS,
    "n_belief_states": 1000,
}  # fmt: skip
_IN_MAZES = {"inverse_temperature": 2.0, "min_priority": 1e-6}
_PRIOR, _IS_OPEN, _IS_SHUT = (7.0, 2.0), (1.0, 0.0), (0.0, 1.0)

_TOLMAN = """
..#...
..####
..#..#
###..#
#.#..#
######
..#...
"""
_T = """
#####
..#..
"""
"""Open cells: #."""
_GOAL, _START = 2, 38
_LEARNED = {
    "up_from_14": (14, UP), "up_from_20": (20, UP), "right_from_19": (19, RIGHT),
    "right_from_18": (18, RIGHT), "up_from_24": (24, UP), "up_from_30": (30, UP),
    "left_from_31": (31, LEFT), "left_from_32": (32, LEFT), "down_from_26": (26, DOWN),
}  # fmt: skip
"""The path to the barrier, the last move first."""


def _agent(n_states: int, n_actions: int, params: dict[str, Any]) -> tuple[Params, Memory]:
    learner = find_learner("bayes_adaptive", _AGENT | params)
    return learner.params, learner.init(learner.params, Sizes(n_states, n_actions, 0, 0))


def _replay(params: Params, memory: Memory) -> int:
    """Make all backups that exceed the threshold; return their number."""
    log = backup_buffer(_MOST_BACKUPS, "replay", evaluates=True)
    make_backups(params, memory, REST, np.random.default_rng(0), log)
    return n_kept(log)


# -- a bandit (Fig. 2) --------------------------------------------------------------------


def _replay_bandit(
    horizon: int, inverse_temperature: float, min_priority: float
) -> tuple[float, int]:
    """Replay in the tree of outcomes of a bandit; return the root's value and the backups made."""
    given = {
        "one_try_tells": False, "merges": False, "horizon": horizon - 1, "n_uncertain": 1,
        "inverse_temperature": inverse_temperature, "min_priority": min_priority,
    }  # fmt: skip
    params, memory = _agent(1, 2, given)
    known, tree, made = memory.known, memory.tree, memory.plan
    known.next_state[:] = 0
    known.reward[0] = 1.0, _KNOWN_ARM
    known.counts[0] = (1.0, 1.0), _IS_OPEN
    memory.begin[0] = 1.0
    make_plan(params, memory)
    for z in np.flatnonzero(tree.depth[: tree.n[0]] == horizon - 1):
        n_paid, n_failed = tree.tries[z, 0]
        pays = (1.0 + n_paid) / (2.0 + n_paid + n_failed)
        made.action_values[z] = np.array([pays, _KNOWN_ARM]) / (1.0 - _DISCOUNT)
    evaluate_plan(params, memory)
    n_updates = _replay(params, memory)
    return float(made.action_values[0].max()), n_updates


def _bandit(horizon: int, inverse_temperature: float, seed: int) -> dict[str, float]:
    value, n_most = _replay_bandit(horizon, inverse_temperature, 1e-10)
    _, n_updates = _replay_bandit(horizon, inverse_temperature, 1e-4)
    return {"value": value, "updates_at_1e-10": float(n_most), "updates_at_1e-4": float(n_updates)}


# -- mazes (Fig. 5 to 7) ------------------------------------------------------------------


def _maze(
    drawn: str, barred: Iterable[Move], goals: dict[int, float], params: dict[str, Any]
) -> tuple[Params, Memory]:
    """Make an agent that knows where all moves lead; barred ones do not move it."""
    rows = drawn.split()
    n_rows, n_columns = len(rows), len(rows[0])
    is_open = np.array([sign == "#" for row in rows for sign in row])
    next_state = WalledGrid(n_rows, n_columns).next_state()
    here = np.arange(len(next_state))[:, np.newaxis]
    next_state = np.where(is_open[next_state] & is_open[here], next_state, here)
    for move in barred:
        next_state[move] = move[0]
    made, memory = _agent(len(is_open), next_state.shape[1], _IN_MAZES | params)
    memory.known.next_state[:] = next_state
    memory.known.counts[:] = _IS_OPEN
    for goal, reward in goals.items():
        memory.known.ends[:] |= next_state == goal
        memory.known.reward[next_state == goal] = reward
    memory.known.ends[here == next_state] = False
    memory.known.reward[here == next_state] = 0.0
    return made, memory


def _learn_all_paths(memory: Memory, shut: Iterable[Move]) -> None:
    """Give the agent the optimal values of the maze in which some moves are shut."""
    next_state, ends = memory.known.next_state.copy(), memory.known.ends.copy()
    for s, a in shut:
        next_state[s, a], ends[s, a] = s, False
    terminal = np.unique(next_state[ends])
    world = MDP.from_tables(next_state, np.where(ends, 1.0, 0.0), start=_START, terminal=terminal)
    memory.action_values[:] = world.solve(_DISCOUNT).action_values


def _plan_from(params: Params, memory: Memory, place: int) -> None:
    memory.begin[:] = 0.0
    memory.begin[place] = 1.0
    make_plan(params, memory)


def _barrier(seed: int) -> dict[str, float]:
    """Replay at the start, with an uncertain barrier, and then in front of it, when it is shut."""
    first, second, bypass = (14, UP), (26, UP), [(8, DOWN), (20, DOWN)]
    params, memory = _maze(_TOLMAN, bypass, {_GOAL: 1.0}, {"horizon": 9})
    _learn_all_paths(memory, [first, second])
    memory.known.counts[first], memory.known.counts[second] = _PRIOR, _IS_SHUT
    _plan_from(params, memory, _START)
    _replay(params, memory)
    found = {name: float(memory.action_values[move]) for name, move in _LEARNED.items()}
    memory.action_values[first] = 0.0
    memory.known.counts[first] = _IS_SHUT
    _plan_from(params, memory, 14)
    _replay(params, memory)
    return found | {"down_from_14": float(memory.action_values[14, DOWN])}


def _two_barriers(seed: int) -> dict[str, float]:
    """Replay at the start, with two uncertain barriers, one behind the other."""
    first, second = (32, UP), (14, UP)
    barred, shut = [(8, DOWN), (20, LEFT), (32, LEFT)], [(19, RIGHT), (26, DOWN), (31, RIGHT)]
    params, memory = _maze(_TOLMAN, barred, {_GOAL: 1.0}, {"horizon": 5})
    _learn_all_paths(memory, [first, second, *shut])
    for move in shut:
        memory.known.counts[move] = _IS_SHUT
    before = memory.action_values.copy()
    memory.known.counts[first] = memory.known.counts[second] = _PRIOR
    _plan_from(params, memory, _START)
    _replay(params, memory)
    rise = memory.action_values - before
    found = {"up_from_32": float(rise[first]), "left_from_33": float(rise[33, LEFT])}
    tree, values = memory.tree, memory.plan.action_values
    k = tree.number[first[0] * rise.shape[1] + first[1]]
    for z in range(tree.n[0]):
        tries, s = tree.tries[z, : tree.n[1]], int(tree.state[z])
        if s in (26, 20, 14) and tries[k, OPEN] == 1 and tries.sum() == 1:
            found[f"up_from_{s}_behind"] = float(values[z, UP] - before[s, UP])
    return found


def _t_maze(seed: int) -> dict[str, float]:
    """Count the moves of each arm whose value replay raises, after the reward was seen."""
    given = {"horizon": 3, "min_priority": 0.2}
    params, memory = _maze(_T, [(2, DOWN)], {0: 0.0, 4: 1.0}, given)
    memory.known.counts[7, UP] = _PRIOR
    _plan_from(params, memory, 7)
    _replay(params, memory)
    tree, rises = memory.tree, memory.plan.action_values > 0.0
    better = {(int(tree.state[z]), int(a)) for z, a in np.argwhere(rises[: tree.n[0]])}
    return {
        "cued_after": float(len(better & {(2, RIGHT), (3, RIGHT)})),
        "uncued_after": float(len(better & {(1, LEFT), (2, LEFT)})),
    }


BELIEF_PROTOCOLS: dict[str, Callable[[int], dict[str, float]]] = {
    **{
        f"bandit_horizon_{horizon}_beta_{beta}": partial(_bandit, horizon, float(beta))
        for horizon in (3, 4, 5)
        for beta in (1, 2, 4)
    },
    "uncertain_barrier": _barrier,
    "two_uncertain_barriers": _two_barriers,
    "uncertain_stem": _t_maze,
}
"""Name -> function of a seed that returns quantities."""
