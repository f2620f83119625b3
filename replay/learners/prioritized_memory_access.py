"""Prioritized memory access: what is replayed next is what would earn most, gain times need.

After each step Q-learning updates Q, and the chain T of states moves towards the state just
reached. At an episode's end and start the learner makes a few backups of remembered transitions,
the one with the largest expected value first. The gain of a backup is what the policy earns more in
its state for having changed; the need of a state is how often the agent will visit it, discounted.
A backup may also extend the last one by a greedy step, as an n-step backup of the whole path.

The value of a state is that of its best action, or with ``on_policy`` the mean under the softmax
policy. Moves that lead nowhere (bumps) are not replayed, and nothing is before the first reward.
Besides Q the learner keeps only what the latest try of each pair led to. It computes anew only the
gains that a backup may have changed, and need once a pause.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

import math
from typing import NamedTuple

import numpy as np

from replay.account import Account
from replay.backups import EPISODE_END, ONLINE, REST, START, STEP, record
from replay.markov_chain import (
    MarkovChain,
    chain_words,
    expected_visits,
    long_run_shares,
    markov_chain,
    move,
    set_edge,
)
from replay.policies import epsilon_greedy, softmax
from replay.world_model import WorldModel, model_words, observe, world_model

__all__ = ["EVALUATES", "Memory", "Params", "account", "act", "explore", "init", "learn"]
__all__ += ["most_backups", "n_words", "replay"]

EVALUATES = True

_LARGEST_EXPONENT = 700.0


class Params(NamedTuple):
    """Parameters of prioritized memory access.

    Attributes
    ----------
    discount : float
        Weight of the future, a step; below 1.
    inverse_temperature : float
        Of the softmax policy, by which the agent acts and gains are counted.
    learning_rate : float
        Share of the way to the target that an action value moves, online and in replay.
    transition_rate : float
        Share of the way to the latest move that a row of T moves.
    max_backups : int
        Backups at most at each pause; one of n steps counts once.
    min_priority : float
        A backup of no more expected value than this is not made, and ends the pause.
    gain_floor : float
        The least that each step of a backup is taken to gain. The published 1e-10 lets need alone
        decide where nothing is to be gained; 0 is the theory as it stands.
    n_step : bool
        Whether a backup may extend the last one.
    on_policy : bool
        Whether a state's value is that of the softmax policy, instead of its best action's.
    use_need : bool
        Whether need counts; if not, it is 1 everywhere.
    link_starts : bool
        Whether T goes on from an episode's end to the next one's start.
    pre_explored : bool
        Whether every action was tried once in every state before the first step, without reward.
    one_step_late : bool
        Whether, as in the published code, replay at a start waits for the first step, and need is
        counted from the state before the latest step, at an end too.
    """

    discount: float = 0.9
    inverse_temperature: float = 5.0
    learning_rate: float = 1.0
    transition_rate: float = 0.9
    max_backups: int = 20
    min_priority: float = 0.0
    gain_floor: float = 1e-10
    n_step: bool = True
    on_policy: bool = False
    use_need: bool = True
    link_starts: bool = True
    pre_explored: bool = False
    one_step_late: bool = False


class Path(NamedTuple):
    """The backup made last, and what would extend it.

    Attributes
    ----------
    state, action : ndarray of int32, shape (n_states,)
        Its steps.
    target, gain : ndarray of float64, shape (n_states,)
        The n-step return from each of them on, and the gain of learning it.
    """

    state: np.ndarray
    action: np.ndarray
    target: np.ndarray
    gain: np.ndarray


class Memory(NamedTuple):
    """What prioritized memory access keeps.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    values : ndarray of float64, shape (n_states,)
        V, the value of each state.
    next_state : ndarray of int32, shape (n_states, n_actions)
        Where each pair led to last; -1 if it was never tried.
    reward : ndarray of float64, shape (n_states, n_actions)
        What it earned then.
    gain : ndarray of float64, shape (n_states, n_actions)
        The gain of backing up each pair.
    need : ndarray of float64, shape (n_states,)
        How often each state will be visited, from this pause on.
    priority : ndarray of float64, shape (n_states, n_actions)
        The expected value of backing up each pair; -1 for what is not replayed.
    shares : ndarray of float64, shape (n_states,)
        Need at rest: the share of time spent in each state.
    path : Path
        The backup made last.
    model : WorldModel
        Transitions seen, for their predecessors.
    chain : MarkovChain
        T.
    stale : ndarray of int32, shape (n_states,)
        States whose gains have to be computed anew; the first ``n_stale[0]`` of them count.
    is_stale : ndarray of bool, shape (n_states,)
        Whether a state is one of them.
    n_stale : ndarray of int64, shape (1,)
        How many there are.
    moment : ndarray of int64, shape (5,)
        The state before the latest step, the first state of the episode (-1 before its first
        step), the state in which the last episode ended (-1 if it was cut off), whether a reward
        was ever met, and whether replay waits for a first step.
    """

    action_values: np.ndarray
    values: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray
    gain: np.ndarray
    need: np.ndarray
    priority: np.ndarray
    shares: np.ndarray
    path: Path
    model: WorldModel
    chain: MarkovChain
    stale: np.ndarray
    is_stale: np.ndarray
    n_stale: np.ndarray
    moment: np.ndarray


_BEFORE, _FIRST, _END, _REWARDED, _WAITING = range(5)


def account(params):
    """Say what is stored, and what is replayed when and why."""
    phases = (STEP, EPISODE_END, REST) if params.one_step_late else (EPISODE_END, START, REST)
    priority = "gain x need" if params.use_need else "gain"
    stores = "the last try of each pair; moves between states"
    return Account(stores, phases, priority, "Mattar & Daw 2018")


def init(params, sizes):
    """Make the memory of a learner that has experienced nothing."""
    if params.discount == 1.0:
        raise ValueError(
            "prioritized_memory_access counts need over all that is to come, so discount must be "
            "below 1, got 1."
        )
    n_states, shape = sizes.n_states, (sizes.n_states, sizes.n_actions)
    return Memory(
        np.zeros(shape),
        np.zeros(n_states),
        np.full(shape, -1, dtype=np.int32),
        np.zeros(shape),
        np.zeros(shape),
        np.ones(n_states),
        np.full(shape, -1.0),
        np.full(n_states, 1.0 / n_states),
        Path(
            np.zeros(n_states, dtype=np.int32),
            np.zeros(n_states, dtype=np.int32),
            np.zeros(n_states),
            np.zeros(n_states),
        ),
        world_model(*shape, sizes.n_transitions),
        markov_chain(n_states, sizes.n_transitions + sizes.n_links),
        np.zeros(n_states, dtype=np.int32),
        np.zeros(n_states, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
        np.array([-1, -1, -1, 0, 0]),
    )


def explore(params, memory, mdp):
    """Try every action once in every state, without reward; of several outcomes, the likeliest."""
    if not params.pre_explored:
        return
    if mdp is None:
        raise ValueError("pre_explored needs to know the world: give feed its mdp.")
    starts = np.flatnonzero(mdp.start_probability)
    for s in range(mdp.n_states):
        shares = np.zeros(mdp.n_states)
        if mdp.terminal[s]:
            shares[starts] = mdp.start_probability[starts] * params.link_starts
        else:
            for a in range(mdp.n_actions):
                outcomes = slice(*mdp.successor_offset[s * mdp.n_actions + a :][:2])
                successors, probability = mdp.successor[outcomes], mdp.probability[outcomes]
                np.add.at(shares, successors, probability / mdp.n_actions)
                s_next = successors[probability.argmax()]
                memory.next_state[s, a] = s_next
                observe(memory.model, s, a, s_next, mdp.terminal[s_next])
            _mark(memory, s)
        for s_next in np.flatnonzero(shares):
            set_edge(memory.chain, s, s_next, shares[s_next])


def most_backups(params, memory):
    """Bound the backups of the next step: at its two pauses, each path at most a step longer."""
    growing = min(params.max_backups, len(memory.need))
    a_pause = growing * (growing + 1) // 2 + (params.max_backups - growing) * growing
    return 1 + 2 * a_pause


def n_words(params, memory, known):
    """Count the numbers held from one pause to the next.

    They are Q, next state, reward, gain and priority of each pair, V of each state, the states
    whose gain is stale, twice, the model and the chain. Need and paths are made anew.
    """
    tables = 5 * known.pairs + known.states + 2 * memory.n_stale[0]
    return tables + model_words(memory.model) + chain_words(memory.chain)


def act(params, memory, state, rng):
    """Draw an action of the softmax policy."""
    return softmax(memory.action_values, state, params.inverse_temperature, rng)


def _value(params, memory, s):
    """Return the value of a state: its best action's, or the mean over the policy."""
    Q = memory.action_values
    best = Q[s, 0]
    for a in range(1, Q.shape[1]):
        best = max(best, Q[s, a])
    if not params.on_policy:
        return best
    total = 0.0
    mean = 0.0
    for a in range(Q.shape[1]):
        weight = math.exp(params.inverse_temperature * (Q[s, a] - best))
        total += weight
        mean += weight * Q[s, a]
    return mean / total


def _gain(params, memory, s, a, target):
    """Return how much more the policy earns in s, at the new values, for having learned a target.

    Only the probability p of the action a against all others changes: the gain is the change of p
    times the difference between the new Q(s, a) and the mean Q of the others.
    """
    Q = memory.action_values
    after = Q[s, a] + params.learning_rate * (target - Q[s, a])
    if after == Q[s, a] or Q.shape[1] == 1:
        return 0.0
    beta = params.inverse_temperature
    best = -np.inf
    for b in range(Q.shape[1]):
        if b != a:
            best = max(best, Q[s, b])
    total = 0.0
    mean = 0.0
    for b in range(Q.shape[1]):
        if b != a:
            weight = math.exp(beta * (Q[s, b] - best))
            total += weight
            mean += weight * Q[s, b]
    mean /= total
    p_before = 1.0 / (1.0 + total * math.exp(min(beta * (best - Q[s, a]), _LARGEST_EXPONENT)))
    p_after = 1.0 / (1.0 + total * math.exp(min(beta * (best - after), _LARGEST_EXPONENT)))
    return (p_after - p_before) * (after - mean)


def _mark(memory, s):
    if not memory.is_stale[s]:
        memory.is_stale[s] = True
        memory.stale[memory.n_stale[0]] = s
        memory.n_stale[0] += 1


def _set_action_value(params, memory, s, a, target):
    """Let Q(s, a) learn a target, and mark whose gains this changes."""
    Q, V, model = memory.action_values, memory.values, memory.model
    Q[s, a] += params.learning_rate * (target - Q[s, a])
    _mark(memory, s)
    value = _value(params, memory, s)
    if value != V[s]:
        V[s] = value
        edge = model.first_in[s]
        while edge >= 0:
            _mark(memory, model.edges[edge]["state"])
            edge = model.edges[edge]["next_in"]


def learn(params, memory, transition, log):
    """Remember the transition, move T, and make the Q-learning update."""
    Q, V, moment = memory.action_values, memory.values, memory.moment
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    moment[_BEFORE] = s
    if moment[_FIRST] < 0:
        moment[_FIRST] = s
    if r != 0.0:
        moment[_REWARDED] = 1
    observe(memory.model, s, a, s_next, transition.terminated)
    move(memory.chain, s, s_next, params.transition_rate)
    memory.next_state[s, a] = s_next
    memory.reward[s, a] = r
    before = Q[s, a]
    _set_action_value(params, memory, s, a, r + params.discount * V[s_next])
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)


def _link(params, memory, pause):
    """Let T go on from an end to the start that follows; at first, to the episode's own start."""
    moment = memory.moment
    if pause.phase == EPISODE_END:
        moment[_END] = pause.state if pause.terminated and params.link_starts else -1
        if moment[_END] >= 0 and memory.chain.first_out[pause.state] < 0:
            move(memory.chain, pause.state, moment[_FIRST], 1.0)
        moment[_FIRST] = -1
    elif pause.phase == START and moment[_END] >= 0:
        move(memory.chain, moment[_END], pause.state, params.transition_rate)


def _origin(params, memory, pause):
    """Return from which state need is counted at this pause, or -1 if nothing is replayed."""
    moment = memory.moment
    waited = moment[_WAITING]
    if pause.phase != REST:
        moment[_WAITING] = params.one_step_late and pause.phase == START
    if not moment[_REWARDED]:
        return -1
    if not params.one_step_late:
        return -1 if pause.phase == STEP else pause.state
    if pause.phase == EPISODE_END or (pause.phase == STEP and waited):
        return moment[_BEFORE]
    return pause.state if pause.phase == REST else -1


def _look_ahead(params, memory, phase, origin):
    """Count the need of all states, and the priority of all pairs with it."""
    need, priority = memory.need, memory.priority
    if params.use_need:
        if phase == REST:
            long_run_shares(memory.chain, memory.shares)
            for s in range(len(need)):
                need[s] = memory.shares[s]
        else:
            expected_visits(memory.chain, origin, params.discount, need)
    for s in range(len(need)):
        for a in range(priority.shape[1]):
            if priority[s, a] >= 0.0:
                priority[s, a] = need[s] * max(memory.gain[s, a], params.gain_floor)


def _refresh(params, memory):
    """Compute the gains and priorities that are stale."""
    V = memory.values
    for i in range(memory.n_stale[0]):
        s = memory.stale[i]
        memory.is_stale[s] = False
        for a in range(memory.gain.shape[1]):
            s_next = memory.next_state[s, a]
            if s_next < 0 or s_next == s:
                memory.priority[s, a] = -1.0
            else:
                target = memory.reward[s, a] + params.discount * V[s_next]
                gain = _gain(params, memory, s, a, target)
                memory.gain[s, a] = gain
                memory.priority[s, a] = memory.need[s] * max(gain, params.gain_floor)
    memory.n_stale[0] = 0


def _best_pair(memory, rng):
    """Return the state and action of highest priority; of several pairs, one at random."""
    priority = memory.priority
    n_states, n_actions = priority.shape
    best = -np.inf
    first = 0
    n_best = 0
    for s in range(n_states):
        for a in range(n_actions):
            if priority[s, a] > best:
                best = priority[s, a]
                first = s * n_actions + a
                n_best = 1
            elif priority[s, a] == best:
                n_best += 1
    pair = first
    if n_best > 1 and best > 0.0:
        n_before = int(rng.random() * n_best)
        while n_before > 0:
            pair += 1
            if priority[pair // n_actions, pair % n_actions] == best:
                n_before -= 1
    return pair // n_actions, pair % n_actions


def _begin_path(params, memory, s, a):
    """Make a path of one step, and return its priority."""
    path = memory.path
    path.state[0] = s
    path.action[0] = a
    path.gain[0] = memory.gain[s, a]
    path.target[0] = memory.reward[s, a] + params.discount * memory.values[memory.next_state[s, a]]
    return memory.priority[s, a]


def _greedy_step(params, memory, length, rng):
    """Draw a greedy action at the end of the path; -1 if there is no path to extend."""
    if length == 0 or not params.n_step:
        return -1
    end = memory.next_state[memory.path.state[length - 1], memory.path.action[length - 1]]
    return epsilon_greedy(memory.action_values, end, 0.0, rng)


def _extend_path(params, memory, length, a):
    """Add a step to the path, and return the priority; -1 if the step is unknown or a loop."""
    path = memory.path
    if a < 0:
        return -1.0
    s = memory.next_state[path.state[length - 1], path.action[length - 1]]
    s_next = memory.next_state[s, a]
    if s_next < 0 or s_next == s:
        return -1.0
    for i in range(length):
        if path.state[i] == s_next:
            return -1.0
    path.state[length] = s
    path.action[length] = a
    target = memory.values[s_next]
    total = 0.0
    for i in range(length, -1, -1):
        target = memory.reward[path.state[i], path.action[i]] + params.discount * target
        gain = _gain(params, memory, path.state[i], path.action[i], target)
        path.target[i] = target
        path.gain[i] = gain
        total += max(gain, params.gain_floor)
    return memory.need[s] * total


def _back_up(params, memory, length, priority, phase, pop, cause, log):
    """Back up every step of the path, in order; return the row of the last one."""
    path, Q = memory.path, memory.action_values
    need = memory.need[path.state[length - 1]]
    for i in range(length):
        s, a = path.state[i], path.action[i]
        s_next, r = memory.next_state[s, a], memory.reward[s, a]
        before = Q[s, a]
        _set_action_value(params, memory, s, a, path.target[i])
        after = Q[s, a]
        cause = record(
            log, phase, s, a, s_next, before, after, r, priority, pop, cause, path.gain[i], need
        )
    return cause


def replay(params, memory, pause, rng, log):
    """Make the backup that is worth most, again and again, until none is worth anything."""
    _link(params, memory, pause)
    origin = _origin(params, memory, pause)
    if origin < 0:
        return
    _look_ahead(params, memory, pause.phase, origin)
    path, next_state = memory.path, memory.next_state
    length = 0
    row = -1
    end, end_next = -1, -1
    for pop in range(params.max_backups):
        _refresh(params, memory)
        priority = _extend_path(params, memory, length, _greedy_step(params, memory, length, rng))
        s, a = _best_pair(memory, rng)
        if priority > memory.priority[s, a]:
            length += 1
        else:
            length = 1
            priority = _begin_path(params, memory, s, a)
        if priority <= params.min_priority:
            break
        s, a = path.state[0], path.action[0]
        continues = length == 1 and (s == end_next or next_state[s, a] == end)
        cause = row if continues else -1
        row = _back_up(params, memory, length, priority, pause.phase, pop, cause, log)
        end = path.state[length - 1]
        end_next = next_state[end, path.action[length - 1]]
