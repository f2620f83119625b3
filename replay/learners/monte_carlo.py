"""Every-visit Monte Carlo learning: action values are means of returns.

At the end of an episode its transitions are replayed backwards. A truncated episode has no
return, so nothing is learned from it.

References
----------
.. [1] Sutton & Barto (2018), Reinforcement Learning, 2nd edition, chapter 5.
.. [2] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Ints
from replay.learners import ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, BackupBuffer, record
from replay.parts.experiences import Episode, add_transition, begin_episode, episode, episode_words


class Params(NamedTuple):
    """Parameters of Monte Carlo learning.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    initial_value : float
        Action value of a pair without return; infinite: untried actions are preferred, and a pair
        tried in the unfinished episode has value 0.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    initial_value: ranges.InitialValue = 0.0
    act_before_update: bool = False


class Memory(NamedTuple):
    """The memory of Monte Carlo learning."""

    action_values: Floats  # (n_states, n_actions): Q, the means of the returns
    n_returns: Ints  # (n_states, n_actions): N, the number of returns in each mean
    episode: Episode  # The transitions of this episode


def description(params: Params) -> Description:
    return Description(
        "the episode; mean returns",
        phases=(EPISODE_END,),
        priority="backwards",
        source="Sutton & Barto 2018",
        label="Monte Carlo",
        acts_before_learning=params.act_before_update,
        needs_episodes=True,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    shape = (sizes.n_states, sizes.n_actions)
    return Memory(
        np.full(shape, params.initial_value),
        np.zeros(shape, dtype=np.int64),
        episode(sizes.n_steps),
    )


def most_backups(params: Any, memory: Any) -> int:
    return int(memory.episode.length[0] + 1)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q and N of each pair, and the episode."""
    return 2 * known.pairs + episode_words(memory.episode)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition."""
    s, a = transition.state, transition.action
    add_transition(memory.episode, s, a, transition.reward)
    if memory.action_values[s, a] == np.inf:
        memory.action_values[s, a] = 0.0


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """At an episode's end, include its returns in the means, the last transition first."""
    if pause.terminated:
        Q, N, G = memory.action_values, memory.n_returns, 0.0
        s_next, row = pause.state, -1
        for back in range(memory.episode.length[0]):
            step = memory.episode.steps[memory.episode.length[0] - 1 - back]
            s, a, r = step["state"], step["action"], step["reward"]
            G = params.discount * G + r
            before = Q[s, a]
            N[s, a] += 1
            Q[s, a] = before * (1.0 - 1.0 / N[s, a]) + G / N[s, a]
            row = record(log, EPISODE_END, s, a, s_next, before, Q[s, a], r, pop=back, cause=row)
            s_next = s
    if pause.phase == EPISODE_END:
        begin_episode(memory.episode)
