"""Bayes-adaptive replay: gain times need over belief states, so that replay can favour exploration.

Memory access [1]_ takes the world as known, and so replays what is already worth doing. Here some
moves are uncertain: a barrier may be there, or gone. A belief state z is a place together with a
belief about each of these moves, Beta(alpha, beta); a try changes the belief by Bayes' rule. Values
are those of belief states, and they include the value of exploring: behind a barrier that may be
open lies a shortcut, which the agent could take from then on. A backup in replay is of one action
in one possible future belief state,

    Q(z, a) += alpha_r (sum over outcomes of b(outcome) (r + gamma max Q(z', .)) - Q(z, a)),

and the next backup is the one with the largest product of need and gain,

    EVB(z, a) = Need(z) Gain(z, a),  Gain = sum over a of (pi_new - pi_old)(a | z) Q_new(z, a),

where Need is the discounted number of visits to z by the softmax policy pi, from where the agent
is; at an episode's end and at rest, from where episodes have started so far. So replay runs from
beyond the barrier back to the agent, and the agent then goes to try the barrier. It acts by the
values of its present belief. When a try changes the belief, the values that were planned for the
new belief replace them.

The authors specify which moves are uncertain and how likely they are open; all others are known.
Here a move that was made is known, and one try is conclusive (`one_try_tells`); a move that is shut
now is assumed to lead, if it opens again, to where it led before. At the end of each episode
beliefs return towards the prior by `volatility`, since worlds change. With 0, as in the paper, only
moves that were never tried are uncertain: by default nothing is known of them, but with `untried`
reverse moves are known, or all that can be seen. Only the nearest `n_uncertain` uncertain moves
count; every other move is taken to be open or shut, whichever is likelier, so that trying it has no
gain.

The policy is over all moves but those known to lead nowhere; a move whose target is unknown leads
out of the tree. The sources are the abstract of the paper and the authors' complete code [3]_; the
full text was not read. The code also plans up to a horizon, with one node per belief state in mazes
and one per history in bandits (`merges`). It estimates need in mazes from 2,000 random walks and
adds the visits of a chain in which nothing is learned; here need is solved for. In mazes it adds to
the EVB of a backup that of the same backup in the other belief states of its place, although it
makes the backup in only one, and it can make a sequence of backups as one; neither is done here.
This changes the order of backups, and which of the smallest are omitted.

In the log `q_before` and `q_after` are values of the present belief, which a backup in an imagined
belief does not change. With 200 belief states a backup takes 2 to 20 microseconds, including the
growth of the tree.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
.. [2] Antonov & Dayan (2025), Exploring replay. https://doi.org/10.1038/s41467-025-56731-y
.. [3] Antonov & Dayan (2025), Code. https://github.com/geoant1/exploring_replay
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Int32s
from replay.learners.bayes_adaptive import belief_tree
from replay.learners.bayes_adaptive.belief_tree import (
    NOWHERE,
    OPEN,
    SEEN,
    WAY_BACK,
    Beliefs,
    BeliefTree,
    Params,
)
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.learners.ranges import known_moves
from replay.log.backups import EPISODE_END, ONLINE, REST, START, STEP, BackupBuffer, record
from replay.parts import pauses
from replay.parts.pauses import Earnings
from replay.parts.policies import SOFTMAX, Policy, best_value, draw_action
from replay.worlds.mdp import MDP

__all__ = ["BeliefPlan", "Memory", "Params", "act", "description", "evaluate_plan", "explore"]
__all__ += ["init", "learn", "make_backups", "make_plan", "most_backups", "n_words", "replay"]

_NEGLIGIBLE = 1e-11  # visits that the need of a belief state may lack


class BeliefPlan(NamedTuple):
    """What is computed for each node of the tree: belief states, or histories."""

    action_values: Floats  # (n_nodes, n_actions): Q of belief states
    policy: Floats  # (n_nodes, n_actions): pi, the probability of each action
    gain: Floats  # (n_nodes, n_actions): the gain of backing up each action
    need: Floats  # (n_nodes,): expected visits to each node, discounted
    # (n_nodes,): visits that are not yet added to `need`, nor passed on to the nodes that
    # follow
    missing: Floats


class Memory(NamedTuple):
    """The memory of Bayes-adaptive replay."""

    action_values: Floats  # (n_states, n_actions): Q of the present belief
    known: Beliefs  # The belief about each move
    # (n_states, n_actions): the action that undoes each move; -1 if it is not known
    way_back: Int32s
    starts: Floats  # (n_states,): number of episodes that started in each state
    # (n_states,): probability that the agent begins in each state, as of the latest pause
    begin: Floats
    tree: BeliefTree  # Possible future belief states, as of the latest pause
    plan: BeliefPlan  # Their values, policies, needs and gains
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


def description(params: Params) -> Description:
    return Description(
        "beliefs of where each pair leads; values of what may be known",
        phases=pauses.phases_of(params.replay_at),
        priority="gain x need, over beliefs",
        source="Antonov & Dayan 2025",
        label="Bayes-adaptive",
        evaluates=True,
        goes_forward=True,
        needs_way_back=params.untried == WAY_BACK,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    shape, n = (sizes.n_states, sizes.n_actions), params.n_belief_states
    table = (n, sizes.n_actions)
    unknown = np.full(shape, -1, dtype=np.int32)
    return Memory(
        action_values=np.zeros(shape),
        known=belief_tree.beliefs(params, *shape),
        way_back=unknown if sizes.way_back is None else sizes.way_back,
        starts=np.zeros(sizes.n_states),
        begin=np.zeros(sizes.n_states),
        tree=belief_tree.belief_tree(params, *shape),
        plan=BeliefPlan(
            np.zeros(table), np.zeros(table), np.zeros(table), np.zeros(n), np.zeros(n)
        ),
        earnings=pauses.earnings(),
    )


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Note where each move would lead, if the maze is seen."""
    if params.untried == SEEN:
        next_state = known_moves("untried", mdp, memory.way_back.shape[1])
        for s, a in np.argwhere(next_state >= 0):
            if next_state[s, a] != s:
                memory.known.next_state[s, a] = next_state[s, a]
                memory.known.ends[s, a] = next_state[next_state[s, a], 0] < 0  # no move leads on


def most_backups(params: Params, memory: Memory) -> int:
    return 1 + pauses.most_pauses(params.replay_at) * params.max_backups


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q, beliefs, targets and rewards of moves, and the latest tree."""
    n, n_uncertain = memory.tree.n
    n_moves = int((memory.tree.chance[:n] >= 0.0).sum())
    held = int(n * (1 + 2 * n_uncertain)) + 4 * n_moves
    return 5 * known.pairs + known.states + held + pauses.earnings_words(params)


def act(params: Params, memory: Memory, state: int, rng: Generator) -> int:
    """Draw an action of the softmax policy."""
    policy = Policy(SOFTMAX, params.inverse_temperature, 0.0)
    return draw_action(policy, memory.action_values, state, rng)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Make a step of Q-learning, and update the belief about the move."""
    Q, known, tree = memory.action_values, memory.known, memory.tree
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    pauses.note_experience(params, memory.earnings, Q, transition)
    if memory.starts.sum() == 0.0:
        memory.starts[s] = 1.0
    outcome = belief_tree.learn_outcome(params, known, s, a, r, s_next, transition.terminated)
    if belief_tree.note_try(params, tree, s, a, outcome):
        # The values that were planned for this belief have come true; of several, the nearest node
        # is last.
        for z in range(tree.n[0] - 1, -1, -1):
            if belief_tree.has_come_true(tree, z):
                for b in range(Q.shape[1]):
                    if tree.chance[z, b] >= 0.0:
                        Q[tree.state[z], b] = memory.plan.action_values[z, b]
    back = memory.way_back[s, a]
    if outcome == OPEN and back >= 0 and known.next_state[s_next, back] < 0:
        known.next_state[s_next, back] = s
    before = Q[s, a]
    target = r if transition.terminated else r + params.discount * best_value(Q, s_next)
    Q[s, a] += params.learning_rate * (target - before)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)
    if params.volatility > 0.0 and (transition.terminated or transition.truncated):
        belief_tree.fade_beliefs(params, known, params.volatility)


# -- values, gain and need of belief states -----------------------------------------------


def _value(memory: Memory, z: int) -> float:
    """Return the value of a belief state: of its best move, or of its place at the horizon."""
    values, chance, best = memory.plan.action_values[z], memory.tree.chance[z], -np.inf
    for a in range(len(values)):
        if chance[a] > NOWHERE:
            best = max(best, values[a])
    return best if best > -np.inf else best_value(memory.plan.action_values, z)


def _target(params: Params, memory: Memory, z: int, a: int) -> float:
    """Return the expected return of an action, over its outcomes."""
    tree, s = memory.tree, memory.tree.state[z]
    target, chance = 0.0, tree.chance[z, a]
    for outcome in range(2):
        value = memory.known.reward[s, a] if outcome == OPEN else 0.0
        if tree.child[z, a, outcome] >= 0:
            value += params.discount * _value(memory, tree.child[z, a, outcome])
        target += (chance if outcome == OPEN else 1.0 - chance) * value
    return target


def _weight(params: Params, memory: Memory, z: int, a: int, value: float, best: float) -> float:
    """Return the probability of an action, up to a factor."""
    if memory.tree.chance[z, a] == NOWHERE:
        return 0.0
    return math.exp(params.inverse_temperature * (value - best))


def _gain(params: Params, memory: Memory, z: int, a: int) -> float:
    """Return how much more, by the new values, the policy earns after backing up an action."""
    values, policy = memory.plan.action_values[z], memory.plan.policy[z]
    before = values[a]
    values[a] = before + params.replay_rate * (_target(params, memory, z, a) - before)
    best, total, earned, earned_before = _value(memory, z), 0.0, 0.0, 0.0
    for b in range(len(values)):
        weight = _weight(params, memory, z, b, values[b], best)
        total += weight
        earned += weight * values[b]
        earned_before += policy[b] * values[b]
    values[a] = before
    return earned / total - earned_before


def _set_gains(params: Params, memory: Memory, z: int) -> None:
    for a in range(memory.plan.gain.shape[1]):
        is_move = memory.tree.chance[z, a] >= 0.0
        memory.plan.gain[z, a] = _gain(params, memory, z, a) if is_move else 0.0


def _set_policy(params: Params, memory: Memory, z: int) -> None:
    """Compute the policy of a belief state, and pass its visits on accordingly."""
    tree, plan, best, total = memory.tree, memory.plan, _value(memory, z), 0.0
    for a in range(plan.policy.shape[1]):
        total += _weight(params, memory, z, a, plan.action_values[z, a], best)
    for a in range(plan.policy.shape[1]):
        if tree.chance[z, a] > NOWHERE:
            share = _weight(params, memory, z, a, plan.action_values[z, a], best) / total
            _send(params, memory, z, a, plan.need[z] * (share - plan.policy[z, a]))
            plan.policy[z, a] = share


def _send(params: Params, memory: Memory, z: int, a: int, visits: float) -> None:
    """Pass visits on to the nodes to which an action leads."""
    tree, plan, chance = memory.tree, memory.plan, memory.tree.chance[z, a]
    for outcome in range(2):
        if tree.child[z, a, outcome] >= 0:
            share = chance if outcome == OPEN else 1.0 - chance
            plan.missing[tree.child[z, a, outcome]] += params.discount * share * visits


def _count_need(params: Params, memory: Memory) -> None:
    """Add the missing visits to need, and pass them on, until they are negligible."""
    plan, n, is_left = memory.plan, memory.tree.n[0], True
    while is_left:
        is_left = False
        for z in range(n):
            visits = plan.missing[z]
            if abs(visits) > _NEGLIGIBLE:
                is_left = True
                plan.missing[z] = 0.0
                plan.need[z] += visits
                for a in range(plan.policy.shape[1]):
                    if plan.policy[z, a] > 0.0:
                        _send(params, memory, z, a, plan.policy[z, a] * visits)


# -- replay -------------------------------------------------------------------------------


def make_plan(params: Params, memory: Memory) -> None:
    """Grow the tree of possible belief states, and compute the need and gain of each backup."""
    tree, made, begin = memory.tree, memory.plan, memory.begin
    belief_tree.clear_tree(tree)
    for s in range(len(begin)):
        if begin[s] > 0.0:
            belief_tree.add_root(params, tree, s)
    belief_tree.grow(params, memory.known, tree)
    for z in range(tree.n[0]):
        for a in range(made.action_values.shape[1]):
            made.action_values[z, a] = memory.action_values[tree.state[z], a]
    evaluate_plan(params, memory)


def evaluate_plan(params: Params, memory: Memory) -> None:
    """Compute policy, need and gain of all belief states from their values."""
    tree, made, n = memory.tree, memory.plan, memory.tree.n[0]
    made.need[:n] = 0.0
    made.policy[:n] = 0.0
    for z in range(n):
        made.missing[z] = memory.begin[tree.state[z]] if tree.depth[z] == 0 else 0.0
        _set_policy(params, memory, z)
    _count_need(params, memory)
    for z in range(n):
        _set_gains(params, memory, z)


def _best(memory: Memory) -> tuple[int, int, float]:
    """Return the backup of the largest expected value, and that value; of several, the deepest."""
    gain, need, depth = memory.plan.gain, memory.plan.need, memory.tree.depth
    best_z, best_a, most = -1, -1, 0.0
    for z in range(memory.tree.n[0]):
        for a in range(gain.shape[1]):
            worth = gain[z, a] * need[z]
            if worth > most or (worth == most > 0.0 and depth[z] > depth[best_z]):
                best_z, best_a, most = z, a, worth
    return best_z, best_a, most


def _back_up(params: Params, memory: Memory, z: int, a: int) -> None:
    """Back up an action in a belief state, and update policy, need and gains."""
    tree, values = memory.tree, memory.plan.action_values
    n_actions = values.shape[1]
    before = _value(memory, z)
    values[z, a] += params.replay_rate * (_target(params, memory, z, a) - values[z, a])
    _set_policy(params, memory, z)
    _count_need(params, memory)
    _set_gains(params, memory, z)
    if _value(memory, z) != before:
        place = tree.first_in[z]
        while place >= 0:
            u, b = place // (2 * n_actions), place // 2 % n_actions
            memory.plan.gain[u, b] = _gain(params, memory, u, b)
            place = tree.next_in[place]


def make_backups(
    params: Params, memory: Memory, phase: int, rng: Generator, log: BackupBuffer
) -> None:
    """Make the most valuable backup, again and again, until none is worth its time."""
    Q, tree, made = memory.action_values, memory.tree, memory.plan
    last_z, last_a, row = -1, -1, -1
    for pop in range(params.max_backups):
        z, a, worth = _best(memory)
        if z < 0 or worth <= params.min_priority:
            break
        if not pauses.goes_on(params, memory.earnings, worth, rng):
            break
        gain, need, s = made.gain[z, a], made.need[z], tree.state[z]
        _back_up(params, memory, z, a)
        before = Q[s, a]
        if tree.is_now[z]:
            Q[s, a] = made.action_values[z, a]
        is_open = tree.chance[z, a] > 0.0
        s_next = memory.known.next_state[s, a] if is_open else s
        r = memory.known.reward[s, a] if is_open else 0.0
        joins = last_z >= 0 and (
            tree.child[z, a, OPEN] == last_z or tree.child[last_z, last_a, OPEN] == z
        )
        cause = row if joins else -1
        row = record(log, phase, s, a, s_next, before, Q[s, a], r, worth, pop, cause, gain, need)
        last_z, last_a = z, a


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Plan from where the agent is, or where it will start; then, once a step, forget."""
    if pause.phase == START:
        memory.starts[pause.state] += 1.0
    if pauses.is_due(params.replay_at, pause.phase) and memory.starts.sum() > 0.0:
        starts, total = memory.starts, memory.starts.sum()
        # Between episodes the agent will be where episodes have started.
        is_between = pause.phase == EPISODE_END or pause.phase == REST
        for s in range(len(starts)):
            memory.begin[s] = starts[s] / total if is_between else 0.0
        if not is_between:
            memory.begin[pause.state] = 1.0
        make_plan(params, memory)
        make_backups(params, memory, pause.phase, rng, log)
    if params.forgetting > 0.0 and (pause.phase == STEP or pause.phase == EPISODE_END):
        for s in range(memory.action_values.shape[0]):
            for a in range(memory.action_values.shape[1]):
                memory.action_values[s, a] *= 1.0 - params.forgetting
