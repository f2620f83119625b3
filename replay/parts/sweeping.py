"""What all prioritized sweeping shares: changes wait in a queue until they are passed on [1]_ [2]_.

The functions that take the parameters and the memory of a learner read the parameters ``discount,
epsilon, min_priority, backup_cost, mean_backups, priority, forgetting, surprise_rate, retention,
capacity``, and of the memory ``action_values``, and what `sweeping_memory` makes: ``model, queue,
evaluation, earnings``.

References
----------
.. [1] Moore & Atkeson (1993), Prioritized sweeping. https://doi.org/10.1007/BF00993104
.. [2] Peng & Williams (1993), Efficient learning and planning within the Dyna framework.
   https://doi.org/10.1177/105971239300100403
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.jit import inlined
from replay.log.backups import EPISODE_END, START, BackupBuffer, record
from replay.parts.evaluation import (
    Evaluation,
    evaluation,
    evaluation_words,
    gain_and_need,
    look_ahead,
    note_start,
)
from replay.parts.pauses import (
    Earnings,
    earnings,
    earnings_words,
    goes_on,
    latest_change,
    note_change,
    note_experience,
)
from replay.parts.priorities import CHANGE, FIRST_IN, is_evaluated, pop_next, rank
from replay.parts.priority_queue import (
    PriorityQueue,
    causes_of,
    priority_queue,
    queue_words,
    remove,
    set_priority,
)
from replay.parts.retention import end_episode
from replay.parts.world_model import WorldModel, model_words, world_model

__all__ = ["Popped", "causes", "evaluates", "log_backup", "needs_way_back", "note_step"]
__all__ += ["queue_change", "sweep_queue", "sweeping_memory", "sweeping_words"]


class Popped(NamedTuple):
    """What was taken out of the queue.

    Attributes
    ----------
    item : int
        A state, or a pair of state and action.
    priority : float
        Its priority.
    number : int
        How many were taken out before it in this pause.
    cause : int
        The row of the backup that put it in the queue; -1 if it was an online one.
    phase : int
        Of the pause.
    """

    item: int
    priority: float
    number: int
    cause: int
    phase: int


def sweeping_memory(
    params: Any, sizes: Any, n_items: int
) -> tuple[WorldModel, PriorityQueue, Evaluation | None, Earnings]:
    """Make what a learner that has experienced nothing keeps for sweeping.

    Parameters
    ----------
    params : NamedTuple
        Of the learner.
    sizes : NamedTuple
        How large the world is, a :class:`replay.learners.contract.Sizes`.
    n_items : int
        How many different states, or pairs, may wait in the queue.

    Returns
    -------
    model : WorldModel
        The transitions seen.
    queue : PriorityQueue
        What waits.
    evaluation : Evaluation or None
        Gain and need, if the priority depends on them.
    earnings : Earnings
        What the end of a pause depends on.
    """
    model = world_model(
        sizes.n_states,
        sizes.n_actions,
        sizes.n_transitions,
        forgetting=params.forgetting,
        surprise_rate=params.surprise_rate,
        capacity=params.capacity,
        way_back=sizes.way_back,
    )
    evaluated = evaluation(params.priority, params.discount, model)
    return model, priority_queue(n_items), evaluated, earnings()


def sweeping_words(params: Any, memory: Any) -> int:
    """Count the numbers held of what `sweeping_memory` makes."""
    held = model_words(memory.model) + queue_words(memory.queue)
    return held + evaluation_words(memory.evaluation) + earnings_words(params)


def needs_way_back(params: Any) -> bool:
    """Tell whether the model knows both directions of a move at once: a hook of sweepers.

    Parameters
    ----------
    params : Params
        Has `reversible`.

    Returns
    -------
    bool
    """
    return bool(params.reversible)


def evaluates(params: Any) -> bool:
    """Tell whether gain and need are logged, as the priority depends on them: a hook of sweepers.

    Parameters
    ----------
    params : Params
        Has `priority`.

    Returns
    -------
    bool
    """
    return is_evaluated(params.priority)


def causes(memory: Any) -> NDArray[np.int64]:
    """List the backups that the next ones may name as their cause: a hook of sweepers.

    Parameters
    ----------
    memory : Memory
        Has a `queue`.

    Returns
    -------
    ndarray of int64, shape (n_items,)
        Rows; -1 for none.
    """
    return causes_of(memory.queue)


@inlined
def note_step(params: Any, memory: Any, transition: Any) -> None:
    """Note what a step says of starts of episodes and of rewards, before it is learned from.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner.
    transition : NamedTuple
        The step, a :class:`replay.learners.contract.Transition`.
    """
    note_start(memory.evaluation, transition.state, True)
    note_experience(params, memory.earnings, memory.action_values, transition)


@inlined
def log_backup(
    params: Any,
    memory: Any,
    popped: Popped,
    s: int,
    a: int,
    s_next: int,
    after: float,
    log: BackupBuffer,
) -> int:
    """Evaluate and log a backup in replay, before the action value is changed.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner.
    popped : Popped
        What was taken out of the queue.
    s, a, s_next : int
        The transition that is backed up.
    after : float
        The new value of Q(s, a).
    log : BackupBuffer
        What the backup is logged to.

    Returns
    -------
    int
        Its row, as :func:`replay.log.backups.record` returns it.
    """
    _, priority, n, cause, phase = popped
    before = memory.action_values[s, a]
    gain, need = gain_and_need(memory.evaluation, params, memory.action_values, s, a, after)
    note_change(params, memory.earnings, before, after)
    return record(log, phase, s, a, s_next, before, after, np.nan, priority, n, cause, gain, need)


@inlined
def queue_change(
    params: Any,
    queue: PriorityQueue,
    item: int,
    change: float,
    cause: int,
    only_lowers: bool = False,
) -> None:
    """Let an item wait with the priority of its change; without a change it need not wait.

    Parameters
    ----------
    params : NamedTuple
        Of the learner.
    queue : PriorityQueue
        What is waiting.
    item : int
        The state, or the pair.
    change : float
        The size of the change that is waiting.
    cause : int
        The row of the backup that changed it, -1 if it was an online one.
    only_lowers : bool, default False
        Whether what is waiting keeps its place unless its priority becomes smaller.
    """
    place = queue.position[item]
    if not change > params.min_priority:
        if not only_lowers:
            remove(queue, item)
        return
    if place >= 0 and params.priority == FIRST_IN:
        return
    priority = rank(params.priority, queue, change)
    if not only_lowers or place < 0 or priority < queue.priority[place]:
        set_priority(queue, item, priority, cause)


@inlined
def sweep_queue(
    back_up: Callable[[Any, Any, Popped, BackupBuffer], None],
    worth: Callable[[Any, Any, Evaluation, int], float],
    params: Any,
    memory: Any,
    n_pops: int,
    pause: Any,
    rng: Generator,
    log: BackupBuffer,
) -> None:
    """Spend a pause: back up what is waiting, the first in the queue first.

    Parameters
    ----------
    back_up : callable
        ``back_up(params, memory, popped, log)`` makes the backups of what was popped.
    worth : callable
        ``worth(params, memory, evaluation, item)`` returns what an item is worth now, if the
        priority depends on gain or need.
    params, memory : NamedTuple
        Of the learner.
    n_pops : int
        How many items are popped at most.
    pause : NamedTuple
        The pause, a :class:`replay.learners.contract.Pause`.
    rng : Generator
        Source of randomness.
    log : BackupBuffer
        What backups are logged to.
    """
    queue, phase = memory.queue, pause.phase
    if phase == START:
        note_start(memory.evaluation, pause.state)
    if n_pops > 0 and queue.size[0] > 0:
        look_ahead(memory.evaluation, params, memory.model, memory.action_values, pause)
    for number in range(n_pops):
        if queue.size[0] == 0:
            break
        first, gain = _first(memory.evaluation, worth, params, memory)
        if not goes_on(params, memory.earnings, gain, rng):
            break
        item, priority = _take(memory.evaluation, params.priority, queue, first, gain, rng)
        back_up(params, memory, Popped(item, priority, number, queue.cause[item], phase), log)
    if phase == EPISODE_END:
        end_episode(memory.model, params.retention)


@inlined
def _first(
    evaluation: Evaluation | None,
    worth: Callable[[Any, Any, Evaluation, int], float],
    params: Any,
    memory: Any,
) -> tuple[int, float]:
    """Find what is worth most now, and what it is expected to gain."""
    queue = memory.queue
    if evaluation is None:
        gain = queue.priority[0] if params.priority == CHANGE else latest_change(memory.earnings)
        return queue.state[0], gain
    chosen, best = queue.state[0], -np.inf
    for place in range(queue.size[0]):
        each = worth(params, memory, evaluation, queue.state[place])
        if each > best:
            chosen, best = queue.state[place], each
    return chosen, best


@inlined
def _take(
    evaluation: Evaluation | None,
    rule: int,
    queue: PriorityQueue,
    first: int,
    worth: float,
    rng: Generator,
) -> tuple[int, float]:
    """Take the next out of the queue: what was found to be worth most, or as the rule says."""
    if evaluation is None:
        return pop_next(rule, queue, rng)
    remove(queue, first)
    return first, worth
