"""States learned from the place cells of RatInABox earn at least 80 % of what true ones do.

Needs ``pip install ratinabox``.
"""

import warnings

import numpy as np
import pytest

from replay import simulate
from replay.encoders import PredictiveStates

gymnasium = pytest.importorskip("gymnasium")
pytestmark = pytest.mark.slow

GOAL, RADIUS = np.array([0.8, 0.8]), 0.15  # metres
N_STEPS = 6000
AGENT = {"dt": 0.25, "rotational_velocity_coherence_time": 0.5, "save_history": False}
ROOMS = {
    "square": {},
    "corner": {"boundary": [[0, 0], [1, 0], [1, 1], [0.5, 1], [0.5, 0.5], [0, 0.5]]},
    "wall": {"walls": [[[0.5, 0.3], [0.5, 1]]]},
}


class TrueStates:
    """A code for each bin of a room of 1 m, whatever of it is visited before the run."""

    n_before, refit_at = 0, ()

    def __init__(self, n_bins):
        self.n_bins, self.n_codes = n_bins, n_bins**2

    def prepare(self, walk, rng, previous=None):
        return self

    def begin(self, position):
        x, y = np.clip(self.n_bins * position, 0, self.n_bins - 1).astype(int)
        return int(self.n_bins * y + x)

    def encode(self, position, action):
        return self.begin(position)


class OpenField(gymnasium.Env):
    """An animal of RatInABox walks in one of four directions for half a second at a time.

    It begins anywhere in a room of 1 m, and sees its noisy place cells, or its position.
    """

    def __init__(self, room, sees_cells, seed):
        ratinabox = pytest.importorskip("ratinabox")
        neurons = pytest.importorskip("ratinabox.Neurons")
        np.random.seed(seed)  # noqa: NPY002 - RatInABox draws from this stream, the cells' centres too
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.box = ratinabox.Environment(dict(ROOMS[room]))
            self.agent = ratinabox.Agent(self.box, AGENT)
            cells = {"n": 100, "widths": 0.15, "description": "gaussian"}
            self.cells = neurons.PlaceCells(self.agent, cells)
        self.sees_cells = sees_cells
        self.action_space = gymnasium.spaces.Discrete(4)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (100 if sees_cells else 2,))

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            np.random.seed(seed % 2**32)  # noqa: NPY002
        super().reset(seed=seed)
        self.n_steps, inside = 0, False
        while not inside:
            self.agent.pos = self.np_random.uniform(0.05, 0.95, 2)
            inside = self.box.check_if_position_is_in_environment(self.agent.pos)
        self.agent.velocity = np.zeros(2)
        return self.seen(), {}

    def step(self, action):
        velocity = 0.2 * np.array([(0, 1), (0, -1), (-1, 0), (1, 0)])[action]
        for _ in range(2):
            self.agent.update(drift_velocity=velocity, drift_to_random_strength_ratio=3)
        self.n_steps += 1
        found = bool(np.linalg.norm(self.agent.pos - GOAL) < RADIUS)
        return self.seen(), float(found), found, self.n_steps == 500, {}

    def seen(self):
        if not self.sees_cells:
            return self.agent.pos.copy()
        rates = self.cells.get_state().ravel()
        return rates + 0.05 * self.np_random.normal(size=len(rates))


def reward_rate(room, encoder, seed):
    field = OpenField(room, isinstance(encoder, PredictiveStates), seed)
    run = simulate(field, "prioritized_sweeping", encoder=encoder, n_steps=N_STEPS, seed=seed)
    return run.reward_rate["reward_rate"].iloc[-25:].mean()


@pytest.mark.parametrize("room", ROOMS)
def test_place_cells_of_ratinabox(room):
    """Beside bins of the true position of the size with which most is earned, over two seeds."""
    learned = np.mean([reward_rate(room, PredictiveStates(n_before=5000), k) for k in (1, 2)])
    true = [np.mean([reward_rate(room, TrueStates(n), k) for k in (1, 2)]) for n in (6, 8, 10)]
    assert learned > 0.8 * max(true) > 0
