"""Control by retrieved episodes: action values are means of returns remembered one by one.

Nothing is learned but the record of experience itself. Whenever the agent enters a state, the
latest `n_retrieved` occasions on which each action was taken there are retrieved, and the mean of
the returns that followed is the action's value: up to `n` rewards along what happened then, and the
value of the state reached at last unless the episode ended there. With one reward that is planning
from samples of a model, with many it is Monte Carlo learning at the moment of choice.

The paper leaves open which episodes are retrieved, how many, and how far each is followed. Here
similarity is being the same pair of state and action, the latest come first, and what was
experienced before the last `n_remembered` steps is forgotten. The value of a pair of which nothing
is remembered any more stays as it was. A retrieved episode is logged forwards, as n rows of one
pop: the first is the backup, the others are what its return was made of.

References
----------
.. [1] Gershman & Daw (2017), Reinforcement learning and episodic memory in humans and animals: an
   integrative framework. https://doi.org/10.1146/annurev-psych-122414-033625
"""

from typing import NamedTuple

import numpy as np

from replay.learners.contract import Description, PositiveCount, Share, Value
from replay.log.backups import EPISODE_END, REST, START, STEP, record
from replay.parts.policies import best_tried

__all__ = ["Memory", "Params", "description", "init", "learn", "most_backups", "n_words"]
__all__ += ["replay"]

_STEP = np.dtype(
    [
        ("reward", np.float64),
        ("earlier", np.int64),
        ("state", np.int32),
        ("next_state", np.int32),
        ("action", np.int32),
        ("terminated", np.int8),
        ("truncated", np.int8),
    ],
    align=True,
)


class Params(NamedTuple):
    """Parameters of control by retrieved episodes.

    Attributes
    ----------
    discount : float
        Weight of the future, a step.
    epsilon : float
        Probability of a uniformly random action.
    n : int
        Rewards in a return, at most.
    n_retrieved : int
        Episodes retrieved for each action, at most.
    n_remembered : int
        How many of the last steps are remembered.
    initial_value : float
        Action value of an untried pair; infinite: untried actions are preferred.
    """

    discount: Share = 0.99
    epsilon: Share = 0.1
    n: PositiveCount = 5
    n_retrieved: PositiveCount = 5
    n_remembered: PositiveCount = 10_000
    initial_value: Value = 0.0


class Memory(NamedTuple):
    """What control by retrieved episodes keeps.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q, as of the last time that the state was entered.
    steps : structured ndarray, shape (n_remembered,)
        The last steps, in a ring; ``earlier`` is when the same pair was tried before, -1 if never.
    latest : ndarray of int64, shape (n_states, n_actions)
        When each pair was tried last; -1 if never.
    n_steps : ndarray of int64, shape (1,)
        Steps experienced.
    """

    action_values: np.ndarray
    steps: np.ndarray
    latest: np.ndarray
    n_steps: np.ndarray


def description(params: Params) -> Description:
    """Say what is stored, and what is replayed when and why."""
    priority = "the latest tries of each action"
    return Description("the last steps", (STEP, START, REST), priority, "Gershman & Daw 2017")


def init(params, sizes):
    """Make the memory of a learner that has experienced nothing."""
    shape = (sizes.n_states, sizes.n_actions)
    return Memory(
        np.full(shape, params.initial_value),
        np.empty(params.n_remembered, dtype=_STEP),
        np.full(shape, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def most_backups(params, memory):
    """Bound the backups of the next step."""
    return memory.action_values.shape[1] * params.n_retrieved * params.n


def n_words(params, memory, known):
    """Count the numbers held: Q and the latest time of each pair, and seven a remembered step."""
    n_steps = min(memory.n_steps[0], params.n_remembered)
    return 2 * known.pairs + len(_STEP.names) * n_steps


def learn(params, memory, transition, log):
    """Remember the step, in place of the oldest."""
    s, a = transition.state, transition.action
    now = memory.n_steps[0]
    step = memory.steps[now % len(memory.steps)]
    step["state"] = s
    step["action"] = a
    step["reward"] = transition.reward
    step["next_state"] = transition.next_state
    step["terminated"] = transition.terminated
    step["truncated"] = transition.truncated
    step["earlier"] = memory.latest[s, a]
    memory.latest[s, a] = now
    memory.n_steps[0] = now + 1


def _remembered_return(params, memory, time):
    """Follow what happened from a step on; return its return and the number of its steps."""
    total = 0.0
    weight = 1.0
    n_followed = 0
    for after in range(min(params.n, memory.n_steps[0] - time)):
        step = memory.steps[(time + after) % len(memory.steps)]
        total += weight * step["reward"]
        weight *= params.discount
        n_followed += 1
        if step["terminated"]:
            return total, n_followed
        if step["truncated"]:
            break
    return total + weight * best_tried(memory.action_values, step["next_state"]), n_followed


def _log_episode(memory, time, n_followed, before, phase, pop, log):
    Q = memory.action_values
    cause = -1
    for after in range(n_followed):
        step = memory.steps[(time + after) % len(memory.steps)]
        s, a = step["state"], step["action"]
        if after > 0:
            before = Q[s, a]
        cause = record(
            log, phase, s, a, step["next_state"], before, Q[s, a], step["reward"],
            pop=pop, cause=cause,
        )  # fmt: skip


def replay(params, memory, pause, rng, log):
    """Retrieve what followed on each action in the state where the agent is."""
    if pause.phase == EPISODE_END:
        return
    Q = memory.action_values
    s = pause.state
    oldest = max(memory.n_steps[0] - len(memory.steps), 0)
    pop = 0
    for a in range(Q.shape[1]):
        time = memory.latest[s, a]
        n_averaged = 0
        while time >= oldest and n_averaged < params.n_retrieved:
            G, n_followed = _remembered_return(params, memory, time)
            before = Q[s, a]
            n_averaged += 1
            Q[s, a] = G if n_averaged == 1 else before + (G - before) / n_averaged
            if log is not None:
                _log_episode(memory, time, n_followed, before, pause.phase, pop, log)
            time = memory.steps[time % len(memory.steps)]["earlier"]
            pop += 1
