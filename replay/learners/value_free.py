"""Hooks that learners without values share: they act at random and replay places."""

from typing import Any

from numpy.random import Generator

from replay.learners.contract import Known
from replay.parts.policies import draw_uniform


def act(params: Any, memory: Any, state: int, rng: Generator) -> int:
    """Draw any action with the same probability."""
    return draw_uniform(memory.action_values, rng)


def most_backups(params: Any, memory: Any) -> int:
    """Bound the reactivations of the next step, which has two pauses at most."""
    return int(2 * params.n_replays)


def n_words(params: Any, memory: Any, known: Known) -> int:
    """Count the numbers held: a graph and a matrix of its places, and three numbers per place."""
    n = int(memory.known.n[0])
    return 2 * n * n + 3 * n
