"""Prioritized sweeping with full backups, one pair of state and action at a time.

A full backup replaces Q(s, a) by the expectation of r + discount * V(s') in the learned model. A
pair is queued when the value of one of its successors has changed; its priority is the size of the
change that its backup would make, and each pop backs up one pair. A small backup, as in
:mod:`replay.learners.prioritized_sweeping`, knows which successor changed and costs one addition; a
full backup averages over all successors, but its effect is known before it is made. Pairs therefore
compete here, and not states.

With an empty queue no backup would change an action value by more than `min_priority`: the action
values solve the learned model.

References
----------
.. [1] Moore & Atkeson (1993), Prioritized sweeping. https://doi.org/10.1007/BF00993104
.. [2] Peng & Williams (1993), Efficient learning and planning within the Dyna framework.
   https://doi.org/10.1177/105971239300100403
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Int32s, Ints
from replay.learners import ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.log.backups import ONLINE, BackupBuffer, record
from replay.parts import pauses, priority_queue, world_model
from replay.parts.pauses import Earnings
from replay.parts.policies import best_tried
from replay.parts.priority_queue import PriorityQueue, remove, set_priority
from replay.parts.world_model import WorldModel


class Params(NamedTuple):
    """Parameters of prioritized sweeping with full backups.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    max_pops : int
        Largest number of pairs backed up per pause.
    min_priority : float
        Backups that would change a value by less are not queued.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    max_pops: ranges.Count = 3
    min_priority: ranges.Threshold = 1e-8
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    initial_value: ranges.InitialValue = 0.0
    replay_at: ranges.Moment = pauses.EACH_STEP
    reversible: bool = False


class Memory(NamedTuple):
    """The memory of prioritized sweeping with full backups."""

    action_values: Floats  # (n_states, n_actions): Q
    # (n_states,): V, the largest action value of each state; 0 if an episode ended there
    values: Floats
    rewards: Floats  # (n_states, n_actions): R, the mean reward of each pair
    # (n_states * n_actions,): the successor whose change queued the pair
    changed: Int32s
    model: WorldModel  # The transitions observed
    queue: PriorityQueue  # The pairs that wait for a backup, as s * n_actions + a
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


def description(params: Params) -> Description:
    return Description(
        "a model of all transitions",
        phases=pauses.phases_of(params.replay_at),
        priority="largest change of Q",
        source="Moore & Atkeson 1993, Peng & Williams 1993",
        label="Prio. sweeping, full backups",
        needs_way_back=params.reversible,
    )


def causes(memory: Memory) -> Ints:
    """List the backup that queued each pair, as rows of the log; -1 for none."""
    return priority_queue.causes_of(memory.queue)


def init(params: Params, sizes: Sizes) -> Memory:
    Q = np.full((sizes.n_states, sizes.n_actions), params.initial_value)
    V = np.full(sizes.n_states, params.initial_value if params.initial_value < np.inf else 0.0)
    changed = np.full(Q.size, -1, dtype=np.int32)
    model = world_model.world_model(*Q.shape, sizes.n_transitions, way_back=sizes.way_back)
    queue = priority_queue.priority_queue(Q.size)
    return Memory(Q, V, np.zeros(Q.shape), changed, model, queue, pauses.earnings())


def most_backups(params: Params, memory: Memory) -> int:
    return 2 + params.max_pops * pauses.most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q and R of each pair, V of each state, the model and the queue."""
    held = world_model.model_words(memory.model) + priority_queue.queue_words(memory.queue)
    return 2 * known.pairs + known.states + held + pauses.earnings_words(params)


def _expected(params: Params, memory: Memory, s: int, a: int) -> float:
    """Return the expectation of r + discount * V(s') in the learned model."""
    V, model = memory.values, memory.model
    total = 0.0
    edge = model.first_out[s, a]
    while edge >= 0:
        total += model.edges[edge]["count"] * V[model.edges[edge]["next_state"]]
        edge = model.edges[edge]["next_out"]
    return float(memory.rewards[s, a] + params.discount * total / model.visits[s, a])


def _set_value(params: Params, memory: Memory, s: int, a: int, after: float, cause: int) -> None:
    """Give a pair its new value, and queue the pairs that lead to its state if V(s) changes."""
    Q, V, edges, queue = memory.action_values, memory.values, memory.model.edges, memory.queue
    value = V[s]
    Q[s, a] = after
    V[s] = best_tried(Q, s)
    remove(queue, s * Q.shape[1] + a)
    edge = memory.model.first_in[s] if V[s] != value else -1
    while edge >= 0:
        u, b = edges[edge]["state"], edges[edge]["action"]
        pair = u * Q.shape[1] + b
        if queue.position[pair] < 0:
            memory.changed[pair] = s
        change = abs(_expected(params, memory, u, b) - Q[u, b])
        if change > params.min_priority:
            set_priority(queue, pair, change, cause)
        else:
            remove(queue, pair)
        edge = edges[edge]["next_in"]


def _try(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Count a transition and back up its pair."""
    Q, R, model = memory.action_values, memory.rewards, memory.model
    s, a, r, s_next, _, terminated, _ = transition
    kept = world_model.remember(model, s, a, s_next, terminated)
    R[s, a] = (R[s, a] * kept + r) / (kept + 1)
    if terminated:
        memory.values[s_next] = 0.0
    after = _expected(params, memory, s, a)
    record(log, ONLINE, s, a, s_next, Q[s, a], after, r)
    _set_value(params, memory, s, a, after, -1)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Learn from the transition, and from its reverse if that is assumed."""
    s, a, _, s_next, _, terminated, _ = transition
    pauses.note_experience(params, memory.earnings, memory.action_values, transition)
    _try(params, memory, transition, log)
    model = memory.model
    back = world_model.unknown_way_back(model.way_back, model, s, a, s_next, terminated)
    if back >= 0:
        _try(params, memory, Transition(s_next, back, 0.0, s, -1, False, False), log)
        world_model.assume(model.is_assumed, s_next, back)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Pop pairs from the queue, and back them up."""
    Q, queue = memory.action_values, memory.queue
    n_pops = params.max_pops if pauses.is_due(params.replay_at, pause.phase) else 0
    for n in range(n_pops):
        if queue.size[0] == 0:
            break
        priority = queue.priority[0]
        if not pauses.goes_on(params, memory.earnings, priority, rng):
            break
        pair = priority_queue.pop(queue)
        s, a, s_next = pair // Q.shape[1], pair % Q.shape[1], memory.changed[pair]
        before, after, cause = Q[s, a], _expected(params, memory, s, a), queue.cause[pair]
        pauses.note_change(params, memory.earnings, before, after)
        row = record(
            log, pause.phase, s, a, s_next, before, after, np.nan, priority, pop=n, cause=cause
        )
        _set_value(params, memory, s, a, after, row)
