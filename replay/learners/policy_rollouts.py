"""Planning by rollouts of one's own policy, as long as they are worth their time.

Before it moves, the agent may imagine moves: a rollout begins where it is, draws each action from
its own policy and the next place from its model of the world, and ends at a reward, at the end of
the episode, or after `length` moves. What a rollout finds changes the policy as if it had been
lived, by a step along the policy gradient [3]_. With G its return from a move on, v the return that
was expected there, and p the policy, the preference of each action changes by

    rollout_rate discount^t (G - v) (1 if it was drawn, else 0, minus p).

A rollout takes time, as long as `backup_cost` moves, which could have earned the mean reward. So
the agent imagines until the next rollout is not expected to gain more than that. As the expected
step is the gradient, it is expected to gain, to first order,

    rollout_rate |dJ/dh|^2,

where J is the expected return of a rollout, and h the preferences. Nothing is gained where no
reward is known, where only one action was ever tried, or once the policy is sure.

The agent of the authors is a recurrent network that learned over many mazes when to imagine, and
what to make of it. This is the least tabular agent that does what they say of it: rollouts come
from the policy itself, act like policy gradients, and are made if the gain exceeds the time. What
their network has learned to decide is computed here from the model, as if it were learned
perfectly. Actions that were never tried lead nowhere, so that they are not imagined. Episodes that
were lived are learned from as theirs in training, by policy gradients without bootstrapping; their
fast learning within a maze is left to rollouts. There is no replay at rest or after a reward, as
they have none. The policy keeps what was imagined, also in later episodes, as their network does
within a maze.

Published: rollouts of up to 8 moves, each as long as 0.3 moves. Run by us from their published
weights, in 28,476 rollouts of five agents, 0.72 found the reward. One that did made its first move
more probable, and one that did not less, as this rule does where 0.7 to 0.8 are expected to, with a
rate of 4 to 5 in each agent. With 4 and 0.7, the probability after a success agrees to 0.1 over the
whole range, and that after a failure to 0.15, unless the move was nearly sure, which their agents
give up more readily. In their network effects depend less on the place than here: a v of 0.7
everywhere fits better than the chance of each place (root mean square error 0.25 and 0.29). In
large mazes, where most rollouts fail, such a v would unlearn what is right.

References
----------
.. [1] Jensen et al. (2024), A recurrent network model of planning explains hippocampal replay and
   human behavior. https://doi.org/10.1038/s41593-024-01675-7
.. [2] https://github.com/KrisJensen/planning_code
.. [3] Williams (1992), Simple statistical gradient-following algorithms for connectionist
   reinforcement learning. https://doi.org/10.1007/BF00992696
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Ints
from replay.learners import ranges
from replay.learners.contract import Between, Description, Known, Pause, Sizes, Transition
from replay.learners.ranges import known_moves
from replay.log.backups import EPISODE_END, ONLINE, START, STEP, TRACE, BackupBuffer, record
from replay.parts import experiences
from replay.parts.experiences import Episode, Experiences
from replay.parts.policies import draw_weighted, softmax
from replay.worlds.mdp import MDP

_REWARDS, _MOVES = 0, 1


class Params(NamedTuple):
    """Parameters of planning by rollouts.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    learning_rate : float
        Step along the policy gradient by an episode that was lived; and the fraction by which
        action values, which say what was expected, move to each return.
    rollout_rate : float
        Step along the policy gradient by a rollout.
    length : int
        Largest number of moves of a rollout.
    n_rollouts : int
        Largest number of rollouts in a pause.
    backup_cost : float
        Duration of a rollout, in moves. 0: no time.
    each_step : bool
        Whether there are rollouts after each move, too, not only before the first.
    pre_explored : bool
        Whether it is known beforehand where each action leads.
    """

    discount: ranges.Share = 0.99
    learning_rate: ranges.Share = 0.3
    rollout_rate: Annotated[float, Between(0.0, 100.0)] = 4.0
    length: Annotated[int, Between(1, 100)] = 8
    n_rollouts: ranges.Count = 10
    backup_cost: ranges.NotNegative = 0.3
    each_step: bool = True
    pre_explored: bool = False


class Memory(NamedTuple):
    """The memory of planning by rollouts."""

    # (n_states, n_actions): mean returns that were lived: what is expected without imagining
    action_values: Floats
    preferences: Floats  # (n_states, n_actions): h, whose softmax is the policy
    experiences: Experiences  # The last outcome of each pair
    episode: Episode  # The transitions of this episode
    earned: Floats  # (2,): the sum of all rewards so far, and the number of moves
    # (n_states,): the states that a rollout can reach, the first one first
    reached: Ints
    place: Ints  # (n_states,): where each state is in `reached`; -1: it is not
    # (n_states, n_actions): of each reached state, by its place: the policy among tried
    # actions, and dJ/dh
    policy: Floats
    slope: Floats
    # (length + 1, n_states): expected return from each reached state, by the number of moves
    # that are left
    value: Floats
    # (2, n_states): how probable it is to be in each reached state now, and after the next
    # move
    visits: Floats
    path: Ints  # (length,): the rows of the experiences of a rollout


def description(params: Params) -> Description:
    return Description(
        "a policy; the last outcome of each pair",
        phases=(STEP, START) if params.each_step else (START,),
        priority="its own policy, if it pays",
        source="Jensen et al. 2024",
        label="Policy rollouts",
        goes_forward=True,
        needs_episodes=True,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n, shape = sizes.n_states, (sizes.n_states, sizes.n_actions)
    return Memory(
        action_values=np.zeros(shape),
        preferences=np.zeros(shape),
        experiences=experiences.experiences_of(*shape),
        episode=experiences.episode(sizes.n_steps),
        earned=np.zeros(2),
        reached=np.zeros(n, dtype=np.int64),
        place=np.full(n, -1),
        policy=np.zeros(shape),
        slope=np.zeros(shape),
        value=np.zeros((params.length + 1, n)),
        visits=np.zeros((2, n)),
        path=np.zeros(params.length, dtype=np.int64),
    )


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Note where each action leads, if that is known; no reward is."""
    if params.pre_explored:
        next_state = known_moves("pre_explored", mdp, memory.action_values.shape[1])
        for s, a in np.argwhere(next_state >= 0):
            outcome = memory.experiences.rows[experiences.experience_at(memory.experiences, s, a)]
            outcome["next_state"] = next_state[s, a]
            outcome["terminated"] = next_state[next_state[s, a], 0] < 0  # no move leads on


def most_backups(params: Params, memory: Memory) -> int:
    return int(memory.episode.length[0] + 1 + params.n_rollouts * params.length)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q, h and the outcome of each pair, the episode, and two sums."""
    held = experiences.episode_words(memory.episode) + len(memory.earned)
    n_pairs = int(memory.experiences.n_known[0])
    return 2 * known.pairs + experiences.experience_words(n_pairs) + held


def act(params: Params, memory: Memory, state: int, rng: Generator) -> int:
    """Draw an action from the policy."""
    return int(softmax(memory.preferences, state, 1.0, rng))


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Note the outcome; at the end of an episode, follow its policy gradient."""
    s, a = transition.state, transition.action
    memory.earned[_REWARDS] += transition.reward
    memory.earned[_MOVES] += 1.0
    outcome = memory.experiences.rows[experiences.experience_at(memory.experiences, s, a)]
    outcome["reward"] = transition.reward
    outcome["next_state"] = transition.next_state
    outcome["terminated"] = transition.terminated
    experiences.add_transition(memory.episode, s, a, transition.reward)
    if not transition.terminated:
        return
    h, Q, G = memory.preferences, memory.action_values, 0.0
    s_next, row = transition.next_state, -1
    for back in range(memory.episode.length[0]):
        step = memory.episode.steps[memory.episode.length[0] - 1 - back]
        s, a, r = int(step["state"]), int(step["action"]), step["reward"]
        G = params.discount * G + r
        _set_policy(memory, 0, s, False)  # in a row that a rollout sets anew
        expected, before = 0.0, Q[s, a]
        for b in range(h.shape[1]):
            expected += memory.policy[0, b] * Q[s, b]
        for b in range(h.shape[1]):
            away = (1.0 if b == a else 0.0) - memory.policy[0, b]
            h[s, b] += params.learning_rate * (G - expected) * away
        Q[s, a] += params.learning_rate * (G - before)
        phase = ONLINE if back == 0 else TRACE
        row = record(log, phase, s, a, s_next, before, Q[s, a], r, pop=back, cause=row)
        s_next = s


def _leads_on(outcome: np.void) -> bool:
    """Return whether a rollout goes on after an outcome: there is neither a reward nor an end."""
    return bool(outcome["reward"] <= 0.0 and outcome["terminated"] == 0)


def _reach(params: Params, memory: Memory, state: int) -> int:
    """List the states in which a rollout can draw an action; return their number."""
    reached, place, known = memory.reached, memory.place, memory.experiences
    reached[0], place[state] = state, 0
    begin, n = 0, 1
    for _ in range(params.length - 1):
        end = n
        for i in range(begin, end):
            for a in range(known.place.shape[1]):
                row = known.place[reached[i], a]
                if row >= 0 and _leads_on(known.rows[row]):
                    following = known.rows[row]["next_state"]
                    if place[following] < 0:
                        reached[n], place[following] = following, n
                        n += 1
        begin = end
    return n


def _set_policy(memory: Memory, i: int, s: int, among_tried: bool) -> None:
    """Set a row to the policy of a state; 0 for actions that do not count, as none was tried."""
    policy, known, h = memory.policy, memory.experiences.place, memory.preferences
    highest, whole = -np.inf, 0.0
    for a in range(h.shape[1]):
        if known[s, a] >= 0 or not among_tried:
            highest = max(highest, h[s, a])
    for a in range(h.shape[1]):
        counts = known[s, a] >= 0 or not among_tried
        policy[i, a] = math.exp(h[s, a] - highest) if counts else 0.0
        whole += policy[i, a]
    for a in range(h.shape[1]):
        policy[i, a] /= max(whole, 1.0)  # it is 0, or at least the 1 of the highest


def _return_of(params: Params, memory: Memory, i: int, a: int, n_left: int) -> float:
    """Return what is expected of an action in a reached state, with so many moves left."""
    known = memory.experiences
    outcome = known.rows[known.place[memory.reached[i], a]]
    expected: float = outcome["reward"]
    following = memory.place[outcome["next_state"]]
    if n_left > 1 and following >= 0 and _leads_on(outcome):
        expected += params.discount * memory.value[n_left - 1, following]
    return expected


def _evaluate(params: Params, memory: Memory, n: int) -> None:
    """Set the expected returns of rollouts from n reached states.

    Those with more moves left than there are when a rollout comes to the state may be too low, as
    what follows was not reached; they are not used.
    """
    policy, value = memory.policy, memory.value
    for n_left in range(1, params.length + 1):
        for i in range(n):
            value[n_left, i] = 0.0
            for a in range(policy.shape[1]):
                if policy[i, a] > 0.0:
                    value[n_left, i] += policy[i, a] * _return_of(params, memory, i, a, n_left)


def _expected_gain(params: Params, memory: Memory, n: int) -> float:
    """Compute the gradient of the expected return from the first of n reached states.

    Return what a rollout is expected to gain.
    """
    policy, value, visits = memory.policy, memory.value, memory.visits
    known, slope = memory.experiences, memory.slope
    for i in range(n):
        visits[0, i] = 0.0
        for a in range(policy.shape[1]):
            slope[i, a] = 0.0
    visits[0, 0] = 1.0
    weight, gain = 1.0, 0.0
    for t in range(params.length):
        now, after = visits[t % 2], visits[(t + 1) % 2]  # two rows take turns
        for i in range(n):
            after[i] = 0.0
        for i in range(n):
            for a in range(policy.shape[1] if now[i] > 0.0 else 0):
                if policy[i, a] > 0.0:
                    expected = _return_of(params, memory, i, a, params.length - t)
                    surplus = expected - value[params.length - t, i]
                    slope[i, a] += weight * now[i] * policy[i, a] * surplus
                    outcome = known.rows[known.place[memory.reached[i], a]]
                    if t < params.length - 1 and _leads_on(outcome):
                        after[memory.place[outcome["next_state"]]] += now[i] * policy[i, a]
        weight *= params.discount
    for i in range(n):
        for a in range(policy.shape[1]):
            gain += slope[i, a] ** 2
    return params.rollout_rate * gain


def _drawn(params: Params, memory: Memory, rng: Generator) -> int:
    """Draw a rollout from the first of the reached states; return its number of moves."""
    known, i = memory.experiences, 0
    for t in range(params.length):
        a = draw_weighted(memory.policy[i], memory.policy.shape[1], rng)
        if a < 0:  # nothing was ever tried there
            return t
        memory.path[t] = known.place[memory.reached[i], a]
        outcome = known.rows[memory.path[t]]
        if not _leads_on(outcome):
            return t + 1
        i = memory.place[outcome["next_state"]]
    return int(params.length)


def _follow(
    params: Params, memory: Memory, length: int, phase: int, pop: int, log: BackupBuffer
) -> None:
    """Change the preferences by a rollout, whose policy and expected returns are still known."""
    h, weight, row = memory.preferences, 1.0, -1
    for t in range(length):
        outcome = memory.experiences.rows[memory.path[t]]
        s, a = outcome["state"], outcome["action"]
        i, value = memory.place[s], memory.action_values[s, a]
        # What the rollout earns from this move on.
        G = 0.0
        for later in range(length - 1, t - 1, -1):
            G = params.discount * G + memory.experiences.rows[memory.path[later]]["reward"]
        surplus = G - memory.value[params.length - t, i]
        for b in range(h.shape[1]):
            if memory.policy[i, b] > 0.0:
                away = (1.0 if b == a else 0.0) - memory.policy[i, b]
                h[s, b] += params.rollout_rate * weight * surplus * away
        s_next, r = outcome["next_state"], outcome["reward"]
        row = record(log, phase, s, a, s_next, value, value, r, pop=pop, cause=row)
        weight *= params.discount


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Imagine what the policy would do, as long as it is worth the time."""
    if pause.phase == EPISODE_END:
        experiences.begin_episode(memory.episode)
    if not (pause.phase == START or (params.each_step and pause.phase == STEP)):
        return
    n = _reach(params, memory, pause.state)
    mean_reward = memory.earned[_REWARDS] / max(memory.earned[_MOVES], 1.0)
    time_cost = params.backup_cost * max(mean_reward, 0.0)
    for pop in range(params.n_rollouts):
        for i in range(n):
            _set_policy(memory, i, memory.reached[i], True)
        _evaluate(params, memory, n)
        if _expected_gain(params, memory, n) <= time_cost:
            break
        _follow(params, memory, _drawn(params, memory, rng), pause.phase, pop, log)
    for i in range(n):
        memory.place[memory.reached[i]] = -1
