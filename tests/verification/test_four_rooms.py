"""In the pixels of MiniGrid's FourRooms, codes earn at least 80 % of what true states do.

Needs ``pip install minigrid``.
"""

import numpy as np
import pytest

from replay import simulate
from replay.encoders import KMeans

gymnasium = pytest.importorskip("gymnasium")
pytestmark = pytest.mark.slow

N_STEPS, DOORS, GOAL = 20_000, 5, (16, 16)  # the seed of the doors; the goal's column and row
SEEDS = (11, 12, 13)
TILE = 2  # pixels: as few as show where the animal looks
N_STATES = 4 * 19 * 19


class Known:
    """The observation is the state."""

    n_before, refit_at, n_codes = 0, (), N_STATES

    def prepare(self, walk, rng, previous=None):
        return self

    def begin(self, observation):
        return int(observation[0])

    def encode(self, observation, action):
        return int(observation[0])


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
        if state not in self.images:  # the whole maze, without what is lit
            frame = self.rooms.grid.render(4 * TILE, (x, y), heading).mean(axis=2) / 255
            blocks = frame.reshape(19 * TILE, 4, 19 * TILE, 4)
            self.images[state] = blocks.mean(axis=(1, 3)).ravel()
        return self.images[state], info


def reward_rate(sees_pixels, encoder, seed):
    """Return the mean of the last quarter; what is untried comes first, and pauses are long."""
    params = {"initial_value": np.inf, "max_pops": 50}
    run = simulate(
        FourRooms(sees_pixels),
        "prioritized_sweeping",
        params,
        encoder=encoder,
        n_steps=N_STEPS,
        seed=seed,
        log="none",
    )
    return run.reward_rate["reward_rate"].iloc[-25:].mean()


def test_four_rooms_in_pixels():
    """With k-means each image has a centre of its own; rewards are means over three runs."""
    known, learned = (
        np.mean([reward_rate(sees_pixels, encoder, seed) for seed in SEEDS])
        for sees_pixels, encoder in ((False, Known()), (True, KMeans(1100, 10_000, np.inf)))
    )
    assert learned > 0.8 * known > 0
