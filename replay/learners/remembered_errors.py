"""Replay biased by remembered prediction errors: the most surprising experiences are replayed most.

Q-learning that remembers the latest try of each pair, with the size of its prediction error. In a
pause it draws `n_replays` of these experiences and learns from them again:

``proportional``
    with a probability proportional to the remembered error;
``prioritized``
    the largest remembered error first, each experience once;
``reward``
    with a probability proportional to the size of the reward;
``random``
    with equal probability.

The first two are the paper's RPE-proportional and RPE-prioritised replay. Of its controls, one is
`random`, and the other is

``expected_reward``
    with a probability proportional to the action value, where it is positive.

The remembered error is that of the original experience; or, as in the authors' code [2]_, each
replay overwrites it with the error at that replay (`renew`), so that what was learned is not
replayed again. The sources are the abstract of the paper, the caption of its figure 5 and the
complete code; the full text was not read. In the code a rat goes from one of three arms to another;
1 to 100 samples are replayed between sessions; the error is the mean over all tries of a pair,
weighted by recency, which most fits make so strong (a factor below 0.0005) that only the latest
tries count; and a recent try of the chosen pair is replayed. Some choices are ours: one memory per
pair, its latest try; replay at the end of every episode too; and values that begin at 0, not at 0.7
for all moves but returns, and are not limited to 1.

References
----------
.. [1] Roscow et al. (2025), Post-learning replay of hippocampal-striatal activity is biased by
   reward-prediction signals. https://doi.org/10.1038/s41467-025-65354-2
.. [2] Roscow et al. (2025), Code. https://github.com/EmmaRoscow/QlearningReplay
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats
from replay.learners import q_learning, ranges
from replay.learners.contract import Choice, Description, Known, Pause, Sizes, Transition
from replay.log.backups import ONLINE, BackupBuffer, record
from replay.parts import experiences
from replay.parts.experiences import Experiences
from replay.parts.pauses import END_AND_REST, is_due, most_pauses, phases_of
from replay.parts.policies import draw_weighted

_BIASES = ("proportional", "prioritized", "reward", "random", "expected_reward")
"""How the experience to replay is chosen."""
_PROPORTIONAL, _PRIORITIZED, _REWARD, _RANDOM, _EXPECTED_REWARD = range(5)


class Params(NamedTuple):
    """Parameters of replay biased by remembered prediction errors.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    n_replays : int
        Number of experiences replayed per pause.
    bias : {"proportional", "prioritized", "reward", "random", "expected_reward"}
        How they are chosen.
    renew : bool
        Whether the error at a replay replaces the remembered one.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    learning_rate: ranges.Share = 0.1
    n_replays: ranges.Count = 20
    bias: Annotated[int, Choice(_BIASES)] = _PROPORTIONAL
    renew: bool = False
    initial_value: ranges.InitialValue = 0.0
    replay_at: ranges.Moment = END_AND_REST


class Memory(NamedTuple):
    """The memory of this learner."""

    action_values: Floats  # (n_states, n_actions): Q
    # The latest outcome of each pair that was tried; its strength is the size of its error
    experiences: Experiences
    # (n_states * n_actions,): weights to which the probabilities of experiences are
    # proportional
    weights: Floats


def description(params: Params) -> Description:
    priorities = {
        _PROPORTIONAL: "remembered error",
        _PRIORITIZED: "largest remembered error",
        _REWARD: "remembered reward",
        _RANDOM: "at random",
        _EXPECTED_REWARD: "expected reward",
    }
    return Description(
        "the last try of each pair, and its error",
        phases=phases_of(params.replay_at),
        priority=priorities[params.bias],
        source="Roscow et al. 2025",
        label="Remembered errors",
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states, n_actions = sizes.n_states, sizes.n_actions
    return Memory(
        np.full((n_states, n_actions), params.initial_value),
        experiences.experiences_of(n_states, n_actions),
        np.zeros(n_states * n_actions),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return 1 + params.n_replays * most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q of each pair, and its experience."""
    return known.pairs + experiences.experience_words(known.pairs)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Make the backup of the transition, and remember it and its error."""
    Q, s, a, r = memory.action_values, transition.state, transition.action, transition.reward
    s_next, terminated = transition.next_state, transition.terminated
    target = q_learning.target(params, Q, r, s_next, terminated)
    experience = memory.experiences.rows[experiences.experience_at(memory.experiences, s, a)]
    experience["next_state"] = s_next
    experience["reward"] = r
    experience["terminated"] = terminated
    experience["strength"] = abs(target - Q[s, a]) if Q[s, a] < np.inf else abs(target)
    before = q_learning.back_up(params, Q, s, a, r, s_next, terminated)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)


def _expected(memory: Memory, i: int) -> float:
    """Return the value of an experience; 0 if it is negative or unknown."""
    experience = memory.experiences.rows[i]
    value: float = memory.action_values[experience["state"], experience["action"]]
    return value if 0.0 < value < np.inf else 0.0


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Learn again from remembered experiences, above all from surprising ones."""
    if not is_due(params.replay_at, pause.phase):
        return
    Q, rows, weights = memory.action_values, memory.experiences.rows, memory.weights
    n = memory.experiences.n_known[0]
    for i in range(n):
        if params.bias == _RANDOM:
            weights[i] = 1.0
        elif params.bias == _REWARD:
            weights[i] = abs(rows[i]["reward"])
        elif params.bias == _EXPECTED_REWARD:
            weights[i] = _expected(memory, i)
        else:
            weights[i] = rows[i]["strength"]
    for pop in range(params.n_replays):
        place = -1
        if params.bias == _PRIORITIZED:
            for i in range(n):
                if weights[i] > 0.0 and (place < 0 or weights[i] > weights[place]):
                    place = i
        else:
            place = draw_weighted(weights, n, rng)
        if place < 0:
            break
        experience, weight = rows[place], weights[place]
        s, a, s_next = experience["state"], experience["action"], experience["next_state"]
        r, terminated = experience["reward"], experience["terminated"]
        error = abs(q_learning.target(params, Q, r, s_next, terminated) - Q[s, a])
        before = q_learning.back_up(params, Q, s, a, r, s_next, terminated)
        record(log, pause.phase, s, a, s_next, before, Q[s, a], r, weight, pop)
        if params.renew:
            experience["strength"] = error
        if params.bias == _EXPECTED_REWARD:
            weights[place] = _expected(memory, place)
        elif params.bias == _PRIORITIZED or params.bias == _PROPORTIONAL:
            if params.renew:
                weights[place] = error
            elif params.bias == _PRIORITIZED:
                weights[place] = 0.0
