"""Worlds of RatInABox and MiniGrid: learned states earn at least 80 % of what true ones do.

Needs ``pip install ratinabox minigrid``.
"""

import warnings

import numpy as np
import pytest

from replay import simulate
from replay.encoders import Bins, KMeans, PredictiveStates

gymnasium = pytest.importorskip("gymnasium")
pytestmark = pytest.mark.slow

SIZE, GOAL, RADIUS = 1.0, np.array([0.8, 0.8]), 0.15  # metres
N_STEPS = 10_000


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
            self.agent = ratinabox.Agent(box, {"dt": 0.25, "save_history": False})
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
            self.agent.update(drift_velocity=velocity, drift_to_random_strength_ratio=10)
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


def four_rooms(sees_pixels):
    """Four rooms with one goal, from above; the animal begins anywhere, heading anywhere."""
    minigrid = pytest.importorskip("minigrid")
    from minigrid.envs import FourRoomsEnv
    from minigrid.wrappers import RGBImgObsWrapper

    assert minigrid.__version__

    class Told(gymnasium.Wrapper):
        """Tell the true state, and leave the three actions that move."""

        action_space = gymnasium.spaces.Discrete(3)

        def reset(self, **options):
            return self.told(*self.env.reset(**options))

        def step(self, action):
            seen, *rest, info = self.env.step(action)
            seen, info = self.told(seen, info)
            return seen, *rest, info

        def told(self, seen, info):
            world = self.env.unwrapped
            x, y = world.agent_pos
            state = 4 * (19 * y + x) + world.agent_dir
            told = {"state": int(state), "position": np.array([x, -y])}
            if not sees_pixels:
                return np.array([float(state)]), told
            return seen["image"][::2, ::2].mean(axis=2) / 255, told

    return Told(RGBImgObsWrapper(FourRoomsEnv(goal_pos=(15, 15), max_steps=200), tile_size=4))


def reward_rate(run):
    return run.reward_rate["reward_rate"].iloc[-25:].mean()


def test_place_cells_of_ratinabox():
    """What is compared is a grid of 10 by 10 bins over the true position."""
    known = simulate(
        OpenField(False), "prioritized_sweeping", encoder=Bins(10), n_steps=N_STEPS, seed=1
    )
    run = simulate(
        OpenField(True), "prioritized_sweeping", encoder=PredictiveStates(), n_steps=N_STEPS, seed=1
    )
    assert reward_rate(run) > 0.8 * reward_rate(known) > 0


def test_four_rooms_of_minigrid():
    """True states are place and heading."""
    known, run = (
        simulate(
            four_rooms(sees_pixels), "prioritized_sweeping", encoder=encoder, n_steps=3 * N_STEPS,
            seed=1,
        )
        for sees_pixels, encoder in ((False, KMeans(1500, 1)), (True, PredictiveStates(1500)))
    )  # fmt: skip
    assert reward_rate(run) > 0.8 * reward_rate(known) > 0
