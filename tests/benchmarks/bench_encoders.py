"""What the loop with an encoder costs beside its parts: run by hand.

``python tests/benchmarks/bench_encoders.py`` prints, for two environments, microseconds a step of
environment, encoder (its walk and fit included) and tabular learner, each alone with the same
steps, and of the loop that joins them; and how many observations a second k-means encodes. Medians
of repeats in turn, in processor seconds, in one thread.
"""

import math
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

from replay import feed, random_maze, simulate
from replay.encoders import KMeans
from replay.encoders.contract import Walk
from replay.encoders.vectors import Codebook
from replay.worlds.observations import place_code

N_REPEATS, N_STEPS, N_CODES = 3, 20_000, 300
LEARNERS = ("q_learning", "prioritized_sweeping")


def main() -> None:
    """Measure, and print the tables."""
    table = Table("environment", "learner", "environment", "encoder", "learner", "loop", "ratio")
    maze = random_maze(10, seed=1)
    places = {"n_distractors": 30, "max_episode_steps": 500}
    for name, env in (
        ("CartPole-v1", gymnasium.make("CartPole-v1")),
        ("place cells", place_code(maze, width=20.0, **places)),
    ):
        for learner in LEARNERS:
            parts = measure(env, learner)
            ratio = parts[-1] / sum(parts[:-1])
            table.add_row(name, learner, *(f"{part * 1e6:.1f}" for part in parts), f"{ratio:.2f}")
    Console(width=110).print(table)
    for n_features in (4, 94):
        found = encoded_per_second(n_features)
        print(f"k-means, 300 codes of {n_features} features: {found:,.0f} observations/s")


def measure(env: Any, learner: str) -> list[float]:
    """Return the seconds a step of environment, encoder, learner, and the loop."""
    encoder = KMeans(N_CODES, refit_factor=math.inf)
    rng = np.random.default_rng(1)
    run = simulate(env, learner, encoder=encoder, n_steps=N_STEPS, seed=1)
    steps, sizes = run.log.steps, {"n_states": 2 * N_CODES, "n_actions": int(env.action_space.n)}
    coder = encoder.prepare(walk_of(env, run, 1000), rng)
    every = walk_of(env, run, N_STEPS).observations

    def encode() -> None:
        encoder.prepare(walk_of(env, run, 1000), rng)
        for one in every:
            coder.encode(one, 0)

    times = np.array(
        [
            [
                timed(lambda: walk_of(env, run, N_STEPS)),
                timed(encode),
                timed(lambda: feed(learner, steps, **sizes)),
                timed(lambda: simulate(env, learner, encoder=encoder, n_steps=N_STEPS, seed=1)),
            ]
            for _ in range(N_REPEATS)
        ]
    )
    return [median(column) / N_STEPS for column in times.T]


def walk_of(env: Any, run: Any, n_steps: int) -> Walk:
    """Take the actions of a run in its environment, from its first seed on."""
    state = np.random.SeedSequence(1, spawn_key=(1,)).generate_state(1)[0]
    found, _ = env.reset(seed=int(state))
    rows = [found]
    for action in run.log.columns("steps")["action"][: n_steps - 1].tolist():
        found, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            found, _ = env.reset()
        rows.append(found)
    seen = np.array(rows, dtype=np.float64)
    return Walk(
        seen, np.arange(len(seen)) == 0, np.zeros(len(seen), np.int64), 2, np.zeros(len(seen))
    )


def encoded_per_second(n_features: int) -> float:
    """Return how many observations a second k-means encodes, one at a time."""
    seen = np.random.default_rng(1).normal(size=(20_000, n_features))
    coder: Codebook = KMeans(N_CODES, 1).prepare(
        Walk(
            seen, np.arange(len(seen)) == 0, np.zeros(len(seen), np.int64), 2, np.zeros(len(seen))
        ),
        np.random.default_rng(1),
    )
    return len(seen) / median(
        timed(lambda: [coder.begin(one) for one in seen]) for _ in range(N_REPEATS)
    )


def timed(work: Callable[[], object]) -> float:
    """Return the processor seconds of some work."""
    begin = process_time()
    work()
    return process_time() - begin


if __name__ == "__main__":
    main()
