"""Multitask preplay: what was experienced is the beginning of paths to goals that were not pursued.

While an agent pursues one goal it comes by others. Offline it replays what it did, and from places
of that experience *preplays*: it imagines pursuing another goal, and learns from that what it would
have to do. Later it knows the way to a goal that it never pursued [1]_.

What is learned is Q_g(s, a), the discounted chance to reach goal g. Goals are places at which there
was ever a positive reward, or an episode ended. Each is worth the reward that it had last, or
nothing if that was negative, so that the value of an action is the largest worth_g Q_g(s, a) over
all goals, and a change of reward needs no learning. The goal pursued in a state is the one with
that value. Experience updates Q_g of all goals.

A pause holds simulations of up to `length` moves. Each begins in the state of a pair that was
tried, all alike, or, at a start, where the agent is. It follows an epsilon-greedy policy through
the last outcome of each pair, until it comes to its goal or an end. Its goal is another than the
pursued one with probability `preplay_share`. Each move is a one-step backup of Q_g, whose target is
1 where it enters g, 0 at other ends, and discount max_b Q_g(s', b) elsewhere.

The log has worth_g Q_g. The original is a network that generalises over tasks and pictures and
learns from returns over several steps; its goals are objects in view, and those near are preplayed.
Here they are places, and all alike. Simulations that begin at the agent are ours, and so are random
moves in all of them. Rewards and costs on the way to a goal are not counted. If there are more than
`n_goals` goals, those worth most are kept.

References
----------
.. [1] Carvalho et al. (2025), Preemptive solving of future problems: multitask preplay in humans
   and machines. https://arxiv.org/abs/2507.05561
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Int32s, Ints
from replay.learners import ranges
from replay.learners.contract import Between, Description, Known, Pause, Sizes, Transition
from replay.log.backups import ONLINE, START, BackupBuffer, record
from replay.parts import pauses
from replay.parts.experiences import Experiences, experience_at, experience_words, experiences_of
from replay.parts.pauses import Earnings
from replay.parts.policies import best_value, draw_weighted


class Params(NamedTuple):
    """Parameters of multitask preplay.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    epsilon : float
        Probability of a uniformly random action, also of an imagined one.
    n_replays : int
        Number of backups per pause.
    length : int
        Largest number of moves of a simulation.
    preplay_share : float
        Probability that a simulation pursues another goal than the agent does.
    n_goals : int
        Largest number of goals that are kept.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    learning_rate: ranges.Share = 0.9
    n_replays: ranges.Count = 20
    length: Annotated[int, Between(1, 10_000)] = 15
    preplay_share: ranges.Share = 0.667
    n_goals: Annotated[int, Between(1, 1000)] = 10
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    replay_at: ranges.Moment = pauses.IN_PAUSES


class Memory(NamedTuple):
    """The memory of multitask preplay."""

    action_values: Floats  # (n_states, n_actions): the largest worth_g Q_g
    goal_values: Floats  # (n_goals, n_states, n_actions): Q_g
    goals: Int32s  # (n_goals,): the places that are goals; the first `n_known` are in use
    worth: Floats  # (n_goals,): the reward that each had last
    n_known: Ints  # (1,): the number of goals
    experiences: Experiences  # The last outcome of each pair
    weights: Floats  # (n_actions,): what the probabilities of imagined actions are proportional to
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


def description(params: Params) -> Description:
    return Description(
        "values for each goal; the last try of each pair",
        phases=pauses.phases_of(params.replay_at),
        priority="towards a goal not pursued",
        source="Carvalho et al. 2025",
        label="Multitask preplay",
        goes_forward=True,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    shape = (sizes.n_states, sizes.n_actions)
    return Memory(
        action_values=np.zeros(shape),
        goal_values=np.zeros((params.n_goals, *shape)),
        goals=np.full(params.n_goals, -1, dtype=np.int32),
        worth=np.zeros(params.n_goals),
        n_known=np.zeros(1, dtype=np.int64),
        experiences=experiences_of(*shape),
        weights=np.zeros(sizes.n_actions),
        earnings=pauses.earnings(),
    )


def most_backups(params: Params, memory: Memory) -> int:
    n_goals: int = params.n_goals
    return n_goals + params.n_replays * pauses.most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: of each pair Q, Q_g and its outcome; the goals."""
    n_goals, n_pairs = int(memory.n_known[0]), int(memory.experiences.n_known[0])
    held = experience_words(n_pairs)
    return (1 + n_goals) * n_pairs + 2 * n_goals + held + pauses.earnings_words(params)


def _revalue(memory: Memory, s: int, a: int) -> None:
    """Set the value of an action to what its best goal is worth."""
    best = -np.inf
    for g in range(memory.n_known[0]):
        best = max(best, memory.worth[g] * memory.goal_values[g, s, a])
    memory.action_values[s, a] = best


def _note_goal(memory: Memory, state: int, reward: float, terminated: bool) -> None:
    """Set what a goal is worth, if a state is one; it becomes one if there is room."""
    goals, worth, n, g = memory.goals, memory.worth, memory.n_known[0], 0
    while g < n and goals[g] != state:
        g += 1
    if g == n and reward <= 0.0 and not terminated:
        return
    reward = max(reward, 0.0)
    if g == n:
        if n == len(goals):  # The goal that is worth least makes room.
            g = 0
            for other in range(n):
                if worth[other] < worth[g]:
                    g = other
            if reward <= worth[g]:
                return
        goals[g], worth[g] = state, np.nan
        memory.goal_values[g] = 0.0
        memory.n_known[0] = max(n, g + 1)
    if worth[g] != reward:
        worth[g] = reward
        for i in range(memory.experiences.n_known[0]):
            pair = memory.experiences.rows[i]
            _revalue(memory, pair["state"], pair["action"])


def _pursued(memory: Memory, state: int) -> int:
    """Return the number of the goal that is pursued in a state; -1 if no goal is known."""
    best, highest = -1, -np.inf
    for g in range(memory.n_known[0]):
        value = memory.worth[g] * best_value(memory.goal_values[g], state)
        if value > highest:
            best, highest = g, value
    return best


def _back_up(
    params: Params, memory: Memory, g: int, row: int, phase: int, pop: int, cause: int,
    log: BackupBuffer,
) -> int:  # fmt: skip
    """Make a backup of the value of a goal by a remembered outcome; return its row in the log."""
    Q, worth, known = memory.goal_values[g], memory.worth[g], memory.experiences.rows[row]
    s, a, s_next = known["state"], known["action"], known["next_state"]
    target = 1.0 if s_next == memory.goals[g] else 0.0
    if target == 0.0 and known["terminated"] == 0:
        target = params.discount * best_value(Q, s_next)
    before = worth * Q[s, a]
    Q[s, a] += params.learning_rate * (target - Q[s, a])
    _revalue(memory, s, a)
    after = worth * Q[s, a]
    if phase != ONLINE:
        pauses.note_change(params, memory.earnings, before, after)
    r = known["reward"]
    return record(log, phase, s, a, s_next, before, after, r, pop=pop, cause=cause)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition, and learn from it about all goals."""
    pauses.note_experience(params, memory.earnings, memory.action_values, transition)
    row = experience_at(memory.experiences, transition.state, transition.action)
    known = memory.experiences.rows[row]
    known["next_state"], known["reward"] = transition.next_state, transition.reward
    known["terminated"] = transition.terminated
    _note_goal(memory, transition.next_state, transition.reward, transition.terminated)
    for g in range(memory.n_known[0]):
        _back_up(params, memory, g, row, ONLINE, 0, -1, log)


def _imagined(params: Params, memory: Memory, g: int, state: int, rng: Generator) -> int:
    """Draw an action among those tried in a state; return the row of its outcome, -1: none was."""
    place, weights = memory.experiences.place, memory.weights
    explores, best = rng.random() < params.epsilon, -np.inf
    for a in range(len(weights)):
        if place[state, a] >= 0:
            best = max(best, memory.goal_values[g, state, a])
    for a in range(len(weights)):
        is_drawn = explores or memory.goal_values[g, state, a] == best
        weights[a] = 1.0 if is_drawn and place[state, a] >= 0 else 0.0
    drawn = draw_weighted(weights, len(weights), rng)
    return int(place[state, drawn]) if drawn >= 0 else -1


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Imagine how goals would be reached from what was experienced."""
    n_goals, n_pairs = memory.n_known[0], memory.experiences.n_known[0]
    if not pauses.is_due(params.replay_at, pause.phase) or n_goals == 0:
        return
    row, g, n_moves, simulation, cause = -1, -1, 0, -1, -1
    for _ in range(params.n_replays):
        if not pauses.goes_on(params, memory.earnings, pauses.latest_change(memory.earnings), rng):
            break
        ended = row < 0 or n_moves == params.length
        if not ended:
            known = memory.experiences.rows[row]
            ended = known["terminated"] != 0 or known["next_state"] == memory.goals[g]
            s = known["next_state"]
        if ended:  # The next simulation begins, for the goal that is pursued there, or for another.
            s = pause.state
            if pause.phase != START:
                s = memory.experiences.rows[int(rng.random() * n_pairs)]["state"]
            g, cause, n_moves = _pursued(memory, s), -1, 0
            simulation += 1
            if n_goals > 1 and rng.random() < params.preplay_share:
                g = (g + 1 + int(rng.random() * (n_goals - 1))) % n_goals
        row = _imagined(params, memory, g, s, rng)
        if row >= 0:
            cause = _back_up(params, memory, g, row, pause.phase, simulation, cause, log)
            n_moves += 1
