"""SR-Dyna: the successor representation, learned from steps and from replay.

It learns not values but future occupancy: row (s, a) of the matrix H holds how often each pair will
be visited from (s, a) on, discounted, under the greedy policy. Each step, and each backup in
replay, moves one row towards that of the best pair that follows,

    H(s, a, :) += alpha * (1(s, a) + gamma H(s', a*, :) - H(s, a, :)),    Q = H w,

and the rewards w of pairs are learned separately. A reward that moves is therefore known everywhere
at once, where Q-learning would have to learn anew; but a blocked path, or a policy that is now
better, is known elsewhere only after replay. Replay draws pairs at random among those that were
tried, and their outcomes from those observed, with more weight on the latest.

Steps may teach as in the authors' simulations (`on_policy`): a row moves towards that of the action
drawn next, while replay still uses the best one; all rows begin at 1 for their own pair; and w is
not the reward of pairs, but is moved by delta, the error of the value given the action drawn next,

    w += alpha_w delta H(s, a, :) / |H(s, a, :)|^2,

so that a new reward is at first attributed to all pairs that lead there. If several actions are
best, replay takes the one that was drawn last.

The sources are the abstract of the paper and the authors' complete code [2]_; the full text was not
read. There, a pair is replayed with one of its last 100 outcomes, the n-th latest with a
probability proportional to exp(-5 n). Here each new outcome takes the share `forgetting` from the
older ones, which is the same with forgetting = 1 - exp(-5) = 0.993, apart from the limit of 100.
Two choices differ from theirs: the best pair that follows is one that was tried, the first of
several; and replay takes place after each step and at rest. Memory grows with the square of the
number of pairs.

References
----------
.. [1] Russek et al. (2017), Predictive representations can link model-based reinforcement learning
   to model-free mechanisms. https://doi.org/10.1371/journal.pcbi.1005768
.. [2] Russek et al. (2017), Code.
   https://github.com/evanrussek/Predictive-Representations-PLOS-CB-2017
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Int32s
from replay.learners import ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.log.backups import ONLINE, BackupBuffer, record
from replay.parts import experiences
from replay.parts.experiences import Numbering, Outcomes, meet, numbering
from replay.parts.pauses import STEP_AND_REST, is_due, most_pauses, phases_of
from replay.parts.world_model import WorldModel, edge_to, model_words, world_model


class Params(NamedTuple):
    """Parameters of SR-Dyna.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    learning_rate : float
        alpha: fraction of the distance to its target by which a row of H moves.
    reward_rate : float
        Fraction of the distance to the latest reward by which w moves; with `on_policy`, alpha_w.
    n_replays : int
        Number of rows backed up per pause.
    forgetting : float
        Fraction of their weight that the other outcomes of a pair lose after each one.
    on_policy : bool
        Whether H learns from the action drawn next, and w from errors of values, as published.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    learning_rate: ranges.Share = 0.3
    reward_rate: ranges.Share = 0.3
    n_replays: ranges.Count = 10
    forgetting: ranges.Share = 0.2
    on_policy: bool = False
    replay_at: ranges.Moment = STEP_AND_REST


class Memory(NamedTuple):
    """The memory of SR-Dyna."""

    action_values: Floats  # (n_states, n_actions): Q
    pairs: Numbering  # The pairs that were tried, as state * n_actions + action
    # (n_states * n_actions, n_states * n_actions): H, by the numbers of pairs
    occupancy: Floats
    # (n_states * n_actions,): w, the reward of each pair, by its number
    weights: Floats
    model: WorldModel  # The transitions seen
    outcomes: Outcomes  # Their rewards, and whether they ended the episode
    # (n_transitions,): with `on_policy`, the number of the pair drawn after each transition;
    # else -1
    drawn_next: Int32s
    # (n_states * n_actions,): with `on_policy`, the pairs that were tried or followed one
    # that was, in ascending order: all others have no part in H or w yet
    reached: Int32s
    n_reached: Int32s  # (1,): their number


def description(params: Params) -> Description:
    return Description(
        "successors of each pair; a model of all transitions",
        phases=phases_of(params.replay_at),
        priority="at random",
        source="Russek et al. 2017",
        label="SR-Dyna",
        learns_on_policy=params.on_policy,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    shape = (sizes.n_states, sizes.n_actions)
    n_pairs = sizes.n_states * sizes.n_actions
    model = world_model(*shape, sizes.n_transitions, forgetting=params.forgetting)
    pairs = numbering(n_pairs)
    for pair in range(n_pairs if params.on_policy else 0):
        meet(pairs, pair)
    return Memory(
        action_values=np.zeros(shape),
        pairs=pairs,
        occupancy=np.eye(n_pairs) if params.on_policy else np.zeros((n_pairs, n_pairs)),
        weights=np.zeros(n_pairs),
        model=model,
        outcomes=experiences.outcomes_of(model),
        drawn_next=np.full(sizes.n_transitions, -1, dtype=np.int32),
        reached=np.zeros(n_pairs, dtype=np.int32),
        n_reached=np.zeros(1, dtype=np.int32),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return 1 + params.n_replays * most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: H, Q and w of the pairs that were tried, the model, outcomes."""
    n = int(memory.pairs.n[0])
    held = model_words(memory.model) + experiences.outcome_words(memory.outcomes, memory.model)
    return n * n + 2 * n + held


def _best_pair(memory: Memory, s: int, drawn: int = -1) -> int:
    """Return the number of the best known pair of a state; -1 if none is known.

    Among several that are best, it is the one that was drawn, if given, or the first.
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


def _reach(memory: Memory, pair: int) -> None:
    """Add a pair to those that have a part in H, in ascending order."""
    reached, place = memory.reached, memory.n_reached[0]
    while place > 0 and reached[place - 1] >= pair:
        place -= 1
    if place == memory.n_reached[0] or reached[place] != pair:
        for i in range(memory.n_reached[0], place, -1):
            reached[i] = reached[i - 1]
        reached[place] = pair
        memory.n_reached[0] += 1


def _learn_value(params: Params, memory: Memory, pair: int, reward: float, following: int) -> None:
    """Move w by the error of a pair's value, and with it all values."""
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
    """Back up a row of H from that of the pair that follows; return the value of its pair."""
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
    """Remember the transition, and learn w and its row of H."""
    Q = memory.action_values
    s, a, s_next = transition.state, transition.action, transition.next_state
    experiences.remember_outcome(memory.outcomes, memory.model, transition)
    pair, before = meet(memory.pairs, s * Q.shape[1] + a), Q[s, a]
    if params.on_policy:
        following = s_next * Q.shape[1] + transition.next_action
        if transition.terminated or transition.truncated:
            following = -1 if transition.terminated else _best_pair(memory, s_next)
        memory.drawn_next[edge_to(memory.model, s, a, s_next)] = following
        _back_up(params, memory, pair, following)
        _learn_value(params, memory, pair, transition.reward, following)
    else:
        # When w of the pair moves, so do the values of all pairs that lead there.
        change = params.reward_rate * (transition.reward - memory.weights[pair])
        memory.weights[pair] += change
        for i in range(memory.pairs.n[0] if change != 0.0 else 0):
            u, b = memory.pairs.met[i] // Q.shape[1], memory.pairs.met[i] % Q.shape[1]
            Q[u, b] += change * memory.occupancy[i, pair]
        following = -1 if transition.terminated else _best_pair(memory, s_next)
        Q[s, a] = _back_up(params, memory, pair, following)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], transition.reward)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Back up rows of H, with remembered outcomes of pairs drawn at random."""
    Q, model, outcomes = memory.action_values, memory.model, memory.outcomes
    if not is_due(params.replay_at, pause.phase):
        return
    for pop in range(params.n_replays):
        edge = experiences.draw_outcome(outcomes, model, rng)
        s, a = model.edges[edge]["state"], model.edges[edge]["action"]
        s_next, outcome = model.edges[edge]["next_state"], outcomes.rows[edge]
        pair, before = memory.pairs.number[s * Q.shape[1] + a], Q[s, a]
        following = -1
        if not outcome["terminated"]:
            following = _best_pair(memory, s_next, memory.drawn_next[edge])
        Q[s, a] = _back_up(params, memory, pair, following)
        reward = outcome["reward"]
        record(log, pause.phase, s, a, s_next, before, Q[s, a], reward, pop=pop)
