"""Prioritized sweeping with small backups; also optimistic, and with a model reset each episode.

The learner counts transitions. V(s) is the value of a state, U(s) the value that was last
propagated to its predecessors. Whenever V(s) changes, s is queued, by default with the priority
|V(s) - U(s)|; popping s propagates the change to all its predecessors in the learned model. With
``reset_model`` the sweep waits for the end of the episode, makes as many pops as the episode had
steps, and then empties the model.

Parameters select variants: which state is next, when the queue is processed, how the model follows
a changing world, and how much of it is kept. Small backups are exact for every such model: Q(s, a)
is the average of r + discount * U(s') over the remembered outcomes of (s, a), and with an empty
queue, where U = V, the action values solve the learned model. A forgotten pair keeps its action
value: the model is solved as if the pair earned that much and ended the episode. When it is tried
again its value begins anew.

References
----------
.. [1] Moore & Atkeson (1993), Prioritized sweeping. https://doi.org/10.1007/BF00993104
.. [2] van Seijen & Sutton (2013), Planning by prioritized sweeping with small backups.
   https://arxiv.org/abs/1301.2343
.. [3] Brea (2018), Is prioritized sweeping the better episodic control?, Algorithm 1.
   https://arxiv.org/abs/1711.06677
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.learners.q_learning import acts_before_learning
from replay.log.backups import EPISODE_END, ONLINE, BackupBuffer, record
from replay.parts import forgetting, priorities, retention, sweeping
from replay.parts.evaluation import Evaluation, worth_of_propagating
from replay.parts.pauses import Earnings
from replay.parts.policies import best_tried
from replay.parts.priority_queue import PriorityQueue, clear
from replay.parts.sweeping import Popped, causes, evaluates, needs_way_back
from replay.parts.world_model import WorldModel, clear_model

__all__ = ["Memory", "Params", "acts_before_learning", "causes", "description", "evaluates"]
__all__ += ["forgets_at_end", "init", "learn", "most_backups", "n_words", "needs_way_back"]
__all__ += ["replay"]


class Params(NamedTuple):
    """Parameters of prioritized sweeping.

    Attributes
    ----------
    discount : float
        Discount factor per step.
    epsilon : float
        Probability of a uniformly random action.
    max_pops : int
        Largest number of pops per pause. With ``reset_model`` it is instead the number of steps of
        the episode, at its end.
    min_priority : float
        Smaller changes of a value are not queued.
    backup_cost : float
        Duration of a backup, in steps: a pause ends when the next backup is expected to gain no
        more than that many steps earn on average; see :mod:`replay.parts.pauses`. 0: no time.
    mean_backups : float
        Mean number of pops after which a pause ends at random; infinite: it does not.
    initial_value : float
        Action value of an untried pair. Infinite: untried actions are preferred, and left out
        of maxima. Large and finite: optimistic prioritized sweeping.
    priority_only_lowers : bool
        Whether a queued state keeps its priority unless the new one is smaller, as in the
        published code. Otherwise its priority follows |V - U| up and down, and it leaves the queue
        when that is small.
    reset_model : bool
        Whether the model is emptied at each episode's end.
    queue_visited : bool
        With ``reset_model``: whether every visited state is queued during the episode, as in the
        published code, or only its last state, as in the paper's argument.
    act_before_update : bool
        Whether the next action is drawn before the update of a step, as in the published code.
    priority : {"change", "need", "recency", "first_in", "random", "gain", "expected_value"}
        Which of the queued states is popped next; see
        :data:`replay.parts.priorities.PRIORITIES`. The gain of a state is the sum over its
        predecessors.
    replay_at : {"step", "episode_end", "start_and_end", "rest", "pauses"}
        The pauses in which states are popped; see :data:`replay.parts.priorities.MOMENTS`. With
        ``reset_model`` this is the episode's end.
    forgetting : float
        Fraction of their weight that earlier outcomes of a pair lose when it is tried again: 0
        counts all alike, 1 keeps only the last; see :mod:`replay.parts.forgetting`.
    surprise_rate : float
        If above 0, each pair has its own `forgetting`, which starts at that value and follows the
        surprise of the pair at this rate.
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
    priority_only_lowers: bool = False
    reset_model: bool = False
    queue_visited: bool = True
    act_before_update: bool = False
    priority: ranges.Priority = priorities.CHANGE
    replay_at: ranges.Moment = priorities.EACH_STEP
    forgetting: ranges.Share = 0.0
    surprise_rate: ranges.Share = 0.0
    reversible: bool = False
    retention: ranges.Retention = retention.EPISODES
    capacity: ranges.Capacity = np.inf


class Memory(NamedTuple):
    """The memory of prioritized sweeping.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    values : ndarray of float64, shape (n_states,)
        V, the largest action value of each state.
    known_values : ndarray of float64, shape (n_states,)
        U, the value of each state that was last propagated to its predecessors.
    n_steps : ndarray of int64, shape (1,)
        Steps since the last reset.
    model : WorldModel
        The transitions remembered since the last reset.
    queue : PriorityQueue
        The states whose change is to be propagated.
    evaluation : Evaluation or None
        Gain and need, if the priority depends on them.
    earnings : Earnings
        Rewards and changes of values so far, on which the end of a pause depends.
    """

    action_values: NDArray[np.float64]
    values: NDArray[np.float64]
    known_values: NDArray[np.float64]
    n_steps: NDArray[np.int64]
    model: WorldModel
    queue: PriorityQueue
    evaluation: Evaluation | None
    earnings: Earnings


def description(params: Params) -> Description:
    """Describe what is stored, and what is replayed, when and why."""
    priority = priorities.describe_priority(params.priority, "V")
    if params.reset_model:
        return Description("a model of the episode", (EPISODE_END,), priority, "Brea 2018")
    stores = retention.describe_model(params.retention, params.capacity)
    stores += "; optimistic action values" * (params.initial_value > 0.0)
    source = "Moore & Atkeson 1993, van Seijen & Sutton 2013"
    return Description(stores, priorities.phases_of(params.replay_at), priority, source)


def forgets_at_end(params: Params) -> bool:
    """Whether the model is emptied at each episode's end."""
    return params.reset_model


def init(params: Params, sizes: Sizes) -> Memory:
    """Return the memory of a learner without experience."""
    Q = np.full((sizes.n_states, sizes.n_actions), params.initial_value)
    V = np.full(sizes.n_states, params.initial_value if params.initial_value < np.inf else 0.0)
    shared = sweeping.sweeping_memory(params, sizes, sizes.n_states)
    return Memory(Q, V, V.copy(), np.zeros(1, dtype=np.int64), *shared)


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound of the backups of the next step.

    The step may add two predecessors to a state.
    """
    n_pops = memory.n_steps[0] + 1 if params.reset_model else params.max_pops
    n_pauses = priorities.most_pauses(params.replay_at)
    return int(2 + n_pauses * n_pops * (memory.model.most_in[0] + 2))


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q of each pair, V and U of each state, the model and the queue."""
    return known.pairs + 2 * known.states + sweeping.sweeping_words(params, memory)


def _queue(params: Params, memory: Memory, s: int, cause: int) -> None:
    change = abs(memory.values[s] - memory.known_values[s])
    sweeping.queue_change(params, memory.queue, s, change, cause, params.priority_only_lowers)


def _try(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Count a transition and make the small backup of its pair."""
    Q, V, U, model = memory.action_values, memory.values, memory.known_values, memory.model
    s, a, r, s_next, _, terminated, _ = transition
    before = Q[s, a]
    kept = forgetting.remember(model, params.surprise_rate, s, a, s_next, terminated)
    target = r if terminated else r + params.discount * U[s_next]
    Q[s, a] = target if kept == 0 else (before * kept + target) / (kept + 1)
    V[s] = best_tried(Q, s)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)
    retention.retain(model, params.retention, params.capacity, s, a, Q[s, a])


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Learn from the transition, and from its reverse if that is assumed."""
    s, a, _, s_next, _, terminated, truncated = transition
    sweeping.note_transition(params, memory, transition)
    _try(params, memory, transition, log)
    memory.n_steps[0] += 1
    if not params.reset_model or params.queue_visited or terminated or truncated:
        _queue(params, memory, s, -1)
    back = forgetting.unknown_way_back(memory.model, s, a, s_next, terminated)
    if back >= 0:
        _try(params, memory, Transition(s_next, back, 0.0, s, -1, False, False), log)
        forgetting.assume(memory.model, s_next, back)
        _queue(params, memory, s_next, -1)


def _worth(params: Params, memory: Memory, evaluated: Evaluation, s: int) -> float:
    """Return the expected value of passing the change of V(s) on to all predecessors of s."""
    change = memory.values[s] - memory.known_values[s]
    return worth_of_propagating(evaluated, params, memory.model, memory.action_values, s, change)


def _propagate(params: Params, memory: Memory, popped: Popped, log: BackupBuffer) -> None:
    """Pass the change of a state's value on to its predecessors, by small backups."""
    Q, V, U, model = memory.action_values, memory.values, memory.known_values, memory.model
    s_next = popped.item
    change = params.discount * (V[s_next] - U[s_next])
    U[s_next] = V[s_next]
    edge = model.first_in[s_next]
    while edge >= 0:
        s, a = model.edges[edge]["state"], model.edges[edge]["action"]
        after = Q[s, a] + change * model.edges[edge]["count"] / model.visits[s, a]
        row = sweeping.log_backup(params, memory, popped, s, a, s_next, after, log)
        Q[s, a] = after
        V[s] = best_tried(Q, s)
        retention.revalue(model, params.retention, s, a, after)
        _queue(params, memory, s, row)
        edge = model.edges[edge]["next_in"]


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Pop states from the queue and propagate their changes; at an end, reset the model."""
    n_pops = params.max_pops if priorities.is_due(params.replay_at, pause.phase) else 0
    if params.reset_model:
        n_pops = memory.n_steps[0] if pause.phase == EPISODE_END else 0
    sweeping.sweep_queue(_propagate, _worth, params, memory, n_pops, pause, rng, log)
    if params.reset_model and pause.phase == EPISODE_END:
        clear_model(memory.model)
        clear(memory.queue)
        memory.n_steps[0] = 0
