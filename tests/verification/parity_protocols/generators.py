"""Published simulations of learners without values: speed of a bump, maps of mazes, coverage.

The speed of a bump is measured on the ring of Ji et al. (2025) [1]_, with their parameters and time
step. Hierarchical generative replay learns five mazes one after the other, in one arena of 15 x 15
places, as in the picture of the trained model of Stoianov et al. (2022) [2]_. Their mazes are
unknown; ours are closed walks that share places with one another. The coverage of a ring of five
cliques by ten sequences of ten steps is that of figure 7 of McNamee et al. (2021) [3]_, with their
settings of the three regimes; their jump rate of 15 is part of the tempo here. Their code was run
with returns averaged over places instead of summed: with sums, the optimiser of current scipy stops
where it begins.

References
----------
.. [1] Ji et al. (2025), Dynamical modulation of hippocampal replay through firing rate adaptation.
   https://doi.org/10.1038/s41467-025-68042-3
.. [2] Stoianov et al. (2022), The hippocampal formation as a hierarchical generative
   model supporting generative replay and continual learning.
   https://doi.org/10.1101/2020.01.16.908889
.. [3] McNamee et al. (2021), Flexible modulation of sequence generation in the
   entorhinal-hippocampal system. https://doi.org/10.1038/s41593-021-00831-7
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.findings.accounts import find_account
from replay.learners.adaptive_attractor import Dynamics, attractor, connect, follow_bump, place_bump
from replay.learners.hierarchical_generative import Memory
from replay.simulation import feed
from replay.worlds.mdp import MDP

__all__ = ["GENERATOR_PROTOCOLS"]

_N_NEURONS, _WIDTH, _TIME_STEP, _TAU_V = 128, 0.4, 0.1 / 3, 48.0
_SETTLES, _LASTS = 18_000, 9_000  # steps of time
_SIDE, _N_MAZES, _N_LAPS = 15, 5, 8
_N_CLIQUES, _IN_CLIQUE, _FROM = 5, 10, 2
_N_SEQUENCES, _N_STEPS, _N_TIMES = 10, 10, 20
_REGIMES: dict[str, dict[str, float | bool]] = {
    "diffusion": {"tempo": 20.7 / 15.0},
    "superdiffusion": {"tempo": 3.1 / 15.0**0.3, "stability": 0.3},
    "least_autocorrelated": {"least_autocorrelated": True},
}


def _speed(adaptation: float, seed: int) -> dict[str, float]:
    """Measure the speed of a bump, in neurons per 100 tau."""
    n, spacing = _N_NEURONS, 2.0 * np.pi / _N_NEURONS
    network, rng = attractor(n), np.random.default_rng(seed)
    is_linked = np.zeros((n, n), dtype=np.bool_)
    is_linked[np.arange(n), np.arange(n) - 1] = is_linked[np.arange(n) - 1, np.arange(n)] = True
    connect(network, is_linked, _WIDTH / spacing, 4.0 / spacing)
    place_bump(network, n, 0, 0.2, adaptation / _TAU_V)
    network.state[0] *= 1.0 + 0.1 * np.sin(rng.uniform(0.0, 2.0 * np.pi) + np.arange(n) * spacing)
    dynamics = Dynamics(20.0, _TAU_V, adaptation / _TAU_V, 0.0, _TIME_STEP)
    place, left, moves = int(network.state[0].argmax()), _SETTLES + _LASTS, []
    while left > 0:
        place, left = follow_bump(network, n, place, dynamics, left, rng)
        moves.append(_SETTLES + _LASTS - left)
    late = np.array([step for step in moves[:-1] if step >= _SETTLES])
    if len(late) < 2:
        return {"speed": 0.0}
    return {"speed": float(100.0 * (len(late) - 1) / ((late[-1] - late[0]) * _TIME_STEP))}


def _loop(rng: np.random.Generator) -> NDArray[np.int64]:
    """Walk around a rectangle in the arena, from its upper left corner and back to it."""
    top, left = rng.integers(0, 4, size=2)
    bottom, right = rng.integers(_SIDE - 6, _SIDE, size=2)
    rows = [top] * (right - left) + [*range(top, bottom)] + [bottom] * (right - left)
    rows += [*range(bottom, top, -1)]
    columns = [*range(left, right)] + [right] * (bottom - top) + [*range(right, left, -1)]
    columns += [left] * (bottom - top)
    return np.array([row * _SIDE + column for row, column in zip(rows, columns, strict=True)])


def _five_mazes(seed: int) -> dict[str, float]:
    """Count the maps used for five mazes, and the share of a maze's laps in its main map."""
    rng = np.random.default_rng(seed)
    places = [lap for maze in range(_N_MAZES) for lap in [_loop(rng)] * _N_LAPS]
    rows = pd.concat(
        pd.DataFrame({"state": lap[:-1], "next_state": lap[1:], "lap": number})
        for number, lap in enumerate(places)
    )
    ends = rows["lap"] != rows["lap"].shift(-1)
    moves = rows.assign(action=0, reward=0.0, terminated=ends)
    settings = find_account("hierarchical_generative").as_published
    held: list[int] = []
    before = np.zeros(_N_MAZES)

    def note(step: int, memory: Memory) -> None:
        nonlocal before
        if ends.iloc[step]:
            now = memory.n_sequences.copy()
            held.append(int((now - before).argmax()))
            before = now

    feed("hierarchical_generative", moves.reset_index(drop=True), n_states=_SIDE * _SIDE,
         n_actions=1, params=settings, seed=seed, on_step=note)  # fmt: skip
    of_maze = np.array(held).reshape(_N_MAZES, _N_LAPS)
    return {
        "maps_used": float(len(set(held))),
        "laps_in_own_map": float(np.mean([np.bincount(maps).max() / _N_LAPS for maps in of_maze])),
    }


def _coverage(regime: str, seed: int) -> dict[str, float]:
    """Measure the share of a ring of cliques that is reactivated, once all its links are known."""
    ring = nx.ring_of_cliques(_N_CLIQUES, _IN_CLIQUE)
    n_states = len(ring)
    next_state = np.repeat(np.arange(n_states)[:, np.newaxis], _IN_CLIQUE, axis=1)
    for place, neighbours in ring.adjacency():
        next_state[place, : len(neighbours)] = sorted(neighbours)
    known = [(place, action) for place in ring for action in range(ring.degree[place])]
    state, action = np.array(known + [(_FROM, 0)] * (_N_SEQUENCES * _N_TIMES)).T
    steps = pd.DataFrame({"state": state, "action": action, "reward": 0.0, "terminated": True})
    log = feed(
        "spectral_diffusion",
        steps.assign(next_state=next_state[state, action], start_state=np.append(state[1:], _FROM)),
        mdp=MDP.from_tables(next_state, np.zeros(n_states), start=_FROM),
        params={**_REGIMES[regime], "dwell": True, "n_replays": _N_STEPS},
        seed=seed,
        log="replay",
    )
    moves = log.backups
    drawn = moves[(moves["phase"] == "start") & (moves["step"] >= len(known))]
    time = (drawn["step"] - len(known)) // _N_SEQUENCES
    covered = drawn["next_state"].groupby(time).agg(lambda places: len({_FROM, *places}))
    return {"coverage": float(covered.mean() / n_states)}


GENERATOR_PROTOCOLS: dict[str, Callable[[int], dict[str, float]]] = {
    **{f"bump_{adaptation}": partial(_speed, adaptation) for adaptation in (1.5, 2.5)},
    "five_mazes": _five_mazes,
    **{f"ring_{regime}": partial(_coverage, regime) for regime in _REGIMES},
}
"""Name -> function of a seed that returns quantities."""
