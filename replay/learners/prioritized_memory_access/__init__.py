"""Prioritized memory access: the backup that earns most is replayed next, by gain times need.

After each step Q-learning updates Q, and the chain T of states moves towards the state just
reached. At an episode's end and start the learner makes a few backups of remembered transitions,
the one with the largest expected value first. The gain of a backup is how much more the updated
policy earns from its state than the policy before it; the need of a state is the discounted number
of times that the agent will visit it. A backup may also extend the last one by a greedy step, as an
n-step backup of the whole path.

The value of a state is that of its best action. T also leads from an episode's end to the next
start: before any such link was seen, to all starts of a known world in proportion to their
probability, else to the start of the episode that ended. Moves back to the same state are not
replayed, no backup leads round a loop, and of backups of equal value the shortest is made; the
published code has options for these, which are off in the published results. There is no replay
before the first reward. Besides Q the learner keeps only the outcome of the latest try of each
pair. It recomputes only the gains that a backup may have changed, and need once per pause, as far
as T has changed.

A learner that forgets still gains from replaying what it learned long ago [2]_: with `forgetting`,
after each step and the replay that follows it, all action values decay towards 0. Actions that are
chosen often are kept up to date by experience. Actions whose value is below 0 come to look better
than they are, and are replayed to correct that. The abstract and summary of that paper and the
authors' code were read. There, values decay towards the mean reward so far, as here with
`forgets_to_mean`. Their agent also forgets the layout of its small task, so that replay confuses
the outcomes of actions; here the last outcome of each pair is kept, and so is T. In the authors'
two-action example the worse action is therefore replayed a fifth less often, and choices are
better.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
.. [2] Antonov et al. (2022), Optimism and pessimism in optimised replay.
   https://doi.org/10.1371/journal.pcbi.1009634
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.learners.prioritized_memory_access import backups
from replay.learners.prioritized_memory_access.memory import (
    Memory,
    Params,
    Path,
    explore_world,
    link_ends,
    whereabouts,
)
from replay.log.backups import EPISODE_END, ONLINE, REST, START, STEP, BackupBuffer, record
from replay.parts import markov_chain, pauses, policies, world_model
from replay.parts.markov_chain import MarkovChain
from replay.parts.need import ONE, count_need, need_of
from replay.worlds.mdp import MDP

__all__ = ["Memory", "Params", "act", "description", "explore", "init", "learn", "link_episodes"]
__all__ += ["most_backups", "n_words", "need_origin", "note_step", "replay"]


def description(params: Params) -> Description:
    start = STEP if params.one_step_late else START
    phases = [start if p == START else p for p in pauses.phases_of(params.replay_at)]
    terms = ["gain"] * params.use_gain + ["need"] * (params.need != ONE)
    stores, source = "the last try of each pair; moves between states", "Mattar & Daw 2018"
    label = "Prio. memory access"
    if params.pre_explored and params.one_step_late:
        label = "Memory access, as published"
    if params.forgetting > 0.0:
        stores, source = f"{stores}; fading values", f"{source}, Antonov et al. 2022"
        label = "Memory access, forgetting"
    return Description(
        stores,
        phases=tuple(sorted(phases)),
        priority=" x ".join(terms) or "any",
        source=source,
        label=label,
        evaluates=True,
        goes_forward=True,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states, shape = sizes.n_states, (sizes.n_states, sizes.n_actions)
    longest = min(params.max_backups, n_states + 1)
    step = np.zeros(longest, dtype=np.int32)
    return Memory(
        np.zeros(shape),
        np.zeros(n_states),
        np.full(shape, -1, dtype=np.int32),
        np.zeros(shape),
        backups.priority_table(*shape),
        Path(step, step.copy(), np.zeros(longest), np.zeros(longest)),
        world_model.world_model(*shape, sizes.n_transitions),
        need_of(n_states, sizes.n_transitions + sizes.n_links),
        whereabouts(),
    )


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Link each end to all starts in T; try every action in every state, if pre-explored."""
    if params.pre_explored:
        explore_world(memory, mdp)
    elif mdp is not None:
        link_ends(memory.need.chain, mdp)


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound of the backups of the next step.

    It has two pauses; in each, every path is at most one step longer than the one before.
    """
    growing = min(params.max_backups, len(memory.path.state))
    a_pause = growing * (growing + 1) // 2 + (params.max_backups - growing) * growing
    return 1 + 2 * a_pause


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
    """Remember the transition, move T, and learn Q(s, a)."""
    Q, V = memory.action_values, memory.values
    s, a, r, s_next, _, terminated, _ = transition
    note_step(memory.whereabouts, s, r)
    world_model.count_transition(memory.model, s, a, s_next, terminated)
    markov_chain.move(memory.need.chain, s, s_next, params.transition_rate)
    memory.next_state[s, a], memory.reward[s, a] = s_next, r
    before, target = Q[s, a], r + params.discount * V[s_next]
    backups.change_value(memory, s, a, params.learning_rate * (target - before))
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)


def _back_up(
    params: Params, memory: Memory, length: int, priority: float, phase: int, pop: int, cause: int,
    log: BackupBuffer,
) -> int:  # fmt: skip
    """Back up every step of the path, in order; return the row of the last one."""
    path, Q, next_state = memory.path, memory.action_values, memory.next_state
    need = memory.need.expected[path.state[length - 1]]
    for i in range(length):
        s, a, gain = path.state[i], path.action[i], path.gain[i]
        s_next, r, before = next_state[s, a], memory.reward[s, a], Q[s, a]
        backups.change_value(memory, s, a, params.learning_rate * (path.target[i] - before))
        after = Q[s, a]
        cause = record(log, phase, s, a, s_next, before, after, r, priority, pop, cause, gain, need)
    return cause


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Replay, and then, once per step, forget."""
    _plan(params, memory, pause, rng, log)
    if params.forgetting > 0.0 and (pause.phase == STEP or pause.phase == EPISODE_END):
        backups.forget_values(params, memory)


def _plan(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Make the most valuable backup, again and again, until none is worth its time."""
    link_episodes(params, memory.whereabouts, memory.need.chain, pause)
    origin = need_origin(params, memory.whereabouts, pause)
    if origin < 0:
        return
    count_need(memory.need, params.need, pause.phase, origin, params.discount)
    for s in range(len(memory.values)):
        backups.set_priorities(params, memory, s)
    path, next_state = memory.path, memory.next_state
    length, row, end, end_next = 0, -1, -1, -1
    for pop in range(params.max_backups):
        backups.refresh(params, memory)
        extension = backups.draw_extension(params, memory, length, rng)
        priority = backups.extend_path(params, memory, length, extension)
        s, a = backups.best_pair(memory.table, priority, rng)
        length = length + 1 if s < 0 else 1
        if s >= 0:
            priority = backups.begin_path(params, memory, s, a)
        # The priority is negative if there is no backup to make.
        if priority <= params.min_priority:
            break
        if not pauses.is_worth_it(params, priority, backups.mean_reward(memory)):
            break
        if pauses.is_over_by_chance(params, rng):
            break
        joins = path.state[0] == end_next or backups.end_of(path, 1, next_state) == end
        cause = row if joins and length == 1 else -1
        row = _back_up(params, memory, length, priority, pause.phase, pop, cause, log)
        end, end_next = path.state[length - 1], backups.end_of(path, length, next_state)


# -- where the agent is in its episode -----------------------------------------------------


def note_step(here: NDArray[np.void], state: int, reward: float) -> None:
    """Note a step."""
    now = here[0]
    now["before"] = state
    if now["first"] < 0:
        now["first"] = state
    if reward != 0.0:
        now["rewarded"] = True
    now["earned"] += reward
    now["n_tries"] += 1.0


def link_episodes(params: Params, here: NDArray[np.void], chain: MarkovChain, pause: Pause) -> None:
    """Link the end of an episode to the start of the next one.

    An end without any link is first linked to the start of its own episode.
    """
    now = here[0]
    if pause.phase == EPISODE_END:
        now["end"] = pause.state if pause.terminated else -1
        if now["end"] >= 0 and chain.first_out[pause.state] < 0:
            markov_chain.move(chain, pause.state, now["first"], 1.0)
        now["first"] = -1
    elif pause.phase == START and now["end"] >= 0:
        markov_chain.move(chain, now["end"], pause.state, params.transition_rate)


def need_origin(params: Params, here: NDArray[np.void], pause: Pause) -> int:
    """Return the state from which need is computed at a pause; -1: nothing is replayed in it."""
    now, late = here[0], params.one_step_late
    waited = now["waits"]
    if pause.phase != REST:
        now["waits"] = late and pause.phase == START
    due = pauses.is_due(params.replay_at, pause.phase) and not (late and pause.phase == START)
    if waited and pause.phase == STEP and pauses.is_due(params.replay_at, START):
        due = True
    if not due or not now["rewarded"]:
        return -1
    origin: int = now["before"] if late and pause.phase != REST else pause.state
    return origin
