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
    end_episode,
    in_words,
    model_words,
    remember,
    retain,
    revalue,
    unknown_way_back,
    world_model,
)

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
    initial_value : float
        Action value of an untried pair. Infinite: untried actions are preferred, and left out
        of maxima.
    priority : {"change", "need", "recency", "first_in", "random", "gain", "expected_value"}
        Which of the queued pairs is backed up next; see :data:`replay.parts.priorities.PRIORITIES`.
    replay_at : {"step", "episode_end", "start_and_end", "rest", "pauses"}
        The pauses in which pairs are backed up; see :data:`replay.parts.priorities.MOMENTS`.
    forgetting, surprise_rate : float
        How the model follows a world that changes; see :mod:`replay.parts.world_model`.
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
    model : WorldModel
        The transitions remembered.
    queue : PriorityQueue
        The pairs whose backup is waiting, as s * n_actions + a.
    changed : ndarray of int32, shape (n_states * n_actions,)
        The successor whose value changed when the pair was queued.
    appraisal : Appraisal or None
        Gain and need, if the priority depends on them.
    """

    action_values: np.ndarray
    values: np.ndarray
    rewards: np.ndarray
    model: WorldModel
    queue: PriorityQueue
    changed: np.ndarray
    appraisal: Appraisal | None


def description(params: Params) -> Description:
    """Say what is stored, and what is replayed when and why."""
    priority = IN_WORDS[PRIORITIES[params.priority]].format("Q")
    source = "Moore & Atkeson 1993, Peng & Williams 1993"
    return Description(in_words(params), phases_of(params.replay_at), priority, source)


def needs_way_back(params: Params) -> bool:
    """Tell whether the model knows both directions of a move at once."""
    return params.reversible


def evaluates(params: Params) -> bool:
    """Tell whether gain and need are logged: if the priority depends on them."""
    return appraises(params)


def init(params, sizes):
    """Make the memory of a learner that has experienced nothing."""
    pairs = (sizes.n_states, sizes.n_actions)
    n_pairs = sizes.n_states * sizes.n_actions
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
        np.zeros(pairs),
        model,
        priority_queue(n_pairs),
        np.full(n_pairs, -1, dtype=np.int32),
        appraisal(params, model),
    )


def most_backups(params, memory):
    """Bound the backups of the next step."""
    return 2 + params.max_pops * (2 if params.replay_at in (START_AND_END, IN_PAUSES) else 1)


def causes(memory):
    """List the backups that the next ones may name as their cause."""
    return causes_of(memory.queue)


def n_words(params, memory, known):
    """Count the numbers held: Q and R of each pair, V of each state, the model and the queue."""
    tables = 2 * known.pairs + known.states
    followed = model_words(memory.model) + queue_words(memory.queue)
    return tables + followed + appraisal_words(memory.appraisal)


def _expected(params, memory, s, a):
    V, model = memory.values, memory.model
    expected = 0.0
    edge = model.first_out[s, a]
    while edge >= 0:
        expected += model.edges[edge]["count"] * V[model.edges[edge]["next_state"]]
        edge = model.edges[edge]["next_out"]
    return memory.rewards[s, a] + params.discount * expected / model.visits[s, a]


def _worth(appraised, params, memory, s, a):
    """Return what the backup of a pair is worth; nothing if the pair was forgotten."""
    if memory.model.visits[s, a] == 0.0:
        return 0.0
    Q, after, need = memory.action_values, appraised.after, appraised.need[s]
    expected = _expected(params, memory, s, a)
    if params.priority == NEED:
        return need * abs(expected - Q[s, a])
    for b in range(Q.shape[1]):
        after[b] = Q[s, b]
    after[a] = expected
    return need * gain(Q, s, after, params.epsilon)


def _take(appraised, params, memory, rng):
    queue, n_actions = memory.queue, memory.action_values.shape[1]
    if appraised is None:
        return take(params.priority, queue, rng)
    chosen, best = -1, -np.inf
    for place in range(queue.size[0]):
        pair = queue.state[place]
        worth = _worth(appraised, params, memory, pair // n_actions, pair % n_actions)
        if worth > best:
            chosen, best = pair, worth
    remove(queue, chosen)
    return chosen, best


def _queue(params, memory, s, a, s_next, cause):
    Q, queue = memory.action_values, memory.queue
    pair = s * Q.shape[1] + a
    change = abs(_expected(params, memory, s, a) - Q[s, a])
    if not change > params.min_priority:
        remove(queue, pair)
        return
    if queue.position[pair] < 0:
        memory.changed[pair] = s_next
    elif params.priority == FIRST_IN:
        return
    priority = change
    if params.priority != CHANGE:
        priority = ranked(params.priority, queue, change)
    set_priority(queue, pair, priority, cause)


def _back_up(
    params, memory, s, a, s_next, phase, log, reward=np.nan, priority=np.nan, pop=0, cause=-1
):
    Q, V, model = memory.action_values, memory.values, memory.model
    before, value, after = Q[s, a], V[s], _expected(params, memory, s, a)
    worth, need = np.nan, np.nan
    if phase != ONLINE:
        worth, need = appraise(memory.appraisal, params, Q, s, a, after)
    Q[s, a] = after
    V[s] = best_tried(Q, s)
    remove(memory.queue, s * Q.shape[1] + a)
    revalue(model, params, s, a, Q[s, a])
    row = record(log, phase, s, a, s_next, before, after, reward, priority, pop, cause, worth, need)
    if V[s] != value:
        if phase == ONLINE:
            row = -1
        edge = model.first_in[s]
        while edge >= 0:
            s_before, a_before = model.edges[edge]["state"], model.edges[edge]["action"]
            _queue(params, memory, s_before, a_before, s, row)
            edge = model.edges[edge]["next_in"]


def _try(params, memory, s, a, reward, s_next, terminated, log):
    R, model = memory.rewards, memory.model
    kept = remember(model, params, s, a, s_next, terminated)
    R[s, a] = (R[s, a] * kept + reward) / (kept + 1)
    if terminated:
        memory.values[s_next] = 0.0
    retain(model, params, s, a, memory.action_values[s, a])
    _back_up(params, memory, s, a, s_next, ONLINE, log, reward)


def learn(params, memory, transition, log):
    """Count the transition and back up its pair."""
    s, a, s_next = transition.state, transition.action, transition.next_state
    note_start(memory.appraisal, s, True)
    _try(params, memory, s, a, transition.reward, s_next, transition.terminated, log)
    model = memory.model
    back = unknown_way_back(model.way_back, model, s, a, s_next)
    if back >= 0 and not transition.terminated:
        _try(params, memory, s_next, back, 0.0, s, False, log)
        assume(model.is_assumed, s_next, back)


def replay(params, memory, pause, rng, log):
    """Back up pairs, the first in the queue first; then end the episode."""
    queue, n_actions = memory.queue, memory.action_values.shape[1]
    if pause.phase == START:
        note_start(memory.appraisal, pause.state)
    if is_due(params.replay_at, pause.phase):
        if queue.size[0] > 0:
            look_ahead(memory.appraisal, params, memory.model, memory.action_values, pause)
        for n_popped in range(params.max_pops):
            if queue.size[0] == 0:
                break
            pair, priority = _take(memory.appraisal, params, memory, rng)
            s, a = pair // n_actions, pair % n_actions
            if memory.model.visits[s, a] == 0:
                continue  # forgotten since it was queued
            s_next, cause = memory.changed[pair], queue.cause[pair]
            _back_up(
                params,
                memory,
                s,
                a,
                s_next,
                pause.phase,
                log,
                priority=priority,
                pop=n_popped,
                cause=cause,
            )
    if pause.phase == EPISODE_END:
        end_episode(memory.model, params)
