"""The simulations of Diekmann & Cheng (2023), and the quantities that their figures show.

The protocols are those of the authors' published scripts. The agent never takes an action that
does not move it.

References
----------
.. [1] Diekmann & Cheng (2023), A model of hippocampal replay driven by experience and environmental
   structure facilitates spatial learning. https://doi.org/10.7554/eLife.82301
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from laps import LapProtocol, run_laps

from parity_protocols.preplay import measure_preplay
from parity_protocols.replayed_pairs import mean_directionality, replayed_steps
from parity_protocols.shortcuts import CONDITIONS, measure_shortcuts
from parity_protocols.walled_grid import WalledGrid, walls_between
from replay.learners import find_learner
from replay.worlds.mdp import MDP

__all__ = ["SEQUENCES", "SFMA_PROTOCOLS"]

_COMMON = {"discount": 0.99, "learning_rate": 0.9, "similarity_discount": 0.1}
_CHANGES_AFTER = (100, 200)
_RAISED = 1.1
_AROUND = 5


# -- worlds -------------------------------------------------------------------------------


_LABYRINTH = WalledGrid(
    10,
    10,
    walls_between(range(1, 72, 10), 1)
    + walls_between(range(14, 18), 10)
    + walls_between(range(23, 94, 10), 1)
    + walls_between(range(36, 40), 10)
    + walls_between((76, 77), 10)
    + walls_between(range(45, 76, 10), 1),
)


class _World(NamedTuple):
    """A grid with its start, and the lengths of trials and replays."""

    grid: WalledGrid
    start: int
    n_laps: int
    max_steps: int
    n_replays: int


_WORLDS = {
    "linear_track": _World(WalledGrid(1, 10), 9, 20, 100, 10),
    "open_field": _World(WalledGrid(10, 10), 55, 100, 100, 10),
    "labyrinth": _World(_LABYRINTH, 4, 100, 300, 50),
}


@cache
def _protocol(name: str, draw_reward: Callable[[np.random.Generator, int], float]) -> LapProtocol:
    """Make laps from one start to the first cell, which is rewarded."""
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


# -- sequences ----------------------------------------------------------------------------


def _sequences(world: str, mode: str, seed: int) -> dict[str, float]:
    size = _WORLDS[world]
    params = {
        "epsilon": 0.3, "inverse_temperature": 8.0, "reward_modulation": 0.0,
        "replay_at": "pauses", "replay_mode": mode, "n_replays": size.n_replays,
    }  # fmt: skip
    learner = find_learner("sfma", _COMMON | params)
    log = run_laps(
        _protocol(world, _one), learner, n_laps=100, seed=seed, max_steps=size.max_steps,
        only_moves=True,
    )  # fmt: skip
    return {
        "directionality_at_start": mean_directionality(replayed_steps(log, "start"), 99),
        "directionality_at_end": mean_directionality(replayed_steps(log, "episode_end"), 100),
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


# -- the mode of replay after surprises ---------------------------------------------------


def _reward_change(seed: int) -> dict[str, float]:
    """Compute the probability of the reverse mode around a rise and a drop of the reward."""
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
    pause = rows["episode"].to_numpy() + is_replay  # errors in replay count for the next pause
    probability = 1.0 / (1.0 + np.exp(2.0 - 5.0 * np.bincount(pause, error, 301)[:300]))
    found: dict[str, float] = {}
    for name, lap in zip(("rise", "drop"), _CHANGES_AFTER, strict=True):
        before = float(probability[lap - _AROUND : lap].mean())
        after = float(probability[lap : lap + _AROUND].mean())
        found |= {f"reverse_before_{name}": before, f"reverse_after_{name}": after}
        found[f"reverse_change_at_{name}"] = after - before
    return found


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
        f"shortcuts_{condition}_{mode}": partial(measure_shortcuts, condition, mode)
        for condition in CONDITIONS
        for mode in ("default", "reverse")
    },
    **{f"preplay_{name}": partial(measure_preplay, *values) for name, values in _PREPLAYS.items()},
}
"""Name -> function of a seed that returns quantities."""
