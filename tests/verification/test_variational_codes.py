"""Variational codes: the published bound, and rewards of at least 80 % of what true states give.

Needs ``pip install torch``.
"""

import numpy as np
import pytest
from scipy import stats

from replay import random_maze, simulate
from replay.encoders import VariationalCodes
from replay.encoders.variational_codes import draw_weights, lower_bound
from replay.worlds.mdp import uniform_policy
from replay.worlds.observations import pixels, place_code

torch = pytest.importorskip("torch")
pytest.importorskip("gymnasium")
pytestmark = pytest.mark.slow

SEEDS = (721, 722, 723, 724)
N_STEPS = 10_000


def test_the_bound_is_the_published_one():
    """Observation by observation, with densities of the logistic distribution of scipy."""
    rng = np.random.default_rng(3)
    n, n_features, n_bits, n_actions = 7, 5, 3, 2
    own = {
        name: weight + 0.1 * rng.normal(size=weight.shape)
        for name, weight in draw_weights(n_features, n_bits, n_actions, rng).items()
    }
    now, before = rng.normal(size=(2, n, n_features))
    action, is_first = rng.integers(n_actions, size=n), rng.random(n) < 0.4
    noise = rng.logistic(size=(2 * n, n_bits))
    tensors = [now, before, np.eye(n_actions)[action], is_first, noise]
    found = lower_bound(
        {name: torch.from_numpy(each) for name, each in own.items()},
        *map(torch.from_numpy, tensors),
    )

    def network(name, last, values):
        hidden = values @ own[name] + own[f"{name}_offset"]
        return np.where(hidden > 0, hidden, 0) @ own[last] + own[f"{last}_offset"]

    for k in range(n):
        logit, logit_before = (network("seen", "bits", seen[k]) for seen in (now, before))
        relaxed = (logit + noise[k]) / (2 / 3)
        bits_before = 1 / (1 + np.exp(-(logit_before + noise[n + k]) / (2 / 3)))
        foretold = own["first_bits"]
        if not is_first[k]:
            foretold = network("acted", "next", [*bits_before, *(action[k] == np.arange(2))])
        again = network("told", "again", 1 / (1 + np.exp(-relaxed)))
        bound = stats.norm.logpdf(now[k], again, np.exp(own["log_noise"])).sum()
        bound += stats.logistic.logpdf(relaxed, 2 * foretold, 2).sum()
        bound -= stats.logistic.logpdf(relaxed, 1.5 * logit, 1.5).sum()
        assert float(found[k]) == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("world", ["place_cells", "pixels"])
def test_a_maze_is_learned_as_in_true_states(world):
    """By the mean over fresh mazes; purity: hardly any code is met in two places."""
    shares, purity = [], []
    for seed in SEEDS:
        maze = random_maze(10, seed=seed)
        width = float(np.linalg.norm(np.diff(maze.position, axis=0), axis=1).min())
        seen = {
            "place_cells": lambda maze, width: place_code(maze, width=width, n_distractors=30),
            "pixels": lambda maze, width: pixels(maze),
        }[world](maze, width)
        run = simulate(
            seen, "prioritized_sweeping", encoder=VariationalCodes(), n_steps=N_STEPS, seed=seed
        )
        true = simulate(maze, "prioritized_sweeping", n_steps=N_STEPS, seed=seed)
        blind = maze.reward_rate(uniform_policy(maze))
        rates = [each.reward_rate["reward_rate"].tail(len(each.reward_rate) // 4).mean()
                 for each in (run, true)]  # fmt: skip
        shares.append((rates[0] - blind) / (rates[1] - blind))
        last = run.places[run.places["n_refits"] == run.places["n_refits"].max()]
        purity.append(np.average(last["share"], weights=last["n_met"]))
    print(world, np.round(shares, 2), np.round(purity, 3))
    assert np.mean(shares) >= 0.8
    assert np.mean(purity) >= 0.95


def test_the_same_seed_gives_the_same_codes():
    env, encoder = pixels(random_maze(4, seed=1)), VariationalCodes(n_before=500, n_updates=50)
    runs = [
        simulate(env, "q_learning", encoder=encoder, n_steps=800, seed=seed).codes
        for seed in (1, 1, 2)
    ]
    assert runs[0].equals(runs[1])
    assert not runs[0].equals(runs[2])
