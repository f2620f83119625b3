"""Prioritized memory access: the backup that earns most is replayed next, by gain times need.

After each step Q-learning updates Q, and the chain T of states moves towards the state just
reached. At an episode's end and start the learner makes a few backups of remembered transitions,
the one with the largest expected value first. The gain of a backup is how much more the updated
policy earns from its state than the policy before it; the need of a state is the discounted number
of times that the agent will visit it. A backup may also extend the last one by a greedy step, as an
n-step backup of the whole path.

The value of a state is that of its best action, or with ``on_policy`` the mean under the policy.
There is no replay before the first reward. Besides Q the learner keeps only the outcome of the
latest try of each pair. It recomputes only the gains that a backup may have changed, and need once
per pause, as far as T has changed.

A learner that forgets still gains from replaying what it learned long ago [2]_: with `forgetting`,
after each step and the replay that follows it, all action values move a fraction of the way to
`forgotten_value`. Actions that are chosen often are kept up to date by experience. Actions whose
value lies below `forgotten_value` come to look better than they are, and are replayed to correct
that. The abstract and summary of that paper and the authors' code were read. There, values decay
towards the mean reward so far, as here with `forgets_to_mean`. Their agent also forgets the layout
of its small task, so that replay confuses the outcomes of actions; here the last outcome of each
pair is kept, and so is T. In the authors' two-action example the worse action is therefore replayed
a fifth less often, and choices are better.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
.. [2] Antonov et al. (2022), Optimism and pessimism in optimised replay.
   https://doi.org/10.1371/journal.pcbi.1009634
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.contract import Choice, Description, Known, Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, START, STEP, BackupBuffer, record
from replay.parts import markov_chain, policies, priorities, traces, world_model
from replay.parts.memory_access import exploration, paths, priority_table, values, whereabouts
from replay.parts.memory_access.whereabouts import Whereabouts
from replay.parts.need import NEEDS, ONE, SUCCESSORS, Need, count_need, need_of
from replay.parts.traces import Traces
from replay.worlds.mdp import MDP

__all__ = ["Memory", "Params", "act", "description", "evaluates", "explore", "init", "learn"]
__all__ += ["most_backups", "n_words", "replay"]


class Params(NamedTuple):
    """Parameters of prioritized memory access.

    Attributes
    ----------
    discount : float
        Discount factor per step; below 1.
    act_policy : {"softmax", "epsilon_greedy"}
        The policy by which the agent acts, and with ``on_policy`` learns online.
    plan_policy : {"softmax", "epsilon_greedy"}
        The policy for which gains are computed, and with ``on_policy`` values in replay.
    inverse_temperature : float
        Inverse temperature of the softmax policy.
    epsilon : float
        Probability of a random action of the epsilon-greedy policy.
    learning_rate : float
        Fraction of the distance to its target by which an action value moves, online and in replay.
    copy_targets : bool
        Whether it moves all the way in replay, whatever the learning rate.
    trace_decay : float
        Lambda of the eligibility traces through which the online update reaches earlier pairs.
    transition_rate : float
        Fraction of the distance to the latest move by which a row of T moves.
    replay_at : {"pauses", "start_and_end", "step", "episode_end", "rest"}
        When replay takes place: by default at ends and starts of episodes and at rest; see
        :data:`replay.parts.priorities.MOMENTS`.
    one_step_late : bool
        Whether, as in the published code, replay at a start waits for the first step, and need is
        counted from the state before the latest step, also at an end.
    max_backups : int
        Largest number of backups per pause; an n-step backup counts once.
    min_priority : float
        A pause ends when no backup has a larger expected value than this.
    opportunity_cost : bool
        Whether the mean reward per step so far replaces `min_priority` where it is lower.
    backup_cost : float
        Duration of a backup, in steps: a pause ends when the next backup is expected to gain no
        more than that many steps earn on average; see :mod:`replay.parts.pauses`. 0: no time.
    mean_backups : float
        Mean number of backups after which a pause ends at random; infinite: it does not.
    use_gain : bool
        Whether gain counts; if not, the gain of a backup is 1, however many steps it has.
    gain_floor : float
        The least gain that each step of a backup is assumed to have. With the published 1e-10, need
        alone decides where nothing can be gained; 0 is the theory as it stands.
    need : {"successor_representation", "stationary_distribution", "current_state", "one"}
        The definition of need; see :data:`replay.parts.need.NEEDS`.
    n_step : bool
        Whether a backup may extend the last one.
    allow_loops : bool
        Whether an extended backup may lead to a state that it already contains.
    replay_bumps : bool
        Whether moves that lead back to the same state are replayed too.
    tie_break : {"shortest", "longest", "random"}
        Which backup is made if several of different length have the same expected value; remaining
        ties are broken at random.
    on_policy : bool
        Whether the value of a state is the mean under the policy, not that of its best action, and
        backups are extended by actions of that policy, not by greedy ones.
    link_starts : bool
        Whether T continues from an episode's end to the next start. Before any such link was seen,
        it leads to all starts of a known world in proportion to their probability, else to the
        start of the episode that ended.
    pre_explored : bool
        Whether every action is tried once in every state before the first step, without reward.
    forgetting : float
        Fraction of the distance to `forgotten_value` by which all action values move at each step.
    forgotten_value : float
        The action value that remains when everything is forgotten.
    forgets_to_mean : bool
        Whether the mean reward so far takes its place, as in the published code.
    """

    discount: ranges.DiscountBelowOne = 0.9
    act_policy: ranges.PolicyKind = policies.SOFTMAX
    plan_policy: ranges.PolicyKind = policies.SOFTMAX
    inverse_temperature: ranges.InverseTemperature = 5.0
    epsilon: ranges.Share = 0.05
    learning_rate: ranges.Share = 1.0
    copy_targets: bool = False
    trace_decay: ranges.Share = 0.0
    transition_rate: ranges.Share = 0.9
    replay_at: ranges.Moment = priorities.IN_PAUSES
    one_step_late: bool = False
    max_backups: ranges.Count = 20
    min_priority: ranges.Threshold = 0.0
    opportunity_cost: bool = False
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    use_gain: bool = True
    gain_floor: ranges.NotNegative = 1e-10
    need: Annotated[int, Choice(NEEDS)] = SUCCESSORS
    n_step: bool = True
    allow_loops: bool = False
    replay_bumps: bool = False
    tie_break: Annotated[int, Choice(priority_table.TIES)] = priority_table.SHORTEST
    on_policy: bool = False
    link_starts: bool = True
    pre_explored: bool = False
    forgetting: ranges.Share = 0.0
    forgotten_value: ranges.Finite = 0.0
    forgets_to_mean: bool = False


class Memory(NamedTuple):
    """The memory of prioritized memory access.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    values : ndarray of float64, shape (n_states,)
        V, the value of each state.
    next_state : ndarray of int32, shape (n_states, n_actions)
        The latest outcome of each pair; -1 if it was never tried.
    reward : ndarray of float64, shape (n_states, n_actions)
        The reward of that try.
    table : PriorityTable
        Gain and expected value of backing up each pair.
    path : Path
        The latest backup.
    traces : Traces
        Pairs tried recently in this episode.
    model : WorldModel
        The transitions observed, to look up predecessors.
    need : Need
        Need of each state, as of the latest pause, and T.
    whereabouts : Whereabouts
        What is known of the current episode.
    """

    action_values: NDArray[np.float64]
    values: NDArray[np.float64]
    next_state: NDArray[np.int32]
    reward: NDArray[np.float64]
    table: priority_table.PriorityTable
    path: paths.Path
    traces: Traces
    model: world_model.WorldModel
    need: Need
    whereabouts: Whereabouts


def description(params: Params) -> Description:
    """Describe what is stored, and what is replayed, when and why."""
    start = STEP if params.one_step_late else START
    phases = [start if p == START else p for p in priorities.phases_of(params.replay_at)]
    terms = ["gain"] * params.use_gain + ["need"] * (params.need != ONE)
    stores, source = "the last try of each pair; moves between states", "Mattar & Daw 2018"
    if params.forgetting > 0.0:
        stores, source = f"{stores}; fading values", f"{source}, Antonov et al. 2022"
    return Description(stores, tuple(sorted(phases)), " x ".join(terms) or "any", source)


def evaluates(params: Params) -> bool:
    """Gain and need of each backup are logged."""
    return True


def init(params: Params, sizes: Sizes) -> Memory:
    """Return the memory of a learner without experience."""
    n_states, shape = sizes.n_states, (sizes.n_states, sizes.n_actions)
    longest = params.max_backups if params.allow_loops else min(params.max_backups, n_states + 1)
    Q, V, next_state = np.zeros(shape), np.zeros(n_states), np.full(shape, -1, dtype=np.int32)
    table, path = priority_table.priority_table(*shape), paths.empty_path(longest)
    traced = traces.traces(*shape, params.discount * params.trace_decay, sizes.n_steps)
    model = world_model.world_model(*shape, sizes.n_transitions)
    need = need_of(n_states, sizes.n_transitions + sizes.n_links)
    here = whereabouts.whereabouts()
    return Memory(Q, V, next_state, np.zeros(shape), table, path, traced, model, need, here)


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Try every action in every state, if pre-explored.

    With ``link_starts``, and in a known world, T also links each end to all starts.
    """
    if params.pre_explored:
        exploration.explore_world(memory, mdp, params.link_starts)
    elif params.link_starts and mdp is not None:
        exploration.link_ends(memory.need.chain, mdp)


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound of the backups of the next step.

    It has two pauses; in each, every path is at most one step longer than the one before.
    """
    growing = min(params.max_backups, len(memory.path.state))
    a_pause = growing * (growing + 1) // 2 + (params.max_backups - growing) * growing
    return (len(memory.values) if params.trace_decay > 0.0 else 1) + 2 * a_pause


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held from one pause to the next.

    These are Q, next state, reward, gain and priority of each pair, V of each state, the states
    whose gain is stale, twice, the model and the chain. Need and paths are computed anew; arrays
    that only speed this up do not count.
    """
    learned = world_model.model_words(memory.model) + markov_chain.chain_words(memory.need.chain)
    return 5 * known.pairs + known.states + 2 * int(memory.table.stale.n[0]) + learned


def act(params: Params, memory: Memory, state: int, rng: Generator) -> int:
    """Draw an action of the behavioural policy."""
    policy = policies.Policy(params.act_policy, params.inverse_temperature, params.epsilon)
    return policies.draw_action(policy, memory.action_values, state, rng)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition, move T, and send the error of Q-learning to all traced pairs."""
    Q, n_actions = memory.action_values, memory.action_values.shape[1]
    s, a, r, s_next, _, terminated, truncated = transition
    whereabouts.note_step(memory.whereabouts, s, r)
    world_model.count_transition(memory.model, s, a, s_next, terminated)
    markov_chain.move(memory.need.chain, s, s_next, params.transition_rate)
    memory.next_state[s, a], memory.reward[s, a] = s_next, r
    target = r + params.discount * values.state_value(params, memory, s_next, params.act_policy)
    change = params.learning_rate * (target - Q[s, a])
    traces.add_trace(memory.traces, Q, s * n_actions + a, r, s_next)
    traces.end_other_traces(memory.traces, s, a, n_actions)
    values.change_traced_values(params, memory, change, log)
    if terminated or truncated:
        traces.clear_traces(memory.traces)


def _back_up(
    params: Params, memory: Memory, length: int, priority: float, phase: int, pop: int, cause: int,
    log: BackupBuffer,
) -> int:  # fmt: skip
    """Back up every step of the path, in order; return the row of the last one."""
    path, Q, V, next_state = memory.path, memory.action_values, memory.values, memory.next_state
    rate = 1.0 if params.copy_targets else params.learning_rate
    need, end = memory.need.expected[path.state[length - 1]], paths.end_of(path, length, next_state)
    value = V[end]
    for i in range(length):
        s, a, gain = path.state[i], path.action[i], path.gain[i]
        s_next, r, before = next_state[s, a], memory.reward[s, a], Q[s, a]
        values.change_value(params, memory, s, a, rate * (path.target[i] - before))
        if V[end] != value:  # the path is a loop
            value = V[end]
            paths.set_targets(params, memory, length)
        after = Q[s, a]
        cause = record(log, phase, s, a, s_next, before, after, r, priority, pop, cause, gain, need)
    return cause


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Replay, and then, once per step, forget."""
    _plan(params, memory, pause, rng, log)
    if pause.phase == STEP or pause.phase == EPISODE_END:
        values.forget_values(params, memory)


def _plan(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Make the most valuable backup, again and again, until none is worth its time."""
    whereabouts.link_episodes(params, memory.whereabouts, memory.need.chain, pause)
    origin = whereabouts.need_origin(params, memory.whereabouts, pause)
    if origin < 0:
        return
    count_need(memory.need, params.need, pause.phase, origin, params.discount)
    priority_table.weigh_by_need(params, memory)
    path, next_state = memory.path, memory.next_state
    length, row, end, end_next = 0, -1, -1, -1
    for pop in range(params.max_backups):
        priority_table.refresh(params, memory)
        extension = paths.draw_extension(params, memory, length, rng)
        priority = paths.extend_path(params, memory, length, extension)
        s, a = priority_table.best_pair(memory.table, priority, params.tie_break, rng)
        length = length + 1 if s < 0 else 1
        if s >= 0:
            priority = paths.begin_path(params, memory, s, a)
        if not whereabouts.continues(params, memory.whereabouts, priority, rng):
            break
        joins = path.state[0] == end_next or paths.end_of(path, 1, next_state) == end
        cause = row if joins and length == 1 else -1
        row = _back_up(params, memory, length, priority, pause.phase, pop, cause, log)
        end, end_next = path.state[length - 1], paths.end_of(path, length, next_state)
