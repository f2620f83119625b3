"""What options add to prioritized sweeping, each as a step of the algorithm.

Without options these steps are those of Algorithm 1, or do nothing: states are popped by the
largest change, as many as may be, and transitions are counted and never forgotten.

* ``priority_only_lowers``, ``queue_visited``: what is queued in the published code;
* ``priority``: another order of the queue;
* ``backup_cost``, ``mean_backups``: a pause may end early (:mod:`replay.parts.pauses`);
* ``forgetting``: earlier outcomes of a pair lose weight when it is tried again; N(s, a) is the
  weight that is left, and all formulas hold as they stand (:mod:`replay.parts.forgetting`);
* ``reversible``: the reverse of each move is assumed until it is tried (there, too);
* ``retention``, ``capacity``: a bounded memory
  (:mod:`replay.learners.prioritized_sweeping.retention`).
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.jit import inlined
from replay.learners.contract import Pause, Sizes, Transition
from replay.learners.prioritized_sweeping import evaluation, retention
from replay.learners.prioritized_sweeping.evaluation import Evaluation
from replay.learners.prioritized_sweeping.memory import (
    CHANGE,
    NEED,
    RANDOM,
    RECENCY,
    Memory,
    Params,
    Popped,
)
from replay.log.backups import START, BackupBuffer, record
from replay.parts import forgetting, pauses
from replay.parts.pauses import Earnings
from replay.parts.priority_queue import (
    PriorityQueue,
    causes_of,
    priority_queue,
    queue_words,
    remove,
    set_priority,
    tick,
)
from replay.parts.world_model import WorldModel, model_words, world_model

__all__ = ["assume", "begin_pause", "causes", "count", "describe_model", "describe_order"]
__all__ += ["empty_memory", "end_episode", "evaluates", "is_queued_now", "leave_out", "log_backup"]
__all__ += ["needs_way_back", "note_step", "pop_state", "queue_state", "retain", "revalue"]
__all__ += ["way_back", "words"]

_NONE_LEFT = -1


def empty_memory(
    params: Params, sizes: Sizes
) -> tuple[WorldModel, PriorityQueue, Evaluation | None, Earnings]:
    """Make the last four fields of the memory."""
    model = world_model(
        sizes.n_states,
        sizes.n_actions,
        sizes.n_transitions,
        forgetting=params.forgetting,
        capacity=params.capacity,
        way_back=sizes.way_back,
    )
    need = evaluation.evaluation(params.discount, model) if params.priority == NEED else None
    return model, priority_queue(sizes.n_states), need, pauses.earnings()


def words(params: Params, memory: Memory) -> int:
    """Count the numbers held in what `empty_memory` makes."""
    held = model_words(memory.model) + queue_words(memory.queue)
    held += evaluation.evaluation_words(memory.evaluation)
    return held + pauses.earnings_words(params)


def needs_way_back(params: Params) -> bool:
    """Whether the model knows both directions of a move at once."""
    return params.reversible


def evaluates(params: Params) -> bool:
    """Whether gain and need are logged."""
    return params.priority == NEED


def causes(memory: Memory) -> NDArray[np.int64]:
    """List the backup that queued each state, as rows of the log; -1 for none."""
    return causes_of(memory.queue)


def describe_order(params: Params) -> str:
    """Describe which state is popped first."""
    orders = ("largest change of V", "largest change of V x need", "latest change of V")
    return (*orders, "any change of V")[params.priority]


def describe_model(params: Params) -> str:
    """Describe what is remembered."""
    return retention.describe_model(params.retention, params.capacity)


@inlined
def note_step(params: Params, memory: Memory, transition: Transition) -> None:
    """Note the start of the first episode, and the reward and the error of a step."""
    evaluation.note_start(memory.evaluation, transition.state, True)
    pauses.note_experience(params, memory.earnings, memory.action_values, transition)


@inlined
def count(memory: Memory, transition: Transition) -> float:
    """Count a transition; return the weight N(s, a) that earlier outcomes of its pair have kept."""
    s, a, _, s_next, _, terminated, _ = transition
    return forgetting.remember(memory.model, s, a, s_next, terminated)


@inlined
def way_back(memory: Memory, transition: Transition) -> Transition:
    """Return the reverse of a move, which earns nothing; its action is -1 if none is assumed."""
    s, a, _, s_next, _, terminated, _ = transition
    back = forgetting.unknown_way_back(memory.model, s, a, s_next, terminated)
    return Transition(s_next, back, 0.0, s, -1, False, False)


@inlined
def assume(memory: Memory, back: Transition) -> None:
    """Note that a pair is known only as the reverse of another one."""
    forgetting.assume(memory.model, back.state, back.action)


@inlined
def retain(params: Params, memory: Memory, s: int, a: int) -> None:
    """Keep a pair that was tried, and forget what no longer fits."""
    value = memory.action_values[s, a]
    retention.retain(memory.model, params.retention, params.capacity, s, a, value)


@inlined
def revalue(params: Params, memory: Memory, s: int, a: int) -> None:
    """Note the new value of a pair, if memories are kept by value."""
    retention.revalue(memory.model, params.retention, s, a, memory.action_values[s, a])


@inlined
def end_episode(params: Params, memory: Memory) -> None:
    """Forget what was kept for a number of episodes."""
    retention.end_episode(memory.model, params.retention)


@inlined
def is_queued_now(params: Params, transition: Transition) -> bool:
    """Whether the state of a step is queued: before a reset perhaps only that of the last step."""
    is_last = transition.terminated or transition.truncated
    return not params.reset_model or params.queue_visited or is_last


@inlined
def queue_state(params: Params, memory: Memory, s: int, change: float, cause: int) -> None:
    """Queue a state by its change, or in another order; the largest priority comes first."""
    queue = memory.queue
    place, priority = queue.position[s], change
    if params.priority == RECENCY:
        priority = float(tick(queue))
    elif params.priority == RANDOM:
        priority = np.nan
    if not params.priority_only_lowers or place < 0 or priority < queue.priority[place]:
        set_priority(queue, s, priority, cause)


@inlined
def leave_out(params: Params, memory: Memory, s: int) -> None:
    """Take a state whose change is small out of the queue, unless priorities only fall."""
    if not params.priority_only_lowers:
        remove(memory.queue, s)


@inlined
def begin_pause(params: Params, memory: Memory, pause: Pause, most: int) -> None:
    """Compute the need of all states from here, if the priority depends on it."""
    if pause.phase == START:
        evaluation.note_start(memory.evaluation, pause.state)
    if most > 0 and memory.queue.size[0] > 0:
        Q, model = memory.action_values, memory.model
        evaluation.look_ahead(memory.evaluation, model, Q, params.discount, params.epsilon, pause)


@inlined
def pop_state(params: Params, memory: Memory, phase: int, number: int, rng: Generator) -> Popped:
    """Pop the next state from the queue; state -1: none is left, or the pause is over."""
    queue, state, priority = memory.queue, _NONE_LEFT, np.nan
    if queue.size[0] > 0:
        first, worth = _first(memory.evaluation, params, memory)
        if pauses.goes_on(params, memory.earnings, worth, rng):
            state, priority = _take(memory.evaluation, params.priority, queue, first, worth, rng)
    cause = queue.cause[state] if state >= 0 else -1
    return Popped(state, priority, number, cause, phase)


@inlined
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


@inlined
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
    return state, priority


@inlined
def log_backup(
    params: Params, memory: Memory, popped: Popped, s: int, a: int, after: float, log: BackupBuffer
) -> int:
    """Log a small backup before its action value is changed, and note the size of the change.

    `after` is the new Q(s, a). Return the row of the log.
    """
    s_next, priority, n, cause, phase = popped
    Q, before = memory.action_values, memory.action_values[s, a]
    gain, need = evaluation.gain_and_need(memory.evaluation, Q, s, a, after, params.epsilon)
    pauses.note_change(params, memory.earnings, before, after)
    return record(log, phase, s, a, s_next, before, after, np.nan, priority, n, cause, gain, need)
