"""Bayes-adaptive replay: gain times need over what one may come to know, so that it explores.

Memory access [1]_ takes the world for known, and so replays what is good to know already. Here some
moves are in doubt: a barrier may be there, or gone. A belief state z is a place and what is
believed of these moves, Beta(alpha, beta) each; to try one changes the belief by Bayes' rule.
Values are those of belief states, and what exploring is worth is in them: behind a barrier that may
be open lies a short way, which one would take ever after. A backup in replay is of one action in
one belief state that may come,

    Q(z, a) += alpha_r (sum over outcomes of b(outcome) (r + gamma max Q(z', .)) - Q(z, a)),

and what is replayed next is what gains most where one will be most,

    EVB(z, a) = Need(z) Gain(z, a),  Gain = sum over a of (pi_new - pi_old)(a | z) Q_new(z, a),

with Need the discounted number of visits to z by the softmax policy pi, from where the agent is; at
an episode's end and at rest, from where episodes have started so far. So replay goes from beyond
the barrier back to where the agent is, which then goes and looks. The values of the present belief
are the action values by which it acts. Where a try changes the belief, the values that were planned
for the new one take their place.

The authors say which moves are in doubt and how likely they are open; all others are known. Here a
move that was made is known, and one try tells (`one_try_tells`); a move that led somewhere and is
shut now leads there still if it is open again. Beliefs go back to the prior by `volatility`, each
episode, since worlds change. With 0, as in the paper, only what was never tried is in doubt: by
default nothing is known of it, but `untried` lets ways back be known, or all that can be seen. The
nearest `n_uncertain` moves in doubt count; others are taken to be as is likelier, so that nothing
seems to be gained by trying them.

The policy is over all moves but those that are known to lead nowhere; where an untried one leads
to is beyond the tree. Of the paper the abstract was read, and the authors' code [3]_ in full. It
plans up to a horizon, as here; in mazes with one node a belief state, in bandits with one a history
(`merges`). It estimates need in mazes from 2,000 random walks and adds visits of a chain in which
nothing is learned; here need is solved for. In mazes it adds to the EVB that of the same backup in
other belief states of that place, though the backup is made in one, and it can make sequences of
backups as one; neither is done here. That changes the order of backups, and which of the smallest
are left out.

A backup in an imagined belief leaves `q_before` and `q_after` of the log as they are, which are
values of the present one. With 200 belief states a backup takes 2 to 20 microseconds, the growing
of the tree included.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
.. [2] Antonov & Dayan (2025), Exploring replay. https://doi.org/10.1038/s41467-025-56731-y
.. [3] https://github.com/geoant1/exploring_replay
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.contract import Between, Choice, Description, Known, Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, ONLINE, REST, START, STEP, BackupBuffer, record
from replay.parts.belief_tree import (
    NOWHERE,
    OPEN,
    Beliefs,
    BeliefTree,
    add_root,
    belief_tree,
    beliefs,
    clear_tree,
    fade_beliefs,
    grow,
    has_come_true,
    learn_outcome,
    note_try,
)
from replay.parts.known_world import known_world, likeliest_outcomes
from replay.parts.pauses import Earnings, earnings, earnings_words, goes_on, note_experience
from replay.parts.policies import SOFTMAX, Policy, best_value, draw_action
from replay.parts.priorities import IN_PAUSES, is_due, most_pauses, phases_of
from replay.worlds.mdp import MDP

__all__ = ["Memory", "Params", "Plan", "act", "description", "evaluate", "evaluates", "explore"]
__all__ += ["init", "learn", "make_backups", "most_backups", "n_words", "needs_way_back", "plan"]
__all__ += ["replay"]

UNTRIED = ("unknown", "way_back", "seen")
"""What is known of where moves lead that were never made: nothing; that a move can be undone; or
all, as the maze is seen. Whether they are open is in doubt."""
UNKNOWN, WAY_BACK, SEEN = range(3)
_NEGLIGIBLE = 1e-11  # visits that need may lack in a belief state


class Params(NamedTuple):
    """Parameters of Bayes-adaptive replay.

    Attributes
    ----------
    discount : float
        gamma: discount factor per step; below 1.
    inverse_temperature : float
        beta: of the softmax policy, by which the agent acts and for which gain and need count.
    learning_rate : float
        alpha, online: share of the way to its target that Q moves.
    replay_rate : float
        alpha_r: the same in replay.
    forgetting : float
        Share of all action values that is lost at each step.
    prior_open, prior_shut : float
        alpha and beta: of the Beta distribution of how likely a move is open, before any try.
    one_try_tells : bool
        Whether after a try it is known for sure whether a move is open, as of barriers; if not,
        tries are counted, as of bandits.
    volatility : float
        Share of what is believed that goes back to the prior when an episode ends.
    untried : {"unknown", "way_back", "seen"}
        What is known of where moves lead that were never made: nothing, that moves can be undone,
        or all, as the maze is seen.
    n_uncertain : int
        Moves in doubt, at most.
    least_doubt : float
        A move of which one outcome is no likelier than this is not in doubt.
    horizon : int
        Moves that are looked ahead.
    n_belief_states : int
        Belief states at most; the nearest ones count.
    merges : bool
        Whether histories that lead to the same place and belief are one belief state.
    replay_at : {"pauses", "start_and_end", "step", "episode_end", "rest"}
        When there is replay, as :data:`replay.parts.priorities.MOMENTS` says.
    max_backups : int
        Backups at most at each pause.
    min_priority : float
        xi: a backup of no more expected value than this is not made, and ends the pause.
    backup_cost : float
        Duration of a backup, in steps: a pause ends when the next backup is expected to gain no
        more than so many steps earn on average; see :mod:`replay.parts.pauses`. 0: no time.
    mean_backups : float
        Mean number of backups after which a pause ends at random; infinite: it does not.
    """

    discount: ranges.DiscountBelowOne = 0.9
    inverse_temperature: ranges.InverseTemperature = 5.0
    learning_rate: ranges.Share = 1.0
    replay_rate: ranges.Share = 1.0
    forgetting: ranges.Share = 0.0
    prior_open: Annotated[float, Between(1e-3, 1e6)] = 1.0
    prior_shut: Annotated[float, Between(1e-3, 1e6)] = 1.0
    one_try_tells: bool = True
    volatility: ranges.Share = 0.0
    untried: Annotated[int, Choice(UNTRIED)] = UNKNOWN
    n_uncertain: Annotated[int, Between(0, 10)] = 3
    least_doubt: Annotated[float, Between(0.0, 0.5)] = 0.1
    horizon: Annotated[int, Between(1, 10_000)] = 100
    n_belief_states: Annotated[int, Between(1, 100_000)] = 200
    merges: bool = True
    replay_at: ranges.Moment = IN_PAUSES
    max_backups: ranges.Count = 20
    min_priority: ranges.Threshold = 0.0
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf


class Plan(NamedTuple):
    """What is computed for each node of the tree.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_nodes, n_actions)
        Q of belief states.
    policy : ndarray of float64, shape (n_nodes, n_actions)
        pi, how likely each action is.
    gain : ndarray of float64, shape (n_nodes, n_actions)
        What backing it up gains.
    need : ndarray of float64, shape (n_nodes,)
        How often it will be visited.
    missing : ndarray of float64, shape (n_nodes,)
        Visits that are not in `need` yet, nor in that of what follows.
    """

    action_values: NDArray[np.float64]
    policy: NDArray[np.float64]
    gain: NDArray[np.float64]
    need: NDArray[np.float64]
    missing: NDArray[np.float64]


class Memory(NamedTuple):
    """What Bayes-adaptive replay keeps.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q of the present belief.
    known : Beliefs
        What is believed of each move.
    way_back : ndarray of int32, shape (n_states, n_actions)
        The action that undoes each move; -1 if that is not known.
    starts : ndarray of float64, shape (n_states,)
        How often episodes started in each state.
    begin : ndarray of float64, shape (n_states,)
        How likely one begins in each place, as of the latest pause.
    tree : BeliefTree
        The belief states that may come, as of the latest pause.
    plan : Plan
        Their values, needs and gains.
    earnings : Earnings
        Rewards and changes of values so far, on which the end of a pause depends.
    """

    action_values: NDArray[np.float64]
    known: Beliefs
    way_back: NDArray[np.int32]
    starts: NDArray[np.float64]
    begin: NDArray[np.float64]
    tree: BeliefTree
    plan: Plan
    earnings: Earnings


def description(params: Params) -> Description:
    """Describe what is stored, and what is replayed, when and why."""
    stores = "beliefs of where each pair leads; values of what may be known"
    phases = tuple(sorted(phases_of(params.replay_at)))
    return Description(stores, phases, "gain x need, over beliefs", "Antonov & Dayan 2025")


def evaluates(params: Params) -> bool:
    """Gain and need of each backup are logged."""
    return True


def needs_way_back(params: Params) -> bool:
    """Tell whether ways back are known of."""
    return params.untried == WAY_BACK


def init(params: Params, sizes: Sizes) -> Memory:
    """Return the memory of a learner without experience."""
    shape, n = (sizes.n_states, sizes.n_actions), params.n_belief_states
    table = (n, sizes.n_actions)
    unknown = np.full(shape, -1, dtype=np.int32)
    return Memory(
        np.zeros(shape),
        beliefs(params, *shape),
        unknown if sizes.way_back is None else sizes.way_back,
        np.zeros(sizes.n_states),
        np.zeros(sizes.n_states),
        belief_tree(params, *shape),
        Plan(np.zeros(table), np.zeros(table), np.zeros(table), np.zeros(n), np.zeros(n)),
        earnings(),
    )


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """See where each move would lead, if the maze is seen."""
    if params.untried == SEEN:
        next_state = likeliest_outcomes(known_world("untried", mdp, memory.way_back.shape[1]))
        for s, a in np.argwhere(next_state >= 0):
            if next_state[s, a] != s:
                memory.known.next_state[s, a] = next_state[s, a]
                memory.known.ends[s, a] = next_state[next_state[s, a], 0] < 0


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound of the backups of the next step."""
    return 1 + most_pauses(params.replay_at) * params.max_backups


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q, beliefs, where moves lead and what they earn; the latest tree."""
    n, n_uncertain = memory.tree.n
    n_moves = int((memory.tree.chance[:n] >= 0.0).sum())
    held = int(n * (1 + 2 * n_uncertain)) + 4 * n_moves
    return 5 * known.pairs + known.states + held + earnings_words(params)


def act(params: Params, memory: Memory, state: int, rng: Generator) -> int:
    """Draw an action of the softmax policy."""
    policy = Policy(SOFTMAX, params.inverse_temperature, 0.0)
    return draw_action(policy, memory.action_values, state, rng)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Make a step of Q-learning, and change what is believed of the move."""
    Q, known, tree = memory.action_values, memory.known, memory.tree
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    note_experience(params, memory.earnings, Q, transition)
    if memory.starts.sum() == 0.0:
        memory.starts[s] = 1.0
    outcome = learn_outcome(params, known, s, a, r, s_next, transition.terminated)
    if note_try(params, tree, s, a, outcome):
        _take_values_of_belief(memory)
    back = memory.way_back[s, a]
    if outcome == OPEN and back >= 0 and known.next_state[s_next, back] < 0:
        known.next_state[s_next, back] = s
    before = Q[s, a]
    target = r if transition.terminated else r + params.discount * best_value(Q, s_next)
    Q[s, a] += params.learning_rate * (target - before)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)
    if params.volatility > 0.0 and (transition.terminated or transition.truncated):
        fade_beliefs(params, known, params.volatility)


def _take_values_of_belief(memory: Memory) -> None:
    """Act from now on by what was planned for the belief that has come true."""
    tree = memory.tree
    for z in range(tree.n[0] - 1, -1, -1):  # of several, the nearest is last
        if has_come_true(tree, z):
            for a in range(tree.chance.shape[1]):
                if tree.chance[z, a] >= 0.0:
                    memory.action_values[tree.state[z], a] = memory.plan.action_values[z, a]


# -- values, gain and need of belief states -----------------------------------------------


def _value(memory: Memory, z: int) -> float:
    """Return the value of a belief state: of the best move; at the horizon, what Q has now."""
    values, chance, best = memory.plan.action_values[z], memory.tree.chance[z], -np.inf
    for a in range(len(values)):
        if chance[a] > NOWHERE:
            best = max(best, values[a])
    return best if best > -np.inf else best_value(memory.plan.action_values, z)


def _target(params: Params, memory: Memory, z: int, a: int) -> float:
    """Return what an action is expected to be worth, over what it may bring."""
    tree, s = memory.tree, memory.tree.state[z]
    target, chance = 0.0, tree.chance[z, a]
    for outcome in range(2):
        value = memory.known.reward[s, a] if outcome == OPEN else 0.0
        if tree.child[z, a, outcome] >= 0:
            value += params.discount * _value(memory, tree.child[z, a, outcome])
        target += (chance if outcome == OPEN else 1.0 - chance) * value
    return target


def _weight(params: Params, memory: Memory, z: int, a: int, value: float, best: float) -> float:
    """Return how likely an action is, up to a factor."""
    if memory.tree.chance[z, a] == NOWHERE:
        return 0.0
    return math.exp(params.inverse_temperature * (value - best))


def _gain(params: Params, memory: Memory, z: int, a: int) -> float:
    """Return what the policy earns more, by the new values, for having backed up an action."""
    values, policy, before = (
        memory.plan.action_values[z],
        memory.plan.policy[z],
        memory.plan.action_values[z, a],
    )
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
    """Compute the policy of a belief state, and send its visits where it goes now."""
    tree, plan, best, total = memory.tree, memory.plan, _value(memory, z), 0.0
    for a in range(plan.policy.shape[1]):
        total += _weight(params, memory, z, a, plan.action_values[z, a], best)
    for a in range(plan.policy.shape[1]):
        if tree.chance[z, a] > NOWHERE:
            share = _weight(params, memory, z, a, plan.action_values[z, a], best) / total
            _send(params, memory, z, a, plan.need[z] * (share - plan.policy[z, a]))
            plan.policy[z, a] = share


def _send(params: Params, memory: Memory, z: int, a: int, visits: float) -> None:
    """Let visits go on by an action."""
    tree, plan, chance = memory.tree, memory.plan, memory.tree.chance[z, a]
    for outcome in range(2):
        if tree.child[z, a, outcome] >= 0:
            share = chance if outcome == OPEN else 1.0 - chance
            plan.missing[tree.child[z, a, outcome]] += params.discount * share * visits


def _count_need(params: Params, memory: Memory) -> None:
    """Count the visits that are missing, and send them on, until next to none is left."""
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


def plan(params: Params, memory: Memory) -> None:
    """Grow the tree of what may come, and find what each backup in it is worth.

    Parameters
    ----------
    params : Params
        The parameters.
    memory : Memory
        Its tree and plan are made anew; values of belief states are those of their places now.
    """
    tree, made, begin = memory.tree, memory.plan, memory.begin
    clear_tree(tree)
    for s in range(len(begin)):
        if begin[s] > 0.0:
            add_root(params, tree, s)
    grow(params, memory.known, tree)
    for z in range(tree.n[0]):
        for a in range(made.action_values.shape[1]):
            made.action_values[z, a] = memory.action_values[tree.state[z], a]
    evaluate(params, memory)


def evaluate(params: Params, memory: Memory) -> None:
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
    """Return the backup that is worth most, and its worth; of several, the furthest ahead."""
    gain, need, depth = memory.plan.gain, memory.plan.need, memory.tree.depth
    best_z, best_a, most = -1, -1, 0.0
    for z in range(memory.tree.n[0]):
        for a in range(gain.shape[1]):
            worth = gain[z, a] * need[z]
            if worth > most or (worth == most > 0.0 and depth[z] > depth[best_z]):
                best_z, best_a, most = z, a, worth
    return best_z, best_a, most


def _back_up(params: Params, memory: Memory, z: int, a: int) -> None:
    """Make the backup of an action in a belief state, and change what follows from it."""
    tree, values, n_actions = (
        memory.tree,
        memory.plan.action_values,
        memory.plan.action_values.shape[1],
    )
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
    """Make the backup that is worth most, again and again, until none is worth enough.

    Parameters
    ----------
    params : Params
        The parameters.
    memory : Memory
        With a plan.
    phase : int
        Of the pause.
    rng : numpy.random.Generator
        Source of randomness.
    log : BackupBuffer
        Where backups are recorded.
    """
    Q, tree, made = memory.action_values, memory.tree, memory.plan
    last_z, last_a, row = -1, -1, -1
    for pop in range(params.max_backups):
        z, a, worth = _best(memory)
        if (
            z < 0
            or worth <= params.min_priority
            or not goes_on(params, memory.earnings, worth, rng)
        ):
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
    if is_due(params.replay_at, pause.phase) and memory.starts.sum() > 0.0:
        _set_begin(memory, pause)
        plan(params, memory)
        make_backups(params, memory, pause.phase, rng, log)
    if params.forgetting > 0.0 and (pause.phase == STEP or pause.phase == EPISODE_END):
        for s in range(memory.action_values.shape[0]):
            for a in range(memory.action_values.shape[1]):
                memory.action_values[s, a] *= 1.0 - params.forgetting


def _set_begin(memory: Memory, pause: Pause) -> None:
    """Begin where episodes have started; in an episode, where the agent is."""
    starts, total = memory.starts, memory.starts.sum()
    is_between = pause.phase == EPISODE_END or pause.phase == REST
    for s in range(len(starts)):
        memory.begin[s] = starts[s] / total if is_between else 0.0
    if not is_between:
        memory.begin[pause.state] = 1.0
