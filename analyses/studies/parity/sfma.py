"""The simulations of Diekmann & Cheng (2023), and what their figures show of them.

The protocols are those of the authors' published scripts. The agent never takes an action that
leads nowhere. Pairs of experiences that are reactivated one after the other go forward if the first
one leads to where the second one begins, in reverse if the second one leads to where the first one
began, and are unordered otherwise.

References
----------
.. [1] Diekmann & Cheng (2023), A model of hippocampal replay driven by experience and environmental
   structure facilitates spatial learning. https://doi.org/10.7554/eLife.82301
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.studies.laps import LapProtocol, run_laps
from replay.learners import find_learner
from replay.log.event_log import EventLog
from replay.parts.experiences import experience_at
from replay.simulation import feed
from replay.worlds.mdp import MDP

__all__ = ["SEQUENCES", "SFMA_PROTOCOLS", "Replays", "count_shortcuts", "match_arms"]
__all__ += ["mean_directionality", "measure_sfma"]

Replays = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Of each replay: where its experiences begin, and where they lead."""

_LEFT, _UP, _RIGHT, _DOWN = range(4)
_MOVES = {_LEFT: (0, -1), _UP: (-1, 0), _RIGHT: (0, 1), _DOWN: (1, 0)}
_COMMON = {"discount": 0.99, "learning_rate": 0.9, "similarity_discount": 0.1}
_CHANGES_AFTER = (100, 200)
_RAISED = 1.1
_AROUND = 5


def measure_sfma(protocol: str, seed: int) -> dict[str, float]:
    """Simulate one animal under one protocol, and give the quantities of the figures.

    Parameters
    ----------
    protocol : str
        A name in ``SFMA_PROTOCOLS``.
    seed : int
        Seed of the animal.

    Returns
    -------
    dict of str to float
        Quantity -> value; NaN where the animal has none.

    Examples
    --------
    >>> sorted(measure_sfma("sequences_linear_track_default", 0))
    ['directionality_at_end', 'directionality_at_start']
    """
    return SFMA_PROTOCOLS[protocol](seed)


# -- worlds -------------------------------------------------------------------------------


class _Grid(NamedTuple):
    """A grid of cells, numbered row by row, with walls between some of them."""

    height: int
    width: int
    walls: tuple[tuple[int, int], ...] = ()

    def next_state(self) -> NDArray[np.int64]:
        """Tell where each action leads."""
        table = np.empty((self.height * self.width, len(_MOVES)), dtype=np.int64)
        closed = {*self.walls, *((there, here) for here, there in self.walls)}
        for state in range(len(table)):
            row, column = divmod(state, self.width)
            for action, (down, right) in _MOVES.items():
                there = (
                    min(max(row + down, 0), self.height - 1) * self.width
                    + min(max(column + right, 0), self.width - 1)
                )  # fmt: skip
                table[state, action] = state if (state, there) in closed else there
        return table


def _between(first: Iterable[int], step: int) -> tuple[tuple[int, int], ...]:
    return tuple((state, state + step) for state in first)


_LABYRINTH = _Grid(
    10,
    10,
    _between(range(1, 72, 10), 1)
    + _between(range(14, 18), 10)
    + _between(range(23, 94, 10), 1)
    + _between(range(36, 40), 10)
    + _between((76, 77), 10)
    + _between(range(45, 76, 10), 1),
)
_FIGURE_EIGHT = _Grid(
    7,
    11,
    _between(range(11, 56, 11), 1)
    + _between(range(15, 60, 11), 1)
    + _between(range(16, 61, 11), 1)
    + _between(range(20, 65, 11), 1)
    + _between((1, 2, 3, 4, 6, 7, 8, 9), 11)
    + _between((56, 57, 58, 59, 61, 62, 63, 64), 11),
)
_T_MAZE = _Grid(
    10,
    7,
    _between((0, 1, 2, 4, 5, 6, 17), 7)
    + _between(range(9, 66, 7), 1)
    + _between(range(10, 67, 7), 1),
)


class _World(NamedTuple):
    """A grid with its start, and how long trials and replays are."""

    grid: _Grid
    start: int
    n_laps: int
    max_steps: int
    n_replays: int


_WORLDS = {
    "linear_track": _World(_Grid(1, 10), 9, 20, 100, 10),
    "open_field": _World(_Grid(10, 10), 55, 100, 100, 10),
    "labyrinth": _World(_LABYRINTH, 4, 100, 300, 50),
}


@cache
def _protocol(name: str, draw_reward: Callable[[np.random.Generator, int], float]) -> LapProtocol:
    """From one start to the first cell, which pays."""
    world = _WORLDS[name]
    next_state = world.grid.next_state()
    mdp = MDP.from_tables(
        next_state, np.zeros(len(next_state)), start=world.start, terminal=[0], name=name
    )
    starts = [np.array([world.start])] * mdp.n_states
    return LapProtocol(mdp, starts, mdp.terminal, draw_reward)


def _one(rng: np.random.Generator, lap: int) -> float:
    return 1.0


def _raised_for_a_while(rng: np.random.Generator, lap: int) -> float:
    return _RAISED if _CHANGES_AFTER[0] < lap <= _CHANGES_AFTER[1] else 1.0


# -- directions of pairs ------------------------------------------------------------------


def mean_directionality(replays: Replays, n_replays: int) -> float:
    """Give the number of forward pairs minus that of reverse ones, per replay.

    Parameters
    ----------
    replays : list of (ndarray, ndarray)
        Of each replay that has experiences: where these begin, and where they lead.
    n_replays : int
        How many replays there were, empty ones included.

    Returns
    -------
    float

    Examples
    --------
    >>> mean_directionality([(np.array([0, 1, 0]), np.array([1, 2, 1]))], 1)
    0.0
    """
    total = 0
    for state, next_state in replays:
        forward = state[1:] == next_state[:-1]
        reverse = ~forward & (next_state[1:] == state[:-1])
        total += int(forward.sum()) - int(reverse.sum())
    return total / n_replays


def _replays_of(log: EventLog, phase: str) -> Replays:
    rows = log.backups
    rows = rows[rows["phase"] == phase]
    cuts = np.flatnonzero(rows["pop"].to_numpy() == 0)[1:]
    state, next_state = rows["state"].to_numpy(), rows["next_state"].to_numpy()
    return list(zip(np.split(state, cuts), np.split(next_state, cuts), strict=True))


def _sequences(world: str, mode: str, seed: int) -> dict[str, float]:
    size = _WORLDS[world]
    params = {
        "epsilon": 0.3, "inverse_temperature": 8.0, "reward_modulation": 0.0,
        "replay_at_start": True, "replay_mode": mode, "n_replays": size.n_replays,
    }  # fmt: skip
    learner = find_learner("sfma", _COMMON | params)
    log = run_laps(
        _protocol(world, _one), learner, n_laps=100, seed=seed, max_steps=size.max_steps,
        only_moves=True,
    )  # fmt: skip
    return {
        "directionality_at_start": mean_directionality(_replays_of(log, "start"), 99),
        "directionality_at_end": mean_directionality(_replays_of(log, "episode_end"), 100),
    }


# -- learning -----------------------------------------------------------------------------

_AGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("sfma", {"replay_mode": "default"}),
    "reverse": ("sfma", {"replay_mode": "reverse"}),
    "dynamic": ("sfma", {"replay_mode": "dynamic"}),
    "online": ("sfma", {"n_replays": 0}),
}


def _learns(world: str, agent: str, seed: int) -> dict[str, float]:
    size = _WORLDS[world]
    name, params = _AGENTS[agent]
    usual = _COMMON | {"epsilon": 0.1, "n_replays": size.n_replays}
    log = run_laps(
        _protocol(world, _one), find_learner(name, usual | params), n_laps=size.n_laps, seed=seed,
        max_steps=size.max_steps, only_moves=True,
    )  # fmt: skip
    n_steps = log.steps.groupby("episode").size().to_numpy(float)
    return {"steps_after_first": float(n_steps[1:].mean())}


# -- which mode, after which surprise -----------------------------------------------------


def _reward_change(seed: int) -> dict[str, float]:
    """Give the probability of the reverse mode before and after the reward goes up, and down."""
    world = _WORLDS["open_field"]
    params = {"epsilon": 0.1, "n_replays": world.n_replays, "replay_mode": "dynamic"}
    learner = find_learner("sfma", _COMMON | params)
    log = run_laps(
        _protocol("open_field", _raised_for_a_while), learner, n_laps=300, seed=seed,
        max_steps=world.max_steps, only_moves=True, log="all",
    )  # fmt: skip
    rows = log.backups
    change = rows["q_after"].to_numpy() - rows["q_before"].to_numpy()
    error = np.abs(change) / _COMMON["learning_rate"]
    is_replay = rows["event"].to_numpy() >= 0
    pause = rows["episode"].to_numpy() + is_replay  # of what is replayed the next pause hears
    probability = 1.0 / (1.0 + np.exp(2.0 - 5.0 * np.bincount(pause, error, 301)[:300]))
    found: dict[str, float] = {}
    for name, lap in zip(("rise", "drop"), _CHANGES_AFTER, strict=True):
        before = float(probability[lap - _AROUND : lap].mean())
        after = float(probability[lap : lap + _AROUND].mean())
        found |= {f"reverse_before_{name}": before, f"reverse_after_{name}": after}
        found[f"reverse_change_at_{name}"] = after - before
    return found


# -- shortcuts in the figure of eight -----------------------------------------------------

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
_N_LIKE = 10  # animals of the same laps, since shortcuts are rare
_MOST_WRONG, _MOST_WRONG_SHARE, _OFF_BY = 2, 0.25, 3

_RUNS = {
    "sl": (*_STEM, *_TOP_LEFT), "sr": (*_STEM, *_TOP_RIGHT),
    "ll": (*_BOTTOM_LEFT[:-1], *_STEM, *_TOP_LEFT), "lr": (*_BOTTOM_LEFT[:-1], *_STEM, *_TOP_RIGHT),
    "rr": (*_BOTTOM_RIGHT[:-1], *_STEM, *_TOP_RIGHT),
    "rl": (*_BOTTOM_RIGHT[:-1], *_STEM, *_TOP_LEFT),
}  # fmt: skip
_CONDITIONS = {
    "right_then_left": ["sr", *["rr"] * 10, "rl", *["ll"] * 9],
    "alternation": ["sr", *["rl", "lr"] * 10],
    "right_then_alternation": ["sr", *["rr"] * 10, *["rl", "lr"] * 5],
    "alternation_then_left": ["sr", *["rl", "lr"] * 5, "rl", *["ll"] * 9],
}


def _errors(states: NDArray[np.int64], template: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the mismatches of a template at each place but the last one, as the authors do."""
    n = len(states) - len(template)
    windows = np.lib.stride_tricks.sliding_window_view(states, len(template))[:n]
    return np.asarray((windows != template).sum(axis=1), dtype=np.int64)


def count_shortcuts(states: NDArray[np.int64]) -> int:
    """Count the shortcuts in a replay: a piece of one loop, and then one of the other.

    Parameters
    ----------
    states : ndarray of int
        Where the experiences begin.

    Returns
    -------
    int
        How often a corner that was replayed one way is followed by its opposite, replayed so that
        the two together are a way that was never run.

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
    """Give the laps of a condition as steps, without reward."""
    next_state = _FIGURE_EIGHT.next_state()
    rows = []
    for lap in _CONDITIONS[condition]:
        path = _RUNS[lap]
        for here, there in pairwise(path):
            action = int(np.flatnonzero(next_state[here] == there)[0])
            rows.append((here, action, 0.0, there, there == path[-1]))
    names = ["state", "action", "reward", "next_state", "terminated"]
    return pd.DataFrame(rows, columns=names)


def _shortcuts(condition: str, mode: str, seed: int) -> dict[str, float]:
    params = {"n_replays": 18, "replay_mode": mode, "reward_modulation": 0.0}
    experience, n_before = _experience_of(condition), len(_CONDITIONS[condition]) // 2
    counts: list[int] = []
    for child in np.random.SeedSequence(seed).generate_state(_N_LIKE):
        log = feed(
            "sfma", experience, n_states=77, n_actions=4, params=_COMMON | params,
            seed=int(child), log="replay",
        )  # fmt: skip
        replays = _replays_of(log, "episode_end")[n_before:]
        counts += [count_shortcuts(state) for state, _ in replays]
    return {"shortcuts_per_replay": float(np.mean(counts))}


# -- preplay of a cued arm ----------------------------------------------------------------

_ARMS = {
    "cued": np.array([17, 10, 3, 4, 5, 6]),
    "uncued": np.array([17, 10, 3, 2, 1, 0]),
    "stem": np.array([66, 59, 52, 45, 38, 31, 24]),
}
_SHAFT = [(state, action) for state in (10, 17) for action in (_UP, _DOWN)]
_CUED_MOVES = [
    *_SHAFT, *((state, _RIGHT) for state in (3, 4, 5, 6)),
    *((state, _LEFT) for state in (4, 5, 6)), (3, _DOWN),
]  # fmt: skip
_UNCUED_MOVES = [*_SHAFT, *((state, way) for state in (0, 1, 2, 3) for way in (_LEFT, _RIGHT))]
_ERROR_SHARE = 0.4
_N_PREPLAYS = 400
_FOOT = 63
_N_RUNS = 10.0


def match_arms(states: NDArray[np.int64]) -> dict[str, int]:
    """Tell which parts of the T a preplay shows, in which direction.

    Parameters
    ----------
    states : ndarray of int
        Where the experiences begin.

    Returns
    -------
    dict of str to int
        For each part, and ``_back`` for the other way: whether at most two fifths of its states (or
        of the replay's, if that is shorter) differ.

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


def _preplay(
    similarity_discount: float, mode: str, cued: float, attention: float, seed: int
) -> dict[str, float]:
    """Strengths are set as the authors set them: the stem was run, the arms were only seen.

    Two steps that lead nowhere frame this: strengths are set after the first, and the rest follows
    the second, whose own strength is taken away beforehand.
    """
    next_state = _T_MAZE.next_state()
    mdp = MDP.from_tables(next_state, np.zeros(len(next_state)), start=_FOOT)
    params = {
        "similarity_discount": similarity_discount, "replay_mode": mode, "n_replays": 6,
        "preplay": 1.0, "discount": 0.9,
    }  # fmt: skip
    step = {"state": _FOOT, "action": _LEFT, "reward": 0.0, "next_state": _FOOT, "terminated": True}

    def set_strengths(number: int, memory: Any) -> None:
        if number == 0:
            strength = _seen_strengths(memory.similarity.matrix, cued, attention)
            strength[_FOOT, _LEFT] -= 1.0
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
    for states, _ in _replays_of(log, "rest"):
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
    strength = np.zeros((len(similarity), len(_MOVES)))
    stem = _ARMS["stem"]
    strength[stem[:, np.newaxis], [_UP, _DOWN]] = _N_RUNS
    strength += _N_RUNS * (similarity[24] + similarity[66])[:, np.newaxis]
    for share, moves in ((cued, _CUED_MOVES), (1.0 - cued, _UNCUED_MOVES)):
        for state, action in moves:
            strength[state, action] += share * _N_RUNS * attention
    strength += (similarity[6] * _N_RUNS * attention * cued)[:, np.newaxis]
    return strength


# -- the protocols ------------------------------------------------------------------------

SEQUENCES = [(world, mode) for world in _WORLDS for mode in ("default", "reverse")]
_PREPLAYS = {
    "equal": (0.8, "default", 0.5, 0.1),
    "cued": (0.8, "default", 0.75, 0.1),
    "only_cued": (0.8, "default", 1.0, 0.1),
    "unseen": (0.8, "default", 0.75, 0.0),
    "cued_reverse_mode": (0.8, "reverse", 0.75, 0.1),
}

SFMA_PROTOCOLS: dict[str, Callable[[int], dict[str, float]]] = {
    **{f"sequences_{world}_{mode}": partial(_sequences, world, mode) for world, mode in SEQUENCES},
    **{
        f"learning_{world}_{agent}": partial(_learns, world, agent)
        for world in _WORLDS
        for agent in _AGENTS
    },
    "reward_change": _reward_change,
    **{
        f"shortcuts_{condition}_{mode}": partial(_shortcuts, condition, mode)
        for condition in _CONDITIONS
        for mode in ("default", "reverse")
    },
    **{f"preplay_{name}": partial(_preplay, *values) for name, values in _PREPLAYS.items()},
}
"""Name -> function of a seed that gives quantities."""
