"""Prioritized sweeping with small backups; also optimistic, and with a model reset each episode.

The learner counts transitions. V(s) is the value of a state, U(s) the value that its predecessors
were told last. Whenever V(s) changes, s is queued, with the size of V(s) - U(s) as its priority;
popping s tells the change to all its predecessors in the learned model. With ``reset_model`` the
sweep waits for the end of the episode, makes as many pops as the episode had steps, and the model
is forgotten.

Other accounts are a parameter away: which state is next, when the queue is worked off, how the
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

from typing import Annotated, NamedTuple

import numpy as np

from replay.learners.contract import Between, Choice, Count, Description, Share, Threshold, Value
from replay.log.backups import EPISODE_END, ONLINE, START, record
from replay.parts.appraisal import (
    Appraisal,
    appraisal,
    appraisal_words,
    appraise,
    appraises,
    gain,
    look_ahead,
    note_start,
)
from replay.parts.policies import best_tried
from replay.parts.priorities import (
    CHANGE,
    EACH_STEP,
    FIRST_IN,
    IN_PAUSES,
    IN_WORDS,
    MOMENTS,
    NEED,
    PRIORITIES,
    START_AND_END,
    is_due,
    phases_of,
    ranked,
    take,
)
from replay.parts.priority_queue import (
    PriorityQueue,
    causes_of,
    clear,
    priority_queue,
    queue_words,
    remove,
    set_priority,
)
from replay.parts.world_model import (
    EPISODES,
    RETENTION,
    WorldModel,
    assume,
    edge_to,
    end_episode,
    forget,
    in_words,
    model_words,
    remember,
    retain,
    revalue,
    unknown_way_back,
    world_model,
)

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
        1 keeps the last only; see :mod:`replay.parts.world_model`.
    surprise_rate : float
        Above 0 each pair has a `forgetting` of its own, which begins with that and follows the
        pair's surprise with this rate.
    reversible : bool
        Whether a transition that was seen is known in both directions at once. The way back is
        assumed to pay nothing, until it is tried.
    retention : {"recent_episodes", "recent_transitions", "valuable_transitions", "fading"}
        What is forgotten if the memory is bounded; see :func:`replay.parts.world_model.retain`.
    capacity : float
        Bound of the memory: a number of episodes or of transitions. Infinite: none.
    """

    discount: Share = 0.99
    epsilon: Share = 0.1
    max_pops: Count = 3
    min_priority: Threshold = 1e-8
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
    model : WorldModel
        The transitions remembered, since the last reset.
    queue : PriorityQueue
        The states whose predecessors should be told.
    n_steps : ndarray of int64, shape (1,)
        Steps since the last reset.
    appraisal : Appraisal or None
        Gain and need, if the priority depends on them.
    """

    action_values: np.ndarray
    values: np.ndarray
    known_values: np.ndarray
    model: WorldModel
    queue: PriorityQueue
    n_steps: np.ndarray
    appraisal: Appraisal | None


def description(params: Params) -> Description:
    """Say what is stored, and what is replayed when and why."""
    priority = IN_WORDS[PRIORITIES[params.priority]].format("V")
    if params.reset_model:
        return Description("a model of the episode", (EPISODE_END,), priority, "Brea 2018")
    stores = in_words(params)
    if params.initial_value > 0.0:
        stores += "; optimistic action values"
    source = "Moore & Atkeson 1993, van Seijen & Sutton 2013"
    return Description(stores, phases_of(params.replay_at), priority, source)


def acts_before_learning(params: Params) -> bool:
    """Tell whether the next action is drawn before this step's update."""
    return params.act_before_update


def needs_way_back(params: Params) -> bool:
    """Tell whether the model knows both directions of a move at once."""
    return params.reversible


def forgets_at_end(params: Params) -> bool:
    """Tell whether the model is forgotten at each episode's end."""
    return params.reset_model


def evaluates(params: Params) -> bool:
    """Tell whether gain and need are logged: if the priority depends on them."""
    return appraises(params)


def init(params, sizes):
    """Make the memory of a learner that has experienced nothing."""
    pairs = (sizes.n_states, sizes.n_actions)
    start = params.initial_value if params.initial_value < np.inf else 0.0
    model = world_model(
        *pairs,
        sizes.n_transitions,
        forgetting=params.forgetting or (0.0 if params.surprise_rate else None),
        way_back=sizes.way_back,
        bounded=params.capacity < np.inf,
    )
    return Memory(
        np.full(pairs, params.initial_value),
        np.full(sizes.n_states, start),
        np.full(sizes.n_states, start),
        model,
        priority_queue(sizes.n_states),
        np.zeros(1, dtype=np.int64),
        appraisal(params, model),
    )


def most_backups(params, memory):
    """Bound the backups of the next step."""
    n_pops = memory.n_steps[0] + 1 if params.reset_model else params.max_pops
    n_pauses = 2 if params.replay_at in (START_AND_END, IN_PAUSES) else 1
    return 2 + n_pauses * n_pops * (memory.model.most_in[0] + 1)


def causes(memory):
    """List the backups that the next ones may name as their cause."""
    return causes_of(memory.queue)


def n_words(params, memory, known):
    """Count the numbers held: Q of each pair, V and U of each state, the model and the queue."""
    tables = known.pairs + 2 * known.states
    followed = model_words(memory.model) + queue_words(memory.queue)
    return tables + followed + appraisal_words(memory.appraisal)


def _queue(params, memory, state, cause):
    queue = memory.queue
    change = abs(memory.values[state] - memory.known_values[state])
    if change > params.min_priority:
        place = queue.position[state]
        if place >= 0 and params.priority == FIRST_IN:
            return
        priority = change
        if params.priority != CHANGE:
            priority = ranked(params.priority, queue, change)
        if not params.priority_only_lowers or place < 0 or priority < queue.priority[place]:
            set_priority(queue, state, priority, cause)
    elif not params.priority_only_lowers:
        remove(queue, state)


def _try(params, memory, s, a, reward, s_next, terminated, log):
    Q, V, U, model = memory.action_values, memory.values, memory.known_values, memory.model
    before = Q[s, a]
    kept = remember(model, params, s, a, s_next, terminated)
    target = reward
    if not terminated:
        target += params.discount * U[s_next]
    Q[s, a] = target if kept == 0 else (before * kept + target) / (kept + 1)
    V[s] = best_tried(Q, s)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], reward)
    retain(model, params, s, a, Q[s, a])


def learn(params, memory, transition, log):
    """Count the transition and make the small backup of its pair."""
    s, a, s_next = transition.state, transition.action, transition.next_state
    ended = transition.terminated or transition.truncated
    note_start(memory.appraisal, s, True)
    _try(params, memory, s, a, transition.reward, s_next, transition.terminated, log)
    memory.n_steps[0] += 1
    if not params.reset_model or params.queue_visited or ended:
        _queue(params, memory, s, -1)
    model = memory.model
    back = unknown_way_back(model.way_back, model, s, a, s_next)
    if back >= 0 and not transition.terminated:
        _try(params, memory, s_next, back, 0.0, s, False, log)
        assume(model.is_assumed, s_next, back)
        _queue(params, memory, s_next, -1)


def _is_first_told(params, memory, after, s, a, s_next):
    """Write Q(s, .) as it would be if s_next were told; ask if a is the first that leads there."""
    Q, model = memory.action_values, memory.model
    change = params.discount * (memory.values[s_next] - memory.known_values[s_next])
    first = -1
    for b in range(Q.shape[1]):
        after[b] = Q[s, b]
        edge = edge_to(model, s, b, s_next)
        if edge >= 0:
            after[b] += change * model.edges[edge]["count"] / model.visits[s, b]
            if first < 0:
                first = b
    return a == first


def _worth(appraised, params, memory, s_next):
    """Return what it is worth to tell all predecessors of a state."""
    need, after, model = appraised.need, appraised.after, memory.model
    if params.priority == NEED:
        return need[s_next] * abs(memory.values[s_next] - memory.known_values[s_next])
    total = 0.0
    edge = model.first_in[s_next]
    while edge >= 0:
        s, a = model.edges[edge]["state"], model.edges[edge]["action"]
        if _is_first_told(params, memory, after, s, a, s_next):
            total += need[s] * gain(memory.action_values, s, after, params.epsilon)
        edge = model.edges[edge]["next_in"]
    return total


def _take(appraised, params, memory, rng):
    queue = memory.queue
    if appraised is None:
        return take(params.priority, queue, rng)
    chosen, best = -1, -np.inf
    for place in range(queue.size[0]):
        state = queue.state[place]
        worth = _worth(appraised, params, memory, state)
        if worth > best:
            chosen, best = state, worth
    remove(queue, chosen)
    return chosen, best


def _sweep(params, memory, n_pops, pause, rng, log):
    Q, V, U, model, queue = memory[:5]
    if queue.size[0] > 0:
        look_ahead(memory.appraisal, params, model, Q, pause)
    for n_popped in range(n_pops):
        if queue.size[0] == 0:
            break
        s_next, priority = _take(memory.appraisal, params, memory, rng)
        cause = queue.cause[s_next]
        change = params.discount * (V[s_next] - U[s_next])
        U[s_next] = V[s_next]
        edge = model.first_in[s_next]
        while edge >= 0:
            s, a = model.edges[edge]["state"], model.edges[edge]["action"]
            before = Q[s, a]
            after = before + change * model.edges[edge]["count"] / model.visits[s, a]
            worth, need = appraise(memory.appraisal, params, Q, s, a, after)
            Q[s, a] = after
            V[s] = best_tried(Q, s)
            revalue(model, params, s, a, Q[s, a])
            row = record(
                log,
                pause.phase,
                s,
                a,
                s_next,
                before,
                Q[s, a],
                priority=priority,
                pop=n_popped,
                cause=cause,
                gain=worth,
                need=need,
            )
            _queue(params, memory, s, row)
            edge = model.edges[edge]["next_in"]


def replay(params, memory, pause, rng, log):
    """Tell predecessors of changes, the first in the queue first; then end the episode."""
    if pause.phase == START:
        note_start(memory.appraisal, pause.state)
    if params.reset_model:
        if pause.phase == EPISODE_END:
            _sweep(params, memory, memory.n_steps[0], pause, rng, log)
            forget(memory.model)
            clear(memory.queue)
            memory.n_steps[0] = 0
    elif is_due(params.replay_at, pause.phase):
        _sweep(params, memory, params.max_pops, pause, rng, log)
    if pause.phase == EPISODE_END:
        end_episode(memory.model, params)
