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

Small backups are exact: Q(s, a) is the average of r + discount * U(s') over the remembered outcomes
of (s, a), and with an empty queue, where U = V, the action values solve the learned model. This
holds with every option, too: which state is next (``priority``), what is queued in the published
code (``priority_only_lowers``, ``queue_visited``), when a pause ends early
(:mod:`replay.parts.pauses`), how the model follows a changing world and assumes reverse moves
(``forgetting``, ``reversible``, :mod:`replay.parts.world_model`), and how much of it is kept
(``retention``, ``capacity``, `retain`). With ``forgetting``, N(s, a) is the weight that is left. A
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

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Ints
from replay.jit import as_int
from replay.learners import ranges
from replay.learners.contract import Between, Choice, Description, Known, Pause, Sizes, Transition
from replay.learners.prioritized_sweeping import evaluation
from replay.learners.prioritized_sweeping.evaluation import Evaluation
from replay.log.backups import EPISODE_END, ONLINE, START, BackupBuffer, record
from replay.parts import pauses, priority_queue, world_model
from replay.parts.pauses import Earnings
from replay.parts.policies import best_tried
from replay.parts.priority_queue import PriorityQueue, pop, remove, set_priority
from replay.parts.world_model import WorldModel

__all__ = ["PRIORITIES", "RETENTION", "Memory", "Params", "causes", "description", "init", "learn"]
__all__ += ["most_backups", "n_words", "replay", "retain"]

PRIORITIES = ("change", "need", "recency", "random")
"""``change``: the size of the change of V that waits to be propagated, as in the algorithm.
``need``: that size times the need of the state, which is how often the agent will be there, see
:mod:`replay.learners.prioritized_sweeping.evaluation`. ``recency``: the latest change first.
``random``: any that is waiting."""
CHANGE, NEED, RECENCY, RANDOM = range(4)

RETENTION = ("recent_episodes", "recent_transitions", "valuable_transitions", "fading")
"""What is kept; see `retain`."""
EPISODES, TRANSITIONS, VALUABLE, FADING = range(4)

_TIE = 1e-12  # breaks ties of value: added once for each transition retained so far


class Params(NamedTuple):
    """Parameters of prioritized sweeping.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`. Algorithm 1 has
    ``max_pops``, ``min_priority``, ``initial_value`` and ``reset_model``. Of the others, its code
    has some, and studies compare some; ``replay compare`` draws what is not known of rats:
    ``priority``, ``replay_at``, ``reversible`` and what ends a pause.

    Attributes
    ----------
    max_pops : int
        Largest number of pops per pause. With ``reset_model`` it is instead the number of steps of
        the episode, at its end.
    min_priority : float
        Smaller changes of a value are not queued.
    initial_value : float
        Action value of an untried pair. Infinite: untried actions are preferred, and left out
        of maxima. Large and finite: optimistic prioritized sweeping.
    priority_only_lowers : bool
        Whether a queued state keeps its priority unless the new one is smaller, as in the
        published code (discrepancy D13). Otherwise its priority follows |V - U| up and down, and it
        leaves the queue when that is small.
    reset_model : bool
        Whether the model is emptied at each episode's end.
    queue_visited : bool
        With ``reset_model``: whether every visited state is queued during the episode, as in the
        published code, or only its last state, as in the paper's argument (discrepancy D6).
    priority : {"change", "need", "recency", "random"}
        Which of the queued states is popped next: the one with the largest change of its value, or
        of change x need, as Mattar & Daw (2018) argue, or the latest change, or any.
    replay_at : str
        The pauses in which states are popped; see :data:`replay.parts.pauses.MOMENTS`. With
        ``reset_model`` this is the episode's end.
    forgetting : float
        Fraction of their weight that earlier outcomes of a pair lose when it is tried again: 0
        counts all alike, 1 keeps only the last. For worlds that change (``replay change``).
    retention : {"recent_episodes", "recent_transitions", "valuable_transitions", "fading"}
        What a bounded memory keeps; see :func:`replay.learners.prioritized_sweeping.retain`.
    capacity : float
        Bound of the memory, in episodes or transitions; infinite: none. Bounds are compared by
        ``replay study bounded_memory``.
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
    priority: Annotated[int, Choice(PRIORITIES)] = CHANGE
    replay_at: ranges.Moment = pauses.EACH_STEP
    forgetting: ranges.Share = 0.0
    reversible: bool = False
    retention: Annotated[int, Choice(RETENTION)] = EPISODES
    capacity: Annotated[float, Between(1.0, math.inf)] = np.inf


class Memory(NamedTuple):
    """The memory of prioritized sweeping."""

    action_values: Floats  # (n_states, n_actions): Q
    values: Floats  # (n_states,): V, the largest action value of each state
    # (n_states,): U, the value of each state that was last propagated to its predecessors
    known_values: Floats
    n_steps: Ints  # (1,): steps since the last reset
    model: WorldModel  # N: the transitions remembered since the last reset
    queue: PriorityQueue  # The states whose change is to be propagated
    evaluation: Evaluation | None  # The need of states, if the priority depends on it
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


def init(params: Params, sizes: Sizes) -> Memory:
    Q = np.full((sizes.n_states, sizes.n_actions), params.initial_value)
    V = np.full(sizes.n_states, params.initial_value if params.initial_value < np.inf else 0.0)
    model = world_model.world_model(
        *Q.shape,
        sizes.n_transitions,
        forgetting=params.forgetting,
        capacity=params.capacity,
        way_back=sizes.way_back,
    )
    need = evaluation.evaluation(params.discount, model) if params.priority == NEED else None
    queue, n_steps = priority_queue.priority_queue(sizes.n_states), np.zeros(1, dtype=np.int64)
    return Memory(Q, V, V.copy(), n_steps, model, queue, need, pauses.earnings())


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Update: learn from a step, and from its reverse if that is assumed."""
    evaluation.note_start(memory.evaluation, transition.state, True)
    pauses.note_experience(params, memory.earnings, memory.action_values, transition)
    _update(params, memory, transition, log)
    memory.n_steps[0] += 1
    is_last = transition.terminated or transition.truncated
    if not params.reset_model or params.queue_visited or is_last:
        _queue(params, memory, transition.state, -1)
    s, a, _, s_next, _, terminated, _ = transition
    model = memory.model
    back = world_model.unknown_way_back(model.way_back, model, s, a, s_next, terminated)
    if back >= 0:
        _update(params, memory, Transition(s_next, back, 0.0, s, -1, False, False), log)
        world_model.assume(model.is_assumed, s_next, back)
        _queue(params, memory, s_next, -1)


def _update(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Count a transition, and let Q(s, a) be the average over all that were counted."""
    Q, V, U, model = memory.action_values, memory.values, memory.known_values, memory.model
    s, a, r, s_next, _, terminated, _ = transition
    before = Q[s, a]
    n = world_model.remember(model, s, a, s_next, terminated)
    target = r if terminated else r + params.discount * U[s_next]
    Q[s, a] = target if n == 0 else (before * n + target) / (n + 1)
    V[s] = best_tried(Q, s)
    record(log, ONLINE, s, a, s_next, before, Q[s, a], r)
    retain(model.expendable, params, model, s, a, Q[s, a])


def _queue(params: Params, memory: Memory, s: int, cause: int) -> None:
    """Queue a state by |V(s) - U(s)| or in another order, or leave it out if that is small."""
    queue, change = memory.queue, abs(memory.values[s] - memory.known_values[s])
    if change > params.min_priority:
        place, priority = queue.position[s], change
        if params.priority == RECENCY:
            priority = float(priority_queue.tick(queue))
        elif params.priority == RANDOM:
            priority = np.nan
        if not params.priority_only_lowers or place < 0 or priority < queue.priority[place]:
            set_priority(queue, s, priority, cause)
    elif not params.priority_only_lowers:
        remove(queue, s)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Sweep: propagate the changes of popped states. Reset: at an end, empty the model."""
    Q, V, U, model = memory.action_values, memory.values, memory.known_values, memory.model
    queue, phase = memory.queue, pause.phase
    if phase == START:
        evaluation.note_start(memory.evaluation, pause.state)
    if params.reset_model:
        most = memory.n_steps[0] if phase == EPISODE_END else 0
    else:
        most = params.max_pops if pauses.is_due(params.replay_at, phase) else 0
    if most > 0 and queue.size[0] > 0:
        evaluation.look_ahead(memory.evaluation, model, Q, params.discount, params.epsilon, pause)
    for number in range(most):
        if queue.size[0] == 0:
            break
        first, worth = _first(memory.evaluation, params, memory)
        if not pauses.goes_on(params, memory.earnings, worth, rng):
            break
        s_next, priority = _take(memory.evaluation, params.priority, queue, first, worth, rng)
        change, cause = params.discount * (V[s_next] - U[s_next]), queue.cause[s_next]
        U[s_next] = V[s_next]
        edge = model.first_in[s_next]
        while edge >= 0:
            s, a = as_int(model.edges[edge]["state"]), as_int(model.edges[edge]["action"])
            before = Q[s, a]
            after = before + change * model.edges[edge]["count"] / model.visits[s, a]
            # Both are computed before Q changes: the gain is that of the policy by the old values.
            gain, need = evaluation.gain_and_need(memory.evaluation, Q, s, a, after, params.epsilon)
            pauses.note_change(params, memory.earnings, before, after)
            row = record(
                log, phase, s, a, s_next, before, after, np.nan, priority, number, cause, gain, need
            )
            Q[s, a] = after
            V[s] = best_tried(Q, s)
            revalue(model.expendable, params, model, s, a, after)
            _queue(params, memory, s, row)
            edge = model.edges[edge]["next_in"]
    if phase == EPISODE_END:
        forget_old_pairs(model.expendable, params, model)
        if params.reset_model:
            world_model.clear_model(model)
            priority_queue.clear(queue)
            memory.n_steps[0] = 0


def _first(need: Evaluation | None, params: Params, memory: Memory) -> tuple[int, float]:
    """Find the state that comes first, and what propagating its change is expected to gain."""
    queue = memory.queue
    if need is None:
        gain = queue.priority[0]
        if params.priority != CHANGE:
            gain = pauses.latest_change(memory.earnings)
        return queue.state[0], gain
    chosen, best = queue.state[0], -np.inf
    for place in range(queue.size[0]):
        s = queue.state[place]
        worth = need.need.expected[s] * abs(memory.values[s] - memory.known_values[s])
        if worth > best:
            chosen, best = s, worth
    return chosen, best


def _take(
    need: Evaluation | None,
    order: int,
    queue: PriorityQueue,
    first: int,
    worth: float,
    rng: Generator,
) -> tuple[int, float]:
    """Remove the first state from the queue, or any; return it with its priority."""
    state, priority = first, worth
    if need is None:
        place = 0
        if order == RANDOM:
            place = min(int(rng.random() * queue.size[0]), queue.size[0] - 1)
        state, priority = queue.state[place], queue.priority[place]
    remove(queue, state)
    return as_int(state), priority


def causes(memory: Memory) -> Ints:
    """List the backup that queued each state, as rows of the log; -1 for none."""
    return priority_queue.causes_of(memory.queue)


def description(params: Params) -> Description:
    orders = ("largest change of V", "largest change of V x need", "latest change of V")
    kept = "all transitions"
    if params.capacity < np.inf:
        kept = RETENTION[params.retention].replace("_", " ").replace("fading", "fading transitions")
    usual = Description(
        f"a model of {kept}",
        phases=pauses.phases_of(params.replay_at),
        priority=(*orders, "any change of V")[params.priority],
        source="Moore & Atkeson 1993, van Seijen & Sutton 2013",
        label="Prioritized sweeping",
        evaluates=params.priority == NEED,
        acts_before_learning=params.act_before_update,
        needs_way_back=params.reversible,
    )
    if params.reset_model:
        return usual._replace(
            stores="a model of the episode",
            phases=(EPISODE_END,),
            source="Brea 2018",
            label="Prio. sweeping, model reset",
            forgets_at_end=True,
        )
    if params.initial_value > 0.0:
        stores, label = f"{usual.stores}; optimistic action values", "Prio. sweeping, optimistic"
        return usual._replace(stores=stores, label=label)
    return usual


def most_backups(params: Params, memory: Memory) -> int:
    """Return an upper bound: a step may add two predecessors to a state."""
    n_pops = memory.n_steps[0] + 1 if params.reset_model else params.max_pops
    n_pauses = pauses.most_pauses(params.replay_at)
    return int(2 + n_pauses * n_pops * (memory.model.most_in[0] + 2))


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count Q of each pair, V and U of each state, the model, the queue and what options keep."""
    held = world_model.model_words(memory.model) + priority_queue.queue_words(memory.queue)
    held += evaluation.evaluation_words(memory.evaluation) + pauses.earnings_words(params)
    return known.pairs + 2 * known.states + held


# -- what a bounded memory forgets ---------------------------------------------------------

# The queue of a model is an argument, since numba omits code for None only there.


def retain(
    queue: PriorityQueue | None, params: Params, model: WorldModel, s: int, a: int, value: float
) -> None:
    """Note that a pair was tried, and forget what no longer fits.

    A pair is forgotten with all its outcomes, so that the probabilities of the remembered ones
    stay true. By the rules of ``RETENTION`` these pairs are forgotten:

    * ``recent_episodes``: those not tried in the last `capacity` episodes;
    * ``recent_transitions``: the least recently tried one, so that at most `capacity` edges are
      left;
    * ``valuable_transitions``: the least valuable one (of several, the least recently tried or
      replayed), so that at most `capacity` edges are left;
    * ``fading``: those whose trace is below 1 / e. The trace begins at the pair's weight N when it
      was last tried, and decays by a factor e in `capacity` episodes, so that it lasts for
      capacity (1 + log N) episodes.
    """
    if queue is None:
        return
    pair = s * model.visits.shape[1] + a
    if params.retention in (EPISODES, FADING):
        lifetime = params.capacity
        if params.retention == FADING:
            lifetime *= 1.0 + math.log(model.visits[s, a])
        set_priority(queue, pair, -(model.clock[1] + lifetime), -1)
        return
    remove(queue, pair)
    while model.n_edges[0] > params.capacity and queue.size[0] > 0:
        _forget_pair(model, pop(queue))
    model.clock[0] += 1
    used = float(model.clock[0])
    if params.retention == VALUABLE:
        used = value + _TIE * used
    set_priority(queue, pair, -used, -1)


def revalue(
    queue: PriorityQueue | None, params: Params, model: WorldModel, s: int, a: int, value: float
) -> None:
    """Give a remembered pair its new value, if memories are kept by value."""
    if queue is None:
        return
    if params.retention == VALUABLE:
        pair = s * model.visits.shape[1] + a
        set_priority(queue, pair, -(value + _TIE * model.clock[0]), -1)


def forget_old_pairs(queue: PriorityQueue | None, params: Params, model: WorldModel) -> None:
    """Forget the pairs whose time is over, at the end of an episode."""
    model.clock[1] += 1
    if queue is None:
        return
    if params.retention in (EPISODES, FADING):
        while queue.size[0] > 0 and -queue.priority[0] <= model.clock[1]:
            _forget_pair(model, pop(queue))


def _forget_pair(model: WorldModel, pair: int) -> None:
    n_actions = model.visits.shape[1]
    world_model.fade(model, pair // n_actions, pair % n_actions, 1.0)
