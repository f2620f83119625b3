"""A learner written from the text of the contract alone, with every optional function.

Sarsa, which replays the latest transition of each pair, the most recent pair first, at the ends and
starts of episodes and at rest. A backup that continues the previous one names it as its cause.
"""

from typing import Annotated, NamedTuple

import numpy as np

from replay.learners.contract import Between, Choice, Description
from replay.learners.ranges import Count, InitialValue, Share
from replay.log.backups import EPISODE_END, ONLINE, REST, START, STEP, record


class Params(NamedTuple):
    discount: Share = 0.95
    epsilon: Share = 0.2
    learning_rate: Annotated[float, Between(0.01, 1.0)] = 0.3
    n_replays: Count = 4
    order: Annotated[int, Choice(("recent", "random"))] = 0
    initial_value: InitialValue = 0.0


class Memory(NamedTuple):
    action_values: np.ndarray
    reward: np.ndarray  # of the latest try of each pair
    next_state: np.ndarray  # and where it led; -1: not tried, or the episode ended there
    place: np.ndarray  # where each pair is in the list; -1 if it was never tried
    tried: np.ndarray  # the pairs, the most recent last
    n_tried: np.ndarray


def description(params):
    """Describe it."""
    order = "the latest pair" if params.order == 0 else "any pair"
    return Description(
        "the last try of each pair",
        phases=(EPISODE_END, START, REST),
        priority=order,
        source="",
        evaluates=True,
        learns_on_policy=True,
    )


def n_words(params, memory, known):
    """Count Q, reward, next state, place, and the list."""
    return 5 * known.pairs


def init(params, sizes):
    """Make the memory."""
    shape, n_pairs = (sizes.n_states, sizes.n_actions), sizes.n_states * sizes.n_actions
    return Memory(
        np.full(shape, params.initial_value),
        np.zeros(shape),
        np.full(shape, -1),
        np.full(n_pairs, -1),
        np.zeros(n_pairs, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def most_backups(params, memory):
    """One online, and the replay of two pauses."""
    return 1 + 2 * params.n_replays


def _move_towards(params, memory, s, a, target):
    Q = memory.action_values
    before = Q[s, a]
    Q[s, a] = target if before == np.inf else before + params.learning_rate * (target - before)
    return before


def _best(memory, s):
    best = -np.inf
    for a in range(memory.action_values.shape[1]):
        if best < memory.action_values[s, a] < np.inf:
            best = memory.action_values[s, a]
    return best if best > -np.inf else 0.0


def _put_last(memory, pair):
    place = memory.place[pair]
    if place < 0:
        memory.n_tried[0] += 1
        place = memory.n_tried[0] - 1
    for i in range(place, memory.n_tried[0] - 1):
        memory.tried[i] = memory.tried[i + 1]
        memory.place[memory.tried[i]] = i
    memory.tried[memory.n_tried[0] - 1] = pair
    memory.place[pair] = memory.n_tried[0] - 1


def learn(params, memory, transition, log):
    """Make the backup of Sarsa, and remember the transition."""
    Q = memory.action_values
    s, a, s_next = transition.state, transition.action, transition.next_state
    target = transition.reward
    if transition.truncated:  # the next action belongs to another episode
        target += params.discount * _best(memory, s_next)
    elif not transition.terminated:
        future = Q[s_next, transition.next_action]
        target += params.discount * (0.0 if future == np.inf else future)
    before = _move_towards(params, memory, s, a, target)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], transition.reward)
    memory.reward[s, a] = transition.reward
    memory.next_state[s, a] = -1 - s_next if transition.terminated else s_next
    _put_last(memory, s * Q.shape[1] + a)


def replay(params, memory, pause, rng, log):
    """Back up remembered transitions."""
    if pause.phase == STEP:
        return
    Q, n_actions = memory.action_values, memory.action_values.shape[1]
    cause, last_state = -1, -1
    for i in range(min(params.n_replays, memory.n_tried[0])):
        place = memory.n_tried[0] - 1 - i
        if params.order == 1:
            place = int(rng.random() * memory.n_tried[0])
        s, a = memory.tried[place] // n_actions, memory.tried[place] % n_actions
        s_next, target = memory.next_state[s, a], memory.reward[s, a]
        if s_next >= 0:
            target += params.discount * _best(memory, s_next)
        else:
            s_next = -1 - s_next
        before = _move_towards(params, memory, s, a, target)
        if s_next != last_state:
            cause = -1
        cause = record(
            log, pause.phase, s, a, s_next, before, Q[s, a], memory.reward[s, a],
            priority=float(place), pop=i, cause=cause, gain=abs(Q[s, a] - before), need=1.0,
        )  # fmt: skip
        last_state = s
