"""The simulations of Sagiv et al. (2025), and the quantities that their figures show.

Animals run from the foot of a maze to the end of an arm. A separate module, which learns the
rewards of the arms, decides which arm they choose; so the laps are drawn first, and then replayed.
In the maze with eight arms one arm is rewarded until it has been visited 15 times; then the reward
moves to another one. In the T-maze one arm pays more, and the other arm in the next session.

References
----------
.. [1] Sagiv, Akam, Witten & Daw (2025), Between planning and map-building: prioritizing replay
   when future goals are uncertain. https://pmc.ncbi.nlm.nih.gov/articles/PMC12633763
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replay.learners.geodesic_representation import Memory, add_goal, fade_values
from replay.learners.ranges import likeliest_outcomes
from replay.simulation import feed
from replay.worlds.mdp import MDP

__all__ = ["GEODESIC_PROTOCOLS", "arms_replayed"]

_STEM = 2
_ARM = 2
_PUBLISHED: dict[str, Any] = {
    "replay_at": "episode_end", "max_backups": 3, "pre_explored": True, "n_goals": 8,
    "forgetting": 0.06,
}  # fmt: skip
_N_TRIALS, _N_REWARDS, _N_ARMS, _TEMPERATURE = 200, 15, 8, 0.35
_N_SESSIONS, _N_LAPS, _BETTER = 6, 20, 1.0 / (1.0 + np.exp(-1.0))


class Choices(NamedTuple):
    """The choices of one animal.

    Attributes
    ----------
    arm : ndarray of int, shape (n_trials,)
        The arm that it chose.
    goal : ndarray of int, shape (n_trials,)
        The arm that was rewarded, or rewarded more.
    """

    arm: NDArray[np.int64]
    goal: NDArray[np.int64]


def _maze(n_arms: int, *, goes_back: bool) -> MDP:
    """Make a stem and arms of two places each; other actions do not move the animal."""
    n_states, n_actions = _STEM + n_arms * _ARM, 2 + n_arms
    next_state = np.repeat(np.arange(n_states)[:, np.newaxis], n_actions, axis=1)
    next_state[0, 1], next_state[1, 0] = 1, 0
    for arm in range(n_arms):
        near, far = _near(arm), _far(arm)
        next_state[1, 2 + arm], next_state[near, 1] = near, far
        if goes_back:
            next_state[near, 0] = 1
        else:
            next_state[far, 0] = near
    return MDP.from_tables(next_state, np.zeros(n_states), start=0)


def _near(arm: int) -> int:
    return _STEM + arm * _ARM


def _far(arm: int) -> int:
    return _near(arm) + 1


def arms_replayed(
    mdp: MDP, choices: Choices, params: dict[str, Any], n_together: int, seed: int
) -> NDArray[np.bool_]:
    """Find the arms that are replayed after each trial, shape (n_trials, n_arms).

    After `n_together` trials the animal forgets all paths; 0: it knows all from the beginning.
    """
    n_arms = mdp.n_actions - 2
    rows = [(0, 0, 0.0, 0, True)]  # goals become known in the first step, which leads nowhere
    for arm, goal in zip(choices.arm.tolist(), choices.goal.tolist(), strict=True):
        rows += [(0, 1, 0.0, 1, False), (1, 2 + arm, 0.0, _near(arm), False)]
        rows += [(_near(arm), 1, float(arm == goal), _far(arm), True)]
    columns = ["state", "action", "reward", "next_state", "terminated"]
    steps = pd.DataFrame(rows, columns=columns).assign(start_state=0)

    def prepare(number: int, memory: Memory) -> None:
        if number == 0:
            for arm in range(n_arms):
                add_goal(memory, _far(arm))
            if n_together == 0:
                memory.geodesic[:] = _solved(mdp, n_arms, params["discount"])
        elif n_together and number % (3 * n_together) == 0:
            fade_values(memory, 0.0)

    log = feed(
        "geodesic_representation", steps, mdp=mdp, params=_PUBLISHED | params, seed=seed,
        on_step=prepare, log="replay",
    )  # fmt: skip
    backups = log.backups
    shown = np.zeros((len(choices.arm), n_arms), dtype=bool)
    trial = (backups["step"].to_numpy() - 1) // 3
    for place in ("state", "next_state"):
        states = backups[place].to_numpy()
        in_arm = states >= _STEM
        shown[trial[in_arm], (states[in_arm] - _STEM) // _ARM] = True
    return shown


def _solved(mdp: MDP, n_arms: int, discount: float) -> NDArray[np.float64]:
    """Compute the discounted distance from each pair to the end of each arm."""
    next_state = likeliest_outcomes(mdp)
    solved = np.zeros((n_arms, *next_state.shape))
    for arm, ways in enumerate(solved):
        for _ in range(500):
            best = np.where(np.arange(len(ways)) == _far(arm), 1.0, discount * ways.max(axis=1))
            ways[:] = best[next_state]
    return solved


# -- eight arms, one of them rewarded (Fig. 3) --------------------------------------------


def _search(rng: np.random.Generator) -> Choices:
    """Draw arms by a softmax of their last rewards."""
    paid, goal, n_rewards = np.zeros(_N_ARMS), int(rng.integers(_N_ARMS)), 0
    arms, goals = [], []
    for _ in range(_N_TRIALS):
        weights = np.exp(paid / _TEMPERATURE)
        arm = int(rng.choice(_N_ARMS, p=weights / weights.sum()))
        arms.append(arm)
        goals.append(goal)
        paid[arm] = float(arm == goal)
        n_rewards += arm == goal
        if n_rewards == _N_REWARDS:
            goal, n_rewards = int(rng.choice(np.delete(np.arange(_N_ARMS), goal))), 0
    return Choices(np.array(arms), np.array(goals))


def goal_shares(choices: Choices, shown: NDArray[np.bool_]) -> dict[str, float]:
    """Compute how often the goal, the previous goal, and each other arm are replayed.

    Only trials that repeat the last choice of the goal count, from the second goal on. A trial in
    which neither goal is replayed counts one sixth for each of the other arms.
    """
    counts, n, before, is_repeated = np.zeros(3), 0, -1, False
    for trial in range(1, len(choices.arm)):
        arm, goal = choices.arm[trial], choices.goal[trial]
        if goal != choices.goal[trial - 1]:
            before, is_repeated = int(choices.goal[trial - 1]), False
        is_repeated = is_repeated or arm == goal
        if not is_repeated or before < 0 or not arm == goal == choices.arm[trial - 1]:
            continue
        n += 1
        now = shown[trial, goal], shown[trial, before]
        counts += (*now, not any(now))
    current, previous, other = counts / n if n else np.full(3, np.nan)
    return {
        "current_goal": current,
        "previous_goal": previous,
        "other_arm": other / (_N_ARMS - 2),
        "previous_minus_current": previous - current,
    }


def _eight_arms(seed: int) -> dict[str, float]:
    laps, own = np.random.SeedSequence(seed).generate_state(2)
    choices = _search(np.random.default_rng(laps))
    params = {"discount": 0.95, "inverse_temperature": 5.0, "goal_rate": 0.05}
    shown = arms_replayed(_maze(_N_ARMS, goes_back=False), choices, params, 0, int(own))
    return goal_shares(choices, shown)


# -- a T-maze whose better arm changes from session to session (Fig. 4) -------------------


def _t_maze(seed: int) -> dict[str, float]:
    laps, own = np.random.SeedSequence(seed).generate_state(2)
    goal = np.repeat(np.arange(_N_SESSIONS) % 2, _N_LAPS)
    is_better = np.random.default_rng(laps).random(len(goal)) < _BETTER
    choices = Choices(np.where(is_better, goal, 1 - goal), goal)
    params = {"discount": 0.95, "inverse_temperature": 2.5, "goal_rate": 0.04}
    shown = arms_replayed(_maze(2, goes_back=True), choices, params, _N_LAPS, int(own))
    by_session = shown.reshape(_N_SESSIONS, _N_LAPS, 2).mean(axis=1)
    found = {f"second_arm_in_session_{i + 1}": by_session[i, 1] for i in range(_N_SESSIONS)}
    in_its_own, in_the_other = by_session[1::2, 1].mean(), by_session[::2, 1].mean()
    return found | {"restricted_minus_better": in_the_other - in_its_own}


GEODESIC_PROTOCOLS: dict[str, Callable[[int], dict[str, float]]] = {
    "geodesic_eight_arms": _eight_arms,
    "geodesic_t_maze": _t_maze,
}
"""Name -> function of a seed that returns quantities."""
