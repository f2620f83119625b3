"""Prioritized sweeping with small backups; also optimistic, and with a model reset each episode.

The learner counts transitions. V(s) is the value of a state, U(s) the value that its predecessors
were told last. Whenever V(s) changes, s is queued, with the size of V(s) - U(s) as its priority;
popping s tells the change to all its predecessors in the learned model. With ``reset_model`` the
sweep waits for the end of the episode, makes as many pops as the episode had steps, and the model
is forgotten.

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

from replay.backups import EPISODE_END, ONLINE, START, record
from replay.policies import best_tried
from replay.priority_queue import PriorityQueue, clear, pop, priority_queue, remove, set_priority
from replay.world_model import WorldModel, forget, observe, world_model

__all__ = ["Memory", "Params", "init", "learn", "most_backups", "replay"]


class Params(NamedTuple):
    """Parameters of prioritized sweeping.

    Attributes
    ----------
    discount : float
        Weight of the future, a step.
    epsilon : float
        Probability of a uniformly random action.
    max_pops : int
        States popped at most in each step. With ``reset_model`` it is the number of steps of the
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
    """

    discount: float = 0.99
    epsilon: float = 0.1
    max_pops: int = 3
    min_priority: float = 1e-8
    initial_value: float = 0.0
    priority_only_lowers: bool = False
    reset_model: bool = False
    queue_visited: bool = True
    act_before_update: bool = False


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
        The transitions seen, since the last reset.
    queue : PriorityQueue
        The states whose predecessors should be told.
    n_steps : ndarray of int64, shape (1,)
        Steps since the last reset.
    """

    action_values: np.ndarray
    values: np.ndarray
    known_values: np.ndarray
    model: WorldModel
    queue: PriorityQueue
    n_steps: np.ndarray


def init(params, sizes):
    """Make the memory of a learner that has experienced nothing."""
    start = params.initial_value if params.initial_value < np.inf else 0.0
    return Memory(
        np.full((sizes.n_states, sizes.n_actions), params.initial_value),
        np.full(sizes.n_states, start),
        np.full(sizes.n_states, start),
        world_model(sizes.n_states, sizes.n_actions, sizes.n_transitions),
        priority_queue(sizes.n_states),
        np.zeros(1, dtype=np.int64),
    )


def most_backups(params, memory):
    """Bound the backups of the next step."""
    n_pops = memory.n_steps[0] + 1 if params.reset_model else params.max_pops
    return 1 + n_pops * (memory.model.most_in[0] + 1)


def _queue(params, memory, state, cause):
    priority = abs(memory.values[state] - memory.known_values[state])
    if priority > params.min_priority:
        place = memory.queue.position[state]
        if not params.priority_only_lowers or place < 0 or priority < memory.queue.priority[place]:
            set_priority(memory.queue, state, priority, cause)
    elif not params.priority_only_lowers:
        remove(memory.queue, state)


def learn(params, memory, transition, log):
    """Count the transition and make the small backup of its pair."""
    Q, V, U, model = memory.action_values, memory.values, memory.known_values, memory.model
    s, a = transition.state, transition.action
    observe(model, s, a, transition.next_state, transition.terminated)
    memory.n_steps[0] += 1
    before = Q[s, a]
    N = model.visits[s, a]
    target = transition.reward
    if not transition.terminated:
        target += params.discount * U[transition.next_state]
    Q[s, a] = target if N == 1 else (before * (N - 1) + target) / N
    V[s] = best_tried(Q, s)
    record(log, ONLINE, s, a, transition.next_state, before, Q[s, a], transition.reward)
    ended = transition.terminated or transition.truncated
    if not params.reset_model or params.queue_visited or ended:
        _queue(params, memory, s, -1)


def _sweep(params, memory, n_pops, phase, log):
    Q, V, U, model, queue = memory[:5]
    for n_popped in range(n_pops):
        if queue.size[0] == 0:
            break
        priority = queue.priority[0]
        s_next = pop(queue)
        cause = queue.cause[s_next]
        change = params.discount * (V[s_next] - U[s_next])
        U[s_next] = V[s_next]
        edge = model.first_in[s_next]
        while edge >= 0:
            s, a = model.edges[edge]["state"], model.edges[edge]["action"]
            before = Q[s, a]
            Q[s, a] = before + change * model.edges[edge]["count"] / model.visits[s, a]
            V[s] = best_tried(Q, s)
            row = record(
                log,
                phase,
                s,
                a,
                s_next,
                before,
                Q[s, a],
                priority=priority,
                pop=n_popped,
                cause=cause,
            )
            _queue(params, memory, s, row)
            edge = model.edges[edge]["next_in"]


def replay(params, memory, pause, rng, log):
    """Tell predecessors of changes, the largest first; with a reset, at an episode's end only."""
    if not params.reset_model:
        if pause.phase != START:
            _sweep(params, memory, params.max_pops, pause.phase, log)
    elif pause.phase == EPISODE_END:
        _sweep(params, memory, memory.n_steps[0], EPISODE_END, log)
        forget(memory.model)
        clear(memory.queue)
        memory.n_steps[0] = 0
