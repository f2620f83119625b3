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

Who forgets has something to gain from what is long learned [2]_: with `forgetting`, after each step
and the replay that follows it, all action values move a share of the way to `forgotten_value`.
Actions that are often chosen are kept up by experience; those that are worse than what is forgotten
tends to seem better than they are, and are replayed for that. Of that paper the abstract, the
summary and the authors' code were read. Its agent's values decay towards the mean reward so far,
here with `forgets_to_mean`. It also forgets how its small task is laid out, so that replay mixes up
what actions lead to; here what each pair led to last is kept, and T is. In the authors' simple
example that makes a fifth fewer replays of what is worse, and better choices.

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

from replay.checks import LARGEST_NUMBER
from replay.learners.contract import (
    Between,
    Choice,
    Cost,
    Count,
    Description,
    DiscountBelowOne,
    Known,
    Mean,
    Pause,
    Share,
    Sizes,
    Threshold,
    Transition,
)
from replay.log.backups import EPISODE_END, ONLINE, START, STEP, TRACE, BackupBuffer, record
from replay.parts.markov_chain import chain_words, move
from replay.parts.memory_access.exploration import explore_world, link_ends
from replay.parts.memory_access.paths import (
    Path,
    begin_path,
    draw_extension,
    empty_path,
    end_of,
    extend_path,
    set_targets,
)
from replay.parts.memory_access.priority_table import (
    SHORTEST,
    TIES,
    PriorityTable,
    best_pair,
    priority_table,
    refresh,
    weigh_by_need,
)
from replay.parts.memory_access.values import change_value, forget_values, state_value
from replay.parts.memory_access.whereabouts import (
    Whereabouts,
    is_enough,
    link_episodes,
    need_origin,
    note_step,
    whereabouts,
)
from replay.parts.need import NEEDS, ONE, SUCCESSORS, Need, count_need, need_of
from replay.parts.pauses import is_over_by_chance
from replay.parts.policies import POLICIES, SOFTMAX, Policy, draw_action
from replay.parts.priorities import IN_PAUSES, MOMENTS, phases_of
from replay.parts.traces import (
    Traces,
    add_trace,
    clear_traces,
    end_other_traces,
    trace_at,
    traces,
)
from replay.parts.world_model import WorldModel, count_transition, model_words, world_model
from replay.worlds.mdp import MDP

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
    backup_cost : float
        A pause ends where the next backup is not expected to gain more than so many steps earn on
        average; see :mod:`replay.parts.pauses`. 0: time costs nothing.
    mean_backups : float
        Backups on average after which a pause ends at random. Infinite: it does not.
    use_gain : bool
        Whether gain counts; if not, that of a backup is 1, however many steps it has.
    gain_floor : float
        The least that each step of a backup is taken to gain. The published 1e-10 lets need alone
        decide where nothing is to be gained; 0 is the theory as it stands.
    need : {"successor_representation", "stationary_distribution", "current_state", "one"}
        What need is, as :data:`replay.parts.need.NEEDS` says.
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
        Whether T goes on from an episode's end to the next one's start: at first to all starts of a
        known world as often as episodes start there, else to that of the episode that ended.
    pre_explored : bool
        Whether every action was tried once in every state before the first step, without reward.
    forgetting : float
        Share of the way to `forgotten_value` that all action values move at each step.
    forgotten_value : float
        What an action value is once all is forgotten.
    forgets_to_mean : bool
        Whether that is the mean reward so far instead, as in the published code.
    """

    discount: DiscountBelowOne = 0.9
    act_policy: Annotated[int, Choice(POLICIES)] = SOFTMAX
    plan_policy: Annotated[int, Choice(POLICIES)] = SOFTMAX
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
    backup_cost: Cost = 0.0
    mean_backups: Mean = np.inf
    use_gain: bool = True
    gain_floor: Annotated[float, Between(0.0, LARGEST_NUMBER)] = 1e-10
    need: Annotated[int, Choice(NEEDS)] = SUCCESSORS
    n_step: bool = True
    allow_loops: bool = False
    replay_bumps: bool = False
    tie_break: Annotated[int, Choice(TIES)] = SHORTEST
    on_policy: bool = False
    link_starts: bool = True
    pre_explored: bool = False
    forgetting: Share = 0.0
    forgotten_value: Annotated[float, Between(-LARGEST_NUMBER, LARGEST_NUMBER)] = 0.0
    forgets_to_mean: bool = False


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
    traces : Traces
        Pairs tried lately in this episode.
    model : WorldModel
        Transitions seen, for their predecessors.
    need : Need
        How often each state will be visited, from the latest pause on, and T.
    whereabouts : Whereabouts
        Where the agent stands.
    """

    action_values: NDArray[np.float64]
    values: NDArray[np.float64]
    next_state: NDArray[np.int32]
    reward: NDArray[np.float64]
    table: PriorityTable
    path: Path
    traces: Traces
    model: WorldModel
    need: Need
    whereabouts: Whereabouts


def description(params: Params) -> Description:
    """Say what is stored, and what is replayed when and why."""
    at_start = STEP if params.one_step_late else START
    phases = (at_start if phase == START else phase for phase in phases_of(params.replay_at))
    terms = ["gain"] * params.use_gain + ["need"] * (params.need != ONE)
    stores, source = "the last try of each pair; moves between states", "Mattar & Daw 2018"
    if params.forgetting > 0.0:
        stores, source = f"{stores}; fading values", f"{source}, Antonov et al. 2022"
    return Description(stores, tuple(sorted(phases)), " x ".join(terms) or "any", source)


def evaluates(params: Params) -> bool:
    """Tell that gain and need of each backup are logged."""
    return True


def init(params: Params, sizes: Sizes) -> Memory:
    """Make the memory of a learner that has experienced nothing."""
    n_states, shape = sizes.n_states, (sizes.n_states, sizes.n_actions)
    longest = params.max_backups if params.allow_loops else min(params.max_backups, n_states + 1)
    return Memory(
        np.zeros(shape),
        np.zeros(n_states),
        np.full(shape, -1, dtype=np.int32),
        np.zeros(shape),
        priority_table(*shape),
        empty_path(longest),
        traces(*shape, params.discount * params.trace_decay, sizes.n_steps),
        world_model(*shape, sizes.n_transitions),
        need_of(n_states, sizes.n_transitions + sizes.n_links),
        whereabouts(),
    )


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Let T go on from each end to every start; pre-explored, try every action in every state."""
    if params.pre_explored:
        explore_world(memory, mdp, params.link_starts)
    elif params.link_starts and mdp is not None:
        link_ends(memory.need.chain, mdp)


def most_backups(params: Params, memory: Memory) -> int:
    """Bound the backups of the next step: at its two pauses, each path at most a step longer."""
    growing = min(params.max_backups, len(memory.path.state))
    a_pause = growing * (growing + 1) // 2 + (params.max_backups - growing) * growing
    return (len(memory.values) if params.trace_decay > 0.0 else 1) + 2 * a_pause


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held from one pause to the next.

    They are Q, next state, reward, gain and priority of each pair, V of each state, the states
    whose gain is stale, twice, the model and the chain. Need and paths are made anew; what only
    spares a pause from doing that from the beginning does not count.
    """
    tables = 5 * known.pairs + known.states + 2 * int(memory.table.stale.n[0])
    return tables + model_words(memory.model) + chain_words(memory.need.chain)


def act(params: Params, memory: Memory, state: int, rng: Generator) -> int:
    """Draw an action of the policy."""
    policy = Policy(params.act_policy, params.inverse_temperature, params.epsilon)
    return draw_action(policy, memory.action_values, state, rng)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition, move T, and send the error of Q-learning to all traced pairs."""
    Q, traces, n_actions = memory.action_values, memory.traces, memory.action_values.shape[1]
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    note_step(memory.whereabouts, s, r)
    count_transition(memory.model, s, a, s_next, transition.terminated)
    move(memory.need.chain, s, s_next, params.transition_rate)
    memory.next_state[s, a], memory.reward[s, a] = s_next, r
    target = r + params.discount * state_value(params, memory, s_next, params.act_policy)
    change = params.learning_rate * (target - Q[s, a])
    add_trace(traces, Q, s * n_actions + a, r, s_next)
    end_other_traces(traces, s, a, n_actions)
    for age in range(traces.n_traced[0]):
        pair, strength = trace_at(traces, age)
        if strength > 0.0:
            u, b = pair // n_actions, pair % n_actions
            before = Q[u, b]
            change_value(params, memory, u, b, strength * change)
            phase, u_next = ONLINE if age == 0 else TRACE, memory.next_state[u, b]
            record(log, phase, u, b, u_next, before, Q[u, b], memory.reward[u, b])
    if transition.terminated or transition.truncated:
        clear_traces(traces)


def _back_up(
    params: Params, memory: Memory, length: int, priority: float, phase: int, pop: int, cause: int,
    log: BackupBuffer,
) -> int:  # fmt: skip
    """Back up every step of the path, in order; return the row of the last one."""
    path, Q, V, next_state = memory.path, memory.action_values, memory.values, memory.next_state
    rate = 1.0 if params.copy_targets else params.learning_rate
    need, end = memory.need.expected[path.state[length - 1]], end_of(path, length, next_state)
    value = V[end]
    for i in range(length):
        s, a, gain = path.state[i], path.action[i], path.gain[i]
        s_next, r, before = next_state[s, a], memory.reward[s, a], Q[s, a]
        change_value(params, memory, s, a, rate * (path.target[i] - before))
        if V[end] != value:  # the path is a loop
            value = V[end]
            set_targets(params, memory, length)
        after = Q[s, a]
        cause = record(log, phase, s, a, s_next, before, after, r, priority, pop, cause, gain, need)
    return cause


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Replay what is worth it; then, once a step, forget."""
    _plan(params, memory, pause, rng, log)
    if pause.phase == STEP or pause.phase == EPISODE_END:
        forget_values(params, memory)


def _plan(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Make the backup that is worth most, again and again, until none is worth enough."""
    link_episodes(params, memory.whereabouts, memory.need.chain, pause)
    origin = need_origin(params, memory.whereabouts, pause)
    if origin < 0:
        return
    count_need(memory.need, params.need, pause.phase, origin, params.discount)
    weigh_by_need(params, memory)
    path, next_state = memory.path, memory.next_state
    length, row, end, end_next = 0, -1, -1, -1
    for pop in range(params.max_backups):
        refresh(params, memory)
        priority = extend_path(params, memory, length, draw_extension(params, memory, length, rng))
        s, a = best_pair(memory.table, priority, params.tie_break, rng)
        if s < 0:
            length += 1
        else:
            length = 1
            priority = begin_path(params, memory, s, a)
        if not is_enough(params, memory.whereabouts, priority) or is_over_by_chance(params, rng):
            break
        joins = length == 1 and (path.state[0] == end_next or end_of(path, 1, next_state) == end)
        cause = row if joins else -1
        row = _back_up(params, memory, length, priority, pause.phase, pop, cause, log)
        end, end_next = path.state[length - 1], end_of(path, length, next_state)
