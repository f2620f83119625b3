"""Prioritized memory access: what is replayed next is what would earn most, gain times need.

After each step Q-learning updates Q, and the chain T of states moves towards the state just
reached. At an episode's end and start the learner makes a few backups of remembered transitions,
the one with the largest expected value first. The gain of a backup is what the policy earns more in
its state for having changed; the need of a state is how often the agent will visit it, discounted.
A backup may also extend the last one by a greedy step, as an n-step backup of the whole path.

The value of a state is that of its best action, or with ``on_policy`` the mean under the policy.
Nothing is replayed before the first reward. Besides Q the learner keeps only what the latest try
of each pair led to. It computes anew only the gains that a backup may have changed, and need once a
pause, by what moved in T.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

from typing import Annotated, NamedTuple

import numpy as np

from replay.learners.contract import LARGEST, Between, Choice, Count, Description, Share, Threshold
from replay.log.backups import ONLINE, START, STEP, TRACE, record
from replay.parts.markov_chain import chain_words, move
from replay.parts.memory_access import laps, policy_gain, priority_table
from replay.parts.memory_access.exploration import explore_chain, explore_pairs
from replay.parts.memory_access.laps import Lap
from replay.parts.memory_access.need import NEEDS, ONE, SUCCESSORS, Need, count_need, need_of
from replay.parts.memory_access.paths import (
    Path,
    add_step,
    empty_path,
    end_of,
    is_extension,
    set_targets,
)
from replay.parts.memory_access.priority_table import PriorityTable
from replay.parts.memory_access.state_traces import (
    StateTraces,
    clear_state_traces,
    set_state_trace,
    state_traces,
)
from replay.parts.policies import epsilon_greedy
from replay.parts.priorities import IN_PAUSES, MOMENTS, phases_of
from replay.parts.world_model import WorldModel, model_words, observe, world_model

__all__ = ["Memory", "Params", "act", "description", "evaluates", "explore", "init", "learn"]
__all__ += ["most_backups", "n_words", "replay"]


class Params(NamedTuple):
    """Parameters of prioritized memory access.

    Attributes
    ----------
    discount : float
        Weight of the future, a step; below 1.
    act_policy : {"softmax", "epsilon_greedy"}
        The policy by which the agent acts, and by which it learns online with ``on_policy``.
    plan_policy : {"softmax", "epsilon_greedy"}
        The policy for which gains are counted, and values in replay with ``on_policy``.
    inverse_temperature : float
        Of the softmax policy.
    epsilon : float
        Of the epsilon-greedy policy: the probability of a random action.
    learning_rate : float
        Share of the way to the target that an action value moves, online and in replay.
    copy_targets : bool
        Whether in replay it moves all the way, whatever the learning rate.
    trace_decay : float
        Lambda of the eligibility traces by which the online update reaches earlier pairs.
    transition_rate : float
        Share of the way to the latest move that a row of T moves.
    replay_at : {"pauses", "start_and_end", "step", "episode_end", "rest"}
        When there is replay: at ends and starts of episodes and in rest, or as
        :data:`replay.parts.priorities.MOMENTS` says.
    one_step_late : bool
        Whether, as in the published code, replay at a start waits for the first step, and need is
        counted from the state before the latest step, at an end too.
    max_backups : int
        Backups at most at each pause; one of n steps counts once.
    min_priority : float
        A backup of no more expected value than this is not made, and ends the pause.
    opportunity_cost : bool
        Whether the mean reward of a step so far takes its place where that is less.
    use_gain : bool
        Whether gain counts; if not, that of a backup is 1, however many steps it has.
    gain_floor : float
        The least that each step of a backup is taken to gain. The published 1e-10 lets need alone
        decide where nothing is to be gained; 0 is the theory as it stands.
    need : {"successor_representation", "stationary_distribution", "current_state", "one"}
        What need is, as :data:`replay.parts.memory_access.need.NEEDS` says.
    n_step : bool
        Whether a backup may extend the last one.
    allow_loops : bool
        Whether it may then lead to where that one has been.
    replay_bumps : bool
        Whether moves that lead nowhere are replayed too.
    tie_break : {"shortest", "longest", "random"}
        Which is made of backups of one expected value and different length; chance does the rest.
    on_policy : bool
        Whether a state's value is the mean under the policy, instead of that of its best action,
        and backups are extended by that policy's actions, instead of greedy ones.
    link_starts : bool
        Whether T goes on from an episode's end to the next one's start.
    pre_explored : bool
        Whether every action was tried once in every state before the first step, without reward.
    """

    discount: Share = 0.9
    act_policy: Annotated[int, Choice(policy_gain.POLICIES)] = policy_gain.SOFTMAX
    plan_policy: Annotated[int, Choice(policy_gain.POLICIES)] = policy_gain.SOFTMAX
    inverse_temperature: Annotated[float, Between(1e-6, 700.0)] = 5.0
    epsilon: Share = 0.05
    learning_rate: Share = 1.0
    copy_targets: bool = False
    trace_decay: Share = 0.0
    transition_rate: Share = 0.9
    replay_at: Annotated[int, Choice(MOMENTS)] = IN_PAUSES
    one_step_late: bool = False
    max_backups: Count = 20
    min_priority: Threshold = 0.0
    opportunity_cost: bool = False
    use_gain: bool = True
    gain_floor: Annotated[float, Between(0.0, LARGEST)] = 1e-10
    need: Annotated[int, Choice(NEEDS)] = SUCCESSORS
    n_step: bool = True
    allow_loops: bool = False
    replay_bumps: bool = False
    tie_break: Annotated[int, Choice(priority_table.TIES)] = priority_table.SHORTEST
    on_policy: bool = False
    link_starts: bool = True
    pre_explored: bool = False


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
    table : PriorityTable
        Gain, and the expected value, of backing up each pair.
    path : Path
        The backup made last.
    traces : StateTraces
        Pairs tried lately in this episode.
    model : WorldModel
        Transitions seen, for their predecessors.
    need : Need
        How often each state will be visited, from the latest pause on, and T.
    lap : Lap
        Where the agent stands.
    """

    action_values: np.ndarray
    values: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray
    table: PriorityTable
    path: Path
    traces: StateTraces
    model: WorldModel
    need: Need
    lap: Lap


def description(params: Params) -> Description:
    """Say what is stored, and what is replayed when and why."""
    at_start = STEP if params.one_step_late else START
    phases = (at_start if phase == START else phase for phase in phases_of(params.replay_at))
    terms = ["gain"] * params.use_gain + ["need"] * (params.need != ONE)
    stores = "the last try of each pair; moves between states"
    return Description(
        stores, tuple(sorted(phases)), " x ".join(terms) or "any", "Mattar & Daw 2018"
    )


def evaluates(params: Params) -> bool:
    """Tell that gain and need of each backup are logged."""
    return True


def init(params, sizes):
    """Make the memory of a learner that has experienced nothing."""
    if params.discount == 1.0:
        raise ValueError(
            "prioritized_memory_access counts need as the visits to a state in all that is to "
            "come. Without discount they have no end, so discount must be below 1, got 1; 0.999 "
            "looks a thousand steps ahead."
        )
    n_states, shape = sizes.n_states, (sizes.n_states, sizes.n_actions)
    longest = params.max_backups if params.allow_loops else min(params.max_backups, n_states + 1)
    return Memory(
        np.zeros(shape),
        np.zeros(n_states),
        np.full(shape, -1, dtype=np.int32),
        np.zeros(shape),
        priority_table.priority_table(*shape),
        empty_path(longest),
        state_traces(n_states),
        world_model(*shape, sizes.n_transitions),
        need_of(n_states, sizes.n_transitions + sizes.n_links),
        laps.begin_lap(),
    )


def explore(params, memory, mdp):
    """Try every action once in every state, without reward; of several outcomes, the likeliest."""
    if not params.pre_explored:
        return
    if mdp is None:
        raise ValueError("pre_explored needs to know the world: give feed its mdp.")
    memory.next_state[:] = explore_pairs(memory.model, mdp)
    explore_chain(memory.need.chain, mdp, params.link_starts)
    for s in range(mdp.n_states):
        priority_table.mark_stale(memory.table, s)
    laps.note_tries(memory.lap, np.count_nonzero(memory.next_state >= 0))


def most_backups(params, memory):
    """Bound the backups of the next step: at its two pauses, each path at most a step longer."""
    growing = min(params.max_backups, len(memory.path.state))
    a_pause = growing * (growing + 1) // 2 + (params.max_backups - growing) * growing
    traced = len(memory.values) if params.trace_decay > 0.0 else 1
    return traced + 2 * a_pause


def n_words(params, memory, known):
    """Count the numbers held from one pause to the next.

    They are Q, next state, reward, gain and priority of each pair, V of each state, the states
    whose gain is stale, twice, the model and the chain. Need and paths are made anew; what only
    spares a pause from doing that from the beginning does not count.
    """
    tables = 5 * known.pairs + known.states + 2 * memory.table.n_stale[0]
    return tables + model_words(memory.model) + chain_words(memory.need.chain)


def act(params, memory, state, rng):
    """Draw an action of the policy."""
    return policy_gain.draw_action(params, memory.action_values, state, params.act_policy, rng)


def _value(params, memory, s, policy):
    """Return the value of a state: its best action's, or the mean over a policy."""
    if params.on_policy:
        return policy_gain.expected_value(params, memory.action_values, s, policy)
    return policy_gain.best_value(memory.action_values, s)


def _change(params, memory, s, a, change):
    """Change Q(s, a), and mark whose gains this changes."""
    V, model = memory.values, memory.model
    memory.action_values[s, a] += change
    priority_table.mark_stale(memory.table, s)
    value = _value(params, memory, s, params.plan_policy)
    if value != V[s]:
        V[s] = value
        edge = model.first_in[s]
        while edge >= 0:
            priority_table.mark_stale(memory.table, model.edges[edge]["state"])
            edge = model.edges[edge]["next_in"]


def learn(params, memory, transition, log):
    """Remember the transition, move T, and send the error of Q-learning to all traced pairs."""
    Q, traces = memory.action_values, memory.traces
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    laps.note_step(memory.lap, s, r)
    observe(memory.model, s, a, s_next, transition.terminated)
    move(memory.need.chain, s, s_next, params.transition_rate)
    memory.next_state[s, a] = s_next
    memory.reward[s, a] = r
    target = r + params.discount * _value(params, memory, s_next, params.act_policy)
    change = params.learning_rate * (target - Q[s, a])
    set_state_trace(traces, s, a, params.discount * params.trace_decay)
    for i in range(traces.n_traced[0] - 1, -1, -1):
        u, b = traces.state[i], traces.action[i]
        before = Q[u, b]
        _change(params, memory, u, b, traces.strength[i] * change)
        phase, u_next = ONLINE if u == s else TRACE, memory.next_state[u, b]
        record(log, phase, u, b, u_next, before, Q[u, b], memory.reward[u, b])
    if transition.terminated or transition.truncated:
        clear_state_traces(traces)


def _gain(params, memory, s, a, target):
    """Return what the policy gains in s by learning a target."""
    if not params.use_gain:
        return 1.0
    Q = memory.action_values
    rate = 1.0 if params.copy_targets else params.learning_rate
    after = Q[s, a] + rate * (target - Q[s, a])
    return policy_gain.policy_gain(params, Q, s, a, after, params.plan_policy)


def _is_replayed(params, memory, s, a):
    """Tell whether a pair was tried, and leads elsewhere."""
    s_next = memory.next_state[s, a]
    return s_next >= 0 and (s_next != s or params.replay_bumps)


def _set_priorities(params, memory, s):
    """Weigh the gains of a state by its need."""
    table, need = memory.table, memory.need.expected[s]
    priority_table.leave_out(table, s)
    for a in range(table.gain.shape[1]):
        if _is_replayed(params, memory, s, a):
            priority_table.set_priority(
                table, s, a, need * max(table.gain[s, a], params.gain_floor)
            )


def _refresh(params, memory):
    """Compute the gains and priorities that are stale."""
    table, V = memory.table, memory.values
    for i in range(table.n_stale[0]):
        s = table.stale[i]
        table.is_stale[s] = False
        for a in range(table.gain.shape[1]):
            if _is_replayed(params, memory, s, a):
                target = memory.reward[s, a] + params.discount * V[memory.next_state[s, a]]
                table.gain[s, a] = _gain(params, memory, s, a, target)
        _set_priorities(params, memory, s)
    table.n_stale[0] = 0


def _extension(params, memory, length, rng):
    """Draw the action that would extend the path; -1 if there is no path to extend."""
    if length == 0 or not params.n_step:
        return -1
    end = end_of(memory.path, length, memory.next_state)
    if params.on_policy:
        return policy_gain.draw_action(params, memory.action_values, end, params.plan_policy, rng)
    return epsilon_greedy(memory.action_values, end, 0.0, rng)


def _extend_path(params, memory, length, a):
    """Put an action behind the path, and return the priority; -1 if it leads nowhere new."""
    path = memory.path
    if a < 0 or not is_extension(path, length, memory.next_state, a, params.allow_loops):
        return -1.0
    end = end_of(path, length, memory.next_state)
    add_step(path, length, end, a)
    set_targets(params, memory, length + 1)
    total = 0.0
    for i in range(length + 1):
        gain = _gain(params, memory, path.state[i], path.action[i], path.target[i])
        path.gain[i] = gain
        total += max(gain, params.gain_floor)
    return memory.need.expected[end] * (total if params.use_gain else max(1.0, params.gain_floor))


def _begin_path(params, memory, s, a):
    """Make a path of one step, and return its priority."""
    add_step(memory.path, 0, s, a)
    set_targets(params, memory, 1)
    memory.path.gain[0] = memory.table.gain[s, a]
    return memory.table.priority[s, a]


def _back_up(params, memory, length, priority, phase, pop, cause, log):
    """Back up every step of the path, in order; return the row of the last one."""
    path, Q, V = memory.path, memory.action_values, memory.values
    rate = 1.0 if params.copy_targets else params.learning_rate
    need = memory.need.expected[path.state[length - 1]]
    end = end_of(path, length, memory.next_state)
    value = V[end]
    for i in range(length):
        s, a = path.state[i], path.action[i]
        s_next, r = memory.next_state[s, a], memory.reward[s, a]
        before = Q[s, a]
        _change(params, memory, s, a, rate * (path.target[i] - before))
        if V[end] != value:  # the path is a loop
            value = V[end]
            set_targets(params, memory, length)
        cause = record(
            log, phase, s, a, s_next, before, Q[s, a], r, priority, pop, cause, path.gain[i], need
        )
    return cause


def replay(params, memory, pause, rng, log):
    """Make the backup that is worth most, again and again, until none is worth enough."""
    laps.link_episodes(params, memory.lap, memory.need.chain, pause)
    origin = laps.need_origin(params, memory.lap, pause)
    if origin < 0:
        return
    count_need(memory.need, params.need, pause.phase, origin, params.discount)
    for state in range(len(memory.values)):
        _set_priorities(params, memory, state)
    least = params.min_priority
    if params.opportunity_cost:
        least = min(least, laps.mean_reward(memory.lap))
    path, next_state = memory.path, memory.next_state
    length = 0
    row = -1
    end, end_next = -1, -1
    for pop in range(params.max_backups):
        _refresh(params, memory)
        priority = _extend_path(params, memory, length, _extension(params, memory, length, rng))
        s, a = priority_table.best_pair(memory.table, priority, params.tie_break, rng)
        if s < 0:
            length += 1
        else:
            length = 1
            priority = _begin_path(params, memory, s, a)
        if priority < 0.0 or priority <= least:
            break
        joins = length == 1 and (path.state[0] == end_next or end_of(path, 1, next_state) == end)
        cause = row if joins else -1
        row = _back_up(params, memory, length, priority, pause.phase, pop, cause, log)
        end = path.state[length - 1]
        end_next = end_of(path, length, next_state)
