"""Prioritized sweeping with small backups; also optimistic, and with a model reset each episode.

The learner counts transitions. V(s) is the value of a state, U(s) the value that its predecessors
were told last. Whenever V(s) changes, s is queued, with the size of V(s) - U(s) as its priority;
popping s tells the change to all its predecessors in the learned model. With ``reset_model`` the
sweep waits for the end of the episode, makes as many pops as the episode had steps, and the model
is forgotten.

Variants are a parameter away: which state is next, when the queue is worked off, how the
model follows a world that changes, and how much of it is kept. Small backups stay exact whatever
the model is: Q(s, a) is the average of r + discount * U(s') over what is remembered of (s, a), and
with an empty queue, where U = V, the action values solve the learned model. A pair that was
forgotten keeps its action value: the model is solved as if the pair paid that much and ended the
episode. When it is tried again its value begins anew.

References
----------
.. [1] Moore & Atkeson (1993), Prioritized sweeping. https://doi.org/10.1007/BF00993104
.. [2] van Seijen & Sutton (2013), Planning by prioritized sweeping with small backups.
   https://arxiv.org/abs/1301.2343
.. [3] Brea (2018), Is prioritized sweeping the better episodic control?, Algorithm 1.
   https://arxiv.org/abs/1711.06677
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
from replay.log.backups import EPISODE_END, ONLINE, BackupBuffer, record
from replay.parts.evaluation import Evaluation, gain_and_need, note_start, worth_of_propagating
from replay.parts.forgetting import assume, remember, unknown_way_back
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
from replay.parts.priority_queue import PriorityQueue, clear
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
from replay.parts.world_model import WorldModel, clear_model

__all__ = ["Memory", "Params", "acts_before_learning", "causes", "description", "evaluates"]
__all__ += ["forgets_at_end", "init", "learn", "most_backups", "n_words", "needs_way_back"]
__all__ += ["replay"]


class Params(NamedTuple):
    """Parameters of prioritized sweeping.

    Attributes
    ----------
    discount : float
        Weight of the future, a step.
    epsilon : float
        Probability of a uniformly random action.
    max_pops : int
        States popped at most in each pause. With ``reset_model`` it is the number of steps of the
        episode instead, at the episode's end.
    min_priority : float
        Smaller changes of a value are not queued.
    backup_cost : float
        A pause ends where the next backup is not expected to gain more than so many steps earn on
        average; see :mod:`replay.parts.pauses`. 0: time costs nothing.
    mean_backups : float
        Pops on average after which a pause ends at random. Infinite: it does not.
    initial_value : float
        Action value of an untried pair. Infinite: untried actions are preferred, and left out
        of maxima. Large and finite: optimistic prioritized sweeping.
    priority_only_lowers : bool
        Whether a queued state keeps its priority unless the new one is smaller, as in the
        published code; else its priority follows the change of value up and down, and it leaves
        the queue when that is small.
    reset_model : bool
        Whether the model is forgotten at each episode's end.
    queue_visited : bool
        With ``reset_model``: whether every visited state is queued during the episode, as in the
        published code, or its last state only, as in the paper's argument.
    act_before_update : bool
        Whether the next action is drawn before this step's update, as in the published code.
    priority : {"change", "need", "recency", "first_in", "random", "gain", "expected_value"}
        Which of the queued states is popped next; see
        :data:`replay.parts.priorities.PRIORITIES`. The gain of a state is the sum over all that it
        would tell.
    replay_at : {"step", "episode_end", "start_and_end", "rest", "pauses"}
        The pauses in which states are popped; see :data:`replay.parts.priorities.MOMENTS`. With
        ``reset_model`` it is the episode's end.
    forgetting : float
        Weight that earlier outcomes of a pair lose when it is tried again: 0 counts them all alike,
        1 keeps the last only; see :mod:`replay.parts.forgetting`.
    surprise_rate : float
        Above 0 each pair has a `forgetting` of its own, which begins with that and follows the
        pair's surprise with this rate.
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
    priority_only_lowers: bool = False
    reset_model: bool = False
    queue_visited: bool = True
    act_before_update: bool = False
    priority: Annotated[int, Choice(PRIORITIES)] = CHANGE
    replay_at: Annotated[int, Choice(MOMENTS)] = EACH_STEP
    forgetting: Share = 0.0
    surprise_rate: Share = 0.0
    reversible: bool = False
    retention: Annotated[int, Choice(RETENTION)] = EPISODES
    capacity: Annotated[float, Between(1.0, np.inf)] = np.inf


class Memory(NamedTuple):
    """What prioritized sweeping keeps.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    values : ndarray of float64, shape (n_states,)
        V, the largest action value of each state.
    known_values : ndarray of float64, shape (n_states,)
        U, the value that the predecessors of each state have been told.
    n_steps : ndarray of int64, shape (1,)
        Steps since the last reset.
    model : WorldModel
        The transitions remembered, since the last reset.
    queue : PriorityQueue
        The states whose predecessors should be told.
    evaluation : Evaluation or None
        Gain and need, if the priority depends on them.
    earnings : Earnings
        What the end of a pause depends on.
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
    """Say what is stored, and what is replayed when and why."""
    priority = describe_priority(params.priority, "V")
    if params.reset_model:
        return Description("a model of the episode", (EPISODE_END,), priority, "Brea 2018")
    stores = describe_model(params.retention, params.capacity)
    if params.initial_value > 0.0:
        stores += "; optimistic action values"
    source = "Moore & Atkeson 1993, van Seijen & Sutton 2013"
    return Description(stores, phases_of(params.replay_at), priority, source)


def acts_before_learning(params: Params) -> bool:
    """Tell whether the next action is drawn before this step's update."""
    return params.act_before_update


def forgets_at_end(params: Params) -> bool:
    """Tell whether the model is forgotten at each episode's end."""
    return params.reset_model


def init(params: Params, sizes: Sizes) -> Memory:
    """Make the memory of a learner that has experienced nothing."""
    start = params.initial_value if params.initial_value < np.inf else 0.0
    return Memory(
        np.full((sizes.n_states, sizes.n_actions), params.initial_value),
        np.full(sizes.n_states, start),
        np.full(sizes.n_states, start),
        np.zeros(1, dtype=np.int64),
        *sweeping_memory(params, sizes, sizes.n_states),
    )


def most_backups(params: Params, memory: Memory) -> int:
    """Bound the backups of the next step, which may lead two more pairs to a state."""
    n_pops = memory.n_steps[0] + 1 if params.reset_model else params.max_pops
    return int(2 + most_pauses(params.replay_at) * n_pops * (memory.model.most_in[0] + 2))


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q of each pair, V and U of each state, the model and the queue."""
    return known.pairs + 2 * known.states + sweeping_words(params, memory)


def _queue(params: Params, memory: Memory, s: int, cause: int) -> None:
    change = abs(memory.values[s] - memory.known_values[s])
    queue_change(params, memory.queue, s, change, cause, params.priority_only_lowers)


def _try(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Count a transition and make the small backup of its pair."""
    Q, model = memory.action_values, memory.model
    s, a, reward, s_next = transition[:4]
    before = Q[s, a]
    kept = remember(model, params.surprise_rate, s, a, s_next, transition.terminated)
    target = reward
    if not transition.terminated:
        target += params.discount * memory.known_values[s_next]
    Q[s, a] = target if kept == 0 else (before * kept + target) / (kept + 1)
    memory.values[s] = best_tried(Q, s)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], reward)
    retain(model, params.retention, params.capacity, s, a, Q[s, a])


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Learn from the transition, and from its way back if that is assumed."""
    s, s_next, ended = transition.state, transition.next_state, transition.terminated
    note_start(memory.evaluation, s, True)
    note_experience(params, memory.earnings, memory.action_values, transition)
    _try(params, memory, transition, log)
    memory.n_steps[0] += 1
    if not params.reset_model or params.queue_visited or ended or transition.truncated:
        _queue(params, memory, s, -1)
    back = unknown_way_back(memory.model, s, transition.action, s_next, ended)
    if back >= 0:
        _try(params, memory, Transition(s_next, back, 0.0, s, -1, False, False), log)
        assume(memory.model, s_next, back)
        _queue(params, memory, s_next, -1)


def _worth(params: Params, memory: Memory, evaluation: Evaluation, s: int) -> float:
    """Return what it is worth to tell the predecessors of a state."""
    change = memory.values[s] - memory.known_values[s]
    if params.priority == NEED:
        return float(evaluation.need.expected[s] * abs(change))
    Q, told = memory.action_values, params.discount * change
    return worth_of_propagating(evaluation, params.epsilon, memory.model, Q, s, told)


def _propagate(params: Params, memory: Memory, popped: Popped, log: BackupBuffer) -> None:
    """Tell the predecessors of a state, by small backups, how its value has changed."""
    Q, V, U, model = memory.action_values, memory.values, memory.known_values, memory.model
    s_next, priority, n, cause, phase = popped
    change = params.discount * (V[s_next] - U[s_next])
    U[s_next] = V[s_next]
    edge = model.first_in[s_next]
    while edge >= 0:
        s, a = model.edges[edge]["state"], model.edges[edge]["action"]
        before = Q[s, a]
        after = before + change * model.edges[edge]["count"] / model.visits[s, a]
        gain, need = gain_and_need(memory.evaluation, params, Q, s, a, after)
        Q[s, a] = after
        V[s] = best_tried(Q, s)
        note_change(params, memory.earnings, before, after)
        revalue(model, params.retention, s, a, after)
        row = record(log, phase, s, a, s_next, before, after, nan, priority, n, cause, gain, need)
        _queue(params, memory, s, row)
        edge = model.edges[edge]["next_in"]


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Pop states, the first in the queue first; a model that is reset is forgotten at the end."""
    n_pops = params.max_pops if is_due(params.replay_at, pause.phase) else 0
    if params.reset_model:
        n_pops = memory.n_steps[0] if pause.phase == EPISODE_END else 0
    sweep_queue(_propagate, _worth, params, memory, n_pops, pause, rng, log)
    if params.reset_model and pause.phase == EPISODE_END:
        clear_model(memory.model)
        clear(memory.queue)
        memory.n_steps[0] = 0
