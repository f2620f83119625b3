"""SR-Dyna: the successor representation, learned from steps and from replay.

What is learned is not values, but where one goes: row (s, a) of the matrix H tells how often each
pair will be visited from (s, a) on, discounted, by the greedy policy. Each step, and each backup in
replay, moves one row towards that of the best pair that follows,

    H(s, a, :) += alpha * (1(s, a) + gamma H(s', a*, :) - H(s, a, :)),    Q = H w,

and rewards w of pairs are learned beside it. So a reward that moves is known everywhere at once,
where Q-learning would have to learn anew; but that a path is blocked, or that another policy is
better now, is known elsewhere only after replay. Pairs are drawn at random among those that were
tried, and their outcomes from what followed, the latest first of all.

Steps may teach as in the authors' simulations (`on_policy`): the row moves to that of the action
drawn next, while replay stays with the best one; all rows begin at 1 for their own pair; and w is
not the reward of pairs, but moves by the error delta of the value that the action drawn next gives,

    w += alpha_w delta H(s, a, :) / |H(s, a, :)|^2,

so that a new reward is first taken for that of all that leads there. Where several actions are
best, replay takes the one that was drawn last.

Of the paper the abstract was read, and the authors' code [2]_ in full. In it a pair is replayed by
one of its last 100 tries, the n-th latest with a share of exp(-5 n): the share of an outcome falls
by `forgetting` with each other one, which is the same at 1 - exp(-5) (0.993), but for what is cut
off. Chosen here otherwise: the best pair that follows is one that was tried, the first of several;
replay is after each step and at rest. Memory grows with the square of the number of pairs.

References
----------
.. [1] Russek et al. (2017), Predictive representations can link model-based reinforcement learning
   to model-free mechanisms. https://doi.org/10.1371/journal.pcbi.1005768
.. [2] https://github.com/evanrussek/Predictive-Representations-PLOS-CB-2017
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, ONLINE, REST, START, STEP, BackupBuffer, record
from replay.parts.numbering import Numbering, meet, numbering
from replay.parts.outcomes import (
    Outcomes,
    draw_outcome,
    outcome_words,
    outcomes_of,
    remember_outcome,
)
from replay.parts.world_model import WorldModel, edge_to, model_words, world_model

__all__ = ["Memory", "Params", "description", "init", "learn", "learns_on_policy", "most_backups"]
__all__ += ["n_words", "replay"]


class Params(NamedTuple):
    """Parameters of SR-Dyna.

    Attributes
    ----------
    discount : float
        gamma: discount factor per step.
    epsilon : float
        Probability of a uniformly random action.
    learning_rate : float
        alpha: share of the way to its target that a row of H moves.
    reward_rate : float
        Share of the way to the latest reward of its pair that w moves.
    n_replays : int
        Rows backed up at each pause.
    forgetting : float
        By which share the other outcomes of a pair count less after each one.
    on_policy : bool
        Whether steps teach by the action drawn next, and w by errors of values, as published.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    learning_rate: ranges.Share = 0.3
    reward_rate: ranges.Share = 0.3
    n_replays: ranges.Count = 10
    forgetting: ranges.Share = 0.2
    on_policy: bool = False


class Memory(NamedTuple):
    """What SR-Dyna keeps.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    pairs : Numbering
        The pairs that were tried, as state * n_actions + action.
    occupancy : ndarray of float64, shape (n_states * n_actions, n_states * n_actions)
        H, by the numbers of pairs.
    weights : ndarray of float64, shape (n_states * n_actions,)
        w, the reward of each pair, by its number.
    model : WorldModel
        The transitions seen.
    outcomes : Outcomes
        What they brought.
    drawn_next : ndarray of int32, shape (n_transitions,)
        The number of the pair that was drawn after each transition, if steps teach by it; else -1.
    reached : ndarray of int32, shape (n_states * n_actions,)
        The pairs that were tried or followed one that was, in order, if steps teach by what is
        drawn: all others have no part in H or w yet.
    n_reached : ndarray of int32, shape (1,)
        How many these are.
    """

    action_values: NDArray[np.float64]
    pairs: Numbering
    occupancy: NDArray[np.float64]
    weights: NDArray[np.float64]
    model: WorldModel
    outcomes: Outcomes
    drawn_next: NDArray[np.int32]
    reached: NDArray[np.int32]
    n_reached: NDArray[np.int32]


def description(params: Params) -> Description:
    """Describe what is stored, and what is replayed, when and why."""
    stores = "successors of each pair; a model of all transitions"
    return Description(stores, (STEP, EPISODE_END, REST), "at random", "Russek et al. 2017")


def init(params: Params, sizes: Sizes) -> Memory:
    """Return the memory of a learner without experience."""
    shape = (sizes.n_states, sizes.n_actions)
    n_pairs = sizes.n_states * sizes.n_actions
    model = world_model(*shape, sizes.n_transitions, forgetting=params.forgetting)
    pairs = numbering(n_pairs)
    for pair in range(n_pairs if params.on_policy else 0):
        meet(pairs, pair)
    return Memory(
        np.zeros(shape),
        pairs,
        np.eye(n_pairs) if params.on_policy else np.zeros((n_pairs, n_pairs)),
        np.zeros(n_pairs),
        model,
        outcomes_of(model),
        np.full(sizes.n_transitions, -1, dtype=np.int32),
        np.zeros(n_pairs, dtype=np.int32),
        np.zeros(1, dtype=np.int32),
    )


def learns_on_policy(params: Params) -> bool:
    """Tell whether the next action is read."""
    return params.on_policy


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound of the backups of the next step."""
    return 1 + params.n_replays


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: H, Q and w of the pairs that were tried, the model, outcomes."""
    n = int(memory.pairs.n[0])
    held = model_words(memory.model) + outcome_words(memory.outcomes, memory.model)
    return n * n + 2 * n + held


def _best_pair(memory: Memory, s: int, drawn: int = -1) -> int:
    """Return the number of the best pair of a state that is known; -1 if none is.

    Of several that are best it is the one that was drawn, if that is told, or the first.
    """
    best, n_best, n_actions = -1, 0, memory.action_values.shape[1]
    highest = -np.inf
    for a in range(n_actions):
        number = memory.pairs.number[s * n_actions + a]
        if number < 0 or memory.action_values[s, a] < highest:
            continue
        n_best += 1
        if memory.action_values[s, a] > highest:
            best, highest, n_best = number, memory.action_values[s, a], 1
    return drawn if n_best > 1 and drawn >= 0 else best


def _learn_reward(params: Params, memory: Memory, pair: int, reward: float) -> None:
    """Move w of a pair, and with it the values of all that lead there."""
    Q, pairs = memory.action_values, memory.pairs
    change = params.reward_rate * (reward - memory.weights[pair])
    memory.weights[pair] += change
    if change != 0.0:
        n_actions = Q.shape[1]
        for i in range(pairs.n[0]):
            Q[pairs.met[i] // n_actions, pairs.met[i] % n_actions] += (
                change * memory.occupancy[i, pair]
            )


def _reach(memory: Memory, pair: int) -> None:
    """Add a pair to those that have a part in H, where its number belongs."""
    reached, place = memory.reached, memory.n_reached[0]
    while place > 0 and reached[place - 1] >= pair:
        place -= 1
    if place == memory.n_reached[0] or reached[place] != pair:
        for i in range(memory.n_reached[0], place, -1):
            reached[i] = reached[i - 1]
        reached[place] = pair
        memory.n_reached[0] += 1


def _learn_value(params: Params, memory: Memory, pair: int, reward: float, following: int) -> None:
    """Move w by the error of the value of a pair, and with it all values."""
    H, w, reached, n = memory.occupancy, memory.weights, memory.reached, memory.n_reached[0]
    error, square = reward, 0.0
    for j in range(n):
        k = reached[j]
        square += H[pair, k] * H[pair, k]
        error -= H[pair, k] * w[k]
        if following >= 0:
            error += params.discount * H[following, k] * w[k]
    for j in range(n):
        w[reached[j]] += params.reward_rate * error * H[pair, reached[j]] / square
    n_actions = memory.action_values.shape[1]
    for i in range(n):
        u, value = reached[i], 0.0
        for j in range(n):
            value += H[u, reached[j]] * w[reached[j]]
        memory.action_values[u // n_actions, u % n_actions] = value


def _back_up(params: Params, memory: Memory, pair: int, following: int) -> float:
    """Move a row of H towards 1 and that of the pair that follows, and return its pair's value."""
    H, n = memory.occupancy, memory.pairs.n[0]
    value = 0.0
    if params.on_policy:
        _reach(memory, pair)
        if following >= 0:
            _reach(memory, following)
    for k in range(n):
        target = 1.0 if k == pair else 0.0
        if following >= 0:
            target += params.discount * H[following, k]
        H[pair, k] += params.learning_rate * (target - H[pair, k])
        value += H[pair, k] * memory.weights[k]
    return value


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition, and learn its reward and its row of H."""
    Q, s, a, s_next = (
        memory.action_values,
        transition.state,
        transition.action,
        transition.next_state,
    )
    remember_outcome(memory.outcomes, memory.model, 0.0, transition)
    pair, before = meet(memory.pairs, s * Q.shape[1] + a), Q[s, a]
    if params.on_policy:
        following = s_next * Q.shape[1] + transition.next_action
        if transition.terminated or transition.truncated:
            following = -1 if transition.terminated else _best_pair(memory, s_next)
        memory.drawn_next[edge_to(memory.model, s, a, s_next)] = following
        _back_up(params, memory, pair, following)
        _learn_value(params, memory, pair, transition.reward, following)
    else:
        _learn_reward(params, memory, pair, transition.reward)
        following = -1 if transition.terminated else _best_pair(memory, s_next)
        Q[s, a] = _back_up(params, memory, pair, following)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], transition.reward)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Back up rows of H from what followed pairs drawn at random."""
    Q, model, outcomes = memory.action_values, memory.model, memory.outcomes
    if pause.phase == START:
        return
    for pop in range(params.n_replays):
        edge = draw_outcome(outcomes, model, rng)
        s, a = model.edges[edge]["state"], model.edges[edge]["action"]
        s_next, outcome = model.edges[edge]["next_state"], outcomes.rows[edge]
        pair, before = memory.pairs.number[s * Q.shape[1] + a], Q[s, a]
        following = -1
        if not outcome["terminated"]:
            following = _best_pair(memory, s_next, memory.drawn_next[edge])
        Q[s, a] = _back_up(params, memory, pair, following)
        reward = outcome["reward"]
        record(log, pause.phase, s, a, s_next, before, Q[s, a], reward, pop=pop)
