"""The common part of prioritized sweeping: a queue of changes that wait to be propagated [1]_ [2]_.

References
----------
.. [1] Moore & Atkeson (1993), Prioritized sweeping. https://doi.org/10.1007/BF00993104
.. [2] Peng & Williams (1993), Efficient learning and planning within the Dyna framework.
   https://doi.org/10.1177/105971239300100403
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.jit import inlined
from replay.log.backups import EPISODE_END, START, BackupBuffer, record
from replay.parts.evaluation import (
    Evaluation,
    EvaluationParams,
    evaluation,
    evaluation_words,
    gain_and_need,
    look_ahead,
    note_start,
)
from replay.parts.interfaces import PauseLike, SizesLike, TransitionLike
from replay.parts.pauses import (
    Earnings,
    PauseParams,
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

__all__ = ["Popped", "SweepingMemory", "SweepingParams", "causes", "evaluates", "log_backup"]
__all__ += ["needs_way_back", "note_transition", "queue_change", "sweep_queue", "sweeping_memory"]
__all__ += ["sweeping_words"]


class SweepingParams(PauseParams, EvaluationParams, Protocol):
    """The parameters of a sweeping learner that are read here."""

    @property
    def min_priority(self) -> float: ...
    @property
    def forgetting(self) -> float: ...
    @property
    def surprise_rate(self) -> float: ...
    @property
    def retention(self) -> int: ...
    @property
    def capacity(self) -> float: ...
    @property
    def reversible(self) -> bool: ...


class SweepingMemory(Protocol):
    """The memory of a sweeping learner, as far as it is used here.

    `sweeping_memory` makes all fields but the action values, whose shape is (n_states, n_actions).
    """

    @property
    def action_values(self) -> NDArray[np.float64]: ...
    @property
    def model(self) -> WorldModel: ...
    @property
    def queue(self) -> PriorityQueue: ...
    @property
    def evaluation(self) -> Evaluation | None: ...
    @property
    def earnings(self) -> Earnings: ...


_P = TypeVar("_P", bound=SweepingParams)
_M = TypeVar("_M", bound=SweepingMemory)


class Popped(NamedTuple):
    """An item that was removed from the queue.

    Attributes
    ----------
    item : int
        A state, or a pair of state and action.
    priority : float
    number : int
        How many items were removed before it in this pause.
    cause : int
        The row of the backup that put it in the queue; -1 if that was an online one.
    phase : int
        The phase of the pause.
    """

    item: int
    priority: float
    number: int
    cause: int
    phase: int


def sweeping_memory(
    params: SweepingParams, sizes: SizesLike, n_items: int
) -> tuple[WorldModel, PriorityQueue, Evaluation | None, Earnings]:
    """Make what a learner that has experienced nothing keeps for sweeping.

    Parameters
    ----------
    params : SweepingParams
        The learner's.
    sizes : Sizes
        The size of the world, a :class:`replay.learners.contract.Sizes`.
    n_items : int
        How many different states, or pairs, may wait in the queue.

    Returns
    -------
    model : WorldModel
        The transitions seen.
    queue : PriorityQueue
        What waits to be propagated.
    evaluation : Evaluation or None
        Gain and need, if the priority depends on them.
    earnings : Earnings
        What the end of a pause depends on.

    Raises
    ------
    ValueError
        If the priority depends on need, and the discount is 1.
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


def sweeping_words(params: SweepingParams, memory: SweepingMemory) -> int:
    """Count the numbers held in what `sweeping_memory` makes.

    Parameters
    ----------
    params : SweepingParams
    memory : SweepingMemory

    Returns
    -------
    int
    """
    held = model_words(memory.model) + queue_words(memory.queue)
    return held + evaluation_words(memory.evaluation) + earnings_words(params)


def needs_way_back(params: SweepingParams) -> bool:
    """Return whether the model knows both directions of a move at once: a hook of the contract."""
    return bool(params.reversible)


def evaluates(params: SweepingParams) -> bool:
    """Return whether gain and need are logged: if the priority depends on them. A hook."""
    return is_evaluated(params.priority)


def causes(memory: SweepingMemory) -> NDArray[np.int64]:
    """List the rows of the backups that the next ones may name as their cause: a hook.

    There is one row for each queued item; -1 for none.
    """
    return causes_of(memory.queue)


@inlined
def note_transition(
    params: SweepingParams, memory: SweepingMemory, transition: TransitionLike
) -> None:
    """Note the start of the first episode, and the reward and the error of a step.

    Parameters
    ----------
    params : SweepingParams
        The learner's.
    memory : SweepingMemory
        The learner's, changed in place.
    transition : Transition
        The step, a :class:`replay.learners.contract.Transition`, before it is learned from.
    """
    note_start(memory.evaluation, transition.state, True)
    note_experience(params, memory.earnings, memory.action_values, transition)


@inlined
def log_backup(
    params: SweepingParams,
    memory: SweepingMemory,
    popped: Popped,
    s: int,
    a: int,
    s_next: int,
    after: float,
    log: BackupBuffer,
) -> int:
    """Evaluate and log a backup in replay, before its action value is changed.

    Parameters
    ----------
    params : SweepingParams
        The learner's.
    memory : SweepingMemory
        The learner's; the change is noted in its ``earnings``.
    popped : Popped
        The item that the backup is made for.
    s, a, s_next : int
        The transition that is backed up.
    after : float
        The new value of Q(s, a).
    log : BackupBuffer
        Records the backup.

    Returns
    -------
    int
        Its row, from :func:`replay.log.backups.record`.
    """
    _, priority, n, cause, phase = popped
    before = memory.action_values[s, a]
    gain, need = gain_and_need(memory.evaluation, params, memory.action_values, s, a, after)
    note_change(params, memory.earnings, before, after)
    return record(log, phase, s, a, s_next, before, after, np.nan, priority, n, cause, gain, need)


@inlined
def queue_change(
    params: SweepingParams,
    queue: PriorityQueue,
    item: int,
    change: float,
    cause: int,
    only_lowers: bool = False,
) -> None:
    """Queue an item with the priority of its change; remove it if the change is too small.

    Parameters
    ----------
    params : SweepingParams
        The learner's; the change must exceed its ``min_priority``.
    queue : PriorityQueue
        Changed in place.
    item : int
        The state, or the pair.
    change : float
        The size of the change that waits to be propagated.
    cause : int
        The row of the backup that changed it, -1 if that was an online one.
    only_lowers : bool, default False
        Whether an item in the queue stays there, and keeps its priority unless the new one is
        smaller.
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
    back_up: Callable[[_P, _M, Popped, BackupBuffer], None],
    worth: Callable[[_P, _M, Evaluation, int], float],
    params: _P,
    memory: _M,
    n_pops: int,
    pause: PauseLike,
    rng: Generator,
    log: BackupBuffer,
) -> None:
    """Replay in a pause: pop the items of the queue, the first one first, and back them up.

    Parameters
    ----------
    back_up : callable
        ``back_up(params, memory, popped, log)`` makes the backups of a popped item.
    worth : callable
        ``worth(params, memory, evaluation, item)`` returns the present priority of an item, if
        the priority depends on gain or need.
    params : SweepingParams
        The learner's.
    memory : SweepingMemory
        The learner's; changed in place.
    n_pops : int
        How many items are popped at most.
    pause : Pause
        A :class:`replay.learners.contract.Pause`.
    rng : numpy.random.Generator
        Source of randomness.
    log : BackupBuffer
        Where backups are recorded.
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
    worth: Callable[[_P, _M, Evaluation, int], float],
    params: _P,
    memory: _M,
) -> tuple[int, float]:
    """Find the item that is worth most now, and its expected gain."""
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
    """Remove the next item from the queue: the most valuable one if evaluated, else by the rule."""
    if evaluation is None:
        return pop_next(rule, queue, rng)
    remove(queue, first)
    return first, worth
