"""Prioritized sweeping with small backups; also optimistic, and with a model reset each episode.

This is Algorithm 1 of the paper [3]_. The learner counts transitions: N(s, a) and N(s, a, s'). V(s)
is the value of a state, U(s) the value that was last propagated to its predecessors::

    update, after each step s, a, r, s'        N(s, a) += 1;  N(s, a, s') += 1
                                               Q(s, a) += (r + discount U(s') - Q(s, a)) / N(s, a)
                                               V(s) = max_b Q(s, b);  queue s by |V(s) - U(s)|

    sweep, max_pops times                      pop s';  change = V(s') - U(s');  U(s') = V(s')
      for all (s, a) with N(s, a, s') > 0      Q(s, a) += discount change N(s, a, s') / N(s, a)
                                               V(s) = max_b Q(s, b);  queue s by |V(s) - U(s)|

    reset, at an episode's end                 N = 0;  empty the queue

With ``reset_model`` the sweep waits for the end of the episode, makes as many pops as the episode
had steps, and is followed by the reset; without, there is a sweep after each step, and no reset.

Small backups are exact: Q(s, a) is the average of r + discount U(s') over the remembered outcomes
of (s, a), and with an empty queue, where U = V, the action values solve the learned model. This
holds with every option, too (:mod:`replay.learners.prioritized_sweeping.options`): which state is
next, when a pause ends, how the model follows a changing world, and how much of it is kept. A
forgotten pair keeps its action value: the model is solved as if the pair earned that much and ended
the episode. When it is tried again its value begins anew.

References
----------
.. [1] Moore & Atkeson (1993), Prioritized sweeping. https://doi.org/10.1007/BF00993104
.. [2] van Seijen & Sutton (2013), Planning by prioritized sweeping with small backups.
   https://arxiv.org/abs/1301.2343
.. [3] Brea (2018), Is prioritized sweeping the better episodic control?, Algorithm 1.
   https://arxiv.org/abs/1711.06677
"""

import numpy as np
from numpy.random import Generator

from replay.jit import as_int
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.learners.prioritized_sweeping import options
from replay.learners.prioritized_sweeping.memory import Memory, Params, Popped
from replay.learners.prioritized_sweeping.options import causes, evaluates, needs_way_back
from replay.learners.q_learning import acts_before_learning
from replay.log.backups import EPISODE_END, ONLINE, BackupBuffer, record
from replay.parts import moments
from replay.parts.policies import best_tried
from replay.parts.priority_queue import clear
from replay.parts.world_model import clear_model

__all__ = ["Memory", "Params", "acts_before_learning", "causes", "description", "evaluates"]
__all__ += ["forgets_at_end", "init", "learn", "most_backups", "n_words", "needs_way_back"]
__all__ += ["replay"]


def init(params: Params, sizes: Sizes) -> Memory:
    """Return the memory of a learner without experience."""
    Q = np.full((sizes.n_states, sizes.n_actions), params.initial_value)
    V = np.full(sizes.n_states, params.initial_value if params.initial_value < np.inf else 0.0)
    n_steps = np.zeros(1, dtype=np.int64)
    return Memory(Q, V, V.copy(), n_steps, *options.empty_memory(params, sizes))


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Update: learn from a step, and from its reverse if that is assumed."""
    options.note_step(params, memory, transition)
    _update(params, memory, transition, log)
    memory.n_steps[0] += 1
    if options.is_queued_now(params, transition):
        _queue(params, memory, transition.state, -1)
    back = options.way_back(memory, transition)
    if back.action >= 0:
        _update(params, memory, back, log)
        options.assume(memory, back)
        _queue(params, memory, back.state, -1)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Sweep: propagate the changes of popped states. Reset: at an end, empty the model."""
    most = _most_pops(params, memory, pause.phase)
    options.begin_pause(params, memory, pause, most)
    for number in range(most):
        popped = options.pop_state(params, memory, pause.phase, number, rng)
        if popped.state < 0:
            break
        _propagate(params, memory, popped, log)
    if pause.phase == EPISODE_END:
        options.end_episode(params, memory)
        if params.reset_model:
            _reset(memory)


def _update(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Count a transition, and let Q(s, a) be the average over all that were counted."""
    Q, V, U = memory.action_values, memory.values, memory.known_values
    s, a, r, s_next, _, terminated, _ = transition
    before = Q[s, a]
    n = options.count(memory, transition)
    target = r if terminated else r + params.discount * U[s_next]
    Q[s, a] = target if n == 0 else (before * n + target) / (n + 1)
    V[s] = best_tried(Q, s)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)
    options.retain(params, memory, s, a)


def _queue(params: Params, memory: Memory, s: int, cause: int) -> None:
    """Queue a state by |V(s) - U(s)|, or leave it out if that is small."""
    change = abs(memory.values[s] - memory.known_values[s])
    if change > params.min_priority:
        options.queue_state(params, memory, s, change, cause)
    else:
        options.leave_out(params, memory, s)


def _most_pops(params: Params, memory: Memory, phase: int) -> int:
    if params.reset_model:
        return int(memory.n_steps[0]) if phase == EPISODE_END else 0
    return params.max_pops if moments.is_due(params.replay_at, phase) else 0


def _propagate(params: Params, memory: Memory, popped: Popped, log: BackupBuffer) -> None:
    """Pass the change of a state's value on to all its predecessors, by small backups."""
    Q, V, U, model = memory.action_values, memory.values, memory.known_values, memory.model
    s_next = popped.state
    change = params.discount * (V[s_next] - U[s_next])
    U[s_next] = V[s_next]
    edge = model.first_in[s_next]
    while edge >= 0:
        s, a = as_int(model.edges[edge]["state"]), as_int(model.edges[edge]["action"])
        after = Q[s, a] + change * model.edges[edge]["count"] / model.visits[s, a]
        row = options.log_backup(params, memory, popped, s, a, after, log)
        Q[s, a] = after
        V[s] = best_tried(Q, s)
        options.revalue(params, memory, s, a)
        _queue(params, memory, s, row)
        edge = model.edges[edge]["next_in"]


def _reset(memory: Memory) -> None:
    clear_model(memory.model)
    clear(memory.queue)
    memory.n_steps[0] = 0


def description(params: Params) -> Description:
    """Describe what is stored, and what is replayed, when and why."""
    if params.reset_model:
        order = options.describe_order(params)
        return Description("a model of the episode", (EPISODE_END,), order, "Brea 2018")
    stores = options.describe_model(params) + "; optimistic action values" * (
        params.initial_value > 0.0
    )
    source = "Moore & Atkeson 1993, van Seijen & Sutton 2013"
    phases = moments.phases_of(params.replay_at)
    return Description(stores, phases, options.describe_order(params), source)


def forgets_at_end(params: Params) -> bool:
    """Whether the model is emptied at each episode's end."""
    return params.reset_model


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound: a step may add two predecessors to a state."""
    n_pops = memory.n_steps[0] + 1 if params.reset_model else params.max_pops
    n_pauses = moments.most_pauses(params.replay_at)
    return int(2 + n_pauses * n_pops * (memory.model.most_in[0] + 2))


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count Q of each pair, V and U of each state, the model, the queue and what options keep."""
    return known.pairs + 2 * known.states + options.words(params, memory)
