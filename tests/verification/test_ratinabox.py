"""States learned from the place cells of RatInABox earn at least 80 % of what true ones do.

Needs ``pip install ratinabox``.
"""

import warnings

import numpy as np
import pytest

from replay import simulate
from replay.encoders import Bins, PredictiveStates

gymnasium = pytest.importorskip("gymnasium")
pytestmark = pytest.mark.slow

SIZE, GOAL, RADIUS = 1.0, np.array([0.8, 0.8]), 0.15  # metres
N_STEPS = 6000
AGENT = {"dt": 0.25, "rotational_velocity_coherence_time": 0.5, "save_history": False}


class OpenField(gymnasium.Env):
    """An animal of RatInABox walks in one of four directions for half a second at a time.

    It begins anywhere in a square of 1 m, and sees its noisy place cells, or its position.
    """

    def __init__(self, sees_cells):
        ratinabox = pytest.importorskip("ratinabox")
        neurons = pytest.importorskip("ratinabox.Neurons")
        np.random.seed(1)  # noqa: NPY002 - RatInABox draws from this stream, the cells' centres too
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            box = ratinabox.Environment()
            self.agent = ratinabox.Agent(box, AGENT)
            cells = {"n": 100, "widths": 0.15, "description": "gaussian"}
            self.cells = neurons.PlaceCells(self.agent, cells)
        self.sees_cells = sees_cells
        self.action_space = gymnasium.spaces.Discrete(4)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (100 if sees_cells else 2,))

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            np.random.seed(seed % 2**32)  # noqa: NPY002
        super().reset(seed=seed)
        self.n_steps = 0
        self.agent.pos = self.np_random.uniform(0.05, SIZE - 0.05, 2)
        self.agent.velocity = np.zeros(2)
        return self.seen()

    def step(self, action):
        velocity = 0.2 * np.array([(0, 1), (0, -1), (-1, 0), (1, 0)])[action]
        for _ in range(2):
            self.agent.update(drift_velocity=velocity, drift_to_random_strength_ratio=3)
        self.n_steps += 1
        found = bool(np.linalg.norm(self.agent.pos - GOAL) < RADIUS)
        seen, info = self.seen()
        return seen, float(found), found, self.n_steps == 500, info

    def seen(self):
        x, y = self.agent.pos
        bins = np.clip(10 * self.agent.pos, 0, 9).astype(int)
        info = {"position": 100 * self.agent.pos, "state": int(10 * bins[1] + bins[0])}
        if not self.sees_cells:
            return np.array([x, y]), info
        rates = self.cells.get_state().ravel()
        return rates + 0.05 * self.np_random.normal(size=len(rates)), info


def reward_rate(run):
    return run.reward_rate["reward_rate"].iloc[-25:].mean()


def test_place_cells_of_ratinabox():
    """What is compared is a grid of 10 by 10 bins over the true position."""
    known = simulate(
        OpenField(False), "prioritized_sweeping", encoder=Bins(10), n_steps=N_STEPS, seed=1
    )
    encoder = PredictiveStates(n_before=5000)
    run = simulate(
        OpenField(True), "prioritized_sweeping", encoder=encoder, n_steps=N_STEPS, seed=1
    )
    assert reward_rate(run) > 0.8 * reward_rate(known) > 0
