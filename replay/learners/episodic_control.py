"""Episodic control: action values are the best returns obtained so far.

At the end of an episode its transitions are replayed backwards, and each action value is raised to
the return that followed, if that is larger. A truncated episode has no return, so nothing is
learned from it. Where states are codes of an encoder with distances, an action without a return may
have the mean value of the nearest codes that have one [2]_.

References
----------
.. [1] Lengyel & Dayan (2008), Hippocampal contributions to control: the third way.
   Advances in Neural Information Processing Systems 20, 889-896.
.. [2] Blundell et al. (2016), Model-free episodic control. https://arxiv.org/abs/1606.04460
.. [3] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Int32s
from replay.jit import inlined
from replay.learners import ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.learners.monte_carlo import most_backups
from replay.log.backups import EPISODE_END, BackupBuffer, record
from replay.parts.experiences import Episode, add_transition, begin_episode, episode, episode_words
from replay.parts.policies import epsilon_greedy

__all__ = ["Memory", "Params", "act", "average_neighbours", "description", "init", "learn"]
__all__ += ["most_backups", "n_words", "replay"]


class Params(NamedTuple):
    """Parameters of episodic control.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    initial_value : float
        Action value of a pair without return; infinite: untried actions are preferred, and a pair
        tried in the unfinished episode is avoided.
    n_nearest : int
        How many codes are averaged (Blundell et al.: 11) where a pair has no return; 0: none.
    """

    # Two learners whose Params have the same types in the same order are slow to call in numba.
    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    act_before_update: bool = False
    initial_value: ranges.InitialValue = 0.0
    n_nearest: ranges.Count = 0


class Memory(NamedTuple):
    """The memory of episodic control."""

    action_values: Floats  # (n_states, n_actions): Q
    # (n_states, n_actions): the best return of each pair so far; minus infinity if there was
    # none
    best_returns: Floats
    episode: Episode  # The transitions of this episode
    # (n_codes, n_codes): the codes, from the nearest to the farthest from each; none if none
    # are averaged
    neighbours: Int32s


def description(params: Params) -> Description:
    return Description(
        "the episode; best returns",
        phases=(EPISODE_END,),
        priority="backwards",
        source="Lengyel & Dayan 2008",
        label="Episodic control",
        acts_before_learning=params.act_before_update,
        needs_episodes=True,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    shape = (sizes.n_states, sizes.n_actions)
    near = np.empty((0, 0), dtype=np.int32)
    if params.n_nearest > 0:
        if sizes.neighbours is None:
            raise ValueError(
                "n_nearest needs distances between states: give simulate an encoder with centres, "
                "such as replay.encoders.KMeans(300), or n_nearest=0."
            )
        near = sizes.neighbours
    Q, best_returns = np.full(shape, params.initial_value), np.full(shape, -np.inf)
    return Memory(Q, best_returns, episode(sizes.n_steps), near)


def act(params: Params, memory: Memory, state: int, rng: Generator) -> int:
    """Draw an action epsilon-greedily; one without a return has the mean of its neighbours."""
    Q, near = memory.action_values, memory.neighbours
    average_neighbours(Q, memory.best_returns, near, params.n_nearest, state)
    return epsilon_greedy(Q, state, params.epsilon, rng)


@inlined
def average_neighbours(
    values: Floats, returns: Floats, neighbours: Int32s, n_nearest: int, state: int
) -> None:
    """Give each action without a return (-inf) the mean of the nearest codes that have one [2]_."""
    if n_nearest == 0:
        return
    for a in range(values.shape[1]):
        total, n = 0.0, 0
        if returns[state, a] == -np.inf:
            for code in neighbours[state]:
                if n < n_nearest and returns[code, a] > -np.inf:
                    total += returns[code, a]
                    n += 1
        if n > 0:
            values[state, a] = total / n


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q, which is the best return, of each pair, and the episode."""
    return known.pairs + episode_words(memory.episode)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition."""
    s, a = transition.state, transition.action
    add_transition(memory.episode, s, a, transition.reward)
    if memory.action_values[s, a] == np.inf:
        memory.action_values[s, a] = -np.inf


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """At an episode's end, keep those returns that are the best, the last transition first."""
    if pause.terminated:
        Q, G = memory.action_values, 0.0
        s_next, row = pause.state, -1
        for back in range(memory.episode.length[0]):
            step = memory.episode.steps[memory.episode.length[0] - 1 - back]
            s, a, r = step["state"], step["action"], step["reward"]
            G = params.discount * G + r
            before = Q[s, a]
            after = max(G, memory.best_returns[s, a])
            memory.best_returns[s, a] = after
            Q[s, a] = after
            row = record(log, EPISODE_END, s, a, s_next, before, after, r, pop=back, cause=row)
            s_next = s
    if pause.phase == EPISODE_END:
        begin_episode(memory.episode)
