"""Prioritized sweeping with full backups, one pair of state and action at a time.

A full backup replaces Q(s, a) by the expectation of r + discount * V(s') in the learned model. A
pair is queued when the value of one of its successors has changed; its priority is the size of the
change that its backup would make, and each pop backs up one pair. A small backup, as in
:mod:`replay.learners.prioritized_sweeping`, knows which successor changed and costs one addition; a
full backup averages over all successors, but its effect is known before it is made. Pairs therefore
compete here, by their change or by the gain of their backup.

With an empty queue no backup would change an action value by more than `min_priority`: the action
values solve the learned model. A forgotten pair keeps its action value until it is tried again.

References
----------
.. [1] Moore & Atkeson (1993), Prioritized sweeping. https://doi.org/10.1007/BF00993104
.. [2] Peng & Williams (1993), Efficient learning and planning within the Dyna framework.
   https://doi.org/10.1177/105971239300100403
.. [3] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.log.backups import ONLINE, BackupBuffer, record
from replay.parts import forgetting, priorities, retention, sweeping
from replay.parts.evaluation import Evaluation, worth_of_backup
from replay.parts.pauses import Earnings
from replay.parts.policies import best_tried
from replay.parts.priority_queue import PriorityQueue, remove
from replay.parts.sweeping import Popped, causes, evaluates, needs_way_back
from replay.parts.world_model import WorldModel

__all__ = ["Memory", "Params", "causes", "description", "evaluates", "init", "learn"]
__all__ += ["most_backups", "n_words", "needs_way_back", "replay"]


class Params(NamedTuple):
    """Parameters of prioritized sweeping with full backups.

    Attributes
    ----------
    discount : float
        Discount factor per step.
    epsilon : float
        Probability of a uniformly random action.
    max_pops : int
        Largest number of pairs backed up per pause.
    min_priority : float
        Backups that would change a value by less are not queued.
    backup_cost : float
        Duration of a backup, in steps: a pause ends when the next backup is expected to gain no
        more than that many steps earn on average; see :mod:`replay.parts.pauses`. 0: no time.
    mean_backups : float
        Mean number of backups after which a pause ends at random; infinite: it does not.
    initial_value : float
        Action value of an untried pair. Infinite: untried actions are preferred, and left out
        of maxima.
    priority : {"change", "need", "recency", "first_in", "random", "gain", "expected_value"}
        Which of the queued pairs is backed up next; see :data:`replay.parts.priorities.PRIORITIES`.
    replay_at : {"step", "episode_end", "start_and_end", "rest", "pauses"}
        The pauses in which pairs are backed up; see :data:`replay.parts.priorities.MOMENTS`.
    forgetting, surprise_rate : float
        How the model follows a changing world; see :mod:`replay.parts.forgetting`.
    reversible : bool
        Whether each move, once made, is known in both directions. The reverse move is assumed to
        earn nothing until it is tried.
    retention : {"recent_episodes", "recent_transitions", "valuable_transitions", "fading"}
        What a bounded memory keeps; see :func:`replay.parts.retention.retain`.
    capacity : float
        Bound of the memory, in episodes or transitions; infinite: none.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    max_pops: ranges.Count = 3
    min_priority: ranges.Threshold = 1e-8
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    initial_value: ranges.InitialValue = 0.0
    priority: ranges.Priority = priorities.CHANGE
    replay_at: ranges.Moment = priorities.EACH_STEP
    forgetting: ranges.Share = 0.0
    surprise_rate: ranges.Share = 0.0
    reversible: bool = False
    retention: ranges.Retention = retention.EPISODES
    capacity: ranges.Capacity = np.inf


class Memory(NamedTuple):
    """The memory of prioritized sweeping with full backups.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    values : ndarray of float64, shape (n_states,)
        V, the largest action value of each state; 0 if an episode ended there.
    rewards : ndarray of float64, shape (n_states, n_actions)
        R, the mean reward of each pair.
    changed : ndarray of int32, shape (n_states * n_actions,)
        The successor whose change queued the pair.
    model : WorldModel
        The remembered transitions.
    queue : PriorityQueue
        The pairs that wait for a backup, as s * n_actions + a.
    evaluation : Evaluation or None
        Gain and need, if the priority depends on them.
    earnings : Earnings
        Rewards and changes of values so far, on which the end of a pause depends.
    """

    action_values: NDArray[np.float64]
    values: NDArray[np.float64]
    rewards: NDArray[np.float64]
    changed: NDArray[np.int32]
    model: WorldModel
    queue: PriorityQueue
    evaluation: Evaluation | None
    earnings: Earnings


def description(params: Params) -> Description:
    """Describe what is stored, and what is replayed, when and why."""
    stores = retention.describe_model(params.retention, params.capacity)
    priority = priorities.describe_priority(params.priority, "Q")
    source = "Moore & Atkeson 1993, Peng & Williams 1993"
    return Description(stores, priorities.phases_of(params.replay_at), priority, source)


def init(params: Params, sizes: Sizes) -> Memory:
    """Return the memory of a learner without experience."""
    Q = np.full((sizes.n_states, sizes.n_actions), params.initial_value)
    V = np.full(sizes.n_states, params.initial_value if params.initial_value < np.inf else 0.0)
    changed = np.full(Q.size, -1, dtype=np.int32)
    return Memory(
        Q, V, np.zeros(Q.shape), changed, *sweeping.sweeping_memory(params, sizes, Q.size)
    )


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound of the backups of the next step."""
    return 2 + params.max_pops * priorities.most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q and R of each pair, V of each state, the model and the queue."""
    return 2 * known.pairs + known.states + sweeping.sweeping_words(params, memory)


def _expected(params: Params, memory: Memory, s: int, a: int) -> float:
    """Return the expectation of r + discount * V(s') in the learned model."""
    V, model = memory.values, memory.model
    total = 0.0
    edge = model.first_out[s, a]
    while edge >= 0:
        total += model.edges[edge]["count"] * V[model.edges[edge]["next_state"]]
        edge = model.edges[edge]["next_out"]
    return float(memory.rewards[s, a] + params.discount * total / model.visits[s, a])


def _worth(params: Params, memory: Memory, evaluated: Evaluation, pair: int) -> float:
    """Return the expected value of backing up a pair; 0 if the pair was forgotten."""
    Q = memory.action_values
    s, a = pair // Q.shape[1], pair % Q.shape[1]
    if memory.model.visits[s, a] == 0.0:
        return 0.0
    return worth_of_backup(evaluated, params, Q, s, a, _expected(params, memory, s, a))


def _queue_predecessors(params: Params, memory: Memory, s_next: int, cause: int) -> None:
    """Queue the pairs that lead to a state whose value has changed."""
    Q, edges, queue = memory.action_values, memory.model.edges, memory.queue
    edge = memory.model.first_in[s_next]
    while edge >= 0:
        s, a = edges[edge]["state"], edges[edge]["action"]
        pair = s * Q.shape[1] + a
        if queue.position[pair] < 0:
            memory.changed[pair] = s_next
        change = abs(_expected(params, memory, s, a) - Q[s, a])
        sweeping.queue_change(params, queue, pair, change, cause)
        edge = edges[edge]["next_in"]


def _set_value(params: Params, memory: Memory, s: int, a: int, after: float, cause: int) -> None:
    """Give a pair its new value, and queue its predecessors if V(s) changes."""
    Q, V = memory.action_values, memory.values
    value = V[s]
    Q[s, a] = after
    V[s] = best_tried(Q, s)
    remove(memory.queue, s * Q.shape[1] + a)
    retention.revalue(memory.model, params.retention, s, a, after)
    if V[s] != value:
        _queue_predecessors(params, memory, s, cause)


def _try(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Count a transition and back up its pair."""
    Q, R, model = memory.action_values, memory.rewards, memory.model
    s, a, r, s_next, _, terminated, _ = transition
    kept = forgetting.remember(model, params.surprise_rate, s, a, s_next, terminated)
    R[s, a] = (R[s, a] * kept + r) / (kept + 1)
    if terminated:
        memory.values[s_next] = 0.0
    retention.retain(model, params.retention, params.capacity, s, a, Q[s, a])
    after = _expected(params, memory, s, a)
    record(log, ONLINE, s, a, s_next, Q[s, a], after, r)
    _set_value(params, memory, s, a, after, -1)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Learn from the transition, and from its reverse if that is assumed."""
    s, a, _, s_next, _, terminated, _ = transition
    sweeping.note_transition(params, memory, transition)
    _try(params, memory, transition, log)
    back = forgetting.unknown_way_back(memory.model, s, a, s_next, terminated)
    if back >= 0:
        _try(params, memory, Transition(s_next, back, 0.0, s, -1, False, False), log)
        forgetting.assume(memory.model, s_next, back)


def _back_up(params: Params, memory: Memory, popped: Popped, log: BackupBuffer) -> None:
    """Back up a pair, unless it was forgotten after it was queued."""
    pair, n_actions = popped.item, memory.action_values.shape[1]
    s, a, s_next = pair // n_actions, pair % n_actions, memory.changed[pair]
    if memory.model.visits[s, a] > 0.0:
        after = _expected(params, memory, s, a)
        row = sweeping.log_backup(params, memory, popped, s, a, s_next, after, log)
        _set_value(params, memory, s, a, after, row)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Back up pairs from the queue."""
    n_pops = params.max_pops if priorities.is_due(params.replay_at, pause.phase) else 0
    sweeping.sweep_queue(_back_up, _worth, params, memory, n_pops, pause, rng, log)
