"""Control by retrieved episodes: action values are means of returns remembered one by one.

Only the record of experience itself is learned. Whenever the agent enters a state, it retrieves the
latest `n_retrieved` occasions on which each action was taken there, and the mean of the returns
that followed is the value of the action: up to `n` rewards along what happened then, and the value
of the state reached at last unless the episode ended there. With one reward this is planning from
samples of a model; with many it is Monte Carlo learning at the moment of choice.

The paper, a review without simulations, has no published settings: it leaves open which episodes
are retrieved, how many, and how far each is followed. Here episodes are similar if they contain the
same pair of state and action, the latest come first, and everything before the last `n_remembered`
steps is forgotten. The value of a pair without remembered episodes stays as it was. A retrieved
episode is logged forwards, as n rows of one pop: the first is the backup, the others are the steps
of its return.

References
----------
.. [1] Gershman & Daw (2017), Reinforcement learning and episodic memory in humans and animals: an
   integrative framework. https://doi.org/10.1146/annurev-psych-122414-033625
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Ints
from replay.learners import ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, REST, START, STEP, BackupBuffer, keeps, record
from replay.parts import experiences, pauses
from replay.parts.experiences import RecentSteps
from replay.parts.pauses import Earnings
from replay.parts.policies import best_tried


class Params(NamedTuple):
    """Parameters of control by retrieved episodes.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    n : int
        Largest number of rewards in a return.
    n_retrieved : int
        Largest number of episodes retrieved for each action.
    n_remembered : int
        Number of steps that are remembered.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    n: ranges.PositiveCount = 5
    n_retrieved: ranges.PositiveCount = 5
    n_remembered: ranges.PositiveCount = 10_000
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    initial_value: ranges.InitialValue = 0.0


class Memory(NamedTuple):
    """The memory of control by retrieved episodes."""

    # (n_states, n_actions): Q, as of the last time each state was entered
    action_values: Floats
    steps: RecentSteps  # The last steps
    # (n_remembered,): when the pair of each step was tried before; -1 if never
    earlier: Ints
    latest: Ints  # (n_states, n_actions): when each pair was last tried; -1 if never
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


def description(params: Params) -> Description:
    return Description(
        "the last steps",
        phases=(STEP, START, REST),
        priority="the latest tries of each action",
        source="Gershman & Daw 2017",
        label="Retrieved episodes",
        goes_forward=True,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    shape = (sizes.n_states, sizes.n_actions)
    return Memory(
        action_values=np.full(shape, params.initial_value),
        steps=experiences.recent_steps(params.n_remembered),
        earlier=np.full(params.n_remembered, -1, dtype=np.int64),
        latest=np.full(shape, -1, dtype=np.int64),
        earnings=pauses.earnings(),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return int(memory.action_values.shape[1] * params.n_retrieved * params.n)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q and the latest time of each pair, seven per remembered step."""
    n_steps = min(int(memory.steps.n_seen[0]), params.n_remembered)
    held = experiences.step_words(memory.steps) + n_steps + pauses.earnings_words(params)
    return 2 * known.pairs + held


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the step in place of the oldest."""
    s, a, now = transition.state, transition.action, memory.steps.n_seen[0]
    pauses.note_experience(params, memory.earnings, memory.action_values, transition)
    memory.earlier[experiences.add_step(memory.steps, transition)] = memory.latest[s, a]
    memory.latest[s, a] = now


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Retrieve what followed each action in the state of the agent."""
    if pause.phase == EPISODE_END:
        return
    Q, s, n_kept = memory.action_values, pause.state, len(memory.earlier)
    rows, n_seen = memory.steps.rows, memory.steps.n_seen[0]
    oldest = max(n_seen - n_kept, 0)
    pop = 0
    for a in range(Q.shape[1]):
        time = memory.latest[s, a]
        n_averaged = 0
        while time >= oldest and n_averaged < params.n_retrieved:
            if not pauses.goes_on(
                params, memory.earnings, pauses.latest_change(memory.earnings), rng
            ):
                return
            most = min(params.n, n_seen - time)  # an episode that still runs has no more steps
            G, weight, n_followed, last = experiences.discounted_return(
                memory.steps, time % n_kept, most, params.discount
            )
            if not rows[last]["terminated"]:
                G += weight * best_tried(Q, rows[last]["next_state"])
            before = Q[s, a]
            n_averaged += 1
            Q[s, a] = G if n_averaged == 1 else before + (G - before) / n_averaged
            pauses.note_change(params, memory.earnings, before, Q[s, a])
            cause = -1
            for k in range(n_followed if keeps(log, pause.phase) else 0):
                step = rows[(time + k) % n_kept]  # the first was backed up, the others led on
                u, b, u_next, r = step["state"], step["action"], step["next_state"], step["reward"]
                old = before if k == 0 else Q[u, b]
                cause = record(
                    log, pause.phase, u, b, u_next, old, Q[u, b], r, pop=pop, cause=cause
                )
            time = memory.earlier[time % n_kept]
            pop += 1
