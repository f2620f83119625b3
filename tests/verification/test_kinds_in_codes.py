"""Kinds of replay in codes are those in places, whatever flickers or drifts beside the place.

The worlds are those of the guide to learned states, with the seeds of its table.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from analyses.sequences.events import kinds_in_places
from replay import from_ascii, random_maze, simulate
from replay.encoders import PredictiveStates, StateMerging
from replay.worlds.mdp import MDP
from replay.worlds.observations import aliased, cued_t_maze, pixels

gymnasium = pytest.importorskip("gymnasium")
from replay.worlds.gymnasium_bridge import ObservedEnv  # noqa: E402

pytestmark = pytest.mark.slow

SEEDS = (9101, 9102)
N_STEPS = 10_000
N_UNITS = 30
STAYS = 0.95  # of a unit, from one step to the next
BLOCKS = "S....\n.#.#.\n.....\n.#.#.\n....G"
TWO_ENDS = "G.......G\n....S....\n........."


def seen_with_units(mdp, units, place_of=lambda state: state, shown=lambda state: []):
    """Show noisy place cells, something else that depends on the state, and units that do not."""
    places = np.unique([place_of(state) for state in range(mdp.n_states)])
    centres = np.asarray(mdp.position)[places]
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)
    width, values = apart[apart > 0].min(), None

    def observe(state, rng):
        nonlocal values
        away = ((centres - centres[place_of(state)]) ** 2).sum(axis=1)
        cells = np.exp(-away / (2 * width**2)) + 0.1 * rng.normal(size=len(centres))
        fresh = rng.normal(size=N_UNITS) if units == "drift" else rng.integers(0, 2, N_UNITS)
        if values is None or units == "flicker":
            values = fresh
        elif units == "drift":
            values = STAYS * values + np.sqrt(1 - STAYS**2) * fresh
        else:
            values = np.where(rng.random(N_UNITS) < STAYS, values, fresh)
        return np.concatenate([cells, shown(state), values])

    n_features = len(centres) + len(shown(0)) + N_UNITS
    return ObservedEnv(mdp.to_gymnasium(None), observe, mdp.position, n_features)


def with_headings(maze):
    """Let the animal turn left or right, or go ahead; it is seen from above, with its nose."""
    n = 4 * maze.n_states
    after = np.repeat(np.arange(n)[:, None], 3, axis=1)
    reward = np.zeros((n, 3))
    for state in np.flatnonzero(~maze.terminal):
        for heading in range(4):
            (ahead,) = maze.successors(state, heading)
            turned = 4 * state + (heading - 1) % 4, 4 * state + (heading + 1) % 4
            after[4 * state + heading] = (4 * ahead + heading, *turned)
            reward[4 * state + heading, 0] = maze.terminal[ahead]
    ends = np.repeat(maze.terminal, 4)
    mdp = MDP.from_tables(
        after, reward, start=~ends / np.count_nonzero(~ends), terminal=np.flatnonzero(ends),
        action_names=("ahead", "left", "right"), position=np.repeat(maze.position, 4, axis=0),
    )  # fmt: skip
    at = np.asarray(maze.position)
    column, row = np.rint((at - at.min(axis=0)) / 10).astype(int).T
    noses = [(0, 1), (1, 2), (2, 1), (1, 0)]
    floor = np.zeros((3 * row.max() + 3, 3 * column.max() + 3))
    for x, y in zip(column, row, strict=True):
        floor[3 * y : 3 * y + 3, 3 * x : 3 * x + 3] = 0.5

    def observe(state, rng):
        image = floor.copy()
        x, y = 3 * column[state // 4], 3 * row[state // 4]
        up, along = noses[state % 4]
        image[y + 1, x + 1] = image[y + up, x + along] = 1.0
        return image.ravel() + 0.02 * rng.normal(size=image.size)

    return mdp, ObservedEnv(mdp.to_gymnasium(None), observe, mdp.position, floor.size)


def with_another_animal(maze):
    """Let a second animal, which is less bright, walk at random in the same pixels."""
    at = np.asarray(maze.position)
    column, row = np.rint((at - at.min(axis=0)) / 10).astype(int).T
    floor = np.zeros((row.max() + 1, column.max() + 1))
    floor[row, column] = 0.5
    other = int(np.flatnonzero(~maze.terminal)[0])

    def observe(state, rng):
        nonlocal other
        reached = [maze.successors(other, action)[0] for action in range(maze.n_actions)]
        other = rng.choice([place for place in reached if not maze.terminal[place]])
        image = floor.copy()
        image[row[other], column[other]] = 0.75
        image[row[state], column[state]] = 1.0
        return image.ravel() + 0.02 * rng.normal(size=image.size)

    return ObservedEnv(maze.to_gymnasium(None), observe, maze.position, floor.size)


def world_of(name, seed):
    """Return the true states, what is seen of them, and the encoder."""
    if name == "headings":
        mdp, env = with_headings(from_ascii(BLOCKS))
    elif name == "corridor":
        mdp = cued_t_maze(12)
        env = aliased(mdp, mdp.labels)
        return mdp, env, StateMerging(of=PredictiveStates(30, refit_factor=np.inf))
    else:
        mdp = random_maze(10, seed=seed)
        in_pixels = {"pixels": pixels, "another_animal": with_another_animal}
        env = in_pixels[name](mdp) if name in in_pixels else seen_with_units(mdp, name)
    return mdp, env, PredictiveStates(2 * mdp.n_states)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "name",
    ["flicker", "drift", "on_and_off", "headings", "corridor", "pixels", "another_animal"],
)
def test_kinds_in_codes_are_those_in_places(name, seed):
    mdp, env, encoder = world_of(name, seed)
    run = simulate(env, "prioritized_sweeping", encoder=encoder, n_steps=N_STEPS, seed=seed)
    true = simulate(mdp, "prioritized_sweeping", n_steps=N_STEPS, seed=seed)
    agreement = kinds_in_places(run)["agrees"].mean()
    n_events, n_true = (each.log.backups["event"].nunique() for each in (run, true))
    print(name, seed, round(agreement, 3), n_events, n_true)
    assert agreement >= 0.9
    assert n_events < 3 * n_true


def two_ends():
    """Make a room in which a light, which nothing changes but chance, says which end pays."""
    maze = from_ascii(TWO_ENDS)
    n, rows = maze.n_states, []
    right = np.asarray(maze.position)[:, 0] > np.mean(maze.position, axis=0)[0]
    for state in np.flatnonzero(~maze.terminal):
        for action in range(maze.n_actions):
            (after,) = maze.successors(state, action)
            for light in (0, 1):
                for next_light in (0, 1):
                    pays = maze.terminal[after] and right[after] == light
                    share = (1 + STAYS) / 2 if light == next_light else (1 - STAYS) / 2
                    rows.append((state + n * light, action, after + n * next_light, share, pays))
    ends = np.tile(maze.terminal, 2)
    mdp = MDP.from_transitions(
        *zip(*rows, strict=True), start_probability=~ends / np.count_nonzero(~ends),
        terminal=ends, action_names=maze.action_names, position=np.tile(maze.position, (2, 1)),
    )  # fmt: skip
    env = seen_with_units(mdp, "on_and_off", lambda state: state % n, lambda state: [state // n])
    return mdp, env


@dataclass(frozen=True)
class WithoutReward:
    """An encoder that is not given the rewards."""

    of: Any

    @property
    def n_before(self):
        return self.of.n_before

    @property
    def refit_at(self):
        return self.of.refit_at

    def prepare(self, walk, rng, previous=None):
        return self.of.prepare(walk._replace(reward=0 * walk.reward), rng, previous)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reward_tells_which_of_many_units_belongs_to_the_state(seed):
    """Of 31 units that turn on and off alike, one says which end pays: twice as many states."""
    mdp, env = two_ends()
    encoder = PredictiveStates(2 * mdp.n_states)
    agreement, n_codes = [], []
    for each in (encoder, WithoutReward(encoder)):
        run = simulate(env, "prioritized_sweeping", encoder=each, n_steps=N_STEPS, seed=seed)
        last = run.places[run.places["n_refits"] == run.places["n_refits"].max()]
        agreement.append(kinds_in_places(run)["agrees"].mean())
        n_codes.append(np.count_nonzero(last["n_met"] > 2))
    print(seed, np.round(agreement, 2), n_codes)
    assert agreement[0] >= 0.9 > 0.8 > agreement[1]
    assert abs(n_codes[0] - mdp.n_states) <= 2
    assert abs(2 * n_codes[1] - mdp.n_states) <= 2
