"""In the pixels of MiniGrid's FourRooms, codes earn at least 80 % of what true states do.

Needs ``pip install minigrid``.
"""

import numpy as np
import pytest

from replay import simulate
from replay.encoders import Bins, KMeans, RandomProjections

gymnasium = pytest.importorskip("gymnasium")
pytestmark = pytest.mark.slow

N_STEPS, DOORS, GOAL = 40_000, 5, (16, 16)  # the seed of the doors; the goal's column and row
TILE = 2  # pixels: as few as show where the animal looks
N_STATES = 4 * 19 * 19


class FourRooms(gymnasium.Env):
    """The rooms keep their doors and their goal; an episode begins anywhere.

    The animal turns left or right or moves ahead. It sees the whole maze from above, 38 by 38 grey
    pixels, or the number of its true state: place and heading.
    """

    def __init__(self, sees_pixels):
        four_rooms = pytest.importorskip("minigrid.envs.fourrooms")
        self.rooms = four_rooms.FourRoomsEnv(agent_pos=(1, 1), goal_pos=GOAL)
        self.rooms.reset(seed=DOORS)
        grid = self.rooms.grid
        self.places = [(x, y) for x in range(19) for y in range(19) if grid.get(x, y) is None]
        self.sees_pixels, self.images = sees_pixels, {}
        self.action_space = gymnasium.spaces.Discrete(3)
        n_features = (19 * TILE) ** 2 if sees_pixels else 1
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (n_features,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.rooms.step_count = 0
        self.rooms.agent_pos = self.places[self.np_random.integers(len(self.places))]
        self.rooms.agent_dir = int(self.np_random.integers(4))
        return self.seen()

    def step(self, action):
        _, reward, terminated, truncated, _ = self.rooms.step(action)
        seen, info = self.seen()
        return seen, float(reward), terminated, truncated, info

    def seen(self):
        (x, y), heading = self.rooms.agent_pos, self.rooms.agent_dir
        state = int(4 * (19 * y + x) + heading)
        info = {"state": state, "position": 10 * np.array([x, 18 - y])}
        if not self.sees_pixels:
            return np.array([state]), info
        if state not in self.images:  # as the view of the whole maze, without what is lit
            frame = self.rooms.grid.render(8, (x, y), heading).mean(axis=2) / 255
            side = 8 // TILE
            self.images[state] = (
                frame.reshape(19 * TILE, side, 19 * TILE, side).mean(axis=(1, 3)).ravel()
            )
        return self.images[state], info


def reward_rate(sees_pixels, encoder, seed=1):
    run = simulate(
        FourRooms(sees_pixels), "prioritized_sweeping", encoder=encoder, n_steps=N_STEPS, seed=seed
    )
    return run.reward_rate["reward_rate"].iloc[-25:].mean()


def test_four_rooms_in_pixels():
    """One centre for each image is a state; random planes share codes among places, and fail."""
    known = reward_rate(False, Bins(N_STATES))
    assert reward_rate(True, KMeans(1100, 10_000, np.inf)) > 0.8 * known > 0
    assert reward_rate(True, RandomProjections(20)) < 0.5 * known
