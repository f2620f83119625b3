"""Prioritized sweeping with full backups, one pair of state and action at a time.

A full backup replaces Q(s, a) by the expectation of r + discount * V(s') in the learned model. A
pair is queued when the value of one of its successors has changed, with the size of the change
that its backup would make as its priority; each pop backs up one pair. A small backup, as of
:mod:`replay.learners.prioritized_sweeping`, knows which successor changed and costs one addition; a
full one averages over all successors, but knows what it will change before it is made. So pairs
compete here, by their change, or by the gain of their backup.

With an empty queue no backup would change an action value by more than `min_priority`: they solve
the learned model. A pair that was forgotten keeps its action value until it is tried again.

References
----------
.. [1] Moore & Atkeson (1993), Prioritized sweeping. https://doi.org/10.1007/BF00993104
.. [2] Peng & Williams (1993), Efficient learning and planning within the Dyna framework.
   https://doi.org/10.1177/105971239300100403
.. [3] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

from math import nan
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners.contract import (
    Between,
    Choice,
    Cost,
    Count,
    Description,
    Known,
    Mean,
    Pause,
    Share,
    Sizes,
    Threshold,
    Transition,
    Value,
)
from replay.log.backups import ONLINE, BackupBuffer, record
from replay.parts.evaluation import Evaluation, gain_and_need, note_start
from replay.parts.forgetting import assume, remember, unknown_way_back
from replay.parts.gain import greedy_gain, set_changed_values
from replay.parts.pauses import Earnings, note_change, note_experience
from replay.parts.policies import best_tried
from replay.parts.priorities import (
    CHANGE,
    EACH_STEP,
    MOMENTS,
    NEED,
    PRIORITIES,
    describe_priority,
    is_due,
    most_pauses,
    phases_of,
)
from replay.parts.priority_queue import PriorityQueue, remove
from replay.parts.retention import EPISODES, RETENTION, describe_model, retain, revalue
from replay.parts.sweeping import (
    Popped,
    causes,
    evaluates,
    needs_way_back,
    queue_change,
    sweep_queue,
    sweeping_memory,
    sweeping_words,
)
from replay.parts.world_model import WorldModel

__all__ = ["Memory", "Params", "causes", "description", "evaluates", "init", "learn"]
__all__ += ["most_backups", "n_words", "needs_way_back", "replay"]


class Params(NamedTuple):
    """Parameters of prioritized sweeping with full backups.

    Attributes
    ----------
    discount : float
        Weight of the future, a step.
    epsilon : float
        Probability of a uniformly random action.
    max_pops : int
        Pairs backed up at most in each pause.
    min_priority : float
        Backups that change less are not queued.
    backup_cost : float
        A pause ends where the next backup is not expected to gain more than so many steps earn on
        average; see :mod:`replay.parts.pauses`. 0: time costs nothing.
    mean_backups : float
        Backups on average after which a pause ends at random. Infinite: it does not.
    initial_value : float
        Action value of an untried pair. Infinite: untried actions are preferred, and left out
        of maxima.
    priority : {"change", "need", "recency", "first_in", "random", "gain", "expected_value"}
        Which of the queued pairs is backed up next; see :data:`replay.parts.priorities.PRIORITIES`.
    replay_at : {"step", "episode_end", "start_and_end", "rest", "pauses"}
        The pauses in which pairs are backed up; see :data:`replay.parts.priorities.MOMENTS`.
    forgetting, surprise_rate : float
        How the model follows a world that changes; see :mod:`replay.parts.forgetting`.
    reversible : bool
        Whether a transition that was seen is known in both directions at once. The way back is
        assumed to pay nothing, until it is tried.
    retention : {"recent_episodes", "recent_transitions", "valuable_transitions", "fading"}
        What is forgotten if the memory is bounded; see :func:`replay.parts.retention.retain`.
    capacity : float
        Bound of the memory: a number of episodes or of transitions. Infinite: none.
    """

    discount: Share = 0.99
    epsilon: Share = 0.1
    max_pops: Count = 3
    min_priority: Threshold = 1e-8
    backup_cost: Cost = 0.0
    mean_backups: Mean = np.inf
    initial_value: Value = 0.0
    priority: Annotated[int, Choice(PRIORITIES)] = CHANGE
    replay_at: Annotated[int, Choice(MOMENTS)] = EACH_STEP
    forgetting: Share = 0.0
    surprise_rate: Share = 0.0
    reversible: bool = False
    retention: Annotated[int, Choice(RETENTION)] = EPISODES
    capacity: Annotated[float, Between(1.0, np.inf)] = np.inf


class Memory(NamedTuple):
    """What prioritized sweeping with full backups keeps.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    values : ndarray of float64, shape (n_states,)
        V, the largest action value of each state; 0 where an episode ended.
    rewards : ndarray of float64, shape (n_states, n_actions)
        R, the mean reward of each pair.
    changed : ndarray of int32, shape (n_states * n_actions,)
        The successor whose value changed when the pair was queued.
    model : WorldModel
        The transitions remembered.
    queue : PriorityQueue
        The pairs whose backup is waiting, as s * n_actions + a.
    evaluation : Evaluation or None
        Gain and need, if the priority depends on them.
    earnings : Earnings
        What the end of a pause depends on.
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
    """Say what is stored, and what is replayed when and why."""
    stores = describe_model(params.retention, params.capacity)
    priority = describe_priority(params.priority, "Q")
    source = "Moore & Atkeson 1993, Peng & Williams 1993"
    return Description(stores, phases_of(params.replay_at), priority, source)


def init(params: Params, sizes: Sizes) -> Memory:
    """Make the memory of a learner that has experienced nothing."""
    pairs, n_pairs = (sizes.n_states, sizes.n_actions), sizes.n_states * sizes.n_actions
    start = params.initial_value if params.initial_value < np.inf else 0.0
    return Memory(
        np.full(pairs, params.initial_value),
        np.full(sizes.n_states, start),
        np.zeros(pairs),
        np.full(n_pairs, -1, dtype=np.int32),
        *sweeping_memory(params, sizes, n_pairs),
    )


def most_backups(params: Params, memory: Memory) -> int:
    """Bound the backups of the next step."""
    return 2 + params.max_pops * most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q and R of each pair, V of each state, the model and the queue."""
    return 2 * known.pairs + known.states + sweeping_words(params, memory)


def _expected(params: Params, memory: Memory, s: int, a: int) -> float:
    """Return the expectation of r + discount * V(s') in the learned model."""
    V, model = memory.values, memory.model
    total = 0.0
    edge = model.first_out[s, a]
    while edge >= 0:
        total += model.edges[edge]["count"] * V[model.edges[edge]["next_state"]]
        edge = model.edges[edge]["next_out"]
    return float(memory.rewards[s, a] + params.discount * total / model.visits[s, a])


def _worth(params: Params, memory: Memory, evaluation: Evaluation, pair: int) -> float:
    """Return what the backup of a pair is worth; nothing if the pair was forgotten."""
    Q = memory.action_values
    s, a = pair // Q.shape[1], pair % Q.shape[1]
    if memory.model.visits[s, a] == 0.0:
        return 0.0
    need, after = evaluation.need.expected[s], evaluation.after
    set_changed_values(after, Q, s, a, _expected(params, memory, s, a))
    if params.priority == NEED:
        return float(need * abs(after[a] - Q[s, a]))
    return float(need * greedy_gain(Q, s, after, params.epsilon))


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
        queue_change(params, queue, pair, change, cause)
        edge = edges[edge]["next_in"]


def _set_value(params: Params, memory: Memory, s: int, a: int, after: float, cause: int) -> None:
    """Give a pair its new value, and pass on what this changes."""
    Q, V = memory.action_values, memory.values
    value = V[s]
    Q[s, a] = after
    V[s] = best_tried(Q, s)
    remove(memory.queue, s * Q.shape[1] + a)
    revalue(memory.model, params.retention, s, a, after)
    if V[s] != value:
        _queue_predecessors(params, memory, s, cause)


def _try(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Count a transition and back up its pair."""
    Q, R, model = memory.action_values, memory.rewards, memory.model
    s, a, reward, s_next = transition[:4]
    kept = remember(model, params.surprise_rate, s, a, s_next, transition.terminated)
    R[s, a] = (R[s, a] * kept + reward) / (kept + 1)
    if transition.terminated:
        memory.values[s_next] = 0.0
    retain(model, params.retention, params.capacity, s, a, Q[s, a])
    after = _expected(params, memory, s, a)
    record(log, ONLINE, s, a, s_next, Q[s, a], after, reward)
    _set_value(params, memory, s, a, after, -1)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Learn from the transition, and from its way back if that is assumed."""
    s, a, s_next, ended = transition[0], transition[1], transition[3], transition.terminated
    note_start(memory.evaluation, s, True)
    note_experience(params, memory.earnings, memory.action_values, transition)
    _try(params, memory, transition, log)
    back = unknown_way_back(memory.model, s, a, s_next, ended)
    if back >= 0:
        _try(params, memory, Transition(s_next, back, 0.0, s, -1, False, False), log)
        assume(memory.model, s_next, back)


def _back_up(params: Params, memory: Memory, popped: Popped, log: BackupBuffer) -> None:
    """Back up a pair, if it was not forgotten since it was queued."""
    Q = memory.action_values
    pair, priority, n, cause, phase = popped
    s, a, s_next = pair // Q.shape[1], pair % Q.shape[1], memory.changed[pair]
    if memory.model.visits[s, a] > 0.0:
        before, after = Q[s, a], _expected(params, memory, s, a)
        gain, need = gain_and_need(memory.evaluation, params, Q, s, a, after)
        note_change(params, memory.earnings, before, after)
        row = record(log, phase, s, a, s_next, before, after, nan, priority, n, cause, gain, need)
        _set_value(params, memory, s, a, after, row)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Back up pairs, the first in the queue first."""
    n_pops = params.max_pops if is_due(params.replay_at, pause.phase) else 0
    sweep_queue(_back_up, _worth, params, memory, n_pops, pause, rng, log)
