"""The simulations of Mattar & Daw (2018), and the quantities that their figures show.

The protocols are those of the authors' published scripts: a linear track run in both directions,
the same track with a reward that is drawn for each lap, an open maze with random starts, a T-maze
with reward in one arm, and a track with a remembered shock at its end. Their rule finds the
sequences (:mod:`analyses.sequences.segments`). Their test of significance rejects none of the
sequences found by this rule, so it is left out.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from gain_floor import lap_protocol
from laps import LapProtocol, run_laps, steady_reward
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from analyses.sequences.segments import find_segments
from replay.learners import find_learner
from replay.learners.contract import Pause, Sizes
from replay.learners.ranges import likeliest_outcomes
from replay.log.backups import EPISODE_END, backup_buffer, renew
from replay.parts.experiences import meet
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP

__all__ = ["MEMORY_ACCESS_PROTOCOLS", "LapRecord"]

_N_LAPS = 50
_N_LAPS_OF_LEARNING = 20
_STEPS_AWAY = 3
_N_FIRST = 5
_EARLY, _LATE = slice(1, 10), slice(40, 50)
_SHIFTS = {"increase": (1.0, 4.0), "drop": (1.0, 0.0)}
_GREEDY = {"act_policy": "epsilon_greedy", "epsilon": 0.0}
_REPLAY: dict[str, dict[str, Any]] = {
    "prioritized": _GREEDY,
    "uniform": _GREEDY | {"use_gain": False, "need": "one"},
    "none": _GREEDY | {"max_backups": 0},
}


class LapRecord(NamedTuple):
    """The behaviour and the replay of one animal, and its world.

    Attributes
    ----------
    steps : pandas.DataFrame
        `episode, step, state, action, reward, next_state, terminated`.
    backups : pandas.DataFrame
        As `find_segments` reads them.
    next_state : ndarray of int, shape (n_states, n_actions)
        The state that each action leads to; -1 in terminal states.
    goals : tuple of int
        The rewarded states.
    """

    steps: pd.DataFrame
    backups: pd.DataFrame
    next_state: NDArray[np.int32]
    goals: tuple[int, ...]


# -- directions at starts and goals, and their change over laps (Figs. 3 and 6) -----------


def directions(seen: LapRecord) -> dict[str, float]:
    """Count sequences per lap in each direction at starts and goals, early and late."""
    segments, n_laps = find_segments(seen.backups), int(seen.steps["episode"].nunique())
    found = {}
    for direction in ("forward", "reverse"):
        rows = segments[segments["direction"] == direction]
        for place in ("start", "goal"):
            found[f"{direction}_at_{place}"] = float((rows["place"] == place).sum() / n_laps)
        a_lap = np.bincount(rows["episode"].to_numpy(), minlength=n_laps)
        early, late = _mean(a_lap[_EARLY]), _mean(a_lap[_LATE])
        found[f"{direction}_in_first_laps"] = early
        found[f"{direction}_in_last_laps"] = late
        found[f"{direction}_last_minus_first"] = late - early
    at = found
    found["forward_start_minus_goal"] = at["forward_at_start"] - at["forward_at_goal"]
    found["reverse_goal_minus_start"] = at["reverse_at_goal"] - at["reverse_at_start"]
    return found


# -- effects of reward (Fig. 5) -----------------------------------------------------------


def reward_shift(seen: LapRecord, shifted: float) -> dict[str, float]:
    """Count sequences per lap after a reward of 1, and after one of the mean `shifted`."""
    segments, steps = find_segments(seen.backups), seen.steps
    at_end = steps["next_state"].isin(seen.goals).to_numpy()
    last = pd.Series(np.where(at_end, steps["reward"], np.nan), index=steps["step"]).ffill()
    reward = last.reindex(segments["step"]).to_numpy()
    is_shifted = np.abs(reward - 1.0) >= np.abs(reward - shifted)
    n_laps = steps["episode"].nunique() / 2
    found = {}
    for direction in ("forward", "reverse"):
        of_kind = (segments["direction"] == direction).to_numpy()
        usual, other = (np.sum(of_kind & wanted) / n_laps for wanted in (~is_shifted, is_shifted))
        found[f"{direction}_after_1x"] = float(usual)
        found[f"{direction}_after_shift"] = float(other)
        found[f"{direction}_shift_minus_1x"] = float(other - usual)
    return found


# -- where sequences lie (Fig. 4) ---------------------------------------------------------


def contents(seen: LapRecord) -> dict[str, float]:
    """Measure where sequences begin and end, and whether they show the future or the past.

    Chance is that of a state drawn from all non-terminal ones. A sequence shows the future (past)
    if its first five states contain the state three steps ahead (back).
    """
    segments, distance = find_segments(seen.backups), _distances(seen.next_state)
    visited = seen.steps["state"].to_numpy()
    row = pd.Index(seen.steps["step"]).get_indexer(segments["step"])
    here = visited[row]
    first = np.array([states[0] for states in segments["states"]], dtype=int)
    last = np.array([states[-1] for states in segments["states"]], dtype=int)
    goal = distance[:, list(seen.goals)].min(axis=1)
    open_states = np.flatnonzero(seen.next_state[:, 0] >= 0)
    found = {
        "begins_at_animal": _mean(distance[here, first] == 0),
        "begins_at_animal_by_chance": 1.0 / len(open_states),
        "goal_distance_of_last": _mean(goal[last]),
        "goal_distance_by_chance": float(goal[open_states].mean()),
    }
    found["begins_at_animal_minus_chance"] = (
        found["begins_at_animal"] - found["begins_at_animal_by_chance"]
    )
    found["goal_distance_minus_chance"] = (
        found["goal_distance_of_last"] - found["goal_distance_by_chance"]
    )
    for direction in ("forward", "reverse"):
        shows = {}
        of_kind = np.flatnonzero(segments["direction"] == direction)
        for side, offset in (("future", _STEPS_AWAY), ("past", -_STEPS_AWAY)):
            within = [i for i in of_kind if 0 <= row[i] + offset < len(visited)]
            shows[side] = _mean(
                visited[row[i] + offset] in segments["states"].iloc[i][:_N_FIRST] for i in within
            )
            found[f"{direction}_shows_{side}"] = shows[side]
        found[f"{direction}_future_minus_past"] = shows["future"] - shows["past"]
    return found


def _mean(values: Iterable[float]) -> float:
    listed = np.array(list(values), dtype=float)
    return float(listed.mean()) if len(listed) else np.nan


def _distances(next_state: NDArray[np.int32]) -> NDArray[np.float64]:
    """Compute the least number of moves between all states, if each can be undone."""
    state, action = np.nonzero(next_state >= 0)
    edges = np.zeros((len(next_state), len(next_state)))
    edges[state, next_state[state, action]] = 1.0
    np.fill_diagonal(edges, 0.0)
    distance: NDArray[np.float64] = shortest_path(edges, directed=False, unweighted=True)
    return distance


# -- learning (Fig. 1) --------------------------------------------------------------------


def _learning(steps: pd.DataFrame) -> dict[str, float]:
    """Average the steps per lap, early and late."""
    a_lap = steps.groupby("episode").size().to_numpy(float)
    return {"steps_laps_2_to_5": a_lap[1:5].mean(), "steps_laps_11_to_20": a_lap[10:20].mean()}


# -- a rewarded arm (Fig. 4) --------------------------------------------------------------


def paying_arm(seen: LapRecord, towards: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """Compute the share of backups along each arm; of an n-step backup, the last counts.

    `towards` has, for each arm, the state at the junction and the action that leads into it.
    """
    replayed = seen.backups[seen.backups["event"] >= 0]
    rows = replayed.drop_duplicates(["event", "pop"], keep="last")
    junction, found = next(iter(towards.values()))[0], {}
    for arm, (_, action) in towards.items():
        within = int(seen.next_state[junction, action])
        onward = rows["state"].isin([junction, within]) & (rows["action"] == action)
        found[f"{arm}_share"] = float(onward.mean())
    found["cued_minus_uncued"] = found["cued_share"] - found["uncued_share"]
    return found


# -- the protocols ------------------------------------------------------------------------


def _shifting(name: str) -> Callable[[np.random.Generator, int], float]:
    def draw(rng: np.random.Generator, lap: int) -> float:
        mean = _SHIFTS[name][int(rng.integers(2))]
        return max(rng.normal(mean, 0.1), 0.0) if mean else 0.0

    return draw


@cache
def _t_maze() -> LapProtocol:
    mdp = from_ascii("G...G\n##S##")
    cued = np.zeros(mdp.n_states, dtype=bool)
    cued[_state(mdp, 5, 2)] = True
    starts = [np.flatnonzero(mdp.start_probability)] * mdp.n_states
    return LapProtocol(mdp, starts, cued, steady_reward)


def _state(mdp: MDP, x: int, y: int) -> int:
    return list(mdp.labels or ()).index((x, y))


def _run(
    protocol: LapProtocol, seed: int, params: Mapping[str, Any] | None = None, n_laps: int = _N_LAPS
) -> LapRecord:
    learner = find_learner("prioritized_memory_access_published", params)
    log = run_laps(protocol, learner, n_laps=n_laps, seed=seed)
    goals = tuple(np.flatnonzero(protocol.mdp.terminal & protocol.pays).tolist())
    return LapRecord(log.steps, log.backups, likeliest_outcomes(protocol.mdp), goals)


def _track(seed: int) -> dict[str, float]:
    seen = _run(lap_protocol("linear_track"), seed)
    return directions(seen) | contents(seen)


def _open_maze(seed: int) -> dict[str, float]:
    seen = _run(lap_protocol("open_maze"), seed)
    return directions(seen) | contents(seen)


def _without_need(seed: int) -> dict[str, float]:
    return directions(_run(lap_protocol("open_maze"), seed, {"need": "one"}))


def _shift(name: str) -> Callable[[int], dict[str, float]]:
    def measure(seed: int) -> dict[str, float]:
        protocol = lap_protocol("linear_track", _shifting(name))
        return reward_shift(_run(protocol, seed), _SHIFTS[name][1])

    return measure


def _learns(name: str) -> Callable[[int], dict[str, float]]:
    def measure(seed: int) -> dict[str, float]:
        protocol = lap_protocol("open_maze")
        return _learning(_run(protocol, seed, _REPLAY[name], _N_LAPS_OF_LEARNING).steps)

    return measure


def _sleep(seed: int) -> dict[str, float]:
    protocol = _t_maze()
    seen = _run(protocol, seed, {"need": "stationary_distribution"})
    junction, names = _state(protocol.mdp, 3, 2), list(protocol.mdp.action_names)
    arms = {"cued": (junction, names.index("right")), "uncued": (junction, names.index("left"))}
    return paying_arm(seen, arms)


def _shock(seed: int) -> dict[str, float]:
    """Replay on a track that was explored without reward, before and after a shock at its end."""
    mdp = from_ascii("S........G")
    learner = find_learner("prioritized_memory_access_published", {"one_step_late": False})
    sizes = Sizes(mdp.n_states, mdp.n_actions, mdp.n_transitions, 1, mdp.n_states**2)
    memory = learner.init(learner.params, sizes)
    learner.explore(learner.params, memory, mdp)
    for name, value in {"before": 0, "first": 0, "end": -1, "rewarded": True}.items():
        memory.whereabouts[name] = value
    zone, right = mdp.n_states - 2, list(mdp.action_names).index("right")
    rng, found = np.random.default_rng(seed), {}
    for moment, reward in (("before", 0.0), ("after", -1.0)):
        memory.reward[zone, right] = reward
        for state in range(mdp.n_states):
            meet(memory.table.stale, state)
        log = backup_buffer(1000, "all", learner.description.evaluates)
        learner.replay(learner.params, memory, Pause(EPISODE_END, 0, False), rng, log)
        made, _ = renew(log, 0)
        found[f"shock_zone_{moment}"] = float(np.any(made[0]["state"] == zone))
    return found


MEMORY_ACCESS_PROTOCOLS: dict[str, Callable[[int], dict[str, float]]] = {
    "linear_track": _track,
    "open_maze": _open_maze,
    "open_maze_without_need": _without_need,
    "reward_increase": _shift("increase"),
    "reward_drop": _shift("drop"),
    "learning_prioritized": _learns("prioritized"),
    "learning_uniform": _learns("uniform"),
    "learning_none": _learns("none"),
    "t_maze": _sleep,
    "shock": _shock,
}
"""Name -> function of a seed that returns quantities."""
