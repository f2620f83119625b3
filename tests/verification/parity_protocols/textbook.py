"""The textbook's simulations of Dyna-Q and of prioritized sweeping.

The Dyna maze, the blocking maze and the shortcut maze of Dyna-Q are those of Sutton & Barto, with
their parameters. Prioritized sweeping is compared with Dyna-Q in mazes of growing size, by the
number of backups until the greedy path is nearly the shortest one.

References
----------
.. [1] Sutton & Barto (2018), Reinforcement learning: an introduction, 2nd edition, sections 8.2 to
   8.4. http://incompleteideas.net/book/the-book-2nd.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.learners.ranges import likeliest_outcomes
from replay.simulation import Run, simulate
from replay.worlds.mazes import open_maze
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Phase, Protocol

__all__ = ["TEXTBOOK_PROTOCOLS", "greedy_path_length"]

_DYNA = {"discount": 0.95, "epsilon": 0.1, "learning_rate": 0.1}
_N_EPISODES = 50
_NEARLY = 20.0
_N_STEPS = 60_000
_N_ROWS, _WALL_ROW, _START = 6, 3, 48
_NEARLY_SHORTEST = 1.2


def _dyna_maze(n_replays: int, seed: int) -> dict[str, float]:
    """Count the steps of the first episode, and the episodes until one is nearly shortest."""
    run = simulate(
        open_maze(), "dyna_q", _DYNA | {"n_replays": n_replays}, n_steps=_N_STEPS, seed=seed,
        log="replay",
    )  # fmt: skip
    n_steps = run.log.steps.groupby("episode").size().to_numpy()[:_N_EPISODES]
    short = np.flatnonzero(n_steps <= _NEARLY)
    return {
        "steps_of_first_episode": float(n_steps[0]),
        "episodes_until_nearly_shortest": float(short[0] + 1) if len(short) else np.nan,
    }


def _walled(closed: Iterable[int]) -> MDP:
    """Make the grid of 6 x 9 cells with a wall along its fourth row, at these columns."""
    closed, width = set(closed), 9
    next_state = np.empty((_N_ROWS * width, 4), dtype=np.int64)
    for state in range(len(next_state)):
        row, column = divmod(state, width)
        for action, (down, right) in enumerate(((-1, 0), (0, 1), (1, 0), (0, -1))):
            there = min(max(row + down, 0), _N_ROWS - 1), min(max(column + right, 0), width - 1)
            is_wall = there[0] == _WALL_ROW and there[1] in closed
            next_state[state, action] = state if is_wall else there[0] * width + there[1]
    goal = np.arange(len(next_state)) == width - 1
    return MDP.from_tables(next_state, goal.astype(float), start=_START, terminal=[width - 1])


def _changed(first: Iterable[int], then: Iterable[int], change: int, last: int, seed: int) -> Run:
    world = Protocol([Phase(_walled(first), change), Phase(_walled(then), last - change)])
    params = _DYNA | {"n_replays": 10}
    return simulate(world, "dyna_q", params, seed=seed, log="replay")


def _blocking(seed: int) -> dict[str, float]:
    """Block the path on the right after 1,000 steps, and open a longer one on the left."""
    run = _changed(range(8), range(1, 9), 1000, 3000, seed)
    reward = run.log.steps["reward"].to_numpy()
    before, after, later = (reward[begin : begin + 500].sum() for begin in (500, 1000, 2500))
    return {"earned_drop": float(after - before), "earned_at_last": float(later)}


def _shortcut(seed: int) -> dict[str, float]:
    """Open a shorter path on the right after 3,000 steps, beside that on the left."""
    steps = _changed(range(1, 9), range(1, 8), 3000, 6000, seed).log.steps
    passed = steps[(steps["step"] >= 5000) & (steps["next_state"] // 9 == _WALL_ROW)]
    on_right = passed["next_state"] % 9 == 8
    return {"shortcuts_taken": float(on_right.mean()) if len(passed) else np.nan}


def greedy_path_length(action_values: NDArray[np.float64], mdp: MDP) -> float:
    """Count the steps of the greedy path from the start to an end; infinite if it reaches none.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> corridor = from_ascii("S.G")
    >>> values = np.zeros((3, 4))
    >>> values[:2, 1] = 1.0
    >>> greedy_path_length(values, corridor), greedy_path_length(0 * values, corridor)
    (2.0, inf)
    """
    next_state = likeliest_outcomes(mdp)
    state = int(mdp.start_probability.argmax())
    for length in range(mdp.n_states):
        if mdp.terminal[state]:
            return float(length)
        state = int(next_state[state, action_values[state].argmax()])
    return np.inf


def _until_short(learner: str, params: dict[str, Any], mdp: MDP, seed: int) -> float:
    """Count the backups until the greedy path is nearly shortest, checked after each episode."""
    run = simulate(mdp, learner, params, n_steps=_N_STEPS, seed=seed, log="all")
    shortest = greedy_path_length(mdp.solve(_DYNA["discount"]).action_values, mdp)
    rows, ends = run.log.backups, np.flatnonzero(run.log.steps["terminated"])
    state, action, after = (rows[name].to_numpy() for name in ("state", "action", "q_after"))
    until = np.searchsorted(rows["step"].to_numpy(), ends, side="right")
    values, done = np.zeros((mdp.n_states, mdp.n_actions)), 0
    for row in until.tolist():
        values[state[done:row], action[done:row]] = after[done:row]
        done = row
        if greedy_path_length(values, mdp) <= _NEARLY_SHORTEST * shortest:
            return float(row)
    return np.nan


def _sweeping(scale: int, seed: int) -> dict[str, float]:
    mdp, usual = open_maze(scale), {"discount": 0.95, "epsilon": 0.1}
    dyna = _until_short("dyna_q", usual | {"n_replays": 5, "learning_rate": 0.5}, mdp, seed)
    sweeping = _until_short("prioritized_sweeping", usual | {"max_pops": 5}, mdp, seed)
    return {"dyna_q_to_sweeping_log10": float(np.log10(dyna / sweeping))}


TEXTBOOK_PROTOCOLS: dict[str, Callable[[int], dict[str, float]]] = {
    **{f"dyna_maze_{n}": partial(_dyna_maze, n) for n in (0, 5, 50)},
    "blocking_maze": _blocking,
    "shortcut_maze": _shortcut,
    **{f"sweeping_scale_{scale}": partial(_sweeping, scale) for scale in (1, 2)},
}
"""Name -> function of a seed that returns quantities."""
