"""A user's learner: Dyna-Q that replays its memory in a cycle."""

from typing import NamedTuple

import numpy as np

from replay.log.backups import ONLINE, START, record


class Params(NamedTuple):
    discount: float = 0.99
    epsilon: float = 0.1
    learning_rate: float = 0.5
    n_replays: int = 3


class Memory(NamedTuple):
    action_values: np.ndarray
    latest: np.ndarray  # the latest outcome of each pair, in the order they were first tried
    place: np.ndarray  # where each pair is in that list; -1 if it was never tried
    counter: np.ndarray  # the length of that list; what is replayed next


def init(params, sizes):
    shape = (sizes.n_states, sizes.n_actions)
    outcome = [("s", "i4"), ("a", "i4"), ("r", "f8"), ("s_next", "i4"), ("terminated", "?")]
    latest = np.zeros(sizes.n_states * sizes.n_actions, dtype=outcome)
    return Memory(np.zeros(shape), latest, np.full(shape, -1), np.zeros(2, dtype=np.int64))


def most_backups(params, memory):
    return 1 + params.n_replays


def _back_up(params, memory, i, phase, log):
    Q, outcome = memory.action_values, memory.latest[i]
    s, a, r, s_next = outcome["s"], outcome["a"], outcome["r"], outcome["s_next"]
    target = r if outcome["terminated"] else r + params.discount * Q[s_next].max()
    before = Q[s, a]
    Q[s, a] += params.learning_rate * (target - before)
    record(log, phase, s, a, s_next, before, Q[s, a], r)


def learn(params, memory, transition, log):
    s, a = transition.state, transition.action
    if memory.place[s, a] < 0:
        memory.place[s, a] = memory.counter[0]
        memory.counter[0] += 1
    outcome = memory.latest[memory.place[s, a]]
    outcome["s"], outcome["a"], outcome["r"] = s, a, transition.reward
    outcome["s_next"], outcome["terminated"] = transition.next_state, transition.terminated
    _back_up(params, memory, memory.place[s, a], ONLINE, log)


def replay(params, memory, pause, rng, log):
    if pause.phase != START:
        for _ in range(params.n_replays):
            _back_up(params, memory, memory.counter[1], pause.phase, log)
            memory.counter[1] = (memory.counter[1] + 1) % memory.counter[0]
